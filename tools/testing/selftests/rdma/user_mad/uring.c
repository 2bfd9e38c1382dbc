// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * io_uring: a request that needs no waiting is done at once, also on descriptors that
 * block, and a read that has to wait does so without a thread of the kernel's. Registered
 * buffers are memory that the kernel knows by number and holds, and finds page by page.
 *
 * Also on: 6.12, smp
 */
#define PAIR_TWO_VARIANTS
#include <liburing.h>

#include "kselftest_harness.h"
#include "lib/pair.h"
#include "lib/long.h"
#include "lib/subnet.h"
#include "lib/trace.h"
#include "lib/vector.h"

#define LONG_MS		600000
#define LONG_LEN	(3 * 4096 * 8 + 77)
#define GROUP		7	/* of provided buffers */
#define BUFFERS		8
#define MANY		300	/* more than io_uring tries a request */
/* Linux 6.7 has it, not every liburing */
#define OP_READ_MULTISHOT 49

#define BY_WORKER	"a worker of the kernel's does what needs no waiting"

/* A test is a process, with whose end the ring ends */
static struct io_uring ring;
static struct umad_vector vector;

/* SKIP if the kernel has none, or the administrator has turned it off */
#define ring_open() do {						\
	int __ret = io_uring_queue_init(UMAD_VECTOR, &ring, 0);		\
									\
	if (__ret == -EPERM ||						\
	    (__ret && access("/proc/sys/kernel/io_uring_disabled", F_OK))) \
		SKIP(return, "no io_uring in this kernel, or not for us"); \
	ASSERT_EQ(0, __ret);						\
} while (0)

#define ring_submit(count)	ASSERT_EQ(count, io_uring_submit(&ring))

/* The next completion within @ms; false if there is none */
static bool ring_next(struct io_uring_cqe *result, int ms)
{
	struct __kernel_timespec ts = { ms / 1000, ms % 1000 * 1000000L };
	struct io_uring_cqe *cqe;

	if (ms ? io_uring_wait_cqe_timeout(&ring, &cqe, &ts) : io_uring_peek_cqe(&ring, &cqe))
		return false;
	*result = *cqe;
	io_uring_cqe_seen(&ring, cqe);
	return true;
}

#define ring_expect(want) do {						\
	struct io_uring_cqe __cqe = {};					\
									\
	ASSERT_TRUE(ring_next(&__cqe, UMAD_SOON_MS))			\
		TH_LOG("no completion");				\
	EXPECT_EQ(want, __cqe.res);					\
} while (0)

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

/* Reads: the server of a pair, which blocks */

#define reading(self) do {						\
	umad_make_blocking(&(self)->server);				\
	umad_vector_rooms(&vector, &(self)->server);			\
	ring_open();							\
} while (0)

/* As many as there are, in their order, by one system call */
TEST_F(pair, read_many)
{
	int len = umad_mad_len(&self->server), i;
	struct io_uring_cqe cqe;
	struct io_uring_sqe *sqe;

	reading(self);
	umad_queue_mads(self, 0, UMAD_VECTOR);
	for (i = 0; i < UMAD_VECTOR; i++) {
		sqe = io_uring_get_sqe(&ring);
		io_uring_prep_read(sqe, self->server.fd, vector.iov[i].iov_base, len, 0);
		sqe->user_data = i;
	}
	ring_submit(UMAD_VECTOR);
	if (umad_reference()) {
		/* Workers take them in any order */
		for (i = 0; i < UMAD_VECTOR; i++)
			ring_expect(len);
	} else {
		for (i = 0; i < UMAD_VECTOR; i++) {
			ASSERT_TRUE(ring_next(&cqe, 0));
			EXPECT_EQ(i, (int)cqe.user_data);
			EXPECT_EQ(len, cqe.res);
			umad_vector_expect(&vector, i, i);
		}
	}
	EXPECT_FIXED(!have_worker(), BY_WORKER);
}

/* Multishot: one request, a completion for each MAD */

static struct {
	struct io_uring_buf_ring *ring;
	__u8 buf[BUFFERS][UMAD_HDR_NEW + MAD_SIZE];
} buffers;

/* Gives a buffer to the kernel, for the first time or once more */
static void buffers_put(int i)
{
	io_uring_buf_ring_add(buffers.ring, buffers.buf[i], sizeof(buffers.buf[i]), i,
			      io_uring_buf_ring_mask(BUFFERS), 0);
	io_uring_buf_ring_advance(buffers.ring, 1);
}

static int buffers_register(void)
{
	struct io_uring_buf_reg reg = {
		.ring_entries = BUFFERS,
		.bgid = GROUP,
	};
	int i;

	buffers.ring = aligned_alloc(sysconf(_SC_PAGESIZE), sysconf(_SC_PAGESIZE));
	if (!buffers.ring)
		return -ENOMEM;
	reg.ring_addr = (uintptr_t)buffers.ring;
	io_uring_buf_ring_init(buffers.ring);
	for (i = 0; i < BUFFERS; i++)
		buffers_put(i);
	return io_uring_register_buf_ring(&ring, &reg, 0);
}

static bool have_multishot(void)
{
	struct io_uring_probe *probe = io_uring_get_probe_ring(&ring);
	bool have = probe && io_uring_opcode_supported(probe, OP_READ_MULTISHOT);

	io_uring_free_probe(probe);
	return have;
}

/* A completion with a MAD, after which the request goes on */
#define expect_shot(file, want) do {					\
	struct io_uring_cqe __cqe = {};					\
	struct mad __mad;						\
	int __i;							\
									\
	ASSERT_TRUE(ring_next(&__cqe, UMAD_SOON_MS))			\
		TH_LOG("no completion");				\
	ASSERT_EQ((int)umad_mad_len(file), __cqe.res);			\
	EXPECT_TRUE(__cqe.flags & IORING_CQE_F_MORE);			\
	ASSERT_TRUE(__cqe.flags & IORING_CQE_F_BUFFER);			\
	__i = __cqe.flags >> IORING_CQE_BUFFER_SHIFT;			\
	memcpy(&__mad, buffers.buf[__i] + (file)->hlen, sizeof(__mad));	\
	EXPECT_EQ((__u32)(want), (__u32)be64toh(__mad.tid));		\
	buffers_put(__i);						\
} while (0)

/*
 * What is there, and what comes later, more than there are buffers. Each packet wakes all
 * requests, and one gets it. The others wait on, without a worker.
 */
TEST_F(pair, multishots)
{
	struct io_uring_sync_cancel_reg cancel = {
		.flags = IORING_ASYNC_CANCEL_ANY,
		.timeout = { -1, -1 },
	};
	struct io_uring_cqe cqe;
	struct io_uring_sqe *sqe;
	int i;

	if (umad_reference())
		SKIP(return, BY_WORKER);
	umad_queue_mads(self, 0, 3);
	reading(self);
	if (!have_multishot())
		SKIP(return, "this kernel has no multishot reads");
	ASSERT_EQ(0, buffers_register());
	for (i = 0; i < 2; i++) {
		sqe = io_uring_get_sqe(&ring);
		io_uring_prep_rw(OP_READ_MULTISHOT, sqe, self->server.fd, NULL, 0, 0);
		sqe->flags = IOSQE_BUFFER_SELECT;
		sqe->buf_group = GROUP;
	}
	ring_submit(2);
	for (i = 0; i < MANY; i++) {
		if (i >= 3)
			umad_send_mads(self, i, 1);
		expect_shot(&self->server, i);
	}
	EXPECT_FALSE(ring_next(&cqe, 0));
	EXPECT_FALSE(have_worker());

	/*
	 * A ring that is closed lets go of its files later, and with them of agents that the
	 * next test wants to register. So what it still reads has to end before: this returns
	 * how many it has found, or 0.
	 */
	ASSERT_LE(0, io_uring_register_sync_cancel(&ring, &cancel));
	for (i = 0; i < 2; i++)
		ring_expect(-ECANCELED);
	free(buffers.ring);
}

/*
 * Writes that have to wait: however often io_uring tries them before a worker waits, they
 * are read once
 */

#define expect_written_once(file, data, len) do {			\
	struct umad_tracing __tracing;					\
	char __text[256];						\
									\
	ASSERT_EQ(0, umad_tracing_start(&__tracing));			\
	io_uring_prep_write(io_uring_get_sqe(&ring), (file)->fd, data, len, 0); \
	ring_submit(1);							\
	ring_expect((int)(len));					\
	EXPECT_EQ(1, umad_tracing_events(&__tracing, "ib_umad_write",	\
					 __text, sizeof(__text)));	\
	umad_tracing_stop(&__tracing);					\
} while (0)

/* On RoCE, for the address of the destination */
TEST_F(pair, write_waits)
{
	struct umad_msg msg = umad_request(&self->port, self->cid, MAD_GET, 5, LONG_MS), got;
	__u8 buf[UMAD_HDR_NEW + MAD_SIZE];
	size_t size = umad_pack(&self->client, &msg, MAD_SIZE, buf);

	ring_open();
	expect_written_once(&self->client, buf, size);
	umad_read(&self->server, &got);
	EXPECT_EQ(5, (int)(__u32)be64toh(got.mad.tid));
	/* However often that was tried, it was sent once */
	pair_expect_nothing_sent(self);
	umad_err_write(EINVAL, &self->client, &msg);
}

/* Where no address needs to be found out, for the time that a long message takes */
TEST(long_write_is_read_once)
{
	__u8 buf[UMAD_HDR_NEW + MAD_VENDOR_HDR + 3000];
	struct umad_device device;
	struct umad_file file;
	struct umad_msg msg;
	size_t size;
	__u32 id;

	ring_open();
	umad_device(&device, UMAD_MADSIM);
	id = umad_open_agent(&device.port, &umad_abi_new, umad_reg_rmpp(2, 0), &file);
	umad_make_blocking(&file);
	msg = umad_lost_request(&device.port, id, MAD_SEND, 9, 0);
	msg.hdr.lid = htobe16(LID_UNUSED);
	msg.hdr.grh_present = 0;
	umad_make_active(&msg);
	size = umad_long_pack(&file, &msg, 3000, 3, buf);
	expect_written_once(&file, buf, size);
	umad_close(&file);
	umad_device_free(&device);
}

/* READ_FIXED and WRITE_FIXED: one packet a request */

static struct {
	__u8 *mem;		/* one registered buffer */
	size_t size;
} fixed;

/* The result of a request for @len bytes at offset @at of the buffer */
#define fixed_call(which, file, at, len) ({				\
	struct io_uring_cqe __cqe = {};					\
									\
	ASSERT_GE(fixed.size, (at) + (len));				\
	io_uring_prep_##which##_fixed(io_uring_get_sqe(&ring), (file)->fd, \
				      fixed.mem + (at), len, 0, 0);	\
	ring_submit(1);							\
	ASSERT_TRUE(ring_next(&__cqe, 2 * UMAD_SOON_MS))		\
		TH_LOG("no completion");				\
	__cqe.res;							\
})

/* How much was written to that is not of @len bytes at @at, since the last time */
static size_t fixed_touched(size_t at, size_t len)
{
	size_t i, count = 0;

	for (i = 0; i < fixed.size; i++)
		if (i < at || i >= at + len)
			count += fixed.mem[i] != UMAD_UNTOUCHED;
	memset(fixed.mem, UMAD_UNTOUCHED, fixed.size);
	return count;
}

/*
 * At each place a MAD, a message of two segments and one of many, whose pages end within a
 * segment and a header
 */
TEST_F_TIMEOUT(pair, fixed, UMAD_HANGS)
{
	const size_t hlen = self->server.hlen, first = hlen + MAD_SIZE;
	const size_t lens[] = { MAD_SIZE - MAD_VENDOR_HDR, 400, LONG_LEN };
	const size_t page = sysconf(_SC_PAGESIZE);
	/* Buffers begin at a page, within one, and so that header or MAD are cut */
	const size_t places[] = {
		0, 1, 100, page - 1, page - 7, page - hlen, page - hlen - 1, page - hlen - 24,
		page - hlen - 36, page - hlen - MAD_SIZE, 2 * page - hlen - 255,
	};
	struct ib_user_mad_hdr hdr;
	struct umad_long msg;
	struct umad_msg head;
	size_t size, i, at, len;
	struct iovec iov;

	ring_open();
	fixed.size = 2 * LONG_LEN + 16 * page;
	fixed.mem = mmap(NULL, fixed.size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, fixed.mem);
	memset(fixed.mem, UMAD_UNTOUCHED, fixed.size);
	iov = (struct iovec){ fixed.mem, fixed.size };
	ASSERT_EQ(0, io_uring_register_buffers(&ring, &iov, 1));
	umad_long_alloc(&msg, LONG_LEN + 4096);
	pair_rmpp(self, MAD_SEND);
	for (i = 0; i < ARRAY_SIZE(places) * ARRAY_SIZE(lens); i++) {
		at = places[i / ARRAY_SIZE(lens)];
		len = lens[i % ARRAY_SIZE(lens)];
		head = umad_long_head(&self->port, self->cid, MAD_SEND, i);
		if (len == lens[0])
			head.mad.rmpp_flags = 0;
		size = umad_long_pack(&self->client, &head, len, i, fixed.mem + at);
		ASSERT_EQ((int)size, fixed_call(write, &self->client, at, size));
		ASSERT_TRUE(umad_readable(&self->server, UMAD_LONG_MS));
		EXPECT_EQ(0, fixed_touched(at, size));

		/* Too small for a segment; then for the message, by much and by little */
		EXPECT_EQ(-EINVAL, fixed_call(read, &self->server, at, first - 1));
		EXPECT_EQ(0, fixed_touched(0, 0));
		if (len > lens[0]) {
			EXPECT_EQ(-ENOSPC, fixed_call(read, &self->server, at, first));
			memcpy(&hdr, fixed.mem + at, hlen);
			EXPECT_EQ(size, hdr.length);
			EXPECT_EQ(0, fixed_touched(at, first));
			EXPECT_EQ(-ENOSPC, fixed_call(read, &self->server, at, size - 1));
			EXPECT_EQ(0, fixed_touched(at, first));
		}

		/* With room for more than there is */
		ASSERT_EQ((int)size, fixed_call(read, &self->server, at, size + 50));
		memcpy(msg.in, fixed.mem + at, size);
		umad_long_expect(&self->server, self->sid, &head, len, i, &msg, (ssize_t)size);
		EXPECT_EQ(0, fixed_touched(at, size));
	}
	umad_expect_empty(&self->server);
	umad_long_free(&msg);
}

TEST_HARNESS_MAIN
