// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The performance management agent: PortCounters and PortCountersExtended of
 * what really passed.
 */

#include "madsim.h"

#define MADSIM_PMA_VERSION	1
#define MADSIM_ALL_PORTS	0xff
#define MADSIM_RESP_TIME	18	/* 4.096 us * 2^n: about a second */

/* CounterSelect of PortCounters: the bit that ib_pma.h leaves out */
#define MADSIM_SEL_PORT_RCV_SWITCH_RELAY_ERRORS	cpu_to_be16(0x0020)

/* The counters of PortCountersExtended: their order, and their CounterSelect */
enum madsim_ext {
	MADSIM_EXT_XMIT_DATA,
	MADSIM_EXT_RCV_DATA,
	MADSIM_EXT_XMIT_PKTS,
	MADSIM_EXT_RCV_PKTS,
	MADSIM_EXT_UNICAST_XMIT_PKTS,
	MADSIM_EXT_UNICAST_RCV_PKTS,
	MADSIM_EXT_MULTICAST_XMIT_PKTS,
	MADSIM_EXT_MULTICAST_RCV_PKTS,
};

static_assert(MADSIM_EXT_MULTICAST_RCV_PKTS + 1 == MADSIM_EXT_COUNTERS);

static u64 madsim_ext_now(const struct madsim_counters *cnt,
			  enum madsim_ext which)
{
	const u64 *total = cnt->total;

	switch (which) {
	case MADSIM_EXT_XMIT_DATA:
		return total[MADSIM_XMIT_DATA];
	case MADSIM_EXT_RCV_DATA:
		return total[MADSIM_RCV_DATA];
	case MADSIM_EXT_XMIT_PKTS:
		return total[MADSIM_XMIT_PKTS];
	case MADSIM_EXT_RCV_PKTS:
		return total[MADSIM_RCV_PKTS];
	case MADSIM_EXT_UNICAST_XMIT_PKTS:
		return total[MADSIM_XMIT_PKTS] - total[MADSIM_XMIT_MCAST];
	case MADSIM_EXT_UNICAST_RCV_PKTS:
		return total[MADSIM_RCV_PKTS] - total[MADSIM_RCV_MCAST];
	case MADSIM_EXT_MULTICAST_XMIT_PKTS:
		return total[MADSIM_XMIT_MCAST];
	case MADSIM_EXT_MULTICAST_RCV_PKTS:
		return total[MADSIM_RCV_MCAST];
	}
	return 0;
}

/* The counters of PortCounters stop at their largest value */
static __be32 madsim_saturate(u64 value)
{
	return cpu_to_be32(min_t(u64, value, U32_MAX));
}

static void madsim_get_counters(const struct madsim_counters *cnt,
				struct ib_pma_portcounters *p)
{
	u64 now[MADSIM_BASIC_TOTALS];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(now); i++)
		now[i] = cnt->total[i] - cnt->base[i];

	p->link_downed_counter = cnt->link_downed;
	p->port_rcv_errors = cpu_to_be16(cnt->rcv_errors);
	p->port_rcv_switch_relay_errors = cpu_to_be16(cnt->relay_errors);
	p->port_xmit_discards = cpu_to_be16(cnt->xmit_discards);
	p->vl15_dropped = cpu_to_be16(cnt->vl15_dropped);
	p->port_xmit_data = madsim_saturate(now[MADSIM_XMIT_DATA]);
	p->port_rcv_data = madsim_saturate(now[MADSIM_RCV_DATA]);
	p->port_xmit_packets = madsim_saturate(now[MADSIM_XMIT_PKTS]);
	p->port_rcv_packets = madsim_saturate(now[MADSIM_RCV_PKTS]);
}

static void madsim_set_total(struct madsim_counters *cnt,
			     enum madsim_total which, __be32 value)
{
	cnt->base[which] = cnt->total[which] - be32_to_cpu(value);
}

static void madsim_set_counters(struct madsim_counters *cnt,
				const struct ib_pma_portcounters *p)
{
	__be16 sel = p->counter_select;

	if (sel & IB_PMA_SEL_LINK_DOWNED)
		cnt->link_downed = p->link_downed_counter;
	if (sel & IB_PMA_SEL_PORT_RCV_ERRORS)
		cnt->rcv_errors = be16_to_cpu(p->port_rcv_errors);
	if (sel & MADSIM_SEL_PORT_RCV_SWITCH_RELAY_ERRORS)
		cnt->relay_errors =
			be16_to_cpu(p->port_rcv_switch_relay_errors);
	if (sel & IB_PMA_SEL_PORT_XMIT_DISCARDS)
		cnt->xmit_discards = be16_to_cpu(p->port_xmit_discards);
	if (sel & IB_PMA_SEL_PORT_VL15_DROPPED)
		cnt->vl15_dropped = be16_to_cpu(p->vl15_dropped);
	if (sel & IB_PMA_SEL_PORT_XMIT_DATA)
		madsim_set_total(cnt, MADSIM_XMIT_DATA, p->port_xmit_data);
	if (sel & IB_PMA_SEL_PORT_RCV_DATA)
		madsim_set_total(cnt, MADSIM_RCV_DATA, p->port_rcv_data);
	if (sel & IB_PMA_SEL_PORT_XMIT_PACKETS)
		madsim_set_total(cnt, MADSIM_XMIT_PKTS, p->port_xmit_packets);
	if (sel & IB_PMA_SEL_PORT_RCV_PACKETS)
		madsim_set_total(cnt, MADSIM_RCV_PKTS, p->port_rcv_packets);
}

static void madsim_get_ext(const struct madsim_counters *cnt,
			   struct ib_pma_portcounters_ext *p)
{
	__be64 *value = &p->port_xmit_data;
	unsigned int i;
	u64 now;

	for (i = 0; i < MADSIM_EXT_COUNTERS; i++) {
		now = madsim_ext_now(cnt, i);
		value[i] = cpu_to_be64(now - cnt->ext_base[i]);
	}
}

static void madsim_set_ext(struct madsim_counters *cnt,
			   const struct ib_pma_portcounters_ext *p)
{
	const __be64 *value = &p->port_xmit_data;
	unsigned int i;
	u64 now;

	for (i = 0; i < MADSIM_EXT_COUNTERS; i++) {
		if (!(be16_to_cpu(p->counter_select) & BIT(i)))
			continue;
		now = madsim_ext_now(cnt, i);
		cnt->ext_base[i] = now - be64_to_cpu(value[i]);
	}
}

/* What the ports of a switch have counted together */
static void madsim_add_counters(struct madsim_counters *sum,
				const struct madsim_counters *cnt)
{
	unsigned int i;

	for (i = 0; i < MADSIM_TOTALS; i++)
		sum->total[i] += cnt->total[i];
	for (i = 0; i < MADSIM_BASIC_TOTALS; i++)
		sum->base[i] += cnt->base[i];
	for (i = 0; i < MADSIM_EXT_COUNTERS; i++)
		sum->ext_base[i] += cnt->ext_base[i];
	sum->link_downed = min(sum->link_downed + cnt->link_downed, U8_MAX);
	sum->rcv_errors = min(sum->rcv_errors + cnt->rcv_errors, U16_MAX);
	sum->relay_errors = min(sum->relay_errors + cnt->relay_errors, U16_MAX);
	sum->xmit_discards =
		min(sum->xmit_discards + cnt->xmit_discards, U16_MAX);
	sum->vl15_dropped = min(sum->vl15_dropped + cnt->vl15_dropped, U16_MAX);
}

static void madsim_pma_class_port_info(struct ib_class_port_info *cpi)
{
	memset(cpi, 0, sizeof(*cpi));
	cpi->base_version = IB_MGMT_BASE_VERSION;
	cpi->class_version = MADSIM_PMA_VERSION;
	cpi->capability_mask = IB_PMA_CLASS_CAP_ALLPORTSELECT |
			       IB_PMA_CLASS_CAP_EXT_WIDTH;
	ib_set_cpi_resp_time(cpi, MADSIM_RESP_TIME);
}

static bool madsim_pma_counters(struct madsim_node *node,
				struct ib_pma_mad *pma, bool set)
{
	bool ext = pma->mad_hdr.attr_id == IB_PMA_PORT_COUNTERS_EXT;
	struct ib_pma_portcounters *p = (void *)pma->data;
	struct ib_pma_portcounters_ext *x = (void *)pma->data;
	struct madsim_counters sum = {};
	unsigned int first = p->port_select, last = first, i;
	u8 select = p->port_select;

	if (select == MADSIM_ALL_PORTS) {
		first = 1;
		last = node->nports;
	} else if (select > node->nports || (!select && !node->sw)) {
		return false;
	}

	for (i = first; i <= last; i++) {
		struct madsim_counters *cnt = &node->ports[i].counters;

		if (set && ext)
			madsim_set_ext(cnt, x);
		else if (set)
			madsim_set_counters(cnt, p);
		madsim_add_counters(&sum, cnt);
	}

	memset(pma->data, 0, sizeof(pma->data));
	p->port_select = select;
	if (ext)
		madsim_get_ext(&sum, x);
	else
		madsim_get_counters(&sum, p);
	return true;
}

/**
 * madsim_pma - show a MAD to the performance management agent
 * @port: the end port that got it
 * @mad: a MAD of the performance management class; becomes the response
 *
 * Context: any; fabric->lock is held.
 * Return: what is to be done with @mad.
 */
enum madsim_verdict madsim_pma(struct madsim_port *port, struct ib_mad *mad)
{
	struct ib_pma_mad *pma = (struct ib_pma_mad *)mad;
	bool set = pma->mad_hdr.method == IB_MGMT_METHOD_SET;
	u16 status = 0;

	lockdep_assert_held(&port->node->fabric->lock);

	if (!set && pma->mad_hdr.method != IB_MGMT_METHOD_GET)
		return MADSIM_PASS;

	if (pma->mad_hdr.class_version != MADSIM_PMA_VERSION) {
		status = IB_MGMT_MAD_STATUS_BAD_VERSION;
	} else if (pma->mad_hdr.attr_id == IB_PMA_CLASS_PORT_INFO && !set) {
		madsim_pma_class_port_info((void *)pma->data);
	} else if (pma->mad_hdr.attr_id == IB_PMA_PORT_COUNTERS ||
		   pma->mad_hdr.attr_id == IB_PMA_PORT_COUNTERS_EXT) {
		if (!madsim_pma_counters(port->node, pma, set))
			status = IB_MGMT_MAD_STATUS_INVALID_ATTRIB_VALUE;
	} else {
		status = IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB;
	}

	madsim_reply(&pma->mad_hdr, status);
	return MADSIM_REPLY;
}
