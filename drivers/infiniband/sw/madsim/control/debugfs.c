// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * /sys/kernel/debug/madsim/<fabric>/topology shows nodes and links, in the format that ibsim reads.
 */

#include <linux/debugfs.h>
#include <linux/log2.h>
#include <linux/seq_file.h>

#include "control.h"

static struct dentry *madsim_debugfs;

static const char * const madsim_state_names[] = {
	[IB_PORT_NOP] = "down",
	[IB_PORT_DOWN] = "down",
	[IB_PORT_INIT] = "init",
	[IB_PORT_ARMED] = "armed",
	[IB_PORT_ACTIVE] = "active",
};

static void madsim_topology_show_link(struct seq_file *m, const struct madsim_port *port)
{
	const struct madsim_port *peer = port->peer;
	enum ib_port_state state;

	spin_lock_irq(&port->node->fabric->lock);
	state = madsim_state(port);
	spin_unlock_irq(&port->node->fabric->lock);
	if (peer->wire)
		seq_printf(m, "[%u]\twire", port->num);
	else
		seq_printf(m, "[%u]\t\"%s\"[%u]", port->num, peer->node->name, peer->num);
	seq_printf(m, "\t# %s %s %s\n",
		   madsim_width_names[ilog2(port->width)],
		   madsim_speed_names[ilog2(port->speed)],
		   madsim_state_names[state]);
}

static void *madsim_topology_start(struct seq_file *m, loff_t *pos)
{
	struct madsim_fabric *fabric = m->private;

	mutex_lock(&fabric->mutex);
	return seq_list_start(&fabric->nodes, *pos);
}

static void *madsim_topology_next(struct seq_file *m, void *v, loff_t *pos)
{
	struct madsim_fabric *fabric = m->private;

	return seq_list_next(v, &fabric->nodes, pos);
}

static void madsim_topology_stop(struct seq_file *m, void *v)
{
	struct madsim_fabric *fabric = m->private;

	mutex_unlock(&fabric->mutex);
}

static int madsim_topology_show(struct seq_file *m, void *v)
{
	static const char * const types[] = { "Hca", "Switch", "Rt" };
	struct madsim_node *node = list_entry(v, struct madsim_node, list);
	unsigned int i;

	seq_printf(m, "%s\t%u \"%s\"\t# guid 0x%016llx",
		   types[node->type - RDMA_NODE_IB_CA], node->nports, node->name,
		   node->guid);
	if (node->dev)
		seq_printf(m, " device %s", dev_name(&node->dev->ibdev.dev));
	seq_putc(m, '\n');
	for (i = 1; i <= node->nports; i++) {
		if (node->ports[i].peer)
			madsim_topology_show_link(m, &node->ports[i]);
	}
	seq_putc(m, '\n');
	return 0;
}

static const struct seq_operations madsim_topology_sops = {
	.start = madsim_topology_start,
	.next = madsim_topology_next,
	.stop = madsim_topology_stop,
	.show = madsim_topology_show,
};

DEFINE_SEQ_ATTRIBUTE(madsim_topology);

/* Make the directory of a fabric, which has none yet. No lock is held */
void madsim_debugfs_add(struct madsim_fabric *fabric)
{
	fabric->debugfs = debugfs_create_dir(fabric->name, madsim_debugfs);
	debugfs_create_file("topology", 0400, fabric->debugfs, fabric,
			    &madsim_topology_fops);
}

/* Remove the directory of a fabric, and wait for readers: these take fabric->mutex */
void madsim_debugfs_del(struct madsim_fabric *fabric)
{
	debugfs_remove(fabric->debugfs);
}

/* Make the directory of the module, before there is a fabric */
void madsim_debugfs_init(void)
{
	madsim_debugfs = debugfs_create_dir("madsim", NULL);
}

/* Remove the directory of the module, when all fabrics are gone */
void madsim_debugfs_exit(void)
{
	debugfs_remove(madsim_debugfs);
}
