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
