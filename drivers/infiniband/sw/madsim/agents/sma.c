// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The subnet management agent: what a subnet manager reads and writes.
 *
 * madsim_attributes lists what there is. A handler works in place on the
 * attribute of the request, so that what it leaves there is the response.
 */

#include <linux/unaligned.h>

#include "agents.h"

#define MADSIM_CLASS_VERSION	1

/* ExtendedPortInfo: for requesters that know the device IDs of Mellanox's */
#define MADSIM_ATTR_EXT_PORT_INFO	cpu_to_be16(0xff90)

#define MADSIM_ATTR_CONFIG_SPACE	cpu_to_be16(0xff50)

/* Bit of PortInfo's modifier: the requester knows extended speeds */
#define MADSIM_MOD_EXTENDED_SPEEDS	BIT(31)

/* Bits of SLtoVLMappingTable's: every input port, every output port */
#define MADSIM_MOD_ALL_IN	BIT(17)
#define MADSIM_MOD_ALL_OUT	BIT(16)

/* A lease that has run out opens the port */
static bool madsim_mkey_allows(struct madsim_port *port, const struct ib_smp *smp)
{
	struct ib_port_info *info = &port->info;

	if (madsim_lease_ends(&port->mkey_expires))
		info->mkeyprot_resv_lmc &= 0x3f;
	if (!info->mkey || smp->mkey == info->mkey) {
		port->mkey_expires = 0;
		return true;
	}
	if (smp->method == IB_MGMT_METHOD_GET && madsim_pi_mkey_protect(info) < 2)
		return true;

	madsim_count_violation(&info->mkey_violations);
	madsim_lease_begin(&port->mkey_expires, info->mkey_lease_period);
	madsim_trap_bad_mkey(port, smp);
	return false;
}

/* Answer Get and Set of what a port or a switch keeps as it is in a MAD */
static u16 madsim_table(struct madsim_request *req, void *table, size_t len)
{
	if (req->set)
		memcpy(table, req->data, len);
	else
		memcpy(req->data, table, len);
	return MADSIM_OK;
}

static u16 madsim_node_desc(struct madsim_request *req)
{
	const struct madsim_node *node = req->port->node;

	memcpy(req->data, node->desc, sizeof(node->desc));
	return MADSIM_OK;
}

static u16 madsim_node_info(struct madsim_request *req)
{
	const struct madsim_node *node = req->port->node;
	struct ib_node_info *ni = req->data;

	ni->base_version = IB_MGMT_BASE_VERSION;
	ni->class_version = MADSIM_CLASS_VERSION;
	ni->node_type = node->type;
	ni->num_ports = node->nports;
	ni->sys_guid = cpu_to_be64(madsim_sys_guid(node));
	ni->node_guid = cpu_to_be64(node->guid);
	ni->port_guid = req->port->guids[0];
	ni->partition_cap = cpu_to_be16(MADSIM_PKEYS);
	ni->device_id = cpu_to_be16(node->device_id);
	ni->revision = 0;
	ni->local_port_num = req->in_port;
	put_unaligned_be24(node->vendor_id, ni->vendor_id);
	return MADSIM_OK;
}

static u16 madsim_switch_info(struct madsim_request *req)
{
	struct madsim_switch_info *info = &req->port->node->sw->info;
	struct madsim_switch_info *si = req->data;
	u8 change;

	if (req->set) {
		if (be16_to_cpu(si->lft_top) >= MADSIM_LFT_SIZE)
			return MADSIM_INVALID;
		info->lft_top = si->lft_top;
		info->default_port = si->default_port;
		info->default_mcast_primary = si->default_mcast_primary;
		info->default_mcast_other = si->default_mcast_other;
		info->mft_top = si->mft_top;
		/* Writing the bit as one clears it */
		change = info->life_state & ~si->life_state &
			 MADSIM_SW_STATE_CHANGE;
		info->life_state = (si->life_state & 0xf8) | change |
				   MADSIM_SW_OPT_SL2VL;
	}
	memcpy(si, info, sizeof(*si));
	return MADSIM_OK;
}

static u16 madsim_guid_info(struct madsim_request *req)
{
	struct madsim_port *port = req->port;
	__be64 *guids = req->data;

	if (req->mod)
		return MADSIM_INVALID;
	if (req->set) {
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

/* Whether every field that a Set(PortInfo) would change may have that value, but for speeds */
static bool madsim_port_info_valid(const struct madsim_port *port, const struct ib_port_info *in)
{
	const struct ib_port_info *info = &port->info;
	u8 width = in->link_width_enabled;
	u8 phys = madsim_pi_get(in, MADSIM_PI_PHYS_STATE);
	u8 state = madsim_pi_get(in, MADSIM_PI_STATE);

	if (madsim_is_end_port(port) &&
	    (!madsim_is_unicast(in->lid) || !madsim_is_unicast(in->sm_lid)))
		return false;
	if (!port->num)
		return true;

	if ((width != 0xff && width & ~info->link_width_supported) ||
	    madsim_pi_get(in, MADSIM_PI_NEIGHBOR_MTU) > madsim_pi_get(info, MADSIM_PI_MTU_CAP) ||
	    madsim_pi_get(in, MADSIM_PI_OPER_VLS) > madsim_pi_get(info, MADSIM_PI_VL_CAP) ||
	    phys > IB_PORT_PHYS_STATE_DISABLED || (phys && state > IB_PORT_DOWN) ||
	    madsim_pi_get(in, MADSIM_PI_LINK_DOWN_DEFAULT) > IB_PORT_PHYS_STATE_POLLING)
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

static void madsim_set_end_port(struct madsim_port *port, const struct ib_port_info *in)
{
	struct ib_port_info *info = &port->info;
	bool lid_change = info->lid != in->lid ||
			  madsim_pi_lmc(info) != madsim_pi_lmc(in);
	bool sm_change = info->sm_lid != in->sm_lid ||
			 madsim_pi_get(info, MADSIM_PI_MASTER_SM_SL) !=
			 madsim_pi_get(in, MADSIM_PI_MASTER_SM_SL);
	bool gid_change = info->gid_prefix != in->gid_prefix;

	info->mkey = in->mkey;
	info->gid_prefix = in->gid_prefix;
	info->lid = in->lid;
	info->sm_lid = in->sm_lid;
	info->mkey_lease_period = in->mkey_lease_period;
	info->mkeyprot_resv_lmc = in->mkeyprot_resv_lmc & 0xc7;
	madsim_pi_copy(info, in, MADSIM_PI_MASTER_SM_SL);
	info->mkey_violations = in->mkey_violations;
	info->pkey_violations = in->pkey_violations;
	info->qkey_violations = in->qkey_violations;
	info->clientrereg_resv_subnetto = madsim_pi_subnet_timeout(in);
	madsim_pi_copy(info, in, MADSIM_PI_INIT_TYPE);

	if (lid_change)
		madsim_port_event(port, IB_EVENT_LID_CHANGE);
	if (sm_change)
		madsim_port_event(port, IB_EVENT_SM_CHANGE);
	if (gid_change)
		madsim_port_event(port, IB_EVENT_GID_CHANGE);
	if (madsim_pi_client_reregister(in))
		madsim_port_event(port, IB_EVENT_CLIENT_REREGISTER);
}

static void madsim_set_link(struct madsim_port *port, const struct ib_port_info *in)
{
	struct ib_port_info *info = &port->info;
	u8 width = in->link_width_enabled;
	u8 phys = madsim_pi_get(in, MADSIM_PI_PHYS_STATE);
	u8 state = madsim_pi_get(in, MADSIM_PI_STATE);
	u8 down;

	if (width)
		info->link_width_enabled = width & info->link_width_supported;
	if (madsim_pi_get(in, MADSIM_PI_LINK_DOWN_DEFAULT))
		madsim_pi_copy(info, in, MADSIM_PI_LINK_DOWN_DEFAULT);
	down = madsim_pi_get(info, MADSIM_PI_LINK_DOWN_DEFAULT);
	if (madsim_pi_get(in, MADSIM_PI_NEIGHBOR_MTU))
		madsim_pi_copy(info, in, MADSIM_PI_NEIGHBOR_MTU);
	if (madsim_pi_get(in, MADSIM_PI_OPER_VLS))
		madsim_pi_copy(info, in, MADSIM_PI_OPER_VLS);
	if (port->node->sw)
		madsim_pi_set(info, MADSIM_PI_ENFORCE,
			      madsim_pi_get(in, MADSIM_PI_ENFORCE) &
			      (MADSIM_ENFORCE_IN | MADSIM_ENFORCE_OUT));
	info->vl_high_limit = in->vl_high_limit;
	info->vlstallcnt_hoqlife = in->vlstallcnt_hoqlife;
	info->localphyerrors_overrunerrors = in->localphyerrors_overrunerrors;

	if (phys)
		madsim_link_request(port, phys);
	else if (state == IB_PORT_DOWN)
		madsim_link_request(port, down);
	else if (state)
		madsim_port_set_state(port, state);
}

/* The port that a request is about, or NULL. A host sets the port that got it, which is also 0 */
static struct madsim_port *madsim_target(const struct madsim_request *req, u32 num)
{
	struct madsim_port *port = req->port;
	struct madsim_node *node = port->node;

	if (!node->sw && !num)
		num = port->num;
	if (num > node->nports || (req->set && !node->sw && num != port->num))
		return NULL;
	return &node->ports[num];
}

static u16 madsim_port_info(struct madsim_request *req)
{
	bool extended = req->mod & MADSIM_MOD_EXTENDED_SPEEDS;
	union madsim_port_info *pi = req->data;
	struct madsim_port *port;
	u8 reregister = 0;
	u16 speeds;

	port = madsim_target(req, req->mod & ~MADSIM_MOD_EXTENDED_SPEEDS);
	if (!port)
		return MADSIM_INVALID;

	if (req->set) {
		if (!madsim_port_info_valid(port, &pi->base))
			return MADSIM_INVALID;
		if (port->num &&
		    !madsim_speed_wanted(port, pi, extended, &speeds))
			return MADSIM_INVALID;
		if (madsim_is_end_port(port)) {
			madsim_set_end_port(port, &pi->base);
			reregister = madsim_pi_client_reregister(&pi->base);
		}
		if (port->num) {
			port->speeds_enabled = speeds;
			madsim_set_link(port, &pi->base);
		}
	}

	pi->base = port->info;
	pi->base.local_port_num = req->in_port;
	/* o14-12.2.1: so the requester learns that the port has told its clients */
	pi->base.clientrereg_resv_subnetto |= reregister;
	if (req->key != port->info.mkey && madsim_pi_mkey_protect(&pi->base))
		pi->base.mkey = 0;
	madsim_speed_read(port, pi, extended);
	return MADSIM_OK;
}

static u16 madsim_ext_port_info(struct madsim_request *req)
{
	struct madsim_port *port = madsim_target(req, req->mod);

	if (!port || !madsim_speed_fdr10(port, req->data, req->set))
		return MADSIM_INVALID;
	return MADSIM_OK;
}

static u16 madsim_smp_config_space(struct madsim_request *req)
{
	/* Behind a place for the M_Key */
	return madsim_config_space(req->port->node, req->mod, req->data + 8,
				   IB_SMP_DATA_SIZE - 8);
}

static u16 madsim_smp_register(struct madsim_request *req)
{
	return req->set ? madsim_access_register(req->port->node, req->data,
						 IB_SMP_DATA_SIZE) :
			  MADSIM_UNSUPPORTED;
}

static u16 madsim_pkey_table(struct madsim_request *req)
{
	struct madsim_port *port = req->port;
	u16 num = req->mod >> 16, block = req->mod;

	if (block || num > port->node->nports)
		return MADSIM_INVALID;
	if (port->node->sw)
		port = &port->node->ports[num];
	madsim_table(req, port->pkeys, sizeof(port->pkeys));
	if (req->set)
		madsim_port_event(port, IB_EVENT_PKEY_CHANGE);
	return MADSIM_OK;
}

static u16 madsim_sl_to_vl(struct madsim_request *req)
{
	struct madsim_node *node = req->port->node;
	u8 in = req->mod >> 8, out = req->mod;
	u8 last_in, last_out;
	unsigned int i, o;

	/* A port of a channel adapter has one table, and needs no modifier */
	if (!node->sw)
		out = req->port->num;
	else if (req->mod >> 18 || in > node->nports || out > node->nports)
		return MADSIM_INVALID;
	last_in = in;
	last_out = out;
	if (node->sw && req->mod & MADSIM_MOD_ALL_IN) {
		in = 0;
		last_in = node->nports;
	}
	if (node->sw && req->mod & MADSIM_MOD_ALL_OUT) {
		out = 0;
		last_out = node->nports;
	}

	for (i = in; req->set && i <= last_in; i++) {
		for (o = out; o <= last_out; o++)
			memcpy(madsim_sl2vl(node, i, o), req->data,
			       MADSIM_SLS / 2);
	}
	memcpy(req->data, madsim_sl2vl(node, in, out), MADSIM_SLS / 2);
	return MADSIM_OK;
}

static u16 madsim_vl_arb(struct madsim_request *req)
{
	struct madsim_port *port = req->port;
	u16 num = req->mod, block = req->mod >> 16;

	if (num > port->node->nports)
		return MADSIM_INVALID;
	if (port->node->sw)
		port = &port->node->ports[num];

	/* The first halves of the tables of low and high priority. Ours fit into these */
	if (block != 1 && block != 3)
		return MADSIM_INVALID;
	return madsim_table(req, port->vlarb[block == 3], MADSIM_VLARB_SIZE);
}

static u16 madsim_linear_fwd(struct madsim_request *req)
{
	if (req->mod >= MADSIM_LFT_SIZE / MADSIM_LFT_BLOCK)
		return MADSIM_INVALID;
	return madsim_table(req, &req->port->node->sw->lft[req->mod * MADSIM_LFT_BLOCK],
			    MADSIM_LFT_BLOCK);
}

static u16 madsim_mcast_fwd(struct madsim_request *req)
{
	struct madsim_switch *sw = req->port->node->sw;
	u32 block = req->mod & 0x1ff, word = req->mod >> 28;
	__be16 *data = req->data, *mft;
	unsigned int i, entry;

	if (req->mod & 0x0ffffe00 ||
	    block >= MADSIM_MFT_SIZE / MADSIM_MFT_BLOCK ||
	    word >= sw->mft_words)
		return MADSIM_INVALID;

	for (i = 0; i < MADSIM_MFT_BLOCK; i++) {
		entry = block * MADSIM_MFT_BLOCK + i;
		mft = &sw->mft[entry * sw->mft_words + word];
		if (req->set)
			*mft = data[i];
		data[i] = *mft;
	}
	return MADSIM_OK;
}

/* Number, which nodes have it, whether it can be set, length */
static const struct madsim_attribute madsim_attributes[] = {
	{ IB_SMP_ATTR_NODE_DESC, MADSIM_OF_ALL, false, 64, madsim_node_desc },
	{ IB_SMP_ATTR_NODE_INFO, MADSIM_OF_ALL, false, sizeof(struct ib_node_info),
	  madsim_node_info },
	{ IB_SMP_ATTR_SWITCH_INFO, MADSIM_OF_SWITCHES, true,
	  sizeof(struct madsim_switch_info), madsim_switch_info },
	{ IB_SMP_ATTR_GUID_INFO, MADSIM_OF_ALL, true, MADSIM_GUIDS * sizeof(__be64),
	  madsim_guid_info },
	{ IB_SMP_ATTR_PORT_INFO, MADSIM_OF_ALL, true, sizeof(union madsim_port_info),
	  madsim_port_info },
	{ IB_SMP_ATTR_PKEY_TABLE, MADSIM_OF_ALL, true, MADSIM_PKEYS * sizeof(__be16),
	  madsim_pkey_table },
	{ IB_SMP_ATTR_SL_TO_VL_TABLE, MADSIM_OF_ALL, true, MADSIM_SLS / 2,
	  madsim_sl_to_vl },
	{ IB_SMP_ATTR_VL_ARB_TABLE, MADSIM_OF_ALL, true, MADSIM_VLARB_SIZE,
	  madsim_vl_arb },
	{ IB_SMP_ATTR_LINEAR_FORWARD_TABLE, MADSIM_OF_SWITCHES, true, MADSIM_LFT_BLOCK,
	  madsim_linear_fwd },
	{ IB_SMP_ATTR_MCAST_FORWARD_TABLE, MADSIM_OF_SWITCHES, true,
	  MADSIM_MFT_BLOCK * sizeof(__be16), madsim_mcast_fwd },
	{ MADSIM_ATTR_EXT_PORT_INFO, MADSIM_OF_ALL, true,
	  sizeof(struct madsim_ext_port_info), madsim_ext_port_info },
	{ MADSIM_ATTR_CONFIG_SPACE, MADSIM_OF_ALL, true, IB_SMP_DATA_SIZE,
	  madsim_smp_config_space },
	{ MADSIM_ATTR_ACCESS_REGISTER, MADSIM_OF_ALL, true, IB_SMP_DATA_SIZE,
	  madsim_smp_register },
};

static u16 madsim_opa_node_info(struct madsim_request *req)
{
	const struct madsim_node *node = req->port->node;
	struct opa_node_info *ni = req->data;

	memset(ni, 0, sizeof(*ni));
	ni->base_version = OPA_MGMT_BASE_VERSION;
	ni->class_version = OPA_SM_CLASS_VERSION;
	ni->node_type = node->type;
	ni->num_ports = node->nports;
	ni->system_image_guid = cpu_to_be64(madsim_sys_guid(node));
	ni->node_guid = cpu_to_be64(node->guid);
	ni->port_guid = req->port->guids[0];
	ni->partition_cap = cpu_to_be16(MADSIM_PKEYS);
	ni->device_id = cpu_to_be16(node->device_id);
	ni->local_port_num = req->in_port;
	put_unaligned_be24(node->vendor_id, ni->vendor_id);
	return MADSIM_OK;
}

/* An OPA SMP has a header and attributes of its own; these two are known */
static const struct madsim_attribute madsim_opa_attributes[] = {
	{ OPA_ATTRIB_ID_NODE_DESCRIPTION, MADSIM_OF_ALL, false,
	  sizeof(struct opa_node_description), madsim_node_desc },
	{ OPA_ATTRIB_ID_NODE_INFO, MADSIM_OF_ALL, false, sizeof(struct opa_node_info),
	  madsim_opa_node_info },
};

static u16 madsim_ib_answer(struct madsim_request *req, struct ib_smp *smp)
{
	const struct madsim_attribute *attr;
	u16 status;

	if (smp->class_version != MADSIM_CLASS_VERSION)
		return IB_MGMT_MAD_STATUS_BAD_VERSION;

	req->mod = be32_to_cpu(smp->attr_mod);
	req->key = smp->mkey;
	req->data = smp->data;
	attr = madsim_attribute_find(madsim_attributes,
				     ARRAY_SIZE(madsim_attributes), req,
				     smp->attr_id);
	if (!attr)
		return MADSIM_UNSUPPORTED;

	status = attr->handle(req);
	memset(smp->data + attr->length, 0, sizeof(smp->data) - attr->length);
	return status;
}

/* The response ends with the attribute */
static u16 madsim_opa_answer(struct madsim_request *req, struct opa_smp *smp, u32 *len)
{
	const struct madsim_attribute *attr;

	req->mod = be32_to_cpu(smp->attr_mod);
	req->key = smp->mkey;
	req->data = opa_get_smp_data(smp);
	*len = opa_get_smp_header_size(smp);
	attr = madsim_attribute_find(madsim_opa_attributes,
				     ARRAY_SIZE(madsim_opa_attributes), req,
				     smp->attr_id);
	if (!attr)
		return MADSIM_UNSUPPORTED;

	*len += attr->length;
	return attr->handle(req);
}

/**
 * madsim_sma - show a MAD to the subnet management agent
 * @port: the end port that got it
 * @in_port: the port it came in by; 0 is a switch itself
 * @mad: an SMP; becomes the response
 * @len: its length; becomes the length of the response
 * @check_mkey: the M_Key of @mad has to fit
 *
 * Context: any; fabric->lock is held.
 * Return: what is to be done with @mad.
 */
enum madsim_verdict madsim_sma(struct madsim_port *port, u8 in_port,
			       struct ib_mad *mad, u32 *len, bool check_mkey)
{
	struct ib_smp *smp = (struct ib_smp *)mad;
	struct madsim_request req = {
		.port = port,
		.in_port = in_port,
		.set = smp->method == IB_MGMT_METHOD_SET,
	};
	u16 status;

	lockdep_assert_held(&port->node->fabric->lock);

	if (smp->method != IB_MGMT_METHOD_GET &&
	    smp->method != IB_MGMT_METHOD_SET &&
	    smp->method != IB_MGMT_METHOD_TRAP_REPRESS)
		return MADSIM_PASS;
	if (smp->attr_id == IB_SMP_ATTR_SM_INFO)
		return MADSIM_PASS;
	if (!port->node->smp_by_lid &&
	    smp->mgmt_class == IB_MGMT_CLASS_SUBN_LID_ROUTED)
		return MADSIM_CONSUMED;
	if (check_mkey && !madsim_mkey_allows(port, smp))
		return MADSIM_CONSUMED;

	if (smp->method == IB_MGMT_METHOD_TRAP_REPRESS) {
		if (smp->attr_id == IB_SMP_ATTR_NOTICE)
			madsim_trap_repress(port, (void *)smp->data);
		return MADSIM_CONSUMED;
	}

	if (madsim_fault_refuses(port->node, &mad->mad_hdr))
		status = MADSIM_UNSUPPORTED;
	else if (madsim_is_opa_smp(&mad->mad_hdr))
		status = madsim_opa_answer(&req, (void *)smp, len);
	else
		status = madsim_ib_answer(&req, smp);
	madsim_reply(&mad->mad_hdr, status);
	return MADSIM_REPLY;
}
