// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Two ib_devices for the ports of one node, as the newest adapters have them. One
 * has QP1 and all clients. An administrator who wants QP0 makes the other one, by RDMA
 * netlink. As long as there is none, the node answers SMPs without the MAD layer.
 *
 * The core holds a reference to the device for QP1 while there is one for QP0. It takes no
 * lock of this module, so it can remove the device for QP0 while the device for QP1 goes.
 */

#include "device.h"

/* The core holds subdev_lock of a parent while it takes subdev_lock of its sub device */
static struct lock_class_key madsim_sub_key;

static struct ib_device *madsim_add_sub_dev(struct ib_device *parent,
					    enum rdma_nl_dev_type type,
					    const char *name)
{
	struct madsim_dev *dev;
	int ret;

	if (type != RDMA_DEVICE_TYPE_SMI)
		return ERR_PTR(-EOPNOTSUPP);

	dev = madsim_dev_alloc(to_madsim_dev(parent)->node, true);
	if (IS_ERR(dev))
		return ERR_CAST(dev);
	/* Clients ask for it as they are told of the device */
	dev->ibdev.type = type;
	dev->ibdev.dev.parent = parent->dev.parent;
	lockdep_set_class(&dev->ibdev.subdev_lock, &madsim_sub_key);

	ret = madsim_dev_publish(dev, name);
	if (ret) {
		madsim_dev_free(dev);
		return ERR_PTR(ret);
	}
	return &dev->ibdev;
}

static void madsim_del_sub_dev(struct ib_device *ibdev)
{
	struct madsim_dev *dev = to_madsim_dev(ibdev);

	madsim_dev_withdraw(dev);
	madsim_dev_free(dev);
}

static const struct ib_device_ops madsim_sub_ops = {
	.add_sub_dev = madsim_add_sub_dev,
	.del_sub_dev = madsim_del_sub_dev,
};

/* Let a device that is not registered yet have another one for QP0. Returns 0 */
int madsim_sub_allow(struct madsim_dev *parent)
{
	ib_set_device_ops(&parent->ibdev, &madsim_sub_ops);
	return 0;
}
