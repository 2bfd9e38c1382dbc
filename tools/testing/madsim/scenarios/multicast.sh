#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# opensm's multicast trees, with IPoIB: what any member sends reaches each other one once, and
# no other host. So it is when cables and hosts have gone and come, when hosts have joined and
# left, and under another subnet manager. Groups without members end.

. "$(dirname "$0")/lib.sh"

with_ipoib

load topology=fattree:4 devices=16 data=1 || ktap_bail "cannot load ib_madsim"
group=239.1.2.3
host=$(cat /sys/class/infiniband/madsim7/node_name)

sm_start sm madsim0
check "all ports become active" until_true 60 active 16
interfaces || ktap_bail "not every device has a network interface"
for device in $(devices); do
	[ "$device" = madsim5 ] || join "$device" $group
done
check "15 of 16 hosts are members: 210 copies" until_true 60 multicast "36 LIDs, 1296 ways"

# planted: a switch that sends one copy less, one that sends one more, and all that send to
# all their ports
planted()
{
	local all mlid
	all=$(members | xargs) mlid=$(mlid $group)
	refuses "gets 0 copies" walk madsim0 ".*" -v members="$all $mlid:$(lid madsim5)"
	refuses "is no member" walk madsim0 ".*" -v members="${all#* }"
	sed -i "/^$mlid /d; s/^Multicast .*/&\n$mlid fffe/" "$tmp/mfts"
	refuses "$mlid goes round and round" awk -v members="$all" \
		-f "$here/scenarios/walk.awk" "$tmp/net" "$tmp/lfts" "$tmp/mfts"
}
check "a copy too few, too many, and a loop would be seen" planted

# One of the two cables up of a leaf is in the tree
for port in 3 4; do
	put $faults "S1 $port link down"
	check "without cable $port of a leaf" until_true 60 multicast "36 LIDs, 1296 ways"
	put $faults "S1 $port link up"
done
check "with all cables" until_true 60 multicast "36 LIDs, 1296 ways"

gone()
{
	put $faults "$host 1 link down"
	unset "member[madsim7/$group]"
	until_true 60 multicast "35 LIDs, 1225 ways"
}
check "a host that is gone is no member" gone
check "when it is there again, it is one" eval '
	put $faults "$host 1 link up"
	until_true 60 multicast "36 LIDs, 1296 ways"'

# Whatever is a member leaves, whatever is not joins
RANDOM=25
groups=($group 239.1.1.2 239.1.1.3)
for round in 1 2 3 4; do
	for i in {1..8}; do
		device=madsim$((RANDOM % 16)) address=${groups[RANDOM % 3]}
		if [ "${member[$device/$address]-}" ]; then
			part $device "$address"
		else
			join $device "$address"
		fi
	done
	check "they come and go, round $round: ${#member[@]} in all" \
		until_true 60 multicast "36 LIDs, 1296 ways"
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
check "all have left: there is no group any more" until_true 60 no_groups
check "no switch has an entry for one" eval '
	tables madsim0
	grep "^0xc0" "$tmp/mfts" >"$tmp/entries"
	has_no -E "^($entries) " "$tmp/entries"'
sm_end other
modprobe -qr ib_ipoib
check "unload" until_true 10 unload

finish
