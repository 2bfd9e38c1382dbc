// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Preset fabrics. Hosts are H1, H2, ..., switches S1, S2, ... */

#include "control.h"
#include "device/device.h"

#define MADSIM_STAR_HOSTS	4
#define MADSIM_FATTREE_RADIX	4
#define MADSIM_FATTREE_MAX	32	/* 8192 hosts, 1280 switches */

static struct madsim_node *madsim_topo_add(struct madsim_fabric *fabric,
					   bool is_switch, unsigned int num,
					   u8 nports)
{
	char name[16];

	snprintf(name, sizeof(name), "%c%u", is_switch ? 'S' : 'H', num);
	return madsim_node_create(fabric, name, is_switch, nports);
}

static int madsim_topo_link(struct madsim_node *a, u32 a_port, struct madsim_node *b, u32 b_port)
{
	return madsim_link(a, a_port, b, b_port, MADSIM_WIDTH, MADSIM_SPEED);
}

/* Two hosts with two ports each, back to back: two subnets without a switch */
static int madsim_topo_pair(struct madsim_fabric *fabric)
{
	struct madsim_node *a = madsim_topo_add(fabric, false, 1, 2);
	struct madsim_node *b = madsim_topo_add(fabric, false, 2, 2);

	if (IS_ERR(a))
		return PTR_ERR(a);
	if (IS_ERR(b))
		return PTR_ERR(b);
	return madsim_topo_link(a, 1, b, 1) ?: madsim_topo_link(a, 2, b, 2);
}

/* Hosts around one switch */
static int madsim_topo_star(struct madsim_fabric *fabric, unsigned int hosts)
{
	struct madsim_node *host, *sw;
	unsigned int i;
	int ret;

	if (!hosts || hosts > MADSIM_MAX_PORTS)
		return -EINVAL;

	for (i = 1; i <= hosts; i++) {
		host = madsim_topo_add(fabric, false, i, 1);
		if (IS_ERR(host))
			return PTR_ERR(host);
	}

	sw = madsim_topo_add(fabric, true, 1, hosts);
	if (IS_ERR(sw))
		return PTR_ERR(sw);

	i = 0;
	list_for_each_entry(host, &fabric->nodes, list) {
		if (host == sw)
			break;
		ret = madsim_topo_link(host, 1, sw, ++i);
		if (ret)
			return ret;
	}
	return 0;
}

/*
 * The three-level fat tree of switches with @radix ports: @radix pods of radix/2 edge and radix/2
 * aggregation switches, (radix/2)^2 core switches, radix^3/4 hosts.
 */
static int madsim_topo_fattree(struct madsim_fabric *fabric, unsigned int radix)
{
	unsigned int half = radix / 2, pods = radix;
	unsigned int hosts = radix * half * half;
	unsigned int edges = pods * half, aggs = edges, cores = half * half;
	unsigned int i, pod, e, a, h;
	struct madsim_node *node, *peer, **sw;
	int ret = 0;

	if (radix < 2 || radix > MADSIM_FATTREE_MAX || radix % 2)
		return -EINVAL;

	sw = kvzalloc_objs(*sw, edges + aggs + cores);
	if (!sw)
		return -ENOMEM;

	for (i = 0; i < hosts; i++) {
		node = madsim_topo_add(fabric, false, i + 1, 1);
		if (IS_ERR(node)) {
			ret = PTR_ERR(node);
			goto out;
		}
	}
	for (i = 0; i < edges + aggs + cores; i++) {
		sw[i] = madsim_topo_add(fabric, true, i + 1, radix);
		if (IS_ERR(sw[i])) {
			ret = PTR_ERR(sw[i]);
			goto out;
		}
	}

	/* Ports count from 1: the lower half leads down, the upper half up */
	i = 0;
	list_for_each_entry(node, &fabric->nodes, list) {
		if (i == hosts)
			break;
		ret = madsim_topo_link(node, 1, sw[i / half], i % half + 1);
		if (ret)
			goto out;
		i++;
	}
	for (pod = 0; pod < pods; pod++) {
		for (a = 0; a < half; a++) {
			node = sw[edges + pod * half + a];
			for (e = 0; e < half && !ret; e++) {
				peer = sw[pod * half + e];
				ret = madsim_topo_link(peer, half + a + 1,
						       node, e + 1);
			}
			for (h = 0; h < half && !ret; h++) {
				peer = sw[edges + aggs + a * half + h];
				ret = madsim_topo_link(node, half + h + 1,
						       peer, pod + 1);
			}
			if (ret)
				goto out;
		}
	}
out:
	kvfree(sw);
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
	unsigned int size = 0;
	const char *colon;
	size_t len;
	int ret;

	colon = strchrnul(preset, ':');
	len = colon - preset;
	if (*colon) {
		ret = kstrtouint(colon + 1, 10, &size);
		if (ret)
			return -EINVAL;
	}

	mutex_lock(&fabric->mutex);
	if (len == strlen("pair") && !strncmp(preset, "pair", len) && !*colon)
		ret = madsim_topo_pair(fabric);
	else if (len == strlen("star") && !strncmp(preset, "star", len))
		ret = madsim_topo_star(fabric,
				       *colon ? size : MADSIM_STAR_HOSTS);
	else if (len == strlen("fattree") && !strncmp(preset, "fattree", len))
		ret = madsim_topo_fattree(fabric,
					  *colon ? size : MADSIM_FATTREE_RADIX);
	else
		ret = -EINVAL;
	if (!ret)
		madsim_topo_devices(fabric, devices);
	mutex_unlock(&fabric->mutex);
	return ret;
}
