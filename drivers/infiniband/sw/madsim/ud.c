// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Datagrams of clients: queue pairs of the type UD, and multicast groups.
 *
 * A datagram is one packet. Its sender's completion says no more than that it has
 * left the port. A receiver without a buffer does not get it.
 */

#include <linux/minmax.h>
#include <linux/slab.h>
#include <rdma/ib_hdrs.h>

#include "verbs.h"

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
 * madsim_ud_build - make a packet of what a client wants to send
 * @qp: its queue pair
 * @wr: what it wants to send
 * @data: that, if it is with @wr itself
 * @pkt: the packet
 *
 * Context: any; fabric->lock is held.
 * Return: %IB_WC_SUCCESS, or with what error the send completes.
 */
enum ib_wc_status madsim_ud_build(struct madsim_qp *qp,
				  const struct ib_send_wr *wr,
				  const void *data, struct madsim_packet *pkt)
{
	u64 len = madsim_sge_length(wr->sg_list, wr->num_sge);
	enum ib_wc_status status = IB_WC_SUCCESS;
	struct ib_ah *ah = ud_wr(wr)->ah;

	if (len > madsim_mtu(qp->port))
		return IB_WC_LOC_LEN_ERR;
	/* Addresses are for the domain, and the port, that they were made for */
	if (ah->pd != qp->ibqp.pd ||
	    rdma_ah_get_port_num(&to_madsim_ah(ah)->attr) != qp->port->num)
		return IB_WC_LOC_QP_OP_ERR;
	if (data)
		memcpy(pkt->data, data, len);
	else
		status = madsim_copy_from(qp->ibqp.pd, wr->sg_list, 0,
					  pkt->data, len);
	if (status)
		return status;
	pkt->len = len;
	madsim_packet_address(qp, wr, qp->pkey_index, pkt);
	return IB_WC_SUCCESS;
}

static enum ib_wc_status madsim_ud_put(const struct madsim_qp *qp,
				       const struct madsim_packet *pkt)
{
	const struct ib_sge *sge = qp->taken->sge;
	struct ib_pd *pd = madsim_recv_pd(qp);
	enum ib_wc_status status = IB_WC_SUCCESS;

	if (madsim_sge_length(sge, qp->taken->num_sge) <
	    sizeof(pkt->grh) + pkt->len)
		return IB_WC_LOC_LEN_ERR;
	if (pkt->grh_valid)
		status = madsim_copy_to(pd, sge, 0, &pkt->grh,
					sizeof(pkt->grh));
	if (status)
		return status;
	return madsim_copy_to(pd, sge, sizeof(pkt->grh), pkt->data, pkt->len);
}

/* Whether the keys of a packet are those of a queue pair */
static bool madsim_ud_admits(const struct madsim_qp *qp,
			     const struct madsim_packet *pkt)
{
	struct madsim_port *port = qp->port;

	if (!madsim_qp_admits(qp, pkt))
		return false;
	if (pkt->qkey != qp->qkey) {
		madsim_count_violation(&port->info.qkey_violations);
		madsim_trap_bad_key(port, MADSIM_TRAP_BAD_QKEY, pkt);
		return false;
	}
	return true;
}

static void madsim_ud_take(struct madsim_qp *qp,
			   const struct madsim_packet *pkt)
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
	if (!madsim_ud_admits(qp, pkt))
		goto out;
	if (!madsim_take_recv(qp))
		goto out;

	wc.wr_id = qp->taken->wr_id;
	wc.status = madsim_ud_put(qp, pkt);
	if (wc.status) {
		madsim_complete(qp, &wc, false);
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
	madsim_complete(qp, &wc, pkt->solicited);
out:
	spin_unlock(&qp->lock);
}

static bool madsim_is_member(const struct madsim_member *member,
			     const union ib_gid *gid, u16 lid)
{
	return member->lid == lid &&
	       !memcmp(&member->gid, gid, sizeof(*gid));
}

/**
 * madsim_ud_receive - give a packet to the queue pairs that it is for
 * @port: the end port where it is, which may be that of its sender
 * @pkt: the packet
 *
 * Context: any; fabric->lock is held.
 */
void madsim_ud_receive(struct madsim_port *port,
		       const struct madsim_packet *pkt)
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
			madsim_ud_take(qp, pkt);
		return;
	}

	if (!pkt->grh_valid || pkt->dst_qpn != MADSIM_QPN_MULTICAST)
		return;
	list_for_each_entry(member, &dev->members, list) {
		if (member->qp->port == port &&
		    madsim_is_member(member, &pkt->grh.dgid, pkt->dlid))
			madsim_ud_take(member->qp, pkt);
	}
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

static u32 madsim_group_size(struct madsim_dev *dev, const union ib_gid *gid,
			     u16 lid)
{
	struct madsim_member *member;
	u32 size = 0;

	list_for_each_entry(member, &dev->members, list)
		size += madsim_is_member(member, gid, lid);
	return size;
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
	} else if (dev->member_count == MADSIM_MAX_MEMBERS ||
		   madsim_group_size(dev, gid, lid) == MADSIM_MAX_ATTACHED ||
		   !madsim_user_take(dev, qp->user, MADSIM_SHARE_MEMBER)) {
		ret = -ENOSPC;
	} else {
		list_add_tail(&member->list, &dev->members);
		dev->member_count++;
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
		dev->member_count--;
		madsim_user_give(dev, qp->user, MADSIM_SHARE_MEMBER);
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
