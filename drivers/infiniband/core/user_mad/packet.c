// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Packets: where their memory comes from and who pays for it. All of it is
 * charged to whoever opened the descriptor, as that is who lets it pile up.
 */
#include <linux/memcontrol.h>
#include <linux/sched/mm.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "user_mad.h"

/*
 * So many unread MADs, or one message of this length, may take a cgroup beyond
 * its limit. Otherwise, where the page cache fills it, nothing would be
 * received: others in the cgroup have that reclaimed when they ask for memory,
 * and we cannot.
 */
#define UMAD_BEYOND_UNREAD	256
#define UMAD_BEYOND_LEN		SZ_1M

/* The first chunk has all that a reader with room for one MAD gets */
static_assert(sizeof(struct opa_mad) <= UMAD_CHUNK_LEN);

static struct kmem_cache *umad_send_cache;
static struct kmem_cache *umad_recv_cache;

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
	umad_send_cache = umad_cache_create("ib_umad_send",
					    sizeof(struct ib_mad_hdr));
	if (!umad_send_cache)
		return -ENOMEM;

	umad_recv_cache = umad_cache_create("ib_umad_recv", UMAD_MAD_SIZE);
	if (!umad_recv_cache) {
		kmem_cache_destroy(umad_send_cache);
		return -ENOMEM;
	}
	return 0;
}

/**
 * umad_packet_exit - give the caches back
 */
void umad_packet_exit(void)
{
	kmem_cache_destroy(umad_recv_cache);
	kmem_cache_destroy(umad_send_cache);
}

static struct kmem_cache *umad_packet_cache(bool sent)
{
	return sent ? umad_send_cache : umad_recv_cache;
}

static struct umad_packet *umad_packet_get(struct umad_file *file, bool sent,
					   gfp_t gfp)
{
	struct umad_packet *packet = xchg(&file->spare[sent], NULL);

	return packet ?: kmem_cache_alloc(umad_packet_cache(sent), gfp);
}

static void umad_packet_put(struct umad_packet *packet)
{
	kmem_cache_free(umad_packet_cache(packet->sent), packet);
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
	struct mem_cgroup *old = set_active_memcg(file->memcg);
	struct umad_packet *packet;

	packet = repeat ? umad_packet_alloc_repeat() :
			  umad_packet_get(file, true, UMAD_GFP_CHARGED);
	set_active_memcg(old);
	if (!packet)
		return NULL;

	packet->sent = true;
	packet->repeat = repeat;
	packet->hashed = false;
	packet->settled = false;
	packet->chunked = false;
	return packet;
}

static void umad_message_free(struct umad_chunk *chunk)
{
	while (chunk) {
		struct umad_chunk *next = chunk->next;

		kfree(chunk);
		chunk = next;
	}
}

static bool umad_message_alloc(struct umad_packet *packet, size_t len,
			       gfp_t gfp)
{
	struct umad_chunk **first = umad_packet_message(packet);
	struct umad_chunk **end = first, *chunk;
	size_t part;

	*first = NULL;
	for (; len; len -= part) {
		part = min(len, UMAD_CHUNK_LEN);
		chunk = kmalloc_flex(*chunk, data, part, gfp);
		if (!chunk) {
			umad_message_free(*first);
			return false;
		}
		chunk->next = NULL;
		*end = chunk;
		end = &chunk->next;
	}
	return true;
}

static gfp_t umad_recv_gfp(const struct umad_file *file, size_t mad_len)
{
	unsigned int unread = READ_ONCE(file->unread);

	if (mad_len <= UMAD_MAD_SIZE ? unread < UMAD_BEYOND_UNREAD :
				       !unread && mad_len <= UMAD_BEYOND_LEN)
		return UMAD_GFP_CHARGED | __GFP_HIGH;
	return UMAD_GFP_CHARGED;
}

/**
 * umad_packet_alloc_recv - memory for something received
 * @file: who receives, and pays
 * @hdr_len: length of the user header
 * @mad_len: length of the MAD or message
 *
 * The caller is a worker that other MADs of the port wait for. What is received
 * while little is unread is charged to a cgroup even beyond its limit, the rest
 * only within.
 *
 * Context: a receive handler; does not sleep.
 * Return: a packet with a user header of zeros and room for the MAD behind
 * umad_packet_mad(), or NULL.
 */
struct umad_packet *umad_packet_alloc_recv(struct umad_file *file, u8 hdr_len,
					   size_t mad_len)
{
	gfp_t gfp = umad_recv_gfp(file, mad_len);
	struct mem_cgroup *old = set_active_memcg(file->memcg);
	struct umad_packet *packet;

	packet = umad_packet_get(file, false, gfp);
	if (!packet)
		goto out;

	packet->length = hdr_len + mad_len;
	packet->hdr_len = hdr_len;
	packet->sent = false;
	packet->repeat = false;
	packet->chunked = mad_len > UMAD_MAD_SIZE;
	memset(packet->data, 0, hdr_len);

	if (packet->chunked && !umad_message_alloc(packet, mad_len, gfp)) {
		umad_packet_put(packet);
		packet = NULL;
	}
out:
	set_active_memcg(old);
	return packet;
}

/**
 * umad_packet_free - free a packet
 * @file: who paid for it, and may need one like it soon
 * @packet: a packet that is neither queued nor outstanding
 */
void umad_packet_free(struct umad_file *file, struct umad_packet *packet)
{
	if (packet->chunked)
		umad_message_free(*umad_packet_message(packet));

	if (packet->repeat) {
		kfree(packet);
		return;
	}

	/* KASAN can only tell of memory that is really freed */
	if (IS_ENABLED(CONFIG_KASAN) ||
	    READ_ONCE(file->spare[packet->sent]) ||
	    cmpxchg(&file->spare[packet->sent], NULL, packet))
		umad_packet_put(packet);
}

/**
 * umad_packet_drain - free what umad_packet_free() kept
 * @file: a descriptor that nobody sends or receives on any more
 */
void umad_packet_drain(struct umad_file *file)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(file->spare); i++)
		if (file->spare[i])
			umad_packet_put(file->spare[i]);
}
