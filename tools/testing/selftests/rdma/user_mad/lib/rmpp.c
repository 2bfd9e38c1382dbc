// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "rmpp.h"

static size_t umad_rmpp_data(const struct umad_msg *msg)
{
	return MAD_SIZE - umad_class_hdr(msg->mad.mgmt_class);
}

/* One packet, written as it is; @msg says whereto and of which transaction */
ssize_t _umad_rmpp_packet(const struct umad_file *file,
			  const struct umad_msg *msg, __u8 type, __u8 flags,
			  __u8 status, __u32 seg, __u32 last)
{
	struct umad_msg packet = *msg;

	packet.hdr.timeout_ms = 0;
	packet.hdr.retries = 0;
	packet.mad.rmpp_version = 1;
	packet.mad.rmpp_type = type;
	packet.mad.rmpp_flags = RMPP_FLAG_ACTIVE | flags;
	packet.mad.rmpp_status = status;
	packet.mad.seg_num = htobe32(seg);
	packet.mad.paylen_newwin = htobe32(last);
	return _umad_write(file, &packet);
}

/* An answer to the packet @got: an acknowledgment, a stop, an abort */
ssize_t _umad_rmpp_answer(const struct umad_file *file,
			  const struct umad_msg *got, __u8 type, __u8 status,
			  __u32 seg, __u32 newwin)
{
	struct umad_msg answer = *got;

	answer.mad.method ^= MAD_RESP;
	return _umad_rmpp_packet(file, &answer, type, 0, status, seg, newwin);
}

static int _umad_rmpp_segment(struct umad_rmpp *rmpp, const __u8 *data,
			      size_t len, __u32 seg, __u32 segs)
{
	size_t room = umad_rmpp_data(&rmpp->head), at = (seg - 1) * room;
	size_t n = len - at < room ? len - at : room;
	size_t hdr = MAD_SIZE - room, extra = hdr - MAD_RMPP_HDR;
	struct umad_msg packet = rmpp->head;
	__u8 flags = 0;
	__u32 paylen = 0;

	memset((__u8 *)&packet.mad + hdr, 0, room);
	memcpy((__u8 *)&packet.mad + hdr, data + at, n);
	if (seg == 1) {
		flags |= RMPP_FLAG_FIRST;
		paylen = len + segs * extra;
	}
	if (seg == segs) {
		flags |= RMPP_FLAG_LAST;
		paylen = n + extra;
	}
	return _umad_rmpp_packet(rmpp->file, &packet, RMPP_TYPE_DATA, flags, 0,
				 seg, paylen) < 0 ? -1 : 0;
}

/*
 * Sends @len bytes in packets like rmpp->head. Returns 0 when all of it has
 * been acknowledged, -1 when the other side ended it (rmpp->type and
 * rmpp->status tell how) or did not say anything for long.
 */
int _umad_rmpp_send(struct umad_rmpp *rmpp, const __u8 *data, size_t len)
{
	size_t room = umad_rmpp_data(&rmpp->head);
	__u32 segs = len ? (len + room - 1) / room : 1;
	__u32 acked = 0, window = 1, seg = 0;
	long long end = umad_now_ms() + UMAD_LONG_MS;
	struct umad_msg got;

	while (acked < segs && umad_now_ms() < end) {
		while (seg < segs && seg < window) {
			seg++;
			if (seg == rmpp->lose) {
				rmpp->lose = 0;
				continue;
			}
			if (_umad_rmpp_segment(rmpp, data, len, seg, segs))
				return -1;
			rmpp->sent++;
		}
		if (!umad_readable(rmpp->file, RMPP_RESEND_MS)) {
			rmpp->resent += seg - acked;
			seg = acked;
			continue;
		}
		if (_umad_read(rmpp->file, &got) < 0)
			return -1;
		if ((got.mad.method ^ rmpp->head.mad.method) != MAD_RESP ||
		    (__u32)be64toh(got.mad.tid) !=
		    (__u32)be64toh(rmpp->head.mad.tid))
			continue;
		if (got.mad.rmpp_type != RMPP_TYPE_ACK) {
			rmpp->type = got.mad.rmpp_type;
			rmpp->status = got.mad.rmpp_status;
			return -1;
		}
		rmpp->acks++;
		if (be32toh(got.mad.seg_num) > acked)
			acked = be32toh(got.mad.seg_num);
		if (be32toh(got.mad.paylen_newwin) > window) {
			window = be32toh(got.mad.paylen_newwin);
			rmpp->windows++;
		}
		if (seg < acked)
			seg = acked;
	}
	return acked < segs ? -1 : 0;
}

/*
 * Receives a message of up to @max bytes; rmpp->head becomes its first packet.
 * Returns its length, or -1.
 */
ssize_t _umad_rmpp_receive(struct umad_rmpp *rmpp, __u8 *data, size_t max)
{
	long long end = umad_now_ms() + UMAD_LONG_MS;
	size_t room = 0, hdr = 0, n;
	__u32 next = 1, window = 1;
	struct umad_msg got;

	while (umad_now_ms() < end) {
		__u32 seg;
		bool last;

		if (!umad_readable(rmpp->file, UMAD_SOON_MS))
			continue;
		if (_umad_read(rmpp->file, &got) < 0)
			return -1;
		rmpp->type = got.mad.rmpp_type;
		rmpp->status = got.mad.rmpp_status;
		if (!(got.mad.rmpp_flags & RMPP_FLAG_ACTIVE) ||
		    got.mad.rmpp_type != RMPP_TYPE_DATA)
			return -1;

		seg = be32toh(got.mad.seg_num);
		last = got.mad.rmpp_flags & RMPP_FLAG_LAST;
		if (seg == 1 && next == 1) {
			rmpp->head = got;
			room = umad_rmpp_data(&got);
			hdr = MAD_SIZE - room;
		}
		if (seg == rmpp->lose) {
			rmpp->lose = 0;
			continue;
		}
		/* Out of order, it will come again; and what came twice: */
		if (seg < next) {
			_umad_rmpp_answer(rmpp->file, &got, RMPP_TYPE_ACK, 0,
					  next - 1, window);
			rmpp->resent++;
		}
		if (seg != next)
			continue;

		n = last ? be32toh(got.mad.paylen_newwin) - (hdr - MAD_RMPP_HDR) :
			   room;
		if (n > room || (seg - 1) * room + n > max)
			return -1;
		memcpy(data + (seg - 1) * room, (__u8 *)&got.mad + hdr, n);
		next++;
		if (!last && seg < window)
			continue;
		if (!last) {
			window += RMPP_WINDOW;
			rmpp->windows++;
		}
		if (_umad_rmpp_answer(rmpp->file, &got, RMPP_TYPE_ACK, 0, seg,
				      window) < 0)
			return -1;
		rmpp->acks++;
		if (last)
			return (seg - 1) * room + n;
	}
	return -1;
}
