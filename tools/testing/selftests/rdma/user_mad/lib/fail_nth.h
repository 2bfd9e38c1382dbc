/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What user space asks of umad, with each allocation and each access to user memory
 * on the way failing once, in turn: the first run of a test has its first one fail,
 * the next run its second one, until a run comes through without having met that
 * many. A failed call must return ENOMEM or EFAULT, must have left nothing behind, and
 * must work when it is repeated.
 *
 *	TEST_FAIL_NTH(pair, open, 3)
 *	{
 *		if (fault_call(fault, _umad_open(&self->port, O_RDWR, &file)))
 *		...
 *	}
 *
 * This takes a kernel with FAILSLAB, FAIL_PAGE_ALLOC, FAULT_INJECTION_USERCOPY
 * and FAULT_INJECTION_STACKTRACE_FILTER. The kernel's own reports, by KASAN, lockdep or
 * kmemleak, are in its log.
 */
#ifndef UMAD_FAIL_NTH_H
#define UMAD_FAIL_NTH_H

#include "utils.h"

#define SWEEP_TIMEOUT	600	/* seconds; nothing waits for that */
#define FREE_METHOD	0x21	/* one that the server of a pair does not take */
#define CLEAN_TID	0x700000

struct fault {
	int fd;			/* fail-nth of this thread */
	unsigned int nth;	/* which one of this run */
	bool struck;		/* that many were met */
};

bool fault_init(void);
int fault_put_all(const char *name, const char *value);
int fault_within(__u64 start, __u64 end);
int fault_not_within(__u64 start, __u64 end);
int fault_anywhere(void);
int fault_within_umad(void);
int fault_find(const char *module, const char *name, __u64 *start, __u64 *end);
int fault_set(const struct fault *fault, unsigned int nth);
bool fault_clear(const struct fault *fault);
bool fault_next(struct fault *fault);
int fault_elsewhere(const struct fault *fault, int times);
bool fault_nowhere(const struct fault *fault);
int fault_settle(const struct umad_file *a, const struct umad_file *b);

/* The end of a program, in place of TEST_HARNESS_MAIN: it is skipped without faults */
#define FAIL_NTH_MAIN							\
	static __attribute__((constructor)) void fault_setup(void)	\
	{								\
		if (!fault_init())					\
			ksft_exit_skip("no fault injection in this kernel\n"); \
	}								\
	TEST_HARNESS_MAIN

#define fault_begin(f) do {						\
	*(f) = (struct fault){ 0 };					\
	(f)->fd = open("/proc/thread-self/fail-nth", O_RDWR);		\
	ASSERT_LE(0, (f)->fd);						\
} while (0)

/* The value of @call, in which the fault may strike; errno stays */
#define fault_in(fault, call) ({					\
	long __ret;							\
	int __err;							\
									\
	ASSERT_EQ(0, fault_set(fault, (fault)->nth));			\
	__ret = (call);							\
	__err = errno;							\
	(fault)->struck = fault_clear(fault);				\
	errno = __err;							\
	__ret;								\
})

/* @err, if not 0, is a failure that only the fault can have caused */
#define fault_expect(fault, err) do {					\
	int __e = (err);						\
									\
	if (__e) {							\
		EXPECT_TRUE((fault)->struck);				\
		EXPECT_TRUE(__e == ENOMEM || __e == EFAULT)		\
			TH_LOG("fault %u: %s", (fault)->nth, strerror(__e)); \
	}								\
} while (0)

/* The value of @call, which fails for the fault or not at all */
#define fault_call(fault, call) ({					\
	long __value = fault_in(fault, call);				\
									\
	fault_expect(fault, __value < 0 ? errno : 0);			\
	__value;							\
})

/* There must have been @least faults, or this has tested nothing */
#define fault_end(fault, least) do {					\
	ksft_print_msg("%s: %u fault points\n", _metadata->name,	\
		       (fault)->nth - 1);				\
	EXPECT_LE((unsigned int)(least), (fault)->nth - 1);		\
	close((fault)->fd);						\
} while (0)

/* A test need not look at all that it is given */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/*
 * Runs what follows for each fault; there must have been @least. @fault is which one
 * it is. A run that skips the test is the last.
 */
#define TEST_FAIL_NTH(fixture, test, least)				\
	static void fixture##_nth_##test(				\
		struct __test_metadata *_metadata,			\
		FIXTURE_DATA(fixture) *self,				\
		const FIXTURE_VARIANT(fixture) *variant,		\
		struct fault *fault);					\
	TEST_F_TIMEOUT(fixture, test, SWEEP_TIMEOUT)			\
	{								\
		struct fault fault;					\
									\
		fault_begin(&fault);					\
		while (fault_next(&fault))				\
			fixture##_nth_##test(_metadata, self, variant, &fault); \
		if (_metadata->exit_code != KSFT_SKIP)			\
			fault_end(&fault, least);			\
	}								\
	static void fixture##_nth_##test(				\
		struct __test_metadata *_metadata,			\
		FIXTURE_DATA(fixture) *self,				\
		const FIXTURE_VARIANT(fixture) *variant,		\
		struct fault *fault)

/* A request and its answer, however many others were on their way */
#define fault_exchange(self, xid, before) do {				\
	struct umad_msg __msg = umad_msg(&(self)->port, (self)->cid,	\
					 MAD_GET, xid);			\
	struct umad_msg __got;						\
									\
	__msg.hdr.timeout_ms = UMAD_SOON_MS;				\
	umad_write(&(self)->client, &__msg);				\
	for (;;) {							\
		umad_read(&(self)->server, &__got);			\
		if ((__u32)be64toh(__got.mad.tid) == (xid))		\
			break;						\
		(before)++;						\
	}								\
	__got.mad.method = MAD_GET_RESP;				\
	umad_write(&(self)->server, &__got);				\
	umad_read(&(self)->client, &__msg);				\
	EXPECT_EQ(xid, (__u32)be64toh(__msg.mad.tid));			\
	EXPECT_EQ(0, umad_fdinfo(&(self)->client, "umad-outstanding"));	\
	EXPECT_EQ(0, umad_fdinfo(&(self)->server, "umad-outstanding"));	\
} while (0)

#endif /* UMAD_FAIL_NTH_H */
