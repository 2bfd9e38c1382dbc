#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Building a fabric in configfs, and everything that is refused there.

. "$(dirname "$0")/lib.sh"

# takes FILE VALUE [SHOWN]: it can be written and is shown so
takes()
{
	put "$1" "$2"
	says "^${3-$2}$" cat "$1"
}

load topology=none || ktap_bail "cannot load ib_madsim"
fabric=$configfs/test

check "no device without a fabric" eval '[ -z "$(devices)" ]'
check "make a fabric" mkdir $fabric
check "an empty one cannot live: ENOENT" refuses "No such file" put $fabric/live 1
check "make nodes" mkdir $fabric/a $fabric/b $fabric/sw
check "a name with a blank: EINVAL" refuses "Invalid argument" mkdir "$fabric/x y"
check "a name that is too long: ENAMETOOLONG" refuses "too long" \
	mkdir "$fabric/$(printf 'x%.0s' $(seq 64))"
check "the name of another fabric: EEXIST" refuses "File exists" mkdir $fabric
check "a new node is a host with one port" eval '
	says "^ca$" cat $fabric/a/type
	says "^1$" cat $fabric/a/ports'
check "make one a switch" eval '
	takes $fabric/sw/type switch
	takes $fabric/sw/ports 4'
check "no such type: EINVAL" refuses "Invalid argument" put $fabric/sw/type bridge
check "no port at all: EINVAL" refuses "Invalid argument" put $fabric/sw/ports 0
check "255 ports: EINVAL" refuses "Invalid argument" put $fabric/sw/ports 255
check "256 ports: ERANGE" refuses "out of range" put $fabric/sw/ports 256
check "a GUID" takes $fabric/a/guid 0x0002c90200001230
check "the same twice cannot live: EEXIST" eval '
	put $fabric/b/guid 0x0002c90200001230
	refuses "File exists" put $fabric/live 1
	put $fabric/b/guid 0x0002c90200001240'
check "GUID 0: EINVAL" refuses "Invalid argument" put $fabric/b/guid 0
check "no GUID: EINVAL" refuses "Invalid argument" put $fabric/b/guid x
check "the other GUIDs follow from it, unless they are told" eval '
	says "^0x0002c90200001230$" cat $fabric/a/sys_image_guid
	says "^0x0002c90200001231$" cat $fabric/a/port_guid
	takes $fabric/a/sys_image_guid 0x0002c90200009990
	takes $fabric/a/port_guid 0x0002c90200001230'
check "vendor and device" eval '
	says "^0x065349$" cat $fabric/a/vendor_id
	says "^0x4d53$" cat $fabric/a/device_id
	takes $fabric/a/vendor_id 0x2c9 0x0002c9
	takes $fabric/a/device_id 4123 0x101b'
check "they have 24 and 16 bits: ERANGE" eval '
	refuses "out of range" put $fabric/a/vendor_id 0x1000000
	refuses "out of range" put $fabric/a/device_id 0x10000'
check "a seed, which root alone can read" eval '
	fails cmp $fabric/a/seed $fabric/b/seed
	says "^600$" stat -c %a $fabric/a/seed
	takes $fabric/a/seed 7'
check "a description" takes $fabric/b/description "the other one"
check "a long description: ENAMETOOLONG" refuses "too long" \
	put $fabric/b/description "$(printf 'x%.0s' $(seq 65))"
check "vital product data" eval '
	takes $fabric/a/vpd "ab;SN=1"
	refuses "too large" put $fabric/b/vpd "$(printf "x%.0s" $(seq 1024))"
	for bad in SN S=1 SN1=1 "" RV=1 "SN=$(printf "x%.0s" $(seq 256))"; do
		refuses "Invalid argument" put $fabric/b/vpd "ab;$bad;PN=1"
	done'
check "device is yes or no: EINVAL" refuses "Invalid argument" put $fabric/a/device 7
check "make devices" eval 'put $fabric/a/device 1; put $fabric/b/device 1'

check "link" eval 'put $fabric/link "a 1 sw 1"; put $fabric/link "b 1 sw 2"'
check "a port linked twice: EBUSY" refuses "busy" put $fabric/link "a 1 sw 3"
check "the other end, too: EBUSY" refuses "busy" put $fabric/link "sw 3 b 1"
check "no such port: EINVAL" refuses "Invalid argument" put $fabric/link "sw 3 sw 5"
check "a switch's port 0: EINVAL" refuses "Invalid argument" put $fabric/link "sw 3 sw 0"
check "a port with itself: EINVAL" refuses "Invalid argument" put $fabric/link "sw 3 sw 3"
check "no such node: ENOENT" refuses "No such file" put $fabric/link "sw 3 nobody 1"
check "half a link: EINVAL" refuses "Invalid argument" put $fabric/link "sw 3 sw"
check "more than a link: EINVAL" refuses "Invalid argument" put $fabric/link "sw 3 sw 4 sw 5"
check "no such width: EINVAL" refuses "Invalid argument" put $fabric/link "sw 3 sw 4 3x"
check "width and speed" eval '
	put $fabric/link "sw 3 sw 4 ddr 1x"
	says "^\[3\]	\"sw\"\[4\]	# 1x ddr down$" cat $debugfs/test/topology
	put $fabric/unlink "sw 3"'
check "unlink what is not linked: ENOENT" refuses "No such file" put $fabric/unlink "sw 3"
check "change a linked node: EBUSY" refuses "busy" put $fabric/sw/ports 8
check "no device name yet: ENODEV" refuses "No such device" cat $fabric/a/dev_name

check "a host with five ports and a device cannot live: EINVAL" eval '
	mkdir $fabric/wide
	put $fabric/wide/ports 5
	put $fabric/wide/device 1
	refuses "Invalid argument" put $fabric/live 1
	says "^0$" cat $fabric/live
	[ -z "$(devices)" ]
	rmdir $fabric/wide'

check "live" put $fabric/live 1
check "its devices are there" eval '
	says "^madsim" cat $fabric/a/dev_name
	state_is $(cat $fabric/a/dev_name) 1 INIT'
check "the node has what was configured" eval '
	dev=/sys/class/infiniband/$(cat $fabric/a/dev_name)
	says "^0002:c902:0000:1230$" cat $dev/node_guid
	says "^ 82 02 00 61 62 90 08 00 53 4e 01 31 52 56 01 a5 78$" \
		od -An -v -w99 -tx1 $dev/device/vpd
	says "^0002:c902:0000:9990$" cat $dev/sys_image_guid
	says ":0002:c902:0000:1230$" cat $dev/ports/1/gids/0
	says "the other one" smpquery -C $(cat $fabric/a/dev_name) -P 1 -D nodedesc 0,1,2'
check "live again: EALREADY" refuses "already in progress" put $fabric/live 1
check "a node with power cannot be changed: EBUSY" eval '
	for write in "ports 2" "type switch" "guid 5" "port_guid 5" "sys_image_guid 5" \
			"vendor_id 5" "device_id 5" "seed 5" "vpd x" "description x" "device 0" \
			"opa 1" "planes 1" "separate_smi 1" "smp_by_lid 0" "sm_disabled 1"; do
		refuses "busy" put "$fabric/a/${write% *}" "${write#* }"
	done'
check "nor the module" refuses "in use" rmmod ib_madsim
check "cables can be moved" eval '
	put $fabric/unlink "b 1"
	state_is $(cat $fabric/b/dev_name) 1 DOWN
	put $fabric/link "b 1 sw 4"
	state_is $(cat $fabric/b/dev_name) 1 INIT'
check "not live any more" eval 'put $fabric/live 0; [ -z "$(devices)" ]'
check "remove everything" eval 'rmdir $fabric/a $fabric/b $fabric/sw; rmdir $fabric'

# Nodes n1 to n120, made in another order than that of their names or numbers
many()
{
	local i nodes=()
	for i in {1..120}; do
		nodes+=("$fabric/n$((i * 50 % 121))")
	done
	mkdir $fabric $fabric/sw "${nodes[@]}"
	put $fabric/sw/type switch
	put $fabric/sw/ports 120
}
check "many nodes" many

found_by_name()
{
	local i gone=()
	for i in {3..120..3}; do
		gone+=("$fabric/n$i")
	done
	rmdir "${gone[@]}"
	for i in {1..120}; do
		if ((i % 3)); then
			put $fabric/link "n$i 1 sw $i"
		else
			refuses "No such file" put $fabric/link "n$i 1 sw $i"
		fi
	done
	mkdir "${gone[@]}"
	for i in {3..120..3}; do
		put $fabric/link "n$i 1 sw $i"
	done
	for i in {1..120}; do
		echo "\"n$i\"[1] \"sw\"[$i]"
	done | LC_ALL=C sort >"$tmp/wanted"
	"$madsim_load" -g $debugfs/test/topology | diff "$tmp/wanted" -
}
check "each is found by its name, and none that is gone" found_by_name

# Whichever two they are; the numbers differ in one half only, or in the top bit
same_guid()
{
	local pair
	put $fabric/n5/guid 0x5
	put $fabric/n6/guid 0x100000005
	put $fabric/n7/guid 0x8000000000000005
	put $fabric/n8/guid 0xffffffffffffffff
	put $fabric/live 1
	put $fabric/live 0
	for pair in "n1 n120" "n120 n1" "n61 n60" "sw n6" "n5 n7" "n8 n44"; do
		echo "$pair"
		guid=$(cat "$fabric/${pair% *}/guid")
		put "$fabric/${pair% *}/guid" "$(cat "$fabric/${pair#* }/guid")"
		refuses "File exists" put $fabric/live 1
		put "$fabric/${pair% *}/guid" "$guid"
	done
	put $fabric/live 1
	put $fabric/live 0
	find $fabric -mindepth 1 -type d -exec rmdir {} +
	rmdir $fabric
}
check "two with the same GUID among them cannot live: EEXIST" same_guid

# Some write to live while nodes are made and removed. A device, because its end
# takes time, and long names, which configfs has to allocate, make them meet. A
# writer that comes too late is told so, and by no other error than that.
come_and_go()
{
	local nodes=() writers=() made lived i
	mkdir $fabric $fabric/stays
	put $fabric/stays/device 1
	for i in {1..20}; do
		nodes+=("$fabric/$(printf 'x%.0s' {1..50})$i")
	done

	set +e
	touch "$tmp/goes_on"
	for i in 1 2 3; do
		while [ -e "$tmp/goes_on" ]; do
			echo 1 >$fabric/live && echo lived
			echo 0 >$fabric/live
			sleep 0.0$((RANDOM % 5))
		done >>"$tmp/lived" 2>>"$tmp/writers" &
		writers+=($!)
	done
	for ((i = made = lived = 0; i < 1000 && (made < 40 || lived < 40); i++)); do
		mkdir -v "${nodes[@]}" >>"$tmp/made"
		# While nobody pauses, the time of the others' pauses hardly goes on
		sleep 0.00$((RANDOM % 5))
		rmdir "${nodes[@]}"
		made=$(wc -l <"$tmp/made") lived=$(wc -l <"$tmp/lived")
	done 2>"$tmp/maker"
	rm "$tmp/goes_on"
	wait "${writers[@]}"
	set -e

	echo "made $made nodes, lived $lived times"
	has_no -v "already in progress" "$tmp/writers"
	has_no . "$tmp/maker"
	[ "$made" -ge 40 ]
	[ "$lived" -ge 40 ]
	rmdir $fabric/stays $fabric
}
check "nodes come and go while it comes to life and ends" come_and_go
the_end
