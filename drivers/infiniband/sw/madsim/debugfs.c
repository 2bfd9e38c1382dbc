// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * /sys/kernel/debug/madsim/<fabric>/: "faults" takes commands that disturb a
 * live fabric, and lists what is in force; "topology" shows nodes and links.
 *
 * Documentation/infiniband/madsim.rst has the commands.
 */

#include <linux/debugfs.h>
#include <linux/log2.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "madsim.h"

static struct dentry *madsim_debugfs;

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

/* "KIND nth N", "KIND permille P", "KIND off" */
static int madsim_command_rule(struct madsim_port *port, const char *name,
			       const char *how, const char *arg)
{
	int kind = match_string(madsim_fault_names, MADSIM_FAULT_KINDS, name);
	u32 nth = 0, permille = 0;

	if (kind < 0)
		return -EINVAL;

	if (!strcmp(how, "nth")) {
		if (kstrtou32(arg, 0, &nth) || !nth)
			return -EINVAL;
	} else if (!strcmp(how, "permille")) {
		if (kstrtou32(arg, 0, &permille) || !permille ||
		    permille > 1000)
			return -EINVAL;
	} else if (strcmp(how, "off") || *arg) {
		return -EINVAL;
	}
	return madsim_fault_set_rule(port, kind, nth, permille);
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
			-EINVAL : madsim_fault_set_seed(port, value);
	if (!strcmp(what, "delay_ms") && !*arg)
		return kstrtou32(how, 0, &value) ?
			-EINVAL : madsim_fault_set_delay(port, value);
	return madsim_command_rule(port, what, how, arg);
}

/* "fail VERB ERRNO" */
static int madsim_command_fail(struct madsim_node *node, const char *name,
			       const char *arg)
{
	int verb = match_string(madsim_verb_names, MADSIM_VERBS, name);
	u32 err;

	if (verb < 0 || kstrtou32(arg, 0, &err) || err > MAX_ERRNO)
		return -EINVAL;
	madsim_fault_arm_verb(node, verb, err);
	return 0;
}

static char *madsim_command_word(char **line)
{
	char *word;

	do {
		word = strsep(line, " \t");
	} while (word && !*word);
	return word ?: "";
}

/*
 * One line of the faults file, which is taken apart. -EINVAL if it makes no
 * sense, -ENODEV if the fabric is not live, -ENOENT if there is no such node,
 * or what the command itself says.
 */
static int madsim_command(struct madsim_fabric *fabric, char *line)
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
	else if (kstrtou32(word[1], 10, &num) || !num || num > node->nports)
		ret = -EINVAL;
	else
		ret = madsim_command_port(&node->ports[num], word[2], word[3],
					  word[4]);
	mutex_unlock(&fabric->mutex);
	return ret;
}

/* Stops at the first command that fails; those before it were obeyed */
static ssize_t madsim_faults_write(struct file *file, const char __user *ubuf,
				   size_t count, loff_t *ppos)
{
	struct seq_file *m = file->private_data;
	char *buf, *rest, *line;
	int ret = 0;

	if (count >= PAGE_SIZE)
		return -EFBIG;
	buf = memdup_user_nul(ubuf, count);
	if (IS_ERR(buf))
		return PTR_ERR(buf);

	rest = buf;
	while (!ret && (line = strsep(&rest, "\n")))
		ret = madsim_command(m->private, line);
	kfree(buf);
	return ret ?: count;
}

static void madsim_faults_show_port(struct seq_file *m,
				    struct madsim_port *port)
{
	const char *name = port->node->name;
	struct madsim_fault fault;
	unsigned int i;

	if (port->pulled)
		seq_printf(m, "%s %u link down\n", name, port->num);
	if (!madsim_fault_read(port, &fault))
		return;

	seq_printf(m, "%s %u seed %llu\n", name, port->num, fault.seed);
	for (i = 0; i < MADSIM_FAULT_KINDS; i++) {
		struct madsim_fault_rule *rule = &fault.rule[i];

		if (!rule->nth && !rule->permille && !rule->injected)
			continue;
		seq_printf(m, "%s %u %s", name, port->num,
			   madsim_fault_names[i]);
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

static int madsim_faults_show(struct seq_file *m, void *unused)
{
	struct madsim_fabric *fabric = m->private;
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
				seq_printf(m, "%s fail %s %d injected %d\n",
					   node->name, madsim_verb_names[i],
					   err, failed);
		}
		for (i = 1; i <= node->nports; i++)
			madsim_faults_show_port(m, &node->ports[i]);
	}
	mutex_unlock(&fabric->mutex);
	return 0;
}

static int madsim_faults_open(struct inode *inode, struct file *file)
{
	return single_open(file, madsim_faults_show, inode->i_private);
}

static const struct file_operations madsim_faults_fops = {
	.owner = THIS_MODULE,
	.open = madsim_faults_open,
	.read = seq_read,
	.write = madsim_faults_write,
	.llseek = seq_lseek,
	.release = single_release,
};

static void madsim_topology_show_link(struct seq_file *m,
				      const struct madsim_port *port)
{
	const struct madsim_port *peer = port->peer;

	seq_printf(m, "[%u]\t\"%s\"[%u]", port->num, peer->node->name,
		   peer->num);
	if (port->width != MADSIM_WIDTH || port->speed != MADSIM_SPEED)
		seq_printf(m, "\t# %s %s",
			   madsim_width_names[ilog2(port->width)],
			   madsim_speed_names[ilog2(port->speed)]);
	seq_putc(m, '\n');
}

/* In the format that ibsim reads */
static int madsim_topology_show(struct seq_file *m, void *unused)
{
	struct madsim_fabric *fabric = m->private;
	struct madsim_node *node;
	unsigned int i;

	mutex_lock(&fabric->mutex);
	list_for_each_entry(node, &fabric->nodes, list) {
		seq_printf(m, "%s\t%u \"%s\"",
			   node->sw ? "Switch" : "Hca", node->nports, node->name);
		seq_printf(m, "\t# guid 0x%016llx", node->guid);
		if (node->dev)
			seq_printf(m, " device %s",
				   dev_name(&node->dev->ibdev.dev));
		seq_putc(m, '\n');
		for (i = 1; i <= node->nports; i++) {
			if (node->ports[i].peer)
				madsim_topology_show_link(m, &node->ports[i]);
		}
		seq_putc(m, '\n');
	}
	mutex_unlock(&fabric->mutex);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(madsim_topology);

/**
 * madsim_debugfs_add - make the directory of a fabric
 * @fabric: has none yet
 *
 * Context: process context, no lock held.
 */
void madsim_debugfs_add(struct madsim_fabric *fabric)
{
	fabric->debugfs = debugfs_create_dir(fabric->name, madsim_debugfs);
	debugfs_create_file("faults", 0600, fabric->debugfs, fabric,
			    &madsim_faults_fops);
	debugfs_create_file("topology", 0400, fabric->debugfs, fabric,
			    &madsim_topology_fops);
}

/**
 * madsim_debugfs_del - remove the directory of a fabric
 * @fabric: has one, and is not destroyed yet
 *
 * Waits until nobody is in one of its files.
 *
 * Context: process context. fabric->mutex is not held: the files take it.
 */
void madsim_debugfs_del(struct madsim_fabric *fabric)
{
	debugfs_remove(fabric->debugfs);
}

/**
 * madsim_debugfs_init - make the directory of the module
 *
 * Context: before there is a fabric.
 */
void madsim_debugfs_init(void)
{
	madsim_debugfs = debugfs_create_dir("madsim", NULL);
}

/**
 * madsim_debugfs_exit - remove the directory of the module
 *
 * Context: all fabrics are gone.
 */
void madsim_debugfs_exit(void)
{
	debugfs_remove(madsim_debugfs);
}
