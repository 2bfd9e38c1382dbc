/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Kernels older than the one ib_umad is written for, and what tells a module of
 * the external build from the kernel's. That build includes this before
 * everything else.
 *
 * Vendors take functions over into older kernels. So probe/ has asked the headers of
 * this kernel what they offer: no version is looked at.
 */
#ifndef UMAD_COMPAT_H
#define UMAD_COMPAT_H

#ifndef __ASSEMBLY__
#include <linux/bitmap.h>
#include <linux/device.h>
#include <linux/highmem.h>
#include <linux/module.h>
#include <linux/pagemap.h>
#include <linux/poll.h>
#include <linux/rbtree.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/uio.h>

#include "probe/kernel_has.h"

#ifdef USER_MAD_VERSION
/* For modinfo, at the one place in a module that describes it */
#undef MODULE_DESCRIPTION
#define MODULE_DESCRIPTION(description_) \
	MODULE_INFO(description, description_); \
	MODULE_INFO(origin, "user_mad, which is not part of this kernel"); \
	MODULE_VERSION(USER_MAD_VERSION)
#endif

/* An attribute that only compilers of today know */
#ifndef __counted_by
#define __counted_by(count)
#endif
/* One that spares the cost of initialization: it came with updates of long-term kernels */
#ifndef __uninitialized
#define __uninitialized
#endif

#ifndef KERNEL_HAS_MEMCPY_FROM_PAGE
static inline void umad_memcpy_from_page(char *to, struct page *page, size_t offset, size_t len)
{
	char *from = kmap_atomic(page);

	memcpy(to, from + offset, len);
	kunmap_atomic(from);
}

#define memcpy_from_page umad_memcpy_from_page
#endif

#ifndef KERNEL_HAS_RB_FIND_ADD
static inline struct rb_node *umad_rb_find_add(struct rb_node *node, struct rb_root *tree,
					       int (*cmp)(struct rb_node *,
							  const struct rb_node *))
{
	struct rb_node **link = &tree->rb_node, *parent = NULL;
	int order;

	while (*link) {
		parent = *link;
		order = cmp(node, parent);
		if (!order)
			return parent;
		link = order < 0 ? &parent->rb_left : &parent->rb_right;
	}
	rb_link_node(node, parent, link);
	rb_insert_color(node, tree);
	return NULL;
}

#define rb_find_add umad_rb_find_add
#endif

#ifdef CONFIG_MEMCG
/* The kernel's wants a variable for interrupts, which old kernels do not export */
static inline struct mem_cgroup *umad_set_active_memcg(struct mem_cgroup *memcg)
{
	struct mem_cgroup *old = current->active_memcg;

	WARN_ON_ONCE(in_interrupt());
	current->active_memcg = memcg;
	return old;
}

#undef set_active_memcg
#define set_active_memcg umad_set_active_memcg
#endif

#ifndef KERNEL_HAS_BITMAP_FROM_ARR64
/* Whole words, as all that is asked for here are 128 bits */
static inline void umad_bitmap_from_arr64(unsigned long *bitmap, const u64 *words,
					  unsigned int bits)
{
	unsigned int i;

	for (i = 0; i < bits / 64; i++)
		bitmap_from_u64(bitmap + i * BITS_TO_LONGS(64), words[i]);
}

#define bitmap_from_arr64 umad_bitmap_from_arr64
#endif

static inline void umad_poll_wait(struct file *filp, wait_queue_head_t *wait,
				  poll_table *table)
{
	poll_wait(filp, wait, table);
	/*
	 * For callers of wq_has_sleeper(). poll_wait() of newer kernels has one, too: what a
	 * function does cannot be asked for.
	 */
	smp_mb();
}

#define poll_wait umad_poll_wait

#ifndef KERNEL_HAS_STREAM_OPEN
static inline int umad_stream_open(struct inode *inode, struct file *filp)
{
	/* No positions, and so no lock of one: a reader that waits blocks no writer */
	filp->f_mode &= ~(FMODE_LSEEK | FMODE_PREAD | FMODE_PWRITE | FMODE_ATOMIC_POS);
	return 0;
}

#define stream_open umad_stream_open
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
#define kvmalloc_objs(type, count, ...) \
	umad_typed(type, kvmalloc_array(count, sizeof(type), umad_gfp(__VA_ARGS__)))
#define kvzalloc_objs(type, count, ...) \
	umad_typed(type, kvcalloc(count, sizeof(type), umad_gfp(__VA_ARGS__)))
#define kmalloc_flex(type, array, count, ...) \
	umad_typed(type, kmalloc(umad_struct_size(type, array, count), \
				 umad_gfp(__VA_ARGS__)))
#define kzalloc_flex(type, array, count, ...) \
	umad_typed(type, kzalloc(umad_struct_size(type, array, count), \
				 umad_gfp(__VA_ARGS__)))
#endif

/* Updates of long-term kernels have it, too. Without it, io_submit() may wait */
#ifndef IOCB_AIO_RW
#define IOCB_AIO_RW 0
#endif

#ifndef KERNEL_HAS_USER_BACKED_ITER
#define user_backed_iter(iter) iter_is_iovec(iter)
#endif

#ifndef iter_iov_addr
static inline void __user *umad_iov_addr(const struct iov_iter *iter)
{
#ifdef KERNEL_HAS_ITER_IS_UBUF
	if (iter_is_ubuf(iter))
		return iter->ubuf + iter->iov_offset;
#endif
	return iter->iov->iov_base + iter->iov_offset;
}

#define iter_iov_addr umad_iov_addr
#endif

/* Applies where the function is defined, and not where it is used */
#ifndef KERNEL_HAS_DEVNODE_CONST
#define umad_devnode(dev_, mode_) umad_devnode(struct device *dev, umode_t *mode)
#endif
#endif /* __ASSEMBLY__ */
#endif /* UMAD_COMPAT_H */
