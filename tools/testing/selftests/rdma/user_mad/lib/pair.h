/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The fixture that most user_mad selftests use: a client that sends requests
 * and a server that takes those of one vendor class, each on a descriptor of
 * its own, in every combination of registration ioctl and header layout. Slow
 * programs define PAIR_TWO_VARIANTS and get the two that differ in both, or
 * PAIR_ONE_VARIANT if neither matters. Programs with messages longer than a MAD define
 * PAIR_LONG, the longest one, and get agents with RMPP and buffers.
 */
#ifndef UMAD_PAIR_H
#define UMAD_PAIR_H

#include "long.h"

#ifdef PAIR_LONG
#define PAIR_CLIENT(api)	umad_reg_rmpp(api, 0)
#define PAIR_SERVER(api)	umad_reg_rmpp(api, umad_get_set_send)
#else
#define PAIR_LONG		0
#define PAIR_CLIENT(api)	umad_reg_send_only(api)
#define PAIR_SERVER(api)	umad_reg_vendor(api, umad_get_set_send)
#endif

FIXTURE(pair)
{
	UMAD_CLIENT_AND_SERVER;
	struct umad_port port;
	struct umad_long msg;
};

umad_abi_variants(pair);

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
	umad_port(&self->port);
	umad_long_alloc(&self->msg, PAIR_LONG);
	umad_open_both(self, &variant->abi, &self->port, PAIR_CLIENT(variant->abi.api),
		       &self->port, PAIR_SERVER(variant->abi.api));
}

FIXTURE_TEARDOWN(pair)
{
	umad_close_both(self);
	umad_long_free(&self->msg);
}

/* Agents with RMPP in place of both; the server takes @method */
#define pair_rmpp(self, method) do {					\
	struct umad_reg __reg = umad_reg_rmpp(variant->abi.api, 0);	\
									\
	umad_unregister(&(self)->client, (self)->cid);			\
	umad_unregister(&(self)->server, (self)->sid);			\
	(self)->cid = umad_register(&(self)->client, &__reg);		\
	__reg.methods[0] = 1ULL << (method);				\
	(self)->sid = umad_register(&(self)->server, &__reg);		\
} while (0)

/* @msg goes from the client to the server, which gets @got */
#define pair_deliver(self, msg, got) do {				\
	umad_write(&(self)->client, msg);				\
	umad_read(&(self)->server, got);				\
} while (0)

/*
 * Nothing may have reached the server before this. Order is kept, so a MAD
 * that does arrive shows that nothing was sent before it.
 */
#define pair_expect_nothing_sent(self) do {				\
	struct umad_msg __msg = umad_msg(&(self)->port, (self)->cid,	\
					 MAD_SEND, 0xfeedface);		\
	struct umad_msg __got;						\
									\
	pair_deliver(self, &__msg, &__got);				\
	EXPECT_EQ(0xfeedface, (__u32)be64toh(__got.mad.tid));		\
	umad_expect_empty(&(self)->server);				\
} while (0)

#endif /* UMAD_PAIR_H */
