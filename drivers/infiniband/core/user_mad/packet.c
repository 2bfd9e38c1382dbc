// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Packets: where their memory comes from and who pays for it. All of it is
 * charged to whoever opened the descriptor, as that is who lets it pile up.
 */
#include <linux/memcontrol.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "user_mad.h"

/*
 * How many packets may be charged beyond the limit of a payer. Each of them may
 * have the kernel charge a new page, so this is 1 MiB at most. Further packets
 * from the same page are within what was charged, and do not count.
 */
#define UMAD_BUDGET_BEYOND	256

/* By umad_packet.sent, as umad_file.spare */
struct kmem_cache *umad_packet_caches[2];

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

/* Rare, and larger than what is in the cache */
static struct umad_packet *umad_packet_alloc_repeat(void)
{
	return kmalloc(sizeof(struct umad_packet) + UMAD_TIMEOUT_LEN +
		       sizeof(struct list_head), UMAD_GFP_CHARGED);
}

/**
 * umad_packet_alloc_send - memory for a send
 * @file: who sends, and pays
 * @repeat: with room for umad_packet_ring()
 *
 * Context: process context; does not sleep.
 * Return: a packet with room for a user header and a MAD header, or NULL.
 */
struct umad_packet *umad_packet_alloc_send(struct umad_file *file, bool repeat)
{
	struct umad_packet *packet = NULL;

	if (!repeat)
		packet = xchg(&file->spare[true], NULL);
	if (!packet) {
		struct mem_cgroup *old = set_active_memcg(file->payer->memcg);

		packet = repeat ? umad_packet_alloc_repeat() :
				  kmem_cache_alloc(umad_packet_caches[true],
						   UMAD_GFP_CHARGED);
		set_active_memcg(old);
	}
	if (!packet)
		return NULL;

	packet->sent = true;
	packet->repeat = repeat;
	packet->response = false;
	packet->hashed = false;
	packet->settled = false;
	packet->rmpp = false;
	packet->beyond = false;
	return packet;
}

/* Beyond the limit of the payer only if there is no memory within */
static struct umad_packet *umad_packet_alloc_beyond(struct umad_file *file)
{
	struct umad_packet *packet;

	packet = kmem_cache_alloc(umad_packet_caches[false], UMAD_GFP_CHARGED);
	if (packet) {
		packet->beyond = false;
		return packet;
	}

	if (!atomic_add_unless(&file->payer->beyond, 1, UMAD_BUDGET_BEYOND))
		return NULL;
	packet = kmem_cache_alloc(umad_packet_caches[false],
				  UMAD_GFP_CHARGED | __GFP_HIGH);
	if (packet)
		packet->beyond = true;
	else
		atomic_dec(&file->payer->beyond);
	return packet;
}

/**
 * umad_packet_alloc_recv - memory for something received
 * @file: who receives, and pays
 * @hdr_len: length of the user header
 * @mad_len: length of the MAD or RMPP message
 *
 * The caller is a worker that other MADs of the port wait for, so nothing can be
 * reclaimed. A few packets are charged beyond the limit of the cgroup instead.
 *
 * Context: a receive handler; does not sleep.
 * Return: a packet with room for a user header of either layout, and behind it for
 * a MAD or for what umad_rmpp_keep() fills in; or NULL.
 */
struct umad_packet *umad_packet_alloc_recv(struct umad_file *file, u8 hdr_len,
					   size_t mad_len)
{
	/* Never one that is @beyond */
	struct umad_packet *packet = xchg(&file->spare[false], NULL);

	if (!packet) {
		struct mem_cgroup *old = set_active_memcg(file->payer->memcg);

		packet = umad_packet_alloc_beyond(file);
		set_active_memcg(old);
	}
	if (!packet)
		return NULL;

	packet->length = hdr_len + mad_len;
	packet->hdr_len = hdr_len;
	packet->sent = false;
	packet->repeat = false;
	packet->rmpp = false;
	return packet;
}

/**
 * umad_packet_destroy - free a packet and all that it has
 * @payer: who pays for it
 * @packet: a packet that is in nobody else's hands
 */
void umad_packet_destroy(struct umad_payer *payer, struct umad_packet *packet)
{
	if (packet->rmpp) {
		umad_segments_free(&umad_packet_rmpp(packet)->segs);
		vfree(umad_packet_rmpp(packet)->copy);
	}
	if (packet->beyond)
		atomic_dec(&payer->beyond);

	if (packet->repeat)
		kfree(packet);
	else
		kmem_cache_free(umad_packet_caches[packet->sent], packet);
}

/**
 * __umad_packet_free - the part of umad_packet_free() that is not inline
 * @file: who paid for it
 * @packet: one that is not like most, and not left to be used again
 *
 * Context: process context; may sleep if it is an RMPP message.
 */
void __umad_packet_free(struct umad_file *file, struct umad_packet *packet)
{
	if (!packet->rmpp || umad_rmpp_release(file->payer, packet))
		umad_packet_destroy(file->payer, packet);
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
			umad_packet_destroy(file->payer, file->spare[i]);
}
