// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Received RMPP messages of several segments. The MAD layer hands a message over in
 * the buffers that its MADs came in, and there it stays until it is read. Its sender
 * has the acknowledgment already, so it is not lost while the budget of the account
 * lasts. No other file knows segments.
 */
#include <linux/log2.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>
#include <linux/uio.h>

#include "rmpp.h"

/* What struct ib_mad_private, which is not ours to know, adds to a MAD and its GRH */
#define UMAD_SEGMENT_OVERHEAD	SZ_256

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
 * @file: who receives, and pays
 * @hdr_len: length of the user header
 * @recv_wc: the message; its segments are the packet's on success
 * @max_mad_size: longest MAD of the port; each buffer has room for one
 *
 * Context: a receive handler; the time does not depend on the length.
 * Return: a packet with all but the user header filled in, or
 *  * -EDQUOT: the budget is spent
 *  * -ENOMEM: there is no memory
 */
struct umad_packet *umad_rmpp_keep(struct umad_file *file, u8 hdr_len,
				   struct ib_mad_recv_wc *recv_wc,
				   size_t max_mad_size)
{
	const size_t len = sizeof(struct ib_user_mad_hdr) + sizeof(struct umad_rmpp);
	u8 class = recv_wc->recv_buf.mad->mad_hdr.mgmt_class;
	struct umad_packet *packet;
	struct umad_rmpp *rmpp;
	size_t counted;

	counted = umad_segments_count(&recv_wc->rmpp_list) *
		  roundup_pow_of_two(max_mad_size + UMAD_SEGMENT_OVERHEAD) +
		  sizeof(struct umad_loose) + len;
	if (!umad_account_take(file->account, counted, false))
		return ERR_PTR(-EDQUOT);

	packet = umad_packet_alloc_loose(file, len, UMAD_GFP_COUNTED);
	if (!packet) {
		umad_account_give(file->account, counted);
		return ERR_PTR(-ENOMEM);
	}
	umad_packet_loose(packet)->counted = counted;
	packet->length = hdr_len + recv_wc->mad_len;
	packet->first_len = hdr_len + min_t(size_t, recv_wc->mad_len,
					    recv_wc->mad_seg_size);
	packet->hdr_len = hdr_len;
	packet->sent = false;
	packet->rmpp = true;

	rmpp = umad_packet_rmpp(packet);
	INIT_LIST_HEAD(&rmpp->segs);
	list_splice_init(&recv_wc->rmpp_list, &rmpp->segs);
	rmpp->seg_size = recv_wc->mad_seg_size;
	rmpp->skip = ib_get_mad_data_offset(class);
	return packet;
}

/**
 * umad_rmpp_give_back - undo umad_rmpp_keep()
 * @file: who received it
 * @packet: the message; not to be touched any more
 * @recv_wc: gets its segments back
 *
 * Context: a receive handler.
 */
void umad_rmpp_give_back(struct umad_file *file, struct umad_packet *packet,
			 struct ib_mad_recv_wc *recv_wc)
{
	list_splice_init(&umad_packet_rmpp(packet)->segs, &recv_wc->rmpp_list);
	umad_packet_free(file, packet);
}

/* Lets others run: there may be millions of segments */
static bool umad_reader_killed(void)
{
	cond_resched();
	return fatal_signal_pending(current);
}

/* The first segment is taken whole, with its headers; of the others only the data */
static int umad_segments_to_iter(struct iov_iter *to, const struct umad_rmpp *rmpp,
				 size_t len)
{
	const struct ib_mad_recv_buf *seg;
	size_t skip = 0, part;

	list_for_each_entry(seg, &rmpp->segs, list) {
		part = min_t(size_t, len, rmpp->seg_size - skip);
		if (copy_to_iter((const char *)seg->mad + skip, part, to) != part)
			return -EFAULT;
		if (umad_reader_killed())
			return -EINTR;
		len -= part;
		if (!len)
			break;
		skip = rmpp->skip;
	}
	return 0;
}

/* Segments are short: user memory is opened for many at a time */
static int umad_segments_to_user(char __user *to, const struct umad_rmpp *rmpp,
				 size_t len)
{
	const struct ib_mad_recv_buf *seg;
	size_t skip = 0, part;
	int n;

	seg = list_first_entry(&rmpp->segs, struct ib_mad_recv_buf, list);
	while (len) {
		if (!user_write_access_begin(to, len))
			return -EFAULT;
		for (n = 0; len && n < UMAD_YIELD_SEGS; n++) {
			part = min_t(size_t, len, rmpp->seg_size - skip);
			unsafe_copy_to_user(to, (const char *)seg->mad + skip,
					    part, fault);
			to += part;
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

/**
 * umad_rmpp_read - copy a message, or the beginning of it, to user memory
 * @packet: the message, owned by the caller
 * @buf: where to
 * @len: how much, from the user header on; all of the message if it is as long
 *
 * Context: process context; nothing is held while user memory is written.
 * Return: 0, -ENOSPC if @len is less than all, -EFAULT, or -EINTR if the reader
 * is being killed.
 */
int umad_rmpp_read(struct umad_packet *packet, struct umad_buf buf, size_t len)
{
	const struct umad_rmpp *rmpp = umad_packet_rmpp(packet);
	size_t hdr_len = packet->hdr_len;
	int ret = -EFAULT;

	if (!buf.iter && !copy_to_user(buf.user, packet->data, hdr_len))
		ret = umad_segments_to_user(buf.user + hdr_len, rmpp, len - hdr_len);
	else if (buf.iter && copy_to_iter(packet->data, hdr_len, buf.iter) == hdr_len)
		ret = umad_segments_to_iter(buf.iter, rmpp, len - hdr_len);
	if (!ret && len < packet->length)
		ret = -ENOSPC;
	return ret;
}

/**
 * umad_rmpp_free - free a message
 * @file: who paid for it
 * @packet: the message, owned by the caller
 *
 * Context: process context.
 */
void umad_rmpp_free(struct umad_file *file, struct umad_packet *packet)
{
	struct ib_mad_recv_wc recv_wc;

	INIT_LIST_HEAD(&recv_wc.rmpp_list);
	umad_rmpp_give_back(file, packet, &recv_wc);
	ib_free_recv_mad(&recv_wc);
}
