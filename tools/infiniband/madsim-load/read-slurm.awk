# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# topology.conf of Slurm: which hosts and switches a switch has below it. There are no ports in
# it, so links get them in the order of the file: those of a switch to what is below it come
# first, and those up after them.

# Append the names of a list such as h[1-3,07],login to below[]. bad_list is set if it is none,
# or of too many.
function expand(list,	part, n, i)
{
	gsub(/,/, "\n", list)
	# Those in brackets are none between names
	while (match(list, /\[[^]\n[]*\n/))
		list = substr(list, 1, RSTART + RLENGTH - 2) "," substr(list, RSTART + RLENGTH)
	n = split(list, part, "\n")
	for (i = 1; i <= n; i++)
		if (part[i] != "")
			expand_one(part[i])
}

# prefix[1-3,07]rest, in which rest may have brackets, too
function expand_one(text,	prefix, rest, range, n, i, number, end, digits)
{
	if (count_below > 65535 || text !~ /^[^][]*(\[[0-9,-]+\][^][]*)*$/) {
		bad_list = 1
		return
	}
	if (!match(text, /\[[^]]*\]/)) {
		below[++count_below] = text
		return
	}
	prefix = substr(text, 1, RSTART - 1)
	rest = substr(text, RSTART + RLENGTH)
	n = split(substr(text, RSTART + 1, RLENGTH - 2), range, ",")
	for (i = 1; i <= n; i++) {
		if (range[i] !~ /^[0-9]+(-[0-9]+)?$/ || length(range[i]) > 19) {
			bad_list = 1
			return
		}
		end = range[i]
		sub(/.*-/, "", end)
		sub(/-.*/, "", range[i])
		digits = length(range[i])
		for (number = range[i] + 0; number <= end + 0 && !bad_list; number++)
			expand_one(prefix sprintf("%0" digits "d", number) rest)
	}
}

# The value of a key in this line, "" if there is none
function slurm_value(key,	text)
{
	if (!match(tolower(line), "(^|[ \t])" key "="))
		return ""
	text = substr(line, RSTART + RLENGTH)
	sub(/[ \t].*/, "", text)
	return text
}

# A switch has the nodes below[first] to below[last] below it
function slurm_links(name, kind, first, last,	i)
{
	for (i = first; i <= last; i++) {
		slurm_line[++slurms] = at
		slurm_up[slurms] = name
		slurm_down[slurms] = below[i]
		slurm_kind[slurms] = kind
		slurm_ports["switch", name]++
		slurm_ports[kind, below[i]]++
	}
}

function finish_slurm(	i, name)
{
	for (i = 1; i <= slurm_switches; i++) {
		at = slurm_switch_line[i]
		name = slurm_switch[i]
		add_node(name, "switch", slurm_ports["switch", name] + 0, name)
	}
	for (i = 1; i <= slurms; i++) {
		at = slurm_line[i]
		name = slurm_down[i]
		if (slurm_kind[i] == "ca" && !slurm_seen[name]++)
			add_node(name, "ca", slurm_ports["ca", name], name)
		slurm_up_port[i] = ++slurm_used["switch", slurm_up[i]]
	}
	for (i = 1; i <= slurms; i++) {
		at = slurm_line[i]
		if (slurm_up[i] in ports)
			add_link(slurm_up[i], slurm_up_port[i], slurm_down[i],
				 ++slurm_used[slurm_kind[i], slurm_down[i]], 0, 0, "")
	}
}

slurm_open != "" {
	line = slurm_open line
	slurm_open = ""
}

tolower(line) ~ /^switchname=.*\\$/ {
	slurm_open = substr(line, 1, length(line) - 1)
	next
}

tolower(line) ~ /^switchname=[^ \t]+([ \t]+(nodes|switches|linkspeed)=[^ \t]*)*$/ {
	bad_list = count_below = 0
	expand(slurm_value("nodes"))
	hosts = count_below
	expand(slurm_value("switches"))
	if (bad_list) {
		nonsense()
		next
	}
	name = slurm_value("switchname")
	if (!(name in slurm_is_switch)) {
		slurm_is_switch[name] = 1
		slurm_switch[++slurm_switches] = name
		slurm_switch_line[slurm_switches] = at
	}
	slurm_links(name, "ca", 1, hosts)
	slurm_links(name, "switch", hosts + 1, count_below)
	next
}

tolower(line) ~ /^block(name|sizes)=/ {
	complain(at, "a block does not say which switches there are", "left out")
	next
}
