// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit tests of send.c: how a written MAD is cut, and what makes it a
 * duplicate of another.
 */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/sizes.h>

#include "user_mad.h"

/**
 * struct umad_plan_case - a MAD about to be sent
 * @desc: name of the row
 * @len: length of the MAD
 * @mad_size: how long a single MAD may be
 * @class: its management class
 * @kernel_rmpp: its agent leaves RMPP to the kernel
 * @active: its RMPP header says that RMPP is active
 * @ret: what planning returns
 * @hdr_len: length of the headers in front of the data
 * @rmpp: the kernel cuts it
 * @own_rmpp_hdr: the MAD layer fills in the RMPP header
 */
struct umad_plan_case {
	const char		*desc;
	size_t			len;
	size_t			mad_size;
	u8			class;
	bool			kernel_rmpp;
	bool			active;
	int			ret;
	int			hdr_len;
	bool			rmpp;
	bool			own_rmpp_hdr;
};

/* A single MAD of up to 256 bytes */
#define UMAD_SINGLE(_desc, _class, _len, _hdr) {			\
	.desc = _desc, .class = _class, .len = _len, .mad_size = 256,	\
	.hdr_len = _hdr,						\
}

#define UMAD_REFUSED(_desc, _class, _len, ...) {			\
	.desc = _desc, .class = _class, .len = _len, .mad_size = 256,	\
	.ret = -EINVAL, __VA_ARGS__					\
}

static const struct umad_plan_case umad_plan_cases[] = {
	UMAD_SINGLE("SMP", 0x01, 256, 24),
	UMAD_SINGLE("directed route SMP", 0x81, 256, 24),
	UMAD_SINGLE("class 0", 0x00, 256, 24),
	UMAD_SINGLE("shortest that write() lets through", 0x04, 36, 24),
	UMAD_SINGLE("below vendor range 2", 0x2f, 36, 24),
	UMAD_SINGLE("vendor range 2: first, header only", 0x30, 40, 40),
	UMAD_SINGLE("vendor range 2: last, header only", 0x4f, 40, 40),
	UMAD_SINGLE("above vendor range 2", 0x50, 36, 24),
	UMAD_SINGLE("SA: header only", 0x03, 56, 56),
	UMAD_SINGLE("device management: header only", 0x06, 64, 64),
	UMAD_SINGLE("device administration: header only", 0x10, 64, 64),
	UMAD_SINGLE("BIS: header only", 0x12, 64, 64),
	UMAD_SINGLE("SA: one MAD", 0x03, 256, 56),

	UMAD_REFUSED("vendor range 2: part of the header", 0x30, 39),
	UMAD_REFUSED("SA: part of the header", 0x03, 55),
	UMAD_REFUSED("device management: part of the header", 0x06, 63),
	UMAD_REFUSED("device administration: part of the header", 0x10, 63),
	UMAD_REFUSED("BIS: part of the header", 0x12, 63),
	UMAD_REFUSED("SA with RMPP: part of the header", 0x03, 55,
		     .kernel_rmpp = true, .active = true),

	UMAD_REFUSED("more than a MAD", 0x04, 257),
	UMAD_REFUSED("more than a MAD, no RMPP agent", 0x03, 257,
		     .active = true),
	UMAD_REFUSED("more than a MAD, RMPP not active", 0x03, 257,
		     .kernel_rmpp = true),
	UMAD_REFUSED("more than a MAD, class without RMPP", 0x04, 257,
		     .kernel_rmpp = true, .active = true),
	UMAD_REFUSED("far more than a MAD", 0x04, SIZE_MAX),
#ifdef CONFIG_64BIT
	UMAD_REFUSED("a length that is 256 in an int", 0x04, BIT(32) + 256),
#endif

	{
		.desc = "OPA MAD",
		.class = 0x04, .len = 2048, .mad_size = 2048,
		.hdr_len = 24,
	}, {
		.desc = "more than an OPA MAD",
		.class = 0x04, .len = 2049, .mad_size = 2048,
		.ret = -EINVAL,
	}, {
		.desc = "RMPP agent, RMPP not active",
		.class = 0x03, .len = 256, .mad_size = 256,
		.kernel_rmpp = true,
		.hdr_len = 56, .own_rmpp_hdr = true,
	}, {
		.desc = "RMPP agent, class without RMPP",
		.class = 0x04, .len = 256, .mad_size = 256,
		.kernel_rmpp = true, .active = true,
		.hdr_len = 24,
	}, {
		.desc = "RMPP left to user space",
		.class = 0x03, .len = 256, .mad_size = 256,
		.active = true,
		.hdr_len = 56,
	}, {
		.desc = "RMPP message without data",
		.class = 0x03, .len = 56, .mad_size = 256,
		.kernel_rmpp = true, .active = true,
		.hdr_len = 56, .rmpp = true, .own_rmpp_hdr = true,
	}, {
		.desc = "RMPP message of one segment",
		.class = 0x03, .len = 256, .mad_size = 256,
		.kernel_rmpp = true, .active = true,
		.hdr_len = 56, .rmpp = true, .own_rmpp_hdr = true,
	}, {
		.desc = "RMPP message of two segments",
		.class = 0x03, .len = 257, .mad_size = 256,
		.kernel_rmpp = true, .active = true,
		.hdr_len = 56, .rmpp = true, .own_rmpp_hdr = true,
	}, {
		.desc = "RMPP message of a vendor class",
		.class = 0x30, .len = 1 << 20, .mad_size = 256,
		.kernel_rmpp = true, .active = true,
		.hdr_len = 40, .rmpp = true, .own_rmpp_hdr = true,
	}, {
		.desc = "longest RMPP message",
		.class = 0x03, .len = INT_MAX - 256, .mad_size = 256,
		.kernel_rmpp = true, .active = true,
		.hdr_len = 56, .rmpp = true, .own_rmpp_hdr = true,
	}, {
		.desc = "longest RMPP message of OPA",
		.class = 0x03, .len = INT_MAX - 2048, .mad_size = 2048,
		.kernel_rmpp = true, .active = true,
		.hdr_len = 56, .rmpp = true, .own_rmpp_hdr = true,
	},
	UMAD_REFUSED("RMPP message whose last segment passes an int", 0x03,
		     INT_MAX - 255, .kernel_rmpp = true, .active = true),
	UMAD_REFUSED("RMPP message longer than an int", 0x03,
		     (size_t)INT_MAX + 1, .kernel_rmpp = true, .active = true),
	UMAD_REFUSED("RMPP message longer than anything", 0x03, SIZE_MAX,
		     .kernel_rmpp = true, .active = true),
};

KUNIT_ARRAY_PARAM_DESC(umad_plan, umad_plan_cases, desc);

static void umad_plan_send_test(struct kunit *test)
{
	const struct umad_plan_case *row = test->param_value;
	/* Other flags of the RMPP header are no reason to cut anything */
	struct ib_rmpp_mad mad = {
		.mad_hdr.mgmt_class		= row->class,
		.rmpp_hdr.rmpp_rtime_flags	= 0xfe | row->active,
	};
	struct umad_plan plan;

	memset(&plan, 0xa5, sizeof(plan));
	KUNIT_ASSERT_EQ(test, umad_plan_send(&mad, row->len, row->kernel_rmpp,
					     row->mad_size, &plan), row->ret);
	if (row->ret)
		return;

	KUNIT_EXPECT_EQ(test, plan.hdr_len, row->hdr_len);
	KUNIT_EXPECT_EQ(test, (size_t)plan.data_len, row->len - row->hdr_len);
	KUNIT_EXPECT_EQ(test, plan.rmpp, row->rmpp);
	KUNIT_EXPECT_EQ(test, plan.own_rmpp_hdr, row->own_rmpp_hdr);
}

/**
 * struct umad_cut_case - messages of a class over a kind of port
 * @desc: name of the row
 * @class: management class
 * @hdr_len: length of its headers
 * @mad_size: how long a single MAD may be
 */
struct umad_cut_case {
	const char	*desc;
	u8		class;
	size_t		hdr_len;
	size_t		mad_size;
};

static const struct umad_cut_case umad_cut_cases[] = {
	{ "vendor range 2",		0x30, 40, 256 },
	{ "SA",				0x03, 56, 256 },
	{ "device management",		0x06, 64, 256 },
	{ "device administration",	0x10, 64, 256 },
	{ "BIS",			0x12, 64, 256 },
	{ "vendor range 2, OPA",	0x4f, 40, 2048 },
	{ "SA, OPA",			0x03, 56, 2048 },
	{ "device management, OPA",	0x06, 64, 2048 },
	{ "device administration, OPA",	0x10, 64, 2048 },
	{ "BIS, OPA",			0x12, 64, 2048 },
};

KUNIT_ARRAY_PARAM_DESC(umad_cut, umad_cut_cases, desc);

/* A message of @len: refused, or planned so that nothing of it is lost */
static void umad_expect_cut(struct kunit *test, const struct umad_cut_case *row,
			    size_t len)
{
	struct ib_rmpp_mad mad = {
		.mad_hdr.mgmt_class		= row->class,
		.rmpp_hdr.rmpp_rtime_flags	= IB_MGMT_RMPP_FLAG_ACTIVE,
	};
	size_t seg = row->mad_size - row->hdr_len;
	struct umad_plan plan;
	u64 end;

	/* Where the last segment would end; one is sent even without data */
	end = row->hdr_len;
	if (len > row->hdr_len)
		end += roundup_u64((u64)len - row->hdr_len, seg);
	else
		end += seg;

	memset(&plan, 0xa5, sizeof(plan));
	if (len < row->hdr_len || len > INT_MAX - row->mad_size) {
		KUNIT_EXPECT_EQ_MSG(test, -EINVAL,
				    umad_plan_send(&mad, len, true,
						   row->mad_size, &plan),
				    "length %zu", len);
		return;
	}

	KUNIT_ASSERT_EQ_MSG(test, 0, umad_plan_send(&mad, len, true,
						    row->mad_size, &plan),
			    "length %zu", len);
	KUNIT_EXPECT_TRUE(test, plan.rmpp);
	KUNIT_EXPECT_TRUE(test, plan.own_rmpp_hdr);
	KUNIT_EXPECT_EQ(test, (size_t)plan.hdr_len, row->hdr_len);
	KUNIT_EXPECT_GE_MSG(test, plan.data_len, 0, "length %zu", len);
	KUNIT_EXPECT_EQ_MSG(test, (u64)plan.hdr_len + plan.data_len, (u64)len,
			    "length %zu", len);
	/* The MAD layer adds up in int: header, data and padding */
	KUNIT_EXPECT_LE_MSG(test, end, (u64)INT_MAX, "length %zu", len);
}

/* Not for RMPP: one MAD is the limit, wherever the headers end */
static void umad_expect_single(struct kunit *test,
			       const struct umad_cut_case *row, size_t len)
{
	struct ib_rmpp_mad mad = { .mad_hdr.mgmt_class = row->class };
	bool fits = len >= row->hdr_len && len <= row->mad_size;
	struct umad_plan plan;
	int agent;

	for (agent = 0; agent < 2; agent++) {
		memset(&plan, 0xa5, sizeof(plan));
		KUNIT_ASSERT_EQ_MSG(test, fits ? 0 : -EINVAL,
				    umad_plan_send(&mad, len, agent,
						   row->mad_size, &plan),
				    "length %zu", len);
		if (!fits)
			continue;
		KUNIT_EXPECT_FALSE(test, plan.rmpp);
		KUNIT_EXPECT_EQ(test, plan.own_rmpp_hdr, (bool)agent);
		KUNIT_EXPECT_EQ(test, (size_t)plan.hdr_len, row->hdr_len);
		KUNIT_EXPECT_EQ(test, (size_t)plan.data_len, len - row->hdr_len);
	}
}

static void umad_plan_cut_test(struct kunit *test)
{
	const struct umad_cut_case *row = test->param_value;
	size_t seg = row->mad_size - row->hdr_len;
	/* Each of these with two lengths on either side of it */
	const size_t around[] = {
		IB_MGMT_RMPP_HDR, row->hdr_len, row->mad_size,
		row->hdr_len + seg, row->hdr_len + 2 * seg,
		row->hdr_len + 3 * seg, row->hdr_len + 64 * seg,
		row->hdr_len + 65 * seg, row->hdr_len + 66 * seg,
		row->hdr_len + SZ_16M / seg * seg, SZ_16M, SZ_1G,
		INT_MAX - 2 * row->mad_size, INT_MAX - row->mad_size,
		INT_MAX - row->hdr_len, INT_MAX - 2,
		/* ... which passes what an int and an unsigned int hold */
		(size_t)INT_MAX + 1, UINT_MAX - row->mad_size, UINT_MAX - 2,
#ifdef CONFIG_64BIT
		BIT(32) + row->hdr_len, BIT(32) + row->mad_size,
		BIT(32) + row->hdr_len + seg, BIT(63) + row->mad_size,
		SIZE_MAX - row->mad_size,
#endif
		SIZE_MAX - 2,
	};
	int i, off;

	for (i = 0; i < ARRAY_SIZE(around); i++) {
		for (off = -2; off <= 2; off++) {
			umad_expect_cut(test, row, around[i] + off);
			umad_expect_single(test, row, around[i] + off);
		}
	}
}

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
 * struct umad_same_case - two sends
 * @desc: name of the row
 * @a: one of them
 * @b: the other one
 * @same: only one of them can be outstanding
 */
struct umad_same_case {
	const char		*desc;
	struct umad_test_send	a;
	struct umad_test_send	b;
	bool			same;
};

#define UMAD_TID	0x0000000700000001ULL

/* Requests of class 0x04 to LID 1, responses of it, with and without a GRH */
#define UMAD_REQ(...)	{ .tid = UMAD_TID, .class = 0x04, .method = 0x01, \
			  .lid = 1, __VA_ARGS__ }
#define UMAD_RESP(...)	{ .tid = UMAD_TID, .class = 0x04, .method = 0x81, \
			  .lid = 1, __VA_ARGS__ }
#define UMAD_GRESP(...)	UMAD_RESP(.grh = 1, .gid = 1, __VA_ARGS__)

static const struct umad_same_case umad_same_cases[] = {
	{
		.desc = "request again",
		.a = UMAD_REQ(), .b = UMAD_REQ(), .same = true,
	}, {
		.desc = "request for another attribute",
		.a = UMAD_REQ(), .b = UMAD_REQ(.attr_mod = 9), .same = true,
	}, {
		.desc = "request to another LID",
		.a = UMAD_REQ(),
		.b = { .tid = UMAD_TID, .class = 0x04, .method = 0x01,
		       .lid = 2 },
		.same = true,
	}, {
		.desc = "request to another GID",
		.a = UMAD_REQ(.grh = 1, .gid = 1),
		.b = UMAD_REQ(.grh = 1, .gid = 2),
		.same = true,
	}, {
		.desc = "request with and without GRH",
		.a = UMAD_REQ(), .b = UMAD_REQ(.grh = 1, .gid = 1),
		.same = true,
	}, {
		.desc = "get and set",
		.a = UMAD_REQ(),
		.b = { .tid = UMAD_TID, .class = 0x04, .method = 0x02,
		       .lid = 1 },
		.same = true,
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
		.same = true,
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
		.a = UMAD_RESP(), .b = UMAD_RESP(), .same = true,
	}, {
		.desc = "response with another method",
		.a = UMAD_RESP(),
		.b = { .tid = UMAD_TID, .class = 0x04, .method = 0x86,
		       .lid = 1 },
		.same = true,
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
		.same = true,
	}, {
		.desc = "response with GRH again",
		.a = UMAD_GRESP(), .b = UMAD_GRESP(), .same = true,
	}, {
		.desc = "response with GRH, a LID that does not matter",
		.a = UMAD_GRESP(),
		.b = { .tid = UMAD_TID, .class = 0x04, .method = 0x81,
		       .lid = 2, .grh = 1, .gid = 1 },
		.same = true,
	}, {
		.desc = "response with GRH, present being any number but 0",
		.a = UMAD_GRESP(),
		.b = UMAD_RESP(.grh = 2, .gid = 1),
		.same = true,
	}, {
		.desc = "response to another GID",
		.a = UMAD_GRESP(), .b = UMAD_RESP(.grh = 1, .gid = 2),
	}, {
		.desc = "response with and without GRH",
		.a = UMAD_RESP(), .b = UMAD_GRESP(),
	},
};

KUNIT_ARRAY_PARAM_DESC(umad_same, umad_same_cases, desc);

static struct umad_packet *umad_test_packet(struct kunit *test, u8 hdr_len)
{
	struct umad_packet *packet;

	packet = kunit_kzalloc(test, struct_size(packet, data, hdr_len +
						 sizeof(struct ib_mad_hdr)),
			       GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, packet);
	packet->hdr_len = hdr_len;
	return packet;
}

static void umad_test_packet_set(struct umad_packet *packet,
				 const struct umad_test_send *send)
{
	struct ib_user_mad_hdr *hdr = umad_packet_hdr(packet);
	struct ib_mad_hdr *mad = umad_packet_mad(packet);

	hdr->lid = cpu_to_be16(send->lid);
	hdr->grh_present = send->grh;
	hdr->gid[15] = send->gid;

	mad->base_version = 1;
	mad->mgmt_class = send->class;
	mad->method = send->method;
	mad->tid = cpu_to_be64(send->tid);
	mad->attr_mod = cpu_to_be32(send->attr_mod);
}

static void umad_send_same_test(struct kunit *test)
{
	static const u32 seeds[] = { 0, 1, 0x5eed5eed, U32_MAX };
	static const u8 hdr_lens[] = { 56, 64 };
	const struct umad_same_case *row = test->param_value;
	struct umad_packet *a, *b;
	int i, j;

	for (i = 0; i < ARRAY_SIZE(hdr_lens); i++) {
		a = umad_test_packet(test, hdr_lens[i]);
		b = umad_test_packet(test, hdr_lens[i]);
		umad_test_packet_set(a, &row->a);
		umad_test_packet_set(b, &row->b);

		KUNIT_EXPECT_EQ(test, umad_send_same(a, b), row->same);
		KUNIT_EXPECT_EQ(test, umad_send_same(b, a), row->same);
		KUNIT_EXPECT_TRUE(test, umad_send_same(a, a));
		KUNIT_EXPECT_TRUE(test, umad_send_same(b, b));

		for (j = 0; row->same && j < ARRAY_SIZE(seeds); j++)
			KUNIT_EXPECT_EQ(test, umad_send_hash(a, seeds[j]),
					umad_send_hash(b, seeds[j]));
	}
}

/**
 * struct umad_spread_case - many sends that differ in one thing
 * @desc: name of the row
 * @first: the first of them
 * @tid: how much the next transaction ID differs
 * @lid: how much the next LID differs
 * @gid: how much the next last byte of the GID differs
 */
struct umad_spread_case {
	const char		*desc;
	struct umad_test_send	first;
	u64			tid;
	u16			lid;
	u8			gid;
};

static const struct umad_spread_case umad_spread_cases[] = {
	{ "requests of an agent", UMAD_REQ(), .tid = 1 },
	{ "requests by upper half", UMAD_REQ(), .tid = 1ULL << 32 },
	{ "responses by transaction", UMAD_RESP(), .tid = 1 },
	{ "responses by LID", UMAD_RESP(), .lid = 1 },
	{ "responses by GID", UMAD_GRESP(), .gid = 1 },
};

KUNIT_ARRAY_PARAM_DESC(umad_spread, umad_spread_cases, desc);

/*
 * Of 256 sends in as many buckets, a good hash puts about five into the
 * fullest one, and more than twelve once in a hundred million seeds.
 */
static void umad_send_spread_test(struct kunit *test)
{
	const struct umad_spread_case *row = test->param_value;
	struct umad_packet *packet = umad_test_packet(test, 64);
	struct umad_test_send send = row->first;
	u8 load[256] = {};
	int i, max = 0;

	for (i = 0; i < 256; i++) {
		u32 bucket;

		umad_test_packet_set(packet, &send);
		bucket = umad_send_hash(packet, 0x5eed5eed) % 256;
		load[bucket]++;
		max = max_t(int, max, load[bucket]);

		send.tid += row->tid;
		send.lid += row->lid;
		send.gid += row->gid;
	}
	KUNIT_EXPECT_LE(test, max, 12);
}

#define UMAD_TEST_SENDS	4096

static u32 umad_sends_buckets(struct umad_file *file)
{
	u32 size;

	rcu_read_lock();
	size = rcu_dereference_raw(file->outstanding.tbl)->size;
	rcu_read_unlock();
	return size;
}

/* A worker makes the table grow and shrink, a step at a time. It may start late. */
static bool umad_sends_become(struct umad_file *file, u32 least, u32 most)
{
	u32 size;
	int i;

	for (i = 0; i < 250; i++) {
		size = umad_sends_buckets(file);
		if (least <= size && size <= most)
			return true;
		msleep(20);
	}
	return false;
}

/* What many sends took in the table of duplicates is not kept when they are over */
static void umad_sends_shrink_test(struct kunit *test)
{
	struct umad_packet **packet;
	struct umad_file *file;
	u32 before;
	int i;

	file = kunit_kzalloc(test, sizeof(*file), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, file);
	packet = kunit_kcalloc(test, UMAD_TEST_SENDS, sizeof(*packet), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, packet);
	for (i = 0; i < UMAD_TEST_SENDS; i++) {
		packet[i] = umad_test_packet(test, 64);
		umad_test_packet_set(packet[i], &(struct umad_test_send)UMAD_REQ());
		umad_packet_mad(packet[i])->tid = cpu_to_be64(UMAD_TID + i);
	}

	KUNIT_ASSERT_EQ(test, umad_sends_init(file), 0);
	before = umad_sends_buckets(file);
	for (i = 0; i < UMAD_TEST_SENDS; i++)
		KUNIT_EXPECT_EQ(test, umad_send_track(file, packet[i]), 0);
	KUNIT_EXPECT_TRUE(test, umad_sends_become(file, UMAD_TEST_SENDS, U32_MAX));
	for (i = 0; i < UMAD_TEST_SENDS; i++)
		umad_send_untrack(file, packet[i]);
	KUNIT_EXPECT_TRUE(test, umad_sends_become(file, before, before));
	umad_sends_exit(file);
}

static struct kunit_case umad_send_cases[] = {
	KUNIT_CASE_PARAM(umad_plan_send_test, umad_plan_gen_params),
	KUNIT_CASE_PARAM(umad_plan_cut_test, umad_cut_gen_params),
	KUNIT_CASE_PARAM(umad_send_same_test, umad_same_gen_params),
	KUNIT_CASE_PARAM(umad_send_spread_test, umad_spread_gen_params),
	KUNIT_CASE(umad_sends_shrink_test),
	{}
};

static struct kunit_suite umad_send_suite = {
	.name		= "umad_send",
	.test_cases	= umad_send_cases,
};

kunit_test_suite(umad_send_suite);
