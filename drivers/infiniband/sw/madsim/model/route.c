// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Where a packet goes: what a link takes, and which port of a node is next. This
 * changes nothing but the hop pointer of a directed route, and what a router makes anew. The
 * caller deals with a packet that goes nowhere.
 */

#include <linux/hash.h>

#include "model.h"

static bool madsim_gid_is_mine(const struct madsim_port *port, const union ib_gid *gid)
{
	unsigned int i;

	if (gid->global.subnet_prefix != port->info.gid_prefix)
		return false;
	for (i = 0; i < MADSIM_GUIDS; i++) {
		if (port->guids[i] &&
		    port->guids[i] == gid->global.interface_id)
			return true;
	}
	return false;
}

/**
 * madsim_find_pkey - look for the entry of a port that lets a packet pass
 * @port: an end port, or one of a switch that checks P_Keys
 * @pkey: the packet's P_Key
 *
 * Context: any; fabric->lock is held.
 * Return: the index, of a full member if there is a choice as in
 * ib_find_cached_pkey(), or -1.
 */
int madsim_find_pkey(const struct madsim_port *port, u16 pkey)
{
	int i, limited = -1;

	lockdep_assert_held(&port->node->fabric->lock);

	for (i = 0; i < MADSIM_PKEYS; i++) {
		u16 mine = be16_to_cpu(port->pkeys[i]);

		if (!madsim_pkey_matches(mine, pkey))
			continue;
		if (mine & 0x8000)
			return i;
		limited = i;
	}
	return limited;
}

/* Whether a packet that has come to an end port has no GID of another port. fabric->lock is held */
bool madsim_grh_fits(const struct madsim_port *port, const struct madsim_packet *pkt)
{
	return !pkt->grh_valid || pkt->grh.dgid.raw[0] == 0xff ||
	       madsim_gid_is_mine(port, &pkt->grh.dgid);
}

/*
 * A switch compares partitions without membership: the entry of its port and the P_Key both have
 * the membership of the sender
 */
static bool madsim_may_enter(const struct madsim_port *in, const struct madsim_packet *pkt)
{
	return !(madsim_pi_get(&in->info, MADSIM_PI_ENFORCE) & MADSIM_ENFORCE_IN) ||
	       madsim_find_pkey(in, pkt->pkey | 0x8000) >= 0;
}

/**
 * madsim_route_leave - whether a switch lets a packet out
 * @in: the port it came in by
 * @out: the port it would leave by
 * @pkt: the packet
 * @at: the port of the two whose matter it is
 *
 * Context: any; fabric->lock is held.
 * Return: %MADSIM_GOES, or how it is lost.
 */
enum madsim_fate madsim_route_leave(struct madsim_port *in,
				    struct madsim_port *out,
				    const struct madsim_packet *pkt,
				    struct madsim_port **at)
{
	*at = out;
	if (pkt->smi)
		return MADSIM_GOES;
	if (!madsim_has_vl(in, out, pkt)) {
		*at = in;
		return MADSIM_LOST_VL;
	}
	if (madsim_pi_get(&out->info, MADSIM_PI_ENFORCE) & MADSIM_ENFORCE_OUT &&
	    madsim_find_pkey(out, pkt->pkey) < 0)
		return MADSIM_LOST_EXIT;
	return MADSIM_GOES;
}

/* Whether a switch sends a packet for a group by a port; 0 is itself. fabric->lock is held */
bool madsim_in_mft(const struct madsim_switch *sw, u16 lid, u8 num)
{
	unsigned int at = (lid - MADSIM_LID_MULTICAST) * sw->mft_words +
			  num / 16;

	return lid - MADSIM_LID_MULTICAST < MADSIM_MFT_SIZE &&
	       be16_to_cpu(sw->mft[at]) & BIT(num % 16);
}

/* Where a switch sends a packet with a unicast LID; port 0 is itself */
static enum madsim_fate madsim_lft(struct madsim_port *in,
				   const struct madsim_packet *pkt,
				   struct madsim_port **out)
{
	struct madsim_node *node = in->node;
	struct madsim_port *port0 = &node->ports[0];
	u8 num;

	*out = port0;
	if (madsim_lid_is_mine(port0, pkt->dlid))
		return MADSIM_GOES;
	/* A switch's own packet to "the other end of the link" is on no link */
	if (pkt->dlid == MADSIM_LID_PERMISSIVE)
		return in->num || madsim_is_dr_smp(pkt) ? MADSIM_GOES : MADSIM_LOST;

	num = madsim_lft_port(node->sw, pkt->dlid);
	if (!num || num > node->nports)
		return MADSIM_LOST_DLID;
	if (num == in->num)
		return MADSIM_LOST_LOOPING;
	*out = &node->ports[num];
	return MADSIM_GOES;
}

/* This and madsim_route_router() are not inlined, or end ports would save registers for them */
static noinline enum madsim_fate
madsim_route_switch(struct madsim_port *in, struct madsim_packet *pkt,
		    struct madsim_port **at)
{
	struct madsim_port *out;
	enum madsim_fate fate;

	if (!pkt->smi && !madsim_may_enter(in, pkt))
		return MADSIM_LOST_ENTRY;
	if (madsim_lid_is_multicast(pkt->dlid))
		return MADSIM_COPIES;

	fate = madsim_lft(in, pkt, &out);
	if (fate != MADSIM_GOES)
		return fate;
	if (!out->num && madsim_is_dr_smp(pkt))
		out = madsim_dr_forward(in, pkt);
	if (!out)
		return MADSIM_LOST;
	if (out->num)
		return madsim_route_leave(in, out, pkt, at);
	*at = out;
	return MADSIM_ENDS;
}

/* The end port that a GID is of; NULL if there is none, or it has no power */
static struct madsim_port *madsim_find_gid(struct madsim_fabric *fabric, const union ib_gid *gid)
{
	u64 id = be64_to_cpu(gid->global.interface_id);
	struct madsim_port **found = &fabric->found[hash_64(id, MADSIM_FOUND_BITS)];
	struct madsim_node *node;
	unsigned int i;

	if (*found && madsim_gid_is_mine(*found, gid))
		return *found;
	list_for_each_entry(node, &fabric->nodes, list) {
		if (!node->powered)
			continue;
		for (i = !node->sw; i <= (node->sw ? 0 : node->nports); i++) {
			if (!madsim_gid_is_mine(&node->ports[i], gid))
				continue;
			*found = &node->ports[i];
			return *found;
		}
	}
	return NULL;
}

/* The port of a router in the subnet of a GID; NULL if there is none, or it is down */
static struct madsim_port *madsim_router_port(struct madsim_node *router, const union ib_gid *gid)
{
	unsigned int i;

	for (i = 1; i <= router->nports; i++) {
		struct madsim_port *port = &router->ports[i];

		if (port->info.gid_prefix == gid->global.subnet_prefix &&
		    madsim_state(port) == IB_PORT_ACTIVE)
			return port;
	}
	return NULL;
}

/* The fate of a packet at a port that sends no packet on */
static enum madsim_fate madsim_route_end(const struct madsim_port *in,
					 const struct madsim_packet *pkt)
{
	if (madsim_lid_is_mine(in, pkt->dlid) ||
	    pkt->dlid == MADSIM_LID_PERMISSIVE ||
	    madsim_lid_is_multicast(pkt->dlid))
		return MADSIM_ENDS;
	return MADSIM_LOST;
}

/*
 * Where a router sends a packet with the GID of another port. It finds the LID there as if
 * it were asked of the subnet's manager. The SL stays, and so does what ICRC covers.
 */
static noinline enum madsim_fate
madsim_route_router(struct madsim_port *in, struct madsim_packet *pkt,
		    struct madsim_port **at)
{
	const union ib_gid *dgid = &pkt->grh.dgid;
	struct madsim_port *out, *to;

	if (pkt->smi || !madsim_lid_is_mine(in, pkt->dlid) ||
	    madsim_grh_fits(in, pkt))
		return madsim_route_end(in, pkt);
	if (in->info.gid_prefix == dgid->global.subnet_prefix)
		return MADSIM_LOST_LOOPING;
	/* Link-local ones, fe80::/10, are of one subnet only */
	if (be64_to_cpu(dgid->global.subnet_prefix) >> 54 == 0xfe80 >> 6)
		return MADSIM_LOST_DLID;
	out = madsim_router_port(in->node, dgid);
	to = madsim_find_gid(in->node->fabric, dgid);
	if (!out || !to)
		return MADSIM_LOST_DLID;
	if (!madsim_has_vl(out, out, pkt))
		return MADSIM_LOST_VL;
	*at = out;
	if (pkt->grh.hop_limit < 2)
		return MADSIM_LOST_OLD;
	pkt->grh.hop_limit--;
	pkt->slid = madsim_lid(out);
	pkt->dlid = madsim_lid(to);
	return MADSIM_GOES;
}

/**
 * madsim_route_next - what a node does with a packet
 * @in: the port it came in by, port 0 if it comes from a switch itself
 * @pkt: the packet
 * @at: the port that it leaves by or ends at, or that loses it
 *
 * Context: any; fabric->lock is held.
 * Return: what.
 */
enum madsim_fate madsim_route_next(struct madsim_port *in,
				   struct madsim_packet *pkt,
				   struct madsim_port **at)
{
	*at = in;
	if (in->node->sw)
		return madsim_route_switch(in, pkt, at);
	if (in->node->type == RDMA_NODE_IB_ROUTER)
		return madsim_route_router(in, pkt, at);
	return madsim_route_end(in, pkt);
}
