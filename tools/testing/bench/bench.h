/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The clock of all programs here, and how they tell what they measured:
 * "FIGURE X LEAST" a line. The unit is that of the time stamp counter: instructions, on a
 * machine whose counter counts them (scripts/guest/run --icount).
 */
#ifndef BENCH_H
#define BENCH_H

#include <err.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
#include <x86intrin.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

#define NO_SAMPLE	UINT64_MAX

static inline uint64_t now(void)
{
	return __rdtsc();
}

static inline void lower(uint64_t *least, uint64_t cost)
{
	if (cost < *least)
		*least = cost;
}

static inline void tell(const char *figure, unsigned int x, uint64_t least)
{
	if (least == NO_SAMPLE)
		errx(1, "%s %u: no sample; is autogroup on?", figure, x);
	printf("%s %u %llu\n", figure, x, (unsigned long long)least);
	fflush(stdout);
}

/* What is left to a worker shall be done, and may take its time */
static inline void settle(unsigned int ms)
{
	usleep(ms * 1000);
}

/*
 * While we are SCHED_IDLE a worker of the kernel always goes first, as if it had a
 * processor of its own. Otherwise it depends on the time that each of us has had before,
 * which differs from boot to boot. Among the groups of autogroup it does so for
 * SCHED_IDLE, too, so that has to be off.
 *
 * A worker that write() wakes may run before write() returns. Not so while we are
 * SCHED_FIFO; then nothing but write() is in the span of it.
 */
static inline void run_as(int policy)
{
	struct sched_param param = { .sched_priority = policy == SCHED_FIFO };

	if (sched_setscheduler(0, policy, &param))
		err(1, "sched_setscheduler");
}

#endif /* BENCH_H */
