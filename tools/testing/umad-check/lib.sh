# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# What the tests of umad-check share, besides those of ib_madsim: the hardware,
# and the module before and after.
# shellcheck shell=bash

. "$(dirname "${BASH_SOURCE[0]}")/../madsim/lib.sh"

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

# What an exchange has to leave as it was
state()
{
	build_id
	echo
	grep -s . $module/parameters/* || true
}

open_devices()
{
	find /proc/[0-9]*/fd -lname '/dev/infiniband/*' 2>/dev/null
}

# as_before: the module, and nobody left who has it open
as_before()
{
	diff "$tmp/before" <(state) && fails open_devices_of_any
}

open_devices_of_any()
{
	open_devices | grep .
}

# Have modprobe know the module that is loaded, as after an installation: ours has
# come by insmod. What else the guest needs is loaded by now.
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
