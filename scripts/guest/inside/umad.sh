# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# What scripts that set up a guest share; sourced after common.sh, never run.
#
# shellcheck shell=bash

# until_true WHAT COMMAND ...: wait for a condition, but not for ever
until_true()
{
	local what=$1 tries=600
	shift
	until "$@" >/dev/null 2>&1; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || die "gave up waiting for $what"
		sleep 0.05
	done
}

# load_umad WHICH: the umad module called "ours" (build/RELEASE/ib_umad.ko) or
# "reference" (the kernel's). Only the one that was asked for comes in, whatever program
# asks the kernel for one.
load_umad()
{
	local ko=$top/build/$(uname -r)/ib_umad.ko

	[ "$1" = reference ] || echo "install ib_umad /bin/false" >/etc/modprobe.d/guest-umad.conf
	case $1 in
	ours)
		[ -f "$ko" ] || die "$ko is not built; run make for this kernel"
		modprobe ib_core
		insmod "$ko"
		# For scripts that ask modinfo, which knows the distribution's file only
		export UMAD_MODULE=$ko ;;
	reference)	modprobe ib_umad ;;
	*)		die "'$1': not one of ours, reference" ;;
	esac
}

# Have our madsim at hand in MADSIM_MODULE, to be loaded with the parameters that
# are wanted; it works with every umad module.
offer_madsim()
{
	export MADSIM_MODULE=$top/build/$(uname -r)/ib_madsim.ko
	modinfo -F depends "$MADSIM_MODULE" 2>/dev/null | tr , '\n' | xargs -r modprobe -a
}

# On a kernel with sanitizers: look at its log after each program, and for leaks only
# when asked to. On a busy machine a program may take ten times as long as elsewhere.
watch_kernel()
{
	export AFTER_EACH=$top/scripts/guest/inside/check
	export UMAD_PACE=slow
	echo scan=off >/sys/kernel/debug/kmemleak
}

[ -e /.session/booted ] || die "this changes the machine: run it by scripts/guest/run"
