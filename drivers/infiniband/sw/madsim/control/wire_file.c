// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The far end of wires: /dev/madsim/<fabric>.<node>.<port>. A read() is a packet that
 * leaves by the port, a write() one that comes in. The cable is in as long as there is a
 * descriptor whose far end tells what it can do.
 *
 * The file of the same name with .stream at its end is for transports that do not keep
 * borders, and for many packets at a time. The length of each is in its header.
 */

#include <linux/fs.h>
#include <linux/idr.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/uio.h>

#include "control.h"
#include "engine/engine.h"
#include "model/wire.h"

#define MADSIM_WIRES		1024
#define MADSIM_WIRE_FILES	2	/* of each: for packets, and for streams */

/* Bytes that one write() takes, so that it ends soon */
#define MADSIM_WIRE_WRITE	SZ_1M

/* A far end that is silent for so long is gone. A busy machine may be late */
#define MADSIM_WIRE_HELLO	HZ
#define MADSIM_WIRE_SILENCE	(10 * HZ)

static dev_t madsim_wire_devt;
static DEFINE_IDA(madsim_wire_minors);
/* Their names are unique while it is held */
static DEFINE_MUTEX(madsim_wires_mutex);

static char *madsim_wire_devnode(const struct device *dev, umode_t *mode)
{
	if (mode)
		*mode = 0600;
	return kasprintf(GFP_KERNEL, "madsim/%s", dev_name(dev));
}

static struct class madsim_wire_class = {
	.name = "madsim",
	.devnode = madsim_wire_devnode,
};

static void madsim_wire_pull(struct madsim_wire *wire)
{
	wire->far.pulled = true;
	if (wire->far.peer)
		madsim_link_update(wire->far.peer);
}

static void madsim_wire_hello(struct work_struct *work)
{
	struct madsim_wire *wire = container_of(to_delayed_work(work),
						struct madsim_wire, hello);

	spin_lock_irq(&wire->node.fabric->lock);
	if (wire->opened) {
		madsim_wire_offer(wire, true);
		if (!wire->far.pulled &&
		    time_after(jiffies, wire->heard + MADSIM_WIRE_SILENCE))
			madsim_wire_pull(wire);
		queue_delayed_work(madsim_wq, &wire->hello, MADSIM_WIRE_HELLO);
	}
	spin_unlock_irq(&wire->node.fabric->lock);
}

/* The far end tells of itself */
static void madsim_wire_hear(struct madsim_wire *wire, const struct madsim_offer *offer)
{
	struct madsim_port *far = &wire->far;
	bool first = far->pulled;
	bool restart = first || offer->restarts != wire->heard_restarts;

	wire->heard = jiffies;
	wire->heard_restarts = offer->restarts;
	wire->node.powered = offer->enabled;
	far->pulled = false;
	far->info.link_width_enabled = offer->widths;
	far->speeds_enabled = offer->speeds;
	madsim_link_train(far, restart, offer->asleep ? IB_PORT_PHYS_STATE_SLEEP :
							IB_PORT_PHYS_STATE_POLLING);
	/* The other end may have opened later than this one, and so have missed earlier offers */
	madsim_wire_offer(wire, first);
}

/* A frame comes in. What is none is an error of the link */
static void madsim_wire_arrive(struct madsim_wire *wire, const u8 *bytes, u32 len)
{
	struct madsim_fabric *fabric = wire->fabric;
	struct madsim_offer offer;
	struct madsim_port *in;

	local_bh_disable();
	spin_lock_irq(&fabric->lock);
	in = wire->far.peer;
	/* None while the cable is being taken away */
	if (in && madsim_offer_decode(bytes, len, &offer))
		madsim_wire_hear(wire, &offer);
	else if (in && madsim_frame_decode(bytes, len, &fabric->pkt))
		madsim_arrive(in, &fabric->pkt);
	else if (in)
		madsim_refuse(in);
	spin_unlock_irq(&fabric->lock);
	local_bh_enable();
}

/*
 * Take frames that follow each other, the first and last of which may be parts. Each frame may
 * have many copies, so a signal ends this between two frames. Returns how many bytes were taken
 */
static ssize_t madsim_wire_pieces(struct madsim_wire *wire, const u8 *bytes, u32 count)
{
	u32 len = MADSIM_FRAME_HEAD;
	u32 left, n;

	lockdep_assert_held(&wire->mutex);

	for (left = count; left; bytes += n, left -= n) {
		if (wire->part_len >= MADSIM_FRAME_HEAD)
			len = madsim_frame_told(wire->part);
		n = min(left, len - wire->part_len);
		memcpy(wire->part + wire->part_len, bytes, n);
		wire->part_len += n;
		if (wire->part_len < len)
			continue;
		len = madsim_frame_told(wire->part);
		if (len < MADSIM_FRAME_MIN || len > MADSIM_FRAME_MAX) {
			/* Where the next one begins is not known any more */
			wire->part_len = 0;
			return -EPROTO;
		}
		if (wire->part_len == len) {
			madsim_wire_arrive(wire, wire->part, len);
			wire->part_len = 0;
			len = MADSIM_FRAME_HEAD;
			cond_resched();
			if (signal_pending(current))
				return count - left + n;
		}
	}
	return count;
}

static ssize_t madsim_wire_write_iter(struct kiocb *iocb, struct iov_iter *from)
{
	struct madsim_wire *wire = iocb->ki_filp->private_data;
	size_t len = iov_iter_count(from);
	ssize_t ret;
	u8 *bytes;

	if (wire->part)
		len = min_t(size_t, len, MADSIM_WIRE_WRITE);
	else if (len > MADSIM_FRAME_MAX)
		return -EINVAL;
	if (!len)
		return -EINVAL;
	/* The copy may wait for a page for ever, so it comes before the mutex */
	bytes = kvmalloc(len, GFP_KERNEL);
	if (!bytes)
		return -ENOMEM;
	if (!copy_from_iter_full(bytes, len, from)) {
		ret = -EFAULT;
		goto out;
	}

	/* Another writer may have it for long */
	ret = mutex_lock_interruptible(&wire->mutex);
	if (ret)
		goto out;
	ret = len;
	if (!wire->fabric)
		ret = -ENODEV;
	else if (wire->part)
		ret = madsim_wire_pieces(wire, bytes, len);
	else
		madsim_wire_arrive(wire, bytes, len);
	mutex_unlock(&wire->mutex);
out:
	kvfree(bytes);
	return ret;
}

static bool madsim_wire_is_readable(struct madsim_wire *wire)
{
	return READ_ONCE(wire->count) || !READ_ONCE(wire->fabric);
}

/* The next frame, which is off the list. Wants room for it */
static struct madsim_frame *madsim_wire_dequeue(struct madsim_wire *wire, size_t room)
{
	struct madsim_frame *frame;

	spin_lock_irq(&wire->lock);
	frame = list_first_entry_or_null(&wire->frames, struct madsim_frame, list);
	if (frame && frame->len > room) {
		frame = ERR_PTR(-EINVAL);
	} else if (frame) {
		list_del(&frame->list);
		wire->count--;
	}
	spin_unlock_irq(&wire->lock);
	return frame;
}

static void madsim_wire_requeue(struct madsim_wire *wire, struct madsim_frame *frame)
{
	spin_lock_irq(&wire->lock);
	list_add(&frame->list, &wire->frames);
	wire->count++;
	spin_unlock_irq(&wire->lock);
	wake_up_interruptible(&wire->wait);
}

/* One packet, or all whole packets that fit. Returns the bytes of these packets */
static ssize_t madsim_wire_read(struct madsim_wire *wire, struct iov_iter *to)
{
	struct madsim_frame *frame;
	ssize_t len = 0;

	do {
		frame = madsim_wire_dequeue(wire, iov_iter_count(to));
		if (IS_ERR_OR_NULL(frame))
			return len ?: PTR_ERR(frame);
		if (copy_to_iter(frame->bytes, frame->len, to) != frame->len) {
			madsim_wire_requeue(wire, frame);
			return len ?: -EFAULT;
		}
		len += frame->len;
		kfree(frame);
	} while (wire->part && !signal_pending(current));
	return len;
}

static ssize_t madsim_wire_read_iter(struct kiocb *iocb, struct iov_iter *to)
{
	struct madsim_wire *wire = iocb->ki_filp->private_data;
	ssize_t len;
	int ret;

	for (;;) {
		if (!READ_ONCE(wire->fabric))
			return -ENODEV;
		len = madsim_wire_read(wire, to);
		if (len)
			return len;
		if (iocb->ki_filp->f_flags & O_NONBLOCK)
			return -EAGAIN;
		ret = wait_event_interruptible(wire->wait, madsim_wire_is_readable(wire));
		if (ret)
			return ret;
	}
}

static __poll_t madsim_wire_poll(struct file *filp, poll_table *table)
{
	struct madsim_wire *wire = filp->private_data;

	poll_wait(filp, &wire->wait, table);
	if (!READ_ONCE(wire->fabric))
		return EPOLLERR | EPOLLHUP;
	return EPOLLOUT | EPOLLWRNORM |
	       (READ_ONCE(wire->count) ? EPOLLIN | EPOLLRDNORM : 0);
}

static int madsim_wire_open(struct inode *inode, struct file *filp)
{
	struct madsim_wire *wire = container_of(inode->i_cdev, struct madsim_wire, cdev);
	struct madsim_fabric *fabric;
	u8 *part = NULL;
	int ret = 0;

	/* A writer may hold the mutex */
	if (READ_ONCE(wire->opened))
		return -EBUSY;
	if (inode->i_rdev != wire->dev.devt) {
		part = kmalloc(MADSIM_FRAME_MAX, GFP_KERNEL);
		if (!part)
			return -ENOMEM;
	}

	mutex_lock(&wire->mutex);
	fabric = wire->fabric;
	if (!fabric) {
		ret = -ENODEV;
	} else if (wire->opened) {
		ret = -EBUSY;
	} else {
		filp->private_data = wire;
		swap(wire->part, part);
		wire->part_len = 0;
		spin_lock_irq(&fabric->lock);
		WRITE_ONCE(wire->opened, true);
		madsim_wire_offer(wire, true);
		spin_unlock_irq(&fabric->lock);
		queue_delayed_work(madsim_wq, &wire->hello, MADSIM_WIRE_HELLO);
	}
	mutex_unlock(&wire->mutex);
	kfree(part);
	return ret ?: nonseekable_open(inode, filp);
}

static int madsim_wire_release(struct inode *inode, struct file *filp)
{
	struct madsim_wire *wire = filp->private_data;

	mutex_lock(&wire->mutex);
	if (wire->fabric) {
		spin_lock_irq(&wire->fabric->lock);
		WRITE_ONCE(wire->opened, false);
		madsim_wire_pull(wire);
		spin_unlock_irq(&wire->fabric->lock);
		cancel_delayed_work_sync(&wire->hello);
	}
	madsim_wire_purge(wire);
	kfree(wire->part);
	wire->part = NULL;
	mutex_unlock(&wire->mutex);
	return 0;
}

static const struct file_operations madsim_wire_fops = {
	.owner = THIS_MODULE,
	.open = madsim_wire_open,
	.release = madsim_wire_release,
	.read_iter = madsim_wire_read_iter,
	.write_iter = madsim_wire_write_iter,
	.poll = madsim_wire_poll,
};

static void madsim_wire_dev_release(struct device *dev)
{
	struct madsim_wire *wire = container_of(dev, struct madsim_wire, dev);

	ida_free(&madsim_wire_minors, MINOR(dev->devt) / MADSIM_WIRE_FILES);
	mutex_destroy(&wire->mutex);
	kfree(wire);
}

/* Show the files of a wire. Two names may be one where they have dots */
static int madsim_wire_show(struct madsim_wire *wire)
{
	const char *name = dev_name(&wire->dev);
	struct device *dev;
	int ret;

	mutex_lock(&madsim_wires_mutex);
	dev = class_find_device_by_name(&madsim_wire_class, name);
	if (dev) {
		put_device(dev);
		ret = -EEXIST;
		goto out;
	}
	cdev_init(&wire->cdev, &madsim_wire_fops);
	wire->cdev.owner = THIS_MODULE;
	cdev_set_parent(&wire->cdev, &wire->dev.kobj);
	ret = cdev_add(&wire->cdev, wire->dev.devt, MADSIM_WIRE_FILES);
	if (ret)
		goto out;
	ret = device_add(&wire->dev);
	if (ret)
		goto err_cdev;
	dev = device_create(&madsim_wire_class, NULL, wire->dev.devt + 1, NULL, "%s.stream",
			    name);
	ret = PTR_ERR_OR_ZERO(dev);
	if (!ret)
		goto out;
	device_del(&wire->dev);
err_cdev:
	cdev_del(&wire->cdev);
out:
	mutex_unlock(&madsim_wires_mutex);
	return ret;
}

/* No other descriptor comes. One that is open has errors and EPOLLHUP from now on */
static void madsim_wire_end(struct madsim_wire *wire)
{
	mutex_lock(&wire->mutex);
	spin_lock_irq(&wire->fabric->lock);
	WRITE_ONCE(wire->opened, false);
	spin_unlock_irq(&wire->fabric->lock);
	cancel_delayed_work_sync(&wire->hello);
	WRITE_ONCE(wire->fabric, NULL);
	mutex_unlock(&wire->mutex);

	wake_up_interruptible_all(&wire->wait);
	madsim_wire_purge(wire);
	put_device(&wire->dev);
}

/* Put a wire into a port. No frame has room for MADs of Omni-Path nodes. fabric->mutex is held */
int madsim_wire_add(struct madsim_node *node, u32 num, u8 width, u16 speed)
{
	struct madsim_fabric *fabric = node->fabric;
	struct madsim_wire *wire;
	int minor, ret;

	lockdep_assert_held(&fabric->mutex);

	if (node->opa)
		return -EOPNOTSUPP;
	wire = kzalloc_obj(*wire);
	if (!wire)
		return -ENOMEM;
	minor = ida_alloc_max(&madsim_wire_minors, MADSIM_WIRES - 1, GFP_KERNEL);
	if (minor < 0) {
		kfree(wire);
		return minor;
	}

	mutex_init(&wire->mutex);
	spin_lock_init(&wire->lock);
	INIT_LIST_HEAD(&wire->frames);
	init_waitqueue_head(&wire->wait);
	INIT_DELAYED_WORK(&wire->hello, madsim_wire_hello);
	wire->fabric = fabric;
	wire->node.fabric = fabric;
	wire->node.nports = 1;
	wire->far.node = &wire->node;
	wire->far.num = 1;
	wire->far.wire = wire;
	wire->far.pulled = true;
	INIT_LIST_HEAD(&wire->far.mcast_link);
	INIT_LIST_HEAD(&wire->far.trap_link);
	madsim_pi_set(&wire->far.info, MADSIM_PI_STATE, IB_PORT_DOWN);
	madsim_pi_set(&wire->far.info, MADSIM_PI_LINK_DOWN_DEFAULT,
		      IB_PORT_PHYS_STATE_POLLING);

	device_initialize(&wire->dev);
	wire->dev.class = &madsim_wire_class;
	wire->dev.release = madsim_wire_dev_release;
	wire->dev.devt = MKDEV(MAJOR(madsim_wire_devt), minor * MADSIM_WIRE_FILES);
	ret = dev_set_name(&wire->dev, "%s.%s.%u", fabric->name, node->name, num) ?:
	      madsim_link_wire(node, num, &wire->far, width, speed);
	if (ret)
		goto err_put;
	ret = madsim_wire_show(wire);
	if (ret)
		goto err_unlink;
	return 0;

err_unlink:
	/* There may be a descriptor */
	madsim_unlink(node, num);
	madsim_wire_end(wire);
	return ret;
err_put:
	put_device(&wire->dev);
	return ret;
}

/* As madsim_unlink(), but the cable may be a wire. fabric->mutex is held */
int madsim_cable_remove(struct madsim_node *node, u32 num)
{
	struct madsim_wire *wire = NULL;
	int ret;

	if (num && num <= node->nports && node->ports[num].peer)
		wire = node->ports[num].peer->wire;
	ret = madsim_unlink(node, num);
	if (wire) {
		device_destroy(&madsim_wire_class, wire->dev.devt + 1);
		device_del(&wire->dev);
		cdev_del(&wire->cdev);
		madsim_wire_end(wire);
	}
	return ret;
}

int madsim_wires_init(void)
{
	int ret;

	ret = alloc_chrdev_region(&madsim_wire_devt, 0, MADSIM_WIRES * MADSIM_WIRE_FILES, "madsim");
	if (ret)
		return ret;
	ret = class_register(&madsim_wire_class);
	if (ret)
		unregister_chrdev_region(madsim_wire_devt, MADSIM_WIRES * MADSIM_WIRE_FILES);
	return ret;
}

/* Undo madsim_wires_init(), when all fabrics are gone */
void madsim_wires_exit(void)
{
	class_unregister(&madsim_wire_class);
	unregister_chrdev_region(madsim_wire_devt, MADSIM_WIRES * MADSIM_WIRE_FILES);
	ida_destroy(&madsim_wire_minors);
}
