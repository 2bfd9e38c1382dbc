// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Queue pairs and address handles: the border between the kernel's clients and
 * the fabric. A send is routed before post_send() returns. Here are QP0 and QP1
 * of the MAD layer, and what they have in common with those in ud.c and rc.c.
 */

#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <rdma/ib_hdrs.h>

#include "verbs.h"

static struct madsim_fabric *madsim_qp_fabric(const struct madsim_qp *qp)
{
	return to_madsim_dev(qp->ibqp.device)->node->fabric;
}

/* Not QP0 or QP1, whose numbers those are */
static bool madsim_is_client(const struct madsim_qp *qp)
{
	return qp->taken;
}

/**
 * madsim_wc_qp - what a completion says of its queue pair
 * @qp: the queue pair
 *
 * The core reads the number behind it after it has polled. A user may destroy a
 * queue pair meanwhile in another thread, so there it is something that lives as
 * long as the device.
 *
 * Context: any.
 * Return: the core's part of it, or what has the same number.
 */
struct ib_qp *madsim_wc_qp(struct madsim_qp *qp)
{
	return qp->alias ?: &qp->ibqp;
}

static int madsim_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	return 0;
}

static int madsim_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	return 0;
}

/* Who has the number later finds the alias of who had it before */
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

/* Let nobody find it any more */
static void madsim_client_del(struct madsim_qp *qp)
{
	struct madsim_dev *dev = to_madsim_dev(qp->ibqp.device);

	xa_erase(&dev->qps, qp->ibqp.qp_num);
	/* Who has found it before that has this */
	spin_lock_irq(&dev->node->fabric->lock);
	spin_unlock_irq(&dev->node->fabric->lock);
	if (qp->rc)
		madsim_rc_del(qp);
	kfree(qp->taken);
}

/* Give a client's queue pair what it has beyond QP0 and QP1, and a number */
static int madsim_client_add(struct madsim_qp *qp, bool user)
{
	struct madsim_dev *dev = to_madsim_dev(qp->ibqp.device);
	bool connected = qp->ibqp.qp_type != IB_QPT_UD;
	int ret;

	qp->taken = kzalloc_flex(*qp->taken, sge, MADSIM_MAX_SGE,
				 GFP_KERNEL_ACCOUNT);
	if (!qp->taken)
		return -ENOMEM;
	ret = connected ? madsim_rc_add(qp) : 0;
	if (ret)
		goto err_taken;
	ret = xa_alloc_cyclic(&dev->qps, &qp->ibqp.qp_num, qp,
			      XA_LIMIT(dev->first_qpn,
				       dev->first_qpn + MADSIM_MAX_QP - 1),
			      &dev->next_qpn, GFP_KERNEL);
	if (ret < 0)
		goto err_rc;
	ret = user ? madsim_client_alias(dev, qp) : 0;
	if (ret)
		madsim_client_del(qp);
	return ret;

err_rc:
	if (qp->rc)
		madsim_rc_del(qp);
err_taken:
	kfree(qp->taken);
	return ret == -EBUSY ? -ENOSPC : ret;
}

/* Make QP0 or QP1 that of its port */
static int madsim_qp_claim(struct madsim_qp *qp, u32 num)
{
	struct madsim_fabric *fabric = madsim_qp_fabric(qp);
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

static int madsim_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *attr,
			    struct ib_udata *udata)
{
	struct madsim_node *node = to_madsim_dev(ibqp->device)->node;
	const struct ib_event event = {
		.device = ibqp->device,
		.element.qp = ibqp,
	};
	struct madsim_qp *qp = to_madsim_qp(ibqp);
	bool mad = attr->qp_type == IB_QPT_SMI || attr->qp_type == IB_QPT_GSI;
	bool client = attr->qp_type == IB_QPT_UD ||
		      attr->qp_type == IB_QPT_RC || attr->qp_type == IB_QPT_UC;
	int ret;

	/* For a program, the core refuses all others itself */
	if (client ? !madsim_has_data(node) : !mad)
		return -EOPNOTSUPP;
	if (attr->create_flags)
		return -EOPNOTSUPP;
	if (!madsim_caps_valid(&attr->cap, mad, udata))
		return -EINVAL;
	if (mad) {
		if (!rdma_is_port_valid(ibqp->device, attr->port_num))
			return -EINVAL;
		qp->port = &node->ports[attr->port_num];
	}

	qp->sig_all = attr->sq_sig_type == IB_SIGNAL_ALL_WR;
	qp->max_send_wr = attr->cap.max_send_wr;
	qp->max_send_sge = attr->cap.max_send_sge;
	qp->max_inline = attr->cap.max_inline_data;
	qp->state = IB_QPS_RESET;
	spin_lock_init(&qp->lock);
	madsim_events_init(&qp->events, &event, ibqp->event_handler,
			   ibqp->qp_context);
	/* With a shared receive queue it has none of its own */
	ret = madsim_rq_init(&qp->rq, attr->srq ? 0 : attr->cap.max_recv_wr,
			     attr->srq ? 0 : attr->cap.max_recv_sge);
	if (ret)
		return ret;

	ret = client ? madsim_client_add(qp, udata) :
		       madsim_qp_claim(qp, attr->qp_type == IB_QPT_GSI);
	if (ret)
		madsim_rq_free(&qp->rq);
	return ret;
}

static int madsim_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct madsim_qp *qp = to_madsim_qp(ibqp);
	struct madsim_fabric *fabric = madsim_qp_fabric(qp);

	if (madsim_is_client(qp)) {
		madsim_client_del(qp);
	} else {
		spin_lock_irq(&fabric->lock);
		qp->port->qp[ibqp->qp_num] = NULL;
		spin_unlock_irq(&fabric->lock);
	}

	madsim_cq_purge(ibqp->send_cq, madsim_wc_qp(qp));
	if (ibqp->recv_cq != ibqp->send_cq)
		madsim_cq_purge(ibqp->recv_cq, madsim_wc_qp(qp));
	madsim_events_end(&qp->events);
	madsim_rq_free(&qp->rq);
	return 0;
}

/* What is still posted comes back when a queue pair fails */
static void madsim_flush_recv(struct madsim_qp *qp)
{
	struct madsim_rwqe *rwqe;

	while ((rwqe = madsim_rq_next(&qp->rq))) {
		struct ib_wc wc = {
			.wr_id = rwqe->wr_id,
			.qp = madsim_wc_qp(qp),
			.status = IB_WC_WR_FLUSH_ERR,
			.opcode = IB_WC_RECV,
		};

		madsim_complete(qp->ibqp.recv_cq, &wc, false);
	}
}

/**
 * madsim_qp_fail - stop a queue pair after an error
 * @qp: the queue pair
 * @state: %IB_QPS_ERR, or %IB_QPS_SQE for its sends alone
 *
 * Context: any; fabric->lock and qp->lock are held.
 */
void madsim_qp_fail(struct madsim_qp *qp, enum ib_qp_state state)
{
	lockdep_assert_held(&madsim_qp_fabric(qp)->lock);

	/* It takes no more from the receive queue that it shares */
	if (state == IB_QPS_ERR && qp->state != state && qp->ibqp.srq)
		madsim_event(&qp->events, IB_EVENT_QP_LAST_WQE_REACHED);
	qp->state = state;
	if (qp->rc)
		madsim_rc_flush_sends(qp);
	if (state == IB_QPS_SQE)
		return;
	if (qp->rc)
		madsim_rc_flush(qp);
	madsim_flush_recv(qp);
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
	if (state == IB_QPS_RESET) {
		qp->rq.count = 0;
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
		madsim_rc_kick(qp);
	return ret;
}

static int madsim_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr,
			   int mask, struct ib_qp_init_attr *init_attr)
{
	struct madsim_qp *qp = to_madsim_qp(ibqp);
	struct madsim_fabric *fabric = madsim_qp_fabric(qp);
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
		if (qp->state == IB_QPS_ERR)
			madsim_flush_recv(qp);
	}
	spin_unlock_irqrestore(&qp->lock, flags);
	if (ret)
		*bad_wr = wr;
	return ret;
}

/* Copy what is to be sent. Returns its length, or 0 if it is no MAD */
static u32 madsim_gather(u8 *to, u32 room, const struct ib_send_wr *wr)
{
	const struct ib_sge *sge, *end = wr->sg_list + wr->num_sge;
	u32 len = 0, piece = 0;
	u64 start;

	for (sge = wr->sg_list; sge < end; sge++) {
		if (sge->length > room - len - piece)
			return 0;
		piece += sge->length;
		/* Without RMPP, header and data are in one piece */
		if (sge + 1 < end && sge[1].addr == sge->addr + sge->length)
			continue;
		start = sge->addr + sge->length - piece;
		madsim_copy_mad(to + len, ib_virt_dma_to_ptr(start), piece);
		len += piece;
		piece = 0;
	}
	return len >= sizeof(struct ib_mad_hdr) ? len : 0;
}

static u16 madsim_ah_dlid(const struct rdma_ah_attr *attr)
{
	u32 dlid = rdma_ah_get_dlid(attr);

	if (dlid == be32_to_cpu(OPA_LID_PERMISSIVE))
		return MADSIM_LID_PERMISSIVE;
	return dlid;
}

static void madsim_build_grh(struct madsim_packet *pkt,
			     const struct madsim_port *port,
			     const struct rdma_ah_attr *attr)
{
	const struct ib_global_route *route = rdma_ah_read_grh(attr);
	struct ib_grh *grh = &pkt->grh;

	grh->version_tclass_flow =
		cpu_to_be32(IB_GRH_VERSION << IB_GRH_VERSION_SHIFT |
			    route->traffic_class << IB_GRH_TCLASS_SHIFT |
			    (route->flow_label & IB_GRH_FLOW_MASK));
	grh->paylen = cpu_to_be16(madsim_payload(pkt));
	grh->next_hdr = IB_GRH_NEXT_HDR;
	grh->hop_limit = route->hop_limit;
	grh->sgid.global.subnet_prefix = port->info.gid_prefix;
	grh->sgid.global.interface_id =
		port->guids[route->sgid_index % MADSIM_GUIDS];
	grh->dgid = route->dgid;
}

/**
 * madsim_route - make the headers of a packet that are about its way
 * @port: the port that sends
 * @attr: where to
 * @pkey_index: of the port's table
 * @pkt: the packet, with what it is for and its length
 *
 * Context: any; fabric->lock is held.
 */
void madsim_route(const struct madsim_port *port,
		  const struct rdma_ah_attr *attr, u16 pkey_index,
		  struct madsim_packet *pkt)
{
	pkt->dlid = madsim_ah_dlid(attr);
	pkt->slid = pkt->dlid == MADSIM_LID_PERMISSIVE ? MADSIM_LID_PERMISSIVE :
			madsim_lid(port) | (rdma_ah_get_path_bits(attr) &
					    (BIT(madsim_lmc(port)) - 1));
	/* On the wire it has four bits, whatever was asked for */
	pkt->sl = rdma_ah_get_sl(attr) % MADSIM_SLS;
	pkt->pkey = be16_to_cpu(port->pkeys[pkey_index]);
	pkt->grh_valid = rdma_ah_get_ah_flags(attr) & IB_AH_GRH;
	if (pkt->grh_valid)
		madsim_build_grh(pkt, port, attr);
}

/**
 * madsim_address - make the headers of a datagram
 * @qp: the queue pair that sends
 * @wr: what it sends
 * @pkey_index: of the port's table
 * @pkt: the packet, with what it carries and its length
 *
 * Context: any; fabric->lock is held.
 */
void madsim_address(struct madsim_qp *qp, const struct ib_send_wr *wr,
		    u16 pkey_index, struct madsim_packet *pkt)
{
	const struct ib_ud_wr *ud = ud_wr(wr);

	pkt->smi = !qp->ibqp.qp_num;
	pkt->bth.op = MADSIM_OP_NONE;
	pkt->solicited = wr->send_flags & IB_SEND_SOLICITED;
	pkt->with_imm = wr->opcode == IB_WR_SEND_WITH_IMM;
	pkt->imm = wr->ex.imm_data;
	pkt->src_qpn = qp->ibqp.qp_num;
	pkt->dst_qpn = ud->remote_qpn & MADSIM_QPN_MASK;
	/* The top bit asks for the Q_Key of the queue pair itself */
	pkt->qkey = ud->remote_qkey & BIT(31) ? qp->qkey : ud->remote_qkey;
	madsim_route(qp->port, &to_madsim_ah(ud->ah)->attr, pkey_index, pkt);
}

static int madsim_build(struct madsim_qp *qp, const struct ib_send_wr *wr,
			struct madsim_packet *pkt)
{
	u16 pkey_index = ud_wr(wr)->pkey_index;

	if (pkey_index >= MADSIM_PKEYS)
		return -EINVAL;
	pkt->len = madsim_gather(pkt->mad, madsim_mad_size(qp->port), wr);
	if (!pkt->len)
		return -EINVAL;
	madsim_address(qp, wr, pkey_index, pkt);
	return 0;
}

/* A send that cannot be sent is the last one, unless its owner mends that */
static void madsim_send_failed(struct madsim_qp *qp, const struct ib_wc *wc)
{
	spin_lock(&qp->lock);
	madsim_qp_fail(qp, IB_QPS_SQE);
	madsim_complete(qp->ibqp.send_cq, wc, false);
	spin_unlock(&qp->lock);
}

/*
 * Data that is with a request itself: a program posts, so its memory is that of the
 * current process.
 */
static int madsim_get_inline(const struct madsim_qp *qp,
			     const struct ib_send_wr *wr, void *data)
{
	const struct ib_sge *sge = wr->sg_list;
	int i;

	if (madsim_sge_length(sge, wr->num_sge) > qp->max_inline)
		return -EINVAL;
	for (i = 0; i < wr->num_sge; i++) {
		if (copy_from_user(data, u64_to_user_ptr(sge[i].addr),
				   sge[i].length))
			return -EFAULT;
		data += sge[i].length;
	}
	return 0;
}

static int madsim_post_one(struct madsim_qp *qp, const struct ib_send_wr *wr,
			   const void *data)
{
	struct madsim_fabric *fabric = madsim_qp_fabric(qp);
	struct madsim_packet *pkt = &fabric->tx;
	struct ib_wc wc = {
		.wr_id = wr->wr_id,
		.qp = madsim_wc_qp(qp),
		.opcode = IB_WC_SEND,
	};
	int ret = 0;

	lockdep_assert_held(&fabric->lock);

	if (wr->opcode != IB_WR_SEND && wr->opcode != IB_WR_SEND_WITH_IMM)
		return -EOPNOTSUPP;
	if (wr->num_sge > qp->max_send_sge)
		return -EINVAL;
	if (qp->state == IB_QPS_ERR || qp->state == IB_QPS_SQE) {
		wc.status = IB_WC_WR_FLUSH_ERR;
		madsim_complete(qp->ibqp.send_cq, &wc, false);
		return 0;
	}
	if (qp->state != IB_QPS_RTS)
		return -EINVAL;

	ret = madsim_fault_verb(qp->port->node, MADSIM_POST_SEND);
	if (ret)
		return ret;
	if (madsim_is_client(qp))
		wc.status = madsim_ud_build(qp, wr, data, pkt);
	else
		ret = madsim_build(qp, wr, pkt);
	if (ret)
		return ret;
	wc.port_num = qp->port->num;
	if (wc.status) {
		madsim_send_failed(qp, &wc);
		return 0;
	}

	/* Before the response, which may come while the request is sent */
	if (qp->sig_all || wr->send_flags & IB_SEND_SIGNALED)
		madsim_complete(qp->ibqp.send_cq, &wc, false);
	/* The adapter itself replicates to its own members */
	if (madsim_is_data(pkt) && madsim_lid_is_multicast(pkt->dlid))
		madsim_ud_receive(qp->port, pkt);
	madsim_send(qp->port, pkt);
	return 0;
}

static int madsim_post(struct madsim_qp *qp, const struct ib_send_wr *wr,
		       const void *data)
{
	struct madsim_fabric *fabric = madsim_qp_fabric(qp);
	unsigned long flags;
	int ret;

	spin_lock_irqsave(&fabric->lock, flags);
	ret = qp->rc ? madsim_rc_post(qp, wr, data) :
		       madsim_post_one(qp, wr, data);
	spin_unlock_irqrestore(&fabric->lock, flags);
	return ret;
}

/* With a frame of its own: many a kernel clears what a function has on its stack */
static noinline_for_stack int madsim_post_inline(struct madsim_qp *qp,
						 const struct ib_send_wr *wr)
{
	u8 data[MADSIM_MAX_INLINE];
	int ret;

	ret = madsim_get_inline(qp, wr, data);
	return ret ? ret : madsim_post(qp, wr, data);
}

static int madsim_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
			    const struct ib_send_wr **bad_wr)
{
	struct madsim_qp *qp = to_madsim_qp(ibqp);
	int ret = 0;

	/* A user's list is as long as the user likes */
	for (; wr; wr = wr->next) {
		ret = wr->send_flags & IB_SEND_INLINE ?
			madsim_post_inline(qp, wr) : madsim_post(qp, wr, NULL);
		if (ret) {
			*bad_wr = wr;
			break;
		}
	}
	if (qp->rc)
		madsim_rc_kick(qp);
	return ret;
}

/**
 * madsim_qp_admits - whether the P_Key of a packet lets it into a client's queue pair
 * @qp: the queue pair
 * @pkt: the packet
 *
 * Context: any; fabric->lock is held.
 * Return: whether it does. If not, that has been counted, and told.
 */
bool madsim_qp_admits(const struct madsim_qp *qp,
		      const struct madsim_packet *pkt)
{
	struct madsim_port *port = qp->port;

	if (madsim_pkey_matches(be16_to_cpu(port->pkeys[qp->pkey_index]),
				pkt->pkey))
		return true;
	madsim_count_violation(&port->info.pkey_violations);
	madsim_trap_bad_key(port, MADSIM_TRAP_BAD_PKEY, pkt);
	return false;
}

/**
 * madsim_qp_receive - put a packet into a buffer that the MAD layer posted
 * @port: an end port with queue pairs
 * @pkt: the packet; its checks have passed
 *
 * A queue pair that closes gets no requests, see madsim_qp_drain().
 *
 * Context: any; fabric->lock is held.
 */
void madsim_qp_receive(struct madsim_port *port,
		       const struct madsim_packet *pkt)
{
	struct madsim_qp *qp = port->qp[!pkt->smi];
	struct madsim_rwqe *rwqe;
	struct ib_wc wc = {};
	void *buf;

	lockdep_assert_held(&port->node->fabric->lock);

	spin_lock(&qp->lock);
	if (qp->closing && !(pkt->hdr.method & IB_MGMT_METHOD_RESP))
		goto out;
	if (qp->state != IB_QPS_RTR && qp->state != IB_QPS_RTS &&
	    qp->state != IB_QPS_SQE)
		goto out;
	rwqe = madsim_rq_next(&qp->rq);
	if (!rwqe) {
		madsim_count(port, pkt->smi ? MADSIM_VL15_DROPPED :
					      MADSIM_QP1_DROPPED);
		goto out;
	}

	wc.wr_id = rwqe->wr_id;
	wc.qp = &qp->ibqp;
	wc.opcode = IB_WC_RECV;
	if (rwqe->sge[0].length < sizeof(struct ib_grh) + pkt->len) {
		wc.status = IB_WC_LOC_LEN_ERR;
		madsim_complete(qp->ibqp.recv_cq, &wc, false);
		goto out;
	}

	wc.byte_len = sizeof(struct ib_grh) + pkt->len;
	wc.src_qp = pkt->src_qpn;
	wc.slid = pkt->slid;
	wc.sl = pkt->sl;
	wc.dlid_path_bits = pkt->dlid & (BIT(madsim_lmc(port)) - 1);
	wc.port_num = port->num;
	if (!pkt->smi)
		wc.pkey_index = madsim_find_pkey(port, pkt->pkey);
	buf = ib_virt_dma_to_ptr(rwqe->sge[0].addr);
	if (pkt->grh_valid) {
		wc.wc_flags = IB_WC_GRH;
		memcpy(buf, &pkt->grh, sizeof(pkt->grh));
	}
	madsim_copy_mad(buf + sizeof(struct ib_grh), pkt->mad, pkt->len);
	madsim_complete(qp->ibqp.recv_cq, &wc, pkt->solicited);
out:
	spin_unlock(&qp->lock);
}

/**
 * madsim_qp_drain - leave the MAD layer without requests
 * @port: an end port
 * @ibdev: the device that it leaves
 *
 * Gives it no more, and waits until it has dealt with those that it has.
 *
 * The MAD layer sends responses of its own, through agents that it frees when
 * it leaves the device. It takes no reference to them while it responds. So it
 * must have no request left when it leaves. If it comes back, it does so with
 * new queue pairs.
 *
 * Context: process context, sleeps; the MAD layer does not leave before this
 * returns.
 */
void madsim_qp_drain(struct madsim_port *port, const struct ib_device *ibdev)
{
	struct madsim_fabric *fabric = port->node->fabric;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(port->qp); i++) {
		struct madsim_qp *qp;

		spin_lock_irq(&fabric->lock);
		qp = port->qp[i];
		if (qp && qp->ibqp.device != ibdev)
			qp = NULL;
		if (qp) {
			spin_lock(&qp->lock);
			qp->closing = true;
			spin_unlock(&qp->lock);
		}
		spin_unlock_irq(&fabric->lock);
		if (qp)
			madsim_cq_drain(qp->ibqp.recv_cq);
	}
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
	return 0;
}

/*
 * The MAD layer attaches only where these exist; it does not call them. Devices
 * with data have those of mr.c instead.
 */
static struct ib_mr *madsim_get_dma_mr(struct ib_pd *ibpd, int access)
{
	return ERR_PTR(-EOPNOTSUPP);
}

static struct ib_mr *madsim_reg_user_mr(struct ib_pd *ibpd, u64 start,
					u64 length, u64 virt_addr, int access,
					struct ib_dmah *dmah,
					struct ib_udata *udata)
{
	return ERR_PTR(-EOPNOTSUPP);
}

static int madsim_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata)
{
	return -EOPNOTSUPP;
}

const struct ib_device_ops madsim_qp_ops = {
	.alloc_pd = madsim_alloc_pd,
	.create_ah = madsim_create_ah,
	.create_user_ah = madsim_create_ah,
	.create_qp = madsim_create_qp,
	.dealloc_pd = madsim_dealloc_pd,
	.dereg_mr = madsim_dereg_mr,
	.destroy_ah = madsim_destroy_ah,
	.destroy_qp = madsim_destroy_qp,
	.get_dma_mr = madsim_get_dma_mr,
	.modify_qp = madsim_modify_qp,
	.post_recv = madsim_post_recv,
	.post_send = madsim_post_send,
	.query_ah = madsim_query_ah,
	.query_qp = madsim_query_qp,
	.reg_user_mr = madsim_reg_user_mr,

	INIT_RDMA_OBJ_SIZE(ib_ah, madsim_ah, ibah),
	INIT_RDMA_OBJ_SIZE(ib_pd, madsim_pd, ibpd),
	INIT_RDMA_OBJ_SIZE(ib_qp, madsim_qp, ibqp),
};
