// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The verbs of queue pairs and address handles: the border between the kernel's clients and the
 * fabric. A datagram has been routed when post_send() returns, unless the fabric is strict.
 */

#include <linux/slab.h>
#include <linux/uaccess.h>
#include <rdma/uverbs_ioctl.h>

#include "device.h"
#include "engine/engine.h"

static struct madsim_pd *to_madsim_pd(struct ib_pd *ibpd)
{
	return container_of(ibpd, struct madsim_pd, ibpd);
}

static int madsim_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct madsim_pd *pd = to_madsim_pd(ibpd);

	pd->user = madsim_user_of(udata);
	return madsim_user_charge(pd->user, MADSIM_OBJECT_BYTES) ? 0 : -ENOMEM;
}

static int madsim_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	madsim_user_uncharge(to_madsim_pd(ibpd)->user, MADSIM_OBJECT_BYTES);
	return 0;
}

/* The next queue pair with the number finds the alias of the one before */
static int madsim_client_alias(struct madsim_dev *dev, struct madsim_qp *qp)
{
	u32 num = qp->ibqp.qp_num;
	int ret;

	qp->alias = xa_load(&dev->aliases, num);
	if (qp->alias)
		return 0;
	qp->alias = kzalloc_obj(*qp->alias, GFP_KERNEL_ACCOUNT);
	if (!qp->alias)
		return -ENOMEM;
	qp->alias->qp_num = num;
	ret = xa_err(xa_store(&dev->aliases, num, qp->alias, GFP_KERNEL));
	if (ret)
		kfree(qp->alias);
	return ret;
}

/* Have it found no more */
static void madsim_client_del(struct madsim_qp *qp)
{
	struct madsim_dev *dev = to_madsim_dev(qp->ibqp.device);

	xa_erase(&dev->qps, qp->ibqp.qp_num - dev->first_qpn);
	/* A packet that has found it before that is under way with this held */
	spin_lock_irq(&dev->node->fabric->lock);
	madsim_user_release(dev, qp->user, MADSIM_SHARE_QP);
	madsim_qp_drop(qp, false);
	spin_unlock_irq(&dev->node->fabric->lock);
	if (qp->rc)
		madsim_rc_del(qp);
	cancel_delayed_work_sync(&qp->dgram_work);
	kfree(qp->recv_wqe);
}

/* Give a client's queue pair what it has beyond QP0 and QP1, and a number */
static int madsim_client_add(struct madsim_qp *qp)
{
	struct madsim_dev *dev = to_madsim_dev(qp->ibqp.device);
	bool connected = qp->ibqp.qp_type != IB_QPT_UD;
	u32 place;
	int ret;

	qp->recv_wqe = kzalloc_flex(*qp->recv_wqe, sge, MADSIM_MAX_SGE, GFP_KERNEL_ACCOUNT);
	if (!qp->recv_wqe)
		return -ENOMEM;
	ret = connected ? madsim_rc_add(qp) : 0;
	if (ret)
		goto err_wqe;
	madsim_run_init(qp);
	ret = madsim_place_alloc(dev, qp->user, MADSIM_SHARE_QP, &dev->qps, MADSIM_MAX_QP,
				 &dev->next_qp, &place);
	if (ret)
		goto err_rc;
	qp->ibqp.qp_num = dev->first_qpn + place;
	xa_store(&dev->qps, place, qp, GFP_KERNEL);
	ret = qp->user ? madsim_client_alias(dev, qp) : 0;
	if (ret)
		madsim_client_del(qp);
	return ret;

err_rc:
	if (qp->rc)
		madsim_rc_del(qp);
err_wqe:
	kfree(qp->recv_wqe);
	return ret;
}

/* Make a queue pair QP0 or QP1 of its port */
static int madsim_qp_claim(struct madsim_qp *qp, u32 num)
{
	struct madsim_fabric *fabric = madsim_fabric_of(qp->ibqp.device);
	int ret = 0;

	qp->ibqp.qp_num = num;
	spin_lock_irq(&fabric->lock);
	if (qp->port->qp[num])
		ret = -EBUSY;
	else
		qp->port->qp[num] = qp;
	spin_unlock_irq(&fabric->lock);
	return ret;
}

static bool madsim_caps_valid(const struct ib_qp_cap *cap, bool mad, bool user)
{
	return cap->max_send_wr <= MADSIM_MAX_WR &&
	       cap->max_recv_wr <= MADSIM_MAX_WR &&
	       cap->max_send_sge <= MADSIM_MAX_SGE &&
	       cap->max_recv_sge <= MADSIM_MAX_SGE &&
	       cap->max_inline_data <= (user ? MADSIM_MAX_INLINE : 0) &&
	       (!mad || (cap->max_recv_wr && cap->max_recv_sge));
}

/* The queues of a queue pair may complete at any time from now on */
static void madsim_qp_feed(struct madsim_qp *qp, struct ib_cq *send_cq, struct ib_cq *recv_cq)
{
	struct madsim_fabric *fabric = madsim_fabric_of(qp->ibqp.device);
	bool fits = madsim_cq_feed(send_cq, qp->max_send_wr);

	fits &= madsim_cq_feed(recv_cq, qp->rq.size);
	if (fits)
		return;
	spin_lock_irq(&fabric->lock);
	madsim_mistake(qp, 0, MADSIM_SHORT_CQ);
	spin_unlock_irq(&fabric->lock);
}

/* What the sends of a queue pair cost its user */
static u64 madsim_sends_cost(const struct madsim_qp *qp)
{
	return (u64)qp->max_send_wr * madsim_swqe_size(qp);
}

/* With a shared receive queue a queue pair has none of its own */
static int madsim_queues_init(struct madsim_qp *qp, const struct ib_qp_init_attr *attr,
			      struct ib_udata *udata)
{
	int ret;

	if (!madsim_user_charge(qp->user, madsim_sends_cost(qp)))
		return -ENOMEM;
	ret = madsim_rq_init(&qp->rq, qp->user, attr->srq ? 0 : attr->cap.max_recv_wr,
			     attr->srq ? 0 : attr->cap.max_recv_sge, attr->srq ? NULL : udata);
	if (ret)
		madsim_user_uncharge(qp->user, madsim_sends_cost(qp));
	return ret;
}

static void madsim_queues_free(struct madsim_qp *qp)
{
	madsim_rq_free(&qp->rq);
	madsim_user_uncharge(qp->user, madsim_sends_cost(qp));
}

static int madsim_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *attr,
			    struct ib_udata *udata)
{
	struct madsim_node *node = to_madsim_dev(ibqp->device)->node;
	struct madsim_qp *qp = to_madsim_qp(ibqp);
	bool mad = attr->qp_type == IB_QPT_SMI || attr->qp_type == IB_QPT_GSI;
	bool client = attr->qp_type == IB_QPT_UD ||
		      attr->qp_type == IB_QPT_RC || attr->qp_type == IB_QPT_UC;
	int ret;

	/* For a program, the core refuses all others itself */
	if (client ? !madsim_has_data(node) : !mad)
		return -EOPNOTSUPP;
	if (attr->create_flags & ~IB_QP_CREATE_IPOIB_UD_LSO ||
	    (attr->create_flags && attr->qp_type != IB_QPT_UD))
		return -EOPNOTSUPP;
	if (!madsim_caps_valid(&attr->cap, mad, udata))
		return -EINVAL;
	if (mad) {
		if (!rdma_is_port_valid(ibqp->device, attr->port_num))
			return -EINVAL;
		qp->port = &node->ports[attr->port_num];
	}

	qp->user = madsim_user_of(udata);
	qp->sig_all = attr->sq_sig_type == IB_SIGNAL_ALL_WR;
	qp->max_send_wr = attr->cap.max_send_wr;
	qp->max_send_sge = attr->cap.max_send_sge;
	qp->max_inline = attr->cap.max_inline_data;
	qp->lso = attr->create_flags & IB_QP_CREATE_IPOIB_UD_LSO;
	qp->state = IB_QPS_RESET;
	spin_lock_init(&qp->lock);
	INIT_LIST_HEAD(&qp->dgrams);
	INIT_DELAYED_WORK(&qp->flush, madsim_flush_work);
	qp->events.event.element.qp = ibqp;
	madsim_events_init(&qp->events, ibqp->device, ibqp->event_handler, ibqp->qp_context);
	ret = madsim_queues_init(qp, attr, udata);
	if (ret)
		return ret;

	ret = client ? madsim_client_add(qp) :
		       madsim_qp_claim(qp, attr->qp_type == IB_QPT_GSI);
	if (ret)
		madsim_queues_free(qp);
	else
		madsim_qp_feed(qp, attr->send_cq, attr->recv_cq);
	return ret;
}

static int madsim_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct madsim_qp *qp = to_madsim_qp(ibqp);
	struct madsim_fabric *fabric = madsim_fabric_of(qp->ibqp.device);

	madsim_cq_look_all(ibqp->send_cq);
	madsim_cq_look_all(ibqp->recv_cq);
	spin_lock_irq(&fabric->lock);
	if (READ_ONCE(qp->unread_sends) || READ_ONCE(qp->unread_recvs))
		madsim_mistake(qp, 0, MADSIM_UNREAD);
	spin_unlock_irq(&fabric->lock);

	if (madsim_is_client(qp)) {
		madsim_client_del(qp);
	} else {
		spin_lock_irq(&fabric->lock);
		qp->port->qp[ibqp->qp_num] = NULL;
		spin_unlock_irq(&fabric->lock);
	}

	cancel_delayed_work_sync(&qp->flush);
	madsim_cq_feed(ibqp->send_cq, -(int)qp->max_send_wr);
	madsim_cq_feed(ibqp->recv_cq, -(int)qp->rq.size);
	madsim_cq_purge(ibqp->send_cq, qp);
	if (ibqp->recv_cq != ibqp->send_cq)
		madsim_cq_purge(ibqp->recv_cq, qp);
	madsim_events_end(&qp->events);
	madsim_queues_free(qp);
	return 0;
}

static void madsim_qp_enter(struct madsim_qp *qp, enum ib_qp_state state)
{
	bool stopped = qp->rc && qp->state == IB_QPS_RTS;

	if (state == IB_QPS_ERR) {
		madsim_qp_fail(qp, state);
		return;
	}
	qp->state = state;
	if (stopped)
		madsim_rc_drained(qp);
	if (state == IB_QPS_RTS)
		madsim_strict_schedule(qp, true);
	if (state == IB_QPS_RESET) {
		madsim_qp_drop(qp, false);
		madsim_cq_reap(qp);
		madsim_rq_reset(&qp->rq);
		if (qp->rc)
			madsim_rc_reset(qp);
	}
}

static int madsim_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr,
			    int mask, struct ib_udata *udata)
{
	struct madsim_qp *qp = to_madsim_qp(ibqp);
	struct madsim_node *node = to_madsim_dev(ibqp->device)->node;
	struct madsim_fabric *fabric = node->fabric;
	enum ib_qp_state now, next;
	int ret = 0;

	if (mask & ~IB_QP_ATTR_STANDARD_BITS)
		return -EOPNOTSUPP;
	if (mask & IB_QP_PORT &&
	    !rdma_is_port_valid(ibqp->device, attr->port_num))
		return -EINVAL;
	if (mask & IB_QP_PKEY_INDEX && attr->pkey_index >= MADSIM_PKEYS)
		return -EINVAL;

	spin_lock_irq(&fabric->lock);
	madsim_qp_idle(qp);
	spin_lock(&qp->lock);
	now = qp->state;
	next = mask & IB_QP_STATE ? attr->qp_state : now;
	/* Nothing but an error changes it behind its owner's back */
	if (mask & IB_QP_CUR_STATE && attr->cur_qp_state != now)
		ret = -EINVAL;
	else if (!ib_modify_qp_is_ok(now, next, ibqp->qp_type, mask))
		ret = -EINVAL;
	else if (qp->rc)
		ret = madsim_rc_check(qp, attr, mask, next);
	if (ret)
		goto out;

	/* Which ib_modify_qp_is_ok() allows to a client's alone */
	if (mask & IB_QP_PORT)
		qp->port = &node->ports[attr->port_num];
	if (mask & IB_QP_PKEY_INDEX)
		qp->pkey_index = attr->pkey_index;
	if (mask & IB_QP_QKEY)
		qp->qkey = attr->qkey;
	if (qp->rc)
		madsim_rc_set(qp, attr, mask);
	else if (mask & IB_QP_SQ_PSN)
		qp->sq_psn = attr->sq_psn;
	madsim_qp_enter(qp, next);
out:
	spin_unlock(&qp->lock);
	spin_unlock_irq(&fabric->lock);
	if (!ret && qp->rc && next == IB_QPS_RTS)
		madsim_kick(qp);
	return ret;
}

static int madsim_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr,
			   int mask, struct ib_qp_init_attr *init_attr)
{
	struct madsim_qp *qp = to_madsim_qp(ibqp);
	struct madsim_fabric *fabric = madsim_fabric_of(qp->ibqp.device);
	unsigned long flags;

	memset(attr, 0, sizeof(*attr));
	memset(init_attr, 0, sizeof(*init_attr));

	spin_lock_irqsave(&fabric->lock, flags);
	attr->sq_psn = qp->sq_psn;
	if (qp->rc)
		madsim_rc_get(qp, attr);
	attr->qp_state = qp->state;
	attr->qkey = qp->qkey;
	attr->pkey_index = qp->pkey_index;
	attr->port_num = qp->port ? qp->port->num : 0;
	spin_unlock_irqrestore(&fabric->lock, flags);

	attr->cur_qp_state = attr->qp_state;
	attr->cap.max_send_wr = qp->max_send_wr;
	attr->cap.max_recv_wr = qp->rq.size;
	attr->cap.max_send_sge = qp->max_send_sge;
	attr->cap.max_recv_sge = qp->rq.max_sge;
	attr->cap.max_inline_data = qp->max_inline;
	init_attr->send_cq = ibqp->send_cq;
	init_attr->recv_cq = ibqp->recv_cq;
	init_attr->srq = ibqp->srq;
	init_attr->cap = attr->cap;
	init_attr->sq_sig_type = qp->sig_all ? IB_SIGNAL_ALL_WR :
					       IB_SIGNAL_REQ_WR;
	init_attr->qp_type = ibqp->qp_type;
	init_attr->port_num = attr->port_num;
	return 0;
}

static int madsim_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
			    const struct ib_recv_wr **bad_wr)
{
	struct madsim_qp *qp = to_madsim_qp(ibqp);
	unsigned long flags;
	int ret = 0;

	spin_lock_irqsave(&qp->lock, flags);
	for (; wr; wr = wr->next) {
		if (qp->state == IB_QPS_RESET ||
		    (wr->num_sge != 1 && !madsim_is_client(qp)))
			ret = -EINVAL;
		else
			ret = madsim_rq_post(&qp->rq, wr);
		if (ret)
			break;
		if (qp->state == IB_QPS_ERR && !madsim_is_failing(qp))
			madsim_flush_recv(qp);
	}
	spin_unlock_irqrestore(&qp->lock, flags);
	if (ret)
		*bad_wr = wr;
	return ret;
}

/* A datagram behind others that wait does not overtake them in any fabric */
static bool madsim_must_wait(const struct madsim_qp *qp)
{
	return madsim_is_delayed(qp) || !list_empty(&qp->dgrams);
}

static int madsim_post(struct madsim_qp *qp, const struct madsim_send *send)
{
	struct madsim_fabric *fabric = madsim_fabric_of(qp->ibqp.device);
	unsigned long flags;
	int ret;

	/* What it has taken of its ring makes places free */
	if (qp->user && unlikely(madsim_sq_is_full(qp)))
		madsim_cq_look_all(qp->ibqp.send_cq);
	spin_lock_irqsave(&fabric->lock, flags);
	ret = madsim_sq_check(qp, send);
	if (ret)
		goto out;
	if (qp->rc)
		madsim_rc_queue(qp, send);
	else if (qp->state != IB_QPS_RTS)
		madsim_drop_send(qp, send->wr->wr_id);
	else if (madsim_must_wait(qp))
		ret = madsim_strict_post(qp, send);
	else
		ret = madsim_send_datagram(qp, send);
	if (!ret)
		qp->posted++;
out:
	spin_unlock_irqrestore(&fabric->lock, flags);
	return ret;
}

/*
 * Inline data: a program posts, so the data is in the memory of the current process. With a frame
 * of its own: many a kernel clears what a function has on its stack
 */
static noinline_for_stack int madsim_post_inline(struct madsim_qp *qp, struct madsim_send *send)
{
	const struct ib_sge *sge = send->wr->sg_list;
	u8 data[MADSIM_MAX_INLINE], *to = data;
	int i;

	if (send->length > qp->max_inline)
		return -EINVAL;
	for (i = 0; i < send->wr->num_sge; i++) {
		if (copy_from_user(to, u64_to_user_ptr(sge[i].addr), sge[i].length))
			return -EFAULT;
		to += sge[i].length;
	}
	send->data = data;
	return madsim_post(qp, send);
}

static int madsim_post_one(struct madsim_qp *qp, const struct ib_send_wr *wr)
{
	struct madsim_send send = { .wr = wr };

	if ((u32)wr->num_sge > qp->max_send_sge)
		return -EINVAL;
	send.length = madsim_sge_length(wr->sg_list, wr->num_sge);
	return wr->send_flags & IB_SEND_INLINE ? madsim_post_inline(qp, &send) :
						 madsim_post(qp, &send);
}

static int madsim_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
			    const struct ib_send_wr **bad_wr)
{
	struct madsim_qp *qp = to_madsim_qp(ibqp);
	int ret;

	ret = madsim_fault_verb(to_madsim_dev(ibqp->device)->node, MADSIM_POST_SEND);
	if (ret) {
		*bad_wr = wr;
		return ret;
	}
	/* A user's list is as long as the user likes */
	for (; wr; wr = wr->next) {
		ret = madsim_post_one(qp, wr);
		if (ret) {
			*bad_wr = wr;
			break;
		}
		/* A client in the kernel may hold locks when it posts */
		if (qp->user)
			cond_resched();
	}
	if (qp->rc)
		madsim_kick(qp);
	return ret;
}

static int madsim_create_ah(struct ib_ah *ibah,
			    struct rdma_ah_init_attr *init_attr,
			    struct ib_udata *udata)
{
	struct madsim_ah *ah = to_madsim_ah(ibah);
	int ret;

	ret = madsim_fault_verb(to_madsim_dev(ibah->device)->node,
				MADSIM_CREATE_AH);
	if (ret)
		return ret;

	ah->user = madsim_user_of(udata);
	if (!madsim_user_charge(ah->user, MADSIM_OBJECT_BYTES))
		return -ENOMEM;
	ah->attr = *init_attr->ah_attr;
	/* The core keeps the reference that goes with this pointer */
	if (rdma_ah_get_ah_flags(&ah->attr) & IB_AH_GRH)
		ah->attr.grh.sgid_attr = NULL;
	return 0;
}

static int madsim_query_ah(struct ib_ah *ibah, struct rdma_ah_attr *attr)
{
	*attr = to_madsim_ah(ibah)->attr;
	return 0;
}

static int madsim_destroy_ah(struct ib_ah *ibah, u32 flags)
{
	madsim_user_uncharge(to_madsim_ah(ibah)->user, MADSIM_OBJECT_BYTES);
	return 0;
}

const struct ib_device_ops madsim_qp_ops = {
	.alloc_pd = madsim_alloc_pd,
	.create_ah = madsim_create_ah,
	.create_user_ah = madsim_create_ah,
	.create_qp = madsim_create_qp,
	.dealloc_pd = madsim_dealloc_pd,
	.destroy_ah = madsim_destroy_ah,
	.destroy_qp = madsim_destroy_qp,
	.modify_qp = madsim_modify_qp,
	.post_recv = madsim_post_recv,
	.post_send = madsim_post_send,
	.query_ah = madsim_query_ah,
	.query_qp = madsim_query_qp,

	INIT_RDMA_OBJ_SIZE(ib_ah, madsim_ah, ibah),
	INIT_RDMA_OBJ_SIZE(ib_pd, madsim_pd, ibpd),
	INIT_RDMA_OBJ_SIZE(ib_qp, madsim_qp, ibqp),
};
