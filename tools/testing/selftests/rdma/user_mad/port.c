// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A port of this host, the one that UMAD_PORT names: the answers of its own agents,
 * compared with sysfs, and requests without an answer. Nothing is set. Of all requests
 * only that to the absent LID and that to the subnet administrator leave the port.
 */
#include "kselftest_harness.h"
#include "lib/fabric.h"

#define ATTR_CLASS_PORT_INFO	0x0001
#define ATTR_PATH_RECORD	0x0035
#define METHOD_GET_TABLE	0x12
#define METHOD_GET_TABLE_RESP	0x92

#define PATH_DGID		0x0004
#define PATH_SGID		0x0008
#define PATH_NUMB_PATH		0x1000

/* The highest unicast LIDs: no subnet manager gets that far */
#define ABSENT_LID		0xbff0

struct sa_mad {
	__u8	header[MAD_RMPP_HDR];
	__u8	sm_key[8];
	__be16	attr_offset;
	__be16	resv;
	__be32	comp_mask[2];
	__u8	data[200];
} __attribute__((may_alias));

struct path_record {
	__be64	service_id;
	__u8	dgid[16];
	__u8	sgid[16];
	__be16	dlid;
	__be16	slid;
	__be32	hop_flow_raw;
	__u8	tclass;
	__u8	reversible_numb_path;
	__u8	rest[14];
} __attribute__((may_alias));

static_assert(sizeof(struct sa_mad) == MAD_SIZE &&
	      offsetof(struct sa_mad, data) == MAD_SA_HDR, "it is a MAD");
static_assert(sizeof(struct path_record) == 64, "as the specification has it");

FIXTURE(port)
{
	struct umad_port port;
	struct umad_file file;
	__u32 id;
	struct umad_sm sm;
};

FIXTURE_SETUP(port)
{
	ASSERT_NE(NULL, umad_shared_port())
		TH_LOG("UMAD_PORT names no port: see run.sh -p");
	umad_port(&self->port);
	self->id = umad_open_agent(&self->port, &umad_abi_new, umad_reg_send_only(2), &self->file);
	if (!umad_is_roce(&self->port))
		umad_sm_open(&self->port, &self->sm);
}

FIXTURE_TEARDOWN(port)
{
	umad_close(&self->file);
	umad_sm_close(&self->sm);
}

/* A number of the port in sysfs, whatever its base */
static long attr(const struct umad_port *port, const char *name)
{
	char text[64];

	return umad_port_attr(port, name, text, sizeof(text)) ? -1 :
	       strtol(text, NULL, 0);
}

/* Asks the port's own SMA, by a directed route without a hop */
static int ask_sma(FIXTURE_DATA(port) *self, __u16 attr_id, void *data)
{
	return umad_smp(&self->sm, &umad_here, 0, MAD_GET, attr_id, 0, data);
}

/* By a directed route, and by LID */
TEST_F(port, own_node)
{
	__u8 info[64] = { 0 }, by_lid[64] = { 0 };

	if (umad_is_roce(&self->port))
		SKIP(return, "RoCE has no SMA");
	ASSERT_EQ(0, ask_sma(self, SMP_NODE_INFO, info))
		TH_LOG("NodeInfo: %s", strerror(errno));
	EXPECT_EQ(umad_node_guid(&self->port), umad_info_guid(info));
	EXPECT_EQ(0, umad_smp(&self->sm, NULL, self->port.lid, MAD_GET, SMP_NODE_INFO, 0, by_lid))
		TH_LOG("NodeInfo: %s", strerror(errno));
	EXPECT_EQ(0, memcmp(info, by_lid, sizeof(info)));
}

TEST_F(port, own_port)
{
	struct umad_port_info info = { 0 };
	int status;

	if (umad_is_roce(&self->port))
		SKIP(return, "RoCE has no SMA");
	status = ask_sma(self, SMP_PORT_INFO, &info);
	if (status == STATUS_UNSUPPORTED)
		SKIP(return, "this port has another PortInfo, as OPA has");
	ASSERT_EQ(0, status)
		TH_LOG("PortInfo: %s; does an M_Key protect it?", strerror(errno));
	EXPECT_EQ(attr(&self->port, "lid"), be16toh(info.lid));
	EXPECT_EQ(attr(&self->port, "sm_lid"), be16toh(info.sm_lid));
	EXPECT_EQ(attr(&self->port, "state"), info.speed_supported_state & 0xf);
	EXPECT_EQ(self->port.port, info.local_port_num);
}

/* The MAD layer answers a Get that no agent has registered for: by LID, by GID */
TEST_F(port, unserved_class)
{
	struct umad_msg msg, got;
	int grh;

	for (grh = 0; grh < 2; grh++) {
		msg = umad_request(&self->port, self->id, MAD_GET, 1 + grh, UMAD_SOON_MS);
		msg.hdr.grh_present |= grh;
		umad_write(&self->file, &msg);
		umad_read(&self->file, &got);
		EXPECT_EQ(MAD_GET_RESP, got.mad.method);
		EXPECT_EQ(STATUS_UNSUPPORTED, be16toh(got.mad.status));
		EXPECT_EQ(1 + grh, (__u32)be64toh(got.mad.tid));
		EXPECT_EQ(msg.hdr.grh_present, got.hdr.grh_present);
		if (!grh)
			continue;
		EXPECT_EQ(self->port.gid_index, got.hdr.gid_index);
		EXPECT_EQ(0, memcmp(got.hdr.gid, self->port.gid, 16));
	}
}

TEST_F(port, own_counters)
{
	struct umad_msg msg, got;

	if (umad_is_roce(&self->port))
		SKIP(return, "not each RoCE port has a PMA");
	msg = umad_request(&self->port, self->id, MAD_GET, 1, UMAD_SOON_MS);
	msg.mad.mgmt_class = MAD_CLASS_PERF;
	msg.mad.attr_id = htobe16(ATTR_CLASS_PORT_INFO);
	msg.mad.attr_mod = 0;
	umad_write(&self->file, &msg);
	umad_read(&self->file, &got);
	EXPECT_EQ(MAD_GET_RESP, got.mad.method);
	EXPECT_EQ(MAD_CLASS_PERF, got.mad.mgmt_class);
	EXPECT_EQ(0, be16toh(got.mad.status));
	EXPECT_EQ(self->port.lid, be16toh(got.hdr.lid));
}

TEST_F(port, absent_lid)
{
	__u16 lid = ABSENT_LID;
	struct umad_msg msg, got;

	if (umad_is_roce(&self->port))
		SKIP(return, "a GID that is absent is not resolved");
	if (lid == self->port.lid || lid == attr(&self->port, "sm_lid"))
		lid--;
	msg = umad_request(&self->port, self->id, MAD_GET, 0x42, 100);
	msg.hdr.lid = htobe16(lid);
	msg.hdr.retries = 1;
	umad_write(&self->file, &msg);
	umad_err_write(EINVAL, &self->file, &msg);	/* outstanding */
	umad_read_timeout(&self->file, &got);
	EXPECT_EQ(lid, be16toh(got.hdr.lid));
	EXPECT_EQ(0x42, (__u32)be64toh(got.mad.tid));
	umad_expect_empty(&self->file);
}

/* The subnet manager sees this: it runs only if it is asked for */
TEST_F(port, issm)
{
	char path[64];
	int fd;

	if (!umad_shared_issm())
		SKIP(return, "it was not asked for");
	umad_issm_dev(&self->port, path);
	if (access(path, F_OK))
		SKIP(return, "the port has no issm");
	fd = open(path, O_RDWR | O_NONBLOCK);
	if (fd < 0 && errno == EAGAIN)
		SKIP(return, "somebody holds it");
	ASSERT_LE(0, fd)
		TH_LOG("%s: %s", path, strerror(errno));
	EXPECT_EQ(PORT_CAP_IS_SM, umad_port_caps(&self->port) & PORT_CAP_IS_SM);
	umad_err(EAGAIN, open(path, O_RDWR | O_NONBLOCK));
	close(fd);
	EXPECT_EQ(0, umad_port_caps(&self->port) & PORT_CAP_IS_SM);
}

/* The path from the port to itself, as the SA has it; tables come by RMPP */
TEST_F(port, subnet_administrator)
{
	struct umad_reg reg = umad_reg_sa();
	__u8 buf[UMAD_HDR_NEW + 4096];
	struct umad_msg msg, got;
	struct path_record *path;
	struct sa_mad *sa;
	ssize_t n;

	if (umad_is_roce(&self->port) || attr(&self->port, "sm_lid") <= 0)
		SKIP(return, "there is no SA");
	umad_register(&self->file, &reg);
	msg = umad_request(&self->port, reg.id, METHOD_GET_TABLE, 1, UMAD_SOON_MS);
	msg.hdr.lid = htobe16(attr(&self->port, "sm_lid"));
	msg.hdr.sl = attr(&self->port, "sm_sl");
	memset(&msg.mad.rmpp_version, 0, MAD_SIZE - MAD_HDR);
	msg.mad.mgmt_class = MAD_CLASS_SA;
	msg.mad.class_version = 2;
	msg.mad.attr_id = htobe16(ATTR_PATH_RECORD);
	msg.mad.attr_mod = 0;
	sa = (struct sa_mad *)&msg.mad;
	sa->comp_mask[1] = htobe32(PATH_DGID | PATH_SGID | PATH_NUMB_PATH);
	path = (struct path_record *)sa->data;
	memcpy(path->dgid, self->port.gid, 16);
	memcpy(path->sgid, self->port.gid, 16);
	path->reversible_numb_path = 1;
	umad_write(&self->file, &msg);

	ASSERT_TRUE(umad_readable(&self->file, 2 * UMAD_SOON_MS));
	n = read(self->file.fd, buf, sizeof(buf));
	ASSERT_LE((ssize_t)(UMAD_HDR_NEW + MAD_SA_HDR + sizeof(*path)), n)
		TH_LOG("%zd bytes: %s", n, strerror(n < 0 ? errno : ETIMEDOUT));
	memcpy(&got.hdr, buf, UMAD_HDR_NEW);
	memcpy(&got.mad, buf + UMAD_HDR_NEW, MAD_SIZE);
	EXPECT_EQ(n, got.hdr.length);
	EXPECT_EQ(METHOD_GET_TABLE_RESP, got.mad.method);
	EXPECT_EQ(0, be16toh(got.mad.status));
	EXPECT_EQ(MAD_RMPP_ACTIVE, got.mad.rmpp_flags & MAD_RMPP_ACTIVE);
	path = (struct path_record *)((struct sa_mad *)&got.mad)->data;
	EXPECT_EQ(self->port.lid, be16toh(path->dlid));
	EXPECT_EQ(self->port.lid, be16toh(path->slid));
	EXPECT_EQ(0, memcmp(path->dgid, self->port.gid, 16));
}

TEST_HARNESS_MAIN
