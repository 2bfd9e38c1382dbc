// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A port: its character devices appear with the ib_device and are gone with
 * it, the port itself stays as long as somebody holds one of them open.
 */
#include <linux/fs.h>
#include <linux/idr.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>

#include "core_priv.h"
#include "user_mad.h"

static DEFINE_IDA(umad_nums);

/* Ports not yet freed: their release function is in this module */
static atomic_t umad_ports = ATOMIC_INIT(0);

static void umad_port_release(struct device *dev)
{
	struct umad_port *port = container_of(dev, struct umad_port, dev);

	WARN_ON(!list_empty(&port->files));
	mutex_destroy(&port->files_lock);
	kfree(port);
	if (atomic_dec_and_test(&umad_ports))
		wake_up_var(&umad_ports);
}

static void umad_port_sm_release(struct device *dev)
{
	struct umad_port *port = container_of(dev, struct umad_port, sm_dev);

	put_device(&port->dev);
}

/**
 * umad_port_wait_released - wait until no port exists any more
 *
 * Context: process context, after the clients were unregistered, so that only
 * short-lived references are left, such as those of RDMA netlink.
 */
void umad_port_wait_released(void)
{
	wait_var_event(&umad_ports, !atomic_read(&umad_ports));
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
 * Nobody gets the device from here on, and those who have it are waited for.
 * Whoever sleeps is woken and told. The number may be used again at once.
 */
static void umad_port_disassociate(struct umad_port *port)
{
	struct ib_device *ib_dev = port->ib_dev;

	down_write(&port->dev_lock);
	WRITE_ONCE(port->ib_dev, NULL);
	up_write(&port->dev_lock);

	umad_ah_unwatch(port);
	umad_sm_disassociate(port, ib_dev);
	umad_files_disassociate(port);
	/* Descriptors being closed may still be busy with theirs */
	wait_var_event(&port->agents, !atomic_read(&port->agents));

	ida_free(&umad_nums, port->num);
}

/**
 * umad_port_add - make the character devices of a port
 * @ib_dev: the device
 * @port_num: number of a port of @ib_dev with the MAD capability
 *
 * Context: process context; @ib_dev stays until umad_port_remove() returns.
 * Return: the port, to be given back with umad_port_remove(), or an ERR_PTR().
 */
struct umad_port *umad_port_add(struct ib_device *ib_dev, u32 port_num)
{
	struct umad_port *port;
	int ret;

	port = kzalloc_obj(*port);
	if (!port)
		return ERR_PTR(-ENOMEM);

	port->num = ida_alloc_max(&umad_nums, RDMA_MAX_PORTS - 1, GFP_KERNEL);
	if (port->num < 0) {
		ret = port->num;
		kfree(port);
		return ERR_PTR(ret);
	}

	port->port_num = port_num;
	port->dev_index = ib_dev->index;
	port->has_smi = rdma_cap_ib_smi(ib_dev, port_num);
	init_rwsem(&port->dev_lock);
	port->ib_dev = ib_dev;
	umad_sm_init(port);
	mutex_init(&port->files_lock);
	INIT_LIST_HEAD(&port->files);

	umad_ah_watch(port);

	atomic_inc(&umad_ports);
	device_initialize(&port->dev);
	port->dev.release = umad_port_release;
	if (port->has_smi) {
		device_initialize(&port->sm_dev);
		port->sm_dev.release = umad_port_sm_release;
		get_device(&port->dev);
	}

	ret = umad_port_add_dev(port, &port->dev, &port->cdev,
				umad_devt(port->num), "umad", &umad_fops);
	if (ret)
		goto err_put;

	if (port->has_smi) {
		ret = umad_port_add_dev(port, &port->sm_dev, &port->sm_cdev,
					umad_sm_devt(port->num), "issm",
					&umad_sm_fops);
		if (ret)
			goto err_del;
	}

	return port;

err_del:
	cdev_device_del(&port->cdev, &port->dev);
err_put:
	umad_port_disassociate(port);
	if (port->has_smi)
		put_device(&port->sm_dev);
	put_device(&port->dev);
	return ERR_PTR(ret);
}

/**
 * umad_port_remove - take the device away from a port and its users
 * @port: the port
 *
 * Every sleeper on the port is told, every agent is unregistered. Waits for
 * kernel work in flight only, never for user space.
 *
 * Context: process context.
 */
void umad_port_remove(struct umad_port *port)
{
	if (port->has_smi)
		cdev_device_del(&port->sm_cdev, &port->sm_dev);
	cdev_device_del(&port->cdev, &port->dev);

	umad_port_disassociate(port);

	if (port->has_smi)
		put_device(&port->sm_dev);
	put_device(&port->dev);
}
