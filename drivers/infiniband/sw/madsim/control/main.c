// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The module: its parameters, and the fabric that they describe. */

#include <linux/module.h>

#include "control.h"
#include "device/device.h"

static char *topology = "none";
module_param(topology, charp, 0444);
MODULE_PARM_DESC(topology,
		 "fabric to start with: none, pair, star[:hosts], fattree[:radix] (default none)");

static unsigned int devices = 4;
module_param(devices, uint, 0444);
MODULE_PARM_DESC(devices,
		 "how many nodes of that fabric become RDMA devices, hosts first (default 4)");

static bool data;
module_param(data, bool, 0444);
MODULE_PARM_DESC(data,
		 "let that fabric carry data, such as of IPoIB and verbs (default N)");

/* The fabric of the module parameters, NULL if there shall be none */
static struct madsim_fabric * __init madsim_preset(void)
{
	struct madsim_fabric *fabric;
	int ret;

	if (!strcmp(topology, "none"))
		return NULL;

	fabric = madsim_fabric_create("preset");
	if (IS_ERR(fabric))
		return fabric;

	fabric->data = data;
	ret = madsim_topo_build(fabric, topology, devices);
	if (ret)
		goto err_destroy;

	mutex_lock(&fabric->mutex);
	ret = madsim_fabric_start(fabric);
	mutex_unlock(&fabric->mutex);
	if (ret)
		goto err_destroy;
	return fabric;

err_destroy:
	madsim_fabric_destroy(fabric);
	return ERR_PTR(ret);
}

static int __init madsim_init(void)
{
	struct madsim_fabric *preset;
	int ret;

	ret = madsim_workers_init();
	if (ret)
		return ret;
	madsim_debugfs_init();

	ret = madsim_wires_init();
	if (ret)
		goto err_debugfs;
	ret = madsim_bus_init();
	if (ret)
		goto err_wires;
	ret = madsim_dev_init();
	if (ret)
		goto err_bus;

	preset = madsim_preset();
	if (IS_ERR(preset)) {
		ret = PTR_ERR(preset);
		goto err_dev;
	}

	ret = madsim_configfs_init(preset);
	if (ret)
		goto err_dev;

	return 0;

err_dev:
	madsim_dev_exit();
err_bus:
	madsim_bus_exit();
err_wires:
	madsim_wires_exit();
err_debugfs:
	madsim_debugfs_exit();
	madsim_workers_exit();
	return ret;
}

static void __exit madsim_exit(void)
{
	/* Fabrics that were made in configfs pin the module: none is left */
	madsim_configfs_exit();
	madsim_dev_exit();
	madsim_bus_exit();
	madsim_wires_exit();
	madsim_debugfs_exit();
	madsim_workers_exit();
}

module_init(madsim_init);
module_exit(madsim_exit);

MODULE_DESCRIPTION("Simulated InfiniBand fabric for management software");
MODULE_LICENSE("Dual BSD/GPL");
