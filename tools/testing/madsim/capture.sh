#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# madsim-wire: the packets of a link are as many as its ports count, and Wireshark knows what
# they are.

. "$(dirname "$0")/lib.sh"

kernel_has ib_uverbs class/infiniband_verbs
have python3 ibv_rc_pingpong

plan 9

load topology=star:2 devices=2 data=1 || bail "cannot load ib_madsim"
check "a fabric that is not there" refuses "is called lab" "$madsim_wire" capture lab -
check "a port that is not there" refuses "is called preset.H2.2" \
	"$madsim_wire" capture preset.H2.2 -

# Each message is of several packets, which go at once while no one looks
exchange()
{
	before=$(crossed)
	sm_start sm madsim0
	until_true 30 active 2
	saquery -C madsim1 >/dev/null
	both ibv_rc_pingpong -c -m 4096 -n 20 -s 20000
}

crossed()
{
	(cd /sys/class/infiniband/madsim1/ports/1/counters &&
		echo $(($(cat port_xmit_packets) + $(cat port_rcv_packets))))
}

check "as many as the ports have counted" eval '
	captures preset.H2.1 exchange
	says "^$(($(crossed) - before)) packets$" cat "$tmp/capture"'
check "nothing stays behind" eval '[ -z "$(ls /sys/kernel/tracing/instances)" ]'

# known FILTER: how many such packets Wireshark finds
known()
{
	tshark -r "$tmp/packets" -Y "$1" 2>"$tmp/tshark" >"$tmp/known" ||
		{ cat "$tmp/tshark"; return 1; }
	wc -l <"$tmp/known"
}

if command -v tshark >/dev/null; then
	check "Wireshark finds as many, and none malformed" eval '
		says "^$(known "infiniband && !_ws.malformed") packets$" cat "$tmp/capture"'
	check "SMPs" says "^[1-9]" known "infiniband.mad.mgmtclass == 0x81"
	check "a table of the SA, by RMPP" says "^[1-9]" known "infiniband.rmpp.segmentnumber == 2"
	check "connected queue pairs" says "^[1-9]" known "infiniband.bth.opcode == 1"
else
	for name in malformed SMPs RMPP RC; do
		skip "$name" "there is no tshark"
	done
fi

sm_end sm
check "unload" unload
finish
