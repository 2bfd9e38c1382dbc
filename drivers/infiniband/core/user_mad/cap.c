// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The cap limits memory that user space makes the host hold and no memory cgroup is charged
 * for: agents, received RMPP messages, and MADs that arrive for a cgroup without room.
 *
 * Descriptors share it by owners. The owner of a descriptor is the outermost cgroup with a
 * limit around its opener, or else the user who made the outermost user namespace, or else
 * the user. So a container is one owner, whatever users and cgroups it makes.
 */
#include <linux/cred.h>
#include <linux/hash.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/page_counter.h>
#include <linux/user_namespace.h>

#include "user_mad.h"

/* Owners are told apart by a hash: of 4,096, two have one share together by chance */
#define UMAD_OWNER_BITS	12

static DEFINE_SPINLOCK(umad_cap_lock);	/* what follows, and umad_file.cap_bytes */
static u64 umad_owners_cap_bytes[1 << UMAD_OWNER_BITS];
static u64 umad_all_cap_bytes;

/* How much memory one descriptor may have outstanding, or one owner may hold, in bytes */
size_t umad_memory_share(void)
{
	return min_t(u64, SZ_1G, (u64)totalram_pages() << PAGE_SHIFT >> 3);
}

/*
 * An owner gets more while it holds no more than a share, less half of what other owners
 * hold. Of that, a descriptor gets more while it holds no more than it leaves to the other
 * descriptors of its owner. So all owners together hold less than two shares, and each
 * newcomer gets some. Callers charge before they allocate.
 */
bool umad_cap_charge(struct umad_file *file, size_t len)
{
	u64 share = umad_memory_share(), others;
	bool room;

	spin_lock(&umad_cap_lock);
	others = umad_all_cap_bytes - *file->owner_cap_bytes;
	room = file->cap_bytes + *file->owner_cap_bytes + 2 * (u64)len + others / 2 <= share;
	if (room) {
		file->cap_bytes += len;
		*file->owner_cap_bytes += len;
		umad_all_cap_bytes += len;
	}
	spin_unlock(&umad_cap_lock);
	return room;
}

void umad_cap_uncharge(struct umad_file *file, size_t len)
{
	spin_lock(&umad_cap_lock);
	file->cap_bytes -= len;
	*file->owner_cap_bytes -= len;
	umad_all_cap_bytes -= len;
	spin_unlock(&umad_cap_lock);
}

/* Finds the owner of a file that the current process opens, which has its umad_file.memcg */
void umad_cap_init(struct umad_file *file)
{
	struct user_namespace *ns = current_user_ns();
	struct mem_cgroup __maybe_unused *memcg;
	kuid_t user = current_uid();
	unsigned long key;

	for (; ns != &init_user_ns; ns = ns->parent)
		user = ns->owner;
	key = __kuid_val(user);
#ifdef CONFIG_MEMCG
	for (memcg = file->memcg; memcg; memcg = parent_mem_cgroup(memcg))
		if (READ_ONCE(memcg->memory.max) != PAGE_COUNTER_MAX)
			key = (unsigned long)memcg;
#endif
	file->owner_cap_bytes = &umad_owners_cap_bytes[hash_long(key, UMAD_OWNER_BITS)];
}
