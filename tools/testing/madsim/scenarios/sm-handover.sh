#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Subnet managers hand over to one another, while hosts ask for the records of the fabric:
# the better one is master, no LID changes, and a client that asks is answered again.

. "$(dirname "$0")/lib.sh"

load topology=fattree:4 devices=4 || ktap_bail "cannot load ib_madsim"

# start NAME DEVICE PRIORITY
start()
{
	SM_MORE="sm_priority $3" sm_start "$1" "$2"
}
# master DEVICE: all hosts take the subnet manager there for their master
master()
{
	local on guid
	guid=$(port_guid "$1")
	for on in madsim0 madsim1 madsim2 madsim3; do
		says "sm guid 0x0*${guid#0x0}.*SMINFO_MASTER" sminfo -C $on -P 1 || return 1
	done
}
lids()
{
	ibnetdiscover -C madsim2 -P 1 |
		sed -nE 's/^(\[1\]\(|Switch.*")(.*)lid ([0-9]+) lmc.*/\2\3/p' | sort
}
same_lids()
{
	diff "$tmp/lids" <(lids)
}

# ask DEVICE: all the time, a line for each answer that has all nodes
ask()
{
	while [ -e "$tmp/goes_on" ]; do
		[ "$(saquery -C "$1" -P 1 NR 2>/dev/null | grep -c NodeDescription)" != 36 ] ||
			echo answered
	done >"$tmp/answers.$1"
}
answered()
{
	cat "$tmp"/answers.* | wc -l
}
# goes_on: there are answers after this moment, on each device
goes_on()
{
	local count device
	for device in madsim2 madsim3; do
		count=$(wc -l <"$tmp/answers.$device")
		until_true 60 eval "[ \$(wc -l <$tmp/answers.$device) -gt $((count + 1)) ]"
	done
}

start low madsim0 3
check "the first one is master" until_true 60 master madsim0
check "every way is there" until_true 30 whole madsim2 36
lids >"$tmp/lids"
touch "$tmp/goes_on"
ask madsim2 &
askers=($!)
ask madsim3 &
askers+=($!)
check "hosts ask" goes_on

start high madsim1 9
check "a better one takes over" until_true 60 master madsim1
check "the first one stands by" says SMINFO_STANDBY sminfo -C madsim2 -P 1 "$(lid madsim0)"
check "hosts are answered by it" goes_on
sm_end high KILL
check "it dies: the first one takes over" until_true 60 master madsim0
check "hosts are answered again" goes_on
start high madsim1 9
check "it is there again, and takes over again" until_true 60 master madsim1
sm_end high
check "it ends in good order: the first one takes over" until_true 60 master madsim0
rm "$tmp/goes_on"
wait "${askers[@]}"
echo "# $(answered) answers"
check "nobody's LID has changed" same_lids
check "every way is still there" until_true 30 whole madsim2 36
the_end low
