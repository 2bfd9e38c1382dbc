// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory of long messages: it is charged to no cgroup, so that none of its processes is
 * killed for it and nothing is lost where it has no room, and has a cap of its own.
 */
#include <signal.h>

#include "kselftest_harness.h"
#include "lib/cgroup.h"
#include "lib/long.h"
#include "lib/stall.h"

#define MB		(1024 * 1024L)

/*
 * The kernel charges in batches for each CPU and gives back late: a message may
 * also be paid from what was left of a batch.
 */
#define SLACK		(MB / 2)

/* The copy and the segments, which are up to a third longer, are more than the cap */
#define TOO_LARGE	((size_t)umad_cap() / 3)
#define ROOM		(2 * MB)
#define SMALL_ENOUGH	(MB / 2)	/* KASAN makes more than twice that of it */

FIXTURE(rmpp_charge)
{
	struct umad_port port;
	struct umad_cgroup group;
	struct umad_file file;
	struct umad_file peer;
	__u32 id;
	__u32 peer_id;
	struct umad_long msg;
	__u8 *shared;	/* charged to those outside */
};

/* self->file is charged to the group, in which nobody is after that */
FIXTURE_SETUP(rmpp_charge)
{
	struct umad_reg reg = umad_reg_rmpp(2, 1ULL << MAD_SEND);

	umad_long_alloc(&self->msg, 5 * MB);
	self->shared = mmap(NULL, TOO_LARGE + 4096, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->shared);
	memset(self->shared, 0, TOO_LARGE + 4096);
	umad_port(&self->port);
	umad_cgroup_make(&self->group);

	umad_cgroup_open(&self->group, &self->port, &self->file);
	self->id = umad_register(&self->file, &reg);
	self->peer_id = umad_open_agent(&self->port, &umad_abi_new,
					umad_reg_rmpp(2, 1ULL << MAD_GET), &self->peer);
}

FIXTURE_TEARDOWN(rmpp_charge)
{
	umad_close(&self->file);
	umad_close(&self->peer);
	umad_cgroup_remove(&self->group);
	umad_long_free(&self->msg);
}

static struct umad_msg next_head(FIXTURE_DATA(rmpp_charge) *self, __u32 id,
				 __u8 method, __u64 tid)
{
	struct umad_msg head = umad_msg(&self->port, id, method, tid);

	head.hdr.retries = 3;
	umad_make_active(&head);
	return head;
}

/*
 * A request of one MAD comes after what was sent before it. The one before may not
 * have completed: it must not have the same transaction ID.
 */
#define settle(self, to, to_id, from, from_id, method) do {		\
	static __u32 __tid = 0xabcd;					\
	struct umad_msg __m = umad_msg(&(self)->port, from_id, method,	\
				       ++__tid);			\
									\
	umad_write(from, &__m);						\
	umad_read(to, &__m);						\
	EXPECT_EQ(to_id, __m.hdr.id);					\
	EXPECT_EQ(__tid, (__u32)be64toh(__m.mad.tid));			\
} while (0)

TEST_F(rmpp_charge, outstanding_message)
{
	struct umad_msg head = next_head(self, self->id, 0x10, 1);
	long before, outstanding, after;

	before = umad_cgroup_charged(&self->group);
	umad_msg_to_nobody(&head);
	head.hdr.retries = 0;
	head.hdr.timeout_ms = 500;
	umad_long_write(&self->file, &head, 2 * MB, 1, &self->msg);
	outstanding = umad_cgroup_charged(&self->group);
	umad_read_timeout(&self->file, &head);
	after = umad_cgroup_charged(&self->group);

	TH_LOG("a message of 2 MiB: charged %ld outstanding, %ld when over",
	       outstanding - before, after - before);
	EXPECT_GT(SLACK, outstanding - before);
	EXPECT_GT(SLACK, after - before);
}

/*
 * In the group itself, where the kernel would look for somebody to kill. The
 * buffer is charged to others.
 */
static int write_too_large(FIXTURE_DATA(rmpp_charge) *self)
{
	struct umad_reg reg = umad_reg_rmpp(2, 0);
	struct umad_file file;
	struct umad_msg head;
	size_t size;
	int i;

	if (umad_cgroup_join(&self->group) ||
	    _umad_open_agent(&self->port, &umad_abi_new, &reg, &file))
		return 1;
	head = next_head(self, reg.id, MAD_SEND, 1);
	size = umad_long_pack(&file, &head, TOO_LARGE, 3, self->shared);

	if (umad_cgroup_limit(&self->group,
			      umad_cgroup_charged(&self->group) + ROOM))
		return 2;
	/* What one attempt kept, the next ones would lack */
	for (i = 0; i < 4; i++) {
		errno = 0;
		if (write(file.fd, self->shared, size) != -1)
			return 3;
		if (errno != ENOMEM)
			return 4;
	}
	/*
	 * ... and so would this one. That no answer came is reported three
	 * seconds after all of it was acknowledged.
	 */
	head.hdr.timeout_ms = 3000;
	size = umad_long_pack(&file, &head, SMALL_ENOUGH, 3, self->shared);
	if (write(file.fd, self->shared, size) != (ssize_t)size)
		return 5;
	return umad_readable(&file, UMAD_LONG_MS) ? 0 : 6;
}

TEST_F_TIMEOUT(rmpp_charge, too_large_for_the_cap, UMAD_HANGS)
{
	struct umad_msg head = next_head(self, self->id, MAD_SEND, 1);
	long before, after;
	int status;
	pid_t pid;

	/* The receiver is not charged to the group this time */
	umad_close(&self->file);
	self->id = umad_open_agent(&self->port, &umad_abi_new,
				   umad_reg_rmpp(2, 1ULL << MAD_SEND), &self->file);

	before = umad_cgroup_charged(&self->group);
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(write_too_large(self));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	after = umad_cgroup_charged(&self->group);

	TH_LOG("status 0x%x, %ld bytes charged afterwards", status,
	       after - before);
	EXPECT_EQ(0, umad_cgroup_events(&self->group, "oom_kill"));
	EXPECT_EQ(0, umad_cgroup_events(&self->group, "oom"));
	EXPECT_GT(SLACK, after - before);
	if (WIFEXITED(status) && !WEXITSTATUS(status)) {
		umad_long_read(&self->file, self->id, &head, SMALL_ENOUGH, 3,
			       &self->msg);
		umad_expect_empty(&self->file);
	}
	EXPECT_FIXED(WIFEXITED(status) && !WEXITSTATUS(status),
		     "what is sent may be larger than memory");
}

/* Sends that nobody answers, until there is no room for more */
static int write_too_many(FIXTURE_DATA(rmpp_charge) *self)
{
	struct umad_reg reg = umad_reg_rmpp(2, 0);
	struct umad_file file;
	struct umad_msg msg;
	int i;

	if (umad_cgroup_join(&self->group) ||
	    _umad_open_agent(&self->port, &umad_abi_new, &reg, &file))
		return 1;
	msg = umad_msg(&self->port, reg.id, 0x10, 1);
	umad_msg_to_nobody(&msg);
	msg.hdr.timeout_ms = 600000;
	if (umad_cgroup_limit(&self->group,
			      umad_cgroup_charged(&self->group) + MB))
		return 2;
	for (i = 0; i < 60000; i++) {
		msg.mad.tid = htobe64(i);
		if (_umad_write(&file, &msg) == -1)
			return errno == ENOMEM && i > 100 ? 0 : 3;
	}
	return 4;
}

TEST_F_TIMEOUT(rmpp_charge, too_many_for_the_group, UMAD_HANGS)
{
	int status;
	pid_t pid;

	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(write_too_many(self));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, umad_cgroup_events(&self->group, "oom_kill"));
	EXPECT_EQ(0, umad_cgroup_events(&self->group, "oom"));
	EXPECT_FIXED(WIFEXITED(status) && !WEXITSTATUS(status),
		     "sends may outgrow the cgroup's limit");
}

/*
 * The group has no room: its memory may be full of what others in it have read
 * from files. What its sender was told that it has arrived is there all the same.
 */
TEST_F_TIMEOUT(rmpp_charge, no_room_to_receive, UMAD_HANGS)
{
	struct umad_msg msg = umad_msg(&self->port, self->peer_id, MAD_SEND, 0);
	struct umad_msg head = next_head(self, self->peer_id, MAD_SEND, 1);

	ASSERT_EQ(0, umad_cgroup_limit(&self->group,
				       umad_cgroup_charged(&self->group) + ROOM));
	/* It need not be the only one that is unread */
	umad_write(&self->peer, &msg);
	umad_long_write(&self->peer, &head, 3 * MB, 5, &self->msg);
	settle(self, &self->peer, self->peer_id, &self->file, self->id, MAD_GET);
	umad_read(&self->file, &msg);
	ASSERT_TRUE(umad_readable(&self->file, UMAD_LONG_MS))
		TH_LOG("a message was dropped after it was acknowledged");
	umad_long_read(&self->file, self->id, &head, 3 * MB, 5, &self->msg);

	head.mad.tid = htobe64(2);
	umad_long_write(&self->peer, &head, MB / 4, 6, &self->msg);
	umad_long_read(&self->file, self->id, &head, MB / 4, 6, &self->msg);
	settle(self, &self->file, self->id, &self->peer, self->peer_id,
	       MAD_SEND);
	umad_expect_empty(&self->file);
	EXPECT_EQ(0, umad_cgroup_events(&self->group, "oom_kill"));
}

TEST_F_TIMEOUT(rmpp_charge, no_room_for_the_response, UMAD_HANGS)
{
	struct umad_msg msg = umad_msg(&self->port, self->id, MAD_GET, 1);
	struct umad_msg head;

	msg.hdr.timeout_ms = 10 * UMAD_LONG_MS;
	umad_write(&self->file, &msg);
	umad_read(&self->peer, &head);
	head.mad.method = MAD_GET_RESP;
	head.hdr.retries = 3;
	umad_make_active(&head);

	ASSERT_EQ(0, umad_cgroup_limit(&self->group,
				       umad_cgroup_charged(&self->group) + ROOM));
	umad_long_write(&self->peer, &head, 3 * MB, 5, &self->msg);
	umad_long_read(&self->file, self->id, &head, 3 * MB, 5, &self->msg);
	umad_expect_empty(&self->file);
	if (!umad_reference())
		EXPECT_EQ(0, umad_fdinfo(&self->file, "umad-dropped"));
}

/* A MAD that somebody waits for arrives, whatever fills the group's memory */
TEST_F(rmpp_charge, few_beyond_the_limit)
{
	struct umad_msg msg = umad_msg(&self->port, self->peer_id, MAD_SEND, 0);
	struct umad_msg head = next_head(self, self->peer_id, MAD_SEND, 200);
	int i;

	ASSERT_EQ(0, umad_cgroup_limit(&self->group, 4096));
	for (i = 0; i < 100; i++) {
		msg.mad.tid = htobe64(i);
		umad_write(&self->peer, &msg);
	}
	for (i = 0; i < 100; i++) {
		umad_read(&self->file, &msg);
		EXPECT_EQ(i, (int)be64toh(msg.mad.tid));
	}
	umad_long_write(&self->peer, &head, MB / 2, 8, &self->msg);
	umad_long_read(&self->file, self->id, &head, MB / 2, 8, &self->msg);
	EXPECT_EQ(0, umad_cgroup_events(&self->group, "oom_kill"));
}

/* However many descriptors there are on which nothing is read for a while */
#define BEYOND		256
#define BEYOND_FILES	32

TEST_F_TIMEOUT(rmpp_charge, many_beyond_the_limit, UMAD_HANGS)
{
	struct umad_file file[BEYOND_FILES];
	struct umad_msg msg;
	struct umad_reg reg;
	int i, j;

	if (umad_reference())
		SKIP(return, "the reference does not tell what is unread");

	umad_unregister(&self->file, self->id);
	for (i = 0; i < BEYOND_FILES; i++) {
		umad_cgroup_open(&self->group, &self->port, &file[i]);
		reg = umad_reg_vendor(2, 1ULL << (8 + i));
		umad_register(&file[i], &reg);
	}

	umad_cgroup_fill(&self->group);
	for (i = 0; i < BEYOND_FILES; i++) {
		for (j = 0; j < BEYOND; j++) {
			msg = umad_msg(&self->port, self->peer_id, 8 + i,
				       1000 * i + j);
			umad_write(&self->peer, &msg);
			if (j % 32)
				continue;
			/* Not faster than they can be received */
			msg = umad_msg(&self->port, self->peer_id, MAD_GET,
				       1000 * i + j + 10000);
			umad_write(&self->peer, &msg);
			umad_read(&self->peer, &msg);
		}
		EXPECT_TRUE(umad_fdinfo_reaches(&file[i], "umad-unread", BEYOND,
						UMAD_QUIET_MS));
		EXPECT_EQ(0, umad_fdinfo(&file[i], "umad-dropped"));
	}
	EXPECT_EQ(0, umad_cgroup_events(&self->group, "oom_kill"));
	for (i = 0; i < BEYOND_FILES; i++)
		umad_close(&file[i]);
}

/* What is received for a group that is made to sleep delays nobody else */
TEST_F_TIMEOUT(rmpp_charge, throttled_receiver, UMAD_HANGS)
{
	struct umad_msg head = next_head(self, self->peer_id, MAD_SEND, 1);

	ASSERT_EQ(0, umad_cgroup_throttle(&self->group, 4096));
	umad_long_write(&self->peer, &head, 2 * MB, 9, &self->msg);
	while (!umad_readable(&self->file, 10))
		settle(self, &self->peer, self->peer_id, &self->file, self->id,
		       MAD_GET);
	umad_long_read(&self->file, self->id, &head, 2 * MB, 9, &self->msg);
}

/* In the group, when told to, to nobody */
static int write_throttled(FIXTURE_DATA(rmpp_charge) *self, size_t size,
			   int ready, int go)
{
	char c = 0;

	if (umad_cgroup_join(&self->group) || write(ready, &c, 1) != 1 ||
	    read(go, &c, 1) != 1)
		return 1;
	return write(self->file.fd, self->shared, size) == (ssize_t)size ? 0 : 2;
}

/* A writer who is made to sleep does so with nothing that others wait for */
TEST_F_TIMEOUT(rmpp_charge, throttled_writer, UMAD_HANGS)
{
	struct umad_msg head = next_head(self, self->id, 0x10, 1);
	struct ib_user_mad_reg_req2 reg = { .id = self->id };
	struct umad_call call = {
		.op = UMAD_CALL_IOCTL,
		.fd = self->file.fd,
		.cmd = IB_USER_MAD_UNREGISTER_AGENT,
		.buf = &reg.id,
	};
	int ready[2], go[2], status, i;
	bool returned;
	size_t size;
	pid_t pid;
	char c;

	umad_msg_to_nobody(&head);
	size = umad_long_pack(&self->file, &head, 4 * MB, 9, self->shared);
	ASSERT_EQ(0, pipe(ready));
	ASSERT_EQ(0, pipe(go));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(write_throttled(self, size, ready[1], go[0]));
	ASSERT_EQ(1, read(ready[0], &c, 1));
	ASSERT_EQ(0, umad_cgroup_throttle(&self->group, 4096));
	ASSERT_EQ(1, write(go[1], &c, 1));
	umad_fdinfo_reaches(&self->file, "umad-outstanding", 1, 1000);

	umad_call_start(&call);
	returned = umad_call_returned(&call, UMAD_SOON_MS);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	umad_call_end(&call);
	EXPECT_TRUE(returned);
	EXPECT_EQ(0, call.ret);
	EXPECT_EQ(0, status);
	for (i = 0; i < 2; i++) {
		close(ready[i]);
		close(go[i]);
	}
}

TEST_HARNESS_MAIN
