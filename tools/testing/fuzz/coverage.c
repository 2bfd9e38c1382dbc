// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Which points of a module a program reaches: KCOV, as far as it lies in the
 * text of the module. What runs in a worker of the kernel is not seen.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <linux/kcov.h>

#include "fuzz.h"

#define POINTS		262144	/* in one run */
#define TEXT		1048576		/* bytes of a module, at most */

static unsigned long *trace;
static unsigned long text, text_size;
static bool seen[TEXT];		/* ever */
static uint32_t last[TEXT];	/* number of the last run to reach it */
static uint32_t run;
static uint32_t reached[TEXT];	/* by the last run */
static size_t count, total;

static int read_address(const char *path, unsigned long *address)
{
	FILE *f = fopen(path, "r");
	int n = 0;

	if (f) {
		n = fscanf(f, "%lx", address);
		fclose(f);
	}
	return n == 1 ? 0 : -1;
}

/* It ends where that of another module begins, which may be instrumented, too */
static int module_text(const char *module)
{
	unsigned long other;
	char path[256];
	glob_t all;

	snprintf(path, sizeof(path), "/sys/module/%s/sections/.text", module);
	if (read_address(path, &text)) {
		fprintf(stderr, "%s: cannot read it; is %s a loaded module?\n", path, module);
		return -1;
	}

	text_size = TEXT;
	if (glob("/sys/module/*/sections/.text", 0, NULL, &all))
		return -1;
	for (size_t i = 0; i < all.gl_pathc; i++)
		if (!read_address(all.gl_pathv[i], &other) && other > text &&
		    other - text < text_size)
			text_size = other - text;
	globfree(&all);
	return 0;
}

int coverage_init(const char *module)
{
	int fd;

	if (module_text(module))
		return -1;
	fd = open("/sys/kernel/debug/kcov", O_RDWR | O_CLOEXEC);
	if (fd < 0 || ioctl(fd, KCOV_INIT_TRACE, POINTS)) {
		fprintf(stderr, "/sys/kernel/debug/kcov: %s; the kernel needs CONFIG_KCOV\n",
			strerror(errno));
		return -1;
	}
	trace = mmap(NULL, POINTS * sizeof(*trace), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (trace == MAP_FAILED || ioctl(fd, KCOV_ENABLE, KCOV_TRACE_PC)) {
		fprintf(stderr, "KCOV cannot be used: %s\n", strerror(errno));
		return -1;
	}
	return 0;
}

void coverage_begin(void)
{
	__atomic_store_n(&trace[0], 0, __ATOMIC_RELAXED);
}

void coverage_end(void)
{
	unsigned long n = __atomic_load_n(&trace[0], __ATOMIC_RELAXED);

	run++;
	count = 0;
	for (unsigned long i = 1; i <= n && i < POINTS; i++) {
		/* Huge if it lies before the text */
		unsigned long at = trace[i] - text;

		if (at < text_size && last[at] != run) {
			last[at] = run;
			reached[count++] = at;
		}
	}
}

/* Whether the last run called this function of the module, whose first point is near its begin */
bool coverage_called(const char *name)
{
	static unsigned long at = TEXT;
	static bool asked;
	char line[256], symbol[256];
	unsigned long address;

	for (FILE *f = asked ? NULL : fopen("/proc/kallsyms", "r"); f && fgets(line, 256, f);
	     asked = true)
		if (sscanf(line, "%lx %*c %s", &address, symbol) == 2 && !strcmp(symbol, name))
			at = address - text;
	for (int i = 0; i < 64; i++)
		if (at < text_size && last[at + i] == run)
			return true;
	return false;
}

/* Points that no program kept so far has reached, of the last run */
size_t coverage_new(uint32_t *new, size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i < count && n < max; i++)
		if (!seen[reached[i]])
			new[n++] = reached[i];
	return n;
}

/* Whether the last run reached them, too */
bool coverage_has(const uint32_t *points, size_t n)
{
	while (n--)
		if (last[points[n]] != run)
			return false;
	return true;
}

void coverage_keep(void)
{
	for (size_t i = 0; i < count; i++) {
		total += !seen[reached[i]];
		seen[reached[i]] = true;
	}
}

size_t coverage_total(void)
{
	return total;
}
