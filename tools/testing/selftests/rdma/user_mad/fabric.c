// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The simulated fabrics that other tests rely on forward and protect as the hardware would
 *
 * Also on: 6.1, 6.12
 */
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
	/* Before there is a table no port is a member */
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

/* SMPs of base version 0x80 on Omni-Path ports: up to 2 KiB */
#define OPA_DR_SLID		32	/* up to there they are as those of InfiniBand */
#define OPA_INITIAL_PATH	40
#define OPA_DATA		176

FIXTURE(opa)
{
	struct umad_fabric fabric;
	struct umad_sm sm;
	__u8 buf[UMAD_HDR_NEW + OPA_MAD_SIZE];
};

FIXTURE_SETUP(opa)
{
	struct umad_reg reg = umad_reg_smp(2, MAD_CLASS_SM_DIRECTED, 0);

	reg.class_version = OPA_VERSION;
	self->fabric = (struct umad_fabric){ .hosts = 2, .star = true, .opa = true };
	umad_subnet(&self->fabric);
	self->sm.directed = umad_open_agent(&self->fabric.host[0], &umad_abi_new, reg,
					    &self->sm.file);
}

FIXTURE_TEARDOWN(opa)
{
	umad_sm_close(&self->sm);
	umad_fabric_stop();
}

/* The @size bytes of an attribute: the answer is no longer */
#define opa_get(self, path, attr, size) ({				\
	struct umad_msg __msg = umad_smp_msg(&(self)->sm, path, 0, MAD_GET, attr); \
	const struct umad_file *__file = &(self)->sm.file;		\
	__u8 *__mad = (self)->buf + UMAD_HDR_NEW;			\
									\
	__msg.mad.base_version = OPA_VERSION;				\
	__msg.mad.class_version = OPA_VERSION;				\
	memset((self)->buf, 0, sizeof((self)->buf));			\
	umad_pack(__file, &__msg, OPA_DR_SLID, (self)->buf);		\
	memset(__mad + OPA_DR_SLID, 0xff, OPA_INITIAL_PATH - OPA_DR_SLID); \
	memcpy(__mad + OPA_INITIAL_PATH + 1, (path)->port, (path)->hops); \
	ASSERT_EQ((ssize_t)sizeof((self)->buf),				\
		  write(__file->fd, (self)->buf, sizeof((self)->buf)))	\
		TH_LOG("write: %s", strerror(errno));			\
	ASSERT_TRUE(umad_readable(__file, UMAD_SOON_MS));		\
	ASSERT_EQ((ssize_t)(UMAD_HDR_NEW + OPA_DATA + (size)),		\
		  read(__file->fd, (self)->buf, sizeof((self)->buf)));	\
	memcpy(&__msg, (self)->buf, UMAD_HDR_NEW + MAD_HDR);		\
	EXPECT_EQ(0, __msg.hdr.status);					\
	EXPECT_EQ(OPA_VERSION, __msg.mad.base_version);			\
	EXPECT_EQ(SMP_D_BIT, be16toh(__msg.mad.status));		\
	EXPECT_EQ(MAD_GET_RESP, __msg.mad.method);			\
	(char *)__mad + OPA_DATA;					\
})

TEST_F(opa, smps)
{
	static const char *const name[] = { "h1", "s1", "h2" };
	static const int type[] = { 1, 2, 1 };
	const struct umad_path *path[] = { &umad_here, &umad_to_next, &umad_to_second };
	unsigned int i;
	char *data;

	for (i = 0; i < 3; i++) {
		data = opa_get(self, path[i], SMP_NODE_INFO, 44);
		EXPECT_EQ(OPA_VERSION, (__u8)data[0]);
		EXPECT_EQ(type[i], data[2]);
		data = opa_get(self, path[i], SMP_NODE_DESC, 64);
		EXPECT_STREQ(name[i], data);
	}
}

TEST_HARNESS_MAIN
