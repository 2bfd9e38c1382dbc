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
#	cpus COUNT			no clock that counts instructions

set -eu

die()
{
	echo "guest.sh: $*" >&2
	exit 1
}

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
cpus)
	fabric topology=star:8 devices=8
	exec "$build/umad_bench" cpus ;;
*)
	die "no command '$command'" ;;
esac
