#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# NFS over RDMA: the kernel's server and client.

. "$(dirname "$0")/lib.sh"

kernel_has "ib_ipoib nfsd nfs nfsv4 rpcrdma"
have rpc.mountd rpc.nfsd exportfs mount.nfs4

leave()
{
	umount -f "$tmp/disk" 2>/dev/null
	end_server 2>/dev/null
	at_end
}
trap leave EXIT

# Version 4 needs no rpcbind. What clients had before the server came is not waited for
serve()
{
	mkdir -p "$tmp/exported" /var/lib/nfs/v4recovery
	mount -t tmpfs exported "$tmp/exported"
	mount -t nfsd none /proc/fs/nfsd
	# Its installation makes it
	touch /etc/exports
	rpc.mountd -N 2 -N 3
	exportfs -o rw,no_root_squash,fsid=0,insecure,no_subtree_check "10.0.0.0/24:$tmp/exported"
	rpc.nfsd -N 3 -G 10 -L 10 --rdma=20049 2
	says "^rdma 20049" cat /proc/fs/nfsd/portlist
}

end_server()
{
	rpc.nfsd 0
	exportfs -au
	busybox killall rpc.mountd
	umount /proc/fs/nfsd "$tmp/exported"
}

mount_disk()
{
	timeout 60 mount -t nfs4 -o "rdma,port=20049,clientaddr=10.0.0.1,${1-}" 10.0.0.2:/ \
		"$tmp/disk"
}

# The file is there as the client wrote it
exported()
{
	cmp "$tmp/written" "$tmp/exported/file"
}

# Small files go within a message, and lists of many need a reply in pieces of memory
many()
{
	local i
	for i in $(seq 200); do
		echo "$i" >"$tmp/disk/a-file-whose-name-is-long-so-that-a-list-is-$i"
	done
	umount "$tmp/disk"
	mount_disk
	[ "$(cat "$tmp"/disk/a-file-* | sort -n | md5sum)" = "$(seq 200 | md5sum)" ]
	rm "$tmp"/disk/a-file-*
	[ -z "$(ls "$tmp"/exported/a-file-* 2>/dev/null)" ]
}

check "two hosts" hosts
check "a server" serve
mkdir "$tmp/disk"
check "mount" eval 'mount_disk; says "proto=rdma,port=20049" cat /proc/mounts'
check "what is written can be read" eval 'carried; exported'
check "many small files" many
check "records of the smallest size" eval '
	umount "$tmp/disk"
	mount_disk rsize=1024,wsize=1024
	same 200k
	exported'
check "with lost packets, too" eval 'with_losses; exported'
check "a link is down for a while" eval 'with_link_down; exported'
check "it refuses who may not mount" eval '
	umount "$tmp/disk"
	exportfs -au
	refuses "denied\|No such file\|incorrect mount option" mount_disk
	end_server'
hosts_end rpcrdma
