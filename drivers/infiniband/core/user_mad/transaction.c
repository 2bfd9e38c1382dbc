// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Transactions: which sends of a descriptor are outstanding, so that duplicates
 * of them are refused, and what ends them.
 */
#include <linux/jhash.h>
#include <linux/once.h>
#include <linux/random.h>
#include <rdma/ib_mad.h>

#include "user_mad.h"

/**
 * umad_transaction_hash - hash of what makes a send a duplicate of another
 * @packet: the send
 * @seed: a random number, the same for all sends of a table
 *
 * Return: the hash; the same for any two sends that are duplicates.
 */
u32 umad_transaction_hash(struct umad_packet *packet, u32 seed)
{
	const struct ib_user_mad_hdr *hdr = umad_packet_hdr(packet);
	const struct ib_mad_hdr *mad = umad_packet_mad(packet);
	u64 tid = (__force u64)mad->tid;
	u32 class = mad->mgmt_class;

	if (packet->response)
		class |= hdr->grh_present ?
			 jhash(hdr->gid, sizeof(hdr->gid), seed) << 8 :
			 (__force u16)hdr->lid << 8;

	return jhash_3words(lower_32_bits(tid), upper_32_bits(tid), class,
			    seed);
}

/**
 * umad_transaction_duplicate - whether a send is a duplicate of another
 * @a: a send
 * @b: a send of the same descriptor
 *
 * Requests are duplicates if transaction ID and management class are the same,
 * wherever they go. That is stricter than the specification, and what clients
 * were written against. Responses are duplicates if they also have the same
 * destination.
 *
 * Return: true if only one of the two can be outstanding.
 */
bool umad_transaction_duplicate(struct umad_packet *a, struct umad_packet *b)
{
	const struct ib_user_mad_hdr *ahdr = umad_packet_hdr(a);
	const struct ib_user_mad_hdr *bhdr = umad_packet_hdr(b);
	const struct ib_mad_hdr *amad = umad_packet_mad(a);
	const struct ib_mad_hdr *bmad = umad_packet_mad(b);

	if (amad->tid != bmad->tid || amad->mgmt_class != bmad->mgmt_class)
		return false;
	if (!a->response || !b->response)
		return a->response == b->response;
	if (!ahdr->grh_present != !bhdr->grh_present)
		return false;
	if (ahdr->grh_present)
		return !memcmp(ahdr->gid, bhdr->gid, sizeof(ahdr->gid));
	return ahdr->lid == bhdr->lid;
}

/* So that nobody can choose transaction IDs that fall into one bucket */
static u32 umad_transaction_seed __read_mostly;

/*
 * The hash is taken once, with a seed that all tables share. With the seed of the
 * table, jhash() would have to run again to end a transaction, where it would be
 * most of the cost, and for each entry of a table that grows. All that such a seed
 * is good for is another try when chains are long by bad luck.
 */
static u32 umad_transaction_hashfn(const void *key, u32 len, u32 seed)
{
	return ((const struct umad_packet *)key)->hash;
}

/* A send with @repeat looks for its ring only, any other one for duplicates */
static int umad_transaction_cmpfn(struct rhashtable_compare_arg *arg,
				  const void *obj)
{
	struct umad_packet *key = (struct umad_packet *)arg->key;
	struct umad_packet *sent = (struct umad_packet *)obj;

	return (key->repeat && !sent->repeat) ||
	       !umad_transaction_duplicate(key, sent);
}

/* Enough for most programs, and cheap to make for those that send little */
#define UMAD_BUCKETS	64

/*
 * Nobody walks the table without the lock of a bucket, so that a send can be
 * freed as soon as it has been removed.
 */
static const struct rhashtable_params umad_transaction_params = {
	.head_offset		= offsetof(struct umad_packet, node),
	.hashfn			= umad_transaction_hashfn,
	.obj_hashfn		= umad_transaction_hashfn,
	.obj_cmpfn		= umad_transaction_cmpfn,
	.nelem_hint		= UMAD_BUCKETS / 2,
	.min_size		= UMAD_BUCKETS,
	.automatic_shrinking	= true,
};

/**
 * umad_transactions_init - prepare a descriptor for sending
 * @file: the descriptor
 *
 * Return: 0 or -ENOMEM.
 */
int umad_transactions_init(struct umad_file *file)
{
	spin_lock_init(&file->repeat_lock);
	get_random_once(&umad_transaction_seed, sizeof(umad_transaction_seed));
	return rhashtable_init(&file->outstanding, &umad_transaction_params);
}

/**
 * umad_transactions_close - prepare for the end of all transactions
 * @file: a descriptor that nobody can send with any more
 *
 * The table goes soon after them, and need not be made smaller before.
 */
void umad_transactions_close(struct umad_file *file)
{
	file->outstanding.p.automatic_shrinking = false;
}

/**
 * umad_transactions_exit - undo umad_transactions_init()
 * @file: a descriptor without agents, so that no send is outstanding
 */
void umad_transactions_exit(struct umad_file *file)
{
	WARN_ON(atomic_read(&file->sends));
	rhashtable_destroy(&file->outstanding);
}

/* The first of a transaction stands in the table for those that follow */
static int umad_transaction_begin_repeat(struct umad_file *file,
					 struct umad_packet *packet)
{
	struct umad_packet *first;

	INIT_LIST_HEAD(umad_packet_ring(packet));

	spin_lock(&file->repeat_lock);
	first = rhashtable_lookup_get_insert_key(&file->outstanding, packet,
						 &packet->node,
						 umad_transaction_params);
	packet->hashed = !first;
	if (!IS_ERR_OR_NULL(first))
		list_add_tail(umad_packet_ring(packet), umad_packet_ring(first));
	spin_unlock(&file->repeat_lock);

	return IS_ERR(first) ? -ENOMEM : 0;
}

static __always_inline void umad_transaction_remove(struct umad_file *file,
						    struct umad_packet *packet)
{
	/* umad_transactions_close() may tell the table now not to shrink any more */
	data_race(rhashtable_remove_fast(&file->outstanding, &packet->node,
					 umad_transaction_params));
}

static struct umad_packet *umad_ring_packet(struct list_head *ring)
{
	return (void *)ring - offsetof(struct umad_packet, data) -
	       UMAD_TIMEOUT_LEN;
}

/* When the first is complete, the next one stands there */
static void umad_transaction_end_repeat(struct umad_file *file,
					struct umad_packet *packet)
{
	struct list_head *ring = umad_packet_ring(packet);

	spin_lock(&file->repeat_lock);
	if (packet->hashed && list_empty(ring)) {
		umad_transaction_remove(file, packet);
	} else if (packet->hashed) {
		struct umad_packet *next = umad_ring_packet(ring->next);

		WARN_ON(rhashtable_replace_fast(&file->outstanding,
						&packet->node, &next->node,
						umad_transaction_params));
		next->hashed = true;
	}
	packet->hashed = false;
	list_del_init(ring);
	spin_unlock(&file->repeat_lock);
}

/**
 * umad_transaction_begin - have the duplicates of a send refused
 * @file: who sends it
 * @packet: the send. One with umad_packet.repeat is never a duplicate itself
 *
 * Context: process context.
 * Return: 0, -EINVAL if @packet is a duplicate, or -ENOMEM if the table is too
 * small at the moment: there was no memory for a larger one, or no time yet.
 */
int umad_transaction_begin(struct umad_file *file, struct umad_packet *packet)
{
	int ret;

	packet->hash = umad_transaction_hash(packet, umad_transaction_seed);
	if (packet->repeat)
		return umad_transaction_begin_repeat(file, packet);

	ret = rhashtable_lookup_insert_key(&file->outstanding, packet,
					   &packet->node,
					   umad_transaction_params);
	packet->hashed = !ret;
	if (ret == -EEXIST)
		return -EINVAL;
	return ret ? -ENOMEM : 0;
}

/* Once for each send */
static __always_inline void umad_transaction_forget(struct umad_file *file,
						    struct umad_packet *packet)
{
	if (packet->repeat) {
		umad_transaction_end_repeat(file, packet);
		return;
	}

	if (packet->hashed)
		umad_transaction_remove(file, packet);
	packet->hashed = false;
}

/**
 * __umad_transaction_end - the part of umad_transaction_end() that is not inline
 * @file: who sent it
 * @packet: the send
 *
 * Context: process context.
 */
void __umad_transaction_end(struct umad_file *file, struct umad_packet *packet)
{
	umad_transaction_forget(file, packet);
}

/**
 * umad_transaction_response - a MAD has come that may be a response
 * @mad_agent: the agent that received it
 * @send_buf: the send that it came with, or NULL
 * @mad: header of the MAD
 *
 * The MAD layer completes a request after it has delivered the response. Whoever
 * has read the response may use the transaction ID again at once, so the
 * transaction ends before there is anything to read.
 *
 * An SMP that does not leave the port comes with the send that it was itself. If
 * the port answers it, the response comes to the sender. If not, the request comes
 * to the agent that serves it, and the sender may be anybody.
 *
 * Context: a receive handler; @send_buf is completed after it returns.
 * Return: the send that needs no record once @mad is in the queue, or NULL.
 */
struct umad_packet *
umad_transaction_response(struct ib_mad_agent *mad_agent,
			  struct ib_mad_send_buf *send_buf,
			  const struct ib_mad_hdr *mad)
{
	struct umad_agent *agent = mad_agent->context;
	struct umad_packet *request;

	if (!send_buf)
		return NULL;

	request = send_buf->context[0];
	if (send_buf->mad_agent != mad_agent) {
		/* Of another client of the MAD layer, perhaps */
		if (send_buf->mad_agent->send_handler != mad_agent->send_handler)
			request = NULL;
	} else if (ib_response_mad(mad)) {
		umad_transaction_forget(agent->file, request);
	}
	return request;
}
