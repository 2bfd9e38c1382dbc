// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What an exchange of MADs and the system calls it consists of cost.
 *
 *	umad_bench [-n SAMPLES] FIGURE ...
 *
 * runs on a simulated fabric that a subnet manager has brought up, and prints
 * "FIGURE X LEAST MEDIAN" a line. The unit is that of the time stamp counter:
 * instructions, on a machine whose counter counts them (scripts/guest/run
 * --icount). Nothing that is measured may wait for time to pass.
 *
 * kernel/umad_baseline.c does the same without umad.
 */
#define _GNU_SOURCE

#include <assert.h>
#include <endian.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#include <liburing.h>
#include <rdma/ib_user_mad.h>

#include "../selftests/rdma/user_mad/lib/mad.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* Nobody has it, so a switch discards what is sent there */
#define ABSENT_LID	0xbfff

#define CLASS_VENDOR	0x32
#define CLASS_VENDOR_RMPP 0x33

#define ATTR_CLASS_PORT_INFO 0x01
#define TIMEOUT_MS	(3600 * 1000)
#define MAX_SAMPLES	4096
#define BATCH		64
#define RMPP_MAX	(1024 * 1024)
#define VENDOR_OUI	0x001405

struct umad {
	struct ib_user_mad_hdr	hdr;
	struct mad		mad;
};

struct agent {
	int		fd;
	uint32_t	id;
	uint32_t	tid;
	uint32_t	held;	/* requests outstanding for good */
};

enum exchange { DR0, DR1, LID, PING, EXCHANGES, PERF = EXCHANGES };

static const char * const exchange_names[] = { "dr0", "dr1", "lid", "ping", "perf" };

static unsigned int samples_wanted = 256;
static uint64_t samples[MAX_SAMPLES];
static unsigned int nsamples;
static uint16_t peer_lid;

static uint64_t now(void)
{
	return __rdtsc();
}

static void sample(uint64_t cost)
{
	if (nsamples == MAX_SAMPLES)
		errx(1, "more than %d samples", MAX_SAMPLES);
	samples[nsamples++] = cost;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void tell(const char *figure, unsigned int x)
{
	if (!nsamples)
		errx(1, "%s: no samples", figure);
	qsort(samples, nsamples, sizeof(*samples), compare);
	printf("%s %u %llu %llu\n", figure, x, (unsigned long long)samples[0],
	       (unsigned long long)samples[nsamples / 2]);
	fflush(stdout);
	nsamples = 0;
}

/* What is left to a worker shall be done, and may take its time */
static void settle(unsigned int ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000L };

	nanosleep(&ts, NULL);
}

static int open_port(unsigned int n)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/dev/infiniband/umad%u", n);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		err(1, "%s", path);
	return fd;
}

static struct agent register_on(int fd, int qpn, int class, int rmpp_version)
{
	struct ib_user_mad_reg_req2 req = {
		.qpn = qpn,
		.mgmt_class = class,
		.mgmt_class_version = class ? 1 : 0,
		.oui = class ? VENDOR_OUI : 0,
		.rmpp_version = rmpp_version,
	};
	struct agent agent = { .fd = fd };

	if (class)
		req.method_mask[0] = 1 << MAD_GET | 1 << MAD_SEND;
	if (ioctl(fd, IB_USER_MAD_REGISTER_AGENT2, &req))
		err(1, "IB_USER_MAD_REGISTER_AGENT2");
	agent.id = req.id;
	return agent;
}

static struct agent new_agent(unsigned int port, int qpn, int class,
			      int rmpp_version)
{
	return register_on(open_port(port), qpn, class, rmpp_version);
}

static uint16_t read_lid(const char *device)
{
	char path[128];
	unsigned int lid;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/1/lid",
		 device);
	f = fopen(path, "r");
	if (!f || fscanf(f, "%x", &lid) != 1 || !lid || lid >= ABSENT_LID)
		errx(1, "%s: no LID; is there a subnet manager?", path);
	fclose(f);
	return lid;
}

static struct umad *request(struct agent *agent, enum exchange what,
			    uint16_t lid)
{
	static __thread struct umad umad;
	struct mad *mad = &umad.mad;
	struct umad_smp *smp = (struct umad_smp *)mad;

	memset(&umad, 0, sizeof(umad));
	umad.hdr.id = agent->id;
	umad.hdr.timeout_ms = TIMEOUT_MS;
	umad.hdr.lid = htobe16(what < LID ? LID_PERMISSIVE : lid);
	mad->base_version = 1;
	mad->class_version = 1;
	mad->method = MAD_GET;
	mad->attr_id = htobe16(SMP_NODE_INFO);
	mad->tid = htobe64(++agent->tid);
	switch (what) {
	case DR0:
	case DR1:
		smp->hop_cnt = what == DR1;
		smp->initial_path[1] = what == DR1;
		mad->mgmt_class = MAD_CLASS_SM_DIRECTED;
		smp->dr_slid = htobe16(LID_PERMISSIVE);
		smp->dr_dlid = htobe16(LID_PERMISSIVE);
		break;
	case LID:
		mad->mgmt_class = MAD_CLASS_SM_LID;
		break;
	case PERF:
		umad.hdr.qpn = htobe32(1);
		mad->mgmt_class = MAD_CLASS_PERF;
		mad->attr_id = htobe16(ATTR_CLASS_PORT_INFO);
		break;
	default:
		umad.hdr.qpn = htobe32(1);
		mad->mgmt_class = CLASS_VENDOR;
		mad->oui[1] = VENDOR_OUI >> 8;
		mad->oui[2] = VENDOR_OUI & 0xff;
		memcpy(mad->data, "ping", 4);
	}
	return &umad;
}

static void send_umad(const struct agent *agent, const struct umad *umad)
{
	if (write(agent->fd, umad, sizeof(*umad)) != sizeof(*umad))
		err(1, "write");
}

static void receive_umad(const struct agent *agent, struct umad *umad)
{
	ssize_t ret = read(agent->fd, umad, sizeof(*umad));

	if (ret != sizeof(*umad))
		err(1, "read returned %zd", ret);
	if (umad->hdr.status)
		errx(1, "no answer: status %u", umad->hdr.status);
}

/*
 * A worker that write() wakes may run before write() returns. Not so while we are
 * SCHED_FIFO; then nothing but write() is in the span of it.
 *
 * While we are SCHED_IDLE the worker always goes first, as if it had a processor of
 * its own. Otherwise it depends on the time that each of us has had before, which
 * differs from boot to boot. Among the groups of autogroup it does so for SCHED_IDLE,
 * too, so that has to be off.
 */
static void run_as(int policy)
{
	struct sched_param param = { .sched_priority = policy == SCHED_FIFO };

	if (sched_setscheduler(0, policy, &param))
		err(1, "sched_setscheduler");
}

static long sleeps(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw;
}

/* Returns the cost of all of it, or that of the first write() */
static uint64_t exchange(struct agent *agent, enum exchange what,
			 struct agent *server, bool write_only)
{
	struct umad *umad = request(agent, what, peer_lid);
	static __thread struct umad answer;
	uint64_t start, end;

	start = now();
	send_umad(agent, umad);
	end = now();
	if (server) {
		receive_umad(server, &answer);
		answer.mad.method |= MAD_RESP;
		answer.hdr.timeout_ms = 0;
		send_umad(server, &answer);
	}
	receive_umad(agent, &answer);
	if (!write_only)
		end = now();
	if ((uint32_t)be64toh(answer.mad.tid) != (uint32_t)be64toh(umad->mad.tid) ||
	    !(answer.mad.method & MAD_RESP) ||
	    answer.mad.status & htobe16(0x7fff))
		errx(1, "%s: a wrong answer", exchange_names[what]);
	return end - start;
}

/* To sleep and be woken costs a quarter more, so there are none that did */
static void exchanges(const char *figure, unsigned int x, struct agent *agent,
		      enum exchange what, struct agent *server)
{
	unsigned int i;

	run_as(SCHED_IDLE);
	for (i = 0; i < samples_wanted; i++) {
		uint64_t cost;
		long before;

		if (i % 16 == 0)
			settle(20);
		before = sleeps();
		cost = exchange(agent, what, server, false);
		if (sleeps() == before)
			sample(cost);
	}
	run_as(SCHED_OTHER);
	if (!nsamples)
		errx(1, "%s %u: slept each time; is autogroup on?", figure, x);
	tell(figure, x);
}

/*
 * The response wakes us before the worker is done with the request. What the next
 * write() costs depends on how far it has come, so it may finish first.
 */
static void writes(const char *figure, unsigned int x, struct agent *agent,
		   enum exchange what, struct agent *server)
{
	unsigned int i;

	run_as(SCHED_FIFO);
	for (i = 0; i < samples_wanted; i++) {
		sample(exchange(agent, what, server, true));
		settle(1);
	}
	run_as(SCHED_OTHER);
	tell(figure, x);
}

static void bench_roundtrip(void)
{
	struct agent smi = new_agent(0, 0, 0, 0);
	struct agent gsi = new_agent(0, 1, 0, 0);
	struct agent server = new_agent(1, 1, CLASS_VENDOR, 0);
	enum exchange what;

	for (what = DR0; what < EXCHANGES; what++) {
		struct agent *client = what == PING ? &gsi : &smi;
		struct agent *other = what == PING ? &server : NULL;
		char figure[32];

		snprintf(figure, sizeof(figure), "roundtrip.%s",
			 exchange_names[what]);
		exchanges(figure, 1, client, what, other);
		snprintf(figure, sizeof(figure), "write.%s",
			 exchange_names[what]);
		writes(figure, 1, client, what, other);
	}
	close(server.fd);
	close(gsi.fd);
	close(smi.fd);
}

static uint64_t device_cost(void)
{
	static const char path[] = "/sys/kernel/debug/madsim_cost";
	char text[32] = "";
	int fd = open(path, O_RDONLY);

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		err(1, "%s", path);
	close(fd);
	return strtoull(text, NULL, 0);
}

/* What the simulated devices take of a round trip */
static void bench_device(void)
{
	struct agent smi = new_agent(0, 0, 0, 0);
	struct agent gsi = new_agent(0, 1, 0, 0);
	struct agent server = new_agent(1, 1, CLASS_VENDOR, 0);
	enum exchange what;
	char figure[32];
	unsigned int i;

	for (what = DR0; what < EXCHANGES; what++) {
		for (i = 0; i < samples_wanted; i++) {
			uint64_t before = device_cost();

			if (what == PING)
				exchange(&gsi, what, &server, false);
			else
				exchange(&smi, what, NULL, false);
			/* Also of what is left to be done */
			settle(1);
			sample(device_cost() - before);
		}
		snprintf(figure, sizeof(figure), "device.%s",
			 exchange_names[what]);
		tell(figure, 1);
	}
	close(server.fd);
	close(gsi.fd);
	close(smi.fd);
}

/*
 * Of a class whose requests the MAD layer does not hold back: of others, Linux 7.x
 * has 128 of an agent on the wire, and the rest waits.
 */
static void hold(struct agent *agent, unsigned int count)
{
	while (agent->held < count) {
		send_umad(agent, request(agent, PERF, ABSENT_LID));
		/* The send queue wants to drain */
		if (++agent->held % 64 == 0)
			settle(1);
	}
	settle(200);
}

static void bench_up_to(unsigned int most)
{
	static const unsigned int others[] = { 0, 15, 255, 1023, 4095, 16383 };
	struct agent agent = new_agent(0, 1, 0, 0);
	uint64_t start;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(others) && others[i] < most; i++) {
		hold(&agent, others[i]);
		exchanges("outstanding", others[i] + 1, &agent, PERF, NULL);
		writes("outstanding.write", others[i] + 1, &agent, PERF, NULL);
	}
	start = now();
	close(agent.fd);
	sample(now() - start);
	tell("close", others[i - 1]);
}

static void bench_outstanding(void)
{
	bench_up_to(16384);
}

/* The beginning of that, which takes a tenth of the time */
static void bench_few(void)
{
	bench_up_to(1024);
}

static bool readable(int fd)
{
	struct pollfd pollfd = { .fd = fd, .events = POLLIN };
	int ret = poll(&pollfd, 1, 0);

	if (ret < 0)
		err(1, "poll");
	return ret && pollfd.revents & POLLIN;
}

/* What the system calls cost where a driver does next to nothing */
static void system_calls(void)
{
	int event = eventfd(1, EFD_CLOEXEC);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	static struct umad umad;
	uint64_t start;
	unsigned int i;

	if (event < 0 || null < 0)
		err(1, "eventfd, /dev/null");
	for (i = 0; i < samples_wanted; i++) {
		start = now();
		if (!readable(event))
			errx(1, "an eventfd that is not ready");
		sample(now() - start);
	}
	tell("poll.eventfd", 1);
	for (i = 0; i < samples_wanted; i++) {
		start = now();
		if (read(null, &umad, sizeof(umad)))
			errx(1, "/dev/null had something");
		sample(now() - start);
	}
	tell("read.null", 1);
	close(null);
	close(event);
}

/* System calls on a queue that has something for all of them */
static void bench_queued(void)
{
	struct agent agent = new_agent(0, 0, 0, 0);
	static struct umad umad;
	uint64_t start;
	unsigned int i;

	for (i = 0; i < samples_wanted; i++)
		send_umad(&agent, request(&agent, DR0, 0));
	settle(100);

	for (i = 0; i < samples_wanted; i++) {
		start = now();
		if (!readable(agent.fd))
			errx(1, "nothing to read");
		sample(now() - start);
	}
	tell("poll", 1);
	for (i = 0; i < samples_wanted; i++) {
		start = now();
		receive_umad(&agent, &umad);
		sample(now() - start);
	}
	tell("read", 1);
	system_calls();

	/* Some at a time: 64 fit into the send queue, others wait for it */
	for (i = 0; i < samples_wanted; i++) {
		struct umad *lost = request(&agent, LID, ABSENT_LID);

		lost->hdr.timeout_ms = 10;
		send_umad(&agent, lost);
	}
	settle(1000);
	for (i = 0; i < samples_wanted; i++) {
		ssize_t ret;

		start = now();
		ret = read(agent.fd, &umad, sizeof(umad));
		sample(now() - start);
		if (ret < 0 || umad.hdr.status != ETIMEDOUT)
			errx(1, "no timeout record");
	}
	tell("read.timeout", 1);
	close(agent.fd);
}

/* Many MADs by one system call; what is told is the cost of one of them */

static struct umad batch[BATCH];
static struct iovec batch_iov[BATCH];

/* As many responses as requests are queued afterwards */
static void batch_requests(struct agent *agent, enum exchange what)
{
	unsigned int i;

	for (i = 0; i < BATCH; i++) {
		batch[i] = *request(agent, what, peer_lid);
		batch_iov[i] = (struct iovec){ &batch[i], sizeof(batch[i]) };
	}
}

static void batch_write(const struct agent *agent)
{
	if (writev(agent->fd, batch_iov, BATCH) != sizeof(batch))
		err(1, "writev");
}

static void batch_read(const struct agent *agent)
{
	if (readv(agent->fd, batch_iov, BATCH) != sizeof(batch))
		err(1, "readv");
}

static struct io_uring ring;

/* Each of them has to return @res */
static void ring_submit(int fd, bool write, int res)
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
		if (cqe->res != res)
			errx(1, "io_uring: %s", strerror(-cqe->res));
	io_uring_cq_advance(&ring, BATCH);
}

static void ring_write(const struct agent *agent)
{
	ring_submit(agent->fd, true, sizeof(batch[0]));
}

static void ring_read(const struct agent *agent)
{
	ring_submit(agent->fd, false, sizeof(batch[0]));
}

static const struct {
	const char *name;
	void (*write)(const struct agent *agent);
	void (*read)(const struct agent *agent);
} batches[] = {
	{ "vector", batch_write, batch_read },
	{ "uring", ring_write, ring_read },
};

static void bench_batch(void)
{
	struct agent smi = new_agent(0, 0, 0, 0);
	struct agent gsi = new_agent(0, 1, 0, 0);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	char figure[32];
	unsigned int i, k;
	uint64_t start;

	if (null < 0)
		err(1, "/dev/null");
	if (io_uring_queue_init(BATCH, &ring, 0))
		errx(1, "no io_uring");
	for (i = 0; i < ARRAY_SIZE(batches); i++) {
		for (k = 0; k < samples_wanted / 4; k++) {
			batch_requests(&smi, DR0);
			batch_write(&smi);
			settle(10);
			start = now();
			batches[i].read(&smi);
			sample((now() - start) / BATCH);
		}
		snprintf(figure, sizeof(figure), "read.%s", batches[i].name);
		tell(figure, BATCH);

		run_as(SCHED_FIFO);
		for (k = 0; k < samples_wanted / 4; k++) {
			batch_requests(&gsi, PERF);
			start = now();
			batches[i].write(&gsi);
			sample((now() - start) / BATCH);
			settle(10);
			batch_read(&gsi);
		}
		run_as(SCHED_OTHER);
		snprintf(figure, sizeof(figure), "write.%s", batches[i].name);
		tell(figure, BATCH);
	}
	for (i = 0; i < samples_wanted; i++) {
		start = now();
		ring_submit(null, false, 0);
		sample((now() - start) / BATCH);
	}
	tell("read.uring.null", BATCH);
	io_uring_queue_exit(&ring);
	close(null);
	close(gsi.fd);
	close(smi.fd);
}

/* kB of slab memory */
static unsigned long slab(void)
{
	unsigned long kb;
	char line[128];
	FILE *f;

	settle(500);
	f = fopen("/proc/meminfo", "r");
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "Slab: %lu kB", &kb) == 1) {
			fclose(f);
			return kb;
		}
	}
	errx(1, "/proc/meminfo: no Slab");
}

static void bench_memory(void)
{
	enum { COUNT = 16384 };
	struct agent agent = new_agent(0, 1, 0, 0);
	unsigned long before;
	unsigned int i;

	before = slab();
	hold(&agent, COUNT);
	sample((slab() - before) * 1024 / COUNT);
	tell("memory.outstanding", COUNT);
	close(agent.fd);

	agent = new_agent(0, 0, 0, 0);
	before = slab();
	for (i = 0; i < COUNT; i++) {
		send_umad(&agent, request(&agent, DR0, 0));
		if (i % 64 == 0)
			settle(1);
	}
	sample((slab() - before) * 1024 / COUNT);
	tell("memory.unread", COUNT);
	close(agent.fd);
}

/* A message to the peer, as long as X; the kernel cuts and assembles it */
static void bench_rmpp_up_to(unsigned int most)
{
	static const unsigned int lengths[] = {
		216, 1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, RMPP_MAX
	};
	static const size_t head = sizeof(struct ib_user_mad_hdr) + 40;
	struct agent client = new_agent(0, 1, 0, 1);
	struct agent server = new_agent(1, 1, CLASS_VENDOR_RMPP, 1);
	static uint64_t reads[MAX_SAMPLES];
	unsigned int i, k, n;
	struct umad *out, *in;

	out = calloc(1, head + RMPP_MAX);
	in = malloc(head + RMPP_MAX);
	if (!out || !in)
		err(1, "malloc");
	memset(in, 1, head + RMPP_MAX);

	for (i = 0; i < ARRAY_SIZE(lengths) && lengths[i] <= most; i++) {
		n = samples_wanted / 8;
		for (k = 0; k < n; k++) {
			uint64_t start, read_start;
			struct pollfd pollfd = { server.fd, POLLIN, 0 };

			*out = *request(&client, PING, peer_lid);
			out->hdr.timeout_ms = 0;
			out->mad.mgmt_class = CLASS_VENDOR_RMPP;
			out->mad.method = MAD_SEND;
			out->mad.rmpp_version = 1;
			out->mad.rmpp_type = MAD_RMPP_DATA;
			out->mad.rmpp_flags = MAD_RMPP_ACTIVE;
			((uint8_t *)out)[head + lengths[i] - 1] = k + 1;

			start = now();
			if (write(client.fd, out, head + lengths[i]) < 0)
				err(1, "write");
			if (poll(&pollfd, 1, 30000) != 1)
				errx(1, "no message");
			read_start = now();
			if (read(server.fd, in, head + lengths[i]) !=
			    (ssize_t)(head + lengths[i]))
				err(1, "read");
			sample(now() - start);
			reads[k] = now() - read_start;
			if (memcmp((uint8_t *)in + head, (uint8_t *)out + head,
				   lengths[i]))
				errx(1, "a message came out different");
			/* The last acknowledgment is on its way back */
			settle(10);
		}
		tell("rmpp", lengths[i]);
		memcpy(samples, reads, sizeof(reads));
		nsamples = n;
		tell("rmpp.read", lengths[i]);
	}
	close(server.fd);
	close(client.fd);
	free(in);
	free(out);
}

static void bench_rmpp(void)
{
	bench_rmpp_up_to(RMPP_MAX);
}

/* The shorter ones of these, which take a hundredth of the time */
static void bench_short(void)
{
	bench_rmpp_up_to(1 << 14);
}

static void watch(const char *on)
{
	static const char path[] = "/sys/kernel/debug/umad_watch/handlers";
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, on, 1) != 1)
		err(1, "%s", path);
	close(fd);
}

/* What umad does for the MAD layer when a request is answered */
static void bench_handler(void)
{
	struct agent agent;
	unsigned int i;
	char line[128];
	FILE *f;

	watch("1");
	agent = new_agent(0, 0, 0, 0);
	watch("0");
	for (i = 0; i < samples_wanted; i++)
		exchange(&agent, LID, NULL, false);
	close(agent.fd);

	f = fopen("/sys/kernel/debug/umad_watch/handlers", "r");
	if (!f)
		err(1, "umad_watch");
	for (i = 0; fgets(line, sizeof(line), f); i++)
		fputs(line, stdout);
	if (i != 2)
		errx(1, "umad_watch: two handlers, and %u measured", i);
	fclose(f);
}

/* What a program does at its start and end, each time with a fresh descriptor */
static void bench_calls(void)
{
	static const char * const calls[] = {
		"calls.open", "calls.register", "calls.unregister", "calls.close",
	};
	uint64_t at[ARRAY_SIZE(calls) + 1];
	unsigned int call, i;
	struct agent agent;

	for (call = 0; call < ARRAY_SIZE(calls); call++) {
		for (i = 0; i < samples_wanted; i++) {
			at[0] = now();
			agent.fd = open_port(0);
			at[1] = now();
			agent = register_on(agent.fd, 1, CLASS_VENDOR, 0);
			at[2] = now();
			if (ioctl(agent.fd, IB_USER_MAD_UNREGISTER_AGENT,
				  &agent.id))
				err(1, "IB_USER_MAD_UNREGISTER_AGENT");
			at[3] = now();
			close(agent.fd);
			at[4] = now();
			sample(at[call + 1] - at[call]);
		}
		tell(calls[call], 1);
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
			if (pthread_create(&threads[k], NULL, reader,
					   &switches[k]))
				errx(1, "no thread");
		for (k = 0; k < samples_wanted; k++) {
			settle(1);
			send_umad(&readers_agent,
				  request(&readers_agent, DR0, 0));
		}
		for (k = 0; k < counts[i]; k++) {
			settle(1);
			umad = request(&readers_agent, DR0, 0);
			umad->mad.attr_id = htobe16(0x10);
			send_umad(&readers_agent, umad);
		}
		for (k = 0, sum = 0; k < counts[i]; k++) {
			pthread_join(threads[k], NULL);
			sum += switches[k];
		}
		sample(sum * 100 / (samples_wanted + counts[i]));
		tell("readers", counts[i]);
		close(readers_agent.fd);
	}
}

/* Exchanges of the last of many agents on a descriptor */
static void bench_agents(void)
{
	static const unsigned int counts[] = { 1, 2, 4, 8, 16, 32 };
	unsigned int i, k = 1;
	struct agent agent = new_agent(0, 0, 0, 0);

	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		for (; k < counts[i]; k++)
			agent = register_on(agent.fd, 0, 0, 0);
		exchanges("agents", counts[i], &agent, LID, NULL);
	}
	close(agent.fd);
}

/* Exchanges on the last of many descriptors of a port */
static void bench_descriptors(void)
{
	static const unsigned int counts[] = { 1, 10, 100, 1000 };
	struct rlimit limit = { 4096, 4096 };
	static struct agent all[1000];
	unsigned int i, k = 0;

	if (setrlimit(RLIMIT_NOFILE, &limit))
		err(1, "RLIMIT_NOFILE");
	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		for (; k < counts[i]; k++)
			all[k] = new_agent(0, 0, 0, 0);
		exchanges("descriptors", counts[i], &all[k - 1], LID, NULL);
	}
	while (k--)
		close(all[k].fd);
}

/* Exchanges with the switch by one of many ports after the other */
static void bench_ports(void)
{
	struct agent all[64];
	unsigned int count, i, k = 0;

	for (count = 1; count <= ARRAY_SIZE(all); count *= 2) {
		for (; k < count; k++)
			all[k] = new_agent(k, 0, 0, 0);
		for (i = 0; i < samples_wanted; i++)
			sample(exchange(&all[i % count], DR1, NULL, false));
		tell("ports", count);
	}
	while (k--)
		close(all[k].fd);
}

static atomic_bool stop;

static void *hammer(void *data)
{
	struct agent *agent = data;

	while (!stop)
		exchange(agent, DR1, NULL, false);
	return NULL;
}

/* Exchanges a second of one thread a CPU; the only figure of real time */
static void bench_cpus(void)
{
	unsigned int count = sysconf(_SC_NPROCESSORS_ONLN), i, apart;
	struct agent all[8];
	pthread_t threads[8];

	if (count > ARRAY_SIZE(all))
		errx(1, "more than %zu CPUs", ARRAY_SIZE(all));
	for (apart = 0; apart < 2; apart++) {
		unsigned long sum = 0;

		stop = false;
		for (i = 0; i < count; i++) {
			all[i] = new_agent(apart ? i : 0, 0, 0, 0);
			if (pthread_create(&threads[i], NULL, hammer, &all[i]))
				errx(1, "no thread");
		}
		settle(3000);
		stop = true;
		for (i = 0; i < count; i++) {
			pthread_join(threads[i], NULL);
			sum += all[i].tid;
			close(all[i].fd);
		}
		sample(sum / 3);
		tell(apart ? "cpus.ports" : "cpus.port", count);
	}
}

static const struct {
	const char *name;
	void (*run)(void);
} figures[] = {
	{ "roundtrip", bench_roundtrip },
	{ "device", bench_device },
	{ "outstanding", bench_outstanding },
	{ "few", bench_few },
	{ "queued", bench_queued },
	{ "batch", bench_batch },
	{ "memory", bench_memory },
	{ "rmpp", bench_rmpp },
	{ "short", bench_short },
	{ "handler", bench_handler },
	{ "calls", bench_calls },
	{ "readers", bench_readers },
	{ "agents", bench_agents },
	{ "descriptors", bench_descriptors },
	{ "ports", bench_ports },
	{ "cpus", bench_cpus },
};

int main(int argc, char **argv)
{
	unsigned int i;
	int opt;

	while ((opt = getopt(argc, argv, "n:")) != -1) {
		if (opt != 'n')
			return 2;
		samples_wanted = atoi(optarg);
		if (samples_wanted < 8 || samples_wanted > MAX_SAMPLES)
			errx(2, "-n %s: not from 8 to %d", optarg, MAX_SAMPLES);
	}
	peer_lid = read_lid("madsim1");

	for (; optind < argc; optind++) {
		for (i = 0; i < ARRAY_SIZE(figures); i++)
			if (!strcmp(argv[optind], figures[i].name))
				break;
		if (i == ARRAY_SIZE(figures))
			errx(2, "%s: no such figure", argv[optind]);
		figures[i].run();
	}
	return 0;
}
