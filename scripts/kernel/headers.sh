# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Building for the headers of a kernel, wherever their tools run; sourced after
# common.sh, never run.
#
# shellcheck shell=bash disable=SC2154	# top comes from common.sh

# in_root ROOT COMMAND ...: objtool wants /proc. It is mounted for the command
# alone; where this is a chroot itself, that cannot be hidden from others.
in_root()
{
	local clean=(env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8)

	# shellcheck disable=SC2016	# for the inner shell
	if unshare --mount --propagation unchanged true 2>/dev/null; then
		"${clean[@]}" unshare --mount --propagation unchanged sh -euc '
			root=$1
			shift
			mount --make-rprivate / 2>/dev/null || true
			mount -t proc proc "$root/proc"
			trap "umount \"$root/proc\"" EXIT
			chroot "$root" "$@"' sh "$@"
		return
	fi

	# A container may not mount. Of /proc, objtool reads only where its stack is, to
	# tell an overflow from other faults
	mkdir -p "$1/proc/self"
	echo "7ff000000000-7fffffffffff rw-p 00000000 00:00 0 [stack]" >"$1/proc/self/maps"
	"${clean[@]}" chroot "$@"
}

# headers_make KERNEL FOLDER OUT FILE ... -- MAKE-ARGUMENT ...: make in FOLDER,
# with KDIR set, for a folder of stock or testkernel. The modules are in OUT there
# afterwards. The headers of Debian unstable and of backports want a C library and a sparse
# of today, so for those this happens in a root of unstable, with copies of the
# headers and of FILEs, all that make needs. They keep their times, so that only
# what changed is built.
headers_make()
{
	local kernel=$1 folder=$2 out=$3 root src files=()
	shift 3
	while [ "$1" != -- ]; do
		files+=("$1")
		shift
	done
	shift

	if [ ! -e "$kernel/unstable" ]; then
		"$top/scripts/deps" build
		make -C "$folder" -j"$(nproc)" KDIR="$(realpath "$kernel/headers")" "$@"
		return
	fi

	root=$("$top/scripts/root" unstable)
	(cd "$kernel" && flock "$root" cp -alu --parents usr/src usr/lib/linux-kbuild-* "$root/")
	src=/src/$(cksum <<<"$folder" | cut -d' ' -f1)
	# A caller that removed OUT wants all of it built
	[ -d "$folder/$out" ] || rm -rf "${root:?}$src/$out"
	mkdir -p "$root$src" "$folder/$out"
	(cd "$root$src" && rm -rf "${files[@]}")
	(cd "$folder" && cp -a "${files[@]}" "$root$src/")
	rm -f "$root$src/$out"/*.ko
	in_root "$root" make -C "$src" -j"$(nproc)" \
		KDIR="/usr/src/linux-headers-${kernel##*/}" "$@" || {
		cp -u "$root$src/$out"/*.ko "$folder/$out/" 2>/dev/null || true
		return 1
	}
	cp -u "$root$src/$out"/*.ko "$folder/$out/"
}
