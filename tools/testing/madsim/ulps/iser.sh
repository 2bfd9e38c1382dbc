#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# iSER: LIO's target, open-iscsi, and a file system on its disk.

. "$(dirname "$0")/lib.sh"

kernel_has "ib_ipoib ib_iser ib_isert target_core_file sd_mod ext4"
have iscsid iscsiadm mkfs.ext4

iqn=iqn.2026-01.sim.mad:disk
host=iqn.2026-01.sim.mad:host
tpg=$target/iscsi/$iqn/tpgt_1

trap leave EXIT

serve()
{
	lio_disk
	mkdir -p $tpg/lun/lun_0 $tpg/np/10.0.0.2:3260
	ln -s $target/core/fileio_0/disk $tpg/lun/lun_0/disk
	put $tpg/np/10.0.0.2:3260/iser 1
	put $tpg/attrib/authentication 0
	put $tpg/enable 1
}

admit()
{
	mkdir -p $tpg/acls/$host/lun_0
	ln -s $tpg/lun/lun_0 $tpg/acls/$host/lun_0/disk
}

end_target()
{
	iscsiadm -k 0 || true
	put $tpg/enable 0
	rm -f $tpg/acls/*/lun_0/disk $tpg/lun/lun_0/disk
	rmdir $tpg/acls/*/lun_0 $tpg/acls/* $tpg/np/* $tpg/lun/lun_0 $tpg ${tpg%/*} $target/iscsi
	lio_end
}

# The daemon of the host. When it ends, so does all of its process group
daemon()
{
	mkdir -p /run/lock /etc/iscsi
	echo "InitiatorName=$host" >/etc/iscsi/initiatorname.iscsi
	setsid iscsid -f >"$tmp/iscsid.log" 2>&1 &
	until_true 20 grep -q ISCSIADM_ABSTRACT_NAMESPACE /proc/net/unix
}

node()
{
	iscsiadm -m node -T $iqn -p 10.0.0.2:3260 -I iser "$@"
}

disk()
{
	ls -d /sys/class/iscsi_session/*/device/target*/*/block/* 2>/dev/null | sed 's|.*/|/dev/|'
}

connect()
{
	node --login
	says "Iface Transport: iser" iscsiadm -m session -P 3
	says "iSCSI Session State: LOGGED_IN" iscsiadm -m session -P 3
}

refused()
{
	node -o update -n node.session.initial_login_retry_max -v 1
	dmesg -C
	fails node --login
	says "$host is not authorized to access" dmesg
	[ -z "$(disk)" ]
}

disconnect()
{
	node --logout
}

check "two hosts" hosts
check "a target" serve
check "it tells of itself" eval '
	daemon
	cat "$tmp/iscsid.log"
	says "^10.0.0.2:3260,1 $iqn" iscsiadm -m discovery -t sendtargets -p 10.0.0.2:3260 -I iser'
disk_checks ib_iser ib_isert
