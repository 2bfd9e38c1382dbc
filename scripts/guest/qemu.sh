# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# What tests ask of the machine that QEMU emulates and madsim-vm does not; sourced by
# scripts/guest/run, never run.
#
# shellcheck shell=bash disable=SC2154	# scripts/guest/run sets them
# shellcheck disable=SC2034	# and uses these

# shellcheck source=tools/infiniband/madsim-vm/qemu.sh
. "$vm/qemu.sh"

case $arch in
'')	"$top/scripts/deps" guest ;;
s390x)	"$top/scripts/deps" guest qemu-system-misc
	emulator=(qemu-system-s390x -machine s390-ccw-virtio)
	# The bus is built in
	drivers=virtio_console bus=ccw console=ttysclp0 ;;
arm64)	"$top/scripts/deps" guest qemu-system-arm ipxe-qemu
	emulator=(qemu-system-aarch64 -machine "virt,gic-version=3")
	drivers+=" virtio_console" console=ttyAMA0 ;;
esac
if [ "$arch" ]; then
	output=/dev/hvc0
	busybox=$root/bin/busybox
fi

# prepare_machine: before make_machine
prepare_machine()
{
	local image mac here there rom=

	case $arch in
	s390x)	cpu=(-accel tcg -cpu max -smp "$cpus")
		lines=(-chardev "file,id=console,path=$run/console" -device sclpconsole,chardev=console
			-device "virtio-serial-$bus" -device virtconsole,chardev=output) ;;
	arm64)	cpu=(-accel tcg -cpu "max,pauth-impdef=on" -smp "$cpus")
		lines=(-serial "file:$run/console"
			-device "virtio-serial-$bus" -device virtconsole,chardev=output) ;;
	esac
	[ -z "$icount" ] || cpu=(-accel tcg -cpu max -icount "shift=0,sleep=off" -smp "$cpus")
	if [ "$link" ]; then
		IFS=, read -r mac here there <<<"$link"
		[ "$there" ] || die "--link $link: not MAC,HERE,THERE"
		[ "$bus" != pci ] || rom=,romfile=
		parts=(-netdev "dgram,id=link,local.type=unix,local.path=$here,remote.type=unix,remote.path=$there"
			-device "virtio-net-$bus,netdev=link,mac=$mac$rom")
	fi
	if [ "$gdb" ]; then
		parts+=(-S -gdb "unix:path=$run/gdb,server=on,wait=off")
		words+=" nokaslr"
		image=$folder/headers/vmlinux
		# Debian's there has types only
		[ -f "$image" ] && [[ $kernel != "$(realpath "$cache")"/debian/* ]] || image=
		say "guest: the machine waits for: gdb -ex 'target remote $run/gdb'${image:+ $image}"
	fi
}
