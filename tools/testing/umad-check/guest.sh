#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# umad-check in a guest with Soft-RoCE, as scripts/guest/inside/rdma sets it up, and a
# simulated cable with opensm at one end, as if these were the host's adapters:
#
#	guest.sh FOLDER OTHER BUGS TEST ...
#
# FOLDER is what the Makefile of tools/infiniband/umad-check makes. OTHER is an
# ib_umad module to exchange the loaded one with. BUGS is one that has bugs, which each
# TEST, PROGRAM.TEST, has to find.

umad_check=$1/umad-check
other=$2
bugs=$3
finders=("${@:4}")
. "$(dirname "$0")/../madsim/lib.sh"

module=/sys/module/ib_umad

# quick OPTION ...: without a report to keep
quick()
{
	"$umad_check" -o "$tmp/quick" "$@"
}

# page PATTERN ...: what the last umad-check printed has such lines
page()
{
	local pattern
	for pattern; do
		grep -Eq -- "$pattern" "$tmp/page" || {
			cat "$tmp/page" "$tmp/progress"
			sed -n '/what failed/,/^===/p' "$tmp/report"
			echo "no line like $pattern"
			return 1
		}
	done
}

# checks STATUS OPTION ...: it ends so; page() tells what it printed
checks()
{
	local want=$1 status=0
	shift
	"$umad_check" -o "$tmp/report" "$@" >"$tmp/page" 2>"$tmp/progress" || status=$?
	[ $status = "$want" ] || { page "status $want, not $status"; return 1; }
}

build_id()
{
	od -An -v -tx1 $module/notes/.note.gnu.build-id 2>/dev/null | tr -d ' \n'
}

# An exchange has to leave this as it was
state()
{
	build_id
	echo
	grep -s . $module/parameters/* || true
}

# open_devices: whether there are any, and which
open_devices()
{
	find /proc/[0-9]*/fd -lname '/dev/infiniband/*' 2>/dev/null | grep .
}

# as_before: the module, and no process has it open
as_before()
{
	diff "$tmp/before" <(state) && fails open_devices
}

# Have modprobe know the module that is loaded, as after an installation: ours has
# come by insmod. The guest needs no other module that is not loaded by now.
install_module()
{
	local target
	target=/lib/modules/$(uname -r)

	rm -f /etc/modprobe.d/guest-umad.conf
	[ "${UMAD_MODULE-}" ] || return 0
	mkdir "$tmp/modules"
	modprobe -n --show-depends ib_umad | awk '{ print $2 }' | grep -v ib_umad |
		xargs cp -t "$tmp/modules"
	cp "$UMAD_MODULE" "$tmp/modules/"
	rm "$target"
	mkdir "$target"
	cp "$tmp/modules"/* "$target/"
	touch "$target/modules.order" "$target/modules.builtin" "$target/modules.builtin.modinfo"
	depmod
}

load topology=pair || bail "cannot load ib_madsim"
sm_start sm madsim0
sm=$(cat "$tmp/sm.pid")
until_true 30 state_is madsim1 1 ACTIVE || bail "no port is ACTIVE"
install_module

# All that there is to test, on both kinds of ports
check "all is right" checks 0 -p madsim1 -p rxe0
check "and was run" page '^[0-9]{3} passed, 0 failed, '
check "kernel and module" page "^Kernel    [0-9.]+[^ ]*, " '^ib_umad   the '
check "adapters" page '^Adapter   madsim1: .*GUID ' '^Adapter   rxe0: .*GUID '
check "ports" page "^Port      umad[0-9]+, madsim1/1: InfiniBand, ACTIVE, LID 0x[0-9]+, SM LID 0x[0-9]+\$" \
	'^Port      umad[0-9]+, rxe0/1: Ethernet, ACTIVE$'
check "who uses them" page "umad[0-9]+ by opensm\[$sm\]\$" "issm[0-9]+ by opensm\[$sm\]\$"
check "each program, on each port" page '^madsim1/1: device [1-9][0-9]*, agent [1-9]' \
	'^rxe0/1: device [1-9][0-9]*, agent [1-9]' 'diags 4$' 'diags 1$'
check "it is one page" eval '
	[ "$(wc -l <"$tmp/page")" -lt 60 ] && [ "$(wc -L <"$tmp/page")" -lt 100 ]'
check "the report has it all" eval '
	grep -q "^=== rxe0.1: all" "$tmp/report"
	grep -q "ok .* agent.v1_old.table_full" "$tmp/report"
	grep -q "[0-9] not on a port that others use" "$tmp/report"
	grep -q "^=== kernel log" "$tmp/report"'
check "opensm has not noticed" eval 'kill -0 $sm; state_is madsim1 1 ACTIVE; sm_log_clean sm'
check "nothing is left of it" eval '
	has_no -v "^/proc/$sm/" <(open_devices)
	[ ! -e "$(ls -d /tmp/tmp.*/leash 2>/dev/null)" ]'

check "one port, one program" eval '
	checks 0 -p madsim1/1 -t poll
	page "^madsim1/1: poll [1-9][0-9]*\$" "^[1-9][0-9]* passed, 0 failed"
	has_no "^rxe0/1:" "$tmp/page"'
check "issm only if asked" eval '
	checks 0 -p madsim1/1 -t port.issm
	page "^0 passed, 0 failed, .* 1 left out"
	checks 0 -p madsim1/1 -t port.issm --issm
	page "^1 passed, 0 failed, .* 0 left out"
	fails is_sm madsim1'
check "a port that is not ACTIVE" eval '
	checks 2 -p madsim1/2
	page "^madsim1/2: not checked, it is INIT" "^0 passed, 0 failed"'
check "no such port" refuses "there is no port umad99; there are: .*(rxe0/1)" quick -p umad99
check "no such option" refuses "unknown option --frob" quick --frob
check "an option without a value" refuses "needs a value" quick -p
check "a report that cannot be written" refuses "cannot write the report" "$umad_check" -o /nosuch/r
check "not root" refuses "must be root" setpriv --reuid=65534 --clear-groups "$umad_check"
check "one at a time" eval '
	exec 9>/run/umad-check.lock
	flock 9
	refuses "another umad-check is running" quick -p rxe0'
# when_checking: waits until the umad-check that is about to start is at it
when_checking()
{
	until_true 60 grep -q checking "$tmp/progress"
}

kernel_reports()
{
	: >"$tmp/progress"
	(when_checking && echo "WARNING: CPU: 0 PID: 1 at test" >/dev/kmsg) &
	checks 1 -p rxe0 -t recv
	page "^The kernel reported:" "WARNING: CPU: 0" "passed, 0 failed"
}
check "a kernel that reports something" kernel_reports

# Exchanging the module
state >"$tmp/before"
check "not while a device is open" refuses "issm[0-9]* by opensm.$sm." \
	quick --switch-module "$other"
sm_end sm
check "only an ib_umad for this kernel" eval '
	refuses "no such file" quick --switch-module /nosuch.ko
	refuses "is not an ib_umad module" quick --switch-module /etc/passwd
	refuses "is not an ib_umad module" quick --switch-module "$MADSIM_MODULE"
	as_before'
check "exchanged, and back" eval '
	checks 0 -p rxe0 -t poll -t device --switch-module "$other"
	page "^Checked in its place: " "^rxe0/1: poll [1-9][0-9]*, device" "^The module that was loaded is back"
	as_before'

broken()
{
	case $other in
	*.xz)	xz -dc "$other" ;;
	*)	cat "$other" ;;
	esac >"$tmp/broken.ko"
	objcopy --redefine-sym ib_register_client=ib_register_nobody "$tmp/broken.ko"
	checks 1 -p rxe0 --switch-module "$tmp/broken.ko"
	page "the module cannot be loaded" "^rxe0/1: not checked" "^The module that was loaded is back"
	as_before
}
check "one that does not load" broken

# Of each TEST one variant at least, and no other program
finds_bugs()
{
	local test
	checks 1 -p rxe0 -t poll -t agent -t send --switch-module "$bugs"
	as_before
	sed -n '/what failed/,/^===.*all$/{/^[ =]/d; s/^\([a-z]*\)\..*\./\1./p}' "$tmp/report" |
		sort -u | tee "$tmp/failed"
	for test in "${finders[@]}"; do
		grep -qx "$test" "$tmp/failed"
	done
	has_no -v '^agent\.\|^send\.' "$tmp/failed"
}
check "bugs are found, and nothing else" finds_bugs

# interrupted SIGNAL TARGET: while tests run on another module
interrupted()
{
	local pid id
	id=$(build_id)
	setsid env --default-signal=INT,QUIT "$umad_check" -o "$tmp/report" -p rxe0 \
		-t send -t recv --switch-module "$other" >"$tmp/page" 2>"$tmp/progress" &
	pid=$!
	until_true 60 eval '[ "$(build_id)" ] && [ "$(build_id)" != '"$id"' ] && open_devices'
	case $2 in
	group)	kill "-$1" -- -$pid ;;
	alone)	kill "-$1" $pid ;;
	esac
	fails wait $pid
	# Not even the process that brings it back is there any more
	flock /run/umad-check.lock true
	cat "$tmp/progress"
	as_before
	grep -q "the module that was loaded is back" "$tmp/progress"
}
check "^C" interrupted INT group
check "terminated" interrupted TERM alone
check "the terminal is gone" interrupted HUP group
check "killed" interrupted KILL alone

somebody_comes()
{
	local pid
	: >"$tmp/progress"
	(when_checking && exec sleep 600 <"$(ls -d /dev/infiniband/umad* | head -n 1)") &
	pid=$!
	checks 3 -p rxe0 -t poll --switch-module "$other"
	page "^The module could NOT be brought back"
	says "run: rmmod ib_umad; modprobe ib_umad" cat "$tmp/progress"
	kill -KILL $pid
	wait $pid || true
	until_true 5 rmmod ib_umad
	modprobe ib_umad
	as_before
}
check "somebody who has come meanwhile" somebody_comes

foreign()
{
	rmmod ib_umad
	insmod "$other"
	refuses "is in no file here, which would bring it back" quick --switch-module "$other"
	rmmod ib_umad
	modprobe ib_umad
}
check "a loaded one that is in no file" foreign

# As newer DKMS leaves it: modprobe does not find the loaded one, which is elsewhere
installed()
{
	local folder original

	original=$(modinfo -F filename ib_umad)
	folder=/var/lib/dkms/user-mad/original_module/$(uname -r)/x86_64
	mkdir -p "$folder"
	mv "$original" "$folder/"
	checks 0 -p rxe0 -t device --switch-module "$other"
	page "^rxe0/1: device"
	as_before
	mv "$folder/${original##*/}" "$original"
}
check "behind an installation" installed

none()
{
	rmmod ib_umad
	refuses "ib_umad is not loaded" quick
	checks 0 -p rxe0 -t device --switch-module "$other"
	page "^ib_umad   not loaded" "^rxe0/1: device" "^No module is loaded, as before"
	[ ! -d $module ]
	modprobe ib_umad
}
check "none is loaded" none

echo "Default=0x7fff : ALL=limited, SELF=full ;" >"$tmp/partitions"
SM_MORE="partition_config_file $tmp/partitions" sm_start limited madsim0
limited_member()
{
	until_true 30 grep -qx 0x7fff /sys/class/infiniband/madsim1/ports/1/pkeys/0
	until_true 30 state_is madsim1 1 ACTIVE
	checks 2 -p madsim1/1
	page "^madsim1/1: not checked, it cannot talk to itself, as a limited member"
}
check "a limited member of its partition" limited_member

finish
