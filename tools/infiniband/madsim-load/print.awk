# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# What becomes of what was read. That depends on mode:
#
#	plan	lines of words for madsim-load: "node NAME TYPE PORTS VENDOR DEVICE
#		SYSTEM-GUID GUID PORT-GUID DESC", "link NAME PORT NAME PORT WIDTH
#		SPEED", "wire NAME PORT WIDTH SPEED", "device NAME"; an ID or GUID is "-" if the
#		file has none
#	graph	every link once, not sorted: "NAME"[PORT] "NAME"[PORT],
#		and width and speed unless they are 4x and qdr
#	describe	the same with the descriptions that ibnetdiscover has in
#		comments instead of the names
#	dot		a graph for graphviz

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
		(type[node] == "switch" ? "box, style=filled, fillcolor=lightblue" : \
		 type[node] == "router" ? "diamond" : "ellipse") "]"
}

function print_node(node)
{
	if (mode == "plan")
		print "node", node, type[node], ports[node], ids[node], guids[node],
			node in port_guids ? port_guids[node] : "-", desc[node]
	else if (mode == "dot")
		print "\t" dot_node(node)
}

function print_link(i,	a, b, w, s, x, y)
{
	a = link_from[i]
	b = link_to[i]
	w = link_width[i]
	s = link_speed[i]
	if (mode == "plan") {
		print "link", a, link_from_port[i], b, link_to_port[i], w, s
		return
	}
	if (mode == "dot") {
		print "\t" dot_link(i)
		return
	}
	x = "\"" (mode == "describe" ? desc[a] : a) "\"[" link_from_port[i] "]"
	y = "\"" (mode == "describe" ? desc[b] : b) "\"[" link_to_port[i] "]"
	print (x < y ? x " " y : y " " x) (w == "4x" ? "" : " " w) (s == "qdr" ? "" : " " s)
}

function print_wire(i,	node, w, s)
{
	node = wire_node[i]
	w = (node, wire_port[i]) in width ? width[node, wire_port[i]] : "4x"
	s = (node, wire_port[i]) in speed ? speed[node, wire_port[i]] : "qdr"
	if (mode == "plan")
		print "wire", node, wire_port[i], w, s
	else if (mode == "dot")
		print "\t\"wire " i "\" [label=wire, shape=plaintext]\n\t" \
			dot_quoted(node) " -- \"wire " i "\" [taillabel=" wire_port[i] \
			", label=" dot_quoted(w " " s) "]"
	else
		print "\"" (mode == "describe" ? desc[node] : node) \
			"\"[" wire_port[i] "] wire" (w == "4x" ? "" : " " w) (s == "qdr" ? "" : " " s)
}

# The nodes that become RDMA devices: the first hosts, and those that are named. The adapters
# in switches that add up for MPI are no hosts.
function choose_devices(	wanted, number, i, n, node, word)
{
	wanted = number = ENVIRON["COUNT"] + 0
	for (i = 1; i <= count && number; i++) {
		node = names[i]
		if (node != "" && type[node] == "ca" && ports[node] <= 4 && desc[node] !~ / Aggregation Node$/) {
			number--
			is_device[node] = 1
		}
	}
	n = split(ENVIRON["CHOSEN"], word, " ")
	for (i = 1; i <= n; i++) {
		node = canonical(word[i])
		if (!(node in ports) || node in gone)
			fail(at, "there is no node " word[i])
		if (type[node] == "router")
			fail(node_line[node], node " is a router, which cannot be an RDMA device")
		if (type[node] == "ca" && ports[node] > 4)
			fail(node_line[node], node " has " ports[node] " ports, an RDMA device has 1 to 4")
		is_device[node] = 1
	}
	if (wanted && wanted == number && !n)
		fail(at, "no host in it that can be an RDMA device, with 1 to 4 ports; -d 0 makes none")
}

# A line of a format that does not say which links there are, and the command whose lines do
function other_format(text)
{
	if (text ~ /^(Ca|Switch|Router)[ \t]*: 0x/)
		return "what ibhosts and ibswitches print has no links"
	if (text ~ /^CA '[^']+'$/)
		return "what ibstat prints has no links"
	return ""
}

!hint {
	hint = other_format($0)
	hint_line = at
}

{
	nonsense()
}

END {
	if (failed)
		exit 1
	finish_linkinfo()
	finish_slurm()
	if (!count)
		fail(hint ? hint_line : NR,
		     "no node in it" (hint ? "; " hint ", those of ibnetdiscover are wanted" : ""))
	resolve_links()
	complain_of_tallies()
	if (mode == "plan")
		choose_devices()
	if (mode == "dot") {
		print "graph fabric {"
		print "\trankdir=BT; ranksep=1; node [fontname=sans]; edge [fontname=sans, fontsize=9]"
	}
	for (i = 1; i <= count; i++)
		if (names[i] != "")
			print_node(names[i])
	for (i = 1; i <= cables; i++)
		print_link(cable[i])
	for (i = 1; i <= wires; i++)
		if (wire_node[i] != "")
			print_wire(i)
	for (i = 1; mode == "plan" && i <= count; i++)
		if (names[i] in is_device)
			print "device", names[i]
	if (mode == "dot")
		print "}"
}
