// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Rings in memory that a program maps, to take completions and to post receives without a
 * call of the kernel: version 2 of the interface of qib and hfi1.
 *
 * The program may write anything there at any time. So each index and each entry is read
 * once, and is checked before it is used. The kernel keeps copies of its own of all that it
 * has written, and never reads that again.
 */

#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <rdma/uverbs_ioctl.h>

#include "transport.h"

static struct madsim_ring *to_madsim_ring(struct rdma_user_mmap_entry *entry)
{
	return container_of(entry, struct madsim_ring, entry);
}

/* The pages stay as long as they are mapped */
static void madsim_mmap_free(struct rdma_user_mmap_entry *entry)
{
	struct madsim_ring *ring = to_madsim_ring(entry);

	vfree(ring->memory);
	kfree(ring);
}

/* Make a ring of zeroes that a program can map, and tell the program where, or an ERR_PTR() */
struct madsim_ring *madsim_ring_create(struct ib_udata *udata, size_t size)
{
	struct madsim_ucontext *ucontext =
		rdma_udata_to_drv_context(udata, struct madsim_ucontext, ibucontext);
	struct madsim_ring *ring;
	u64 offset;
	int ret;

	if (!madsim_ring_wanted(udata))
		return ERR_PTR(-EINVAL);
	ring = kzalloc_obj(*ring, GFP_KERNEL_ACCOUNT);
	if (!ring)
		return ERR_PTR(-ENOMEM);
	ring->memory = __vmalloc(PAGE_ALIGN(size),
				 GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NOWARN);
	if (!ring->memory) {
		kfree(ring);
		return ERR_PTR(-ENOMEM);
	}
	ret = rdma_user_mmap_entry_insert(&ucontext->ibucontext, &ring->entry, size);
	if (ret) {
		madsim_mmap_free(&ring->entry);
		return ERR_PTR(ret);
	}
	offset = rdma_user_mmap_get_offset(&ring->entry);
	ret = ib_copy_to_udata(udata, &offset, sizeof(offset));
	if (ret) {
		madsim_ring_destroy(ring);
		return ERR_PTR(ret);
	}
	return ring;
}

/* Undo madsim_ring_create(); @ring may be NULL. A program that has it mapped keeps the memory */
void madsim_ring_destroy(struct madsim_ring *ring)
{
	if (ring)
		rdma_user_mmap_entry_remove(&ring->entry);
}

/* Maps a whole ring, as often as a program likes, but never as code */
static int madsim_mmap(struct ib_ucontext *ibucontext, struct vm_area_struct *vma)
{
	struct rdma_user_mmap_entry *entry;
	struct madsim_ring *ring;
	unsigned long at;
	int ret = 0;

	if (vma->vm_flags & VM_EXEC)
		return -EPERM;
	entry = rdma_user_mmap_entry_get(ibucontext, vma);
	if (!entry)
		return -EINVAL;
	ring = to_madsim_ring(entry);
	/* Nothing is behind the ring, so the mapping does not grow */
	vm_flags_mod(vma, VM_DONTEXPAND, VM_MAYEXEC);
	for (at = 0; !ret && at < entry->npages * PAGE_SIZE; at += PAGE_SIZE)
		ret = vm_insert_page(vma, vma->vm_start + at,
				     vmalloc_to_page((void *)ring->memory + at));
	rdma_user_mmap_entry_put(entry);
	return ret;
}

/* Only for devices with data */
const struct ib_device_ops madsim_ring_ops = {
	.mmap = madsim_mmap,
	.mmap_free = madsim_mmap_free,
};
