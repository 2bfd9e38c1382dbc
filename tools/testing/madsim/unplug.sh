#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Devices that come and go while they are used. That the kernel has nothing to
# say about it is for the one to see who runs this.

. "$(dirname "$0")/lib.sh"

case ${UMAD_PACE-} in
slow)		cycles=30 ;;
thorough)	cycles=1000 ;;
*)		cycles=100 ;;
esac

# The switch is a device as well, where that can be
count=4
if switch=$(switches); then
	count=5
fi
# shellcheck disable=SC2086	# may be nothing
load topology=star devices=$count $switch || ktap_bail "cannot load ib_madsim"
# A switch that has lost its tables does not know whom to tell
SM_SWEEP=1 sm_start sm "$(device H1)"
check "the subnet comes up" until_true 30 active $count

# Somebody who asks, from the stable node to the one that comes and goes
asker()
{
	while :; do
		smpquery -C madsim0 -P 1 -t 20 -D nodedesc 0,1,2
		perfquery -C madsim0 -P 1 -t 20 "$l2" 1
		saquery -C madsim2 -P 1 -t 100 NR
	done >/dev/null 2>&1
}

# Somebody who holds the device that goes away, blocked in read
server()
{
	while :; do
		timeout -s KILL 2 ibping -S -C "$(device H2)" -P 1
		smpquery -C "$(device H2)" -P 1 -t 20 -D nodedesc 0,1
	done >/dev/null 2>&1
}

l2=$(lid "$(device H2)")
asker & a=$!
server & b=$!
server & c=$!

cycle()
{
	local i
	for ((i = 0; i < cycles; i++)); do
		put $faults "H2 unplug" || { echo "cycle $i"; return 1; }
		put $faults "H2 plug" || { echo "cycle $i"; return 1; }
	done
}
check "a device, $cycles times" cycle
switches()
{
	local i
	for ((i = 0; i < cycles / 10; i++)); do
		put $faults "S1 unplug" && put $faults "S1 plug" || return 1
	done
}
check "the switch, $((cycles / 10)) times" switches

check "the subnet comes up again" until_true 60 active $count
check "unload while all of it is in use" unload
kill $a $b $c 2>/dev/null
wait $a $b $c 2>/dev/null
sm_end sm KILL
check "no device is left" eval '[ -z "$(devices)" ]'
reload()
{
	local i
	for i in 1 2 3 4 5 6 7 8 9 10; do
		load topology=star:8 devices=8 && unload || return 1
	done
}
check "load and unload, 10 times" reload
check "and it still works" eval '
	load topology=star
	says "NodeType:\.*Switch" smpquery -C madsim0 -P 1 -D nodeinfo 0,1
	unload'

finish
