# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# What the demos of the fabric share: how they tell what they do, and end when it is not
# so. Sourced, never run.
#
# shellcheck shell=bash

say()
{
	echo
	echo "$*"
}

fail()
{
	echo "FAILED: $*" >&2
	exit 1
}

# show COMMAND ...: run it, indented under its name; fails with it
show()
{
	echo "   \$ $*"
	"$@" 2>&1 | sed 's/^/   /' || fail "$*"
}

# wait_for WHAT COMMAND ...: at most a minute, with a sign of life each second
wait_for()
{
	local what=$1 i
	shift
	printf '   waiting until %s ' "$what"
	for ((i = 0; i < 300; i++)); do
		if "$@" >/dev/null 2>&1; then
			echo " yes"
			return
		fi
		[ $((i % 5)) != 0 ] || printf .
		sleep 0.2
	done
	fail "never: $what"
}
