#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# RDS: datagrams that arrive, over connections of the kernel.

. "$(dirname "$0")/lib.sh"

kernel_has "ib_ipoib rds rds_rdma"
have python3

# exchange COUNT: so many of several lengths in each direction
exchange()
{
	timeout 120 python3 - "$1" <<-'END'
		import os, socket, sys

		def end(address):
		    one = socket.socket(socket.AF_RDS, socket.SOCK_SEQPACKET)
		    one.bind((address, 4000))
		    one.settimeout(60)
		    return one

		ends = end("10.0.0.1"), end("10.0.0.2")
		for number in range(int(sys.argv[1])):
		    for length in 1, 4096, 5001, 65536, 100001:
		        for a, b in ends, ends[::-1]:
		            data = os.urandom(length)
		            a.sendto(data, b.getsockname())
		            got, sender = b.recvfrom(1 << 20)
		            assert (got, sender) == (data, a.getsockname()), (number, length)
	END
}

# An address that is no device's
foreign()
{
	python3 -c '
import socket
socket.socket(socket.AF_RDS, socket.SOCK_SEQPACKET).bind(("10.0.0.9", 4000))'
}

check "two hosts" hosts
check "datagrams arrive" eval '
	before=$(sent)
	exchange 10
	[ $(($(sent) - before)) -gt $((10 * 170000 / 4)) ]'
check "with lost packets, too" eval '
	put $faults "H1 1 drop nth 200"
	exchange 20
	injected "H1 1 drop nth 200"
	put $faults "H1 1 clear"'
check "a link is down for a while" eval '
	exchange 20 &
	put $faults "H2 1 link down"
	sleep 2
	put $faults "H2 1 link up"
	wait $!'
check "a foreign address: EADDRNOTAVAIL" refuses "Errno 99" foreign
# RDS connects again and again, and the kernel warns when the device of a connection goes in the
# wrong moment: without addresses it finds none
ip addr flush dev ib0
ip addr flush dev ib1
# rds_rdma stays: the kernel may panic when it is unloaded while there are connections
hosts_end
