# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# What goes wrong on this machine, and in suites that run-tests starts: of the suite scripts.
#
# shellcheck shell=bash disable=SC2154	# tmp, top and kernel come from run

# Nothing installed, and no apt; apt without network
machine no-apt apt-get apt-cache qemu-system-x86_64
put no-apt dpkg-query 'exit 1'
machine no-network qemu-system-x86_64
put no-network dpkg-query 'exit 1'
put no-network apt-get 'echo "E: no route to host" >&2; exit 100'
put no-network apt-cache 'exit 0'
put no-network id 'echo 0'
machine no-unstable
put no-unstable apt-get 'exit 100'
put no-unstable apt-cache 'exit 100'
mkdir -p "$tmp/with space"
cp Makefile "$tmp/with space/"

# suite NAME TEXT: one that prints this
suite()
{
	put . "$1" "printf '$2'"
}
suite good 'KTAP version 1\n1..2\nok 1 a\nok 2 b # SKIP no b\n'
suite failing 'KTAP version 1\n1..2\nok 1 a\nnot ok 2 b\n'
suite skips '1..3\nok 1 a\nok 2 c # SKIP no c\nok 3 d # SKIP no c\n'
suite reference '1..2\nok 1 a # XFAIL known\nok 2 b\n'
sed -i '1a#	allows		XFAIL' "$tmp/reference"

# These are no suites of ours: their logs have a place of their own
run()
{
	scripts/run-tests --logs "$tmp/logs" "$@"
}

# fails NAME MESSAGE TEXT: a suite that prints this fails for this
fails()
{
	suite other "$3"
	ktap "$1" ends 1 "$2" run "$tmp/other"
}

waits()
{
	local pid said=$tmp/waits
	local line='^waiting for .* \(process [0-9]+\) to be done with .*/build$'

	# What the one before has said would do here
	rm -f "$said"
	env -u USER_MAD_BUILD_LOCKED setsid "$@" >"$said" 2>&1 &
	pid=$!
	until grep -Eqs "$line" "$said" || ! kill -0 $pid 2>/dev/null; do
		sleep 0.1
	done
	cat "$said"
	kill -TERM -- -$pid && grep -Eq "$line" "$said"
}

no_unstable()
{
	ends "$1" "$2" env PATH="$tmp/no-unstable" XDG_CACHE_HOME="$tmp/none" "${@:3}"
}

# A bug whose place has changed, and one that no test can catch
printf 'rotten\tWhatever\tcore/user_mad/recv.c\trecv\ts/no such line//\n' >"$tmp/rotten"
printf 'free\tWhatever\tcore/user_mad/recv.c\tnosuch.test\t1d\n' >"$tmp/free"

# named WORD ...: run-tests with such words in a checkout whose suites print what they
# were started with
named()
{
	if [ ! -d "$tmp/named" ]; then
		mkdir -p "$tmp/named/build" "$tmp/named/tools"
		cp -r scripts drivers "$tmp/named/"
		cp -r tools/testing "$tmp/named/tools/"
		for suite in quick selftests madsim kunit sanitize; do
			run=$tmp/named/tools/testing/$suite/run
			sed -n '/^#/!q;p' "tools/testing/$suite/run" >"$run"
			echo "echo 1..1; echo ok 1 $suite \"\$@\" | tee /dev/stderr" >>"$run"
		done
		printf '#!/bin/sh\necho /cache/7.2.1-amd64\n' >"$tmp/named/scripts/kernel/stock"
	fi
	env -u USER_MAD_BUILD_LOCKED "$tmp/named/scripts/run-tests" "$@"
}

# Parts of all, by what RESULTS.md has
shards()
{
	python3 -B - <<-END
	import sys
	sys.path.insert(0, "scripts/tests")
	import plan, run
	all = plan.planned("make test-all", "make test-release")
	parts = [one.name for k in range(1, 6) for one in run.shard(all, f"{k}/5")]
	print(parts)
	sys.exit(sorted(parts) != sorted(one.name for one in all) or len(parts) < 10)
	END
}

# In a repository whose branch main has other files of the module
changed()
{
	named kunit >/dev/null && cd "$tmp/named" || return 1
	git init -q -b main . && git add drivers scripts tools &&
		git -c user.name=a -c user.email=a commit -q -m a || return 1
	echo "/* changed */" >>drivers/infiniband/core/user_mad/issm.c
	ends 0 '^quick: ok 1 quick .*issm\.handed_over' named --changed || return 1
	git checkout -q drivers
	ends 1 '^run-tests: no file of the modules has changed' named --changed
}

# It has an answer while the lock is held
beside()
{
	named kunit >/dev/null
	(
		flock 3
		ends 0 '^quick: ok 1 quick send$' timeout 60 "$tmp/named/scripts/run-tests" send
	) 3>>"$tmp/named/build/.run"
}

# prints SUITE TEXT: have a suite of that checkout print this alone
prints()
{
	named kunit >/dev/null
	sed -n '/^#/!q;p' "tools/testing/$1/run" >"$tmp/named/tools/testing/$1/run"
	echo "printf '$2'" >>"$tmp/named/tools/testing/$1/run"
}

roce='1..1\n  # Subtest: nowait\n  1..2\n  ok 1 a # SKIP on RoCE the first is refused\n  ok 2 b\nok 1 nowait\n'
skips_expected()
{
	prints race "$roce"
	ends 0 '^skipped everywhere: 1 tests, ' named race:rt
}

skips_unexpected()
{
	prints race "${roce//nowait/send}"
	ends 0 '^SKIPPED race:rt: send: a: on RoCE the first is refused$' named race:rt
}

# RESULTS.md has 55 results of it
few_results()
{
	prints tools '1..2\nok 1 a\nok 2 b\n'
	ends 1 '^FAILED tools: 2 results where RESULTS.md has [0-9]+$' named tools
}

again()
{
	prints race '1..1\nok 1 a\n'
	echo 'echo "guest: the kernel did not come up; booting again" >&2' \
		>>"$tmp/named/tools/testing/race/run"
	ends 0 '^race:rt: guest: the kernel did not come up; booting again$' named race:rt &&
		[ "$(grep -c 'booting again$' <<<"$said")" = 2 ]
}

# A suite that ran as a whole gets a row, and one test of it none
recorded()
{
	local table=$tmp/named/tools/testing/RESULTS.md

	named --record kunit && cat "$table" &&
		grep -E '^\| kunit \| - \| 20[0-9-]{8} \| 1 \| 0 \| 0 \| 0 \| [^|]+ \|$' "$table" ||
		return 1
	cp "$table" "$tmp/table"
	named --record send && cmp "$table" "$tmp/table"
}

ktap "make without headers" refused 'no kernel headers .*apt-get install' make -s KDIR=
ktap "make with a wrong KDIR" refused 'not a built kernel' make -s KDIR="$tmp/none"
ktap "make in a path with spaces" refused 'spaces' make -s -C "$tmp/with space"
ktap "no QEMU and no apt" refused 'this needs Debian and its apt, .* docker run .* demo' \
	env PATH="$tmp/no-apt" scripts/guest/run true
ktap "no QEMU and no network" ends 1 'is a Debian mirror reachable' \
	env PATH="$tmp/no-network" scripts/guest/run true
ktap "a kernel that is none" refused 'not a kernel' scripts/kernel/stock six
ktap "no unstable, no newest kernel" \
	no_unstable 1 '^kernel/stock: there is no newest kernel of Debian' scripts/kernel/stock newest
ktap "no unstable, the other suites" no_unstable 0 '^1 passed, 0 failed, 2 skipped in ' \
	scripts/run-tests --logs "$tmp/logs" kunit "$tmp/good"
ktap "a series that Debian has not" ends 1 'neither this Debian nor one of 11 to 13 has a kernel 6.66' \
	scripts/kernel/stock 6.66
ktap "guest with a missing kernel" refused 'no such kernel' scripts/guest/run --kernel "$tmp/none" true
ktap "guest/inside/rdma outside of a guest" refused 'run it by scripts/guest/run' \
	scripts/guest/inside/rdma ours true
ktap "a planted bug that fits nowhere" ends 1 '^rotten: fits into 0 places' \
	tools/testing/mutants/run --check "$tmp/rotten"
ktap "a planted bug without a test" ends 1 '^free: there is no test nosuch.test' \
	tools/testing/mutants/run --check "$tmp/free"
ktap "a word that is no suite and no test" \
	ends 1 "^run-tests: no suite or test 'nosuch'$" named nosuch
ktap "a selftest" ends 0 '^quick: ok 1 quick send removal.rmmod$' named send removal.rmmod
ktap "a 32-bit program" ends 0 '^selftests:newest: ok 1 selftests newest agent_32$' named agent_32
ktap "a shard that is none" ends 2 "shard 6/x: not K/N" scripts/run-tests --all --shard 6/x
ktap "shards have each suite once" shards
ktap "tests of changed files" changed
ktap "a test by name beside another run" beside
ktap "a test of madsim and one of KUnit" ends 0 '^quick: ok 1 quick sm umad_ioctl$' \
	named sm umad_ioctl
ktap "a test on a suite" ends 0 '^selftests:6.12: ok 1 selftests 6.12 send$' \
	named selftests:6.12 sanitize send
ktap "a test on a suite that runs as a whole" refused "suite 'demo' runs none" named demo send
ktap "--record keeps a row for a suite" recorded
ktap "a suite with much fewer results than before" few_results
ktap "a guest that was booted again is named at the end" again
ktap "a selftest that is none" ends 1 "send has no test 'nosuch'; it has: .* bad_pointer" \
	tools/testing/selftests/run 6.12 send.nosuch
ktap "a part of a program in Python" ends 0 '^quick: ok 1 quick sma.lmc$' named sma.lmc
ktap "a part that is none" refused "sma has no test 'nosuch'; it has: .* lmc " \
	tools/testing/sanitize/run sma.nosuch

ktap "a good suite" ends 0 '^1 passed, 0 failed, 1 skipped in ' run "$tmp/good"
ktap "its log is where it belongs" eval '[ -s "$tmp/logs/good" ] && [ ! -e build/tests/good ]'
ktap "run-tests beside another run" waits scripts/run-tests "$tmp/good"
ktap "bench beside another run" waits tools/testing/bench/measure few
ktap "the reason of a skip" ends 0 '^SKIPPED .*: b: no b$' run "$tmp/good"
ktap "a skip that every machine has" skips_expected
ktap "its reason at another test" skips_unexpected
ktap "skips with the same reason" ends 0 '^SKIPPED [^:]*: c and 1 more: no c$' run "$tmp/skips"
ktap "a failing suite" ends 1 '^1 passed, 1 failed in ' run "$tmp/failing"
fails "a suite that fails below" '^1 passed, 1 failed in ' \
	'KTAP version 1\n1..1\n  1..2\n  ok 1 a\n  not ok 2 b\nok 1 c\n'
fails "a suite with too few results" '2 results where 3' 'KTAP version 1\n1..3\nok 1 a\nok 2 b\n'
fails "a suite without a plan" 'no plan' 'KTAP version 1\nok 1 a\n'
fails "a suite without results" 'no result' ''
fails "a suite that skips all" '^FAILED: nothing ran$' '1..1\nok 1 a # SKIP no a\n'
fails "a suite that plans nothing" 'planned no test' '1..0\n'
put . crashed "printf '1..1\nok 1 a\n'; exit 1"
ktap "a suite that ends badly" ends 1 'ended with status 1' run "$tmp/crashed"
fails "a known failure that passes" 'marked as failing' '1..1\nok 1 a # XPASS\n'
fails "a known failure of our own" 'XFAIL' '1..1\nok 1 a # XFAIL\n'
ktap "a known failure of the reference" ends 0 '^2 passed, 0 failed in [0-9]+ s, with [0-9]+ s of CPU time$' run "$tmp/reference"
fails "a suite that bails out" 'Bail out! no device' '1..1\nok 1 a\nBail out! no device\n'
fails "a part without results" 'two: no result' \
	'1..2\n  # Subtest: one\n  1..1\n  ok 1 a\nok 1 one\n  # Subtest: two\nok 2 two\n'
fails "a part that fails" 'one: a$' '1..1\n  # Subtest: one\n  1..1\n  not ok 1 a\nnot ok 1 one\n'
fails "a part without a result of its own" 'no result behind its parts' \
	'1..2\n  # Subtest: one\n  1..1\n  ok 1 a\n  # Subtest: two\n  1..1\n  ok 1 b\nok 1 two\nok 2 c\n'
