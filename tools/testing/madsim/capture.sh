#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# madsim-wire: the packets of a link are as many as its ports count, and Wireshark knows what
# they are. umaddump: the MADs of programs are as many as ib_umad counts, and byte for byte
# what crosses the link.

. "$(dirname "$0")/lib.sh"

kernel_has ib_uverbs class/infiniband_verbs
have python3 ibv_rc_pingpong
tracing=/sys/kernel/tracing
mount_tracing

load topology=star:2 devices=2 data=1 || ktap_bail "cannot load ib_madsim"
check "a fabric that is not there" refuses "is called lab" "$madsim_wire" capture lab -
check "a port that is not there" refuses "is called preset.H2.2" \
	"$madsim_wire" capture preset.H2.2 -
check "umaddump: a port that is not there" refuses "no such port" "$umaddump" -C madsim9 -
check "umaddump: no MADs" refuses "invalid positive" "$umaddump" -c 0 -

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
	echo $(($(port_counter madsim1 port_xmit_packets) + $(port_counter madsim1 port_rcv_packets)))
}

nothing_left()
{
	[ -z "$(ls $tracing/instances; cat $tracing/kprobe_events)" ]
}

check "as many as the ports have counted" eval '
	captures preset.H2.1 exchange
	says "^$(($(crossed) - before)) packets$" cat "$tmp/packets.said"'
check "nothing stays behind" nothing_left

# known FILTER [FILE]: how many such packets Wireshark finds
known()
{
	tshark -r "$tmp/${2-packets}" -Y "$1" 2>"$tmp/tshark" >"$tmp/known" ||
		{ cat "$tmp/tshark"; return 1; }
	wc -l <"$tmp/known"
}

if command -v tshark >/dev/null; then
	check "Wireshark finds as many, and none malformed" eval '
		says "^$(known "infiniband && !_ws.malformed") packets$" cat "$tmp/packets.said"'
	check "SMPs" says "^[1-9]" known "infiniband.mad.mgmtclass == 0x81"
	check "a table of the SA, by RMPP" says "^[1-9]" known "infiniband.rmpp.segmentnumber == 2"
	check "connected queue pairs" says "^[1-9]" known "infiniband.bth.opcode == 1"
else
	for name in malformed SMPs RMPP RC; do
		skip "$name" "there is no tshark"
	done
fi

# How many MADs programs have sent and received by madsim1
counted()
{
	(cd "/sys/class/infiniband_mad/$(umad_of madsim1)/statistics" &&
		echo $(($(cat sent) + $(cat received))))
}

# ClassPortInfo of performance management, with a GRH there and back
with_grh()
{
	PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$here python3 - "/dev/infiniband/$(umad_of madsim1)" \
		"$(lid madsim0)" "$(tr -d : </sys/class/infiniband/madsim0/ports/1/gids/0)" <<-'END'
	import sys
	from fabric import PERF, SOON, Packet, Port
	port = Port(sys.argv[1])
	packet = Packet(port.agents[PERF], SOON, bytes(36), bytes(256))
	packet.to.change(qpn=1, qkey=0x80010000, lid=int(sys.argv[2]), grh_present=1, hop_limit=9,
	                 traffic_class=8, flow_label=7, gid=int(sys.argv[3], 16))
	packet.mad.change(base_version=1, mgmt_class=PERF, class_version=1, method=1, attr_id=1)
	port.exchange(packet)
	END
}

queries()
{
	before=$(counted)
	smpquery -C madsim0 -D nodeinfo 0
	smpquery -C madsim1 -D nodeinfo 0
	ibnetdiscover -C madsim1
	with_grh
	saquery -C madsim1 PathRecord
	after=$(counted)
} >/dev/null

# bytes FILE CLASS: a line for each packet
bytes()
{
	tshark -r "$tmp/$1" -x -Y "infiniband.mad.mgmtclass == $2" 2>/dev/null |
		awk -v RS= '{ gsub("\n", " "); print }' | sort
}

killed()
{
	"$umaddump" "$tmp/mads" 2>"$tmp/said" &
	until_true 60 grep -q capturing "$tmp/said"
	kill -KILL $!
	wait $! || fails nothing_left
	records mads queries "$umaddump" -C madsim1 -P 1 -c 3
	[ "$(known "$of_port" mads)" = 3 ]
	nothing_left
}

kernels_own()
{
	rmmod ib_umad
	modprobe --ignore-install ib_umad
	[ ! -e /sys/module/ib_umad/version ]
	records mads with_grh "$umaddump" -C madsim1
	[ "$(known "infiniband.lrh.dlid == $(lid madsim0)" mads)" = 1 ]
	[ "$(known "infiniband.lrh.slid == $(lid madsim0)" mads)" = 1 ]
	says "^2 packets$" cat "$tmp/mads.said"
}

of_port='frame.interface_name == "madsim1/1"'
[ -e $tracing/kprobe_events ] && [ -e /sys/kernel/btf/ib_core ] ||
	lacks="the kernel has no kprobe events, or no BTF of modules"
command -v tshark >/dev/null || lacks="there is no tshark"

# dump NAME COMMAND ...: check it, if umaddump can run
dump()
{
	if [ "${lacks-}" ]; then
		skip "umaddump: $1" "$lacks"
	else
		check "umaddump: $1" "${@:2}"
	fi
}

dump "as many MADs as ib_umad counts" eval '
	records mads "captures preset.H2.1 queries" "$umaddump"
	[ "$(known "$of_port && !(infiniband.rmpp.rmppflags & 1)" mads)" = $((after - before)) ]'
dump "none is malformed" eval '
	says "^$(known "infiniband.mad && !_ws.malformed" mads) packets$" cat "$tmp/mads.said"'
# opensm is the other end
dump "messages of the SA are those of the link, at both ends" eval '
	says "^[1-9]" known "infiniband.rmpp.segmentnumber == 3" mads
	diff <(bytes packets 3 | sed p) <(bytes mads 3)'
dump "so are GRHs, there and back" eval '
	says "^2$" known "infiniband.grh.tclass == 8" mads
	diff <(bytes packets 4) <(bytes mads 4)'
dump "the program that sent it" says "^[1-9]" known 'frame.comment matches "^saquery.[0-9]+.$"' mads
dump "nothing stays behind" nothing_left
dump "after one that was killed, three MADs of a port" killed

sm_end sm
dump "the kernel's own ib_umad" kernels_own
if [ -z "${lacks-}" ]; then
	rmmod ib_umad
	insmod "$UMAD_MODULE"
fi

check "unload" unload
finish
