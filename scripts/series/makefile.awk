# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# A Makefile with those objects of a module whose sources are in folder. With option they
# are compiled where that is set, and nothing is linked. KUnit comes with the last of its
# objects.

/KUNIT_TEST/ || option && /^obj-/ { next }
/\\$/ { sub(/\\$/, ""); line = line $0; next }
{ line = line $0 }
line ~ /^ib_[a-z]+-y/ {
	n = split(line, word)
	out = option ? "always-$(CONFIG_" option ") :=" : word[1] " " word[2]
	for (i = 3; i <= n; i++) {
		file = folder "/" word[i]
		sub(/o$/, "c", file)
		if ((getline unused < file) < 0)
			continue
		close(file)
		if (length(out) + length(word[i]) > 72) {
			print all out " \\"
			all = "\t"
			out = "     " word[i]
		} else {
			out = out " " word[i]
		}
	}
	print all out
	all = ""
	line = ""
	next
}
{ print line; line = "" }
