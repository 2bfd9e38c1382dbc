// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The file "faults" of a fabric: commands that disturb a live fabric, and a list of the
 * faults in force.
 *
 * Documentation/infiniband/madsim.rst has the commands.
 */

#include <linux/seq_buf.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "control.h"
#include "agents/agents.h"

/* In place of the lines of a list that do not fit into the file */
#define MADSIM_MORE	"...\n"

static const char * const madsim_fault_names[MADSIM_FAULT_KINDS] = {
	[MADSIM_FAULT_DROP] = "drop",
	[MADSIM_FAULT_SYMBOL] = "symbol",
	[MADSIM_FAULT_CRC] = "crc",
	[MADSIM_FAULT_OVERRUN] = "overrun",
	[MADSIM_FAULT_FLOW] = "flow",
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

static const char * const madsim_agent_names[] = {
	"subnet", "performance", "congestion", "vendor"
};

static const u8 madsim_agent_classes[] = {
	IB_MGMT_CLASS_SUBN_LID_ROUTED, IB_MGMT_CLASS_PERF_MGMT,
	IB_MGMT_CLASS_CONG_MGMT, MADSIM_CLASS_VENDOR
};

/* "KIND nth N", "KIND permille P", "KIND off" */
static int madsim_command_rule(struct madsim_port *port, const char *name,
			       const char *how, const char *arg)
{
	int kind = match_string(madsim_fault_names, MADSIM_FAULT_KINDS, name);
	u32 value;

	if (kind < 0)
		return -EINVAL;

	if (!strcmp(how, "off") && !*arg)
		return madsim_fault_set(port, MADSIM_SET_NTH, kind, 0);
	if (kstrtou32(arg, 0, &value) || !value)
		return -EINVAL;
	if (!strcmp(how, "nth"))
		return madsim_fault_set(port, MADSIM_SET_NTH, kind, value);
	if (!strcmp(how, "permille") && value <= 1000)
		return madsim_fault_set(port, MADSIM_SET_PERMILLE, kind, value);
	return -EINVAL;
}

/* "link up", "link down" */
static int madsim_command_link(struct madsim_port *port, const char *word)
{
	bool pulled = !strcmp(word, "down");

	if (!pulled && strcmp(word, "up"))
		return -EINVAL;
	madsim_link_pull(port, pulled);
	return 0;
}

/* "set COUNTER VALUE", "rate COUNTER N" */
static int madsim_command_counter(struct madsim_port *port, bool is_rate,
				  const char *name, const char *arg)
{
	int which = match_string(madsim_counter_names, MADSIM_COUNTERS, name);
	u64 value;
	u32 rate;

	if (which < 0)
		return -EINVAL;
	if (is_rate)
		return kstrtou32(arg, 0, &rate) ?
			-EINVAL : madsim_fault_set(port, MADSIM_SET_RATE, which, rate);
	if (kstrtou64(arg, 0, &value))
		return -EINVAL;
	madsim_pma_set(port, which, value);
	return 0;
}

static int madsim_command_port(struct madsim_port *port, const char *what,
			       const char *how, const char *arg)
{
	u32 value;

	if (!strcmp(what, "clear") && !*how) {
		madsim_fault_clear(port);
		return 0;
	}
	if (!strcmp(what, "link") && !*arg)
		return madsim_command_link(port, how);
	if (!strcmp(what, "seed") && !*arg)
		return kstrtou32(how, 0, &value) ?
			-EINVAL : madsim_fault_set(port, MADSIM_SET_SEED, 0, value);
	if (!strcmp(what, "delay_ms") && !*arg)
		return kstrtou32(how, 0, &value) ?
			-EINVAL : madsim_fault_set(port, MADSIM_SET_DELAY, 0, value);
	if (!strcmp(what, "set") || !strcmp(what, "rate"))
		return madsim_command_counter(port, *what == 'r', how, arg);
	return madsim_command_rule(port, what, how, arg);
}

/* "fail VERB ERRNO" */
static int madsim_command_fail(struct madsim_node *node, const char *name, const char *arg)
{
	int verb = match_string(madsim_verb_names, MADSIM_VERBS, name);
	u32 err;

	if (verb < 0 || kstrtou32(arg, 0, &err) || err > MAX_ERRNO)
		return -EINVAL;
	WRITE_ONCE(node->fail[verb], err);
	return 0;
}

/* "refuse AGENT ATTRIBUTE", "refuse AGENT ATTRIBUTE off" */
static int madsim_command_refuse(struct madsim_node *node, const char *name,
				 const char *arg, const char *off)
{
	int agent = match_string(madsim_agent_names,
				 ARRAY_SIZE(madsim_agent_names), name);
	u16 attr_id;

	if (agent < 0 || kstrtou16(arg, 0, &attr_id) || !attr_id ||
	    (*off && strcmp(off, "off")))
		return -EINVAL;
	return madsim_fault_refuse(node, madsim_agent_classes[agent], attr_id,
				   !*off);
}

/* "register ID KEY VALUE", "register ID KEY off" */
static int madsim_command_register(struct madsim_node *node, const char *name,
				   const char *key, const char *value)
{
	u32 id;

	if (kstrtou32(name, 0, &id) || !*value)
		return -EINVAL;
	return madsim_register_set(node, id, key,
				   strcmp(value, "off") ? value : NULL);
}

static char *madsim_command_word(char **line)
{
	char *word;

	do {
		word = strsep(line, " \t");
	} while (word && !*word);
	return word ?: "";
}

/* Obey one line, which is taken apart */
static int madsim_command_line(struct madsim_fabric *fabric, char *line)
{
	struct madsim_node *node;
	char *word[5];
	unsigned int i;
	u32 num;
	int ret;

	for (i = 0; i < ARRAY_SIZE(word); i++)
		word[i] = madsim_command_word(&line);
	if (*madsim_command_word(&line))
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
		ret = madsim_command_fail(node, word[2], word[3]);
	else if (!strcmp(word[1], "refuse"))
		ret = madsim_command_refuse(node, word[2], word[3], word[4]);
	else if (!strcmp(word[1], "register"))
		ret = madsim_command_register(node, word[2], word[3], word[4]);
	else if (kstrtou32(word[1], 10, &num) || !num || num > node->nports)
		ret = -EINVAL;
	else
		ret = madsim_command_port(&node->ports[num], word[2], word[3],
					  word[4]);
	mutex_unlock(&fabric->mutex);
	return ret;
}

/* Obey commands, one a line, until one fails. Returns 0, or its errno. Takes fabric->mutex */
int madsim_command(struct madsim_fabric *fabric, const char *page)
{
	char *buf, *rest, *line;
	int ret = 0;

	buf = kstrdup(page, GFP_KERNEL);
	if (!buf)
		return -ENOMEM;

	rest = buf;
	while (!ret && (line = strsep(&rest, "\n")))
		ret = madsim_command_line(fabric, line);
	kfree(buf);
	return ret;
}

static void madsim_list_port(struct seq_buf *s, struct madsim_port *port)
{
	const char *name = port->node->name;
	struct madsim_fault fault;
	unsigned int i;

	if (port->pulled)
		seq_buf_printf(s, "%s %u link down\n", name, port->num);
	if (!madsim_fault_read(port, &fault))
		return;

	seq_buf_printf(s, "%s %u seed %llu\n", name, port->num, fault.seed);
	for (i = 0; i < MADSIM_FAULT_KINDS; i++) {
		struct madsim_fault_rule *rule = &fault.rule[i];

		if (!rule->nth && !rule->permille && !rule->injected)
			continue;
		seq_buf_printf(s, "%s %u %s", name, port->num,
			       madsim_fault_names[i]);
		if (rule->nth)
			seq_buf_printf(s, " nth %u", rule->nth);
		else if (rule->permille)
			seq_buf_printf(s, " permille %u", rule->permille);
		else
			seq_buf_printf(s, " off");
		if (i == MADSIM_FAULT_DELAY)
			seq_buf_printf(s, " delay_ms %u", fault.delay_ms);
		seq_buf_printf(s, " injected %llu\n", rule->injected);
	}
	for (i = 0; i < MADSIM_COUNTERS; i++) {
		if (fault.rate[i])
			seq_buf_printf(s, "%s %u rate %s %u\n", name, port->num,
				       madsim_counter_names[i], fault.rate[i]);
	}
}

static void madsim_list_refused(struct seq_buf *s, struct madsim_node *node)
{
	unsigned long index;
	unsigned int i;
	void *count;

	xa_for_each(&node->refused, index, count) {
		for (i = 0; madsim_agent_classes[i] != index >> 16; i++)
			;
		seq_buf_printf(s, "%s refuse %s 0x%lx injected %lu\n",
			       node->name, madsim_agent_names[i],
			       index & 0xffff, xa_to_value(count));
	}
}

static void madsim_list_node(struct seq_buf *s, struct madsim_node *node)
{
	unsigned int i;

	if (node->fabric->live && !node->powered)
		seq_buf_printf(s, "%s unplugged\n", node->name);
	for (i = 0; i < MADSIM_VERBS; i++) {
		int err = READ_ONCE(node->fail[i]);
		int failed = atomic_read(&node->failed[i]);

		if (err || failed)
			seq_buf_printf(s, "%s fail %s %d injected %d\n",
				       node->name, madsim_verb_names[i], err,
				       failed);
	}
	madsim_list_refused(s, node);
	for (i = 1; i <= node->nports; i++)
		madsim_list_port(s, &node->ports[i]);
}

/* List the faults in force. If some lines do not fit into the file, a last line says so */
ssize_t madsim_command_list(struct madsim_fabric *fabric, char *page)
{
	struct madsim_node *node;
	struct seq_buf s;
	size_t len;

	seq_buf_init(&s, page, MADSIM_FILE_SIZE - strlen(MADSIM_MORE));
	mutex_lock(&fabric->mutex);
	list_for_each_entry(node, &fabric->nodes, list) {
		madsim_list_node(&s, node);
		if (seq_buf_has_overflowed(&s))
			break;
		cond_resched();
	}
	mutex_unlock(&fabric->mutex);

	len = seq_buf_used(&s);
	if (seq_buf_has_overflowed(&s)) {
		while (len && page[len - 1] != '\n')
			len--;
		len += sprintf(page + len, MADSIM_MORE);
	}
	return len;
}
