/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The fixture that most user_mad selftests use: a client that sends requests
 * and a server that takes those of one vendor class, each on a descriptor of
 * its own, in every combination of registration ioctl and header layout. Slow
 * programs define PAIR_TWO_VARIANTS and get the two that differ in both, or
 * PAIR_ONE_VARIANT if neither matters.
 */
#ifndef UMAD_PAIR_H
#define UMAD_PAIR_H

#include "fuse.h"
#include "utils.h"

static const __u64 pair_methods =
	1ULL << MAD_GET | 1ULL << MAD_SET | 1ULL << MAD_SEND;

FIXTURE(pair)
{
	struct umad_port port;
	struct umad_file client;
	struct umad_file server;
	__u32 cid;
	__u32 sid;
};

FIXTURE_VARIANT(pair)
{
	struct umad_abi abi;
	bool fuse;	/* for stall: what is waited for is a FUSE server */
};

#ifndef PAIR_ONE_VARIANT
umad_abi_variant(pair, v1_old);
#endif

#if !defined(PAIR_TWO_VARIANTS) && !defined(PAIR_ONE_VARIANT)
umad_abi_variant(pair, v1_new);
umad_abi_variant(pair, v2_old);
#endif

umad_abi_variant(pair, v2_new);

FIXTURE_SETUP(pair)
{
	struct umad_reg reg;

	self->client.fd = -1;
	self->server.fd = -1;
	if (variant->fuse && !umad_have_fuse())
		SKIP(return, UMAD_NO_FUSE);
	umad_port(&self->port);

	umad_open_abi(&self->port, &variant->abi, O_RDWR | O_NONBLOCK,
		      &self->client);
	reg = umad_reg_send_only(variant->abi.api);
	self->cid = umad_register(&self->client, &reg);

	umad_open_abi(&self->port, &variant->abi, O_RDWR | O_NONBLOCK,
		      &self->server);
	reg = umad_reg_vendor(variant->abi.api, pair_methods);
	self->sid = umad_register(&self->server, &reg);
}

FIXTURE_TEARDOWN(pair)
{
	umad_close(&self->client);
	umad_close(&self->server);
}

/*
 * Nothing may have reached the server before this. Order is kept, so a MAD
 * that does arrive shows that nothing was sent before it.
 */
#define pair_expect_nothing_sent(self) do {				\
	struct umad_msg __msg = umad_msg(&(self)->port, (self)->cid,	\
					 MAD_SEND, 0xfeedface);		\
	struct umad_msg __got;						\
									\
	umad_write(&(self)->client, &__msg);				\
	umad_read(&(self)->server, &__got);				\
	EXPECT_EQ(0xfeedface, (__u32)be64toh(__got.mad.tid));		\
	umad_expect_empty(&(self)->server);				\
} while (0)

#endif /* UMAD_PAIR_H */
