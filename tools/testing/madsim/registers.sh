#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Registers of a switch: what a file says of temperatures, fans, power supplies and cables is
# what NVIDIA's mstreg reads there, which has layouts of its own.

. "$(dirname "$0")/lib.sh"

have mstreg
# A register, the fields by which a request chooses one, and others
registers="
MGIR device_id=0x0000d2f0,hw_dev_id=0x0000024d,num_ports=0x00000029,uptime=0x00015180,psid[0]=0x0000004d,psid[15]=0x00000033,extended_major=0x0000001b,extended_minor=0x000007da,extended_sub_minor=0x0000083e
MGPIR num_of_modules=0x00000028,num_of_devices=0x00000001
MSGI serial_number[0]=0x4d543230,part_number[4]=0x31323334,revision=0x41340000,product_name[1]=0x4a617300
MTMP sensor_index=0x00000000 temperature=0x00000168,max_temperature=0x000001a0,temperature_threshold_hi=0x00000348,temperature_threshold_lo=0x00000320,sensor_name_hi=0x61736963
MTMP sensor_index=0x00000040 temperature=0x00000191
MTCAP sensor_count=0x00000007,internal_sensor_count=0x00000001
MFCR pwm_active=0x00000001,tacho_active=0x0000003f
MFSM tacho=0x00000000 rpm=0x000021c0
MFSM tacho=0x00000005 rpm=0x00001d4c
FORE fan_under_limit=0x00000020,fan_over_limit=0x00000001
MSPS psu0[0]=0x80000070,psu0[19]=0x00000001,psu1[2]=0x00000051
SPZR node_guid_h=0xb8cef603,node_guid_l=0x00123456,node_description[0]=0x6c656166
PDDR local_port=0x00000002,page_select=0x00000003 cable_identifier=0x00000003,cable_length=0x00000004,cable_type=0x00000001,vendor_name[0]=0x4d656c6c,vendor_pn[3]=0x20202020,temperature=0x00002a00,voltage=0x00008000,rx_power_lane0=0x00001234,tx_bias_lane3=0x00000b0b
PDDR local_port=0x00000003,page_select=0x00000003 cable_length=0x00000007
"
load topology=none || ktap_bail "cannot load ib_madsim"
make_star "$configfs/lab" 4 alice+ bob
check "it lives" put $configfs/lab/live 1
dev=$(device alice)
sm_start sm "$dev"
check "opensm brings it up" until_true 30 active 1
at=lid-$(lid_at "$dev" 0,1 0)
bob=lid-$(lid_at "$dev" 0,1,2 1)

sed -n 's/,/ /g; s/^[A-Z]/leaf &/p' <<<"$registers" >"$tmp/registers"
check "the registers of a file" "$madsim_load" --registers -n lab "$tmp/registers"

# read_register REGISTER FIELDS: all fields by which a request chooses have to be named, and their
# number grows from version to version
read_register()
{
	local field indices=

	for field in $(mstreg -d "$at" --show_reg "$1" | awk -F '|' '/INDEX/ { print $1 }'); do
		[[ ,$2, =~ ,$field=([^,]*), ]] || BASH_REMATCH=(- 0x0)
		indices+=,$field=${BASH_REMATCH[1]}
	done
	mstreg -d "$at" --get --reg_name "$1" ${indices:+--indexes "${indices#,}"}
}

# shows REGISTER FIELDS FIELDS
shows()
{
	local field
	local -a fields patterns=()

	IFS=, read -r -a fields <<<"$2${3+,$3}"
	for field in "${fields[@]}"; do
		field=${field//[/\\[}
		patterns+=("^${field%=*} +\| ${field#*=}\$")
	done
	all_say read_register "$1" "$2" -- "${patterns[@]}"
}
while read -r register fields; do
	[ -z "$register" ] ||
		check "mstreg reads $register ${fields%%[ =]*}" shows "$register" $fields
done <<<"$registers"
check "no such sensor" refuses "not supported" read_register MTMP sensor_index=0x1
check "no such register" refuses "not supported" read_register MSCI index=0x0
check "no registers at a host" refuses "crspace read" mstreg -d "$bob" --get --reg_name MFCR
check "opensm's log has no error" sm_log_clean sm
sm_end sm
check "the end of it" "$madsim_load" -r lab
the_end
