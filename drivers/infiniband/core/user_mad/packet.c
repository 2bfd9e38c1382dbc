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

/* So many buffers of a message are freed at a time */
#define UMAD_FREE_SEGS	64

static_assert(sizeof(struct umad_kept) <= UMAD_MAD_SIZE);

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
	struct mem_cgroup *old = set_active_memcg(file->payer->memcg);
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
	packet->kept = false;
	packet->beyond = false;
	return packet;
}

/* Within the limit of the payer if that can be, and if not a little beyond */
static struct umad_packet *umad_packet_get_recv(struct umad_file *file)
{
	struct umad_packet *packet;

	packet = umad_packet_get(file, false, UMAD_GFP_CHARGED);
	if (packet) {
		packet->beyond = false;
		return packet;
	}

	if (!umad_payer_beyond(file->payer))
		return NULL;
	packet = kmem_cache_alloc(umad_recv_cache, UMAD_GFP_CHARGED | __GFP_HIGH);
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
 * @mad_len: length of the MAD or message
 *
 * The caller is a worker that other MADs of the port wait for, so nothing can be
 * reclaimed: some packets are charged to a cgroup even beyond its limit.
 *
 * Context: a receive handler; does not sleep.
 * Return: a packet with a user header of zeros, and room for a MAD behind
 * umad_packet_mad() or for what umad_payer_keep() fills in; or NULL.
 */
struct umad_packet *umad_packet_alloc_recv(struct umad_file *file, u8 hdr_len,
					   size_t mad_len)
{
	struct mem_cgroup *old = set_active_memcg(file->payer->memcg);
	struct umad_packet *packet;

	packet = umad_packet_get_recv(file);
	set_active_memcg(old);
	if (!packet)
		return NULL;

	packet->length = hdr_len + mad_len;
	packet->hdr_len = hdr_len;
	packet->sent = false;
	packet->repeat = false;
	packet->kept = false;
	memset(packet->data, 0, hdr_len);
	return packet;
}

/* What most messages consist of is worth a length that the compiler knows */
static void umad_copy_segment(void *to, const void *data, size_t len)
{
	switch (len) {
	case IB_MGMT_SA_DATA:
		memcpy(to, data, IB_MGMT_SA_DATA);
		break;
	case IB_MGMT_VENDOR_DATA:
		memcpy(to, data, IB_MGMT_VENDOR_DATA);
		break;
	default:
		memcpy(to, data, len);
	}
}

/**
 * umad_segments_copy - copy a message out of its buffers
 * @to: where to
 * @kept: the message
 * @len: its length
 *
 * The first segment is taken whole, with its headers; of the others only the
 * data.
 *
 * Context: process context; may sleep.
 */
void umad_segments_copy(void *to, const struct umad_kept *kept, size_t len)
{
	const struct ib_mad_recv_buf *seg;
	size_t skip = 0, part;

	list_for_each_entry(seg, &kept->segs, list) {
		part = min_t(size_t, len, kept->seg_size - skip);
		umad_copy_segment(to, (const u8 *)seg->mad + skip, part);
		to += part;
		len -= part;
		skip = kept->skip;
		cond_resched();
	}
}

/**
 * umad_segments_free - give the MAD layer's buffers back
 * @segs: a list as ib_mad_recv_wc.rmpp_list, empty on return
 *
 * Context: process context; may sleep unless it is one buffer.
 */
void umad_segments_free(struct list_head *segs)
{
	struct ib_mad_recv_wc part;
	struct list_head *last;
	int i;

	while (!list_empty(segs)) {
		INIT_LIST_HEAD(&part.rmpp_list);
		last = segs->next;
		for (i = 1; i < UMAD_FREE_SEGS && last->next != segs; i++)
			last = last->next;
		list_cut_position(&part.rmpp_list, segs, last);
		ib_free_recv_mad(&part);
		if (!list_empty(segs))
			cond_resched();
	}
}

/**
 * umad_packet_put - free a packet and all that it has
 * @payer: who pays for it
 * @packet: a packet that is in nobody else's hands
 */
void umad_packet_put(struct umad_payer *payer, struct umad_packet *packet)
{
	if (packet->kept) {
		umad_segments_free(&umad_packet_kept(packet)->segs);
		vfree(umad_packet_kept(packet)->copy);
	}
	if (packet->beyond)
		atomic_dec(&payer->beyond);

	if (packet->repeat)
		kfree(packet);
	else
		kmem_cache_free(umad_packet_cache(packet->sent), packet);
}

/**
 * umad_packet_free - free a packet
 * @file: who paid for it, and may need one like it soon
 * @packet: a packet that is neither queued nor outstanding
 *
 * Context: process context; may sleep if it has a message.
 */
void umad_packet_free(struct umad_file *file, struct umad_packet *packet)
{
	if (unlikely(packet->kept || packet->beyond || packet->repeat)) {
		if (!packet->kept || umad_payer_release(file->payer, packet))
			umad_packet_put(file->payer, packet);
		return;
	}

	/* KASAN can only tell of memory that is really freed */
	if (IS_ENABLED(CONFIG_KASAN) ||
	    READ_ONCE(file->spare[packet->sent]) ||
	    cmpxchg(&file->spare[packet->sent], NULL, packet))
		kmem_cache_free(umad_packet_cache(packet->sent), packet);
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
			umad_packet_put(file->payer, file->spare[i]);
}
