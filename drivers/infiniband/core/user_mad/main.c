// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* ib_umad: MADs for user space. The module as ib_core sees it: two clients */
#include <linux/module.h>
#include <linux/nospec.h>

#include "core_priv.h"
#include "user_mad.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

MODULE_AUTHOR("The user_mad developers");
MODULE_DESCRIPTION("InfiniBand management datagrams for user space");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_ALIAS_RDMA_CLIENT("umad");
MODULE_ALIAS_RDMA_CLIENT("issm");

/* The ports of a device by their numbers, for both clients; NULL for a port without MADs */
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

/* Finds a character device of a port, of either kind, for RDMA netlink */
static int umad_nl_chardev(struct ib_device *ib_dev, const struct umad_device *umad_dev,
			   struct ib_client_nl_info *res, bool issm)
{
	struct umad_port *port;

	if (!rdma_is_port_valid(ib_dev, res->port))
		return -EINVAL;

	port = umad_dev ? umad_dev->ports[array_index_nospec(res->port, umad_dev->num_ports)] :
			  NULL;
	if (!port || (issm && !port->has_smi))
		return -EOPNOTSUPP;

	res->cdev = issm ? &port->issm_dev : &port->dev;
	res->abi = IB_USER_MAD_ABI_VERSION;
	return 0;
}

static int umad_nl_info(struct ib_device *ib_dev, void *client_data, struct ib_client_nl_info *res)
{
	return umad_nl_chardev(ib_dev, client_data, res, false);
}

static int umad_issm_nl_info(struct ib_device *ib_dev, void *client_data,
			     struct ib_client_nl_info *res)
{
	return umad_nl_chardev(ib_dev, client_data, res, true);
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
	u32 port_num, num_ports = rdma_end_port(ib_dev) + 1;
	struct umad_device *umad_dev;
	int ret = -EOPNOTSUPP;

	umad_dev = kzalloc_flex(*umad_dev, ports, num_ports);
	if (!umad_dev)
		return -ENOMEM;
	umad_dev->num_ports = num_ports;

	rdma_for_each_port(ib_dev, port_num) {
		struct umad_port *port;

		if (!rdma_cap_ib_mad(ib_dev, port_num))
			continue;

		port = umad_port_add(ib_dev, port_num);
		if (IS_ERR(port)) {
			ret = PTR_ERR(port);
			goto err_free;
		}
		umad_dev->ports[port_num] = port;
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
 * The second client exists for its name in RDMA netlink only. It uses the struct umad_device
 * of the first one: ib_core adds clients in the order in which they were registered, and
 * removes them in the opposite one.
 */
static int umad_issm_client_add(struct ib_device *ib_dev);

static struct ib_client umad_issm_client = {
	.name		= "issm",
	.add		= umad_issm_client_add,
	.get_nl_info	= umad_issm_nl_info,
};

static int umad_issm_client_add(struct ib_device *ib_dev)
{
	ib_set_client_data(ib_dev, &umad_issm_client, ib_get_client_data(ib_dev, &umad_client));
	return 0;
}

static int __init umad_init(void)
{
	int ret;

	ret = umad_packet_init();
	if (ret)
		return ret;

	ret = umad_files_init();
	if (ret)
		goto err_packet;

	ret = umad_ports_init();
	if (ret)
		goto err_files;

	ret = ib_register_client(&umad_client);
	if (ret)
		goto err_ports;

	ret = ib_register_client(&umad_issm_client);
	if (ret)
		goto err_client;

	return 0;

err_client:
	ib_unregister_client(&umad_client);
err_ports:
	umad_ports_exit();
err_files:
	umad_files_exit();
err_packet:
	umad_packet_exit();
	return ret;
}
module_init(umad_init);

static void __exit umad_exit(void)
{
	ib_unregister_client(&umad_issm_client);
	ib_unregister_client(&umad_client);
	umad_ports_exit();
	umad_files_exit();
	umad_packet_exit();
}
module_exit(umad_exit);
