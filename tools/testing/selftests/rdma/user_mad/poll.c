// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Readiness: poll, select, epoll, and when each of them wakes
 *
 * Also on: 6.1, 6.12
 */
#include <sys/epoll.h>

#include "kselftest_harness.h"
#include "lib/pair.h"
#include "lib/stall.h"
#include "lib/vector.h"

#define WRITABLE	(POLLOUT | POLLWRNORM)
#define READABLE	(POLLIN | POLLRDNORM)

#define expect_poll(events, file)					\
	EXPECT_EQ(events, _umad_poll(file, 0))

TEST_F(pair, always_writable)
{
	struct umad_msg msg = umad_lost_request(&self->port, self->cid, MAD_GET, 0, 60000);
	struct umad_file fresh;
	int i;

	expect_poll(WRITABLE, &self->client);

	/* Even with sends outstanding, and before any agent is there */
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

#define ASLEEP_IN(function, events)					\
	{ .fn = function, .len = events }
#define ASLEEP_IN_READ							\
	{ .op = UMAD_CALL_READ, .len = UMAD_HDR_NEW + MAD_SIZE }

/* @packets come when all are asleep */
#define expect_all_woken(self, calls, packets) do {			\
	static __u8 __buf[ARRAY_SIZE(calls)][UMAD_HDR_NEW + MAD_SIZE];	\
	size_t __i;							\
									\
	umad_make_blocking(&(self)->server);				\
	for (__i = 0; __i < ARRAY_SIZE(calls); __i++) {			\
		(calls)[__i].fd = (self)->server.fd;			\
		(calls)[__i].buf = __buf[__i];				\
		umad_call_sleep(&(calls)[__i]);				\
	}								\
	umad_send_mads(self, 0, packets);				\
	for (__i = 0; __i < ARRAY_SIZE(calls); __i++) {			\
		ASSERT_TRUE(umad_call_returned(&(calls)[__i], UMAD_SOON_MS)) \
			TH_LOG("waiter %zu sleeps on", __i);		\
		EXPECT_LT(0, (calls)[__i].ret);				\
	}								\
} while (0)

/* One packet for the reader, and one for the others to see */
TEST_F_TIMEOUT(pair, wakes_every_kind_of_waiter, 15)
{
	struct umad_call calls[] = {
		ASLEEP_IN(umad_in_poll, 0), ASLEEP_IN(umad_in_select, 0),
		ASLEEP_IN(umad_in_epoll, EPOLLIN), ASLEEP_IN_READ,
	};

	expect_all_woken(self, calls, 2);
}

/* As many packets as readers: all of them return */
TEST_F_TIMEOUT(pair, wakes_all_readers, 15)
{
	struct umad_call calls[] = {
		ASLEEP_IN_READ, ASLEEP_IN_READ, ASLEEP_IN_READ, ASLEEP_IN_READ,
	};

	expect_all_woken(self, calls, 4);
}

/*
 * A waiter by EPOLLEXCLUSIVE may be the only one that is told that there is something
 * to be read. It may do as it likes; a read() that sleeps must have it.
 */
TEST_F_TIMEOUT(pair, exclusive_epoll_before_a_reader, 45)
{
	struct umad_msg msg = umad_msg(&self->port, self->cid, MAD_SEND, 1), got;
	struct umad_call calls[] = {
		ASLEEP_IN(umad_in_epoll, EPOLLIN | EPOLLEXCLUSIVE),
		ASLEEP_IN(umad_in_epoll, EPOLLIN | EPOLLEXCLUSIVE),
		ASLEEP_IN(umad_in_epoll, EPOLLIN | EPOLLEXCLUSIVE),
		ASLEEP_IN_READ,
	};
	struct umad_call *reader = &calls[3];
	int i;

	umad_make_blocking(&self->server);
	for (i = 0; i < 4; i++) {
		calls[i].fd = self->server.fd;
		calls[i].buf = &got;
		umad_call_sleep(&calls[i]);
	}

	umad_write(&self->client, &msg);
	EXPECT_TRUE(umad_call_returned(reader, UMAD_SOON_MS))
		TH_LOG("a packet is there, and the reader sleeps");
	/* A packet can be read once */
	EXPECT_FALSE(umad_readable(&self->server, 0));

	/* However that was, all of them end */
	for (i = 0; i < 4; i++)
		umad_call_interrupt(&calls[i]);
	EXPECT_EQ((ssize_t)self->server.hlen + MAD_SIZE, reader->ret);
}

TEST_HARNESS_MAIN
