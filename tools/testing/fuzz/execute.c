// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Programs become system calls. Whatever a program does, each call has to end
 * as it is documented; the first one that does not is what execute() returns.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include <rdma/ib_user_mad.h>

#include "fuzz.h"

#define MAX_FDS		4
#define MEM		(128 << 10)	/* of each kind of memory */
#define MAX_AGENTS	32
#define RMPP_HDR	36	/* what a write has at least, behind the header */

static const struct target *target;
static uint8_t *normal, *border, *readonly;
static uint8_t own_gid[16];
static uint16_t own_lid;

/* An open descriptor, and the layout that it must speak by now */
static struct {
	int fd;
	size_t hlen;
	bool used;
} files[MAX_FDS];
static int nfiles;
static bool unplugged;
static char why[256];

/* Errors that may be, per call; 0 at the end */
static const int open_errors[] = { ENXIO, ENOENT, EAGAIN, ENOMEM, 0 };
static const int ioctl_errors[] = { EINVAL, EFAULT, ENOMEM, EPIPE, ENOTTY,
	EPROTONOSUPPORT, 0 };
static const int write_errors[] = { EINVAL, EFAULT, EIO, ENOMEM, ENODATA,
	ENETUNREACH, EBADF, 0 };
static const int read_errors[] = { EINVAL, EFAULT, EIO, EAGAIN, ENOSPC, EBADF,
	0 };

/* @wrong: so wrong that it must be refused, whatever else is the case */
void judge(const char *what, long ret, bool good, bool wrong, const int *errors)
{
	int error = errno;

	if (good) {
		if (wrong && !why[0])
			snprintf(why, sizeof(why), "%s was not refused", what);
		return;
	}
	if (ret == -1)
		while (*errors && *errors != error)
			errors++;
	if ((ret != -1 || !*errors) && !why[0])
		snprintf(why, sizeof(why), "%s returned %ld: %s", what, ret, strerror(error));
}

static int read_line(char *buf, size_t size, const char *path)
{
	FILE *f = fopen(path, "r");
	bool ok = f && fgets(buf, size, f);

	if (f)
		fclose(f);
	if (!ok)
		return -1;
	buf[strcspn(buf, "\n")] = 0;
	return 0;
}

/* What sysfs has of port 1 of a device */
static int read_port(char *text, size_t size, const char *dev, const char *file)
{
	const char *name = strrchr(dev, '/') + 1;
	char path[512], ibdev[128];

	snprintf(path, sizeof(path), "/sys/class/infiniband_%s/%s/ibdev",
		 name[1] == 'v' ? "verbs" : "mad", name);
	if (read_line(ibdev, sizeof(ibdev), path))
		return -1;
	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/1/%s", ibdev, file);
	return read_line(text, size, path);
}

/* Programs need to know where they can send something to */
uint16_t device_lid(const char *dev)
{
	char text[128];

	return read_port(text, sizeof(text), dev, "lid") ? 0 : strtoul(text, NULL, 0);
}

static int find_own(const char *dev)
{
	char text[128];

	if (read_port(text, sizeof(text), dev, "gids/0") || inet_pton(AF_INET6, text, own_gid) != 1)
		return -1;
	own_lid = device_lid(dev);
	return 0;
}

static uint8_t *map(int prot)
{
	uint8_t *at = mmap(NULL, MEM, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

int execute_init(const struct target *t)
{
	target = t;
	if (find_own(t->dev[0])) {
		fprintf(stderr, "%s is no device with port 1\n", t->dev[0]);
		return -1;
	}
	normal = map(PROT_READ | PROT_WRITE);
	border = map(PROT_READ | PROT_WRITE);
	readonly = map(PROT_READ);
	if (!normal || !border || !readonly || mprotect(border + MEM / 2, MEM / 2, PROT_NONE)) {
		perror("mmap");
		return -1;
	}
	return 0;
}

/* Memory that memory() makes, and that cannot be read or written to its end */
bool unreadable(uint32_t mem, size_t len)
{
	return len && (mem % 5 == 1 || mem % 5 == 2 || mem % 5 == 4);
}

static bool unwritable(uint32_t mem, size_t len)
{
	return unreadable(mem, len) || (len && mem % 5 == 3);
}

/* @len bytes as @mem wants them, with the beginning of @data if they can be written */
void *memory(uint32_t mem, const void *data, size_t data_len, size_t len)
{
	uint8_t *at = normal;

	if (data_len > len)
		data_len = len;
	switch (mem % 5) {
	case 1:
		/* The last byte is missing */
		at = border + MEM / 2 - (len ? len - 1 : 0);
		if (data_len == len && len)
			data_len--;
		break;
	case 2:
		return NULL;
	case 3:
		return readonly;
	case 4:
		return (void *)-4096L;
	}
	memcpy(at, data, data_len);
	return at;
}

static void add_file(int fd, size_t hlen, bool used)
{
	if (nfiles == MAX_FDS) {
		close(fd);
		return;
	}
	files[nfiles].fd = fd;
	files[nfiles].hlen = hlen;
	files[nfiles++].used = used;
}

static void do_open(const uint32_t *arg)
{
	int fd = open(target->dev[arg[0] % target->devs], arg[1] % 3 | O_NONBLOCK | O_CLOEXEC);

	judge("open", fd, fd >= 0, false, open_errors);
	if (fd >= 0)
		add_file(fd, sizeof(struct ib_user_mad_hdr_old), false);
}

static void do_close(int f, const uint32_t *arg)
{
	close(files[f].fd);
	files[f] = files[--nfiles];
}

static void do_dup(int f, const uint32_t *arg)
{
	int fd = dup(files[f].fd);

	if (fd >= 0)
		add_file(fd, files[f].hlen, files[f].used);
}

static void do_pkey(int f, const uint32_t *arg)
{
	int ret = ioctl(files[f].fd, IB_USER_MAD_ENABLE_PKEY, 0);

	judge("ENABLE_PKEY", ret, !ret, files[f].used, ioctl_errors);
	if (!ret)
		files[f].hlen = sizeof(struct ib_user_mad_hdr);
}

static void do_reg1(int f, const uint32_t *arg)
{
	struct ib_user_mad_reg_req req = {
		.qpn = arg[1],
		.mgmt_class = arg[2],
		.mgmt_class_version = arg[3],
		.oui = { arg[4] >> 16, arg[4] >> 8, arg[4] },
		.rmpp_version = arg[5],
		.method_mask = { arg[6], arg[7] },
	};
	int ret = ioctl(files[f].fd, IB_USER_MAD_REGISTER_AGENT,
			memory(arg[0], &req, sizeof(req), sizeof(req)));

	judge("REGISTER_AGENT", ret, !ret,
	      unwritable(arg[0], sizeof(req)) || req.qpn > 1 || req.rmpp_version > 1, ioctl_errors);
	files[f].used |= !ret;
}

static void do_reg2(int f, const uint32_t *arg)
{
	struct ib_user_mad_reg_req2 req = {
		.qpn = arg[1],
		.mgmt_class = arg[2],
		.mgmt_class_version = arg[3],
		.oui = arg[4],
		.rmpp_version = arg[5],
		.method_mask = { arg[6], arg[7] },
		.flags = arg[8],
	};
	int ret = ioctl(files[f].fd, IB_USER_MAD_REGISTER_AGENT2,
			memory(arg[0], &req, sizeof(req), sizeof(req)));

	judge("REGISTER_AGENT2", ret, !ret,
	      unwritable(arg[0], sizeof(req)) || arg[1] > 1 ||
	      (req.mgmt_class && arg[4] >> 24) || req.rmpp_version > 1 ||
	      arg[8] & ~IB_USER_MAD_REG_FLAGS_CAP, ioctl_errors);
	if (!ret && !files[f].used)
		files[f].hlen = sizeof(struct ib_user_mad_hdr);
	files[f].used |= !ret;
}

static void do_unreg(int f, const uint32_t *arg)
{
	int ret = ioctl(files[f].fd, IB_USER_MAD_UNREGISTER_AGENT, memory(arg[0], &arg[1], 4, 4));

	judge("UNREGISTER_AGENT", ret, !ret,
	      unreadable(arg[0], 4) || (arg[0] % 5 == 0 && arg[1] >= MAX_AGENTS), ioctl_errors);
}

static void do_ioctl(int f, const uint32_t *arg)
{
	uint32_t what[16] = { arg[2], arg[2], arg[2] };
	int ret = ioctl(files[f].fd, _IOC(_IOC_READ | _IOC_WRITE, 0x1b, arg[0], 28),
			memory(arg[1], what, sizeof(what), sizeof(what)));

	judge("ioctl", ret, !ret, (arg[0] & 0xff) != 1, ioctl_errors);
}

static void send_it(int f, uint32_t mem, uint32_t len,
		    const struct ib_user_mad_hdr *hdr, const uint8_t mad[256])
{
	uint8_t buf[sizeof(*hdr) + 256];
	long ret;

	len %= MEM / 2;
	memcpy(buf, hdr, files[f].hlen);
	memcpy(buf + files[f].hlen, mad, 256);
	ret = write(files[f].fd, memory(mem, buf, files[f].hlen + 256, len), len);
	judge("write", ret, ret == len,
	      unreadable(mem, len) || len < files[f].hlen + RMPP_HDR ||
	      (mem % 5 == 0 && hdr->id >= MAX_AGENTS), write_errors);
}

static void set_where(struct ib_user_mad_hdr *hdr, uint32_t where)
{
	hdr->lid = htobe16(own_lid);
	hdr->grh_present = 1;
	hdr->hop_limit = 64;
	memcpy(hdr->gid, own_gid, 16);
	switch (where % 7) {
	case 0:
		break;
	case 1:
		hdr->grh_present = 0;
		break;
	case 2:
		memset(hdr->gid, 0, 16);
		break;
	case 3:
		/* An IPv4 address */
		memset(hdr->gid, 0, 10);
		memset(hdr->gid + 10, 0xff, 2);
		break;
	case 4:
		hdr->lid = 0xffff;
		hdr->grh_present = 0;
		break;
	case 5:
		hdr->lid = htobe16(0x1234);
		break;
	case 6:
		hdr->gid_index = where;
		break;
	}
}

static void do_write(int f, const uint32_t *arg)
{
	struct ib_user_mad_hdr hdr = {
		.id = arg[2],
		.qpn = htobe32(arg[3]),
		.timeout_ms = arg[5] % 100,
		.retries = arg[6] % 3,
	};
	uint8_t mad[256] = { 1, arg[7], arg[12], arg[8] };

	set_where(&hdr, arg[4]);
	/* TID; RMPP version, type, flags; segment; OUI; attribute */
	memcpy(mad + 12, &arg[9], 4);
	mad[24] = 1;
	mad[25] = arg[11] % 8;
	mad[26] = arg[10];
	mad[31] = 1;
	memcpy(mad + 37, "\x02\x55\x4d", 3);
	memcpy(mad + 16, &arg[11], 2);
	send_it(f, arg[0], arg[1], &hdr, mad);
}

static void do_smp(int f, const uint32_t *arg)
{
	struct ib_user_mad_hdr hdr = {
		.id = arg[1],
		.timeout_ms = arg[2] % 100,
		.lid = 0xffff,
	};
	uint8_t mad[256] = { 1, 0x81, 1, arg[3] };

	mad[7] = arg[5];
	memcpy(mad + 12, &arg[4], 4);
	/* NodeInfo and what comes after it */
	mad[17] = 0x11 + arg[6] % 8;
	memset(mad + 32 + 8, 0xff, 4);
	memset(mad + 128 + 1, 1, 3);
	send_it(f, arg[0], files[f].hlen + 256, &hdr, mad);
}

static void do_read(int f, const uint32_t *arg)
{
	uint32_t len = arg[1] % (MEM / 2);
	long ret = read(files[f].fd, memory(arg[0], NULL, 0, len), len);

	/* What does not come as far as the border may be read */
	judge("read", ret, ret > 0 && ret <= len,
	      unwritable(arg[0], len) && (arg[0] % 5 != 1 || ret == len),
	      read_errors);
}

static void do_poll(int f, const uint32_t *arg)
{
	struct pollfd pfd = { .fd = files[f].fd, .events = POLLIN };
	int ret = poll(&pfd, 1, arg[0] % 32);

	judge("poll", ret, ret >= 0, false, (const int[]){ 0 });
}

static void do_fdinfo(int f, const uint32_t *arg)
{
	char path[64], text[1024];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", files[f].fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	judge("reading fdinfo", -1, fd >= 0 && read(fd, text, sizeof(text)) > 0,
	      false, (const int[]){ 0 });
	close(fd);
}

/* That this works is for madsim's own tests to show */
static void plug(bool in)
{
	int fd;

	if (!target->faults || unplugged != in)
		return;
	fd = open(target->faults, O_WRONLY | O_CLOEXEC);
	dprintf(fd, "%s %s", target->node, in ? "plug" : "unplug");
	close(fd);
	unplugged = !in;
}

static void run_op(const struct op *op)
{
	static void (*const how[OP_WHATS])(int f, const uint32_t *arg) = {
		[OP_CLOSE] = do_close,
		[OP_DUP] = do_dup,
		[OP_PKEY] = do_pkey,
		[OP_REG1] = do_reg1,
		[OP_REG2] = do_reg2,
		[OP_UNREG] = do_unreg,
		[OP_IOCTL] = do_ioctl,
		[OP_WRITE] = do_write,
		[OP_SMP] = do_smp,
		[OP_READ] = do_read,
		[OP_POLL] = do_poll,
		[OP_FDINFO] = do_fdinfo,
	};

	if (op->what == OP_OPEN)
		do_open(op->arg);
	else if (op->what == OP_WAIT)
		usleep(op->arg[0] % 32 * 1000);
	else if (op->what == OP_UNPLUG || op->what == OP_PLUG)
		plug(op->what == OP_PLUG);
	else if (op->what >= OP_VOPEN)
		verbs_op(target, op);
	/* All else needs a descriptor, which is the first argument */
	else if (nfiles)
		how[op->what](op->arg[0] % nfiles, op->arg + 1);
}

/* Runs a program, and leaves nothing open. NULL, or what went wrong */
const char *execute(const struct program *p)
{
	why[0] = 0;
	for (int i = 0; i < p->len && !why[0]; i++)
		run_op(&p->op[i]);
	while (nfiles)
		do_close(0, NULL);
	verbs_end();
	plug(true);
	return why[0] ? why : NULL;
}
