#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# opensm's routing engines: from everywhere to everywhere, by the shortest way where they
# promise it, and without credit loops where they promise that.

. "$(dirname "$0")/lib.sh"

# A ring of six switches with a host each: the shortest ways are a credit loop
ring()
{
	local i
	for i in 0 1 2 3 4 5; do
		cat <<-FILE
		Switch 3 "S$i"
		[1] "H$i"[1]
		[2] "S$(((i + 1) % 6))"[3]

		Hca 1 "H$i"
		[1] "S$i"[1]

		FILE
	done
}
ring >"$tmp/ring"

# sls DEVICE: of all paths, for walk.awk
sls()
{
	saquery -C "$1" -P 1 PR | awk '
		$1 ~ /^dlid\./ { sub(/.*\./, "", $1); dlid = $1 }
		$1 ~ /^slid\./ { sub(/.*\./, "", $1); slid = $1 }
		$1 ~ /^sl\./ { sub(/.*0x/, "", $1); print slid, dlid, $1 }'
}
ring_fabric()
{
	load topology=none
	"$madsim_load" -n ring -d 2 "$tmp/ring"
	cat $configfs/ring/S0/guid >"$tmp/roots"
}
fat_tree()
{
	load topology=fattree:4 devices=2
}

# routed ENGINE FABRIC HOSTS PROMISE JUDGE ...: what walk.awk says of the tables of a
# fabric that had none before, of the ways between hosts. What the engine calls itself is
# in the log: it has not made room for another one. roots may be a file for root_guid_file.
routed()
{
	local engine=$1 device
	"$2"
	trap 'set +e; sm_end sm; "$madsim_load" -r ring 2>/dev/null; unload' EXIT
	device=$(devices | head -n 1)
	SM_MORE="routing_engine $engine
	${roots:+root_guid_file $roots}
	log_flags 0x07" sm_start sm "$device"
	until_true 60 walk "$device" "[0-9]+ LIDs, $(($3 * $3)) ways" -v hosts=1
	until_true 10 grep "[ :]$engine tables configured" "$tmp/sm.log"
	sls "$device" >"$tmp/sls"
	"${@:5}" awk -v hosts=1 -v "$4=1" -f "$here/scenarios/walk.awk" \
		"$tmp/net" "$tmp/lfts" "$tmp/sls"
}

# planted COMMAND ...: it sees one entry that is missing, one that ends too early, and one
# that leads elsewhere. LID 36 is that of a host.
planted()
{
	local edit

	cp "$tmp/lfts" "$tmp/good"
	for edit in '0,/^0x0024 /{/^0x0024 /d}' '0,/^0x0024 /s/^0x0024 .../0x0024 000/' \
			'0,/^0x0024 00[12]/s/^0x0024 00[12]/0x0024 003/'; do
		sed "$edit" "$tmp/good" >"$tmp/lfts"
		fails cmp "$tmp/lfts" "$tmp/good"
		refuses "LID 36" "$@"
	done
}

for engine in minhop updn dnup ftree sssp dfsssp lash; do
	check "$engine: every way in a fat tree, none longer than need be" \
		routed $engine fat_tree 16 shortest says ways
done
for engine in updn ftree dfsssp lash; do
	check "$engine: no credit loop in a fat tree" routed $engine fat_tree 16 acyclic says ways
done
for engine in dfsssp lash; do
	check "$engine: no credit loop in a ring" routed $engine ring_fabric 6 acyclic says ways
done
# A ring has no top that updn could find by itself
roots=$tmp/roots check "updn: no credit loop in a ring with a root" \
	routed updn ring_fabric 6 acyclic says ways
check "minhop: there is one, which shows that it would be seen" \
	routed minhop ring_fabric 6 acyclic refuses "a credit loop"
check "a table with a wrong entry would be seen, too" routed minhop fat_tree 16 shortest planted
finish
