# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The source of Linux, which test kernels are built from and patches are made for: the
# newest source package of Debian unstable, or linux-source-6.12 of this machine's own Debian
# or an older one where unstable is not to be had, and for tests where it has a series that they do not know. Sourced after
# common.sh, never run.
#
#	$linux		its folder in the cache, once linux_base or linux_have had it
#	$linux/tree	the whole source, with the fixes that linux_fixed has applied
#	$linux/fixes	these fixes
#	$linux/version	its package and version
#	$linux/build	one build directory per configuration
#
# shellcheck shell=bash disable=SC2154	# top and cache come from common.sh

# shellcheck source=scripts/kernel/suite.sh
. "$top/scripts/kernel/suite.sh"

# A link to the folder of the package
linux=$cache/linux/newest

linux_patches=$top/scripts/kernel/fixes

# linux_apply FOLDER ARGUMENT ...: git apply there, in no repository, and with nothing of the
# user's configuration
linux_apply()
{
	local folder

	folder=$(realpath "$1")
	shift
	GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_CEILING_DIRECTORIES=${folder%/*} \
		git -C "$folder" apply "$@"
}

# One run at a time in the tree and its build directories. A script that one of
# us calls inherits the lock.
linux_lock()
{
	local lock fd

	lock=$(basename "$(realpath -m "$linux")")
	[[ " ${USER_MAD_LINUX_LOCKED-} " != *" $lock "* ]] || return 0
	mkdir -p "$cache/linux"
	exec {fd}>"$cache/linux/.$lock.lock"
	flock -n "$fd" || {
		say "waiting for another run to be done with $linux"
		flock "$fd"
	}
	export USER_MAD_LINUX_LOCKED="${USER_MAD_LINUX_LOCKED-} $lock"
}

# linux_wanted: the source package that belongs there and its version, or nothing if the
# archive is out of reach
linux_wanted()
{
	local suite package=linux-source-6.12

	if [[ $linux = */newest ]] && (suite_update unstable); then
		suite=unstable
		package=$(suite_depends unstable linux-source 'linux-source-.*')
	elif [[ $linux = */newest && -e $linux/version ]]; then
		return 0
	else
		suite=$(suite_having $package)
		[ "$suite" ] || return 0
	fi
	echo "$package $(suite_version "$suite" "$package")"
}

# linux_download PACKAGE: into this folder
linux_download()
{
	local suite=unstable

	[ "$1" != linux-source-6.12 ] || suite=$(suite_having "$1")
	suite_apt "$suite" apt-get -q download "$1"
}

# linux_unpack PACKAGE VERSION: complete or not there at all. Another newest one takes
# everything built from the former one away.
linux_unpack()
{
	local folder=$cache/linux/$1 former

	if [ "$(cat "$folder/version" 2>/dev/null)" != "$*" ]; then
		say "fetching and unpacking $1 $2, once"
		rm -rf "$folder"
		mkdir -p "$folder/tree"
		(cd "$folder" && patiently "$folder/log" linux_download "$1") || {
			apt_said "$folder/log"
			die "cannot fetch $1"
		}
		patiently "$folder/log" linux_tree "$folder" "$1" || {
			tail -n 5 "$folder/log" >&2
			die "cannot unpack $1: disk full?"
		}
		echo "$*" >"$folder/version"
	fi
	if [[ $linux = */newest ]]; then
		former=$(readlink "$linux") || true
		ln -sfn "$1" "$linux"
		[[ $former = "$1" || ! $former || $former = linux-source-6.12 ]] ||
			rm -rf "${cache:?}/linux/$former"
	fi
}

# linux_source PACKAGE FOLDER: the tar file in the package that was downloaded there
linux_source()
{
	dpkg --fsys-tarfile "$2"/*.deb | tar -xO --wildcards "*/$1.tar.xz" | xz -dc -T0
}

# linux_tree FOLDER PACKAGE: what was downloaded becomes its tree
linux_tree()
{
	echo "unpacking"
	linux_source "$2" "$1" | tar -C "$1/tree" --strip-components=1 -x || return 1
	rm "$1"/*.deb
}

# Have the newest source, or 6.12's if linux_base has chosen that. What is cached serves when
# the archive is out of reach.
linux_have()
{
	local wanted

	wanted=$(linux_wanted)
	if [ -e "$linux/version" ]; then
		[ "${wanted:-$(cat "$linux/version")}" != "$(cat "$linux/version")" ] || return 0
	fi
	[ "$wanted" ] || die "there is no source of a kernel to be had"

	linux_lock
	"$top/scripts/deps" git xz-utils dpkg
	# shellcheck disable=SC2086	# package and version
	[ "$(cat "$linux/version" 2>/dev/null)" = "$wanted" ] || linux_unpack $wanted
}

# Have the source for tests: what unstable has by now does not break them
linux_base()
{
	local version

	version=$(linux_wanted)
	[ "$version" ] || version=$(cat "$linux/version" 2>/dev/null) || true
	[[ $version = "linux-source-$tested_series "* ]] || linux=$cache/linux/linux-source-6.12
	linux_have
}

# The folder of kselftest, for all kernels
linux_kselftest()
{
	linux_base
	echo "$linux/tree/tools/testing/selftests"
}

# The same, for a package or umad-check: a source is not unpacked for those
linux_kselftest_at_hand()
{
	local old=$cache/linux/kselftest suite package

	if [ -e "$linux/version" ]; then
		echo "$linux/tree/tools/testing/selftests"
		return
	fi
	"$top/scripts/deps" xz-utils dpkg
	if [ ! -d "$old" ]; then
		suite=$(suite_own)
		(suite_update "$suite") || die "there are no package lists of Debian $suite"
		package=$(suite_ask "$suite" pkgnames linux-source- |
			grep -x 'linux-source-[0-9.]*' | sort -V | tail -n 1)
		say "taking kselftest from $package"
		rm -rf "$old.new"
		mkdir -p "$old.new"
		(cd "$old.new" && suite_apt "$suite" apt-get -q download "$package" >log 2>&1) || {
			apt_said "$old.new/log"
			die "cannot fetch $package"
		}
		linux_source "$package" "$old.new" |
			tar -C "$old.new" --strip-components=1 -x --wildcards \
				'*/tools/testing/selftests/lib.mk' \
				'*/tools/testing/selftests/kselftest*' \
				'*/scripts/subarch.include' ||
			die "cannot unpack kselftest from $package"
		rm "$old.new"/*.deb
		mv -T "$old.new" "$old"
	fi
	echo "$old/tools/testing/selftests"
}

# linux_old: the source there is 6.12's
linux_old()
{
	grep -q '^linux-source-6.12 ' "$linux/version"
}

# linux_fixes: the patches for the source there, of bugs that the tests would run into.
# Madsim goes around all other bugs of fixes/ on every kernel. The tests have to show that it
# does, so those stay in. fixes/6.12 has the patches that 6.12 alone needs, and those that
# look different there. 6.12 lacks what lib-1 mends, and two CPUs of user-mode Linux, which
# um-4 is for. Nothing meets there what rdma-6 does.
linux_fixes()
{
	local fix

	for fix in "$linux_patches"/{um,lib,core}-*.patch "$linux_patches"/rdma-{1,2,6}-*.patch; do
		if ! linux_old || [[ $fix != */@(lib-1|rdma-6|um-4)-* && ! -e $linux_patches/6.12/${fix##*/} ]]; then
			echo "$fix"
		fi
	done
	! linux_old || printf '%s\n' "$linux_patches"/6.12/*.patch
}

# linux_fixes_diffs: what they change; with another message nothing has to be built
linux_fixes_diffs()
{
	linux_fixes | xargs -d '\n' sed -s -n '/^diff --git /,$p'
}

# Have linux_fixes applied to the source that linux_base or linux_have had. The fixes stay there:
# if a header came and went, make would build modules again while a suite runs them, and the suite
# could not tell which of their lines ran.
linux_fixed()
{
	linux_lock
	[ "$(linux_fixes_diffs)" != "$(cat "$linux/fixes" 2>/dev/null)" ] || return 0
	if [ -e "$linux/fixes" ]; then
		linux_apply "$linux/tree" -R "$linux/fixes" ||
			die "remove $linux: its fixes are broken"
		rm "$linux/fixes"
	fi
	linux_fixes_diffs >"$linux/fixes.new"
	linux_apply "$linux/tree" "$linux/fixes.new" ||
		die "the fixes are not for $(cat "$linux/version")"
	mv "$linux/fixes.new" "$linux/fixes"
}

# linux_plain FOLDER PATH ...: copy these files and folders of the source, without the fixes.
# FOLDER is absolute
linux_plain()
{
	local folder=$1 includes
	shift
	includes=("${@/#/--include=}")
	includes+=("${includes[@]/%//*}")
	(linux_lock
	cd "$linux/tree" && cp -a --parents "$@" "$folder" || exit 1
	[ ! -e "$linux/fixes" ] || linux_apply "$folder" -R "${includes[@]}" "$linux/fixes")
}
