// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Sending: from write() to the completion by the MAD layer.
 *
 * User memory is read before an agent is taken, as who removes the device waits for
 * whoever has one. What follows waits for nothing but an address on RoCE, and for a
 * bounded amount of memory.
 */
#include <linux/fs.h>
#include <linux/memcontrol.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/uio.h>
#include <rdma/ib_verbs.h>

#include "packet.h"
#include "trace.h"

/*
 * A limit for programs that have lost control and are in no cgroup with a limit:
 * so many sends take about 80 MB. A subnet manager that asks a whole fabric at
 * once has far fewer outstanding. An RMPP message counts once, however long it is:
 * only a cgroup limits the memory that those take.
 */
static unsigned int umad_max_sends = 65536;
module_param_named(max_sends, umad_max_sends, uint, 0644);
MODULE_PARM_DESC(max_sends,
		 "How many sends may be outstanding or timed out and unread, for each descriptor");

/*
 * The MAD layer allocates all segments of a message at once, without a chance for
 * others to run or for us to stop. This is 1.3 million segments.
 */
#define UMAD_MAX_MESSAGE	SZ_256M

/**
 * umad_plan_send - decide how a MAD is handed to the MAD layer
 * @mad: beginning of the MAD, at least IB_MGMT_RMPP_HDR bytes
 * @len: length of the whole MAD
 * @kernel_rmpp: the agent leaves RMPP to the kernel
 * @mad_size: how long a single MAD may be here
 * @plan: result
 *
 * Return: 0, or -EINVAL if the MAD lacks part of its class header, or is too
 * long for one MAD and the kernel is not asked to cut it, or too long for that.
 */
int umad_plan_send(const void *mad, size_t len, bool kernel_rmpp,
		   size_t mad_size, struct umad_plan *plan)
{
	const struct umad_rmpp_mad *rmpp_mad = mad;
	u8 class = rmpp_mad->mad_hdr.mgmt_class;
	size_t hdr_len = ib_get_mad_data_offset(class);
	bool active = umad_rmpp_active(rmpp_mad);
	/* Asking for the class is a call, and needless for most MADs */
	bool rmpp_class = (kernel_rmpp || active) && ib_is_mad_class_rmpp(class);

	if (len < hdr_len)
		return -EINVAL;

	plan->own_rmpp_hdr = kernel_rmpp && rmpp_class;
	plan->rmpp = plan->own_rmpp_hdr && active;
	plan->user_rmpp = !kernel_rmpp && active && rmpp_class;

	if (len > (plan->rmpp ? UMAD_MAX_MESSAGE : mad_size))
		return -EINVAL;

	plan->hdr_len = hdr_len;
	plan->data_len = len - hdr_len;
	return 0;
}

static struct ib_mad_send_buf *umad_create_send_mad(struct umad_agent *agent,
						    const struct umad_message *m,
						    const struct umad_plan *plan,
						    gfp_t gfp)
{
	struct mem_cgroup *old = set_active_memcg(agent->file->account->memcg);
	const struct ib_user_mad_hdr *hdr = umad_message_hdr(m);
	struct ib_mad_send_buf *msg;

	msg = ib_create_send_mad(agent->mad_agent, be32_to_cpu(hdr->qpn),
				 umad_hdr_pkey_index(hdr, m->hdr_len),
				 plan->rmpp, plan->hdr_len, plan->data_len, gfp,
				 umad_message_mad(m)->mad_hdr.base_version);
	set_active_memcg(old);
	if (IS_ERR(msg))
		return msg;

	msg->timeout_ms = hdr->timeout_ms;
	msg->retries = hdr->retries;
	return msg;
}

static void umad_free_send(struct umad_file *file, struct ib_mad_send_buf *msg)
{
	struct umad_packet *packet = msg->context[0];

	ib_free_send_mad(msg);
	umad_packet_free(file, packet);
}

/*
 * The MAD layer's buffers and a packet: charged, or else counted. A packet that is
 * counted gives back what the message has taken. For a long message its cgroup has
 * room, but the host may have to reclaim page cache.
 */
static struct ib_mad_send_buf *umad_create_send(struct umad_agent *agent,
						struct umad_message *m,
						const struct umad_plan *plan)
{
	struct umad_file *file = agent->file;
	struct ib_mad_send_buf *msg;
	struct umad_packet *packet;
	gfp_t gfp;

	do {
		if (m->counted) {
			gfp = m->rest ? UMAD_GFP_WRITER : UMAD_GFP_COUNTED;
			packet = umad_packet_alloc_loose(file, UMAD_TIMEOUT_LEN, gfp);
		} else {
			gfp = m->rest ? UMAD_GFP_WRITER | __GFP_ACCOUNT :
					UMAD_GFP_CHARGED;
			packet = umad_packet_alloc(file, true);
		}
		if (!packet) {
			msg = ERR_PTR(-ENOMEM);
			continue;
		}
		packet->sent = true;

		msg = umad_create_send_mad(agent, m, plan, gfp);
		if (IS_ERR(msg))
			umad_packet_free(file, packet);
	} while (msg == ERR_PTR(-ENOMEM) && !m->counted &&
		 umad_message_count(m, file->account));

	if (msg == ERR_PTR(-ENOMEM))
		umad_count(file->port, UMAD_STAT_REFUSED_MEMORY);
	if (IS_ERR(msg))
		return msg;

	if (m->counted) {
		umad_packet_loose(packet)->counted = m->counted;
		m->counted = 0;
	}
	msg->context[0] = packet;
	return msg;
}

/* @msg is the MAD layer's on success, and the caller's if not */
static int umad_post(struct umad_agent *agent, const struct umad_message *m,
		     const struct umad_plan *plan, struct ib_mad_send_buf *msg)
{
	struct umad_packet *packet = msg->context[0];
	struct umad_file *file = agent->file;
	struct ib_mad_hdr *mad;
	int ret = 0;

	packet->hdr_len = m->hdr_len;
	/* A little too much in the old layout, where this has room and is cheaper */
	memcpy(packet->data, m->head, UMAD_TIMEOUT_LEN);
	mad = umad_packet_mad(packet);
	packet->response = ib_response_mad(mad);
	packet->hashed = false;
	packet->rmpp = false;
	packet->no_record = !msg->timeout_ms;
	/* The MAD layer finds whom a response is for by the agent's half of the ID */
	if (!packet->response)
		mad->tid = cpu_to_be64((u64)agent->mad_agent->hi_tid << 32 |
				       lower_32_bits(be64_to_cpu(mad->tid)));
	((struct ib_mad_hdr *)msg->mad)->tid = mad->tid;

	if (!plan->user_rmpp)
		ret = umad_transaction_begin(file, packet);
	if (ret) {
		umad_count(file->port, ret == -ENOMEM ? UMAD_STAT_REFUSED_MEMORY :
							UMAD_STAT_REFUSED_DUPLICATE);
		return ret;
	}

	atomic_inc(&agent->outstanding);
	ret = ib_post_send_mad(msg, NULL);
	if (ret) {
		atomic_dec(&agent->outstanding);
		if (packet->hashed)
			umad_transaction_end(file, packet);
		/* The device may not like its address any more */
		umad_ah_drop(agent);
	}
	return ret;
}

static int umad_send(struct umad_agent *agent, struct umad_message *m,
		     const struct umad_plan *plan)
{
	struct umad_file *file = agent->file;
	struct ib_mad_send_buf *msg;
	int ret;

	/* Until its record is read, as no other limit applies to that */
	if (atomic_inc_return(&file->sends) + READ_ONCE(file->timeouts) >
	    READ_ONCE(umad_max_sends)) {
		umad_count(file->port, UMAD_STAT_REFUSED_LIMIT);
		ret = -ENOBUFS;
		goto err_count;
	}

	msg = umad_create_send(agent, m, plan);
	if (IS_ERR(msg)) {
		ret = PTR_ERR(msg);
		goto err_count;
	}

	ret = umad_message_fill(m, plan, msg, file->port);
	if (ret)
		goto err_msg;

	ret = umad_ah_get(agent, umad_message_hdr(m), msg);
	if (ret)
		goto err_msg;

	ret = umad_post(agent, m, plan, msg);
	if (ret)
		goto err_ah;

	umad_count(file->port, plan->rmpp ? UMAD_STAT_RMPP_SENT : UMAD_STAT_SENT);
	return 0;

err_ah:
	umad_ah_put(msg);
err_msg:
	umad_free_send(file, msg);
err_count:
	atomic_dec(&file->sends);
	return ret;
}

static int umad_plan_message(const struct umad_agent *agent,
			     const struct umad_message *m, struct umad_plan *plan)
{
	const struct ib_mad_agent *mad_agent = agent->mad_agent;
	const struct umad_rmpp_mad *mad = umad_message_mad(m);
	size_t mad_size = UMAD_MAD_SIZE;

	if (mad->mad_hdr.base_version == OPA_MGMT_BASE_VERSION &&
	    rdma_cap_opa_mad(mad_agent->device, mad_agent->port_num))
		mad_size = sizeof(struct opa_mad);
	return umad_plan_send(mad, m->len, agent->kernel_rmpp, mad_size, plan);
}

/*
 * What is longer than a MAD is copied when it is known that it can be sent, and with
 * no agent held: then there is another attempt.
 */
static int umad_send_message(struct umad_file *file, struct umad_message *m)
{
	struct umad_agent *agent;
	struct umad_plan plan;
	bool fetch;
	int ret;

	do {
		agent = umad_agent_get(file, umad_message_hdr(m)->id);
		if (!agent)
			return -EIO;

		fetch = m->head_len < m->len && !m->rest;
		ret = umad_plan_message(agent, m, &plan);
		if (!ret && !fetch)
			ret = umad_send(agent, m, &plan);
		umad_agent_put(agent);

		if (!ret && fetch)
			ret = umad_message_fetch(m, file);
	} while (!ret && fetch);

	return ret;
}

/*
 * Returns what umad_write() does, or -EAGAIN if that may have to wait and must not.
 * That is said before anything is read: io_uring tries a hundred times before it has
 * a worker wait.
 */
static ssize_t umad_write_message(struct umad_file *file, struct umad_buf from,
				  size_t count, bool nowait)
{
	const struct ib_user_mad_hdr *hdr;
	u8 hdr_len = READ_ONCE(file->hdr_len);
	/* Not cleared, as nearly all of it is written to by umad_message_init() */
	struct umad_message m __uninitialized;
	int ret;

	if (count < hdr_len + IB_MGMT_RMPP_HDR)
		return -EINVAL;
	if (nowait && (file->port->is_roce || count - hdr_len > UMAD_MAD_SIZE))
		return umad_port_gone(file->port) ? -EIO : -EAGAIN;

	ret = umad_message_init(&m, from, count - hdr_len, hdr_len);
	if (ret)
		return ret;

	hdr = umad_message_hdr(&m);
	if (hdr->id >= UMAD_MAX_AGENTS)
		return -EINVAL;

	trace_ib_umad_write(file->port, hdr, hdr_len, &umad_message_mad(&m)->mad_hdr);

	ret = umad_send_message(file, &m);
	umad_message_exit(&m, file->account);
	return ret ?: count;
}

/**
 * umad_write - send a MAD, or an RMPP message that the kernel cuts into MADs
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
 *  * -ENOMEM: no memory, or no room for it in the opener's cgroup and account
 *  * -ENOBUFS: as many sends are outstanding or timed out as may be
 *  * what rdma_create_user_ah() and ib_post_send_mad() return
 */
ssize_t umad_write(struct file *filp, const char __user *buf, size_t count,
		   loff_t *pos)
{
	return umad_write_message(filp->private_data,
				  (struct umad_buf) { .user = (char __user *)buf },
				  count, false);
}

/**
 * umad_write_iter - send several MADs or RMPP messages, one from each element
 * @iocb: of a descriptor of umadN
 * @from: user memory, as of writev() and io_uring; or a registered buffer of
 *	io_uring, which has one
 *
 * The first element that is refused ends it. With IOCB_NOWAIT, -EAGAIN is for what
 * may have to wait: for an address on RoCE, or for the copy of a message that is
 * longer than a MAD.
 *
 * This is apart from umad_write() for the same reason as umad_read_iter() is from
 * umad_read().
 *
 * Context: process context; nothing is held while user memory is read.
 * Return: length of all elements that were sent. If there is none, what
 * umad_write() returns, -EAGAIN, or -EINVAL for io_submit(), as ever.
 */
ssize_t umad_write_iter(struct kiocb *iocb, struct iov_iter *from)
{
	struct umad_file *file = iocb->ki_filp->private_data;
	bool nowait = iocb->ki_flags & IOCB_NOWAIT;
	const struct iovec *iov, *end;
	ssize_t ret = -EINVAL;
	ssize_t done = 0;

	if (iocb->ki_flags & IOCB_AIO_RW)
		return -EINVAL;
	if (!user_backed_iter(from))
		return umad_write_message(file, (struct umad_buf) { .iter = from },
					  iov_iter_count(from), nowait);

	/* As in umad_read_iter() */
	end = iter_iov(from) + from->nr_segs;
	for (iov = iter_iov(from); iov < end; iov++) {
		if (!iov->iov_len && done)
			continue;
		ret = umad_write_message(file,
					 (struct umad_buf) { .user = iov->iov_base },
					 iov->iov_len, nowait);
		if (ret < 0)
			break;
		done += ret;
	}
	return done ?: ret;
}

/*
 * Whoever waits for a response has to learn that there will be none: that none
 * came, that there was no room for it, or that the request failed after write()
 * had returned. An RMPP message can time out although no response is expected.
 * What ends because its agent is being unregistered has not failed, and nobody waits:
 * the agent has no users any more.
 */
static bool umad_send_lost(const struct umad_agent *agent,
			   struct umad_packet *packet, enum ib_wc_status status)
{
	const struct umad_port *port = agent->file->port;

	if (status == IB_WC_RESP_TIMEOUT_ERR) {
		umad_count(port, UMAD_STAT_TIMEOUTS);
		trace_ib_umad_timeout(agent, umad_packet_mad(packet), UMAD_STAT_TIMEOUTS);
		return true;
	}
	if (!refcount_read(&agent->users))
		return false;
	if (status != IB_WC_SUCCESS)
		umad_count(port, UMAD_STAT_SEND_ERRORS);
	return !packet->no_record;
}

/* A send turns into its own record */
static void umad_send_record(struct umad_file *file, struct umad_packet *packet)
{
	packet->length = packet->hdr_len + IB_MGMT_MAD_HDR;
	packet->first_len = packet->length;
	umad_packet_hdr(packet)->status = ETIMEDOUT;
	umad_queue_add(file, packet);
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

	/* Most have ended with their response */
	if (packet->hashed)
		umad_transaction_end(file, packet);
	atomic_dec(&agent->outstanding);
	atomic_dec(&file->sends);
	umad_ah_put(send_wc->send_buf);
	ib_free_send_mad(send_wc->send_buf);

	if (packet->loose)
		umad_packet_recount(file, packet);

	if (umad_send_lost(agent, packet, send_wc->status))
		umad_send_record(file, packet);
	else
		umad_packet_free(file, packet);
}
