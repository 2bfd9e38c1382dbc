// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Programs: what their calls and arguments are called, how they are written
 * down, and how one becomes another.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

static const struct {
	const char *name;
	enum kind arg[MAX_ARGS];
	int weight;
} whats[OP_WHATS] = {
	[OP_OPEN] = { "open", { K_DEV, K_FLAGS }, 10 },
	[OP_CLOSE] = { "close", { K_FD }, 4 },
	[OP_DUP] = { "dup", { K_FD }, 1 },
	[OP_PKEY] = { "pkey", { K_FD }, 4 },
	[OP_REG1] = { "reg1", { K_FD, K_MEM, K_QPN, K_CLASS, K_VERSION, K_OUI,
				K_RMPP, K_METHODS, K_METHODS }, 8 },
	[OP_REG2] = { "reg2", { K_FD, K_MEM, K_QPN, K_CLASS, K_VERSION, K_OUI,
				K_RMPP, K_METHODS, K_METHODS, K_REG_FLAGS }, 12 },
	[OP_UNREG] = { "unreg", { K_FD, K_MEM, K_ID }, 4 },
	[OP_IOCTL] = { "ioctl", { K_FD, K_CMD, K_MEM, K_ANY }, 1 },
	[OP_WRITE] = { "write", { K_FD, K_MEM, K_LEN, K_ID, K_QPN, K_WHERE, K_MS,
				  K_ANY, K_CLASS, K_METHOD, K_TID,
				  K_RMPP_FLAGS, K_ANY, K_VERSION }, 24 },
	[OP_SMP] = { "smp", { K_FD, K_MEM, K_ID, K_MS, K_METHOD, K_TID, K_HOPS,
			      K_ANY }, 8 },
	[OP_READ] = { "read", { K_FD, K_MEM, K_LEN }, 16 },
	[OP_POLL] = { "poll", { K_FD, K_MS }, 6 },
	[OP_FDINFO] = { "fdinfo", { K_FD }, 2 },
	[OP_WAIT] = { "wait", { K_MS }, 4 },
	[OP_UNPLUG] = { "unplug", { K_NONE }, 1 },
	[OP_PLUG] = { "plug", { K_NONE }, 1 },
	[OP_VOPEN] = { "vopen", { K_DEV }, 6 },
	[OP_VCLOSE] = { "vclose", { K_FD }, 1 },
	[OP_PD] = { "pd", { K_FD }, 6 },
	[OP_MR] = { "mr", { K_FD, K_OBJ, K_MEM, K_LEN, K_ACCESS }, 8 },
	[OP_CQ] = { "cq", { K_FD, K_COUNT, K_ANY }, 6 },
	[OP_SRQ] = { "srq", { K_FD, K_OBJ, K_COUNT, K_SGES, K_COUNT, K_ANY }, 4 },
	[OP_QP] = { "qp", { K_FD, K_OBJ, K_OBJ, K_OBJ, K_OBJ, K_QP_TYPE, K_COUNT, K_COUNT,
			    K_SGES, K_INLINE, K_ANY }, 12 },
	[OP_AH] = { "ah", { K_FD, K_OBJ, K_FD, K_ANY, K_ANY }, 6 },
	[OP_MODIFY] = { "modify", { K_FD, K_OBJ, K_STATE, K_MASK, K_ANY, K_ANY }, 8 },
	[OP_UP] = { "up", { K_FD, K_OBJ, K_FD, K_OBJ }, 16 },
	[OP_SEND] = { "send", { K_FD, K_OBJ, K_OPCODE, K_SEND_FLAGS, K_SGES, K_LEN, K_OBJ,
				K_FD, K_ANY }, 24 },
	[OP_RECV] = { "recv", { K_FD, K_ANY, K_OBJ, K_SGES, K_LEN, K_OBJ }, 16 },
	[OP_VPOLL] = { "vpoll", { K_FD, K_OBJ, K_ANY }, 8 },
	[OP_NOTIFY] = { "notify", { K_FD, K_OBJ, K_ANY }, 4 },
	[OP_LIMIT] = { "limit", { K_FD, K_OBJ, K_ANY, K_COUNT }, 2 },
	[OP_GROUP] = { "group", { K_FD, K_OBJ, K_ANY, K_ANY }, 4 },
	[OP_DESTROY] = { "destroy", { K_FD, K_TYPE, K_OBJ }, 8 },
	[OP_RING] = { "ring", { K_FD, K_ANY, K_OBJ, K_ANY, K_COUNT }, 16 },
};

#define LIST(...)	.value = (const uint32_t[]){ __VA_ARGS__ }, \
	.count = sizeof((const uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t)

/* What is well-formed is listed more than once: most calls should be, but for one thing */
static const struct {
	const uint32_t *value;
	unsigned int count;
} kinds[K_KINDS] = {
	[K_DEV] = { LIST(0, 0, 1, 2, 3, 4, 5) },
	[K_FD] = { LIST(0, 0, 0, 0, 1, 1, 2, 3) },
	[K_FLAGS] = { LIST(2, 2, 2, 2, 0, 1) },
	/* Around 56 and 64, with 24, 36, 40, 56, 64, 256 or 2,048 bytes behind */
	[K_LEN] = { LIST(320, 320, 312, 0, 1, 55, 56, 63, 64, 65, 79, 80, 88, 91,
			 92, 99, 100, 103, 104, 119, 120, 127, 128, 256, 311,
			 319, 321, 512, 1024, 2112, 2113, 4096, 16384, 65536) },
	[K_MEM] = { LIST(0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4) },
	[K_ID] = { LIST(0, 0, 0, 0, 1, 2, 31, 32, 0xffffffff) },
	[K_QPN] = { LIST(1, 1, 1, 0, 0, 2, 0xffffffff) },
	[K_CLASS] = { LIST(0x3a, 0x3a, 0, 0, 0x01, 0x81, 0x03, 0x04, 0x06, 0x07,
			   0x08, 0x0a, 0x30, 0x4f, 0x50, 0xff) },
	[K_VERSION] = { LIST(1, 1, 1, 2, 0, 0x80, 8, 200) },
	[K_OUI] = { LIST(0x02554d, 0x02554d, 0, 1, 0xffffff, 0x1000000) },
	[K_RMPP] = { LIST(0, 0, 1, 1, 2, 255) },
	[K_METHODS] = { LIST(0x0e, 0x0e, 0, 0, 1, 0xffffffff) },
	[K_REG_FLAGS] = { LIST(0, 0, 0, 1, 2, 3, 0xffffffff) },
	[K_CMD] = { LIST(0, 1, 2, 3, 4, 0xffffffff) },
	[K_WHERE] = { LIST(0, 0, 0, 1, 1, 2, 3, 4, 5, 6) },
	[K_MS] = { LIST(0, 0, 1, 1, 5, 20) },
	[K_METHOD] = { LIST(1, 1, 2, 3, 0x81, 0x92, 0, 0x80, 0xff) },
	[K_TID] = { LIST(1, 1, 2, 3, 0, 0xffffffff) },
	[K_RMPP_FLAGS] = { LIST(0, 0, 0, 1, 1, 3, 5, 7, 0xff) },
	[K_HOPS] = { LIST(0, 0, 0, 1, 2, 63, 64, 255) },
	[K_ANY] = { LIST(0, 1, 2, 0x7fffffff, 0x80000000, 0xffffffff) },
	[K_OBJ] = { LIST(0, 0, 0, 0, 1, 1, 2, 3, 0x10000, 0xffffffff) },
	[K_TYPE] = { LIST(0, 1, 2, 3, 4, 5) },
	[K_COUNT] = { LIST(8, 8, 8, 8, 1, 2, 0, 64, 8192, 8193, 262144, 262145) },
	[K_SGES] = { LIST(1, 1, 1, 2, 4, 0, 32, 33, 0xffffffff) },
	[K_INLINE] = { LIST(0, 0, 0, 64, 512, 513) },
	[K_ACCESS] = { LIST(0xf, 0xf, 0xf, 0xf, 0, 1, 7, 0x10, 0x40, 0xffffffff) },
	[K_QP_TYPE] = { LIST(2, 2, 2, 3, 4, 4, 0, 1, 8, 255) },
	[K_STATE] = { LIST(0, 1, 2, 3, 4, 5, 6, 7) },
	[K_MASK] = { LIST(0, 0, 0x70, 0x38, 0x121180, 0x10000, 0x12e00, 0x10e00, 0x4000,
			  0x1fffff) },
	[K_OPCODE] = { LIST(2, 2, 2, 3, 0, 0, 1, 4, 4, 5, 6, 7, 8, 9, 10, 11, 255) },
	[K_SEND_FLAGS] = { LIST(2, 2, 2, 0, 4, 6, 8, 10, 0xffffffff) },
};

static uint64_t state;
static int first = OP_OPEN, last = OP_PLUG;

void fuzz_seed(uint64_t seed, bool verbs)
{
	if (verbs) {
		first = OP_WAIT;
		last = OP_RING;
	}
	state = seed * 2 + 1;
}

/* xorshift64* */
uint32_t fuzz_any(uint32_t below)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return (state * 0x2545f4914f6cdd1dULL >> 32) % below;
}

static uint32_t any_value(enum kind kind)
{
	if (!fuzz_any(64))
		return fuzz_any(0xffffffff);
	return kinds[kind].value[fuzz_any(kinds[kind].count)];
}

static struct op any_op(void)
{
	struct op op = { 0 };
	int total = 0, i;

	for (i = first; i <= last; i++)
		total += whats[i].weight;
	total = fuzz_any(total);
	for (i = first; total >= whats[i].weight; i++)
		total -= whats[i].weight;

	op.what = i;
	for (i = 0; i < MAX_ARGS && whats[op.what].arg[i]; i++)
		op.arg[i] = any_value(whats[op.what].arg[i]);
	return op;
}

/* A program that opens nothing does nothing */
void program_generate(struct program *p)
{
	memset(p, 0, sizeof(*p));
	p->len = 2 + fuzz_any(8);
	for (int i = 0; i < p->len; i++)
		p->op[i] = any_op();
	p->op[0] = (struct op){ first == OP_OPEN ? OP_OPEN : OP_VOPEN, { fuzz_any(3), 2 } };
}

void program_drop(struct program *p, int at)
{
	p->len--;
	memmove(&p->op[at], &p->op[at + 1], (p->len - at) * sizeof(p->op[0]));
}

static void insert(struct program *p, int at, struct op op)
{
	if (p->len == MAX_OPS)
		return;
	memmove(&p->op[at + 1], &p->op[at], (p->len - at) * sizeof(p->op[0]));
	p->op[at] = op;
	p->len++;
}

static void change_argument(struct op *op)
{
	int args = 0, i;

	while (args < MAX_ARGS && whats[op->what].arg[args])
		args++;
	if (!args)
		return;
	i = fuzz_any(args);
	switch (fuzz_any(8)) {
	case 0:
		op->arg[i] ^= 1U << fuzz_any(32);
		break;
	case 1:
		op->arg[i] += fuzz_any(17) - 8;
		break;
	default:
		op->arg[i] = any_value(whats[op->what].arg[i]);
	}
}

void program_mutate(struct program *p, const struct program *other)
{
	int times = 1 + fuzz_any(3), at;

	while (times--) {
		at = fuzz_any(p->len);
		switch (fuzz_any(10)) {
		case 0:
			if (p->len > 1)
				program_drop(p, at);
			break;
		case 1:
			insert(p, at, p->op[at]);
			break;
		case 2:
		case 3:
			insert(p, fuzz_any(p->len + 1), any_op());
			break;
		case 4:
			/* The end of another one */
			for (int i = fuzz_any(other->len); i < other->len; i++)
				insert(p, p->len, other->op[i]);
			break;
		default:
			change_argument(&p->op[at]);
		}
	}
}

void program_print(const struct program *p, FILE *f)
{
	for (int i = 0; i < p->len; i++) {
		const struct op *op = &p->op[i];

		fputs(whats[op->what].name, f);
		for (int a = 0; a < MAX_ARGS && whats[op->what].arg[a]; a++)
			fprintf(f, op->arg[a] < 10 ? " %u" : " %#x", op->arg[a]);
		fputc('\n', f);
	}
}

static int parse_op(struct op *op, char *text)
{
	char *word = strtok(text, " \t\n"), *end;
	int i;

	memset(op, 0, sizeof(*op));
	for (i = 0; i < OP_WHATS && strcmp(word, whats[i].name); i++)
		;
	if (i == OP_WHATS)
		return -1;
	op->what = i;
	for (i = 0; i < MAX_ARGS && whats[op->what].arg[i]; i++) {
		word = strtok(NULL, " \t\n");
		if (!word)
			return -1;
		op->arg[i] = strtoul(word, &end, 0);
		if (*end)
			return -1;
	}
	return strtok(NULL, " \t\n") ? -1 : 0;
}

/*
 * Reads to the blank line behind a program. Lines after a # are for its readers. @line is
 * the last one that was read. Returns the number of calls, 0 at the end, -1 for an error
 */
int program_parse(struct program *p, FILE *f, int *line)
{
	char text[512];
	size_t blank;

	p->len = 0;
	while (fgets(text, sizeof(text), f)) {
		++*line;
		blank = strspn(text, " \t\n");
		if (!text[blank] && p->len)
			break;
		if (!text[blank] || text[blank] == '#')
			continue;
		if (p->len == MAX_OPS || parse_op(&p->op[p->len], text))
			return -1;
		p->len++;
	}
	return p->len;
}
