// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Devices: names, numbers, modes and attributes, what RDMA netlink and the
 * module say of them, and who may open them.
 *
 * Also on: 6.1, 6.12, smp
 */
#include <sys/sysmacros.h>

#include "kselftest_harness.h"
#include "lib/fabric.h"
#include "lib/netlink.h"

#define UMAD_MAJOR	231
#define FIXED_PORTS	64
#define ISSM_MINOR	64

FIXTURE(device)
{
	struct umad_port port;
	int number;		/* the N of umadN */
};

FIXTURE_SETUP(device)
{
	umad_port(&self->port);
	self->number = atoi(self->port.name + strlen("umad"));
}

FIXTURE_TEARDOWN(device)
{
}

TEST_F(device, device_node)
{
	struct stat st;
	char text[256];

	if (umad_shared_port() && self->number >= FIXED_PORTS)
		SKIP(return, "the number of this port is not a fixed one");
	ASSERT_GT(FIXED_PORTS, self->number);
	ASSERT_EQ(0, stat(self->port.dev, &st));
	EXPECT_TRUE(S_ISCHR(st.st_mode));
	EXPECT_EQ(UMAD_MAJOR, major(st.st_rdev));
	EXPECT_EQ(self->number, minor(st.st_rdev));
	/* This is all that guards a port. A host's udev may have been told otherwise */
	if (!umad_shared_port()) {
		EXPECT_EQ(0600, st.st_mode & 07777);
		EXPECT_EQ(0, st.st_uid);
		EXPECT_EQ(0, st.st_gid);
	}

	/* Where udev is told to make it, and nothing about its mode */
	ASSERT_EQ(0, umad_sysfs_read(text, sizeof(text), "/sys/class/infiniband_mad/%s/uevent",
				     self->port.name));
	EXPECT_NE(NULL, strstr(text, "DEVNAME=infiniband/umad"));
	EXPECT_EQ(NULL, strstr(text, "DEVMODE"));
}

/* They name a port that there is */
TEST_F(device, sysfs_attributes)
{
	static const char * const names[] = { "ibdev", "port" };
	char path[256];
	struct stat st;
	int i;

	for (i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "/sys/class/infiniband_mad/%s/%s",
			 self->port.name, names[i]);
		ASSERT_EQ(0, stat(path, &st));
		EXPECT_EQ(0444, st.st_mode & 07777);
	}
	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/%d",
		 self->port.ibdev, self->port.port);
	EXPECT_EQ(0, access(path, F_OK));

	ASSERT_EQ(0, umad_sysfs_read(path, sizeof(path),
				     "/sys/class/infiniband_mad/abi_version"));
	EXPECT_STREQ("5", path);
}

/* Both regions bear the name of the class, and the fixed one is at 231 */
TEST_F(device, chrdev_regions)
{
	FILE *file = fopen("/proc/devices", "r");
	int fixed = 0, dynamic = 0, major;
	char line[128], name[64];

	ASSERT_NE(NULL, file);
	while (fgets(line, sizeof(line), file) && line[0] != 'B') {
		if (sscanf(line, "%d %63s", &major, name) != 2 || strcmp(name, "infiniband_mad"))
			continue;
		if (major == UMAD_MAJOR)
			fixed++;
		else
			dynamic++;
	}
	fclose(file);
	EXPECT_EQ(1, fixed);
	EXPECT_EQ(1, dynamic);
}

/* Of this minor number */
#define expect_no_device(minor) do {					\
	char __node[64];						\
									\
	snprintf(__node, sizeof(__node), "/dev/umad-%d", getpid());	\
	ASSERT_EQ(0, mknod(__node, S_IFCHR | 0600, makedev(UMAD_MAJOR, minor))); \
	umad_err(ENXIO, open(__node, O_RDWR));				\
	unlink(__node);							\
} while (0)

/* A port without SMI has no issm, under no name and no number */
TEST_F(device, no_issm_without_smi)
{
	char path[128];

	if (!umad_is_roce(&self->port))
		SKIP(return, UMAD_ROCE_ONLY);
	snprintf(path, sizeof(path), "/sys/class/infiniband_mad/issm%d", self->number);
	if (umad_reference() && !access(path, F_OK)) {
		/* So it is in 6.1, not any more in 6.12 */
		EXPECT_FIXED(false, "a port without SMI has an issm");
		return;
	}
	EXPECT_EQ(-1, access(path, F_OK));
	snprintf(path, sizeof(path), "/dev/infiniband/issm%d", self->number);
	EXPECT_EQ(-1, access(path, F_OK));
	if (umad_shared_port())
		return;

	expect_no_device(ISSM_MINOR + self->number);
}

/* A number in the region without a port behind it */
TEST_F(device, number_without_port)
{
	if (umad_shared_port())
		SKIP(return, UMAD_SHARED);
	expect_no_device(FIXED_PORTS - 1);
}

/* RDMA netlink */

TEST_F(device, netlink)
{
	struct nl_chardev res = { 0 };
	__u32 index;

	ASSERT_EQ(0, nl_ibdev_index(self->port.ibdev, &index));
	EXPECT_EQ(-EINVAL, nl_chardev(index, 255, "umad", &res));
	EXPECT_EQ(-EINVAL, nl_chardev(index, 0, "umad", &res));
	EXPECT_EQ(-EOPNOTSUPP, nl_chardev(index, self->port.port, "no-such", &res));
	/* No SMI, no issm: there is nothing to answer with */
	if (umad_is_roce(&self->port))
		EXPECT_EQ(-EOPNOTSUPP, nl_chardev(index, self->port.port, "issm", &res));
	EXPECT_STREQ("", res.name);

	ASSERT_EQ(0, nl_chardev(index, self->port.port, "umad", &res));
	EXPECT_EQ(5, res.abi);
	EXPECT_STREQ(self->port.name, res.name);
	EXPECT_EQ(UMAD_MAJOR, res.dev >> 8 & 0xfff);
	EXPECT_EQ(self->number, (int)(res.dev & 0xff));
}

/* Network namespaces */

/* The errno of an open from a new network namespace, or of a read thereafter */
static int open_from_elsewhere(const char *path, bool and_read)
{
	int status, fd;
	pid_t pid;
	char c;

	pid = fork();
	if (pid < 0)
		return -1;
	if (!pid) {
		if (unshare(CLONE_NEWNET))
			_exit(255);
		fd = open(path, (and_read ? O_RDONLY : O_RDWR) | O_CLOEXEC);
		_exit(fd < 0 || (and_read && read(fd, &c, 1) != 1) ? errno : 0);
	}
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

#define make_exclusive(self) do {					\
	int __ret = nl_set_exclusive(true);				\
									\
	if (__ret == -EBUSY)						\
		SKIP(return, "somebody uses another network namespace"); \
	ASSERT_EQ(0, __ret);						\
	(self)->exclusive = true;					\
} while (0)

/* Who is in a new network namespace is let in, until RDMA devices are exclusive to one */
#define expect_exclusive(self, path, and_read) do {			\
	EXPECT_EQ(0, open_from_elsewhere(path, and_read));		\
	make_exclusive(self);						\
	EXPECT_EQ(EPERM, open_from_elsewhere(path, and_read));		\
} while (0)

FIXTURE(netns)
{
	struct umad_port port;
	bool exclusive;
};

FIXTURE_SETUP(netns)
{
	if (umad_shared_port())
		SKIP(return, UMAD_SHARED);
	umad_port(&self->port);
}

FIXTURE_TEARDOWN(netns)
{
	if (self->exclusive)
		EXPECT_EQ(0, nl_set_exclusive(false))
			TH_LOG("RDMA devices are still exclusive to a network namespace");
}

TEST_F(netns, exclusive_opens_in_its_namespace_only)
{
	struct umad_file file;

	expect_exclusive(self, self->port.dev, false);
	umad_open(&self->port, O_RDWR, &file);
	umad_close(&file);
}

/* Who could not open the device is not told what others do with it */
TEST_F(netns, exclusive_statistics)
{
	static const char *const others[] = { "timeouts", "files", "agents", "unread" };
	char path[128];
	size_t i;

	snprintf(path, sizeof(path), "/sys/class/infiniband_mad/%s/statistics/sent",
		 self->port.name);
	if (access(path, F_OK))
		SKIP(return, "the reference has no statistics");
	expect_exclusive(self, path, true);
	for (i = 0; i < ARRAY_SIZE(others); i++) {
		snprintf(path, sizeof(path), "/sys/class/infiniband_mad/%s/statistics/%s",
			 self->port.name, others[i]);
		EXPECT_EQ(EPERM, open_from_elsewhere(path, true))
			TH_LOG("%s", others[i]);
	}
}

/* Who is refused does not hold it, either */
TEST_F(netns, exclusive_issm_opens_in_its_namespace_only)
{
	struct umad_fabric fabric = { .hosts = 2 };
	char dev[64];
	int fd;

	umad_fabric_start(&fabric);
	umad_issm_dev(&fabric.host[0], dev);
	expect_exclusive(self, dev, false);
	fd = open(dev, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	EXPECT_LE(0, fd);
	close(fd);
	umad_fabric_stop();
}

/* The module */

TEST(module_aliases)
{
	const char *ko = getenv("UMAD_MODULE");
	char command[512], text[1024] = "";
	FILE *pipe;

	/* modinfo would tell of the distribution's module, not of the loaded one */
	if (!(ko && *ko) &&
	    !umad_sysfs_read(text, sizeof(text), "/sys/module/ib_umad/taint") && strchr(text, 'O'))
		SKIP(return, "ib_umad was built externally; UMAD_MODULE must name its file");

	snprintf(command, sizeof(command), "modinfo -F alias %s 2>/dev/null",
		 ko && *ko ? ko : "ib_umad");
	pipe = popen(command, "r");
	ASSERT_NE(NULL, pipe);
	text[fread(text, 1, sizeof(text) - 1, pipe)] = 0;
	pclose(pipe);
	if (!text[0] && !(ko && *ko))
		SKIP(return, "modinfo knows no ib_umad; UMAD_MODULE names the file");
	EXPECT_NE(NULL, strstr(text, "rdma-client-umad\n"));
	EXPECT_NE(NULL, strstr(text, "rdma-client-issm\n"));
}

/* What the log says of users' mistakes */

static int log_lines(int fd, const char *what)
{
	char record[8192];
	int lines = 0;
	ssize_t n;

	for (;;) {
		n = read(fd, record, sizeof(record) - 1);
		if (n < 0 && errno == EPIPE)	/* some were overwritten */
			continue;
		if (n <= 0)
			return lines;
		record[n] = 0;
		lines += !!strstr(record, what);
	}
}

#define LOG_TRIES	100
#define LOG_MAX		20

/* What any program may do as often as it likes: use the older ioctl, and make mistakes */
TEST_F(device, log_is_not_flooded)
{
	static const struct {
		struct umad_reg reg;
		int err;
	} row[] = {
		{ { .api = 1, .qpn = 1 }, 0 },
		{ { .api = 1, .qpn = 2 }, EINVAL },
		{ { .api = 2, .qpn = 1, .flags = 2 }, EINVAL },
	};
	struct umad_file file;
	struct umad_reg reg;
	int fd, lines, n;
	size_t i;

	if (umad_shared_port())
		SKIP(return, UMAD_SHARED);
	fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK);
	ASSERT_LE(0, fd);
	for (i = 0; i < ARRAY_SIZE(row); i++) {
		lseek(fd, 0, SEEK_END);
		for (n = 0; n < LOG_TRIES; n++) {
			reg = row[i].reg;
			umad_open(&self->port, O_RDWR, &file);
			EXPECT_EQ(row[i].err, _umad_register(&file, &reg) ? errno : 0);
			umad_close(&file);
		}
		lines = log_lines(fd, "umad");
		EXPECT_FIXED(lines <= LOG_MAX, "each registration writes to the kernel log");
	}
	close(fd);
}

TEST_HARNESS_MAIN
