/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A fuzzer for the character devices of ib_umad, for verbs, and for wires of madsim. To
 * wires it writes frames. Elsewhere it runs programs: short lists of system calls with
 * arguments, which are written down as text, mutated, executed, and kept when they reach
 * code that none reached before.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define MAX_OPS		24
#define MAX_ARGS	14

/* What an argument means, and so which values of it are interesting */
enum kind {
	K_NONE,
	K_DEV,		/* which of the devices */
	K_FD,		/* which of the open descriptors */
	K_FLAGS,	/* of open() */
	K_LEN,		/* of a buffer */
	K_MEM,		/* what kind of memory the buffer is */
	K_ID,		/* of an agent */
	K_QPN,
	K_CLASS,
	K_VERSION,
	K_OUI,
	K_RMPP,		/* RMPP version */
	K_METHODS,	/* mask */
	K_REG_FLAGS,
	K_CMD,		/* of ioctl() */
	K_WHERE,	/* destination */
	K_MS,		/* milliseconds */
	K_METHOD,
	K_TID,
	K_RMPP_FLAGS,
	K_HOPS,
	K_ANY,
	K_OBJ,		/* which of the objects of a type */
	K_TYPE,		/* of an object */
	K_COUNT,	/* entries of a queue */
	K_SGES,
	K_INLINE,
	K_ACCESS,
	K_QP_TYPE,
	K_STATE,	/* of a queue pair */
	K_MASK,		/* of its attributes */
	K_OPCODE,
	K_SEND_FLAGS,
	K_KINDS
};

/* One system call; program.c knows their names and arguments */
enum what {
	OP_OPEN,
	OP_CLOSE,
	OP_DUP,
	OP_PKEY,
	OP_REG1,
	OP_REG2,
	OP_UNREG,
	OP_IOCTL,
	OP_WRITE,
	OP_SMP,
	OP_READ,
	OP_POLL,
	OP_FDINFO,
	OP_WAIT,	/* these three are for verbs, too */
	OP_UNPLUG,
	OP_PLUG,
	OP_VOPEN,
	OP_VCLOSE,
	OP_PD,
	OP_MR,
	OP_CQ,
	OP_SRQ,
	OP_QP,
	OP_AH,
	OP_MODIFY,
	OP_UP,
	OP_SEND,
	OP_RECV,
	OP_VPOLL,
	OP_NOTIFY,
	OP_LIMIT,
	OP_GROUP,
	OP_DESTROY,
	OP_RING,
	OP_WHATS
};

struct op {
	enum what what;
	uint32_t arg[MAX_ARGS];
};

struct program {
	int len;
	struct op op[MAX_OPS];
};

/* Where programs run */
struct target {
	char **dev;		/* paths of the devices, the first one a umadN, or all uverbsN */
	int devs;
	const char *faults;	/* the file of madsim to unplug by, or NULL */
	const char *node;
};

/* program.c */
void fuzz_seed(uint64_t seed, bool verbs);
uint32_t fuzz_any(uint32_t below);
void program_generate(struct program *p);
void program_mutate(struct program *p, const struct program *other);
void program_drop(struct program *p, int at);
void program_print(const struct program *p, FILE *f);
int program_parse(struct program *p, FILE *f, int *line);

/* execute.c */
int execute_init(const struct target *target);
const char *execute(const struct program *p);
uint16_t device_lid(const char *dev);
void judge(const char *what, long ret, bool good, bool wrong, const int *errors);
bool unreadable(uint32_t mem, size_t len);
void *memory(uint32_t mem, const void *data, size_t data_len, size_t len);

/* verbs.c */
void verbs_op(const struct target *target, const struct op *op);
void verbs_end(void);

/* wire.c */
int wires_open(char **dev, int devs);
const char *wires_try(void);
extern long wires_discarded;

/* coverage.c */
int coverage_init(const char *module);
void coverage_begin(void);
void coverage_end(void);
bool coverage_called(const char *name);
size_t coverage_new(uint32_t *points, size_t max);
bool coverage_has(const uint32_t *points, size_t n);
void coverage_keep(void);
size_t coverage_total(void);

#endif /* FUZZ_H */
