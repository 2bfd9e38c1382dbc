/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* io_uring: a ring, and what comes out of it */
#ifndef UMAD_URING_H
#define UMAD_URING_H

#include <liburing.h>

#include "vector.h"

#define UMAD_NO_URING	"no io_uring in this kernel, or not for us"

/* SKIP if the kernel has none, or the administrator has turned it off */
#define umad_ring(ring, entries) do {					\
	int __ret = io_uring_queue_init(entries, ring, 0);		\
									\
	if (__ret == -EPERM ||						\
	    (__ret && access("/proc/sys/kernel/io_uring_disabled", F_OK))) \
		SKIP(return, UMAD_NO_URING);				\
	ASSERT_EQ(0, __ret);						\
} while (0)

#define umad_ring_submit(ring, count)					\
	ASSERT_EQ(count, io_uring_submit(ring))

/* The next completion within @ms; false if there is none */
static inline bool umad_ring_next(struct io_uring *ring, struct io_uring_cqe *result, int ms)
{
	struct __kernel_timespec ts = { ms / 1000, ms % 1000 * 1000000L };
	struct io_uring_cqe *cqe;

	if (ms ? io_uring_wait_cqe_timeout(ring, &cqe, &ts) : io_uring_peek_cqe(ring, &cqe))
		return false;
	*result = *cqe;
	io_uring_cqe_seen(ring, cqe);
	return true;
}

#define umad_ring_expect(ring, want, ms) do {				\
	struct io_uring_cqe __cqe = {};					\
									\
	ASSERT_TRUE(umad_ring_next(ring, &__cqe, ms))			\
		TH_LOG("no completion");				\
	EXPECT_EQ(want, __cqe.res);					\
} while (0)

#endif /* UMAD_URING_H */
