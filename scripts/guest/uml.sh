# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The machine of scripts/guest/run that is user-mode Linux, a kernel that is a
# program of this machine; sourced by it, never run.
#
# shellcheck shell=bash disable=SC2154	# scripts/guest/run sets them
# shellcheck disable=SC2034	# and uses these

"$top/scripts/deps" uml

# memory_folder: where the file goes that is the memory. It is a tmpfs, or the
# host would write all of it to the disk, if there is one with the room.
memory_folder()
{
	local room

	room=$(df --output=avail -B 1 /dev/shm 2>/dev/null | tail -n 1)
	if [ "${room:-0}" -gt "$(numfmt --from=iec "$mem")" ]; then
		echo /dev/shm
	else
		echo "$run"
	fi
}

# make_machine: what boots in it, and in machine, its command line
make_machine()
{
	[ -z "$icount$link$root" ] ||
		die "user-mode Linux knows no --icount, no --link and no --root"
	output=/dev/ttyS1
	mount_out=(mount -t hostfs -o "$out" out "$out")

	# Its console is the file, its second serial line what the command
	# prints. System calls take seccomp where the host has that, or ptrace.
	machine=(env "TMPDIR=$(memory_folder)"
		bash -c 'ulimit -c 0; exec "$@" 3>&1 >"$0" 2>&1' "$run/console"
		"$kernel" "mem=$mem" "uml_dir=$run" seccomp=auto con=null con0=null,fd:1
		ssl=null ssl1=null,fd:3 console=tty0 printk.time=1
		root=/dev/root rootfstype=hostfs rootflags=/ ro
		"init=$top/scripts/guest/inside/init-uml" "SESSION=$run/share")
	# shellcheck disable=SC2206	# a word list
	machine+=($words)
}
