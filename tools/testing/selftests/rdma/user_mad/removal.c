// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The device goes away, whatever its users are doing: they are all told, none
 * of them is waited for, and what comes back is a new device.
 *
 * Also on: 6.1, 6.12, smp
 */
#include <sys/epoll.h>
#include <sys/sysmacros.h>

#include "kselftest_harness.h"
#include "lib/removal.h"

#define expect_dead(file)						\
	EXPECT_EQ(POLLERR, _umad_poll(file, 0) & ~POLLHUP)

/* Asleep when the device goes */

TEST_F(removal, wakes_readers)
{
	__u8 buf[4][UMAD_HDR_NEW + MAD_SIZE];
	struct umad_call calls[4];
	bool passed = true;
	int i;

	umad_make_blocking(&self->file);
	for (i = 0; i < 4; i++) {
		calls[i] = UMAD_CALL(READ, self->file.fd, .buf = buf[i], .len = sizeof(buf[i]));
		umad_call_sleep(&calls[i]);
	}
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
	struct umad_call calls[] = {
		{ .fn = umad_in_poll },
		{ .fn = umad_in_epoll, .len = EPOLLIN },
		{ .fn = umad_in_epoll, .len = EPOLLIN | EPOLLET },
		{ .fn = umad_in_select },
	};
	bool hup = true;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		calls[i].fd = self->file.fd;
		umad_call_sleep(&calls[i]);
	}
	remove_device(self);
	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		ASSERT_TRUE(umad_call_returned(&calls[i], UMAD_SOON_MS))
			TH_LOG("poller %zu sleeps on", i);
		if (calls[i].fn == umad_in_select) {
			EXPECT_EQ(1, calls[i].ret);
			continue;
		}
		EXPECT_EQ(POLLERR, calls[i].ret & ~POLLHUP);
		hup = hup && calls[i].ret & POLLHUP;
	}
	EXPECT_FIXED(hup, "no POLLHUP when the device is gone");
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
	reg = umad_reg_vendor(1, umad_get_set_send);
	umad_err_register(EPIPE, &self->file, &reg);
	reg = umad_reg_vendor(2, umad_get_set_send);
	umad_err_register(EPIPE, &self->file, &reg);
	reg = umad_reg_send_only(variant->abi.api);
	umad_err_register(EPIPE, &fresh, &reg);
	umad_err_unregister(EINVAL, &self->file, self->id);
	umad_err_enable_pkey(EINVAL, &self->file);
	EXPECT_EQ(0, _umad_enable_pkey(&fresh));
	umad_err(ENOTTY, ioctl(self->file.fd, _IO(IB_IOCTL_MAGIC, 99)));
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
	EXPECT_TRUE(errno == ENOENT || errno == ENXIO || (elsewhere && errno == EPERM));
	EXPECT_EQ(-1, open(node, O_RDWR));
	EXPECT_TRUE(errno == ENXIO || (elsewhere && errno == EPERM));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	EXPECT_EQ(-1, open(path, O_RDWR));
	EXPECT_TRUE(errno == ENXIO || (elsewhere && errno == EPERM));
	close(fd);
	unlink(node);
}

/* Timeout records that were not read go with the descriptor, and MADs do */
TEST_F(removal, frees_unread)
{
	struct umad_msg msg;
	int i;

	for (i = 0; i < 16; i++) {
		msg = unanswered(self, i);
		/* One is still outstanding when the device goes */
		if (i)
			msg.hdr.timeout_ms = 1;
		umad_write(&self->file, &msg);
		if (!umad_device_is_rxe(self->device.kind))
			continue;
		msg = umad_msg(&self->device.port, self->id, MAD_SEND, 100 + i);
		umad_write(&self->file, &msg);
	}
	ASSERT_TRUE(umad_readable(&self->file, UMAD_SOON_MS));
	umad_sleep_ms(UMAD_QUIET_MS);
	remove_device(self);
	umad_err_read(EIO, &self->file);
	expect_dead(&self->file);
	umad_expect_fdinfo(0, &self->file, "umad-agents");
	umad_expect_fdinfo(0, &self->file, "umad-outstanding");
}

/*
 * All at once: each thread goes on until told that the device is gone, and sees
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
	struct umad_msg msg = umad_unanswered(busy->device, 0, 1);
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
		msg = umad_unanswered(busy->device, busy->id, i);
		msg.hdr.timeout_ms = 1;
		err = _umad_write(busy->file, &msg) < 0 ? errno : 0;
		/* The writer may be quicker than timeouts and the reader */
		if (err == ENOBUFS) {
			umad_sleep_ms(1);
			continue;
		}
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

	while (!umad_sysfs_read(text, sizeof(text), "/sys/class/infiniband_mad/%s/ibdev",
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
			umad_call_fn(&__calls[__i], __fns[__i], &__busy[__i]); \
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
	expect_busy(self, &variant->abi, umad_thorough() ? 5 : 2);
}

/* A device that comes back is a new one; the old descriptors stay as dead */
TEST_F_TIMEOUT(removal, new_device_is_another_one, UMAD_HANGS)
{
	struct umad_file old[4];
	struct umad_msg msg, got;
	int i;

	for (i = 0; i < 4; i++) {
		old[i] = self->file;
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

/* The interface goes, and the kernel takes the device away by itself */
TEST_F_TIMEOUT(removal, network_interface_goes, UMAD_HANGS)
{
	if (variant->kind != UMAD_RXE)
		SKIP(return, UMAD_ROCE_ONLY);
	self->device.kind = UMAD_RXE_NETDEV;
	expect_busy(self, &variant->abi, 3);
}

TEST_HARNESS_MAIN
