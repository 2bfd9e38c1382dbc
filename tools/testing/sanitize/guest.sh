#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# In a guest with sanitizers and our umad loaded: all tests over Soft-RoCE and
# madsim, with a look at the kernel log after each program, and at times a search
# for what they leaked:
#
#	scripts/guest/run OPTION ... tools/testing/sanitize/guest.sh PROGRAMS OUT
#
# PROGRAMS is the folder of the selftests. How often each line of the modules
# ran is copied to the folder OUT, for tools/testing/sanitize/coverage.

set -eu
. "$(dirname "$0")/../../../scripts/common.sh"
. "$top/scripts/guest/inside/umad.sh"
. "$top/scripts/ktap.sh"

[ $# = 2 ] || die "usage: tools/testing/sanitize/guest.sh PROGRAMS OUT"
programs=$1 out=$2
cd "$top/tools/testing"

gone()
{
	rdma link delete rxe0 && rmmod ib_umad &&
		[ ! -e /sys/class/infiniband_mad ]
}

watch_kernel
# What was there before is not ours
$AFTER_EACH leaks >/dev/null || true

suites=(/sys/kernel/debug/kunit/umad_*)
ktap_plan $((${#suites[@]} + 7))
for suite in "${suites[@]}"; do
	ktap_nested "${suite##*/}" cat "$suite/results"
done
ktap_nested selftests selftests/rdma/user_mad/run.sh -n "$programs"
ktap_nested fail_nth selftests/rdma/user_mad/run.sh -n "$programs" fail_nth_agent \
	fail_nth_port fail_nth_recv fail_nth_send
ktap "leaks of the selftests" "$AFTER_EACH" leaks
rmmod ib_madsim
ktap_nested madsim madsim/run.sh
ktap "leaks of madsim" "$AFTER_EACH" leaks
# With nothing left that could refer to it, what was missed so far is found.
ktap unload gone
ktap "leaks of all" "$AFTER_EACH" leaks

cd /sys/kernel/debug/gcov
find . -name '*.gcda' | while read -r file; do
	mkdir -p "$out/${file%/*}"
	cat "$file" >"$out/$file"
done
exit $((ktap_failed > 0))
