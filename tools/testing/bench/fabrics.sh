#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# In a guest: fabrics with many nodes, or with many ports in this kernel. For
# tools/testing/bench/measure, which says
#
#	scripts/guest/inside/madsim WHICH tools/testing/bench/fabrics.sh users NODES
#	scripts/guest/inside/madsim WHICH tools/testing/bench/fabrics.sh ports BUILD SAMPLES
#
# users: what a subnet manager and diagnostics take, with all programs and the kernel's
# threads. One host in a hundred is silent. The kernel counts the nanoseconds in which the
# CPU is not idle. A nanosecond of this clock is an instruction, so waiting takes none.
#
# ports: what a program meets, and what a port takes in the umad module.

set -eu
. "$(dirname "$0")/../../../scripts/common.sh"
. "$top/scripts/guest/inside/umad.sh"

load=$top/tools/infiniband/madsim-load/madsim-load
tmp=$(mktemp -d)
# opensm remembers a fabric there
export OSM_CACHE_DIR=$tmp

guid()
{
	echo "0x$(cut -d: -f5-8 /sys/class/infiniband/madsim0/ports/1/gids/0 | tr -d :)"
}

# Leaves with 40 hosts each, below 20 spines
tree()
{
	awk -v leaves=$leaves -v hosts=$hosts -v spines=$spines -v width=$width 'BEGIN {
		for (s = 1; s <= spines; s++) {
			print "\nSwitch " leaves " \"spine" s "\""
			for (l = 1; l <= leaves; l++)
				print "[" l "] \"leaf" l "\"[" width + s "]"
		}
		for (h = 0; h < hosts; h++) {
			if (h % width == 0)
				print "\nSwitch " width + spines " \"leaf" h / width + 1 "\""
			print "[" h % width + 1 "] \"h" h + 1 "\"[1]"
		}
		for (h = 1; h <= hosts; h++)
			print "\nHca 1 \"h" h "\""
	}'
}

# look: sets ran, and takes little itself
look()
{
	local name

	while read -r name _ _ _ _ _ _ ran _; do
		[ "$name" != cpu0 ] || return 0
	done </proc/schedstat
	die "/proc/schedstat has no CPU"
}

# took FIGURE COMMAND ...
took()
{
	local before

	look
	before=$ran
	"${@:2}"
	look
	echo "users.$1 $nodes $((ran - before))"
}

# The subnet manager tells when it has swept
swept()
{
	local line

	while read -r line <&"${sm[0]}"; do
		case $line in
		*"SUBNET UP"*)	return 0 ;;
		*"Errors during init"*)	break ;;
		esac
	done
	die "opensm: $line"
}

start_sm()
{
	coproc sm { exec opensm -f stdout -g "$(guid)" 2>&1; }
	swept
}

# It sweeps again for what the first sweep has changed
quiet()
{
	local line

	while read -rt 30 line <&"${sm[0]}"; do
		:
	done
}

# shellcheck disable=SC2154	# coproc sets sm_PID
sweep_again()
{
	kill -HUP "$sm_PID"
	swept
}

# ask PROGRAM: it complains of silent hosts
ask()
{
	"$1" -C madsim0 -P 1 >"$tmp/$1" 2>"$tmp/said" || true
}

ask_leaves()
{
	local lid

	for lid in $lids; do
		perfquery -C madsim0 -P 1 -a "$lid" >"$tmp/perfquery"
	done
}

users()
{
	local nodes=$1 spines=20 width=40 leaves hosts silent lids program i

	leaves=$(((nodes - spines + width) / (width + 1)))
	hosts=$((nodes - spines - leaves))
	silent=$((hosts / 100))
	tree | "$load" -n users -d 1 -
	for ((i = 1; i <= silent; i++)); do
		echo "h${i}00 1 drop nth 1" >/sys/kernel/config/madsim/users/faults
	done

	# Without light sweeps it does nothing more unless it is asked. A program comes
	# from the host when it runs for the first time. After a boot the kernel is busy
	# with itself for some seconds
	mkdir -p /etc/opensm
	printf "%s\n" "force_log_flush TRUE" "sweep_interval 0" >/etc/opensm/opensm.conf
	opensm --help >"$tmp/said" 2>&1 || true
	sleep 4
	took sweep start_sm
	quiet
	took resweep sweep_again
	for program in ibnetdiscover ibqueryerrors; do
		ask $program
		took $program ask $program
	done
	[ "$(grep -c ^Ca "$tmp/ibnetdiscover")" = $((hosts - silent)) ]
	[ "$(grep -c ^Switch "$tmp/ibnetdiscover")" = $((leaves + spines)) ]
	grep -q " $((nodes - silent)) nodes checked" "$tmp/ibqueryerrors"
	lids=$(sed -n 's/^Switch.*"leaf.* lid \([0-9]*\) lmc.*/\1/p' "$tmp/ibnetdiscover")
	[ "$(wc -w <<<"$lids")" = $leaves ]
	ask_leaves
	took perfquery ask_leaves
	kill "$sm_PID"
}

# kB of slab memory, when what was freed is given back
slab()
{
	sleep 1
	sed -n 's/^Slab: *\([0-9]*\) kB/\1/p' /proc/meminfo
}

# ports HOSTS EACH: of so many hosts, and for each of their ports a switch for 128 hosts. The
# first host has two ports at most: opensm runs there, and takes no host with more.
ports()
{
	local count before

	rmmod ib_umad
	awk -v hosts="$1" -v each="$2" 'BEGIN {
		for (s = 0; s < each * hosts / 128; s++) {
			print "\nSwitch 254 \"s" s "\""
			for (h = 1; h <= 128 && h <= hosts; h++)
				if (s % each < 2 || s >= each || h > 1)
					print "[" h "] \"h" h + int(s / each) * 128 "\"[" s % each + 1 "]"
			if (s > 0)
				print "[254] \"s0\"[" 254 - s "]"
		}
		for (h = 1; h <= hosts; h++)
			print "\nHca " (h == 1 && each > 2 ? 2 : each) " \"h" h "\""
	}' | "$load" -n ports -d "$1" -
	before=$(slab)
	load_umad "$which"
	# Later fabrics find room in slabs that earlier ones leave
	if [ "$2" != 1 ]; then
		count=$(find /sys/class/infiniband/*/ports/ -mindepth 1 -maxdepth 1 | wc -l)
		echo "ports.memory $count $((($(slab) - before) * 1024 / count))"
	fi
	opensm -o -g "$(guid)" -f "$tmp/opensm" >"$tmp/said" 2>&1
	sleep 4
	"$build/others_bench" "$samples" ports
	"$load" -r ports
}

mount -t configfs none /sys/kernel/config
insmod "$MADSIM_MODULE"
case $1 in
users)
	users "$2" ;;
ports)
	which=reference build=$2 samples=$3
	[ -z "${UMAD_MODULE-}" ] || which=ours
	ports 256 4
	ports 256 1
	ports 64 1
	ports 4 1 ;;
*)
	die "'$1': not one of users, ports" ;;
esac
