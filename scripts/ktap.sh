# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The one writer of KTAP; sourced, never run. kselftest has ktap_helpers.sh, which
# splits the arguments of a command into words and cannot nest.
#
# shellcheck shell=bash

ktap_number=0 ktap_failed=0

# ktap_plan COUNT
ktap_plan()
{
	ktap_number=0
	echo "KTAP version 1"
	echo "1..$1"
}

# ktap_result STATUS NAME
ktap_result()
{
	ktap_number=$((ktap_number + 1))
	if [ "$1" = 0 ]; then
		echo "ok $ktap_number $2"
	else
		ktap_failed=$((ktap_failed + 1))
		echo "not ok $ktap_number $2"
	fi
}

# ktap NAME COMMAND ...: one test, that passes when COMMAND returns 0; what it
# prints is diagnostics
ktap()
{
	local name=$1 output status=0
	shift
	output=$("$@" 2>&1) || status=$?
	[ -z "$output" ] || sed "s/^/# /" <<<"$output"
	ktap_result $status "$name"
}

# ktap_skip NAME REASON
ktap_skip()
{
	ktap_number=$((ktap_number + 1))
	echo "ok $ktap_number $1 # SKIP $2"
}

# ktap_skip_all REASON: instead of all tests
ktap_skip_all()
{
	echo "KTAP version 1"
	echo "1..0 # SKIP $1"
}

# ktap_nested NAME COMMAND ...: one test, whose parts COMMAND prints as KTAP of its own
ktap_nested()
{
	local name=$1 status=0
	shift
	# Hand them on as they come: they may be a thousand lines
	echo "  # Subtest: $name"
	(set -o pipefail; ktap_failed=0; "$@" |
		sed -u "s/^/  /") || status=$?
	ktap_result $status "$name"
}
