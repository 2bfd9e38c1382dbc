// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What stands in for port_speed.c of madsim on kernels before 7.0, which do not ask
 * drivers for the speed of a port.
 */

#include "device.h"

const struct ib_device_ops madsim_port_speed_ops = {};
