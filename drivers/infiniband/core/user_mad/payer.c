// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Payers: memory cgroups that have descriptors open.
 *
 * The MAD layer hands an RMPP message over in buffers that are charged to nobody.
 * Its worker can neither reclaim memory nor copy at length, so the message stays
 * in them at first. If it is not read soon, a worker of the payer moves it to
 * memory of the cgroup, for which it can wait.
 */
#include <linux/gfp.h>
#include <linux/memcontrol.h>
#include <linux/mutex.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>

#include "user_mad.h"

/* When what is not read is moved */
#define UMAD_MOVE_DELAY		HZ

/* Memory may well be refused to a payer, but nobody gets killed for it */
#define UMAD_GFP_PAYER	(GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

static DEFINE_MUTEX(umad_payers_lock);
static LIST_HEAD(umad_payers);
static struct workqueue_struct *umad_payer_wq;

/* Dropped messages, to be freed by a worker of our own */
static LIST_HEAD(umad_dropped);
static DEFINE_SPINLOCK(umad_dropped_lock);

static void umad_dropped_work(struct work_struct *work)
{
	LIST_HEAD(segs);

	spin_lock(&umad_dropped_lock);
	list_splice_init(&umad_dropped, &segs);
	spin_unlock(&umad_dropped_lock);

	umad_segments_free(&segs);
}

static DECLARE_WORK(umad_dropped_worker, umad_dropped_work);

/**
 * umad_segments_drop - free a message that is not wanted
 * @segs: its buffers, as in ib_mad_recv_wc.rmpp_list; empty on return
 *
 * Context: a receive handler. A worker of our own does it.
 */
void umad_segments_drop(struct list_head *segs)
{
	if (list_empty(segs))
		return;

	spin_lock(&umad_dropped_lock);
	list_splice_tail_init(segs, &umad_dropped);
	spin_unlock(&umad_dropped_lock);
	queue_work(umad_payer_wq, &umad_dropped_worker);
}

static void umad_payer_free(struct umad_payer *payer)
{
	lockdep_assert_held(&umad_payers_lock);

	WARN_ON(payer->used || atomic_read(&payer->beyond));
	list_del(&payer->list);
	mem_cgroup_put(payer->memcg);
	kfree(payer);
}

/**
 * umad_payer_put - undo umad_payer_get()
 * @payer: the payer; not to be touched any more
 *
 * Context: process context.
 */
void umad_payer_put(struct umad_payer *payer)
{
	if (!refcount_dec_and_mutex_lock(&payer->refs, &umad_payers_lock))
		return;
	umad_payer_free(payer);
	mutex_unlock(&umad_payers_lock);
}

/**
 * umad_payer_make_room - have memory of a payer reclaimed
 * @payer: who pays
 * @len: how much there should be room for, in bytes
 *
 * A vmalloc() would do, if it succeeds. If it fails, newer kernels leave it to a
 * worker to give back what it had got. Until then there is no room for others in
 * the cgroup, and they get killed.
 *
 * Context: process context, with nothing held; may reclaim at length, and be made
 * to sleep.
 * Return: 0, or -ENOMEM if there is no room, or the caller is being killed.
 */
int umad_payer_make_room(struct umad_payer *payer, size_t len)
{
	struct mem_cgroup *old = set_active_memcg(payer->memcg);
	struct page *page, *next;
	LIST_HEAD(pages);
	size_t room;

	for (room = 0; room < len; room += PAGE_SIZE) {
		cond_resched();
		page = fatal_signal_pending(current) ? NULL :
						       alloc_page(UMAD_GFP_PAYER);
		if (!page)
			break;
		list_add(&page->lru, &pages);
	}
	set_active_memcg(old);

	list_for_each_entry_safe(page, next, &pages, lru) {
		__free_page(page);
		cond_resched();
	}
	return room < len ? -ENOMEM : 0;
}

/**
 * umad_payer_alloc - allocate memory that a payer can refuse
 * @payer: who pays
 * @len: how much, in bytes
 *
 * Context: as umad_payer_make_room().
 * Return: the memory, for vfree(), or NULL.
 */
void *umad_payer_alloc(struct umad_payer *payer, size_t len)
{
	struct mem_cgroup *old;
	void *memory;

	if (umad_payer_make_room(payer, len))
		return NULL;

	old = set_active_memcg(payer->memcg);
	memory = __vmalloc(len, UMAD_GFP_PAYER);
	set_active_memcg(old);
	return memory;
}

/* Returns the first message to be moved. Nobody frees it until it was */
static struct umad_packet *umad_payer_take(struct umad_payer *payer)
{
	struct umad_rmpp *rmpp;

	spin_lock(&payer->lock);
	rmpp = list_first_entry_or_null(&payer->messages, struct umad_rmpp, entry);
	if (rmpp) {
		list_del_init(&rmpp->entry);
		rmpp->moving = true;
	}
	spin_unlock(&payer->lock);

	return rmpp ? umad_rmpp_packet(rmpp) : NULL;
}

static bool umad_payer_move(struct umad_payer *payer,
			    struct umad_packet *packet)
{
	void *copy = umad_payer_alloc(payer, packet->length - packet->hdr_len);

	if (!umad_rmpp_move(payer, packet, copy))
		umad_packet_destroy(payer, packet);
	return copy;
}

/* Where there is no memory to be had, the next message that comes tries again */
static void umad_payer_work(struct work_struct *work)
{
	struct umad_payer *payer = container_of(to_delayed_work(work),
						struct umad_payer, work);
	struct umad_packet *packet;

	do {
		packet = umad_payer_take(payer);
	} while (packet && umad_payer_move(payer, packet));

	umad_payer_put(payer);
}

/**
 * umad_payer_kick - have messages moved soon
 * @payer: who pays, with umad_payer.lock held and something in umad_payer.messages.
 *	It has a reference from somebody else, which a descriptor is enough for
 *
 * The work has a reference while it is pending, and until it ends.
 */
void umad_payer_kick(struct umad_payer *payer)
{
	bool pending;

	lockdep_assert_held(&payer->lock);

	refcount_inc(&payer->refs);
	if (payer->used > UMAD_BUDGET_RMPP / 2)
		pending = mod_delayed_work(umad_payer_wq, &payer->work, 0);
	else
		pending = !queue_delayed_work(umad_payer_wq, &payer->work,
					      UMAD_MOVE_DELAY);
	/* Never the last one, as a descriptor has one, too */
	if (pending)
		refcount_dec(&payer->refs);
}

/* Returns the payer of a cgroup, with a reference. If there is none, it is @new */
static struct umad_payer *umad_payer_find(const struct mem_cgroup *memcg,
					  struct umad_payer *new)
{
	struct umad_payer *payer;

	mutex_lock(&umad_payers_lock);
	list_for_each_entry(payer, &umad_payers, list)
		if (payer->memcg == memcg && refcount_inc_not_zero(&payer->refs))
			goto unlock;
	payer = new;
	if (new)
		list_add(&new->list, &umad_payers);
unlock:
	mutex_unlock(&umad_payers_lock);
	return payer;
}

/* A cgroup may have to reclaim memory for it, so nothing is held */
static struct umad_payer *umad_payer_new(struct mem_cgroup *memcg)
{
	struct umad_payer *payer = kzalloc_obj(*payer, GFP_KERNEL_ACCOUNT);

	if (!payer)
		return NULL;
	refcount_set(&payer->refs, 1);
	payer->memcg = memcg;
	spin_lock_init(&payer->lock);
	INIT_LIST_HEAD(&payer->messages);
	INIT_DELAYED_WORK(&payer->work, umad_payer_work);
	return payer;
}

/**
 * umad_payer_get - who pays for what the current process opens
 *
 * Context: process context, with nothing held.
 * Return: the payer, one for each memory cgroup, or NULL if there is no memory.
 */
struct umad_payer *umad_payer_get(void)
{
	struct mem_cgroup *memcg = get_mem_cgroup_from_mm(current->mm);
	struct umad_payer *payer, *new = NULL;

	payer = umad_payer_find(memcg, NULL);
	if (!payer) {
		new = umad_payer_new(memcg);
		payer = umad_payer_find(memcg, new);
	}
	/* The reference to the cgroup is that of the payer, if it is a new one */
	if (!new || payer != new) {
		mem_cgroup_put(memcg);
		kfree(new);
	}
	return payer;
}

/**
 * umad_payer_offer - have a message moved if nobody reads it soon
 * @payer: who pays
 * @packet: what has the message, on its way into the queue
 *
 * Context: a receive handler, with umad_file.queue_lock held.
 */
void umad_payer_offer(struct umad_payer *payer, struct umad_packet *packet)
{
	spin_lock(&payer->lock);
	list_add_tail(&umad_packet_rmpp(packet)->entry, &payer->messages);
	umad_payer_kick(payer);
	spin_unlock(&payer->lock);
}

/**
 * umad_payers_init - prepare for payers
 *
 * Return: 0 or -ENOMEM.
 */
int __init umad_payers_init(void)
{
	/* Has lockdep report who waits for memory with the lock held */
	fs_reclaim_acquire(GFP_KERNEL);
	might_lock(&umad_payers_lock);
	fs_reclaim_release(GFP_KERNEL);

	umad_payer_wq = alloc_workqueue("ib_umad", WQ_UNBOUND, 0);
	return umad_payer_wq ? 0 : -ENOMEM;
}

/**
 * umad_payers_exit - wait for what workers are still at
 *
 * Context: process context, when there are no descriptors any more. What the
 * last of them had unread may be being moved.
 */
void umad_payers_exit(void)
{
	struct umad_payer *payer, *next;

	mutex_lock(&umad_payers_lock);
	list_for_each_entry_safe(payer, next, &umad_payers, list)
		if (cancel_delayed_work(&payer->work) &&
		    refcount_dec_and_test(&payer->refs))
			umad_payer_free(payer);
	mutex_unlock(&umad_payers_lock);

	destroy_workqueue(umad_payer_wq);
}
