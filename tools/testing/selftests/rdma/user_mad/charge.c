// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory: outstanding sends and unread MADs are charged to the memory cgroup of the
 * process that opened the file, and are not larger than they have to be. No process of a
 * cgroup is killed for them, and where a cgroup is at its limit, other programs do not notice.
 *
 * Also on: 6.1, 6.12
 */
#include <limits.h>

#include "kselftest_harness.h"
#include "lib/cgroup.h"
#include "lib/long.h"
#include "lib/statistics.h"
#include "lib/subnet.h"

#define LONG_MS		600000

#define SENDS		4096
#define UNREAD		8192
#define TIMEOUTS	16

/*
 * The most that a send and a MAD may take up, in bytes of slab, without KASAN's share.
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
	struct umad_file file;		/* opened in the group, in which no process is now */
	struct umad_file peer;
	__u32 id;
	__u32 peer_id;
};

umad_device_variants(charge);
umad_device_variant(charge, rxe, UMAD_RXE);
umad_device_variant(charge, madsim, UMAD_MADSIM);

FIXTURE_SETUP(charge)
{
	umad_subnet_port(variant->kind, &self->fabric, &self->port);
	umad_cgroup_make(&self->group);
	self->id = umad_cgroup_agent(&self->group, &self->port,
				     umad_reg_rmpp(2, 1ULL << MAD_SEND), &self->file);
	self->peer_id = umad_open_agent(&self->port, &umad_abi_new,
					umad_reg_rmpp(2, 1ULL << MAD_GET), &self->peer);
}

FIXTURE_TEARDOWN(charge)
{
	umad_close(&self->file);
	umad_close(&self->peer);
	umad_cgroup_remove(&self->group);
	umad_fabric_stop();
}

#define send_many(self, count, ms)					\
	umad_write_lost(&(self)->file, &(self)->port, (self)->id, 0, count, ms)

/* How much @slab may seem to be */
static long at_most(long slab)
{
	return umad_slab_padded() ? LONG_MAX : slab + NOISE;
}

TEST_F_TIMEOUT(charge, outstanding_sends, UMAD_HANGS)
{
	long limit = at_most(variant->kind == UMAD_MADSIM ? SEND_SLAB_IB : SEND_SLAB_ROCE);
	struct umad_reg reg = umad_reg_send_only(2);
	long charged, all;

	/* The first time caches and tables grow, too */
	send_many(self, SENDS, LONG_MS);
	umad_unregister(&self->file, self->id);
	self->id = umad_register(&self->file, &reg);

	charged = umad_cgroup_charged(&self->group);
	all = umad_meminfo("Slab:");
	/* In the group, as the fix of the kernel's module charges the writer */
	ASSERT_EQ(0, umad_cgroup_join(&self->group));
	send_many(self, SENDS, LONG_MS);
	ASSERT_EQ(0, umad_cgroup_leave());
	charged = (umad_cgroup_charged(&self->group) - charged) / SENDS;
	all = (umad_meminfo("Slab:") - all) / SENDS;

	TH_LOG("an outstanding send: %ld bytes of slab, %ld of them charged", all, charged);
	EXPECT_FIXED(charged > 900 && all <= limit,
		     "outstanding sends are not charged, and large");
}

/* What is neither the least nor the most: the machine allocates some memory meanwhile */
static long middle(const long *n)
{
	long least = n[0] < n[1] ? n[0] : n[1], most = n[0] < n[1] ? n[1] : n[0];

	return n[2] < least ? least : n[2] > most ? most : n[2];
}

TEST_F_TIMEOUT(charge, unread_mads, UMAD_HANGS)
{
	long charged, all[3];
	int i;

	umad_flood(self, 64);
	charged = umad_cgroup_charged(&self->group);
	for (i = 0; i < 3; i++) {
		all[i] = umad_meminfo("Slab:");
		umad_flood(self, UNREAD / 4);
		all[i] = (umad_meminfo("Slab:") - all[i]) / (UNREAD / 4);
	}
	charged = (umad_cgroup_charged(&self->group) - charged) / (3 * UNREAD / 4);

	TH_LOG("an unread MAD: %ld, %ld, %ld bytes of slab, %ld charged", all[0], all[1], all[2],
	       charged);
	/* A slab may be begun in one round, and filled in another one */
	EXPECT_FIXED(charged > 200 && middle(all) <= at_most(UNREAD_SLAB + NOISE),
		     "unread MADs are not charged, and large");
}

/*
 * The group has no room: it may be full of what it has read from files. What arrives
 * is there all the same, while the cap has room for it.
 */
TEST_F_TIMEOUT(charge, flood_of_unread_mads, UMAD_HANGS)
{
	umad_flood(self, 64);
	if (umad_reference()) {
		EXPECT_FIXED(umad_fdinfo(&self->file, "umad-dropped") >= 0,
			     "nothing is limited, and drops are not counted");
		return;
	}

	send_many(self, TIMEOUTS, 1000);
	umad_cgroup_fill(&self->group);
	umad_flood(self, UNREAD);
	EXPECT_EQ(0, umad_fdinfo(&self->file, "umad-dropped"));
	EXPECT_EQ(0, umad_fdinfo(&self->peer, "umad-dropped"));

	/* There is room for every record of a timeout */
	EXPECT_TRUE(umad_within(2 * UMAD_SOON_MS, !umad_fdinfo(&self->file, "umad-outstanding")));
	EXPECT_EQ(64 + UNREAD + TIMEOUTS, umad_fdinfo(&self->file, "umad-unread"));
}

/* In the group, in which the kernel would look for a process to kill */
static int write_too_many(FIXTURE_DATA(charge) *self)
{
	struct umad_reg reg = umad_reg_send_only(2);
	struct umad_file file;
	struct umad_msg msg;
	int i;

	/* What it has not touched by then, it cannot get at the limit */
	if (umad_cgroup_join(&self->group) || mlockall(MCL_CURRENT) ||
	    _umad_open_agent(&self->port, &umad_abi_new, &reg, &file))
		return 1;
	if (umad_cgroup_limit(&self->group, umad_cgroup_charged(&self->group) + MB))
		return 2;
	for (i = 0; i < 2 * SENDS; i++) {
		msg = umad_lost_request(&self->port, reg.id, MAD_UNSERVED, i, LONG_MS);
		if (_umad_write(&file, &msg) == -1)
			return errno == ENOMEM && i > 100 ? 0 : 3;
	}
	return 4;
}

#define status_of_child(function) ({					\
	int __status;							\
	pid_t __pid = fork();						\
									\
	ASSERT_LE(0, __pid);						\
	if (!__pid)							\
		_exit(function);					\
	ASSERT_EQ(__pid, waitpid(__pid, &__status, 0));			\
	__status;							\
})

#define expect_no_oom(self) do {					\
	EXPECT_EQ(0, umad_cgroup_events(&(self)->group, "oom_kill"));	\
	EXPECT_EQ(0, umad_cgroup_events(&(self)->group, "oom"));	\
} while (0)

/* A write is refused, and with the one who wrote so much there is room again */
TEST_F_TIMEOUT(charge, flood_of_sends, UMAD_HANGS)
{
	int status = status_of_child(write_too_many(self));

	expect_no_oom(self);
	send_many(self, TIMEOUTS, LONG_MS);
	umad_flood(self, 1);
	EXPECT_FIXED(!status, "sends may outgrow the cgroup's limit");
}

/* Messages */

/* The kernel charges in batches for each CPU and gives back late */
#define SLACK		(MB / 2)

#define ROOM		(6 * MB)	/* of the group */
#define TOO_LARGE	((size_t)(12 * MB))
#define SMALL_ENOUGH	(2 * MB)	/* in segments, which KASAN makes twice as long */
#define LONGEST		(256 * MB)

TEST_F_TIMEOUT(charge, outstanding_message, UMAD_HANGS)
{
	struct umad_msg head = umad_long_head(&self->port, self->id, MAD_UNSERVED, 1);
	long before, outstanding, after;
	struct umad_long msg;

	umad_long_alloc(&msg, 3 * MB);
	before = umad_cgroup_charged(&self->group);
	umad_msg_to_nobody(&head);
	head.hdr.retries = 0;
	head.hdr.timeout_ms = 500;
	umad_long_write(&self->file, &head, 2 * MB, 1, &msg);
	outstanding = umad_cgroup_charged(&self->group);
	umad_read_timeout(&self->file, &head);
	after = umad_cgroup_charged(&self->group);

	TH_LOG("a message of 2 MiB: charged %ld outstanding, %ld when over",
	       outstanding - before, after - before);
	EXPECT_FIXED(outstanding - before > 2 * MB && outstanding - before < ROOM,
		     "outstanding messages are not charged");
	EXPECT_GT(SLACK, after - before);
	umad_long_free(&msg);
}

/* @buf is shared memory, and charged to those outside of the group */
static int write_too_large(FIXTURE_DATA(charge) *self, __u8 *buf)
{
	struct umad_reg reg = umad_reg_rmpp(2, 0);
	struct umad_file file;
	struct umad_msg head;
	size_t size;
	int i;

	if (umad_cgroup_join(&self->group) ||
	    _umad_open_agent(&self->port, &umad_abi_new, &reg, &file))
		return 1;
	head = umad_long_head(&self->port, reg.id, MAD_SEND, 1);
	size = umad_long_pack(&file, &head, TOO_LARGE, 3, buf);

	if (umad_cgroup_limit(&self->group, umad_cgroup_charged(&self->group) + ROOM))
		return 2;
	/* What one attempt kept, the next ones would lack */
	for (i = 0; i < 4; i++) {
		errno = 0;
		if (write(file.fd, buf, size) != -1)
			return 3;
		if (errno != ENOMEM)
			return 4;
	}
	/*
	 * ... and so would this one. That no answer came is reported three
	 * seconds after all of it was acknowledged.
	 */
	head.hdr.timeout_ms = 3000;
	size = umad_long_pack(&file, &head, SMALL_ENOUGH, 3, buf);
	if (write(file.fd, buf, size) != (ssize_t)size)
		return 5;
	return umad_readable(&file, UMAD_LONG_MS) ? 0 : 6;
}

TEST_F_TIMEOUT(charge, too_large_for_the_group, UMAD_HANGS)
{
	struct umad_msg head = umad_long_head(&self->port, self->id, MAD_SEND, 1);
	__u8 *buf = mmap(NULL, TOO_LARGE + 4096, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct umad_long msg;
	long before, after;
	int status;

	ASSERT_NE(MAP_FAILED, buf);
	memset(buf, 0, TOO_LARGE + 4096);
	umad_long_alloc(&msg, 3 * MB);
	/* The receiver is not charged to the group this time */
	umad_close(&self->file);
	self->id = umad_open_agent(&self->port, &umad_abi_new,
				   umad_reg_rmpp(2, 1ULL << MAD_SEND), &self->file);

	before = umad_cgroup_charged(&self->group);
	status = status_of_child(write_too_large(self, buf));
	after = umad_cgroup_charged(&self->group);

	TH_LOG("status 0x%x, %ld bytes charged afterwards", status, after - before);
	expect_no_oom(self);
	EXPECT_GT(SLACK, after - before);
	if (!status) {
		umad_long_read(&self->file, self->id, &head, SMALL_ENOUGH, 3, &msg);
		umad_expect_empty(&self->file);
	}
	umad_long_free(&msg);
	munmap(buf, TOO_LARGE + 4096);
	EXPECT_FIXED(!status, "what is sent may be larger than memory");
}

/*
 * No receiver takes more than this, so that a longer one is refused before it is read. Behind
 * its head there is nothing to read.
 */
TEST_F(charge, longest_message)
{
	size_t size = UMAD_HDR_NEW + LONGEST;
	struct umad_msg head = umad_long_head(&self->port, self->id, MAD_UNSERVED, 1);
	struct umad_statistics before;
	__u8 *buf;

	if (umad_reference())
		SKIP(return, "the reference takes any length");
	umad_msg_to_nobody(&head);
	buf = mmap(NULL, size + 1, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	ASSERT_NE(MAP_FAILED, buf);
	ASSERT_EQ(0, mprotect(buf, 4096, PROT_READ | PROT_WRITE));
	umad_pack(&self->file, &head, MAD_VENDOR_HDR, buf);

	before = umad_statistics(&self->port);
	umad_err(EINVAL, write(self->file.fd, buf, size + 1));
	umad_err(EFAULT, write(self->file.fd, buf, size));
	umad_expect_changes(&before, &self->port, "");
	munmap(buf, size + 1);
}

TEST_HARNESS_MAIN
