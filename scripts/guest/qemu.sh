# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The machine of scripts/guest/run that QEMU emulates; sourced by it, never run.
#
# shellcheck shell=bash disable=SC2154	# scripts/guest/run sets them
# shellcheck disable=SC2034	# and uses these

# What is special to each architecture: modules that it takes to find the host's
# file system, and the line that the command's output comes out of
drivers=virtio_pci bus=pci output=/dev/ttyS1 busybox=/bin/busybox
case $arch in
'')	"$top/scripts/deps" guest ;;
s390x)	"$top/scripts/deps" guest qemu-system-misc
	# The bus is built in
	drivers= bus=ccw ;;
arm64)	"$top/scripts/deps" guest qemu-system-arm ipxe-qemu ;;
esac
if [ "$arch" ]; then
	output=/dev/hvc0
	busybox=$root/bin/busybox
	drivers+=" virtio_console"
fi

# An initramfs that knows just enough to mount this file system: busybox, and
# the modules that this kernel does not have built in.
make_initramfs()
{
	local ramfs=$run/ramfs ko n=100 name

	mkdir -p "$ramfs"/{bin,dev,proc,modules,lower,layers,scratch,root}
	cp "$busybox" "$ramfs/bin/"
	cp "$top/scripts/guest/inside/init" "$ramfs/init"
	{
		printf 'root=%q\n' "$root"
		printf 'keep=%q\n' "${root:+$top $modules}"
		printf 'layers=%q\n' "$layers"
	} >"$ramfs/config"
	for name in $drivers 9pnet_virtio 9p overlay; do
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
	(cd "$ramfs" && find . | cpio -o -H newc --quiet) >"$run/initramfs"
}

# kvm_runs: whether KVM runs this kernel here. /dev/kvm may open and run nothing, so the
# kernel is booted, to power off at once. The answer holds until this machine boots anew.
kvm_runs()
{
	local boot key known

	[ -z "$arch$icount" ] && [ -w /dev/kvm ] || return 1
	boot=$(cat /proc/sys/kernel/random/boot_id)
	key="$boot $(qemu-system-x86_64 --version | head -n 1), ${modules##*/}:"
	(
		flock 4
		known=$(grep -F "$key" "$cache/kvm" 2>/dev/null) || {
			known="$key no"
			(ulimit -c 0; timeout -k 1 10 "${machine[@]}" -accel kvm -cpu host -m 256M \
				-append "console=ttyS0 rdinit=/bin/busybox -- poweroff -f" \
				-serial "file:$run/probe" </dev/null || true) >/dev/null 2>&1
			if grep -qs 'reboot: Power down' "$run/probe"; then
				known="$key yes"
				say "guest: KVM runs ${modules##*/} here: taking it"
			else
				say "guest: KVM does not run ${modules##*/} here: QEMU emulates the CPU"
			fi
			{
				grep -sF "$boot" "$cache/kvm" || true
				echo "$known"
			} >"$cache/kvm.new"
			mv "$cache/kvm.new" "$cache/kvm"
		}
		[[ $known == *yes ]]
	) 4>"$cache/kvm.lock"
}

# share TAG OPTIONS: a folder of this machine; adds to the caller's shares
share()
{
	shares+=(-fsdev "local,id=$1,$2" -device "virtio-9p-$bus,fsdev=$1,mount_tag=$1")
}

# make_machine: what boots in it, and in machine, its command line
make_machine()
{
	local cpu=(-accel tcg -cpu max -smp "$cpus") shares=() nic=() lines console image mac here there

	make_initramfs
	[ -z "$icount" ] ||
		cpu=(-accel tcg -cpu max -icount "shift=0,sleep=off" -smp 1)
	share root "path=/,security_model=none,readonly=on,multidevs=remap"
	[ -z "$layers" ] ||
		share layers "path=$layer_folder,security_model=none,readonly=on,multidevs=remap"
	share session "path=$run/share,security_model=none"
	[ -z "$out" ] || share out "path=$out,security_model=none,multidevs=remap"
	if [ "$link" ]; then
		IFS=, read -r mac here there <<<"$link"
		[ "$there" ] || die "--link $link: not MAC,HERE,THERE"
		nic=(-netdev "dgram,id=link,local.type=unix,local.path=$here,remote.type=unix,remote.path=$there"
		     -device "virtio-net-pci,netdev=link,mac=$mac,romfile=")
	fi
	mount_out=(mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000 out "$out")
	# The command's output goes to a second line, and what the kernel says to the
	# first
	case $arch in
	'')	machine=(qemu-system-x86_64 -machine q35)
		lines=(-serial "file:$run/console" -serial chardev:output)
		console=ttyS0 ;;
	s390x)	machine=(qemu-system-s390x -machine s390-ccw-virtio)
		lines=(-chardev "file,id=console,path=$run/console" -device sclpconsole,chardev=console
			-device "virtio-serial-$bus")
		console=ttysclp0 ;;
	arm64)	machine=(qemu-system-aarch64 -machine "virt,gic-version=3")
		cpu=("${cpu[@]/max/max,pauth-impdef=on}")
		lines=(-serial "file:$run/console" -device "virtio-serial-$bus")
		console=ttyAMA0 ;;
	esac
	# Where a user types, C-a is for QEMU
	lines+=(-chardev "stdio,id=output,signal=off${shell:+,mux=on}")
	[ -z "$arch" ] || lines+=(-device virtconsole,chardev=output)
	machine+=(-nodefaults -no-user-config -no-reboot -display none -nic none
		-kernel "$kernel" -initrd "$run/initramfs")
	! kvm_runs || cpu=(-accel kvm -cpu host -smp "$cpus")
	if [ "$gdb" ]; then
		lines+=(-S -gdb "unix:path=$run/gdb,server=on,wait=off")
		words+=" nokaslr"
		image=$folder/headers/vmlinux
		# Debian's there has types only
		[ -f "$image" ] && [[ $kernel != "$(realpath "$cache")"/debian/* ]] || image=
		say "guest: the machine waits for: gdb -ex 'target remote $run/gdb'${image:+ $image}"
	fi
	machine+=("${lines[@]}" "${cpu[@]}" -m "$mem"
		-append "console=$console mitigations=off panic=-1 watchdog_thresh=60 $words"
		"${shares[@]}" "${nic[@]}")
}
