// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What stands in for bus.c of madsim on kernels such as 6.1, which write into the struct of
 * a bus. There adapters have no bus: ip sets virtual functions, and does not list them.
 */

#include <linux/device.h>

#include "device.h"

struct device *madsim_bus_dev_register(struct madsim_node *node)
{
	static atomic_t last = ATOMIC_INIT(-1);
	char name[24];

	snprintf(name, sizeof(name), "madsim_node%u",
		 (u32)atomic_inc_return(&last));
	return root_device_register(name);
}

int madsim_bus_init(void)
{
	return 0;
}

void madsim_bus_exit(void)
{
}
