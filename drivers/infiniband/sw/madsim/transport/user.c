// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The shares of users in what a device has, and in the memory that all devices take.
 *
 * Some queue pairs, regions and memberships are the kernel's, so that no program takes those
 * that IPoIB or NVMe need. The memory of programs' queues, regions and address handles is
 * limited in all. Of the rest a user may have as much as is left: one user alone gets a half at
 * most, and the next user half of the remainder.
 *
 * A container may have many users of its own. They are one here.
 */

#include <linux/cred.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>

#include "transport.h"

/* Of the host's memory, for programs */
#define MADSIM_MEMORY_SHARE	8

/* All that programs together may have */
static const u32 madsim_shares[MADSIM_SHARES] = {
	[MADSIM_SHARE_QP] = MADSIM_MAX_QP - MADSIM_KERNEL_QP,
	[MADSIM_SHARE_MEMBER] = MADSIM_MAX_MEMBERS - MADSIM_KERNEL_MEMBERS,
	[MADSIM_SHARE_MR] = MADSIM_MAX_MR - MADSIM_KERNEL_MR,
};

/**
 * struct madsim_user - a user with open contexts of a device; madsim_users_lock
 * @list:	on madsim_users
 * @dev:	immutable
 * @uid:	immutable; as the host sees the user
 * @contexts:	how many there are. Each thing that the user has belongs to one
 * @bytes:	memory of the kernel that the user has
 * @reserved:	what the user has reserved of each share; fabric->lock
 */
struct madsim_user {
	struct list_head list;
	struct madsim_dev *dev;
	kuid_t uid;
	u32 contexts;
	u64 bytes;
	u32 reserved[MADSIM_SHARES];
};

static LIST_HEAD(madsim_users);
static u64 madsim_users_bytes;	/* of all users together */
static DEFINE_SPINLOCK(madsim_users_lock);

/*
 * The user of the current process, as the host sees the user. In namespaces of users this is the
 * maker of the outermost one, or its first user if root has made it: root makes many.
 */
static kuid_t madsim_user_uid(void)
{
	struct user_namespace *ns = current_user_ns();
	kuid_t uid = current_uid();

	for (; ns->parent; ns = ns->parent)
		uid = uid_eq(ns->owner, GLOBAL_ROOT_UID) ? make_kuid(ns, 0) : ns->owner;
	return uid;
}

static struct madsim_user *madsim_user_find(const struct madsim_dev *dev, kuid_t uid)
{
	struct madsim_user *user;

	list_for_each_entry(user, &madsim_users, list) {
		if (user->dev == dev && uid_eq(user->uid, uid))
			return user;
	}
	return NULL;
}

/* Let the user of the current process have another context. NULL: there is no memory */
struct madsim_user *madsim_user_get(struct madsim_dev *dev)
{
	struct madsim_user *user, *new;

	new = kzalloc_obj(*new, GFP_KERNEL_ACCOUNT);
	if (!new)
		return NULL;
	new->dev = dev;
	new->uid = madsim_user_uid();

	spin_lock(&madsim_users_lock);
	user = madsim_user_find(dev, new->uid);
	if (!user) {
		user = new;
		new = NULL;
		list_add(&user->list, &madsim_users);
	}
	user->contexts++;
	spin_unlock(&madsim_users_lock);
	kfree(new);
	return user;
}

/* Undo madsim_user_get(). Nothing belongs to the context any more */
void madsim_user_put(struct madsim_user *user)
{
	bool last;

	spin_lock(&madsim_users_lock);
	last = !--user->contexts;
	if (last)
		list_del(&user->list);
	spin_unlock(&madsim_users_lock);
	if (last)
		kfree(user);
}

/* Reserve one of a share for a user, if that is not too much. NULL: the kernel, without a limit */
bool madsim_user_reserve(struct madsim_dev *dev, struct madsim_user *user, enum madsim_share share)
{
	lockdep_assert_held(&dev->node->fabric->lock);

	if (!user)
		return true;
	if (user->reserved[share] + dev->reserved[share] >= madsim_shares[share])
		return false;
	user->reserved[share]++;
	dev->reserved[share]++;
	return true;
}

/* Undo madsim_user_reserve(). fabric->lock is held */
void madsim_user_release(struct madsim_dev *dev, struct madsim_user *user, enum madsim_share share)
{
	lockdep_assert_held(&dev->node->fabric->lock);

	if (!user)
		return;
	user->reserved[share]--;
	dev->reserved[share]--;
}

/**
 * madsim_place_alloc - give a user a place in an array of what a device has
 * @dev: the device
 * @user: the user, or NULL for the kernel
 * @share: of what; the caller has madsim_user_release() to undo this
 * @places: the array, whose entry at the place is for the caller to store
 * @max: length of the array
 * @next: where the search begins: no place is used again before all others were
 * @place: becomes the place
 *
 * Context: process context.
 * Return: 0, -ENOMEM, or -ENOSPC if all is taken, or the user must not have more.
 */
int madsim_place_alloc(struct madsim_dev *dev, struct madsim_user *user, enum madsim_share share,
		       struct xarray *places, u32 max, u32 *next, u32 *place)
{
	struct madsim_fabric *fabric = dev->node->fabric;
	bool allowed;
	int ret;

	spin_lock_irq(&fabric->lock);
	allowed = madsim_user_reserve(dev, user, share);
	spin_unlock_irq(&fabric->lock);
	if (!allowed)
		return -ENOSPC;
	ret = xa_alloc_cyclic(places, place, NULL, XA_LIMIT(0, max - 1), next, GFP_KERNEL);
	if (ret >= 0)
		return 0;
	spin_lock_irq(&fabric->lock);
	madsim_user_release(dev, user, share);
	spin_unlock_irq(&fabric->lock);
	return ret == -EBUSY ? -ENOSPC : ret;
}

/* The memory that a user has by all devices */
static u64 madsim_user_bytes(const struct madsim_user *user)
{
	const struct madsim_user *other;
	u64 bytes = 0;

	list_for_each_entry(other, &madsim_users, list) {
		if (uid_eq(other->uid, user->uid))
			bytes += other->bytes;
	}
	return bytes;
}

/**
 * madsim_user_charge - count memory that a user is going to get, if that is not too much
 * @user: the user, or NULL for the kernel, which has no limit here
 * @bytes: how much
 *
 * A cgroup is charged for most of this memory, too, but not every user has a limit there.
 *
 * Context: process context.
 * Return: whether the user may have it.
 */
bool madsim_user_charge(struct madsim_user *user, u64 bytes)
{
	u64 all = ((u64)totalram_pages() << PAGE_SHIFT) / MADSIM_MEMORY_SHARE;
	bool allowed;

	if (!user)
		return true;
	spin_lock(&madsim_users_lock);
	allowed = madsim_user_bytes(user) + madsim_users_bytes + 2 * bytes <= all;
	if (allowed) {
		user->bytes += bytes;
		madsim_users_bytes += bytes;
	}
	spin_unlock(&madsim_users_lock);
	return allowed;
}

void madsim_user_uncharge(struct madsim_user *user, u64 bytes)
{
	if (!user)
		return;
	spin_lock(&madsim_users_lock);
	user->bytes -= bytes;
	madsim_users_bytes -= bytes;
	spin_unlock(&madsim_users_lock);
}
