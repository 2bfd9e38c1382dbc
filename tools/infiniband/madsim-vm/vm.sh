# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# A virtual machine with this machine's file system as root, and a command in it: what
# madsim-vm shares with scripts/guest/run of the sources. Sourced by them, never run.
#
# They define say and die, and set
#
#	me		the name in front of messages
#	cpus, mem	of the machine
#	timeout		the seconds that it may take, 0 for ever
#	words		for the kernel command line
#	kernel, modules	the image of the kernel, the folder of its modules
#	out		a folder that is writable for real, or nothing
#	shell		whether the command has this terminal
#	keyboard	whether a user types: raw, cooked (another program minds the
#			terminal), or nothing
#	apart		whether the command's errors come out apart from its output
#	kind		of machine: qemu, as of qemu.sh beside this, or another one
#	layers		folders of layer_folder that lie over the root, or nothing
#	exported	names of variables that come along
#
# shellcheck shell=bash disable=SC2154	# they set these
# shellcheck disable=SC2034	# and the machine uses some

vm=$(dirname "${BASH_SOURCE[0]}")

# begin FOLDER: what the machine needs is in a folder there, which goes with this program
begin()
{
	mkdir -p "$1"
	run=$(mktemp -d "$1/guest.XXXXXX")
	pid='' modes='' errors='' terminal=''
	mkdir "$run/share"
	trap finish EXIT
	trap 'exit 130' INT TERM HUP
	[ -z "$shell" ] || terminal="$(stty size) ${TERM-dumb}"
}

# layers_of FOLDER: what there is lies over the root
layers_of()
{
	local key

	layer_folder=$1
	for key in "$layer_folder"/*.key; do
		# A link, which may lead elsewhere before the guest has come up
		[ ! -d "${key%.key}/usr" ] || layers+=" $(basename "$(readlink -f "${key%.key}")")"
	done
}

finish()
{
	[ -z "$modes" ] || stty "$modes"
	[ -z "$pid" ] || kill "$pid" 2>/dev/null || true
	rm -rf "$run"
}

# put_command COMMAND ...: what to run. The status comes back in a file of this folder, which
# programs in the guest have no reason to touch: no output can pass for it.
put_command()
{
	local cwd=$PWD name

	cp "$vm/session" "$run/share/session"
	{
		for name in "${exported[@]}"; do
			printf 'export %s=%q\n' "$name" "${!name}"
		done
		declare -p cwd out modules output errors layers layer_folder mount_out terminal
		printf 'set --'
		printf ' %q' "$@"
		echo
	} >"$run/share/command"
	mkfifo "$run/output" "$run/errors"
}

boot_once()
{
	local cats=()

	if [ "$keyboard" ]; then
		timeout --foreground -k 5 "$timeout" "${machine[@]}" <&"$typed" &
	else
		cat "$run/output" &
		cats=($!)
		cat "$run/errors" >&2 &
		cats+=($!)
		timeout --foreground -k 5 "$timeout" "${machine[@]}" \
			</dev/null >"$run/output" 2>"$run/machine" 9>"$run/errors" &
	fi
	pid=$!
	ended=0
	wait $pid || ended=$?
	pid=
	[ ${#cats[@]} = 0 ] || wait "${cats[@]}" || true
}

# boot: run the machine to its end
boot()
{
	local typed

	if [ "$keyboard" ]; then
		exec {typed}<&0
		modes=$(stty -g)
		[ "$keyboard" != raw ] || stty raw -echo
	fi
	boot_once

	# QEMU's emulation of several CPUs may trip, if rarely, over instructions that a
	# kernel patches in itself, or stop while it brings up the second CPU of a busy
	# machine. Nothing of ours has run by then.
	if [ "$kind" = qemu ] && [ ! -e "$run/share/booted" ] &&
			{ [ $ended = 124 ] || grep -qs 'Oops: int3' "$run/console"; }; then
		say "$me: the kernel did not come up; booting again"
		boot_once
	fi
	[ -z "$modes" ] || stty "$modes"
}

failed()
{
	say "$me: $1"
	say "$me: the end of the kernel log:"
	tail -n 40 "$run/console" >&2
	exit 125
}

# hung: whether the machine was ended for the time that it took
hung()
{
	[ $ended = 124 ] || [ $ended = 137 ]
}

# read_status: of the command; exits if there is none
read_status()
{
	[ ! -s "$run/machine" ] || sed "s/^/$me: /" "$run/machine" >&2
	if hung; then
		failed "hung: ended after $timeout seconds"
	fi
	[ -s "$run/share/status" ] ||
		failed "died before the command was done (the machine's status $ended)"
	read -r status <"$run/share/status"
}
