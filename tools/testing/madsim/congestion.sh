#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Congestion control: opensm writes settings, ibccconfig others, ibccquery reads all
# of them. What an agent makes of each attribute and of the CC_Key is tested by cc.py.

. "$(dirname "$0")/lib.sh"

load topology=none || ktap_bail "cannot load ib_madsim"
lab=$configfs/lab
check "a switch of 60 ports, a host that is a device, and one that is none" eval '
	make_star $lab 60 alice+ bob
	put $lab/live 1'
dev=$(device alice)
on="-C $dev -P 1"

SM_MORE="congestion_control TRUE
cc_key 0x5ec7e7
cc_sw_cong_setting_control_map 0x1f
cc_sw_cong_setting_victim_mask 0x3
cc_sw_cong_setting_credit_mask 0x5
cc_sw_cong_setting_threshold 0xc
cc_sw_cong_setting_packet_size 8
cc_sw_cong_setting_marking_rate 16
cc_ca_cong_setting_port_control 0x0001
cc_ca_cong_setting_control_map 0xffff
cc_ca_cong_setting_ccti_timer 3 150
cc_ca_cong_setting_ccti_min 3 7
cc_cct 0:1,1:2,2:3" sm_start sm "$dev"
check "opensm: all ports become active" until_true 30 active 1
sw=$(lid_at "$dev" 0,1 0)
bob=$(lid_at "$dev" 0,1,2 1)
alice=$(lid "$dev")

check "opensm: SwitchCongestionSetting" until_true 10 all_say \
	ibccquery $on SwitchCongestionSetting "$sw" -- \
	"^Control_Map:\.*0x0*1f$" "^Victim_Mask:\.*0*3$" "^Credit_Mask:\.*0*5$" \
	"^Threshold:\.*0x0*c$" "^Packet_Size:\.*8$" "^Marking_Rate:\.*16$"
# values TOOL-OPTION ...: of all that it says, the numbers in one line
values()
{
	ibccquery $on "$@" | sed -n 's/^[^#].*:\.*//p' | paste -sd ' '
}
settings()
{
	local to
	for to in "$alice" "$bob"; do
		all_say values CACongestionSetting "$to" -- "^0x0001 0xffff 0 0 0 0 0 " \
			" 3 150 0 0 7 4 "
		says "^2 0 0 1 1 1 2 2 2 3$" values CongestionControlTable "$to"
	done
}
check "opensm: CACongestionSetting and CongestionControlTable of both hosts" until_true 10 settings
check "opensm's log has no error" sm_log_clean sm

check "ibccquery: logs of either kind, and nothing is in them" eval '
	all_say ibccquery $on CongestionLog $sw -- "^LogType:\.*1$" "^LogEventsCounter:\.*0$"
	all_say ibccquery $on CongestionLog $bob -- "^LogType:\.*2$" "^ThresholdEventCounter:\.*0$"
	fails says SLID ibccquery $on CongestionLog $sw'

# ibccconfig reads 32 ports at a time and writes 48: of port 1 both are the same
check "ibccconfig: SwitchPortCongestionSetting" eval '
	ibccconfig $on SwitchPortCongestionSetting $sw 1 1 1 5 0 9
	all_say ibccquery $on SwitchPortCongestionSetting $sw 1 -- "^Valid:\.*1$" \
		"^Control_Type:\.*1$" "^Threshold:\.*0x0*5$" "^Cong_Parm_Marking_Rate:\.*9$"
	says "^Valid:\.*0$" ibccquery $on SwitchPortCongestionSetting $sw 2'
check "ibccquery: all 60 ports" eval '
	[ $(ibccquery $on SwitchPortCongestionSetting $sw | grep -c ^Port:) = 61 ]'
check "ibccconfig: one service level of CACongestionSetting" eval '
	ibccconfig $on CACongestionSetting $bob 1 0x4 200 2 3 4
	all_say values CACongestionSetting $bob -- "^0x0001 0x0004 0 0 0 0 0 " \
		" 2 200 2 3 4 3 150 0 0 7 4 "'

check "ibccconfig, ibccquery: a CC_Key" eval '
	ibccconfig $on CongestionKeyInfo $bob 0x5ec7e7 1 0 0
	unanswered ibccquery $on -t 100 CongestionInfo $bob
	all_say ibccquery $on -c 0x5ec7e7 CongestionKeyInfo $bob -- \
		"^CC_Key:\.*0x0*5ec7e7$" "^CC_KeyProtectBit:\.*1$" "^CC_KeyViolations:\.*[1-9]"'
sm_end sm
check "unload" eval '"$madsim_load" -r lab; unload'

finish
