# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# What a package does on a host that is not alone with it: OFED, a build that fails, kernels
# without InfiniBand, an initramfs. Sourced by run, in the root of a host.
#
# The OFED here has its packages' names, places and scripts, an ib_core and an ib_umad that do
# nothing, and headers that are the kernel's but for the checksums of ib_core's symbols.
#
# shellcheck shell=bash disable=SC2154	# root, debs, version and others come from run

release=$(releases | tail -n 1)
modules=$root/lib/modules/$release

# ofed VERSION: a package that builds it by DKMS
ofed()
{
	local deb=$tmp/ofed-$1 src

	src=$deb/usr/src/mlnx-ofed-kernel-$1
	rm -rf "$deb"
	mkdir -p "$deb/DEBIAN" "$src" "$deb/usr/share/dkms/modules_to_force_install"
	echo mlnx-ofed-kernel >"$deb/usr/share/dkms/modules_to_force_install/mlnx-ofed-kernel.force"
	printf '%s: %s\n' Package mlnx-ofed-kernel-dkms Version "$1" Architecture all \
		Maintainer "Nobody <nobody@example.org>" Depends dkms Description OFED \
		>"$deb/DEBIAN/control"
	cat >"$deb/DEBIAN/postinst" <<-END
		#!/bin/sh -e
		dkms add mlnx-ofed-kernel/$1
		dkms install mlnx-ofed-kernel/$1 -k $release --force
	END
	cat >"$deb/DEBIAN/prerm" <<-END
		#!/bin/sh -e
		rm -rf /usr/src/ofa_kernel*/x86_64
		dkms remove mlnx-ofed-kernel/$1 --all
	END
	chmod +x "$deb"/DEBIAN/p*
	for name in ib_core ib_umad; do
		printf '%s\n' '#include <linux/module.h>' 'MODULE_LICENSE("GPL");' \
			"MODULE_INFO(ofed, \"$1\");" >"$src/$name.c"
	done
	echo 'obj-m := ib_core.o ib_umad.o' >"$src/Kbuild"
	echo "#!/bin/sh -e
		ofa=/usr/src/ofa_kernel-dkms/x86_64/\$1
		mkdir -p \$ofa/include/linux \$ofa/include/rdma /usr/src/ofa_kernel/x86_64
		ln -sfn \$ofa /usr/src/ofa_kernel/x86_64/\$1
		echo '#define OFED_COMPAT' >\$ofa/include/linux/compat-2.6.h
		cat >\$ofa/include/rdma/ib_mad.h <<-END
			#ifndef OFED_COMPAT
			#error compat-2.6.h is not there
			#endif
			#include_next <rdma/ib_mad.h>
			#include <linux/module.h>
			MODULE_INFO(ofed, \"$1\");
		END
		sed -n 's|^0x[0-9a-f]*\(.*\)\(drivers/infiniband/core/ib_core\)|0x0fed${1/./}\1/build/\2|p' \\
			/lib/modules/\$1/build/Module.symvers >\$ofa/Module.symvers" >"$src/headers"
	chmod +x "$src/headers"
	cat >"$src/dkms.conf" <<-END
		PACKAGE_NAME=mlnx-ofed-kernel
		PACKAGE_VERSION=$1
		BUILT_MODULE_NAME[0]=ib_core
		BUILT_MODULE_NAME[1]=ib_umad
		DEST_MODULE_LOCATION[0]=/kernel/drivers/infiniband/core
		DEST_MODULE_LOCATION[1]=/kernel/drivers/infiniband/core
		MAKE[0]='make -C \$kernel_source_dir M=\$dkms_tree/\$module/\$module_version/build'
		POST_BUILD="headers \$kernelver"
		AUTOINSTALL=yes
	END
	dpkg-deb -b "$deb" "$root/root/ofed-$1.deb" >/dev/null && apt_install "/root/ofed-$1.deb"
}

# ib_umad FIELD: what modinfo says of the one that modprobe would load
ib_umad()
{
	host modinfo -k "$release" -F "$1" ib_umad
}

# for_core CHECKSUM: ours is the one, and it was built for an ib_core with that
for_core()
{
	local file

	file=$(ib_umad filename)
	echo "$file of $(ib_umad origin), OFED $(ib_umad ofed)"
	host modprobe --dump-modversions "$file" | grep ib_register_client
	ib_umad origin | grep -q user_mad &&
		host modprobe --dump-modversions "$file" | grep -P "^$1\tib_register_client$"
}

own_checksum()
{
	host awk '$2 == "ib_register_client" { print $1 }' "/lib/modules/$release/build/Module.symvers"
}

umad_install()
{
	apt_install "/root/user-mad-dkms_${version}_all.deb"
}

umad_remove()
{
	host apt-get -q -y remove user-mad-dkms
}

# theirs VERSION: OFED's is the one, and DKMS finds nothing wrong with it
theirs()
{
	ib_umad filename
	host dkms status mlnx-ofed-kernel
	[ "$(ib_umad ofed)" = "$1" ] && [ -z "$(ib_umad origin)" ] &&
		host dkms status mlnx-ofed-kernel | grep ": installed" &&
		! host dkms status mlnx-ofed-kernel | grep -i warning
}

beside_ofed()
{
	ofed 25.10 && theirs 25.10 && umad_install && for_core 0x0fed2510
}

ofed_is_back()
{
	umad_remove && theirs 25.10
}

ofed_comes_later()
{
	host apt-get -q -y remove mlnx-ofed-kernel-dkms && umad_install &&
		for_core "$(own_checksum)" && ofed 25.10 && for_core 0x0fed2510
}

ofed_upgraded()
{
	ofed 25.11 && for_core 0x0fed2511
}

ofed_gone()
{
	host apt-get -q -y remove mlnx-ofed-kernel-dkms && for_core "$(own_checksum)"
}

# None of ours, none of OFED's
own_is_back()
{
	find "$modules/updates" -name 'ib_umad*' 2>/dev/null
	kernels_own "$release" && ! find "$modules/updates" -name 'ib_umad*' 2>/dev/null | grep .
}

both_gone()
{
	umad_remove && own_is_back && ofed 25.11 && umad_install && for_core 0x0fed2511 &&
		host apt-get -q -y remove user-mad-dkms mlnx-ofed-kernel-dkms && own_is_back
}

# A package has the modules, and none are built here. DKMS would move its files.
ofed_package()
{
	local deb=$tmp/ofed-modules core

	core=$deb/lib/modules/$release/updates/drivers/infiniband/core
	mkdir -p "$deb/DEBIAN" "$core" "$deb/usr/src/ofa_kernel/x86_64" "$deb/etc/depmod.d"
	echo 'override ib_umad * updates/drivers/infiniband/core' \
		>"$deb/etc/depmod.d/zz01-mlnx-ofa_kernel-ib_umad.conf"
	printf '%s: %s\n' Package mlnx-ofed-kernel-modules Version 25.10 Architecture all \
		Maintainer "Nobody <nobody@example.org>" Description OFED >"$deb/DEBIAN/control"
	cp "$tmp/ofed-built"/* "$core/"
	cp -a "$tmp/ofed-headers" "$deb/usr/src/ofa_kernel/x86_64/$release"
	dpkg-deb -b "$deb" "$root/root/ofed-modules.deb" >/dev/null &&
		apt_install /root/ofed-modules.deb && host depmod "$release"
}

untouched()
{
	ib_umad filename
	[[ $(ib_umad filename) = */updates/drivers/* ]] &&
		[ -z "$(host dpkg --verify mlnx-ofed-kernel-modules)" ]
}

refused()
{
	ofed_package && untouched && umad_install >"$tmp/said" || return 1
	cat "$tmp/said"
	grep "^user-mad-dkms: ib_umad was not built for Linux $release, .*: ib_core of .*see OFED in INSTALL.md" \
		"$tmp/said" && untouched && [ -z "$(host dpkg --audit)" ] &&
		umad_remove && untouched
}

# As INSTALL.md has it
by_hand()
{
	local make

	mkdir -p "$root/root/checkout"
	source_tree "$root/root/checkout" || return 1
	make=(host make -C /root/checkout "KDIR=/lib/modules/$release/build" MODULES=ib_umad)
	"${make[@]}" -j"$(nproc)" "OFA=/usr/src/ofa_kernel/x86_64/$release" &&
		"${make[@]}" install && for_core 0x0fed2510 &&
		[[ $(ib_umad filename) = */updates/ib_umad.ko ]] &&
		"${make[@]}" uninstall && untouched
}

no_headers()
{
	mv "$root/usr/src/ofa_kernel" "$root/usr/src/ofa" || return 1
	ends 2 'ib_core of .* is /.*, not the kernel.s own: OFA= has to name the headers' \
		host make -C /root/checkout "KDIR=/lib/modules/$release/build" &&
		ends 2 'OFA=/nowhere has no headers of OFED' \
			host make -C /root/checkout "KDIR=/lib/modules/$release/build" OFA=/nowhere || return 1
	rm -rf "$root/root/checkout"
	host apt-get -q -y purge mlnx-ofed-kernel-modules && host depmod "$release" && own_is_back
}

# broken COMMAND ...: while ours cannot be built for the kernel
broken()
{
	local header status=0

	header=$(ls "$root"/usr/src/linux-headers-*-common/include/rdma/ib_mad.h | sort -V | tail -n 1)
	cp "$header" "$tmp/ib_mad.h"
	echo '#error no such thing' >>"$header"
	"$@" || status=$?
	cp "$tmp/ib_mad.h" "$header"
	return $status
}

# apt goes on, and the kernel's own stays
fails()
{
	goes_on umad_install && goes_on apt_install --reinstall "linux-headers-$release"
}

goes_on()
{
	local status=0

	"$@" >"$tmp/said" || status=$?
	cat "$tmp/said"
	[ $status = 0 ] && one_line && own_is_back
}

one_line()
{
	[ "$(grep -c "^user-mad-dkms: ib_umad was not built for Linux $release, which keeps the one it had: .*no such thing" \
		"$tmp/said")" = 1 ] && [ -z "$(host dpkg --audit)" ]
}

headers_come()
{
	apt_install --reinstall "linux-headers-$release" && for_core "$(own_checksum)"
}

# Every kernel of Debian has InfiniBand, so one of a cloud is told that it has not
without_infiniband()
{
	local cloud status=0

	cloud=$(host apt-get -q -s install linux-headers-cloud-amd64 |
		sed -n 's/^Inst \(linux-headers-[0-9][^ ]*-cloud-amd64\) .*/\1/p')
	[ "$cloud" ] || return 1
	host sh -ec 'cd /tmp && apt-get -q download "$1" && dpkg-deb -R "$1"_*.deb without &&
		sed -i /CONFIG_INFINIBAND/d without/usr/src/*/.config without/usr/src/*/include/config/auto.conf &&
		sed -i "s/^Version: .*/&+without/" without/DEBIAN/control && rm "$1"_*.deb &&
		dpkg-deb -b without without.deb && rm -r without' sh "$cloud" || return 1
	apt_install /tmp/without.deb >"$tmp/said" 2>&1 || status=$?
	cat "$tmp/said"
	[ $status = 0 ] && [ -z "$(host dpkg --audit)" ] &&
		grep '^user-mad-dkms: Linux .*-cloud-amd64 lacks what ib_umad needs' "$tmp/said" &&
		host apt-get -q -y purge "$cloud"
}

# in_initramfs PATTERN: which ib_umad is there
in_initramfs()
{
	host lsinitramfs "/boot/initrd.img-$release" | grep ib_umad
	[[ $(host lsinitramfs "/boot/initrd.img-$release" | grep -c 'ib_umad\.ko') = 1 ]] &&
		host lsinitramfs "/boot/initrd.img-$release" | grep "$1"
}

renewed_initramfs()
{
	apt_install initramfs-tools || return 1
	echo MODULES=list >"$root/etc/initramfs-tools/conf.d/list"
	echo ib_umad >>"$root/etc/initramfs-tools/modules"
	umad_remove && host update-initramfs -c -k "$release" && in_initramfs kernel/drivers/ &&
		umad_install && in_initramfs updates/dkms/ &&
		umad_remove && in_initramfs kernel/drivers/
}

# What RHEL is to DKMS, depmod and the package
as_rhel()
{
	apt_install rpm dracut-core || return 1
	printf '%s\n' 'ID="rhel"' 'ID_LIKE="fedora"' 'VERSION_ID="9.6"' >"$root/usr/lib/os-release"
	mkdir -p "$root/etc/depmod.d"
	echo 'search updates extra built-in weak-updates' >"$root/etc/depmod.d/dist.conf"
	printf '%s\n' 'dracutmodules="base"' 'add_drivers+=" ib_umad "' 'hostonly=no' \
		>"$root/etc/dracut.conf.d/umad.conf"
	rm "$root/boot/initrd.img-$release"
	cp build/rpm/RPMS/noarch/user-mad-dkms-"$version"-1.noarch.rpm "$root/root/umad.rpm"
	host dracut -f "/boot/initramfs-$release.img" "$release" && in_initrd kernel/drivers/
}

# in_initrd PATTERN: which ib_umad is there
in_initrd()
{
	host lsinitrd "/boot/initramfs-$release.img" | grep 'ib_umad\.ko' >"$tmp/said"
	cat "$tmp/said"
	[ "$(wc -l <"$tmp/said")" = 1 ] && grep "$1" "$tmp/said"
}

rpm_installed()
{
	host rpm -i --nodeps /root/umad.rpm && for_core "$(own_checksum)" &&
		[[ $(ib_umad filename) = */extra/ib_umad.ko* ]] && in_initrd extra/ &&
		host rpm -U --force --nodeps /root/umad.rpm && for_core "$(own_checksum)"
}

rpm_removed()
{
	host rpm -e user-mad-dkms && own_is_back && in_initrd kernel/drivers/ &&
		! find "$root/usr/src" "$root/var/lib/dkms" -name 'user-mad*' | grep .
}

rpm_fails()
{
	goes_on host rpm -i --nodeps /root/umad.rpm && host rpm -e user-mad-dkms && own_is_back
}

cp "$debs/user-mad-dkms_${version}_all.deb" "$root/root/"
host apt-get -qq update
ktap_begin
ktap "beside OFED" beside_ofed
mkdir "$tmp/ofed-built"
cp "$root"/var/lib/dkms/mlnx-ofed-kernel/25.10/"$release"/x86_64/module/ib_* "$tmp/ofed-built/"
cp -aL "$root/usr/src/ofa_kernel-dkms/x86_64/$release" "$tmp/ofed-headers"
ktap "OFED's is back" ofed_is_back
ktap "OFED comes later" ofed_comes_later
ktap "OFED becomes another one" ofed_upgraded
ktap "OFED goes" ofed_gone
ktap "both go" both_gone
ktap "OFED that DKMS has not built is left alone" refused
ktap "make OFA=, make install, make uninstall" by_hand
ktap "make without OFED's headers" no_headers
ktap "a build that fails" broken fails
ktap "a build that fails no more" headers_come
ktap "a kernel without InfiniBand" without_infiniband
ktap "an initramfs with ib_umad" renewed_initramfs
ktap "RHEL, and its initramfs" as_rhel
ktap "the RPM" rpm_installed
ktap "the RPM is removed" rpm_removed
ktap "an RPM whose build fails" broken rpm_fails
ktap_end
