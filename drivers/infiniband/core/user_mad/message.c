// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Messages: from the memory of the writer to the buffers of the MAD layer.
 *
 * The writer's memory is read once, and before anything is held: a plain MAD onto the
 * stack, and the rest of a longer message into memory of its own. So the checks see the
 * bytes that are sent.
 */
#include <linux/mm.h>
#include <linux/sched/signal.h>

#include "user_mad.h"

/* Room for one packet: an element of a vector, or all of a registered buffer of io_uring */
size_t umad_iter_len(const struct iov_iter *iter)
{
	return user_backed_iter(iter) ? iov_iter_single_seg_count(iter) : iov_iter_count(iter);
}

/* Reads the user header and the beginning of the MAD, whose length is @len */
int umad_message_init(struct umad_message *m, struct iov_iter *from, size_t len,
		      u8 hdr_len, bool nowait)
{
	m->from = from;
	m->rest = NULL;
	m->len = len;
	m->head_len = min(len, UMAD_MAD_SIZE);
	m->nowait = nowait;
	m->hdr_len = hdr_len;

	len = hdr_len + m->head_len;
	return copy_from_iter(m->head, len, from) == len ? 0 : -EFAULT;
}

/* Lets other tasks run, too */
static bool umad_writer_killed(void)
{
	cond_resched();
	return fatal_signal_pending(current);
}

static int umad_message_copy_rest(struct umad_message *m, size_t len)
{
	size_t at, part;

	for (at = 0; at < len; at += part) {
		part = min_t(size_t, len - at, SZ_64K);
		if (copy_from_iter(m->rest + at, part, m->from) != part)
			return -EFAULT;
		if (umad_writer_killed())
			return -EINTR;
	}
	return 0;
}

/*
 * Copies the rest of a message that is longer than a MAD, with nothing held, as it may
 * sleep for pages of user memory. Returns -ENOMEM if the cap has no room for it.
 *
 * It charges the cap and no cgroup. To charge a cgroup page by page until it is full would
 * leave nothing to its other processes, and the OOM killer would end one of them.
 */
int umad_message_fetch(struct umad_message *m, struct umad_file *file)
{
	size_t len = m->len - m->head_len;

	if (umad_cap_charge(file, len)) {
		m->rest = kvmalloc(len, UMAD_GFP_WRITER);
		if (m->rest)
			return umad_message_copy_rest(m, len);
		umad_cap_uncharge(file, len);
	}
	umad_count(file->port, UMAD_STAT_REFUSED_MEMORY);
	return -ENOMEM;
}

void umad_message_exit(struct umad_message *m, struct umad_file *file)
{
	if (!m->rest)
		return;
	kvfree(m->rest);
	m->rest = NULL;
	umad_cap_uncharge(file, m->len - m->head_len);
}

static void umad_message_copy(const struct umad_message *m, void *to, size_t from, size_t len)
{
	size_t head;

	if (from < m->head_len) {
		head = min(len, m->head_len - from);
		memcpy(to, m->head + m->hdr_len + from, head);
		from += head;
		to += head;
		len -= head;
	}
	if (len)
		memcpy(to, m->rest + from - m->head_len, len);
}

/*
 * Copies a message into the buffers that ib_create_send_mad() made for @plan. Returns -EINTR
 * if the writer is being killed, or -EIO if the device is gone, whose removal waits for it.
 */
int umad_message_fill(const struct umad_message *m, const struct umad_plan *plan,
		      struct ib_mad_send_buf *msg, const struct umad_port *port)
{
	size_t from = plan->own_rmpp_hdr ? IB_MGMT_RMPP_HDR : IB_MGMT_MAD_HDR;
	int left, seg;

	memcpy(msg->mad, umad_message_mad(m), IB_MGMT_MAD_HDR);

	if (!plan->rmpp) {
		umad_message_copy(m, msg->mad + from, from, m->len - from);
		return 0;
	}

	umad_message_copy(m, msg->mad + from, from, plan->hdr_len - from);
	from = plan->hdr_len;
	for (seg = 1, left = plan->data_len; left > 0;
	     seg++, left -= msg->seg_size, from += msg->seg_size) {
		umad_message_copy(m, ib_get_rmpp_segment(msg, seg), from,
				  min(left, msg->seg_size));
		if (seg % UMAD_YIELD_SEGS)
			continue;
		if (umad_writer_killed())
			return -EINTR;
		if (umad_port_gone(port))
			return -EIO;
	}
	return 0;
}
