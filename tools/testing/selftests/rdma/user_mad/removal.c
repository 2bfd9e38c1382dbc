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

TEST_F_TIMEOUT(removal, errno_of_each_call, UMAD_HANGS)
{
	struct umad_msg msg = unanswered(self, 1), got;
	struct iovec iov[2] = { { &msg, sizeof(msg) }, { &msg, sizeof(msg) } };
	struct umad_file fresh, old;
	struct umad_reg reg;
	int len;

	umad_open(&self->device.port, O_RDWR | O_NONBLOCK, &fresh);
	remove_device(self);

	umad_err_read(EIO, &self->file);
	umad_err_read(EIO, &fresh);
	umad_err_read_len(EINVAL, &self->file, -1);
	umad_err_write(EIO, &self->file, &msg);
	umad_err_write(EIO, &fresh, &msg);
	umad_err(EIO, readv(self->file.fd, iov, 2));
	umad_err(EIO, writev(self->file.fd, iov, 2));
	if (!umad_reference()) {
		umad_err(EIO, preadv2(self->file.fd, iov, 2, -1, RWF_NOWAIT));
		umad_err(EIO, pwritev2(self->file.fd, iov, 2, -1, RWF_NOWAIT));
		umad_err(EIO, ioctl(self->file.fd, FIONREAD, &len));
	}
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

	/* A device that comes back is a new one; the old descriptor stays as dead */
	old = self->file;
	return_device(self);
	victim_open(self, &variant->abi);
	msg = unanswered(self, 2);
	umad_err_read(EIO, &old);
	umad_err_write(EIO, &old, &msg);
	umad_err_unregister(EINVAL, &old, self->id);
	expect_dead(&old);
	umad_close(&old);
	msg.hdr.timeout_ms = 1;
	umad_write(&self->file, &msg);
	umad_read_timeout(&self->file, &got);
	EXPECT_EQ(2, (__u32)be64toh(got.mad.tid));
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
	const struct busy_task *task;
	struct umad_call call;
};

static int busy_open(struct busy *busy, __u32 i)
{
	struct umad_reg reg = umad_reg_send_only(busy->api);
	struct umad_msg msg;
	struct umad_file file;

	if (_umad_open(&busy->device->port, O_RDWR, &file))
		return errno;
	if (!_umad_register(&file, &reg)) {
		msg = umad_unanswered(busy->device, reg.id, i);
		_umad_write(&file, &msg);
	}
	umad_close(&file);
	return 0;
}

static int busy_register(struct busy *busy, __u32 i)
{
	struct umad_reg reg = umad_reg_send_only(busy->api);

	(void)i;
	return _umad_register(busy->file, &reg) || _umad_unregister(busy->file, reg.id) ? errno : 0;
}

static int busy_write(struct busy *busy, __u32 i)
{
	struct umad_msg msg = umad_unanswered(busy->device, busy->id, i);

	msg.hdr.timeout_ms = 1;
	if (_umad_write(busy->file, &msg) >= 0)
		return 0;
	/* The writer may be quicker than timeouts and the reader */
	if (errno == ENOBUFS) {
		umad_sleep_ms(1);
		return 0;
	}
	/* Before the device goes the interface, its GID, every route */
	return busy->device->kind == UMAD_RXE_NETDEV && errno != EIO ? 0 : errno;
}

static int busy_read(struct busy *busy, __u32 i)
{
	struct umad_msg msg;

	(void)i;
	_umad_poll(busy->file, 10);
	return _umad_read(busy->file, &msg) < 0 && errno != EAGAIN ? errno : 0;
}

static int busy_look(struct busy *busy, __u32 i)
{
	char text[64];

	(void)i;
	umad_fdinfo(busy->file, "umad-agents");
	return umad_sysfs_read(text, sizeof(text), "/sys/class/infiniband_mad/%s/ibdev",
			       busy->device->port.name) ||
	       _umad_poll(busy->file, 0) & POLLERR ? ENODEV : 0;
}

/* What is done over and over, and which errno then ends it; 0: whichever */
static const struct busy_task {
	int (*once)(struct busy *busy, __u32 i);
	int gone[2];
} busy_tasks[] = {
	{ busy_open, { 0 } },
	{ busy_register, { EPIPE, EINVAL } },
	{ busy_write, { EIO } },
	{ busy_read, { EIO } },
	{ busy_look, { 0 } },
};

static long busy_run(struct umad_call *call)
{
	struct busy *busy = call->arg;
	__u32 i = 0;
	int err;

	do
		err = busy->task->once(busy, i++);
	while (!err);
	return err;
}

/* On Soft-RoCE the interface goes, too, and the kernel takes the device away by itself */
TEST_F_TIMEOUT(removal, while_calls_are_made, UMAD_HANGS)
{
	int rounds = umad_thorough() ? 5 : 2, more = variant->kind == UMAD_RXE ? 3 : 0, round;
	struct busy busy[ARRAY_SIZE(busy_tasks)];
	size_t i;

	for (round = 0; round < rounds + more; round++) {
		if (round == rounds)
			self->device.kind = UMAD_RXE_NETDEV;
		for (i = 0; i < ARRAY_SIZE(busy); i++) {
			busy[i] = (struct busy){
				.device = &self->device,
				.file = &self->file,
				.id = self->id,
				.api = variant->abi.api,
				.task = &busy_tasks[i],
			};
			umad_call_fn(&busy[i].call, busy_run, &busy[i]);
		}
		umad_sleep_ms(20 + 10 * round);
		remove_device(self);
		for (i = 0; i < ARRAY_SIZE(busy); i++) {
			const int *gone = busy_tasks[i].gone;
			long ret;

			ASSERT_TRUE(umad_call_returned(&busy[i].call, UMAD_SOON_MS))
				TH_LOG("thread %zu goes on", i);
			ret = busy[i].call.ret;
			EXPECT_TRUE(!gone[0] || ret == gone[0] || ret == gone[1])
				TH_LOG("thread %zu: %s", i, strerror(ret));
		}
		return_device(self);
		umad_close(&self->file);
		victim_open(self, &variant->abi);
	}
}

TEST_HARNESS_MAIN
