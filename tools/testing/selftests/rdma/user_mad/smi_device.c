// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Ports whose QP0 and QP1 belong to two RDMA devices, as those of the newest adapters
 * do: what each of them offers, and their coming and going.
 */
#include "kselftest_harness.h"
#include "lib/netlink.h"
#include "lib/subnet.h"

/* Newer than some headers */
#define NLDEV_CMD_NEWDEV	26
#define NLDEV_CMD_DELDEV	27
#define NLDEV_ATTR_DEV_TYPE	99
#define DEVICE_TYPE_SMI		1

#define SMI_DEVICE		"umadsmi"

#define CAP_SM_DISABLED		0x00000400

/* Two hosts around a switch; the second one has two devices, or will have, and planes */
FIXTURE(smi_device)
{
	struct umad_fabric fabric;
	struct umad_port gsi;
};

FIXTURE_SETUP(smi_device)
{
	self->fabric = (struct umad_fabric){ .hosts = 2, .star = true };
	umad_fabric_start(&self->fabric);
	ASSERT_EQ(0, umad_sysfs_write(UMAD_FABRIC "/live", "0"));
	ASSERT_EQ(0, umad_sysfs_write(UMAD_FABRIC "/unlink", "h2 1"));
	ASSERT_EQ(0, umad_sysfs_write(UMAD_FABRIC "/h2/ports", "4"));
	ASSERT_EQ(0, umad_sysfs_write(UMAD_FABRIC "/h2/planes", "1"));
	ASSERT_EQ(0, umad_sysfs_write(UMAD_FABRIC "/link", "h2 1 s1 2"));
	ASSERT_EQ(0, umad_sysfs_write(UMAD_FABRIC "/link", "h2 4 s1 3"));
	ASSERT_EQ(-1, umad_sysfs_write(UMAD_FABRIC "/live", "1"));
	ASSERT_EQ(0, umad_sysfs_write(UMAD_FABRIC "/h2/separate_smi", "1"));
	if (umad_sysfs_write(UMAD_FABRIC "/live", "1")) {
		ASSERT_EQ(EOPNOTSUPP, errno);
		umad_fabric_stop();
		SKIP(return, "this kernel has no devices for QP0 alone");
	}
	ASSERT_EQ(0, umad_fabric_port("h1", 1, &self->fabric.host[0]));
	ASSERT_EQ(0, umad_fabric_port("h2", 1, &self->fabric.host[1]));
	self->gsi = self->fabric.host[1];
	umad_fabric_up(&self->fabric);
}

FIXTURE_TEARDOWN(smi_device)
{
	umad_fabric_stop();
}

/* 0 or a negative errno */
static int smi_add(const char *parent, __u8 type)
{
	struct nl_request req;
	int ret;

	ret = nl_begin_ibdev(&req, NLDEV_CMD_NEWDEV, parent);
	if (ret)
		return ret;
	nl_put_string(&req, RDMA_NLDEV_ATTR_DEV_NAME, SMI_DEVICE);
	nl_put(&req, NLDEV_ATTR_DEV_TYPE, &type, 1);
	return nl_talk(NETLINK_RDMA, &req, NULL, NULL);
}

static int smi_del(const char *name)
{
	return nl_ibdev_command(name, NLDEV_CMD_DELDEV);
}

/* NodeDescription of the node that @path leads to, or -1 */
static int name_at(const struct umad_port *port, const struct umad_path *path, char name[64])
{
	struct umad_sm sm;
	int status;

	if (_umad_sm_open(port, &sm))
		return -1;
	memset(name, 0, 64);
	status = umad_smp(&sm, path, 0, MAD_GET, SMP_NODE_DESC, 0, name);
	umad_sm_close(&sm);
	return status;
}

/* Each has what it is for */
TEST_F(smi_device, each_has_a_queue_pair)
{
	struct umad_reg reg = umad_reg_smp(1, MAD_CLASS_SM_DIRECTED, 0);
	static const struct umad_path there = { 2, { 1, 1 } };
	struct umad_file file;
	struct umad_port smi;
	char name[64], dev[64];

	/* QP1 alone: no SMPs, no IsSM */
	EXPECT_EQ(CAP_SM_DISABLED, umad_port_caps(&self->gsi) & (PORT_CAP_IS_SM | CAP_SM_DISABLED));
	umad_issm_dev(&self->gsi, dev);
	EXPECT_EQ(-1, access(dev, F_OK));
	umad_open(&self->gsi, O_RDWR, &file);
	umad_err_register(EPROTONOSUPPORT, &file, &reg);
	umad_close(&file);

	/* Without QP0 the node is no other in the fabric than with it */
	ASSERT_EQ(0, name_at(&self->fabric.host[0], &umad_to_second, name));
	EXPECT_STREQ("h2", name);

	ASSERT_EQ(0, smi_add(self->gsi.ibdev, DEVICE_TYPE_SMI));
	ASSERT_EQ(0, umad_find_port_of(SMI_DEVICE, 1, &smi));
	EXPECT_EQ(0, memcmp(smi.gid, self->gsi.gid, sizeof(smi.gid)));
	EXPECT_EQ(0, umad_port_caps(&smi) & CAP_SM_DISABLED);
	EXPECT_EQ(CAP_SM_DISABLED, umad_port_caps(&self->gsi) & CAP_SM_DISABLED);
	umad_issm_dev(&smi, dev);
	EXPECT_EQ(0, access(dev, F_OK));
	ASSERT_EQ(0, name_at(&smi, &umad_to_next, name));
	EXPECT_STREQ("s1", name);
	ASSERT_EQ(0, name_at(&smi, &there, name));
	EXPECT_STREQ("h1", name);
	ASSERT_EQ(0, name_at(&self->fabric.host[0], &umad_to_second, name));
	EXPECT_STREQ("h2", name);
	EXPECT_NE(0, umad_find_port_of(self->gsi.ibdev, 4, &smi));
	ASSERT_EQ(0, umad_find_port_of(SMI_DEVICE, 4, &smi));
	EXPECT_EQ(0, memcmp(smi.gid, self->gsi.gid, sizeof(smi.gid)));
	EXPECT_EQ(0, name_at(&smi, &(struct umad_path){ 1, { 4 } }, name));
	EXPECT_STREQ("s1", name);
	ASSERT_EQ(0, smi_del(SMI_DEVICE));
	EXPECT_EQ(-ENODEV, smi_del(SMI_DEVICE));
}

/* A subnet manager sits at the one, and all see it but the other */
TEST_F(smi_device, is_sm)
{
	struct umad_port_info info = {};
	struct umad_port smi;
	struct umad_sm sm;
	char dev[64];
	int issm;

	ASSERT_EQ(0, smi_add(self->gsi.ibdev, DEVICE_TYPE_SMI));
	ASSERT_EQ(0, umad_find_port_of(SMI_DEVICE, 1, &smi));
	umad_issm_dev(&smi, dev);
	issm = open(dev, O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, issm);
	EXPECT_EQ(PORT_CAP_IS_SM, umad_port_caps(&smi) & PORT_CAP_IS_SM);
	EXPECT_EQ(0, umad_port_caps(&self->gsi) & PORT_CAP_IS_SM);
	umad_sm_open(&self->fabric.host[0], &sm);
	umad_smp_get(&sm, &umad_to_second, SMP_PORT_INFO, 1, &info);
	EXPECT_EQ(PORT_CAP_IS_SM, be32toh(info.cap_mask) & (PORT_CAP_IS_SM | CAP_SM_DISABLED));
	umad_sm_close(&sm);
	close(issm);
	EXPECT_EQ(0, umad_port_caps(&smi) & PORT_CAP_IS_SM);
}

/* Requests to QP1 reach a server at the other device, whether there is one for QP0 or not */
TEST_F(smi_device, gmps)
{
	struct umad_file client, server;
	struct umad_msg msg, got;
	__u32 cid;
	int i;

	umad_open_agent(&self->gsi, &umad_abi_new, umad_reg_vendor(1, umad_get_set_send), &server);
	cid = umad_open_agent(&self->fabric.host[0], &umad_abi_new, umad_reg_send_only(1), &client);
	for (i = 0; i < 3; i++) {
		if (i == 1)
			ASSERT_EQ(0, smi_add(self->gsi.ibdev, DEVICE_TYPE_SMI));
		if (i == 2)
			ASSERT_EQ(0, smi_del(SMI_DEVICE));
		msg = umad_request(&self->fabric.host[1], cid, MAD_GET, 100 + i, UMAD_SOON_MS);
		umad_write(&client, &msg);
		umad_read(&server, &got);
		EXPECT_EQ(100 + i, (__u32)be64toh(got.mad.tid));
		got.mad.method = MAD_GET_RESP;
		umad_write(&server, &got);
		umad_read(&client, &got);
		EXPECT_EQ(0, got.hdr.status);
	}
	umad_close(&client);
	umad_close(&server);
}

/* No device has a second one of either kind */
TEST_F(smi_device, refused)
{
	EXPECT_EQ(-EOPNOTSUPP, smi_add(self->gsi.ibdev, DEVICE_TYPE_SMI + 1));
	EXPECT_EQ(-EOPNOTSUPP, smi_add(self->fabric.host[0].ibdev, DEVICE_TYPE_SMI));
	ASSERT_EQ(0, smi_add(self->gsi.ibdev, DEVICE_TYPE_SMI));
	EXPECT_EQ(-EEXIST, smi_add(self->gsi.ibdev, DEVICE_TYPE_SMI));
	EXPECT_EQ(-EOPNOTSUPP, smi_add(SMI_DEVICE, DEVICE_TYPE_SMI));
}

/* Both go with the node, and a reader of either is told */
TEST_F(smi_device, unplug)
{
	struct umad_reg reg = umad_reg_smp(1, MAD_CLASS_SM_DIRECTED, 0);
	struct umad_file file;
	struct umad_port smi;
	struct umad_msg msg;
	int i;

	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, smi_add(self->gsi.ibdev, DEVICE_TYPE_SMI));
		ASSERT_EQ(0, umad_find_port_of(SMI_DEVICE, 1, &smi));
		umad_open(&smi, O_RDWR | O_NONBLOCK, &file);
		umad_register(&file, &reg);
		umad_fabric_fault("h2 unplug");
		EXPECT_EQ(-1, access("/sys/class/infiniband/" SMI_DEVICE, F_OK));
		EXPECT_EQ(-1, _umad_read(&file, &msg));
		EXPECT_EQ(EIO, errno);
		umad_close(&file);
		umad_fabric_fault("h2 plug");
		ASSERT_EQ(0, umad_fabric_port("h2", 1, &self->gsi));
	}
}

TEST_HARNESS_MAIN
