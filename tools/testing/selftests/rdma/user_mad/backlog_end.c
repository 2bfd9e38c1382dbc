// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * More requests than the MAD layer puts on the wire, and the end of it all, with many
 * of them in line. They are a child's in a memory cgroup, and never answered.
 */
#include <signal.h>

#include "kselftest_harness.h"
#include "lib/cgroup.h"
#include "lib/stall.h"
#include "lib/subnet.h"

#define MANY		16384
#define NEVER_MS	600000

/* How long it may take until it counts as hanging */
#define END_MS		(20 * UMAD_SOON_MS)

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
	struct umad_call removal;
	pid_t child;
	int to_child[2];
	int from_child[2];
};

FIXTURE_VARIANT(end)
{
	enum end end;
	enum umad_device_kind kind;
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
	ASSERT_EQ(0, pipe(self->to_child));
	ASSERT_EQ(0, pipe(self->from_child));
}

FIXTURE_TEARDOWN(end)
{
	if (self->child > 0) {
		kill(self->child, SIGKILL);
		waitpid(self->child, NULL, 0);
	}
	umad_cgroup_remove(&self->group);
	umad_device_free(&self->device);
}

/* What the child is told to do, and what it answers */
enum order {
	DO_FILL,
	DO_UNREGISTER,
	DO_CLOSE,
	DO_LOOK,
};

struct report {
	int err;		/* of what was done */
	int read_err;		/* of a read() thereafter */
	long ms;		/* that it took */
	long outstanding;
};

static struct report obey(struct umad_sm *sm, enum order order)
{
	/* A channel adapter does not forward */
	static const struct umad_path nowhere = { 2, { 1, 1 } };
	struct report report = { 0 };
	struct umad_msg msg;
	int ret = 0, i;

	report.ms = umad_now_ms();
	errno = 0;
	switch (order) {
	case DO_FILL:
		for (i = 0; ret >= 0 && i < MANY; i++) {
			msg = umad_smp_msg(sm, &nowhere, 0, MAD_GET, SMP_NODE_INFO, 0, NULL);
			msg.hdr.timeout_ms = NEVER_MS;
			ret = _umad_write(&sm->file, &msg);
		}
		break;
	case DO_UNREGISTER:
		ret = _umad_unregister(&sm->file, sm->directed);
		break;
	case DO_CLOSE:
		ret = close(sm->file.fd);
		break;
	case DO_LOOK:
		break;
	}
	report.err = ret < 0 ? errno : 0;
	report.ms = umad_now_ms() - report.ms;
	report.outstanding = umad_fdinfo(&sm->file, "umad-outstanding");
	report.read_err = _umad_read(&sm->file, &msg) < 0 ? errno : 0;
	return report;
}

static void in_group(FIXTURE_DATA(end) *self)
{
	struct report report = { 0 };
	struct umad_sm sm;
	enum order order;

	/* So that we see the end of the one who tells us */
	close(self->to_child[1]);
	close(self->from_child[0]);
	if (umad_cgroup_join(&self->group) || _umad_sm_open(&self->device.port, &sm))
		_exit(1);
	while (write(self->from_child[1], &report, sizeof(report)) > 0 &&
	       read(self->to_child[0], &order, sizeof(order)) > 0)
		report = obey(&sm, order);
	_exit(0);
}

#define report_of_child(self) ({					\
	struct pollfd __pfd = {						\
		.fd = (self)->from_child[0],				\
		.events = POLLIN,					\
	};								\
	struct report __report;						\
									\
	ASSERT_EQ(1, poll(&__pfd, 1, END_MS))				\
		TH_LOG("it hangs");					\
	ASSERT_EQ((ssize_t)sizeof(__report),				\
		  read(__pfd.fd, &__report, sizeof(__report)))		\
		TH_LOG("the child has died");				\
	__report;							\
})

#define tell_child(self, what) ({					\
	enum order __order = what;					\
									\
	ASSERT_EQ((ssize_t)sizeof(__order),				\
		  write((self)->to_child[1], &__order, sizeof(__order))); \
	report_of_child(self);						\
})

#define kill_child(self) do {						\
	long long __end = umad_now_ms() + END_MS;			\
	pid_t __pid;							\
									\
	ASSERT_EQ(0, kill((self)->child, SIGKILL));			\
	while (!(__pid = waitpid((self)->child, NULL, WNOHANG))) {	\
		ASSERT_GT(__end, umad_now_ms())				\
			TH_LOG("it cannot be killed");			\
		umad_sleep_ms(1);					\
	}								\
	EXPECT_EQ((self)->child, __pid);				\
	(self)->child = 0;						\
} while (0)

/* Others are not disturbed */
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
	struct report report;
	long long deadline;
	long before, with, after, ms;

	self->child = fork();
	ASSERT_LE(0, self->child);
	if (!self->child)
		in_group(self);
	close(self->from_child[1]);
	report_of_child(self);
	before = umad_cgroup_charged(&self->group);

	report = tell_child(self, DO_FILL);
	ASSERT_EQ(0, report.err)
		TH_LOG("write: %s", strerror(report.err));
	EXPECT_EQ(EAGAIN, report.read_err);
	with = umad_cgroup_charged(&self->group) - before;
	if (!umad_reference()) {
		EXPECT_EQ(MANY, report.outstanding);
		EXPECT_LT(900, with / MANY);
	}
	EXPECT_EQ(0, ask_peer(&self->device.port));

	ms = umad_now_ms();
	switch (variant->end) {
	case UNREGISTER:
		report = tell_child(self, DO_UNREGISTER);
		EXPECT_EQ(0, report.err);
		EXPECT_EQ(EAGAIN, report.read_err);
		break;
	case CLOSE:
		report = tell_child(self, DO_CLOSE);
		EXPECT_EQ(0, report.err);
		break;
	case KILL:
		kill_child(self);
		break;
	case REMOVE:
		self->removal = umad_call_remove(&self->device);
		umad_call_start(&self->removal);
		ASSERT_TRUE(umad_call_returned(&self->removal, END_MS))
			TH_LOG("the removal hangs");
		EXPECT_EQ(0, self->removal.ret);
		break;
	}
	ms = umad_now_ms() - ms;
	if (variant->end == REMOVE) {
		report = tell_child(self, DO_LOOK);
		EXPECT_EQ(EIO, report.read_err);
	}
	if (!umad_reference() && (variant->end == UNREGISTER || variant->end == REMOVE))
		EXPECT_EQ(0, report.outstanding);

	/* Nothing is left that was charged, but for what CPUs have charged ahead */
	deadline = umad_now_ms() + UMAD_SOON_MS;
	while ((after = umad_cgroup_charged(&self->group) - before) > noise &&
	       umad_now_ms() < deadline)
		umad_sleep_ms(10);
	TH_LOG("%ld ms, %ld bytes charged for each, %ld KiB after", ms, with / MANY, after / 1024);
	EXPECT_GE(noise, after);
	if (variant->end == REMOVE)
		kill_child(self);
	if (variant->end != REMOVE)
		EXPECT_EQ(0, ask_peer(&self->device.port));
}

TEST_HARNESS_MAIN
