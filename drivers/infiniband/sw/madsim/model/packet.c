// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The headers of packets: how long they are. */

#include <linux/math.h>

#include "packet.h"

/* Bytes of the headers between BTH and data. The result of an atomic operation is data */
u32 madsim_extended_headers(const struct madsim_packet *pkt)
{
	const struct madsim_bth *bth = &pkt->bth;
	u32 len = pkt->with_imm ? 4 : 0;

	switch (bth->op) {
	case MADSIM_OP_NONE:
		return len + IB_DETH_BYTES;
	case MADSIM_OP_SEND:
		return len + (bth->with_inv ? 4 : 0);
	case MADSIM_OP_READ:
		return len + 16;
	case MADSIM_OP_WRITE:
		return len + (bth->first ? 16 : 0);
	case MADSIM_OP_SWAP:
	case MADSIM_OP_ADD:
		return len + 28;
	case MADSIM_OP_ACK:
		return len + 4;
	default:
		return len;
	}
}

/* Bytes of a packet from BTH to ICRC, with the padding */
u32 madsim_payload(const struct madsim_packet *pkt)
{
	return round_up(pkt->len, 4) + IB_BTH_BYTES + IB_ICRC_BYTES +
	       madsim_extended_headers(pkt);
}

/* How long a packet is, as counters have it: in units of four bytes */
u32 madsim_words(const struct madsim_packet *pkt)
{
	u32 len = IB_LRH_BYTES + madsim_payload(pkt);

	if (pkt->grh_valid)
		len += sizeof(struct ib_grh);
	return len / 4;
}
