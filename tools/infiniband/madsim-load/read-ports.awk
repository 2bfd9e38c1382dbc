# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# ibnetdiscover -p: all ports, one a line, with what they are linked to. A switch has one GUID
# for all its ports, those of a host count on.

# The node of a port, or ""
function port_node(kind, guid, number, description)
{
	gsub(/^[ \t]*'|'[ \t]*$/, "", description)
	kind = kind == "SW" ? "switch" : kind == "CA" ? "ca" : "router"
	if (kind != "switch")
		guid = first_port_guid(guid, number)
	return known(kind, guid, number, description)
}

# A description may have a #
$0 ~ /^[ \t]*(CA|SW|RT)[ \t]+[0-9]+[ \t]+[0-9]+[ \t]+0x[0-9a-fA-F]+[ \t]+[^ \t]+[ \t]+[^ \t]+([ \t]|$)/ {
	line = $0
	sub(/^[ \t]+/, "", line)
	split(line, word)
	linked = word[7] == "-" && word[8] ~ /^(CA|SW|RT)$/ && word[11] ~ /^0x[0-9a-fA-F]+$/
	own = line
	if (linked) {
		sub(/^[^(]*\([ \t]*/, "", own)
		sub(/[ \t]*\)$/, "", own)
		other = own
		if (!sub(/'[ \t]+-[ \t]+'.*$/, "'", own))
			own = ""
		if (!sub(/^.*'[ \t]+-[ \t]+'/, "'", other))
			other = ""
	} else {
		for (i = 1; i <= 6; i++)
			sub(/^[^ \t]+[ \t]*/, "", own)
	}
	here = port_node(word[1], word[4], word[3], own)
	there = linked ? port_node(word[8], word[11], word[10], other) : ""
	if (here != "" && there != "" &&
	    add_link(here, word[3], there, word[10], word[2], word[9], ""))
		note_rate(here, word[3], tolower(word[5]), tolower(word[6]))
	next
}
