// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * /sys/kernel/debug/madsim/<fabric>/: "faults" to disturb a live fabric, and
 * "topology" to see it.
 */

#include <linux/debugfs.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "madsim.h"

static struct dentry *madsim_debugfs;

static int madsim_faults_show(struct seq_file *m, void *unused)
{
	madsim_fault_show(m->private, m);
	return 0;
}

static int madsim_faults_open(struct inode *inode, struct file *file)
{
	return single_open(file, madsim_faults_show, inode->i_private);
}

/* One command a line; stops at the first that fails */
static ssize_t madsim_faults_write(struct file *file, const char __user *ubuf, size_t count,
				   loff_t *ppos)
{
	struct madsim_fabric *fabric = ((struct seq_file *)file->private_data)->private;
	char *buf, *rest, *line;
	int ret = 0;

	if (count >= PAGE_SIZE)
		return -EFBIG;
	buf = memdup_user_nul(ubuf, count);
	if (IS_ERR(buf))
		return PTR_ERR(buf);

	rest = buf;
	while (!ret && (line = strsep(&rest, "\n")))
		ret = madsim_fault_command(fabric, line);
	kfree(buf);
	return ret ?: count;
}

static const struct file_operations madsim_faults_fops = {
	.owner = THIS_MODULE,
	.open = madsim_faults_open,
	.read = seq_read,
	.write = madsim_faults_write,
	.llseek = seq_lseek,
	.release = single_release,
};

/* In the format that ibsim reads */
static int madsim_topology_show(struct seq_file *m, void *unused)
{
	struct madsim_fabric *fabric = m->private;
	struct madsim_node *node;
	unsigned int i;

	mutex_lock(&fabric->mutex);
	list_for_each_entry(node, &fabric->nodes, list) {
		seq_printf(m, "%s\t%u \"%s\"", node->is_switch ? "Switch" : "Hca", node->nports,
			   node->name);
		seq_printf(m, "\t# guid 0x%016llx", node->guid);
		if (node->dev)
			seq_printf(m, " device %s", dev_name(&node->dev->ibdev.dev));
		seq_putc(m, '\n');
		for (i = 1; i <= node->nports; i++) {
			struct madsim_port *port = &node->ports[i];

			if (!port->peer)
				continue;
			seq_printf(m, "[%u]\t\"%s\"[%u]", i, port->peer->node->name,
				   port->peer->num);
			if (port->width != MADSIM_WIDTH)
				seq_printf(m, "\tw=%d", ib_width_enum_to_int(port->width));
			if (port->speed != MADSIM_SPEED)
				seq_printf(m, "\ts=%u", port->speed);
			seq_putc(m, '\n');
		}
		seq_putc(m, '\n');
	}
	mutex_unlock(&fabric->mutex);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(madsim_topology);

/**
 * madsim_debugfs_add() - make the directory of a fabric
 * @fabric: complete
 */
void madsim_debugfs_add(struct madsim_fabric *fabric)
{
	fabric->debugfs = debugfs_create_dir(fabric->name, madsim_debugfs);
	debugfs_create_file("faults", 0600, fabric->debugfs, fabric, &madsim_faults_fops);
	debugfs_create_file("topology", 0400, fabric->debugfs, fabric, &madsim_topology_fops);
}

/**
 * madsim_debugfs_del() - remove the directory of a fabric
 * @fabric: whose
 *
 * Waits until nobody is in one of its files.
 */
void madsim_debugfs_del(struct madsim_fabric *fabric)
{
	debugfs_remove(fabric->debugfs);
}

/**
 * madsim_debugfs_init() - make the directory of the module
 */
void madsim_debugfs_init(void)
{
	madsim_debugfs = debugfs_create_dir("madsim", NULL);
}

/**
 * madsim_debugfs_exit() - remove the directory of the module
 */
void madsim_debugfs_exit(void)
{
	debugfs_remove(madsim_debugfs);
}
