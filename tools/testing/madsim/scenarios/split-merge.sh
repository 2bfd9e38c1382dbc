#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# A subnet that is split has two masters, and two that are merged have one: with the LIDs
# of two subnets that knew nothing of each other.

. "$(dirname "$0")/lib.sh"

load topology=none || bail "cannot load ib_madsim"

# Two switches with three hosts each, and a cable between them
for i in 1 2; do
	printf '%s\n' "Switch 4 \"S$i\"" "[4] \"S$((3 - i))\"[4]"
	printf '[%s] "H'$i'%s"[1]\n' 1 1 2 2 3 3
	printf '\nHca 1 "H'$i'%s"\n' 1 2 3
	echo
done >"$tmp/halves"
"$madsim_load" -n preset -d 0 -N H11 -N H12 -N H21 -N H22 "$tmp/halves" ||
	bail "cannot make the fabric"
a=$(device H11) b=$(device H21)

# masters: what each host with a device takes for its master
masters()
{
	local node
	for node in H11 H12 H21 H22; do
		sminfo -C "$(device $node)" -P 1 |
			sed -n 's/.*sm guid \(0x[0-9a-f]*\),.*SMINFO_MASTER.*/\1/p'
	done
}
# has_masters COUNT: each has one, and so many altogether
has_masters()
{
	masters >"$tmp/masters"
	cat "$tmp/masters"
	[ "$(wc -l <"$tmp/masters")" = 4 ]
	[ "$(sort -u "$tmp/masters" | wc -l)" = "$1" ]
}
apart()
{
	has_masters 2 && whole "$a" 4 && whole "$b" 4
}
together()
{
	has_masters 1 && whole "$a" 8 && whole "$b" 8
}
lids()
{
	ibnetdiscover -C "$1" -P 1 | sed -nE 's/.* lid ([0-9]+) lmc .*/\1/p' | sort
}

fault S1 4 link down
sm_start a "$a"
sm_start b "$b"
check "two subnets with a master each" until_true 60 apart
check "which have handed out the same LIDs" eval '
	lids "$a" >"$tmp/a"
	lids "$b" >"$tmp/b"
	[ "$(comm -12 "$tmp/a" "$tmp/b" | wc -l)" -ge 3 ]'
check "the cable is there: one master, each LID once" eval '
	fault S1 4 link up
	until_true 60 together'
check "both have the IsSM bit" eval 'is_sm "$a"; is_sm "$b"'
check "one of them stands by" eval '
	says SMINFO_STANDBY eval "sminfo -C $a -P 1 $(lid $a); sminfo -C $a -P 1 $(lid $b)"'
for round in 1 2 3; do
	check "the cable is gone, round $round" eval '
		fault S1 4 link down
		until_true 60 apart'
	check "and there again, round $round" eval '
		fault S1 4 link up
		until_true 60 together'
done
check "they agree with the subnet administration" eval '
	[ "$(saquery -C "$a" -P 1 NR | grep -c NodeDescription)" = 8 ]
	[ "$(saquery -C "$b" -P 1 NR | grep -c NodeDescription)" = 8 ]'
sm_end a
sm_end b
check "nobody has the IsSM bit any more" eval 'fails is_sm "$a"; fails is_sm "$b"'
"$madsim_load" -r preset
the_end
