// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* QP0 and QP1: what the MAD layer sends and receives. */

#include <linux/mm.h>

#include "transport.h"

/* Copy what is to be sent */
static void madsim_gather(u8 *to, const struct ib_send_wr *wr)
{
	const struct ib_sge *sge, *end = wr->sg_list + wr->num_sge;
	u32 piece = 0;
	u64 start;

	for (sge = wr->sg_list; sge < end; sge++) {
		piece += sge->length;
		/* Without RMPP, header and data are in one piece */
		if (sge + 1 < end && sge[1].addr == sge->addr + sge->length)
			continue;
		start = sge->addr + sge->length - piece;
		madsim_copy_mad(to, ib_virt_dma_to_ptr(start), piece);
		to += piece;
		piece = 0;
	}
}

/* Make a packet of a MAD. -EINVAL: it is none, or has no P_Key. fabric->lock is held */
int madsim_mad_build(struct madsim_qp *qp, const struct madsim_send *send,
		     struct madsim_packet *pkt)
{
	u16 pkey_index = ud_wr(send->wr)->pkey_index;

	if (pkey_index >= MADSIM_PKEYS || send->length < sizeof(struct ib_mad_hdr) ||
	    send->length > madsim_mad_size(qp->port))
		return -EINVAL;
	pkt->len = send->length;
	madsim_gather(pkt->mad, send->wr);
	madsim_packet_address(qp, send->wr, pkey_index, pkt);
	return 0;
}

/* Put a MAD into a buffer. A queue pair that closes gets no requests. fabric->lock is held */
void madsim_mad_receive(struct madsim_port *port, const struct madsim_packet *pkt)
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
		madsim_cq_put(qp, &wc, false);
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
	madsim_cq_put(qp, &wc, pkt->solicited);
out:
	spin_unlock(&qp->lock);
}

/**
 * madsim_mad_drain - leave the MAD layer without requests
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
void madsim_mad_drain(struct madsim_port *port, const struct ib_device *ibdev)
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
