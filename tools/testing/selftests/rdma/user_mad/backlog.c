// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * More requests than the MAD layer puts on the wire. That of Linux 7.2 holds
 * back what is beyond a number for each agent, older ones do not. Whichever it
 * is: each request ends once, those that do not end are in the way of no other one,
 * and their end gives back all that they have taken.
 */
#include <signal.h>

#include "kselftest_harness.h"
#include "lib/cgroup.h"
#include "lib/subnet.h"

#define MANY		16384
#define NEVER_MS	600000

/* The switch has no cable there */
static const struct umad_path to_nobody = { 2, { 1, 3 } };

#define UMAD_NO_BACKLOG	"the MAD layer of this kernel holds nothing back"

/* How many requests for SMPs an agent has on the wire, or 0 for all of them */
static int smp_window(void)
{
	char text[32];
	int queue = 512;

	if (!umad_kernel_has("change_mad_state"))
		return 0;
	if (!umad_sysfs_read(text, sizeof(text), "/sys/module/ib_core/parameters/recv_queue_size"))
		queue = atoi(text);
	return (queue < 512 ? queue : 512) / 4;
}

/* A program with requests, which have the first transaction IDs there are */
FIXTURE(backlog)
{
	struct umad_fabric fabric;
	struct umad_sm sm;
	int window;
	int strange;			/* what should not have been read */
	int ended;
	__u8 answers[MANY];
	__u8 records[MANY];
};

FIXTURE_SETUP(backlog)
{
	self->fabric = (struct umad_fabric){ .hosts = 2, .star = true };
	umad_fabric_start(&self->fabric);
	umad_sm_open(&self->fabric.host[0], &self->sm);
	self->window = smp_window();
}

FIXTURE_TEARDOWN(backlog)
{
	umad_sm_close(&self->sm);
	umad_fabric_stop();
}

static struct umad_msg request(FIXTURE_DATA(backlog) *self, const struct umad_path *path,
			       __u32 tid, __u32 timeout_ms, __u32 retries)
{
	struct umad_msg msg = umad_smp_msg(&self->sm, path, 0, MAD_GET, SMP_NODE_INFO);

	msg.mad.tid = htobe64(tid);
	msg.hdr.timeout_ms = timeout_ms;
	msg.hdr.retries = retries;
	return msg;
}

#define send_to(self, path, tid, timeout_ms, retries) do {		\
	struct umad_msg __msg = request(self, path, tid, timeout_ms,	\
					retries);				\
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

/* Of eight requests one goes where no node is, and of 64 one to our own port */
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
TEST_F_TIMEOUT(backlog, many_end_once_each, UMAD_HANGS)
{
	int once = 0, wrong = 0;
	__u32 i;

	for (i = 0; i < MANY; i++) {
		const struct umad_path *path = path_of(i);

		if (path == &to_nobody)
			send_to(self, path, i, 1 + i % 40, i % 3);
		else
			send_to(self, path, i, 2000, 12);
	}
	while (self->ended < MANY && take_one(self, MANY, 2 * UMAD_SOON_MS))
		;
	for (i = 0; i < MANY; i++) {
		once += self->answers[i] + self->records[i] == 1;
		wrong += path_of(i) == &to_nobody ? !self->records[i] :
			 self->window && !self->answers[i];
	}
	EXPECT_EQ(MANY, once);
	EXPECT_EQ(0, wrong);
	expect_balance(self, MANY);
}

/*
 * A request leaves the backlog, and the device refuses it. Its transaction is
 * over then, and the one behind it takes the place.
 */
TEST_F(backlog, refused_by_the_device)
{
	int window = self->window, i;

	if (!window)
		SKIP(return, UMAD_NO_BACKLOG);
	send_to(self, &to_nobody, 0, 500, 0);
	for (i = 1; i < window; i++)
		send_to(self, &to_nobody, i, NEVER_MS, 0);
	for (; i < window + 2; i++)
		send_to(self, &umad_to_next, i, NEVER_MS, 0);
	umad_fabric_fault("h1 fail post_send 5");

	/* In any order, and the first not before its time */
	while (self->ended < 3 &&
	       take_one(self, window + 2, self->ended ? umad_fixed_ms() : UMAD_SOON_MS))
		;
	EXPECT_EQ(1, self->records[0]);
	EXPECT_EQ(1, self->answers[window + 1]);
	EXPECT_FIXED(self->records[window] == 1,
		     "a request that is refused when its turn comes has no end");

	/* Those that wait count as outstanding, too, until the agent goes */
	umad_expect_fdinfo(window - 1, &self->sm.file, "umad-outstanding");
	umad_unregister(&self->sm.file, self->sm.directed);
	if (!umad_reference())
		expect_balance(self, 3);
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

/* The end of it all, with many requests that nothing answers */

enum end {
	UNREGISTER,
	CLOSE,
	KILL,
	REMOVE,
};

FIXTURE(end)
{
	struct umad_device device;
	struct umad_cgroup group;
	struct umad_file file;
	__u32 id;
};

FIXTURE_VARIANT(end)
{
	enum umad_device_kind kind;
	enum end end;
};

umad_device_variant(end, unregister, UMAD_MADSIM, .end = UNREGISTER);
umad_device_variant(end, close, UMAD_MADSIM, .end = CLOSE);
umad_device_variant(end, killed, UMAD_MADSIM, .end = KILL);
umad_device_variant(end, unplugged, UMAD_MADSIM, .end = REMOVE);
umad_device_variant(end, netns, UMAD_MADSIM_NETNS, .end = REMOVE);
umad_device_variant(end, rmmod, UMAD_MADSIM_RMMOD, .end = REMOVE);

FIXTURE_SETUP(end)
{
	umad_device(&self->device, variant->kind);
	umad_cgroup_make(&self->group);
	self->id = umad_cgroup_agent(&self->group, &self->device.port,
				     umad_reg_smp(1, MAD_CLASS_SM_DIRECTED, 0), &self->file);
}

FIXTURE_TEARDOWN(end)
{
	umad_close(&self->file);
	umad_cgroup_remove(&self->group);
	umad_device_free(&self->device);
}

/* Other programs are not disturbed */
static int ask_peer(const struct umad_port *port)
{
	__u8 data[64] = { 0 };
	struct umad_sm sm;
	int status;

	if (_umad_sm_open(port, &sm))
		return -1;
	status = umad_smp(&sm, &umad_to_next, 0, MAD_GET, SMP_NODE_INFO, 0, data);
	umad_sm_close(&sm);
	return status;
}

TEST_F_TIMEOUT(end, many_outstanding_are_given_back, UMAD_HANGS)
{
	long noise = (64 * sysconf(_SC_NPROCESSORS_ONLN) + 64) * sysconf(_SC_PAGESIZE);
	struct umad_sm sm = { .directed = self->id };
	/* A channel adapter does not forward */
	static const struct umad_path nowhere = { 2, { 1, 1 } };
	pid_t parent = getpid(), pid;
	long before, with, after;
	struct umad_call removal;
	struct umad_msg msg;
	int i;

	before = umad_cgroup_charged(&self->group);
	for (i = 0; i < MANY; i++) {
		msg = umad_smp_msg(&sm, &nowhere, 0, MAD_GET, SMP_NODE_INFO);
		msg.hdr.timeout_ms = NEVER_MS;
		umad_write(&self->file, &msg);
	}
	umad_expect_empty(&self->file);
	with = umad_cgroup_charged(&self->group) - before;
	umad_expect_fdinfo(MANY, &self->file, "umad-outstanding");
	if (!umad_reference())
		EXPECT_LT(900, with / MANY);
	EXPECT_EQ(0, ask_peer(&self->device.port));

	switch (variant->end) {
	case UNREGISTER:
		umad_unregister(&self->file, self->id);
		umad_expect_empty(&self->file);
		break;
	case CLOSE:
		umad_close(&self->file);
		break;
	case KILL:
		/* A process that alone has the descriptor, when this one has closed its own */
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid)
			umad_wait_as_child(parent);
		umad_close(&self->file);
		ASSERT_EQ(0, kill(pid, SIGKILL));
		ASSERT_EQ(pid, waitpid(pid, NULL, 0));
		break;
	case REMOVE:
		umad_call_remove(&removal, &self->device);
		ASSERT_TRUE(umad_call_returned(&removal, 20 * UMAD_SOON_MS))
			TH_LOG("the removal hangs");
		ASSERT_EQ(0, removal.ret);
		umad_err_read(EIO, &self->file);
		break;
	}
	umad_expect_fdinfo(0, &self->file, "umad-outstanding");

	/* Nothing is left that was charged, but for what CPUs have charged ahead */
	umad_within(UMAD_SOON_MS, (after = umad_cgroup_charged(&self->group) - before) <= noise);
	TH_LOG("%ld bytes charged for each, %ld KiB after", with / MANY, after / 1024);
	EXPECT_GE(noise, after);
	if (variant->end != REMOVE)
		EXPECT_EQ(0, ask_peer(&self->device.port));
}

TEST_HARNESS_MAIN
