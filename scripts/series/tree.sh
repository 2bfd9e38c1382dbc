# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The newest kernel with the patches of the series one by one, and what is built of
# it; sourced after common.sh and kernel/linux.sh, never run.
#
#	$check/tree	branch fixed and the patches so far, in a worktree of its own
#	$check/CONFIG	a build directory for each configuration:
#
#	builtin		umad and madsim built in, and modules, on a small x86 kernel,
#	module		with W=1 and sparse
#	allmod		allmodconfig, less what allmod.config says
#	um		user-mode Linux, to boot
#
# What is not ours is built once, before the first patch. What make says after that
# is about the patch, unless it had said so of the same file before. With allmodconfig
# these are the folders that the series has a part in; all of drivers/infiniband follows
# after the last patch.
#
# shellcheck shell=bash disable=SC2154	# top and linux come from those

check=$linux/check
check_configs=$top/scripts/kernel/configs

# Where objects of ours are
check_folders=(drivers/infiniband/core/user_mad drivers/infiniband/sw/madsim)

# check_targets CONFIG
check_targets()
{
	case $1 in
	allmod)	echo drivers/infiniband/core/ drivers/infiniband/sw/ ;;
	*)	echo drivers/infiniband/ ;;
	esac
}

check_git()
{
	linux_git -C "$check/tree" -c user.name=series -c user.email=series "$@"
}

# check_plain: the tree as it is before the first patch
check_plain()
{
	linux_fixed
	linux_git worktree prune
	if [ ! -e "$check/tree/.git" ]; then
		say "checking the kernel's source out once more"
		linux_git worktree add -q --no-checkout --detach "$check/tree" fixed
	fi
	# What a run that was killed has left
	rm -f "$(check_git rev-parse --git-path index.lock)"
	rm -rf "$(check_git rev-parse --git-path rebase-apply)"
	check_git checkout -q -f --detach fixed
	check_git clean -qfd
}

# check_sparse: that of Debian unstable, with its C library, as this Debian's is too old
# for the newest kernel
check_sparse()
{
	local root

	root=$("$top/scripts/root" unstable)
	echo "$root/lib64/ld-linux-x86-64.so.2" \
		"--library-path $root/usr/lib/x86_64-linux-gnu $root/usr/bin/sparse"
}

# check_make CONFIG ARGUMENT ...; sparse is what check_sparse has said
check_make()
{
	local config=$1 arch=x86_64 args=()
	shift
	case $config in
	um)	arch=um ;;
	builtin|module)
		# Warnings are read, not obeyed: the kernel has some
		args=(W=1 C=1 CHECK="$sparse" KCFLAGS=-Wno-error) ;;
	esac
	# A jobserver of who called us is not for the kernel
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL nice make -C "$check/tree" \
		"O=$check/$config" "ARCH=$arch" LOCALVERSION=-series-check \
		"-j$(nproc)" "${args[@]}" "$@" </dev/null
}

# check_configure CONFIG: as the Kconfig files have it at this patch
check_configure()
{
	local config=$1 base=allnoconfig files=()

	case $config in
	builtin)	files=("$check_configs"/{x86,builtin}.config) ;;
	module)		files=("$check_configs"/{x86,module}.config) ;;
	um)		files=("$check_configs"/{um,module}.config) ;;
	allmod)		files=("$top/scripts/series/allmod.config") base=allmodconfig ;;
	esac
	mkdir -p "$check/$config"
	{
		cat "${files[@]}"
		[ "$config" != module ] ||
			printf 'CONFIG_%s\n' KUNIT=m INFINIBAND_USER_MAD_KUNIT_TEST=y
		# Until a driver is complete, its parts
		[[ $config != @(builtin|module) ]] ||
			printf 'CONFIG_%s=y\n' COMPILE_TEST INFINIBAND_{USER_MAD,MADSIM}_PARTS
	} >"$check/$config/fragments"
	check_make "$config" KCONFIG_ALLCONFIG="$check/$config/fragments" $base
}

# check_remarks CONFIG: what make has said, but for what it does; without lines and
# columns, which a patch moves
check_remarks()
{
	grep -iE 'warning|error:|note:|undefined|\*\*\*' "$check/$1.log" |
		sed -E 's/:[0-9]+:[0-9]+: /: /'
}

# check_base CONFIG: have that built without anything of ours, so that make says all
# that it has to say about each file of ours; and keep what it says of those files
# of others that the series changes
check_base()
{
	local file

	(cd "$check" && rm -rf "${check_folders[@]/#/$1/}")
	linux_git diff --name-only --diff-filter=M fixed series-umad -- 'drivers/*.c' |
	while read -r file; do
		rm -f "$check/$1/${file%c}o"
	done
	# shellcheck disable=SC2046	# a word list
	check_configure "$1" >"$check/$1.log" 2>&1 &&
		check_make "$1" $(check_targets "$1") >>"$check/$1.log" 2>&1 || {
		grep -E 'error:|Error ' "$check/$1.log" | head
		echo "the kernel without the series does not build; see $check/$1.log"
		return 1
	}
	check_remarks "$1" >"$check/$1.before" || true
}

# check_silent CONFIG: make has said nothing that it had not said before the series
check_silent()
{
	! check_remarks "$1" | grep -vxFf "$check/$1.before"
}

# check_builds CONFIG: what the patches since commit $since touch
check_builds()
{
	local config=$1 log=$check/$1.log file files rest bad=0

	mapfile -t files < <(check_git diff --name-only --no-renames "$since" HEAD)
	rest=$(printf '%s\n' "${files[@]}" | grep -E '^(drivers|include)/')
	: >"$log"

	if grep -q '/Kconfig$' <<<"$rest"; then
		check_configure "$config" >>"$log" 2>&1 || bad=1
	fi
	if [ "$rest" ]; then
		# shellcheck disable=SC2046	# a word list
		check_make "$config" $(check_targets "$config") >>"$log" 2>&1 || bad=1
	fi

	check_silent "$config" || bad=1
	for file in "${files[@]}"; do
		[[ $file == drivers/*.c && -e $check/tree/$file ]] || continue
		[ -e "$check/$config/${file%c}o" ] ||
			{ echo "$file is not compiled"; bad=1; }
		# That sparse is missing, make only mentions
		[ "$config" = allmod ] || grep -q "^ *CHECK .*$file\$" "$log" ||
			{ echo "$file is not seen by sparse"; bad=1; }
	done
	return $bad
}

# check_kernel: a kernel of the tree as it is, in um/root, for scripts/guest/run
check_kernel()
{
	local root=$check/um/root

	{
		check_configure um && check_make um && rm -rf "$root" &&
			check_make um INSTALL_MOD_PATH="$root" modules_install
	} >"$check/um.log" 2>&1 || {
		grep -E 'error:|Error ' "$check/um.log" | head
		return 1
	}
	mkdir "$root/boot"
	cp "$check/um/linux" \
		"$root/boot/vmlinuz-$(cat "$check/um/include/config/kernel.release")"
}
