#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Answers of several megabytes: opensm sends all PathRecords of a fabric of 208
# nodes as one message, saquery receives them. What they must be follows from
# the topology, and from the LIDs that the nodes themselves tell.

. "$(dirname "$0")/lib.sh"

load topology=fattree:8 devices=4 || bail "cannot load ib_madsim"
sm_start sm madsim0
check "all ports become active" until_true 60 active 4

# From the driver's own description: "Switch 8 "S-..." and "Hca 1 "H-..."
topology=$debugfs/preset/topology
switches=$(grep -c '^Switch' "$topology")
hosts=$(grep -Ec '^(Hca|Ca)' "$topology")
nodes=$((hosts + switches))
ports=$(awk '/^Switch/ { n += $2 + 1 } /^(Hca|Ca)/ { n += $2 } END { print n }' "$topology")
check "128 hosts and 80 switches" test "$hosts.$switches" = 128.80

on="-C madsim3 -P 1"
all_there()
{
	[ "$(saquery $on NR | grep -c NodeDescription)" = "$nodes" ]
}
check "the subnet manager has found all of them" until_true 30 all_there

# lids FILE: of all nodes, by asking each of them
lids()
{
	ibnetdiscover $on >"$tmp/net"
	sed -nE 's/^Switch.* lid ([0-9]+) lmc.*/\1/p; s/^\[[0-9]+\]\(.*# lid ([0-9]+) lmc.*/\1/p' \
		"$tmp/net" | sort -nu >"$1"
}
check "the LIDs of all nodes" eval 'lids "$tmp/lids"; [ $(wc -l <"$tmp/lids") = $nodes ]'

# paths FILE COMMAND ...: its PathRecords, one "SLID DLID" a line
paths()
{
	local file=$1
	shift
	"$@" >"$tmp/said"
	sed -nE 's/^\s*dlid\.*([0-9]+)$/d \1/p; s/^\s*slid\.*([0-9]+)$/s \1/p' "$tmp/said" |
		awk '$1 == "d" { d = $2 } $1 == "s" { print $2, d }' | sort -n >"$file"
}
wanted()
{
	awk 'NR == FNR { lid[NR] = $1; n = NR; next }
	     { for (i = 1; i <= n; i++) print $1, lid[i] }' "$tmp/lids" "$1" | sort -n
}

start=$(date +%s%N)
check "all PathRecords in one answer" paths "$tmp/all" saquery $on -t 120000 PR
ms=$((($(date +%s%N) - start) / 1000000))
echo "# $(wc -l <"$tmp/all") records, $((nodes * nodes * 64)) bytes, in $ms ms"
check "they are multi-megabyte" test $((nodes * nodes * 64)) -gt $((2 << 20))
check "one from each node to each node" diff "$tmp/all" <(wanted "$tmp/lids")

l3=$(lid madsim3)
echo "$l3" >"$tmp/own"
check "the PathRecords from one node" eval '
	paths "$tmp/some" saquery $on -t 120000 PR --slid $l3
	diff "$tmp/some" <(wanted "$tmp/own")'

check "a PortInfoRecord of every port" eval '
	[ "$(saquery $on -t 120000 PIR | grep -c "PortInfoRecord dump")" = $ports ]'

check "opensm's log has no error" sm_log_clean sm

finish
