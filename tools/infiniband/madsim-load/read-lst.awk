# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# opensm-subnet.lst of opensm, and ibdiagnet2.lst of ibdiagnet. A line has both ends of a link,
# and what the link is:
#
#	{ CA Ports:01 SystemGUID:... NodeGUID:... PortGUID:... VenID:000002C9 DevID:101B
#	  Rev:00000000 {NodeDescription} LID:0004 PN:01 } { SW ... } PHY=4x LOG=ACT SPD=50

# The word behind " KEY:"
function lst_word(text, key,	i)
{
	i = index(text, " " key ":")
	if (!i)
		return ""
	text = substr(text, i + length(key) + 2)
	sub(/ .*/, "", text)
	return text
}

# One end, without its braces: its node or "". lst_port is the port, lst_lid its LID.
function lst_end(text,	kind, guid, word, node, whole, description)
{
	kind = text ~ /^CA/ ? "ca" : text ~ /^SW/ ? "switch" : text ~ /^R[Tt]/ ? "router" : ""
	if (kind == "" || !match(text, / LID:(0x)?[0-9a-fA-F]+ PN:(0x)?[0-9a-fA-F]+ *$/)) {
		nonsense()
		return ""
	}
	split(substr(text, RSTART + 5), word, / *PN:| +/)
	lst_lid = hex(word[1])
	lst_port = hex(word[2])
	text = substr(text, 1, RSTART - 1)
	if (match(text, /[{].*[}]/)) {
		description = substr(text, RSTART + 1, RLENGTH - 2)
		text = substr(text, 1, RSTART - 1)
	}
	node = lst_word(text, "Ports")
	if (node !~ /^[0-9a-fA-F]+$/ || length(node) > 8) {
		nonsense()
		return ""
	}
	node = known(kind, lst_word(text, "NodeGUID"), hex(node), description)
	if (node == "" || node in has_lst)
		return node
	has_lst[node] = 1
	whole = whole_guid(lst_word(text, "SystemGUID"))
	ids[node] = whole_id("0x" lst_word(text, "VenID"), 16777215) " " \
		whole_id("0x" lst_word(text, "DevID"), 65535) " " (whole == "" ? "-" : whole)
	guid = lst_word(text, "PortGUID")
	guid = kind == "switch" ? whole_guid(guid) : first_port_guid(guid, lst_port)
	if (guid != "")
		port_guids[node] = guid
	return node
}

/^[{] .* [}] PHY=[^ ]+ LOG=[^ ]+ SPD=[^ ]+$/ && match($0, / PN:[0-9a-fA-Fx]+ *[}] *[{] /) {
	here = substr($0, 3, RSTART + RLENGTH - 3)
	there = substr($0, RSTART + RLENGTH)
	sub(/ *[}] *[{] $/, "", here)
	match(there, /[}] PHY=[^ ]+ LOG=[^ ]+ SPD=[^ ]+$/)
	split(substr(there, RSTART + 2), word, " ")
	there = substr(there, 1, RSTART - 1)
	here = lst_end(here)
	from = lst_port
	own = lst_lid
	there = lst_end(there)
	if (here != "" && there != "" && add_link(here, from, there, lst_port, own, lst_lid, ""))
		note_rate(here, from, tolower(substr(word[1], 5)), speed_of(substr(word[3], 5)))
	next
}
