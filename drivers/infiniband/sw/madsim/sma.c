// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The subnet management agent: what a subnet manager reads and writes.
 *
 * A handler works in place on the attribute of the request, so that what it
 * leaves there is the response, and returns the status of the MAD.
 */

#include "madsim.h"

#define MADSIM_OK		IB_MGMT_MAD_STATUS_SUCCESS
#define MADSIM_UNSUPPORTED	IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB
#define MADSIM_INVALID		IB_MGMT_MAD_STATUS_INVALID_ATTRIB_VALUE

/* Vendor ID: an OUI with the bit of local administration */
static const u8 madsim_vendor_id[3] = { 0x02, 0x53, 0x49 };

#define MADSIM_DEVICE_ID	0x4d53
#define MADSIM_CLASS_VERSION	1

/* M_KeyProtectBits are the two top ones */
static u8 madsim_mkey_protect(const struct madsim_port *port)
{
	return port->info.mkeyprot_resv_lmc >> 6;
}

/* A lease that ran out opens the port. No timer: it is seen on the next SMP */
static void madsim_mkey_expire(struct madsim_port *port)
{
	if (port->mkey_expires && time_after_eq(jiffies, port->mkey_expires)) {
		port->mkey_expires = 0;
		port->info.mkeyprot_resv_lmc &= 0x3f;
	}
}

static bool madsim_mkey_allows(struct madsim_port *port,
			       const struct ib_smp *smp)
{
	struct ib_port_info *info = &port->info;
	u16 lease = be16_to_cpu(info->mkey_lease_period);

	madsim_mkey_expire(port);

	if (!info->mkey || smp->mkey == info->mkey) {
		port->mkey_expires = 0;
		return true;
	}
	if (smp->method == IB_MGMT_METHOD_GET && madsim_mkey_protect(port) < 2)
		return true;

	if (info->mkey_violations != cpu_to_be16(U16_MAX))
		be16_add_cpu(&info->mkey_violations, 1);
	if (lease && !port->mkey_expires)
		port->mkey_expires = (jiffies + lease * HZ) ?: 1;
	madsim_trap_bad_mkey(port, smp);
	return false;
}

static u8 madsim_node_type(const struct madsim_node *node)
{
	return node->is_switch ? RDMA_NODE_IB_SWITCH : RDMA_NODE_IB_CA;
}

static u16 madsim_node_desc(struct madsim_node *node, u8 *data, bool set)
{
	if (set)
		return MADSIM_UNSUPPORTED;
	memcpy(data, node->desc, sizeof(node->desc));
	return MADSIM_OK;
}

static u16 madsim_node_info(struct madsim_port *port, u8 in_port,
			    struct ib_node_info *ni, bool set)
{
	struct madsim_node *node = port->node;

	if (set)
		return MADSIM_UNSUPPORTED;

	ni->base_version = IB_MGMT_BASE_VERSION;
	ni->class_version = MADSIM_CLASS_VERSION;
	ni->node_type = madsim_node_type(node);
	ni->num_ports = node->nports;
	ni->sys_guid = cpu_to_be64(node->guid);
	ni->node_guid = cpu_to_be64(node->guid);
	ni->port_guid = port->guids[0];
	ni->partition_cap = cpu_to_be16(MADSIM_PKEYS);
	ni->device_id = cpu_to_be16(MADSIM_DEVICE_ID);
	ni->revision = 0;
	ni->local_port_num = in_port;
	memcpy(ni->vendor_id, madsim_vendor_id, sizeof(ni->vendor_id));
	return MADSIM_OK;
}

static u16 madsim_switch_info(struct madsim_node *node,
			      struct madsim_switch_info *si, bool set)
{
	struct madsim_switch_info *sw = &node->sw;
	u8 change;

	if (!node->is_switch)
		return MADSIM_UNSUPPORTED;
	if (set) {
		if (be16_to_cpu(si->lft_top) >= MADSIM_LFT_SIZE)
			return MADSIM_INVALID;
		sw->lft_top = si->lft_top;
		sw->default_port = si->default_port;
		sw->default_mcast_primary = si->default_mcast_primary;
		sw->default_mcast_other = si->default_mcast_other;
		sw->mft_top = si->mft_top;
		/* Writing the bit as one clears it */
		change = sw->life_state & ~si->life_state &
			 MADSIM_SW_STATE_CHANGE;
		sw->life_state = (si->life_state & 0xf8) | change;
	}
	memcpy(si, sw, sizeof(*si));
	return MADSIM_OK;
}

static u16 madsim_guid_info(struct madsim_port *port, u32 block, __be64 *guids,
			    bool set)
{
	if (block)
		return MADSIM_INVALID;
	if (set) {
		/* The first one is the hardware's */
		memcpy(&port->guids[1], &guids[1],
		       sizeof(port->guids) - sizeof(port->guids[0]));
		madsim_port_event(port, IB_EVENT_GID_CHANGE);
	}
	memcpy(guids, port->guids, sizeof(port->guids));
	return MADSIM_OK;
}

static bool madsim_is_unicast(__be16 lid)
{
	return lid && be16_to_cpu(lid) < MADSIM_LID_MULTICAST;
}

/* Whether every field that a Set(PortInfo) would change may have that value */
static bool madsim_port_info_valid(const struct madsim_port *port,
				   const struct ib_port_info *in)
{
	const struct ib_port_info *info = &port->info;
	u8 width = in->link_width_enabled;
	u8 speed = in->linkspeedactive_enabled & 0xf;
	u8 phys = in->portphysstate_linkdown >> 4;
	u8 state = in->linkspeed_portstate & 0xf;

	if (madsim_is_end_port(port) &&
	    (!madsim_is_unicast(in->lid) || !madsim_is_unicast(in->sm_lid)))
		return false;
	if (!port->num)
		return true;

	if (width != 0xff && width & ~info->link_width_supported)
		return false;
	if (speed != 0xf && speed & ~(info->linkspeed_portstate >> 4))
		return false;
	if (in->neighbormtu_mastersmsl >> 4 >
	    (info->inittypereply_mtucap & 0xf))
		return false;
	if (in->operationalvl_pei_peo_fpi_fpo >> 4 > info->vlcap_inittype >> 4)
		return false;
	if (phys > IB_PORT_PHYS_STATE_DISABLED)
		return false;
	if (phys && state > IB_PORT_DOWN)
		return false;

	switch (state) {
	case IB_PORT_NOP:
	case IB_PORT_DOWN:
		return true;
	case IB_PORT_ARMED:
		return madsim_state(port) == IB_PORT_INIT ||
		       madsim_state(port) == IB_PORT_ARMED;
	case IB_PORT_ACTIVE:
		return madsim_state(port) == IB_PORT_ARMED ||
		       madsim_state(port) == IB_PORT_ACTIVE;
	default:
		return false;
	}
}

static void madsim_set_end_port(struct madsim_port *port,
				const struct ib_port_info *in)
{
	struct ib_port_info *info = &port->info;
	u8 lmc_change = (info->mkeyprot_resv_lmc ^ in->mkeyprot_resv_lmc) & 0x7;
	u8 sl_change = (info->neighbormtu_mastersmsl ^
			in->neighbormtu_mastersmsl) & 0xf;
	bool lid_change = info->lid != in->lid || lmc_change;
	bool sm_change = info->sm_lid != in->sm_lid || sl_change;
	bool gid_change = info->gid_prefix != in->gid_prefix;

	info->mkey = in->mkey;
	info->gid_prefix = in->gid_prefix;
	info->lid = in->lid;
	info->sm_lid = in->sm_lid;
	info->mkey_lease_period = in->mkey_lease_period;
	info->mkeyprot_resv_lmc = in->mkeyprot_resv_lmc & 0xc7;
	madsim_set_low(&info->neighbormtu_mastersmsl,
		       in->neighbormtu_mastersmsl);
	info->mkey_violations = in->mkey_violations;
	info->pkey_violations = in->pkey_violations;
	info->qkey_violations = in->qkey_violations;
	info->clientrereg_resv_subnetto = in->clientrereg_resv_subnetto & 0x1f;
	madsim_set_low(&info->vlcap_inittype, in->vlcap_inittype);

	if (lid_change)
		madsim_port_event(port, IB_EVENT_LID_CHANGE);
	if (sm_change)
		madsim_port_event(port, IB_EVENT_SM_CHANGE);
	if (gid_change)
		madsim_port_event(port, IB_EVENT_GID_CHANGE);
	if (in->clientrereg_resv_subnetto & 0x80)
		madsim_port_event(port, IB_EVENT_CLIENT_REREGISTER);
}

static void madsim_set_link(struct madsim_port *port,
			    const struct ib_port_info *in)
{
	struct ib_port_info *info = &port->info;
	u8 width = in->link_width_enabled;
	u8 speed = in->linkspeedactive_enabled & 0xf;
	u8 phys = in->portphysstate_linkdown >> 4;
	u8 state = in->linkspeed_portstate & 0xf;

	if (width)
		info->link_width_enabled = width & info->link_width_supported;
	if (speed)
		madsim_set_low(&info->linkspeedactive_enabled,
			       speed & (info->linkspeed_portstate >> 4));
	if (in->portphysstate_linkdown & 0xf)
		madsim_set_low(&info->portphysstate_linkdown,
			       in->portphysstate_linkdown);
	if (in->neighbormtu_mastersmsl >> 4)
		madsim_set_high(&info->neighbormtu_mastersmsl,
				in->neighbormtu_mastersmsl >> 4);
	if (in->operationalvl_pei_peo_fpi_fpo >> 4)
		info->operationalvl_pei_peo_fpi_fpo =
			in->operationalvl_pei_peo_fpi_fpo;
	info->vl_high_limit = in->vl_high_limit;
	info->vlstallcnt_hoqlife = in->vlstallcnt_hoqlife;
	info->localphyerrors_overrunerrors = in->localphyerrors_overrunerrors;

	if (phys)
		madsim_link_request(port, phys);
	else if (state == IB_PORT_DOWN)
		madsim_link_request(port, IB_PORT_PHYS_STATE_POLLING);
	else if (state)
		madsim_port_set_state(port, state);
}

/* @port got the MAD, its modifier names the port that is meant */
static u16 madsim_port_info(struct madsim_port *port, u8 in_port,
			    struct ib_smp *smp, bool set)
{
	struct ib_port_info *pi = (void *)smp->data;
	struct madsim_node *node = port->node;
	u32 num = be32_to_cpu(smp->attr_mod);
	struct madsim_port *target;

	if (!node->is_switch && !num)
		num = port->num;
	if (num > node->nports)
		return MADSIM_INVALID;
	target = &node->ports[num];

	if (set) {
		/* The ports of a channel adapter are in subnets of their own */
		if (!node->is_switch && target != port)
			return MADSIM_INVALID;
		if (!madsim_port_info_valid(target, pi))
			return MADSIM_INVALID;
		if (madsim_is_end_port(target))
			madsim_set_end_port(target, pi);
		if (target->num)
			madsim_set_link(target, pi);
	}

	memcpy(pi, &target->info, sizeof(*pi));
	pi->local_port_num = in_port;
	if (smp->mkey != target->info.mkey && madsim_mkey_protect(target))
		pi->mkey = 0;
	return MADSIM_OK;
}

static u16 madsim_pkey_table(struct madsim_port *port, u32 mod, u8 *data,
			     bool set)
{
	struct madsim_node *node = port->node;
	u16 num = mod >> 16;

	if (mod & 0xffff || num > node->nports)
		return MADSIM_INVALID;
	if (node->is_switch)
		port = &node->ports[num];
	if (set) {
		memcpy(port->pkeys, data, sizeof(port->pkeys));
		madsim_port_event(port, IB_EVENT_PKEY_CHANGE);
	}
	memcpy(data, port->pkeys, sizeof(port->pkeys));
	return MADSIM_OK;
}

static u16 madsim_sl_to_vl(struct madsim_port *port, u32 mod, u8 *data,
			   bool set)
{
	struct madsim_node *node = port->node;
	u8 *map, in, out;

	/* A port of a channel adapter has one table, and needs no modifier */
	if (!node->is_switch)
		mod = port->num;
	in = mod >> 8;
	out = mod;
	if (mod >> 16 || in > node->nports || out > node->nports)
		return MADSIM_INVALID;

	map = &node->sl2vl[(in * (node->nports + 1) + out) * MADSIM_SLS / 2];
	if (set)
		memcpy(map, data, MADSIM_SLS / 2);
	memcpy(data, map, MADSIM_SLS / 2);
	return MADSIM_OK;
}

static u16 madsim_vl_arb(struct madsim_port *port, u32 mod, u8 *data, bool set)
{
	struct madsim_node *node = port->node;
	u16 num = mod, block = mod >> 16;
	u8 *table;

	if (num > node->nports)
		return MADSIM_INVALID;
	if (node->is_switch)
		port = &node->ports[num];

	/*
	 * 1 and 2 are the halves of the low-priority table, 3 and 4 of the
	 * high one. Ours fit into a half.
	 */
	if (block != 1 && block != 3)
		return MADSIM_INVALID;
	table = port->vlarb[block == 3];
	if (set)
		memcpy(table, data, MADSIM_VLARB_SIZE);
	memcpy(data, table, MADSIM_VLARB_SIZE);
	return MADSIM_OK;
}

static u16 madsim_linear_fwd(struct madsim_node *node, u32 block, u8 *data,
			     bool set)
{
	u8 *lft;

	if (!node->is_switch)
		return MADSIM_UNSUPPORTED;
	if (block >= MADSIM_LFT_SIZE / MADSIM_LFT_BLOCK)
		return MADSIM_INVALID;

	lft = &node->lft[block * MADSIM_LFT_BLOCK];
	if (set)
		memcpy(lft, data, MADSIM_LFT_BLOCK);
	memcpy(data, lft, MADSIM_LFT_BLOCK);
	return MADSIM_OK;
}

static u16 madsim_mcast_fwd(struct madsim_node *node, u32 mod, __be16 *data,
			    bool set)
{
	u32 block = mod & 0x1ff, word = mod >> 28;
	unsigned int i, entry;
	__be16 *mft;

	if (!node->is_switch)
		return MADSIM_UNSUPPORTED;
	if (mod & 0x0ffffe00 || block >= MADSIM_MFT_SIZE / MADSIM_MFT_BLOCK ||
	    word >= node->mft_words)
		return MADSIM_INVALID;

	for (i = 0; i < MADSIM_MFT_BLOCK; i++) {
		entry = block * MADSIM_MFT_BLOCK + i;
		mft = &node->mft[entry * node->mft_words + word];
		if (set)
			*mft = data[i];
		data[i] = *mft;
	}
	return MADSIM_OK;
}

static u16 madsim_attribute(struct madsim_port *port, u8 in_port,
			    struct ib_smp *smp, bool set)
{
	u32 mod = be32_to_cpu(smp->attr_mod);
	struct madsim_node *node = port->node;
	u8 *data = smp->data;

	switch (smp->attr_id) {
	case IB_SMP_ATTR_NODE_DESC:
		return madsim_node_desc(node, data, set);
	case IB_SMP_ATTR_NODE_INFO:
		return madsim_node_info(port, in_port, (void *)data, set);
	case IB_SMP_ATTR_SWITCH_INFO:
		return madsim_switch_info(node, (void *)data, set);
	case IB_SMP_ATTR_GUID_INFO:
		return madsim_guid_info(port, mod, (void *)data, set);
	case IB_SMP_ATTR_PORT_INFO:
		return madsim_port_info(port, in_port, smp, set);
	case IB_SMP_ATTR_PKEY_TABLE:
		return madsim_pkey_table(port, mod, data, set);
	case IB_SMP_ATTR_SL_TO_VL_TABLE:
		return madsim_sl_to_vl(port, mod, data, set);
	case IB_SMP_ATTR_VL_ARB_TABLE:
		return madsim_vl_arb(port, mod, data, set);
	case IB_SMP_ATTR_LINEAR_FORWARD_TABLE:
		return madsim_linear_fwd(node, mod, data, set);
	case IB_SMP_ATTR_MCAST_FORWARD_TABLE:
		return madsim_mcast_fwd(node, mod, (void *)data, set);
	default:
		return MADSIM_UNSUPPORTED;
	}
}

/* An OPA SMP has a header and attributes of its own; these two are known */
static u16 madsim_opa_attribute(struct madsim_port *port, u8 in_port,
				struct opa_smp *smp, bool set, u32 *len)
{
	struct opa_node_info *ni = (void *)opa_get_smp_data(smp);
	struct madsim_node *node = port->node;
	size_t header = opa_get_smp_header_size(smp);

	if (smp->attr_id == OPA_ATTRIB_ID_NODE_DESCRIPTION) {
		*len = header + sizeof(struct opa_node_description);
		return madsim_node_desc(node, opa_get_smp_data(smp), set);
	}

	if (smp->attr_id == OPA_ATTRIB_ID_NODE_INFO && !set) {
		*len = header + sizeof(*ni);
		memset(ni, 0, sizeof(*ni));
		ni->base_version = OPA_MGMT_BASE_VERSION;
		ni->class_version = OPA_SM_CLASS_VERSION;
		ni->node_type = madsim_node_type(node);
		ni->num_ports = node->nports;
		ni->system_image_guid = cpu_to_be64(node->guid);
		ni->node_guid = cpu_to_be64(node->guid);
		ni->port_guid = port->guids[0];
		ni->partition_cap = cpu_to_be16(MADSIM_PKEYS);
		ni->device_id = cpu_to_be16(MADSIM_DEVICE_ID);
		ni->local_port_num = in_port;
		memcpy(ni->vendor_id, madsim_vendor_id, sizeof(ni->vendor_id));
		return MADSIM_OK;
	}

	*len = header;
	return MADSIM_UNSUPPORTED;
}

/**
 * madsim_sma - show a MAD to the subnet management agent
 * @port: the end port that got it
 * @in_port: the port it came in by; 0 is a switch itself
 * @mad: an SMP; becomes the response
 * @len: its length, and that of the response
 * @check_mkey: the M_Key of @mad has to fit
 *
 * Context: any; fabric->lock is held.
 * Return: what is to be done with @mad.
 */
enum madsim_verdict madsim_sma(struct madsim_port *port, u8 in_port,
			       struct ib_mad *mad, u32 *len, bool check_mkey)
{
	struct ib_smp *smp = (struct ib_smp *)mad;
	bool opa = madsim_is_opa_smp(&mad->mad_hdr);
	bool set = smp->method == IB_MGMT_METHOD_SET;
	u16 status;

	lockdep_assert_held(&port->node->fabric->lock);

	if (smp->method != IB_MGMT_METHOD_GET &&
	    smp->method != IB_MGMT_METHOD_SET &&
	    smp->method != IB_MGMT_METHOD_TRAP_REPRESS)
		return MADSIM_PASS;
	if (smp->attr_id == IB_SMP_ATTR_SM_INFO)
		return MADSIM_PASS;
	if (check_mkey && !madsim_mkey_allows(port, smp))
		return MADSIM_CONSUMED;

	if (smp->method == IB_MGMT_METHOD_TRAP_REPRESS) {
		if (smp->attr_id == IB_SMP_ATTR_NOTICE)
			madsim_trap_repress(port, (void *)smp->data);
		return MADSIM_CONSUMED;
	}

	if (opa)
		status = madsim_opa_attribute(port, in_port, (void *)smp,
					      set, len);
	else if (smp->class_version != MADSIM_CLASS_VERSION)
		status = IB_MGMT_MAD_STATUS_BAD_VERSION;
	else
		status = madsim_attribute(port, in_port, smp, set);

	smp->method = IB_MGMT_METHOD_GET_RESP;
	smp->status = cpu_to_be16(status);
	if (smp->mgmt_class == IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE)
		smp->status |= IB_SMP_DIRECTION;
	return MADSIM_REPLY;
}
