#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Which LIDs opensm hands out: to each port its own, as the file guid2lid says where that
# makes sense, and the same again whatever comes and goes.

. "$(dirname "$0")/lib.sh"

load topology=fattree:4 devices=4 || bail "cannot load ib_madsim"

# ports_of DEVICE: "GUID LID" of each host
ports_of()
{
	ibnetdiscover -C "$1" -P 1 |
		sed -nE 's/^\[1\]\(([0-9a-f]+)\).*# lid ([0-9]+) lmc.*/000\1 \2/p' |
		sed -E 's/^0*(.{16} )/\1/' | sort
}
ports_of madsim0 >"$tmp/before"
mapfile -t guid < <(cut -d' ' -f1 "$tmp/before")

# has GUID LID: with LMC 1
has()
{
	says "^$1 $2\$" ports_of madsim0
}

# Two that share a range, one that is not aligned, one that no port has, one that is right
mkdir "$tmp/sm.cache"
cat >"$tmp/sm.cache/guid2lid" <<FILE
0x${guid[5]} 0x0064 0x0065

0x${guid[6]} 0x0064 0x0065

0x${guid[7]} 0x0067 0x0068

0x0123456789abcdef 0x0070 0x0071

0x${guid[8]} 0x0080 0x0081
FILE
SM_LMC=1 sm_start sm madsim0
check "each host has two LIDs of its own, each switch one" until_true 60 whole madsim0 36 52
check "one of them from the file" has "${guid[8]}" 128
check "none that is not aligned, none that somebody else has in it" eval '
	fails has "${guid[7]}" 103
	fails says " (100|112)$" eval "ports_of madsim0 | grep -v \"${guid[5]}\\|${guid[6]}\""'
check "the subnet administration says what the nodes say" eval '
	diff <(saquery -C madsim1 -P 1 NR | sed -nE "s/^\s*lid\.+([0-9]+)/\1/p" | sort -nu) \
	     <(ibnetdiscover -C madsim1 -P 1 | grep -E "^(Switch|\[1\]\()" |
		sed -nE "s/.* lid ([0-9]+) lmc .*/\1/p" | sort -nu)'
ports_of madsim0 >"$tmp/first"

# as_first: all are there again, with the same LIDs
as_first()
{
	until_true 60 whole madsim0 36 52
	diff "$tmp/first" <(ports_of madsim0)
}

# again NAME SM DEVICE: another subnet manager in its place
again()
{
	sm_end sm
	[ "$2" = sm ] || rm -r "$tmp/sm.cache"
	SM_LMC=1 sm_start "$2" "$3"
	until_true 30 grep -q "SUBNET UP" "$tmp/$2.log"
	check "$1" as_first
}
again "the same LIDs when it starts again" sm madsim0
again "the same LIDs by one that knows nothing" other madsim1

check "a host that was gone has its LID again" eval '
	name=$(cat /sys/class/infiniband/madsim3/node_name)
	fault $name unplug
	until_true 30 whole madsim0 35 50
	fault $name plug
	as_first'

# conflict: the LID of another host
conflict()
{
	local there
	there=$(lid madsim2)
	ibportstate -C madsim3 -P 1 -D 0 1 lid "$there"
	says "^$there\$" lid madsim3
	kill -HUP "$(cat "$tmp/other.pid")"
	as_first
}
check "a LID that two have is taken from the wrong one" conflict
check "and so is one that nobody gave" eval '
	ibportstate -C madsim3 -P 1 -D 0 1 lid 900
	kill -HUP "$(cat "$tmp/other.pid")"
	as_first'
sm_end other
sm_start single madsim0
check "without LMC" until_true 60 whole madsim0 36
check "the log has no error" sm_log_clean single
the_end single
