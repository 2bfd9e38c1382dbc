#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Topology files: each example of ibsim-utils gives its own graph back, a dump
# of ibnetdiscover can be loaded, and so can what has become of one in real life.
# With --strict a file that is wrong makes nothing.

. "$(dirname "$0")/lib.sh"

examples=/usr/share/doc/ibsim-utils/net-examples
[ -d "$examples" ] || bail "$examples is missing: install ibsim-utils"
files=$(find "$examples" -name 'net*' -type f | sort)
[ "$files" ] || bail "no topology in $examples"

switch=$(switches) && switches=1 || switches=
# shellcheck disable=SC2086	# may be nothing
load topology=none $switch || bail "cannot load ib_madsim"

# round_trip FILE WHAT: -D to compare by description, or nothing
round_trip()
{
	local dev
	"$madsim_load" -n trip -d 1 "$1"
	trap '"$madsim_load" -r trip; rm -rf "$tmp"/trip*' EXIT
	dev=$(devices)
	# opensm would remember the neighbours of the file before
	mkdir "$tmp/trip"
	OSM_CACHE_DIR=$tmp/trip opensm -o -g "$(port_guid "$dev" "$(first_up "$dev")")" \
		-f "$tmp/trip.log"
	sm_log_clean trip
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

# Names mean nothing to the programs that they pass through
cat >"$tmp/names" <<'FILE'
Switch 4 "-o'brien's"
[1] "a\b"[1]
[2] "*"[1]
[3] "$x`y`;z"[1]

Hca 1 "a\b"
[1] "-o'brien's"[1]

Hca 1 "*"
[1] "-o'brien's"[2]

Hca 1 "$x`y`;z"
[1] "-o'brien's"[3]
FILE
names()
{
	cd /
	makes names -d 0 -N "*" "$tmp/names"
	diff <("$madsim_load" -g "$tmp/names") <("$madsim_load" -g "$debugfs/names/topology")
	device "*"
}
check "names with quotes, dashes and what else a shell knows" names

# understood PATTERN ...: the file on the input is loaded, and these are the lines of what is
# said of it, after its name and the number of a line. What its links are is in "graph".
understood()
{
	local said

	cat >"$tmp/odd"
	"$madsim_load" -g "$tmp/odd" >"$tmp/found" 2>"$tmp/complaints"
	said=$(sed "s,^$tmp/odd:,," "$tmp/complaints")
	diff <(for line; do printf '%s\n' "$line"; done) <(printf '%s' "${said:+$said
}")
	if [ $# -gt 0 ]; then
		refuses "^$tmp/odd:" "$madsim_load" --strict "$tmp/odd"
	fi
	[ -z "$(ls $configfs)" ]
	printf '%s\n' "${graph[@]}" | diff - "$tmp/found"
	makes odd -d 1 "$tmp/odd"
	says "^1$" cat $configfs/odd/live
	# Complaints do not depend on the way, and the driver has what was found
	diff "$tmp/found" <("$madsim_load" -g $debugfs/odd/topology)
}
graph=('"H-0002c90300000101"[1] "S-0002c90300000001"[1] ndr')
pair_lines='vendid=0x2c9
Switch	4 "S-0002c90300000001"		# "leaf" base port 0 lid 1 lmc 0
[1]	"H-0002c90300000101"[1](2c90300000101)		# "one mlx5_0" lid 2 4xNDR

Ca	1 "H-0002c90300000101"		# "one mlx5_0"
[1](2c90300000101)	"S-0002c90300000001"[1]		# lid 2 lmc 0 "leaf" lid 1 4xNDR'

check "a byte order mark, and lines that end as in DOS" eval '
	printf "\357\273\277%s\n" "$pair_lines" | sed "s/\$/\r/" | understood'
check "no empty line between nodes, and too many" eval '
	grep . <<<"$pair_lines" | understood
	sed "s/\$/\n/" <<<"$pair_lines" | understood'
check "tabs that the log of a terminal has lost" eval '
	tr -d "\t" <<<"$pair_lines" | understood'
check "lines of other programs in between" eval '
	understood "1: cannot make sense of: root@h:~# ibnetdiscover: left out" \
		"3: cannot make sense of: ibwarn: [42] something timed out: left out" <<FILE
root@h:~# ibnetdiscover
vendid=0x2c9
ibwarn: [42] something timed out
$pair_lines
FILE'
check "heads of chassis" understood <<FILE
Chassis 1 (guid 0x2c90300000aa)

sysimgguid=0x2c9030000aa		# Chassis 1 slot 2
switchguid=0x2c90300000001(2c90300000001)	# Line 2
Chassis 2
Non-Chassis Nodes
$pair_lines
FILE
# As ibdiagnet writes them: port numbers of the case, and of a split port
check "labels of ports" understood <<'FILE'
Switch  65 "S-0002c90300000001"      # "leaf" base port 0 lid 1 lmc 0
[1](1/1/1) "H-0002c90300000101"[1](2c90300000101)      # "one mlx5_0" lid 2 4xNDR
Ca  1 "H-0002c90300000101"      # "one mlx5_0"
[1](B1D2F1/1/1/1)(2c90300000101) "S-0002c90300000001"[1] # lid 2 lmc 0 "leaf" lid 1 4xNDR
FILE
labelled_guid()
{
	makes label -d 1 "$tmp/odd"
	says "^0x0002c90300000101$" cat $configfs/label/H-0002c90300000101/port_guid
}
check "labels are no GUIDs" labelled_guid
check "ibnetdiscover --full" understood <<'FILE'
Switch 4 "S-0002c90300000001" # "leaf" base port 0 lid 1 lmc 0
[1] "H-0002c90300000101"[1](2c90300000101) # "one" lid 2 4xNDR s=4 w=2 v=4
Ca 1 "H-0002c90300000101" # "one"
[1](2c90300000101) "S-0002c90300000001"[1] (2c90300000101) # lid 2 lmc 0 "leaf" lid 1 4xNDR s=4 w=2 v=4
FILE
graph=('"H-0002c903000000a1"[1] "S-0002c90300000001"[1] hdr'
       '"H-0002c903000000a1"[2] "S-0002c90300000002"[80] 2x hdr'
       '"H-0002c903000000b1"[1] "S-0002c90300000001"[7] fdr10')
check "ibnetdiscover -p" understood \
	"7: routers are not simulated: left out, with its links" <<'FILE'
CA     2  2 0x0002c903000000a2 2x HDR - SW     9 80 0x0002c90300000002 ( 'old - one' - 'spine' )
CA     1  1 0x0002c903000000a1 4x HDR - SW     8  1 0x0002c90300000001 ( 'old - one' - 'leaf' )
SW     8  7 0x0002c90300000001 4x FDR10 - CA     5  1 0x0002c903000000b1 ( 'leaf' - 'two' )
SW     8  1 0x0002c90300000001 4x HDR - CA     1  1 0x0002c903000000a1 ( 'leaf' - 'old - one' )
SW     8  3 0x0002c90300000001 4x ???                                    'leaf'
SW     9  3 0x0002c90300000002 4x ???                                    spine
SW     9  4 0x0002c90300000002 4x EDR - RT     7  1 0x0002c903000000c1 ( 'spine' - 'router' )
FILE
sizes()
{
	makes report -d 1 "$tmp/odd"
	says "^2$" cat $configfs/report/H-0002c903000000a1/ports
	says "^80$" cat $configfs/report/S-0002c90300000002/ports
	says "^0x0002c903000000a1$" cat $configfs/report/H-0002c903000000a1/port_guid
	says "^old - one$" cat $configfs/report/H-0002c903000000a1/description
	says "^spine$" cat $configfs/report/S-0002c90300000002/description
}
check "ibnetdiscover -p: ports, GUIDs and descriptions" sizes
graph=('"H-0002c90300xxxxxx"[1] "S-0002c90300xxxxxx"[1] ndr'
       '"H-0002c90300xxxxxx.2"[1] "S-0002c90300xxxxxx.2"[1] edr'
       '"S-0002c90300xxxxxx"[129] "S-0002c90300xxxxxx.2"[129] 2x ndr')
check "GUIDs that somebody has made illegible, and 129 ports" understood \
	"6: 5 GUIDs cannot be read, the first here: they are others here" \
	'8: a second node "S-0002c90300xxxxxx": it becomes "S-0002c90300xxxxxx.2", and has another GUID' \
	'15: a second node "H-0002c90300xxxxxx": it becomes "H-0002c90300xxxxxx.2", and has another GUID' \
	<<'FILE'
vendid=0x2c9
devid=0xd2f2
Switch 129 "S-0002c90300xxxxxx"	# "left" base port 0 lid 1 lmc 0
[1](1/1/1) "H-0002c90300xxxxxx"[1](2c90300xxxxxx)	# "one" lid 3 4xNDR
[129] "S-0002c90300xxxxxx"[129]	# "right" lid 2 2xNDR
sysimgguid=0x2c90300xxxxxx
switchguid=0x2c90300<redacted>(2c90300<redacted>)
Switch 129 "S-0002c90300xxxxxx"	# "right" base port 0 lid 2 lmc 0
[1](1/1/1) "H-0002c90300xxxxxx"[1](2c90300xxxxxx)	# "two" lid 4 4xEDR
[129] "S-0002c90300xxxxxx"[129]	# "left" lid 1 2xNDR
caguid=0x2c90300xxxxxx
Ca 1 "H-0002c90300xxxxxx"	# "one"
[1](2c90300xxxxxx) "S-0002c90300xxxxxx"[1]	# lid 3 lmc 0 "left" lid 1 4xNDR
sysimgguid=0x2c90300xxxxxx
Ca 1 "H-0002c90300xxxxxx"	# "two"
[1](2c90300xxxxxx) "S-0002c90300xxxxxx"[1]	# lid 4 lmc 0 "right" lid 2 4xEDR
caguid=xxxx
FILE
graph=('"A"[1] "S"[1]' '"B"[1] "S"[2]' '"C"[1] "S"[3]')
check "two nodes with one GUID, two ports with one, and a node twice" understood \
	'11: a second node "A": the same once more' \
	'9: "B" has the GUID of "A": it gets another' \
	'14: "C" has the port GUID of "A": it gets another' <<'FILE'
Switch 4 "S"
[1] "A"[1]
[2] "B"[1]
[3] "C"[1]
caguid=0x77
Ca 1 "A"
[1](78) "S"[1]
caguid=0x77
Ca 1 "B"
[1](79) "S"[2]
Ca 1 "A"
[1](78) "S"[1]
caguid=0x7a
Ca 1 "C"
[1](78) "S"[3]
FILE
graph=('"A"[1] "S"[1] 1x sdr' '"B"[1] "S"[2] ddr')
check "links that are less than their ends" understood \
	'3: a link has no speed ???: taken for qdr' \
	'2: the ends of the link differ: 4x, 1x: the lesser counts' \
	'2: the ends of the link differ: qdr, sdr: the lesser counts' <<'FILE'
Switch 4 "S"
[1] "A"[1]	# "A" lid 1 4xQDR
[2] "B"[1]	# "B" lid 2 4x???
Ca 1 "A"
[1] "S"[1]	# "S" lid 3 1xSDR
Ca 1 "B"
[1] "S"[2]	# "S" lid 3 4xDDR
FILE
graph=('"A"[1] "S"[1]')
check "routers, and what leads nowhere" understood \
	'5: "S" has no port 9: the link is left out' \
	'8: routers are not simulated: left out, with its links' \
	'10: 0 ports, a node has 1 to 254: the node is left out' \
	'13: cannot make sense of: [1] to A: left out' \
	'3: there is no node "B": the link is left out' \
	'6: port 4 of "S" is linked to itself: the link is left out' \
	'7: port 1 of "S" is linked twice: the first link stays' <<'FILE'
Switch 4 "S"
[1] "A"[1]
[2] "B"[1]
[3] "R"[1]
[9] "A"[2]
[4] "S"[4]
[1] "A"[2]
Rt 2 "R"
[1](123) "S"[3]
Ca 0 "Z"
[1] "S"[3]
Ca 2 "A"
[1] to A
[1] "S"[1]
FILE
no_host()
{
	makes sharp -d 1 - <<-'FILE'
	Switch 4 "S"
	[1] "AN"[1]
	[2] "H"[1]
	Ca 1 "AN"	# "Mellanox Technologies Aggregation Node"
	[1] "S"[1]
	Ca 1 "H"	# "host"
	[1] "S"[2]
	FILE
	device H
	fails device AN
	says "Aggregation" cat $configfs/sharp/AN/description
}
check "an aggregation node is there, and no RDMA device" no_host

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
	OSM_CACHE_DIR=$tmp opensm -o -g "$(port_guid "$(devices)")" -f "$tmp/dot.log"
	says '^	"A" -- "S" .*"12x qdr active"\]$' "$madsim_load" --dot wide
}
check "a graph for graphviz, with states" drawn
check "no graph of nothing" refuses "cannot read" "$madsim_load" --dot nosuch

# wrong NAME LINE MESSAGE TEXT ...: with --strict, a file of these lines is refused for this
wrong()
{
	printf '%s\n' "${@:4}" >"$tmp/wrong"
	check "$1" refuses "^$tmp/wrong:$2: $3" "$madsim_load" --strict "$tmp/wrong"
}
sw='Switch 4 "S"'
wrong "ends that do not agree" 5 'port 1 of "H" is linked twice' \
	"$sw" '[1] "H"[1]' '' 'Hca 2 "H"' '[1] "S"[2]'
wrong "no such port at the other end" 2 '"H" has no port 3' "$sw" '[1] "H"[3]' '' 'Hca 2 "H"'
wrong "a node twice" 3 'a second node "S"' "$sw" '' "$sw"
wrong "too many ports" 1 '255 ports' 'Switch 255 "S"'
wrong "a port outside of a node" 1 'a port outside of a node' '[1] "S"[1]'
wrong "a speed that there is not" 2 'e=16 is not between' "$sw" '[1] "H"[1] e=16'
wrong "a width that there is not" 2 'w=3 is none of' "$sw" '[1] "H"[1] w=3'
wrong "ends of different kind" 2 'the ends of the link differ: 12x, 4x' \
	"$sw" '[1] "H"[1] w=12' '' 'Hca 2 "H"' '[1] "S"[1] w=4'
wrong "an ID that is none" 1 'cannot make sense of: devid=x' devid=x "$sw"
wrong "a router as ibnetdiscover prints it" 5 'routers are not simulated' vendid=0x2c9 \
	devid=0xb924 sysimgguid=0x2c9000100d051 rtguid=0x2c9000100d050 \
	'Rt	2 "R-0002c9000100d050"		# "router"'
check "nothing at all" refuses "^-:0: no node in it" "$madsim_load" --strict - </dev/null
check "nothing of them has been made" eval '[ -z "$(ls $configfs)" ]'
check "no node, without --strict" refuses "no node in it" "$madsim_load" - <<<hello
check "no such file" refuses "cannot read" "$madsim_load" /no/such/file
the_end
