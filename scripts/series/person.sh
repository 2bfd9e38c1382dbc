# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The person who signs patches; sourced, never run.
#
# shellcheck shell=bash

# is_person NAME ADDRESS: and no group, machine or placeholder
is_person()
{
	[[ $1 =~ ^[^[:space:]@]+([[:space:]]+[^[:space:]@]+)+$ ]] &&
		! grep -qwiE 'maintainers?|team|group|project|bot|root|nobody|unknown' <<<"$1" &&
		[[ $2 =~ ^[^[:space:]@]+@[^[:space:]@]+\.[^[:space:]@]+$ ]] &&
		! grep -qiE 'no-?reply|\.(example|invalid|test|local|localdomain)$|@example\.' <<<"$2"
}
