// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The responders of connected queue pairs. As a requester waits for each response, a
 * responder keeps the result of one atomic operation for a request that comes again.
 */

#include "transport.h"

/* The receiver's completion of a message */
static void madsim_rc_filled(struct madsim_qp *qp, const struct madsim_packet *pkt,
			     enum ib_wc_status status)
{
	struct ib_wc wc = {
		.wr_id = qp->recv_wqe->wr_id,
		.qp = madsim_wc_qp(qp),
		.status = status,
		.opcode = IB_WC_RECV,
		.byte_len = qp->rc->resp.offset,
		.src_qp = qp->rc->attr.dest_qp_num,
		.slid = pkt->slid,
		.sl = pkt->sl,
		.port_num = qp->port->num,
		.pkey_index = qp->pkey_index,
	};

	qp->rc->resp.has_buffer = false;
	if (pkt->bth.op == MADSIM_OP_WRITE)
		wc.opcode = IB_WC_RECV_RDMA_WITH_IMM;
	if (pkt->with_imm) {
		wc.wc_flags |= IB_WC_WITH_IMM;
		wc.ex.imm_data = pkt->imm;
	} else if (pkt->bth.with_inv) {
		wc.wc_flags |= IB_WC_WITH_INVALIDATE;
		wc.ex.invalidate_rkey = pkt->bth.inv_key;
	}
	madsim_cq_put(qp, &wc, pkt->solicited);
}

/* Have a buffer in qp->recv_wqe. If a message was lost, its buffer is there */
static bool madsim_rc_has_buffer(struct madsim_qp *qp)
{
	if (!qp->rc->resp.has_buffer)
		qp->rc->resp.has_buffer = madsim_get_recv_wqe(qp);
	return qp->rc->resp.has_buffer;
}

/* If this request asks for no response, a later request does, and its response is for both */
static bool madsim_rc_wants_response(const struct madsim_packet *pkt)
{
	return pkt->bth.ask || !madsim_op_has_payload(pkt->bth.op);
}

static bool madsim_rc_allows(const struct madsim_rc *rc, int access)
{
	return rc->attr.qp_access_flags & access;
}

static u8 madsim_rc_execute_send(struct madsim_qp *qp, const struct madsim_packet *pkt)
{
	struct madsim_rc *rc = qp->rc;
	enum ib_wc_status status;

	if (pkt->bth.first) {
		if (!madsim_rc_has_buffer(qp))
			return IB_RNR_NAK | rc->attr.min_rnr_timer;
		rc->resp.offset = 0;
	}

	if (qp->recv_length < rc->resp.offset + pkt->len)
		status = IB_WC_LOC_LEN_ERR;
	else
		status = madsim_copy_to(madsim_recv_pd(qp), qp->recv_wqe->sge, rc->resp.offset,
					pkt->data, pkt->len);
	if (!status && pkt->bth.with_inv) {
		int ret = madsim_mr_invalidate(qp->ibqp.pd, pkt->bth.inv_key);

		if (ret == -EBUSY) {
			madsim_fault_defer(qp->port, pkt);
			return MADSIM_DEFERRED;
		}
		if (ret)
			return IB_NAK_REMOTE_ACCESS_ERROR;
	}
	rc->resp.offset += pkt->len;
	if (status || pkt->bth.last)
		madsim_rc_filled(qp, pkt, status);
	/* This is an error of the responder itself. The completion has told it */
	if (status)
		madsim_qp_fail(qp, IB_QPS_ERR);
	switch (status) {
	case IB_WC_SUCCESS:
		return MADSIM_ACKNOWLEDGED;
	case IB_WC_LOC_LEN_ERR:
		return IB_NAK_INVALID_REQUEST;
	default:
		return IB_NAK_REMOTE_OPERATIONAL_ERROR;
	}
}

/* Write a packet of an RDMA WRITE. Returns false if the key does not allow that */
static bool madsim_rc_write(struct madsim_qp *qp, const struct madsim_packet *pkt)
{
	struct madsim_rc *rc = qp->rc;

	if ((rc->resp.delayed_write.len || madsim_is_strict(qp)) &&
	    madsim_strict_delay_write(qp, pkt))
		return true;
	return madsim_mr_write(qp->ibqp.pd, rc->resp.rkey, rc->resp.va + rc->resp.offset,
			       pkt->data, pkt->len, IB_ACCESS_REMOTE_WRITE);
}

static u8 madsim_rc_execute_write(struct madsim_qp *qp, const struct madsim_packet *pkt)
{
	struct madsim_rc *rc = qp->rc;
	const struct madsim_bth *bth = &pkt->bth;
	u64 left;

	if (bth->first) {
		rc->resp.offset = 0;
		rc->resp.va = bth->va;
		rc->resp.rkey = bth->rkey;
		rc->resp.dma_len = bth->dma_len;
	}
	left = rc->resp.dma_len - rc->resp.offset;
	if (bth->last ? pkt->len != left : pkt->len > left)
		return IB_NAK_INVALID_REQUEST;
	if (rc->resp.dma_len && !madsim_rc_allows(rc, IB_ACCESS_REMOTE_WRITE))
		return IB_NAK_REMOTE_ACCESS_ERROR;
	/* The key is checked for all packets before the first byte lands, or a buffer is used up */
	if (bth->first && (!bth->last || pkt->with_imm) && rc->resp.dma_len &&
	    !madsim_mr_allows(qp->ibqp.pd, rc->resp.rkey, rc->resp.va, rc->resp.dma_len,
			      IB_ACCESS_REMOTE_WRITE))
		return IB_NAK_REMOTE_ACCESS_ERROR;
	if (pkt->with_imm && !madsim_rc_has_buffer(qp))
		return IB_RNR_NAK | rc->attr.min_rnr_timer;
	if (!madsim_rc_write(qp, pkt))
		return IB_NAK_REMOTE_ACCESS_ERROR;
	rc->resp.offset += pkt->len;
	if (pkt->with_imm) {
		madsim_strict_finish_write(qp);
		madsim_rc_filled(qp, pkt, IB_WC_SUCCESS);
	}
	return MADSIM_ACKNOWLEDGED;
}

static u8 madsim_rc_execute_read(struct madsim_qp *qp, struct madsim_packet *pkt)
{
	const struct madsim_bth *bth = &pkt->bth;

	if (bth->dma_len > qp->rc->mtu)
		return IB_NAK_INVALID_REQUEST;
	if (!madsim_rc_allows(qp->rc, IB_ACCESS_REMOTE_READ) ||
	    !madsim_mr_read(qp->ibqp.pd, bth->rkey, bth->va, pkt->data,
			    bth->dma_len, IB_ACCESS_REMOTE_READ))
		return IB_NAK_REMOTE_ACCESS_ERROR;
	pkt->len = bth->dma_len;
	return MADSIM_ACKNOWLEDGED;
}

/* fabric->lock keeps atomic operations apart, but no other access to the memory */
static u8 madsim_rc_execute_atomic(struct madsim_qp *qp, struct madsim_packet *pkt)
{
	const struct madsim_bth *bth = &pkt->bth;
	struct madsim_rc *rc = qp->rc;
	u64 old, new;

	if (bth->va % sizeof(u64))
		return IB_NAK_INVALID_REQUEST;
	if (!madsim_rc_allows(rc, IB_ACCESS_REMOTE_ATOMIC) ||
	    !madsim_mr_read(qp->ibqp.pd, bth->rkey, bth->va, &old, sizeof(old),
			    IB_ACCESS_REMOTE_ATOMIC))
		return IB_NAK_REMOTE_ACCESS_ERROR;
	if (bth->op == MADSIM_OP_ADD)
		new = old + bth->compare;
	else
		new = old == bth->compare ? bth->swap : old;
	madsim_mr_write(qp->ibqp.pd, bth->rkey, bth->va, &new, sizeof(new),
			IB_ACCESS_REMOTE_ATOMIC);
	rc->resp.atomic = old;
	rc->resp.atomic_psn = bth->psn;
	rc->resp.has_atomic = true;
	memcpy(pkt->data, &old, sizeof(old));
	pkt->len = sizeof(old);
	return MADSIM_ACKNOWLEDGED;
}

static u8 madsim_rc_execute(struct madsim_qp *qp, struct madsim_packet *pkt)
{
	const struct madsim_bth *bth = &pkt->bth;
	bool payload = madsim_op_has_payload(bth->op);
	struct madsim_rc *rc = qp->rc;
	u8 syndrome;

	/* A response that is more than an acknowledgment takes a resource */
	if (!payload && !rc->attr.max_dest_rd_atomic) {
		madsim_mistake(qp, 0, MADSIM_NO_RD_ATOMIC);
		return IB_NAK_INVALID_REQUEST;
	}
	/* All packets of a message but the last one are as long as the MTU of the path */
	if (payload && (bth->last ? pkt->len > rc->mtu : pkt->len != rc->mtu))
		return IB_NAK_INVALID_REQUEST;
	/* A message ends before another one begins */
	if (rc->resp.receiving != (bth->first ? MADSIM_OP_NONE : bth->op))
		return IB_NAK_INVALID_REQUEST;

	switch (bth->op) {
	case MADSIM_OP_SEND:
		syndrome = madsim_rc_execute_send(qp, pkt);
		break;
	case MADSIM_OP_WRITE:
		syndrome = madsim_rc_execute_write(qp, pkt);
		break;
	case MADSIM_OP_READ:
		return madsim_rc_execute_read(qp, pkt);
	default:
		return madsim_rc_execute_atomic(qp, pkt);
	}
	if (syndrome == MADSIM_ACKNOWLEDGED)
		rc->resp.receiving = bth->last ? MADSIM_OP_NONE : bth->op;
	return syndrome;
}

/* Answer a request that was executed before. Its response was lost, or has not come yet */
static bool madsim_rc_again(struct madsim_qp *qp, struct madsim_packet *pkt)
{
	struct madsim_rc *rc = qp->rc;

	switch (pkt->bth.op) {
	case MADSIM_OP_READ:
		return madsim_rc_execute_read(qp, pkt) == MADSIM_ACKNOWLEDGED;
	case MADSIM_OP_SWAP:
	case MADSIM_OP_ADD:
		if (!rc->resp.has_atomic || rc->resp.atomic_psn != pkt->bth.psn)
			return false;
		memcpy(pkt->data, &rc->resp.atomic, sizeof(rc->resp.atomic));
		pkt->len = sizeof(rc->resp.atomic);
		return true;
	default:
		return true;
	}
}

/* Turn a request into its response */
static void madsim_rc_respond(struct madsim_qp *qp, struct madsim_packet *pkt, u8 syndrome)
{
	/* Only the responses of READs and atomic operations have bytes */
	if (syndrome != MADSIM_ACKNOWLEDGED || madsim_op_has_payload(pkt->bth.op))
		pkt->len = 0;
	pkt->bth.to = pkt->bth.op;
	pkt->bth.op = MADSIM_OP_ACK;
	pkt->bth.syndrome = syndrome;
	pkt->bth.ask = false;
	pkt->with_imm = false;
	pkt->solicited = false;
	pkt->dst_qpn = qp->rc->attr.dest_qp_num;
	pkt->src_qpn = qp->ibqp.qp_num;
	madsim_packet_path(qp->port, &qp->rc->attr.ah_attr, qp->pkey_index,
			   pkt);
}

/* What an error of the requester does to the responder */
static void madsim_rc_refused(struct madsim_qp *qp, u8 syndrome)
{
	if (qp->state == IB_QPS_ERR)
		return;
	switch (syndrome) {
	case IB_NAK_INVALID_REQUEST:
		madsim_event(&qp->events, IB_EVENT_QP_REQ_ERR);
		break;
	case IB_NAK_REMOTE_ACCESS_ERROR:
		madsim_event(&qp->events, IB_EVENT_QP_ACCESS_ERR);
		break;
	}
	madsim_qp_fail(qp, IB_QPS_ERR);
}

/* A request was executed. The next ones of the message may be a burst */
static void madsim_rc_executed(struct madsim_qp *qp)
{
	struct madsim_way *way = &madsim_fabric_of(qp->ibqp.device)->way;

	way->receiver = qp;
	way->request_hops = way->count;
}

/* A message of UC that lacks a packet is lost, and nobody is told */
static void madsim_uc_request(struct madsim_qp *qp, struct madsim_packet *pkt)
{
	struct madsim_rc *rc = qp->rc;
	bool next = pkt->bth.psn == rc->resp.psn;
	u8 syndrome;

	rc->resp.psn = (pkt->bth.psn + 1) & MADSIM_PSN_MASK;
	if (pkt->bth.first || !next)
		rc->resp.receiving = MADSIM_OP_NONE;
	if (rc->resp.receiving != (pkt->bth.first ? MADSIM_OP_NONE : pkt->bth.op))
		return;
	syndrome = madsim_rc_execute(qp, pkt);
	if (syndrome == MADSIM_ACKNOWLEDGED)
		madsim_rc_executed(qp);
	else
		rc->resp.receiving = MADSIM_OP_NONE;
}

/* Execute the request with the next number. Returns whether @pkt is a response now */
static bool madsim_rc_next(struct madsim_qp *qp, struct madsim_packet *pkt)
{
	struct madsim_rc *rc = qp->rc;
	u8 syndrome = madsim_rc_execute(qp, pkt);

	if (syndrome == MADSIM_DEFERRED)
		return false;
	rc->resp.refusing = syndrome >= IB_RNR_NAK && syndrome < IB_NAK_PSN_ERROR;
	if (syndrome == MADSIM_ACKNOWLEDGED) {
		rc->resp.psn = (rc->resp.psn + 1) & MADSIM_PSN_MASK;
		madsim_rc_executed(qp);
		if (!madsim_rc_wants_response(pkt))
			return false;
	}
	madsim_rc_respond(qp, pkt, syndrome);
	if (syndrome > IB_NAK_PSN_ERROR)
		madsim_rc_refused(qp, syndrome);
	return true;
}

/* Process a request. Returns whether @pkt is a response now. fabric->lock and qp->lock are held */
bool madsim_rc_request(struct madsim_qp *qp, struct madsim_packet *pkt)
{
	struct madsim_rc *rc = qp->rc;
	s32 ahead = (s32)((pkt->bth.psn - rc->resp.psn) << 8) >> 8;

	if (!rc->resp.heard) {
		rc->resp.heard = true;
		if (qp->state == IB_QPS_RTR)
			madsim_event(&qp->events, IB_EVENT_COMM_EST);
	}
	/* The peer itself sends no packet while the bytes of a burst are copied */
	if (rc->landing && (!ahead || madsim_is_uc(qp)))
		return false;
	if (madsim_is_uc(qp)) {
		madsim_uc_request(qp, pkt);
		return false;
	}
	if (!ahead)
		return madsim_rc_next(qp, pkt);
	if (ahead < 0) {
		if (!madsim_rc_again(qp, pkt) || !madsim_rc_wants_response(pkt))
			return false;
		madsim_rc_respond(qp, pkt, MADSIM_ACKNOWLEDGED);
		return true;
	}
	/* An earlier request is missing. The peer is told once, with the missing number */
	if (rc->resp.refusing)
		return false;
	rc->resp.refusing = true;
	pkt->bth.psn = rc->resp.psn;
	madsim_rc_respond(qp, pkt, IB_NAK_PSN_ERROR);
	return true;
}
