// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * How a MAD of QP1 is addressed on InfiniBand, and all that a receiver is told of
 * its sender: LIDs and path bits, service levels, P_Keys and GIDs. Over a
 * simulated fabric, as on RoCE there are only GIDs.
 *
 * Also on: 6.1, 6.12
 */
#include "kselftest_harness.h"
#include "lib/statistics.h"
#include "lib/subnet.h"

#define PKEYS		32
#define LMC		3

/* Two hosts that answer to eight LIDs each, a client and a server */
FIXTURE(gmp)
{
	UMAD_CLIENT_AND_SERVER;
	struct umad_fabric fabric;
	struct umad_sm sm;
};

umad_abi_variants(gmp);
umad_abi_variant(gmp, v1_old);
umad_abi_variant(gmp, v2_new);

FIXTURE_SETUP(gmp)
{
	self->fabric = (struct umad_fabric){ .hosts = 2, .star = true, .lmc = LMC };
	umad_subnet(&self->fabric);
	umad_sm_open(&self->fabric.host[0], &self->sm);

	umad_open_both(self, &variant->abi, &self->fabric.host[0],
		       umad_reg_send_only(variant->abi.api), &self->fabric.host[1],
		       umad_reg_vendor(variant->abi.api, umad_get_send));
}

FIXTURE_TEARDOWN(gmp)
{
	umad_close_both(self);
	umad_sm_close(&self->sm);
	umad_fabric_stop();
}

static struct umad_msg gmp_msg(FIXTURE_DATA(gmp) *self)
{
	return umad_request(&self->fabric.host[1], self->cid, MAD_GET, ++self->tid, UMAD_SOON_MS);
}

/*
 * The server gets @msg as @seen, and answers with the header that it got. The client gets
 * @answer.
 */
#define gmp_exchange(self, msg, seen, answer) do {			\
	struct umad_msg __reply;					\
									\
	umad_write(&(self)->client, msg);				\
	umad_read(&(self)->server, seen);				\
	EXPECT_EQ((self)->sid, (seen)->hdr.id);				\
	EXPECT_EQ(1, be32toh((seen)->hdr.qpn));				\
	EXPECT_EQ(0, memcmp((msg)->mad.data, (seen)->mad.data,		\
			    sizeof((msg)->mad.data)));			\
	__reply = *(seen);						\
	__reply.mad.method = MAD_GET_RESP;				\
	__reply.mad.data[7] ^= 0xff;					\
	umad_write(&(self)->server, &__reply);				\
	umad_read(&(self)->client, answer);				\
	EXPECT_EQ((self)->cid, (answer)->hdr.id);			\
	EXPECT_EQ(1, be32toh((answer)->hdr.qpn));			\
	EXPECT_EQ(0, memcmp(__reply.mad.data, (answer)->mad.data,	\
			    sizeof(__reply.mad.data)));			\
	umad_expect_empty(&(self)->client);				\
	umad_expect_empty(&(self)->server);				\
} while (0)

/* Sent, and not received */
#define gmp_lost(self, msg) do {					\
	struct umad_msg __got;						\
									\
	(msg)->hdr.timeout_ms = UMAD_QUIET_MS;				\
	umad_write(&(self)->client, msg);				\
	umad_read_timeout(&(self)->client, &__got);			\
	umad_expect_empty(&(self)->server);				\
} while (0)

TEST_F(gmp, path_bits_choose_the_lid)
{
	struct umad_msg msg, seen, answer;
	unsigned int i;

	for (i = 0; i < 1 << LMC; i++) {
		unsigned int back = (1 << LMC) - 1 - i;

		/* From one of the sender's LIDs to one of the receiver's */
		msg = gmp_msg(self);
		msg.hdr.lid = htobe16(self->fabric.host[1].lid + i);
		msg.hdr.path_bits = back;
		msg.hdr.sl = 2 * i;
		/* Q_Keys are the MAD layer's: what the header says does not matter */
		msg.hdr.qkey = htobe32(0x1234);
		gmp_exchange(self, &msg, &seen, &answer);
		EXPECT_EQ(self->fabric.host[0].lid + back, be16toh(seen.hdr.lid));
		EXPECT_EQ(i, seen.hdr.path_bits);
		EXPECT_EQ(self->fabric.host[1].lid + i, be16toh(answer.hdr.lid));
		EXPECT_EQ(back, answer.hdr.path_bits);
		EXPECT_EQ(2 * i, seen.hdr.sl);
		EXPECT_EQ(2 * i, answer.hdr.sl);
		EXPECT_EQ(0, seen.hdr.qkey);
		EXPECT_EQ(0, seen.hdr.grh_present);
		EXPECT_EQ(0, answer.hdr.grh_present);
	}

	/* The next LIDs belong to no port, or to the switch */
	msg = gmp_msg(self);
	msg.hdr.lid = htobe16(0x4444);
	gmp_lost(self, &msg);
}

/* There is no GID index to tell the receiver: it gets nothing, and can know it */
TEST_F(gmp, addressed_to_a_group)
{
	struct umad_statistics before = umad_statistics(&self->fabric.host[1]);
	struct umad_msg msg = gmp_msg(self);

	umad_msg_to_group(&msg);
	gmp_lost(self, &msg);
	umad_expect_fdinfo(1, &self->server, "umad-dropped");
	if (!umad_reference())
		umad_expect_changes(&before, &self->fabric.host[1], "dropped_address+1");
}

static int gmp_set_pkey(FIXTURE_DATA(gmp) *self, int host, int index, __u16 pkey)
{
	struct umad_path path = umad_fabric_path(&self->fabric, host);
	__be16 table[PKEYS] = {};
	int status;

	status = umad_smp(&self->sm, &path, 0, MAD_GET, SMP_PKEY_TABLE, 0, table);
	if (status)
		return status;
	table[index] = htobe16(pkey);
	return umad_smp(&self->sm, &path, 0, MAD_SET, SMP_PKEY_TABLE, 0, table);
}

static int gmp_pkey_violations(FIXTURE_DATA(gmp) *self)
{
	struct umad_path path = umad_fabric_path(&self->fabric, 1);
	struct umad_port_info info = {};

	if (umad_smp(&self->sm, &path, 0, MAD_GET, SMP_PORT_INFO, 1, &info))
		return -1;
	return be16toh(info.pkey_violations);
}

/* Each side is told the index in its own table; the old header has none */
TEST_F(gmp, pkey_index_is_of_ones_own_table)
{
	bool has_index = variant->abi.hlen == UMAD_HDR_NEW;
	struct umad_msg msg, seen, answer;

	ASSERT_EQ(0, gmp_set_pkey(self, 0, 1, 0x8123));
	ASSERT_EQ(0, gmp_set_pkey(self, 1, 4, 0x8123));

	msg = gmp_msg(self);
	gmp_exchange(self, &msg, &seen, &answer);
	EXPECT_EQ(0, seen.hdr.pkey_index);
	EXPECT_EQ(0, answer.hdr.pkey_index);

	msg = gmp_msg(self);
	msg.hdr.pkey_index = 1;
	gmp_exchange(self, &msg, &seen, &answer);
	EXPECT_EQ(has_index ? 4 : 0, seen.hdr.pkey_index);
	EXPECT_EQ(has_index ? 1 : 0, answer.hdr.pkey_index);
	EXPECT_EQ(0, gmp_pkey_violations(self));
}

TEST_F(gmp, pkey_membership)
{
	struct umad_msg msg, seen, answer;

	/* A limited member talks to full ones */
	ASSERT_EQ(0, gmp_set_pkey(self, 0, 1, 0x0123));
	ASSERT_EQ(0, gmp_set_pkey(self, 1, 4, 0x8123));
	msg = gmp_msg(self);
	msg.hdr.pkey_index = 1;
	gmp_exchange(self, &msg, &seen, &answer);
	EXPECT_EQ(0, gmp_pkey_violations(self));
	/* All that the old header can name is the first entry */
	if (variant->abi.hlen == UMAD_HDR_OLD)
		return;
	EXPECT_EQ(4, seen.hdr.pkey_index);

	/* ... and not to another limited one */
	ASSERT_EQ(0, gmp_set_pkey(self, 1, 4, 0x0123));
	msg = gmp_msg(self);
	msg.hdr.pkey_index = 1;
	gmp_lost(self, &msg);
	EXPECT_EQ(1, gmp_pkey_violations(self));

	/* No port is a member of the partition of an empty entry */
	msg = gmp_msg(self);
	msg.hdr.pkey_index = 9;
	gmp_lost(self, &msg);
	EXPECT_EQ(2, gmp_pkey_violations(self));

	/* SMPs have no P_Key */
	msg = umad_smp_msg(&self->sm, NULL, self->fabric.host[1].lid, MAD_GET, SMP_NODE_DESC);
	msg.hdr.pkey_index = 9;
	EXPECT_EQ(0, umad_smp_exchange(&self->sm, &msg));
	EXPECT_EQ(0, msg.hdr.pkey_index);
	EXPECT_EQ(2, gmp_pkey_violations(self));
}

TEST_F(gmp, grh_tells_who_sent_it)
{
	struct umad_msg msg = gmp_msg(self), seen, answer;

	msg.hdr.grh_present = 1;
	msg.hdr.traffic_class = 0x5a;
	msg.hdr.flow_label = htobe32(0x12345);
	msg.hdr.hop_limit = 7;
	gmp_exchange(self, &msg, &seen, &answer);
	EXPECT_EQ(1, seen.hdr.grh_present);
	EXPECT_EQ(0, seen.hdr.gid_index);
	EXPECT_EQ(0, memcmp(self->fabric.host[0].gid, seen.hdr.gid, 16));
	EXPECT_EQ(0x5a, seen.hdr.traffic_class);
	EXPECT_EQ(0x12345, be32toh(seen.hdr.flow_label));
	/* Of a way back that may be longer */
	EXPECT_EQ(0xff, seen.hdr.hop_limit);
	EXPECT_EQ(1, answer.hdr.grh_present);
	EXPECT_EQ(0, memcmp(self->fabric.host[1].gid, answer.hdr.gid, 16));
	EXPECT_EQ(0x5a, answer.hdr.traffic_class);
	EXPECT_EQ(0x12345, be32toh(answer.hdr.flow_label));

	/* The LID leads to the right place, the GID is somebody else's */
	msg = gmp_msg(self);
	msg.hdr.grh_present = 1;
	msg.hdr.gid[15] ^= 1;
	gmp_lost(self, &msg);
}

/* Whatever came before: a program may answer with the header that it was given */
TEST_F(gmp, nothing_left_of_another_mad)
{
	struct umad_msg msg = gmp_msg(self), seen, answer;
	struct ib_user_mad_hdr want = { 0 };

	msg.hdr.grh_present = 1;
	msg.hdr.traffic_class = 0x5a;
	msg.hdr.flow_label = htobe32(0x12345);
	gmp_exchange(self, &msg, &seen, &answer);
	EXPECT_EQ(1, seen.hdr.grh_present);

	msg = gmp_msg(self);
	gmp_exchange(self, &msg, &seen, &answer);
	want.id = self->sid;
	want.length = self->server.hlen + MAD_SIZE;
	want.qpn = htobe32(1);
	want.lid = htobe16(self->fabric.host[0].lid);
	EXPECT_EQ(0, memcmp(&want, &seen.hdr, self->server.hlen));
	want.id = self->cid;
	want.lid = htobe16(self->fabric.host[1].lid);
	EXPECT_EQ(0, memcmp(&want, &answer.hdr, self->client.hlen));
}

/* Gives a host another GUID, and waits until the GID is known */
static int gmp_set_guid(FIXTURE_DATA(gmp) *self, int host, int index, __u8 gid[16])
{
	struct umad_path path = umad_fabric_path(&self->fabric, host);
	__u8 guids[64] = {}, now[16];
	int status;

	memcpy(gid, self->fabric.host[host].gid, 8);
	memset(gid + 8, 0x60 + index, 8);
	status = umad_smp(&self->sm, &path, 0, MAD_GET, SMP_GUID_INFO, 0, guids);
	if (status)
		return status;
	memcpy(guids + 8 * index, gid + 8, 8);
	status = umad_smp(&self->sm, &path, 0, MAD_SET, SMP_GUID_INFO, 0, guids);
	if (status)
		return status;
	return umad_within(UMAD_SOON_MS,
			   !umad_read_gid(&self->fabric.host[host], index, now) &&
			   !memcmp(now, gid, 16)) ? 0 : -1;
}

TEST_F(gmp, gid_index_is_of_ones_own_table)
{
	struct umad_msg msg, seen, answer;
	__u8 from[16], to[16];

	ASSERT_EQ(0, gmp_set_guid(self, 0, 2, from));
	ASSERT_EQ(0, gmp_set_guid(self, 1, 5, to));

	msg = gmp_msg(self);
	msg.hdr.grh_present = 1;
	msg.hdr.gid_index = 2;
	memcpy(msg.hdr.gid, to, 16);
	gmp_exchange(self, &msg, &seen, &answer);
	EXPECT_EQ(5, seen.hdr.gid_index);
	EXPECT_EQ(0, memcmp(from, seen.hdr.gid, 16));
	EXPECT_EQ(2, answer.hdr.gid_index);
	EXPECT_EQ(0, memcmp(to, answer.hdr.gid, 16));
}

TEST_HARNESS_MAIN
