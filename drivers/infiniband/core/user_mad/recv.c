// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Receiving: from the MAD layer's handler to read().
 *
 * The handler fills in the user header, as ib_mad_recv_wc.wc does not live longer: for SMPs
 * that the port answers itself, it is on the stack of the caller. The handler copies a MAD
 * and frees its buffer. An RMPP message of several segments stays in its buffers until a
 * reader has it.
 */
#include "trace.h"
#include "user_mad.h"

/* More unread MADs than this on a descriptor, and further ones are dropped. */
#define UMAD_MAX_UNREAD	200000

static int umad_queued_copy(struct umad_queued *queued, struct umad_user *to, size_t count)
{
	size_t len = count < queued->length ? queued->first_len : queued->length;

	if (queued->is_segmented)
		return umad_rmpp_read(umad_queued_recv(queued), to, len);
	return umad_copy_to(to, umad_queued_hdr(queued), len);
}

static ssize_t umad_read_packet(struct umad_file *file, struct umad_user *to, size_t count,
				bool nonblock)
{
	struct umad_queued *queued;
	ssize_t ret;

	if (count < READ_ONCE(file->hdr_len))
		return -EINVAL;

	while (!(queued = umad_queue_take(file, count))) {
		if (nonblock)
			return -EAGAIN;
		ret = umad_queue_wait(file);
		if (ret)
			return ret;
	}
	if (IS_ERR(queued)) {
		/* The queue may have woken only this reader, which has no room */
		umad_queue_wake(file);
		return PTR_ERR(queued);
	}

	ret = umad_queued_copy(queued, to, count);
	if (ret) {
		umad_queue_restore(file, queued);
		return ret;
	}

	if (trace_ib_umad_read_send_enabled() && queued->is_send)
		trace_ib_umad_read_send(file->port, umad_queued_hdr(queued),
					queued->hdr_len, umad_queued_mad(queued));
	if (trace_ib_umad_read_recv_enabled() && !queued->is_send)
		trace_ib_umad_read_recv(file->port, umad_queued_hdr(queued),
					queued->hdr_len, umad_queued_mad(queued));
	ret = queued->length;
	umad_queued_free(file, queued);
	return ret;
}

/*
 * Reads one packet into each element of @to, and does not change the rest of an element. It
 * waits for the first packet only. It returns the length of all packets, or an error if
 * there is none; user_mad.rst has the errors. A packet that cannot be read stays. Nothing is
 * held while the reader's memory is written.
 */
ssize_t umad_read_iter(struct kiocb *iocb, struct iov_iter *to)
{
	bool nonblock = (iocb->ki_filp->f_flags & O_NONBLOCK) || (iocb->ki_flags & IOCB_NOWAIT);

	return umad_each_element(iocb, to, umad_read_packet, nonblock, true);
}

ssize_t umad_read(struct file *filp, char __user *buf, size_t count, loff_t *pos)
{
	struct umad_user to = { .buf = buf };

	return umad_read_packet(filp->private_data, &to, count, filp->f_flags & O_NONBLOCK);
}

static int umad_fill_hdr(struct umad_recv *recv, const struct umad_agent *agent,
			 const struct ib_mad_agent *mad_agent,
			 const struct ib_mad_recv_wc *recv_wc)
{
	struct ib_user_mad_hdr *hdr = (void *)recv->data;
	const struct ib_wc *wc = recv_wc->wc;

	/*
	 * Sets all fields, as the packet may have been used before. Of an OPA LID it has the
	 * lower half; clients have other ways to the rest.
	 */
	*hdr = (struct ib_user_mad_hdr) {
		.id		= agent->id,
		.length		= recv->queued.length,
		.qpn		= cpu_to_be32(wc->src_qp),
		.lid		= cpu_to_be16(wc->slid),
		.sl		= wc->sl,
		.path_bits	= wc->dlid_path_bits,
		.grh_present	= !!(wc->wc_flags & IB_WC_GRH),
		.pkey_index	= wc->pkey_index,
	};
	return hdr->grh_present ? umad_grh_from_wc(mad_agent, recv_wc, hdr) : 0;
}

/*
 * Whether a packet of this length has a MAD header and can be read. The MAD layer adds up
 * the segments of a message in int, and the sender decides how many there are. A packet
 * longer than a read() can be would stay in the queue for ever.
 */
bool umad_recv_len_valid(int mad_len, u8 hdr_len)
{
	return mad_len >= IB_MGMT_MAD_HDR && mad_len <= MAX_RW_COUNT - hdr_len;
}

/*
 * Queues a MAD or message. On success, 0, the reader owns it, and the buffers of an RMPP
 * message. Or else the caller still owns @recv_wc, and counts the reason that this returns.
 */
static enum umad_stat umad_queue_recv(struct umad_agent *agent,
				      const struct ib_mad_agent *mad_agent,
				      struct ib_mad_recv_wc *recv_wc)
{
	bool segmented = recv_wc->mad_len > recv_wc->mad_seg_size;
	struct umad_file *file = agent->file;
	u8 hdr_len = READ_ONCE(file->hdr_len);
	struct umad_recv *recv;

	if (!umad_recv_len_valid(recv_wc->mad_len, hdr_len) ||
	    READ_ONCE(file->unread) > UMAD_MAX_UNREAD)
		return UMAD_STAT_DROPPED_LIMIT;

	if (segmented)
		recv = umad_rmpp_keep(file, hdr_len, recv_wc,
				      rdma_max_mad_size(mad_agent->device, mad_agent->port_num));
	else
		recv = umad_recv_alloc(file, hdr_len, recv_wc->mad_len);
	if (!recv)
		return segmented ? UMAD_STAT_DROPPED_RMPP : UMAD_STAT_DROPPED_MEMORY;

	if (umad_fill_hdr(recv, agent, mad_agent, recv_wc)) {
		if (segmented)
			umad_rmpp_give_back(file, recv, recv_wc);
		else
			umad_recv_free(file, recv);
		return UMAD_STAT_DROPPED_ADDRESS;
	}

	if (!segmented) {
		/* In the old layout this overwrites the P_Key index */
		if (recv_wc->mad_len == UMAD_MAD_SIZE)
			memcpy(recv->data + hdr_len, recv_wc->recv_buf.mad, UMAD_MAD_SIZE);
		else
			memcpy(recv->data + hdr_len, recv_wc->recv_buf.mad, recv_wc->mad_len);
		ib_free_recv_mad(recv_wc);
	}
	umad_queue_add(file, &recv->queued);
	return 0;
}

static void umad_recv_drop(struct umad_agent *agent,
			   struct ib_mad_recv_wc *recv_wc, enum umad_stat reason)
{
	struct umad_file *file = agent->file;

	spin_lock(&file->queue_lock);
	file->dropped++;
	spin_unlock(&file->queue_lock);
	umad_count(file->port, reason);
	trace_ib_umad_drop(agent, &recv_wc->recv_buf.mad->mad_hdr, reason);
	ib_free_recv_mad(recv_wc);
}

/* Whether the MAD layer has reassembled it, even if from one segment */
static bool umad_recv_is_rmpp(const struct umad_agent *agent, const struct umad_rmpp_mad *mad)
{
	return umad_kernel_rmpp(agent) && umad_rmpp_active(mad) &&
	       ib_is_mad_class_rmpp(mad->mad_hdr.mgmt_class);
}

/*
 * A worker of the MAD layer hands over a MAD or RMPP message for @mad_agent, which this
 * module has to free. @send_buf: see umad_transaction_response().
 */
void umad_recv_handler(struct ib_mad_agent *mad_agent, struct ib_mad_send_buf *send_buf,
		       struct ib_mad_recv_wc *recv_wc)
{
	struct umad_agent *agent = mad_agent->context;
	struct umad_send *request;
	enum umad_stat reason;
	bool rmpp;

	if (recv_wc->wc->status != IB_WC_SUCCESS) {
		ib_free_recv_mad(recv_wc);
		return;
	}

	request = umad_transaction_response(mad_agent, send_buf, &recv_wc->recv_buf.mad->mad_hdr);
	rmpp = umad_recv_is_rmpp(agent, (void *)recv_wc->recv_buf.mad);
	reason = umad_queue_recv(agent, mad_agent, recv_wc);
	if (reason) {
		umad_recv_drop(agent, recv_wc, reason);
		return;
	}

	umad_count(agent->file->port, rmpp ? UMAD_STAT_RMPP_RECEIVED : UMAD_STAT_RECEIVED);
	if (request)
		request->no_record = true;
}
