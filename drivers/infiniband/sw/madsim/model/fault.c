// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Fault injection: what a link does to packets, and which verbs fail. Only a port with a fault pays
 * for it. madsim_link_error() in link.c has what symbol, crc, overrun and flow do to the link.
 *
 * Packets that are delayed, duplicated or reordered wait on the link that they are on, until
 * deferred_work lets them go on. A packet that its receiver cannot execute yet waits there, too.
 */

#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/slab.h>

#include "model.h"

/* A reordered packet waits for the next one, but not for ever */
#define MADSIM_REORDER_PATIENCE	(HZ / 10)

/* Most packets that are deferred in a fabric: senders of data do not wait for these */
#define MADSIM_MAX_DEFERRED	4096

/**
 * struct madsim_deferred - a packet that waits on a link
 * @list:	on fabric->deferred
 * @out:	the port it has left by; goes when the cable does
 * @arrived:	no: @out is the end port where it is
 * @due:	when it goes on, in jiffies
 * @reordered:	goes on as soon as another one has passed
 * @pkt:	the packet, cut after its data
 */
struct madsim_deferred {
	struct list_head list;
	struct madsim_port *out;
	bool arrived;
	unsigned long due;
	bool reordered;
	struct madsim_packet pkt;
};

/* Bytes that are kept of a packet: no more than it has */
static size_t madsim_deferred_size(const struct madsim_packet *pkt)
{
	return offsetof(struct madsim_packet, mad) + pkt->len;
}

static struct madsim_deferred *madsim_deferred_next(struct madsim_fabric *fabric,
						    unsigned long *wait)
{
	struct madsim_deferred *deferred;

	lockdep_assert_held(&fabric->lock);

	*wait = MAX_JIFFY_OFFSET;
	list_for_each_entry(deferred, &fabric->deferred, list) {
		if (time_after_eq(jiffies, deferred->due))
			return deferred;
		*wait = min(*wait, deferred->due - jiffies);
	}
	return NULL;
}

static void madsim_deferred_free(struct madsim_fabric *fabric, struct madsim_deferred *deferred)
{
	list_del(&deferred->list);
	fabric->deferred_count--;
	kfree(deferred);
}

/**
 * madsim_fault_release - let a deferred packet go on whose time has come
 * @fabric: where
 * @pkt: the packet
 * @arrived: whether it has crossed the link
 *
 * If there is none, deferred_work runs when there is.
 *
 * Context: any; fabric->lock is held.
 * Return: the port that it had left by, or where it is if it has arrived, or NULL.
 */
struct madsim_port *madsim_fault_release(struct madsim_fabric *fabric,
					 struct madsim_packet *pkt, bool *arrived)
{
	struct madsim_deferred *deferred;
	struct madsim_port *out;
	unsigned long wait;

	deferred = madsim_deferred_next(fabric, &wait);
	if (!deferred) {
		if (!list_empty(&fabric->deferred))
			mod_delayed_work(madsim_wq, &fabric->deferred_work, wait);
		return NULL;
	}
	/* A response may be longer than the request that it is made of */
	memcpy(pkt, &deferred->pkt, madsim_deferred_size(&deferred->pkt));
	out = deferred->out;
	*arrived = deferred->arrived;
	madsim_deferred_free(fabric, deferred);
	return out;
}

/* Forget the packets that are deferred on the link of @out. fabric->lock is held */
void madsim_fault_forget(struct madsim_port *out)
{
	struct madsim_fabric *fabric = out->node->fabric;
	struct madsim_deferred *deferred, *next;

	lockdep_assert_held(&fabric->lock);

	list_for_each_entry_safe(deferred, next, &fabric->deferred, list) {
		if (deferred->out == out)
			madsim_deferred_free(fabric, deferred);
	}
}

/* Forget the deferred packets of a fabric without power. fabric->mutex is held */
void madsim_fault_flush(struct madsim_fabric *fabric)
{
	struct madsim_deferred *deferred, *next;

	cancel_delayed_work_sync(&fabric->deferred_work);
	list_for_each_entry_safe(deferred, next, &fabric->deferred, list)
		madsim_deferred_free(fabric, deferred);
}

static struct madsim_deferred *madsim_defer(struct madsim_port *out,
					    const struct madsim_packet *pkt,
					    unsigned long delay, bool reordered)
{
	struct madsim_fabric *fabric = out->node->fabric;
	size_t size = madsim_deferred_size(pkt);
	struct madsim_deferred *deferred;

	if (fabric->deferred_count == MADSIM_MAX_DEFERRED)
		return NULL;
	deferred = kmalloc(offsetof(struct madsim_deferred, pkt) + size,
			   GFP_ATOMIC | __GFP_NOWARN);
	if (!deferred)
		return NULL;
	memcpy(&deferred->pkt, pkt, size);
	deferred->out = out;
	deferred->arrived = false;
	deferred->due = jiffies + delay;
	deferred->reordered = reordered;
	list_add_tail(&deferred->list, &fabric->deferred);
	fabric->deferred_count++;
	mod_delayed_work(madsim_wq, &fabric->deferred_work, 0);
	return deferred;
}

/* Have a packet come to an end port again, if there is memory, and a cable. fabric->lock is held */
void madsim_fault_defer(struct madsim_port *port, const struct madsim_packet *pkt)
{
	struct madsim_deferred *deferred;

	/* Before a port goes, its cable is taken away, and madsim_fault_forget() called */
	deferred = port->peer ? madsim_defer(port, pkt, 1, false) : NULL;
	if (deferred)
		deferred->arrived = true;
}

/* The port waits until @end, as for credits. Packets that wait together count once */
static void madsim_count_wait(struct madsim_port *out, unsigned long end)
{
	struct madsim_fault *fault = out->fault;
	unsigned long begin = jiffies;

	if (time_before(begin, fault->waits_until))
		begin = fault->waits_until;
	if (time_after(end, begin))
		out->counters.total[MADSIM_XMIT_WAIT] +=
			div_u64(jiffies_to_nsecs(end - begin), MADSIM_TICK_NS);
	fault->waits_until = end;
}

/* The packet that now passes lets those go on that were to come after it */
static void madsim_release_reordered(struct madsim_port *out)
{
	struct madsim_fabric *fabric = out->node->fabric;
	struct madsim_deferred *deferred;

	list_for_each_entry(deferred, &fabric->deferred, list) {
		if (deferred->out == out && deferred->reordered) {
			deferred->reordered = false;
			deferred->due = jiffies;
			mod_delayed_work(madsim_wq, &fabric->deferred_work, 0);
		}
	}
}

static bool madsim_hits(struct madsim_fault *fault, enum madsim_fault_kind kind)
{
	struct madsim_fault_rule *rule = &fault->rule[kind];
	bool hit = false;

	if (!rule->nth && !rule->permille)
		return false;
	rule->seen++;
	if (rule->nth)
		hit = !(rule->seen % rule->nth);
	if (rule->permille)
		hit |= prandom_u32_state(&fault->rnd) % 1000 < rule->permille;
	rule->injected += hit;
	return hit;
}

/* Whether a port with faults drops the next packet instead of sending it. fabric->lock is held */
bool madsim_fault_drops(struct madsim_port *port)
{
	lockdep_assert_held(&port->node->fabric->lock);

	return madsim_hits(port->fault, MADSIM_FAULT_DROP);
}

/* The errors that the far end of a link notices at a packet, as a mask. fabric->lock is held */
unsigned long madsim_fault_errors(struct madsim_port *port)
{
	enum madsim_fault_kind kind;
	unsigned long errors = 0;

	lockdep_assert_held(&port->node->fabric->lock);

	for (kind = MADSIM_FAULT_SYMBOL; kind <= MADSIM_FAULT_FLOW; kind++) {
		if (madsim_hits(port->fault, kind))
			errors |= BIT(kind);
	}
	return errors;
}

/* Whether a fault has deferred a packet. A packet for which there is no room was not hit */
static bool madsim_defers(struct madsim_port *port, enum madsim_fault_kind kind,
			  const struct madsim_packet *pkt, unsigned long delay)
{
	if (!madsim_hits(port->fault, kind))
		return false;
	if (madsim_defer(port, pkt, delay, kind == MADSIM_FAULT_REORDER))
		return true;
	port->fault->rule[kind].injected--;
	return false;
}

/*
 * Have a packet corrupted, duplicated, delayed or reordered, as faults say. Returns whether the
 * packet goes on now. fabric->lock is held
 */
bool madsim_fault_inject(struct madsim_port *port, struct madsim_packet *pkt)
{
	struct madsim_fault *fault = port->fault;
	unsigned long delay = msecs_to_jiffies(fault->delay_ms);

	lockdep_assert_held(&port->node->fabric->lock);

	if (pkt->len && madsim_hits(fault, MADSIM_FAULT_CORRUPT)) {
		u32 bit = prandom_u32_state(&fault->rnd) %
			  (pkt->len * BITS_PER_BYTE);

		pkt->data[bit / BITS_PER_BYTE] ^= BIT(bit % BITS_PER_BYTE);
		pkt->checked = false;
	}
	madsim_defers(port, MADSIM_FAULT_DUPLICATE, pkt, 0);
	if (madsim_defers(port, MADSIM_FAULT_DELAY, pkt, delay)) {
		madsim_count_wait(port, jiffies + delay);
		return false;
	}
	if (madsim_defers(port, MADSIM_FAULT_REORDER, pkt, MADSIM_REORDER_PATIENCE))
		return false;
	madsim_release_reordered(port);
	return true;
}

/* The negative errno that a verb has to fail with now, once, or 0 */
int madsim_fault_verb(struct madsim_node *node, enum madsim_verb verb)
{
	int err;

	if (likely(!READ_ONCE(node->fail[verb])))
		return 0;

	err = xchg(&node->fail[verb], 0);
	if (err)
		atomic_inc(&node->failed[verb]);
	return -err;
}

/*
 * Not where the array of nodes is prepared: lockdep would take both locks for one, and this one
 * is taken under fabric->lock
 */
void madsim_fault_init(struct madsim_node *node)
{
	xa_init_flags(&node->refused, XA_FLAGS_LOCK_IRQ);
}

/**
 * madsim_fault_refuse - have the agent of a node refuse an attribute
 * @node: of the agent
 * @mgmt_class: the class that the agent is for
 * @attr_id: the attribute
 * @refuse: it does, and counts from 0, or does so no more
 *
 * Context: process context.
 * Return: 0, or -ENOMEM.
 */
int madsim_fault_refuse(struct madsim_node *node, u8 mgmt_class, u16 attr_id, bool refuse)
{
	return xa_err(xa_store_irq(&node->refused,
				   MADSIM_REFUSED(mgmt_class, attr_id),
				   refuse ? xa_mk_value(0) : NULL, GFP_KERNEL));
}

/* Whether an agent has to refuse the attribute of a MAD. fabric->lock is held */
bool madsim_fault_refuses(struct madsim_node *node, const struct ib_mad_hdr *hdr)
{
	u8 mgmt_class = hdr->mgmt_class;
	unsigned long index;
	void *count;

	lockdep_assert_held(&node->fabric->lock);

	if (likely(xa_empty(&node->refused)))
		return false;

	if (mgmt_class == IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE)
		mgmt_class = IB_MGMT_CLASS_SUBN_LID_ROUTED;
	index = MADSIM_REFUSED(mgmt_class, be16_to_cpu(hdr->attr_id));
	count = xa_load(&node->refused, index);
	if (!count)
		return false;
	/* A command may have ended the refusal by now: then there is nothing to count */
	xa_cmpxchg(&node->refused, index, count,
		   xa_mk_value(xa_to_value(count) + 1), GFP_ATOMIC);
	return true;
}

static struct madsim_fault *madsim_fault_get(struct madsim_port *port)
{
	struct madsim_fault *fault;

	lockdep_assert_held(&port->node->fabric->mutex);

	if (port->fault)
		return port->fault;

	fault = kzalloc_obj(*fault);
	if (!fault)
		return NULL;
	fault->seed = 1;
	fault->delay_ms = 10;
	fault->waits_until = jiffies;
	prandom_seed_state(&fault->rnd, fault->seed);

	spin_lock_irq(&port->node->fabric->lock);
	port->fault = fault;
	spin_unlock_irq(&port->node->fabric->lock);
	return fault;
}

/* Nothing runs for rates: count them before counters are read or set. fabric->lock is held */
void madsim_fault_count(struct madsim_port *port)
{
	struct madsim_fault *fault = port->fault;
	unsigned int i;
	u64 ms, due;

	lockdep_assert_held(&port->node->fabric->lock);

	if (likely(!fault))
		return;
	ms = ktime_to_ms(ktime_get()) - fault->rated_from;
	for (i = 0; i < MADSIM_COUNTERS; i++) {
		if (!fault->rate[i])
			continue;
		due = div_u64(ms * fault->rate[i], MSEC_PER_SEC);
		port->counters.total[i] += due - fault->rated[i];
		fault->rated[i] = due;
	}
}

/**
 * madsim_fault_set - change a setting of the faults of a port
 * @port: the port that packets leave by
 * @what: the setting
 * @which: the fault that has a rule, or the counter that has a rate
 * @value: the new value
 *
 * Context: process context; fabric->mutex is held.
 * Return: 0, or -ENOMEM.
 */
int madsim_fault_set(struct madsim_port *port, enum madsim_fault_setting what, u32 which, u32 value)
{
	struct madsim_fault *fault = madsim_fault_get(port);

	if (!fault)
		return -ENOMEM;

	spin_lock_irq(&port->node->fabric->lock);
	switch (what) {
	case MADSIM_SET_NTH:
	case MADSIM_SET_PERMILLE:
		fault->rule[which].nth = what == MADSIM_SET_NTH ? value : 0;
		fault->rule[which].permille = what == MADSIM_SET_PERMILLE ? value : 0;
		fault->rule[which].seen = 0;
		break;
	case MADSIM_SET_SEED:
		fault->seed = value;
		prandom_seed_state(&fault->rnd, value);
		break;
	case MADSIM_SET_DELAY:
		fault->delay_ms = value;
		break;
	case MADSIM_SET_RATE:
		madsim_fault_count(port);
		fault->rate[which] = value;
		memset(fault->rated, 0, sizeof(fault->rated));
		fault->rated_from = ktime_to_ms(ktime_get());
		break;
	}
	spin_unlock_irq(&port->node->fabric->lock);
	return 0;
}

/* Remove the faults of a port. Deferred packets go on in their time. fabric->mutex is held */
void madsim_fault_clear(struct madsim_port *port)
{
	struct madsim_fault *fault = port->fault;

	lockdep_assert_held(&port->node->fabric->mutex);

	spin_lock_irq(&port->node->fabric->lock);
	madsim_fault_count(port);
	port->fault = NULL;
	spin_unlock_irq(&port->node->fabric->lock);
	kfree(fault);
}

/* Copy the faults of a port. False: none was set since the last clearing. fabric->mutex is held */
bool madsim_fault_read(struct madsim_port *port, struct madsim_fault *copy)
{
	lockdep_assert_held(&port->node->fabric->mutex);

	if (!port->fault)
		return false;

	spin_lock_irq(&port->node->fabric->lock);
	*copy = *port->fault;
	spin_unlock_irq(&port->node->fabric->lock);
	return true;
}
