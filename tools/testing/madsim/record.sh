#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# madsim-record: a fabric that is made of a recording is as the recorded one was, a recording
# can be anonymous, and agents that tell nonsense do not mislead it.

. "$(dirname "$0")/lib.sh"

have python3 ibnetdiscover

# Its second link between the switches will be degraded, and H-..100 records
h1=H-0002c90300000100 h3=H-0002c90300000300 leaf=S-0002c90300000010 spine=S-0002c90300000020
cat >"$tmp/topo" <<FILE
vendid=0x2c9
devid=0xc738
switchguid=0x2c90300000010(2c90300000010)
Switch 8 "$leaf"	# "leaf
[1] "$h1"[1]	# "node1 mlx5_0" lid 0 4xEDR
[2] "H-0002c90300000200"[1]	# "node2 HCA-1" lid 0 4xQDR
[7] "$spine"[7]	# "spine" lid 0 4xHDR
[8] "$spine"[8]	# "spine" lid 0 4xHDR
vendid=0x2c9
devid=0xc738
Switch 8 "$spine"	# "spine"
[1] "$h3"[1]	# "node3" lid 0 4xFDR10
[2] "H-0002c90300000200"[2]	# "node2 HCA-1" lid 0 4xDDR
vendid=0x2c9
devid=0x1011
Ca 1 "$h1"	# "node1 mlx5_0"
Ca 2 "H-0002c90300000200"	# "node2 HCA-1"
vendid=0x2c9
devid=0x1011
Ca 1 "$h3"	# "node3"
FILE

# made FILE [OPTION]: the fabric lab, whose first host has the device $dev
made()
{
	"$madsim_load" -n lab -d 2 "${@:2}" "$1"
	device $h1 >"$tmp/dev"
}

degrade()
{
	ibportstate -C "$dev" -P 1 -D 0,1 8 width 1
	ibportstate -C "$dev" -P 1 -D 0,1 8 reset
	until_true 10 says "^LinkWidthActive:\.*1X" smpquery -C "$dev" -P 1 -D portinfo 0,1 8
}

all_active()
{
	active 3
	iblinkinfo -C "$dev" -P 1 >"$tmp/links"
	has_no -E "Init|Armed" "$tmp/links"
}

trouble()
{
	put $configfs/lab/faults "$h3 refuse performance 0x1d"
	put $configfs/lab/faults "$leaf 1 symbol nth 3"
	unanswered perfquery -C "$dev" -P 1 -t 100 999
	put $configfs/lab/faults "$leaf 1 clear"
}

# What programs of others see, but for counters of what they send themselves
seen()
{
	local route lid port
	ibnetdiscover -C "$dev" -P 1 | grep -v '^#'
	for route in 0,1 0,1,7; do
		lid=$(lid_at "$dev" $route 0)
		ibroute -C "$dev" -P 1 "$lid"
		for port in 1 2 7 8; do
			perfquery -C "$dev" -P 1 "$lid" $port | grep -v "Data:\|Pkts:"
		done
	done
}

# What cannot be the same: IsSM, and what the ports of the degraded link could do. Where both
# recordings passed, a few packets more have been counted
same()
{
	python3 - "$@" <<-'PYTHON'
	import sys
	allowed = ((" 01 0015 0", 20, 24, 4, 2), (" 01 0015 00000008 ", 29, 31, 2, 0xffff),
	           (" 04 0012 ", 24, 40, 4, 1 << 18), (" 04 001d ", 8, 72, 8, 1 << 18))
	def told(path):
	    node = ""
	    for line in open(path):
	        if line[0] in "SC":
	            node = line.split('"')[1]
	        if line.startswith("#@ ") and len(line) > 9:
	            at, value = line[3:].rsplit(" ", 1)
	            yield f"{node} {at} ", value.strip().ljust(384, "0")
	one, two = (dict(told(path)) for path in sys.argv[1:])
	wrong = sorted(one.keys() ^ two.keys()) + ["no answers"] * (len(one) < 200)
	for at in one.keys() & two.keys():
	    a, b = one[at], two[at]
	    for what, first, end, size, most in allowed:
	        for i in range(2 * first, 2 * end, 2 * size) if what in at and "s" not in a + b else ():
	            x, y = (int(value[i:i + 2 * size], 16) for value in (a, b))
	            if abs(x - y) <= most and ("01" in what or x <= y):
	                b = b[:i] + a[i:i + 2 * size] + b[i + 2 * size:]
	    wrong += [f"{at}\n{a}\n{b}"] * (a != b)
	sys.exit("\n".join(wrong) or 0)
	PYTHON
}

# What opensm does not set: a multicast group, a key, disabled ports, another GUID
edited()
{
	awk -v h3=$h3 -v leaf=$leaf '
		/^(Switch|Ca)/ { split($0, part, "\""); node = part[2] }
		node == leaf && / 01 001b 00000000-0000001f 00$/ {
			print "#@ 0 01 001b 00000000 00000106"
			edits += sub(/00000000-/, "00000001-")
		}
		node == leaf && / 01 0015 00000003-00000006 / { edits += sub(/7122/, "7132") }
		node == h3 && / 01 0015 / { edits += sub(/ 0000000000000000fe8/, " 1122334455667788fe8") }
		node == h3 && / 01 0014 / { edits += sub(/$/, "000000000000beef") }
		{ print }
		END { exit edits != 4 }' "$tmp/live" >"$tmp/one"
}

load topology=none || ktap_bail "cannot load ib_madsim"
check "a fabric" made "$tmp/topo"
dev=$(cat "$tmp/dev")
check "a degraded link" degrade
echo "Default=0x7fff,ipoib: ALL=full; Other=0x8005: ALL=full;" >"$tmp/partitions"
SM_LMC=1 SM_MORE="partition_config_file $tmp/partitions
qos TRUE
qos_max_vls 4
qos_high_limit 3
qos_vlarb_high 0:4,1:2
qos_sl2vl 0,1,2,3,0,1,2,3,0,1,2,3,0,1,2,3" sm_start sm "$dev"
check "opensm" until_true 30 all_active
check "errors, and an attribute that is refused" trouble
check "what others see" eval 'seen >"$tmp/before"'
check "a recording" eval '
	"$madsim_record" -C "$dev" >"$tmp/live"
	says "^#@ 1 04 001d 00000001 status 0x000c" cat "$tmp/live"'
check "without comments it is what ibnetdiscover says" eval '
	diff <(grep "^[^#]" "$tmp/live" | sort) \
	     <(ibnetdiscover -C "$dev" -P 1 | grep "^[^#]" | sort)'
hidden()
{
	"$madsim_record" -C "$dev" --anonymise "$@" | grep "^[^#]"
}
check "the same key hides the same, and another one other things" eval '
	hidden one >"$tmp/hidden"
	hidden one | cmp - "$tmp/hidden"
	for key in two "" ""; do
		hidden $key >"$tmp/other"
		fails cmp "$tmp/other" "$tmp/hidden"
		mv "$tmp/other" "$tmp/hidden"
	done'
sm_end sm
"$madsim_load" -r lab

check "a fabric of the recording" made "$tmp/live" --replay
dev=$(cat "$tmp/dev")
check "others see the same, without opensm" eval '
	seen >"$tmp/after"
	diff "$tmp/before" "$tmp/after"'
"$madsim_load" -r lab
again()
{
	edited
	made "$tmp/one" --replay 2>"$tmp/named"
	says "^not as recorded: PortInfo LinkWidthSupported \(2, first $leaf 0x8\)$" cat "$tmp/named"
	"$madsim_record" >"$tmp/two"
	same "$tmp/one" "$tmp/two"
}
check "a recording of it is the same" again
# broken LINE SCRIPT: such a file is refused, and its line named
broken()
{
	sed "$2" "$tmp/one" >"$tmp/broken"
	refuses "$tmp/broken:$1: " "$madsim_record" --replay "$tmp/broken" lab
}
wrong_files()
{
	n=$(grep -n -m 1 "^#@ 0 01 0015" "$tmp/one" | cut -d: -f1)
	broken $n "${n}s/\$/0/"
	broken $n "${n}s/\$/$(printf '%0128d' 0)/"
	broken $n "${n}s/ 0015 / 0099 /"
	broken $n "${n}s/ 00000000 / 00000001-00000000 /"
	broken $n "${n}s/ 00000000 / 00000000-0fffffff /"
	broken $((n + 1)) "${n}p"
	broken 1 "1i #@ 0 01 0010 00000000 00"
	broken $((n - 1)) "$n,\$d"
	refuses "no such port" "$madsim_record" --replay "$tmp/one" nosuch
	"$madsim_load" -r lab
	refuses "$tmp/broken.*cannot be replayed" made "$tmp/broken" --replay
	[ ! -e $configfs/lab ]
}
anonymous()
{
	"$madsim_record" --anonymise >"$tmp/hidden"
	has_no -iE "2c90300|node[123]|leaf|spine|1122334455667788" "$tmp/hidden"
	"$madsim_load" -r lab
	"$madsim_load" -n lab --strict --replay "$tmp/hidden"
	"$madsim_record" >"$tmp/hidden.again"
	diff <(grep "^[^#]" "$tmp/hidden") <(grep "^[^#]" "$tmp/hidden.again")
}
check "an anonymous recording: none of the names, and all of the rest" anonymous
check "broken recordings" wrong_files

# Three hosts, of which two have one GUID and one is silent, and a switch linked to itself
nonsense()
{
	make_star $configfs/odd 8 h1+ h2 h3 h4
	put $configfs/odd/h2/guid 0x77
	put $configfs/odd/h3/guid 0x77
	put $configfs/odd/duplicate_guids 1
	put $configfs/odd/link "leaf 6 leaf 7"
	put $configfs/odd/h2/description $'a"b\tc'
	put $configfs/odd/live 1
	put $configfs/odd/faults "leaf 4 drop nth 1"
	"$madsim_record" >"$tmp/odd"
	all_say cat "$tmp/odd" -- '^# \[[23]\]: it has the GUID of another' '^# \[4\]: no answer' \
		'^\[6\]	"S-[0-9a-f]*"\[7\]' '^\[7\]	"S-[0-9a-f]*"\[6\]' \
		"^# \[1\]: not active" '# "a b c"$' "^#@ end"
	[ "$(grep -c "^Switch\|^Ca" "$tmp/odd")" = 3 ]
}
check "two nodes with one GUID, a silent one, a loop" nonsense
"$madsim_load" -r odd
the_end
