# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# What these tests share beyond those of madsim: two hosts at a switch, disks of LIO.
# shellcheck shell=bash disable=SC2154	# tmp and configfs come from there

. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

target=/sys/kernel/config/target

# lio_disk: a disk for targets, of 64 MiB
lio_disk()
{
	truncate -s 64M "$tmp/image"
	mkdir -p $target/core/fileio_0/disk
	put $target/core/fileio_0/disk/control \
		"fd_dev_name=$tmp/image,fd_dev_size=$((64 * 1024 * 1024))"
	put $target/core/fileio_0/disk/enable 1
}

lio_end()
{
	rmdir $target/core/fileio_0/disk $target/core/fileio_0
}

leave()
{
	umount "$tmp/disk" 2>/dev/null
	disconnect 2>/dev/null
	end_target 2>/dev/null
	at_end
}

# disk_checks MODULE ...: of a disk whose target is there, to the end
disk_checks()
{
	check "it refuses who is not on its list" refused
	check "connect" eval 'admit; connect'
	check "make a file system" file_system
	check "what is written can be read" carried
	check "with lost packets, too" with_losses
	check "a link is down for a while" with_link_down
	check "disconnect" eval 'umount "$tmp/disk"; disconnect; end_target'
	hosts_end "$@"
}

# hosts_end [MODULE ...]: the last command of a test that has called hosts
hosts_end()
{
	[ $# = 0 ] || modprobe -r "$@"
	sm_end first
	check "unload" until_true 20 unload
	finish
}
