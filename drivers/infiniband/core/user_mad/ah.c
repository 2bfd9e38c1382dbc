// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Address handles. Most programs send many MADs to one destination before they turn to the
 * next. All directed routes are one destination. So an agent keeps the handle that it used
 * last: to make one for each send costs 470 of the 13,300 instructions of a round trip.
 *
 * It keeps handles without GRH only. They have nothing but LID, SL and path bits. The
 * address of a neighbour behind a GRH may change, without an event. A kept handle with a
 * GRH would also keep an entry of the GID table in use. Any event of the device makes all
 * kept handles stale.
 */

#include "user_mad.h"

/**
 * struct umad_ah - an address handle that several sends use
 * @ah: the handle
 * @users: one for umad_agent.ah, one for each send
 * @events: umad_port.events before @ah was made
 * @lid: destination
 * @sl: service level
 * @path_bits: which of the port's LIDs is the source
 */
struct umad_ah {
	struct ib_ah	*ah;
	refcount_t	users;
	int		events;
	__be16		lid;
	u8		sl;
	u8		path_bits;
};

/*
 * On RoCE this resolves the destination, and may wait a second for it. The removal of the
 * device waits for that, so a writer does not begin once the device is gone.
 */
static struct ib_ah *umad_ah_create(struct umad_agent *agent, const struct ib_user_mad_hdr *hdr)
{
	struct ib_mad_agent *mad_agent = agent->mad_agent;
	struct umad_port *port = agent->file->port;
	struct rdma_ah_attr attr = {};
	struct ib_ah *ah;

	if (umad_port_gone(port))
		return ERR_PTR(-EIO);

	attr.type = rdma_ah_find_type(mad_agent->device, mad_agent->port_num);
	rdma_ah_set_port_num(&attr, mad_agent->port_num);
	rdma_ah_set_dlid(&attr, be16_to_cpu(hdr->lid));
	rdma_ah_set_sl(&attr, hdr->sl);
	rdma_ah_set_path_bits(&attr, hdr->path_bits);
	if (hdr->grh_present) {
		rdma_ah_set_grh(&attr, NULL, be32_to_cpu(hdr->flow_label),
				hdr->gid_index, hdr->hop_limit, hdr->traffic_class);
		rdma_ah_set_dgid_raw(&attr, (void *)hdr->gid);
	}

	ah = rdma_create_user_ah(mad_agent->qp->pd, &attr, NULL);
	return IS_ERR(ah) && umad_port_gone(port) ? ERR_PTR(-EIO) : ah;
}

static struct umad_ah *umad_ah_new(struct umad_agent *agent, const struct ib_user_mad_hdr *hdr)
{
	struct umad_ah *shared;
	struct ib_ah *ah;

	/* Not charged: sends of several writers use it, and the driver's part is larger */
	shared = kmalloc_obj(*shared, UMAD_GFP_WRITER);
	if (!shared)
		return ERR_PTR(-ENOMEM);

	shared->events = atomic_read(&agent->file->port->events);
	shared->lid = hdr->lid;
	shared->sl = hdr->sl;
	shared->path_bits = hdr->path_bits;
	refcount_set(&shared->users, 1);

	ah = umad_ah_create(agent, hdr);
	if (IS_ERR(ah)) {
		kfree(shared);
		return ERR_CAST(ah);
	}
	shared->ah = ah;
	return shared;
}

static void umad_ah_unshare(struct umad_ah *shared)
{
	if (shared && refcount_dec_and_test(&shared->users)) {
		rdma_destroy_ah(shared->ah, RDMA_DESTROY_AH_SLEEPABLE);
		kfree(shared);
	}
}

static bool umad_ah_fits(const struct umad_ah *shared, const struct umad_port *port,
			 const struct ib_user_mad_hdr *hdr)
{
	return shared->lid == hdr->lid && shared->sl == hdr->sl &&
	       shared->path_bits == hdr->path_bits && shared->events == atomic_read(&port->events);
}

/* The writer that takes the kept handle has it alone until it puts the handle back */
static struct umad_ah *umad_ah_share(struct umad_agent *agent, const struct ib_user_mad_hdr *hdr)
{
	struct umad_ah *shared;

	shared = xchg(&agent->ah, NULL);
	if (shared && !umad_ah_fits(shared, agent->file->port, hdr)) {
		umad_ah_unshare(shared);
		shared = NULL;
	}
	if (!shared)
		shared = umad_ah_new(agent, hdr);
	if (IS_ERR(shared))
		return shared;

	refcount_inc(&shared->users);
	umad_ah_unshare(xchg(&agent->ah, shared));
	return shared;
}

/*
 * Gives @msg an address handle for @hdr, until umad_ah_put(). The caller holds @agent by
 * umad_agent_get(). On RoCE this may wait for a second. Returns -EIO if the device is gone.
 */
int umad_ah_get(struct umad_agent *agent, const struct ib_user_mad_hdr *hdr,
		struct ib_mad_send_buf *msg)
{
	struct umad_ah *shared;

	if (hdr->grh_present) {
		msg->ah = umad_ah_create(agent, hdr);
		return PTR_ERR_OR_ZERO(msg->ah);
	}

	shared = umad_ah_share(agent, hdr);
	if (IS_ERR(shared))
		return PTR_ERR(shared);
	msg->ah = shared->ah;
	msg->context[1] = shared;
	return 0;
}

/* Undoes umad_ah_get() when the MAD layer has completed @msg, or has not taken it */
void umad_ah_put(struct ib_mad_send_buf *msg)
{
	if (msg->context[1])
		umad_ah_unshare(msg->context[1]);
	else
		rdma_destroy_ah(msg->ah, RDMA_DESTROY_AH_SLEEPABLE);
}

/* Drops the handle that an agent keeps, so that the next send makes a new one */
void umad_ah_drop(struct umad_agent *agent)
{
	umad_ah_unshare(xchg(&agent->ah, NULL));
}

static void umad_ah_event(struct ib_event_handler *handler, struct ib_event *event)
{
	struct umad_port *port = container_of(handler, struct umad_port, event_handler);

	atomic_inc(&port->events);
}

/* All events of the device make kept handles stale, until the port unregisters the handler */
void umad_ah_watch(struct umad_port *port)
{
	INIT_IB_EVENT_HANDLER(&port->event_handler, port->ib_dev, umad_ah_event);
	ib_register_event_handler(&port->event_handler);
}
