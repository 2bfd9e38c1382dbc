// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Agents of a descriptor: how writers find them by the ids that user space knows, and their
 * end. ioctl.c has the beginning.
 */
#include <linux/bitops.h>
#include <linux/nospec.h>
#include <linux/wait_bit.h>

#include "user_mad.h"

/* The next agents find in these fields what the last ones leave */
void umad_agents_init(struct umad_file *file)
{
	u8 id;

	for (id = 0; id < UMAD_MAX_AGENTS; id++) {
		file->agents[id].file = file;
		file->agents[id].id = id;
		atomic_set(&file->agents[id].users, UMAD_AGENT_CLOSED);
	}
}

/*
 * Returns the agent with an @id below UMAD_MAX_AGENTS, or NULL. It cannot be unregistered
 * until umad_agent_put(), so the caller must not wait for user space in between.
 */
struct umad_agent *umad_agent_get(struct umad_file *file, u32 id)
{
	struct umad_agent *agent = file->agents + array_index_nospec(id, UMAD_MAX_AGENTS);

	/* Pairs with the release in umad_agent_register() */
	return atomic_inc_unless_negative(&agent->users) ? agent : NULL;
}

/* Undoes umad_agent_get(). Another agent may have the id at once */
void umad_agent_put(struct umad_agent *agent)
{
	if (atomic_dec_return(&agent->users) == UMAD_AGENT_CLOSED)
		wake_up_var(&agent->users);
}

/* If this is a removal, a close of the descriptor may free it from here on */
void umad_agent_release(struct umad_agent *agent)
{
	if (agent->id)
		umad_cap_uncharge(agent->file, UMAD_AGENT_COST);
	clear_bit_unlock(agent->id, &agent->file->ids);
}

/*
 * Returns the agent with an @id below UMAD_MAX_AGENTS for the caller to destroy, or NULL.
 * No writer finds it any more. Its id stays reserved until then, as the MAD layer still
 * queues MADs with it.
 */
static struct umad_agent *umad_agent_detach(struct umad_file *file, u32 id)
{
	struct umad_agent *agent = file->agents + id;

	return atomic_fetch_or(UMAD_AGENT_CLOSED, &agent->users) < 0 ? NULL : agent;
}

/* Unregisters a detached agent, and waits for its writers and the MAD layer */
void umad_agent_destroy(struct umad_agent *agent)
{
	struct umad_file *file = agent->file;
	struct umad_port *port = file->port;
	bool last;

	if (atomic_read_acquire(&agent->users) != UMAD_AGENT_CLOSED)
		wait_var_event(&agent->users,
			       atomic_read_acquire(&agent->users) == UMAD_AGENT_CLOSED);
	if (agent->ah)
		umad_ah_drop(agent);

	/* Completes all sends and waits for the handlers */
	ib_unregister_mad_agent(agent->mad_agent);
	umad_agent_release(agent);

	/* A full barrier: those that wait for a disassociation see this, or are woken */
	last = atomic_dec_and_test(&port->agents);
	if (umad_port_gone(port)) {
		wake_up_var(&file->ids);
		if (last)
			wake_up_var(&port->agents);
	}
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
	return 0;
}

/* Hides all agents from writers, for the tasks that call umad_agent_detached() */
void umad_agents_detach(struct umad_file *file)
{
	unsigned long ids = READ_ONCE(file->ids);
	u32 id;

	lockdep_assert_held(&file->port->lock);

	for_each_set_bit(id, &ids, UMAD_MAX_AGENTS)
		if (umad_agent_detach(file, id))
			file->detached |= BIT(id);
}

/* Returns a detached agent for the caller to destroy without umad_port.lock, or NULL */
struct umad_agent *umad_agent_detached(struct umad_file *file)
{
	u32 id;

	lockdep_assert_held(&file->port->lock);

	if (!file->detached)
		return NULL;
	id = __ffs(file->detached);
	file->detached &= ~BIT(id);
	return file->agents + id;
}
