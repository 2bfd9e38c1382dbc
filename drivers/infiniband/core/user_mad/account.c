// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Accounts: what memory cgroups have that cannot be charged to them.
 *
 * All that user space can make us hold is charged to the cgroup of who opened the
 * descriptor, as long as there is room in it. Nothing is reclaimed for that, as
 * others wait. What there is no room for is counted instead, and so are the buffers
 * of received RMPP messages, which the MAD layer has allocated for nobody. What is
 * counted has a limit for each cgroup.
 */
#include <linux/memcontrol.h>
#include <linux/mutex.h>
#include <linux/page_counter.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "user_mad.h"

/* What the counted memory of an account may take */
#define UMAD_ACCOUNT_BUDGET	SZ_32M

static DEFINE_MUTEX(umad_accounts_lock);
static LIST_HEAD(umad_accounts);

/* Returns the account of a cgroup, with a reference. If there is none, it is @new */
static struct umad_account *umad_account_find(const struct mem_cgroup *memcg,
					      struct umad_account *new)
{
	struct umad_account *account;

	mutex_lock(&umad_accounts_lock);
	list_for_each_entry(account, &umad_accounts, list)
		if (account->memcg == memcg && refcount_inc_not_zero(&account->refs))
			goto unlock;
	account = new;
	if (new)
		list_add(&new->list, &umad_accounts);
unlock:
	mutex_unlock(&umad_accounts_lock);
	return account;
}

/* A cgroup may have to reclaim memory for it, so nothing is held */
static struct umad_account *umad_account_new(struct mem_cgroup *memcg)
{
	struct umad_account *account = kzalloc_obj(*account, GFP_KERNEL_ACCOUNT);

	/* Has lockdep report who waits for memory with the lock held */
	fs_reclaim_acquire(GFP_KERNEL);
	might_lock(&umad_accounts_lock);
	fs_reclaim_release(GFP_KERNEL);

	if (!account)
		return NULL;
	refcount_set(&account->refs, 1);
	account->memcg = memcg;
	spin_lock_init(&account->lock);
	return account;
}

/**
 * umad_account_get - the account of the current process
 *
 * Context: process context, with nothing held.
 * Return: the account, one for each memory cgroup, or NULL if there is no memory.
 */
struct umad_account *umad_account_get(void)
{
	struct mem_cgroup *memcg = get_mem_cgroup_from_mm(current->mm);
	struct umad_account *account, *new = NULL;

	account = umad_account_find(memcg, NULL);
	if (!account) {
		new = umad_account_new(memcg);
		account = umad_account_find(memcg, new);
	}
	/* The reference to the cgroup is that of the account, if it is a new one */
	if (!new || account != new) {
		mem_cgroup_put(memcg);
		kfree(new);
	}
	return account;
}

/**
 * umad_account_put - undo umad_account_get()
 * @account: the account; not to be touched any more
 *
 * Context: process context.
 */
void umad_account_put(struct umad_account *account)
{
	if (!refcount_dec_and_mutex_lock(&account->refs, &umad_accounts_lock))
		return;
	list_del(&account->list);
	mutex_unlock(&umad_accounts_lock);

	WARN_ON(account->counted || atomic_read(&account->agents));
	mem_cgroup_put(account->memcg);
	kfree(account);
}

/**
 * umad_account_room - whether much memory can be charged
 * @account: who pays
 * @len: how much, in bytes
 *
 * Whoever charges page by page until there is no more leaves none to the others in
 * the cgroup meanwhile, and they get killed for it. So what does not fit is not begun.
 * Page cache counts as taken, as nothing is reclaimed. Above memory.high whoever
 * allocates is made to sleep, and others may wait for him.
 *
 * Return: true if the cgroup, and those that it is in, have room for it now.
 */
bool umad_account_room(const struct umad_account *account, size_t len)
{
#ifdef CONFIG_MEMCG
	const struct page_counter *counter;

	if (!account->memcg)
		return true;
	for (counter = &account->memcg->memory; counter; counter = counter->parent)
		if (atomic_long_read(&counter->usage) + PFN_UP(len) >
		    min(READ_ONCE(counter->max), READ_ONCE(counter->high)))
			return false;
#endif
	return true;
}

/**
 * umad_account_take - count memory that is not charged
 * @account: who pays
 * @len: how much, in bytes
 * @all: only if there is room for all of it. If not, it is enough that the budget
 *	is not spent: the memory is there already, and no message is too long
 *
 * Context: process context; does not sleep.
 * Return: true, or false if there is no room in the budget.
 */
bool umad_account_take(struct umad_account *account, size_t len, bool all)
{
	bool room;

	spin_lock(&account->lock);
	room = account->counted < UMAD_ACCOUNT_BUDGET &&
	       (!all || len <= UMAD_ACCOUNT_BUDGET - account->counted);
	if (room)
		account->counted += len;
	spin_unlock(&account->lock);

	return room;
}

/**
 * umad_account_give - undo umad_account_take()
 * @account: who pays
 * @len: how much, in bytes
 *
 * Context: process context; does not sleep.
 */
void umad_account_give(struct umad_account *account, size_t len)
{
	spin_lock(&account->lock);
	account->counted -= len;
	spin_unlock(&account->lock);
}
