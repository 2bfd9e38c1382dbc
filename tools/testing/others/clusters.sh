#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# In a guest: topology files of others, of which the one argument is a folder. Each is
# loaded, opensm brings it up from a host of the file, and ibnetdiscover has to find what
# the file says, each link with its width and speed. What that host cannot reach it cannot
# find: of that the driver alone is asked.

folder=$(realpath "$1")
. "$(dirname "$0")/../madsim/lib.sh"

mapfile -t files < <(find "$folder" -type f | sort)
[ ${#files[@]} -gt 0 ] || bail "$folder has no files"
plan ${#files[@]}

load topology=none || bail "cannot load ib_madsim"

# links [HOST]: of what madsim-load -g prints, with nodes by the names that ibnetdiscover has
# for them: table has these. With HOST only those that a way leads to from there.
links()
{
	awk -v table="$tmp/names" -v host="${1-}" '
	BEGIN {
		while ((getline line <table) > 0) {
			split(line, word)
			name[word[1]] = word[2]
		}
	}
	{
		split($0, part, "\"")
		for (i = 2; i <= 4; i += 2)
			end[i] = part[i] in name ? name[part[i]] : part[i]
		sub(/[ \t]+$/, "", part[3])
		sub(/^\[[0-9]+\]/, "& ", part[5])
		split(part[5], word)
		x = end[2] part[3]
		y = end[4] word[1]
		from[NR] = end[2]
		to[NR] = end[4]
		text[NR] = (x < y ? x " " y : y " " x) " " word[2] " " word[3]
	}
	END {
		reached[name[host]] = 1
		do {
			more = 0
			for (i = 1; i <= NR; i++)
				if ((from[i] in reached) != (to[i] in reached)) {
					reached[from[i]] = reached[to[i]] = 1
					more = 1
				}
		} while (more)
		for (i = 1; i <= NR; i++)
			if (host == "" || from[i] in reached)
				print text[i]
	}' | sort
}

# host_of FILE: the first host with a link, which is one that a subnet manager may run on
host_of()
{
	LC_ALL=C awk -v mode=load -f "$here/../../infiniband/madsim-load/topology.awk" "$1" \
			2>/dev/null |
		awk '$1 == "node" && $3 == "ca" && $4 <= 2 && !/ Aggregation Node$/ { order[++n] = $2 }
			$1 == "link" { linked[$2] = linked[$4] = 1 }
			END {
				for (i = 1; i <= n && !(order[i] in linked); i++)
					;
				print order[i]
			}'
}

found()
{
	local file=$1 host dev port

	host=$(host_of "$file")
	rm -f "$tmp"/{names,wanted,here,net}
	"$madsim_load" -n cluster -d 0 ${host:+-N "$host"} "$file" 2>"$tmp/complaints"
	trap '"$madsim_load" -r cluster' EXIT
	(cd "$configfs/cluster" && grep . ./*/type ./*/guid) |
		awk -F '/|:' '$3 == "type" { type[$2] = $4 == "switch" ? "S" : "H" }
			$3 == "guid" { print $2, type[$2] "-" substr($4, 3) }' >"$tmp/names"
	"$madsim_load" -g "$file" 2>/dev/null | grep . >"$tmp/graph" || true
	diff "$tmp/graph" <("$madsim_load" -g "$debugfs/cluster/topology" | grep .)
	echo "$(wc -l <"$tmp/names") nodes, $(wc -l <"$tmp/graph") links," \
		"$(wc -l <"$tmp/complaints") complaints" >"$tmp/result"
	if [ ! "$host" ]; then
		echo "no host with a link, so nobody can look" >>"$tmp/result"
		return 0
	fi
	links "$host" <"$tmp/graph" >"$tmp/wanted"
	dev=$(device "$host")
	port=$(grep -l LinkUp "/sys/class/infiniband/$dev"/ports/*/phys_state |
		sed 's,/phys_state,,; s,.*/,,' | head -n 1)
	mkdir -p "$tmp/cache"
	rm -f "$tmp/cache"/*
	OSM_CACHE_DIR=$tmp/cache timeout 120 opensm -o -g "$(port_guid "$dev" "$port")" \
		-f "$tmp/opensm.log" >/dev/null
	state_is "$dev" "$port" ACTIVE
	ibnetdiscover -C "$dev" -P "$port" >"$tmp/net"
	"$madsim_load" -g "$tmp/net" | grep . | links >"$tmp/here"
	echo "$(wc -l <"$tmp/wanted") links that $host reaches," \
		"$(comm -12 "$tmp/wanted" "$tmp/here" | wc -l) of them found equal" >>"$tmp/result"
	diff "$tmp/wanted" "$tmp/here"
	# A switch's own cables are brought up with all the others
	"$madsim_load" --dot cluster | grep -c dashed >"$tmp/dashed" || true
	[ "$(cat "$tmp/dashed")" = $(($(wc -l <"$tmp/graph") - $(wc -l <"$tmp/wanted"))) ]
}

for file in "${files[@]}"; do
	: >"$tmp/result"
	: >"$tmp/complaints"
	check "${file#"$folder"/}" found "$file"
	sed 's/^/# /' "$tmp/result"
	sed "s,^$file,# line," "$tmp/complaints" | head -n 5
done

finish
