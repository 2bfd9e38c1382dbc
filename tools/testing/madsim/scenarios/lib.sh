# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# What the scenarios share: they judge a subnet manager's work by what the nodes say,
# never by what it says itself.
# shellcheck shell=bash

# shellcheck source=tools/testing/madsim/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

# fault WORDS: of the preset
fault()
{
	put $configfs/preset/faults "$*"
}

# tables DEVICE: what all switches have, to be walked
tables()
{
	ibnetdiscover -C "$1" -P 1 >"$tmp/net"
	dump_fts -n -C "$1" -P 1 >"$tmp/lfts"
}

# walk DEVICE "N LIDs, M ways" [OPTION ...]: of walk.awk
walk()
{
	local device=$1 wanted=$2
	shift 2
	tables "$device"
	says "^$wanted\$" awk "$@" -f "$here/scenarios/walk.awk" "$tmp/net" "$tmp/lfts"
}

# whole DEVICE PORTS [LIDS]: from each of so many ports there is a way to each LID
whole()
{
	local lids=${3-$2}

	walk "$1" "$lids LIDs, $(($2 * lids)) ways"
}
