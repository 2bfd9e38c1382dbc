#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Floods of traps: the subnet manager goes on to answer, learns what it was told last, and
# puts an end to a port that babbles if its configuration says so.

. "$(dirname "$0")/lib.sh"

plan 11

load topology=star:8 devices=8 || bail "cannot load ib_madsim"
bad=$(cat /sys/class/infiniband/madsim7/node_name)

# told NUMBER: the subnet manager has had this trap
told()
{
	grep -q "num:$1" "$tmp/sm.log"
}
descriptions()
{
	saquery -C madsim1 -P 1 NR | sed -n 's/^\s*NodeDescription\.*//p' | grep -v S1 | sort
}
# tell NEWS: the description of each host but that of the manager
tell()
{
	local device
	for device in madsim{1..7}; do
		put "/sys/class/infiniband/$device/node_desc" "$device has $1"
	done
}
news()
{
	local i
	for i in {1..100}; do
		tell "news $i"
		[ $((i % 20)) != 0 ] || [ "$(descriptions | wc -l)" = 8 ]
	done
}
last_news()
{
	[ "$(descriptions | grep -c ' has a last word')" = 7 ]
}
# flaps: a cable of the switch, which sends trap 128
flaps()
{
	local i
	for i in {1..20}; do
		fault "$bad" 1 link down
		fault "$bad" 1 link up
		sleep 0.1
	done
}

# babble: the news of this host are lost at the switch, which complains each time
babble()
{
	local i
	fault "$bad" 1 flow nth 1
	for i in {1..400}; do
		put /sys/class/infiniband/madsim7/node_desc "news that are lost $i"
		sleep 0.01
	done
}
# The port of the switch where that host is
port=$(ibnetdiscover -C madsim0 -P 1 | sed -n "s/^\[\([0-9]*\)\].*# \"$bad\".*/\1/p")
at_switch()
{
	says "^$1:\.*$2\$" smpquery -C madsim0 -P 1 -D portinfo 0,1 "$port"
}

# Ports that may send a trap each 4 us
flood="subnet_timeout 0"
SM_MORE=$flood$'\nlog_flags 0x07' sm_start sm madsim0
check "every way is there" until_true 60 whole madsim0 9
sw=$(lid_at madsim0 0,1 0)
check "answers while all hosts have news (trap 144)" news
check "of which it ignores some" eval '
	told 144
	grep "Ignoring noisy traps" "$tmp/sm.log"'
# It does so until there was none for five seconds
check "later it listens again" eval '
	sleep 10
	tell "a last word"
	until_true 30 last_news'
# The last one may be among those that it ignores, and it sweeps for no other reason
check "a cable comes and goes (trap 128)" eval '
	flaps
	told 128
	kill -HUP "$(cat "$tmp/sm.pid")"
	until_true 60 whole madsim0 9'
check "more than 250 complaints of a port (trap 131)" eval '
	babble
	told 131
	says "^LinkErrorRecoveryCounter:\.*255$" perfquery -C madsim0 -P 1 "$sw" "$port"'
check "by itself opensm does not switch it off" at_switch PhysLinkState LinkUp
sm_end sm
fault "$bad" 1 clear

rm "$tmp/sm.log"
SM_MORE=$flood$'\nbabbling_port_policy TRUE' sm_start sm madsim0
check "another configuration" until_true 60 grep -q "SUBNET UP" "$tmp/sm.log"
check "the port that babbles is switched off" eval '
	babble
	until_true 30 at_switch PhysLinkState Disabled
	until_true 30 whole madsim0 8'
check "the administrator mends it, and switches it on again" eval '
	fault "$bad" 1 clear
	ibportstate -C madsim0 -P 1 -D 0,1 "$port" enable
	until_true 60 whole madsim0 9'
sm_end sm
check "unload" unload

finish
