# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Read a description of a fabric. madsim-load has awk read these files as one program:
#
#	topology.awk	nodes and links, which every reader adds
#	read-*.awk	a reader each for what one program writes
#	resolve.awk	which node a link leads to
#	print.awk	what comes out, see there
#
# A reader calls add_node() or known() for a node, and add_link() for a link. A line that
# no reader understands is named by file and line, and left out. If strict is set, it is an
# error instead, and nothing comes out.

function fail(line, message)
{
	printf "%s:%d: %s\n", file, line, message >"/dev/stderr"
	failed = 1
	exit 1
}

# The file has something that cannot be taken as it is: say so, and what becomes of it
function complain(line, message, instead)
{
	if (strict)
		fail(line, message)
	printf "%s:%d: %s: %s\n", file, line, message, instead >"/dev/stderr"
}

# The same for what a file may have in each of its lines: many is said once, at the end
function tally(line, one, many, instead)
{
	if (strict)
		fail(line, one)
	if (!tallied[many]++) {
		tallies[++count_tallies] = many
		tally_line[many] = line
		tally_one[many] = one
		tally_instead[many] = instead
	}
}

function complain_of_tallies(	i, many)
{
	for (i = 1; i <= count_tallies; i++) {
		many = tallies[i]
		if (tallied[many] == 1)
			complain(tally_line[many], tally_one[many], tally_instead[many])
		else
			complain(tally_line[many], tallied[many] " " many ", the first here",
				 tally_instead[many])
	}
}

# A line that makes no sense. Of a file that is none of these formats, ten are enough.
function nonsense(	text)
{
	text = $0
	gsub(/[\001-\037\177]/, "?", text)
	if (++count_nonsense <= 10)
		complain(at, "cannot make sense of: " substr(text, 1, 200), "left out")
	else
		tally(at, "one more line makes no sense", "more lines make no sense", "left out")
}

# The line up to a # that is not in quotes; what follows goes to "comment"
function cut_comment(s,	part, n, i, k, head)
{
	comment = ""
	if (!index(s, "#"))
		return s
	n = split(s, part, "\"")
	for (i = 1; i <= n; i++) {
		k = i % 2 ? index(part[i], "#") : 0
		if (k) {
			head = head substr(part[i], 1, k - 1)
			comment = substr(s, length(head) + 2)
			return head
		}
		head = head part[i] "\""
	}
	return s
}

# The text between the first two quotes
function quoted(s,	part)
{
	return split(s, part, "\"") >= 3 ? part[2] : ""
}

# The number of hexadecimal digits, with or without 0x; up to 13 of them are exact
function hex(text,	i, number)
{
	text = tolower(text)
	sub(/^0x/, "", text)
	for (i = 1; i <= length(text); i++)
		number = number * 16 + index("0123456789abcdef", substr(text, i, 1)) - 1
	return number
}

# A GUID as 0x and 16 digits, or "" if it is none
function whole_guid(text)
{
	text = tolower(text)
	sub(/^0x/, "", text)
	if (text !~ /^[0-9a-f]+$/ || text ~ /^0+$/ || length(text) > 16)
		return ""
	return "0x" substr("0000000000000000" text, length(text) + 1)
}

# A GUID and a small number, which may be negative; "" if that reaches beyond the last
# seven digits, which awk calculates with
function guid_plus(guid, number,	low)
{
	guid = whole_guid(guid)
	if (guid == "")
		return ""
	low = hex(substr(guid, 12)) + number
	return low < 0 || low >= 268435456 ? "" : substr(guid, 1, 11) sprintf("%07x", low)
}

# The ID of a vendor or a device, which is no larger than max; "-" if it is none
function whole_id(text, max)
{
	if (text ~ /^0[xX][0-9a-fA-F]+$/)
		text = length(text) > 12 ? max + 1 : hex(text)
	return text ~ /^[0-9]+$/ && text + 0 <= max ? sprintf("0x%x", text) : "-"
}

# Names that are made of GUIDs may have been written in other ways: H-0X2C9 is
# H-00000000000002c9
function canonical(name,	guid)
{
	if (name !~ /^[SHRshr]-(0[xX])?[0-9a-fA-F]+$/)
		return name
	guid = substr(name, 3)
	if (guid !~ /^0[xX]/ && length(guid) != 16)
		return name
	guid = whole_guid(guid)
	return guid == "" ? name : toupper(substr(name, 1, 2)) substr(guid, 3)
}

# The fastest of those whose bits are in the number
function fastest(number, names,	name, i)
{
	split(names, name)
	for (i = 1; number + 0 >= 2; i++)
		number /= 2
	return name[i]
}

# The place of a word in a list, to compare two of them
function place(word, list,	names, i)
{
	for (i = split(list, names); i > 0 && names[i] != word; i--)
		;
	return i
}

# Width and speed in words, such as 4x and edr
function note_rate(node, port, w, s)
{
	if (w !~ /^(1|2|4|8|12)x$/)
		complain(at, "a link has no width " w, "taken for 4x")
	else
		width[node, port] = w
	if (s !~ /^([sdqfehnx]dr|fdr10)$/)
		complain(at, "a link has no speed " s, "taken for qdr")
	else
		speed[node, port] = s
}

# The speed of a lane in Gb/s, as programs round it
function speed_of(gbps)
{
	if (gbps ~ /FDR10/)
		return "fdr10"
	if (gbps !~ /^[0-9]/)
		return gbps
	return substr("sdr ddr qdr fdr edr hdr hdr ndr ndr xdr xdr ",
		      4 * place(int(gbps), "2 5 10 14 25 50 53 100 106 200 212") - 3, 3)
}

# A node, and its name here: other nodes may have the same one, as names are made of
# GUIDs. Or "" if there can be no such node. Each subnet's file has a router that joins them,
# with the link of its own port: of files one behind the other, it is one node.
function add_node(name, kind, count_ports, description,	node, i)
{
	if (kind == "router" && type[name] == kind && ports[name] == count_ports + 0)
		return name
	node = name
	if (node in ports) {
		for (i = last_same[name] < 2 ? 2 : last_same[name] + 1; (name "." i) in ports; i++)
			;
		last_same[name] = i
		node = name "." i
	}
	if (node == "" || node ~ /[ \t]/ || index(node, "/") || node ~ /^\./)
		complain(at, "\"" node "\" is no name for a directory", "the node is left out")
	else if (length(node) > 63)
		complain(at, "\"" node "\" is longer than 63 characters", "the node is left out")
	else if (count_ports + 0 < 1 || count_ports + 0 > 254)
		complain(at, count_ports " ports, a node has 1 to 254", "the node is left out")
	else {
		names[++count] = node
		number_of[node] = count
		raw_name[node] = name
		same_name[name] = same_name[name] " " count
		has[kind] = 1
		type[node] = kind
		ports[node] = count_ports + 0
		desc[node] = substr(description, 1, 64)
		ids[node] = "- - -"
		guids[node] = "-"
		node_line[node] = at
		return node
	}
	left_out[name] = 1
	return ""
}

# The node of which a line tells by its GUID, with so many ports at least. All lines tell of
# one node, so a name is never there twice. Or "".
function known(kind, guid, count_ports, description,	name)
{
	guid = whole_guid(guid)
	if (guid == "" || count_ports + 0 > 254) {
		nonsense()
		return ""
	}
	name = (kind == "switch" ? "S-" : kind == "ca" ? "H-" : "R-") substr(guid, 3)
	if (name in left_out)
		return ""
	if (!(name in ports)) {
		if (add_node(name, kind, count_ports, description == "" ? name : description) == "")
			return ""
		guids[name] = guid
		port_guids[name] = guid
	}
	if (count_ports + 0 > ports[name])
		ports[name] = count_ports + 0
	return name
}

# The GUID of the first port of a host, by that of another one: they count on
function first_port_guid(guid, port)
{
	return guid_plus(guid, 1 - port)
}

# The line tells of a link: its number, or 0 if there is no such port. "to" may be "", if the
# line does not have it, but the LID and description of that node.
function add_link(node, port, to, to_port, lid, peer_lid, peer_desc)
{
	if (port + 0 < 1 || port + 0 > ports[node]) {
		complain(at, "\"" node "\" has no port " port, "the link is left out")
		return 0
	}
	links++
	link_line[links] = at
	link_from[links] = node
	link_from_port[links] = port + 0
	link_name[links] = to
	link_to_port[links] = to_port + 0
	own_lids[links] = lid + 0
	peer_lids[links] = peer_lid + 0
	peer_descs[links] = peer_desc
	link_of[node, port + 0] = links
	return links
}

BEGIN {
	file = ENVIRON["FILE"]
}

{
	at = NR
	if (NR == 1)
		sub(/^(\357\273\277|\377\376|\376\377)/, "")
	sub(/[ \t\r]+$/, "")
	line = cut_comment($0)
	sub(/^[ \t]+/, "", line)
	sub(/[ \t]+$/, "", line)
}

$0 == "" {
	next
}
