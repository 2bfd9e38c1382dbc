#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# In a guest with umad loaded and a kernel that looks for what goes wrong between
# CPUs: run the selftests that provoke it, then say whether the kernel did look.
#
#	guest.sh kcsan PROGRAMS MADSIM
#	guest.sh data|debug|rt PROGRAMS
#
# PROGRAMS is the folder of the selftests, MADSIM an ib_madsim that KCSAN does not watch, for
# those of ib_umad. What was found is in the kernel log, for scripts/guest/run to see.

set -u
which=$1 programs=$2
run=$(dirname "$0")/../selftests/rdma/user_mad/run.sh
counters=/sys/kernel/debug/kcsan
. "$(dirname "$0")/../../../scripts/ktap.sh"

# watch SKIP: have a watchpoint at every SKIPth access at most, where KCSAN waits for up to
# 100 us for another task to come by
watch()
{
	echo "$1" >/sys/module/kcsan/parameters/skip_watch
	echo 100 >/sys/module/kcsan/parameters/udelay_task
}

# pairs SKIP VARIANT: run this one of stress
pairs()
{
	watch "$1"
	ktap_nested "$2" env UMAD_PACE=thorough "$programs/stress" -v "$2"
}

# Also those for whose report another one came too early
no_race()
{
	grep -qx 'data_races: 0' $counters && grep -qx 'races_unknown_origin: 0' $counters
}

# watched: KCSAN was there, and has seen no race
watched()
{
	sed 's/^/# /' $counters
	ktap "KCSAN is on" grep -qx 'enabled: 1' $counters
	ktap "a hundred thousand accesses were watched" \
		grep -Eqx 'setup_watchpoints: [0-9]{6,}' $counters
	ktap "no race was seen" no_race
}

ktap_begin
case $which in
kcsan)
	# With all of its accesses watched, madsim would get most watchpoints
	insmod "$3"
	mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config
	# What is done once in the life of a device or a descriptor has to be
	# watched then. Of what is done often, fewer watchpoints see more, as
	# the other CPU gets further meanwhile.
	pairs 4 pairs_rare
	pairs 10 pairs_often
	rmmod ib_madsim
	ktap_nested selftests $run "$programs" stress
	rmmod ib_madsim
	ktap_nested madsim env UMAD_PACE=slow "$(dirname "$0")/../madsim/run.sh" verbs.meanwhile
	watched ;;
data)
	watch 10
	ktap_nested madsim env UMAD_PACE=slow "$(dirname "$0")/../madsim/run.sh" verbs
	watched ;;
debug|rt)
	ktap_nested selftests env UMAD_PACE=slow \
		$run "$programs" stress issm fatal stall
	# Soft-RoCE takes many seconds for each removal in such a kernel, and with
	# PREEMPT_RT others take more than a test waits for, too
	if [ "$which" = debug ]; then
		for program in removal removal_stall; do
			ktap_nested $program "$programs/$program" -v madsim -v netns -v rmmod
		done
	fi
	# It switches itself off with its first report
	ktap "lockdep is on" grep -Eqx ' *debug_locks: *1' /proc/lockdep_stats ;;
*)
	echo "guest.sh: '$which': not kcsan, data, debug or rt" >&2
	exit 2 ;;
esac
ktap_end
