#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# A host with one RDMA device for QP0 and another for QP1: today's diagnostics find both
# by the name of either.

. "$(dirname "$0")/lib.sh"

load topology=none || ktap_bail "cannot load ib_madsim"
lab=$configfs/lab
check "make a fabric" eval '
	make_star $lab 4 alice+ bob+
	put $lab/alice/separate_smi 1'

# What is missing here: nothing, or the reason to skip the rest
missing()
{
	if ! put $lab/live 1 2>"$tmp/live"; then
		grep -q "not supported" "$tmp/live" &&
			echo "this kernel has no devices for QP0 alone"
	elif ! rdma dev help 2>&1 | grep -q " type "; then
		echo "rdma of iproute2 makes no devices here"
	elif ! grep -qs umad_get_smi_gsi_pairs /usr/lib/*/libibumad.so.3; then
		echo "libibumad knows no pairs of devices here"
	fi
}
why=$(missing)
# Of alice; bob is the host of the subnet manager
gsi=$(device alice 2>/dev/null) bob=$(device bob 2>/dev/null)

# step NAME COMMAND ...: a check, or a skip if something is missing
step()
{
	if [ "$why" ]; then
		skip "$1" "$why"
	else
		check "$@"
	fi
}
both()
{
	local dev
	for dev in "$gsi" alicesmi; do
		says "$1" "$2" -C "$dev" "${@:3}" || return 1
	done
}
add()
{
	rdma dev add alicesmi type SMI parent "$gsi"
}
[ "$why" ] || sm_start sm "$bob"
step "bob's opensm brings the fabric up" until_true 30 active 2
step "SMPs need the other device" fails smpquery -C "$gsi" -P 1 -D nodedesc 0
step "which is made by rdma" add
step "and is listed" says "alicesmi.* type smi parent $gsi" rdma dev show alicesmi
step "smpquery finds both by the one for QP1" eval '
	says "^Node Description:\.*bob" smpquery -C "$gsi" nodedesc "$(lid "$bob")"'
step "and by the one for QP0" says "^Node Description:\.*bob" smpquery -C alicesmi -D nodedesc 0,1,2
step "and both by themselves" says "^Node Description:\.*alice" smpquery -D -C "$gsi" nodedesc 0
step "perfquery, by either" eval 'both "^PortXmitPkts:" perfquery "$(lid "$bob")" 1'
if [ "$why" ] || [ "$(saquery -V 2>&1 | grep -oE '[0-9]+' | head -n 1)" -ge 61 ]; then
	step "saquery, by either" both "NodeDescription\.*bob" saquery NR
else
	skip "saquery, by either" "saquery knows no pairs of devices here"
fi
step "ibnetdiscover" both "^Ca.*bob" ibnetdiscover
step "it can be taken away" eval '
	rdma dev del alicesmi
	fails rdma dev show alicesmi
	says "bob" smpquery -C "$bob" nodedesc "$(lid "$bob")"'
step "and goes when the node goes" eval '
	add
	put $configfs/lab/faults "alice unplug"
	fails rdma dev show alicesmi'
[ "$why" ] || sm_end sm

check "unload" eval '"$madsim_load" -r lab; unload'

finish
