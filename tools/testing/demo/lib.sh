# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# What the demos of the fabric share: how they tell what they do, and end when it is not
# so. Sourced, never run.
#
# shellcheck shell=bash disable=SC2154	# out comes from who sources this

output=$(mktemp) failed='' sm=''
trap 'demo_ends $? "$BASH_COMMAND"' EXIT

# demo_ends STATUS COMMAND: a command that nothing watches may have failed
demo_ends()
{
	rm -f "$output"
	[ "$1" = 0 ] || [ "$failed" ] || echo "FAILED: $2: status $1" >&2
}

say()
{
	echo
	echo "$*"
}

fail()
{
	failed=1
	echo "FAILED: $*" >&2
	exit 1
}

# because FILE: the end of what a command said, to follow what failed
because()
{
	grep -av '^[[:space:]]*$' "$1" | tail -n 3 | paste -sd ';' | sed 's/;/; /g; s/^./: &/'
}

# show COMMAND ...: run it, indented under its name; fails with it
show()
{
	echo "   \$ $*"
	"$@" 2>&1 | tee "$output" | sed 's/^/   /' || fail "$*$(because "$output")"
}

# What a command says that will say so for ever
hopeless="bad address|not known|[a-z]: not found|command not found|No such file"

# wait_for WHAT COMMAND ...: at most a minute, with a sign of life each second. It ends
# at once where waiting cannot help: without opensm, if that was started, or when the
# command says what is hopeless.
wait_for()
{
	local what=$1 why=$output i
	shift
	printf '   waiting until %s ' "$what"
	for ((i = 0; i < 300; i++)); do
		if "$@" >"$output" 2>&1; then
			echo " yes"
			return
		fi
		! grep -Eq "$hopeless" "$output" || break
		[ -z "$sm" ] || kill -0 $sm 2>/dev/null || {
			what+=": opensm has ended" why=$out/opensm.out
			break
		}
		[ $((i % 5)) != 0 ] || printf .
		sleep 0.2
	done
	echo
	fail "never: $what$(because "$why")"
}

# start_opensm: on madsim0; sm is its process
start_opensm()
{
	local guid

	guid=$(cut -d: -f5-8 /sys/class/infiniband/madsim0/ports/1/gids/0 | tr -d :)
	mkdir -p /tmp/opensm
	OSM_CACHE_DIR=/tmp/opensm opensm -e -g "0x$guid" -f "$out/opensm.log" \
		>"$out/opensm.out" 2>&1 &
	sm=$!
}

stop_opensm()
{
	kill $sm
	wait $sm || true
	sm=
}
