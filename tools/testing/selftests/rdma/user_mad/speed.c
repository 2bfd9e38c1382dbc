// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Extended speeds in PortInfo of the simulated fabric: its last byte is for subnet
 * managers that set SMSupportExtendedSpeeds in the attribute modifier.
 */

#include "kselftest_harness.h"
#include "lib/subnet.h"

#define SM_EXT_SPEEDS	0x80000000
#define NO_EXT_SPEEDS	30

/* Status: a field of attribute or modifier is not valid */
#define INVALID_FIELD	0x1c

FIXTURE(speed)
{
	struct umad_fabric fabric;
	struct umad_sm sm;
	struct umad_path path;	/* to the second host */
};

FIXTURE_SETUP(speed)
{
	self->fabric = (struct umad_fabric){ .hosts = 2 };
	umad_subnet(&self->fabric);
	umad_sm_open(&self->fabric.host[0], &self->sm);
	self->path = umad_fabric_path(&self->fabric, 1);
}

FIXTURE_TEARDOWN(speed)
{
	umad_sm_close(&self->sm);
	umad_fabric_stop();
}

static int ask(FIXTURE_DATA(speed) *self, __u8 method, __u32 mod,
	       struct umad_port_info *info)
{
	return umad_smp(&self->sm, &self->path, 0, method, SMP_PORT_INFO, mod | 1, info);
}

/* LinkSpeedExtEnabled that a Set with this modifier leaves, of a port with QDR */
#define enabled_by(self, mod, wanted) ({				\
	struct umad_port_info __info = {};				\
									\
	ASSERT_EQ(0, ask(self, MAD_GET, mod, &__info));			\
	__info.speed_ext_enabled = wanted;				\
	__info.speed_supported_state &= 0xf0;				\
	__info.phys_state_down_default &= 0x0f;				\
	ASSERT_EQ(0, ask(self, MAD_SET, mod, &__info));			\
	ASSERT_EQ(0, ask(self, MAD_GET, 0, &__info));			\
	__info.speed_ext_enabled;					\
})

TEST_F(speed, enabled_by_those_who_know)
{
	EXPECT_EQ(0, enabled_by(self, 0, NO_EXT_SPEEDS));
	EXPECT_EQ(NO_EXT_SPEEDS, enabled_by(self, SM_EXT_SPEEDS, NO_EXT_SPEEDS));
	EXPECT_EQ(NO_EXT_SPEEDS, enabled_by(self, SM_EXT_SPEEDS, 0));
	EXPECT_EQ(NO_EXT_SPEEDS, enabled_by(self, 0, 31));
	EXPECT_EQ(0, enabled_by(self, SM_EXT_SPEEDS, 31));
}

/* A port with QDR has none of them; the rest of the modifier is a port */
TEST_F(speed, refused)
{
	struct umad_port_info info = {}, before;

	ASSERT_EQ(0, ask(self, MAD_GET, 0, &info));
	info.speed_supported_state &= 0xf0;
	info.phys_state_down_default &= 0x0f;
	before = info;
	info.speed_ext_enabled = 1;
	EXPECT_EQ(INVALID_FIELD, ask(self, MAD_SET, SM_EXT_SPEEDS, &info));
	info = before;
	EXPECT_EQ(INVALID_FIELD, ask(self, MAD_GET, 0x40000000, &info));
	ASSERT_EQ(0, ask(self, MAD_GET, 0, &info));
	EXPECT_EQ(0, info.speed_ext_enabled);
	EXPECT_EQ(0, info.speed_ext);
}

TEST_HARNESS_MAIN
