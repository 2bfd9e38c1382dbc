// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Agents: registration with the MAD layer, and the ids user space knows them by.
 *
 * Registering reserves an id, tells it to user space, registers with the MAD layer and
 * publishes the agent, in this order. The access to user memory comes before there is
 * anything that the removal of the device has to wait for. The last step cannot fail.
 */
#include <linux/bitops.h>
#include <linux/nospec.h>
#include <linux/wait_bit.h>

#include "user_mad.h"

/*
 * An agent takes this of the cap, and no cgroup is charged: struct umad_agent, some 700
 * bytes of the MAD layer, and the address handle.
 */
#define UMAD_AGENT_COST	SZ_1K

/* Reserves the lowest free id and returns it, or -ENOMEM */
static int umad_id_reserve(struct umad_file *file)
{
	unsigned long taken, id;

	static_assert(UMAD_MAX_AGENTS <= BITS_PER_LONG);

	/* Other tasks reserve and release ids at the same time, so this looks at a copy */
	do {
		taken = READ_ONCE(file->ids);
		id = find_first_zero_bit(&taken, UMAD_MAX_AGENTS);
		if (id == UMAD_MAX_AGENTS)
			return -ENOMEM;
	} while (test_and_set_bit(id, &file->ids));

	return id;
}

/* The first agent of a descriptor settles the layout of its headers */
static void umad_settle_layout(struct umad_file *file, u8 hdr_len)
{
	lockdep_assert_held(&file->reg_lock);

	if (!file->used && hdr_len < sizeof(struct ib_user_mad_hdr))
		dev_warn_ratelimited(&file->port->dev,
				     "%s[%d] uses the user_mad header without P_Key index, see Documentation/infiniband/user_mad.rst\n",
				     current->comm, task_tgid_nr(current));
	file->used = true;
	WRITE_ONCE(file->hdr_len, hdr_len);
}

/* Writers find the agent from here on */
static void umad_agent_publish(struct umad_agent *agent, struct ib_mad_agent *mad_agent)
{
	struct umad_file *file = agent->file;

	agent->mad_agent = mad_agent;
	refcount_inc(&file->refs);
	atomic_inc(&file->port->agents);
	/* The id is reserved, so no other task writes here while it is NULL */
	smp_store_release(&file->agents[agent->id], agent);
}

/*
 * Registers an agent whose sends and MADs go to these handlers. It stores the id in @uid
 * before the outcome is known. The error of ib_register_mad_agent() comes before -EFAULT
 * for @uid. Returns also -ENOMEM, and -EPIPE if the device is gone.
 */
int umad_agent_register(struct umad_file *file, const struct umad_reg *reg,
			ib_mad_send_handler send_handler,
			ib_mad_recv_handler recv_handler, u32 __user *uid)
{
	struct ib_mad_agent *mad_agent = ERR_PTR(-EPIPE);
	struct umad_agent *agent;
	struct ib_device *ib_dev;
	bool stored;
	int ret;

	if (!umad_cap_charge(file, UMAD_AGENT_COST))
		return -ENOMEM;

	agent = kmalloc_obj(*agent);
	if (!agent) {
		ret = -ENOMEM;
		goto err_cap;
	}
	agent->file = file;
	agent->ah = NULL;
	agent->req = reg->req;
	agent->kernel_rmpp = reg->rmpp_version && !(reg->flags & IB_USER_MAD_USER_RMPP);
	atomic_set(&agent->users, 1);
	/* It receives nothing, so fdinfo shows no methods */
	if (!reg->req.mgmt_class)
		agent->req = (struct ib_mad_reg_req) {};

	ret = umad_id_reserve(file);
	if (ret < 0)
		goto err_free;
	agent->id = ret;

	stored = !put_user(agent->id, uid);

	mutex_lock(&file->reg_lock);
	/* A MAD may arrive before ib_register_mad_agent() has returned */
	agent->hdr_len = file->hdr_len;
	if (!file->used && reg->pkey_layout)
		agent->hdr_len = sizeof(struct ib_user_mad_hdr);
	ib_dev = READ_ONCE(file->port->ib_dev);
	if (ib_dev)
		mad_agent = ib_register_mad_agent(ib_dev, file->port->port_num, reg->qp_type,
						  reg->req.mgmt_class ? &agent->req : NULL,
						  reg->rmpp_version, send_handler,
						  recv_handler, agent, reg->flags);
	if (!IS_ERR(mad_agent) && !stored) {
		ib_unregister_mad_agent(mad_agent);
		mad_agent = ERR_PTR(-EFAULT);
	}
	ret = PTR_ERR_OR_ZERO(mad_agent);
	if (!ret) {
		umad_settle_layout(file, agent->hdr_len);
		umad_agent_publish(agent, mad_agent);
	}
	mutex_unlock(&file->reg_lock);
	if (!ret)
		return 0;

	clear_bit_unlock(agent->id, &file->ids);
err_free:
	kfree(agent);
err_cap:
	umad_cap_uncharge(file, UMAD_AGENT_COST);
	return ret;
}

/*
 * Returns the agent with an @id below UMAD_MAX_AGENTS, or NULL. It cannot be unregistered
 * until umad_agent_put(), so the caller must not wait for user space in between.
 */
struct umad_agent *umad_agent_get(struct umad_file *file, u32 id)
{
	struct umad_agent *agent;

	id = array_index_nospec(id, UMAD_MAX_AGENTS);

	spin_lock(&file->agents_lock);
	/* Pairs with umad_agent_publish(), which writes without the lock */
	agent = smp_load_acquire(&file->agents[id]);
	if (agent)
		atomic_inc(&agent->users);
	spin_unlock(&file->agents_lock);

	return agent;
}

/* Undoes umad_agent_get(). The agent may be freed at once */
void umad_agent_put(struct umad_agent *agent)
{
	if (atomic_dec_and_test(&agent->users))
		wake_up_var(&agent->users);
}

/*
 * Takes the agent out of the table, where no writer finds it any more, for the caller to
 * destroy. Its id stays reserved until then, as the MAD layer still queues MADs with it.
 */
static struct umad_agent *umad_agent_detach(struct umad_file *file, u32 id)
{
	struct umad_agent *agent;

	spin_lock(&file->agents_lock);
	/* Pairs with umad_agent_publish(), which may fill a free place at this moment */
	agent = smp_load_acquire(&file->agents[id]);
	if (agent)
		WRITE_ONCE(file->agents[id], NULL);
	spin_unlock(&file->agents_lock);

	return agent;
}

/*
 * Unregisters a detached agent, and waits for its writers and the MAD layer. The caller
 * drops the agent's reference to its file.
 */
void umad_agent_destroy(struct umad_agent *agent)
{
	struct umad_file *file = agent->file;
	struct umad_port *port = file->port;

	if (!atomic_dec_and_test(&agent->users))
		wait_var_event(&agent->users, !atomic_read_acquire(&agent->users));
	if (agent->ah)
		umad_ah_drop(agent);

	/* Completes all sends and waits for the handlers */
	ib_unregister_mad_agent(agent->mad_agent);
	clear_bit_unlock(agent->id, &file->ids);
	umad_cap_uncharge(file, UMAD_AGENT_COST);
	kfree(agent);

	/* Only a disassociation waits: it sees no agent, or this task sees no device */
	if (atomic_dec_and_test(&port->agents) && umad_port_gone(port))
		wake_up_var(&port->agents);
}

/* Outstanding sends end without a record, received MADs can still be read */
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

/*
 * Moves all agents of a descriptor to the list @agents, for the caller to destroy. Other
 * tasks may be unregistering agents of @file at the same time, and finish later.
 */
void umad_agents_detach(struct umad_file *file, struct llist_head *agents)
{
	unsigned long ids = READ_ONCE(file->ids), id;
	struct umad_agent *agent;

	for_each_set_bit(id, &ids, UMAD_MAX_AGENTS) {
		agent = umad_agent_detach(file, id);
		if (agent)
			llist_add(&agent->node, agents);
	}
}
