// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * hw_counters of a port, which RDMA netlink has as well: errors and discards in more
 * detail than the counters of every InfiniBand port.
 */

#include "device.h"

static const struct rdma_stat_desc madsim_stat_descs[] = {
	{ .name = "local_physical_errors" },
	{ .name = "malformed_packet_errors" },
	{ .name = "buffer_overrun_errors" },
	{ .name = "dlid_mapping_errors" },
	{ .name = "vl_mapping_errors" },
	{ .name = "looping_errors" },
	{ .name = "inactive_discards" },
	{ .name = "neighbor_mtu_discards" },
	{ .name = "sw_lifetime_limit_discards" },
	{ .name = "sw_hoq_lifetime_limit_discards" },
};

/* They are the last ones of enum madsim_counter, in its order */
static_assert(ARRAY_SIZE(madsim_stat_descs) ==
	      MADSIM_COUNTERS - MADSIM_LOCAL_PHYSICAL_ERRORS);

static struct rdma_hw_stats *madsim_alloc_hw_port_stats(struct ib_device *ibdev, u32 num)
{
	return rdma_alloc_hw_stats_struct(madsim_stat_descs,
					  ARRAY_SIZE(madsim_stat_descs),
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

static int madsim_get_hw_stats(struct ib_device *ibdev,
			       struct rdma_hw_stats *stats, u32 num, int index)
{
	struct madsim_node *node = to_madsim_dev(ibdev)->node;
	struct madsim_port *port = &node->ports[num];
	const u64 *total = &port->counters.total[MADSIM_LOCAL_PHYSICAL_ERRORS];

	spin_lock_irq(&node->fabric->lock);
	madsim_fault_count(port);
	memcpy(stats->value, total,
	       ARRAY_SIZE(madsim_stat_descs) * sizeof(*total));
	spin_unlock_irq(&node->fabric->lock);
	return ARRAY_SIZE(madsim_stat_descs);
}

const struct ib_device_ops madsim_stats_ops = {
	.alloc_hw_port_stats = madsim_alloc_hw_port_stats,
	.get_hw_stats = madsim_get_hw_stats,
};
