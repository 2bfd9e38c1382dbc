#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Topology files: each example of ibsim-utils gives its own graph back, and so does what
# ibnetdiscover, iblinkinfo and opensm say of a fabric. What is read of a file is tested
# without a kernel, by topology.py of tools/testing/tools.

. "$(dirname "$0")/lib.sh"

examples=/usr/share/doc/ibsim-utils/net-examples
[ -d "$examples" ] || ktap_bail "$examples is missing: install ibsim-utils"
files=$(find "$examples" -name 'net*' -type f | sort)
[ "$files" ] || ktap_bail "no topology in $examples"

switch=$(switches) && switches=1 || switches=
# shellcheck disable=SC2086	# may be nothing
load topology=none $switch || ktap_bail "cannot load ib_madsim"

# round_trip FILE WHAT: -D to compare by description, or nothing
round_trip()
{
	local dev
	"$madsim_load" -n trip -d 1 "$1"
	trap '"$madsim_load" -r trip; rm -rf "$tmp"/trip*' EXIT
	dev=$(devices)
	sm_once trip "$dev" "$(first_up "$dev")"
	ibnetdiscover -C "$dev" -P "$(first_up "$dev")" >"$tmp/trip.net"
	"$madsim_load" -g "$1" >"$tmp/before"
	"$madsim_load" -g ${2-} "$tmp/trip.net" >"$tmp/after"
	[ -s "$tmp/before" ]
	diff "$tmp/before" "$tmp/after"
}

# makes NAME ARGUMENT ...: a fabric, until the check ends
makes()
{
	fabric=$1
	"$madsim_load" -n "$fabric" "${@:2}"
	trap '"$madsim_load" -r "$fabric"' EXIT
}

first_up()
{
	grep -l LinkUp "/sys/class/infiniband/$1"/ports/*/phys_state |
		sed 's,/phys_state,,; s,.*/,,' | head -n 1
}

for file in $files; do
	check "round trip of ${file##*/}" round_trip "$file" -D
done

dump()
{
	"$madsim_load" -n dump -d 1 "$examples/net.2sw2path4hca"
	ibnetdiscover -C "$(devices)" -P 1 >"$tmp/dump"
	"$madsim_load" -r dump
	round_trip "$tmp/dump"
}
check "round trip of what ibnetdiscover said" dump
check "nothing is left" eval '[ -z "$(ls $configfs)" ]; [ -z "$(devices)" ]'

chosen()
{
	makes pick -d 0 -N "$1" "$examples/net.1"
	device "$1"
	fails device Hca1
}
check "a chosen host becomes a device" chosen Hca2
if [ $switches ]; then
	check "a chosen switch becomes a device" chosen Switch1
else
	skip "a chosen switch becomes a device" "ib_cm would crash"
fi

# Links of every kind: in the driver, on the wire, and back in a file. Each host has what the
# switch says of its link, and what it says itself
links=(
	"A| w=12|"
	"B|| s=2"
	"C|	w=1 s=1|	# \"S\" lid 2 1xSDR"
	"D||	# \"S\" lid 2 4xEDR"
	"E||	# \"S\" lid 2 4xFDR10"
	"F|| s=7 e=1"
	"G||	# \"S\" lid 2 2xHDR"
	"H|| w=1 e=15"
	"I|	# \"I\" lid 3 4xXDR|"
)
{
	echo "Switch ${#links[@]} \"S\""
	for i in "${!links[@]}"; do
		IFS="|" read -r host there _ <<<"${links[i]}"
		echo "[$((i + 1))] \"$host\"[1]$there"
	done
	for i in "${!links[@]}"; do
		IFS="|" read -r host _ here <<<"${links[i]}"
		printf '\n%s\n%s\n' "Hca 1 \"$host\"" "[1] \"S\"[$((i + 1))]$here"
	done
} >"$tmp/wide"
# rate NODE TEXT: what sysfs says of its RDMA device
rate()
{
	says "^$2$" cat "/sys/class/infiniband/$(device "$1")/ports/1/rate"
}
widths()
{
	makes wide -d 9 "$tmp/wide"
	diff <("$madsim_load" -g "$tmp/wide") <("$madsim_load" -g "$debugfs/wide/topology")
	# Links alone would tell of a node that is not shown
	says "^$((${#links[@]} + 1))$" grep -Ec "^(Switch|Hca)" "$debugfs/wide/topology"
	all_say iblinkinfo -C "$(device A)" -P 1 -- \
		"==\(12X +10\.0 Gbps Initialize/ +LinkUp\)==>.*\"A\"" \
		"==\( 4X +5\.0 Gbps Initialize/ +LinkUp\)==>.*\"B\"" \
		"==\( 1X +2\.5 Gbps Initialize/ +LinkUp\)==>.*\"C\"" \
		"==\( 4X +25\.78125 Gbps Initialize/ +LinkUp\)==>.*\"D\"" \
		"==\( 4X +14\.0625 Gbps Initialize/ +LinkUp\)==>.*\"F\"" \
		"==\( 2X +53\.125 Gbps Initialize/ +LinkUp\)==>.*\"G\"" \
		"==\( 1X +106\.25 Gbps Initialize/ +LinkUp\)==>.*\"H\""
	rate B "20 Gb/sec \(4X DDR\)"
	rate D "100 Gb/sec \(4X EDR\)"
	rate E "40 Gb/sec \(4X FDR10\)"
	rate F "56 Gb/sec \(4X FDR\)"
	rate G "100 Gb/sec \(2X HDR\)"
	rate H "100 Gb/sec \(1X NDR\)"
	if [ "$(uname -r | cut -d. -f1-2)" != 6.1 ]; then
		rate I "800 Gb/sec \(4X XDR\)"
	fi
}
check "widths and speeds: as the diagnostics see them" widths

# path_rate FROM TO CODE: what opensm makes of it for who wants to send
path_rate()
{
	says "rate\.+0x[08]?$3\$" saquery -C "$(device D)" -P 1 --src-to-dst "$1:$2"
}
path_rates()
{
	"$madsim_load" -n wide -d 9 "$tmp/wide"
	trap 'sm_end paths; "$madsim_load" -r wide' EXIT
	sm_start paths "$(device D)"
	until_true 30 state_is "$(device D)" 1 ACTIVE
	until_true 30 state_is "$(device F)" 1 ACTIVE
	until_true 30 path_rate D F C	# 56 Gb/s
	path_rate D B 6			# 20 Gb/s
	path_rate B D 6
}
check "widths and speeds: path records" path_rates

# The same but for what the diagnostics of some releases do not know: XDR, and
# FDR10 of a device that is none of Mellanox's
sed '/^Hca.*"[EI]"/,/^$/d; /"[EI]"/d' "$tmp/wide" >"$tmp/known"
check "widths and speeds: round trip" round_trip "$tmp/known" -D

# A cluster of two generations as ibnetdiscover prints it, FDR10 among the links:
# all that is there comes back
cat >"$tmp/cluster" <<'FILE'
vendid=0x2c9
devid=0xd2f0
sysimgguid=0xb8cef603000f0d00
switchguid=0xb8cef603000f0d01(b8cef603000f0d02)
Switch	41 "S-b8cef603000f0d01"		# "Quantum" base port 0 lid 0 lmc 0
[1]	"H-b8cef603000f0e00"[1](b8cef603000f0e00) 		# "node1 mlx5_0" lid 0 4xHDR
[2]	"H-b8cef603000f0e01"[1](b8cef603000f0e01) 		# "node1 mlx5_1" lid 0 2xHDR
[40]	"S-0002c903007a1b20"[36]		# "SwitchX" lid 0 4xFDR

vendid=0x2c9
devid=0xc738
sysimgguid=0x2c903007a1b20
switchguid=0x2c903007a1b20(2c903007a1b20)
Switch	36 "S-0002c903007a1b20"		# "SwitchX" base port 0 lid 0 lmc 0
[1]	"H-e41d2d0300e1f2a0"[2](e41d2d0300e1f2a2) 		# "old1 HCA-1" lid 0 4xFDR10
[36]	"S-b8cef603000f0d01"[40]		# "Quantum" lid 0 4xFDR

vendid=0x2c9
devid=0x1003
sysimgguid=0xe41d2d0300e1f2a3
caguid=0xe41d2d0300e1f2a0
Ca	2 "H-e41d2d0300e1f2a0"		# "old1 HCA-1"
[2](e41d2d0300e1f2a2) 	"S-0002c903007a1b20"[1]		# lid 0 lmc 0 "SwitchX" lid 0 4xFDR10

vendid=0x2c9
devid=0x101b
sysimgguid=0xb8cef603000f0e00
caguid=0xb8cef603000f0e01
Ca	1 "H-b8cef603000f0e01"		# "node1 mlx5_1"
[1](b8cef603000f0e01) 	"S-b8cef603000f0d01"[2]		# lid 0 lmc 0 "Quantum" lid 0 2xHDR

vendid=0x2c9
devid=0x101b
sysimgguid=0xb8cef603000f0e00
caguid=0xb8cef603000f0e00
Ca	1 "H-b8cef603000f0e00"		# "node1 mlx5_0"
[1](b8cef603000f0e00) 	"S-b8cef603000f0d01"[1]		# lid 0 lmc 0 "Quantum" lid 0 4xHDR
FILE
cluster()
{
	makes cluster -d 1 "$tmp/cluster"
	ibnetdiscover -C "$(devices)" -P "$(first_up "$(devices)")" |
		grep -v '^#' >"$tmp/cluster.net"
	diff <(grep . "$tmp/cluster" | sort) <(grep . "$tmp/cluster.net" | sort)
}
check "vendors, devices, GUIDs, descriptions and speeds of a cluster" cluster

# Names mean nothing to the programs that they pass through, nor do bytes that are no UTF-8
cat >"$tmp/names" <<'FILE'
Switch 4 "-o'brien's"
[1] "a\b"[1]
[2] "*"[1]
[3] "$x`y`;z"[1]

Hca 1 "a\b"
[1] "-o'brien's"[1]

Hca 1 "*"	# "n@1 HCA-1"
[1] "-o'brien's"[2]

Hca 1 "$x`y`;z"
[1] "-o'brien's"[3]
FILE
tr @ '\366' <"$tmp/names" >"$tmp/latin1"
names()
{
	export LC_ALL=C.UTF-8
	cd /
	makes names -d 0 -N "*" "$tmp/latin1"
	diff <("$madsim_load" -g "$tmp/latin1") <("$madsim_load" -g "$debugfs/names/topology")
	printf 'n\3661 HCA-1\n' | cmp - "/sys/class/infiniband/$(device "*")/node_desc"
}
check "names with quotes, dashes and what else a shell knows, in Latin-1" names
check "a name that the driver has for itself" refuses \
	"^madsim-load: the driver refuses a node of this name: live$" "$madsim_load" - <<'FILE'
Hca 1 "A"
Hca 1 "live"
Hca 1 "Z"
FILE

# What several programs say of one fabric. Speeds that some releases do not know are not there
sed '/^Hca.*"[HEI]"/,/^$/d; /"[HEI]"/d' "$tmp/wide" >"$tmp/old"
several()
{
	local dev file
	makes several -d 1 "$tmp/old"
	dev=$(devices)
	mkdir "$tmp/several"
	# It writes opensm-subnet.lst if it logs routes
	OSM_CACHE_DIR=$tmp/several OSM_TMP_DIR=$tmp/several opensm -o -D 0x43 \
		-g "$(port_guid "$dev")" -f "$tmp/several/log"
	cd "$tmp/several"
	ibnetdiscover -C "$dev" -P 1 >net
	ibnetdiscover -p -C "$dev" -P 1 >ports
	iblinkinfo -C "$dev" -P 1 >linkinfo
	iblinkinfo -l -C "$dev" -P 1 >linkinfo-l
	"$madsim_load" -g -D "$tmp/old" >wanted
	for file in net ports linkinfo linkinfo-l opensm-subnet.lst; do
		"$madsim_load" --strict -g -D $file >found
		echo $file
		diff wanted found
	done
}
check "what several programs say of one fabric" several

# A host that the file does not have, with the four ports of an adapter of XDR, the third linked
made()
{
	local dev
	makes made -d 1 - <<-'FILE'
	Switch 4 "S-0002c90300000001"
	[1] "H-0002c90300000101"[4](2c90300000104)	# "one mlx5_0" lid 2 4xNDR
	FILE
	dev=$(device H-0002c90300000101)
	says '^0x0002c90300000104$' port_guid "$dev" 4
	says LinkUp cat "/sys/class/infiniband/$dev/ports/4/phys_state"
	says "^one mlx5_0$" cat "/sys/class/infiniband/$dev/node_desc"
}
check "a host of four ports that a switch tells of" made

drawn()
{
	all_say "$madsim_load" --dot "$tmp/wide" -- "^graph fabric" "^}$" \
		'^	"S" .label="S", shape=box' '^	"A" .label="A", shape=ellipse' \
		'^	"C" -- "S" .taillabel=1, headlabel=3, label="1x sdr"\]$'
	says "^9$" eval '"$madsim_load" --dot "$tmp/wide" | grep -c " -- "'
	makes wide -d 1 "$tmp/wide"
	says '^	"A" -- "S" .taillabel=1, headlabel=1, label="12x qdr init", style=dashed\]$' \
		"$madsim_load" --dot wide
	put $configfs/wide/faults "A 1 link down"
	says '^	"A" -- "S" .*"12x qdr down", style=dashed\]$' "$madsim_load" --dot wide
	put $configfs/wide/faults "A 1 link up"
	sm_once dot "$(devices)"
	says '^	"A" -- "S" .*"12x qdr active"\]$' "$madsim_load" --dot wide
}
check "a graph for graphviz, with states" drawn
check "no graph of nothing" refuses "cannot read" "$madsim_load" --dot nosuch

wrong()
{
	printf 'Switch 4 "S"\n[1] "A"[1]\nHca 1 "A"\noops\n' >"$tmp/wrong"
	refuses "^$tmp/wrong:4: cannot make sense of: oops$" "$madsim_load" --strict "$tmp/wrong"
	refuses "no node in it" "$madsim_load" - <<<hello
	[ -z "$(ls $configfs)" ]
}
check "what is wrong makes nothing" wrong
check "no such file" refuses "cannot read" "$madsim_load" /no/such/file
the_end
