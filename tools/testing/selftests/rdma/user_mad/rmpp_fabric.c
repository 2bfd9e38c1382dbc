// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Long messages over a simulated fabric: the longest ones, and links that lose
 * segments, bring them twice, late or out of order.
 */
#include "kselftest_harness.h"
#include "lib/long.h"
#include "lib/subnet.h"

/* What takes a minute elsewhere takes many with sanitizers */
#define LONGEST		(umad_slow_kernel() ? 2 << 20 : 16 << 20)
#define SEG_DATA	(MAD_SIZE - MAD_SA_HDR)

FIXTURE(rmpp_fabric)
{
	UMAD_CLIENT_AND_SERVER;
	struct umad_fabric fabric;
	struct umad_long msg;
};

FIXTURE_SETUP(rmpp_fabric)
{
	struct umad_reg server = umad_reg_sa();

	self->tid = 1;
	self->fabric = (struct umad_fabric){ .hosts = 2 };
	umad_subnet(&self->fabric);
	umad_long_alloc(&self->msg, LONGEST + 4096);
	server.methods[0] = umad_get_send;
	umad_open_both(self, &umad_abi_new, &self->fabric.host[0], umad_reg_sa(),
		       &self->fabric.host[1], server);
}

FIXTURE_TEARDOWN(rmpp_fabric)
{
	umad_close_both(self);
	umad_long_free(&self->msg);
	umad_fabric_stop();
}

static struct umad_msg next_head(FIXTURE_DATA(rmpp_fabric) *self, __u8 method)
{
	struct umad_msg head = umad_msg(&self->fabric.host[1], self->cid, method, self->tid++);

	head.mad.mgmt_class = MAD_CLASS_SA;
	head.mad.class_version = 2;
	return head;
}

/*
 * A long request, and one that is answered at length. Where the timeout is 0
 * or beyond 2000 the kernel sends again what was not acknowledged for 2 s.
 */
#define expect_sent(self, len, retries_) do {				\
	struct umad_msg __head = next_head(self, MAD_SEND);		\
									\
	__head.hdr.retries = retries_;					\
	umad_long_arrives(self, &__head, len);				\
} while (0)

#define expect_answered(self, len, retries_) do {			\
	struct umad_msg __head = next_head(self, MAD_GET);		\
									\
	__head.hdr.timeout_ms = UMAD_LONG_MS;				\
	umad_long_response_arrives(self, &__head, len, retries_);	\
} while (0)

TEST_F_TIMEOUT(rmpp_fabric, longest, UMAD_HANGS)
{
	expect_sent(self, LONGEST, 3);
	expect_answered(self, LONGEST - 1, 3);
	umad_expect_empty(&self->server);
	umad_expect_empty(&self->client);
}

/* Both at the same time, of the same class and transaction */
TEST_F_TIMEOUT(rmpp_fabric, to_and_fro, UMAD_HANGS)
{
	struct umad_msg head = next_head(self, MAD_SEND), back = head;
	struct umad_reg reg = umad_reg_rmpp(2, 1ULL << MAD_SEND);
	struct umad_long other;
	__u32 to, from;

	umad_long_alloc(&other, 1 << 20);
	reg.mgmt_class = MAD_CLASS_DEVMGT;
	to = umad_register(&self->client, &reg);
	reg.methods[0] = 0;
	from = umad_register(&self->server, &reg);

	umad_make_active(&head);
	back = head;
	back.mad.mgmt_class = MAD_CLASS_DEVMGT;
	back.mad.class_version = 1;
	back.hdr.id = from;
	back.hdr.lid = htobe16(self->fabric.host[0].lid);
	umad_long_write(&self->client, &head, 500000, 1, &self->msg);
	umad_long_write(&self->server, &back, 400000, 2, &other);
	umad_long_read(&self->server, self->sid, &head, 500000, 1, &self->msg);
	umad_long_read(&self->client, to, &back, 400000, 2, &other);
	umad_long_free(&other);
}

/* What a fabric may do to a message without harm */
TEST_F_TIMEOUT(rmpp_fabric, through_a_bad_fabric, UMAD_HANGS)
{
	static const struct {
		const char *faults[2];	/* of either host */
		size_t len;
		bool answered;		/* a response comes back as well */
	} row[] = {
		{ { "duplicate nth 3", "duplicate nth 2" }, 300 * SEG_DATA + 1, true },
		{ { "reorder nth 5", "reorder nth 7" }, 150 * SEG_DATA, true },
		{ { "delay nth 10", "delay nth 2" }, 150 * SEG_DATA, true },
		{ { "drop nth 61" }, 150 * SEG_DATA + 100, false },
		{ { NULL, "drop nth 2" }, 150 * SEG_DATA + 100, false },
		/* All at once */
		{ { "seed 1\nh1 1 drop permille 15\nh1 1 duplicate permille 50",
		    "seed 2\nh2 1 reorder permille 50\nh2 1 delay permille 100" },
		  200 * SEG_DATA + 100, false },
	};
	char command[128];
	size_t i, host;

	for (i = 0; i < ARRAY_SIZE(row); i++) {
		for (host = 0; host < 2; host++) {
			snprintf(command, sizeof(command), "h%zu 1 clear", host + 1);
			umad_fabric_fault(command);
			snprintf(command, sizeof(command), "h%zu 1 %s", host + 1,
				 row[i].faults[host] ?: "clear");
			umad_fabric_fault(command);
		}
		expect_sent(self, row[i].len, 20);
		if (row[i].answered)
			expect_answered(self, row[i].len, 20);
		umad_expect_empty(&self->client);
		/* The request of one MAD may have come twice; no message has */
		while (umad_readable(&self->server, 0)) {
			struct umad_msg got;

			umad_read(&self->server, &got);
			EXPECT_EQ(MAD_GET, got.mad.method);
		}
	}
}

/* Nothing gets there: the record of a timeout, after as many tries as asked */
TEST_F(rmpp_fabric, total_loss)
{
	struct umad_msg head = next_head(self, MAD_SEND), got;
	size_t size;

	umad_fabric_fault("h1 1 drop nth 1");
	umad_make_active(&head);
	head.hdr.timeout_ms = 150;
	head.hdr.retries = 2;
	umad_long_write(&self->client, &head, 5000, 1, &self->msg);
	/* Its transaction is taken until then */
	size = umad_long_pack(&self->client, &head, 5000, 1, self->msg.out);
	umad_err(EINVAL, write(self->client.fd, self->msg.out, size));

	umad_read_timeout(&self->client, &got);
	EXPECT_EQ(self->cid, got.hdr.id);
	EXPECT_EQ(head.hdr.lid, got.hdr.lid);
	EXPECT_EQ(150, got.hdr.timeout_ms);
	EXPECT_EQ((__u32)be64toh(head.mad.tid), (__u32)be64toh(got.mad.tid));
	umad_expect_empty(&self->client);
	umad_expect_empty(&self->server);

	umad_fabric_fault("h1 1 clear");
	umad_long_write(&self->client, &head, 5000, 1, &self->msg);
	umad_long_read(&self->server, self->sid, &head, 5000, 1, &self->msg);
}

TEST_HARNESS_MAIN
