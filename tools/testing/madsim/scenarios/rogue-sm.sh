#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# A subnet manager that nobody asked for, with the highest priority: it takes the fabric,
# unless the fabric has an M_Key and the master an SM_Key.

. "$(dirname "$0")/lib.sh"

plan 11

# masters: the SM LID that each port has been told
masters()
{
	local lid
	for lid in "$@"; do
		smpquery ${key-} -C madsim3 -P 1 portinfo "$lid" 1 | sed -n 's/^SMLid:\.*//p'
	done | sort -u
}

load topology=star devices=4 || bail "cannot load ib_madsim"
sm_start sm madsim0
check "without keys: a master" until_true 60 whole madsim0 5
lids=("$(lid madsim0)" "$(lid madsim1)" "$(lid madsim2)" "$(lid madsim3)")
check "all ports know it" says "^${lids[0]}\$" masters "${lids[@]}"
SM_MORE="sm_priority 15" sm_start rogue madsim2
check "a stranger becomes the master of all" until_true 60 says "^${lids[2]}\$" masters "${lids[@]}"
sm_end rogue KILL
sm_end sm KILL
unload

key="--m_key 0x1234567890"
load topology=star devices=4 || bail "cannot load ib_madsim"
SM_MORE="m_key 0x0000001234567890
m_key_protection_level 1
sm_key 0x0000000000000042" sm_start sm madsim0
check "with keys: a master" until_true 60 whole madsim0 5
lids=("$(lid madsim0)" "$(lid madsim1)" "$(lid madsim2)" "$(lid madsim3)")
check "all ports have the M_Key" eval '
	for lid in "${lids[@]}"; do
		says "^Mkey:\.*0x0*1234567890$" smpquery -K $key -C madsim3 -P 1 portinfo $lid 1
		says "^Mkey:\.*0x0+$" smpquery -K -C madsim3 -P 1 portinfo $lid 1
	done'
cp "$tmp/net" "$tmp/first"
SM_MORE="sm_priority 15" sm_start rogue madsim2
check "the stranger looks around" until_true 30 \
	grep -q "Entering .*MASTER\|SUBNET UP\|ERR" "$tmp/rogue.log"
check "the ports tell the master (trap 256)" until_true 30 grep -q "num:256" "$tmp/sm.log"
check "and count it" until_true 10 says "^MkeyViolations:\.*[1-9]" \
	smpquery $key -C madsim3 -P 1 portinfo "${lids[1]}" 1
sleep 5
check "all ports keep their master" says "^${lids[0]}\$" masters "${lids[@]}"
check "and their LIDs and ways" eval '
	whole madsim0 5
	diff <(grep -v "^#" "$tmp/first") <(grep -v "^#" "$tmp/net")'
sm_end rogue KILL
sm_end sm
check "unload" unload

finish
