# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The kernel tree that patches are made for and the test kernels are built
# from, the newest source package of Debian unstable. Where none is to be had, it is
# 6.12's of this Debian, for its kselftest and checkpatch. Sourced after common.sh,
# never run.
#
#	$linux/tree	the whole source as a git repository: branch base is
#			the package, fixed has some of fixes/ on top and is checked out,
#			series-madsim is what scripts/series/write wrote last
#	$linux/version	its package and version
#	$linux/build	one build directory per configuration
#
# shellcheck shell=bash disable=SC2154	# top and cache come from common.sh

# shellcheck source=scripts/kernel/suite.sh
. "$top/scripts/kernel/suite.sh"

linux=$cache/linux

linux_patches=$top/scripts/kernel/fixes

# Git with nothing of the user's configuration that could change a patch, and
# with a cache that another user may have made.
linux_git()
{
	GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null \
		git -c safe.directory='*' -C "$linux/tree" "$@"
}

# One run at a time in the tree and its build directories. A script that one of
# us calls inherits the lock.
linux_lock()
{
	[ "${USER_MAD_LINUX_LOCKED-}" ] && return
	mkdir -p "$cache"
	exec 9>"$cache/linux.lock"
	flock -n 9 || {
		say "waiting for another run to be done with $linux"
		flock 9
	}
	export USER_MAD_LINUX_LOCKED=1
}

# The newest source package and its version, or nothing. Without Debian unstable
# what is there serves, and 6.12's where there is none.
linux_newest()
{
	local suite=unstable package

	if (suite_update unstable); then
		package=$(suite_depends unstable linux-source 'linux-source-.*')
	elif [ ! -e "$linux/version" ] && (suite_update bookworm); then
		suite=bookworm package=linux-source-6.12
	fi
	[ -z "${package-}" ] || echo "$package $(suite_version $suite "$package")"
}

# linux_download PACKAGE: into this folder
linux_download()
{
	local suite=unstable

	[ "$1" != linux-source-6.12 ] || suite=bookworm
	suite_apt $suite apt-get -q download "$1"
}

# linux_unpack PACKAGE VERSION: into the tree, complete or not there at all
linux_unpack()
{
	say "fetching and unpacking $1 $2, once"
	rm -rf "$linux"
	mkdir -p "$linux/tree"
	(cd "$linux" && patiently "$linux/log" linux_download "$1") || {
		apt_said "$linux/log"
		die "cannot fetch $1"
	}
	patiently "$linux/log" linux_tree "$1" "$2" || {
		tail -n 5 "$linux/log" >&2
		die "cannot unpack $1: disk full?"
	}
	echo "$1 $2" >"$linux/version"
}

# linux_source PACKAGE FOLDER: the tar file in the package that was downloaded there
linux_source()
{
	dpkg --fsys-tarfile "$2"/*.deb | tar -xO --wildcards "*/$1.tar.xz" | xz -dc -T0
}

# linux_tree PACKAGE VERSION: what was downloaded becomes branch base
linux_tree()
{
	echo "unpacking"
	linux_source "$1" "$linux" | tar -C "$linux/tree" --strip-components=1 -x || return 1
	rm "$linux"/*.deb
	echo "making it a repository"
	linux_git init -q -b base &&
	linux_git config user.name "Debian kernel package" &&
	linux_git config user.email debian-kernel@lists.debian.org &&
	linux_git config gc.auto 0 &&
	# Straight into one pack: 70,000 loose objects take twice the time
	linux_git -c core.bigFileThreshold=1 -c core.compression=1 add -Af . &&
	GIT_AUTHOR_DATE='@0 +0000' GIT_COMMITTER_DATE='@0 +0000' \
		linux_git commit -q -m "$1 $2"
}

# Have branch base hold the newest source. Another version of it takes everything
# built from the former one away. What is cached serves when the archive is out
# of reach.
linux_base()
{
	local newest

	newest=$(linux_newest)
	if [ -e "$linux/version" ]; then
		[ "${newest:-$(cat "$linux/version")}" != "$(cat "$linux/version")" ] ||
			return 0
	fi
	[ "$newest" ] || die "there is no source of a kernel to be had"

	linux_lock
	"$top/scripts/deps" git xz-utils dpkg
	# shellcheck disable=SC2086	# package and version
	[ "$(cat "$linux/version" 2>/dev/null)" = "$newest" ] || linux_unpack $newest
}

# The folder of kselftest
linux_kselftest()
{
	linux_base
	echo "$linux/tree/tools/testing/selftests"
}

# The same, for who only builds: a source is not unpacked for that
linux_kselftest_at_hand()
{
	if [ -e "$linux/version" ]; then
		echo "$linux/tree/tools/testing/selftests"
	else
		linux_kselftest_old
	fi
}

linux_kselftest_old()
{
	local old=$cache/linux-source-6.12

	"$top/scripts/deps" xz-utils dpkg
	if [ ! -d "$old" ]; then
		say "taking kselftest from linux-source-6.12"
		rm -rf "$old.new"
		mkdir -p "$old.new"
		(suite_update bookworm) &&
			(cd "$old.new" && linux_download linux-source-6.12 >log 2>&1) || {
			apt_said "$old.new/log"
			die "cannot fetch linux-source-6.12"
		}
		linux_source linux-source-6.12 "$old.new" |
			tar -C "$old.new" --strip-components=1 -x --wildcards \
				'*/tools/testing/selftests/lib.mk' \
				'*/tools/testing/selftests/kselftest*' \
				'*/scripts/subarch.include' ||
			die "cannot unpack kselftest from linux-source-6.12"
		rm "$old.new"/*.deb
		mv -T "$old.new" "$old"
	fi
	echo "$old/tools/testing/selftests"
}

# linux_old: the source there is not the newest, but 6.12's
linux_old()
{
	grep -q '^linux-source-6.12 ' "$linux/version"
}

# linux_fixes: the patches for the source there, of bugs that the tests would run into.
# The rest of fixes/ stays out, as madsim has to go around those bugs on every kernel,
# and the tests have to show that it does. What looks different in 6.12 is in
# fixes/6.12 once more; it has not what lib-1 is for.
linux_fixes()
{
	local fix

	for fix in "$linux_patches"/{um,lib}-*.patch "$linux_patches"/rdma-{1,2,3}-*.patch; do
		if ! linux_old; then
			echo "$fix"
		elif [ -e "$linux_patches/6.12/${fix##*/}" ]; then
			echo "$linux_patches/6.12/${fix##*/}"
		elif [[ $fix != */lib-1-* ]]; then
			echo "$fix"
		fi
	done
}

# linux_fixes_diffs: what they change; with another message nothing has to be built
linux_fixes_diffs()
{
	linux_fixes | xargs -d '\n' sed -s -n '/^diff --git /,$p'
}

# linux_uml_dies: user-mode Linux of the source there cannot run here: 6.12's has no
# room for the floating point state of a CPU with AMX
linux_uml_dies()
{
	linux_base
	linux_old && grep -qw amx_tile /proc/cpuinfo
}

# Have branch fixed hold base with linux_fixes applied. Whatever is checked out has
# them: a header that came and went would have modules built again, under the
# hands of a suite that runs them and wants to know which of their lines it ran.
linux_fixed()
{
	local fixes

	linux_base
	linux_lock
	mapfile -t fixes < <(linux_fixes)
	! linux_fixes_diffs | cmp -s - "$linux/fixes" || return 0
	linux_git checkout -q -f -B fixed base
	linux_git apply --index "${fixes[@]}" ||
		die "the fixes are not for $(cat "$linux/version")"
	linux_git commit -q -m "Fixes of bugs that are not ours"
	linux_fixes_diffs >"$linux/fixes"
}
