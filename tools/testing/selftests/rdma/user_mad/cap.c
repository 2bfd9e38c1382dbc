// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The cap: RMPP messages that were acknowledged and not read yet, and MADs for a cgroup
 * without room, are charged to no cgroup. There is an eighth of the memory for one user or
 * container, and one descriptor that is not read leaves enough to the others. What is
 * written is not in the cap. Messages are of Omni-Path, as these have a tenth of the segments.
 */
#include <stdatomic.h>

#include "kselftest_harness.h"
#include "lib/cgroup.h"
#include "lib/long.h"
#include "lib/stall.h"
#include "lib/statistics.h"
#include "lib/subnet.h"
#include "lib/trace.h"

/* In buffers of 4,096 bytes for 2,008 of data */
#define MOST		(18 * MB)
#define SHORT		5000
#define PLAIN		6000		/* 1.5 MiB as the kernel charges them */
#define MANY		1000		/* more than what is charged ahead for a CPU */
#define PROBE		1024
#define ANSWER		2700000L
#define READ_FILES	"cat /usr/bin/* 2>/dev/null | head -c 16000000 >/dev/null"

FIXTURE(cap)
{
	struct umad_fabric fabric;
	struct umad_port port;
	struct umad_cgroup group;
	struct umad_file file[2];	/* of the group */
	struct umad_file peer;
	__u32 id[2];
	__u32 peer_id;
	struct umad_long msg;
	struct umad_statistics before;
};

/* The first takes Send, the second Set */
#define open_file(self, which)						\
	((self)->id[which] = umad_cgroup_agent(				\
		&(self)->group, &(self)->port,				\
		umad_reg_rmpp(2, (which) ? 1ULL << MAD_SET : 1ULL << MAD_SEND), \
		&(self)->file[which]))

FIXTURE_SETUP(cap)
{
	int i;

	if (umad_reference())
		SKIP(return, "the reference has no cap");
	self->fabric = (struct umad_fabric){ .hosts = 2, .opa = true };
	umad_subnet(&self->fabric);
	self->port = self->fabric.host[0];
	umad_long_alloc(&self->msg, MOST + MB);
	umad_cgroup_make(&self->group);
	for (i = 0; i < 2; i++)
		open_file(self, i);
	self->peer_id = umad_open_agent(&self->port, &umad_abi_new,
					umad_reg_rmpp(2, 1ULL << MAD_GET), &self->peer);
	self->before = umad_statistics(&self->port);
}

FIXTURE_TEARDOWN(cap)
{
	umad_close(&self->file[0]);
	umad_close(&self->file[1]);
	umad_close(&self->peer);
	umad_cgroup_remove(&self->group);
	umad_long_free(&self->msg);
	umad_fabric_stop();
}

/* To the first of the group's descriptors, or by Set to the second one */
static struct umad_msg head_to(FIXTURE_DATA(cap) *self, int which, __u64 tid)
{
	struct umad_msg head = umad_long_head(&self->port, self->peer_id,
					      which ? MAD_SET : MAD_SEND, tid);

	head.mad.base_version = OPA_VERSION;
	return head;
}

static long not_there(const struct umad_file *file)
{
	long dropped = umad_fdinfo(file, "umad-dropped");

	return dropped < 0 ? 0 : dropped;
}

/* Sends it, and waits until it is there or was dropped */
#define send_long(self, which, tid, len) ({				\
	struct umad_msg __head = head_to(self, which, tid);		\
	struct umad_file *__file = &(self)->file[which];		\
	long long __end = umad_now_ms() + UMAD_LONG_MS;			\
	long __dropped = not_there(__file);				\
	long __unread = umad_fdinfo(__file, "umad-unread");		\
									\
	umad_long_write(&(self)->peer, &__head, len, tid, &(self)->msg); \
	while (umad_fdinfo(__file, "umad-unread") == __unread &&	\
	       not_there(__file) == __dropped) {			\
		ASSERT_GT(__end, umad_now_ms())				\
			TH_LOG("%ld bytes neither came nor were dropped", \
			       (long)(len));				\
		umad_sleep_ms(1);					\
	}								\
	not_there(__file) == __dropped;					\
})

#define read_long(self, which, tid, len) do {				\
	struct umad_msg __head = head_to(self, which, tid);		\
									\
	umad_long_read(&(self)->file[which], (self)->id[which], &__head, len, \
		       tid, &(self)->msg);				\
} while (0)

/* A request of the first descriptor that stays outstanding */
static struct umad_msg to_nobody(FIXTURE_DATA(cap) *self, __u64 tid)
{
	return umad_lost_request(&self->port, self->id[0], 0x10, tid, 600000);
}

/* Returns how many of these were not refused */
static int send_many(FIXTURE_DATA(cap) *self, int count, struct umad_msg *msg)
{
	int i;

	for (i = 0; i < count; i++) {
		*msg = to_nobody(self, i);
		if (_umad_write(&self->file[0], msg) < 0)
			break;
	}
	return i;
}

/* A message that waits to be read for a moment costs no other one */
TEST_F_TIMEOUT(cap, any_length_while_there_is_some, UMAD_HANGS)
{
	umad_cgroup_fill(&self->group);
	ASSERT_TRUE(send_long(self, 1, 1, MB));
	ASSERT_TRUE(send_long(self, 0, 2, MOST))
		TH_LOG("a message was acknowledged and dropped");
	read_long(self, 0, 2, MOST);
	read_long(self, 1, 1, MB);
	EXPECT_EQ(0, umad_cgroup_events(&self->group, "oom_kill"));
}

/* However many MADs there are, which are charged, and for which there is no room */
TEST_F_TIMEOUT(cap, behind_many_mads, UMAD_HANGS)
{
	int i;

	umad_cgroup_fill(&self->group);
	umad_flood(self, PLAIN);
	for (i = 0; i < 100; i++)
		ASSERT_TRUE(send_long(self, 1, 1 + i, SHORT))
			TH_LOG("a message was acknowledged and dropped");
	for (i = 0; i < 100; i++)
		read_long(self, 1, 1 + i, SHORT);
	EXPECT_EQ(0, umad_cgroup_events(&self->group, "oom_kill"));
}

/* Arrivals are charged without reclaim, and are there beside page cache that fills the group */
TEST_F_TIMEOUT(cap, beside_page_cache, UMAD_HANGS)
{
	struct umad_msg msg;
	long scanned;

	ASSERT_EQ(0, umad_sysfs_write("/proc/sys/vm/drop_caches", "1"));
	ASSERT_EQ(0, umad_cgroup_join(&self->group));
	ASSERT_NE(-1, system(READ_FILES));
	ASSERT_EQ(0, umad_cgroup_leave());
	ASSERT_LT(2 * ANSWER, umad_cgroup_charged(&self->group));
	ASSERT_EQ(0, umad_cgroup_limit(&self->group, umad_cgroup_charged(&self->group)));
	scanned = umad_cgroup_scanned(&self->group);
	ASSERT_LE(0, scanned);
	umad_flood(self, PLAIN);
	ASSERT_TRUE(send_long(self, 1, 1, ANSWER))
		TH_LOG("a message was acknowledged and dropped");
	EXPECT_EQ(0, umad_fdinfo(&self->file[0], "umad-dropped"));
	EXPECT_EQ(scanned, umad_cgroup_scanned(&self->group))
		TH_LOG("the group's memory was reclaimed for MADs that arrived");

	/* ... but for MADs that are written it is */
	EXPECT_EQ(MANY, send_many(self, MANY, &msg));
	EXPECT_LT(scanned, umad_cgroup_scanned(&self->group));

	/* The memory of a reader in the group takes the place of page cache */
	umad_long_free(&self->msg);
	ASSERT_EQ(0, umad_cgroup_join(&self->group));
	umad_long_alloc(&self->msg, ANSWER + PROBE);
	read_long(self, 1, 1, ANSWER);
	ASSERT_EQ(0, umad_cgroup_leave());
	EXPECT_EQ(0, umad_cgroup_events(&self->group, "oom_kill"));
}

/* Messages for a descriptor until it gets no more: of 1 MiB, and then short ones */
#define fill_up(self, which) ({						\
	int __n = 0;							\
									\
	while (send_long(self, which, 1000 + __n, MB))			\
		__n++;							\
	while (send_long(self, which, 100000 + __n, SHORT))		\
		__n++;							\
	__n;								\
})

#define read_up(self, which) do {					\
	while (umad_readable(&(self)->file[which], 0))			\
		ASSERT_LT(0, read((self)->file[which].fd, (self)->msg.in, \
				  (self)->msg.max));			\
} while (0)

/* Sends are the group's to pay, and a writer that can wait has it reclaim memory */
TEST_F_TIMEOUT(cap, sends, UMAD_HANGS)
{
	long refused = umad_statistic(&self->port, "refused_memory");
	struct umad_msg msg;
	struct iovec iov = { &msg, sizeof(msg) };
	int i;

	umad_cgroup_fill(&self->group);
	i = send_many(self, PLAIN, &msg);
	EXPECT_GT(PLAIN, i);
	EXPECT_EQ(ENOMEM, errno);
	EXPECT_EQ(refused + 1, umad_statistic(&self->port, "refused_memory"));
	/* Pages that were reclaimed for the refused one may be the next one's */
	while (i < PLAIN && pwritev2(self->file[0].fd, &iov, 1, -1, RWF_NOWAIT) > 0)
		msg = to_nobody(self, ++i);
	ASSERT_EQ(EAGAIN, errno);
	EXPECT_EQ(refused + 1, umad_statistic(&self->port, "refused_memory"));
	EXPECT_EQ(i, umad_fdinfo(&self->file[0], "umad-outstanding"));

	/* It is nothing to other groups, and ends when there is room */
	msg.hdr.id = self->peer_id;
	umad_write(&self->peer, &msg);
	msg.hdr.id = self->id[0];
	ASSERT_EQ(0, umad_cgroup_limit(&self->group, umad_cgroup_charged(&self->group) + MB));
	umad_write(&self->file[0], &msg);
	EXPECT_EQ(0, umad_cgroup_events(&self->group, "oom_kill"));
}

/* A dropped message has a counter and a reason of its own, and costs no other one */
TEST_F_TIMEOUT(cap, neglected, UMAD_HANGS)
{
	long dropped = umad_statistic(&self->port, "dropped_rmpp");
	struct umad_tracing tracing;
	char text[256];
	int i, n;

	ASSERT_EQ(0, umad_tracing_start(&tracing));
	n = fill_up(self, 0);
	ASSERT_LT(0, n);
	EXPECT_FALSE(send_long(self, 0, 2, SHORT));
	EXPECT_EQ(3, umad_fdinfo(&self->file[0], "umad-dropped"));
	EXPECT_EQ(3, umad_tracing_events(&tracing, "ib_umad_drop", text, sizeof(text)));
	EXPECT_TRUE(strstr(text, " reason rmpp "))
		TH_LOG("%s", text);
	umad_tracing_stop(&tracing);
	EXPECT_EQ(3, umad_statistic(&self->port, "dropped_rmpp") - dropped);

	/* The other descriptor of the group is read */
	for (i = 0; i < 20; i++) {
		ASSERT_TRUE(send_long(self, 1, 10 + i, 3 * MB))
			TH_LOG("message %d was acknowledged and dropped", i);
		read_long(self, 1, 10 + i, 3 * MB);
	}
	EXPECT_EQ(0, umad_fdinfo(&self->file[1], "umad-dropped"));

	/* One that is read makes room again */
	read_up(self, 0);
	ASSERT_TRUE(send_long(self, 0, 3, MOST));
	read_long(self, 0, 3, MOST);
}

/* An unread message ends with its descriptor, and takes nothing of the cap any more */
TEST_F_TIMEOUT(cap, given_back_by_close, UMAD_HANGS)
{
	int first, i;

	first = fill_up(self, 0);
	for (i = 0; i < 2; i++) {
		umad_close(&self->file[0]);
		open_file(self, 0);
		EXPECT_EQ(first, fill_up(self, 0));
	}
}

/* MADs for a group without room are in the cap as well; those beyond it are dropped */
TEST_F_TIMEOUT(cap, spent_for_mads, UMAD_HANGS)
{
	long before, dropped;

	umad_cgroup_fill(&self->group);
	umad_flood(self, PLAIN);
	EXPECT_EQ(0, umad_fdinfo(&self->file[0], "umad-dropped"));
	fill_up(self, 0);
	before = umad_fdinfo(&self->file[0], "umad-dropped");
	umad_flood(self, PLAIN);
	dropped = umad_fdinfo(&self->file[0], "umad-dropped") - before;
	TH_LOG("%ld of %d dropped", dropped, PLAIN);
	EXPECT_LT(0, dropped);
	EXPECT_EQ(dropped, umad_statistic(&self->port, "dropped_memory") -
		  self->before.value[UMAD_DROPPED_MEMORY]);
	EXPECT_EQ(self->before.value[UMAD_DROPPED_LIMIT],
		  umad_statistic(&self->port, "dropped_limit"));

	/* When it was read there is room again */
	read_up(self, 0);
	umad_flood(self, PLAIN);
	EXPECT_EQ(before + dropped, umad_fdinfo(&self->file[0], "umad-dropped"));
	EXPECT_EQ(0, umad_cgroup_events(&self->group, "oom_kill"));
}

/* A long message arrives beside short ones that are not read */
TEST_F_TIMEOUT(cap, long_beside_short, UMAD_HANGS)
{
	int i;

	for (i = 0; i < 100; i++)
		ASSERT_TRUE(send_long(self, i % 2, 1000 + i, SHORT));
	umad_flood(self, 100);
	ASSERT_TRUE(send_long(self, 1, 2000, 14 * MB));
	for (i = 1; i < 100; i += 2)
		read_long(self, 1, 1000 + i, SHORT);
	read_long(self, 1, 2000, 14 * MB);
}

/* Groups can be made at will: a container has as many as it likes, and is one owner */
#define NESTED		9
#define CONTAINER	(64 * MB)

/* Its buffers of 4,096 bytes for 2,008 of data are a fifth of the cap */
#define FIFTH		(umad_cap() / 5 * 2008 / 4096)

TEST_F_TIMEOUT(cap, nested, UMAD_HANGS)
{
	struct umad_cgroup child[NESTED];
	struct umad_file file[NESTED];
	long slab = umad_meminfo("Slab:"), taken;
	long long end = umad_now_ms() + UMAD_LONG_MS;
	struct umad_msg head;
	int i, there = 0;
	size_t size;

	if (umad_cap() >= 200 * MB)
		SKIP(return, "less than the cap is sent");
	ASSERT_EQ(0, umad_cgroup_limit(&self->group, CONTAINER));
	umad_close(&self->file[0]);
	ASSERT_EQ(0, umad_cgroup_put(self->group.path, "cgroup.subtree_control", "+memory"));
	for (i = 0; i < NESTED; i++) {
		ASSERT_LT(0, snprintf(child[i].path, sizeof(child[i].path), "%.50s/%d",
				      self->group.path, i));
		ASSERT_EQ(0, mkdir(child[i].path, 0700));
		self->id[0] = umad_cgroup_agent(&child[i], &self->port,
						umad_reg_rmpp(2, 1ULL << MAD_SEND), &file[i]);
		/* A message that is written needs room for a moment, too */
		head = head_to(self, 0, 1 + i);
		size = umad_long_pack(&self->peer, &head, 10 * MB, 1, self->msg.out);
		if (write(self->peer.fd, self->msg.out, size) < 0) {
			EXPECT_EQ(ENOMEM, errno);
		} else {
			while (!not_there(&file[i]) && !umad_readable(&file[i], 1))
				ASSERT_GT(end, umad_now_ms());
			there += umad_readable(&file[i], 0);
		}
		umad_unregister(&file[i], self->id[0]);
	}
	taken = umad_meminfo("Slab:") - slab;
	TH_LOG("%d of %d are there, and take %ld KiB", there, NESTED, taken / 1024);
	EXPECT_LT(0, there);
	EXPECT_GT((umad_slab_padded() ? 4 : 1) * umad_cap() + 8 * MB, taken);
	/* The second descriptor was opened outside of the container */
	ASSERT_TRUE(send_long(self, 1, 1000, FIFTH))
		TH_LOG("a container leaves nothing to others");
	read_long(self, 1, 1000, FIFTH);
	for (i = 0; i < NESTED; i++) {
		umad_close(&file[i]);
		umad_cgroup_remove(&child[i]);
	}
}

/* What one owner holds is less for the others, and they still get some */
TEST_F_TIMEOUT(cap, owners, UMAD_HANGS)
{
	int i, n[2];

	ASSERT_EQ(0, umad_cgroup_limit(&self->group, CONTAINER));
	umad_close(&self->file[0]);
	open_file(self, 0);
	for (i = 0; i < 2; i++)
		for (n[i] = 0; send_long(self, i, 1000 * i + n[i], MB); n[i]++)
			;
	TH_LOG("%d messages of one owner, %d of another", n[0], n[1]);
	EXPECT_LT(0, n[1]);
	EXPECT_LT(n[1], n[0]);
}

/* Messages that the container writes, as long as the cap, and what others do in that time */
#define ALL_BUT_LITTLE	(umad_cap() - 8192)

static void *missing(size_t len)
{
	void *map = mmap(NULL, len, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return map == MAP_FAILED ? NULL : map;
}

/* A newcomer without a limit does what each program does, and is never refused */
#define expect_newcomer(self, tid) do {					\
	struct umad_msg __head;						\
	struct umad_file __file;					\
	struct umad_reg __reg;						\
	size_t __size;							\
	int __i;							\
									\
	umad_open_abi(&(self)->port, &umad_abi_new, O_RDWR | O_NONBLOCK, &__file); \
	for (__i = 0; __i < 12; __i++) {				\
		__reg = umad_reg_rmpp(2, 0);				\
		umad_register(&__file, &__reg);				\
	}								\
	__head = umad_long_head(&(self)->port, 0, MAD_SET, tid);	\
	__head.mad.base_version = OPA_VERSION;				\
	__size = umad_long_pack(&__file, &__head, SHORT, tid, (self)->msg.out); \
	ASSERT_EQ((ssize_t)__size, write(__file.fd, (self)->msg.out, __size)) \
		TH_LOG("write: %s", strerror(errno));			\
	umad_long_read(&(self)->file[1], (self)->id[1], &__head, SHORT, \
		       tid, &(self)->msg);				\
	umad_close(&__file);						\
} while (0)

static atomic_uint written;
static atomic_bool stop;

static long write_all_the_time(struct umad_call *call)
{
	do {
		if (write(call->fd, call->buf, call->len) >= 0 || errno != ENOMEM)
			return -1;
		written++;
	} while (!stop);
	return 0;
}

TEST_F_TIMEOUT(cap, writer_all_the_time, UMAD_HANGS)
{
	struct umad_call call = {
		.fn = write_all_the_time,
		.fd = self->file[0].fd,
		.len = ALL_BUT_LITTLE,
	};
	struct umad_msg head = head_to(self, 0, 1);
	unsigned int done, i;

	head.hdr.id = self->id[0];
	ASSERT_EQ(0, umad_cgroup_limit(&self->group, umad_cgroup_charged(&self->group) + MB));
	call.buf = missing(call.len);
	ASSERT_TRUE(call.buf);
	umad_pack(&self->file[0], &head, MAD_VENDOR_HDR, call.buf);
	umad_call_start(&call);
	for (i = 0; i < 100; i++) {
		expect_newcomer(self, 1 + i);
		done = written;
		ASSERT_TRUE(umad_within(UMAD_LONG_MS, written > done));
	}
	stop = true;
	umad_call_end(&call);
	EXPECT_EQ(0, call.ret);
	EXPECT_EQ(0, umad_cgroup_events(&self->group, "oom_kill"));
	munmap(call.buf, call.len);
}

/* Outstanding messages of a descriptor without a limit on its cgroup */
TEST_F_TIMEOUT(cap, outstanding_messages, UMAD_HANGS)
{
	struct umad_reg reg = umad_reg_rmpp(2, 0);
	struct umad_msg head = to_nobody(self, 1);
	size_t len = umad_cap() / 3;
	void *map = missing(len);
	int i;

	ASSERT_TRUE(map);
	head.mad.base_version = OPA_VERSION;
	umad_make_active(&head);
	for (i = 0; i < 4; i++) {
		head.mad.tid = htobe64(1 + i);
		umad_pack(&self->file[0], &head, MAD_VENDOR_HDR, map);
		errno = 0;
		if (write(self->file[0].fd, map, len) != (ssize_t)len)
			break;
	}
	EXPECT_EQ(2, i);
	EXPECT_EQ(ENOMEM, errno);
	umad_expect_changes(&self->before, &self->port,
			    "rmpp_sent+2 refused_memory+1 outstanding+2");
	/* They are limited by descriptor, and end with the agent */
	expect_newcomer(self, 7);
	umad_unregister(&self->file[0], self->id[0]);
	self->id[0] = umad_register(&self->file[0], &reg);
	head.hdr.id = self->id[0];
	umad_pack(&self->file[0], &head, MAD_VENDOR_HDR, map);
	EXPECT_EQ((ssize_t)len, write(self->file[0].fd, map, len));
	munmap(map, len);
}

TEST_HARNESS_MAIN
