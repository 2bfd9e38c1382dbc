// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Packets from the middle of a message, many at once. When one packet has been taken and
 * responded to, and fabric->lock has been held since, the next ones fare as it did: their
 * headers are the same but for their numbers. So their bytes are copied from the sender's
 * memory to the receiver's, without a packet in between, and the ports on the way count
 * them. The last packet of a message, which completes it, goes by itself.
 */

#include <linux/minmax.h>
#include <linux/sizes.h>

#include "verbs.h"

/* Bytes that are copied at once, with interrupts off; some twenty microseconds */
#define MADSIM_BURST_BYTES	SZ_128K

/* What the requester has of the message, from the next packet on */
static struct madsim_span madsim_burst_local(const struct madsim_qp *qp,
					     const struct madsim_swqe *wqe,
					     bool read)
{
	return (struct madsim_span) {
		.pd = qp->ibqp.pd,
		.sge = wqe->sge,
		.at = qp->rc->sent,
		.access = read ? IB_ACCESS_LOCAL_WRITE : 0,
	};
}

/* And the responder, in its buffer, or by the key in @key */
static struct madsim_span madsim_burst_remote(const struct madsim_qp *peer,
					      const struct ib_sge *key, bool read)
{
	if (peer->rc->receiving == MADSIM_OP_SEND)
		return (struct madsim_span) {
			.pd = madsim_recv_pd(peer),
			.sge = peer->taken->sge,
			.at = peer->rc->offset,
			.access = IB_ACCESS_LOCAL_WRITE,
		};
	return (struct madsim_span) {
		.pd = peer->ibqp.pd,
		.sge = key,
		.access = read ? IB_ACCESS_REMOTE_READ : IB_ACCESS_REMOTE_WRITE,
		.remote = true,
	};
}

/* How many packets, of which a responder's buffer has to have room for all */
static u32 madsim_burst_count(const struct madsim_qp *qp,
			      const struct madsim_swqe *wqe,
			      const struct madsim_qp *peer)
{
	u64 left = wqe->length - qp->rc->sent - 1;
	u32 count = min_t(u64, left, MADSIM_BURST_BYTES) / qp->rc->mtu;
	u64 room;

	if (peer->rc->receiving != MADSIM_OP_SEND)
		return count;
	room = madsim_sge_length(peer->taken->sge, peer->taken->num_sge);
	return room - peer->rc->offset < count * qp->rc->mtu ? 0 : count;
}

/**
 * madsim_burst - send the next packets of a message at once
 * @qp: the queue pair that sends them, and has sent the packet before them just now
 * @peer: the one that has taken that
 * @pkt: what this makes the header of each
 *
 * Packets of which one may be refused have to be sent one by one.
 *
 * Context: any; fabric->lock is held since @peer has taken the packet.
 * Return: how many these are. They have arrived, and so have their responses.
 */
u32 madsim_burst(struct madsim_qp *qp, struct madsim_qp *peer,
		 struct madsim_packet *pkt)
{
	struct madsim_rc *rc = qp->rc, *their = peer->rc;
	const struct madsim_swqe *wqe = madsim_rc_head(rc);
	bool read = wqe->opcode == IB_WR_RDMA_READ;
	struct madsim_span local, remote;
	struct ib_sge key = {
		.addr = read ? wqe->va + rc->sent : their->va + their->offset,
		.lkey = read ? wqe->rkey : their->rkey,
	};
	u32 count;

	/* Inline data is shorter. A READ of a strict fabric goes backwards */
	if (wqe->flags & IB_SEND_INLINE || wqe->backwards)
		return 0;
	count = madsim_burst_count(qp, wqe, peer);
	key.length = count * rc->mtu;
	local = madsim_burst_local(qp, wqe, read);
	remote = madsim_burst_remote(peer, &key, read);
	if (!count || !madsim_span_allows(&local, key.length) ||
	    !madsim_span_allows(&remote, key.length))
		return 0;

	pkt->bth = (struct madsim_bth) {
		.op = read ? MADSIM_OP_READ : their->receiving,
		.first = read,
	};
	pkt->len = read ? 0 : rc->mtu;
	pkt->with_imm = false;
	pkt->grh_valid = rdma_ah_get_ah_flags(&rc->attr.ah_attr) & IB_AH_GRH;

	madsim_span_copy(read ? &local : &remote, read ? &remote : &local,
			 key.length);
	rc->sent += key.length;
	rc->sq_psn = (rc->sq_psn + count) & MADSIM_PSN_MASK;
	their->rq_psn = rc->sq_psn;
	if (!read)
		their->offset += key.length;
	return count;
}
