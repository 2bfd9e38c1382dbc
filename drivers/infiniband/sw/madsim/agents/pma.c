// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The performance management agent: PortCounters, PortCountersExtended, PortRcvErrorDetails and
 * PortXmitDiscardDetails of what really passed. Samples are in samples.c.
 *
 * A port has one total of each kind. An attribute shows the total in a field, which can be set, and
 * which stops at its largest value.
 */

#include "agents.h"

#define MADSIM_PMA_VERSION	1
#define MADSIM_ALL_PORTS	0xff

/* Names that ib_pma.h lacks */
#define MADSIM_PMA_RCV_ERROR_DETAILS	cpu_to_be16(0x0015)
#define MADSIM_PMA_XMIT_DISCARD_DETAILS	cpu_to_be16(0x0016)
#define MADSIM_PMA_CAP_QP1_DROPPED	cpu_to_be16(1 << 15)
#define MADSIM_PMA_CAP2_EXT_ERRORS	BIT(1)

/* The bits of CounterSelect2 follow those of CounterSelect */
#define MADSIM_SELECT2		16

/* The counters of all attributes, one attribute behind the other */
static const struct madsim_pma_field {
	u8 counter;
	u16 offset;		/* of its first bit */
	u8 bits;
	u8 select;		/* the bit of CounterSelect by which a Set selects it */
} madsim_pma_fields[] = {
	/* PortCounters */
	{ MADSIM_SYMBOL_ERRORS, 32, 16, 0 },
	{ MADSIM_LINK_RECOVERIES, 48, 8, 1 },
	{ MADSIM_LINK_DOWNED, 56, 8, 2 },
	{ MADSIM_RCV_ERRORS, 64, 16, 3 },
	{ MADSIM_RCV_REMPHYS_ERRORS, 80, 16, 4 },
	{ MADSIM_RELAY_ERRORS, 96, 16, 5 },
	{ MADSIM_XMIT_DISCARDS, 112, 16, 6 },
	{ MADSIM_XMIT_CONSTRAINT_ERRORS, 128, 8, 7 },
	{ MADSIM_RCV_CONSTRAINT_ERRORS, 136, 8, 8 },
	{ MADSIM_LINK_INTEGRITY_ERRORS, 152, 4, 9 },
	{ MADSIM_EXCESSIVE_OVERRUNS, 156, 4, 10 },
	{ MADSIM_VL15_DROPPED, 176, 16, 11 },
	{ MADSIM_XMIT_DATA, 192, 32, 12 },
	{ MADSIM_RCV_DATA, 224, 32, 13 },
	{ MADSIM_XMIT_PKTS, 256, 32, 14 },
	{ MADSIM_RCV_PKTS, 288, 32, 15 },
	{ MADSIM_XMIT_WAIT, 320, 32, MADSIM_SELECT2 },
	{ MADSIM_QP1_DROPPED, 160, 16, MADSIM_SELECT2 + 1 },
	/* PortCountersExtended */
	{ MADSIM_XMIT_DATA, 64, 64, 0 },
	{ MADSIM_RCV_DATA, 128, 64, 1 },
	{ MADSIM_XMIT_PKTS, 192, 64, 2 },
	{ MADSIM_RCV_PKTS, 256, 64, 3 },
	{ MADSIM_XMIT_UCAST, 320, 64, 4 },
	{ MADSIM_RCV_UCAST, 384, 64, 5 },
	{ MADSIM_XMIT_MCAST, 448, 64, 6 },
	{ MADSIM_RCV_MCAST, 512, 64, 7 },
	{ MADSIM_SYMBOL_ERRORS, 576, 64, MADSIM_SELECT2 },
	{ MADSIM_LINK_RECOVERIES, 640, 64, MADSIM_SELECT2 + 1 },
	{ MADSIM_LINK_DOWNED, 704, 64, MADSIM_SELECT2 + 2 },
	{ MADSIM_RCV_ERRORS, 768, 64, MADSIM_SELECT2 + 3 },
	{ MADSIM_RCV_REMPHYS_ERRORS, 832, 64, MADSIM_SELECT2 + 4 },
	{ MADSIM_RELAY_ERRORS, 896, 64, MADSIM_SELECT2 + 5 },
	{ MADSIM_XMIT_DISCARDS, 960, 64, MADSIM_SELECT2 + 6 },
	{ MADSIM_XMIT_CONSTRAINT_ERRORS, 1024, 64, MADSIM_SELECT2 + 7 },
	{ MADSIM_RCV_CONSTRAINT_ERRORS, 1088, 64, MADSIM_SELECT2 + 8 },
	{ MADSIM_LINK_INTEGRITY_ERRORS, 1152, 64, MADSIM_SELECT2 + 9 },
	{ MADSIM_EXCESSIVE_OVERRUNS, 1216, 64, MADSIM_SELECT2 + 10 },
	{ MADSIM_VL15_DROPPED, 1280, 64, MADSIM_SELECT2 + 11 },
	{ MADSIM_XMIT_WAIT, 1344, 64, MADSIM_SELECT2 + 12 },
	{ MADSIM_QP1_DROPPED, 1408, 64, MADSIM_SELECT2 + 13 },
	/* PortRcvErrorDetails */
	{ MADSIM_LOCAL_PHYSICAL_ERRORS, 32, 16, 0 },
	{ MADSIM_MALFORMED_ERRORS, 48, 16, 1 },
	{ MADSIM_OVERRUN_ERRORS, 64, 16, 2 },
	{ MADSIM_DLID_MAPPING_ERRORS, 80, 16, 3 },
	{ MADSIM_VL_MAPPING_ERRORS, 96, 16, 4 },
	{ MADSIM_LOOPING_ERRORS, 112, 16, 5 },
	/* PortXmitDiscardDetails */
	{ MADSIM_INACTIVE_DISCARDS, 32, 16, 0 },
	{ MADSIM_MTU_DISCARDS, 48, 16, 1 },
	{ MADSIM_LIFETIME_DISCARDS, 64, 16, 2 },
	{ MADSIM_HOQ_DISCARDS, 80, 16, 3 },
};

static_assert(ARRAY_SIZE(madsim_pma_fields) == MADSIM_PMA_FIELDS);

static const struct madsim_pma_attribute {
	__be16 id;
	u8 select2;		/* the byte that CounterSelect2 begins in */
	u8 select2_len;		/* in bytes, 0 if there is none */
	u8 first;		/* its first field, also in the base of struct madsim_counters */
	u8 end;			/* behind its last field */
} madsim_pma_attributes[] = {
	{ IB_PMA_PORT_COUNTERS, 18, 1, 0, 18 },
	{ IB_PMA_PORT_COUNTERS_EXT, 4, 4, 18, 40 },
	{ MADSIM_PMA_RCV_ERROR_DETAILS, 0, 0, 40, 46 },
	{ MADSIM_PMA_XMIT_DISCARD_DETAILS, 0, 0, 46, MADSIM_PMA_FIELDS },
};

/* As the specification has them */
const char * const madsim_counter_names[MADSIM_COUNTERS] = {
	[MADSIM_XMIT_DATA] = "PortXmitData",
	[MADSIM_RCV_DATA] = "PortRcvData",
	[MADSIM_XMIT_PKTS] = "PortXmitPkts",
	[MADSIM_RCV_PKTS] = "PortRcvPkts",
	[MADSIM_XMIT_UCAST] = "PortUnicastXmitPkts",
	[MADSIM_RCV_UCAST] = "PortUnicastRcvPkts",
	[MADSIM_XMIT_MCAST] = "PortMulticastXmitPkts",
	[MADSIM_RCV_MCAST] = "PortMulticastRcvPkts",
	[MADSIM_XMIT_WAIT] = "PortXmitWait",
	[MADSIM_SYMBOL_ERRORS] = "SymbolErrorCounter",
	[MADSIM_LINK_RECOVERIES] = "LinkErrorRecoveryCounter",
	[MADSIM_LINK_DOWNED] = "LinkDownedCounter",
	[MADSIM_RCV_ERRORS] = "PortRcvErrors",
	[MADSIM_RCV_REMPHYS_ERRORS] = "PortRcvRemotePhysicalErrors",
	[MADSIM_RELAY_ERRORS] = "PortRcvSwitchRelayErrors",
	[MADSIM_XMIT_DISCARDS] = "PortXmitDiscards",
	[MADSIM_XMIT_CONSTRAINT_ERRORS] = "PortXmitConstraintErrors",
	[MADSIM_RCV_CONSTRAINT_ERRORS] = "PortRcvConstraintErrors",
	[MADSIM_LINK_INTEGRITY_ERRORS] = "LocalLinkIntegrityErrors",
	[MADSIM_EXCESSIVE_OVERRUNS] = "ExcessiveBufferOverrunErrors",
	[MADSIM_VL15_DROPPED] = "VL15Dropped",
	[MADSIM_QP1_DROPPED] = "QP1Dropped",
	[MADSIM_LOCAL_PHYSICAL_ERRORS] = "PortLocalPhysicalErrors",
	[MADSIM_MALFORMED_ERRORS] = "PortMalformedPacketErrors",
	[MADSIM_OVERRUN_ERRORS] = "PortBufferOverrunErrors",
	[MADSIM_DLID_MAPPING_ERRORS] = "PortDLIDMappingErrors",
	[MADSIM_VL_MAPPING_ERRORS] = "PortVLMappingErrors",
	[MADSIM_LOOPING_ERRORS] = "PortLoopingErrors",
	[MADSIM_INACTIVE_DISCARDS] = "PortInactiveDiscards",
	[MADSIM_MTU_DISCARDS] = "PortNeighborMTUDiscards",
	[MADSIM_LIFETIME_DISCARDS] = "PortSwLifetimeLimitDiscards",
	[MADSIM_HOQ_DISCARDS] = "PortSwHOQLifetimeLimitDiscards",
};

/* Set a counter in all attributes that have it. A field that is too short shows its maximum */
void madsim_pma_set(struct madsim_port *port, enum madsim_counter which, u64 value)
{
	struct madsim_counters *cnt = &port->counters;
	unsigned int i;

	spin_lock_irq(&port->node->fabric->lock);
	madsim_fault_count(port);
	madsim_samples_skip(port, which, value - cnt->total[which]);
	cnt->total[which] = value;
	for (i = 0; i < MADSIM_PMA_FIELDS; i++) {
		if (madsim_pma_fields[i].counter == which)
			cnt->base[i] = 0;
	}
	spin_unlock_irq(&port->node->fabric->lock);
}

static u64 madsim_get_bytes(const u8 *from, unsigned int len)
{
	u64 value = 0;

	while (len--)
		value = value << 8 | *from++;
	return value;
}

static u64 madsim_get_field(const struct madsim_pma_field *field, const u8 *data)
{
	const u8 *from = &data[field->offset / 8];

	/* The only ones that are less than a byte */
	if (field->bits == 4)
		return field->offset % 8 ? *from & 0xf : *from >> 4;
	return madsim_get_bytes(from, field->bits / 8);
}

static void madsim_put_field(const struct madsim_pma_field *field, u8 *data, u64 value)
{
	u8 *to = &data[field->offset / 8];
	int i;

	value = min(value, GENMASK_ULL(field->bits - 1, 0));
	if (field->bits == 4) {
		*to |= field->offset % 8 ? value : value << 4;
		return;
	}
	for (i = field->bits / 8 - 1; i >= 0; i--) {
		to[i] = value;
		value >>= 8;
	}
}

static void madsim_set_counters(struct madsim_port *port,
				const struct madsim_pma_attribute *attr,
				const u8 *data)
{
	struct madsim_counters *cnt = &port->counters;
	u64 selected = madsim_get_bytes(&data[2], 2) |
		       madsim_get_bytes(&data[attr->select2],
					attr->select2_len) << MADSIM_SELECT2;
	unsigned int i;

	madsim_fault_count(port);
	for (i = attr->first; i < attr->end; i++) {
		const struct madsim_pma_field *field = &madsim_pma_fields[i];

		if (selected & BIT_ULL(field->select))
			cnt->base[i] = cnt->total[field->counter] - madsim_get_field(field, data);
	}
}

/* What ports @first to @last have counted together */
static void madsim_get_counters(struct madsim_node *node,
				unsigned int first, unsigned int last,
				const struct madsim_pma_attribute *attr,
				u8 *data)
{
	unsigned int i, num;

	for (num = first; num <= last; num++)
		madsim_fault_count(&node->ports[num]);
	for (i = attr->first; i < attr->end; i++) {
		const struct madsim_pma_field *field = &madsim_pma_fields[i];
		u64 sum = 0;

		for (num = first; num <= last; num++) {
			const struct madsim_counters *cnt = &node->ports[num].counters;

			sum += cnt->total[field->counter] - cnt->base[i];
		}
		madsim_put_field(field, data, sum);
	}
}

static void madsim_pma_class_port_info(struct ib_class_port_info *cpi)
{
	madsim_class_port_info(cpi, MADSIM_PMA_VERSION);
	cpi->capability_mask = IB_PMA_CLASS_CAP_ALLPORTSELECT |
			       IB_PMA_CLASS_CAP_EXT_WIDTH |
			       IB_PMA_CLASS_CAP_XMIT_WAIT |
			       MADSIM_PMA_CAP_QP1_DROPPED;
	ib_set_cpi_capmask2(cpi, MADSIM_PMA_CAP2_EXT_ERRORS);
}

u16 madsim_pma(struct madsim_port *port, struct ib_mad *mad)
{
	struct ib_pma_mad *pma = (struct ib_pma_mad *)mad;
	bool set = pma->mad_hdr.method == IB_MGMT_METHOD_SET;
	bool samples = pma->mad_hdr.attr_id == IB_PMA_PORT_SAMPLES_CONTROL;
	const struct madsim_pma_attribute *attr = madsim_pma_attributes;
	const struct madsim_pma_attribute *end =
		attr + ARRAY_SIZE(madsim_pma_attributes);
	struct madsim_node *node = port->node;
	u8 select = pma->data[1];
	unsigned int first = select, last = select, num;

	if (pma->mad_hdr.class_version != MADSIM_PMA_VERSION)
		return IB_MGMT_MAD_STATUS_BAD_VERSION;
	if (pma->mad_hdr.attr_id == IB_PMA_CLASS_PORT_INFO && !set) {
		madsim_pma_class_port_info((void *)pma->data);
		return MADSIM_OK;
	}

	if (pma->mad_hdr.attr_id == IB_PMA_PORT_SAMPLES_RESULT && !set)
		return madsim_samples_result(port, pma);

	while (attr < end && attr->id != pma->mad_hdr.attr_id)
		attr++;
	if (attr == end && !samples)
		return MADSIM_UNSUPPORTED;

	if (select == MADSIM_ALL_PORTS) {
		first = 1;
		last = node->nports;
	} else if (select > node->nports || (!select && !node->sw)) {
		return MADSIM_INVALID;
	}

	if (samples)
		return madsim_samples_control(port, first, last, pma, set);

	for (num = first; set && num <= last; num++)
		madsim_set_counters(&node->ports[num], attr, pma->data);
	memset(pma->data, 0, sizeof(pma->data));
	pma->data[1] = select;
	madsim_get_counters(node, first, last, attr, pma->data);
	return MADSIM_OK;
}
