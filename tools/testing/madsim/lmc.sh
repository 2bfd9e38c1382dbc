#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Ports with several LIDs, as opensm hands them out.

. "$(dirname "$0")/lib.sh"

plan 8

load topology=star || bail "cannot load ib_madsim"
SM_LMC=2 sm_start sm madsim0
check "all ports become active" until_true 30 active 4
check "opensm's log has no error" sm_log_clean sm

on="-C madsim0 -P 1"
l0=$(lid madsim0) l1=$(lid madsim1)
check "four LIDs a port" says "LID start $(printf '0x%x end 0x%x' "$l1" $((l1 + 3)))" \
	ibaddr -C madsim1 -P 1
check "LMC in PortInfo" says "^LMC:\.*2$" smpquery $on portinfo "$l1" 1

each_lid()
{
	local i
	for i in 0 1 2 3; do
		says "^Node Description:\.*H2" smpquery $on nodedesc $((l1 + i))
		says "^PortXmitPkts:" perfquery $on $((l1 + i)) 1
	done
}
check "each is answered, on QP0 and QP1" each_lid
check "the switch has an entry for each" all_say ibroute $on "$(lid_at madsim0 0,1 0)" -- \
	"^$(printf 0x%04x "$l1") 002 " "^$(printf 0x%04x $((l1 + 3))) 002 "
check "the way to one of them" all_say ibtracert $on "$l0" $((l1 + 2)) -- \
	"^\[1\] -> switch port " "^\[2\] -> ca port .*\"H2\""
sm_end sm
check "unload" unload

finish
