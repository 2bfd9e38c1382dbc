#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The examples of Documentation/infiniband/user_mad.rst that trace: each is run as it
# stands there, while a subnet manager and the diagnostics are at work.

. "$(dirname "$0")/lib.sh"

text=$here/../../../Documentation/infiniband/user_mad.rst

# example PATTERN: the only command of the text that fits
example()
{
	local found

	found=$(grep -P "^\t$1" "$text")
	[ "$(wc -l <<<"$found")" = 1 ] || { echo "not one example: $found"; return 1; }
	sed 's/^\t//' <<<"$found"
}

# traced SECONDS PATTERN: run an example, ended by Ctrl-C if it does not end before
traced()
{
	local seconds=$1 command

	command=$(example "$2")
	# A shell that has jobs in the background lets them ignore SIGINT
	timeout -s INT "$seconds" bash -c "$command" 2>&1 || [ $? = 124 ]
}

have()
{
	command -v "$1" >/dev/null && [ -d /sys/kernel/tracing/events/ib_umad ]
}

plan 5

mountpoint -q /sys/kernel/tracing || mount -t tracefs none /sys/kernel/tracing
load topology=star devices=1 || bail "cannot load ib_madsim"
sm_start sm madsim0
check "the port becomes active" until_true 60 active 1

# Where nobody answers: a LID that no node has
lost()
{
	(sleep 4; smpquery -t 200 -L nodedesc 4444) >/dev/null 2>&1 &
	traced 10 "trace-cmd stream" >"$tmp/stream"
	wait $!
	grep -q 'ib_umad_timeout:.*class 0x01 method 0x01' "$tmp/stream" ||
		{ cat "$tmp/stream"; return 1; }
}

registered()
{
	traced 30 "trace-cmd record"
	traced 30 "trace-cmd report" >"$tmp/report"
	grep -q 'sminfo.*ib_umad_agent_register:.*class 0x01' "$tmp/report" ||
		{ cat "$tmp/report"; return 1; }
}

written()
{
	traced 30 "perf trace" >"$tmp/written"
	grep -q 'ib_umad:ib_umad_write(.*mgmt_class: 1' "$tmp/written" ||
		{ cat "$tmp/written"; return 1; }
}

counted()
{
	(sleep 8; sminfo) >/dev/null 2>&1 &
	traced 15 "bpftrace" >"$tmp/counted"
	wait $!
	grep -Eq '^@\[sminfo, 1\]: [1-9]' "$tmp/counted" ||
		{ cat "$tmp/counted"; return 1; }
}

while read -r tool name what; do
	if have "$tool"; then
		check "$tool: $what" "$name"
	else
		skip "$tool: $what" "no $tool here, or no tracing in this kernel"
	fi
done <<-END
	trace-cmd lost what is lost, as it happens
	trace-cmd registered who registers for which class
	perf written what a program writes
	bpftrace counted who sends how much of what
END

finish
