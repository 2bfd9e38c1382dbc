#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Notices: at once, again every second as long as nobody represses them, and ten
# times at most, whatever else there is to tell. A change of a NodeDescription
# makes one.

. "$(dirname "$0")/lib.sh"

plan 9

load topology=star || bail "cannot load ib_madsim"

# describe DEVICE TEXT
describe()
{
	put "/sys/class/infiniband/$1/node_desc" "$2"
}

# What has left the port of H2: all of it are notices, while nobody asks it
packets()
{
	cat /sys/class/infiniband/madsim1/ports/1/counters/port_xmit_packets
}
sent()
{
	echo $(($(packets) - before))
}
has_sent()
{
	says "^$1\$" sent
}
quiet()
{
	before=$(packets)
	sleep 3
	has_sent 0
}

# Not by the check, whose shell is another one: its end has to be waited for
sm_start sm madsim0 && started=yes
check "opensm starts" test "${started-}"
check "all ports become active" until_true 30 active 4
check "a notice reaches the subnet manager" eval '
	describe madsim1 first
	until_true 10 grep -q "num:144" "$tmp/sm.log"'
check "which represses it" until_true 20 quiet

sm_end sm
before=$(packets) start=$(date +%s%N)
check "with nobody to repress it, it is sent at once" eval '
	describe madsim1 second
	until_true 1 fails has_sent 0'

# Another host has news all the time; in between the notices get their turn
unhurried()
{
	local i count most
	for i in {1..20}; do
		describe madsim2 "$i"
		sleep 0.05
	done
	count=$(sent)
	# A tick more or less, and the first one
	most=$((($(date +%s%N) - start) / 1000000000 + 2))
	echo "sent $count times, $most is most"
	[ "$count" -le $most ]
}
check "news of others does not hurry it" unhurried
check "it is repeated, ten times in all" until_true 20 has_sent 10
check "and then no more" eval '
	sleep 3
	has_sent 10'
check "unload" unload

finish
