/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The counters of a port, and what has changed in them: what a test does changes
 * those that it names, and no other one.
 */
#ifndef UMAD_STATISTICS_H
#define UMAD_STATISTICS_H

#include "utils.h"

#define UMAD_STATISTICS		17
#define UMAD_NO_STATISTICS	"the reference has no statistics"
#define UMAD_MAX_SENDS		"/sys/module/ib_umad/parameters/max_sends"

/* Of the names */
#define UMAD_DROPPED_LIMIT	9
#define UMAD_DROPPED_MEMORY	10

struct umad_statistics {
	long value[UMAD_STATISTICS];
};

extern const char *const umad_statistic_names[UMAD_STATISTICS];

long umad_statistic(const struct umad_port *port, const char *name);
struct umad_statistics umad_statistics(const struct umad_port *port);
bool umad_changed_by(struct umad_statistics *before, const struct umad_port *port,
		     const char *changes, char *said, size_t size);

/* Completions may come a moment later, those of RMPP messages seconds */
#define umad_expect_changes(before, port, changes) do {			\
	char __said[512];						\
									\
	umad_within(4 * UMAD_SOON_MS, umad_changed_by(before, port, changes, \
						      __said, sizeof(__said))); \
	EXPECT_STREQ(changes, __said);					\
} while (0)

#endif /* UMAD_STATISTICS_H */
