// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The performance management agents of a simulated fabric: each counter can be
 * set and read, stops at its end, and counts what it is for.
 */

#include "kselftest_harness.h"
#include "lib/fabric.h"

#define PMA_CLASS_PORT_INFO	0x01
#define PMA_PORT_COUNTERS	0x12
#define PMA_RCV_ERROR_DETAILS	0x15
#define PMA_XMIT_DISCARD_DETAILS 0x16
#define PMA_PORT_COUNTERS_EXT	0x1d

#define ENFORCE_IN		0x8
#define ENFORCE_OUT		0x4

#define ALL_PORTS		255
#define NOWHERE			6	/* a LID that nobody has */

/* A counter: the byte it begins in, its bits, and its bit of CounterSelect */
struct field {
	__u16 attr;
	__u8 offset;
	__u8 bits;
	__u8 select;
};

/* CounterSelect2 is another field. Here its bits follow */
#define SELECT2			16

enum {
	SYMBOL_ERRORS,
	LINK_DOWNED = 2,
	RCV_ERRORS,
	RELAY_ERRORS = 5,
	XMIT_DISCARDS,
	XMIT_CONSTRAINT_ERRORS,
	RCV_CONSTRAINT_ERRORS,
	INTEGRITY = 9,
	OVERRUNS,
	XMIT_DATA = 12,
	XMIT_PKTS = 14,
	EXT_RCV_DATA = 19,
	EXT_XMIT_MCAST = 24,
	EXT_RCV_MCAST,
	EXT_SYMBOL_ERRORS = 26,
	EXT_LINK_DOWNED = 28,
	MALFORMED = 41,
	DLID_MAPPING = 43,
	VL_MAPPING,
	LOOPING,
	INACTIVE,
	LIFETIME = INACTIVE + 2,
};

#define PC(offset, bits, select) { PMA_PORT_COUNTERS, offset, bits, select }
#define EXT(offset, select) { PMA_PORT_COUNTERS_EXT, offset, 64, select }
#define RCV(offset, select) { PMA_RCV_ERROR_DETAILS, offset, 16, select }
#define XMIT(offset, select) { PMA_XMIT_DISCARD_DETAILS, offset, 16, select }

static const struct field fields[] = {
	PC(4, 16, 0),		/* SymbolErrorCounter */
	PC(6, 8, 1),		/* LinkErrorRecoveryCounter */
	PC(7, 8, 2),		/* LinkDownedCounter */
	PC(8, 16, 3),		/* PortRcvErrors */
	PC(10, 16, 4),		/* PortRcvRemotePhysicalErrors */
	PC(12, 16, 5),		/* PortRcvSwitchRelayErrors */
	PC(14, 16, 6),		/* PortXmitDiscards */
	PC(16, 8, 7),		/* PortXmitConstraintErrors */
	PC(17, 8, 8),		/* PortRcvConstraintErrors */
	PC(19, 4, 9),		/* LocalLinkIntegrityErrors */
	PC(19, 4, 10),		/* ExcessiveBufferOverrunErrors */
	PC(22, 16, 11),		/* VL15Dropped */
	PC(24, 32, 12),		/* PortXmitData */
	PC(28, 32, 13),		/* PortRcvData */
	PC(32, 32, 14),		/* PortXmitPkts */
	PC(36, 32, 15),		/* PortRcvPkts */
	PC(40, 32, SELECT2),	/* PortXmitWait */
	PC(20, 16, SELECT2 + 1),	/* QP1Dropped */
	EXT(8, 0),		/* PortXmitData */
	EXT(16, 1),		/* PortRcvData */
	EXT(24, 2),		/* PortXmitPkts */
	EXT(32, 3),		/* PortRcvPkts */
	EXT(40, 4),		/* PortUnicastXmitPkts */
	EXT(48, 5),		/* PortUnicastRcvPkts */
	EXT(56, 6),		/* PortMulticastXmitPkts */
	EXT(64, 7),		/* PortMulticastRcvPkts */
	EXT(72, SELECT2),	/* SymbolErrorCounter */
	EXT(80, SELECT2 + 1),	/* LinkErrorRecoveryCounter */
	EXT(88, SELECT2 + 2),	/* LinkDownedCounter */
	EXT(96, SELECT2 + 3),	/* PortRcvErrors */
	EXT(104, SELECT2 + 4),	/* PortRcvRemotePhysicalErrors */
	EXT(112, SELECT2 + 5),	/* PortRcvSwitchRelayErrors */
	EXT(120, SELECT2 + 6),	/* PortXmitDiscards */
	EXT(128, SELECT2 + 7),	/* PortXmitConstraintErrors */
	EXT(136, SELECT2 + 8),	/* PortRcvConstraintErrors */
	EXT(144, SELECT2 + 9),	/* LocalLinkIntegrityErrors */
	EXT(152, SELECT2 + 10),	/* ExcessiveBufferOverrunErrors */
	EXT(160, SELECT2 + 11),	/* VL15Dropped */
	EXT(168, SELECT2 + 12),	/* PortXmitWait */
	EXT(176, SELECT2 + 13),	/* QP1Dropped */
	RCV(4, 0),		/* PortLocalPhysicalErrors */
	RCV(6, 1),		/* PortMalformedPacketErrors */
	RCV(8, 2),		/* PortBufferOverrunErrors */
	RCV(10, 3),		/* PortDLIDMappingErrors */
	RCV(12, 4),		/* PortVLMappingErrors */
	RCV(14, 5),		/* PortLoopingErrors */
	XMIT(4, 0),		/* PortInactiveDiscards */
	XMIT(6, 1),		/* PortNeighborMTUDiscards */
	XMIT(8, 2),		/* PortSwLifetimeLimitDiscards */
	XMIT(10, 3),		/* PortSwHOQLifetimeLimitDiscards */
};

/* Three hosts around a switch; the first one asks the others' agents */
FIXTURE(pma)
{
	struct umad_fabric fabric;
	struct umad_sm sm;
	struct umad_file file;
	__u32 id;
	__u64 tid;
};

FIXTURE_SETUP(pma)
{
	struct umad_reg reg = umad_reg_send_only(1);

	if (!umad_have_fabrics())
		SKIP(return, UMAD_NO_FABRICS);
	self->fabric = (struct umad_fabric){ .hosts = 3, .star = true };
	umad_fabric_start(&self->fabric);
	umad_fabric_up(&self->fabric);
	umad_sm_open(&self->fabric.host[0], &self->sm);
	umad_open(&self->fabric.host[0], O_RDWR | O_NONBLOCK, &self->file);
	umad_enable_pkey(&self->file);
	self->id = umad_register(&self->file, &reg);
}

FIXTURE_TEARDOWN(pma)
{
	umad_close(&self->file);
	umad_sm_close(&self->sm);
	umad_fabric_stop();
}

static struct umad_msg pma_msg(FIXTURE_DATA(pma) *self, __u16 lid, __u8 method, __u16 attr,
			       const __u8 data[PMA_SIZE])
{
	struct umad_msg msg = umad_perf_msg(&self->fabric.host[0], self->id, method,
					    ++self->tid, lid, attr);

	memcpy(umad_perf_of(&msg), data, PMA_SIZE);
	return msg;
}

/* The status of the response, whose attribute is in @data then, or -1 */
static int pma(FIXTURE_DATA(pma) *self, __u16 lid, __u8 method, __u16 attr, __u8 data[PMA_SIZE])
{
	struct umad_msg msg = pma_msg(self, lid, method, attr, data);
	int status;

	status = umad_exchange(&self->file, &msg);
	if (status >= 0)
		memcpy(data, umad_perf_of(&msg), PMA_SIZE);
	return status;
}

static __u64 field_get(const struct field *f, const __u8 *data)
{
	__u64 value = 0;
	int i;

	if (f->bits == 4)
		return f->select == INTEGRITY ? data[f->offset] >> 4 : data[f->offset] & 15;
	for (i = 0; i < f->bits / 8; i++)
		value = value << 8 | data[f->offset + i];
	return value;
}

static void field_put(const struct field *f, __u8 *data, __u64 value)
{
	int i;

	if (f->bits == 4) {
		data[f->offset] |= f->select == INTEGRITY ? value << 4 : value;
		return;
	}
	for (i = f->bits / 8; i--; value >>= 8)
		data[f->offset + i] = value;
}

/* PortCounters has room for eight bits of CounterSelect2, the others for 32 */
static void select_put(const struct field *f, __u8 *data)
{
	__u32 bit = 1u << (f->select % SELECT2);

	if (f->select < SELECT2) {
		data[2] |= bit >> 8;
		data[3] |= bit;
	} else if (f->attr == PMA_PORT_COUNTERS) {
		data[18] |= bit;
	} else {
		data[6] |= bit >> 8;
		data[7] |= bit;
	}
}

/* Sets one counter of port @port of who has @lid */
static int counter_set(FIXTURE_DATA(pma) *self, __u16 lid, __u8 port, int which, __u64 value)
{
	const struct field *f = &fields[which];
	__u8 data[PMA_SIZE] = { [1] = port };

	select_put(f, data);
	field_put(f, data, value);
	return pma(self, lid, MAD_SET, f->attr, data);
}

/* ... and reads it, ~0 if that fails */
static __u64 counter(FIXTURE_DATA(pma) *self, __u16 lid, __u8 port, int which)
{
	const struct field *f = &fields[which];
	__u8 data[PMA_SIZE] = { [1] = port };

	return pma(self, lid, MAD_GET, f->attr, data) ? ~0ULL : field_get(f, data);
}

/* A value of its own for each, with the highest bit of those that have many */
static __u64 value_of(int which)
{
	const struct field *f = &fields[which];

	switch (f->bits) {
	case 4:
		return 10 + which - INTEGRITY;
	case 64:
		return 0x8123456789abcd00ULL + which;
	default:
		return (1ULL << (f->bits - 1)) + which;
	}
}

/* On a port without a cable, where nothing counts in between */
TEST_F(pma, each_counter_is_set_by_itself)
{
	__u16 lid = self->fabric.sw.lid;
	__u8 port = self->fabric.spare;
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(fields); i++) {
		ASSERT_EQ(0, counter(self, lid, port, i))
			TH_LOG("attribute 0x%x byte %d", fields[i].attr, fields[i].offset);
		ASSERT_EQ(0, counter_set(self, lid, port, i, value_of(i)));
		for (j = 0; j < ARRAY_SIZE(fields); j++)
			EXPECT_EQ(j <= i ? value_of(j) : 0, counter(self, lid, port, j))
				TH_LOG("attribute 0x%x byte %d, after 0x%x byte %d", fields[j].attr,
				       fields[j].offset, fields[i].attr, fields[i].offset);
	}

	/* As perfquery clears them */
	for (i = 0; i < ARRAY_SIZE(fields); i++) {
		__u8 data[PMA_SIZE] = { [1] = port, [2] = 0xff, [3] = 0xff };

		if (i && fields[i].attr == fields[i - 1].attr)
			continue;
		memset(fields[i].attr == PMA_PORT_COUNTERS ? &data[18] : &data[6], 0xff,
		       fields[i].attr == PMA_PORT_COUNTERS ? 1 :
		       fields[i].attr == PMA_PORT_COUNTERS_EXT ? 2 : 0);
		ASSERT_EQ(0, pma(self, lid, MAD_SET, fields[i].attr, data));
	}
	for (i = 0; i < ARRAY_SIZE(fields); i++)
		EXPECT_EQ(0, counter(self, lid, port, i));
}

/* A counter that is at its end stays there */
TEST_F(pma, counters_stop)
{
	__u16 lid = self->fabric.sw.lid, host = self->fabric.host[1].lid;
	__u8 data[PMA_SIZE] = {};
	int i;

	ASSERT_EQ(0, counter_set(self, lid, 2, XMIT_PKTS, 0xfffffffe));
	ASSERT_EQ(0, counter_set(self, lid, 2, XMIT_DATA, 0xfffffff0));
	ASSERT_EQ(0, counter_set(self, lid, 2, LINK_DOWNED, 254));
	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, pma(self, host, MAD_GET, PMA_CLASS_PORT_INFO, data));
	EXPECT_EQ(0xffffffff, counter(self, lid, 2, XMIT_PKTS));
	EXPECT_EQ(0xffffffff, counter(self, lid, 2, XMIT_DATA));
	for (i = 0; i < 3; i++) {
		umad_fabric_fault("h2 1 link down");
		umad_fabric_fault("h2 1 link up");
	}
	EXPECT_EQ(255, counter(self, lid, 2, LINK_DOWNED));
	EXPECT_EQ(3, counter(self, lid, 2, EXT_LINK_DOWNED));
}

TEST_F(pma, all_ports_together)
{
	__u16 lid = self->fabric.sw.lid;

	ASSERT_EQ(0, counter_set(self, lid, 2, LINK_DOWNED, 1));
	ASSERT_EQ(0, counter_set(self, lid, 4, LINK_DOWNED, 2));
	EXPECT_EQ(3, counter(self, lid, ALL_PORTS, LINK_DOWNED));
	ASSERT_EQ(0, counter_set(self, lid, 2, SYMBOL_ERRORS, 0xfff0));
	ASSERT_EQ(0, counter_set(self, lid, 4, SYMBOL_ERRORS, 0x0010));
	EXPECT_EQ(0xffff, counter(self, lid, ALL_PORTS, SYMBOL_ERRORS));
	ASSERT_EQ(0, counter_set(self, lid, ALL_PORTS, OVERRUNS, 3));
	EXPECT_EQ(3, counter(self, lid, 1, OVERRUNS));
	EXPECT_EQ(12, counter(self, lid, ALL_PORTS, OVERRUNS));
}

/* Sent, and lost on its way */
#define pma_lost(self, to) do {						\
	const __u8 __data[PMA_SIZE] = {};				\
	struct umad_msg __msg = pma_msg(self, to, MAD_GET, PMA_CLASS_PORT_INFO, __data); \
									\
	__msg.hdr.timeout_ms = UMAD_QUIET_MS;				\
	umad_write(&(self)->file, &__msg);				\
	umad_read_timeout(&(self)->file, &__msg);			\
} while (0)

TEST_F(pma, details_of_relay_errors)
{
	__u16 lid = self->fabric.sw.lid;
	__u8 block[64] = {};

	ASSERT_EQ(0, counter(self, lid, 1, RELAY_ERRORS));
	pma_lost(self, NOWHERE);
	EXPECT_EQ(1, counter(self, lid, 1, RELAY_ERRORS));
	EXPECT_EQ(1, counter(self, lid, 1, DLID_MAPPING));
	EXPECT_EQ(0, counter(self, lid, 1, LOOPING));

	/* Back by where it came from */
	umad_smp_get(&self->sm, &umad_to_next, SMP_LINEAR_FWD, 0, block);
	block[3] = 1;
	umad_smp_set(&self->sm, &umad_to_next, SMP_LINEAR_FWD, 0, block);
	pma_lost(self, 3);
	EXPECT_EQ(2, counter(self, lid, 1, RELAY_ERRORS));
	EXPECT_EQ(1, counter(self, lid, 1, DLID_MAPPING));
	EXPECT_EQ(1, counter(self, lid, 1, LOOPING));
}

/* The second host and its port of the switch, after their link has trained */
static int activate_host(FIXTURE_DATA(pma) *self)
{
	struct umad_path path = umad_fabric_path(&self->fabric, 1);
	__u16 lid = self->fabric.host[1].lid, sm_lid = self->fabric.host[0].lid;

	return umad_sm_set_port(&self->sm, &path, 1, lid, 0, sm_lid, PORT_ARMED) ?:
	       umad_sm_set_port(&self->sm, &path, 1, lid, 0, sm_lid, PORT_ACTIVE);
}

static int activate_switch(FIXTURE_DATA(pma) *self)
{
	const struct umad_path *path = &umad_to_next;

	return umad_sm_set_port(&self->sm, path, 2, 0, 0, 0, PORT_ARMED) ?:
	       umad_sm_set_port(&self->sm, path, 2, 0, 0, 0, PORT_ACTIVE);
}

TEST_F(pma, details_of_discards_and_receive_errors)
{
	__u16 lid = self->fabric.sw.lid, host = self->fabric.host[1].lid;

	/* The link has trained, and is not active */
	umad_fabric_fault("h2 1 link down");
	umad_fabric_fault("h2 1 link up");
	pma_lost(self, host);
	EXPECT_EQ(1, counter(self, lid, 2, XMIT_DISCARDS));
	EXPECT_EQ(1, counter(self, lid, 2, INACTIVE));

	/* ARMED is for what comes in */
	ASSERT_EQ(0, umad_sm_set_port(&self->sm, &umad_to_next, 2, 0, 0, 0, PORT_ARMED));
	pma_lost(self, host);
	EXPECT_EQ(2, counter(self, lid, 2, INACTIVE));
	EXPECT_EQ(0, counter_set(self, lid, 2, XMIT_DISCARDS, 1));

	/* The switch sends, and the host is not ready */
	ASSERT_EQ(0, activate_switch(self));
	pma_lost(self, host);
	ASSERT_EQ(0, activate_host(self));
	EXPECT_EQ(1, counter(self, host, 1, RCV_ERRORS));
	EXPECT_EQ(1, counter(self, host, 1, MALFORMED));
	EXPECT_EQ(1, counter(self, lid, 2, XMIT_DISCARDS));
}

/*
 * The third host leaves its port of the switch, and a cable from that one to the spare
 * one makes a loop.
 */
static int make_loop(FIXTURE_DATA(pma) *self)
{
	int port, ret;

	if (umad_sysfs_write(UMAD_FABRIC "/unlink", "h3 1") ||
	    umad_sysfs_write(UMAD_FABRIC "/link", "s1 3 s1 4"))
		return -errno;
	for (port = 3; port <= 4; port++) {
		ret = umad_sm_set_port(&self->sm, &umad_to_next, port, 0, 0, 0, PORT_ARMED);
		if (ret)
			return ret;
	}
	for (port = 3; port <= 4; port++) {
		ret = umad_sm_set_port(&self->sm, &umad_to_next, port, 0, 0, 0, PORT_ACTIVE);
		if (ret)
			return ret;
	}
	return 0;
}

/* Unicast or multicast, what runs in a circle ends at a port, and that one counts it */
TEST_F(pma, circles_end)
{
	__u16 lid = self->fabric.sw.lid, gone = self->fabric.host[2].lid, mlid = 0xc000;
	__be16 mft[32] = { htobe16(1 << 3 | 1 << 4) };
	__u8 lft[64] = {};
	__u64 sent;

	ASSERT_EQ(0, make_loop(self));
	umad_smp_get(&self->sm, &umad_to_next, SMP_LINEAR_FWD, 0, lft);
	lft[gone] = 3;
	umad_smp_set(&self->sm, &umad_to_next, SMP_LINEAR_FWD, 0, lft);
	sent = counter(self, lid, 3, XMIT_PKTS);
	/* In at 4, out by 3 */
	pma_lost(self, gone);
	EXPECT_EQ(0, counter(self, lid, 4, LIFETIME));
	EXPECT_EQ(1, counter(self, lid, 3, LIFETIME));
	EXPECT_EQ(1, counter(self, lid, 3, XMIT_DISCARDS));
	EXPECT_LT(sent + 64, counter(self, lid, 3, XMIT_PKTS));

	/* Both ways round. There are as many copies as there are ends: four */
	umad_smp_set(&self->sm, &umad_to_next, SMP_MCAST_FWD, 0, mft);
	sent = counter(self, lid, 3, XMIT_PKTS) + counter(self, lid, 4, XMIT_PKTS);
	pma_lost(self, mlid);
	EXPECT_EQ(sent + 4, counter(self, lid, 3, XMIT_PKTS) + counter(self, lid, 4, XMIT_PKTS));
	EXPECT_EQ(1, counter(self, lid, 4, LIFETIME));
	EXPECT_EQ(2, counter(self, lid, 3, LIFETIME));
}

/* Power takes counters along */
TEST_F(pma, counters_start_anew)
{
	__u16 lid = self->fabric.host[1].lid;

	ASSERT_EQ(0, counter_set(self, lid, 1, SYMBOL_ERRORS, 7));
	ASSERT_EQ(0, counter_set(self, lid, 1, EXT_SYMBOL_ERRORS, 8));
	EXPECT_EQ(7, counter(self, lid, 1, SYMBOL_ERRORS));
	umad_fabric_fault("h2 unplug");
	umad_fabric_fault("h2 plug");
	ASSERT_EQ(0, activate_host(self));
	ASSERT_EQ(0, activate_switch(self));
	EXPECT_EQ(0, counter(self, lid, 1, SYMBOL_ERRORS));
	EXPECT_EQ(0, counter(self, lid, 1, EXT_SYMBOL_ERRORS));
	EXPECT_EQ(0, counter(self, lid, 1, LINK_DOWNED));
}

/* Whether the second host answers to an SL: 0, or -1 */
static int ask_by_sl(FIXTURE_DATA(pma) *self, __u8 sl)
{
	const __u8 data[PMA_SIZE] = {};
	struct umad_msg msg = pma_msg(self, self->fabric.host[1].lid, MAD_GET, PMA_CLASS_PORT_INFO,
				      data);

	msg.hdr.sl = sl;
	msg.hdr.timeout_ms = UMAD_QUIET_MS;
	if (_umad_write(&self->file, &msg) < 0 ||
	    !umad_readable(&self->file, UMAD_SOON_MS) || _umad_read(&self->file, &msg) < 0)
		return -2;
	return msg.hdr.status ? -1 : 0;
}

/* An SL that maps to VL15, or to a VL that is not in operation, leads nowhere */
TEST_F(pma, virtual_lanes)
{
	struct umad_path here = { 0 };
	struct umad_port_info info = {};
	__u16 lid = self->fabric.sw.lid;
	__u8 map[64] = {};

	umad_smp_get(&self->sm, &umad_to_next, SMP_SL_TO_VL, 1 << 8 | 2, map);
	EXPECT_EQ(0x01, map[0]);
	EXPECT_EQ(0x23, map[1]);
	map[1] |= 0x0f;
	umad_smp_set(&self->sm, &umad_to_next, SMP_SL_TO_VL, 1 << 8 | 2, map);
	EXPECT_EQ(0, ask_by_sl(self, 2));
	EXPECT_EQ(0, ask_by_sl(self, 0xf2));
	EXPECT_EQ(0, counter(self, lid, 1, RELAY_ERRORS));
	EXPECT_EQ(-1, ask_by_sl(self, 3));
	EXPECT_EQ(1, counter(self, lid, 1, RELAY_ERRORS));
	EXPECT_EQ(1, counter(self, lid, 1, VL_MAPPING));

	/* VL0 and VL1 alone */
	umad_smp_get(&self->sm, &umad_to_next, SMP_PORT_INFO, 2, &info);
	info.operational_vls = 2 << 4;
	info.speed_supported_state &= 0xf0;
	info.phys_state_down_default &= 0x0f;
	umad_smp_set(&self->sm, &umad_to_next, SMP_PORT_INFO, 2, &info);
	EXPECT_EQ(0, ask_by_sl(self, 1));
	EXPECT_EQ(-1, ask_by_sl(self, 2));
	EXPECT_EQ(2, counter(self, lid, 1, VL_MAPPING));

	/* It does not even leave the host */
	umad_smp_get(&self->sm, &here, SMP_SL_TO_VL, 0, map);
	map[0] |= 0x0f;
	umad_smp_set(&self->sm, &here, SMP_SL_TO_VL, 0, map);
	EXPECT_EQ(-1, ask_by_sl(self, 1));
	EXPECT_EQ(0, ask_by_sl(self, 0));
	EXPECT_EQ(2, counter(self, lid, 1, RELAY_ERRORS));
}

/* What the switch is to check at the port of the second host, and by which P_Key */
static int enforce(FIXTURE_DATA(pma) *self, __u8 what, __u16 pkey)
{
	const struct umad_path *path = &umad_to_next;
	struct umad_port_info info = {};
	__be16 table[32] = { htobe16(pkey) };
	int status;

	status = umad_smp(&self->sm, path, 0, MAD_SET, SMP_PKEY_TABLE, 2 << 16, table);
	if (!status)
		status = umad_smp(&self->sm, path, 0, MAD_GET, SMP_PORT_INFO, 2, &info);
	if (status)
		return status;
	info.operational_vls = what;
	info.speed_supported_state &= 0xf0;
	info.phys_state_down_default &= 0x0f;
	status = umad_smp(&self->sm, path, 0, MAD_SET, SMP_PORT_INFO, 2, &info);
	return status ?: (info.operational_vls & 0xf) != what;
}

TEST_F(pma, partitions_at_a_switch)
{
	__u16 lid = self->fabric.sw.lid;
	__u8 info[64] = {};

	/* PartitionEnforcementCap, and both directions */
	umad_smp_get(&self->sm, &umad_to_next, SMP_SWITCH_INFO, 0, info);
	EXPECT_EQ(32, info[14] << 8 | info[15]);
	EXPECT_EQ(0xc0, info[16] & 0xf0);

	/* Nobody of another partition is heard at that port, and nobody there */
	ASSERT_EQ(0, enforce(self, ENFORCE_OUT, 0x8001));
	EXPECT_EQ(-1, ask_by_sl(self, 0));
	EXPECT_EQ(1, counter(self, lid, 2, XMIT_CONSTRAINT_ERRORS));
	EXPECT_EQ(0, counter(self, lid, 2, RCV_CONSTRAINT_ERRORS));
	ASSERT_EQ(0, enforce(self, ENFORCE_IN, 0x8001));
	EXPECT_EQ(-1, ask_by_sl(self, 0));
	EXPECT_EQ(1, counter(self, lid, 2, XMIT_CONSTRAINT_ERRORS));
	EXPECT_EQ(1, counter(self, lid, 2, RCV_CONSTRAINT_ERRORS));

	/* A limited member of the same partition, and no check at all */
	ASSERT_EQ(0, enforce(self, ENFORCE_IN | ENFORCE_OUT, 0x7fff));
	EXPECT_EQ(0, ask_by_sl(self, 0));
	ASSERT_EQ(0, enforce(self, 0, 0x8001));
	EXPECT_EQ(0, ask_by_sl(self, 0));
	EXPECT_EQ(1, counter(self, lid, 2, XMIT_CONSTRAINT_ERRORS));
	EXPECT_EQ(1, counter(self, lid, 2, RCV_CONSTRAINT_ERRORS));
}

/* AllPortSelect, extended width, PortXmitWait, QP1Dropped; the errors, too, have 64 bits */
TEST_F(pma, promises)
{
	__u8 data[PMA_SIZE] = {};

	ASSERT_EQ(0, pma(self, self->fabric.sw.lid, MAD_GET, PMA_CLASS_PORT_INFO, data));
	EXPECT_EQ(1 << 8 | 1 << 9 | 1 << 12 | 1 << 15, data[2] << 8 | data[3]);
	EXPECT_EQ(1 << 1, (data[4] << 24 | data[5] << 16 | data[6] << 8 | data[7]) >> 5);
}

/* Ports that there are not, what cannot be set, and another version of the class */
TEST_F(pma, refused)
{
	__u16 host = self->fabric.host[1].lid, sw = self->fabric.sw.lid;
	__u8 data[PMA_SIZE] = {};
	struct umad_msg msg;

	EXPECT_EQ(STATUS_INVALID, pma(self, host, MAD_GET, PMA_PORT_COUNTERS, data));
	data[1] = 2;
	EXPECT_EQ(STATUS_INVALID, pma(self, host, MAD_GET, PMA_PORT_COUNTERS, data));
	data[1] = self->fabric.spare + 1;
	EXPECT_EQ(STATUS_INVALID, pma(self, sw, MAD_SET, PMA_PORT_COUNTERS, data));
	data[1] = 0;
	EXPECT_EQ(0, pma(self, sw, MAD_GET, PMA_PORT_COUNTERS, data));
	EXPECT_EQ(STATUS_UNSUPPORTED, pma(self, sw, MAD_SET, PMA_CLASS_PORT_INFO, data));
	EXPECT_EQ(STATUS_UNSUPPORTED, pma(self, sw, MAD_GET, 0x17, data));

	msg = pma_msg(self, sw, MAD_GET, PMA_CLASS_PORT_INFO, data);
	msg.mad.class_version = 2;
	umad_write(&self->file, &msg);
	umad_read(&self->file, &msg);
	EXPECT_EQ(0, msg.hdr.status);
	EXPECT_EQ(STATUS_BAD_VERSION, be16toh(msg.mad.status));
}

/* Nothing of what a request has where the response has nothing comes back */
TEST_F(pma, nothing_of_the_request)
{
	__u8 data[PMA_SIZE];
	unsigned int i;

	memset(data, 0xa5, sizeof(data));
	data[1] = 1;
	ASSERT_EQ(0, pma(self, self->fabric.sw.lid, MAD_GET, PMA_PORT_COUNTERS, data));
	EXPECT_EQ(0, data[0]);
	EXPECT_EQ(1, data[1]);
	for (i = 44; i < sizeof(data); i++)
		EXPECT_EQ(0, data[i])
			TH_LOG("byte %d", i);
}

/* The LID leads to the switch, and the GRH has to be for it, too */
TEST_F(pma, grh_of_somebody_else)
{
	__u8 node[64] = {}, data[PMA_SIZE] = {};
	struct umad_msg msg;
	int i;

	umad_smp_get(&self->sm, &umad_to_next, SMP_NODE_INFO, 0, node);
	for (i = 0; i < 3; i++) {
		msg = pma_msg(self, self->fabric.sw.lid, MAD_GET, PMA_CLASS_PORT_INFO, data);
		msg.hdr.grh_present = 1;
		memcpy(msg.hdr.gid, self->fabric.host[0].gid, 8);
		memcpy(msg.hdr.gid + 8, node + 20, 8);
		/* Another prefix, and another GUID */
		if (i)
			msg.hdr.gid[i == 1 ? 7 : 15] ^= 1;
		msg.hdr.timeout_ms = i ? UMAD_QUIET_MS : UMAD_SOON_MS;
		umad_write(&self->file, &msg);
		if (i) {
			umad_read_timeout(&self->file, &msg);
			continue;
		}
		umad_read(&self->file, &msg);
		EXPECT_EQ(0, msg.hdr.status);
		EXPECT_EQ(1, msg.hdr.grh_present);
		EXPECT_EQ(0, memcmp(node + 20, msg.hdr.gid + 8, 8));
	}
}

/* Multicasts are counted as such, by who sends and by who receives */
TEST_F(pma, multicasts)
{
	static const int which[] = { EXT_XMIT_MCAST, EXT_RCV_MCAST };
	__u16 lid = self->fabric.sw.lid, own = self->fabric.host[0].lid;
	__u64 before[ARRAY_SIZE(which)], now;
	const __u8 data[PMA_SIZE] = {};
	struct umad_msg msg;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(which); i++)
		before[i] = counter(self, i ? lid : own, 1, which[i]);
	msg = pma_msg(self, 0xc010, MAD_GET, PMA_CLASS_PORT_INFO, data);
	msg.hdr.qpn = htobe32(0xffffff);
	msg.hdr.grh_present = 1;
	memset(msg.hdr.gid, 0, 16);
	msg.hdr.gid[0] = 0xff;
	msg.hdr.timeout_ms = UMAD_QUIET_MS;
	umad_write(&self->file, &msg);
	umad_read_timeout(&self->file, &msg);
	for (i = 0; i < ARRAY_SIZE(which); i++) {
		now = counter(self, i ? lid : own, 1, which[i]);
		EXPECT_EQ(before[i] + 1, now)
			TH_LOG("counter %d", which[i]);
	}
}

/* A packet is longer by the 40 bytes of its GRH */
TEST_F(pma, grh_counts)
{
	__u16 lid = self->fabric.sw.lid;
	__u8 node[64] = {}, data[PMA_SIZE] = {};
	__u64 before, after;
	struct umad_msg msg;
	int grh;

	umad_smp_get(&self->sm, &umad_to_next, SMP_NODE_INFO, 0, node);
	for (grh = 0; grh < 2; grh++) {
		before = counter(self, lid, 1, EXT_RCV_DATA);
		msg = pma_msg(self, lid, MAD_GET, PMA_CLASS_PORT_INFO, data);
		msg.hdr.grh_present = grh;
		memcpy(msg.hdr.gid, self->fabric.host[0].gid, 8);
		memcpy(msg.hdr.gid + 8, node + 20, 8);
		umad_write(&self->file, &msg);
		umad_read(&self->file, &msg);
		after = counter(self, lid, 1, EXT_RCV_DATA);
		/* Words, with the second of the requests for the counter */
		EXPECT_EQ(72 + 72 + (grh ? 10 : 0), after - before);
	}
}

TEST_HARNESS_MAIN
