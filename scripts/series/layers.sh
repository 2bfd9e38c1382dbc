# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The layers of a series; sourced after common.sh, never run. $folder is that of the
# series.
#
# What is there is all layers together. The file about names them, the first first, and
# the files that are a layer's alone. What else a layer adds is in LAYER.diff. So they
# are taken off one by one, the last first.
#
# shellcheck shell=bash disable=SC2154	# top and folder come from who sources this

# about KEY: what the file about says of that
about()
{
	[ ! -e "$folder/about" ] || sed -n "s/^$1 //p" "$folder/about"
}

layers_names()
{
	about layer | cut -d' ' -f1
}

# layers_before TO FROM LAYER OPTION ...: in TO what FROM has without that layer; OPTIONs
# are for patch
layers_before()
{
	local to=$1 from=$2 layer=$3 layered file
	shift 3

	layered=$(about layered)
	mkdir -p "$to/$layered"
	cp -r "$from/$layered/." "$to/$layered"
	for file in $(about "layer $layer"); do
		rm "$to/$layered/$file"
	done
	patch -R -p1 -s --no-backup-if-mismatch -d "$to" "$@" <"$folder/$layer.diff" >&2
}
