// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The simulated fabrics that other tests rely on forward and protect as the hardware
 * would.
 */

#include "kselftest_harness.h"
#include "lib/subnet.h"

#include "kselftest_harness.h"
#include "lib/subnet.h"

#define MCAST_LID		0xc005
#define MCAST_QPN		0xffffff
#define MFT_LIDS		1024

/* Four hosts and a switch, which has an agent, too */
#define MCAST_PORTS	5	/* of the switch, with port 0 */

FIXTURE(multicast)
{
	struct umad_fabric fabric;
	struct umad_sm sm;
	struct umad_file file[MCAST_PORTS];	/* by port of the switch */
	__u32 id[MCAST_PORTS];
	__u64 tid;
};

FIXTURE_SETUP(multicast)
{
	const struct umad_port *port;
	int i;

	self->fabric = (struct umad_fabric){ .hosts = 4, .star = true, .switch_device = true };
	umad_subnet(&self->fabric);
	umad_sm_open(&self->fabric.host[0], &self->sm);
	for (i = 0; i < MCAST_PORTS; i++) {
		port = i ? &self->fabric.host[i - 1] : &self->fabric.sw;
		self->id[i] = umad_open_agent(port, &umad_abi_new,
					      umad_reg_vendor(1, 1ULL << MAD_SEND),
					      &self->file[i]);
	}
}

FIXTURE_TEARDOWN(multicast)
{
	int i;

	for (i = 0; i < MCAST_PORTS; i++)
		umad_close(&self->file[i]);
	umad_sm_close(&self->sm);
	umad_fabric_stop();
}

/* Which ports of the switch a packet to MCAST_LID leaves by */
static int mcast_members(FIXTURE_DATA(multicast) *self, __u16 ports)
{
	__be16 block[32] = {};

	block[MCAST_LID & 31] = htobe16(ports);
	return umad_smp(&self->sm, &umad_to_next, 0, MAD_SET, SMP_MCAST_FWD, 0, block);
}

/*
 * @from sends to @to_lid; exactly those that are in @to get it, once. Without a
 * GRH, as umad does not hand on what was sent to a GID that is not the port's.
 */
#define mcast_reaches(self, from, to_lid, to_qpn, to) do {		\
	struct umad_msg __msg = umad_msg(&(self)->fabric.host[0], (self)->id[from], \
					 MAD_SEND, ++(self)->tid), __got; \
	__u16 __from = (from) ? (self)->fabric.host[(from) - 1].lid : (self)->fabric.sw.lid; \
	int __i;							\
									\
	__msg.hdr.lid = htobe16(to_lid);				\
	__msg.hdr.qpn = htobe32(to_qpn);				\
	umad_write(&(self)->file[from], &__msg);			\
	for (__i = 0; __i < MCAST_PORTS; __i++) {			\
		if (!((to) & 1 << __i))					\
			continue;					\
		umad_read(&(self)->file[__i], &__got);			\
		EXPECT_EQ((__u32)(self)->tid, (__u32)be64toh(__got.mad.tid)); \
		EXPECT_EQ(__from, be16toh(__got.hdr.lid));		\
		EXPECT_EQ(0, memcmp(__got.mad.data, __msg.mad.data,	\
				    sizeof(__msg.mad.data)));		\
	}								\
	umad_sleep_ms(UMAD_QUIET_MS);					\
	for (__i = 0; __i < MCAST_PORTS; __i++)				\
		EXPECT_FALSE(umad_readable(&(self)->file[__i], 0))	\
			TH_LOG("port %d got a MAD that was not for it", __i); \
} while (0)

TEST_F(multicast, members_only)
{
	/* Before there is a table nobody is a member */
	mcast_reaches(self, 1, MCAST_LID, MCAST_QPN, 0);

	/* Hosts 1, 2 and 4; never back to the sender; a sender need not be one */
	ASSERT_EQ(0, mcast_members(self, 1 << 1 | 1 << 2 | 1 << 4));
	mcast_reaches(self, 1, MCAST_LID, MCAST_QPN, 1 << 2 | 1 << 4);
	mcast_reaches(self, 2, MCAST_LID, MCAST_QPN, 1 << 1 | 1 << 4);
	mcast_reaches(self, 3, MCAST_LID, MCAST_QPN, 1 << 1 | 1 << 2 | 1 << 4);

	/* The switch, as a member and as a sender */
	ASSERT_EQ(0, mcast_members(self, 1 << 0 | 1 << 3));
	mcast_reaches(self, 1, MCAST_LID, MCAST_QPN, 1 << 0 | 1 << 3);
	mcast_reaches(self, 0, MCAST_LID, MCAST_QPN, 1 << 3);

	/* QP1 may be named, too; other LIDs and QPs are others */
	mcast_reaches(self, 1, MCAST_LID, 1, 1 << 0 | 1 << 3);
	mcast_reaches(self, 1, MCAST_LID, 7, 0);
	mcast_reaches(self, 1, MCAST_LID + 1, MCAST_QPN, 0);
	mcast_reaches(self, 1, 0xfffe, MCAST_QPN, 0);
	/* The first one that the table has no room for */
	mcast_reaches(self, 1, 0xc000 + MFT_LIDS, MCAST_QPN, 0);

	ASSERT_EQ(0, mcast_members(self, 0));
	mcast_reaches(self, 1, MCAST_LID, MCAST_QPN, 0);
}

/* A port that is only armed receives, one that is down does not */
TEST_F(multicast, port_states)
{
	ASSERT_EQ(0, mcast_members(self, 1 << 2 | 1 << 3));
	umad_fabric_fault("h2 1 link down");
	mcast_reaches(self, 1, MCAST_LID, MCAST_QPN, 1 << 3);
	umad_fabric_fault("h2 1 link up");
	mcast_reaches(self, 1, MCAST_LID, MCAST_QPN, 1 << 3);
}

/* MADs of 2 KiB: base version 0x80 on Omni-Path ports */
#define OPA_MAD_SIZE		2048
#define OPA_BASE_VERSION	0x80
#define OPA_SMP_HEADER		176
#define OPA_NODE_INFO		44
#define OPA_NODE_DESC		64

struct opa_smp {
	__u8	base_version;
	__u8	mgmt_class;
	__u8	class_version;
	__u8	method;
	__be16	status;
	__u8	hop_ptr;
	__u8	hop_cnt;
	__be64	tid;
	__be16	attr_id;
	__be16	resv;
	__be32	attr_mod;
	__be64	mkey;
	__be32	dr_slid;
	__be32	dr_dlid;
	__u8	initial_path[64];
	__u8	return_path[64];
	__u8	reserved[8];
	__u8	data[OPA_MAD_SIZE - OPA_SMP_HEADER];
};

static_assert(sizeof(struct opa_smp) == OPA_MAD_SIZE, "OPA's SMP has 2 KiB");

struct opa_msg {
	struct ib_user_mad_hdr hdr;
	struct opa_smp smp;
};

FIXTURE(opa)
{
	struct umad_fabric fabric;
	struct umad_file file;
	__u32 id;
};

FIXTURE_SETUP(opa)
{
	struct umad_reg reg = {
		.api = 2,
		.mgmt_class = MAD_CLASS_SM_DIRECTED,
		.class_version = OPA_BASE_VERSION,
	};

	self->fabric = (struct umad_fabric){ .hosts = 2, .star = true, .opa = true };
	umad_subnet(&self->fabric);
	self->id = umad_open_agent(&self->fabric.host[0], &umad_abi_new, reg, &self->file);
}

FIXTURE_TEARDOWN(opa)
{
	umad_close(&self->file);
	umad_fabric_stop();
}

/* The answer is as long as the attribute */
#define opa_query(self, path, attr, msg, size) do {			\
	memset(msg, 0, sizeof(*(msg)));					\
	(msg)->hdr.id = (self)->id;					\
	(msg)->hdr.timeout_ms = UMAD_SOON_MS;				\
	(msg)->hdr.lid = htobe16(LID_PERMISSIVE);			\
	(msg)->smp.base_version = OPA_BASE_VERSION;			\
	(msg)->smp.mgmt_class = MAD_CLASS_SM_DIRECTED;			\
	(msg)->smp.class_version = OPA_BASE_VERSION;			\
	(msg)->smp.method = MAD_GET;					\
	(msg)->smp.tid = htobe64(attr);					\
	(msg)->smp.attr_id = htobe16(attr);				\
	(msg)->smp.dr_slid = 0xffffffff;				\
	(msg)->smp.dr_dlid = 0xffffffff;				\
	(msg)->smp.hop_cnt = (path)->hops;				\
	memcpy((msg)->smp.initial_path + 1, (path)->port, (path)->hops); \
	ASSERT_EQ((ssize_t)sizeof(*(msg)),				\
		  write((self)->file.fd, msg, sizeof(*(msg))))		\
		TH_LOG("write: %s", strerror(errno));			\
	ASSERT_TRUE(umad_readable(&(self)->file, UMAD_SOON_MS));	\
	ASSERT_EQ((ssize_t)(UMAD_HDR_NEW + OPA_SMP_HEADER + (size)),	\
		  read((self)->file.fd, msg, sizeof(*(msg))));		\
	EXPECT_EQ(0, (msg)->hdr.status);				\
	EXPECT_EQ(OPA_BASE_VERSION, (msg)->smp.base_version);		\
	EXPECT_EQ(0x8000, be16toh((msg)->smp.status));			\
	EXPECT_EQ(MAD_GET_RESP, (msg)->smp.method);			\
} while (0)

TEST_F(opa, smps)
{
	static const struct umad_path path[] = { { 0 }, { 1, { 1 } }, { 2, { 1, 2 } } };
	static const char *const name[] = { "h1", "s1", "h2" };
	static const int type[] = { 1, 2, 1 };
	struct opa_msg msg;
	unsigned int i;

	for (i = 0; i < 3; i++) {
		opa_query(self, &path[i], SMP_NODE_INFO, &msg, OPA_NODE_INFO);
		EXPECT_EQ(OPA_BASE_VERSION, msg.smp.data[0]);
		EXPECT_EQ(type[i], msg.smp.data[2]);
		opa_query(self, &path[i], SMP_NODE_DESC, &msg, OPA_NODE_DESC);
		EXPECT_STREQ(name[i], (char *)msg.smp.data);
	}
}

TEST_HARNESS_MAIN
