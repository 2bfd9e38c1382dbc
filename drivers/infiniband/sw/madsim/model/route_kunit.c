// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit tests of route.c: by which port a packet leaves a node, and why by none.
 */

#include <kunit/test.h>

#include "model.h"
#include "control/control.h"

/*
 * The nodes have power and no cables. The switch has three ports, and the LID 1. Port 3 lets in
 * and out what is of partition 1, and of limited members of partition 4. The host has the LID 7.
 * The router has ports 1 to 3 in subnets 1 to 3, with the LIDs 11 to 13, and its port 3 is down.
 * The far host is in subnets 2 and 3, with the LIDs 7 and 8.
 */
struct madsim_route_test {
	struct madsim_fabric *fabric;
	struct madsim_node *sw;
	struct madsim_node *host;
	struct madsim_node *router;
	struct madsim_node *far;
};

#define MADSIM_TEST_PREFIX	0xfec0000000000000ULL

static void madsim_route_port(struct madsim_port *port, u8 subnet, u16 lid)
{
	port->info.gid_prefix = cpu_to_be64(MADSIM_TEST_PREFIX | subnet);
	port->info.lid = cpu_to_be16(lid);
	madsim_pi_set(&port->info, MADSIM_PI_STATE,
		      subnet == 3 ? IB_PORT_DOWN : IB_PORT_ACTIVE);
}

static void madsim_route_subnets(struct madsim_route_test *t)
{
	madsim_route_port(&t->router->ports[1], 1, 11);
	madsim_route_port(&t->router->ports[2], 2, 12);
	madsim_route_port(&t->router->ports[3], 3, 13);
	/* SL 15 has no lane */
	madsim_sl2vl(t->router, 0, 2)[7] = 0x0f;
	madsim_route_port(&t->far->ports[1], 2, 7);
	madsim_route_port(&t->far->ports[2], 3, 8);
	/* An alias, as that of a virtual function */
	t->far->ports[1].guids[3] = cpu_to_be64(0xa11a5);
}

static void madsim_route_tables(struct madsim_node *sw)
{
	struct madsim_port *guard = &sw->ports[3];

	sw->ports[0].info.lid = cpu_to_be16(1);
	sw->sw->info.lft_top = cpu_to_be16(4);
	sw->sw->lft[2] = 2;
	sw->sw->lft[3] = 3;
	sw->sw->lft[5] = 2;
	/* SL 14 has VL0 from port 1 to port 2, SL 15 the VL of subnet management */
	madsim_sl2vl(sw, 1, 2)[7] = 0x0f;
	madsim_pi_set(&guard->info, MADSIM_PI_ENFORCE,
		      MADSIM_ENFORCE_IN | MADSIM_ENFORCE_OUT);
	guard->pkeys[0] = cpu_to_be16(0x8001);
	guard->pkeys[1] = cpu_to_be16(0x0004);
}

static int madsim_route_init(struct kunit *test)
{
	struct madsim_route_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	struct madsim_fabric *fabric;

	KUNIT_ASSERT_NOT_NULL(test, t);
	fabric = madsim_fabric_create("kunit");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, fabric);
	t->fabric = fabric;
	test->priv = t;

	mutex_lock(&fabric->mutex);
	t->sw = madsim_node_create(fabric, "switch", true, 3);
	t->host = madsim_node_create(fabric, "host", false, 1);
	t->router = madsim_node_create(fabric, "router", false, 3);
	t->far = madsim_node_create(fabric, "far", false, 2);
	if (!IS_ERR(t->sw) && !IS_ERR(t->host) && !IS_ERR(t->router) && !IS_ERR(t->far) &&
	    !madsim_node_rebuild(t->router, RDMA_NODE_IB_ROUTER, t->router->nports) &&
	    !madsim_fabric_start(fabric)) {
		madsim_route_tables(t->sw);
		madsim_route_subnets(t);
		t->host->ports[1].info.lid = cpu_to_be16(7);
	}
	mutex_unlock(&fabric->mutex);
	return fabric->live ? 0 : -ENOMEM;
}

static void madsim_route_exit(struct kunit *test)
{
	struct madsim_route_test *t = test->priv;

	if (t)
		madsim_fabric_destroy(t->fabric);
}

/**
 * struct madsim_route_case - a packet at a node
 * @desc: name of the row
 * @host: the node is the host
 * @in: the port it came in by
 * @dlid: its destination
 * @sl: its service level
 * @smi: it is of subnet management
 * @pkey: its P_Key
 * @fate: what becomes of the packet
 * @at: at which port
 */
struct madsim_route_case {
	const char *desc;
	bool host;
	u8 in;
	u16 dlid;
	u8 sl;
	bool smi;
	u16 pkey;
	enum madsim_fate fate;
	u8 at;
};

static const struct madsim_route_case madsim_route_cases[] = {
	{ "by the table", .in = 1, .dlid = 2, .fate = MADSIM_GOES, .at = 2 },
	{ "for the switch", .in = 1, .dlid = 1, .fate = MADSIM_ENDS },
	{ "back to where it came from", .in = 2, .dlid = 2,
	  .fate = MADSIM_LOST_LOOPING, .at = 2 },
	{ "no entry", .in = 1, .dlid = 4, .fate = MADSIM_LOST_DLID, .at = 1 },
	{ "behind LinearFDBTop", .in = 1, .dlid = 5,
	  .fate = MADSIM_LOST_DLID, .at = 1 },
	{ "a group", .in = 1, .dlid = 0xc000, .fate = MADSIM_COPIES, .at = 1 },
	{ "permissive, from a link", .in = 1, .dlid = 0xffff,
	  .fate = MADSIM_ENDS },
	{ "permissive, from the switch", .dlid = 0xffff, .fate = MADSIM_LOST },
	{ "an SL with a lane", .in = 1, .dlid = 2, .sl = 14,
	  .fate = MADSIM_GOES, .at = 2 },
	{ "an SL without", .in = 1, .dlid = 2, .sl = 15,
	  .fate = MADSIM_LOST_VL, .at = 1 },
	{ "an SL without, of an SMP", .in = 1, .dlid = 2, .sl = 15, .smi = true,
	  .fate = MADSIM_GOES, .at = 2 },
	{ "out with the P_Key", .in = 1, .dlid = 3, .pkey = 0x8001,
	  .fate = MADSIM_GOES, .at = 3 },
	{ "out with that of a limited member", .in = 1, .dlid = 3, .pkey = 0x0001,
	  .fate = MADSIM_GOES, .at = 3 },
	{ "out with another one", .in = 1, .dlid = 3, .pkey = 0x8002,
	  .fate = MADSIM_LOST_EXIT, .at = 3 },
	{ "in with the P_Key", .in = 3, .dlid = 2, .pkey = 0x8001,
	  .fate = MADSIM_GOES, .at = 2 },
	{ "in with that of a limited member", .in = 3, .dlid = 2, .pkey = 0x0004,
	  .fate = MADSIM_GOES, .at = 2 },
	{ "in with another one", .in = 3, .dlid = 2, .pkey = 0x8002,
	  .fate = MADSIM_LOST_ENTRY, .at = 3 },
	{ "in without one, an SMP", .in = 3, .dlid = 2, .smi = true,
	  .fate = MADSIM_GOES, .at = 2 },
	{ "for the host", .host = true, .in = 1, .dlid = 7,
	  .fate = MADSIM_ENDS, .at = 1 },
	{ "for another host", .host = true, .in = 1, .dlid = 6,
	  .fate = MADSIM_LOST, .at = 1 },
	{ "permissive, to a host", .host = true, .in = 1, .dlid = 0xffff,
	  .fate = MADSIM_ENDS, .at = 1 },
	{ "a group, to a host", .host = true, .in = 1, .dlid = 0xfffe,
	  .fate = MADSIM_ENDS, .at = 1 },
};

KUNIT_ARRAY_PARAM_DESC(madsim_route, madsim_route_cases, desc);

/**
 * struct madsim_router_case - a packet that has come to port 1 of the router, by its LID
 * @desc: name of the row
 * @host: or to port 2 of the far host
 * @smi: it is of subnet management
 * @local: it has no GRH
 * @prefix: of its DGID
 * @id: and the interface ID there; 0: port 1 or 2 of the far host, or 1 of the router
 * @hops: its hop limit
 * @sl: its service level
 * @fate: what becomes of the packet
 * @at: at which port
 * @dlid: and where it goes to then
 */
struct madsim_router_case {
	const char *desc;
	bool host;
	bool smi;
	bool local;
	u64 prefix;
	u64 id;
	u8 hops;
	u8 sl;
	enum madsim_fate fate;
	u8 at;
	u16 dlid;
};

static const struct madsim_router_case madsim_router_cases[] = {
	{ "to another subnet", .prefix = MADSIM_TEST_PREFIX | 2, .hops = 2,
	  .fate = MADSIM_GOES, .at = 2, .dlid = 7 },
	{ "to an alias", .prefix = MADSIM_TEST_PREFIX | 2, .id = 0xa11a5, .hops = 255,
	  .fate = MADSIM_GOES, .at = 2, .dlid = 7 },
	{ "the last hop", .prefix = MADSIM_TEST_PREFIX | 2, .hops = 1,
	  .fate = MADSIM_LOST_OLD, .at = 2 },
	{ "no hop", .prefix = MADSIM_TEST_PREFIX | 2, .fate = MADSIM_LOST_OLD, .at = 2 },
	{ "without a GRH", .local = true, .fate = MADSIM_ENDS, .at = 1 },
	{ "for the router", .prefix = MADSIM_TEST_PREFIX | 1, .hops = 2,
	  .fate = MADSIM_ENDS, .at = 1 },
	{ "for another port of a host", .host = true, .prefix = MADSIM_TEST_PREFIX | 2,
	  .hops = 2, .fate = MADSIM_ENDS, .at = 2 },
	{ "an SMP", .smi = true, .prefix = MADSIM_TEST_PREFIX | 2, .hops = 2,
	  .fate = MADSIM_ENDS, .at = 1 },
	{ "to the subnet it is from", .prefix = MADSIM_TEST_PREFIX | 1, .id = 1, .hops = 2,
	  .fate = MADSIM_LOST_LOOPING, .at = 1 },
	{ "to a subnet that is not there", .prefix = MADSIM_TEST_PREFIX | 4, .hops = 2,
	  .fate = MADSIM_LOST_DLID, .at = 1 },
	{ "to a subnet whose link is down", .prefix = MADSIM_TEST_PREFIX | 3, .hops = 2,
	  .fate = MADSIM_LOST_DLID, .at = 1 },
	{ "to nobody", .prefix = MADSIM_TEST_PREFIX | 2, .id = 1, .hops = 2,
	  .fate = MADSIM_LOST_DLID, .at = 1 },
	{ "link-local", .prefix = 0xfe80000000000000ULL, .hops = 2,
	  .fate = MADSIM_LOST_DLID, .at = 1 },
	{ "an SL without a lane", .prefix = MADSIM_TEST_PREFIX | 2, .sl = 15, .hops = 2,
	  .fate = MADSIM_LOST_VL, .at = 1 },
};

KUNIT_ARRAY_PARAM_DESC(madsim_router, madsim_router_cases, desc);

static __be64 madsim_router_id(const struct madsim_route_test *t,
			       const struct madsim_router_case *row)
{
	if (row->id)
		return cpu_to_be64(row->id);
	if (row->prefix == (MADSIM_TEST_PREFIX | 1))
		return t->router->ports[1].guids[0];
	return t->far->ports[row->prefix == (MADSIM_TEST_PREFIX | 3) ? 2 : 1].guids[0];
}

static void madsim_route_test_router(struct kunit *test)
{
	const struct madsim_router_case *row = test->param_value;
	struct madsim_route_test *t = test->priv;
	struct madsim_port *in = row->host ? &t->far->ports[2] : &t->router->ports[1];
	struct madsim_packet *pkt = &t->fabric->pkt;
	enum madsim_fate fate;
	struct madsim_port *at;

	spin_lock_irq(&t->fabric->lock);
	if (row->prefix == 0xfe80000000000000ULL) {
		t->router->ports[2].info.gid_prefix = cpu_to_be64(row->prefix);
		t->far->ports[1].info.gid_prefix = cpu_to_be64(row->prefix);
	}
	pkt->slid = 5;
	pkt->dlid = madsim_lid(in);
	pkt->sl = row->sl;
	pkt->smi = row->smi;
	pkt->grh_valid = !row->local;
	pkt->grh.hop_limit = row->hops;
	pkt->grh.dgid.global.subnet_prefix = cpu_to_be64(row->prefix);
	pkt->grh.dgid.global.interface_id = madsim_router_id(t, row);
	fate = madsim_route_next(in, pkt, &at);
	spin_unlock_irq(&t->fabric->lock);

	KUNIT_EXPECT_EQ(test, fate, row->fate);
	KUNIT_EXPECT_PTR_EQ(test, at, &in->node->ports[row->at]);
	KUNIT_EXPECT_EQ(test, pkt->slid, row->dlid ? 12 : 5);
	KUNIT_EXPECT_EQ(test, pkt->dlid, row->dlid ?: madsim_lid(in));
	KUNIT_EXPECT_EQ(test, pkt->grh.hop_limit, row->hops - !!row->dlid);
}

/* A GID is found where it is, not where it was, nor at a node without power */
static void madsim_route_test_found(struct kunit *test)
{
	static const u16 dlids[] = { 7, 11, 9 };
	struct madsim_route_test *t = test->priv;
	struct madsim_fabric *fabric = t->fabric;
	struct madsim_packet *pkt = &fabric->pkt;
	struct madsim_port *at, *host = &t->host->ports[1];
	enum madsim_fate fate;
	__be64 id = t->far->ports[1].guids[0];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(dlids); i++) {
		spin_lock_irq(&fabric->lock);
		pkt->dlid = 11;
		pkt->sl = 0;
		pkt->grh_valid = true;
		pkt->grh.hop_limit = 2;
		pkt->grh.dgid.global.subnet_prefix = cpu_to_be64(MADSIM_TEST_PREFIX | 2);
		pkt->grh.dgid.global.interface_id = id;
		fate = madsim_route_next(&t->router->ports[1], pkt, &at);
		spin_unlock_irq(&fabric->lock);
		KUNIT_EXPECT_EQ(test, fate, i == 1 ? MADSIM_LOST_DLID : MADSIM_GOES);
		KUNIT_EXPECT_EQ(test, pkt->dlid, dlids[i]);

		mutex_lock(&fabric->mutex);
		if (!i) {
			madsim_node_unplug(t->far);
			madsim_route_port(&t->far->ports[1], 2, 7);
		} else {
			host->guids[1] = id;
			madsim_route_port(host, 2, 9);
		}
		mutex_unlock(&fabric->mutex);
	}
}

static void madsim_route_test_next(struct kunit *test)
{
	const struct madsim_route_case *row = test->param_value;
	struct madsim_route_test *t = test->priv;
	struct madsim_node *node = row->host ? t->host : t->sw;
	struct madsim_packet *pkt = &t->fabric->pkt;
	enum madsim_fate fate;
	struct madsim_port *at;

	spin_lock_irq(&t->fabric->lock);
	pkt->dlid = row->dlid;
	pkt->sl = row->sl;
	pkt->smi = row->smi;
	pkt->pkey = row->pkey;
	fate = madsim_route_next(&node->ports[row->in], pkt, &at);
	spin_unlock_irq(&t->fabric->lock);

	KUNIT_EXPECT_EQ(test, fate, row->fate);
	KUNIT_EXPECT_PTR_EQ(test, at, &node->ports[row->at]);
}

/**
 * struct madsim_link_case - a packet at a link
 * @desc: name of the row
 * @state: of the port
 * @smi: the packet is of subnet management
 * @out: what becomes of the packet at the near end
 * @in: what becomes of the packet at the far end
 */
struct madsim_link_case {
	const char *desc;
	enum ib_port_state state;
	bool smi;
	enum madsim_fate out;
	enum madsim_fate in;
};

static const struct madsim_link_case madsim_link_cases[] = {
	{ "down, an SMP", IB_PORT_DOWN, true,
	  MADSIM_LOST_INACTIVE, MADSIM_LOST_MALFORMED },
	{ "trained", IB_PORT_INIT, false,
	  MADSIM_LOST_INACTIVE, MADSIM_LOST_MALFORMED },
	{ "trained, an SMP", IB_PORT_INIT, true, MADSIM_GOES, MADSIM_GOES },
	{ "armed", IB_PORT_ARMED, false, MADSIM_LOST_INACTIVE, MADSIM_GOES },
	{ "active", IB_PORT_ACTIVE, false, MADSIM_GOES, MADSIM_GOES },
};

KUNIT_ARRAY_PARAM_DESC(madsim_link, madsim_link_cases, desc);

static void madsim_route_test_link(struct kunit *test)
{
	const struct madsim_link_case *row = test->param_value;
	struct madsim_route_test *t = test->priv;
	struct madsim_port *port = &t->host->ports[1];
	struct madsim_packet *pkt = &t->fabric->pkt;

	madsim_pi_set(&port->info, MADSIM_PI_STATE, row->state);
	pkt->smi = row->smi;
	KUNIT_EXPECT_EQ(test, madsim_route_out(port, pkt), row->out);
	KUNIT_EXPECT_EQ(test, madsim_route_in(port, pkt), row->in);
}

/* Of two entries for a partition, that of a full member is found */
static void madsim_route_test_pkey(struct kunit *test)
{
	struct madsim_route_test *t = test->priv;
	struct madsim_port *port = &t->host->ports[1];
	int full, limited, none;

	spin_lock_irq(&t->fabric->lock);
	port->pkeys[1] = cpu_to_be16(0x0002);
	port->pkeys[2] = cpu_to_be16(0x8002);
	port->pkeys[3] = cpu_to_be16(0x0003);
	full = madsim_find_pkey(port, 0x8002);
	limited = madsim_find_pkey(port, 0x8003);
	none = madsim_find_pkey(port, 0x0003);
	spin_unlock_irq(&t->fabric->lock);

	KUNIT_EXPECT_EQ(test, full, 2);
	KUNIT_EXPECT_EQ(test, limited, 3);
	KUNIT_EXPECT_EQ(test, none, -1);
}

static struct kunit_case madsim_route_tests[] = {
	KUNIT_CASE_PARAM(madsim_route_test_next, madsim_route_gen_params),
	KUNIT_CASE_PARAM(madsim_route_test_link, madsim_link_gen_params),
	KUNIT_CASE(madsim_route_test_pkey),
	KUNIT_CASE_PARAM(madsim_route_test_router, madsim_router_gen_params),
	KUNIT_CASE(madsim_route_test_found),
	{}
};

static struct kunit_suite madsim_route_suite = {
	.name = "madsim_route",
	.init = madsim_route_init,
	.exit = madsim_route_exit,
	.test_cases = madsim_route_tests,
};

kunit_test_suite(madsim_route_suite);
