// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Two threads, each on a CPU of its own, that do one thing each over and over
 * to the same descriptor of the same port: every operation meets every other
 * one, and itself. stress.c leaves that to chance. A kernel that looks for data races
 * has to catch both sides in the act; on any other one, no answer may come that is not
 * documented, and nothing hangs.
 *
 * Also on: 6.12, smp
 */
#include <limits.h>
#include <stdatomic.h>

#include "kselftest_harness.h"
#include "lib/device.h"
#include "lib/stall.h"
#include "lib/statistics.h"

/* How long two operations are at it, if they are quick ones */
#define PAIR_MS		(umad_thorough() ? 500 : 30)
/* On a kernel whose clock stands while a thread is busy, the rounds end first */
#define ROUNDS		(umad_thorough() ? ULONG_MAX : 400)
#define STUCK_MS	60000
#define THREADS		2
#define CROWD		32	/* sends outstanding */

#define MAX_ERRORS	5

struct race {
	struct umad_device device;
	struct umad_port port;		/* also of a device that comes back */
	struct umad_file file;		/* what they share, under one number */
	char issm[64];
	atomic_ulong tid;
	atomic_bool stop;
	cpu_set_t cpus;
};

struct op {
	const char *name;
	int (*run)(struct race *race);	/* 0 or a negative errno */
	int errors[MAX_ERRORS];		/* that others may be the cause of */
	bool reads;			/* a MAD that another must have sent */
	int weight;			/* slow ones need more time */
};

/* The first registration settles the header while others use the descriptor */
static int do_open(struct race *race)
{
	struct umad_reg reg = { .api = 2 };
	struct umad_file file;
	int ret;

	if (_umad_open(&race->port, O_RDWR | O_NONBLOCK, &file))
		return -errno;
	if (race->file.fd < 0)
		race->file.fd = file.fd;
	else if (dup3(file.fd, race->file.fd, O_CLOEXEC) < 0)
		return -errno;
	ret = _umad_register(&race->file, &reg) ? -errno : 0;
	if (race->file.fd != file.fd)
		umad_close(&file);
	return ret;
}

/* Its number is free at once, and so it gets the same one again */
static int do_unplug(struct race *race)
{
	int ret = umad_device_remove(&race->device);

	if (!ret)
		ret = umad_device_return(&race->device);
	if (ret)
		return ret;
	if (strcmp(race->port.name, race->device.port.name))
		return -EXDEV;
	return do_open(race);
}

/* The own port answers, the neighbour does, or in half of all cases none does */
static int do_write(struct race *race)
{
	struct umad_sm sm = { .tid = race->tid++ };
	struct umad_path path = { sm.tid % 4, { 1, 1, 1 } };
	struct umad_msg msg = umad_smp_msg(&sm, &path, 0, MAD_GET, SMP_NODE_INFO);

	/* The MAD layer looks for the request of each answer in a list */
	while (!(sm.tid % CROWD) && umad_fdinfo(&race->file, "umad-outstanding") > CROWD)
		umad_sleep_ms(1);
	if (path.hops > 1)
		msg.hdr.timeout_ms = 1;
	return _umad_write(&race->file, &msg) < 0 ? -errno : 0;
}

static int do_read(struct race *race)
{
	struct umad_msg msg;

	return _umad_read(&race->file, &msg) < 0 ? -errno : 0;
}

static int do_read_short(struct race *race)
{
	struct umad_msg msg;

	_umad_read_len(&race->file, &msg, 1);
	return errno == EINVAL ? 0 : -errno;
}

static int poll_for(struct race *race, int ms)
{
	struct pollfd pfd = { .fd = race->file.fd, .events = POLLIN };

	return poll(&pfd, 1, ms) < 0 ? -errno : pfd.revents & POLLERR ? -EIO : 0;
}

static int do_poll(struct race *race)
{
	return poll_for(race, 0);
}

static int do_wait(struct race *race)
{
	return poll_for(race, 1);
}

/* The agent that writers use, and at times another one */
static int do_register(struct race *race)
{
	struct umad_reg reg = { .api = 2 };
	int ret;

	ret = _umad_unregister(&race->file, 0) ? -errno : 0;
	if (_umad_register(&race->file, &reg))
		return -errno;
	if (reg.id)
		_umad_unregister(&race->file, reg.id);
	return ret;
}

static int do_fdinfo(struct race *race)
{
	long unread = umad_fdinfo(&race->file, "umad-unread");

	return unread < 0 && !umad_reference() ? -ENODATA : 0;
}

static int do_sysfs(struct race *race)
{
	char text[64];

	return umad_sysfs_read(text, sizeof(text), "/sys/class/infiniband_mad/%s/ibdev",
			       race->port.name) ? -errno : 0;
}

static int do_issm(struct race *race)
{
	int fd = open(race->issm, O_RDWR | O_CLOEXEC);

	return fd < 0 ? -errno : close(fd);
}

static int do_netlink(struct race *race)
{
	struct nl_chardev res;
	__u32 index;
	int ret;

	ret = nl_ibdev_index(race->port.ibdev, &index);
	return ret ?: nl_chardev(index, race->port.port, "umad", &res);
}

enum {
	UNPLUG, OPEN, REGISTER, WRITE, READ, READ_SHORT, POLL, WAIT, FDINFO,
	SYSFS, ISSM, NETLINK, NUM_OPS
};

/* EINVAL for a write whose header the descriptor does not speak yet */
static const struct op ops[] = {
	[UNPLUG] = { "unplug", do_unplug, {}, .weight = 4 },
	[OPEN] = { "open", do_open, { ENOENT, ENXIO, EPIPE, EINVAL }, .weight = 2 },
	[REGISTER] = { "register", do_register, { EINVAL, EPIPE }, .weight = 2 },
	[WRITE] = { "write", do_write, { EIO, EINVAL, ENOBUFS }, .weight = 4 },
	[READ] = { "read", do_read, { EAGAIN, EIO }, .reads = true, .weight = 1 },
	[READ_SHORT] = { "read_short", do_read_short, { EAGAIN, EIO }, .reads = true, .weight = 1 },
	[POLL] = { "poll", do_poll, { EIO }, .weight = 1 },
	[WAIT] = { "wait", do_wait, { EIO }, .weight = 1 },
	[FDINFO] = { "fdinfo", do_fdinfo, {}, .weight = 1 },
	[SYSFS] = { "sysfs", do_sysfs, { ENOENT, ENODEV }, .weight = 1 },
	[ISSM] = { "issm", do_issm, { ENOENT, ENXIO }, .weight = 2 },
	[NETLINK] = { "netlink", do_netlink, { ENODEV, ENOENT, EINVAL, EOPNOTSUPP }, .weight = 1 },
};

struct racer {
	struct race *race;
	const struct op *op;
	bool must;			/* succeed at least once */
	unsigned long rounds;
	int cpu;			/* counted among those we may use */
	unsigned long done, good;
	int strange;			/* an errno that should not be */
};

static bool racer_knows(const struct racer *racer, int err)
{
	int i;

	for (i = 0; err && i < MAX_ERRORS; i++)
		if (racer->op->errors[i] == -err)
			return true;
	return !err;
}

/* On a machine with one CPU both are on that */
static void racer_pin(const struct racer *racer)
{
	int n = racer->cpu % CPU_COUNT(&racer->race->cpus), cpu;

	for (cpu = 0; !CPU_ISSET(cpu, &racer->race->cpus) || n--; cpu++)
		;
	umad_run_on(cpu);
}

static long racer_run(struct umad_call *call)
{
	struct racer *racer = call->arg;
	int err;

	racer_pin(racer);
	do {
		err = racer->op->run(racer->race);
		racer->done++;
		racer->good += !err;
		if (!racer_knows(racer, err))
			racer->strange = -err;
	} while (!racer->strange &&
		 ((!racer->race->stop && racer->done < racer->rounds) ||
		  (racer->must && !racer->good)));
	return 0;
}

FIXTURE(race)
{
	struct race race;
};

FIXTURE_VARIANT(race)
{
	int op;
};

FIXTURE_VARIANT_ADD(race, unplug) { .op = UNPLUG };
FIXTURE_VARIANT_ADD(race, open) { .op = OPEN };
FIXTURE_VARIANT_ADD(race, register) { .op = REGISTER };
FIXTURE_VARIANT_ADD(race, write) { .op = WRITE };
FIXTURE_VARIANT_ADD(race, read) { .op = READ };
FIXTURE_VARIANT_ADD(race, read_short) { .op = READ_SHORT };
FIXTURE_VARIANT_ADD(race, poll) { .op = POLL };
FIXTURE_VARIANT_ADD(race, wait) { .op = WAIT };
FIXTURE_VARIANT_ADD(race, fdinfo) { .op = FDINFO };
FIXTURE_VARIANT_ADD(race, sysfs) { .op = SYSFS };
FIXTURE_VARIANT_ADD(race, issm) { .op = ISSM };
FIXTURE_VARIANT_ADD(race, netlink) { .op = NETLINK };

FIXTURE_SETUP(race)
{
	struct race *race = &self->race;

	race->file.hlen = UMAD_HDR_NEW;
	if (umad_reference() && variant->op == UNPLUG)
		SKIP(return, "the kernel does not survive this with the reference");
	ASSERT_EQ(0, sched_getaffinity(0, sizeof(race->cpus), &race->cpus));
	umad_device(&race->device, UMAD_MADSIM);
	race->port = race->device.port;
	umad_issm_dev(&race->port, race->issm);
}

FIXTURE_TEARDOWN(race)
{
	umad_close(&self->race.file);
	umad_device_free(&self->race.device);
}

/* With a device, and with something to read, everything works at times */
static bool must_succeed(const struct op *op, const struct op *other)
{
	return other != &ops[UNPLUG] && (!op->reads || other == &ops[WRITE]);
}

/* Each pair meets once: the later ones of the table are those not yet met */
TEST_F_TIMEOUT(race, every_two_operations_meet, 1200)
{
	int ms = PAIR_MS * ops[variant->op].weight;
	struct race *race = &self->race;
	struct umad_call calls[THREADS];
	struct racer racers[THREADS];
	int other, i;

	for (other = variant->op; other < NUM_OPS; other++) {
		/* A device that one has taken away the other one cannot */
		if (other == UNPLUG)
			continue;
		umad_close(&race->file);
		ASSERT_EQ(0, do_open(race));
		race->stop = false;
		for (i = 0; i < THREADS; i++) {
			const struct op *op = &ops[i ? other : variant->op];

			racers[i] = (struct racer){
				.race = race,
				.op = op,
				.must = must_succeed(op, &ops[i ? variant->op : other]),
				.rounds = ROUNDS / op->weight,
				.cpu = i,
			};
			umad_call_fn(&calls[i], racer_run, &racers[i]);
		}
		umad_sleep_ms(ms);
		race->stop = true;

		for (i = 0; i < THREADS; i++) {
			struct racer *racer = &racers[i];

			ASSERT_TRUE(umad_call_returned(&calls[i], STUCK_MS))
				TH_LOG("%s hangs", racer->op->name);
			TH_LOG("%-10s %8lu, of which %lu succeeded",
			       racer->op->name, racer->done, racer->good);
			EXPECT_EQ(0, racer->strange)
				TH_LOG("%s: %s", racer->op->name, strerror(racer->strange));
		}
		if (!umad_reference())
			EXPECT_EQ(umad_fdinfo(&race->file, "umad-agents"),
				  umad_statistic(&race->port, "agents"))
				TH_LOG("the MAD layer has an agent that the descriptor lost");
	}
}

TEST_HARNESS_MAIN
