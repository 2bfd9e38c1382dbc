# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Follow packets by the tables of the switches: what ibnetdiscover printed, then what
# dump_fts -n and dump_fts -n -M did, then the SLs of paths:
#
#	awk [-v hosts=1] [-v shortest=1] [-v acyclic=1] [-v members=LIST] -f walk.awk \
#		NET LFTS [MFTS] [SLS]
#
# Says what is wrong, and in the last line "N LIDs, M ways", with members ", C copies".
# Fails if something is.
#
# LIDs: each port has one, aligned to its LMC, and no two ranges overlap.
# Ways: from each host and switch to each LID there is one, and it ends there.
#	hosts: look at those between hosts only, as some routing leaves switches out
#	shortest: none has more hops than the shortest that there is
#	acyclic: the links of the ways between hosts do not wait for one another, in a
#	circle. SLS has lines "SLID DLID SL": each SL has virtual lanes of its own
# Copies: members has words "MLID:LID". Whichever member sends to its group, each other
#	one gets one copy, and no other port does.

function hex(text,    n, i)
{
	n = 0
	for (i = 3; i <= length(text); i++)
		n = 16 * n + index("0123456789abcdef", substr(tolower(text), i, 1)) - 1
	return n
}

function wrong(text)
{
	print text
	errors++
}

# A range of LIDs belongs to a port
function owns(port, name, lid, lmc,    i)
{
	if (lid < 1 || lid >= 49152)
		return wrong(name " has LID " lid)
	if (lid % 2 ^ lmc)
		wrong(name " has LID " lid " with LMC " lmc)
	for (i = lid; i < lid + 2 ^ lmc; i++) {
		if (i in owner && owner[i] != port)
			wrong(name " has LID " i ", as has " owner[i])
		owner[i] = port
	}
	lids_of[port] = lid
}

FNR == 1 {
	file++
}

# Nodes have the names of ibnetdiscover, "S-..." and "H-..."; ports are NODE[PORT]
file == 1 && /^(Switch|Ca)/ {
	split($0, part, "\"")
	node = part[2]
	nodes[node] = $1
	if ($1 == "Switch") {
		match($0, / lid [0-9]+ lmc [0-9]+/)
		split(substr($0, RSTART, RLENGTH), word, " ")
		owns(node "[0]", part[4], word[2] + 0, word[4] + 0)
		switch_of[substr(node, 3)] = node
	}
}

file == 1 && /^\[/ {
	port = node substr($0, 1, index($0, "]"))
	match($0, /"[^"]*"\[[0-9]+\]/)
	other = substr($0, RSTART, RLENGTH)
	gsub(/"/, "", other)
	peer[port] = other
	if (nodes[node] == "Ca") {
		match($0, /# lid [0-9]+ lmc [0-9]+/)
		split(substr($0, RSTART, RLENGTH), word, " ")
		owns(port, port, word[3] + 0, word[5] + 0)
		ports[++port_count] = port
	} else {
		degree[node] = degree[node] " " substr(port, length(node) + 1)
	}
}

# What dump_fts says of which switch
file > 1 && /^(Unicast|Multicast) / {
	match($0, / guid 0x[0-9a-f]+/)
	table = switch_of[substr($0, RSTART + 8, RLENGTH - 8)]
	multicast = $1 == "Multicast"
	next
}

# Four digits for sixteen ports, those from 0 first
file > 1 && multicast && /^0x/ {
	for (i = 0; 4 * i < length($2); i++) {
		mask = hex("0x" substr($2, 4 * i + 1, 4))
		for (bit = 0; mask; bit++) {
			if (mask % 2)
				copies_to[table, $1] = copies_to[table, $1] " " (16 * i + bit)
			mask = int(mask / 2)
		}
	}
	next
}

file > 1 && /^0x[0-9a-f]+ [0-9]+/ {
	out[table, hex($1)] = $2 + 0
	next
}

file > 1 && /^[0-9]+ [0-9]+ [0-9]+$/ {
	sl[$1, $2] = $3
	sl_count++
}

function node_of(port)
{
	return substr(port, 1, index(port, "[") - 1)
}

function number_of(port)
{
	return substr(port, index(port, "[") + 1) + 0
}

# The way from a port to a LID; the number of hops, or -1
function follow(from, lid,    at, hops, next_port, before, channel, lane, watched)
{
	watched = acyclic && nodes[node_of(from)] == "Ca" && nodes[node_of(owner[lid])] == "Ca"
	if (watched && sl_count && !((lids_of[from], lid) in sl))
		wrong("there is no SL from " from " to LID " lid)
	lane = watched ? "/" sl[lids_of[from], lid] : ""
	before = ""
	at = from
	if (nodes[node_of(from)] == "Ca") {
		if (owner[lid] == from)
			return 0
		at = peer[from]
		before = from lane
		hops = 1
	} else {
		hops = 0
	}
	while (nodes[node_of(at)] == "Switch") {
		if (!((node_of(at), lid) in out)) {
			wrong(node_of(at) " has no entry for LID " lid ", on the way from " from)
			return -1
		}
		next_port = node_of(at) "[" out[node_of(at), lid] "]"
		if (out[node_of(at), lid] == 0) {
			at = next_port
			break
		}
		if (!(next_port in peer)) {
			wrong("LID " lid " leaves by " next_port ", where nothing is, on the way from " from)
			return -1
		}
		if (++hops > 64) {
			wrong("from " from " to LID " lid " goes round and round")
			return -1
		}
		channel = next_port lane
		if (watched && before != "" && !((before, channel) in edge)) {
			edge[before, channel] = 1
			edges[before] = edges[before] SUBSEP channel
			waits[channel]++
			channels[before]
			channels[channel]
		}
		before = channel
		at = peer[next_port]
	}
	if (at != owner[lid]) {
		wrong("from " from " to LID " lid ": ends at " at)
		return -1
	}
	return hops
}

# The distance of each node from one of them
function distances(from, dist,    queue, head, tail, node, i, n, word)
{
	split("", dist)
	dist[from] = 0
	queue[tail = 1] = from
	for (head = 1; head <= tail; head++) {
		node = queue[head]
		# A host passes nothing on
		if (node != from && nodes[node] == "Ca")
			continue
		n = split(nodes[node] == "Ca" ? ca_ports[node] : degree[node], word, " ")
		for (i = 1; i <= n; i++) {
			other = node_of(peer[node word[i]])
			if (!(other in dist)) {
				dist[other] = dist[node] + 1
				queue[++tail] = other
			}
		}
	}
}

# What a member sends to its group
function flood(from, mlid,    queue, head, tail, at, got, i, n, word, port)
{
	queue[tail = 1] = peer[from]
	for (head = 1; head <= tail; head++) {
		at = queue[head]
		if (nodes[node_of(at)] == "Ca") {
			got[at]++
			continue
		}
		if (tail > 10000)
			return wrong(mlid " goes round and round, from " from)
		n = split(copies_to[node_of(at), mlid], word, " ")
		for (i = 1; i <= n; i++) {
			port = node_of(at) "[" word[i] "]"
			if (port != at && port in peer)
				queue[++tail] = peer[port]
		}
	}
	for (i in group) {
		if (i == from)
			continue
		if (got[i] != 1)
			wrong(mlid ": " i " gets " got[i] + 0 " copies of what " from " sends")
		copies++
	}
	for (i in got)
		if (!(i in group))
			wrong(mlid ": " i " is no member, and gets what " from " sends")
}

# Take away channels that wait for no other one, until none is left, or a circle
function circle(    channel, n, i, word, queue, head, tail, left)
{
	for (channel in channels) {
		left++
		if (!waits[channel])
			queue[++tail] = channel
	}
	for (head = 1; head <= tail; head++) {
		left--
		n = split(substr(edges[queue[head]], 2), word, SUBSEP)
		for (i = 1; i <= n; i++)
			if (--waits[word[i]] == 0)
				queue[++tail] = word[i]
	}
	if (left)
		wrong(left " links wait for one another: a credit loop")
}

END {
	for (i = 1; i <= port_count; i++) {
		ca_ports[node_of(ports[i])] = ca_ports[node_of(ports[i])] " [" number_of(ports[i]) "]"
		sources[++source_count] = ports[i]
	}
	for (node in nodes)
		if (nodes[node] == "Switch" && !hosts)
			sources[++source_count] = node "[0]"
	for (lid in owner)
		lid_count++

	for (i = 1; i <= source_count; i++) {
		if (shortest)
			distances(node_of(sources[i]), dist)
		for (lid in owner) {
			if (hosts && nodes[node_of(owner[lid])] == "Switch")
				continue
			hops = follow(sources[i], lid + 0)
			if (hops < 0)
				continue
			ways++
			if (shortest && hops != dist[node_of(owner[lid])])
				wrong("from " sources[i] " to LID " lid ": " hops " hops, where " \
				      dist[node_of(owner[lid])] " do")
		}
		if (errors > 30)
			break
	}
	if (acyclic)
		circle()

	n = split(members, word, " ")
	for (i = 1; i <= n; i++) {
		split(word[i], part, ":")
		if (!(part[2] in owner))
			wrong("no port has LID " part[2])
		groups[part[1]] = groups[part[1]] " " owner[part[2]]
	}
	for (mlid in groups) {
		split("", group)
		n = split(groups[mlid], word, " ")
		for (i = 1; i <= n; i++)
			group[word[i]]
		for (i = 1; i <= n; i++)
			flood(word[i], mlid)
	}
	print lid_count + 0 " LIDs, " ways + 0 " ways" (members ? ", " copies + 0 " copies" : "")
	exit errors > 0
}
