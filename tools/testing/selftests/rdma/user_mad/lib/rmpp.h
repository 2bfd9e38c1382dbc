/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Packets of RMPP, which agents with IB_USER_MAD_USER_RMPP write and read as MADs */
#ifndef UMAD_RMPP_H
#define UMAD_RMPP_H

#include "long.h"

#define RMPP_TYPE_ACK		2
#define RMPP_TYPE_STOP		3
#define RMPP_TYPE_ABORT		4

#define RMPP_FLAG_FIRST		2
#define RMPP_FLAG_LAST		4

#define RMPP_STATUS_RESX	1	/* the only one of STOP */
#define RMPP_STATUS_UNSPEC	127

ssize_t _umad_rmpp_packet(const struct umad_file *file,
			  const struct umad_msg *msg, __u8 type, __u8 flags,
			  __u8 status, __u32 seg, __u32 last);
ssize_t _umad_rmpp_answer(const struct umad_file *file,
			  const struct umad_msg *got, __u8 type, __u8 status,
			  __u32 seg, __u32 newwin);

#endif /* UMAD_RMPP_H */
