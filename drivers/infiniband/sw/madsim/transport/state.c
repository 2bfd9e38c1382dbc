// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The states of queue pairs, and what comes back to their owners as they change. */

#include <linux/slab.h>

#include "transport.h"

/* Give back the buffer of the message that is being received. fabric->lock and qp->lock are held */
static void madsim_rc_flush(struct madsim_qp *qp)
{
	if (qp->rc->resp.has_buffer)
		madsim_give_back(qp, qp->recv_wqe->wr_id, IB_WC_RECV);
	qp->rc->resp.has_buffer = false;
	qp->rc->resp.receiving = MADSIM_OP_NONE;
}

/* Forget what a connected queue pair has not done. fabric->lock and qp->lock are held */
void madsim_rc_reset(struct madsim_qp *qp)
{
	struct madsim_rc *rc = qp->rc;

	lockdep_assert_held(&qp->lock);

	madsim_strict_finish_write(qp);
	rc->sq.head = 0;
	rc->sq.count = 0;
	rc->req.sent = 0;
	rc->req.ahead = 0;
	rc->req.begun = false;
	rc->comp.async = false;
	rc->comp.window_cut = 0;
	rc->comp.gap = false;
	rc->resp.refusing = false;
	rc->resp.has_buffer = false;
	rc->resp.receiving = MADSIM_OP_NONE;
	rc->resp.heard = false;
	rc->resp.has_atomic = false;
}

/* Whether SQD waits for the end of a message. fabric->lock is held */
bool madsim_rc_draining(const struct madsim_qp *qp)
{
	return qp->state == IB_QPS_SQD && qp->rc->req.begun;
}

/* Tell the owner that SQD waits for no message, if that is so. fabric->lock is held */
void madsim_rc_drained(struct madsim_qp *qp)
{
	if (qp->state == IB_QPS_SQD && !qp->rc->req.begun && qp->rc->req.notify)
		madsim_event(&qp->events, IB_EVENT_SQ_DRAINED);
}

/*
 * Give back some buffers of a queue pair that has failed, and have @flush give back the others.
 * A program that posts to a ring makes no call, so @flush looks there again, less often as time
 * passes. qp->lock is held
 */
void madsim_flush_recv(struct madsim_qp *qp)
{
	struct madsim_rwqe *rwqe;
	u32 left;

	for (left = MADSIM_FLUSH_TURN; left && (rwqe = madsim_rq_next(&qp->rq)); left--)
		madsim_give_back(qp, rwqe->wr_id, IB_WC_RECV);
	if (!left)
		mod_delayed_work(madsim_send_wq(qp), &qp->flush, 0);
	else if (qp->rq.shared)
		queue_delayed_work(madsim_send_wq(qp), &qp->flush,
				   clamp_t(unsigned long, (jiffies - qp->failed) / 8, 1, HZ));
}

/* Give back some of what was posted */
static void madsim_flush_turn(struct madsim_qp *qp)
{
	if (qp->rc && madsim_rc_flush_sends(qp))
		mod_delayed_work(madsim_send_wq(qp), &qp->flush, 0);
	if (qp->state == IB_QPS_ERR)
		madsim_flush_recv(qp);
}

/* Has failed, and gives back what was posted */
static bool madsim_is_flushing(const struct madsim_qp *qp)
{
	return (qp->state == IB_QPS_ERR || qp->state == IB_QPS_SQE) && !madsim_is_failing(qp);
}

/* Send none of the datagrams that wait. If @told, the owner gets them. fabric->lock is held */
void madsim_qp_drop(struct madsim_qp *qp, bool told)
{
	struct madsim_dgram *dgram, *next;

	list_for_each_entry_safe(dgram, next, &qp->dgrams, list) {
		list_del(&dgram->list);
		if (told)
			madsim_drop_send(qp, dgram->wqe.wr_id);
		else
			qp->ended++;
		kfree(dgram);
	}
}

/* Give back what was posted. @was: the state before */
static void madsim_qp_flush(struct madsim_qp *qp, enum ib_qp_state was)
{
	/* It takes no more from the receive queue that it shares */
	if (qp->state == IB_QPS_ERR && was != qp->state && qp->ibqp.srq)
		madsim_event(&qp->events, IB_EVENT_QP_LAST_WQE_REACHED);
	madsim_qp_drop(qp, true);
	if (qp->rc && qp->state == IB_QPS_ERR)
		madsim_rc_flush(qp);
	madsim_flush_turn(qp);
}

/* Bytes of its memory are copied without a lock */
static bool madsim_rc_is_busy(const struct madsim_rc *rc)
{
	return rc->burst.len || rc->landing;
}

/**
 * madsim_qp_fail - stop a queue pair after an error
 * @qp: the queue pair
 * @state: %IB_QPS_ERR, or %IB_QPS_SQE for its sends alone
 *
 * What was posted comes back when no data is being copied.
 *
 * Context: any; fabric->lock and qp->lock are held.
 */
void madsim_qp_fail(struct madsim_qp *qp, enum ib_qp_state state)
{
	enum ib_qp_state was = qp->state;

	lockdep_assert_held(&madsim_fabric_of(qp->ibqp.device)->lock);

	qp->state = state;
	qp->failed = jiffies;
	if (qp->rc && madsim_rc_is_busy(qp->rc))
		qp->rc->failing = true;
	else
		madsim_qp_flush(qp, was);
}

/*
 * Wait until nothing of a queue pair is being copied. If the queue pair has failed, all its sends
 * have come back then: in another state they might go. fabric->lock is held, but not during sleep
 */
void madsim_qp_idle(struct madsim_qp *qp)
{
	struct madsim_fabric *fabric = madsim_fabric_of(qp->ibqp.device);
	struct madsim_rc *rc = qp->rc;

	if (!rc)
		return;
	while (true) {
		rc->waiters++;
		wait_event_lock_irq(fabric->copied, !madsim_rc_is_busy(rc), fabric->lock);
		rc->waiters--;
		if (!madsim_is_flushing(qp) || !madsim_rc_flush_sends(qp))
			return;
		spin_unlock_irq(&fabric->lock);
		cond_resched();
		spin_lock_irq(&fabric->lock);
	}
}

/* A copy has ended that this queue pair took part in. fabric->lock is held */
void madsim_qp_copied(struct madsim_qp *qp)
{
	lockdep_assert_held(&madsim_fabric_of(qp->ibqp.device)->lock);

	if (!qp->rc->failing || madsim_rc_is_busy(qp->rc))
		return;
	spin_lock(&qp->lock);
	qp->rc->failing = false;
	madsim_qp_flush(qp, IB_QPS_RTS);
	spin_unlock(&qp->lock);
}

/* A completion or a receive of a queue pair is lost. fabric->lock or qp->lock is held */
void madsim_qp_lost(struct madsim_qp *qp)
{
	/* It has failed already, and @flush keeps its own time */
	if (qp->state == IB_QPS_ERR)
		return;
	qp->lost = true;
	mod_delayed_work(madsim_send_wq(qp), &qp->flush, 0);
}

/* Fail a queue pair that has lost something, or give back what was posted to one that has failed */
void madsim_flush_work(struct work_struct *work)
{
	struct madsim_qp *qp = container_of(to_delayed_work(work),
					    struct madsim_qp, flush);
	struct madsim_fabric *fabric = madsim_fabric_of(qp->ibqp.device);

	spin_lock_irq(&fabric->lock);
	spin_lock(&qp->lock);
	if (qp->lost && qp->state != IB_QPS_RESET && qp->state != IB_QPS_ERR) {
		madsim_qp_fail(qp, IB_QPS_ERR);
		madsim_event(&qp->events, IB_EVENT_QP_FATAL);
	} else if (madsim_is_flushing(qp)) {
		madsim_flush_turn(qp);
	}
	qp->lost = false;
	spin_unlock(&qp->lock);
	spin_unlock_irq(&fabric->lock);
}
