/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What ib_madsim needs from kernels older than the one it is written for.
 * Force-included by the external build, not part of the patch series.
 */

#ifndef MADSIM_COMPAT_H
#define MADSIM_COMPAT_H

#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0)
#error "ib_madsim needs Linux 6.1 or newer"
#endif

#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
static inline void *ib_virt_dma_to_ptr(u64 dma_addr)
{
	return (void *)(uintptr_t)dma_addr;
}
#endif

/* Nobody had been faster */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)
#define IB_SPEED_XDR 256
#define IB_PORT_EXTENDED_SPEEDS2_SUP BIT(11)
#define IB_PORT_LINK_SPEED_XDR_SUP BIT(12)
#endif

/* create_cq() took the udata alone */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 11, 0)
#define uverbs_attr_bundle ib_udata
#endif

/* reg_user_mr() had no DMA handle. Applies to the function, not to its address. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 17, 0)
#define madsim_reg_user_mr(ibpd_, start_, length_, virt_addr_, access_, dmah_, udata_) \
	madsim_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length, \
			   u64 virt_addr, int access, struct ib_udata *udata)
#endif

/* ib_umem_get() had no such name */
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 2, 0)
#define ib_umem_get_va ib_umem_get
#endif

/* The old name is there for longer than the new one has been */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 18, 0)
#define system_dfl_wq system_unbound_wq
#endif

#endif /* MADSIM_COMPAT_H */
