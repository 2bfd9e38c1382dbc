// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * ioctl(): registers agents, and answers what else user space asks for.
 *
 * Registering reserves an id and its agent, tells it to user space, registers with the MAD
 * layer and publishes the agent, in this order. The access to user memory comes before there
 * is anything that the removal of the device has to wait for. The last step cannot fail.
 */
#include <linux/bitops.h>
#include <linux/compat.h>

#include <asm/ioctls.h>

#include "ioctl.h"

/* Returns the agent of the lowest free id, until umad_agent_release(), or NULL */
static struct umad_agent *umad_agent_reserve(struct umad_file *file)
{
	unsigned long ids, id;

	/* Other tasks reserve and release ids at the same time */
	do {
		ids = READ_ONCE(file->ids);
		id = find_first_zero_bit(&ids, UMAD_MAX_AGENTS);
		if (id == UMAD_MAX_AGENTS)
			return NULL;
	} while (test_and_set_bit(id, &file->ids));

	if (id && !umad_cap_charge(file, UMAD_AGENT_COST)) {
		clear_bit_unlock(id, &file->ids);
		return NULL;
	}
	return file->agents + id;
}

/* The first agent of a descriptor settles the layout of its headers */
static void umad_settle_layout(struct umad_file *file)
{
	if (file->hdr_len < sizeof(struct ib_user_mad_hdr))
		dev_warn_ratelimited(&file->port->dev,
				     "%s[%d] uses the user_mad header without P_Key index, see Documentation/infiniband/user_mad.rst\n",
				     current->comm, task_tgid_nr(current));
	file->used = true;
}

/* Registers a reserved agent, whose id is in user memory */
static int umad_agent_register(struct umad_file *file, struct umad_agent *agent, bool pkey_layout)
{
	const struct umad_reg *reg = &agent->reg;
	struct umad_port *port = file->port;
	struct ib_mad_agent *mad_agent;
	u8 hdr_len = file->hdr_len;

	lockdep_assert_held(&port->lock);

	if (!port->ib_dev)
		return -EPIPE;

	/* A MAD may arrive before ib_register_mad_agent() has returned */
	if (!file->used && pkey_layout)
		WRITE_ONCE(file->hdr_len, sizeof(struct ib_user_mad_hdr));
	mad_agent = ib_register_mad_agent(port->ib_dev, port->port_num, reg->qp_type,
					  reg->req.mgmt_class ? &agent->reg.req : NULL,
					  reg->rmpp_version, umad_send_handler,
					  umad_recv_handler, agent, reg->flags);
	if (IS_ERR(mad_agent)) {
		WRITE_ONCE(file->hdr_len, hdr_len);
		return PTR_ERR(mad_agent);
	}
	if (!file->used)
		umad_settle_layout(file);
	agent->mad_agent = mad_agent;
	atomic_inc(&port->agents);
	/* Writers find the agent from here on */
	atomic_set_release(&agent->users, 0);
	return 0;
}

/*
 * IB_USER_MAD_REGISTER_AGENT, or with @v2 IB_USER_MAD_REGISTER_AGENT2. It stores the new id
 * before there is an agent for which a MAD may arrive. If the MAD layer refuses the request,
 * it stores the old id again, unless the page can no longer be written.
 */
static int umad_register(struct umad_file *file, void __user *uptr, bool v2)
{
	union {
		struct ib_user_mad_reg_req v1;
		struct ib_user_mad_reg_req2 v2;
	} ureq __uninitialized;
	struct ib_user_mad_reg_req2 __user *uptr2 = uptr;	/* Both begin with the id */
	struct umad_port *port = file->port;
	struct umad_agent *agent;
	int ret;

	if (umad_port_gone(port))
		return -EPIPE;
	if (v2 ? copy_from_user(&ureq.v2, uptr, sizeof(ureq.v2)) :
		 copy_from_user(&ureq.v1, uptr, sizeof(ureq.v1)))
		return -EFAULT;

	ret = v2 ? umad_check_v2(&ureq.v2) : umad_check_qpn(ureq.v1.qpn);
	if (ret) {
		/* Tells a client that asks for unknown flags the known ones */
		if (v2 && ureq.v2.qpn <= 1 && (ureq.v2.flags & ~IB_USER_MAD_REG_FLAGS_CAP) &&
		    put_user((u32)IB_USER_MAD_REG_FLAGS_CAP, &uptr2->flags))
			return -EFAULT;
		return ret;
	}

	agent = umad_agent_reserve(file);
	if (!agent)
		return -ENOMEM;
	if (v2)
		umad_decode_v2(&ureq.v2, &agent->reg);
	else
		umad_decode_v1(&ureq.v1, in_compat_syscall(), &agent->reg);

	if (put_user((u32)agent->id, &uptr2->id)) {
		umad_agent_release(agent);
		return -EFAULT;
	}
	mutex_lock(&port->lock);
	ret = umad_agent_register(file, agent, v2);
	mutex_unlock(&port->lock);
	if (ret) {
		umad_agent_release(agent);
		put_user(ureq.v2.id, &uptr2->id);
	}
	return ret;
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

	mutex_lock(&file->port->lock);
	if (file->used)
		ret = -EINVAL;
	else
		WRITE_ONCE(file->hdr_len, sizeof(struct ib_user_mad_hdr));
	mutex_unlock(&file->port->lock);
	return ret;
}

/* Holds no lock while it accesses user memory. user_mad.rst has the errors */
long umad_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	struct umad_file *file = filp->private_data;
	void __user *uptr = (void __user *)arg;
	int len;

	switch (cmd) {
	case IB_USER_MAD_REGISTER_AGENT:
	case IB_USER_MAD_REGISTER_AGENT2:
		return umad_register(file, uptr, cmd == IB_USER_MAD_REGISTER_AGENT2);
	case IB_USER_MAD_UNREGISTER_AGENT:
		return umad_unregister(file, uptr);
	case IB_USER_MAD_ENABLE_PKEY:
		return umad_enable_pkey(file);
	case FIONREAD:
		len = umad_queue_next_len(file);
		return len < 0 ? len : put_user(len, (int __user *)uptr);
	default:
		return -ENOIOCTLCMD;
	}
}
