// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit tests of the three ways to spell a registration request, which ioctl.h
 * decodes, and of the two layouts of the header. All numbers here are the ABI's
 * own, in full.
 */
#include <kunit/test.h>

#include "ioctl.h"

#define UMAD_TEST_METHODS	4

/**
 * struct umad_mask_case - a set of methods, which every spelling can express
 * @desc: name of the row
 * @count: how many methods are in the set
 * @methods: the set
 */
struct umad_mask_case {
	const char	*desc;
	unsigned int	count;
	u8		methods[UMAD_TEST_METHODS];
};

static const struct umad_mask_case umad_mask_cases[] = {
	{ "empty" },
	{ "first method", 1, { 0 } },
	{ "get and set", 2, { 1, 2 } },
	{ "around the end of word 0", 2, { 31, 32 } },
	{ "around the middle", 2, { 63, 64 } },
	{ "around the end of word 2", 2, { 95, 96 } },
	{ "last method", 1, { 127 } },
	{ "one in each word", 4, { 5, 38, 71, 104 } },
};

KUNIT_ARRAY_PARAM_DESC(umad_mask, umad_mask_cases, desc);

static void expect_methods(struct kunit *test, const struct umad_reg *reg,
			   const struct umad_mask_case *row)
{
	unsigned int method;

	for (method = 0; method < 128; method++)
		KUNIT_EXPECT_EQ_MSG(test,
				    test_bit(method, reg->req.method_mask),
				    !!memchr(row->methods, method, row->count),
				    "method %u", method);
}

static void umad_mask_v1_test(struct kunit *test)
{
	const struct umad_mask_case *row = test->param_value;
	struct ib_user_mad_reg_req ureq = { .qpn = 1 };
	struct umad_reg reg;
	unsigned int i;

	for (i = 0; i < row->count; i++)
		ureq.method_mask[row->methods[i] / BITS_PER_LONG] |=
			1UL << (row->methods[i] % BITS_PER_LONG);

	umad_decode_v1(&ureq, false, &reg);
	expect_methods(test, &reg, row);
}

static void umad_mask_compat_test(struct kunit *test)
{
	const struct umad_mask_case *row = test->param_value;
	struct ib_user_mad_reg_req ureq = { .qpn = 1 };
	u32 words[4] = {};
	struct umad_reg reg;
	unsigned int i;

	for (i = 0; i < row->count; i++)
		words[row->methods[i] / 32] |= 1U << (row->methods[i] % 32);
	memcpy(ureq.method_mask, words, sizeof(words));

	umad_decode_v1(&ureq, true, &reg);
	expect_methods(test, &reg, row);
}

static void umad_mask_v2_test(struct kunit *test)
{
	const struct umad_mask_case *row = test->param_value;
	struct ib_user_mad_reg_req2 ureq = { .qpn = 1 };
	struct umad_reg reg;
	unsigned int i;

	for (i = 0; i < row->count; i++)
		ureq.method_mask[row->methods[i] / 64] |=
			1ULL << (row->methods[i] % 64);

	umad_decode_v2(&ureq, &reg);
	expect_methods(test, &reg, row);
}

/**
 * struct umad_decode_case - a request to register and what it means
 * @desc: name of the row
 * @ureq: the request, as REGISTER_AGENT2 has it
 * @ret: what decoding it returns
 * @qp_type: the QP type it selects
 * @oui: the OUI it selects, most significant byte first
 */
struct umad_decode_case {
	const char			*desc;
	struct ib_user_mad_reg_req2	ureq;
	int				ret;
	enum ib_qp_type			qp_type;
	u8				oui[3];
};

static const struct umad_decode_case umad_decode_cases[] = {
	{
		.desc		= "QP0",
		.ureq		= { .qpn = 0, .mgmt_class = 0x81,
				    .mgmt_class_version = 1 },
		.qp_type	= IB_QPT_SMI,
	}, {
		.desc		= "QP1",
		.ureq		= { .qpn = 1, .mgmt_class = 0x03,
				    .mgmt_class_version = 2,
				    .rmpp_version = 1 },
		.qp_type	= IB_QPT_GSI,
	}, {
		.desc		= "QP2",
		.ureq		= { .qpn = 2 },
		.ret		= -EINVAL,
	}, {
		.desc		= "QP255",
		.ureq		= { .qpn = 255 },
		.ret		= -EINVAL,
	}, {
		.desc		= "OUI most significant byte first",
		.ureq		= { .qpn = 1, .mgmt_class = 0x30,
				    .mgmt_class_version = 1,
				    .oui = 0x001405 },
		.qp_type	= IB_QPT_GSI,
		.oui		= { 0x00, 0x14, 0x05 },
	}, {
		.desc		= "what the MAD layer is to judge",
		.ureq		= { .qpn = 1, .mgmt_class = 0x50,
				    .mgmt_class_version = 8,
				    .oui = 0xffffff, .rmpp_version = 255 },
		.qp_type	= IB_QPT_GSI,
		.oui		= { 0xff, 0xff, 0xff },
	},
};

KUNIT_ARRAY_PARAM_DESC(umad_decode, umad_decode_cases, desc);

/* What REGISTER_AGENT cannot say */
static const struct umad_decode_case umad_v2_cases[] = {
	{
		.desc		= "QP256, which is 0 in a byte",
		.ureq		= { .qpn = 256 },
		.ret		= -EINVAL,
	}, {
		.desc		= "QP of all ones",
		.ureq		= { .qpn = U32_MAX },
		.ret		= -EINVAL,
	}, {
		.desc		= "user space does RMPP",
		.ureq		= { .qpn = 1, .mgmt_class = 0x03, .flags = 1,
				    .rmpp_version = 1 },
		.qp_type	= IB_QPT_GSI,
	}, {
		.desc		= "lowest unknown flag",
		.ureq		= { .qpn = 1, .flags = 2 },
		.ret		= -EINVAL,
	}, {
		.desc		= "highest flag beside a known one",
		.ureq		= { .qpn = 1, .flags = 0x80000001 },
		.ret		= -EINVAL,
	}, {
		.desc		= "OUI of 25 bits",
		.ureq		= { .qpn = 1, .mgmt_class = 0x30,
				    .oui = 0x1001405 },
		.ret		= -EINVAL,
	}, {
		.desc		= "OUI of 25 bits, vendor class or not",
		.ureq		= { .qpn = 1, .mgmt_class = 0x03,
				    .oui = 0x1000000 },
		.ret		= -EINVAL,
	}, {
		.desc		= "OUI of 25 bits without a class",
		.ureq		= { .qpn = 1, .oui = 0x1001405 },
		.qp_type	= IB_QPT_GSI,
		.oui		= { 0x00, 0x14, 0x05 },
	}, {
		.desc		= "reserved fields are ignored",
		.ureq		= { .qpn = 1, .res = U16_MAX,
				    .reserved = { 1, 2, 3 } },
		.qp_type	= IB_QPT_GSI,
	},
};

KUNIT_ARRAY_PARAM_DESC(umad_v2, umad_v2_cases, desc);

static void expect_decoded(struct kunit *test, const struct umad_reg *reg,
			   const struct umad_decode_case *row)
{
	KUNIT_EXPECT_EQ(test, reg->qp_type, row->qp_type);
	KUNIT_EXPECT_EQ(test, reg->req.mgmt_class, row->ureq.mgmt_class);
	KUNIT_EXPECT_EQ(test, reg->req.mgmt_class_version,
			row->ureq.mgmt_class_version);
	KUNIT_EXPECT_MEMEQ(test, reg->req.oui, row->oui, 3);
	KUNIT_EXPECT_EQ(test, reg->rmpp_version, row->ureq.rmpp_version);
	KUNIT_EXPECT_EQ(test, reg->flags, row->ureq.flags);
}

static void umad_decode_v1_test(struct kunit *test)
{
	const struct umad_decode_case *row = test->param_value;
	struct ib_user_mad_reg_req ureq = {
		.qpn = row->ureq.qpn,
		.mgmt_class = row->ureq.mgmt_class,
		.mgmt_class_version = row->ureq.mgmt_class_version,
		.oui = { row->oui[0], row->oui[1], row->oui[2] },
		.rmpp_version = row->ureq.rmpp_version,
	};
	struct umad_reg reg;
	int compat;

	for (compat = 0; compat <= 1; compat++) {
		memset(&reg, 0xa5, sizeof(reg));
		KUNIT_ASSERT_EQ(test, umad_check_qpn(ureq.qpn), row->ret);
		umad_decode_v1(&ureq, compat, &reg);
		if (!row->ret)
			expect_decoded(test, &reg, row);
	}
}

static void umad_decode_v2_test(struct kunit *test)
{
	const struct umad_decode_case *row = test->param_value;
	struct umad_reg reg;

	memset(&reg, 0xa5, sizeof(reg));
	KUNIT_ASSERT_EQ(test, umad_check_v2(&row->ureq), row->ret);
	umad_decode_v2(&row->ureq, &reg);
	if (!row->ret)
		expect_decoded(test, &reg, row);
}

/**
 * struct umad_field_case - a field that both layouts of the header have
 * @desc: name of the field
 * @offset: where it is by the ABI
 * @old: where it is in the old layout
 * @now: where it is in the current layout
 */
struct umad_field_case {
	const char	*desc;
	size_t		offset;
	size_t		old;
	size_t		now;
};

#define UMAD_OLD(field)	offsetof(struct ib_user_mad_hdr_old, field)
#define UMAD_NOW(field)	offsetof(struct ib_user_mad_hdr, field)

static const struct umad_field_case umad_field_cases[] = {
	{ "id", 0, UMAD_OLD(id), UMAD_NOW(id) },
	{ "status", 4, UMAD_OLD(status), UMAD_NOW(status) },
	{ "timeout_ms", 8, UMAD_OLD(timeout_ms), UMAD_NOW(timeout_ms) },
	{ "retries", 12, UMAD_OLD(retries), UMAD_NOW(retries) },
	{ "length", 16, UMAD_OLD(length), UMAD_NOW(length) },
	{ "qpn", 20, UMAD_OLD(qpn), UMAD_NOW(qpn) },
	{ "qkey", 24, UMAD_OLD(qkey), UMAD_NOW(qkey) },
	{ "lid", 28, UMAD_OLD(lid), UMAD_NOW(lid) },
	{ "sl", 30, UMAD_OLD(sl), UMAD_NOW(sl) },
	{ "path_bits", 31, UMAD_OLD(path_bits), UMAD_NOW(path_bits) },
	{ "grh_present", 32, UMAD_OLD(grh_present), UMAD_NOW(grh_present) },
	{ "gid_index", 33, UMAD_OLD(gid_index), UMAD_NOW(gid_index) },
	{ "hop_limit", 34, UMAD_OLD(hop_limit), UMAD_NOW(hop_limit) },
	{ "traffic_class", 35, UMAD_OLD(traffic_class), UMAD_NOW(traffic_class) },
	{ "gid", 36, UMAD_OLD(gid), UMAD_NOW(gid) },
	{ "flow_label", 52, UMAD_OLD(flow_label), UMAD_NOW(flow_label) },
};

KUNIT_ARRAY_PARAM_DESC(umad_field, umad_field_cases, desc);

static void umad_hdr_field_test(struct kunit *test)
{
	const struct umad_field_case *row = test->param_value;

	KUNIT_EXPECT_EQ(test, row->old, row->offset);
	KUNIT_EXPECT_EQ(test, row->now, row->offset);
}

static void umad_hdr_size_test(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, sizeof(struct ib_user_mad_hdr_old), 56);
	KUNIT_EXPECT_EQ(test, sizeof(struct ib_user_mad_hdr), 64);
	KUNIT_EXPECT_EQ(test, offsetof(struct ib_user_mad_hdr, pkey_index), 56);
	KUNIT_EXPECT_EQ(test, sizeof(struct ib_user_mad_reg_req), 28);
	KUNIT_EXPECT_EQ(test, sizeof(struct ib_user_mad_reg_req2), 40);
}

/* What follows an old header is the MAD, and never taken for a P_Key index */
static void umad_hdr_pkey_test(struct kunit *test)
{
	struct ib_user_mad_hdr hdr;

	memset(&hdr, 0xa5, sizeof(hdr));

	KUNIT_EXPECT_EQ(test, umad_hdr_pkey_index(&hdr, 56), 0);
	KUNIT_EXPECT_EQ(test, umad_hdr_pkey_index(&hdr, 64), 0xa5a5);
}

static struct kunit_case umad_ioctl_cases[] = {
	KUNIT_CASE_PARAM(umad_mask_v1_test, umad_mask_gen_params),
	KUNIT_CASE_PARAM(umad_mask_compat_test, umad_mask_gen_params),
	KUNIT_CASE_PARAM(umad_mask_v2_test, umad_mask_gen_params),
	KUNIT_CASE_PARAM(umad_decode_v1_test, umad_decode_gen_params),
	KUNIT_CASE_PARAM(umad_decode_v2_test, umad_decode_gen_params),
	KUNIT_CASE_PARAM(umad_decode_v2_test, umad_v2_gen_params),
	KUNIT_CASE_PARAM(umad_hdr_field_test, umad_field_gen_params),
	KUNIT_CASE(umad_hdr_size_test),
	KUNIT_CASE(umad_hdr_pkey_test),
	{}
};

static struct kunit_suite umad_ioctl_suite = {
	.name		= "umad_ioctl",
	.test_cases	= umad_ioctl_cases,
};

kunit_test_suite(umad_ioctl_suite);
