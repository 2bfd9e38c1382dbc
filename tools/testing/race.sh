#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# In a guest with umad loaded and a kernel that looks for what goes wrong between
# CPUs: run the selftests that provoke it, then say whether the kernel did look.
#
#	race.sh kcsan PROGRAMS MADSIM
#	race.sh debug PROGRAMS
#
# PROGRAMS is the folder of the selftests, MADSIM an ib_madsim that KCSAN does
# not watch. What was found is in the kernel log, for scripts/guest to see.

set -u
which=$1 programs=$2
run=$(dirname "$0")/selftests/infiniband/user_mad/run.sh
counters=/sys/kernel/debug/kcsan
status=0 number=0
export UMAD_TIMEOUT=600

# result NAME COMMAND ...: a test that passes if the command does
result()
{
	local name=$1 not=
	shift
	number=$((number + 1))
	"$@" || not="not " status=1
	echo "${not}ok $number - $name"
}

# watch SKIP USEC: set a watchpoint at every SKIPth access at most, and wait there
# for up to USEC for somebody else to come by. Few watchpoints see more of what
# is done often, as the other CPU gets further meanwhile; what is done once in a
# device's life needs many.
watch()
{
	echo "$1" >/sys/module/kcsan/parameters/skip_watch
	echo "$2" >/sys/module/kcsan/parameters/udelay_task
}

# Also those for whose report another one came too early
no_race()
{
	grep -qx 'data_races: 0' $counters &&
		grep -qx 'races_unknown_origin: 0' $counters
}

case $which in
kcsan)
	# With all of its accesses watched, madsim would get most watchpoints
	for skip in 20 100; do
		watch $skip 100
		UMAD_RACE_MS=250 MADSIM_MODULE=$3 $run "$programs" race ||
			status=1
	done
	rmmod ib_madsim
	$run "$programs" mix || status=1

	echo "# program kcsan"
	echo "TAP version 13"
	echo "1..3"
	sed 's/^/# /' $counters
	result "KCSAN is on" grep -qx 'enabled: 1' $counters
	result "a hundred thousand accesses were watched" \
		grep -Eqx 'setup_watchpoints: [0-9]{6,}' $counters
	result "no race was seen" no_race ;;
debug)
	UMAD_MIX_OPS=600 \
		$run "$programs" race mix removal issm_removal fatal stall ||
		status=1

	echo "# program debug"
	echo "TAP version 13"
	echo "1..1"
	# It switches itself off with its first report
	result "lockdep is on" \
		grep -Eqx ' *debug_locks: *1' /proc/lockdep_stats ;;
*)
	echo "race.sh: '$which': not kcsan or debug" >&2
	exit 2 ;;
esac
exit $status
