// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Messages: what write() is given, until it is in the hands of the MAD layer.
 *
 * A plain MAD is copied at once. Of an RMPP message that is its beginning. The
 * rest is copied straight into the segments that are sent, with page faults off,
 * after it was faulted in. The beginning is never read a second time, so what was
 * checked is what is sent.
 */
#include <linux/pagemap.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "user_mad.h"

/* How often room is made for one message. Others may take it each time */
#define UMAD_MAKE_ROOM	3

/* How long the worker may need that makes the table larger */
#define UMAD_TABLE_PATIENCE	(HZ / 50 + 1)

/**
 * umad_message_init - begin to write a message
 * @m: the message
 * @buf: user header and MAD
 * @len: length of the MAD, at least IB_MGMT_RMPP_HDR
 * @hdr_len: length of the user header
 * @nowait: the writer must not wait
 *
 * Context: process context.
 * Return: 0 or -EFAULT.
 */
int umad_message_init(struct umad_message *m, const char __user *buf,
		      size_t len, u8 hdr_len, bool nowait)
{
	m->rest = buf + hdr_len;
	m->copy = NULL;
	m->len = len;
	m->head_len = min(len, UMAD_MAD_SIZE);
	m->hdr_len = hdr_len;
	m->faulted = false;
	m->nowait = nowait;
	m->rooms = 0;

	return umad_copy(copy_from_user, &m->head[0], buf, hdr_len + m->head_len,
			 UMAD_PACKET_LEN, UMAD_PACKET_LEN) ? -EFAULT : 0;
}

/**
 * umad_message_exit - undo umad_message_init()
 * @m: the message
 */
void umad_message_exit(struct umad_message *m)
{
	if (m->faulted)
		vfree(m->copy);
}

/* A page that was faulted in may not be there any more */
static int umad_message_copy(struct umad_message *m, void *to, size_t from,
			     size_t len)
{
	unsigned long left;
	size_t head = 0;

	if (from < m->head_len) {
		head = min(len, m->head_len - from);
		/* All behind the MAD header, or behind that of RMPP */
		umad_copy(memcpy, to, m->head + m->hdr_len + from, head,
			  UMAD_MAD_SIZE - IB_MGMT_MAD_HDR,
			  UMAD_MAD_SIZE - IB_MGMT_RMPP_HDR);
		if (head == len)
			return 0;
	}

	from += head;
	to += head;
	len -= head;
	if (m->copy) {
		memcpy(to, m->copy + from - m->head_len, len);
		return 0;
	}

	/* fault_in_readable() has checked the address */
	pagefault_disable();
	left = umad_copy(__copy_from_user_inatomic, to, m->rest + from, len,
			 IB_MGMT_SA_DATA, IB_MGMT_VENDOR_DATA);
	pagefault_enable();
	return left ? UMAD_LACK_PAGES : 0;
}

/* Lets others run. There may be 2 GiB to be copied */
static bool umad_writer_killed(void)
{
	cond_resched();
	return fatal_signal_pending(current);
}

/**
 * umad_message_fill - copy a message into the buffers that are to be sent
 * @m: the message
 * @plan: how it is cut
 * @msg: what ib_create_send_mad() made for @plan
 *
 * Context: process context; may sleep, but never for a page of user memory.
 * Return: 0, -EINTR if the writer is being killed, or UMAD_LACK_PAGES.
 */
int umad_message_fill(struct umad_message *m, const struct umad_plan *plan,
		      struct ib_mad_send_buf *msg)
{
	size_t from = plan->own_rmpp_hdr ? IB_MGMT_RMPP_HDR : IB_MGMT_MAD_HDR;
	int left, seg, ret;

	memcpy(msg->mad, umad_message_mad(m), IB_MGMT_MAD_HDR);

	if (!plan->rmpp)
		return umad_message_copy(m, msg->mad + from, from,
					 m->len - from);

	ret = umad_message_copy(m, msg->mad + from, from, plan->hdr_len - from);
	from = plan->hdr_len;
	for (seg = 1, left = plan->data_len; !ret && left > 0;
	     seg++, left -= msg->seg_size, from += msg->seg_size) {
		ret = umad_message_copy(m, ib_get_rmpp_segment(msg, seg), from,
					min(left, msg->seg_size));
		if (!(seg % UMAD_YIELD_SEGS) && umad_writer_killed())
			ret = -EINTR;
	}
	return ret;
}

/* A part of what is not in the head: faulted in, or copied */
static int umad_message_fetch_part(struct umad_message *m, size_t at, size_t len)
{
	const char __user *from = m->rest + m->head_len + at;

	if (m->copy ? copy_from_user(m->copy + at, from, len) :
		      fault_in_readable(from, len))
		return -EFAULT;
	return umad_writer_killed() ? -EINTR : 0;
}

/*
 * How much is fetched at once. Two pages may never be there together, and some
 * machines need both of them to copy across their border.
 */
static size_t umad_message_part(const struct umad_message *m, size_t at)
{
	return m->copy ? PAGE_SIZE - offset_in_page(m->rest + m->head_len + at) :
			 UMAD_YIELD_LEN;
}

/* If pages do not stay until the next attempt, what is in them is copied */
static int umad_message_fetch(struct umad_file *file, struct umad_message *m)
{
	size_t len = m->len - m->head_len;
	size_t at, part;
	int ret = 0;

	if (m->faulted) {
		m->copy = umad_payer_alloc(file->payer, len);
		if (!m->copy)
			return -ENOMEM;
	}
	m->faulted = true;

	for (at = 0; !ret && at < len; at += part) {
		part = min(len - at, umad_message_part(m, at));
		ret = umad_message_fetch_part(m, at, part);
	}
	return ret;
}

/**
 * umad_message_provide - provide what an attempt to send lacked
 * @file: who sends, and pays
 * @m: the message
 * @lack: what was lacking
 *
 * Context: process context, with nothing held; may sleep for long.
 * Return: 0 if another attempt may succeed, or
 *  * -EAGAIN: the writer would have to wait for memory
 *  * -EINTR: the writer is being killed
 *  * -EFAULT: bad pointer
 *  * -ENOMEM: no memory, or none left to the opener's cgroup
 */
int umad_message_provide(struct umad_file *file, struct umad_message *m,
			 enum umad_lack lack)
{
	if (fatal_signal_pending(current))
		return -EINTR;
	if (m->nowait && (lack != UMAD_LACK_PAGES || m->faulted))
		return -EAGAIN;
	if (lack == UMAD_LACK_PAGES)
		return umad_message_fetch(file, m);
	if (m->rooms++ == UMAD_MAKE_ROOM)
		return -ENOMEM;
	if (lack == UMAD_LACK_TABLE)
		schedule_timeout_killable(UMAD_TABLE_PATIENCE);
	/* The segments of a message are a third larger than it is */
	return umad_payer_make_room(file->payer, m->len + m->len / 2 + PAGE_SIZE);
}
