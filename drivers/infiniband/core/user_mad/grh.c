// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The way back, from a received GRH.
 *
 * On RoCE, ib_init_ah_attr_from_wc() would also resolve the Ethernet address of the sender,
 * for up to a second. The worker that all MADs of the QP come through must not wait for
 * that, and a response resolves it again. So this file reads the GRH itself there.
 */
#include <linux/ip.h>
#include <rdma/ib_cache.h>

#include "user_mad.h"

#define UMAD_NO_VLAN	0xffff

static enum rdma_network_type umad_network_type(const struct ib_wc *wc,
						const union rdma_network_hdr *hdr)
{
	if (wc->wc_flags & IB_WC_WITH_NETWORK_HDR_TYPE)
		return wc->network_hdr_type;
	if (ib_get_rdma_header_version(hdr) == 4)
		return RDMA_NETWORK_IPV4;
	if (hdr->ibgrh.next_hdr == IPPROTO_UDP)
		return RDMA_NETWORK_IPV6;
	return RDMA_NETWORK_ROCE_V1;
}

static bool umad_gid_on_vlan(const struct ib_gid_attr *attr, u16 vlan_id)
{
	u16 gid_vlan = UMAD_NO_VLAN;

	return !rdma_read_gid_l2_fields(attr, &gid_vlan, NULL) && gid_vlan == vlan_id;
}

/*
 * Netdevs of several VLANs may share a GID. The first entry with the GID is nearly always
 * the one. If it is of another VLAN, this searches the table behind it.
 */
static int umad_roce_gid_index(struct ib_device *ib_dev, u32 port_num,
			       const union ib_gid *gid, enum ib_gid_type type, u16 vlan_id)
{
	const struct ib_gid_attr *attr;
	int index = -ENOENT;
	int i, len;

	attr = rdma_find_gid_by_port(ib_dev, gid, type, port_num, NULL);
	if (IS_ERR(attr))
		return PTR_ERR(attr);
	if (umad_gid_on_vlan(attr, vlan_id))
		index = attr->index;
	i = attr->index + 1;
	rdma_put_gid_attr(attr);

	len = ib_dev->port_data[port_num].immutable.gid_tbl_len;
	for (; index < 0 && i < len; i++) {
		attr = rdma_get_gid_attr(ib_dev, port_num, i);
		if (IS_ERR(attr))
			continue;
		if (attr->gid_type == type && umad_gid_on_vlan(attr, vlan_id) &&
		    !memcmp(&attr->gid, gid, sizeof(*gid)))
			index = i;
		rdma_put_gid_attr(attr);
	}

	return index;
}

static int umad_grh_roce(const struct ib_mad_agent *mad_agent,
			 const struct ib_mad_recv_wc *recv_wc, struct ib_user_mad_hdr *hdr)
{
	const union rdma_network_hdr *net = (void *)recv_wc->recv_buf.grh;
	const struct ib_wc *wc = recv_wc->wc;
	enum rdma_network_type type = umad_network_type(wc, net);
	union ib_gid sgid, dgid;
	int ret;

	ret = ib_get_gids_from_rdma_hdr(net, type, &sgid, &dgid);
	if (ret)
		return ret;

	ret = umad_roce_gid_index(mad_agent->device, mad_agent->port_num, &dgid,
				  ib_network_to_gid_type(type),
				  wc->wc_flags & IB_WC_WITH_VLAN ? wc->vlan_id : UMAD_NO_VLAN);
	if (ret < 0)
		return ret;

	hdr->gid_index = ret;
	memcpy(hdr->gid, sgid.raw, sizeof(hdr->gid));
	if (type == RDMA_NETWORK_IPV4) {
		hdr->hop_limit = net->roce4grh.ttl;
		hdr->traffic_class = net->roce4grh.tos;
	} else {
		u32 flow_class = be32_to_cpu(net->ibgrh.version_tclass_flow);

		hdr->hop_limit = net->ibgrh.hop_limit;
		hdr->traffic_class = flow_class >> 20;
		hdr->flow_label = cpu_to_be32(flow_class & 0xfffff);
	}
	return 0;
}

static int umad_grh_ib(const struct ib_mad_agent *mad_agent, const struct ib_mad_recv_wc *recv_wc,
		       struct ib_user_mad_hdr *hdr)
{
	const struct ib_global_route *grh;
	struct rdma_ah_attr attr;
	int ret;

	ret = ib_init_ah_attr_from_wc(mad_agent->device, mad_agent->port_num,
				      recv_wc->wc, recv_wc->recv_buf.grh, &attr);
	if (ret)
		return ret;

	grh = rdma_ah_read_grh(&attr);
	hdr->gid_index = grh->sgid_index;
	hdr->hop_limit = grh->hop_limit;
	hdr->traffic_class = grh->traffic_class;
	hdr->flow_label = cpu_to_be32(grh->flow_label);
	memcpy(hdr->gid, grh->dgid.raw, sizeof(hdr->gid));
	rdma_destroy_ah_attr(&attr);
	return 0;
}

/*
 * Fills in the GRH fields of a header, ready to reply with. Called by a receive handler, it
 * never waits for the network. Fails if the GRH has no GID of this port.
 */
int umad_grh_from_wc(const struct ib_mad_agent *mad_agent, const struct ib_mad_recv_wc *recv_wc,
		     struct ib_user_mad_hdr *hdr)
{
	if (rdma_protocol_roce(mad_agent->device, mad_agent->port_num))
		return umad_grh_roce(mad_agent, recv_wc, hdr);
	return umad_grh_ib(mad_agent, recv_wc, hdr);
}
