#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# A wrong Q_Key: it is counted, and the subnet manager is told who, whom and which.

. "$(dirname "$0")/lib.sh"

kernel_has ib_uverbs class/infiniband_verbs
pyverbs=$("$here/verbs.py" 2>&1) || leave_out "no pyverbs: ${pyverbs##*$'\n'}"

check "two hosts, with data" load topology=star:2 devices=2 data=1
SM_MORE="subnet_timeout 21" sm_start sm madsim0
check "all ports become active" until_true 30 active 2
l0=$(lid madsim0) l1=$(lid madsim1)

# told KEY QP QP: what opensm makes of the notice. Of the first number it prints 12 bits
told()
{
	local qp1
	qp1=$(printf %#x $(($2 & 0xfff)))
	grep "Bad Q_Key:$1 on SL:3 from LID1:$l0 QP1:$qp1 to LID2:$l1 QP2:$3" "$tmp/sm.log"
}
wrong()
{
	local qps
	qps=$("$here/qkey.py" madsim0 madsim1 "$@")
	# shellcheck disable=SC2086	# two words
	until_true 30 told "$1" $qps
}
check "a program sends to one of another: opensm hears of it" wrong 0x4321
check "which is counted" says "^1$" port_info "$l1" QkeyViolations
check "a program sends to QP1" wrong 0x4322 1
check "which is counted, too" says "^2$" port_info "$l1" QkeyViolations
# The next notice may come when the time of SubnetTimeOut is over, and has the last key then.
# The time may be over between two of the ten
check "of ten in a short time at most two are told, the last one too" eval '
	qps=$("$here/qkey.py" madsim0 madsim1 --many 0x5009)
	until_true 30 told 0x5009 $qps
	[ "$(grep -o Q_Key:0x500. "$tmp/sm.log" | sort -u | wc -l)" -le 2 ]'
check "the right one is nobody's business" eval '
	"$here/verbs.py" madsim0 madsim1 ud_pieces
	says "^12$" port_info "$l1" QkeyViolations'
the_end sm
