#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# In a guest with KCOV, ib_umad loaded and MADSIM_MODULE our madsim: make a small
# subnet and let umad_fuzz at one of its hosts, and at another one that may be
# unplugged.
#
#	guest.sh PROGRAM [OPTION of umad_fuzz ...]

set -eu
. "$(dirname "$0")/../madsim/lib.sh"

[ $# -ge 1 ] || bail "usage: guest.sh PROGRAM [OPTION ...]"
program=$1
shift

load topology=star:2 devices=2 || bail "cannot load ib_madsim"
sm_start sm "$(device H1)"
until_true 60 active 2 || bail "the subnet does not come up"
sm_end sm

declare -a chardevs=()
for host in H1 H2; do
	for kind in umad issm; do
		for dir in /sys/class/infiniband_mad/$kind*; do
			[ "$(cat "$dir/ibdev")" != "$(device $host)" ] ||
				chardevs+=("/dev/infiniband/${dir##*/}")
		done
	done
done
"$program" -c "$(dirname "$0")/corpus" -f $configfs/preset/faults -u H2 "$@" "${chardevs[@]}"
