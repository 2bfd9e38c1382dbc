/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What packet.c shares with those who make and free packets.
 */
#ifndef UMAD_PACKET_H
#define UMAD_PACKET_H

#include "user_mad.h"

/**
 * struct umad_loose - a packet that is longer than those in the caches, or counted
 * @counted: what it takes of the budget of the account, 0 if it is charged
 * @packet: the packet, with umad_packet.loose
 */
struct umad_loose {
	size_t			counted;
	struct umad_packet	packet;
};

static inline struct umad_loose *umad_packet_loose(struct umad_packet *packet)
{
	return container_of(packet, struct umad_loose, packet);
}

int umad_packet_init(void);
void umad_packet_exit(void);
struct umad_packet *__umad_packet_alloc(struct umad_file *file, bool sent);
struct umad_packet *umad_packet_alloc_recv(struct umad_file *file, u8 hdr_len,
					   size_t mad_len);
struct umad_packet *umad_packet_alloc_loose(struct umad_file *file, size_t len,
					    gfp_t gfp);
void __umad_packet_free(struct umad_file *file, struct umad_packet *packet);
void umad_packet_recount(struct umad_file *file, struct umad_packet *packet);
void umad_packet_drain(struct umad_file *file);

/**
 * umad_packet_alloc - a packet from a cache, charged
 * @file: who pays
 * @sent: for a send, with room for a user header and a MAD header; or for what is
 *	received, with room for a MAD of InfiniBand
 *
 * Context: process context; does not sleep.
 * Return: a packet with nothing filled in but umad_packet.sent and loose, or NULL.
 */
static inline struct umad_packet *umad_packet_alloc(struct umad_file *file, bool sent)
{
	struct umad_packet *packet = xchg(&file->spare[sent], NULL);

	if (!packet)
		packet = __umad_packet_alloc(file, sent);
	if (packet) {
		packet->sent = sent;
		packet->loose = false;
	}
	return packet;
}

/**
 * umad_packet_free - free a packet
 * @file: who paid for it, and may need one like it soon
 * @packet: a packet that is neither queued nor outstanding, and without segments
 *
 * Context: process context; does not sleep.
 */
static inline void umad_packet_free(struct umad_file *file,
				    struct umad_packet *packet)
{
	/* KASAN can only tell of memory that is really freed */
	if (IS_ENABLED(CONFIG_KASAN) || packet->loose ||
	    READ_ONCE(file->spare[packet->sent]) ||
	    cmpxchg(&file->spare[packet->sent], NULL, packet))
		__umad_packet_free(file, packet);
}

#endif /* UMAD_PACKET_H */
