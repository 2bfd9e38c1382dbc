// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Receives: what read() hands out, in which order, and what it refuses
 *
 * Also on: 6.1, 6.12
 */
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>

#include "kselftest_harness.h"
#include "lib/pair.h"
#include "lib/vector.h"

TEST_F(pair, received_mad)
{
	struct umad_msg msg = umad_msg(&self->port, self->cid, MAD_SEND, 0x55667788);
	__u8 buf[UMAD_HDR_NEW + MAD_SIZE + 8];
	bool grh = umad_is_roce(&self->port);
	/* Fields that are not named are 0 */
	struct ib_user_mad_hdr want = {
		.id = self->sid,
		.length = self->server.hlen + MAD_SIZE,
		.qpn = htobe32(1),
		.lid = htobe16(self->port.lid),
		.grh_present = grh,
	};
	struct mad mad;

	msg.hdr.traffic_class = 0x50;
	msg.hdr.qkey = htobe32(0x12345678);
	msg.hdr.retries = 3;
	umad_write(&self->client, &msg);

	ASSERT_TRUE(umad_readable(&self->server, UMAD_SOON_MS));
	memset(buf, 0xa5, sizeof(buf));
	ASSERT_EQ((ssize_t)self->server.hlen + MAD_SIZE, read(self->server.fd, buf, sizeof(buf)));
	EXPECT_EQ(0xa5, buf[self->server.hlen + MAD_SIZE]);
	if (grh) {
		want.gid_index = self->port.gid_index;
		memcpy(want.gid, self->port.gid, 16);
		want.hop_limit = 64;
		want.traffic_class = 0x50;
	}
	EXPECT_EQ(0, memcmp(buf, &want, self->server.hlen));
	memcpy(&mad, buf + self->server.hlen, MAD_SIZE);

	/* Every byte of the MAD but the upper half of its TID */
	EXPECT_EQ(0x55667788, (__u32)be64toh(mad.tid));
	mad.tid = msg.mad.tid;
	EXPECT_EQ(0, memcmp(&mad, &msg.mad, MAD_SIZE));
	umad_expect_empty(&self->server);
}

/* Timeouts */

static void fill_header(struct umad_msg *msg)
{
	/* What a send does not look at comes back as well */
	msg->hdr.status = 0x11111111;
	msg->hdr.length = 0x22222222;
	msg->hdr.qkey = htobe32(0x33333333);
	memset(msg->hdr.reserved, 0xbb, sizeof(msg->hdr.reserved));
	if (umad_shared_port())
		return;
	msg->hdr.sl = 4;
	msg->hdr.path_bits = 5;
	msg->hdr.lid = htobe16(0x6666);
	msg->hdr.hop_limit = 7;
	msg->hdr.traffic_class = 8;
	msg->hdr.flow_label = htobe32(0x99999);
	msg->hdr.grh_present = 0xaa;
}

TEST_F(pair, timeout_record)
{
	struct umad_msg msg = umad_request(&self->port, self->cid, MAD_GET, 0x1122334455667788, 10);
	__u8 buf[UMAD_HDR_NEW + MAD_SIZE + 8];
	struct mad mad;
	__u8 hdr[UMAD_HDR_NEW];

	fill_header(&msg);
	umad_msg_to_nobody(&msg);
	msg.hdr.retries = 1;
	umad_write(&self->client, &msg);

	ASSERT_TRUE(umad_readable(&self->client, UMAD_SOON_MS));
	memset(buf, 0xa5, sizeof(buf));
	ASSERT_EQ((ssize_t)self->client.hlen + MAD_HDR, read(self->client.fd, buf, sizeof(buf)));
	EXPECT_EQ(0xa5, buf[self->client.hlen + MAD_HDR]);

	/* The header exactly as written, but for the status */
	msg.hdr.status = ETIMEDOUT;
	memcpy(hdr, &msg.hdr, sizeof(hdr));
	EXPECT_EQ(0, memcmp(buf, hdr, self->client.hlen));

	/* The MAD header exactly as written, but for the upper TID */
	memcpy(&mad, buf + self->client.hlen, MAD_HDR);
	EXPECT_EQ(0x55667788, (__u32)be64toh(mad.tid));
	EXPECT_NE(0x11223344, be64toh(mad.tid) >> 32);
	mad.tid = msg.mad.tid;
	EXPECT_EQ(0, memcmp(&mad, &msg.mad, MAD_HDR));
	umad_expect_empty(&self->client);
}

/* Every retry is a send of the same MAD */
TEST_F(pair, retries_are_sent)
{
	struct umad_msg msg = umad_request(&self->port, self->cid, MAD_SEND, 1, 10);
	struct umad_msg got;
	int i;

	msg.hdr.retries = 2;
	umad_write(&self->client, &msg);
	for (i = 0; i < 3; i++) {
		umad_read(&self->server, &got);
		EXPECT_EQ(1, (__u32)be64toh(got.mad.tid));
	}
	umad_read_timeout(&self->client, &got);
	umad_expect_empty(&self->server);
}

TEST_F(pair, timeout_zero_reports_nothing)
{
	struct umad_msg msg = umad_lost_request(&self->port, self->cid, MAD_GET, 1, 0);

	msg.hdr.retries = 5;
	umad_write(&self->client, &msg);
	EXPECT_FALSE(umad_readable(&self->client, UMAD_QUIET_MS));
}

/* The agent is gone: so are its timeouts, but not what was received */
TEST_F(pair, unregister_keeps_received)
{
	struct umad_msg msg = umad_msg(&self->port, self->cid, MAD_SEND, 1);
	struct umad_msg got;

	umad_write(&self->client, &msg);
	ASSERT_TRUE(umad_readable(&self->server, UMAD_SOON_MS));
	umad_unregister(&self->server, self->sid);
	umad_read(&self->server, &got);
	EXPECT_EQ(self->sid, got.hdr.id);
	EXPECT_EQ(1, (__u32)be64toh(got.mad.tid));
}

/* Order and size */

TEST_F(pair, first_in_first_out)
{
	umad_queue_mads(self, 0, 10);
	umad_expect_left(self, 0, 10);
}

/* Received MADs and timeouts are one queue */
TEST_F(pair, one_queue)
{
	struct umad_msg msg, got;
	int i;

	for (i = 0; i < 3; i++) {
		/* To itself, with no agent to answer: first it is received ... */
		msg = umad_request(&self->port, self->sid, MAD_SEND, i, 200);
		umad_write(&self->server, &msg);
		/* ... then timed out, and only then comes the next */
		umad_sleep_ms(700);
	}
	for (i = 0; i < 3; i++) {
		umad_read(&self->server, &got);
		EXPECT_EQ(i, (int)be64toh(got.mad.tid));
		umad_read_timeout(&self->server, &got);
		EXPECT_EQ(i, (int)be64toh(got.mad.tid));
	}
}

TEST_F(pair, too_short_for_mad)
{
	size_t len;

	/* Empty and non-blocking: EINVAL all the same if there is no room for a header */
	for (len = 0; len < self->server.hlen; len++)
		umad_err_read_len(EINVAL, &self->server, len - self->server.hlen);
	umad_err_read_len(EAGAIN, &self->server, 0);

	umad_queue_mads(self, 0, 2);
	for (len = 0; len < MAD_SIZE; len++)
		umad_err_read_len(EINVAL, &self->server, len);

	/* It stays, at the head */
	EXPECT_TRUE(umad_readable(&self->server, 0));
	umad_expect_left(self, 0, 2);
}

/* The record needs no more room than it has bytes */
TEST_F(pair, too_short_for_timeout)
{
	struct umad_msg msg = umad_lost_request(&self->port, self->cid, MAD_GET, 1, 1);
	size_t size = self->client.hlen + MAD_HDR, i;
	struct umad_border border;

	umad_write(&self->client, &msg);
	ASSERT_TRUE(umad_readable(&self->client, UMAD_SOON_MS));
	for (i = 0; i < MAD_HDR; i++)
		umad_err_read_len(EINVAL, &self->client, i);
	umad_border(&border, PROT_NONE);
	for (i = 0; i < size; i++)
		umad_err(EFAULT, read(self->client.fd, umad_before(&border, i),
				      UMAD_HDR_NEW + MAD_SIZE));
	EXPECT_EQ((ssize_t)size, read(self->client.fd, umad_before(&border, size),
				      UMAD_HDR_NEW + MAD_SIZE));
	umad_border_free(&border);
	umad_expect_empty(&self->client);
}

TEST_F(pair, bad_pointer)
{
	size_t size = self->server.hlen + MAD_SIZE, i;
	struct umad_border border;

	umad_queue_mads(self, 0, 2);
	umad_border(&border, PROT_NONE);
	for (i = 0; i < size; i++)
		umad_err(EFAULT, read(self->server.fd, umad_before(&border, i), size));
	umad_border_free(&border);

	umad_border(&border, PROT_READ);
	for (i = 0; i < size; i += 32)
		umad_err(EFAULT, read(self->server.fd, umad_before(&border, i), size));
	umad_border_free(&border);

	/* The next one comes behind both */
	umad_send_mads(self, 2, 1);
	ASSERT_TRUE(umad_unread_reaches(&self->server, 3));
	umad_expect_left(self, 0, 3);
}

/* Blocking */

static struct umad_file *sig_file;
static struct umad_msg *sig_msg;
/* Counts in a signal handler */
static atomic_int sig_count;

static void on_alarm(int sig)
{
	(void)sig;
	/* Once the reader has been interrupted there is something to read */
	if (++sig_count == 3)
		(void)!_umad_write(sig_file, sig_msg);
}

TEST_F_TIMEOUT(pair, signal_restarts, 10)
{
	struct sigaction sa = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
	struct itimerval it = { .it_interval.tv_usec = 50000, .it_value.tv_usec = 50000 };
	struct umad_msg msg = umad_msg(&self->port, self->cid, MAD_SEND, 1);
	struct umad_msg got;

	sig_file = &self->client;
	sig_msg = &msg;
	umad_make_blocking(&self->server);
	ASSERT_EQ(0, sigaction(SIGALRM, &sa, NULL));
	ASSERT_EQ(0, setitimer(ITIMER_REAL, &it, NULL));
	EXPECT_EQ((ssize_t)self->server.hlen + MAD_SIZE, _umad_read(&self->server, &got))
		TH_LOG("read: %s", strerror(errno));
	EXPECT_EQ(1, (__u32)be64toh(got.mad.tid));
	EXPECT_LE(3, sig_count);
}

/* A reader sleeps until its timeout record comes */
TEST_F_TIMEOUT(pair, blocking_read_of_timeout, 10)
{
	struct umad_msg msg = umad_lost_request(&self->port, self->cid, MAD_GET, 1, 50);
	struct umad_msg got;

	umad_write(&self->client, &msg);
	umad_make_blocking(&self->client);
	EXPECT_EQ((ssize_t)self->client.hlen + MAD_HDR, _umad_read(&self->client, &got));
	EXPECT_EQ(ETIMEDOUT, got.hdr.status);
}

TEST_HARNESS_MAIN
