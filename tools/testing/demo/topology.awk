# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# A graph for Graphviz of what ibnetdiscover prints: each link once.

function name(line)
{
	match(line, /# "[^"]*"/)
	return substr(line, RSTART + 3, RLENGTH - 4)
}

BEGIN {
	print "graph fabric {"
	print "\trankdir=BT; ranksep=1; node [fontname=\"sans\"];"
}

/^(Switch|Ca)/ {
	id = $3
	shape = $1 == "Switch" ? "box, style=filled, fillcolor=lightblue" : "ellipse"
	printf "\t%s [label=\"%s\", shape=%s];\n", id, name($0), shape
}

/^\[/ {
	split($0, field, "\"")
	peer = "\"" field[2] "\""
	# Both ends list it; the one that comes first in the alphabet counts
	if (id < peer)
		print "\t" id " -- " peer ";"
}

END { print "}" }
