#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# In a guest with sanitizers and our umad loaded: run some of the tests, with a
# look at the kernel log after each, until one fails:
#
#	scripts/guest/run OPTION ... tools/testing/mutants/guest.sh PROGRAMS TEST ...
#
# PROGRAMS is the folder of the selftests. A TEST is one of these programs, or one
# of its tests as PROGRAM/NAME; madsim/NAME, of tools/testing/madsim; kunit/SUITE;
# or leaks: unloading everything, and a search for what nobody holds any more.

set -eu
. "$(dirname "$0")/../../../scripts/common.sh"
. "$top/scripts/guest/inside/umad.sh"

[ $# -ge 2 ] || die "usage: tools/testing/mutants/guest.sh PROGRAMS TEST ..."
programs=$1
shift
cd "$top/tools/testing"

# A suite that has not run has results, too, but none of a case
suite()
{
	local results=/sys/kernel/debug/kunit/$1/results

	cat "$results"
	grep -q "^ok 1 $1\$" "$results" && grep -q '^    ok 1 ' "$results" && $AFTER_EACH
}

leaks()
{
	rdma link delete rxe0
	[ ! -d /sys/module/ib_madsim ] || rmmod ib_madsim || return 1
	rmmod ib_umad && $AFTER_EACH leaks
}

watch_kernel
# What was there before is not ours
case " $* " in
*" leaks "*)	$AFTER_EACH leaks >/dev/null || true ;;
esac

all()
{
	local test

	for test; do
		echo "# program $test"
		case $test in
		leaks)		leaks ;;
		kunit/*)	suite "${test#*/}" ;;
		madsim/*)
			[ ! -d /sys/module/ib_madsim ] || rmmod ib_madsim
			madsim/run.sh "${test#*/}" ;;
		*)		selftests/rdma/user_mad/run.sh -n "$programs" "$test" ;;
		esac 2>&1 || echo "not ok $test"
	done
	echo "# done"
}

# The first failure is enough, however deep it is: nobody waits for what follows
while read -r line; do
	echo "$line"
	case $line in
	"not ok "*)	exit 1 ;;
	"# done")	exit 0 ;;
	esac
done < <(all "$@")
exit 1
