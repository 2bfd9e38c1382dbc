// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The cap: memory that user space makes the host hold and that no memory cgroup is
 * charged for, or could be without a neighbour being killed for it. That is every message
 * longer than a MAD, agents, and MADs that arrive for a cgroup without room.
 *
 * It is one for the host, as cgroups can be made at will. Each descriptor counts what it
 * holds of it.
 */
#include <linux/mm.h>
#include <linux/sizes.h>

#include "user_mad.h"

/* An eighth of the memory is enough for a message of 14 MiB on a host of 768 MiB */
#define UMAD_CAP_SHARE	8

static atomic_long_t umad_cap_used;
static long umad_cap_size;

void __init umad_cap_init(void)
{
	umad_cap_size = min_t(u64, SZ_1G, ((u64)totalram_pages() << PAGE_SHIFT) / UMAD_CAP_SHARE);
}

/*
 * Says no before anything is allocated. A descriptor gets more only while it holds no
 * more than is left for all others then. So the one that is not read cannot take all,
 * and a message may be as long as what is left.
 */
bool umad_cap_charge(struct umad_file *file, size_t len)
{
	long own = atomic_long_fetch_add(len, &file->held);
	long all = atomic_long_add_return(len, &umad_cap_used);

	if (own + all <= umad_cap_size)
		return true;
	umad_cap_uncharge(file, len);
	return false;
}

void umad_cap_uncharge(struct umad_file *file, size_t len)
{
	atomic_long_sub(len, &umad_cap_used);
	atomic_long_sub(len, &file->held);
}
