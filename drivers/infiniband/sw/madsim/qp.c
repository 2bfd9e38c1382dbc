// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completion queues, QP0 and QP1, and address handles: the border between the
 * MAD layer and the fabric. A send is routed before post_send() returns.
 */

#include <linux/delay.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <rdma/ib_hdrs.h>

#include "madsim.h"

static struct madsim_cq *to_madsim_cq(struct ib_cq *ibcq)
{
	return container_of(ibcq, struct madsim_cq, ibcq);
}

static struct madsim_qp *to_madsim_qp(struct ib_qp *ibqp)
{
	return container_of(ibqp, struct madsim_qp, ibqp);
}

static int madsim_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	return 0;
}

static int madsim_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	return 0;
}

static int madsim_create_cq(struct ib_cq *ibcq,
			    const struct ib_cq_init_attr *attr,
			    struct uverbs_attr_bundle *attrs)
{
	struct madsim_cq *cq = to_madsim_cq(ibcq);

	if (attr->flags)
		return -EOPNOTSUPP;
	if (!attr->cqe)
		return -EINVAL;

	cq->ring = kvzalloc_objs(*cq->ring, attr->cqe);
	if (!cq->ring)
		return -ENOMEM;
	cq->size = attr->cqe;
	spin_lock_init(&cq->lock);
	ibcq->cqe = attr->cqe;
	return 0;
}

static int madsim_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	kvfree(to_madsim_cq(ibcq)->ring);
	return 0;
}

static u32 madsim_ring_at(u32 head, u32 offset, u32 size)
{
	u32 at = head + offset;

	return at < size ? at : at - size;
}

static struct ib_wc *madsim_cq_entry(struct madsim_cq *cq, u32 offset)
{
	return &cq->ring[madsim_ring_at(cq->head, offset, cq->size)];
}

static int madsim_poll_cq(struct ib_cq *ibcq, int num_entries, struct ib_wc *wc)
{
	struct madsim_cq *cq = to_madsim_cq(ibcq);
	unsigned long flags;
	int n;

	spin_lock_irqsave(&cq->lock, flags);
	cq->done = cq->polled;
	for (n = 0; n < num_entries && cq->count; n++) {
		wc[n] = cq->ring[cq->head];
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
	cq->armed = !missed;
	spin_unlock_irqrestore(&cq->lock, flags);
	return missed;
}

/*
 * Callers hold fabric->lock or qp->lock, which keeps the queue pair alive, and
 * with it the CQ. So the handler can only queue work. Those of the core do no
 * more than that, whatever context they poll in.
 */
static void madsim_complete(struct ib_cq *ibcq, const struct ib_wc *wc)
{
	struct madsim_cq *cq = to_madsim_cq(ibcq);
	unsigned long flags;
	bool notify;

	spin_lock_irqsave(&cq->lock, flags);
	/* The core sizes the CQ for all that its queue pairs may hold */
	if (WARN_ON_ONCE(cq->count == cq->size)) {
		spin_unlock_irqrestore(&cq->lock, flags);
		return;
	}
	*madsim_cq_entry(cq, cq->count++) = *wc;
	notify = cq->armed;
	cq->armed = false;
	spin_unlock_irqrestore(&cq->lock, flags);

	if (notify)
		ibcq->comp_handler(ibcq, ibcq->cq_context);
}

/* Forget the completions of a queue pair that is going away */
static void madsim_purge_cq(struct ib_cq *ibcq, struct ib_qp *ibqp)
{
	struct madsim_cq *cq = to_madsim_cq(ibcq);
	u32 i, kept = 0;

	spin_lock_irq(&cq->lock);
	for (i = 0; i < cq->count; i++) {
		const struct ib_wc *wc = madsim_cq_entry(cq, i);

		if (wc->qp != ibqp)
			*madsim_cq_entry(cq, kept++) = *wc;
	}
	cq->count = kept;
	spin_unlock_irq(&cq->lock);
}

static int madsim_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *attr,
			    struct ib_udata *udata)
{
	struct madsim_node *node = to_madsim_dev(ibqp->device)->node;
	struct madsim_qp *qp = to_madsim_qp(ibqp);
	struct madsim_port *port;
	unsigned int num;
	int ret = 0;

	if (attr->qp_type != IB_QPT_SMI && attr->qp_type != IB_QPT_GSI)
		return -EOPNOTSUPP;
	if (attr->srq || attr->create_flags)
		return -EOPNOTSUPP;
	if (!rdma_is_port_valid(ibqp->device, attr->port_num) ||
	    !attr->cap.max_recv_wr)
		return -EINVAL;

	num = attr->qp_type == IB_QPT_GSI;
	port = &node->ports[attr->port_num];

	qp->ring = kvzalloc_objs(*qp->ring, attr->cap.max_recv_wr);
	if (!qp->ring)
		return -ENOMEM;
	qp->size = attr->cap.max_recv_wr;
	qp->port = port;
	qp->state = IB_QPS_RESET;
	spin_lock_init(&qp->lock);
	ibqp->qp_num = num;

	spin_lock_irq(&node->fabric->lock);
	if (port->qp[num])
		ret = -EBUSY;
	else
		port->qp[num] = qp;
	spin_unlock_irq(&node->fabric->lock);

	if (ret)
		kvfree(qp->ring);
	return ret;
}

static int madsim_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct madsim_qp *qp = to_madsim_qp(ibqp);
	struct madsim_fabric *fabric = qp->port->node->fabric;

	spin_lock_irq(&fabric->lock);
	qp->port->qp[ibqp->qp_num] = NULL;
	spin_unlock_irq(&fabric->lock);

	madsim_purge_cq(ibqp->send_cq, ibqp);
	if (ibqp->recv_cq != ibqp->send_cq)
		madsim_purge_cq(ibqp->recv_cq, ibqp);
	kvfree(qp->ring);
	return 0;
}

static bool madsim_next_recv(struct madsim_qp *qp, struct madsim_rwqe *rwqe)
{
	lockdep_assert_held(&qp->lock);

	if (!qp->count)
		return false;
	*rwqe = qp->ring[qp->head];
	qp->head = madsim_ring_at(qp->head, 1, qp->size);
	qp->count--;
	return true;
}

/* What is still posted comes back when a queue pair fails */
static void madsim_flush_recv(struct madsim_qp *qp)
{
	struct madsim_rwqe rwqe;

	while (madsim_next_recv(qp, &rwqe)) {
		struct ib_wc wc = {
			.wr_cqe = rwqe.cqe,
			.qp = &qp->ibqp,
			.status = IB_WC_WR_FLUSH_ERR,
			.opcode = IB_WC_RECV,
		};

		madsim_complete(qp->ibqp.recv_cq, &wc);
	}
}

static int madsim_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr,
			    int mask, struct ib_udata *udata)
{
	struct madsim_qp *qp = to_madsim_qp(ibqp);
	struct madsim_fabric *fabric = qp->port->node->fabric;
	enum ib_qp_state now, next;
	int ret = 0;

	if (mask & ~IB_QP_ATTR_STANDARD_BITS)
		return -EOPNOTSUPP;

	spin_lock_irq(&fabric->lock);
	spin_lock(&qp->lock);
	now = mask & IB_QP_CUR_STATE ? attr->cur_qp_state : qp->state;
	next = mask & IB_QP_STATE ? attr->qp_state : now;
	if (!ib_modify_qp_is_ok(now, next, ibqp->qp_type, mask)) {
		ret = -EINVAL;
		goto out;
	}

	if (mask & IB_QP_QKEY)
		qp->qkey = attr->qkey;
	qp->state = next;
	if (next == IB_QPS_RESET) {
		qp->head = 0;
		qp->count = 0;
	} else if (next == IB_QPS_ERR) {
		madsim_flush_recv(qp);
	}
out:
	spin_unlock(&qp->lock);
	spin_unlock_irq(&fabric->lock);
	return ret;
}

static int madsim_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr,
			   int mask, struct ib_qp_init_attr *init_attr)
{
	struct madsim_qp *qp = to_madsim_qp(ibqp);
	unsigned long flags;

	memset(attr, 0, sizeof(*attr));
	memset(init_attr, 0, sizeof(*init_attr));

	spin_lock_irqsave(&qp->lock, flags);
	attr->qp_state = qp->state;
	attr->qkey = qp->qkey;
	spin_unlock_irqrestore(&qp->lock, flags);

	attr->cur_qp_state = attr->qp_state;
	attr->port_num = qp->port->num;
	attr->cap.max_recv_wr = qp->size;
	attr->cap.max_recv_sge = 1;
	attr->cap.max_send_sge = 2;
	init_attr->send_cq = ibqp->send_cq;
	init_attr->recv_cq = ibqp->recv_cq;
	init_attr->cap = attr->cap;
	init_attr->qp_type = ibqp->qp_type;
	init_attr->port_num = qp->port->num;
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
		struct madsim_rwqe *rwqe;
		u32 at;

		if (qp->state == IB_QPS_RESET || wr->num_sge != 1) {
			ret = -EINVAL;
			break;
		}
		if (qp->count == qp->size) {
			ret = -ENOMEM;
			break;
		}
		at = madsim_ring_at(qp->head, qp->count++, qp->size);
		rwqe = &qp->ring[at];
		rwqe->cqe = wr->wr_cqe;
		rwqe->buf = ib_virt_dma_to_ptr(wr->sg_list[0].addr);
		rwqe->len = wr->sg_list[0].length;
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
	/* Of what is behind the GRH, with the ICRC */
	grh->paylen = cpu_to_be16(pkt->len + MADSIM_WIRE_HEADERS -
				  MADSIM_WIRE_LRH);
	grh->next_hdr = IB_GRH_NEXT_HDR;
	grh->hop_limit = route->hop_limit;
	grh->sgid.global.subnet_prefix = port->info.gid_prefix;
	grh->sgid.global.interface_id =
		port->guids[route->sgid_index % MADSIM_GUIDS];
	grh->dgid = route->dgid;
}

static int madsim_build(struct madsim_qp *qp, const struct ib_send_wr *wr,
			struct madsim_packet *pkt)
{
	const struct ib_ud_wr *ud = ud_wr(wr);
	const struct rdma_ah_attr *attr = &to_madsim_ah(ud->ah)->attr;
	struct madsim_port *port = qp->port;

	if (ud->pkey_index >= MADSIM_PKEYS)
		return -EINVAL;
	pkt->len = madsim_gather(pkt->mad, madsim_mad_size(port), wr);
	if (!pkt->len)
		return -EINVAL;

	pkt->smi = !qp->ibqp.qp_num;
	pkt->dlid = madsim_ah_dlid(attr);
	pkt->slid = pkt->dlid == MADSIM_LID_PERMISSIVE ? MADSIM_LID_PERMISSIVE :
			madsim_lid(port) | rdma_ah_get_path_bits(attr);
	/* On the wire it has four bits, whatever was asked for */
	pkt->sl = rdma_ah_get_sl(attr) % MADSIM_SLS;
	pkt->src_qpn = qp->ibqp.qp_num;
	pkt->dst_qpn = ud->remote_qpn;
	pkt->pkey = be16_to_cpu(port->pkeys[ud->pkey_index]);
	/* The top bit asks for the Q_Key of the queue pair itself */
	pkt->qkey = ud->remote_qkey & BIT(31) ? qp->qkey : ud->remote_qkey;
	pkt->grh_valid = rdma_ah_get_ah_flags(attr) & IB_AH_GRH;
	if (pkt->grh_valid)
		madsim_build_grh(pkt, port, attr);
	return 0;
}

static int madsim_post_one(struct madsim_qp *qp, const struct ib_send_wr *wr)
{
	struct madsim_node *node = qp->port->node;
	struct madsim_packet *pkt = &node->fabric->tx;
	struct ib_wc wc = {
		.wr_cqe = wr->wr_cqe,
		.qp = &qp->ibqp,
		.opcode = IB_WC_SEND,
		.port_num = qp->port->num,
	};
	int ret;

	lockdep_assert_held(&node->fabric->lock);

	if (wr->opcode != IB_WR_SEND)
		return -EOPNOTSUPP;
	if (qp->state == IB_QPS_ERR || qp->state == IB_QPS_SQE) {
		wc.status = IB_WC_WR_FLUSH_ERR;
		madsim_complete(qp->ibqp.send_cq, &wc);
		return 0;
	}
	if (qp->state != IB_QPS_RTS)
		return -EINVAL;

	ret = madsim_fault_verb(node, MADSIM_POST_SEND);
	if (ret)
		return ret;
	ret = madsim_build(qp, wr, pkt);
	if (ret)
		return ret;

	/* Before the response, which may come while the request is sent */
	madsim_complete(qp->ibqp.send_cq, &wc);
	madsim_send(qp->port, pkt);
	return 0;
}

static int madsim_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
			    const struct ib_send_wr **bad_wr)
{
	struct madsim_qp *qp = to_madsim_qp(ibqp);
	struct madsim_fabric *fabric = qp->port->node->fabric;
	unsigned long flags;
	int ret = 0;

	spin_lock_irqsave(&fabric->lock, flags);
	for (; wr; wr = wr->next) {
		ret = madsim_post_one(qp, wr);
		if (ret) {
			*bad_wr = wr;
			break;
		}
	}
	spin_unlock_irqrestore(&fabric->lock, flags);
	return ret;
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
	struct madsim_rwqe rwqe;
	struct ib_wc wc = {};

	lockdep_assert_held(&port->node->fabric->lock);

	spin_lock(&qp->lock);
	if (qp->closing && !(pkt->hdr.method & IB_MGMT_METHOD_RESP))
		goto out;
	if (qp->state != IB_QPS_RTR && qp->state != IB_QPS_RTS &&
	    qp->state != IB_QPS_SQE)
		goto out;
	if (!madsim_next_recv(qp, &rwqe)) {
		madsim_count(port, pkt->smi ? MADSIM_VL15_DROPPED :
					      MADSIM_QP1_DROPPED);
		goto out;
	}

	wc.wr_cqe = rwqe.cqe;
	wc.qp = &qp->ibqp;
	wc.opcode = IB_WC_RECV;
	if (rwqe.len < sizeof(struct ib_grh) + pkt->len) {
		wc.status = IB_WC_LOC_LEN_ERR;
		madsim_complete(qp->ibqp.recv_cq, &wc);
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
	if (pkt->grh_valid) {
		wc.wc_flags = IB_WC_GRH;
		memcpy(rwqe.buf, &pkt->grh, sizeof(pkt->grh));
	}
	madsim_copy_mad(rwqe.buf + sizeof(struct ib_grh), pkt->mad, pkt->len);
	madsim_complete(qp->ibqp.recv_cq, &wc);
out:
	spin_unlock(&qp->lock);
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
 * madsim_qp_drain - leave the MAD layer without requests
 * @port: an end port
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
void madsim_qp_drain(struct madsim_port *port)
{
	struct madsim_fabric *fabric = port->node->fabric;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(port->qp); i++) {
		struct madsim_qp *qp;
		struct madsim_cq *cq;
		u32 last;

		spin_lock_irq(&fabric->lock);
		qp = port->qp[i];
		if (qp) {
			spin_lock(&qp->lock);
			qp->closing = true;
			spin_unlock(&qp->lock);
		}
		spin_unlock_irq(&fabric->lock);
		if (!qp)
			continue;

		cq = to_madsim_cq(qp->ibqp.recv_cq);
		last = madsim_cq_last(cq);
		while (!madsim_cq_is_done(cq, last))
			fsleep(100);
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

/* The MAD layer attaches only where these exist; it does not call them */
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
	.create_cq = madsim_create_cq,
	.create_qp = madsim_create_qp,
	.dealloc_pd = madsim_dealloc_pd,
	.dereg_mr = madsim_dereg_mr,
	.destroy_ah = madsim_destroy_ah,
	.destroy_cq = madsim_destroy_cq,
	.destroy_qp = madsim_destroy_qp,
	.get_dma_mr = madsim_get_dma_mr,
	.modify_qp = madsim_modify_qp,
	.poll_cq = madsim_poll_cq,
	.post_recv = madsim_post_recv,
	.post_send = madsim_post_send,
	.query_ah = madsim_query_ah,
	.query_qp = madsim_query_qp,
	.reg_user_mr = madsim_reg_user_mr,
	.req_notify_cq = madsim_req_notify_cq,

	INIT_RDMA_OBJ_SIZE(ib_ah, madsim_ah, ibah),
	INIT_RDMA_OBJ_SIZE(ib_cq, madsim_cq, ibcq),
	INIT_RDMA_OBJ_SIZE(ib_pd, madsim_pd, ibpd),
	INIT_RDMA_OBJ_SIZE(ib_qp, madsim_qp, ibqp),
};
