// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Preset fabrics. Hosts are H1, H2, ..., switches S1, S2, ... */

#include "control.h"
#include "device/device.h"

#define MADSIM_STAR_HOSTS	4
#define MADSIM_FATTREE_RADIX	4
#define MADSIM_FATTREE_MAX	32	/* 8192 hosts, 1280 switches */

/* Add hosts, H, or switches, S. They have numbers from 1 on */
static int madsim_topo_add(struct madsim_fabric *fabric, char kind, unsigned int count, u8 nports)
{
	struct madsim_node *node;
	unsigned int num;
	char name[16];

	for (num = 1; num <= count; num++) {
		snprintf(name, sizeof(name), "%c%u", kind, num);
		node = madsim_node_create(fabric, name, kind == 'S', nports);
		if (IS_ERR(node))
			return PTR_ERR(node);
	}
	return 0;
}

static struct madsim_node *madsim_topo_node(struct madsim_fabric *fabric,
					    char kind, unsigned int num)
{
	char name[16];

	snprintf(name, sizeof(name), "%c%u", kind, num);
	return madsim_node_find(fabric, name);
}

/* Link a port of host or switch @a with a port of host or switch @b */
static int madsim_topo_link(struct madsim_fabric *fabric,
			    char a_kind, unsigned int a, u32 a_port,
			    char b_kind, unsigned int b, u32 b_port)
{
	return madsim_link(madsim_topo_node(fabric, a_kind, a), a_port,
			   madsim_topo_node(fabric, b_kind, b), b_port,
			   MADSIM_WIDTH, MADSIM_SPEED);
}

/* Two hosts with two ports each, back to back: two subnets without a switch */
static int madsim_topo_pair(struct madsim_fabric *fabric)
{
	return madsim_topo_add(fabric, 'H', 2, 2) ?:
	       madsim_topo_link(fabric, 'H', 1, 1, 'H', 2, 1) ?:
	       madsim_topo_link(fabric, 'H', 1, 2, 'H', 2, 2);
}

/* Hosts around one switch */
static int madsim_topo_star(struct madsim_fabric *fabric, unsigned int hosts)
{
	unsigned int i;
	int ret;

	if (!hosts || hosts > MADSIM_MAX_PORTS)
		return -EINVAL;

	ret = madsim_topo_add(fabric, 'H', hosts, 1) ?:
	      madsim_topo_add(fabric, 'S', 1, hosts);
	for (i = 1; !ret && i <= hosts; i++)
		ret = madsim_topo_link(fabric, 'H', i, 1, 'S', 1, i);
	return ret;
}

/*
 * The three-level fat tree of switches with @radix ports: @radix pods of radix/2 edge and radix/2
 * aggregation switches, (radix/2)^2 core switches, radix^3/4 hosts. The switches have numbers in
 * this order. Of each, the lower half of the ports leads down, the upper half up.
 */
static int madsim_topo_fattree(struct madsim_fabric *fabric, unsigned int radix)
{
	unsigned int half = radix / 2;
	unsigned int hosts = radix * half * half;
	unsigned int edges = radix * half, aggs = edges, cores = half * half;
	unsigned int i, edge, agg, core;
	int ret;

	if (radix < 2 || radix > MADSIM_FATTREE_MAX || radix % 2)
		return -EINVAL;

	ret = madsim_topo_add(fabric, 'H', hosts, 1) ?:
	      madsim_topo_add(fabric, 'S', edges + aggs + cores, radix);
	for (i = 0; !ret && i < hosts; i++)
		ret = madsim_topo_link(fabric, 'H', i + 1, 1, 'S', i / half + 1, i % half + 1);
	/* Each aggregation switch with the edge switches of its pod, and its part of the core */
	for (agg = 0; !ret && agg < aggs; agg++) {
		for (i = 0; !ret && i < half; i++) {
			edge = agg / half * half + i;
			core = agg % half * half + i;
			ret = madsim_topo_link(fabric, 'S', edge + 1, half + agg % half + 1,
					       'S', edges + agg + 1, i + 1) ?:
			      madsim_topo_link(fabric, 'S', edges + agg + 1, half + i + 1,
					       'S', edges + aggs + core + 1, agg / half + 1);
		}
	}
	return ret;
}

/* Spread the ib_devices over the hosts, so that they are far apart */
static void madsim_topo_devices(struct madsim_fabric *fabric, unsigned int devices)
{
	unsigned int hosts = 0, chosen, at = 0;
	struct madsim_node *node;

	list_for_each_entry(node, &fabric->nodes, list)
		hosts += !node->sw;
	chosen = min(devices, hosts);

	list_for_each_entry(node, &fabric->nodes, list) {
		if (node->sw) {
			node->want_dev = chosen < devices;
			chosen += node->want_dev;
		} else {
			/* True for exactly @chosen of the hosts */
			node->want_dev = (at + 1) * chosen / hosts !=
					 at * chosen / hosts;
			at++;
		}
		if (at == hosts && chosen >= devices)
			break;
	}
}

/* Fill an empty fabric with a preset. @devices of its nodes become RDMA devices */
int madsim_topo_build(struct madsim_fabric *fabric, const char *preset, unsigned int devices)
{
	size_t len = strcspn(preset, ":");
	bool has_size = preset[len];
	unsigned int size;
	int ret;

	if (has_size && kstrtouint(preset + len + 1, 10, &size))
		return -EINVAL;

	mutex_lock(&fabric->mutex);
	if (!strcmp(preset, "pair"))
		ret = madsim_topo_pair(fabric);
	else if (len == strlen("star") && str_has_prefix(preset, "star"))
		ret = madsim_topo_star(fabric, has_size ? size : MADSIM_STAR_HOSTS);
	else if (len == strlen("fattree") && str_has_prefix(preset, "fattree"))
		ret = madsim_topo_fattree(fabric, has_size ? size : MADSIM_FATTREE_RADIX);
	else
		ret = -EINVAL;
	if (!ret)
		madsim_topo_devices(fabric, devices);
	mutex_unlock(&fabric->mutex);
	return ret;
}
