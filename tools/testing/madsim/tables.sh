#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# What the tables do that a subnet manager writes into ports: partitions decide
# who hears whom, and each port has service levels of its own.

. "$(dirname "$0")/lib.sh"

plan 20

# H1 has no device, S1 neither: the model answers for them
load topology=star devices=3 || bail "cannot load ib_madsim"
full="-C $(device H2) -P 1" limited="-C $(device H3) -P 1"

echo "Default=0x7fff : ALL=limited, ALL_SWITCHES=full, SELF=full ;" >"$tmp/partitions"
SM_MORE="partition_config_file $tmp/partitions" sm_start sm "$(device H2)"
check "partitions: all ports become active" until_true 30 active 3

sw=$(lid_at "$(device H2)" 0,1 0)
h1=$(lid_at "$(device H2)" 0,1,1 1)
h3=$(lid "$(device H3)")
members()
{
	says "^ *0: 0xffff 0x0000" smpquery $full pkeys "$(lid "$(device H2)")"
	says "^ *0: 0xffff 0x0000" smpquery $full pkeys "$sw" 0
	says "^ *0: 0x7fff 0x0000" smpquery $full pkeys "$h1"
	says "^ *0: 0x7fff 0x0000" smpquery $full pkeys "$h3"
}
check "partitions: the manager and the switch are full members, hosts limited" until_true 5 members

violations()
{
	smpquery $full portinfo "$1" "$2" | sed -n 's/^PkeyViolations:\.*//p'
}
check "a limited member asks a full one of the model" says "^PortXmitPkts:" \
	perfquery $limited -x "$sw" 1
check "a full member asks a limited one of the model" says "^PortXmitPkts:" \
	perfquery $full -x "$h1" 1
check "no answer was out of place" eval '
	says "^0$" violations "$h3" 1
	says "^0$" violations "$(lid "$(device H2)")" 1'
check "a limited member does not hear another" unanswered \
	perfquery $limited -t 100 -x "$h1" 1
# opensm has the switch look at the P_Keys of what it sends to hosts
check "which the switch counts" says "^PortXmitConstraintErrors:\.*[1-9]" \
	perfquery $full "$sw" 1
check "and tells opensm" until_true 10 grep -q "num:259" "$tmp/sm.log"
check "and the host does not see" says "^0$" violations "$h1" 1
sm_end sm
check "unload" unload

# The two ports of a host belong to two subnets with a manager each
check "service levels: load" load topology=pair
SM_MORE="qos TRUE
qos_ca_sl2vl 7,6,5,4,3,2,1,0,7,6,5,4,3,2,1,0" sm_start sm madsim0 1
check "service levels: the manager's ports become active" until_true 30 eval '
	state_is madsim0 1 ACTIVE; state_is madsim1 1 ACTIVE'

# sl2vl DEVICE PORT: the VLs of SL 0 to 15
sl2vl()
{
	smpquery -C "$1" -P "$2" -D sl2vl 0 | sed -n 's/^ports: .*: //p' | tr -d ' |'
}
check "service levels: they are in its subnet" eval '
	says "^7654321076543210$" sl2vl madsim0 1
	says "^7654321076543210$" sl2vl madsim1 1'
check "service levels: the other ports keep theirs" eval '
	says "^0123456701234567$" sl2vl madsim0 2
	says "^0123456701234567$" sl2vl madsim1 2'
sm_end sm
check "service levels: unload" unload

# One MAD for all ports of the switch. A port with fewer VLs gets another one
check "optimised: load" load topology=star
qos_options="qos TRUE
qos_swe_sl2vl 3,2,1,0,3,2,1,0,3,2,1,0,3,2,1,0"
SM_MORE="$qos_options
use_optimized_slvl TRUE" sm_start optimised madsim0
check "optimised: all ports become active" until_true 30 active 4
switch_sl2vl()
{
	smpquery -C madsim0 -P 1 -D sl2vl 0,1 "$1" | sed -n 's/^ports: .*: //p' | tr -d ' |' |
		sort -u
}
check "optimised: all ports of the switch have the table" until_true 10 eval '
	for port in 1 2 3 4; do
		says "^3210321032103210$" switch_sl2vl $port
		[ $(switch_sl2vl $port | wc -l) = 1 ]
	done'
check "optimised: opensm's log has no error" sm_log_clean optimised
sm_end optimised
check "optimised: unload" unload

finish
