// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Send queues: what can be posted, what was posted to connected queue pairs, how sends end. */

#include "transport.h"

/* Types of queue pairs that have an opcode */
#define MADSIM_RC		BIT(IB_QPT_RC)
#define MADSIM_CONNECTED	(MADSIM_RC | BIT(IB_QPT_UC))
#define MADSIM_DATAGRAMS	(BIT(IB_QPT_SMI) | BIT(IB_QPT_GSI) | BIT(IB_QPT_UD))
#define MADSIM_ALL_TYPES	(MADSIM_CONNECTED | MADSIM_DATAGRAMS)

/* By opcode: which queue pairs have it, what to send, what completes */
static const struct {
	u8 types;
	enum madsim_op op;
	enum ib_wc_opcode wc;
} madsim_ops[] = {
	[IB_WR_RDMA_WRITE] = { MADSIM_CONNECTED, MADSIM_OP_WRITE, IB_WC_RDMA_WRITE },
	[IB_WR_RDMA_WRITE_WITH_IMM] = { MADSIM_CONNECTED, MADSIM_OP_WRITE, IB_WC_RDMA_WRITE },
	[IB_WR_SEND] = { MADSIM_ALL_TYPES, MADSIM_OP_SEND, IB_WC_SEND },
	[IB_WR_SEND_WITH_IMM] = { MADSIM_ALL_TYPES, MADSIM_OP_SEND, IB_WC_SEND },
	[IB_WR_RDMA_READ] = { MADSIM_RC, MADSIM_OP_READ, IB_WC_RDMA_READ },
	[IB_WR_ATOMIC_CMP_AND_SWP] = { MADSIM_RC, MADSIM_OP_SWAP, IB_WC_COMP_SWAP },
	[IB_WR_ATOMIC_FETCH_AND_ADD] = { MADSIM_RC, MADSIM_OP_ADD, IB_WC_FETCH_ADD },
	[IB_WR_LSO] = { BIT(IB_QPT_UD), MADSIM_OP_SEND, IB_WC_LSO },
	[IB_WR_SEND_WITH_INV] = { MADSIM_RC, MADSIM_OP_SEND, IB_WC_SEND },
	[IB_WR_LOCAL_INV] = { MADSIM_CONNECTED, MADSIM_OP_LOCAL, IB_WC_LOCAL_INV },
	[IB_WR_REG_MR] = { MADSIM_CONNECTED, MADSIM_OP_LOCAL, IB_WC_REG_MR },
};

/* As in an adapter, a send keeps its place until the owner has taken a completion */
bool madsim_sq_is_full(const struct madsim_qp *qp)
{
	return READ_ONCE(qp->posted) - READ_ONCE(qp->reaped) >= qp->max_send_wr;
}

/**
 * madsim_sq_check - whether a queue pair can take a send
 * @qp: the queue pair
 * @send: the send, which has no more pieces than @qp takes
 *
 * Context: any; fabric->lock is held.
 * Return: 0; -EINVAL: the queue pair cannot do that, or not now; -ENOMEM: the queue is full.
 */
int madsim_sq_check(struct madsim_qp *qp, const struct madsim_send *send)
{
	const struct ib_send_wr *wr = send->wr;

	lockdep_assert_held(&madsim_fabric_of(qp->ibqp.device)->lock);

	if (wr->opcode >= ARRAY_SIZE(madsim_ops) ||
	    !(madsim_ops[wr->opcode].types & BIT(qp->ibqp.qp_type)))
		return -EINVAL;
	if (send->length > MADSIM_MAX_MESSAGE)
		return -EINVAL;
	if (send->data && !madsim_op_has_payload(madsim_ops[wr->opcode].op))
		return -EINVAL;
	if (wr->opcode == IB_WR_LSO && (!qp->lso || !madsim_offload_fits(send)))
		return -EINVAL;
	if (qp->state < IB_QPS_RTS || (qp->state == IB_QPS_SQD && !qp->rc))
		return -EINVAL;
	if (!madsim_sq_is_full(qp))
		return 0;
	/* No place will ever be free if no send is under way, and no completion unread */
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
		.opcode = madsim_ops[wqe->opcode].wc,
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
		madsim_cq_put(qp, &wc, false);
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
	qp->ended++;
	madsim_give_back(qp, wr_id, IB_WC_SEND);
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

/* Keep what a send says, and in a strict fabric a hash of its data. fabric->lock is held */
void madsim_swqe_set(const struct madsim_qp *qp, struct madsim_swqe *wqe,
		     const struct madsim_send *send)
{
	const struct ib_send_wr *wr = send->wr;

	wqe->wr_id = wr->wr_id;
	wqe->opcode = wr->opcode;
	wqe->op = madsim_ops[wr->opcode].op;
	wqe->flags = wr->send_flags;
	wqe->imm = wr->ex.imm_data;
	wqe->inv_key = wr->ex.invalidate_rkey;
	wqe->length = send->length;
	if (send->data)
		memcpy(wqe->sge, send->data, send->length);
	else
		memcpy(wqe->sge, wr->sg_list, wr->num_sge * sizeof(*wqe->sge));
	wqe->hashed = false;
	wqe->backwards = false;
	if (madsim_is_strict(qp))
		madsim_strict_posted(qp, wqe);
}

/* Queue a send that madsim_sq_check() has seen. fabric->lock is held */
void madsim_rc_queue(struct madsim_qp *qp, const struct madsim_send *send)
{
	struct madsim_rc *rc = qp->rc;
	struct madsim_swqe *wqe = madsim_swqe_at(rc, madsim_ring_at(rc->sq.head, rc->sq.count++,
								    qp->max_send_wr));

	madsim_swqe_set(qp, wqe, send);
	madsim_rc_copy_kind(wqe, send->wr);
	if ((qp->state == IB_QPS_ERR || qp->state == IB_QPS_SQE) && !rc->failing)
		madsim_rc_complete(qp, IB_WC_WR_FLUSH_ERR);
}
