#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# madsim-load --hosts: network namespaces that are hosts of a fabric, and nothing of them
# left when it is removed.

. "$(dirname "$0")/lib.sh"

with_ipoib
have rdma busybox

cat >"$tmp/lab.topo" <<TOPO
Switch 8 "S1"
[1] "H1"[1]
[2] "H2"[1]
[3] "H2"[2]
[4] "S2"[1]

Switch 8 "S2"
[2] "H3"[1]

Hca 1 "H1"

Hca 2 "H2"

Hca 1 "H3"
TOPO

leave()
{
	ip netns del other 2>/dev/null
	"$madsim_load" -f -r lab 2>/dev/null
	at_end
}
trap leave EXIT

hosts()
{
	"$madsim_load" --hosts -n lab -d 3 "$@" "$tmp/lab.topo"
}

# Nothing is there, and devices are everybody's
clean()
{
	[ ! -d $configfs/lab ] &&
		[ -z "$(devices)" ] &&
		[ -z "$(ip netns list)" ] &&
		[ -z "$(find /etc/netns -name hosts 2>/dev/null)" ] &&
		says "netns shared" rdma system show
}

# refused ERROR ARGUMENT ...: and nothing is made
refused()
{
	refuses "$1" hosts "${@:2}"
	clean
}

taken()
{
	ip netns add H3
	refuses "is a network namespace H3 already" hosts
	ip netns del H3
	until_true 20 clean
	mkdir -p /etc/netns/H3
	echo mine >/etc/netns/H3/hosts
	refuses "is a file /etc/netns/H3/hosts already" hosts
	says "^mine$" cat /etc/netns/H3/hosts
	rm -r /etc/netns/H3
	clean
}

# has HOST DEVICE INTERFACE ADDRESS
has()
{
	says "^[0-9]+: $2: " ip netns exec "$1" rdma dev
	[ "$(ip netns exec "$1" rdma dev | wc -l)" = 1 ]
	says "^$3 .* $4/24" ip -n "$1" -br addr show dev "$3"
	says "^lo .* 127.0.0.1/8" ip -n "$1" -br addr
}

pings()
{
	ip netns exec "$1" busybox ping -q -c 1 -W 1 "$2"
}

# Who sees what
files()
{
	local i
	says "^10.1.2.4	H3$" ip netns exec H2 cat /etc/hosts
	for i in H2 H2-port2 H3; do
		until_true 20 pings H3 $i
	done
	has_no -q madsim-load /etc/hosts
}

in_use()
{
	ip netns exec H2 sleep 1000 &
	echo $! >"$tmp/sleep"
	until_true 10 eval '[ "$(ip netns pids H2)" ]'
	refuses "sleep .process [0-9]*. runs in H2" "$madsim_load" -r lab
	says "^1$" cat $configfs/lab/live
	has H2 madsim1 ib0 10.1.2.2
}

forced()
{
	"$madsim_load" -f -r lab
	fails kill -0 "$(cat "$tmp/sleep")"
	until_true 20 clean
}

# in_host HOST COMMAND: by a program beside madsim-load
in_host()
{
	"${madsim_load%load}host" "$@"
}

apart()
{
	local host
	"$madsim_load" --hosts=apart -n lab -d 3 "$tmp/lab.topo"
	for host in H1 H2 H3; do
		says "^$host$" in_host $host -- hostname
		in_host $host "for at in /run /tmp /var/cache/opensm; do echo $host >\$at/mine; done"
		in_host $host "tail -f /dev/null >/dev/null 2>&1 &"
	done
	for host in H1 H2 H3; do
		says "^$host$host$host$" in_host $host \
			'cat /run/mine /tmp/mine /var/cache/opensm/mine | busybox tr -d "\n"'
	done
	[ ! -e /run/mine ] && [ ! -e /tmp/mine ] && [ ! -e /var/cache/opensm/mine ]
	has H2 madsim1 ib0 198.18.0.2
	in_host H2 -- busybox killall tail
	fails in_host H2 -- busybox killall -q -0 tail
	in_host H3 -- busybox killall -0 tail
	# Exactly these words, or what a shell makes of them
	says '^\$HOME \*$' in_host H2 -- echo '$HOME *'
	says "^2$" in_host H2 'echo $((1 + 1))'
}

apart_in_use()
{
	refuses "tail .process [0-9]*. runs in H1" "$madsim_load" -r lab
	"$madsim_load" -f -r lab
	until_true 20 clean
	[ -z "$(ls /run/madsim)" ]
}

load topology=none || ktap_bail "cannot load ib_madsim"
check "-K, which is no device" refused "-K S1: that is no RDMA device" -K S1
check "-a, which is no network" eval '
	refused "not a network" -a 10.1.2.0/16
	refused "not a network" -a ten.1.2.0/24
	refused "not a network" -a 10.1.2.3'
check "-a and -K without --hosts" refuses "are for --hosts" \
	"$madsim_load" -a 10.1.2.0/24 "$tmp/lab.topo"
check "a name that is taken" taken
check "while there are other namespaces" eval '
	ip netns add other
	refuses "load ib_core with netns_mode=0" hosts
	says "^other" ip netns list
	ip netns del other
	until_true 20 clean'
check "hosts" hosts -K H1 -a 10.1.2.0/24
check "a device each, and an interface for each port" eval '
	has H2 madsim1 ib0 10.1.2.2
	has H2 madsim1 ib1 10.1.2.3
	has H3 madsim2 ib0 10.1.2.4'
check "what stays is here" eval '
	says "^madsim0$" devices
	[ "$(ip netns list | wc -l)" = 2 ]
	says "10.1.2.1/24" ip -br addr'
sm_start first madsim0
check "they reach each other, by their names" files
check "and who has stayed" eval 'until_true 20 pings H2 H1; pings H2 H1'
check "a subnet manager in a host" eval '
	says "SMInfo|sm lid" ip netns exec H3 sminfo'
sm_end first
check "no second fabric with such names" refuses "is a network namespace H2 already" \
	"$madsim_load" --hosts -n second -N H2 -d 0 "$tmp/lab.topo"
check "what is in use is not removed" in_use
check "unless that is said" forced
check "hosts, with all of them in namespaces" eval '
	hosts
	[ "$(ip netns list | wc -l)" = 3 ]
	[ -z "$(devices)" ]
	has H1 madsim0 ib0 198.18.0.1'
check "the fabric goes without a word to them" eval '
	"$madsim_load" -r lab
	until_true 20 clean'
if [ -e /proc/self/ns/uts ]; then
	check "hosts that are apart" apart
	check "those are in use, too" apart_in_use
	check "apart and not in use" eval '
		"$madsim_load" --hosts=apart -n lab -d 3 "$tmp/lab.topo"
		"$madsim_load" -r lab
		until_true 20 clean
		[ -z "$(ls /run/madsim)" ]'
else
	for name in "hosts that are apart" "those are in use, too" "apart and not in use"; do
		skip "$name" "this kernel has no host names for namespaces"
	done
fi
check "no such host" refuses "there is no host H1" in_host H1 true
check "or with its module" eval '
	hosts
	echo 0 >$configfs/lab/live
	"$madsim_load" -r lab
	refuses "there is no fabric lab" "$madsim_load" -r lab
	until_true 20 clean'
the_end
