# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Guests that do well and guests that do not: of the suite scripts.
#
# shellcheck shell=bash disable=SC2154	# tmp, top and kernel come from run

# The guest's side of the table: each of these boots one.
guest()
{
	scripts/guest/run --kernel "$kernel" --timeout 600 "$@"
}

# shellcheck disable=SC2016	# to be expanded in the guest
healthy='echo one; echo ok 1 - all; seq 200000; echo scratch >README.guest;
	echo kept >'$tmp'/out/kept; [ -d /sys/kernel/debug/tracing ] || exit 1
	[ ! -t 1 ] || exit 2; exit 42'
mkdir "$tmp/out"
# As the kernel prints it, a line at a time
known='for line in "------------[ cut here ]------------" \
	"WARNING: drivers/infiniband/sw/rxe/rxe_verbs.c:1017 at rxe_post_recv+0x102/0x1b0" \
	"Call Trace:" "---[ end trace 0000000000000000 ]---"; do
	echo "$line" >/dev/kmsg
done'

known_bug()
{
	ends 0 'a bug of its own that is known' scripts/guest/run sh -c "$known" &&
		grep -q 'at rxe_post_recv+0x102' <<<"$said"
}

healthy_guest()
{
	local status=0
	guest --out "$tmp/out" sh -c "$healthy" >"$tmp/healthy" 2>"$tmp/errors" || status=$?
	[ $status = 42 ] && [ ! -s "$tmp/errors" ] ||
		{ echo "status $status"; cat "$tmp/errors"; return 1; }
}

# As if this machine had lost a package since the layer was made
anew()
{
	rm -f "$cache/layers/rdma.key"
	scripts/root rdma >/dev/null
}

# Another run may make a layer anew while a guest has it, and with fewer files
keeps_its_layers()
{
	local made=1

	anew || return 1
	mkdir -p "$cache/layers/rdma/usr/before"
	echo kept >"$cache/layers/rdma/usr/before/file"
	guest --out "$tmp/out" sh -c "touch $tmp/out/up
		until [ -e $tmp/out/anew ]; do sleep 1; done
		cat /usr/before/file" &
	while [ ! -e "$tmp/out/up" ] && [ "$(jobs -r)" ]; do sleep 1; done
	anew && [ ! -e "$cache/layers/rdma/usr/before" ] || made=
	touch "$tmp/out/anew"
	wait $! && [ "$made" ]
}

say "booting guests that do well and guests that do not"
ktap "a guest's status" healthy_guest
ktap "a guest's output" cmp "$tmp/healthy" <(echo one; echo ok 1 - all; seq 200000)
ktap "a guest writes to its scratch layer and --out only" \
	eval '[ ! -e README.guest ] && [ "$(cat "$tmp/out/kept")" = kept ]'
ktap "a guest keeps a layer that is made anew" keeps_its_layers
ktap "a guest with a report in its kernel log" ends 125 'the kernel reported' \
	scripts/guest/run sh -c 'echo "WARNING: CPU: 0 PID: 1 at test" >/dev/kmsg'
ktap "a known bug of the kernel" known_bug
ktap "a known bug of the kernel, and a report" ends 125 'the kernel reported' \
	scripts/guest/run sh -c "$known; echo 'WARNING: CPU: 0 PID: 1 at test' >/dev/kmsg"
ktap "a guest that hangs" ends 125 'hung: ended after 25 seconds' \
	scripts/guest/run --timeout 25 --out "$tmp/hung" sleep 1000
ktap "a guest that dies" ends 125 'died before the command was done' \
	scripts/guest/run sh -c 'echo 0 >/.session/fake; echo exit 0; echo c >/proc/sysrq-trigger'
ktap "a hung guest is gone" eval '! pgrep -f "$tmp/hung"'
ktap "a shell without a terminal" ends 1 'shell needs a terminal' scripts/guest/run --shell true
