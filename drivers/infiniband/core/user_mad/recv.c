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
	struct umad_file *file = filp->private_data;
	struct umad_packet *packet;
	ssize_t ret;

	if (count < READ_ONCE(file->hdr_len))
		return -EINVAL;

	while (!(packet = umad_queue_take(file, count))) {
		if (filp->f_flags & O_NONBLOCK)
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

static int umad_fill_hdr(struct umad_packet *packet,
			 const struct umad_agent *agent,
			 const struct ib_mad_agent *mad_agent,
			 const struct ib_mad_recv_wc *recv_wc)
{
	struct ib_user_mad_hdr *hdr = umad_packet_hdr(packet);
	const struct ib_wc *wc = recv_wc->wc;

	hdr->id = agent->id;
	hdr->length = packet->length;
	hdr->qpn = cpu_to_be32(wc->src_qp);
	/* Only the lower half of an OPA LID; clients have other ways to the rest */
	hdr->lid = cpu_to_be16(wc->slid);
	hdr->sl = wc->sl;
	hdr->path_bits = wc->dlid_path_bits;
	umad_hdr_set_pkey_index(hdr, packet->hdr_len, wc->pkey_index);

	hdr->grh_present = !!(wc->wc_flags & IB_WC_GRH);
	return hdr->grh_present ? umad_grh_from_wc(mad_agent, recv_wc, hdr) : 0;
}

/* Returns false if there is no room for an RMPP message, which is not copied */
static bool umad_fill_mad(struct umad_file *file, struct umad_packet *packet,
			  struct ib_mad_recv_wc *recv_wc)
{
	const struct ib_mad *mad = recv_wc->recv_buf.mad;
	size_t len = recv_wc->mad_len;

	packet->first_len = packet->hdr_len + min(len, recv_wc->mad_seg_size);
	if (len > UMAD_MAD_SIZE) {
		packet->rmpp = umad_rmpp_keep(file->payer, packet, recv_wc);
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

static struct umad_packet *umad_recv_packet(struct umad_agent *agent,
					    const struct ib_mad_agent *mad_agent,
					    struct ib_mad_recv_wc *recv_wc)
{
	struct umad_file *file = agent->file;
	struct umad_packet *packet;

	if (!umad_recv_len_valid(recv_wc->mad_len, agent->hdr_len))
		return NULL;

	packet = umad_packet_alloc_recv(file, agent->hdr_len, recv_wc->mad_len);
	if (!packet)
		return NULL;

	if (!umad_fill_hdr(packet, agent, mad_agent, recv_wc) &&
	    umad_fill_mad(file, packet, recv_wc))
		return packet;
	umad_packet_free(file, packet);
	return NULL;
}

static void umad_free_recv(struct ib_mad_recv_wc *recv_wc)
{
	if (list_is_singular(&recv_wc->rmpp_list))
		ib_free_recv_mad(recv_wc);
	else
		umad_segments_drop(&recv_wc->rmpp_list);
}

/* Once it is in the queue, an RMPP message is the reader's, and with it @recv_wc */
static bool umad_queue_recv(struct umad_agent *agent,
			    const struct ib_mad_agent *mad_agent,
			    struct ib_mad_recv_wc *recv_wc)
{
	struct umad_file *file = agent->file;
	struct umad_packet *packet;
	bool rmpp, queued;

	packet = umad_recv_packet(agent, mad_agent, recv_wc);
	rmpp = packet && packet->rmpp;
	queued = packet && umad_queue_add_recv(file, packet);

	if (rmpp && !queued)
		umad_rmpp_give_back(file->payer, packet, recv_wc);
	if (packet && !queued)
		umad_packet_free(file, packet);
	if (!rmpp || !queued)
		umad_free_recv(recv_wc);
	return queued;
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

	if (recv_wc->wc->status != IB_WC_SUCCESS) {
		umad_free_recv(recv_wc);
		return;
	}

	request = umad_transaction_response(mad_agent, send_buf,
					    &recv_wc->recv_buf.mad->mad_hdr);
	if (!umad_queue_recv(agent, mad_agent, recv_wc))
		umad_queue_count_drop(agent->file);
	else if (request)
		request->settled = true;
}
