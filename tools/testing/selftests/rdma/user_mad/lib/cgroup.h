/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A memory cgroup to put a process into, and to see what it is charged for.
 */
#ifndef UMAD_CGROUP_H
#define UMAD_CGROUP_H

#include <sched.h>
#include <sys/mount.h>

#include "utils.h"

struct umad_cgroup {
	char path[64];
};

int umad_cgroup_put(const char *dir, const char *name, const char *value);
long umad_cgroup_charged(const struct umad_cgroup *group);
long umad_cgroup_events(const struct umad_cgroup *group, const char *name);
int umad_cgroup_join(const struct umad_cgroup *group);
int umad_cgroup_limit(const struct umad_cgroup *group, long bytes);
int umad_cgroup_throttle(const struct umad_cgroup *group, long bytes);

/* If there is nothing to read for umad_cgroup_charged() */
#define UMAD_NO_CGROUP	"no memory controller in the cgroup2 hierarchy"

/* In a mount namespace of its own, so that nothing is left behind but a group */
#define umad_cgroup_make(group) do {					\
	static const char __root[] = "/sys/fs/cgroup";			\
									\
	ASSERT_EQ(0, unshare(CLONE_NEWNS));				\
	ASSERT_EQ(0, mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL)); \
	/* EBUSY: it is there already */				\
	if (mount("none", __root, "cgroup2", 0, NULL))			\
		ASSERT_EQ(EBUSY, errno)					\
			TH_LOG("cgroup2: %s", strerror(errno));		\
	umad_cgroup_put(__root, "cgroup.subtree_control", "+memory");	\
	snprintf((group)->path, sizeof((group)->path), "%s/umad-%d",	\
		 __root, getpid());					\
	ASSERT_EQ(0, mkdir((group)->path, 0700));			\
} while (0)

void umad_cgroup_remove(const struct umad_cgroup *group);

#endif /* UMAD_CGROUP_H */
