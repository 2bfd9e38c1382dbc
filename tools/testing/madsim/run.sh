#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Run the tests of ib_madsim: run.sh [TEST ...]. Each prints a TAP document
# after a line "# program TEST". Fails if one of them did.

set -eu
cd "$(dirname "$0")"

[ $# -gt 0 ] || set -- presets diagnostics sm lmc saquery issm config topology faults unplug
status=0
for test; do
	[ -x "$test.sh" ] || { echo "run.sh: there is no test $test" >&2; exit 2; }
	echo "# program $test"
	"./$test.sh" || status=1
done
exit $status
