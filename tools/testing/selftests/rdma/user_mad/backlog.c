// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * More requests than the MAD layer puts on the wire. That of Linux 7.2 holds
 * back what is beyond a number for each agent, older ones do not. Whichever it
 * is: each request ends once, and those that do not are not in the way of
 * anybody.
 */
#include <pthread.h>
#include <sched.h>

#include "kselftest_harness.h"
#include "lib/statistics.h"
#include "lib/subnet.h"

#define MANY		16384
#define NEVER_MS	600000

/* The switch has no cable there */
static const struct umad_path to_nobody = { 2, { 1, 3 } };

static long parameter(const char *module, const char *name, long otherwise)
{
	char text[32];

	return umad_sysfs_read(text, sizeof(text), "/sys/module/%s/parameters/%s",
			       module, name) ? otherwise : atol(text);
}

/* How many requests for SMPs an agent has on the wire, or 0 for all of them */
static int smp_window(void)
{
	long queue = parameter("ib_core", "recv_queue_size", 512);

	if (!umad_kernel_has("change_mad_state"))
		return 0;
	return (queue < 512 ? queue : 512) / 4;
}

#define UMAD_NO_BACKLOG	"the MAD layer of this kernel holds nothing back"

/* What a fault of h1 has done, by how its line in the list begins */
static long fault_count(const char *fault)
{
	size_t len = strlen(fault);
	char line[128], *count;
	long n = 0;
	FILE *f;

	f = fopen(UMAD_FABRIC_FAULTS, "r");
	while (f && fgets(line, sizeof(line), f)) {
		count = strncmp(line, fault, len) ? NULL : strstr(line, "injected ");
		if (count)
			n = atol(count + strlen("injected "));
	}
	if (f)
		fclose(f);
	return n;
}

/* Exactly this often, and then no more */
#define expect_fault_count(count, fault) do {				\
	long long __end = umad_now_ms() + UMAD_SOON_MS;			\
									\
	while (fault_count(fault) < (count) && umad_now_ms() < __end)	\
		umad_sleep_ms(5);					\
	umad_sleep_ms(UMAD_QUIET_MS);					\
	EXPECT_EQ(count, fault_count(fault));				\
} while (0)

/* A program with requests, which have the first transaction IDs there are */
FIXTURE(backlog)
{
	struct umad_fabric fabric;
	struct umad_sm sm;
	struct umad_file server;	/* on the second host, answers SMInfo */
	char limit[16];			/* of outstanding sends */
	int window;
	int strange;			/* what should not have been read */
	int ended;
	__u8 answers[MANY];
	__u8 records[MANY];
};

FIXTURE_SETUP(backlog)
{
	umad_sysfs_read(self->limit, sizeof(self->limit), UMAD_MAX_SENDS);
	self->fabric = (struct umad_fabric){ .hosts = 2, .star = true };
	umad_fabric_start(&self->fabric);
	umad_sm_open(&self->fabric.host[0], &self->sm);
	self->window = smp_window();
}

FIXTURE_TEARDOWN(backlog)
{
	umad_sm_close(&self->sm);
	umad_close(&self->server);
	if (self->limit[0])
		EXPECT_EQ(0, umad_sysfs_write(UMAD_MAX_SENDS, self->limit));
	umad_fabric_stop();
}

static struct umad_msg request(FIXTURE_DATA(backlog) *self, const struct umad_path *path,
			       __u32 tid, __u16 attr, __u32 timeout_ms, __u32 retries)
{
	struct umad_msg msg = umad_smp_msg(&self->sm, path, 0x1234, MAD_GET, attr, 0, NULL);

	msg.mad.tid = htobe64(tid);
	msg.hdr.timeout_ms = timeout_ms;
	msg.hdr.retries = retries;
	return msg;
}

#define send_to(self, path, tid, timeout_ms, retries) do {		\
	struct umad_msg __msg = request(self, path, tid, SMP_NODE_INFO,	\
					timeout_ms, retries);		\
									\
	umad_write(&(self)->sm.file, &__msg);				\
} while (0)

/* Takes down how one of @count requests has ended; false if none has, in time */
static bool take_one(FIXTURE_DATA(backlog) *self, __u32 count, int ms)
{
	const struct umad_file *file = &self->sm.file;
	struct umad_msg got;
	ssize_t n;
	__u32 i;

	if (!umad_readable(file, ms))
		return false;
	n = _umad_read(file, &got);
	if (n < 0)
		return false;
	self->ended++;
	i = be64toh(got.mad.tid);
	if (i >= count)
		self->strange++;
	else if (!got.hdr.status && got.mad.method == MAD_GET_RESP &&
		 n == (ssize_t)file->hlen + MAD_SIZE)
		self->answers[i]++;
	else if (got.hdr.status == ETIMEDOUT && got.mad.method == MAD_GET &&
		 n == (ssize_t)file->hlen + MAD_HDR)
		self->records[i]++;
	else
		self->strange++;
	return true;
}

/* The books: nothing strange, nothing left, nothing more to come */
#define expect_balance(self, count) do {				\
	EXPECT_EQ(count, (self)->ended);				\
	EXPECT_EQ(0, (self)->strange);					\
	umad_sleep_ms(UMAD_QUIET_MS);					\
	umad_expect_empty(&(self)->sm.file);				\
	if (!umad_reference()) {					\
		EXPECT_EQ(0, umad_fdinfo(&(self)->sm.file, "umad-outstanding")); \
		EXPECT_EQ(0, umad_fdinfo(&(self)->sm.file, "umad-unread")); \
		EXPECT_EQ(0, umad_fdinfo(&(self)->sm.file, "umad-dropped")); \
	}								\
} while (0)

/* Of eight requests one goes where nobody is, and of 64 one to our own port */
static const struct umad_path *path_of(__u32 i)
{
	switch (i % 64) {
	case 1:
		return &umad_here;
	case 9: case 25: case 41: case 57:
		return &umad_to_second;
	default:
		return i % 8 ? &umad_to_next : &to_nobody;
	}
}

/*
 * All written at once, and only then read. Without a backlog there may be more
 * answers at a time than the port has buffers for: those are lost.
 */
#define expect_each_ends_once(self, count) do {				\
	int __once = 0, __wrong = 0;					\
	long long __ms = umad_now_ms();					\
	__u32 __i;							\
									\
	for (__i = 0; __i < (count); __i++) {				\
		const struct umad_path *__path = path_of(__i);		\
									\
		if (__path == &to_nobody)				\
			send_to(self, __path, __i, 1 + __i % 40, __i % 3); \
		else							\
			send_to(self, __path, __i, 2000, 3);		\
	}								\
	while ((self)->ended < (int)(count) &&				\
	       take_one(self, count, 2 * UMAD_SOON_MS))			\
		;							\
	__ms = umad_now_ms() - __ms;					\
	for (__i = 0; __i < (count); __i++) {				\
		bool __nobody = path_of(__i) == &to_nobody;		\
									\
		__once += (self)->answers[__i] + (self)->records[__i] == 1; \
		__wrong += __nobody ? !(self)->records[__i] :		\
			   (self)->window && !(self)->answers[__i];	\
	}								\
	TH_LOG("%d of %d ended once, in %lld ms", __once, (int)(count), __ms); \
	EXPECT_EQ((int)(count), __once);				\
	EXPECT_EQ(0, __wrong);						\
	expect_balance(self, (int)(count));				\
} while (0)

TEST_F_TIMEOUT(backlog, a_thousand_end_once_each, UMAD_HANGS)
{
	expect_each_ends_once(self, 1000);
}

TEST_F_TIMEOUT(backlog, many_end_once_each, UMAD_HANGS)
{
	expect_each_ends_once(self, MANY);
}

/* The timeout of what waits begins when it has been sent */
TEST_F(backlog, timeout_starts_late)
{
	const int ms = 300;
	long long begun;
	int i;

	if (!self->window)
		SKIP(return, UMAD_NO_BACKLOG);
	begun = umad_now_ms();
	for (i = 0; i <= self->window; i++)
		send_to(self, &to_nobody, i, ms, 0);
	while (self->ended <= self->window &&
	       take_one(self, self->window + 1, UMAD_SOON_MS))
		;
	/* Less the rounding of two timers */
	EXPECT_LE(2 * ms - 50, umad_now_ms() - begun);
	expect_balance(self, self->window + 1);
}

/* Who waits counts as outstanding, and to the limit */
TEST_F(backlog, waiting_counts_as_outstanding)
{
	struct umad_msg msg;
	char text[16];
	int i;

	if (!self->limit[0])
		SKIP(return, "there is no limit");
	snprintf(text, sizeof(text), "%d", self->window + 10);
	ASSERT_EQ(0, umad_sysfs_write(UMAD_MAX_SENDS, text));
	for (i = 0; i < self->window + 10; i++)
		send_to(self, &to_nobody, i, NEVER_MS, 0);
	EXPECT_EQ(i, umad_fdinfo(&self->sm.file, "umad-outstanding"));
	msg = request(self, &to_nobody, i, SMP_NODE_INFO, NEVER_MS, 0);
	umad_err_write(ENOBUFS, &self->sm.file, &msg);
	/* Its transaction ID is taken, too */
	ASSERT_EQ(0, umad_sysfs_write(UMAD_MAX_SENDS, self->limit));
	msg.mad.tid = htobe64(i - 1);
	umad_err_write(EINVAL, &self->sm.file, &msg);
	umad_unregister(&self->sm.file, self->sm.directed);
	expect_balance(self, 0);
}

/* The agent goes while answers come, each of which makes room for another */
TEST_F_TIMEOUT(backlog, unregister_while_responses_come, UMAD_HANGS)
{
	struct umad_reg reg = umad_reg_smp(1, MAD_CLASS_SM_DIRECTED, 0);
	const int count = 512;
	int round, i, answered = 0, twice = 0;

	umad_fabric_fault("h1 1 delay_ms 1\nh1 1 delay permille 300");
	for (round = 0; round < 20; round++) {
		for (i = 0; i < count; i++)
			send_to(self, i % 4 ? &umad_to_next : &umad_to_second, i, NEVER_MS, 0);
		umad_sleep_ms(round);
		umad_unregister(&self->sm.file, self->sm.directed);
		while (take_one(self, count, 0))
			;
		for (i = 0; i < count; i++) {
			answered += self->answers[i];
			twice += self->answers[i] > 1 || self->records[i];
			self->answers[i] = 0;
		}
		/* The transaction IDs are free, or the next round fails */
		EXPECT_EQ(self->sm.directed, umad_register(&self->sm.file, &reg));
	}
	TH_LOG("%d of %d were answered first", answered, round * count);
	EXPECT_EQ(0, twice);
	expect_balance(self, answered);
}

/* A server that answers when it is told to */

#define open_server(self)						\
	umad_open_agent(&(self)->fabric.host[1], &umad_abi_new,		\
			umad_reg_smp(2, MAD_CLASS_SM_DIRECTED, 1ULL << MAD_GET), \
			&(self)->server)

#define ask_server(self, tid, timeout_ms, retries) do {			\
	struct umad_msg __msg = request(self, &umad_to_second, tid, SMP_SM_INFO, \
					timeout_ms, retries);		\
									\
	umad_write(&(self)->sm.file, &__msg);				\
} while (0)

static void make_answer(struct umad_msg *msg)
{
	msg->mad.method = MAD_GET_RESP;
	msg->mad.status = htobe16(SMP_D_BIT);
}

/* The MAD layer may drop what it has no buffer for, but never that much */
#define SERVED		256

/*
 * A request leaves the backlog, and the device refuses it. Its transaction is
 * over then, and everybody else's goes on.
 */
TEST_F(backlog, refused_by_the_device)
{
	static struct umad_msg asked[SERVED];
	int window = self->window, i;

	if (!window)
		SKIP(return, UMAD_NO_BACKLOG);
	ASSERT_GE(SERVED, window);
	open_server(self);
	for (i = 0; i < window + 3; i++)
		ask_server(self, i, NEVER_MS, 0);
	for (i = 0; i < window; i++) {
		umad_read(&self->server, &asked[i]);
		EXPECT_EQ(i, (int)(__u32)be64toh(asked[i].mad.tid));
		make_answer(&asked[i]);
	}
	umad_sleep_ms(UMAD_QUIET_MS);
	umad_expect_empty(&self->server);

	/* One may go: the next is refused, the one behind it takes the place */
	umad_fabric_fault("h1 fail post_send 5");
	umad_write(&self->server, &asked[0]);
	umad_read(&self->server, &asked[0]);
	EXPECT_EQ(window + 1, (int)(__u32)be64toh(asked[0].mad.tid));
	make_answer(&asked[0]);
	EXPECT_EQ(1, fault_count("h1 fail post_send"));
	ASSERT_TRUE(take_one(self, window + 3, UMAD_SOON_MS));
	EXPECT_EQ(1, self->answers[0]);
	EXPECT_FIXED(take_one(self, window + 3, umad_fixed_ms()) &&
		     self->records[window] == 1,
		     "a request that is refused when its turn comes has no end");

	/* It can be repeated, and everybody is answered in the end */
	ask_server(self, window, NEVER_MS, 0);
	for (i = 0; i < window; i++)
		umad_write(&self->server, &asked[i]);
	for (i = 0; i < 2; i++) {
		umad_read(&self->server, &asked[i]);
		make_answer(&asked[i]);
		umad_write(&self->server, &asked[i]);
	}
	for (i = 0; i < window + 2; i++)
		ASSERT_TRUE(take_one(self, window + 3, UMAD_SOON_MS));
	for (i = 0; i < window + 3; i++)
		EXPECT_EQ(1, self->answers[i]);
	if (!umad_reference())
		expect_balance(self, window + 4);
}

/* Keeps a CPU from everybody who is not urgent */
struct hog {
	pthread_t thread;
	int cpu;
	bool there;
	bool stop;
};

static bool be_urgent(int cpu, bool urgent)
{
	struct sched_param param = { .sched_priority = urgent };
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return !sched_setaffinity(0, sizeof(set), &set) &&
	       !sched_setscheduler(0, urgent ? SCHED_FIFO : SCHED_OTHER, &param);
}

static void *hog_thread(void *arg)
{
	struct hog *hog = arg;
	bool urgent = be_urgent(hog->cpu, true);

	__atomic_store_n(&hog->there, true, __ATOMIC_RELEASE);
	while (urgent && !__atomic_load_n(&hog->stop, __ATOMIC_ACQUIRE))
		;
	return NULL;
}

/*
 * Any kernel has a second list, of what the queue of a QP has no room for. To
 * fill it, the MAD layer's worker must not run for a moment. Two agents, as one
 * alone may not have that much on the wire.
 */
TEST_F_TIMEOUT(backlog, refused_after_a_full_queue, UMAD_HANGS)
{
	static struct hog hogs[64];
	int cpus = sysconf(_SC_NPROCESSORS_ONLN), each, attempt, i, ones = 0;
	struct umad_msg msg;
	long before = 0;

	ASSERT_GE(64, cpus);
	each = parameter("ib_core", "send_queue_size", 128) * 3 / 4;
	for (attempt = 0; !before && attempt < 10; attempt++) {
		memset(self->records, 0, sizeof(self->records));
		self->ended = 0;
		for (i = 1; i < cpus; i++) {
			hogs[i] = (struct hog){ .cpu = i };
			ASSERT_EQ(0, pthread_create(&hogs[i].thread, NULL, hog_thread, &hogs[i]));
			while (!__atomic_load_n(&hogs[i].there, __ATOMIC_ACQUIRE))
				sched_yield();
		}
		ASSERT_TRUE(be_urgent(0, true));
		for (i = 0; i < 2 * each; i++) {
			msg = request(self, i % 2 ? &to_nobody : NULL, i, SMP_NODE_INFO, 500, 0);
			if (_umad_write(&self->sm.file, &msg) < 0)
				break;
		}
		if (_umad_fabric_fault("h1 fail post_send 5"))
			i = 0;
		be_urgent(0, false);
		while (--cpus > 0) {
			__atomic_store_n(&hogs[cpus].stop, true, __ATOMIC_RELEASE);
			pthread_join(hogs[cpus].thread, NULL);
		}
		cpus = sysconf(_SC_NPROCESSORS_ONLN);
		ASSERT_EQ(2 * each, i)
			TH_LOG("write: %s", strerror(errno));
		while (self->ended < 2 * each &&
		       take_one(self, 2 * each, 2000))
			;
		before = fault_count("h1 fail post_send");
		umad_fabric_fault("h1 fail post_send 0");
	}
	ASSERT_EQ(1, before)
		TH_LOG("nothing was refused");
	for (i = 0; i < 2 * each; i++)
		ones += self->records[i] == 1 && !self->answers[i];
	TH_LOG("%d of %d have a record, in attempt %d", ones, 2 * each, attempt);
	EXPECT_EQ(0, self->strange);
	if (self->window) {
		/* This list is older, and a refusal there ends by the timeout */
		EXPECT_EQ(2 * each, ones);
	} else {
		EXPECT_FIXED(ones == 2 * each,
			     "a request that the device refuses later has no end");
	}
	if (!umad_reference())
		expect_balance(self, 2 * each);
}

/* A repetition that is refused is the last: the record comes at once */
TEST_F(backlog, refused_retry_is_the_last)
{
	send_to(self, &to_nobody, 1, 100, 1000);
	umad_fabric_fault("h1 fail post_send 5");
	ASSERT_TRUE(take_one(self, 2, UMAD_SOON_MS));
	EXPECT_EQ(1, self->records[1]);
	expect_balance(self, 1);
}

/*
 * Requests whose answer is late wait in line for their repetition, behind what
 * was written after them. The answer then comes, and there is nothing to repeat.
 */
#define LATE		16
#define BEHIND		24

TEST_F_TIMEOUT(backlog, answered_while_waiting_to_retry, UMAD_HANGS)
{
	static struct umad_msg asked[2 * SERVED];
	int window = self->window ?: 64, seen = 0, want, i;
	int count = window + BEHIND;

	ASSERT_GE(SERVED, window);
	open_server(self);
	for (i = 0; i < count; i++)
		ask_server(self, i, i < LATE ? 1000 : NEVER_MS, i < LATE ? 10 : 0);

	/* Those who wait have the places of the late, or the late come again */
	want = self->window ? window + LATE : count + LATE;
	for (; seen < want; seen++) {
		umad_read(&self->server, &asked[seen]);
		make_answer(&asked[seen]);
	}
	if (self->window) {
		umad_expect_empty(&self->server);
		for (i = 0; i < seen; i++)
			EXPECT_EQ(i, (int)(__u32)be64toh(asked[i].mad.tid));
	}

	for (i = 0; i < LATE; i++)
		umad_write(&self->server, &asked[i]);
	for (i = 0; i < LATE; i++)
		ASSERT_TRUE(take_one(self, count, UMAD_SOON_MS));
	for (i = 0; i < LATE; i++)
		EXPECT_EQ(1, self->answers[i]);
	umad_sleep_ms(UMAD_QUIET_MS);
	umad_expect_empty(&self->sm.file);
	if (!umad_reference())
		EXPECT_EQ(count - LATE, umad_fdinfo(&self->sm.file, "umad-outstanding"));

	/* All others get their answer as well, and no repetition gets out */
	for (i = LATE; i < seen; i++)
		umad_write(&self->server, &asked[i]);
	for (; self->window && seen < count; seen++) {
		umad_read(&self->server, &asked[seen]);
		EXPECT_EQ(seen, (int)(__u32)be64toh(asked[seen].mad.tid));
		make_answer(&asked[seen]);
		umad_write(&self->server, &asked[seen]);
	}
	while (self->ended < count && take_one(self, count, UMAD_SOON_MS))
		;
	for (i = 0; i < count; i++)
		EXPECT_EQ(1, self->answers[i]);
	if (self->window)
		umad_expect_empty(&self->server);
	expect_balance(self, count);
}

/* How much of what an agent sends is on the wire at a time */

FIXTURE(wire)
{
	struct umad_fabric fabric;
	struct umad_file file;
};

FIXTURE_VARIANT(wire)
{
	__u8 agent;		/* its class */
	__u8 request;		/* the request's */
	__u8 version;
	int part;		/* of the port's receive queue; 0: no limit */
};

#define wire_variant(name, agent_, request_, version_, part_)		\
	FIXTURE_VARIANT_ADD(wire, name) {				\
		.agent = agent_, .request = request_,			\
		.version = version_, .part = part_			\
	}

wire_variant(directed, MAD_CLASS_SM_DIRECTED, MAD_CLASS_SM_DIRECTED, 1, 4);
wire_variant(by_lid, MAD_CLASS_SM_LID, MAD_CLASS_SM_LID, 1, 4);
wire_variant(sa, MAD_CLASS_SA, MAD_CLASS_SA, 2, 32);
wire_variant(cm, MAD_CLASS_CM, MAD_CLASS_CM, 2, 4);
wire_variant(send_only, 0, MAD_CLASS_SA, 2, 4);
/* Neither what other classes send, nor what is sent by agents of others */
wire_variant(other_request, 0, MAD_CLASS_VENDOR2, 1, 0);
wire_variant(other_agent, MAD_CLASS_VENDOR1, MAD_CLASS_SA, 2, 0);

FIXTURE_SETUP(wire)
{
	self->fabric = (struct umad_fabric){ .hosts = 2 };
	umad_subnet(&self->fabric);
	umad_open(&self->fabric.host[0], O_RDWR | O_NONBLOCK, &self->file);
	umad_enable_pkey(&self->file);
}

FIXTURE_TEARDOWN(wire)
{
	umad_close(&self->file);
	umad_fabric_stop();
}

TEST_F_TIMEOUT(wire, requests_on_the_wire_at_a_time, UMAD_HANGS)
{
	bool smp = variant->request == MAD_CLASS_SM_DIRECTED ||
		   variant->request == MAD_CLASS_SM_LID;
	long queue = parameter("ib_core", "recv_queue_size", 512);
	const int count = 600;
	struct umad_msg msg;
	struct umad_smp *smp_of = umad_smp_of(&msg);
	long each = count;
	int agent, i;

	if (variant->part && smp_window())
		each = (smp && queue > 512 ? 512 : queue) / variant->part;
	ASSERT_GE(count, each);
	/* Where they are counted and end. What others ask us is not answered then */
	umad_fabric_fault("h2 1 drop nth 1");
	umad_sleep_ms(UMAD_QUIET_MS);
	umad_fabric_fault("h1 1 drop nth 1");
	for (agent = 1; agent <= 2; agent++) {
		struct umad_reg reg = {
			.api = 2,
			.qpn = !smp,
			.mgmt_class = variant->agent,
			.class_version = variant->version,
		};
		__u32 id = umad_register(&self->file, &reg);

		for (i = 0; i < count; i++) {
			msg = umad_msg(&self->fabric.host[1], id, MAD_GET, i);
			msg.hdr.qpn = htobe32(!smp);
			msg.hdr.timeout_ms = NEVER_MS;
			msg.mad.mgmt_class = variant->request;
			msg.mad.class_version = variant->version;
			if (variant->request == MAD_CLASS_SM_DIRECTED) {
				msg.hdr.lid = htobe16(LID_PERMISSIVE);
				msg.mad.status = 0;
				smp_of->hop_ptr = 0;
				smp_of->hop_cnt = 1;
				smp_of->dr_slid = htobe16(LID_PERMISSIVE);
				smp_of->dr_dlid = htobe16(LID_PERMISSIVE);
				smp_of->initial_path[1] = 1;
			}
			umad_write(&self->file, &msg);
		}
		/* Each agent for itself */
		expect_fault_count(agent * each, "h1 1 drop");
	}
	umad_expect_empty(&self->file);
	TH_LOG("%ld of %d", each, count);
}

TEST_HARNESS_MAIN
