// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Send queues: what was posted to connected queue pairs, and how sends end. */

#include "transport.h"

/* By opcode: what to send, what completes, and whether UC has it */
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

/* As in an adapter, a send keeps its place until the owner has taken a completion */
bool madsim_sq_is_full(const struct madsim_qp *qp)
{
	return READ_ONCE(qp->posted) - READ_ONCE(qp->reaped) >= qp->max_send_wr;
}

/* Refuse a send. If no send is under way, and no completion unread, no place will ever be free */
int madsim_sq_refuse(struct madsim_qp *qp, const struct ib_send_wr *wr)
{
	if (qp->posted == qp->ended && !READ_ONCE(qp->unread_sends))
		madsim_mistake(qp, wr->wr_id, MADSIM_FULL);
	return -ENOMEM;
}

/* The oldest send of a connected queue pair has ended. fabric->lock is held */
void madsim_rc_complete(struct madsim_qp *qp, enum ib_wc_status status)
{
	struct madsim_rc *rc = qp->rc;
	struct madsim_swqe *wqe = madsim_rc_head(rc);
	struct ib_wc wc = {
		.wr_id = wqe->wr_id,
		.qp = madsim_wc_qp(qp),
		.status = status,
		.opcode = wqe->wc_opcode,
		.byte_len = wqe->length,
		.port_num = qp->port->num,
	};

	if (!status || status == IB_WC_LOC_PROT_ERR)
		madsim_strict_ended(qp, wqe);
	rc->sq.head = madsim_ring_at(rc->sq.head, 1, qp->max_send_wr);
	rc->sq.count--;
	qp->ended++;
	rc->req.sent = 0;
	rc->req.ahead = 0;
	rc->req.begun = false;
	if (status || qp->sig_all || wqe->flags & IB_SEND_SIGNALED)
		madsim_complete_send(qp, &wc);
}

/* Give back some of what was not sent. Returns whether there is more. fabric->lock is held */
bool madsim_rc_flush_sends(struct madsim_qp *qp)
{
	u32 left = MADSIM_FLUSH_TURN;

	while (qp->rc->sq.count && left--)
		madsim_rc_complete(qp, IB_WC_WR_FLUSH_ERR);
	return qp->rc->sq.count;
}

/* A datagram of @qp is not sent. fabric->lock is held */
void madsim_drop_send(struct madsim_qp *qp, u64 wr_id)
{
	struct ib_wc wc = {
		.wr_id = wr_id,
		.qp = madsim_wc_qp(qp),
		.status = IB_WC_WR_FLUSH_ERR,
		.opcode = IB_WC_SEND,
	};

	qp->ended++;
	madsim_complete_send(qp, &wc);
}

/* Copy what only a work request of this opcode has */
static void madsim_rc_copy_kind(struct madsim_swqe *wqe, const struct ib_send_wr *wr)
{
	switch (wr->opcode) {
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_WRITE_WITH_IMM:
	case IB_WR_RDMA_READ:
		wqe->va = rdma_wr(wr)->remote_addr;
		wqe->rkey = rdma_wr(wr)->rkey;
		break;
	case IB_WR_ATOMIC_CMP_AND_SWP:
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		wqe->va = atomic_wr(wr)->remote_addr;
		wqe->rkey = atomic_wr(wr)->rkey;
		wqe->compare = atomic_wr(wr)->compare_add;
		wqe->swap = atomic_wr(wr)->swap;
		break;
	case IB_WR_REG_MR:
		wqe->mr = reg_wr(wr)->mr;
		wqe->key = reg_wr(wr)->key;
		wqe->access = reg_wr(wr)->access;
		break;
	default:
		break;
	}
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
int madsim_rc_post(struct madsim_qp *qp, const struct ib_send_wr *wr, const void *data)
{
	struct madsim_rc *rc = qp->rc;
	struct madsim_swqe *wqe;
	enum madsim_op op;
	u64 length;

	if (wr->opcode >= ARRAY_SIZE(madsim_ops) || !madsim_ops[wr->opcode].op)
		return -EOPNOTSUPP;
	op = madsim_ops[wr->opcode].op;
	if (madsim_is_uc(qp) && madsim_ops[wr->opcode].rc_only)
		return -EINVAL;
	if ((u32)wr->num_sge > qp->max_send_sge)
		return -EINVAL;
	if (data && !madsim_op_has_payload(op))
		return -EINVAL;
	length = madsim_sge_length(wr->sg_list, wr->num_sge);
	if (length > MADSIM_MAX_MESSAGE)
		return -EINVAL;
	if (qp->state < IB_QPS_RTS)
		return -EINVAL;
	if (madsim_sq_is_full(qp))
		return madsim_sq_refuse(qp, wr);

	qp->posted++;
	wqe = madsim_swqe_at(rc, madsim_ring_at(rc->sq.head, rc->sq.count++, qp->max_send_wr));
	wqe->wr_id = wr->wr_id;
	wqe->opcode = wr->opcode;
	wqe->op = op;
	wqe->wc_opcode = madsim_ops[wr->opcode].wc;
	wqe->flags = wr->send_flags;
	wqe->imm = wr->ex.imm_data;
	wqe->inv_key = wr->ex.invalidate_rkey;
	wqe->length = length;
	wqe->num_sge = wr->num_sge;
	if (data)
		memcpy(wqe->sge, data, length);
	else
		memcpy(wqe->sge, wr->sg_list, wr->num_sge * sizeof(*wqe->sge));
	wqe->hashed = false;
	wqe->backwards = false;
	if (madsim_is_strict(qp))
		madsim_strict_posted(qp, wqe);
	madsim_rc_copy_kind(wqe, wr);
	if ((qp->state == IB_QPS_ERR || qp->state == IB_QPS_SQE) && !rc->failing)
		madsim_rc_complete(qp, IB_WC_WR_FLUSH_ERR);
	return 0;
}
