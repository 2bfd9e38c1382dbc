// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What a port tells of itself before a subnet manager has said anything. */

#include "agents.h"

#define MADSIM_VL_CAP		4	/* VL0 to VL7 */
#define MADSIM_SUBNET_TIMEOUT	18	/* 4.096 us * 2^n: about a second */

static const u32 madsim_cap_mask =
	IB_PORT_TRAP_SUP | IB_PORT_SL_MAP_SUP | IB_PORT_SYS_IMAGE_GUID_SUP |
	IB_PORT_CLIENT_REG_SUP | IB_PORT_CAP_MASK_NOTICE_SUP |
	IB_PORT_OTHER_LOCAL_CHANGES_SUP;

/* Bring a port into the state after power-on. Its link and its faults stay. fabric->lock is held */
void madsim_port_reset(struct madsim_port *port)
{
	struct madsim_node *node = port->node;
	struct ib_port_info *info = &port->info;
	unsigned int i;

	memset(info, 0, sizeof(*info));
	info->gid_prefix = cpu_to_be64(0xfe80000000000000ULL);
	if (madsim_is_end_port(port))
		info->cap_mask = cpu_to_be32(madsim_cap_mask |
			(test_bit(port->num, node->sm_disabled) ?
			 IB_PORT_SM_DISABLED : 0));
	madsim_speed_limit(port, port->width, port->speed);
	port->speed_active = port->speed;
	info->link_width_active = port->width;
	madsim_pi_set(info, MADSIM_PI_STATE, IB_PORT_DOWN);
	madsim_pi_set(info, MADSIM_PI_PHYS_STATE, IB_PORT_PHYS_STATE_POLLING);
	madsim_pi_set(info, MADSIM_PI_LINK_DOWN_DEFAULT,
		      IB_PORT_PHYS_STATE_POLLING);
	madsim_pi_set(info, MADSIM_PI_NEIGHBOR_MTU, IB_MTU_4096);
	madsim_pi_set(info, MADSIM_PI_VL_CAP, MADSIM_VL_CAP);
	info->vl_arb_high_cap = MADSIM_VLARB_SIZE / 2;
	info->vl_arb_low_cap = MADSIM_VLARB_SIZE / 2;
	madsim_pi_set(info, MADSIM_PI_MTU_CAP, IB_MTU_4096);
	madsim_pi_set(info, MADSIM_PI_OPER_VLS, MADSIM_VL_CAP);
	info->clientrereg_resv_subnetto = MADSIM_SUBNET_TIMEOUT;
	info->resv_resptimevalue = MADSIM_RESP_TIME;
	port->crc_errors = 0;
	port->overruns = 0;
	port->mkey_expires = 0;
	/* What a rate amounts to without power counts for nothing */
	madsim_fault_count(port);
	memset(&port->counters, 0, sizeof(port->counters));
	port->cc_setting = 0;
	port->trap_pending = 0;
	port->trap_rest = jiffies;
	list_del_init(&port->trap_link);

	memset(port->pkeys, 0, sizeof(port->pkeys));
	memset(port->guids, 0, sizeof(port->guids));
	if (madsim_is_end_port(port)) {
		memset(port->cc, 0, sizeof(*port->cc));
		madsim_samples_reset(port);
		info->guid_cap = MADSIM_GUIDS;
		port->pkeys[0] = cpu_to_be16(IB_DEFAULT_PKEY_FULL);
		port->guids[0] = cpu_to_be64(madsim_first_port_guid(node) +
					     (port->num && !node->planes ?
						      port->num - 1 : 0));
	}
	if (!port->num) {
		madsim_pi_set(info, MADSIM_PI_STATE, IB_PORT_ACTIVE);
		madsim_pi_set(info, MADSIM_PI_PHYS_STATE,
			      IB_PORT_PHYS_STATE_LINK_UP);
		madsim_pi_set(info, MADSIM_PI_LINK_DOWN_DEFAULT, 0);
	}

	for (i = 0; i < MADSIM_VLARB_SIZE; i += 2) {
		port->vlarb[0][i] = i / 2;
		port->vlarb[0][i + 1] = 1;
		port->vlarb[1][i] = i / 2;
		port->vlarb[1][i + 1] = 0;
	}
}
