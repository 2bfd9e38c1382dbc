#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# MPI between two hosts of a fabric: NetPIPE looks at each byte of its messages.

. "$(dirname "$0")/lib.sh"

have ib_ipoib mpirun.openmpi NPopenmpi rdma busybox

plan 6

cat >"$tmp/lab.topo" <<TOPO
Switch 4 "S1"
[1] "H1"[1]
[2] "H2"[1]
[3] "sm"[1]

Hca 1 "H1"
[1] "S1"[1]

Hca 1 "H2"
[1] "S1"[2]

Hca 1 "sm"
[1] "S1"[3]
TOPO

ssh=$here/in-host

# The subnet manager is outside of the namespaces
lab()
{
	load
	"$madsim_load" --hosts -n lab -d 3 -K sm "$tmp/lab.topo"
	sm_start first "$(devices)"
	until_true 60 ip netns exec H1 busybox ping -q -c 1 -W 1 H2
}

# netpipe TRANSPORT OPTION ...: messages of all lengths
netpipe()
{
	OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
		timeout 300 "$ssh" H1 mpirun.openmpi --mca plm_rsh_agent "$ssh" \
		--mca mpi_yield_when_idle 1 --mca pml ucx -x "UCX_TLS=$1" --host H1,H2 \
		NPopenmpi -o "$tmp/np.out" "${@:2}" >"$tmp/netpipe" 2>&1 </dev/null ||
		{ cat "$tmp/netpipe"; return 1; }
}

# right TRANSPORT LENGTHS: the messages of at least so many lengths, and no byte is wrong
right()
{
	netpipe "$1" -i -u 300000
	tail -n 3 "$tmp/netpipe"
	[ "$(grep -c "Integrity check passed" "$tmp/netpipe")" -ge "$2" ] &&
		fails grep -i "integrity check failed" "$tmp/netpipe"
}

check "three hosts, two of them namespaces" lab
check "NetPIPE over connected queue pairs: no byte is wrong" right rc_v 30
check "NetPIPE over datagrams: no byte is wrong" right ud_v 30
check "both ways at once" netpipe rc_v -2 -u 100000
sm_end first
check "the hosts go" "$madsim_load" -f -r lab
check "unload" until_true 20 unload

finish
