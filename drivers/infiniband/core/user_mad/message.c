// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Messages: from the memory of the writer to the buffers of the MAD layer.
 *
 * The writer's memory is read once. A plain MAD is copied onto the stack before anything is
 * held. So is the head of a longer message, and the pages of its rest are pinned then. The
 * checks look at the head only, so they see the bytes that are sent.
 */
#include <linux/highmem.h>
#include <linux/mm.h>

#include "user_mad.h"

static __always_inline int umad_copy_from(void *to, struct umad_user *from, size_t len)
{
	if (from->iter)
		return copy_from_iter(to, len, from->iter) == len ? 0 : -EFAULT;
	if (copy_from_user(to, from->buf, len))
		return -EFAULT;
	from->buf += len;
	return 0;
}

/* Reads the user header and the beginning of the MAD, whose length is @len */
int umad_message_init(struct umad_message *m, struct umad_user *from, size_t len,
		      u8 hdr_len, bool nowait)
{
	m->from = from;
	m->pages = NULL;
	m->pinned = 0;
	m->offset = 0;
	m->len = len;
	m->head_len = min(len, UMAD_MAD_SIZE);
	m->is_ready = m->head_len == len;
	m->nowait = nowait;
	m->hdr_len = hdr_len;

	len = hdr_len + m->head_len;
	if (len == UMAD_PACKET_LEN)
		return umad_copy_from(m->head, from, UMAD_PACKET_LEN);
	return umad_copy_from(m->head, from, len);
}

/*
 * Pins the pages of a message behind its head, with nothing held, as it may wait for each
 * page. So the copy does not wait, and a message takes nothing while a page is missing. Of
 * registered buffers of io_uring all is there. The caller calls umad_message_exit() in any case.
 */
int umad_message_pin(struct umad_message *m, const struct umad_port *port)
{
	unsigned long addr;
	size_t left;
	int ret;

	m->is_ready = true;
	if (m->from->iter)
		return 0;

	addr = (unsigned long)m->from->buf;
	m->offset = offset_in_page(addr);
	left = DIV_ROUND_UP(m->offset + m->len - m->head_len, PAGE_SIZE);
	m->pages = kvmalloc_objs(*m->pages, left, UMAD_GFP_WRITER | __GFP_ACCOUNT);
	if (!m->pages) {
		umad_count(port, UMAD_STAT_REFUSED_MEMORY);
		return -ENOMEM;
	}

	for (; left; left -= ret) {
		/* Interrupts are off for the pages of one call */
		ret = pin_user_pages_fast(addr + m->pinned * PAGE_SIZE, min_t(size_t, left, 64), 0,
					  m->pages + m->pinned);
		if (ret > 0)
			m->pinned += ret;
		if (umad_killed())
			return -EINTR;
		if (ret <= 0)
			return ret ?: -EFAULT;
	}
	return 0;
}

void umad_message_exit(struct umad_message *m)
{
	if (!m->pages)
		return;
	unpin_user_pages(m->pages, m->pinned);
	kvfree(m->pages);
	m->pages = NULL;
}

/* A message is copied from its beginning to its end */
static bool umad_message_copy(struct umad_message *m, void *to, size_t from, size_t len)
{
	size_t part;

	if (from < m->head_len) {
		part = min(len, m->head_len - from);
		memcpy(to, m->head + m->hdr_len + from, part);
		from += part;
		to += part;
		len -= part;
	}
	if (len && !m->pages)
		return !umad_copy_from(to, m->from, len);
	for (from += m->offset - m->head_len; len; from += part, to += part, len -= part) {
		part = min(len, PAGE_SIZE - offset_in_page(from));
		memcpy_from_page(to, m->pages[from >> PAGE_SHIFT], offset_in_page(from), part);
	}
	return true;
}

/*
 * Copies a message into the buffers that ib_create_send_mad() made for @plan. Returns -EINTR
 * if the writer is being killed, or -EIO if the device is gone, whose removal waits for it.
 */
int umad_message_fill(struct umad_message *m, const struct umad_plan *plan,
		      struct ib_mad_send_buf *msg, const struct umad_port *port)
{
	size_t from = plan->own_rmpp_hdr ? IB_MGMT_RMPP_HDR : IB_MGMT_MAD_HDR;
	int left, seg;

	if (m->len == UMAD_MAD_SIZE && !plan->own_rmpp_hdr) {
		memcpy(msg->mad, umad_message_mad(m), UMAD_MAD_SIZE);
		return 0;
	}
	memcpy(msg->mad, umad_message_mad(m), IB_MGMT_MAD_HDR);

	if (!plan->rmpp)
		return umad_message_copy(m, msg->mad + from, from, m->len - from) ? 0 : -EFAULT;

	umad_message_copy(m, msg->mad + from, from, plan->hdr_len - from);
	from = plan->hdr_len;
	for (seg = 1, left = plan->data_len; left > 0;
	     seg++, left -= msg->seg_size, from += msg->seg_size) {
		if (!umad_message_copy(m, ib_get_rmpp_segment(msg, seg), from,
				       min(left, msg->seg_size)))
			return -EFAULT;
		if (seg % UMAD_YIELD_SEGS)
			continue;
		if (umad_killed())
			return -EINTR;
		if (umad_port_gone(port))
			return -EIO;
	}
	return 0;
}
