// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What kernels of some vendor or version lack: each line below is a question, and an error
 * of the compiler is a no. Vendors take functions over into older kernels, so a version
 * answers none of them. kernel_has.h has the answers: see Kbuild and answers.awk.
 *
 * This is compiled for its errors, once for each kernel, and never linked.
 */
#ifndef KBUILD_MODNAME
#define KBUILD_MODNAME "features"
#endif
#include <linux/bitmap.h>
#include <linux/configfs.h>
#include <linux/device.h>
#include <linux/fs.h>
#include <linux/highmem.h>
#include <linux/interrupt.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/rbtree.h>
#include <linux/sysfs.h>
#include <linux/uio.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>

/* KERNEL_HAS_name is defined if the expression is one */
#define HAS(name, ...) extern typeof(__VA_ARGS__) *has_##name
/* The module cannot be built if the expression is none: "module needs what" */
#define NEEDS(module, what, ...) extern typeof(__VA_ARGS__) *__UNIQUE_ID(module)
/* The answers to these are known */
#define CONTROL(name, ...) extern typeof(__VA_ARGS__) *control_##name

#define IF(condition) sizeof(char [(condition) ? 1 : -1])
#define IS(function, ...) IF(__builtin_types_compatible_p(typeof(function), __VA_ARGS__))
#define OPS ((const struct ib_device_ops *)NULL)
#define CREATE_QP int (*)(struct ib_qp *, struct ib_qp_init_attr *, struct ib_udata *)

CONTROL(YES, THIS_MODULE->name);
CONTROL(NO, ib_umad_is_not_in_this_kernel(NULL));

HAS(BITMAP_FROM_ARR64, bitmap_from_arr64((unsigned long *)NULL, (u64 *)NULL, 64));
HAS(ITER_IS_UBUF, iter_is_ubuf((struct iov_iter *)NULL));
HAS(MEMCPY_FROM_PAGE, &memcpy_from_page);
HAS(RB_FIND_ADD, &rb_find_add);
HAS(STREAM_OPEN, &stream_open);
HAS(USER_BACKED_ITER, user_backed_iter((struct iov_iter *)NULL));
HAS(DEVNODE_CONST, IS(((struct class *)NULL)->devnode,
		      char *(*)(const struct device *, umode_t *)));

HAS(ADD_SUB_DEV, OPS->add_sub_dev);
HAS(BIN_ATTRIBUTE_CONST, IS(((const struct bin_attribute *)NULL)->read,
			    ssize_t (*)(struct file *, struct kobject *,
					const struct bin_attribute *, char *, loff_t, size_t)));
HAS(BUS_CONST, IS(((struct device *)NULL)->bus, const struct bus_type *));
HAS(CREATE_CQ_ATTRS, IS(OPS->create_cq, int (*)(struct ib_cq *, const struct ib_cq_init_attr *,
						struct uverbs_attr_bundle *)));
HAS(KERNEL_CAP_FLAGS, ((struct ib_device_attr *)NULL)->kernel_cap_flags);
HAS(QUERY_PORT_SPEED, OPS->query_port_speed);
HAS(REG_USER_MR_DMAH, IS(OPS->reg_user_mr,
			 struct ib_mr *(*)(struct ib_pd *, u64, u64, u64, int,
					   struct ib_dmah *, struct ib_udata *)));
HAS(RESIZE_USER_CQ, OPS->resize_user_cq);
HAS(SPEED_NDR_SUP, IB_PORT_LINK_SPEED_NDR_SUP);
HAS(SPEED_XDR, IB_SPEED_XDR);
HAS(SPEEDS2, IB_PORT_EXTENDED_SPEEDS2_SUP + IB_PORT_LINK_SPEED_XDR_SUP);
HAS(STAT_DESC, sizeof(struct rdma_stat_desc));
HAS(UMEM_GET_VA, &ib_umem_get_va);
HAS(VIRT_DMA_TO_PTR, &ib_virt_dma_to_ptr);
HAS(VM_FLAGS_MOD, &vm_flags_mod);

NEEDS(ib_umad, "CONFIG_INFINIBAND", IF(IS_ENABLED(CONFIG_INFINIBAND)));
NEEDS(ib_madsim, "CONFIG_INFINIBAND_VIRT_DMA", IF(IS_ENABLED(CONFIG_INFINIBAND_VIRT_DMA)));
NEEDS(ib_madsim, "CONFIG_CONFIGFS_FS", IF(IS_ENABLED(CONFIG_CONFIGFS_FS)));
NEEDS(ib_madsim, "queue pairs that the RDMA core allocates", IS(OPS->create_qp, CREATE_QP));
NEEDS(ib_madsim, "rb_find()", &rb_find);
NEEDS(ib_madsim, "tasklet_setup()", &tasklet_setup);
