#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# A strict fabric: programs with mistakes that an adapter forgives fail there, or are told
# of, and those without are not. The same seed makes the same of them.

. "$(dirname "$0")/lib.sh"

kernel_has ib_uverbs class/infiniband_verbs
cases=$("$here/strict.py" 2>&1) || leave_out "no pyverbs: ${cases##*$'\n'}"

fabric=$configfs/test
strict=$fabric/strict
faults=$fabric/faults
rings=/sys/module/ib_madsim/parameters/rings
trace=/sys/kernel/tracing/trace
events=/sys/kernel/tracing/events/madsim

build()
{
	make_star $fabric 4 h1+ h2+
	put $fabric/data 1
	put $fabric/h1/seed 1
	put $fabric/h2/seed 1
	put $fabric/live 1
}

# clean CASE ...: it passes, without a mistake
clean()
{
	put $strict 1
	ask "$@"
	has_no " [1-9]" $strict
}

# Most programs with mistakes race with the fabric, and win if the machine stands still for
# long at the wrong moment. A program that has won gets more tries
tries="1 2 3 4 5"

# told MISTAKE CASE: of this program, and of no other mistake
told()
{
	for _ in $tries; do
		put $strict 1
		ask "$2" || true
		! grep -q " [1-9]" $strict || break
	done
	all_say cat $strict -- "^$1 1\$"
	[ "$(awk '{ sum += $2 } END { print sum }' $strict)" = 1 ]
}

# broken CASE: it fails
broken()
{
	put $strict 1
	for _ in $tries; do
		ask "$1" || return 0
	done
	return 1
}

# replug FILE VALUE: h1 has another device, made when the file has this value
replug()
{
	put $faults "h1 unplug"
	put "$1" "$2"
	put $faults "h1 plug"
	until_true 30 active 2
}

# times SEED: which the queue pairs of h1 have, without their numbers
times()
{
	replug $fabric/h1/seed "$1"
	put $trace ""
	put $events/madsim_late/enable 1
	ask several
	put $events/madsim_late/enable 0
	grep -o "device madsim0 .*" $trace | sort | cut -d" " -f5-
}

load topology=none || ktap_bail "cannot load ib_madsim"
check "make a fabric with data" build
SM_SWEEP=1 sm_start sm madsim1
check "a subnet manager" until_true 30 active 2
cases_of "$here/strict.py" madsim0 madsim1 -
check "strict is yes or no: EINVAL" eval '
	refuses "Invalid argument" put $strict 7
	says "^0$" cat $strict'

# Nor do adapters forgive these
check "an adapter forgives" eval '
	for name in $(sed -E "/^(full|rd_atomic)/d; s/.* //" <<<"$cases"); do
		echo "$name"
		ask $name
	done
	has_no " [1-9]" $strict'
put $strict 1
for name in good datagrams not_strict stands_still given_back many; do
	check "no mistake: $name" clean $name
done
check "no completion is lost: purged" ask purged
check "nor of a queue that is no ring" eval '
	replug $rings 0
	ask purged
	ask many
	replug $rings 1'
while read -r kind name; do
	case $kind in
	fails)	check "$name" broken "$name" ;;
	*)	check "$name" told "$kind" "$name" ;;
	esac
	check "$name, done well" clean "$name" well
done <<<"$cases"
check "changed, so that the program fails" broken changed.RC
put $strict 1
mount_tracing
if [ -d $events ]; then
	check "who did it" eval '
		put $events/madsim_mistake/enable 1
		put $strict 1
		ask no_buffer_send
		put $events/madsim_mistake/enable 0
		says "device madsim0 qpn [0-9]+ wr_id 2 process [^ ]*:[0-9]+ mistake no_buffer" \
			cat $trace'
	check "the same seed, the same times; another seed, other ones" eval '
		one=$(times 1) again=$(times 1) other=$(times 2)
		echo "$one"
		[ "$(grep -c completion <<<"$one")" = 20 ]
		[ "$one" = "$again" ] && [ "$one" != "$other" ]'
else
	for name in "who did it" "the same seed, the same times; another seed, other ones"; do
		skip "$name" "this kernel has no tracepoints"
	done
fi
put $strict 0
cases_end
sm_end sm
check "remove the fabric" eval '"$madsim_load" -r test; unload'

finish
