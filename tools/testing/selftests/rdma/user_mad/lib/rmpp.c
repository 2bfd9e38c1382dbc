// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "rmpp.h"

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
	packet.mad.rmpp_flags = MAD_RMPP_ACTIVE | flags;
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
