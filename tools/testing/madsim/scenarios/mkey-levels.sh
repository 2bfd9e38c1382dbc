#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The four protection levels of the M_Key, as opensm sets them: who can read what without
# the key, that no manager can write, and when a lease ends.

. "$(dirname "$0")/lib.sh"

key=0x0000001234567890
right="--m_key $key"
host="-C madsim1 -P 1 -t 200"

# serve LEVEL LEASE: a subnet manager over a new fabric; sets lid
serve()
{
	load topology=star devices=3 || return
	SM_MORE="m_key $key
m_key_protection_level $1
m_key_lease_period $2" sm_start sm madsim0
	until_true 60 active 3
	lid=$(lid madsim2)
}
forget()
{
	sm_end sm "${1-TERM}"
	unload
}

# field NAME VALUE OPTION ...: of the PortInfo of madsim2
field()
{
	says "^$1:\.*$2\$" smpquery $host "${@:3}" -K portinfo "$lid" 1
}
violations()
{
	smpquery $host $right portinfo "$lid" 1 | sed -n 's/^MkeyViolations:\.*//p'
}
# no_write: the port stays as it is, whatever a stranger says, and the master is told
no_write()
{
	local before
	before=$(violations)
	fails ibportstate $host "$lid" 1 lid 99
	fails ibportstate $host --m_key 0x42 "$lid" 1 lid 99
	[ "$(violations)" -ge $((before + 2)) ]
	field Lid "$lid" $right
	until_true 30 grep -q "num:256" "$tmp/sm.log"
}

for level in 0 1 2 3; do
	serve $level 0
	case $level in
	0)	check "level 0: everybody reads the key" field Mkey 0x0+1234567890 ;;
	1)	check "level 1: others read PortInfo without the key" eval '
			field Mkey "0x0+"
			field Mkey "0x0+" --m_key 0x42
			field Lid "$lid"' ;;
	*)	check "level $level: others read nothing" eval '
			unanswered smpquery $host portinfo "$lid" 1
			unanswered smpquery $host --m_key 0x42 nodedesc "$lid"' ;;
	esac
	check "level $level: who has the key reads all" eval '
		field Mkey 0x0+1234567890 $right
		field ProtectBits $level $right'
	check "level $level: who lacks it writes nothing" no_write
	forget
done

# While there is a master, it takes care that the lease does not end
lease()
{
	serve 2 3
	unanswered smpquery $host portinfo "$lid" 1
	until_true 30 grep -q "num:256" "$tmp/sm.log"
	kill -HUP "$(cat "$tmp/sm.pid")"
	sleep 5
	unanswered smpquery $host portinfo "$lid" 1
	sm_end sm KILL
	unanswered smpquery $host portinfo "$lid" 1
	until_true 30 field Mkey 0x0+1234567890
	field ProtectBits 0
	forget KILL
}
check "a lease ends after the master, and others can read the key" lease
finish
