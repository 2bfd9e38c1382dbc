#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# rdma-core's own tests, in Python. Of what a device says that it cannot do, they skip.

. "$(dirname "$0")/lib.sh"

kernel_has "ib_ipoib ib_uverbs rdma_ucm"
have python3
suite=/usr/share/doc/rdma-core/tests
[ -e $suite/run_tests.py ] || leave_out "there are no tests of rdma-core"

run()
{
	local modules
	cp -r $suite "$tmp/"
	gunzip "$tmp"/tests/*.gz
	cd "$tmp" || return
	modules=$(ls tests | sed -n 's/^\(test_.*\)\.py$/tests.\1/p' | grep -v mlx5)
	# shellcheck disable=SC2086	# a word list
	timeout -s INT 600 python3 tests/run_tests.py -v --dev madsim0 $modules \
		>results 2>&1 || true
	tail -n 3 results
	grep -q "^Ran [1-9]" results
}

# counted RESULT: how many have it
counted()
{
	grep -c "\.\.\. $1" "$tmp/results"
}

check "two hosts" hosts
check "the tests run" run
check "none fails" eval '
	grep -A 20 "^\(FAIL\|ERROR\):" "$tmp/results" || true
	grep -q "^OK" "$tmp/results"'
check "fifty or more pass" eval '[ "$(counted ok)" -ge 50 ]'
echo "# $(counted ok) passed, $(counted skipped) skipped:"
sed -n "s/.*\.\.\. skipped ['\"]\(.*\)['\"]\$/\1/p" "$tmp/results" | sort | uniq -c | sort -rn |
	sed 's/^/# /'
hosts_end
