#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# umadstat, with a subnet manager and others at work: the table and the JSON agree with
# sysfs and /proc. fixture.py of tools/testing/umadstat has each value, its rates and its
# refusals.

. "$(dirname "$0")/lib.sh"

have python3

umadstat=$here/../../infiniband/umadstat/umadstat

# json EXPRESSION [OPTION ...]: of the object p, the only port or the first one
json()
{
	local expression=$1
	shift
	"$umadstat" -j "$@" | python3 -c "
import json, sys
for line in sys.stdin:
    o = json.loads(line)
    p = o['ports'][0] if o['ports'] else None
    print($expression)"
}

# fdinfo PID DEVICE: of all descriptors that a process has of it
fdinfo()
{
	local fd
	for fd in "/proc/$1/fd"/*; do
		[ "$(readlink "$fd")" != "/dev/infiniband/$2" ] || cat "/proc/$1/fdinfo/${fd##*/}"
	done
}

# sum KEY PID DEVICE: of this key in all of these
sum()
{
	fdinfo "$2" "$3" | awk -v key="umad-$1:" '$1 == key { n += $2 } END { print n + 0 }'
}

load topology=star || ktap_bail "cannot load ib_madsim"
port=$(umad_of madsim0)
issm=issm${port#umad}
sm_start sm madsim0
sm=$(cat "$tmp/sm.pid")
check "all ports become active" until_true 30 active 4

check "nothing is missing" says "^\[\]$" json "o['missing']"
check "below a port the subnet manager" all_say "$umadstat" -p "$port" -- \
	"^$port madsim0/1 InfiniBand ACTIVE .*[-0-9]$" "^  opensm\[$sm\] fd [0-9]+ +[-0-9]" \
	"^  opensm\[$sm\] fd [0-9]+ holds $issm "
opensm_agents()
{
	[ "$(fdinfo "$sm" "$port" | grep -c ^umad-agent:)" = \
	  "$("$umadstat" -p "$port" | grep -Ec '^    [0-9]+: QP[01] ')" ]
	all_say "$umadstat" -p "$port" -- \
		"^    [0-9]+: QP0 SM, directed route 0x81\.1" \
		"^    [0-9]+: QP1 SA 0x03\.2 RMPP: .*methods"
}
check "its agents" opensm_agents

# A server that is stopped does not read, and a client asks it
ibping -S -C madsim1 -P 1 &
server=$!
asked=$(umad_of madsim1)
until_true 10 ibping -C madsim0 -P 1 -c 1 "$(lid madsim1)"
check "a server is there, and what it serves" all_say "$umadstat" -p madsim1 -- \
	"ibping\[$server\] fd" "^    [0-9]+: QP1 vendor 001405 0x32\.1"
kill -STOP $server
ibping -C madsim0 -P 1 -c 3 "$(lid madsim1)" >/dev/null 2>&1

unread()
{
	local unread
	unread=$(sum unread $server "$asked")
	echo "$unread unread"
	[ "$unread" -ge 3 ]
	says "^$unread$" json 'sum(f["unread"] for f in p["files"])' -p "$asked"
	says "^  ibping\[$server\] fd [0-9]+ +0 +- +- +- +$unread +0 +- +-$" "$umadstat" -p "$asked"
}
check "what a stopped server does not read" unread

put $faults "H2 unplug"
gone()
{
	says "^$asked, which is gone: ibping\[$server\] fd [0-9]" "$umadstat"
	says "^\['$asked'.*\]$" json '[f["device"] for f in o["gone"]]'
}
check "a device that is gone" gone
kill -KILL $server
wait $server 2>/dev/null

sm_end sm
check "nobody has issm any more" fails says " $issm " "$umadstat" -p "$port"
check "unload: its ports are gone" eval 'unload; fails says "madsim" "$umadstat"'

finish
