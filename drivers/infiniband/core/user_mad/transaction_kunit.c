// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit tests of transaction.c: what makes a send a duplicate of another, and the
 * table that finds it.
 */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/limits.h>

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
 * @a: one of them
 * @b: the other one
 * @duplicate: only one of them can be outstanding
 */
struct umad_duplicate_case {
	const char		*desc;
	struct umad_test_send	a;
	struct umad_test_send	b;
	bool			duplicate;
};

#define UMAD_TID	0x0000000700000001ULL

/* Requests of class 0x04 to LID 1, responses of it, with and without a GRH */
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
	static const u32 seeds[] = { 0, 1, 0x5eed5eed, U32_MAX };
	static const u8 hdr_lens[] = { 56, 64 };
	const struct umad_duplicate_case *row = test->param_value;
	struct umad_send *a, *b;
	int i, j;

	for (i = 0; i < ARRAY_SIZE(hdr_lens); i++) {
		a = umad_test_send(test, hdr_lens[i]);
		b = umad_test_send(test, hdr_lens[i]);
		umad_test_send_set(a, &row->a);
		umad_test_send_set(b, &row->b);

		/* Of another descriptor, nothing is a duplicate */
		a->num = 1;
		KUNIT_EXPECT_FALSE(test, umad_transaction_duplicate(a, b));
		b->num = 1;
		KUNIT_EXPECT_EQ(test, umad_transaction_duplicate(a, b), row->duplicate);
		KUNIT_EXPECT_EQ(test, umad_transaction_duplicate(b, a), row->duplicate);
		KUNIT_EXPECT_TRUE(test, umad_transaction_duplicate(a, a));
		KUNIT_EXPECT_TRUE(test, umad_transaction_duplicate(b, b));

		for (j = 0; row->duplicate && j < ARRAY_SIZE(seeds); j++)
			KUNIT_EXPECT_EQ(test, umad_transaction_hash(a, seeds[j]),
					umad_transaction_hash(b, seeds[j]));
	}
}

/**
 * struct umad_spread_case - many sends that differ in one thing
 * @desc: name of the row
 * @first: the first of them
 * @tid: how much the next transaction ID differs
 * @lid: how much the next LID differs
 * @gid: how much the next last byte of the GID differs
 * @num: how much the number of the next descriptor differs
 */
struct umad_spread_case {
	const char		*desc;
	struct umad_test_send	first;
	u64			tid;
	u16			lid;
	u8			gid;
	u32			num;
};

static const struct umad_spread_case umad_spread_cases[] = {
	{ "requests of an agent", UMAD_REQ(), .tid = 1 },
	{ "requests by upper half", UMAD_REQ(), .tid = 1ULL << 32 },
	{ "responses by transaction", UMAD_RESP(), .tid = 1 },
	{ "responses by LID", UMAD_RESP(), .lid = 1 },
	{ "responses by GID", UMAD_GRESP(), .gid = 1 },
	{ "responses by descriptor", UMAD_RESP(), .num = 1 },
};

KUNIT_ARRAY_PARAM_DESC(umad_spread, umad_spread_cases, desc);

/*
 * Of 256 sends in as many buckets, a good hash puts about five into the
 * fullest one, and more than twelve once in a hundred million seeds.
 */
static void umad_transaction_spread_test(struct kunit *test)
{
	const struct umad_spread_case *row = test->param_value;
	struct umad_send *packet = umad_test_send(test, 64);
	struct umad_test_send send = row->first;
	u8 load[256] = {};
	int i, max = 0;

	for (i = 0; i < 256; i++) {
		u32 bucket;

		umad_test_send_set(packet, &send);
		bucket = umad_transaction_hash(packet, 0x5eed5eed) % 256;
		load[bucket]++;
		max = max_t(int, max, load[bucket]);

		send.tid += row->tid;
		send.lid += row->lid;
		send.gid += row->gid;
		packet->num += row->num;
	}
	KUNIT_EXPECT_LE(test, max, 12);
}

#define UMAD_TEST_SENDS	4096

static u32 umad_test_buckets(struct umad_port *port)
{
	u32 size;

	rcu_read_lock();
	size = rcu_dereference_raw(port->outstanding.tbl)->size;
	rcu_read_unlock();
	return size;
}

/* A worker makes the table grow and shrink, a step at a time. It may start late. */
static bool umad_test_become(struct umad_port *port, u32 least, u32 most)
{
	u32 size;
	int i;

	for (i = 0; i < 250; i++) {
		size = umad_test_buckets(port);
		if (least <= size && size <= most)
			return true;
		msleep(20);
	}
	return false;
}

/* What many sends took in the table of duplicates is not kept when they are over */
static void umad_transactions_shrink_test(struct kunit *test)
{
	struct umad_send **packet;
	struct umad_file *file;
	struct umad_port *port;
	u32 before;
	int i;

	file = kunit_kzalloc(test, sizeof(*file), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, file);
	port = kunit_kzalloc(test, sizeof(*port), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, port);
	file->port = port;
	packet = kunit_kcalloc(test, UMAD_TEST_SENDS, sizeof(*packet), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, packet);
	for (i = 0; i < UMAD_TEST_SENDS; i++) {
		packet[i] = umad_test_send(test, 64);
		umad_test_send_set(packet[i], &(struct umad_test_send)UMAD_REQ());
		umad_send_mad(packet[i])->tid = cpu_to_be64(UMAD_TID + i);
	}

	KUNIT_ASSERT_EQ(test, umad_transactions_init(port), 0);
	before = umad_test_buckets(port);
	for (i = 0; i < UMAD_TEST_SENDS; i++)
		KUNIT_EXPECT_EQ(test, umad_transaction_begin(file, packet[i]), 0);
	KUNIT_EXPECT_TRUE(test, umad_test_become(port, UMAD_TEST_SENDS, U32_MAX));
	for (i = 0; i < UMAD_TEST_SENDS; i++)
		umad_transaction_end(file, packet[i]);
	KUNIT_EXPECT_TRUE(test, umad_test_become(port, before, before));
	umad_transactions_exit(port);
}

static struct kunit_case umad_transaction_cases[] = {
	KUNIT_CASE_PARAM(umad_transaction_duplicate_test,
			 umad_duplicate_gen_params),
	KUNIT_CASE_PARAM(umad_transaction_spread_test, umad_spread_gen_params),
	KUNIT_CASE(umad_transactions_shrink_test),
	{}
};

static struct kunit_suite umad_transaction_suite = {
	.name		= "umad_transaction",
	.test_cases	= umad_transaction_cases,
};

kunit_test_suite(umad_transaction_suite);
