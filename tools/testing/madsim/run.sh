#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Run the tests of ib_madsim: run.sh [TEST ...]. Each is a test, whose parts it
# prints before. Fails if one of them did. Of a program in Python, PROGRAM.CHECK is a test,
# too. What a script checks builds on what was before: PROGRAM.WORD runs until the first
# check with this word in its name, but for cases that build on none.
#
# AFTER_EACH in the environment is a command to run after each of them, to look
# for what it did to the kernel. If it fails, so has the test. UMAD_LEAVE has the tests to
# skip if none is named.

set -eu
cd "$(dirname "$0")"
. ../../../scripts/ktap.sh

[ $# = 0 ] || UMAD_LEAVE=
[ $# -gt 0 ] || set -- $(find . -maxdepth 1 '(' -name '*.sh' -o -name '*.py' -executable ')' |
	sed 's|^./||; s|\.[a-z]*$||' | grep -vxE 'lib|run' | sort -u)
after_each()
{
	local after

	[ "${AFTER_EACH-}" ] || return 0
	after=$($AFTER_EACH 2>&1) && return
	sed 's/^/# /' <<<"$after"
	return 1
}

# A script gets the word by the environment: other suites source lib.sh with arguments
one()
{
	local status=0

	# shellcheck disable=SC2086	# one word, or none
	TAP_LAST=${only#.} "./$program" ${only#.} || status=1
	after_each && return $status
}

ktap_begin
for test; do
	program=${test%%.*}.sh only=${test#"${test%%.*}"}
	[ -x "$program" ] || program=${program%sh}py
	[ -x "$program" ] || { echo "run.sh: there is no test $test" >&2; exit 2; }
	if [[ " ${UMAD_LEAVE-} " == *" $test "* ]]; then
		ktap_skip "$test" "left to another run"
	else
		ktap_nested "$test" one
	fi
done
ktap_end
