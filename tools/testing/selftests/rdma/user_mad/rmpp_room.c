// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Long messages where memory is short, and who is killed for it: nobody, neither who
 * writes or reads them nor who happens to be in the same cgroup. And how long they
 * can be. Messages are of Omni-Path, as these have a tenth of the segments.
 */
#include <signal.h>

#include "kselftest_harness.h"
#include "lib/cgroup.h"
#include "lib/long.h"
#include "lib/statistics.h"
#include "lib/subnet.h"

#define MB		(1024 * 1024L)
#define OPA_VERSION	0x80
#define LONGEST		(256 * MB)

#define GROUP_MAX	(64 * MB)
#define NEIGHBOUR_HAS	(40 * MB)
#define NEIGHBOUR_TAKES	(2 * MB)
#define TOO_LONG	(umad_cap() / 2)
#define WRITES		64

#define ARRIVES		(20 * MB)

FIXTURE(rmpp_room)
{
	struct umad_fabric fabric;
	struct umad_port port;
	struct umad_cgroup group;
	pid_t child[2];
	/* What the children count, in memory that is charged to others */
	struct {
		int ready;
		int refused;
		int taken;
		int other;
		int rounds;
		int stop;
	} *shared;
};

FIXTURE_SETUP(rmpp_room)
{
	self->fabric = (struct umad_fabric){ .hosts = 2, .opa = true };
	umad_subnet(&self->fabric);
	self->port = self->fabric.host[0];
	self->shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->shared);
	memset(self->shared, 0, 4096);
	umad_cgroup_make(&self->group);
}

FIXTURE_TEARDOWN(rmpp_room)
{
	int i;

	for (i = 0; i < 2; i++) {
		if (self->child[i] <= 0)
			continue;
		kill(self->child[i], SIGKILL);
		waitpid(self->child[i], NULL, 0);
	}
	umad_cgroup_remove(&self->group);
	umad_fabric_stop();
}

static int load(const int *flag)
{
	return __atomic_load_n(flag, __ATOMIC_ACQUIRE);
}

static void add(int *count)
{
	__atomic_add_fetch(count, 1, __ATOMIC_ACQ_REL);
}

static bool reaches(const int *count, int least, int ms)
{
	long long end = umad_now_ms() + ms;

	while (load(count) < least) {
		if (umad_now_ms() > end)
			return false;
		umad_sleep_ms(1);
	}
	return true;
}

/* Whose pages cannot be reclaimed, and who faults new ones all the time */
static void neighbour(FIXTURE_DATA(rmpp_room) *self)
{
	size_t page = sysconf(_SC_PAGESIZE), at;
	__u8 *mem;

	if (umad_cgroup_join(&self->group))
		_exit(1);
	mem = mmap(NULL, NEIGHBOUR_HAS, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mem == MAP_FAILED || mlock(mem, NEIGHBOUR_HAS))
		_exit(2);
	memset(mem, 1, NEIGHBOUR_HAS);
	add(&self->shared->ready);
	while (!load(&self->shared->stop)) {
		mem = mmap(NULL, NEIGHBOUR_TAKES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (mem == MAP_FAILED)
			_exit(3);
		for (at = 0; at < NEIGHBOUR_TAKES; at += page)
			mem[at] = 1;
		munmap(mem, NEIGHBOUR_TAKES);
		add(&self->shared->rounds);
	}
	_exit(0);
}

/* A message of @size bytes, of which only the first page is more than the zero page */
static __u8 *zero_message(const struct umad_file *file, const struct umad_msg *head,
			  size_t size)
{
	__u8 *buf = mmap(NULL, size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (buf == MAP_FAILED)
		return NULL;
	/* Pages of zeros as large as can be had would be charged to the group */
	madvise(buf, size, MADV_NOHUGEPAGE);
	umad_pack(file, head, MAD_VENDOR_HDR, buf);
	return buf;
}

static int open_agent(FIXTURE_DATA(rmpp_room) *self, struct umad_file *file, __u64 methods,
		      __u32 *id)
{
	struct umad_reg reg = umad_reg_rmpp(2, methods);
	int ret = _umad_open_agent(&self->port, &umad_abi_new, &reg, file);

	*id = reg.id;
	return ret;
}

/* To ourselves */
static struct umad_msg next_head(FIXTURE_DATA(rmpp_room) *self, __u32 id)
{
	struct umad_msg head = umad_msg(&self->port, id, MAD_SEND, 1);

	head.hdr.retries = 3;
	head.mad.base_version = OPA_VERSION;
	umad_make_active(&head);
	return head;
}

static void writer(FIXTURE_DATA(rmpp_room) *self)
{
	size_t size = UMAD_HDR_NEW + TOO_LONG;
	struct umad_file file;
	struct umad_msg head;
	__u8 *buf;
	__u32 id;
	int i;

	if (umad_cgroup_join(&self->group) || open_agent(self, &file, 0, &id))
		_exit(1);
	head = next_head(self, id);
	umad_msg_to_nobody(&head);
	buf = zero_message(&file, &head, size);
	if (!buf)
		_exit(2);
	add(&self->shared->ready);
	while (!load(&self->shared->rounds))
		umad_sleep_ms(1);
	for (i = 0; i < WRITES; i++) {
		ssize_t ret = write(file.fd, buf, size);

		add(ret >= 0 ? &self->shared->taken :
		    errno == ENOMEM ? &self->shared->refused : &self->shared->other);
	}
	_exit(0);
}

/* A write that cannot be had takes nothing from the others of the group */
TEST_F_TIMEOUT(rmpp_room, neighbour_of_a_writer, UMAD_HANGS)
{
	int status;

	if (umad_reference())
		SKIP(return, "what the reference sends is charged to nobody");
	ASSERT_EQ(0, umad_cgroup_limit(&self->group, GROUP_MAX));
	umad_cgroup_put(self->group.path, "memory.swap.max", "0");
	self->child[0] = fork();
	ASSERT_LE(0, self->child[0]);
	if (!self->child[0])
		neighbour(self);
	ASSERT_TRUE(reaches(&self->shared->ready, 1, UMAD_LONG_MS));
	self->child[1] = fork();
	ASSERT_LE(0, self->child[1]);
	if (!self->child[1])
		writer(self);
	ASSERT_EQ(self->child[1], waitpid(self->child[1], &status, 0));
	self->child[1] = 0;
	self->shared->stop = 1;
	EXPECT_EQ(0, status);
	ASSERT_EQ(self->child[0], waitpid(self->child[0], &status, 0));
	self->child[0] = 0;
	EXPECT_EQ(0, status);

	TH_LOG("%d writes refused, %d rounds of the neighbour", self->shared->refused,
	       self->shared->rounds);
	EXPECT_EQ(WRITES, self->shared->refused);
	EXPECT_EQ(0, self->shared->taken);
	EXPECT_EQ(0, self->shared->other);
	EXPECT_EQ(0, umad_cgroup_events(&self->group, "oom_kill"));
	EXPECT_EQ(0, umad_cgroup_events(&self->group, "oom"));
}

/* What libibumad does: a small buffer, then one of the length that it was told */
static void reader(FIXTURE_DATA(rmpp_room) *self)
{
	__u8 small[UMAD_HDR_NEW + 2048];
	struct ib_user_mad_hdr hdr;
	struct umad_file file;
	size_t size, i;
	ssize_t ret;
	__u8 *buf;
	__u32 id;

	if (umad_cgroup_join(&self->group) || open_agent(self, &file, 1ULL << MAD_SEND, &id) ||
	    umad_cgroup_limit(&self->group,
			      umad_cgroup_charged(&self->group) + ARRIVES + ARRIVES / 4))
		_exit(1);
	umad_cgroup_put(self->group.path, "memory.swap.max", "0");
	add(&self->shared->ready);
	if (!umad_readable(&file, UMAD_LONG_MS))
		_exit(2);
	if (read(file.fd, small, sizeof(small)) != -1 || errno != ENOSPC)
		_exit(3);
	memcpy(&hdr, small, sizeof(hdr));
	size = hdr.length;
	if (size != UMAD_HDR_NEW + ARRIVES)
		_exit(4);
	buf = malloc(size);
	if (!buf)
		_exit(5);
	/* Its pages are faulted by the read, or a moment before, as here */
	for (i = 0; i < size; i += 4096) {
		buf[i] = 1;
		if (i % MB == 0)
			umad_sleep_ms(1);
	}
	ret = read(file.fd, buf, size);
	_exit(ret == (ssize_t)size ? 0 : 6);
}

/* The group can hold the message once, and it is the reader who does */
TEST_F_TIMEOUT(rmpp_room, reader_of_a_long_message, UMAD_HANGS)
{
	size_t size = UMAD_HDR_NEW + ARRIVES;
	struct umad_file file;
	struct umad_msg head;
	int status;
	__u8 *buf;
	__u32 id;

	ASSERT_EQ(0, open_agent(self, &file, 0, &id));
	head = next_head(self, id);
	buf = zero_message(&file, &head, size);
	ASSERT_TRUE(buf);

	self->child[0] = fork();
	ASSERT_LE(0, self->child[0]);
	if (!self->child[0])
		reader(self);
	ASSERT_TRUE(reaches(&self->shared->ready, 1, UMAD_SOON_MS));
	ASSERT_EQ((ssize_t)size, write(file.fd, buf, size));
	ASSERT_EQ(self->child[0], waitpid(self->child[0], &status, 0));
	self->child[0] = 0;
	EXPECT_EQ(0, status)
		TH_LOG("signal %d, exit %d", WIFSIGNALED(status) ? WTERMSIG(status) : 0,
		       WEXITSTATUS(status));
	EXPECT_EQ(0, umad_cgroup_events(&self->group, "oom_kill"));
	munmap(buf, size);
	umad_close(&file);
}

/* No receiver takes more than this, so that a longer one is refused before it is read */
TEST_F_TIMEOUT(rmpp_room, longest_message, UMAD_HANGS)
{
	struct umad_statistics before;
	struct umad_file file;
	struct umad_msg head;
	__u8 *buf;
	__u32 id;

	if (umad_reference())
		SKIP(return, "the reference takes any length");
	ASSERT_EQ(0, open_agent(self, &file, 0, &id));
	head = next_head(self, id);
	umad_msg_to_nobody(&head);
	buf = zero_message(&file, &head, UMAD_HDR_NEW + LONGEST + 1);
	ASSERT_TRUE(buf);

	before = umad_statistics(&self->port);
	umad_err(EINVAL, write(file.fd, buf, UMAD_HDR_NEW + LONGEST + 1));
	umad_expect_changes(&before, &self->port, "");
	if (umad_cap() / 3 < LONGEST) {
		umad_err(ENOMEM, write(file.fd, buf, UMAD_HDR_NEW + LONGEST));
		umad_expect_changes(&before, &self->port, "refused_memory+1");
	}
	munmap(buf, UMAD_HDR_NEW + LONGEST + 1);
	umad_close(&file);
}

TEST_HARNESS_MAIN
