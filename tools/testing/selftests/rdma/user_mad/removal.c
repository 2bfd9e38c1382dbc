// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The device goes away, whatever its users are doing: they are all told, none
 * of them is waited for, and what comes back is a new device.
 */
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/sysmacros.h>

#include "kselftest_harness.h"
#include "lib/device.h"
#include "lib/stall.h"

static const __u64 methods =
	1ULL << MAD_GET | 1ULL << MAD_SET | 1ULL << MAD_SEND;

/* What each fixture is made of: a device, and a user of it with an agent */
#define VICTIM								\
	struct umad_device device;					\
	struct umad_file file;						\
	__u32 id;							\
	struct umad_call removal

#define victim_open(self, abi) do {					\
	struct umad_reg __reg = umad_reg_vendor((abi)->api, methods);	\
									\
	umad_open_abi(&(self)->device.port, abi, O_RDWR | O_NONBLOCK,	\
		      &(self)->file);					\
	(self)->id = umad_register(&(self)->file, &__reg);		\
} while (0)

#define victim_setup(self, kind, abi) do {				\
	(self)->file.fd = -1;						\
	ASSERT_EQ(0, umad_device_make(&(self)->device, kind));		\
	victim_open(self, abi);						\
} while (0)

#define victim_teardown(self) do {					\
	umad_close(&(self)->file);					\
	umad_device_free(&(self)->device);				\
} while (0)

static const struct umad_abi abi_new = { .api = 2, .hlen = UMAD_HDR_NEW };

/* Every kind of device */
FIXTURE(removal)
{
	VICTIM;
};

FIXTURE_VARIANT(removal)
{
	enum umad_device_kind kind;
	struct umad_abi abi;
};

FIXTURE_VARIANT_ADD(removal, rxe)
{
	.kind = UMAD_RXE,
	.abi = UMAD_ABI_v1_old,
};

FIXTURE_VARIANT_ADD(removal, madsim)
{
	.kind = UMAD_MADSIM,
	.abi = UMAD_ABI_v2_new,
};

FIXTURE_VARIANT_ADD(removal, netns)
{
	.kind = UMAD_MADSIM_NETNS,
	.abi = UMAD_ABI_v1_new,
};

FIXTURE_VARIANT_ADD(removal, rmmod)
{
	.kind = UMAD_MADSIM_RMMOD,
	.abi = UMAD_ABI_v2_old,
};

FIXTURE_SETUP(removal)
{
	if (!umad_device_possible(variant->kind))
		SKIP(return, UMAD_NO_DEVICE(variant->kind));
	victim_setup(self, variant->kind, &variant->abi);
}

FIXTURE_TEARDOWN(removal)
{
	victim_teardown(self);
}

/* A request that stays outstanding until somebody ends it */
static struct umad_msg __unanswered(const struct umad_device *device, __u32 id,
				    __u64 tid)
{
	struct umad_msg msg = umad_msg(&device->port, id, MAD_GET, tid);

	msg.hdr.timeout_ms = 600000;
	if (umad_device_is_rxe(device->kind)) {
		umad_msg_to_nobody(&msg);
	} else {
		msg.hdr.grh_present = 0;
		msg.hdr.lid = htobe16(0x1234);
	}
	return msg;
}

#define unanswered(self, tid)						\
	__unanswered(&(self)->device, (self)->id, tid)

static long removing(struct umad_call *call)
{
	return umad_device_remove(call->arg);
}

#define remove_start(self) do {						\
	(self)->removal = (struct umad_call){				\
		.op = UMAD_CALL_FN,					\
		.fn = removing,						\
		.arg = &(self)->device,					\
	};								\
	umad_call_start(&(self)->removal);				\
} while (0)

/* The device goes, with nobody in the way */
#define remove_device(self) do {					\
	bool __netns = (self)->device.kind == UMAD_MADSIM_NETNS;	\
									\
	remove_start(self);						\
	ASSERT_TRUE(umad_call_returned(&(self)->removal, __netns ?	\
				       UMAD_NETNS_MS : UMAD_SOON_MS))	\
		TH_LOG("the removal hangs");				\
	ASSERT_EQ(0, (self)->removal.ret);				\
} while (0)

#define return_device(self)						\
	ASSERT_EQ(0, umad_device_return(&(self)->device))

#define expect_dead(file)						\
	EXPECT_EQ(POLLERR, _umad_poll(file, 0) & ~POLLHUP)

/* Asleep when the device goes */

static long in_poll(struct umad_call *call)
{
	struct pollfd pfd = { .fd = call->fd, .events = POLLIN };

	return poll(&pfd, 1, -1) == 1 ? pfd.revents : -1;
}

static long in_select(struct umad_call *call)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET(call->fd, &set);
	return select(call->fd + 1, &set, NULL, NULL, NULL);
}

static long in_epoll_wait(struct umad_call *call, __u32 events)
{
	struct epoll_event ev = { .events = events };
	int fd = epoll_create1(EPOLL_CLOEXEC);
	int n = -1;

	if (!epoll_ctl(fd, EPOLL_CTL_ADD, call->fd, &ev))
		n = epoll_wait(fd, &ev, 1, -1);
	close(fd);
	return n == 1 ? (long)ev.events : -1;
}

static long in_epoll(struct umad_call *call)
{
	return in_epoll_wait(call, EPOLLIN);
}

static long in_epoll_edge(struct umad_call *call)
{
	return in_epoll_wait(call, EPOLLIN | EPOLLET);
}

#define start_in(call, function, file) do {				\
	*(call) = (struct umad_call){					\
		.op = UMAD_CALL_FN,					\
		.fn = function,						\
		.fd = (file)->fd,					\
	};								\
	umad_call_start(call);						\
} while (0)

TEST_F(removal, wakes_readers)
{
	__u8 buf[4][UMAD_HDR_NEW + MAD_SIZE];
	struct umad_call calls[4];
	bool passed = true;
	int i;

	ASSERT_EQ(0, fcntl(self->file.fd, F_SETFL, O_RDWR));
	for (i = 0; i < 4; i++) {
		calls[i] = (struct umad_call){
			.op = UMAD_CALL_READ,
			.fd = self->file.fd,
			.buf = buf[i],
			.len = sizeof(buf[i]),
		};
		umad_call_start(&calls[i]);
	}
	umad_sleep_ms(UMAD_QUIET_MS);
	remove_device(self);
	for (i = 0; i < 4; i++) {
		if (umad_call_returned(&calls[i], umad_fixed_ms())) {
			EXPECT_EQ(-1, calls[i].ret);
			EXPECT_EQ(EIO, calls[i].err);
		} else {
			passed = false;
			umad_call_interrupt(&calls[i]);
		}
	}
	EXPECT_FIXED(passed, "a blocked reader sleeps on for ever");
}

TEST_F(removal, wakes_pollers)
{
	static long (* const fns[])(struct umad_call *call) = {
		in_poll, in_epoll, in_epoll_edge,
	};
	struct umad_call calls[ARRAY_SIZE(fns)];
	bool hup = true;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(fns); i++)
		start_in(&calls[i], fns[i], &self->file);
	umad_sleep_ms(UMAD_QUIET_MS);
	remove_device(self);
	for (i = 0; i < ARRAY_SIZE(fns); i++) {
		ASSERT_TRUE(umad_call_returned(&calls[i], UMAD_SOON_MS))
			TH_LOG("poller %zu sleeps on", i);
		EXPECT_EQ(POLLERR, calls[i].ret & ~POLLHUP);
		hup = hup && calls[i].ret & POLLHUP;
	}
	EXPECT_FIXED(hup, "no POLLHUP when the device is gone");
}

TEST_F(removal, wakes_select)
{
	struct umad_call call;

	start_in(&call, in_select, &self->file);
	umad_sleep_ms(UMAD_QUIET_MS);
	remove_device(self);
	ASSERT_TRUE(umad_call_returned(&call, UMAD_SOON_MS));
	EXPECT_EQ(1, call.ret);
}

/* Afterwards */

TEST_F(removal, errno_of_each_call)
{
	struct umad_msg msg = unanswered(self, 1);
	struct umad_file fresh;
	struct umad_reg reg;

	umad_open(&self->device.port, O_RDWR | O_NONBLOCK, &fresh);
	remove_device(self);

	umad_err_read(EIO, &self->file);
	umad_err_read(EIO, &fresh);
	umad_err_read_len(EINVAL, &self->file, -1);
	umad_err_write(EIO, &self->file, &msg);
	umad_err_write(EIO, &fresh, &msg);
	umad_err_write_len(EINVAL, &self->file, &msg, MAD_RMPP_HDR - 1);
	reg = umad_reg_vendor(1, methods);
	umad_err_register(EPIPE, &self->file, &reg);
	reg = umad_reg_vendor(2, methods);
	umad_err_register(EPIPE, &self->file, &reg);
	reg = umad_reg_send_only(variant->abi.api);
	umad_err_register(EPIPE, &fresh, &reg);
	umad_err_unregister(EINVAL, &self->file, self->id);
	umad_err_enable_pkey(EINVAL, &self->file);
	EXPECT_EQ(0, _umad_enable_pkey(&fresh));
	errno = 0;
	EXPECT_EQ(-1, ioctl(self->file.fd, _IO(IB_IOCTL_MAGIC, 99)));
	EXPECT_EQ(ENOTTY, errno);
	umad_close(&fresh);
	expect_dead(&self->file);
}

/*
 * By its name, by its number, and by a reference that was taken before. In its
 * new namespace the device has a umadN again, under the old number perhaps, but
 * it is not for us.
 */
TEST_F(removal, no_way_to_open)
{
	bool elsewhere = variant->kind == UMAD_MADSIM_NETNS;
	char node[64], path[64];
	struct umad_file file;
	struct stat st;
	int fd;

	ASSERT_EQ(0, stat(self->device.port.dev, &st));
	snprintf(node, sizeof(node), "/dev/umad-%d", getpid());
	ASSERT_EQ(0, mknod(node, S_IFCHR | 0600, st.st_rdev));
	fd = open(self->device.port.dev, O_PATH | O_CLOEXEC);
	ASSERT_LE(0, fd);
	file.fd = open(node, O_RDWR);
	EXPECT_LE(0, file.fd);
	umad_close(&file);

	remove_device(self);

	EXPECT_EQ(-1, _umad_open(&self->device.port, O_RDWR, &file));
	EXPECT_TRUE(errno == ENOENT || errno == ENXIO ||
		    (elsewhere && errno == EPERM));
	EXPECT_EQ(-1, open(node, O_RDWR));
	EXPECT_TRUE(errno == ENXIO || (elsewhere && errno == EPERM));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	EXPECT_EQ(-1, open(path, O_RDWR));
	EXPECT_TRUE(errno == ENXIO || (elsewhere && errno == EPERM));
	close(fd);
	unlink(node);
}

/* Sysfs: who had a file open is told, and there is no other file any more */
TEST_F(removal, no_attributes)
{
	char path[128], text[64];
	int ibdev, port;

	snprintf(path, sizeof(path), "/sys/class/infiniband_mad/%s/ibdev",
		 self->device.port.name);
	ibdev = open(path, O_RDONLY | O_CLOEXEC);
	ASSERT_LE(0, ibdev);
	snprintf(path, sizeof(path), "/sys/class/infiniband_mad/%s/port",
		 self->device.port.name);
	port = open(path, O_RDONLY | O_CLOEXEC);
	ASSERT_LE(0, port);
	EXPECT_LT(0, pread(port, text, sizeof(text), 0));

	remove_device(self);

	EXPECT_EQ(-1, pread(ibdev, text, sizeof(text), 0));
	EXPECT_EQ(ENODEV, errno);
	EXPECT_EQ(-1, pread(port, text, sizeof(text), 0));
	EXPECT_EQ(ENODEV, errno);
	close(ibdev);
	close(port);
}

/* Nothing is outstanding any more, and nobody is left to be told */
TEST_F(removal, ends_what_is_outstanding)
{
	struct umad_msg msg;
	int i;

	for (i = 0; i < umad_many_sends(); i++) {
		msg = unanswered(self, i);
		umad_write(&self->file, &msg);
	}
	remove_device(self);
	umad_err_read(EIO, &self->file);
	if (!umad_reference()) {
		EXPECT_EQ(0, umad_fdinfo(&self->file, "umad-agents"));
		EXPECT_EQ(0, umad_fdinfo(&self->file, "umad-outstanding"));
		EXPECT_EQ(0, umad_fdinfo(&self->file, "umad-unread"));
	}
}

/* Timeout records that nobody has read go with the descriptor */
TEST_F(removal, frees_unread_timeouts)
{
	struct umad_msg msg = unanswered(self, 1);
	int i;

	msg.hdr.timeout_ms = 1;
	for (i = 0; i < 16; i++) {
		msg.mad.tid = htobe64(i);
		umad_write(&self->file, &msg);
	}
	ASSERT_TRUE(umad_readable(&self->file, UMAD_SOON_MS));
	remove_device(self);
	umad_err_read(EIO, &self->file);
	expect_dead(&self->file);
}

/* Stuck in a page fault when the device goes: nobody waits for that */

#define expect_removal_beside(self, stall, call, why) ({		\
	bool __passed;							\
									\
	ASSERT_TRUE(umad_stall_caught(stall));				\
	remove_start(self);						\
	__passed = umad_call_returned(&(self)->removal, umad_fixed_ms()); \
	ASSERT_EQ(0, umad_stall_release(stall, NULL, 0));		\
	umad_call_end(call);						\
	umad_call_end(&(self)->removal);				\
	EXPECT_EQ(0, (self)->removal.ret);				\
	umad_stall_free(stall);						\
	EXPECT_FIXED(__passed, why);					\
	__passed;							\
})

TEST_F(removal, stalled_write)
{
	struct umad_msg msg = unanswered(self, 1);
	size_t there = self->file.hlen + MAD_RMPP_HDR;
	struct umad_call call = { .op = UMAD_CALL_WRITE };
	struct umad_stall stall;

	umad_stall(&stall);
	call.fd = self->file.fd;
	call.buf = umad_stall_at(&stall, there);
	call.len = self->file.hlen + MAD_SIZE;
	umad_pack(&self->file, &msg, MAD_RMPP_HDR, call.buf);
	umad_call_start(&call);
	if (!expect_removal_beside(self, &stall, &call,
				   "removal waits for a stalled write"))
		return;
	EXPECT_EQ(-1, call.ret);
	EXPECT_EQ(EIO, call.err);
}

TEST_F(removal, stalled_long_write)
{
	struct umad_reg reg = umad_reg_vendor(variant->abi.api, 0);
	struct umad_msg msg = unanswered(self, 1);
	struct umad_call call = { .op = UMAD_CALL_WRITE };
	struct umad_stall stall;
	size_t there;

	umad_stall(&stall);
	reg.rmpp_version = 1;
	msg.hdr.id = umad_register(&self->file, &reg);
	msg.mad.rmpp_version = 1;
	msg.mad.rmpp_type = MAD_RMPP_DATA;
	msg.mad.rmpp_flags = MAD_RMPP_ACTIVE;
	there = self->file.hlen + MAD_SIZE + 1000;
	call.fd = self->file.fd;
	call.buf = umad_stall_at(&stall, there);
	call.len = there + 3000;
	umad_pack(&self->file, &msg, MAD_SIZE, call.buf);
	umad_call_start(&call);
	if (!expect_removal_beside(self, &stall, &call,
				   "removal waits for a stalled long write"))
		return;
	EXPECT_EQ(-1, call.ret);
	EXPECT_EQ(EIO, call.err);
}

TEST_F(removal, stalled_read)
{
	struct umad_msg msg = unanswered(self, 1);
	struct umad_call call = { .op = UMAD_CALL_READ };
	struct umad_stall stall;
	bool passed;

	msg.hdr.timeout_ms = 1;
	umad_write(&self->file, &msg);
	ASSERT_TRUE(umad_readable(&self->file, UMAD_SOON_MS));
	umad_stall(&stall);
	call.fd = self->file.fd;
	call.buf = umad_stall_at(&stall, 16);
	call.len = self->file.hlen + MAD_SIZE;
	umad_call_start(&call);
	ASSERT_TRUE(umad_stall_caught(&stall));

	remove_start(self);
	passed = umad_call_returned(&self->removal, UMAD_SOON_MS);
	ASSERT_EQ(0, umad_stall_release(&stall, NULL, 0));
	umad_call_end(&call);
	umad_call_end(&self->removal);
	EXPECT_TRUE(passed);
	/* It had its packet before the device went */
	EXPECT_EQ((ssize_t)self->file.hlen + MAD_HDR, call.ret);
	umad_stall_free(&stall);
}

/* @there: how much of the request can be read */
#define start_register(self, variant, stall, call, there) do {		\
	struct umad_reg __reg = umad_reg_send_only((variant)->abi.api);	\
	__u8 __req[64];							\
									\
	umad_reg_encode(&__reg, __req);					\
	umad_stall(stall);						\
	memcpy(umad_stall_at(stall, there), __req, there);		\
	*(call) = (struct umad_call){					\
		.op = UMAD_CALL_IOCTL,					\
		.fd = (self)->file.fd,					\
		.cmd = umad_reg_cmd(&__reg),				\
		.buf = umad_stall_at(stall, there),			\
	};								\
	umad_call_start(call);						\
} while (0)

TEST_F(removal, stalled_register)
{
	struct umad_call call;
	struct umad_stall stall;

	start_register(self, variant, &stall, &call, 8);
	if (!expect_removal_beside(self, &stall, &call,
				   "removal waits for a stalled registration"))
		return;
	EXPECT_EQ(-1, call.ret);
	EXPECT_EQ(EPIPE, call.err);
}

/* Stuck where it stores the result */
TEST_F(removal, stalled_register_result)
{
	struct umad_reg reg = umad_reg_send_only(variant->abi.api);
	struct umad_call call = { .op = UMAD_CALL_IOCTL };
	struct umad_stall stall;
	__u8 req[64];
	bool passed;

	umad_reg_encode(&reg, req);
	umad_stall(&stall);
	if (!stall.wp)
		SKIP(return, UMAD_NO_WRITE_PROTECT);
	ASSERT_EQ(0, umad_stall_release(&stall, req, sizeof(req)));
	ASSERT_EQ(0, umad_stall_write_protect(&stall));
	call.fd = self->file.fd;
	call.cmd = umad_reg_cmd(&reg);
	call.buf = umad_stall_at(&stall, 0);
	umad_call_start(&call);
	ASSERT_TRUE(umad_stall_caught(&stall));

	remove_start(self);
	passed = umad_call_returned(&self->removal, umad_fixed_ms());
	ASSERT_EQ(0, umad_stall_allow_write(&stall));
	umad_call_end(&call);
	umad_call_end(&self->removal);
	EXPECT_EQ(0, self->removal.ret);
	umad_stall_free(&stall);
	EXPECT_FIXED(passed && call.ret == -1 && call.err == EPIPE,
		     "removal waits for a registration that stores its id");
	umad_err_unregister(EINVAL, &self->file, 1);
}

TEST_F(removal, stalled_unregister)
{
	struct umad_call call = { .op = UMAD_CALL_IOCTL };
	struct umad_stall stall;
	bool passed;

	umad_stall(&stall);
	call.fd = self->file.fd;
	call.cmd = IB_USER_MAD_UNREGISTER_AGENT;
	call.buf = umad_stall_at(&stall, 0);
	umad_call_start(&call);
	ASSERT_TRUE(umad_stall_caught(&stall));

	remove_start(self);
	passed = umad_call_returned(&self->removal, UMAD_SOON_MS);
	ASSERT_EQ(0, umad_stall_release(&stall, &self->id, sizeof(self->id)));
	umad_call_end(&call);
	umad_call_end(&self->removal);
	EXPECT_TRUE(passed);
	EXPECT_EQ(-1, call.ret);
	EXPECT_EQ(EINVAL, call.err);
	umad_stall_free(&stall);
}

/*
 * All at once: everybody goes on until told that the device is gone, and sees
 * no other answer than those that there are.
 */

struct busy {
	const struct umad_device *device;
	struct umad_file *file;
	__u32 id;
	int api;
	int strange;		/* an errno that should not be */
};

static bool busy_over(struct busy *busy, int err, int gone)
{
	if (err && err != gone)
		busy->strange = err;
	return err;
}

static long busy_open(struct umad_call *call)
{
	struct busy *busy = call->arg;
	struct umad_msg msg = __unanswered(busy->device, 0, 1);
	struct umad_file file;
	struct umad_reg reg;

	for (;;) {
		if (_umad_open(&busy->device->port, O_RDWR, &file))
			return errno;
		reg = umad_reg_send_only(busy->api);
		if (!_umad_register(&file, &reg)) {
			msg.hdr.id = reg.id;
			_umad_write(&file, &msg);
		}
		umad_close(&file);
	}
}

static long busy_register(struct umad_call *call)
{
	struct busy *busy = call->arg;
	struct umad_reg reg;
	int err;

	for (;;) {
		reg = umad_reg_send_only(busy->api);
		err = _umad_register(busy->file, &reg) ? errno : 0;
		if (busy_over(busy, err, EPIPE))
			return 0;
		err = _umad_unregister(busy->file, reg.id) ? errno : 0;
		if (busy_over(busy, err, EINVAL))
			return 0;
	}
}

static long busy_write(struct umad_call *call)
{
	struct busy *busy = call->arg;
	struct umad_msg msg;
	int err;
	__u32 i;

	for (i = 0;; i++) {
		msg = __unanswered(busy->device, busy->id, i);
		msg.hdr.timeout_ms = 1;
		err = _umad_write(busy->file, &msg) < 0 ? errno : 0;
		/* Before the device goes the interface, its GID, every route */
		if (busy->device->kind == UMAD_RXE_NETDEV && err != EIO)
			continue;
		if (busy_over(busy, err, EIO))
			return 0;
	}
}

static long busy_read(struct umad_call *call)
{
	struct busy *busy = call->arg;
	struct umad_msg msg;
	int err;

	for (;;) {
		_umad_poll(busy->file, 10);
		err = _umad_read(busy->file, &msg) < 0 ? errno : 0;
		if (err != EAGAIN && busy_over(busy, err, EIO))
			return 0;
	}
}

static long busy_look(struct umad_call *call)
{
	struct busy *busy = call->arg;
	char text[64];

	while (!umad_sysfs_read(text, sizeof(text),
				"/sys/class/infiniband_mad/%s/ibdev",
				busy->device->port.name) &&
	       !(_umad_poll(busy->file, 0) & POLLERR))
		umad_fdinfo(busy->file, "umad-agents");
	return 0;
}

#define expect_busy(self, abi, rounds) do {				\
	static long (* const __fns[])(struct umad_call *call) = {	\
		busy_open, busy_register, busy_write, busy_read, busy_look, \
	};								\
	struct umad_call __calls[ARRAY_SIZE(__fns)];			\
	struct busy __busy[ARRAY_SIZE(__fns)];				\
	int __round;							\
	size_t __i;							\
									\
	for (__round = 0; __round < (rounds); __round++) {		\
		for (__i = 0; __i < ARRAY_SIZE(__fns); __i++) {		\
			__busy[__i] = (struct busy){			\
				.device = &(self)->device,		\
				.file = &(self)->file,			\
				.id = (self)->id,			\
				.api = (abi)->api,			\
			};						\
			__calls[__i] = (struct umad_call){		\
				.op = UMAD_CALL_FN,			\
				.fn = __fns[__i],			\
				.arg = &__busy[__i],			\
			};						\
			umad_call_start(&__calls[__i]);			\
		}							\
		umad_sleep_ms(20 + 10 * __round);			\
		remove_device(self);					\
		for (__i = 0; __i < ARRAY_SIZE(__fns); __i++) {		\
			ASSERT_TRUE(umad_call_returned(&__calls[__i],	\
						       UMAD_SOON_MS))	\
				TH_LOG("thread %zu goes on", __i);	\
			EXPECT_EQ(0, __busy[__i].strange)		\
				TH_LOG("thread %zu: %s", __i,		\
				       strerror(__busy[__i].strange));	\
		}							\
		return_device(self);					\
		umad_close(&(self)->file);				\
		victim_open(self, abi);					\
	}								\
} while (0)

TEST_F_TIMEOUT(removal, while_calls_are_made, UMAD_HANGS)
{
	expect_busy(self, &variant->abi, 5);
}

/* A device that comes back is a new one; the old descriptors stay as dead */
TEST_F_TIMEOUT(removal, new_device_is_another_one, UMAD_HANGS)
{
	struct umad_file old[4];
	struct umad_msg msg, got;
	int i;

	for (i = 0; i < 4; i++) {
		old[i] = self->file;
		self->file.fd = -1;
		remove_device(self);
		return_device(self);
		victim_open(self, &variant->abi);
	}
	for (i = 0; i < 4; i++) {
		msg = unanswered(self, 1);
		umad_err_read(EIO, &old[i]);
		umad_err_write(EIO, &old[i], &msg);
		umad_err_unregister(EINVAL, &old[i], 0);
		expect_dead(&old[i]);
		umad_close(&old[i]);
	}

	msg = unanswered(self, 2);
	msg.hdr.timeout_ms = 1;
	umad_write(&self->file, &msg);
	umad_read_timeout(&self->file, &got);
	EXPECT_EQ(2, (__u32)be64toh(got.mad.tid));
}

/* Somebody at the other end of the cable, who does not wait for answers */
struct asker {
	struct umad_call call;
	struct umad_sm sm;
	atomic_bool enough;
};

static const struct umad_path to_victim = { .hops = 1, .port = { 1 } };

static long ask(struct umad_call *call)
{
	struct asker *asker = call->arg;
	struct umad_msg msg;

	while (!atomic_load(&asker->enough)) {
		msg = umad_smp_msg(&asker->sm, &to_victim, 0, MAD_GET,
				   SMP_NODE_INFO, 0, NULL);
		msg.hdr.timeout_ms = 0;
		_umad_write(&asker->sm.file, &msg);
	}
	return 0;
}

/*
 * The MAD layer answers with agents of its own, and frees them when it lets go of
 * a device. A device that hands it a request after that may crash the kernel. The
 * one that we simulate must not.
 */
TEST_F_TIMEOUT(removal, while_requests_arrive, UMAD_HANGS)
{
	struct asker asker = { .call = { .op = UMAD_CALL_FN, .fn = ask } };
	__u8 data[64] = {};
	int i;

	if (variant->kind != UMAD_MADSIM && variant->kind != UMAD_MADSIM_NETNS)
		SKIP(return, "the device has no other end that stays");

	umad_sm_open(&self->device.fabric.host[1], &asker.sm);
	asker.call.arg = &asker;
	umad_call_start(&asker.call);
	for (i = 0; i < 10; i++) {
		umad_sleep_ms(20);
		remove_device(self);
		return_device(self);
	}
	atomic_store(&asker.enough, true);
	umad_call_end(&asker.call);

	/* What came before may have left no room in the device's receive queue */
	for (i = 0; i < 10; i++) {
		if (!umad_smp(&asker.sm, &to_victim, 0, MAD_GET, SMP_NODE_INFO,
			      0, data))
			break;
	}
	EXPECT_GT(10, i);
	umad_sm_close(&asker.sm);
}

/* The last one to know of a device may be a process that is killed */
TEST_F(removal, last_holder_is_killed)
{
	struct umad_msg msg = unanswered(self, 1);
	pid_t parent = getpid(), pid;
	int ready[2], status;
	char c;

	ASSERT_EQ(0, pipe(ready));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		_umad_write(&self->file, &msg);
		if (write(ready[1], "", 1) != 1)
			_exit(1);
		umad_wait_as_child(parent);
	}
	ASSERT_EQ(1, read(ready[0], &c, 1));
	umad_close(&self->file);
	remove_device(self);
	ASSERT_EQ(0, kill(pid, SIGKILL));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status));
	return_device(self);
	close(ready[0]);
	close(ready[1]);
}

/* What takes MADs that arrive, or an interface below the device */

FIXTURE(roce)
{
	VICTIM;
};

FIXTURE_SETUP(roce)
{
	victim_setup(self, UMAD_RXE, &abi_new);
}

FIXTURE_TEARDOWN(roce)
{
	victim_teardown(self);
}

/* Half of a message has come, or half has gone, and the rest never does */
TEST_F(roce, frees_half_a_message)
{
	struct umad_reg reg = umad_reg_vendor(2, 1ULL << MAD_GET);
	struct umad_file sender, receiver;
	__u32 sid, rid;
	__u8 *message;
	struct umad_msg msg;
	size_t len;

	umad_unregister(&self->file, self->id);
	umad_open(&self->device.port, O_RDWR | O_NONBLOCK, &receiver);
	umad_enable_pkey(&receiver);
	reg.rmpp_version = 1;
	rid = umad_register(&receiver, &reg);
	umad_open(&self->device.port, O_RDWR | O_NONBLOCK, &sender);
	umad_enable_pkey(&sender);
	reg = umad_reg_vendor(2, 1ULL << MAD_SET);
	reg.rmpp_version = 1;
	reg.flags = IB_USER_MAD_USER_RMPP;
	sid = umad_register(&sender, &reg);

	/* The kernel takes this for the first of many */
	msg = umad_msg(&self->device.port, sid, MAD_GET, 1);
	msg.mad.rmpp_version = 1;
	msg.mad.rmpp_type = MAD_RMPP_DATA;
	msg.mad.rmpp_flags = MAD_RMPP_ACTIVE | 2;
	msg.mad.seg_num = htobe32(1);
	umad_write(&sender, &msg);
	/* Its acknowledgment comes to the sender, and no more than that */
	umad_read(&sender, &msg);
	EXPECT_FALSE(umad_readable(&receiver, 0));

	/* And this waits for an acknowledgment that nobody sends */
	len = receiver.hlen + MAD_VENDOR_HDR + 10000;
	message = calloc(1, len);
	ASSERT_NE(NULL, message);
	msg = umad_msg(&self->device.port, rid, MAD_SET, 2);
	msg.hdr.timeout_ms = 600000;
	msg.mad.rmpp_version = 1;
	msg.mad.rmpp_type = MAD_RMPP_DATA;
	msg.mad.rmpp_flags = MAD_RMPP_ACTIVE;
	umad_pack(&receiver, &msg, MAD_VENDOR_HDR, message);
	EXPECT_EQ((ssize_t)len, write(receiver.fd, message, len));
	free(message);
	umad_read(&sender, &msg);

	remove_device(self);
	umad_err_read(EIO, &receiver);
	umad_err_read(EIO, &sender);
	umad_close(&receiver);
	umad_close(&sender);
}

/* MADs that nobody has read go with the descriptor */
TEST_F(roce, frees_unread_mads)
{
	struct umad_msg msg;
	int i;

	for (i = 0; i < 16; i++) {
		msg = umad_msg(&self->device.port, self->id, MAD_SEND, i);
		umad_write(&self->file, &msg);
	}
	ASSERT_TRUE(umad_readable(&self->file, UMAD_SOON_MS));
	remove_device(self);
	umad_err_read(EIO, &self->file);
	expect_dead(&self->file);
}

/* The interface goes, and the kernel takes the device away by itself */
TEST_F_TIMEOUT(roce, network_interface_goes, UMAD_HANGS)
{
	self->device.kind = UMAD_RXE_NETDEV;
	expect_busy(self, &abi_new, 3);
}

TEST_HARNESS_MAIN
