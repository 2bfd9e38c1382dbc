#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# A subnet comes to life, over ib_umad and a simulated fabric, with Debian's
# opensm and infiniband-diags. Run by scripts/demo in a guest:
#
#	guest.sh DIRECTORY	where topology and picture go
#
# Every step is checked: what does not come out as told ends the demo.

set -eu -o pipefail
. "$(dirname "$0")/lib.sh"
out=$1
fabric=fattree:4 devices=4
last=madsim$((devices - 1))

port_file()
{
	cat "/sys/class/infiniband/$1/ports/1/$2"
}

lid()
{
	printf %d "$(port_file "$1" lid)"
}

# The IsSM bit of a LID's port, as anybody in the fabric sees it
is_sm()
{
	smpquery -C $last -P 1 portinfo "$1" | grep -A 1 CapMask | grep -q IsSM
}

all_active()
{
	cat /sys/class/infiniband/madsim*/ports/1/state >/tmp/states
	! grep -v ACTIVE /tmp/states && [ "$(wc -l </tmp/states)" = $devices ]
}

say "1. A fat tree is plugged together: madsim, with $fabric"
insmod "$MADSIM_MODULE" topology=$fabric devices=$devices
hosts=$(grep -c '^Ca\|^Hca' /sys/kernel/debug/madsim/preset/topology)
switches=$(grep -c '^Switch' /sys/kernel/debug/madsim/preset/topology)
echo "   $hosts hosts and $switches switches; $devices of the hosts are RDMA devices of this machine:"
for dev in /sys/class/infiniband/madsim*; do
	dev=${dev##*/}
	printf '   %s  %s  port 1: %s\n' "$dev" \
		"$(cat "/sys/class/infiniband/$dev/node_desc")" \
		"$(port_file "$dev" state)"
done
echo "   their character devices: $(cd /dev/infiniband && echo umad* issm*)"

say "2. No subnet manager yet: no addresses, no routes. opensm starts on madsim0"
start_opensm
wait_for "all $devices ports are ACTIVE" all_active
sm_lid=$(lid madsim0)
wait_for "the subnet manager is master" bash -c "sminfo -C $last -P 1 $sm_lid | grep -q MASTER"
! grep -w ERR "$out/opensm.log" || fail "opensm reports errors"

say "3. Who is in charge? Asked from the other end of the tree, by LID"
show sminfo -C $last -P 1

say "4. The IsSM bit: opensm holds issm0 open, and so the port says"
is_sm "$sm_lid" || fail "the port of the subnet manager has no IsSM bit"
smpquery -C $last -P 1 portinfo "$sm_lid" | grep -A 1 CapMask | sed 's/^/   /'

say "5. The topology, found by directed routes through every switch"
ibnetdiscover -C $last -P 1 >"$out/topology"
show grep -m 1 -A 5 '^Switch' "$out/topology"
found=$(grep -c '^Switch' "$out/topology") ends=$(grep -c '^Ca' "$out/topology")
echo "   and so on: $ends hosts and $found switches, $(grep -c '^\[' "$out/topology") ends of links"
[ "$found $ends" = "$switches $hosts" ] || fail "that is not what was plugged together"

say "6. Who is at work? umadstat, while ibnetdiscover asks and asks"
(while :; do ibnetdiscover -C $last -P 1; done) >/dev/null 2>&1 &
discovery=$!
show tools/infiniband/umadstat/umadstat -w 2 -n 1
kill $discovery
wait $discovery 2>/dev/null || true

say "7. The way from one end to the other"
show ibtracert -C madsim0 -P 1 "$sm_lid" "$(lid $last)"

say "8. The subnet administrator knows them all; its answer is an RMPP message"
nodes=$(saquery -C $last -P 1 NR | grep -c 'NodeRecord dump')
paths=$(saquery -C $last -P 1 PR | grep -c 'PathRecord dump')
echo "   saquery NR: $nodes node records"
echo "   saquery PR: $paths path records"
[ "$nodes" = $((switches + hosts)) ] || fail "$nodes node records"

say "9. Two hosts talk: ibping, a vendor class of QP1"
ibping -S -C $last -P 1 &
server=$!
wait_for "the server answers" ibping -C madsim0 -P 1 -c 1 "$(lid $last)"
show ibping -C madsim0 -P 1 -c 3 "$(lid $last)"
kill $server

say "10. opensm stops: it closes issm0, and the bit is gone"
stop_opensm
! is_sm "$sm_lid" || fail "the IsSM bit is still there"
smpquery -C $last -P 1 portinfo "$sm_lid" | grep -A 1 CapMask | sed 's/^/   /'

say "11. The fabric is unplugged, the modules go"
rmmod ib_madsim
rmmod ib_umad
echo "   nothing left: $(ls /sys/class/infiniband | wc -l) devices"
