#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# In a guest whose root has the packages installed: load what is in them, run the
# examples of their manual pages, umad-check and umadstat, and remove them:
#
#	host.sh VERSION [held]
#
# held: a program has a device open meanwhile.

set -u
version=$1 held=${2-}
here=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d)
. "$here/../../../scripts/ktap.sh"

# The guest has them by a link; here they are written to
umount /lib/modules
modprobe configfs
mount -t configfs none /sys/kernel/config

loaded()
{
	cat /sys/module/ib_umad/version 2>/dev/null || echo none
}

loads_ours()
{
	modprobe ib_umad && [ "$(loaded)" = "$version" ] &&
		modinfo ib_umad | grep '^filename: .*/updates/dkms/'
}

fabric()
{
	"$here/examples" /usr/share/man/man8/madsim-load.8.gz >"$tmp/load.sh"
	# The other examples use the fabric, which this one removes
	sed -i '/^madsim-load -r /,$d' "$tmp/load.sh"
	ends 0 '"S-.*"\[2\]' sh -ex "$tmp/load.sh"
}

asks_the_port()
{
	"$here/examples" /usr/share/man/man4/umad.4.gz >"$tmp/umad.c"
	gcc -Wall -Wextra -Werror -o "$tmp/umad" "$tmp/umad.c" &&
		"$tmp/umad" >"$tmp/said" && cat "$tmp/said" &&
		grep -xE 'node 0x[0-9a-f]{16}' "$tmp/said" &&
		! "$tmp/umad" /dev/infiniband/umad9
}

holds_issm()
{
	"$here/examples" /usr/share/man/man4/issm.4.gz >"$tmp/issm.sh"
	sh -e "$tmp/issm.sh" >"$tmp/said" && cat "$tmp/said" &&
		[ $(($(head -n 1 "$tmp/said") & 2)) = 0 ] &&
		[ $(($(tail -n 1 "$tmp/said") & 2)) = 2 ]
}

# device NODE: of the fabric in the example
device()
{
	grep -lx "$1" /sys/class/infiniband/*/node_name | cut -d/ -f5
}

# With a subnet manager that stays, at the other host
checks_a_port()
{
	local sm h1 h2 i status

	h1=$(device H1) h2=$(device H2)
	opensm -f "$tmp/opensm.log" -g "0x$(cut -d: -f5-8 \
		"/sys/class/infiniband/$h1/ports/1/gids/0" | tr -d :)" >/dev/null 2>&1 &
	sm=$!
	for ((i = 0; i < 120; i++)); do
		! grep -qs 'SUBNET UP' "$tmp/opensm.log" || break
		sleep 1
	done
	umadstat >"$tmp/stat"
	umad-check -p "$h2" -o "$tmp/report"
	status=$?
	kill $sm
	wait $sm
	cat "$tmp/stat"
	[ $status = 0 ] || { cat "$tmp/report"; return 1; }
}

# With each program of umad-check, and nothing left out for lack of another
checked_all()
{
	sed '/^===/,$d' "$tmp/report"
	grep -x "ib_umad   the one umad-check comes with, version $version" "$tmp/report" &&
		grep -E '^[1-9][0-9]{2,} passed, 0 failed, 0 known' "$tmp/report" &&
		grep -E 'diags 4$' "$tmp/report" &&
		grep -E "issm[0-9]+ by opensm\[" "$tmp/report" &&
		! sed '/^===/,$d' "$tmp/report" | grep -E 'not installed|there is no '
}

shows_opensm()
{
	cat "$tmp/stat"
	grep -E ' opensm\[[0-9]+\] fd ' "$tmp/stat"
}

removed()
{
	dpkg -r user-mad-dkms >"$tmp/said" 2>&1
	local status=$?
	cat "$tmp/said"
	[ $status = 0 ]
}

says_who()
{
	[ "$(loaded)" = "$version" ] && grep -x \
		"  holder, process $holder: systemctl stop holder.socket holder.service" "$tmp/said"
}

# As the message has it, once the holder has ended; this shell is not its parent
advice()
{
	kill "$holder"
	while grep -qs '^State:.[^Z]' "/proc/$holder/status"; do
		sleep 0.1
	done
	rmmod ib_umad && modprobe ib_umad
}

kernels_own()
{
	[ -d /sys/module/ib_umad ] && [ "$(loaded)" = none ] &&
		modinfo ib_umad | grep '^filename: .*/kernel/drivers/'
}

last_line()
{
	madsim-load -r pair && rmmod ib_madsim
}

purged()
{
	dpkg --purge user-mad-dkms madsim-dkms madsim-vm umadstat umad-check &&
		! find /usr/{src,sbin,libexec,share,share/doc} /var/lib/dkms -maxdepth 1 \
			'(' -name 'user-mad*' -o -name 'madsim*' -o -name 'umad*' ')' | grep . &&
		[ -z "$(find /lib/modules/ -name 'ib_madsim*')" ]
}

ktap_begin
ktap "modprobe loads ib_umad of the package" loads_ours
ktap "the example of madsim-load.8" fabric
ktap "the example of umad.4" asks_the_port
ktap "the example of issm.4" holds_issm
ktap "umad-check of a port" checks_a_port
ktap "nothing was left out of it" checked_all
ktap "umadstat shows opensm" shows_opensm
if [ "$held" ]; then
	cp /bin/sleep "$tmp/holder"
	"$tmp/holder" 1000 3</dev/infiniband/umad0 &
	holder=$!
	# As a service of systemd that a socket starts
	printf '#!/bin/sh\necho holder.socket\n' >/usr/local/bin/systemctl
	chmod +x /usr/local/bin/systemctl
	mkdir "$tmp/cgroup"
	mount -t cgroup2 none "$tmp/cgroup"
	mkdir "$tmp/cgroup/holder.service"
	echo $holder >"$tmp/cgroup/holder.service/cgroup.procs"
fi
ktap "removal" removed
if [ "$held" ]; then
	ktap "removal says who is in the way" says_who
	ktap "what to do then" advice
fi
ktap "the kernel's own module is back" kernels_own
ktap "a fabric is removed" last_line
ktap "nothing is left after a purge" purged
ktap_end
