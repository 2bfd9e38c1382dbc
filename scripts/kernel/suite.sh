# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Packages of a suite of Debian, as this machine's own or another one: they come from
# the mirrors that the machine uses, by an apt configuration of our own in the cache.
# The machine's own is not touched. Sourced after common.sh, never run.
#
# A suite is a name, such as unstable or bullseye, and maybe an architecture, as in
# bookworm/arm64. What belongs to it is in the folder $cache/SUITE.
#
# shellcheck shell=bash disable=SC2154	# cache comes from common.sh

# suite_architecture SUITE
suite_architecture()
{
	case $1 in
	*/*)	echo "${1#*/}" ;;
	*)	dpkg --print-architecture ;;
	esac
}

# suite_apt SUITE COMMAND ARGUMENT ...: apt-get or apt-cache, of this suite
suite_apt()
{
	local config=$cache/$1/apt.conf command=$2
	shift 2
	APT_CONFIG=$config "$command" "${apt_expired_too[@]}" "$@"
}

# suite_targets LABEL FIELD: of each suite of Debian or Debian-Security that this machine
# gets packages from, the mirror that serves it, its name, or which entry of apt's sources
# says so: REPO_URI, CODENAME, SOURCESENTRY
suite_targets()
{
	apt-get indextargets --format "\$($2)" 'Created-By: Packages' "Label: $1" \
		'Component: main' 2>/dev/null
}

# suite_mirror LABEL: the address of the mirror
suite_mirror()
{
	suite_targets "$1" REPO_URI | head -n 1
}

# suite_mirrors: have apt name the mirrors of this machine
suite_mirrors()
{
	[ -z "$(suite_mirror Debian)" ] || return 0
	needs_debian
	[ "$(id -u)" != 0 ] || (apt_lock && apt_update)
	[ "$(suite_mirror Debian)" ] ||
		die "apt names no Debian mirror; as root run: apt-get update"
}

# suite_own: the Debian that this machine is. One of unstable calls itself by the name that
# the next release will have
suite_own()
{
	local own names

	suite_mirrors
	own=$(. /etc/os-release; echo "${VERSION_CODENAME-}")
	names=$(suite_targets Debian CODENAME)
	grep -x "$own" <<<"$names" || head -n 1 <<<"$names"
}

# suite_having PREFIX: the suite of Debian whose kernels or sources begin with this: the
# machine's own, or one of those that its mirror has as well
suite_having()
{
	local suite

	for suite in $(suite_own) bookworm bullseye trixie trixie-backports; do
		if (suite_update "$suite") && [ "$(suite_ask "$suite" pkgnames "$1")" ]; then
			echo "$suite"
			return
		fi
	done
}

# suite_key LABEL: the file of the keys that are to have signed it, if one is named
suite_key()
{
	local entry

	entry=$(suite_targets "$1" SOURCESENTRY | head -n 1)
	case $entry in
	*.sources:*)	awk -v RS= "NR == ${entry##*:}" "${entry%:*}" ;;
	*:*)		sed -n "${entry##*:}p" "${entry%:*}" ;;
	esac | sed -n 's/.*[Ss]igned-[Bb]y[:=] *\(\/[^] ]*\).*/\1/p'
}

# suite_source LABEL SUITE: a line of sources.list for it, or none. It is believed
# whom the machine believes.
suite_source()
{
	local mirror key

	mirror=$(suite_mirror "$1")
	key=$(suite_key "$1")
	# A machine that debootstrap made knows none. The mirrors have both side by side
	if [ -z "$mirror" ] && [ "$1" = Debian-Security ]; then
		mirror=$(suite_mirror Debian)
		mirror=${mirror%/}-security
		key=$(suite_key Debian)
	fi
	[ -z "$mirror" ] || echo "deb ${key:+[signed-by=$key] }$mirror $2 main"
}

# suite_configure SUITE: once the machine's own package lists are there to name
# the mirrors
suite_configure()
{
	local name=${1%/*} folder=$cache/$1 arch

	arch=$(suite_architecture "$1")
	suite_mirrors
	mkdir -p "$folder/lists/partial" "$folder/archives/partial"
	: >"$folder/status"
	suite_source Debian "$name" >"$folder/sources.list"
	# What is released gets its new kernels there; mirrors of that lag behind
	# for other architectures
	case $1 in
	unstable|sid|*-backports|*/*)	;;
	*)		suite_source Debian-Security "$name-security" >>"$folder/sources.list" ;;
	esac
	cat >"$folder/apt.conf" <<-END
		${APT_CONFIG:+#include "$APT_CONFIG";}
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
		Acquire::Languages "none";
		APT::Default-Release "";
	END
}

# suite_fetch SUITE: fetch the package lists. They serve if they know anything of Linux,
# whatever else is missing there; this says what.
suite_fetch()
{
	local folder=$cache/$1 status=0

	suite_configure "$1"
	say "fetching the package lists of Debian $1"
	patiently "$folder/log" suite_apt "$1" apt-get -q update || true
	suite_apt "$1" apt-cache show linux-libc-dev >/dev/null 2>&1 || status=1
	apt_said "$folder/log"
	apt_expired "$folder/lists" "Debian $1"
	return $status
}

# suite_tried SUITE: this run of the tests has tried to fetch them: a run writes that
# file when it takes build/
suite_tried()
{
	[ "${USER_MAD_BUILD_LOCKED-}" ] && [ "$cache/$1/tried" -nt "$top/build/.run" ]
}

# The series of kernels that all of this was last seen to pass with; a newer one of
# unstable may break what was not made for it.
# shellcheck disable=SC2034	# scripts/tests/run.py asks for it
tested_series=7.2

# suite_update SUITE: have the package lists, not older than a day. Those
# that are there serve when there is no network. Fails if there are none, and says
# why, once in a run.
suite_update()
{
	local folder=$cache/$1

	mkdir -p "$folder"
	exec 5>"$folder/.lock"
	flock 5
	if [ -z "$(find "$folder/updated" -mmin -1440 2>/dev/null)" ] && ! suite_tried "$1"; then
		touch "$folder/tried"
		if suite_fetch "$1"; then
			rm -rf "$folder/said"
			touch "$folder/updated"
		elif [ ! -e "$folder/updated" ]; then
			say "there are no package lists of Debian $1"
		fi
	fi
	exec 5>&-
	[ -e "$folder/updated" ]
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

# suite_version SUITE PACKAGE
suite_version()
{
	suite_ask "$1" show --no-all-versions "$2" | sed -n 's/^Version: //p'
}

# suite_headers SUITE RELEASE: the packages of a kernel's headers
suite_headers()
{
	echo "linux-headers-$2"
	suite_depends "$1" "linux-headers-$2" 'linux-headers-.*-common'
	suite_depends "$1" "linux-headers-$2" 'linux-kbuild-.*'
}

# suite_unpack SUITE FOLDER PACKAGE ...: fetch these alone, and unpack them there
suite_unpack()
{
	local suite=$1 folder=$2 deb
	shift 2
	mkdir -p "$folder/debs"
	(cd "$folder/debs" && suite_apt "$suite" apt-get -q download "$@") || return 1
	echo unpacking
	for deb in "$folder"/debs/*.deb; do
		dpkg -x "$deb" "$folder" || return 1
	done
	rm -rf "$folder/debs"
}

# suite_relocate FOLDER RELEASE: have these headers as headers/, to be used where they
# are and by the compiler that is called gcc. All they say of /usr/src is where those
# common to all flavours are.
suite_relocate()
{
	ln -s "usr/src/linux-headers-$2" "$1/headers" &&
	sed -i 's|^include /usr/src/|include $(dir $(lastword $(MAKEFILE_LIST)))../|' \
		"$1/headers/Makefile" &&
	sed -i 's|gcc-[0-9]*$|gcc|' "$1/headers/.kernelvariables"
}
