// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Omni-Path: MADs of up to 2048 bytes, alone and as segments of messages.
 *
 * Also on: 6.1, 6.12
 */
#include "kselftest_harness.h"
#include "lib/long.h"
#include "lib/subnet.h"

FIXTURE(opa)
{
	UMAD_CLIENT_AND_SERVER;
	struct umad_fabric fabric;
	struct umad_long msg;
};

FIXTURE_VARIANT(opa)
{
	struct umad_abi abi;
	__u8 rmpp_version;
};

FIXTURE_VARIANT_ADD(opa, plain) { .abi = UMAD_ABI_v2_new };
FIXTURE_VARIANT_ADD(opa, rmpp) { .abi = UMAD_ABI_v2_new, .rmpp_version = 1 };
FIXTURE_VARIANT_ADD(opa, rmpp_old) { .abi = UMAD_ABI_v1_old, .rmpp_version = 1 };

FIXTURE_SETUP(opa)
{
	struct umad_reg reg = umad_reg_vendor(variant->abi.api, 0);

	self->tid = 1;
	self->fabric = (struct umad_fabric){ .hosts = 2, .star = true, .opa = true };
	umad_subnet(&self->fabric);
	umad_long_alloc(&self->msg, (1 << 20) + 4096);

	reg.rmpp_version = variant->rmpp_version;
	self->cid = umad_open_agent(&self->fabric.host[0], &variant->abi, reg, &self->client);
	reg.methods[0] = umad_get_send;
	self->sid = umad_open_agent(&self->fabric.host[1], &variant->abi, reg, &self->server);
}

FIXTURE_TEARDOWN(opa)
{
	umad_close_both(self);
	umad_long_free(&self->msg);
	umad_fabric_stop();
}

static struct umad_msg next_head(FIXTURE_DATA(opa) *self, __u8 method)
{
	struct umad_msg head = umad_msg(&self->fabric.host[1], self->cid, method, self->tid++);

	head.mad.base_version = OPA_VERSION;
	return head;
}

#define expect_lid(self, want) do {					\
	struct ib_user_mad_hdr __hdr;					\
									\
	memcpy(&__hdr, (self)->msg.in, UMAD_HDR_OLD);			\
	EXPECT_EQ(want, be16toh(__hdr.lid));				\
} while (0)

TEST_F(opa, mads_of_every_length)
{
	static const size_t sizes[] = {
		MAD_VENDOR_HDR, MAD_VENDOR_HDR + 1, 64, MAD_SIZE - 1, MAD_SIZE,
		MAD_SIZE + 1, 1000, OPA_MAD_SIZE - 1, OPA_MAD_SIZE,
	};
	struct umad_msg head;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		head = next_head(self, MAD_SEND);
		umad_long_write(&self->client, &head, sizes[i] - MAD_VENDOR_HDR, i, &self->msg);
		umad_long_read(&self->server, self->sid, &head, sizes[i] - MAD_VENDOR_HDR, i,
			       &self->msg);
		EXPECT_EQ(OPA_VERSION, self->msg.in[self->server.hlen]);
		expect_lid(self, self->fabric.host[0].lid);
	}
	umad_expect_empty(&self->server);
}

/* The first segment is what must fit: it is longer than a MAD of InfiniBand */
TEST_F(opa, first_segment_must_fit)
{
	struct umad_msg head = next_head(self, MAD_SEND);
	const size_t len = 3 * OPA_MAD_SIZE + 17;
	size_t hlen = self->server.hlen, whole = hlen + MAD_VENDOR_HDR + len;
	struct ib_user_mad_hdr hdr;

	umad_make_active(&head);
	/* An agent without RMPP asks in vain */
	if (!variant->rmpp_version) {
		whole = umad_long_pack(&self->client, &head, OPA_MAD_SIZE + 1 - MAD_VENDOR_HDR, 1,
				       self->msg.out);
		umad_err(EINVAL, write(self->client.fd, self->msg.out, whole));
		umad_expect_empty(&self->server);
		return;
	}
	umad_long_write(&self->client, &head, len, 3, &self->msg);
	ASSERT_TRUE(umad_readable(&self->server, UMAD_SOON_MS));

	umad_err(EINVAL, read(self->server.fd, self->msg.in, hlen + MAD_SIZE));
	umad_err(EINVAL, read(self->server.fd, self->msg.in, hlen + OPA_MAD_SIZE - 1));

	memset(self->msg.in, 0xa5, whole);
	umad_err(ENOSPC, read(self->server.fd, self->msg.in, whole - 1));
	memcpy(&hdr, self->msg.in, hlen);
	EXPECT_EQ(whole, hdr.length);
	EXPECT_EQ((size_t)OPA_MAD_SIZE - MAD_VENDOR_HDR,
		  umad_pattern_same(self->msg.in + hlen + MAD_VENDOR_HDR,
				    OPA_MAD_SIZE - MAD_VENDOR_HDR, 3));
	EXPECT_EQ(0xa5, self->msg.in[hlen + OPA_MAD_SIZE]);

	umad_long_read(&self->server, self->sid, &head, len, 3, &self->msg);
	expect_lid(self, self->fabric.host[0].lid);
	umad_expect_empty(&self->server);
}

TEST_HARNESS_MAIN
