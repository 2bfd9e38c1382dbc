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

die()
{
	echo "${0##*/}: $*" >&2
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
