// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Receive queues: rings of buffers that were posted, one of each queue pair, or
 * shared by several. A program may post in memory that it maps, see ring.c. The check of P_Key and
 * Q_Key is here, too.
 */

#include <linux/slab.h>

#include "transport.h"

/* Buffers that are moved at once, with interrupts off */
#define MADSIM_RQ_TURN	64

/* Whether a packet has the P_Key of a client's queue pair, and this Q_Key */
bool madsim_qp_admits(const struct madsim_qp *qp, u32 qkey, const struct madsim_packet *pkt)
{
	u16 pkey = be16_to_cpu(qp->port->pkeys[qp->pkey_index]);

	return madsim_keys_fit(qp->port, madsim_pkey_matches(pkey, pkt->pkey), qkey, pkt);
}

static struct madsim_srq *to_madsim_srq(struct ib_srq *ibsrq)
{
	return container_of(ibsrq, struct madsim_srq, ibsrq);
}

/* The buffer at a place of a queue */
static struct madsim_rwqe *madsim_rwqe_at(const struct madsim_rq *rq, u32 at)
{
	void *entries = rq->shared ? rq->shared->memory->entries : rq->ring;

	return entries + at * rq->rwqe_size;
}

/* How many buffers there are; more than the queue has room for if a program's index is bad */
static u32 madsim_rq_count(struct madsim_rq *rq)
{
	u32 head;

	if (!rq->shared)
		return rq->count;
	/* The program has written the buffers before this */
	head = smp_load_acquire(&rq->shared->memory->head);
	if (head > rq->size)
		return U32_MAX;
	return head >= rq->head ? head - rq->head : head + rq->size + 1 - rq->head;
}

/* Copy the oldest buffer of a ring that a program has mapped, and give its place back */
static struct madsim_rwqe *madsim_rq_fetch(struct madsim_rq *rq)
{
	const struct madsim_rwqe *slot = madsim_rwqe_at(rq, rq->head);
	struct madsim_rwqe *rwqe = rq->ring;
	u32 count = madsim_rq_count(rq);

	if (count > rq->size)
		rq->broken = true;
	if (!count || rq->broken)
		return NULL;
	rq->count = count - 1;
	rwqe->wr_id = READ_ONCE(slot->wr_id);
	rwqe->num_sge = READ_ONCE(slot->num_sge);
	if (rwqe->num_sge > rq->max_sge) {
		rq->broken = true;
		return NULL;
	}
	memcpy(rwqe->sge, slot->sge, rwqe->num_sge * sizeof(*rwqe->sge));
	rq->head = madsim_ring_at(rq->head, 1, rq->size + 1);
	/* The buffer is copied: the program may use its place */
	smp_store_release(&rq->shared->memory->tail, rq->head);
	return rwqe;
}

/* What a queue costs its user */
static u64 madsim_rq_cost(const struct madsim_rq *rq)
{
	return MADSIM_OBJECT_BYTES + (u64)rq->size * rq->rwqe_size;
}

/**
 * madsim_rq_init - make an empty receive queue
 * @rq: the queue
 * @user: the user who pays for it, or NULL
 * @size: how many buffers it has room for, which may be none
 * @max_sge: pieces of a buffer
 * @udata: of the program whose it is, or NULL
 *
 * Context: process context.
 * Return: 0, what madsim_ring_create() said, or -ENOMEM, also if the user has too much.
 */
int madsim_rq_init(struct madsim_rq *rq, struct madsim_user *user, u32 size, u32 max_sge,
		   struct ib_udata *udata)
{
	struct madsim_ring *shared = NULL;
	int ret = -ENOMEM;

	rq->user = user;
	rq->size = size;
	rq->max_sge = max_sge;
	rq->rwqe_size = struct_size_t(struct madsim_rwqe, sge, max_sge);
	if (!madsim_user_charge(user, madsim_rq_cost(rq)))
		return -ENOMEM;
	if (madsim_ring_wanted(udata)) {
		shared = madsim_ring_create(udata, sizeof(struct madsim_shared) +
						   (size + 1) * rq->rwqe_size);
		if (IS_ERR(shared)) {
			ret = PTR_ERR(shared);
			goto err;
		}
	}
	rq->ring = kvcalloc(shared ? 1 : size, rq->rwqe_size, GFP_KERNEL_ACCOUNT);
	if (rq->ring) {
		rq->shared = shared;
		return 0;
	}
	madsim_ring_destroy(shared);
err:
	madsim_user_uncharge(user, madsim_rq_cost(rq));
	return ret;
}

void madsim_rq_free(struct madsim_rq *rq)
{
	madsim_ring_destroy(rq->shared);
	kvfree(rq->ring);
	madsim_user_uncharge(rq->user, madsim_rq_cost(rq));
}

/* Have no buffer in a queue, which is locked, and which no program uses now */
void madsim_rq_reset(struct madsim_rq *rq)
{
	rq->count = 0;
	if (!rq->shared)
		return;
	rq->head = 0;
	rq->broken = false;
	WRITE_ONCE(rq->shared->memory->head, 0);
	WRITE_ONCE(rq->shared->memory->tail, 0);
}

/**
 * madsim_rq_post - put a buffer into a queue
 * @rq: the queue
 * @wr: the buffer
 *
 * Context: any; the queue is locked.
 * Return: 0, -EINVAL: it has too many pieces, or its owner posts to a ring, or -ENOMEM: the
 * queue is full.
 */
int madsim_rq_post(struct madsim_rq *rq, const struct ib_recv_wr *wr)
{
	struct madsim_rwqe *rwqe;

	if ((u32)wr->num_sge > rq->max_sge || rq->shared)
		return -EINVAL;
	if (rq->count == rq->size)
		return -ENOMEM;
	rwqe = madsim_rwqe_at(rq, madsim_ring_at(rq->head, rq->count++,
						 rq->size));
	rwqe->wr_id = wr->wr_id;
	rwqe->num_sge = wr->num_sge;
	memcpy(rwqe->sge, wr->sg_list, wr->num_sge * sizeof(*rwqe->sge));
	return 0;
}

/* Take the oldest buffer, or NULL. It is valid as long as the queue is locked */
struct madsim_rwqe *madsim_rq_next(struct madsim_rq *rq)
{
	struct madsim_rwqe *rwqe;

	if (rq->shared)
		return madsim_rq_fetch(rq);
	if (!rq->count)
		return NULL;
	rwqe = madsim_rwqe_at(rq, rq->head);
	rq->head = madsim_ring_at(rq->head, 1, rq->size);
	rq->count--;
	return rwqe;
}

/* How many buffers there were when one was taken last */
static u32 madsim_srq_count(const struct madsim_srq *srq)
{
	return srq->rq.count + (srq->to ? srq->to->count : 0);
}

/* Take the oldest of the buffers that queue pairs share, if there is one */
static bool madsim_srq_get_wqe(struct madsim_srq *srq, struct madsim_rwqe *to)
{
	struct madsim_rq *rq = &srq->rq;
	bool limit = false, broken;
	struct madsim_rwqe *rwqe;

	spin_lock(&srq->lock);
	if (unlikely(srq->to) && madsim_rq_count(srq->to))
		rq = srq->to;
	broken = rq->broken;
	rwqe = madsim_rq_next(rq);
	if (rwqe) {
		memcpy(to, rwqe, struct_size(rwqe, sge, rwqe->num_sge));
		limit = madsim_srq_count(srq) < srq->limit;
		if (limit)
			srq->limit = 0;
	}
	broken = !broken && rq->broken;
	spin_unlock(&srq->lock);

	/* The owner is told once that so few are left */
	if (limit)
		madsim_event(&srq->events, IB_EVENT_SRQ_LIMIT_REACHED);
	if (broken)
		madsim_event(&srq->events, IB_EVENT_SRQ_ERR);
	return rwqe;
}

/* Take a buffer to qp->recv_wqe. False: there is none. fabric->lock and qp->lock are held */
bool madsim_get_recv_wqe(struct madsim_qp *qp)
{
	struct madsim_rwqe *rwqe;
	bool found;

	lockdep_assert_held(&qp->lock);

	if (qp->ibqp.srq) {
		found = madsim_srq_get_wqe(to_madsim_srq(qp->ibqp.srq), qp->recv_wqe);
	} else {
		rwqe = madsim_rq_next(&qp->rq);
		if (rwqe)
			memcpy(qp->recv_wqe, rwqe,
			       struct_size(rwqe, sge, rwqe->num_sge));
		found = rwqe;
		if (qp->rq.broken)
			madsim_qp_lost(qp);
	}
	if (!found)
		return false;
	qp->recv_length = madsim_sge_length(qp->recv_wqe->sge, qp->recv_wqe->num_sge);
	if (madsim_is_strict(qp))
		madsim_strict_fill(qp);
	return true;
}

static int madsim_create_srq(struct ib_srq *ibsrq,
			     struct ib_srq_init_attr *init_attr,
			     struct ib_udata *udata)
{
	struct madsim_srq *srq = to_madsim_srq(ibsrq);
	const struct ib_srq_attr *attr = &init_attr->attr;

	if (init_attr->srq_type != IB_SRQT_BASIC)
		return -EOPNOTSUPP;
	if (!attr->max_wr || attr->max_wr > MADSIM_MAX_WR ||
	    attr->max_sge > MADSIM_MAX_SGE || attr->srq_limit > attr->max_wr)
		return -EINVAL;

	spin_lock_init(&srq->lock);
	srq->limit = attr->srq_limit;
	srq->events.event.element.srq = ibsrq;
	madsim_events_init(&srq->events, ibsrq->device, ibsrq->event_handler, ibsrq->srq_context);
	return madsim_rq_init(&srq->rq, madsim_user_of(udata), attr->max_wr, attr->max_sge, udata);
}

/* Move the oldest buffer of a queue to the end of another queue. Returns false if none moves */
static bool madsim_rq_move(struct madsim_rq *rq, struct madsim_rq *to)
{
	u32 count = madsim_rq_count(rq), has = madsim_rq_count(to);
	u32 at = madsim_ring_at(to->head, has, to->shared ? to->size + 1 : to->size);

	/* A program must not post during the move. If it does, it may have more buffers than fit */
	if (!count || count > rq->size || has >= to->size)
		return false;
	if (!rq->shared) {
		memcpy(madsim_rwqe_at(to, at), madsim_rq_next(rq), rq->rwqe_size);
		to->count++;
		return true;
	}
	memcpy(madsim_rwqe_at(to, at), madsim_rwqe_at(rq, rq->head), rq->rwqe_size);
	rq->head = madsim_ring_at(rq->head, 1, rq->size + 1);
	/* The buffer is in its place before madsim_rq_count() counts it */
	smp_store_release(&to->shared->memory->head, madsim_ring_at(at, 1, to->size + 1));
	return true;
}

/* Move all buffers, some at a time, and exchange the two queues */
static void madsim_srq_move(struct madsim_srq *srq, struct madsim_rq *to)
{
	u32 left;

	do {
		spin_lock_irq(&srq->lock);
		for (left = MADSIM_RQ_TURN; left && madsim_rq_move(&srq->rq, to); left--)
			;
		if (left) {
			swap(srq->rq, *to);
			srq->to = NULL;
		}
		spin_unlock_irq(&srq->lock);
		cond_resched();
	} while (!left);
}

/* With a ring, the program has said in its request where it wants to be told of another */
static int madsim_srq_udata(const struct madsim_srq *srq, struct ib_udata *udata)
{
	u64 to;
	int ret;

	if (!srq->rq.shared)
		return 0;
	if (udata->inlen < sizeof(to))
		return -EINVAL;
	ret = ib_copy_from_udata(&to, udata, sizeof(to));
	if (ret)
		return ret;
	udata->outbuf = u64_to_user_ptr(to);
	udata->outlen = sizeof(to);
	return 0;
}

static int madsim_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
			     enum ib_srq_attr_mask mask,
			     struct ib_udata *udata)
{
	struct madsim_srq *srq = to_madsim_srq(ibsrq);
	bool resize = mask & IB_SRQ_MAX_WR, moves = false;
	struct madsim_rq rq = {};
	u32 size, limit, count;
	int ret = 0;

	if (mask & ~(IB_SRQ_LIMIT | IB_SRQ_MAX_WR))
		return -EOPNOTSUPP;
	if (resize && (!attr->max_wr || attr->max_wr > MADSIM_MAX_WR))
		return -EINVAL;
	if (resize)
		ret = madsim_srq_udata(srq, udata);
	if (resize && !ret)
		ret = madsim_rq_init(&rq, srq->rq.user, attr->max_wr, srq->rq.max_sge, udata);
	if (ret)
		return ret;

	spin_lock_irq(&srq->lock);
	size = resize ? attr->max_wr : srq->rq.size;
	limit = mask & IB_SRQ_LIMIT ? attr->srq_limit : srq->limit;
	count = madsim_rq_count(&srq->rq);
	if (limit > size || count > size) {
		ret = -EINVAL;
	} else if (resize && srq->to) {
		ret = -EBUSY;
	} else {
		srq->limit = limit;
		moves = resize;
		if (moves)
			srq->to = &rq;
	}
	spin_unlock_irq(&srq->lock);
	if (moves)
		madsim_srq_move(srq, &rq);
	madsim_rq_free(&rq);
	return ret;
}

static int madsim_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr)
{
	struct madsim_srq *srq = to_madsim_srq(ibsrq);

	attr->max_sge = srq->rq.max_sge;
	spin_lock_irq(&srq->lock);
	attr->max_wr = srq->rq.size;
	attr->srq_limit = srq->limit;
	spin_unlock_irq(&srq->lock);
	return 0;
}

/* The core has seen to it that no queue pair has it any more */
static int madsim_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata)
{
	struct madsim_srq *srq = to_madsim_srq(ibsrq);

	madsim_events_end(&srq->events);
	madsim_rq_free(&srq->rq);
	return 0;
}

static int madsim_post_srq_recv(struct ib_srq *ibsrq,
				const struct ib_recv_wr *wr,
				const struct ib_recv_wr **bad_wr)
{
	struct madsim_srq *srq = to_madsim_srq(ibsrq);
	unsigned long flags;
	int ret = 0;

	spin_lock_irqsave(&srq->lock, flags);
	for (; wr && !ret; wr = wr->next) {
		/* All have to fit into the queue where they move */
		if (unlikely(srq->to) && madsim_srq_count(srq) >= srq->to->size)
			ret = -ENOMEM;
		else
			ret = madsim_rq_post(&srq->rq, wr);
		if (ret)
			*bad_wr = wr;
	}
	spin_unlock_irqrestore(&srq->lock, flags);
	return ret;
}

/* Only for devices with data */
const struct ib_device_ops madsim_srq_ops = {
	.create_srq = madsim_create_srq,
	.destroy_srq = madsim_destroy_srq,
	.modify_srq = madsim_modify_srq,
	.post_srq_recv = madsim_post_srq_recv,
	.query_srq = madsim_query_srq,

	INIT_RDMA_OBJ_SIZE(ib_srq, madsim_srq, ibsrq),
};
