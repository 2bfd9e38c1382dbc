// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit tests of frame.c: packets become bytes and packets again, and bytes that are no
 * packet become none.
 */

#include <kunit/test.h>
#include <rdma/ib_hdrs.h>

#include "wire.h"

#define MADSIM_FRAME_QPN	0x123456

/**
 * struct madsim_frame_case - a packet on a wire
 * @desc: name of the row
 * @opcode: that it has there
 * @len: how many bytes, with 5 of data unless it has none
 * @grh: it has a GRH
 * @imm: it has immediate data
 * @bth: its headers
 * @data: how many bytes of data it has
 */
struct madsim_frame_case {
	const char *desc;
	u8 opcode;
	u32 len;
	bool grh;
	bool imm;
	struct madsim_bth bth;
	u32 data;
};

/* LRH, BTH and the two CRCs */
#define BARE	26

static const struct madsim_frame_case madsim_frame_cases[] = {
	{ "a datagram", 0x64, BARE + 8 + 8, .data = 5 },
	{ "a datagram with GRH and immediate data", 0x65, BARE + 40 + 8 + 4 + 8,
	  .grh = true, .imm = true, .data = 5 },
	{ "the longest", 0x64, BARE + 8 + 4096, .data = 4096 },
	{ "SEND first", 0x00, BARE + 8, .bth = { MADSIM_OP_SEND, .first = true }, .data = 5 },
	{ "SEND middle of UC", 0x21, BARE + 8,
	  .bth = { MADSIM_OP_SEND, .uc = true }, .data = 5 },
	{ "SEND only with invalidate", 0x17, BARE + 4 + 8,
	  .bth = { MADSIM_OP_SEND, .first = true, .last = true, .with_inv = true,
		   .inv_key = 7 }, .data = 5 },
	{ "WRITE only with immediate data", 0x0b, BARE + 16 + 4 + 8, .imm = true,
	  .bth = { MADSIM_OP_WRITE, .first = true, .last = true, .va = 1ULL << 40,
		   .rkey = 3, .dma_len = 5 }, .data = 5 },
	{ "WRITE last", 0x08, BARE + 8,
	  .bth = { MADSIM_OP_WRITE, .last = true }, .data = 5 },
	{ "READ", 0x0c, BARE + 16,
	  .bth = { MADSIM_OP_READ, .first = true, .last = true, .va = 5, .rkey = 6,
		   .dma_len = 4096 } },
	{ "its response", 0x10, BARE + 4 + 8,
	  .bth = { MADSIM_OP_ACK, .first = true, .last = true, .to = MADSIM_OP_READ,
		   .syndrome = 0x1f }, .data = 5 },
	{ "its response with credits", 0x10, BARE + 4 + 8,
	  .bth = { MADSIM_OP_ACK, .first = true, .last = true, .to = MADSIM_OP_READ,
		   .syndrome = 0x05 }, .data = 5 },
	{ "its refusal", 0x11, BARE + 4,
	  .bth = { MADSIM_OP_ACK, .first = true, .last = true, .syndrome = 0x62 } },
	{ "compare and swap", 0x13, BARE + 28,
	  .bth = { MADSIM_OP_SWAP, .first = true, .last = true, .va = 8, .rkey = 9,
		   .compare = 1, .swap = 2, .dma_len = 8 } },
	{ "fetch and add", 0x14, BARE + 28,
	  .bth = { MADSIM_OP_ADD, .first = true, .last = true, .va = 8, .rkey = 9,
		   .compare = 3, .swap = 3, .dma_len = 8 } },
	{ "its response", 0x12, BARE + 4 + 8,
	  .bth = { MADSIM_OP_ACK, .first = true, .last = true, .to = MADSIM_OP_SWAP,
		   .syndrome = 0x1f }, .data = 8 },
	{ "its response with credits", 0x12, BARE + 4 + 8,
	  .bth = { MADSIM_OP_ACK, .first = true, .last = true, .to = MADSIM_OP_SWAP,
		   .syndrome = 0x1e }, .data = 8 },
};

KUNIT_ARRAY_PARAM_DESC(madsim_frame, madsim_frame_cases, desc);

static void madsim_frame_fill(const struct madsim_frame_case *c, struct madsim_packet *pkt)
{
	unsigned int i;

	pkt->slid = 2;
	pkt->dlid = 3;
	pkt->sl = 5;
	pkt->solicited = true;
	pkt->pkey = 0x8001;
	pkt->dst_qpn = MADSIM_FRAME_QPN;
	pkt->src_qpn = MADSIM_QPN_UNTOLD;
	pkt->bth = c->bth;
	if (c->bth.op == MADSIM_OP_NONE) {
		pkt->src_qpn = 0x77;
		pkt->qkey = 0x11223344;
	} else {
		pkt->bth.psn = 0xabcdef;
		pkt->bth.ask = true;
	}
	pkt->with_imm = c->imm;
	pkt->imm = c->imm ? cpu_to_be32(42) : 0;
	pkt->len = c->data;
	for (i = 0; i < c->data; i++)
		pkt->data[i] = i;
	pkt->grh_valid = c->grh;
	if (c->grh) {
		pkt->grh.next_hdr = IB_GRH_NEXT_HDR;
		pkt->grh.paylen = cpu_to_be16(madsim_payload(pkt));
	}
}

/* As it was, and of the length that counters have */
static void madsim_frame_round_trip(struct kunit *test)
{
	const struct madsim_frame_case *c = test->param_value;
	struct madsim_packet *pkt = kunit_kzalloc(test, sizeof(*pkt), GFP_KERNEL);
	struct madsim_packet *back = kunit_kzalloc(test, sizeof(*back), GFP_KERNEL);
	u8 *frame, *begin;

	KUNIT_ASSERT_NOT_NULL(test, pkt);
	KUNIT_ASSERT_NOT_NULL(test, back);
	madsim_frame_fill(c, pkt);
	KUNIT_ASSERT_EQ(test, c->len, madsim_frame_len(pkt));
	/* No byte more, as KASAN and SLUB's red zones see */
	frame = kunit_kzalloc(test, c->len, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, frame);
	madsim_frame_encode(pkt, frame, c->len);
	KUNIT_EXPECT_EQ(test, c->opcode, frame[c->grh ? 48 : 8]);

	KUNIT_ASSERT_TRUE(test, madsim_frame_decode(frame, c->len, back));
	KUNIT_EXPECT_EQ(test, 0, memcmp(pkt, back, sizeof(*pkt)));

	/* A trace keeps the beginning alone */
	if (c->len <= 128)
		return;
	begin = kunit_kzalloc(test, 128, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, begin);
	madsim_frame_encode(pkt, begin, 128);
	KUNIT_EXPECT_EQ(test, 0, memcmp(frame, begin, 128));
}

/* A frame that is cut anywhere is refused. One with a wrong byte makes no longer packet */
static void madsim_frame_refused(struct kunit *test)
{
	const struct madsim_frame_case *c = test->param_value;
	struct madsim_packet *pkt = kunit_kzalloc(test, sizeof(*pkt), GFP_KERNEL);
	u8 *frame, *cut;
	u32 len, at;

	KUNIT_ASSERT_NOT_NULL(test, pkt);
	madsim_frame_fill(c, pkt);
	frame = kunit_kzalloc(test, c->len, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, frame);
	madsim_frame_encode(pkt, frame, c->len);

	for (len = 1; len < min(c->len, 128U); len++) {
		cut = kunit_kmalloc(test, len, GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, cut);
		memcpy(cut, frame, len);
		KUNIT_EXPECT_FALSE(test, madsim_frame_decode(cut, len, pkt));
		/* With a length that is right */
		if (len > 8) {
			cut[4] = 0;
			cut[5] = (len - 2) / 4;
		}
		if (len > 8 && madsim_frame_decode(cut, len, pkt))
			KUNIT_EXPECT_LE(test, pkt->len, len);
		kunit_kfree(test, cut);
	}
	if (c->grh) {
		frame[13] ^= 4;
		KUNIT_EXPECT_FALSE(test, madsim_frame_decode(frame, c->len, pkt));
		frame[13] ^= 4;
	}
	for (at = 0; at < min(c->len, 64U); at++) {
		frame[at] ^= 0xff;
		if (madsim_frame_decode(frame, c->len, pkt))
			KUNIT_EXPECT_LE(test, pkt->len, (u32)MADSIM_MTU);
		frame[at] ^= 0xff;
	}
}

static void madsim_offer_round_trip(struct kunit *test)
{
	struct madsim_offer offer = { true, true, 3, 0x101, 0x12345678 }, back = {};
	u8 frame[MADSIM_OFFER_LEN];
	struct madsim_packet *pkt = kunit_kzalloc(test, sizeof(*pkt), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, pkt);
	madsim_offer_encode(&offer, frame);
	KUNIT_EXPECT_FALSE(test, madsim_frame_decode(frame, sizeof(frame), pkt));
	KUNIT_ASSERT_TRUE(test, madsim_offer_decode(frame, sizeof(frame), &back));
	KUNIT_EXPECT_EQ(test, 0, memcmp(&offer, &back, sizeof(offer)));
	KUNIT_EXPECT_FALSE(test, madsim_offer_decode(frame, sizeof(frame) - 1, &back));
	frame[12]++;
	KUNIT_EXPECT_FALSE(test, madsim_offer_decode(frame, sizeof(frame), &back));
}

static struct kunit_case madsim_frame_tests[] = {
	KUNIT_CASE_PARAM(madsim_frame_round_trip, madsim_frame_gen_params),
	KUNIT_CASE_PARAM(madsim_frame_refused, madsim_frame_gen_params),
	KUNIT_CASE(madsim_offer_round_trip),
	{}
};

static struct kunit_suite madsim_frame_suite = {
	.name = "madsim_frame",
	.test_cases = madsim_frame_tests,
};

kunit_test_suite(madsim_frame_suite);
