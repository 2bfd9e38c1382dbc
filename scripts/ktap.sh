# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# KTAP of our own scripts; sourced, never run. kselftest has ktap_helpers.sh, which
# splits the arguments of a command into words and cannot nest.
#
# shellcheck shell=bash

ktap_number=0

# ktap_plan COUNT
ktap_plan()
{
	ktap_number=0
	echo "KTAP version 1"
	echo "1..$1"
}

# ktap NAME COMMAND ...: one test, that passes when COMMAND returns 0; what it
# prints is diagnostics
ktap()
{
	local name=$1 output status=0
	shift
	ktap_number=$((ktap_number + 1))
	output=$("$@" 2>&1) || status=$?
	[ -z "$output" ] || sed 's/^/# /' <<<"$output"
	if [ $status = 0 ]; then
		echo "ok $ktap_number $name"
	else
		echo "not ok $ktap_number $name"
	fi
}

# ktap_program NAME COMMAND ...: a document of its own, with this test alone
ktap_program()
{
	echo "# program $1"
	ktap_plan 1
	ktap "$@"
}

# ktap_skip NAME REASON
ktap_skip()
{
	ktap_number=$((ktap_number + 1))
	echo "ok $ktap_number $1 # SKIP $2"
}

# ktap_nested NAME COMMAND ...: one test, that prints TAP of its own
ktap_nested()
{
	local name=$1
	shift
	ktap_number=$((ktap_number + 1))
	# TAP of its own can be a thousand lines: hand them on as they come.
	if (set -o pipefail; "$@" | sed -u 's/^/  /'); then
		echo "ok $ktap_number $name"
	else
		echo "not ok $ktap_number $name"
	fi
}
