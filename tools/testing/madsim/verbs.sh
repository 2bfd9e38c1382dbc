#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Verbs of programs over the fabric: rdma-core as it is, its examples, perftest, and
# what is allowed and refused, by verbs.py.

. "$(dirname "$0")/lib.sh"

kernel_has ib_uverbs class/infiniband_verbs
have rdma ibv_devinfo ibv_srq_pingpong ib_write_bw ib_atomic_bw
cases=$("$here/verbs.py" 2>&1) || leave_out "no pyverbs: ${cases##*$'\n'}"

# With the clock of a user-mode Linux perftest spins for ten seconds before it begins
perftests=()
[ "${UMAD_PACE-}" = slow ] ||
	perftests=(ib_send_bw "ib_send_bw -c UC" "ib_send_bw -c UD -s 2048"
		"ib_send_bw --use-srq -q 2" "ib_send_lat -I 64" "ib_send_lat -c UC"
		"ib_send_lat -c UD" ib_write_bw "ib_write_bw -c UC" ib_write_lat
		ib_read_bw ib_read_lat ib_atomic_bw ib_atomic_lat)

fabric=$configfs/test
faults=$configfs/test/faults

# pingpong TYPE ARGUMENT ...: messages that are compared at the other end
pingpong()
{
	both "ibv_$1_pingpong" -n 200 "${@:2}"
}

# with_fault NODE PORT RULE COMMAND ...: nothing is lost, nothing comes twice
with_fault()
{
	put $faults "$1"
	"${@:2}" && injected "$1" && put $faults "${1%% [a-z]*} clear"
}

# 100 messages of 64 KiB each way in packets of 4 KiB, with their headers, and a response
# to each; and no more than some packets that are not ours
counted()
{
	local lid packets words
	lid=$(lid_at madsim0 0,1 0)
	packets=$(counter "$lid" 2 PortXmitPkts) words=$(counter "$lid" 2 PortXmitData)
	both ibv_rc_pingpong -e -n 100 -s 65536 -m 4096
	packets=$(($(counter "$lid" 2 PortXmitPkts) - packets))
	words=$(($(counter "$lid" 2 PortXmitData) - words))
	echo "$packets packets, $words words"
	[ $packets -ge 3200 ] && [ $packets -le 3500 ] &&
		[ $words -ge $((1600 * (4096 + 24 + 28) / 4)) ] &&
		[ $words -le $((1600 * (4096 + 24 + 28) / 4 + 300 * 100)) ]
}

# flood DEVICE DEVICE: two that never stop sending to each other
flood()
{
	ibv_rc_pingpong -e -n 100000000 -s 65536 -d "$2" >/dev/null 2>&1 &
	echo $! >"$tmp/server.pid"
	until_true 20 listens
	ibv_rc_pingpong -e -n 100000000 -s 65536 -d "$1" localhost >/dev/null 2>&1 &
	echo $! >"$tmp/client.pid"
	# More than a subnet manager sends
	until_true 60 receives "$2" $(($(received "$2") + 500))
}

# received DEVICE: packets
received()
{
	port_counter "$1" port_rcv_packets
}

# No port sends for longer than a notice waits to be repeated
still()
{
	local before
	before=$(cat /sys/class/infiniband/*/ports/*/counters/port_xmit_packets)
	sleep 3
	[ "$(cat /sys/class/infiniband/*/ports/*/counters/port_xmit_packets)" = "$before" ]
}

# receives DEVICE COUNT: so many packets have come
receives()
{
	[ "$(received "$1")" -ge "$2" ]
}

kill_flood()
{
	local pid
	for pid in $(cat "$tmp/client.pid" "$tmp/server.pid"); do
		kill -KILL "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
}

killed()
{
	local i
	for i in 1 2 3; do
		flood madsim0 madsim1
		kill_flood
		until_true 20 no_objects
	done
}

one_ended()
{
	! kill -0 "$(cat "$tmp/client.pid")" || ! kill -0 "$(cat "$tmp/server.pid")"
}

# The other end has gone: a program that has sent something to it ends
no_peer()
{
	flood madsim0 madsim1
	put $faults "h2 1 link down"
	until_true 60 one_ended
	kill_flood
	put $faults "h2 1 link up"
	until_true 30 active 4
}

# stalls_no_other NAME COMMAND ...: a command that takes the device of h2 away waits for
# a program; other fabrics have new nodes meanwhile. And NAME is there when the program
# has gone, in the same fabric. What waits is not to be asked whether it is there.
stalls_no_other()
{
	local name=$1 program slow other same status=0
	shift
	"$here/verbs.py" madsim1 madsim0 stalled >"$tmp/stalled" 2>&1 &
	program=$!
	until_true 20 grep -q stalls "$tmp/stalled"
	sleep 0.5
	"$@" &
	slow=$!
	sleep 0.5
	mkdir "$fabric/$name" &
	same=$!
	sleep 0.5
	(mkdir "$configfs/other/$name" && touch "$tmp/$name") &
	other=$!
	until_true 5 [ -e "$tmp/$name" ] || status=1
	kill -0 $slow && kill -0 $same || { echo "nothing waits"; status=1; }
	kill -KILL $program
	wait $slow $same $other || status=1
	[ -d "$fabric/$name" ] && [ $status = 0 ]
}

build()
{
	make_star $fabric 4 h1+ h2+
	put $fabric/data 1
	mkdir $fabric/h3
	put $fabric/h3/device 1
	put $fabric/h3/ports 2
	put $fabric/link "h3 1 leaf 3"
	put $fabric/link "h3 2 leaf 4"
	# With one seed h1 and h3 give the same numbers
	put $fabric/h1/seed 1
	put $fabric/h2/seed 2
	put $fabric/h3/seed 1
	put $fabric/live 1
}

load topology=none || ktap_bail "cannot load ib_madsim"
check "make a fabric with data" build
sm_start first madsim0
check "a subnet manager" until_true 30 active 4
# First of all, as most planted bugs fail one of them
cases_of "$here/verbs.py" madsim0 madsim1 - madsim2
while read -r name what; do
	case_wanted "$name" "$what" || continue
	# Counters are compared there, and packets of the subnet manager count, too. While it stands
	# still, a port repeats each of its notices ten times, and sends one in a second
	[ "$name" != burst ] || { kill -STOP "$(cat "$tmp/first.pid")"; until_true 60 still; }
	check "$what" ask "$name"
	kill -CONT "$(cat "$tmp/first.pid")"
	last "$name"
done <<<"$cases"
cases_end

check "ibv_devinfo" eval '
	says "link_layer:.*InfiniBand" ibv_devinfo -d madsim0
	says "port_lid:.*[1-9]" ibv_devinfo -d madsim1
	says "num_comp_vectors:.*\<$(nproc)\$" ibv_devinfo -v -d madsim1
	says "state:.*PORT_ACTIVE" ibv_devinfo -d madsim1'

check "ibv_ud_pingpong" pingpong ud
check "ibv_ud_pingpong -e" pingpong ud -e
check "ibv_rc_pingpong" pingpong rc -c
check "ibv_rc_pingpong -e" pingpong rc -c -e
check "ibv_rc_pingpong of 1 MiB" both ibv_rc_pingpong -c -n 5 -s 1048576 -m 4096
check "ibv_uc_pingpong" pingpong uc -c
check "ibv_srq_pingpong" pingpong srq
# Packets that have come by either
packets()
{
	echo $(($(received madsim0) + $(received madsim1)))
}

# perf PROGRAM ARGUMENT ...: 200 times, whatever it can say of that
perf()
{
	local before
	before=$(packets)
	both "$@" -n 200 && [ $(($(packets) - before)) -ge 200 ]
}

for arguments in "${perftests[@]}"; do
	# shellcheck disable=SC2086	# a word list
	check "$arguments" perf $arguments
done
check "the switch counts it" counted

for rule in "drop permille 30" "duplicate permille 100" "delay permille 20" \
		"reorder permille 50"; do
	check "RC with $rule" with_fault "h1 1 $rule" pingpong rc -c -e -s 8192
done
for name in rc_data rc_atomic; do
	check "each packet twice, $name" with_fault "h1 1 duplicate nth 1" \
		timeout 300 "$here/verbs.py" madsim0 madsim1 $name
done
check "every other response is lost, rc_atomic" with_fault "h2 1 drop nth 2" \
	timeout 300 "$here/verbs.py" madsim0 madsim1 rc_atomic
check "each response twice, rc_no_buffer_twice" with_fault "h2 1 duplicate nth 1" \
	timeout 300 "$here/verbs.py" madsim0 madsim1 rc_no_buffer_twice
if [ -w /proc/self/fail-nth ]; then
	check "allocations that fail" timeout 300 "$here/verbs.py" madsim0 madsim1 fail_nth
else
	skip "allocations that fail" "this kernel injects no faults"
fi
check "kill programs that send and receive" killed
check "a link goes down" no_peer
if printf '%s\n' 7.0 "$(uname -r)" | sort -CV; then
	check "the speed of a port" eval '
		says "^400$" "$here/verbs.py" madsim1 madsim0 port_speed
		put $fabric/unlink "h2 1"
		says "^0$" "$here/verbs.py" madsim1 madsim0 port_speed
		put $fabric/link "h2 1 leaf 2 1x xdr"
		says "^2000$" "$here/verbs.py" madsim1 madsim0 port_speed
		until_true 30 active 4'
else
	skip "the speed of a port" "kernels before 7.0 do not tell it"
fi
check "unplug a host of which a program is sending" eval '
	flood madsim1 madsim0
	put $faults "h2 unplug"
	until_true 60 one_ended
	kill_flood
	put $faults "h2 plug"
	until_true 30 active 4'
# devices_with PARAMETER VALUE DEFAULT: new ones of the hosts
devices_with()
{
	put /sys/module/ib_madsim/parameters/"$1" "$2"
	put $faults $'h2 unplug\nh2 plug\nh3 unplug\nh3 plug'
	put /sys/module/ib_madsim/parameters/"$1" "$3"
	until_true 30 active 4
}

# rdma-core does not take them for those of ipathverbs
hfi1verbs()
{
	devices_with hfi1verbs 1 0
	unshare -m sh -euc '
		mount -t tmpfs none /etc/libibverbs.d
		echo driver hfi1verbs >/etc/libibverbs.d/hfi1verbs.driver
		for name in rc_data ud_pieces inline srq_shared rc_atomic resized no_calls; do
			"$1" "$2" "$3" $name
		done' sh "$here/verbs.py" "$(device h2)" "$(device h3)"
}
check "hfi1verbs of rdma-core" hfi1verbs
without_rings()
{
	local name
	devices_with rings 0 1
	grep -x 1 "/sys/class/infiniband/$(device h3)/device/infiniband_verbs/"*/abi_version
	for name in rc_data ud_pieces posting srq_shared resized resized_full cq_purged \
			cq_purged_full cq_overflow cq_events send_queue rc_flush rc_reset; do
		"$here/verbs.py" "$(device h2)" "$(device h3)" $name
	done
}
check "all by system calls" without_rings
mkdir $configfs/other
check "an unplugged host that a program keeps" stalls_no_other a put $faults "h2 unplug"
put $faults "h2 plug"
until_true 30 active 4
check "a removed host that a program keeps" stalls_no_other h2 rmdir $fabric/h2
rmdir $configfs/other/{a,h2} $configfs/other
sm_end first
check "remove the fabric" eval '"$madsim_load" -r test; unload'
check "without data there are no verbs" eval '
	load topology=star:2 devices=2
	[ $(devices | wc -l) = 2 ]
	fails ls -d /sys/class/infiniband/madsim*/device/infiniband_verbs
	unload'

finish
