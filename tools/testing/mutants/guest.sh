#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# In a guest with sanitizers and our umad loaded: run tests until one fails:
#
#	scripts/guest/run OPTION ... tools/testing/mutants/guest.sh PROGRAMS TEST ...
#
# PROGRAMS and TEST are as for scripts/guest/inside/tests.

set -eu
. "$(dirname "$0")/../../../scripts/common.sh"

[ $# -ge 2 ] || die "usage: tools/testing/mutants/guest.sh PROGRAMS TEST ..."

# The first failure is enough, however deep it is: nobody waits for what follows
while read -r line; do
	echo "$line"
	case $line in
	"not ok "*)	exit 1 ;;
	"# done")	exit 0 ;;
	esac
done < <("$top/scripts/guest/inside/tests" "$@" 2>&1 && echo "# done")
exit 1
