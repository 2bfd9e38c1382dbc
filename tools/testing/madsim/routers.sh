#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Two subnets with a router between them: a subnet manager in each, paths across, verbs and
# IPoIB by them, and what the router drops.

. "$(dirname "$0")/lib.sh"

kernel_has ib_uverbs class/infiniband_verbs
with_ipoib
modprobe -qa rdma_ucm || true
have rping busybox ip
"$here/verbs.py" >/dev/null 2>&1 || leave_out "no pyverbs"
trap 'ip netns del far 2>/dev/null; at_end' EXIT

fabric=$configfs/test

build()
{
	"$madsim_load" --strict -n test - <<-'FILE'
	Switch 4 "S1"
	[1] "H1"[1]
	[2] "H3"[1]
	[3] "R1"[1]
	Switch 4 "S2"
	[1] "H2"[1]
	[2] "H4"[1]
	[3] "R1"[2]
	Hca 1 "H1"
	Hca 1 "H2"
	Hca 1 "H3"
	Hca 1 "H4"
	Rt 2 "R1"
	FILE
	put $fabric/live 0
	put $fabric/data 1
	put $fabric/live 1
	says "^router$" cat $fabric/R1/type
	says '^Rt.2 "R1"' cat $debugfs/test/topology
	[ "$("$madsim_load" -g $debugfs/test/topology | wc -l)" = 6 ]
}

# manage NAME DEVICE SUBNET: the same LIDs are in both
manage()
{
	echo "* *" >"$tmp/routes"
	SM_MORE="subnet_prefix 0xfec000000000000$3
prefix_routes_file $tmp/routes" sm_start "$1" "$2"
}

# sees DEVICE CAS: its own subnet, and the router
sees()
{
	ibnetdiscover -C "$1" -P 1 >"$tmp/net"
	cat "$tmp/net"
	[ "$(grep -c ^Ca "$tmp/net")$(grep -c ^Switch "$tmp/net")$(grep -c ^Rt "$tmp/net")" = "$2"11 ]
}

# The router's port 1 is in the subnet of madsim0, port 2 in that of madsim1

# router DEVICE: the LID of that port
router()
{
	lid_at "$1" 0,1,3 $((${1#madsim} + 1))
}

routed()
{
	local device
	for device in madsim0 madsim1; do
		state_is $device 1 ACTIVE && says "^LinkState:\.*Active" \
			smpquery -C $device -P 1 -D portinfo 0,1,3 $((${device#madsim} + 1)) ||
			return 1
	done
}

gid()
{
	cat "/sys/class/infiniband/$1/ports/1/gids/0"
}

# path DEVICE DEVICE: the subnet manager of the first one knows a way to the other
path()
{
	all_say saquery -C "$1" -P 1 PR --sgid "$(gid "$1")" --dgid "$(gid "$2")" -- \
		"dlid\.*$(router "$1")\$" "hop_flow_raw\.*0xFF"
}

verbs()
{
	ROUTERS="madsim0=$(router madsim0) madsim1=$(router madsim1)" \
		timeout 300 "$here/verbs.py" madsim0 madsim1 "$1"
}

# router_counts PORT NAME: as perfquery calls it
router_counts()
{
	perfquery -C madsim0 -P 1 "$(router madsim0)" "$1" | sed -n "s/^$2:\.*//p"
}

drops()
{
	local relay discards
	relay=$(router_counts 1 PortRcvSwitchRelayErrors)
	discards=$(router_counts 2 PortXmitDiscards)
	verbs unrouted
	[ "$(router_counts 1 PortRcvSwitchRelayErrors)" = $((relay + 3)) ]
	[ "$(router_counts 2 PortXmitDiscards)" = $((discards + 2)) ]
}

# 1024 packets, most of them at once, and some of a subnet manager
counts()
{
	local before packets
	before=$(router_counts 2 PortXmitPkts)
	verbs routed
	packets=$(($(router_counts 2 PortXmitPkts) - before))
	echo "$packets packets"
	[ $packets -ge 1024 ] && [ $packets -lt 1100 ]
}

# An agent of the other subnet has an answer, which comes from as far
agent()
{
	cd "$here"
	python3 -c '
import sys
import fabric

device, router, guid = sys.argv[1], *(int(text, 0) for text in sys.argv[2:])
test = fabric.Test()
test.client, test.key = fabric.Port(device), 0
test.get(router, fabric.PORT_COUNTERS, port=1, to={
    "grh_present": 1, "gid": 0xfec0000000000002 << 64 | guid, "hop_limit": 2})
' "/dev/infiniband/$(umad_of madsim0)" "$(router madsim0)" "$(cat $fabric/H4/port_guid)"
}

far()
{
	ip netns exec far "$@"
}

# There is no ARP across: a neighbour has the GID of the interface, with its subnet
neighbours()
{
	ip netns add far
	ip link set ib1 netns far
	ip addr add 10.0.0.1/24 dev ib0
	ip link set ib0 up
	far ip addr add 10.0.0.2/24 dev ib1
	far ip link set ib1 up
	until_true 30 says "fe:c0:00:00:00:00:00:01" ip link show dev ib0
	until_true 30 says "fe:c0:00:00:00:00:00:02" far ip link show dev ib1
	ip neigh replace 10.0.0.2 lladdr "$(far cat /sys/class/net/ib1/address)" dev ib0
	far ip neigh replace 10.0.0.1 lladdr "$(cat /sys/class/net/ib0/address)" dev ib1
	until_true 30 reaches
	says "0% packet loss" busybox ping -q -c 20 -i 0.1 -s 2000 10.0.0.2
}

reaches()
{
	busybox ping -q -c 1 -W 1 10.0.0.2
}

connects()
{
	local server
	far timeout 300 rping -s -a 10.0.0.2 -C 3 -S 5000 >"$tmp/server" 2>&1 &
	server=$!
	until_true 20 timeout 20 rping -c -a 10.0.0.2 -C 3 -V -S 5000
	wait $server || { cat "$tmp/server"; return 1; }
}

# The far subnet is away, and comes back
away()
{
	put $fabric/faults "R1 2 link down"
	fails reaches
	put $fabric/faults "R1 2 link up"
	until_true 60 reaches
}

# What one subnet tells of itself, loaded as another fabric
recorded()
{
	local lid
	lid=$(router madsim0)
	"$madsim_record" -C madsim0 >"$tmp/subnet"
	sm_end first
	sm_end second
	"$madsim_load" -r test
	"$madsim_load" --replay -n again -d 1 "$tmp/subnet" 2>&1 | has_no "R-"
	[ "$(router madsim0)" = "$lid" ]
	"$madsim_load" -r again
}

load topology=none || ktap_bail "cannot load ib_madsim"
check "a topology file with a router" build
check "a router is no RDMA device" eval '
	refuses "R1 is a router" "$madsim_load" -n other -N R1 $debugfs/test/topology
	mkdir $configfs/other $configfs/other/r
	put $configfs/other/r/type router
	put $configfs/other/r/device 1
	refuses "Invalid argument" put $configfs/other/live 1
	"$madsim_load" -r other'
manage first madsim0 1
manage second madsim1 2
check "a subnet manager in each subnet" until_true 60 routed
check "they see their subnets, and the router" eval '
	sees madsim0 2
	sees madsim1 2
	says "Router" smpquery -C madsim0 -P 1 -D nodeinfo 0,1,3'
check "no directed route crosses it" unanswered smpquery -C madsim0 -P 1 -D nodeinfo 0,1,3,2
check "paths to the other subnet are by the router" eval '
	path madsim0 madsim1
	path madsim1 madsim0'
for name in rc_data uc_data rc_atomic ud_grh; do
	check "$name across" verbs $name
done
check "the router counts it" counts
check "what it drops, it counts" drops
check "an agent in the other subnet answers" agent
check "ping across" neighbours
check "rping across" connects
check "without its link, and with it again" away
ip netns del far
check "a recording of a subnet has the router" recorded
the_end
