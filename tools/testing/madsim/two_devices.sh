#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# A host with one RDMA device for QP0 and another for QP1: today's diagnostics find both
# by the name of either.

. "$(dirname "$0")/lib.sh"

plan 14

load topology=none || bail "cannot load ib_madsim"
lab=$configfs/lab
make_lab()
{
	mkdir $lab $lab/{alice,bob,leaf}
	put $lab/leaf/type switch
	put $lab/leaf/ports 4
	put $lab/alice/device 1
	put $lab/bob/device 1
	put $lab/alice/separate_smi 1
	put $lab/link "alice 1 leaf 1"
	put $lab/link "bob 1 leaf 2"
}
check "make a fabric" make_lab

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
steps=(
	"bob's opensm brings the fabric up"
	"SMPs need the other device"
	"which is made by rdma"
	"and is listed"
	"smpquery finds both by the one for QP1"
	"and by the one for QP0"
	"and both by themselves"
	"perfquery, by either"
	"saquery, by either"
	"ibnetdiscover"
	"it can be taken away"
	"and goes when the node goes"
)

# Of alice; bob is the host of the subnet manager
gsi=$(device alice 2>/dev/null) bob=$(device bob 2>/dev/null)
both()
{
	local dev
	for dev in "$gsi" alicesmi; do
		says "$1" "$2" -C "$dev" "${@:3}" || return 1
	done
}
step()
{
	case $1 in
	0)	until_true 30 active 2 ;;
	1)	fails smpquery -C "$gsi" -P 1 -D nodedesc 0 ;;
	2)	rdma dev add alicesmi type SMI parent "$gsi" ;;
	3)	says "alicesmi.* type smi parent $gsi" rdma dev show alicesmi ;;
	4)	says "^Node Description:\.*bob" smpquery -C "$gsi" nodedesc "$(lid "$bob")" ;;
	5)	says "^Node Description:\.*bob" smpquery -C alicesmi -D nodedesc 0,1,2 ;;
	6)	says "^Node Description:\.*alice" smpquery -D -C "$gsi" nodedesc 0 ;;
	7)	both "^PortXmitPkts:" perfquery "$(lid "$bob")" 1 ;;
	8)	both "NodeDescription\.*bob" saquery NR ;;
	9)	both "^Ca.*bob" ibnetdiscover ;;
	10)	rdma dev del alicesmi
		fails rdma dev show alicesmi
		says "bob" smpquery -C "$bob" nodedesc "$(lid "$bob")" ;;
	11)	rdma dev add alicesmi type SMI parent "$gsi"
		put $configfs/lab/faults "alice unplug"
		fails rdma dev show alicesmi ;;
	esac
}
[ "$why" ] || sm_start sm "$bob"
for i in "${!steps[@]}"; do
	if [ "$why" ]; then
		skip "${steps[i]}" "$why"
	else
		check "${steps[i]}" step "$i"
	fi
done
[ "$why" ] || sm_end sm

remove_lab()
{
	put $lab/live 0 || true
	rmdir $lab/*/ $lab
	unload
}
check "unload" remove_lab

finish
