/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Kernels older than the one the series is made for. The external build
 * includes this before everything else; the series leaves it out.
 */
#ifndef UMAD_COMPAT_H
#define UMAD_COMPAT_H

#ifndef __ASSEMBLY__
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0)
#error "ib_umad needs Linux 6.1 or newer"
#endif

/*
 * The callbacks of a class had arguments that were not const. These macros
 * apply where a function of that name is defined, and not where it is used.
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
