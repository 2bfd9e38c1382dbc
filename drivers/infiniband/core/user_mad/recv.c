// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Receiving: from the MAD layer's handler to read().
 *
 * The user header is filled in when something arrives, as ib_mad_recv_wc.wc does
 * not live longer: for SMPs that the port answers itself, it is on the stack of
 * whoever called the handler. A MAD is copied at once, and its buffer given back.
 * An RMPP message stays in its buffers until it is read.
 */
#include <linux/fs.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>
#include <linux/uio.h>
#include <rdma/ib_verbs.h>

#include "user_mad.h"

static int umad_packet_copy(struct umad_file *file, struct umad_packet *packet,
			    char __user *buf, size_t count)
{
	size_t len = count < packet->length ? packet->first_len : packet->length;

	if (packet->rmpp)
		return umad_rmpp_read(file->payer, packet, buf, len);
	return umad_copy(copy_to_user, buf, &packet->data[0], len,
			 UMAD_PACKET_LEN, UMAD_TIMEOUT_LEN) ? -EFAULT : 0;
}

/* Returns what umad_read() does */
static ssize_t umad_read_packet(struct umad_file *file, char __user *buf,
				size_t count, bool nonblock)
{
	struct umad_packet *packet;
	ssize_t ret;

	if (count < READ_ONCE(file->hdr_len))
		return -EINVAL;

	while (!(packet = umad_queue_take(file, count))) {
		if (nonblock)
			return -EAGAIN;
		ret = umad_queue_wait(file);
		if (ret)
			return ret;
	}
	if (IS_ERR(packet))
		return PTR_ERR(packet);

	ret = umad_packet_copy(file, packet, buf, count);
	if (ret) {
		umad_queue_restore(file, packet);
		return ret;
	}

	if (tracepoint_enabled(ib_umad_read_recv) ||
	    tracepoint_enabled(ib_umad_read_send))
		umad_trace_read(file, packet);
	ret = packet->length;
	umad_packet_free(file, packet);
	return ret;
}

/**
 * umad_read - read a received MAD or RMPP message, or the record of a timeout
 * @filp: descriptor of umadN
 * @buf: room for user header and MAD
 * @count: how much room
 * @pos: unused
 *
 * Context: process context; nothing is held while user memory is written.
 * Return: length of what was read, or
 *  * -EINVAL: no room for one MAD; the packet waits for a better read
 *  * -ENOSPC: no room for the whole message; header and first segment
 *    were written, and the message waits for a better read
 *  * -EFAULT: bad pointer; the packet waits for a better read
 *  * -EINTR: the reader is being killed; the packet stays
 *  * -EAGAIN: nothing there, and the descriptor is non-blocking
 *  * -EIO: the device is gone
 *  * -ERESTARTSYS: a signal came first
 */
ssize_t umad_read(struct file *filp, char __user *buf, size_t count,
		  loff_t *pos)
{
	return umad_read_packet(filp->private_data, buf, count,
				filp->f_flags & O_NONBLOCK);
}

/**
 * umad_read_iter - read several packets, one into each element
 * @iocb: of a descriptor of umadN
 * @to: user memory, as of readv() and io_uring
 *
 * What is left of an element behind its packet stays as it was. Only the first
 * packet is waited for, and with IOCB_NOWAIT not even that.
 *
 * This is apart from umad_read() because the way here is longer, and most programs
 * read one packet at a time.
 *
 * Context: process context; nothing is held while user memory is written.
 * Return: length of all packets that were read. If there is none, what umad_read()
 * returns, or -EINVAL if @to is no user memory, as of io_uring's registered
 * buffers.
 */
ssize_t umad_read_iter(struct kiocb *iocb, struct iov_iter *to)
{
	struct file *filp = iocb->ki_filp;
	bool nonblock = (filp->f_flags & O_NONBLOCK) ||
			(iocb->ki_flags & IOCB_NOWAIT);
	const struct iovec *iov, *end;
	ssize_t ret = -EINVAL;
	ssize_t done = 0;

	if (!user_backed_iter(to))
		return -EINVAL;

	/* Nobody hands us the rest of a vector, with an offset into an element */
	end = iter_iov(to) + to->nr_segs;
	for (iov = iter_iov(to); iov < end; iov++) {
		/* The first is too small, but no later one, as for who has no iterator */
		if (!iov->iov_len && done)
			continue;
		ret = umad_read_packet(filp->private_data, iov->iov_base,
				       iov->iov_len, nonblock);
		if (ret < 0)
			break;
		done += ret;
		nonblock = true;
	}
	return done ?: ret;
}

static int umad_fill_hdr(struct umad_packet *packet,
			 const struct umad_agent *agent,
			 const struct ib_mad_agent *mad_agent,
			 const struct ib_mad_recv_wc *recv_wc)
{
	struct ib_user_mad_hdr *hdr = umad_packet_hdr(packet);
	const struct ib_wc *wc = recv_wc->wc;

	/*
	 * All of it, as the packet may have been used before. In the old layout the
	 * MAD is put over the P_Key index afterwards. Of an OPA LID this has the lower
	 * half; clients have other ways to the rest.
	 */
	*hdr = (struct ib_user_mad_hdr) {
		.id		= agent->id,
		.length		= packet->length,
		.qpn		= cpu_to_be32(wc->src_qp),
		.lid		= cpu_to_be16(wc->slid),
		.sl		= wc->sl,
		.path_bits	= wc->dlid_path_bits,
		.grh_present	= !!(wc->wc_flags & IB_WC_GRH),
		.pkey_index	= wc->pkey_index,
	};
	return hdr->grh_present ? umad_grh_from_wc(mad_agent, recv_wc, hdr) : 0;
}

/* Returns false if there is no room for an RMPP message, which is not copied */
static bool umad_fill_mad(struct umad_file *file,
			  const struct ib_mad_agent *mad_agent,
			  struct umad_packet *packet,
			  struct ib_mad_recv_wc *recv_wc)
{
	const struct ib_mad *mad = recv_wc->recv_buf.mad;
	size_t len = recv_wc->mad_len;

	packet->first_len = packet->hdr_len + min(len, recv_wc->mad_seg_size);
	if (len > UMAD_MAD_SIZE) {
		packet->rmpp = umad_rmpp_keep(file->payer, packet, recv_wc,
					      rdma_max_mad_size(mad_agent->device,
								mad_agent->port_num));
		return packet->rmpp;
	}

	umad_copy(memcpy, packet->data + packet->hdr_len, mad, len,
		  UMAD_MAD_SIZE, UMAD_MAD_SIZE);
	return true;
}

/**
 * umad_recv_len_valid - whether something of this length can be received
 * @mad_len: length of the MAD or RMPP message, as the MAD layer has counted it
 * @hdr_len: length of the user header
 *
 * The MAD layer adds up the segments of a message in int, and whoever sends them
 * decides how many there are. What is longer than a read() can be would stay in
 * the queue for ever.
 *
 * Return: true if it has a MAD header and can be read.
 */
bool umad_recv_len_valid(int mad_len, u8 hdr_len)
{
	return mad_len >= IB_MGMT_MAD_HDR && mad_len <= MAX_RW_COUNT - hdr_len;
}

/* Returns what has become of it: one of UMAD_STAT_DROPPED_*, or received */
static enum umad_stat umad_recv_packet(struct umad_agent *agent,
				       const struct ib_mad_agent *mad_agent,
				       struct ib_mad_recv_wc *recv_wc,
				       struct umad_packet **result)
{
	struct umad_file *file = agent->file;
	struct umad_packet *packet;
	enum umad_stat dropped;

	if (!umad_recv_len_valid(recv_wc->mad_len, agent->hdr_len))
		return UMAD_STAT_DROPPED_LIMIT;

	packet = umad_packet_alloc_recv(file, agent->hdr_len, recv_wc->mad_len);
	if (!packet)
		return UMAD_STAT_DROPPED_MEMORY;

	if (umad_fill_hdr(packet, agent, mad_agent, recv_wc)) {
		dropped = UMAD_STAT_DROPPED_ADDRESS;
	} else if (!umad_fill_mad(file, mad_agent, packet, recv_wc)) {
		dropped = UMAD_STAT_DROPPED_LIMIT;
	} else {
		*result = packet;
		return UMAD_STAT_RECEIVED;
	}
	umad_packet_free(file, packet);
	return dropped;
}

static void umad_free_recv(struct ib_mad_recv_wc *recv_wc)
{
	if (list_is_singular(&recv_wc->rmpp_list))
		ib_free_recv_mad(recv_wc);
	else
		umad_segments_drop(&recv_wc->rmpp_list);
}

/*
 * Once it is in the queue, an RMPP message is the reader's, and with it @recv_wc.
 * What was dropped is still the caller's. Returns what umad_recv_packet() does.
 */
static enum umad_stat umad_queue_recv(struct umad_agent *agent,
				      const struct ib_mad_agent *mad_agent,
				      struct ib_mad_recv_wc *recv_wc)
{
	struct umad_file *file = agent->file;
	struct umad_packet *packet;
	enum umad_stat stat;
	bool rmpp;

	stat = umad_recv_packet(agent, mad_agent, recv_wc, &packet);
	if (stat != UMAD_STAT_RECEIVED)
		return stat;

	rmpp = packet->rmpp;
	if (!umad_queue_add_recv(file, packet)) {
		if (rmpp)
			umad_rmpp_give_back(file->payer, packet, recv_wc);
		umad_packet_free(file, packet);
		return UMAD_STAT_DROPPED_LIMIT;
	}
	if (!rmpp)
		umad_free_recv(recv_wc);
	return UMAD_STAT_RECEIVED;
}

static void umad_recv_drop(struct umad_agent *agent,
			   struct ib_mad_recv_wc *recv_wc, enum umad_stat reason)
{
	umad_queue_count_drop(agent->file);
	umad_count(agent->file->port, reason);
	umad_trace_drop(agent, &recv_wc->recv_buf.mad->mad_hdr, reason);
	umad_free_recv(recv_wc);
}

/* Whether the MAD layer has put it together, if only of one segment */
static bool umad_recv_is_message(const struct ib_mad_agent *mad_agent,
				 const struct umad_rmpp_mad *mad)
{
	/* The flag first: of most MADs it is clear, and the others are calls */
	return umad_rmpp_active(mad) && ib_mad_kernel_rmpp_agent(mad_agent) &&
	       ib_is_mad_class_rmpp(mad->mad_hdr.mgmt_class);
}

/**
 * umad_recv_handler - the MAD layer has received a MAD or RMPP message
 * @mad_agent: the agent it is for
 * @send_buf: the send it came with, see umad_transaction_response(), or NULL
 * @recv_wc: what was received; owned by us
 *
 * Context: a worker of the MAD layer.
 */
void umad_recv_handler(struct ib_mad_agent *mad_agent,
		       struct ib_mad_send_buf *send_buf,
		       struct ib_mad_recv_wc *recv_wc)
{
	struct umad_agent *agent = mad_agent->context;
	struct umad_packet *request;
	enum umad_stat stat;
	bool message;

	if (recv_wc->wc->status != IB_WC_SUCCESS) {
		umad_free_recv(recv_wc);
		return;
	}

	request = umad_transaction_response(mad_agent, send_buf,
					    &recv_wc->recv_buf.mad->mad_hdr);
	message = umad_recv_is_message(mad_agent, (void *)recv_wc->recv_buf.mad);
	stat = umad_queue_recv(agent, mad_agent, recv_wc);
	if (stat != UMAD_STAT_RECEIVED) {
		umad_recv_drop(agent, recv_wc, stat);
		return;
	}

	umad_count(agent->file->port,
		   message ? UMAD_STAT_RMPP_RECEIVED : UMAD_STAT_RECEIVED);
	if (request)
		request->settled = true;
}
