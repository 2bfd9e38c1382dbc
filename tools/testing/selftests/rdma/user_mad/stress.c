// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Everything at once: threads that do all there is to do with a umad device, in
 * an order that a seed decides, on descriptors that they share and on one that
 * each has for itself, while the device comes and goes. What comes out of a
 * shared descriptor no test can foretell; but no call may hang, and on a
 * descriptor of its own each thread keeps books: every request ends in one
 * answer or in one timeout record, unless its agent or device went first.
 *
 * UMAD_STRESS_SEED is the seed. Threads see to it that no run is quite like another, with
 * the same seed either.
 *
 * In two variants nothing is left to chance: two threads, each on a CPU of its own, do one
 * thing each over and over at the same descriptor, until every operation has met every other
 * one, and itself. A kernel that looks for data races has to catch both sides in the act.
 *
 * Also on: 6.12, smp
 */
#include <limits.h>
#include <signal.h>
#include <sys/syscall.h>

#include "kselftest_harness.h"
#include "lib/statistics.h"
#include "lib/stress.h"

#define OPS		(umad_slow_kernel() ? 600 : 1500)	/* of all threads together */
#define UNPLUG_EVERY	500
#define SEED		1

/* How long two operations meet. On a kernel whose clock stands meanwhile the rounds end first */
#define PAIR_MS		(umad_thorough() ? 1000 : 100)
#define PAIR_OPS	(umad_thorough() ? LONG_MAX : 200)

#define IDLE		(-1)
#define FINISHING	STRESS_OPS

#define STUCK_MS	30000

#define MANY_TIMES	100		/* tried, should have worked once */

static void *thread_run(void *arg)
{
	struct stress_thread *t = arg;
	struct stress *stress = t->stress;
	struct sigevent event = {
		.sigev_notify = SIGEV_THREAD_ID,
		.sigev_signo = SIGALRM,
	};
	const struct stress_op *op;
	long left;

	t->tid = syscall(SYS_gettid);
	event._sigev_un._tid = t->tid;
	if (timer_create(CLOCK_MONOTONIC, &event, &t->timer))
		snprintf(t->client.why, sizeof(t->client.why), "timer: %s", strerror(errno));

	if (t->only)
		umad_run_on(t - stress->thread);

	/* Without a device most operations fail: do not spend them on that */
	while (!t->client.why[0] && umad_now_ms() < stress->end &&
	       (left = stress->away ? 1 : stress->left--) > 0) {
		do
			op = t->only ?: stress_any_op(t);
		while (!t->only && ((op->smi && !stress->smi) ||
				    (stress_is_crowd(stress) && !op->hot)));
		if (!t->only && left % UNPLUG_EVERY == 0)
			op = UNPLUG;
		t->since = umad_now_ms();
		t->doing = op - stress_ops;
		stress->done[op - stress_ops]++;
		if (op->run(t))
			stress->good[op - stress_ops]++;
		if (stress->away && !t->only)
			umad_sleep_ms(2);
	}
	t->since = umad_now_ms();
	t->doing = FINISHING;
	umad_books_finish(&t->client);
	timer_delete(t->timer);
	t->doing = IDLE;
	return NULL;
}

/* Where a thread hangs, as the kernel sees it */
static void show_stack(struct __test_metadata *_metadata, const struct stress_thread *t)
{
	char text[4096];

	if (umad_sysfs_read(text, sizeof(text), "/proc/self/task/%d/stack", t->tid))
		text[0] = 0;
	TH_LOG("%s has not returned for %d s: %s",
	       t->doing == FINISHING ? "finishing" : stress_ops[t->doing].name,
	       STUCK_MS / 1000, text);
}

static bool all_done(struct __test_metadata *_metadata, struct stress *stress, bool *stuck)
{
	bool done = true;
	int i;

	for (i = 0; i < stress->threads; i++) {
		struct stress_thread *t = &stress->thread[i];

		if (t->doing == IDLE)
			continue;
		done = false;
		if (umad_now_ms() - t->since > STUCK_MS) {
			show_stack(_metadata, t);
			*stuck = true;
		}
	}
	return done;
}

/* Whether the port counts nothing of what closed descriptors had; says what it counts */
static bool port_is_empty(const struct umad_port *port, char *said, size_t size)
{
	static const char * const names[] = { "files", "agents", "outstanding", "unread" };
	long count;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		count = umad_statistic(port, names[i]);
		snprintf(said, size, "%ld %s", count, names[i]);
		if (count)
			return false;
	}
	return true;
}

static void on_tick(int sig)
{
	(void)sig;
}

FIXTURE(stress)
{
	struct stress *stress;
};

FIXTURE_VARIANT(stress)
{
	enum umad_device_kind kind;
	unsigned int slots;
	enum stress_meets pairs;
};

umad_device_variant(stress, rxe, UMAD_RXE, .slots = UMAD_SLOTS);
umad_device_variant(stress, madsim, UMAD_MADSIM, .slots = UMAD_SLOTS);
umad_device_variant(stress, madsim_crowd, UMAD_MADSIM, .slots = 1);
umad_device_variant(stress, madsim_netns, UMAD_MADSIM_NETNS, .slots = UMAD_SLOTS);
umad_device_variant(stress, pairs_rare, UMAD_MADSIM, .slots = 1, .pairs = RARELY);
umad_device_variant(stress, pairs_often, UMAD_MADSIM, .slots = 1, .pairs = OFTEN);

FIXTURE_SETUP(stress)
{
	struct stress *stress;

	if (umad_reference())
		SKIP(return, "the kernel does not survive this with the reference");
	stress = calloc(1, sizeof(*stress));
	ASSERT_NE(NULL, stress);
	self->stress = stress;
	pthread_rwlock_init(&stress->lock, NULL);
	pthread_mutex_init(&stress->unplug, NULL);
	stress->smi = variant->kind != UMAD_RXE;
	stress->slots = variant->slots;
	umad_device(&stress->device, variant->kind);
	ASSERT_EQ(0, umad_device_up(&stress->device));
	stress->port = stress->device.port;
}

FIXTURE_TEARDOWN(stress)
{
	umad_device_free(&self->stress->device);
	free(self->stress);
}

/* So many threads, of which the first and the second may have one thing to do */
static void run_threads(struct __test_metadata *_metadata, struct stress *stress, long seed,
			const struct stress_op *first, const struct stress_op *second)
{
	struct stress_thread *t;
	bool stuck = false;
	int i;

	stress->threads = first ? 2 : THREADS;
	stress->left = first ? PAIR_OPS : OPS;
	stress->end = first ? umad_now_ms() + PAIR_MS : LLONG_MAX;
	for (i = 0; i < stress->threads; i++) {
		t = &stress->thread[i];
		*t = (struct stress_thread){
			.stress = stress,
			.only = i ? second : first,
			.seed = seed * 1000 + i,
			.border = stress->border.base + stress->border.page,
			.doing = FINISHING,
			.since = umad_now_ms(),
		};
		/* What two meet at is there */
		if (first && !i) {
			close(SLOT_BASE);
			OPEN->run(t);
		}
		ASSERT_EQ(0, pthread_create(&t->thread, NULL, thread_run, t));
	}
	while (!all_done(_metadata, stress, &stuck) && !stuck)
		umad_sleep_ms(20);
	ASSERT_FALSE(stuck);
	for (i = 0; i < stress->threads; i++) {
		pthread_join(stress->thread[i].thread, NULL);
		EXPECT_STREQ("", stress->thread[i].client.why);
	}
}

/* Each pair of operations at one descriptor: those with one that is rare, or the others */
static void run_pairs(struct __test_metadata *_metadata, struct stress *stress, long seed,
		      bool rare)
{
	const struct stress_op *first, *second;

	for (first = stress_ops; first <= UNPLUG; first++) {
		for (second = stress_ops; second <= first; second++) {
			/* A device that one has taken away the other one cannot */
			if (!first->meets || !second->meets || second == UNPLUG ||
			    (first->meets == RARELY || second->meets == RARELY) != rare)
				continue;
			run_threads(_metadata, stress, seed++, first, second);
		}
	}
}

TEST_F_TIMEOUT(stress, everything, 1200)
{
	struct sigaction act = { .sa_handler = on_tick };
	const char *text = getenv("UMAD_STRESS_SEED");
	long seed = text ? atol(text) : SEED;
	struct stress *stress = self->stress;
	unsigned long sent = 0, answered = 0, timed_out = 0, lost = 0, done = 0;
	unsigned int i;
	char said[64];

	sigaction(SIGALRM, &act, NULL);
	umad_border(&stress->border, PROT_NONE);
	for (i = 0; i < UMAD_SLOTS; i++)
		stress->hlen[i] = UMAD_HDR_OLD;
	if (variant->pairs)
		run_pairs(_metadata, stress, seed, variant->pairs == RARELY);
	else
		run_threads(_metadata, stress, seed, NULL, NULL);

	for (i = 0; i < THREADS; i++) {
		struct stress_thread *t = &stress->thread[i];

		sent += t->client.sent;
		answered += t->client.answered;
		timed_out += t->client.timed_out;
		lost += t->client.lost;
	}
	for (i = 0; i < SLOTS; i++)
		close(SLOT_BASE + i);
	EXPECT_TRUE(umad_within(UMAD_SOON_MS, port_is_empty(&stress->port, said, sizeof(said))))
		TH_LOG("all is closed, and the port still has %s", said);

	/* What there was to do has been done, and not always in vain: no read without a write */
	for (i = 0; i < STRESS_OPS; i++) {
		done += stress->done[i];
		TH_LOG("%-14s %8lu, of which %lu succeeded", stress_ops[i].name,
		       stress->done[i], stress->good[i]);
		/* Two alone may always be in each other's way */
		if (stress->done[i] >= MANY_TIMES && !variant->pairs)
			EXPECT_NE(0, stress->good[i])
				TH_LOG("%s never succeeded", stress_ops[i].name);
	}
	TH_LOG("seed %ld, %lu operations", seed, done);
	TH_LOG("%lu requests = %lu answered + %lu timed out + %lu lost with agent or device",
	       sent, answered, timed_out, lost);
	if (variant->pairs != OFTEN)
		EXPECT_NE(0, stress->good[UNPLUG - stress_ops]);
	if (!stress_is_crowd(stress)) {
		EXPECT_EQ(stress_method(stress) == MAD_GET, answered != 0);
		EXPECT_NE(0, timed_out);
	}
}

TEST_HARNESS_MAIN
