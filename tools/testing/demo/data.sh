#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# A cluster at work, over ib_madsim and a umad module: IPoIB, MPI, and a disk of another
# host, while a cable is pulled. Run by scripts/demo in a guest:
#
#	data.sh DIRECTORY	where opensm's log goes
#
# Every step is checked: what does not come out as told ends the demo.

set -eu -o pipefail
. "$(dirname "$0")/lib.sh"
out=$1
here=tools/testing/demo
computers="h1 h2 h3 h4 h5 h6 h7 h8"
disks_address=198.18.0.10
nvmet=/sys/kernel/config/nvmet
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

# As a program of a host, without the noise of where it runs
in_host()
{
	ip netns exec "$@"
}

# ARP asks three times, for three seconds. On a busy machine an emulated fabric takes longer
be_patient()
{
	local host patience
	# shellcheck disable=SC2016	# for the shell there
	patience='for file in /proc/sys/net/ipv4/neigh/*/mcast_solicit; do echo 30 >"$file"; done'
	sh -c "$patience"
	for host in $computers; do
		in_host "$host" sh -c "$patience"
	done
}

all_active()
{
	local host
	grep -q ACTIVE /sys/class/infiniband/madsim0/ports/1/state || { echo login; return 1; }
	for host in $computers; do
		in_host "$host" sh -c 'grep -q ACTIVE /sys/class/infiniband/*/ports/1/state' ||
			{ echo "$host"; return 1; }
	done
}

pings()
{
	in_host "$1" busybox ping -q -c 1 -W 1 "$2"
}

host_lid()
{
	in_host "$1" sh -c 'printf "%d\n" "$(cat /sys/class/infiniband/*/ports/1/lid)"'
}

# route HOST HOST: the switches on the way, by name
route()
{
	ibtracert "$(host_lid "$1")" "$(host_lid "$2")" |
		sed -n 's/.*-> switch port .* "\(.*\)"$/\1/p'
}

# words SWITCH PORT: that it has sent there, by performance management
words()
{
	perfquery -x "$(switch_lid "$1")" "$2" | sed -n 's/^PortXmitData:\.*//p'
}

switch_lid()
{
	ibswitches | sed -n "s/.*\"$1\".* lid \([0-9]*\) .*/\1/p"
}

# What the two cables of leaf1 to the spine have carried
upwards()
{
	echo $(($(words leaf1 7) + $(words leaf1 8)))
}

allreduce()
{
	local list ssh=$PWD/tools/testing/madsim/in-host
	list=$(tr ' ' , <<<"$computers")
	show "$ssh" h1 mpirun.openmpi --mca plm_rsh_agent "$ssh" \
		--mca mpi_yield_when_idle 1 --mca pml ucx -x UCX_LOG_LEVEL=info -x UCX_VFS_ENABLE=n \
		--host "$list" /tmp/allreduce |
		tee /tmp/sums | grep -a --line-buffered -v 'UCX  INFO'
	grep -q '^   8 processes, 0 wrong sums$' /tmp/sums || fail "that is not right"
}

interface_of()
{
	ip -br -4 addr show to "$1" | sed 's/ .*//'
}

# Both ends of NVMe over Fabrics know the first network namespace only. So the way from one
# interface to the other must not be that through the loopback interface.
route_between()
{
	local login_address=198.18.0.1 login disks setting which
	login=$(interface_of $login_address)
	disks=$(interface_of $disks_address)
	for setting in accept_local=1 rp_filter=0 arp_ignore=1; do
		for which in all "$login" "$disks"; do
			echo "${setting#*=}" >"/proc/sys/net/ipv4/conf/$which/${setting%=*}"
		done
	done
	ip rule add pref 10 iif lo to $disks_address lookup 100
	ip rule add pref 11 iif lo to $login_address lookup 101
	ip rule add pref 100 lookup local
	ip rule del pref 0
	ip route add $disks_address dev "$login" src $login_address table 100
	ip route add $login_address dev "$disks" src $disks_address table 101
}

serve_disk()
{
	truncate -s 64M /tmp/image
	mkdir $nvmet/subsystems/disk $nvmet/subsystems/disk/namespaces/1 $nvmet/ports/1
	echo 1 >$nvmet/subsystems/disk/attr_allow_any_host
	losetup -f --show /tmp/image >$nvmet/subsystems/disk/namespaces/1/device_path
	echo 1 >$nvmet/subsystems/disk/namespaces/1/enable
	echo ipv4 >$nvmet/ports/1/addr_adrfam
	echo rdma >$nvmet/ports/1/addr_trtype
	echo 4420 >$nvmet/ports/1/addr_trsvcid
	echo $disks_address >$nvmet/ports/1/addr_traddr
	ln -s $nvmet/subsystems/disk $nvmet/ports/1/subsystems/disk
}

disk_is_there()
{
	disk=$(find /dev -maxdepth 1 -name 'nvme*n1')
	[ -b "$disk" ]
}

# What is written is what is read, from the disk and not from memory
same_file()
{
	head -c 8M /dev/urandom >/tmp/written
	cp /tmp/written /tmp/disk/file
	umount /tmp/disk
	mount "$disk" /tmp/disk
	cmp /tmp/written /tmp/disk/file || fail "the file has changed"
	echo "   8 MiB written to the disk of the other host, and read back: the same"
}

say "1. A cluster is plugged together of $here/cluster.topo: two levels of switches"
insmod "$MADSIM_MODULE"
mount -t configfs none /sys/kernel/config 2>/dev/null || true
show tools/infiniband/madsim-load/madsim-load --hosts -n cluster -d 10 -K login -K disks \
	$here/cluster.topo
show ip netns list
show ip netns exec h1 ip -br addr
show ip netns exec h1 ibv_devinfo
be_patient

say "2. opensm starts on the host login, which is this machine"
start_opensm
wait_for "all ports are ACTIVE" all_active
wait_for "h1 reaches h8 by IPoIB" pings h1 h8
show ip netns exec h1 busybox ping -c 3 h8

say "3. The way that it took, up to a spine switch and down again"
show ibtracert "$(host_lid h1)" "$(host_lid h8)"
way=$(route h1 h8)
[ "$(wc -l <<<"$way")" = 3 ] || fail "that are not three switches"

say "4. MPI: eight hosts add up, by RC queue pairs. UCX finds the devices by itself"
mpicc.openmpi -O2 -Wall -Wextra -Werror -o /tmp/allreduce $here/allreduce.c
before=$(upwards)
allreduce
grep -o 'tag(rc_verbs/madsim[^)]*)' /tmp/sums | sort | uniq -c | sed 's/^/   UCX: /'
grep -q 'tag(rc_verbs/madsim' /tmp/sums || fail "UCX has taken another transport"
after=$(upwards)
echo "   perfquery: leaf1 has sent $((after - before)) words to the spine switches meanwhile"
# What h1 and h2 have is as long as the largest message when it gets to the others
[ $((after - before)) -gt $((256 * 1024 / 4)) ] || fail "that is too few"

say "5. A disk of the host disks: NVMe over Fabrics, by the kernel's own target and host"
modprobe -a nvmet-rdma nvme-rdma loop ext4
route_between
serve_disk
# As its installation does, which a layer of a guest has not seen
mkdir -p /etc/nvme
nvme gen-hostnqn >/etc/nvme/hostnqn
sed 's/.*uuid://' /etc/nvme/hostnqn >/etc/nvme/hostid
show nvme connect -t rdma -a $disks_address -s 4420 -n disk --host-traddr=198.18.0.1
wait_for "the disk is there" disk_is_there
show nvme list
show mkfs.ext4 -q "$disk"
mkdir /tmp/disk
mount "$disk" /tmp/disk
same_file

say "6. Who is at work? umadstat, of the management datagrams"
show tools/infiniband/umadstat/umadstat

say "7. The cable is pulled that connects leaf1 with $(sed -n 2p <<<"$way")"
spine=$(sed -n 2p <<<"$way")
port=$((6 + ${spine#spine}))
faults=/sys/kernel/config/madsim/cluster/faults
show sh -c "echo leaf1 $port link down >$faults"
other_way()
{
	pings h1 h8 && [ "$(route h1 h8 | sed -n 2p)" != "$spine" ]
}
wait_for "there is another way" other_way
show ip netns exec h1 busybox ping -c 3 h8
show ibtracert "$(host_lid h1)" "$(host_lid h8)"
echo "   perfquery of leaf1, port $port:"
perfquery "$(switch_lid leaf1)" $port | grep LinkDownedCounter | sed 's/^/   /'
perfquery "$(switch_lid leaf1)" $port | grep -q 'LinkDownedCounter:\.*1$' ||
	fail "no port has counted it"

say "8. All goes on: the sums, and the disk"
allreduce
same_file

say "9. The cluster is switched off"
umount /tmp/disk
nvme disconnect -n disk | sed 's/^/   /'
rm $nvmet/ports/1/subsystems/disk
stop_opensm
show tools/infiniband/madsim-load/madsim-load -r cluster
rmmod ib_madsim
echo "   nothing left: $(ip netns list | wc -l) hosts, $(ls /sys/class/infiniband | wc -l) devices"
