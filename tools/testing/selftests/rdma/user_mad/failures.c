// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Sends that fail, and the counters that have them: write() tells of those that the
 * device refuses at once, and nothing else does; those that fail later are counted, and
 * a record tells of them where a response is awaited.
 */
#include "kselftest_harness.h"
#include "lib/rmpp.h"
#include "lib/statistics.h"
#include "lib/subnet.h"

FIXTURE(failures)
{
	struct umad_fabric fabric;
	struct umad_port *port;		/* the client's */
	struct umad_file client;	/* leaves RMPP to the kernel */
	struct umad_file server;	/* does not */
	__u32 cid;
	struct umad_statistics before;
};

FIXTURE_SETUP(failures)
{
	struct umad_reg reg = umad_reg_rmpp(2, 0);

	if (umad_reference())
		SKIP(return, UMAD_NO_STATISTICS);
	self->fabric = (struct umad_fabric){ .hosts = 2 };
	umad_subnet(&self->fabric);
	self->port = &self->fabric.host[0];

	self->cid = umad_open_agent(self->port, &umad_abi_new, reg, &self->client);
	reg.flags = IB_USER_MAD_USER_RMPP;
	reg.methods[0] = umad_get_send;
	umad_open_agent(&self->fabric.host[1], &umad_abi_new, reg, &self->server);
	self->before = umad_statistics(self->port);
}

FIXTURE_TEARDOWN(failures)
{
	umad_close(&self->client);
	umad_close(&self->server);
	umad_fabric_stop();
}

#define expect_changes(self, changes)					\
	umad_expect_changes(&(self)->before, (self)->port, changes)

static struct umad_msg message(FIXTURE_DATA(failures) *self, __u8 method, int tid, int ms)
{
	return umad_request(&self->fabric.host[1], self->cid, method, tid, ms);
}

/* A message of a few segments */
#define write_segments(self, head) do {					\
	__u8 __buf[UMAD_HDR_NEW + MAD_VENDOR_HDR + 600];		\
	size_t __size;							\
									\
	umad_make_active(head);						\
	__size = umad_long_pack(&(self)->client, head, 600, 1, __buf);	\
	ASSERT_EQ((ssize_t)__size,					\
		  write((self)->client.fd, __buf, __size))		\
		TH_LOG("write: %s", strerror(errno));			\
} while (0)

#define expect_outstanding(self, count)					\
	EXPECT_EQ(count, umad_fdinfo(&(self)->client, "umad-outstanding"))

/* Whatever its errno is, and of a message as well: umad has refused nothing */
TEST_F(failures, refused_by_the_device)
{
	static const int errnos[] = { EIO, ENOBUFS, ENOMEM, EAGAIN };
	struct umad_msg msg = message(self, MAD_GET, 1, 600000), got;
	struct umad_msg head = message(self, MAD_SEND, 2, 0);
	__u8 buf[UMAD_HDR_NEW + MAD_VENDOR_HDR + 600];
	char command[64];
	size_t i, size;

	umad_make_active(&head);
	size = umad_long_pack(&self->client, &head, 600, 1, buf);
	for (i = 0; i < ARRAY_SIZE(errnos); i++) {
		snprintf(command, sizeof(command), "h1 fail post_send %d", errnos[i]);
		umad_fabric_fault(command);
		umad_err_write(errnos[i], &self->client, &msg);
		expect_outstanding(self, 0);
		expect_changes(self, "");
		/* The MAD layer tries a segment again that is refused with EAGAIN */
		if (errnos[i] == EAGAIN)
			continue;
		umad_fabric_fault(command);
		umad_err(errnos[i], write(self->client.fd, buf, size));
		expect_outstanding(self, 0);
		expect_changes(self, "");
	}

	/* Nor is its transaction */
	umad_write(&self->client, &msg);
	umad_read(&self->server, &got);
	expect_changes(self, "sent+1 outstanding+1");
	expect_outstanding(self, 1);
}

/* No response is expected, but an acknowledgment is: without one it is a timeout */
TEST_F_TIMEOUT(failures, message_that_nobody_acknowledges, UMAD_HANGS)
{
	struct umad_msg head = message(self, MAD_SEND, 3, 0);

	umad_msg_to_nobody(&head);
	write_segments(self, &head);
	expect_changes(self, "rmpp_sent+1 outstanding+1");
	expect_changes(self, "timeouts+1 outstanding-1 unread+1");
	umad_read_timeout(&self->client, &head);
	expect_changes(self, "unread-1");
	expect_outstanding(self, 0);
}

#define write_and_abort(self, head) do {				\
	struct umad_msg __data;						\
									\
	write_segments(self, head);					\
	umad_read(&(self)->server, &__data);				\
	expect_changes(self, "rmpp_sent+1 outstanding+1");		\
	ASSERT_LT(0, _umad_rmpp_answer(&(self)->server, &__data,	\
				       RMPP_TYPE_ABORT,			\
				       RMPP_STATUS_UNSPEC, 0, 0));	\
} while (0)

/* No response is awaited, so that there is no record; but it is counted */
TEST_F(failures, aborted_without_timeout)
{
	struct umad_msg head = message(self, MAD_SEND, 4, 0);

	write_and_abort(self, &head);
	expect_changes(self, "send_errors+1 outstanding-1");
	umad_expect_empty(&self->client);
	expect_outstanding(self, 0);
}

/* One is awaited */
TEST_F(failures, aborted_with_timeout)
{
	struct umad_msg head = message(self, MAD_GET, 5, 600000);

	write_and_abort(self, &head);
	expect_changes(self, "send_errors+1 outstanding-1 unread+1");
	umad_read_timeout(&self->client, &head);
	expect_changes(self, "unread-1");
	expect_outstanding(self, 0);
}

TEST_HARNESS_MAIN
