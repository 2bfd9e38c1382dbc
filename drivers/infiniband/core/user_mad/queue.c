// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The queue of a descriptor: what waits to be read, and who waits to read it.
 */
#include <linux/poll.h>
#include <linux/sched/signal.h>

#include "rmpp.h"

/**
 * umad_queue_init - prepare a descriptor for receiving
 * @file: the descriptor
 */
void umad_queue_init(struct umad_file *file)
{
	spin_lock_init(&file->queue_lock);
	file->queue_end = &file->queue;
	init_waitqueue_head(&file->readers);
	init_waitqueue_head(&file->pollers);
}

/**
 * umad_queue_exit - free what was never read
 * @file: a descriptor without agents, which nobody reads any more
 */
void umad_queue_exit(struct umad_file *file)
{
	struct umad_packet *packet;

	while ((packet = file->queue)) {
		file->queue = packet->next;
		umad_packet_discard(file, packet);
		cond_resched();
	}
}

/**
 * umad_queue_wake - tell that there is something to read
 * @file: whose readers and pollers
 */
void umad_queue_wake(struct umad_file *file)
{
	/* Whoever waits joins the waiters first, has one, too, and looks at the queue */
	smp_mb();
	/* Behind the barrier: who is not here yet sees the packet */
	if (waitqueue_active(&file->readers))
		wake_up_interruptible(&file->readers);
	/* The same */
	if (waitqueue_active(&file->pollers))
		wake_up_interruptible_poll(&file->pollers, EPOLLIN | EPOLLRDNORM);
}

/**
 * umad_queue_add - queue something to be read
 * @file: who reads it
 * @packet: what was received, or the record of a send; the queue's from now on
 *
 * Context: a handler of the MAD layer.
 */
void umad_queue_add(struct umad_file *file, struct umad_packet *packet)
{
	packet->next = NULL;

	spin_lock(&file->queue_lock);
	WRITE_ONCE(*file->queue_end, packet);
	file->queue_end = &packet->next;
	umad_queue_count(file, packet, 1);
	spin_unlock(&file->queue_lock);

	umad_queue_wake(file);
}

/**
 * umad_queue_restore - give back a packet that could not be read
 * @file: where umad_queue_take() took it from
 * @packet: the packet, which becomes the first again
 *
 * The reader may have been the one that was woken for it, so another one is.
 *
 * Context: process context.
 */
void umad_queue_restore(struct umad_file *file, struct umad_packet *packet)
{
	spin_lock(&file->queue_lock);
	packet->next = file->queue;
	if (!packet->next)
		file->queue_end = &packet->next;
	WRITE_ONCE(file->queue, packet);
	umad_queue_count(file, packet, 1);
	spin_unlock(&file->queue_lock);

	umad_queue_wake(file);
}

/**
 * umad_queue_wait - wait until there is something to take, or the device is gone
 * @file: who reads
 *
 * Context: process context.
 * Return: 0, or -ERESTARTSYS if a signal came first.
 */
int umad_queue_wait(struct umad_file *file)
{
	return wait_event_interruptible_exclusive(file->readers,
						  READ_ONCE(file->queue) ||
						  umad_port_gone(file->port));
}

/**
 * umad_queue_next_len - how much the next read() returns
 * @file: the descriptor
 *
 * Context: process context.
 * Return: length of the first packet, user header included; 0 if there is none.
 */
u32 umad_queue_next_len(struct umad_file *file)
{
	u32 len;

	spin_lock(&file->queue_lock);
	len = file->queue ? file->queue->length : 0;
	spin_unlock(&file->queue_lock);

	return len;
}
