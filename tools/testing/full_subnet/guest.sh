#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# In a guest: guest.sh cost|opensm. See run.

. "$(dirname "$0")/../madsim/lib.sh"

hosts_of_leaf=250
all=49151

# topology LIDS: so many end ports. Leaves with hosts around one switch; the last leaf
# has what is left
topology()
{
	awk -v lids="$1" -v width=$hosts_of_leaf 'BEGIN {
		leaves = int((lids - 1 + width) / (width + 1))
		hosts = lids - 1 - leaves
		print "Switch " leaves " \"core\""
		for (l = 1; l <= leaves; l++)
			print "[" l "] \"leaf" l "\"[254]"
		for (h = 0; h < hosts; h++) {
			if (h % width == 0)
				print "\nSwitch 254 \"leaf" int(h / width) + 1 "\""
			print "[" h % width + 1 "] \"h" h + 1 "\"[1]"
		}
		for (h = 1; h <= hosts; h++)
			print "\nHca 1 \"h" h "\""
	}'
}

# What a command takes, in millions of instructions: the CPU time of all
# that it runs, as the clock itself goes on while a file comes from the host
took()
{
	local TIMEFORMAT='%3U %3S'
	{ time "$@" >&4; } 4>&1 2>"$tmp/times" || return
	awk 'END { printf "%d\n", ($1 + $2) * 1000 }' "$tmp/times" >"$tmp/took"
}

# What the caches of configfs have can be had back
slab()
{
	sed -n 's/^SUnreclaim: *\([0-9]*\) kB/\1/p' /proc/meminfo
}

# make LIDS: notes what that takes, by the name of what
make()
{
	topology "$1" >"$tmp/topology"
	took "$madsim_load" -n full -d 1 "$tmp/topology"
	cp "$tmp/took" "$tmp/make.$1"
	took put $configfs/full/live 0
	cp "$tmp/took" "$tmp/stop.$1"
	took put $configfs/full/live 1
	cp "$tmp/took" "$tmp/start.$1"
}

remove()
{
	took "$madsim_load" -r full
	cp "$tmp/took" "$tmp/remove.$1"
}

# linear WHAT SMALL LARGE: per LID it takes at most a fourth more
linear()
{
	local small large
	small=$(($(cat "$tmp/$1.$2") * 1000000 / $2))
	large=$(($(cat "$tmp/$1.$3") * 1000000 / $3))
	echo "$small instructions a LID with $2, $large with $3" >&3
	[ $((4 * large)) -le $((5 * small)) ]
}

# Of 10,000 hosts as mkdir makes them, with all that configfs has of them
host_port()
{
	local before bytes i
	mkdir $configfs/hosts
	before=$(slab)
	for ((i = 0; i < 10000; i += 1000)); do
		eval "mkdir $configfs/hosts/h{$i..$((i + 999))}"
	done
	bytes=$((($(slab) - before) * 1024 / 10000))
	echo "$bytes bytes of slab a host" >&3
	[ $bytes -gt 1000 ]
	[ $bytes -le 10240 ]
	"$madsim_load" -r hosts
}

cost()
{
	local small=12288 what
	exec 3> >(sed 's/^/# /')
	check "two seconds without a schedule are a soft lockup" eval '
		put /proc/sys/kernel/watchdog_thresh 1
		says "^1$" cat /proc/sys/kernel/soft_watchdog'
	check "load" load topology=none
	check "a quarter of a subnet" make $small
	check "a quarter is removed" remove $small
	check "a full subnet" make $all
	check "each LID is one of its ports" eval '
		says "^48954$" grep -c ^Hca $debugfs/full/topology
		says "^197$" grep -c ^Switch $debugfs/full/topology'
	check "a full subnet is removed" remove $all
	for what in make start stop remove; do
		check "the cost to $what it follows its size" linear $what $small $all
	done
	check "a host port has at most 10 KiB" host_port
	check "unload" unload
	exec 3>&-
	finish
}

# Every LID is in use, and by one port
lids()
{
	local dev
	dev=$(devices)
	ibnetdiscover -C "$dev" -P 1 >"$tmp/net"
	sed -n 's/^Switch.* lid \([0-9]*\) lmc.*/\1/p; s/^\[1\](.*# lid \([0-9]*\) lmc.*/\1/p' \
		"$tmp/net" | sort -n >"$tmp/lids"
	seq $all | cmp - "$tmp/lids"
}

# The GUIDs of nodes that were made later go on, and keep out of the fabric's bits
numbers()
{
	local i batch names
	for ((batch = 0; batch < 70; batch++)); do
		names=()
		for ((i = 0; i < 1000; i++)); do
			names+=("$configfs/full/t$i")
		done
		mkdir "${names[@]}"
		cat $configfs/full/t{0..999}/guid >>"$tmp/guids"
		rmdir "${names[@]}"
	done
	says "^70000$" grep -c . "$tmp/guids"
	has_no -qv "^$(cut -c1-12 <"$configfs/full/core/guid")" "$tmp/guids"
	# None is that of a node that is there
	put $configfs/full/live 0
	put $configfs/full/live 1
}

too_many()
{
	local i
	for ((i = 0; i < 17000; i += 1000)); do
		eval "mkdir $configfs/full/u{$i..$((i + 999))}" 2>"$tmp/full" || break
	done
	says "No space left" cat "$tmp/full"
	says "^65535$" grep -cE "^(Hca|Switch)" $debugfs/full/topology
}

opensm_over_it()
{
	check "load" load topology=none
	check "a full subnet" eval 'topology $all >"$tmp/topology"
		"$madsim_load" -n full -d 1 "$tmp/topology"'
	check "opensm brings it up" eval '
		sm_once full $(devices)
		state_is $(devices) 1 ACTIVE'
	check "49,151 ports have 49,151 LIDs" lids
	check "70,000 more nodes come and go: each has a GUID of its own" numbers
	check "65,535 nodes are all: ENOSPC" too_many
	check "it is removed" eval '"$madsim_load" -r full; unload'
	finish
}

case ${1-} in
cost)	cost ;;
opensm)	opensm_over_it ;;
*)	ktap_bail "usage: guest.sh cost|opensm" ;;
esac
