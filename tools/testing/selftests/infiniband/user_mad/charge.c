// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory: what a process makes the kernel hold for it, outstanding sends and
 * unread MADs, is charged to the memory cgroup in which it opened the file.
 */
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>

#include "umad_utils.h"

#define SENDS		4096
#define UNREAD		4096

FIXTURE(charge)
{
	struct umad_port port;
	char root[32];
	char group[64];
	pid_t child;
	int to_child[2];
	int from_child[2];
};

FIXTURE_VARIANT(charge)
{
	struct umad_abi abi;
};

FIXTURE_VARIANT_ADD(charge, v2_new)
{
	.abi = { .api = 2, .hlen = UMAD_HDR_NEW },
};

static int put(const char *dir, const char *name, const char *value)
{
	char path[128];
	int fd, ret;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY);
	if (fd < 0)
		return -1;
	ret = write(fd, value, strlen(value)) < 0 ? -1 : 0;
	close(fd);
	return ret;
}

static long charged(const char *group)
{
	char text[32];

	return umad_sysfs_read(text, sizeof(text), "%s/memory.current", group) ?
	       -1 : atol(text);
}

/* In a mount namespace of its own, so that nothing is left behind but a group */
FIXTURE_SETUP(charge)
{
	self->child = 0;
	umad_port(&self->port);
	ASSERT_EQ(0, unshare(CLONE_NEWNS));
	ASSERT_EQ(0, mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	snprintf(self->root, sizeof(self->root), "/sys/fs/cgroup");
	/* EBUSY: it is there already */
	if (mount("none", self->root, "cgroup2", 0, NULL))
		ASSERT_EQ(EBUSY, errno)
			TH_LOG("cgroup2: %s", strerror(errno));
	put(self->root, "cgroup.subtree_control", "+memory");
	snprintf(self->group, sizeof(self->group), "%s/umad-%d", self->root,
		 getpid());
	ASSERT_EQ(0, mkdir(self->group, 0700));
	if (charged(self->group) < 0)
		SKIP(return, "no memory controller in the cgroup2 hierarchy");
	ASSERT_EQ(0, pipe(self->to_child));
	ASSERT_EQ(0, pipe(self->from_child));
}

FIXTURE_TEARDOWN(charge)
{
	int i;

	if (self->child > 0) {
		kill(self->child, SIGKILL);
		waitpid(self->child, NULL, 0);
	}
	for (i = 0; i < 50 && rmdir(self->group) && errno == EBUSY; i++)
		umad_sleep_ms(20);
}

/* Runs in the group: opens, registers, then does what it is told */
static void in_group(FIXTURE_DATA(charge) *self, const struct umad_abi *abi)
{
	struct umad_reg reg = umad_reg_vendor(abi->api, 1ULL << MAD_SEND);
	struct umad_file file;
	struct umad_msg msg;
	char c = 'r', todo;
	int i;

	if (put(self->group, "cgroup.procs", "0") ||
	    _umad_open_abi(&self->port, abi, O_RDWR | O_NONBLOCK, &file) ||
	    _umad_register(&file, &reg))
		_exit(1);
	msg = umad_msg(&self->port, reg.id, MAD_GET, 0);
	msg.hdr.timeout_ms = 600000;
	umad_msg_to_nobody(&msg);

	while (write(self->from_child[1], &c, 1) == 1 &&
	       read(self->to_child[0], &todo, 1) == 1) {
		for (i = 0; todo == 's' && i < SENDS; i++) {
			msg.mad.tid = htobe64(i);
			if (_umad_write(&file, &msg) < 0)
				_exit(1);
		}
	}
	_exit(0);
}

#define start_child(self, variant) do {					\
	char __c;							\
									\
	(self)->child = fork();						\
	ASSERT_LE(0, (self)->child);					\
	if (!(self)->child)						\
		in_group(self, &(variant)->abi);			\
	close((self)->from_child[1]);					\
	ASSERT_EQ(1, read((self)->from_child[0], &__c, 1));		\
} while (0)

TEST_F(charge, outstanding_sends)
{
	long before, after;
	char c;

	start_child(self, variant);
	before = charged(self->group);
	ASSERT_EQ(1, write(self->to_child[1], "s", 1));
	ASSERT_EQ(1, read(self->from_child[0], &c, 1));
	after = charged(self->group);

	TH_LOG("%d sends outstanding: charged %ld bytes", SENDS, after - before);
	EXPECT_FIXED(after - before > SENDS * 512L,
		     "outstanding sends are charged to nobody");
}

TEST_F(charge, unread_mads)
{
	struct umad_reg reg = umad_reg_vendor(variant->abi.api, 1ULL << MAD_SET);
	struct umad_file file;
	struct umad_msg msg;
	long before, after;
	int i;

	start_child(self, variant);
	umad_open_abi(&self->port, &variant->abi, O_RDWR, &file);
	umad_register(&file, &reg);
	before = charged(self->group);
	for (i = 0; i < UNREAD; i++) {
		msg = umad_msg(&self->port, reg.id, MAD_SEND, i);
		umad_write(&file, &msg);
		if (i % 64 && i < UNREAD - 1)
			continue;
		/* When this is back, what was sent before has arrived */
		msg = umad_msg(&self->port, reg.id, MAD_SET, UNREAD + i);
		umad_write(&file, &msg);
		umad_read(&file, &msg);
	}
	after = charged(self->group);
	umad_close(&file);

	TH_LOG("%d MADs unread: charged %ld bytes", UNREAD, after - before);
	EXPECT_FIXED(after - before > UNREAD * 96L,
		     "unread MADs are charged to nobody");
}

TEST_HARNESS_MAIN
