// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * ib_umad: MADs for user space. The module as ib_core sees it: two clients.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "core_priv.h"
#include "user_mad.h"

MODULE_AUTHOR("The user_mad developers");
MODULE_DESCRIPTION("InfiniBand management datagrams for user space");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_ALIAS_RDMA_CLIENT("umad");
MODULE_ALIAS_RDMA_CLIENT("issm");

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

static int umad_issm_nl_info(struct ib_device *ib_dev, void *client_data,
			     struct ib_client_nl_info *res)
{
	struct umad_port *port = umad_nl_port(ib_dev, client_data, res->port);

	if (IS_ERR(port))
		return PTR_ERR(port);
	if (!port->has_smi)
		return -EOPNOTSUPP;

	res->abi = IB_USER_MAD_ABI_VERSION;
	res->cdev = &port->issm_dev;
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
static int umad_issm_client_add(struct ib_device *ib_dev);

static struct ib_client umad_issm_client = {
	.name		= "issm",
	.add		= umad_issm_client_add,
	.get_nl_info	= umad_issm_nl_info,
};

static int umad_issm_client_add(struct ib_device *ib_dev)
{
	ib_set_client_data(ib_dev, &umad_issm_client,
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

	ret = umad_ports_init();
	if (ret)
		goto err_payers;

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
err_payers:
	umad_payers_exit();
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
	umad_payers_exit();
	umad_packet_exit();
}
module_exit(umad_exit);
