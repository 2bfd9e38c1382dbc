// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What user space asks of umad and of madsim, with each allocation and each access to user
 * memory on the way failing once, in turn: in the first run of a test the first one of each
 * call fails, in the next run the second one, until a run comes through in which no call has
 * that many. A failed call must return ENOMEM or EFAULT, must have left nothing behind, and
 * must work when it is repeated. Calls that give back may not fail.
 *
 * This takes a kernel with FAILSLAB, FAIL_PAGE_ALLOC, FAULT_INJECTION_USERCOPY and
 * FAULT_INJECTION_STACKTRACE_FILTER. Reports of KASAN and lockdep are in the kernel's log.
 * The suite sanitize asks kmemleak behind this program.
 */
#define PAIR_TWO_VARIANTS
#include <limits.h>
#include <sys/syscall.h>

#include "kselftest_harness.h"
#include "lib/long.h"
#include "lib/pair.h"
#include "lib/subnet.h"

#define SWEEP_TIMEOUT	600	/* seconds; nothing waits for that */
#define FREE_METHOD	0x21	/* one that the server of a pair does not take */
#define CLEAN_TID	0x700000
#define ALWAYS		1000000	/* a fault that no call meets */

struct fault {
	int fd;			/* fail-nth of this thread */
	unsigned int nth;	/* which one of each call in this run */
	bool hit;		/* the last call met it */
	bool struck;		/* a call of this run did */
};

static const char *const fault_dirs[] = { "failslab", "fail_page_alloc", "fail_usercopy" };

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

/* "require": only what is called from code between these addresses fails; "reject": not that */
static int fault_range(const char *which, __u64 start, __u64 end)
{
	char name[32], text[32];
	int i, ret = 0;

	for (i = 0; i < 2; i++) {
		snprintf(name, sizeof(name), "%s-%s", which, i ? "end" : "start");
		snprintf(text, sizeof(text), "0x%llx", (unsigned long long)(i ? end : start));
		ret |= fault_put_all(name, text);
	}
	return ret;
}

static int fault_anywhere(void)
{
	return fault_put_all("stacktrace-depth", "32") |
	       fault_range("require", 0, ULONG_MAX) | fault_range("reject", 0, 0);
}

/* Skips the program on a kernel that cannot do all that */
static __attribute__((constructor)) void fault_setup(void)
{
	if (access("/proc/thread-self/fail-nth", W_OK) || fault_put_all("verbose", "0") ||
	    fault_put("failslab", "ignore-gfp-wait", "N") ||
	    fault_put("fail_page_alloc", "ignore-gfp-wait", "N") ||
	    fault_put("fail_page_alloc", "ignore-gfp-highmem", "N") ||
	    fault_put("fail_page_alloc", "min-order", "0") || fault_anywhere())
		ksft_exit_skip("no fault injection in this kernel\n");
}

/* The range @which becomes the code of @module, or that of the function @name */
static int fault_at(const char *which, const char *module, const char *name)
{
	unsigned long long at, start = ULONG_MAX, end = 0;
	char line[512], sym[256], mod[128], type;
	bool found = false;
	FILE *file;

	file = fopen("/proc/kallsyms", "r");
	while (file && fgets(line, sizeof(line), file)) {
		mod[0] = 0;
		if (sscanf(line, "%llx %c %255s [%127[^]]", &at, &type, sym, mod) < 3 ||
		    strcmp(mod, module ?: ""))
			continue;
		if (module && strchr("tT", type)) {
			start = at < start ? at : start;
			/* The last function has some length, too */
			end = at + 4096 > end ? at + 4096 : end;
		} else if (!module && found && at > start) {
			end = at;
			break;
		} else if (!module && !strcmp(sym, name)) {
			found = true;
			start = at;
		}
	}
	if (file)
		fclose(file);
	return end ? fault_range(which, start, end) : -1;
}

static int fault_within_umad(void)
{
	return fault_at("require", "ib_umad", NULL);
}

static int fault_set(const struct fault *fault, unsigned int nth)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", nth);

	/* Reading the number may be what fails */
	return pwrite(fault->fd, text, len, 0) == len ||
	       pwrite(fault->fd, text, len, 0) == len ? 0 : -1;
}

/* Notes whether the fault was met since it was set; from now on none is */
static void fault_clear(struct fault *fault)
{
	char text[16] = "";
	ssize_t n;

	/* If writing the answer is what fails, nothing did before */
	n = pread(fault->fd, text, sizeof(text), 0);
	fault_set(fault, 0);
	fault->hit = n > 0 && !strcmp(text, "0\n");
	fault->struck |= fault->hit;
}

static bool fault_next(struct fault *fault)
{
	if (fault->nth && !fault->struck)
		return false;
	fault->nth++;
	fault->struck = false;
	return true;
}

/*
 * Receiving happens in a worker of the kernel, where fail-nth does not reach. There the next
 * @times allocations that are called from our module fail, or all if -1; this thread is
 * spared by a fault far away.
 */
static int fault_elsewhere(const struct fault *fault, int times)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", times);
	return fault_put("failslab", "times", text) |
	       fault_put("failslab", "probability", "100") | fault_set(fault, ALWAYS);
}

/* Whether all of them have failed */
static bool fault_nowhere(const struct fault *fault)
{
	char times[16] = "";

	fault_set(fault, 0);
	fault_put("failslab", "probability", "0");
	umad_sysfs_read(times, sizeof(times), "/sys/kernel/debug/failslab/times");
	return !strcmp(times, "0");
}

/* Reads whatever comes until nothing is outstanding; returns how many packets */
static int fault_settle(const struct umad_file *a, const struct umad_file *b)
{
	long long end = umad_now_ms() + UMAD_SOON_MS;
	static __u8 buf[1 << 16];
	bool idle;
	int n = 0;

	do {
		umad_sleep_ms(1);
		idle = !umad_fdinfo(a, "umad-outstanding") && !umad_fdinfo(b, "umad-outstanding");
		while (read(a->fd, buf, sizeof(buf)) > 0 || read(b->fd, buf, sizeof(buf)) > 0)
			n++;
	} while (!idle && umad_now_ms() < end);
	return n;
}

#define fault_begin(f) do {						\
	*(f) = (struct fault){ .fd = open("/proc/thread-self/fail-nth", O_RDWR) }; \
	ASSERT_LE(0, (f)->fd);						\
} while (0)

/* The value of @call, in which the fault may strike; errno stays */
#define fault_in(fault, call) ({					\
	long __ret;							\
	int __err;							\
									\
	ASSERT_EQ(0, fault_set(fault, (fault)->nth));			\
	__ret = (call);							\
	__err = errno;							\
	fault_clear(fault);						\
	errno = __err;							\
	__ret;								\
})

/* @err, if not 0, is a failure that only the fault can have caused */
#define fault_expect(fault, err) do {					\
	int __e = (err);						\
									\
	if (__e) {							\
		EXPECT_TRUE((fault)->hit);				\
		EXPECT_TRUE(__e == ENOMEM || __e == EFAULT)		\
			TH_LOG("fault %u: %s", (fault)->nth, strerror(__e)); \
	}								\
} while (0)

/* The value of @call, which fails for the fault or not at all */
#define fault_call(fault, call) ({					\
	long __value = fault_in(fault, call);				\
									\
	fault_expect(fault, __value < 0 ? errno : 0);			\
	__value;							\
})

/* There must have been @least faults, or this has tested nothing */
#define fault_end(fault, least) do {					\
	ksft_print_msg("%s: %u fault points\n", _metadata->name, (fault)->nth - 1); \
	EXPECT_LE((unsigned int)(least), (fault)->nth - 1);		\
	close((fault)->fd);						\
} while (0)

/* A test need not look at all that it is given */
#pragma GCC diagnostic ignored "-Wunused-parameter"

#define NTH_ARGS(fixture)						\
	(struct __test_metadata *_metadata, FIXTURE_DATA(fixture) *self, \
	 const FIXTURE_VARIANT(fixture) *variant, struct fault *fault)

/*
 * Runs what follows for each fault; there must have been @least. @fault is which one
 * it is. A run that skips the test is the last.
 */
#define TEST_FAIL_NTH(fixture, test, least)				\
	static void fixture##_nth_##test NTH_ARGS(fixture);		\
	TEST_F_TIMEOUT(fixture, test, SWEEP_TIMEOUT)			\
	{								\
		struct fault fault;					\
									\
		fault_begin(&fault);					\
		while (fault_next(&fault))				\
			fixture##_nth_##test(_metadata, self, variant, &fault); \
		if (_metadata->exit_code != KSFT_SKIP)			\
			fault_end(&fault, least);			\
	}								\
	static void fixture##_nth_##test NTH_ARGS(fixture)

/* Descriptors and agents */

TEST_FAIL_NTH(pair, agent, 5)
{
	struct umad_reg reg = umad_reg_vendor(variant->abi.api, 1ULL << FREE_METHOD);
	struct umad_file file;
	struct umad_msg msg;

	if (fault_call(fault, _umad_open(&self->port, O_RDWR | O_NONBLOCK, &file)))
		umad_open(&self->port, O_RDWR | O_NONBLOCK, &file);
	/* A request for too much, which is told what there is */
	if (reg.api == 2) {
		reg.flags = 0xffff;
		EXPECT_EQ(-1, fault_in(fault, _umad_register(&file, &reg)));
		if (errno != EINVAL)
			fault_expect(fault, errno);
		else
			EXPECT_EQ(IB_USER_MAD_USER_RMPP, reg.flags);
		EXPECT_EQ(0, umad_fdinfo(&file, "umad-agents"));
		reg.flags = 0;
	}
	if (fault_call(fault, _umad_register(&file, &reg))) {
		EXPECT_EQ(0xdeadbeef, reg.id);
		EXPECT_EQ(0, umad_fdinfo(&file, "umad-agents"));
		/* The layout of the header is not settled yet */
		umad_enable_pkey(&file);
		umad_register(&file, &reg);
	}
	EXPECT_EQ(0, reg.id);
	EXPECT_EQ(1, umad_fdinfo(&file, "umad-agents"));
	if (fault_call(fault, _umad_unregister(&file, reg.id))) {
		EXPECT_EQ(1, umad_fdinfo(&file, "umad-agents"));
		umad_unregister(&file, reg.id);
	}
	EXPECT_EQ(0, umad_fdinfo(&file, "umad-agents"));
	umad_close(&file);

	/* A descriptor with an agent, a MAD that was not read, and a send that is outstanding */
	umad_open_agent(&self->port, &variant->abi, reg, &file);
	msg = umad_msg(&self->port, reg.id, FREE_METHOD, 1);
	umad_write(&file, &msg);
	ASSERT_TRUE(umad_readable(&file, UMAD_SOON_MS));
	msg = umad_request(&self->port, reg.id, MAD_GET, 2, 60000);
	umad_write(&file, &msg);
	umad_read(&self->server, &msg);
	EXPECT_EQ(0, fault_in(fault, close(file.fd)));
	/* The method is free again: the next run registers it */
}

/* Sends */

/* What was refused was not sent; its transaction ID is free again */
#define nth_write(fault, from, to, msg) do {				\
	ssize_t __ret = fault_call(fault, _umad_write(from, msg));	\
	int __n = fault_settle(from, to);				\
	struct umad_msg __got;						\
									\
	if (__ret < 0)							\
		EXPECT_EQ(0, __n);					\
	umad_write(from, msg);						\
	umad_read(to, &__got);						\
	EXPECT_EQ((__u32)be64toh((msg)->mad.tid), (__u32)be64toh(__got.mad.tid)); \
	fault_settle(from, to);						\
	EXPECT_EQ(0, umad_fdinfo(from, "umad-outstanding"));		\
} while (0)

TEST_FAIL_NTH(pair, write, 10)
{
	struct umad_msg send = umad_msg(&self->port, self->cid, MAD_SEND, fault->nth);
	struct umad_msg msg = umad_request(&self->port, self->cid, MAD_GET, fault->nth, 10), got;

	nth_write(fault, &self->client, &self->server, &send);
	nth_write(fault, &self->client, &self->server, &msg);

	/* An answer, or a timeout if it was lost */
	msg.hdr.timeout_ms = 300;
	pair_deliver(self, &msg, &got);
	got.mad.method = MAD_GET_RESP;
	if (fault_call(fault, _umad_write(&self->server, &got)) < 0)
		umad_write(&self->server, &got);
	EXPECT_EQ(1, fault_settle(&self->client, &self->server));
}

/* The receiver knows a transaction ID for some seconds, so that each message has its own */
TEST_FAIL_NTH(pair, message, 15)
{
	static struct umad_long msg;
	const size_t len = 9000;
	struct umad_msg head;
	size_t size;
	ssize_t ret;
	int n;

	if (fault->nth == 1) {
		umad_long_alloc(&msg, 1 << 16);
		pair_rmpp(self, MAD_SEND);
	}
	head = umad_msg(&self->port, self->cid, MAD_SEND, fault->nth);
	head.hdr.retries = 1;
	umad_make_active(&head);
	size = umad_long_pack(&self->client, &head, len, 1, msg.out);
	ret = fault_call(fault, write(self->client.fd, msg.out, size));
	n = fault_settle(&self->client, &self->server);
	if (ret < 0)
		EXPECT_EQ(0, n) TH_LOG("fault %u", fault->nth);
	EXPECT_EQ(0, umad_fdinfo(&self->client, "umad-outstanding"));

	head.mad.tid = htobe64(CLEAN_TID + fault->nth);
	umad_long_write(&self->client, &head, len, 2, &msg);
	umad_long_read(&self->server, self->sid, &head, len, 2, &msg);

	/* A read that fails leaves it there */
	head.mad.tid = htobe64(2 * CLEAN_TID + fault->nth);
	umad_long_write(&self->client, &head, len, 3, &msg);
	ASSERT_TRUE(umad_readable(&self->server, UMAD_LONG_MS));
	ret = fault_call(fault, read(self->server.fd, msg.in, msg.max));
	if (ret < 0)
		umad_long_read(&self->server, self->sid, &head, len, 3, &msg);
	else
		umad_long_expect(&self->server, self->sid, &head, len, 3, &msg, ret);
	umad_expect_empty(&self->server);
	fault_settle(&self->client, &self->server);
}

/* What arrives */

/*
 * An answer that cannot be received ends its request like one that never came; and however
 * little memory there is, a timeout is told. A MAD for which no memory can be charged is
 * counted: only when there is none for that either, it is dropped. A message of several
 * segments is always counted.
 */
TEST_F_TIMEOUT(pair, receive, SWEEP_TIMEOUT)
{
	/* Data, and how many allocations have to fail */
	static const int rows[][2] = { { 100, 1 }, { 100, 2 }, { 600, 1 } };
	struct umad_msg ask = umad_request(&self->port, self->cid, MAD_GET, 1,
					   1000 * SWEEP_TIMEOUT);
	struct umad_msg head = umad_lost_request(&self->port, self->cid, MAD_GET, 2, 20), got;
	struct umad_long msg;
	struct fault fault;
	unsigned int i;
	long lost;

	fault_begin(&fault);
	ASSERT_EQ(0, fault_within_umad());
	pair_deliver(self, &ask, &got);
	got.mad.method = MAD_GET_RESP;
	ASSERT_EQ(0, fault_elsewhere(&fault, 2));
	umad_write(&self->server, &got);
	EXPECT_TRUE(umad_readable(&self->client, UMAD_SOON_MS));
	EXPECT_TRUE(fault_nowhere(&fault));
	umad_read_timeout(&self->client, &got);
	EXPECT_EQ(1, (int)be64toh(got.mad.tid));
	EXPECT_EQ(1, umad_fdinfo(&self->client, "umad-dropped"));
	umad_expect_empty(&self->client);

	ASSERT_EQ(0, fault_elsewhere(&fault, -1));
	umad_write(&self->client, &head);
	EXPECT_TRUE(umad_readable(&self->client, UMAD_SOON_MS));
	fault_nowhere(&fault);
	umad_read_timeout(&self->client, &got);
	EXPECT_EQ(2, (int)be64toh(got.mad.tid));
	/* Its transaction is over */
	pair_deliver(self, &ask, &got);

	umad_long_alloc(&msg, 1 << 16);
	pair_rmpp(self, FREE_METHOD);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		lost = umad_fdinfo(&self->server, "umad-dropped");
		head = umad_msg(&self->port, self->cid, FREE_METHOD, i);
		umad_make_active(&head);
		ASSERT_EQ(0, fault_elsewhere(&fault, rows[i][1]));
		umad_long_write(&self->client, &head, rows[i][0], 4, &msg);
		while (umad_fdinfo(&self->client, "umad-outstanding"))
			umad_sleep_ms(1);
		umad_sleep_ms(5);
		EXPECT_TRUE(fault_nowhere(&fault));

		/* It is either there or counted */
		lost = umad_fdinfo(&self->server, "umad-dropped") - lost;
		EXPECT_EQ(i > 0, lost);
		EXPECT_EQ(!lost, umad_readable(&self->server, 0));
		if (!lost)
			ASSERT_LT(0, read(self->server.fd, msg.in, msg.max));

		head.mad.tid = htobe64(CLEAN_TID + i);
		umad_long_write(&self->client, &head, rows[i][0], 5, &msg);
		umad_long_read(&self->server, self->sid, &head, rows[i][0], 5, &msg);
	}
	fault_anywhere();
	umad_long_free(&msg);
}

/* On InfiniBand: SMPs, requests whose address needs not to be resolved, issmN */

FIXTURE(fabric)
{
	UMAD_CLIENT_AND_SERVER;
	struct umad_fabric fabric;
	struct umad_sm sm;
	char issm[64];
};

FIXTURE_SETUP(fabric)
{
	self->fabric = (struct umad_fabric){ .hosts = 2 };
	umad_subnet(&self->fabric);
	umad_issm_dev(&self->fabric.host[0], self->issm);
	umad_sm_open(&self->fabric.host[0], &self->sm);
	umad_open_both(self, &umad_abi_new, &self->fabric.host[0], umad_reg_send_only(2),
		       &self->fabric.host[1], umad_reg_vendor(2, umad_get_set_send));
}

FIXTURE_TEARDOWN(fabric)
{
	fault_anywhere();
	umad_sm_close(&self->sm);
	umad_close_both(self);
	umad_fabric_stop();
}

/* Answered within write(), by the neighbour, and by a program there */
TEST_FAIL_NTH(fabric, write, 5)
{
	struct umad_msg here = umad_smp_msg(&self->sm, &umad_here, 0, MAD_GET, SMP_NODE_INFO);
	struct umad_msg next = umad_smp_msg(&self->sm, &umad_to_next, 0, MAD_GET, SMP_NODE_INFO);
	struct umad_msg by_lid = umad_request(&self->fabric.host[1], self->cid, MAD_GET,
					      fault->nth, 10);

	here.hdr.timeout_ms = 50;
	nth_write(fault, &self->sm.file, &self->sm.file, &here);
	next.hdr.timeout_ms = 50;
	nth_write(fault, &self->sm.file, &self->sm.file, &next);
	nth_write(fault, &self->client, &self->server, &by_lid);
}

#define is_sm(port)	(!!(umad_port_caps(port) & PORT_CAP_IS_SM))

TEST_FAIL_NTH(fabric, issm, 3)
{
	struct umad_port *port = &self->fabric.host[0];
	int fd;

	fd = fault_call(fault, open(self->issm, O_RDWR | O_NONBLOCK));
	EXPECT_EQ(fd >= 0, is_sm(port));
	if (fd < 0) {
		fd = open(self->issm, O_RDWR | O_NONBLOCK);
		ASSERT_LE(0, fd);
	}
	EXPECT_EQ(0, fault_in(fault, close(fd)));
	EXPECT_FALSE(is_sm(port));
}

/* Devices that come and go */

static int set_live(const char *value)
{
	return umad_sysfs_write(UMAD_FABRIC "/live", value) ? errno : 0;
}

TEST_FAIL_NTH(fabric, device, 20)
{
	struct umad_file file;
	struct umad_port port;
	struct umad_msg msg;
	int err;

	if (fault->nth == 1)
		ASSERT_EQ(0, fault_within_umad());
	ASSERT_EQ(0, umad_fabric_port("h1", 1, &port));
	umad_open_agent(&port, &umad_abi_new, umad_reg_vendor(2, 1ULL << FREE_METHOD), &file);
	EXPECT_EQ(0, fault_in(fault, set_live("0")));
	umad_err(EIO, _umad_read(&file, &msg));
	umad_close(&file);

	/* A device may do without umad; a thing that was left would be in the way of the next */
	err = fault_in(fault, set_live("1"));
	ASSERT_EQ(0, err) TH_LOG("live: %s", strerror(err));
	if (umad_fabric_port("h1", 1, &port) || umad_fabric_port("h2", 1, &port))
		EXPECT_TRUE(fault->hit);
	if (fault->hit) {
		ASSERT_EQ(0, set_live("0"));
		ASSERT_EQ(0, set_live("1"));
		ASSERT_EQ(0, umad_fabric_port("h2", 1, &port));
	}
	/* ... and its number would be taken */
	EXPECT_STREQ(self->fabric.host[1].name, port.name);
}

/*
 * madsim's part of a fabric that goes live, and of a node that is new after that, up to its
 * power: what it asks for itself, or by few calls. What ib_core asks for deep down it does not
 * always survive to be refused: alloc_workqueue() without its rescuer ends in
 * destroy_workqueue().
 */
TEST_FAIL_NTH(fabric, live, 20)
{
	static const char node[] = UMAD_FABRIC "/new";
	struct umad_port port;
	int err;

	if (fault->nth == 1) {
		if (access("/sys/module/ib_madsim/initstate", F_OK))
			SKIP(return, "ib_madsim is not a module");
		ASSERT_EQ(0, fault_at("require", "ib_madsim", NULL));
		ASSERT_EQ(0, fault_put_all("stacktrace-depth", "10"));
	}
	ASSERT_EQ(0, set_live("0"));
	err = fault_in(fault, set_live("1"));
	fault_expect(fault, err);
	/* Of one that did not come up nothing is left */
	if (err) {
		EXPECT_NE(0, umad_fabric_port("h1", 1, &port));
		EXPECT_EQ(EALREADY, set_live("0"));
		ASSERT_EQ(0, set_live("1"));
	}
	ASSERT_EQ(0, umad_fabric_port("h1", 1, &port));

	if (fault_call(fault, mkdir(node, 0755)))
		ASSERT_EQ(0, mkdir(node, 0755));
	ASSERT_EQ(0, umad_sysfs_write(UMAD_FABRIC "/new/device", "1"));
	err = fault_call(fault, _umad_fabric_fault("new plug"));
	EXPECT_EQ(!err, !umad_fabric_port("new", 1, &port));
	ASSERT_EQ(0, rmdir(node));
}

/* The module itself */

FIXTURE(module) {};

FIXTURE_SETUP(module) {}

FIXTURE_TEARDOWN(module)
{
	fault_anywhere();
}

#define load_module(fd)		(syscall(SYS_finit_module, fd, "", 0) ? errno : 0)
#define unload_module()		syscall(SYS_delete_module, "ib_umad", O_NONBLOCK)

/* What there is while the module is loaded. Caches are in sysfs where SLUB is debugged */
static const char *const things[] = {
	"/sys/class/infiniband_mad",
	"/sys/kernel/slab/ib_umad_send",
};

/*
 * Making a cache is left out: when it fails the kernel dumps its stack, which
 * looks like a report of a bug, and loses the name of the cache.
 */
TEST_F_TIMEOUT(module, load, SWEEP_TIMEOUT)
{
	const char *path = getenv("UMAD_MODULE");
	struct umad_port port;
	struct fault fault;
	int err, fd;
	size_t i;

	if (!path)
		SKIP(return, "no UMAD_MODULE in the environment, which names a file to load");
	for (i = 0; i < ARRAY_SIZE(things); i++)
		ASSERT_EQ(0, access(things[i], F_OK));
	fault_begin(&fault);
	ASSERT_EQ(0, fault_at("require", NULL, "do_one_initcall"));
	ASSERT_EQ(0, fault_at("reject", NULL, "__kmem_cache_create_args"));
	fd = open(path, O_RDONLY);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, unload_module());
	while (fault_next(&fault)) {
		err = fault_in(&fault, load_module(fd));
		fault_expect(&fault, err);
		if (!err)
			ASSERT_EQ(0, unload_module());
		for (i = 0; i < ARRAY_SIZE(things); i++) {
			EXPECT_NE(0, access(things[i], F_OK))
				TH_LOG("%s is left", things[i]);
		}
	}
	ASSERT_EQ(0, load_module(fd));
	umad_port(&port);
	fault_end(&fault, 10);
	close(fd);
}

TEST_HARNESS_MAIN
