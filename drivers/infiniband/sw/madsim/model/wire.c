// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The near end of wires: packets that leave by one wait for a reader, up to a bound.
 * The port offers to train when something about it changes, and once a second.
 */

#include <linux/slab.h>

#include "wire.h"

/* Frames that wait for a reader, of at most 4 KiB each */
#define MADSIM_WIRE_FRAMES	1024

/* Whether a packet would be lost for want of a reader. fabric->lock is held */
bool madsim_wire_is_full(struct madsim_wire *wire)
{
	return READ_ONCE(wire->count) >= MADSIM_WIRE_FRAMES;
}

static struct madsim_frame *madsim_frame_alloc(struct madsim_wire *wire, u32 len)
{
	struct madsim_frame *frame;

	if (madsim_wire_is_full(wire))
		return NULL;
	frame = kmalloc_flex(*frame, bytes, len, GFP_ATOMIC | __GFP_NOWARN);
	if (frame)
		frame->len = len;
	return frame;
}

/* Let a reader have a frame */
static void madsim_wire_put(struct madsim_wire *wire, struct madsim_frame *frame)
{
	spin_lock(&wire->lock);
	list_add_tail(&frame->list, &wire->frames);
	wire->count++;
	spin_unlock(&wire->lock);
	wake_up_interruptible(&wire->wait);
}

/* Let a packet leave. False: there is no memory, or the reader is too slow. fabric->lock is held */
bool madsim_wire_send(struct madsim_wire *wire, const struct madsim_packet *pkt)
{
	struct madsim_frame *frame;

	lockdep_assert_held(&wire->node.fabric->lock);

	frame = madsim_frame_alloc(wire, madsim_frame_len(pkt));
	if (!frame)
		return false;
	madsim_frame_encode(pkt, frame->bytes, frame->len);
	madsim_wire_put(wire, frame);
	return true;
}

/* Tell the far end what the near port can do, if that is new, or @again. fabric->lock is held */
void madsim_wire_offer(struct madsim_wire *wire, bool again)
{
	const struct madsim_port *port = wire->far.peer;
	u8 bytes[MADSIM_OFFER_LEN];
	struct madsim_frame *frame;
	struct madsim_offer offer;

	lockdep_assert_held(&wire->node.fabric->lock);

	if (!wire->opened || !port)
		return;
	offer = (struct madsim_offer) {
		.enabled = madsim_port_enabled(port),
		.asleep = madsim_phys_state(port) == IB_PORT_PHYS_STATE_SLEEP,
		.widths = port->info.link_width_enabled,
		.speeds = port->speeds_enabled,
		.restarts = wire->restarts,
	};
	madsim_offer_encode(&offer, bytes);
	if (!again && !memcmp(bytes, wire->told, sizeof(bytes)))
		return;
	frame = madsim_frame_alloc(wire, MADSIM_OFFER_LEN);
	if (!frame)
		return;
	memcpy(frame->bytes, bytes, sizeof(bytes));
	memcpy(wire->told, bytes, sizeof(bytes));
	madsim_wire_put(wire, frame);
}

/* Drop what waits for a reader. There is no reader */
void madsim_wire_purge(struct madsim_wire *wire)
{
	struct madsim_frame *frame, *next;
	LIST_HEAD(frames);

	spin_lock_irq(&wire->lock);
	list_splice_init(&wire->frames, &frames);
	wire->count = 0;
	spin_unlock_irq(&wire->lock);
	list_for_each_entry_safe(frame, next, &frames, list)
		kfree(frame);
}
