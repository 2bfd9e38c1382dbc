// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Many MADs by one system call: readv() and writev(), the same without waiting,
 * and FIONREAD.
 */
#include <sys/syscall.h>

#include "kselftest_harness.h"
#include "lib/device.h"
#include "lib/pair.h"
#include "lib/stall.h"
#include "lib/vector.h"

#define LONG_MS		600000

static struct umad_vector vector;

/* @count MADs for the server, with transaction IDs from @first on */
#define queue_mads(self, first, count) do {				\
	struct umad_msg __msg;						\
	__u32 __i;							\
									\
	for (__i = 0; __i < (count); __i++) {				\
		__msg = umad_msg(&(self)->port, (self)->cid, MAD_SEND,	\
				 (first) + __i);				\
		umad_write(&(self)->client, &__msg);			\
	}								\
	ASSERT_TRUE(umad_unread_reaches(&(self)->server, count));	\
} while (0)

/* Nothing but the MADs from @first to before @end is left to be read */
#define expect_left(self, first, end) do {				\
	struct umad_msg __got;						\
	__u32 __i;							\
									\
	for (__i = (first); __i < (end); __i++) {			\
		umad_read(&(self)->server, &__got);			\
		EXPECT_EQ(__i, (__u32)be64toh(__got.mad.tid));		\
	}								\
	umad_expect_empty(&(self)->server);				\
} while (0)

#define expect_error(err, call) do {					\
	errno = 0;							\
	EXPECT_EQ(-1, call);						\
	EXPECT_EQ(err, errno);						\
} while (0)

/* Name another agent in MAD @i of the vector: in both headers the ID is first */
static void put_id(int i, __u32 id)
{
	memcpy(vector.buf[i], &id, sizeof(id));
}

static ssize_t read_vector(const struct umad_file *file, int count)
{
	return readv(file->fd, vector.iov, count);
}

static ssize_t write_vector(const struct umad_file *file, int count)
{
	return writev(file->fd, vector.iov, count);
}

/* -1 stands for no position, which the device has not */
static ssize_t read_nowait(const struct umad_file *file, int count)
{
	return preadv2(file->fd, vector.iov, count, -1, RWF_NOWAIT);
}

static ssize_t write_nowait(const struct umad_file *file, int count)
{
	return pwritev2(file->fd, vector.iov, count, -1, RWF_NOWAIT);
}

/* readv: as many elements as there are packets */

TEST_F(pair, readv)
{
	ssize_t len = umad_mad_len(&self->server);
	int i;

	queue_mads(self, 0, UMAD_VECTOR + 2);
	umad_vector_rooms(&vector, &self->server);
	ASSERT_EQ(UMAD_VECTOR * len, read_vector(&self->server, UMAD_VECTOR));
	for (i = 0; i < UMAD_VECTOR; i++)
		umad_vector_expect(&vector, i, i);

	/* Fewer packets than elements */
	umad_vector_rooms(&vector, &self->server);
	EXPECT_EQ(2 * len, read_vector(&self->server, 4));
	umad_vector_expect(&vector, 0, UMAD_VECTOR);
	umad_vector_expect(&vector, 1, UMAD_VECTOR + 1);
	EXPECT_TRUE(umad_vector_untouched(&vector, 2, 0));
	expect_error(EAGAIN, read_vector(&self->server, 4));
	umad_expect_empty(&self->server);
}

TEST_F(pair, readv_with_room_to_spare)
{
	ssize_t len = umad_mad_len(&self->server), ret;
	int i;

	queue_mads(self, 0, 3);
	umad_vector_rooms(&vector, &self->server);
	for (i = 0; i < 3; i++)
		vector.iov[i].iov_len = sizeof(vector.buf[i]);
	ret = read_vector(&self->server, 3);
	EXPECT_FIXED(ret == 3 * len, "a packet shorter than its element ends readv()");
	ASSERT_EQ(0, ret % len);
	for (i = 0; i < ret / len; i++)
		umad_vector_expect(&vector, i, i);
	expect_left(self, ret / len, 3);
}

/* Timeout records are shorter, and in the same queue */
TEST_F(pair, readv_timeout_records)
{
	ssize_t record = self->client.hlen + MAD_HDR, ret;
	struct umad_msg msg;
	int i;

	for (i = 0; i < 3; i++) {
		msg = umad_msg(&self->port, self->cid, MAD_GET, i);
		umad_msg_to_nobody(&msg);
		msg.hdr.timeout_ms = 1;
		umad_write(&self->client, &msg);
	}
	ASSERT_TRUE(umad_unread_reaches(&self->client, 3));
	umad_vector_rooms(&vector, &self->client);
	ret = read_vector(&self->client, 4);
	EXPECT_FIXED(ret == 3 * record, "a packet shorter than its element ends readv()");
	ASSERT_EQ(0, ret % record);
	for (i = 0; i < ret / record; i++) {
		EXPECT_EQ(ETIMEDOUT, umad_vector_hdr(&vector, i).status);
		EXPECT_TRUE(umad_vector_untouched(&vector, i, record));
	}
	EXPECT_TRUE(umad_vector_untouched(&vector, 3, 0));
}

TEST_F(pair, readv_does_not_scatter)
{
	__u8 buf[UMAD_HDR_NEW + MAD_SIZE];
	struct iovec iov[2] = {
		{ buf, self->server.hlen },
		{ buf + self->server.hlen, MAD_SIZE },
	};

	queue_mads(self, 0, 1);
	expect_error(EINVAL, readv(self->server.fd, iov, 2));
	expect_left(self, 0, 1);
}

/* readv: elements that nothing can be read to */

TEST_F(pair, readv_first_too_small)
{
	queue_mads(self, 0, 2);
	umad_vector_rooms(&vector, &self->server);
	vector.iov[0].iov_len--;
	expect_error(EINVAL, read_vector(&self->server, 2));
	EXPECT_TRUE(umad_vector_untouched(&vector, 0, 0));
	EXPECT_TRUE(umad_vector_untouched(&vector, 1, 0));
	vector.iov[0].iov_len = self->server.hlen - 1;
	expect_error(EINVAL, read_vector(&self->server, 2));
	expect_left(self, 0, 2);
}

/* What was read before is read, the rest waits, also what would have fitted */
TEST_F(pair, readv_later_too_small)
{
	ssize_t len = umad_mad_len(&self->server);

	queue_mads(self, 0, 4);
	umad_vector_rooms(&vector, &self->server);
	vector.iov[2].iov_len--;
	EXPECT_EQ(2 * len, read_vector(&self->server, 4));
	umad_vector_expect(&vector, 0, 0);
	umad_vector_expect(&vector, 1, 1);
	EXPECT_TRUE(umad_vector_untouched(&vector, 2, 0));
	EXPECT_TRUE(umad_vector_untouched(&vector, 3, 0));
	expect_left(self, 2, 4);
}

/* At the beginning they are too small, behind that they are none */
TEST_F(pair, readv_empty_elements)
{
	ssize_t len = umad_mad_len(&self->server);

	queue_mads(self, 0, 2);
	umad_vector_rooms(&vector, &self->server);
	vector.iov[0].iov_len = 0;
	expect_error(EINVAL, read_vector(&self->server, 2));
	EXPECT_EQ(0, read_vector(&self->server, 1));
	EXPECT_TRUE(umad_vector_untouched(&vector, 1, 0));

	umad_vector_rooms(&vector, &self->server);
	vector.iov[1].iov_len = 0;
	vector.iov[3].iov_len = 0;
	EXPECT_EQ(2 * len, read_vector(&self->server, 4));
	umad_vector_expect(&vector, 0, 0);
	EXPECT_TRUE(umad_vector_untouched(&vector, 1, 0));
	umad_vector_expect(&vector, 2, 1);
	umad_expect_empty(&self->server);
}

TEST_F(pair, readv_bad_pointer)
{
	ssize_t len = umad_mad_len(&self->server);
	struct umad_border border;
	size_t at;

	queue_mads(self, 0, 3);
	umad_border(&border, PROT_NONE);
	for (at = 0; at < (size_t)len; at += len / 4) {
		umad_vector_rooms(&vector, &self->server);
		vector.iov[0].iov_base = umad_before(&border, at);
		expect_error(EFAULT, read_vector(&self->server, 3));
		EXPECT_TRUE(umad_vector_untouched(&vector, 1, 0));
	}

	umad_vector_rooms(&vector, &self->server);
	vector.iov[1].iov_base = umad_before(&border, 100);
	EXPECT_EQ(len, read_vector(&self->server, 3));
	umad_vector_expect(&vector, 0, 0);
	EXPECT_TRUE(umad_vector_untouched(&vector, 2, 0));
	umad_border_free(&border);
	expect_left(self, 1, 3);
}

/* readv: who sleeps, and who is woken */

static long in_readv(struct umad_call *call)
{
	return readv(call->fd, call->buf, call->len);
}

/* Asleep for a moment before this returns, if it has to sleep */
#define start_readv(call, file, vec, count) do {			\
	*(call) = (struct umad_call){					\
		.op = UMAD_CALL_FN,					\
		.fn = in_readv,						\
		.fd = (file)->fd,					\
		.buf = (vec)->iov,					\
		.len = count,						\
	};								\
	umad_call_start(call);						\
	umad_sleep_ms(UMAD_QUIET_MS);					\
} while (0)

TEST_F(pair, readv_waits_for_first)
{
	struct umad_msg msg = umad_msg(&self->port, self->cid, MAD_SEND, 0);
	ssize_t len = umad_mad_len(&self->server);
	struct umad_call call;
	bool returned;

	umad_make_blocking(&self->server);
	umad_vector_rooms(&vector, &self->server);
	start_readv(&call, &self->server, &vector, 4);
	umad_write(&self->client, &msg);
	returned = umad_call_returned(&call, umad_fixed_ms());
	EXPECT_FIXED(returned, "readv() waits until all elements are full");
	umad_call_interrupt(&call);
	EXPECT_EQ(len, call.ret);
	umad_vector_expect(&vector, 0, 0);
	EXPECT_TRUE(umad_vector_untouched(&vector, 1, 0));
}

TEST_F(pair, readv_leaves_next_to_others)
{
	static struct umad_vector others;
	struct umad_msg msg = umad_msg(&self->port, self->cid, MAD_SEND, 0);
	ssize_t len = umad_mad_len(&self->server);
	struct umad_call first, second;

	if (umad_reference())
		SKIP(return, "there, readv() waits until all elements are full");
	umad_make_blocking(&self->server);
	umad_vector_rooms(&vector, &self->server);
	umad_vector_rooms(&others, &self->server);
	start_readv(&first, &self->server, &vector, 4);
	start_readv(&second, &self->server, &others, 4);
	umad_write(&self->client, &msg);
	EXPECT_TRUE(umad_call_returned(&first, UMAD_SOON_MS));
	msg = umad_msg(&self->port, self->cid, MAD_SEND, 1);
	umad_write(&self->client, &msg);
	EXPECT_TRUE(umad_call_returned(&second, UMAD_SOON_MS));
	umad_call_interrupt(&first);
	umad_call_interrupt(&second);
	EXPECT_EQ(len, first.ret);
	EXPECT_EQ(len, second.ret);
	umad_vector_expect(&vector, 0, 0);
	umad_vector_expect(&others, 0, 1);
}

/* Who was woken and has no room wakes another */
TEST_F(pair, readv_failed_wakes_next)
{
	static struct umad_vector others;
	struct umad_msg msg = umad_msg(&self->port, self->cid, MAD_SEND, 0);
	ssize_t len = umad_mad_len(&self->server);
	struct umad_call first, second;
	bool woken;

	if (umad_reference())
		SKIP(return, "there, all readers are woken");
	umad_make_blocking(&self->server);
	umad_vector_rooms(&vector, &self->server);
	vector.iov[0].iov_len--;
	umad_vector_rooms(&others, &self->server);
	start_readv(&first, &self->server, &vector, 4);
	start_readv(&second, &self->server, &others, 1);
	umad_write(&self->client, &msg);
	EXPECT_TRUE(umad_call_returned(&first, UMAD_SOON_MS));
	EXPECT_EQ(-1, first.ret);
	EXPECT_EQ(EINVAL, first.err);
	woken = umad_call_returned(&second, UMAD_SOON_MS);
	EXPECT_TRUE(woken);
	umad_call_interrupt(&first);
	umad_call_interrupt(&second);
	EXPECT_EQ(len, second.ret);
	umad_vector_expect(&others, 0, 0);
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
	expect_error(EINVAL, writev(self->client.fd, iov, 2));
	pair_expect_nothing_sent(self);
}

/* Requests that stay outstanding, all but one of which can be sent */
static void put_requests(FIXTURE_DATA(pair) *self, int count)
{
	struct umad_msg msg;
	int i;

	for (i = 0; i < count; i++) {
		msg = umad_msg(&self->port, self->cid, MAD_GET, i);
		msg.hdr.timeout_ms = LONG_MS;
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
		__got = umad_msg(&(self)->port, (self)->cid, MAD_GET, __i); \
		__got.hdr.timeout_ms = LONG_MS;				\
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

TEST_F(pair, writev_no_agent)
{
	ssize_t len = umad_mad_len(&self->client);

	put_requests(self, 4);
	put_id(1, self->cid + 1);
	EXPECT_EQ(len, write_vector(&self->client, 4));
	put_id(0, self->cid + 1);
	expect_error(EIO, write_vector(&self->client, 4));
	expect_sent(self, 1);
}

TEST_F(pair, writev_duplicate)
{
	ssize_t len = umad_mad_len(&self->client);

	put_requests(self, 4);
	memcpy(vector.buf[2], vector.buf[1], len);
	EXPECT_EQ(2 * len, write_vector(&self->client, 4));
	/* ... and now it is the first */
	expect_error(EINVAL, write_vector(&self->client, 4));
	expect_sent(self, 2);
}

TEST_F(pair, writev_too_short)
{
	ssize_t len = umad_mad_len(&self->client);

	put_requests(self, 4);
	vector.iov[3].iov_len = self->client.hlen + MAD_RMPP_HDR - 1;
	EXPECT_EQ(3 * len, write_vector(&self->client, 4));
	expect_sent(self, 3);
}

TEST_F(pair, writev_empty_elements)
{
	ssize_t len = umad_mad_len(&self->client);

	put_requests(self, 4);
	vector.iov[0].iov_len = 0;
	expect_error(EINVAL, write_vector(&self->client, 4));
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
	expect_error(EFAULT, write_vector(&self->client, 4));

	put_requests(self, 4);
	vector.iov[3].iov_base = memcpy(umad_before(&border, 100), vector.buf[3], 100);
	EXPECT_EQ(3 * len, write_vector(&self->client, 4));
	umad_border_free(&border);
	expect_sent(self, 3);
}

/* Without waiting */

#define NO_NOWAIT	"RWF_NOWAIT is refused"

TEST_F(pair, nowait_read)
{
	ssize_t len = umad_mad_len(&self->server), ret;

	umad_make_blocking(&self->server);
	umad_vector_rooms(&vector, &self->server);
	errno = 0;
	ret = read_nowait(&self->server, 4);
	EXPECT_EQ(-1, ret);
	EXPECT_FIXED(errno == EAGAIN, NO_NOWAIT);
	if (umad_reference())
		return;

	queue_mads(self, 0, 3);
	EXPECT_EQ(2 * len, read_nowait(&self->server, 2));
	umad_vector_expect(&vector, 0, 0);
	umad_vector_expect(&vector, 1, 1);
	umad_vector_rooms(&vector, &self->server);
	EXPECT_EQ(len, read_nowait(&self->server, 4));
	umad_vector_expect(&vector, 0, 2);
	EXPECT_TRUE(umad_vector_untouched(&vector, 1, 0));
	expect_error(EAGAIN, read_nowait(&self->server, 1));

	/* It is of the call, not of the descriptor */
	queue_mads(self, 3, 1);
	EXPECT_EQ(len, read_vector(&self->server, 1));
}

/* What a read that may wait returns is not changed by that it may not */
TEST_F(pair, nowait_read_refused)
{
	struct umad_border border;

	if (umad_reference())
		SKIP(return, NO_NOWAIT);
	queue_mads(self, 0, 1);
	umad_vector_rooms(&vector, &self->server);
	vector.iov[0].iov_len--;
	expect_error(EINVAL, read_nowait(&self->server, 1));
	umad_border(&border, PROT_NONE);
	vector.iov[0] = (struct iovec){ umad_before(&border, 100),
					umad_mad_len(&self->server) };
	expect_error(EFAULT, read_nowait(&self->server, 1));
	umad_border_free(&border);
	expect_left(self, 0, 1);
}

/* A RoCE address is resolved by asking others: nothing has happened yet */
TEST_F(pair, nowait_write_resolves_nothing)
{
	bool again;

	put_requests(self, 4);
	errno = 0;
	EXPECT_EQ(-1, write_nowait(&self->client, 4));
	again = errno == EAGAIN;
	EXPECT_FIXED(again, NO_NOWAIT);
	if (!umad_reference())
		EXPECT_EQ(0, umad_fdinfo(&self->client, "umad-outstanding"));
	expect_sent(self, 0);
}

/* What is refused anyhow needs no address */
TEST_F(pair, nowait_write_refused)
{
	struct umad_border border;

	if (umad_reference())
		SKIP(return, NO_NOWAIT);
	put_requests(self, 4);
	put_id(0, 32);
	expect_error(EINVAL, write_nowait(&self->client, 4));
	put_id(0, self->cid + 1);
	expect_error(EIO, write_nowait(&self->client, 4));
	umad_border(&border, PROT_NONE);
	vector.iov[0].iov_base = umad_before(&border, 100);
	expect_error(EFAULT, write_nowait(&self->client, 4));
	umad_border_free(&border);
	expect_sent(self, 0);
}

/* Neither a position nor a pipe */
TEST_F(pair, positions_and_pipes)
{
	int pipes[2];

	queue_mads(self, 0, 1);
	umad_vector_rooms(&vector, &self->server);
	expect_error(ESPIPE, preadv(self->server.fd, vector.iov, 1, 0));
	put_requests(self, 1);
	expect_error(ESPIPE, pwritev(self->client.fd, vector.iov, 1, 0));
	ASSERT_EQ(0, pipe(pipes));
	expect_error(EINVAL, splice(self->server.fd, NULL, pipes[1], NULL, 4096, 0));
	ASSERT_EQ(1, write(pipes[1], "", 1));
	expect_error(EINVAL, splice(pipes[0], NULL, self->client.fd, NULL, 1, 0));
	close(pipes[0]);
	close(pipes[1]);
	expect_left(self, 0, 1);
	pair_expect_nothing_sent(self);
}

/* FIONREAD */

#define NO_FIONREAD	"FIONREAD is no known request"

#define expect_next(want, file) do {					\
	int __len = -1;							\
									\
	errno = 0;							\
	if (umad_reference()) {						\
		EXPECT_EQ(-1, ioctl((file)->fd, FIONREAD, &__len));	\
		EXPECT_FIXED(errno != ENOTTY, NO_FIONREAD);		\
	} else {							\
		EXPECT_EQ(0, ioctl((file)->fd, FIONREAD, &__len));	\
		EXPECT_EQ((int)(want), __len);				\
	}								\
} while (0)

TEST_F(pair, fionread)
{
	ssize_t len = umad_mad_len(&self->server);

	expect_next(0, &self->server);
	queue_mads(self, 0, 2);
	expect_next(len, &self->server);
	umad_vector_rooms(&vector, &self->server);
	EXPECT_EQ(len, read_vector(&self->server, 1));
	expect_next(len, &self->server);
	EXPECT_EQ(len, read_vector(&self->server, 1));
	expect_next(0, &self->server);
}

TEST_F(pair, fionread_timeout_record)
{
	struct umad_msg msg = umad_msg(&self->port, self->cid, MAD_GET, 1);

	umad_msg_to_nobody(&msg);
	msg.hdr.timeout_ms = 1;
	umad_write(&self->client, &msg);
	ASSERT_TRUE(umad_readable(&self->client, UMAD_SOON_MS));
	expect_next(self->client.hlen + MAD_HDR, &self->client);
}

TEST_F(pair, fionread_bad_pointer)
{
	bool fault;

	queue_mads(self, 0, 1);
	errno = 0;
	EXPECT_EQ(-1, ioctl(self->server.fd, FIONREAD, NULL));
	fault = errno == EFAULT;
	EXPECT_FIXED(fault, NO_FIONREAD);
	expect_left(self, 0, 1);
}

/* Messages longer than a MAD, behind one that is not */

#define SEGMENTS	3
#define MESSAGE		(SEGMENTS * (MAD_SIZE - MAD_VENDOR_HDR))

FIXTURE(message)
{
	struct umad_port port;
	struct umad_file file;
	__u32 id;
	ssize_t len;		/* of the message, as it is read */
};

FIXTURE_VARIANT(message)
{
	struct umad_abi abi;
};

umad_abi_variant(message, v1_old);
umad_abi_variant(message, v2_new);

FIXTURE_SETUP(message)
{
	struct umad_reg reg = umad_reg_vendor(variant->abi.api, pair_methods);
	__u8 buf[UMAD_HDR_NEW + MAD_VENDOR_HDR + MESSAGE] = {};
	struct umad_msg msg;

	self->file.fd = -1;
	umad_port(&self->port);
	umad_open_abi(&self->port, &variant->abi, O_RDWR | O_NONBLOCK, &self->file);
	reg.rmpp_version = 1;
	self->id = umad_register(&self->file, &reg);

	msg = umad_msg(&self->port, self->id, MAD_SEND, 1);
	umad_write(&self->file, &msg);
	ASSERT_TRUE(umad_readable(&self->file, UMAD_SOON_MS));
	msg = umad_msg(&self->port, self->id, MAD_SEND, 2);
	msg.mad.rmpp_version = 1;
	msg.mad.rmpp_type = MAD_RMPP_DATA;
	msg.mad.rmpp_flags = MAD_RMPP_ACTIVE;
	msg.hdr.timeout_ms = 5000;
	umad_pack(&self->file, &msg, MAD_VENDOR_HDR, buf);
	self->len = self->file.hlen + MAD_VENDOR_HDR + MESSAGE;
	memset(buf + self->len - MESSAGE, 0x77, MESSAGE);
	ASSERT_EQ(self->len, write(self->file.fd, buf, self->len));
	ASSERT_TRUE(umad_unread_reaches(&self->file, 2));
}

FIXTURE_TEARDOWN(message)
{
	umad_close(&self->file);
}

/* Header and first segment are in element @i, and no more */
#define expect_first_segment(self, i) do {				\
	EXPECT_EQ((self)->len, umad_vector_hdr(&vector, i).length);	\
	EXPECT_EQ(0x77, vector.buf[i][(self)->file.hlen + MAD_SIZE - 1]); \
	EXPECT_TRUE(umad_vector_untouched(&vector, i,			\
					  (self)->file.hlen + MAD_SIZE)); \
} while (0)

TEST_F(message, too_small)
{
	ssize_t len = umad_mad_len(&self->file);
	static __u8 whole[2 * MESSAGE];
	struct iovec iov = { whole, sizeof(whole) };

	/* Later: it is delivered so far as there is room, and waits */
	umad_vector_rooms(&vector, &self->file);
	EXPECT_EQ(len, read_vector(&self->file, 3));
	expect_first_segment(self, 1);
	EXPECT_TRUE(umad_vector_untouched(&vector, 2, 0));

	/* First */
	umad_vector_rooms(&vector, &self->file);
	expect_error(ENOSPC, read_vector(&self->file, 3));
	expect_first_segment(self, 0);
	EXPECT_TRUE(umad_vector_untouched(&vector, 1, 0));
	vector.iov[0].iov_len--;
	expect_error(EINVAL, read_vector(&self->file, 3));
	expect_next(self->len, &self->file);

	EXPECT_EQ(self->len, readv(self->file.fd, &iov, 1));
	EXPECT_EQ(0x77, whole[self->len - 1]);
	umad_expect_empty(&self->file);
}

/* Where nobody has to be asked for an address */

FIXTURE(fabric)
{
	struct umad_fabric fabric;
	struct umad_file client;
	struct umad_file server;
	__u32 cid;
};

FIXTURE_VARIANT(fabric)
{
	struct umad_abi abi;
};

umad_abi_variant(fabric, v1_old);
umad_abi_variant(fabric, v2_new);

FIXTURE_SETUP(fabric)
{
	struct umad_reg reg;

	if (!umad_have_fabrics())
		SKIP(return, UMAD_NO_FABRICS);
	self->fabric = (struct umad_fabric){ .hosts = 2 };
	umad_fabric_start(&self->fabric);
	umad_fabric_up(&self->fabric);
	umad_open_abi(&self->fabric.host[0], &variant->abi, O_RDWR | O_NONBLOCK,
		      &self->client);
	reg = umad_reg_send_only(variant->abi.api);
	self->cid = umad_register(&self->client, &reg);
	umad_open_abi(&self->fabric.host[1], &variant->abi, O_RDWR | O_NONBLOCK,
		      &self->server);
	reg = umad_reg_vendor(variant->abi.api, pair_methods);
	umad_register(&self->server, &reg);
}

FIXTURE_TEARDOWN(fabric)
{
	umad_close(&self->client);
	umad_close(&self->server);
	umad_fabric_stop();
}

/* By LID, and every other one with a GRH as well */
TEST_F(fabric, nowait_write)
{
	struct umad_msg msg, got;
	ssize_t ret;
	int i;

	for (i = 0; i < UMAD_VECTOR; i++) {
		msg = umad_msg(&self->fabric.host[1], self->cid, MAD_GET, i);
		msg.hdr.grh_present = i % 2;
		msg.hdr.lid = htobe16(self->fabric.lid[1]);
		msg.hdr.timeout_ms = LONG_MS;
		umad_vector_put(&vector, i, &self->client, &msg);
	}
	ret = write_nowait(&self->client, UMAD_VECTOR);
	EXPECT_FIXED(ret == UMAD_VECTOR * (ssize_t)umad_mad_len(&self->client), NO_NOWAIT);
	if (ret < 0)
		return;
	for (i = 0; i < UMAD_VECTOR; i++) {
		umad_read(&self->server, &got);
		EXPECT_EQ(i, (int)(__u32)be64toh(got.mad.tid));
	}
	umad_expect_empty(&self->server);
	/* All of them are outstanding */
	expect_error(EINVAL, write_nowait(&self->client, UMAD_VECTOR));
}

/* The device goes */

FIXTURE(gone)
{
	struct umad_device device;
	struct umad_file file;
	__u32 id;
};

FIXTURE_VARIANT(gone)
{
	enum umad_device_kind kind;
	struct umad_abi abi;
};

FIXTURE_VARIANT_ADD(gone, rxe)
{
	.kind = UMAD_RXE,
	.abi = UMAD_ABI_v1_old,
};

FIXTURE_VARIANT_ADD(gone, madsim)
{
	.kind = UMAD_MADSIM,
	.abi = UMAD_ABI_v2_new,
};

FIXTURE_SETUP(gone)
{
	struct umad_reg reg;

	self->file.fd = -1;
	if (!umad_device_possible(variant->kind))
		SKIP(return, UMAD_NO_DEVICE(variant->kind));
	ASSERT_EQ(0, umad_device_make(&self->device, variant->kind));
	umad_open_abi(&self->device.port, &variant->abi, O_RDWR, &self->file);
	reg = umad_reg_vendor(variant->abi.api, pair_methods);
	self->id = umad_register(&self->file, &reg);
}

FIXTURE_TEARDOWN(gone)
{
	umad_close(&self->file);
	umad_device_free(&self->device);
}

TEST_F(gone, every_call)
{
	struct umad_msg msg = umad_msg(&self->device.port, self->id, MAD_SEND, 1);
	int len;

	ASSERT_EQ(0, umad_device_remove(&self->device));
	umad_vector_rooms(&vector, &self->file);
	expect_error(EIO, read_vector(&self->file, 2));
	umad_vector_put(&vector, 0, &self->file, &msg);
	umad_vector_put(&vector, 1, &self->file, &msg);
	expect_error(EIO, write_vector(&self->file, 2));
	if (umad_reference())
		return;
	expect_error(EIO, read_nowait(&self->file, 2));
	expect_error(EIO, write_nowait(&self->file, 2));
	expect_error(EIO, ioctl(self->file.fd, FIONREAD, &len));
}

TEST_F(gone, asleep_in_readv)
{
	struct umad_call call;
	bool returned;

	umad_vector_rooms(&vector, &self->file);
	start_readv(&call, &self->file, &vector, 4);
	ASSERT_EQ(0, umad_device_remove(&self->device));
	returned = umad_call_returned(&call, umad_fixed_ms());
	EXPECT_FIXED(returned, "a reader asleep when the device goes sleeps on");
	umad_call_interrupt(&call);
	EXPECT_EQ(-1, call.ret);
	if (returned)
		EXPECT_EQ(EIO, call.err);
	EXPECT_TRUE(umad_vector_untouched(&vector, 0, 0));
}

TEST_HARNESS_MAIN
