// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Verbs: objects of an RDMA device, by the calls that are write()s on uverbsN */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rdma/ib_user_verbs.h>

#include "fuzz.h"

#define MAX_FILES	2
#define MAX_OBJS	8	/* of a type */
#define MAX_SGE		4
#define QKEY		0x1234
#define PAGE		4096
#define MAX_RING	64	/* pages */

/* What a file has. The argument of "destroy" is one of these */
enum type { PD, MR, CQ, SRQ, QP, AH, TYPES };

struct object {
	uint32_t handle;
	uint32_t number;	/* of a queue pair, or the key of a region */
	uint8_t qp_type;
	uint64_t addr;
	uint32_t *ring;		/* head, tail and entries, if it is mapped */
	size_t ring_len;
	uint32_t places, slot;	/* of what is posted there: how many, and bytes of each */
};

static struct file {
	int fd, async;
	uint16_t lid;
	int count[TYPES];
	struct object object[TYPES][MAX_OBJS];
} files[MAX_FILES];
static int nfiles;

static const int open_errors[] = { ENXIO, ENOENT, EIO, ENODEV, ENOMEM, 0 };
static const int errors[] = { EINVAL, EFAULT, ENOMEM, ENOSPC, EOPNOTSUPP, EBUSY, EPERM,
	EIO, ENODEV, EEXIST, ENOENT, ENODATA, 0 };

/* A number that is none of an object's stays what it is */
static struct object pick(const struct file *file, enum type type, uint32_t arg)
{
	int count = file->count[type];

	if (arg > 0xffff || !count)
		return (struct object){ .handle = arg };
	return file->object[type][arg % count];
}

static void add(struct file *file, enum type type, struct object object)
{
	if (file->count[type] < MAX_OBJS)
		file->object[type][file->count[type]++] = object;
}

/* The kernel knows how long it is, and maps nothing else */
static void map(const struct file *file, struct object *object, uint64_t offset)
{
	size_t len = PAGE;
	void *ring;

	do {
		ring = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, file->fd, offset);
	} while (ring == MAP_FAILED && (len += PAGE) <= MAX_RING * PAGE);
	if (ring == MAP_FAILED)
		return;
	object->ring = ring;
	object->ring_len = len;
}

/* @wrong: as of judge(). What has a response has its address in front */
static bool call(const struct file *file, uint32_t command, void *cmd, size_t size,
		 void *resp, size_t resp_size, bool wrong)
{
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		uint8_t cmd[1024];
	} buf = { .hdr = {
		.command = command,
		.in_words = (sizeof(buf.hdr) + size) / 4,
		.out_words = resp_size / 4,
	} };
	uint64_t address = (uintptr_t)resp;
	char what[32];
	long ret;

	memcpy(buf.cmd, cmd, size);
	if (resp)
		memcpy(buf.cmd, &address, sizeof(address));
	ret = write(file->fd, &buf, sizeof(buf.hdr) + size);
	snprintf(what, sizeof(what), "verbs command %u", command);
	judge(what, ret, ret == (long)(sizeof(buf.hdr) + size), wrong, errors);
	return ret > 0;
}

/* A call that makes what may have a ring, if it is asked where */
#define CREATE(in, name, type, ask, cmd, wrong, ...) do {		\
	struct file *file_ = in;					\
	bool ring = ask;						\
	struct {							\
		struct ib_uverbs_create_##name##_resp resp;		\
		uint64_t offset;					\
	} with;								\
	typeof(with.resp) *resp = &with.resp;				\
	struct object object;						\
									\
	if (!call(file_, IB_USER_VERBS_CMD_CREATE_##type, &(cmd), sizeof(cmd), &with, \
		  ring ? sizeof(with) : sizeof(with.resp), wrong))	\
		break;							\
	object = (struct object){ .handle = resp->name##_handle, __VA_ARGS__ }; \
	if (ring)							\
		map(file_, &object, with.offset);			\
	add(file_, type, object);					\
} while (0)

#define CALL(file, name, cmd, resp, wrong)				\
	call(file, IB_USER_VERBS_CMD_##name, &(cmd), sizeof(cmd), &(resp), \
	     sizeof(resp), wrong)

static void do_open(const struct target *target, const uint32_t *arg)
{
	const char *path = target->dev[arg[0] % target->devs];
	struct ib_uverbs_get_context cmd = { 0 };
	struct ib_uverbs_get_context_resp resp;
	struct file *file = &files[nfiles];

	if (nfiles == MAX_FILES)
		return;
	*file = (struct file){ .fd = open(path, O_RDWR | O_CLOEXEC) };
	judge("open", file->fd, file->fd >= 0, false, open_errors);
	if (file->fd < 0)
		return;
	if (!CALL(file, GET_CONTEXT, cmd, resp, false)) {
		close(file->fd);
		return;
	}
	file->async = resp.async_fd;
	file->lid = device_lid(path);
	nfiles++;
}

static void do_close(struct file *file, const uint32_t *arg)
{
	for (int type = 0; type < TYPES; type++)
		for (int i = 0; i < file->count[type]; i++)
			munmap(file->object[type][i].ring, file->object[type][i].ring_len);
	close(file->async);
	close(file->fd);
	*file = files[--nfiles];
}

static void do_pd(struct file *file, const uint32_t *arg)
{
	struct ib_uverbs_alloc_pd cmd = { 0 };
	struct ib_uverbs_alloc_pd_resp resp;

	if (CALL(file, ALLOC_PD, cmd, resp, false))
		add(file, PD, (struct object){ .handle = resp.pd_handle });
}

static void do_mr(struct file *file, const uint32_t *arg)
{
	uint64_t addr = (uintptr_t)memory(arg[1], NULL, 0, arg[2] % 65536);
	struct ib_uverbs_reg_mr cmd = {
		.start = addr,
		.length = arg[2] % 65536,
		.hca_va = addr,
		.pd_handle = pick(file, PD, arg[0]).handle,
		.access_flags = arg[3],
	};
	struct ib_uverbs_reg_mr_resp resp;

	if (CALL(file, REG_MR, cmd, resp, !cmd.length || unreadable(arg[1], cmd.length)))
		add(file, MR, (struct object){ resp.mr_handle, resp.lkey, .addr = addr });
}

static void do_cq(struct file *file, const uint32_t *arg)
{
	struct ib_uverbs_create_cq cmd = { .cqe = arg[0], .comp_channel = -1 };

	CREATE(file, cq, CQ, arg[1] & 1, cmd, !cmd.cqe || cmd.cqe > 1 << 18);
}

static void do_srq(struct file *file, const uint32_t *arg)
{
	struct ib_uverbs_create_srq cmd = {
		.pd_handle = pick(file, PD, arg[0]).handle,
		.max_wr = arg[1],
		.max_sge = arg[2],
		.srq_limit = arg[3],
	};

	CREATE(file, srq, SRQ, arg[4] & 1, cmd, !cmd.max_wr || cmd.max_wr > 8192 ||
	       cmd.max_sge > 32 || cmd.srq_limit > cmd.max_wr,
	       .places = resp->max_wr + 1, .slot = 16 + 16 * resp->max_sge);
}

static void do_qp(struct file *file, const uint32_t *arg)
{
	struct ib_uverbs_create_qp cmd = {
		.pd_handle = pick(file, PD, arg[0]).handle,
		.send_cq_handle = pick(file, CQ, arg[1]).handle,
		.recv_cq_handle = pick(file, CQ, arg[2]).handle,
		.srq_handle = pick(file, SRQ, arg[3]).handle,
		.is_srq = file->count[SRQ] && arg[3] % 2,
		.qp_type = arg[4],
		.max_send_wr = arg[5],
		.max_recv_wr = arg[6],
		.max_send_sge = arg[7],
		.max_recv_sge = arg[7],
		.max_inline_data = arg[8],
		.sq_sig_all = arg[9] & 1,
	};

	/* RC, UC and UD */
	CREATE(file, qp, QP, arg[9] & 2, cmd, cmd.qp_type < 2 || cmd.qp_type > 4 ||
	       cmd.max_send_wr > 8192 || cmd.max_send_sge > 32 || cmd.max_inline_data > 512,
	       .number = resp->qpn, .qp_type = cmd.qp_type,
	       .places = resp->max_recv_wr + 1, .slot = 16 + 16 * resp->max_recv_sge);
}

static void do_ah(struct file *file, const uint32_t *arg)
{
	struct ib_uverbs_create_ah cmd = {
		.pd_handle = pick(file, PD, arg[0]).handle,
		.attr = {
			.dlid = arg[1] > 0xff ? arg[1] : files[arg[1] % nfiles].lid,
			.sl = arg[2],
			.is_global = arg[3] & 1,
			.grh = { .dgid = { 0xff, 0x12, [15] = arg[1] },
				 .sgid_index = arg[3] / 2 },
			.port_num = 1,
		},
	};
	struct ib_uverbs_create_ah_resp resp;

	if (CALL(file, CREATE_AH, cmd, resp, false))
		add(file, AH, (struct object){ .handle = resp.ah_handle });
}

static void modify(const struct file *file, struct ib_uverbs_modify_qp *cmd)
{
	call(file, IB_USER_VERBS_CMD_MODIFY_QP, cmd, sizeof(*cmd), NULL, 0, false);
}

static struct ib_uverbs_modify_qp attributes(const struct file *file, uint32_t qp)
{
	return (struct ib_uverbs_modify_qp){
		.qp_handle = pick(file, QP, qp).handle,
		.dest = { .dlid = file->lid, .port_num = 1 },
		.qkey = QKEY,
		.qp_access_flags = 0xf,
		.path_mtu = 1,
		.max_rd_atomic = 1,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 1,
		.port_num = 1,
		.timeout = 8,
		.retry_cnt = 1,
		.rnr_retry = 1,
	};
}

static void do_modify(struct file *file, const uint32_t *arg)
{
	struct ib_uverbs_modify_qp cmd = attributes(file, arg[0]);

	cmd.qp_state = arg[1];
	cmd.attr_mask = 1 | arg[2];
	cmd.path_mtu = arg[3];
	cmd.dest_qp_num = arg[3];
	cmd.pkey_index = arg[4];
	cmd.timeout = arg[4];
	modify(file, &cmd);
}

/* By all states, to a peer of any of the files */
static void do_up(struct file *file, const uint32_t *arg)
{
	struct ib_uverbs_modify_qp cmd = attributes(file, arg[0]);
	bool ud = pick(file, QP, arg[0]).qp_type == 4;
	bool rc = pick(file, QP, arg[0]).qp_type == 2;

	/* STATE, PKEY_INDEX, PORT; QKEY or ACCESS_FLAGS */
	cmd.qp_state = 1;
	cmd.attr_mask = 0x1 | 0x10 | 0x20 | (ud ? 0x40 : 0x8);
	modify(file, &cmd);
	/* AV, PATH_MTU, RQ_PSN, DEST_QPN; MAX_DEST_RD_ATOMIC, MIN_RNR_TIMER */
	cmd.dest.dlid = files[arg[1] % nfiles].lid;
	cmd.dest_qp_num = pick(&files[arg[1] % nfiles], QP, arg[2]).number;
	cmd.qp_state = 2;
	cmd.attr_mask = 0x1 | (ud ? 0 : 0x80 | 0x100 | 0x1000 | 0x100000) |
			(rc ? 0x20000 | 0x8000 : 0);
	modify(file, &cmd);
	/* SQ_PSN; TIMEOUT, RETRY_CNT, RNR_RETRY, MAX_QP_RD_ATOMIC */
	cmd.qp_state = 3;
	cmd.attr_mask = 0x1 | 0x10000 | (rc ? 0x200 | 0x400 | 0x800 | 0x2000 : 0);
	modify(file, &cmd);
}

/* Pieces of a region, if there is one, each of the same length */
static void set_sges(const struct file *file, struct ib_uverbs_sge *sge, uint32_t mr, uint32_t len)
{
	struct object region = pick(file, MR, mr);

	for (int i = 0; i < MAX_SGE; i++)
		sge[i] = (struct ib_uverbs_sge){ region.addr + i * len, len, region.number };
}

static void do_send(struct file *file, const uint32_t *arg)
{
	const struct file *other = &files[arg[6] % nfiles];
	struct object qp = pick(file, QP, arg[0]), there = pick(other, MR, arg[5]);
	struct {
		struct ib_uverbs_post_send post;
		struct ib_uverbs_send_wr wr;
		struct ib_uverbs_sge sge[MAX_SGE];
	} cmd = {
		.post = { .qp_handle = qp.handle, .wr_count = 1,
			  .sge_count = arg[3] % (MAX_SGE + 1), .wqe_size = sizeof(cmd.wr) },
		.wr = { .num_sge = arg[3] % (MAX_SGE + 1), .opcode = arg[1],
			.send_flags = arg[2], .ex.imm_data = arg[7] },
	};
	struct ib_uverbs_post_send_resp resp;

	set_sges(file, cmd.sge, arg[5], arg[4]);
	if (qp.qp_type == 4) {
		cmd.wr.wr.ud.ah = pick(file, AH, arg[7]).handle;
		cmd.wr.wr.ud.remote_qpn = pick(other, QP, arg[7]).number;
		cmd.wr.wr.ud.remote_qkey = QKEY;
	} else if (arg[1] == 5 || arg[1] == 6) {
		cmd.wr.wr.atomic.remote_addr = there.addr + arg[7];
		cmd.wr.wr.atomic.rkey = there.number;
	} else {
		cmd.wr.wr.rdma.remote_addr = there.addr + arg[7];
		cmd.wr.wr.rdma.rkey = there.number;
	}
	call(file, IB_USER_VERBS_CMD_POST_SEND, &cmd,
	     offsetof(typeof(cmd), sge[cmd.wr.num_sge]), &resp, sizeof(resp), false);
}

/* A number somewhere in a ring, mostly an index */
static void do_ring(struct file *file, const uint32_t *arg)
{
	static const enum type types[] = { CQ, SRQ, QP };
	struct object object = pick(file, types[arg[0] % 3], arg[1]);

	if (object.ring)
		object.ring[arg[2] % (arg[2] & 4 ? object.ring_len / 4 : 2)] = arg[3];
}

/* As a program posts without a call */
static void post(const struct object *object, uint8_t num, const struct ib_uverbs_sge *sge)
{
	uint32_t head = object->ring[0] % object->places;
	char *slot = (char *)&object->ring[2] + head * object->slot;

	if (slot + 16 + num * sizeof(*sge) > (char *)object->ring + object->ring_len)
		return;
	slot[8] = num;
	memcpy(slot + 16, sge, num * sizeof(*sge));
	__atomic_store_n(object->ring, (head + 1) % object->places, __ATOMIC_RELEASE);
}

/* To a queue pair, or what several share */
static void do_recv(struct file *file, const uint32_t *arg)
{
	bool srq = arg[0] & 1;
	struct {
		struct ib_uverbs_post_recv post;
		struct ib_uverbs_recv_wr wr;
		struct ib_uverbs_sge sge[MAX_SGE];
	} cmd = {
		.post = { .qp_handle = pick(file, srq ? SRQ : QP, arg[1]).handle,
			  .wr_count = 1, .sge_count = arg[2] % (MAX_SGE + 1),
			  .wqe_size = sizeof(cmd.wr) },
		.wr = { .num_sge = arg[2] % (MAX_SGE + 1) },
	};
	struct ib_uverbs_post_recv_resp resp;
	struct object object = pick(file, srq ? SRQ : QP, arg[1]);

	set_sges(file, cmd.sge, arg[4], arg[3]);
	if (object.ring) {
		post(&object, cmd.wr.num_sge, cmd.sge);
		return;
	}
	call(file, srq ? IB_USER_VERBS_CMD_POST_SRQ_RECV : IB_USER_VERBS_CMD_POST_RECV,
	     &cmd, offsetof(typeof(cmd), sge[cmd.wr.num_sge]), &resp, sizeof(resp), false);
}

static void do_poll(struct file *file, const uint32_t *arg)
{
	struct ib_uverbs_poll_cq cmd = {
		.cq_handle = pick(file, CQ, arg[0]).handle, .ne = arg[1] % 16,
	};
	struct {
		struct ib_uverbs_poll_cq_resp resp;
		struct ib_uverbs_wc wc[16];
	} resp;

	CALL(file, POLL_CQ, cmd, resp, false);
}

static void do_notify(struct file *file, const uint32_t *arg)
{
	struct ib_uverbs_req_notify_cq cmd = {
		.cq_handle = pick(file, CQ, arg[0]).handle, .solicited_only = arg[1] & 1,
	};

	call(file, IB_USER_VERBS_CMD_REQ_NOTIFY_CQ, &cmd, sizeof(cmd), NULL, 0, false);
}

static void do_limit(struct file *file, const uint32_t *arg)
{
	struct ib_uverbs_modify_srq cmd = {
		.srq_handle = pick(file, SRQ, arg[0]).handle,
		.attr_mask = arg[1],
		.max_wr = arg[2],
		.srq_limit = arg[2],
	};

	call(file, IB_USER_VERBS_CMD_MODIFY_SRQ, &cmd, sizeof(cmd), NULL, 0, false);
}

static void do_group(struct file *file, const uint32_t *arg)
{
	struct ib_uverbs_attach_mcast cmd = {
		.gid = { 0xff, 0x12, [15] = arg[1] },
		.qp_handle = pick(file, QP, arg[0]).handle,
		.mlid = 0xc000 + arg[1],
	};

	call(file, arg[2] & 1 ? IB_USER_VERBS_CMD_DETACH_MCAST :
				IB_USER_VERBS_CMD_ATTACH_MCAST,
	     &cmd, sizeof(cmd), NULL, 0, false);
}

static void do_destroy(struct file *file, const uint32_t *arg)
{
	static const struct {
		uint32_t command;
		bool response;
	} how[TYPES] = {
		[PD] = { IB_USER_VERBS_CMD_DEALLOC_PD },
		[MR] = { IB_USER_VERBS_CMD_DEREG_MR },
		[CQ] = { IB_USER_VERBS_CMD_DESTROY_CQ, true },
		[SRQ] = { IB_USER_VERBS_CMD_DESTROY_SRQ, true },
		[QP] = { IB_USER_VERBS_CMD_DESTROY_QP, true },
		[AH] = { IB_USER_VERBS_CMD_DESTROY_AH },
	};
	enum type type = arg[0] % TYPES;
	int at = file->count[type] ? arg[1] % file->count[type] : 0;
	uint32_t handle = pick(file, type, arg[1]).handle, resp[2];
	struct ib_uverbs_destroy_cq cmd = { .cq_handle = handle };
	bool ok;

	if (how[type].response)
		ok = call(file, how[type].command, &cmd, sizeof(cmd), resp,
			  type == CQ ? 8 : 4, false);
	else
		ok = call(file, how[type].command, &handle, sizeof(handle), NULL, 0, false);
	if (ok && file->count[type]) {
		munmap(file->object[type][at].ring, file->object[type][at].ring_len);
		file->object[type][at] = file->object[type][--file->count[type]];
	}
}

void verbs_op(const struct target *target, const struct op *op)
{
	static void (*const how[OP_WHATS])(struct file *file, const uint32_t *arg) = {
		[OP_VCLOSE] = do_close,
		[OP_PD] = do_pd,
		[OP_MR] = do_mr,
		[OP_CQ] = do_cq,
		[OP_SRQ] = do_srq,
		[OP_QP] = do_qp,
		[OP_AH] = do_ah,
		[OP_MODIFY] = do_modify,
		[OP_UP] = do_up,
		[OP_SEND] = do_send,
		[OP_RECV] = do_recv,
		[OP_VPOLL] = do_poll,
		[OP_NOTIFY] = do_notify,
		[OP_LIMIT] = do_limit,
		[OP_GROUP] = do_group,
		[OP_DESTROY] = do_destroy,
		[OP_RING] = do_ring,
	};

	if (op->what == OP_VOPEN)
		do_open(target, op->arg);
	else if (nfiles)
		how[op->what](&files[op->arg[0] % nfiles], op->arg + 1);
}

void verbs_end(void)
{
	while (nfiles)
		do_close(&files[0], NULL);
}
