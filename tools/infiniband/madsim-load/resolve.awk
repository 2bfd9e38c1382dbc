# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Which node a link leads to. The name in its line may be that of several nodes or of none, as
# GUIDs are edited by hand, or there may be no name. Then the LID, port and description tell.

# Nodes with the same name: whether the file has one of them again
function check_names(	i, name, first, port, all)
{
	for (i = 1; i <= count; i++) {
		name = names[i]
		first = raw_name[name]
		if (name == first && last_same[name] == 0)
			continue
		all = first SUBSEP desc[name] SUBSEP ports[name]
		for (port = 1; port <= ports[name]; port++)
			if ((name, port) in link_of)
				all = all SUBSEP port SUBSEP link_name[link_of[name, port]] \
					SUBSEP link_to_port[link_of[name, port]]
		if (all in node_like) {
			complain(node_line[name], "a second node \"" first "\"", "the same once more")
			names[i] = ""
			gone[name] = 1
		} else if (name != first) {
			complain(node_line[name], "a second node \"" first "\"",
				 "it becomes \"" name "\", and has another GUID")
		}
		node_like[all] = 1
	}
}

# The driver refuses two nodes with one GUID, and subnet managers two ports
function check_guids(	i, node, guid)
{
	for (i = 1; i <= count; i++) {
		node = names[i]
		if (node == "")
			continue
		guid = guids[node]
		if (guid != "-" && guid in has_guid) {
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
		guid = port_guids[node]
		if (guid in has_port_guid) {
			complain(node_line[node], "\"" node "\" has the port GUID of \"" has_port_guid[guid] "\"",
				 "it gets another")
			delete port_guids[node]
			continue
		}
		has_port_guid[guid] = node
	}
}

# Where to look for nodes: by the LID of a port, and by what they say of a link
function make_index(	i, node, key)
{
	for (i = 1; i <= count; i++) {
		node = names[i]
		if (node == "")
			continue
		if (lids[node])
			by_lid[lids[node]] = by_lid[lids[node]] " " i
		by_desc[desc[node]] = by_desc[desc[node]] " " i
	}
	for (i = 1; i <= links; i++) {
		node = link_from[i]
		if (node in gone)
			continue
		if (own_lids[i])
			by_lid[own_lids[i]] = by_lid[own_lids[i]] " " number_of[node]
		key = link_to_port[i] SUBSEP link_from_port[i]
		if (link_name[i] != "")
			by_end["name", link_name[i], key] = \
				by_end["name", link_name[i], key] " " number_of[node]
		if (peer_descs[i] != "") {
			key = peer_descs[i] SUBSEP key SUBSEP desc[node]
			by_end["desc", key] = by_end["desc", key] " " number_of[node]
		}
	}
}

# How much a node knows of link i: the sum of LID 8, name and port 4, description 2, and the
# description of this end 1. Or -1, if its port leads to another LID.
function score(i, other,	back, from, lid)
{
	from = link_from[i]
	back = link_of[other, link_to_port[i]]
	lid = lids[from] ? lids[from] : own_lids[i]
	if (link_to_port[i] > ports[other] || back && lid && peer_lids[back] && peer_lids[back] != lid)
		return -1
	lid = peer_lids[i]
	return 8 * (lid && (lid == lids[other] || back && lid == own_lids[back])) + \
		4 * (back && link_name[back] == raw_name[from] &&
		     link_to_port[back] == link_from_port[i]) + \
		2 * (peer_descs[i] != "" && peer_descs[i] == desc[other]) + \
		(back && peer_descs[back] != "" && peer_descs[back] == desc[from])
}

# The node that knows most of link i, of those that have its name or, if none has, of all. "" if
# there is none, or several know as much.
function best_node(i, is_name,	key, list, candidate, n, k, other, points, best, found, tie)
{
	key = link_from_port[i] SUBSEP link_to_port[i]
	list = by_lid[peer_lids[i]] by_end["name", raw_name[link_from[i]], key] \
		by_end["desc", desc[link_from[i]], key, peer_descs[i]]
	if (list == "" && peer_descs[i] != "")
		list = by_desc[peer_descs[i]]
	n = split(list, candidate)
	best = is_name ? -1 : 1
	# There are many only if nothing tells them apart
	for (k = 1; k <= n && k <= 1000; k++) {
		other = names[candidate[k]]
		if (other == found || other == link_from[i] && link_to_port[i] == link_from_port[i] ||
		    is_name && raw_name[other] != link_name[i] ||
		    !is_name && (link_name[i] ~ /^S-/ && type[other] != "switch" ||
				 link_name[i] ~ /^H-/ && type[other] != "ca"))
			continue
		points = score(i, other)
		if (points > best) {
			best = points
			found = other
			tie = 0
		} else if (points == best) {
			tie = 1
		}
	}
	return tie ? "" : found
}

# Whether the nodes of this kind are left out of the file. Then they are made of what the lines
# of links say of them.
function kind_left_out(i,	kind)
{
	kind = "switch"
	if (link_name[i] !~ /^S-/ && (link_name[i] ~ /^(H-|$)/ || !has_then["ca"]))
		kind = "ca"
	return link_name[i] ~ /^R-/ || has_then[kind] ? "" : kind
}

# The node at the other end of link i. A port has one link, so the second line of a name and a
# port is of another node.
function made_node(i, kind,	key, name, node, port, guid)
{
	port = link_to_port[i]
	key = link_name[i] SUBSEP peer_descs[i]
	key = key SUBSEP (++made_ports[key, port])
	if (!(key in made)) {
		at = link_line[i]
		name = link_name[i]
		if (name == "") {
			name = peer_descs[i] == "" ? "lid-" peer_lids[i] : peer_descs[i]
			gsub(/[^A-Za-z0-9_.-]+/, "_", name)
			sub(/^[.]/, "_", name)
		}
		if (link_name[i] != "")
			is_made[link_name[i]] = kind
		made[key] = add_node(name, kind, port, peer_descs[i] == "" ? name : peer_descs[i])
		tally(at, "there is no node \"" name "\"", "nodes are known by the lines of others alone",
		      "made of what these say")
		if (made[key] != "" && name ~ /^[SH]-[0-9a-f]+$/ && length(name) == 18)
			guids[made[key]] = "0x" substr(name, 3)
	}
	node = made[key]
	if (node == "")
		return ""
	if (port > ports[node])
		ports[node] = port
	guid = kind == "ca" ? first_port_guid(peer_guids[i], port) : ""
	if (guid != "")
		port_guids[node] = guid
	return node
}

# Link i cannot be, as there is no such node
function leave_link(i,	message)
{
	message = "there is no node \"" link_name[i] "\""
	if (link_name[i] == "")
		message = "no node has LID " peer_lids[i] " and the description \"" peer_descs[i] "\""
	complain(link_line[i], message, "the link is left out")
}

# Where link i leads to: link_to, "" if to nothing. by_name is set if the file says so itself.
function resolve(i,	name, n, kind, number)
{
	link_to[i] = ""
	if (link_from[i] in gone || link_name[i] in left_out ||
	    link_name[i] == "" && peer_descs[i] in left_out)
		return
	if (link_name[i] in alias_node) {
		link_to_port[i] = alias_port[link_name[i]]
		link_name[i] = alias_node[link_name[i]]
	}
	name = link_name[i]
	kind = name in is_made ? is_made[name] : ""
	if (kind == "" && name in same_name) {
		n = split(same_name[name], number)
		by_name[i] = 1
		link_to[i] = n == 1 ? name : best_node(i, 1)
		if (link_to[i] == "")
			complain(link_line[i], "there are " n " nodes \"" name "\"", "the link is left out")
		return
	}
	if (kind == "")
		link_to[i] = best_node(i, 0)
	if (link_to[i] != "") {
		if (name != "")
			tally(link_line[i], "there is no node \"" name "\"",
			      "links lead to a name that no node has", "found by LID, port and description")
		return
	}
	if (kind == "")
		kind = kind_left_out(i)
	if (kind == "" || link_to_port[i] < 1 || link_to_port[i] > 254)
		leave_link(i)
	else
		link_to[i] = made_node(i, kind)
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

# Link i is the next cable, if it can be, and no line before has told of the same one
function check_link(i,	from, from_port, to, to_port)
{
	from = link_from[i]
	from_port = link_from_port[i]
	to = link_to[i]
	to_port = link_to_port[i]
	if (to_port < 1 || to_port > ports[to])
		complain(link_line[i], "\"" to "\" has no port " to_port, "the link is left out")
	else if (from == to && from_port == to_port)
		complain(link_line[i], "port " from_port " of \"" from "\" is linked to itself",
			 "the link is left out")
	else if (join(link_line[i], from, from_port, to, to_port) &&
		 join(link_line[i], to, to_port, from, from_port) &&
		 !((to, to_port) in has_cable) && !((from, from_port) in has_cable)) {
		has_cable[from, from_port] = 1
		cable[++cables] = i
		link_width[i] = of_link(width, i, "1x 2x 4x 8x 12x", "4x")
		link_speed[i] = of_link(speed, i, "sdr ddr qdr fdr10 fdr edr hdr ndr xdr", "qdr")
	}
}

function resolve_links(	i, kind)
{
	check_names()
	make_index()
	# Nodes are made meanwhile
	for (kind in has)
		has_then[kind] = 1
	for (i = 1; i <= links; i++)
		resolve(i)
	check_guids()
	# What the file says by names goes before what was found
	for (i = 1; i <= links; i++)
		if (link_to[i] != "" && i in by_name)
			check_link(i)
	for (i = 1; i <= links; i++)
		if (link_to[i] != "" && !(i in by_name))
			check_link(i)
	for (i = 1; i <= wires; i++)
		if (!join(wire_line[i], wire_node[i], wire_port[i], "", i))
			wire_node[i] = ""
}
