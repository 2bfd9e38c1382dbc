#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# In a guest with KCSAN: run the selftest mix, then say whether anything was
# watched, and what was seen.
#
#	race.sh PROGRAMS
#
# The reports themselves are in the kernel log, for scripts/guest to find.

set -u
counters=/sys/kernel/debug/kcsan
status=0 number=0

# result NAME COMMAND ...: a test that passes if the command does
result()
{
	local name=$1 not=
	shift
	number=$((number + 1))
	"$@" || not="not " status=1
	echo "${not}ok $number - $name"
}

# A program has two minutes, in a slow guest on a busy machine
for seed in 1 2 3; do
	UMAD_MIX_SEED=$seed UMAD_MIX_OPS=4000 \
		"$(dirname "$0")/selftests/infiniband/user_mad/run.sh" "$1" mix || status=1
done

echo "# program kcsan"
echo "TAP version 13"
echo "1..3"
sed 's/^/# /' $counters
result "KCSAN is on" grep -qx 'enabled: 1' $counters
result "thousands of accesses were watched" \
	grep -Eqx 'setup_watchpoints: [0-9]{4,}' $counters
# Also those for whose report another one came too early
no_race()
{
	grep -qx 'data_races: 0' $counters &&
		grep -qx 'races_unknown_origin: 0' $counters
}
result "no race was seen" no_race
exit $status
