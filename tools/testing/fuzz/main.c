// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The loop: run the corpus, then mutate what is in it, run that, and keep what
 * reaches something new, stripped of the calls that do not help.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fuzz.h"

#define MAX_CORPUS	4096
#define MAX_NEW		4096
#define STUCK_S		60

enum status { WRONG_END = 1, TOO_FEW_POINTS = 2, CANNOT_BEGIN = 4 };

static struct program corpus[MAX_CORPUS];
static int programs;
static struct program current;
static atomic_long executions;
static atomic_bool finished;

static const char usage[] =
"usage: umad_fuzz [OPTION ...] UMAD-DEVICE [DEVICE ...]\n"
"       umad_fuzz [OPTION ...] UVERBS-DEVICE ...\n"
"       umad_fuzz [OPTION ...] WIRE WIRE\n"
"\n"
"Its status has bit 0 if a call of a program did not end, or not as documented, and bit 1\n"
"if the corpus does not reach any more what it is there for; 4 if it could not begin.\n"
"\n"
"  -n N         how many programs to run after those of the corpus\n"
"  -t SECONDS   how long to do so, if that is shorter\n"
"  -s SEED      what decides what is tried (default 1)\n"
"  -c FILE      the corpus: programs, with a blank line between them\n"
"  -k FILE      where programs go that reach something new\n"
"  -p N         how many points the corpus has to reach at least\n"
"  -m MODULE    whose points count (default ib_umad)\n"
"  -f FILE      file \"faults\" of a fabric of madsim, ...\n"
"  -u NODE      ... and the node that programs may unplug\n";

/* Somebody has to tell which program a call hangs in */
static void *watch(void *unused)
{
	long last = -1;

	while (!finished) {
		if (executions == last) {
			printf("# no end for %d s of:\n", STUCK_S);
			program_print(&current, stdout);
			fflush(stdout);
			_exit(WRONG_END);
		}
		last = executions;
		for (int i = 0; i < STUCK_S && !finished; i++)
			sleep(1);
	}
	return NULL;
}

static bool run(const struct program *p)
{
	const char *wrong;

	current = *p;
	coverage_begin();
	wrong = execute(p);
	coverage_end();
	executions++;
	if (!wrong)
		return true;

	printf("# %s; the program:\n", wrong);
	program_print(p, stdout);
	return false;
}

static int load(const char *path)
{
	FILE *f = fopen(path, "r");
	int line = 0, ops = 0;

	if (!f) {
		perror(path);
		return -1;
	}
	while (programs < MAX_CORPUS && (ops = program_parse(&corpus[programs], f, &line)) > 0)
		programs++;
	fclose(f);
	if (!ops)
		return 0;
	fprintf(stderr, "%s: line %d makes no sense\n", path, line);
	return -1;
}

static void save(const char *path, const struct program *p)
{
	FILE *f = fopen(path, "a");

	if (!f) {
		perror(path);
		return;
	}
	program_print(p, f);
	fputc('\n', f);
	fclose(f);
}

/* What was found new must be reached without the call as well, or it stays */
static bool minimise(struct program *p, const uint32_t *new, size_t n)
{
	bool ok = true;

	for (int i = p->len - 1; i >= 0 && ok && p->len > 1; i--) {
		struct program less = *p;

		program_drop(&less, i);
		ok = run(&less);
		if (coverage_has(new, n))
			*p = less;
	}
	return ok;
}

static bool try_frame(void)
{
	const char *wrong = wires_try();

	executions++;
	if (wrong)
		printf("# %s\n", wrong);
	return !wrong;
}

static bool try_one(const char *keep)
{
	static uint32_t new[MAX_NEW];
	struct program p;
	size_t n;

	if (programs && fuzz_any(16)) {
		p = corpus[fuzz_any(programs)];
		program_mutate(&p, &corpus[fuzz_any(programs)]);
	} else {
		program_generate(&p);
	}
	if (!run(&p))
		return false;
	n = coverage_new(new, MAX_NEW);
	if (!n)
		return true;
	coverage_keep();
	if (!minimise(&p, new, n))
		return false;
	if (programs < MAX_CORPUS)
		corpus[programs++] = p;
	if (keep)
		save(keep, &p);
	return true;
}

int main(int argc, char **argv)
{
	const char *path = NULL, *keep = NULL, *module = "ib_umad";
	long most = 10000, seconds = 0, seed = 1, points = 1, before;
	struct target target = { 0 };
	pthread_t watcher;
	bool ok = true, wires, reached;
	time_t end;
	int c;

	while ((c = getopt(argc, argv, "n:t:s:c:k:p:m:f:u:h")) != -1) {
		switch (c) {
		case 'n':
			most = atol(optarg);
			break;
		case 't':
			seconds = atol(optarg);
			break;
		case 's':
			seed = atol(optarg);
			break;
		case 'c':
			path = optarg;
			break;
		case 'k':
			keep = optarg;
			break;
		case 'p':
			points = atol(optarg);
			break;
		case 'm':
			module = optarg;
			break;
		case 'f':
			target.faults = optarg;
			break;
		case 'u':
			target.node = optarg;
			break;
		default:
			fputs(usage, c == 'h' ? stdout : stderr);
			return c == 'h' ? 0 : CANNOT_BEGIN;
		}
	}
	target.dev = argv + optind;
	target.devs = argc - optind;
	if (!target.devs || !target.faults != !target.node) {
		fputs(usage, stderr);
		return CANNOT_BEGIN;
	}
	wires = strstr(target.dev[0], "/madsim/");
	setvbuf(stdout, NULL, _IOLBF, 0);
	if ((wires ? wires_open(target.dev, target.devs) : execute_init(&target)) ||
	    coverage_init(module) || (path && load(path)))
		return CANNOT_BEGIN;

	fuzz_seed(seed, strstr(target.dev[0], "uverbs"));
	pthread_create(&watcher, NULL, watch, NULL);

	for (c = 0; c < programs && ok; c++) {
		ok = run(&corpus[c]);
		coverage_keep();
	}
	printf("# %d programs of the corpus reach %zu points of %s\n", programs,
	       coverage_total(), module);
	reached = !path || (long)coverage_total() >= points;

	before = executions;
	end = time(NULL) + seconds;
	while (ok && executions - before < most && (!seconds || time(NULL) < end))
		ok = wires ? try_frame() : try_one(keep);
	finished = true;
	pthread_join(watcher, NULL);
	if (wires)
		reached = (long)coverage_total() >= points;
	printf("# seed %ld: %ld run, %zu points reached, %d programs worth keeping, ", seed,
	       (long)executions, coverage_total(), programs);
	printf("%ld frames discarded by ports\n", wires_discarded);
	return (ok ? 0 : WRONG_END) | (reached ? 0 : TOO_FEW_POINTS);
}
