// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The subnet management agents of a simulated fabric: what can be written into
 * each attribute, what is read back, and what it does.
 */

#include "kselftest_harness.h"
#include "lib/subnet.h"

#define TRAP_LOCAL_CHANGE	144
#define TRAP_BAD_MKEY		256
#define PORT_STATE_CHANGE	0x04	/* in SwitchInfo */
#define OPT_SL2VL		0x01

#define SMP_EXT_PORT_INFO	0xff90	/* Mellanox's */
#define EXTENDED_SPEEDS		0x80000000	/* in PortInfo's modifier */
#define CAP_EXTENDED_SPEEDS	0x4000
#define CAP_MASK2		0x8000
#define PHYS_POLLING		2

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

/* What of PortInfo is newer */
static __u8 *ext2_of(struct umad_port_info *info)
{
	return (__u8 *)info + 56;
}

static __u16 cap_mask2_of(struct umad_port_info *info)
{
	return ((__u8 *)info)[60] << 8 | ((__u8 *)info)[61];
}

static __u8 *ext_of(struct umad_port_info *info)
{
	return (__u8 *)info + 62;
}

static __u8 *ext_enabled_of(struct umad_port_info *info)
{
	return (__u8 *)info + 63;
}

FIXTURE(sma)
{
	UMAD_MANAGED;
};

FIXTURE_SETUP(sma)
{
	umad_managed(self, 3);
}

FIXTURE_TEARDOWN(sma)
{
	umad_managed_end(self);
}

/* The status of a Set in the switch, or -1 */
static int set_switch(FIXTURE_DATA(sma) *self, __u16 attr, __u32 mod, void *data)
{
	return umad_smp(&self->sm, &umad_to_next, 0, MAD_SET, attr, mod, data);
}

static int set_lft_top(FIXTURE_DATA(sma) *self, __u16 top)
{
	struct switch_info info = {};
	int status;

	status = umad_smp(&self->sm, &umad_to_next, 0, MAD_GET, SMP_SWITCH_INFO, 0,
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

	umad_smp_get(&self->sm, &umad_to_next, SMP_SWITCH_INFO, 0, &info);
	EXPECT_EQ(LFT_LIDS, be16toh(info.lft_cap));

	ASSERT_EQ(0, set_lft_top(self, LFT_LIDS - 1));
	for (i = 0; i < ARRAY_SIZE(lids); i++) {
		memset(block, 255, sizeof(block));
		block[lids[i] % LFT_BLOCK] = 2;
		ASSERT_EQ(0, set_switch(self, SMP_LINEAR_FWD, lids[i] / LFT_BLOCK, block));
		ASSERT_EQ(0, umad_sm_set_port(&self->sm, &self->second, 1, lids[i], 0,
					      self->fabric.host[0].lid, PORT_NO_CHANGE));
		EXPECT_EQ(0, name_of(self, lids[i], name));
		EXPECT_STREQ("h2", name);

		/* What is above the top stays in the table, and leads nowhere */
		ASSERT_EQ(0, set_lft_top(self, lids[i] - 1));
		EXPECT_EQ(-1, name_of(self, lids[i], name));
		memset(block, 0, sizeof(block));
		umad_smp_get(&self->sm, &umad_to_next, SMP_LINEAR_FWD,
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
		msg.hdr.lid = htobe16(self->fabric.sw.lid);
		msg.hdr.timeout_ms = UMAD_QUIET_MS;
		smp->dr_slid = htobe16(self->fabric.host[0].lid);
		EXPECT_EQ(i ? -1 : 0, umad_smp_exchange(&self->sm, &msg));
		if (!i)
			EXPECT_STREQ("h2", (char *)smp->data);
		ASSERT_EQ(0, set_lft_top(self, self->fabric.host[0].lid - 1));
	}
}

/* The cable of the second host is another one from now on */
static int recable(const char *what)
{
	char link[64];

	snprintf(link, sizeof(link), "h2 1 s1 2 %s", what);
	return umad_sysfs_write(UMAD_FABRIC "/unlink", "h2 1") ?:
	       umad_sysfs_write(UMAD_FABRIC "/link", link);
}

static int get_second(FIXTURE_DATA(sma) *self, bool extended, struct umad_port_info *info)
{
	memset(info, 0, sizeof(*info));
	return umad_smp(&self->sm, &self->second, 0, MAD_GET, SMP_PORT_INFO,
			1 | (extended ? EXTENDED_SPEEDS : 0), info);
}

/* Writes @info, as it was read and then changed, into the second host */
static int set_second(FIXTURE_DATA(sma) *self, bool extended, struct umad_port_info *info)
{
	info->lid = htobe16(self->fabric.host[1].lid);
	info->sm_lid = htobe16(self->fabric.host[0].lid);
	info->speed_supported_state &= 0xf0;
	info->phys_state_down_default &= 0x0f;
	return umad_smp(&self->sm, &self->second, 0, MAD_SET, SMP_PORT_INFO,
			1 | (extended ? EXTENDED_SPEEDS : 0), info);
}

/* The far end of its link goes to Polling: the link trains anew */
static int retrain(FIXTURE_DATA(sma) *self)
{
	struct umad_port_info info = {};
	int status;

	status = umad_smp(&self->sm, &umad_to_next, 0, MAD_GET, SMP_PORT_INFO, 2, &info);
	if (status)
		return status;
	info.speed_supported_state &= 0xf0;
	info.phys_state_down_default = PHYS_POLLING << 4 | (info.phys_state_down_default & 0x0f);
	return umad_smp(&self->sm, &umad_to_next, 0, MAD_SET, SMP_PORT_INFO, 2, &info);
}

/* Every speed, in the bits of PortInfo where the specification has it */
TEST_F(sma, speeds)
{
	static const struct {
		const char *name;
		__u8 basic;		/* supported and enabled */
		__u8 active;		/* for who does not know extended speeds */
		__u8 active_ext;	/* ... and for who does */
		__u8 ext;		/* active, supported */
		__u8 ext2;		/* active, supported, enabled */
		__u16 mask2;
	} want[] = {
		{ "sdr",	1, 1, 1, 0x00, 0x00, 0x0000 },
		{ "ddr",	3, 2, 2, 0x00, 0x00, 0x0000 },
		{ "qdr",	7, 4, 4, 0x00, 0x00, 0x0000 },
		{ "fdr10",	7, 4, 4, 0x00, 0x00, 0x0000 },
		{ "fdr",	7, 4, 0, 0x11, 0x00, 0x0000 },
		{ "edr",	7, 4, 0, 0x23, 0x00, 0x0000 },
		{ "hdr",	7, 4, 0, 0x47, 0x00, 0x0030 },
		{ "ndr",	7, 4, 0, 0x8f, 0x00, 0x0430 },
		{ "xdr",	7, 4, 0, 0x0f, 0x29, 0x1c30 },
	};
	struct umad_port_info info;
	unsigned int i;
	__u32 caps;

	for (i = 0; i < ARRAY_SIZE(want); i++) {
		ASSERT_EQ(0, recable(want[i].name))
			TH_LOG("%s: %s", want[i].name, strerror(errno));
		ASSERT_EQ(0, get_second(self, false, &info));
		EXPECT_EQ(want[i].basic, info.speed_supported_state >> 4);
		EXPECT_EQ(want[i].active << 4 | want[i].basic, info.speed_active_enabled);
		EXPECT_EQ(want[i].ext, *ext_of(&info));
		EXPECT_EQ(want[i].ext & 0x0f, *ext_enabled_of(&info));
		EXPECT_EQ(want[i].ext2, *ext2_of(&info));
		EXPECT_EQ(want[i].mask2, cap_mask2_of(&info));
		caps = be32toh(info.cap_mask) & (CAP_EXTENDED_SPEEDS | CAP_MASK2);
		EXPECT_EQ((want[i].ext ? CAP_EXTENDED_SPEEDS : 0) |
			  (want[i].mask2 ? CAP_MASK2 : 0), caps);

		ASSERT_EQ(0, get_second(self, true, &info));
		EXPECT_EQ(want[i].active_ext << 4 | want[i].basic, info.speed_active_enabled);
		EXPECT_EQ(want[i].ext, *ext_of(&info));

		/* The other end, and what port 0 says of it */
		memset(&info, 0, sizeof(info));
		umad_smp_get(&self->sm, &umad_to_next, SMP_PORT_INFO, 2, &info);
		EXPECT_EQ(want[i].ext, *ext_of(&info));
		EXPECT_EQ(want[i].ext2, *ext2_of(&info));
		EXPECT_EQ(0, be32toh(info.cap_mask));
		umad_smp_get(&self->sm, &umad_to_next, SMP_PORT_INFO, 0, &info);
		EXPECT_EQ(want[i].mask2, cap_mask2_of(&info));
		EXPECT_EQ(caps, be32toh(info.cap_mask) & (CAP_EXTENDED_SPEEDS | CAP_MASK2));
	}
}

TEST_F(sma, widths)
{
	static const struct {
		const char *name;
		__u8 supported;
		__u8 active;
	} want[] = {
		{ "1x", 0x01, 0x01 },
		{ "2x", 0x11, 0x10 },
		{ "4x", 0x03, 0x02 },
		{ "8x", 0x07, 0x04 },
		{ "12x", 0x0f, 0x08 },
		{ "4x hdr", 0x13, 0x02 },
	};
	struct umad_port_info info;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(want); i++) {
		ASSERT_EQ(0, recable(want[i].name))
			TH_LOG("%s: %s", want[i].name, strerror(errno));
		ASSERT_EQ(0, get_second(self, false, &info));
		EXPECT_EQ(want[i].supported, info.width_supported);
		EXPECT_EQ(want[i].supported, info.width_enabled);
		EXPECT_EQ(want[i].active, info.width_active);
	}

	/* One end is content with less, and both have it when they train again */
	info.width_enabled = 0x11;
	ASSERT_EQ(0, set_second(self, false, &info));
	ASSERT_EQ(0, retrain(self));
	ASSERT_EQ(0, get_second(self, false, &info));
	EXPECT_EQ(0x10, info.width_active);
}

/* What LinkSpeedExtEnabled can say, and what the link then has: @active of byte 62 */
#define speed_is(self, extended, enabled, value, active) do {		\
	struct umad_port_info __info;					\
									\
	ASSERT_EQ(0, get_second(self, true, &__info));			\
	*ext_enabled_of(&__info) = (value);				\
	ASSERT_EQ(0, set_second(self, extended, &__info));		\
	EXPECT_EQ(enabled, *ext_enabled_of(&__info));			\
	ASSERT_EQ(0, retrain(self));					\
	ASSERT_EQ(0, get_second(self, true, &__info));			\
	EXPECT_EQ(active, *ext_of(&__info) >> 4);			\
} while (0)

TEST_F(sma, speeds_enabled)
{
	struct umad_port_info info;

	ASSERT_EQ(0, recable("hdr"));

	/* It takes effect when the link trains, not before */
	ASSERT_EQ(0, get_second(self, true, &info));
	*ext_enabled_of(&info) = 2;
	ASSERT_EQ(0, set_second(self, true, &info));
	ASSERT_EQ(0, get_second(self, true, &info));
	EXPECT_EQ(4, *ext_of(&info) >> 4);
	ASSERT_EQ(0, retrain(self));
	ASSERT_EQ(0, get_second(self, true, &info));
	EXPECT_EQ(2, *ext_of(&info) >> 4);

	/* One of those named; no change; those supported; none */
	speed_is(self, true, 3, 3, 2);
	speed_is(self, true, 3, 0, 2);
	speed_is(self, true, 7, 31, 4);
	speed_is(self, true, 30, 30, 0);
	ASSERT_EQ(0, get_second(self, true, &info));
	EXPECT_EQ(4, info.speed_active_enabled >> 4);
	speed_is(self, true, 1, 1, 1);
	/* Who does not say that he knows of them changes nothing */
	speed_is(self, false, 1, 31, 1);

	/* NDR is not supported, nor is anything between */
	ASSERT_EQ(0, get_second(self, true, &info));
	*ext_enabled_of(&info) = 9;
	EXPECT_EQ(STATUS_INVALID, set_second(self, true, &info));
	ASSERT_EQ(0, get_second(self, true, &info));
	EXPECT_EQ(1, *ext_enabled_of(&info));

	/* XDR alone, without it, and without any */
	ASSERT_EQ(0, recable("xdr"));
	speed_is(self, true, 2, 2, 0);
	ASSERT_EQ(0, get_second(self, true, &info));
	EXPECT_EQ(0x29, *ext2_of(&info));
	speed_is(self, true, 30, 30, 0);
	ASSERT_EQ(0, get_second(self, true, &info));
	EXPECT_EQ(0x08, *ext2_of(&info));
	EXPECT_EQ(4, info.speed_active_enabled >> 4);
	*ext2_of(&info) = 2;
	EXPECT_EQ(STATUS_INVALID, set_second(self, true, &info));
}

TEST_F(sma, speeds_basic)
{
	struct umad_port_info info;

	ASSERT_EQ(0, recable("ddr"));
	ASSERT_EQ(0, get_second(self, false, &info));
	info.speed_active_enabled = 4;
	EXPECT_EQ(STATUS_INVALID, set_second(self, false, &info));
	ASSERT_EQ(0, get_second(self, false, &info));
	info.speed_active_enabled = 1;
	ASSERT_EQ(0, set_second(self, false, &info));
	ASSERT_EQ(0, retrain(self));
	ASSERT_EQ(0, get_second(self, false, &info));
	EXPECT_EQ(0x11, info.speed_active_enabled);

	/* 15: what is supported */
	info.speed_active_enabled = 15;
	ASSERT_EQ(0, set_second(self, false, &info));
	ASSERT_EQ(0, retrain(self));
	ASSERT_EQ(0, get_second(self, false, &info));
	EXPECT_EQ(0x23, info.speed_active_enabled);
}

/* FDR10: supported, enabled and active are the last bytes of three words */
TEST_F(sma, fdr10)
{
	__u8 epi[64] = {};

	ASSERT_EQ(0, recable("qdr"));
	ASSERT_EQ(0, umad_smp(&self->sm, &self->second, 0, MAD_GET, SMP_EXT_PORT_INFO, 1, epi));
	EXPECT_EQ(0, epi[7] | epi[11] | epi[15]);
	epi[3] = 1;
	epi[11] = 1;
	EXPECT_EQ(STATUS_INVALID, umad_smp(&self->sm, &self->second, 0, MAD_SET,
					   SMP_EXT_PORT_INFO, 1, epi));

	ASSERT_EQ(0, recable("fdr10"));
	memset(epi, 0, sizeof(epi));
	ASSERT_EQ(0, umad_smp(&self->sm, &self->second, 0, MAD_GET, SMP_EXT_PORT_INFO, 1, epi));
	EXPECT_EQ(1, epi[7]);
	EXPECT_EQ(1, epi[11]);
	EXPECT_EQ(1, epi[15]);

	/* Not without StateChangeEnable */
	epi[11] = 0;
	ASSERT_EQ(0, umad_smp(&self->sm, &self->second, 0, MAD_SET, SMP_EXT_PORT_INFO, 1, epi));
	EXPECT_EQ(1, epi[11]);
	epi[3] = 1;
	epi[11] = 0;
	ASSERT_EQ(0, umad_smp(&self->sm, &self->second, 0, MAD_SET, SMP_EXT_PORT_INFO, 1, epi));
	EXPECT_EQ(0, epi[11]);
	EXPECT_EQ(1, epi[15]);
	ASSERT_EQ(0, retrain(self));
	ASSERT_EQ(0, umad_smp(&self->sm, &umad_to_next, 0, MAD_GET, SMP_EXT_PORT_INFO, 2,
			      epi));
	EXPECT_EQ(1, epi[11]);
	EXPECT_EQ(0, epi[15]);
	EXPECT_EQ(STATUS_INVALID, umad_smp(&self->sm, &umad_to_next, 0, MAD_GET,
					   SMP_EXT_PORT_INFO, 200, epi));
}

/* What a response has where the attribute says nothing is 0, whatever was asked */
TEST_F(sma, nothing_of_the_request)
{
	static const struct {
		__u16 attr;
		__u32 mod;
	} all[] = {
		{ SMP_NODE_DESC, 0 }, { SMP_NODE_INFO, 0 }, { SMP_SWITCH_INFO, 0 },
		{ SMP_GUID_INFO, 0 }, { SMP_PORT_INFO, 1 },
		{ SMP_PORT_INFO, 1 | EXTENDED_SPEEDS }, { SMP_PKEY_TABLE, 0 },
		{ SMP_SL_TO_VL, 1 << 8 | 2 }, { SMP_VL_ARB, 1 << 16 | 1 },
		{ SMP_LINEAR_FWD, 0 }, { SMP_MCAST_FWD, 0 }, { SMP_EXT_PORT_INFO, 1 },
	};
	__u8 zeroes[64], ones[64];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(all); i++) {
		umad_smp_get(&self->sm, &umad_to_next, all[i].attr, all[i].mod,
			     memset(zeroes, 0x00, 64));
		umad_smp_get(&self->sm, &umad_to_next, all[i].attr, all[i].mod,
			     memset(ones, 0xff, 64));
		EXPECT_EQ(0, memcmp(zeroes, ones, 64))
			TH_LOG("attribute 0x%x", all[i].attr);
	}
}

/* Hosts have no tables, and nobody is told who he is */
TEST_F(sma, not_there)
{
	__u8 data[64] = {};

	EXPECT_EQ(STATUS_UNSUPPORTED, umad_smp(&self->sm, &self->second, 0, MAD_GET,
					       SMP_SWITCH_INFO, 0, data));
	EXPECT_EQ(STATUS_UNSUPPORTED, umad_smp(&self->sm, &self->second, 0, MAD_GET,
					       SMP_LINEAR_FWD, 0, data));
	EXPECT_EQ(STATUS_UNSUPPORTED, umad_smp(&self->sm, &self->second, 0, MAD_SET,
					       SMP_MCAST_FWD, 0, data));
	EXPECT_EQ(STATUS_UNSUPPORTED, set_switch(self, SMP_NODE_INFO, 0, data));
	EXPECT_EQ(STATUS_UNSUPPORTED, set_switch(self, SMP_NODE_DESC, 0, data));
}

/* A port answers to as many LIDs as its LMC says, and to no more */
TEST_F(sma, lmc)
{
	const __u16 base = 0x180;
	struct umad_port_info info;
	__u8 block[LFT_BLOCK];
	char name[64];
	int lmc, i;

	memset(block, 2, sizeof(block));
	ASSERT_EQ(0, set_lft_top(self, 0x3ff));
	for (i = base / LFT_BLOCK; i < 0x240 / LFT_BLOCK; i++)
		ASSERT_EQ(0, set_switch(self, SMP_LINEAR_FWD, i, block));

	for (lmc = 0; lmc < 8; lmc++) {
		ASSERT_EQ(0, umad_sm_set_port(&self->sm, &self->second, 1, base, lmc,
					      self->fabric.host[0].lid, PORT_NO_CHANGE));
		ASSERT_EQ(0, get_second(self, false, &info));
		EXPECT_EQ(lmc, info.mkey_protect_lmc & 0x7);
		EXPECT_EQ(0, name_of(self, base, name));
		EXPECT_EQ(0, name_of(self, base + (1 << lmc) - 1, name));
		EXPECT_EQ(-1, name_of(self, base + (1 << lmc), name));
	}
}

/* A subnet manager that has seen the change clears it by writing the bit */
TEST_F(sma, port_state_change)
{
	struct switch_info info = {};

	umad_smp_get(&self->sm, &umad_to_next, SMP_SWITCH_INFO, 0, &info);
	info.life_state |= PORT_STATE_CHANGE;
	ASSERT_EQ(0, set_switch(self, SMP_SWITCH_INFO, 0, &info));
	EXPECT_EQ(0, info.life_state & PORT_STATE_CHANGE);

	umad_fabric_fault("h2 1 link down");
	umad_smp_get(&self->sm, &umad_to_next, SMP_SWITCH_INFO, 0, &info);
	EXPECT_EQ(PORT_STATE_CHANGE, info.life_state & PORT_STATE_CHANGE);

	/* Who writes something else has not seen it */
	info.life_state = 0x12 << 3;
	ASSERT_EQ(0, set_switch(self, SMP_SWITCH_INFO, 0, &info));
	EXPECT_EQ(0x12 << 3 | PORT_STATE_CHANGE, info.life_state & ~OPT_SL2VL);
	ASSERT_EQ(0, set_switch(self, SMP_SWITCH_INFO, 0, &info));
	EXPECT_EQ(0x12 << 3, info.life_state & ~OPT_SL2VL);
	umad_smp_get(&self->sm, &umad_to_next, SMP_SWITCH_INFO, 0, &info);
	EXPECT_EQ(0x12 << 3, info.life_state & ~OPT_SL2VL);
}

/* The number of a notice that the second host has sent, or 0 */
static int notice_of_second(FIXTURE_DATA(sma) *self, struct umad_file *traps)
{
	struct umad_msg got;
	const __u8 *data = ((struct umad_smp *)&got.mad)->data;

	if (_umad_read(traps, &got) < 0 || be16toh(got.hdr.lid) != self->fabric.host[1].lid)
		return 0;
	return data[4] << 8 | data[5];
}

/* A TrapRepress is for one notice: others of the port are repeated */
TEST_F(sma, repress_is_for_one_notice)
{
	struct umad_reg reg = {
		.api = 1,
		.mgmt_class = MAD_CLASS_SM_LID,
		.class_version = 1,
		.methods = { 1ULL << MAD_TRAP },
	};
	int seen[2] = {}, number, issm;
	struct umad_port_info info;
	struct umad_file traps;
	__u8 notice[64] = {};
	struct umad_msg msg;
	char dev[64];

	umad_open(&self->fabric.host[0], O_RDWR | O_NONBLOCK, &traps);
	umad_enable_pkey(&traps);
	umad_register(&traps, &reg);

	/* One for a change, one for a Set with a wrong key */
	umad_issm_dev(&self->fabric.host[1], dev);
	issm = open(dev, O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, issm);
	ASSERT_EQ(0, get_second(self, false, &info));
	info.mkey = htobe64(0x1234);
	info.mkey_protect_lmc |= 1 << 6;
	ASSERT_EQ(0, set_second(self, false, &info));
	self->sm.mkey = 0xbad;
	msg = umad_smp_msg(&self->sm, &self->second, 0, MAD_SET, SMP_PKEY_TABLE, 0, NULL);
	msg.hdr.timeout_ms = UMAD_QUIET_MS;
	EXPECT_EQ(-1, umad_smp_exchange(&self->sm, &msg));
	self->sm.mkey = 0x1234;
	while (!seen[0] || !seen[1]) {
		ASSERT_TRUE(umad_readable(&traps, UMAD_SOON_MS));
		number = notice_of_second(self, &traps);
		seen[0] |= number == TRAP_LOCAL_CHANGE;
		seen[1] |= number == TRAP_BAD_MKEY;
	}

	notice[5] = TRAP_LOCAL_CHANGE;
	msg = umad_smp_msg(&self->sm, NULL, self->fabric.host[1].lid, MAD_TRAP_REPRESS,
			   SMP_NOTICE, 0, notice);
	msg.hdr.timeout_ms = 0;
	umad_write(&self->sm.file, &msg);
	umad_sleep_ms(UMAD_QUIET_MS);
	while (umad_readable(&traps, 0))
		notice_of_second(self, &traps);

	/* Between two of the one there would be one of the other */
	memset(seen, 0, sizeof(seen));
	while (seen[1] < 2) {
		ASSERT_TRUE(umad_readable(&traps, UMAD_SOON_MS))
			TH_LOG("the other notice has stopped, too");
		number = notice_of_second(self, &traps);
		seen[0] += number == TRAP_LOCAL_CHANGE;
		seen[1] += number == TRAP_BAD_MKEY;
	}
	EXPECT_EQ(0, seen[0]);
	close(issm);
	umad_close(&traps);
}

/* QP0 takes nothing with a GRH */
TEST_F(sma, smps_have_no_grh)
{
	struct umad_msg msg;
	int grh;

	for (grh = 0; grh < 2; grh++) {
		msg = umad_smp_msg(&self->sm, NULL, self->fabric.sw.lid, MAD_GET, SMP_NODE_DESC, 0,
				   NULL);
		msg.hdr.grh_present = grh;
		memcpy(msg.hdr.gid, self->fabric.host[0].gid, 16);
		msg.hdr.timeout_ms = grh ? UMAD_QUIET_MS : UMAD_SOON_MS;
		EXPECT_EQ(grh ? -1 : 0, umad_smp_exchange(&self->sm, &msg));
	}
}

TEST_HARNESS_MAIN
