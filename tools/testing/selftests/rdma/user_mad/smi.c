// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * QP0, which Soft-RoCE has not: agents of the SMP classes, and directed routes, over a
 * simulated fabric.
 *
 * Also on: 6.1, 6.12
 */
#include "kselftest_harness.h"
#include "lib/subnet.h"

/*
 * Three hosts and a switch. The first host's QP0 is also used by the descriptor
 * under test, in the oldest and the newest way to speak.
 */
FIXTURE(smi)
{
	struct umad_fabric fabric;
	struct umad_sm sm;
	struct umad_file file;
	struct umad_file second;
	__u32 directed;
	__u32 by_lid;
};

umad_abi_variants(smi);
umad_abi_variant(smi, v1_old);
umad_abi_variant(smi, v2_new);

FIXTURE_SETUP(smi)
{
	struct umad_reg reg;

	self->fabric = (struct umad_fabric){ .hosts = 3, .star = true };
	umad_subnet(&self->fabric);
	umad_sm_open(&self->fabric.host[0], &self->sm);

	self->directed = umad_open_agent(&self->fabric.host[0], &variant->abi,
					 umad_reg_smp(variant->abi.api, MAD_CLASS_SM_DIRECTED, 0),
					 &self->file);
	reg = umad_reg_smp(variant->abi.api, MAD_CLASS_SM_LID, 0);
	self->by_lid = umad_register(&self->file, &reg);
}

FIXTURE_TEARDOWN(smi)
{
	umad_close(&self->file);
	umad_close(&self->second);
	umad_sm_close(&self->sm);
	umad_fabric_stop();
}

static struct umad_msg smi_msg(FIXTURE_DATA(smi) *self, const struct umad_path *path, __u16 lid,
			       __u8 method, __u16 attr)
{
	struct umad_msg msg = umad_smp_msg(&self->sm, path, lid, method, attr);

	msg.hdr.id = path ? self->directed : self->by_lid;
	return msg;
}

/* What every answer has in common */
#define smi_answer(self, asked, got) do {				\
	const struct umad_smp *__ask = (void *)&(asked)->mad;		\
	const struct umad_smp *__got = (void *)&(got)->mad;		\
									\
	umad_read(&(self)->file, got);					\
	EXPECT_EQ((asked)->hdr.id, (got)->hdr.id);			\
	EXPECT_EQ(0, (got)->hdr.qpn);					\
	EXPECT_EQ(0, (got)->hdr.sl);					\
	EXPECT_EQ(0, (got)->hdr.path_bits);				\
	EXPECT_EQ(0, (got)->hdr.grh_present);				\
	EXPECT_EQ(0, (got)->hdr.pkey_index);				\
	EXPECT_EQ(MAD_GET_RESP, __got->method);				\
	EXPECT_EQ(__ask->mgmt_class, __got->mgmt_class);		\
	EXPECT_EQ((__u32)be64toh(__ask->tid), (__u32)be64toh(__got->tid)); \
	EXPECT_EQ(__ask->attr_id, __got->attr_id);			\
	EXPECT_EQ(__ask->attr_mod, __got->attr_mod);			\
} while (0)

#define smi_ask(self, asked, got) do {					\
	umad_write(&(self)->file, asked);				\
	smi_answer(self, asked, got);					\
} while (0)

/* By directed routes: what is there, and how it was reached */
TEST_F(smi, directed_routes)
{
	static const struct {
		struct umad_path path;
		int host;	/* that is there, or -1 for the switch */
	} row[] = {
		{ { 0 }, 0 },
		{ { 1, { 1 } }, -1 },
		/* Out of the switch by the port it came in by */
		{ { 2, { 1, 1 } }, 0 },
		{ { 2, { 1, 2 } }, 1 },
		{ { 2, { 1, 3 } }, 2 },
	};
	unsigned int i, hop;

	for (i = 0; i < ARRAY_SIZE(row); i++) {
		struct umad_msg msg = smi_msg(self, &row[i].path, 0, MAD_GET, SMP_NODE_INFO), got;
		struct umad_smp *smp = umad_smp_of(&got);

		smi_ask(self, &msg, &got);
		EXPECT_EQ(LID_PERMISSIVE, be16toh(got.hdr.lid));
		EXPECT_EQ(SMP_D_BIT, be16toh(smp->status));
		if (row[i].path.hops)
			EXPECT_EQ(0, smp->hop_ptr);
		EXPECT_EQ(row[i].path.hops, smp->hop_cnt);
		EXPECT_EQ(0, memcmp(smp->initial_path, umad_smp_of(&msg)->initial_path, 64));
		/* In by port 1 of the switch, in by port 1 of the host */
		for (hop = 1; hop <= row[i].path.hops && row[i].path.port[1] != 1; hop++)
			EXPECT_EQ(1, smp->return_path[hop]);
		EXPECT_EQ(1, umad_info_port(smp));
		EXPECT_EQ(row[i].host < 0 ? 2 : 1, smp->data[2]);	/* NodeType */
		if (row[i].host >= 0)
			EXPECT_EQ(umad_node_guid(&self->fabric.host[row[i].host]),
				  umad_info_guid(smp->data));
	}
	umad_expect_empty(&self->file);
}

/* By LID to the switch, by a directed route from there */
TEST_F(smi, combined_route)
{
	static const struct umad_path path = { 1, { 3 } };
	struct umad_msg msg = smi_msg(self, &path, 0, MAD_GET, SMP_NODE_INFO), got;
	struct umad_smp *smp = umad_smp_of(&got);

	msg.hdr.lid = htobe16(self->fabric.sw.lid);
	umad_smp_of(&msg)->dr_slid = htobe16(self->fabric.host[0].lid);
	smi_ask(self, &msg, &got);
	EXPECT_EQ(self->fabric.sw.lid, be16toh(got.hdr.lid));
	EXPECT_EQ(SMP_D_BIT, be16toh(smp->status));
	EXPECT_EQ(umad_node_guid(&self->fabric.host[2]), umad_info_guid(smp->data));
}

/*
 * To the port itself, where no agent serves it: neither the port nor the MAD layer
 * answers, and both are through with it at once. So is the requester.
 */
TEST_F(smi, served_by_nobody)
{
	struct umad_msg msg = smi_msg(self, &umad_here, 0, MAD_GET, SMP_SM_INFO), got;
	bool over;

	msg.hdr.timeout_ms = 600000;
	umad_write(&self->file, &msg);
	over = umad_readable(&self->file, umad_fixed_ms());
	if (over) {
		umad_read_timeout(&self->file, &got);
		EXPECT_EQ((__u32)be64toh(msg.mad.tid), (__u32)be64toh(got.mad.tid));
		EXPECT_EQ(msg.hdr.timeout_ms, got.hdr.timeout_ms);
	}
	umad_expect_empty(&self->file);
	EXPECT_FIXED(over, "a request that nobody serves here ends without a trace");

	/* Without a timeout no record comes */
	msg = smi_msg(self, &umad_here, 0, MAD_GET, SMP_SM_INFO);
	msg.hdr.timeout_ms = 0;
	umad_write(&self->file, &msg);
	EXPECT_FALSE(umad_readable(&self->file, UMAD_QUIET_MS));
}

/*
 * The errno of a write while the device has @fault, or 0. The kernel's SA client
 * has address handles, too, and may be who meets it: then it is tried again.
 */
static int refused(FIXTURE_DATA(smi) *self, struct umad_msg *msg, const char *fault)
{
	struct umad_msg got;
	int i;

	for (i = 0; i < 10; i++) {
		if (_umad_fabric_fault(fault))
			return -1;
		if (_umad_write(&self->file, msg) < 0)
			return errno;
		if (!umad_readable(&self->file, UMAD_SOON_MS) || _umad_read(&self->file, &got) < 0)
			return -1;
	}
	return 0;
}

/* What the device did not take may be for the address: that is not used again */
TEST_F(smi, refused_address)
{
	struct umad_msg msg = smi_msg(self, &umad_to_next, 0, MAD_GET, SMP_NODE_INFO), got;
	bool anew = false;
	int i;

	for (i = 0; i < 10 && !anew; i++) {
		smi_ask(self, &msg, &got);
		ASSERT_EQ(EIO, refused(self, &msg, "h1 fail post_send 5"));
		umad_fabric_fault("h1 fail create_ah 12");
		errno = 0;
		anew = _umad_write(&self->file, &msg) < 0;
		if (!anew)
			umad_read(&self->file, &got);
	}
	ASSERT_TRUE(anew)
		TH_LOG("the address handle of a send that failed is used again");
	EXPECT_EQ(ENOMEM, errno);
	smi_ask(self, &msg, &got);
}

/* One TID, one request: also when the routes differ, but not the classes */
TEST_F(smi, duplicate_by_another_route)
{
	static const struct umad_path nowhere = { 2, { 1, 99 } };
	struct umad_msg msg = smi_msg(self, &nowhere, 0, MAD_GET, SMP_NODE_INFO);
	struct umad_msg other = smi_msg(self, &umad_to_next, 0, MAD_GET, SMP_NODE_INFO);
	struct umad_msg lid = smi_msg(self, NULL, self->fabric.host[1].lid, MAD_GET, SMP_NODE_INFO);
	struct umad_msg got;

	msg.hdr.timeout_ms = 300;
	other.mad.tid = msg.mad.tid;
	lid.mad.tid = msg.mad.tid;
	umad_write(&self->file, &msg);
	umad_err_write(EINVAL, &self->file, &other);
	smi_ask(self, &lid, &got);
	umad_read_timeout(&self->file, &got);
	smi_ask(self, &other, &got);
}

/* A request that the device leaves to software, answered by an agent or by none */
TEST_F(smi, request_is_served_by_an_agent)
{
	struct umad_msg ask[2], got;
	struct umad_reg reg;
	unsigned int i;

	ask[0] = smi_msg(self, &umad_to_second, 0, MAD_GET, SMP_SM_INFO);
	ask[1] = smi_msg(self, NULL, self->fabric.host[1].lid, MAD_GET, SMP_SM_INFO);
	for (i = 0; i < 2; i++) {
		smi_ask(self, &ask[i], &got);
		EXPECT_EQ(STATUS_UNSUPPORTED, be16toh(umad_smp_of(&got)->status) & ~SMP_D_BIT);
	}

	umad_open_abi(&self->fabric.host[1], &variant->abi, O_RDWR | O_NONBLOCK, &self->second);
	reg = umad_reg_smp(variant->abi.api, MAD_CLASS_SM_DIRECTED, 1ULL << MAD_GET);
	EXPECT_EQ(0, umad_register(&self->second, &reg));
	reg = umad_reg_smp(variant->abi.api, MAD_CLASS_SM_LID, 1ULL << MAD_GET);
	EXPECT_EQ(1, umad_register(&self->second, &reg));

	for (i = 0; i < 2; i++) {
		umad_write(&self->file, &ask[i]);
		umad_read(&self->second, &got);
		EXPECT_EQ(i, got.hdr.id);
		EXPECT_EQ(0, got.hdr.qpn);
		EXPECT_EQ(i ? self->fabric.host[0].lid : LID_PERMISSIVE, be16toh(got.hdr.lid));
		EXPECT_EQ(MAD_GET, umad_smp_of(&got)->method);
		EXPECT_EQ(SMP_SM_INFO, be16toh(umad_smp_of(&got)->attr_id));

		/* With the header that it came with; D bit: back by the route */
		umad_smp_of(&got)->method = MAD_GET_RESP;
		umad_smp_of(&got)->status = htobe16(i ? 0 : SMP_D_BIT);
		memset(umad_smp_of(&got)->data, 0x55 + i, 64);
		umad_write(&self->second, &got);

		smi_answer(self, &ask[i], &got);
		EXPECT_EQ(i ? self->fabric.host[1].lid : LID_PERMISSIVE, be16toh(got.hdr.lid));
		EXPECT_EQ(0x55 + i, umad_smp_of(&got)->data[0]);
		EXPECT_EQ(0x55 + i, umad_smp_of(&got)->data[63]);
	}
	umad_expect_empty(&self->second);
	umad_expect_empty(&self->file);
}

TEST_HARNESS_MAIN
