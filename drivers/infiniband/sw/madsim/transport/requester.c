// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The requesters of connected queue pairs.
 *
 * A packet travels in no time: on an undisturbed fabric the response is there when the packet has
 * been sent, and so one packet is under way. A timer is armed only if the response is not there.
 * Where responses come later, as behind a wire, several packets of a message are under way, and not
 * each asks for a response. When a packet is lost, all packets from this one on go again.
 *
 * An RDMA READ goes as one request for each MTU, so that each packet has one response.
 *
 * Here packets are made, and responses processed. engine/run.c sends.
 */

#include <linux/minmax.h>

#include "transport.h"

/* RNR retries that never end */
#define MADSIM_RNR_FOREVER	7

/* Packets under way, where responses come late */
#define MADSIM_WINDOW		128
/* Packets that arrive before the window opens by one, after a loss. A power of two */
#define MADSIM_WIDEN		16
/* Acknowledgments that a window asks for. With more, fewer timers end where a transport is slow */
#define MADSIM_ACKS		16

/* By the code in a response, in units of ten microseconds */
static const u16 madsim_rnr_times[] = {
	0 /* 65536 */, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192,
	256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288,
	16384, 24576, 32768, 49152,
};

/* The oldest send has failed. UC goes on receiving, until its owner mends that */
static void madsim_rc_fail(struct madsim_qp *qp, enum ib_wc_status status)
{
	madsim_rc_complete(qp, status);
	madsim_qp_fail(qp, madsim_is_uc(qp) ? IB_QPS_SQE : IB_QPS_ERR);
}

static void madsim_rc_arm(struct madsim_rc *rc, unsigned long delay)
{
	madsim_strict_finish_write(rc->qp);
	rc->comp.deadline = jiffies + delay;
	mod_delayed_work(madsim_send_wq(rc->qp), &rc->comp.timer, delay);
}

/* As madsim_rc_arm(), for a packet behind others: the first one has armed the timer */
static void madsim_rc_postpone(struct madsim_rc *rc, unsigned long delay)
{
	if (rc->req.ahead > 1 && delayed_work_pending(&rc->comp.timer))
		rc->comp.deadline = jiffies + delay;
	else
		madsim_rc_arm(rc, delay);
}

/*
 * How long a response may take. The specification lets a timer run up to four times as long
 * as the attribute says. The response to several packets comes after the last packet.
 */
static unsigned long madsim_rc_patience(const struct madsim_rc *rc)
{
	bool late = rc->comp.async || rc->comp.window_cut;

	return nsecs_to_jiffies(4096ULL << (rc->attr.timeout + 2 * late)) + 1;
}

/*
 * Packets were lost. What carries a wire, such as a socket of UDP, may have too short a buffer
 * for a whole window. Where one packet is under way at a time, the window is not the cause.
 */
static void madsim_rc_narrow(struct madsim_rc *rc)
{
	if (rc->comp.async)
		rc->comp.window_cut += (MADSIM_WINDOW - rc->comp.window_cut) / 2;
}

/* How long the packet behind the first @sent bytes of a message is */
static u32 madsim_rc_piece(const struct madsim_rc *rc, const struct madsim_swqe *wqe, u64 sent)
{
	return min_t(u64, wqe->length - sent, rc->mtu);
}

/* Where in the message this packet begins: strict fabrics read the last packet first */
static u64 madsim_rc_at(const struct madsim_rc *rc, const struct madsim_swqe *wqe, u64 sent)
{
	if (!wqe->backwards)
		return sent;
	return wqe->length - sent - madsim_rc_piece(rc, wqe, sent);
}

/* Whether a packet may follow while @ahead are under way. In a strict fabric none may */
static bool madsim_rc_room(const struct madsim_qp *qp, u32 ahead)
{
	const struct madsim_rc *rc = qp->rc;

	return rc->comp.async && !rc->comp.rnr && ahead < MADSIM_WINDOW - rc->comp.window_cut &&
	       rc->req.sent + (u64)ahead * rc->mtu < madsim_rc_head(rc)->length &&
	       !madsim_is_strict(qp) && !madsim_rc_head(rc)->backwards;
}

static bool madsim_rc_open(const struct madsim_qp *qp)
{
	return madsim_rc_room(qp, qp->rc->req.ahead);
}

/*
 * Whether the next packet asks for a response. If it does not, a later packet does. A window is
 * narrow because a timer has ended before packets arrived: then more packets of the window ask.
 */
static bool madsim_rc_asks(const struct madsim_qp *qp)
{
	const struct madsim_rc *rc = qp->rc;
	u32 each = max(MADSIM_WINDOW - rc->comp.window_cut, MADSIM_ACKS) / MADSIM_ACKS;

	return !((rc->req.psn + rc->req.ahead + 1) % each) ||
	       !madsim_rc_room(qp, rc->req.ahead + 1);
}

/* The next packet of a send, which has one MTU of data at most */
static enum ib_wc_status madsim_rc_build(struct madsim_qp *qp,
					 const struct madsim_swqe *wqe,
					 struct madsim_packet *pkt)
{
	struct madsim_rc *rc = qp->rc;
	struct madsim_bth *bth = &pkt->bth;
	u64 sent = rc->req.sent + (u64)rc->req.ahead * rc->mtu;
	u32 piece = madsim_rc_piece(rc, wqe, sent);
	u64 left = wqe->length - sent;
	bool payload, atomic;

	*bth = (struct madsim_bth) {
		.op = wqe->op,
		.uc = madsim_is_uc(qp),
		.first = !sent,
		.last = piece == left,
		.psn = (rc->req.psn + rc->req.ahead) & MADSIM_PSN_MASK,
		.rkey = wqe->rkey,
		.va = wqe->va + madsim_rc_at(rc, wqe, sent),
		.dma_len = left,
		.compare = wqe->compare,
		.swap = wqe->swap,
	};
	bth->ask = !bth->uc && (!rc->comp.async || madsim_rc_asks(qp));
	payload = madsim_op_has_payload(bth->op);
	atomic = bth->op == MADSIM_OP_SWAP || bth->op == MADSIM_OP_ADD;
	if (!payload && !rc->attr.max_rd_atomic) {
		madsim_mistake(qp, wqe->wr_id, MADSIM_NO_RD_ATOMIC);
		return IB_WC_LOC_QP_OP_ERR;
	}
	if (bth->op == MADSIM_OP_READ) {
		bth->ask = true;
		bth->first = true;
		bth->dma_len = piece;
	}
	if (bth->last && wqe->opcode == IB_WR_SEND_WITH_INV) {
		bth->with_inv = true;
		bth->inv_key = wqe->inv_key;
	}
	if (atomic && wqe->length != sizeof(u64))
		return IB_WC_LOC_LEN_ERR;

	pkt->len = payload ? piece : 0;
	pkt->smi = false;
	pkt->src_qpn = qp->ibqp.qp_num;
	pkt->dst_qpn = rc->attr.dest_qp_num;
	pkt->solicited = bth->last && wqe->flags & IB_SEND_SOLICITED;
	pkt->with_imm = bth->last && (wqe->opcode == IB_WR_SEND_WITH_IMM ||
				      wqe->opcode == IB_WR_RDMA_WRITE_WITH_IMM);
	pkt->imm = wqe->imm;
	madsim_packet_path(qp->port, &rc->attr.ah_attr, qp->pkey_index, pkt);
	if (wqe->flags & IB_SEND_INLINE) {
		memcpy(pkt->data, (const void *)wqe->sge + sent, pkt->len);
		return IB_WC_SUCCESS;
	}
	return madsim_copy_from(qp->ibqp.pd, wqe->sge, sent, pkt->data,
				pkt->len);
}

/* Execute a work request that needs no packet. Returns -EBUSY if it has to be tried again */
static int madsim_rc_local(struct madsim_qp *qp, const struct madsim_swqe *wqe)
{
	int ret;

	if (wqe->opcode == IB_WR_REG_MR)
		ret = madsim_mr_enable(qp->ibqp.pd, wqe->mr, wqe->key,
				       wqe->access) ? 0 : -EINVAL;
	else
		ret = madsim_mr_invalidate(qp->ibqp.pd, wqe->inv_key);
	if (ret == -EBUSY)
		return ret;
	return ret ? IB_WC_MW_BIND_ERR : IB_WC_SUCCESS;
}

/* The oldest packets under way have arrived, or, of UC, have left */
static void madsim_rc_advance(struct madsim_qp *qp, u32 packets)
{
	struct madsim_rc *rc = qp->rc;
	u64 length = madsim_rc_head(rc)->length;

	rc->comp.gap = rc->comp.gap && !packets;
	rc->req.ahead -= packets;
	rc->req.psn = (rc->req.psn + packets) & MADSIM_PSN_MASK;
	rc->req.sent = min(rc->req.sent + (u64)packets * rc->mtu, length);
	if (rc->req.ahead || rc->req.sent < length)
		return;
	madsim_rc_complete(qp, IB_WC_SUCCESS);
	madsim_rc_drained(qp);
}

/* In SQD a queue pair ends what it has begun */
static bool madsim_rc_may_send(const struct madsim_qp *qp)
{
	return qp->state == IB_QPS_RTS ||
	       (qp->state == IB_QPS_SQD && qp->rc->req.begun);
}

/**
 * madsim_rc_prepare - make the next packet of what was posted
 * @qp: a connected queue pair
 * @pkt: the packet
 * @more: whether there may be another one if there is none now
 *
 * A work request that needs no packet is executed, and one that cannot be sent fails.
 *
 * Context: any; fabric->lock is held.
 * Return: whether there is one. Then madsim_rc_sent() is to be called when it was sent.
 */
bool madsim_rc_prepare(struct madsim_qp *qp, struct madsim_packet *pkt, bool *more)
{
	struct madsim_rc *rc = qp->rc;
	struct madsim_swqe *wqe = madsim_rc_head(rc);
	bool local;
	int status;

	*more = false;
	if (!wqe || rc->burst.len || !madsim_rc_may_send(qp) ||
	    (rc->req.ahead && !madsim_rc_open(qp)))
		return false;

	local = wqe->op == MADSIM_OP_LOCAL;
	status = local ? madsim_rc_local(qp, wqe) :
			 madsim_rc_build(qp, wqe, pkt);
	if (status == -EBUSY) {
		mod_delayed_work(madsim_send_wq(qp), &rc->comp.timer, 1);
		return false;
	}
	if (status || local) {
		spin_lock(&qp->lock);
		if (status)
			madsim_rc_fail(qp, status);
		else
			madsim_rc_complete(qp, status);
		spin_unlock(&qp->lock);
		*more = !status;
		return false;
	}

	rc->req.begun = true;
	rc->comp.rnr = false;
	rc->req.ahead++;
	rc->req.sending = true;
	return true;
}

/* A packet has gone. Returns whether more may be sent at once. fabric->lock is held */
bool madsim_rc_sent(struct madsim_qp *qp)
{
	struct madsim_rc *rc = qp->rc;

	rc->req.sending = false;
	if (madsim_is_uc(qp)) {
		/* The packet may have come back to this queue pair, and have made it fail */
		if (madsim_rc_may_send(qp))
			madsim_rc_advance(qp, 1);
		return rc->sq.count;
	}
	if (rc->req.ahead && !rc->comp.rnr && rc->attr.timeout)
		madsim_rc_postpone(rc, madsim_rc_patience(rc));
	return rc->sq.count && (!rc->req.ahead || madsim_rc_open(qp));
}

/* No response has come in time, or the responder should be ready by now. fabric->lock is held */
void madsim_rc_expired(struct madsim_qp *qp)
{
	struct madsim_rc *rc = qp->rc;

	madsim_strict_finish_write(qp);
	if (rc->req.ahead && !rc->comp.rnr && !rc->attr.timeout) {
		/* The timer was for an earlier packet. The oldest packet now waits for ever */
	} else if (rc->req.ahead && time_before(jiffies, rc->comp.deadline)) {
		/* The timer was for an earlier packet. The oldest packet now has more time */
		madsim_rc_arm(rc, rc->comp.deadline - jiffies);
	} else if (rc->req.ahead && !rc->comp.rnr && !rc->comp.retries) {
		spin_lock(&qp->lock);
		madsim_rc_fail(qp, IB_WC_RETRY_EXC_ERR);
		spin_unlock(&qp->lock);
	} else if (rc->req.ahead) {
		if (!rc->comp.rnr) {
			rc->comp.retries--;
			madsim_rc_narrow(rc);
		}
		/* One packet goes again, and others when its response has come */
		rc->comp.async = false;
		rc->comp.gap = false;
		rc->req.ahead = 0;
	}
}

static void madsim_rc_not_ready(struct madsim_qp *qp, u8 syndrome)
{
	struct madsim_rc *rc = qp->rc;
	u32 time = madsim_rnr_times[syndrome % ARRAY_SIZE(madsim_rnr_times)];

	madsim_mistake(qp, madsim_rc_head(rc)->wr_id, MADSIM_NO_BUFFER);
	if (rc->attr.rnr_retry != MADSIM_RNR_FOREVER) {
		if (!rc->comp.rnr_retries) {
			madsim_rc_fail(qp, IB_WC_RNR_RETRY_EXC_ERR);
			return;
		}
		rc->comp.rnr_retries--;
	}
	rc->comp.rnr = true;
	madsim_rc_arm(rc, usecs_to_jiffies(10 * (time ?: 65536)));
}

/* Let the peer have all retries again. fabric->lock is held */
void madsim_rc_refresh(struct madsim_rc *rc)
{
	rc->comp.retries = rc->attr.retry_cnt;
	rc->comp.rnr_retries = rc->attr.rnr_retry;
}

/* The oldest packets were acknowledged, with data if these were READs or an atomic operation */
static void madsim_rc_acknowledged(struct madsim_qp *qp,
				   const struct madsim_packet *pkt, u32 packets)
{
	struct madsim_rc *rc = qp->rc;
	struct madsim_swqe *wqe = madsim_rc_head(rc);
	enum ib_wc_status status;
	u32 brings = 0, psn = rc->req.psn;

	madsim_rc_refresh(rc);
	if (!madsim_op_has_payload(wqe->op))
		brings = madsim_rc_piece(rc, wqe, rc->req.sent);
	if (pkt->len != brings) {
		madsim_rc_fail(qp, IB_WC_BAD_RESP_ERR);
		return;
	}
	status = madsim_copy_to(qp->ibqp.pd, wqe->sge, madsim_rc_at(rc, wqe, rc->req.sent),
				pkt->data, pkt->len);
	if (status) {
		madsim_rc_fail(qp, status);
		return;
	}
	madsim_rc_advance(qp, packets);
	/* Later packets have a full time to wait from now on, and the window opens slowly */
	if (rc->req.ahead)
		rc->comp.deadline = jiffies + madsim_rc_patience(rc);
	if (rc->comp.window_cut && (rc->req.psn ^ psn) & ~(MADSIM_WIDEN - 1))
		rc->comp.window_cut--;
}

/* Process what comes back to a requester. fabric->lock and qp->lock are held */
void madsim_rc_response(struct madsim_qp *qp, const struct madsim_packet *pkt)
{
	struct madsim_rc *rc = qp->rc;
	u32 before = (pkt->bth.psn - rc->req.psn) & MADSIM_PSN_MASK;
	u8 syndrome = pkt->bth.syndrome;

	/* A duplicate, or a response that the requester does not wait for any more */
	if (before >= rc->req.ahead)
		return;

	rc->comp.async = !rc->req.sending;
	/* The response to an earlier READ is missing. All READs go again, once for such a gap */
	if (before && madsim_rc_head(rc)->opcode == IB_WR_RDMA_READ) {
		if (rc->comp.gap)
			return;
		rc->comp.gap = true;
		syndrome = IB_NAK_PSN_ERROR;
		before = 0;
	}
	switch (syndrome) {
	case 0 ... MADSIM_ACKNOWLEDGED:
		madsim_rc_acknowledged(qp, pkt, before + 1);
		break;
	case IB_RNR_NAK ... IB_NAK_PSN_ERROR - 1:
		/* The same refusal may come twice */
		if (rc->comp.rnr)
			return;
		madsim_rc_advance(qp, before);
		madsim_rc_not_ready(qp, syndrome);
		return;
	case IB_NAK_PSN_ERROR:
		if (!rc->comp.retries) {
			madsim_rc_fail(qp, IB_WC_RETRY_EXC_ERR);
			break;
		}
		rc->comp.retries--;
		madsim_rc_narrow(rc);
		madsim_rc_advance(qp, before);
		rc->req.ahead = 0;
		break;
	case IB_NAK_INVALID_REQUEST:
		madsim_rc_fail(qp, IB_WC_REM_INV_REQ_ERR);
		break;
	case IB_NAK_REMOTE_ACCESS_ERROR:
		madsim_rc_fail(qp, IB_WC_REM_ACCESS_ERR);
		break;
	default:
		madsim_rc_fail(qp, IB_WC_REM_OP_ERR);
		break;
	}
	if (!rc->req.sending)
		queue_work(madsim_send_wq(qp), &rc->req.work);
}
