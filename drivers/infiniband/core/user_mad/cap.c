// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The cap limits memory that user space makes the host hold and no memory cgroup is charged
 * for: messages longer than a MAD, agents, and MADs that arrive for a cgroup without room.
 * It is one for the host, as a container can make cgroups at will. Each descriptor counts
 * its share.
 */
#include <linux/mm.h>

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
 * Callers charge before they allocate. A descriptor gets more only while it holds no more
 * than it leaves for all others. So a descriptor that is not read cannot take all, and a
 * message may be as long as what is left.
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
