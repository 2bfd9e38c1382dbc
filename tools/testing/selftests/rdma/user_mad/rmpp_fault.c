// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Page faults in the middle of a long message: pages that come late or never,
 * and a buffer that changes while it is being sent.
 *
 * Also on: 6.1, 6.12
 */
#define PAIR_TWO_VARIANTS
#define PAIR_LONG	(1024 * 1024)
#include <signal.h>
#include <sys/wait.h>

#include "kselftest_harness.h"
#include "lib/cgroup.h"
#include "lib/pair.h"
#include "lib/stall.h"

#define KILLED_STEP	(2 << 20)

static struct umad_msg next_head(FIXTURE_DATA(pair) *self)
{
	return umad_long_head(&self->port, self->cid, MAD_SEND, self->tid++);
}

/*
 * Order is kept, so a message that does arrive shows that nothing was sent
 * before it; and that its transaction was not left outstanding.
 */
#define expect_nothing_sent(self, head) do {				\
	umad_long_write(&(self)->client, head, 1000, 7, &(self)->msg);	\
	umad_long_read(&(self)->server, (self)->sid, head, 1000, 7,	\
		       &(self)->msg);					\
	umad_expect_empty(&(self)->server);				\
} while (0)

/* Writes @size bytes of self->msg.out of which those from @at on are missing */
#define start_stalled(self, stall, call, at, size) do {			\
	*(call) = UMAD_CALL(WRITE, (self)->client.fd, .len = size);	\
	umad_stall_call(stall, call, (self)->msg.out, at);		\
} while (0)

/*
 * A page that comes late, or never, wherever the message is read: what is before is
 * there, what follows is not yet.
 */
TEST_F(pair, missing_page)
{
	const size_t len = 12 * MAD_VENDOR_DATA + 17, hlen = self->client.hlen;
	const size_t data = hlen + MAD_VENDOR_HDR, size = data + len;
	const size_t all[] = {
		1, hlen - 1, hlen, hlen + MAD_HDR, hlen + MAD_RMPP_HDR, data - 1, data, data + 1,
		hlen + MAD_SIZE - 1, hlen + MAD_SIZE, hlen + MAD_SIZE + 1,
		data + 2 * MAD_VENDOR_DATA - 1, data + 2 * MAD_VENDOR_DATA,
		data + 2 * MAD_VENDOR_DATA + 1,
		data + 7 * MAD_VENDOR_DATA + 100, size - 1,
	};
	struct umad_stall stall;
	struct umad_call call;
	struct umad_msg head;
	size_t i, at;
	bool comes;

	for (i = 0; i < 2 * ARRAY_SIZE(all); i++) {
		at = all[i / 2];
		comes = i % 2;
		head = next_head(self);
		umad_long_pack(&self->client, &head, len, i, self->msg.out);
		start_stalled(self, &stall, &call, at, size);
		ASSERT_EQ(0, !comes ? umad_stall_fail(&stall) :
			  umad_stall_release(&stall, self->msg.out + at, size - at));
		ASSERT_TRUE(umad_call_returned(&call, UMAD_SOON_MS));
		umad_stall_free(&stall);
		EXPECT_EQ(comes ? (long)size : -1, call.ret)
			TH_LOG("page missing from %zu: %s", at, strerror(call.err));
		if (comes) {
			umad_long_read(&self->server, self->sid, &head, len, i, &self->msg);
		} else {
			EXPECT_EQ(EFAULT, call.err);
			expect_nothing_sent(self, &head);
		}
	}
	umad_expect_empty(&self->server);
	umad_expect_empty(&self->client);
}

/*
 * The headers are read once: what they become while the data is still awaited
 * changes nothing. Each of these would have it refused, go to another agent, arrive
 * as something else, or have its data at another offset.
 */
TEST_F(pair, header_changed_meanwhile)
{
	const size_t len = 12 * MAD_VENDOR_DATA;
	const size_t at = self->client.hlen + MAD_SIZE + MAD_VENDOR_DATA + 1;
	struct umad_msg head = next_head(self), other = head;
	struct umad_stall stall;
	struct umad_call call;
	size_t size;

	other.hdr.id = 5;
	umad_msg_to_nobody(&other);
	other.mad.mgmt_class = MAD_CLASS_SA;
	other.mad.method = MAD_GET;
	other.mad.tid = htobe64(0xfeedface);
	other.mad.attr_mod = 0;
	other.mad.rmpp_flags = 0;
	memset(other.mad.oui, 0, 3);

	size = umad_long_pack(&self->client, &head, len, 1, self->msg.out);
	start_stalled(self, &stall, &call, at, size);
	umad_pack(&self->client, &other, MAD_VENDOR_HDR, umad_stall_at(&stall, at));
	ASSERT_EQ(0, umad_stall_release(&stall, self->msg.out + at, size - at));
	ASSERT_TRUE(umad_call_returned(&call, UMAD_SOON_MS));
	EXPECT_EQ((long)size, call.ret)
		TH_LOG("write: %s", strerror(call.err));
	umad_stall_free(&stall);
	umad_long_read(&self->server, self->sid, &head, len, 1, &self->msg);
	umad_expect_empty(&self->server);
	umad_expect_empty(&self->client);
}

/* A file with pinned pages cannot be sealed against writing */
TEST_F(pair, pages_are_given_back)
{
	const size_t len = 25000, page = sysconf(_SC_PAGESIZE);
	struct umad_msg head = next_head(self);
	int fd = memfd_create("umad", MFD_ALLOW_SEALING);
	size_t size;
	__u8 *map;

	ASSERT_LE(0, fd);
	size = umad_long_pack(&self->client, &head, len, 1, self->msg.out);
	ASSERT_EQ((ssize_t)size, write(fd, self->msg.out, size));
	map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	ASSERT_NE(MAP_FAILED, map);
	ASSERT_EQ((ssize_t)size, write(self->client.fd, map, size));
	umad_long_read(&self->server, self->sid, &head, len, 1, &self->msg);
	ASSERT_EQ(0, mprotect(map + size / page * page, page, PROT_NONE));
	umad_err(EFAULT, write(self->client.fd, map, size));
	munmap(map, size);
	EXPECT_EQ(0, fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE))
		TH_LOG("%s", strerror(errno));
	close(fd);
}

/* Of one page that is everywhere, behind a head of its own; NULL if there is no room */
static __u8 *map_long(size_t size)
{
	const size_t page = sysconf(_SC_PAGESIZE);
	int fd = memfd_create("umad", MFD_CLOEXEC);
	size_t at;
	__u8 *map;

	map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, fd, 0);
	if (fd < 0 || map == MAP_FAILED || ftruncate(fd, KILLED_STEP))
		return NULL;
	for (at = page; at + KILLED_STEP <= size; at += KILLED_STEP)
		if (mmap(map + at, KILLED_STEP, PROT_READ,
			 MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
			return NULL;
	close(fd);
	return map;
}

/*
 * The writer dies while its message is made, which takes long, and nothing of it
 * is left: the descriptor is ours as well, so that nothing ends with its close.
 */
TEST_F_TIMEOUT(pair, killed_while_it_is_copied, UMAD_HANGS)
{
	const size_t page = sysconf(_SC_PAGESIZE);
	/* The segments have to fit into what a descriptor may have outstanding */
	const size_t size = page + umad_cap() / 4 / KILLED_STEP * KILLED_STEP;
	struct umad_msg head = next_head(self);
	int status;
	__u8 *map;
	pid_t pid;

	if (umad_reference())
		SKIP(return, "it does not tell what is outstanding");
	map = map_long(size);
	ASSERT_TRUE(map);
	umad_pack(&self->client, &head, MAD_VENDOR_HDR, map);

	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(write(self->client.fd, map, size) == (ssize_t)size ? 0 : 1);
	EXPECT_TRUE(umad_fdinfo_reaches(&self->client, "umad-outstanding", 1, UMAD_LONG_MS));
	EXPECT_EQ(0, kill(pid, SIGKILL));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status))
		TH_LOG("the writer ended with status %#x before it was killed", status);
	EXPECT_EQ(0, umad_fdinfo(&self->client, "umad-outstanding"));
	munmap(map, size);
	expect_nothing_sent(self, &head);
}

/* Does not return: the process is killed when its write waits for the last page of @map */
static void write_and_die(int fd, const struct umad_stall *stall, void *map, size_t len)
{
	struct umad_call call = UMAD_CALL(WRITE, fd, .buf = map, .len = len);

	if (!pthread_create(&call.thread, NULL, umad_call_thread, &call) &&
	    umad_stall_caught(stall))
		raise(SIGKILL);
	_exit(1);
}

/* The writer dies while a page is missing: those before it are the file's alone again */
TEST_F_TIMEOUT(pair, killed_while_a_page_is_missing, UMAD_HANGS)
{
	struct umad_stall stall = { .page = sysconf(_SC_PAGESIZE) };
	const size_t there = 8 * stall.page;
	struct umad_msg head = next_head(self);
	__u8 bytes[128] = { 0 };
	int status, file;
	__u8 *map;
	pid_t pid;

	file = memfd_create("umad", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	ASSERT_LE(0, file);
	umad_pack(&self->client, &head, MAD_VENDOR_HDR, bytes);
	ASSERT_EQ(sizeof(bytes), pwrite(file, bytes, sizeof(bytes), 0));
	ASSERT_EQ(0, ftruncate(file, there));

	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		map = mmap(NULL, there + stall.page, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (map == MAP_FAILED ||
		    mmap(map, there, PROT_READ, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED)
			_exit(1);
		stall.uffd = umad_uffd(map + there, stall.page, false);
		write_and_die(self->client.fd, &stall, map, there + stall.page);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status))
		TH_LOG("the writer ended with status %#x before it was killed", status);
	EXPECT_EQ(0, fcntl(file, F_ADD_SEALS, F_SEAL_WRITE))
		TH_LOG("pages are in use: %s", strerror(errno));
	close(file);
	expect_nothing_sent(self, &head);
}

TEST_HARNESS_MAIN
