// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "cgroup.h"

int umad_cgroup_put(const char *dir, const char *name, const char *value)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return umad_sysfs_write(path, value);
}

long umad_cgroup_charged(const struct umad_cgroup *group)
{
	char text[32];

	return umad_sysfs_read(text, sizeof(text), "%s/memory.current",
			       group->path) ? -1 : atol(text);
}

static long value_of(const struct umad_cgroup *group, const char *file, const char *name)
{
	char path[128], line[32];

	snprintf(path, sizeof(path), "%s/%s", group->path, file);
	snprintf(line, sizeof(line), "%s ", name);
	return umad_line_value(path, line);
}

/* How often the group was over its limit for good: "oom", or "oom_kill" */
long umad_cgroup_events(const struct umad_cgroup *group, const char *name)
{
	return value_of(group, "memory.events", name);
}

/* How many of its pages the kernel has looked at, to reclaim them */
long umad_cgroup_scanned(const struct umad_cgroup *group)
{
	return value_of(group, "memory.stat", "pgscan");
}

/* The calling process joins it */
int umad_cgroup_join(const struct umad_cgroup *group)
{
	return umad_cgroup_put(group->path, "cgroup.procs", "0");
}

/* ... and gives back what it is for */
int umad_cgroup_leave(void)
{
	return umad_sysfs_write(UMAD_CGROUP_ROOT "/cgroup.procs", "0");
}

int umad_cgroup_limit(const struct umad_cgroup *group, long bytes)
{
	char text[32];

	snprintf(text, sizeof(text), "%ld", bytes);
	return umad_cgroup_put(group->path, "memory.max", text);
}

/* When all processes in it have been waited for */
void umad_cgroup_remove(const struct umad_cgroup *group)
{
	int i;

	for (i = 0; i < 50 && rmdir(group->path) && errno == EBUSY; i++)
		umad_sleep_ms(20);
}

long umad_cap(void)
{
	long cap = umad_meminfo("MemTotal:") / 8;

	return cap < 1L << 30 ? cap : 1L << 30;
}
