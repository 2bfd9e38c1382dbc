/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Wires: cables whose other end is a file descriptor. */

#ifndef MADSIM_WIRE_H
#define MADSIM_WIRE_H

#include <linux/cdev.h>
#include <linux/device.h>
#include <linux/wait.h>

#include "model.h"

/* Room for any frame: LRH, GRH, BTH, AtomicETH, immediate data, data, and two CRCs */
#define MADSIM_FRAME_MAX	(8 + 40 + 12 + 28 + 4 + MADSIM_MTU + 6)
#define MADSIM_OFFER_LEN	26
/* No frame is shorter, and so much of one tells its length */
#define MADSIM_FRAME_MIN	26
#define MADSIM_FRAME_HEAD	6

/**
 * struct madsim_frame - a packet that has left by a wire
 * @list:	on wire->frames
 * @len:	how many bytes it has
 * @bytes:	these
 */
struct madsim_frame {
	struct list_head list;
	u32 len;
	u8 bytes[] __counted_by(len);
};

/**
 * struct madsim_offer - what the port at one end of a wire tells the other one
 * @enabled:	it has power and a cable, and is not disabled
 * @asleep:	it waits for the other end
 * @widths:	mask of IB_WIDTH_* that are enabled
 * @speeds:	mask of IB_SPEED_* that are enabled
 * @restarts:	how often the link was told to train anew
 */
struct madsim_offer {
	bool enabled;
	bool asleep;
	u8 widths;
	u16 speeds;
	u32 restarts;
};

/**
 * struct madsim_wire - a cable whose other end is a file descriptor
 * @dev:	its character device, whose release frees it
 * @cdev:	its file for packets. The next minor number has its file for streams
 * @mutex:	keeps @fabric while it is held
 * @fabric:	NULL when the cable has been taken away
 * @node:	stands for what is beyond the wire, and is on no list
 * @far:	the port of @node, and the peer of the port at the near end; fabric->lock
 * @opened:	there is a descriptor; fabric->lock, but open() looks without
 * @part:	of the descriptor, if it is one for streams: the beginning of a frame of which the
 *		rest is still to be written; @mutex, but constant while it is open
 * @part_len:	how long that is; @mutex
 * @heard:	when an offer came last, in jiffies; fabric->lock. @far has no cable until
 *		one has come, or when none has come for long
 * @heard_restarts: what that offer had as restarts; fabric->lock
 * @restarts:	of the port at the near end; fabric->lock
 * @told:	the last offer that was sent; fabric->lock
 * @hello:	sends an offer once a second, and looks at @heard
 * @lock:	protects @frames and @count
 * @frames:	to be read
 * @count:	how many there are
 * @wait:	readers wait there for a frame, or for the end
 */
struct madsim_wire {
	struct device dev;
	struct cdev cdev;
	struct mutex mutex;	/* opening, writing, removal */
	struct madsim_fabric *fabric;
	struct madsim_node node;
	struct madsim_port far;
	bool opened;
	u8 *part;
	u32 part_len;
	unsigned long heard;
	u32 heard_restarts;
	u32 restarts;
	u8 told[MADSIM_OFFER_LEN];
	struct delayed_work hello;
	spinlock_t lock;	/* frames, taken with interrupts off */
	struct list_head frames;
	u32 count;
	wait_queue_head_t wait;
};

/* frame.c: packets as bytes */
u32 madsim_frame_len(const struct madsim_packet *pkt);
void madsim_frame_encode(const struct madsim_packet *pkt, u8 *frame, u32 len);
bool madsim_frame_decode(const u8 *frame, u32 len, struct madsim_packet *pkt);
u32 madsim_frame_told(const u8 *head);
void madsim_offer_encode(const struct madsim_offer *offer, u8 *frame);
bool madsim_offer_decode(const u8 *frame, u32 len, struct madsim_offer *offer);

/* wire.c: what leaves by a wire */
bool madsim_wire_is_full(struct madsim_wire *wire);
bool madsim_wire_send(struct madsim_wire *wire, const struct madsim_packet *pkt);
void madsim_wire_offer(struct madsim_wire *wire, bool again);
void madsim_wire_purge(struct madsim_wire *wire);

#endif /* MADSIM_WIRE_H */
