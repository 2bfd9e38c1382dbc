#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# IPoIB over the fabric, and programs that connect by its addresses: hosts in network
# namespaces, over two levels of switches, with opensm's multicast groups and partitions.

. "$(dirname "$0")/lib.sh"

with_ipoib
modprobe -qa ib_uverbs rdma_ucm || true
have rdma busybox python3 rping udaddy mckey

fabric=$configfs/test
faults=$configfs/test/faults
hosts="h2 h3 h4"
declare -A dev

# All processes that run in a namespace
kill_all()
{
	local ns
	for ns in $hosts; do
		# shellcheck disable=SC2046	# a word list
		kill -KILL $(ip netns pids "$ns" 2>/dev/null) 2>/dev/null || true
	done
}

# What a namespace had comes back when it has gone, which takes time
end_hosts()
{
	local ns
	kill_all
	for ns in $hosts; do
		ip netns del "$ns" 2>/dev/null || true
	done
	until_true 20 rdma system set netns shared
}

leave()
{
	end_hosts >&2
	at_end
}
trap leave EXIT

# in_ns HOST COMMAND ...: as a program of that host
in_ns()
{
	ip netns exec "$@"
}

netdevs()
{
	grep -slx 32 /sys/class/net/*/type | cut -d/ -f5
}

ns_netdevs()
{
	in_ns "$1" sh -c 'grep -lx 32 /sys/class/net/*/type | cut -d/ -f5'
}

has_netdev()
{
	[ "$(ns_netdevs "$1")" ]
}

address()
{
	echo "${net-10.0.0}.${1#h}"
}

# pings HOST HOST [COUNT [SIZE]]: so many requests, and how many were answered
pings()
{
	in_ns "$1" busybox ping -q -c "${3-1}" -i 0.1 -W 1 -s "${4-56}" "$(address "$2")" |
		tee "$tmp/ping" | sed -n 's/.* \([0-9]*\) packets received.*/\1/p'
}

reaches()
{
	[ "$(pings "$@")" -gt 0 ]
}

# all_reach COUNT HOST HOST [SIZE]: nothing is lost
all_reach()
{
	says "^$1\$" pings "$2" "$3" "$1" "${4-56}"
}

# What a server has to say. If that were to end, the connection would
mkfifo "$tmp/silence"

# client HOST HOST: send a file by TCP, all at once. A client that is refused has sent
# nothing
client()
{
	in_ns "$1" python3 -c "if 1:
		import socket, sys
		with socket.create_connection((sys.argv[1], 5000)) as to:
			to.sendall(open(sys.argv[2], 'rb').read())" "$(address "$2")" "$tmp/sent"
}

# transfer HOST HOST SIZE: and the other one has got it
transfer()
{
	head -c "$3" /dev/urandom >"$tmp/sent"
	in_ns "$2" busybox nc -l -p 5000 <>"$tmp/silence" >"$tmp/got" &
	until_true 20 client "$1" "$2"
	wait $!
	cmp "$tmp/sent" "$tmp/got"
}

# statistic HOST NAME: of its busiest interface
statistic()
{
	in_ns "$1" sh -c "cat /sys/class/net/*/statistics/$2" | sort -n | tail -n 1
}

# floods HOST COUNT: it has received more than so many
floods()
{
	[ "$(statistic "$1" rx_packets)" -gt "$2" ]
}

# Zeros without end. A user-mode Linux whose clock skips idle time does not get through a
# second of it: there it pauses now and then
zeros()
{
	[ "${UMAD_PACE-}" = slow ] || exec cat /dev/zero
	while head -c 1M /dev/zero; do
		sleep 0.05
	done
}

# A sender that never stops, and a receiver
flood()
{
	local before
	before=$(statistic "$2" rx_packets)
	in_ns "$2" busybox nc -l -p 6000 <>"$tmp/silence" >/dev/null 2>&1 &
	(
		while :; do
			# The server may not listen yet
			zeros | in_ns "$1" busybox nc "$(address "$2")" 6000 || true
			in_ns "$1" busybox ping -q -c 3 -W 1 "$(address "$2")" || true
		done
	) >/dev/null 2>&1 &
	echo $! >"$tmp/flood"
	until_true 60 floods "$2" $((before + 100))
}

# At once: TCP asks a host that is gone less and less often. Until it does so the next
# time, the connection of who was killed keeps the namespace
end_flood()
{
	kill -KILL "$(cat "$tmp/flood")" 2>/dev/null
	kill_all
	return 0
}

host_lid()
{
	printf '%d\n' "$(in_ns "$1" cat "/sys/class/infiniband/${dev[$1]}/ports/1/lid")"
}

# hops HOST HOST: each switch on the way, by its LID, and the port the way leaves by
hops()
{
	ibtracert -C madsim0 -P 1 "$(host_lid "$1")" "$(host_lid "$2")" |
		sed -n 's/^\[\([0-9]*\)\] -> \(switch\|ca\) .* lid \([0-9]*\)-.*/\1 \3/p' |
		awk 'lid { print lid, $1 } { lid = $2 }'
}

# Every switch on the way has so many more packets and words
counted()
{
	local lid port i=0
	local -a packets=() words=()

	hops h2 h3 >"$tmp/hops"
	cat "$tmp/hops"
	[ "$(wc -l <"$tmp/hops")" = 3 ]
	while read -r lid port; do
		packets+=("$(counter "$lid" "$port" PortXmitPkts)")
		words+=("$(counter "$lid" "$port" PortXmitData)")
	done <"$tmp/hops"
	all_reach 50 h2 h3 1000
	while read -r lid port; do
		echo "was ${packets[i]} ${words[i]}"
		[ $(($(counter "$lid" "$port" PortXmitPkts) - packets[i])) -ge 50 ]
		# With the headers of ICMP, IP, IPoIB, and ours
		[ $(($(counter "$lid" "$port" PortXmitData) - words[i])) -ge \
			$((50 * (1000 + 8 + 20 + 4 + 32) / 4)) ]
		i=$((i + 1))
	done <"$tmp/hops"
}

other_way()
{
	local way port
	way=$(hops h2 h3)
	port=$(sed -n '1s/.* //p' <<<"$way")
	put $faults "leaf1 $port link down"
	until_true 30 reaches h2 h3
	[ "$(hops h2 h3)" != "$way" ]
	all_reach 20 h2 h3
	put $faults "leaf1 $port link up"
	until_true 30 says "^LinkState:.*Active" \
		ibportstate -C madsim0 -P 1 "${way%% *}" "$port" query
}

# offload HOST COMMAND [VALUE]: of its interface, as ethtool asks for it or sets it
offload()
{
	in_ns "$1" python3 - "$(ns_netdevs "$1")" "$2" "${3-0}" <<-'PYTHON'
		import array, fcntl, socket, struct, sys
		value = array.array("I", [int(sys.argv[2], 0), int(sys.argv[3])])
		fcntl.ioctl(socket.socket(), 0x8946,
		            struct.pack("16sP", sys.argv[1].encode(), value.buffer_info()[0]))
		print(value[1])
	PYTHON
}

# bad_sums HOST: segments of TCP with a wrong checksum, as its kernel counts
bad_sums()
{
	in_ns "$1" nstat -asz TcpInCsumErrors | grep Tcp
}

# What the interface of h2 hands over becomes many packets, and hardly one is sent again
segments()
{
	local lid port sent came
	read -r lid port < <(hops h2 h3 | tail -n 1)
	# However slow the fabric seems to be to TCP
	in_ns h2 sh -c 'echo 16 >/proc/sys/net/ipv4/tcp_min_tso_segs'
	came=$(counter "$lid" "$port" PortXmitPkts)
	sent=$(statistic h2 tx_packets)
	transfer h2 h3 1000001
	came=$(($(counter "$lid" "$port" PortXmitPkts) - came))
	sent=$(($(statistic h2 tx_packets) - sent))
	echo "$sent became $came"
	[ $came -ge $((1000001 / 4040)) ]
	# Half as many if segments are lost, as TCP then hands over less at once
	[ $came -gt $((sent * 3)) ]
}

# Without RXCSUM the kernel of h3 checks them itself
software()
{
	local wrong
	offload h3 0x15 0
	wrong=$(bad_sums h3)
	transfer h2 h3 100001
	[ "$(bad_sums h3)" = "$wrong" ]
	offload h3 0x15 1
}

# mode MODE MTU HOST ...: of IPoIB
mode()
{
	local host name
	for host in "${@:3}"; do
		name=$(ns_netdevs "$host")
		in_ns "$host" sh -c "echo $1 >/sys/class/net/$name/mode"
		in_ns "$host" ip link set "$name" mtu "$2"
	done
}

connected()
{
	mode connected 65520 h2 h3
	until_true 20 all_reach 3 h2 h3 60000
	all_reach 20 h2 h3 60000
	transfer h2 h3 8M
}

# A third host has queue pairs with the numbers of the kernel's own on h2, and sends what
# h3 waits for by each
forged()
{
	local mine theirs psn
	in_ns h2 rdma resource show qp |
		sed -n 's/.* lqpn \([0-9]*\) rqpn \([0-9]*\) type RC .*/\1 \2/p' >"$tmp/connections"
	[ -s "$tmp/connections" ]
	while read -r mine theirs; do
		psn=$(in_ns h3 rdma resource show qp |
			sed -n "s/.* lqpn $theirs .* rq-psn \([0-9]*\) .*/\1/p")
		in_ns h4 timeout 300 "$here/verbs.py" "${dev[h4]}" - kernel_forged \
			"$mine" "$theirs" "$psn" "$(host_lid h3)"
	done <"$tmp/connections"
	all_reach 3 h2 h3 60000
	mode datagram 4092 h2 h3
	all_reach 3 h2 h3
}

# by_cm PROGRAM SERVER-OPTIONS CLIENT-OPTIONS: both ends of it succeed
by_cm()
{
	local server
	# shellcheck disable=SC2086	# word lists
	in_ns h3 timeout 300 "$1" $2 >"$tmp/server" 2>&1 &
	server=$!
	# shellcheck disable=SC2086
	until_true 20 in_ns h2 timeout 20 "$1" $3
	wait $server || { cat "$tmp/server"; return 1; }
}

# A group that exists while somebody is in it
group()
{
	local receiver
	in_ns h3 timeout 300 mckey -m 239.1.1.1 -b 10.0.0.3 -C 5 >"$tmp/receiver" 2>&1 &
	receiver=$!
	until_true 50 has_received $receiver
	wait $receiver || { cat "$tmp/receiver"; return 1; }
}

has_received()
{
	in_ns h2 timeout 20 mckey -m 239.1.1.1 -b 10.0.0.2 -C 5 -s >/dev/null 2>&1 || true
	! kill -0 "$1" 2>/dev/null
}

too_long()
{
	local lid port
	read -r lid port < <(hops h2 h3 | tail -n 1)
	ibportstate -C madsim0 -P 1 "$lid" "$port" mtu 1
	all_reach 3 h2 h3
	says "^0\$" pings h2 h3 3 1000
	says "^PortNeighborMTUDiscards:\.*[1-9]" perfquery -C madsim0 -P 1 --xmtdisc "$lid" "$port"
	ibportstate -C madsim0 -P 1 "$lid" "$port" mtu 5
	all_reach 3 h2 h3 1000
}

build()
{
	local node
	mkdir $fabric
	put $fabric/data 1
	for node in h1 h2 h3 h4 leaf1 leaf2 spine1 spine2; do
		mkdir $fabric/$node
		case $node in
		h*)	put $fabric/$node/device 1
			# h2 and h4 have the same numbers
			put $fabric/$node/seed $((${node#h} % 2)) ;;
		*)	put $fabric/$node/type switch
			put $fabric/$node/ports 4 ;;
		esac
	done
	put $fabric/link "h1 1 leaf1 1"
	put $fabric/link "h2 1 leaf1 2"
	put $fabric/link "h3 1 leaf2 1"
	put $fabric/link "h4 1 leaf2 2"
	put $fabric/link "leaf1 3 spine1 1"
	put $fabric/link "leaf1 4 spine2 1"
	put $fabric/link "leaf2 3 spine1 2"
	put $fabric/link "leaf2 4 spine2 2"
}

# sm NAME PARTITION ...: a subnet manager with these lines as partitions
sm()
{
	local name=$1
	shift
	printf '%s\n' "$@" >"$tmp/$name.partitions"
	SM_MORE="partition_config_file $tmp/$name.partitions
part_enforce ${SM_ENFORCE-both}" sm_start "$name" madsim0
}

# arrives HOST GUID: the interface of that port is in the namespace. In kernels up to
# 6.12, at least, it does not follow its device.
arrives()
{
	local path
	for path in $(grep -l "$2\$" /sys/class/net/*/address); do
		ip link set "$(basename "${path%/address}")" netns "$1"
	done
	has_netdev "$1"
}

# give HOST NODE: what a node has goes into the namespace of a host
give()
{
	local device guid
	device=$(device "$2")
	guid=$(cut -d: -f5-8 "/sys/class/infiniband/$device/ports/1/gids/0" |
		sed 's/:*\(..\)/:\1/g')
	rdma dev set "$device" netns "$1"
	until_true 20 arrives "$1" "$guid"
}

move()
{
	local host
	rdma system set netns exclusive
	for host in $hosts; do
		ip netns add "$host"
		# IPv6 would send when it likes, and the connections of who was
		# killed would keep the namespace for minutes
		in_ns "$host" sh -c 'echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6
			echo 1 >/proc/sys/net/ipv4/tcp_orphan_retries'
		give "$host" "$host"
	done
}

configure()
{
	local host
	for host; do
		in_ns "$host" ip addr add "$(address "$host")/24" dev "$(ns_netdevs "$host")"
		in_ns "$host" ip link set "$(ns_netdevs "$host")" up
	done
}

load topology=none || ktap_bail "cannot load ib_madsim"

check "make a fabric with data" build
check "data is yes or no: EINVAL" eval '
	refuses "Invalid argument" put $fabric/data 7
	says "^1$" cat $fabric/data'
# For memory that is written to a disk at the other end. None waits for what a user sends
check "what sends for the kernel has a rescuer" \
	grep -hE "^(kworker/R-)?ib_madsim\>" /proc/[0-9]*/comm
check "live" eval 'put $fabric/live 1; says "^1$" cat $fabric/data'
check "of a live fabric it does not change: EBUSY" eval '
	refuses "busy" put $fabric/data 0
	says "^1$" cat $fabric/data'
check "a network device for each host" eval '
	[ $(netdevs | wc -l) = 4 ]
	[ $(devices | wc -l) = 4 ]
	for device in $(devices); do
		ls /sys/class/infiniband/$device/device/net
	done >"$tmp/netdevs"
	[ "$(sort "$tmp/netdevs")" = "$(netdevs | sort)" ]'
for host in h1 $hosts; do
	dev[$host]=$(device "$host")
done
check "each host goes into a namespace" move
check "addresses" configure $hosts

# guid HOST
guid()
{
	in_ns "$1" cat "/sys/class/infiniband/${dev[$1]}/ports/1/gids/0" |
		cut -d: -f5-8 | sed 's/://g; s/^/0x/'
}

violations()
{
	port_info "$(host_lid "$1")" PkeyViolations
}

# violates HOST HOST COUNT: the second counts more of them when the first pings it
violates()
{
	says "^0\$" pings "$1" "$2" 3
	echo "$3 violations, then $(violations "$2")"
	[ "$(violations "$2")" -gt "$3" ]
}

# pkey_is HOST PKEY: the first one of its table
pkey_is()
{
	says "^$2\$" in_ns "$1" cat "/sys/class/infiniband/${dev[$1]}/ports/1/pkeys/0"
}

# Two limited members of a partition, which hear only full ones
limited()
{
	local before
	# Until then they are full members still, of the subnet manager before
	until_true 30 pkey_is h3 0x7fff
	until_true 30 pkey_is h4 0x7fff
	until_true 30 reaches h2 h3
	until_true 30 reaches h2 h4
	before=$(violations h4)
	# It may not be back in the group that asks for addresses
	until_true 30 violates h3 h4 "$before"
	says "^0\$" pings h3 h4 3
	until_true 10 grep "num:257" "$tmp/second.log"
}

# blue HOST: an interface in a partition of its own
blue()
{
	in_ns "$1" ip link add name blue link "$(ns_netdevs "$1")" type ipoib pkey 0x8001
	in_ns "$1" ip addr add "$(net=10.0.1 address "$1")/24" dev blue
	in_ns "$1" ip link set blue up
}

# Nothing comes out of the switch towards the host that is not in it
outside()
{
	local lid port before net=10.0.1
	read -r lid port < <(hops h2 h4 | tail -n 1)
	before=$(counter "$lid" "$port" PortXmitPkts)
	[ "$before" ] &&
		in_ns h2 ip neigh flush dev blue &&
		[ "$(pings h2 h3 20)" -ge 10 ] &&
		in_ns h2 ip neigh flush dev blue &&
		says "^0\$" pings h2 h4 2 &&
		says "^$before\$" counter "$lid" "$port" PortXmitPkts
}

sm first "Default=0x7fff,ipoib,mtu=5:ALL=full;"
check "ping, to the other side of the switches" until_true 30 reaches h2 h3
check "and back, and next door" eval '
	reaches h3 h2
	reaches h3 h4
	reaches h4 h2'
check "nothing is lost" all_reach 100 h2 h4
check "packets as long as the MTU" eval '
	says "mtu 4092" in_ns h2 ip link show
	all_reach 10 h2 h3 4064'
check "pings of several packets" all_reach 10 h2 h3 20000
check "8 MiB by TCP are right" transfer h2 h3 8M
check "interfaces leave checksums and segmentation to the device" eval '
	says "^1\$" offload h2 0x14
	says "^1\$" offload h2 0x16
	says "^1\$" offload h2 0x1e'
check "TCP hands over many packets of the MTU at once" segments
check "and their checksums are good if the kernel checks them" software
check "every switch on the way counts it" counted
check "without a cable there is another way" other_way
# The subnet manager would give the port its MTU and other routes
kill -STOP "$(cat "$tmp/first.pid")"
check "what is longer than a link takes is dropped, and counted" too_long
kill -CONT "$(cat "$tmp/first.pid")"

check "connected mode, and packets of 60,000 bytes" connected
check "a host that forges packets of such a connection is not heard" forged
check "rping" by_cm rping "-s -a 10.0.0.3 -C 20 -V -S 5000" "-c -a 10.0.0.3 -C 20 -V -S 5000"
check "udaddy" by_cm udaddy "-b 10.0.0.3" "-s 10.0.0.3 -b 10.0.0.2"
check "mckey" group

check "drop every packet" eval '
	put $faults "h2 1 drop nth 1"
	says "^0\$" pings h2 h3 3
	injected "h2 1 drop nth 1"
	put $faults "h2 1 clear"
	until_true 10 reaches h2 h3'
check "TCP mends what is corrupted" eval '
	put $faults "h2 1 corrupt permille 20"
	transfer h2 h3 512k
	injected "h2 1 corrupt permille 20"
	put $faults "h2 1 clear"'
check "TCP mends what is lost" eval '
	put $faults "leaf2 1 drop permille 20"
	transfer h2 h3 512k
	injected "leaf2 1 drop permille 20"
	put $faults "leaf2 1 clear"'
check "a link goes down and up" eval '
	put $faults "h3 1 link down"
	says "^0\$" pings h2 h3 3
	put $faults "h3 1 link up"
	until_true 30 reaches h2 h3'
sm_end first

SM_ENFORCE=off sm second "Default=0x7fff,ipoib:ALL=limited,SELF=full,$(guid h2)=full;"
check "limited members do not hear each other, and count it" limited
sm_end second

sm third "Default=0x7fff,ipoib:ALL=full;" "blue=0x8001,ipoib:$(guid h2)=full,$(guid h3)=full;"
check "interfaces in a partition" eval 'blue h2; blue h3; blue h4'
net=10.0.1 check "ping in the partition" until_true 30 reaches h2 h3
# But for a subnet manager, who may be repressing a notice of it
check "a host outside of it hears nothing" until_true 1 outside

check "unplug a host that is being flooded" eval '
	until_true 30 reaches h2 h4
	flood h2 h4
	put $faults "h4 unplug"
	fails has_netdev h4
	end_flood'
check "the others go on" until_true 30 reaches h2 h3
check "plug it in again" eval '
	put $faults "h4 plug"
	give h4 h4
	configure h4
	until_true 30 reaches h2 h4'
dev[h4]=$(in_ns h4 ls /sys/class/infiniband)
# opensm reads from a port that is gone again and again, and keeps a guest's only CPU
check "end the life of the fabric while it is flooded" eval '
	flood h2 h3
	sm_end third KILL
	put $fabric/live 0
	end_flood
	fails has_netdev h2'
check "remove it" eval '"$madsim_load" -r test; unload; fails ls -d /sys/devices/madsim_*'

check "one line makes one" eval 'load topology=star:2 devices=2 data=1; [ $(netdevs | wc -l) = 2 ]'
sm fourth "Default=0x7fff,ipoib:ALL=full;"
check "one of its hosts goes into a namespace" eval '
	give h2 H2
	configure h2
	ip addr add 10.0.0.1/24 dev "$(netdevs)"
	ip link set "$(netdevs)" up
	until_true 30 reaches h2 h1'
check "unload while it is flooded" eval '
	in_ns h2 busybox ping -q 10.0.0.1 >/dev/null 2>&1 &
	in_ns h2 busybox ping -q -s 20000 10.0.0.1 >/dev/null 2>&1 &
	until_true 60 floods h2 20
	sm_end fourth KILL
	unload
	fails has_netdev h2'

check "without data" load topology=star
check "there is no network device" eval '[ -z "$(netdevs)" ]'
check "and no other queue pair than QP0 and QP1" eval '
	rdma resource show qp >"$tmp/qps"
	grep madsim "$tmp/qps" >"$tmp/ours"
	has_no -v -e SMI -e GSI "$tmp/ours"
	[ $(wc -l <"$tmp/ours") = 8 ]'
sm fifth "Default=0x7fff,ipoib:ALL=full;"
check "the subnet comes up" until_true 30 active 4
# The switch, all ports together
no_groups()
{
	local lid
	lid=$(lid_at madsim0 0,1 0)
	says "^PortMulticastXmitPkts:\.*0\$" perfquery -x -C madsim0 -P 1 -a "$lid"
}
check "and nobody sends to a group" no_groups
sm_end fifth
check "unload" unload
check "nothing keeps the namespaces" end_hosts

finish
