// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * ib_umad: MADs for user space. This file is what there is once per module:
 * device numbers, class, the clients of ib_core, tracepoints.
 */
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "core_priv.h"
#include "user_mad.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

MODULE_AUTHOR("The user_mad developers");
MODULE_DESCRIPTION("InfiniBand management datagrams for user space");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_ALIAS_RDMA_CLIENT("umad");
MODULE_ALIAS_RDMA_CLIENT("issm");

/*
 * Ports 0 to 63 have minors that scripts and static /dev trees rely on:
 * N for umadN, 64 + N for issmN. The rest of RDMA_MAX_PORTS is dynamic.
 */
#define UMAD_MAJOR		231
#define UMAD_FIXED_PORTS	64
#define UMAD_DYNAMIC_PORTS	(RDMA_MAX_PORTS - UMAD_FIXED_PORTS)

static const dev_t umad_fixed = MKDEV(UMAD_MAJOR, 0);
static dev_t umad_dynamic;

/**
 * umad_devt - device number of umadN
 * @num: N, below RDMA_MAX_PORTS
 *
 * Return: the device number.
 */
dev_t umad_devt(int num)
{
	if (num < UMAD_FIXED_PORTS)
		return umad_fixed + num;
	return umad_dynamic + num - UMAD_FIXED_PORTS;
}

/**
 * umad_sm_devt - device number of issmN
 * @num: N, below RDMA_MAX_PORTS
 *
 * Return: the device number.
 */
dev_t umad_sm_devt(int num)
{
	if (num < UMAD_FIXED_PORTS)
		return umad_fixed + UMAD_FIXED_PORTS + num;
	return umad_dynamic + UMAD_DYNAMIC_PORTS + num - UMAD_FIXED_PORTS;
}

static char *umad_devnode(const struct device *dev, umode_t *mode)
{
	return kasprintf(GFP_KERNEL, "infiniband/%s", dev_name(dev));
}

static ssize_t abi_version_show(const struct class *class,
				const struct class_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%d\n", IB_USER_MAD_ABI_VERSION);
}
static CLASS_ATTR_RO(abi_version);

static struct attribute *umad_class_attrs[] = {
	&class_attr_abi_version.attr,
	NULL,
};
ATTRIBUTE_GROUPS(umad_class);

static ssize_t ibdev_show(struct device *dev, struct device_attribute *attr,
			  char *buf)
{
	struct umad_port *port = dev_get_drvdata(dev);
	ssize_t ret = -ENODEV;

	down_read(&port->dev_lock);
	if (port->ib_dev)
		ret = sysfs_emit(buf, "%s\n", dev_name(&port->ib_dev->dev));
	up_read(&port->dev_lock);

	return ret;
}
static DEVICE_ATTR_RO(ibdev);

static ssize_t port_show(struct device *dev, struct device_attribute *attr,
			 char *buf)
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

struct class umad_class = {
	.name		= "infiniband_mad",
	.devnode	= umad_devnode,
	.class_groups	= umad_class_groups,
	.dev_groups	= umad_dev_groups,
};

/**
 * umad_trace_write - trace a MAD on its way in
 * @file: descriptor it was written to
 * @hdr: the user header as it was written
 * @hdr_len: length of @hdr
 * @mad: the MAD header as it was written
 */
void umad_trace_write(const struct umad_file *file,
		      const struct ib_user_mad_hdr *hdr, u8 hdr_len,
		      const struct ib_mad_hdr *mad)
{
	trace_ib_umad_write(file->port->dev_index, file->port->port_num, hdr,
			    umad_hdr_pkey_index(hdr, hdr_len), mad);
}

/**
 * umad_trace_read - trace a packet that was read
 * @file: descriptor it was read from
 * @packet: the packet, owned by the caller
 */
void umad_trace_read(const struct umad_file *file, struct umad_packet *packet)
{
	const struct ib_user_mad_hdr *hdr = umad_packet_hdr(packet);
	u16 pkey_index = umad_hdr_pkey_index(hdr, packet->hdr_len);
	const struct ib_mad_hdr *mad = umad_packet_mad(packet);
	const struct umad_port *port = file->port;

	if (packet->sent)
		trace_ib_umad_read_send(port->dev_index, port->port_num, hdr,
					pkey_index, mad);
	else
		trace_ib_umad_read_recv(port->dev_index, port->port_num, hdr,
					pkey_index, mad);
}

/* What both clients know of a device: its ports, NULL where one has no MADs */
struct umad_device {
	u32			num_ports;
	struct umad_port	*ports[] __counted_by(num_ports);
};

static void umad_device_free(struct umad_device *umad_dev)
{
	u32 i;

	for (i = 0; i < umad_dev->num_ports; i++)
		if (umad_dev->ports[i])
			umad_port_remove(umad_dev->ports[i]);
	kfree(umad_dev);
}

static struct umad_port *umad_nl_port(struct ib_device *ib_dev,
				      void *client_data, u32 port_num)
{
	struct umad_device *umad_dev = client_data;
	struct umad_port *port;

	if (!umad_dev)
		return ERR_PTR(-EOPNOTSUPP);
	if (!rdma_is_port_valid(ib_dev, port_num))
		return ERR_PTR(-EINVAL);

	port = umad_dev->ports[port_num - rdma_start_port(ib_dev)];
	return port ?: ERR_PTR(-EOPNOTSUPP);
}

static int umad_nl_info(struct ib_device *ib_dev, void *client_data,
			struct ib_client_nl_info *res)
{
	struct umad_port *port = umad_nl_port(ib_dev, client_data, res->port);

	if (IS_ERR(port))
		return PTR_ERR(port);

	res->abi = IB_USER_MAD_ABI_VERSION;
	res->cdev = &port->dev;
	return 0;
}

static int umad_sm_nl_info(struct ib_device *ib_dev, void *client_data,
			   struct ib_client_nl_info *res)
{
	struct umad_port *port = umad_nl_port(ib_dev, client_data, res->port);

	if (IS_ERR(port))
		return PTR_ERR(port);
	if (!port->has_smi)
		return -EOPNOTSUPP;

	res->abi = IB_USER_MAD_ABI_VERSION;
	res->cdev = &port->sm_dev;
	return 0;
}

static int umad_client_add(struct ib_device *ib_dev);

static void umad_client_remove(struct ib_device *ib_dev, void *client_data)
{
	umad_device_free(client_data);
}

static struct ib_client umad_client = {
	.name		= "umad",
	.add		= umad_client_add,
	.remove		= umad_client_remove,
	.get_nl_info	= umad_nl_info,
};

static int umad_client_add(struct ib_device *ib_dev)
{
	u32 first = rdma_start_port(ib_dev);
	struct umad_device *umad_dev;
	int ret = -EOPNOTSUPP;
	u32 port_num;

	umad_dev = kzalloc_flex(*umad_dev, ports,
				rdma_end_port(ib_dev) - first + 1);
	if (!umad_dev)
		return -ENOMEM;
	umad_dev->num_ports = rdma_end_port(ib_dev) - first + 1;

	rdma_for_each_port(ib_dev, port_num) {
		struct umad_port *port;

		if (!rdma_cap_ib_mad(ib_dev, port_num))
			continue;

		port = umad_port_add(ib_dev, port_num);
		if (IS_ERR(port)) {
			ret = PTR_ERR(port);
			goto err_free;
		}
		umad_dev->ports[port_num - first] = port;
		ret = 0;
	}
	if (ret)
		goto err_free;

	ib_set_client_data(ib_dev, &umad_client, umad_dev);
	return 0;

err_free:
	umad_device_free(umad_dev);
	return ret;
}

/*
 * The second client exists for its name in RDMA netlink only. It borrows what
 * the first one made: clients are added in the order in which they were
 * registered and removed in the opposite one.
 */
static int umad_sm_client_add(struct ib_device *ib_dev);

static struct ib_client umad_sm_client = {
	.name		= "issm",
	.add		= umad_sm_client_add,
	.get_nl_info	= umad_sm_nl_info,
};

static int umad_sm_client_add(struct ib_device *ib_dev)
{
	ib_set_client_data(ib_dev, &umad_sm_client,
			   ib_get_client_data(ib_dev, &umad_client));
	return 0;
}

static int __init umad_init(void)
{
	int ret;

	ret = umad_packet_init();
	if (ret)
		return ret;

	ret = umad_payers_init();
	if (ret)
		goto err_packet;

	ret = register_chrdev_region(umad_fixed, 2 * UMAD_FIXED_PORTS,
				     umad_class.name);
	if (ret) {
		pr_err(KBUILD_MODNAME ": cannot have major %d: %d\n", UMAD_MAJOR, ret);
		goto err_payers;
	}

	ret = alloc_chrdev_region(&umad_dynamic, 0, 2 * UMAD_DYNAMIC_PORTS,
				  umad_class.name);
	if (ret) {
		pr_err(KBUILD_MODNAME ": cannot have dynamic device numbers: %d\n", ret);
		goto err_fixed;
	}

	ret = class_register(&umad_class);
	if (ret) {
		pr_err(KBUILD_MODNAME ": cannot register class %s: %d\n", umad_class.name, ret);
		goto err_dynamic;
	}

	ret = ib_register_client(&umad_client);
	if (ret)
		goto err_ports;

	ret = ib_register_client(&umad_sm_client);
	if (ret)
		goto err_client;

	return 0;

err_client:
	ib_unregister_client(&umad_client);
err_ports:
	/* Some were made before a client could not be added to all devices */
	umad_port_wait_released();
	class_unregister(&umad_class);
err_dynamic:
	unregister_chrdev_region(umad_dynamic, 2 * UMAD_DYNAMIC_PORTS);
err_fixed:
	unregister_chrdev_region(umad_fixed, 2 * UMAD_FIXED_PORTS);
err_payers:
	umad_payers_exit();
err_packet:
	umad_packet_exit();
	return ret;
}
module_init(umad_init);

static void __exit umad_exit(void)
{
	ib_unregister_client(&umad_sm_client);
	ib_unregister_client(&umad_client);
	umad_port_wait_released();
	class_unregister(&umad_class);
	unregister_chrdev_region(umad_dynamic, 2 * UMAD_DYNAMIC_PORTS);
	unregister_chrdev_region(umad_fixed, 2 * UMAD_FIXED_PORTS);
	umad_payers_exit();
	umad_packet_exit();
}
module_exit(umad_exit);
