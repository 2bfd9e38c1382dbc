// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * PortSamplesControl and PortSamplesResult in a simulated fabric: what is counted
 * between two moments, and by whom an agent lets itself be told to do that.
 */

#include "kselftest_harness.h"
#include "lib/subnet.h"

#define CLASS_PORT_INFO		0x01
#define SAMPLES_CONTROL		0x10
#define SAMPLES_RESULT		0x11

#define ALL_PORTS		255

/* Bytes of PortSamplesControl */
#define PORT			1
#define TICK			2
#define WIDTH			3
#define MASKS			4
#define STATUS			11
#define START			28
#define INTERVAL		32
#define TAG			36
#define SELECT			38

/* Bytes of PortSamplesResult, which begins with the tag */
#define RESULT_STATUS		3
#define RESULT_COUNTERS		4

enum { DONE, WAITS, COUNTS };

/* The values of CounterSelect */
enum { XMIT_DATA = 1, RCV_DATA, XMIT_PKTS, RCV_PKTS, XMIT_WAIT, QUANTITIES = XMIT_WAIT };

#define TICKS(ms)		((__u64)(ms) * 1000000 / 1024)
#define AN_HOUR			TICKS(3600 * 1000)

#define PACKETS			8
#define WORDS			72	/* of a packet */

/* Two hosts around a switch; the first one asks the others' agents */
FIXTURE(samples)
{
	UMAD_MANAGED;
	struct umad_file file;
	__u32 id;
	__u64 tid;
};

FIXTURE_SETUP(samples)
{
	umad_managed(self, 2);
	self->id = umad_open_agent(&self->fabric.host[0], &umad_abi_new, umad_reg_send_only(1),
				   &self->file);
}

FIXTURE_TEARDOWN(samples)
{
	umad_close(&self->file);
	umad_managed_end(self);
}

static void put(__u8 *to, __u32 value, int bytes)
{
	while (bytes--) {
		to[bytes] = value;
		value >>= 8;
	}
}

static __u32 number(const __u8 *from, int bytes)
{
	__u32 value = 0;

	while (bytes--)
		value = value << 8 | *from++;
	return value;
}

/* The status of the response, whose attribute is in @data then, or -1 */
static int pma(FIXTURE_DATA(samples) *self, __u16 lid, __u8 method, __u16 attr, __u32 mod,
	       __u8 data[PMA_SIZE])
{
	struct umad_msg msg = umad_perf_msg(&self->fabric.host[0], self->id, method,
					    ++self->tid, lid, attr);
	int status;

	msg.mad.attr_mod = htobe32(mod);
	memcpy(umad_perf_of(&msg), data, PMA_SIZE);
	status = umad_exchange(&self->file, &msg);
	if (status >= 0)
		memcpy(data, umad_perf_of(&msg), PMA_SIZE);
	return status;
}

/* Each quantity has a counter. @control becomes the response */
static int sample(FIXTURE_DATA(samples) *self, __u16 lid, __u8 port, __u32 start, __u32 interval,
		  __u16 tag, __u8 control[PMA_SIZE])
{
	int i;

	memset(control, 0, PMA_SIZE);
	control[PORT] = port;
	put(control + START, start, 4);
	put(control + INTERVAL, interval, 4);
	put(control + TAG, tag, 2);
	for (i = 0; i < QUANTITIES; i++)
		put(control + SELECT + 2 * i, i + 1, 2);
	return pma(self, lid, MAD_SET, SAMPLES_CONTROL, 0, control);
}

static int result(FIXTURE_DATA(samples) *self, __u16 lid, __u8 data[PMA_SIZE])
{
	memset(data, 0xff, PMA_SIZE);
	return pma(self, lid, MAD_GET, SAMPLES_RESULT, 0, data);
}

static __u32 counter(const __u8 *data, int which)
{
	return number(data + RESULT_COUNTERS + 4 * (which - 1), 4);
}

/* What an agent offers, and what it has before it was asked for a sample */
TEST_F(samples, at_first)
{
	__u16 lid = self->fabric.sw.lid;
	__u8 data[PMA_SIZE];
	unsigned int i;

	memset(data, 0xff, sizeof(data));
	data[PORT] = 2;
	ASSERT_EQ(0, pma(self, lid, MAD_GET, SAMPLES_CONTROL, 0, data));
	EXPECT_EQ(2, data[PORT]);
	EXPECT_EQ(255, data[TICK]);
	EXPECT_EQ(4, data[WIDTH]);
	/* Five counters, which all can count what is mandatory */
	EXPECT_EQ(011111u << 15, number(data + MASKS, 4));
	for (i = MASKS + 4; i < sizeof(data); i++)
		EXPECT_EQ(0, data[i])
			TH_LOG("byte %d", i);
	ASSERT_EQ(0, result(self, lid, data));
	for (i = 0; i < sizeof(data); i++)
		EXPECT_EQ(0, data[i])
			TH_LOG("byte %d", i);
}

/*
 * Packets to the second host while port @port of the switch is sampled, for so long that
 * the last one has come back before. @data becomes the result.
 */
#define sample_packets(self, port, data) do {				\
	__u16 __sw = (self)->fabric.sw.lid, __host = (self)->fabric.host[1].lid; \
	__u32 __ms, __i;						\
									\
	for (__ms = 8; ; __ms *= 2) {					\
		ASSERT_EQ(0, sample(self, __sw, port, 0, TICKS(__ms), __ms, data)); \
		EXPECT_EQ(port, (data)[PORT]);				\
		EXPECT_EQ(TICKS(__ms), number((data) + INTERVAL, 4));	\
		for (__i = 0; __i < PACKETS; __i++)			\
			ASSERT_EQ(0, pma(self, __host, MAD_GET, CLASS_PORT_INFO, 0, data)); \
		ASSERT_EQ(0, result(self, __sw, data));			\
		if ((data)[RESULT_STATUS] == COUNTS)			\
			break;						\
		ASSERT_EQ(DONE, (data)[RESULT_STATUS]);			\
		ASSERT_GT(1u << 20, __ms);				\
	}								\
	for (__i = 0; __i < QUANTITIES; __i++)				\
		EXPECT_EQ(0, counter(data, __i + 1));			\
	do {								\
		umad_sleep_ms(1);					\
		ASSERT_EQ(0, result(self, __sw, data));			\
		EXPECT_EQ(__ms, number(data, 2));			\
	} while ((data)[RESULT_STATUS]);				\
} while (0)

TEST_F(samples, counts_in_between)
{
	__u8 data[PMA_SIZE], again[PMA_SIZE];

	/* Nobody else has to do with that port */
	sample_packets(self, 2, data);
	EXPECT_EQ(PACKETS * WORDS, counter(data, XMIT_DATA));
	EXPECT_EQ(PACKETS * WORDS, counter(data, RCV_DATA));
	EXPECT_EQ(PACKETS, counter(data, XMIT_PKTS));
	EXPECT_EQ(PACKETS, counter(data, RCV_PKTS));
	EXPECT_EQ(0, counter(data, XMIT_WAIT));

	/* What comes later is not of it */
	memset(again, 0, sizeof(again));
	ASSERT_EQ(0, pma(self, self->fabric.host[1].lid, MAD_GET, CLASS_PORT_INFO, 0, again));
	ASSERT_EQ(0, result(self, self->fabric.sw.lid, again));
	EXPECT_EQ(0, memcmp(data, again, sizeof(data)));
}

/* In by one port and out by another, and the answer likewise */
TEST_F(samples, all_ports)
{
	__u8 data[PMA_SIZE];

	sample_packets(self, ALL_PORTS, data);
	EXPECT_LE(2 * PACKETS, counter(data, XMIT_PKTS));
	EXPECT_LE(2 * PACKETS, counter(data, RCV_PKTS));
}

/* Who comes second is shown what the first one has asked for, until that is over */
TEST_F(samples, one_at_a_time)
{
	__u16 lid = self->fabric.host[1].lid, sm_lid = self->fabric.host[0].lid;
	enum umad_port_state state;
	__u8 data[PMA_SIZE];

	ASSERT_EQ(0, sample(self, lid, 1, AN_HOUR, 5, 1, data));
	EXPECT_EQ(WAITS, data[STATUS]);
	ASSERT_EQ(0, sample(self, lid, 1, 0, 0, 2, data));
	EXPECT_EQ(WAITS, data[STATUS]);
	EXPECT_EQ(AN_HOUR, number(data + START, 4));
	EXPECT_EQ(5, number(data + INTERVAL, 4));
	EXPECT_EQ(1, number(data + TAG, 2));
	ASSERT_EQ(0, result(self, lid, data));
	EXPECT_EQ(WAITS, data[RESULT_STATUS]);
	EXPECT_EQ(1, number(data, 2));

	/* Without power nobody remembers */
	umad_fabric_fault("h2 unplug");
	umad_fabric_fault("h2 plug");
	for (state = PORT_ARMED; state <= PORT_ACTIVE; state++) {
		ASSERT_EQ(0, umad_sm_set_port(&self->sm, &self->second, 1, lid, 0, sm_lid, state));
		ASSERT_EQ(0, umad_sm_set_port(&self->sm, &umad_to_next, 2, 0, 0, 0, state));
	}
	ASSERT_EQ(0, result(self, lid, data));
	EXPECT_EQ(DONE, data[RESULT_STATUS]);
	EXPECT_EQ(0, number(data, 2));

	/* Of no length: over at once, and the next one may come */
	ASSERT_EQ(0, sample(self, lid, 1, 0, 0, 3, data));
	EXPECT_EQ(DONE, data[STATUS]);
	ASSERT_EQ(0, sample(self, lid, 1, 0, AN_HOUR, 4, data));
	EXPECT_EQ(COUNTS, data[STATUS]);
	EXPECT_EQ(4, number(data + TAG, 2));
}

/* Ports, quantities and mechanisms that there are not: nothing is begun */
TEST_F(samples, refused)
{
	__u16 host = self->fabric.host[1].lid, sw = self->fabric.sw.lid;
	__u8 data[PMA_SIZE];

	EXPECT_EQ(STATUS_INVALID, sample(self, sw, self->fabric.spare + 1, 0, AN_HOUR, 1, data));
	EXPECT_EQ(STATUS_INVALID, sample(self, host, 0, 0, AN_HOUR, 1, data));

	memset(data, 0, sizeof(data));
	data[PORT] = 1;
	put(data + INTERVAL, AN_HOUR, 4);
	data[SELECT + 1] = QUANTITIES + 1;
	EXPECT_EQ(STATUS_INVALID, pma(self, sw, MAD_SET, SAMPLES_CONTROL, 0, data));
	data[SELECT + 1] = 1;
	EXPECT_EQ(STATUS_INVALID, pma(self, sw, MAD_SET, SAMPLES_CONTROL, 1, data));
	EXPECT_EQ(STATUS_INVALID, pma(self, sw, MAD_GET, SAMPLES_RESULT, 1, data));
	EXPECT_EQ(STATUS_UNSUPPORTED, pma(self, sw, MAD_SET, SAMPLES_RESULT, 0, data));

	ASSERT_EQ(0, result(self, sw, data));
	EXPECT_EQ(DONE, data[RESULT_STATUS]);
}

TEST_HARNESS_MAIN
