// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Directed routes: what the hop pointer of an SMP means at a node of the model, and how it moves
 * on. IBA 14.2.2; the numbers in the comments are its compliance statements. On an ib_device that
 * is a channel adapter the MAD layer does this itself.
 */

#include "model.h"

/* What an SMP says of its route; an OPA SMP has it in another layout */
struct madsim_dr {
	u8 *hop_ptr;
	u8 hop_cnt;
	bool returning;
	u16 slid;
	u16 dlid;
	const u8 *initial_path;
	u8 *return_path;
};

static bool madsim_dr_decode(struct madsim_packet *pkt, struct madsim_dr *dr)
{
	dr->hop_ptr = &pkt->smp.hop_ptr;
	dr->hop_cnt = pkt->smp.hop_cnt;
	dr->returning = ib_get_smp_direction(&pkt->smp);
	if (madsim_is_opa_smp(&pkt->hdr)) {
		dr->slid = madsim_short_lid(be32_to_cpu(pkt->opa_smp.route.dr.dr_slid));
		dr->dlid = madsim_short_lid(be32_to_cpu(pkt->opa_smp.route.dr.dr_dlid));
		dr->initial_path = pkt->opa_smp.route.dr.initial_path;
		dr->return_path = pkt->opa_smp.route.dr.return_path;
	} else {
		dr->slid = be16_to_cpu(pkt->smp.dr_slid);
		dr->dlid = be16_to_cpu(pkt->smp.dr_dlid);
		dr->initial_path = pkt->smp.initial_path;
		dr->return_path = pkt->smp.return_path;
	}
	return dr->hop_cnt < IB_SMP_MAX_PATH_HOPS;
}

/* Leave by port @num; in the directed part LIDs are permissive */
static struct madsim_port *madsim_dr_out(struct madsim_node *node,
					 struct madsim_packet *pkt, u8 num)
{
	if (!num || num > node->nports)
		return NULL;

	pkt->slid = MADSIM_LID_PERMISSIVE;
	pkt->dlid = MADSIM_LID_PERMISSIVE;
	return &node->ports[num];
}

/* The directed part ends here; the SMP is for this switch, or goes on by LID */
static struct madsim_port *madsim_dr_end(struct madsim_node *node,
					 struct madsim_packet *pkt, u16 lid)
{
	struct madsim_port *port0 = &node->ports[0];
	u8 num;

	if (lid == MADSIM_LID_PERMISSIVE || madsim_lid_is_mine(port0, lid))
		return port0;

	num = madsim_lft_port(node->sw, lid);
	if (!num || num > node->nports)
		return NULL;

	pkt->slid = madsim_lid(port0);
	pkt->dlid = lid;
	return &node->ports[num];
}

/*
 * Advance an SMP through a switch. Returns the port by which it leaves, port 0 if it is for
 * this switch, or NULL if it has to be discarded. fabric->lock is held
 */
struct madsim_port *madsim_dr_forward(struct madsim_port *in, struct madsim_packet *pkt)
{
	struct madsim_node *node = in->node;
	struct madsim_dr dr;

	lockdep_assert_held(&node->fabric->lock);

	if (!madsim_dr_decode(pkt, &dr))
		return NULL;

	if (!dr.returning) {
		/* C14-9: the part by LID ends here, the directed one begins */
		if (dr.hop_cnt && !*dr.hop_ptr)
			return madsim_dr_out(node, pkt,
					     dr.initial_path[++*dr.hop_ptr]);
		if (*dr.hop_ptr < dr.hop_cnt) {
			dr.return_path[*dr.hop_ptr] = in->num;
			return madsim_dr_out(node, pkt,
					     dr.initial_path[++*dr.hop_ptr]);
		}
		if (*dr.hop_ptr == dr.hop_cnt) {
			if (dr.hop_cnt)
				dr.return_path[*dr.hop_ptr] = in->num;
			++*dr.hop_ptr;
			return madsim_dr_end(node, pkt, dr.dlid);
		}
		if (*dr.hop_ptr == dr.hop_cnt + 1)
			return &node->ports[0];
		return NULL;
	}

	/* C14-13 */
	if (dr.hop_cnt && *dr.hop_ptr == dr.hop_cnt + 1)
		return madsim_dr_out(node, pkt, dr.return_path[--*dr.hop_ptr]);
	if (*dr.hop_ptr >= 2 && *dr.hop_ptr <= dr.hop_cnt)
		return madsim_dr_out(node, pkt, dr.return_path[--*dr.hop_ptr]);
	if (*dr.hop_ptr == 1) {
		--*dr.hop_ptr;
		return madsim_dr_end(node, pkt, dr.slid);
	}
	return *dr.hop_ptr ? NULL : &node->ports[0];
}

/* The port by which an SMP leaves that a switch's own MAD layer has sent. NULL: discard it */
struct madsim_port *madsim_dr_depart(struct madsim_node *node, struct madsim_packet *pkt)
{
	struct madsim_dr dr;
	const u8 *path;

	lockdep_assert_held(&node->fabric->lock);

	if (!madsim_dr_decode(pkt, &dr) || *dr.hop_ptr > dr.hop_cnt)
		return NULL;
	path = dr.returning ? dr.return_path : dr.initial_path;
	return madsim_dr_out(node, pkt, path[*dr.hop_ptr]);
}

/*
 * Whether the route of an SMP ends at a port of a node without ib_device. If so, the SMP gets
 * the hop pointer of its response. fabric->lock is held
 */
bool madsim_dr_terminate(struct madsim_port *port, struct madsim_packet *pkt)
{
	struct madsim_dr dr;

	lockdep_assert_held(&port->node->fabric->lock);

	if (!madsim_dr_decode(pkt, &dr) || dr.returning)
		return false;

	/* Came by LID after the directed part: goes back by LID */
	if (*dr.hop_ptr == dr.hop_cnt + 1)
		return true;

	if (*dr.hop_ptr != dr.hop_cnt || dr.dlid != MADSIM_LID_PERMISSIVE)
		return false;

	/* One up as the request arrives, one down as the response leaves */
	if (dr.hop_cnt)
		dr.return_path[*dr.hop_ptr] = port->num;
	return true;
}
