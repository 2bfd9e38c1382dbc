/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What umad_bench.c and others_bench.c do alike: agents, requests, exchanges of MADs, and
 * what an exchange takes. Include it after _GNU_SOURCE.
 */
#ifndef BENCH_AGENT_H
#define BENCH_AGENT_H

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>

#include <rdma/ib_user_mad.h>

#include "../selftests/rdma/user_mad/lib/mad.h"
#include "bench.h"

/* No port has it, so a switch discards packets to it */
#define ABSENT_LID	0xbfff

#define CLASS_VENDOR	0x32
#define CLASS_VENDOR_RMPP 0x33

#define ATTR_CLASS_PORT_INFO 0x01
#define TIMEOUT_MS	(3600 * 1000)
#define VENDOR_OUI	0x001405

struct umad {
	struct ib_user_mad_hdr	hdr;
	struct mad		mad;
};

struct agent {
	int		fd;
	uint32_t	id;
	uint32_t	tid;
	uint32_t	held;	/* requests outstanding for good */
};

enum exchange { DR0, DR1, LID, PING, EXCHANGES, PERF = EXCHANGES };

struct figure {
	const char	*name;
	void		(*run)(void);
	unsigned int	most;	/* of what grows in steps */
};

static unsigned int samples;
static unsigned int most;
static uint16_t peer_lid;

static inline int open_port(unsigned int n)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/dev/infiniband/umad%u", n);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		err(1, "%s", path);
	return fd;
}

static inline struct agent register_on(int fd, int qpn, int class, int rmpp_version)
{
	struct ib_user_mad_reg_req2 req = {
		.qpn = qpn,
		.mgmt_class = class,
		.mgmt_class_version = class ? 1 : 0,
		.oui = class ? VENDOR_OUI : 0,
		.rmpp_version = rmpp_version,
	};
	struct agent agent = { .fd = fd };

	if (class)
		req.method_mask[0] = 1 << MAD_GET | 1 << MAD_SEND;
	if (ioctl(fd, IB_USER_MAD_REGISTER_AGENT2, &req))
		err(1, "IB_USER_MAD_REGISTER_AGENT2");
	agent.id = req.id;
	return agent;
}

static inline struct agent new_agent(unsigned int port, int qpn, int class, int rmpp_version)
{
	return register_on(open_port(port), qpn, class, rmpp_version);
}

static inline uint16_t read_lid(const char *path)
{
	FILE *f = fopen(path, "r");
	unsigned int lid;

	if (!f || fscanf(f, "%x", &lid) != 1 || !lid || lid >= ABSENT_LID)
		errx(1, "%s: no LID; is there a subnet manager?", path);
	fclose(f);
	return lid;
}

static inline struct umad *request(struct agent *agent, enum exchange what, uint16_t lid)
{
	static struct umad umad;
	struct mad *mad = &umad.mad;
	struct umad_smp *smp = (struct umad_smp *)mad;

	memset(&umad, 0, sizeof(umad));
	umad.hdr.id = agent->id;
	umad.hdr.timeout_ms = TIMEOUT_MS;
	umad.hdr.lid = htobe16(what < LID ? LID_PERMISSIVE : lid);
	mad->base_version = 1;
	mad->class_version = 1;
	mad->method = MAD_GET;
	mad->attr_id = htobe16(SMP_NODE_INFO);
	mad->tid = htobe64(++agent->tid);
	switch (what) {
	case DR0:
	case DR1:
		smp->hop_cnt = what == DR1;
		smp->initial_path[1] = what == DR1;
		mad->mgmt_class = MAD_CLASS_SM_DIRECTED;
		smp->dr_slid = htobe16(LID_PERMISSIVE);
		smp->dr_dlid = htobe16(LID_PERMISSIVE);
		break;
	case LID:
		mad->mgmt_class = MAD_CLASS_SM_LID;
		break;
	case PERF:
		umad.hdr.qpn = htobe32(1);
		mad->mgmt_class = MAD_CLASS_PERF;
		mad->attr_id = htobe16(ATTR_CLASS_PORT_INFO);
		break;
	default:
		umad.hdr.qpn = htobe32(1);
		mad->mgmt_class = CLASS_VENDOR;
		mad->oui[1] = VENDOR_OUI >> 8;
		mad->oui[2] = VENDOR_OUI & 0xff;
		memcpy(mad->data, "ping", 4);
	}
	return &umad;
}

/* What is before the bytes of a message, whose receiver does not answer */
#define MESSAGE_HEAD	(sizeof(struct ib_user_mad_hdr) + MAD_VENDOR_HDR)

static inline void message_head(struct umad *out, struct agent *client)
{
	*out = *request(client, PING, peer_lid);
	out->hdr.timeout_ms = 0;
	out->mad.mgmt_class = CLASS_VENDOR_RMPP;
	out->mad.method = MAD_SEND;
	out->mad.rmpp_version = 1;
	out->mad.rmpp_type = MAD_RMPP_DATA;
	out->mad.rmpp_flags = MAD_RMPP_ACTIVE;
}

static inline void send_umad(const struct agent *agent, const struct umad *umad)
{
	if (write(agent->fd, umad, sizeof(*umad)) != sizeof(*umad))
		err(1, "write");
}

static inline void receive_umad(const struct agent *agent, struct umad *umad)
{
	ssize_t ret = read(agent->fd, umad, sizeof(*umad));

	if (ret != sizeof(*umad))
		err(1, "read returned %zd", ret);
	if (umad->hdr.status)
		errx(1, "no answer: status %u", umad->hdr.status);
}

static inline long sleeps(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw;
}

/* Returns the cost of all of it, or that of the first write() */
static inline uint64_t exchange(struct agent *agent, enum exchange what,
				struct agent *server, bool write_only)
{
	struct umad *umad = request(agent, what, peer_lid);
	static struct umad answer;
	uint64_t start, end;

	start = now();
	send_umad(agent, umad);
	end = now();
	if (server) {
		receive_umad(server, &answer);
		answer.mad.method |= MAD_RESP;
		answer.hdr.timeout_ms = 0;
		send_umad(server, &answer);
	}
	receive_umad(agent, &answer);
	if (!write_only)
		end = now();
	if ((uint32_t)be64toh(answer.mad.tid) != (uint32_t)be64toh(umad->mad.tid) ||
	    !(answer.mad.method & MAD_RESP) || answer.mad.status & htobe16(0x7fff))
		errx(1, "a wrong answer");
	return end - start;
}

/*
 * Of exchanges those in which we did not sleep: to sleep and be woken costs a quarter
 * more. Of a write() alone: the response wakes us before the worker is done with the
 * request. What the next write() costs depends on how far it has come, so it may finish
 * first.
 */
static inline void exchanges(const char *figure, unsigned int x, struct agent *agent,
			     enum exchange what, struct agent *server, bool write_only)
{
	uint64_t least = NO_SAMPLE;
	unsigned int i;

	run_as(write_only ? SCHED_FIFO : SCHED_IDLE);
	for (i = 0; i < samples; i++) {
		uint64_t cost;
		long before;

		if (!write_only && i % 16 == 0)
			settle(20);
		before = sleeps();
		cost = exchange(agent, what, server, write_only);
		if (write_only || sleeps() == before)
			lower(&least, cost);
		if (write_only)
			settle(1);
	}
	run_as(SCHED_OTHER);
	tell(figure, x, least);
}

/*
 * Of a class whose requests the MAD layer does not hold back: of others, Linux 7.x
 * has 128 of an agent on the wire, and the rest waits.
 */
static inline void hold(struct agent *agent, unsigned int count)
{
	while (agent->held < count) {
		send_umad(agent, request(agent, PERF, ABSENT_LID));
		/* The send queue wants to drain */
		if (++agent->held % 64 == 0)
			settle(1);
	}
	settle(200);
}

/* kB of slab memory */
static inline unsigned long slab(void)
{
	unsigned long kb = 0;
	char line[128];
	FILE *f;

	settle(500);
	f = fopen("/proc/meminfo", "r");
	while (f && fgets(line, sizeof(line), f) && sscanf(line, "Slab: %lu kB", &kb) != 1)
		;
	if (!kb)
		errx(1, "/proc/meminfo: no Slab");
	fclose(f);
	return kb;
}

/* PROGRAM SAMPLES FIGURE */
static inline void run_figure(const struct figure *figures, size_t count, int argc, char **argv)
{
	size_t i;

	if (argc != 3)
		errx(2, "usage: %s SAMPLES FIGURE", argv[0]);
	samples = atoi(argv[1]);
	peer_lid = read_lid("/sys/class/infiniband/madsim1/ports/1/lid");
	for (i = 0; i < count && strcmp(argv[2], figures[i].name); i++)
		;
	if (i == count)
		errx(2, "%s: no such figure", argv[2]);
	most = figures[i].most;
	figures[i].run();
}

#endif /* BENCH_AGENT_H */
