// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Packets from the middle of a message, many at once. When a packet was executed and responded to,
 * and fabric->lock has been held since, the next packets fare as it did: their headers are the same
 * but for their numbers. So the ports on the way count these packets, and both queue pairs go on as
 * if the packets had been sent one by one. Then the bytes are copied from the sender's memory to
 * the receiver's, without a packet in between, and without fabric->lock. The last packet of a
 * message, which completes the message, goes by itself after the copy.
 */

#include <linux/minmax.h>
#include <linux/sizes.h>

#include "transport.h"

/* Bytes of one burst: calls that need its regions and queue pairs wait for the copy */
#define MADSIM_BURST_BYTES	SZ_1M

/* Bytes that are copied before other threads have their turn */
#define MADSIM_BURST_TURN	SZ_128K

/* The message in the requester's memory, from the next packet on */
static struct madsim_span madsim_burst_local(const struct madsim_qp *qp,
					     const struct madsim_swqe *wqe,
					     bool read)
{
	return (struct madsim_span) {
		.pd = qp->ibqp.pd,
		.sge = wqe->sge,
		.at = qp->rc->req.sent,
		.access = read ? IB_ACCESS_LOCAL_WRITE : 0,
	};
}

/* The message in the responder's memory: in a buffer, or by @key */
static struct madsim_span madsim_burst_remote(const struct madsim_qp *peer,
					      const struct ib_sge *key, bool read)
{
	if (peer->rc->resp.receiving == MADSIM_OP_SEND)
		return (struct madsim_span) {
			.pd = madsim_recv_pd(peer),
			.sge = peer->recv_wqe->sge,
			.at = peer->rc->resp.offset,
			.access = IB_ACCESS_LOCAL_WRITE,
		};
	return (struct madsim_span) {
		.pd = peer->ibqp.pd,
		.sge = key,
		.access = read ? IB_ACCESS_REMOTE_READ : IB_ACCESS_REMOTE_WRITE,
		.remote = true,
	};
}

/* How many packets can go at once. A responder's buffer has to have room for all */
static u32 madsim_burst_count(const struct madsim_qp *qp,
			      const struct madsim_swqe *wqe,
			      const struct madsim_qp *peer)
{
	u64 left = wqe->length - qp->rc->req.sent - 1;
	u32 count = min_t(u64, left, MADSIM_BURST_BYTES) / qp->rc->mtu;

	if (peer->rc->resp.receiving != MADSIM_OP_SEND)
		return count;
	return peer->recv_length - peer->rc->resp.offset < count * qp->rc->mtu ? 0 : count;
}

/**
 * madsim_burst - send the next packets of a message at once
 * @qp: the queue pair that sends them, and has sent the packet before them just now
 * @peer: the queue pair that has executed that packet
 * @pkt: becomes a packet with the headers that each packet of the burst has
 *
 * Packets of which one may be refused have to be sent one by one.
 *
 * Context: any; fabric->lock is held since @peer has executed the packet.
 * Return: how many these are. They have arrived, and so have their responses, but for their
 * bytes. So madsim_burst_copy() is next, when the lock was released, and madsim_burst_end()
 * when it was taken again.
 */
u32 madsim_burst(struct madsim_qp *qp, struct madsim_qp *peer, struct madsim_packet *pkt)
{
	struct madsim_rc *rc = qp->rc, *their = peer->rc;
	const struct madsim_swqe *wqe = madsim_rc_head(rc);
	bool read = wqe->opcode == IB_WR_RDMA_READ;
	struct madsim_burst *burst = &rc->burst;
	u32 count, len;

	/* Inline data is shorter. A READ of a strict fabric goes backwards */
	if (wqe->flags & IB_SEND_INLINE || wqe->backwards || rc->waiters || their->waiters)
		return 0;
	count = madsim_burst_count(qp, wqe, peer);
	len = count * rc->mtu;
	burst->key = (struct ib_sge) {
		.addr = read ? wqe->va + rc->req.sent : their->resp.va + their->resp.offset,
		.length = len,
		.lkey = read ? wqe->rkey : their->resp.rkey,
	};
	burst->local = madsim_burst_local(qp, wqe, read);
	burst->remote = madsim_burst_remote(peer, &burst->key, read);
	if (!count || !madsim_span_allows(&burst->local, len) ||
	    !madsim_span_allows(&burst->remote, len))
		return 0;

	pkt->bth = (struct madsim_bth) {
		.op = read ? MADSIM_OP_READ : their->resp.receiving,
		.first = read,
	};
	pkt->len = read ? 0 : rc->mtu;
	pkt->with_imm = false;
	pkt->grh_valid = rdma_ah_get_ah_flags(&rc->attr.ah_attr) & IB_AH_GRH;

	madsim_span_hold(&burst->local, len, 1);
	madsim_span_hold(&burst->remote, len, 1);
	burst->len = len;
	burst->read = read;
	burst->peer = peer;
	their->landing++;
	rc->req.sent += len;
	rc->req.psn = (rc->req.psn + count) & MADSIM_PSN_MASK;
	their->resp.psn = rc->req.psn;
	if (!read)
		their->resp.offset += len;
	return count;
}

/* Copy the bytes of a burst that a queue pair has sent. Sleeps, and no lock is held */
void madsim_burst_copy(const struct madsim_qp *qp)
{
	const struct madsim_burst *burst = &qp->rc->burst;
	struct madsim_span local = burst->local, remote = burst->remote;
	u32 len, piece;

	lockdep_assert_not_held(&madsim_fabric_of(qp->ibqp.device)->lock);
	might_sleep();

	for (len = burst->len; len; len -= piece) {
		piece = min_t(u32, len, MADSIM_BURST_TURN);
		madsim_span_copy(burst->read ? &local : &remote,
				 burst->read ? &remote : &local, piece);
		cond_resched();
	}
}

/* The bytes of a burst were copied. fabric->lock is held */
void madsim_burst_end(struct madsim_qp *qp)
{
	struct madsim_fabric *fabric = madsim_fabric_of(qp->ibqp.device);
	struct madsim_burst *burst = &qp->rc->burst;

	madsim_span_hold(&burst->local, burst->len, -1);
	madsim_span_hold(&burst->remote, burst->len, -1);
	burst->len = 0;
	burst->peer->rc->landing--;
	madsim_qp_copied(qp);
	madsim_qp_copied(burst->peer);
	/* A task that waits has found the copy with the lock held, and is in the queue */
	if (waitqueue_active(&fabric->copied))
		wake_up_all(&fabric->copied);
}
