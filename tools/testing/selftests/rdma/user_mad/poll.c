// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Readiness: poll, select, epoll, and who is woken when.
 */
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/select.h>

#include "kselftest_harness.h"
#include "lib/pair.h"

#define WRITABLE	(POLLOUT | POLLWRNORM)
#define READABLE	(POLLIN | POLLRDNORM)

#define expect_poll(events, file)					\
	EXPECT_EQ(events, _umad_poll(file, 0))

TEST_F(pair, always_writable)
{
	struct umad_msg msg = umad_msg(&self->port, self->cid, MAD_GET, 0);
	struct umad_file fresh;
	int i;

	expect_poll(WRITABLE, &self->client);

	/* Even with sends outstanding, and before any agent is there */
	umad_msg_to_nobody(&msg);
	msg.hdr.timeout_ms = 60000;
	for (i = 0; i < 16; i++) {
		msg.mad.tid = htobe64(i);
		umad_write(&self->client, &msg);
	}
	expect_poll(WRITABLE, &self->client);
	umad_open(&self->port, O_RDWR, &fresh);
	expect_poll(WRITABLE, &fresh);
	umad_close(&fresh);
}

TEST_F(pair, readable_while_a_packet_waits)
{
	struct umad_msg msg = umad_msg(&self->port, self->cid, MAD_SEND, 1);
	struct umad_msg got;

	expect_poll(WRITABLE, &self->server);
	umad_write(&self->client, &msg);
	msg.mad.tid = htobe64(2);
	umad_write(&self->client, &msg);
	ASSERT_TRUE(umad_readable(&self->server, UMAD_SOON_MS));
	expect_poll(WRITABLE | READABLE, &self->server);
	umad_read(&self->server, &got);

	/* A failed read leaves it so */
	ASSERT_TRUE(umad_readable(&self->server, UMAD_SOON_MS));
	umad_err_read_len(EINVAL, &self->server, 1);
	expect_poll(WRITABLE | READABLE, &self->server);
	umad_read(&self->server, &got);
	expect_poll(WRITABLE, &self->server);
}

/* Waiters of each kind, asleep when the packet comes */

enum waiter_kind { WAIT_POLL, WAIT_SELECT, WAIT_EPOLL, WAIT_READ };

struct waiter {
	enum waiter_kind kind;
	struct umad_file file;
	pthread_t thread;
	long ret;
};

static void *waiter(void *arg)
{
	struct waiter *waiter = arg;
	struct pollfd pfd = { .fd = waiter->file.fd, .events = POLLIN };
	struct epoll_event ev = { .events = EPOLLIN };
	struct timeval tv = { .tv_sec = UMAD_SOON_MS / 1000 };
	struct umad_msg got;
	fd_set set;
	int fd;

	switch (waiter->kind) {
	case WAIT_POLL:
		waiter->ret = poll(&pfd, 1, UMAD_SOON_MS);
		break;
	case WAIT_SELECT:
		FD_ZERO(&set);
		FD_SET(pfd.fd, &set);
		waiter->ret = select(pfd.fd + 1, &set, NULL, NULL, &tv);
		break;
	case WAIT_EPOLL:
		fd = epoll_create1(0);
		epoll_ctl(fd, EPOLL_CTL_ADD, pfd.fd, &ev);
		waiter->ret = epoll_wait(fd, &ev, 1, UMAD_SOON_MS);
		close(fd);
		break;
	case WAIT_READ:
		__atomic_store_n(&waiter->ret, _umad_read(&waiter->file, &got) > 0,
				 __ATOMIC_RELEASE);
		break;
	}
	return NULL;
}

/* @packets come when all are asleep */
#define expect_all_woken(self, kinds, packets) do {			\
	struct waiter __waiters[4];					\
	struct umad_msg __msg;						\
	int __i;							\
									\
	umad_make_blocking(&(self)->server);				\
	for (__i = 0; __i < 4; __i++) {					\
		__waiters[__i].kind = (kinds)[__i];			\
		__waiters[__i].file = (self)->server;			\
		ASSERT_EQ(0, pthread_create(&__waiters[__i].thread, NULL, waiter, \
					    &__waiters[__i]));		\
	}								\
	umad_sleep_ms(UMAD_QUIET_MS);					\
	for (__i = 0; __i < (packets); __i++) {				\
		__msg = umad_msg(&(self)->port, (self)->cid, MAD_SEND, __i); \
		umad_write(&(self)->client, &__msg);			\
	}								\
	for (__i = 0; __i < 4; __i++) {					\
		pthread_join(__waiters[__i].thread, NULL);		\
		EXPECT_EQ(1, __waiters[__i].ret)			\
			TH_LOG("waiter %d", __i);			\
	}								\
} while (0)

/* One packet for the reader, and one for the others to see */
TEST_F_TIMEOUT(pair, wakes_every_kind_of_waiter, 15)
{
	static const enum waiter_kind kinds[4] = {
		WAIT_POLL, WAIT_SELECT, WAIT_EPOLL, WAIT_READ,
	};

	expect_all_woken(self, kinds, 2);
}

/* As many packets as readers: all of them return */
TEST_F_TIMEOUT(pair, wakes_all_readers, 15)
{
	static const enum waiter_kind kinds[4] = {
		WAIT_READ, WAIT_READ, WAIT_READ, WAIT_READ,
	};

	expect_all_woken(self, kinds, 4);
}

struct exclusive {
	int fd;		/* of epoll */
	pthread_t thread;
};

static void *exclusive(void *arg)
{
	struct exclusive *exclusive = arg;
	struct epoll_event ev;

	epoll_wait(exclusive->fd, &ev, 1, 4 * UMAD_SOON_MS);
	return NULL;
}

/*
 * Who waits by EPOLLEXCLUSIVE may be the only one who is told that there is something
 * to be read. He may do as he likes; a read() that sleeps must have it.
 */
TEST_F_TIMEOUT(pair, exclusive_epoll_before_a_reader, 45)
{
	struct umad_msg msg = umad_msg(&self->port, self->cid, MAD_SEND, 1);
	struct epoll_event ev = { .events = EPOLLIN | EPOLLEXCLUSIVE };
	struct waiter reader = { .kind = WAIT_READ };
	struct exclusive waiters[3];
	struct pollfd pfd = {};
	void *ret;
	int i;

	umad_make_blocking(&self->server);
	for (i = 0; i < 3; i++) {
		waiters[i].fd = epoll_create1(EPOLL_CLOEXEC);
		ASSERT_LE(0, waiters[i].fd);
		ASSERT_EQ(0, epoll_ctl(waiters[i].fd, EPOLL_CTL_ADD, self->server.fd, &ev));
		ASSERT_EQ(0, pthread_create(&waiters[i].thread, NULL, exclusive, &waiters[i]));
	}
	umad_sleep_ms(UMAD_QUIET_MS);
	reader.file = self->server;
	ASSERT_EQ(0, pthread_create(&reader.thread, NULL, waiter, &reader));
	umad_sleep_ms(UMAD_QUIET_MS);

	umad_write(&self->client, &msg);
	/* When it was read, nobody else can */
	pfd = (struct pollfd){ .fd = self->server.fd, .events = POLLIN };
	for (i = 0; i < UMAD_SOON_MS / 10; i++) {
		if (__atomic_load_n(&reader.ret, __ATOMIC_ACQUIRE))
			break;
		umad_sleep_ms(10);
	}
	EXPECT_EQ(1, __atomic_load_n(&reader.ret, __ATOMIC_ACQUIRE))
		TH_LOG("a packet is there, and the reader sleeps");
	EXPECT_EQ(0, poll(&pfd, 1, 0));

	/* However that was, all of them end */
	for (i = 0; i < 4; i++) {
		msg.mad.tid = htobe64(2 + i);
		umad_write(&self->client, &msg);
		umad_sleep_ms(10);
	}
	pthread_join(reader.thread, &ret);
	for (i = 0; i < 3; i++) {
		pthread_join(waiters[i].thread, &ret);
		close(waiters[i].fd);
	}
}

TEST_F(pair, epoll_edge)
{
	struct umad_msg msg = umad_msg(&self->port, self->cid, MAD_SEND, 1);
	struct epoll_event ev = { .events = EPOLLIN | EPOLLET };
	int fd = epoll_create1(EPOLL_CLOEXEC);
	struct umad_msg got;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, epoll_ctl(fd, EPOLL_CTL_ADD, self->server.fd, &ev));
	EXPECT_EQ(0, epoll_wait(fd, &ev, 1, 0));

	umad_write(&self->client, &msg);
	EXPECT_EQ(1, epoll_wait(fd, &ev, 1, UMAD_SOON_MS));
	EXPECT_EQ(EPOLLIN, ev.events);
	/* Not read, and nothing new: no second edge */
	EXPECT_EQ(0, epoll_wait(fd, &ev, 1, UMAD_QUIET_MS));

	msg.mad.tid = htobe64(2);
	umad_write(&self->client, &msg);
	EXPECT_EQ(1, epoll_wait(fd, &ev, 1, UMAD_SOON_MS));
	umad_read(&self->server, &got);
	umad_read(&self->server, &got);
	close(fd);
}

TEST_HARNESS_MAIN
