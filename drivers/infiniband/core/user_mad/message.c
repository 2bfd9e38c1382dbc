// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Messages: what write() is given, until it is in the hands of the MAD layer.
 *
 * User memory is read once, and before anything is held: the beginning onto the
 * stack, which is all there is of a plain MAD, and the rest of a longer message into
 * memory of its own. What was checked is what is sent.
 */
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>

#include "user_mad.h"

/* What a send takes: its packet, and the MAD layer's buffer for an OPA MAD */
#define UMAD_SEND_COST	SZ_4K

/**
 * umad_message_init - begin to write a message
 * @m: the message
 * @from: user header and MAD
 * @len: length of the MAD, at least IB_MGMT_RMPP_HDR
 * @hdr_len: length of the user header
 *
 * Context: process context.
 * Return: 0 or -EFAULT.
 */
int umad_message_init(struct umad_message *m, struct umad_buf from,
		      size_t len, u8 hdr_len)
{
	m->from = from;
	m->rest = NULL;
	m->len = len;
	m->head_len = min(len, UMAD_MAD_SIZE);
	m->counted = 0;
	m->hdr_len = hdr_len;

	len = hdr_len + m->head_len;
	if (!from.iter && len == UMAD_PACKET_LEN) {
		m->from.user += UMAD_PACKET_LEN;
		return copy_from_user(m->head, from.user, UMAD_PACKET_LEN) ?
		       -EFAULT : 0;
	}
	return umad_buf_get(m->head, &m->from, len) ? 0 : -EFAULT;
}

/* The MAD layer's segments of a message are up to a half longer than it is */
static size_t umad_message_cost(const struct umad_message *m)
{
	size_t rest = m->len - m->head_len;

	return UMAD_SEND_COST + 2 * rest + rest / 2;
}

/**
 * umad_message_count - have a message counted instead of charged
 * @m: the message
 * @account: who pays
 *
 * Return: true, or false if the budget has no room for it.
 */
bool umad_message_count(struct umad_message *m, struct umad_account *account)
{
	size_t cost = umad_message_cost(m);

	if (!umad_account_take(account, cost, true))
		return false;
	m->counted = cost;
	return true;
}

/* Lets others run */
static bool umad_writer_killed(void)
{
	cond_resched();
	return fatal_signal_pending(current);
}

/*
 * Two pages of user memory may never be there together, and some machines need both
 * of them to copy across their border.
 */
static int umad_message_copy_rest(struct umad_message *m, size_t len)
{
	size_t at, part;

	for (at = 0; at < len; at += part) {
		part = min(len - at, PAGE_SIZE - offset_in_page(m->from.user));
		if (!umad_buf_get(m->rest + at, &m->from, part))
			return -EFAULT;
		if (umad_writer_killed())
			return -EINTR;
	}
	return 0;
}

/**
 * umad_message_fetch - copy the rest of a message that is longer than a MAD
 * @m: the message
 * @file: who sends, and pays
 *
 * Context: process context, with nothing held; may sleep for pages of user memory.
 * Return: 0, -EFAULT, -EINTR if the writer is being killed, or -ENOMEM if neither
 * cgroup nor budget have room for it.
 */
int umad_message_fetch(struct umad_message *m, struct umad_file *file)
{
	struct umad_account *account = file->account;
	gfp_t gfp = UMAD_GFP_WRITER;
	size_t len = m->len - m->head_len;
	struct mem_cgroup *old;

	if (umad_account_room(account, umad_message_cost(m)))
		gfp |= __GFP_ACCOUNT;
	else if (!umad_message_count(m, account))
		goto refuse;

	old = set_active_memcg(account->memcg);
	m->rest = kvmalloc(len, gfp);
	set_active_memcg(old);
	if (m->rest)
		return umad_message_copy_rest(m, len);
refuse:
	umad_count(file->port, UMAD_STAT_REFUSED_MEMORY);
	return -ENOMEM;
}

/**
 * umad_message_exit - undo all of the above
 * @m: the message
 * @account: who pays
 */
void umad_message_exit(struct umad_message *m, struct umad_account *account)
{
	if (m->counted)
		umad_account_give(account, m->counted);
	if (m->rest)
		kvfree(m->rest);
}

static void umad_message_copy(const struct umad_message *m, void *to, size_t from,
			      size_t len)
{
	size_t head;

	if (from < m->head_len) {
		head = min(len, m->head_len - from);
		umad_copy(memcpy, to, m->head + m->hdr_len + from, head,
			  UMAD_MAD_SIZE - IB_MGMT_MAD_HDR,
			  UMAD_MAD_SIZE - IB_MGMT_RMPP_HDR);
		from += head;
		to += head;
		len -= head;
	}
	if (len)
		memcpy(to, m->rest + from - m->head_len, len);
}

/**
 * umad_message_fill - copy a message into the buffers that are to be sent
 * @m: the message
 * @plan: how it is cut
 * @msg: what ib_create_send_mad() made for @plan
 * @port: who removes its device waits for us
 *
 * Context: process context; may sleep, but never for user memory.
 * Return: 0, -EINTR if the writer is being killed, or -EIO if the device is gone.
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
