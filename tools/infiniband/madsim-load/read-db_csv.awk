# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# ibdiagnet2.db_csv of ibdiagnet. It has sections, and the first line of each says what the
# columns are. Nodes, ports and links are all that is looked at.

# Take a line apart to field[]. Commas may be in quotes.
function csv(s,	part, n, i)
{
	n = split(s, part, "\"")
	s = ""
	for (i = 1; i <= n; i++) {
		if (i % 2 == 0)
			gsub(/,/, "\001", part[i])
		s = s part[i]
	}
	n = split(s, field, ",")
	for (i = 1; i <= n; i++)
		gsub(/\001/, ",", field[i])
	return n
}

# What this line has in a column, "" if there is no such one
function column(name)
{
	return name in columns && field[columns[name]] != "N/A" ? field[columns[name]] : ""
}

function csv_node(	kind, node)
{
	kind = column("nodetype")
	kind = kind == 1 ? "ca" : kind == 2 ? "switch" : kind == 3 ? "router" : ""
	if (kind == "" || column("numports") !~ /^[0-9]+$/) {
		nonsense()
		return
	}
	node = known(kind, column("nodeguid"), column("numports"), column("nodedesc"))
	csv_name[whole_guid(column("nodeguid"))] = node
	if (node == "")
		return
	ids[node] = whole_id(column("vendorid"), 16777215) " " whole_id(column("deviceid"), 65535) " " \
		    (whole_guid(column("systemimageguid")) == "" ? "-" : whole_guid(column("systemimageguid")))
	# Of a host, this is the GUID of the port by which ibdiagnet came
	if (kind == "switch" || column("localportnum") !~ /^[0-9]+$/)
		return
	port_guids[node] = first_port_guid(column("portguid"), column("localportnum"))
	if (port_guids[node] == "")
		delete port_guids[node]
}

function csv_port(	node, port, w, s)
{
	node = whole_guid(column("nodeguid"))
	node = node in csv_name ? csv_name[node] : ""
	port = column("portnum")
	w = substr("1x 4x 8x 12x2x ", 3 * place(column("linkwidthactv"), "1 2 4 8 16") - 2, 3)
	s = place(column("linkspeedactv"), "1 2 4 256 512 1024 2048 4096 65536")
	sub(/ /, "", w)
	if (node != "" && port ~ /^[0-9]+$/ && w != "" && s)
		note_rate(node, port, w, s == 9 ? "fdr10" : substr("sdrddrqdrfdredrhdrndrxdr", 3 * s - 2, 3))
}

function csv_link(	node, peer, port, peer_port)
{
	node = whole_guid(column("nodeguid1"))
	peer = whole_guid(column("nodeguid2"))
	port = column("portnum1")
	peer_port = column("portnum2")
	if (port !~ /^[0-9]+$/ || peer_port !~ /^[0-9]+$/)
		nonsense()
	else if (!(node in csv_name) || !(peer in csv_name))
		tally(at, "a link of a node that the file does not have",
		      "links of nodes that the file does not have", "left out")
	else if (csv_name[node] != "" && csv_name[peer] != "")
		add_link(csv_name[node], port, csv_name[peer], peer_port, 0, 0, "")
}

/^START_[A-Z0-9_]+$/ {
	section = substr($0, 7)
	heads = 1
	next
}

/^END_[A-Z0-9_]+$/ {
	section = ""
	next
}

section != "" && section !~ /^(NODES|PORTS|LINKS)$/ {
	next
}

section != "" && heads {
	heads = 0
	split("", columns)
	for (i = csv(tolower($0)); i > 0; i--)
		columns[field[i]] = i
	if (!((section == "LINKS" ? "nodeguid1" : "nodeguid") in columns)) {
		complain(at, section " has no column for the GUID of a node", "the section is left out")
		section = "left out"
	}
	next
}

section != "" {
	split("", field)
	csv($0)
	if (section == "NODES")
		csv_node()
	else if (section == "PORTS")
		csv_port()
	else
		csv_link()
	next
}
