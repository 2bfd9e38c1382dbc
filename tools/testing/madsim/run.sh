#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Run the tests of ib_madsim: run.sh [TEST ...]. Each is a test, whose parts it
# prints before. Fails if one of them did.
#
# AFTER_EACH in the environment is a command to run after each of them, to look
# for what it did to the kernel. If it fails, so has the test.

set -eu
cd "$(dirname "$0")"

[ $# -gt 0 ] || set -- $(ls ./*.sh | sed 's|^./||; s|\.sh$||' | grep -vxE 'lib|run')
status=0 number=0

after_each()
{
	local after

	[ "${AFTER_EACH-}" ] || return 0
	after=$($AFTER_EACH 2>&1) && return
	sed 's/^/# /' <<<"$after"
	return 1
}

echo "KTAP version 1"
echo "1..$#"
for test; do
	[ -x "$test.sh" ] || { echo "run.sh: there is no test $test" >&2; exit 2; }
	number=$((number + 1)) result=ok
	echo "  # Subtest: $test"
	(set -o pipefail; "./$test.sh" | sed -u 's/^/  /') || result="not ok"
	after_each || result="not ok"
	[ "$result" = ok ] || status=1
	echo "$result $number $test"
done
exit $status
