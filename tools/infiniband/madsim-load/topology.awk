# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Read a topology as ibnetdiscover prints it or ibsim reads it. What comes out
# depends on mode:
#
#   load	lines of words for madsim-load: "node NAME TYPE PORTS VENDOR DEVICE
#		SYSTEM-GUID GUID PORT-GUID DESC", "link NAME PORT NAME PORT WIDTH
#		SPEED"; an ID or GUID is "-" if the file has none
#   graph	every link once, sorted by nobody: "NAME"[PORT] "NAME"[PORT],
#		and width and speed unless they are 4x and qdr
#   describe	the same with the descriptions that ibnetdiscover has in
#		comments instead of the names
#
# Errors come with file and line, and nothing else comes out then.

function fail(line, message)
{
	printf "%s:%d: %s\n", FILENAME, line, message >"/dev/stderr"
	failed = 1
	exit 1
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

function join(a, a_port, b, b_port)
{
	if ((a, a_port) in peer && peer[a, a_port] != b "\"" b_port)
		fail(FNR, "port " a_port " of \"" a "\" is linked twice")
	peer[a, a_port] = b "\"" b_port
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
# ends its comment with, say, 4xEDR, and the driver with 4x edr.
function note_ability(node, port, options,	w, s, e)
{
	w = option(options, "w")
	s = option(options, "s")
	e = option(options, "e")
	if (w != "" && w !~ /^(1|2|4|8|12)$/)
		fail(FNR, "w=" w " is none of 1, 2, 4, 8, 12")
	if (s != "" && s !~ /^[1-7]$/)
		fail(FNR, "s=" s " is not between 1 and 7")
	if (e + 0 > 15)
		fail(FNR, "e=" e " is not between 0 and 15")
	if (w != "")
		width[node, port] = w "x"
	if (e + 0)
		speed[node, port] = fastest(e, "fdr edr hdr ndr")
	else if (s != "")
		speed[node, port] = fastest(s, "sdr ddr qdr")
	if (w s e == "" && match(tolower(comment), /[ \t][0-9]+x ?([sdqfehnx]dr|fdr10)[ \t]*$/)) {
		w = tolower(substr(comment, RSTART + 1, RLENGTH - 1))
		s = w
		sub(/x.*/, "x", w)
		sub(/^[0-9]+x ?/, "", s)
		sub(/[ \t]*$/, "", s)
		if (w !~ /^(1|2|4|8|12)x$/)
			fail(FNR, "a link has no " w)
		width[node, port] = w
		speed[node, port] = s
	}
}

# What either end of link i has in a table, or what is usual
function of_link(table, i, usual,	here, there)
{
	here = link_from[i] SUBSEP link_from_port[i]
	there = link_to[i] SUBSEP link_to_port[i]
	if (!(here in table))
		return there in table ? table[there] : usual
	if (there in table && table[here] != table[there])
		fail(link_line[i], "the ends of the link differ: " table[here] ", " table[there])
	return table[here]
}

{
	sub(/\r$/, "")
	line = cut_comment($0)
	sub(/[ \t]+$/, "", line)
}

line ~ /^[ \t]*$/ {
	# A comment does not end a node, an empty line does
	if (comment == "" && $0 !~ /#/)
		node = ""
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
		sub(/.*\(/, "0x", port_guid)
		sub(/\).*/, "", port_guid)
	}
	sub(/\(.*/, "", value)
	if (value !~ /^(0x[0-9a-fA-F]+|[0-9]+)$/)
		fail(FNR, "cannot make sense of: " line)
	sub(/^(switch|ca|rt)guid$/, "guid", key)
	said[key] = value
	next
}

line ~ /^(Switch|Hca|Ca)[ \t]+[0-9]+[ \t]+"[^"]+"$/ {
	node = quoted(line)
	if (node in ports)
		fail(FNR, "a second node \"" node "\"")
	if (node ~ /[ \t\/]/ || node ~ /^\./)
		fail(FNR, "\"" node "\" is no name for a directory")
	if (length(node) > 63)
		fail(FNR, "\"" node "\" is longer than 63 characters")
	split(line, word)
	if (word[2] < 1 || word[2] > 254)
		fail(FNR, word[2] " ports, a node has 1 to 254")
	names[++count] = node
	type[node] = word[1] == "Switch" ? "switch" : "ca"
	ports[node] = word[2] + 0
	desc[node] = comment ~ /"/ ? quoted(comment) : node
	# ibnetdiscover makes names of GUIDs
	if (!("guid" in said) && node ~ /^[SH]-[0-9a-fA-F]+$/ && length(node) == 18)
		said["guid"] = "0x" substr(node, 3)
	ids[node] = was_said("vendid") " " was_said("devid") " " was_said("sysimgguid") \
		" " was_said("guid")
	if (port_guid != "")
		port_guids[node] = port_guid
	split("", said)
	port_guid = ""
	next
}

line ~ /^\[[0-9]+\](\[ext [0-9]+\])?(\([0-9a-fA-F]+\))?[ \t]*"[^"]+"[ \t]*\[[0-9]+\](\[ext [0-9]+\])?(\([0-9a-fA-F]+\))?([ \t]+[swe]=[0-9]+)*$/ {
	if (node == "")
		fail(FNR, "a port outside of a node")
	from = substr(line, 2) + 0
	to = quoted(line)
	rest = line
	sub(/^[^"]*"[^"]*"[ \t]*\[/, "", rest)
	to_port = rest + 0
	if (from < 1 || from > ports[node])
		fail(FNR, "\"" node "\" has no port " from)
	if (node == to && from == to_port)
		fail(FNR, "port " from " of \"" node "\" is linked to itself")
	join(node, from, to, to_port)
	join(to, to_port, node, from)
	note_ability(node, from, rest)
	# A host's port 1 tells its GUID; the others count on
	if (from == 1 && type[node] == "ca" && match(line, /^\[1\](\[ext [0-9]+\])?\([0-9a-fA-F]+\)/)) {
		value = substr(line, 1, RLENGTH - 1)
		sub(/.*\(/, "0x", value)
		port_guids[node] = value
	}
	links++
	link_line[links] = FNR
	link_from[links] = node
	link_from_port[links] = from
	link_to[links] = to
	link_to_port[links] = to_port
	next
}

line ~ /^(Rt|Router)[ \t]/ {
	fail(FNR, "routers are not simulated")
}

{
	fail(FNR, "cannot make sense of: " line)
}

END {
	if (failed)
		exit 1
	if (!count)
		fail(FNR, "no node in it")
	for (i = 1; i <= links; i++) {
		to = link_to[i]
		if (!(to in ports))
			fail(link_line[i], "there is no node \"" to "\"")
		if (link_to_port[i] < 1 || link_to_port[i] > ports[to])
			fail(link_line[i], "\"" to "\" has no port " link_to_port[i])
		link_width[i] = of_link(width, i, "4x")
		link_speed[i] = of_link(speed, i, "qdr")
	}
	if (mode == "load") {
		for (i = 1; i <= count; i++) {
			node = names[i]
			print "node", node, type[node], ports[node], ids[node],
				node in port_guids ? port_guids[node] : "-", desc[node]
		}
	}
	for (i = 1; i <= links; i++) {
		a = link_from[i]
		b = link_to[i]
		if ((b, link_to_port[i]) in done)
			continue
		done[a, link_from_port[i]] = 1
		w = link_width[i]
		s = link_speed[i]
		if (mode == "load") {
			print "link", a, link_from_port[i], b, link_to_port[i], w, s
			continue
		}
		x = "\"" (mode == "describe" ? desc[a] : a) "\"[" link_from_port[i] "]"
		y = "\"" (mode == "describe" ? desc[b] : b) "\"[" link_to_port[i] "]"
		able = (w == "4x" ? "" : " " w) (s == "qdr" ? "" : " " s)
		print (x < y ? x " " y : y " " x) able
	}
}
