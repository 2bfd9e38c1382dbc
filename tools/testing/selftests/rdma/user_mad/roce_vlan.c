// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Interfaces of several VLANs have the Ethernet address of the one below, and so its GID. A
 * received MAD names the entry of the GID table that is of its VLAN: a response goes by that.
 */
#include "kselftest_harness.h"
#include "lib/device.h"

#define METHOD	0x20
#define VLANS	2

FIXTURE(roce_vlan)
{
	struct umad_device device;
	struct umad_file file;
	__u32 id;
};

FIXTURE_SETUP(roce_vlan)
{
	umad_device(&self->device, UMAD_RXE);
	self->id = umad_open_agent(&self->device.port, &umad_abi_new,
				   umad_reg_vendor(2, 1ULL << METHOD), &self->file);
}

FIXTURE_TEARDOWN(roce_vlan)
{
	umad_close(&self->file);
	umad_device_free(&self->device);
}

/* Where the GID table has the port's GID for an interface, or -1 */
static int gid_index(const struct umad_port *port, const char *name)
{
	char attr[64], value[64], gid[64];
	int i;

	snprintf(attr, sizeof(attr), "gids/%u", port->gid_index);
	if (umad_port_attr(port, attr, gid, sizeof(gid)))
		return -1;
	for (i = 0; i < 255; i++) {
		snprintf(attr, sizeof(attr), "gid_attrs/ndevs/%d", i);
		if (umad_port_attr(port, attr, value, sizeof(value)) || strcmp(value, name))
			continue;
		snprintf(attr, sizeof(attr), "gids/%d", i);
		if (!umad_port_attr(port, attr, value, sizeof(value)) && !strcmp(value, gid))
			return i;
	}
	return -1;
}

TEST_F(roce_vlan, names_the_entry_of_its_vlan)
{
	int index[VLANS + 1] = { self->device.port.gid_index };
	struct umad_msg msg, got;
	char name[16];
	int i, ret;

	for (i = 1; i <= VLANS; i++) {
		snprintf(name, sizeof(name), "uv%d.%d", getpid(), i);
		ret = umad_device_add_vlan(&self->device, name, i);
		if (ret == -EOPNOTSUPP)
			SKIP(return, "this kernel has no VLANs");
		ASSERT_EQ(0, ret);
		ASSERT_TRUE(umad_within(UMAD_SOON_MS,
					(index[i] = gid_index(&self->device.port, name)) > 0));
	}
	for (i = VLANS; i >= 0; i--) {
		msg = umad_msg(&self->device.port, self->id, METHOD, i);
		msg.hdr.gid_index = index[i];
		umad_write(&self->file, &msg);
		umad_read(&self->file, &got);
		EXPECT_EQ(i, (int)be64toh(got.mad.tid));
		EXPECT_EQ(index[i], got.hdr.gid_index);
		EXPECT_EQ(0, memcmp(self->device.port.gid, got.hdr.gid, sizeof(got.hdr.gid)));
	}
}

TEST_HARNESS_MAIN
