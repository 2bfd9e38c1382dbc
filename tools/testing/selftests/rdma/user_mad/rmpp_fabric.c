// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The longest messages, over a simulated fabric */
#include "kselftest_harness.h"
#include "lib/long.h"
#include "lib/subnet.h"

/* What takes a minute elsewhere takes many with sanitizers */
#define LONGEST		(umad_slow_kernel() ? 2 << 20 : 16 << 20)

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

/* A long request, and one that is answered at length */
TEST_F_TIMEOUT(rmpp_fabric, longest, UMAD_HANGS)
{
	struct umad_msg head = next_head(self, MAD_SEND);

	head.hdr.retries = 3;
	umad_long_arrives(self, &head, LONGEST);
	head = next_head(self, MAD_GET);
	head.hdr.timeout_ms = UMAD_LONG_MS;
	umad_long_response_arrives(self, &head, LONGEST - 1, 3);
	umad_expect_empty(&self->server);
	umad_expect_empty(&self->client);
}

TEST_HARNESS_MAIN
