/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * All there is to do with a umad device, by threads that share descriptors: an
 * operation each time, of which a seed decides.
 */
#ifndef UMAD_STRESS_H
#define UMAD_STRESS_H

#include <pthread.h>
#include <stdatomic.h>

#include "books.h"
#include "device.h"

#define THREADS		4
#define STRESS_OPS	22

#define SLOT_BASE	200		/* numbers of the shared descriptors */
#define UMAD_SLOTS	6
#define ISSM_SLOTS	2
#define SLOTS		(UMAD_SLOTS + ISSM_SLOTS)

struct stress;

struct stress_thread {
	struct stress *stress;
	pthread_t thread;
	pid_t tid;
	const struct stress_op *only;	/* NULL: any */
	unsigned int seed;
	timer_t timer;
	struct umad_books client;	/* has a descriptor of its own */
	__u8 *border;			/* where memory ends */
	atomic_int doing;		/* index of an operation, or IDLE */
	atomic_llong since;
};

/* In the life of a descriptor or a device */
enum stress_meets {
	NEVER,
	RARELY,
	OFTEN,
};

struct stress_op {
	const char *name;
	bool (*run)(struct stress_thread *t);
	unsigned int weight;
	bool smi;			/* for ports with a QP0 */
	bool hot;			/* where a crowd is at */
	enum stress_meets meets;	/* each other one of these */
};

struct stress {
	struct umad_device device;
	pthread_rwlock_t lock;		/* protects @port */
	struct umad_port port;
	pthread_mutex_t unplug;		/* protects @device */
	atomic_bool away;
	bool smi;
	int threads;
	long long end;			/* of all that threads do */
	struct umad_border border;
	unsigned int slots;		/* how many umad descriptors to share */
	atomic_long left;
	atomic_uchar hlen[UMAD_SLOTS];
	atomic_ulong done[STRESS_OPS], good[STRESS_OPS];
	struct stress_thread thread[THREADS];
};

extern const struct stress_op stress_ops[STRESS_OPS];

#define OPEN		(&stress_ops[0])

/* The last one, which the seed does not decide of */
#define UNPLUG		(&stress_ops[STRESS_OPS - 1])

bool stress_is_crowd(const struct stress *stress);
__u8 stress_method(struct stress *stress);
const struct stress_op *stress_any_op(struct stress_thread *t);

#endif /* UMAD_STRESS_H */
