// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Many MADs read by one system call: readv(), the same without waiting, and
 * FIONREAD. For writing them there is batch_write.
 *
 * Also on: 6.12, smp
 */
#include "kselftest_harness.h"
#include "lib/pair.h"
#include "lib/stall.h"
#include "lib/vector.h"

static struct umad_vector vector;

static ssize_t read_vector(const struct umad_file *file, int count)
{
	return readv(file->fd, vector.iov, count);
}

/* -1 stands for no position, which the device has not */
static ssize_t read_nowait(const struct umad_file *file, int count)
{
	return preadv2(file->fd, vector.iov, count, -1, RWF_NOWAIT);
}

/* readv: as many elements as there are packets */

TEST_F(pair, readv)
{
	ssize_t len = umad_mad_len(&self->server);
	int i;

	umad_queue_mads(self, 0, UMAD_VECTOR + 2);
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
	umad_err(EAGAIN, read_vector(&self->server, 4));
	umad_expect_empty(&self->server);
}

TEST_F(pair, readv_with_room_to_spare)
{
	ssize_t len = umad_mad_len(&self->server), ret;
	int i;

	umad_queue_mads(self, 0, 3);
	umad_vector_rooms(&vector, &self->server);
	for (i = 0; i < 3; i++)
		vector.iov[i].iov_len = sizeof(vector.buf[i]);
	ret = read_vector(&self->server, 3);
	EXPECT_FIXED(ret == 3 * len, "a packet shorter than its element ends readv()");
	ASSERT_EQ(0, ret % len);
	for (i = 0; i < ret / len; i++)
		umad_vector_expect(&vector, i, i);
	umad_expect_left(self, ret / len, 3);
}

/* readv: elements that nothing can be read to */

/* Nor is a packet scattered over what is too small, or put behind an empty element */
TEST_F(pair, readv_first_too_small)
{
	const size_t hlen = self->server.hlen;
	const size_t lens[] = { 0, hlen - 1, hlen, hlen + MAD_SIZE - 1 };
	size_t i;

	umad_queue_mads(self, 0, 2);
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		umad_vector_rooms(&vector, &self->server);
		vector.iov[0].iov_len = lens[i];
		/* In all there is room enough */
		umad_err(EINVAL, read_vector(&self->server, 2));
		EXPECT_TRUE(umad_vector_untouched(&vector, 0, 0));
		EXPECT_TRUE(umad_vector_untouched(&vector, 1, 0));
	}
	vector.iov[0].iov_len = 0;
	EXPECT_EQ(0, read_vector(&self->server, 1));
	umad_expect_left(self, 0, 2);
}

/* What was read before is read, the rest waits, also what would have fitted */
TEST_F(pair, readv_later_too_small)
{
	ssize_t len = umad_mad_len(&self->server);

	umad_queue_mads(self, 0, 4);
	umad_vector_rooms(&vector, &self->server);
	vector.iov[2].iov_len--;
	EXPECT_EQ(2 * len, read_vector(&self->server, 4));
	umad_vector_expect(&vector, 0, 0);
	umad_vector_expect(&vector, 1, 1);
	EXPECT_TRUE(umad_vector_untouched(&vector, 2, 0));
	EXPECT_TRUE(umad_vector_untouched(&vector, 3, 0));
	umad_expect_left(self, 2, 4);
}

/* At the beginning they are too small, behind that they are none */
TEST_F(pair, readv_empty_elements)
{
	ssize_t len = umad_mad_len(&self->server);

	umad_queue_mads(self, 0, 2);
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

	umad_queue_mads(self, 0, 3);
	umad_border(&border, PROT_NONE);
	for (at = 0; at < (size_t)len; at += len / 4) {
		umad_vector_rooms(&vector, &self->server);
		vector.iov[0].iov_base = umad_before(&border, at);
		umad_err(EFAULT, read_vector(&self->server, 3));
		EXPECT_TRUE(umad_vector_untouched(&vector, 1, 0));
	}

	umad_vector_rooms(&vector, &self->server);
	vector.iov[1].iov_base = umad_before(&border, 100);
	EXPECT_EQ(len, read_vector(&self->server, 3));
	umad_vector_expect(&vector, 0, 0);
	EXPECT_TRUE(umad_vector_untouched(&vector, 2, 0));
	umad_border_free(&border);
	umad_expect_left(self, 1, 3);
}

/* readv: who sleeps, and who is woken */

static long in_readv(struct umad_call *call)
{
	return readv(call->fd, call->buf, call->len);
}

TEST_F(pair, readv_waits_for_first)
{
	struct umad_msg msg = umad_msg(&self->port, self->cid, MAD_SEND, 0);
	ssize_t len = umad_mad_len(&self->server);
	struct umad_call call;
	bool returned;

	umad_make_blocking(&self->server);
	umad_vector_rooms(&vector, &self->server);
	call = (struct umad_call){
		.fn = in_readv, .fd = self->server.fd, .buf = vector.iov, .len = 4,
	};
	umad_call_sleep(&call);
	umad_write(&self->client, &msg);
	returned = umad_call_returned(&call, umad_fixed_ms());
	EXPECT_FIXED(returned, "readv() waits until all elements are full");
	umad_call_interrupt(&call);
	EXPECT_EQ(len, call.ret);
	umad_vector_expect(&vector, 0, 0);
	EXPECT_TRUE(umad_vector_untouched(&vector, 1, 0));
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

	umad_queue_mads(self, 0, 3);
	EXPECT_EQ(2 * len, read_nowait(&self->server, 2));
	umad_vector_expect(&vector, 0, 0);
	umad_vector_expect(&vector, 1, 1);
	umad_vector_rooms(&vector, &self->server);
	EXPECT_EQ(len, read_nowait(&self->server, 4));
	umad_vector_expect(&vector, 0, 2);
	EXPECT_TRUE(umad_vector_untouched(&vector, 1, 0));
	umad_err(EAGAIN, read_nowait(&self->server, 1));

	/* It is of the call, not of the descriptor */
	umad_queue_mads(self, 3, 1);
	EXPECT_EQ(len, read_vector(&self->server, 1));
}

/* Neither a position, nor a pipe, nor a thing to map */
TEST_F(pair, positions_and_pipes)
{
	struct umad_msg msg = umad_msg(&self->port, self->cid, MAD_GET, 0);
	int pipes[2];

	umad_queue_mads(self, 0, 1);
	umad_vector_rooms(&vector, &self->server);
	umad_err(ESPIPE, lseek(self->server.fd, 0, SEEK_CUR));
	umad_err(ESPIPE, preadv(self->server.fd, vector.iov, 1, 0));
	umad_vector_put(&vector, 0, &self->client, &msg);
	umad_err(ESPIPE, pwritev(self->client.fd, vector.iov, 1, 0));
	ASSERT_EQ(0, pipe(pipes));
	umad_err(EINVAL, splice(self->server.fd, NULL, pipes[1], NULL, 4096, 0));
	ASSERT_EQ(1, write(pipes[1], "", 1));
	umad_err(EINVAL, splice(pipes[0], NULL, self->client.fd, NULL, 1, 0));
	close(pipes[0]);
	close(pipes[1]);
	errno = 0;
	EXPECT_EQ(MAP_FAILED, mmap(NULL, 4096, PROT_READ, MAP_SHARED, self->server.fd, 0));
	EXPECT_EQ(ENODEV, errno);
	umad_expect_left(self, 0, 1);
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
	struct umad_msg msg = umad_lost_request(&self->port, self->cid, MAD_GET, 2, 1);
	ssize_t len = umad_mad_len(&self->server);

	expect_next(0, &self->server);
	umad_queue_mads(self, 0, 2);
	expect_next(len, &self->server);
	umad_vector_rooms(&vector, &self->server);
	EXPECT_EQ(len, read_vector(&self->server, 1));
	expect_next(len, &self->server);
	errno = 0;
	EXPECT_EQ(-1, ioctl(self->server.fd, FIONREAD, NULL));
	EXPECT_FIXED(errno == EFAULT, NO_FIONREAD);
	EXPECT_EQ(len, read_vector(&self->server, 1));
	expect_next(0, &self->server);

	umad_write(&self->client, &msg);
	ASSERT_TRUE(umad_readable(&self->client, UMAD_SOON_MS));
	expect_next(self->client.hlen + MAD_HDR, &self->client);
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

umad_abi_variants(message);
umad_abi_variant(message, v1_old);
umad_abi_variant(message, v2_new);

FIXTURE_SETUP(message)
{
	__u8 buf[UMAD_HDR_NEW + MAD_VENDOR_HDR + MESSAGE] = {};
	struct umad_msg msg;

	umad_port(&self->port);
	self->id = umad_open_agent(&self->port, &variant->abi,
				   umad_reg_rmpp(variant->abi.api, umad_get_set_send),
				   &self->file);
	msg = umad_msg(&self->port, self->id, MAD_SEND, 1);
	umad_write(&self->file, &msg);
	ASSERT_TRUE(umad_readable(&self->file, UMAD_SOON_MS));
	msg = umad_request(&self->port, self->id, MAD_SEND, 2, 5000);
	umad_make_active(&msg);
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
	umad_err(ENOSPC, read_vector(&self->file, 3));
	expect_first_segment(self, 0);
	EXPECT_TRUE(umad_vector_untouched(&vector, 1, 0));
	vector.iov[0].iov_len--;
	umad_err(EINVAL, read_vector(&self->file, 3));
	expect_next(self->len, &self->file);

	EXPECT_EQ(self->len, readv(self->file.fd, &iov, 1));
	EXPECT_EQ(0x77, whole[self->len - 1]);
	umad_expect_empty(&self->file);
}

TEST_HARNESS_MAIN
