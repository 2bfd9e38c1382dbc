// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Sending: from write() to the completion by the MAD layer.
 *
 * A writer reads user memory before it takes an agent, as the removal of the device waits
 * for writers that have one. Later it waits only for memory, and on RoCE for an address.
 */
#include <linux/memcontrol.h>
#include <linux/module.h>
#include <linux/sched/mm.h>

#include "trace.h"
#include "user_mad.h"

/*
 * A limit for programs that have lost control, in no cgroup with a limit: 65,536 sends
 * take about 80 MB. A subnet manager that asks a whole fabric at once has far fewer. An RMPP
 * message of any length counts once, as umad_file.long_sends limits its memory.
 */
static unsigned int umad_max_sends = 65536;
module_param_named(max_sends, umad_max_sends, uint, 0644);
MODULE_PARM_DESC(max_sends,
		 "How many sends may be outstanding or timed out and unread, for each descriptor");

/*
 * The MAD layer allocates all segments of a message at once, and cannot be stopped. This is
 * 1.3 million segments.
 */
#define UMAD_MAX_MESSAGE	SZ_256M

/*
 * Decides how a MAD of @len bytes is handed to the MAD layer, from its first
 * IB_MGMT_RMPP_HDR bytes. @kernel_rmpp: the agent leaves RMPP to the kernel. Returns
 * -EINVAL if the MAD lacks part of its class header, or is too long for one MAD and the
 * kernel is not asked to cut it, or too long for that.
 */
int umad_plan_send(const void *mad, size_t len, bool kernel_rmpp,
		   size_t mad_size, struct umad_plan *plan)
{
	const struct umad_rmpp_mad *rmpp_mad = mad;
	u8 class = rmpp_mad->mad_hdr.mgmt_class;
	size_t hdr_len = ib_get_mad_data_offset(class);
	bool active = umad_rmpp_active(rmpp_mad);
	/* The class is asked for last, as that is a call */
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
	/* A buffer for an OPA MAD has 4 KiB; a segment takes as much as a MAD, but holds less */
	plan->long_size = mad_size > UMAD_MAD_SIZE ? 2 * mad_size : 0;
	if (plan->rmpp)
		plan->long_size += DIV_ROUND_UP(len - hdr_len, mad_size - hdr_len) * mad_size;
	return 0;
}

/* Counts the buffers of a message as outstanding, while the descriptor has room for them */
static bool umad_long_charge(struct umad_file *file, size_t len)
{
	long all = atomic_long_read(&file->long_sends);

	do {
		if (all + len > umad_memory_share())
			return false;
	} while (!atomic_long_try_cmpxchg(&file->long_sends, &all, all + len));
	return true;
}

static struct ib_mad_send_buf *umad_create_send_mad(struct umad_agent *agent,
						    const struct umad_message *m,
						    const struct umad_plan *plan, gfp_t gfp)
{
	struct mem_cgroup *old = set_active_memcg(agent->file->memcg);
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

/* Makes the MAD layer's buffers, and the struct umad_send that may become a record */
static struct ib_mad_send_buf *umad_create_send(struct umad_agent *agent,
						const struct umad_message *m,
						const struct umad_plan *plan)
{
	gfp_t gfp = __GFP_ACCOUNT | (m->nowait ? GFP_NOWAIT | __GFP_NOWARN : UMAD_GFP_WRITER);
	struct umad_file *file = agent->file;
	struct ib_mad_send_buf *msg;
	struct umad_send *send;

	if (plan->long_size && !umad_long_charge(file, plan->long_size))
		return ERR_PTR(-ENOMEM);

	send = umad_send_alloc(file, gfp);
	msg = send ? umad_create_send_mad(agent, m, plan, gfp) : ERR_PTR(-ENOMEM);
	if (IS_ERR(msg)) {
		if (send)
			umad_send_free(file, send);
		atomic_long_sub(plan->long_size, &file->long_sends);
		return msg;
	}
	send->long_size = plan->long_size;
	msg->context[0] = send;
	return msg;
}

/* Frees the MAD layer's buffers, and leaves their struct umad_send to the caller */
static void umad_free_send(struct umad_file *file, struct ib_mad_send_buf *msg)
{
	struct umad_send *send = msg->context[0];

	ib_free_send_mad(msg);
	if (send->long_size)
		atomic_long_sub(send->long_size, &file->long_sends);
}

/* On success the MAD layer owns @msg, or else the caller */
static int umad_post(struct umad_agent *agent, const struct umad_message *m,
		     const struct umad_plan *plan, struct ib_mad_send_buf *msg)
{
	struct umad_send *send = msg->context[0];
	struct umad_file *file = agent->file;
	struct ib_mad_hdr *mad;
	int ret = 0;

	send->queued.hdr_len = m->hdr_len;
	/* Of the old layout this copies more than needed, as a constant length is cheaper */
	memcpy(send->data, m->head, UMAD_TIMEOUT_LEN);
	mad = umad_send_mad(send);
	send->response = ib_response_mad(mad);
	send->tracked = false;
	send->no_record = !msg->timeout_ms;
	/* By the upper half, the MAD layer finds the agent of a response */
	if (!send->response)
		mad->tid = cpu_to_be64((u64)agent->mad_agent->hi_tid << 32 |
				       lower_32_bits(be64_to_cpu(mad->tid)));
	((struct ib_mad_hdr *)msg->mad)->tid = mad->tid;

	if (!plan->user_rmpp)
		ret = umad_transaction_begin(file, send);
	if (ret) {
		umad_count(file->port, UMAD_STAT_REFUSED_DUPLICATE);
		return ret;
	}

	ret = ib_post_send_mad(msg, NULL);
	if (ret) {
		umad_transaction_end(file, send);
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
	struct umad_send *send;
	int ret;

	/* A timeout record counts until it is read, as nothing else limits those */
	if (atomic_inc_return(&file->sends) + READ_ONCE(file->timeouts) >
	    READ_ONCE(umad_max_sends)) {
		umad_count(file->port, UMAD_STAT_REFUSED_LIMIT);
		ret = -ENOBUFS;
		goto err_count;
	}

	msg = umad_create_send(agent, m, plan);
	if (IS_ERR(msg)) {
		ret = PTR_ERR(msg);
		if (ret == -ENOMEM && m->nowait)
			ret = -EAGAIN;
		else if (ret == -ENOMEM)
			umad_count(file->port, UMAD_STAT_REFUSED_MEMORY);
		goto err_count;
	}

	ret = umad_message_fill(m, plan, msg, file->port);
	/* On RoCE the writer may wait for an address next */
	umad_message_exit(m);
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
	send = msg->context[0];
	umad_free_send(file, msg);
	umad_send_free(file, send);
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
	return umad_plan_send(mad, m->len, umad_kernel_rmpp(agent), mad_size, plan);
}

/*
 * Pins the pages of a message longer than a MAD only after the plan has accepted it, and
 * without an agent held. Then it starts over.
 */
static int umad_send_message(struct umad_file *file, struct umad_message *m)
{
	struct umad_agent *agent;
	struct umad_plan plan;
	bool is_ready;
	int ret;

	do {
		agent = umad_agent_get(file, umad_message_hdr(m)->id);
		if (!agent)
			return -EIO;

		is_ready = m->is_ready;
		ret = umad_plan_message(agent, m, &plan);
		if (!ret && is_ready)
			ret = umad_send(agent, m, &plan);
		umad_agent_put(agent);

		if (!ret && !is_ready)
			ret = umad_message_pin(m, file->port);
	} while (!ret && !is_ready);

	return ret;
}

/*
 * Returns -EAGAIN before it reads anything, if it may have to wait and must not: io_uring
 * tries a hundred times before it has a worker wait.
 */
static ssize_t umad_write_message(struct umad_file *file, struct umad_user *from,
				  size_t count, bool nowait)
{
	const struct ib_user_mad_hdr *hdr;
	u8 hdr_len = READ_ONCE(file->hdr_len);
	/* Not cleared, as umad_message_init() writes nearly all of it */
	struct umad_message m __uninitialized;
	int ret;

	if (count < hdr_len + IB_MGMT_RMPP_HDR)
		return -EINVAL;
	if (nowait && (file->port->is_roce || count - hdr_len > UMAD_MAD_SIZE))
		return umad_port_gone(file->port) ? -EIO : -EAGAIN;

	ret = umad_message_init(&m, from, count - hdr_len, hdr_len, nowait);
	if (ret)
		return ret;

	hdr = umad_message_hdr(&m);
	if (hdr->id >= UMAD_MAX_AGENTS)
		return -EINVAL;

	trace_ib_umad_write(file->port, hdr, hdr_len, &umad_message_mad(&m)->mad_hdr);

	ret = umad_send_message(file, &m);
	umad_message_exit(&m);
	return ret ?: count;
}

/*
 * Sends a MAD or RMPP message from each element of @from, until one is refused. Returns the
 * length of those that were sent, or an error if there is none; user_mad.rst has the errors.
 * Nothing is held while the writer's memory is read.
 */
ssize_t umad_write_iter(struct kiocb *iocb, struct iov_iter *from)
{
	bool nowait = iocb->ki_flags & IOCB_NOWAIT;

	return umad_each_element(iocb, from, umad_write_message, nowait, nowait);
}

ssize_t umad_write(struct file *filp, const char __user *buf, size_t count, loff_t *pos)
{
	struct umad_user from = { .buf = (void __user *)buf };

	return umad_write_message(filp->private_data, &from, count, false);
}

/*
 * Whether a send ends in a record. A client has to learn that no response came, that there
 * was no room for it, or that the request failed after write() had returned. An RMPP message
 * can time out although no response is expected. A send that ends because its agent is being
 * unregistered, and so has no writers, has not failed, and no client waits for it.
 */
static bool umad_send_lost(const struct umad_agent *agent,
			   struct umad_send *send, enum ib_wc_status status)
{
	const struct umad_port *port = agent->file->port;

	if (status == IB_WC_RESP_TIMEOUT_ERR) {
		umad_count(port, UMAD_STAT_TIMEOUTS);
		trace_ib_umad_timeout(agent, umad_send_mad(send), UMAD_STAT_TIMEOUTS);
		return true;
	}
	if (atomic_read(&agent->users) == UMAD_AGENT_CLOSED)
		return false;
	if (status != IB_WC_SUCCESS)
		umad_count(port, UMAD_STAT_SEND_ERRORS);
	return !send->no_record;
}

/* Turns a send into its own record */
static void umad_send_record(struct umad_file *file, struct umad_send *send)
{
	send->queued = (struct umad_queued) {
		.length		= send->queued.hdr_len + IB_MGMT_MAD_HDR,
		.first_len	= send->queued.hdr_len + IB_MGMT_MAD_HDR,
		.hdr_len	= send->queued.hdr_len,
		.is_send	= true,
	};
	umad_send_hdr(send)->status = ETIMEDOUT;
	umad_queue_add(file, &send->queued);
}

/* A worker of the MAD layer, or ib_unregister_mad_agent(), has completed a send */
void umad_send_handler(struct ib_mad_agent *mad_agent, struct ib_mad_send_wc *send_wc)
{
	struct umad_send *send = send_wc->send_buf->context[0];
	struct umad_agent *agent = mad_agent->context;
	struct umad_file *file = agent->file;

	umad_transaction_end(file, send);
	atomic_dec(&file->sends);
	umad_ah_put(send_wc->send_buf);
	umad_free_send(file, send_wc->send_buf);

	if (umad_send_lost(agent, send, send_wc->status))
		umad_send_record(file, send);
	else
		umad_send_free(file, send);
}
