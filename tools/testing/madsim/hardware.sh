#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# What some hardware does and other does not: ports without a subnet manager, a switch
# that answers by directed routes alone, two nodes with one GUID, links that sleep.

. "$(dirname "$0")/lib.sh"

load topology=none || ktap_bail "cannot load ib_madsim"
lab=$configfs/lab
make_lab()
{
	make_star $lab 4 alice+ bob carol
}
check "make a fabric" make_lab
refused()
{
	refuses "Invalid argument" put $lab/bob/sm_disabled x
	refuses "Invalid argument" put $lab/bob/smp_by_lid x
	refuses "Invalid argument" put $lab/duplicate_guids x
	refuses "out of range" put $lab/bob/sm_disabled 255
	says "^1$" cat $lab/bob/smp_by_lid
	says "^$" cat $lab/bob/sm_disabled
	says "^0$" cat $lab/duplicate_guids
}
check "what makes no sense" refused
check "bob must have no subnet manager, leaf answers no SMPs by LID" eval '
	put $lab/bob/sm_disabled 1
	put $lab/leaf/smp_by_lid 0
	says "^1$" cat $lab/bob/sm_disabled
	says "^0$" cat $lab/leaf/smp_by_lid'
check "it lives" put $lab/live 1
check "no change while it does" eval '
	refuses "busy" put $lab/duplicate_guids 1'
dev=$(device alice)
sm_start sm "$dev"
check "opensm brings it up" until_true 30 active 1
on="-C $dev -P 1"
sw=$(lid_at "$dev" 0,1 0)
bob=$(lid_at "$dev" 0,1,2 1)
carol=$(lid_at "$dev" 0,1,3 1)
check "smpquery: IsSMdisabled of bob, not of carol" eval '
	says "IsSMdisabled" smpquery $on portinfo $bob 1
	fails says "IsSMdisabled" smpquery $on portinfo $carol 1'
disabled_ports()
{
	saquery $on -s | sed '1,/^IsSMdisabled/d' | grep -i "EndPortLid"
}
check "saquery: it is the only one" says "EndPortLid\.*$bob\$" eval '
	disabled_ports
	[ $(disabled_ports | wc -l) = 1 ]'
check "smpquery: the switch answers by a directed route" says "^Node Description:\.*leaf" \
	smpquery $on -D nodedesc 0,1
check "and not by LID" unanswered smpquery $on -t 100 nodedesc "$sw"
check "which others do, behind it" says "^Node Description:\.*carol" smpquery $on nodedesc "$carol"
check "its other agents do, too" says "^PortXmitPkts:" perfquery $on -x "$sw" 1
check "opensm's log has no error" sm_log_clean sm
check "a link that is lost goes where opensm has said" eval '
	put $configfs/lab/faults "bob 1 link down"
	says "^PhysLinkState:\.*Polling" smpquery $on -D portinfo 0,1 2'
sm_end sm
check "the end of it" "$madsim_load" -r lab

twins()
{
	make_lab
	put $lab/carol/guid "$(cat $lab/bob/guid)"
	refuses "File exists" put $lab/live 1
	put $lab/duplicate_guids 1
	put $lab/live 1
}
check "two nodes with one GUID, for who asks for it" twins
# opensm asks the two again and again, without a pause. A clock that skips idle time stands
# still meanwhile, so no sleep would end: a reader of a pipe does not sleep
mkfifo "$tmp/twins.log"
SM_SWEEP=1 sm_start twins "$(device alice)"
check "opensm finds out" timeout 60 grep -qm 1 "Found duplicated node GUID" "$tmp/twins.log"
sm_end twins
check "the end of that" "$madsim_load" -r lab
the_end
