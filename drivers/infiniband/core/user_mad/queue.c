// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The queue of a descriptor: what waits to be read, and who waits to read it.
 */
#include <linux/poll.h>
#include <linux/sched/signal.h>

#include "user_mad.h"

/**
 * umad_queue_init - prepare a descriptor for receiving
 * @file: the descriptor
 */
void umad_queue_init(struct umad_file *file)
{
	spin_lock_init(&file->queue_lock);
	file->queue_end = &file->queue;
	init_waitqueue_head(&file->wait);
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
		umad_packet_free(file, packet);
		cond_resched();
	}
}

/**
 * umad_queue_wake - tell that there is something to read
 * @file: whose readers and pollers
 *
 * Readers wait exclusively: one packet wakes one of them, and every poller. Whoever
 * begins to wait joins @file->wait first and looks into the queue then. There is a
 * barrier in between, as there is one here between the queue and @file->wait.
 */
void umad_queue_wake(struct umad_file *file)
{
	if (wq_has_sleeper(&file->wait))
		wake_up_interruptible_poll(&file->wait, EPOLLIN | EPOLLRDNORM);
}

static void umad_queue_add(struct umad_file *file, struct umad_packet *packet)
{
	packet->next = NULL;
	WRITE_ONCE(*file->queue_end, packet);
	file->queue_end = &packet->next;
	umad_queue_count(file, packet, 1);
}

/**
 * umad_queue_add_recv - queue something that was received
 * @file: who received it
 * @packet: what was received
 *
 * Context: a receive handler.
 * Return: true, and @packet is the queue's; or false if there is too much unread.
 */
bool umad_queue_add_recv(struct umad_file *file, struct umad_packet *packet)
{
	bool full;

	spin_lock(&file->queue_lock);
	full = file->unread > UMAD_MAX_UNREAD;
	if (!full) {
		if (packet->rmpp)
			umad_payer_offer(file->payer, packet);
		umad_queue_add(file, packet);
	}
	spin_unlock(&file->queue_lock);

	if (!full)
		umad_queue_wake(file);
	return !full;
}

/**
 * umad_queue_add_timeout - queue the timeout record of a send
 * @file: who sent it
 * @packet: the send, no longer outstanding; owned by the queue from now on
 *
 * Context: a send handler.
 */
void umad_queue_add_timeout(struct umad_file *file, struct umad_packet *packet)
{
	packet->length = packet->hdr_len + IB_MGMT_MAD_HDR;
	packet->first_len = packet->length;
	umad_packet_hdr(packet)->status = ETIMEDOUT;

	spin_lock(&file->queue_lock);
	umad_queue_add(file, packet);
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
	return wait_event_interruptible_exclusive(file->wait,
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

/**
 * umad_queue_count_drop - count something received that was lost
 * @file: who should have received it
 *
 * Context: a receive handler.
 */
void umad_queue_count_drop(struct umad_file *file)
{
	spin_lock(&file->queue_lock);
	file->dropped++;
	spin_unlock(&file->queue_lock);
}
