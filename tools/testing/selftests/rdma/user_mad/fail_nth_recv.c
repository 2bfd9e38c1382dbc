// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Faults in what recv.c, queue.c, packet.c and rmpp.c of the driver do */
#define PAIR_TWO_VARIANTS
#include "kselftest_harness.h"
#include "lib/fail_nth.h"
#include "lib/long.h"
#include "lib/pair.h"

TEST_FAIL_NTH(pair, read, 1)
{
	struct umad_msg msg = umad_msg(&self->port, self->cid, MAD_SEND, fault->nth);

	umad_write(&self->client, &msg);
	ASSERT_TRUE(umad_readable(&self->server, UMAD_SOON_MS));
	if (fault_call(fault, _umad_read(&self->server, &msg)) < 0)
		umad_read(&self->server, &msg);
	EXPECT_EQ(fault->nth, (__u32)be64toh(msg.mad.tid));
	umad_expect_empty(&self->server);
}

TEST_FAIL_NTH(pair, read_timeout, 1)
{
	struct umad_msg msg = umad_request(&self->port, self->cid, MAD_GET, fault->nth, 1);

	umad_write(&self->client, &msg);
	ASSERT_TRUE(umad_readable(&self->client, UMAD_SOON_MS));
	if (fault_call(fault, _umad_read(&self->client, &msg)) < 0)
		umad_read_timeout(&self->client, &msg);
	EXPECT_EQ(ETIMEDOUT, (int)msg.hdr.status);
	EXPECT_EQ(fault->nth, (__u32)be64toh(msg.mad.tid));
	umad_expect_empty(&self->client);
	fault_settle(&self->client, &self->server);
}

TEST_FAIL_NTH(pair, read_long, 2)
{
	struct umad_reg reg = umad_reg_rmpp(variant->abi.api, 0);
	const size_t len = 600;
	static struct umad_long msg;
	struct umad_msg head;
	ssize_t ret;

	if (fault->nth == 1) {
		umad_long_alloc(&msg, 1 << 16);
		self->cid = umad_register(&self->client, &reg);
		reg.methods[0] = 1ULL << FREE_METHOD;
		self->sid = umad_register(&self->server, &reg);
	}
	head = umad_msg(&self->port, self->cid, FREE_METHOD, fault->nth);
	umad_make_active(&head);
	umad_long_write(&self->client, &head, len, 3, &msg);
	ASSERT_TRUE(umad_readable(&self->server, UMAD_SOON_MS));
	ret = fault_call(fault, read(self->server.fd, msg.in, msg.max));
	if (ret < 0)
		umad_long_read(&self->server, self->sid, &head, len, 3, &msg);
	else
		umad_long_expect(&self->server, self->sid, &head, len, 3, &msg, ret);
	umad_expect_empty(&self->server);
}

/*
 * A MAD, and a message of several segments. A MAD for which no memory can be charged
 * is counted: only when there is none for that either, it is dropped. A message is
 * always counted.
 */
TEST_F_TIMEOUT(pair, receive, SWEEP_TIMEOUT)
{
	struct umad_reg reg = umad_reg_rmpp(variant->abi.api, 0);
	const size_t lens[] = { 100, 600 };
	unsigned int points = 0, i;
	struct umad_msg head;
	struct umad_long msg;
	struct fault fault;
	int failing, tries;
	long lost;

	fault_begin(&fault);
	umad_long_alloc(&msg, 1 << 16);
	self->cid = umad_register(&self->client, &reg);
	reg.methods[0] = 1ULL << FREE_METHOD;
	self->sid = umad_register(&self->server, &reg);
	ASSERT_EQ(0, fault_within_umad());

	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		tries = lens[i] > MAD_SIZE ? 1 : 2;
		for (failing = 1; failing <= tries; failing++) {
			lost = umad_fdinfo(&self->server, "umad-dropped");
			head = umad_msg(&self->port, self->cid, FREE_METHOD, ++points);
			umad_make_active(&head);
			ASSERT_EQ(0, fault_elsewhere(&fault, failing));
			umad_long_write(&self->client, &head, lens[i], 4, &msg);
			while (umad_fdinfo(&self->client, "umad-outstanding"))
				umad_sleep_ms(1);
			umad_sleep_ms(5);
			EXPECT_TRUE(fault_nowhere(&fault));

			/* It is either there or counted */
			lost = umad_fdinfo(&self->server, "umad-dropped") - lost;
			EXPECT_EQ(failing == tries, lost);
			EXPECT_EQ(!lost, umad_readable(&self->server, 0));
			if (!lost)
				ASSERT_LT(0, read(self->server.fd, msg.in, msg.max));

			head.mad.tid = htobe64(CLEAN_TID + points);
			umad_long_write(&self->client, &head, lens[i], 5, &msg);
			ASSERT_TRUE(umad_readable(&self->server, UMAD_SOON_MS));
			ASSERT_LT(0, read(self->server.fd, msg.in, msg.max));
		}
	}
	ksft_print_msg("%s: %u fault points\n", _metadata->name, points);
	fault_anywhere();
	umad_long_free(&msg);
}

/* An answer that cannot be received ends its request like one that never came */
TEST_F_TIMEOUT(pair, answer, SWEEP_TIMEOUT)
{
	struct umad_msg msg = umad_request(&self->port, self->cid, MAD_GET, 1,
					   1000 * SWEEP_TIMEOUT), got;
	struct fault fault;
	int others = 0;

	fault_begin(&fault);
	ASSERT_EQ(0, fault_within_umad());
	pair_deliver(self, &msg, &got);
	got.mad.method = MAD_GET_RESP;
	ASSERT_EQ(0, fault_elsewhere(&fault, 2));
	umad_write(&self->server, &got);
	EXPECT_TRUE(umad_readable(&self->client, UMAD_SOON_MS));
	EXPECT_TRUE(fault_nowhere(&fault));
	umad_read_timeout(&self->client, &got);
	EXPECT_EQ(1, (int)be64toh(got.mad.tid));
	EXPECT_EQ(1, umad_fdinfo(&self->client, "umad-dropped"));
	umad_expect_empty(&self->client);
	fault_anywhere();
	fault_exchange(self, CLEAN_TID, others);
	EXPECT_EQ(0, others);
}

/* However little memory there is, a timeout is told */
TEST_F_TIMEOUT(pair, timeout, SWEEP_TIMEOUT)
{
	struct umad_msg msg = umad_lost_request(&self->port, self->cid, MAD_GET, 1, 20), got;
	struct fault fault;

	fault_begin(&fault);
	ASSERT_EQ(0, fault_within_umad());
	ASSERT_EQ(0, fault_elsewhere(&fault, -1));
	umad_write(&self->client, &msg);
	EXPECT_TRUE(umad_readable(&self->client, UMAD_SOON_MS));
	fault_nowhere(&fault);
	umad_read_timeout(&self->client, &got);
	fault_anywhere();
}

FAIL_NTH_MAIN
