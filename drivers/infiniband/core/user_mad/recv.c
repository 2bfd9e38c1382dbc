// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Receiving: from the MAD layer's handler to read().
 *
 * The user header is filled in when something arrives, as ib_mad_recv_wc.wc does
 * not live longer: for SMPs that the port answers itself, it is on the stack of
 * whoever called the handler. A MAD is copied at once, and its buffer given back.
 * An RMPP message of several segments stays in its buffers until it is read.
 */
#include <linux/fs.h>
#include <linux/uaccess.h>
#include <linux/uio.h>
#include <rdma/ib_verbs.h>

#include "rmpp.h"
#include "trace.h"

/* More unread MADs than this on a descriptor, and further ones are dropped. */
#define UMAD_MAX_UNREAD	200000

static int umad_packet_copy(struct umad_packet *packet, struct umad_buf buf,
			    size_t count)
{
	size_t len = count < packet->length ? packet->first_len : packet->length;

	if (packet->rmpp)
		return umad_rmpp_read(packet, buf, len);
	if (buf.iter)
		return copy_to_iter(packet->data, len, buf.iter) == len ? 0 : -EFAULT;
	return umad_copy(copy_to_user, buf.user, &packet->data[0], len,
			 UMAD_PACKET_LEN, UMAD_TIMEOUT_LEN) ? -EFAULT : 0;
}

/* Returns what umad_read() does */
static ssize_t umad_read_packet(struct umad_file *file, struct umad_buf buf,
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
	if (IS_ERR(packet)) {
		/* Whoever was woken for a packet may not have room for it */
		umad_queue_wake(file);
		return PTR_ERR(packet);
	}

	ret = umad_packet_copy(packet, buf, count);
	if (ret) {
		umad_queue_restore(file, packet);
		return ret;
	}

	if (trace_ib_umad_read_send_enabled() && packet->sent)
		trace_ib_umad_read_send(file->port, umad_packet_hdr(packet),
					packet->hdr_len, umad_packet_mad(packet));
	if (trace_ib_umad_read_recv_enabled() && !packet->sent)
		trace_ib_umad_read_recv(file->port, umad_packet_hdr(packet),
					packet->hdr_len, umad_first_mad(packet));
	ret = packet->length;
	umad_packet_discard(file, packet);
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
	return umad_read_packet(filp->private_data,
				(struct umad_buf) { .user = buf }, count,
				filp->f_flags & O_NONBLOCK);
}

/**
 * umad_read_iter - read several packets, one into each element
 * @iocb: of a descriptor of umadN
 * @to: user memory, as of readv() and io_uring; or a registered buffer of io_uring,
 *	which gets one packet
 *
 * What is left of an element behind its packet stays as it was. Only the first
 * packet is waited for, and with IOCB_NOWAIT not even that.
 *
 * This is apart from umad_read() because the way here is longer, and most programs
 * read one packet at a time.
 *
 * Context: process context; nothing is held while user memory is written.
 * Return: length of all packets that were read. If there is none, what umad_read()
 * returns, or -EINVAL for io_submit(), as ever.
 */
ssize_t umad_read_iter(struct kiocb *iocb, struct iov_iter *to)
{
	struct file *filp = iocb->ki_filp;
	bool nonblock = (filp->f_flags & O_NONBLOCK) ||
			(iocb->ki_flags & IOCB_NOWAIT);
	const struct iovec *iov, *end;
	ssize_t ret = -EINVAL;
	ssize_t done = 0;

	if (iocb->ki_flags & IOCB_AIO_RW)
		return -EINVAL;
	if (!user_backed_iter(to))
		return umad_read_packet(filp->private_data,
					(struct umad_buf) { .iter = to },
					iov_iter_count(to), nonblock);

	/* Nobody hands us the rest of a vector, with an offset into an element */
	end = iter_iov(to) + to->nr_segs;
	for (iov = iter_iov(to); iov < end; iov++) {
		/* The first is too small, but no later one, as for who has no iterator */
		if (!iov->iov_len && done)
			continue;
		ret = umad_read_packet(filp->private_data,
				       (struct umad_buf) { .user = iov->iov_base },
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
	 * All of it, as the packet may have been used before. Of an OPA LID this has
	 * the lower half; clients have other ways to the rest.
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

/* In the old layout the MAD is put over the P_Key index */
static int umad_recv_fill(struct umad_packet *packet, const struct umad_agent *agent,
			  const struct ib_mad_agent *mad_agent,
			  const struct ib_mad_recv_wc *recv_wc)
{
	int ret = umad_fill_hdr(packet, agent, mad_agent, recv_wc);
	size_t len = recv_wc->mad_len;

	if (ret)
		return ret;
	if (!packet->rmpp)
		umad_copy(memcpy, packet->data + packet->hdr_len,
			  recv_wc->recv_buf.mad, len, UMAD_MAD_SIZE, UMAD_MAD_SIZE);
	return 0;
}

/*
 * Once it is in the queue it is the reader's, and so are the buffers of an RMPP
 * message. If not, @recv_wc is still the caller's, who counts why.
 */
static int umad_queue_recv(struct umad_agent *agent,
			   const struct ib_mad_agent *mad_agent,
			   struct ib_mad_recv_wc *recv_wc)
{
	struct umad_file *file = agent->file;
	struct umad_packet *packet;

	if (!umad_recv_len_valid(recv_wc->mad_len, agent->hdr_len))
		return -EMSGSIZE;
	if (READ_ONCE(file->unread) > UMAD_MAX_UNREAD)
		return -ENOBUFS;

	if (recv_wc->mad_len > recv_wc->mad_seg_size)
		packet = umad_rmpp_keep(file, agent->hdr_len, recv_wc,
					rdma_max_mad_size(mad_agent->device,
							  mad_agent->port_num));
	else
		packet = umad_packet_alloc_recv(file, agent->hdr_len,
						recv_wc->mad_len) ?: ERR_PTR(-ENOMEM);
	if (IS_ERR(packet))
		return PTR_ERR(packet);

	if (umad_recv_fill(packet, agent, mad_agent, recv_wc)) {
		if (packet->rmpp)
			umad_rmpp_give_back(file, packet, recv_wc);
		else
			umad_packet_free(file, packet);
		return -EADDRNOTAVAIL;
	}

	if (!packet->rmpp)
		ib_free_recv_mad(recv_wc);
	umad_queue_add(file, packet);
	return 0;
}

static enum umad_stat umad_drop_reason(int err)
{
	switch (err) {
	case -ENOMEM:
		return UMAD_STAT_DROPPED_MEMORY;
	case -EDQUOT:
		return UMAD_STAT_DROPPED_RMPP;
	case -EADDRNOTAVAIL:
		return UMAD_STAT_DROPPED_ADDRESS;
	default:
		return UMAD_STAT_DROPPED_LIMIT;
	}
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
	bool message;
	int ret;

	if (recv_wc->wc->status != IB_WC_SUCCESS) {
		ib_free_recv_mad(recv_wc);
		return;
	}

	request = umad_transaction_response(mad_agent, send_buf,
					    &recv_wc->recv_buf.mad->mad_hdr);
	message = umad_recv_is_message(mad_agent, (void *)recv_wc->recv_buf.mad);
	ret = umad_queue_recv(agent, mad_agent, recv_wc);
	if (ret) {
		umad_recv_drop(agent, recv_wc, umad_drop_reason(ret));
		return;
	}

	umad_count(agent->file->port,
		   message ? UMAD_STAT_RMPP_RECEIVED : UMAD_STAT_RECEIVED);
	if (request)
		request->no_record = true;
}
