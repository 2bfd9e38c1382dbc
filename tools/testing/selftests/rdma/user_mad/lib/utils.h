/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the user_mad selftests share: finding a port, talking to it with raw
 * system calls, and judging the answer.
 *
 * Helpers come in threes. _umad_x() makes the call and returns its raw result,
 * umad_x() asserts that it succeeds, umad_err_x() asserts that it fails with
 * the given errno. umad_err() does so for any other call.
 */
#ifndef UMAD_UTILS_H
#define UMAD_UTILS_H

#include <assert.h>
#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
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

#include "kselftest.h"
#include "mad.h"

#define UMAD_MAX_AGENTS		32
#define UMAD_HDR_OLD		sizeof(struct ib_user_mad_hdr_old)
#define UMAD_HDR_NEW		sizeof(struct ib_user_mad_hdr)

#define TEST_OUI		0x02554d
#define DEAF_OUI		0x02554e

/* A method that no agent of the tests takes, and those that a server takes */
#define MAD_UNSERVED		0x10

static const __u64 umad_get_send = 1ULL << MAD_GET | 1ULL << MAD_SEND;
static const __u64 umad_get_set_send = 1ULL << MAD_GET | 1ULL << MAD_SET | 1ULL << MAD_SEND;

/*
 * How long something that must happen may take before it counts as hanging,
 * and how long something that must not happen is waited for. Neither is a
 * statement about speed: the harness gives a test 30 seconds. What the reference is known
 * to hang on is given less time, because there all of it is always spent, and more if
 * UMAD_PACE=slow says that the kernel is slow.
 */
#define UMAD_SOON_MS		20000
#define UMAD_QUIET_MS		100
#define UMAD_FIXED_MS		400
#define UMAD_FIXED_SLOW_MS	5000

/* Seconds for a test that moves much: what takes longer hangs, on any machine */
#define UMAD_HANGS		300

static_assert(UMAD_HDR_OLD == 56 && UMAD_HDR_NEW == 64, "the two layouts");
static_assert(offsetof(struct ib_user_mad_hdr, pkey_index) == UMAD_HDR_OLD,
	      "the new layout extends the old one");

/* A header and a MAD, whichever of the layouts the descriptor speaks */
struct umad_msg {
	struct ib_user_mad_hdr hdr;
	struct mad mad;
};

/* With nothing but zeros in it there is nothing to close: 0 is standard input */
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
	__u16 lid;		/* where MADs are sent to it, or 0: to its GID */
	__u8 gid_index;
	__u8 gid[16];
	int gid_ipv4;		/* index of an IPv4-mapped GID, or -1 */
	int gid_empty;		/* index of an unused table entry, or -1 */
};

#define umad_err(err, call) do {					\
	errno = 0;							\
	EXPECT_EQ(-1, call);						\
	EXPECT_EQ(err, errno);						\
} while (0)

int umad_sysfs_read(char *buf, size_t size, const char *fmt, ...);
int umad_sysfs_write(const char *path, const char *value);
int umad_read_gid(const struct umad_port *port, int index, __u8 gid[16]);
int umad_read_port(int n, struct umad_port *port);
int umad_port_attr(const struct umad_port *port, const char *name, char *buf, size_t size);
__u32 umad_port_caps(const struct umad_port *port);
const char *umad_shared_port(void);
bool umad_shared_issm(void);
bool umad_is_roce(const struct umad_port *port);
int umad_find_port(struct umad_port *port);
int umad_deafen(const struct umad_port *port);

#define UMAD_SHARED	"not on a port that others use"
#define UMAD_ROCE_ONLY	"for RoCE only"

#define umad_port(port) do {						\
	ASSERT_EQ(0, umad_find_port(port))				\
		TH_LOG("no Soft-RoCE port with an fe80:: GID, or no such port"); \
	ASSERT_EQ(0, umad_deafen(port))					\
		TH_LOG("no agent without a reader: %s", strerror(errno)); \
} while (0)

long long umad_now_ms(void);
void umad_sleep_ms(int ms);
int umad_run_on(int cpu);

/* Whether @cond comes true within so many milliseconds */
#define umad_within(ms, cond) ({					\
	long long __end_ms = umad_now_ms() + (ms);			\
	bool __true;							\
									\
	while (!(__true = (cond)) && umad_now_ms() < __end_ms)		\
		umad_sleep_ms(1);					\
	__true;								\
})

void umad_wait_as_child(pid_t parent);
bool umad_any_reference(void);
bool umad_reference(void);
bool umad_slow_kernel(void);
long umad_line_value(const char *path, const char *name);
long umad_meminfo(const char *name);
bool umad_thorough(void);
int umad_fixed_ms(void);

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
	} else if (__ok && !umad_any_reference()) {			\
		EXPECT_FALSE(__ok)					\
			TH_LOG("known to fail on the reference, yet passes: %s", why); \
	} else if (!__ok && _metadata->exit_code == KSFT_PASS) {	\
		snprintf(_metadata->results->reason,			\
			 sizeof(_metadata->results->reason), "%s", why); \
		_metadata->exit_code = KSFT_XFAIL;			\
	}								\
} while (0)

bool umad_kernel_has(const char *function);
bool umad_slab_padded(void);

/* open */

int _umad_open(const struct umad_port *port, int flags, struct umad_file *file);

#define umad_open(port, flags, file)					\
	ASSERT_EQ(0, _umad_open(port, flags, file))			\
		TH_LOG("open %s: %s", (port)->dev, strerror(errno))

void umad_close(struct umad_file *file);

/* ENABLE_PKEY */

int _umad_enable_pkey(struct umad_file *file);

#define umad_enable_pkey(file)						\
	ASSERT_EQ(0, _umad_enable_pkey(file))				\
		TH_LOG("ENABLE_PKEY: %s", strerror(errno))

#define umad_err_enable_pkey(err, file)					\
	umad_err(err, _umad_enable_pkey(file))

/* REGISTER_AGENT and REGISTER_AGENT2 */

struct umad_reg umad_reg_send_only(int api);
struct umad_reg umad_reg_sa(void);
struct umad_reg umad_reg_smp(int api, __u8 mgmt_class, __u64 low_methods);
struct umad_reg umad_reg_vendor(int api, __u64 low_methods);
struct umad_reg umad_reg_rmpp(int api, __u64 low_methods);
void umad_reg_encode2(const struct umad_reg *reg, struct ib_user_mad_reg_req2 *req);
size_t umad_reg_encode(const struct umad_reg *reg, void *arg);
unsigned long umad_reg_cmd(const struct umad_reg *reg);
int _umad_register(struct umad_file *file, struct umad_reg *reg);

#define umad_register(file, reg) ({					\
	ASSERT_EQ(0, _umad_register(file, reg))				\
		TH_LOG("register: %s", strerror(errno));		\
	ASSERT_GT(UMAD_MAX_AGENTS, (reg)->id);				\
	(reg)->id;							\
})

#define umad_err_register(err, file, reg) do {				\
	umad_err(err, _umad_register(file, reg));			\
	EXPECT_EQ(0xdeadbeef, (reg)->id);				\
} while (0)

int _umad_unregister(struct umad_file *file, __u32 id);

#define umad_unregister(file, id)					\
	ASSERT_EQ(0, _umad_unregister(file, id))			\
		TH_LOG("unregister: %s", strerror(errno))

#define umad_err_unregister(err, file, id)				\
	umad_err(err, _umad_unregister(file, id))

/* Which ioctl registers, and which header the descriptor speaks */
struct umad_abi {
	int api;
	size_t hlen;
};

/* How an agent is registered, and which header comes with its MADs */
#define UMAD_ABI_v1_old		{ .api = 1, .hlen = UMAD_HDR_OLD }
#define UMAD_ABI_v1_new		{ .api = 1, .hlen = UMAD_HDR_NEW }
#define UMAD_ABI_v2_old		{ .api = 2, .hlen = UMAD_HDR_OLD }
#define UMAD_ABI_v2_new		{ .api = 2, .hlen = UMAD_HDR_NEW }

/* For programs to which it does not matter */
extern const struct umad_abi umad_abi_new;

/* A fixture whose variants have one of these and nothing else, and such a variant */
#define umad_abi_variants(fixture)					\
	FIXTURE_VARIANT(fixture) { struct umad_abi abi; }

#define umad_abi_variant(fixture, which)				\
	FIXTURE_VARIANT_ADD(fixture, which) { .abi = UMAD_ABI_##which }

int _umad_open_abi(const struct umad_port *port, const struct umad_abi *abi,
		   int flags, struct umad_file *file);

#define umad_open_abi(port, abi, flags, file)				\
	ASSERT_EQ(0, _umad_open_abi(port, abi, flags, file))		\
		TH_LOG("open %s: %s", (port)->dev, strerror(errno))

int _umad_open_agent(const struct umad_port *port, const struct umad_abi *abi,
		     struct umad_reg *reg, struct umad_file *file);

/* A descriptor that does not wait, with an agent on it, whose id this returns */
#define umad_open_agent(port, abi, wanted, file) ({			\
	struct umad_reg __wanted = wanted;				\
									\
	ASSERT_EQ(0, _umad_open_agent(port, abi, &__wanted, file))	\
		TH_LOG("%s: %s", (port)->dev, strerror(errno));		\
	ASSERT_GT(UMAD_MAX_AGENTS, __wanted.id);			\
	__wanted.id;							\
})

/* The members of a fixture for a program that talks to another one */
#define UMAD_CLIENT_AND_SERVER						\
	struct umad_file client;					\
	struct umad_file server;					\
	__u32 cid;							\
	__u32 sid;							\
	__u32 tid

#define umad_open_both(self, abi, from, client_reg, to, server_reg) do { \
	(self)->cid = umad_open_agent(from, abi, client_reg, &(self)->client); \
	(self)->sid = umad_open_agent(to, abi, server_reg, &(self)->server); \
} while (0)

#define umad_close_both(self) do {					\
	umad_close(&(self)->client);					\
	umad_close(&(self)->server);					\
} while (0)

/* write */

struct umad_msg umad_msg(const struct umad_port *port, __u32 id, __u8 method, __u64 tid);
struct umad_msg umad_request(const struct umad_port *port, __u32 id, __u8 method,
			     __u64 tid, int timeout_ms);
struct umad_msg umad_lost_request(const struct umad_port *port, __u32 id, __u8 method,
				  __u64 tid, int timeout_ms);
void umad_msg_to_nobody(struct umad_msg *msg);
void umad_msg_to_group(struct umad_msg *msg);
void umad_make_active(struct umad_msg *msg);
size_t umad_pack(const struct umad_file *file, const struct umad_msg *msg,
		 size_t mad_len, void *buf);
ssize_t _umad_write_len(const struct umad_file *file, const struct umad_msg *msg, size_t len);
ssize_t _umad_write(const struct umad_file *file, const struct umad_msg *msg);

#define umad_write_len(file, msg, len)					\
	ASSERT_EQ((ssize_t)((file)->hlen + (len)),			\
		  _umad_write_len(file, msg, len))			\
		TH_LOG("write: %s", strerror(errno))

#define umad_write(file, msg)	umad_write_len(file, msg, MAD_SIZE)

/* Requests that get no response, with transaction IDs from @tid on */
#define umad_write_lost(file, port, id, tid, count, ms) do {		\
	struct umad_msg __msg;						\
	__u32 __i;							\
									\
	for (__i = 0; __i < (count); __i++) {				\
		__msg = umad_lost_request(port, id, MAD_UNSERVED, (tid) + __i, ms); \
		umad_write(file, &__msg);				\
	}								\
} while (0)

#define umad_err_write_len(err, file, msg, len)				\
	umad_err(err, _umad_write_len(file, msg, len))

#define umad_err_write(err, file, msg)					\
	umad_err_write_len(err, file, msg, MAD_SIZE)

/* poll and read */

short _umad_poll(const struct umad_file *file, int ms);
bool umad_readable(const struct umad_file *file, int ms);
ssize_t _umad_read_len(const struct umad_file *file, struct umad_msg *msg, size_t len);
ssize_t _umad_read(const struct umad_file *file, struct umad_msg *msg);

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
	umad_err(err, _umad_read_len(file, &__msg, len));		\
} while (0)

#define umad_err_read(err, file)	umad_err_read_len(err, file, MAD_SIZE)

/* The descriptor must be O_NONBLOCK */
#define umad_expect_empty(file) do {					\
	EXPECT_FALSE(umad_readable(file, 0));				\
	umad_err_read(EAGAIN, file);					\
} while (0)

int _umad_make_blocking(const struct umad_file *file);

#define umad_make_blocking(file)					\
	ASSERT_EQ(0, _umad_make_blocking(file))

long umad_fdinfo(const struct umad_file *file, const char *name);

/*
 * Of a driver that tells. A client may read a response before the MAD layer has completed the
 * request
 */
#define umad_expect_fdinfo(value, file, name) do {			\
	long __said = -1;						\
									\
	umad_within(UMAD_SOON_MS, (__said = umad_fdinfo(file, name)) == (value) || \
				  __said == -1);			\
	if (__said != -1)						\
		EXPECT_EQ(value, __said)				\
			TH_LOG("%s", name);				\
} while (0)

bool umad_fdinfo_reaches(const struct umad_file *file, const char *name, long least, int ms);

/* Pages that end where memory ends */
struct umad_border {
	__u8 *base;
	size_t page;
};

int _umad_border(struct umad_border *border, int prot);

/* Makes the second page @prot; the first one is ordinary memory */
#define umad_border(border, prot)					\
	ASSERT_EQ(0, _umad_border(border, prot))

void *umad_before(const struct umad_border *border, size_t len);
void umad_border_free(struct umad_border *border);

#endif /* UMAD_UTILS_H */
