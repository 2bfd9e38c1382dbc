#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# NVMe over Fabrics: the kernel's target and its host, a file system on a disk that is
# at the other end of the fabric, and memory that is swapped out to another one. Both ends
# are for the first network namespace only, so routes lead from one interface of this
# machine to another one. The target allocates for each write. So a whole machine that
# swaps to its own target may be left without memory, over any fabric: only a group does.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib/nvme.sh"

kernel_has "ib_ipoib nvmet-rdma nvme-rdma loop ext4"
have mkfs.ext4 mkswap losetup busybox

leave()
{
	umount "$tmp/disk" 2>/dev/null
	umount "$tmp/taken" 2>/dev/null
	end_swap 2>/dev/null
	disconnect 2>/dev/null
	stop_serving
	at_end
}
trap leave EXIT

# A target tells its host of a disk once: one that is connecting again may not hear it
second_disk()
{
	local path
	for path in /sys/class/nvme/nvme*; do
		put "$path/rescan_controller" 1
	done
	[ -b "$(disk 2)" ]
}

# A disk to swap to, which has all of its memory before that is short
swap_there()
{
	modprobe brd rd_nr=1 rd_size=196608
	dd if=/dev/zero of=/dev/ram0 bs=1M 2>/dev/null || true
	share 2 /dev/ram0
	until_true 60 second_disk
	mkswap "$(disk 2)"
	swapon "$(disk 2)"
	mkdir "$tmp/memory"
	mount -t tmpfs memory "$tmp/memory"
}

# moves MIB FOLDER: a file that is written there is read as it was, and the fabric has
# carried much of it
moves()
{
	local before
	before=$(sent)
	seq 10000000 99999999 | head -c "$1M" >"$2/file"
	seq 10000000 99999999 | head -c "$1M" | cmp - "$2/file"
	rm "$2/file"
	echo "$before words, then $(sent)"
	[ $(($(sent) - before)) -gt $(($1 * 1024 * 1024 / 4 / 4)) ]
}

# A group of 8 MiB writes to the disk, and has three times its size in memory
small_group()
{
	grep -q memory /sys/fs/cgroup/cgroup.subtree_control ||
		put /sys/fs/cgroup/cgroup.subtree_control +memory
	mkdir /sys/fs/cgroup/small
	put /sys/fs/cgroup/small/memory.max 8M
	put /sys/fs/cgroup/small/cgroup.procs $BASHPID
	mount_disk
	same 6M
	moves 24 "$tmp/memory"
}

# A ramfs stays in memory. It leaves 64 MiB, and a file has more than twice as much
small_machine()
{
	local free
	mkdir "$tmp/taken"
	mount -t ramfs taken "$tmp/taken"
	put /proc/sys/vm/drop_caches 3
	free=$(awk '/^MemAvailable/ { print int($2 / 1024) }' /proc/meminfo)
	head -c $((free - 64))M /dev/zero >"$tmp/taken/file"
	grep ^MemAvailable /proc/meminfo
	mkfs.ext4 -q "$(disk 2)"
	mount "$(disk 2)" "$tmp/disk"
	moves 144 "$tmp/disk"
	umount "$tmp/disk"
	umount "$tmp/taken"
}

end_swap()
{
	swapoff "$(disk 2)"
	umount "$tmp/memory"
	rmdir /sys/fs/cgroup/small
}

check "two hosts" hosts
check "a target" serve
check "connect" connect
check "make a file system" file_system
check "what is written can be read" carried
check "with lost packets, too" with_losses
check "a link is down for a while" with_link_down
umount "$tmp/disk"
check "a small group writes, and swaps, to it" eval '
	swap_there
	(small_group)
	umount "$tmp/disk"
	end_swap'
check "a small machine writes to it" small_machine
check "disconnect" eval '
	disconnect
	until_true 20 eval "[ -z \"\$(disk)\" ]"'
rm -f $target/ports/1/subsystems/madsim
sm_end first
check "unload" until_true 20 unload

finish
