# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The machine of vm.sh that QEMU emulates, or runs by KVM; sourced after that, never run.
#
# root is another root than this machine's, or nothing, and keep the folders of this
# machine that it has.
#
# shellcheck shell=bash disable=SC2154	# vm.sh and its callers set them
# shellcheck disable=SC2034	# and uses these

kind=qemu

# A caller that wants another machine changes these. drivers are the modules that find the
# host's file system, and output is the serial line of the command. lines are all serial
# lines, and cpu is the CPU to emulate even where KVM works: if empty, make_machine decides.
emulator=(qemu-system-x86_64 -machine q35) bus=pci drivers=virtio_pci busybox=/bin/busybox
console=ttyS0 output=/dev/ttyS1 lines=() parts=() cpu=()

# An initramfs that knows just enough to mount this file system: busybox, and
# the modules that this kernel does not have built in.
make_initramfs()
{
	local ramfs=$run/ramfs ko n=100 name

	mkdir -p "$ramfs"/{bin,dev,proc,modules,lower,layers,scratch,root}
	cp "$busybox" "$ramfs/bin/busybox"
	ln -s busybox "$ramfs/bin/sh"
	cp "$vm/init" "$ramfs/init"
	{
		printf 'root=%q\n' "$root"
		printf 'keep=%q\n' "$keep"
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
		*.zst)	zstd -qdc "$ko" >"$ramfs/modules/$n.ko" ;;
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

	[ -w /dev/kvm ] || return 1
	mkdir -p "$cache"
	boot=$(cat /proc/sys/kernel/random/boot_id)
	key="$boot $("${emulator[0]}" --version | head -n 1), ${modules##*/}:"
	(
		flock 4
		known=$(grep -F "$key" "$cache/kvm" 2>/dev/null) || {
			known="$key no"
			(ulimit -c 0; timeout -k 1 30 "${machine[@]}" -accel kvm -cpu host -m 256M \
				-append "console=ttyS0 rdinit=/bin/busybox -- poweroff -f" \
				-serial "file:$run/probe" </dev/null || true) >/dev/null 2>&1
			if grep -qs 'reboot: Power down' "$run/probe"; then
				known="$key yes"
				say "$me: KVM runs ${modules##*/} here: taking it"
			else
				say "$me: KVM does not run ${modules##*/} here: QEMU emulates the CPU"
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
	local shares=()

	make_initramfs
	share root "path=/,security_model=none,readonly=on,multidevs=remap"
	[ -z "$layers" ] ||
		share layers "path=$layer_folder,security_model=none,readonly=on,multidevs=remap"
	share session "path=$run/share,security_model=none"
	[ -z "$out" ] || share out "path=$out,security_model=none,multidevs=remap"
	mount_out=(mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000 out "$out")

	machine=("${emulator[@]}" -nodefaults -no-user-config -no-reboot -display none -nic none
		-kernel "$kernel" -initrd "$run/initramfs")
	if [ ${#cpu[@]} = 0 ]; then
		cpu=(-accel "tcg${in_turn:+,thread=single}" -cpu max)
		! kvm_runs || cpu=(-accel kvm -cpu host)
		cpu+=(-smp "$cpus")
	fi
	# The command's output goes to a second line, and what the kernel says to the
	# first. Where a user types, C-a is for QEMU
	[ ${#lines[@]} != 0 ] ||
		lines=(-serial "file:$run/console" -serial chardev:output)
	lines+=(-chardev "stdio,id=output,signal=off${shell:+,mux=on}")
	if [ "$apart" ]; then
		errors=/dev/ttyS2
		lines+=(-serial chardev:errors -chardev "file,id=errors,path=$run/errors")
	fi
	# On a host that gives it no time, the kernel would find that the timer does not work. Nor is
	# the emulated CPU for the kernel's own tests of cryptography: one of them failed once
	words="no_timer_check cryptomgr.notests mitigations=off panic=-1 watchdog_thresh=60 $words"
	machine+=("${lines[@]}" "${parts[@]}" "${cpu[@]}" -m "$mem" -append "console=$console $words"
		"${shares[@]}")
}
