// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What operators see: the counters of a port in sysfs, and in fdinfo what each
 * descriptor and each agent has. Whatever is sent or received changes one counter,
 * and no other one.
 */
#include "kselftest_harness.h"
#include "lib/cgroup.h"
#include "lib/issm.h"
#include "lib/long.h"

static const char *const names[] = {
	"sent", "received", "rmpp_sent", "rmpp_received",
	"timeouts", "send_errors",
	"refused_duplicate", "refused_limit", "refused_memory",
	"dropped_limit", "dropped_memory", "dropped_address",
	"files", "agents", "outstanding", "unread",
};

#define DROPPED_ADDRESS	11	/* of the names */
#define NO_STATISTICS	"the reference has no statistics"
#define MAX_SENDS	"/sys/module/ib_umad/parameters/max_sends"

struct statistics {
	long value[ARRAY_SIZE(names)];
};

/* -1 if there is no such file */
static long statistic(const struct umad_port *port, const char *name)
{
	char text[32];

	return umad_sysfs_read(text, sizeof(text),
			       "/sys/class/infiniband_mad/%s/statistics/%s",
			       port->name, name) ? -1 : atol(text);
}

static struct statistics statistics(const struct umad_port *port)
{
	struct statistics all;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		all.value[i] = statistic(port, names[i]);
	return all;
}

/* The fixture's descriptors are the only ones of the port that change anything */
FIXTURE(statistics)
{
	struct umad_port port;
	struct umad_file client;
	struct umad_file server;
	__u32 cid;
	__u32 sid;
	struct statistics before;
};

FIXTURE_SETUP(statistics)
{
	struct umad_reg reg = umad_reg_send_only(2);

	self->client.fd = -1;
	self->server.fd = -1;
	umad_port(&self->port);
	if (umad_reference())
		SKIP(return, NO_STATISTICS);
	umad_open(&self->port, O_RDWR | O_NONBLOCK, &self->client);
	umad_enable_pkey(&self->client);
	self->cid = umad_register(&self->client, &reg);
	umad_open(&self->port, O_RDWR | O_NONBLOCK, &self->server);
	umad_enable_pkey(&self->server);
	reg = umad_reg_vendor(2, 1ULL << MAD_GET | 1ULL << MAD_SEND);
	self->sid = umad_register(&self->server, &reg);
	self->before = statistics(&self->port);
}

FIXTURE_TEARDOWN(statistics)
{
	umad_close(&self->client);
	umad_close(&self->server);
}

/*
 * The words of @changes, such as "sent+1 unread-1", tell all that has changed
 * since the last time. Completions may come a moment later.
 */
static bool changed_by(struct statistics *before, const struct umad_port *port,
		       const char *changes, char *said, size_t size)
{
	struct statistics now = statistics(port);
	size_t i, len = 0;

	said[0] = 0;
	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (now.value[i] != before->value[i])
			len += snprintf(said + len, size - len, "%s%s%+ld",
					len ? " " : "", names[i],
					now.value[i] - before->value[i]);
	if (strcmp(said, changes))
		return false;
	*before = now;
	return true;
}

#define expect_changes(self, changes) do {				\
	long long __end = umad_now_ms() + UMAD_SOON_MS;			\
	char __said[512];						\
									\
	while (!changed_by(&(self)->before, &(self)->port, changes,	\
			   __said, sizeof(__said)) &&			\
	       umad_now_ms() < __end)					\
		umad_sleep_ms(1);					\
	EXPECT_STREQ(changes, __said);					\
} while (0)

static struct umad_msg request(FIXTURE_DATA(statistics) *self, __u64 tid, int ms)
{
	struct umad_msg msg = umad_msg(&self->port, self->cid, MAD_GET, tid);

	msg.hdr.timeout_ms = ms;
	return msg;
}

/* By a method that nobody here serves: over some devices it comes back to us */
static struct umad_msg to_nobody(FIXTURE_DATA(statistics) *self, __u64 tid, int ms)
{
	struct umad_msg msg = request(self, tid, ms);

	umad_msg_to_nobody(&msg);
	msg.mad.method = MAD_SET;
	return msg;
}

TEST_F(statistics, request_and_response)
{
	struct umad_msg msg = request(self, 1, 600000);

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
	struct umad_reg reg = umad_reg_vendor(2, 0);
	struct umad_long msg;
	struct umad_msg head;
	__u32 cid, sid;

	reg.rmpp_version = 1;
	cid = umad_register(&self->client, &reg);
	umad_unregister(&self->server, self->sid);
	reg.methods[0] = 1ULL << MAD_SEND;
	sid = umad_register(&self->server, &reg);
	expect_changes(self, "agents+1");

	umad_long_alloc(&msg, 1 << 16);
	head = umad_msg(&self->port, cid, MAD_SEND, 2);
	head.hdr.retries = 3;
	umad_make_active(&head);
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

/* What ends with its agent has neither failed nor timed out */
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

TEST_F(statistics, refused_limit)
{
	struct umad_msg msg = request(self, 7, 600000);
	char saved[16];

	ASSERT_EQ(0, umad_sysfs_read(saved, sizeof(saved), MAX_SENDS));
	ASSERT_EQ(0, umad_fabric_put(MAX_SENDS, "0"));
	errno = 0;
	EXPECT_EQ(-1, _umad_write(&self->client, &msg));
	EXPECT_EQ(ENOBUFS, errno);
	ASSERT_EQ(0, umad_fabric_put(MAX_SENDS, saved));
	expect_changes(self, "refused_limit+1");
}

TEST_F(statistics, refused_memory)
{
	const size_t len = 6 << 20;
	struct umad_reg reg = umad_reg_vendor(2, 0);
	struct umad_cgroup root = { "/sys/fs/cgroup" };
	struct umad_cgroup group;
	struct umad_file file;
	struct umad_msg head;
	__u8 *buf;

	umad_cgroup_make(&group);
	if (umad_cgroup_charged(&group) < 0)
		SKIP(return, UMAD_NO_CGROUP);
	buf = calloc(1, len);
	ASSERT_TRUE(buf);
	ASSERT_EQ(0, umad_cgroup_join(&group));
	umad_open(&self->port, O_RDWR, &file);
	ASSERT_EQ(0, umad_cgroup_join(&root));
	umad_enable_pkey(&file);
	reg.rmpp_version = 1;
	head = umad_msg(&self->port, umad_register(&file, &reg), MAD_SEND, 8);
	umad_make_active(&head);
	umad_pack(&file, &head, MAD_VENDOR_HDR, buf);
	expect_changes(self, "files+1 agents+1");

	ASSERT_EQ(0, umad_cgroup_limit(&group, 2 << 20));
	EXPECT_EQ(-1, write(file.fd, buf, len));
	EXPECT_EQ(ENOMEM, errno);
	expect_changes(self, "refused_memory+1");
	umad_close(&file);
	umad_cgroup_remove(&group);
	free(buf);
}

/* Two lines of fdinfo, one for each agent */
TEST_F(statistics, agents_of_a_descriptor)
{
	struct umad_reg reg = umad_reg_vendor(2, 1ULL << 1 | 1ULL << 5);
	struct umad_msg msg = to_nobody(self, 9, 600000);
	char path[64], line[256], want[256];
	unsigned int n = 0;
	FILE *f;

	reg.methods[1] = 1ULL << 63;
	reg.rmpp_version = 1;
	reg.flags = IB_USER_MAD_USER_RMPP;
	reg.mgmt_class = MAD_CLASS_VENDOR2 + 1;
	umad_register(&self->client, &reg);
	umad_write(&self->client, &msg);
	msg = to_nobody(self, 10, UMAD_QUIET_MS);
	umad_write(&self->client, &msg);
	ASSERT_TRUE(umad_readable(&self->client, UMAD_SOON_MS));

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", self->client.fd);
	f = fopen(path, "r");
	ASSERT_TRUE(f);
	while (fgets(line, sizeof(line), f)) {
		if (strncmp(line, "umad-agent:", strlen("umad-agent:")))
			continue;
		line[strcspn(line, "\n")] = 0;
		if (!n++)
			snprintf(want, sizeof(want),
				 "umad-agent:\t%u qp 1 class 0x00 version 0 methods %032x oui 000000 rmpp 0 user-rmpp 0 outstanding 1 unread 1",
				 self->cid, 0);
		else
			snprintf(want, sizeof(want),
				 "umad-agent:\t%u qp 1 class 0x%02x version 1 methods 8000000000000000%016x oui %06x rmpp 1 user-rmpp 1 outstanding 0 unread 0",
				 reg.id, MAD_CLASS_VENDOR2 + 1, 0x22, TEST_OUI);
		EXPECT_STREQ(want, line);
	}
	fclose(f);
	EXPECT_EQ(2, n);
	EXPECT_EQ(2, umad_fdinfo(&self->client, "umad-agents"));
	EXPECT_EQ(1, umad_fdinfo(&self->client, "umad-unread"));
}

/* What is sent to a group has no way back that user space could be told */
TEST(dropped_address)
{
	struct umad_fabric fabric = { .hosts = 2 };
	struct umad_file client, server;
	struct statistics before;
	struct umad_reg reg;
	struct umad_msg msg;
	char said[512];

	if (umad_reference())
		SKIP(return, NO_STATISTICS);
	if (!umad_have_fabrics())
		SKIP(return, UMAD_NO_FABRICS);
	umad_fabric_start(&fabric);
	umad_fabric_up(&fabric);
	umad_open(&fabric.host[0], O_RDWR | O_NONBLOCK, &client);
	reg = umad_reg_send_only(2);
	umad_register(&client, &reg);
	msg = umad_msg(&fabric.host[1], reg.id, MAD_SEND, 11);
	client.hlen = UMAD_HDR_NEW;
	umad_open(&fabric.host[1], O_RDWR | O_NONBLOCK, &server);
	reg = umad_reg_vendor(2, 1ULL << MAD_SEND);
	umad_register(&server, &reg);
	before = statistics(&fabric.host[1]);

	memset(msg.hdr.gid, 0, sizeof(msg.hdr.gid));
	msg.hdr.gid[0] = 0xff;
	msg.hdr.gid[1] = 0x12;
	msg.hdr.gid[15] = 1;
	msg.hdr.lid = htobe16(fabric.lid[1]);
	umad_write(&client, &msg);
	umad_expect_empty(&client);
	while (statistic(&fabric.host[1], "dropped_address") == before.value[DROPPED_ADDRESS])
		umad_sleep_ms(1);
	EXPECT_TRUE(changed_by(&before, &fabric.host[1], "dropped_address+1",
			       said, sizeof(said)))
		TH_LOG("%s", said);
	umad_close(&client);
	umad_close(&server);
	umad_fabric_stop();
}

/* Each port has its own, and they end with it; issm has none */
TEST(ports)
{
	struct umad_fabric fabric = { .hosts = 2 };
	struct umad_port host;
	char path[512];

	if (umad_reference())
		SKIP(return, NO_STATISTICS);
	if (!umad_have_fabrics())
		SKIP(return, UMAD_NO_FABRICS);
	umad_fabric_start(&fabric);
	host = fabric.host[0];
	EXPECT_EQ(0, statistic(&host, "sent"));
	EXPECT_EQ(0, statistic(&host, "received"));
	snprintf(path, sizeof(path), "/sys/class/infiniband_mad/issm%s/statistics",
		 host.name + strlen("umad"));
	EXPECT_NE(0, access(path, F_OK));
	umad_fabric_stop();
	EXPECT_EQ(-1, statistic(&host, "sent"));
}

TEST(holder_of_issm)
{
	struct umad_issm issm;
	struct umad_file file;

	if (umad_reference())
		SKIP(return, NO_STATISTICS);
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
