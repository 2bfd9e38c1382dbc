// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * io_uring: a request that needs no waiting is done at once, also on descriptors that
 * block, and a read that has to wait does so without a thread of the kernel's.
 *
 * Also on: 6.12, smp
 */
#define PAIR_TWO_VARIANTS
#include "kselftest_harness.h"
#include "lib/pair.h"
#include "lib/long.h"
#include "lib/subnet.h"
#include "lib/trace.h"
#include "lib/uring.h"

#define LONG_MS		600000
#define LONG_LEN	3000
#define GROUP		7	/* of provided buffers */
#define BUFFERS		8
#define MANY		300	/* more than io_uring tries a request */
/* Linux 6.7 has it, not every liburing */
#define OP_READ_MULTISHOT 49

#define BY_WORKER	"a worker of the kernel's does what needs no waiting"

/* A test is a process, with whose end the ring ends */
static struct io_uring ring;
static struct umad_vector vector;

/* Whether a thread was made for us that does what would wait */
static bool have_worker(void)
{
	struct dirent *entry;
	bool found = false;
	char comm[32];
	DIR *dir;

	dir = opendir("/proc/self/task");
	while (dir && (entry = readdir(dir))) {
		if (!umad_sysfs_read(comm, sizeof(comm), "/proc/self/task/%s/comm", entry->d_name))
			found |= !strncmp(comm, "iou-wrk-", 8);
	}
	if (dir)
		closedir(dir);
	return found;
}

/* A read or write of one element of the vector */
static struct io_uring_sqe *ring_put(int op, const struct umad_file *file, int i)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);

	io_uring_prep_rw(op, sqe, file->fd, vector.iov[i].iov_base, vector.iov[i].iov_len, 0);
	sqe->user_data = i;
	return sqe;
}

#define ring_read(file, i)	ring_put(IORING_OP_READ, file, i)
#define ring_write(file, i)	ring_put(IORING_OP_WRITE, file, i)

/* Reads: the server of a pair, which blocks */

#define reading(self) do {						\
	umad_make_blocking(&(self)->server);				\
	umad_vector_rooms(&vector, &(self)->server);			\
	umad_ring(&ring, UMAD_VECTOR);					\
} while (0)

/* As many as there are, in their order, by one system call */
TEST_F(pair, read_many)
{
	int len = umad_mad_len(&self->server), i;
	struct io_uring_cqe cqe;

	reading(self);
	umad_queue_mads(self, 0, UMAD_VECTOR);
	for (i = 0; i < UMAD_VECTOR; i++)
		ring_read(&self->server, i);
	umad_ring_submit(&ring, UMAD_VECTOR);
	if (umad_reference()) {
		/* Workers take them in any order */
		for (i = 0; i < UMAD_VECTOR; i++)
			umad_ring_expect(&ring, len, UMAD_SOON_MS);
	} else {
		for (i = 0; i < UMAD_VECTOR; i++) {
			ASSERT_TRUE(umad_ring_next(&ring, &cqe, 0));
			EXPECT_EQ(i, (int)cqe.user_data);
			EXPECT_EQ(len, cqe.res);
			umad_vector_expect(&vector, i, i);
		}
	}
	EXPECT_FIXED(!have_worker(), BY_WORKER);
}

TEST_F(pair, read_waits_by_poll)
{
	int len = umad_mad_len(&self->server), i;
	struct io_uring_cqe cqe;

	reading(self);
	for (i = 0; i < 4; i++)
		ring_read(&self->server, i);
	umad_ring_submit(&ring, 4);
	EXPECT_FALSE(umad_ring_next(&ring, &cqe, 0));
	EXPECT_FALSE(have_worker());
	umad_send_mads(self, 0, 4);
	for (i = 0; i < 4; i++)
		umad_ring_expect(&ring, len, UMAD_SOON_MS);
	EXPECT_FIXED(!have_worker(), BY_WORKER);
}

/* A read that is cancelled takes nothing away */
TEST_F(pair, read_cancelled)
{
	struct io_uring_sqe *sqe;
	struct io_uring_cqe cqe;
	struct umad_msg got;
	int i;

	reading(self);
	ring_read(&self->server, 1);
	umad_ring_submit(&ring, 1);
	sqe = io_uring_get_sqe(&ring);
	io_uring_prep_cancel64(sqe, 1, 0);
	sqe->user_data = 2;
	umad_ring_submit(&ring, 1);
	for (i = 0; i < 2; i++) {
		ASSERT_TRUE(umad_ring_next(&ring, &cqe, UMAD_SOON_MS));
		EXPECT_EQ(cqe.user_data == 1 ? -ECANCELED : 0, cqe.res);
	}
	umad_send_mads(self, 0, 1);
	umad_read(&self->server, &got);
	EXPECT_EQ(0, (int)be64toh(got.mad.tid));
	EXPECT_TRUE(umad_vector_untouched(&vector, 1, 0));
}

/* Multishot: one request, a completion for each MAD */

struct buffers {
	struct io_uring_buf_ring *ring;
	__u8 buf[BUFFERS][UMAD_HDR_NEW + MAD_SIZE];
};

static struct buffers buffers;

static int buffers_register(void)
{
	struct io_uring_buf_reg reg = {
		.ring_entries = BUFFERS,
		.bgid = GROUP,
	};
	int ret, i;

	buffers.ring = aligned_alloc(sysconf(_SC_PAGESIZE), sysconf(_SC_PAGESIZE));
	if (!buffers.ring)
		return -ENOMEM;
	reg.ring_addr = (uintptr_t)buffers.ring;
	io_uring_buf_ring_init(buffers.ring);
	ret = io_uring_register_buf_ring(&ring, &reg, 0);
	for (i = 0; !ret && i < BUFFERS; i++)
		io_uring_buf_ring_add(buffers.ring, buffers.buf[i], sizeof(buffers.buf[i]), i,
				      io_uring_buf_ring_mask(BUFFERS), i);
	if (!ret)
		io_uring_buf_ring_advance(buffers.ring, BUFFERS);
	return ret;
}

/* Puts the buffer of a completion back */
static void buffers_recycle(const struct io_uring_cqe *cqe)
{
	int i = cqe->flags >> IORING_CQE_BUFFER_SHIFT;

	io_uring_buf_ring_add(buffers.ring, buffers.buf[i], sizeof(buffers.buf[i]), i,
			      io_uring_buf_ring_mask(BUFFERS), 0);
	io_uring_buf_ring_advance(buffers.ring, 1);
}

static bool have_multishot(void)
{
	struct io_uring_probe *probe = io_uring_get_probe_ring(&ring);
	bool have = probe && io_uring_opcode_supported(probe, OP_READ_MULTISHOT);

	io_uring_free_probe(probe);
	return have;
}

static void ring_read_multishot(const struct umad_file *file)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);

	io_uring_prep_rw(OP_READ_MULTISHOT, sqe, file->fd, NULL, 0, 0);
	sqe->flags = IOSQE_BUFFER_SELECT;
	sqe->buf_group = GROUP;
}

/* A completion with a MAD, after which the request goes on */
#define expect_shot(file, want) do {					\
	struct io_uring_cqe __cqe = {};					\
	struct mad __mad;						\
									\
	ASSERT_TRUE(umad_ring_next(&ring, &__cqe, UMAD_SOON_MS))	\
		TH_LOG("no completion");				\
	ASSERT_EQ((int)umad_mad_len(file), __cqe.res);			\
	EXPECT_TRUE(__cqe.flags & IORING_CQE_F_MORE);			\
	ASSERT_TRUE(__cqe.flags & IORING_CQE_F_BUFFER);			\
	memcpy(&__mad,							\
	       buffers.buf[__cqe.flags >> IORING_CQE_BUFFER_SHIFT] +	\
	       (file)->hlen, sizeof(__mad));				\
	EXPECT_EQ((__u32)(want), (__u32)be64toh(__mad.tid));		\
	buffers_recycle(&__cqe);					\
} while (0)

/*
 * A ring that is closed lets go of its files later, and with them of agents that the
 * next test wants to register. So what it still reads has to end before.
 */
#define ring_cancel() do {						\
	struct io_uring_sync_cancel_reg __reg = {			\
		.flags = IORING_ASYNC_CANCEL_ANY,			\
		.timeout = { -1, -1 },					\
	};								\
									\
	/* How many it has found, or 0 */				\
	ASSERT_LE(0, io_uring_register_sync_cancel(&ring, &__reg));	\
	umad_ring_expect(&ring, -ECANCELED, UMAD_SOON_MS);		\
} while (0)

/* So many such requests by the server of a pair; one ends before its buffers do */
#define reading_multishot(self, count) do {				\
	int __i;							\
									\
	if (umad_reference())						\
		SKIP(return, BY_WORKER);				\
	reading(self);							\
	if (!have_multishot())						\
		SKIP(return, "this kernel has no multishot reads");	\
	ASSERT_EQ(0, buffers_register());				\
	for (__i = 0; __i < (count); __i++)				\
		ring_read_multishot(&(self)->server);			\
	umad_ring_submit(&ring, count);					\
} while (0)

/*
 * What is there, and what comes later, more than there are buffers. Each packet wakes all
 * requests, and one gets it. The others wait on, without a worker.
 */
TEST_F(pair, multishots)
{
	struct io_uring_cqe cqe;
	int i;

	umad_queue_mads(self, 0, 3);
	reading_multishot(self, 2);
	for (i = 0; i < MANY; i++) {
		if (i >= 3)
			umad_send_mads(self, i, 1);
		expect_shot(&self->server, i);
	}
	EXPECT_FALSE(umad_ring_next(&ring, &cqe, 0));
	EXPECT_FALSE(have_worker());
	ring_cancel();
	umad_ring_expect(&ring, -ECANCELED, UMAD_SOON_MS);
	free(buffers.ring);
}

/* Without a buffer it is over, and what there is no buffer for waits */
TEST_F(pair, multishot_out_of_buffers)
{
	struct io_uring_cqe cqe;
	struct umad_msg got;
	int i;

	umad_queue_mads(self, 0, BUFFERS + 1);
	reading_multishot(self, 1);
	for (i = 0; i < BUFFERS; i++) {
		ASSERT_TRUE(umad_ring_next(&ring, &cqe, UMAD_SOON_MS));
		EXPECT_EQ((int)umad_mad_len(&self->server), cqe.res);
	}
	ASSERT_TRUE(umad_ring_next(&ring, &cqe, UMAD_SOON_MS));
	EXPECT_EQ(-ENOBUFS, cqe.res);
	EXPECT_FALSE(cqe.flags & IORING_CQE_F_MORE);
	umad_read(&self->server, &got);
	EXPECT_EQ(BUFFERS, (int)be64toh(got.mad.tid));
	free(buffers.ring);
}

/* Writes that have to wait: on RoCE, for the address of the destination */

TEST_F(pair, write_waits)
{
	struct umad_msg msg = umad_request(&self->port, self->cid, MAD_GET, 5, LONG_MS);
	struct umad_tracing tracing;
	struct umad_msg got;
	char text[256];

	ASSERT_EQ(0, umad_tracing_start(&tracing));
	umad_ring(&ring, UMAD_VECTOR);
	umad_vector_put(&vector, 0, &self->client, &msg);
	ring_write(&self->client, 0);
	umad_ring_submit(&ring, 1);
	umad_ring_expect(&ring, (int)umad_mad_len(&self->client), UMAD_SOON_MS);
	/* However often it is tried, it is read when it can be sent */
	EXPECT_EQ(1, umad_tracing_events(&tracing, "ib_umad_write", text, sizeof(text)));
	umad_tracing_stop(&tracing);
	umad_read(&self->server, &got);
	EXPECT_EQ(5, (int)(__u32)be64toh(got.mad.tid));
	/* However often that was tried, it was sent once */
	pair_expect_nothing_sent(self);
	umad_err_write(EINVAL, &self->client, &msg);
}

TEST_F(pair, write_nowait)
{
	struct umad_msg msg = umad_request(&self->port, self->cid, MAD_GET, 5, LONG_MS);
	struct io_uring_cqe cqe;
	struct umad_msg got;

	umad_ring(&ring, UMAD_VECTOR);
	umad_vector_put(&vector, 0, &self->client, &msg);
	ring_write(&self->client, 0)->rw_flags = RWF_NOWAIT;
	umad_ring_submit(&ring, 1);
	ASSERT_TRUE(umad_ring_next(&ring, &cqe, UMAD_SOON_MS));
	EXPECT_FIXED(cqe.res == -EAGAIN, "RWF_NOWAIT is refused");
	EXPECT_FALSE(have_worker());
	pair_expect_nothing_sent(self);
	pair_deliver(self, &msg, &got);
}

/* A simulated InfiniBand device, where writes do not wait, and which can go */

FIXTURE(ib)
{
	struct umad_device device;
	struct umad_file file;
	__u32 id;
};

FIXTURE_SETUP(ib)
{
	umad_ring(&ring, UMAD_VECTOR);
	umad_device(&self->device, UMAD_MADSIM);
	ASSERT_EQ(0, umad_device_up(&self->device));
	self->id = umad_open_agent(&self->device.port, &umad_abi_new,
				   umad_reg_vendor(2, umad_get_set_send), &self->file);
	umad_make_blocking(&self->file);
}

FIXTURE_TEARDOWN(ib)
{
	umad_close(&self->file);
	umad_device_free(&self->device);
}

/* To itself, and no answer comes */
static struct umad_msg ib_request(FIXTURE_DATA(ib) *self, __u32 tid)
{
	return umad_request(&self->device.port, self->id, MAD_GET, tid, LONG_MS);
}

TEST_F(ib, write_many)
{
	int len = umad_mad_len(&self->file), i;
	struct io_uring_cqe cqe;
	struct umad_msg msg;

	for (i = 0; i < UMAD_VECTOR; i++) {
		msg = ib_request(self, i);
		umad_vector_put(&vector, i, &self->file, &msg);
		ring_write(&self->file, i);
	}
	umad_ring_submit(&ring, UMAD_VECTOR);
	for (i = 0; i < UMAD_VECTOR; i++) {
		ASSERT_TRUE(umad_ring_next(&ring, &cqe, umad_reference() ? UMAD_SOON_MS : 0));
		EXPECT_EQ(len, cqe.res);
		if (!umad_reference())
			EXPECT_EQ(i, (int)cqe.user_data);
	}
	EXPECT_FIXED(!have_worker(), BY_WORKER);
	for (i = 0; i < UMAD_VECTOR; i++) {
		umad_read(&self->file, &msg);
		if (!umad_reference())
			EXPECT_EQ(i, (int)(__u32)be64toh(msg.mad.tid));
	}
}

/* io_uring tries it many times before a worker waits for it */
TEST_F(ib, long_write_is_read_once)
{
	struct umad_reg reg = umad_reg_rmpp(2, 0);
	struct umad_tracing tracing;
	__u8 buf[UMAD_HDR_NEW + MAD_VENDOR_HDR + LONG_LEN];
	struct io_uring_sqe *sqe;
	struct umad_msg msg;
	char text[256];
	size_t size;

	umad_register(&self->file, &reg);
	msg = umad_lost_request(&self->device.port, reg.id, MAD_SEND, 9, 0);
	umad_make_active(&msg);
	size = umad_long_pack(&self->file, &msg, LONG_LEN, 3, buf);

	ASSERT_EQ(0, umad_tracing_start(&tracing));
	sqe = io_uring_get_sqe(&ring);
	io_uring_prep_write(sqe, self->file.fd, buf, size, 0);
	umad_ring_submit(&ring, 1);
	umad_ring_expect(&ring, (int)size, UMAD_SOON_MS);
	EXPECT_EQ(1, umad_tracing_events(&tracing, "ib_umad_write", text, sizeof(text)));
	umad_tracing_stop(&tracing);
}

TEST_F(ib, removal)
{
	struct umad_msg msg = ib_request(self, 1);
	bool multishot = !umad_reference() && have_multishot();
	struct io_uring_cqe cqe;
	int i;

	umad_vector_rooms(&vector, &self->file);
	for (i = 0; i < 3; i++)
		ring_read(&self->file, i);
	if (multishot) {
		ASSERT_EQ(0, buffers_register());
		ring_read_multishot(&self->file);
	}
	umad_ring_submit(&ring, 3 + multishot);
	ASSERT_EQ(0, umad_device_remove(&self->device));
	for (i = 0; i < 3 + multishot; i++) {
		ASSERT_TRUE(umad_ring_next(&ring, &cqe, UMAD_SOON_MS));
		EXPECT_EQ(-EIO, cqe.res);
		EXPECT_FALSE(cqe.flags & IORING_CQE_F_MORE);
	}
	EXPECT_TRUE(umad_vector_untouched(&vector, 0, 0));

	/* ... and those that come now */
	ring_read(&self->file, 0);
	umad_vector_put(&vector, 1, &self->file, &msg);
	ring_write(&self->file, 1);
	umad_ring_submit(&ring, 2);
	for (i = 0; i < 2; i++)
		umad_ring_expect(&ring, -EIO, UMAD_SOON_MS);
}

TEST_HARNESS_MAIN
