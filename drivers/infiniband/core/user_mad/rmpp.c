// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Received RMPP messages, and OPA MADs: all that is too long for a packet.
 *
 * The MAD layer hands a message over in segments, the buffers that its MADs came
 * in. It stays in them, within a budget of the payer, until it is read or moved
 * to memory of the payer. No other file knows segments.
 */
#include <linux/log2.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "user_mad.h"

/* What struct ib_mad_private, which is not ours to know, adds to a MAD and its GRH */
#define UMAD_SEGMENT_OVERHEAD	SZ_256

/* So many buffers of a message are freed at a time */
#define UMAD_FREE_SEGS	64

static_assert(sizeof(struct umad_rmpp) <= UMAD_MAD_SIZE);

/**
 * umad_segments_free - give the MAD layer's buffers back
 * @segs: a list as ib_mad_recv_wc.rmpp_list, empty on return
 *
 * Context: process context; may sleep unless it is one buffer.
 */
void umad_segments_free(struct list_head *segs)
{
	struct ib_mad_recv_wc part;
	struct list_head *last;
	int i;

	while (!list_empty(segs)) {
		INIT_LIST_HEAD(&part.rmpp_list);
		last = segs->next;
		for (i = 1; i < UMAD_FREE_SEGS && last->next != segs; i++)
			last = last->next;
		list_cut_position(&part.rmpp_list, segs, last);
		ib_free_recv_mad(&part);
		if (!list_empty(segs))
			cond_resched();
	}
}

/*
 * How many buffers a message has, or a few more. Behind its end there may be others
 * that came out of order: up to a window of them. They are sorted by their numbers,
 * of which none is there twice.
 */
static u32 umad_segments_count(const struct list_head *segs)
{
	const struct ib_mad_recv_buf *last;
	const struct umad_rmpp_mad *mad;

	if (list_is_singular(segs))
		return 1;
	last = list_last_entry(segs, struct ib_mad_recv_buf, list);
	mad = (const void *)last->mad;
	return be32_to_cpu(mad->rmpp_hdr.seg_num);
}

/**
 * umad_rmpp_keep - leave a message in the segments it came in
 * @payer: who pays
 * @packet: what gets the message; its lengths are known
 * @recv_wc: the message; its segments are the packet's on success
 * @max_mad_size: longest MAD of the port; each buffer has room for one
 *
 * Context: a receive handler; the time does not depend on the length.
 * Return: true, or false if the budget is spent.
 */
bool umad_rmpp_keep(struct umad_payer *payer, struct umad_packet *packet,
		    struct ib_mad_recv_wc *recv_wc, size_t max_mad_size)
{
	u8 class = recv_wc->recv_buf.mad->mad_hdr.mgmt_class;
	struct umad_rmpp *rmpp = umad_packet_rmpp(packet);
	bool room;

	*rmpp = (struct umad_rmpp){
		.seg_size	= recv_wc->mad_seg_size,
		.skip		= ib_get_mad_data_offset(class),
		.size		= umad_segments_count(&recv_wc->rmpp_list) *
				  roundup_pow_of_two(max_mad_size +
						     UMAD_SEGMENT_OVERHEAD),
	};
	INIT_LIST_HEAD(&rmpp->segs);
	INIT_LIST_HEAD(&rmpp->entry);

	spin_lock(&payer->lock);
	room = !payer->used || payer->used + rmpp->size <= UMAD_BUDGET_RMPP;
	if (room)
		payer->used += rmpp->size;
	spin_unlock(&payer->lock);

	if (room)
		list_splice_init(&recv_wc->rmpp_list, &rmpp->segs);
	return room;
}

/**
 * umad_rmpp_give_back - undo umad_rmpp_keep()
 * @payer: who pays
 * @packet: the message, which umad_payer_offer() has not seen
 * @recv_wc: gets its segments back
 */
void umad_rmpp_give_back(struct umad_payer *payer, struct umad_packet *packet,
			 struct ib_mad_recv_wc *recv_wc)
{
	list_splice_init(&umad_packet_rmpp(packet)->segs, &recv_wc->rmpp_list);
	umad_rmpp_release(payer, packet);
	packet->rmpp = false;
}

/**
 * umad_rmpp_release - give back what a message takes of the budget
 * @payer: who pays
 * @packet: the message, owned by the caller
 *
 * Return: true, or false if it is being moved: then it is freed when that is
 * over, and not to be touched any more.
 */
bool umad_rmpp_release(struct umad_payer *payer, struct umad_packet *packet)
{
	struct umad_rmpp *rmpp = umad_packet_rmpp(packet);
	bool moving;

	spin_lock(&payer->lock);
	list_del_init(&rmpp->entry);
	payer->used -= rmpp->size;
	rmpp->size = 0;
	moving = rmpp->moving;
	rmpp->dead = moving;
	spin_unlock(&payer->lock);

	return !moving;
}

/* Lets others run: there may be 2 GiB to be copied */
static bool umad_reader_killed(void)
{
	cond_resched();
	return fatal_signal_pending(current);
}

/*
 * Segments are short, and there may be millions of them: user memory is opened
 * for many at a time.
 */
static int umad_copy_segments(char __user *buf, const struct umad_rmpp *rmpp,
			      size_t len)
{
	const struct ib_mad_recv_buf *seg;
	size_t skip = 0, part;
	int n;

	seg = list_first_entry(&rmpp->segs, struct ib_mad_recv_buf, list);
	while (len) {
		if (!user_write_access_begin(buf, len))
			return -EFAULT;
		for (n = 0; len && n < UMAD_YIELD_SEGS; n++) {
			part = min_t(size_t, len, rmpp->seg_size - skip);
			unsafe_copy_to_user(buf, (const char *)seg->mad + skip,
					    part, fault);
			buf += part;
			len -= part;
			skip = rmpp->skip;
			seg = list_next_entry(seg, list);
		}
		user_write_access_end();
		if (umad_reader_killed())
			return -EINTR;
	}
	return 0;

fault:
	user_write_access_end();
	return -EFAULT;
}

static int umad_copy_moved(char __user *buf, const void *copy, size_t len)
{
	size_t at, part;

	for (at = 0; at < len; at += part) {
		part = min(len - at, UMAD_YIELD_LEN);
		if (copy_to_user(buf + at, copy + at, part))
			return -EFAULT;
		if (umad_reader_killed())
			return -EINTR;
	}
	return 0;
}

/* Nobody moves a message while it is being read */
static void umad_rmpp_set_reading(struct umad_payer *payer,
				  struct umad_rmpp *rmpp, bool reading)
{
	spin_lock(&payer->lock);
	rmpp->reading = reading;
	if (reading) {
		list_del_init(&rmpp->entry);
	} else if (!rmpp->copy && !rmpp->moving) {
		list_add(&rmpp->entry, &payer->messages);
		/* Who was to move it may have come while it was not there */
		umad_payer_kick(payer);
	}
	spin_unlock(&payer->lock);
}

/**
 * umad_rmpp_read - copy a message, or the beginning of it, to user memory
 * @payer: who pays
 * @packet: the message, owned by the caller
 * @buf: where to
 * @len: how much, from the user header on; all of the message if it is as long
 *
 * A message that was read completely has to be freed. Any other one can be read
 * again, and moved meanwhile.
 *
 * Context: process context; nothing is held while user memory is written.
 * Return: 0, -ENOSPC if @len is less than all, -EFAULT, or -EINTR if the reader
 * is being killed.
 */
int umad_rmpp_read(struct umad_payer *payer, struct umad_packet *packet,
		   char __user *buf, size_t len)
{
	struct umad_rmpp *rmpp = umad_packet_rmpp(packet);
	u8 hdr_len = packet->hdr_len;
	int ret;

	umad_rmpp_set_reading(payer, rmpp, true);
	if (copy_to_user(buf, packet->data, hdr_len))
		ret = -EFAULT;
	else if (rmpp->copy)
		ret = umad_copy_moved(buf + hdr_len, rmpp->copy, len - hdr_len);
	else
		ret = umad_copy_segments(buf + hdr_len, rmpp, len - hdr_len);
	if (!ret && len < packet->length)
		ret = -ENOSPC;
	if (ret)
		umad_rmpp_set_reading(payer, rmpp, false);
	return ret;
}

/* The first segment is taken whole, with its headers; of the others only the data */
static void umad_segments_copy(void *to, const struct umad_rmpp *rmpp, size_t len)
{
	const struct ib_mad_recv_buf *seg;
	size_t skip = 0, part;

	list_for_each_entry(seg, &rmpp->segs, list) {
		part = min_t(size_t, len, rmpp->seg_size - skip);
		umad_copy(memcpy, to, (const u8 *)seg->mad + skip, part,
			  IB_MGMT_SA_DATA, IB_MGMT_VENDOR_DATA);
		to += part;
		len -= part;
		skip = rmpp->skip;
		cond_resched();
	}
}

/**
 * umad_rmpp_move - move a message to memory of the payer
 * @payer: who pays
 * @packet: the message. Its umad_rmpp.moving is set, so that nobody else can free
 *	it or move it; it may be read, or given up, at the same time
 * @copy: memory for all of it, which is the message's or freed on return; or NULL
 *	if there is none, and the message stays where it is
 *
 * Who reads the message or has given it up goes first, and @copy is for nothing.
 *
 * Context: process context; may sleep.
 * Return: true, or false if the message was given up and the caller has to free
 * @packet.
 */
bool umad_rmpp_move(struct umad_payer *payer, struct umad_packet *packet,
		    void *copy)
{
	struct umad_rmpp *rmpp = umad_packet_rmpp(packet);
	LIST_HEAD(segs);
	bool dead;

	if (copy)
		umad_segments_copy(copy, rmpp, packet->length - packet->hdr_len);

	spin_lock(&payer->lock);
	rmpp->moving = false;
	dead = rmpp->dead;
	if (!dead && !rmpp->reading && copy) {
		list_splice_init(&rmpp->segs, &segs);
		payer->used -= rmpp->size;
		rmpp->size = 0;
		swap(rmpp->copy, copy);
	} else if (!dead && !rmpp->reading) {
		list_add(&rmpp->entry, &payer->messages);
	}
	spin_unlock(&payer->lock);

	/* Not ours to touch any more, unless it is dead */
	umad_segments_free(&segs);
	vfree(copy);
	return !dead;
}
