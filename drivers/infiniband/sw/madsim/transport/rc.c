// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Connected queue pairs, of the types RC and UC: their attributes, and what they take in. */

#include <linux/slab.h>

#include "transport.h"

/* Whether a packet has come by the path of a connection, from its other end */
static bool madsim_rc_is_peer(const struct madsim_qp *qp, const struct madsim_packet *pkt)
{
	const struct ib_qp_attr *attr = &qp->rc->attr;
	const struct rdma_ah_attr *path = &attr->ah_attr;
	bool grh = rdma_ah_get_ah_flags(path) & IB_AH_GRH;

	if ((pkt->src_qpn != attr->dest_qp_num && pkt->src_qpn != MADSIM_QPN_UNTOLD) ||
	    rdma_ah_get_dlid(path) != pkt->slid || grh != pkt->grh_valid)
		return false;
	return !grh || !memcmp(&rdma_ah_read_grh(path)->dgid, &pkt->grh.sgid,
			       sizeof(pkt->grh.sgid));
}

/* Give a packet to a connected queue pair. Returns whether it responds. fabric->lock is held */
bool madsim_rc_receive(struct madsim_port *port, struct madsim_packet *pkt)
{
	struct madsim_dev *dev = port->node->dev;
	struct madsim_qp *qp;
	bool respond = false;

	lockdep_assert_held(&port->node->fabric->lock);

	qp = dev ? madsim_qp_find(dev, pkt->dst_qpn) : NULL;
	if (!qp || !qp->rc || qp->port != port ||
	    !madsim_rc_is_peer(qp, pkt) || madsim_is_uc(qp) != pkt->bth.uc)
		return false;

	spin_lock(&qp->lock);
	/* A connected queue pair has no Q_Key */
	if (qp->state >= IB_QPS_RTR && qp->state != IB_QPS_ERR &&
	    madsim_qp_admits(qp, pkt->qkey, pkt)) {
		madsim_strict_finish_write(qp);
		if (pkt->bth.op == MADSIM_OP_ACK)
			madsim_rc_response(qp, pkt);
		else
			respond = madsim_rc_request(qp, pkt);
	}
	spin_unlock(&qp->lock);
	return respond;
}

/* No group, no LID 0. The core sees to it that a program means the port of the queue pair */
static bool madsim_rc_is_path(const struct rdma_ah_attr *path)
{
	u32 dlid = rdma_ah_get_dlid(path);

	return dlid && dlid < MADSIM_LID_MULTICAST;
}

/**
 * madsim_rc_check - whether a connected queue pair can have such attributes
 * @qp: the queue pair
 * @attr: the attributes
 * @mask: which of them
 * @next: the state that the queue pair would have then
 *
 * Context: any; fabric->lock is held.
 * Return: 0, -EINVAL, or -EOPNOTSUPP: there is no other path to migrate to.
 */
int madsim_rc_check(const struct madsim_qp *qp, const struct ib_qp_attr *attr,
		    int mask, enum ib_qp_state next)
{
	/* The message that SQD waits for goes on as it has begun */
	if (madsim_rc_draining(qp) && next != IB_QPS_ERR &&
	    next != IB_QPS_RESET)
		return -EINVAL;
	if (mask & IB_QP_ALT_PATH)
		return -EOPNOTSUPP;
	if (mask & IB_QP_PATH_MIG_STATE &&
	    attr->path_mig_state != IB_MIG_MIGRATED)
		return -EOPNOTSUPP;
	if (mask & IB_QP_AV && !madsim_rc_is_path(&attr->ah_attr))
		return -EINVAL;
	if (mask & IB_QP_PATH_MTU &&
	    (attr->path_mtu < IB_MTU_256 || attr->path_mtu > IB_MTU_4096 ||
	     ib_mtu_enum_to_int(attr->path_mtu) > (int)madsim_mtu(qp->port)))
		return -EINVAL;
	if ((mask & IB_QP_TIMEOUT && attr->timeout > 31) ||
	    (mask & IB_QP_RETRY_CNT && attr->retry_cnt > 7) ||
	    (mask & IB_QP_RNR_RETRY && attr->rnr_retry > 7) ||
	    (mask & IB_QP_MIN_RNR_TIMER && attr->min_rnr_timer > 31) ||
	    (mask & IB_QP_MAX_QP_RD_ATOMIC &&
	     attr->max_rd_atomic > MADSIM_MAX_RD_ATOMIC) ||
	    (mask & IB_QP_MAX_DEST_RD_ATOMIC &&
	     attr->max_dest_rd_atomic > MADSIM_MAX_RD_ATOMIC))
		return -EINVAL;
	return 0;
}

/* Set attributes that madsim_rc_check() has seen. fabric->lock and qp->lock are held */
void madsim_rc_set(struct madsim_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	struct madsim_rc *rc = qp->rc;
	struct ib_qp_attr *mine = &rc->attr;

	if (mask & IB_QP_AV) {
		mine->ah_attr = attr->ah_attr;
		/* The core keeps the reference that goes with this pointer */
		if (rdma_ah_get_ah_flags(&mine->ah_attr) & IB_AH_GRH)
			mine->ah_attr.grh.sgid_attr = NULL;
	}
	if (mask & IB_QP_ACCESS_FLAGS)
		mine->qp_access_flags = attr->qp_access_flags;
	if (mask & IB_QP_PATH_MTU) {
		mine->path_mtu = attr->path_mtu;
		rc->mtu = ib_mtu_enum_to_int(attr->path_mtu);
	}
	if (mask & IB_QP_DEST_QPN)
		mine->dest_qp_num = attr->dest_qp_num & IB_QPN_MASK;
	if (mask & IB_QP_RQ_PSN)
		rc->resp.psn = attr->rq_psn & MADSIM_PSN_MASK;
	if (mask & IB_QP_SQ_PSN)
		rc->req.psn = attr->sq_psn & MADSIM_PSN_MASK;
	if (mask & IB_QP_TIMEOUT)
		mine->timeout = attr->timeout;
	if (mask & IB_QP_RETRY_CNT)
		mine->retry_cnt = attr->retry_cnt;
	if (mask & IB_QP_RNR_RETRY)
		mine->rnr_retry = attr->rnr_retry;
	if (mask & IB_QP_MIN_RNR_TIMER)
		mine->min_rnr_timer = attr->min_rnr_timer;
	if (mask & IB_QP_MAX_QP_RD_ATOMIC)
		mine->max_rd_atomic = attr->max_rd_atomic;
	if (mask & IB_QP_MAX_DEST_RD_ATOMIC)
		mine->max_dest_rd_atomic = attr->max_dest_rd_atomic;
	if (mask & IB_QP_STATE)
		rc->req.notify = mask & IB_QP_EN_SQD_ASYNC_NOTIFY &&
			     attr->en_sqd_async_notify;
	if (!rc->req.ahead)
		madsim_rc_refresh(rc);
}

/* The attributes of a connected queue pair. fabric->lock is held */
void madsim_rc_get(const struct madsim_qp *qp, struct ib_qp_attr *attr)
{
	*attr = qp->rc->attr;
	attr->rq_psn = qp->rc->resp.psn;
	attr->sq_psn = qp->rc->req.psn;
	attr->path_mig_state = IB_MIG_MIGRATED;
	attr->sq_draining = madsim_rc_draining(qp);
}

/* Make a queue pair a connected one: 0, or -ENOMEM */
int madsim_rc_add(struct madsim_qp *qp)
{
	struct madsim_rc *rc;

	rc = kzalloc_obj(*rc, GFP_KERNEL_ACCOUNT);
	if (!rc)
		return -ENOMEM;
	rc->qp = qp;
	rc->sq.wqe_size = madsim_swqe_size(qp);
	rc->sq.ring = kvcalloc(qp->max_send_wr, rc->sq.wqe_size, GFP_KERNEL_ACCOUNT);
	if (!rc->sq.ring) {
		kfree(rc);
		return -ENOMEM;
	}
	qp->rc = rc;
	return 0;
}

/* Undo madsim_rc_add(). The queue pair is found no more. Sleeps */
void madsim_rc_del(struct madsim_qp *qp)
{
	struct madsim_fabric *fabric = madsim_fabric_of(qp->ibqp.device);
	struct madsim_rc *rc = qp->rc;

	/* So that neither @work nor @timer has reason to start the other */
	spin_lock_irq(&fabric->lock);
	madsim_qp_idle(qp);
	/* madsim_flush_work() looks at @rc with this held, unless the state is RESET */
	spin_lock(&qp->lock);
	qp->state = IB_QPS_RESET;
	madsim_rc_reset(qp);
	spin_unlock(&qp->lock);
	spin_unlock_irq(&fabric->lock);
	/* A run may start @timer or @work when it ends. A run of @timer finds nothing to send */
	cancel_work_sync(&rc->req.work);
	cancel_delayed_work_sync(&rc->comp.timer);
	cancel_work_sync(&rc->req.work);
	kvfree(rc->sq.ring);
	kfree(rc->resp.delayed_write.data);
	kfree(rc);
}
