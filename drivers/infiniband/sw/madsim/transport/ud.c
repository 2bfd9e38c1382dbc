// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Datagrams of clients: queue pairs of the type UD, and multicast groups.
 *
 * A datagram is one packet. Its sender's completion says no more than that it has left the port. A
 * receiver without a buffer does not get it. What TCP hands over to IPoIB at once is cut into many
 * segments. When the first one was received, the middle ones are made in the receiver's buffers,
 * see also burst.c.
 */

#include <linux/minmax.h>
#include <linux/slab.h>

#include "transport.h"

/**
 * struct madsim_member - a queue pair in a multicast group
 * @list:	on dev->members
 * @qp:		the queue pair, which has left before it is destroyed
 * @gid:	of the group
 * @lid:	of the group
 */
struct madsim_member {
	struct list_head list;
	struct madsim_qp *qp;
	union ib_gid gid;
	u16 lid;
};

/**
 * struct madsim_segment - a part of the data that TCP has handed over at once
 * @qp:		the queue pair that sends it
 * @send:	all the data
 * @at:		how many bytes of the data come before
 */
struct madsim_segment {
	const struct madsim_qp *qp;
	const struct madsim_send *send;
	u32 at;
};

/* Make a segment, which is as long as a packet is to be */
static enum ib_wc_status madsim_ud_cut(const struct madsim_segment *segment, void *to, u32 len)
{
	const struct ib_ud_wr *ud = ud_wr(segment->send->wr);
	enum ib_wc_status status;

	status = madsim_copy_from(segment->qp->ibqp.pd, ud->wr.sg_list, segment->at,
				  to + ud->hlen, len - ud->hlen);
	if (status)
		return status;
	madsim_offload_header(segment->send, segment->at, to, len);
	madsim_offload_checksum(to, len);
	return IB_WC_SUCCESS;
}

/**
 * madsim_ud_build - make a packet of what a client wants to send
 * @qp: its queue pair
 * @send: what it wants to send
 * @at: how many bytes of the data are in packets before this one
 * @pkt: the packet
 *
 * Context: any; fabric->lock is held.
 * Return: %IB_WC_SUCCESS, or with what error the send completes.
 */
enum ib_wc_status madsim_ud_build(struct madsim_qp *qp, const struct madsim_send *send, u32 at,
				  struct madsim_packet *pkt)
{
	const struct madsim_segment segment = { qp, send, at };
	const struct ib_send_wr *wr = send->wr;
	u64 len = send->length;
	enum ib_wc_status status = IB_WC_SUCCESS;
	struct ib_ah *ah = ud_wr(wr)->ah;
	bool lso = wr->opcode == IB_WR_LSO;

	if (lso)
		len = ud_wr(wr)->hlen + min_t(u64, len - at, ud_wr(wr)->mss);
	if (len > madsim_mtu(qp->port))
		return IB_WC_LOC_LEN_ERR;
	/* Addresses are for the domain, and the port, that they were made for */
	if (ah->pd != qp->ibqp.pd ||
	    rdma_ah_get_port_num(&to_madsim_ah(ah)->attr) != qp->port->num)
		return IB_WC_LOC_QP_OP_ERR;
	if (lso)
		status = madsim_ud_cut(&segment, pkt->data, len);
	else if (send->data)
		memcpy(pkt->data, send->data, len);
	else
		status = madsim_copy_from(qp->ibqp.pd, wr->sg_list, 0,
					  pkt->data, len);
	if (status)
		return status;
	pkt->len = len;
	madsim_packet_address(qp, wr, qp->pkey_index, pkt);
	pkt->checked = lso || (wr->send_flags & IB_SEND_IP_CSUM &&
			       madsim_offload_checksum(pkt->data, len));
	return IB_WC_SUCCESS;
}

/* Where a packet fits into the buffer that was taken, which is memory of the kernel */
static void *madsim_ud_room(const struct madsim_qp *qp, const struct madsim_packet *pkt)
{
	const struct ib_sge *sge = qp->recv_wqe->sge;

	if (qp->recv_wqe->num_sge != 1 || sge->length < sizeof(pkt->grh) + pkt->len)
		return NULL;
	return madsim_kernel_memory(madsim_recv_pd(qp), sge);
}

static enum ib_wc_status madsim_ud_put(const struct madsim_qp *qp, const struct madsim_packet *pkt)
{
	const struct ib_sge *sge = qp->recv_wqe->sge;
	struct ib_pd *pd = madsim_recv_pd(qp);
	enum ib_wc_status status = IB_WC_SUCCESS;

	if (qp->recv_length < sizeof(pkt->grh) + pkt->len)
		return IB_WC_LOC_LEN_ERR;
	if (pkt->grh_valid)
		status = madsim_copy_to(pd, sge, 0, &pkt->grh,
					sizeof(pkt->grh));
	if (status)
		return status;
	return madsim_copy_to(pd, sge, sizeof(pkt->grh), pkt->data, pkt->len);
}

/* Put a segment into the buffer that was taken, as a packet with this header */
static enum ib_wc_status madsim_ud_put_segment(const struct madsim_qp *qp,
					       const struct madsim_segment *segment,
					       struct madsim_packet *pkt)
{
	void *room = madsim_ud_room(qp, pkt);

	if (!room) {
		madsim_ud_cut(segment, pkt->data, pkt->len);
		return madsim_ud_put(qp, pkt);
	}
	if (pkt->grh_valid)
		memcpy(room, &pkt->grh, sizeof(pkt->grh));
	return madsim_ud_cut(segment, room + sizeof(pkt->grh), pkt->len);
}

/* Deliver a packet to a queue pair. If there is a segment, it is in place of the packet's data */
static void madsim_ud_deliver(struct madsim_qp *qp, struct madsim_packet *pkt,
			      const struct madsim_segment *segment)
{
	struct madsim_port *port = qp->port;
	struct ib_wc wc = {
		.qp = madsim_wc_qp(qp),
		.opcode = IB_WC_RECV,
	};

	spin_lock(&qp->lock);
	if (qp->state == IB_QPS_RESET || qp->state == IB_QPS_INIT ||
	    qp->state == IB_QPS_ERR)
		goto out;
	if (!madsim_qp_admits(qp, qp->qkey, pkt) || !madsim_get_recv_wqe(qp))
		goto out;

	wc.wr_id = qp->recv_wqe->wr_id;
	wc.status = segment ? madsim_ud_put_segment(qp, segment, pkt) :
			      madsim_ud_put(qp, pkt);
	if (wc.status) {
		madsim_cq_put(qp, &wc, false);
		madsim_qp_fail(qp, IB_QPS_ERR);
		goto out;
	}

	wc.byte_len = sizeof(pkt->grh) + pkt->len;
	wc.src_qp = pkt->src_qpn;
	wc.slid = pkt->slid;
	wc.sl = pkt->sl;
	if (!madsim_lid_is_multicast(pkt->dlid))
		wc.dlid_path_bits = pkt->dlid & (BIT(madsim_lmc(port)) - 1);
	wc.port_num = port->num;
	wc.pkey_index = qp->pkey_index;
	if (pkt->grh_valid)
		wc.wc_flags |= IB_WC_GRH;
	if (pkt->with_imm) {
		wc.wc_flags |= IB_WC_WITH_IMM;
		wc.ex.imm_data = pkt->imm;
	}
	/* The interface for programs has another flag in this place */
	if (pkt->checked && !qp->user)
		wc.wc_flags |= IB_WC_IP_CSUM_OK;
	madsim_cq_put(qp, &wc, pkt->solicited);
	if (!madsim_lid_is_multicast(pkt->dlid))
		port->node->fabric->way.receiver = qp;
out:
	spin_unlock(&qp->lock);
}

static bool madsim_is_member(const struct madsim_member *member, const union ib_gid *gid, u16 lid)
{
	return member->lid == lid &&
	       !memcmp(&member->gid, gid, sizeof(*gid));
}

/* Give a packet to the queue pairs that it is for. fabric->lock is held */
void madsim_ud_receive(struct madsim_port *port, struct madsim_packet *pkt)
{
	struct madsim_dev *dev = port->node->dev;
	struct madsim_member *member;
	struct madsim_qp *qp;

	lockdep_assert_held(&port->node->fabric->lock);

	if (!dev)
		return;

	if (!madsim_lid_is_multicast(pkt->dlid)) {
		qp = madsim_qp_find(dev, pkt->dst_qpn);
		if (qp && qp->port == port && !qp->rc)
			madsim_ud_deliver(qp, pkt, NULL);
		return;
	}

	if (!pkt->grh_valid || pkt->dst_qpn != IB_MULTICAST_QPN)
		return;
	list_for_each_entry(member, &dev->members, list) {
		if (member->qp->port == port &&
		    madsim_is_member(member, &pkt->grh.dgid, pkt->dlid))
			madsim_ud_deliver(member->qp, pkt, NULL);
	}
}

/**
 * madsim_ud_burst - send all segments but the last one at once
 * @qp: the queue pair that sends them
 * @send: what it sends, which madsim_offload_fits() has seen
 * @at: how many bytes of its data have been sent
 * @receiver: the queue pair that has received the segment before them just now
 * @pkt: the segment before, whose headers the others have, too
 *
 * Context: any; fabric->lock is held since @receiver has received that segment.
 * Return: how many segments were sent. All have arrived.
 */
u32 madsim_ud_burst(const struct madsim_qp *qp, const struct madsim_send *send, u32 at,
		    struct madsim_qp *receiver, struct madsim_packet *pkt)
{
	struct madsim_segment segment = { qp, send, at };
	u32 left = send->length - at, mss = ud_wr(send->wr)->mss;
	u32 count = (left - 1) / mss;
	const struct madsim_span span = {
		.pd = qp->ibqp.pd,
		.sge = send->wr->sg_list,
		.at = at,
	};
	u32 i;

	if (!madsim_span_allows(&span, left))
		return 0;
	for (i = 0; i < count; i++) {
		madsim_ud_deliver(receiver, pkt, &segment);
		segment.at += mss;
	}
	return count;
}

static struct madsim_member *madsim_find_member(const struct madsim_qp *qp,
						const union ib_gid *gid,
						u16 lid)
{
	struct madsim_dev *dev = to_madsim_dev(qp->ibqp.device);
	struct madsim_member *member;

	lockdep_assert_held(&dev->node->fabric->lock);

	list_for_each_entry(member, &dev->members, list) {
		if (member->qp == qp && madsim_is_member(member, gid, lid))
			return member;
	}
	return NULL;
}

/*
 * Whether the device has a place for a member, and the group of that member, too. A user leaves
 * some places of a group to others, as of the shares in user.c
 */
static bool madsim_group_has_place(const struct madsim_qp *qp, const union ib_gid *gid, u16 lid)
{
	struct madsim_dev *dev = to_madsim_dev(qp->ibqp.device);
	u32 all = 0, size = 0, own = 0;
	struct madsim_member *member;

	list_for_each_entry(member, &dev->members, list) {
		all++;
		if (!madsim_is_member(member, gid, lid))
			continue;
		size++;
		own += member->qp->user == qp->user;
	}
	if (all == MADSIM_MAX_MEMBERS)
		return false;
	if (!qp->user)
		return size < MADSIM_MAX_ATTACHED;
	return own + size < MADSIM_MAX_ATTACHED - MADSIM_KERNEL_ATTACHED;
}

/* The core has seen to it that these are a GID and a LID of a group */
static int madsim_attach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid)
{
	struct madsim_dev *dev = to_madsim_dev(ibqp->device);
	struct madsim_fabric *fabric = dev->node->fabric;
	struct madsim_qp *qp = to_madsim_qp(ibqp);
	struct madsim_member *member;
	int ret = 0;

	member = kzalloc_obj(*member, GFP_KERNEL_ACCOUNT);
	if (!member)
		return -ENOMEM;
	member->qp = qp;
	member->gid = *gid;
	member->lid = lid;

	spin_lock_irq(&fabric->lock);
	if (madsim_find_member(qp, gid, lid)) {
		ret = -EEXIST;
	} else if (!madsim_group_has_place(qp, gid, lid) ||
		   !madsim_user_reserve(dev, qp->user, MADSIM_SHARE_MEMBER)) {
		ret = -ENOSPC;
	} else {
		list_add_tail(&member->list, &dev->members);
	}
	spin_unlock_irq(&fabric->lock);

	if (ret)
		kfree(member);
	return ret;
}

static int madsim_detach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid)
{
	struct madsim_dev *dev = to_madsim_dev(ibqp->device);
	struct madsim_fabric *fabric = dev->node->fabric;
	struct madsim_qp *qp = to_madsim_qp(ibqp);
	struct madsim_member *member;

	spin_lock_irq(&fabric->lock);
	member = madsim_find_member(qp, gid, lid);
	if (member) {
		list_del(&member->list);
		madsim_user_release(dev, qp->user, MADSIM_SHARE_MEMBER);
	}
	spin_unlock_irq(&fabric->lock);

	if (!member)
		return -EINVAL;
	kfree(member);
	return 0;
}

/* Only for devices with data */
const struct ib_device_ops madsim_ud_ops = {
	.attach_mcast = madsim_attach_mcast,
	.detach_mcast = madsim_detach_mcast,
};
