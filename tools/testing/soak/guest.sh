#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# In a guest: everything at once for a while, then the balance, in TAP.
#
#	guest.sh SECONDS PROGRAMS
#
# PROGRAMS is the folder of the selftests; ib_umad is loaded, and MADSIM_MODULE names our
# madsim.
#
#	H1 and H3	subnet managers, which sweep, die and come back; askers
#	H2, H4		servers; what H2 sends gets lost, doubled, late and out
#			of order, what H4 sends gets lost
#	H5		an asker whose cgroup cannot pay for all that it asked for
#	elsewhere	the selftest stress, over more of madsim, seed by seed

. "$(dirname "$0")/../madsim/lib.sh"

[ $# = 2 ] || bail "usage: guest.sh SECONDS PROGRAMS"
seconds=$1
stress=$2/stress
soak=$here/../soak/soak.py
[ -x "$stress" ] || bail "$stress is missing: tools/testing/soak/run builds it"

load topology=star:5 devices=5 || bail "cannot load ib_madsim"
faults=$configfs/preset/faults
for host in 1 2 3 4 5; do
	dev[host]=$(device H$host)
	umad[host]=$(grep -lx "${dev[host]}" /sys/class/infiniband_mad/umad*/ibdev | cut -d/ -f5)
done

SM_SWEEP=5
sm_start H1 "${dev[1]}"
sm_start H3 "${dev[3]}"
check "the subnet comes up" until_true 60 active 5
lid2=$(lid "${dev[2]}") lid4=$(lid "${dev[4]}")
for rule in "H2 1 drop permille 20" "H2 1 duplicate permille 10" "H2 1 reorder permille 10" \
		"H2 1 delay permille 10" "H4 1 drop permille 5"; do
	put $faults "$rule"
done

# What runs until it is told to stop counts what it did in a file of its own
go=$tmp/go
touch "$go"
count()
{
	echo >>"$tmp/$1.count"
}
twice()
{
	echo "$(wc -l <"$tmp/$1.count") times"
	[ "$(wc -l <"$tmp/$1.count")" -ge 2 ]
}

managers()
{
	local next=1
	while [ -e "$go" ]; do
		sleep 10
		sm_end H$next KILL
		sleep 2
		sm_start H$next "${dev[next]}"
		next=$((4 - next))
		count managers
	done
	sm_end H1 KILL
	sm_end H3 KILL
}

# It has to be killed
stuck()
{
	while [ -e "$go" ]; do
		timeout -s KILL 3 "$soak" stuck "/dev/infiniband/${umad[$1]}" "$2"
		[ $? != 137 ] || count stuck
	done
}

# Not over Soft-RoCE: the README says why
mixes()
{
	local seed=1
	while [ -e "$go" ]; do
		UMAD_STRESS_SEED=$seed "$stress" -V rxe >"$tmp/stress.log" 2>&1 ||
			cat "$tmp/stress.log" >>"$tmp/stress.failed"
		count mixes
		seed=$((seed + 1))
	done
}

for host in 2 4; do
	"$soak" serve "/dev/infiniband/${umad[host]}" 2>"$tmp/serve$host" &
	servers+=($!)
done
managers 2>/dev/null & others=($!)
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
	"$soak" ask "/dev/infiniband/${umad[$2]}" "$3" "$seconds" "${@:4}" >"$tmp/$1.asked" 2>&1 &
	askers[$1]=$!
}
declare -A askers=()
ask short 1 "$lid2" 4 256
ask many 3 "$lid2" 128 256
ask long 3 "$lid4" 4 8192
ask greedy 5 "$lid4" 64 60000 /sys/fs/cgroup/soak

for name in short many long greedy; do
	status=0
	wait "${askers[$name]}" || status=$?
	sed "s/^/# $name: /" "$tmp/$name.asked"
	check "the books of \"$name\" balance" test $status = 0
done
rm "$go"
check "many: some requests timed out" grep -q '[1-9][0-9]* timed out' "$tmp/many.asked"
check "greedy: what was acknowledged was delivered" grep -qx '0 dropped' "$tmp/greedy.asked"
wait "${others[@]}"
for name in managers stuck mixes; do
	check "$name: more than once" twice $name
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
	grep -Hvx 0 /sys/class/infiniband_mad/umad*/statistics/{files,agents,outstanding,unread} ||
		return 0
	return 1
}
check "with all gone, the ports count nothing of them" until_true 10 empty
check "both modules are unloaded, and leave nothing" until_true 10 eval '
	[ ! -d /sys/module/ib_madsim ] || unload
	rmmod ib_umad'
finish
