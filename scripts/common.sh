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

# Git in this checkout, which may belong to another user than root, whatever
# other one the environment names
top_git()
{
	env -u GIT_DIR -u GIT_WORK_TREE -u GIT_INDEX_FILE \
		git -c safe.directory="$top" -C "$top" "$@"
}

# Have one of us use apt at a time: its own locks make the others fail.
apt_try_lock()
{
	mkdir -p "$cache"
	exec 8>"$cache/apt.lock"
	flock -n 8
}

apt_lock()
{
	apt_try_lock || flock 8
}

# Fetch the package lists; whether that helped shows when they are used.
apt_update()
{
	say "fetching the package lists"
	apt-get -qq update >/dev/null 2>&1 || true
}

# build_lock NAME: have one run at a time work in build/, NAME, and tell who that
# is. A script that one of us calls inherits the lock; what a killed one left
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
