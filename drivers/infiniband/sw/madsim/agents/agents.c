// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Which agent answers a MAD, and how its response is addressed. The MAD layer of a host asks by
 * madsim_process_mad() of device/dev.c. All other MADs come by madsim_respond(), as
 * madsim_is_for_host() of engine/engine.c decides.
 */

#include "agents.h"

/*
 * Whether a node has an agent for a class beside subnet management. A node without registers has
 * no vendor's agent: if a caller does not hold fabric->lock, registers may come at any time
 */
bool madsim_has_agent(const struct madsim_node *node, u8 mgmt_class)
{
	return mgmt_class == IB_MGMT_CLASS_PERF_MGMT || mgmt_class == IB_MGMT_CLASS_CONG_MGMT ||
	       (mgmt_class == MADSIM_CLASS_VENDOR && !list_empty(&node->registers));
}

/**
 * madsim_gsa - show a MAD to the general service agent of its class
 * @port: the end port that got it
 * @mad: a request of QP1; becomes the response
 *
 * Context: any; fabric->lock is held.
 * Return: what is to be done with @mad; MADSIM_PASS if the class has no agent here.
 */
enum madsim_verdict madsim_gsa(struct madsim_port *port, struct ib_mad *mad)
{
	struct ib_mad_hdr *hdr = &mad->mad_hdr;
	u16 status;

	lockdep_assert_held(&port->node->fabric->lock);

	if (!madsim_has_agent(port->node, hdr->mgmt_class) ||
	    (hdr->method != IB_MGMT_METHOD_GET && hdr->method != IB_MGMT_METHOD_SET))
		return MADSIM_PASS;
	if (hdr->mgmt_class == IB_MGMT_CLASS_CONG_MGMT && !madsim_cc_admits(port->cc, mad))
		return MADSIM_CONSUMED;
	if (madsim_fault_refuses(port->node, hdr))
		status = MADSIM_UNSUPPORTED;
	else if (hdr->mgmt_class == IB_MGMT_CLASS_PERF_MGMT)
		status = madsim_pma(port, mad);
	else if (hdr->mgmt_class == IB_MGMT_CLASS_CONG_MGMT)
		status = madsim_cc(port, mad);
	else
		status = madsim_vendor(port->node, hdr);
	madsim_reply(hdr, status);
	return MADSIM_REPLY;
}

/**
 * madsim_respond - show a packet that is not for a MAD layer to the agents of a node
 * @port: the end port that it has come to
 * @in_port: number of the port that it came in by
 * @pkt: the packet, a request
 *
 * Context: any; fabric->lock is held.
 * Return: true if they respond. @pkt has become the response, and is addressed to the requester.
 */
bool madsim_respond(struct madsim_port *port, u8 in_port, struct madsim_packet *pkt)
{
	enum madsim_verdict verdict;
	struct ib_mad *mad = (struct ib_mad *)pkt->mad;
	struct ib_mad_hdr *hdr = &pkt->hdr;

	if (pkt->smi)
		verdict = madsim_sma(port, in_port, mad, &pkt->len, true);
	else
		verdict = madsim_gsa(port, mad);

	if (verdict == MADSIM_CONSUMED)
		return false;
	if (verdict == MADSIM_PASS) {
		/* As the MAD layer does for classes without an agent */
		if (hdr->method != IB_MGMT_METHOD_GET &&
		    hdr->method != IB_MGMT_METHOD_SET)
			return false;
		madsim_reply(hdr,
			     IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB);
	}

	swap(pkt->slid, pkt->dlid);
	pkt->dst_qpn = pkt->src_qpn;
	pkt->src_qpn = !pkt->smi;
	/* Of the entry that let the request in, with our own membership */
	if (!pkt->smi) {
		int index = madsim_find_pkey(port, pkt->pkey);

		pkt->pkey = be16_to_cpu(port->pkeys[index]);
	}
	if (pkt->grh_valid) {
		swap(pkt->grh.sgid, pkt->grh.dgid);
		/* The MAD layer gives a response the highest one, too */
		pkt->grh.hop_limit = U8_MAX;
	}
	return true;
}
