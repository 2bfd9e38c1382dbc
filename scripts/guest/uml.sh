# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The machine of scripts/guest/run that is user-mode Linux, a kernel that is a
# program of this machine; sourced by it, never run.
#
# shellcheck shell=bash disable=SC2154	# scripts/guest/run sets them
# shellcheck disable=SC2034	# and uses these

"$top/scripts/deps" uml

# memory_folder: where the file goes that is the memory. It is a tmpfs, or the
# host would write all of it to the disk, if there is one with the room. The kernel's
# own code is in there, too.
memory_folder()
{
	local room

	room=$(df --output=avail -B 1 /dev/shm 2>/dev/null | tail -n 1)
	if [ "${room:-0}" -gt "$(numfmt --from=iec "$mem")" ] &&
			! findmnt -no OPTIONS -T /dev/shm | grep -qw noexec; then
		echo /dev/shm
	else
		echo "$run"
	fi
}

# take_cpu: put into pin the command that keeps the guest on a CPU that no other guest has.
# The kernel and its processes run in turn. Where the host spreads them, each switch
# between them wakes another CPU.
take_cpu()
{
	local list part cpu

	pin=()
	[ "$cpus" = 1 ] || return 0
	mkdir -p "$cache"
	list=$(taskset -pc $$)
	for part in $(tr , ' ' <<<"${list##*: }"); do
		for ((cpu = ${part%-*}; cpu <= ${part#*-}; cpu++)); do
			exec {pinned}>"$cache/cpu$cpu.lock"
			if flock -n "$pinned"; then
				pin=(taskset -c "$cpu")
				return
			fi
			exec {pinned}>&-
		done
	done
}

prepare_machine()
{
	[ -z "$icount$link$root" ] ||
		die "user-mode Linux knows no --icount, no --link and no --root"
}

# make_machine: what boots in it, and in machine, its command line
make_machine()
{
	output=/dev/ttyS1
	mount_out=(mount -t hostfs -o "$out" out "$out")

	local input=null redirect='>&5 2>&1' debugger=()

	[ -z "$shell" ] || input=fd:4
	if [ "$gdb" ]; then
		[ -t 0 ] && [ -t 1 ] || die "--gdb needs a terminal for user-mode Linux"
		"$top/scripts/deps" gdb
		# It speaks to the terminal; these signals are the kernel's interrupts
		redirect=
		debugger=(gdb -q -ex "handle SIGSEGV SIGUSR1 SIGALRM SIGIO SIGCHLD nostop noprint pass"
			-ex "set print inferior-events off" -ex "echo Set breakpoints, then: run\\n" --args)
	fi

	# Its console is the file, its second serial line what the command
	# prints. System calls take seccomp where the host has that, or ptrace.
	take_cpu
	machine=("${pin[@]}" env "TMPDIR=$(memory_folder)"
		bash -c "ulimit -c 0; exec \"\$@\" 3>&1 4<&0 5>\"\$0\" $redirect" "$run/console"
		"${debugger[@]}" "$kernel" "mem=$mem" "uml_dir=$run" seccomp=auto con=null
		con0=null,fd:5 ssl=null "ssl1=$input,fd:3" console=tty0 printk.time=1
		root=/dev/root rootfstype=hostfs rootflags=/ ro
		"init=$top/scripts/guest/inside/init-uml" "SESSION=$run/share")
	[ "$cpus" = 1 ] || machine+=("ncpus=$cpus")
	# shellcheck disable=SC2206	# a word list
	machine+=($words)
}
