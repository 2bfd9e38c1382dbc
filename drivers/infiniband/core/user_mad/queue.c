// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The queue of a descriptor: packets that wait to be read, and readers that wait for them */
#include <linux/poll.h>

#include "user_mad.h"

void umad_queue_init(struct umad_file *file)
{
	spin_lock_init(&file->queue_lock);
	file->queue_end = &file->queue;
	init_waitqueue_head(&file->readers);
	init_waitqueue_head(&file->pollers);
}

/* Without agents and readers: frees unread packets, leaves what umad_queue_init() leaves */
void umad_queue_exit(struct umad_file *file)
{
	struct umad_queued *queued;

	while ((queued = file->queue)) {
		file->queue = queued->next;
		umad_queued_free(file, queued);
		cond_resched();
	}
	file->queue_end = &file->queue;
	file->unread = 0;
	file->timeouts = 0;
	file->dropped = 0;
}

/* Wakes one reader and all pollers, to look at the queue */
void umad_queue_wake(struct umad_file *file)
{
	/*
	 * A reader first joins the waiters, and looks at the queue behind a barrier of its
	 * own. So this task sees the reader, or the reader sees the packet.
	 */
	smp_mb();
	if (waitqueue_active(&file->readers))	/* behind the barrier */
		wake_up_interruptible(&file->readers);
	if (waitqueue_active(&file->pollers))	/* behind the barrier */
		wake_up_interruptible_poll(&file->pollers, EPOLLIN | EPOLLRDNORM);
}

/* Writers and handlers read @unread and @timeouts without the lock */
static void umad_queue_count(struct umad_file *file, struct umad_queued *queued, int change)
{
	lockdep_assert_held(&file->queue_lock);
	WRITE_ONCE(file->unread, file->unread + change);
	if (queued->is_send)
		WRITE_ONCE(file->timeouts, file->timeouts + change);
}

/* Queues a received packet or the record of a send, from a handler of the MAD layer */
void umad_queue_add(struct umad_file *file, struct umad_queued *queued)
{
	queued->next = NULL;

	spin_lock(&file->queue_lock);
	WRITE_ONCE(*file->queue_end, queued);
	file->queue_end = &queued->next;
	umad_queue_count(file, queued, 1);
	spin_unlock(&file->queue_lock);

	umad_queue_wake(file);
}

/*
 * Takes the first packet. Returns it, NULL if there is none, -EINVAL if there is less room
 * for it than @count, or -EIO if the device is gone.
 */
struct umad_queued *umad_queue_take(struct umad_file *file, size_t count)
{
	struct umad_queued *queued;

	if (umad_port_gone(file->port))
		return ERR_PTR(-EIO);

	spin_lock(&file->queue_lock);
	queued = file->queue;
	if (queued && count < queued->first_len) {
		queued = ERR_PTR(-EINVAL);
	} else if (queued) {
		WRITE_ONCE(file->queue, queued->next);
		if (!queued->next)
			file->queue_end = &file->queue;
		umad_queue_count(file, queued, -1);
	}
	spin_unlock(&file->queue_lock);
	return queued;
}

/*
 * Puts a packet that could not be read back to the front. The queue may have woken only the
 * reader that failed, so this wakes another one.
 */
void umad_queue_restore(struct umad_file *file, struct umad_queued *queued)
{
	spin_lock(&file->queue_lock);
	queued->next = file->queue;
	if (!queued->next)
		file->queue_end = &queued->next;
	WRITE_ONCE(file->queue, queued);
	umad_queue_count(file, queued, 1);
	spin_unlock(&file->queue_lock);

	umad_queue_wake(file);
}

/* Sleeps until there is a packet, or the device is gone; -ERESTARTSYS for a signal */
int umad_queue_wait(struct umad_file *file)
{
	return wait_event_interruptible_exclusive(file->readers,
						  READ_ONCE(file->queue) ||
						  umad_port_gone(file->port));
}

/* Length of the first packet with its header, 0 without one, -EIO if the device is gone */
int umad_queue_next_len(struct umad_file *file)
{
	int len;

	if (umad_port_gone(file->port))
		return -EIO;
	spin_lock(&file->queue_lock);
	len = file->queue ? file->queue->length : 0;
	spin_unlock(&file->queue_lock);
	return len;
}
