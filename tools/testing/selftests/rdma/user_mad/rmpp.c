// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RMPP: messages of several segments that the kernel cuts up and puts together
 * again, and agents that do their own.
 */
#include "kselftest_harness.h"
#include "lib/utils.h"

#define CLASS_HDR	MAD_VENDOR_HDR
#define SEG_DATA	(MAD_SIZE - CLASS_HDR)

FIXTURE(rmpp)
{
	struct umad_port port;
	struct umad_file client;
	struct umad_file server;
	__u32 cid;
	__u32 sid;
	__u8 *out;
	__u8 *in;
	size_t max;
};

FIXTURE_VARIANT(rmpp)
{
	struct umad_abi abi;
};

umad_abi_variant(rmpp, v1_old);
umad_abi_variant(rmpp, v1_new);
umad_abi_variant(rmpp, v2_old);
umad_abi_variant(rmpp, v2_new);

FIXTURE_SETUP(rmpp)
{
	struct umad_reg reg;

	self->client.fd = -1;
	self->server.fd = -1;
	umad_port(&self->port);
	self->max = 1 << 18;
	self->out = calloc(1, self->max);
	self->in = calloc(1, self->max);
	ASSERT_TRUE(self->out && self->in);

	umad_open_abi(&self->port, &variant->abi, O_RDWR | O_NONBLOCK,
		      &self->client);
	reg = umad_reg_vendor(variant->abi.api, 0);
	reg.rmpp_version = 1;
	self->cid = umad_register(&self->client, &reg);

	umad_open_abi(&self->port, &variant->abi, O_RDWR | O_NONBLOCK,
		      &self->server);
	reg = umad_reg_vendor(variant->abi.api,
			      1ULL << MAD_GET | 1ULL << MAD_SET |
			      1ULL << MAD_SEND);
	reg.rmpp_version = 1;
	self->sid = umad_register(&self->server, &reg);
}

FIXTURE_TEARDOWN(rmpp)
{
	umad_close(&self->client);
	umad_close(&self->server);
	free(self->out);
	free(self->in);
}

static void make_active(struct umad_msg *msg)
{
	msg->mad.rmpp_version = 1;
	msg->mad.rmpp_type = MAD_RMPP_DATA;
	msg->mad.rmpp_flags = MAD_RMPP_ACTIVE;
}

/* A message with @len bytes of data in self->out; returns its whole size */
#define pack_long(self, file, msg, len) ({				\
	size_t __i, __hdrs = (file)->hlen + CLASS_HDR;			\
									\
	ASSERT_LE(__hdrs + (len), (self)->max);				\
	umad_pack(file, msg, CLASS_HDR, (self)->out);			\
	for (__i = 0; __i < (size_t)(len); __i++)			\
		(self)->out[__hdrs + __i] = __i * 7 + __i / SEG_DATA;	\
	__hdrs + (len);							\
})

#define send_long(self, xid, len) do {					\
	struct umad_msg __msg = umad_msg(&(self)->port, (self)->cid,	\
					 MAD_SEND, xid);		\
	size_t __size;							\
									\
	make_active(&__msg);						\
	__msg.hdr.timeout_ms = 2000;					\
	__msg.hdr.retries = 3;						\
	__size = pack_long(self, &(self)->client, &__msg, len);		\
	ASSERT_EQ((ssize_t)__size,					\
		  write((self)->client.fd, (self)->out, __size))	\
		TH_LOG("write of %zu: %s", __size, strerror(errno));	\
} while (0)

/* self->in must hold what self->out sent */
#define expect_long(self, want, len) do {				\
	size_t __hdrs = (self)->server.hlen + CLASS_HDR;		\
	struct ib_user_mad_hdr __hdr;					\
	struct mad __mad;						\
									\
	memcpy(&__hdr, (self)->in, (self)->server.hlen);		\
	memcpy(&__mad, (self)->in + (self)->server.hlen, CLASS_HDR);	\
	EXPECT_EQ(0, __hdr.status);					\
	EXPECT_EQ((self)->sid, __hdr.id);				\
	EXPECT_EQ(__hdrs + (len), __hdr.length);			\
	EXPECT_EQ(want, (__u32)be64toh(__mad.tid));			\
	EXPECT_EQ(TEST_OUI, __mad.oui[0] << 16 | __mad.oui[1] << 8 |	\
			    __mad.oui[2]);				\
	EXPECT_EQ(0, memcmp((self)->in + __hdrs,			\
			    (self)->out + (self)->client.hlen + CLASS_HDR, \
			    len));					\
} while (0)

TEST_F(rmpp, long_message)
{
	static const size_t sizes[] = {
		SEG_DATA + 1, 2 * SEG_DATA - 1, 2 * SEG_DATA, 2 * SEG_DATA + 1,
		1000, 16 * SEG_DATA, 70 * SEG_DATA + 13,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		send_long(self, i, sizes[i]);
		ASSERT_TRUE(umad_readable(&self->server, UMAD_SOON_MS));
		memset(self->in, 0, self->max);
		ASSERT_EQ((ssize_t)(self->server.hlen + CLASS_HDR + sizes[i]),
			  read(self->server.fd, self->in, self->max));
		expect_long(self, i, sizes[i]);
	}
	umad_expect_empty(&self->server);
}

/* A message that fits one segment is a MAD like any other */
TEST_F(rmpp, one_segment)
{
	struct umad_msg msg = umad_msg(&self->port, self->cid, MAD_SEND, 1);
	ssize_t n;

	send_long(self, 2, 100);
	ASSERT_TRUE(umad_readable(&self->server, UMAD_SOON_MS));
	n = read(self->server.fd, self->in, self->max);
	ASSERT_LE((ssize_t)(self->server.hlen + CLASS_HDR + 100), n)
		TH_LOG("%zd: %s", n, strerror(errno));
	EXPECT_EQ(0, memcmp(self->in + self->server.hlen + CLASS_HDR,
			    self->out + self->client.hlen + CLASS_HDR, 100));

	/* Without the flag nothing is cut up */
	umad_write(&self->client, &msg);
	umad_read(&self->server, &msg);
}

/* Too little room: the first segment tells how much is needed */
TEST_F(rmpp, enospc_tells_the_length)
{
	const size_t len = 5 * SEG_DATA + 17;
	size_t whole = self->server.hlen + CLASS_HDR + len, n;
	struct ib_user_mad_hdr hdr;

	send_long(self, 3, len);
	ASSERT_TRUE(umad_readable(&self->server, UMAD_SOON_MS));

	for (n = self->server.hlen + MAD_SIZE; n < whole; n += 101) {
		memset(self->in, 0xa5, self->max);
		errno = 0;
		EXPECT_EQ(-1, read(self->server.fd, self->in, n));
		EXPECT_EQ(ENOSPC, errno);
		memcpy(&hdr, self->in, self->server.hlen);
		EXPECT_EQ(whole, hdr.length);
		EXPECT_EQ(self->sid, hdr.id);
		EXPECT_EQ(0, memcmp(self->in + self->server.hlen + CLASS_HDR,
				    self->out + self->client.hlen + CLASS_HDR,
				    SEG_DATA));
		EXPECT_EQ(0xa5, self->in[self->server.hlen + MAD_SIZE]);
	}
	errno = 0;
	EXPECT_EQ(-1, read(self->server.fd, self->in, whole - 1));
	EXPECT_EQ(ENOSPC, errno);

	/* Not even the first segment */
	for (n = 0; n < self->server.hlen + MAD_SIZE; n += 7) {
		errno = 0;
		EXPECT_EQ(-1, read(self->server.fd, self->in, n));
		EXPECT_EQ(EINVAL, errno);
	}

	/* Exactly enough */
	memset(self->in, 0, self->max);
	EXPECT_EQ((ssize_t)whole, read(self->server.fd, self->in, whole));
	expect_long(self, 3, len);
	umad_expect_empty(&self->server);
}

TEST_F(rmpp, read_bad_pointer)
{
	const size_t len = 4 * SEG_DATA;
	size_t whole = self->server.hlen + CLASS_HDR + len, i;
	struct umad_border border;

	send_long(self, 3, len);
	ASSERT_TRUE(umad_readable(&self->server, UMAD_SOON_MS));
	umad_border(&border, PROT_NONE);
	for (i = 0; i < whole; i += 13) {
		errno = 0;
		EXPECT_EQ(-1, read(self->server.fd, umad_before(&border, i),
				   whole));
		EXPECT_EQ(EFAULT, errno);
	}
	umad_border_free(&border);
	EXPECT_EQ((ssize_t)whole, read(self->server.fd, self->in, whole));
	expect_long(self, 3, len);
}

TEST_F(rmpp, write_bad_pointer)
{
	const size_t len = 4 * SEG_DATA;
	struct umad_msg msg = umad_msg(&self->port, self->cid, MAD_SEND, 4);
	struct umad_border border;
	size_t size, i;

	make_active(&msg);
	msg.hdr.timeout_ms = 2000;
	size = pack_long(self, &self->client, &msg, len);
	umad_border(&border, PROT_NONE);
	for (i = 0; i < size; i += 13) {
		memcpy(umad_before(&border, i), self->out, i);
		errno = 0;
		EXPECT_EQ(-1, write(self->client.fd, umad_before(&border, i),
				    size));
		EXPECT_EQ(EFAULT, errno);
	}
	umad_border_free(&border);

	/* Neither sent nor outstanding */
	send_long(self, 4, len);
	ASSERT_TRUE(umad_readable(&self->server, UMAD_SOON_MS));
	EXPECT_EQ((ssize_t)(self->server.hlen + CLASS_HDR + len),
		  read(self->server.fd, self->in, self->max));
	expect_long(self, 4, len);
	umad_expect_empty(&self->server);
}

/* A long request answered by a long response */
TEST_F(rmpp, long_response)
{
	const size_t len = 3 * SEG_DATA + 1;
	struct umad_msg msg = umad_msg(&self->port, self->cid, MAD_GET, 5);
	struct umad_msg got;
	size_t size;

	msg.hdr.timeout_ms = 60000;
	umad_write(&self->client, &msg);
	umad_read(&self->server, &got);
	got.mad.method = MAD_GET_RESP;
	make_active(&got);
	got.hdr.timeout_ms = 2000;
	size = pack_long(self, &self->server, &got, len);
	ASSERT_EQ((ssize_t)size, write(self->server.fd, self->out, size));

	ASSERT_TRUE(umad_readable(&self->client, UMAD_SOON_MS));
	ASSERT_EQ((ssize_t)(self->client.hlen + CLASS_HDR + len),
		  read(self->client.fd, self->in, self->max));
	EXPECT_EQ(0, memcmp(self->in + self->client.hlen + CLASS_HDR,
			    self->out + self->server.hlen + CLASS_HDR, len));
	EXPECT_FALSE(umad_readable(&self->client, 0));
}

/* ... to which nobody listens: it is reported as an ordinary timeout */
TEST_F(rmpp, long_request_times_out)
{
	struct umad_msg msg = umad_msg(&self->port, self->cid, MAD_SEND, 6);
	struct umad_msg got;
	size_t size;

	make_active(&msg);
	umad_msg_to_nobody(&msg);
	msg.hdr.timeout_ms = 500;
	size = pack_long(self, &self->client, &msg, 3 * SEG_DATA);
	ASSERT_EQ((ssize_t)size, write(self->client.fd, self->out, size));
	umad_err_write(EINVAL, &self->client, &msg);	/* outstanding */
	umad_read_timeout(&self->client, &got);
	EXPECT_EQ(6, (__u32)be64toh(got.mad.tid));
}

/* Without the ACTIVE flag one MAD is the limit */
TEST_F(rmpp, too_long_without_active)
{
	struct umad_msg msg = umad_msg(&self->port, self->cid, MAD_SEND, 7);
	size_t size;

	msg.hdr.timeout_ms = 2000;
	size = pack_long(self, &self->client, &msg, SEG_DATA + 1);
	errno = 0;
	EXPECT_EQ(-1, write(self->client.fd, self->out, size));
	EXPECT_EQ(EINVAL, errno);
	send_long(self, 7, 2 * SEG_DATA);
	ASSERT_TRUE(umad_readable(&self->server, UMAD_SOON_MS));
	ASSERT_LT(0, read(self->server.fd, self->in, self->max));
	expect_long(self, 7, 2 * SEG_DATA);
}

/* An agent that does its own RMPP sends and receives segments */
TEST_F(rmpp, user_rmpp_segments)
{
	struct umad_reg reg;
	struct umad_file server;
	struct umad_msg msg, got;
	__u32 cid, sid;
	size_t size;
	int i;

	if (variant->abi.api == 1)
		SKIP(return, "there are no flags in REGISTER_AGENT");

	reg = umad_reg_vendor(2, 0);
	reg.rmpp_version = 1;
	reg.flags = IB_USER_MAD_USER_RMPP;
	cid = umad_register(&self->client, &reg);
	umad_open_abi(&self->port, &variant->abi, O_RDWR | O_NONBLOCK, &server);
	reg = umad_reg_vendor(2, 1ULL << 0x10);
	reg.rmpp_version = 1;
	reg.flags = IB_USER_MAD_USER_RMPP;
	sid = umad_register(&server, &reg);

	/* Segments of one message have one TID: no duplicates among them */
	for (i = 0; i < 3; i++) {
		msg = umad_msg(&self->port, cid, 0x10, 0x99);
		make_active(&msg);
		msg.mad.seg_num = htobe32(i + 1);
		msg.hdr.timeout_ms = 60000;
		umad_write(&self->client, &msg);
		umad_read(&server, &got);
		EXPECT_EQ(sid, got.hdr.id);
		EXPECT_EQ(i + 1, (int)be32toh(got.mad.seg_num));
		EXPECT_EQ(MAD_RMPP_ACTIVE, got.mad.rmpp_flags);
		EXPECT_EQ(0, memcmp(got.mad.data, msg.mad.data,
				    sizeof(got.mad.data)));
	}

	/* It is never cut up */
	msg = umad_msg(&self->port, cid, 0x10, 0x99);
	make_active(&msg);
	size = pack_long(self, &self->client, &msg, SEG_DATA + 1);
	errno = 0;
	EXPECT_EQ(-1, write(self->client.fd, self->out, size));
	EXPECT_EQ(EINVAL, errno);
	umad_expect_empty(&server);
	umad_close(&server);
}

TEST_HARNESS_MAIN
