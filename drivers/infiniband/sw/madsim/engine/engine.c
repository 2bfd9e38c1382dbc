// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What makes packets go: out of an end port, over links, through switches, and into an end port.
 * A packet goes all its way under fabric->lock in one go, so it meets one state of the fabric only:
 * in the context of the client that posts it, or of the work that sends for queue pairs, notices,
 * deferred packets or a wire. Queue pairs and agents are called with what has come to them. They
 * turn a request into its response, which goes on as the next packet; they send nothing themselves.
 */

#include "engine.h"
#include "agents/agents.h"
#include "model/wire.h"
#include "transport/trace.h"

/* More than any directed route, and an end to loops in forwarding tables */
#define MADSIM_MAX_HOPS		128

/* Count a packet that leaves a port by its link, or, @rcv, comes in. Such counters alternate */
static __always_inline void madsim_count_packet(struct madsim_port *port,
						const struct madsim_packet *pkt, bool rcv)
{
	port->counters.total[MADSIM_XMIT_DATA + rcv] += pkt->words;
	madsim_count(port, MADSIM_XMIT_PKTS + rcv);
	madsim_count(port, (madsim_lid_is_multicast(pkt->dlid) ?
			    MADSIM_XMIT_MCAST : MADSIM_XMIT_UCAST) + rcv);
}

/* What a port counts for a packet that is lost: an error, and its detail */
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
static struct madsim_port *madsim_enter(struct madsim_port *in, struct madsim_packet *pkt)
{
	enum madsim_fate fate = madsim_route_in(in, pkt);

	if (fate != MADSIM_GOES) {
		madsim_lose(in, pkt, fate);
		return NULL;
	}
	if (in->crc_errors)
		in->crc_errors--;
	in->overruns = 0;
	madsim_count_packet(in, pkt, true);
	return in;
}

/* Bring @pkt to the far end of the link of @out: that port, or NULL if no port here gets @pkt */
static struct madsim_port *madsim_reach_peer(struct madsim_port *out, struct madsim_packet *pkt)
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

/* Let the faults of @out act on @pkt. Returns whether @pkt goes on now */
static bool madsim_strike(struct madsim_port *out, struct madsim_packet *pkt)
{
	unsigned long errors = madsim_fault_errors(out);
	bool lost = false;
	unsigned int kind;

	for_each_set_bit(kind, &errors, MADSIM_FAULT_KINDS)
		lost |= madsim_link_error(out->peer, kind);
	return !lost && madsim_fault_inject(out, pkt);
}

/* A burst may leave by the same ports, unless one of them has faults, or packets are traced */
static void madsim_remember(struct madsim_port *out)
{
	struct madsim_way *way = &out->node->fabric->way;

	if (unlikely(out->fault || trace_madsim_packet_enabled()))
		way->count = MADSIM_WAY;
	if (way->count < MADSIM_WAY)
		way->out[way->count++] = out;
}

/* Put @pkt on the link of @out. Returns where it is then, if it has not been lost */
static struct madsim_port *madsim_cross(struct madsim_port *out, struct madsim_packet *pkt)
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
	madsim_count_packet(out, pkt, false);
	trace_madsim_packet(out, pkt);
	madsim_remember(out);
	if (unlikely(out->fault) && !madsim_strike(out, pkt))
		return NULL;
	return madsim_reach_peer(out, pkt);
}

/* Whether an end port takes a MAD. madsim_qp_admits() of rq.c looks at the packets of clients */
static bool madsim_mad_admits(struct madsim_port *port, const struct madsim_packet *pkt)
{
	bool multicast = madsim_lid_is_multicast(pkt->dlid);

	if (pkt->smi)
		return !pkt->dst_qpn && !multicast && !pkt->grh_valid;

	if (pkt->dst_qpn != 1 &&
	    !(multicast && pkt->dst_qpn == IB_MULTICAST_QPN))
		return false;
	/* The MAD layer makes none of another length, but a client may */
	if (madsim_is_data(pkt) && pkt->len != IB_MGMT_MAD_SIZE)
		return false;
	return madsim_grh_fits(port, pkt) &&
	       madsim_keys_fit(port, madsim_find_pkey(port, pkt->pkey) >= 0, IB_QP1_QKEY, pkt);
}

/*
 * A switch responds to SMPs in its own hardware, with or without ib_device: the
 * MAD layer could not send the response by the port that the request came from.
 * SMInfo is for the subnet manager behind port 0, if there is one.
 */
static bool madsim_is_for_host(const struct madsim_port *port, const struct madsim_packet *pkt)
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

/* MADs to a multicast LID are for QP1. The packets of clients are for members of the group */
static bool madsim_is_for_client(const struct madsim_packet *pkt)
{
	if (pkt->smi || pkt->dlid == MADSIM_LID_PERMISSIVE)
		return false;
	if (madsim_lid_is_multicast(pkt->dlid))
		return madsim_is_data(pkt);
	return pkt->dst_qpn > 1;
}

static bool madsim_deliver_client(struct madsim_port *port, struct madsim_packet *pkt)
{
	if (!madsim_grh_fits(port, pkt))
		return false;
	if (pkt->bth.op != MADSIM_OP_NONE)
		return madsim_rc_receive(port, pkt);
	madsim_ud_receive(port, pkt);
	return false;
}

/* Returns whether @pkt has become a response, which @port is to send */
static bool madsim_deliver(struct madsim_port *port, u8 in_port, struct madsim_packet *pkt)
{
	if (madsim_is_for_client(pkt))
		return madsim_deliver_client(port, pkt);
	/* The agents know datagrams only */
	if (pkt->bth.op != MADSIM_OP_NONE)
		return false;
	if (!madsim_mad_admits(port, pkt))
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
static struct madsim_port *madsim_start(struct madsim_port *port, struct madsim_packet *pkt)
{
	/* A channel adapter has one link, and takes what has its own LID */
	if (port->node->sw || madsim_lid_is_mine(port, pkt->dlid))
		return madsim_goes_back(port, pkt) ? port : NULL;
	if (pkt->smi || madsim_has_vl(port, port, pkt))
		return madsim_cross(port, pkt);
	return NULL;
}

/*
 * Move a packet that has come in at @in one node on. Returns where it, or its response, is then. A
 * multicast packet may leave by several ports: those are on fabric->mcast, and this is NULL.
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
 * describe. A tree has fewer links than end ports. If a subnet manager has made
 * circles, the bound ends the storm. A unicast packet has no copies.
 */
static void madsim_flood(struct madsim_fabric *fabric, const struct madsim_packet *pkt)
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

/*
 * Send a packet that an end port's owner has made. When this returns, the packet has been received,
 * responded to, dropped, or deferred by a fault, and @pkt is overwritten. fabric->lock is held
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

/* Move a packet on that has come by a wire. @pkt is overwritten then. fabric->lock is held */
void madsim_arrive(struct madsim_port *in, struct madsim_packet *pkt)
{
	lockdep_assert_held(&in->node->fabric->lock);

	pkt->words = madsim_words(pkt);
	trace_madsim_packet(in->peer, pkt);
	in = madsim_enter(in, pkt);
	if (in)
		madsim_move(in, pkt);
}

/* Count bytes that are no packet at the port where they came in. fabric->lock is held */
void madsim_refuse(struct madsim_port *in)
{
	madsim_lose(in, NULL, MADSIM_LOST_MALFORMED);
}

static void madsim_trap_work(struct work_struct *work)
{
	struct madsim_fabric *fabric =
		container_of(work, struct madsim_fabric, trap_work.work);
	struct madsim_packet *pkt = &fabric->pkt;
	struct madsim_port *port;
	LIST_HEAD(ports);

	spin_lock_irq(&fabric->lock);
	list_splice_init(&fabric->traps, &ports);
	while ((port = madsim_trap_dequeue(fabric, &ports, pkt))) {
		madsim_send(port, pkt);
		/* All switches of a fabric may have a notice at a time */
		spin_unlock_irq(&fabric->lock);
		cond_resched();
		spin_lock_irq(&fabric->lock);
	}
	spin_unlock_irq(&fabric->lock);
}

static void madsim_deferred_work(struct work_struct *work)
{
	struct madsim_fabric *fabric =
		container_of(work, struct madsim_fabric, deferred_work.work);
	struct madsim_packet *pkt = &fabric->pkt;
	struct madsim_port *out, *in;
	bool arrived;

	spin_lock_irq(&fabric->lock);
	while ((out = madsim_fault_release(fabric, pkt, &arrived))) {
		in = arrived ? out : madsim_reach_peer(out, pkt);
		if (in)
			madsim_move(in, pkt);
		spin_unlock_irq(&fabric->lock);
		cond_resched();
		spin_lock_irq(&fabric->lock);
	}
	spin_unlock_irq(&fabric->lock);
}

/* Prepare a new fabric for packets. The end of the fabric cancels trap_work and deferred_work */
void madsim_engine_init(struct madsim_fabric *fabric)
{
	init_waitqueue_head(&fabric->copied);
	INIT_LIST_HEAD(&fabric->mcast);
	INIT_LIST_HEAD(&fabric->traps);
	INIT_DELAYED_WORK(&fabric->trap_work, madsim_trap_work);
	INIT_LIST_HEAD(&fabric->deferred);
	INIT_DELAYED_WORK(&fabric->deferred_work, madsim_deferred_work);
}
