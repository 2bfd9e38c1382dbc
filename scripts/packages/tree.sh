# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The source of a package; sourced after common.sh, never run.
#
# shellcheck shell=bash disable=SC2154	# top comes from common.sh

# shellcheck source=scripts/kernel/linux.sh
. "$top/scripts/kernel/linux.sh"

# source_tree FOLDER: what of this checkout git does not ignore, and the files of
# kselftest that umad-check is built with, in their places of a kernel tree
source_tree()
{
	local ksft

	ksft=$(linux_kselftest_at_hand)
	mkdir -p "$1/tools/testing/selftests"
	top_git ls-files -co --exclude-standard -z | while IFS= read -r -d '' file; do
		[ ! -e "$top/$file" ] || printf '%s\0' "$file"
	done | (cd "$top" && xargs -0 cp -a --parents -t "$1")
	cp -a "$ksft"/{lib.mk,kselftest.h,kselftest_harness.h} "$1/tools/testing/selftests/"
	cp -a "$ksft/../../../scripts/subarch.include" "$1/scripts/"
}
