// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Received RMPP messages of several segments. The MAD layer hands a message over in the
 * buffers that its MADs came in, and there it stays until it is read. Its sender has the
 * acknowledgment, so it is kept while the cap has room. No other file knows segments.
 */
#include <linux/log2.h>

#include "user_mad.h"

/* struct ib_mad_private of the MAD layer has no more than this beside MAD and GRH */
#define UMAD_SEGMENT_OVERHEAD	SZ_256

/*
 * How many buffers a message has, or a few more. Up to a window of buffers behind its end
 * may have come out of order. They are sorted by their numbers, without duplicates.
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

/*
 * Makes a packet of a message, which takes its segments over in constant time, and lacks
 * only the user header. Each buffer has room for a MAD of @max_mad_size. Returns NULL if the
 * cap has no room, or the host no memory.
 */
struct umad_recv *umad_rmpp_keep(struct umad_file *file, u8 hdr_len,
				 struct ib_mad_recv_wc *recv_wc, size_t max_mad_size)
{
	u8 class = recv_wc->recv_buf.mad->mad_hdr.mgmt_class;
	struct umad_rmpp *rmpp;
	struct umad_recv *recv;
	size_t cap_bytes;

	cap_bytes = umad_segments_count(&recv_wc->rmpp_list) *
		    roundup_pow_of_two(max_mad_size + UMAD_SEGMENT_OVERHEAD) +
		    sizeof(*recv) + UMAD_PACKET_LEN;
	recv = umad_recv_alloc_capped(file, hdr_len, sizeof(*rmpp), cap_bytes);
	if (!recv)
		return NULL;
	recv->queued.is_segmented = true;
	recv->queued.length = hdr_len + recv_wc->mad_len;
	recv->queued.first_len = hdr_len + min_t(size_t, recv_wc->mad_len, recv_wc->mad_seg_size);

	rmpp = umad_recv_rmpp(recv);
	INIT_LIST_HEAD(&rmpp->segs);
	list_splice_init(&recv_wc->rmpp_list, &rmpp->segs);
	rmpp->cap_bytes = cap_bytes;
	rmpp->seg_size = recv_wc->mad_seg_size;
	rmpp->skip = ib_get_mad_data_offset(class);
	return recv;
}

/* Undoes umad_rmpp_keep(): @recv_wc gets its segments back */
void umad_rmpp_give_back(struct umad_file *file, struct umad_recv *recv,
			 struct ib_mad_recv_wc *recv_wc)
{
	list_splice_init(&umad_recv_rmpp(recv)->segs, &recv_wc->rmpp_list);
	umad_recv_free(file, recv);
}

/*
 * Copies a message, or the first @len bytes of it, user header included: the first segment
 * whole, and the data of the others. There may be millions, so other tasks run in between.
 * Returns -ENOSPC if @len is less than all, or -EINTR if the reader is being killed.
 */
int umad_rmpp_read(struct umad_recv *recv, struct umad_user *to, size_t len)
{
	const struct umad_rmpp *rmpp = umad_recv_rmpp(recv);
	size_t hdr_len = recv->queued.hdr_len;
	size_t left = len - hdr_len, skip = 0, part;
	const struct ib_mad_recv_buf *seg;
	unsigned int count = 0;

	if (umad_copy_to(to, recv->data, hdr_len))
		return -EFAULT;
	list_for_each_entry(seg, &rmpp->segs, list) {
		part = min_t(size_t, left, rmpp->seg_size - skip);
		if (umad_copy_to(to, (const char *)seg->mad + skip, part))
			return -EFAULT;
		left -= part;
		if (!left)
			break;
		skip = rmpp->skip;
		if (!(++count % UMAD_YIELD_SEGS) && umad_killed())
			return -EINTR;
	}
	return len < recv->queued.length ? -ENOSPC : 0;
}

/* The MAD header of a packet */
const struct ib_mad_hdr *umad_queued_mad(struct umad_queued *queued)
{
	struct umad_recv *recv = umad_queued_recv(queued);

	if (queued->is_send)
		return umad_send_mad(umad_queued_send(queued));
	if (queued->is_segmented)
		return &list_first_entry(&umad_recv_rmpp(recv)->segs,
					 struct ib_mad_recv_buf, list)->mad->mad_hdr;
	return (void *)(recv->data + queued->hdr_len);
}

/* Frees a packet of any kind, which is neither queued nor outstanding */
void umad_queued_free(struct umad_file *file, struct umad_queued *queued)
{
	/* Not cleared for the packets that do not use it */
	struct ib_mad_recv_wc recv_wc __uninitialized;

	if (queued->is_send) {
		umad_send_free(file, umad_queued_send(queued));
	} else if (queued->is_segmented) {
		INIT_LIST_HEAD(&recv_wc.rmpp_list);
		umad_rmpp_give_back(file, umad_queued_recv(queued), &recv_wc);
		ib_free_recv_mad(&recv_wc);
	} else {
		umad_recv_free(file, umad_queued_recv(queued));
	}
}
