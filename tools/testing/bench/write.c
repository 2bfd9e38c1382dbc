// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What does write() cost when so many requests are outstanding already?
 *
 * Requests go to the own port of rxe0, where nobody is registered for them, and
 * time out much later. On a machine whose time stamp counter counts
 * instructions (scripts/guest --icount) the least of some writes repeats from
 * boot to boot. Prints "OUTSTANDING INSTRUCTIONS" a line.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <err.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <x86intrin.h>

#include <rdma/ib_user_mad.h>

#define ROUNDS	4
#define SAMPLES	64

static struct {
	struct ib_user_mad_hdr hdr;
	uint8_t mad[256];
} umad = {
	.hdr.timeout_ms	 = 3600 * 1000,
	.hdr.grh_present = 1,
	.hdr.hop_limit	 = 1,
	/* base version, class, class version, method Send: never answered */
	.mad		 = { 1, 0x09, 1, 3 },
};

static void read_gid(uint8_t *gid)
{
	const char *path = "/sys/class/infiniband/rxe0/ports/1/gids/0";
	char text[INET6_ADDRSTRLEN];
	FILE *f = fopen(path, "r");

	if (!f || fscanf(f, "%45s", text) != 1 ||
	    inet_pton(AF_INET6, text, gid) != 1)
		errx(1, "%s: no GID", path);
	fclose(f);
}

static uint64_t timed_write(int fd, uint32_t tid)
{
	uint64_t start, end;

	tid = htobe32(tid);
	memcpy(umad.mad + 12, &tid, sizeof(tid));

	start = __rdtsc();
	if (write(fd, &umad, sizeof(umad)) != sizeof(umad))
		err(1, "write");
	end = __rdtsc();
	return end - start;
}

/* The least that one of some writes costs, on a descriptor of their own */
static uint64_t measure(uint32_t outstanding)
{
	struct ib_user_mad_reg_req2 req = { .qpn = 1 };
	uint64_t least = UINT64_MAX;
	uint32_t sent = 0;
	int fd;

	fd = open("/dev/infiniband/umad0", O_RDWR);
	if (fd < 0 || ioctl(fd, IB_USER_MAD_REGISTER_AGENT2, &req))
		err(1, "umad0");
	umad.hdr.id = req.id;

	while (sent < outstanding)
		timed_write(fd, ++sent);
	/* The worker of the MAD layer shall not be in the way */
	usleep(200 * 1000);

	while (sent < outstanding + SAMPLES) {
		uint64_t cost = timed_write(fd, ++sent);

		if (cost < least)
			least = cost;
	}
	close(fd);
	return least;
}

int main(void)
{
	static const uint32_t outstanding[] = { 1, 16, 256, 1024, 4096, 16384 };
	unsigned int i, round;

	umad.hdr.qpn = htobe32(1);
	read_gid(umad.hdr.gid);

	/* Freshly booted, everything is slow for the first time */
	measure(4096);

	for (i = 0; i < sizeof(outstanding) / sizeof(*outstanding); i++) {
		uint64_t least = UINT64_MAX;

		for (round = 0; round < ROUNDS; round++) {
			uint64_t cost = measure(outstanding[i]);

			if (cost < least)
				least = cost;
		}
		printf("%u %llu\n", outstanding[i], (unsigned long long)least);
	}
	return 0;
}
