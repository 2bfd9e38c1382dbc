// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Completion queues. */

#include <linux/delay.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <rdma/ib_user_verbs.h>

#include "transport.h"

/* Entries that are moved at once, with interrupts off */
#define MADSIM_CQ_TURN	256

static struct madsim_cq *to_madsim_cq(struct ib_cq *ibcq)
{
	return container_of(ibcq, struct madsim_cq, ibcq);
}

/* Tell the owner as the interrupt of an adapter would: it may post, or poll */
static void madsim_cq_notify(struct tasklet_struct *notify)
{
	struct madsim_cq *cq = container_of(notify, struct madsim_cq, notify);
	struct ib_cq *ibcq = &cq->ibcq;

	lockdep_assert_not_held(&madsim_fabric_of(ibcq->device)->lock);

	ibcq->comp_handler(ibcq, ibcq->cq_context);
}

/* Calls the handler on the CPU of its completion vector */
static void madsim_cq_vector_work(struct work_struct *work)
{
	struct madsim_cq *cq = container_of(work, struct madsim_cq, vector_work);

	local_bh_disable();
	madsim_cq_notify(&cq->notify);
	local_bh_enable();
}

/*
 * The CPU of a completion vector. The next device has the next CPU for the same vector. A
 * program is woken where it sleeps, and the core polls some queues anywhere.
 */
static int madsim_cq_cpu(const struct ib_cq *ibcq, u32 vector, bool user)
{
	if (user || ibcq->poll_ctx == IB_POLL_UNBOUND_WORKQUEUE)
		return -1;
	return cpumask_local_spread(to_madsim_dev(ibcq->device)->node->number + vector,
				    NUMA_NO_NODE);
}

/*
 * Call the owner's handler. That may need fabric->lock, or a lock that the owner holds
 * while it posts, so a tasklet calls it. A queue that the core polls itself has the array
 * ibcq->wc, and a handler that does no more than queue work.
 */
static void madsim_cq_call(struct madsim_cq *cq)
{
	struct ib_cq *ibcq = &cq->ibcq;

	if (cq->cpu >= 0 && cq->cpu != raw_smp_processor_id())
		queue_work_on(cq->cpu, madsim_vector_wq, &cq->vector_work);
	else if (ibcq->wc)
		ibcq->comp_handler(ibcq, ibcq->cq_context);
	else
		tasklet_schedule(&cq->notify);
}

static size_t madsim_cq_bytes(u32 size)
{
	return sizeof(struct madsim_shared) +
	       (size + 1) * sizeof(struct ib_uverbs_wc);
}

static struct madsim_cqe *madsim_cq_entry(struct madsim_cq *cq, u32 at)
{
	if (unlikely(cq->old) && (s32)(at - cq->old_end) < 0)
		return &cq->old[at & cq->old_mask];
	return &cq->ring[at & cq->mask];
}

/* Put the next entries into the ring that a program has mapped, but not too many */
static void madsim_cq_publish(struct madsim_cq *cq)
{
	struct madsim_shared *ring = cq->shared->memory;
	struct ib_uverbs_wc *places = (void *)ring->entries;
	unsigned int n;

	for (n = 0; n < MADSIM_CQ_TURN && cq->shown != cq->tail; n++) {
		const struct ib_wc *wc = &madsim_cq_entry(cq, cq->shown++)->wc;
		struct ib_uverbs_wc *place = &places[cq->fill];

		place->wr_id = wc->wr_id;
		place->status = wc->status;
		place->opcode = wc->opcode;
		place->vendor_err = wc->vendor_err;
		place->byte_len = wc->byte_len;
		place->ex.imm_data = wc->ex.imm_data;
		place->qp_num = wc->qp->qp_num;
		place->src_qp = wc->src_qp;
		place->wc_flags = wc->wc_flags;
		place->pkey_index = wc->pkey_index;
		place->slid = wc->slid;
		place->sl = wc->sl;
		place->dlid_path_bits = wc->dlid_path_bits;
		place->port_num = wc->port_num;
		cq->fill = madsim_ring_at(cq->fill, 1, cq->size + 1);
	}
	/* The program finds the entries before this */
	smp_store_release(&ring->head, cq->fill);
}

/* Have the owner see all entries, or some of a ring. Returns whether its handler is to be called */
static bool madsim_cq_show(struct madsim_cq *cq)
{
	bool notify = cq->armed & cq->pending;

	if (cq->shared)
		madsim_cq_publish(cq);
	else
		cq->shown = cq->tail;
	if (cq->shown == cq->tail)
		cq->pending = 0;
	if (notify)
		cq->armed = 0;
	return notify;
}

/* Have the owner see all entries, and call its handler if that is due */
static void madsim_cq_show_all(struct madsim_cq *cq)
{
	bool more, notify;

	do {
		spin_lock_irq(&cq->lock);
		notify = madsim_cq_show(cq);
		more = cq->shown != cq->tail;
		spin_unlock_irq(&cq->lock);
		if (notify)
			madsim_cq_call(cq);
		cond_resched();
	} while (more);
}

static void madsim_cq_show_work(struct work_struct *work)
{
	madsim_cq_show_all(container_of(to_delayed_work(work), struct madsim_cq, show_work));
}

/* What a completion queue of a program costs its user */
static u64 madsim_cq_cost(u32 size)
{
	return MADSIM_OBJECT_BYTES + madsim_cq_bytes(size) +
	       (u64)roundup_pow_of_two(size) * sizeof(struct madsim_cqe);
}

/* Make room for entries. @wanted: and a ring where a program takes them */
static int madsim_cq_alloc(struct madsim_user *user, u32 size, struct ib_udata *udata, bool wanted,
			   struct madsim_cqe **ring, struct madsim_ring **shared)
{
	int ret = -ENOMEM;

	if (!madsim_user_charge(user, madsim_cq_cost(size)))
		return -ENOMEM;
	*shared = wanted ? madsim_ring_create(udata, madsim_cq_bytes(size)) : NULL;
	if (IS_ERR(*shared)) {
		ret = PTR_ERR(*shared);
		goto err;
	}
	*ring = kvzalloc_objs(**ring, roundup_pow_of_two(size), GFP_KERNEL_ACCOUNT);
	if (*ring)
		return 0;
	madsim_ring_destroy(*shared);
err:
	madsim_user_uncharge(user, madsim_cq_cost(size));
	return ret;
}

static void madsim_cq_free(struct madsim_user *user, u32 size, struct madsim_cqe *ring,
			   struct madsim_ring *shared)
{
	madsim_ring_destroy(shared);
	kvfree(ring);
	madsim_user_uncharge(user, madsim_cq_cost(size));
}

static int madsim_create_cq(struct ib_cq *ibcq,
			    const struct ib_cq_init_attr *attr,
			    struct uverbs_attr_bundle *attrs)
{
	struct madsim_cq *cq = to_madsim_cq(ibcq);
	/* Its first member; older kernels have no more than that */
	struct ib_udata *udata = (struct ib_udata *)attrs;
	int ret;

	if (attr->flags)
		return -EOPNOTSUPP;
	if (!attr->cqe || attr->cqe > MADSIM_MAX_CQE)
		return -EINVAL;

	cq->user = madsim_user_of(udata);
	ret = madsim_cq_alloc(cq->user, attr->cqe, udata, madsim_ring_wanted(udata), &cq->ring,
			      &cq->shared);
	if (ret)
		return ret;
	cq->mask = roundup_pow_of_two(attr->cqe) - 1;
	cq->size = attr->cqe;
	mutex_init(&cq->mutex);
	spin_lock_init(&cq->lock);
	tasklet_setup(&cq->notify, madsim_cq_notify);
	INIT_WORK(&cq->vector_work, madsim_cq_vector_work);
	cq->cpu = madsim_cq_cpu(ibcq, attr->comp_vector, attrs);
	INIT_DELAYED_WORK(&cq->show_work, madsim_cq_show_work);
	cq->events.event.element.cq = ibcq;
	madsim_events_init(&cq->events, ibcq->device, ibcq->event_handler, ibcq->cq_context);
	ibcq->cqe = attr->cqe;
	return 0;
}

static int madsim_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	struct madsim_cq *cq = to_madsim_cq(ibcq);

	madsim_events_end(&cq->events);
	cancel_delayed_work_sync(&cq->show_work);
	cancel_work_sync(&cq->vector_work);
	tasklet_kill(&cq->notify);
	mutex_destroy(&cq->mutex);
	madsim_cq_free(cq->user, cq->size, cq->ring, cq->shared);
	return 0;
}

/* The entry that is to be taken next, or NULL */
static struct madsim_cqe *madsim_cq_oldest(struct madsim_cq *cq)
{
	if (cq->head == cq->gap) {
		cq->head = cq->gap_end;
		cq->gap = cq->gap_end;
	}
	return cq->head == cq->shown ? NULL : madsim_cq_entry(cq, cq->head);
}

/*
 * Move some entries to where new ones go, from the newest entry on: the owner takes the oldest
 * ones at the same time. Returns whether there are more
 */
static bool madsim_cq_move(struct madsim_cq *cq)
{
	unsigned int n;

	for (n = 0; n < MADSIM_CQ_TURN; n++) {
		if ((s32)(cq->old_end - cq->head) <= 0)
			return false;
		cq->old_end--;
		cq->ring[cq->old_end & cq->mask] =
			cq->old[cq->old_end & cq->old_mask];
	}
	return true;
}

/* Have @turn do a part, with the lock held and interrupts off, until it returns false */
static void madsim_cq_turns(struct madsim_cq *cq, bool (*turn)(struct madsim_cq *cq))
{
	bool more;

	do {
		spin_lock_irq(&cq->lock);
		more = turn(cq);
		spin_unlock_irq(&cq->lock);
		cond_resched();
	} while (more);
}

/* The owner has consumed an entry: its queue pair has more places */
static void madsim_cqe_consumed(const struct madsim_cqe *cqe)
{
	struct madsim_qp *qp = cqe->qp;

	if (!qp)
		return;
	if (cqe->wc.opcode & IB_WC_RECV) {
		qp->unread_recvs--;
		return;
	}
	qp->unread_sends--;
	/* The send may have ended before the queue pair was reset */
	if ((s32)(cqe->sends - qp->reaped) > 0)
		WRITE_ONCE(qp->reaped, cqe->sends);
}

/*
 * See some of the entries that a program has consumed in a ring. If the program says what cannot
 * be, it has consumed none. Returns whether there are more to see
 */
static bool madsim_cq_look(struct madsim_cq *cq)
{
	u32 tail, consumed, n;

	if (!cq->shared)
		return false;
	/* The program has read what is before this: those places are free */
	tail = smp_load_acquire(&cq->shared->memory->tail);
	if (tail > cq->size)
		return false;
	consumed = tail >= cq->consumed ? tail - cq->consumed : tail + cq->size + 1 - cq->consumed;
	if (consumed > cq->shown - cq->head)
		return false;
	n = min_t(u32, consumed, MADSIM_CQ_TURN);
	cq->consumed = madsim_ring_at(cq->consumed, n, cq->size + 1);
	consumed -= n;
	while (n--)
		madsim_cqe_consumed(madsim_cq_entry(cq, cq->head++));
	return consumed;
}

/*
 * See what a program has consumed of a completion queue. It may have consumed all entries, which
 * are too many for one turn with a lock held. Sleeps
 */
void madsim_cq_look_all(struct ib_cq *ibcq)
{
	madsim_cq_turns(to_madsim_cq(ibcq), madsim_cq_look);
}

static int madsim_resize_cq(struct ib_cq *ibcq, unsigned int cqe, struct ib_udata *udata)
{
	struct madsim_cq *cq = to_madsim_cq(ibcq);
	struct madsim_ring *shared;
	struct madsim_cqe *ring;
	u32 size = cqe;
	int ret;

	if (!cqe || cqe > MADSIM_MAX_CQE)
		return -EINVAL;
	ret = madsim_cq_alloc(cq->user, size, udata, cq->shared, &ring, &shared);
	if (ret)
		return ret;

	mutex_lock(&cq->mutex);
	madsim_cq_look_all(ibcq);
	spin_lock_irq(&cq->lock);
	if (cq->tail - cq->head > cqe) {
		ret = -EINVAL;
	} else {
		swap(ring, cq->ring);
		cq->old = ring;
		cq->old_mask = cq->mask;
		cq->old_end = cq->tail;
		cq->mask = roundup_pow_of_two(cqe) - 1;
		swap(size, cq->size);
		ibcq->cqe = cqe;
		if (shared) {
			swap(shared, cq->shared);
			cq->fill = 0;
			cq->consumed = 0;
			cq->shown = cq->head;
		}
	}
	spin_unlock_irq(&cq->lock);
	if (!ret) {
		madsim_cq_turns(cq, madsim_cq_move);
		spin_lock_irq(&cq->lock);
		cq->old = NULL;
		spin_unlock_irq(&cq->lock);
	}
	if (cq->shared)
		madsim_cq_show_all(cq);
	mutex_unlock(&cq->mutex);
	madsim_cq_free(cq->user, size, ring, shared);
	return ret;
}

static int madsim_poll_cq(struct ib_cq *ibcq, int num_entries, struct ib_wc *wc)
{
	struct madsim_cq *cq = to_madsim_cq(ibcq);
	const struct madsim_cqe *cqe;
	unsigned long flags;
	int n;

	if (cq->shared)
		return -EINVAL;
	spin_lock_irqsave(&cq->lock, flags);
	cq->done = cq->head;
	for (n = 0; n < num_entries; n++) {
		cqe = madsim_cq_oldest(cq);
		if (!cqe)
			break;
		wc[n] = cqe->wc;
		madsim_cqe_consumed(cqe);
		cq->head++;
	}
	spin_unlock_irqrestore(&cq->lock, flags);
	return n;
}

static int madsim_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags cq_flags)
{
	struct madsim_cq *cq = to_madsim_cq(ibcq);
	unsigned long flags;
	int missed;

	spin_lock_irqsave(&cq->lock, flags);
	cq->done = cq->head;
	missed = cq_flags & IB_CQ_REPORT_MISSED_EVENTS && cq->head != cq->shown;
	if (missed)
		cq->armed = 0;
	else
		cq->armed |= cq_flags & IB_CQ_SOLICITED_MASK;
	spin_unlock_irqrestore(&cq->lock, flags);
	return missed;
}

/*
 * Put an entry into a completion queue. Callers hold fabric->lock or qp->lock, which keeps the
 * queue pair alive, and with it the CQ. For a send they hold fabric->lock, and have counted it in
 * @ended: when the owner polls the entry, the places of this and of all earlier sends are free. A
 * CQ that has lost an entry is broken, and tells so once. It takes no more entries, and each queue
 * pair that needs it fails.
 */
void madsim_cq_put(struct madsim_qp *qp, const struct ib_wc *wc, bool solicited)
{
	bool send = !(wc->opcode & IB_WC_RECV);
	struct ib_cq *ibcq = send ? qp->ibqp.send_cq : qp->ibqp.recv_cq;
	struct madsim_cq *cq = to_madsim_cq(ibcq);
	bool notify = false, overflow = false, lost = false;
	struct madsim_cqe *cqe;
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	if (unlikely(cq->tail - cq->head >= cq->size))
		madsim_cq_look(cq);
	if (likely(!cq->broken && cq->tail - cq->head < cq->size)) {
		cqe = madsim_cq_entry(cq, cq->tail++);
		cqe->wc = *wc;
		cqe->qp = qp;
		cqe->sends = qp->ended;
		if (send)
			qp->unread_sends++;
		else
			qp->unread_recvs++;
		cq->pending |= IB_CQ_NEXT_COMP;
		if (solicited || wc->status)
			cq->pending |= IB_CQ_SOLICITED;
		if (!madsim_is_delayed(qp))
			notify = madsim_cq_show(cq);
		else if (!delayed_work_pending(&cq->show_work))
			queue_delayed_work(madsim_wq, &cq->show_work,
					   madsim_strict_cq_delay(qp, cq->tail));
	} else {
		lost = true;
		overflow = !cq->broken;
		cq->broken = true;
	}
	spin_unlock_irqrestore(&cq->lock, flags);

	if (notify)
		madsim_cq_call(cq);
	if (overflow)
		madsim_event(&cq->events, IB_EVENT_CQ_ERR);
	if (lost)
		madsim_qp_lost(qp);
}

/* Give back a send or a buffer that was not used. The locks are those of madsim_cq_put() */
void madsim_give_back(struct madsim_qp *qp, u64 wr_id, enum ib_wc_opcode opcode)
{
	const struct ib_wc wc = {
		.wr_id = wr_id,
		.qp = madsim_wc_qp(qp),
		.status = IB_WC_WR_FLUSH_ERR,
		.opcode = opcode,
	};

	madsim_cq_put(qp, &wc, false);
}

/* Make all places of the send queue free, as the queue pair is reset. fabric->lock is held */
void madsim_cq_reap(struct madsim_qp *qp)
{
	struct madsim_cq *cq = to_madsim_cq(qp->ibqp.send_cq);
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	qp->ended = qp->posted;
	qp->reaped = qp->posted;
	spin_unlock_irqrestore(&cq->lock, flags);
}

/* A program may be reading the entry now. So the entry stays, and names no queue pair any more */
static void madsim_cq_disown(struct madsim_cq *cq, struct madsim_cqe *cqe,
			     const struct madsim_qp *qp)
{
	if (cqe->qp == qp)
		cqe->qp = NULL;
	cq->gap_end = cq->gap;
}

/* Take some entries of a queue pair out, and close the gap. Returns whether there are more */
static bool madsim_cq_sift(struct madsim_cq *cq, const struct madsim_qp *qp)
{
	unsigned int n;

	for (n = 0; n < MADSIM_CQ_TURN; n++) {
		struct madsim_cqe *cqe;

		if ((s32)(cq->gap - cq->head) <= 0)
			return false;
		cqe = madsim_cq_entry(cq, --cq->gap);
		if (cq->shared)
			madsim_cq_disown(cq, cqe, qp);
		else if (cqe->qp != qp)
			*madsim_cq_entry(cq, --cq->gap_end) = *cqe;
	}
	return true;
}

/* Whether entries of a queue pair are in a completion queue */
static bool madsim_cq_has(const struct madsim_cq *cq, const struct madsim_qp *qp)
{
	return (qp->ibqp.send_cq == &cq->ibcq && qp->unread_sends) ||
	       (qp->ibqp.recv_cq == &cq->ibcq && qp->unread_recvs);
}

/*
 * Forget the completions of a queue pair, of which there are no more to come. Looks at the
 * newest entry first: the owner polls the oldest ones at the same time. Entries that are in a ring
 * stay there. Sleeps
 */
void madsim_cq_purge(struct ib_cq *ibcq, const struct madsim_qp *qp)
{
	struct madsim_cq *cq = to_madsim_cq(ibcq);
	bool more, notify;

	mutex_lock(&cq->mutex);
	madsim_cq_look_all(ibcq);
	spin_lock_irq(&cq->lock);
	more = madsim_cq_has(cq, qp);
	/* The others are moved to where their owner might not see them yet */
	notify = madsim_cq_show(cq);
	cq->gap = cq->tail;
	cq->gap_end = cq->tail;
	spin_unlock_irq(&cq->lock);
	if (notify)
		madsim_cq_call(cq);
	while (more) {
		spin_lock_irq(&cq->lock);
		more = madsim_cq_sift(cq, qp);
		madsim_cq_oldest(cq);
		spin_unlock_irq(&cq->lock);
		cond_resched();
	}
	mutex_unlock(&cq->mutex);
}

/*
 * Count the places of a queue that completes in a completion queue, or, less than 0, of a queue
 * that goes away. Returns whether there is room if all of these queues are full
 */
bool madsim_cq_feed(struct ib_cq *ibcq, int places)
{
	struct madsim_cq *cq = to_madsim_cq(ibcq);
	bool fits;

	spin_lock_irq(&cq->lock);
	cq->feeds += places;
	fits = cq->feeds <= cq->size;
	spin_unlock_irq(&cq->lock);
	return fits;
}

/* Wait until all completions so far are dealt with. The owner goes on polling */
void madsim_cq_drain(struct ib_cq *ibcq)
{
	struct madsim_cq *cq = to_madsim_cq(ibcq);
	u32 last;

	spin_lock_irq(&cq->lock);
	last = cq->tail;
	while ((s32)(cq->done - last) < 0) {
		spin_unlock_irq(&cq->lock);
		fsleep(100);
		spin_lock_irq(&cq->lock);
	}
	spin_unlock_irq(&cq->lock);
}

const struct ib_device_ops madsim_cq_ops = {
	.create_cq = madsim_create_cq,
	.destroy_cq = madsim_destroy_cq,
	.poll_cq = madsim_poll_cq,
	.req_notify_cq = madsim_req_notify_cq,
	.resize_user_cq = madsim_resize_cq,

	INIT_RDMA_OBJ_SIZE(ib_cq, madsim_cq, ibcq),
};
