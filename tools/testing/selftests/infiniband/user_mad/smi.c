// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What Soft-RoCE has not: QP0, directed routes, LIDs, P_Keys and IsSM, over a
 * simulated fabric.
 */

#include "umad_fabric.h"

/* Every kind of fabric comes up and carries MADs of QP0 and QP1 */
FIXTURE(fabric)
{
	struct umad_fabric fabric;
	struct umad_sm sm;
	struct umad_file client;
	struct umad_file server;
	__u32 cid;
	__u32 sid;
};

FIXTURE_VARIANT(fabric)
{
	struct umad_fabric fabric;
};

FIXTURE_VARIANT_ADD(fabric, pair)
{
	.fabric = { .hosts = 2 },
};

FIXTURE_VARIANT_ADD(fabric, star)
{
	.fabric = { .hosts = 3, .star = true },
};

FIXTURE_VARIANT_ADD(fabric, lmc)
{
	.fabric = { .hosts = 2, .star = true, .lmc = 3 },
};

FIXTURE_VARIANT_ADD(fabric, switch_device)
{
	.fabric = { .hosts = 2, .star = true, .switch_device = true },
};

FIXTURE_VARIANT_ADD(fabric, opa)
{
	.fabric = { .hosts = 2, .star = true, .opa = true },
};

FIXTURE_SETUP(fabric)
{
	struct umad_reg reg;

	self->fabric = variant->fabric;
	self->client.fd = -1;
	self->server.fd = -1;
	if (!umad_have_fabrics())
		SKIP(return, UMAD_NO_FABRICS);
	umad_fabric_start(&self->fabric);
	umad_fabric_up(&self->fabric);
	umad_sm_open(&self->fabric.host[0], &self->sm);

	umad_open(&self->fabric.host[0], O_RDWR | O_NONBLOCK, &self->client);
	umad_enable_pkey(&self->client);
	reg = umad_reg_send_only(1);
	self->cid = umad_register(&self->client, &reg);
	umad_open(&self->fabric.host[1], O_RDWR | O_NONBLOCK, &self->server);
	umad_enable_pkey(&self->server);
	reg = umad_reg_vendor(1, 1ULL << MAD_GET | 1ULL << MAD_SEND);
	self->sid = umad_register(&self->server, &reg);
}

FIXTURE_TEARDOWN(fabric)
{
	umad_close(&self->client);
	umad_close(&self->server);
	umad_sm_close(&self->sm);
	umad_fabric_stop();
}

TEST_F(fabric, smp_by_lid)
{
	char desc[64];

	ASSERT_EQ(0, umad_smp(&self->sm, NULL, self->fabric.lid[1], MAD_GET, SMP_NODE_DESC, 0,
			      memset(desc, 0, sizeof(desc))))
		TH_LOG("%s", strerror(errno));
	EXPECT_STREQ("h2", desc);
	if (!self->fabric.star)
		return;
	ASSERT_EQ(0, umad_smp(&self->sm, NULL, self->fabric.sw_lid, MAD_GET, SMP_NODE_DESC, 0,
			      memset(desc, 0, sizeof(desc))))
		TH_LOG("%s", strerror(errno));
	EXPECT_STREQ("s1", desc);
}

/* A request by LID, and the received header as it is for the answer */
TEST_F(fabric, gmp_by_lid)
{
	struct umad_msg msg = umad_msg(&self->fabric.host[0], self->cid, MAD_GET, 77), got;

	msg.hdr.grh_present = 0;
	msg.hdr.timeout_ms = UMAD_SOON_MS;
	msg.hdr.lid = htobe16(self->fabric.lid[1]);
	umad_write(&self->client, &msg);

	umad_read(&self->server, &got);
	EXPECT_EQ(self->sid, got.hdr.id);
	EXPECT_EQ(1, be32toh(got.hdr.qpn));
	EXPECT_EQ(self->fabric.lid[0], be16toh(got.hdr.lid));
	EXPECT_EQ(0, got.hdr.grh_present);
	EXPECT_EQ(0, memcmp(got.mad.data, msg.mad.data, sizeof(msg.mad.data)));

	got.mad.method = MAD_GET_RESP;
	got.mad.data[0] ^= 0xff;
	umad_write(&self->server, &got);

	umad_read(&self->client, &got);
	EXPECT_EQ(self->cid, got.hdr.id);
	EXPECT_EQ(self->fabric.lid[1], be16toh(got.hdr.lid));
	EXPECT_EQ(77, (__u32)be64toh(got.mad.tid));
	EXPECT_EQ((__u8)~msg.mad.data[0], got.mad.data[0]);
	EXPECT_EQ(0, memcmp(got.mad.data + 1, msg.mad.data + 1, sizeof(msg.mad.data) - 1));
}

TEST_HARNESS_MAIN
