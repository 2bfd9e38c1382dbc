// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The way of a packet: out of an end port, over links, through switches, and
 * into an end port. All of it happens in the sender's context under
 * fabric->lock, so a packet meets one state of the fabric only.
 */

#include <linux/math.h>
#include <linux/minmax.h>

#include "madsim.h"

/* More than any directed route, and an end to loops in forwarding tables */
#define MADSIM_MAX_HOPS		128

/* Bytes of the headers between BTH and what a packet carries */
static u32 madsim_extended_headers(const struct madsim_packet *pkt)
{
	const struct madsim_bth *bth = &pkt->bth;
	u32 len = pkt->with_imm ? 4 : 0;

	switch (bth->op) {
	case MADSIM_OP_NONE:
		return len + MADSIM_WIRE_DETH;
	case MADSIM_OP_SEND:
		return len + (bth->with_inv ? 4 : 0);
	case MADSIM_OP_READ:
		return len + 16;
	case MADSIM_OP_WRITE:
		return len + (bth->first ? 16 : 0);
	case MADSIM_OP_SWAP:
	case MADSIM_OP_ADD:
		return len + 28;
	case MADSIM_OP_ACK:
		return len + 4;
	default:
		return len;
	}
}

/**
 * madsim_payload - how long a packet is behind LRH and GRH
 * @pkt: the packet
 *
 * Context: any.
 * Return: the bytes from BTH to ICRC, with the padding.
 */
u32 madsim_payload(const struct madsim_packet *pkt)
{
	return round_up(pkt->len, 4) + MADSIM_WIRE_BTH + MADSIM_WIRE_ICRC +
	       madsim_extended_headers(pkt);
}

static u32 madsim_words(const struct madsim_packet *pkt)
{
	u32 len = MADSIM_WIRE_LRH + madsim_payload(pkt);

	if (pkt->grh_valid)
		len += sizeof(struct ib_grh);
	return len / 4;
}

static void madsim_count_xmit(struct madsim_port *port,
			      const struct madsim_packet *pkt)
{
	port->counters.total[MADSIM_XMIT_DATA] += madsim_words(pkt);
	madsim_count(port, MADSIM_XMIT_PKTS);
	madsim_count(port, madsim_lid_is_multicast(pkt->dlid) ?
			   MADSIM_XMIT_MCAST : MADSIM_XMIT_UCAST);
}

static void madsim_count_rcv(struct madsim_port *port,
			     const struct madsim_packet *pkt)
{
	port->counters.total[MADSIM_RCV_DATA] += madsim_words(pkt);
	madsim_count(port, MADSIM_RCV_PKTS);
	madsim_count(port, madsim_lid_is_multicast(pkt->dlid) ?
			   MADSIM_RCV_MCAST : MADSIM_RCV_UCAST);
}

/* An error, and the detail of it that another attribute has */
static void madsim_count_error(struct madsim_port *port,
			       enum madsim_counter error,
			       enum madsim_counter detail)
{
	madsim_count(port, error);
	madsim_count(port, detail);
}

/* The far half of crossing the link of @out; NULL if nobody takes @pkt */
static struct madsim_port *madsim_take(struct madsim_port *out,
				       struct madsim_packet *pkt)
{
	struct madsim_port *in = out->peer;

	if (!in)
		return NULL;
	if (madsim_state(in) < (pkt->smi ? IB_PORT_INIT : IB_PORT_ARMED) ||
	    (pkt->len > IB_MGMT_MAD_SIZE && !madsim_is_data(pkt) &&
	     !in->node->opa)) {
		madsim_count_error(in, MADSIM_RCV_ERRORS,
				   MADSIM_MALFORMED_ERRORS);
		return NULL;
	}
	if (in->crc_errors)
		in->crc_errors--;
	in->overruns = 0;
	madsim_count_rcv(in, pkt);
	return in;
}

/*
 * Put @pkt on the link of @out. VL15 works as soon as the link is trained,
 * all else wants the sender ACTIVE and the receiver at least ARMED.
 */
static struct madsim_port *madsim_cross(struct madsim_port *out,
					struct madsim_packet *pkt)
{
	if (madsim_state(out) < (pkt->smi ? IB_PORT_INIT : IB_PORT_ACTIVE)) {
		madsim_count_error(out, MADSIM_XMIT_DISCARDS,
				   MADSIM_INACTIVE_DISCARDS);
		return NULL;
	}
	if (madsim_is_data(pkt) && pkt->len > madsim_mtu(out)) {
		madsim_count_error(out, MADSIM_XMIT_DISCARDS,
				   MADSIM_MTU_DISCARDS);
		return NULL;
	}
	if (unlikely(out->fault) && madsim_fault_drops(out)) {
		madsim_count_error(out, MADSIM_XMIT_DISCARDS,
				   MADSIM_HOQ_DISCARDS);
		return NULL;
	}
	madsim_count_xmit(out, pkt);
	if (unlikely(out->fault) && madsim_fault_inject(out, pkt))
		return NULL;
	return madsim_take(out, pkt);
}

static bool madsim_gid_is_mine(const struct madsim_port *port,
			       const union ib_gid *gid)
{
	unsigned int i;

	if (gid->global.subnet_prefix != port->info.gid_prefix)
		return false;
	for (i = 0; i < MADSIM_GUIDS; i++) {
		if (port->guids[i] &&
		    port->guids[i] == gid->global.interface_id)
			return true;
	}
	return false;
}

/**
 * madsim_find_pkey - look for the entry of a port that lets a packet in
 * @port: an end port, or one of a switch that checks P_Keys
 * @pkey: the packet's P_Key
 *
 * Context: any; fabric->lock is held.
 * Return: the index, of a full member if there is a choice as in
 * ib_find_cached_pkey(), or -1.
 */
int madsim_find_pkey(const struct madsim_port *port, u16 pkey)
{
	int i, limited = -1;

	lockdep_assert_held(&port->node->fabric->lock);

	for (i = 0; i < MADSIM_PKEYS; i++) {
		u16 mine = be16_to_cpu(port->pkeys[i]);

		if (!madsim_pkey_matches(mine, pkey))
			continue;
		if (mine & 0x8000)
			return i;
		limited = i;
	}
	return limited;
}

/*
 * Whether a packet that came in at @in has a virtual lane at @out: its SL maps
 * to one, and that is in operation. VL15 is for subnet management alone.
 */
static bool madsim_has_vl(const struct madsim_port *in,
			  const struct madsim_port *out,
			  const struct madsim_packet *pkt)
{
	u8 pair = madsim_sl2vl(out->node, in->num, out->num)[pkt->sl / 2];
	u8 vl = pkt->sl & 1 ? pair & 0xf : pair >> 4;
	u8 lanes = BIT(madsim_pi_get(&out->info, MADSIM_PI_OPER_VLS) - 1);

	return vl < 15 && vl < lanes;
}

/*
 * Whether a switch lets a packet in by @in. The P_Key has the membership of
 * its sender, and so has the entry for it: only the partition is compared.
 */
static bool madsim_may_enter(struct madsim_port *in,
			     const struct madsim_packet *pkt)
{
	unsigned int i;

	if (!(madsim_pi_get(&in->info, MADSIM_PI_ENFORCE) & MADSIM_ENFORCE_IN))
		return true;
	for (i = 0; i < MADSIM_PKEYS; i++) {
		u16 mine = be16_to_cpu(in->pkeys[i]) & 0x7fff;

		if (mine && mine == (pkt->pkey & 0x7fff))
			return true;
	}
	madsim_count(in, MADSIM_RCV_CONSTRAINT_ERRORS);
	madsim_trap_switch_pkey(in, pkt);
	return false;
}

/* Whether a switch lets a packet that came in at @in out by @out */
static bool madsim_may_leave(struct madsim_port *in, struct madsim_port *out,
			     const struct madsim_packet *pkt)
{
	if (pkt->smi)
		return true;
	if (!madsim_has_vl(in, out, pkt)) {
		madsim_count_error(in, MADSIM_RELAY_ERRORS,
				   MADSIM_VL_MAPPING_ERRORS);
		return false;
	}
	if (madsim_pi_get(&out->info, MADSIM_PI_ENFORCE) & MADSIM_ENFORCE_OUT &&
	    madsim_find_pkey(out, pkt->pkey) < 0) {
		madsim_count(out, MADSIM_XMIT_CONSTRAINT_ERRORS);
		madsim_trap_switch_pkey(out, pkt);
		return false;
	}
	return true;
}

static bool madsim_grh_fits(const struct madsim_port *port,
			    const struct madsim_packet *pkt)
{
	return !pkt->grh_valid || pkt->grh.dgid.raw[0] == 0xff ||
	       madsim_gid_is_mine(port, &pkt->grh.dgid);
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
 * @pkt has become the response, and is addressed to who asked.
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
		/* What the MAD layer does for classes that nobody serves */
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
 * What is for queue pairs other than QP0 and QP1. MADs to a multicast LID are for
 * QP1, those of clients are for the group's members.
 */
static bool madsim_is_for_client(const struct madsim_packet *pkt)
{
	if (pkt->smi || pkt->dlid == MADSIM_LID_PERMISSIVE)
		return false;
	if (madsim_lid_is_multicast(pkt->dlid))
		return madsim_is_data(pkt);
	return pkt->dst_qpn > 1;
}

static void madsim_send_from(struct madsim_port *port,
			     struct madsim_packet *pkt);

static void madsim_deliver(struct madsim_port *port, u8 in_port,
			   struct madsim_packet *pkt)
{
	if (madsim_is_for_client(pkt)) {
		if (!madsim_grh_fits(port, pkt))
			return;
		if (pkt->bth.op == MADSIM_OP_NONE)
			madsim_ud_receive(port, pkt);
		else if (madsim_rc_receive(port, pkt))
			madsim_send_from(port, pkt);
		return;
	}
	/* The agents know datagrams only */
	if (pkt->bth.op != MADSIM_OP_NONE)
		return;
	if (!madsim_admit(port, pkt))
		return;

	if (madsim_is_for_host(port, pkt)) {
		madsim_qp_receive(port, pkt);
		return;
	}

	/* The agents send no requests, so no response is for them */
	if (pkt->hdr.method & IB_MGMT_METHOD_RESP ||
	    madsim_lid_is_multicast(pkt->dlid))
		return;
	if (!port->node->sw && madsim_is_dr_smp(pkt) &&
	    !madsim_dr_terminate(port, pkt))
		return;
	if (madsim_respond(port, in_port, pkt))
		madsim_send_from(port, pkt);
}

/* Where a switch sends a packet with a unicast LID; port 0 is itself */
static struct madsim_port *madsim_lft(struct madsim_port *in,
				      const struct madsim_packet *pkt)
{
	struct madsim_node *node = in->node;
	struct madsim_port *port0 = &node->ports[0];
	u8 num;

	if (madsim_lid_is_mine(port0, pkt->dlid))
		return port0;
	/* What a switch sends to "the other end of the link" is on no link */
	if (pkt->dlid == MADSIM_LID_PERMISSIVE)
		return in->num || madsim_is_dr_smp(pkt) ? port0 : NULL;

	num = madsim_lft_port(node->sw, pkt->dlid);
	if (!num || num > node->nports) {
		madsim_count_error(in, MADSIM_RELAY_ERRORS,
				   MADSIM_DLID_MAPPING_ERRORS);
		return NULL;
	}
	if (num == in->num) {
		madsim_count_error(in, MADSIM_RELAY_ERRORS,
				   MADSIM_LOOPING_ERRORS);
		return NULL;
	}
	return &node->ports[num];
}

static bool madsim_in_mft(const struct madsim_switch *sw, u16 lid, u8 num)
{
	unsigned int at = (lid - MADSIM_LID_MULTICAST) * sw->mft_words +
			  num / 16;

	return lid - MADSIM_LID_MULTICAST < MADSIM_MFT_SIZE &&
	       be16_to_cpu(sw->mft[at]) & BIT(num % 16);
}

/* Mark the ports by which a switch lets a multicast packet out */
static void madsim_mft(struct madsim_port *in, struct madsim_packet *pkt)
{
	struct madsim_node *node = in->node;
	unsigned int i;

	if (in->num && madsim_in_mft(node->sw, pkt->dlid, 0))
		madsim_deliver(&node->ports[0], in->num, pkt);
	for (i = 1; i <= node->nports; i++) {
		struct madsim_port *out = &node->ports[i];

		if (i != in->num && madsim_in_mft(node->sw, pkt->dlid, i) &&
		    list_empty(&out->mcast_link) &&
		    madsim_may_leave(in, out, pkt))
			list_add_tail(&out->mcast_link, &node->fabric->mcast);
	}
}

static struct madsim_port *madsim_enter_switch(struct madsim_port *in,
					       struct madsim_packet *pkt)
{
	struct madsim_port *out;

	if (!pkt->smi && !madsim_may_enter(in, pkt))
		return NULL;
	if (madsim_lid_is_multicast(pkt->dlid)) {
		madsim_mft(in, pkt);
		return NULL;
	}

	out = madsim_lft(in, pkt);
	if (out && !out->num && madsim_is_dr_smp(pkt))
		out = madsim_dr_forward(in, pkt);
	if (out && !out->num) {
		madsim_deliver(out, in->num, pkt);
		return NULL;
	}
	return out && madsim_may_leave(in, out, pkt) ? out : NULL;
}

/*
 * What a node does with a packet that came in at @in: deliver it, drop it, or
 * let it out again. @in is port 0 if it comes from the switch itself.
 *
 * Returns the port that the packet leaves by. A multicast packet may leave by
 * several: those are on fabric->mcast, and this is NULL.
 */
static struct madsim_port *madsim_enter(struct madsim_port *in,
					struct madsim_packet *pkt)
{
	if (in->node->sw)
		return madsim_enter_switch(in, pkt);

	if (pkt->dlid == MADSIM_LID_PERMISSIVE ||
	    madsim_lid_is_mine(in, pkt->dlid) ||
	    madsim_lid_is_multicast(pkt->dlid))
		madsim_deliver(in, in->num, pkt);
	return NULL;
}

/* A packet that has been on its way for too long ends at @out */
static void madsim_expire(struct madsim_port *out)
{
	madsim_count_error(out, MADSIM_XMIT_DISCARDS,
			   MADSIM_LIFETIME_DISCARDS);
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

	while ((out = list_first_entry_or_null(&fabric->mcast,
					       struct madsim_port,
					       mcast_link))) {
		list_del_init(&out->mcast_link);
		if (!budget) {
			madsim_expire(out);
			continue;
		}
		budget--;

		/* Faults and agents may change what they see */
		memcpy(copy, pkt,
		       offsetof(struct madsim_packet, mad) + pkt->len);
		in = madsim_cross(out, copy);
		if (in)
			madsim_enter(in, copy);
	}
}

/* Move a packet on that has come to @in, until its way has ended */
static void madsim_move(struct madsim_port *in, struct madsim_packet *pkt)
{
	struct madsim_fabric *fabric = in->node->fabric;
	struct madsim_port *out;
	unsigned int hops;

	for (hops = 0; in; hops++) {
		out = madsim_enter(in, pkt);
		if (out && hops == MADSIM_MAX_HOPS) {
			madsim_expire(out);
			break;
		}
		in = out ? madsim_cross(out, pkt) : NULL;
	}
	madsim_flood(fabric, pkt);
}

/**
 * madsim_arrive - let a packet that was held on a link go on
 * @out: the port it had left by
 * @pkt: the packet; scratch afterwards
 *
 * Context: any; fabric->lock is held.
 */
void madsim_arrive(struct madsim_port *out, struct madsim_packet *pkt)
{
	struct madsim_port *in;

	lockdep_assert_held(&out->node->fabric->lock);

	in = madsim_take(out, pkt);
	if (in)
		madsim_move(in, pkt);
}

static void madsim_leave(struct madsim_port *out, struct madsim_packet *pkt)
{
	struct madsim_port *in = madsim_cross(out, pkt);

	if (in)
		madsim_move(in, pkt);
}

/* Send what an end port itself, or an agent behind it, has made */
static void madsim_send_from(struct madsim_port *port,
			     struct madsim_packet *pkt)
{
	/* A channel adapter has one link, and takes what has its own LID */
	if (port->node->sw || madsim_lid_is_mine(port, pkt->dlid))
		madsim_move(port, pkt);
	else if (pkt->smi || madsim_has_vl(port, port, pkt))
		madsim_leave(port, pkt);
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
	struct madsim_port *out;

	lockdep_assert_held(&port->node->fabric->lock);

	if (!port->node->sw || !madsim_is_dr_smp(pkt) ||
	    pkt->dlid != MADSIM_LID_PERMISSIVE) {
		madsim_send_from(port, pkt);
		return;
	}

	/* The MAD layer of a switch has moved the hop pointer itself */
	out = madsim_dr_depart(port->node, pkt);
	if (out)
		madsim_leave(out, pkt);
}
