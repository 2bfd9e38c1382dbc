# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# What tests there are, by name: PROGRAM, or PROGRAM.TEST for one of its tests.
# Sourced after common.sh, never run.
#
# shellcheck shell=bash disable=SC2154	# top comes from common.sh

madsim_tests=$top/tools/testing/madsim
selftests=$top/tools/testing/selftests/rdma/user_mad

# Programs that make test leaves to the suite sanitize: these inject faults or take long, and
# no planted bug needs them
left_programs="fail_nth hosts saquery umadstat unplug"

kunit_suites()
{
	sed -n '/^static struct kunit_suite /,/^}/s/.*\.name\s*= "\(.*\)",/\1/p' \
		"$top"/drivers/infiniband/*/{user_mad,madsim/*}/*_kunit.c
}

# test_python PROGRAM: of those of madsim it is one in Python. What is no program, or that of
# a script, cannot be run or has the script beside it
test_python()
{
	[ -x "$madsim_tests/$1.py" ] && [ ! -e "$madsim_tests/$1.sh" ]
}

# test_kind TEST: prints whose program it is: kunit, madsim, scenarios, ulps or
# selftests; fails if there is no such program
test_kind()
{
	local program=${1%%.*}

	if [[ $program =~ ^(run|lib|)$ ]]; then
		return 1
	elif kunit_suites | grep -xF -- "$program" >/dev/null; then
		echo kunit
	elif [ -e "$madsim_tests/$program.sh" ] || test_python "$program"; then
		echo madsim
	elif [ -e "$madsim_tests/scenarios/$program.sh" ]; then
		echo scenarios
	elif [ -e "$madsim_tests/ulps/$program.sh" ]; then
		echo ulps
	elif [ -e "$selftests/${program%_32}.c" ]; then
		echo selftests
	else
		return 1
	fi
}

# test_programs [KIND]: all of them, a line for each kind
test_programs()
{
	local name

	for name in "$selftests"/*.c "$madsim_tests"/{,scenarios/,ulps/}*.sh \
			"$madsim_tests"/*.py $(kunit_suites); do
		name=${name##*/}
		name=${name%.*}
		echo "$(test_kind "$name") $name"
	done | awk -v only="${1-}" '
		NF == 2 && (only == "" || only == $1) && !seen[$2]++ { names[$1] = names[$1] " " $2 }
		END { for (kind in names) print kind ":" names[kind] }' | sort
}

# test_require KIND TEST: there is such a program
test_require()
{
	[ "$(test_kind "$2")" = "$1" ] || die "no test '$2' here; there are $(test_programs "$1")"
}

# test_single TEST: what is named of a program is there. Of one of madsim it is a check, of a
# script of madsim a word of a check's name
test_single()
{
	local program=${1%%.*} names

	[ "$1" != "$program" ] || return 0
	if test_python "$program"; then
		names=$(sed -n 's/^    def test_\(\w*\)(self.*/\1/p' "$madsim_tests/$program.py")
		grep -qxF -- "${1##*.}" <<<"$names" ||
			die "$program has no test '${1#*.}'; it has: $(paste -sd ' ' <<<"$names")"
	elif [ -e "$madsim_tests/$program.sh" ]; then
		grep -qF -- "${1#*.}" "$madsim_tests/$program".* ||
			die "$program has no check with '${1#*.}' in its name"
	else
		die "$program runs as a whole only, not $1"
	fi
}

# test_selftests TEST ...: those of them that are selftests, in mine. Of a program of another
# kind it dies for a test that is not there
test_selftests()
{
	local test

	mine=()
	for test; do
		case $(test_kind "$test") in
		madsim|kunit)	test_single "$test" ;;
		*)		mine+=("$test") ;;
		esac
	done
}

# tests_words TEST ...: prints the words for the command line of a user-mode Linux that runs
# them
tests_words()
{
	local test words=time-travel

	for test; do
		[ "$(test_kind "$test")" != kunit ] || words="time-travel kunit.enable=1 kunit.autorun=1"
	done
	echo "$words"
}

# tests_counted RUN: a new folder for how often this run ran each line of the modules. Sets
# out, options for scripts/guest/run
tests_counted()
{
	export UMAD_COUNTED=$top/build/tests/$1.gcov
	rm -rf "$UMAD_COUNTED"
	mkdir -p "$UMAD_COUNTED"
	# shellcheck disable=SC2034	# for the caller
	out=(--out "$UMAD_COUNTED")
}
