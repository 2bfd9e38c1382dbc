// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The shares of users in the queue pairs and memberships of a device.
 *
 * Some are the kernel's, so that no program takes those that IPoIB needs. Of the rest a
 * user may have as many as are left: one user alone gets a half at most, and the next
 * user half of the remainder.
 */

#include <linux/cred.h>
#include <linux/slab.h>

#include "verbs.h"

/* All that programs together may have */
static const u32 madsim_shares[MADSIM_SHARES] = {
	[MADSIM_SHARE_QP] = MADSIM_MAX_QP - MADSIM_KERNEL_QP,
	[MADSIM_SHARE_MEMBER] = MADSIM_MAX_MEMBERS - MADSIM_KERNEL_MEMBERS,
};

/**
 * struct madsim_user - a user with open contexts of a device; fabric->lock
 * @list:	on dev->users
 * @uid:	immutable
 * @contexts:	how many there are. Each thing that the user has belongs to one
 * @has:	how much the user has
 */
struct madsim_user {
	struct list_head list;
	kuid_t uid;
	u32 contexts;
	u32 has[MADSIM_SHARES];
};

static struct madsim_user *madsim_user_find(struct madsim_dev *dev, kuid_t uid)
{
	struct madsim_user *user;

	list_for_each_entry(user, &dev->users, list) {
		if (uid_eq(user->uid, uid))
			return user;
	}
	return NULL;
}

/**
 * madsim_user_get - let a user have another context
 * @dev: of which device
 *
 * Context: process context of a program of that user.
 * Return: the user, or NULL if there is no memory.
 */
struct madsim_user *madsim_user_get(struct madsim_dev *dev)
{
	struct madsim_fabric *fabric = dev->node->fabric;
	struct madsim_user *user, *new;

	new = kzalloc_obj(*new, GFP_KERNEL_ACCOUNT);
	if (!new)
		return NULL;
	new->uid = current_uid();

	spin_lock_irq(&fabric->lock);
	user = madsim_user_find(dev, new->uid);
	if (!user) {
		user = new;
		new = NULL;
		list_add(&user->list, &dev->users);
	}
	user->contexts++;
	spin_unlock_irq(&fabric->lock);
	kfree(new);
	return user;
}

/**
 * madsim_user_put - undo madsim_user_get()
 * @dev: the device
 * @user: the user, whose context has nothing any more
 *
 * Context: process context.
 */
void madsim_user_put(struct madsim_dev *dev, struct madsim_user *user)
{
	struct madsim_fabric *fabric = dev->node->fabric;
	bool last;

	spin_lock_irq(&fabric->lock);
	last = !--user->contexts;
	if (last)
		list_del(&user->list);
	spin_unlock_irq(&fabric->lock);
	if (last)
		kfree(user);
}

/**
 * madsim_user_take - count what a user gets, if that is not too much
 * @dev: of which device
 * @user: the user, or NULL for the kernel, which has no limit here
 * @share: of what
 *
 * Context: any; fabric->lock is held.
 * Return: whether the user may have it.
 */
bool madsim_user_take(struct madsim_dev *dev, struct madsim_user *user,
		      enum madsim_share share)
{
	lockdep_assert_held(&dev->node->fabric->lock);

	if (!user)
		return true;
	if (user->has[share] + dev->taken[share] >= madsim_shares[share])
		return false;
	user->has[share]++;
	dev->taken[share]++;
	return true;
}

/**
 * madsim_user_give - undo madsim_user_take()
 * @dev: the device
 * @user: the user, or NULL for the kernel
 * @share: of what
 *
 * Context: any; fabric->lock is held.
 */
void madsim_user_give(struct madsim_dev *dev, struct madsim_user *user,
		      enum madsim_share share)
{
	lockdep_assert_held(&dev->node->fabric->lock);

	if (!user)
		return;
	user->has[share]--;
	dev->taken[share]--;
}
