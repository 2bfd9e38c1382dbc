#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# In a guest: run the commands of the page for newcomers: page.sh FILE

set -eu
insmod "$MADSIM_MODULE"
mount -t configfs none /sys/kernel/config 2>/dev/null || true
# Layers have no alternatives of Debian, which an installation has
command -v mpirun >/dev/null || ln -s mpirun.openmpi /usr/bin/mpirun
export PATH=$PWD/tools/infiniband/madsim-load:$PATH
cd /root
sh -ex "$1"
[ -z "$(ip netns list)" ] && [ ! -d /sys/module/ib_madsim ]
