// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory of sends and received packets. The cgroup of the process that opened the
 * descriptor is charged for it, as that process lets it pile up.
 */
#include <linux/log2.h>
#include <linux/memcontrol.h>
#include <linux/sched/mm.h>

#include "user_mad.h"

static struct kmem_cache *umad_send_cache;
static struct kmem_cache *umad_recv_cache;

/* A send keeps the contents of its timeout record, and read() copies no other byte */
int __init umad_packet_init(void)
{
	const size_t send_size = sizeof(struct umad_send) + UMAD_TIMEOUT_LEN;
	const size_t recv_size = sizeof(struct umad_recv) + UMAD_PACKET_LEN;

	umad_send_cache = kmem_cache_create_usercopy("ib_umad_send", send_size, 0, 0,
						     offsetof(struct umad_send, data),
						     UMAD_TIMEOUT_LEN, NULL);
	umad_recv_cache = kmem_cache_create_usercopy("ib_umad_recv", recv_size, 0, 0,
						     offsetof(struct umad_recv, data),
						     UMAD_PACKET_LEN, NULL);
	if (umad_send_cache && umad_recv_cache)
		return 0;
	umad_packet_exit();
	return -ENOMEM;
}

void umad_packet_exit(void)
{
	kmem_cache_destroy(umad_recv_cache);
	kmem_cache_destroy(umad_send_cache);
}

/*
 * Most packets live for a short time and one at a time, so a descriptor keeps a free one
 * of each kind. Without it, a write() takes 150 instructions more, and receiving a MAD 200.
 * KASAN sees uses after free only of memory that goes back to the slab.
 */
static bool umad_spare(void **spare, void *packet)
{
	return !IS_ENABLED(CONFIG_KASAN) && !READ_ONCE(*spare) && !cmpxchg(spare, NULL, packet);
}

/* Frees both spare packets, when the descriptor has no agents any more */
void umad_packet_drain(struct umad_file *file)
{
	if (file->spare_send)
		kmem_cache_free(umad_send_cache, file->spare_send);
	if (file->spare_recv)
		kmem_cache_free(umad_recv_cache, file->spare_recv);
	file->spare_send = NULL;
	file->spare_recv = NULL;
}

/* Returns a send with nothing filled in but umad_queued.is_send, or NULL */
struct umad_send *umad_send_alloc(struct umad_file *file, gfp_t gfp)
{
	struct umad_send *send = xchg(&file->spare_send, NULL);
	struct mem_cgroup *old;

	if (!send) {
		old = set_active_memcg(file->memcg);
		send = kmem_cache_alloc(umad_send_cache, gfp);
		set_active_memcg(old);
	}
	if (send)
		send->queued.is_send = true;
	return send;
}

void umad_send_free(struct umad_file *file, struct umad_send *send)
{
	if (!umad_spare(&file->spare_send, send))
		kmem_cache_free(umad_send_cache, send);
}

/* An OPA MAD does not fit into an object of the cache */
static void *__umad_recv_alloc(size_t len, gfp_t gfp)
{
	return len <= UMAD_PACKET_LEN ? kmem_cache_alloc(umad_recv_cache, gfp) :
					kmalloc(sizeof(struct umad_recv) + len, gfp);
}

static void umad_recv_init(struct umad_recv *recv, u8 hdr_len, size_t mad_len, bool cap_charged)
{
	recv->queued = (struct umad_queued) {
		.length		= hdr_len + mad_len,
		.first_len	= hdr_len + mad_len,
		.hdr_len	= hdr_len,
		.cap_charged	= cap_charged,
	};
}

/*
 * Charges no cgroup, but the cap with @cap_bytes until umad_recv_free(). There is room for
 * @mad_len bytes behind a user header. It may use the last reserves.
 */
struct umad_recv *umad_recv_alloc_capped(struct umad_file *file, u8 hdr_len,
					 size_t mad_len, size_t cap_bytes)
{
	struct umad_recv *recv = NULL;

	if (!umad_cap_charge(file, cap_bytes))
		return NULL;
	recv = __umad_recv_alloc(sizeof(struct ib_user_mad_hdr) + mad_len,
				 GFP_ATOMIC | __GFP_NOWARN);
	if (recv)
		umad_recv_init(recv, hdr_len, mad_len, true);
	else
		umad_cap_uncharge(file, cap_bytes);
	return recv;
}

/* What __umad_recv_alloc() takes for a MAD */
static size_t umad_recv_size(size_t mad_len)
{
	size_t len = sizeof(struct umad_recv) + sizeof(struct ib_user_mad_hdr) + mad_len;

	return mad_len > UMAD_MAD_SIZE ? roundup_pow_of_two(len) :
					 kmem_cache_size(umad_recv_cache);
}

/*
 * For a MAD that has arrived. All receivers of the port wait for this, so it does not
 * reclaim. A cgroup without room may only be full of page cache. So the MAD is not dropped,
 * and the cap pays, which bounds how far a cgroup gets past its limit.
 */
struct umad_recv *umad_recv_alloc(struct umad_file *file, u8 hdr_len, size_t mad_len)
{
	struct umad_recv *recv = NULL;
	struct mem_cgroup *old;

	if (mad_len <= UMAD_MAD_SIZE)
		recv = xchg(&file->spare_recv, NULL);
	if (!recv) {
		old = set_active_memcg(file->memcg);
		recv = __umad_recv_alloc(sizeof(struct ib_user_mad_hdr) + mad_len,
					 GFP_NOWAIT | __GFP_ACCOUNT | __GFP_NOWARN);
		set_active_memcg(old);
	}
	if (!recv)
		return umad_recv_alloc_capped(file, hdr_len, mad_len, umad_recv_size(mad_len));
	umad_recv_init(recv, hdr_len, mad_len, false);
	return recv;
}

/* Frees a received packet, but not the segments of a message, see umad_queued_free() */
void umad_recv_free(struct umad_file *file, struct umad_recv *recv)
{
	struct umad_queued *queued = &recv->queued;
	size_t mad_len = queued->length - queued->hdr_len;

	if (queued->cap_charged)
		umad_cap_uncharge(file, queued->is_segmented ? umad_recv_rmpp(recv)->cap_bytes :
							       umad_recv_size(mad_len));
	if (!queued->is_segmented && mad_len > UMAD_MAD_SIZE)
		kfree(recv);
	else if (queued->cap_charged || !umad_spare(&file->spare_recv, recv))
		kmem_cache_free(umad_recv_cache, recv);
}
