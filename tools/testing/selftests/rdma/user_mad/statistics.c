// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The counters of a port in sysfs, and in fdinfo those of each descriptor and each
 * agent. A MAD that is sent or received changes one counter, and no other one.
 *
 * Also on: smp
 */
#include "kselftest_harness.h"
#include "lib/issm.h"
#include "lib/long.h"
#include "lib/statistics.h"
#include "lib/subnet.h"

/* The fixture's descriptors are the only ones of the port that change anything */
FIXTURE(statistics)
{
	UMAD_CLIENT_AND_SERVER;
	struct umad_port port;
	struct umad_statistics before;
};

FIXTURE_SETUP(statistics)
{
	umad_port(&self->port);
	if (umad_reference())
		SKIP(return, UMAD_NO_STATISTICS);
	umad_open_both(self, &umad_abi_new, &self->port, umad_reg_send_only(2),
		       &self->port, umad_reg_vendor(2, umad_get_send));
	self->before = umad_statistics(&self->port);
}

FIXTURE_TEARDOWN(statistics)
{
	umad_close_both(self);
}

#define expect_changes(self, changes)					\
	umad_expect_changes(&(self)->before, &(self)->port, changes)

/* By a method that no agent here serves: over some devices it comes back to us */
static struct umad_msg to_nobody(FIXTURE_DATA(statistics) *self, __u64 tid, int ms)
{
	return umad_lost_request(&self->port, self->cid, MAD_SET, tid, ms);
}

TEST_F(statistics, request_and_response)
{
	struct umad_msg msg = umad_request(&self->port, self->cid, MAD_GET, 1, 600000);

	umad_write(&self->client, &msg);
	expect_changes(self, "sent+1 received+1 outstanding+1 unread+1");
	umad_read(&self->server, &msg);
	expect_changes(self, "unread-1");
	msg.mad.method = MAD_GET_RESP;
	umad_write(&self->server, &msg);
	expect_changes(self, "sent+1 received+1 outstanding-1 unread+1");
	umad_read(&self->client, &msg);
	expect_changes(self, "unread-1");
}

TEST_F(statistics, rmpp_message)
{
	struct umad_reg reg = umad_reg_rmpp(2, 0);
	struct umad_long msg;
	struct umad_msg head;
	__u32 cid, sid;

	cid = umad_register(&self->client, &reg);
	umad_unregister(&self->server, self->sid);
	reg.methods[0] = 1ULL << MAD_SEND;
	sid = umad_register(&self->server, &reg);
	expect_changes(self, "agents+1");

	umad_long_alloc(&msg, 1 << 16);
	head = umad_long_head(&self->port, cid, MAD_SEND, 2);
	umad_long_write(&self->client, &head, 1000, 1, &msg);
	umad_long_read(&self->server, sid, &head, 1000, 1, &msg);
	expect_changes(self, "rmpp_sent+1 rmpp_received+1");

	/* One segment is a message as well */
	head.mad.tid = htobe64(3);
	umad_long_write(&self->client, &head, 10, 1, &msg);
	ASSERT_TRUE(umad_readable(&self->server, UMAD_SOON_MS));
	expect_changes(self, "rmpp_sent+1 rmpp_received+1 unread+1");
	umad_long_free(&msg);
}

TEST_F(statistics, timeout)
{
	struct umad_msg msg = to_nobody(self, 4, UMAD_QUIET_MS);

	umad_write(&self->client, &msg);
	ASSERT_TRUE(umad_readable(&self->client, UMAD_SOON_MS));
	expect_changes(self, "sent+1 timeouts+1 unread+1");
	umad_read_timeout(&self->client, &msg);
	expect_changes(self, "unread-1");
}

/* A request that ends with its agent has neither failed nor timed out */
TEST_F(statistics, unregister)
{
	struct umad_msg msg = to_nobody(self, 5, 600000);

	umad_write(&self->client, &msg);
	expect_changes(self, "sent+1 outstanding+1");
	umad_unregister(&self->client, self->cid);
	expect_changes(self, "agents-1 outstanding-1");
	umad_close(&self->client);
	expect_changes(self, "files-1");
}

TEST_F(statistics, refused_duplicate)
{
	struct umad_msg msg = to_nobody(self, 6, 600000);

	umad_write(&self->client, &msg);
	umad_err_write(EINVAL, &self->client, &msg);
	expect_changes(self, "sent+1 refused_duplicate+1 outstanding+1");

	/* Mistakes of a program are not counted */
	msg.hdr.id = UMAD_MAX_AGENTS;
	umad_err_write(EINVAL, &self->client, &msg);
	msg.hdr.id = 17;
	umad_err_write(EIO, &self->client, &msg);
	umad_err_write_len(EINVAL, &self->client, &msg, 12);
	expect_changes(self, "");
}

/* A line of fdinfo for each agent */
#define expect_agents(self, want, count) do {				\
	char __path[64], __line[256];					\
	int __n = 0;							\
	FILE *__f;							\
									\
	snprintf(__path, sizeof(__path), "/proc/self/fdinfo/%d", (self)->client.fd); \
	__f = fopen(__path, "r");					\
	ASSERT_TRUE(__f);						\
	while (fgets(__line, sizeof(__line), __f)) {			\
		if (strncmp(__line, "umad-agent:", strlen("umad-agent:"))) \
			continue;					\
		__line[strcspn(__line, "\n")] = 0;			\
		ASSERT_GT(count, __n);					\
		EXPECT_STREQ((want)[__n], __line);			\
		__n++;							\
	}								\
	fclose(__f);							\
	EXPECT_EQ(count, __n);						\
} while (0)

#define NO_CLASS	"umad-agent:\t%u qp 1 class 0x00 version 0 methods %032x oui 000000 rmpp 0 user-rmpp 0"

TEST_F(statistics, agents_of_a_descriptor)
{
	struct umad_reg reg = umad_reg_vendor(2, 1ULL << 1 | 1ULL << 5);
	struct umad_msg msg = to_nobody(self, 9, 600000);
	char want[2][256];

	reg.methods[1] = 1ULL << 63;
	reg.rmpp_version = 1;
	reg.flags = IB_USER_MAD_USER_RMPP;
	reg.mgmt_class = MAD_CLASS_VENDOR2 + 1;
	umad_register(&self->client, &reg);
	umad_write(&self->client, &msg);
	msg = to_nobody(self, 10, UMAD_QUIET_MS);
	umad_write(&self->client, &msg);
	ASSERT_TRUE(umad_readable(&self->client, UMAD_SOON_MS));

	snprintf(want[0], sizeof(want[0]), NO_CLASS, self->cid, 0);
	snprintf(want[1], sizeof(want[1]),
		 "umad-agent:\t%u qp 1 class 0x%02x version 1 methods 8000000000000000%016x oui %06x rmpp 1 user-rmpp 1",
		 reg.id, MAD_CLASS_VENDOR2 + 1, 0x22, TEST_OUI);
	expect_agents(self, want, 2);
	EXPECT_EQ(2, umad_fdinfo(&self->client, "umad-agents"));
	EXPECT_EQ(1, umad_fdinfo(&self->client, "umad-outstanding"));
	EXPECT_EQ(1, umad_fdinfo(&self->client, "umad-unread"));
}

/* An agent without a class receives no requests, whatever it asked for */
TEST_F(statistics, no_methods_without_a_class)
{
	struct umad_reg reg = umad_reg_send_only(2);
	char want[2][256];

	reg.methods[0] = umad_get_send;
	reg.methods[1] = 1;
	umad_register(&self->client, &reg);
	snprintf(want[0], sizeof(want[0]), NO_CLASS, self->cid, 0);
	snprintf(want[1], sizeof(want[1]), NO_CLASS, reg.id, 0);
	expect_agents(self, want, 2);
}

/* Each element is a write of its own, and is refused once each time it is tried */
TEST_F(statistics, refusal_that_ends_writev)
{
	struct umad_msg msg[3] = {
		to_nobody(self, 20, 600000), to_nobody(self, 20, 600000),
		to_nobody(self, 21, 600000),
	};
	struct iovec iov[3];
	int i;

	for (i = 0; i < 3; i++)
		iov[i] = (struct iovec){ &msg[i], sizeof(msg[i]) };
	EXPECT_EQ((ssize_t)sizeof(msg[0]), writev(self->client.fd, iov, 3));
	expect_changes(self, "sent+1 refused_duplicate+1 outstanding+1");
	umad_err(EINVAL, writev(self->client.fd, iov + 1, 2));
	expect_changes(self, "refused_duplicate+1");
}

/* Events that were counted on a CPU are counted still when that is gone */
TEST_F(statistics, cpu_goes_offline)
{
	static const char online[] = "/sys/devices/system/cpu/cpu1/online";
	struct umad_msg msg;
	cpu_set_t all;
	int i;

	ASSERT_EQ(0, sched_getaffinity(0, sizeof(all), &all));
	if (access(online, W_OK) || umad_run_on(1))
		SKIP(return, "no second CPU that can go offline");
	for (i = 0; i < 3; i++) {
		msg = to_nobody(self, 30 + i, 600000);
		umad_write(&self->client, &msg);
		umad_err_write(EINVAL, &self->client, &msg);
	}
	ASSERT_EQ(0, sched_setaffinity(0, sizeof(all), &all));
	expect_changes(self, "sent+3 refused_duplicate+3 outstanding+3");
	ASSERT_EQ(0, umad_sysfs_write(online, "0"));
	expect_changes(self, "");
	ASSERT_EQ(0, umad_sysfs_write(online, "1"));
	expect_changes(self, "");
}

/* They tell what others do, and are for those who could open the device */
TEST_F(statistics, for_root_only)
{
	char path[128];
	struct stat st;
	size_t i;

	for (i = 0; i < UMAD_STATISTICS; i++) {
		snprintf(path, sizeof(path), "/sys/class/infiniband_mad/%s/statistics/%s",
			 self->port.name, umad_statistic_names[i]);
		ASSERT_EQ(0, stat(path, &st))
			TH_LOG("there is no %s", umad_statistic_names[i]);
		EXPECT_EQ(0400, st.st_mode & 07777)
			TH_LOG("%s", umad_statistic_names[i]);
	}
}

/* Each port has its own, and they end with it; issm has none */
TEST(ports)
{
	struct umad_fabric fabric = { .hosts = 2 };
	struct umad_port host;
	char path[512];

	if (umad_reference())
		SKIP(return, UMAD_NO_STATISTICS);
	umad_fabric_start(&fabric);
	host = fabric.host[0];
	EXPECT_EQ(0, umad_statistic(&host, "sent"));
	EXPECT_EQ(0, umad_statistic(&host, "received"));
	snprintf(path, sizeof(path), "/sys/class/infiniband_mad/issm%s/statistics",
		 host.name + strlen("umad"));
	EXPECT_NE(0, access(path, F_OK));
	umad_fabric_stop();
	EXPECT_EQ(-1, umad_statistic(&host, "sent"));
}

TEST(holder_of_issm)
{
	struct umad_issm issm;
	struct umad_file file;

	if (umad_reference())
		SKIP(return, UMAD_NO_STATISTICS);
	if (!umad_have_fabrics())
		SKIP(return, UMAD_NO_FABRICS);
	ASSERT_EQ(0, _umad_issm_make(&issm, UMAD_MADSIM));
	file.fd = issm.holder;
	EXPECT_EQ(1, umad_fdinfo(&file, "issm-held"));
	EXPECT_EQ(0, umad_device_remove(&issm.device));
	EXPECT_EQ(0, umad_fdinfo(&file, "issm-held"));
	umad_issm_free(&issm);
}

TEST_HARNESS_MAIN
