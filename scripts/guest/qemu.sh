# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The machine of scripts/guest/run that QEMU emulates; sourced by it, never run.
#
# shellcheck shell=bash disable=SC2154	# scripts/guest/run sets them
# shellcheck disable=SC2034	# and uses these

"$top/scripts/deps" guest

# An initramfs that knows just enough to mount this file system: busybox, and
# the modules that this kernel does not have built in.
make_initramfs()
{
	local ramfs=$run/ramfs ko n=100 name

	mkdir -p "$ramfs"/{bin,dev,proc,modules,lower,scratch,root}
	cp /bin/busybox "$ramfs/bin/"
	cp "$top/scripts/guest/inside/init" "$ramfs/init"
	{
		printf 'root=%q\n' "$root"
		printf 'keep=%q\n' "${root:+$top $modules}"
	} >"$ramfs/config"
	if [ "$modules" ]; then
		for name in virtio_pci 9pnet_virtio 9p overlay; do
			modprobe -d "${modules%/lib/modules/*}" -S "${modules##*/}" \
				--show-depends "$name"
		done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' |
		while read -r ko; do
			n=$((n + 1))
			case $ko in
			*.xz)	xz -dc "$ko" >"$ramfs/modules/$n.ko" ;;
			*)	cp "$ko" "$ramfs/modules/$n.ko" ;;
			esac
		done
	fi
	(cd "$ramfs" && find . | cpio -o -H newc --quiet) >"$run/initramfs"
}

# make_machine: what boots in it, and in machine, its command line
make_machine()
{
	local cpu=(-accel tcg -smp "$cpus") share=() nic=() mac here there

	make_initramfs
	[ -z "$icount" ] ||
		cpu=(-accel tcg -icount "shift=0,sleep=off" -smp 1)
	[ -z "$out" ] ||
		share=(-virtfs "local,path=$out,security_model=none,mount_tag=out,multidevs=remap")
	if [ "$link" ]; then
		IFS=, read -r mac here there <<<"$link"
		[ "$there" ] || die "--link $link: not MAC,HERE,THERE"
		nic=(-netdev "dgram,id=link,local.type=unix,local.path=$here,remote.type=unix,remote.path=$there"
		     -device "virtio-net-pci,netdev=link,mac=$mac,romfile=")
	fi
	mount_out=(mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000 out "$out")
	machine=(qemu-system-x86_64
		-nodefaults -no-user-config -no-reboot -display none -nic none
		-machine q35 -cpu max "${cpu[@]}" -m "$mem"
		-kernel "$kernel" -initrd "$run/initramfs"
		-append "console=ttyS0 mitigations=off panic=-1 watchdog_thresh=60 $words"
		-serial "file:$run/console" -serial stdio
		-virtfs "local,path=/,security_model=none,readonly=on,mount_tag=root,multidevs=remap"
		-virtfs "local,path=$run/share,security_model=none,mount_tag=session"
		"${share[@]}" "${nic[@]}")
}
