# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# A disk by NVMe over Fabrics, from 10.0.0.2 to 10.0.0.1. Sourced after lib.sh
#
# shellcheck shell=bash

target=/sys/kernel/config/nvmet

# share NUMBER DEVICE
share()
{
	mkdir $target/subsystems/madsim/namespaces/$1
	put $target/subsystems/madsim/namespaces/$1/device_path "$2"
	put $target/subsystems/madsim/namespaces/$1/enable 1
}

# The loop device goes with the namespace, which has it open
serve()
{
	local loop
	truncate -s 64M "$tmp/image"
	loop=$(losetup -f --show "$tmp/image")
	mkdir $target/subsystems/madsim
	put $target/subsystems/madsim/attr_allow_any_host 1
	share 1 "$loop"
	losetup -d "$loop"
	mkdir $target/ports/1
	put $target/ports/1/addr_adrfam ipv4
	put $target/ports/1/addr_trtype rdma
	put $target/ports/1/addr_trsvcid 4420
	put $target/ports/1/addr_traddr 10.0.0.2
	ln -s $target/subsystems/madsim $target/ports/1/subsystems/madsim
}

# stop_serving: remove the target that serve made, or the part of it that is there
stop_serving()
{
	rm -f $target/ports/1/subsystems/madsim
	rmdir $target/ports/1 $target/subsystems/madsim/namespaces/* \
		$target/subsystems/madsim 2>/dev/null
}

# disk [NUMBER]: of NVMe
disk()
{
	ls -d /sys/class/nvme/nvme*/nvme*n${1-1} 2>/dev/null | sed 's|.*/|/dev/|; s/c[0-9]*n/n/'
}

# An emulated CPU that is short of memory may not answer for longer than 5 seconds
connect()
{
	put /dev/nvme-fabrics \
		"transport=rdma,traddr=10.0.0.2,trsvcid=4420,host_traddr=10.0.0.1,nqn=madsim,\
keep_alive_tmo=120"
	until_true 20 eval '[ -b "$(disk)" ]'
}

disconnect()
{
	local path
	for path in /sys/class/nvme/nvme*; do
		put "$path/delete_controller" 1
	done
}
