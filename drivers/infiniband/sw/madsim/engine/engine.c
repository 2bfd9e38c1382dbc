// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What makes packets go: out of an end port, over links, through switches, and into
 * an end port. All of it happens in the sender's context under fabric->lock, so a
 * packet meets one state of the fabric only. Queue pairs and agents are called with
 * what has come to them. A response is what they have made of it, and goes on as the
 * next packet; they send nothing themselves.
 */

#include <linux/minmax.h>

#include "transport/transport.h"
#include "model/wire.h"
#include "transport/trace.h"

/* More than any directed route, and an end to loops in forwarding tables */
#define MADSIM_MAX_HOPS		128

/* Packets that a connected queue pair sends in one turn; a few milliseconds */
#define MADSIM_MAX_RUN		4096

static void madsim_count_xmit(struct madsim_port *port,
			      const struct madsim_packet *pkt)
{
	port->counters.total[MADSIM_XMIT_DATA] += pkt->words;
	madsim_count(port, MADSIM_XMIT_PKTS);
	madsim_count(port, madsim_lid_is_multicast(pkt->dlid) ?
			   MADSIM_XMIT_MCAST : MADSIM_XMIT_UCAST);
}

static void madsim_count_rcv(struct madsim_port *port,
			     const struct madsim_packet *pkt)
{
	port->counters.total[MADSIM_RCV_DATA] += pkt->words;
	madsim_count(port, MADSIM_RCV_PKTS);
	madsim_count(port, madsim_lid_is_multicast(pkt->dlid) ?
			   MADSIM_RCV_MCAST : MADSIM_RCV_UCAST);
}

/* As many packets as a burst has, of so many words each, have crossed the link of @out */
static void madsim_count_burst(struct madsim_port *out, u32 words, u32 packets)
{
	struct madsim_port *in = out->peer;

	out->counters.total[MADSIM_XMIT_DATA] += (u64)words * packets;
	out->counters.total[MADSIM_XMIT_PKTS] += packets;
	out->counters.total[MADSIM_XMIT_UCAST] += packets;
	in->counters.total[MADSIM_RCV_DATA] += (u64)words * packets;
	in->counters.total[MADSIM_RCV_PKTS] += packets;
	in->counters.total[MADSIM_RCV_UCAST] += packets;
	in->crc_errors -= min_t(u32, packets, in->crc_errors);
}

/* What a port counts of a packet that is lost: an error, and the detail of it */
static const struct {
	enum madsim_counter error;
	enum madsim_counter detail;
} madsim_losses[] = {
	[MADSIM_LOST_INACTIVE] = {
		MADSIM_XMIT_DISCARDS, MADSIM_INACTIVE_DISCARDS },
	[MADSIM_LOST_MTU] = { MADSIM_XMIT_DISCARDS, MADSIM_MTU_DISCARDS },
	[MADSIM_LOST_FAULT] = { MADSIM_XMIT_DISCARDS, MADSIM_HOQ_DISCARDS },
	[MADSIM_LOST_OLD] = { MADSIM_XMIT_DISCARDS, MADSIM_LIFETIME_DISCARDS },
	[MADSIM_LOST_MALFORMED] = {
		MADSIM_RCV_ERRORS, MADSIM_MALFORMED_ERRORS },
	[MADSIM_LOST_DLID] = {
		MADSIM_RELAY_ERRORS, MADSIM_DLID_MAPPING_ERRORS },
	[MADSIM_LOST_LOOPING] = {
		MADSIM_RELAY_ERRORS, MADSIM_LOOPING_ERRORS },
	[MADSIM_LOST_VL] = { MADSIM_RELAY_ERRORS, MADSIM_VL_MAPPING_ERRORS },
};

static void madsim_lose(struct madsim_port *port,
			const struct madsim_packet *pkt, enum madsim_fate fate)
{
	switch (fate) {
	case MADSIM_LOST:
		break;
	case MADSIM_LOST_ENTRY:
		madsim_count(port, MADSIM_RCV_CONSTRAINT_ERRORS);
		madsim_trap_switch_pkey(port, pkt);
		break;
	case MADSIM_LOST_EXIT:
		madsim_count(port, MADSIM_XMIT_CONSTRAINT_ERRORS);
		madsim_trap_switch_pkey(port, pkt);
		break;
	default:
		madsim_count(port, madsim_losses[fate].error);
		madsim_count(port, madsim_losses[fate].detail);
		break;
	}
}

/* A packet comes in by @in. Returns where it is; NULL if the port does not take it */
static struct madsim_port *madsim_enter(struct madsim_port *in,
					struct madsim_packet *pkt)
{
	enum madsim_fate fate = madsim_route_in(in, pkt);

	if (fate != MADSIM_GOES) {
		madsim_lose(in, pkt, fate);
		return NULL;
	}
	if (in->crc_errors)
		in->crc_errors--;
	in->overruns = 0;
	madsim_count_rcv(in, pkt);
	return in;
}

/* The far half of crossing the link of @out; NULL if nothing takes @pkt there */
static struct madsim_port *madsim_take(struct madsim_port *out,
				       struct madsim_packet *pkt)
{
	struct madsim_port *in = out->peer;

	if (!in)
		return NULL;
	if (likely(!in->wire))
		return madsim_enter(in, pkt);
	if (!madsim_wire_send(in->wire, pkt))
		madsim_lose(out, pkt, MADSIM_LOST_FAULT);
	return NULL;
}

/* Do to @pkt what the faults of @out ask for. Returns whether it goes on now */
static bool madsim_strike(struct madsim_port *out, struct madsim_packet *pkt)
{
	unsigned long errors = madsim_fault_errors(out);
	bool lost = false;
	unsigned int kind;

	for_each_set_bit(kind, &errors, MADSIM_FAULT_KINDS)
		lost |= madsim_link_error(out->peer, kind);
	return !lost && madsim_fault_inject(out, pkt);
}

/* A burst may go the same way, if nothing there acts on packets, or captures them */
static void madsim_remember(struct madsim_port *out)
{
	struct madsim_way *way = &out->node->fabric->way;

	if (unlikely(out->fault || trace_madsim_packet_enabled()))
		way->count = MADSIM_WAY;
	if (way->count < MADSIM_WAY)
		way->out[way->count++] = out;
}

/* Put @pkt on the link of @out. Returns where it is then, if it has not been lost */
static struct madsim_port *madsim_cross(struct madsim_port *out,
					struct madsim_packet *pkt)
{
	enum madsim_fate fate = madsim_route_out(out, pkt);

	if (fate == MADSIM_GOES && unlikely(out->fault) &&
	    madsim_fault_drops(out))
		fate = MADSIM_LOST_FAULT;
	if (fate == MADSIM_GOES && out->peer && unlikely(out->peer->wire) &&
	    madsim_wire_is_full(out->peer->wire))
		fate = MADSIM_LOST_FAULT;
	if (fate != MADSIM_GOES) {
		madsim_lose(out, pkt, fate);
		return NULL;
	}
	madsim_count_xmit(out, pkt);
	trace_madsim_packet(out, pkt);
	madsim_remember(out);
	if (unlikely(out->fault) && !madsim_strike(out, pkt))
		return NULL;
	return madsim_take(out, pkt);
}

/* The checks of the end port for a MAD that are not about the route */
static bool madsim_admit(struct madsim_port *port,
			 const struct madsim_packet *pkt)
{
	bool multicast = madsim_lid_is_multicast(pkt->dlid);

	if (pkt->smi)
		return !pkt->dst_qpn && !multicast && !pkt->grh_valid;

	if (pkt->dst_qpn != 1 &&
	    !(multicast && pkt->dst_qpn == MADSIM_QPN_MULTICAST))
		return false;
	/* The MAD layer makes none of another length, but a client may */
	if (madsim_is_data(pkt) && pkt->len != IB_MGMT_MAD_SIZE)
		return false;
	if (!madsim_grh_fits(port, pkt))
		return false;
	if (madsim_find_pkey(port, pkt->pkey) < 0) {
		madsim_count_violation(&port->info.pkey_violations);
		madsim_trap_bad_key(port, MADSIM_TRAP_BAD_PKEY, pkt);
		return false;
	}
	if (pkt->qkey != IB_QP1_QKEY) {
		madsim_count_violation(&port->info.qkey_violations);
		madsim_trap_bad_key(port, MADSIM_TRAP_BAD_QKEY, pkt);
		return false;
	}
	return true;
}

/*
 * Show a packet to the agents of a node without MAD layer. If they respond,
 * @pkt has become the response, and is addressed to the requester.
 */
static bool madsim_respond(struct madsim_port *port, u8 in_port,
			   struct madsim_packet *pkt)
{
	enum madsim_verdict verdict = MADSIM_PASS;
	struct ib_mad *mad = (struct ib_mad *)pkt->mad;
	struct ib_mad_hdr *hdr = &pkt->hdr;

	if (pkt->smi)
		verdict = madsim_sma(port, in_port, mad, &pkt->len, true);
	else if (hdr->mgmt_class == IB_MGMT_CLASS_PERF_MGMT)
		verdict = madsim_pma(port, mad);
	else if (hdr->mgmt_class == IB_MGMT_CLASS_CONG_MGMT)
		verdict = madsim_cc(port, mad);

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
	if (pkt->grh_valid)
		swap(pkt->grh.sgid, pkt->grh.dgid);
	return true;
}

/*
 * A switch responds to SMPs in its own hardware, with or without ib_device: the
 * MAD layer could not send the response by the port that the request came from.
 * SMInfo is for the subnet manager behind port 0, if there is one.
 */
static bool madsim_is_for_host(const struct madsim_port *port,
			       const struct madsim_packet *pkt)
{
	if (!port->qp[!pkt->smi])
		return false;
	if (!port->node->sw || !pkt->smi)
		return true;

	switch (pkt->hdr.method) {
	case IB_MGMT_METHOD_GET:
	case IB_MGMT_METHOD_SET:
	case IB_MGMT_METHOD_TRAP_REPRESS:
		return pkt->hdr.attr_id == IB_SMP_ATTR_SM_INFO &&
		       port->info.cap_mask & cpu_to_be32(IB_PORT_SM);
	default:
		return true;
	}
}

/*
 * Whether a packet is for queue pairs other than QP0 and QP1. MADs to a multicast LID
 * are for QP1, the packets of clients are for the group's members.
 */
static bool madsim_is_for_client(const struct madsim_packet *pkt)
{
	if (pkt->smi || pkt->dlid == MADSIM_LID_PERMISSIVE)
		return false;
	if (madsim_lid_is_multicast(pkt->dlid))
		return madsim_is_data(pkt);
	return pkt->dst_qpn > 1;
}

static bool madsim_deliver_client(struct madsim_port *port,
				  struct madsim_packet *pkt)
{
	if (!madsim_grh_fits(port, pkt))
		return false;
	if (pkt->bth.op != MADSIM_OP_NONE)
		return madsim_rc_receive(port, pkt);
	madsim_ud_receive(port, pkt);
	return false;
}

/* Returns whether @pkt has become a response, which @port is to send */
static bool madsim_deliver(struct madsim_port *port, u8 in_port,
			   struct madsim_packet *pkt)
{
	if (madsim_is_for_client(pkt))
		return madsim_deliver_client(port, pkt);
	/* The agents know datagrams only */
	if (pkt->bth.op != MADSIM_OP_NONE)
		return false;
	if (!madsim_admit(port, pkt))
		return false;

	if (madsim_is_for_host(port, pkt)) {
		madsim_mad_receive(port, pkt);
		return false;
	}

	/* The agents send no requests, so no response is for them */
	if (pkt->hdr.method & IB_MGMT_METHOD_RESP ||
	    madsim_lid_is_multicast(pkt->dlid))
		return false;
	if (!port->node->sw && madsim_is_dr_smp(pkt) &&
	    !madsim_dr_terminate(port, pkt))
		return false;
	return madsim_respond(port, in_port, pkt);
}

/* Mark the ports by which a switch lets a multicast packet out */
static void madsim_mark(struct madsim_port *in, struct madsim_packet *pkt)
{
	struct madsim_node *node = in->node;
	struct madsim_port *out, *at;
	enum madsim_fate fate;
	unsigned int i;

	/* No agent responds to a group */
	if (in->num && madsim_in_mft(node->sw, pkt->dlid, 0))
		madsim_deliver(&node->ports[0], in->num, pkt);
	for (i = 1; i <= node->nports; i++) {
		out = &node->ports[i];
		if (i == in->num || !madsim_in_mft(node->sw, pkt->dlid, i) ||
		    !list_empty(&out->mcast_link))
			continue;
		fate = madsim_route_leave(in, out, pkt, &at);
		if (fate == MADSIM_GOES)
			list_add_tail(&out->mcast_link, &node->fabric->mcast);
		else
			madsim_lose(at, pkt, fate);
	}
}

/* Whether a port takes what it sends itself. Data needs the link for that, too */
static bool madsim_goes_back(struct madsim_port *port, const struct madsim_packet *pkt)
{
	if (!madsim_is_data(pkt) || madsim_state(port) >= IB_PORT_ACTIVE)
		return true;
	madsim_lose(port, pkt, MADSIM_LOST_INACTIVE);
	return false;
}

/* Where @pkt is when @port, or an agent behind it, has sent it; NULL: lost */
static struct madsim_port *madsim_start(struct madsim_port *port,
					struct madsim_packet *pkt)
{
	/* A channel adapter has one link, and takes what has its own LID */
	if (port->node->sw || madsim_lid_is_mine(port, pkt->dlid))
		return madsim_goes_back(port, pkt) ? port : NULL;
	if (pkt->smi || madsim_has_vl(port, port, pkt))
		return madsim_cross(port, pkt);
	return NULL;
}

/*
 * Move a packet that has come in at @in one node on. Returns where it, or its
 * response, is then. A multicast packet may leave by several ports: those are on
 * fabric->mcast, and this is NULL.
 */
static struct madsim_port *madsim_step(struct madsim_port *in,
				       struct madsim_packet *pkt,
				       unsigned int *hops)
{
	struct madsim_port *at;
	enum madsim_fate fate = madsim_route_next(in, pkt, &at);

	switch (fate) {
	case MADSIM_GOES:
		if ((*hops)++ < MADSIM_MAX_HOPS)
			return madsim_cross(at, pkt);
		madsim_lose(at, pkt, MADSIM_LOST_OLD);
		return NULL;
	case MADSIM_ENDS:
		*hops = 0;
		if (!madsim_deliver(at, in->num, pkt))
			return NULL;
		pkt->words = madsim_words(pkt);
		return madsim_start(at, pkt);
	case MADSIM_COPIES:
		madsim_mark(in, pkt);
		return NULL;
	default:
		madsim_lose(at, pkt, fate);
		return NULL;
	}
}

/*
 * Let the copies of a multicast packet go, along the tree that the tables
 * describe. A tree has fewer links than ends. It is the subnet manager's work;
 * if it is none, the bound ends the storm. A unicast packet has no copies.
 */
static void madsim_flood(struct madsim_fabric *fabric,
			 const struct madsim_packet *pkt)
{
	struct madsim_packet *copy = &fabric->copy;
	unsigned int budget = fabric->end_ports;
	struct madsim_port *out, *in;
	unsigned int hops = 0;

	while ((out = list_first_entry_or_null(&fabric->mcast,
					       struct madsim_port,
					       mcast_link))) {
		list_del_init(&out->mcast_link);
		if (!budget) {
			madsim_lose(out, pkt, MADSIM_LOST_OLD);
			continue;
		}
		budget--;

		/* Faults and agents may change what they see */
		memcpy(copy, pkt,
		       offsetof(struct madsim_packet, mad) + pkt->len);
		in = madsim_cross(out, copy);
		if (in)
			madsim_step(in, copy, &hops);
	}
}

/* Move a packet on that has come to @in, until its way has ended */
static void madsim_move(struct madsim_port *in, struct madsim_packet *pkt)
{
	struct madsim_fabric *fabric = in->node->fabric;
	unsigned int hops = 0;

	while (in)
		in = madsim_step(in, pkt, &hops);
	madsim_flood(fabric, pkt);
}

/**
 * madsim_send - send a packet that an end port's owner made
 * @port: an end port
 * @pkt: the packet; scratch afterwards
 *
 * On return it has been received, responded to, dropped, or held by a fault.
 *
 * Context: any; fabric->lock is held.
 */
void madsim_send(struct madsim_port *port, struct madsim_packet *pkt)
{
	struct madsim_port *in, *out;

	lockdep_assert_held(&port->node->fabric->lock);

	pkt->words = madsim_words(pkt);
	if (!port->node->sw || !madsim_is_dr_smp(pkt) ||
	    pkt->dlid != MADSIM_LID_PERMISSIVE) {
		in = madsim_start(port, pkt);
	} else {
		/* The MAD layer of a switch has moved the hop pointer itself */
		out = madsim_dr_depart(port->node, pkt);
		in = out ? madsim_cross(out, pkt) : NULL;
	}
	if (in)
		madsim_move(in, pkt);
}

/**
 * madsim_arrive - move a packet on that has come from beyond the fabric
 * @in: the port it comes in by, which is linked
 * @pkt: the packet; scratch afterwards
 *
 * Context: any; fabric->lock is held.
 */
void madsim_arrive(struct madsim_port *in, struct madsim_packet *pkt)
{
	lockdep_assert_held(&in->node->fabric->lock);

	pkt->words = madsim_words(pkt);
	trace_madsim_packet(in->peer, pkt);
	in = madsim_enter(in, pkt);
	if (in)
		madsim_move(in, pkt);
}

/**
 * madsim_refuse - count bytes that are no packet
 * @in: the port they came in by
 *
 * Context: any; fabric->lock is held.
 */
void madsim_refuse(struct madsim_port *in)
{
	madsim_lose(in, NULL, MADSIM_LOST_MALFORMED);
}

static void madsim_send_from(struct madsim_qp *qp, struct madsim_packet *pkt)
{
	/* The adapter itself replicates to its own members */
	if (madsim_is_data(pkt) && madsim_lid_is_multicast(pkt->dlid) &&
	    madsim_state(qp->port) >= IB_PORT_ACTIVE)
		madsim_ud_receive(qp->port, pkt);
	madsim_send(qp->port, pkt);
}

/* Whether others may go the way of the packet that was sent just now, as it was taken */
static bool madsim_may_follow(const struct madsim_qp *qp)
{
	const struct madsim_way *way = &madsim_fabric_of(qp->ibqp.device)->way;

	return way->taker && way->count != MADSIM_WAY && !madsim_is_strict(qp);
}

/* Have the next segments go the way of @pkt, if it was taken. Returns how many these are */
static u32 madsim_send_burst(const struct madsim_qp *qp, const struct ib_send_wr *wr,
			     u32 at, struct madsim_packet *pkt)
{
	struct madsim_way *way = &madsim_fabric_of(qp->ibqp.device)->way;
	u32 i, packets;

	if (!madsim_may_follow(qp))
		return 0;
	packets = madsim_ud_burst(qp, ud_wr(wr), at, way->taker, pkt);
	for (i = 0; i < way->count; i++)
		madsim_count_burst(way->out[i], pkt->words, packets);
	return packets;
}

/* Send the segments of a message, but for the last one, which is in @pkt then */
static enum ib_wc_status madsim_send_segments(struct madsim_qp *qp,
					      const struct ib_send_wr *wr,
					      struct madsim_packet *pkt)
{
	struct madsim_way *way = &madsim_fabric_of(qp->ibqp.device)->way;
	u64 len = madsim_sge_length(wr->sg_list, wr->num_sge);
	u32 mss = ud_wr(wr)->mss;
	enum ib_wc_status status;
	u32 at = 0;

	while (true) {
		status = madsim_ud_build(qp, wr, NULL, at, pkt);
		if (status || len - at <= mss)
			return status;
		way->count = 0;
		way->taker = NULL;
		madsim_send_from(qp, pkt);
		at += mss;
		at += mss * madsim_send_burst(qp, wr, at, pkt);
	}
}

/**
 * madsim_send_datagram - send a datagram that was posted
 * @qp: the queue pair
 * @wr: what to send
 * @data: that, if it is with @wr itself
 *
 * Its buffer belongs to its owner again when it completes, so all of it is in packets by
 * then.
 *
 * Context: any; fabric->lock is held.
 * Return: 0: it has ended, as its completion tells; or what madsim_mad_build() said.
 */
int madsim_send_datagram(struct madsim_qp *qp, const struct ib_send_wr *wr,
			 const void *data)
{
	struct madsim_packet *pkt = &madsim_fabric_of(qp->ibqp.device)->tx;
	struct ib_wc wc = {
		.wr_id = wr->wr_id,
		.qp = madsim_wc_qp(qp),
		.opcode = wr->opcode == IB_WR_LSO ? IB_WC_LSO : IB_WC_SEND,
		.port_num = qp->port->num,
	};
	int ret = 0;

	if (wr->opcode == IB_WR_LSO)
		wc.status = madsim_send_segments(qp, wr, pkt);
	else if (madsim_is_client(qp))
		wc.status = madsim_ud_build(qp, wr, data, 0, pkt);
	else
		ret = madsim_mad_build(qp, wr, pkt);
	if (ret)
		return ret;

	/* Before the response, which may come while the request is sent */
	qp->ended++;
	if (wc.status || qp->sig_all || wr->send_flags & IB_SEND_SIGNALED)
		madsim_complete_send(qp, &wc);
	if (wc.status) {
		/* The owner has to modify the queue pair to send again */
		spin_lock(&qp->lock);
		madsim_qp_fail(qp, IB_QPS_SQE);
		spin_unlock(&qp->lock);
		return 0;
	}

	madsim_send_from(qp, pkt);
	return 0;
}

/* Send the next datagram that was to be sent later */
static void madsim_later_work(struct work_struct *work)
{
	struct madsim_qp *qp = container_of(to_delayed_work(work),
					    struct madsim_qp, later);
	struct madsim_fabric *fabric = madsim_fabric_of(qp->ibqp.device);
	struct madsim_dgram *dgram;

	local_bh_disable();
	spin_lock_irq(&fabric->lock);
	dgram = madsim_strict_next(qp);
	if (dgram) {
		madsim_send_datagram(qp, &dgram->ud.wr, dgram->data);
		madsim_strict_later(qp, false);
	}
	spin_unlock_irq(&fabric->lock);
	local_bh_enable();
	kfree(dgram);
}

/*
 * Send what can follow the packet of @qp at once. Returns how many packets these are, whose
 * bytes are to be copied then
 */
static u32 madsim_run_burst(struct madsim_qp *qp)
{
	struct madsim_fabric *fabric = madsim_fabric_of(qp->ibqp.device);
	struct madsim_packet *pkt = &fabric->tx;
	struct madsim_way *way = &fabric->way;
	/* If there was a response, @pkt is that now */
	u32 there, back = pkt->words;
	u32 i, packets;

	if (!madsim_may_follow(qp))
		return 0;
	packets = madsim_burst(qp, way->taker, pkt);
	there = madsim_words(pkt);
	for (i = 0; packets && i < way->count; i++)
		madsim_count_burst(way->out[i], i < way->there ? there : back,
				   packets);
	return packets;
}

/* Returns whether there may be more to be sent at once. In @burst, how many are to be copied */
static bool madsim_run_step(struct madsim_qp *qp, u32 *burst)
{
	struct madsim_fabric *fabric = madsim_fabric_of(qp->ibqp.device);
	struct madsim_packet *pkt = &fabric->tx;
	bool more, last;

	*burst = 0;
	if (!madsim_rc_prepare(qp, pkt, &more))
		return more;
	last = pkt->bth.last;
	fabric->way.count = last ? MADSIM_WAY : 0;
	fabric->way.taker = NULL;
	madsim_send(qp->port, pkt);
	more = madsim_rc_sent(qp);
	/* If the send has failed, the oldest one is another one now */
	if (qp->rc->begun && !last && !qp->rc->ahead)
		*burst = madsim_run_burst(qp);
	return more;
}

/* Have the timer send: if a response is waited for, it sees that there is time left */
static void madsim_defer(struct madsim_qp *qp, bool posted)
{
	struct madsim_fabric *fabric = madsim_fabric_of(qp->ibqp.device);
	unsigned long flags;

	spin_lock_irqsave(&fabric->lock, flags);
	mod_delayed_work(madsim_send_wq(qp), &qp->rc->timer,
			 madsim_strict_delay(qp, posted));
	spin_unlock_irqrestore(&fabric->lock, flags);
}

/*
 * Send what was posted to a connected queue pair, up to so many packets, and leave the
 * rest to the worker, after others had their turn. The caller keeps the queue pair from
 * being destroyed.
 */
static void madsim_run(struct madsim_qp *qp)
{
	struct madsim_fabric *fabric = madsim_fabric_of(qp->ibqp.device);
	bool strict = madsim_is_strict(qp);
	u32 packets = 0, burst = 0, most = strict ? 1 : MADSIM_MAX_RUN;
	bool more = true;

	while (more && (packets < most || burst)) {
		/* A tasklet that tells of a completion runs when the packet was sent */
		local_bh_disable();
		spin_lock_irq(&fabric->lock);
		if (burst)
			madsim_burst_end(qp);
		burst = 0;
		if (packets < most)
			more = madsim_run_step(qp, &burst);
		spin_unlock_irq(&fabric->lock);
		local_bh_enable();
		if (burst)
			madsim_burst_copy(qp);
		packets += 1 + burst;
		cond_resched();
	}

	if (more && strict)
		madsim_defer(qp, false);
	else if (more)
		queue_work(madsim_send_wq(qp), &qp->rc->work);
}

static void madsim_run_work(struct work_struct *work)
{
	madsim_run(container_of(work, struct madsim_rc, work)->qp);
}

static void madsim_run_timer(struct work_struct *work)
{
	struct madsim_rc *rc = container_of(to_delayed_work(work),
					    struct madsim_rc, timer);
	struct madsim_qp *qp = rc->qp;
	struct madsim_fabric *fabric = madsim_fabric_of(qp->ibqp.device);

	spin_lock_irq(&fabric->lock);
	madsim_rc_expired(qp);
	spin_unlock_irq(&fabric->lock);
	madsim_run(qp);
}

/**
 * madsim_run_init - prepare a queue pair for sends
 * @qp: a client's
 *
 * Context: any.
 */
void madsim_run_init(struct madsim_qp *qp)
{
	INIT_DELAYED_WORK(&qp->later, madsim_later_work);
	if (!qp->rc)
		return;
	INIT_WORK(&qp->rc->work, madsim_run_work);
	INIT_DELAYED_WORK(&qp->rc->timer, madsim_run_timer);
}

/**
 * madsim_kick - have what was posted sent
 * @qp: a connected queue pair
 *
 * A program sends itself, up to a bound, as its device cannot go meanwhile. A client in
 * the kernel may hold locks when it posts, so a worker sends for it.
 *
 * Context: any; process context for those of programs.
 */
void madsim_kick(struct madsim_qp *qp)
{
	if (madsim_is_strict(qp))
		madsim_defer(qp, true);
	else if (qp->alias)
		madsim_run(qp);
	else
		queue_work(madsim_wq, &qp->rc->work);
}

static void madsim_trap_work(struct work_struct *work)
{
	struct madsim_fabric *fabric =
		container_of(work, struct madsim_fabric, trap_work.work);
	struct madsim_packet *pkt = &fabric->tx;
	struct madsim_port *port;
	LIST_HEAD(ports);

	spin_lock_irq(&fabric->lock);
	list_splice_init(&fabric->traps, &ports);
	while ((port = madsim_trap_take(fabric, &ports, pkt)))
		madsim_send(port, pkt);
	spin_unlock_irq(&fabric->lock);
}

static void madsim_held_work(struct work_struct *work)
{
	struct madsim_fabric *fabric =
		container_of(work, struct madsim_fabric, held_work.work);
	struct madsim_packet *pkt = &fabric->tx;
	struct madsim_port *out, *in;
	bool arrived;

	spin_lock_irq(&fabric->lock);
	while ((out = madsim_fault_release(fabric, pkt, &arrived))) {
		in = arrived ? out : madsim_take(out, pkt);
		if (in)
			madsim_move(in, pkt);
		spin_unlock_irq(&fabric->lock);
		cond_resched();
		spin_lock_irq(&fabric->lock);
	}
	spin_unlock_irq(&fabric->lock);
}

/**
 * madsim_engine_init - prepare a fabric for packets
 * @fabric: a new fabric
 *
 * The fabric's end cancels trap_work and held_work.
 *
 * Context: any.
 */
void madsim_engine_init(struct madsim_fabric *fabric)
{
	init_waitqueue_head(&fabric->copied);
	INIT_LIST_HEAD(&fabric->mcast);
	INIT_LIST_HEAD(&fabric->traps);
	INIT_DELAYED_WORK(&fabric->trap_work, madsim_trap_work);
	INIT_LIST_HEAD(&fabric->held);
	INIT_DELAYED_WORK(&fabric->held_work, madsim_held_work);
}
