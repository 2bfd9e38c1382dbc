#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# SRP: LIO's target, found by srp_daemon, and a file system on its disk.

. "$(dirname "$0")/lib.sh"

kernel_has "ib_ipoib ib_srpt ib_srp target_core_file sd_mod ext4"
have srp_daemon ibsrpdm mkfs.ext4

# gid DEVICE: of its port, as LIO writes it
gid()
{
	echo "0x$(tr -d : <"/sys/class/infiniband/$1/ports/1/gids/0")"
}

trap leave EXIT

serve()
{
	lio_disk
	tpg=$target/srpt/$(gid madsim1)/$(gid madsim1)
	mkdir -p "$tpg/lun/lun_0"
	ln -s $target/core/fileio_0/disk "$tpg/lun/lun_0/disk"
	put "$tpg/enable" 1
}

# What the target calls who has not chosen a name: no extension, and its GUID
admit()
{
	local acl

	acl=$(echo $target/srpt/*/*/acls)/0x0000000000000000$(port_guid madsim0 | cut -c3-)
	mkdir "$acl" "$acl/lun_0"
	ln -s "${acl%/acls*}/lun/lun_0" "$acl/lun_0/disk"
}

end_target()
{
	local tpg

	tpg=$(echo $target/srpt/0x*/0x*)
	put "$tpg/enable" 0
	rm -f $tpg/acls/0x*/lun_0/disk $tpg/lun/lun_0/disk
	rmdir $tpg/acls/0x*/lun_0 $tpg/acls/0x* $tpg/lun/lun_0 $tpg ${tpg%/*} $target/srpt
	lio_end
}

disk()
{
	grep -ls LIO-ORG /sys/block/sd*/device/vendor | sed 's|/sys/block/\(.*\)/device.*|/dev/\1|'
}

# With -o it ends when it has tried all targets
login()
{
	srp_daemon -o -e -c -i madsim0 -p 1
}

refused()
{
	dmesg -C
	login
	says "SRP LOGIN .* REJECTED, reason 0x00010006" dmesg
	[ -z "$(disk)" ]
}

connect()
{
	login
	until_true 30 eval '[ -b "$(disk)" ]'
	# A link that comes back is tried at once
	put "$(echo /sys/class/srp_remote_ports/*/reconnect_delay)" 1
}

disconnect()
{
	put "$(echo /sys/class/srp_remote_ports/*/delete)" 1
	until_true 30 eval '[ -z "$(disk)" ]'
}

check "two hosts" hosts
check "ibsrpdm finds the target of each" eval '
	says "^id_ext=.*,dgid=$(gid madsim0 | cut -c3-),pkey=ffff,service_id=" \
		ibsrpdm -c -d /dev/infiniband/umad0
	says "dgid=$(gid madsim1 | cut -c3-)," ibsrpdm -c -d /dev/infiniband/umad0
	says "ID: *Linux SRP target" ibsrpdm -d /dev/infiniband/umad0'
check "a target" serve
disk_checks ib_srp ib_srpt
