/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Packets, and where they go. */

#ifndef MADSIM_PACKET_H
#define MADSIM_PACKET_H

#include <rdma/ib_hdrs.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_pack.h>
#include <rdma/ib_smi.h>
#include <rdma/opa_smi.h>

#define MADSIM_LID_PERMISSIVE	0xffff
#define MADSIM_LID_MULTICAST	0xc000
#define MADSIM_QPN_UNTOLD	0xffffff	/* src_qpn, if no header tells it */
#define MADSIM_PSN_MASK		0xffffff

#define MADSIM_MTU		4096

struct madsim_node;
struct madsim_port;
struct madsim_switch;

/* What a packet is for, if it is one of a connected queue pair */
enum madsim_op {
	MADSIM_OP_NONE,
	MADSIM_OP_SEND,
	MADSIM_OP_WRITE,
	MADSIM_OP_READ,			/* a request for one MTU at most */
	MADSIM_OP_SWAP,
	MADSIM_OP_ADD,
	MADSIM_OP_ACK,			/* a response, and what was asked for */
	MADSIM_OP_LOCAL,		/* no packet */
};

/* Syndromes of a response, beside IB_RNR_NAK, with the time to wait, and IB_NAK_* */
enum madsim_syndrome {
	MADSIM_ACKNOWLEDGED	= 0x1f,	/* with no count of credits; below, with one */
	MADSIM_DEFERRED		= 0xff,	/* no response: the request comes again */
};

/**
 * struct madsim_bth - the transport headers of a connected queue pair
 * @op:		what the packet is for; MADSIM_OP_NONE: the other fields mean nothing
 * @uc:		the type is UC and not RC
 * @first:	first packet of a message
 * @last:	last one
 * @with_inv:	@inv_key is part of the packet, if that is a SEND
 * @ask:	of a SEND or WRITE of RC: it has to be acknowledged at once, with all before it
 * @syndrome:	of a response
 * @psn:	number of the packet
 * @to:		what a response responds to
 * @inv_key:	the key of a region to be invalidated
 * @rkey:	of the region
 * @dma_len:	length of what @op is about, from @va on
 * @va:		address there
 * @compare:	of an atomic operation, also what is to be added
 * @swap:	of an atomic operation
 */
struct madsim_bth {
	enum madsim_op op;
	bool uc;
	bool first;
	bool last;
	bool with_inv;
	bool ask;
	u8 syndrome;
	u32 psn;
	enum madsim_op to;
	u32 inv_key;
	u32 rkey;
	u32 dma_len;
	u64 va;
	u64 compare;
	u64 swap;
};

/**
 * struct madsim_packet - a datagram with what the headers below it would carry
 * @slid:	source LID
 * @dlid:	destination LID
 * @sl:		service level
 * @smi:	from QP0, travels on VL15
 * @grh_valid:	@grh is part of the packet
 * @solicited:	the sender asks for an event at the receiver
 * @with_imm:	@imm is part of the packet
 * @checked:	the sending device has set the checksums of IP, and no fault has changed
 *		what they are of
 * @imm:	immediate data
 * @pkey:	P_Key; not from QP0
 * @src_qpn:	sending queue pair
 * @dst_qpn:	addressed queue pair
 * @qkey:	Q_Key; not from QP0
 * @words:	how long it is, as counters have it; of the engine
 * @bth:	in place of @qkey, if the sending queue pair is connected
 * @len:	length of @mad: 256, or up to 2048 on OPA ports. Of @data: up to the MTU
 * @grh:	global route header
 * @mad:	the datagram, if it is a MAD
 * @data:	and if it is one of a client, see madsim_is_data()
 */
struct madsim_packet {
	u16 slid;
	u16 dlid;
	u8 sl;
	bool smi;
	bool grh_valid;
	bool solicited;
	bool with_imm;
	bool checked;
	__be32 imm;
	u16 pkey;
	u32 src_qpn;
	u32 dst_qpn;
	u32 qkey;
	u32 words;
	struct madsim_bth bth;
	u32 len;
	struct ib_grh grh;
	union {
		u8 mad[OPA_MGMT_MAD_SIZE];
		u8 data[MADSIM_MTU];
		struct ib_mad_hdr hdr;
		struct ib_smp smp;
		struct opa_smp opa_smp;
	} __aligned(8);
};

/* What becomes of a packet at a port */
enum madsim_fate {
	MADSIM_GOES,			/* on */
	MADSIM_ENDS,			/* at an end port, which it is for */
	MADSIM_COPIES,			/* its copies go on to the members of a group */
	MADSIM_LOST,			/* and no port counts it. All below are counted */
	MADSIM_LOST_INACTIVE,		/* the link is not up */
	MADSIM_LOST_MTU,		/* it is too long */
	MADSIM_LOST_FAULT,		/* by fault injection */
	MADSIM_LOST_OLD,		/* it has been on its way for too long */
	MADSIM_LOST_MALFORMED,
	MADSIM_LOST_DLID,		/* no port has such a LID */
	MADSIM_LOST_LOOPING,		/* it would go back */
	MADSIM_LOST_VL,			/* its SL has no lane */
	MADSIM_LOST_ENTRY,		/* its P_Key is wrong where it comes in */
	MADSIM_LOST_EXIT,		/* or where it goes out */
};

/* The 16 bits that packets have of a LID. LIDs of Omni-Path have 32 bits */
static inline u16 madsim_short_lid(u32 lid)
{
	return lid == be32_to_cpu(OPA_LID_PERMISSIVE) ? MADSIM_LID_PERMISSIVE : lid;
}

static inline bool madsim_lid_is_multicast(u16 lid)
{
	return lid >= MADSIM_LID_MULTICAST && lid != MADSIM_LID_PERMISSIVE;
}

/* From a queue pair of a client, be it a MAD or not */
static inline bool madsim_is_data(const struct madsim_packet *pkt)
{
	return pkt->src_qpn > 1;
}

/* Whether it has data, and the response is an acknowledgment and no more */
static inline bool madsim_op_has_payload(enum madsim_op op)
{
	return op == MADSIM_OP_SEND || op == MADSIM_OP_WRITE;
}

static inline bool madsim_is_dr_smp(const struct madsim_packet *pkt)
{
	return pkt->smi &&
	       pkt->hdr.mgmt_class == IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE;
}

static inline bool madsim_is_opa_smp(const struct ib_mad_hdr *hdr)
{
	return hdr->base_version == OPA_MGMT_BASE_VERSION &&
	       hdr->class_version == OPA_SM_CLASS_VERSION;
}

/* The top bit says "full member". Of two, one at least has to be one */
static inline bool madsim_pkey_matches(u16 a, u16 b)
{
	return (a & 0x7fff) && !((a ^ b) & 0x7fff) && ((a | b) & 0x8000);
}

/* packet.c: headers */
u32 madsim_extended_headers(const struct madsim_packet *pkt);
u32 madsim_payload(const struct madsim_packet *pkt);
u32 madsim_words(const struct madsim_packet *pkt);

/* route.c: where a packet goes */
int madsim_find_pkey(const struct madsim_port *port, u16 pkey);
bool madsim_grh_fits(const struct madsim_port *port, const struct madsim_packet *pkt);
bool madsim_in_mft(const struct madsim_switch *sw, u16 lid, u8 num);
enum madsim_fate madsim_route_leave(struct madsim_port *in,
				    struct madsim_port *out,
				    const struct madsim_packet *pkt,
				    struct madsim_port **at);
enum madsim_fate madsim_route_next(struct madsim_port *in,
				   struct madsim_packet *pkt,
				   struct madsim_port **at);

/* smp.c: directed routes */
struct madsim_port *madsim_dr_forward(struct madsim_port *in, struct madsim_packet *pkt);
struct madsim_port *madsim_dr_depart(struct madsim_node *node, struct madsim_packet *pkt);
bool madsim_dr_terminate(struct madsim_port *port, struct madsim_packet *pkt);

#endif /* MADSIM_PACKET_H */
