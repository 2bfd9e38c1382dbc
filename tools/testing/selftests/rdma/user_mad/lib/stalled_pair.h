/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A pair next to somebody who stalls: what is waited for is userfaultfd, or a FUSE
 * server. One more descriptor is the victim's, whose agent takes a method of its own.
 */
#ifndef UMAD_STALLED_PAIR_H
#define UMAD_STALLED_PAIR_H

#define PAIR_TWO_VARIANTS
#include "pair.h"
#include "stall.h"

FIXTURE_VARIANT_ADD(pair, v2_new_fuse)
{
	.abi = UMAD_ABI_v2_new,
	.fuse = true,
};

static int make_trap(bool fuse, struct umad_stall *stall)
{
	return fuse ? _umad_stall_fuse(stall) : _umad_stall(stall);
}

#define make_stall(variant, stall)					\
	ASSERT_EQ(0, make_trap((variant)->fuse, stall))			\
		TH_LOG("%s: %s", (variant)->fuse ? "FUSE" : "userfaultfd", \
		       strerror(errno))

#define VICTIM_METHOD	0x20

#endif /* UMAD_STALLED_PAIR_H */
