# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# iblinkinfo, and iblinkinfo -l. Without -l there is a head for each node, and the line of a
# port has no GUID of the other end, but its LID, port and description:
#
#	CA: h1 HCA-1:
#	  0x5349000000000011  4  1[  ] ==( 4X  25.78125 Gbps Active/  LinkUp)==>  1  7[  ] "leaf" ( )
#
# With -l both ends have GUIDs and descriptions. The GUIDs are those of ports, and all ports of
# a switch have the same one. What is a switch is known when all lines are read.

# One end of a line: end_guid and end_desc, if it has them, end_lid and end_port; or false
function linkinfo_end(text,	part)
{
	end_guid = end_desc = ""
	sub(/^[ \t]+/, "", text)
	if (match(text, /^0x[0-9a-fA-F]+[ \t]/)) {
		end_guid = substr(text, 1, RLENGTH - 1)
		text = substr(text, RLENGTH + 1)
	}
	if (match(text, /".*"/)) {
		end_desc = substr(text, RSTART + 1, RLENGTH - 2)
		gsub(/^[ \t]+|[ \t]+$/, "", end_desc)
		text = substr(text, 1, RSTART - 1) substr(text, RSTART + RLENGTH)
	}
	if (text !~ /^[ \t]*[0-9]+[ \t]+[0-9]+\[[ 0-9]*\]/)
		return 0
	sub(/^[ \t]+/, "", text)
	split(text, part, /[ \t\[]+/)
	end_lid = part[1] + 0
	end_port = part[2] + 0
	return 1
}

# A port that a line of iblinkinfo -l has an end at
function linkinfo_port(guid, port)
{
	if (!((guid, port) in has_line)) {
		has_line[guid, port] = 1
		count_lines[guid]++
	}
	if (port > last_port[guid])
		last_port[guid] = port
}

# Its node: with more ports than an adapter, or several with one GUID, it is a switch
function linkinfo_node(guid, port, description)
{
	if (count_lines[guid] > 1 || last_port[guid] > 4)
		return known("switch", guid, last_port[guid], description)
	return known("ca", first_port_guid(guid, port), port, description)
}

function finish_linkinfo(	i, node, peer)
{
	for (i = 1; i <= linkinfos; i++) {
		at = linkinfo_line[i]
		split(linkinfo[i], field, "\001")
		node = linkinfo_node(field[1], field[2], field[3])
		peer = field[5] == "" ? "" : linkinfo_node(field[5], field[6], field[7])
		if (node != "" && peer != "" && add_link(node, field[2], peer, field[6], field[4], field[8], ""))
			note_rate(node, field[2], field[9], field[10])
	}
}

/^(CA|Switch|Router): .*:$/ {
	head = substr($0, 1, length($0) - 1)
	head_kind = head ~ /^CA/ ? "ca" : head ~ /^S/ ? "switch" : "router"
	sub(/^[A-Za-z]+: +/, "", head)
	head_guid = ""
	if (head_kind == "switch" && match(head, /^0x[0-9a-fA-F]+ +/)) {
		head_guid = substr(head, 1, RLENGTH)
		head = substr(head, RLENGTH + 1)
		sub(/ +$/, "", head_guid)
	}
	next
}

/ ==\(.*\)==>/ {
	match($0, / ==\(.*\)==>/)
	rate = substr($0, RSTART + 4, RLENGTH - 8)
	rest = substr($0, RSTART + RLENGTH)
	if (!linkinfo_end(substr($0, 1, RSTART - 1))) {
		nonsense()
		next
	}
	guid = whole_guid(end_guid)
	description = end_desc
	own = end_lid
	from = end_port
	if (!linkinfo_end(rest))
		end_port = 0
	s = split(rate, word, /[ \t]+/)
	w = tolower(word[word[1] == "" ? 2 : 1])
	s = speed_of(rate ~ /FDR10/ ? "FDR10" : word[word[1] == "" ? 3 : 2])
	if (description != "") {
		if (guid == "" || end_port && whole_guid(end_guid) == "") {
			nonsense()
			next
		}
		linkinfo_port(guid, from)
		if (end_port)
			linkinfo_port(whole_guid(end_guid), end_port)
		linkinfo_line[++linkinfos] = at
		linkinfo[linkinfos] = guid "\001" from "\001" description "\001" own "\001" \
			(end_port ? whole_guid(end_guid) : "") "\001" end_port "\001" end_desc "\001" \
			end_lid "\001" w "\001" s
		next
	}
	if (head_kind ~ /^(ca|router)$/)
		head_guid = first_port_guid(guid, from)
	if (head_kind == "" || whole_guid(head_guid) == "") {
		nonsense()
		next
	}
	here = known(head_kind, head_guid, from, head)
	if (here == "")
		next
	if (head_kind == "switch")
		lids[here] = own
	if (end_port && add_link(here, from, "", end_port, own, end_lid, end_desc))
		note_rate(here, from, w, s)
	next
}
