#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# In a guest with KCOV, ib_umad loaded and MADSIM_MODULE our madsim: make a small
# subnet and let umad_fuzz at one of its hosts, and at another one that may be
# unplugged. Or make two halves of a subnet, and it is the cable between them. Nothing of
# what it made is left then.
#
#	guest.sh umad|verbs|wires|streams PROGRAM [OPTION of umad_fuzz ...]

. "$(dirname "$0")/../madsim/lib.sh"

[ $# -ge 2 ] || ktap_bail "usage: guest.sh umad|verbs|wires|streams PROGRAM [OPTION ...]"
what=$1 program=$2
shift 2
here=$(dirname "$0")
kinds="umad issm" corpus=$here/corpus
[ "$what" = umad ] || kinds=uverbs corpus=$here/corpus_verbs

# fuzz OPTION ...: what umad_fuzz tells by its status
fuzz()
{
	local status=0

	"$program" "$@" || status=$?
	[ $status -lt 4 ] || ktap_bail "umad_fuzz cannot begin"
	ktap_result $((status & 1)) "all calls end"
	ktap_result $((status & 2)) "enough points are reached"
}

look=$here/../../../scripts/guest/inside/check
"$look" leaks >/dev/null || true
ktap_begin
if [[ $what = @(wires|streams) ]]; then
	. "$here/wires.sh"
	exit
fi
load topology=star:2 devices=2 data=1 || ktap_bail "cannot load ib_madsim"
sm_start sm "$(device H1)"
until_true 60 active 2 || ktap_bail "the subnet does not come up"
sm_end sm

declare -a chardevs=()
for host in H1 H2; do
	for kind in $kinds; do
		for dir in /sys/class/infiniband_{mad,verbs}/"$kind"*; do
			[ "$(cat "$dir/ibdev" 2>/dev/null)" != "$(device $host)" ] ||
				chardevs+=("/dev/infiniband/${dir##*/}")
		done
	done
done
fuzz -c "$corpus" -f $configfs/preset/faults -u H2 "$@" "${chardevs[@]}"
check "no object is left" no_objects
check "unload" unload
check "no memory is lost" "$look" leaks
finish
