// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The tables of the nodes of a simulated fabric: what is written into one place is
 * read from there, and from nowhere else.
 */

#include <sys/stat.h>

#include "kselftest_harness.h"
#include "lib/subnet.h"

#define ALL_IN			0x20000	/* in SLtoVLMappingTable's modifier */
#define ALL_OUT			0x10000

#define OPT_SL2VL		0x01	/* in SwitchInfo */

#define SIZE			64
#define SL2VL_SIZE		8
#define VL_ARB_SIZE		16
#define MFT_BLOCKS		32

FIXTURE(sma_tables)
{
	UMAD_MANAGED;
};

FIXTURE_SETUP(sma_tables)
{
	umad_managed(self, 2);
}

FIXTURE_TEARDOWN(sma_tables)
{
	umad_managed_end(self);
}

/* Of the switch, or of the second host */
static int table(FIXTURE_DATA(sma_tables) *self, bool host, __u8 method, __u16 attr, __u32 mod,
		 __u8 data[SIZE])
{
	return umad_smp(&self->sm, host ? &self->second : &umad_to_next, 0, method, attr, mod,
			data);
}

/* Different in each byte, and for each @seed */
static void fill(__u8 data[SIZE], __u8 seed, unsigned int len)
{
	unsigned int i;

	memset(data, 0, SIZE);
	for (i = 0; i < len; i++)
		data[i] = 1 + seed * 37 + i;
}

struct place {
	bool host;
	__u16 attr;
	__u32 mod;
	unsigned int len;
};

/* Everything that is a table, but for the linear one: that is in sma.c */
static const struct place places[] = {
	{ false, SMP_PKEY_TABLE, 0, SIZE },
	{ false, SMP_PKEY_TABLE, 1 << 16, SIZE },
	{ false, SMP_PKEY_TABLE, 2 << 16, SIZE },
	{ true, SMP_PKEY_TABLE, 0, SIZE },
	{ false, SMP_SL_TO_VL, 0x0001, SL2VL_SIZE },
	{ false, SMP_SL_TO_VL, 0x0100, SL2VL_SIZE },
	{ false, SMP_SL_TO_VL, 0x0102, SL2VL_SIZE },
	{ false, SMP_SL_TO_VL, 0x0201, SL2VL_SIZE },
	{ false, SMP_SL_TO_VL, 0x0303, SL2VL_SIZE },
	{ true, SMP_SL_TO_VL, 0, SL2VL_SIZE },
	{ false, SMP_VL_ARB, 1 << 16 | 1, VL_ARB_SIZE },
	{ false, SMP_VL_ARB, 3 << 16 | 1, VL_ARB_SIZE },
	{ false, SMP_VL_ARB, 1 << 16 | 2, VL_ARB_SIZE },
	{ false, SMP_VL_ARB, 3 << 16 | 2, VL_ARB_SIZE },
	{ true, SMP_VL_ARB, 1 << 16 | 1, VL_ARB_SIZE },
	{ true, SMP_VL_ARB, 3 << 16 | 1, VL_ARB_SIZE },
	{ false, SMP_MCAST_FWD, 0, SIZE },
	{ false, SMP_MCAST_FWD, 1, SIZE },
	{ false, SMP_MCAST_FWD, MFT_BLOCKS - 1, SIZE },
};

/* ... and no other place changes */
TEST_F(sma_tables, each_table_is_set_by_itself)
{
	__u8 want[ARRAY_SIZE(places)][SIZE] = {}, data[SIZE];
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(places); i++)
		ASSERT_EQ(0, table(self, places[i].host, MAD_GET, places[i].attr, places[i].mod,
				   want[i]));
	for (i = 0; i < ARRAY_SIZE(places); i++) {
		fill(want[i], i, places[i].len);
		memcpy(data, want[i], SIZE);
		ASSERT_EQ(0, table(self, places[i].host, MAD_SET, places[i].attr, places[i].mod,
				   data));
		EXPECT_EQ(0, memcmp(want[i], data, SIZE))
			TH_LOG("attribute 0x%x of 0x%x", places[i].attr, places[i].mod);
		for (j = 0; j < ARRAY_SIZE(places); j++) {
			memset(data, 0, SIZE);
			ASSERT_EQ(0, table(self, places[j].host, MAD_GET, places[j].attr,
					   places[j].mod, data));
			EXPECT_EQ(0, memcmp(want[j], data, SIZE))
				TH_LOG("attribute 0x%x of 0x%x, after 0x%x of 0x%x",
				       places[j].attr, places[j].mod, places[i].attr,
				       places[i].mod);
		}
	}
}

/* All of them are as they were at first when the power has come back */
TEST_F(sma_tables, power)
{
	__u8 first[ARRAY_SIZE(places)][SIZE] = {}, data[SIZE];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(places); i++) {
		ASSERT_EQ(0, table(self, places[i].host, MAD_GET, places[i].attr, places[i].mod,
				   first[i]));
		fill(data, i, places[i].len);
		ASSERT_EQ(0, table(self, places[i].host, MAD_SET, places[i].attr, places[i].mod,
				   data));
	}
	umad_fabric_fault("s1 unplug");
	umad_fabric_fault("s1 plug");
	umad_fabric_fault("h2 unplug");
	umad_fabric_fault("h2 plug");
	for (i = 0; i < ARRAY_SIZE(places); i++) {
		memset(data, 0, SIZE);
		ASSERT_EQ(0, table(self, places[i].host, MAD_GET, places[i].attr, places[i].mod,
				   data));
		EXPECT_EQ(0, memcmp(first[i], data, SIZE))
			TH_LOG("attribute 0x%x of 0x%x", places[i].attr, places[i].mod);
	}
}

/* Ports, blocks and positions that there are not */
TEST_F(sma_tables, nowhere)
{
	__u32 none = self->fabric.spare + 1;
	const struct place bad[] = {
		{ false, SMP_PKEY_TABLE, 1, 0 },
		{ false, SMP_PKEY_TABLE, none << 16, 0 },
		{ true, SMP_PKEY_TABLE, 1, 0 },
		{ false, SMP_SL_TO_VL, none, 0 },
		{ false, SMP_SL_TO_VL, none << 8, 0 },
		{ false, SMP_SL_TO_VL, 0x40000, 0 },
		{ false, SMP_VL_ARB, 1, 0 },
		{ false, SMP_VL_ARB, 2 << 16 | 1, 0 },
		{ false, SMP_VL_ARB, 4 << 16 | 1, 0 },
		{ false, SMP_VL_ARB, 5 << 16 | 1, 0 },
		{ false, SMP_VL_ARB, 1 << 16 | none, 0 },
		{ true, SMP_VL_ARB, 1 << 16 | 2, 0 },
		{ false, SMP_MCAST_FWD, MFT_BLOCKS, 0 },
		{ false, SMP_MCAST_FWD, 1 << 28, 0 },
		{ false, SMP_MCAST_FWD, 1 << 9, 0 },
		{ false, SMP_MCAST_FWD, 1 << 27, 0 },
		{ false, SMP_GUID_INFO, 1, 0 },
		{ true, SMP_GUID_INFO, 1, 0 },
	};
	unsigned int i, set;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		for (set = 0; set < 2; set++) {
			__u8 data[SIZE] = {};

			EXPECT_EQ(STATUS_INVALID,
				  table(self, bad[i].host, set ? MAD_SET : MAD_GET, bad[i].attr,
					bad[i].mod, data))
				TH_LOG("attribute 0x%x of 0x%x, set %d", bad[i].attr, bad[i].mod,
				       set);
		}
	}
}

/* The first GUID is the hardware's, the others belong to the subnet manager */
TEST_F(sma_tables, guids)
{
	__u8 first[SIZE] = {}, data[SIZE], got[SIZE] = {}, gid[16];

	ASSERT_EQ(0, table(self, true, MAD_GET, SMP_GUID_INFO, 0, first));
	fill(data, 1, SIZE);
	ASSERT_EQ(0, table(self, true, MAD_SET, SMP_GUID_INFO, 0, data));
	ASSERT_EQ(0, table(self, true, MAD_GET, SMP_GUID_INFO, 0, got));
	EXPECT_EQ(0, memcmp(first, got, 8));
	fill(data, 1, SIZE);
	EXPECT_EQ(0, memcmp(data + 8, got + 8, SIZE - 8));

	/* The kernel, too, knows them */
	memcpy(gid, self->fabric.host[1].gid, 8);
	memcpy(gid + 8, data + 8, 8);
	EXPECT_TRUE(umad_has_gid(&self->fabric.host[1], 1, gid));
}

/* A port that nobody has configured takes turns, and has no high priority */
TEST_F(sma_tables, vl_arbitration_at_first)
{
	static const struct place ports[] = { { false, 0, 1, 0 }, { true, 0, 1, 0 } };
	__u8 data[SIZE], high;
	unsigned int i, vl;

	for (i = 0; i < ARRAY_SIZE(ports); i++) {
		for (high = 0; high < 2; high++) {
			memset(data, 0xff, SIZE);
			ASSERT_EQ(0, table(self, ports[i].host, MAD_GET, SMP_VL_ARB,
					   (high ? 3 : 1) << 16 | ports[i].mod, data));
			for (vl = 0; vl < VL_ARB_SIZE / 2; vl++) {
				EXPECT_EQ(vl, data[2 * vl]);
				EXPECT_EQ(!high, data[2 * vl + 1]);
			}
		}
	}
}

/* One Set for all input ports, for all output ports, or for both */
TEST_F(sma_tables, many_sl_to_vl_at_once)
{
	static const __u32 bits[] = { 0, ALL_IN, ALL_OUT, ALL_IN | ALL_OUT };
	__u32 ports = self->fabric.spare, in, out;
	__u8 want[SIZE], data[SIZE];
	unsigned int i;

	memset(data, 0, SIZE);
	ASSERT_EQ(0, table(self, false, MAD_GET, SMP_SWITCH_INFO, 0, data));
	EXPECT_EQ(OPT_SL2VL, data[11] & 0x03);
	/* That is nothing to be set */
	data[11] &= 0xfc;
	ASSERT_EQ(0, table(self, false, MAD_SET, SMP_SWITCH_INFO, 0, data));
	EXPECT_EQ(OPT_SL2VL, data[11] & 0x03);

	for (i = 0; i < ARRAY_SIZE(bits); i++) {
		/* All of them the same, and then those of that Set */
		fill(data, 2 * i, SL2VL_SIZE);
		ASSERT_EQ(0, table(self, false, MAD_SET, SMP_SL_TO_VL, ALL_IN | ALL_OUT, data));
		fill(data, 2 * i + 1, SL2VL_SIZE);
		ASSERT_EQ(0, table(self, false, MAD_SET, SMP_SL_TO_VL, bits[i] | 0x0102, data));
		for (in = 0; in <= ports; in++) {
			for (out = 0; out <= ports; out++) {
				bool meant = (in == 1 || bits[i] & ALL_IN) &&
					     (out == 2 || bits[i] & ALL_OUT);

				fill(want, 2 * i + meant, SL2VL_SIZE);
				memset(data, 0, SIZE);
				ASSERT_EQ(0, table(self, false, MAD_GET, SMP_SL_TO_VL,
						   in << 8 | out, data));
				EXPECT_EQ(0, memcmp(want, data, SIZE))
					TH_LOG("bits 0x%x, from %d to %d", bits[i], in, out);
			}
		}
	}
}

/* Each component of SwitchInfo; the rest is not to be written */
TEST_F(sma_tables, switch_info)
{
	static const struct {
		const char *name;
		unsigned int byte;
		__u8 mask, value;
	} fields[] = {
		{ "LinearFDBTop",	6, 0xff, 0x12 },
		{ "LinearFDBTop",	7, 0xff, 0x34 },
		{ "DefaultPort",	8, 0xff, 3 },
		{ "primary multicast",	9, 0xff, 4 },
		{ "other multicast",	10, 0xff, 5 },
		{ "LifeTimeValue",	11, 0xf8, 0x90 },
		{ "MulticastFDBTop",	18, 0xff, 0xc1 },
		{ "MulticastFDBTop",	19, 0xff, 0x23 },
	};
	/* What can be changed, in bits */
	static const __u8 writable[20] = {
		[6] = 0xff, 0xff, 0xff, 0xff, 0xff, 0xfc, [18] = 0xff, 0xff
	};
	__u8 before[SIZE] = {}, data[SIZE];
	unsigned int i;

	ASSERT_EQ(0, table(self, false, MAD_GET, SMP_SWITCH_INFO, 0, before));
	/* PortStateChange is there at the beginning, and cleared by writing it */
	ASSERT_EQ(0, table(self, false, MAD_SET, SMP_SWITCH_INFO, 0, before));
	EXPECT_EQ(0, before[11] & 0x04);
	for (i = 0; i < ARRAY_SIZE(fields); i++) {
		before[fields[i].byte] &= ~fields[i].mask;
		before[fields[i].byte] |= fields[i].value;
		memcpy(data, before, SIZE);
		ASSERT_EQ(0, table(self, false, MAD_SET, SMP_SWITCH_INFO, 0, data));
		EXPECT_EQ(0, memcmp(before, data, SIZE))
			TH_LOG("%s", fields[i].name);
		memset(data, 0, SIZE);
		ASSERT_EQ(0, table(self, false, MAD_GET, SMP_SWITCH_INFO, 0, data));
		EXPECT_EQ(0, memcmp(before, data, SIZE))
			TH_LOG("%s", fields[i].name);
	}
	for (i = 0; i < ARRAY_SIZE(writable); i++) {
		memcpy(data, before, SIZE);
		data[i] ^= ~writable[i];
		ASSERT_EQ(0, table(self, false, MAD_SET, SMP_SWITCH_INFO, 0, data));
		EXPECT_EQ(0, memcmp(before, data, SIZE))
			TH_LOG("byte %d", i);
	}
}

/* Nobody knows another version of the class */
TEST_F(sma_tables, class_version)
{
	struct umad_msg msg;
	__u8 version;

	for (version = 0; version < 4; version++) {
		msg = umad_smp_msg(&self->sm, &umad_to_next, 0, MAD_GET, SMP_NODE_INFO, 0, NULL);
		umad_smp_of(&msg)->class_version = version;
		EXPECT_EQ(version == 1 ? 0 : STATUS_BAD_VERSION,
			  umad_smp_exchange(&self->sm, &msg))
			TH_LOG("version %d", version);
	}
}

#define BIG		UMAD_FABRIC "/big"
#define BIG_PORTS	40
#define MFT_WORDS	3	/* of 16 ports each */

/* A switch with so many ports that an entry of its multicast table has several words */
FIXTURE(big)
{
	struct umad_fabric fabric;
	struct umad_sm sm;
	struct umad_path path;
};

FIXTURE_SETUP(big)
{
	char link[32];

	self->fabric = (struct umad_fabric){ .hosts = 2, .star = true };
	umad_fabric_start(&self->fabric);
	snprintf(link, sizeof(link), "big %d s1 %d", BIG_PORTS, self->fabric.spare);
	ASSERT_EQ(0, umad_sysfs_write(UMAD_FABRIC "/live", "0"));
	ASSERT_EQ(0, mkdir(BIG, 0755));
	ASSERT_EQ(0, umad_sysfs_write(BIG "/type", "switch"));
	ASSERT_EQ(0, umad_sysfs_write(BIG "/ports", "40"));
	ASSERT_EQ(0, umad_sysfs_write(UMAD_FABRIC "/link", link));
	ASSERT_EQ(0, umad_sysfs_write(UMAD_FABRIC "/live", "1"));
	ASSERT_EQ(0, umad_fabric_port("h1", 1, &self->fabric.host[0]));
	umad_sm_open(&self->fabric.host[0], &self->sm);
	self->path = (struct umad_path){ 2, { 1, self->fabric.spare } };
}

FIXTURE_TEARDOWN(big)
{
	umad_sm_close(&self->sm);
	umad_fabric_stop();
}

TEST_F(big, multicast_words)
{
	__u8 want[MFT_WORDS][SIZE], data[SIZE];
	unsigned int i, j;

	memset(want, 0, sizeof(want));
	for (i = 0; i < MFT_WORDS; i++) {
		fill(want[i], i + 1, SIZE);
		memcpy(data, want[i], SIZE);
		umad_smp_set(&self->sm, &self->path, SMP_MCAST_FWD, i << 28 | 5, data);
		for (j = 0; j < MFT_WORDS; j++) {
			memset(data, 0xff, SIZE);
			umad_smp_get(&self->sm, &self->path, SMP_MCAST_FWD, j << 28 | 5, data);
			EXPECT_EQ(0, memcmp(want[j], data, SIZE))
				TH_LOG("word %d after %d", j, i);
		}
	}
	EXPECT_EQ(STATUS_INVALID, umad_smp(&self->sm, &self->path, 0, MAD_GET, SMP_MCAST_FWD,
					   MFT_WORDS << 28, data));
}

/* ... and whose last port has tables as the first one has */
TEST_F(big, last_port)
{
	__u8 want[SIZE], data[SIZE];

	fill(want, 1, SL2VL_SIZE);
	memcpy(data, want, SIZE);
	umad_smp_set(&self->sm, &self->path, SMP_SL_TO_VL, BIG_PORTS << 8 | BIG_PORTS, data);
	memset(data, 0, SIZE);
	umad_smp_get(&self->sm, &self->path, SMP_SL_TO_VL, BIG_PORTS << 8 | BIG_PORTS, data);
	EXPECT_EQ(0, memcmp(want, data, SIZE));
	fill(want, 2, SIZE);
	memcpy(data, want, SIZE);
	umad_smp_set(&self->sm, &self->path, SMP_PKEY_TABLE, BIG_PORTS << 16, data);
	memset(data, 0, SIZE);
	umad_smp_get(&self->sm, &self->path, SMP_PKEY_TABLE, BIG_PORTS << 16, data);
	EXPECT_EQ(0, memcmp(want, data, SIZE));
}

TEST_HARNESS_MAIN
