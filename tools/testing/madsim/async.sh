#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# What a port tells the kernel and programs of: asynchronous events, as
# ibv_asyncwatch prints them.

. "$(dirname "$0")/lib.sh"

kernel_has ib_uverbs class/infiniband_verbs
have ibv_asyncwatch

check "two hosts, with data" load topology=star:2 devices=2 data=1
stdbuf -oL ibv_asyncwatch -d madsim1 >"$tmp/events" 2>&1 &
watch=$!
sm_pids+=($watch)
check "who waits for events" until_true 10 grep -q "async event FD" "$tmp/events"

# told EVENT: since the last time
told()
{
	tail -n "+$(($(cat "$tmp/seen") + 1))" "$tmp/events"
	tail -n "+$(($(cat "$tmp/seen") + 1))" "$tmp/events" | grep -q "$1"
}
seen()
{
	wc -l <"$tmp/events" >"$tmp/seen"
}
seen
sm_start first madsim0
check "all ports become active" until_true 30 active 2
check "a LID" until_true 10 told LID_CHANGE
check "a subnet manager" until_true 10 told SM_CHANGE
check "clients have to register again" until_true 10 told CLIENT_REREGISTER
check "ACTIVE" until_true 10 told PORT_ACTIVE
sm_end first

echo "Default=0x7fff : ALL=full ; other=0x11 : ALL=full ;" >"$tmp/partitions"
seen
SM_MORE="partition_config_file $tmp/partitions" sm_start second madsim0
check "a P_Key" until_true 20 told PKEY_CHANGE
sm_end second

seen
put $faults "H2 1 link down"
check "a link goes down" until_true 10 told PORT_ERR
kill $watch
wait $watch 2>/dev/null
the_end
