#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The fabrics that the module's parameters make, and the ones they refuse.

. "$(dirname "$0")/lib.sh"

count_devices()
{
	devices
	[ "$(devices | wc -l)" = "$1" ]
}

check "without parameters: no fabric" eval 'load; fails ls -d "$configfs"/*; [ -z "$(devices)" ]'
check "without parameters: unload" unload

# preset NAME DEVICES CAS SWITCHES PARAMETER: opensm and ibnetdiscover find it
preset()
{
	check "$1: load" load "${@:5}"
	check "$1: $2 devices" count_devices "$2"
	check "$1: links train" state_is madsim0 1 INIT
	check "$1: opensm without an error" sm_once once madsim0
	check "$1: all ports active" active "$2"
	check "$1: $3 hosts, $4 switches" sees "madsim$(($2 - 1))" "$3" "$4"
	check "$1: unload" unload
}
preset star 4 4 1 topology=star
preset fattree 8 54 45 topology=fattree:6 devices=8

check "pair: load" load topology=pair
check "pair: two devices" count_devices 2
check "pair: first ports" sm_once once madsim0 1
check "pair: second ports are another subnet" state_is madsim0 2 INIT
check "pair: second ports" sm_once once madsim0 2
check "pair: all ports active" active 4
check "pair: unload" unload

# All of 8192 hosts with a port and 1280 switches with 32 are linked
largest()
{
	local topology=$debugfs/preset/topology
	says "^8192$" grep -c ^Hca "$topology"
	says "^1280$" grep -c ^Switch "$topology"
	says "^49152$" grep -c '^\[' "$topology"
	state_is madsim0 1 INIT
}
check "the largest fattree: load" load topology=fattree:32 devices=1
check "the largest fattree: every port has a link" largest
check "the largest fattree: unload" unload

refuse_all()
{
	local bad
	for bad in bogus "" star:0 star:255 star:x star: pair:2 fattree:3 fattree:34; do
		echo "topology=$bad"
		refuses "Invalid" load "topology=$bad" || return 1
	done
}
check "no such preset: EINVAL" refuse_all

# The module for kernels that do not know switches has a parameter for that
unasked()
{
	if modinfo -F parm "${MADSIM_MODULE:-ib_madsim}" | grep -q '^switch_devices:'; then
		refuses "not supported" load topology=star devices=5
	else
		load topology=star devices=5 && count_devices 5 && unload
	fi
}
check "a switch as a device, unasked: EOPNOTSUPP if that would do harm" unasked
check "devices: no more than there are nodes" eval 'load topology=pair devices=100 && count_devices 2'

finish
