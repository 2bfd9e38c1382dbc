/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Kernels older than the one the series is made for. The external build
 * includes this before everything else; the series leaves it out.
 */
#ifndef UMAD_COMPAT_H
#define UMAD_COMPAT_H

#ifndef __ASSEMBLY__
#include <linux/slab.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0)
#error "ib_umad needs Linux 6.1 or newer"
#endif

/*
 * Allocation by type came with 7.0, and with updates of long-term kernels such as
 * 6.12. As there, the flags are GFP_KERNEL if none are given.
 */
#ifndef kmalloc_obj
#define umad_second(first, second, ...) second
#define umad_gfp(...) umad_second(, ##__VA_ARGS__, GFP_KERNEL)
#define umad_typed(type, memory) ((typeof(type) *)(memory))
#define umad_struct_size(type, array, count) \
	struct_size((typeof(type) *)NULL, array, count)

#define kmalloc_obj(type, ...) \
	umad_typed(type, kmalloc(sizeof(type), umad_gfp(__VA_ARGS__)))
#define kzalloc_obj(type, ...) \
	umad_typed(type, kzalloc(sizeof(type), umad_gfp(__VA_ARGS__)))
#define kzalloc_objs(type, count, ...) \
	umad_typed(type, kcalloc(count, sizeof(type), umad_gfp(__VA_ARGS__)))
#define kvzalloc_objs(type, count, ...) \
	umad_typed(type, kvcalloc(count, sizeof(type), umad_gfp(__VA_ARGS__)))
#define kmalloc_flex(type, array, count, ...) \
	umad_typed(type, kmalloc(umad_struct_size(type, array, count), \
				 umad_gfp(__VA_ARGS__)))
#define kzalloc_flex(type, array, count, ...) \
	umad_typed(type, kzalloc(umad_struct_size(type, array, count), \
				 umad_gfp(__VA_ARGS__)))
#endif

/* No system call makes an iterator without a vector there, for files with read() */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 4, 0)
#define iter_iov(iter) ((iter)->iov)
#endif

/*
 * The callbacks of a class had arguments that were not const. These macros change
 * the definitions. Other uses of the names have no parentheses, and stay.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
#define umad_devnode(dev_, mode_) \
	umad_devnode(struct device *dev, umode_t *mode)
#endif
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 4, 0)
#define abi_version_show(class_, attr_, buf_) \
	abi_version_show(struct class *class, struct class_attribute *attr, \
			 char *buf)
#endif

#endif /* __ASSEMBLY__ */
#endif /* UMAD_COMPAT_H */
