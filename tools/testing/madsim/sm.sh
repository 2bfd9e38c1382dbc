#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# opensm over a fat tree: bringing it up, links that come and go, a standby.

. "$(dirname "$0")/lib.sh"

hosts()
{
	[ "$(saquery -C madsim0 -P 1 NR | grep -c 'NodeDescription.*H')" = "$1" ]
}

load topology=fattree:4 devices=4 || ktap_bail "cannot load ib_madsim"
d0=madsim0 d1=madsim1 d3=madsim3

sm_start first $d0
check "all ports become active" until_true 30 active 4
check "the subnet manager has the IsSM bit" is_sm $d0
check "16 hosts in the subnet" until_true 20 hosts 16
check "the log has no error" sm_log_clean first

check "a link goes down" put $faults "$(cat /sys/class/infiniband/$d3/node_name) 1 link down"
check "the port is down at once" state_is $d3 1 DOWN
check "the subnet manager notices" until_true 20 hosts 15
check "trap 128 told it" grep -q "num:128" "$tmp/first.log"
check "the link comes back" put $faults "$(cat /sys/class/infiniband/$d3/node_name) 1 link up"
check "the port becomes active again" until_true 20 state_is $d3 1 ACTIVE
check "16 hosts again" until_true 20 hosts 16
check "a link between switches goes down" put $faults "S1 3 link down"
check "everybody is still reachable" until_true 20 eval '
	smpquery -C madsim0 -P 1 nodedesc $(lid madsim3) && hosts 16'
put $faults "S1 3 link up"

sm_start second $d1
check "a second subnet manager stands by" until_true 20 says SMINFO_STANDBY \
	sminfo -C $d0 -P 1 "$(lid $d1)"
check "trap 144 told the first of the second's IsSM bit" until_true 5 \
	grep -q "num:144" "$tmp/first.log"
check "both have the IsSM bit" eval "is_sm $d0; is_sm $d1"
sm_end first KILL
check "the one that was killed has lost the bit" fails is_sm $d0
check "the second takes over" until_true 30 says "sm lid $(lid $d1) .*SMINFO_MASTER" \
	sminfo -C $d3 -P 1
sm_end second
check "nobody has the bit" eval "fails is_sm $d0; fails is_sm $d1"
the_end
