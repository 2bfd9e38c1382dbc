#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# In a guest: bring a fabric up, let the machine settle, measure. For
# tools/testing/bench/measure, which says
#
#	scripts/guest/inside/madsim WHICH tools/testing/bench/guest.sh BUILD SAMPLES FIGURE ...
#
# BUILD is the folder with our programs and modules. Two FIGUREs are alone: data, messages
# and TCP over madsim and Soft-RoCE, and bystander. All others are those of umad_bench and
# others_bench.

set -eu
. "$(dirname "$0")/../../../scripts/common.sh"
. "$top/scripts/guest/inside/umad.sh"

# fabric MODE LAST OPTION ...: opensm with its option MODE makes madsimLAST active. After
# a boot the kernel is busy with itself for some seconds.
fabric()
{
	local devices=/sys/class/infiniband

	insmod "$MADSIM_MODULE" "${@:3}"
	opensm "$1" -g "0x$(cut -d: -f5-8 $devices/madsim0/ports/1/gids/0 | tr -d :)" \
		-f /run/opensm.log >/run/opensm.out 2>&1 ||
		{ cat /run/opensm.out >&2; die "opensm failed"; }
	until_true "madsim$2 to become ACTIVE" grep -q ACTIVE "$devices/madsim$2/ports/1/state"
	sleep 4
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

# IPoIB's connected mode: a queue pair for each neighbour, and frames of 64 KiB
connected()
{
	local host

	for host in 1 2; do
		ip netns exec ib$host sh -c "echo connected >/sys/class/net/ib0/mode"
		ip -n ib$host link set ib0 mtu 65520
	done
	until_true "a connection of IPoIB" \
		ip netns exec ib1 busybox ping -c 1 -W 1 -s 60000 10.0.0.2
}

# cost FILE COMMAND ...: what kernel/cost.c says after the command
cost()
{
	insmod "$build/kernel/cost.ko"
	"${@:2}"
	cat "/sys/kernel/debug/cost/$1"
	rmmod cost
}

build=$1 samples=$2
shift 2
if [ "$*" = data ]; then
	cost copy true
	modprobe ib_uverbs
	roce
	# Frames as long as they get on links of InfiniBand, too
	mkdir -p /etc/opensm
	echo "Default=0x7fff,ipoib,mtu=5:ALL=full;" >/etc/opensm/partitions.conf
	fabric -B 2 topology=star:3 devices=3 data=1
	"$build/verbs_bench" verbs "$samples" madsim madsim1 madsim2
	"$build/verbs_bench" verbs "$samples" rxe rxe0 rxe0
	rdma link delete rxe0
	hosts
	"$build/verbs_bench" tcp "$samples" madsim ib2 ib1 10.0.0.2
	connected
	"$build/verbs_bench" tcp "$samples" connected ib2 ib1 10.0.0.2
	"$build/verbs_bench" tcp "$samples" rxe eth2 eth1 10.0.1.2
	exit
fi

if [ "$*" = bystander ]; then
	mount -t configfs none /sys/kernel/config
	fabric -o 2 topology=star:3 devices=3
	"$build/others_bench" "$samples" bystander
	exit
fi

fabric -o 1 topology=star:2 devices=2
for figure; do
	case $figure in
	handler)	cost handlers "$build/umad_bench" "$samples" handler ;;
	exporters|waiting|two)
			"$build/others_bench" "$samples" "$figure" ;;
	*)		"$build/umad_bench" "$samples" "$figure" ;;
	esac
done
