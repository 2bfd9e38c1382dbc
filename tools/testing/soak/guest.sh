#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# In a guest: everything at once for a while, then the balance, in TAP.
#
#	guest.sh SECONDS PROGRAMS
#
# PROGRAMS is the folder of soak and of the selftest stress; ib_umad is loaded,
# and MADSIM_MODULE names our madsim.
#
#	H1 and H3	subnet managers, which sweep, die and come back; askers
#	H2, H4		servers; what H2 sends gets lost, doubled, late and out
#			of order, what H4 sends gets lost
#	H5		an asker whose cgroup cannot pay for all that it asked for
#	H6		comes and goes
#	elsewhere	the selftest stress, over more of madsim, seed by seed

. "$(dirname "$0")/../madsim/lib.sh"

[ $# = 2 ] || bail "usage: guest.sh SECONDS PROGRAMS"
seconds=$1
programs=$2
soak=$programs/soak
for program in "$soak" "$programs/stress"; do
	[ -x "$program" ] || bail "$program is missing: tools/testing/soak/run builds it"
done

load topology=star:6 devices=6 || bail "cannot load ib_madsim"
faults=$configfs/preset/faults
for host in 1 2 3 4 5 6; do
	dev[host]=$(device H$host)
done

# chardev KIND HOST: umad or issm of a host
chardev()
{
	local dir
	for dir in /sys/class/infiniband_mad/"$1"*; do
		[ "$(cat "$dir/ibdev" 2>/dev/null)" != "${dev[$2]}" ] ||
			echo "/dev/infiniband/${dir##*/}"
	done
}

up()
{
	local host
	for host in 1 2 3 4 5; do
		state_is "${dev[host]}" 1 ACTIVE || return 1
	done
}

plan 19
SM_SWEEP=5
sm_start H1 "${dev[1]}"
sm_start H3 "${dev[3]}"
check "the subnet comes up" until_true 60 up
lid2=$(lid "${dev[2]}") lid4=$(lid "${dev[4]}")
put $faults "H2 1 drop permille 20"
put $faults "H2 1 duplicate permille 10"
put $faults "H2 1 reorder permille 10"
put $faults "H2 1 delay permille 10"
put $faults "H4 1 drop permille 5"

# Whatever runs until it is told to stop counts what it did in a file of its own
go=$tmp/go
touch "$go"
count()
{
	echo >>"$tmp/$1.count"
}
times()
{
	wc -l 2>/dev/null <"$tmp/$1.count" || echo 0
}
at_least()
{
	local n
	n=$(times "$2")
	echo "$n"
	[ "$n" -ge "$1" ]
}

# By a name of its own: that of a device that has gone is the next one's, which may be
# one of stress, and that would not expect visitors.
unplugs()
{
	while [ -e "$go" ]; do
		put $faults "H6 unplug" && put $faults "H6 plug" &&
			rdma dev set "$(device H6)" name visited && count unplug
		sleep 0.2
	done
}

# Who holds the device that goes is told so, one way or another
visitors()
{
	while [ -e "$go" ]; do
		[ -e /sys/class/infiniband/visited ] || { sleep 0.05; continue; }
		smpquery -C visited -P 1 -t 20 -D nodedesc 0,1 && count visit
		timeout -s KILL 1 ibping -S -C visited -P 1
	done >/dev/null 2>&1
}

managers()
{
	local next=H1
	while [ -e "$go" ]; do
		sleep 10
		sm_end $next KILL
		sleep 2
		if [ $next = H1 ]; then
			sm_start H1 "${dev[1]}"
			next=H3
		else
			sm_start H3 "${dev[3]}"
			next=H1
		fi
		count manager
	done
	sm_end H1 KILL
	sm_end H3 KILL
}

issm_holders()
{
	local issm
	issm=$(chardev issm 2)
	while [ -e "$go" ]; do
		timeout 5 bash -c 'exec 8<"$0"; sleep 0.05' "$issm" && count issm
	done
}

stuck()
{
	while [ -e "$go" ]; do
		timeout -s KILL 3 "$soak" stuck "$(chardev umad "$1")" "$2"
		count stuck
	done
}

# Not over Soft-RoCE: the README says why
mixes()
{
	local seed=1
	while [ -e "$go" ]; do
		UMAD_STRESS_SEED=$seed "$programs/stress" -V rxe >"$tmp/stress.log" 2>&1 ||
			cat "$tmp/stress.log" >>"$tmp/stress.failed"
		count stress
		seed=$((seed + 1))
	done
}

for host in 2 4; do
	"$soak" serve "$(chardev umad $host)" 2>"$tmp/serve$host" &
	servers+=($!)
done
unplugs & others=($!)
visitors & others+=($!)
managers 2>/dev/null & others+=($!)
issm_holders & others+=($!)
issm_holders & others+=($!)
stuck 2 "$lid4" 2>/dev/null & others+=($!)
stuck 3 "$lid2" 2>/dev/null & others+=($!)
mixes & others+=($!)

echo +memory >/sys/fs/cgroup/cgroup.subtree_control
mkdir -p /sys/fs/cgroup/soak
# Half of what the answers of 60,000 bytes to 64 requests take
echo 2M >/sys/fs/cgroup/soak/memory.max

# ask NAME HOST LID WINDOW ANSWER [CGROUP]
ask()
{
	local name=$1 host=$2 lid=$3
	shift 3
	"$soak" ask "$(chardev umad "$host")" "$lid" "$seconds" "$@" >"$tmp/$name.asked" 2>&1 &
	askers[$!]=$name
}
declare -A askers=()
ask short 1 "$lid2" 4 256
ask many 3 "$lid2" 128 256
ask long 3 "$lid4" 4 8192
ask greedy 5 "$lid4" 64 60000 /sys/fs/cgroup/soak

for name in short many long greedy; do
	for pid in "${!askers[@]}"; do
		[ "${askers[$pid]}" = $name ] || continue
		status=0
		wait "$pid" || status=$?
		sed "s/^/# $name: /" "$tmp/$name.asked"
		check "the books of \"$name\" balance" test $status = 0
	done
done
rm "$go"
# stat HOST NAME ...: the sum of these counters of its port
stat()
{
	local umad sum=0 name
	umad=$(chardev umad "$1")
	shift
	for name; do
		sum=$((sum + $(<"/sys/class/infiniband_mad/${umad##*/}/statistics/$name")))
	done
	echo $sum
}
# Nobody else uses the port of "greedy"
counted()
{
	local books
	books="$(stat 5 sent rmpp_sent) sent = $(stat 5 received rmpp_received) answered"
	books+=" + $(stat 5 timeouts send_errors dropped_limit dropped_memory dropped_address) timed out"
	echo "the port: $books, $(stat 5 refused_memory) refused"
	grep -qx "$books" "$tmp/greedy.asked" &&
		grep -qx "$(stat 5 dropped_limit dropped_memory dropped_address) dropped" "$tmp/greedy.asked" &&
		grep -qx "$(stat 5 refused_memory) refused" "$tmp/greedy.asked"
}
check "greedy: the port has counted the same" counted
check "many: some requests timed out" grep -q '[1-9][0-9]* timed out' "$tmp/many.asked"
check "greedy: what was acknowledged was delivered" grep -qx '0 dropped' "$tmp/greedy.asked"
wait "${others[@]}"
for name in unplug visit manager issm stuck stress; do
	echo "# $name: $(times $name) times"
	check "$name: more than once" at_least 2 $name
done
[ ! -e "$tmp/stress.failed" ] || grep -v succeeded "$tmp/stress.failed" | sed 's/^/# /'
check "no stress failed" fails test -e "$tmp/stress.failed"
alive()
{
	cat "$tmp"/serve?
	kill -0 "${servers[@]}"
}
check "the servers never failed" alive
kill -KILL "${servers[@]}"
wait "${servers[@]}" 2>/dev/null
empty()
{
	local host name
	for host in 1 2 3 4 5; do
		for name in files agents outstanding unread; do
			[ "$(stat $host $name)" = 0 ] ||
				{ echo "H$host: $name $(stat $host $name)"; return 1; }
		done
	done
}
check "with all gone, the ports count nothing of them" until_true 10 empty
check "madsim is unloaded" until_true 10 unload
check "ib_umad is unloaded, and leaves nothing" until_true 10 rmmod ib_umad
finish
