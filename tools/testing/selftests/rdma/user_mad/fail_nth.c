// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Everything that user space can ask of umad, with each allocation and each
 * access to user memory on the way failing once, in turn: the first run of a
 * call has its first one fail, the next run its second one, until a run comes
 * through without having met that many. Whatever a failed call returns must be
 * ENOMEM or EFAULT unless said otherwise, must have left nothing behind, and
 * must work when it is repeated.
 *
 * This takes a kernel with FAILSLAB, FAIL_PAGE_ALLOC, FAULT_INJECTION_USERCOPY
 * and FAULT_INJECTION_STACKTRACE_FILTER. What the kernel itself has to say, by
 * KASAN, lockdep or kmemleak, is for the one to see who runs this.
 */
#define PAIR_TWO_VARIANTS
#include <limits.h>
#include <sys/syscall.h>

#include "kselftest_harness.h"
#include "lib/device.h"
#include "lib/long.h"
#include "lib/pair.h"

#define SWEEP_TIMEOUT	600	/* seconds; nothing waits for that */
#define FREE_METHOD	0x21	/* one that the server does not take */
#define UMAD_FABRIC_LIVE	UMAD_FABRIC "/live"
#define ALWAYS		1000000	/* a fault that no call meets */

static const char *const fault_dirs[] = {
	"failslab", "fail_page_alloc", "fail_usercopy",
};

static int fault_put(const char *dir, const char *name, const char *value)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/kernel/debug/%s/%s", dir, name);
	return umad_sysfs_write(path, value);
}

static int fault_put_all(const char *name, const char *value)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; i < ARRAY_SIZE(fault_dirs); i++)
		ret |= fault_put(fault_dirs[i], name, value);
	return ret;
}

static int fault_put_address(const char *name, __u64 address)
{
	char text[32];

	snprintf(text, sizeof(text), "0x%llx", (unsigned long long)address);
	return fault_put_all(name, text);
}

/* Only what is called from code between these addresses shall fail */
static int fault_within(__u64 start, __u64 end)
{
	return fault_put_address("require-start", start) |
	       fault_put_address("require-end", end);
}

/* What is called from code between these addresses shall not fail */
static int fault_not_within(__u64 start, __u64 end)
{
	return fault_put_address("reject-start", start) |
	       fault_put_address("reject-end", end);
}

static int fault_anywhere(void)
{
	return fault_put_all("stacktrace-depth", "32") |
	       fault_within(0, ULONG_MAX) | fault_not_within(0, 0);
}

static __attribute__((constructor)) void fault_setup(void)
{
	if (access("/proc/thread-self/fail-nth", W_OK) ||
	    fault_put_all("verbose", "0") ||
	    fault_put("failslab", "ignore-gfp-wait", "N") ||
	    fault_put("fail_page_alloc", "ignore-gfp-wait", "N") ||
	    fault_put("fail_page_alloc", "ignore-gfp-highmem", "N") ||
	    fault_put("fail_page_alloc", "min-order", "0") ||
	    fault_anywhere())
		ksft_exit_skip("no fault injection in this kernel\n");
}

/* Where the code of @module is, or that of the function @name */
static int find_code(const char *module, const char *name, __u64 *start, __u64 *end)
{
	char line[512], sym[256], mod[128];
	unsigned long long at;
	bool found = false;
	FILE *file;
	char type;
	int n;

	*start = ULONG_MAX;
	*end = 0;
	file = fopen("/proc/kallsyms", "r");
	if (!file)
		return -1;
	while (fgets(line, sizeof(line), file)) {
		mod[0] = 0;
		n = sscanf(line, "%llx %c %255s [%127[^]]", &at, &type, sym, mod);
		if (n < 3 || strcmp(mod, module ?: ""))
			continue;
		if (module) {
			if (type != 't' && type != 'T')
				continue;
			found = true;
			if (at < *start)
				*start = at;
			/* The last function has some length, too */
			if (at + 4096 > *end)
				*end = at + 4096;
		} else if (found && at > *start) {
			*end = at;
			break;
		} else if (!strcmp(sym, name)) {
			found = true;
			*start = at;
		}
	}
	fclose(file);
	return found && *end ? 0 : -1;
}

struct fault {
	int fd;			/* fail-nth of this thread */
	unsigned int nth;	/* which one of this run */
	bool struck;		/* that many were met */
};

static int fault_set(const struct fault *fault, unsigned int nth)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", nth);

	/* Reading the number may be what fails */
	return pwrite(fault->fd, text, len, 0) == len ||
	       pwrite(fault->fd, text, len, 0) == len ? 0 : -1;
}

/* Whether the fault struck since it was set; from now on none does */
static bool fault_clear(const struct fault *fault)
{
	char text[16] = "";
	ssize_t n;

	/* If writing the answer is what fails, nothing did before */
	n = pread(fault->fd, text, sizeof(text), 0);
	fault_set(fault, 0);
	return n > 0 && !strcmp(text, "0\n");
}

#define fault_begin(f) do {						\
	*(f) = (struct fault){ 0 };					\
	(f)->fd = open("/proc/thread-self/fail-nth", O_RDWR);		\
	ASSERT_LE(0, (f)->fd);						\
} while (0)

static bool fault_next(struct fault *fault)
{
	if (fault->nth && !fault->struck)
		return false;
	fault->nth++;
	fault->struck = false;
	return true;
}

/* The value of @call, in which the fault may strike; errno stays */
#define fault_in(fault, call) ({					\
	long __ret;							\
	int __err;							\
									\
	ASSERT_EQ(0, fault_set(fault, (fault)->nth));			\
	__ret = (call);							\
	__err = errno;							\
	(fault)->struck = fault_clear(fault);				\
	errno = __err;							\
	__ret;								\
})

/* @err, if not 0, is a failure that only the fault can have caused */
#define fault_expect(fault, err, also) do {				\
	int __e = (err);						\
									\
	if (__e) {							\
		EXPECT_TRUE((fault)->struck);				\
		EXPECT_TRUE(__e == ENOMEM || __e == EFAULT || __e == (also)) \
			TH_LOG("fault %u: %s", (fault)->nth, strerror(__e)); \
	}								\
} while (0)

/* There must have been @least faults, or this has tested nothing */
#define fault_end(fault, least) do {					\
	ksft_print_msg("%s: %u fault points\n", _metadata->name,	\
		       (fault)->nth - 1);				\
	EXPECT_LE((unsigned int)(least), (fault)->nth - 1);		\
	close((fault)->fd);						\
} while (0)

/* Reads whatever comes until nothing is outstanding; returns how many */
static int settle(const struct umad_file *a, const struct umad_file *b)
{
	long long end = umad_now_ms() + UMAD_SOON_MS;
	static __u8 buf[1 << 16];
	int n = 0;

	for (;;) {
		bool idle = !umad_fdinfo(a, "umad-outstanding") &&
			    !umad_fdinfo(b, "umad-outstanding");

		while (read(a->fd, buf, sizeof(buf)) > 0)
			n++;
		while (read(b->fd, buf, sizeof(buf)) > 0)
			n++;
		if (idle || umad_now_ms() > end)
			return n;
		umad_sleep_ms(1);
	}
}

/* A request and its answer, however many others were on their way */
#define exchange(self, xid, before) do {				\
	struct umad_msg __msg = umad_msg(&(self)->port, (self)->cid,	\
					 MAD_GET, xid);			\
	struct umad_msg __got;						\
									\
	__msg.hdr.timeout_ms = UMAD_SOON_MS;				\
	umad_write(&(self)->client, &__msg);				\
	for (;;) {							\
		umad_read(&(self)->server, &__got);			\
		if ((__u32)be64toh(__got.mad.tid) == (xid))		\
			break;						\
		(before)++;						\
	}								\
	__got.mad.method = MAD_GET_RESP;				\
	umad_write(&(self)->server, &__got);				\
	umad_read(&(self)->client, &__msg);				\
	EXPECT_EQ(xid, (__u32)be64toh(__msg.mad.tid));			\
	EXPECT_EQ(0, umad_fdinfo(&(self)->client, "umad-outstanding"));	\
	EXPECT_EQ(0, umad_fdinfo(&(self)->server, "umad-outstanding"));	\
} while (0)

#define CLEAN_TID	0x700000

/* Descriptors */

TEST_F_TIMEOUT(pair, open, SWEEP_TIMEOUT)
{
	struct umad_file file;
	struct fault fault;
	int ret;

	fault_begin(&fault);
	while (fault_next(&fault)) {
		ret = fault_in(&fault, _umad_open(&self->port, O_RDWR, &file));
		fault_expect(&fault, ret ? errno : 0, 0);
		umad_close(&file);
		umad_open(&self->port, O_RDWR, &file);
		umad_close(&file);
	}
	fault_end(&fault, 3);
}

TEST_F_TIMEOUT(pair, enable_pkey, SWEEP_TIMEOUT)
{
	struct umad_file file;
	struct fault fault;

	fault_begin(&fault);
	while (fault_next(&fault)) {
		umad_open(&self->port, O_RDWR, &file);
		EXPECT_EQ(0, fault_in(&fault, _umad_enable_pkey(&file)));
		umad_close(&file);
	}
	fault_end(&fault, 0);
}

/* With agents, sends that are outstanding and MADs that were not read */
TEST_F_TIMEOUT(pair, close, SWEEP_TIMEOUT)
{
	struct umad_file file;
	struct fault fault;
	struct umad_reg reg;
	struct umad_msg msg;

	fault_begin(&fault);
	while (fault_next(&fault)) {
		umad_open_abi(&self->port, &variant->abi, O_RDWR | O_NONBLOCK,
			      &file);
		reg = umad_reg_vendor(variant->abi.api, 1ULL << FREE_METHOD);
		umad_register(&file, &reg);
		msg = umad_msg(&self->port, reg.id, FREE_METHOD, 1);
		umad_write(&file, &msg);
		ASSERT_TRUE(umad_readable(&file, UMAD_SOON_MS));
		msg = umad_msg(&self->port, reg.id, MAD_GET, 2);
		msg.hdr.timeout_ms = 60000;
		umad_write(&file, &msg);
		umad_read(&self->server, &msg);

		EXPECT_EQ(0, fault_in(&fault, close(file.fd)));
		/* The method is free again: the next run registers it */
	}
	fault_end(&fault, 0);
}

/* Agents */

TEST_F_TIMEOUT(pair, register, SWEEP_TIMEOUT)
{
	struct umad_file file;
	struct fault fault;
	struct umad_reg reg;
	int ret;

	fault_begin(&fault);
	while (fault_next(&fault)) {
		umad_open(&self->port, O_RDWR, &file);
		reg = umad_reg_vendor(variant->abi.api, 1ULL << FREE_METHOD);
		ret = fault_in(&fault, _umad_register(&file, &reg));
		fault_expect(&fault, ret ? errno : 0, 0);
		if (ret) {
			EXPECT_EQ(0xdeadbeef, reg.id);
			EXPECT_EQ(0, umad_fdinfo(&file, "umad-agents"));
			/* The layout of the header is not settled yet */
			umad_enable_pkey(&file);
			umad_register(&file, &reg);
		}
		EXPECT_EQ(0, reg.id);
		EXPECT_EQ(1, umad_fdinfo(&file, "umad-agents"));
		umad_close(&file);
	}
	fault_end(&fault, 5);
}

/* A request for too much, which is told what there is */
TEST_F_TIMEOUT(pair, register_flags, SWEEP_TIMEOUT)
{
	struct umad_reg reg;
	struct fault fault;

	if (variant->abi.api == 1)
		SKIP(return, "there are no flags in REGISTER_AGENT");

	fault_begin(&fault);
	while (fault_next(&fault)) {
		reg = umad_reg_vendor(2, 1ULL << FREE_METHOD);
		reg.flags = 0xffff;
		EXPECT_EQ(-1, fault_in(&fault, _umad_register(&self->client, &reg)));
		if (errno != EINVAL)
			fault_expect(&fault, errno, 0);
		else
			EXPECT_EQ(IB_USER_MAD_USER_RMPP, reg.flags);
		EXPECT_EQ(1, umad_fdinfo(&self->client, "umad-agents"));
	}
	fault_end(&fault, 1);
}

TEST_F_TIMEOUT(pair, unregister, SWEEP_TIMEOUT)
{
	struct umad_reg reg;
	struct fault fault;
	int ret;

	fault_begin(&fault);
	while (fault_next(&fault)) {
		reg = umad_reg_vendor(variant->abi.api, 1ULL << FREE_METHOD);
		umad_register(&self->client, &reg);
		ret = fault_in(&fault, _umad_unregister(&self->client, reg.id));
		fault_expect(&fault, ret ? errno : 0, 0);
		if (ret) {
			EXPECT_EQ(2, umad_fdinfo(&self->client, "umad-agents"));
			umad_unregister(&self->client, reg.id);
		}
		EXPECT_EQ(1, umad_fdinfo(&self->client, "umad-agents"));
	}
	fault_end(&fault, 0);
}

/* Sends */

static void sweep_write(struct __test_metadata *_metadata,
			FIXTURE_DATA(pair) *self, __u8 method,
			unsigned int timeout_ms)
{
	struct umad_msg msg;
	struct fault fault;
	ssize_t ret;
	int n;

	fault_begin(&fault);
	while (fault_next(&fault)) {
		msg = umad_msg(&self->port, self->cid, method, fault.nth);
		msg.hdr.timeout_ms = timeout_ms;
		ret = fault_in(&fault, _umad_write(&self->client, &msg));
		fault_expect(&fault, ret < 0 ? errno : 0, 0);
		n = settle(&self->client, &self->server);
		exchange(self, CLEAN_TID + fault.nth, n);
		/* What failed was not sent */
		if (ret < 0)
			EXPECT_EQ(0, n);
		/* The transaction ID is free again */
		umad_write(&self->client, &msg);
		umad_read(&self->server, &msg);
		EXPECT_EQ(fault.nth, (__u32)be64toh(msg.mad.tid));
		settle(&self->client, &self->server);
	}
	fault_end(&fault, 10);
}

TEST_F_TIMEOUT(pair, send, SWEEP_TIMEOUT)
{
	sweep_write(_metadata, self, MAD_SEND, 0);
}

TEST_F_TIMEOUT(pair, request, SWEEP_TIMEOUT)
{
	sweep_write(_metadata, self, MAD_GET, 10);
}

TEST_F_TIMEOUT(pair, response, SWEEP_TIMEOUT)
{
	struct umad_msg msg, got;
	struct fault fault;
	ssize_t ret;
	int n;

	fault_begin(&fault);
	while (fault_next(&fault)) {
		msg = umad_msg(&self->port, self->cid, MAD_GET, fault.nth);
		msg.hdr.timeout_ms = 300;
		umad_write(&self->client, &msg);
		umad_read(&self->server, &got);
		got.mad.method = MAD_GET_RESP;
		ret = fault_in(&fault, _umad_write(&self->server, &got));
		fault_expect(&fault, ret < 0 ? errno : 0, 0);
		if (ret < 0)
			umad_write(&self->server, &got);
		n = settle(&self->client, &self->server);
		/* An answer, or a timeout if it was lost */
		EXPECT_EQ(1, n);
		exchange(self, CLEAN_TID + fault.nth, n);
	}
	fault_end(&fault, 5);
}

#define CROWD		256	/* more than a new table of duplicates has room for */

/*
 * The table of duplicates grows by a worker, or at once in whoever writes faster
 * than that. Where there is no memory for it then, write() fails.
 */
TEST_F_TIMEOUT(pair, crowd, SWEEP_TIMEOUT)
{
	unsigned int strikes = 0, tries, i;
	struct umad_file file;
	struct fault fault;
	struct umad_reg reg;
	struct umad_msg msg;
	__u64 start, end;

	fault_begin(&fault);
	ASSERT_EQ(0, find_code(NULL, "rhashtable_insert_slow", &start, &end));
	for (tries = 0; tries < 100 && strikes < 10; tries++) {
		umad_open_abi(&self->port, &variant->abi, O_RDWR | O_NONBLOCK,
			      &file);
		reg = umad_reg_send_only(variant->abi.api);
		umad_register(&file, &reg);
		ASSERT_EQ(0, fault_within(start, end));
		for (i = 1; i <= CROWD; i++) {
			msg = umad_msg(&self->port, reg.id, FREE_METHOD, i);
			msg.hdr.timeout_ms = 60000;
			fault.nth = 1;
			if (fault_in(&fault, _umad_write(&file, &msg)) < 0) {
				EXPECT_EQ(ENOMEM, errno);
				umad_write(&file, &msg);
			}
			strikes += fault.struck;
		}
		ASSERT_EQ(0, fault_anywhere());
		umad_close(&file);
	}
	EXPECT_LT(0U, strikes)
		TH_LOG("no table grew in write()");
	close(fault.fd);
}

/*
 * Long messages. Without a timeout they are done with when they have arrived.
 * The receiver knows a transaction ID for some seconds, so each has one of its
 * own.
 */

static void sweep_long(struct __test_metadata *_metadata,
		       FIXTURE_DATA(pair) *self, int api, size_t len)
{
	struct umad_reg reg = umad_reg_vendor(api, 0);
	struct umad_msg head;
	struct umad_long msg;
	struct fault fault;
	size_t size;
	ssize_t ret;
	int n;

	fault_begin(&fault);
	umad_long_alloc(&msg, 1 << 16);
	umad_unregister(&self->client, self->cid);
	umad_unregister(&self->server, self->sid);
	reg.rmpp_version = 1;
	self->cid = umad_register(&self->client, &reg);
	reg.methods[0] = 1ULL << MAD_SEND;
	self->sid = umad_register(&self->server, &reg);

	while (fault_next(&fault)) {
		head = umad_msg(&self->port, self->cid, MAD_SEND, fault.nth);
		head.hdr.retries = 1;
		umad_make_active(&head);
		size = umad_long_pack(&self->client, &head, len, 1, msg.out);
		ret = fault_in(&fault, write(self->client.fd, msg.out, size));
		fault_expect(&fault, ret < 0 ? errno : 0, 0);
		n = settle(&self->client, &self->server);
		if (ret < 0)
			EXPECT_EQ(0, n) TH_LOG("fault %u", fault.nth);
		EXPECT_EQ(0, umad_fdinfo(&self->client, "umad-outstanding"));

		head.mad.tid = htobe64(CLEAN_TID + fault.nth);
		umad_long_write(&self->client, &head, len, 2, &msg);
		umad_long_read(&self->server, self->sid, &head, len, 2, &msg);
		settle(&self->client, &self->server);
	}
	fault_end(&fault, 15);
	umad_long_free(&msg);
}

TEST_F_TIMEOUT(pair, rmpp_small, SWEEP_TIMEOUT)
{
	sweep_long(_metadata, self, variant->abi.api, 600);
}

TEST_F_TIMEOUT(pair, rmpp_large, SWEEP_TIMEOUT)
{
	sweep_long(_metadata, self, variant->abi.api, 9000);
}

/* Reading */

TEST_F_TIMEOUT(pair, read, SWEEP_TIMEOUT)
{
	struct umad_msg msg;
	struct fault fault;
	ssize_t ret;

	fault_begin(&fault);
	while (fault_next(&fault)) {
		msg = umad_msg(&self->port, self->cid, MAD_SEND, fault.nth);
		umad_write(&self->client, &msg);
		ASSERT_TRUE(umad_readable(&self->server, UMAD_SOON_MS));
		ret = fault_in(&fault, _umad_read(&self->server, &msg));
		fault_expect(&fault, ret < 0 ? errno : 0, 0);
		if (ret < 0)
			umad_read(&self->server, &msg);
		EXPECT_EQ(fault.nth, (__u32)be64toh(msg.mad.tid));
		umad_expect_empty(&self->server);
	}
	fault_end(&fault, 1);
}

TEST_F_TIMEOUT(pair, read_timeout, SWEEP_TIMEOUT)
{
	struct umad_msg msg;
	struct fault fault;
	ssize_t ret;

	fault_begin(&fault);
	while (fault_next(&fault)) {
		msg = umad_msg(&self->port, self->cid, MAD_GET, fault.nth);
		msg.hdr.timeout_ms = 1;
		umad_write(&self->client, &msg);
		ASSERT_TRUE(umad_readable(&self->client, UMAD_SOON_MS));
		ret = fault_in(&fault, _umad_read(&self->client, &msg));
		fault_expect(&fault, ret < 0 ? errno : 0, 0);
		if (ret < 0)
			umad_read_timeout(&self->client, &msg);
		EXPECT_EQ(ETIMEDOUT, (int)msg.hdr.status);
		EXPECT_EQ(fault.nth, (__u32)be64toh(msg.mad.tid));
		umad_expect_empty(&self->client);
		settle(&self->client, &self->server);
	}
	fault_end(&fault, 1);
}

TEST_F_TIMEOUT(pair, read_long, SWEEP_TIMEOUT)
{
	struct umad_reg reg = umad_reg_vendor(variant->abi.api, 0);
	const size_t len = 600;
	struct umad_msg head;
	struct umad_long msg;
	struct fault fault;
	ssize_t ret;

	fault_begin(&fault);
	umad_long_alloc(&msg, 1 << 16);
	reg.rmpp_version = 1;
	self->cid = umad_register(&self->client, &reg);
	reg.methods[0] = 1ULL << FREE_METHOD;
	self->sid = umad_register(&self->server, &reg);

	while (fault_next(&fault)) {
		head = umad_msg(&self->port, self->cid, FREE_METHOD, fault.nth);
		umad_make_active(&head);
		umad_long_write(&self->client, &head, len, 3, &msg);
		ASSERT_TRUE(umad_readable(&self->server, UMAD_SOON_MS));
		ret = fault_in(&fault, read(self->server.fd, msg.in, msg.max));
		fault_expect(&fault, ret < 0 ? errno : 0, 0);
		if (ret < 0)
			umad_long_read(&self->server, self->sid, &head, len, 3, &msg);
		else
			umad_long_expect(&self->server, self->sid, &head, len, 3,
					 &msg, ret);
		umad_expect_empty(&self->server);
	}
	fault_end(&fault, 2);
	umad_long_free(&msg);
}

TEST_F_TIMEOUT(pair, poll, SWEEP_TIMEOUT)
{
	struct fault fault;
	struct umad_msg msg;
	struct pollfd pfd;
	int ret;

	fault_begin(&fault);
	msg = umad_msg(&self->port, self->cid, MAD_SEND, 1);
	umad_write(&self->client, &msg);
	ASSERT_TRUE(umad_readable(&self->server, UMAD_SOON_MS));
	while (fault_next(&fault)) {
		pfd = (struct pollfd){ .fd = self->server.fd, .events = POLLIN };
		ret = fault_in(&fault, poll(&pfd, 1, -1));
		fault_expect(&fault, ret < 0 ? errno : 0, 0);
		EXPECT_TRUE(umad_readable(&self->server, 0));
	}
	fault_end(&fault, 1);
}

/*
 * Receiving happens in a worker of the kernel, where fail-nth does not reach.
 * There the next allocations that are called from our module fail, @times of them
 * or all if -1; this thread is spared by a fault far away.
 */
static int fault_elsewhere(const struct fault *fault, int times)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", times);
	return fault_put("failslab", "times", text) |
	       fault_put("failslab", "probability", "100") |
	       fault_set(fault, ALWAYS);
}

/* Whether there were all of them */
static bool fault_nowhere(const struct fault *fault)
{
	char times[16] = "";

	fault_set(fault, 0);
	fault_put("failslab", "probability", "0");
	umad_sysfs_read(times, sizeof(times), "/sys/kernel/debug/failslab/times");
	return !strcmp(times, "0");
}

/* Only what is called from umad, a module */
static int fault_within_umad(void)
{
	__u64 start, end;

	return find_code("ib_umad", NULL, &start, &end) ||
	       fault_within(start, end) ? -1 : 0;
}

/*
 * A MAD, and a message of several segments. A MAD for which no memory can be charged
 * is counted: only when there is none for that either, it is dropped. A message is
 * always counted.
 */

TEST_F_TIMEOUT(pair, receive, SWEEP_TIMEOUT)
{
	struct umad_reg reg = umad_reg_vendor(variant->abi.api, 0);
	const size_t lens[] = { 100, 600 };
	unsigned int points = 0, i;
	struct umad_msg head;
	struct umad_long msg;
	struct fault fault;
	int failing, tries;
	long lost;

	fault_begin(&fault);
	umad_long_alloc(&msg, 1 << 16);
	reg.rmpp_version = 1;
	self->cid = umad_register(&self->client, &reg);
	reg.methods[0] = 1ULL << FREE_METHOD;
	self->sid = umad_register(&self->server, &reg);
	ASSERT_EQ(0, fault_within_umad());

	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		tries = lens[i] > MAD_SIZE ? 1 : 2;
		for (failing = 1; failing <= tries; failing++) {
			lost = umad_fdinfo(&self->server, "umad-dropped");
			head = umad_msg(&self->port, self->cid, FREE_METHOD, ++points);
			umad_make_active(&head);
			ASSERT_EQ(0, fault_elsewhere(&fault, failing));
			umad_long_write(&self->client, &head, lens[i], 4, &msg);
			while (umad_fdinfo(&self->client, "umad-outstanding"))
				umad_sleep_ms(1);
			umad_sleep_ms(5);
			EXPECT_TRUE(fault_nowhere(&fault));

			/* It is either there or counted */
			lost = umad_fdinfo(&self->server, "umad-dropped") - lost;
			EXPECT_EQ(failing == tries, lost);
			EXPECT_EQ(!lost, umad_readable(&self->server, 0));
			if (!lost)
				ASSERT_LT(0, read(self->server.fd, msg.in, msg.max));

			head.mad.tid = htobe64(CLEAN_TID + points);
			umad_long_write(&self->client, &head, lens[i], 5, &msg);
			ASSERT_TRUE(umad_readable(&self->server, UMAD_SOON_MS));
			ASSERT_LT(0, read(self->server.fd, msg.in, msg.max));
		}
	}
	ksft_print_msg("%s: %u fault points\n", _metadata->name, points);
	fault_anywhere();
	umad_long_free(&msg);
}

/* An answer that cannot be received ends its request like one that never came */
TEST_F_TIMEOUT(pair, answer, SWEEP_TIMEOUT)
{
	struct umad_msg msg, got;
	struct fault fault;
	int others = 0;

	fault_begin(&fault);
	ASSERT_EQ(0, fault_within_umad());
	msg = umad_msg(&self->port, self->cid, MAD_GET, 1);
	msg.hdr.timeout_ms = 1000 * SWEEP_TIMEOUT;
	umad_write(&self->client, &msg);
	umad_read(&self->server, &got);
	got.mad.method = MAD_GET_RESP;
	ASSERT_EQ(0, fault_elsewhere(&fault, 2));
	umad_write(&self->server, &got);
	EXPECT_TRUE(umad_readable(&self->client, UMAD_SOON_MS));
	EXPECT_TRUE(fault_nowhere(&fault));
	umad_read_timeout(&self->client, &got);
	EXPECT_EQ(1, (int)be64toh(got.mad.tid));
	EXPECT_EQ(1, umad_fdinfo(&self->client, "umad-dropped"));
	umad_expect_empty(&self->client);
	fault_anywhere();
	exchange(self, CLEAN_TID, others);
	EXPECT_EQ(0, others);
}

/* However little memory there is, a timeout is told */
TEST_F_TIMEOUT(pair, timeout, SWEEP_TIMEOUT)
{
	struct umad_msg msg, got;
	struct fault fault;

	fault_begin(&fault);
	ASSERT_EQ(0, fault_within_umad());
	msg = umad_msg(&self->port, self->cid, MAD_GET, 1);
	umad_msg_to_nobody(&msg);
	msg.hdr.timeout_ms = 20;
	ASSERT_EQ(0, fault_elsewhere(&fault, -1));
	umad_write(&self->client, &msg);
	EXPECT_TRUE(umad_readable(&self->client, UMAD_SOON_MS));
	fault_nowhere(&fault);
	umad_read_timeout(&self->client, &got);
	fault_anywhere();
}

/* What there is to be seen from outside */

static int read_file(const char *path)
{
	char text[4096];
	int fd, ret, err;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno;
	ret = read(fd, text, sizeof(text));
	err = errno;
	close(fd);
	return ret < 0 ? err : ret ? 0 : ENODATA;
}

TEST_F_TIMEOUT(pair, files, SWEEP_TIMEOUT)
{
	struct fault fault;
	char path[4][128];
	int err, i;

	snprintf(path[0], 128, "/proc/self/fdinfo/%d", self->client.fd);
	snprintf(path[1], 128, "/sys/class/infiniband_mad/%s/ibdev", self->port.name);
	snprintf(path[2], 128, "/sys/class/infiniband_mad/%s/port", self->port.name);
	snprintf(path[3], 128, "/sys/class/infiniband_mad/abi_version");
	for (i = 0; i < 4; i++) {
		fault_begin(&fault);
		while (fault_next(&fault)) {
			err = fault_in(&fault, read_file(path[i]));
			fault_expect(&fault, err, 0);
			EXPECT_EQ(0, read_file(path[i]));
		}
		fault_end(&fault, 3);
	}
}

TEST_F_TIMEOUT(pair, netlink, SWEEP_TIMEOUT)
{
	struct nl_chardev res;
	struct fault fault;
	__u32 index;
	int err;

	fault_begin(&fault);
	ASSERT_EQ(0, nl_ibdev_index(self->port.ibdev, &index));
	while (fault_next(&fault)) {
		err = -fault_in(&fault, nl_chardev(index, self->port.port,
						   "umad", &res));
		/* No memory for a socket is ENFILE, for an answer ENOBUFS */
		fault_expect(&fault, err == ENFILE ? ENOMEM : err, ENOBUFS);
		EXPECT_EQ(0, nl_chardev(index, self->port.port, "umad", &res));
	}
	fault_end(&fault, 3);
}

/* Ports with a QP0 */

FIXTURE(fabric)
{
	struct umad_fabric fabric;
	char issm[64];
};

FIXTURE_SETUP(fabric)
{
	if (!umad_have_fabrics())
		SKIP(return, UMAD_NO_FABRICS);
	self->fabric = (struct umad_fabric){ .hosts = 2 };
	umad_fabric_start(&self->fabric);
	umad_fabric_up(&self->fabric);
	umad_issm_dev(&self->fabric.host[0], self->issm);
}

FIXTURE_TEARDOWN(fabric)
{
	fault_anywhere();
	umad_fabric_stop();
}

static bool is_sm(const struct umad_port *port)
{
	char text[32];

	return !umad_sysfs_read(text, sizeof(text),
				"/sys/class/infiniband/%s/ports/1/cap_mask",
				port->ibdev) &&
	       strtoul(text, NULL, 16) & 2;
}

TEST_F_TIMEOUT(fabric, issm, SWEEP_TIMEOUT)
{
	struct umad_port *port = &self->fabric.host[0];
	struct fault fault;
	int fd;

	fault_begin(&fault);
	while (fault_next(&fault)) {
		fd = fault_in(&fault, open(self->issm, O_RDWR | O_NONBLOCK));
		fault_expect(&fault, fd < 0 ? errno : 0, 0);
		EXPECT_EQ(fd >= 0, is_sm(port));
		if (fd >= 0)
			close(fd);
		EXPECT_FALSE(is_sm(port));
		fd = open(self->issm, O_RDWR | O_NONBLOCK);
		ASSERT_LE(0, fd);
		close(fd);
	}
	fault_end(&fault, 3);
}

TEST_F_TIMEOUT(fabric, issm_close, SWEEP_TIMEOUT)
{
	struct fault fault;
	int fd;

	fault_begin(&fault);
	while (fault_next(&fault)) {
		fd = open(self->issm, O_RDWR | O_NONBLOCK);
		ASSERT_LE(0, fd);
		EXPECT_EQ(0, fault_in(&fault, close(fd)));
		EXPECT_FALSE(is_sm(&self->fabric.host[0]));
	}
	fault_end(&fault, 0);
}

/* An SMP to the own port, answered within write(), and one to the neighbour */
TEST_F_TIMEOUT(fabric, smp, SWEEP_TIMEOUT)
{
	const struct umad_path paths[] = { { 0 }, { 1, { 1 } } };
	struct umad_sm sm;
	struct umad_msg msg;
	struct fault fault;
	ssize_t ret;
	int i, n;

	for (i = 0; i < 2; i++) {
		fault_begin(&fault);
		umad_sm_open(&self->fabric.host[0], &sm);
		while (fault_next(&fault)) {
			msg = umad_smp_msg(&sm, &paths[i], 0, MAD_GET, SMP_NODE_INFO, 0,
					   NULL);
			msg.hdr.timeout_ms = 50;
			ret = fault_in(&fault, _umad_write(&sm.file, &msg));
			fault_expect(&fault, ret < 0 ? errno : 0, 0);
			n = settle(&sm.file, &sm.file);
			EXPECT_EQ(ret < 0 ? 0 : 1, n);
			EXPECT_EQ(0, umad_smp_exchange(&sm, &msg));
		}
		fault_end(&fault, 5);
		umad_sm_close(&sm);
	}
}

/* By LID: no GRH, and no address to resolve */
TEST_F_TIMEOUT(fabric, by_lid, SWEEP_TIMEOUT)
{
	struct umad_file client, server;
	struct umad_reg reg;
	struct umad_msg msg;
	struct fault fault;
	ssize_t ret;
	__u32 cid;
	int n;

	fault_begin(&fault);
	umad_open(&self->fabric.host[0], O_RDWR | O_NONBLOCK, &client);
	reg = umad_reg_send_only(2);
	cid = umad_register(&client, &reg);
	client.hlen = UMAD_HDR_NEW;
	umad_open(&self->fabric.host[1], O_RDWR | O_NONBLOCK, &server);
	reg = umad_reg_vendor(2, umad_get_set_send);
	umad_register(&server, &reg);
	server.hlen = UMAD_HDR_NEW;

	while (fault_next(&fault)) {
		msg = umad_msg(&self->fabric.host[1], cid, MAD_GET, fault.nth);
		msg.hdr.grh_present = 0;
		msg.hdr.lid = htobe16(self->fabric.host[1].lid);
		msg.hdr.timeout_ms = 10;
		ret = fault_in(&fault, _umad_write(&client, &msg));
		fault_expect(&fault, ret < 0 ? errno : 0, 0);
		n = settle(&client, &server);
		if (ret < 0)
			EXPECT_EQ(0, n);
		umad_write(&client, &msg);
		umad_read(&server, &msg);
		EXPECT_EQ(fault.nth, (__u32)be64toh(msg.mad.tid));
		settle(&client, &server);
	}
	fault_end(&fault, 5);
	umad_close(&client);
	umad_close(&server);
}

/* Devices that come and go; umad's part of it */

static int live(const char *value)
{
	return umad_sysfs_write(UMAD_FABRIC_LIVE, value) ? errno : 0;
}

TEST_F_TIMEOUT(fabric, device_add, SWEEP_TIMEOUT)
{
	struct fault fault;
	struct umad_port port;
	int err;

	fault_begin(&fault);
	ASSERT_EQ(0, fault_within_umad());
	while (fault_next(&fault)) {
		ASSERT_EQ(0, live("0"));
		/* A device may do without umad */
		err = fault_in(&fault, live("1"));
		ASSERT_EQ(0, err) TH_LOG("live: %s", strerror(err));
		/* Whatever was left would be in the way of the next run */
		if (umad_fabric_port("h1", 1, &port) || umad_fabric_port("h2", 1, &port))
			EXPECT_TRUE(fault.struck);
	}
	fault_end(&fault, 20);
}

TEST_F_TIMEOUT(fabric, device_remove, SWEEP_TIMEOUT)
{
	struct umad_file file;
	struct umad_port port;
	struct umad_reg reg;
	struct fault fault;
	struct umad_msg msg;

	fault_begin(&fault);
	ASSERT_EQ(0, fault_within_umad());
	while (fault_next(&fault)) {
		ASSERT_EQ(0, umad_fabric_port("h1", 1, &port));
		umad_open(&port, O_RDWR | O_NONBLOCK, &file);
		reg = umad_reg_vendor(2, umad_get_set_send);
		umad_register(&file, &reg);
		EXPECT_EQ(0, fault_in(&fault, live("0")));
		EXPECT_EQ(-1, _umad_read(&file, &msg));
		EXPECT_EQ(EIO, errno);
		umad_close(&file);
		ASSERT_EQ(0, live("1"));
	}
	fault_end(&fault, 0);
}

/*
 * madsim's part of a fabric that goes live: what it asks for itself, or by few
 * calls. What ib_core asks for deep down it does not always survive to be
 * refused: alloc_workqueue() without its rescuer ends in destroy_workqueue().
 */
TEST_F_TIMEOUT(fabric, live, SWEEP_TIMEOUT)
{
	struct umad_port port;
	struct fault fault;
	__u64 start, end;
	int err;

	fault_begin(&fault);
	if (find_code("ib_madsim", NULL, &start, &end))
		SKIP(return, "ib_madsim is not a module");
	ASSERT_EQ(0, fault_within(start, end));
	ASSERT_EQ(0, fault_put_all("stacktrace-depth", "10"));
	while (fault_next(&fault)) {
		ASSERT_EQ(0, live("0"));
		err = fault_in(&fault, live("1"));
		fault_expect(&fault, err, 0);
		/* Of one that did not come up nothing is left */
		if (err) {
			EXPECT_NE(0, umad_fabric_port("h1", 1, &port));
			EXPECT_EQ(EALREADY, live("0"));
			ASSERT_EQ(0, live("1"));
		}
	}
	ASSERT_EQ(0, umad_fabric_port("h1", 1, &port));
	fault_end(&fault, 20);
}

/* The module itself */

FIXTURE(module)
{
	const char *path;
	struct umad_port port;
};

FIXTURE_SETUP(module)
{
	self->path = getenv("UMAD_MODULE");
	if (!self->path)
		SKIP(return, "no UMAD_MODULE in the environment, which names a file to load");
}

FIXTURE_TEARDOWN(module)
{
	fault_anywhere();
}

static int load_module(int fd)
{
	return syscall(SYS_finit_module, fd, "", 0) ? errno : 0;
}

static int unload_module(void)
{
	return syscall(SYS_delete_module, "ib_umad", O_NONBLOCK) ? errno : 0;
}

/*
 * Making a cache is left out: when it fails the kernel dumps its stack, which
 * looks like a report of a bug, and loses the name of the cache.
 */
TEST_F_TIMEOUT(module, load, SWEEP_TIMEOUT)
{
	struct fault fault;
	__u64 start, end;
	int err, fd;

	fault_begin(&fault);
	ASSERT_EQ(0, find_code(NULL, "do_one_initcall", &start, &end));
	ASSERT_EQ(0, fault_within(start, end));
	ASSERT_EQ(0, find_code(NULL, "__kmem_cache_create_args", &start, &end));
	ASSERT_EQ(0, fault_not_within(start, end));
	fd = open(self->path, O_RDONLY);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, unload_module());
	while (fault_next(&fault)) {
		err = fault_in(&fault, load_module(fd));
		fault_expect(&fault, err, 0);
		if (!err)
			ASSERT_EQ(0, unload_module());
		EXPECT_NE(0, access("/sys/class/infiniband_mad", F_OK));
	}
	ASSERT_EQ(0, load_module(fd));
	umad_port(&self->port);
	fault_end(&fault, 10);
	close(fd);
}

TEST_F_TIMEOUT(module, unload, SWEEP_TIMEOUT)
{
	struct fault fault;
	int fd;

	fault_begin(&fault);
	fd = open(self->path, O_RDONLY);
	ASSERT_LE(0, fd);
	while (fault_next(&fault)) {
		ASSERT_EQ(0, fault_within_umad());
		ASSERT_EQ(0, fault_in(&fault, unload_module()));
		EXPECT_NE(0, access("/sys/class/infiniband_mad", F_OK));
		ASSERT_EQ(0, load_module(fd));
		umad_port(&self->port);
	}
	fault_end(&fault, 0);
	close(fd);
}

TEST_HARNESS_MAIN
