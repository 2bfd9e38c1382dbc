# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# What ibnetdiscover and ibdiagnet print, and ibsim reads. A node begins with its kind, and its
# ports follow:
#
#	Switch 36 "S-5349000000000100" # "leaf" base port 0 lid 1 lmc 0
#	[1] "H-5349000000000010"[1](5349000000000011) # "h1 HCA-1" lid 2 4xHDR
#
# ibsim's files have options instead of comments, names that count within a module, and
# aliases of ports.

function was_said(key)
{
	return key in said ? said[key] : "-"
}

# The number after, say, " w=", "" if there is none
function option(s, key)
{
	return match(s, "[ \t]" key "=[0-9]+") ? substr(s, RSTART + 3, RLENGTH - 3) : ""
}

# What the line of a port says of its link. ibsim has options for it, ibnetdiscover
# writes, say, 4xEDR behind the LID in its comment, and the driver 4x edr.
function note_ability(node, port, options,	w, s, e)
{
	w = option(options, "w")
	s = option(options, "s")
	e = option(options, "e")
	if (w != "" && w !~ /^(1|2|4|8|12)$/) {
		complain(at, "w=" w " is none of 1, 2, 4, 8, 12", "left out")
		w = ""
	}
	if (s != "" && s !~ /^[1-7]$/) {
		complain(at, "s=" s " is not between 1 and 7", "left out")
		s = ""
	}
	if (e + 0 > 15) {
		complain(at, "e=" e " is not between 0 and 15", "left out")
		e = ""
	}
	if (w s e == "" && match(tolower(comment), /(^|[ \t])[0-9]+x ?[a-z?][a-z0-9?]*([ \t]+([swv]=[0-9]+|slot [0-9]+|\(scp\)|down|init|armed|active))*[ \t]*$/)) {
		w = tolower(substr(comment, RSTART, RLENGTH))
		sub(/^[ \t]+/, "", w)
		s = w
		sub(/x.*/, "x", w)
		sub(/^[0-9]+x ?/, "", s)
		sub(/[ \t].*$/, "", s)
		note_rate(node, port, w, s)
		return
	}
	w = w == "" ? usual["width"] : w
	s = s == "" ? usual["speed"] : s
	e = e == "" ? usual["extspeed"] : e
	if (w != "")
		width[node, port] = w "x"
	if (e + 0)
		speed[node, port] = fastest(e, "fdr edr hdr ndr")
	else if (s != "")
		speed[node, port] = fastest(s, "sdr ddr qdr")
}

# The LID in a comment, that of the port itself or of its peer
function own_lid(text)
{
	return match(text, /lid [0-9]+ lmc/) ? substr(text, RSTART + 4, RLENGTH - 8) + 0 : 0
}

function peer_lid(text)
{
	sub(/^.*"/, "", text)
	return match(text, /lid [0-9]+/) ? substr(text, RSTART + 4, RLENGTH - 4) + 0 : 0
}

# The text of the last pair of quotes in a comment: what the peer is
function last_quoted(text)
{
	if (!match(text, /"[^"]*"[^"]*$/))
		return ""
	text = substr(text, RSTART + 1)
	sub(/".*/, "", text)
	return text
}

# The whole name of what the file calls so
function full_name(name)
{
	if (name ~ /^@/)
		return module name
	return module == "" || name ~ /[#@]/ ? canonical(name) : module "#" name
}

# The GUID at the end, in parentheses. Labels of ports may be there, too.
function guid_behind(text)
{
	return match(text, /\((0x)?[0-9a-fA-F]+\)$/) ? substr(text, RSTART + 1, RLENGTH - 2) : ""
}

# Heads of ibnetdiscover -g; "do" and "pdebug" tell ibsim what to do
line == "" || line ~ /^(do .*|pdebug *=.*)$/ ||
line ~ /^(Non-Chassis Nodes|Chassis [0-9]+( \(guid 0x[0-9a-fA-F]+\))?)$/ {
	next
}

# What stands before a node; that of a switch has the GUID of its port 0, too
line ~ /^(vendid|devid|sysimgguid|switchguid|h?caguids?|rtguid)=/ {
	key = line
	sub(/=.*/, "", key)
	value = line
	sub(/^[a-z]*=[ \t]*/, "", value)
	if (key == "switchguid" && value ~ /\(/) {
		port_guid = value
		sub(/.*\(/, "", port_guid)
		sub(/\).*/, "", port_guid)
		port_guid = whole_guid(port_guid)
	}
	sub(/[ \t]*\(.*/, "", value)
	if (key ~ /guid/ && whole_guid(value) != "")
		said[key ~ /sys/ ? key : "guid"] = whole_guid(value)
	else if (key ~ /guid/ && value ~ /^(0x)?[^ \t]+$/ && value !~ /^(0x)?0+$/)
		# The driver has one of its own for the node
		tally(at, "no GUID: " value, "GUIDs cannot be read", "they are others here")
	else if (key !~ /guid/ && whole_id(value, key == "vendid" ? 16777215 : 65535) != "-")
		said[key] = whole_id(value, 16777215)
	else if (value !~ /^(0x)?0+$/)
		nonsense()
	next
}

# For all that follows
line ~ /^(width|speed|extspeed)[ \t]*=[ \t]*[0-9]+$/ {
	key = line
	sub(/[ \t]*=.*/, "", key)
	sub(/.*=[ \t]*/, "", line)
	usual[key] = line
	next
}

line ~ /^module[ \t]*=[ \t]*"[^"]*"$/ {
	module = quoted(line)
	next
}

line ~ /^include[ \t]*"[^"]*"$/ {
	complain(at, "a file in a file: " quoted(line), "left out")
	next
}

# The log of a terminal may have lost the tabs
line ~ /^(Switch|Hca|Ca|Rt|Router)[ \t]*[0-9]+[ \t]*"[^"]+"$/ {
	name = full_name(quoted(line))
	kind = line ~ /^S/ ? "switch" : line ~ /^R/ ? "router" : "ca"
	sub(/^[^0-9]*/, "", line)
	sub(/[^0-9].*/, "", line)
	node = add_node(name, kind, line, comment ~ /"/ ? quoted(comment) : name)
	skipping = node == ""
	if (node != "") {
		# ibnetdiscover makes names of GUIDs
		if (!("guid" in said) && name ~ /^[SHR]-[0-9a-f]+$/ && length(name) == 18 &&
		    whole_guid(substr(name, 3)) != "")
			said["guid"] = whole_guid(substr(name, 3))
		ids[node] = was_said("vendid") " " was_said("devid") " " was_said("sysimgguid")
		guids[node] = was_said("guid")
		if (port_guid != "")
			port_guids[node] = port_guid
		lids[node] = peer_lid(comment)
	}
	split("", said)
	port_guid = ""
	next
}

# Behind the number of a port there may be its number on the chassis, its label, and its GUID
line ~ /^\[[0-9]+\](\[ext [0-9]+\])?([ \t]*\([^()]*\))*[ \t]*"[^"]+"([ \t]*\[[0-9]+\](\[ext [0-9]+\])?)?([ \t]*\([^()]*\))*([ \t]+[swe]=[0-9]+)*$/ {
	if (node == "") {
		if (!skipping)
			complain(at, "a port outside of a node", "left out")
		next
	}
	from = substr(line, 2) + 0
	rest = line
	sub(/^[^"]*"[^"]*"[ \t]*/, "", rest)
	# Without a number it is port 1
	to_port = rest ~ /^\[/ ? substr(rest, 2) + 0 : 1
	if (!add_link(node, from, full_name(quoted(line)), to_port, own_lid(comment), peer_lid(comment),
		      last_quoted(comment)))
		next
	note_ability(node, from, " " rest)
	if (match(tolower(comment), /[ \t](down|init|armed|active)$/))
		link_state[links] = substr(tolower(comment), RSTART + 1)
	sub(/([ \t]+[swe]=[0-9]+)*$/, "", rest)
	peer_guids[links] = guid_behind(rest)
	sub(/[ \t]*"[^"]*".*/, "", line)
	value = first_port_guid(guid_behind(line), from)
	if (type[node] != "switch" && !(node in port_guids) && value != "")
		port_guids[node] = value
	next
}

line ~ /^@\[[0-9]+\][ \t]*"[^"]+"$/ && node != "" {
	alias_node[module "@" quoted(line)] = raw_name[node]
	alias_port[module "@" quoted(line)] = substr(line, 3) + 0
	next
}

# The other end of a wire is in another fabric
line ~ /^\[[0-9]+\][ \t]+wire([ \t]+[swe]=[0-9]+)*$/ {
	from = substr(line, 2) + 0
	if (node == "" || from < 1 || from > ports[node]) {
		complain(at, "a wire without a port", "left out")
		next
	}
	note_ability(node, from, line)
	wires++
	wire_line[wires] = at
	wire_node[wires] = node
	wire_port[wires] = from
	next
}
