# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# awk -f answers.awk ERRORS features.c: what the compiler said of the lines of features.c
# becomes definitions and, of what a module cannot do without, sentences. A line that
# proves that there is an answer at all makes it fail.

function broken(why)
{
	print why >"/dev/stderr"
	status = 1
	exit 1
}

BEGIN {
	print "/* include/probe made this */"
}

FILENAME == ARGV[1] {
	if (!/ error: /)
		next
	if (!match($0, /features\.c:[0-9]+:/))
		broken($0)
	split(substr($0, RSTART, RLENGTH), place, ":")
	said[place[2]] = $0
	next
}

/^(HAS|NEEDS|CONTROL)\(/ {
	name = $0
	sub(/^[A-Z]+\(/, "", name)
	sub(/,.*/, "", name)
	lacks = FNR in said
	delete said[FNR]
}

/^CONTROL\(/ {
	controls++
	if (lacks != (name == "NO"))
		broken("the answer to " name " is wrong")
}

/^HAS\(/ && !lacks {
	print "#define KERNEL_HAS_" name " 1"
}

/^NEEDS\(/ && lacks {
	split($0, word, "\"")
	print "/* " name " needs " word[2] ", which this kernel lacks */"
}

END {
	if (!status) {
		for (line in said)
			broken(said[line])
		if (controls != 2)
			broken("there are no controls")
	}
	exit status
}
