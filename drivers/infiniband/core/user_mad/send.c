// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Sending: from write() to the completion by the MAD layer.
 *
 * User memory is read, and memory waited for, with nothing held. What a plain
 * MAD consists of is copied at once; of a longer message that is its beginning,
 * and the rest is copied straight into the MAD layer's segments with page faults
 * off, after it was faulted in. Should an attempt lack something, it is undone
 * and made again with that provided. The beginning is never read a second time,
 * so what was checked is what is sent.
 */
#include <linux/fs.h>
#include <linux/memcontrol.h>
#include <linux/module.h>
#include <linux/pagemap.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include <rdma/ib_verbs.h>

#include "user_mad.h"

/*
 * Far beyond what a subnet manager or a tool that asks a whole fabric at once
 * has on the wire, and an end to what a program that has lost control can pile
 * up where no cgroup limits it: about 80 MB. A message of many segments counts
 * once, so only a cgroup limits those.
 */
static unsigned int umad_max_sends = 65536;
module_param_named(max_sends, umad_max_sends, uint, 0644);
MODULE_PARM_DESC(max_sends,
		 "How many sends may be outstanding or timed out and unread, for each descriptor");

/* What the MAD layer needs to see of a MAD to decide what becomes of it */
struct umad_rmpp_mad {
	struct ib_mad_hdr	mad_hdr;
	struct ib_rmpp_hdr	rmpp_hdr;
} __packed;

static_assert(sizeof(struct umad_rmpp_mad) == IB_MGMT_RMPP_HDR);

/* Memory may well be refused to a writer, but nobody gets killed for it */
#define UMAD_GFP_WRITER	(GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

/* How often room is made for one message that others take away again */
#define UMAD_MAKE_ROOM	3

/* What a worker is given to make a larger table, each time */
#define UMAD_TABLE_PATIENCE	(HZ / 50 + 1)

/**
 * enum umad_lack - what an attempt to send failed for, and another may have
 * @UMAD_LACK_NONE: nothing that could be helped
 * @UMAD_LACK_PAGES: pages of user memory
 * @UMAD_LACK_ROOM: memory, or the permission of the cgroup to have it
 * @UMAD_LACK_TABLE: a larger table of duplicates, which a worker makes
 */
enum umad_lack {
	UMAD_LACK_NONE,
	UMAD_LACK_PAGES,
	UMAD_LACK_ROOM,
	UMAD_LACK_TABLE,
};

/**
 * struct umad_message - a message being written
 * @rest: the MAD in user memory
 * @copy: a copy of what is not in @head, made only once it was faulted in, or
 *	NULL
 * @len: length of the MAD
 * @head_len: how much of its beginning is in @head
 * @lack: what the last attempt failed for
 * @faulted: what is not in @head was faulted in, which helps only once
 * @rooms: how often room was made
 * @hdr_len: length of the user header
 * @head: user header and beginning of the MAD
 */
struct umad_message {
	const char __user	*rest;
	void			*copy;
	size_t			len;
	size_t			head_len;
	enum umad_lack		lack;
	bool			faulted;
	u8			rooms;
	u8			hdr_len;
	u8			head[sizeof(struct ib_user_mad_hdr) +
				     UMAD_MAD_SIZE] __aligned(8);
};

static bool umad_rmpp_active(const struct umad_rmpp_mad *mad)
{
	/* ib_get_rmpp_flags() only reads, though it does not say so */
	return ib_get_rmpp_flags((struct ib_rmpp_hdr *)&mad->rmpp_hdr) &
	       IB_MGMT_RMPP_FLAG_ACTIVE;
}

static const struct ib_user_mad_hdr *umad_message_hdr(const struct umad_message *m)
{
	return (const void *)m->head;
}

static const struct umad_rmpp_mad *umad_message_mad(const struct umad_message *m)
{
	return (const void *)m->head + m->hdr_len;
}

/**
 * umad_plan_send - decide how a MAD is handed to the MAD layer
 * @mad: beginning of the MAD, at least IB_MGMT_RMPP_HDR bytes
 * @len: length of the whole MAD
 * @kernel_rmpp: the agent leaves RMPP to the kernel
 * @mad_size: how long a single MAD may be here
 * @plan: result
 *
 * Return: 0, or -EINVAL if the MAD lacks part of its class header, or is too
 * long for one MAD and the kernel is not asked to cut it.
 */
int umad_plan_send(const void *mad, size_t len, bool kernel_rmpp,
		   size_t mad_size, struct umad_plan *plan)
{
	const struct umad_rmpp_mad *rmpp_mad = mad;
	u8 class = rmpp_mad->mad_hdr.mgmt_class;
	size_t hdr_len = ib_get_mad_data_offset(class);

	if (len < hdr_len)
		return -EINVAL;

	plan->own_rmpp_hdr = kernel_rmpp && ib_is_mad_class_rmpp(class);
	plan->rmpp = plan->own_rmpp_hdr && umad_rmpp_active(rmpp_mad);

	/* The MAD layer counts in int, up to the end of the last segment */
	if (len > (plan->rmpp ? INT_MAX - mad_size : mad_size))
		return -EINVAL;

	plan->hdr_len = hdr_len;
	plan->data_len = len - hdr_len;
	return 0;
}

/*
 * fault_in_readable() has checked the address. A constant length, as most
 * segments have it, needs no check against the size of the segment.
 */
static unsigned long umad_copy_segment(void *to, const char __user *from,
				       size_t len)
{
	switch (len) {
	case IB_MGMT_SA_DATA:
		return __copy_from_user_inatomic(to, from, IB_MGMT_SA_DATA);
	case IB_MGMT_VENDOR_DATA:
		return __copy_from_user_inatomic(to, from, IB_MGMT_VENDOR_DATA);
	default:
		return __copy_from_user_inatomic(to, from, len);
	}
}

/* Of a MAD behind its header, with or without that of RMPP */
static void umad_copy_rest(void *to, const void *from, size_t len)
{
	switch (len) {
	case UMAD_MAD_SIZE - IB_MGMT_MAD_HDR:
		memcpy(to, from, UMAD_MAD_SIZE - IB_MGMT_MAD_HDR);
		break;
	case UMAD_MAD_SIZE - IB_MGMT_RMPP_HDR:
		memcpy(to, from, UMAD_MAD_SIZE - IB_MGMT_RMPP_HDR);
		break;
	default:
		memcpy(to, from, len);
	}
}

/* A page that had been faulted in may not be there any more */
static int umad_message_copy(struct umad_message *m, void *to, size_t from,
			     size_t len)
{
	unsigned long left;
	size_t head = 0;

	if (from < m->head_len) {
		head = min(len, m->head_len - from);
		umad_copy_rest(to, m->head + m->hdr_len + from, head);
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

	pagefault_disable();
	left = umad_copy_segment(to, m->rest + from, len);
	pagefault_enable();
	if (!left)
		return 0;
	m->lack = UMAD_LACK_PAGES;
	return -EFAULT;
}

/* Lets others run. There may be 2 GiB to be copied */
static bool umad_writer_killed(void)
{
	cond_resched();
	return fatal_signal_pending(current);
}

static int umad_fill_send_mad(struct ib_mad_send_buf *msg,
			      struct umad_message *m,
			      const struct umad_plan *plan)
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

static struct ib_mad_send_buf *
umad_create_send_mad(struct umad_agent *agent, struct umad_message *m,
		     const struct umad_plan *plan)
{
	const struct ib_user_mad_hdr *hdr = umad_message_hdr(m);
	struct ib_mad_send_buf *msg;
	struct mem_cgroup *old;
	int ret;

	old = set_active_memcg(agent->file->payer->memcg);
	msg = ib_create_send_mad(agent->mad_agent, be32_to_cpu(hdr->qpn),
				 umad_hdr_pkey_index(hdr, m->hdr_len),
				 plan->rmpp, plan->hdr_len, plan->data_len,
				 UMAD_GFP_CHARGED,
				 umad_message_mad(m)->mad_hdr.base_version);
	set_active_memcg(old);
	if (IS_ERR(msg)) {
		if (PTR_ERR(msg) == -ENOMEM)
			m->lack = UMAD_LACK_ROOM;
		return msg;
	}

	ret = umad_fill_send_mad(msg, m, plan);
	if (ret) {
		ib_free_send_mad(msg);
		return ERR_PTR(ret);
	}

	msg->timeout_ms = hdr->timeout_ms;
	msg->retries = hdr->retries;
	return msg;
}

/*
 * The upper half of a request's transaction ID is the agent's, by which the
 * MAD layer finds whom a response is for.
 */
static void umad_set_tid(struct umad_agent *agent, struct ib_mad_hdr *mad)
{
	u64 tid = be64_to_cpu(mad->tid);

	if (ib_response_mad(mad))
		return;

	mad->tid = cpu_to_be64((u64)agent->mad_agent->hi_tid << 32 |
			       lower_32_bits(tid));
}

/*
 * RMPP packets of a user space implementation repeat their transaction ID by
 * nature and are never refused for that. While they are outstanding others are.
 */
static bool umad_send_may_repeat(struct umad_agent *agent,
				 const struct umad_rmpp_mad *mad)
{
	return !ib_mad_kernel_rmpp_agent(agent->mad_agent) &&
	       ib_is_mad_class_rmpp(mad->mad_hdr.mgmt_class) &&
	       umad_rmpp_active(mad);
}

/* @packet and @msg are the MAD layer's on success, and the caller's if not */
static int umad_post(struct umad_agent *agent, struct umad_message *m,
		     struct umad_packet *packet, struct ib_mad_send_buf *msg)
{
	struct umad_file *file = agent->file;
	int ret;

	packet->hdr_len = m->hdr_len;
	memcpy(packet->data, m->head, m->hdr_len + IB_MGMT_MAD_HDR);
	umad_set_tid(agent, umad_packet_mad(packet));
	((struct ib_mad_hdr *)msg->mad)->tid = umad_packet_mad(packet)->tid;

	ret = umad_transaction_begin(file, packet);
	if (ret == -ENOMEM)
		m->lack = UMAD_LACK_TABLE;
	if (ret)
		return ret;

	packet->settled = !msg->timeout_ms;
	msg->context[0] = packet;
	ret = ib_post_send_mad(msg, NULL);
	if (ret) {
		umad_transaction_end(file, packet);
		/* The device may not like its address any more */
		umad_ah_drop(agent);
	}
	return ret;
}

/*
 * A send that was not answered counts until its timeout record is read, as no
 * other limit applies to that.
 */
static bool umad_send_room(struct umad_file *file)
{
	return atomic_inc_return(&file->sends) + READ_ONCE(file->timeouts) <=
	       READ_ONCE(umad_max_sends);
}

static int umad_send(struct umad_agent *agent, struct umad_message *m,
		     const struct umad_plan *plan)
{
	struct umad_file *file = agent->file;
	struct ib_mad_send_buf *msg;
	struct umad_packet *packet;
	bool repeat;
	int ret;

	if (!umad_send_room(file)) {
		ret = -ENOBUFS;
		goto err_count;
	}

	repeat = umad_send_may_repeat(agent, umad_message_mad(m));
	packet = umad_packet_alloc_send(file, repeat);
	if (!packet) {
		m->lack = UMAD_LACK_ROOM;
		ret = -ENOMEM;
		goto err_count;
	}

	msg = umad_create_send_mad(agent, m, plan);
	if (IS_ERR(msg)) {
		ret = PTR_ERR(msg);
		goto err_packet;
	}

	ret = umad_ah_get(agent, umad_message_hdr(m), msg);
	if (ret)
		goto err_msg;

	ret = umad_post(agent, m, packet, msg);
	if (ret)
		goto err_ah;
	return 0;

err_ah:
	umad_ah_put(msg);
err_msg:
	ib_free_send_mad(msg);
err_packet:
	umad_packet_free(file, packet);
err_count:
	atomic_dec(&file->sends);
	return ret;
}

static int umad_plan_message(struct umad_agent *agent,
			     const struct umad_message *m,
			     struct umad_plan *plan)
{
	const struct ib_mad_agent *mad_agent = agent->mad_agent;
	const struct umad_rmpp_mad *mad = umad_message_mad(m);
	size_t mad_size = UMAD_MAD_SIZE;

	if (mad->mad_hdr.base_version == OPA_MGMT_BASE_VERSION &&
	    rdma_cap_opa_mad(mad_agent->device, mad_agent->port_num))
		mad_size = sizeof(struct opa_mad);

	return umad_plan_send(mad, m->len, ib_mad_kernel_rmpp_agent(mad_agent),
			      mad_size, plan);
}

/*
 * One attempt. The agent is looked up anew for each: it may be another one by
 * the time that what was lacking is there.
 */
static int umad_message_send(struct umad_file *file, struct umad_message *m)
{
	struct umad_agent *agent;
	struct umad_plan plan;
	int ret;

	m->lack = UMAD_LACK_NONE;
	agent = umad_agent_get(file, umad_message_hdr(m)->id);
	if (!agent)
		return -EIO;

	ret = umad_plan_message(agent, m, &plan);
	if (!ret && m->head_len < m->len && !m->faulted) {
		m->lack = UMAD_LACK_PAGES;
		ret = -EFAULT;
	}
	if (!ret)
		ret = umad_send(agent, m, &plan);

	umad_agent_put(agent);
	return ret;
}

/* With nothing held: this may reclaim at length, and be made to sleep */
static void *umad_writer_alloc(struct umad_file *file, size_t len)
{
	struct mem_cgroup *old = set_active_memcg(file->payer->memcg);
	void *memory = __vmalloc(len, UMAD_GFP_WRITER);

	set_active_memcg(old);
	return memory;
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

/* Pages that do not stay where they are for an attempt are copied */
static int umad_message_fetch(struct umad_file *file, struct umad_message *m)
{
	size_t len = m->len - m->head_len;
	size_t at, part;
	int ret = 0;

	if (m->faulted) {
		m->copy = umad_writer_alloc(file, len);
		if (!m->copy)
			return -ENOMEM;
	}
	m->faulted = true;

	for (at = 0; !ret && at < len; at += part) {
		part = min(len - at, UMAD_YIELD_LEN);
		ret = umad_message_fetch_part(m, at, part);
	}
	return ret;
}

/*
 * Have as much memory as the next attempt may need reclaimed, by the writer and
 * from its cgroup: the segments of a message are a third larger than it is.
 */
static int umad_make_room(struct umad_file *file, struct umad_message *m)
{
	void *room;

	room = umad_writer_alloc(file, m->len + m->len / 2 + PAGE_SIZE);
	vfree(room);
	return room ? 0 : -ENOMEM;
}

/* Returns 0 if another attempt has what the last one lacked */
static int umad_message_help(struct umad_file *file, struct umad_message *m)
{
	if (fatal_signal_pending(current))
		return -EINTR;
	if (m->lack == UMAD_LACK_PAGES)
		return umad_message_fetch(file, m);
	if (m->rooms++ == UMAD_MAKE_ROOM)
		return -ENOMEM;
	if (m->lack == UMAD_LACK_TABLE)
		schedule_timeout_killable(UMAD_TABLE_PATIENCE);
	return umad_make_room(file, m);
}

/* A constant length needs no check against the size of the buffer */
static unsigned long umad_copy_head(struct umad_message *m,
				    const char __user *buf)
{
	if (m->hdr_len + m->head_len == sizeof(m->head))
		return copy_from_user(m->head, buf, sizeof(m->head));
	return copy_from_user(m->head, buf, m->hdr_len + m->head_len);
}

/**
 * umad_write - send a MAD, or a message that the kernel cuts into MADs
 * @filp: descriptor of umadN
 * @buf: user header and MAD
 * @count: length of both
 * @pos: unused
 *
 * Context: process context; nothing is held while user memory is read.
 * Return: @count, or
 *  * -EINTR: the writer is being killed
 *  * -EINVAL: too short or too long, an id out of range, a transaction that is
 *    outstanding already, or an address or class the port cannot do
 *  * -EFAULT: bad pointer; nothing was sent
 *  * -EIO: no such agent, or the device is gone
 *  * -ENOMEM: no memory, or none left to the opener's cgroup
 *  * -ENOBUFS: as many sends are outstanding or timed out as may be
 *  * what rdma_create_user_ah() and ib_post_send_mad() return
 */
ssize_t umad_write(struct file *filp, const char __user *buf, size_t count,
		   loff_t *pos)
{
	struct umad_file *file = filp->private_data;
	const struct ib_user_mad_hdr *hdr;
	struct umad_message m;
	int ret;

	m.hdr_len = READ_ONCE(file->hdr_len);
	if (count < m.hdr_len + IB_MGMT_RMPP_HDR)
		return -EINVAL;

	m.rest = buf + m.hdr_len;
	m.copy = NULL;
	m.len = count - m.hdr_len;
	m.head_len = min(m.len, UMAD_MAD_SIZE);
	m.faulted = false;
	m.rooms = 0;
	if (umad_copy_head(&m, buf))
		return -EFAULT;

	hdr = umad_message_hdr(&m);
	if (hdr->id >= UMAD_MAX_AGENTS)
		return -EINVAL;

	if (tracepoint_enabled(ib_umad_write))
		umad_trace_write(file, hdr, m.hdr_len,
				 &umad_message_mad(&m)->mad_hdr);

	do {
		ret = umad_message_send(file, &m);
	} while (m.lack != UMAD_LACK_NONE &&
		 !(ret = umad_message_help(file, &m)));

	if (m.faulted)
		vfree(m.copy);
	return ret ?: count;
}

/*
 * Whoever waits for a response has to learn that there will be none: that none
 * came, that there was no room for it, or that the request failed after write()
 * had returned. A message in segments can time out without expecting a response.
 * The agent is not in use any more if it is being unregistered, and then nobody
 * waits.
 */
static bool umad_send_lost(const struct umad_agent *agent,
			   const struct umad_packet *packet,
			   enum ib_wc_status status)
{
	if (status == IB_WC_RESP_TIMEOUT_ERR)
		return true;
	return !packet->settled && refcount_read(&agent->users);
}

/**
 * umad_send_handler - the MAD layer has completed a send
 * @mad_agent: the agent it was sent with
 * @send_wc: the completion; its buffer is freed here
 *
 * Context: a worker of the MAD layer, or ib_unregister_mad_agent().
 */
void umad_send_handler(struct ib_mad_agent *mad_agent,
		       struct ib_mad_send_wc *send_wc)
{
	struct umad_packet *packet = send_wc->send_buf->context[0];
	struct umad_agent *agent = mad_agent->context;
	struct umad_file *file = agent->file;

	umad_transaction_end(file, packet);
	atomic_dec(&file->sends);
	umad_ah_put(send_wc->send_buf);
	ib_free_send_mad(send_wc->send_buf);

	if (umad_send_lost(agent, packet, send_wc->status))
		umad_queue_add_timeout(file, packet);
	else
		umad_packet_free(file, packet);
}
