// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The bus of adapters. Programs look there for what else belongs to an RDMA device, such as
 * interfaces of IPoIB: /sys/class/infiniband/NAME/device. ip has from there how many virtual
 * functions an adapter has.
 */

#include <linux/device.h>
#include <linux/slab.h>

#include "device.h"

/* ip asks for each number below this one */
static int madsim_num_vf(struct device *dev)
{
	struct madsim_node *node = dev_get_drvdata(dev);
	struct madsim_node *vf;
	unsigned long num;
	int count = 0;

	xa_for_each(&node->vfs, num, vf)
		count = num + 1;
	return count;
}

static const struct bus_type madsim_bus = {
	.name = "madsim",
	.num_vf = madsim_num_vf,
};

static void madsim_bus_dev_release(struct device *dev)
{
	kfree(dev);
}

/* The device of an adapter on the bus, for device_unregister(), or an ERR_PTR() */
struct device *madsim_bus_dev_register(struct madsim_node *node)
{
	static atomic_t last = ATOMIC_INIT(-1);
	struct device *dev;
	int ret;

	dev = kzalloc_obj(*dev);
	if (!dev)
		return ERR_PTR(-ENOMEM);
	device_initialize(dev);
	dev->bus = &madsim_bus;
	dev->release = madsim_bus_dev_release;
	dev_set_drvdata(dev, node);
	ret = dev_set_name(dev, "madsim_node%u",
			   (u32)atomic_inc_return(&last)) ?: device_add(dev);
	if (ret) {
		put_device(dev);
		return ERR_PTR(ret);
	}
	return dev;
}

int madsim_bus_init(void)
{
	return bus_register(&madsim_bus);
}

void madsim_bus_exit(void)
{
	bus_unregister(&madsim_bus);
}
