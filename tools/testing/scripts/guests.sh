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

# Of packages that this machine has not, a file and a program
layered()
{
	local layers=$tmp/layered/user_mad/layers

	mkdir -p "${layers%/*}"
	cp -a "$cache/layers" "$layers" || return 1
	mkdir -p "$layers/rdma/usr/bin" "$layers/rdma/usr/share/ib_only_here"
	ln -sf /bin/true "$layers/rdma/usr/bin/ib_only_here"
	touch "$layers"/*.key
	! command -v ib_only_here &&
		XDG_CACHE_HOME=$tmp/layered guest sh -c \
			'ib_only_here && [ -d /usr/share/ib_only_here ] && [ -e /usr/share/common-licenses ]'
}

# The guest asks and is answered, and has job control
shell_of_guest()
{
	local said status=0

	at_terminal 'ready*' typed "scripts/guest/run --shell bash -ic 'set -o; echo ready
		read -r word; echo so \$word; exit 7'" || status=$?
	[ $status = 7 ] && grep -q '^monitor.*on' <<<"$said" && grep -q '^so typed' <<<"$said" &&
		! grep -q 'no job control' <<<"$said"
}

# kvm SAYS SCRIPT: on a machine whose QEMU does this first where KVM is asked for, the
# first guest SAYS what that comes to, the second one nothing, and both run
kvm()
{
	local qemu

	qemu=$(command -v qemu-system-x86_64)
	rm -rf "$tmp/kvm" "$tmp/kvm.cache"
	mkdir -p "$tmp/kvm" "$tmp/kvm.cache/user_mad"
	find "$cache" -mindepth 1 -maxdepth 1 ! -name 'kvm*' \
		-exec ln -s -t "$tmp/kvm.cache/user_mad" {} +
	put kvm qemu-system-x86_64 "case \"\$*\" in
		*'-accel kvm -cpu host'*)	$2 ;;
		esac
		exec $qemu \"\$@\""
	PATH=$tmp/kvm:$PATH XDG_CACHE_HOME=$tmp/kvm.cache guest true 2>"$tmp/said" || return 1
	cat "$tmp/said"
	[ "$(grep -Ec "$1" "$tmp/said")/$(wc -l <"$tmp/said")" = 1/1 ] || return 1
	PATH=$tmp/kvm:$PATH XDG_CACHE_HOME=$tmp/kvm.cache guest true 2>"$tmp/said" || return 1
	cat "$tmp/said"
	[ ! -s "$tmp/said" ]
}
# shellcheck disable=SC2016	# for that QEMU
emulated='for word; do case $word in
	kvm) word=tcg ;; host) word=max ;; esac; set -- "$@" "$word"; shift; done'

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

say "booting guests that do well and guests that do not"
ktap "a guest's status" healthy_guest
ktap "a guest's output" cmp "$tmp/healthy" <(echo one; echo ok 1 - all; seq 200000)
ktap "a guest writes to its scratch layer and --out only" \
	eval '[ ! -e README.guest ] && [ "$(cat "$tmp/out/kept")" = kept ]'
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
if [ -w /dev/kvm ]; then
	ktap "a KVM that runs the kernel" kvm 'KVM runs .*: taking it' "$emulated"
	ktap "a KVM that runs nothing" kvm 'KVM does not run .* here' 'exit 1'
else
	ktap_skip "a KVM that runs the kernel" "there is no /dev/kvm"
	ktap_skip "a KVM that runs nothing" "there is no /dev/kvm"
fi
ktap "a shell without a terminal" ends 1 'shell needs a terminal' scripts/guest/run --shell true
ktap "a terminal of a guest" shell_of_guest
ktap "a guest has what this machine lacks" layered

