// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* A descriptor of umadN: open, poll, release, fdinfo, and the removal of the device */
#include <linux/bitmap.h>
#include <linux/memcontrol.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/seq_file.h>
#include <linux/wait_bit.h>

#include "user_mad.h"

/* A disassociation walks the list, so a file joins it only while there is a device */
static int umad_file_join(struct umad_file *file)
{
	struct umad_port *port = file->port;
	int ret;

	mutex_lock(&port->lock);
	ret = umad_port_access(port);
	if (!ret)
		list_add_tail(&file->port_list, &port->files);
	mutex_unlock(&port->lock);
	return ret;
}

static void umad_file_init(void *object)
{
	struct umad_file *file = object;

	memset(file, 0, sizeof(*file));
	umad_agents_init(file);
	spin_lock_init(&file->transaction_lock);
	umad_queue_init(file);
}

static struct kmem_cache *umad_file_cache;

/* A free file is as umad_file_init() leaves it, which makes open() and registration short */
int __init umad_files_init(void)
{
	umad_file_cache = kmem_cache_create("ib_umad_file", sizeof(struct umad_file), 0,
					    SLAB_ACCOUNT, umad_file_init);
	return umad_file_cache ? 0 : -ENOMEM;
}

void umad_files_exit(void)
{
	kmem_cache_destroy(umad_file_cache);
}

static void umad_file_free(struct umad_file *file)
{
	umad_queue_exit(file);
	umad_packet_drain(file);
	WARN_ON(!umad_agents_gone(file) || atomic_read(&file->sends) || file->cap_bytes ||
		atomic_long_read(&file->long_sends) || !RB_EMPTY_ROOT(&file->transactions));
	mem_cgroup_put(file->memcg);
	file->used = false;
	kmem_cache_free(umad_file_cache, file);
}

static int umad_open(struct inode *inode, struct file *filp)
{
	struct umad_file *file;
	int ret;

	file = kmem_cache_alloc(umad_file_cache, GFP_KERNEL);
	if (!file)
		return -ENOMEM;

	file->port = container_of(inode->i_cdev, struct umad_port, cdev);
	file->memcg = get_mem_cgroup_from_mm(current->mm);
	file->hdr_len = sizeof(struct ib_user_mad_hdr_old);
	umad_cap_init(file);
	ret = umad_file_join(file);
	if (ret) {
		umad_file_free(file);
		return ret;
	}

	filp->private_data = file;
	filp->f_mode |= FMODE_NOWAIT;
	return stream_open(inode, filp);
}

static int umad_release(struct inode *inode, struct file *filp)
{
	struct umad_file *file = filp->private_data;
	struct umad_port *port = file->port;
	struct umad_agent *agent;

	mutex_lock(&port->lock);
	list_del(&file->port_list);
	umad_agents_detach(file);
	while ((agent = umad_agent_detached(file))) {
		mutex_unlock(&port->lock);
		umad_agent_destroy(agent);
		mutex_lock(&port->lock);
	}
	mutex_unlock(&port->lock);

	/* A removal may be destroying the last one */
	if (!umad_agents_gone(file))
		wait_var_event(&file->ids, umad_agents_gone(file));
	umad_file_free(file);
	return 0;
}

/*
 * Wakes all sleepers on a port whose umad_port.ib_dev is NULL, and destroys the agents that no
 * other task destroys. It hides all from writers first: on RoCE a writer may need a second to
 * find its destination, and so all writers together need one. Takes umad_port.lock, and not
 * while it waits. A file may be freed in that time, so only the list leads to the next agent.
 */
void umad_files_disassociate(struct umad_port *port)
{
	struct umad_agent *agent;
	struct umad_file *file;

	mutex_lock(&port->lock);
	list_for_each_entry(file, &port->files, port_list) {
		wake_up_all(&file->readers);
		wake_up_all(&file->pollers);
		umad_agents_detach(file);
	}
	while ((file = list_first_entry_or_null(&port->files, struct umad_file, port_list))) {
		agent = umad_agent_detached(file);
		if (!agent) {
			list_del_init(&file->port_list);
			continue;
		}
		mutex_unlock(&port->lock);
		umad_agent_destroy(agent);
		mutex_lock(&port->lock);
	}
	mutex_unlock(&port->lock);
}

/* Never sleeps. A MAD can be written at any time */
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

static void umad_show_agent(struct seq_file *m, const struct umad_agent *agent)
{
	const struct ib_mad_agent *mad_agent = agent->mad_agent;
	static const struct ib_mad_reg_req none;
	/* Without a class it receives nothing, whatever was asked for */
	const struct ib_mad_reg_req *req = agent->reg.req.mgmt_class ? &agent->reg.req : &none;
	u32 methods[IB_MGMT_MAX_METHODS / 32];

	bitmap_to_arr32(methods, req->method_mask, IB_MGMT_MAX_METHODS);
	seq_printf(m, "umad-agent:\t%u qp %u class 0x%02x version %u",
		   agent->id, mad_agent->qp->qp_type == IB_QPT_GSI, req->mgmt_class,
		   req->mgmt_class_version);
	seq_printf(m, " methods %08x%08x%08x%08x oui %*phN rmpp %u user-rmpp %u\n",
		   methods[3], methods[2], methods[1], methods[0],
		   (int)sizeof(req->oui), req->oui, mad_agent->rmpp_version,
		   !!(mad_agent->flags & IB_MAD_USER_RMPP));
}

static void umad_show_fdinfo(struct seq_file *m, struct file *filp)
{
	struct umad_file *file = filp->private_data;
	unsigned int unread, agents = 0;
	struct umad_agent *agent;
	u64 dropped;
	u32 id;

	for (id = 0; id < UMAD_MAX_AGENTS; id++)
		agents += atomic_read(&file->agents[id].users) >= 0;
	spin_lock(&file->queue_lock);
	unread = file->unread;
	dropped = file->dropped;
	spin_unlock(&file->queue_lock);

	seq_printf(m, "umad-agents:\t%u\n", agents);
	seq_printf(m, "umad-outstanding:\t%d\n", atomic_read(&file->sends));
	seq_printf(m, "umad-unread:\t%u\n", unread);
	seq_printf(m, "umad-dropped:\t%llu\n", dropped);
	for (id = 0; id < UMAD_MAX_AGENTS; id++) {
		agent = umad_agent_get(file, id);
		if (!agent)
			continue;
		umad_show_agent(m, agent);
		umad_agent_put(agent);
	}
}

const struct file_operations umad_fops = {
	.owner		= THIS_MODULE,
	.open		= umad_open,
	.release	= umad_release,
	/* For one buffer, without a struct kiocb; the next two are for vectors and io_uring */
	.read		= umad_read,
	.write		= umad_write,
	.read_iter	= umad_read_iter,
	.write_iter	= umad_write_iter,
	.poll		= umad_poll,
	.unlocked_ioctl	= umad_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
	.show_fdinfo	= umad_show_fdinfo,
};
