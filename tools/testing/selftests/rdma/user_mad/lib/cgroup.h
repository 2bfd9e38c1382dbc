/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A memory cgroup to put a process into, and to see what it is charged for */
#ifndef UMAD_CGROUP_H
#define UMAD_CGROUP_H

#include <sys/mount.h>

#include "utils.h"

#define UMAD_CGROUP_ROOT	"/sys/fs/cgroup"

#define MB			(1024 * 1024L)

struct umad_cgroup {
	char path[64];
};

int umad_cgroup_put(const char *dir, const char *name, const char *value);
long umad_cgroup_charged(const struct umad_cgroup *group);
long umad_cgroup_events(const struct umad_cgroup *group, const char *name);
long umad_cgroup_scanned(const struct umad_cgroup *group);
int umad_cgroup_join(const struct umad_cgroup *group);
int umad_cgroup_leave(void);
int umad_cgroup_limit(const struct umad_cgroup *group, long bytes);

#define UMAD_NO_CGROUP	"no memory controller in the cgroup2 hierarchy"

/*
 * In a mount namespace of its own: only the group is left behind. SKIP if there is no
 * memory controller.
 */
#define umad_cgroup_make(group) do {					\
	ASSERT_EQ(0, unshare(CLONE_NEWNS));				\
	ASSERT_EQ(0, mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL)); \
	/* EBUSY: it is there already */				\
	if (mount("none", UMAD_CGROUP_ROOT, "cgroup2", 0, NULL))	\
		ASSERT_EQ(EBUSY, errno)					\
			TH_LOG("cgroup2: %s", strerror(errno));		\
	umad_cgroup_put(UMAD_CGROUP_ROOT, "cgroup.subtree_control", "+memory"); \
	snprintf((group)->path, sizeof((group)->path),			\
		 UMAD_CGROUP_ROOT "/umad-%d", getpid());		\
	ASSERT_EQ(0, mkdir((group)->path, 0700));			\
	if (umad_cgroup_charged(group) < 0) {				\
		umad_cgroup_remove(group);				\
		SKIP(return, UMAD_NO_CGROUP);				\
	}								\
} while (0)

/* umad_open_agent() as if by a process in the group, which has left it after that */
#define umad_cgroup_agent(group, port, wanted, file) ({			\
	struct umad_reg __reg = wanted;					\
									\
	ASSERT_EQ(0, umad_cgroup_join(group));				\
	umad_open(port, O_RDWR | O_NONBLOCK, file);			\
	ASSERT_EQ(0, umad_cgroup_leave());				\
	umad_enable_pkey(file);						\
	umad_register(file, &__reg);					\
})

/*
 * The peer sends @count MADs that are not read, and now and then a Get to itself: when that is
 * back, what was sent before it has arrived.
 */
#define umad_flood(self, count) do {					\
	struct umad_msg __msg;						\
	int __i;							\
									\
	for (__i = 0; __i < (count); __i++) {				\
		__msg = umad_msg(&(self)->port, (self)->peer_id, MAD_SEND, __i); \
		umad_write(&(self)->peer, &__msg);			\
		if (__i % 32 && __i < (count) - 1)			\
			continue;					\
		__msg = umad_msg(&(self)->port, (self)->peer_id, MAD_GET, \
				 (count) + __i);			\
		umad_write(&(self)->peer, &__msg);			\
		umad_read(&(self)->peer, &__msg);			\
		EXPECT_EQ((count) + __i, (int)be64toh(__msg.mad.tid) & 0xffff); \
	}								\
} while (0)

/* Not one page more may be charged to it, and none of what it has can be reclaimed */
#define umad_cgroup_fill(group)						\
	ASSERT_EQ(0, umad_cgroup_limit(group, umad_cgroup_charged(group)))

void umad_cgroup_remove(const struct umad_cgroup *group);

/* The driver's memory that is charged to no group, for all descriptors of the host */
long umad_cap(void);

#endif /* UMAD_CGROUP_H */
