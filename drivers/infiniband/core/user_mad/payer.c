// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Payers: memory cgroups that have descriptors open, and what these may hold
 * that the cgroup was not asked for.
 *
 * The MAD layer acknowledges a message and hands it over in buffers that are
 * charged to nobody, in a worker that can neither reclaim nor copy at length.
 * They are kept as they are, within a budget of the payer. What is not read soon
 * is moved to memory of the payer's by a worker of our own, which can wait for
 * that to be reclaimed.
 */
#include <linux/memcontrol.h>
#include <linux/mutex.h>
#include <linux/sched/mm.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>

#include "user_mad.h"

/*
 * What the MAD layer's buffers of all messages may take, which is about three
 * times their length. A message is accepted if it is the only one, whatever its
 * length: the MAD layer has all of it already. Beyond half of the budget moving
 * begins at once.
 */
#define UMAD_BUDGET_KEPT	SZ_32M

/*
 * So many packets may take the cgroup beyond its limit. The kernel charges a page
 * at a time, and what is left of it is within the limit then: it is 1 MiB at most.
 */
#define UMAD_BUDGET_BEYOND	256

/* When what is not read is moved */
#define UMAD_MOVE_DELAY		HZ

/* ib_mad_private is not ours to know; this is what it adds to a MAD and its GRH */
#define UMAD_SEGMENT_OVERHEAD	SZ_256

#define UMAD_GFP_MOVE	(GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

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

/* Returns the first message to be moved, which cannot be freed until it was */
static struct umad_packet *umad_payer_take(struct umad_payer *payer)
{
	struct umad_kept *kept;

	spin_lock(&payer->lock);
	kept = list_first_entry_or_null(&payer->kept, struct umad_kept, entry);
	if (kept) {
		list_del_init(&kept->entry);
		kept->moving = true;
	}
	spin_unlock(&payer->lock);

	return kept ? umad_kept_packet(kept) : NULL;
}

/* Whoever reads it or has freed it meanwhile goes first, and @copy is for nothing */
static void umad_payer_moved(struct umad_payer *payer,
			     struct umad_packet *packet, void *copy)
{
	struct umad_kept *kept = umad_packet_kept(packet);
	LIST_HEAD(segs);
	bool dead;

	spin_lock(&payer->lock);
	kept->moving = false;
	dead = kept->dead;
	if (!dead && !kept->reading && copy) {
		list_splice_init(&kept->segs, &segs);
		payer->used -= kept->size;
		kept->size = 0;
		swap(kept->copy, copy);
	} else if (!dead && !kept->reading) {
		list_add(&kept->entry, &payer->kept);
	}
	spin_unlock(&payer->lock);

	/* Not ours to touch any more, unless it is dead */
	if (dead)
		umad_packet_put(payer, packet);
	umad_segments_free(&segs);
	vfree(copy);
}

static bool umad_payer_move(struct umad_payer *payer,
			    struct umad_packet *packet)
{
	size_t len = packet->length - packet->hdr_len;
	struct mem_cgroup *old;
	void *copy;

	old = set_active_memcg(payer->memcg);
	copy = __vmalloc(len, UMAD_GFP_MOVE);
	set_active_memcg(old);
	if (copy)
		umad_segments_copy(copy, umad_packet_kept(packet), len);

	umad_payer_moved(payer, packet, copy);
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

/* The work has a reference while it is pending, and until it ends */
static void umad_payer_kick(struct umad_payer *payer)
{
	bool pending;

	lockdep_assert_held(&payer->lock);

	refcount_inc(&payer->refs);
	if (payer->used > UMAD_BUDGET_KEPT / 2)
		pending = mod_delayed_work(umad_payer_wq, &payer->work, 0);
	else
		pending = !queue_delayed_work(umad_payer_wq, &payer->work,
					      UMAD_MOVE_DELAY);
	/* Never the last one, as a descriptor has one, too */
	if (pending)
		refcount_dec(&payer->refs);
}

static struct umad_payer *umad_payer_find(const struct mem_cgroup *memcg)
{
	struct umad_payer *payer;

	lockdep_assert_held(&umad_payers_lock);

	list_for_each_entry(payer, &umad_payers, list)
		if (payer->memcg == memcg && refcount_inc_not_zero(&payer->refs))
			return payer;
	return NULL;
}

static struct umad_payer *umad_payer_new(struct mem_cgroup *memcg)
{
	struct umad_payer *payer;

	lockdep_assert_held(&umad_payers_lock);

	payer = kzalloc_obj(*payer, GFP_KERNEL_ACCOUNT);
	if (!payer)
		return NULL;
	refcount_set(&payer->refs, 1);
	payer->memcg = memcg;
	spin_lock_init(&payer->lock);
	INIT_LIST_HEAD(&payer->kept);
	INIT_DELAYED_WORK(&payer->work, umad_payer_work);
	list_add(&payer->list, &umad_payers);
	return payer;
}

/**
 * umad_payer_get - who pays for what the current process opens
 *
 * Context: process context.
 * Return: the payer, one for each memory cgroup, or NULL if there is no memory.
 */
struct umad_payer *umad_payer_get(void)
{
	struct mem_cgroup *memcg = get_mem_cgroup_from_mm(current->mm);
	struct umad_payer *payer;
	bool found;

	mutex_lock(&umad_payers_lock);
	payer = umad_payer_find(memcg);
	found = payer;
	if (!found)
		payer = umad_payer_new(memcg);
	mutex_unlock(&umad_payers_lock);

	if (found || !payer)
		mem_cgroup_put(memcg);
	return payer;
}

static size_t umad_kept_size(const struct umad_kept *kept, size_t len)
{
	size_t segs = DIV_ROUND_UP(len - kept->skip, kept->seg_size - kept->skip);

	return segs * roundup_pow_of_two(kept->seg_size + UMAD_SEGMENT_OVERHEAD);
}

/**
 * umad_payer_keep - keep a message in the buffers it came in
 * @payer: who pays
 * @packet: what is to have it; its lengths are known
 * @recv_wc: the message; its buffers are the packet's on success
 *
 * Context: a receive handler; the time does not depend on the length.
 * Return: true, or false if the budget is spent.
 */
bool umad_payer_keep(struct umad_payer *payer, struct umad_packet *packet,
		     struct ib_mad_recv_wc *recv_wc)
{
	u8 class = recv_wc->recv_buf.mad->mad_hdr.mgmt_class;
	struct umad_kept *kept = umad_packet_kept(packet);
	bool room;

	*kept = (struct umad_kept){
		.seg_size	= recv_wc->mad_seg_size,
		.skip		= ib_get_mad_data_offset(class),
	};
	kept->size = umad_kept_size(kept, recv_wc->mad_len);
	INIT_LIST_HEAD(&kept->segs);
	INIT_LIST_HEAD(&kept->entry);

	spin_lock(&payer->lock);
	room = !payer->used || payer->used + kept->size <= UMAD_BUDGET_KEPT;
	if (room)
		payer->used += kept->size;
	spin_unlock(&payer->lock);

	if (room)
		list_splice_init(&recv_wc->rmpp_list, &kept->segs);
	return room;
}

/**
 * umad_payer_give_back - undo umad_payer_keep()
 * @payer: who pays
 * @packet: what has the message, and was not offered
 * @recv_wc: gets its buffers back
 */
void umad_payer_give_back(struct umad_payer *payer, struct umad_packet *packet,
			  struct ib_mad_recv_wc *recv_wc)
{
	list_splice_init(&umad_packet_kept(packet)->segs, &recv_wc->rmpp_list);
	umad_payer_release(payer, packet);
	packet->kept = false;
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
	list_add_tail(&umad_packet_kept(packet)->entry, &payer->kept);
	umad_payer_kick(payer);
	spin_unlock(&payer->lock);
}

/**
 * umad_payer_read - have a kept message stay as it is
 * @payer: who pays
 * @packet: the message, owned by the caller
 * @reading: whether from now on, or not any more
 */
void umad_payer_read(struct umad_payer *payer, struct umad_packet *packet,
		     bool reading)
{
	struct umad_kept *kept = umad_packet_kept(packet);

	spin_lock(&payer->lock);
	kept->reading = reading;
	if (reading)
		list_del_init(&kept->entry);
	else if (!kept->copy && !kept->moving)
		list_add(&kept->entry, &payer->kept);
	spin_unlock(&payer->lock);
}

/**
 * umad_payer_release - give back what a kept message takes of the budget
 * @payer: who pays
 * @packet: the message, owned by the caller
 *
 * Return: true, or false if it is being moved: then it is freed when that is
 * over, and not to be touched any more.
 */
bool umad_payer_release(struct umad_payer *payer, struct umad_packet *packet)
{
	struct umad_kept *kept = umad_packet_kept(packet);
	bool moving;

	spin_lock(&payer->lock);
	list_del_init(&kept->entry);
	payer->used -= kept->size;
	kept->size = 0;
	moving = kept->moving;
	kept->dead = moving;
	spin_unlock(&payer->lock);

	return !moving;
}

/**
 * umad_payer_beyond - go beyond the cgroup's limit for a packet
 * @payer: who pays
 *
 * Return: true if that may be, until it is undone by decrementing
 * umad_payer.beyond.
 */
bool umad_payer_beyond(struct umad_payer *payer)
{
	return atomic_add_unless(&payer->beyond, 1, UMAD_BUDGET_BEYOND);
}

/**
 * umad_payers_init - prepare for payers
 *
 * Return: 0 or -ENOMEM.
 */
int __init umad_payers_init(void)
{
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
