// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The IsSM device. A subnet manager holds issmN open to announce itself: the IsSM bit of
 * the port's capability mask is set from open to release, by one holder at a time. The
 * descriptor has no other use.
 */
#include <linux/module.h>
#include <linux/seq_file.h>

#include "user_mad.h"

#define UMAD_ISSM_BUSY	0	/* bit of umad_port.issm_busy */

/* Returns 1 if the caller holds the issm now, 0 if another task does, -ENXIO without device */
static int umad_issm_try(struct umad_port *port)
{
	if (umad_port_gone(port))
		return -ENXIO;
	return !test_and_set_bit_lock(UMAD_ISSM_BUSY, &port->issm_busy);
}

static int umad_issm_acquire(struct umad_port *port, bool nonblock)
{
	int got = umad_issm_try(port), ret = 0;

	if (!got && nonblock)
		return -EAGAIN;
	if (!got)
		ret = wait_event_interruptible_exclusive(port->issm_wait,
							 (got = umad_issm_try(port)));
	return ret ?: min(got, 0);
}

static void umad_issm_unlock(struct umad_port *port)
{
	clear_bit_unlock(UMAD_ISSM_BUSY, &port->issm_busy);
	wake_up_interruptible(&port->issm_wait);
}

static int umad_issm_set(struct umad_port *port)
{
	struct ib_port_modify set = { .set_port_cap_mask = IB_PORT_SM };
	int ret;

	mutex_lock(&port->lock);
	ret = umad_port_access(port);
	if (!ret)
		ret = ib_modify_port(port->ib_dev, port->port_num, 0, &set);
	if (!ret)
		port->issm_set = true;
	mutex_unlock(&port->lock);
	return ret;
}

static void umad_issm_clear(struct umad_port *port, struct ib_device *ib_dev)
{
	struct ib_port_modify clear = { .clr_port_cap_mask = IB_PORT_SM };

	if (!port->issm_set)
		return;
	ib_modify_port(ib_dev, port->port_num, 0, &clear);
	port->issm_set = false;
}

static int umad_issm_open(struct inode *inode, struct file *filp)
{
	struct umad_port *port = container_of(inode->i_cdev, struct umad_port, issm_cdev);
	int ret;

	ret = umad_issm_acquire(port, filp->f_flags & O_NONBLOCK);
	if (ret)
		return ret;

	ret = umad_issm_set(port);
	if (ret) {
		umad_issm_unlock(port);
		return ret;
	}

	filp->private_data = port;
	return nonseekable_open(inode, filp);
}

static int umad_issm_release(struct inode *inode, struct file *filp)
{
	struct umad_port *port = filp->private_data;

	mutex_lock(&port->lock);
	if (port->ib_dev)
		umad_issm_clear(port, port->ib_dev);
	mutex_unlock(&port->lock);

	umad_issm_unlock(port);
	return 0;
}

/*
 * Clears the bit, and has the waiting openers of a port fail whose umad_port.ib_dev is NULL
 * now. @ib_dev may live on without this module, such as in another network namespace, and
 * shall not announce a subnet manager there.
 */
void umad_issm_disassociate(struct umad_port *port, struct ib_device *ib_dev)
{
	mutex_lock(&port->lock);
	umad_issm_clear(port, ib_dev);
	mutex_unlock(&port->lock);

	wake_up_all(&port->issm_wait);
}

/* umadstat shows which descriptors have the bit set */
static void umad_issm_show_fdinfo(struct seq_file *m, struct file *filp)
{
	struct umad_port *port = filp->private_data;

	mutex_lock(&port->lock);
	seq_printf(m, "issm-held:\t%d\n", port->issm_set);
	mutex_unlock(&port->lock);
}

const struct file_operations umad_issm_fops = {
	.owner		= THIS_MODULE,
	.open		= umad_issm_open,
	.release	= umad_issm_release,
	.show_fdinfo	= umad_issm_show_fdinfo,
};
