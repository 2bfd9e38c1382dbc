#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# osmtest, which opensm brings along to test its subnet administration

. "$(dirname "$0")/lib.sh"

load topology=fattree:4 || bail "cannot load ib_madsim"
from=$(port_guid madsim1)

# flow NAME [OPTION ...]
flow()
{
	local name=$1
	shift
	says "OSMTEST: TEST .*PASS" osmtest -g "$from" -f "$name" -i "$tmp/inventory" "$@"
}

check "opensm starts" sm_start sm madsim0
check "all ports become active" until_true 30 active 4
check "an inventory of the fabric" flow c
check "which is what the subnet administration says" flow a
lies()
{
	cp "$tmp/inventory" "$tmp/truth"
	sed -i 's/^\(base_lid *\).*/\10x7f/' "$tmp/inventory"
	fails flow v
	mv "$tmp/truth" "$tmp/inventory"
}
check "and finds out one that lies" lies
check "services" flow s
check "events" flow e
check "multicast" flow m
the_end sm
