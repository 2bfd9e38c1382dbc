// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Faults in what port.c, issm.c, main.c and stats.c of the driver do, when devices
 * come and go, and the module itself; and in madsim's part of that.
 */
#define PAIR_TWO_VARIANTS
#include <sys/syscall.h>

#include "kselftest_harness.h"
#include "lib/fail_nth.h"
#include "lib/pair.h"
#include "lib/subnet.h"

static int read_file(const char *path)
{
	char text[4096];
	int fd, ret, err;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno;
	ret = read(fd, text, sizeof(text));
	err = errno;
	close(fd);
	return ret < 0 ? err : ret ? 0 : ENODATA;
}

static void nth_file(struct __test_metadata *_metadata, struct fault *fault, const char *path)
{
	int err = fault_in(fault, read_file(path));

	fault_expect(fault, err);
	EXPECT_EQ(0, read_file(path));
}

TEST_FAIL_NTH(pair, fdinfo, 3)
{
	char path[128];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", self->client.fd);
	nth_file(_metadata, fault, path);
}

TEST_FAIL_NTH(pair, file_ibdev, 3)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/class/infiniband_mad/%s/ibdev", self->port.name);
	nth_file(_metadata, fault, path);
}

TEST_FAIL_NTH(pair, netlink, 3)
{
	struct nl_chardev res;
	__u32 index;
	int err;

	ASSERT_EQ(0, nl_ibdev_index(self->port.ibdev, &index));
	err = -fault_in(fault, nl_chardev(index, self->port.port, "umad", &res));
	/* No memory for a socket is ENFILE, for an answer ENOBUFS */
	fault_expect(fault, err == ENFILE || err == ENOBUFS ? ENOMEM : err);
	EXPECT_EQ(0, nl_chardev(index, self->port.port, "umad", &res));
}

/* Ports with a QP0 */

FIXTURE(fabric)
{
	struct umad_fabric fabric;
	char issm[64];
};

FIXTURE_SETUP(fabric)
{
	self->fabric = (struct umad_fabric){ .hosts = 2 };
	umad_subnet(&self->fabric);
	umad_issm_dev(&self->fabric.host[0], self->issm);
}

FIXTURE_TEARDOWN(fabric)
{
	fault_anywhere();
	umad_fabric_stop();
}

#define is_sm(port)	(!!(umad_port_caps(port) & PORT_CAP_IS_SM))

TEST_FAIL_NTH(fabric, issm, 3)
{
	struct umad_port *port = &self->fabric.host[0];
	int fd;

	fd = fault_call(fault, open(self->issm, O_RDWR | O_NONBLOCK));
	EXPECT_EQ(fd >= 0, is_sm(port));
	if (fd >= 0)
		close(fd);
	EXPECT_FALSE(is_sm(port));
	fd = open(self->issm, O_RDWR | O_NONBLOCK);
	ASSERT_LE(0, fd);
	close(fd);
}

TEST_FAIL_NTH(fabric, issm_close, 0)
{
	int fd;

	fd = open(self->issm, O_RDWR | O_NONBLOCK);
	ASSERT_LE(0, fd);
	EXPECT_EQ(0, fault_in(fault, close(fd)));
	EXPECT_FALSE(is_sm(&self->fabric.host[0]));
}

/* Devices that come and go; umad's part of it */

static int set_live(const char *value)
{
	return umad_sysfs_write(UMAD_FABRIC "/live", value) ? errno : 0;
}

TEST_FAIL_NTH(fabric, device_add, 20)
{
	struct umad_port port;
	int err;

	if (fault->nth == 1)
		ASSERT_EQ(0, fault_within_umad());
	ASSERT_EQ(0, set_live("0"));
	/* A device may do without umad */
	err = fault_in(fault, set_live("1"));
	ASSERT_EQ(0, err) TH_LOG("live: %s", strerror(err));
	/* A thing that was left would be in the way of the next run */
	if (umad_fabric_port("h1", 1, &port) || umad_fabric_port("h2", 1, &port))
		EXPECT_TRUE(fault->struck);
	/* ... and its number would be taken */
	if (!fault->struck)
		EXPECT_STREQ(self->fabric.host[1].name, port.name);
}

TEST_FAIL_NTH(fabric, device_remove, 0)
{
	struct umad_file file;
	struct umad_port port;
	struct umad_msg msg;

	if (fault->nth == 1)
		ASSERT_EQ(0, fault_within_umad());
	ASSERT_EQ(0, umad_fabric_port("h1", 1, &port));
	umad_open_agent(&port, &umad_abi_new, umad_reg_vendor(2, umad_get_set_send), &file);
	EXPECT_EQ(0, fault_in(fault, set_live("0")));
	umad_err(EIO, _umad_read(&file, &msg));
	umad_close(&file);
	ASSERT_EQ(0, set_live("1"));
}

#define fault_within_madsim(fault) do {					\
	__u64 __start, __end;						\
									\
	if ((fault)->nth != 1)						\
		break;							\
	if (fault_find("ib_madsim", NULL, &__start, &__end))		\
		SKIP(return, "ib_madsim is not a module");		\
	ASSERT_EQ(0, fault_within(__start, __end));			\
	ASSERT_EQ(0, fault_put_all("stacktrace-depth", "10"));		\
} while (0)

/*
 * madsim's part of a fabric that goes live: what it asks for itself, or by few
 * calls. What ib_core asks for deep down it does not always survive to be
 * refused: alloc_workqueue() without its rescuer ends in destroy_workqueue().
 */
TEST_FAIL_NTH(fabric, live, 20)
{
	struct umad_port port;
	int err;

	fault_within_madsim(fault);
	ASSERT_EQ(0, set_live("0"));
	err = fault_in(fault, set_live("1"));
	fault_expect(fault, err);
	/* Of one that did not come up nothing is left */
	if (err) {
		EXPECT_NE(0, umad_fabric_port("h1", 1, &port));
		EXPECT_EQ(EALREADY, set_live("0"));
		ASSERT_EQ(0, set_live("1"));
	}
	ASSERT_EQ(0, umad_fabric_port("h1", 1, &port));
}

/* A node that is new while the fabric lives, up to its power */
TEST_FAIL_NTH(fabric, node, 15)
{
	static const char node[] = UMAD_FABRIC "/new";
	struct umad_port port;
	int err;

	fault_within_madsim(fault);
	err = fault_call(fault, mkdir(node, 0755));
	if (err || !fault->struck) {
		EXPECT_EQ(err, rmdir(node));
		ASSERT_EQ(0, mkdir(node, 0755));
		ASSERT_EQ(0, umad_sysfs_write(UMAD_FABRIC "/new/device", "1"));
		err = fault_call(fault, _umad_fabric_fault("new plug"));
		EXPECT_EQ(!err, !umad_fabric_port("new", 1, &port));
	}
	ASSERT_EQ(0, rmdir(node));
}

/* The module itself */

FIXTURE(module)
{
	const char *path;
	struct umad_port port;
};

FIXTURE_SETUP(module)
{
	self->path = getenv("UMAD_MODULE");
	if (!self->path)
		SKIP(return, "no UMAD_MODULE in the environment, which names a file to load");
}

FIXTURE_TEARDOWN(module)
{
	fault_anywhere();
}

static int load_module(int fd)
{
	return syscall(SYS_finit_module, fd, "", 0) ? errno : 0;
}

static int unload_module(void)
{
	return syscall(SYS_delete_module, "ib_umad", O_NONBLOCK) ? errno : 0;
}

/* What there is while the module is loaded. Caches are in sysfs where SLUB is debugged */
static const char *const things[] = {
	"/sys/class/infiniband_mad",
	"/sys/kernel/slab/ib_umad_send",
};

/*
 * Making a cache is left out: when it fails the kernel dumps its stack, which
 * looks like a report of a bug, and loses the name of the cache.
 */
TEST_F_TIMEOUT(module, load, SWEEP_TIMEOUT)
{
	struct fault fault;
	__u64 start, end;
	size_t i;
	int err, fd;

	for (i = 0; i < ARRAY_SIZE(things); i++)
		ASSERT_EQ(0, access(things[i], F_OK));
	fault_begin(&fault);
	ASSERT_EQ(0, fault_find(NULL, "do_one_initcall", &start, &end));
	ASSERT_EQ(0, fault_within(start, end));
	ASSERT_EQ(0, fault_find(NULL, "__kmem_cache_create_args", &start, &end));
	ASSERT_EQ(0, fault_not_within(start, end));
	fd = open(self->path, O_RDONLY);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, unload_module());
	while (fault_next(&fault)) {
		err = fault_in(&fault, load_module(fd));
		fault_expect(&fault, err);
		if (!err)
			ASSERT_EQ(0, unload_module());
		for (i = 0; i < ARRAY_SIZE(things); i++) {
			EXPECT_NE(0, access(things[i], F_OK))
				TH_LOG("%s is left", things[i]);
		}
	}
	ASSERT_EQ(0, load_module(fd));
	umad_port(&self->port);
	fault_end(&fault, 10);
	close(fd);
}

TEST_FAIL_NTH(module, unload, 0)
{
	int fd = open(self->path, O_RDONLY);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, fault_within_umad());
	ASSERT_EQ(0, fault_in(fault, unload_module()));
	EXPECT_NE(0, access("/sys/class/infiniband_mad", F_OK));
	ASSERT_EQ(0, load_module(fd));
	close(fd);
	umad_port(&self->port);
}

FAIL_NTH_MAIN
