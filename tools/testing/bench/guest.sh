#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# In a guest: bring a fabric up, let the machine settle, measure. For
# tools/testing/bench/measure, which says
#
#	scripts/guest/inside/madsim WHICH tools/testing/bench/guest.sh BUILD COMMAND ...
#
# BUILD is the folder with our programs and modules, COMMAND one of
#
#	umad SAMPLES FIGURE ...		umad_bench
#	baseline SAMPLES FIGURE ...	the same without umad
#	device SAMPLES			the simulated device's share
#	ports SAMPLES			with 64 devices
#	opensm				bringing up 1,344 nodes
#	ibsim				the same over ibsim
#	data SAMPLES			messages and TCP, over madsim and Soft-RoCE
#	cpus COUNT			no clock that counts instructions

set -eu
. "$(dirname "$0")/../../../scripts/common.sh"
. "$top/scripts/guest/inside/umad.sh"

subnet_manager()
{
	local guid

	guid=0x$(cut -d: -f5-8 /sys/class/infiniband/madsim0/ports/1/gids/0 | tr -d :)
	opensm -o -g "$guid" -f /run/opensm.log >/run/opensm.out 2>&1 ||
		{ cat /run/opensm.out >&2; die "opensm failed"; }
	for _ in {1..100}; do
		! grep -q ACTIVE /sys/class/infiniband/madsim1/ports/1/state || return 0
		sleep 0.1
	done
	die "madsim1 did not become active"
}

ibsim_subnet_manager()
{
	SIM_HOST=H1 ibsim-run opensm -o -f /run/opensm.log >/run/opensm.out 2>&1 ||
		{ cat /run/opensm.out >&2; die "opensm failed"; }
	grep -q "SUBNET UP" /run/opensm.log || die "the subnet over ibsim did not come up"
}

# sweep COMMAND: what that takes, in the kernel and in programs
sweep()
{
	local kernel_time=/sys/kernel/debug/kernel_time/kernel

	echo 1 >$kernel_time
	"$1"
	echo 0 >$kernel_time
	cat $kernel_time
}

# After a boot the kernel is busy with itself for some seconds
fabric()
{
	insmod "$MADSIM_MODULE" "$@"
	subnet_manager
	sleep 4
}

slab()
{
	sleep 0.5
	awk '$1 == "Slab:" { print $2 }' /proc/meminfo
}

baseline()
{
	local run=/sys/kernel/debug/umad_baseline/run before figure

	case $1 in
	memory)
		before=$(slab)
		echo "hold 16384" >$run
		echo "memory.outstanding 16384" $((($(slab) - before) / 16)) $((($(slab) - before) / 16))
		echo release >$run ;;
	*)
		echo "$1 $samples" >$run
		cat $run ;;
	esac
}

# Soft-RoCE as cheap as it gets: jumbo frames, and the other end is its own
roce()
{
	modprobe -a dummy rdma_rxe
	ip link add roce type dummy
	ip link set roce mtu 9000 up
	rdma link add rxe0 type rxe netdev roce
	until_true "the GID of rxe0" grep -q fe80 /sys/class/infiniband/rxe0/ports/1/gids/0
}

# A namespace for each end of a connection by TCP: IPoIB, and the kind of network
# device that Soft-RoCE has. The subnet manager keeps its host.
hosts()
{
	local host
	modprobe -a ib_ipoib veth
	rdma system set netns exclusive
	for host in 1 2; do
		ip netns add ib$host
		rdma dev set madsim$host netns ib$host
		until_true "the interface of madsim$host" ip -n ib$host link show ib0
		ip -n ib$host addr add 10.0.0.$host/24 dev ib0
		ip -n ib$host link set ib0 up
		ip netns add eth$host
	done
	ip link add eth0 netns eth1 mtu 9000 type veth peer eth0 netns eth2 mtu 9000
	for host in 1 2; do
		ip -n eth$host addr add 10.0.1.$host/24 dev eth0
		ip -n eth$host link set eth0 up
	done
	until_true "IPoIB" ip netns exec ib1 busybox ping -c 1 -W 1 10.0.0.2
	until_true "veth" ip netns exec eth1 busybox ping -c 1 -W 1 10.0.1.2
}

build=$1 command=$2
shift 2
case $command in
umad)
	insmod "$build/kernel/umad_watch.ko"
	fabric topology=star:2 devices=2
	exec "$build/umad_bench" -n "$@" ;;
baseline)
	samples=$1
	shift
	fabric topology=star:2 devices=2
	rmmod ib_umad
	insmod "$build/kernel/umad_baseline.ko"
	for figure; do
		baseline "$figure"
	done ;;
device)
	fabric topology=star:2 devices=2
	insmod "$build/kernel/madsim_cost.ko"
	exec "$build/umad_bench" -n "$1" device ;;
ports)
	fabric topology=star:64 devices=64
	exec "$build/umad_bench" -n "$1" ports ;;
opensm)
	insmod "$build/kernel/kernel_time.ko"
	insmod "$MADSIM_MODULE" topology=fattree:16 devices=2
	sleep 4
	sweep subnet_manager ;;
ibsim)
	insmod "$build/kernel/kernel_time.ko"
	insmod "$MADSIM_MODULE" topology=fattree:16 devices=0
	cp /sys/kernel/debug/madsim/preset/topology /run/topology
	rmmod ib_madsim
	ibsim -s -n -N 2048 -S 512 -P 16384 /run/topology >/run/ibsim.out 2>&1 &
	sleep 4
	sweep ibsim_subnet_manager ;;
data)
	samples=$1
	modprobe ib_uverbs
	insmod "$build/kernel/copy_cost.ko"
	insmod "$MADSIM_MODULE" topology=star:3 devices=3 data=1
	opensm -B -g "0x$(cut -d: -f5-8 /sys/class/infiniband/madsim0/ports/1/gids/0 | tr -d :)" \
		-f /run/opensm.log >/run/opensm.out 2>&1
	roce
	until_true "madsim2 to become ACTIVE" grep -q ACTIVE /sys/class/infiniband/madsim2/ports/1/state
	sleep 4
	cat /sys/kernel/debug/copy_cost
	"$build/verbs_bench" verbs "$samples" madsim madsim1 madsim2
	"$build/verbs_bench" verbs "$samples" rxe rxe0 rxe0
	rdma link delete rxe0
	hosts
	"$build/verbs_bench" tcp "$samples" madsim ib2 ib1 10.0.0.2
	"$build/verbs_bench" tcp "$samples" rxe eth2 eth1 10.0.1.2 ;;
cpus)
	fabric topology=star:8 devices=8
	exec "$build/umad_bench" cpus ;;
*)
	die "no command '$command'" ;;
esac
