// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Transactions: which sends of a port are outstanding, so that duplicates of them
 * are refused, and what ends them.
 *
 * The table is one for a port, as nobody could be charged for it. It takes some 16
 * bytes for each send, which is charged or counted itself.
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

	/* The status tells descriptors apart, as in umad_transaction_duplicate() */
	return jhash_3words(lower_32_bits(tid), upper_32_bits(tid), class,
			    seed + hdr->status);
}

/**
 * umad_transaction_duplicate - whether a send is a duplicate of another
 * @a: a send
 * @b: another one
 *
 * Only those of one descriptor are, which the status in their headers tells. Requests
 * are duplicates if transaction ID and management class are the same, wherever they go.
 * That is stricter than the specification, and what clients were written against.
 * Responses are duplicates if they also have the same destination.
 *
 * Return: true if only one of the two can be outstanding.
 */
bool umad_transaction_duplicate(struct umad_packet *a, struct umad_packet *b)
{
	const struct ib_user_mad_hdr *ahdr = umad_packet_hdr(a);
	const struct ib_user_mad_hdr *bhdr = umad_packet_hdr(b);
	const struct ib_mad_hdr *amad = umad_packet_mad(a);
	const struct ib_mad_hdr *bmad = umad_packet_mad(b);

	if (amad->tid != bmad->tid || amad->mgmt_class != bmad->mgmt_class ||
	    ahdr->status != bhdr->status)
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

static int umad_transaction_cmpfn(struct rhashtable_compare_arg *arg,
				  const void *obj)
{
	return !umad_transaction_duplicate((struct umad_packet *)arg->key,
					   (struct umad_packet *)obj);
}

/* Enough for most hosts */
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
 * umad_transactions_init - prepare a port for sends
 * @port: the port
 *
 * Return: 0 or -ENOMEM.
 */
int umad_transactions_init(struct umad_port *port)
{
	get_random_once(&umad_transaction_seed, sizeof(umad_transaction_seed));
	return rhashtable_init(&port->outstanding, &umad_transaction_params);
}

/**
 * umad_transactions_exit - undo umad_transactions_init()
 * @port: a port without agents, so that no send is outstanding
 */
void umad_transactions_exit(struct umad_port *port)
{
	WARN_ON(atomic_read(&port->outstanding.nelems));
	rhashtable_destroy(&port->outstanding);
}

/**
 * umad_transaction_begin - have the duplicates of a send refused
 * @file: who sends it
 * @packet: the send
 *
 * Context: process context.
 * Return: 0, -EINVAL if @packet is a duplicate, or -ENOMEM if there is no memory
 * for a larger table.
 */
int umad_transaction_begin(struct umad_file *file, struct umad_packet *packet)
{
	int ret;

	/* Free while it is outstanding, as its record gets another one */
	umad_packet_hdr(packet)->status = file->num;
	packet->hash = umad_transaction_hash(packet, umad_transaction_seed);
	ret = rhashtable_lookup_insert_key(&file->port->outstanding, packet,
					   &packet->node,
					   umad_transaction_params);
	packet->hashed = !ret;
	if (ret == -EEXIST)
		return -EINVAL;
	return ret ? -ENOMEM : 0;
}

/**
 * umad_transaction_end - undo umad_transaction_begin()
 * @file: who sent it
 * @packet: the send, with umad_packet.hashed
 *
 * Context: process context.
 */
void umad_transaction_end(struct umad_file *file, struct umad_packet *packet)
{
	rhashtable_remove_fast(&file->port->outstanding, &packet->node,
			       umad_transaction_params);
	packet->hashed = false;
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
	} else if (ib_response_mad(mad) && request->hashed) {
		umad_transaction_end(agent->file, request);
	}
	return request;
}
