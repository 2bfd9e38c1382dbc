// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Virtual functions of adapters: "ip link set DEV vf NUMBER".
 *
 * IPoIB calls with RTNL held, which comes behind fabric->mutex. So a new GUID waits under
 * fabric->lock until its node gets power, as one of an adapter does until a driver is bound.
 */

#include <linux/if_link.h>

#include "device.h"

static int madsim_get_vf_config(struct ib_device *ibdev, int num, u32 port,
				struct ifla_vf_info *info)
{
	struct madsim_node *node = to_madsim_dev(ibdev)->node;
	struct madsim_node *vf;

	spin_lock_irq(&node->fabric->lock);
	vf = xa_load(&node->vfs, num);
	if (vf)
		info->linkstate = vf->vf_policy;
	spin_unlock_irq(&node->fabric->lock);
	return vf ? 0 : -EINVAL;
}

static int madsim_get_vf_guid(struct ib_device *ibdev, int num, u32 port,
			      struct ifla_vf_guid *node_guid,
			      struct ifla_vf_guid *port_guid)
{
	struct madsim_node *node = to_madsim_dev(ibdev)->node;
	struct madsim_node *vf;

	spin_lock_irq(&node->fabric->lock);
	vf = xa_load(&node->vfs, num);
	if (vf) {
		node_guid->guid = vf->vf_node_guid;
		port_guid->guid = vf->vf_port_guid;
	}
	spin_unlock_irq(&node->fabric->lock);
	return vf ? 0 : -EINVAL;
}

static int madsim_set_vf_guid(struct ib_device *ibdev, int num, u32 port, u64 guid, int type)
{
	struct madsim_node *node = to_madsim_dev(ibdev)->node;
	struct madsim_node *vf;

	if (!guid)
		return -EINVAL;

	spin_lock_irq(&node->fabric->lock);
	vf = xa_load(&node->vfs, num);
	if (vf && type == IFLA_VF_IB_NODE_GUID)
		vf->vf_node_guid = guid;
	else if (vf)
		vf->vf_port_guid = guid;
	spin_unlock_irq(&node->fabric->lock);
	return vf ? 0 : -EINVAL;
}

static int madsim_set_vf_link_state(struct ib_device *ibdev, int num, u32 port, int state)
{
	struct madsim_node *node = to_madsim_dev(ibdev)->node;
	struct madsim_node *vf;

	if (state < 0 || state >= __IFLA_VF_LINK_STATE_MAX)
		return -EINVAL;

	spin_lock_irq(&node->fabric->lock);
	vf = xa_load(&node->vfs, num);
	if (vf) {
		vf->vf_policy = state;
		/* Without power, its ports may be others in a moment */
		if (vf->powered)
			madsim_links_update(vf);
	}
	spin_unlock_irq(&node->fabric->lock);
	return vf ? 0 : -EINVAL;
}

/* As mlx5: packets to one port, but bytes of all */
static int madsim_get_vf_stats(struct ib_device *ibdev, int num, u32 port,
			       struct ifla_vf_stats *stats)
{
	struct madsim_node *node = to_madsim_dev(ibdev)->node;
	struct madsim_node *vf;

	spin_lock_irq(&node->fabric->lock);
	vf = xa_load(&node->vfs, num);
	if (vf && vf->powered && port <= vf->nports) {
		const u64 *total = vf->ports[port].counters.total;

		madsim_fault_count(&vf->ports[port]);
		stats->rx_packets = total[MADSIM_RCV_UCAST];
		stats->tx_packets = total[MADSIM_XMIT_UCAST];
		stats->rx_bytes = total[MADSIM_RCV_DATA] * 4;
		stats->tx_bytes = total[MADSIM_XMIT_DATA] * 4;
		stats->multicast = total[MADSIM_RCV_MCAST];
	}
	spin_unlock_irq(&node->fabric->lock);
	return vf ? 0 : -EINVAL;
}

const struct ib_device_ops madsim_vf_ops = {
	.get_vf_config = madsim_get_vf_config,
	.get_vf_guid = madsim_get_vf_guid,
	.get_vf_stats = madsim_get_vf_stats,
	.set_vf_guid = madsim_set_vf_guid,
	.set_vf_link_state = madsim_set_vf_link_state,
};
