#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Two fabrics, of which a wire makes one subnet: what leaves the one by a file comes into
# the other one by another file, and socat carries it between them.

. "$(dirname "$0")/lib.sh"

kernel_has ib_uverbs class/infiniband_verbs
have socat ibv_rc_pingpong
cases=$("$here/cable.py" 2>&1) || leave_out "no pyverbs: ${cases##*$'\n'}"

load topology=none || ktap_bail "cannot load ib_madsim"
near=/dev/madsim/west.leaf.4 far=/dev/madsim/east.leaf.4

check "two fabrics" eval '
	half west
	half east'
check "a file for each wire, and for root alone" eval '
	[ "$(stat -c %a:%u {$near,$far}{,.stream} | sort -u)" = 600:0 ]'
check "no carrier" wire_is Down
plug "OPEN:$near" "OPEN:$far"
check "a cable: the link trains" until_true 10 wire_is Initialize
check "at the speed that both ends have" eval '
	says "^LinkSpeedExtActive:\.*25.78125 Gbps" smpquery -C madsim0 -D portinfo 0,1 4'
SM_SWEEP=1 sm_start west madsim0
check "one opensm manages both" eval '
	until_true 30 active 2
	sees madsim0 2 2'
check "data goes across, and nothing of it is lost" eval '
	both ibv_rc_pingpong -e -c -n 50 -s 20000
	says "^PortRcvErrors:\.*0$" perfquery -C madsim0 "$(lid_at madsim0 0,1 0)" 4
	says "^PortXmitDiscards:\.*0$" perfquery -C madsim0 "$(lid_at madsim0 0,1 0)" 4'
# crossed: packets of the link, as the port of the wire counts them
crossed()
{
	local leaf
	leaf=$(lid_at madsim0 0,1 0)
	echo $(($(counter "$leaf" 4 PortXmitPkts) + $(counter "$leaf" 4 PortRcvPkts)))
}
# opensm sweeps meanwhile
across()
{
	least=$(crossed)
	both ibv_rc_pingpong -e -c -n 10 -s 20000
	least=$(($(crossed) - least))
}
check "what goes across can be captured" eval '
	most=$(crossed)
	captures west.leaf.4 across
	most=$(($(crossed) - most))
	echo "$least to $most"
	count=$(sed -n "s/ packets$//p" "$tmp/packets.said")
	[ $least -le "$count" ] && [ "$count" -le $most ]'
pull
check "the cable is pulled: the other half is gone" eval '
	wire_is Down
	until_true 30 sees madsim0 1 1'
while read -r case why; do
	case_wanted "$case" "$why" || continue
	check "under way: $why" "$here/cable.py" madsim0 madsim1 $near $far "$case"
	last "$case"
done <<<"$cases"
plug "OPEN:$near" "OPEN:$far"
check "and comes back" eval '
	until_true 30 sees madsim0 2 2
	until_true 30 active 2'
check "a fabric that is removed ends what reads its wire" eval '
	"$madsim_load" -r east
	until_true 10 eval "! kill -0 $cable 2>/dev/null"
	[ ! -e $far ]
	until_true 10 wire_is Down'
cable=
sm_end west
check "unload" eval '
	"$madsim_load" -r west
	unload'

finish
