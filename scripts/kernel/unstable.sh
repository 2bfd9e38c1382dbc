# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Debian unstable, where the newest kernel and the newest clients are: packages
# of it come from the mirror that this machine uses, by an apt configuration of
# our own in the cache. The machine's own is not touched. Sourced after
# common.sh, never run.
#
# shellcheck shell=bash disable=SC2154	# top and cache come from common.sh

# The series of kernels that all of this was last seen to pass with; a newer one
# may break what was not made for it.
# shellcheck disable=SC2034	# used by the scripts that source this
tested_series=7.2

unstable=$cache/unstable

# unstable_apt COMMAND ARGUMENT ...: apt-get or apt-cache, of unstable
unstable_apt()
{
	APT_CONFIG=$unstable/apt.conf "$@"
}

# The mirror, once the machine's own package lists are there to name it
unstable_mirror()
{
	apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' \
		'Label: Debian' 'Component: main' 2>/dev/null | head -n 1
}

unstable_configure()
{
	local mirror key=/usr/share/keyrings/debian-archive-keyring.gpg

	command -v apt-get >/dev/null || die "no apt here; this needs Debian"
	mirror=$(unstable_mirror)
	if [ -z "$mirror" ]; then
		[ "$(id -u)" != 0 ] || (apt_lock && apt_update)
		mirror=$(unstable_mirror)
	fi
	[ "$mirror" ] || die "apt names no Debian mirror; as root run: apt-get update"

	mkdir -p "$unstable/lists/partial" "$unstable/archives/partial"
	: >"$unstable/status"
	echo "deb [signed-by=$key] $mirror unstable main" >"$unstable/sources.list"
	cat >"$unstable/apt.conf" <<-END
		Dir::Etc::SourceList "$unstable/sources.list";
		Dir::Etc::SourceParts "/dev/null";
		Dir::Etc::Preferences "/dev/null";
		Dir::Etc::PreferencesParts "/dev/null";
		Dir::State::Lists "$unstable/lists";
		Dir::State::Status "$unstable/status";
		Dir::Cache "$unstable";
		APT::Sandbox::User "$(id -un)";
		APT::Default-Release "";
	END
}

# Have the package lists, not older than a day. Those that are there serve when
# there is no network.
unstable_update()
{
	mkdir -p "$unstable"
	exec 5>"$unstable/.lock"
	flock 5
	if [ -z "$(find "$unstable/updated" -mmin -1440 2>/dev/null)" ]; then
		unstable_configure
		say "fetching the package lists of Debian unstable"
		if unstable_apt apt-get -qq update >"$unstable/log" 2>&1 &&
				unstable_apt apt-cache show linux-source >/dev/null 2>&1; then
			rm -rf "$unstable/said"
			touch "$unstable/updated"
		fi
	fi
	exec 5>&-
	[ -e "$unstable/updated" ] ||
		die "no package lists of Debian unstable: is a mirror reachable, and has it unstable?"
}

# unstable_ask ARGUMENT ...: what apt-cache says, which takes it a second or two,
# so that it is asked once for the lists there are
unstable_ask()
{
	local said="$*"

	said=$unstable/said/${said// /_}
	if [ ! -e "$said" ]; then
		mkdir -p "$unstable/said"
		unstable_apt apt-cache "$@" >"$said.$$" 2>/dev/null || true
		mv "$said.$$" "$said"
	fi
	cat "$said"
}

# unstable_depends PACKAGE PATTERN: the first dependency of this form
unstable_depends()
{
	unstable_ask depends "$1" | sed -n "s/^ *Depends: \($2\)\$/\1/p" | head -n 1
}

# unstable_version PACKAGE
unstable_version()
{
	unstable_ask show --no-all-versions "$1" | sed -n 's/^Version: //p'
}

# unstable_release [rt]: the newest kernel's, as `uname -r` says it
unstable_release()
{
	unstable_depends "linux-image-${1:+$1-}amd64" 'linux-image-.*' |
		sed 's/^linux-image-//'
}
