// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Packets as bytes, with the headers of the specification. Both CRCs are zero: the
 * transport that carries a frame has checks of its own. The far end of a wire may be
 * malicious, so a frame becomes a packet only if all of its lengths agree.
 *
 * An offer is a raw packet of an Ethertype for experiments. It tells what a port at the
 * near end of a wire can do, so that a link trains.
 */

#include <linux/unaligned.h>

#include "wire.h"

#define MADSIM_WIRE_VCRC	2
#define MADSIM_WIRE_ATOMIC	8	/* of AtomicAckETH, which is data elsewhere */

#define MADSIM_VL_SMI		15
#define MADSIM_ACK_REQUEST	BIT(31)

#define MADSIM_OFFER_ETHERTYPE	0x88b5
#define MADSIM_OFFER_VERSION	1
#define MADSIM_OFFER_ENABLED	BIT(0)
#define MADSIM_OFFER_ASLEEP	BIT(1)

/* By opcode without the service; @to is what a response responds to */
static const struct madsim_kind {
	enum madsim_op op;
	bool first;
	bool last;
	bool with_imm;
	bool with_inv;
	enum madsim_op to;
} madsim_kinds[] = {
	[IB_OPCODE_SEND_FIRST] = { MADSIM_OP_SEND, true },
	[IB_OPCODE_SEND_MIDDLE] = { MADSIM_OP_SEND },
	[IB_OPCODE_SEND_LAST] = { MADSIM_OP_SEND, .last = true },
	[IB_OPCODE_SEND_LAST_WITH_IMMEDIATE] = {
		MADSIM_OP_SEND, .last = true, .with_imm = true },
	[IB_OPCODE_SEND_ONLY] = { MADSIM_OP_SEND, true, true },
	[IB_OPCODE_SEND_ONLY_WITH_IMMEDIATE] = { MADSIM_OP_SEND, true, true, true },
	[IB_OPCODE_RDMA_WRITE_FIRST] = { MADSIM_OP_WRITE, true },
	[IB_OPCODE_RDMA_WRITE_MIDDLE] = { MADSIM_OP_WRITE },
	[IB_OPCODE_RDMA_WRITE_LAST] = { MADSIM_OP_WRITE, .last = true },
	[IB_OPCODE_RDMA_WRITE_LAST_WITH_IMMEDIATE] = {
		MADSIM_OP_WRITE, .last = true, .with_imm = true },
	[IB_OPCODE_RDMA_WRITE_ONLY] = { MADSIM_OP_WRITE, true, true },
	[IB_OPCODE_RDMA_WRITE_ONLY_WITH_IMMEDIATE] = {
		MADSIM_OP_WRITE, true, true, true },
	[IB_OPCODE_RDMA_READ_REQUEST] = { MADSIM_OP_READ, true, true },
	[IB_OPCODE_RDMA_READ_RESPONSE_ONLY] = {
		MADSIM_OP_ACK, true, true, .to = MADSIM_OP_READ },
	[IB_OPCODE_ACKNOWLEDGE] = { MADSIM_OP_ACK, true, true },
	[IB_OPCODE_ATOMIC_ACKNOWLEDGE] = {
		MADSIM_OP_ACK, true, true, .to = MADSIM_OP_SWAP },
	[IB_OPCODE_COMPARE_SWAP] = { MADSIM_OP_SWAP, true, true },
	[IB_OPCODE_FETCH_ADD] = { MADSIM_OP_ADD, true, true },
	[IB_OPCODE_SEND_LAST_WITH_INVALIDATE] = {
		MADSIM_OP_SEND, .last = true, .with_inv = true },
	[IB_OPCODE_SEND_ONLY_WITH_INVALIDATE] = {
		MADSIM_OP_SEND, true, true, .with_inv = true },
};

/* No padding: kinds are compared as bytes */
static_assert(sizeof(struct madsim_kind) == 2 * sizeof(enum madsim_op) + 4 * sizeof(bool));

static struct madsim_kind madsim_kind_of(const struct madsim_packet *pkt)
{
	const struct madsim_bth *bth = &pkt->bth;
	struct madsim_kind kind = { bth->op, true, true };

	switch (bth->op) {
	case MADSIM_OP_SEND:
	case MADSIM_OP_WRITE:
		kind.first = bth->first;
		kind.last = bth->last;
		kind.with_imm = pkt->with_imm;
		kind.with_inv = bth->with_inv;
		break;
	case MADSIM_OP_ACK:
		if (bth->syndrome > MADSIM_ACKNOWLEDGED)
			break;
		if (bth->to == MADSIM_OP_READ)
			kind.to = MADSIM_OP_READ;
		else if (bth->to == MADSIM_OP_SWAP || bth->to == MADSIM_OP_ADD)
			kind.to = MADSIM_OP_SWAP;
		break;
	default:
		break;
	}
	return kind;
}

static u8 madsim_opcode(const struct madsim_packet *pkt)
{
	struct madsim_kind kind = madsim_kind_of(pkt);
	u8 opcode;

	if (kind.op == MADSIM_OP_NONE)
		return pkt->with_imm ? IB_OPCODE_UD_SEND_ONLY_WITH_IMMEDIATE :
				       IB_OPCODE_UD_SEND_ONLY;
	for (opcode = 0; opcode < ARRAY_SIZE(madsim_kinds) - 1; opcode++) {
		if (!memcmp(&madsim_kinds[opcode], &kind, sizeof(kind)))
			break;
	}
	return (pkt->bth.uc ? IB_OPCODE_UC : IB_OPCODE_RC) | opcode;
}

/* Whether an AtomicAckETH has the data of a packet */
static bool madsim_has_atomic(const struct madsim_bth *bth)
{
	return bth->op == MADSIM_OP_ACK &&
	       bth->syndrome <= MADSIM_ACKNOWLEDGED &&
	       (bth->to == MADSIM_OP_SWAP || bth->to == MADSIM_OP_ADD);
}

static u8 *madsim_put16(u8 *at, u16 value)
{
	put_unaligned_be16(value, at);
	return at + sizeof(value);
}

static u8 *madsim_put32(u8 *at, u32 value)
{
	put_unaligned_be32(value, at);
	return at + sizeof(value);
}

static u8 *madsim_put64(u8 *at, u64 value)
{
	put_unaligned_be64(value, at);
	return at + sizeof(value);
}

static u8 *madsim_put_extended(u8 *at, const struct madsim_packet *pkt)
{
	const struct madsim_bth *bth = &pkt->bth;

	switch (bth->op) {
	case MADSIM_OP_NONE:
		at = madsim_put32(at, pkt->qkey);
		at = madsim_put32(at, pkt->src_qpn);
		break;
	case MADSIM_OP_WRITE:
		if (!bth->first)
			break;
		fallthrough;
	case MADSIM_OP_READ:
		at = madsim_put64(at, bth->va);
		at = madsim_put32(at, bth->rkey);
		at = madsim_put32(at, bth->dma_len);
		break;
	case MADSIM_OP_SWAP:
	case MADSIM_OP_ADD:
		at = madsim_put64(at, bth->va);
		at = madsim_put32(at, bth->rkey);
		at = madsim_put64(at, bth->op == MADSIM_OP_SWAP ? bth->swap : bth->compare);
		at = madsim_put64(at, bth->op == MADSIM_OP_SWAP ? bth->compare : 0);
		break;
	case MADSIM_OP_ACK:
		at = madsim_put32(at, (u32)bth->syndrome << 24);
		break;
	default:
		break;
	}
	if (bth->op == MADSIM_OP_SEND && bth->with_inv)
		at = madsim_put32(at, bth->inv_key);
	if (pkt->with_imm)
		at = madsim_put32(at, be32_to_cpu(pkt->imm));
	return at;
}

/* How many bytes a packet has on a wire: %MADSIM_FRAME_MAX at most */
u32 madsim_frame_len(const struct madsim_packet *pkt)
{
	return madsim_words(pkt) * 4 + MADSIM_WIRE_VCRC;
}

/* Make bytes of a packet: madsim_frame_len(), or fewer, but more than its headers */
void madsim_frame_encode(const struct madsim_packet *pkt, u8 *frame, u32 len)
{
	u32 pad = round_up(pkt->len, 4) - pkt->len;
	u8 *at = frame, *end = frame + len;
	u64 old;

	at = madsim_put16(at, (pkt->smi ? MADSIM_VL_SMI << 12 : 0) | pkt->sl << 4 |
			      (pkt->grh_valid ? IB_LNH_IBA_GLOBAL : IB_LNH_IBA_LOCAL));
	at = madsim_put16(at, pkt->dlid);
	at = madsim_put16(at, madsim_words(pkt));
	at = madsim_put16(at, pkt->slid);
	if (pkt->grh_valid) {
		memcpy(at, &pkt->grh, sizeof(pkt->grh));
		at += sizeof(pkt->grh);
	}

	at = madsim_put16(at, madsim_opcode(pkt) << 8 | pkt->solicited << 7 | pad << 4);
	at = madsim_put16(at, pkt->smi ? IB_DEFAULT_PKEY_FULL : pkt->pkey);
	at = madsim_put32(at, pkt->dst_qpn);
	at = madsim_put32(at, pkt->bth.op == MADSIM_OP_NONE ? 0 :
			      pkt->bth.psn | (pkt->bth.ask ? MADSIM_ACK_REQUEST : 0));
	at = madsim_put_extended(at, pkt);

	if (madsim_has_atomic(&pkt->bth)) {
		memcpy(&old, pkt->data, sizeof(old));
		at = madsim_put64(at, old);
	} else {
		len = min_t(u32, pkt->len, end - at);
		memcpy(at, pkt->data, len);
		at += len;
	}
	/* Padding and both CRCs */
	memset(at, 0, end - at);
}

static void madsim_get_extended(const u8 *at, struct madsim_packet *pkt)
{
	struct madsim_bth *bth = &pkt->bth;

	switch (bth->op) {
	case MADSIM_OP_NONE:
		pkt->qkey = get_unaligned_be32(at);
		pkt->src_qpn = get_unaligned_be32(at + 4) & IB_QPN_MASK;
		at += 8;
		break;
	case MADSIM_OP_WRITE:
		if (!bth->first)
			break;
		fallthrough;
	case MADSIM_OP_READ:
		bth->va = get_unaligned_be64(at);
		bth->rkey = get_unaligned_be32(at + 8);
		bth->dma_len = get_unaligned_be32(at + 12);
		at += 16;
		break;
	case MADSIM_OP_SWAP:
	case MADSIM_OP_ADD:
		bth->va = get_unaligned_be64(at);
		bth->rkey = get_unaligned_be32(at + 8);
		bth->swap = get_unaligned_be64(at + 12);
		bth->compare = get_unaligned_be64(at + 20);
		if (bth->op == MADSIM_OP_ADD)
			bth->compare = bth->swap;
		bth->dma_len = sizeof(u64);
		at += 28;
		break;
	case MADSIM_OP_ACK:
		bth->syndrome = *at;
		at += 4;
		break;
	default:
		break;
	}
	if (bth->with_inv) {
		bth->inv_key = get_unaligned_be32(at);
		at += 4;
	}
	if (pkt->with_imm)
		pkt->imm = cpu_to_be32(get_unaligned_be32(at));
}

/* What the opcode says. Returns false if no packet of the model has it */
static bool madsim_get_opcode(u8 opcode, struct madsim_packet *pkt)
{
	u8 service = opcode & ~0x1f, op = opcode & 0x1f;
	const struct madsim_kind *kind;

	pkt->bth = (struct madsim_bth) {};
	pkt->with_imm = opcode == IB_OPCODE_UD_SEND_ONLY_WITH_IMMEDIATE;
	if (pkt->with_imm || opcode == IB_OPCODE_UD_SEND_ONLY)
		return true;
	if (op >= ARRAY_SIZE(madsim_kinds))
		return false;
	kind = &madsim_kinds[op];
	if (kind->op == MADSIM_OP_NONE)
		return false;
	pkt->with_imm = kind->with_imm;
	pkt->bth.op = kind->op;
	pkt->bth.first = kind->first;
	pkt->bth.last = kind->last;
	pkt->bth.with_inv = kind->with_inv;
	pkt->bth.to = kind->to;
	pkt->bth.uc = service == IB_OPCODE_UC;
	if (pkt->bth.uc)
		return madsim_op_has_payload(kind->op) && !kind->with_inv;
	return service == IB_OPCODE_RC;
}

/* Whether the queue pairs of a packet can have sent, and can take it */
static bool madsim_frame_has_ends(const struct madsim_packet *pkt)
{
	if (pkt->bth.op != MADSIM_OP_NONE)
		return !pkt->smi && pkt->dst_qpn > 1;
	if (pkt->smi)
		return !pkt->src_qpn && !pkt->dst_qpn && pkt->len == IB_MGMT_MAD_SIZE;
	if (!pkt->src_qpn || !pkt->dst_qpn)
		return false;
	return pkt->src_qpn > 1 || pkt->len == IB_MGMT_MAD_SIZE;
}

/* Whether a packet of this operation can be so long */
static bool madsim_frame_has_length(const struct madsim_packet *pkt)
{
	switch (pkt->bth.op) {
	case MADSIM_OP_READ:
	case MADSIM_OP_SWAP:
	case MADSIM_OP_ADD:
		return !pkt->len;
	case MADSIM_OP_ACK:
		return !pkt->len || pkt->bth.to;
	default:
		return pkt->len <= MADSIM_MTU;
	}
}

/* How long a frame is by its first %MADSIM_FRAME_HEAD bytes, which may be anything */
u32 madsim_frame_told(const u8 *head)
{
	return (get_unaligned_be16(head + 4) & 0x7ff) * 4 + MADSIM_WIRE_VCRC;
}

/**
 * madsim_frame_decode - make a packet of bytes
 * @frame: the bytes, which may be anything
 * @len: how many
 * @pkt: the packet. Its @words are not set
 *
 * A packet of a connected queue pair has no number of its sender: %MADSIM_QPN_UNTOLD.
 *
 * Context: any.
 * Return: false if they are none.
 */
bool madsim_frame_decode(const u8 *frame, u32 len, struct madsim_packet *pkt)
{
	u32 need = IB_LRH_BYTES + IB_BTH_BYTES + IB_ICRC_BYTES + MADSIM_WIRE_VCRC;
	const u8 *at = frame + IB_LRH_BYTES;
	u16 first;
	u8 lnh, pad;
	u64 old;

	if (len < need)
		return false;
	first = get_unaligned_be16(frame);
	lnh = first & 3;
	pkt->dlid = get_unaligned_be16(frame + 2);
	pkt->slid = get_unaligned_be16(frame + 6);
	pkt->sl = first >> 4 & 0xf;
	pkt->smi = first >> 12 == MADSIM_VL_SMI;
	pkt->checked = false;
	pkt->grh_valid = lnh == IB_LNH_IBA_GLOBAL;
	if ((!pkt->grh_valid && lnh != IB_LNH_IBA_LOCAL) || first & 0x0f00 ||
	    madsim_lid_is_multicast(pkt->slid) ||
	    madsim_frame_told(frame) != len)
		return false;

	if (pkt->grh_valid) {
		need += sizeof(pkt->grh);
		if (len < need)
			return false;
		memcpy(&pkt->grh, at, sizeof(pkt->grh));
		at += sizeof(pkt->grh);
		if (be16_to_cpu(pkt->grh.paylen) !=
		    len - IB_LRH_BYTES - sizeof(pkt->grh) - MADSIM_WIRE_VCRC ||
		    pkt->grh.next_hdr != IB_GRH_NEXT_HDR)
			return false;
	}

	if (!madsim_get_opcode(at[0], pkt))
		return false;
	pkt->solicited = at[1] & BIT(7);
	pad = at[1] >> 4 & 3;
	pkt->pkey = get_unaligned_be16(at + 2);
	pkt->dst_qpn = get_unaligned_be32(at + 4) & IB_QPN_MASK;
	pkt->src_qpn = MADSIM_QPN_UNTOLD;
	pkt->bth.ask = get_unaligned_be32(at + 8) & MADSIM_ACK_REQUEST;
	pkt->bth.psn = get_unaligned_be32(at + 8) & MADSIM_PSN_MASK;
	at += IB_BTH_BYTES;

	need += madsim_extended_headers(pkt);
	if (len < need + pad || len - need - pad > MADSIM_MTU)
		return false;
	pkt->len = len - need - pad;
	madsim_get_extended(at, pkt);
	if (!madsim_frame_has_ends(pkt) || !madsim_frame_has_length(pkt))
		return false;

	at += madsim_extended_headers(pkt);
	if (pkt->bth.to == MADSIM_OP_SWAP) {
		if (pkt->len != MADSIM_WIRE_ATOMIC)
			return false;
		old = get_unaligned_be64(at);
		memcpy(pkt->data, &old, sizeof(old));
	} else {
		memcpy(pkt->data, at, pkt->len);
	}
	return true;
}

/* Make the %MADSIM_OFFER_LEN bytes of an offer */
void madsim_offer_encode(const struct madsim_offer *offer, u8 *frame)
{
	u8 *at = frame;

	memset(frame, 0, MADSIM_OFFER_LEN);
	at = madsim_put16(at, MADSIM_VL_SMI << 12 | IB_LNH_RAW);
	at = madsim_put16(at, MADSIM_LID_PERMISSIVE);
	at = madsim_put16(at, MADSIM_OFFER_LEN / 4);
	at = madsim_put16(at, MADSIM_LID_PERMISSIVE);
	at = madsim_put16(at, 0);
	at = madsim_put16(at, MADSIM_OFFER_ETHERTYPE);
	*at++ = MADSIM_OFFER_VERSION;
	*at++ = (offer->enabled ? MADSIM_OFFER_ENABLED : 0) |
		(offer->asleep ? MADSIM_OFFER_ASLEEP : 0);
	*at++ = offer->widths;
	*at++ = 0;
	at = madsim_put16(at, offer->speeds);
	at = madsim_put16(at, 0);
	madsim_put32(at, offer->restarts);
}

/* Make an offer of bytes, which may be anything. False: they are no offer */
bool madsim_offer_decode(const u8 *frame, u32 len, struct madsim_offer *offer)
{
	if (len != MADSIM_OFFER_LEN || (get_unaligned_be16(frame) & 3) != IB_LNH_RAW ||
	    get_unaligned_be16(frame + 10) != MADSIM_OFFER_ETHERTYPE ||
	    frame[12] != MADSIM_OFFER_VERSION)
		return false;
	*offer = (struct madsim_offer) {
		.enabled = frame[13] & MADSIM_OFFER_ENABLED,
		.asleep = frame[13] & MADSIM_OFFER_ASLEEP,
		.widths = frame[14],
		.speeds = get_unaligned_be16(frame + 16),
		.restarts = get_unaligned_be32(frame + 20),
	};
	return true;
}
