// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RMPP: messages of several segments that the kernel cuts up and puts together
 * again, and agents that do their own.
 *
 * Also on: 6.1, 6.12
 */
#define PAIR_LONG	(256 * 1024)
#include "kselftest_harness.h"
#include "lib/pair.h"

/* The first window is one segment, then 64 come with each acknowledgment */
#define WINDOW		64

/* The transaction ID is what the data is made of, too */
static struct umad_msg long_head(FIXTURE_DATA(pair) *self, __u32 xid)
{
	struct umad_msg head = umad_long_head(&self->port, self->cid, MAD_SEND, xid);

	head.hdr.timeout_ms = 2000;
	return head;
}

#define send_long(self, xid, len) do {					\
	struct umad_msg __head = long_head(self, xid);			\
									\
	umad_long_write(&(self)->client, &__head, len, xid, &(self)->msg); \
} while (0)

#define read_long(self, xid, len) do {					\
	struct umad_msg __head = long_head(self, xid);			\
									\
	umad_long_read(&(self)->server, (self)->sid, &__head, len, xid, \
		       &(self)->msg);					\
} while (0)

/* Too little room: the first segment tells how much is needed */
TEST_F(pair, enospc_tells_the_length)
{
	const size_t len = 5 * MAD_VENDOR_DATA + 17;
	size_t whole = self->server.hlen + MAD_VENDOR_HDR + len, n;
	struct umad_msg head = long_head(self, 3);
	struct ib_user_mad_hdr hdr;
	ssize_t got;

	send_long(self, 3, len);
	ASSERT_TRUE(umad_readable(&self->server, UMAD_SOON_MS));

	for (n = self->server.hlen + MAD_SIZE; n < whole; n += 101) {
		memset(self->msg.in, 0xa5, self->msg.max);
		umad_err(ENOSPC, read(self->server.fd, self->msg.in, n));
		memcpy(&hdr, self->msg.in, self->server.hlen);
		EXPECT_EQ(whole, hdr.length);
		EXPECT_EQ(self->sid, hdr.id);
		EXPECT_EQ((size_t)MAD_VENDOR_DATA,
			  umad_pattern_same(self->msg.in + self->server.hlen + MAD_VENDOR_HDR,
					    MAD_VENDOR_DATA, 3));
		EXPECT_EQ(0xa5, self->msg.in[self->server.hlen + MAD_SIZE]);
	}
	umad_err(ENOSPC, read(self->server.fd, self->msg.in, whole - 1));

	/* Not even the first segment */
	for (n = 0; n < self->server.hlen + MAD_SIZE; n += 7)
		umad_err(EINVAL, read(self->server.fd, self->msg.in, n));

	/* Exactly enough */
	got = read(self->server.fd, self->msg.in, whole);
	umad_long_expect(&self->server, self->sid, &head, len, 3, &self->msg, got);
	umad_expect_empty(&self->server);
}

/* The kernel makes the RMPP header. A MAD that is no message has an empty one */
TEST_F(pair, header_of_a_plain_mad)
{
	struct umad_msg head = long_head(self, 5), seen;

	memset(&head.mad.rmpp_version, 0xee, MAD_RMPP_HDR - MAD_HDR);
	head.mad.rmpp_flags = 0;
	umad_write(&self->client, &head);
	umad_read(&self->server, &seen);
	memset(&head.mad.rmpp_version, 0, MAD_RMPP_HDR - MAD_HDR);
	EXPECT_EQ(0, memcmp(&head.mad.rmpp_version, &seen.mad.rmpp_version, MAD_SIZE - MAD_HDR));
}

TEST_F(pair, read_bad_pointer)
{
	const size_t len = 4 * MAD_VENDOR_DATA;
	size_t whole = self->server.hlen + MAD_VENDOR_HDR + len, i;
	struct umad_border border;

	send_long(self, 3, len);
	ASSERT_TRUE(umad_readable(&self->server, UMAD_SOON_MS));
	umad_border(&border, PROT_NONE);
	for (i = 0; i < whole; i += 13)
		umad_err(EFAULT, read(self->server.fd, umad_before(&border, i), whole));
	umad_border_free(&border);
	read_long(self, 3, len);
}

TEST_F(pair, write_bad_pointer)
{
	const size_t len = 4 * MAD_VENDOR_DATA;
	struct umad_msg head = long_head(self, 4);
	struct umad_border border;
	size_t size, i;

	size = umad_long_pack(&self->client, &head, len, 4, self->msg.out);
	umad_border(&border, PROT_NONE);
	for (i = 0; i < size; i += 13) {
		memcpy(umad_before(&border, i), self->msg.out, i);
		umad_err(EFAULT, write(self->client.fd, umad_before(&border, i), size));
	}
	umad_border_free(&border);

	/* Neither sent nor outstanding */
	send_long(self, 4, len);
	read_long(self, 4, len);
	umad_expect_empty(&self->server);
}

/*
 * Lengths: messages that end at and around every kind of segment boundary, of
 * every class that has a header of its own, as request and as response.
 */

FIXTURE(lengths)
{
	UMAD_CLIENT_AND_SERVER;
	struct umad_port port;
	struct umad_long msg;
};

FIXTURE_VARIANT(lengths)
{
	struct umad_abi abi;
	__u8 mgmt_class;
	size_t large;	/* a second for a megabyte over Soft-RoCE: not for all */
};

#define lengths_variant(name, layout, class, large_)			\
	FIXTURE_VARIANT_ADD(lengths, name) {				\
		.abi = UMAD_ABI_##layout, .mgmt_class = class, .large = large_ \
	}

lengths_variant(vendor, v2_new, MAD_CLASS_VENDOR2, 1 << 20);
lengths_variant(vendor_old, v1_old, MAD_CLASS_VENDOR2, 1 << 16);
lengths_variant(sa, v2_new, MAD_CLASS_SA, 1 << 20);
lengths_variant(sa_old, v1_old, MAD_CLASS_SA, 1 << 16);
lengths_variant(devmgt, v2_new, MAD_CLASS_DEVMGT, 1 << 16);
lengths_variant(devadm, v2_new, MAD_CLASS_DEVADM, 1 << 16);
lengths_variant(bis, v2_new, MAD_CLASS_BIS, 1 << 20);

FIXTURE_SETUP(lengths)
{
	struct umad_reg reg = umad_reg_rmpp(variant->abi.api, 0);

	if (umad_shared_port())
		SKIP(return, UMAD_SHARED);
	self->tid = 1;
	umad_long_alloc(&self->msg, variant->large + (1 << 16));
	umad_port(&self->port);

	reg.mgmt_class = variant->mgmt_class;
	self->cid = umad_open_agent(&self->port, &variant->abi, reg, &self->client);
	reg.methods[0] = umad_get_send;
	if (variant->mgmt_class == MAD_CLASS_SA)
		reg.class_version = 2;
	self->sid = umad_open_agent(&self->port, &variant->abi, reg, &self->server);
}

FIXTURE_TEARDOWN(lengths)
{
	umad_close_both(self);
	umad_long_free(&self->msg);
}

static struct umad_msg lengths_head(FIXTURE_DATA(lengths) *self,
				    const FIXTURE_VARIANT(lengths) *variant, __u8 method)
{
	struct umad_msg head = umad_msg(&self->port, self->cid, method, self->tid++);

	head.mad.mgmt_class = variant->mgmt_class;
	if (variant->mgmt_class == MAD_CLASS_SA)
		head.mad.class_version = 2;
	return head;
}

/* @head and @len bytes, from one of the descriptors to the agent @id on the other one */
#define expect_arrives(self, from, to, id, head, len) do {		\
	umad_make_active(head);						\
	umad_long_write(from, head, len, (self)->tid, &(self)->msg);	\
	umad_long_read(to, id, head, len, (self)->tid, &(self)->msg);	\
} while (0)

/*
 * @len bytes of data, as a message that wants no answer. Nothing is reported
 * of it, so the kernel's two seconds for each acknowledgment apply.
 */
#define expect_sent(self, variant, len) do {				\
	struct umad_msg __head = lengths_head(self, variant, MAD_SEND);	\
									\
	__head.hdr.retries = 3;						\
	expect_arrives(self, &(self)->client, &(self)->server, (self)->sid, \
		       &__head, len);					\
} while (0)

TEST_F_TIMEOUT(lengths, requests, UMAD_HANGS)
{
	size_t hdr = umad_class_hdr(variant->mgmt_class), seg = MAD_SIZE - hdr;
	size_t page = sysconf(_SC_PAGESIZE), len, n;

	/* None, a few */
	for (len = 0; len < 4; len++)
		expect_sent(self, variant, len);
	/* Where segments end, and where the windows do */
	for (n = 1; n <= 1 + 2 * WINDOW; n += n < 9 ? 1 : n == 9 ? WINDOW - 8 : WINDOW) {
		for (len = n * seg - 1; len <= n * seg + 1; len++)
			expect_sent(self, variant, len);
		expect_sent(self, variant, n * seg + seg / 2);
		expect_sent(self, variant, (n + 1) * seg + 1);
	}
	/* The end of a page is where a copy from user space may stop */
	for (n = 1; n <= 3; n++)
		for (len = n * page - 1; len <= n * page + 1; len++)
			expect_sent(self, variant, len - self->client.hlen - hdr);
	expect_sent(self, variant, variant->large);
	umad_expect_empty(&self->server);
	umad_expect_empty(&self->client);
}

TEST_F_TIMEOUT(lengths, responses, UMAD_HANGS)
{
	size_t hdr = umad_class_hdr(variant->mgmt_class), seg = MAD_SIZE - hdr, i;
	const size_t lens[] = {
		0, 1, seg - 1, seg, seg + 1, 2 * seg, (1 + WINDOW) * seg,
		(1 + WINDOW) * seg + 1, variant->large - self->client.hlen - hdr,
	};
	struct umad_msg head, got;

	/* The request is one MAD, and this long is the response */
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		head = lengths_head(self, variant, MAD_GET);
		head.hdr.timeout_ms = 60000;
		umad_write(&self->client, &head);
		umad_read(&self->server, &got);
		got.mad.method = MAD_GET_RESP;
		got.hdr.retries = 3;
		expect_arrives(self, &self->server, &self->client, self->cid, &got, lens[i]);
	}
	umad_expect_empty(&self->server);
	umad_expect_empty(&self->client);
}

TEST_HARNESS_MAIN
