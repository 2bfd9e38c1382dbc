// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The limit of outstanding sends, and when there is room again
 *
 * Also on: 6.1, 6.12
 */
#include "kselftest_harness.h"
#include "lib/statistics.h"
#include "lib/vector.h"

#define DEFAULT		"65536"
#define ROOM		8

FIXTURE(limits)
{
	struct umad_port port;
	struct umad_file file;
	__u32 id;
	char saved[16];
	struct umad_statistics before;
};

FIXTURE_SETUP(limits)
{
	if (umad_sysfs_read(self->saved, sizeof(self->saved), UMAD_MAX_SENDS)) {
		ASSERT_TRUE(umad_reference());
		SKIP(return, "no limit of outstanding sends");
	}
	umad_port(&self->port);
	self->id = umad_open_agent(&self->port, &umad_abi_new,
				   umad_reg_vendor(2, umad_get_send), &self->file);
	self->before = umad_statistics(&self->port);
}

FIXTURE_TEARDOWN(limits)
{
	umad_close(&self->file);
	if (self->saved[0])
		EXPECT_EQ(0, umad_sysfs_write(UMAD_MAX_SENDS, self->saved));
}

#define set_limit(limit) do {						\
	char __text[16];						\
									\
	snprintf(__text, sizeof(__text), "%u", limit);			\
	ASSERT_EQ(0, umad_sysfs_write(UMAD_MAX_SENDS, __text));		\
} while (0)

static struct umad_msg to_nobody(FIXTURE_DATA(limits) *self, __u64 tid, int ms)
{
	return umad_lost_request(&self->port, self->id, MAD_UNSERVED, tid, ms);
}

#define send_many(self, tid, count, ms)					\
	umad_write_lost(&(self)->file, &(self)->port, (self)->id, tid, count, ms)

#define expect_full(self) do {						\
	struct umad_msg __msg = to_nobody(self, 0xf011, 600000);	\
									\
	umad_err_write(ENOBUFS, &(self)->file, &__msg);			\
} while (0)

TEST_F(limits, refused_at_the_limit)
{
	struct umad_reg reg = umad_reg_send_only(2);
	struct umad_file other;
	struct umad_msg msg;

	/* The default is far away from any program's needs */
	EXPECT_STREQ(DEFAULT, self->saved);
	set_limit(ROOM);
	send_many(self, 0, ROOM, 600000);
	EXPECT_EQ(ROOM, umad_fdinfo(&self->file, "umad-outstanding"));
	expect_full(self);
	expect_full(self);
	EXPECT_EQ(ROOM, umad_fdinfo(&self->file, "umad-outstanding"));
	umad_expect_changes(&self->before, &self->port, "sent+8 refused_limit+2 outstanding+8");

	/* Requests stay outstanding when the limit is lowered; another descriptor has its own */
	set_limit(ROOM / 2);
	expect_full(self);
	EXPECT_EQ(ROOM, umad_fdinfo(&self->file, "umad-outstanding"));
	set_limit(ROOM);
	msg = to_nobody(self, 1, 600000);
	msg.hdr.id = umad_open_agent(&self->port, &umad_abi_new, reg, &other);
	umad_write(&other, &msg);
	umad_close(&other);

	/* Neither another agent nor a send that no answer is expected to */
	msg = to_nobody(self, 1, 0);
	msg.hdr.id = umad_register(&self->file, &reg);
	umad_err_write(ENOBUFS, &self->file, &msg);

	/* With the agent they go */
	umad_unregister(&self->file, self->id);
	EXPECT_EQ(0, umad_fdinfo(&self->file, "umad-outstanding"));
	self->id = msg.hdr.id;
	send_many(self, 0, ROOM, 600000);
	expect_full(self);
}

/* A timeout record counts until it is read: nothing else bounds these */
TEST_F(limits, room_after_timeouts)
{
	struct umad_msg got;
	int i;

	set_limit(ROOM);
	send_many(self, 0, ROOM, 1);
	ASSERT_TRUE(umad_fdinfo_reaches(&self->file, "umad-unread", ROOM, UMAD_SOON_MS));
	EXPECT_EQ(0, umad_fdinfo(&self->file, "umad-outstanding"));
	expect_full(self);

	/* A read that fails makes no room */
	umad_err_read_len(EINVAL, &self->file, 0);
	expect_full(self);

	for (i = 0; i < ROOM; i++) {
		umad_read_timeout(&self->file, &got);
		send_many(self, ROOM + i, 1, 600000);
		expect_full(self);
	}
	EXPECT_EQ(ROOM, umad_fdinfo(&self->file, "umad-outstanding"));
}

TEST_HARNESS_MAIN
