# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Read a topology as ibnetdiscover or ibdiagnet prints it or ibsim reads it. What comes
# out depends on mode:
#
#   load	lines of words for madsim-load: "node NAME TYPE PORTS VENDOR DEVICE
#		SYSTEM-GUID GUID PORT-GUID DESC", "link NAME PORT NAME PORT WIDTH
#		SPEED", "wire NAME PORT WIDTH SPEED"; an ID or GUID is "-" if the file has none
#   graph	every link once, not sorted: "NAME"[PORT] "NAME"[PORT],
#		and width and speed unless they are 4x and qdr
#   describe	the same with the descriptions that ibnetdiscover has in
#		comments instead of the names
#   dot		a graph for graphviz
#
# What is not understood is named by file and line, and left out. If strict is set, it is
# an error instead, and nothing comes out.

function fail(line, message)
{
	printf "%s:%d: %s\n", FILENAME, line, message >"/dev/stderr"
	failed = 1
	exit 1
}

# The file has something that cannot be taken as it is: say so, and what becomes of it
function complain(line, message, instead)
{
	if (strict)
		fail(line, message)
	printf "%s:%d: %s: %s\n", FILENAME, line, message, instead >"/dev/stderr"
}

# The line up to a # that is not in quotes; what follows goes to "comment"
function cut_comment(s,	i, c, quoted)
{
	comment = ""
	quoted = 0
	for (i = 1; i <= length(s); i++) {
		c = substr(s, i, 1)
		if (c == "\"")
			quoted = !quoted
		if (c == "#" && !quoted) {
			comment = substr(s, i + 1)
			return substr(s, 1, i - 1)
		}
	}
	return s
}

# The text between the first two quotes
function quoted(s,	part)
{
	return split(s, part, "\"") >= 3 ? part[2] : ""
}

function was_said(key)
{
	return key in said ? said[key] : "-"
}

# Note that two ports are linked; false if one of them is linked to another port already
function join(line, a, a_port, b, b_port)
{
	if (((a, a_port) in peer) && peer[a, a_port] != b "\"" b_port) {
		complain(line, "port " a_port " of \"" a "\" is linked twice", "the first link stays")
		return 0
	}
	peer[a, a_port] = b "\"" b_port
	return 1
}

# The number after, say, " w=", "" if there is none
function option(s, key)
{
	return match(s, "[ \t]" key "=[0-9]+") ? substr(s, RSTART + 3, RLENGTH - 3) : ""
}

# The fastest of those whose bits are in the number
function fastest(number, names,	name, count, i)
{
	count = split(names, name)
	for (i = count; i > 1 && number + 0 < 2 ^ (i - 1); i--)
		;
	return name[i]
}

# What the line of a port says of its link. ibsim has options for it, ibnetdiscover
# writes, say, 4xEDR behind the LID in its comment, and the driver 4x edr.
function note_ability(node, port, options,	w, s, e)
{
	w = option(options, "w")
	s = option(options, "s")
	e = option(options, "e")
	if (w != "" && w !~ /^(1|2|4|8|12)$/) {
		complain(FNR, "w=" w " is none of 1, 2, 4, 8, 12", "left out")
		w = ""
	}
	if (s != "" && s !~ /^[1-7]$/) {
		complain(FNR, "s=" s " is not between 1 and 7", "left out")
		s = ""
	}
	if (e + 0 > 15) {
		complain(FNR, "e=" e " is not between 0 and 15", "left out")
		e = ""
	}
	if (w != "")
		width[node, port] = w "x"
	if (e + 0)
		speed[node, port] = fastest(e, "fdr edr hdr ndr")
	else if (s != "")
		speed[node, port] = fastest(s, "sdr ddr qdr")
	if (w s e == "" && match(tolower(comment), /(^|[ \t])[0-9]+x ?[a-z?][a-z0-9?]*([ \t]+([swv]=[0-9]+|slot [0-9]+|\(scp\)|down|init|armed|active))*[ \t]*$/)) {
		w = tolower(substr(comment, RSTART, RLENGTH))
		sub(/^[ \t]+/, "", w)
		s = w
		sub(/x.*/, "x", w)
		sub(/^[0-9]+x ?/, "", s)
		sub(/[ \t].*$/, "", s)
		note_rate(node, port, w, s)
	}
}

# Width and speed in words, such as 4x and edr
function note_rate(node, port, w, s)
{
	if (w !~ /^(1|2|4|8|12)x$/)
		complain(FNR, "a link has no " w, "taken for 4x")
	else
		width[node, port] = w
	if (s !~ /^([sdqfehnx]dr|fdr10)$/)
		complain(FNR, "a link has no speed " s, "taken for qdr")
	else
		speed[node, port] = s
}

# The place of a word in a list, to compare two of them
function place(word, list,	names, i)
{
	for (i = split(list, names); i > 0 && names[i] != word; i--)
		;
	return i
}

# What either end of link i has in a table, the lesser if they differ, or what is usual
function of_link(table, i, order, usual,	here, there)
{
	here = link_from[i] SUBSEP link_from_port[i]
	there = link_to[i] SUBSEP link_to_port[i]
	if (!(here in table))
		return there in table ? table[there] : usual
	if (!(there in table) || table[here] == table[there])
		return table[here]
	complain(link_line[i], "the ends of the link differ: " table[here] ", " table[there],
		 "the lesser counts")
	return place(table[here], order) < place(table[there], order) ? table[here] : table[there]
}

# A GUID of 16 digits and a small number, which may be negative; "" if that reaches beyond
# the last seven digits, which awk calculates with
function guid_plus(guid, number,	i, low)
{
	guid = tolower(guid)
	sub(/^0x/, "", guid)
	guid = substr("0000000000000000" guid, length(guid) + 1)
	for (i = 10; i <= 16; i++)
		low = low * 16 + index("0123456789abcdef", substr(guid, i, 1)) - 1
	low += number
	return low < 0 || low >= 268435456 ? "" : "0x" substr(guid, 1, 9) sprintf("%07x", low)
}

# A GUID that is whole, or ""
function whole_guid(text)
{
	return text ~ /^(0x)?[0-9a-fA-F]+$/ && text !~ /^(0x)?0+$/ && length(text) <= 18 ? text : ""
}

# A GUID that the file does not have, as it was made illegible. The driver has
# one of its own for the node.
function unreadable(guid)
{
	if (strict)
		fail(FNR, "no GUID: " guid)
	if (!unread++)
		unread_line = FNR
}

# A node. Two of them may have the same name, as names are made of GUIDs: those get others.
function add_node(name, kind, count_ports, description,	other, i)
{
	node = name
	for (i = 2; node in ports; i++)
		node = name "." i
	if (node in seen_name || node ~ /[ \t\/]/ || node ~ /^\./) {
		complain(FNR, "\"" node "\" is no name for a directory", "the node is left out")
		node = ""
	} else if (length(node) > 63) {
		complain(FNR, "\"" node "\" is longer than 63 characters", "the node is left out")
		node = ""
	} else if (count_ports < 1 || count_ports > 254) {
		complain(FNR, count_ports " ports, a node has 1 to 254", "the node is left out")
		node = ""
	}
	if (node == "") {
		skipping = 1
		return
	}
	skipping = 0
	names[++count] = node
	raw_name[node] = name
	same_name[name] = same_name[name] " " count
	type[node] = kind
	ports[node] = count_ports + 0
	desc[node] = substr(description, 1, 64)
	node_line[node] = FNR
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

function add_link(to, to_port)
{
	if (from < 1 || from > ports[node]) {
		complain(FNR, "\"" node "\" has no port " from, "the link is left out")
		return
	}
	links++
	link_line[links] = FNR
	link_from[links] = node
	link_from_port[links] = from
	link_to[links] = to
	link_to_port[links] = to_port
	link_of[node, from] = links
}

# Which of the nodes with its name link i leads to: of several the one that knows most of
# this link
function resolve(i,	candidate, n, k, best, score, tie, other, name, back)
{
	if (!(link_to[i] in same_name)) {
		complain(link_line[i], "there is no node \"" link_to[i] "\"", "the link is left out")
		return ""
	}
	n = split(same_name[link_to[i]], candidate)
	if (n == 1)
		return names[candidate[1]]
	best = -1
	for (k = 1; k <= n; k++) {
		name = names[candidate[k]]
		score = 0
		back = link_of[name, link_to_port[i]]
		if (peer_lids[i] && (peer_lids[i] == lids[name] || back && peer_lids[i] == own_lids[back]))
			score += 8
		if (back && link_name[back] == raw_name[link_from[i]] &&
		    link_to_port[back] == link_from_port[i])
			score += 4
		if (peer_descs[i] != "" && peer_descs[i] == desc[name])
			score += 2
		if (back && peer_descs[back] != "" && peer_descs[back] == desc[link_from[i]])
			score += 1
		if (score > best) {
			best = score
			other = name
			tie = 0
		} else if (score == best) {
			tie = 1
		}
	}
	if (tie) {
		complain(link_line[i], "there are " n " nodes \"" link_to[i] "\"", "the link is left out")
		return ""
	}
	return other
}

# The node of a port of ibnetdiscover -p, which tells its GUID and number. A switch has one
# GUID for all its ports, those of a host count on. What else it is only the node tells.
function reported(kind, guid, number, description,	name)
{
	if (kind == "RT") {
		complain(FNR, "routers are not simulated", "left out, with its links")
		return ""
	}
	gsub(/^[ \t]*'|'[ \t]*$/, "", description)
	guid = guid_plus(guid, kind == "SW" ? 0 : 1 - number)
	if (whole_guid(guid) == "" || number < 1 || number > 254) {
		complain(FNR, "cannot make sense of: " $0, "left out")
		return ""
	}
	name = (kind == "SW" ? "S-" : "H-") substr(guid, 3)
	if (!(name in ports)) {
		add_node(name, kind == "SW" ? "switch" : "ca", number,
			 description == "" ? name : description)
		ids[name] = "- - -"
		guids[name] = guid
		port_guids[name] = guid
	}
	if (number > ports[name])
		ports[name] = number + 0
	return name
}

# Nodes with the same name: whether the file has one of them again
function check_names(	i, name, first, port, same)
{
	for (i = 1; i <= count; i++) {
		name = names[i]
		if (name == raw_name[name])
			continue
		first = raw_name[name]
		same = desc[name] == desc[first] && ports[name] == ports[first]
		for (port = 1; same && port <= ports[name]; port++)
			same = link_name[link_of[name, port]] == link_name[link_of[first, port]] &&
				link_to_port[link_of[name, port]] == link_to_port[link_of[first, port]]
		if (same) {
			complain(node_line[name], "a second node \"" first "\"", "the same once more")
			names[i] = ""
			sub(" " i "$", "", same_name[first])
			sub(" " i " ", " ", same_name[first])
			gone[name] = 1
		} else {
			complain(node_line[name], "a second node \"" first "\"",
				 "it becomes \"" name "\", and has another GUID")
		}
	}
}

# The driver refuses two nodes with one GUID, and subnet managers two ports
function check_guids(	i, node, guid)
{
	for (i = 1; i <= count; i++) {
		node = names[i]
		if (node == "")
			continue
		guid = guid_plus(guids[node], 0)
		if (guids[node] != "-" && guid in has_guid) {
			if (node == raw_name[node])
				complain(node_line[node], "\"" node "\" has the GUID of \"" has_guid[guid] "\"",
					 "it gets another")
			guids[node] = "-"
			delete port_guids[node]
			continue
		}
		has_guid[guid] = node
		if (!(node in port_guids))
			continue
		guid = guid_plus(port_guids[node], 0)
		if (guid in has_port_guid) {
			complain(node_line[node], "\"" node "\" has the port GUID of \"" has_port_guid[guid] "\"",
				 "it gets another")
			delete port_guids[node]
			continue
		}
		has_port_guid[guid] = node
	}
}

# What link i leads to, and what it can do; "" in link_to if there is none
function check_link(i,	from, from_port, to, to_port)
{
	from = link_from[i]
	from_port = link_from_port[i]
	to_port = link_to_port[i]
	if (from in gone || link_to[i] in left_out) {
		link_to[i] = ""
		return
	}
	to = resolve(i)
	link_to[i] = ""
	if (to == "")
		return
	if (to_port < 1 || to_port > ports[to])
		complain(link_line[i], "\"" to "\" has no port " to_port, "the link is left out")
	else if (from == to && from_port == to_port)
		complain(link_line[i], "port " from_port " of \"" from "\" is linked to itself",
			 "the link is left out")
	else if (join(link_line[i], from, from_port, to, to_port) &&
		 join(link_line[i], to, to_port, from, from_port))
		link_to[i] = to
	# The other end tells of the same link
	if (link_to[i] == "" || (to, to_port) in rated)
		return
	rated[from, from_port] = 1
	link_width[i] = of_link(width, i, "1x 2x 4x 8x 12x", "4x")
	link_speed[i] = of_link(speed, i, "sdr ddr qdr fdr10 fdr edr hdr ndr xdr", "qdr")
}

# A word in quotes, for dot
function dot_quoted(text)
{
	gsub(/\\/, "\\\\", text)
	gsub(/"/, "\\\"", text)
	return "\"" text "\""
}

# Link i, with a host at its lower end: what is not active has dashes
function dot_link(i,	label, low, low_port, high, high_port)
{
	low = link_from[i]
	low_port = link_from_port[i]
	high = link_to[i]
	high_port = link_to_port[i]
	if (type[low] == "switch" && type[high] == "ca") {
		low = high
		low_port = high_port
		high = link_from[i]
		high_port = link_from_port[i]
	}
	label = link_width[i] " " link_speed[i] (link_state[i] == "" ? "" : " " link_state[i])
	return dot_quoted(low) " -- " dot_quoted(high) " [taillabel=" low_port \
		", headlabel=" high_port ", label=" dot_quoted(label) \
		(link_state[i] ~ /^(active|)$/ ? "" : ", style=dashed") "]"
}

function dot_node(node)
{
	return dot_quoted(node) " [label=" dot_quoted(desc[node]) ", shape=" \
		(type[node] == "switch" ? "box, style=filled, fillcolor=lightblue" : "ellipse") "]"
}

FNR == 1 {
	sub(/^\357\273\277/, "")
}

{
	sub(/\r+$/, "")
	line = cut_comment($0)
	sub(/^[ \t]+/, "", line)
	sub(/[ \t]+$/, "", line)
}

# Heads of ibnetdiscover -g
line == "" || line ~ /^(Non-Chassis Nodes|Chassis [0-9]+( \(guid 0x[0-9a-fA-F]+\))?)$/ {
	next
}

# What stands before a node; that of a switch has the GUID of its port 0, too
line ~ /^(vendid|devid|sysimgguid|switchguid|caguid|rtguid)=/ {
	key = line
	sub(/=.*/, "", key)
	value = line
	sub(/^[a-z]*=/, "", value)
	if (key == "switchguid" && value ~ /\(/) {
		port_guid = value
		sub(/.*\((0x)?/, "0x", port_guid)
		sub(/\).*/, "", port_guid)
		port_guid = whole_guid(port_guid)
	}
	sub(/\(.*/, "", value)
	if (key ~ /guid$/ ? value !~ /^(0x)?[0-9a-fA-F]+$/ : value !~ /^(0x[0-9a-fA-F]+|[0-9]+)$/) {
		if (key ~ /guid$/ && value ~ /^(0x)?[^ \t]+$/)
			unreadable(value)
		else
			complain(FNR, "cannot make sense of: " line, "left out")
		next
	}
	sub(/^(switch|ca|rt)guid$/, "guid", key)
	if (key !~ /guid$/ || whole_guid(value) != "")
		said[key] = value
	next
}

# The log of a terminal may have lost the tabs
line ~ /^(Switch|Hca|Ca)[ \t]*[0-9]+[ \t]*"[^"]+"$/ {
	name = quoted(line)
	sub(/^[^0-9]*/, "", line)
	add_node(name, $0 ~ /^[ \t]*Switch/ ? "switch" : "ca", line + 0,
		 comment ~ /"/ ? quoted(comment) : name)
	if (node != "") {
		# ibnetdiscover makes names of GUIDs
		if (!("guid" in said) && name ~ /^[SH]-(0x)?[0-9a-fA-F]+$/) {
			value = substr(name, 3)
			sub(/^0x/, "", value)
			if (length(value) == 16 && whole_guid(value) != "")
				said["guid"] = "0x" value
		}
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

# A router has ports of several subnets
line ~ /^(Rt|Router)[ \t0-9]/ {
	complain(FNR, "routers are not simulated", "left out, with its links")
	left_out[quoted(line)] = 1
	node = ""
	skipping = 1
	split("", said)
	next
}

# Behind the number of a port there may be its number on the chassis, its label, and its GUID
line ~ /^\[[0-9]+\](\[ext [0-9]+\])?([ \t]*\([^()]*\))*[ \t]*"[^"]+"[ \t]*\[[0-9]+\](\[ext [0-9]+\])?([ \t]*\([^()]*\))*([ \t]+[swe]=[0-9]+)*$/ {
	if (node == "") {
		if (!skipping)
			complain(FNR, "a port outside of a node", "left out")
		next
	}
	from = substr(line, 2) + 0
	to = quoted(line)
	rest = line
	sub(/^[^"]*"[^"]*"[ \t]*\[/, "", rest)
	to_port = rest + 0
	before = links
	add_link(to, to_port)
	if (links == before)
		next
	link_name[links] = to
	peer_lids[links] = peer_lid(comment)
	own_lids[links] = own_lid(comment)
	peer_descs[links] = last_quoted(comment)
	note_ability(node, from, rest)
	if (match(tolower(comment), /[ \t](down|init|armed|active)$/))
		link_state[links] = substr(tolower(comment), RSTART + 1)
	# A port of a host tells its GUID; they count on
	sub(/[ \t]*"[^"]*".*/, "", line)
	if (type[node] == "ca" && !(node in port_guids) && match(line, /\((0x)?[0-9a-fA-F]+\)$/)) {
		value = substr(line, RSTART + 1, RLENGTH - 2)
		value = guid_plus(value, 1 - from)
		if (whole_guid(value) != "")
			port_guids[node] = value
	}
	next
}

# The other end of a wire is in another fabric
line ~ /^\[[0-9]+\][ \t]+wire([ \t]+[swe]=[0-9]+)*$/ {
	from = substr(line, 2) + 0
	if (node == "" || from < 1 || from > ports[node]) {
		complain(FNR, "a wire without a port", "left out")
		next
	}
	note_ability(node, from, line)
	wires++
	wire_line[wires] = FNR
	wire_node[wires] = node
	wire_port[wires] = from
	next
}

# ibnetdiscover -p: all ports, one a line, with what they are linked to
line ~ /^(CA|SW|RT)[ \t]+[0-9]+[ \t]+[0-9]+[ \t]+0x[0-9a-fA-F]+[ \t]+[^ \t]+[ \t]+[^ \t]+([ \t]|$)/ {
	count_words = split(line, word)
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
	here = reported(word[1], word[4], word[3], own)
	to = linked ? reported(word[8], word[11], word[10], other) : ""
	if (here == "" || to == "")
		next
	node = here
	from = word[3] + 0
	add_link(raw_name[to], word[10] + 0)
	link_name[links] = raw_name[to]
	note_rate(node, from, tolower(word[5]), tolower(word[6]))
	next
}

{
	complain(FNR, "cannot make sense of: " $0, "left out")
}

END {
	if (failed)
		exit 1
	if (unread)
		complain(unread_line, unread " GUIDs cannot be read, the first here", "they are others here")
	if (!count)
		fail(FNR, "no node in it")
	check_names()
	check_guids()
	for (i = 1; i <= links; i++)
		check_link(i)
	for (i = 1; i <= wires; i++) {
		if (!join(wire_line[i], wire_node[i], wire_port[i], "", ""))
			wire_node[i] = ""
	}
	if (mode == "load") {
		for (i = 1; i <= count; i++) {
			node = names[i]
			if (node != "")
				print "node", node, type[node], ports[node], ids[node], guids[node],
					node in port_guids ? port_guids[node] : "-", desc[node]
		}
	}
	if (mode == "dot") {
		print "graph fabric {"
		print "\trankdir=BT; ranksep=1; node [fontname=sans]; edge [fontname=sans, fontsize=9]"
		for (i = 1; i <= count; i++) {
			node = names[i]
			if (node != "")
				print "\t" dot_node(node)
		}
	}
	for (i = 1; i <= links; i++) {
		a = link_from[i]
		b = link_to[i]
		if (b == "" || (b, link_to_port[i]) in done || (a, link_from_port[i]) in done)
			continue
		done[a, link_from_port[i]] = 1
		w = link_width[i]
		s = link_speed[i]
		if (mode == "load") {
			print "link", a, link_from_port[i], b, link_to_port[i], w, s
			continue
		}
		if (mode == "dot") {
			print "\t" dot_link(i)
			continue
		}
		x = "\"" (mode == "describe" ? desc[a] : a) "\"[" link_from_port[i] "]"
		y = "\"" (mode == "describe" ? desc[b] : b) "\"[" link_to_port[i] "]"
		able = (w == "4x" ? "" : " " w) (s == "qdr" ? "" : " " s)
		print (x < y ? x " " y : y " " x) able
	}
	for (i = 1; i <= wires; i++) {
		if (wire_node[i] == "")
			continue
		w = (wire_node[i], wire_port[i]) in width ? width[wire_node[i], wire_port[i]] : "4x"
		s = (wire_node[i], wire_port[i]) in speed ? speed[wire_node[i], wire_port[i]] : "qdr"
		if (mode == "load")
			print "wire", wire_node[i], wire_port[i], w, s
		else if (mode == "dot")
			print "\t\"wire " i "\" [label=wire, shape=plaintext]\n\t" \
				dot_quoted(wire_node[i]) " -- \"wire " i "\" [taillabel=" wire_port[i] \
				", label=" dot_quoted(w " " s) "]"
		else
			print "\"" (mode == "describe" ? desc[wire_node[i]] : wire_node[i]) \
				"\"[" wire_port[i] "] wire" (w == "4x" ? "" : " " w) (s == "qdr" ? "" : " " s)
	}
	if (mode == "dot")
		print "}"
}
