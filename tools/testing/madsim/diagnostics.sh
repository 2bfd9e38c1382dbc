#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# What each program of infiniband-diags says about a fabric whose answers are
# known: a star of four hosts, brought up by opensm.

. "$(dirname "$0")/lib.sh"

check "load" load topology=star
check "opensm starts" sm_start sm madsim0
# The check ran it in a shell of its own
sm_pids+=("$(cat "$tmp/sm.pid")")
check "all ports become active" until_true 30 active 4
check "opensm's log has no error" sm_log_clean sm

l0=$(lid madsim0) l1=$(lid madsim1) l2=$(lid madsim2) l3=$(lid madsim3)
on="-C madsim0 -P 1"
sw=$(lid_at madsim0 0,1 0)
g0=$(port_guid madsim0) g1=$(port_guid madsim1)
sw_guid=$(smpquery $on -D nodeinfo 0,1 | sed -n 's/^Guid:\.*//p')

distinct_lids()
{
	echo "$l0 $l1 $l2 $l3 $sw"
	[ "$(printf '%s\n' "$l0" "$l1" "$l2" "$l3" "$sw" | grep -v '^0$' | sort -u | wc -l)" = 5 ]
}
check "every port has a LID of its own" distinct_lids

check "ibstat: state, LID, GUID" all_say ibstat madsim1 1 -- \
	"State: Active" "Physical state: LinkUp" "Rate: 40" "Base lid: $l1" \
	"SM lid: $l0" "Port GUID: $g1" "Link layer: InfiniBand"
check "ibaddr: GID and LID" says \
	"^GID fe80::.* LID start $(printf '0x%x end 0x%x' "$l1" "$l1")" ibaddr -C madsim1 -P 1
check "ibaddr of another port" says "LID start $(printf 0x%x "$l2")" ibaddr $on "$l2"
check "sminfo: who is master" says \
	"sm lid $l0 sm guid 0x0*${g0#0x0}.* SMINFO_MASTER" sminfo -C madsim2 -P 1

check "smpquery -D, the own node" all_say smpquery $on -D nodeinfo 0 -- \
	"NodeType:\.*Channel Adapter" "PortGuid:\.*$g0" "LocalPort:\.*1$"
check "smpquery -D, one hop: the switch" all_say smpquery $on -D nodeinfo 0,1 -- \
	"NodeType:\.*Switch" "NumPorts:\.*4" "LocalPort:\.*1$"
check "smpquery -D, two hops" all_say smpquery $on -D nodeinfo 0,1,2 -- \
	"NodeType:\.*Channel Adapter" "PortGuid:\.*$g1"
check "smpquery -D to a port that is not there" unanswered smpquery $on -t 100 -D nodeinfo 0,1,9
check "smpquery -D through a host" unanswered smpquery $on -t 100 -D nodeinfo 0,1,2,1
check "smpquery by LID" says "^Node Description:\.*H3" smpquery $on nodedesc "$l2"
check "smpquery by LID, the switch" all_say smpquery $on switchinfo "$sw" -- \
	"LinearFdbCap:\.*49152" "LinearFdbTop:\.*5$" "StateChange:\.*0"
check "smpquery -c, LID and then a directed route" says "PortGuid:\.*$g1" \
	smpquery $on -c nodeinfo "$sw" 0,2
check "smpquery portinfo" all_say smpquery $on portinfo "$l1" 1 -- \
	"^Lid:\.*$l1$" "^SMLid:\.*$l0$" "LinkState:\.*Active" "IsTrapSupported"
check "smpquery pkeys" says "^ *0: 0xffff 0x0000" smpquery $on pkeys "$l1"
check "smpquery guids" says "${g1#0x}" smpquery $on guidinfo "$l1"
check "smpquery sl2vl" says "0\| 1\| 2\| 3\| 4\| 5\| 6\| 7\| 0\| 1" smpquery $on sl2vl "$l1"
check "smpquery vlarb" says "LowCap 8 HighCap 8" smpquery $on vlarb "$l1"

check "iblinkinfo: both ends of a link" says \
	"$sw +2\[ +\] ==\( 4X +10\.0 Gbps Active/ +LinkUp\)==> +$l1 +1\[ +\] \"H2\"" iblinkinfo $on
check "ibhosts" says "^Ca.* \"H4\"" ibhosts $on
check "ibswitches" says "^Switch.*$sw_guid ports 4 \"S1\".* lid $sw " ibswitches $on
check "ibroute: one line a LID" all_say ibroute $on "$sw" -- \
	"^$(printf 0x%04x "$l2") 003 : .*'H3'" "^$(printf 0x%04x "$sw") 000 : .*'S1'" \
	"^5 valid lids"
check "ibtracert: host, switch, host" all_say ibtracert $on "$l0" "$l1" -- \
	"^From ca .* lid $l0-$l0 \"H1\"" "^\[1\] -> switch port .*\[1\] lid $sw" \
	"^\[2\] -> ca port .* lid $l1-$l1 \"H2\""

counts()
{
	local before after i
	before=$(counter "$l1" 1 PortXmitPkts)
	for i in 1 2 3 4 5; do
		smpquery $on nodedesc "$l1"
	done
	after=$(counter "$l1" 1 PortXmitPkts)
	# A NodeInfo and a NodeDescription each, and what perfquery itself asks for
	echo "$before $after"
	[ $((after - before)) -ge 10 ] && [ $((after - before)) -le 16 ]
}
check "perfquery: counts what passed" counts
resets()
{
	local data total
	perfquery $on -R "$l1" 1
	says "PortXmitPkts:\.*[0-9]$" perfquery $on "$l1" 1
	total=$(counter "$l1" 1 PortXmitData)
	data=$(perfquery $on "$l1" 1 | sed -n 's/^PortXmitData:\.*//p')
	echo "$data since then, $total in all"
	[ "$data" -lt "$total" ]
	[ "$(counter "$l1" 1 PortXmitPkts)" -gt 10 ]
}
check "perfquery -R: resets the 32-bit counters alone" resets
check "perfquery: all ports of a switch" says "PortSelect:\.*255" perfquery $on -a "$sw"
check "perfquery: what can be sampled" all_say perfquery $on --smplctl "$l1" 1 -- \
	"^PortSelect:\.*1$" "^Tick:\.*0xff$" "^CounterWidth:\.*4$" "^SampleStatus:\.*0$"
check "ibqueryerrors: none" says "ports checked, 0 ports have errors" ibqueryerrors $on
# MADs for a LID that no port has: how often it is tried depends on how busy this machine is
relay_error()
{
	unanswered perfquery $on -t 100 999
	says "^PortDLIDMappingErrors:\.*[1-9]$" perfquery $on --rcverr "$sw" 1
	says "^PortInactiveDiscards:\.*0$" perfquery $on --xmtdisc "$sw" 1
	# It fails if there are errors
	says "port 1: \[PortRcvSwitchRelayErrors == [1-9] " eval "! ibqueryerrors $on"
	perfquery $on --rcverr -R "$sw" 1
	says "^PortDLIDMappingErrors:\.*0$" perfquery $on --rcverr "$sw" 1
	says "^PortRcvSwitchRelayErrors:\.*[1-9]$" perfquery $on "$sw" 1
}
check "perfquery, ibqueryerrors: a relay error" relay_error
check "ibportstate: query with the peer" all_say ibportstate $on "$sw" 3 -- \
	"^LinkState:\.*Active" "^Peer PortInfo" "^Lid:\.*$l2$"
disable_enable()
{
	ibportstate $on "$sw" 4 disable
	until_true 5 state_is madsim3 1 DOWN
	ibportstate $on "$sw" 4 enable
	until_true 20 state_is madsim3 1 ACTIVE
}
check "ibportstate: disable and enable, opensm brings it back" disable_enable

ping_works()
{
	ibping -S -C madsim1 -P 1 &
	pid=$!
	sleep 1
	trap 'kill $pid' EXIT
	says "^3 packets transmitted, 3 received, 0% packet loss" ibping $on -c 3 "$l1"
	says "^2 packets transmitted, 2 received" ibping $on -c 2 -G "$g1"
}
check "ibping by LID and by GID" ping_works

check "saquery by description" all_say saquery -C madsim1 -P 1 NR H4 -- \
	"NodeDescription\.*H4" "lid\.*$l3$"

finish
