// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Agents: registration with the MAD layer, and the ids user space knows them
 * by.
 *
 * Registering reserves an id, tells it to user space, registers with the MAD
 * layer and publishes the agent, in this order. The access to user memory comes
 * before there is anything that the removal of the device would have to wait
 * for. The last step cannot fail.
 */
#include <linux/bitops.h>
#include <linux/nospec.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/wait_bit.h>

#include "trace.h"
#include "user_mad.h"

/* What the MAD layer allocates for an agent, some 700 bytes, and for its address handle */
#define UMAD_AGENT_COST	SZ_1K

static void umad_warn_old_layout(struct umad_file *file)
{
	dev_warn_ratelimited(&file->port->dev,
			     "%s[%d] uses the user_mad header without P_Key index, see Documentation/infiniband/user_mad.rst\n",
			     current->comm, task_tgid_nr(current));
}

/*
 * Under reg_lock the header layout is settled by the first to succeed. What the MAD
 * layer refuses is refused for that, also if the id could not be stored.
 */
static int umad_agent_publish(struct umad_agent *agent,
			      ib_mad_send_handler send_handler,
			      ib_mad_recv_handler recv_handler, bool stored)
{
	struct umad_file *file = agent->file;
	struct umad_port *port = file->port;
	struct umad_reg *reg = &agent->reg;
	struct ib_mad_agent *mad_agent;

	lockdep_assert_held(&file->reg_lock);
	lockdep_assert_held_read(&port->dev_lock);

	if (!port->ib_dev)
		return -EPIPE;

	/* A MAD may arrive before ib_register_mad_agent() has returned */
	agent->hdr_len = file->hdr_len;
	if (!file->used && reg->pkey_layout)
		agent->hdr_len = sizeof(struct ib_user_mad_hdr);

	mad_agent = ib_register_mad_agent(port->ib_dev, port->port_num,
					  reg->qp_type,
					  reg->req.mgmt_class ? &reg->req : NULL,
					  reg->rmpp_version, send_handler,
					  recv_handler, agent, reg->flags);
	if (IS_ERR(mad_agent))
		return PTR_ERR(mad_agent);
	if (!stored) {
		ib_unregister_mad_agent(mad_agent);
		return -EFAULT;
	}

	if (!file->used && agent->hdr_len < sizeof(struct ib_user_mad_hdr))
		umad_warn_old_layout(file);
	file->used = true;
	WRITE_ONCE(file->hdr_len, agent->hdr_len);

	agent->mad_agent = mad_agent;
	agent->kernel_rmpp = ib_mad_kernel_rmpp_agent(mad_agent);
	refcount_inc(&file->refs);
	atomic_inc(&port->agents);
	trace_ib_umad_agent_register(agent);
	rcu_assign_pointer(file->agents[agent->id], agent);
	return 0;
}

static int umad_id_reserve(struct umad_file *file)
{
	unsigned long taken, id;

	static_assert(UMAD_MAX_AGENTS <= BITS_PER_LONG);

	/* Others reserve and release at the same time: look at one state of it */
	do {
		taken = READ_ONCE(file->ids);
		id = find_first_zero_bit(&taken, UMAD_MAX_AGENTS);
		if (id == UMAD_MAX_AGENTS)
			return -ENOMEM;
	} while (test_and_set_bit(id, &file->ids));

	return id;
}

/**
 * umad_agent_register - register an agent
 * @file: whose it will be
 * @reg: the request
 * @send_handler: what the MAD layer calls for each send that is complete
 * @recv_handler: what it calls for each MAD or message it has received
 * @uid: where user space wants to find the id. It is written before the
 *	outcome is known
 *
 * Context: process context, no lock held.
 * Return: 0, or
 *  * -ENOMEM: all ids are taken, the cap has no room, or no memory
 *  * -EFAULT: @uid cannot be written
 *  * -EPIPE: the device is gone
 *  * what ib_register_mad_agent() says: -EINVAL for a request it refuses,
 *    -EPROTONOSUPPORT for a QP the port does not have
 */
int umad_agent_register(struct umad_file *file, const struct umad_reg *reg,
			ib_mad_send_handler send_handler,
			ib_mad_recv_handler recv_handler, u32 __user *uid)
{
	struct umad_agent *agent;
	bool stored;
	int ret;

	if (!umad_cap_charge(file, UMAD_AGENT_COST))
		return -ENOMEM;

	agent = kzalloc_obj(*agent, GFP_KERNEL_ACCOUNT);
	if (!agent) {
		ret = -ENOMEM;
		goto err_cap;
	}
	agent->file = file;
	agent->reg = *reg;
	/* What it would receive is nobody's to see, as it receives nothing */
	if (!reg->req.mgmt_class)
		agent->reg.req = (struct ib_mad_reg_req) {};
	refcount_set(&agent->users, 1);
	init_completion(&agent->idle);

	ret = umad_id_reserve(file);
	if (ret < 0)
		goto err_free;
	agent->id = ret;

	stored = !put_user(agent->id, uid);

	mutex_lock(&file->reg_lock);
	down_read(&file->port->dev_lock);
	ret = umad_agent_publish(agent, send_handler, recv_handler, stored);
	up_read(&file->port->dev_lock);
	mutex_unlock(&file->reg_lock);
	if (ret)
		goto err_id;

	return 0;

err_id:
	clear_bit_unlock(agent->id, &file->ids);
err_free:
	kfree(agent);
err_cap:
	umad_cap_uncharge(file, UMAD_AGENT_COST);
	return ret;
}

/**
 * umad_agent_get - find an agent to send with
 * @file: the descriptor
 * @id: what user space calls the agent, below UMAD_MAX_AGENTS
 *
 * The agent cannot be unregistered until umad_agent_put(), so the caller must
 * not wait for user space in between.
 *
 * Return: the agent, or NULL if there is none (any more).
 */
struct umad_agent *umad_agent_get(struct umad_file *file, u32 id)
{
	struct umad_agent *agent;

	id = array_index_nospec(id, UMAD_MAX_AGENTS);

	rcu_read_lock();
	agent = rcu_dereference(file->agents[id]);
	if (agent && !refcount_inc_not_zero(&agent->users))
		agent = NULL;
	rcu_read_unlock();

	return agent;
}

/**
 * umad_agent_put - undo umad_agent_get()
 * @agent: the agent; not to be touched any more
 */
void umad_agent_put(struct umad_agent *agent)
{
	if (refcount_dec_and_test(&agent->users))
		complete(&agent->idle);
}

/*
 * Nobody finds the agent any more, and the caller has to destroy it. Its id stays
 * reserved until then: MADs with this id may still be queued.
 */
static struct umad_agent *umad_agent_detach(struct umad_file *file, u32 id)
{
	struct umad_agent *agent;

	agent = unrcu_pointer(xchg(&file->agents[id], NULL));
	if (agent)
		umad_agent_put(agent);
	return agent;
}

/**
 * umad_agent_destroy - unregister an agent
 * @agent: what umad_agents_detach() found; not to be touched any more
 *
 * Those who are sending with it are waited for.
 *
 * Context: process context; sleeps until the MAD layer is done with the agent.
 * The caller drops the agent's reference to its file afterwards.
 */
void umad_agent_destroy(struct umad_agent *agent)
{
	struct umad_file *file = agent->file;
	struct umad_port *port = file->port;

	wait_for_completion(&agent->idle);
	trace_ib_umad_agent_unregister(agent);
	umad_ah_drop(agent);

	/* Completes all sends and waits for the handlers */
	ib_unregister_mad_agent(agent->mad_agent);
	clear_bit_unlock(agent->id, &file->ids);
	umad_cap_uncharge(file, UMAD_AGENT_COST);
	kfree_rcu(agent, rcu);

	if (atomic_dec_and_test(&port->agents))
		wake_up_var(&port->agents);
}

/**
 * umad_agent_unregister - unregister an agent
 * @file: whose it is
 * @id: what user space calls it
 *
 * Sends that are outstanding end without a timeout record. MADs that were
 * received stay to be read.
 *
 * Context: process context; sleeps until the MAD layer is done with the agent.
 * Return: 0, or -EINVAL if there is no such agent.
 */
int umad_agent_unregister(struct umad_file *file, u32 id)
{
	struct umad_agent *agent;

	if (id >= UMAD_MAX_AGENTS)
		return -EINVAL;

	agent = umad_agent_detach(file, array_index_nospec(id, UMAD_MAX_AGENTS));
	if (!agent)
		return -EINVAL;

	umad_agent_destroy(agent);
	/* Never the last one: the descriptor has a reference, too */
	refcount_dec(&file->refs);
	return 0;
}

/**
 * umad_agents_detach - take all agents away from a descriptor
 * @file: the descriptor
 * @agents: list they are added to. The caller destroys each of them
 *
 * Nobody can start to send with any of them after this. Others may be
 * unregistering agents of @file at the same time, and finish later.
 *
 * Context: process context; does not sleep.
 */
void umad_agents_detach(struct umad_file *file, struct list_head *agents)
{
	struct umad_agent *agent;
	u32 id;

	for (id = 0; id < UMAD_MAX_AGENTS; id++) {
		if (!rcu_access_pointer(file->agents[id]))
			continue;
		agent = umad_agent_detach(file, id);
		if (agent)
			list_add_tail(&agent->list, agents);
	}
}
