// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What others cost: programs that ask at the same time, descriptors that wait, ports, and
 * work that is under way while a bystander asks.
 *
 *	others_bench SAMPLES FIGURE
 *
 * runs where umad_bench runs, and prints what bench.h tells.
 */
#define _GNU_SOURCE

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "agent.h"

/* Memory that child processes share */
static void *shared(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		err(1, "mmap");
	return memory;
}

static pid_t child(void)
{
	pid_t pid = fork();

	if (pid < 0)
		err(1, "fork");
	return pid;
}

static void end_of(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid || status)
		errx(1, "a process of ours failed");
}

/* Between two barriers, ask the peer's agent for performance management */
static void exporter(pthread_barrier_t *barrier)
{
	struct agent agent = new_agent(0, 1, 0, 0);
	unsigned int i;

	pthread_barrier_wait(barrier);
	for (i = 0; i < samples; i++)
		exchange(&agent, PERF, NULL, false);
	pthread_barrier_wait(barrier);
	exit(0);
}

/* Processes that ask by one port at the same time: what a MAD takes */
static void exporters(const char *name)
{
	static const unsigned int counts[] = { 1, 8, 64 };
	pthread_barrier_t *barrier = shared(sizeof(*barrier));
	pthread_barrierattr_t processes;
	pid_t pids[64];
	uint64_t start;
	unsigned int i, k;

	pthread_barrierattr_init(&processes);
	pthread_barrierattr_setpshared(&processes, PTHREAD_PROCESS_SHARED);
	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		pthread_barrier_init(barrier, &processes, counts[i] + 1);
		for (k = 0; k < counts[i]; k++) {
			pids[k] = child();
			if (!pids[k])
				exporter(barrier);
		}
		/* This process goes first when the barrier wakes all of them */
		run_as(SCHED_FIFO);
		pthread_barrier_wait(barrier);
		start = now();
		pthread_barrier_wait(barrier);
		tell(name, counts[i], (now() - start) / counts[i] / samples);
		run_as(SCHED_OTHER);
		for (k = 0; k < counts[i]; k++)
			end_of(pids[k]);
	}
}

static void bench_exporters(void)
{
	exporters("exporters");
}

static void bench_two(void)
{
	exporters("two.exporters");
}

/* What a program at this port meets while X others are there */
static void program(const char *name, unsigned int x, unsigned int port)
{
	uint64_t least_open = NO_SAMPLE, least_close = NO_SAMPLE;
	struct agent agent = new_agent(port, 0, 0, 0);
	char figure[64];
	unsigned int i;

	snprintf(figure, sizeof(figure), "%s.roundtrip", name);
	exchanges(figure, x, &agent, LID, NULL, false);
	close(agent.fd);
	for (i = 0; i < samples; i++) {
		uint64_t start = now();
		int fd = open_port(port);

		lower(&least_open, now() - start);
		register_on(fd, 1, CLASS_VENDOR, 0);
		start = now();
		close(fd);
		lower(&least_close, now() - start);
	}
	snprintf(figure, sizeof(figure), "%s.open", name);
	tell(figure, x, least_open);
	snprintf(figure, sizeof(figure), "%s.close", name);
	tell(figure, x, least_close);
}

static void *wait_for_ever(void *agent)
{
	struct umad umad;

	receive_umad(agent, &umad);
	errx(1, "a MAD that no program asked for");
}

/* Descriptors of the same port, with a reader that sleeps for each */
static void bench_waiting(void)
{
	enum { MOST = 1000 };
	static const unsigned int counts[] = { 0, 50, MOST };
	const struct rlimit limit = { 2 * MOST, 2 * MOST };
	static struct agent agents[MOST];
	unsigned int i, k = 0, first;
	unsigned long before;
	pthread_t thread;

	if (setrlimit(RLIMIT_NOFILE, &limit))
		err(1, "RLIMIT_NOFILE");
	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		before = slab();
		for (first = k; k < counts[i]; k++)
			agents[k] = new_agent(0, 1, 0, 0);
		if (k == MOST)
			tell("waiting.memory", k, (slab() - before) * 1024 / (k - first));
		for (; first < k; first++)
			if (pthread_create(&thread, NULL, wait_for_ever, &agents[first]))
				errx(1, "no thread");
		settle(1000);
		program("waiting", k, 0);
	}
}

/* As many as there are; the last one has been added last */
static void bench_ports(void)
{
	unsigned int ports = 0;
	char path[64];

	do
		snprintf(path, sizeof(path), "/dev/infiniband/umad%u", ports);
	while (!access(path, F_OK) && ++ports);
	program("ports", ports, ports - 1);
}

/* A bystander asks each PERIOD, while another process works */

#define PERIOD		100000	/* nanoseconds, which are instructions */
#define ASKED		10000	/* MADs: work that is short is done again, */
#define ROUNDS		16	/* so often at the most */
#define OUTSTANDING	4096	/* at the device that is removed */
#define UNREAD		200000	/* of the descriptor that is closed */

static struct {
	atomic_bool working, over;
	unsigned int asked;
	uint64_t worst;
} *bystander;

static uint64_t nanoseconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

/*
 * What keeps it from asking counts like what keeps the answer from coming. It is
 * SCHED_FIFO, and the work SCHED_IDLE: so both it and the MAD layer's workers go first,
 * as if they had processors of their own, wherever the kernel lets them.
 */
static void stand_by(void)
{
	struct agent agent;
	uint64_t due, took;

	/* Copies of the descriptors that the work closes would keep them open */
	closefrom(STDERR_FILENO + 1);
	agent = new_agent(0, 0, 0, 0);
	run_as(SCHED_FIFO);
	for (due = nanoseconds(); !bystander->over; due += PERIOD) {
		struct timespec ts = { due / 1000000000, due % 1000000000 };
		bool counts = bystander->working;

		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
		if (counts)
			exchange(&agent, LID, NULL, false);
		took = nanoseconds() - due;
		if (counts) {
			bystander->asked++;
			if (took > bystander->worst)
				bystander->worst = took;
		}
		due += took / PERIOD * PERIOD;
	}
	exit(0);
}

static void bystand(const char *name, void (*prepare)(void), void (*work)(void))
{
	unsigned int round = 0;
	char figure[64];
	pid_t pid;

	memset(bystander, 0, sizeof(*bystander));
	pid = child();
	if (!pid)
		stand_by();
	do {
		if (prepare)
			prepare();
		settle(20);
		run_as(SCHED_IDLE);
		bystander->working = true;
		work();
		bystander->working = false;
		run_as(SCHED_OTHER);
	} while (bystander->asked < ASKED && ++round < ROUNDS);
	bystander->over = true;
	end_of(pid);
	snprintf(figure, sizeof(figure), "bystander.%s", name);
	tell(figure, 1, bystander->worst);
	snprintf(figure, sizeof(figure), "bystander.%s.asked", name);
	tell(figure, 1, bystander->asked);
}

static void work_for_itself(void)
{
	uint64_t start = now();

	while (now() - start < 1000 * PERIOD)
		;
}

#define MESSAGE		(16 << 20)

static struct agent message_client, message_server;
static struct umad *message_out, *message_in;

static void head_of_message(void)
{
	message_head(message_out, &message_client);
}

static void move_message(void)
{
	struct pollfd pollfd = { message_server.fd, POLLIN, 0 };

	if (write(message_client.fd, message_out, MESSAGE_HEAD + MESSAGE) < 0)
		err(1, "write");
	if (poll(&pollfd, 1, 60000) != 1)
		errx(1, "no message");
	if (read(message_server.fd, message_in, MESSAGE_HEAD + MESSAGE) !=
	    (ssize_t)(MESSAGE_HEAD + MESSAGE))
		err(1, "read");
}

/* The third device: the bystander's peer is the second one */
static void h3(const char *command)
{
	int fd = open("/sys/kernel/config/madsim/preset/faults", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || dprintf(fd, "H3 %s\n", command) < 0)
		err(1, "%s", command);
	close(fd);
}

static struct agent gone = { .fd = -1 };

static void hold_requests(void)
{
	if (gone.fd >= 0) {
		close(gone.fd);
		h3("plug");
	}
	gone = new_agent(2, 1, 0, 0);
	hold(&gone, OUTSTANDING);
}

static void remove_device(void)
{
	h3("unplug");
}

static struct agent unread;

static void leave_unread(void)
{
	unsigned int i;

	unread = new_agent(0, 0, 0, 0);
	for (i = 0; i < UNREAD; i++) {
		send_umad(&unread, request(&unread, DR0, 0));
		if (i % 64 == 0)
			settle(1);
	}
	settle(200);
}

static void close_unread(void)
{
	close(unread.fd);
}

static void bench_bystander(void)
{
	bystander = shared(sizeof(*bystander));
	bystand("alone", NULL, work_for_itself);

	message_client = new_agent(0, 1, 0, 1);
	message_server = new_agent(1, 1, CLASS_VENDOR_RMPP, 1);
	message_out = calloc(1, MESSAGE_HEAD + MESSAGE);
	message_in = malloc(MESSAGE_HEAD + MESSAGE);
	if (!message_out || !message_in)
		err(1, "malloc");
	memset(message_in, 1, MESSAGE_HEAD + MESSAGE);
	memset((char *)message_out + MESSAGE_HEAD, 2, MESSAGE);
	bystand("message", head_of_message, move_message);
	if (memcmp((char *)message_in + MESSAGE_HEAD, (char *)message_out + MESSAGE_HEAD, MESSAGE))
		errx(1, "a message came out different");

	bystand("removal", hold_requests, remove_device);
	bystand("close", leave_unread, close_unread);
}

static const struct figure figures[] = {
	{ "exporters", bench_exporters, 0 },
	{ "two", bench_two, 0 },
	{ "waiting", bench_waiting, 0 },
	{ "ports", bench_ports, 0 },
	{ "bystander", bench_bystander, 0 },
};

int main(int argc, char **argv)
{
	run_figure(figures, ARRAY_SIZE(figures), argc, argv);
	return 0;
}
