# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# A topology file of ibutils, with its chassis taken apart, as madsim-load reads it:
#
#	IBDM_IBNL_PATH=FOLDER ibdmsh topology.tcl FILE OUTPUT

set fabric [new_IBFabric]
if {[IBFabric_parseTopology $fabric [lindex $argv 0]]} {
	puts stderr "ibdm cannot read it"
	exit 1
}
set out [open [lindex $argv 1] w]
array set word {2.5 SDR 5 DDR 10 QDR}

# A name becomes a folder
proc name {node} {
	return [string map {/ .} [IBNode_name_get $node]]
}

foreach named [IBFabric_NodeByName_get $fabric] {
	set node [lindex $named 1]
	set count [IBNode_numPorts_get $node]
	set type [expr {[IBNode_type_get $node] in {SW 2} ? "Switch" : "Hca"}]
	puts $out "$type $count \"[name $node]\""
	for {set i 1} {$i <= $count} {incr i} {
		set port [IBNode_getPort $node $i]
		if {$port eq ""} continue
		set peer [IBPort_p_remotePort_get $port]
		if {$peer eq ""} continue
		set other [IBPort_p_node_get $peer]
		puts $out "\[$i\] \"[name $other]\"\[[IBPort_num_get $peer]\]\
# \"[name $other]\" lid 0 [IBPort_width_get $port]$word([IBPort_speed_get $port])"
	}
	puts $out ""
}
close $out
exit 0
