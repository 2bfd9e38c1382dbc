/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The events of the group ib_umad, in a tracing instance of a test's own, which
 * leaves all others alone.
 */
#ifndef UMAD_TRACE_H
#define UMAD_TRACE_H

#include "utils.h"

struct umad_tracing {
	char dir[128];
};

int umad_tracing_write(const struct umad_tracing *tracing, const char *file, const char *value);
int umad_tracing_start(struct umad_tracing *tracing);
void umad_tracing_stop(struct umad_tracing *tracing);
int umad_tracing_events(const struct umad_tracing *tracing, const char *name,
			char *text, size_t size);

/*
 * The only event, @name, has this text behind the number of its device. The value is that
 * number, and there are no events any more.
 */
#define umad_expect_event(tracing, name, want) ({			\
	char __text[1024], *__at;					\
	int __n;							\
									\
	umad_within(UMAD_SOON_MS,					\
		    (__n = umad_tracing_events(tracing, name, __text,	\
					       sizeof(__text))));	\
	ASSERT_EQ(1, __n)						\
		TH_LOG("events %s", name);				\
	__at = strchr(__text, ':');					\
	ASSERT_NE(NULL, __at);						\
	EXPECT_STREQ(want, __at);					\
	EXPECT_EQ(0, umad_tracing_write(tracing, "trace", ""));		\
	(__u32)atoi(__text);						\
})

#define umad_expect_no_event(tracing, name) do {			\
	char __text[1024];						\
									\
	EXPECT_EQ(0, umad_tracing_events(tracing, name, __text,		\
					 sizeof(__text)))		\
		TH_LOG("%s: %s", name, __text);				\
} while (0)

#endif /* UMAD_TRACE_H */
