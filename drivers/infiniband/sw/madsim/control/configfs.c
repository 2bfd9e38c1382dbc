// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Fabrics that user space builds: /sys/kernel/config/madsim/<fabric>/<node>/.
 *
 * A node is configured while it has no power, and gets that when its fabric comes
 * to life, or later by a command. Nodes and cables may come and go at any time.
 */

#include <linux/configfs.h>
#include <linux/ctype.h>
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "control.h"
#include "device/device.h"

/* Between two tries of a mkdir, so that it leaves the CPU to others */
#define MADSIM_RETRY_US		1000

static struct madsim_fabric *to_madsim_fabric(struct config_item *item)
{
	return container_of(to_config_group(item), struct madsim_fabric, group);
}

static struct madsim_node *to_madsim_node(struct config_item *item)
{
	return container_of(to_config_group(item), struct madsim_node, group);
}

/*
 * A file of a node: its mode, the expression that writes it, and the one that shows it. Both have
 * "node" and "page", the former has "count" as well. fabric->mutex is held
 */
#define MADSIM_NODE_FILE(_name, _mode, _write, _emit)			\
static ssize_t madsim_node_##_name##_show(struct config_item *item,	\
					  char *page)			\
{									\
	struct madsim_node *node = to_madsim_node(item);		\
	ssize_t len;							\
									\
	mutex_lock(&node->fabric->mutex);				\
	len = _emit;							\
	mutex_unlock(&node->fabric->mutex);				\
	return len;							\
}									\
									\
static ssize_t madsim_node_##_name##_store(struct config_item *item,	\
					   const char *page,		\
					   size_t count)		\
{									\
	struct madsim_node *node = to_madsim_node(item);		\
	int ret;							\
									\
	mutex_lock(&node->fabric->mutex);				\
	ret = _write;							\
	mutex_unlock(&node->fabric->mutex);				\
	return ret ?: count;						\
}									\
CONFIGFS_ATTR_PERM(madsim_node_, _name, _mode)

/* A file of a node that a format of printf() shows */
#define MADSIM_NODE_PRINT(_name, _mode, _write, ...)			\
	MADSIM_NODE_FILE(_name, _mode, _write, sysfs_emit(page, __VA_ARGS__))

/* From RDMA_NODE_IB_CA on */
static const char * const madsim_type_names[] = { "ca", "switch", "router" };

static int madsim_node_write_type(struct madsim_node *node, const char *page)
{
	int type = sysfs_match_string(madsim_type_names, page);

	return type < 0 ? type :
			  madsim_node_rebuild(node, RDMA_NODE_IB_CA + type, node->nports);
}

MADSIM_NODE_PRINT(type, 0644, madsim_node_write_type(node, page),
		  "%s\n", madsim_type_names[node->type - RDMA_NODE_IB_CA]);

static int madsim_node_write_ports(struct madsim_node *node, const char *page)
{
	u8 nports;

	return kstrtou8(page, 0, &nports) ?: madsim_node_rebuild(node, node->type, nports);
}

MADSIM_NODE_PRINT(ports, 0644, madsim_node_write_ports(node, page), "%u\n", node->nports);

/* A node may change while it has no power: 0, or -EBUSY */
static int madsim_node_may_change(const struct madsim_node *node)
{
	return node->powered ? -EBUSY : 0;
}

static int madsim_node_set(struct madsim_node *node, void *field, const void *value, size_t size)
{
	int ret = madsim_node_may_change(node);

	if (!ret)
		memcpy(field, value, size);
	return ret;
}

static int madsim_node_write_flag(struct madsim_node *node, bool *flag, const char *page)
{
	bool value;

	return kstrtobool(page, &value) ?: madsim_node_set(node, flag, &value, sizeof(value));
}

MADSIM_NODE_PRINT(device, 0644, madsim_node_write_flag(node, &node->want_dev, page),
		  "%d\n", node->want_dev);
MADSIM_NODE_PRINT(opa, 0644, madsim_node_write_flag(node, &node->opa, page),
		  "%d\n", node->opa);
MADSIM_NODE_PRINT(separate_smi, 0644, madsim_node_write_flag(node, &node->split, page),
		  "%d\n", node->split);
MADSIM_NODE_PRINT(planes, 0644, madsim_node_write_flag(node, &node->planes, page),
		  "%d\n", node->planes);
MADSIM_NODE_PRINT(smp_by_lid, 0644, madsim_node_write_flag(node, &node->smp_by_lid, page),
		  "%d\n", node->smp_by_lid);

static int madsim_node_write_sm_disabled(struct madsim_node *node, const char *page)
{
	DECLARE_BITMAP(ports, MADSIM_MAX_PORTS + 1);

	return bitmap_parselist(page, ports, MADSIM_MAX_PORTS + 1) ?:
	       madsim_node_set(node, node->sm_disabled, ports, sizeof(ports));
}

MADSIM_NODE_PRINT(sm_disabled, 0644, madsim_node_write_sm_disabled(node, page),
		  "%*pbl\n", MADSIM_MAX_PORTS + 1, node->sm_disabled);

static int madsim_node_write_guid(struct madsim_node *node, u64 *field, const char *page)
{
	u64 guid;

	return kstrtou64(page, 0, &guid) ?: (guid ? 0 : -EINVAL) ?:
	       madsim_node_set(node, field, &guid, sizeof(guid));
}

MADSIM_NODE_PRINT(guid, 0644, madsim_node_write_guid(node, &node->guid, page),
		  "0x%016llx\n", node->guid);
MADSIM_NODE_PRINT(sys_image_guid, 0644, madsim_node_write_guid(node, &node->sys_guid, page),
		  "0x%016llx\n", madsim_sys_guid(node));
MADSIM_NODE_PRINT(port_guid, 0644, madsim_node_write_guid(node, &node->port_guid, page),
		  "0x%016llx\n", madsim_first_port_guid(node));

static int madsim_node_write_id(struct madsim_node *node, u32 *field, u32 max, const char *page)
{
	u32 id;

	return kstrtou32(page, 0, &id) ?: (id > max ? -ERANGE : 0) ?:
	       madsim_node_set(node, field, &id, sizeof(id));
}

MADSIM_NODE_PRINT(vendor_id, 0644, madsim_node_write_id(node, &node->vendor_id, 0xffffff, page),
		  "0x%06x\n", node->vendor_id);
MADSIM_NODE_PRINT(device_id, 0644, madsim_node_write_id(node, &node->device_id, 0xffff, page),
		  "0x%04x\n", node->device_id);
MADSIM_NODE_PRINT(seed, 0600, madsim_node_write_id(node, &node->seed, U32_MAX, page),
		  "%u\n", node->seed);

static int madsim_node_write_vpd(struct madsim_node *node, const char *page)
{
	struct madsim_vpd *vpd = madsim_vpd_make(page);
	int ret;

	if (IS_ERR(vpd))
		return PTR_ERR(vpd);

	ret = madsim_node_may_change(node);
	if (!ret)
		swap(node->vpd, vpd);
	kfree(vpd);
	return ret;
}

MADSIM_NODE_PRINT(vpd, 0644, madsim_node_write_vpd(node, page),
		  "%s\n", node->vpd ? node->vpd->text : "");

static int madsim_parse_end(struct madsim_fabric *fabric, char **rest,
			    struct madsim_node **node, u32 *num)
{
	char *name = strsep(rest, " \t");
	char *port = strsep(rest, " \t");

	if (!name || !port || kstrtou32(port, 10, num))
		return -EINVAL;
	*node = madsim_node_find(fabric, name);
	return *node ? 0 : -ENOENT;
}

/* "NODE NUMBER", or nothing */
static ssize_t madsim_node_show_pf(const struct madsim_node *node, char *page)
{
	if (!node->pf)
		return sysfs_emit(page, "\n");
	return sysfs_emit(page, "%s %u\n", node->pf->name, node->vf);
}

static int madsim_node_write_pf(struct madsim_node *node, const char *page)
{
	char *buf = kstrdup(page, GFP_KERNEL), *rest;
	struct madsim_node *pf = NULL;
	u32 num = 0;
	int ret = 0;

	if (!buf)
		return -ENOMEM;
	rest = strim(buf);
	if (*rest)
		ret = madsim_parse_end(node->fabric, &rest, &pf, &num) ?:
		      (rest ? -EINVAL : 0);
	if (!ret)
		ret = madsim_node_set_vf(node, pf, num);
	kfree(buf);
	return ret;
}

MADSIM_NODE_FILE(virtual_function, 0644, madsim_node_write_pf(node, page),
		 madsim_node_show_pf(node, page));

static ssize_t madsim_node_show_description(struct madsim_node *node, char *page)
{
	char desc[MADSIM_NAME_LEN];

	spin_lock_irq(&node->fabric->lock);
	memcpy(desc, node->desc, sizeof(desc));
	spin_unlock_irq(&node->fabric->lock);
	return sysfs_emit(page, "%.*s\n", (int)sizeof(desc), desc);
}

static int madsim_node_write_description(struct madsim_node *node, const char *page, size_t len)
{
	if (len && page[len - 1] == '\n')
		len--;
	if (len > sizeof(node->desc))
		return -ENAMETOOLONG;
	if (madsim_node_may_change(node))
		return -EBUSY;

	spin_lock_irq(&node->fabric->lock);
	memset(node->desc, 0, sizeof(node->desc));
	memcpy(node->desc, page, len);
	spin_unlock_irq(&node->fabric->lock);
	return 0;
}

MADSIM_NODE_FILE(description, 0644, madsim_node_write_description(node, page, count),
		 madsim_node_show_description(node, page));

static ssize_t madsim_node_dev_name_show(struct config_item *item, char *page)
{
	struct madsim_node *node = to_madsim_node(item);
	ssize_t len = -ENODEV;

	mutex_lock(&node->fabric->mutex);
	if (node->dev)
		len = sysfs_emit(page, "%s\n", dev_name(&node->dev->ibdev.dev));
	mutex_unlock(&node->fabric->mutex);
	return len;
}
CONFIGFS_ATTR_RO(madsim_node_, dev_name);

static struct configfs_attribute *madsim_node_attrs[] = {
	&madsim_node_attr_type,
	&madsim_node_attr_ports,
	&madsim_node_attr_device,
	&madsim_node_attr_opa,
	&madsim_node_attr_separate_smi,
	&madsim_node_attr_planes,
	&madsim_node_attr_smp_by_lid,
	&madsim_node_attr_sm_disabled,
	&madsim_node_attr_guid,
	&madsim_node_attr_sys_image_guid,
	&madsim_node_attr_port_guid,
	&madsim_node_attr_vendor_id,
	&madsim_node_attr_device_id,
	&madsim_node_attr_seed,
	&madsim_node_attr_description,
	&madsim_node_attr_virtual_function,
	&madsim_node_attr_vpd,
	&madsim_node_attr_dev_name,
	NULL
};

/*
 * rmdir calls this when it has let go of su_mutex, which all fabrics share. The users of
 * the device may be slow to let go of the device. Until they have, the directory of the fabric
 * stays locked, so that no new node meets the name of this one.
 */
static void madsim_node_release(struct config_item *item)
{
	struct madsim_node *node = to_madsim_node(item);
	struct madsim_fabric *fabric = node->fabric;

	mutex_lock(&fabric->mutex);
	madsim_node_remove(node);
	mutex_unlock(&fabric->mutex);
	madsim_node_free(node);
	config_group_put(&fabric->group);
}

static struct configfs_item_operations madsim_node_item_ops = {
	.release = madsim_node_release,
};

static const struct config_item_type madsim_node_type = {
	.ct_item_ops = &madsim_node_item_ops,
	.ct_attrs = madsim_node_attrs,
	.ct_owner = THIS_MODULE,
};

static int madsim_fabric_set_flag(struct madsim_fabric *fabric, bool *flag, bool value)
{
	if (fabric->live)
		return -EBUSY;
	*flag = value;
	return 0;
}

/* A flag of a fabric, in terms of "fabric", and how it is set, to "value". fabric->mutex is held */
#define MADSIM_FABRIC_FLAG(_name, _value, _set)				\
static ssize_t madsim_fabric_##_name##_show(struct config_item *item,	\
					    char *page)			\
{									\
	struct madsim_fabric *fabric = to_madsim_fabric(item);		\
									\
	return sysfs_emit(page, "%d\n", _value);			\
}									\
									\
static ssize_t madsim_fabric_##_name##_store(struct config_item *item,	\
					     const char *page,		\
					     size_t count)		\
{									\
	struct madsim_fabric *fabric = to_madsim_fabric(item);		\
	bool value;							\
	int ret = kstrtobool(page, &value);				\
									\
	if (ret)							\
		return ret;						\
	mutex_lock(&fabric->mutex);					\
	ret = _set;							\
	mutex_unlock(&fabric->mutex);					\
	return ret ?: count;						\
}									\
CONFIGFS_ATTR(madsim_fabric_, _name)

MADSIM_FABRIC_FLAG(live, fabric->live,
		   value ? madsim_fabric_start(fabric) : madsim_fabric_stop(fabric));
MADSIM_FABRIC_FLAG(data, fabric->data, madsim_fabric_set_flag(fabric, &fabric->data, value));
MADSIM_FABRIC_FLAG(duplicate_guids, fabric->duplicates,
		   madsim_fabric_set_flag(fabric, &fabric->duplicates, value));

static ssize_t madsim_fabric_strict_show(struct config_item *item, char *page)
{
	struct madsim_fabric *fabric = to_madsim_fabric(item);
	unsigned int i;
	ssize_t len;

	spin_lock_irq(&fabric->lock);
	len = sysfs_emit(page, "%d\n", fabric->strict);
	for (i = 0; i < MADSIM_MISTAKES; i++)
		len += sysfs_emit_at(page, len, "%s %u\n",
				     madsim_mistake_names[i],
				     fabric->mistakes[i]);
	spin_unlock_irq(&fabric->lock);
	return len;
}

static ssize_t madsim_fabric_strict_store(struct config_item *item, const char *page, size_t count)
{
	struct madsim_fabric *fabric = to_madsim_fabric(item);
	bool strict;
	int ret;

	ret = kstrtobool(page, &strict);
	if (ret)
		return ret;

	spin_lock_irq(&fabric->lock);
	WRITE_ONCE(fabric->strict, strict);
	if (strict)
		memset(fabric->mistakes, 0, sizeof(fabric->mistakes));
	spin_unlock_irq(&fabric->lock);
	return count;
}
CONFIGFS_ATTR(madsim_fabric_, strict);

/* What a link can do: a width, a speed, or both */
static int madsim_parse_ability(char **rest, u8 *width, u16 *speed)
{
	char *word;
	int i;

	*width = MADSIM_WIDTH;
	*speed = MADSIM_SPEED;
	while ((word = strsep(rest, " \t"))) {
		i = match_string(madsim_width_names, MADSIM_WIDTHS, word);
		if (i >= 0) {
			*width = BIT(i);
			continue;
		}
		i = match_string(madsim_speed_names, MADSIM_SPEEDS, word);
		if (i < 0)
			return -EINVAL;
		*speed = BIT(i);
	}
	return 0;
}

enum madsim_cable {
	MADSIM_CABLE_LINK,
	MADSIM_CABLE_WIRE,
	MADSIM_CABLE_REMOVE,
};

/* "NODE PORT NODE PORT [WIDTH] [SPEED]". A wire has one end, and "unlink" has one end alone */
static ssize_t madsim_fabric_cable(struct config_item *item, const char *page,
				   size_t count, enum madsim_cable what)
{
	struct madsim_fabric *fabric = to_madsim_fabric(item);
	struct madsim_node *a, *b;
	char *buf, *rest;
	u32 pa, pb;
	u16 speed;
	u8 width;
	int ret;

	buf = kstrndup(page, count, GFP_KERNEL);
	if (!buf)
		return -ENOMEM;
	rest = strim(buf);

	mutex_lock(&fabric->mutex);
	ret = madsim_parse_end(fabric, &rest, &a, &pa);
	if (!ret && what == MADSIM_CABLE_LINK)
		ret = madsim_parse_end(fabric, &rest, &b, &pb);
	if (!ret && what != MADSIM_CABLE_REMOVE)
		ret = madsim_parse_ability(&rest, &width, &speed);
	if (!ret && rest)
		ret = -EINVAL;
	if (ret)
		goto out;

	switch (what) {
	case MADSIM_CABLE_LINK:
		ret = madsim_link(a, pa, b, pb, width, speed);
		break;
	case MADSIM_CABLE_WIRE:
		ret = madsim_wire_add(a, pa, width, speed);
		break;
	case MADSIM_CABLE_REMOVE:
		ret = madsim_cable_remove(a, pa);
		break;
	}
out:
	mutex_unlock(&fabric->mutex);

	kfree(buf);
	return ret ?: count;
}

#define MADSIM_FABRIC_CABLE(_name, _what)				\
static ssize_t madsim_fabric_##_name##_store(struct config_item *item,	\
					     const char *page,		\
					     size_t count)		\
{									\
	return madsim_fabric_cable(item, page, count, _what);		\
}									\
CONFIGFS_ATTR_WO(madsim_fabric_, _name)

MADSIM_FABRIC_CABLE(link, MADSIM_CABLE_LINK);
MADSIM_FABRIC_CABLE(wire, MADSIM_CABLE_WIRE);
MADSIM_FABRIC_CABLE(unlink, MADSIM_CABLE_REMOVE);

static ssize_t madsim_fabric_faults_show(struct config_item *item, char *page)
{
	return madsim_command_list(to_madsim_fabric(item), page);
}

static ssize_t madsim_fabric_faults_store(struct config_item *item, const char *page, size_t count)
{
	/* configfs cuts a longer text, amid a command */
	if (count >= MADSIM_FILE_SIZE - 1)
		return -EFBIG;
	return madsim_command(to_madsim_fabric(item), page) ?: count;
}
CONFIGFS_ATTR(madsim_fabric_, faults);

static struct configfs_attribute *madsim_fabric_attrs[] = {
	&madsim_fabric_attr_live,
	&madsim_fabric_attr_data,
	&madsim_fabric_attr_duplicate_guids,
	&madsim_fabric_attr_strict,
	&madsim_fabric_attr_faults,
	&madsim_fabric_attr_link,
	&madsim_fabric_attr_wire,
	&madsim_fabric_attr_unlink,
	NULL
};

static bool madsim_name_valid(const char *name)
{
	for (; *name; name++) {
		if (isspace(*name) || *name == '"' || *name == '#')
			return false;
	}
	return true;
}

static struct config_group *madsim_fabric_make_node(struct config_group *group, const char *name)
{
	struct madsim_fabric *fabric = to_madsim_fabric(&group->cg_item);
	struct madsim_node *node;

	/* They are words in topology files and commands */
	if (!madsim_name_valid(name))
		return ERR_PTR(-EINVAL);

	/*
	 * A node of this fabric may be going, which takes long. The system call begins
	 * again, so that other fabrics get su_mutex in between. The short sleep is with
	 * su_mutex, too: configfs holds it around each call of this function.
	 */
	if (!mutex_trylock(&fabric->mutex)) {
		fsleep(MADSIM_RETRY_US);
		return ERR_PTR(restart_syscall());
	}
	node = madsim_node_create(fabric, name, false, 1);
	mutex_unlock(&fabric->mutex);
	if (IS_ERR(node))
		return ERR_CAST(node);

	config_group_get(&fabric->group);
	config_group_init_type_name(&node->group, name, &madsim_node_type);
	return &node->group;
}

static void madsim_fabric_release(struct config_item *item)
{
	struct madsim_fabric *fabric = to_madsim_fabric(item);

	madsim_debugfs_del(fabric);
	madsim_fabric_destroy(fabric);
}

static struct configfs_item_operations madsim_fabric_item_ops = {
	.release = madsim_fabric_release,
};

static struct configfs_group_operations madsim_fabric_group_ops = {
	.make_group = madsim_fabric_make_node,
};

static const struct config_item_type madsim_fabric_type = {
	.ct_item_ops = &madsim_fabric_item_ops,
	.ct_group_ops = &madsim_fabric_group_ops,
	.ct_attrs = madsim_fabric_attrs,
	.ct_owner = THIS_MODULE,
};

/* Show a fabric to user space */
static void madsim_fabric_offer(struct madsim_fabric *fabric)
{
	madsim_debugfs_add(fabric);
	config_group_init_type_name(&fabric->group, fabric->name,
				    &madsim_fabric_type);
}

static struct config_group *madsim_make_fabric(struct config_group *group, const char *name)
{
	struct madsim_fabric *fabric;

	if (!madsim_name_valid(name))
		return ERR_PTR(-EINVAL);

	fabric = madsim_fabric_create(name);
	if (IS_ERR(fabric))
		return ERR_CAST(fabric);

	madsim_fabric_offer(fabric);
	return &fabric->group;
}

static struct configfs_group_operations madsim_subsys_group_ops = {
	.make_group = madsim_make_fabric,
};

static const struct config_item_type madsim_subsys_type = {
	.ct_group_ops = &madsim_subsys_group_ops,
	.ct_owner = THIS_MODULE,
};

static struct configfs_subsystem madsim_subsys = {
	.su_group = {
		.cg_item = {
			.ci_namebuf = "madsim",
			.ci_type = &madsim_subsys_type,
		},
	},
};

/* Offer fabrics to user space. rmdir does not remove @preset, or NULL. An error destroys it */
int madsim_configfs_init(struct madsim_fabric *preset)
{
	struct config_group *root = &madsim_subsys.su_group;
	int ret;

	config_group_init(root);
	mutex_init(&madsim_subsys.su_mutex);
	if (preset) {
		madsim_fabric_offer(preset);
		configfs_add_default_group(&preset->group, root);
	}
	ret = configfs_register_subsystem(&madsim_subsys);
	if (ret) {
		configfs_remove_default_groups(root);
		mutex_destroy(&madsim_subsys.su_mutex);
	}
	return ret;
}

/* Undo madsim_configfs_init(), and destroy its preset. User space has no other fabric any more */
void madsim_configfs_exit(void)
{
	configfs_unregister_subsystem(&madsim_subsys);
	configfs_remove_default_groups(&madsim_subsys.su_group);
	mutex_destroy(&madsim_subsys.su_mutex);
}
