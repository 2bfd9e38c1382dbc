// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What ports of a simulated fabric tell the subnet manager about packets that they
 * drop: for their keys, or because the link has errors. And what they count.
 */

#include "kselftest_harness.h"
#include "lib/subnet.h"

#define TRAP_LINK_STATE		128
#define TRAP_INTEGRITY		129
#define TRAP_OVERRUN		130
#define TRAP_FLOW		131
#define TRAP_BAD_PKEY		257
#define TRAP_SWITCH_PKEY	259

#define URGENT			0x81
#define SECURITY		0x82
#define FROM_HOST		1
#define FROM_SWITCH		2

#define PMA_CLASS_PORT_INFO	0x01
#define PMA_PORT_COUNTERS	0x12
#define PMA_RCV_ERROR_DETAILS	0x15
#define PMA_XMIT_DISCARD_DETAILS 0x16

#define ENFORCE_OUT		0x4
#define SL			3

/* Three hosts around a switch; the first one is the subnet manager, and asks the second */
FIXTURE(notices)
{
	struct umad_fabric fabric;
	struct umad_sm sm;
	struct umad_file traps;
	struct umad_file client;
	__u32 id;
	__u64 tid;
};

FIXTURE_SETUP(notices)
{
	self->fabric = (struct umad_fabric){ .hosts = 3, .star = true };
	umad_subnet(&self->fabric);
	umad_sm_open(&self->fabric.host[0], &self->sm);
	umad_open_agent(&self->fabric.host[0], &umad_abi_new,
			umad_reg_smp(1, MAD_CLASS_SM_LID, 1ULL << MAD_TRAP), &self->traps);
	self->id = umad_open_agent(&self->fabric.host[0], &umad_abi_new, umad_reg_send_only(1),
				   &self->client);
}

FIXTURE_TEARDOWN(notices)
{
	umad_close(&self->client);
	umad_close(&self->traps);
	umad_sm_close(&self->sm);
	umad_fabric_stop();
}

static struct umad_msg request(FIXTURE_DATA(notices) *self, __u16 lid, __u16 attr)
{
	struct umad_msg msg = umad_perf_msg(&self->fabric.host[0], self->id, MAD_GET,
					    ++self->tid, lid, attr);

	msg.hdr.sl = SL;
	return msg;
}

/* Whether the second host answers: 0, or -1 */
static int ask(FIXTURE_DATA(notices) *self, struct umad_msg msg)
{
	if (_umad_write(&self->client, &msg) < 0 ||
	    !umad_readable(&self->client, 2 * UMAD_SOON_MS) ||
	    _umad_read(&self->client, &msg) < 0)
		return -2;
	return msg.hdr.status ? -1 : 0;
}

#define expect_lost(self, msg) do {					\
	struct umad_msg __msg = msg;					\
									\
	__msg.hdr.timeout_ms = UMAD_QUIET_MS;				\
	EXPECT_EQ(-1, ask(self, __msg));				\
} while (0)

/* The big-endian number at @offset of a counter of a port, in @size bytes */
static __u32 counter(FIXTURE_DATA(notices) *self, __u16 lid, __u8 port, __u16 attr, int offset,
		     int size)
{
	struct umad_msg msg = request(self, lid, attr);
	__u8 *data = umad_perf_of(&msg);
	__u32 value = 0;

	data[1] = port;
	if (umad_exchange(&self->client, &msg) < 0)
		return ~0U;
	while (size--)
		value = value << 8 | data[offset++];
	return value;
}

static __u32 number(const __u8 *data, int bytes)
{
	__u32 value = 0;

	while (bytes--)
		value = value << 8 | *data++;
	return value;
}

/* The next notice, or the repetition of one before it: what all of them have is as it must */
#define expect_notice(self, data, type, from, num, who) do {		\
	struct umad_msg __got;						\
									\
	do {								\
		umad_read(&(self)->traps, &__got);			\
		memcpy(data, umad_smp_of(&__got)->data, 64);	\
	} while (number(&(data)[4], 2) != (num));			\
	EXPECT_EQ(SMP_NOTICE, be16toh(__got.mad.attr_id));		\
	EXPECT_EQ(who, be16toh(__got.hdr.lid));				\
	EXPECT_EQ(type, (data)[0]);					\
	EXPECT_EQ(from, number(&(data)[1], 3));				\
	EXPECT_EQ(who, number(&(data)[6], 2));				\
} while (0)

/* But that links have come up, which is repeated as nobody represses it */
#define expect_no_notice(self) do {					\
	struct umad_msg __got;						\
									\
	while (umad_readable(&(self)->traps, 0)) {			\
		umad_read(&(self)->traps, &__got);			\
		EXPECT_EQ(TRAP_LINK_STATE, number(&umad_smp_of(&__got)->data[4], 2)); \
	}								\
} while (0)

/* The P_Keys of the second host, or of the switch's port to it */
static int set_pkeys(FIXTURE_DATA(notices) *self, const struct umad_path *path, int port,
		     __u16 pkey)
{
	__be16 table[32] = { htobe16(pkey) };

	return umad_smp(&self->sm, path, 0, MAD_SET, SMP_PKEY_TABLE, port << 16, table);
}

/* What a packet was, behind the LIDs */
#define expect_packet(self, data, key_bytes, key) do {			\
	EXPECT_EQ((self)->fabric.host[0].lid, number(data, 2));		\
	EXPECT_EQ((self)->fabric.host[1].lid, number((data) + 2, 2));	\
	EXPECT_EQ(key, number((data) + 4, key_bytes));			\
	EXPECT_EQ((__u32)SL << 28 | 1, number((data) + 4 + (key_bytes), 4)); \
	EXPECT_EQ(1, number((data) + 8 + (key_bytes), 4));		\
} while (0)

TEST_F(notices, bad_pkey)
{
	__u16 lid = self->fabric.host[1].lid;
	struct umad_msg msg = request(self, lid, PMA_CLASS_PORT_INFO);
	struct umad_path path = umad_fabric_path(&self->fabric, 1);
	__u8 data[64];

	ASSERT_EQ(0, set_pkeys(self, &path, 0, 0x8001));
	expect_no_notice(self);
	expect_lost(self, msg);
	expect_notice(self, data, SECURITY, FROM_HOST, TRAP_BAD_PKEY, lid);
	expect_packet(self, &data[12], 4, 0xffff);
}

TEST_F(notices, pkey_at_a_switch)
{
	__u16 lid = self->fabric.host[1].lid, sw = self->fabric.sw.lid;
	struct umad_msg msg = request(self, lid, PMA_CLASS_PORT_INFO);
	struct umad_port_info info = {};
	__u8 data[64];

	umad_smp_get(&self->sm, &umad_to_next, SMP_PORT_INFO, 2, &info);
	info.operational_vls = ENFORCE_OUT;
	info.speed_supported_state &= 0xf0;
	info.phys_state_down_default &= 0x0f;
	umad_smp_set(&self->sm, &umad_to_next, SMP_PORT_INFO, 2, &info);
	ASSERT_EQ(0, set_pkeys(self, &umad_to_next, 2, 0x8001));
	expect_no_notice(self);
	expect_lost(self, msg);
	expect_notice(self, data, SECURITY, FROM_SWITCH, TRAP_SWITCH_PKEY, sw);
	/* All but the GIDs is there */
	EXPECT_EQ(0x3f, number(&data[10], 2));
	expect_packet(self, &data[12], 2, 0xffff);
	EXPECT_EQ(sw, number(&data[58], 2));
	EXPECT_EQ(2, data[60]);
}

/* The thresholds of the switch's port to the second host: one error of each kind is not told */
static int set_thresholds(FIXTURE_DATA(notices) *self)
{
	struct umad_port_info info = {};
	int status;

	status = umad_smp(&self->sm, &umad_to_next, 0, MAD_GET, SMP_PORT_INFO, 2, &info);
	if (status)
		return status;
	info.error_thresholds = 0x11;
	info.speed_supported_state &= 0xf0;
	info.phys_state_down_default &= 0x0f;
	return umad_smp(&self->sm, &umad_to_next, 0, MAD_SET, SMP_PORT_INFO, 2, &info);
}

#define expect_errors(self, receive, detail, excessive) do {		\
	__u16 __sw = (self)->fabric.sw.lid;				\
									\
	EXPECT_EQ(receive, counter(self, __sw, 2, PMA_PORT_COUNTERS, 8, 2)); \
	EXPECT_EQ(receive, counter(self, __sw, 2, PMA_RCV_ERROR_DETAILS, detail, 2)); \
	EXPECT_EQ(excessive, counter(self, __sw, 2, PMA_PORT_COUNTERS, 19, 1)); \
} while (0)

/* LocalLinkIntegrityErrors: a good packet makes up for a bad one */
TEST_F(notices, integrity)
{
	__u16 sw = self->fabric.sw.lid;
	struct umad_msg msg = request(self, self->fabric.host[1].lid, PMA_CLASS_PORT_INFO);
	__u8 data[64];
	int i;

	ASSERT_EQ(0, set_thresholds(self));
	umad_fabric_fault("h2 1 crc nth 2");
	for (i = 0; i < 2; i++) {
		msg.mad.tid = htobe64(++self->tid);
		EXPECT_EQ(0, ask(self, msg));
		msg.mad.tid = htobe64(++self->tid);
		expect_lost(self, msg);
	}
	expect_errors(self, 2, 4, 0x00);
	expect_no_notice(self);

	umad_fabric_fault("h2 1 crc nth 1");
	msg.mad.tid = htobe64(++self->tid);
	expect_lost(self, msg);
	expect_notice(self, data, URGENT, FROM_SWITCH, TRAP_INTEGRITY, sw);
	EXPECT_EQ(sw, number(&data[12], 2));
	EXPECT_EQ(2, data[14]);
	expect_errors(self, 3, 4, 0x10);

	/* It begins to count anew */
	msg.mad.tid = htobe64(++self->tid);
	expect_lost(self, msg);
	expect_errors(self, 4, 4, 0x10);
}

/* ExcessiveBufferOverrunErrors are errors in a row */
TEST_F(notices, overruns)
{
	__u16 sw = self->fabric.sw.lid;
	struct umad_msg msg = request(self, self->fabric.host[1].lid, PMA_CLASS_PORT_INFO);
	__u8 data[64];
	int i;

	ASSERT_EQ(0, set_thresholds(self));
	umad_fabric_fault("h2 1 overrun nth 1");
	expect_lost(self, msg);
	umad_fabric_fault("h2 1 overrun off");
	for (i = 0; i < 2; i++) {
		msg.mad.tid = htobe64(++self->tid);
		EXPECT_EQ(0, ask(self, msg));
	}
	umad_fabric_fault("h2 1 overrun nth 1");
	msg.mad.tid = htobe64(++self->tid);
	expect_lost(self, msg);
	expect_errors(self, 2, 8, 0x00);
	expect_no_notice(self);

	msg.mad.tid = htobe64(++self->tid);
	expect_lost(self, msg);
	expect_notice(self, data, URGENT, FROM_SWITCH, TRAP_OVERRUN, sw);
	EXPECT_EQ(sw, number(&data[12], 2));
	EXPECT_EQ(2, data[14]);
	expect_errors(self, 3, 8, 0x01);
}

TEST_F(notices, flow_control)
{
	__u16 sw = self->fabric.sw.lid;
	struct umad_msg msg = request(self, self->fabric.host[1].lid, PMA_CLASS_PORT_INFO);
	__u8 data[64];

	umad_fabric_fault("h2 1 flow nth 1");
	expect_lost(self, msg);
	expect_notice(self, data, URGENT, FROM_SWITCH, TRAP_FLOW, sw);
	EXPECT_EQ(sw, number(&data[12], 2));
	EXPECT_EQ(2, data[14]);
	/* LinkErrorRecoveryCounter */
	EXPECT_EQ(1, counter(self, sw, 2, PMA_PORT_COUNTERS, 6, 1));
}

/* Each notice has a TID, the same when it is repeated, and MasterSMSL */
TEST_F(notices, header)
{
	struct umad_msg msg = request(self, self->fabric.host[1].lid, PMA_CLASS_PORT_INFO), got;
	static const __u32 which[] = { TRAP_LINK_STATE, TRAP_FLOW };
	struct umad_port_info info = {};
	__u64 tid[2][2] = {};
	unsigned int i;

	umad_smp_get(&self->sm, &umad_to_next, SMP_PORT_INFO, 0, &info);
	info.mtu_sm_sl = (info.mtu_sm_sl & 0xf0) | SL;
	umad_smp_set(&self->sm, &umad_to_next, SMP_PORT_INFO, 0, &info);
	umad_fabric_fault("h2 1 flow nth 1");
	expect_lost(self, msg);
	while (!tid[0][1] || !tid[1][1]) {
		umad_read(&self->traps, &got);
		for (i = 0; i < 2; i++) {
			if (number(&umad_smp_of(&got)->data[4], 2) != which[i])
				continue;
			/* The link's may have come before there was such an SL */
			EXPECT_TRUE(got.hdr.sl == SL || which[i] == TRAP_LINK_STATE);
			tid[i][!!tid[i][0]] = be64toh(got.mad.tid);
		}
	}
	EXPECT_EQ(tid[0][0], tid[0][1]);
	EXPECT_EQ(tid[1][0], tid[1][1]);
	EXPECT_NE(tid[0][0], tid[1][0]);
}

/* What harms nobody is counted all the same */
TEST_F(notices, symbol_errors)
{
	struct umad_msg msg = request(self, self->fabric.host[1].lid, PMA_CLASS_PORT_INFO);
	__u16 sw = self->fabric.sw.lid;

	umad_fabric_fault("h2 1 symbol nth 1");
	EXPECT_EQ(0, ask(self, msg));
	EXPECT_EQ(1, counter(self, sw, 2, PMA_PORT_COUNTERS, 4, 2));
	EXPECT_EQ(0, counter(self, sw, 2, PMA_PORT_COUNTERS, 8, 2));
	expect_no_notice(self);
}

/* What a port drops it has not sent */
TEST_F(notices, discards)
{
	__u16 lid = self->fabric.host[1].lid;
	struct umad_msg msg = request(self, lid, PMA_CLASS_PORT_INFO);
	__u32 sent;

	sent = counter(self, lid, 1, PMA_PORT_COUNTERS, 32, 4);
	umad_fabric_fault("h2 1 drop nth 1");
	expect_lost(self, msg);
	umad_fabric_fault("h2 1 drop off");
	/* The response that told the number before */
	EXPECT_EQ(sent + 1, counter(self, lid, 1, PMA_PORT_COUNTERS, 32, 4));
	EXPECT_EQ(1, counter(self, lid, 1, PMA_PORT_COUNTERS, 14, 2));
	/* PortSwHOQLifetimeLimitDiscards */
	EXPECT_EQ(1, counter(self, lid, 1, PMA_XMIT_DISCARD_DETAILS, 10, 2));
	expect_no_notice(self);
}

TEST_HARNESS_MAIN
