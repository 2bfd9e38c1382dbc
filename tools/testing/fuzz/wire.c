// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Wires, or their streams: this program is the cable between two, carries what goes over it, and
 * writes frames besides that are made of those. A frame that reaches something new is
 * kept. They leave hardly a port active, so at times it only carries, until programs have
 * connected queue pairs.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fuzz.h"

#define FRAME_MAX	4194
#define POOL		256
#define KEPT		1024
#define SAME_OPCODE	4	/* are kept of what is carried */
#define ROUND		200000	/* frames before it only carries, for a while */
#define BTH(frame)	(((frame)->bytes[1] & 3) == 3 ? 48 : 8)
#define HEADERS		96	/* of most frames, more than they have */

struct frame {
	size_t len;
	uint8_t bytes[FRAME_MAX + HEADERS];
};

static struct frame pool[POOL + KEPT];
static int fds[2], kept, opcodes[256];
static uint32_t carried, connected;
long wires_discarded;

int wires_open(char **dev, int devs)
{
	for (int i = 0; i < 2; i++) {
		fds[i] = devs == 2 ? open(dev[i], O_RDWR | O_NONBLOCK | O_CLOEXEC) : -1;
		if (fds[i] < 0) {
			perror("two wires");
			return -1;
		}
	}
	return 0;
}

static const struct frame *any_frame(void)
{
	uint32_t here = carried < POOL ? carried : POOL;
	uint32_t which = fuzz_any(here + kept);

	return &pool[which < here ? which : POOL + which - here];
}

static void keep(const struct frame *frame)
{
	if (kept < KEPT)
		pool[POOL + kept++] = *frame;
}

/* A stream that was left in the middle of a frame refuses a length that none has */
static int write_frame(int fd, const struct frame *frame)
{
	if (write(fd, frame->bytes, frame->len) == (ssize_t)frame->len)
		return 0;
	return errno == EPROTO ? 0 : -1;
}

/* Carry what waits at both ends. A wire whose cable is too slow loses packets */
static void carry(void)
{
	for (int i = 0; i < 2; i++) {
		struct frame *frame = &pool[carried % POOL];
		ssize_t n = read(fds[i], frame->bytes, sizeof(frame->bytes));
		uint8_t opcode = frame->bytes[BTH(frame)];

		if (n <= 0)
			continue;
		frame->len = n;
		carried++;
		if (frame->bytes[1] & 2 && opcodes[opcode]++ < SAME_OPCODE)
			keep(frame);
		connected += frame->bytes[1] & 2 && opcode < 0x40;
		if (write_frame(fds[!i], frame) < 0)
			perror("carrying a frame");
	}
}

static void only_carry(void)
{
	struct pollfd ends[] = { { fds[0], POLLIN, 0 }, { fds[1], POLLIN, 0 } };
	time_t end = time(NULL) + 30;

	for (connected = 0; connected < 40 && time(NULL) < end; carry())
		poll(ends, 2, 100);
}

static void put(struct frame *frame, size_t at, int bytes, uint64_t value)
{
	while (bytes-- && at + bytes < sizeof(frame->bytes)) {
		frame->bytes[at + bytes] = value;
		value >>= 8;
	}
}

static void mutate(struct frame *frame, const struct frame *other)
{
	static const uint64_t numbers[] = { 0, 1, 2, 3, 0x7f, 0x80, 0xff, 0x100, 0x7fffffff,
		0x80000000, 0xffff, 0xc000, 0xffffff, 0xffffffff, UINT64_MAX };
	size_t at = fuzz_any(fuzz_any(4) ? HEADERS : FRAME_MAX), n;

	switch (fuzz_any(8)) {
	case 0:
		frame->bytes[at] ^= 1 << fuzz_any(8);
		break;
	case 1:
		put(frame, at, 1 << fuzz_any(4), numbers[fuzz_any(sizeof(numbers) / 8)]);
		break;
	case 2:
		/* An opcode of any service */
		frame->bytes[BTH(frame)] = fuzz_any(256);
		break;
	case 3:
		/* A length that agrees with itself */
		frame->len = 26 + 4 * fuzz_any(fuzz_any(2) ? 64 : FRAME_MAX / 4);
		put(frame, 4, 2, (frame->len - 2) / 4);
		break;
	case 4:
		frame->len = 1 + fuzz_any(FRAME_MAX);
		break;
	case 5:
		/* Headers of one frame, and what follows of another */
		memcpy(frame->bytes, other->bytes, at);
		break;
	case 6:
		n = fuzz_any(HEADERS);
		memcpy(frame->bytes + at, other->bytes + n, fuzz_any(HEADERS - n) + 1);
		break;
	case 7:
		/* The next numbers, as PSNs are */
		frame->bytes[at] += fuzz_any(2) ? 1 : -1;
		break;
	}
	if (frame->len > FRAME_MAX)
		frame->len = FRAME_MAX;
}

/* Write a frame that was not there. Returns what is wrong about how that ended, or NULL */
const char *wires_try(void)
{
	static long tried;
	struct frame frame;
	uint32_t new;
	int ret;

	if (tried % ROUND == 0)
		only_carry();
	/* A read() costs as much as what it looks for */
	if (tried++ % 8 == 0)
		carry();
	if (!carried)
		return "the programs are silent";
	frame = *any_frame();
	for (int i = fuzz_any(fuzz_any(4) + 1); i >= 0; i--)
		mutate(&frame, any_frame());

	coverage_begin();
	ret = write_frame(fds[fuzz_any(2)], &frame);
	coverage_end();
	if (ret < 0)
		return "a frame was not written";
	wires_discarded += coverage_called("madsim_lose");
	if (coverage_new(&new, 1)) {
		coverage_keep();
		keep(&frame);
	}
	return NULL;
}
