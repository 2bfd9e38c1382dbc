# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The hosts of madsim-load: an RDMA device and its interfaces of IPoIB go into a network
# namespace with the name of the node.
#
# /etc/netns/HOST/hosts is what a program in that namespace sees as /etc/hosts. Its first
# line tells whose it is, so nothing else has to be kept. It outlives a reboot, which
# namespaces do not: such a file may be written again.
#
# shellcheck shell=sh disable=SC2154	# madsim-load has the variables

netns=/etc/netns
mark="# made by madsim-load, a host of the fabric"
# They belonged to all namespaces before
shared="# rdma system set netns shared"

# hosts_of FABRIC
hosts_of()
{
	[ ! -d $netns ] || find $netns -mindepth 2 -maxdepth 2 -name hosts \
		-exec grep -lxF "$mark $1" {} + | cut -d/ -f4 | sort
}

# holds PID: it is one of those that keep what a host has of its own, see madsim-host
holds()
{
	case $(tr '\0' ' ' <"/proc/$1/cmdline") in
	*"/madsim-host --init "*) return 0 ;;
	"sleep 3600 ") [ "$(cat "/proc/$(cut -d' ' -f4 "/proc/$1/stat")/comm")" = madsim-host ] ;;
	*) return 1 ;;
	esac 2>/dev/null
}

# empty_hosts FORCE HOSTS: what runs there ends, or keeps the fabric from being removed
empty_hosts()
{
	for host in $2; do
		for pid in $(ip netns pids "$host" 2>/dev/null); do
			[ -n "$1" ] || ! holds "$pid" || continue
			[ -n "$1" ] ||
				die "$(cat "/proc/$pid/comm") (process $pid) runs in $host;" \
					"end it, or say -f"
			kill -KILL "$pid" 2>/dev/null || :
		done
	done
}

# remove_hosts HOSTS: of a fabric that has gone
remove_hosts()
{
	share=${was_shared-}
	for host in $1; do
		! grep -qxF "$shared" "$netns/$host/hosts" || share=1
		"$here/madsim-host" --stop "$host"
		[ ! -e "/run/netns/$host" ] || ip netns del "$host"
		rm "$netns/$host/hosts"
		rmdir --ignore-fail-on-non-empty "$netns/$host"
	done
	[ -z "$share" ] || set_shared
}

# A namespace that was removed goes later
set_shared()
{
	tries=100
	until rdma system set netns shared 2>/dev/null; do
		tries=$((tries - 1))
		if [ $tries = 0 ]; then
			echo "madsim-load: there are other network namespaces, so RDMA devices" \
				"still belong to one each; later: rdma system set netns shared" >&2
			return
		fi
		sleep 0.1
	done
}

# Look for what would keep hosts from being made, before anything is
check_hosts()
{
	prefix=${network%.0/24}
	echo "$prefix" | grep -qxE '[0-9]{1,3}(\.[0-9]{1,3}){2}' && [ "$prefix" != "$network" ] ||
		die "-a $network: not a network such as 10.1.2.0/24"
	for node in $kept; do
		is_one_of "$node" "$devices" || die "-K $node: that is no RDMA device"
	done
	for program in ip rdma; do
		command -v $program >/dev/null || die "$program is missing: install iproute2"
	done
	for host in $devices; do
		! is_one_of "$host" "$kept" || continue
		[ ! -e "/run/netns/$host" ] || die "there is a network namespace $host already"
		[ ! -e "$netns/$host/hosts" ] ||
			head -n 1 "$netns/$host/hosts" | grep -q "^$mark " ||
			die "there is a file $netns/$host/hosts already"
	done
	modprobe -q ib_ipoib || [ -d /sys/module/ib_ipoib ] || die "this kernel has no ib_ipoib"
	# For subnet managers and programs, as udev would
	modprobe -qa ib_umad ib_uverbs rdma_ucm || :
}

# Have each RDMA device belong to one namespace
own_devices()
{
	was_shared=
	if rdma system show | grep -q 'netns shared'; then
		rdma system set netns exclusive 2>/dev/null ||
			give_up "there are network namespaces already, so RDMA devices cannot be" \
				"given to one each; load ib_core with netns_mode=0 before there are"
		was_shared=1
	fi
}

# ports_of DEVICE: each port's number and GUID, as in the address of its interface
ports_of()
{
	for port in 1 2 3 4; do
		gid=/sys/class/infiniband/$1/ports/$port/gids/0
		[ ! -e "$gid" ] ||
			echo "$port $(cut -d: -f5-8 "$gid" | sed 's/://g; s/../:&/g')"
	done
}

# interface GUID [HOST]: the name that it has there
interface()
{
	ip ${2:+-n "$2"} -br link |
		awk -v guid="$1" '$3 ~ guid "$" { sub("@.*", "", $1); print $1; exit }'
}

# await_interface GUID [HOST]: it comes when IPoIB has noticed the device. In kernels up
# to 6.12, at least, it does not follow its device to another namespace.
await_interface()
{
	tries=100
	until found=$(interface "$@") && [ -n "$found" ]; do
		stays=$(interface "$1")
		[ -z "$stays" ] || ip link set "$stays" netns "$2" || :
		tries=$((tries - 1))
		[ $tries -gt 0 ] || return 1
		sleep 0.1
	done
}

# Give each device its namespace, and its interfaces their addresses
make_hosts()
{
	number=0
	given=
	for node in $devices; do
		device=$(cat "$fabric/$node/dev_name")
		ports=$(ports_of "$device")
		while read -r port guid; do
			number=$((number + 1))
			given="$given$node $device $port $guid $prefix.$number
"
		done <<PORTS
$ports
PORTS
	done
	table=$(printf %s "$given" | awk '{ print $5 "\t" $1 ($3 > 1 ? "-port" $3 : "") }')
	while read -r host device port guid address; do
		name_there=ib$((port - 1))
		if is_one_of "$host" "$kept"; then
			await_interface "$guid" || give_up "$host: no network interface comes"
			name_there=$found
			set --
		else
			[ "$port" -gt 1 ] || make_host "$host" "$device"
			await_interface "$guid" "$host" ||
				give_up "$host: no network interface comes"
			set -- -n "$host"
			[ "$found" = $name_there ] || ip "$@" link set "$found" name $name_there
		fi
		ip "$@" addr add "$address/24" dev "$name_there" &&
			ip "$@" link set "$name_there" up ||
			give_up "$host: $name_there cannot have the address $address"
	done <<GIVEN
${given%?}
GIVEN
}

# make_host HOST DEVICE
make_host()
{
	mkdir -p "$netns/$1"
	{
		echo "$mark $name"
		[ -z "$was_shared" ] || echo "$shared"
		printf '127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost\n'
		echo "$table"
	} >"$netns/$1/hosts" || give_up "cannot write $netns/$1/hosts"
	ip netns add "$1" && ip -n "$1" link set lo up && rdma dev set "$2" netns "$1" ||
		give_up "cannot move $2 to a network namespace $1"
	[ -z "$apart" ] || "$here/madsim-host" --start "$1" || give_up "$1 cannot be apart"
}
