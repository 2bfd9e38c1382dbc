#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Quality of service: the tables that opensm writes by its options decide which service
# levels get through, and its policy which one a path has.

. "$(dirname "$0")/lib.sh"

kernel_has ib_uverbs class/infiniband_verbs

load topology=star devices=4 data=1 || bail "cannot load ib_madsim"
to=$(port_guid madsim2)

cat >"$tmp/policy" <<POLICY
qos-ulps
	default : 0
	any, target-port-guid $to : 2
end-qos-ulps
POLICY
# SL 5 has no way out of a host, SL 6 none out of a switch
SM_MORE="qos TRUE
qos_policy_file $tmp/policy
qos_ca_sl2vl 0,1,2,3,4,15,6,7,0,0,0,0,0,0,0,0
qos_swe_sl2vl 0,1,2,3,4,5,15,7,0,0,0,0,0,0,0,0
qos_ca_vlarb_high 0:4,1:8,2:12
qos_ca_high_limit 3" sm_start sm madsim0
check "every way is there" until_true 60 whole madsim0 5

# sl2vl ROUTE PORT: the VLs of its SLs
sl2vl()
{
	smpquery -C madsim0 -P 1 -D sl2vl "$@" | sed -n 's/^ports: .*: //p' | tr -d ' ' | sort -u
}
check "hosts have the table for hosts" says '^\|0\|1\|2\|3\|4\|15\|6\|7(\|0){8}\|$' sl2vl 0
check "the switch has its own" says '^\|0\|1\|2\|3\|4\|5\|15\|7(\|0){8}\|$' sl2vl 0,1 1
check "arbitration of the lanes" eval '
	says "^WEIGHT: *\|0x4 *\|0x8 *\|0xC *\|0x0" smpquery -C madsim0 -P 1 -D vlarb 0
	says "^VLHighLimit:\.*3$" smpquery -C madsim0 -P 1 -D portinfo 0'

# path_sl FROM TO: what the subnet administration says
path_sl()
{
	saquery -C madsim1 -P 1 --slid "$(lid "$1")" --dlid "$(lid "$2")" PR |
		sed -n 's/^\s*sl\.*0x//p'
}
check "paths to one host have the SL of the policy, and no others" eval '
	says "^2$" path_sl madsim1 madsim2
	says "^2$" path_sl madsim3 madsim2
	says "^0$" path_sl madsim1 madsim3'

# send SL: by a reliable connection
send()
{
	local server status=0
	ibv_rc_pingpong -d madsim1 -n 10 -l "$1" >"$tmp/server" 2>&1 &
	server=$!
	until_true 10 listens
	ibv_rc_pingpong -d madsim2 -n 10 -l "$1" localhost || status=$?
	kill $server
	wait $server
	return $status
}
# packets: that the host has put on its link
packets()
{
	cat /sys/class/infiniband/madsim2/ports/1/counters/port_xmit_packets
}
# dropped: by the switch, for want of a lane
dropped()
{
	perfquery -C madsim0 -P 1 "$sw" 255 | sed -n 's/^PortRcvSwitchRelayErrors:\.*//p'
}
lost()
{
	refuses "transport retry counter exceeded" send "$1"
}
for sl in 0 4; do
	check "data of SL $sl arrives" says "^10 iters in" send $sl
done
sw=$(lid_at madsim0 0,1 0)
check "data of SL 5 does not leave the host" eval '
	before=$(packets)
	lost 5
	[ "$(packets)" = "$before" ]'
check "data of SL 6 does, and is dropped by the switch" eval '
	before=$(packets) drops=$(dropped)
	lost 6
	[ "$(packets)" -gt "$before" ]
	[ "$(dropped)" -gt "$drops" ]'
the_end sm
