// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What a connected queue pair sends.
 *
 * One packet is under way. As it travels in no time, waiting for each costs nothing:
 * on an undisturbed fabric the response is there when the packet has been sent. A
 * timer is armed only if it is not. An RDMA READ goes as one request for each MTU, so
 * that each packet has one response.
 *
 * What is posted is sent by a worker, or, as far as it is soon done, by the program
 * that posts. Either lets go of fabric->lock between two packets.
 */

#include <linux/minmax.h>
#include <linux/slab.h>

#include "verbs.h"

/* RNR retries that never end */
#define MADSIM_RNR_FOREVER	7

/* Packets that are sent in one turn; a few milliseconds */
#define MADSIM_MAX_RUN		4096

/**
 * struct madsim_swqe - a send that was posted to a connected queue pair
 * @wr_id:	what its owner calls it
 * @opcode:	what to do
 * @flags:	IB_SEND_*
 * @imm:	immediate data
 * @inv_key:	the key to be invalidated, here or at the responder
 * @rkey:	of the responder's memory
 * @va:		and the address there
 * @compare:	of an atomic operation, also what is to be added
 * @swap:	of an atomic operation
 * @mr:		the region to be registered
 * @key:	its new key
 * @access:	and what that allows
 * @length:	of all pieces
 * @num_sge:	number of pieces
 * @sge:	the pieces, or in their place the data itself
 */
struct madsim_swqe {
	u64 wr_id;
	enum ib_wr_opcode opcode;
	int flags;
	__be32 imm;
	u32 inv_key;
	u32 rkey;
	u64 va;
	u64 compare;
	u64 swap;
	struct ib_mr *mr;
	u32 key;
	int access;
	u64 length;
	u32 num_sge;
	struct ib_sge sge[];
};

static const struct {
	enum madsim_op op;
	enum ib_wc_opcode wc;
	bool rc_only;
} madsim_ops[] = {
	[IB_WR_RDMA_WRITE] = { MADSIM_OP_WRITE, IB_WC_RDMA_WRITE },
	[IB_WR_RDMA_WRITE_WITH_IMM] = { MADSIM_OP_WRITE, IB_WC_RDMA_WRITE },
	[IB_WR_SEND] = { MADSIM_OP_SEND, IB_WC_SEND },
	[IB_WR_SEND_WITH_IMM] = { MADSIM_OP_SEND, IB_WC_SEND },
	[IB_WR_RDMA_READ] = { MADSIM_OP_READ, IB_WC_RDMA_READ, true },
	[IB_WR_ATOMIC_CMP_AND_SWP] = { MADSIM_OP_SWAP, IB_WC_COMP_SWAP, true },
	[IB_WR_ATOMIC_FETCH_AND_ADD] = { MADSIM_OP_ADD, IB_WC_FETCH_ADD, true },
	[IB_WR_SEND_WITH_INV] = { MADSIM_OP_SEND, IB_WC_SEND, true },
	[IB_WR_LOCAL_INV] = { MADSIM_OP_LOCAL, IB_WC_LOCAL_INV },
	[IB_WR_REG_MR] = { MADSIM_OP_LOCAL, IB_WC_REG_MR },
};

/* By the code in a response, in units of ten microseconds */
static const u16 madsim_rnr_times[] = {
	0 /* 65536 */, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192,
	256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288,
	16384, 24576, 32768, 49152,
};

static struct madsim_fabric *madsim_rc_fabric(const struct madsim_qp *qp)
{
	return to_madsim_dev(qp->ibqp.device)->node->fabric;
}

static struct madsim_swqe *madsim_swqe_at(const struct madsim_rc *rc, u32 at)
{
	return rc->ring + at * rc->swqe_size;
}

/* The send that is under way, or the next one */
static struct madsim_swqe *madsim_rc_head(const struct madsim_rc *rc)
{
	return rc->count ? madsim_swqe_at(rc, rc->head) : NULL;
}

/* The oldest send has ended */
static void madsim_rc_complete(struct madsim_qp *qp, enum ib_wc_status status)
{
	struct madsim_rc *rc = qp->rc;
	struct madsim_swqe *wqe = madsim_rc_head(rc);
	struct ib_wc wc = {
		.wr_id = wqe->wr_id,
		.qp = madsim_wc_qp(qp),
		.status = status,
		.opcode = madsim_ops[wqe->opcode].wc,
		.byte_len = wqe->length,
		.port_num = qp->port->num,
	};

	rc->head = madsim_ring_at(rc->head, 1, rc->size);
	rc->count--;
	qp->ended++;
	rc->sent = 0;
	rc->begun = false;
	rc->waiting = false;
	if (status || qp->sig_all || wqe->flags & IB_SEND_SIGNALED)
		madsim_complete_send(qp, &wc);
}

/**
 * madsim_rc_flush_sends - give back what was not sent
 * @qp: a connected queue pair that fails
 *
 * Context: any; fabric->lock is held.
 */
void madsim_rc_flush_sends(struct madsim_qp *qp)
{
	while (qp->rc->count)
		madsim_rc_complete(qp, IB_WC_WR_FLUSH_ERR);
}

/* The oldest send has failed. UC goes on receiving, until its owner mends that */
static void madsim_rc_fail(struct madsim_qp *qp, enum ib_wc_status status)
{
	madsim_rc_complete(qp, status);
	madsim_qp_fail(qp, madsim_is_uc(qp) ? IB_QPS_SQE : IB_QPS_ERR);
}

/* What programs send, they send for as long as they like: the kernel's has its own */
static struct workqueue_struct *madsim_rc_wq(const struct madsim_qp *qp)
{
	return qp->alias ? madsim_user_wq : madsim_wq;
}

static void madsim_rc_arm(struct madsim_rc *rc, unsigned long delay)
{
	rc->deadline = jiffies + delay;
	mod_delayed_work(madsim_rc_wq(rc->qp), &rc->timer, delay);
}

/* The next packet of a send, which is at most one MTU of it */
static enum ib_wc_status madsim_rc_build(struct madsim_qp *qp,
					 const struct madsim_swqe *wqe,
					 struct madsim_packet *pkt)
{
	struct madsim_rc *rc = qp->rc;
	struct madsim_bth *bth = &pkt->bth;
	u64 left = wqe->length - rc->sent;
	bool send, atomic;

	rc->piece = min_t(u64, left, rc->mtu);
	*bth = (struct madsim_bth) {
		.op = madsim_ops[wqe->opcode].op,
		.uc = madsim_is_uc(qp),
		.first = !rc->sent,
		.last = rc->piece == left,
		.psn = rc->sq_psn,
		.rkey = wqe->rkey,
		.va = wqe->va + rc->sent,
		.dma_len = left,
		.compare = wqe->compare,
		.swap = wqe->swap,
	};
	send = bth->op == MADSIM_OP_SEND || bth->op == MADSIM_OP_WRITE;
	atomic = bth->op == MADSIM_OP_SWAP || bth->op == MADSIM_OP_ADD;
	if (!send && !rc->attr.max_rd_atomic)
		return IB_WC_LOC_QP_OP_ERR;
	if (bth->op == MADSIM_OP_READ) {
		bth->first = true;
		bth->dma_len = rc->piece;
	}
	if (bth->last && wqe->opcode == IB_WR_SEND_WITH_INV) {
		bth->with_inv = true;
		bth->inv_key = wqe->inv_key;
	}
	if (atomic && wqe->length != sizeof(u64))
		return IB_WC_LOC_LEN_ERR;

	pkt->len = send ? rc->piece : 0;
	pkt->smi = false;
	pkt->src_qpn = qp->ibqp.qp_num;
	pkt->dst_qpn = rc->attr.dest_qp_num;
	pkt->solicited = bth->last && wqe->flags & IB_SEND_SOLICITED;
	pkt->with_imm = bth->last && (wqe->opcode == IB_WR_SEND_WITH_IMM ||
				      wqe->opcode == IB_WR_RDMA_WRITE_WITH_IMM);
	pkt->imm = wqe->imm;
	madsim_route(qp->port, &rc->attr.ah_attr, qp->pkey_index, pkt);
	if (wqe->flags & IB_SEND_INLINE) {
		memcpy(pkt->data, (const void *)wqe->sge + rc->sent, pkt->len);
		return IB_WC_SUCCESS;
	}
	return madsim_copy_from(qp->ibqp.pd, wqe->sge, rc->sent, pkt->data,
				pkt->len);
}

/* What the queue pair does by itself */
static enum ib_wc_status madsim_rc_local(struct madsim_qp *qp,
					 const struct madsim_swqe *wqe)
{
	bool good;

	if (wqe->opcode == IB_WR_REG_MR)
		good = madsim_mr_enable(qp->ibqp.pd, wqe->mr, wqe->key,
					wqe->access);
	else
		good = madsim_mr_invalidate(qp->ibqp.pd, wqe->inv_key);
	return good ? IB_WC_SUCCESS : IB_WC_MW_BIND_ERR;
}

/* A packet has arrived, or, of UC, has left */
static void madsim_rc_advance(struct madsim_qp *qp)
{
	struct madsim_rc *rc = qp->rc;

	rc->waiting = false;
	rc->sq_psn = (rc->sq_psn + 1) & MADSIM_PSN_MASK;
	rc->sent += rc->piece;
	if (rc->sent < madsim_rc_head(rc)->length)
		return;
	madsim_rc_complete(qp, IB_WC_SUCCESS);
	madsim_rc_drained(qp);
}

/* In SQD a queue pair ends what it has begun */
static bool madsim_rc_may_send(const struct madsim_qp *qp)
{
	return qp->state == IB_QPS_RTS ||
	       (qp->state == IB_QPS_SQD && qp->rc->begun);
}

/* Returns whether there may be more to be sent at once */
static bool madsim_rc_step(struct madsim_qp *qp)
{
	struct madsim_rc *rc = qp->rc;
	struct madsim_packet *pkt = &madsim_rc_fabric(qp)->tx;
	struct madsim_swqe *wqe = madsim_rc_head(rc);
	enum ib_wc_status status;
	bool local;

	if (!madsim_rc_may_send(qp) || rc->waiting || !wqe)
		return false;

	local = madsim_ops[wqe->opcode].op == MADSIM_OP_LOCAL;
	status = local ? madsim_rc_local(qp, wqe) :
			 madsim_rc_build(qp, wqe, pkt);
	if (status || local) {
		spin_lock(&qp->lock);
		if (status)
			madsim_rc_fail(qp, status);
		else
			madsim_rc_complete(qp, status);
		spin_unlock(&qp->lock);
		return !status;
	}

	rc->begun = true;
	if (madsim_is_uc(qp)) {
		madsim_send(qp->port, pkt);
		/* It may have come back to this one, and failed it */
		if (madsim_rc_may_send(qp))
			madsim_rc_advance(qp);
		return true;
	}

	rc->waiting = true;
	rc->rnr = false;
	rc->sending = true;
	madsim_send(qp->port, pkt);
	rc->sending = false;
	if (rc->waiting && !rc->rnr && rc->attr.timeout)
		madsim_rc_arm(rc, nsecs_to_jiffies(4096ULL << rc->attr.timeout) + 1);
	return !rc->waiting;
}

/*
 * Send what was posted, up to so many packets, and leave the rest to the worker, after
 * others had their turn. The caller keeps the queue pair from being destroyed.
 */
static void madsim_rc_run(struct madsim_qp *qp)
{
	struct madsim_fabric *fabric = madsim_rc_fabric(qp);
	unsigned int packets = MADSIM_MAX_RUN;
	bool more;

	do {
		/* Tasklets that tell of completions run in this thread */
		local_bh_disable();
		spin_lock_irq(&fabric->lock);
		more = madsim_rc_step(qp);
		spin_unlock_irq(&fabric->lock);
		local_bh_enable();
		cond_resched();
	} while (more && --packets);

	if (more)
		queue_work(madsim_rc_wq(qp), &qp->rc->work);
}

static void madsim_rc_work(struct work_struct *work)
{
	madsim_rc_run(container_of(work, struct madsim_rc, work)->qp);
}

/* No response in time, or the responder should be ready by now */
static void madsim_rc_timer(struct work_struct *work)
{
	struct madsim_rc *rc = container_of(to_delayed_work(work),
					    struct madsim_rc, timer);
	struct madsim_qp *qp = rc->qp;
	struct madsim_fabric *fabric = madsim_rc_fabric(qp);

	spin_lock_irq(&fabric->lock);
	if (rc->waiting && !rc->rnr && !rc->attr.timeout) {
		/* That was for an earlier packet. This one may take for ever */
	} else if (rc->waiting && time_before(jiffies, rc->deadline)) {
		/* So was that */
		madsim_rc_arm(rc, rc->deadline - jiffies);
	} else if (rc->waiting && !rc->rnr && !rc->retries) {
		spin_lock(&qp->lock);
		madsim_rc_fail(qp, IB_WC_RETRY_EXC_ERR);
		spin_unlock(&qp->lock);
	} else if (rc->waiting) {
		if (!rc->rnr)
			rc->retries--;
		rc->waiting = false;
	}
	spin_unlock_irq(&fabric->lock);
	madsim_rc_run(qp);
}

static void madsim_rc_not_ready(struct madsim_qp *qp, u8 syndrome)
{
	struct madsim_rc *rc = qp->rc;
	u32 time = madsim_rnr_times[syndrome % ARRAY_SIZE(madsim_rnr_times)];

	if (rc->attr.rnr_retry != MADSIM_RNR_FOREVER) {
		if (!rc->rnr_retries) {
			madsim_rc_fail(qp, IB_WC_RNR_RETRY_EXC_ERR);
			return;
		}
		rc->rnr_retries--;
	}
	rc->rnr = true;
	madsim_rc_arm(rc, usecs_to_jiffies(10 * (time ?: 65536)));
}

/**
 * madsim_rc_refresh - let retries count from the beginning
 * @rc: of a queue pair
 *
 * Context: any; fabric->lock is held.
 */
void madsim_rc_refresh(struct madsim_rc *rc)
{
	rc->retries = rc->attr.retry_cnt;
	rc->rnr_retries = rc->attr.rnr_retry;
}

/* The response to what was done, with what it brings */
static void madsim_rc_acknowledged(struct madsim_qp *qp,
				   const struct madsim_packet *pkt)
{
	struct madsim_rc *rc = qp->rc;
	struct madsim_swqe *wqe = madsim_rc_head(rc);
	enum ib_wc_status status;

	madsim_rc_refresh(rc);
	if (pkt->len > rc->piece) {
		madsim_rc_fail(qp, IB_WC_BAD_RESP_ERR);
		return;
	}
	status = madsim_copy_to(qp->ibqp.pd, wqe->sge, rc->sent, pkt->data,
				pkt->len);
	if (status)
		madsim_rc_fail(qp, status);
	else
		madsim_rc_advance(qp);
}

/**
 * madsim_rc_response - take what comes back to a requester
 * @qp: its queue pair
 * @pkt: the response
 *
 * Context: any; fabric->lock and qp->lock are held.
 */
void madsim_rc_response(struct madsim_qp *qp, const struct madsim_packet *pkt)
{
	struct madsim_rc *rc = qp->rc;

	/* A duplicate, or one that was not waited for any more */
	if (!rc->waiting || pkt->bth.psn != rc->sq_psn)
		return;

	switch (pkt->bth.syndrome) {
	case MADSIM_ACKNOWLEDGED:
		madsim_rc_acknowledged(qp, pkt);
		break;
	case MADSIM_RNR ... MADSIM_NAK_SEQUENCE - 1:
		/* It may come twice */
		if (!rc->rnr)
			madsim_rc_not_ready(qp, pkt->bth.syndrome);
		return;
	case MADSIM_NAK_SEQUENCE:
		if (!rc->retries) {
			madsim_rc_fail(qp, IB_WC_RETRY_EXC_ERR);
			break;
		}
		rc->retries--;
		rc->waiting = false;
		break;
	case MADSIM_NAK_INVALID:
		madsim_rc_fail(qp, IB_WC_REM_INV_REQ_ERR);
		break;
	case MADSIM_NAK_ACCESS:
		madsim_rc_fail(qp, IB_WC_REM_ACCESS_ERR);
		break;
	default:
		madsim_rc_fail(qp, IB_WC_REM_OP_ERR);
		break;
	}
	if (!rc->sending)
		queue_work(madsim_rc_wq(qp), &rc->work);
}

/**
 * madsim_rc_post - queue a send
 * @qp: a connected queue pair
 * @wr: what to do
 * @data: what to send, if it is with @wr itself
 *
 * Context: any; fabric->lock is held.
 * Return: 0; -EOPNOTSUPP: such an operation is not there; -EINVAL: the queue pair
 * cannot do it, or not now; -ENOMEM: the queue is full.
 */
int madsim_rc_post(struct madsim_qp *qp, const struct ib_send_wr *wr,
		   const void *data)
{
	struct madsim_rc *rc = qp->rc;
	struct madsim_swqe *wqe;
	u64 length;

	if (wr->opcode >= ARRAY_SIZE(madsim_ops) || !madsim_ops[wr->opcode].op)
		return -EOPNOTSUPP;
	if (madsim_is_uc(qp) && madsim_ops[wr->opcode].rc_only)
		return -EINVAL;
	if ((u32)wr->num_sge > qp->max_send_sge)
		return -EINVAL;
	if (data && madsim_ops[wr->opcode].op != MADSIM_OP_SEND &&
	    madsim_ops[wr->opcode].op != MADSIM_OP_WRITE)
		return -EINVAL;
	length = madsim_sge_length(wr->sg_list, wr->num_sge);
	if (length > MADSIM_MAX_MESSAGE)
		return -EINVAL;
	if (qp->state < IB_QPS_RTS)
		return -EINVAL;
	if (madsim_sq_is_full(qp))
		return -ENOMEM;

	qp->posted++;
	wqe = madsim_swqe_at(rc, madsim_ring_at(rc->head, rc->count++, rc->size));
	wqe->wr_id = wr->wr_id;
	wqe->opcode = wr->opcode;
	wqe->flags = wr->send_flags;
	wqe->imm = wr->ex.imm_data;
	wqe->inv_key = wr->ex.invalidate_rkey;
	wqe->length = length;
	wqe->num_sge = wr->num_sge;
	if (data)
		memcpy(wqe->sge, data, length);
	else
		memcpy(wqe->sge, wr->sg_list, wr->num_sge * sizeof(*wqe->sge));
	switch (madsim_ops[wr->opcode].op) {
	case MADSIM_OP_WRITE:
	case MADSIM_OP_READ:
		wqe->va = rdma_wr(wr)->remote_addr;
		wqe->rkey = rdma_wr(wr)->rkey;
		break;
	case MADSIM_OP_SWAP:
	case MADSIM_OP_ADD:
		wqe->va = atomic_wr(wr)->remote_addr;
		wqe->rkey = atomic_wr(wr)->rkey;
		wqe->compare = atomic_wr(wr)->compare_add;
		wqe->swap = atomic_wr(wr)->swap;
		break;
	case MADSIM_OP_LOCAL:
		if (wr->opcode == IB_WR_REG_MR) {
			wqe->mr = reg_wr(wr)->mr;
			wqe->key = reg_wr(wr)->key;
			wqe->access = reg_wr(wr)->access;
		}
		break;
	default:
		break;
	}
	if (qp->state == IB_QPS_ERR || qp->state == IB_QPS_SQE)
		madsim_rc_complete(qp, IB_WC_WR_FLUSH_ERR);
	return 0;
}

/**
 * madsim_rc_kick - have what was posted sent
 * @qp: a connected queue pair
 *
 * A program sends itself, but for what would take long: its device cannot go while
 * it does. What posts in the kernel may hold locks.
 *
 * Context: any; process context for those of programs.
 */
void madsim_rc_kick(struct madsim_qp *qp)
{
	if (qp->alias)
		madsim_rc_run(qp);
	else
		queue_work(madsim_wq, &qp->rc->work);
}

/**
 * madsim_rc_add_sends - have room for sends
 * @qp: a connected queue pair
 * @rc: what it has as such
 *
 * Context: process context.
 * Return: 0, or -ENOMEM.
 */
int madsim_rc_add_sends(struct madsim_qp *qp, struct madsim_rc *rc)
{
	/* Inline data has the room of as many pieces */
	u32 pieces = max_t(u32, qp->max_send_sge,
			   DIV_ROUND_UP(qp->max_inline, sizeof(struct ib_sge)));

	rc->size = qp->max_send_wr;
	rc->swqe_size = struct_size_t(struct madsim_swqe, sge, pieces);
	rc->ring = kvcalloc(rc->size, rc->swqe_size, GFP_KERNEL_ACCOUNT);
	if (!rc->ring)
		return -ENOMEM;
	INIT_WORK(&rc->work, madsim_rc_work);
	INIT_DELAYED_WORK(&rc->timer, madsim_rc_timer);
	return 0;
}

/**
 * madsim_rc_del_sends - undo madsim_rc_add_sends()
 * @rc: of a queue pair that has none, and takes none
 *
 * Context: process context, sleeps.
 */
void madsim_rc_del_sends(struct madsim_rc *rc)
{
	cancel_work_sync(&rc->work);
	cancel_delayed_work_sync(&rc->timer);
	kvfree(rc->ring);
}
