#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Programs of others: by the RDMA CM, by rsockets, by UCX, by verbs, and ibacm. TCP over IPoIB is
# for data.sh.

. "$(dirname "$0")/lib.sh"

kernel_has "ib_ipoib ib_uverbs rdma_ucm"
have ucmatose cmtime rstream riostream udpong ibv_xsrq_pingpong \
	python3 ibacm ib_acme ucx_perftest fio qperf

# ends SERVER CLIENT: at one address, and at the other. Some servers never end
ends()
{
	local server status=0
	# shellcheck disable=SC2086	# word lists
	timeout 100 $1 >"$tmp/server" 2>&1 &
	server=$!
	until_true 20 waits $server
	# shellcheck disable=SC2086
	timeout 100 $2 >"$tmp/client" 2>&1 || status=1
	case $1 in
	cmtime*|udpong*|qperf*)	kill $server ;;
	*)			wait $server || status=1 ;;
	esac
	[ $status = 0 ] || tail -n 5 "$tmp/server" "$tmp/client"
	return $status
}

# waits PID: for a connection, or for the first datagram
waits()
{
	local pid
	pid=$(pgrep -P "$1") && { rdma resource show cm_id | grep "pid $pid " | grep -q LISTEN ||
		ss -nlptu | grep -q "pid=$pid,"; }
}

cm()
{
	ends "$1 -b 10.0.0.2 ${*:2}" "$1 -b 10.0.0.1 -s 10.0.0.2 ${*:2}"
}

# A file goes by sockets of a program that does not know of RDMA
preloaded()
{
	local server preload
	preload=$(ls /usr/lib/*/rsocket/librspreload.so | head -n 1)
	head -c 300000 /dev/urandom >"$tmp/sent"
	LD_PRELOAD=$preload timeout 100 python3 -c '
import socket, sys
server = socket.create_server(("10.0.0.2", 5000))
peer = server.accept()[0]
while data := peer.recv(65536):
    sys.stdout.buffer.write(data)' >"$tmp/got" &
	server=$!
	until_true 20 waits $server
	LD_PRELOAD=$preload timeout 100 python3 -c '
import socket, sys
with socket.create_connection(("10.0.0.2", 5000), None, ("10.0.0.1", 0)) as peer:
    peer.sendall(open(sys.argv[1], "rb").read())
    peer.shutdown(socket.SHUT_WR)' "$tmp/sent"
	wait $server
	cmp "$tmp/sent" "$tmp/got"
}

# sends WORDS COMMAND ...: which takes at least so many, over the fabric
sends()
{
	local before
	before=$(sent)
	"${@:2}"
	echo "$before words, then $(sent)"
	[ $(($(sent) - before)) -ge "$1" ]
}

# ucx TRANSPORT TEST: 100 messages of 64 KiB
ucx()
{
	export UCX_TLS=$1
	ends "env UCX_NET_DEVICES=madsim1:1 ucx_perftest" \
		"env UCX_NET_DEVICES=madsim0:1 ucx_perftest -t $2 -n 100 -w 10 -s 65536 localhost"
}

# fio_rdma VERB: 4 MiB, to and from the same port. The job that reads is the server, and is
# not told the verb
fio_rdma()
{
	local server job=(timeout 100 fio --name=job --thread --ioengine=rdma --hostname=10.0.0.2
		--port=7778 --bs=64k --size=4m --iodepth=4)
	"${job[@]}" --rw=read >"$tmp/server" 2>&1 &
	server=$!
	until_true 20 says "LISTEN .* comm fio" rdma resource show cm_id
	"${job[@]}" --rw=write --verb="$1"
	wait $server
}

# Addresses are resolved by who asked the subnet administrator before
acm()
{
	mkdir -p /etc/rdma
	ib_acme -A -O -D /etc/rdma
	ibacm --systemd >"$tmp/acm.log" 2>&1 &
	echo $! >"$tmp/acm"
	until_true 20 says "dlid: *$(lid madsim1)|Destination LID.* $(lid madsim1)" \
		ib_acme -f i -s 10.0.0.1 -d 10.0.0.2 -v
}

check "two hosts" hosts
check "ucmatose" cm ucmatose -C 5 -S 5000
check "cmtime" cm cmtime -c 10
check "rstream, data compared" cm rstream -S 5000 -I 5 -C 5 -T v
check "riostream" cm riostream -S 5000 -I 5 -C 5
check "udpong" cm udpong -S 512 -C 50
check "a program whose sockets are rsockets" sends 75000 preloaded
check "there is nobody" refuses "RDMA_CM_EVENT_REJECTED, error: 8" \
	ucmatose -b 10.0.0.1 -s 10.0.0.2 -p 7777
check "XRC: EOPNOTSUPP" refuses "XRC Domain 95" ibv_xsrq_pingpong -d madsim0
check "UCX over RC, tags" sends 1600000 ucx rc_v tag_bw
check "UCX over RC, puts" sends 1600000 ucx rc_v ucp_put_bw
check "UCX over UD" sends 1600000 ucx ud_v tag_bw
check "fio, write" fio_rdma write
check "fio, read" fio_rdma read
check "qperf" sends 50000 ends qperf \
	"qperf 10.0.0.2 -li madsim0 -ri madsim1 -t 1 -m 2K rc_bw rc_rdma_read_bw ud_bw"
check "ibacm" acm
kill "$(cat "$tmp/acm")"
hosts_end
