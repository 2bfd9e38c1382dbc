// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The subnet management agents of a simulated fabric: what can be written into
 * each attribute, what is read back, and what it does.
 */

#include "kselftest_harness.h"
#include "lib/fabric.h"

#define STATUS_INVALID		0x001c

#define LFT_BLOCK		64
#define LFT_LIDS		0xc000	/* that switches have room for */

/* SwitchInfo */
struct switch_info {
	__be16	lft_cap;
	__be16	rft_cap;
	__be16	mft_cap;
	__be16	lft_top;
	__u8	default_port;
	__u8	default_mcast_primary;
	__u8	default_mcast_other;
	__u8	life_state;
	__u8	rest[52];
};

static_assert(sizeof(struct switch_info) == 64, "SwitchInfo fits into an SMP");

/* Three hosts around a switch */
FIXTURE(sma)
{
	struct umad_fabric fabric;
	struct umad_sm sm;
	struct umad_path second;
};

FIXTURE_SETUP(sma)
{
	if (!umad_have_fabrics())
		SKIP(return, UMAD_NO_FABRICS);
	self->fabric = (struct umad_fabric){ .hosts = 3, .star = true };
	umad_fabric_start(&self->fabric);
	umad_fabric_up(&self->fabric);
	umad_sm_open(&self->fabric.host[0], &self->sm);
	self->second = umad_fabric_path(&self->fabric, 1);
}

FIXTURE_TEARDOWN(sma)
{
	umad_sm_close(&self->sm);
	umad_fabric_stop();
}

/* The status of a Set in the switch, or -1 */
static int set_switch(FIXTURE_DATA(sma) *self, __u16 attr, __u32 mod, void *data)
{
	return umad_smp(&self->sm, &umad_fabric_to_switch, 0, MAD_SET, attr, mod, data);
}

static int set_lft_top(FIXTURE_DATA(sma) *self, __u16 top)
{
	struct switch_info info = {};
	int status;

	status = umad_smp(&self->sm, &umad_fabric_to_switch, 0, MAD_GET, SMP_SWITCH_INFO, 0,
			  &info);
	if (status)
		return status;
	info.lft_top = htobe16(top);
	return set_switch(self, SMP_SWITCH_INFO, 0, &info);
}

/* Who answers to an SMP that goes to @lid: 0, or -1 if nobody does */
static int name_of(FIXTURE_DATA(sma) *self, __u16 lid, char name[64])
{
	struct umad_msg msg = umad_smp_msg(&self->sm, NULL, lid, MAD_GET, SMP_NODE_DESC, 0, NULL);

	msg.hdr.timeout_ms = UMAD_QUIET_MS;
	if (umad_smp_exchange(&self->sm, &msg))
		return -1;
	memcpy(name, ((struct umad_smp *)&msg.mad)->data, 64);
	return 0;
}

/* All unicast LIDs, and none above LinearFDBTop */
TEST_F(sma, linear_table)
{
	const __u16 lids[] = { 0x3fff, 0x4000, LFT_LIDS - 1 };
	struct switch_info info = {};
	__u8 block[LFT_BLOCK];
	char name[64];
	unsigned int i;

	umad_smp_get(&self->sm, &umad_fabric_to_switch, SMP_SWITCH_INFO, 0, &info);
	EXPECT_EQ(LFT_LIDS, be16toh(info.lft_cap));

	ASSERT_EQ(0, set_lft_top(self, LFT_LIDS - 1));
	for (i = 0; i < ARRAY_SIZE(lids); i++) {
		memset(block, 255, sizeof(block));
		block[lids[i] % LFT_BLOCK] = 2;
		ASSERT_EQ(0, set_switch(self, SMP_LINEAR_FWD, lids[i] / LFT_BLOCK, block));
		ASSERT_EQ(0, umad_sm_set_port(&self->sm, &self->second, 1, lids[i], 0,
					      self->fabric.lid[0], PORT_NO_CHANGE));
		EXPECT_EQ(0, name_of(self, lids[i], name));
		EXPECT_STREQ("h2", name);

		/* What is above the top stays in the table, and leads nowhere */
		ASSERT_EQ(0, set_lft_top(self, lids[i] - 1));
		EXPECT_EQ(-1, name_of(self, lids[i], name));
		memset(block, 0, sizeof(block));
		umad_smp_get(&self->sm, &umad_fabric_to_switch, SMP_LINEAR_FWD,
			     lids[i] / LFT_BLOCK, block);
		EXPECT_EQ(2, block[lids[i] % LFT_BLOCK]);
		ASSERT_EQ(0, set_lft_top(self, LFT_LIDS - 1));
	}

	/* Beyond the table */
	EXPECT_EQ(STATUS_INVALID, set_lft_top(self, LFT_LIDS));
	EXPECT_EQ(STATUS_INVALID, set_switch(self, SMP_LINEAR_FWD, LFT_LIDS / LFT_BLOCK, block));
}

/* The same for an answer that goes on by LID after a directed route */
TEST_F(sma, linear_table_behind_a_route)
{
	static const struct umad_path path = { 1, { 2 } };
	struct umad_smp *smp;
	struct umad_msg msg;
	int i;

	for (i = 0; i < 2; i++) {
		msg = umad_smp_msg(&self->sm, &path, 0, MAD_GET, SMP_NODE_DESC, 0, NULL);
		smp = (struct umad_smp *)&msg.mad;
		msg.hdr.lid = htobe16(self->fabric.sw_lid);
		msg.hdr.timeout_ms = UMAD_QUIET_MS;
		smp->dr_slid = htobe16(self->fabric.lid[0]);
		EXPECT_EQ(i ? -1 : 0, umad_smp_exchange(&self->sm, &msg));
		if (!i)
			EXPECT_STREQ("h2", (char *)smp->data);
		ASSERT_EQ(0, set_lft_top(self, self->fabric.lid[0] - 1));
	}
}

TEST_HARNESS_MAIN
