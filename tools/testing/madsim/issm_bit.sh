#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The IsSM bit: it is set exactly while somebody holds the issm device open,
# and the rest of the fabric sees it.

. "$(dirname "$0")/lib.sh"

plan 16

load topology=pair || bail "cannot load ib_madsim"

# issm_of DEVICE PORT: its character device
issm_of()
{
	local dir
	for dir in /sys/class/infiniband_mad/issm*; do
		if [ "$(cat "$dir/ibdev")" = "$1" ] && [ "$(cat "$dir/port")" = "$2" ]; then
			echo "/dev/infiniband/${dir##*/}"
		fi
	done
}

dev=$(issm_of madsim0 1)
[ -c "$dev" ] || bail "there is no issm device for madsim0 port 1"

# What the other end of the link reads
peer_sees()
{
	says "IsSM\$" smpquery -C madsim1 -P 1 -D portinfo 0,1
}

check "nobody holds it: no bit" fails is_sm madsim0
check "the peer sees none" fails peer_sees
exec 7<"$dev" || bail "cannot open $dev"
check "open: the bit is set" is_sm madsim0
check "the peer sees it" peer_sees
check "not on the other port" fails is_sm madsim0 2
check "a second open without blocking: EAGAIN" refuses "Resource temporarily unavailable" \
	dd if="$dev" iflag=nonblock count=0
check "read: EINVAL" refuses "Invalid argument" dd bs=1 count=1 <&7

# A shell that waits its turn, and then holds it until its input ends
mkfifo "$tmp/hold"
(exec 7<&-; exec 8<"$dev"; echo got >"$tmp/got"; read -r _ <"$tmp/hold") &
waiter=$!
sleep 1
check "a second open blocks" eval "kill -0 $waiter; fails test -e $tmp/got"
exec 7<&-
check "close: the waiter gets it" until_true 5 test -e "$tmp/got"
check "the bit is still set" is_sm madsim0
echo >"$tmp/hold"
wait $waiter
check "the last close clears it" fails is_sm madsim0

sleep 600 <"$dev" &
holder=$!
check "held by a process" until_true 5 is_sm madsim0
kill -KILL $holder
wait $holder 2>/dev/null
check "its death clears it" until_true 5 fails is_sm madsim0

sleep 600 <"$dev" &
holder=$!
until_true 5 is_sm madsim0
check "the device goes away" put $configfs/preset/faults "H1 unplug"
kill -KILL $holder
wait $holder 2>/dev/null
check "and comes back without the bit" eval '
	put $configfs/preset/faults "H1 plug"
	fails is_sm $(device H1)'
check "unload" unload

finish
