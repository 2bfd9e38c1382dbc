// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <limits.h>

#include "fail_nth.h"

#define ALWAYS		1000000	/* a fault that no call meets */

static const char *const fault_dirs[] = {
	"failslab", "fail_page_alloc", "fail_usercopy",
};

static int fault_put(const char *dir, const char *name, const char *value)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/kernel/debug/%s/%s", dir, name);
	return umad_sysfs_write(path, value);
}

int fault_put_all(const char *name, const char *value)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; i < ARRAY_SIZE(fault_dirs); i++)
		ret |= fault_put(fault_dirs[i], name, value);
	return ret;
}

static int fault_put_address(const char *name, __u64 address)
{
	char text[32];

	snprintf(text, sizeof(text), "0x%llx", (unsigned long long)address);
	return fault_put_all(name, text);
}

/* Only what is called from code between these addresses shall fail */
int fault_within(__u64 start, __u64 end)
{
	return fault_put_address("require-start", start) | fault_put_address("require-end", end);
}

/* What is called from code between these addresses shall not fail */
int fault_not_within(__u64 start, __u64 end)
{
	return fault_put_address("reject-start", start) | fault_put_address("reject-end", end);
}

int fault_anywhere(void)
{
	return fault_put_all("stacktrace-depth", "32") |
	       fault_within(0, ULONG_MAX) | fault_not_within(0, 0);
}

/* Whether this kernel can do all that */
bool fault_init(void)
{
	return !access("/proc/thread-self/fail-nth", W_OK) &&
	       !fault_put_all("verbose", "0") &&
	       !fault_put("failslab", "ignore-gfp-wait", "N") &&
	       !fault_put("fail_page_alloc", "ignore-gfp-wait", "N") &&
	       !fault_put("fail_page_alloc", "ignore-gfp-highmem", "N") &&
	       !fault_put("fail_page_alloc", "min-order", "0") &&
	       !fault_anywhere();
}

/* Where the code of @module is, or that of the function @name */
int fault_find(const char *module, const char *name, __u64 *start, __u64 *end)
{
	char line[512], sym[256], mod[128];
	unsigned long long at;
	bool found = false;
	FILE *file;
	char type;
	int n;

	*start = ULONG_MAX;
	*end = 0;
	file = fopen("/proc/kallsyms", "r");
	if (!file)
		return -1;
	while (fgets(line, sizeof(line), file)) {
		mod[0] = 0;
		n = sscanf(line, "%llx %c %255s [%127[^]]", &at, &type, sym, mod);
		if (n < 3 || strcmp(mod, module ?: ""))
			continue;
		if (module) {
			if (type != 't' && type != 'T')
				continue;
			found = true;
			if (at < *start)
				*start = at;
			/* The last function has some length, too */
			if (at + 4096 > *end)
				*end = at + 4096;
		} else if (found && at > *start) {
			*end = at;
			break;
		} else if (!strcmp(sym, name)) {
			found = true;
			*start = at;
		}
	}
	fclose(file);
	return found && *end ? 0 : -1;
}

int fault_set(const struct fault *fault, unsigned int nth)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", nth);

	/* Reading the number may be what fails */
	return pwrite(fault->fd, text, len, 0) == len ||
	       pwrite(fault->fd, text, len, 0) == len ? 0 : -1;
}

/* Whether the fault struck since it was set; from now on none does */
bool fault_clear(const struct fault *fault)
{
	char text[16] = "";
	ssize_t n;

	/* If writing the answer is what fails, nothing did before */
	n = pread(fault->fd, text, sizeof(text), 0);
	fault_set(fault, 0);
	return n > 0 && !strcmp(text, "0\n");
}

bool fault_next(struct fault *fault)
{
	if (fault->nth && !fault->struck)
		return false;
	fault->nth++;
	fault->struck = false;
	return true;
}

/*
 * Receiving happens in a worker of the kernel, where fail-nth does not reach.
 * There the next allocations that are called from our module fail, @times of them
 * or all if -1; this thread is spared by a fault far away.
 */
int fault_elsewhere(const struct fault *fault, int times)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", times);
	return fault_put("failslab", "times", text) |
	       fault_put("failslab", "probability", "100") | fault_set(fault, ALWAYS);
}

/* Whether there were all of them */
bool fault_nowhere(const struct fault *fault)
{
	char times[16] = "";

	fault_set(fault, 0);
	fault_put("failslab", "probability", "0");
	umad_sysfs_read(times, sizeof(times), "/sys/kernel/debug/failslab/times");
	return !strcmp(times, "0");
}

/* Only what is called from umad, a module */
int fault_within_umad(void)
{
	__u64 start, end;

	return fault_find("ib_umad", NULL, &start, &end) || fault_within(start, end) ? -1 : 0;
}

/* Reads whatever comes until nothing is outstanding; returns how many */
int fault_settle(const struct umad_file *a, const struct umad_file *b)
{
	long long end = umad_now_ms() + UMAD_SOON_MS;
	static __u8 buf[1 << 16];
	int n = 0;

	for (;;) {
		bool idle = !umad_fdinfo(a, "umad-outstanding") &&
			    !umad_fdinfo(b, "umad-outstanding");

		while (read(a->fd, buf, sizeof(buf)) > 0)
			n++;
		while (read(b->fd, buf, sizeof(buf)) > 0)
			n++;
		if (idle || umad_now_ms() > end)
			return n;
		umad_sleep_ms(1);
	}
}
