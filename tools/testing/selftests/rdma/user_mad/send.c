// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Sends: the requests that write() takes and refuses, transactions, and how they end
 *
 * Also on: 6.1, 6.12
 */
#include "kselftest_harness.h"
#include "lib/pair.h"

/* Long enough to stay outstanding while a test looks, however slow it is */
#define LONG_MS		60000

TEST_F(pair, too_short_for_any_class)
{
	struct umad_msg msg = umad_msg(&self->port, self->cid, MAD_SEND, 1);
	__u8 buf[UMAD_HDR_NEW + MAD_SIZE];
	size_t n;

	msg.mad.mgmt_class = MAD_CLASS_PERF;
	umad_pack(&self->client, &msg, MAD_SIZE, buf);
	for (n = 0; n < self->client.hlen + MAD_RMPP_HDR; n++)
		umad_err(EINVAL, write(self->client.fd, buf, n));
	EXPECT_EQ((ssize_t)n, write(self->client.fd, buf, n));
	pair_expect_nothing_sent(self);
}

TEST_F(pair, id_wrong)
{
	static const __u32 too_big[] = { 32, 33, 255, 256, 0x80000000, ~0U };
	struct umad_msg msg = umad_msg(&self->port, self->cid, MAD_SEND, 1);
	struct umad_reg reg = umad_reg_send_only(variant->abi.api);
	__u32 id;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(too_big); i++) {
		msg.hdr.id = too_big[i];
		umad_err_write(EINVAL, &self->client, &msg);
	}
	for (id = 0; id < UMAD_MAX_AGENTS; id++) {
		msg.hdr.id = id;
		if (id != self->cid)
			umad_err_write(EIO, &self->client, &msg);
	}
	msg.hdr.id = self->cid;
	umad_unregister(&self->client, self->cid);
	umad_err_write(EIO, &self->client, &msg);
	EXPECT_EQ(self->cid, umad_register(&self->client, &reg));
	pair_expect_nothing_sent(self);
}

/* Wherever the buffer ends too early, nothing is sent and nothing is kept */
TEST_F(pair, bad_pointer)
{
	struct umad_msg msg = umad_request(&self->port, self->cid, MAD_GET, 1, LONG_MS);
	size_t size = self->client.hlen + MAD_SIZE, i;
	__u8 buf[UMAD_HDR_NEW + MAD_SIZE];
	struct umad_border border;
	struct umad_msg got;

	umad_pack(&self->client, &msg, MAD_SIZE, buf);
	umad_border(&border, PROT_NONE);
	for (i = 0; i < size; i++) {
		memcpy(umad_before(&border, i), buf, i);
		umad_err(EFAULT, write(self->client.fd, umad_before(&border, i), size));
	}
	umad_err(EFAULT, write(self->client.fd, NULL, size));

	/* No transaction is left: the same one can be opened now */
	memcpy(umad_before(&border, size), buf, size);
	EXPECT_EQ((ssize_t)size, write(self->client.fd, umad_before(&border, size), size));
	umad_read(&self->server, &got);
	EXPECT_EQ(MAD_GET, got.mad.method);
	umad_expect_empty(&self->server);
	umad_border_free(&border);
}

/* Transactions */

TEST_F(pair, duplicate_request)
{
	struct umad_msg msg = umad_request(&self->port, self->cid, MAD_SEND, 0x1111, LONG_MS);
	struct umad_msg got;

	pair_deliver(self, &msg, &got);

	umad_err_write(EINVAL, &self->client, &msg);
	/* Whatever the method, the attribute, the upper bits of the TID */
	msg.mad.method = MAD_GET;
	msg.mad.attr_id = 0;
	umad_err_write(EINVAL, &self->client, &msg);
	msg.mad.tid = htobe64(0xabcdef9900001111ULL);
	umad_err_write(EINVAL, &self->client, &msg);
	/* ... and the destination or the timeout */
	umad_msg_to_nobody(&msg);
	umad_err_write(EINVAL, &self->client, &msg);
	msg.hdr.timeout_ms = 0;
	umad_err_write(EINVAL, &self->client, &msg);
	msg.hdr.qpn = htobe32(77);
	umad_err_write(EINVAL, &self->client, &msg);
	pair_expect_nothing_sent(self);

	/* Other lower bits are another transaction */
	msg = umad_request(&self->port, self->cid, MAD_SEND, 0x1112, LONG_MS);
	pair_deliver(self, &msg, &got);
}

TEST_F(pair, not_a_duplicate)
{
	struct umad_msg msg = umad_request(&self->port, self->cid, MAD_SEND, 0x1111, LONG_MS);
	struct umad_reg reg = umad_reg_send_only(variant->abi.api);
	struct umad_msg got;

	pair_deliver(self, &msg, &got);

	/* Another class */
	msg.mad.mgmt_class = MAD_CLASS_VENDOR2 + 1;
	umad_write(&self->client, &msg);
	umad_err_write(EINVAL, &self->client, &msg);

	/* A response */
	msg = umad_request(&self->port, self->cid, MAD_SEND | MAD_RESP, 0x1111, LONG_MS);
	umad_write(&self->client, &msg);

	/* Another agent of the descriptor */
	umad_register(&self->client, &reg);
	msg = umad_request(&self->port, reg.id, MAD_SEND, 0x1111, LONG_MS);
	pair_deliver(self, &msg, &got);
	umad_err_write(EINVAL, &self->client, &msg);

	/* Another descriptor */
	msg = umad_request(&self->port, self->sid, MAD_SEND, 0x1111, LONG_MS);
	umad_write(&self->server, &msg);
	umad_read(&self->server, &got);
	msg = umad_request(&self->port, self->sid, MAD_SEND | MAD_RESP, 0x1111, LONG_MS);
	umad_write(&self->server, &msg);
	umad_err_write(EINVAL, &self->server, &msg);
	umad_expect_empty(&self->server);
}

TEST_F(pair, duplicate_response)
{
	struct umad_msg msg = umad_lost_request(&self->port, self->cid, MAD_GET_RESP, 7, LONG_MS);

	/* With a timeout it stays outstanding, as if an answer could come */
	umad_write(&self->client, &msg);
	umad_err_write(EINVAL, &self->client, &msg);

	/* Not so to another GID, of another class, with another TID */
	if (!umad_shared_port()) {
		msg.hdr.gid[15]++;
		umad_write(&self->client, &msg);
		umad_err_write(EINVAL, &self->client, &msg);
	}
	msg.mad.mgmt_class++;
	umad_write(&self->client, &msg);
	umad_err_write(EINVAL, &self->client, &msg);
	msg.mad.tid = htobe64(8);
	umad_write(&self->client, &msg);

	/* All 64 bits of a response's TID count */
	msg.mad.tid = htobe64(1ULL << 32 | 8);
	umad_write(&self->client, &msg);
	umad_err_write(EINVAL, &self->client, &msg);
}

/* The reference may forget it a moment after the answer, and any after the MAD, is read */
#define write_again(self, msg, late) do {				\
	ssize_t __n;							\
									\
	umad_within((late) ? UMAD_SOON_MS : 0,				\
		    (__n = _umad_write(&(self)->client, msg)) > 0 ||	\
		    errno != EINVAL);					\
	ASSERT_LT(0, __n);						\
} while (0)

/* With an answer, with a timeout, and without either */
TEST_F(pair, tid_is_free_after_its_end)
{
	struct umad_msg msg = umad_request(&self->port, self->cid, MAD_GET, 5, LONG_MS);
	struct umad_msg lost = umad_lost_request(&self->port, self->cid, MAD_GET, 5, 1), got;
	struct umad_msg send = umad_msg(&self->port, self->cid, MAD_SEND, 5);
	int i;

	for (i = 0; i < 3; i++) {
		write_again(self, &msg, umad_reference() || i);
		umad_read(&self->server, &got);
		got.mad.method |= MAD_RESP;
		got.hdr.timeout_ms = 0;
		umad_write(&self->server, &got);
		umad_read(&self->client, &got);
		EXPECT_EQ(MAD_GET_RESP, got.mad.method);

		write_again(self, &lost, umad_reference());
		umad_read_timeout(&self->client, &got);

		write_again(self, &send, umad_reference());
		umad_read(&self->server, &got);
	}
	umad_expect_empty(&self->client);
}

TEST_F(pair, tid_of_request)
{
	struct umad_reg reg = umad_reg_send_only(variant->abi.api);
	struct umad_msg msg, got, again;

	msg = umad_msg(&self->port, self->cid, MAD_SEND, 0x1122334455667788);
	pair_deliver(self, &msg, &got);
	EXPECT_EQ(0x55667788, (__u32)be64toh(got.mad.tid));
	EXPECT_NE(0x11223344, be64toh(got.mad.tid) >> 32);

	/* The upper half is the agent's: its own always, another's never */
	msg = umad_msg(&self->port, self->cid, MAD_GET, ~0ULL);
	pair_deliver(self, &msg, &again);
	EXPECT_EQ(~0U, (__u32)be64toh(again.mad.tid));
	EXPECT_EQ(be64toh(got.mad.tid) >> 32, be64toh(again.mad.tid) >> 32);

	umad_register(&self->client, &reg);
	msg = umad_msg(&self->port, reg.id, MAD_SEND, 0x1122334455667788);
	pair_deliver(self, &msg, &again);
	EXPECT_EQ(0x55667788, (__u32)be64toh(again.mad.tid));
	EXPECT_NE(be64toh(got.mad.tid) >> 32, be64toh(again.mad.tid) >> 32);
}

TEST_F(pair, tid_of_response)
{
	struct umad_msg msg = umad_request(&self->port, self->cid, MAD_GET, 3, LONG_MS);
	struct umad_msg request, got;
	__be64 tid;

	pair_deliver(self, &msg, &request);
	tid = request.mad.tid;
	request.mad.method = MAD_GET_RESP;
	umad_write(&self->server, &request);
	umad_read(&self->client, &got);
	EXPECT_EQ(tid, got.mad.tid);
	EXPECT_EQ(self->cid, got.hdr.id);

	/* A timeout record shows it as it went out, too */
	msg = umad_lost_request(&self->port, self->cid, MAD_GET_RESP, 0x1122334455667788, 1);
	umad_write(&self->client, &msg);
	umad_read_timeout(&self->client, &got);
	EXPECT_EQ(0x1122334455667788, be64toh(got.mad.tid));
}

/* Addresses */

/* A request that is refused for its address leaves no transaction */
TEST_F(pair, address_wrong)
{
	struct umad_msg msg = umad_request(&self->port, self->cid, MAD_GET, 1, LONG_MS), got;
	const struct umad_msg good = msg;
	__u8 gid[16];

	msg.hdr.grh_present = 1;
	msg.hdr.gid_index = self->port.gid_ipv4;
	if (self->port.gid_ipv4 >= 0)
		umad_err_write(EINVAL, &self->client, &msg);

	/* A host's table may be full */
	msg.hdr.gid_index = self->port.gid_empty;
	if (self->port.gid_empty >= 0)
		umad_err_write(ENODATA, &self->client, &msg);
	else
		ASSERT_TRUE(umad_shared_port());

	msg.hdr.gid_index = 255;
	if (!umad_read_gid(&self->port, 255, gid))
		TH_LOG("the GID table has 256 entries; the last one is used");
	errno = 0;
	EXPECT_EQ(-1, _umad_write(&self->client, &msg));
	EXPECT_TRUE(errno == ENODATA || errno == EINVAL)
		TH_LOG("errno %d", errno);

	if (umad_is_roce(&self->port)) {
		msg = good;
		msg.hdr.grh_present = 0;
		umad_err_write(EINVAL, &self->client, &msg);
		msg.hdr.lid = htobe16(1);
		umad_err_write(EINVAL, &self->client, &msg);

		msg.hdr = good.hdr;
		memset(msg.hdr.gid, 0, 16);
		umad_err_write(ENETUNREACH, &self->client, &msg);
		/* A host may have a default route */
		inet_pton(AF_INET6, "2001:db8::1", msg.hdr.gid);
		if (!umad_shared_port())
			umad_err_write(ENETUNREACH, &self->client, &msg);
	}
	msg = good;
	pair_deliver(self, &msg, &got);
	umad_expect_empty(&self->server);
}

/* Fields that are not checked here */
TEST_F(pair, odd_values_are_accepted)
{
	struct umad_msg msg;
	__u64 tid = 0;

	/* A Q_Key that does not fit is worth a trap */
	if (umad_shared_port())
		SKIP(return, UMAD_SHARED);

#define odd(statement) do {						\
	msg = umad_msg(&self->port, self->cid, MAD_SEND, ++tid);	\
	statement;							\
	umad_write(&self->client, &msg);				\
} while (0)

	odd(msg.hdr.qpn = htobe32(0));
	odd(msg.hdr.qpn = htobe32(0x123456));
	odd(msg.hdr.qpn = ~0);
	if (self->client.hlen == UMAD_HDR_NEW)
		odd(msg.hdr.pkey_index = 5);
	odd(msg.mad.base_version = 2);
	odd(msg.mad.mgmt_class = 0);
	odd(msg.mad.class_version = 200);
	odd(msg.hdr.sl = 255);
	odd(msg.hdr.path_bits = 255);
	odd(msg.hdr.hop_limit = 0);
	odd(msg.hdr.flow_label = ~0);
	odd(msg.hdr.status = ~0U);
	odd(msg.hdr.length = ~0U);
	odd(memset(msg.hdr.reserved, 0xff, 6));
	odd((msg.hdr.timeout_ms = ~0U, umad_msg_to_nobody(&msg)));
	odd((msg.hdr.timeout_ms = LONG_MS, msg.hdr.retries = ~0U, umad_msg_to_nobody(&msg)));
	odd((msg.hdr.timeout_ms = ~0U, msg.hdr.retries = ~0U, umad_msg_to_nobody(&msg)));
#undef odd

	/* None of it is reported as having failed or timed out by itself */
	EXPECT_FALSE(umad_readable(&self->client, UMAD_QUIET_MS));
}

TEST_HARNESS_MAIN
