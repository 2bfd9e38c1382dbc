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
 * struct madsim_owner - a user with open contexts of any device; madsim_owners_lock
 * @list:	on madsim_owners
 * @uid:	immutable
 * @users:	of how many devices
 * @bytes:	memory of the kernel that the user has
 */
struct madsim_owner {
	struct list_head list;
	kuid_t uid;
	u32 users;
	u64 bytes;
};

static LIST_HEAD(madsim_owners);
static u64 madsim_owned;	/* bytes that all owners have together */
static DEFINE_SPINLOCK(madsim_owners_lock);

/**
 * struct madsim_user - a user with open contexts of a device; fabric->lock
 * @list:	on dev->users
 * @owner:	immutable
 * @contexts:	how many there are. Each thing that the user has belongs to one
 * @reserved:	what the user has reserved of each share
 */
struct madsim_user {
	struct list_head list;
	struct madsim_owner *owner;
	u32 contexts;
	u32 reserved[MADSIM_SHARES];
};

/*
 * Who the current process is for the host. In a namespace of users that is who has made the
 * outermost one, or its first user if root has: root makes many.
 */
static kuid_t madsim_owner_uid(void)
{
	struct user_namespace *ns = current_user_ns();
	kuid_t uid = current_uid();

	for (; ns->parent; ns = ns->parent)
		uid = uid_eq(ns->owner, GLOBAL_ROOT_UID) ? make_kuid(ns, 0) : ns->owner;
	return uid;
}

static struct madsim_owner *madsim_owner_find(kuid_t uid)
{
	struct madsim_owner *owner;

	list_for_each_entry(owner, &madsim_owners, list) {
		if (uid_eq(owner->uid, uid))
			return owner;
	}
	return NULL;
}

static struct madsim_owner *madsim_owner_get(void)
{
	struct madsim_owner *owner, *new;

	new = kzalloc_obj(*new, GFP_KERNEL_ACCOUNT);
	if (!new)
		return NULL;
	new->uid = madsim_owner_uid();

	spin_lock(&madsim_owners_lock);
	owner = madsim_owner_find(new->uid);
	if (!owner) {
		owner = new;
		new = NULL;
		list_add(&owner->list, &madsim_owners);
	}
	owner->users++;
	spin_unlock(&madsim_owners_lock);
	kfree(new);
	return owner;
}

static void madsim_owner_put(struct madsim_owner *owner)
{
	bool last;

	spin_lock(&madsim_owners_lock);
	last = !--owner->users;
	if (last)
		list_del(&owner->list);
	spin_unlock(&madsim_owners_lock);
	if (last)
		kfree(owner);
}

static struct madsim_user *madsim_user_find(struct madsim_dev *dev,
					    const struct madsim_owner *owner)
{
	struct madsim_user *user;

	list_for_each_entry(user, &dev->users, list) {
		if (user->owner == owner)
			return user;
	}
	return NULL;
}

/* Let the user of the current process have another context. NULL: there is no memory */
struct madsim_user *madsim_user_get(struct madsim_dev *dev)
{
	struct madsim_fabric *fabric = dev->node->fabric;
	struct madsim_user *user, *new;
	struct madsim_owner *owner;

	new = kzalloc_obj(*new, GFP_KERNEL_ACCOUNT);
	if (!new)
		return NULL;
	owner = madsim_owner_get();
	if (!owner) {
		kfree(new);
		return NULL;
	}
	new->owner = owner;

	spin_lock_irq(&fabric->lock);
	user = madsim_user_find(dev, owner);
	if (!user) {
		user = new;
		list_add(&user->list, &dev->users);
	}
	user->contexts++;
	spin_unlock_irq(&fabric->lock);
	if (user != new) {
		madsim_owner_put(owner);
		kfree(new);
	}
	return user;
}

/* Undo madsim_user_get(). Nothing belongs to the context any more */
void madsim_user_put(struct madsim_dev *dev, struct madsim_user *user)
{
	struct madsim_fabric *fabric = dev->node->fabric;
	bool last;

	spin_lock_irq(&fabric->lock);
	last = !--user->contexts;
	if (last)
		list_del(&user->list);
	spin_unlock_irq(&fabric->lock);
	if (!last)
		return;
	madsim_owner_put(user->owner);
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
	struct madsim_owner *owner;
	bool allowed;

	if (!user)
		return true;
	owner = user->owner;
	spin_lock(&madsim_owners_lock);
	allowed = owner->bytes + madsim_owned + 2 * bytes <= all;
	if (allowed) {
		owner->bytes += bytes;
		madsim_owned += bytes;
	}
	spin_unlock(&madsim_owners_lock);
	return allowed;
}

void madsim_user_uncharge(struct madsim_user *user, u64 bytes)
{
	if (!user)
		return;
	spin_lock(&madsim_owners_lock);
	user->owner->bytes -= bytes;
	madsim_owned -= bytes;
	spin_unlock(&madsim_owners_lock);
}
