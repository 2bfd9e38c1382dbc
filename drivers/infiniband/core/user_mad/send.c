// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Sending: from write() to the completion by the MAD layer.
 *
 * User memory is read, and memory waited for, with nothing held. So an attempt to
 * send waits for neither. If it lacks something it is undone, the writer provides
 * what it lacked, and makes another attempt.
 */
#include <linux/fs.h>
#include <linux/memcontrol.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/uio.h>
#include <rdma/ib_verbs.h>

#include "user_mad.h"

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
	bool active = umad_rmpp_active(rmpp_mad);
	/* Asking for the class is a call, and needless for most MADs */
	bool rmpp_class = (kernel_rmpp || active) && ib_is_mad_class_rmpp(class);

	if (len < hdr_len)
		return -EINVAL;

	plan->own_rmpp_hdr = kernel_rmpp && rmpp_class;
	plan->rmpp = plan->own_rmpp_hdr && active;
	plan->repeat = !kernel_rmpp && active && rmpp_class;

	/* The MAD layer counts in int, up to the end of the last segment */
	if (len > (plan->rmpp ? INT_MAX - mad_size : mad_size))
		return -EINVAL;

	plan->hdr_len = hdr_len;
	plan->data_len = len - hdr_len;
	return 0;
}

/* Returns 0, a negative errno or enum umad_lack, as all parts of an attempt */
static int umad_create_send_mad(struct umad_agent *agent,
				struct umad_message *m,
				const struct umad_plan *plan,
				struct ib_mad_send_buf **result)
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
	if (IS_ERR(msg))
		return PTR_ERR(msg) == -ENOMEM ? UMAD_LACK_ROOM : PTR_ERR(msg);

	ret = umad_message_fill(m, plan, msg);
	if (ret) {
		ib_free_send_mad(msg);
		return ret;
	}

	msg->timeout_ms = hdr->timeout_ms;
	msg->retries = hdr->retries;
	*result = msg;
	return 0;
}

/*
 * The upper half of a request's transaction ID is the agent's, by which the
 * MAD layer finds whom a response is for.
 */
static void umad_set_tid(const struct umad_agent *agent, struct ib_mad_hdr *mad)
{
	u64 tid = be64_to_cpu(mad->tid);

	mad->tid = cpu_to_be64((u64)agent->mad_agent->hi_tid << 32 |
			       lower_32_bits(tid));
}

/* @packet and @msg are the MAD layer's on success, and the caller's if not */
static int umad_post(struct umad_agent *agent, struct umad_message *m,
		     struct umad_packet *packet, struct ib_mad_send_buf *msg)
{
	struct umad_file *file = agent->file;
	struct ib_mad_hdr *mad;
	int ret;

	packet->hdr_len = m->hdr_len;
	umad_copy(memcpy, &packet->data[0], &m->head[0], m->hdr_len + IB_MGMT_MAD_HDR,
		  UMAD_TIMEOUT_LEN,
		  sizeof(struct ib_user_mad_hdr_old) + IB_MGMT_MAD_HDR);
	mad = umad_packet_mad(packet);
	packet->response = ib_response_mad(mad);
	packet->settled = !msg->timeout_ms;
	if (!packet->response)
		umad_set_tid(agent, mad);
	((struct ib_mad_hdr *)msg->mad)->tid = mad->tid;

	ret = umad_transaction_begin(file, packet);
	if (ret == -EINVAL)
		umad_count(file->port, UMAD_STAT_REFUSED_DUPLICATE);
	if (ret)
		return ret == -ENOMEM ? UMAD_LACK_TABLE : ret;

	msg->context[0] = packet;
	atomic_inc(&agent->outstanding);
	ret = ib_post_send_mad(msg, NULL);
	if (ret) {
		atomic_dec(&agent->outstanding);
		umad_transaction_end(file, packet);
		/* The device may not like its address any more */
		umad_ah_drop(agent);
	}
	return ret;
}

/*
 * A send without response counts until its timeout record is read, as no other
 * limit applies to that.
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
	int ret;

	if (!umad_send_room(file)) {
		ret = -ENOBUFS;
		goto err_count;
	}

	packet = umad_packet_alloc_send(file, plan->repeat);
	if (!packet) {
		ret = UMAD_LACK_ROOM;
		goto err_count;
	}

	ret = umad_create_send_mad(agent, m, plan, &msg);
	if (ret)
		goto err_packet;

	ret = umad_ah_get(agent, umad_message_hdr(m), m->nowait, msg);
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

	return umad_plan_send(mad, m->len, agent->kernel_rmpp, mad_size, plan);
}

/*
 * One attempt. Returns 0, a negative errno, or enum umad_lack if another one may
 * succeed. Each looks up the agent anew, as it may be another one by then.
 */
static int umad_attempt(struct umad_file *file, struct umad_message *m)
{
	struct umad_agent *agent;
	struct umad_plan plan;
	int ret;

	agent = umad_agent_get(file, umad_message_hdr(m)->id);
	if (!agent)
		return -EIO;

	ret = umad_plan_message(agent, m, &plan);
	if (!ret && m->head_len < m->len && !m->faulted)
		ret = UMAD_LACK_PAGES;
	if (!ret)
		ret = umad_send(agent, m, &plan);
	if (!ret)
		umad_count(file->port,
			   plan.rmpp ? UMAD_STAT_RMPP_SENT : UMAD_STAT_SENT);

	umad_agent_put(agent);
	return ret;
}

static void umad_count_refusal(const struct umad_file *file, int ret)
{
	if (ret == -ENOBUFS)
		umad_count(file->port, UMAD_STAT_REFUSED_LIMIT);
	else if (ret == -ENOMEM)
		umad_count(file->port, UMAD_STAT_REFUSED_MEMORY);
}

/* Returns what umad_write() does, or -EAGAIN if that has to wait and must not */
static ssize_t umad_write_message(struct umad_file *file, const char __user *buf,
				  size_t count, bool nowait)
{
	const struct ib_user_mad_hdr *hdr;
	u8 hdr_len = READ_ONCE(file->hdr_len);
	/* Not cleared, as nearly all of it is written to by umad_message_init() */
	struct umad_message m __uninitialized;
	int ret;

	if (count < hdr_len + IB_MGMT_RMPP_HDR)
		return -EINVAL;

	ret = umad_message_init(&m, buf, count - hdr_len, hdr_len, nowait);
	if (ret)
		return ret;

	hdr = umad_message_hdr(&m);
	if (hdr->id >= UMAD_MAX_AGENTS)
		return -EINVAL;

	if (tracepoint_enabled(ib_umad_write))
		umad_trace_write(file, hdr, hdr_len,
				 &umad_message_mad(&m)->mad_hdr);

	do {
		ret = umad_attempt(file, &m);
	} while (ret > 0 && !(ret = umad_message_provide(file, &m, ret)));

	umad_message_exit(&m);
	if (!ret)
		return count;
	umad_count_refusal(file, ret);
	return ret;
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
 *  * -ENOMEM: no memory, or none left to the opener's cgroup
 *  * -ENOBUFS: as many sends are outstanding or timed out as may be
 *  * what rdma_create_user_ah() and ib_post_send_mad() return
 */
ssize_t umad_write(struct file *filp, const char __user *buf, size_t count,
		   loff_t *pos)
{
	return umad_write_message(filp->private_data, buf, count, false);
}

/**
 * umad_write_iter - send several MADs or RMPP messages, one from each element
 * @iocb: of a descriptor of umadN
 * @from: user memory, as of writev() and io_uring
 *
 * The first element that is refused ends it. With IOCB_NOWAIT, an element that
 * could be sent only after waiting is refused with -EAGAIN: for memory, or for an
 * address on RoCE.
 *
 * This is apart from umad_write() for the same reason as umad_read_iter() is from
 * umad_read().
 *
 * Context: process context; nothing is held while user memory is read.
 * Return: length of all elements that were sent. If there is none, what
 * umad_write() returns, -EAGAIN, or -EINVAL if @from is no user memory, as of
 * io_uring's registered buffers.
 */
ssize_t umad_write_iter(struct kiocb *iocb, struct iov_iter *from)
{
	struct umad_file *file = iocb->ki_filp->private_data;
	bool nowait = iocb->ki_flags & IOCB_NOWAIT;
	const struct iovec *iov, *end;
	ssize_t ret = -EINVAL;
	ssize_t done = 0;

	if (!user_backed_iter(from))
		return -EINVAL;

	/* As in umad_read_iter() */
	end = iter_iov(from) + from->nr_segs;
	for (iov = iter_iov(from); iov < end; iov++) {
		if (!iov->iov_len && done)
			continue;
		ret = umad_write_message(file, iov->iov_base, iov->iov_len, nowait);
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
 * Nobody waits if the agent is being unregistered, and has no users any more.
 */
static bool umad_send_lost(const struct umad_agent *agent,
			   const struct umad_packet *packet,
			   enum ib_wc_status status)
{
	if (status == IB_WC_RESP_TIMEOUT_ERR)
		return true;
	return !packet->settled && refcount_read(&agent->users);
}

/* What ends because its agent is being unregistered has not failed */
static void umad_send_failed(const struct umad_agent *agent,
			     struct umad_packet *packet,
			     enum ib_wc_status status)
{
	const struct umad_port *port = agent->file->port;

	if (status == IB_WC_RESP_TIMEOUT_ERR) {
		umad_count(port, UMAD_STAT_TIMEOUTS);
		umad_trace_timeout(agent, umad_packet_mad(packet));
	} else if (refcount_read(&agent->users)) {
		umad_count(port, UMAD_STAT_SEND_ERRORS);
	}
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
	atomic_dec(&agent->outstanding);
	atomic_dec(&file->sends);
	umad_ah_put(send_wc->send_buf);
	ib_free_send_mad(send_wc->send_buf);

	if (send_wc->status != IB_WC_SUCCESS)
		umad_send_failed(agent, packet, send_wc->status);
	if (umad_send_lost(agent, packet, send_wc->status))
		umad_queue_add_timeout(file, packet);
	else
		umad_packet_free(file, packet);
}
