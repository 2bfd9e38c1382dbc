// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit tests of offload.c: checksums, and headers of segments.
 */

#include <kunit/test.h>
#include <linux/if_ether.h>
#include <linux/sizes.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <net/ip.h>

#include "transport.h"

#define MADSIM_TEST_MSS		101
#define MADSIM_TEST_OPTIONS	12

/* A header as IPoIB has it, and room for data behind it */
struct madsim_test_datagram {
	__be16 type;
	__be16 reserved;
	struct iphdr ip;
	union {
		struct {
			struct tcphdr tcp;
			u8 options[MADSIM_TEST_OPTIONS];
			u8 data[MADSIM_TEST_MSS];
		};
		struct udphdr udp;
	};
};

#define MADSIM_TEST_HEADER	offsetof(struct madsim_test_datagram, data)

struct madsim_offload_test {
	struct madsim_test_datagram first;
	struct madsim_test_datagram got;
	struct ib_ud_wr ud;
	struct madsim_send send;
};

static int madsim_offload_init(struct kunit *test)
{
	struct madsim_offload_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, t);
	test->priv = t;
	t->first = (struct madsim_test_datagram) {
		.type = htons(ETH_P_IP),
		.ip = {
			.version = 4,
			.ihl = 5,
			.id = htons(0xffff),
			.frag_off = htons(IP_DF),
			.ttl = 64,
			.protocol = IPPROTO_TCP,
			.saddr = htonl(0x0a000001),
			.daddr = htonl(0x0a000002),
		},
		.tcp = {
			.source = htons(5000),
			.dest = htons(5001),
			.seq = htonl(0xffffff00),
			.ack_seq = htonl(77),
			.doff = 8,
			.fin = 1,
			.psh = 1,
			.ack = 1,
			.check = (__force __sum16)0x1234,
		},
		.options = { 1, 1, 8, 10 },
	};
	t->send.wr = &t->ud.wr;
	t->send.length = 2 * MADSIM_TEST_MSS + 1;
	t->ud = (struct ib_ud_wr) {
		.header = &t->first,
		.hlen = MADSIM_TEST_HEADER,
		.mss = MADSIM_TEST_MSS,
	};
	return 0;
}

/* The sum of big-endian words, in which a checksum that is right makes all bits 1 */
static u16 madsim_test_sum(const void *data, u32 len, u32 sum)
{
	const u8 *bytes = data;
	u32 i;

	for (i = 0; i < len; i++)
		sum += i % 2 ? bytes[i] : bytes[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

static void madsim_expect_checksums(struct kunit *test, const struct madsim_test_datagram *d)
{
	u32 rest = ntohs(d->ip.tot_len) - sizeof(d->ip);
	u32 pseudo = madsim_test_sum(&d->ip.saddr, 8, d->ip.protocol + rest);

	KUNIT_EXPECT_EQ(test, madsim_test_sum(&d->ip, sizeof(d->ip), 0), 0xffff);
	KUNIT_EXPECT_EQ(test, madsim_test_sum(&d->tcp, rest, pseudo), 0xffff);
}

static void madsim_test_segment(struct kunit *test, u32 at, u32 len)
{
	struct madsim_offload_test *t = test->priv;
	const struct madsim_test_datagram *got = &t->got;
	bool last = at + len == t->send.length;

	memset(&t->got, 0xee, sizeof(t->got));
	madsim_offload_header(&t->send, at, &t->got, MADSIM_TEST_HEADER + len);
	KUNIT_EXPECT_TRUE(test, madsim_offload_checksum(&t->got, MADSIM_TEST_HEADER + len));

	KUNIT_EXPECT_EQ(test, ntohs(got->ip.tot_len), MADSIM_TEST_HEADER - 4 + len);
	KUNIT_EXPECT_EQ(test, ntohs(got->ip.id), (u16)(0xffff + at / MADSIM_TEST_MSS));
	KUNIT_EXPECT_EQ(test, ntohl(got->tcp.seq), 0xffffff00 + at);
	/* FIN, PSH and ACK, or ACK */
	KUNIT_EXPECT_EQ(test, ((u8 *)&got->tcp)[13], last ? 0x19 : 0x10);
	KUNIT_EXPECT_EQ(test, ntohl(got->tcp.ack_seq), 77);
	KUNIT_EXPECT_EQ(test, got->ip.ttl, 64);
	KUNIT_EXPECT_MEMEQ(test, got->options, t->first.options, MADSIM_TEST_OPTIONS);
	KUNIT_EXPECT_EQ(test, got->data[0], 0xee);
	madsim_expect_checksums(test, got);
}

/* Two that are full, with an odd length, and one byte. Both counters begin again */
static void madsim_test_segments(struct kunit *test)
{
	struct madsim_offload_test *t = test->priv;

	KUNIT_ASSERT_TRUE(test, madsim_offload_fits(&t->send));
	madsim_test_segment(test, 0, MADSIM_TEST_MSS);
	madsim_test_segment(test, MADSIM_TEST_MSS, MADSIM_TEST_MSS);
	madsim_test_segment(test, 2 * MADSIM_TEST_MSS, 1);
}

/* Bytes of the header that make it one of something else, for all of TCP and UDP */
static const struct madsim_test_byte {
	u8 at;
	u8 value;
} madsim_not_ours[] = {
	{ 1, 0xdd },		/* Ethertype */
	{ 4, 0x65 },		/* version of IP */
	{ 4, 0x44 },		/* length of its header */
	{ 10, 0x20 },		/* a fragment */
	{ 11, 1 },
	{ 13, IPPROTO_ICMP },
};

static void madsim_expect_refused(struct kunit *test, u8 at, u8 value)
{
	struct madsim_offload_test *t = test->priv;
	u8 *byte = (u8 *)&t->first + at;
	u8 good = *byte;

	*byte = value;
	KUNIT_EXPECT_FALSE_MSG(test, madsim_offload_fits(&t->send), "byte %u", at);
	*byte = good;
}

static void madsim_test_refused(struct kunit *test)
{
	static const int header_lengths[] = {
		-1, 0, 23, MADSIM_TEST_HEADER - 1, MADSIM_TEST_HEADER + 1,
	};
	static const u32 lengths[] = { 0, SZ_64K + 1 };
	struct madsim_offload_test *t = test->priv;
	const struct ib_ud_wr good = t->ud;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(madsim_not_ours); i++)
		madsim_expect_refused(test, madsim_not_ours[i].at, madsim_not_ours[i].value);
	madsim_expect_refused(test, 4, 0x46);
	madsim_expect_refused(test, 13, IPPROTO_UDP);
	madsim_expect_refused(test, 36, 0x40);
	for (i = 0; i < ARRAY_SIZE(header_lengths); i++) {
		t->ud.hlen = header_lengths[i];
		KUNIT_EXPECT_FALSE(test, madsim_offload_fits(&t->send));
	}
	t->ud = good;
	for (t->ud.mss = -1; t->ud.mss < 1; t->ud.mss++)
		KUNIT_EXPECT_FALSE(test, madsim_offload_fits(&t->send));
	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		t->send.length = lengths[i];
		KUNIT_EXPECT_FALSE(test, madsim_offload_fits(&t->send));
	}
	t->send.length = SZ_64K;
	KUNIT_EXPECT_TRUE(test, madsim_offload_fits(&t->send));
}

/* One byte behind it is none of the packet */
static void madsim_test_udp(struct kunit *test)
{
	struct madsim_offload_test *t = test->priv;
	u32 len = offsetof(struct madsim_test_datagram, udp) + sizeof(t->got.udp) + 5;

	t->got = t->first;
	t->got.ip.protocol = IPPROTO_UDP;
	t->got.ip.tot_len = htons(len - 4);
	KUNIT_EXPECT_TRUE(test, madsim_offload_checksum(&t->got, len + 1));
	madsim_expect_checksums(test, &t->got);

	/* A word that makes it 0, which would say that there is none */
	t->got.udp.dest = 0;
	madsim_offload_checksum(&t->got, len);
	t->got.udp.dest = (__force __be16)t->got.udp.check;
	KUNIT_EXPECT_TRUE(test, madsim_offload_checksum(&t->got, len));
	KUNIT_EXPECT_EQ(test, (__force u16)t->got.udp.check, 0xffff);
}

static void madsim_expect_left(struct kunit *test, u32 len)
{
	struct madsim_offload_test *t = test->priv;

	t->got = t->first;
	KUNIT_EXPECT_FALSE(test, madsim_offload_checksum(&t->got, len));
	KUNIT_EXPECT_MEMEQ(test, (u8 *)&t->got, (u8 *)&t->first, sizeof(t->got));
}

/* A datagram without such a checksum, or with bytes missing, stays as it is */
static void madsim_test_left(struct kunit *test)
{
	static const u16 lengths[] = { 0, 19, 39, MADSIM_TEST_HEADER - 3 };
	struct madsim_offload_test *t = test->priv;
	unsigned int i;

	t->first.ip.tot_len = htons(MADSIM_TEST_HEADER - 4);
	for (i = 0; i < ARRAY_SIZE(madsim_not_ours); i++) {
		u8 *byte = (u8 *)&t->first + madsim_not_ours[i].at;
		u8 good = *byte;

		*byte = madsim_not_ours[i].value;
		madsim_expect_left(test, MADSIM_TEST_HEADER);
		*byte = good;
	}
	madsim_expect_left(test, 23);
	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		t->first.ip.tot_len = htons(lengths[i]);
		madsim_expect_left(test, MADSIM_TEST_HEADER);
	}
}

static struct kunit_case madsim_offload_cases[] = {
	KUNIT_CASE(madsim_test_segments),
	KUNIT_CASE(madsim_test_refused),
	KUNIT_CASE(madsim_test_udp),
	KUNIT_CASE(madsim_test_left),
	{}
};

static struct kunit_suite madsim_offload_suite = {
	.name = "madsim_offload",
	.init = madsim_offload_init,
	.test_cases = madsim_offload_cases,
};

kunit_test_suite(madsim_offload_suite);
