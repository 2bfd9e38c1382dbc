# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Packages of a suite of Debian that this machine does not use itself, or of
# another architecture: they come from the mirrors that the machine uses, by an
# apt configuration of our own in the cache. The machine's own is not touched.
# Sourced after common.sh, never run.
#
# A suite is a name, such as unstable or bullseye, and maybe an architecture, as in
# bookworm/arm64. What belongs to it is in the folder $cache/SUITE.
#
# shellcheck shell=bash disable=SC2154	# cache comes from common.sh

# suite_apt SUITE COMMAND ARGUMENT ...: apt-get or apt-cache, of this suite
suite_apt()
{
	local config=$cache/$1/apt.conf
	shift
	APT_CONFIG=$config "$@"
}

# suite_mirror LABEL: who serves Debian or Debian-Security to this machine
suite_mirror()
{
	apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' \
		"Label: $1" 'Component: main' 2>/dev/null | head -n 1
}

# suite_configure SUITE: once the machine's own package lists are there to name
# the mirrors
suite_configure()
{
	local name=${1%/*} folder=$cache/$1 arch mirror
	local key=/usr/share/keyrings/debian-archive-keyring.gpg

	command -v apt-get >/dev/null || die "no apt here; this needs Debian"
	mirror=$(suite_mirror Debian)
	if [ -z "$mirror" ]; then
		[ "$(id -u)" != 0 ] || (apt_lock && apt_update)
		mirror=$(suite_mirror Debian)
	fi
	[ "$mirror" ] || die "apt names no Debian mirror; as root run: apt-get update"
	arch=$(dpkg --print-architecture)
	[[ $1 != */* ]] || arch=${1#*/}

	mkdir -p "$folder/lists/partial" "$folder/archives/partial"
	: >"$folder/status"
	echo "deb [signed-by=$key] $mirror $name main" >"$folder/sources.list"
	# What is released gets its new kernels there; mirrors of that lag behind
	# for other architectures
	case $1 in
	unstable|*/*)	;;
	*)
		mirror=$(suite_mirror Debian-Security)
		[ -z "$mirror" ] ||
			echo "deb [signed-by=$key] $mirror $name-security main" \
				>>"$folder/sources.list" ;;
	esac
	cat >"$folder/apt.conf" <<-END
		APT::Architecture "$arch";
		APT::Architectures { "$arch"; };
		Dir::Etc::SourceList "$folder/sources.list";
		Dir::Etc::SourceParts "/dev/null";
		Dir::Etc::Preferences "/dev/null";
		Dir::Etc::PreferencesParts "/dev/null";
		Dir::State::Lists "$folder/lists";
		Dir::State::Status "$folder/status";
		Dir::Cache "$folder";
		APT::Sandbox::User "$(id -un)";
		APT::Default-Release "";
	END
}

# suite_update SUITE PACKAGE: have the package lists, not older than a day; they
# are complete if they know PACKAGE. Those that are there serve when there is no
# network.
suite_update()
{
	local folder=$cache/$1

	mkdir -p "$folder"
	exec 5>"$folder/.lock"
	flock 5
	if [ -z "$(find "$folder/updated" -mmin -1440 2>/dev/null)" ]; then
		suite_configure "$1"
		say "fetching the package lists of Debian $1"
		if suite_apt "$1" apt-get -qq update >"$folder/log" 2>&1 &&
				suite_apt "$1" apt-cache show "$2" >/dev/null 2>&1; then
			rm -rf "$folder/said"
			touch "$folder/updated"
		fi
	fi
	exec 5>&-
	[ -e "$folder/updated" ] ||
		die "no package lists of Debian $1: is a mirror reachable, and has it $1?"
}

# suite_ask SUITE ARGUMENT ...: what apt-cache says, which takes it a second or
# two, so that it is asked once for the lists there are
suite_ask()
{
	local suite=$1 said
	shift
	said="$*"
	said=$cache/$suite/said/${said// /_}
	if [ ! -e "$said" ]; then
		mkdir -p "${said%/*}"
		suite_apt "$suite" apt-cache "$@" >"$said.$$" 2>/dev/null || true
		mv "$said.$$" "$said"
	fi
	cat "$said"
}

# suite_depends SUITE PACKAGE PATTERN: the first dependency of this form
suite_depends()
{
	suite_ask "$1" depends "$2" | sed -n "s/^ *Depends: \($3\)\$/\1/p" | head -n 1
}
