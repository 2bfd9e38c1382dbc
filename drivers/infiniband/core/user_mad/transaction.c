// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Transactions: which sends of a port are outstanding, so that duplicates of them
 * are refused, and what ends them.
 *
 * A port has one table for all its descriptors, and no cgroup is charged for it. It takes
 * some 16 bytes for each send, which is charged itself.
 */
#include <linux/jhash.h>
#include <linux/once.h>
#include <linux/random.h>
#include <rdma/ib_mad.h>

#include "user_mad.h"

/* The same for any two sends that are duplicates. All that tells sends apart is in it */
u32 umad_transaction_hash(struct umad_send *send, u32 seed)
{
	const struct ib_user_mad_hdr *hdr = umad_send_hdr(send);
	const struct ib_mad_hdr *mad = umad_send_mad(send);
	u64 tid = (__force u64)mad->tid;
	u32 class = mad->mgmt_class;

	if (send->response)
		class |= hdr->grh_present ?
			 jhash(hdr->gid, sizeof(hdr->gid), seed) << 8 :
			 (__force u16)hdr->lid << 8;

	return jhash_3words(lower_32_bits(tid), upper_32_bits(tid), class,
			    seed + send->num);
}

/*
 * Whether only one of two sends can be outstanding. Only those of one descriptor are
 * duplicates. Requests are if transaction ID and management class are the same, wherever
 * they go: that is stricter than the specification, and what clients were written
 * against. Responses are if they also have the same destination.
 */
bool umad_transaction_duplicate(struct umad_send *a, struct umad_send *b)
{
	const struct ib_user_mad_hdr *ahdr = umad_send_hdr(a);
	const struct ib_user_mad_hdr *bhdr = umad_send_hdr(b);
	const struct ib_mad_hdr *amad = umad_send_mad(a);
	const struct ib_mad_hdr *bmad = umad_send_mad(b);

	if (amad->tid != bmad->tid || amad->mgmt_class != bmad->mgmt_class ||
	    a->num != b->num)
		return false;
	if (!a->response || !b->response)
		return a->response == b->response;
	if (!ahdr->grh_present != !bhdr->grh_present)
		return false;
	if (ahdr->grh_present)
		return !memcmp(ahdr->gid, bhdr->gid, sizeof(ahdr->gid));
	return ahdr->lid == bhdr->lid;
}

/* So that no sender can choose transaction IDs that fall into one bucket */
static u32 umad_transaction_seed __read_mostly;

/*
 * The hash is taken once, with a seed that all tables share. With the seed of the
 * table, jhash() would have to run again to end a transaction, where it would be
 * most of the cost, and for each entry of a table that grows. All that such a seed
 * is good for is another try when chains are long by bad luck.
 */
static u32 umad_transaction_hashfn(const void *key, u32 len, u32 seed)
{
	return ((const struct umad_send *)key)->hash;
}

static int umad_transaction_cmpfn(struct rhashtable_compare_arg *arg,
				  const void *obj)
{
	return !umad_transaction_duplicate((struct umad_send *)arg->key,
					   (struct umad_send *)obj);
}

/* Enough for most hosts */
#define UMAD_BUCKETS	64

/*
 * The table is only walked with the lock of a bucket, so that a send can be freed as
 * soon as it has been removed.
 */
static const struct rhashtable_params umad_transaction_params = {
	.head_offset		= offsetof(struct umad_send, node),
	.hashfn			= umad_transaction_hashfn,
	.obj_hashfn		= umad_transaction_hashfn,
	.obj_cmpfn		= umad_transaction_cmpfn,
	.nelem_hint		= UMAD_BUCKETS / 2,
	.min_size		= UMAD_BUCKETS,
	.automatic_shrinking	= true,
};

int umad_transactions_init(struct umad_port *port)
{
	get_random_once(&umad_transaction_seed, sizeof(umad_transaction_seed));
	return rhashtable_init(&port->outstanding, &umad_transaction_params);
}

void umad_transactions_exit(struct umad_port *port)
{
	WARN_ON(atomic_read(&port->outstanding.nelems));
	rhashtable_destroy(&port->outstanding);
}

/*
 * Has the duplicates of a send refused. Returns -EINVAL if it is one itself, or -ENOMEM if
 * there is no memory for a larger table.
 */
int umad_transaction_begin(struct umad_file *file, struct umad_send *send)
{
	int ret;

	send->num = file->num;
	send->hash = umad_transaction_hash(send, umad_transaction_seed);
	ret = rhashtable_lookup_insert_key(&file->port->outstanding, send,
					   &send->node,
					   umad_transaction_params);
	send->hashed = !ret;
	if (ret == -EEXIST)
		return -EINVAL;
	return ret ? -ENOMEM : 0;
}

void umad_transaction_end(struct umad_file *file, struct umad_send *send)
{
	rhashtable_remove_fast(&file->port->outstanding, &send->node,
			       umad_transaction_params);
	send->hashed = false;
}

/*
 * A MAD has come to @mad_agent that may be a response. @send_buf is the send that it came
 * with, or NULL, which is completed after the receive handler has returned.
 *
 * A client that has read a response may use its transaction ID again at once, so the
 * transaction ends before there is anything to read.
 *
 * An SMP that does not leave the port comes with the send that it was itself. If the port
 * answers it, the response comes to the sender. If not, the request comes to the agent
 * that serves it, and the sender may be any client of the MAD layer.
 *
 * Returns the send that needs no record once @mad is in the queue, or NULL.
 */
struct umad_send *
umad_transaction_response(struct ib_mad_agent *mad_agent,
			  struct ib_mad_send_buf *send_buf,
			  const struct ib_mad_hdr *mad)
{
	struct umad_agent *agent = mad_agent->context;
	struct umad_send *request;

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
