// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The limit of the receive queue: of more than 200,000 unread MADs the rest is
 * dropped, while timeouts are still reported. Filling the queue takes a while;
 * a machine on which it would take too long says so and skips, unless
 * UMAD_SLOW=1 is in the environment.
 */
#define PAIR_ONE_VARIANT
#include <sched.h>
#include <sys/wait.h>

#include "kselftest_harness.h"
#include "lib/pair.h"

#define LIMIT		200000
#define BATCH		64
#define PROBE		1024
#define MUCH		24576
#define CLOSE_TRIES	3	/* the host may have something else to do */
#define TOO_LONG_MS	12000
#define FENCE_METHOD	0x20

/*
 * Sends a batch and one MAD more, to the client itself: when that has arrived
 * the others have too, and no receive buffer was missing.
 */
static int send_batch(FIXTURE_DATA(pair) *self, __u32 tid)
{
	static __u8 buf[BATCH][UMAD_HDR_NEW + MAD_SIZE];
	struct iovec iov[BATCH];
	struct umad_msg msg;
	ssize_t size = 0;
	int i;

	for (i = 0; i < BATCH; i++) {
		msg = umad_msg(&self->port, self->cid, MAD_SEND, tid + i);
		iov[i].iov_base = buf[i];
		iov[i].iov_len = umad_pack(&self->client, &msg, MAD_SIZE,
					   buf[i]);
		size += iov[i].iov_len;
	}
	if (writev(self->client.fd, iov, BATCH) != size)
		return -1;
	msg = umad_msg(&self->port, self->cid, FENCE_METHOD, ~tid);
	if (_umad_write(&self->client, &msg) < 0 ||
	    !umad_readable(&self->client, UMAD_SOON_MS))
		return -1;
	return _umad_read(&self->client, &msg) < 0 ? -1 : 0;
}

/*
 * The longest time in which a process on the same CPU could not run while all of
 * the queue was freed, in microseconds; @total is how long that took.
 */
static long long now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000LL + ts.tv_nsec / 1000;
}

static int pin(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	return sched_setaffinity(0, sizeof(set), &set);
}

static long long close_beside_others(struct umad_file *file, long long *total)
{
	struct {
		int run;
		long long gap;
	} *shared;
	int run;
	long long last, now;
	pid_t pid, parent = getpid();

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED || pin())
		return -1;
	pid = fork();
	if (pid < 0)
		return -1;
	if (!pid) {
		umad_close(file);
		last = now_us();
		while (getppid() == parent) {
			now = now_us();
			run = __atomic_load_n(&shared->run, __ATOMIC_ACQUIRE);
			if (run && now - last > shared->gap)
				shared->gap = now - last;
			last = now;
			if (run < 0)
				_exit(0);
			if (!run)
				__atomic_store_n(&shared->run, 1, __ATOMIC_RELEASE);
		}
		_exit(1);
	}
	while (!__atomic_load_n(&shared->run, __ATOMIC_ACQUIRE))
		umad_sleep_ms(1);
	*total = now_us();
	umad_close(file);
	*total = now_us() - *total;
	umad_sleep_ms(UMAD_QUIET_MS);
	__atomic_store_n(&shared->run, -1, __ATOMIC_RELEASE);
	waitpid(pid, NULL, 0);
	return shared->gap;
}

TEST_F_TIMEOUT(pair, drops_beyond_the_limit, 600)
{
	size_t size = self->server.hlen + MAD_SIZE;
	static __u8 buf[BATCH][UMAD_HDR_NEW + MAD_SIZE];
	struct iovec iov[BATCH];
	long long start, ms;
	struct umad_reg fence = umad_reg_vendor(variant->abi.api,
						1ULL << FENCE_METHOD);
	struct umad_msg msg;
	long n, received = 0;
	int i, timeouts = 0;
	struct mad mad;
	ssize_t ret;

	umad_register(&self->client, &fence);

	start = umad_now_ms();
	for (n = 0; n < PROBE; n += BATCH)
		ASSERT_EQ(0, send_batch(self, n));
	ms = (umad_now_ms() - start) * (LIMIT / PROBE);
	if (ms > TOO_LONG_MS && !umad_env("UMAD_SLOW"))
		SKIP(return, "filling the queue would take %lld s here; UMAD_SLOW=1 does it",
		     ms / 1000);

	for (; n < LIMIT + 16 * BATCH; n += BATCH)
		ASSERT_EQ(0, send_batch(self, n));

	/* A timeout still gets in */
	msg = umad_msg(&self->port, self->sid, MAD_GET, 0x12345678);
	umad_msg_to_nobody(&msg);
	msg.hdr.timeout_ms = 1;
	umad_write(&self->server, &msg);
	umad_sleep_ms(5 * UMAD_QUIET_MS);

	for (i = 0; i < BATCH; i++) {
		iov[i].iov_base = buf[i];
		iov[i].iov_len = size;
	}
	while ((ret = readv(self->server.fd, iov, BATCH)) > 0) {
		/* A timeout record is short, and so ends the call */
		if (ret % size) {
			ret -= ret % size;
			timeouts++;
		}
		for (i = 0; i < ret / (ssize_t)size; i++) {
			memcpy(&mad, buf[i] + self->server.hlen, MAD_SIZE);
			EXPECT_EQ(received, (__u32)be64toh(mad.tid));
			received++;
		}
	}
	EXPECT_EQ(EAGAIN, errno);
	EXPECT_EQ(1, timeouts);
	/* The reference takes one more before it sees that there are too many */
	EXPECT_LE(LIMIT, received);
	EXPECT_GE(LIMIT + 1, received);

	/* With room again, all is well */
	ASSERT_EQ(0, send_batch(self, n));
	umad_read(&self->server, &msg);
	EXPECT_EQ(n, (__u32)be64toh(msg.mad.tid));
}

/* Who is closed with much unread lets others run meanwhile */
TEST_F_TIMEOUT(pair, close_beside_others, UMAD_HANGS)
{
	struct umad_reg fence = umad_reg_vendor(variant->abi.api,
						1ULL << FENCE_METHOD);
	struct umad_reg server = umad_reg_vendor(variant->abi.api, pair_methods);
	long long total, gap;
	bool yields = false;
	int i, n;

	if (umad_reference())
		SKIP(return, "whether the reference lets others run is the kernel's preemption");

	umad_register(&self->client, &fence);
	for (i = 0; i < CLOSE_TRIES && !yields; i++) {
		for (n = 0; n < MUCH; n += BATCH)
			ASSERT_EQ(0, send_batch(self, n));
		gap = close_beside_others(&self->server, &total);
		ASSERT_LE(0, gap);
		TH_LOG("close() took %lld us, others waited for %lld us at most",
		       total, gap);
		yields = total > 2 * gap;

		umad_open_abi(&self->port, &variant->abi, O_RDWR | O_NONBLOCK,
			      &self->server);
		umad_register(&self->server, &server);
	}
	EXPECT_TRUE(yields);
}

TEST_HARNESS_MAIN
