// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What stands in for sub.c of madsim on kernels before 6.11, which know no devices
 * that have another one for QP0.
 */

#include "device.h"

int madsim_sub_allow(struct madsim_dev *parent)
{
	return -EOPNOTSUPP;
}
