// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The congestion control agent: what a congestion manager reads and writes, with
 * the check of its CC_Key. IBA annex A10.
 *
 * Links here take no time, so nothing is ever congested. The settings are kept as
 * written, and the log stays empty.
 */

#include <linux/ktime.h>

#include "agents.h"

#define MADSIM_CC_VERSION	2

#define MADSIM_CC_KEY_INFO	cpu_to_be16(0x0012)
#define MADSIM_CC_LOG		cpu_to_be16(0x0013)

/* What a log is of */
#define MADSIM_CC_LOG_SWITCH	1
#define MADSIM_CC_LOG_CA	2

#define MADSIM_CC_TABLE_BLOCK	64
#define MADSIM_CC_PORT_BLOCK	48

/* Which fields a Set of SwitchCongestionSetting is about */
#define MADSIM_CC_VICTIM_MASK	BIT(0)
#define MADSIM_CC_CREDIT_MASK	BIT(1)
#define MADSIM_CC_THRESHOLD	BIT(2)
#define MADSIM_CC_STARVATION	BIT(3)
#define MADSIM_CC_MARKING_RATE	BIT(4)

/* A MAD of the class. The attribute is @data, but for the log in it and @log */
struct madsim_cc_mad {
	struct ib_mad_hdr hdr;
	__be64 key;
	u8 log[32];
	u8 data[192];
};

static_assert(sizeof(struct madsim_cc_mad) == IB_MGMT_MAD_SIZE);

struct madsim_cc_info {
	__be16 info;
	u8 table_cap;			/* blocks of CongestionControlTable */
} __packed;

struct madsim_cc_key_info {
	__be64 key;
	u8 protect;			/* its top bit */
	u8 reserved;
	__be16 lease_period;
	__be16 violations;
} __packed;

/* Without the events, of which there are none */
struct madsim_cc_log {
	u8 type;
	u8 flags;
	__be16 events;
	__be32 second;			/* of a switch: the timestamp */
	__be32 third;			/* of a channel adapter */
};

struct madsim_cc_table {
	__be16 limit;
	__be16 reserved;
	__be16 entry[MADSIM_CC_TABLE_BLOCK];
};

/*
 * Whether a MAD is answered. A requester with a wrong key may see whether there is one, and no
 * more. A lease that has run out opens the port
 */
bool madsim_cc_admits(struct madsim_cc *cc, const struct ib_mad *mad)
{
	const struct madsim_cc_mad *ccm = (const void *)mad;

	if (madsim_lease_ends(&cc->key_expires))
		cc->key_protect = false;
	if (!cc->key || cc->key == ccm->key) {
		cc->key_expires = 0;
		return true;
	}
	if (ccm->hdr.attr_id == MADSIM_CC_KEY_INFO && ccm->hdr.method == IB_MGMT_METHOD_GET)
		return true;
	madsim_count_violation(&cc->key_violations);
	madsim_lease_begin(&cc->key_expires, cc->key_lease_period);
	return false;
}

static __be32 madsim_cc_timestamp(void)
{
	/* In units of 1.024 us */
	return cpu_to_be32(ktime_get_ns() >> 10);
}

static u16 madsim_cc_class_port_info(struct madsim_request *req)
{
	madsim_class_port_info(req->data, MADSIM_CC_VERSION);
	return MADSIM_OK;
}

static u16 madsim_cc_info(struct madsim_request *req)
{
	struct madsim_cc_info *info = req->data;

	/* A switch has no credit starvation here, and nothing a port of its own */
	info->info = 0;
	info->table_cap = req->port->node->sw ?
			  0 : MADSIM_CC_TABLE_SIZE / MADSIM_CC_TABLE_BLOCK;
	return MADSIM_OK;
}

static u16 madsim_cc_key_info(struct madsim_request *req)
{
	struct madsim_cc *cc = req->port->cc;
	struct madsim_cc_key_info *info = req->data;
	bool shown = req->set || !cc->key_protect || cc->key == req->key;

	if (req->set) {
		cc->key = info->key;
		cc->key_protect = info->protect & 0x80;
		cc->key_lease_period = info->lease_period;
		/* Anything else leaves the count as it is */
		if (!info->violations)
			cc->key_violations = 0;
	}
	info->key = shown ? cc->key : 0;
	info->protect = cc->key_protect ? 0x80 : 0;
	info->reserved = 0;
	info->lease_period = cc->key_lease_period;
	info->violations = cc->key_violations;
	return MADSIM_OK;
}

static u16 madsim_cc_log(struct madsim_request *req)
{
	struct madsim_cc_log *log = req->data;

	memset(log, 0, sizeof(*log));
	if (req->port->node->sw) {
		log->type = MADSIM_CC_LOG_SWITCH;
		log->second = madsim_cc_timestamp();
	} else {
		log->type = MADSIM_CC_LOG_CA;
		log->third = madsim_cc_timestamp();
	}
	return MADSIM_OK;
}

static u16 madsim_cc_switch_setting(struct madsim_request *req)
{
	struct madsim_cc_switch_setting *to = &req->port->node->sw->cc;
	struct madsim_cc_switch_setting *from = req->data;
	u32 map = be32_to_cpu(from->control_map);

	if (req->set) {
		to->control_map = from->control_map;
		if (map & MADSIM_CC_VICTIM_MASK)
			memcpy(to->victim_mask, from->victim_mask,
			       sizeof(to->victim_mask));
		if (map & MADSIM_CC_CREDIT_MASK)
			memcpy(to->credit_mask, from->credit_mask,
			       sizeof(to->credit_mask));
		if (map & MADSIM_CC_THRESHOLD) {
			to->threshold = from->threshold & 0xf0;
			to->packet_size = from->packet_size;
		}
		if (map & MADSIM_CC_STARVATION) {
			to->cs_threshold = from->cs_threshold &
					   cpu_to_be16(0xf000);
			to->cs_return_delay = from->cs_return_delay;
		}
		if (map & MADSIM_CC_MARKING_RATE)
			to->marking_rate = from->marking_rate;
	}
	*from = *to;
	return MADSIM_OK;
}

static u16 madsim_cc_switch_port_setting(struct madsim_request *req)
{
	struct madsim_node *node = req->port->node;
	__be32 *setting = req->data;
	unsigned int i, num;

	if (req->mod > node->nports / MADSIM_CC_PORT_BLOCK)
		return MADSIM_INVALID;
	for (i = 0; i < MADSIM_CC_PORT_BLOCK; i++) {
		num = req->mod * MADSIM_CC_PORT_BLOCK + i;
		if (num > node->nports)
			setting[i] = 0;
		else if (req->set)
			node->ports[num].cc_setting = setting[i];
		else
			setting[i] = node->ports[num].cc_setting;
	}
	return MADSIM_OK;
}

static u16 madsim_cc_ca_setting(struct madsim_request *req)
{
	struct madsim_cc_ca_setting *to = &req->port->cc->ca;
	struct madsim_cc_ca_setting *from = req->data;
	unsigned int i;

	if (req->set) {
		to->port_control = from->port_control;
		to->control_map = from->control_map;
		for (i = 0; i < MADSIM_SLS; i++) {
			if (be16_to_cpu(from->control_map) & BIT(i))
				to->sl[i] = from->sl[i];
		}
	}
	*from = *to;
	return MADSIM_OK;
}

static u16 madsim_cc_table(struct madsim_request *req)
{
	struct madsim_cc *cc = req->port->cc;
	struct madsim_cc_table *table = req->data;
	__be16 *entry;

	if (req->mod >= MADSIM_CC_TABLE_SIZE / MADSIM_CC_TABLE_BLOCK)
		return MADSIM_INVALID;
	entry = &cc->table[req->mod * MADSIM_CC_TABLE_BLOCK];
	if (req->set) {
		if (be16_to_cpu(table->limit) >= MADSIM_CC_TABLE_SIZE)
			return MADSIM_INVALID;
		cc->table_limit = table->limit;
		memcpy(entry, table->entry, sizeof(table->entry));
	}
	table->limit = cc->table_limit;
	table->reserved = 0;
	memcpy(table->entry, entry, sizeof(table->entry));
	return MADSIM_OK;
}

static u16 madsim_cc_time(struct madsim_request *req)
{
	*(__be32 *)req->data = madsim_cc_timestamp();
	return MADSIM_OK;
}

static const struct madsim_attribute madsim_cc_attributes[] = {
	{ IB_MGMT_CLASSPORTINFO_ATTR_ID, MADSIM_OF_ALL, false,
	  sizeof(struct ib_class_port_info), madsim_cc_class_port_info },
	{ cpu_to_be16(0x0011), MADSIM_OF_ALL, false,
	  sizeof(struct madsim_cc_info), madsim_cc_info },
	{ MADSIM_CC_KEY_INFO, MADSIM_OF_ALL, true,
	  sizeof(struct madsim_cc_key_info), madsim_cc_key_info },
	{ MADSIM_CC_LOG, MADSIM_OF_ALL, false,
	  sizeof(struct madsim_cc_log), madsim_cc_log },
	{ cpu_to_be16(0x0014), MADSIM_OF_SWITCHES, true,
	  sizeof(struct madsim_cc_switch_setting), madsim_cc_switch_setting },
	{ cpu_to_be16(0x0015), MADSIM_OF_SWITCHES, true,
	  MADSIM_CC_PORT_BLOCK * sizeof(__be32), madsim_cc_switch_port_setting },
	{ cpu_to_be16(0x0016), MADSIM_OF_HOSTS, true,
	  sizeof(struct madsim_cc_ca_setting), madsim_cc_ca_setting },
	{ cpu_to_be16(0x0017), MADSIM_OF_HOSTS, true,
	  sizeof(struct madsim_cc_table), madsim_cc_table },
	{ cpu_to_be16(0x0018), MADSIM_OF_ALL, false, sizeof(__be32),
	  madsim_cc_time },
};

u16 madsim_cc(struct madsim_port *port, struct ib_mad *ib_mad)
{
	struct madsim_cc_mad *mad = (void *)ib_mad;
	bool log = mad->hdr.attr_id == MADSIM_CC_LOG;
	struct madsim_request req = {
		.port = port,
		.mod = be32_to_cpu(mad->hdr.attr_mod),
		.key = mad->key,
		.set = mad->hdr.method == IB_MGMT_METHOD_SET,
		.data = log ? mad->log : mad->data,
	};
	const struct madsim_attribute *attr;
	u8 *end = (u8 *)(mad + 1);
	u16 status;

	if (mad->hdr.class_version != MADSIM_CC_VERSION)
		return IB_MGMT_MAD_STATUS_BAD_VERSION;
	attr = madsim_attribute_find(madsim_cc_attributes, ARRAY_SIZE(madsim_cc_attributes), &req,
				     mad->hdr.attr_id);
	if (!attr)
		return MADSIM_UNSUPPORTED;

	status = attr->handle(&req);
	if (!log)
		memset(mad->log, 0, sizeof(mad->log));
	memset(req.data + attr->length, 0, end - (u8 *)req.data - attr->length);
	return status;
}
