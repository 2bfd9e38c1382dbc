// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The cost of an exchange of MADs, and of the system calls in it.
 *
 *	umad_bench SAMPLES FIGURE
 *
 * runs on a simulated fabric that a subnet manager has brought up, and prints what
 * bench.h tells. Nothing that is measured may wait for time to pass.
 */
#define _GNU_SOURCE

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/uio.h>

#include <liburing.h>

#include "agent.h"

static void bench_roundtrip(void)
{
	static const char * const names[EXCHANGES][2] = {
		{ "roundtrip.dr0", "write.dr0" }, { "roundtrip.dr1", "write.dr1" },
		{ "roundtrip.lid", "write.lid" }, { "roundtrip.ping", "write.ping" },
	};
	struct agent smi = new_agent(0, 0, 0, 0);
	struct agent gsi = new_agent(0, 1, 0, 0);
	struct agent server = new_agent(1, 1, CLASS_VENDOR, 0);
	enum exchange what;
	int write_only;

	for (what = DR0; what < EXCHANGES; what++)
		for (write_only = 0; write_only < 2; write_only++)
			exchanges(names[what][write_only], 1, what == PING ? &gsi : &smi,
				  what, what == PING ? &server : NULL, write_only);
}

static void bench_outstanding(void)
{
	static const unsigned int others[] = { 0, 15, 255, 1023, 4095, 16383 };
	struct agent agent = new_agent(0, 1, 0, 0);
	uint64_t start;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(others) && others[i] < most; i++) {
		hold(&agent, others[i]);
		exchanges("outstanding", others[i] + 1, &agent, PERF, NULL, false);
		exchanges("outstanding.write", others[i] + 1, &agent, PERF, NULL, true);
	}
	start = now();
	close(agent.fd);
	tell("close", others[i - 1], now() - start);
}

static bool readable(int fd)
{
	struct pollfd pollfd = { .fd = fd, .events = POLLIN };

	return poll(&pollfd, 1, 0) == 1 && pollfd.revents & POLLIN;
}

static struct umad received;

static bool read_mad(int fd)
{
	return read(fd, &received, sizeof(received)) == sizeof(received) && !received.hdr.status;
}

static bool read_timeout(int fd)
{
	return read(fd, &received, sizeof(received)) > 0 && received.hdr.status == ETIMEDOUT;
}

static bool read_nothing(int fd)
{
	return !read(fd, &received, sizeof(received));
}

/* A system call, which tells whether it did what is expected */
static void repeat(const char *figure, bool (*call)(int fd), int fd)
{
	uint64_t least = NO_SAMPLE;
	unsigned int i;

	for (i = 0; i < samples; i++) {
		uint64_t start = now();

		if (!call(fd))
			err(1, "%s", figure);
		lower(&least, now() - start);
	}
	tell(figure, 1, least);
}

/*
 * System calls on a queue that has something for all of them, and where a driver does
 * next to nothing
 */
static void bench_queued(void)
{
	struct agent agent = new_agent(0, 0, 0, 0);
	unsigned int i;

	for (i = 0; i < samples; i++)
		send_umad(&agent, request(&agent, DR0, 0));
	settle(100);
	repeat("poll.eventfd", readable, eventfd(1, EFD_CLOEXEC));
	repeat("poll", readable, agent.fd);
	/*
	 * The first read() of a MAD is the least, as it has none to free. The loader that
	 * looks up read(), or a page fault, would hide that.
	 */
	repeat("read.null", read_nothing, open("/dev/null", O_RDWR | O_CLOEXEC));
	memset(&received, 1, sizeof(received));
	repeat("read", read_mad, agent.fd);

	/* Some at a time: 64 fit into the send queue, others wait for it */
	for (i = 0; i < samples; i++) {
		struct umad *lost = request(&agent, LID, ABSENT_LID);

		lost->hdr.timeout_ms = 10;
		send_umad(&agent, lost);
	}
	settle(1000);
	repeat("read.timeout", read_timeout, agent.fd);
}

#define BATCH	64

/* Many MADs by one system call; what is told is the cost of one of them */

static struct umad batch[BATCH];
static struct iovec batch_iov[BATCH];
static struct io_uring ring;

/* As many responses as requests are queued afterwards */
static void batch_requests(struct agent *agent, enum exchange what)
{
	unsigned int i;

	for (i = 0; i < BATCH; i++) {
		batch[i] = *request(agent, what, peer_lid);
		batch_iov[i] = (struct iovec){ &batch[i], sizeof(batch[i]) };
	}
}

static void by_vector(int fd, bool write)
{
	if ((write ? writev : readv)(fd, batch_iov, BATCH) != sizeof(batch))
		err(1, "%s", write ? "writev" : "readv");
}

static void by_ring(int fd, bool write)
{
	struct io_uring_sqe *sqe;
	struct io_uring_cqe *cqe;
	unsigned int i, head;

	for (i = 0; i < BATCH; i++) {
		sqe = io_uring_get_sqe(&ring);
		if (write)
			io_uring_prep_write(sqe, fd, &batch[i], sizeof(batch[i]), 0);
		else
			io_uring_prep_read(sqe, fd, &batch[i], sizeof(batch[i]), 0);
	}
	if (io_uring_submit_and_wait(&ring, BATCH) != BATCH)
		errx(1, "io_uring_enter");
	io_uring_for_each_cqe(&ring, head, cqe)
		if (cqe->res != sizeof(batch[0]))
			errx(1, "io_uring: %s", strerror(-cqe->res));
	io_uring_cq_advance(&ring, BATCH);
}

static const struct {
	const char *read_figure, *write_figure;
	void (*move)(int fd, bool write);
} batches[] = {
	{ "read.vector", "write.vector", by_vector },
	{ "read.uring", "write.uring", by_ring },
};

static void bench_batch(void)
{
	struct agent smi = new_agent(0, 0, 0, 0);
	struct agent gsi = new_agent(0, 1, 0, 0);
	unsigned int i, k;

	if (io_uring_queue_init(BATCH, &ring, 0))
		errx(1, "no io_uring");
	for (i = 0; i < ARRAY_SIZE(batches); i++) {
		uint64_t least = NO_SAMPLE, start;

		for (k = 0; k < samples / 4; k++) {
			batch_requests(&smi, DR0);
			by_vector(smi.fd, true);
			settle(10);
			start = now();
			batches[i].move(smi.fd, false);
			lower(&least, (now() - start) / BATCH);
		}
		tell(batches[i].read_figure, BATCH, least);

		least = NO_SAMPLE;
		run_as(SCHED_FIFO);
		for (k = 0; k < samples / 4; k++) {
			batch_requests(&gsi, PERF);
			start = now();
			batches[i].move(gsi.fd, true);
			lower(&least, (now() - start) / BATCH);
			settle(10);
			by_vector(gsi.fd, false);
		}
		run_as(SCHED_OTHER);
		tell(batches[i].write_figure, BATCH, least);
	}
}

static void bench_memory(void)
{
	enum { COUNT = 16384 };
	struct agent agent = new_agent(0, 1, 0, 0);
	unsigned long before;
	unsigned int i;

	before = slab();
	hold(&agent, COUNT);
	tell("memory.outstanding", COUNT, (slab() - before) * 1024 / COUNT);
	close(agent.fd);

	agent = new_agent(0, 0, 0, 0);
	before = slab();
	for (i = 0; i < COUNT; i++) {
		send_umad(&agent, request(&agent, DR0, 0));
		if (i % 64 == 0)
			settle(1);
	}
	tell("memory.unread", COUNT, (slab() - before) * 1024 / COUNT);
}

#define RMPP_MAX	(1024 * 1024)

/* A message to the peer, as long as X; the kernel cuts and assembles it */
static void bench_rmpp(void)
{
	static const unsigned int lengths[] = {
		216, 1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, RMPP_MAX
	};
	struct agent client = new_agent(0, 1, 0, 1);
	struct agent server = new_agent(1, 1, CLASS_VENDOR_RMPP, 1);
	struct umad *out, *in;
	unsigned int i, k;

	out = calloc(1, MESSAGE_HEAD + RMPP_MAX);
	in = malloc(MESSAGE_HEAD + RMPP_MAX);
	if (!out || !in)
		err(1, "malloc");
	memset(in, 1, MESSAGE_HEAD + RMPP_MAX);

	for (i = 0; i < ARRAY_SIZE(lengths) && lengths[i] <= most; i++) {
		uint64_t least = NO_SAMPLE, least_read = NO_SAMPLE;
		const ssize_t size = MESSAGE_HEAD + lengths[i];

		for (k = 0; k < samples / 8; k++) {
			struct pollfd pollfd = { server.fd, POLLIN, 0 };
			uint64_t start, read_start;

			message_head(out, &client);
			((uint8_t *)out)[size - 1] = k + 1;

			start = now();
			if (write(client.fd, out, size) < 0)
				err(1, "write");
			if (poll(&pollfd, 1, 30000) != 1)
				errx(1, "no message");
			read_start = now();
			if (read(server.fd, in, size) != size)
				err(1, "read");
			lower(&least, now() - start);
			lower(&least_read, now() - read_start);
			if (memcmp((uint8_t *)in + MESSAGE_HEAD, (uint8_t *)out + MESSAGE_HEAD,
				   lengths[i]))
				errx(1, "a message came out different");
			/*
			 * The last acknowledgment is on its way back. The MAD layer keeps what
			 * it has of a message for ten seconds, and searches it for each segment
			 */
			settle(10100);
		}
		tell("rmpp", lengths[i], least);
		tell("rmpp.read", lengths[i], least_read);
	}
}

/* kernel/cost.c has what umad did meanwhile for the MAD layer */
static void bench_handler(void)
{
	struct agent agent = new_agent(0, 0, 0, 0);
	unsigned int i;

	for (i = 0; i < samples; i++)
		exchange(&agent, LID, NULL, false);
}

/*
 * What a program does at its start and end, each time with a fresh descriptor. The first
 * rounds are cheaper, and only open() has these.
 */
static void bench_calls(void)
{
	static const char * const calls[] = {
		"calls.open", "calls.register", "calls.unregister", "calls.close",
	};
	uint64_t at[ARRAY_SIZE(calls) + 1];
	unsigned int call, i;
	struct agent agent;

	for (call = 0; call < ARRAY_SIZE(calls); call++) {
		uint64_t least = NO_SAMPLE;

		for (i = 0; i < samples; i++) {
			at[0] = now();
			agent.fd = open_port(0);
			at[1] = now();
			agent = register_on(agent.fd, 1, CLASS_VENDOR, 0);
			at[2] = now();
			if (ioctl(agent.fd, IB_USER_MAD_UNREGISTER_AGENT, &agent.id))
				err(1, "IB_USER_MAD_UNREGISTER_AGENT");
			at[3] = now();
			close(agent.fd);
			at[4] = now();
			lower(&least, at[call + 1] - at[call]);
		}
		tell(calls[call], 1, least);
	}
}

static struct agent readers_agent;

static void *reader(void *switches)
{
	struct umad umad;

	/* A MAD with an attribute of its own ends this */
	do {
		receive_umad(&readers_agent, &umad);
	} while (umad.mad.attr_id == htobe16(SMP_NODE_INFO));
	*(long *)switches = sleeps();
	return NULL;
}

/* Times that readers of one descriptor go to sleep, in hundredths a MAD */
static void bench_readers(void)
{
	static const unsigned int counts[] = { 1, 2, 4, 8, 16 };
	pthread_t threads[16];
	long switches[16], sum;
	unsigned int i, k;
	struct umad *umad;

	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		readers_agent = new_agent(0, 0, 0, 0);
		for (k = 0; k < counts[i]; k++)
			if (pthread_create(&threads[k], NULL, reader, &switches[k]))
				errx(1, "no thread");
		/* The last ones end the readers */
		for (k = 0; k < samples + counts[i]; k++) {
			settle(1);
			umad = request(&readers_agent, DR0, 0);
			if (k >= samples)
				umad->mad.attr_id = htobe16(SMP_NODE_DESC);
			send_umad(&readers_agent, umad);
		}
		for (k = 0, sum = 0; k < counts[i]; k++) {
			pthread_join(threads[k], NULL);
			sum += switches[k];
		}
		tell("readers", counts[i], sum * 100 / (samples + counts[i]));
		close(readers_agent.fd);
	}
}

/* few is the beginning of outstanding, in a tenth of the time, short that of rmpp */
static const struct figure figures[] = {
	{ "roundtrip", bench_roundtrip, 0 },
	{ "outstanding", bench_outstanding, 16384 },
	{ "few", bench_outstanding, 1024 },
	{ "queued", bench_queued, 0 },
	{ "batch", bench_batch, 0 },
	{ "memory", bench_memory, 0 },
	{ "rmpp", bench_rmpp, RMPP_MAX },
	{ "short", bench_rmpp, 1 << 14 },
	{ "handler", bench_handler, 0 },
	{ "calls", bench_calls, 0 },
	{ "readers", bench_readers, 0 },
};

int main(int argc, char **argv)
{
	run_figure(figures, ARRAY_SIZE(figures), argc, argv);
	return 0;
}
