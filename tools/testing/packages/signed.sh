#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# In a guest that wants modules signed by a key it knows, and does not know DKMS'
# yet: as with Secure Boot, before the key is enrolled.

set -u
. "$(dirname "$0")/../../../scripts/ktap.sh"
umount /lib/modules

refused()
{
	! modprobe ib_umad && [ ! -d /sys/module/ib_umad ] &&
		dmesg | grep 'module with unavailable key is rejected'
}

kernels_own()
{
	modprobe ib_core && insmod "$(find "/lib/modules/$(uname -r)/kernel" -name 'ib_umad.ko*')"
}

ktap_begin
ktap "a module signed by an unknown key is refused" refused
ktap "the kernel's own is not" kernels_own
ktap_end
