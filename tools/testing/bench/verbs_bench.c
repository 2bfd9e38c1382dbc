// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What a message over a connected queue pair costs, and a connection by TCP.
 *
 *	verbs_bench verbs SAMPLES NAME DEVICE DEVICE
 *	verbs_bench tcp SAMPLES NAME NAMESPACE NAMESPACE ADDRESS
 *
 * tells "verbs.NAME.OPERATION BYTES LEAST" as bench.h does: of
 * messages from one device to the other, or of what is sent from the second network
 * namespace to the first one, which has the address.
 *
 * One thread has both ends, and polls. So what is measured is the work of both ends,
 * and of what is between them, and no wait.
 */
#define _GNU_SOURCE

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <infiniband/verbs.h>

#include "bench.h"

#define LONGEST		(1024 * 1024)
#define DEPTH		16	/* messages under way, where it is not one */
#define FEWER		8	/* samples of the longest are so many times fewer */
#define ACCESS		(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | \
			 IBV_ACCESS_REMOTE_READ)

/* An end of the connection */
struct end {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t *buf;
};

static struct end ends[2];
static const char *name;
static unsigned int samples;

static void tell_of(const char *operation, uint32_t bytes, uint64_t least)
{
	char figure[32];

	snprintf(figure, sizeof(figure), "verbs.%s.%s", name, operation);
	tell(figure, bytes, least);
}

static struct ibv_context *open_device(const char *wanted)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = NULL;

	for (int i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), wanted))
			ctx = ibv_open_device(list[i]);
	if (!ctx)
		errx(1, "there is no device %s", wanted);
	return ctx;
}

static void prepare(struct end *end, const char *device)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { DEPTH, DEPTH, 1, 1, 0 },
	};

	end->ctx = open_device(device);
	end->pd = ibv_alloc_pd(end->ctx);
	end->cq = ibv_create_cq(end->ctx, 4 * DEPTH, NULL, NULL, 0);
	end->buf = aligned_alloc(4096, LONGEST);
	if (!end->pd || !end->cq || !end->buf)
		err(1, "an end");
	end->mr = ibv_reg_mr(end->pd, end->buf, LONGEST, ACCESS);
	attr.send_cq = end->cq;
	attr.recv_cq = end->cq;
	end->qp = ibv_create_qp(end->pd, &attr);
	if (!end->mr || !end->qp)
		err(1, "a queue pair");
}

/* To INIT, RTR and RTS, with the other end as the peer; the mask tells what each takes */
static void connect_to(struct end *end, struct end *peer)
{
	static const struct {
		enum ibv_qp_state state;
		int mask;
	} steps[] = {
		{ IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS },
		{ IBV_QPS_RTR, IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER },
		{ IBV_QPS_RTS, IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			       IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC },
	};
	struct ibv_port_attr port, there;
	struct ibv_qp_attr attr = {
		.port_num = 1,
		.qp_access_flags = ACCESS,
		.dest_qp_num = peer->qp->qp_num,
		.max_dest_rd_atomic = DEPTH,
		.min_rnr_timer = 1,
		.timeout = 18,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = DEPTH,
	};

	if (ibv_query_port(end->ctx, 1, &port) || ibv_query_port(peer->ctx, 1, &there))
		err(1, "ibv_query_port");
	attr.path_mtu = port.active_mtu;
	attr.ah_attr.dlid = there.lid;
	attr.ah_attr.port_num = 1;
	if (port.link_layer == IBV_LINK_LAYER_ETHERNET) {
		attr.ah_attr.is_global = 1;
		attr.ah_attr.grh.hop_limit = 1;
		if (ibv_query_gid(peer->ctx, 1, 0, &attr.ah_attr.grh.dgid))
			err(1, "ibv_query_gid");
	}
	for (unsigned int i = 0; i < ARRAY_SIZE(steps); i++) {
		attr.qp_state = steps[i].state;
		if (ibv_modify_qp(end->qp, &attr, IBV_QP_STATE | steps[i].mask))
			err(1, "ibv_modify_qp, step %u", i);
	}
}

static void post_recv(struct end *end, uint32_t bytes)
{
	struct ibv_sge sge = { (uintptr_t)end->buf, bytes, end->mr->lkey };
	struct ibv_recv_wr *bad, wr = { .sg_list = &sge, .num_sge = 1 };

	if (ibv_post_recv(end->qp, &wr, &bad))
		err(1, "ibv_post_recv");
}

/* Post so many of the same in one call */
static void post(struct end *end, enum ibv_wr_opcode opcode, uint32_t bytes,
		 const struct end *peer, unsigned int count)
{
	struct ibv_sge sge = { (uintptr_t)end->buf, bytes, end->mr->lkey };
	struct ibv_send_wr *bad, wr[DEPTH];

	for (unsigned int i = 0; i < count; i++)
		wr[i] = (struct ibv_send_wr) {
			.next = i + 1 < count ? &wr[i + 1] : NULL,
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = opcode,
			.send_flags = IBV_SEND_SIGNALED,
			.wr.rdma = { (uintptr_t)peer->buf, peer->mr->rkey },
		};
	if (ibv_post_send(end->qp, wr, &bad))
		err(1, "ibv_post_send");
}

static void wait_for(struct end *end, int count)
{
	struct ibv_wc wc[DEPTH];

	while (count > 0) {
		int n = ibv_poll_cq(end->cq, DEPTH, wc);

		if (n < 0)
			errx(1, "ibv_poll_cq");
		for (int i = 0; i < n; i++)
			if (wc[i].status)
				errx(1, "%s", ibv_wc_status_str(wc[i].status));
		count -= n;
	}
}

/* There and back, one at a time */
static void ping(uint32_t bytes)
{
	uint64_t least = NO_SAMPLE;

	for (unsigned int i = 0; i < samples; i++) {
		uint64_t start;

		post_recv(&ends[0], bytes);
		post_recv(&ends[1], bytes);
		settle(1);
		start = now();
		post(&ends[0], IBV_WR_SEND, bytes, &ends[1], 1);
		wait_for(&ends[1], 1);
		post(&ends[1], IBV_WR_SEND, bytes, &ends[0], 1);
		wait_for(&ends[0], 2);
		lower(&least, (now() - start) / 2);
		wait_for(&ends[1], 1);
	}
	tell_of("send", bytes, least);
}

/* DEPTH of them under way, so many of which are posted in one call */
static void many(const char *operation, enum ibv_wr_opcode opcode, uint32_t bytes,
		 unsigned int at_once)
{
	uint64_t least = NO_SAMPLE;

	for (unsigned int i = 0; i < samples; i++) {
		uint64_t start;

		settle(1);
		start = now();
		for (unsigned int k = 0; k < DEPTH; k += at_once)
			post(&ends[0], opcode, bytes, &ends[1], at_once);
		wait_for(&ends[0], DEPTH);
		lower(&least, (now() - start) / DEPTH);
	}
	if (memcmp(ends[0].buf, ends[1].buf, bytes))
		errx(1, "%s of %u bytes: they are not there", operation, bytes);
	tell_of(operation, bytes, least);
}

static void enter(const char *namespace)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "/run/netns/%s", namespace);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		err(1, "%s", path);
	close(fd);
}

/* A connection from one namespace to the other, of which no end ever waits */
static void by_tcp(const char *server, const char *client, const char *address, int fds[2])
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(7471) };
	int listener, one = 1;

	if (inet_pton(AF_INET, address, &at.sin_addr) != 1)
		errx(2, "%s: no address", address);
	enter(server);
	listener = socket(AF_INET, SOCK_STREAM, 0);
	/* The connection of the run before may not be forgotten yet */
	if (setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    bind(listener, (struct sockaddr *)&at, sizeof(at)) || listen(listener, 1))
		err(1, "%s", address);
	enter(client);
	fds[1] = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(fds[1], (struct sockaddr *)&at, sizeof(at)))
		err(1, "%s", address);
	fds[0] = accept(listener, NULL, NULL);
	for (int i = 0; i < 2; i++)
		if (fcntl(fds[i], F_SETFL, O_NONBLOCK))
			err(1, "a connection");
}

/* What read() or write() has done, if it could do something */
static size_t progress(ssize_t ret)
{
	if (!ret || (ret < 0 && errno != EAGAIN))
		err(1, "a connection");
	return ret < 0 ? 0 : ret;
}

static void tcp(int fds[2])
{
	uint8_t *from = calloc(1, LONGEST), *to = calloc(1, LONGEST);
	uint64_t least = NO_SAMPLE;

	for (unsigned int i = 0; from && to && i < samples / FEWER; i++) {
		size_t sent = 0, got = 0;
		uint64_t start;

		settle(1);
		start = now();
		while (got < LONGEST) {
			if (sent < LONGEST)
				sent += progress(write(fds[1], from + sent, LONGEST - sent));
			got += progress(read(fds[0], to + got, LONGEST - got));
		}
		lower(&least, now() - start);
	}
	tell_of("tcp", LONGEST, least);
}

static void verbs(void)
{
	static const uint32_t lengths[] = { 64, 4096, LONGEST };

	for (unsigned int i = 0; i < ARRAY_SIZE(lengths); i++) {
		if (lengths[i] == LONGEST)
			samples /= FEWER;
		ping(lengths[i]);
		memset(ends[0].buf, 32 + i, LONGEST);
		many("write", IBV_WR_RDMA_WRITE, lengths[i], 1);
		memset(ends[0].buf, 40 + i, LONGEST);
		many("writes", IBV_WR_RDMA_WRITE, lengths[i], DEPTH);
		memset(ends[1].buf, 48 + i, LONGEST);
		many("read", IBV_WR_RDMA_READ, lengths[i], 1);
	}
}

int main(int argc, char **argv)
{
	int fds[2];

	if (argc < 6 || (strcmp(argv[1], "verbs") && (strcmp(argv[1], "tcp") || argc != 7)))
		errx(2, "usage: verbs_bench verbs|tcp SAMPLES NAME WHERE WHERE [ADDRESS]");
	samples = atoi(argv[2]);
	name = argv[3];
	if (argc == 7) {
		by_tcp(argv[4], argv[5], argv[6], fds);
	} else {
		prepare(&ends[0], argv[4]);
		prepare(&ends[1], argv[5]);
		connect_to(&ends[0], &ends[1]);
		connect_to(&ends[1], &ends[0]);
	}

	run_as(SCHED_IDLE);
	if (argc == 7)
		tcp(fds);
	else
		verbs();
	return 0;
}
