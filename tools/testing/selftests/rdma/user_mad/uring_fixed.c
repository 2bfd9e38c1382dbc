// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * io_uring with registered buffers, READ_FIXED and WRITE_FIXED: one packet a request,
 * in memory that the kernel knows by number and holds, and finds page by page.
 */
#include "kselftest_harness.h"
#include "lib/long.h"
#include "lib/subnet.h"
#include "lib/uring.h"

#define ENTRIES		16
#define LONG_LEN	(3 * 4096 * 8 + 77)
#define GUARD		0xa5

FIXTURE(fixed)
{
	UMAD_CLIENT_AND_SERVER;
	struct umad_fabric fabric;
	struct umad_port port;
	struct io_uring ring;
	size_t page;
	size_t size;
	__u8 *mem;		/* one registered buffer */
	struct umad_long msg;
};

FIXTURE_VARIANT(fixed)
{
	enum umad_device_kind kind;
	struct umad_abi abi;
};

umad_device_variant(fixed, rxe, UMAD_RXE, .abi = UMAD_ABI_v1_old);
umad_device_variant(fixed, madsim, UMAD_MADSIM, .abi = UMAD_ABI_v2_new);

FIXTURE_SETUP(fixed)
{
	struct iovec iov;

	umad_subnet_port(variant->kind, &self->fabric, &self->port);
	umad_ring(&self->ring, ENTRIES);

	self->page = sysconf(_SC_PAGESIZE);
	self->size = 2 * LONG_LEN + 16 * self->page;
	self->mem = mmap(NULL, self->size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->mem);
	memset(self->mem, GUARD, self->size);
	iov = (struct iovec){ self->mem, self->size };
	ASSERT_EQ(0, io_uring_register_buffers(&self->ring, &iov, 1));
	umad_long_alloc(&self->msg, LONG_LEN + 4096);
	umad_open_both(self, &variant->abi, &self->port, umad_reg_rmpp(variant->abi.api, 0),
		       &self->port, umad_reg_rmpp(variant->abi.api, umad_get_send));
}

FIXTURE_TEARDOWN(fixed)
{
	io_uring_queue_exit(&self->ring);
	umad_close_both(self);
	umad_fabric_stop();
	umad_long_free(&self->msg);
}

static struct umad_msg message(FIXTURE_DATA(fixed) *self, __u8 method, int tid)
{
	return umad_msg(&self->port, self->cid, method, tid);
}

/* The result of a request of @len bytes at offset @at of the buffer */
#define submit(self, file, write, at, len) ({				\
	struct io_uring_sqe *__sqe = io_uring_get_sqe(&(self)->ring);	\
	struct io_uring_cqe __cqe = {};					\
									\
	ASSERT_GE((self)->size, (at) + (len));				\
	if (write)							\
		io_uring_prep_write_fixed(__sqe, (file)->fd, (self)->mem + (at), \
					  len, 0, 0);			\
	else								\
		io_uring_prep_read_fixed(__sqe, (file)->fd, (self)->mem + (at), \
					 len, 0, 0);			\
	umad_ring_submit(&(self)->ring, 1);				\
	ASSERT_TRUE(umad_ring_next(&(self)->ring, &__cqe, 2 * UMAD_SOON_MS)) \
		TH_LOG("no completion");				\
	__cqe.res;							\
})

#define read_fixed(self, file, at, len)		submit(self, file, false, at, len)
#define write_fixed(self, file, at, len)	submit(self, file, true, at, len)

/* How much was written to that is not of @len bytes at @at, since the last time */
static size_t touched(FIXTURE_DATA(fixed) *self, size_t at, size_t len)
{
	size_t i, count = 0;

	for (i = 0; i < self->size; i++)
		if (i < at || i >= at + len)
			count += self->mem[i] != GUARD;
	memset(self->mem, GUARD, self->size);
	return count;
}

#define expect_guards(self, at, len)	EXPECT_EQ(0, touched(self, at, len))

#define expect_mad(self, at, tid_) do {					\
	struct umad_msg __got = {};					\
									\
	memcpy(&__got.hdr, (self)->mem + (at), (self)->server.hlen);	\
	memcpy(&__got.mad, (self)->mem + (at) + (self)->server.hlen, MAD_SIZE); \
	EXPECT_EQ(0, __got.hdr.status);					\
	EXPECT_EQ((self)->sid, __got.hdr.id);				\
	EXPECT_EQ(umad_mad_len(&(self)->server), __got.hdr.length);	\
	EXPECT_EQ((__u32)(tid_), (__u32)be64toh(__got.mad.tid));	\
	EXPECT_EQ(0x5a, __got.mad.data[0]);				\
	EXPECT_EQ(0xc3, __got.mad.data[215]);				\
} while (0)

/* Where buffers begin: at a page, within one, and so that header or MAD are cut */
#define FIXED_PLACES(page, hlen) {					\
	0, 1, 100, (page) - 1, (page) - 7, (page) - (hlen),		\
	(page) - (hlen) - 1, (page) - (hlen) - 24, (page) - (hlen) - 36, \
	(page) - (hlen) - MAD_SIZE, 2 * (page) - (hlen) - 255,		\
}

TEST_F(fixed, mads)
{
	size_t hlen = self->server.hlen, len = hlen + MAD_SIZE, i;
	const size_t places[] = FIXED_PLACES(self->page, hlen);
	struct umad_msg msg, got;

	for (i = 0; i < ARRAY_SIZE(places); i++) {
		msg = message(self, MAD_SEND, 2 * i);
		msg.mad.data[0] = 0x5a;
		msg.mad.data[215] = 0xc3;

		/* Written so, and read as ever */
		umad_pack(&self->client, &msg, MAD_SIZE, self->mem + places[i]);
		ASSERT_EQ((int)len, write_fixed(self, &self->client, places[i], len));
		umad_read(&self->server, &got);
		EXPECT_EQ(2 * i, (__u32)be64toh(got.mad.tid));
		EXPECT_EQ(0, memcmp(msg.mad.data, got.mad.data, sizeof(got.mad.data)));
		expect_guards(self, places[i], len);

		/*
		 * The other way round, with room for more than there is. The first
		 * one may arrive before its send has completed, and until then its
		 * transaction ID is taken.
		 */
		msg.mad.tid = htobe64(2 * i + 1);
		umad_write(&self->client, &msg);
		ASSERT_TRUE(umad_readable(&self->server, UMAD_SOON_MS));
		ASSERT_EQ((int)len, read_fixed(self, &self->server, places[i], len + 50));
		expect_mad(self, places[i], 2 * i + 1);
		expect_guards(self, places[i], len);
	}
	umad_expect_empty(&self->server);
}

/* The same errors as ever, and nothing is taken away or sent */
TEST_F(fixed, refused)
{
	size_t hlen = self->server.hlen, len = hlen + MAD_SIZE;
	struct umad_msg msg = message(self, MAD_GET, 1), got;

	EXPECT_EQ(-EINVAL, read_fixed(self, &self->server, 0, hlen - 1));
	umad_write(&self->client, &msg);
	ASSERT_TRUE(umad_readable(&self->server, UMAD_SOON_MS));
	EXPECT_EQ(-EINVAL, read_fixed(self, &self->server, 10, len - 1));
	expect_guards(self, 0, 0);
	umad_read(&self->server, &got);

	umad_pack(&self->client, &msg, MAD_SIZE, self->mem);
	EXPECT_EQ(-EINVAL, write_fixed(self, &self->client, 0, hlen + MAD_RMPP_HDR - 1));
	EXPECT_EQ(-EINVAL, write_fixed(self, &self->client, 0, hlen + MAD_VENDOR_HDR - 1));
	EXPECT_EQ(-EINVAL, write_fixed(self, &self->client, 0, len + 1));
	msg.hdr.id = 17;
	umad_pack(&self->client, &msg, MAD_SIZE, self->mem);
	EXPECT_EQ(-EIO, write_fixed(self, &self->client, 0, len));
	umad_expect_empty(&self->server);
}

static struct umad_msg long_head(FIXTURE_DATA(fixed) *self, int tid)
{
	return umad_long_head(&self->port, self->cid, MAD_SEND, tid);
}

/* Messages of several segments, with pages that end within a segment and a header */
TEST_F_TIMEOUT(fixed, messages_written, UMAD_HANGS)
{
	const size_t hlen = self->client.hlen;
	const size_t places[] = FIXED_PLACES(self->page, hlen);
	struct umad_msg head;
	size_t size, i;

	for (i = 0; i < ARRAY_SIZE(places); i++) {
		size_t len = i % 2 ? LONG_LEN : 400 + i;

		head = long_head(self, i);
		size = umad_long_pack(&self->client, &head, len, i, self->mem + places[i]);
		ASSERT_EQ((int)size, write_fixed(self, &self->client, places[i], size));
		umad_long_read(&self->server, self->sid, &head, len, i, &self->msg);
		expect_guards(self, places[i], size);
	}
	umad_expect_empty(&self->server);
}

TEST_F_TIMEOUT(fixed, messages_read, UMAD_HANGS)
{
	const size_t hlen = self->server.hlen, first = hlen + MAD_SIZE;
	const size_t places[] = FIXED_PLACES(self->page, hlen);
	struct ib_user_mad_hdr hdr;
	struct umad_msg head;
	size_t size, i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(places); i++) {
		size_t len = i % 2 ? LONG_LEN : 400 + i;

		head = long_head(self, i);
		umad_long_write(&self->client, &head, len, i, &self->msg);
		ASSERT_TRUE(umad_readable(&self->server, UMAD_LONG_MS));
		size = hlen + MAD_VENDOR_HDR + len;

		/* Too small for a segment; then for the message, by much and by little */
		EXPECT_EQ(-EINVAL, read_fixed(self, &self->server, places[i], first - 1));
		expect_guards(self, 0, 0);
		EXPECT_EQ(-ENOSPC, read_fixed(self, &self->server, places[i], first));
		memcpy(&hdr, self->mem + places[i], hlen);
		EXPECT_EQ(size, hdr.length);
		expect_guards(self, places[i], first);
		EXPECT_EQ(-ENOSPC, read_fixed(self, &self->server, places[i], size - 1));
		expect_guards(self, places[i], first);

		ret = read_fixed(self, &self->server, places[i], size);
		ASSERT_EQ((int)size, ret);
		memcpy(self->msg.in, self->mem + places[i], size);
		umad_long_expect(&self->server, self->sid, &head, len, i, &self->msg, (ssize_t)ret);
		expect_guards(self, places[i], size);
	}
	umad_expect_empty(&self->server);
}

TEST_HARNESS_MAIN
