#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# More ports than the 64 that have fixed device numbers: those beyond get
# numbers of a dynamic region, and are devices like the others.

set -eu

PORTS=66
CLASS=/sys/class/infiniband_mad
NAME=umadtest
GROUP=2317

KSFT_SKIP=4

number=0
failed=0

# check NAME COMMAND...
check()
{
	name=$1
	shift
	number=$((number + 1))
	if "$@"; then
		echo "ok $number $name"
	else
		echo "not ok $number $name"
		failed=1
	fi
}

skip_all()
{
	echo "1..0 # SKIP $1"
	exit $KSFT_SKIP
}

# All at once: one by one takes minutes
cleanup()
{
	ip link delete group $GROUP 2>/dev/null || true
}

# wait_for COMMAND...: it may succeed a moment later
wait_for()
{
	tries=50
	until "$@"; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || return 1
		sleep 0.1
	done
}

each_has_its_umad()
{
	[ "$(cat $CLASS/umad*/ibdev | grep -x "$NAME[0-9]*" | sort -u |
	     wc -l)" = $PORTS ] &&
		[ "$(cat $CLASS/umad*/ibdev | grep -cx "$NAME[0-9]*")" = $PORTS ]
}

dev_major()
{
	cut -d: -f1 <"$CLASS/$1/dev"
}

dev_minor()
{
	cut -d: -f2 <"$CLASS/$1/dev"
}

numbers_are_right()
{
	major=$(dev_major umad64) && [ "$major" != 231 ] || return 1
	for dir in $CLASS/umad*; do
		n=${dir##*/umad}
		if [ "$n" -lt 64 ]; then
			want=231:$n
		else
			want=$major:$((n - 64))
		fi
		read -r dev <"$dir/dev"
		[ "$dev" = "$want" ] || {
			echo "# umad$n is $dev, not $want"
			return 1
		}
	done
}

node_is_right()
{
	wait_for test -c "/dev/infiniband/$1" &&
		[ "$(stat -c %a "/dev/infiniband/$1")" = 600 ] &&
		[ "$(stat -c '%Hr:%Lr' "/dev/infiniband/$1")" = \
		  "$(dev_major "$1"):$(dev_minor "$1")" ]
}

is_gone()
{
	[ ! -e "$CLASS/$1" ] && [ ! -e "/dev/infiniband/$1" ]
}

[ "$(id -u)" = 0 ] || skip_all "must be root"
[ -d $CLASS ] || skip_all "ib_umad is not loaded"
for tool in ip rdma; do
	command -v $tool >/dev/null || skip_all "no $tool command"
done

trap cleanup EXIT
echo "TAP version 13"
echo "1..6"

i=0
while [ $i -lt $PORTS ]; do
	echo "link add name $NAME$i group $GROUP up type dummy"
	i=$((i + 1))
done | ip -batch -
i=0
while [ $i -lt $PORTS ]; do
	echo "link add $NAME$i type rxe netdev $NAME$i"
	i=$((i + 1))
done | rdma -b - 2>&1 | sed 's/^/# /'

check each_has_its_umad wait_for each_has_its_umad
check numbers_are_right numbers_are_right
check last_fixed_node node_is_right umad63
check first_dynamic_node node_is_right umad64
check first_dynamic_opens sh -c ": <>/dev/infiniband/umad64"
cleanup
check gone_again wait_for is_gone umad64
exit $failed
