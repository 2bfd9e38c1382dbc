// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Many MADs written by one system call, writev(). Those that must not wait are in nowait.c */
#include "kselftest_harness.h"
#include "lib/pair.h"
#include "lib/vector.h"

#define LONG_MS		600000

static struct umad_vector vector;

/* Name another agent in MAD @i of the vector: in both headers the ID is first */
static void put_id(int i, __u32 id)
{
	memcpy(vector.buf[i], &id, sizeof(id));
}

static ssize_t write_vector(const struct umad_file *file, int count)
{
	return writev(file->fd, vector.iov, count);
}

/* writev: a MAD an element */

TEST_F(pair, writev)
{
	struct umad_msg msg, got;
	ssize_t total = 0;
	int i;

	for (i = 0; i < UMAD_VECTOR; i++) {
		msg = umad_msg(&self->port, self->cid, MAD_SEND, i);
		umad_vector_put(&vector, i, &self->client, &msg);
		/* What is missing is sent as zeros */
		if (i % 2)
			vector.iov[i].iov_len = self->client.hlen + 100;
		total += vector.iov[i].iov_len;
	}
	EXPECT_EQ(total, write_vector(&self->client, UMAD_VECTOR));
	for (i = 0; i < UMAD_VECTOR; i++) {
		msg = umad_msg(&self->port, self->cid, MAD_SEND, i);
		if (i % 2)
			memset((__u8 *)&msg.mad + 100, 0, MAD_SIZE - 100);
		umad_read(&self->server, &got);
		EXPECT_EQ(i, (int)be64toh(got.mad.tid));
		got.mad.tid = msg.mad.tid;
		EXPECT_EQ(0, memcmp(&got.mad, &msg.mad, MAD_SIZE));
	}
	umad_expect_empty(&self->server);
}

TEST_F(pair, writev_does_not_gather)
{
	struct umad_msg msg = umad_msg(&self->port, self->cid, MAD_SEND, 1);
	__u8 buf[UMAD_HDR_NEW + MAD_SIZE];
	struct iovec iov[2] = {
		{ buf, self->client.hlen },
		{ buf + self->client.hlen, MAD_SIZE },
	};

	umad_pack(&self->client, &msg, MAD_SIZE, buf);
	umad_err(EINVAL, writev(self->client.fd, iov, 2));
	pair_expect_nothing_sent(self);
}

/* Requests that stay outstanding, all but one of which can be sent */
static void put_requests(FIXTURE_DATA(pair) *self, int count)
{
	struct umad_msg msg;
	int i;

	for (i = 0; i < count; i++) {
		msg = umad_request(&self->port, self->cid, MAD_GET, i, LONG_MS);
		umad_vector_put(&vector, i, &self->client, &msg);
	}
}

/* Of four requests that were written, those before @refused were sent, no other */
#define expect_sent(self, refused) do {					\
	struct umad_msg __got;						\
	int __i;							\
									\
	for (__i = 0; __i < (refused); __i++) {				\
		umad_read(&(self)->server, &__got);			\
		EXPECT_EQ(__i, (int)(__u32)be64toh(__got.mad.tid));	\
	}								\
	pair_expect_nothing_sent(self);					\
	for (__i = 0; __i < 4; __i++) {					\
		__got = umad_request(&(self)->port, (self)->cid, MAD_GET, __i, LONG_MS); \
		if (__i < (refused))					\
			umad_err_write(EINVAL, &(self)->client, &__got); \
		else							\
			umad_write(&(self)->client, &__got);		\
	}								\
} while (0)

TEST_F(pair, writev_bad_id)
{
	ssize_t len = umad_mad_len(&self->client);

	put_requests(self, 4);
	put_id(2, 32);
	EXPECT_EQ(2 * len, write_vector(&self->client, 4));
	expect_sent(self, 2);
}

TEST_F(pair, writev_duplicate)
{
	ssize_t len = umad_mad_len(&self->client);

	put_requests(self, 4);
	memcpy(vector.buf[2], vector.buf[1], len);
	EXPECT_EQ(2 * len, write_vector(&self->client, 4));
	/* ... and now it is the first */
	umad_err(EINVAL, write_vector(&self->client, 4));
	expect_sent(self, 2);
}

TEST_F(pair, writev_empty_elements)
{
	ssize_t len = umad_mad_len(&self->client);

	put_requests(self, 4);
	vector.iov[0].iov_len = 0;
	umad_err(EINVAL, write_vector(&self->client, 4));
	EXPECT_EQ(0, write_vector(&self->client, 1));

	put_requests(self, 4);
	vector.iov[2] = vector.iov[1];
	vector.iov[1].iov_len = 0;
	vector.iov[3].iov_len = 0;
	EXPECT_EQ(2 * len, write_vector(&self->client, 4));
	expect_sent(self, 2);
}

TEST_F(pair, writev_bad_pointer)
{
	ssize_t len = umad_mad_len(&self->client);
	struct umad_border border;

	umad_border(&border, PROT_NONE);
	put_requests(self, 4);
	vector.iov[0].iov_base = memcpy(umad_before(&border, 100), vector.buf[0], 100);
	umad_err(EFAULT, write_vector(&self->client, 4));

	put_requests(self, 4);
	vector.iov[3].iov_base = memcpy(umad_before(&border, 100), vector.buf[3], 100);
	EXPECT_EQ(3 * len, write_vector(&self->client, 4));
	umad_border_free(&border);
	expect_sent(self, 3);
}

TEST_HARNESS_MAIN
