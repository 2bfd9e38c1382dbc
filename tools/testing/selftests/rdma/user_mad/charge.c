// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory: what a process makes the kernel hold for it, outstanding sends and
 * unread MADs, is charged to the memory cgroup in which it opened the file, and
 * is not more than it has to be. Where a cgroup is at its limit, others do not
 * notice.
 */
#include <limits.h>
#include <signal.h>
#include <sys/mman.h>

#include "kselftest_harness.h"
#include "lib/cgroup.h"
#include "lib/subnet.h"

#define SENDS		4096
#define UNREAD		8192
#define TIMEOUTS	16

/*
 * What a send and a MAD may take up, in bytes of slab, without KASAN's share.
 * Of a send the MAD layer takes 1,024; the address handle is the driver's, and
 * large with Soft-RoCE.
 */
#define SEND_SLAB_ROCE	1408
#define SEND_SLAB_IB	1160
#define UNREAD_SLAB	384

/* Some of what is measured, in bytes each, is what the machine does meanwhile */
#define NOISE		8

FIXTURE(charge)
{
	struct umad_port port;
	struct umad_fabric fabric;
	struct umad_cgroup group;
	pid_t child;
	int child_fd;		/* the child's descriptor, by its own number */
	int to_child[2];
	int from_child[2];
};

FIXTURE_VARIANT(charge)
{
	enum umad_device_kind kind;
};

umad_device_variant(charge, rxe, UMAD_RXE);
umad_device_variant(charge, madsim, UMAD_MADSIM);

static long slab(void)
{
	return umad_meminfo("Slab:");
}

FIXTURE_SETUP(charge)
{
	umad_subnet_port(variant->kind, &self->fabric, &self->port);
	umad_cgroup_make(&self->group);
	ASSERT_EQ(0, pipe(self->to_child));
	ASSERT_EQ(0, pipe(self->from_child));
}

FIXTURE_TEARDOWN(charge)
{
	if (self->child > 0) {
		kill(self->child, SIGKILL);
		waitpid(self->child, NULL, 0);
	}
	umad_cgroup_remove(&self->group);
	umad_fabric_stop();
}

/* To ourselves, or where nobody answers */
static struct umad_msg message(FIXTURE_DATA(charge) *self, __u32 id,
			       __u8 method, __u64 tid, bool to_nobody)
{
	struct umad_msg msg = umad_msg(&self->port, id, method, tid);

	if (to_nobody)
		umad_msg_to_nobody(&msg);
	return msg;
}

/*
 * What the child does when told. It answers with 0 or an errno, and at once: at
 * the limit of its group there is no memory to do anything else with.
 */
enum order {
	SEND_MANY,	/* SENDS requests that stay outstanding */
	SEND_FEW,	/* TIMEOUTS requests that time out before long */
	SEND_ALL,	/* requests until they are refused */
	FORGET,		/* them */
};

static int obey(FIXTURE_DATA(charge) *self, struct umad_file *file,
		struct umad_reg *reg, enum order order)
{
	int count = order == SEND_FEW ? TIMEOUTS : SENDS;
	struct umad_msg msg;
	int err = 0, i;

	for (i = 0; order != FORGET && !err &&
	     (order == SEND_ALL || i < count); i++) {
		msg = message(self, reg->id, MAD_GET, i, true);
		msg.hdr.timeout_ms = order == SEND_FEW ? 1000 : 600000;
		if (_umad_write(file, &msg) < 0)
			err = errno;
	}
	if ((order == FORGET || order == SEND_ALL) &&
	    (_umad_unregister(file, reg->id) || _umad_register(file, reg)))
		return -1;
	return err;
}

/* Runs in the group: opens, registers, then does what it is told */
static void in_group(FIXTURE_DATA(charge) *self)
{
	struct umad_reg reg = umad_reg_vendor(2, 1ULL << MAD_SEND);
	struct umad_file file;
	enum order order;
	int answer;

	/* So that we see the end of the one who tells us */
	close(self->to_child[1]);
	close(self->from_child[0]);
	if (umad_cgroup_join(&self->group) ||
	    /* What it has not touched by then, it cannot get at the limit */
	    mlockall(MCL_CURRENT) ||
	    _umad_open(&self->port, O_RDWR | O_NONBLOCK, &file) ||
	    _umad_enable_pkey(&file) || _umad_register(&file, &reg))
		_exit(1);
	answer = file.fd;
	while (write(self->from_child[1], &answer, sizeof(answer)) > 0 &&
	       read(self->to_child[0], &order, sizeof(order)) > 0)
		answer = obey(self, &file, &reg, order);
	_exit(0);
}

#define answer_of_child(self) ({					\
	int __answer;							\
									\
	ASSERT_EQ((ssize_t)sizeof(__answer),				\
		  read((self)->from_child[0], &__answer, sizeof(__answer))) \
		TH_LOG("the process in the group has died");		\
	__answer;							\
})

#define tell_child(self, what) ({					\
	enum order __order = what;					\
									\
	ASSERT_EQ((ssize_t)sizeof(__order),				\
		  write((self)->to_child[1], &__order, sizeof(__order))); \
	answer_of_child(self);						\
})

#define start_child(self) do {						\
	(self)->child = fork();						\
	ASSERT_LE(0, (self)->child);					\
	if (!(self)->child)						\
		in_group(self);						\
	close((self)->from_child[1]);					\
	(self)->child_fd = answer_of_child(self);			\
} while (0)

/* What the child's descriptor says of itself */
static long child_fdinfo(FIXTURE_DATA(charge) *self, const char *name)
{
	char path[64], line[64];

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", self->child,
		 self->child_fd);
	snprintf(line, sizeof(line), "%s:", name);
	return umad_line_value(path, line);
}

/* The group may have @more bytes than it has now */
#define limit_child(self, more)						\
	ASSERT_EQ(0, umad_cgroup_limit(&(self)->group,			\
				       umad_cgroup_charged(&(self)->group) + \
				       (more)))

/*
 * Sends @count MADs that the child does not read, and now and then one to
 * ourselves: when that is back, what was sent before it has arrived.
 */
#define flood_child(self, file, id, count) do {				\
	struct umad_msg __msg;						\
	int __i;							\
									\
	for (__i = 0; __i < (count); __i++) {				\
		__msg = message(self, id, MAD_SEND, __i, false);	\
		umad_write(file, &__msg);				\
		if (__i % 64 && __i < (count) - 1)			\
			continue;					\
		__msg = message(self, id, MAD_SET, (count) + __i, false); \
		umad_write(file, &__msg);				\
		umad_read(file, &__msg);				\
		EXPECT_EQ((count) + __i, (int)be64toh(__msg.mad.tid) & 0xffff); \
	}								\
} while (0)

#define open_neighbour(self, file)					\
	umad_open_agent(&(self)->port, &umad_abi_new,			\
			umad_reg_vendor(2, 1ULL << MAD_SET), file)

/* How much @slab may seem to be */
static long at_most(long slab)
{
	return umad_slab_padded() ? LONG_MAX : slab + NOISE;
}

TEST_F_TIMEOUT(charge, outstanding_sends, UMAD_HANGS)
{
	long limit = at_most(variant->kind == UMAD_MADSIM ? SEND_SLAB_IB : SEND_SLAB_ROCE);
	long memory, all;

	start_child(self);
	/* The first time caches and tables grow, too */
	ASSERT_EQ(0, tell_child(self, SEND_MANY));
	ASSERT_EQ(0, tell_child(self, FORGET));

	memory = umad_cgroup_charged(&self->group);
	all = slab();
	ASSERT_EQ(0, tell_child(self, SEND_MANY));
	memory = (umad_cgroup_charged(&self->group) - memory) / SENDS;
	all = (slab() - all) / SENDS;

	TH_LOG("an outstanding send: %ld bytes of slab, %ld of them charged",
	       all, memory);
	EXPECT_FIXED(memory > 900 && all <= limit,
		     "outstanding sends are charged to nobody and large");
}

TEST_F_TIMEOUT(charge, unread_mads, UMAD_HANGS)
{
	struct umad_file file;
	long memory, all;
	__u32 id;

	start_child(self);
	id = open_neighbour(self, &file);
	flood_child(self, &file, id, 64);
	memory = umad_cgroup_charged(&self->group);
	all = slab();
	flood_child(self, &file, id, UNREAD);
	memory = (umad_cgroup_charged(&self->group) - memory) / UNREAD;
	all = (slab() - all) / UNREAD;
	umad_close(&file);

	TH_LOG("an unread MAD: %ld bytes of slab, %ld charged", all, memory);
	EXPECT_FIXED(memory > 200 && all <= at_most(UNREAD_SLAB),
		     "unread MADs are charged to nobody and large");
}

/*
 * The group has no room: it may be full of what it has read from files. What arrives
 * is there all the same, while the cap has room for it.
 */
TEST_F_TIMEOUT(charge, flood_of_unread_mads, UMAD_HANGS)
{
	long long end = umad_now_ms() + 2 * UMAD_SOON_MS;
	struct umad_file file;
	__u32 id;

	start_child(self);
	id = open_neighbour(self, &file);
	flood_child(self, &file, id, 64);
	if (umad_reference()) {
		EXPECT_FIXED(child_fdinfo(self, "umad-dropped") >= 0,
			     "nothing is limited, and drops are not counted");
		umad_close(&file);
		return;
	}

	ASSERT_EQ(0, tell_child(self, SEND_FEW));
	limit_child(self, 256 * 1024);
	flood_child(self, &file, id, UNREAD);
	EXPECT_EQ(0, child_fdinfo(self, "umad-dropped"));
	EXPECT_EQ(0, umad_fdinfo(&file, "umad-dropped"));
	EXPECT_EQ(0, umad_cgroup_events(&self->group, "oom_kill"));

	/* There is room for every record of a timeout */
	while (child_fdinfo(self, "umad-outstanding") && umad_now_ms() < end)
		umad_sleep_ms(10);
	EXPECT_EQ(64 + UNREAD + TIMEOUTS, child_fdinfo(self, "umad-unread"));
	umad_close(&file);
}

/* A write is refused, nobody is killed for it, and it works again with room */
TEST_F_TIMEOUT(charge, flood_of_sends, UMAD_HANGS)
{
	struct umad_file file;
	__u32 id;

	start_child(self);
	id = open_neighbour(self, &file);
	if (umad_reference()) {
		EXPECT_FIXED(false, "sends are charged to nobody");
		umad_close(&file);
		return;
	}

	limit_child(self, 1024 * 1024);
	EXPECT_EQ(ENOMEM, tell_child(self, SEND_ALL));
	EXPECT_EQ(0, umad_cgroup_events(&self->group, "oom_kill"));
	EXPECT_EQ(0, tell_child(self, SEND_FEW));
	flood_child(self, &file, id, 1);
	umad_close(&file);
}

TEST_HARNESS_MAIN
