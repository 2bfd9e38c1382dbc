// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory of clients: regions and their keys, and what is copied from there into
 * packets and back, or to other regions.
 *
 * An adapter would find the pages by its own tables, and so does this. A packet is copied
 * under fabric->lock. The bytes of a burst are copied without: their regions count that.
 */

#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/wait.h>
#include <rdma/ib_umem.h>

#include "transport.h"

/* The low byte of a key is for its owner to change, the rest is a number */
#define MADSIM_KEY_SHIFT	8

/* That may be asked for. Optional access need not be given */
#define MADSIM_ACCESS		(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
				 IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC | \
				 IB_ACCESS_OPTIONAL)

/**
 * struct madsim_mr - a region of memory
 * @ibmr:	the core's part
 * @pd:		immutable; the core sets its own later
 * @user:	immutable; the user whose it is, or NULL if it is the kernel's
 * @umem:	immutable; the pinned memory, if a program has registered it
 * @pages:	where the kernel has each page; NULL: it has all in one piece
 * @page_shift:	size of a page
 * @max_pages:	immutable; of a region that the kernel maps
 * @mapped:	the pages that the kernel has mapped last. @pages has those of the earlier key
 *		until madsim_mr_enable()
 * @num_pages:	how many pages @mapped has
 * @key:	its lkey and rkey; the lock of the fabric, as all below
 * @valid:	the key is good
 * @users:	how many copies of its bytes are under way without the lock. The members that
 *		a copy reads do not change before the copy has ended
 * @leaving:	the key was invalidated while copies were under way
 * @access:	IB_ACCESS_*
 * @start:	the address of the first byte, as requests have it
 * @length:	in bytes
 * @offset:	of the first byte in the first page
 *
 * A region of a program does not change from the time it is found by its key, until it goes.
 */
struct madsim_mr {
	struct ib_mr ibmr;
	struct ib_pd *pd;
	struct madsim_user *user;
	struct ib_umem *umem;
	u64 *pages;
	u32 page_shift;
	u32 max_pages;
	u64 *mapped;
	u32 num_pages;
	u32 key;
	bool valid;
	bool leaving;
	u32 users;
	int access;
	u64 start;
	u64 length;
	u64 offset;
};

static struct madsim_mr *to_madsim_mr(struct ib_mr *ibmr)
{
	return container_of(ibmr, struct madsim_mr, ibmr);
}

static struct madsim_mr *madsim_mr_alloc(struct ib_pd *ibpd, int access)
{
	struct madsim_mr *mr = kzalloc_obj(*mr, GFP_KERNEL_ACCOUNT);

	if (mr) {
		mr->pd = ibpd;
		mr->access = access;
		mr->page_shift = PAGE_SHIFT;
	}
	return mr;
}

/* What the region of a program costs its user beside the memory that it pins */
static u64 madsim_mr_cost(const struct madsim_mr *mr)
{
	return MADSIM_OBJECT_BYTES + (mr->length >> PAGE_SHIFT) * sizeof(*mr->pages);
}

static void madsim_mr_free(struct madsim_mr *mr)
{
	madsim_user_uncharge(mr->user, madsim_mr_cost(mr));
	if (mr->umem)
		ib_umem_release(mr->umem);
	kvfree(mr->pages);
	kvfree(mr->mapped);
	kfree(mr);
}

/* The low byte of a key, until its owner changes it */
static u8 madsim_mr_first_byte(struct madsim_dev *dev)
{
	u8 byte;

	spin_lock_irq(&dev->node->fabric->lock);
	byte = prandom_u32_state(&dev->rnd);
	spin_unlock_irq(&dev->node->fabric->lock);
	return byte;
}

/* The place in dev->mrs of the region with a key. Keys of other devices have no place there */
static u32 madsim_mr_place(const struct madsim_dev *dev, u32 key)
{
	return (key >> MADSIM_KEY_SHIFT) - dev->first_mr;
}

/* Have a region found by a key */
static int madsim_mr_add(struct madsim_mr *mr)
{
	struct madsim_dev *dev = to_madsim_dev(mr->pd->device);
	u32 place;
	int ret;

	ret = madsim_place_alloc(dev, mr->user, MADSIM_SHARE_MR, &dev->mrs, MADSIM_MAX_MR,
				 &dev->next_mr, &place);
	if (ret)
		return ret;
	mr->key = (dev->first_mr + place) << MADSIM_KEY_SHIFT |
		  madsim_mr_first_byte(dev);
	mr->ibmr.lkey = mr->key;
	mr->ibmr.rkey = mr->key;
	xa_store(&dev->mrs, place, mr, GFP_KERNEL);
	return 0;
}

/* What a verb returns of a new region, for which there may have been an error */
static struct ib_mr *madsim_mr_finish(struct madsim_mr *mr, int ret)
{
	ret = ret ?: madsim_mr_add(mr);
	if (!ret)
		return &mr->ibmr;
	madsim_mr_free(mr);
	return ERR_PTR(ret);
}

static int madsim_mr_map(struct madsim_mr *mr)
{
	struct sg_page_iter iter;
	unsigned int i = 0;

	mr->pages = kvmalloc_array(ib_umem_num_pages(mr->umem),
				   sizeof(*mr->pages), GFP_KERNEL_ACCOUNT);
	if (!mr->pages)
		return -ENOMEM;
	for_each_sgtable_page(&mr->umem->sgt_append.sgt, &iter, 0)
		mr->pages[i++] = (uintptr_t)page_address(sg_page_iter_page(&iter));
	return 0;
}

static struct ib_mr *madsim_mr_pin(struct ib_pd *ibpd, struct madsim_user *user, u64 start,
				   u64 length, u64 virt_addr, int access)
{
	struct madsim_mr *mr;
	int ret;

	if (access & ~MADSIM_ACCESS)
		return ERR_PTR(-EOPNOTSUPP);
	if (!length || virt_addr + length < virt_addr)
		return ERR_PTR(-EINVAL);

	mr = madsim_mr_alloc(ibpd, access);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->start = virt_addr;
	mr->length = length;
	mr->offset = offset_in_page(start);
	mr->valid = true;
	if (!madsim_user_charge(user, madsim_mr_cost(mr)))
		return madsim_mr_finish(mr, -ENOMEM);
	mr->user = user;
	mr->umem = ib_umem_get_va(ibpd->device, start, length, access);
	if (IS_ERR(mr->umem)) {
		ret = PTR_ERR(mr->umem);
		mr->umem = NULL;
		return madsim_mr_finish(mr, ret);
	}
	return madsim_mr_finish(mr, madsim_mr_map(mr));
}

static struct ib_mr *madsim_reg_user_mr(struct ib_pd *ibpd, u64 start,
					u64 length, u64 virt_addr, int access,
					struct ib_dmah *dmah,
					struct ib_udata *udata)
{
	return madsim_mr_pin(ibpd, madsim_user_of(udata), start, length, virt_addr, access);
}

/* A new region, with another key: the core deregisters the old one, if this succeeds */
static struct ib_mr *madsim_rereg_user_mr(struct ib_mr *ibmr, int flags, u64 start,
					  u64 length, u64 virt_addr, int access,
					  struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct madsim_mr *mr = to_madsim_mr(ibmr);

	if (!(flags & IB_MR_REREG_ACCESS))
		access = mr->access;
	if (!(flags & IB_MR_REREG_TRANS)) {
		start = mr->umem->address;
		length = mr->length;
		virt_addr = mr->start;
	}
	return madsim_mr_pin(ibpd, mr->user, start, length, virt_addr, access);
}

/* All memory of the kernel, which has it where addresses say */
static struct ib_mr *madsim_get_dma_mr(struct ib_pd *ibpd, int access)
{
	struct madsim_mr *mr = madsim_mr_alloc(ibpd, access);

	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->length = U64_MAX;
	mr->valid = true;
	return madsim_mr_finish(mr, 0);
}

/* What the kernel maps and registers again and again */
static struct ib_mr *madsim_alloc_mr(struct ib_pd *ibpd, enum ib_mr_type type, u32 max_num_sg)
{
	struct madsim_mr *mr;

	if (type != IB_MR_TYPE_MEM_REG)
		return ERR_PTR(-EOPNOTSUPP);
	if (max_num_sg > MADSIM_MAX_MR_PAGES)
		return ERR_PTR(-EINVAL);

	mr = madsim_mr_alloc(ibpd, 0);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->max_pages = max_num_sg;
	mr->pages = kvcalloc(max_num_sg, sizeof(*mr->pages), GFP_KERNEL);
	mr->mapped = kvcalloc(max_num_sg, sizeof(*mr->mapped), GFP_KERNEL);
	return madsim_mr_finish(mr, mr->pages && mr->mapped ? 0 : -ENOMEM);
}

static int madsim_set_page(struct ib_mr *ibmr, u64 addr)
{
	struct madsim_mr *mr = to_madsim_mr(ibmr);

	if (mr->num_pages == mr->max_pages)
		return -ENOMEM;
	mr->mapped[mr->num_pages++] = addr;
	return 0;
}

/* The kernel may map while an earlier key, whose invalidation it has posted, is still valid */
static int madsim_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg,
			    int sg_nents, unsigned int *sg_offset)
{
	struct madsim_mr *mr = to_madsim_mr(ibmr);

	mr->num_pages = 0;
	return ib_sg_to_pages(ibmr, sg, sg_nents, sg_offset, madsim_set_page);
}

static int madsim_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata)
{
	struct madsim_dev *dev = to_madsim_dev(ibmr->device);
	struct madsim_fabric *fabric = dev->node->fabric;
	struct madsim_mr *mr = to_madsim_mr(ibmr);

	spin_lock_irq(&fabric->lock);
	mr->valid = false;
	/* When a copy ends, madsim_span_hold() finds the region by its key */
	wait_event_lock_irq(fabric->copied, !mr->users, fabric->lock);
	spin_unlock_irq(&fabric->lock);
	xa_erase(&dev->mrs, madsim_mr_place(dev, mr->key));
	/* A packet that has found the region uses it with this lock held */
	spin_lock_irq(&fabric->lock);
	madsim_user_release(dev, mr->user, MADSIM_SHARE_MR);
	spin_unlock_irq(&fabric->lock);
	madsim_mr_free(mr);
	return 0;
}

static struct madsim_mr *madsim_mr_at(const struct ib_pd *pd, u32 key)
{
	struct madsim_dev *dev = to_madsim_dev(pd->device);

	return xa_load(&dev->mrs, madsim_mr_place(dev, key));
}

/* The region with a key, if it is one of this protection domain */
static struct madsim_mr *madsim_mr_find(struct ib_pd *pd, u32 key)
{
	struct madsim_mr *mr = madsim_mr_at(pd, key);

	return mr && mr->valid && mr->key == key && mr->pd == pd ? mr : NULL;
}

/* The region where @key lets @access to all of @len bytes, if there is one */
static struct madsim_mr *madsim_mr_check(struct ib_pd *pd, u32 key, u64 addr, u32 len, int access)
{
	struct madsim_mr *mr = madsim_mr_find(pd, key);

	if (!mr || (mr->access & access) != access)
		return NULL;
	if (addr < mr->start || len > mr->length ||
	    addr - mr->start > mr->length - len)
		return NULL;
	return mr;
}

/*
 * Where the first of @len bytes of a region is; without a region, the kernel itself has them there.
 * @len becomes how many of them are in one piece
 */
static inline void *madsim_mr_piece(const struct madsim_mr *mr, u64 addr, u32 *len)
{
	u64 at, page_size, in_page;

	if (!mr || !mr->pages)
		return ib_virt_dma_to_ptr(addr);
	at = addr - mr->start + mr->offset;
	page_size = BIT_ULL(mr->page_shift);
	in_page = at & (page_size - 1);
	*len = min_t(u64, *len, page_size - in_page);
	return ib_virt_dma_to_ptr(mr->pages[at >> mr->page_shift] + in_page);
}

static void madsim_mr_copy(const struct madsim_mr *mr, u64 addr, void *data, u32 len, bool store)
{
	while (len) {
		u32 piece = len;
		void *mem = madsim_mr_piece(mr, addr, &piece);

		if (store)
			memcpy(mem, data, piece);
		else
			memcpy(data, mem, piece);
		addr += piece;
		data += piece;
		len -= piece;
	}
}

/* Whether a remote key allows @access to @len bytes. fabric->lock is held */
bool madsim_mr_allows(struct ib_pd *pd, u32 rkey, u64 addr, u32 len, int access)
{
	return madsim_mr_check(pd, rkey, addr, len, access);
}

/* Copy out of a region, if a remote key allows it. No bytes need no key. fabric->lock is held */
bool madsim_mr_read(struct ib_pd *pd, u32 rkey, u64 addr, void *to, u32 len, int access)
{
	struct madsim_mr *mr = madsim_mr_check(pd, rkey, addr, len, access);

	if (mr)
		madsim_mr_copy(mr, addr, to, len, false);
	return mr || !len;
}

/* Copy into a region, if a remote key allows it. No bytes need no key. fabric->lock is held */
bool madsim_mr_write(struct ib_pd *pd, u32 rkey, u64 addr, const void *from, u32 len, int access)
{
	struct madsim_mr *mr = madsim_mr_check(pd, rkey, addr, len, access);

	if (mr)
		madsim_mr_copy(mr, addr, (void *)from, len, true);
	return mr || !len;
}

/*
 * Let @key, whose low byte may be new, be good for a region that the kernel has mapped. False:
 * the region is in use, or cannot have such a key. fabric->lock is held
 */
bool madsim_mr_enable(struct ib_pd *pd, struct ib_mr *ibmr, u32 key, int access)
{
	struct madsim_mr *mr = to_madsim_mr(ibmr);

	if (mr->pd != pd || mr->valid || mr->leaving || !mr->max_pages ||
	    (mr->key ^ key) >> MADSIM_KEY_SHIFT)
		return false;
	memcpy(mr->pages, mr->mapped, mr->num_pages * sizeof(*mr->pages));
	mr->page_shift = ilog2(ibmr->page_size);
	mr->key = key;
	mr->access = access;
	mr->start = ibmr->iova;
	mr->length = ibmr->length;
	mr->offset = ibmr->iova & (BIT_ULL(mr->page_shift) - 1);
	mr->valid = true;
	return true;
}

/*
 * Let the key of a region that the kernel has mapped be good no more: 0, or -EINVAL if no region
 * has the key. -EBUSY: copies of the region are under way, and no other copy begins. Try again when
 * they have ended: with 0, the owner may do anything with the memory. fabric->lock is held
 */
int madsim_mr_invalidate(struct ib_pd *pd, u32 key)
{
	struct madsim_mr *mr = madsim_mr_at(pd, key);

	if (!mr || mr->pd != pd || mr->key != key || !mr->max_pages ||
	    !(mr->valid || mr->leaving))
		return -EINVAL;
	mr->valid = false;
	mr->leaving = mr->users;
	return mr->leaving ? -EBUSY : 0;
}

/* Whether the kernel itself has this piece, with the key of all of its memory */
static bool madsim_is_kernel_sge(const struct ib_pd *pd, const struct ib_sge *sge)
{
	return rdma_is_kernel_res(&pd->res) &&
	       sge->lkey == pd->local_dma_lkey;
}

/* Where a client's piece of memory begins; NULL if @sge has the key of a region */
void *madsim_kernel_memory(const struct ib_pd *pd, const struct ib_sge *sge)
{
	return madsim_is_kernel_sge(pd, sge) ? ib_virt_dma_to_ptr(sge->addr) : NULL;
}

/* The piece of memory where the next of @len bytes is. @piece becomes how many are there */
static const struct ib_sge *madsim_span_next(struct madsim_span *span, u32 len, u32 *piece)
{
	while (span->at >= span->sge->length) {
		span->at -= span->sge->length;
		span->sge++;
		span->mr = NULL;
	}
	*piece = min_t(u64, len, span->sge->length - span->at);
	return span->sge;
}

/* Copy between a packet and pieces of memory, of which @at bytes come before */
static enum ib_wc_status madsim_copy(struct ib_pd *pd, const struct ib_sge *sge,
				     u64 at, void *data, u32 len, bool store)
{
	struct madsim_span span = { .pd = pd, .sge = sge, .at = at };
	int access = store ? IB_ACCESS_LOCAL_WRITE : 0;
	struct madsim_mr *mr;
	u32 piece;
	u64 addr;

	lockdep_assert_held(&to_madsim_dev(pd->device)->node->fabric->lock);

	for (; len; len -= piece, data += piece, span.at += piece) {
		sge = madsim_span_next(&span, len, &piece);
		addr = sge->addr + span.at;
		mr = NULL;
		if (!madsim_is_kernel_sge(pd, sge)) {
			mr = madsim_mr_check(pd, sge->lkey, addr, piece, access);
			if (!mr)
				return IB_WC_LOC_PROT_ERR;
		}
		madsim_mr_copy(mr, addr, data, piece, store);
	}
	return IB_WC_SUCCESS;
}

/*
 * Copy out of the memory of a client, from @at bytes behind its beginning. The pieces have @len
 * bytes from there on. A piece without any of these bytes needs no valid key. fabric->lock is held
 */
enum ib_wc_status madsim_copy_from(struct ib_pd *pd, const struct ib_sge *sge,
				   u64 at, void *to, u32 len)
{
	return madsim_copy(pd, sge, at, to, len, false);
}

/* As madsim_copy_from(), but copies into the memory, up to a piece whose key does not allow it */
enum ib_wc_status madsim_copy_to(struct ib_pd *pd, const struct ib_sge *sge,
				 u64 at, const void *from, u32 len)
{
	return madsim_copy(pd, sge, at, (void *)from, len, true);
}

/* The kernel uses its own memory without a region. A remote key always has a region */
static bool madsim_span_is_kernel(const struct madsim_span *span, const struct ib_sge *sge)
{
	return !span->remote && madsim_is_kernel_sge(span->pd, sge);
}

/* Whether the keys of the first @len bytes are good. fabric->lock is held */
bool madsim_span_allows(const struct madsim_span *span, u32 len)
{
	struct madsim_span next = *span;
	const struct ib_sge *sge;
	u32 piece;

	for (; len; len -= piece, next.at += piece) {
		sge = madsim_span_next(&next, len, &piece);
		if (!madsim_span_is_kernel(span, sge) &&
		    !madsim_mr_check(span->pd, sge->lkey, sge->addr + next.at,
				     piece, span->access))
			return false;
	}
	return true;
}

/*
 * Count a copy in the regions that have its bytes: @copies is 1 before the copy, and -1 after it.
 * The keys were good when the copy began. fabric->lock is held
 */
void madsim_span_hold(const struct madsim_span *span, u32 len, int copies)
{
	struct madsim_span next = *span;
	const struct ib_sge *sge;
	u32 piece;

	lockdep_assert_held(&to_madsim_dev(span->pd->device)->node->fabric->lock);

	for (; len; len -= piece, next.at += piece) {
		sge = madsim_span_next(&next, len, &piece);
		if (!madsim_span_is_kernel(span, sge))
			madsim_mr_at(span->pd, sge->lkey)->users += copies;
	}
}

/* Where the next of @len bytes is. @len becomes how many of them are in one piece */
static void *madsim_span_piece(struct madsim_span *span, u32 *len)
{
	const struct ib_sge *sge = madsim_span_next(span, *len, len);
	u64 addr = sge->addr + span->at;

	if (!span->mr && !madsim_span_is_kernel(span, sge))
		span->mr = madsim_mr_at(span->pd, sge->lkey);
	return madsim_mr_piece(span->mr, addr, len);
}

/*
 * Copy bytes that madsim_span_hold() has counted, and move both spans behind these bytes. If the
 * spans overlap, what the memory has then is the program's own affair
 */
void madsim_span_copy(struct madsim_span *to, struct madsim_span *from, u32 len)
{
	void *source, *target;
	u32 piece;

	while (len) {
		piece = len;
		source = madsim_span_piece(from, &piece);
		target = madsim_span_piece(to, &piece);
		memcpy(target, source, piece);
		from->at += piece;
		to->at += piece;
		len -= piece;
	}
}

u64 madsim_sge_length(const struct ib_sge *sge, u32 num_sge)
{
	u64 length = 0;
	u32 i;

	for (i = 0; i < num_sge; i++)
		length += sge[i].length;
	return length;
}

/* Devices without data have them, too: the MAD layer wants three of them, and calls none */
const struct ib_device_ops madsim_mr_ops = {
	.alloc_mr = madsim_alloc_mr,
	.dereg_mr = madsim_dereg_mr,
	.get_dma_mr = madsim_get_dma_mr,
	.map_mr_sg = madsim_map_mr_sg,
	.reg_user_mr = madsim_reg_user_mr,
	.rereg_user_mr = madsim_rereg_user_mr,
};
