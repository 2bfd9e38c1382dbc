// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What the soak test consists of, one role a process:
 *
 *	soak serve DEVICE
 *		answers requests until it is killed, as long as it is asked to
 *	soak ask DEVICE LID SECONDS WINDOW ANSWER [CGROUP]
 *		keeps WINDOW requests outstanding, for answers of ANSWER bytes,
 *		and balances its books. If CGROUP is to pay for it, nothing is
 *		read before all requests have ended
 *	soak stuck DEVICE LID
 *		writes from a page that never comes, until it is killed
 *
 * An asker's books balance if every request that was accepted has been answered or
 * has timed out, and none twice. Where the kernel has no room for an answer, it
 * counts that as dropped and lets the request time out at once.
 */
#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <rdma/ib_user_mad.h>

#include "../selftests/rdma/user_mad/lib/mad.h"

#define OUI		0x02554d

#define HDR		sizeof(struct ib_user_mad_hdr)
#define MAX_MAD		(64 << 10)
#define TIDS		65536		/* much more than are ever outstanding */

/* An answer of many segments that loses one is sent again after 2 s */
#define TIMEOUT_MS	500
#define LONG_TIMEOUT_MS	5000
#define RETRIES		1
#define SEG_RETRIES	5
#define DRAIN_S		120

struct msg {
	struct ib_user_mad_hdr hdr;
	struct mad mad;
};

static union {
	struct msg msg;
	uint8_t bytes[HDR + MAX_MAD];
} buf;

static void fail(const char *what)
{
	fprintf(stderr, "soak: %s: %s\n", what, strerror(errno));
	exit(1);
}

static long long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

static int open_device(const char *path, bool server, uint32_t *id)
{
	struct ib_user_mad_reg_req2 req = {
		.qpn = 1,
		.mgmt_class = MAD_CLASS_VENDOR2,
		.mgmt_class_version = 1,
		.oui = OUI,
		.rmpp_version = 1,
		.method_mask = { server << MAD_GET },
	};
	int fd = open(path, O_RDWR | (server ? 0 : O_NONBLOCK));

	if (fd < 0)
		fail(path);
	if (ioctl(fd, IB_USER_MAD_REGISTER_AGENT2, &req))
		fail("REGISTER_AGENT2");
	*id = req.id;
	return fd;
}

/*
 * An answer goes where the request came from. Losing one is the asker's concern.
 * It has no timeout of its own: that would be for an answer to the answer, and
 * with a short one the kernel's MAD layer does not send segments again.
 */
static void serve(const char *path)
{
	struct msg *msg = &buf.msg;
	uint32_t id, want;
	int fd = open_device(path, true, &id);
	ssize_t n;

	for (;;) {
		n = read(fd, &buf, sizeof(buf));
		if (n < 0 && (errno == EINTR || errno == ENOSPC))
			continue;
		if (n < 0)
			fail("read");
		if (msg->hdr.status)
			continue;

		want = be32toh(msg->mad.attr_mod);
		if (want < MAD_SIZE || want > MAX_MAD)
			want = MAD_SIZE;
		msg->mad.method |= MAD_RESP;
		msg->mad.rmpp_version = 1;
		msg->mad.rmpp_type = MAD_RMPP_DATA;
		msg->mad.rmpp_flags = want > MAD_SIZE ? MAD_RMPP_ACTIVE : 0;
		msg->hdr.timeout_ms = 0;
		msg->hdr.retries = want > MAD_SIZE ? SEG_RETRIES : 0;
		if (write(fd, &buf, HDR + want) < 0 && errno != EINVAL &&
		    errno != ENOMEM)
			fail("write");
	}
}

struct books {
	unsigned long long sent, answered, timed_out, refused;
	uint32_t next;			/* TID */
	unsigned int outstanding;	/* as far as is known here */
	bool open[TIDS];
};

static struct books books;

static void request(uint32_t id, uint16_t lid, uint32_t answer, struct msg *msg)
{
	memset(msg, 0, HDR + MAD_SIZE);
	msg->hdr.id = id;
	msg->hdr.qpn = htobe32(1);
	msg->hdr.lid = htobe16(lid);
	msg->hdr.timeout_ms = answer > MAD_SIZE ? LONG_TIMEOUT_MS : TIMEOUT_MS;
	msg->hdr.retries = RETRIES;
	msg->mad = (struct mad){
		.base_version = 1,
		.mgmt_class = MAD_CLASS_VENDOR2,
		.class_version = 1,
		.method = MAD_GET,
		.attr_id = htobe16(0x10),
		.oui = { OUI >> 16, OUI >> 8 & 0xff, OUI & 0xff },
		.attr_mod = htobe32(answer),	/* how long it is to be */
	};
}

static bool ask_one(int fd, uint32_t id, uint16_t lid, uint32_t answer)
{
	struct msg *msg = &buf.msg;

	request(id, lid, answer, msg);
	msg->mad.tid = htobe64(books.next);
	if (write(fd, msg, HDR + MAD_SIZE) < 0) {
		if (errno != ENOMEM)
			fail("write");
		books.refused++;
		return false;
	}
	books.open[books.next++ % TIDS] = true;
	books.outstanding++;
	books.sent++;
	return true;
}

static bool read_one(int fd)
{
	ssize_t n = read(fd, &buf, sizeof(buf));
	uint32_t tid;

	if (n < 0 && errno == EAGAIN)
		return false;
	if (n < 0)
		fail("read");

	tid = be64toh(buf.msg.mad.tid);
	if (!books.open[tid % TIDS]) {
		fprintf(stderr, "soak: request %u ended twice, or never was: status %u\n",
			tid, buf.msg.hdr.status);
		exit(1);
	}
	books.open[tid % TIDS] = false;
	books.outstanding--;
	if (buf.msg.hdr.status)
		books.timed_out++;
	else
		books.answered++;
	return true;
}

static unsigned long long count_of(int fd, const char *field)
{
	char path[64], text[1024] = "", *at;
	int info;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	info = open(path, O_RDONLY);
	if (info < 0 || read(info, text, sizeof(text) - 1) < 0)
		fail(path);
	close(info);
	at = strstr(text, field);
	if (!at)
		fail(field);
	return strtoull(at + strlen(field), NULL, 10);
}

/* Waits until every request has ended, and reads how */
static void settle(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	long long end = now_ms() + DRAIN_S * 1000;

	while (count_of(fd, "umad-outstanding:") && now_ms() < end)
		usleep(100000);
	for (;;) {
		while (read_one(fd))
			;
		if (!books.outstanding && !count_of(fd, "umad-unread:"))
			return;
		if (now_ms() > end) {
			fprintf(stderr,
				"soak: %u requests have no end, %llu outstanding, %llu unread\n",
				books.outstanding,
				count_of(fd, "umad-outstanding:"),
				count_of(fd, "umad-unread:"));
			exit(1);
		}
		poll(&pfd, 1, 100);
	}
}

static void enter_cgroup(const char *cgroup)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/cgroup.procs", cgroup);
	fd = open(path, O_WRONLY);
	if (fd < 0 || write(fd, "0", 1) != 1)
		fail(path);
	close(fd);
}

/* Who opens the device pays for what arrives, here without being in need itself */
static int open_for(const char *cgroup, const char *path, uint32_t *id)
{
	int fd;

	if (cgroup)
		enter_cgroup(cgroup);
	fd = open_device(path, false, id);
	if (cgroup)
		enter_cgroup("/sys/fs/cgroup");
	return fd;
}

static void ask(const char *path, uint16_t lid, long seconds, unsigned int window,
		uint32_t answer, const char *cgroup)
{
	uint32_t id;
	int fd = open_for(cgroup, path, &id);
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	long long end = now_ms() + seconds * 1000;
	unsigned long long dropped;

	while (now_ms() < end) {
		while (books.outstanding < window && ask_one(fd, id, lid, answer))
			;
		if (cgroup) {
			settle(fd);
			continue;
		}
		poll(&pfd, 1, 100);
		while (read_one(fd))
			;
	}
	settle(fd);

	dropped = count_of(fd, "umad-dropped:");
	printf("%llu sent = %llu answered + %llu timed out\n",
	       books.sent, books.answered, books.timed_out);
	printf("%llu dropped\n", dropped);
	printf("%llu refused\n", books.refused);
	if (!books.answered || books.timed_out < dropped ||
	    books.sent != books.answered + books.timed_out) {
		fprintf(stderr, "soak: %s: this does not balance\n", path);
		exit(1);
	}
}

/* A page that nobody brings: the write waits until it is killed */
static void stuck(const char *path, uint16_t lid)
{
	long page = sysconf(_SC_PAGESIZE);
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	int uffd = syscall(SYS_userfaultfd, O_CLOEXEC);
	uint32_t id;
	int fd = open_device(path, false, &id);
	uint8_t *mem;

	mem = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (uffd < 0 || mem == MAP_FAILED || ioctl(uffd, UFFDIO_API, &api))
		fail("userfaultfd");
	reg.range.start = (unsigned long)mem + page;
	reg.range.len = page;
	if (ioctl(uffd, UFFDIO_REGISTER, &reg))
		fail("UFFDIO_REGISTER");

	request(id, lid, MAD_SIZE, &buf.msg);
	memcpy(mem + page - HDR - 64, &buf, HDR + 64);
	if (write(fd, mem + page - HDR - 64, HDR + MAD_SIZE))
		fail("a write that cannot end");
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 3 && !strcmp(argv[1], "serve"))
		serve(argv[2]);
	else if ((argc == 7 || argc == 8) && !strcmp(argv[1], "ask"))
		ask(argv[2], strtoul(argv[3], NULL, 0), atol(argv[4]),
		    atoi(argv[5]), atoi(argv[6]), argc == 8 ? argv[7] : NULL);
	else if (argc == 4 && !strcmp(argv[1], "stuck"))
		stuck(argv[2], strtoul(argv[3], NULL, 0));
	else
		fprintf(stderr, "usage: see the head of soak.c\n"), exit(2);
	return 0;
}
