/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the user_mad selftests share: finding a port, talking to it with raw
 * system calls, and judging the answer.
 *
 * Helpers come in threes. _umad_x() makes the call and returns its raw result,
 * umad_x() asserts that it succeeds, umad_err_x() asserts that it fails with
 * the given errno.
 */
#ifndef UMAD_UTILS_H
#define UMAD_UTILS_H

#include <assert.h>
#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include <rdma/ib_user_mad.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/rdma_user_ioctl.h>

#include "kselftest_harness.h"

#define UMAD_MAX_AGENTS		32
#define UMAD_HDR_OLD		sizeof(struct ib_user_mad_hdr_old)
#define UMAD_HDR_NEW		sizeof(struct ib_user_mad_hdr)

#define MAD_SIZE		256
#define MAD_HDR			24	/* the common header */
#define MAD_RMPP_HDR		36	/* common and RMPP header */
#define MAD_VENDOR_HDR		40	/* ... and the OUI of vendor range 2 */
#define MAD_SA_HDR		56
#define MAD_DEVMGT_HDR		64

#define MAD_GET			0x01
#define MAD_SET			0x02
#define MAD_SEND		0x03
#define MAD_RESP		0x80
#define MAD_GET_RESP		0x81

#define MAD_CLASS_SM_LID	0x01
#define MAD_CLASS_SA		0x03
#define MAD_CLASS_PERF		0x04
#define MAD_CLASS_DEVMGT	0x06
#define MAD_CLASS_VENDOR1	0x0a
#define MAD_CLASS_VENDOR2	0x3a
#define MAD_CLASS_NONE		0x50
#define MAD_CLASS_SM_DIRECTED	0x81

#define MAD_RMPP_DATA		1
#define MAD_RMPP_ACTIVE		1

#define TEST_OUI		0x02554d

/*
 * How long something that must happen may take before it counts as hanging,
 * and how long something that must not happen is waited for. Neither is a
 * statement about speed. What the reference is known to hang on is given less
 * time, because there all of it is always spent.
 */
#define UMAD_SOON_MS		5000
#define UMAD_QUIET_MS		100
#define UMAD_FIXED_MS		400

/* Seconds for a test that moves much: what takes longer hangs, on any machine */
#define UMAD_HANGS		300

struct mad {
	__u8	base_version;
	__u8	mgmt_class;
	__u8	class_version;
	__u8	method;
	__be16	status;
	__be16	class_specific;
	__be64	tid;
	__be16	attr_id;
	__be16	resv;
	__be32	attr_mod;
	__u8	rmpp_version;
	__u8	rmpp_type;
	__u8	rmpp_flags;
	__u8	rmpp_status;
	__be32	seg_num;
	__be32	paylen_newwin;
	__u8	vendor_resv;
	__u8	oui[3];
	__u8	data[216];
};

static_assert(sizeof(struct mad) == MAD_SIZE, "a MAD has 256 bytes");
static_assert(UMAD_HDR_OLD == 56 && UMAD_HDR_NEW == 64, "the two layouts");
static_assert(offsetof(struct ib_user_mad_hdr, pkey_index) == UMAD_HDR_OLD,
	      "the new layout extends the old one");

/* A header and a MAD, whichever of the layouts the descriptor speaks */
struct umad_msg {
	struct ib_user_mad_hdr hdr;
	struct mad mad;
};

struct umad_file {
	int fd;
	size_t hlen;	/* of the header that the descriptor speaks now */
};

struct umad_reg {
	int api;	/* 1: REGISTER_AGENT, 2: REGISTER_AGENT2 */
	__u32 qpn;
	__u8 mgmt_class;
	__u8 class_version;
	__u32 oui;
	__u8 rmpp_version;
	__u32 flags;		/* api 2 */
	__u64 methods[2];
	__u32 id;		/* set by the kernel */
};

struct umad_port {
	char name[32];		/* umadN */
	char dev[64];		/* /dev/infiniband/umadN */
	char ibdev[64];
	int port;
	__u8 gid[16];		/* gid index 0 */
	int gid_ipv4;		/* index of an IPv4-mapped GID, or -1 */
	int gid_empty;		/* index of an unused table entry, or -1 */
};

static inline int umad_sysfs_read(char *buf, size_t size, const char *fmt, ...)
{
	char path[512];
	va_list ap;
	ssize_t n;
	int fd;

	va_start(ap, fmt);
	vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = read(fd, buf, size - 1);
	close(fd);
	if (n < 0)
		return -1;
	while (n && buf[n - 1] == '\n')
		n--;
	buf[n] = 0;
	return 0;
}

static inline int umad_read_gid(const struct umad_port *port, int index,
				__u8 gid[16])
{
	char text[64];

	if (umad_sysfs_read(text, sizeof(text),
			    "/sys/class/infiniband/%s/ports/%d/gids/%d",
			    port->ibdev, port->port, index))
		return -1;
	return inet_pton(AF_INET6, text, gid) == 1 ? 0 : -1;
}

/* What umad@n says it is */
static inline int umad_read_port(int n, struct umad_port *port)
{
	char text[64];

	snprintf(port->name, sizeof(port->name), "umad%d", n);
	if (umad_sysfs_read(port->ibdev, sizeof(port->ibdev),
			    "/sys/class/infiniband_mad/%s/ibdev", port->name) ||
	    umad_sysfs_read(text, sizeof(text),
			    "/sys/class/infiniband_mad/%s/port", port->name))
		return -1;
	port->port = atoi(text);
	return 0;
}

/* Finds the first umad device whose port is an Ethernet one (Soft-RoCE) */
static inline int umad_find_port(struct umad_port *port)
{
	static const __u8 mapped[12] = { [10] = 0xff, [11] = 0xff };
	static const __u8 zero[16];
	char text[64];
	int i, n;

	memset(port, 0, sizeof(*port));
	for (n = 0; n < 64; n++) {
		if (umad_read_port(n, port))
			continue;
		if (umad_sysfs_read(text, sizeof(text),
				    "/sys/class/infiniband/%s/ports/%d/link_layer",
				    port->ibdev, port->port) ||
		    strcmp(text, "Ethernet"))
			continue;
		if (umad_read_gid(port, 0, port->gid) ||
		    port->gid[0] != 0xfe || port->gid[1] != 0x80)
			continue;

		port->gid_ipv4 = -1;
		port->gid_empty = -1;
		for (i = 1; i < 256; i++) {
			__u8 gid[16];

			if (umad_read_gid(port, i, gid))
				break;
			if (port->gid_ipv4 < 0 && !memcmp(gid, mapped, 12))
				port->gid_ipv4 = i;
			if (port->gid_empty < 0 && !memcmp(gid, zero, 16))
				port->gid_empty = i;
		}
		snprintf(port->dev, sizeof(port->dev), "/dev/infiniband/%s",
			 port->name);
		return 0;
	}
	return -1;
}

#define umad_port(port)							\
	ASSERT_EQ(0, umad_find_port(port))				\
		TH_LOG("no umad device with a Soft-RoCE port and an fe80:: GID; run.sh makes one")

static inline long long umad_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

static inline void umad_sleep_ms(int ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000L };

	nanosleep(&ts, NULL);
}

/* A child that only has to be there, until it is killed or its parent is gone */
static inline void umad_wait_as_child(pid_t parent)
{
	while (getppid() == parent)
		umad_sleep_ms(UMAD_QUIET_MS);
	_exit(0);
}

/* Whether a variable of the environment is 1 */
static inline bool umad_env(const char *name)
{
	const char *value = getenv(name);

	return value && !strcmp(value, "1");
}

/* Set by run.sh when the programs are pointed at the kernel's old module */
static inline bool umad_reference(void)
{
	return umad_env("UMAD_REFERENCE");
}

/* Set by who runs the programs on a kernel with sanitizers */
static inline bool umad_slow_kernel(void)
{
	return umad_env("UMAD_SLOW_KERNEL");
}

/*
 * How many sends that each need an address handle are many. Up to Linux 5.14 a
 * Soft-RoCE device has no more than 100 handles, and whoever runs the programs
 * there says so.
 */
static inline int umad_many_sends(void)
{
	return umad_env("UMAD_FEW_HANDLES") ? 64 : 256;
}

static inline int umad_fixed_ms(void)
{
	return umad_reference() ? UMAD_FIXED_MS : UMAD_SOON_MS;
}

/*
 * Judges what the reference is known to get wrong. On the reference the test
 * becomes an expected failure when @cond is seen to be false, and fails when it
 * holds. Everything else in such a test is judged as usual on both.
 */
#define EXPECT_FIXED(cond, why) do {					\
	bool __ok = (cond);						\
									\
	if (!umad_reference()) {					\
		EXPECT_TRUE(__ok)					\
			TH_LOG("%s", why);				\
	} else if (__ok) {						\
		EXPECT_FALSE(__ok)					\
			TH_LOG("known to fail on the reference, yet passes: %s", why); \
	} else if (_metadata->exit_code == KSFT_PASS) {			\
		snprintf(_metadata->results->reason,			\
			 sizeof(_metadata->results->reason), "%s", why); \
		_metadata->exit_code = KSFT_XFAIL;			\
	}								\
} while (0)

/* Whether the running kernel, with its modules, has a function */
static inline bool umad_kernel_has(const char *function)
{
	size_t len = strlen(function);
	bool found = false;
	char line[512];
	char *name;
	FILE *f;

	f = fopen("/proc/kallsyms", "r");
	while (f && !found && fgets(line, sizeof(line), f)) {
		name = strrchr(strtok(line, "\t\n"), ' ');
		found = name && !strncmp(name + 1, function, len) && !name[len + 1];
	}
	if (f)
		fclose(f);
	return found;
}

/* open */

static inline int _umad_open(const struct umad_port *port, int flags,
			     struct umad_file *file)
{
	file->fd = open(port->dev, flags | O_CLOEXEC);
	file->hlen = UMAD_HDR_OLD;
	return file->fd < 0 ? -1 : 0;
}

#define umad_open(port, flags, file)					\
	ASSERT_EQ(0, _umad_open(port, flags, file))			\
		TH_LOG("open %s: %s", (port)->dev, strerror(errno))

static inline void umad_close(struct umad_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	file->fd = -1;
}

/* ENABLE_PKEY */

static inline int _umad_enable_pkey(struct umad_file *file)
{
	int ret = ioctl(file->fd, IB_USER_MAD_ENABLE_PKEY, 0);

	if (!ret)
		file->hlen = UMAD_HDR_NEW;
	return ret;
}

#define umad_enable_pkey(file)						\
	ASSERT_EQ(0, _umad_enable_pkey(file))				\
		TH_LOG("ENABLE_PKEY: %s", strerror(errno))

#define umad_err_enable_pkey(err, file) do {				\
	errno = 0;							\
	EXPECT_EQ(-1, _umad_enable_pkey(file));				\
	EXPECT_EQ(err, errno);						\
} while (0)

/* REGISTER_AGENT and REGISTER_AGENT2 */

static inline struct umad_reg umad_reg_send_only(int api)
{
	return (struct umad_reg){ .api = api, .qpn = 1 };
}

static inline struct umad_reg umad_reg_vendor(int api, __u64 low_methods)
{
	return (struct umad_reg){
		.api = api,
		.qpn = 1,
		.mgmt_class = MAD_CLASS_VENDOR2,
		.class_version = 1,
		.oui = TEST_OUI,
		.methods = { low_methods },
	};
}

static inline void umad_reg_encode1(const struct umad_reg *reg,
				    struct ib_user_mad_reg_req *req)
{
	unsigned int bits = 8 * sizeof(long), i;

	memset(req, 0, sizeof(*req));
	req->id = 0xdeadbeef;
	req->qpn = reg->qpn;
	req->mgmt_class = reg->mgmt_class;
	req->mgmt_class_version = reg->class_version;
	req->oui[0] = reg->oui >> 16;
	req->oui[1] = reg->oui >> 8;
	req->oui[2] = reg->oui;
	req->rmpp_version = reg->rmpp_version;
	for (i = 0; i < 128; i++)
		if (reg->methods[i / 64] >> i % 64 & 1)
			req->method_mask[i / bits] |= 1UL << i % bits;
}

static inline void umad_reg_encode2(const struct umad_reg *reg,
				    struct ib_user_mad_reg_req2 *req)
{
	memset(req, 0, sizeof(*req));
	req->id = 0xdeadbeef;
	req->qpn = reg->qpn;
	req->mgmt_class = reg->mgmt_class;
	req->mgmt_class_version = reg->class_version;
	req->flags = reg->flags;
	req->method_mask[0] = reg->methods[0];
	req->method_mask[1] = reg->methods[1];
	req->oui = reg->oui;
	req->rmpp_version = reg->rmpp_version;
}

/* Copies an encoded request to @arg and returns its size */
static inline size_t umad_reg_encode(const struct umad_reg *reg, void *arg)
{
	struct ib_user_mad_reg_req req1;
	struct ib_user_mad_reg_req2 req2;

	if (reg->api == 1) {
		umad_reg_encode1(reg, &req1);
		memcpy(arg, &req1, sizeof(req1));
		return sizeof(req1);
	}
	umad_reg_encode2(reg, &req2);
	memcpy(arg, &req2, sizeof(req2));
	return sizeof(req2);
}

static inline unsigned long umad_reg_cmd(const struct umad_reg *reg)
{
	return reg->api == 1 ? IB_USER_MAD_REGISTER_AGENT :
			       IB_USER_MAD_REGISTER_AGENT2;
}

static inline int _umad_register(struct umad_file *file, struct umad_reg *reg)
{
	union {
		struct ib_user_mad_reg_req req1;
		struct ib_user_mad_reg_req2 req2;
	} req;
	int ret;

	umad_reg_encode(reg, &req);
	ret = ioctl(file->fd, umad_reg_cmd(reg), &req);
	reg->id = reg->api == 1 ? req.req1.id : req.req2.id;
	if (reg->api == 2)
		reg->flags = req.req2.flags;
	return ret;
}

#define umad_register(file, reg) ({					\
	ASSERT_EQ(0, _umad_register(file, reg))				\
		TH_LOG("register: %s", strerror(errno));		\
	ASSERT_GT(UMAD_MAX_AGENTS, (reg)->id);				\
	(reg)->id;							\
})

#define umad_err_register(err, file, reg) do {				\
	errno = 0;							\
	EXPECT_EQ(-1, _umad_register(file, reg));			\
	EXPECT_EQ(err, errno);						\
	EXPECT_EQ(0xdeadbeef, (reg)->id);				\
} while (0)

static inline int _umad_unregister(struct umad_file *file, __u32 id)
{
	return ioctl(file->fd, IB_USER_MAD_UNREGISTER_AGENT, &id);
}

#define umad_unregister(file, id)					\
	ASSERT_EQ(0, _umad_unregister(file, id))			\
		TH_LOG("unregister: %s", strerror(errno))

#define umad_err_unregister(err, file, id) do {				\
	errno = 0;							\
	EXPECT_EQ(-1, _umad_unregister(file, id));			\
	EXPECT_EQ(err, errno);						\
} while (0)

/* Which ioctl registers, and which header the descriptor speaks */
struct umad_abi {
	int api;
	size_t hlen;
};

/*
 * Opens a descriptor that speaks the layout of @abi and is otherwise fresh.
 * The old layout with REGISTER_AGENT2 takes an agent registered by the first
 * ioctl and given up again.
 */
static inline int _umad_open_abi(const struct umad_port *port,
				 const struct umad_abi *abi, int flags,
				 struct umad_file *file)
{
	struct umad_reg reg = umad_reg_send_only(1);

	if (_umad_open(port, flags, file))
		return -1;
	if (abi->hlen == UMAD_HDR_NEW)
		return _umad_enable_pkey(file);
	if (abi->api == 2 && (_umad_register(file, &reg) ||
			      _umad_unregister(file, reg.id)))
		return -1;
	return 0;
}

#define umad_open_abi(port, abi, flags, file)				\
	ASSERT_EQ(0, _umad_open_abi(port, abi, flags, file))		\
		TH_LOG("open %s: %s", (port)->dev, strerror(errno))

/* No id may be in use, and all of them can be had in their order */
#define umad_expect_no_agents(file) do {				\
	struct umad_reg __reg;						\
	__u32 __id;							\
									\
	for (__id = 0; __id < UMAD_MAX_AGENTS; __id++) {		\
		__reg = umad_reg_send_only(1);				\
		EXPECT_EQ(__id, umad_register(file, &__reg));		\
	}								\
	__reg = umad_reg_send_only(1);					\
	umad_err_register(ENOMEM, file, &__reg);			\
	for (__id = 0; __id < UMAD_MAX_AGENTS; __id++)			\
		umad_unregister(file, __id);				\
} while (0)

/* write */

static inline struct umad_msg umad_msg(const struct umad_port *port, __u32 id,
				       __u8 method, __u64 tid)
{
	struct umad_msg msg = {
		.hdr = {
			.id = id,
			.qpn = htobe32(1),
			.qkey = htobe32(0x80010000),
			.grh_present = 1,
			.hop_limit = 64,
		},
		.mad = {
			.base_version = 1,
			.mgmt_class = MAD_CLASS_VENDOR2,
			.class_version = 1,
			.method = method,
			.tid = htobe64(tid),
			.attr_id = htobe16(0x1234),
			.attr_mod = htobe32(0x56789abc),
			.oui = { TEST_OUI >> 16, TEST_OUI >> 8 & 0xff,
				 TEST_OUI & 0xff },
		},
	};
	unsigned int i;

	memcpy(msg.hdr.gid, port->gid, 16);
	for (i = 0; i < sizeof(msg.mad.data); i++)
		msg.mad.data[i] = i ^ tid;
	return msg;
}

/* Where nobody listens: a neighbour that does not exist */
static inline void umad_msg_to_nobody(struct umad_msg *msg)
{
	static const __u8 gid[16] = { 0xfe, 0x80, [14] = 0x12, [15] = 0x34 };

	memcpy(msg->hdr.gid, gid, 16);
}

static inline size_t umad_pack(const struct umad_file *file,
			       const struct umad_msg *msg, size_t mad_len,
			       void *buf)
{
	memcpy(buf, &msg->hdr, file->hlen);
	memcpy(buf + file->hlen, &msg->mad, mad_len);
	return file->hlen + mad_len;
}

static inline ssize_t _umad_write_len(const struct umad_file *file,
				      const struct umad_msg *msg, size_t len)
{
	__u8 buf[UMAD_HDR_NEW + MAD_SIZE];

	return write(file->fd, buf, umad_pack(file, msg, len, buf));
}

static inline ssize_t _umad_write(const struct umad_file *file,
				  const struct umad_msg *msg)
{
	return _umad_write_len(file, msg, MAD_SIZE);
}

#define umad_write_len(file, msg, len)					\
	ASSERT_EQ((ssize_t)((file)->hlen + (len)),			\
		  _umad_write_len(file, msg, len))			\
		TH_LOG("write: %s", strerror(errno))

#define umad_write(file, msg)	umad_write_len(file, msg, MAD_SIZE)

#define umad_err_write_len(err, file, msg, len) do {			\
	errno = 0;							\
	EXPECT_EQ(-1, _umad_write_len(file, msg, len));			\
	EXPECT_EQ(err, errno);						\
} while (0)

#define umad_err_write(err, file, msg)					\
	umad_err_write_len(err, file, msg, MAD_SIZE)

/* poll and read */

static inline short _umad_poll(const struct umad_file *file, int ms)
{
	struct pollfd pfd = {
		.fd = file->fd,
		.events = POLLIN | POLLRDNORM | POLLOUT | POLLWRNORM | POLLPRI,
	};
	long long end = umad_now_ms() + ms;

	/* POLLOUT is always there: asking for it too would never wait */
	pfd.events = POLLIN;
	while (poll(&pfd, 1, ms) < 0 && errno == EINTR)
		ms = end > umad_now_ms() ? end - umad_now_ms() : 0;

	pfd.events = POLLIN | POLLRDNORM | POLLOUT | POLLWRNORM | POLLPRI;
	poll(&pfd, 1, 0);
	return pfd.revents;
}

static inline bool umad_readable(const struct umad_file *file, int ms)
{
	return _umad_poll(file, ms) & POLLIN;
}

/* @len is what is asked for beyond the header */
static inline ssize_t _umad_read_len(const struct umad_file *file,
				     struct umad_msg *msg, size_t len)
{
	__u8 buf[UMAD_HDR_NEW + MAD_SIZE];
	ssize_t n;

	memset(msg, 0, sizeof(*msg));
	n = read(file->fd, buf, file->hlen + len);
	if (n >= (ssize_t)file->hlen) {
		memcpy(&msg->hdr, buf, file->hlen);
		memcpy(&msg->mad, buf + file->hlen, n - file->hlen);
	}
	return n;
}

static inline ssize_t _umad_read(const struct umad_file *file,
				 struct umad_msg *msg)
{
	return _umad_read_len(file, msg, MAD_SIZE);
}

/* A received MAD */
#define umad_read(file, msg) do {					\
	ASSERT_TRUE(umad_readable(file, UMAD_SOON_MS))			\
		TH_LOG("nothing to read");				\
	ASSERT_EQ((ssize_t)(file)->hlen + MAD_SIZE,			\
		  _umad_read(file, msg))				\
		TH_LOG("read: %s", strerror(errno));			\
	EXPECT_EQ(0, (msg)->hdr.status);				\
	EXPECT_EQ((file)->hlen + MAD_SIZE, (msg)->hdr.length);		\
} while (0)

/* A timeout record */
#define umad_read_timeout(file, msg) do {				\
	ASSERT_TRUE(umad_readable(file, UMAD_SOON_MS))			\
		TH_LOG("nothing to read");				\
	ASSERT_EQ((ssize_t)(file)->hlen + MAD_HDR,			\
		  _umad_read(file, msg))				\
		TH_LOG("read: %s", strerror(errno));			\
	EXPECT_EQ(ETIMEDOUT, (msg)->hdr.status);			\
} while (0)

#define umad_err_read_len(err, file, len) do {				\
	struct umad_msg __msg;						\
									\
	errno = 0;							\
	EXPECT_EQ(-1, _umad_read_len(file, &__msg, len));		\
	EXPECT_EQ(err, errno);						\
} while (0)

#define umad_err_read(err, file)	umad_err_read_len(err, file, MAD_SIZE)

/* The descriptor must be O_NONBLOCK */
#define umad_expect_empty(file) do {					\
	EXPECT_FALSE(umad_readable(file, 0));				\
	umad_err_read(EAGAIN, file);					\
} while (0)

/* What a descriptor says of itself; -1 if it says nothing of that */
static inline long umad_fdinfo(const struct umad_file *file, const char *name)
{
	char path[64], line[128];
	size_t len = strlen(name);
	long value = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", file->fd);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, name, len) && line[len] == ':')
			value = atol(line + len + 1);
	if (f)
		fclose(f);
	return value;
}

/* Whether such a value comes up to @least within @ms */
static inline bool umad_fdinfo_reaches(const struct umad_file *file,
				       const char *name, long least, int ms)
{
	long long end = umad_now_ms() + ms;

	while (umad_fdinfo(file, name) < least) {
		if (umad_now_ms() > end)
			return false;
		umad_sleep_ms(1);
	}
	return true;
}

/* Pages that end where memory ends */
struct umad_border {
	__u8 *base;
	size_t page;
};

static inline int _umad_border(struct umad_border *border, int prot)
{
	border->page = sysconf(_SC_PAGESIZE);
	border->base = mmap(NULL, 2 * border->page, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (border->base == MAP_FAILED)
		return -1;
	return mprotect(border->base + border->page, border->page, prot);
}

/* Makes the second page @prot; the first one is ordinary memory */
#define umad_border(border, prot)					\
	ASSERT_EQ(0, _umad_border(border, prot))

/* @len bytes before the border */
static inline void *umad_before(const struct umad_border *border, size_t len)
{
	return border->base + border->page - len;
}

static inline void umad_border_free(struct umad_border *border)
{
	munmap(border->base, 2 * border->page);
}

#endif /* UMAD_UTILS_H */
