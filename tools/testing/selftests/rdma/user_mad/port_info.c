// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * PortInfo in a simulated fabric: each component that can be written, the values
 * that are refused, and the states of a link.
 */

#include "kselftest_harness.h"
#include "lib/subnet.h"

#define PHYS_SLEEP		1
#define PHYS_POLLING		2
#define PHYS_DISABLED		3
#define PHYS_LINK_UP		5

#define REREGISTER		0x80

/* Bytes of PortInfo */
#define LOCAL_PORT		28
#define SPEED_SUPPORTED_STATE	32
#define PHYS_STATE_DOWN_DEFAULT	33
#define TIMEOUT			51

#define PORT_INFO_SIZE		64

FIXTURE(port_info)
{
	UMAD_MANAGED;
};

FIXTURE_SETUP(port_info)
{
	umad_managed(self, 2);
}

FIXTURE_TEARDOWN(port_info)
{
	umad_managed_end(self);
}

/* Of the second host, or of port @num of the switch */
struct where {
	const char *name;
	bool host;
	int num;
};

static const struct where host = { "host", true, 1 };
static const struct where outer = { "port 2 of the switch", false, 2 };
static const struct where inner = { "port 0 of the switch", false, 0 };

static int get(FIXTURE_DATA(port_info) *self, const struct where *at, __u8 *pi)
{
	memset(pi, 0, PORT_INFO_SIZE);
	return umad_smp(&self->sm, at->host ? &self->second : &umad_to_next, 0, MAD_GET,
			SMP_PORT_INFO, at->num, pi);
}

/* As it was read, and then changed; what means "no change" is there already */
static int set(FIXTURE_DATA(port_info) *self, const struct where *at, __u8 *pi)
{
	return umad_smp(&self->sm, at->host ? &self->second : &umad_to_next, 0, MAD_SET,
			SMP_PORT_INFO, at->num, pi);
}

/* The bytes that have PortState and PortPhysicalState, for a Set of other components */
static void no_change(__u8 *pi)
{
	pi[SPEED_SUPPORTED_STATE] &= 0xf0;
	pi[PHYS_STATE_DOWN_DEFAULT] &= 0x0f;
}

static int state_of(FIXTURE_DATA(port_info) *self, const struct where *at)
{
	__u8 pi[PORT_INFO_SIZE];

	return get(self, at, pi) ? -1 : pi[SPEED_SUPPORTED_STATE] & 0x0f;
}

static int phys_of(FIXTURE_DATA(port_info) *self, const struct where *at)
{
	__u8 pi[PORT_INFO_SIZE];

	return get(self, at, pi) ? -1 : pi[PHYS_STATE_DOWN_DEFAULT] >> 4;
}

/* The status of a Set of the two states, and of LinkDownDefaultState unless it is 0 */
static int set_states(FIXTURE_DATA(port_info) *self, const struct where *at, int state,
		      int phys, int down)
{
	__u8 pi[PORT_INFO_SIZE];

	if (get(self, at, pi))
		return -1;
	pi[SPEED_SUPPORTED_STATE] = (pi[SPEED_SUPPORTED_STATE] & 0xf0) | state;
	pi[PHYS_STATE_DOWN_DEFAULT] = phys << 4 | down;
	return set(self, at, pi);
}

struct field {
	const char *name;
	__u8 byte, mask, value;
	bool end_port, link;	/* who has it */
};

/* One byte of each component; every bit of it that is not 0 on all others */
static const struct field fields[] = {
	{ "M_Key",		7, 0xff, 0x5a, true, false },
	{ "M_Key, top byte",	0, 0xff, 0xa5, true, false },
	{ "M_Key, none",	0, 0xff, 0, true, false },
	{ "M_Key, none",	7, 0xff, 0, true, false },
	{ "GidPrefix",		15, 0xff, 0x37, true, false },
	{ "MasterSMLID",	19, 0xff, 9, true, false },
	{ "M_KeyLeasePeriod",	26, 0xff, 0x12, true, false },
	{ "M_KeyLeasePeriod",	27, 0xff, 0x34, true, false },
	{ "LinkDownDefaultState", 33, 0x0f, PHYS_SLEEP, false, true },
	{ "M_KeyProtectBits",	34, 0xc0, 0x80, true, false },
	{ "M_KeyProtectBits",	34, 0xc0, 0x40, true, false },
	{ "NeighborMTU",	36, 0xf0, 0x30, false, true },
	{ "MasterSMSL",		36, 0x0f, 0x0b, true, false },
	{ "InitType",		37, 0x0f, 0x06, true, false },
	{ "VLHighLimit",	38, 0xff, 0x77, false, true },
	{ "VLStallCount",	42, 0xe0, 0xa0, false, true },
	{ "HOQLife",		42, 0x1f, 0x13, false, true },
	{ "OperationalVLs",	43, 0xf0, 0x20, false, true },
	{ "M_KeyViolations",	45, 0xff, 0x21, true, false },
	{ "P_KeyViolations",	47, 0xff, 0x22, true, false },
	{ "Q_KeyViolations",	49, 0xff, 0x23, true, false },
	{ "SubnetTimeOut",	51, 0x1f, 0x15, true, false },
	{ "LocalPhyErrors",	53, 0xf0, 0xc0, false, true },
	{ "OverrunErrors",	53, 0x0f, 0x0d, false, true },
};

/* Of the second host, of the switch's port to it, and of the switch itself */
static const struct where *const all[] = { &host, &outer, &inner };

static bool has(const struct where *at, const struct field *f)
{
	return (f->end_port && (at->host || !at->num)) || (f->link && at->num);
}

/* A Set changes what it is for, and nothing else */
TEST_F(port_info, each_component_is_set_by_itself)
{
	__u8 before[PORT_INFO_SIZE], pi[PORT_INFO_SIZE], after[PORT_INFO_SIZE];
	unsigned int i, w;

	for (w = 0; w < ARRAY_SIZE(all); w++) {
		self->sm.mkey = 0;
		ASSERT_EQ(0, get(self, all[w], before));
		for (i = 0; i < ARRAY_SIZE(fields); i++) {
			const struct field *f = &fields[i];

			memcpy(pi, before, sizeof(pi));
			no_change(pi);
			pi[f->byte] = (pi[f->byte] & ~f->mask) | f->value;
			ASSERT_EQ(0, set(self, all[w], pi))
				TH_LOG("%s of %s", f->name, all[w]->name);
			if (has(all[w], f)) {
				before[f->byte] = (before[f->byte] & ~f->mask) | f->value;
				memcpy(&self->sm.mkey, before, sizeof(self->sm.mkey));
				self->sm.mkey = be64toh(self->sm.mkey);
			}
			ASSERT_EQ(0, get(self, all[w], after));
			EXPECT_EQ(0, memcmp(before, after, sizeof(after)))
				TH_LOG("%s of %s", f->name, all[w]->name);
		}
	}
}

/* What is left of all of that without power: nothing */
TEST_F(port_info, power)
{
	__u8 first[ARRAY_SIZE(all)][PORT_INFO_SIZE], pi[PORT_INFO_SIZE];
	unsigned int again, i, w;

	for (again = 0; again < 2; again++) {
		umad_fabric_fault("s1 unplug");
		umad_fabric_fault("s1 plug");
		umad_fabric_fault("h2 unplug");
		umad_fabric_fault("h2 plug");
		for (w = 0; w < ARRAY_SIZE(all); w++) {
			ASSERT_EQ(0, get(self, all[w], pi));
			if (again)
				EXPECT_EQ(0, memcmp(first[w], pi, sizeof(pi)))
					TH_LOG("%s", all[w]->name);
			memcpy(first[w], pi, sizeof(pi));
			no_change(pi);
			pi[17] = 0x22;		/* LID */
			for (i = 0; i < ARRAY_SIZE(fields); i++)
				pi[fields[i].byte] = (pi[fields[i].byte] & ~fields[i].mask) |
						     fields[i].value;
			ASSERT_EQ(0, set(self, all[w], pi));
		}
	}
}

/* What switches check, which hosts do not have */
TEST_F(port_info, enforcement_is_for_switches)
{
	__u8 pi[PORT_INFO_SIZE];

	ASSERT_EQ(0, get(self, &outer, pi));
	no_change(pi);
	pi[43] |= 0x0f;
	ASSERT_EQ(0, set(self, &outer, pi));
	ASSERT_EQ(0, get(self, &outer, pi));
	EXPECT_EQ(0x0c, pi[43] & 0x0f);
	ASSERT_EQ(0, get(self, &host, pi));
	no_change(pi);
	pi[43] |= 0x0f;
	ASSERT_EQ(0, set(self, &host, pi));
	ASSERT_EQ(0, get(self, &host, pi));
	EXPECT_EQ(0, pi[43] & 0x0f);
}

/* 0 leaves some components as they are, and 255 is everything that the port can do */
TEST_F(port_info, no_change)
{
	static const struct field keep[] = {
		{ "LinkWidthEnabled",		29, 0xff, 0, false, true },
		{ "LinkDownDefaultState",	33, 0x0f, 0, false, true },
		{ "NeighborMTU",		36, 0xf0, 0, false, true },
		{ "OperationalVLs",		43, 0xf0, 0, false, true },
	};
	__u8 before[PORT_INFO_SIZE], pi[PORT_INFO_SIZE];
	unsigned int i;

	ASSERT_EQ(0, get(self, &outer, before));
	for (i = 0; i < ARRAY_SIZE(keep); i++) {
		memcpy(pi, before, sizeof(pi));
		no_change(pi);
		pi[keep[i].byte] &= ~keep[i].mask;
		ASSERT_EQ(0, set(self, &outer, pi));
		EXPECT_EQ(0, memcmp(before, pi, sizeof(pi)))
			TH_LOG("%s", keep[i].name);
	}

	memcpy(pi, before, sizeof(pi));
	no_change(pi);
	pi[29] = 0x01;
	ASSERT_EQ(0, set(self, &outer, pi));
	EXPECT_EQ(0x01, pi[29]);
	no_change(pi);
	pi[29] = 0xff;
	ASSERT_EQ(0, set(self, &outer, pi));
	EXPECT_EQ(before[30], pi[29]);
}

/* A value that there is not is refused, and nothing of that Set counts */
TEST_F(port_info, refused_values)
{
	static const struct field bad[] = {
		{ "LID 0",			17, 0xff, 0, true, false },
		{ "a multicast LID",		16, 0xff, 0xc0, true, false },
		{ "MasterSMLID 0",		19, 0xff, 0, true, false },
		{ "MasterSMLID, multicast",	18, 0xff, 0xc0, true, false },
		{ "LinkWidthEnabled",		29, 0xff, 0x08, false, true },
		{ "PortState: Initialize",	32, 0x0f, 2, false, true },
		{ "PortState",			32, 0x0f, 5, false, true },
		{ "PortPhysicalState: training", 33, 0xf0, 0x40, false, true },
		{ "PortPhysicalState: LinkUp",	33, 0xf0, 0x50, false, true },
		{ "LinkDownDefaultState",	33, 0x0f, 3, false, true },
		{ "NeighborMTU",		36, 0xf0, 0x60, false, true },
		{ "OperationalVLs",		43, 0xf0, 0x50, false, true },
		{ "LinkSpeedEnabled",		35, 0x0f, 8, false, true },
	};
	__u8 before[PORT_INFO_SIZE], pi[PORT_INFO_SIZE], after[PORT_INFO_SIZE];
	unsigned int i, w;

	for (w = 0; w < ARRAY_SIZE(all); w++) {
		ASSERT_EQ(0, get(self, all[w], before));
		for (i = 0; i < ARRAY_SIZE(bad); i++) {
			const struct field *f = &bad[i];

			memcpy(pi, before, sizeof(pi));
			no_change(pi);
			pi[f->byte] = (pi[f->byte] & ~f->mask) | f->value;
			/* VLHighLimit */
			pi[38] ^= 0xff;
			if (!has(all[w], f))
				continue;
			EXPECT_EQ(STATUS_INVALID, set(self, all[w], pi))
				TH_LOG("%s of %s", f->name, all[w]->name);
			ASSERT_EQ(0, get(self, all[w], after));
			EXPECT_EQ(0, memcmp(before, after, sizeof(after)))
				TH_LOG("%s of %s", f->name, all[w]->name);
		}
	}

	/* Both states at once, unless the link goes down */
	EXPECT_EQ(STATUS_INVALID, set_states(self, &outer, PORT_ACTIVE, PHYS_POLLING, 0));
	EXPECT_EQ(0, set_states(self, &outer, PORT_DOWN, PHYS_POLLING, 0));
	EXPECT_EQ(PORT_INIT, state_of(self, &outer));
}

/* Step by step to ACTIVE, and from there down only */
TEST_F(port_info, states)
{
	static const struct {
		int from, to, status, then;
	} steps[] = {
		{ PORT_ACTIVE,	PORT_ACTIVE,	0, PORT_ACTIVE },
		{ PORT_ACTIVE,	PORT_ARMED,	STATUS_INVALID, PORT_ACTIVE },
		{ PORT_ACTIVE,	PORT_DOWN,	0, PORT_INIT },
		{ PORT_INIT,	PORT_ACTIVE,	STATUS_INVALID, PORT_INIT },
		{ PORT_INIT,	PORT_ARMED,	0, PORT_ARMED },
		{ PORT_ARMED,	PORT_ARMED,	0, PORT_ARMED },
		{ PORT_ARMED,	PORT_NO_CHANGE,	0, PORT_ARMED },
		{ PORT_ARMED,	PORT_ACTIVE,	0, PORT_ACTIVE },
		{ PORT_ACTIVE,	PORT_NO_CHANGE,	0, PORT_ACTIVE },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		ASSERT_EQ(steps[i].from, state_of(self, &outer));
		EXPECT_EQ(steps[i].status, set_states(self, &outer, steps[i].to, 0, 0))
			TH_LOG("from %d to %d", steps[i].from, steps[i].to);
		EXPECT_EQ(steps[i].then, state_of(self, &outer))
			TH_LOG("from %d to %d", steps[i].from, steps[i].to);
	}
	/* A link that is down cannot be brought up by its state */
	ASSERT_EQ(0, set_states(self, &outer, PORT_NO_CHANGE, PHYS_DISABLED, 0));
	EXPECT_EQ(STATUS_INVALID, set_states(self, &outer, PORT_ARMED, 0, 0));
	EXPECT_EQ(STATUS_INVALID, set_states(self, &outer, PORT_ACTIVE, 0, 0));
	EXPECT_EQ(PORT_DOWN, state_of(self, &outer));
}

/* A port that is disabled has no link until it polls, whatever its cable does */
TEST_F(port_info, disabled)
{
	ASSERT_EQ(0, set_states(self, &outer, PORT_NO_CHANGE, PHYS_DISABLED, 0));
	EXPECT_EQ(PHYS_DISABLED, phys_of(self, &outer));
	umad_fabric_fault("h2 1 link down");
	umad_fabric_fault("h2 1 link up");
	EXPECT_EQ(PHYS_DISABLED, phys_of(self, &outer));
	EXPECT_EQ(PORT_DOWN, state_of(self, &outer));
	ASSERT_EQ(0, set_states(self, &outer, PORT_DOWN, 0, 0));
	EXPECT_EQ(PHYS_LINK_UP, phys_of(self, &outer));
	ASSERT_EQ(0, set_states(self, &outer, PORT_NO_CHANGE, PHYS_DISABLED, 0));
	ASSERT_EQ(0, set_states(self, &outer, PORT_NO_CHANGE, PHYS_POLLING, 0));
	EXPECT_EQ(PHYS_LINK_UP, phys_of(self, &outer));
	EXPECT_EQ(PORT_INIT, state_of(self, &outer));
	EXPECT_EQ(PORT_INIT, state_of(self, &host));
}

/* Where a link goes that is lost. One end that polls wakes the other up */
TEST_F(port_info, link_down_default)
{
	ASSERT_EQ(0, set_states(self, &outer, PORT_NO_CHANGE, 0, PHYS_SLEEP));
	umad_fabric_fault("h2 1 link down");
	EXPECT_EQ(PHYS_SLEEP, phys_of(self, &outer));
	EXPECT_EQ(PORT_DOWN, state_of(self, &outer));
	umad_fabric_fault("h2 1 link up");
	EXPECT_EQ(PHYS_LINK_UP, phys_of(self, &outer));
	EXPECT_EQ(PORT_INIT, state_of(self, &outer));

	/* Both sleep: nobody begins */
	ASSERT_EQ(0, set_states(self, &host, PORT_NO_CHANGE, 0, PHYS_SLEEP));
	umad_fabric_fault("h2 1 link down");
	umad_fabric_fault("h2 1 link up");
	EXPECT_EQ(PHYS_SLEEP, phys_of(self, &outer));
	EXPECT_EQ(PORT_DOWN, state_of(self, &outer));

	/* To Down is to LinkDownDefaultState */
	ASSERT_EQ(0, set_states(self, &outer, PORT_NO_CHANGE, PHYS_POLLING, PHYS_POLLING));
	EXPECT_EQ(PHYS_LINK_UP, phys_of(self, &outer));
	EXPECT_EQ(PHYS_LINK_UP, phys_of(self, &host));
	ASSERT_EQ(0, set_states(self, &outer, PORT_DOWN, 0, PHYS_SLEEP));
	EXPECT_EQ(PHYS_SLEEP, phys_of(self, &outer));
	ASSERT_EQ(0, set_states(self, &outer, PORT_DOWN, 0, PHYS_POLLING));
	EXPECT_EQ(PHYS_LINK_UP, phys_of(self, &outer));
}

/* The kernel, too, learns of another prefix */
TEST_F(port_info, gid_prefix)
{
	const struct umad_port *port = &self->fabric.host[1];
	__u8 pi[PORT_INFO_SIZE], gid[16];

	ASSERT_EQ(0, get(self, &host, pi));
	no_change(pi);
	pi[15] = 0x37;
	ASSERT_EQ(0, set(self, &host, pi));
	memcpy(gid, port->gid, sizeof(gid));
	gid[7] = 0x37;
	EXPECT_TRUE(umad_has_gid(port, 0, gid));
}

/* o14-12.2.1: who asks is told that the clients are, and only then */
TEST_F(port_info, reregister)
{
	__u8 pi[PORT_INFO_SIZE];

	ASSERT_EQ(0, get(self, &host, pi));
	EXPECT_EQ(0, pi[TIMEOUT] & REREGISTER);
	no_change(pi);
	pi[TIMEOUT] |= REREGISTER;
	ASSERT_EQ(0, set(self, &host, pi));
	EXPECT_EQ(REREGISTER, pi[TIMEOUT] & REREGISTER);
	ASSERT_EQ(0, get(self, &host, pi));
	EXPECT_EQ(0, pi[TIMEOUT] & REREGISTER);
	no_change(pi);
	ASSERT_EQ(0, set(self, &host, pi));
	EXPECT_EQ(0, pi[TIMEOUT] & REREGISTER);
}

/* LocalPortNum is where the request came in, whatever port it is about */
TEST_F(port_info, local_port)
{
	__u8 pi[PORT_INFO_SIZE], node[64] = {};
	struct umad_sm other;

	ASSERT_EQ(0, get(self, &inner, pi));
	EXPECT_EQ(1, pi[LOCAL_PORT]);
	ASSERT_EQ(0, get(self, &outer, pi));
	EXPECT_EQ(1, pi[LOCAL_PORT]);
	memset(pi, 0, sizeof(pi));
	EXPECT_EQ(STATUS_INVALID, umad_smp(&self->sm, &umad_to_next, 0, MAD_GET, SMP_PORT_INFO,
					   self->fabric.spare + 1, pi));
	EXPECT_EQ(STATUS_INVALID, umad_smp(&self->sm, &self->second, 0, MAD_GET, SMP_PORT_INFO,
					   2, pi));
	/* A host takes 0 for the port that got it */
	umad_smp_get(&self->sm, &self->second, SMP_PORT_INFO, 0, pi);
	EXPECT_EQ(1, pi[LOCAL_PORT]);
	EXPECT_EQ(self->fabric.host[1].lid, pi[17]);

	/* NodeInfo has it, too */
	umad_sm_open(&self->fabric.host[1], &other);
	umad_smp_get(&other, &umad_to_next, SMP_PORT_INFO, 1, pi);
	EXPECT_EQ(2, pi[LOCAL_PORT]);
	umad_smp_get(&other, &umad_to_next, SMP_NODE_INFO, 0, node);
	EXPECT_EQ(2, node[36]);
	umad_sm_close(&other);
}

TEST_HARNESS_MAIN
