#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The commands by which Documentation/infiniband/user_mad.rst says that MADs can be
# watched: they are there, word by word, and show what programs do.

. "$(dirname "$0")/lib.sh"

guide=$here/../../../Documentation/infiniband/user_mad.rst
events=/sys/kernel/tracing/events/ib_umad
data=/tmp/umad.dat

load topology=star || ktap_bail "cannot load ib_madsim"
sm_start sm madsim0
check "all ports become active" until_true 60 active 4
mount_tracing

# example NAME PROGRAM TEST COMMAND ...: what the test says of what the commands,
# a line each, print. A program that needs what is not here is not tried.
example()
{
	local name=$1 program=$2 test=$3
	shift 3
	if ! command -v "$program" >/dev/null; then
		skip "$name" "there is no $program"
	elif [ ! -d $events/ib_umad_drop ]; then
		skip "$name" "the kernel or its ib_umad has no such tracepoints"
	elif [ "$program" != trace-cmd ] && [ ! -e /proc/sys/kernel/perf_event_paranoid ]; then
		skip "$name" "the kernel has no perf events"
	else
		check "$name" shown "$test" "$@"
	fi
}

shown()
{
	local test=$1 command
	shift
	for command; do
		grep -qxF $'\t'"$command" "$guide" ||
			{ echo "$guide has no line: $command"; return 1; }
		bash -c "$command" || echo "status $?: $command"
	done >"$tmp/shown" 2>&1
	cat "$tmp/shown"
	$test
}

registered()
{
	grep -Eq 'sminfo-[0-9]+.*ib_mad_create_agent: .*class' "$tmp/shown"
}
example "who registers for which class" trace-cmd registered \
	"trace-cmd record -q -e ib_mad:ib_mad_create_agent -o $data sminfo" \
	"trace-cmd report -i $data"

# What one host sends is lost, so that no request is answered. A program that waits no
# longer than its timeout, like smpquery, may be gone before the kernel tells of it;
# ibnetdiscover waits for that.
timed_out()
{
	grep -Eq 'ib_umad_timeout: ' "$tmp/shown"
}
put $faults "H3 1 drop nth 1"
example "what times out" trace-cmd timed_out \
	"trace-cmd record -q -e ib_umad:ib_umad_timeout -o $data ibnetdiscover -t 100" \
	"trace-cmd report -i $data"
put $faults "H3 1 clear"

# NodeInfo, NodeDescription and SwitchInfo or PortInfo of five nodes
counted()
{
	local written read
	written=$(awk '$2 == "ib_umad:ib_umad_write" { print $1 }' "$tmp/shown")
	read=$(awk '$2 == "ib_umad:ib_umad_read_recv" { print $1 }' "$tmp/shown")
	[ "$written" -ge 15 ] && [ "$written" = "$read" ]
}
example "how many MADs a program writes and reads" perf counted \
	"perf stat -e ib_umad:ib_umad_write -e ib_umad:ib_umad_read_recv ibnetdiscover"

by_program()
{
	grep -Eq '^@\[ibnetdiscover\]: [1-9][0-9]+$' "$tmp/shown"
}
example "who writes how many MADs" bpftrace by_program \
	"bpftrace -e 'tracepoint:ib_umad:ib_umad_write { @[comm] = count(); }' -c /usr/sbin/ibnetdiscover"

the_end sm
