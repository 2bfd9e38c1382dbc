// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <sys/mount.h>

#include "trace.h"

#define UMAD_TRACING	"/sys/kernel/tracing"

int umad_tracing_write(const struct umad_tracing *tracing, const char *file, const char *value)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", tracing->dir, file);
	return umad_sysfs_write(path, value);
}

int umad_tracing_start(struct umad_tracing *tracing)
{
	if (access(UMAD_TRACING "/instances", F_OK) &&
	    mount("tracefs", UMAD_TRACING, "tracefs", 0, NULL))
		return -1;
	snprintf(tracing->dir, sizeof(tracing->dir), UMAD_TRACING "/instances/umad-%d", getpid());
	if (mkdir(tracing->dir, 0700))
		return -1;
	/*
	 * To know the names of tasks, the kernel would patch tracepoints of the scheduler, which
	 * another CPU runs meanwhile: QEMU's emulation of several CPUs may die of that.
	 */
	if (umad_tracing_write(tracing, "trace_options", "norecord-cmd"))
		return -1;
	return umad_tracing_write(tracing, "events/ib_umad/enable", "1");
}

void umad_tracing_stop(struct umad_tracing *tracing)
{
	umad_tracing_write(tracing, "events/ib_umad/enable", "0");
	rmdir(tracing->dir);
}

/* Copies the text of the only event @name into @text; returns their number */
int umad_tracing_events(const struct umad_tracing *tracing, const char *name,
			char *text, size_t size)
{
	char path[256], line[1024], tag[64], *at;
	int n = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/trace", tracing->dir);
	snprintf(tag, sizeof(tag), ": %s: ", name);
	file = fopen(path, "r");
	if (!file)
		return -1;
	text[0] = 0;
	while (fgets(line, sizeof(line), file)) {
		at = strstr(line, tag);
		if (line[0] == '#' || !at)
			continue;
		n++;
		line[strcspn(line, "\n")] = 0;
		snprintf(text, size, "%s", at + strlen(tag));
	}
	fclose(file);
	return n;
}
