#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Nodes that are made and removed while their fabric lives: idle, under a subnet
# manager, with packets on their links, and with users of their devices.

. "$(dirname "$0")/lib.sh"

load topology=none || ktap_bail "cannot load ib_madsim"
fabric=$configfs/live
faults=$fabric/faults

# host NAME PORT: a host with a device at this port of the switch, with power. A check that
# failed may have left one
host()
{
	rmdir "$fabric/$1" 2>/dev/null || true
	mkdir "$fabric/$1"
	put "$fabric/$1/device" 1
	put $fabric/link "$1 1 leaf $2"
	put $faults "$1 plug"
}

# sees NODE ...: a finds these nodes, and no others
sees()
{
	ibnetdiscover -C "$(device a)" -P 1 >"$tmp/net"
	diff <(printf '%s\n' "$@" | sort) \
	     <(sed -n 's/^\(Ca\|Switch\).*# "\([^"]*\)".*/\2/p' "$tmp/net" | sort)
}

# comes NODE: opensm makes its port ACTIVE. opensm resets PortStateChange at the end of a sweep,
# and so forgets what changed after it looked there. It ignores a trap that it got ten times
comes()
{
	kill -HUP "$(cat "$tmp/sm.pid")"
	state_is "$(device "$1")" 1 ACTIVE
}

check "a fabric of a switch and a host lives" eval '
	make_star $fabric 8 a+
	put $fabric/live 1'
# It sweeps by itself, too, while nodes come and go
check "opensm brings it up" eval '
	SM_SWEEP=1 sm_start sm $(device a)
	until_true 30 state_is $(device a) 1 ACTIVE'

check "a new node has no power" eval '
	mkdir $fabric/b
	says "^b unplugged$" cat $faults
	put $fabric/b/device 1
	put $fabric/link "b 1 leaf 2"
	fails device b
	sees a leaf'
check "it can be configured: ports, GUID, description" eval '
	refuses "busy" put $fabric/b/ports 2
	put $fabric/unlink "b 1"
	put $fabric/b/ports 2
	put $fabric/b/guid 0x99
	put $fabric/b/description "a late one"
	put $fabric/link "b 1 leaf 2"'
check "it gets power, and opensm finds it" eval '
	put $faults "b plug"
	has_no "^b unplugged$" $faults
	until_true 30 state_is $(device b) 1 ACTIVE
	sees a leaf "a late one"
	says "^0000:0000:0000:0099$" cat /sys/class/infiniband/$(device b)/node_guid'
check "now it cannot be configured: EBUSY" refuses "busy" put $fabric/b/description x
check "without power it can again" eval '
	put $faults "b unplug"
	put $fabric/b/description "b"
	put $fabric/b/device 0
	put $faults "b plug"
	fails device b
	until_true 30 sees a b leaf'

check "the GUID of another node gets no power: EEXIST" eval '
	mkdir $fabric/c
	put $fabric/c/guid 0x99
	refuses "File exists" put $faults "c plug"
	says "^c unplugged$" cat $faults
	put $faults "b unplug"
	put $faults "c plug"
	refuses "File exists" put $faults "b plug"
	rmdir $fabric/c
	put $faults "b plug"'
check "what cannot be a device gets no power: EINVAL, and none is left" eval '
	mkdir $fabric/c
	put $fabric/c/ports 5
	put $fabric/c/device 1
	refuses "Invalid argument" put $faults "c plug"
	refuses "Invalid argument" put $faults "c plug"
	put $fabric/c/device 0
	put $faults "c plug"
	rmdir $fabric/c'
check "a name that is taken: EEXIST" refuses "File exists" mkdir $fabric/b
check "a fabric with nodes stays" refuses "not empty" rmdir $fabric

check "rmdir of a node without a device: its cable goes with it" eval '
	rmdir $fabric/b
	until_true 30 sees a leaf
	refuses "No such file" put $faults "b plug"
	put $fabric/link "leaf 2 leaf 3"
	put $fabric/unlink "leaf 3"'
check "rmdir of one with a device" eval '
	host b 2
	until_true 30 comes b
	rmdir $fabric/b
	fails device b
	until_true 30 sees a leaf'
check "the next one of that name is another node" eval '
	host b 2
	guid=$(cat $fabric/b/guid)
	rmdir $fabric/b
	mkdir $fabric/b
	[ "$(cat $fabric/b/guid)" != "$guid" ]
	rmdir $fabric/b'

# Its users are told by errors, and end
in_use()
{
	local ping query dev
	host b 2
	until_true 30 comes b
	dev=$(device b)
	ibping -S -C "$dev" -P 1 >/dev/null 2>&1 &
	ping=$!
	(while smpquery -C "$dev" -P 1 -D nodeinfo 0,1; do :; done) >/dev/null 2>&1 &
	query=$!
	sleep 0.5
	rmdir $fabric/b
	[ ! -e "/sys/class/infiniband/$dev" ]
	wait $query
	kill $ping 2>/dev/null || true
	wait $ping || true
}
check "rmdir while its device is used" in_use

# Sweeps meet nodes that come and go at any moment of their lives
churn()
{
	local i n
	for i in {1..8}; do
		for n in 2 3 4; do
			mkdir $fabric/n$n
			put $fabric/n$n/ports 2
			put $fabric/link "n$n 1 leaf $n"
			put $faults "n$n plug"
		done
		put $fabric/link "n2 2 n3 2"
		kill -HUP "$(cat "$tmp/sm.pid")"
		sleep 0.0$((RANDOM % 10))
		rmdir $fabric/n3 $fabric/n2 $fabric/n4
	done
	host b 2
	until_true 60 comes b
	until_true 30 sees a b leaf
	rmdir $fabric/b
}
check "nodes come and go under a subnet manager that sweeps" churn

# One writer gives the node power and another one takes it, while it comes and goes
race()
{
	local i loser plugger
	(while [ ! -e "$tmp/raced" ]; do echo "r plug" >$faults; done) 2>"$tmp/plugger" &
	plugger=$!
	(while [ ! -e "$tmp/raced" ]; do echo "r unplug" >$faults; done) 2>"$tmp/loser" &
	loser=$!
	for i in {1..15}; do
		mkdir $fabric/r
		echo 1 2>/dev/null >$fabric/r/device || true
		sleep 0.0$((RANDOM % 3))
		rmdir $fabric/r
	done
	touch "$tmp/raced"
	wait $plugger $loser || true
	has_no -hvE "already in progress|No such file" "$tmp/plugger" "$tmp/loser"
}
check "rmdir, plug and unplug at the same time" race

# No other program sends from here on
sm_end sm

# Packets wait on the links of both ends of a cable when the node goes, and would
# go on from a port that is no more
held()
{
	local i
	for i in 1 2 3 4 5; do
		host b 2
		put $faults "b 1 delay_ms 300
b 1 delay nth 1
leaf 2 delay_ms 300
leaf 2 delay nth 1"
		smpquery -C "$(device b)" -P 1 -t 100 -D nodeinfo 0,1 || true
		smpquery -C "$(device a)" -P 1 -t 100 -D nodeinfo 0,1,2 || true
		says "^b 1 delay nth 1 delay_ms 300 injected [1-9]" cat $faults
		rmdir $fabric/b
		has_no "^b " $faults
		put $faults "leaf 2 clear"
	done
	sleep 0.5
}
check "rmdir while packets are held on its link" held
# b has gone from port 2 of the switch, and c gets nothing of what was on its way.
# take_away WHICH: the end that the cable is named by
take_away()
{
	host b 2
	put $faults "leaf 2 delay_ms 700
leaf 2 delay nth 1"
	smpquery -C "$(device a)" -P 1 -t 100 -D nodeinfo 0,1,2 || true
	says "^leaf 2 delay nth 1 delay_ms 700 injected [1-9]" cat $faults
	put $fabric/unlink "$1"
	put $faults "leaf 2 clear"
	host c 2
	sleep 1
	says "^0$" port_counter "$(device c)" port_rcv_packets
	rmdir $fabric/b $fabric/c
}
check "a cable takes along what is held on it" eval 'take_away "leaf 2"; take_away "b 1"'

check "the last node goes, and the fabric, live" eval '
	rmdir $fabric/a $fabric/leaf
	says "^1$" cat $fabric/live
	mkdir $fabric/a
	put $fabric/a/device 1
	put $faults "a plug"
	device a
	rmdir $fabric/a
	rmdir $fabric
	[ -z "$(devices)" ]'
check "a preset grows and shrinks, too" eval '
	unload
	load topology=star:2 devices=2
	refuses "not permitted" rmdir $configfs/preset
	refuses "File exists" mkdir $configfs/preset/H1
	put $configfs/preset/unlink "H2 1"
	mkdir $configfs/preset/late
	put $configfs/preset/late/device 1
	put $configfs/preset/link "late 1 S1 2"
	put $configfs/preset/faults "late plug"
	state_is $(device late) 1 INIT
	refuses "in use" rmmod ib_madsim
	put $configfs/preset/live 0
	put $configfs/preset/live 1
	device late
	rmdir $configfs/preset/late
	fails device late'
the_end
