# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# What the tests of ib_madsim share: checks, the module, subnet managers.
# shellcheck shell=bash

set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../../../scripts/ktap.sh"
madsim_load=$here/../../infiniband/madsim-load/madsim-load
madsim_record=$here/../../infiniband/madsim-record/madsim-record
madsim_wire=$here/../../infiniband/madsim-wire/madsim-wire
umaddump=$here/../../infiniband/madsim-wire/umaddump
tmp=$(mktemp -d)
configfs=/sys/kernel/config/madsim
debugfs=/sys/kernel/debug/madsim
faults=$configfs/preset/faults
wire_port=4
# Where the test ends: with the check that has this word in its name
tap_last=${TAP_LAST-}
declare -a sm_pids=()

# leave_out REASON: all of this test
leave_out()
{
	ktap_skip_all "$*"
	exit 0
}

# kernel_has MODULE [FOLDER]: these modules, or what one has below /sys where it is built in
kernel_has()
{
	# shellcheck disable=SC2086	# a word list
	modprobe -qa $1 || [ -d "/sys/${2-none}" ] || leave_out "this kernel does not have all of $1"
}

# with_ipoib: this test needs ib_ipoib, which at_end removes as that module holds devices
with_ipoib()
{
	kernel_has ib_ipoib module/ib_ipoib
	ipoib=1
}

# have PROGRAM ...
have()
{
	local program
	for program; do
		command -v "$program" >/dev/null || leave_out "there is no $program"
	done
}

# check NAME COMMAND ...: a test that passes if the command does, all of it: the
# command runs under set -e, in a shell of its own, and so must not be part of a
# condition here. What it says is shown if it fails.
check()
{
	local name=$1 status
	shift
	[ -z "${UMAD_STRICT-}" ] || strictly
	# A shell has random numbers of its own: these are the same each time
	(RANDOM=${UMAD_STRESS_SEED:-1}; set -e; "$@") >"$tmp/said" 2>&1
	status=$?
	ktap_result $status "$name"
	if [ $status != 0 ]; then
		echo "# failed: $*"
		sed 's/^/# /' "$tmp/said" | head -n 40
	fi
	[ -z "${UMAD_STRICT-}" ] || grep -hs " [1-9]" $configfs/*/strict | sed 's/^/# told of: /'
	last "$name"
}

# All fabrics are strict from now on, and have told of nothing
strictly()
{
	local file
	for file in "$configfs"/*/strict; do
		[ ! -e "$file" ] || put "$file" 1
	done
}

# skip NAME REASON
skip()
{
	ktap_skip "$@"
	last "$1"
}

# last NAME: the check of this name may be the last one
last()
{
	[[ $tap_last && $1 == *"$tap_last"* ]] || return 0
	ktap_end
	exit
}

# case_wanted CASE WHAT: of $cases, which build on none before them, no other one is
case_wanted()
{
	if [ "$tap_last" ] && grep -q "^$tap_last " <<<"$cases"; then
		[ "$1" = "$tap_last" ]
	else
		[[ $2 == *"$tap_last"* ]]
	fi
}

# switches: whether a switch may be an RDMA device; print the parameter that it takes.
# The module for kernels whose ib_cm crashes when it meets a switch has such a
# parameter. ib_cm may be built in, so ask for one of its functions.
switches()
{
	modinfo -F parm "${MADSIM_MODULE:-ib_madsim}" | grep -q '^switch_devices:' || return 0
	! grep -q ' cm_add_one' /proc/kallsyms || return 1
	echo switch_devices=Y
}

# says PATTERN COMMAND ...: the command succeeds and a line of what it says fits
says()
{
	local pattern=$1 said
	shift
	said=$("$@" 2>&1) || { echo "$said"; echo "status not 0: $*"; return 1; }
	grep -Eq -- "$pattern" <<<"$said" || { echo "$said"; echo "no line like $pattern"; return 1; }
}

# all_say COMMAND ... -- PATTERN ...: the same for several patterns
all_say()
{
	local said pattern
	local -a command=()

	while [ "$1" != -- ]; do
		command+=("$1")
		shift
	done
	shift
	said=$("${command[@]}" 2>&1) || { echo "$said"; echo "status not 0"; return 1; }
	for pattern; do
		says "$pattern" echo "$said" || return 1
	done
}

# refuses ERROR COMMAND ...: the command fails, with the text of this errno
refuses()
{
	local error=$1 said
	shift
	! said=$("$@" 2>&1) || { echo "$said"; echo "succeeded: $*"; return 1; }
	grep -q -- "$error" <<<"$said" || { echo "$said"; echo "not: $error"; return 1; }
}

# unanswered COMMAND ...: a tool whose request gets no answer. Only if poll() of
# libibumad, which has the same timeout, is faster than the kernel, it says why.
unanswered()
{
	refuses "_do_madrpc failed" "$@"
}

# fails COMMAND ...: for set -e, which overlooks "!"
fails()
{
	! "$@" || { echo "succeeded: $*"; return 1; }
}

# has_no GREP-ARGUMENT ...: there is no such line, in files that are there
has_no()
{
	local status=0
	grep "$@" || status=$?
	[ $status = 1 ] || { echo "status $status: grep $*"; return 1; }
}

# until_true SECONDS COMMAND ... So long it may take on an idle machine: one that is busy gets
# more. A user-mode Linux's clock skips idle time, so there the tries are the cost of waiting:
# they are few
until_true()
{
	local tries=$(($1 * 6))
	shift
	until "$@" >"$tmp/until" 2>&1; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || { cat "$tmp/until"; echo "gave up waiting for: $*"; return 1; }
		sleep 0.5
	done
}

# put FILE TEXT: a write that fails says why
put()
{
	printf '%s\n' "$2" >"$1"
}

load()
{
	if [ "${MADSIM_MODULE-}" ]; then
		modprobe -qa configfs ib_uverbs || true
		insmod "$MADSIM_MODULE" "$@"
	else
		modprobe ib_madsim "$@"
	fi
}

unload()
{
	rmmod ib_madsim
}

devices()
{
	find /sys/class/infiniband -name 'madsim*' -printf '%f\n' | sort -V
}

# device NODE: the RDMA device of a node
device()
{
	local dev
	for dev in /sys/class/infiniband/madsim*; do
		[ "$(cat "$dev/node_name" 2>/dev/null)" != "$1" ] || { echo "${dev##*/}"; return 0; }
	done
	echo "node $1 has no device" >&2
	return 1
}

# umad_of DEVICE: the name of its umad device
umad_of()
{
	grep -lx "$1" /sys/class/infiniband_mad/umad*/ibdev | cut -d/ -f5
}

# port_counter DEVICE NAME: of its port 1, as sysfs has it
port_counter()
{
	cat "/sys/class/infiniband/$1/ports/1/counters/$2"
}

port_guid()
{
	cut -d: -f5-8 "/sys/class/infiniband/$1/ports/${2:-1}/gids/0" | sed 's/://g; s/^/0x/'
}

lid()
{
	printf '%d\n' "$(cat "/sys/class/infiniband/$1/ports/${2:-1}/lid")"
}

# lid_at DEVICE ROUTE PORT: that of the port there, asked by a device
lid_at()
{
	smpquery -C "$1" -P 1 -D portinfo "$2" "$3" | sed -n 's/^Lid:\.*//p'
}

state_is()
{
	says "^[0-9]: $3\$" cat "/sys/class/infiniband/$1/ports/$2/state"
}

# active COUNT: so many ports of RDMA devices are active, and no other is not
active()
{
	local states
	states=$(cat /sys/class/infiniband/madsim*/ports/*/state)
	echo "$states"
	[ "$(grep -c ACTIVE <<<"$states")" = "$1" ] && [ "$(wc -l <<<"$states")" = "$1" ]
}

# sees DEVICE CAS SWITCHES: that is what ibnetdiscover finds from there
sees()
{
	ibnetdiscover -C "$1" -P 1 >"$tmp/net" || return 1
	cat "$tmp/net"
	[ "$(grep -c ^Ca "$tmp/net")" = "$2" ] && [ "$(grep -c ^Switch "$tmp/net")" = "$3" ]
}

# half NAME: a fabric of a host with data and a switch, whose port 4 has a wire. Its device is
# the next one
half()
{
	"$madsim_load" -n "$1" -d 0 - <<-'FILE'
	Switch 4 "leaf"
	[1] "host"[1]
	[4] wire w=4 e=2
	Hca 1 "host"
	[1] "leaf"[1]
	FILE
	put "$configfs/$1/live" 0
	put "$configfs/$1/data" 1
	put "$configfs/$1/host/device" 1
	put "$configfs/$1/live" 1
}

# plug ADDRESS ADDRESS: socat is the cable of a wire, until pull
plug()
{
	socat -b 8192 "$1" "$2" &
	cable=$!
}

pull()
{
	kill "$cable"
	wait "$cable" || true
	cable=
}

mount_tracing()
{
	mountpoint -q /sys/kernel/tracing || mount -t tracefs none /sys/kernel/tracing
}

# captures WHERE COMMAND: what crosses the link meanwhile, into $tmp/packets
captures()
{
	records packets "$2" "$madsim_wire" capture "$1"
}

# records NAME COMMAND PROGRAM ...: what the program captures meanwhile, into $tmp/NAME. It may
# have ended by itself
records()
{
	local pid
	mount_tracing
	"${@:3}" "$tmp/$1" 2>"$tmp/$1.said" &
	pid=$!
	until_true 60 grep -q capturing "$tmp/$1.said"
	# shellcheck disable=SC2086	# a command
	$2
	kill -INT $pid 2>/dev/null || true
	wait $pid
	cat "$tmp/$1.said"
}

# wire_is STATE: the wire at $wire_port of the switch next to madsim0
wire_is()
{
	says "^LinkState:\.*$1$" smpquery -C madsim0 -D portinfo 0,1 $wire_port
}

# The IsSM bit of a port as sysfs shows it
is_sm()
{
	(($(cat "/sys/class/infiniband/$1/ports/${2:-1}/cap_mask") & 2))
}

# sm_start NAME DEVICE [PORT]: a subnet manager with a memory and log of its own.
# It does not look around by itself, unless every SM_SWEEP seconds: what it
# notices, a trap has told it. SM_MORE has further lines for its configuration.
sm_start()
{
	local guid
	guid=$(port_guid "$2" "${3:-1}") || return 1
	mkdir -p "$tmp/$1.cache"
	cat >"$tmp/$1.conf" <<-CONF
	sminfo_polling_timeout 500
	polling_retry_number 2
	sweep_interval ${SM_SWEEP-0}
	lmc ${SM_LMC-0}
	${SM_MORE-}
	CONF
	OSM_CACHE_DIR=$tmp/$1.cache opensm -F "$tmp/$1.conf" -g "$guid" -f "$tmp/$1.log" \
		>"$tmp/$1.out" 2>&1 &
	sm_pids+=($!)
	echo $! >"$tmp/$1.pid"
}

# sm_end NAME [SIGNAL]
sm_end()
{
	local pid
	pid=$(cat "$tmp/$1.pid")
	kill "-${2:-TERM}" "$pid" 2>/dev/null || true
	wait "$pid" 2>/dev/null || true
}

# sm_once NAME DEVICE [PORT]: a subnet manager that ends when it has brought the subnet up. It
# would remember the neighbours of a fabric before, but for a memory of its own
sm_once()
{
	rm -rf "$tmp/$1.cache"
	mkdir "$tmp/$1.cache"
	OSM_CACHE_DIR=$tmp/$1.cache opensm -o -g "$(port_guid "$2" "${3:-1}")" -f "$tmp/$1.log"
	sm_log_clean "$1"
}

# sm_log_clean NAME. A trap may let opensm ask for something when its sweep has ended; one
# that exits then calls this request an error (5401)
sm_log_clean()
{
	local log=$tmp/$1.log
	[ -s "$log" ] && ! grep ' ERR ' "$log" | grep -v 'clear_madw: ERR 5401'
}

# Addresses for the interfaces of two devices. Each reaches the other one by its own, and
# not by the loopback interface: some of the kernel's clients and servers are for the first
# network namespace only, and so both ends are in one.
two_ends()
{
	local setting which
	for setting in accept_local=1 rp_filter=0 arp_ignore=1; do
		for which in all ib0 ib1; do
			put "/proc/sys/net/ipv4/conf/$which/${setting%=*}" "${setting#*=}"
		done
	done
	ip addr add 10.0.0.1/24 dev ib0
	ip addr add 10.0.0.2/24 dev ib1
	ip link set ib0 up
	ip link set ib1 up
	# Rules stay when devices go, and so those of a test before
	if ! ip rule | grep -q "lookup 101"; then
		ip rule add pref 10 iif lo to 10.0.0.2 lookup 100
		ip rule add pref 11 iif lo to 10.0.0.1 lookup 101
		ip rule add pref 100 lookup local
		ip rule del pref 0
	fi
	ip route add 10.0.0.2 dev ib0 src 10.0.0.1 table 100
	ip route add 10.0.0.1 dev ib1 src 10.0.0.2 table 101
	until_true 30 busybox ping -q -c 1 -W 1 10.0.0.2
}

# Two hosts, madsim0 and madsim1, with a subnet manager and addresses
hosts()
{
	load topology=star:2 devices=2 data=1
	sm_start first madsim0
	until_true 30 active 2
	two_ends
}

# The test tells by disk which one it is
mount_disk()
{
	mount "$(disk)" "$tmp/disk"
}

file_system()
{
	until_true 30 eval '[ -b "$(disk)" ]'
	mkfs.ext4 -q "$(disk)"
	mkdir "$tmp/disk"
	mount_disk
}

# same SIZE: what was written to the file system at $tmp/disk is what is read, and not from
# the page cache
same()
{
	head -c "$1" /dev/urandom >"$tmp/written"
	cp "$tmp/written" "$tmp/disk/file"
	umount "$tmp/disk"
	put /proc/sys/vm/drop_caches 3
	mount_disk
	cmp "$tmp/written" "$tmp/disk/file"
}

# How many words madsim0 has sent
sent()
{
	port_counter madsim0 port_xmit_data
}

# The fabric has carried what was written, and not something else
carried()
{
	local before
	before=$(sent)
	same 8M
	echo "$before words, then $(sent)"
	[ $(($(sent) - before)) -gt $((8 * 1024 * 1024 / 4)) ]
}

with_losses()
{
	put $faults "H1 1 drop nth 300"
	put $faults "H2 1 duplicate nth 50"
	same 3M
	injected "H1 1 drop nth 300"
	put $faults "H1 1 clear"
	put $faults "H2 1 clear"
}

# While something is written, the link is down for two seconds
with_link_down()
{
	same 3M &
	put $faults "H2 1 link down"
	sleep 2
	put $faults "H2 1 link up"
	until_true 30 active 2
	wait $!
	same 1M
}

# both COMMAND ARGUMENT ...: as a server on one host, and as a client on the other
both()
{
	local server status=0
	timeout 300 "$1" -d madsim1 "${@:2}" >"$tmp/server" 2>&1 &
	server=$!
	until_true 20 listens
	timeout 300 "$1" -d madsim0 "${@:2}" localhost >"$tmp/client" 2>&1 || status=1
	wait $server || status=1
	! cannot_report || status=0
	[ $status = 0 ] || tail -n 5 "$tmp/server" "$tmp/client"
	return $status
}

# What perftest says when it has sent all, where the clock of the CPU is too uneven for it,
# as on busy machines. Then the other end is left waiting.
cannot_report()
{
	grep -q "^Can't produce a report" "$tmp/client" "$tmp/server"
}

# Somebody waits for a connection
listens()
{
	grep -q " 0A " /proc/net/tcp /proc/net/tcp6
}

# make_star FABRIC PORTS HOST ...: the switch leaf with so many ports, and a host at each of
# the first ones. HOST+ is an RDMA device. It does not live yet
make_star()
{
	local fabric=$1 host port=0
	mkdir "$fabric" "$fabric/leaf"
	put "$fabric/leaf/type" switch
	put "$fabric/leaf/ports" "$2"
	for host in "${@:3}"; do
		mkdir "$fabric/${host%+}"
		[[ $host != *+ ]] || put "$fabric/${host%+}/device" 1
		put "$fabric/link" "${host%+} 1 leaf $((port += 1))"
	done
}

# no_objects: no program has left an object in a device of madsim. rdma shows the kernel's own
# clients in brackets
no_objects()
{
	local object
	for object in pd mr cq qp srq; do
		rdma resource show $object >"$tmp/left" || return
		! grep madsim "$tmp/left" | grep -v "comm \[" || return 1
	done
}

# injected RULE: $faults has a line that begins so and ends with a count
injected()
{
	says "^$1( .*)? injected [1-9]" cat "$faults"
}

# counter LID PORT NAME: of performance management, asked by madsim0
counter()
{
	perfquery -x -C madsim0 -P 1 "$1" "$2" | sed -n "s/^$3:\.*//p"
}

# port_info LID NAME: of its port 1, asked by madsim0
port_info()
{
	smpquery -C madsim0 -P 1 portinfo "$1" 1 | sed -n "s/^$2:\.*//p"
}

# cases_of PROGRAM ...: load a program of cases, which ask runs, until cases_end
cases_of()
{
	coproc "$@" 2>&1
	exec {to_cases}>&"${COPROC[1]}"- {from_cases}<&"${COPROC[0]}"-
}

# ask CASE ...: have the program run one, in a process of its own
ask()
{
	local line

	echo "$*" >&"$to_cases"
	while read -r line <&"$from_cases"; do
		[[ $line != "ends "* ]] || return "${line#ends }"
		echo "$line"
	done
	return 1
}

cases_end()
{
	exec {to_cases}>&- {from_cases}<&-
}

# Undoes what there is to undo, and keeps the status of who ends
at_end()
{
	local pid fabric
	set +e
	[ -z "${cable-}" ] || kill "$cable"
	for pid in "${sm_pids[@]}"; do
		kill -KILL "$pid" 2>/dev/null
	done
	# A program of cases ends with its input, also when a check is the last one asked for
	[ -z "${to_cases-}" ] || cases_end
	wait 2>/dev/null
	if [ -d "$configfs" ]; then
		for fabric in "$configfs"/*/; do
			"$madsim_load" -r "$(basename "$fabric")" 2>/dev/null
		done
		rmmod ib_madsim 2>/dev/null
	fi
	[ -z "${ipoib-}" ] || modprobe -qr ib_ipoib
	rm -rf "$tmp"
}
trap at_end EXIT

# The last command of a test
finish()
{
	[ -z "$tap_last" ] || ktap_bail "no check has '$tap_last' in its name"
	ktap_end
}

# the_end [SM]: instead, where nothing but this subnet manager and a preset is left
the_end()
{
	[ $# = 0 ] || sm_end "$1"
	check "unload" unload
	finish
}

[ "$(id -u)" = 0 ] || ktap_bail "this needs root"
for program in opensm smpquery insmod awk; do
	command -v "$program" >/dev/null ||
		ktap_bail "$program is missing: install opensm, infiniband-diags, kmod, mawk"
done
mountpoint -q /sys/kernel/debug || mount -t debugfs none /sys/kernel/debug
modprobe -q configfs
mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config
[ -d /sys/class/infiniband_mad ] || ktap_bail "no ib_umad is loaded"
[ ! -d "$configfs" ] || ktap_bail "ib_madsim is loaded already"
