# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The kernel tree that the series is made for and the test kernels are built
# from; sourced after common.sh, never run.
#
#	$linux/tree	whole linux-source-6.12 as a git repository: branch
#			base is the package, fixed has fixes/ on top, series is
#			what scripts/series wrote last; checked out is fixed,
#			or fixed and a series
#	$linux/build	one build directory per configuration
#
# shellcheck shell=bash disable=SC2154	# top and cache come from common.sh

linux=$cache/linux-6.12

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
	exec 9>"$cache/linux-6.12.lock"
	flock -n 9 || {
		say "waiting for another run to be done with $linux"
		flock 9
	}
	export USER_MAD_LINUX_LOCKED=1
}

# Have branch base hold the source of the installed package. Another version
# of it takes everything built from the former one away.
linux_base()
{
	local tarball=/usr/src/linux-source-6.12.tar.xz version

	linux_lock
	"$top/scripts/deps" linux-source-6.12 git xz-utils
	version=$(dpkg-query -W -f '${Version}' linux-source-6.12)
	[ "$(cat "$linux/version" 2>/dev/null)" != "$version" ] || return 0

	[ -r "$tarball" ] ||
		die "$tarball is missing: reinstall linux-source-6.12"
	say "unpacking linux-source-6.12 $version, once"
	rm -rf "$linux"
	mkdir -p "$linux/tree"
	tar -C "$linux/tree" --strip-components=1 -xf "$tarball" ||
		die "cannot unpack $tarball: disk full?"
	linux_git init -q -b base
	linux_git config user.name "Debian kernel package"
	linux_git config user.email debian-kernel@lists.debian.org
	linux_git config gc.auto 0
	# Straight into one pack: 70,000 loose objects take twice the time
	linux_git -c core.bigFileThreshold=1 -c core.compression=1 add -Af .
	GIT_AUTHOR_DATE='@0 +0000' GIT_COMMITTER_DATE='@0 +0000' \
		linux_git commit -q -m "linux-source-6.12 $version"
	echo "$version" >"$linux/version"
}

# Have branch fixed hold base with fixes/ applied. Whatever is checked out has
# them: a header that came and went would have modules built again, under the
# hands of a lane that runs them and wants to know which of their lines it ran.
linux_fixed()
{
	local fixes=("$top"/scripts/fixes/*.patch)

	linux_base
	! cat "${fixes[@]}" | cmp -s - "$linux/fixes" || return 0
	linux_git checkout -q -f -B fixed base
	linux_git apply --index "${fixes[@]}"
	linux_git commit -q -m "Fixes for reports of sanitizers"
	cat "${fixes[@]}" >"$linux/fixes"
}

# Check the series of this checkout out in the tree, brought to base by git am.
# That happens in a worktree of its own, which has no files but the topmost, so
# that the tree, and what is built from it, sees changed files alone.
linux_series()
{
	local tmp tip am

	linux_fixed
	"$top/scripts/series" >/dev/null
	tmp=$(mktemp -d)
	linux_git worktree prune
	linux_git worktree add -q --no-checkout --detach "$tmp/am" base
	am=(linux_git -C "$tmp/am" -c user.name=series -c user.email=series)
	if ! {
		"${am[@]}" sparse-checkout set &&
		"${am[@]}" checkout -q &&
		"${am[@]}" am -q --committer-date-is-author-date \
			"$top"/build/series/*.patch &&
		"${am[@]}" cherry-pick fixed
	} >"$tmp/log" 2>&1; then
		cat "$tmp/log" >&2
		rm -rf "$tmp"
		die "the series does not apply to linux-source-6.12"
	fi
	tip=$("${am[@]}" rev-parse HEAD)
	rm -rf "$tmp"
	linux_git worktree prune
	linux_git checkout -q -f --detach "$tip" ||
		die "cannot check the series out in $linux/tree"
}
