#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Virtual functions of a host: GUIDs and policies that "ip link set vf" gives them, what opensm
# makes of their ports, and what becomes of them when a node goes.

. "$(dirname "$0")/lib.sh"

with_ipoib
have ip

lab=$configfs/lab
low=00:11:22:33:44:55:66

# net NODE: its interface
net()
{
	ls "/sys/class/infiniband/$(device "$1")/device/net"
}

# set_vf NUMBER WORD ...: of h1
set_vf()
{
	ip link set "$(net h1)" vf "$@"
}

# lists PATTERN ...: ip has such virtual functions of h1
lists()
{
	all_say ip link show "$(net h1)" -- "$@"
}

# again NODE: as a driver that is bound again
again()
{
	put $lab/faults "$1 unplug"
	put $lab/faults "$1 plug"
}

is()
{
	state_is "$(device "$1")" 1 "$2"
}

# soon NODE STATE
soon()
{
	until_true 30 is "$@"
}

make()
{
	make_star $lab 8 h1+ v0+ v2+
	put $lab/data 1
	says "^$" cat $lab/v0/virtual_function
	put $lab/v0/virtual_function "h1 0"
	put $lab/v2/virtual_function "h1 2"
	says "^h1 2$" cat $lab/v2/virtual_function
}

# Which would be one of itself, of another one, or has some
refused()
{
	local text
	for text in h1 "h1 x" "h1 1 2" "h1 64" "v2 1" "v0 1"; do
		refuses "Invalid argument" put $lab/v2/virtual_function "$text"
	done
	refuses "Invalid argument" put $lab/h1/virtual_function "leaf 0"
	refuses "No such file" put $lab/v2/virtual_function "h2 0"
	refuses "busy" put $lab/v2/virtual_function "h1 0"
	says "^h1 2$" cat $lab/v2/virtual_function
}

lives()
{
	echo "GUIDInfo Record: base_guid=$(cat $lab/h1/port_guid) lid=0x0000 block_num=0x0" \
		"guid0=$(cat $lab/h1/port_guid) guid1=0x0011223344556601" \
		guid{2..7}=0x0000000000000000 >"$tmp/sa"
	put $lab/live 1
	SM_MORE="sa_db_file $tmp/sa" sm_start sm "$(device h1)"
	soon h1 ACTIVE
	ip link set "$(net h1)" up
	until_true 20 grep -q 1 "/sys/class/net/$(net h1)/carrier"
}

# A port has more of them when an administrator or a driver has asked opensm
additional()
{
	local alias=fe80:0000:0000:0000:0011:2233:4455:6601
	until_true 20 grep -q ^$alias$ "/sys/class/infiniband/$(device h1)/ports/1/gids/1"
	says "dlid\.*$(lid "$(device h1)")$" saquery -C "$(device h1)" --dgid $alias PR
}

# As hardware has it: a port without a GUID is down
at_first()
{
	lists "vf 0 .*NODE_GUID 00(:00){7}, PORT_GUID 00(:00){7}, link-state auto" "vf 2 "
	fails lists "vf 1 "
	is v0 DOWN
	is v2 DOWN
	refuses "not supported" ip link set "$(net v0)" vf 0 state auto
}

guids()
{
	set_vf 0 node_guid $low:70
	set_vf 0 port_guid $low:71
	lists "vf 0 .*NODE_GUID $low:70, PORT_GUID $low:71"
	is v0 DOWN
	again v0
	says "^0011:2233:4455:6670$" cat "/sys/class/infiniband/$(device v0)/node_guid"
	says "^0x0011223344556671$" port_guid "$(device v0)"
	soon v0 ACTIVE
	[ "$(lid "$(device v0)")" != "$(lid "$(device h1)")" ]
	says "^Guid:\.*0x0*11223344556670$" smpquery -C "$(device h1)" nodeinfo "$(lid "$(device v0)")"
	is v2 DOWN
}

refused_by_ip()
{
	refuses "Invalid argument" set_vf 1 port_guid $low:72
	refuses "Invalid argument" set_vf 1 state auto
	refuses "Invalid argument" set_vf 0 port_guid 00:00:00:00:00:00:00:00
	lists "vf 0 .*PORT_GUID $low:71, link-state auto"
}

policy()
{
	set_vf 0 state disable
	lists "vf 0 .*link-state disable"
	soon v0 DOWN
	again v0
	is v0 DOWN
	set_vf 0 state auto
	soon v0 ACTIVE
}

# The port of the host goes down: who follows, and who does not
follows()
{
	put $lab/faults "h1 1 link down"
	is v0 DOWN
	set_vf 0 state enable
	fails is v0 DOWN
	set_vf 0 state auto
	is v0 DOWN
	put $lab/faults "h1 1 link up"
	fails is v0 DOWN
	soon v0 ACTIVE
}

twice()
{
	set_vf 2 node_guid $low:70
	set_vf 2 port_guid $low:81
	put $lab/faults "v2 unplug"
	refuses "File exists" put $lab/faults "v2 plug"
	set_vf 2 node_guid $low:80
	put $lab/faults "v2 plug"
	soon v2 ACTIVE
	[ "$(lid "$(device v0)")" != "$(lid "$(device v2)")" ]
}

# What v0 has received: packets for it alone, and the bytes of all, which the port has as words
received()
{
	local v0
	v0=$(device v0)
	echo "\"bytes\":$(($(port_counter "$v0" port_rcv_data) * 4)),\"packets\":$(port_counter "$v0" unicast_rcv_packets)"
}

# A packet may come while ip looks: then ip looks again
counted()
{
	local words
	until [ "${words-}" = "$(received)" ]; do
		words=$(received)
		ip -s -j link show "$(net h1)" >"$tmp/said"
	done
	says "\"rx\":\{$words," cat "$tmp/said"
}

gone()
{
	refuses "busy" put $lab/v0/virtual_function ""
	rmdir $lab/v0
	lists "vf 2 "
	fails lists "vf 0 "
	set_vf 2 state disable
	is v2 DOWN
	sm_end sm
	rmdir $lab/h1
	says "^$" cat $lab/v2/virtual_function
	is v2 INIT
}

load topology=none || ktap_bail "cannot load ib_madsim"
modprobe -q ib_ipoib || true
check "functions of a host" make
check "what is none: EINVAL, ENOENT, EBUSY" refused
check "the host works" lives
check "GUIDs besides its own" additional
check "functions have no GUIDs, and no links" at_first
check "GUIDs, which count from power-on" guids
check "no such function, no GUID: EINVAL" refused_by_ip
check "a policy, which stays" policy
check "and follows the port of the host" follows
check "no GUID of another one: EEXIST" twice
check "statistics" counted
check "functions and hosts go" gone
finish
