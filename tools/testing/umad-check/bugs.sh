#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# umad-check with modules that have bugs planted, in a guest with Soft-RoCE and the
# distribution's module:
#
#	bugs.sh FOLDER BUGS
#
# FOLDER is what the Makefile of tools/infiniband/umad-check makes. BUGS is a folder
# with NAME.ko for each bug, and in NAME.tests the tests that find it, as PROGRAM.TEST.
# These have to fail, one of them at least, and no other program.

umad_check=$1/umad-check
bugs=$2
. "$(dirname "$0")/lib.sh"

names=$(cd "$bugs" && ls -- *.ko) || bail "no module in $bugs"
plan $((2 * $(wc -w <<<"$names") + 1))
state >"$tmp/before"

# failed: the names of failed tests, without their variants
failed()
{
	sed -n '/what failed/,/^===.*all$/{/^[ =]/d; s/^\([a-z]*\)\..*\./\1./p}' "$tmp/report" |
		sort -u
}

finds()
{
	local test found=
	checks 1 -p rxe0 -t poll "${programs[@]}" --switch-module "$bugs/$1"
	as_before
	failed
	for test in $tests; do
		! failed | grep -qx "$test" || found=1
	done
	[ $found ]
}

nothing_else()
{
	local program
	failed >"$tmp/others"
	for program in $tests; do
		sed -i "/^${program%%.*}\./d" "$tmp/others"
	done
	fails grep . "$tmp/others"
}

for name in $names; do
	tests=$(cat "$bugs/${name%.ko}.tests")
	programs=()
	for test in $tests; do
		programs+=(-t "${test%%.*}")
	done
	check "${name%.ko} is found" finds "$name"
	check "${name%.ko}: nothing else" nothing_else
done
check "the module without a bug is right" checks 0 -p rxe0 -t device
finish
