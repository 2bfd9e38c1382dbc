// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Nodes of a simulated fabric that have no MAD layer, so that the model answers:
 * by which way requests come to them, and which ones are none.
 */

#include <sys/stat.h>

#include "kselftest_harness.h"
#include "lib/subnet.h"

#define MODEL			UMAD_FABRIC "/m1"
#define MODEL_LID		0x40
#define MODEL_LMC		3

#define LFT_BLOCK		64
#define LFT_TOP			6	/* where SwitchInfo has the last LID */
#define MAX_HOPS		63

/* Two hosts around switch s1, which has no device, and node m1 at the spare port */
FIXTURE(model)
{
	UMAD_MANAGED;
	struct umad_path path;		/* to m1 */
	struct umad_file client;
	__u32 id;
};

FIXTURE_VARIANT(model)
{
	const char *type;
	__u32 port;			/* that has the LIDs */
	__u8 lmc;
};

FIXTURE_VARIANT_ADD(model, ca) { .type = "ca", .port = 1, .lmc = MODEL_LMC };
FIXTURE_VARIANT_ADD(model, second_switch) { .type = "switch" };

/* The switch at @path knows LIDs up to MODEL_LID's block, and sends those of @block to @port */
static int set_lft(struct umad_sm *sm, const struct umad_path *path, int block, __u8 port)
{
	__u8 info[64] = {}, ports[LFT_BLOCK];
	int status;

	status = umad_smp(sm, path, 0, MAD_GET, SMP_SWITCH_INFO, 0, info);
	if (status)
		return status;
	info[LFT_TOP] = 0;
	info[LFT_TOP + 1] = MODEL_LID + LFT_BLOCK - 1;
	status = umad_smp(sm, path, 0, MAD_SET, SMP_SWITCH_INFO, 0, info);
	memset(ports, port, sizeof(ports));
	return status ?: umad_smp(sm, path, 0, MAD_SET, SMP_LINEAR_FWD, block, ports);
}

FIXTURE_SETUP(model)
{
	char link[32];

	umad_managed(self, 2);
	snprintf(link, sizeof(link), "m1 1 s1 %d", self->fabric.spare);
	ASSERT_EQ(0, mkdir(MODEL, 0755));
	ASSERT_EQ(0, umad_sysfs_write(MODEL "/type", variant->type));
	ASSERT_EQ(0, umad_sysfs_write(UMAD_FABRIC "/link", link));
	umad_fabric_fault("m1 plug");

	self->path = (struct umad_path){ 2, { 1, self->fabric.spare } };
	ASSERT_EQ(0, umad_sm_set_port(&self->sm, &self->path, variant->port, MODEL_LID,
				      variant->lmc, self->fabric.host[0].lid, PORT_NO_CHANGE));
	ASSERT_EQ(0, set_lft(&self->sm, &umad_to_next, MODEL_LID / LFT_BLOCK,
			     self->fabric.spare));
	/* The way back */
	if (!variant->port)
		ASSERT_EQ(0, set_lft(&self->sm, &self->path, 0, 1));
	self->id = umad_open_agent(&self->fabric.host[0], &umad_abi_new, umad_reg_send_only(1),
				   &self->client);
}

FIXTURE_TEARDOWN(model)
{
	umad_close(&self->client);
	umad_managed_end(self);
}

#define expect_name(self, msg, name) do {				\
	ASSERT_EQ(0, umad_smp_exchange(&(self)->sm, &(msg)))		\
		TH_LOG("%s", strerror(errno));				\
	EXPECT_STREQ(name, (char *)umad_smp_of(&(msg))->data);		\
} while (0)

TEST_F(model, answers_from_the_lid_that_was_asked)
{
	struct umad_msg msg;
	int i;

	for (i = 0; i < 1 << variant->lmc; i++) {
		msg = umad_smp_msg(&self->sm, NULL, MODEL_LID + i, MAD_GET, SMP_NODE_DESC, 0,
				   NULL);
		expect_name(self, msg, "m1");
		EXPECT_EQ(MODEL_LID + i, be16toh(msg.hdr.lid));
	}
}

/* The way back has the port of each node that the request came in by */
TEST_F(model, return_path)
{
	struct umad_msg msg;

	msg = umad_smp_msg(&self->sm, &self->path, 0, MAD_GET, SMP_NODE_DESC, 0, NULL);
	expect_name(self, msg, "m1");
	EXPECT_EQ(1, umad_smp_of(&msg)->return_path[1]);
	EXPECT_EQ(1, umad_smp_of(&msg)->return_path[2]);
}

/* A directed route that goes on by LID ends at the switch that has it, and at no host */
TEST_F(model, route_to_a_lid)
{
	struct umad_msg msg;

	msg = umad_smp_msg(&self->sm, &umad_to_next, 0, MAD_GET, SMP_NODE_DESC, 0, NULL);
	umad_smp_of(&msg)->dr_dlid = htobe16(self->fabric.sw.lid);
	expect_name(self, msg, "s1");

	/* By LID from one switch to the next */
	if (!variant->port) {
		msg = umad_smp_msg(&self->sm, &umad_to_next, 0, MAD_GET, SMP_NODE_DESC, 0, NULL);
		umad_smp_of(&msg)->dr_dlid = htobe16(MODEL_LID);
		expect_name(self, msg, "m1");
		return;
	}

	msg = umad_smp_msg(&self->sm, &self->path, 0, MAD_GET, SMP_NODE_DESC, 0, NULL);
	umad_smp_of(&msg)->dr_dlid = htobe16(MODEL_LID);
	msg.hdr.timeout_ms = UMAD_QUIET_MS;
	EXPECT_EQ(-1, umad_smp_exchange(&self->sm, &msg));
}

/*
 * Whether a Set of a P_Key is done that comes to @lid by LID alone, with a directed
 * route that is over. Nobody can answer that.
 */
static int is_done(FIXTURE_DATA(model) *self, const struct umad_path *path, __u16 lid,
		   __u8 hop_cnt, __u8 hop_ptr, bool returning)
{
	static __u8 key;
	__u8 table[64] = { 0x80, ++key };
	struct umad_smp *smp;
	struct umad_msg msg;

	msg = umad_smp_msg(&self->sm, &umad_here, 0, MAD_SET, SMP_PKEY_TABLE, 0, table);
	msg.hdr.lid = htobe16(lid);
	msg.hdr.timeout_ms = 0;
	smp = umad_smp_of(&msg);
	smp->hop_cnt = hop_cnt;
	smp->hop_ptr = hop_ptr;
	smp->status = htobe16(returning ? SMP_D_BIT : 0);
	/* Or the MAD layer would look at the hop pointer, too */
	smp->dr_slid = htobe16(self->fabric.host[0].lid);
	if (returning)
		smp->dr_dlid = htobe16(lid);
	if (_umad_write(&self->sm.file, &msg) < 0 ||
	    umad_smp(&self->sm, path, 0, MAD_GET, SMP_PKEY_TABLE, 0, table))
		return -1;
	return table[1] == key;
}

/* A route has 63 hops at most, and what comes back to its sender is no request */
TEST_F(model, routes_that_are_none)
{
	const __u16 sw = self->fabric.sw.lid;

	EXPECT_EQ(1, is_done(self, &umad_to_next, sw, MAX_HOPS, MAX_HOPS, false));
	EXPECT_EQ(0, is_done(self, &umad_to_next, sw, MAX_HOPS + 1, MAX_HOPS + 1, false));
	if (variant->port) {
		EXPECT_EQ(1, is_done(self, &self->path, MODEL_LID, 1, 1, false));
		EXPECT_EQ(0, is_done(self, &self->path, MODEL_LID, 1, 2, true));
	}
}

/* As a MAD layer would: requests of classes that nobody serves are refused, the rest is lost */
TEST_F(model, classes_that_nobody_serves)
{
	static const __u8 methods[] = { MAD_GET, MAD_SET, MAD_SEND };
	struct umad_msg msg;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(methods); i++) {
		msg = umad_msg(&self->fabric.host[0], self->id, methods[i], i + 1);
		msg.hdr.grh_present = 0;
		msg.hdr.lid = htobe16(self->fabric.sw.lid);
		msg.hdr.timeout_ms = methods[i] == MAD_SEND ? UMAD_QUIET_MS : UMAD_SOON_MS;
		umad_write(&self->client, &msg);
		if (methods[i] == MAD_SEND) {
			umad_read_timeout(&self->client, &msg);
			continue;
		}
		umad_read(&self->client, &msg);
		EXPECT_EQ(0, msg.hdr.status);
		EXPECT_EQ(MAD_GET_RESP, msg.mad.method);
		EXPECT_EQ(STATUS_UNSUPPORTED, be16toh(msg.mad.status));
	}
}

TEST_HARNESS_MAIN
