#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# In a guest: what programs of others say of umad and of a fabric. The one argument is
# where those are that run built. Each result begins with whose it is.

programs=$(realpath "$1")
. "$(dirname "$0")/../madsim/lib.sh"

load topology=fattree:4 devices=4 || bail "cannot load ib_madsim"
on="-C madsim0 -P 1"
PATH+=:$programs

same_graph()
{
	subnet_discover -C madsim1 -P 1 >"$tmp/discovered"
	ibnetdiscover $on >"$tmp/net"
	"$madsim_load" -g "$tmp/net" >"$tmp/graph"
	[ "$(grep -c . "$tmp/graph")" = 48 ]
	diff "$tmp/graph" <("$madsim_load" -g "$tmp/discovered")
}
check "ibsim: subnet_discover finds what ibnetdiscover finds" same_graph

# These programs join with a Q_Key that is not that of IPoIB
echo "Default=0x7fff, ipoib, Q_Key=0x80010000 : ALL=full, ALL_SWITCHES=full, SELF=full ;" >"$tmp/partitions"
SM_MORE="partition_config_file $tmp/partitions" sm_start sm madsim0
until_true 60 active 4 || bail "opensm does not bring up the fabric"
for device in madsim0 madsim1 madsim2 madsim3; do
	port_guid $device
done >"$tmp/guids"

# Each of its queries is seen at the other end of the link
counted()
{
	local before counter=/sys/class/infiniband/madsim0/ports/1/counters/port_rcv_packets
	before=$(cat $counter)
	query_many -n 1000 -C madsim0 -P 1 -d 0,1
	[ $(($(cat $counter) - before)) -ge 1000 ]
}
check "ibsim: query_many, 1000 at once" counted

# groups COUNT, members COUNT: as the subnet administration has them. It names members to
# who knows its key.
groups()
{
	saquery $on -g >"$tmp/groups" || true
	[ "$(grep -c Mlid "$tmp/groups")" = "$1" ]
}
members()
{
	saquery $on --smkey 1 -m >"$tmp/members" || true
	[ "$(grep -c 'PortGid\.*fe80' "$tmp/members")" = "$1" ]
}
check "ibsim: mcast_storm, 40 joins" eval '
	says "got 40 responses" mcast_storm -g "$tmp/guids" -I 9 joins
	groups 10
	members 40'
check "ibsim: mcast_storm, rereg" eval '
	says "is done" mcast_storm -g "$tmp/guids" rereg
	members 40'
check "ibsim: mcast_storm, 40 leaves" eval '
	says "got 40 responses" mcast_storm -g "$tmp/guids" -I 9 leave
	groups 1
	members 0'

check "rdma-core: umad_compile_test" umad_compile_test
check "rdma-core: umad_reg2_compat" says "had 0 failures" umad_reg2_compat
check "rdma-core: umad_register2" says "had 0 failures" umad_register2
check "rdma-core: umad_sa_mcm_rereg_test, joins" eval '
	says "4 of 4 queried" umad_sa_mcm_rereg_test -C madsim0 -F "$tmp/guids" -j
	members 4'
check "rdma-core: umad_sa_mcm_rereg_test, registers again" eval '
	says "got 8 responses" umad_sa_mcm_rereg_test -C madsim0 -F "$tmp/guids"
	members 4'

check "rdma-core: umad_sa_mcm_rereg_test, leaves" eval '
	umad_sa_mcm_rereg_test -C madsim0 -F "$tmp/guids" -l
	members 0'
the_end sm
