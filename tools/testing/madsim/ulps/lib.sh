# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# What these tests share beyond those of madsim: two hosts at a switch, disks of LIO.
# shellcheck shell=bash disable=SC2154	# tmp and configfs come from there

. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

target=/sys/kernel/config/target
faults=$configfs/preset/faults

# have MODULES PROGRAM ...: skip the test if there are not all of these
have()
{
	local program
	# shellcheck disable=SC2086	# a word list
	modprobe -qa $1 || { echo "1..0 # SKIP this kernel does not have all of $1"; exit 0; }
	for program in "${@:2}"; do
		command -v "$program" >/dev/null ||
			{ echo "1..0 # SKIP there is no $program"; exit 0; }
	done
}

# Two hosts, madsim0 and madsim1, with a subnet manager and addresses
hosts()
{
	load topology=star:2 devices=2 data=1
	sm_start first madsim0
	until_true 30 active 2
	two_ends
}

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

mount_disk()
{
	mount "$(disk)" "$tmp/disk"
}

file_system()
{
	until_true 30 eval '[ -b "$(disk)" ]'
	mkfs.ext4 -q "$(disk)"
	mkdir "$tmp/disk"
	mount_disk
}

# The fabric has carried what was written, and not something else
carried()
{
	local before
	before=$(sent)
	same 8M
	echo "$before words, then $(sent)"
	[ $(($(sent) - before)) -gt $((8 * 1024 * 1024 / 4)) ]
}

with_losses()
{
	put $faults "H1 1 drop nth 300"
	put $faults "H2 1 duplicate nth 50"
	same 3M
	says "^H1 1 drop nth 300 injected [1-9]" cat $faults
	put $faults "H1 1 clear"
	put $faults "H2 1 clear"
}

# While something is written, the link is down for two seconds
with_link_down()
{
	same 3M &
	put $faults "H2 1 link down"
	sleep 2
	put $faults "H2 1 link up"
	until_true 30 active 2
	wait $!
	same 1M
}
