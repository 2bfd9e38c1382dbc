// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Cables, and the state of the ports at their ends.
 *
 * A link trains when both ports are enabled, the cable is in, and both nodes are powered. It then
 * is in INIT on both sides, and a subnet manager decides what follows.
 */

#include <linux/if_link.h>

#include "wire.h"

static void madsim_dev_event(struct madsim_dev *dev, struct ib_event *event)
{
	if (!dev || !dev->registered || !dev->node->powered ||
	    event->element.port_num > dev->ibdev.phys_port_cnt)
		return;
	event->device = &dev->ibdev;
	ib_dispatch_event(event);
}

/* Tell the kernel what happened to an end port, if there is an ib_device. fabric->lock is held */
void madsim_port_event(struct madsim_port *port, enum ib_event_type event)
{
	struct ib_event ibevent = {
		.event = event,
		.element.port_num = port->num,
	};

	lockdep_assert_held(&port->node->fabric->lock);

	if (!madsim_is_end_port(port))
		return;
	madsim_dev_event(port->node->dev, &ibevent);
	madsim_dev_event(port->node->smi_dev, &ibevent);
}

/* A port of a virtual function has no link without a GUID, and then as its policy says */
static bool madsim_port_vf_enabled(const struct madsim_port *port)
{
	const struct madsim_node *node = port->node, *pf = node->pf;

	switch (node->port_guid ? node->vf_policy : IFLA_VF_LINK_STATE_DISABLE) {
	case IFLA_VF_LINK_STATE_AUTO:
		return pf->powered && port->num <= pf->nports &&
		       madsim_state(&pf->ports[port->num]) != IB_PORT_DOWN;
	case IFLA_VF_LINK_STATE_ENABLE:
		return true;
	default:
		return false;
	}
}

/* Whether a link trains where the other port agrees. fabric->lock is held */
bool madsim_port_enabled(const struct madsim_port *port)
{
	const struct madsim_node *node = port->node;

	lockdep_assert_held(&node->fabric->lock);

	return node->powered && !port->pulled &&
	       madsim_phys_state(port) != IB_PORT_PHYS_STATE_DISABLED &&
	       (!node->pf || madsim_port_vf_enabled(port));
}

/* A virtual function has none itself, so this calls itself once */
static void madsim_port_follow(struct madsim_port *port)
{
	struct madsim_node *vf;
	unsigned long num;

	xa_for_each(&port->node->vfs, num, vf) {
		if (vf->powered && port->num <= vf->nports)
			madsim_link_update(&vf->ports[port->num]);
	}
}

/* Change PortState, with all that follows. Not for port 0 of a switch. fabric->lock is held */
void madsim_port_set_state(struct madsim_port *port, enum ib_port_state state)
{
	enum ib_port_state old = madsim_state(port);
	struct madsim_node *node = port->node;

	lockdep_assert_held(&node->fabric->lock);

	if (state == old)
		return;

	madsim_pi_set(&port->info, MADSIM_PI_STATE, state);

	if (state == IB_PORT_ACTIVE)
		madsim_port_event(port, IB_EVENT_PORT_ACTIVE);
	else if (old == IB_PORT_ACTIVE)
		madsim_port_event(port, IB_EVENT_PORT_ERR);

	/* Going up step by step is the subnet manager's own doing */
	if (state != IB_PORT_DOWN && old != IB_PORT_DOWN)
		return;
	madsim_port_follow(port);
	if (node->sw) {
		node->sw->info.life_state |= MADSIM_SW_STATE_CHANGE;
		madsim_trap_link_state(node);
	}
}

/* One that sleeps wakes up when it hears the other end, if that does not sleep */
static bool madsim_link_trains(const struct madsim_port *a, const struct madsim_port *b)
{
	return madsim_port_enabled(a) && madsim_port_enabled(b) &&
	       (madsim_phys_state(a) != IB_PORT_PHYS_STATE_SLEEP ||
		madsim_phys_state(b) != IB_PORT_PHYS_STATE_SLEEP);
}

static void madsim_port_train(struct madsim_port *port, u8 width, u16 speed)
{
	struct ib_port_info *info = &port->info;

	if (madsim_state(port) != IB_PORT_DOWN)
		return;

	madsim_pi_set(info, MADSIM_PI_PHYS_STATE, IB_PORT_PHYS_STATE_LINK_UP);
	info->link_width_active = width;
	port->speed_active = speed;
	madsim_port_set_state(port, IB_PORT_INIT);
}

static void madsim_port_lose(struct madsim_port *port)
{
	struct ib_port_info *info = &port->info;

	if (madsim_phys_state(port) == IB_PORT_PHYS_STATE_LINK_UP) {
		madsim_pi_set(info, MADSIM_PI_PHYS_STATE,
			      madsim_pi_get(info, MADSIM_PI_LINK_DOWN_DEFAULT));
		madsim_count(port, MADSIM_LINK_DOWNED);
	}
	madsim_port_set_state(port, IB_PORT_DOWN);
}

static void madsim_link_lose(struct madsim_port *port)
{
	madsim_port_lose(port);
	if (port->peer)
		madsim_port_lose(port->peer);
}

/* Let a link go up or down as it must. Not for port 0 of a switch. fabric->lock is held */
void madsim_link_update(struct madsim_port *port)
{
	struct madsim_port *peer = port->peer;
	u16 speed;
	u8 width;

	lockdep_assert_held(&port->node->fabric->lock);

	if (peer && madsim_link_trains(port, peer) &&
	    madsim_speed_agree(port, peer, &width, &speed)) {
		madsim_port_train(port, width, speed);
		madsim_port_train(peer, width, speed);
	} else {
		madsim_link_lose(port);
	}
	if (peer && peer->wire)
		madsim_wire_offer(peer->wire, false);
}

/* As madsim_link_update(), of all ports of a node */
void madsim_links_update(struct madsim_node *node)
{
	unsigned int i;

	for (i = 1; i <= node->nports; i++)
		madsim_link_update(&node->ports[i]);
}

/*
 * Do what a subnet manager asks of a link: polling, which restarts a link that is up, sleep, or
 * disabled. Not for port 0 of a switch. fabric->lock is held
 */
void madsim_link_request(struct madsim_port *port, u8 phys)
{
	lockdep_assert_held(&port->node->fabric->lock);

	madsim_link_lose(port);
	if (port->peer && port->peer->wire)
		port->peer->wire->restarts++;
	madsim_pi_set(&port->info, MADSIM_PI_PHYS_STATE, phys);
	madsim_link_update(port);
}

/**
 * madsim_link_train - let the link of a wire train as its far end has it
 * @far: that end, with a peer
 * @restart: the link goes down first
 * @phys: PortPhysicalState of the far end while the link is down
 *
 * Context: any; fabric->lock is held.
 */
void madsim_link_train(struct madsim_port *far, bool restart, u8 phys)
{
	lockdep_assert_held(&far->node->fabric->lock);

	if (restart)
		madsim_link_lose(far);
	if (madsim_phys_state(far) != IB_PORT_PHYS_STATE_LINK_UP)
		madsim_pi_set(&far->info, MADSIM_PI_PHYS_STATE, phys);
	madsim_link_update(far->peer);
}

/* One error more than PortInfo allows is worth a notice */
static void madsim_link_exceeded(struct madsim_port *port, u8 *errors, u8 limit,
				 enum madsim_counter counter,
				 enum madsim_trap trap)
{
	if (++*errors <= limit)
		return;
	*errors = 0;
	madsim_count(port, counter);
	madsim_trap_link_error(port, trap);
}

/**
 * madsim_link_error - let a port notice an error of its link
 * @port: the receiving port
 * @error: one of the faults from %MADSIM_FAULT_SYMBOL to %MADSIM_FAULT_FLOW
 *
 * Context: any; fabric->lock is held.
 * Return: true if the packet that is on the link is lost.
 */
bool madsim_link_error(struct madsim_port *port, enum madsim_fault_kind error)
{
	u8 limits = port->info.localphyerrors_overrunerrors;

	lockdep_assert_held(&port->node->fabric->lock);

	/* What is beyond a wire has counters of its own, but hears of no error */
	if (port->wire)
		return error != MADSIM_FAULT_SYMBOL;

	switch (error) {
	case MADSIM_FAULT_CRC:
		madsim_count(port, MADSIM_RCV_ERRORS);
		madsim_count(port, MADSIM_LOCAL_PHYSICAL_ERRORS);
		madsim_link_exceeded(port, &port->crc_errors, limits >> 4,
				     MADSIM_LINK_INTEGRITY_ERRORS,
				     MADSIM_TRAP_INTEGRITY);
		return true;
	case MADSIM_FAULT_OVERRUN:
		madsim_count(port, MADSIM_RCV_ERRORS);
		madsim_count(port, MADSIM_OVERRUN_ERRORS);
		madsim_link_exceeded(port, &port->overruns, limits & 0xf,
				     MADSIM_EXCESSIVE_OVERRUNS,
				     MADSIM_TRAP_OVERRUN);
		return true;
	case MADSIM_FAULT_FLOW:
		madsim_count(port, MADSIM_LINK_RECOVERIES);
		madsim_trap_link_error(port, MADSIM_TRAP_FLOW);
		return true;
	default:
		/* Between two packets */
		madsim_count(port, MADSIM_SYMBOL_ERRORS);
		return false;
	}
}

static struct madsim_port *madsim_link_end(struct madsim_node *node, u32 num)
{
	lockdep_assert_held(&node->fabric->mutex);

	return num && num <= node->nports ? &node->ports[num] : NULL;
}

static int madsim_link_ports(struct madsim_port *a, struct madsim_port *b, u8 width, u16 speed)
{
	struct madsim_fabric *fabric = a->node->fabric;

	if (a->peer || b->peer)
		return -EBUSY;

	spin_lock_irq(&fabric->lock);
	a->peer = b;
	b->peer = a;
	madsim_speed_limit(a, width, speed);
	/* The far end of a wire tells what it can do, and has no cable before it has */
	if (!b->wire) {
		madsim_speed_limit(b, width, speed);
		if (fabric->live)
			madsim_link_update(a);
	}
	spin_unlock_irq(&fabric->lock);
	return 0;
}

/**
 * madsim_link - put a cable between two ports
 * @a: one node
 * @a_port: the number of its port
 * @b: the other node, may be the same
 * @b_port: the number of its port
 * @width: the widest link that the ports can have from now on, an IB_WIDTH_*
 * @speed: the fastest one, an IB_SPEED_*
 *
 * Context: process context; fabric->mutex is held.
 * Return: 0, or
 *  * -EINVAL: there is no such port, or both are the same
 *  * -EBUSY: one of the ports is linked already
 */
int madsim_link(struct madsim_node *a, u32 a_port, struct madsim_node *b,
		u32 b_port, u8 width, u16 speed)
{
	struct madsim_port *pa = madsim_link_end(a, a_port);
	struct madsim_port *pb = madsim_link_end(b, b_port);

	return pa && pb && pa != pb ? madsim_link_ports(pa, pb, width, speed) : -EINVAL;
}

/* As madsim_link(), between a port and the far end of a wire */
int madsim_link_wire(struct madsim_node *node, u32 num, struct madsim_port *far,
		     u8 width, u16 speed)
{
	struct madsim_port *port = madsim_link_end(node, num);

	return port ? madsim_link_ports(port, far, width, speed) : -EINVAL;
}

/**
 * madsim_unlink - take a cable away, and the packets that are on it
 * @node: the node at one end
 * @num: the number of its port
 *
 * Context: process context; fabric->mutex is held.
 * Return: 0, or
 *  * -EINVAL: there is no such port
 *  * -ENOENT: it has no link
 */
int madsim_unlink(struct madsim_node *node, u32 num)
{
	struct madsim_port *port = madsim_link_end(node, num), *peer;

	if (!port)
		return -EINVAL;
	peer = port->peer;
	if (!peer)
		return -ENOENT;

	spin_lock_irq(&node->fabric->lock);
	port->peer = NULL;
	peer->peer = NULL;
	madsim_fault_forget(port);
	madsim_fault_forget(peer);
	if (node->fabric->live) {
		madsim_link_update(port);
		madsim_link_update(peer);
	}
	spin_unlock_irq(&node->fabric->lock);
	return 0;
}

/* Pull the cable of a port out, or put it back. fabric->mutex is held */
void madsim_link_pull(struct madsim_port *port, bool pulled)
{
	lockdep_assert_held(&port->node->fabric->mutex);

	spin_lock_irq(&port->node->fabric->lock);
	port->pulled = pulled;
	madsim_link_update(port);
	spin_unlock_irq(&port->node->fabric->lock);
}
