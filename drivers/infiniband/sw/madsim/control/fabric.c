// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Fabrics and their nodes: making them, and bringing them to life.
 *
 * Everything that a node needs is allocated while it has no power. With power its
 * ib_device is registered, and its links train. A fabric that is live may gain and
 * lose nodes: a new one has no power yet, one that goes loses it first.
 */

#include <linux/idr.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "control.h"
#include "agents/agents.h"
#include "device/device.h"
#include "engine/engine.h"

/*
 * Locally administered EUI-64s: fabric, node, and room for the ports. As a service ID,
 * which clients make of a GUID, 0x02 in front would be one that the CM assigns.
 */
#define MADSIM_GUID(fabric, node) \
	(0x0653494d00000000ULL | (u64)(fabric) << 24 | (u64)(node) << 8)
#define MADSIM_NODE_NUMBERS	XA_LIMIT(1, U16_MAX)

/* Protects the list, and with it the names of all fabrics */
static DEFINE_MUTEX(madsim_fabrics_mutex);
static LIST_HEAD(madsim_fabrics);
static DEFINE_IDA(madsim_fabric_indices);

/* Put a fabric on the list, with the lowest index that is free */
static int madsim_fabric_add(struct madsim_fabric *fabric)
{
	struct madsim_fabric *other;
	int index = 0;

	mutex_lock(&madsim_fabrics_mutex);
	list_for_each_entry(other, &madsim_fabrics, list) {
		if (!strcmp(other->name, fabric->name))
			index = -EEXIST;
	}
	if (!index)
		index = ida_alloc_max(&madsim_fabric_indices, U8_MAX, GFP_KERNEL);
	if (index >= 0) {
		fabric->index = index;
		list_add_tail(&fabric->list, &madsim_fabrics);
	}
	mutex_unlock(&madsim_fabrics_mutex);
	return min(index, 0);
}

/* Make an empty fabric, for madsim_fabric_destroy(), or an ERR_PTR(). No lock is held */
struct madsim_fabric *madsim_fabric_create(const char *name)
{
	struct madsim_fabric *fabric;
	int ret;

	fabric = kzalloc_obj(*fabric);
	if (!fabric)
		return ERR_PTR(-ENOMEM);

	if (strscpy(fabric->name, name, sizeof(fabric->name)) < 0) {
		ret = -ENAMETOOLONG;
		goto err_free;
	}
	mutex_init(&fabric->mutex);
	spin_lock_init(&fabric->lock);
	INIT_LIST_HEAD(&fabric->nodes);
	fabric->by_name = RB_ROOT;
	fabric->by_guid = RB_ROOT;
	xa_init_flags(&fabric->numbers, XA_FLAGS_ALLOC);
	madsim_samples_init(fabric);
	madsim_engine_init(fabric);

	ret = madsim_fabric_add(fabric);
	if (ret)
		goto err_mutex;
	return fabric;

err_mutex:
	mutex_destroy(&fabric->mutex);
err_free:
	kfree(fabric);
	return ERR_PTR(ret);
}

/* Free a fabric that has no other user, and the nodes that are left in it. No lock is held */
void madsim_fabric_destroy(struct madsim_fabric *fabric)
{
	struct madsim_node *node, *next;

	mutex_lock(&madsim_fabrics_mutex);
	list_del(&fabric->list);
	mutex_unlock(&madsim_fabrics_mutex);
	mutex_lock(&fabric->mutex);
	if (fabric->live)
		madsim_fabric_stop(fabric);
	list_for_each_entry_safe(node, next, &fabric->nodes, list) {
		madsim_node_remove(node);
		madsim_node_free(node);
		cond_resched();
	}
	mutex_unlock(&fabric->mutex);
	xa_destroy(&fabric->numbers);
	mutex_destroy(&fabric->mutex);
	ida_free(&madsim_fabric_indices, fabric->index);
	kfree(fabric);
}

static void madsim_ports_free(struct madsim_port *ports, u8 nports)
{
	unsigned int i;

	if (!ports)
		return;
	for (i = 0; i <= nports; i++) {
		WARN_ON(!list_empty(&ports[i].trap_link));
		kfree(ports[i].fault);
		kfree(ports[i].notice);
		kfree(ports[i].cc);
	}
	kvfree(ports);
}

static struct madsim_port *madsim_ports_alloc(struct madsim_node *node, bool is_switch, u8 nports)
{
	struct madsim_port *ports;
	unsigned int i;

	ports = kvzalloc_objs(*ports, nports + 1);
	if (!ports)
		return NULL;

	for (i = 0; i <= nports; i++) {
		struct madsim_port *port = &ports[i];

		port->node = node;
		port->num = i;
		port->width = MADSIM_WIDTH;
		port->speed = MADSIM_SPEED;
		INIT_LIST_HEAD(&port->mcast_link);
		INIT_LIST_HEAD(&port->trap_link);
		/* End ports send notices, and have agents of their own */
		if (is_switch ? !i : i) {
			port->notice = kzalloc_objs(*port->notice,
						    MADSIM_TRAPS);
			port->cc = kzalloc_obj(*port->cc);
			if (!port->notice || !port->cc) {
				madsim_ports_free(ports, nports);
				return NULL;
			}
		}
	}
	return ports;
}

static void madsim_switch_free(struct madsim_switch *sw)
{
	if (!sw)
		return;
	vfree(sw->lft);
	kvfree(sw->mft);
	kfree(sw);
}

static struct madsim_switch *madsim_switch_alloc(u8 nports)
{
	struct madsim_switch *sw;

	sw = kzalloc_obj(*sw);
	if (!sw)
		return NULL;

	sw->mft_words = DIV_ROUND_UP(nports + 1, 16);
	/* Of which kmalloc() would make 64 KiB */
	sw->lft = vmalloc(MADSIM_LFT_SIZE);
	sw->mft = kvcalloc(MADSIM_MFT_SIZE, sw->mft_words * sizeof(*sw->mft),
			   GFP_KERNEL);
	if (!sw->lft || !sw->mft) {
		madsim_switch_free(sw);
		return NULL;
	}
	return sw;
}

/* A table, with one byte for two SLs, for each pair of ports of a switch */
static size_t madsim_sl2vl_size(bool is_switch, u8 nports)
{
	return (is_switch ? nports + 1 : 1) * (nports + 1) * MADSIM_SLS / 2;
}

/* A fabric gets the end ports of a node, or, if @sign is -1, loses them */
static void madsim_count_ends(const struct madsim_node *node, int sign)
{
	spin_lock_irq(&node->fabric->lock);
	node->fabric->end_ports += sign * (node->sw ? 1 : node->nports);
	spin_unlock_irq(&node->fabric->lock);
}

static int madsim_node_alloc(struct madsim_node *node, u8 type, u8 nports)
{
	bool is_switch = type == RDMA_NODE_IB_SWITCH;
	struct madsim_switch *sw = NULL;
	struct madsim_port *ports;
	u8 *sl2vl;

	ports = madsim_ports_alloc(node, is_switch, nports);
	sl2vl = kvzalloc(madsim_sl2vl_size(is_switch, nports), GFP_KERNEL);
	if (is_switch)
		sw = madsim_switch_alloc(nports);
	if (!ports || !sl2vl || (is_switch && !sw))
		goto err_free;

	madsim_count_ends(node, -1);
	madsim_ports_free(node->ports, node->nports);
	madsim_switch_free(node->sw);
	kvfree(node->sl2vl);
	node->ports = ports;
	node->nports = nports;
	node->sw = sw;
	node->type = type;
	madsim_count_ends(node, 1);
	node->sl2vl = sl2vl;
	return 0;

err_free:
	madsim_ports_free(ports, nports);
	madsim_switch_free(sw);
	kvfree(sl2vl);
	return -ENOMEM;
}

static int madsim_name_cmp(const void *name, const struct rb_node *rb)
{
	return strcmp(name, rb_entry(rb, struct madsim_node, by_name)->name);
}

static bool madsim_name_less(struct rb_node *a, const struct rb_node *b)
{
	const char *name = rb_entry(a, struct madsim_node, by_name)->name;

	return madsim_name_cmp(name, b) < 0;
}

/* Add a node without power to a fabric, or an ERR_PTR(). fabric->mutex is held */
struct madsim_node *madsim_node_create(struct madsim_fabric *fabric,
				       const char *name, bool is_switch,
				       u8 nports)
{
	struct madsim_node *node;
	int ret;

	lockdep_assert_held(&fabric->mutex);

	if (strlen(name) >= sizeof(node->name))
		return ERR_PTR(-ENAMETOOLONG);
	if (madsim_node_find(fabric, name))
		return ERR_PTR(-EEXIST);

	node = kzalloc_obj(*node);
	if (!node)
		return ERR_PTR(-ENOMEM);

	node->fabric = fabric;
	strscpy(node->name, name, sizeof(node->name));
	strscpy(node->desc, name, sizeof(node->desc));
	node->vendor_id = MADSIM_VENDOR_ID;
	node->device_id = MADSIM_DEVICE_ID;
	node->seed = get_random_u32();
	node->smp_by_lid = true;
	INIT_LIST_HEAD(&node->registers);
	xa_init(&node->vfs);
	madsim_fault_init(node);

	/* In a circle, so that no subnet manager takes a new node for one that is gone */
	ret = xa_alloc_cyclic(&fabric->numbers, &node->number, node,
			      MADSIM_NODE_NUMBERS, &fabric->next_number,
			      GFP_KERNEL);
	if (ret < 0) {
		ret = ret == -EBUSY ? -ENOSPC : ret;
		goto err_free;
	}
	node->guid = MADSIM_GUID(fabric->index, node->number);

	ret = madsim_node_alloc(node, is_switch ? RDMA_NODE_IB_SWITCH :
				RDMA_NODE_IB_CA, nports);
	if (ret)
		goto err_number;
	spin_lock_irq(&fabric->lock);
	list_add_tail(&node->list, &fabric->nodes);
	spin_unlock_irq(&fabric->lock);
	rb_add(&node->by_name, &fabric->by_name, madsim_name_less);
	return node;

err_number:
	xa_erase(&fabric->numbers, node->number);
err_free:
	kfree(node);
	return ERR_PTR(ret);
}

static void madsim_vf_leave(struct madsim_node *vf)
{
	struct madsim_fabric *fabric = vf->fabric;

	if (!vf->pf)
		return;
	rtnl_lock();
	/* A caller that has found @vf there uses it with fabric->lock held */
	xa_erase(&vf->pf->vfs, vf->vf);
	spin_lock_irq(&fabric->lock);
	WRITE_ONCE(vf->pf, NULL);
	if (vf->powered)
		madsim_links_update(vf);
	spin_unlock_irq(&fabric->lock);
	rtnl_unlock();
}

/*
 * Make @node the virtual function @num of @pf, or of none if @pf is NULL. -EINVAL: @num is too
 * high, or a virtual function would have one itself. fabric->mutex is held
 */
int madsim_node_set_vf(struct madsim_node *node, struct madsim_node *pf, u32 num)
{
	int ret;

	lockdep_assert_held(&node->fabric->mutex);

	if (node->powered)
		return -EBUSY;
	if (!pf) {
		madsim_vf_leave(node);
		return 0;
	}
	if (pf == node || pf->pf || !xa_empty(&node->vfs) ||
	    num >= MADSIM_MAX_VFS)
		return -EINVAL;

	rtnl_lock();
	ret = xa_insert(&pf->vfs, num, node, GFP_KERNEL);
	rtnl_unlock();
	if (ret)
		return ret;
	madsim_vf_leave(node);
	spin_lock_irq(&node->fabric->lock);
	WRITE_ONCE(node->pf, pf);
	node->vf = num;
	spin_unlock_irq(&node->fabric->lock);
	return 0;
}

/* Take a node with its links out of a fabric, and its power first. fabric->mutex is held */
void madsim_node_remove(struct madsim_node *node)
{
	struct madsim_node *vf;
	unsigned long num;
	unsigned int i;

	lockdep_assert_held(&node->fabric->mutex);

	madsim_node_unplug(node);
	madsim_vf_leave(node);
	xa_for_each(&node->vfs, num, vf)
		madsim_vf_leave(vf);
	for (i = 1; i <= node->nports; i++) {
		if (node->ports[i].peer)
			madsim_cable_remove(node, i);
	}
	spin_lock_irq(&node->fabric->lock);
	list_del(&node->list);
	spin_unlock_irq(&node->fabric->lock);
	madsim_count_ends(node, -1);
	rb_erase(&node->by_name, &node->fabric->by_name);
	xa_erase(&node->fabric->numbers, node->number);
}

/* Free a node that madsim_node_remove() has taken out */
void madsim_node_free(struct madsim_node *node)
{
	madsim_ports_free(node->ports, node->nports);
	madsim_switch_free(node->sw);
	kvfree(node->sl2vl);
	xa_destroy(&node->refused);
	madsim_registers_free(node);
	kfree(node->vpd);
	kfree(node);
}

/* The node of this name, or NULL. fabric->mutex is held */
struct madsim_node *madsim_node_find(struct madsim_fabric *fabric, const char *name)
{
	struct rb_node *rb;

	lockdep_assert_held(&fabric->mutex);

	rb = rb_find(name, &fabric->by_name, madsim_name_cmp);
	return rb ? rb_entry(rb, struct madsim_node, by_name) : NULL;
}

/* Give a node, without power and links, another type or number of ports. fabric->mutex is held */
int madsim_node_rebuild(struct madsim_node *node, u8 type, u8 nports)
{
	unsigned int i;

	lockdep_assert_held(&node->fabric->mutex);

	if (!nports || nports > MADSIM_MAX_PORTS)
		return -EINVAL;
	if (node->powered)
		return -EBUSY;
	if (type == node->type && nports == node->nports)
		return 0;
	for (i = 1; i <= node->nports; i++) {
		if (node->ports[i].peer)
			return -EBUSY;
	}
	return madsim_node_alloc(node, type, nports);
}

static void madsim_switch_reset(struct madsim_switch *sw, bool enhanced)
{
	struct madsim_switch_info *info = &sw->info;

	memset(info, 0, sizeof(*info));
	info->lft_cap = cpu_to_be16(MADSIM_LFT_SIZE);
	info->mft_cap = cpu_to_be16(MADSIM_MFT_SIZE);
	info->partition_cap = cpu_to_be16(MADSIM_PKEYS);
	info->flags = MADSIM_SW_ENFORCE_CAP |
		      (enhanced ? MADSIM_SW_ENHANCED : 0);
	info->life_state = MADSIM_SW_OPT_SL2VL;
	info->default_port = MADSIM_LFT_NONE;
	info->default_mcast_primary = MADSIM_LFT_NONE;
	info->default_mcast_other = MADSIM_LFT_NONE;
	memset(&sw->cc, 0, sizeof(sw->cc));
	memset(sw->lft, MADSIM_LFT_NONE, MADSIM_LFT_SIZE);
	memset(sw->mft, 0, MADSIM_MFT_SIZE * sw->mft_words * sizeof(*sw->mft));
}

/* The state after power-on. Without power, nobody looks at the tables. Others look at the ports */
static void madsim_node_reset(struct madsim_node *node)
{
	bool is_switch = node->sw;
	unsigned int i;

	for (i = !is_switch; i <= node->nports; i++) {
		spin_lock_irq(&node->fabric->lock);
		madsim_port_reset(&node->ports[i]);
		spin_unlock_irq(&node->fabric->lock);
	}

	/* Every SL to the VL of its number, modulo 8 */
	for (i = 0; i < madsim_sl2vl_size(is_switch, node->nports); i++)
		node->sl2vl[i] = (i * 2 % 8) << 4 | (i * 2 % 8 + 1);

	if (is_switch)
		madsim_switch_reset(node->sw, node->want_dev);
}

static void madsim_node_set_power(struct madsim_node *node, bool on)
{
	struct madsim_fabric *fabric = node->fabric;

	spin_lock_irq(&fabric->lock);
	node->powered = on;
	if (!on)
		memset(fabric->found, 0, sizeof(fabric->found));
	madsim_links_update(node);
	spin_unlock_irq(&fabric->lock);
}

static int madsim_guid_cmp(struct rb_node *a, const struct rb_node *b)
{
	u64 ga = rb_entry(a, struct madsim_node, by_guid)->guid;
	u64 gb = rb_entry(b, struct madsim_node, by_guid)->guid;

	return ga < gb ? -1 : ga > gb;
}

/* Give a node its ib_device, which may have another one for QP0 */
static int madsim_node_register(struct madsim_node *node)
{
	struct madsim_dev *dev = madsim_dev_alloc(node, false);
	int ret = 0;

	if (IS_ERR(dev))
		return PTR_ERR(dev);
	if (node->split)
		ret = madsim_sub_allow(dev);
	if (!ret)
		ret = madsim_dev_register(dev);
	if (ret)
		madsim_dev_free(dev);
	return ret;
}

/* As a driver that is bound to a virtual function asks the adapter */
static void madsim_vf_adopt_guids(struct madsim_node *node)
{
	spin_lock_irq(&node->fabric->lock);
	node->guid = node->vf_node_guid ?: node->guid;
	node->port_guid = node->vf_port_guid ?: node->port_guid;
	spin_unlock_irq(&node->fabric->lock);
}

/* Forget the notices that clients of a node's device have caused, and let others have its GUID */
static void madsim_node_leave(struct madsim_node *node)
{
	madsim_node_reset(node);
	if (!node->fabric->duplicates)
		rb_erase(&node->by_guid, &node->fabric->by_guid);
}

/* Power a node: register its ib_device, and let its links train. fabric->mutex is held */
int madsim_node_plug(struct madsim_node *node)
{
	struct madsim_fabric *fabric = node->fabric;
	int ret;

	lockdep_assert_held(&fabric->mutex);

	if (node->powered)
		return -EALREADY;
	madsim_vf_adopt_guids(node);
	if (!fabric->duplicates &&
	    rb_find_add(&node->by_guid, &fabric->by_guid, madsim_guid_cmp))
		return -EEXIST;

	madsim_node_reset(node);
	if (node->want_dev) {
		ret = madsim_node_register(node);
		if (ret)
			goto err_leave;
	}
	madsim_node_set_power(node, true);
	return 0;

err_leave:
	madsim_node_leave(node);
	return ret;
}

/* Take the power of a node away, and wait for users of its ib_device. fabric->mutex is held */
int madsim_node_unplug(struct madsim_node *node)
{
	struct madsim_dev *dev = node->dev;

	lockdep_assert_held(&node->fabric->mutex);

	if (!node->powered)
		return -EALREADY;

	madsim_node_set_power(node, false);
	if (dev) {
		madsim_dev_unregister(dev);
		madsim_dev_free(dev);
	}
	madsim_node_leave(node);
	return 0;
}

/* Bring a fabric to life. An error leaves it as it was. fabric->mutex is held */
int madsim_fabric_start(struct madsim_fabric *fabric)
{
	struct madsim_node *node;
	int ret;

	lockdep_assert_held(&fabric->mutex);

	if (fabric->live)
		return -EALREADY;
	if (list_empty(&fabric->nodes))
		return -ENOENT;

	fabric->live = true;
	list_for_each_entry(node, &fabric->nodes, list) {
		ret = madsim_node_plug(node);
		if (ret)
			goto err_stop;
		cond_resched();
	}
	return 0;

err_stop:
	madsim_fabric_stop(fabric);
	return ret;
}

/* End a fabric's life. Returns 0, or -EALREADY if it is not live. fabric->mutex is held */
int madsim_fabric_stop(struct madsim_fabric *fabric)
{
	struct madsim_node *node;

	lockdep_assert_held(&fabric->mutex);

	if (!fabric->live)
		return -EALREADY;

	list_for_each_entry(node, &fabric->nodes, list) {
		madsim_node_unplug(node);
		cond_resched();
	}
	fabric->live = false;
	cancel_delayed_work_sync(&fabric->trap_work);
	cancel_delayed_work_sync(&fabric->samples_work);
	madsim_fault_flush(fabric);
	return 0;
}
