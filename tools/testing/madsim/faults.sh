#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The faults file: what it has to tell, which lines it refuses, and faults of SMPs and verbs.
# What is lost, late or doubled on a link is for notices.py, pma.py, verbs.sh and data.sh,
# nodes that lose power for live.sh.

. "$(dirname "$0")/lib.sh"

load topology=star || ktap_bail "cannot load ib_madsim"

# ask COUNT: so many requests from H1 to H2, and how many were answered
ask()
{
	local i answered=0
	for ((i = 0; i < $1; i++)); do
		if smpquery -C madsim0 -P 1 -t "${ASK_MS-500}" -D nodeinfo 0,1,2 \
				>/dev/null 2>&1; then
			answered=$((answered + 1))
		fi
	done
	echo $answered
}

check "nothing at first" eval '[ -z "$(cat $faults)" ]'
# A client may or may not ask again: it is a matter of luck whether it hears of a timeout
# first or the kernel. So compare with the packets that left the port, or were discarded.
sent()
{
	echo $(($(port_counter madsim0 port_xmit_packets) + $(port_counter madsim0 port_xmit_discards)))
}
check "drop every second request" eval '
	put $faults "H1 1 clear"
	before=$(sent)
	put $faults "H1 1 drop nth 2"
	answered=$(ask 4) left=$(($(sent) - before))
	says "^H1 1 drop nth 2 injected $((left / 2))\$" cat $faults
	put $faults "H1 1 clear"
	[ $answered -ge 2 ]
	[ $left -ge 4 ]'

# With the same seed, the same packets. No client asks again for a duplicate, and a
# slow machine has time to answer: nothing but the requests is counted.
pattern()
{
	local i before=0 now ASK_MS=5000
	put $faults "H1 1 duplicate permille 500"
	put $faults "H1 1 seed $1"
	for i in 1 2 3 4 5 6 7 8; do
		ask 1 >/dev/null
		now=$(sed -n 's/^H1 1 duplicate .* injected //p' $faults)
		printf %d $((now - before))
		before=$now
	done
	put $faults "H1 1 clear"
}
check "a probability with a seed repeats" eval '
	a=$(pattern 42) b=$(pattern 42)
	echo $a $b
	[ "$a" = "$b" ]
	[ "$a" != 00000000 ]
	[ "$a" != 11111111 ]'

# answered_of COUNT ANSWERED KIND [SETTING]: with such a fault of each packet, which is counted
answered_of()
{
	[ $# = 3 ] || put $faults "H1 1 $4"
	put $faults "H1 1 $3 nth 1"
	says "^$2$" ask "$1"
	injected "H1 1 $3 nth 1"
	put $faults "H1 1 clear"
}
check "a delay beyond the timeout is none" answered_of 1 0 delay "delay_ms 2000"
check "a reordered packet arrives at last" answered_of 2 2 reorder
check "a corrupted packet is another one" answered_of 4 "[0-4]" corrupt "seed 3"

check "link down and up" eval '
	put $faults "H2 1 link down"
	state_is madsim1 1 DOWN
	says "^H2 1 link down$" cat $faults
	put $faults "H2 1 link up"
	state_is madsim1 1 INIT
	says "^1$" port_counter madsim1 link_downed'

for verb in "post_send 5" "create_ah 12"; do
	check "${verb% *} fails once" eval '
		put $faults "H1 fail $verb"
		says "^0$" ask 1
		says "^1$" ask 1
		injected "H1 fail ${verb% *} 0"'
done
check "modify_port fails once" eval '
	issm=/dev/infiniband/$(umad_of madsim0 | sed s/umad/issm/)
	put $faults "H1 fail modify_port 16"
	refuses "busy" dd if=$issm count=0
	dd if=$issm count=0
	injected "H1 fail modify_port 0"'

check "unplug what is unplugged: EALREADY" eval '
	put $faults "H3 unplug"
	refuses "already in progress" put $faults "H3 unplug"
	put $faults "H3 plug"
	refuses "already in progress" put $faults "H3 plug"'

no_sense()
{
	local line
	for line in "H1" "H1 1" "H1 1 drop" "H1 1 drop nth" "H1 1 drop nth 0" "H1 1 drop nth x" \
		"H1 1 drop permille 1001" "H1 1 explode nth 1" "H1 0 drop nth 1" "H1 2 drop nth 1" \
		"H1 1 link sideways" "H1 fail open 5" "H1 fail post_send 4096" "H1 fail post_send" \
		"H1 refuse" "H1 refuse performance" "H1 refuse device 1" "H1 refuse subnet 0" \
		"H1 refuse subnet 0x10000" "H1 refuse subnet 0x11 on" \
		"H1 unplug now" "H1 1 drop nth 1 2 3" "H1 1 seed" "H1 1 delay_ms -1"; do
		echo "$line"
		refuses "Invalid argument" put $faults "$line" || return 1
	done
}
check "what makes no sense: EINVAL" no_sense
check "no such node: ENOENT" refuses "No such file" put $faults "H9 1 drop nth 1"
# write_at_once BYTES: so many of a command that is repeated
write_at_once()
{
	yes "H1 1 drop nth 3" | head -c "$1" | dd of=$faults bs=8192 iflag=fullblock
}
check "a write of 4095 bytes: EFBIG, and nothing of it is obeyed" eval '
	refuses "too large" write_at_once 4096
	refuses "too large" write_at_once 4095
	has_no "^H1 1 drop" $faults
	write_at_once 4080
	says "^H1 1 drop nth 3" cat $faults
	put $faults "H1 1 clear"'
check "unload" unload

# 150 ports with two lines each are more than the file has room for
long_list()
{
	local i all="" list
	for i in {1..150}; do
		all+="S1 $i drop nth 1000"$'\n'
		[ $((i % 50)) != 0 ] || { put $faults "$all"; all=; }
	done
	list=$(cat $faults)
	says "^\.\.\.$" tail -n 1 <<<"$list"
	[ ${#list} -gt 3900 ]
	[ ${#list} -lt 4096 ]
	has_no -vE "^S1 [0-9]+ (seed 1|drop nth 1000 injected 0)$|^\.\.\.$" <<<"$list"
	for i in {1..60}; do
		grep -q "^S1 $i drop nth 1000 injected 0$" <<<"$list"
	done
}
check "a list that is too long ends with a line that says so" eval '
	load topology=star:150
	long_list'
the_end
