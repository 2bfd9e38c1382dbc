// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Lengths: messages that end at and around every kind of segment boundary, of
 * every class that has a header of its own, as request and as response.
 */
#include "kselftest_harness.h"
#include "lib/long.h"

/* The first window is one segment, then 64 come with each acknowledgment */
#define WINDOW		64

FIXTURE(lengths)
{
	struct umad_port port;
	struct umad_file client;
	struct umad_file server;
	__u32 cid;
	__u32 sid;
	__u32 tid;
	struct umad_long msg;
};

FIXTURE_VARIANT(lengths)
{
	struct umad_abi abi;
	__u8 mgmt_class;
	size_t large;	/* a second for a megabyte over Soft-RoCE: not for all */
};

FIXTURE_VARIANT_ADD(lengths, vendor)
{
	.abi = UMAD_ABI_v2_new,
	.mgmt_class = MAD_CLASS_VENDOR2,
	.large = 1 << 20,
};

FIXTURE_VARIANT_ADD(lengths, vendor_old)
{
	.abi = UMAD_ABI_v1_old,
	.mgmt_class = MAD_CLASS_VENDOR2,
	.large = 1 << 16,
};

FIXTURE_VARIANT_ADD(lengths, sa)
{
	.abi = UMAD_ABI_v2_new,
	.mgmt_class = MAD_CLASS_SA,
	.large = 1 << 20,
};

FIXTURE_VARIANT_ADD(lengths, sa_old)
{
	.abi = UMAD_ABI_v1_old,
	.mgmt_class = MAD_CLASS_SA,
	.large = 1 << 16,
};

FIXTURE_VARIANT_ADD(lengths, devmgt)
{
	.abi = UMAD_ABI_v2_new,
	.mgmt_class = MAD_CLASS_DEVMGT,
	.large = 1 << 16,
};

FIXTURE_VARIANT_ADD(lengths, devadm)
{
	.abi = UMAD_ABI_v2_new,
	.mgmt_class = MAD_CLASS_DEVADM,
	.large = 1 << 16,
};

FIXTURE_VARIANT_ADD(lengths, bis)
{
	.abi = UMAD_ABI_v2_new,
	.mgmt_class = MAD_CLASS_BIS,
	.large = 1 << 20,
};

FIXTURE_SETUP(lengths)
{
	struct umad_reg reg;

	self->client.fd = -1;
	self->server.fd = -1;
	self->tid = 1;
	umad_long_alloc(&self->msg, variant->large + (1 << 16));
	umad_port(&self->port);

	reg = umad_reg_vendor(variant->abi.api, 0);
	reg.mgmt_class = variant->mgmt_class;
	reg.rmpp_version = 1;
	umad_open_abi(&self->port, &variant->abi, O_RDWR | O_NONBLOCK,
		      &self->client);
	self->cid = umad_register(&self->client, &reg);

	reg = umad_reg_vendor(variant->abi.api,
			      1ULL << MAD_GET | 1ULL << MAD_SEND);
	reg.mgmt_class = variant->mgmt_class;
	reg.rmpp_version = 1;
	if (variant->mgmt_class == MAD_CLASS_SA)
		reg.class_version = 2;
	umad_open_abi(&self->port, &variant->abi, O_RDWR | O_NONBLOCK,
		      &self->server);
	self->sid = umad_register(&self->server, &reg);
}

FIXTURE_TEARDOWN(lengths)
{
	umad_close(&self->client);
	umad_close(&self->server);
	umad_long_free(&self->msg);
}

/*
 * @len bytes of data, as a message that wants no answer. Nothing is reported
 * of it, so the kernel's two seconds for each acknowledgment apply.
 */
#define expect_sent(self, variant, len) do {				\
	struct umad_msg __head = umad_msg(&(self)->port, (self)->cid,	\
					  MAD_SEND, (self)->tid++);	\
									\
	__head.mad.mgmt_class = (variant)->mgmt_class;			\
	if ((variant)->mgmt_class == MAD_CLASS_SA)			\
		__head.mad.class_version = 2;				\
	__head.hdr.retries = 3;						\
	umad_make_active(&__head);					\
	umad_long_write(&(self)->client, &__head, len, (self)->tid,	\
			&(self)->msg);					\
	umad_long_read(&(self)->server, (self)->sid, &__head, len,	\
		       (self)->tid, &(self)->msg);			\
} while (0)

/* ... as the response to a request of one MAD */
#define expect_answered(self, variant, len) do {			\
	struct umad_msg __head = umad_msg(&(self)->port, (self)->cid,	\
					  MAD_GET, (self)->tid++);	\
									\
	__head.mad.mgmt_class = (variant)->mgmt_class;			\
	if ((variant)->mgmt_class == MAD_CLASS_SA)			\
		__head.mad.class_version = 2;				\
	__head.hdr.timeout_ms = 60000;					\
	umad_write(&(self)->client, &__head);				\
	umad_read(&(self)->server, &__head);				\
	__head.mad.method = MAD_GET_RESP;				\
	__head.hdr.retries = 3;						\
	umad_make_active(&__head);					\
	umad_long_write(&(self)->server, &__head, len, (self)->tid,	\
			&(self)->msg);					\
	umad_long_read(&(self)->client, (self)->cid, &__head, len,	\
		       (self)->tid, &(self)->msg);			\
} while (0)

static size_t seg_data(__u8 mgmt_class)
{
	return MAD_SIZE - umad_class_hdr(mgmt_class);
}

/* None, a few, and where the first segment ends */
TEST_F(lengths, one_segment)
{
	size_t seg = seg_data(variant->mgmt_class), len;

	for (len = 0; len < 4; len++)
		expect_sent(self, variant, len);
	for (len = seg - 3; len <= seg; len++)
		expect_sent(self, variant, len);
	umad_expect_empty(&self->server);
	umad_expect_empty(&self->client);
}

TEST_F(lengths, every_boundary)
{
	size_t seg = seg_data(variant->mgmt_class), n;

	for (n = 1; n <= 8; n++) {
		expect_sent(self, variant, n * seg - 1);
		expect_sent(self, variant, n * seg);
		expect_sent(self, variant, n * seg + 1);
		expect_sent(self, variant, n * seg + seg / 2);
	}
	umad_expect_empty(&self->server);
	umad_expect_empty(&self->client);
}

TEST_F(lengths, window_boundaries)
{
	size_t seg = seg_data(variant->mgmt_class), n;

	for (n = 1; n <= 1 + 2 * WINDOW; n += WINDOW) {
		expect_sent(self, variant, n * seg - 1);
		expect_sent(self, variant, n * seg);
		expect_sent(self, variant, n * seg + 1);
		expect_sent(self, variant, (n + 1) * seg);
		expect_sent(self, variant, (n + 1) * seg + 1);
	}
	umad_expect_empty(&self->server);
	umad_expect_empty(&self->client);
}

TEST_F(lengths, responses)
{
	size_t seg = seg_data(variant->mgmt_class);

	expect_answered(self, variant, 0);
	expect_answered(self, variant, 1);
	expect_answered(self, variant, seg - 1);
	expect_answered(self, variant, seg);
	expect_answered(self, variant, seg + 1);
	expect_answered(self, variant, 2 * seg);
	expect_answered(self, variant, (1 + WINDOW) * seg);
	expect_answered(self, variant, (1 + WINDOW) * seg + 1);
	umad_expect_empty(&self->server);
	umad_expect_empty(&self->client);
}

/* The end of a page is where a copy from user space may stop */
TEST_F(lengths, page_boundaries)
{
	size_t page = sysconf(_SC_PAGESIZE);
	size_t at = self->client.hlen + umad_class_hdr(variant->mgmt_class);
	size_t n;

	for (n = 1; n <= 3; n++) {
		expect_sent(self, variant, n * page - at - 1);
		expect_sent(self, variant, n * page - at);
		expect_sent(self, variant, n * page - at + 1);
	}
}

TEST_F_TIMEOUT(lengths, large, UMAD_HANGS)
{
	size_t at = self->client.hlen + umad_class_hdr(variant->mgmt_class);

	expect_sent(self, variant, variant->large);
	expect_answered(self, variant, variant->large - at);
	umad_expect_empty(&self->server);
	umad_expect_empty(&self->client);
}

TEST_HARNESS_MAIN
