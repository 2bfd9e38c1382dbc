# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# What every script here shares; sourced, never run.
#
# shellcheck shell=bash

# shellcheck disable=SC2034	# used by the scripts that source this
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
# shellcheck disable=SC2034
cache=${XDG_CACHE_HOME:-$HOME/.cache}/user_mad

say()
{
	echo "$*" >&2
}

# With the script's name below scripts/ or tools/testing/
die()
{
	local name=${0##*scripts/}

	echo "${name##*tools/testing/}: $*" >&2
	exit 1
}

# needs_debian: elsewhere say in one line where this works
needs_debian()
{
	local ID= PRETTY_NAME=

	. /etc/os-release
	! command -v apt-get >/dev/null || [ "$ID" != debian ] || return 0
	die "this needs Debian and its apt, and ${PRETTY_NAME:-this machine} has other ones. A container" \
		"will do: docker run -it -v \"\$PWD:/user_mad\" debian:13 sh -c" \
		"'apt-get update && apt-get install -y git make && make -C /user_mad demo'"
}

# patiently LOG COMMAND ...: a step that may take minutes. What it prints goes to LOG;
# every ten seconds it tells that it goes on, and where it is.
patiently()
(
	log=$1 began=$SECONDS next=10 last=
	shift
	set -o pipefail
	"$@" 2>&1 | while IFS= read -rt 1 line || [ $? -gt 128 ]; do
		[ -z "$line" ] || { echo "$line"; last=$line; }
		if [ $((SECONDS - began)) -ge $next ]; then
			say "    $next s: ${last:0:70}"
			next=$((next + 10))
		fi
	done >"$log"
)

# Git in this checkout, which may belong to another user than root, whatever
# other one the environment names
top_git()
{
	env -u GIT_DIR -u GIT_WORK_TREE -u GIT_INDEX_FILE \
		git -c safe.directory="$top" -C "$top" "$@"
}

# Have one of us use apt at a time: its own locks make the others fail.
apt_lock()
{
	mkdir -p "$cache"
	exec 8>"$cache/apt.lock"
	flock 8
}

# An archived or lagging mirror is better than none: apt checks the signature of the
# package lists, and not how old they are.
apt_expired_too=(-o Acquire::Check-Valid-Until=false)

# apt_said LOG: say what went wrong first, if anything did
apt_said()
{
	grep -m 1 '^[EW]: ' "$1" >&2 || true
}

# apt_expired FOLDER WHOSE: say how old the package lists there are, if they have expired
apt_expired()
{
	local file until

	for file in "$1"/*Release; do
		until=$(sed -n 's/^Valid-Until: //p;/^ /q' "$file" 2>/dev/null)
		[ "$until" ] && [ "$(date -d "$until" +%s)" -lt "$(date +%s)" ] || continue
		say "the package lists of $2 are of $(sed -n 's/^Date: //p;/^ /q' "$file")," \
			"and have expired: taking them nevertheless"
		return
	done
}

# Fetch the package lists; whether that helped shows when they are used.
apt_update()
{
	local log lists

	say "fetching the package lists"
	log=$(mktemp)
	apt-get -q "${apt_expired_too[@]}" update >"$log" 2>&1 || true
	apt_said "$log"
	rm -f "$log"
	eval "$(apt-config shell lists Dir::State::lists/d)"
	apt_expired "$lists" "this machine"
}

# build_lock NAME: have one run at a time work in build/, NAME, and tell which one
# that is. A script that one of us calls inherits the lock; what a killed one left
# running keeps it.
build_lock()
{
	local who

	[ -z "${USER_MAD_BUILD_LOCKED-}" ] || return 0
	mkdir -p "$top/build"
	exec 7>>"$top/build/.run"
	flock -n 7 || {
		who=$(cat "$top/build/.run")
		say "waiting for ${who:-another run} to be done with $top/build"
		flock 7
	}
	echo "$1 (process $$)" >"$top/build/.run"
	export USER_MAD_BUILD_LOCKED=1
}
