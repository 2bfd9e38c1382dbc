# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The one writer of KTAP; sourced, never run. kselftest has ktap_helpers.sh, which
# splits the arguments of a command into words and cannot nest.
#
# shellcheck shell=bash

ktap_number=0 ktap_failed=0

# The plan is behind the tests, so that nobody counts them by hand. One that ends early has none
ktap_begin()
{
	ktap_number=0 ktap_failed=0
	echo "KTAP version 1"
}

# The last command: fails if a test has failed
ktap_end()
{
	echo "1..$ktap_number"
	[ $ktap_failed = 0 ]
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

# ktap_bail REASON: no test can run any more
ktap_bail()
{
	echo "Bail out! $*"
	exit 1
}

# ktap_nested NAME COMMAND ...: one test, whose parts COMMAND prints as KTAP of its own
ktap_nested()
{
	local name=$1 status=0
	shift
	# Hand them on as they come: they may be a thousand lines
	echo "  # Subtest: $name"
	(set -o pipefail; "$@" | sed -u "s/^/  /") || status=$?
	ktap_result $status "$name"
}

# ends STATUS MESSAGE COMMAND ...: with this status, saying this among others. said has it all
ends()
{
	local want=$1 message=$2 status=0
	shift 2
	said=$("$@" 2>&1 </dev/null) || status=$?
	echo "status $status: $said"
	[ $status = "$want" ] && grep -Eq "$message" <<<"$said"
}

# at_terminal PATTERN ANSWER COMMAND ...: the command has a terminal, which `script` has.
# To each line like this it gets the answer. said has all of them
at_terminal()
{
	local pattern=$1 answer=$2 line pid from to status=0
	shift 2

	said=
	coproc script -qec "$*" /dev/null 2>&1
	pid=$COPROC_PID
	exec {from}<&"${COPROC[0]}" {to}>&"${COPROC[1]}"
	while read -r line <&$from; do
		said+=$line$'\n'
		# shellcheck disable=SC2053	# a pattern
		[[ $line != $pattern ]] || echo "$answer" >&$to
	done
	wait $pid || status=$?
	exec {from}<&- {to}>&-
	echo "status $status: $said"
	return $status
}
