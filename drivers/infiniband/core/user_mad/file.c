// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A descriptor of umadN: open, poll, release, fdinfo, and what becomes of it
 * when the device goes.
 */
#include <linux/bitmap.h>
#include <linux/fs.h>
#include <linux/memcontrol.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "user_mad.h"

/* The list is what a disassociation walks, so joining it needs the device */
static int umad_file_join(struct umad_file *file)
{
	struct umad_port *port = file->port;
	int ret;

	down_read(&port->dev_lock);
	ret = umad_port_access(port);
	if (!ret) {
		mutex_lock(&port->files_lock);
		list_add_tail_rcu(&file->port_list, &port->files);
		mutex_unlock(&port->files_lock);
	}
	up_read(&port->dev_lock);

	return ret;
}

static void umad_file_put(struct umad_file *file)
{
	if (!refcount_dec_and_test(&file->refs))
		return;

	umad_queue_exit(file);
	umad_packet_drain(file);
	WARN_ON(file->ids || atomic_read(&file->sends) || atomic_long_read(&file->held));
	mutex_destroy(&file->reg_lock);
	mem_cgroup_put(file->memcg);
	kfree_rcu(file, rcu);
}

static int umad_open(struct inode *inode, struct file *filp)
{
	struct umad_file *file;
	int ret;

	file = kzalloc_obj(*file, GFP_KERNEL_ACCOUNT);
	if (!file)
		return -ENOMEM;

	refcount_set(&file->refs, 1);
	file->port = container_of(inode->i_cdev, struct umad_port, cdev);
	file->memcg = get_mem_cgroup_from_mm(current->mm);
	file->num = atomic_inc_return(&file->port->opens);
	file->hdr_len = sizeof(struct ib_user_mad_hdr_old);
	mutex_init(&file->reg_lock);
	umad_queue_init(file);

	ret = umad_file_join(file);
	if (ret) {
		umad_file_put(file);
		return ret;
	}

	filp->private_data = file;
	filp->f_mode |= FMODE_NOWAIT;
	return stream_open(inode, filp);
}

/* Nobody starts to send with them any more, and those who do end side by side */
static void umad_agents_destroy(struct list_head *agents)
{
	struct umad_agent *agent, *next;

	list_for_each_entry_safe(agent, next, agents, list) {
		struct umad_file *file = agent->file;

		umad_agent_destroy(agent);
		umad_file_put(file);
	}
}

static int umad_release(struct inode *inode, struct file *filp)
{
	struct umad_file *file = filp->private_data;
	LIST_HEAD(agents);

	mutex_lock(&file->port->files_lock);
	list_del_rcu(&file->port_list);
	mutex_unlock(&file->port->files_lock);

	umad_agents_detach(file, &agents);
	umad_agents_destroy(&agents);
	umad_file_put(file);
	return 0;
}

/**
 * umad_files_disassociate - tell all descriptors of a port that it is over
 * @port: a port whose device nobody can get any more
 *
 * All agents of all descriptors are taken away before the first of them is waited
 * for. On RoCE a writer may need a second to find its destination. So all who do
 * need one second together.
 *
 * Agents that are being unregistered already, by UNREGISTER_AGENT or as their
 * descriptor is being closed, are not seen here.
 *
 * Context: process context; takes umad_port.files_lock, and lets it go before it
 * waits.
 */
void umad_files_disassociate(struct umad_port *port)
{
	struct umad_file *file;
	LIST_HEAD(agents);

	mutex_lock(&port->files_lock);
	list_for_each_entry(file, &port->files, port_list) {
		wake_up_all(&file->readers);
		wake_up_all(&file->pollers);
		umad_agents_detach(file, &agents);
	}
	mutex_unlock(&port->files_lock);

	umad_agents_destroy(&agents);
}

/* Never sleeps; a MAD can be written at any time */
static __poll_t umad_poll(struct file *filp, struct poll_table_struct *wait)
{
	struct umad_file *file = filp->private_data;
	__poll_t mask = EPOLLOUT | EPOLLWRNORM;

	poll_wait(filp, &file->pollers, wait);

	if (umad_port_gone(file->port))
		return EPOLLERR | EPOLLHUP;
	if (READ_ONCE(file->queue))
		mask |= EPOLLIN | EPOLLRDNORM;
	return mask;
}

static void umad_show_agent(struct seq_file *m,
			    const struct umad_agent *agent, u32 unread)
{
	const struct umad_reg *reg = &agent->reg;
	u32 methods[IB_MGMT_MAX_METHODS / 32];

	bitmap_to_arr32(methods, reg->req.method_mask, IB_MGMT_MAX_METHODS);
	seq_printf(m, "umad-agent:\t%u qp %u class 0x%02x version %u",
		   agent->id, reg->qp_type == IB_QPT_GSI, reg->req.mgmt_class,
		   reg->req.mgmt_class_version);
	seq_printf(m, " methods %08x%08x%08x%08x oui %*phN",
		   methods[3], methods[2], methods[1], methods[0],
		   (int)sizeof(reg->req.oui), reg->req.oui);
	seq_printf(m, " rmpp %u user-rmpp %u outstanding %d unread %u\n",
		   reg->rmpp_version, !!(reg->flags & IB_USER_MAD_USER_RMPP),
		   atomic_read(&agent->outstanding), unread);
}

static void umad_show_agents(struct seq_file *m, struct umad_file *file)
{
	const struct umad_agent *agent;
	u32 unread, id;

	rcu_read_lock();
	for (id = 0; id < UMAD_MAX_AGENTS; id++) {
		agent = rcu_dereference(file->agents[id]);
		if (!agent)
			continue;
		spin_lock(&file->queue_lock);
		unread = file->agent_unread[id];
		spin_unlock(&file->queue_lock);
		umad_show_agent(m, agent, unread);
	}
	rcu_read_unlock();
}

static void umad_show_fdinfo(struct seq_file *m, struct file *filp)
{
	struct umad_file *file = filp->private_data;
	unsigned int unread, agents = 0;
	u64 dropped;
	u32 id;

	for (id = 0; id < UMAD_MAX_AGENTS; id++)
		agents += !!rcu_access_pointer(file->agents[id]);

	spin_lock(&file->queue_lock);
	unread = file->unread;
	dropped = file->dropped;
	spin_unlock(&file->queue_lock);

	seq_printf(m, "umad-agents:\t%u\n", agents);
	seq_printf(m, "umad-outstanding:\t%d\n", atomic_read(&file->sends));
	seq_printf(m, "umad-unread:\t%u\n", unread);
	seq_printf(m, "umad-dropped:\t%llu\n", dropped);
	umad_show_agents(m, file);
}

const struct file_operations umad_fops = {
	.owner		= THIS_MODULE,
	.open		= umad_open,
	.release	= umad_release,
	.read_iter	= umad_read_iter,
	.write_iter	= umad_write_iter,
	.poll		= umad_poll,
	.unlocked_ioctl	= umad_ioctl,
#ifdef CONFIG_COMPAT
	.compat_ioctl	= umad_compat_ioctl,
#endif
	.show_fdinfo	= umad_show_fdinfo,
};
