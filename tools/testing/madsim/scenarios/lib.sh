# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# What the scenarios share: they judge a subnet manager's work by what the nodes say,
# never by what it says itself.
# shellcheck shell=bash

# shellcheck source=tools/testing/madsim/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

# tables DEVICE: what all switches have, to be walked
tables()
{
	ibnetdiscover -C "$1" -P 1 >"$tmp/net"
	dump_fts -n -C "$1" -P 1 >"$tmp/lfts"
	dump_fts -n -M -C "$1" -P 1 >"$tmp/mfts"
}

# walk DEVICE "N LIDs, M ways" [OPTION ...]: of walk.awk
walk()
{
	local device=$1 wanted=$2
	shift 2
	tables "$device"
	says "^$wanted\$" awk "$@" -f "$here/scenarios/walk.awk" "$tmp/net" "$tmp/lfts" "$tmp/mfts"
}

# whole DEVICE PORTS: from each of so many ports there is a way to each one
whole()
{
	walk "$1" "$2 LIDs, $(($2 * $2)) ways"
}

declare -A netdev=() member=()

# interfaces: all devices have one. They are up, and netdev has their names.
interfaces()
{
	local dev guid

	for dev in $(devices); do
		guid=$(port_guid "$dev" | sed 's/0x//; s/../:&/g')
		netdev[$dev]=$(grep -l "$guid\$" /sys/class/net/*/address | cut -d/ -f5)
		ip link set "${netdev[$dev]}" up || return
	done
}

# join DEVICE ADDRESS, part DEVICE ADDRESS: member has who is in which group of IPv4, by a
# program with a socket
join()
{
	python3 -c '
import signal, socket, sys

name, address = sys.argv[1:]
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sock.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(address) +
                bytes(4) + socket.if_nametoindex(name).to_bytes(4, sys.byteorder))
signal.pause()' "${netdev[$1]}" "$2" &
	member[$1/$2]=$!
	sm_pids+=($!)
	# A child that part() kills before it is Python would run at_end() of this shell
	until_true 20 says "inet +${2//./\\.}\$" ip maddr show dev "${netdev[$1]}"
}
part()
{
	kill "${member[$1/$2]}"
	wait "${member[$1/$2]}"
	unset "member[$1/$2]"
}

# mlid ADDRESS: its multicast LID, or nothing. IPoIB has its low 28 bits in the MGID.
mlid()
{
	local low

	low=$(awk -F. '{ printf "%x:%x\n", $1 % 16 * 256 + $2, $3 * 256 + $4 }' <<<"$1")
	saquery -C madsim0 -P 1 -g | awk -v low="$low" '
		$1 ~ /^MGID/ { found = $1 ~ "ff12:401b:ffff:.*:" low "$" }
		$1 ~ /^Mlid/ && found { sub(/.*\./, "", $1); print tolower($1) }'
}

# members: all of them, for walk.awk
members()
{
	local key address mlid

	for address in $(printf '%s\n' "${!member[@]}" | cut -d/ -f2 | sort -u); do
		mlid=$(mlid "$address")
		for key in "${!member[@]}"; do
			[ "${key#*/}" != "$address" ] || echo "$mlid:$(lid "${key%/*}")"
		done
	done
}

# multicast "N LIDs, M ways": the tables of the switches have who is a member, and no
# other: each gets one copy from each other one in its group
multicast()
{
	local all copies

	all=$(members)
	copies=$(cut -d: -f1 <<<"$all" | sort | uniq -c |
		awk '{ n += $1 * ($1 - 1) } END { print n }')
	echo "$all"
	walk madsim0 "$1, $copies copies" -v members="$(xargs <<<"$all")"
}
