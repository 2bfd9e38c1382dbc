// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * ioctl(): decodes the requests of user space. No other file knows that a registration has
 * two layouts.
 */
#include <linux/bitmap.h>
#include <linux/compat.h>
#include <linux/fs.h>

#include <asm/ioctls.h>

#include "user_mad.h"

/* 32-bit processes use the same structures, but for the longs of one mask */
static_assert(sizeof(struct ib_user_mad_reg_req) == 28);
static_assert(sizeof(struct ib_user_mad_reg_req2) == 40);

/* Flags go down to the MAD layer as they are */
static_assert((u32)IB_USER_MAD_USER_RMPP == (u32)IB_MAD_USER_RMPP);

static int umad_decode_qpn(u32 qpn, struct umad_reg *reg)
{
	if (qpn > 1)
		return -EINVAL;
	reg->qp_type = qpn ? IB_QPT_GSI : IB_QPT_SMI;
	return 0;
}

/*
 * Decodes IB_USER_MAD_REGISTER_AGENT. @compat: the method mask has 32-bit words, from a
 * 32-bit process on a 64-bit kernel. Returns -EINVAL for a QP that is neither 0 nor 1.
 */
int umad_decode_v1(const struct ib_user_mad_reg_req *ureq, bool compat,
		   struct umad_reg *reg)
{
	*reg = (struct umad_reg) {
		.rmpp_version		= ureq->rmpp_version,
		.req.mgmt_class		= ureq->mgmt_class,
		.req.mgmt_class_version	= ureq->mgmt_class_version,
	};
	memcpy(reg->req.oui, ureq->oui, sizeof(reg->req.oui));
	if (compat)
		bitmap_from_arr32(reg->req.method_mask,
				  (const u32 *)ureq->method_mask,
				  IB_MGMT_MAX_METHODS);
	else
		memcpy(reg->req.method_mask, ureq->method_mask,
		       sizeof(reg->req.method_mask));

	return umad_decode_qpn(ureq->qpn, reg);
}

/*
 * Decodes IB_USER_MAD_REGISTER_AGENT2. Returns -EINVAL for a QP that is neither 0 nor 1, an
 * unknown flag, or an OUI of more than 24 bits with a class.
 */
int umad_decode_v2(const struct ib_user_mad_reg_req2 *ureq,
		   struct umad_reg *reg)
{
	*reg = (struct umad_reg) {
		.rmpp_version		= ureq->rmpp_version,
		.flags			= ureq->flags,
		.pkey_layout		= true,
		.req.mgmt_class		= ureq->mgmt_class,
		.req.mgmt_class_version	= ureq->mgmt_class_version,
		.req.oui		= { ureq->oui >> 16, ureq->oui >> 8,
					    ureq->oui },
	};
	bitmap_from_arr64(reg->req.method_mask, ureq->method_mask,
			  IB_MGMT_MAX_METHODS);

	if (ureq->flags & ~IB_USER_MAD_REG_FLAGS_CAP)
		return -EINVAL;
	if (ureq->mgmt_class && ureq->oui >> 24)
		return -EINVAL;
	return umad_decode_qpn(ureq->qpn, reg);
}

/*
 * umad_agent_register() stores the new id before the outcome is known. If the request is
 * refused, this stores the old id again, unless the page can no longer be written.
 */
static int umad_register(struct umad_file *file, const struct umad_reg *reg,
			 u32 __user *uid, u32 old_id)
{
	int ret = umad_agent_register(file, reg, umad_send_handler,
				      umad_recv_handler, uid);

	if (ret)
		put_user(old_id, uid);
	return ret;
}

static int umad_register_v1(struct umad_file *file,
			    struct ib_user_mad_reg_req __user *uptr,
			    bool compat)
{
	struct ib_user_mad_reg_req ureq __uninitialized;
	struct umad_reg reg __uninitialized;
	int ret;

	if (umad_port_gone(file->port))
		return -EPIPE;
	if (copy_from_user(&ureq, uptr, sizeof(ureq)))
		return -EFAULT;

	ret = umad_decode_v1(&ureq, compat, &reg);
	if (ret)
		return ret;
	return umad_register(file, &reg, &uptr->id, ureq.id);
}

static int umad_register_v2(struct umad_file *file,
			    struct ib_user_mad_reg_req2 __user *uptr)
{
	struct ib_user_mad_reg_req2 ureq __uninitialized;
	struct umad_reg reg __uninitialized;
	int ret;

	if (umad_port_gone(file->port))
		return -EPIPE;
	if (copy_from_user(&ureq, uptr, sizeof(ureq)))
		return -EFAULT;

	ret = umad_decode_v2(&ureq, &reg);
	/* Tells a client that asks for unknown flags the known ones */
	if (ret && ureq.qpn <= 1 && (ureq.flags & ~IB_USER_MAD_REG_FLAGS_CAP) &&
	    put_user((u32)IB_USER_MAD_REG_FLAGS_CAP, &uptr->flags))
		return -EFAULT;
	if (ret)
		return ret;
	return umad_register(file, &reg, &uptr->id, ureq.id);
}

static int umad_unregister(struct umad_file *file, u32 __user *uid)
{
	u32 id;

	if (get_user(id, uid))
		return -EFAULT;
	return umad_agent_unregister(file, id);
}

static int umad_enable_pkey(struct umad_file *file)
{
	int ret = 0;

	mutex_lock(&file->reg_lock);
	if (file->used)
		ret = -EINVAL;
	else
		WRITE_ONCE(file->hdr_len, sizeof(struct ib_user_mad_hdr));
	mutex_unlock(&file->reg_lock);

	return ret;
}

/* Fails as read() does when the device is gone, whatever is queued */
static int umad_next_len(struct umad_file *file, int __user *ulen)
{
	if (umad_port_gone(file->port))
		return -EIO;
	return put_user((int)umad_queue_next_len(file), ulen);
}

static long umad_do_ioctl(struct umad_file *file, unsigned int cmd,
			  void __user *arg, bool compat)
{
	switch (cmd) {
	case IB_USER_MAD_REGISTER_AGENT:
		return umad_register_v1(file, arg, compat);
	case IB_USER_MAD_REGISTER_AGENT2:
		return umad_register_v2(file, arg);
	case IB_USER_MAD_UNREGISTER_AGENT:
		return umad_unregister(file, arg);
	case IB_USER_MAD_ENABLE_PKEY:
		return umad_enable_pkey(file);
	case FIONREAD:
		return umad_next_len(file, arg);
	default:
		return -ENOIOCTLCMD;
	}
}

/* Holds no lock while it accesses user memory. user_mad.rst has the errors */
long umad_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	return umad_do_ioctl(filp->private_data, cmd, (void __user *)arg,
			     false);
}

#ifdef CONFIG_COMPAT
/* umad_ioctl() for 32-bit processes on a 64-bit kernel */
long umad_compat_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	return umad_do_ioctl(filp->private_data, cmd, compat_ptr(arg), true);
}
#endif
