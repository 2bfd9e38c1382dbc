/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What ib_madsim needs from kernels older than the one it is written for.
 * Force-included by the external build.
 */

#ifndef MADSIM_COMPAT_H
#define MADSIM_COMPAT_H

#include <linux/configfs.h>
#include <linux/module.h>
#include <linux/overflow.h>
#include <rdma/ib_verbs.h>

/* Later updates of 6.1 have it */
#ifndef struct_size_t
#define struct_size_t(type, member, count) struct_size((type *)NULL, member, count)
#endif

/* All files of configfs that can be read could be read by all */
#ifndef CONFIGFS_ATTR_PERM
#define CONFIGFS_ATTR_PERM(pfx_, name_, perm_) \
static struct configfs_attribute pfx_##attr_##name_ = { \
	.ca_name = __stringify(name_), \
	.ca_mode = perm_, \
	.ca_owner = THIS_MODULE, \
	.show = pfx_##name_##_show, \
	.store = pfx_##name_##_store, \
}
#endif

#ifndef KERNEL_HAS_VIRT_DMA_TO_PTR
static inline void *ib_virt_dma_to_ptr(u64 dma_addr)
{
	return (void *)(uintptr_t)dma_addr;
}
#endif

/* No adapter had been faster */
#ifndef KERNEL_HAS_SPEED_XDR
#define IB_SPEED_XDR 256
#endif
#ifndef KERNEL_HAS_SPEEDS2
#define IB_PORT_EXTENDED_SPEEDS2_SUP BIT(11)
#define IB_PORT_LINK_SPEED_XDR_SUP BIT(12)
#endif

#ifndef KERNEL_HAS_SPEED_NDR_SUP
#define IB_PORT_LINK_SPEED_NDR_SUP BIT(10)
#endif

/* There was one set of flags */
#ifndef KERNEL_HAS_KERNEL_CAP_FLAGS
#define kernel_cap_flags device_cap_flags
#define IBK_LOCAL_DMA_LKEY IB_DEVICE_LOCAL_DMA_LKEY
#define IBK_UD_TSO IB_DEVICE_UD_TSO
#define IBK_VIRTUAL_FUNCTION IB_DEVICE_VIRTUAL_FUNCTION
#endif

/* Counters had a name alone, so that an array of these was one of names */
#ifndef KERNEL_HAS_STAT_DESC
struct rdma_stat_desc {
	const char *name;
};

#define rdma_alloc_hw_stats_struct(descs, count, lifespan) \
	rdma_alloc_hw_stats_struct((const char * const *)(descs), count, lifespan)
#endif

/* devnode() of a class had a device that is not constant */
#ifndef KERNEL_HAS_DEVNODE_CONST
#define madsim_wire_devnode(dev_, mode_) \
	madsim_wire_devnode(struct device *dev, umode_t *mode)
#endif

/* All flags of a mapping were set by hand */
#ifndef KERNEL_HAS_VM_FLAGS_MOD
#include <linux/mm.h>
static inline void vm_flags_mod(struct vm_area_struct *vma, unsigned long set,
				unsigned long clear)
{
	vma->vm_flags = (vma->vm_flags | set) & ~clear;
}
#endif

/* create_cq() took the udata alone */
#ifndef KERNEL_HAS_CREATE_CQ_ATTRS
#include <rdma/uverbs_ioctl.h>
#define uverbs_attr_bundle ib_udata
#endif

/* What reads a binary attribute had one that is not constant */
#ifndef KERNEL_HAS_BIN_ATTRIBUTE_CONST
#define madsim_vpd_read(file_, kobj_, attr_, buf_, pos_, count_) \
	madsim_vpd_read(struct file *file, struct kobject *kobj, \
			struct bin_attribute *attr, char *buf, loff_t pos, size_t count)
#endif

/* reg_user_mr() had no DMA handle. Applies to the function, not to its address. */
#ifndef KERNEL_HAS_REG_USER_MR_DMAH
#define madsim_reg_user_mr(ibpd_, start_, length_, virt_addr_, access_, dmah_, udata_) \
	madsim_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length, \
			   u64 virt_addr, int access, struct ib_udata *udata)
#endif

/* ib_umem_get() and resize_cq() had no such names */
#ifndef KERNEL_HAS_UMEM_GET_VA
#define ib_umem_get_va ib_umem_get
#endif
#ifndef KERNEL_HAS_RESIZE_USER_CQ
#define resize_user_cq resize_cq
#define madsim_resize_cq(ibcq_, cqe_, udata_) \
	madsim_resize_cq(struct ib_cq *ibcq, int cqe, struct ib_udata *udata)
#endif

/*
 * ib_cm and the SA client of Linux, up to 7.2 at least, expect a port 1. A switch has
 * port 0 only. ib_cm reaches out of its arrays, and udev may load it at any time. So
 * such a device is made only where it has been asked for.
 */
extern bool madsim_switch_devices;

/* At the one place in the module that has this */
#undef MODULE_LICENSE
#define MODULE_LICENSE(license_) \
	MODULE_INFO(license, license_); \
	bool madsim_switch_devices; \
	module_param_named(switch_devices, madsim_switch_devices, bool, 0644); \
	MODULE_PARM_DESC(switch_devices, \
			 "let switches be RDMA devices; ib_cm of many kernels dies of it (N)")

/*
 * The SA client asks for the capabilities of port 1 when a device comes and when it
 * goes. The memory behind port_data may have changed in between, and then it frees a
 * timer that is running. So have port_data allocated as for a channel adapter: that
 * has room for a port 1, which can do nothing. The core does not set port 0 up then,
 * so this does.
 */
static inline int madsim_alloc_switch_ports(struct ib_device *ibdev)
{
	struct ib_port_data *port;
	int ret;

	ibdev->is_switch = false;
	ret = ib_device_set_netdev(ibdev, NULL, 1);
	ibdev->is_switch = true;
	if (ret)
		return ret;

	port = &ibdev->port_data[0];
	port->ib_dev = ibdev;
	spin_lock_init(&port->pkey_list_lock);
	INIT_LIST_HEAD(&port->pkey_list);
	spin_lock_init(&port->netdev_lock);
	INIT_HLIST_NODE(&port->ndev_hash_link);
	return 0;
}

static inline int madsim_register_device(struct ib_device *ibdev, const char *name,
					 struct device *dma_device)
{
	int ret;

	if (ibdev->is_switch) {
		if (!READ_ONCE(madsim_switch_devices))
			return -EOPNOTSUPP;
		ret = madsim_alloc_switch_ports(ibdev);
		if (ret)
			return ret;
	}
	return ib_register_device(ibdev, name, dma_device);
}

#define ib_register_device madsim_register_device

#endif /* MADSIM_COMPAT_H */
