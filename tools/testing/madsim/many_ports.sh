#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# More ports than the 64 that have fixed device numbers: those beyond get numbers of a
# dynamic region, and are devices like the others.

. "$(dirname "$0")/lib.sh"

class=/sys/class/infiniband_mad

numbers()
{
	local major dir n want
	major=$(cut -d: -f1 $class/umad64/dev)
	[ "$major" != 231 ]
	for dir in $class/umad*; do
		n=${dir##*/umad}
		want=231:$n
		[ "$n" -lt 64 ] || want=$major:$((n - 64))
		says "^$want$" cat "$dir/dev"
	done
}

# node NAME: what /dev has is this device, and for root alone
node()
{
	until_true 10 [ -c "/dev/infiniband/$1" ]
	says "^600 $(cat "$class/$1/dev")$" stat -c "%a %Hr:%Lr" "/dev/infiniband/$1"
}

load topology=star:66 devices=66 || ktap_bail "cannot load ib_madsim"
check "each port has its umad" eval '
	[ "$(cat $class/umad*/ibdev | grep ^madsim | sort -u | wc -l)" = 66 ]'
check "numbers" numbers
check "the last fixed one" node umad63
check "the first dynamic one" node umad64
check "opens" eval ': <>/dev/infiniband/umad64'
check "and its issm" node issm64
check "unload" unload
check "it is gone" eval 'until_true 10 [ ! -e $class/umad64 ]; [ ! -e /dev/infiniband/umad64 ]'

finish
