// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The module: its parameters and the list of all fabrics.
 */

#include <linux/module.h>

#include "madsim.h"

static char *topology = "star";
module_param(topology, charp, 0444);
MODULE_PARM_DESC(topology,
		 "fabric to start with: none, pair, star[:hosts], fattree[:radix] (default star)");

static unsigned int devices = 4;
module_param(devices, uint, 0444);
MODULE_PARM_DESC(devices,
		 "how many nodes of that fabric become RDMA devices, hosts first (default 4)");

static DEFINE_MUTEX(madsim_fabrics_mutex);	/* protects the list and the indices */
static LIST_HEAD(madsim_fabrics);

/**
 * madsim_add_fabric() - give a fabric its place on the list
 * @fabric: not yet on it; its name and index have to be unique
 *
 * Return: 0, -EEXIST if the name is taken, -ENOSPC if all indices are
 */
int madsim_add_fabric(struct madsim_fabric *fabric)
{
	struct list_head *at = &madsim_fabrics;
	struct madsim_fabric *other;
	unsigned int index = 0;
	int ret = 0;

	mutex_lock(&madsim_fabrics_mutex);
	list_for_each_entry(other, &madsim_fabrics, list) {
		if (!strcmp(other->name, fabric->name)) {
			ret = -EEXIST;
			goto out;
		}
	}

	/* Sorted by index, so that the first gap is the lowest free one */
	list_for_each_entry(other, &madsim_fabrics, list) {
		if (other->index != index) {
			at = &other->list;
			break;
		}
		index++;
	}
	if (index > U8_MAX) {
		ret = -ENOSPC;
		goto out;
	}
	fabric->index = index;
	list_add_tail(&fabric->list, at);
out:
	mutex_unlock(&madsim_fabrics_mutex);
	return ret;
}

/**
 * madsim_del_fabric() - undo madsim_add_fabric()
 * @fabric: on the list
 */
void madsim_del_fabric(struct madsim_fabric *fabric)
{
	mutex_lock(&madsim_fabrics_mutex);
	list_del(&fabric->list);
	mutex_unlock(&madsim_fabrics_mutex);
}

/* The fabric of the module parameters, NULL if there is none */
static struct madsim_fabric *madsim_preset;

static int __init madsim_preset_init(void)
{
	struct madsim_fabric *fabric;
	int ret;

	if (!strcmp(topology, "none"))
		return 0;

	fabric = madsim_fabric_create("preset");
	if (IS_ERR(fabric))
		return PTR_ERR(fabric);

	ret = madsim_topo_build(fabric, topology, devices);
	if (ret)
		goto err_destroy;

	mutex_lock(&fabric->mutex);
	ret = madsim_fabric_start(fabric);
	mutex_unlock(&fabric->mutex);
	if (ret)
		goto err_destroy;

	madsim_preset = fabric;
	return 0;

err_destroy:
	madsim_fabric_destroy(fabric);
	return ret;
}

static void madsim_preset_exit(void)
{
	if (!madsim_preset)
		return;
	mutex_lock(&madsim_preset->mutex);
	madsim_fabric_stop(madsim_preset);
	mutex_unlock(&madsim_preset->mutex);
	madsim_fabric_destroy(madsim_preset);
}

static int __init madsim_init(void)
{
	int ret;

	madsim_debugfs_init();

	ret = madsim_dev_init();
	if (ret)
		goto err_debugfs;

	ret = madsim_preset_init();
	if (ret)
		goto err_dev;

	ret = madsim_configfs_init();
	if (ret)
		goto err_preset;

	return 0;

err_preset:
	madsim_preset_exit();
err_dev:
	madsim_dev_exit();
err_debugfs:
	madsim_debugfs_exit();
	return ret;
}

static void __exit madsim_exit(void)
{
	/* Fabrics made in configfs pin the module, none is left here */
	madsim_configfs_exit();
	madsim_preset_exit();
	madsim_dev_exit();
	madsim_debugfs_exit();
}

module_init(madsim_init);
module_exit(madsim_exit);

MODULE_DESCRIPTION("Simulated InfiniBand fabric for management software");
MODULE_LICENSE("Dual BSD/GPL");
