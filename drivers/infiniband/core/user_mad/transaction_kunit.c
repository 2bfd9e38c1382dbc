// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit tests of transaction.c: what makes a send a duplicate of another, and the
 * tree that finds it.
 */
#include <kunit/test.h>

#include "user_mad.h"

/**
 * struct umad_test_send - what there is to know of a send
 * @tid: transaction ID, as it is posted
 * @class: management class
 * @method: method
 * @attr_mod: attribute modifier
 * @lid: destination LID
 * @grh: whether there is a GRH
 * @gid: last byte of the destination GID
 */
struct umad_test_send {
	u64	tid;
	u8	class;
	u8	method;
	u32	attr_mod;
	u16	lid;
	u8	grh;
	u8	gid;
};

/**
 * struct umad_duplicate_case - two sends
 * @desc: name of the row
 * @a: the first send
 * @b: the second send
 * @duplicate: only one of the two can be outstanding
 */
struct umad_duplicate_case {
	const char		*desc;
	struct umad_test_send	a;
	struct umad_test_send	b;
	bool			duplicate;
};

#define UMAD_TID	0x0000000700000001ULL

/* Requests of class 0x04 to LID 1, their responses, with and without a GRH */
#define UMAD_REQ(...)	{ .tid = UMAD_TID, .class = 0x04, .method = 0x01, \
			  .lid = 1, __VA_ARGS__ }
#define UMAD_RESP(...)	{ .tid = UMAD_TID, .class = 0x04, .method = 0x81, \
			  .lid = 1, __VA_ARGS__ }
#define UMAD_GRESP(...)	UMAD_RESP(.grh = 1, .gid = 1, __VA_ARGS__)

static const struct umad_duplicate_case umad_duplicate_cases[] = {
	{
		.desc = "request again",
		.a = UMAD_REQ(), .b = UMAD_REQ(), .duplicate = true,
	}, {
		.desc = "request for another attribute",
		.a = UMAD_REQ(), .b = UMAD_REQ(.attr_mod = 9), .duplicate = true,
	}, {
		.desc = "request to another LID",
		.a = UMAD_REQ(),
		.b = { .tid = UMAD_TID, .class = 0x04, .method = 0x01,
		       .lid = 2 },
		.duplicate = true,
	}, {
		.desc = "request to another GID",
		.a = UMAD_REQ(.grh = 1, .gid = 1),
		.b = UMAD_REQ(.grh = 1, .gid = 2),
		.duplicate = true,
	}, {
		.desc = "request with and without GRH",
		.a = UMAD_REQ(), .b = UMAD_REQ(.grh = 1, .gid = 1),
		.duplicate = true,
	}, {
		.desc = "get and set",
		.a = UMAD_REQ(),
		.b = { .tid = UMAD_TID, .class = 0x04, .method = 0x02,
		       .lid = 1 },
		.duplicate = true,
	}, {
		.desc = "next transaction",
		.a = UMAD_REQ(),
		.b = { .tid = UMAD_TID + 1, .class = 0x04, .method = 0x01,
		       .lid = 1 },
	}, {
		.desc = "last bit of the lower half",
		.a = UMAD_REQ(),
		.b = { .tid = UMAD_TID ^ BIT_ULL(31), .class = 0x04,
		       .method = 0x01, .lid = 1 },
	}, {
		.desc = "request of another agent",
		.a = UMAD_REQ(),
		.b = { .tid = UMAD_TID ^ BIT_ULL(32), .class = 0x04,
		       .method = 0x01, .lid = 1 },
	}, {
		.desc = "request of another class",
		.a = UMAD_REQ(),
		.b = { .tid = UMAD_TID, .class = 0x03, .method = 0x01,
		       .lid = 1 },
	}, {
		.desc = "request and response",
		.a = UMAD_REQ(), .b = UMAD_RESP(),
	}, {
		.desc = "trap and trap repress, which is a response",
		.a = { .tid = UMAD_TID, .class = 0x01, .method = 0x05,
		       .lid = 1 },
		.b = { .tid = UMAD_TID, .class = 0x01, .method = 0x07,
		       .lid = 1 },
	}, {
		.desc = "trap repress again",
		.a = { .tid = UMAD_TID, .class = 0x01, .method = 0x07,
		       .lid = 1 },
		.b = { .tid = UMAD_TID, .class = 0x01, .method = 0x07,
		       .lid = 1 },
		.duplicate = true,
	}, {
		.desc = "trap repress to another LID",
		.a = { .tid = UMAD_TID, .class = 0x01, .method = 0x07,
		       .lid = 1 },
		.b = { .tid = UMAD_TID, .class = 0x01, .method = 0x07,
		       .lid = 2 },
	}, {
		.desc = "baseboard management: request and response",
		.a = { .tid = UMAD_TID, .class = 0x05, .method = 0x03,
		       .lid = 1 },
		.b = { .tid = UMAD_TID, .class = 0x05, .method = 0x03,
		       .lid = 1, .attr_mod = 1 },
	}, {
		.desc = "baseboard management: response to another LID",
		.a = { .tid = UMAD_TID, .class = 0x05, .method = 0x03,
		       .lid = 1, .attr_mod = 1 },
		.b = { .tid = UMAD_TID, .class = 0x05, .method = 0x03,
		       .lid = 2, .attr_mod = 1 },
	}, {
		.desc = "response again",
		.a = UMAD_RESP(), .b = UMAD_RESP(), .duplicate = true,
	}, {
		.desc = "response with another method",
		.a = UMAD_RESP(),
		.b = { .tid = UMAD_TID, .class = 0x04, .method = 0x86,
		       .lid = 1 },
		.duplicate = true,
	}, {
		.desc = "response to another LID",
		.a = UMAD_RESP(),
		.b = { .tid = UMAD_TID, .class = 0x04, .method = 0x81,
		       .lid = 0x0100 },
	}, {
		.desc = "response in another transaction",
		.a = UMAD_RESP(),
		.b = { .tid = UMAD_TID ^ BIT_ULL(63), .class = 0x04,
		       .method = 0x81, .lid = 1 },
	}, {
		.desc = "response of another class",
		.a = UMAD_RESP(),
		.b = { .tid = UMAD_TID, .class = 0x21, .method = 0x81,
		       .lid = 1 },
	}, {
		.desc = "response without GRH, a GID that is not used",
		.a = UMAD_RESP(.gid = 1), .b = UMAD_RESP(.gid = 2),
		.duplicate = true,
	}, {
		.desc = "response with GRH again",
		.a = UMAD_GRESP(), .b = UMAD_GRESP(), .duplicate = true,
	}, {
		.desc = "response with GRH, a LID that does not matter",
		.a = UMAD_GRESP(),
		.b = { .tid = UMAD_TID, .class = 0x04, .method = 0x81,
		       .lid = 2, .grh = 1, .gid = 1 },
		.duplicate = true,
	}, {
		.desc = "response with GRH, present being any number but 0",
		.a = UMAD_GRESP(),
		.b = UMAD_RESP(.grh = 2, .gid = 1),
		.duplicate = true,
	}, {
		.desc = "response to another GID",
		.a = UMAD_GRESP(), .b = UMAD_RESP(.grh = 1, .gid = 2),
	}, {
		.desc = "response with and without GRH",
		.a = UMAD_RESP(), .b = UMAD_GRESP(),
	},
};

KUNIT_ARRAY_PARAM_DESC(umad_duplicate, umad_duplicate_cases, desc);

static struct umad_send *umad_test_send(struct kunit *test, u8 hdr_len)
{
	struct umad_send *send;

	send = kunit_kzalloc(test, struct_size(send, data, hdr_len + sizeof(struct ib_mad_hdr)),
			     GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, send);
	send->queued.hdr_len = hdr_len;
	return send;
}

static void umad_test_send_set(struct umad_send *send, const struct umad_test_send *what)
{
	struct ib_user_mad_hdr *hdr = umad_send_hdr(send);
	struct ib_mad_hdr *mad = umad_send_mad(send);

	hdr->lid = cpu_to_be16(what->lid);
	hdr->grh_present = what->grh;
	hdr->gid[15] = what->gid;

	mad->base_version = 1;
	mad->mgmt_class = what->class;
	mad->method = what->method;
	mad->tid = cpu_to_be64(what->tid);
	mad->attr_mod = cpu_to_be32(what->attr_mod);
	send->response = ib_response_mad(mad);
}

static void umad_transaction_duplicate_test(struct kunit *test)
{
	static const u8 hdr_lens[] = { 56, 64 };
	const struct umad_duplicate_case *row = test->param_value;
	struct umad_send *a, *b;
	int i, ab, ba;

	for (i = 0; i < ARRAY_SIZE(hdr_lens); i++) {
		a = umad_test_send(test, hdr_lens[i]);
		b = umad_test_send(test, hdr_lens[i]);
		umad_test_send_set(a, &row->a);
		umad_test_send_set(b, &row->b);

		ab = umad_transaction_cmp(&a->node, &b->node);
		ba = umad_transaction_cmp(&b->node, &a->node);
		KUNIT_EXPECT_EQ(test, !ab, row->duplicate);
		/* One of them is the first, whichever is asked for */
		KUNIT_EXPECT_EQ(test, ab < 0, ba > 0);
		KUNIT_EXPECT_EQ(test, ab > 0, ba < 0);
		KUNIT_EXPECT_EQ(test, umad_transaction_cmp(&a->node, &a->node), 0);
		KUNIT_EXPECT_EQ(test, umad_transaction_cmp(&b->node, &b->node), 0);
	}
}

/* All sends of the rows above, each of which is as far from all others as they say */
static void umad_transactions_test(struct kunit *test)
{
	const int count = 2 * ARRAY_SIZE(umad_duplicate_cases);
	struct umad_send **send;
	struct umad_file *file;
	bool expected;
	int i, j, ret;

	file = kunit_kzalloc(test, sizeof(*file), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, file);
	spin_lock_init(&file->transaction_lock);
	send = kunit_kcalloc(test, count, sizeof(*send), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, send);
	for (i = 0; i < count; i++) {
		const struct umad_duplicate_case *row = &umad_duplicate_cases[i / 2];

		send[i] = umad_test_send(test, 64);
		umad_test_send_set(send[i], i % 2 ? &row->b : &row->a);
		for (j = 0, expected = true; j < i; j++)
			expected &= !send[j]->tracked ||
				    umad_transaction_cmp(&send[i]->node, &send[j]->node);
		ret = umad_transaction_begin(file, send[i]);
		KUNIT_EXPECT_EQ(test, ret, expected ? 0 : -EINVAL);
	}
	/* The second end of a transaction is none */
	for (i = 0; i < 2 * count; i++)
		umad_transaction_end(file, send[i % count]);
	KUNIT_EXPECT_TRUE(test, RB_EMPTY_ROOT(&file->transactions));
}

static struct kunit_case umad_transaction_cases[] = {
	KUNIT_CASE_PARAM(umad_transaction_duplicate_test,
			 umad_duplicate_gen_params),
	KUNIT_CASE(umad_transactions_test),
	{}
};

static struct kunit_suite umad_transaction_suite = {
	.name		= "umad_transaction",
	.test_cases	= umad_transaction_cases,
};

kunit_test_suite(umad_transaction_suite);
