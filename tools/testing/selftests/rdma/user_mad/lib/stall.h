/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A stall: memory whose second page is missing until the test supplies it, so
 * that a system call stops in the middle of a copy from or to the user, where it
 * waits for userfaultfd. And calls made by a thread, so that a test sees one which never
 * returns.
 */
#ifndef UMAD_STALL_H
#define UMAD_STALL_H

#include <pthread.h>

#include "utils.h"

struct umad_stall {
	__u8 *base;
	size_t page;
	int uffd;
	bool wp;		/* umad_stall_write_protect() works */
};

int umad_uffd(void *start, size_t len, bool wp);
int _umad_stall(struct umad_stall *stall);

#define umad_stall(stall)						\
	ASSERT_EQ(0, _umad_stall(stall))				\
		TH_LOG("userfaultfd: %s", strerror(errno))

void *umad_stall_at(const struct umad_stall *stall, size_t len);
bool umad_stall_caught(const struct umad_stall *stall);
int umad_stall_release(struct umad_stall *stall, const void *data, size_t len);
int umad_stall_write_protect(struct umad_stall *stall);
int umad_stall_allow_write(struct umad_stall *stall);
int umad_stall_fail(struct umad_stall *stall);
void umad_stall_free(struct umad_stall *stall);

/* A system call in a thread of its own */

enum umad_call_op {
	UMAD_CALL_FN,
	UMAD_CALL_READ,
	UMAD_CALL_WRITE,
	UMAD_CALL_IOCTL,
	UMAD_CALL_POLL,
	UMAD_CALL_OPEN,
	UMAD_CALL_CLOSE,
};

struct umad_call {
	enum umad_call_op op;
	int fd;
	const char *path;
	void *buf;
	size_t len;
	unsigned long cmd;
	long (*fn)(struct umad_call *call);
	void *arg;

	pthread_t thread;
	pid_t tid;		/* set by the thread */
	long ret;
	int err;
};

/* A READ, WRITE, ... on a descriptor, and its other members */
#define UMAD_CALL(which, fd_, ...)					\
	((struct umad_call){ .op = UMAD_CALL_##which, .fd = fd_, __VA_ARGS__ })

void *umad_call_thread(void *arg);

#define umad_call_start(call) do {					\
	(call)->tid = 0;						\
	ASSERT_EQ(0, pthread_create(&(call)->thread, NULL,		\
				    umad_call_thread, call));		\
} while (0)

/* ... which sleeps in it when this returns */
#define umad_call_sleep(call) do {					\
	umad_call_start(call);						\
	ASSERT_TRUE(umad_call_asleep(call));				\
} while (0)

/* @fn_ gets the call, and finds @arg_ there */
#define umad_call_fn(call, fn_, arg_) do {				\
	*(call) = (struct umad_call){ .fn = fn_, .arg = arg_ };		\
	umad_call_start(call);						\
} while (0)

/* Starts a call, which is caught in @stall behind the first @there bytes of @data, its argument */
#define umad_stall_call(stall, call, data, there) do {			\
	umad_stall(stall);						\
	(call)->buf = memcpy(umad_stall_at(stall, there), data, there);	\
	umad_call_start(call);						\
	ASSERT_TRUE(umad_stall_caught(stall));				\
} while (0)

/* ... and one that registers, which is caught storing the id */
#define umad_stall_stored(stall, call, fd_, reg) do {			\
	__u8 __req[64] = { 0 };						\
									\
	umad_stall(stall);						\
	if (!(stall)->wp)						\
		SKIP(return, "no write protection by userfaultfd here"); \
	umad_reg_encode(reg, __req);					\
	ASSERT_EQ(0, umad_stall_release(stall, __req, sizeof(__req)));	\
	ASSERT_EQ(0, umad_stall_write_protect(stall));			\
	*(call) = UMAD_CALL(IOCTL, fd_, .cmd = umad_reg_cmd(reg));	\
	(call)->buf = umad_stall_at(stall, 0);				\
	umad_call_start(call);						\
	ASSERT_TRUE(umad_stall_caught(stall));				\
} while (0)

long umad_in_poll(struct umad_call *call);
long umad_in_select(struct umad_call *call);
long umad_in_epoll(struct umad_call *call);

bool umad_asleep(pid_t pid, pid_t tid);
bool umad_call_asleep(struct umad_call *call);
bool umad_call_returned(struct umad_call *call, int ms);
void umad_call_end(struct umad_call *call);
void umad_call_interrupt(struct umad_call *call);

#endif /* UMAD_STALL_H */
