// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Transactions: the outstanding sends of a descriptor, whose duplicates are refused.
 *
 * They are in a tree for each descriptor, which takes no memory but that of the sends, and
 * does not grow or shrink in steps. Among 16,384 sends, a search compares fifteen.
 */

#include "user_mad.h"

/*
 * 0 if only one of two sends of a descriptor can be outstanding, or else their order.
 * Requests are duplicates if transaction ID and management class are the same, wherever
 * they go: that is stricter than the specification, and clients rely on it. Responses are
 * duplicates if they also have the same destination.
 */
int umad_transaction_cmp(struct rb_node *node, const struct rb_node *other)
{
	struct umad_send *a = rb_entry(node, struct umad_send, node);
	struct umad_send *b = rb_entry(other, struct umad_send, node);
	const struct ib_user_mad_hdr *ahdr = umad_send_hdr(a);
	const struct ib_user_mad_hdr *bhdr = umad_send_hdr(b);
	const struct ib_mad_hdr *amad = umad_send_mad(a);
	const struct ib_mad_hdr *bmad = umad_send_mad(b);

	if (amad->tid != bmad->tid)
		return (__force u64)amad->tid < (__force u64)bmad->tid ? -1 : 1;
	if (amad->mgmt_class != bmad->mgmt_class)
		return amad->mgmt_class - bmad->mgmt_class;
	if (!a->response || !b->response)
		return a->response - b->response;
	if (!ahdr->grh_present != !bhdr->grh_present)
		return !ahdr->grh_present - !bhdr->grh_present;
	if (ahdr->grh_present)
		return memcmp(ahdr->gid, bhdr->gid, sizeof(ahdr->gid));
	return (__force u16)ahdr->lid - (__force u16)bhdr->lid;
}

/* Adds a send, whose duplicates are refused then. Returns -EINVAL if it is a duplicate */
int umad_transaction_begin(struct umad_file *file, struct umad_send *send)
{
	struct rb_node *duplicate;

	spin_lock(&file->transaction_lock);
	duplicate = rb_find_add(&send->node, &file->transactions, umad_transaction_cmp);
	spin_unlock(&file->transaction_lock);
	send->tracked = !duplicate;
	return duplicate ? -EINVAL : 0;
}

/* Called by the owner of the send: the writer, or the MAD layer */
void umad_transaction_end(struct umad_file *file, struct umad_send *send)
{
	if (!send->tracked)
		return;
	spin_lock(&file->transaction_lock);
	rb_erase(&send->node, &file->transactions);
	spin_unlock(&file->transaction_lock);
	send->tracked = false;
}

/*
 * Returns the send that needs no record once @mad is in the queue of @mad_agent, or NULL.
 * The MAD layer passes @send_buf with a response, or NULL, and completes it after the
 * receive handler has returned.
 *
 * A client that has read a response may use its transaction ID again at once, so the
 * transaction ends before @mad can be read.
 *
 * An SMP that does not leave the port comes with its own send. If the port answers it, the
 * response comes to the sender. If not, the request comes to the agent that serves it, and
 * the sender may be any client of the MAD layer.
 */
struct umad_send *
umad_transaction_response(struct ib_mad_agent *mad_agent, struct ib_mad_send_buf *send_buf,
			  const struct ib_mad_hdr *mad)
{
	struct umad_agent *agent = mad_agent->context;
	struct umad_send *request;

	if (!send_buf)
		return NULL;

	request = send_buf->context[0];
	if (send_buf->mad_agent != mad_agent) {
		/* The sender may be another client of the MAD layer, with its own contexts */
		if (send_buf->mad_agent->send_handler != mad_agent->send_handler)
			request = NULL;
	} else if (ib_response_mad(mad)) {
		umad_transaction_end(agent->file, request);
	}
	return request;
}
