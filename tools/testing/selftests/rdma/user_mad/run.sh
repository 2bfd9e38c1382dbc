#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Runs the user_mad selftests of a build directory, 64-bit ones first, and
# prints one KTAP stream: a test for each program, with the program's own tests
# indented before its result.
#
#	run.sh [-n] [-r|-a] [-p PORT] DIRECTORY [PROGRAM[.TEST|@VARIANT]...]
#
# Without PROGRAM all run that the file programs in DIRECTORY lists, which make has
# put there. PROGRAM.TEST: of this program only the tests of this name, or the one
# of this fixture and variant, PROGRAM.FIXTURE[.VARIANT].TEST. PROGRAM@VARIANT: only
# those of this variant, such as rxe.
#
# -n: native programs only, no 32-bit ones.
#
# -r, or UMAD_REFERENCE=1 in the environment: the loaded ib_umad is the
# reference. What it is known to get wrong must then be seen to fail, and is
# reported as XFAIL.
#
# -a, or UMAD_REFERENCE=any: the loaded ib_umad is that of some kernel. What the
# reference gets wrong may be mended there.
#
# -p PORT, or UMAD_PORT=PORT: test this port of the host, such as umad0, by what does
# not disturb others: nothing is made or loaded, and nothing is set. The port must be
# ACTIVE. -p PORT,issm: take its issm for a moment, too.
#
# UMAD_PACE=slow in the environment is for kernels with sanitizers: a program may take
# twenty minutes, and the longest messages are shorter. With UMAD_PACE=thorough nothing
# is left out because of the time it takes.
#
# AFTER_EACH in the environment is a command to run after each program, to look
# for what it did to the kernel. If it fails, so has the program. UMAD_LEAVE has the
# programs to skip if none is named.
#
# A Soft-RoCE device is made over a dummy interface if there is none. ib_umad
# and rdma_rxe must be loaded or built in. The simulated fabrics of ib_madsim are
# used if it is built in, loaded, installed, or a file that MADSIM_MODULE names;
# without it some tests are skipped. Exit status 0: every program ran to its end
# and no test failed.

set -eu

die()
{
	echo "run.sh: $*" >&2
	exit 2
}

usage="usage: run.sh [-n] [-r|-a] [-p PORT] DIRECTORY [PROGRAM[.TEST|@VARIANT]...]"

native_only=
UMAD_REFERENCE=${UMAD_REFERENCE:-0}
UMAD_PORT=${UMAD_PORT:-}
while getopts nrap: option; do
	case $option in
	n)	native_only=1 ;;
	r)	UMAD_REFERENCE=1 ;;
	a)	UMAD_REFERENCE=any ;;
	p)	UMAD_PORT=$OPTARG ;;
	*)	die "$usage" ;;
	esac
done
shift $((OPTIND - 1))
export UMAD_REFERENCE UMAD_PORT
[ $# -ge 1 ] || die "$usage"
dir=$1
shift
[ -e "$dir/programs" ] || die "no $dir/programs: build with make OUTPUT=$dir first"
[ "$(id -u)" = 0 ] || die "must be root"
[ -d /sys/class/infiniband_mad ] || die "ib_umad is not loaded"

have_roce()
{
	for layer in /sys/class/infiniband/*/ports/1/link_layer; do
		[ -e "$layer" ] && [ "$(cat "$layer")" = Ethernet ] && return 0
	done
	return 1
}

make_devices()
{
	for tool in ip rdma; do
		command -v "$tool" >/dev/null ||
			die "no $tool command (Debian: apt-get install iproute2)"
	done

	# An fe80:: address for GID 0, an IPv4 one for a GID of another family
	if ! have_roce; then
		ip link show dev dummy0 >/dev/null 2>&1 ||
			ip link add dummy0 type dummy ||
			die "no dummy interface: is the dummy module there?"
		ip link set dev dummy0 up
		ip address replace 192.0.2.1/24 dev dummy0
		rdma link add rxe0 type rxe netdev dummy0 ||
			die "no Soft-RoCE device: is rdma_rxe loaded?"
	fi

	# Tests make their own fabrics, so none is needed here.
	if [ ! -d /sys/module/ib_madsim ]; then
		if [ "${MADSIM_MODULE-}" ]; then
			modprobe -q configfs
			insmod "$MADSIM_MODULE" || die "cannot load $MADSIM_MODULE"
		else
			modprobe -q ib_madsim || echo "# no ib_madsim: nothing is tested on QP0"
		fi
	fi
	[ ! -d /sys/kernel/config ] || mountpoint -q /sys/kernel/config ||
		mount -t configfs none /sys/kernel/config
}

limit=$(sed -n 's/^timeout=//p' "$(dirname "$0")/settings")
[ "${UMAD_PACE-}" != slow ] || limit=1200

if [ "$UMAD_PORT" ]; then
	[ -d "/sys/class/infiniband_mad/${UMAD_PORT%,issm}" ] || die "there is no port $UMAD_PORT"
else
	make_devices
fi

# fits PROGRAM: whether some of it is for the port of -p; what is not says so
fits()
{
	case $UMAD_PORT:$1 in
	:*)					;;
	*:device|*:agent|*:layout|*:send|*:recv|*:poll|*:rmpp|*:port) ;;
	*)					return 1 ;;
	esac
}

no_32=
! [ -x "$dir/agent_32" ] || "$dir/agent_32" -l 2>&1 | grep -q FIXTURE || no_32=1
programs=$*
leave=
if [ $# -eq 0 ]; then
	leave=${UMAD_LEAVE-}
	for name in $(cat "$dir/programs") ${UMAD_PORT:+port}; do
		fits "${name%_32}" || continue
		case $name in
		*_32)	[ ! "$native_only$no_32" ] || continue ;;
		# The reference would not survive these
		fatal)	[ "$UMAD_REFERENCE" = 0 ] || continue ;;
		# What ib_madsim answers is the same over any ib_umad
		fabric|smi_device)
			[ "$UMAD_REFERENCE" != 1 ] || continue ;;
		esac
		programs="$programs $name"
	done
	[ "$native_only" ] || [ ! "$no_32" ] || programs="$programs 32-bit"
fi

# A program that ends before its plan is done must not look like a short one.
check='
/^1\.\.[0-9]+/ { plan = substr($0, 4) + 0 }
/^(not )?ok / { done++ }
/^not ok / { failed++ }
{ print "  " $0; fflush() }
END {
	if (plan == "" || done != plan || (only != "" && !done)) {
		printf "  # %s ended after %d of %d tests\n", name, done, plan
		exit 1
	}
	exit failed > 0
}'

after_each()
{
	[ -n "${AFTER_EACH:-}" ] || return 0
	after=$($AFTER_EACH 2>&1) && return
	echo "$after" | sed 's/^/  # /'
	return 1
}

echo "KTAP version 1"
echo "1..$(echo "$programs" | wc -w)"
status=0
number=0
for name in $programs; do
	number=$((number + 1))
	case " $leave " in
	*" $name "*)	echo "ok $number $name # SKIP left to another run"
			continue ;;
	esac
	echo "  # Subtest: $name"
	program=$dir/${name%%[.@]*} only=
	case $name in
	*@*)	only="-v ${name#*@}" ;;
	*.*.*)	only="-r ${name#*.}" ;;
	*.*)	only="-t ${name#*.}" ;;
	esac
	if [ "$name" = 32-bit ]; then
		echo "ok $number $name # SKIP this kernel does not run such programs"
	elif [ ! -x "$program" ]; then
		status=1
		echo "not ok $number $name # there is no ${name%%.*}"
	elif timeout --kill-after=5 "${limit:-120}" \
			"$program" $only 2>&1 |
			awk -v name="$name" -v only="$only" "$check" && after_each; then
		echo "ok $number $name"
	else
		status=1
		echo "not ok $number $name"
	fi
done
exit "$status"
