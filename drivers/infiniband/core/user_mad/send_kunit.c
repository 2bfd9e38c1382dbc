// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit tests of send.c: how a written MAD is cut into segments.
 */
#include <kunit/test.h>
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
 * @user_rmpp: user space does RMPP, and it has no duplicates
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
	bool			user_rmpp;
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
		.hdr_len = 56, .user_rmpp = true,
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
		.class = 0x03, .len = SZ_256M, .mad_size = 256,
		.kernel_rmpp = true, .active = true,
		.hdr_len = 56, .rmpp = true, .own_rmpp_hdr = true,
	}, {
		.desc = "longest RMPP message of OPA",
		.class = 0x03, .len = SZ_256M, .mad_size = 2048,
		.kernel_rmpp = true, .active = true,
		.hdr_len = 56, .rmpp = true, .own_rmpp_hdr = true,
	},
	UMAD_REFUSED("RMPP message that is too long", 0x03,
		     SZ_256M + 1, .kernel_rmpp = true, .active = true),
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
	KUNIT_EXPECT_EQ(test, plan.user_rmpp, row->user_rmpp);
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

/* A message of @len: refused, or planned so that none of its bytes is lost */
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
	if (len < row->hdr_len || len > SZ_256M) {
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
	/* kmalloc() makes each segment as long as a MAD, and an OPA buffer twice as long */
	if (len > row->hdr_len)
		KUNIT_EXPECT_EQ_MSG(test, (u64)plan.long_size,
				    div_u64(end - row->hdr_len, seg) * row->mad_size +
				    (row->mad_size > 256 ? 4096 : 0), "length %zu", len);
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
		row->hdr_len + SZ_16M / seg * seg, SZ_16M, SZ_256M,
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

static struct kunit_case umad_send_cases[] = {
	KUNIT_CASE_PARAM(umad_plan_send_test, umad_plan_gen_params),
	KUNIT_CASE_PARAM(umad_plan_cut_test, umad_cut_gen_params),
	{}
};

static struct kunit_suite umad_send_suite = {
	.name		= "umad_send",
	.test_cases	= umad_send_cases,
};

kunit_test_suite(umad_send_suite);
