/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The two layouts of a registration request, for ioctl.c and its tests. They are inline, so
 * that a registration makes no call to decode its request.
 */
#ifndef UMAD_IOCTL_H
#define UMAD_IOCTL_H

#include <linux/bitmap.h>

#include "user_mad.h"

/* 32-bit processes use the same structures, but for the longs of one mask */
static_assert(sizeof(struct ib_user_mad_reg_req) == 28);
static_assert(sizeof(struct ib_user_mad_reg_req2) == 40);

/* Flags go down to the MAD layer as they are */
static_assert((u32)IB_USER_MAD_USER_RMPP == (u32)IB_MAD_USER_RMPP);

static inline int umad_check_qpn(u32 qpn)
{
	return qpn > 1 ? -EINVAL : 0;
}

/*
 * Checks IB_USER_MAD_REGISTER_AGENT2. Returns -EINVAL for a QP that is neither 0 nor 1, an
 * unknown flag, or an OUI of more than 24 bits with a class.
 */
static inline int umad_check_v2(const struct ib_user_mad_reg_req2 *ureq)
{
	if (ureq->flags & ~IB_USER_MAD_REG_FLAGS_CAP || (ureq->mgmt_class && ureq->oui >> 24))
		return -EINVAL;
	return umad_check_qpn(ureq->qpn);
}

/*
 * Decodes IB_USER_MAD_REGISTER_AGENT. @compat: the method mask has 32-bit words, from a
 * 32-bit process on a 64-bit kernel.
 */
static inline void umad_decode_v1(const struct ib_user_mad_reg_req *ureq, bool compat,
				  struct umad_reg *reg)
{
	reg->req.mgmt_class = ureq->mgmt_class;
	reg->req.mgmt_class_version = ureq->mgmt_class_version;
	reg->rmpp_version = ureq->rmpp_version;
	reg->flags = 0;
	reg->qp_type = ureq->qpn ? IB_QPT_GSI : IB_QPT_SMI;
	memcpy(reg->req.oui, ureq->oui, sizeof(reg->req.oui));
	if (compat)
		bitmap_from_arr32(reg->req.method_mask, (const u32 *)ureq->method_mask,
				  IB_MGMT_MAX_METHODS);
	else
		memcpy(reg->req.method_mask, ureq->method_mask, sizeof(reg->req.method_mask));
}

/* Decodes IB_USER_MAD_REGISTER_AGENT2, after umad_check_v2() */
static inline void umad_decode_v2(const struct ib_user_mad_reg_req2 *ureq, struct umad_reg *reg)
{
	reg->req.mgmt_class = ureq->mgmt_class;
	reg->req.mgmt_class_version = ureq->mgmt_class_version;
	reg->req.oui[0] = ureq->oui >> 16;
	reg->req.oui[1] = ureq->oui >> 8;
	reg->req.oui[2] = ureq->oui;
	reg->rmpp_version = ureq->rmpp_version;
	reg->flags = ureq->flags;
	reg->qp_type = ureq->qpn ? IB_QPT_GSI : IB_QPT_SMI;
	bitmap_from_arr64(reg->req.method_mask, ureq->method_mask, IB_MGMT_MAX_METHODS);
}

#endif /* UMAD_IOCTL_H */
