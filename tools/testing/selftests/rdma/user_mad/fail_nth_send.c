// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Faults in what send.c, message.c, transaction.c and ah.c of the driver do */
#define PAIR_TWO_VARIANTS
#include "kselftest_harness.h"
#include "lib/fail_nth.h"
#include "lib/long.h"
#include "lib/pair.h"
#include "lib/subnet.h"

static void nth_write(struct __test_metadata *_metadata, FIXTURE_DATA(pair) *self,
		      struct fault *fault, __u8 method, unsigned int timeout_ms)
{
	struct umad_msg msg = umad_request(&self->port, self->cid, method, fault->nth, timeout_ms);
	ssize_t ret;
	int n;

	ret = fault_call(fault, _umad_write(&self->client, &msg));
	n = fault_settle(&self->client, &self->server);
	fault_exchange(self, CLEAN_TID + fault->nth, n);
	/* A request that failed was not sent */
	if (ret < 0)
		EXPECT_EQ(0, n);
	/* The transaction ID is free again */
	pair_deliver(self, &msg, &msg);
	EXPECT_EQ(fault->nth, (__u32)be64toh(msg.mad.tid));
	fault_settle(&self->client, &self->server);
}

TEST_FAIL_NTH(pair, send, 10)
{
	nth_write(_metadata, self, fault, MAD_SEND, 0);
}

TEST_FAIL_NTH(pair, request, 10)
{
	nth_write(_metadata, self, fault, MAD_GET, 10);
}

TEST_FAIL_NTH(pair, response, 5)
{
	struct umad_msg msg = umad_request(&self->port, self->cid, MAD_GET, fault->nth, 300), got;
	int n;

	pair_deliver(self, &msg, &got);
	got.mad.method = MAD_GET_RESP;
	if (fault_call(fault, _umad_write(&self->server, &got)) < 0)
		umad_write(&self->server, &got);
	n = fault_settle(&self->client, &self->server);
	/* An answer, or a timeout if it was lost */
	EXPECT_EQ(1, n);
	fault_exchange(self, CLEAN_TID + fault->nth, n);
}

/*
 * Long messages. Without a timeout they are done with when they have arrived.
 * The receiver knows a transaction ID for some seconds, so each has one of its
 * own.
 */

TEST_FAIL_NTH(pair, rmpp, 15)
{
	struct umad_reg reg = umad_reg_rmpp(variant->abi.api, 0);
	static struct umad_long msg;
	const size_t len = 9000;
	struct umad_msg head;
	size_t size;
	ssize_t ret;
	int n;

	if (fault->nth == 1) {
		umad_long_alloc(&msg, 1 << 16);
		umad_unregister(&self->client, self->cid);
		umad_unregister(&self->server, self->sid);
		self->cid = umad_register(&self->client, &reg);
		reg.methods[0] = 1ULL << MAD_SEND;
		self->sid = umad_register(&self->server, &reg);
	}
	head = umad_msg(&self->port, self->cid, MAD_SEND, fault->nth);
	head.hdr.retries = 1;
	umad_make_active(&head);
	size = umad_long_pack(&self->client, &head, len, 1, msg.out);
	ret = fault_call(fault, write(self->client.fd, msg.out, size));
	n = fault_settle(&self->client, &self->server);
	if (ret < 0)
		EXPECT_EQ(0, n) TH_LOG("fault %u", fault->nth);
	EXPECT_EQ(0, umad_fdinfo(&self->client, "umad-outstanding"));

	head.mad.tid = htobe64(CLEAN_TID + fault->nth);
	umad_long_write(&self->client, &head, len, 2, &msg);
	umad_long_read(&self->server, self->sid, &head, len, 2, &msg);
	fault_settle(&self->client, &self->server);
}

/* On InfiniBand: SMPs, and requests whose address needs not to be resolved */

FIXTURE(fabric)
{
	UMAD_CLIENT_AND_SERVER;
	struct umad_fabric fabric;
	struct umad_sm sm;
};

FIXTURE_SETUP(fabric)
{
	self->fabric = (struct umad_fabric){ .hosts = 2 };
	umad_subnet(&self->fabric);
	umad_sm_open(&self->fabric.host[0], &self->sm);
	umad_open_both(self, &umad_abi_new, &self->fabric.host[0], umad_reg_send_only(2),
		       &self->fabric.host[1], umad_reg_vendor(2, umad_get_set_send));
}

FIXTURE_TEARDOWN(fabric)
{
	umad_sm_close(&self->sm);
	umad_close_both(self);
	umad_fabric_stop();
}

static void nth_smp(struct __test_metadata *_metadata, FIXTURE_DATA(fabric) *self,
		    struct fault *fault, const struct umad_path *path)
{
	struct umad_msg msg = umad_smp_msg(&self->sm, path, 0, MAD_GET, SMP_NODE_INFO);
	ssize_t ret;
	int n;

	msg.hdr.timeout_ms = 50;
	ret = fault_call(fault, _umad_write(&self->sm.file, &msg));
	n = fault_settle(&self->sm.file, &self->sm.file);
	EXPECT_EQ(ret < 0 ? 0 : 1, n);
	EXPECT_EQ(0, umad_smp_exchange(&self->sm, &msg));
}

/* Answered within write() */
TEST_FAIL_NTH(fabric, smp, 5)
{
	nth_smp(_metadata, self, fault, &umad_here);
}

TEST_FAIL_NTH(fabric, smp_to_the_neighbour, 5)
{
	nth_smp(_metadata, self, fault, &umad_to_next);
}

TEST_FAIL_NTH(fabric, by_lid, 5)
{
	struct umad_msg msg = umad_request(&self->fabric.host[1], self->cid, MAD_GET, fault->nth,
					   10);
	ssize_t ret;
	int n;

	ret = fault_call(fault, _umad_write(&self->client, &msg));
	n = fault_settle(&self->client, &self->server);
	if (ret < 0)
		EXPECT_EQ(0, n);
	umad_write(&self->client, &msg);
	umad_read(&self->server, &msg);
	EXPECT_EQ(fault->nth, (__u32)be64toh(msg.mad.tid));
	fault_settle(&self->client, &self->server);
}

FAIL_NTH_MAIN
