/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The events of the group ib_umad, in a tracing instance of a test's own, which
 * leaves everybody else's alone.
 */
#ifndef UMAD_TRACE_H
#define UMAD_TRACE_H

#include "utils.h"

struct umad_tracing {
	char dir[128];
};

int umad_tracing_write(const struct umad_tracing *tracing, const char *file,
		       const char *value);
int umad_tracing_start(struct umad_tracing *tracing);
void umad_tracing_stop(struct umad_tracing *tracing);
int umad_tracing_events(const struct umad_tracing *tracing, const char *name,
			char *text, size_t size);

#endif /* UMAD_TRACE_H */
