#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# One end of a subnet that spans two kernels. In a guest: wire.sh west|east K
#
# Each has a fat tree of switches with K ports, in which a wire takes the place of one host.
# socat carries it over UDP. The manager of west is the master. west ends first, with its
# kernel. A cable that is pulled and comes back is for cable.sh.

. "$(dirname "$0")/../madsim/lib.sh"

declare -A address=([west]=192.0.2.10 [east]=192.0.2.11) other=([west]=east [east]=west)
side=$1 k=$2
hosts=$((k * k * k / 4)) switches=$((k * k * 5 / 4))
wire_port=$((k / 2)) all="sees madsim0 $((2 * hosts - 2)) $((2 * switches))"
# shellcheck disable=SC2034	# in strings for eval
half="sees madsim0 $((hosts - 1)) $switches"
mine=${address[$side]} theirs=${address[${other[$side]}]}

tree()
{
	load topology=fattree:$k
	awk -v RS= -v ORS='\n\n' "!/^Hca.*\"H$hosts\"/ { sub(/\"H$hosts\"\[1\]/, \"wire\"); print }" \
		"$debugfs/preset/topology" >"$tmp/tree"
	unload
	load topology=none
	# GUIDs have the fabric's number in them
	[ "$side" = west ] || mkdir "$configfs/first"
	"$madsim_load" -n "$side" -d 0 "$tmp/tree"
	put "$configfs/$side/live" 0
	put "$configfs/$side/data" 1
	put "$configfs/$side/H$((hosts - wire_port + 1))/device" 1
	put "$configfs/$side/live" 1
}

join()
{
	plug "OPEN:/dev/madsim/$side.S$((k * k / 2)).$wire_port" \
		"UDP4-DATAGRAM:$theirs:7471,bind=$mine:7471,range=$theirs/32"
}

# manager PRIORITY
manager()
{
	SM_SWEEP=5 SM_MORE="sm_priority $1" sm_start "$side" madsim0
}

modprobe -a ib_ipoib rdma_ucm ib_uverbs
# Either end may be early. A server whose client has failed would wait for ever
serve="until_true 12 timeout 100" try="until_true 120 timeout 100"

west()
{
	check "a tree" tree
	check "no carrier" wire_is Down
	join
	check "the link to the other kernel trains" until_true 120 wire_is Initialize
	manager 9
	check "its manager is the master of both trees" until_true 200 $all
	check "the port is active" until_true 100 active 1
	check "data by RC" $try ibv_rc_pingpong -e -d madsim0 -n 50 -s 20000 -c "$theirs"
	ip address add 10.0.0.1/24 dev ib0
	ip link set ib0 up
	check "IPoIB" until_true 60 busybox ping -q -c 1 -W 1 10.0.0.2
	check "rping" $try rping -c -a 10.0.0.2 -C 20 -V -S 1000
	finish
}

east()
{
	check "a tree" tree
	join
	check "the link to the other kernel trains" until_true 120 wire_is Initialize
	check "the manager over there brings up the port" until_true 200 active 1
	manager 1
	check "this manager stands by" until_true 60 grep -q "Entering STANDBY" "$tmp/east.log"
	check "data by RC" $serve ibv_rc_pingpong -e -d madsim0 -n 50 -s 20000 -c
	ip address add 10.0.0.2/24 dev ib0
	ip link set ib0 up
	check "rping" $serve rping -s -a 10.0.0.2 -C 20 -V -S 1000
	check "the other kernel has ended: the link is down" until_true 200 wire_is Down
	check "this manager takes over" \
		until_true 200 says "priority 1 state 3 SMINFO_MASTER" sminfo -C madsim0
	check "what is left is whole" eval '
		until_true 100 $half
		until_true 30 active 1'
	finish
}

"$side"
