// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The IsSM device: the port's bit is set exactly while it is held open, by one
 * at a time; and the port goes away from those who hold it, and from those who are
 * in line for it.
 *
 * Also on: 6.1, 6.12
 */
#include <signal.h>

#include "kselftest_harness.h"
#include "lib/issm.h"
#include "lib/subnet.h"

FIXTURE(issm)
{
	struct umad_fabric fabric;
	struct umad_sm sm;
	char dev[64];		/* of the first host */
	char other[64];		/* of the second */
	int fd;
};

FIXTURE_SETUP(issm)
{
	self->fd = -1;
	self->fabric = (struct umad_fabric){ .hosts = 2 };
	umad_subnet(&self->fabric);
	umad_sm_open(&self->fabric.host[1], &self->sm);
	umad_issm_dev(&self->fabric.host[0], self->dev);
	umad_issm_dev(&self->fabric.host[1], self->other);
}

FIXTURE_TEARDOWN(issm)
{
	if (self->fd >= 0)
		close(self->fd);
	umad_sm_close(&self->sm);
	umad_fabric_stop();
}

/* What the other end of the cable sees, -1 if nothing */
static int is_sm(FIXTURE_DATA(issm) *self)
{
	struct umad_port_info info = {};

	if (umad_smp(&self->sm, &umad_to_next, 0, MAD_GET, SMP_PORT_INFO, 0, &info))
		return -1;
	return !!(be32toh(info.cap_mask) & PORT_CAP_IS_SM);
}

static void issm_let_go(FIXTURE_DATA(issm) *self)
{
	close(self->fd);
	self->fd = -1;
}

static int issm_open(const char *dev, int flags)
{
	return open(dev, flags | O_CLOEXEC);
}

#define issm_hold(self, flags)						\
	ASSERT_LE(0, (self)->fd = issm_open((self)->dev, flags))

#define err_open(err, dev, flags)	umad_err(err, issm_open(dev, flags))

TEST_F(issm, bit_while_open)
{
	int i;

	EXPECT_EQ(0, is_sm(self));
	for (i = 0; i < 3; i++) {
		issm_hold(self, i);	/* O_RDONLY, O_WRONLY, O_RDWR */
		EXPECT_EQ(1, is_sm(self));
		issm_let_go(self);
		EXPECT_EQ(0, is_sm(self));
	}
}

/* RDMA netlink tells which character device it is */
TEST_F(issm, netlink_tells_the_device)
{
	const struct umad_port *port = &self->fabric.host[0];
	struct nl_chardev res = { 0 };
	struct stat st;
	__u32 index;
	int ret;

	ASSERT_EQ(0, stat(self->dev, &st));
	ASSERT_EQ(0, nl_ibdev_index(port->ibdev, &index));
	EXPECT_NE(0, nl_chardev(index, 255, "issm", &res));
	ret = nl_chardev(index, port->port, "issm", &res);
	if (!ret) {
		EXPECT_EQ(5, res.abi);
		EXPECT_EQ(st.st_rdev, res.dev);
		EXPECT_STREQ(strrchr(self->dev, '/') + 1, res.name);
	}
	EXPECT_FIXED(!ret, "RDMA netlink does not know issm");
}

TEST_F(issm, one_at_a_time)
{
	int other;

	issm_hold(self, O_RDWR);
	err_open(EAGAIN, self->dev, O_RDWR | O_NONBLOCK);
	err_open(EAGAIN, self->dev, O_RDONLY | O_NONBLOCK);
	EXPECT_EQ(1, is_sm(self));

	/* Of this port */
	other = issm_open(self->other, O_RDWR | O_NONBLOCK);
	EXPECT_LE(0, other);
	close(other);

	close(self->fd);
	issm_hold(self, O_RDWR | O_NONBLOCK);
}

/* There is nothing else to be done with it */
TEST_F(issm, nothing_but_open_and_close)
{
	struct umad_reg reg = umad_reg_send_only(1);
	struct umad_file file = { .hlen = UMAD_HDR_OLD };
	char buf[512] = {};

	issm_hold(self, O_RDWR);
	file.fd = self->fd;
	umad_err(EINVAL, read(self->fd, buf, sizeof(buf)));
	umad_err(EINVAL, write(self->fd, buf, sizeof(buf)));
	umad_err(ENOTTY, _umad_register(&file, &reg));
	EXPECT_EQ(1, is_sm(self));
}

/* Two who wait get it one after the other */
TEST_F(issm, handed_over)
{
	struct umad_call call[2] = {
		{ .op = UMAD_CALL_OPEN, .path = self->dev },
		{ .op = UMAD_CALL_OPEN, .path = self->dev },
	};
	int first;

	issm_hold(self, O_RDWR);
	umad_call_sleep(&call[0]);
	umad_call_sleep(&call[1]);

	issm_let_go(self);
	first = !umad_call_returned(&call[0], UMAD_SOON_MS);
	if (first)
		ASSERT_TRUE(umad_call_returned(&call[1], UMAD_SOON_MS));
	ASSERT_LE(0, call[first].ret);
	EXPECT_TRUE(umad_call_asleep(&call[!first]));
	EXPECT_EQ(1, is_sm(self));
	err_open(EAGAIN, self->dev, O_RDWR | O_NONBLOCK);

	close(call[first].ret);
	ASSERT_TRUE(umad_call_returned(&call[!first], UMAD_SOON_MS));
	ASSERT_LE(0, call[!first].ret);
	EXPECT_EQ(1, is_sm(self));
	close(call[!first].ret);
	EXPECT_EQ(0, is_sm(self));
}

static int signals;

static void on_signal(int signal)
{
	signals += signal == SIGUSR1;
}

TEST_F(issm, waiting_is_interrupted)
{
	struct umad_call call = { .op = UMAD_CALL_OPEN, .path = self->dev };
	struct sigaction act = { .sa_handler = on_signal };

	ASSERT_EQ(0, sigaction(SIGUSR1, &act, NULL));
	issm_hold(self, O_RDWR);
	umad_call_sleep(&call);
	pthread_kill(call.thread, SIGUSR1);
	ASSERT_TRUE(umad_call_returned(&call, UMAD_SOON_MS));
	EXPECT_EQ(-1, call.ret);
	EXPECT_EQ(EINTR, call.err);
	EXPECT_EQ(1, signals);

	/* The holder has not lost it, and no other program gets in its way */
	EXPECT_EQ(1, is_sm(self));
	close(self->fd);
	EXPECT_EQ(0, is_sm(self));
	issm_hold(self, O_RDWR | O_NONBLOCK);
}

/* When the device refuses the bit, its errno is open's and no descriptor holds it */
TEST_F(issm, refused_by_the_device)
{
	umad_fabric_fault("h1 fail modify_port 12");
	err_open(ENOMEM, self->dev, O_RDWR);
	EXPECT_EQ(0, is_sm(self));
	issm_hold(self, O_RDWR | O_NONBLOCK);
	EXPECT_EQ(1, is_sm(self));
}

/* The device goes away */
FIXTURE(removal)
{
	struct umad_issm issm;
};

umad_device_variants(removal);
umad_device_variant(removal, unplug, UMAD_MADSIM);
umad_device_variant(removal, rmmod, UMAD_MADSIM_RMMOD);

FIXTURE_SETUP(removal)
{
	if (!umad_device_possible(variant->kind))
		SKIP(return, UMAD_NO_DEVICE(variant->kind));
	ASSERT_EQ(0, _umad_issm_make(&self->issm, variant->kind));
}

FIXTURE_TEARDOWN(removal)
{
	if (self->issm.device.kind == variant->kind)
		umad_issm_free(&self->issm);
}

#define port_is_sm(port)	(umad_port_caps(port) & PORT_CAP_IS_SM)

#define remove_device(issm)						\
	ASSERT_EQ(0, umad_device_remove(&(issm)->device))

#define return_device(issm) do {					\
	ASSERT_EQ(0, umad_device_return(&(issm)->device));		\
	umad_issm_dev(&(issm)->device.port, (issm)->path);		\
} while (0)

/* All who are in line go home */
TEST_F(removal, wakes_openers)
{
	struct umad_issm *issm = &self->issm;
	bool passed = true;
	int i;

	umad_issm_queue(issm);
	for (i = 0; i < LINE; i++)
		EXPECT_FALSE(umad_call_returned(&issm->line[i], 1));
	remove_device(issm);
	for (i = 0; i < LINE; i++) {
		if (umad_call_returned(&issm->line[i], umad_fixed_ms())) {
			EXPECT_EQ(-1, issm->line[i].ret);
			EXPECT_EQ(ENXIO, issm->line[i].err);
		} else {
			/* Before the holder closes: see fatal.c */
			passed = false;
			umad_call_interrupt(&issm->line[i]);
			EXPECT_EQ(-1, issm->line[i].ret);
			EXPECT_EQ(EINTR, issm->line[i].err);
		}
	}
	EXPECT_FIXED(passed, "an opener of issm sleeps on for ever");
}

/* While one holds it, and when none does any more */
TEST_F(removal, open_fails_after_removal)
{
	struct umad_call call = { .op = UMAD_CALL_OPEN };
	struct umad_issm *issm = &self->issm;
	char node[64], path[64];
	struct stat st;
	bool passed;
	int fd;

	ASSERT_EQ(0, stat(issm->path, &st));
	snprintf(node, sizeof(node), "/dev/issm-%d", getpid());
	ASSERT_EQ(0, mknod(node, S_IFCHR | 0600, st.st_rdev));
	fd = open(issm->path, O_PATH | O_CLOEXEC);
	ASSERT_LE(0, fd);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	call.path = path;

	remove_device(issm);
	EXPECT_EQ(-1, open(issm->path, O_RDWR));
	EXPECT_TRUE(errno == ENOENT || errno == ENXIO);
	umad_err(ENXIO, open(node, O_RDWR | O_NONBLOCK));
	/* This one is still known by its number, and so joins the line */
	umad_call_start(&call);
	passed = umad_call_returned(&call, umad_fixed_ms());
	if (!passed)
		umad_call_interrupt(&call);
	EXPECT_EQ(-1, call.ret);

	EXPECT_EQ(0, close(issm->holder));
	issm->holder = -1;
	umad_err(ENXIO, open(node, O_RDWR));
	close(fd);
	unlink(node);
	EXPECT_FIXED(passed && call.err == ENXIO,
		     "who opens issm when the device is gone gets in line");
}

/* A holder of the old device has nothing to do with the new one */
TEST_F(removal, new_device_is_not_held)
{
	struct umad_issm *issm = &self->issm;
	int fd;

	EXPECT_TRUE(port_is_sm(&issm->device.port));
	remove_device(issm);
	return_device(issm);
	EXPECT_FALSE(port_is_sm(&issm->device.port));
	fd = open(issm->path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	EXPECT_LE(0, fd);
	EXPECT_TRUE(port_is_sm(&issm->device.port));

	EXPECT_EQ(0, close(issm->holder));
	issm->holder = -1;
	EXPECT_TRUE(port_is_sm(&issm->device.port));
	EXPECT_EQ(0, close(fd));
	EXPECT_FALSE(port_is_sm(&issm->device.port));
}

/* Where no descriptor holds on to a removed device, its number is free for the next one */
TEST_F(removal, number_is_used_again)
{
	struct umad_issm *issm = &self->issm;
	char path[sizeof(issm->path)];

	EXPECT_EQ(0, close(issm->holder));
	issm->holder = -1;
	memcpy(path, issm->path, sizeof(path));
	remove_device(issm);
	return_device(issm);
	EXPECT_STREQ(path, issm->path);
}

/* The bit does not stay behind on a device that lives on elsewhere */
TEST(leaves_no_bit)
{
	struct umad_issm issm;
	bool passed;

	if (!umad_device_possible(UMAD_MADSIM_NETNS))
		SKIP(return, UMAD_NO_FABRICS);
	ASSERT_EQ(0, _umad_issm_make(&issm, UMAD_MADSIM_NETNS));
	remove_device(&issm);
	return_device(&issm);
	passed = !port_is_sm(&issm.device.port);
	umad_issm_free(&issm);
	EXPECT_FIXED(passed, "the IsSM bit stays when a device changes its namespace");
}

TEST_HARNESS_MAIN
