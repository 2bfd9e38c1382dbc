/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef RDMA_DEVICE_H
#define RDMA_DEVICE_H

#include <linux/string.h>
#include <rdma/ib_verbs.h>

static const char *rdma_device_name;
static struct ib_device *rdma_device_found;

static int rdma_device_add(struct ib_device *dev)
{
	if (!strcmp(dev_name(&dev->dev), rdma_device_name) &&
	    ib_device_try_get(dev))
		rdma_device_found = dev;
	return -EOPNOTSUPP;
}

/*
 * A device, to be put back by ib_device_put(), or NULL. Kernels do not export a
 * function for that any more, but show their devices to a new client, which is
 * gone before anything is measured.
 */
static struct ib_device *rdma_device_get(const char *name)
{
	static struct ib_client client = {
		.name	= KBUILD_MODNAME,
		.add	= rdma_device_add,
	};

	rdma_device_name = name;
	rdma_device_found = NULL;
	if (ib_register_client(&client))
		return NULL;
	ib_unregister_client(&client);
	return rdma_device_found;
}

#endif /* RDMA_DEVICE_H */
