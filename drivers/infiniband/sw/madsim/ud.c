// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Datagrams of kernel clients: queue pairs of the type UD, and multicast groups.
 *
 * A datagram is one packet. Its sender's completion says no more than that it has
 * left the port, and who has no buffer for it does not get it.
 */

#include <linux/minmax.h>
#include <linux/slab.h>
#include <rdma/ib_hdrs.h>

#include "madsim.h"

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
 * madsim_ud_add - give a queue pair its number
 * @qp: the queue pair
 *
 * Numbers are not used again before all others were.
 *
 * Context: process context.
 * Return: 0, -ENOSPC: the device has %MADSIM_MAX_UD, or -ENOMEM.
 */
int madsim_ud_add(struct madsim_qp *qp)
{
	struct madsim_dev *dev = to_madsim_dev(qp->ibqp.device);
	int ret;

	ret = xa_alloc_cyclic(&dev->uds, &qp->ibqp.qp_num, qp,
			      XA_LIMIT(2, MADSIM_MAX_UD + 1), &dev->next_qpn,
			      GFP_KERNEL);
	if (ret == -EBUSY)
		return -ENOSPC;
	return min(ret, 0);
}

/**
 * madsim_ud_del - let nobody find a queue pair any more
 * @qp: the queue pair
 *
 * Who has found it holds fabric->lock.
 *
 * Context: process context.
 */
void madsim_ud_del(struct madsim_qp *qp)
{
	xa_erase(&to_madsim_dev(qp->ibqp.device)->uds, qp->ibqp.qp_num);
}

/* There is one key, that of all memory of the kernel */
static bool madsim_keys_valid(const struct madsim_qp *qp,
			      const struct ib_sge *sge, u32 num_sge)
{
	u32 i;

	for (i = 0; i < num_sge; i++) {
		if (sge[i].lkey != qp->ibqp.device->local_dma_lkey)
			return false;
	}
	return true;
}

/**
 * madsim_ud_build - make a packet of what a client wants to send
 * @qp: its queue pair
 * @wr: what it wants to send
 * @pkt: the packet
 *
 * Context: any; fabric->lock is held.
 * Return: %IB_WC_SUCCESS, or with what error the send completes.
 */
enum ib_wc_status madsim_ud_build(struct madsim_qp *qp,
				  const struct ib_send_wr *wr,
				  struct madsim_packet *pkt)
{
	u32 mtu = madsim_mtu(qp->port);
	int i;

	if (!madsim_keys_valid(qp, wr->sg_list, wr->num_sge))
		return IB_WC_LOC_PROT_ERR;

	pkt->len = 0;
	for (i = 0; i < wr->num_sge; i++) {
		const struct ib_sge *sge = &wr->sg_list[i];

		if (sge->length > mtu - pkt->len)
			return IB_WC_LOC_LEN_ERR;
		memcpy(pkt->data + pkt->len, ib_virt_dma_to_ptr(sge->addr),
		       sge->length);
		pkt->len += sge->length;
	}
	madsim_address(qp, wr, qp->pkey_index, pkt);
	return IB_WC_SUCCESS;
}

/* Copy @len bytes to where @at bytes of a buffer end. It has room for them */
static void madsim_scatter(const struct madsim_rwqe *rwqe, u32 at,
			   const void *from, u32 len)
{
	const struct ib_sge *sge;
	u32 piece;

	for (sge = rwqe->sge; len; sge++) {
		if (at >= sge->length) {
			at -= sge->length;
			continue;
		}
		piece = min(len, sge->length - at);
		memcpy(ib_virt_dma_to_ptr(sge->addr + at), from, piece);
		from += piece;
		len -= piece;
		at = 0;
	}
}

static enum ib_wc_status madsim_ud_put(const struct madsim_qp *qp,
				       const struct madsim_rwqe *rwqe,
				       const struct madsim_packet *pkt)
{
	u64 room = 0;
	u32 i;

	if (!madsim_keys_valid(qp, rwqe->sge, rwqe->num_sge))
		return IB_WC_LOC_PROT_ERR;
	for (i = 0; i < rwqe->num_sge; i++)
		room += rwqe->sge[i].length;
	if (room < sizeof(pkt->grh) + pkt->len)
		return IB_WC_LOC_LEN_ERR;

	if (pkt->grh_valid)
		madsim_scatter(rwqe, 0, &pkt->grh, sizeof(pkt->grh));
	madsim_scatter(rwqe, sizeof(pkt->grh), pkt->data, pkt->len);
	return IB_WC_SUCCESS;
}

/* Whether the keys of a packet are those of a queue pair */
static bool madsim_ud_admits(const struct madsim_qp *qp,
			     const struct madsim_packet *pkt)
{
	struct madsim_port *port = qp->port;

	if (!madsim_pkey_matches(be16_to_cpu(port->pkeys[qp->pkey_index]),
				 pkt->pkey)) {
		madsim_count_violation(&port->info.pkey_violations);
		madsim_trap_bad_key(port, MADSIM_TRAP_BAD_PKEY, pkt);
		return false;
	}
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
		.qp = &qp->ibqp,
		.opcode = IB_WC_RECV,
	};
	struct madsim_rwqe *rwqe;

	spin_lock(&qp->lock);
	if (qp->state == IB_QPS_RESET || qp->state == IB_QPS_INIT ||
	    qp->state == IB_QPS_ERR)
		goto out;
	if (!madsim_ud_admits(qp, pkt))
		goto out;
	rwqe = madsim_next_recv(qp);
	if (!rwqe)
		goto out;

	wc.wr_id = rwqe->wr_id;
	wc.status = madsim_ud_put(qp, rwqe, pkt);
	if (wc.status) {
		madsim_complete(qp->ibqp.recv_cq, &wc, false);
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
	wc.wc_flags = pkt->grh_valid ? IB_WC_GRH : 0;
	madsim_complete(qp->ibqp.recv_cq, &wc, pkt->solicited);
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
		qp = xa_load(&dev->uds, pkt->dst_qpn);
		if (qp && qp->port == port)
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

/* The core has seen to it that these are a GID and a LID of a group */
static int madsim_attach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid)
{
	struct madsim_dev *dev = to_madsim_dev(ibqp->device);
	struct madsim_fabric *fabric = dev->node->fabric;
	struct madsim_qp *qp = to_madsim_qp(ibqp);
	struct madsim_member *member;
	int ret = 0;

	member = kzalloc_obj(*member);
	if (!member)
		return -ENOMEM;
	member->qp = qp;
	member->gid = *gid;
	member->lid = lid;

	spin_lock_irq(&fabric->lock);
	if (madsim_find_member(qp, gid, lid)) {
		ret = -EEXIST;
	} else if (dev->member_count == MADSIM_MAX_MEMBERS) {
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
	struct madsim_member *member;

	spin_lock_irq(&fabric->lock);
	member = madsim_find_member(to_madsim_qp(ibqp), gid, lid);
	if (member) {
		list_del(&member->list);
		dev->member_count--;
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
