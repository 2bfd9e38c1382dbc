#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Hosts join and leave multicast groups, as IPoIB does it for IP, under another subnet
# manager as well: the tables of the switches follow, and groups without members end.

. "$(dirname "$0")/lib.sh"

with_ipoib
plan 8

load topology=fattree:4 devices=6 data=1 || bail "cannot load ib_madsim"
groups=(239.1.1.1 239.1.1.2 239.1.1.3)

# follows: the tables of the switches
follows()
{
	multicast "36 LIDs, 1296 ways"
}

sm_start sm madsim0
check "all ports become active" until_true 60 active 6
interfaces || bail "not every device has a network interface"
for device in madsim1 madsim2 madsim3 madsim4; do
	join $device "${groups[0]}"
done
check "four members" until_true 30 follows

# Whoever is a member leaves, whoever is not joins
RANDOM=25
for round in 1 2 3 4; do
	for i in {1..8}; do
		device=madsim$((RANDOM % 6)) address=${groups[RANDOM % 3]}
		if [ "${member[$device/$address]-}" ]; then
			part $device "$address"
		else
			join $device "$address"
		fi
	done
	check "they come and go, round $round: ${#member[@]} in all" until_true 30 follows
	[ $round != 3 ] || { sm_end sm KILL; sm_start other madsim0; }
done
entries=$(members | sed 's/:.*//' | sort -u | paste -sd '|')
for key in "${!member[@]}"; do
	part "${key%/*}" "${key#*/}"
done
# no_groups: that the subnet administration knows of
no_groups()
{
	local address
	for address in "${groups[@]}"; do
		[ -z "$(mlid "$address")" ] || return
	done
}
check "all have left: there is no group any more" until_true 30 no_groups
check "no switch has an entry for one" eval '
	tables madsim0
	grep "^0xc0" "$tmp/mfts" >"$tmp/entries"
	fails grep -E "^($entries) " "$tmp/entries"'
sm_end other
modprobe -qr ib_ipoib
until_true 10 unload

finish
