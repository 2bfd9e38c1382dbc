// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The device goes away from those who hold its issm device, and from those who
 * are in line for it.
 */
#include "kselftest_harness.h"
#include "lib/issm.h"

#define CAP_IS_SM	2

FIXTURE(issm)
{
	struct umad_issm issm;
};

FIXTURE_VARIANT(issm)
{
	enum umad_device_kind kind;
};

FIXTURE_VARIANT_ADD(issm, unplug)
{
	.kind = UMAD_MADSIM,
};

FIXTURE_VARIANT_ADD(issm, rmmod)
{
	.kind = UMAD_MADSIM_RMMOD,
};

FIXTURE_SETUP(issm)
{
	if (!umad_device_possible(variant->kind))
		SKIP(return, UMAD_NO_DEVICE(variant->kind));
	ASSERT_EQ(0, _umad_issm_make(&self->issm, variant->kind));
}

FIXTURE_TEARDOWN(issm)
{
	if (self->issm.device.kind == variant->kind)
		umad_issm_free(&self->issm);
}

static bool is_sm(const struct umad_port *port)
{
	char text[32];

	return !umad_sysfs_read(text, sizeof(text),
				"/sys/class/infiniband/%s/ports/%d/cap_mask",
				port->ibdev, port->port) &&
	       strtoul(text, NULL, 16) & CAP_IS_SM;
}

#define remove_device(issm)						\
	ASSERT_EQ(0, umad_device_remove(&(issm)->device))

#define return_device(issm) do {					\
	ASSERT_EQ(0, umad_device_return(&(issm)->device));		\
	umad_issm_dev(&(issm)->device.port, (issm)->path);		\
} while (0)

/* All who are in line go home */
TEST_F(issm, wakes_openers)
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

/* While one holds it, and when nobody does any more */
TEST_F(issm, open_fails_after_removal)
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
	errno = 0;
	EXPECT_EQ(-1, open(node, O_RDWR | O_NONBLOCK));
	EXPECT_EQ(ENXIO, errno);
	/* This one is still known by its number, and so joins the line */
	umad_call_start(&call);
	passed = umad_call_returned(&call, umad_fixed_ms());
	if (!passed)
		umad_call_interrupt(&call);
	EXPECT_EQ(-1, call.ret);

	EXPECT_EQ(0, close(issm->holder));
	issm->holder = -1;
	errno = 0;
	EXPECT_EQ(-1, open(node, O_RDWR));
	EXPECT_EQ(ENXIO, errno);
	close(fd);
	unlink(node);
	EXPECT_FIXED(passed && call.err == ENXIO,
		     "who opens issm when the device is gone gets in line");
}

/* A holder of the old device has nothing to do with the new one */
TEST_F(issm, new_device_is_not_held)
{
	struct umad_issm *issm = &self->issm;
	int fd;

	EXPECT_TRUE(is_sm(&issm->device.port));
	remove_device(issm);
	return_device(issm);
	EXPECT_FALSE(is_sm(&issm->device.port));
	fd = open(issm->path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	EXPECT_LE(0, fd);
	EXPECT_TRUE(is_sm(&issm->device.port));

	EXPECT_EQ(0, close(issm->holder));
	issm->holder = -1;
	EXPECT_TRUE(is_sm(&issm->device.port));
	EXPECT_EQ(0, close(fd));
	EXPECT_FALSE(is_sm(&issm->device.port));
}

/* Where nobody holds on to what was removed, its number is free for the next one */
TEST_F(issm, number_is_used_again)
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
	passed = !is_sm(&issm.device.port);
	umad_issm_free(&issm);
	EXPECT_FIXED(passed, "the IsSM bit stays when a device changes its namespace");
}

TEST_HARNESS_MAIN
