/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What rmpp.c shares with those who receive, queue and read RMPP messages.
 */
#ifndef UMAD_RMPP_H
#define UMAD_RMPP_H

#include "packet.h"

/**
 * struct umad_rmpp - a received message of several segments
 * @segs: the MAD layer's buffers that it came in
 * @seg_size: length of a segment
 * @skip: how much of a segment is headers, which only the first one keeps
 *
 * It stands behind the user header of packets with umad_packet.rmpp, where others
 * have the MAD.
 */
struct umad_rmpp {
	struct list_head	segs;
	u16			seg_size;
	u16			skip;
};

static inline struct umad_rmpp *umad_packet_rmpp(struct umad_packet *packet)
{
	return (void *)(packet->data + sizeof(struct ib_user_mad_hdr));
}

/* The MAD header of any packet */
static inline const struct ib_mad_hdr *umad_first_mad(struct umad_packet *packet)
{
	if (!packet->rmpp)
		return umad_packet_mad(packet);
	return &list_first_entry(&umad_packet_rmpp(packet)->segs,
				 struct ib_mad_recv_buf, list)->mad->mad_hdr;
}

struct umad_packet *umad_rmpp_keep(struct umad_file *file, u8 hdr_len,
				   struct ib_mad_recv_wc *recv_wc,
				   size_t max_mad_size);
void umad_rmpp_give_back(struct umad_file *file, struct umad_packet *packet,
			 struct ib_mad_recv_wc *recv_wc);
int umad_rmpp_read(struct umad_packet *packet, struct umad_buf buf, size_t len);
void umad_rmpp_free(struct umad_file *file, struct umad_packet *packet);

/**
 * umad_packet_discard - free a packet of any kind
 * @file: who paid for it
 * @packet: a packet that is neither queued nor outstanding
 *
 * Context: process context.
 */
static inline void umad_packet_discard(struct umad_file *file,
				       struct umad_packet *packet)
{
	/* Those are loose. The other question is asked of all packets anyway */
	if (packet->loose && packet->rmpp)
		umad_rmpp_free(file, packet);
	else
		umad_packet_free(file, packet);
}

#endif /* UMAD_RMPP_H */
