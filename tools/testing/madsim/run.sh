#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Run the tests of ib_madsim: run.sh [TEST ...]. Each prints a TAP document
# after a line "# program TEST". Fails if one of them did.
#
# AFTER_EACH in the environment is a command to run after each of them, to look
# for what it did to the kernel. Whether it fails is a test too.

set -eu
cd "$(dirname "$0")"

[ $# -gt 0 ] || set -- presets diagnostics sm lmc tables traps saquery issm_bit umadstat tracing \
	config topology faults unplug
status=0
for test; do
	[ -x "$test.sh" ] || { echo "run.sh: there is no test $test" >&2; exit 2; }
	echo "# program $test"
	"./$test.sh" || status=1
	[ "${AFTER_EACH-}" ] || continue
	echo "# program after-$test"
	echo "1..1"
	if after=$($AFTER_EACH 2>&1); then
		echo "ok 1 after $test"
	else
		sed 's/^/# /' <<<"$after"
		echo "not ok 1 after $test"
		status=1
	fi
done
exit $status
