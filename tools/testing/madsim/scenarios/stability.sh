#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Cables and hosts come and go, links lose, double and delay packets, and hosts ask all the
# time while opensm sweeps: once it is quiet, the fabric is what it was at the beginning.

. "$(dirname "$0")/lib.sh"

plan 11

load topology=fattree:4 devices=3 || bail "cannot load ib_madsim"
mapfile -t askers < <(cat /sys/class/infiniband/madsim[12]/node_name)

# The subnet manager is not to lose its own host, nor those who ask theirs
hosts=()
for i in {1..16}; do
	grep -qx "H$i" /sys/class/infiniband/madsim*/node_name || hosts+=("H$i")
done

# graph: all nodes, LIDs, cables
graph()
{
	ibnetdiscover -C madsim0 -P 1 | grep -v '^#' | sort
}
# all_asked: the subnet administration has all nodes, for each of the askers
all_asked()
{
	local device
	for device in madsim1 madsim2; do
		[ "$(saquery -C $device -P 1 NR | grep -c NodeDescription)" = 36 ] || return
	done
}
as_before()
{
	whole madsim0 36 && diff "$tmp/before" <(graph) && all_asked
}

SM_SWEEP=1 sm_start sm madsim0
check "every way is there" until_true 60 whole madsim0 36
graph >"$tmp/before"

# One of the two cables up of a leaf, and hosts: all others can be reached
RANDOM=2026
for round in 1 2 3; do
	pulled=()
	for i in 1 2 3; do
		pulled+=("S$((RANDOM % 8 + 1)) 3" "${hosts[RANDOM % ${#hosts[@]}]} 1")
	done
	for link in "${pulled[@]}"; do
		fault "$link" link down
	done
	gone=$(printf '%s\n' "${pulled[@]}" | grep '^H' | sort -u | wc -l)
	check "cables are pulled, round $round: $gone hosts are gone" \
		until_true 60 whole madsim0 $((36 - gone))
	for link in "${pulled[@]}"; do
		fault "$link" link up
	done
	check "and put back, round $round" until_true 60 as_before
done

# bad WORDS: of each link of two core switches, and of who asks
bad()
{
	local port asker
	for port in 1 2 3 4; do
		fault S17 $port "$@"
		fault S18 $port "$@"
	done
	for asker in "${askers[@]}"; do
		fault "$asker" 1 "$@"
	done
}
# ask DEVICE NAME: some requests have no answer. The name changes after each; that of the
# beginning had no newline, which put would write
ask()
{
	local i
	for i in {1..10}; do
		saquery -C "$1" -P 1 NR || true
		saquery -C "$1" -P 1 PR || true
		printf %s "$1 $i" >"/sys/class/infiniband/$1/node_desc"
	done >/dev/null 2>&1
	printf %s "$2" >"/sys/class/infiniband/$1/node_desc"
}
# flaps NODE PORT: ten times
flaps()
{
	local i
	for i in {1..10}; do
		fault "$1" "$2" link down
		sleep 0.3
		fault "$1" "$2" link up
		sleep 0.3
	done
}
busy()
{
	local kind pid pids=()
	for kind in drop duplicate delay reorder; do
		bad $kind permille 50
	done
	ask madsim1 "${askers[0]}" &
	pids+=($!)
	ask madsim2 "${askers[1]}" &
	pids+=($!)
	flaps S1 3 &
	pids+=($!)
	flaps "${hosts[0]}" 1 &
	pids+=($!)
	for pid in "${pids[@]}"; do
		wait "$pid"
	done
	for kind in drop duplicate delay reorder; do
		says "^S17 . $kind permille 50 .*injected [1-9]" cat $configfs/preset/faults
	done
	bad clear
}
check "bad links, flapping ones, and hosts that ask" busy
check "then the fabric is what it was" until_true 120 as_before
check "it is the same subnet manager" kill -0 "$(cat "$tmp/sm.pid")"
sm_end sm
check "unload" unload

finish
