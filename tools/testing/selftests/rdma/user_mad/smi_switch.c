// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A switch that is an RDMA device: agents on its port 0, which has both QP0 and QP1
 *
 * Also on: 6.1, 6.12
 */
#include "kselftest_harness.h"
#include "lib/subnet.h"

FIXTURE(port0)
{
	struct umad_fabric fabric;
	struct umad_sm sm;	/* of the first host */
	struct umad_sm sw;
	struct umad_file file;
};

FIXTURE_SETUP(port0)
{
	self->fabric = (struct umad_fabric){ .hosts = 2, .star = true, .switch_device = true };
	umad_subnet(&self->fabric);
	umad_sm_open(&self->fabric.host[0], &self->sm);
	umad_sm_open(&self->fabric.sw, &self->sw);
}

FIXTURE_TEARDOWN(port0)
{
	umad_close(&self->file);
	umad_sm_close(&self->sw);
	umad_sm_close(&self->sm);
	umad_fabric_stop();
}

TEST_F(port0, port_0_takes_smps)
{
	struct umad_msg msg, refused;
	char desc[64];

	msg = umad_smp_msg(&self->sw, &umad_here, 0, MAD_GET, SMP_NODE_INFO);
	ASSERT_EQ(0, umad_smp_exchange(&self->sw, &msg));
	EXPECT_EQ(2, umad_smp_of(&msg)->data[2]);
	EXPECT_EQ(umad_node_guid(&self->fabric.sw), umad_info_guid(umad_smp_of(&msg)->data));
	EXPECT_EQ(0, umad_info_port(umad_smp_of(&msg)));

	msg = umad_smp_msg(&self->sw, NULL, self->fabric.host[1].lid, MAD_GET, SMP_NODE_DESC);
	ASSERT_EQ(0, umad_smp_exchange(&self->sw, &msg));
	EXPECT_EQ(self->fabric.host[1].lid, be16toh(msg.hdr.lid));
	EXPECT_STREQ("h2", (char *)umad_smp_of(&msg)->data);

	/* A limit of the MAD layer: it does not know by which port to leave */
	refused = umad_smp_msg(&self->sw, &umad_to_next, 0, MAD_GET, SMP_NODE_INFO);
	umad_err_write(EINVAL, &self->sw.file, &refused);
	umad_expect_empty(&self->sw.file);

	umad_smp_get(&self->sm, &umad_to_next, SMP_NODE_DESC, 0, memset(desc, 0, sizeof(desc)));
	EXPECT_STREQ("s1", desc);
}

/* The switch's own hardware answers SMPs, the subnet manager on it SMInfo */
TEST_F(port0, port_0_serves_requests)
{
	struct umad_msg msg, got;
	__u32 id;
	char dev[64];
	int issm;

	id = umad_open_agent(&self->fabric.sw, &umad_abi_new,
			     umad_reg_smp(1, MAD_CLASS_SM_LID, 1ULL << MAD_GET), &self->file);
	umad_issm_dev(&self->fabric.sw, dev);
	issm = open(dev, O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, issm);

	msg = umad_smp_msg(&self->sm, NULL, self->fabric.sw.lid, MAD_GET, SMP_NODE_DESC);
	ASSERT_EQ(0, umad_smp_exchange(&self->sm, &msg));
	EXPECT_STREQ("s1", (char *)umad_smp_of(&msg)->data);
	umad_expect_empty(&self->file);

	msg = umad_smp_msg(&self->sm, NULL, self->fabric.sw.lid, MAD_GET, SMP_SM_INFO);
	umad_write(&self->sm.file, &msg);
	umad_read(&self->file, &got);
	EXPECT_EQ(id, got.hdr.id);
	EXPECT_EQ(self->fabric.host[0].lid, be16toh(got.hdr.lid));
	umad_smp_of(&got)->method = MAD_GET_RESP;
	memset(umad_smp_of(&got)->data, 0x66, 64);
	umad_write(&self->file, &got);
	umad_read(&self->sm.file, &got);
	EXPECT_EQ(self->fabric.sw.lid, be16toh(got.hdr.lid));
	EXPECT_EQ(0x66, umad_smp_of(&got)->data[63]);
	close(issm);
}

/* The other end of the link: there is none where a switch itself sends from */
TEST_F(port0, permissive_lid)
{
	struct umad_msg msg, got;
	__u32 id;
	int i;

	id = umad_open_agent(&self->fabric.sw, &umad_abi_new,
			     umad_reg_vendor(1, 1ULL << MAD_SEND), &self->file);
	for (i = 0; i < 2; i++) {
		msg = umad_msg(&self->fabric.sw, id, MAD_SEND, 6);
		msg.hdr.grh_present = 0;
		if (i)
			msg.hdr.lid = htobe16(LID_PERMISSIVE);
		umad_write(&self->file, &msg);
		if (!i)
			umad_read(&self->file, &got);
	}
	umad_sleep_ms(UMAD_QUIET_MS);
	umad_expect_empty(&self->file);
}

TEST_HARNESS_MAIN
