// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The headers of packets that say where to: from a port, and of a datagram. */

#include "transport.h"

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

/* Make the headers about the way of a packet, which has its length. fabric->lock is held */
void madsim_packet_path(const struct madsim_port *port,
			const struct rdma_ah_attr *attr, u16 pkey_index,
			struct madsim_packet *pkt)
{
	pkt->dlid = madsim_short_lid(rdma_ah_get_dlid(attr));
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

/* Make the headers of a datagram, which has its data. fabric->lock is held */
void madsim_packet_address(struct madsim_qp *qp,
			   const struct ib_send_wr *wr, u16 pkey_index,
			   struct madsim_packet *pkt)
{
	const struct ib_ud_wr *ud = ud_wr(wr);

	pkt->smi = !qp->ibqp.qp_num;
	pkt->bth.op = MADSIM_OP_NONE;
	pkt->solicited = wr->send_flags & IB_SEND_SOLICITED;
	pkt->with_imm = wr->opcode == IB_WR_SEND_WITH_IMM;
	pkt->imm = wr->ex.imm_data;
	pkt->checked = false;
	pkt->src_qpn = qp->ibqp.qp_num;
	pkt->dst_qpn = ud->remote_qpn & IB_QPN_MASK;
	/* The top bit asks for the Q_Key of the queue pair itself */
	pkt->qkey = ud->remote_qkey & BIT(31) ? qp->qkey : ud->remote_qkey;
	madsim_packet_path(qp->port, &to_madsim_ah(ud->ah)->attr, pkey_index,
			   pkt);
}
