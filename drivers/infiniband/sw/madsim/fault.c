// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Fault injection: what a link does to packets, what verbs fail, and the
 * commands by which users say so. Only a port with a fault pays for it.
 *
 * Packets that are delayed, duplicated or reordered are held on the far side
 * of the port they left by, and go on from a work item.
 */

#include <linux/slab.h>
#include <linux/string.h>

#include "madsim.h"

/* A reordered packet waits for the next one, but not for ever */
#define MADSIM_REORDER_PATIENCE	(HZ / 10)

static const char * const madsim_fault_names[MADSIM_FAULT_KINDS] = {
	[MADSIM_FAULT_DROP] = "drop",
	[MADSIM_FAULT_DUPLICATE] = "duplicate",
	[MADSIM_FAULT_DELAY] = "delay",
	[MADSIM_FAULT_REORDER] = "reorder",
	[MADSIM_FAULT_CORRUPT] = "corrupt",
};

static const char * const madsim_verb_names[MADSIM_VERBS] = {
	[MADSIM_POST_SEND] = "post_send",
	[MADSIM_CREATE_AH] = "create_ah",
	[MADSIM_MODIFY_PORT] = "modify_port",
};

/**
 * struct madsim_held - a packet that waits on a link
 * @list:	on fabric->held
 * @out:	the port it has left by
 * @due:	when it goes on, in jiffies
 * @reordered:	goes on as soon as another one has passed
 * @pkt:	the packet, cut after its MAD
 */
struct madsim_held {
	struct list_head list;
	struct madsim_port *out;
	unsigned long due;
	bool reordered;
	struct madsim_packet pkt;
};

static struct madsim_held *madsim_held_next(struct madsim_fabric *fabric, unsigned long *wait)
{
	struct madsim_held *held;

	lockdep_assert_held(&fabric->lock);

	*wait = MAX_JIFFY_OFFSET;
	list_for_each_entry(held, &fabric->held, list) {
		if (time_after_eq(jiffies, held->due))
			return held;
		*wait = min(*wait, held->due - jiffies);
	}
	return NULL;
}

static void madsim_held_work(struct work_struct *work)
{
	struct madsim_fabric *fabric = container_of(work, struct madsim_fabric, held_work.work);
	struct madsim_held *held;
	unsigned long wait;

	spin_lock_irq(&fabric->lock);
	while ((held = madsim_held_next(fabric, &wait))) {
		list_del(&held->list);
		madsim_arrive(held->out, &held->pkt);
		spin_unlock_irq(&fabric->lock);
		kfree(held);
		spin_lock_irq(&fabric->lock);
	}
	if (!list_empty(&fabric->held))
		mod_delayed_work(system_dfl_wq, &fabric->held_work, wait);
	spin_unlock_irq(&fabric->lock);
}

/**
 * madsim_fault_init() - prepare a fabric for faults
 * @fabric: a new fabric
 */
void madsim_fault_init(struct madsim_fabric *fabric)
{
	INIT_LIST_HEAD(&fabric->held);
	INIT_DELAYED_WORK(&fabric->held_work, madsim_held_work);
}

/**
 * madsim_fault_flush() - forget the packets that are held
 * @fabric: without power everywhere
 */
void madsim_fault_flush(struct madsim_fabric *fabric)
{
	struct madsim_held *held, *next;

	cancel_delayed_work_sync(&fabric->held_work);
	list_for_each_entry_safe(held, next, &fabric->held, list) {
		list_del(&held->list);
		kfree(held);
	}
}

static bool madsim_hold(struct madsim_port *out, const struct madsim_packet *pkt,
			unsigned long delay, bool reordered)
{
	struct madsim_fabric *fabric = out->node->fabric;
	size_t len = offsetof(struct madsim_packet, mad) + pkt->len;
	struct madsim_held *held;

	held = kzalloc_obj(*held, GFP_ATOMIC | __GFP_NOWARN);
	if (!held)
		return false;
	memcpy(&held->pkt, pkt, len);
	held->out = out;
	held->due = jiffies + delay;
	held->reordered = reordered;
	list_add_tail(&held->list, &fabric->held);
	mod_delayed_work(system_dfl_wq, &fabric->held_work, 0);
	return true;
}

/* The packet that now passes lets those go on that were to come after it */
static void madsim_release_reordered(struct madsim_port *out)
{
	struct madsim_fabric *fabric = out->node->fabric;
	struct madsim_held *held;

	list_for_each_entry(held, &fabric->held, list) {
		if (held->out == out && held->reordered) {
			held->reordered = false;
			held->due = jiffies;
			mod_delayed_work(system_dfl_wq, &fabric->held_work, 0);
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
	return hit;
}

/**
 * madsim_fault_inject() - do to a packet what the faults of a port ask for
 * @port: the port it leaves by, with port->fault
 * @pkt: the packet, may come out changed
 *
 * Return: true if the packet does not go on for now. Context: fabric->lock.
 */
bool madsim_fault_inject(struct madsim_port *port, struct madsim_packet *pkt)
{
	struct madsim_fault *fault = port->fault;

	lockdep_assert_held(&port->node->fabric->lock);

	if (madsim_hits(fault, MADSIM_FAULT_DROP)) {
		fault->rule[MADSIM_FAULT_DROP].injected++;
		return true;
	}
	if (madsim_hits(fault, MADSIM_FAULT_CORRUPT)) {
		u32 bit = prandom_u32_state(&fault->rnd) % (pkt->len * BITS_PER_BYTE);

		pkt->mad[bit / BITS_PER_BYTE] ^= BIT(bit % BITS_PER_BYTE);
		fault->rule[MADSIM_FAULT_CORRUPT].injected++;
	}
	if (madsim_hits(fault, MADSIM_FAULT_DUPLICATE) && madsim_hold(port, pkt, 0, false))
		fault->rule[MADSIM_FAULT_DUPLICATE].injected++;
	if (madsim_hits(fault, MADSIM_FAULT_DELAY) &&
	    madsim_hold(port, pkt, msecs_to_jiffies(fault->delay_ms), false)) {
		fault->rule[MADSIM_FAULT_DELAY].injected++;
		return true;
	}
	if (madsim_hits(fault, MADSIM_FAULT_REORDER) &&
	    madsim_hold(port, pkt, MADSIM_REORDER_PATIENCE, true)) {
		fault->rule[MADSIM_FAULT_REORDER].injected++;
		return true;
	}
	madsim_release_reordered(port);
	return false;
}

/**
 * madsim_fault_verb() - whether a verb has to fail now
 * @node: of the device
 * @verb: which
 *
 * Return: 0, or the negative errno that was asked for, once. Context: any.
 */
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
	prandom_seed_state(&fault->rnd, fault->seed);

	spin_lock_irq(&port->node->fabric->lock);
	port->fault = fault;
	spin_unlock_irq(&port->node->fabric->lock);
	return fault;
}

static void madsim_fault_clear(struct madsim_port *port)
{
	struct madsim_fault *fault = port->fault;

	spin_lock_irq(&port->node->fabric->lock);
	port->fault = NULL;
	spin_unlock_irq(&port->node->fabric->lock);
	kfree(fault);
}

/* "link up", "link down" */
static int madsim_fault_link(struct madsim_port *port, const char *word)
{
	bool pulled = !strcmp(word, "down");

	if (!pulled && strcmp(word, "up"))
		return -EINVAL;

	spin_lock_irq(&port->node->fabric->lock);
	port->pulled = pulled;
	madsim_link_update(port);
	spin_unlock_irq(&port->node->fabric->lock);
	return 0;
}

static int madsim_fault_rule(struct madsim_port *port, enum madsim_fault_kind kind,
			     const char *how, const char *arg)
{
	struct madsim_fault *fault;
	u32 nth = 0, permille = 0;

	if (!strcmp(how, "nth")) {
		if (kstrtou32(arg, 0, &nth) || !nth)
			return -EINVAL;
	} else if (!strcmp(how, "permille")) {
		if (kstrtou32(arg, 0, &permille) || !permille || permille > 1000)
			return -EINVAL;
	} else if (strcmp(how, "off") || *arg) {
		return -EINVAL;
	}

	fault = madsim_fault_get(port);
	if (!fault)
		return -ENOMEM;

	spin_lock_irq(&port->node->fabric->lock);
	fault->rule[kind].nth = nth;
	fault->rule[kind].permille = permille;
	fault->rule[kind].seen = 0;
	spin_unlock_irq(&port->node->fabric->lock);
	return 0;
}

/* "seed NUMBER", "delay_ms NUMBER" */
static int madsim_fault_setting(struct madsim_port *port, const char *what, const char *arg)
{
	struct madsim_fault *fault;
	u32 value;

	if (kstrtou32(arg, 0, &value))
		return -EINVAL;
	fault = madsim_fault_get(port);
	if (!fault)
		return -ENOMEM;

	spin_lock_irq(&port->node->fabric->lock);
	if (!strcmp(what, "seed")) {
		fault->seed = value;
		prandom_seed_state(&fault->rnd, value);
	} else {
		fault->delay_ms = value;
	}
	spin_unlock_irq(&port->node->fabric->lock);
	return 0;
}

static int madsim_fault_port(struct madsim_port *port, const char *what, const char *how,
			     const char *arg)
{
	int kind;

	if (!strcmp(what, "clear") && !*how) {
		madsim_fault_clear(port);
		return 0;
	}
	if (!strcmp(what, "link") && !*arg)
		return madsim_fault_link(port, how);
	if ((!strcmp(what, "seed") || !strcmp(what, "delay_ms")) && !*arg)
		return madsim_fault_setting(port, what, how);

	kind = match_string(madsim_fault_names, MADSIM_FAULT_KINDS, what);
	return kind < 0 ? -EINVAL : madsim_fault_rule(port, kind, how, arg);
}

/* "fail VERB ERRNO" */
static int madsim_fault_fail(struct madsim_node *node, const char *name, const char *arg)
{
	int verb = match_string(madsim_verb_names, MADSIM_VERBS, name);
	u32 err;

	if (verb < 0 || kstrtou32(arg, 0, &err) || err > MAX_ERRNO)
		return -EINVAL;
	WRITE_ONCE(node->fail[verb], err);
	return 0;
}

static char *madsim_word(char **line)
{
	char *word;

	do {
		word = strsep(line, " \t");
	} while (word && !*word);
	return word ?: "";
}

/**
 * madsim_fault_command() - obey one line of the faults file
 * @fabric: where
 * @line: what; is taken apart
 *
 * Return: 0, -EINVAL if it makes no sense, -ENOENT if there is no such node,
 * -ENODEV if the fabric is not live, or what the command itself says.
 */
int madsim_fault_command(struct madsim_fabric *fabric, char *line)
{
	char *word[5];
	struct madsim_node *node;
	unsigned int i;
	u32 num;
	int ret;

	for (i = 0; i < ARRAY_SIZE(word); i++)
		word[i] = madsim_word(&line);
	if (*madsim_word(&line))
		return -EINVAL;
	if (!*word[0])
		return 0;

	mutex_lock(&fabric->mutex);
	node = madsim_node_find(fabric, word[0]);
	if (!fabric->live)
		ret = -ENODEV;
	else if (!node)
		ret = -ENOENT;
	else if (!strcmp(word[1], "plug") && !*word[2])
		ret = madsim_node_plug(node);
	else if (!strcmp(word[1], "unplug") && !*word[2])
		ret = madsim_node_unplug(node);
	else if (!strcmp(word[1], "fail") && !*word[4])
		ret = madsim_fault_fail(node, word[2], word[3]);
	else if (kstrtou32(word[1], 10, &num) || !num || num > node->nports)
		ret = -EINVAL;
	else
		ret = madsim_fault_port(&node->ports[num], word[2], word[3], word[4]);
	mutex_unlock(&fabric->mutex);
	return ret;
}

static void madsim_fault_show_port(struct madsim_port *port, struct seq_file *m)
{
	struct madsim_fault fault = {};
	unsigned int i;

	if (port->pulled)
		seq_printf(m, "%s %u link down\n", port->node->name, port->num);
	if (!port->fault)
		return;

	spin_lock_irq(&port->node->fabric->lock);
	fault = *port->fault;
	spin_unlock_irq(&port->node->fabric->lock);

	seq_printf(m, "%s %u seed %llu\n", port->node->name, port->num, fault.seed);
	for (i = 0; i < MADSIM_FAULT_KINDS; i++) {
		struct madsim_fault_rule *rule = &fault.rule[i];

		if (!rule->nth && !rule->permille && !rule->injected)
			continue;
		seq_printf(m, "%s %u %s", port->node->name, port->num, madsim_fault_names[i]);
		if (rule->nth)
			seq_printf(m, " nth %u", rule->nth);
		else if (rule->permille)
			seq_printf(m, " permille %u", rule->permille);
		else
			seq_puts(m, " off");
		if (i == MADSIM_FAULT_DELAY)
			seq_printf(m, " delay_ms %u", fault.delay_ms);
		seq_printf(m, " injected %llu\n", rule->injected);
	}
}

/**
 * madsim_fault_show() - list all faults and what they have done
 * @fabric: of this fabric
 * @m: where to
 *
 * Context: may sleep, takes fabric->mutex.
 */
void madsim_fault_show(struct madsim_fabric *fabric, struct seq_file *m)
{
	struct madsim_node *node;
	unsigned int i;

	mutex_lock(&fabric->mutex);
	list_for_each_entry(node, &fabric->nodes, list) {
		if (fabric->live && !node->powered)
			seq_printf(m, "%s unplugged\n", node->name);
		for (i = 0; i < MADSIM_VERBS; i++) {
			int err = READ_ONCE(node->fail[i]);
			int failed = atomic_read(&node->failed[i]);

			if (err || failed)
				seq_printf(m, "%s fail %s %d injected %d\n", node->name,
					   madsim_verb_names[i], err, failed);
		}
		for (i = 1; i <= node->nports; i++)
			madsim_fault_show_port(&node->ports[i], m);
	}
	mutex_unlock(&fabric->mutex);
}
