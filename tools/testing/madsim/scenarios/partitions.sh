#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Partitions that overlap: hosts have the P_Keys of the configuration, and there is a path
# between two of them exactly if they share one that one of them has in full.

. "$(dirname "$0")/lib.sh"

load topology=star:8 devices=8 || bail "cannot load ib_madsim"
declare -A guid=()
for device in $(devices); do
	guid[$(cat "/sys/class/infiniband/$device/node_name")]=$(port_guid "$device")
done

# conf PARTITION HOST[=limited] ...
conf()
{
	local member all=
	for member in "${@:2}"; do
		all+="${all:+, }${guid[${member%=*}]}"
		[[ $member = *=* ]] && all+=" = limited" || all+=" = full"
	done
	echo "P$1=0x$1 : $all ;"
}
{
	# The subnet manager is in all of them, to be asked
	echo "Default=0x7fff : ALL=limited, ALL_SWITCHES=full, SELF=full ;"
	conf 0010 H1 H2 H3
	conf 0020 H3 H4
	conf 0030 H5 H6=limited H7=limited
} >"$tmp/partitions"
SM_MORE="partition_config_file $tmp/partitions" sm_start sm "$(device H8)"
on="-C $(device H8) -P 1"
check "all ports become active" until_true 60 active 8

# has HOST P_KEY ...: and no other
has()
{
	local host=$1
	shift
	diff <(smpquery -C "$(device H8)" -P 1 pkeys "$(lid "$(device "$host")")" |
		grep -o '0x[0-9a-f]\{4\}' | grep -v 0x0000 | sort) <(printf '%s\n' "$@" | sort)
}
all_have()
{
	has H1 0x7fff 0x8010 && has H2 0x7fff 0x8010 && has H3 0x7fff 0x8010 0x8020 &&
		has H4 0x7fff 0x8020 && has H5 0x7fff 0x8030 && has H6 0x7fff 0x0030 &&
		has H7 0x7fff 0x0030 && has H8 0xffff
}
check "each host has its P_Keys" until_true 30 all_have

# paths: "FROM TO P_KEY" of hosts, as the subnet administration has them
paths()
{
	local i
	for i in {1..8}; do
		echo "$(lid "$(device H$i)") H$i"
	done >"$tmp/names"
	saquery $on PR | awk '
		FNR == NR { name[$1] = $2; next }
		$1 ~ /^dlid\./ { sub(/.*\./, "", $1); dlid = $1 }
		$1 ~ /^slid\./ { sub(/.*\./, "", $1); slid = $1 }
		$1 ~ /^pkey\./ { sub(/.*0x/, "", $1)
			if (slid in name && dlid in name && slid != dlid)
				print name[slid], name[dlid] }' "$tmp/names" - | sort -u
}
wanted()
{
	local pair
	for pair in "1 2" "1 3" "2 3" "3 4" "5 6" "5 7" \
			"1 8" "2 8" "3 8" "4 8" "5 8" "6 8" "7 8"; do
		echo "H${pair% *} H${pair#* }"
		echo "H${pair#* } H${pair% *}"
	done | sort
}
check "paths within partitions, and no others" eval 'diff <(wanted) <(paths)'
# Another file, read again
others_have()
{
	has H3 0x7fff 0x8010 && has H4 0x7fff 0x8040 && has H5 0x7fff 0x8030 0x8040
}
sed -i '/^P0020/d' "$tmp/partitions"
conf 0040 H4 H5 >>"$tmp/partitions"
check "another configuration takes their place" eval '
	kill -HUP "$(cat "$tmp/sm.pid")"
	until_true 30 others_have
	paths >"$tmp/paths"
	grep -qx "H4 H5" "$tmp/paths"
	has_no "H3 H4" "$tmp/paths"'
the_end sm
