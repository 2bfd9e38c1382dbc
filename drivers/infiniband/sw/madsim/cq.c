// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completion queues.
 */

#include <linux/delay.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "verbs.h"

static struct madsim_cq *to_madsim_cq(struct ib_cq *ibcq)
{
	return container_of(ibcq, struct madsim_cq, ibcq);
}

static struct madsim_fabric *madsim_cq_fabric(const struct ib_cq *ibcq)
{
	return to_madsim_dev(ibcq->device)->node->fabric;
}

/* Tell the owner as the interrupt of an adapter would: it may post, or poll */
static void madsim_cq_notify(struct tasklet_struct *notify)
{
	struct madsim_cq *cq = container_of(notify, struct madsim_cq, notify);
	struct ib_cq *ibcq = &cq->ibcq;

	lockdep_assert_not_held(&madsim_cq_fabric(ibcq)->lock);

	ibcq->comp_handler(ibcq, ibcq->cq_context);
}

static int madsim_create_cq(struct ib_cq *ibcq,
			    const struct ib_cq_init_attr *attr,
			    struct uverbs_attr_bundle *attrs)
{
	const struct ib_event event = {
		.device = ibcq->device,
		.element.cq = ibcq,
	};
	struct madsim_cq *cq = to_madsim_cq(ibcq);

	if (attr->flags)
		return -EOPNOTSUPP;
	if (!attr->cqe || attr->cqe > MADSIM_MAX_CQE)
		return -EINVAL;

	cq->ring = kvzalloc_objs(*cq->ring, attr->cqe, GFP_KERNEL_ACCOUNT);
	if (!cq->ring)
		return -ENOMEM;
	cq->size = attr->cqe;
	spin_lock_init(&cq->lock);
	tasklet_setup(&cq->notify, madsim_cq_notify);
	madsim_events_init(&cq->events, &event, ibcq->event_handler,
			   ibcq->cq_context);
	ibcq->cqe = attr->cqe;
	return 0;
}

static int madsim_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	struct madsim_cq *cq = to_madsim_cq(ibcq);

	madsim_events_end(&cq->events);
	tasklet_kill(&cq->notify);
	kvfree(cq->ring);
	return 0;
}

static struct madsim_cqe *madsim_cq_entry(struct madsim_cq *cq, u32 offset)
{
	return &cq->ring[madsim_ring_at(cq->head, offset, cq->size)];
}

static int madsim_resize_cq(struct ib_cq *ibcq, unsigned int cqe,
			    struct ib_udata *udata)
{
	struct madsim_cq *cq = to_madsim_cq(ibcq);
	struct madsim_cqe *ring;
	int ret = 0;
	u32 i;

	if (!cqe || cqe > MADSIM_MAX_CQE)
		return -EINVAL;
	ring = kvzalloc_objs(*ring, cqe, GFP_KERNEL_ACCOUNT);
	if (!ring)
		return -ENOMEM;

	spin_lock_irq(&cq->lock);
	if (cq->count > cqe) {
		ret = -EINVAL;
	} else {
		for (i = 0; i < cq->count; i++)
			ring[i] = *madsim_cq_entry(cq, i);
		swap(ring, cq->ring);
		cq->head = 0;
		cq->size = cqe;
		ibcq->cqe = cqe;
	}
	spin_unlock_irq(&cq->lock);
	kvfree(ring);
	return ret;
}

static int madsim_poll_cq(struct ib_cq *ibcq, int num_entries, struct ib_wc *wc)
{
	struct madsim_cq *cq = to_madsim_cq(ibcq);
	unsigned long flags;
	int n;

	spin_lock_irqsave(&cq->lock, flags);
	cq->done = cq->polled;
	for (n = 0; n < num_entries && cq->count; n++) {
		const struct madsim_cqe *cqe = &cq->ring[cq->head];

		wc[n] = cqe->wc;
		/* It may be of a time before the queue pair was reset */
		if (cqe->sq && (s32)(cqe->sends - cqe->sq->reaped) > 0)
			WRITE_ONCE(cqe->sq->reaped, cqe->sends);
		cq->head = madsim_ring_at(cq->head, 1, cq->size);
		cq->count--;
	}
	cq->polled += n;
	spin_unlock_irqrestore(&cq->lock, flags);
	return n;
}

static int madsim_req_notify_cq(struct ib_cq *ibcq,
				enum ib_cq_notify_flags cq_flags)
{
	struct madsim_cq *cq = to_madsim_cq(ibcq);
	unsigned long flags;
	int missed;

	spin_lock_irqsave(&cq->lock, flags);
	cq->done = cq->polled;
	missed = cq_flags & IB_CQ_REPORT_MISSED_EVENTS && cq->count;
	if (missed)
		cq->armed = 0;
	else
		cq->armed |= cq_flags & IB_CQ_SOLICITED_MASK;
	spin_unlock_irqrestore(&cq->lock, flags);
	return missed;
}

/*
 * Put an entry into a completion queue. @sq is the queue pair of a send, or NULL.
 *
 * Callers hold fabric->lock or qp->lock, which keeps the queue pair alive, and
 * with it the CQ. The handler of an owner may need fabric->lock, or a lock that the
 * owner holds while it posts, so it is called later. What the core polls itself has
 * an array for that, and handlers that do no more than queue work.
 */
static void madsim_cq_put(struct ib_cq *ibcq, const struct ib_wc *wc,
			  struct madsim_qp *sq, bool solicited)
{
	struct madsim_cq *cq = to_madsim_cq(ibcq);
	bool notify = false, overflow = false;
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	if (likely(cq->count < cq->size)) {
		*madsim_cq_entry(cq, cq->count++) = (struct madsim_cqe) {
			.wc = *wc,
			.sq = sq,
			.sends = sq ? sq->ended : 0,
		};
		notify = cq->armed & IB_CQ_NEXT_COMP ||
			 (cq->armed && (solicited || wc->status));
	} else {
		overflow = !cq->broken;
		cq->broken = true;
	}
	if (notify)
		cq->armed = 0;
	spin_unlock_irqrestore(&cq->lock, flags);

	if (notify && ibcq->wc)
		ibcq->comp_handler(ibcq, ibcq->cq_context);
	else if (notify)
		tasklet_schedule(&cq->notify);
	/* What is full is broken, and tells so once */
	if (overflow)
		madsim_event(&cq->events, IB_EVENT_CQ_ERR);
}

/**
 * madsim_complete - tell the owner of a queue pair of what it has received
 * @ibcq: the completion queue
 * @wc: the entry
 * @solicited: the sender has asked for an event at the receiver
 *
 * Context: any; fabric->lock or the lock of the queue pair is held.
 */
void madsim_complete(struct ib_cq *ibcq, const struct ib_wc *wc, bool solicited)
{
	madsim_cq_put(ibcq, wc, NULL, solicited);
}

/**
 * madsim_complete_send - tell the owner of a queue pair of a send that has ended
 * @qp: the queue pair, which counts it in @ended
 * @wc: the entry
 *
 * Whoever polls it makes the places free of this and of all earlier sends.
 *
 * Context: any; fabric->lock is held.
 */
void madsim_complete_send(struct madsim_qp *qp, const struct ib_wc *wc)
{
	madsim_cq_put(qp->ibqp.send_cq, wc, qp, false);
}

/**
 * madsim_cq_reap - make all places of a send queue free
 * @qp: a queue pair that is reset
 *
 * Context: any; fabric->lock is held.
 */
void madsim_cq_reap(struct madsim_qp *qp)
{
	struct madsim_cq *cq = to_madsim_cq(qp->ibqp.send_cq);
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	qp->ended = qp->posted;
	qp->reaped = qp->posted;
	spin_unlock_irqrestore(&cq->lock, flags);
}

/**
 * madsim_cq_purge - forget the completions of a queue pair that is going away
 * @ibcq: the completion queue
 * @ibqp: what its completions name, of which there are no more to come
 *
 * Context: process context.
 */
void madsim_cq_purge(struct ib_cq *ibcq, struct ib_qp *ibqp)
{
	struct madsim_cq *cq = to_madsim_cq(ibcq);
	u32 i, kept = 0;

	spin_lock_irq(&cq->lock);
	for (i = 0; i < cq->count; i++) {
		const struct madsim_cqe *cqe = madsim_cq_entry(cq, i);

		if (cqe->wc.qp != ibqp)
			*madsim_cq_entry(cq, kept++) = *cqe;
	}
	cq->count = kept;
	spin_unlock_irq(&cq->lock);
}

/* The number of the last completion so far */
static u32 madsim_cq_last(struct madsim_cq *cq)
{
	u32 last;

	spin_lock_irq(&cq->lock);
	last = cq->polled + cq->count;
	spin_unlock_irq(&cq->lock);
	return last;
}

static bool madsim_cq_is_done(struct madsim_cq *cq, u32 last)
{
	bool done;

	spin_lock_irq(&cq->lock);
	done = (s32)(cq->done - last) >= 0;
	spin_unlock_irq(&cq->lock);
	return done;
}

/**
 * madsim_cq_drain - wait until all completions so far are dealt with
 * @ibcq: a completion queue that its owner goes on polling
 *
 * Context: process context, sleeps.
 */
void madsim_cq_drain(struct ib_cq *ibcq)
{
	struct madsim_cq *cq = to_madsim_cq(ibcq);
	u32 last = madsim_cq_last(cq);

	while (!madsim_cq_is_done(cq, last))
		fsleep(100);
}

const struct ib_device_ops madsim_cq_ops = {
	.create_cq = madsim_create_cq,
	.destroy_cq = madsim_destroy_cq,
	.poll_cq = madsim_poll_cq,
	.req_notify_cq = madsim_req_notify_cq,
	.resize_user_cq = madsim_resize_cq,

	INIT_RDMA_OBJ_SIZE(ib_cq, madsim_cq, ibcq),
};
