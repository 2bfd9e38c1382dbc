// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Packets: where their memory comes from and who pays for it. That is whoever opened
 * the descriptor, as that is who lets it pile up.
 *
 * Most are from one of two caches, and charged. A loose packet is longer than those,
 * or it is counted.
 */
#include <linux/log2.h>
#include <linux/memcontrol.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "packet.h"

/* By umad_packet.sent, as umad_file.spare */
static struct kmem_cache *umad_packet_caches[2];

/* read() copies header and MAD straight from the packet, and nothing else */
static struct kmem_cache *umad_cache_create(const char *name, size_t mad_len)
{
	size_t len = sizeof(struct ib_user_mad_hdr) + mad_len;

	return kmem_cache_create_usercopy(name,
					  sizeof(struct umad_packet) + len, 0,
					  SLAB_ACCOUNT,
					  offsetof(struct umad_packet, data),
					  len, NULL);
}

/**
 * umad_packet_init - make the caches
 *
 * Return: 0 or -ENOMEM.
 */
int __init umad_packet_init(void)
{
	/* A send keeps what its timeout record gives back */
	umad_packet_caches[true] = umad_cache_create("ib_umad_send",
						     sizeof(struct ib_mad_hdr));
	if (!umad_packet_caches[true])
		return -ENOMEM;

	umad_packet_caches[false] = umad_cache_create("ib_umad_recv",
						      UMAD_MAD_SIZE);
	if (!umad_packet_caches[false]) {
		kmem_cache_destroy(umad_packet_caches[true]);
		return -ENOMEM;
	}
	return 0;
}

/**
 * umad_packet_exit - give the caches back
 */
void umad_packet_exit(void)
{
	kmem_cache_destroy(umad_packet_caches[false]);
	kmem_cache_destroy(umad_packet_caches[true]);
}

/**
 * __umad_packet_alloc - the part of umad_packet_alloc() that is not inline
 * @file: who pays
 * @sent: from which cache
 *
 * Context: process context; does not sleep.
 * Return: a packet, or NULL.
 */
struct umad_packet *__umad_packet_alloc(struct umad_file *file, bool sent)
{
	struct mem_cgroup *old = set_active_memcg(file->account->memcg);
	struct umad_packet *packet;

	packet = kmem_cache_alloc(umad_packet_caches[sent], UMAD_GFP_CHARGED);
	set_active_memcg(old);
	return packet;
}

/**
 * umad_packet_alloc_loose - memory for a packet that is in no cache
 * @file: who pays
 * @len: how much there is to be behind struct umad_packet
 * @gfp: with __GFP_ACCOUNT if it is charged. If not, the caller has counted it, and
 *	says how much in umad_loose.counted, which umad_packet_free() gives back
 *
 * Context: process context; may sleep if @gfp allows.
 * Return: a packet with nothing filled in but umad_packet.loose, or NULL.
 */
struct umad_packet *umad_packet_alloc_loose(struct umad_file *file, size_t len,
					    gfp_t gfp)
{
	struct mem_cgroup *old = set_active_memcg(file->account->memcg);
	struct umad_loose *loose;

	loose = kmalloc(sizeof(*loose) + len, gfp);
	set_active_memcg(old);
	if (!loose)
		return NULL;
	loose->counted = 0;
	loose->packet.loose = true;
	return &loose->packet;
}

/**
 * umad_packet_alloc_recv - memory for something received, charged or else counted
 * @file: who receives, and pays
 * @hdr_len: length of the user header
 * @mad_len: length of the MAD
 *
 * The caller is a worker that other MADs of the port wait for, so nothing can be
 * reclaimed.
 *
 * Context: a receive handler; does not sleep.
 * Return: a packet with room for a user header of either layout, and behind it for
 * the MAD; or NULL.
 */
struct umad_packet *umad_packet_alloc_recv(struct umad_file *file, u8 hdr_len,
					   size_t mad_len)
{
	size_t len = sizeof(struct ib_user_mad_hdr) + mad_len;
	size_t counted = roundup_pow_of_two(sizeof(struct umad_loose) + len);
	struct umad_packet *packet;

	if (mad_len <= UMAD_MAD_SIZE)
		packet = umad_packet_alloc(file, false);
	else
		packet = umad_packet_alloc_loose(file, len, UMAD_GFP_CHARGED);

	if (!packet && umad_account_take(file->account, counted, false)) {
		packet = umad_packet_alloc_loose(file, len, UMAD_GFP_COUNTED);
		if (packet)
			umad_packet_loose(packet)->counted = counted;
		else
			umad_account_give(file->account, counted);
	}
	if (!packet)
		return NULL;

	packet->length = hdr_len + mad_len;
	packet->first_len = packet->length;
	packet->hdr_len = hdr_len;
	packet->sent = false;
	packet->rmpp = false;
	return packet;
}

/**
 * __umad_packet_free - the part of umad_packet_free() that is not inline
 * @file: who paid for it
 * @packet: a packet that is not left to be used again
 *
 * Context: process context; does not sleep.
 */
void __umad_packet_free(struct umad_file *file, struct umad_packet *packet)
{
	struct umad_loose *loose = umad_packet_loose(packet);

	if (!packet->loose) {
		kmem_cache_free(umad_packet_caches[packet->sent], packet);
		return;
	}
	if (loose->counted)
		umad_account_give(file->account, loose->counted);
	kfree(loose);
}

/**
 * umad_packet_recount - a send is complete, and only its packet is left
 * @file: who pays
 * @packet: the send, which is loose, as are all that are counted
 *
 * Context: process context; does not sleep.
 */
void umad_packet_recount(struct umad_file *file, struct umad_packet *packet)
{
	struct umad_loose *loose = umad_packet_loose(packet);
	size_t len = sizeof(*loose) + UMAD_TIMEOUT_LEN;

	umad_account_give(file->account, loose->counted - len);
	loose->counted = len;
}

/**
 * umad_packet_drain - free what umad_packet_free() left to be used again
 * @file: a descriptor that nobody sends or receives on any more
 */
void umad_packet_drain(struct umad_file *file)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(file->spare); i++)
		if (file->spare[i])
			kmem_cache_free(umad_packet_caches[i], file->spare[i]);
}
