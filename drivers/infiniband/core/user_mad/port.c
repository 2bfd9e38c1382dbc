// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A port, its two character devices, and its attributes in sysfs. The devices come and go
 * with the ib_device. The port itself stays until the last descriptor is closed.
 */
#include <linux/completion.h>
#include <linux/idr.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/stringify.h>
#include <linux/wait_bit.h>

#include "core_priv.h"
#include "user_mad.h"

/*
 * Ports 0 to 63 have minors that scripts and static /dev trees rely on:
 * N for umadN, 64 + N for issmN. The rest of RDMA_MAX_PORTS is dynamic.
 */
#define UMAD_MAJOR		231
#define UMAD_FIXED_PORTS	64
#define UMAD_DYNAMIC_PORTS	(RDMA_MAX_PORTS - UMAD_FIXED_PORTS)

static const dev_t umad_fixed = MKDEV(UMAD_MAJOR, 0);
static dev_t umad_dynamic;

static DEFINE_IDA(umad_nums);

/* One for the module, and one for each device whose release function has not run yet */
static refcount_t umad_devices = REFCOUNT_INIT(1);
static DECLARE_COMPLETION(umad_devices_released);

static dev_t umad_devt(int num, bool issm)
{
	if (num < UMAD_FIXED_PORTS)
		return umad_fixed + issm * UMAD_FIXED_PORTS + num;
	return umad_dynamic + issm * UMAD_DYNAMIC_PORTS + num - UMAD_FIXED_PORTS;
}

/* Where udev makes the nodes */
static char *umad_devnode(const struct device *dev, umode_t *mode)
{
	return kasprintf(GFP_KERNEL, "infiniband/%s", dev_name(dev));
}

static CLASS_ATTR_STRING(abi_version, 0444, __stringify(IB_USER_MAD_ABI_VERSION));

static struct attribute *umad_abi_attrs[] = {
	&class_attr_abi_version.attr.attr,
	NULL,
};
ATTRIBUTE_GROUPS(umad_abi);

static ssize_t ibdev_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct umad_port *port = dev_get_drvdata(dev);
	ssize_t ret = -ENODEV;

	mutex_lock(&port->lock);
	if (port->ib_dev)
		ret = sysfs_emit(buf, "%s\n", dev_name(&port->ib_dev->dev));
	mutex_unlock(&port->lock);
	return ret;
}
static DEVICE_ATTR_RO(ibdev);

static ssize_t port_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct umad_port *port = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%u\n", port->port_num);
}
static DEVICE_ATTR_RO(port);

static struct attribute *umad_dev_attrs[] = {
	&dev_attr_ibdev.attr,
	&dev_attr_port.attr,
	NULL,
};
ATTRIBUTE_GROUPS(umad_dev);

static struct class umad_class = {
	.name		= "infiniband_mad",
	.devnode	= umad_devnode,
	.class_groups	= umad_abi_groups,
	.dev_groups	= umad_dev_groups,
};

/* The last that a release function does. It does not sleep, with PREEMPT_RT neither */
static void umad_devices_put(void)
{
	if (refcount_dec_and_test(&umad_devices))
		complete(&umad_devices_released);
}

static void umad_port_release(struct device *dev)
{
	struct umad_port *port = container_of(dev, struct umad_port, dev);

	WARN_ON(!list_empty(&port->files));
	mutex_destroy(&port->lock);
	free_percpu(port->stats);
	kfree(port);
	umad_devices_put();
}

static void umad_port_issm_release(struct device *dev)
{
	struct umad_port *port = container_of(dev, struct umad_port, issm_dev);

	put_device(&port->dev);
	umad_devices_put();
}

static int umad_port_add_dev(struct umad_port *port, struct device *dev,
			     struct cdev *cdev, dev_t devt, const char *name,
			     const struct file_operations *fops)
{
	int ret;

	dev->class = &umad_class;
	dev->parent = port->ib_dev->dev.parent;
	dev->devt = devt;
	dev_set_drvdata(dev, port);
	ret = dev_set_name(dev, "%s%d", name, port->num);
	if (ret)
		return ret;

	cdev_init(cdev, fops);
	cdev->owner = THIS_MODULE;
	return cdev_device_add(cdev, dev);
}

/*
 * Takes the device away from all users of the port: wakes those that sleep, and waits for
 * those that use it. A new port may have the number at once.
 */
static void umad_port_disassociate(struct umad_port *port)
{
	struct ib_device *ib_dev = port->ib_dev;

	mutex_lock(&port->lock);
	WRITE_ONCE(port->ib_dev, NULL);
	mutex_unlock(&port->lock);

	ib_unregister_event_handler(&port->event_handler);
	umad_issm_disassociate(port, ib_dev);
	umad_files_disassociate(port);
	/* Descriptors being closed may still be busy with theirs */
	wait_var_event(&port->agents, !atomic_read_acquire(&port->agents));

	ida_free(&umad_nums, port->num);
}

/*
 * Makes the character devices of a port with the MAD capability. @ib_dev stays until
 * umad_port_remove() has returned.
 */
struct umad_port *umad_port_add(struct ib_device *ib_dev, u32 port_num)
{
	struct umad_port *port;
	int ret = -ENOMEM;

	port = kzalloc_obj(*port);
	if (!port)
		return ERR_PTR(ret);

	port->port_num = port_num;
	port->dev_index = ib_dev->index;
	port->has_smi = rdma_cap_ib_smi(ib_dev, port_num);
	port->is_roce = rdma_protocol_roce(ib_dev, port_num);
	mutex_init(&port->lock);
	port->ib_dev = ib_dev;
	init_waitqueue_head(&port->issm_wait);
	INIT_LIST_HEAD(&port->files);

	refcount_inc(&umad_devices);
	device_initialize(&port->dev);
	port->dev.release = umad_port_release;
	port->dev.groups = umad_stats_groups;
	if (port->has_smi) {
		device_initialize(&port->issm_dev);
		port->issm_dev.release = umad_port_issm_release;
		get_device(&port->dev);
		refcount_inc(&umad_devices);
	}

	port->stats = alloc_percpu(struct umad_stats);
	if (!port->stats)
		goto err_put;
	ret = ida_alloc_max(&umad_nums, RDMA_MAX_PORTS - 1, GFP_KERNEL);
	if (ret < 0)
		goto err_put;
	port->num = ret;
	umad_ah_watch(port);

	ret = umad_port_add_dev(port, &port->dev, &port->cdev,
				umad_devt(port->num, false), "umad", &umad_fops);
	if (ret)
		goto err_disassociate;

	if (port->has_smi) {
		ret = umad_port_add_dev(port, &port->issm_dev, &port->issm_cdev,
					umad_devt(port->num, true), "issm", &umad_issm_fops);
		if (ret)
			goto err_del;
	}

	return port;

err_del:
	cdev_device_del(&port->cdev, &port->dev);
err_disassociate:
	umad_port_disassociate(port);
err_put:
	if (port->has_smi)
		put_device(&port->issm_dev);
	put_device(&port->dev);
	return ERR_PTR(ret);
}

/* Waits for kernel work in flight only, never for user space */
void umad_port_remove(struct umad_port *port)
{
	if (port->has_smi)
		cdev_device_del(&port->issm_cdev, &port->issm_dev);
	cdev_device_del(&port->cdev, &port->dev);

	umad_port_disassociate(port);

	if (port->has_smi)
		put_device(&port->issm_dev);
	put_device(&port->dev);
}

int __init umad_ports_init(void)
{
	int ret;

	ret = register_chrdev_region(umad_fixed, 2 * UMAD_FIXED_PORTS, umad_class.name);
	if (ret) {
		pr_err(KBUILD_MODNAME ": cannot have major %d: %d\n", UMAD_MAJOR, ret);
		return ret;
	}

	ret = alloc_chrdev_region(&umad_dynamic, 0, 2 * UMAD_DYNAMIC_PORTS, umad_class.name);
	if (ret)
		goto err_fixed;

	ret = class_register(&umad_class);
	if (ret)
		goto err_dynamic;
	return 0;

err_dynamic:
	unregister_chrdev_region(umad_dynamic, 2 * UMAD_DYNAMIC_PORTS);
err_fixed:
	unregister_chrdev_region(umad_fixed, 2 * UMAD_FIXED_PORTS);
	pr_err(KBUILD_MODNAME ": cannot have class %s and its numbers: %d\n", umad_class.name, ret);
	return ret;
}

/*
 * Waits until no device is left, and undoes umad_ports_init(). A client that could not be
 * registered may have had ports, too. Open descriptors pin the module, so only short
 * references are left, such as those of RDMA netlink.
 *
 * A task may have been preempted at the end of a release function. It does not sleep there,
 * so it has left the module's text when all tasks have scheduled voluntarily or have been in
 * user space.
 */
void umad_ports_exit(void)
{
	umad_devices_put();
	wait_for_completion(&umad_devices_released);
	synchronize_rcu_tasks();
	class_unregister(&umad_class);
	unregister_chrdev_region(umad_dynamic, 2 * UMAD_DYNAMIC_PORTS);
	unregister_chrdev_region(umad_fixed, 2 * UMAD_FIXED_PORTS);
}
