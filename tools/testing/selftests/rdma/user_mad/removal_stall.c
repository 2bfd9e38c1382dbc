// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The device goes away while its users are stuck in a page fault: nobody waits for
 * that, neither who removes the device nor who is not stuck.
 */
#include "kselftest_harness.h"
#include "lib/removal.h"

#define expect_removal_beside(self, stall, call, why) ({		\
	bool __passed;							\
									\
	ASSERT_TRUE(umad_stall_caught(stall));				\
	remove_start(self);						\
	__passed = umad_call_returned(&(self)->removal, umad_fixed_ms()); \
	ASSERT_EQ(0, umad_stall_release(stall, NULL, 0));		\
	umad_call_end(call);						\
	umad_call_end(&(self)->removal);				\
	EXPECT_EQ(0, (self)->removal.ret);				\
	umad_stall_free(stall);						\
	EXPECT_FIXED(__passed, why);					\
	__passed;							\
})

TEST_F(removal, stalled_write)
{
	struct umad_msg msg = unanswered(self, 1);
	size_t there = self->file.hlen + MAD_RMPP_HDR;
	struct umad_call call = { .op = UMAD_CALL_WRITE };
	struct umad_stall stall;

	umad_stall(&stall);
	call.fd = self->file.fd;
	call.buf = umad_stall_at(&stall, there);
	call.len = self->file.hlen + MAD_SIZE;
	umad_pack(&self->file, &msg, MAD_RMPP_HDR, call.buf);
	umad_call_start(&call);
	if (!expect_removal_beside(self, &stall, &call,
				   "removal waits for a stalled write"))
		return;
	EXPECT_EQ(-1, call.ret);
	EXPECT_EQ(EIO, call.err);
}

TEST_F(removal, stalled_long_write)
{
	struct umad_reg reg = umad_reg_vendor(variant->abi.api, 0);
	struct umad_msg msg = unanswered(self, 1);
	struct umad_call call = { .op = UMAD_CALL_WRITE };
	struct umad_stall stall;
	size_t there;

	umad_stall(&stall);
	reg.rmpp_version = 1;
	msg.hdr.id = umad_register(&self->file, &reg);
	umad_make_active(&msg);
	there = self->file.hlen + MAD_SIZE + 1000;
	call.fd = self->file.fd;
	call.buf = umad_stall_at(&stall, there);
	call.len = there + 3000;
	umad_pack(&self->file, &msg, MAD_SIZE, call.buf);
	umad_call_start(&call);
	if (!expect_removal_beside(self, &stall, &call,
				   "removal waits for a stalled long write"))
		return;
	EXPECT_EQ(-1, call.ret);
	EXPECT_EQ(EIO, call.err);
}

TEST_F(removal, stalled_read)
{
	struct umad_msg msg = unanswered(self, 1);
	struct umad_call call = { .op = UMAD_CALL_READ };
	struct umad_stall stall;
	bool passed;

	msg.hdr.timeout_ms = 1;
	umad_write(&self->file, &msg);
	ASSERT_TRUE(umad_readable(&self->file, UMAD_SOON_MS));
	umad_stall(&stall);
	call.fd = self->file.fd;
	call.buf = umad_stall_at(&stall, 16);
	call.len = self->file.hlen + MAD_SIZE;
	umad_call_start(&call);
	ASSERT_TRUE(umad_stall_caught(&stall));

	remove_start(self);
	passed = umad_call_returned(&self->removal, UMAD_SOON_MS);
	ASSERT_EQ(0, umad_stall_release(&stall, NULL, 0));
	umad_call_end(&call);
	umad_call_end(&self->removal);
	EXPECT_TRUE(passed);
	/* It had its packet before the device went */
	EXPECT_EQ((ssize_t)self->file.hlen + MAD_HDR, call.ret);
	umad_stall_free(&stall);
}

/* @there: how much of the request can be read */
#define start_register(self, variant, stall, call, there) do {		\
	struct umad_reg __reg = umad_reg_send_only((variant)->abi.api);	\
	__u8 __req[64];							\
									\
	umad_reg_encode(&__reg, __req);					\
	umad_stall(stall);						\
	memcpy(umad_stall_at(stall, there), __req, there);		\
	*(call) = (struct umad_call){					\
		.op = UMAD_CALL_IOCTL,					\
		.fd = (self)->file.fd,					\
		.cmd = umad_reg_cmd(&__reg),				\
		.buf = umad_stall_at(stall, there),			\
	};								\
	umad_call_start(call);						\
} while (0)

TEST_F(removal, stalled_register)
{
	struct umad_call call;
	struct umad_stall stall;

	start_register(self, variant, &stall, &call, 8);
	if (!expect_removal_beside(self, &stall, &call,
				   "removal waits for a stalled registration"))
		return;
	EXPECT_EQ(-1, call.ret);
	EXPECT_EQ(EPIPE, call.err);
}

/* Stuck where it stores the result */
TEST_F(removal, stalled_register_result)
{
	struct umad_reg reg = umad_reg_send_only(variant->abi.api);
	struct umad_call call = { .op = UMAD_CALL_IOCTL };
	struct umad_stall stall;
	__u8 req[64];
	bool passed;

	umad_reg_encode(&reg, req);
	umad_stall(&stall);
	if (!stall.wp)
		SKIP(return, UMAD_NO_WRITE_PROTECT);
	ASSERT_EQ(0, umad_stall_release(&stall, req, sizeof(req)));
	ASSERT_EQ(0, umad_stall_write_protect(&stall));
	call.fd = self->file.fd;
	call.cmd = umad_reg_cmd(&reg);
	call.buf = umad_stall_at(&stall, 0);
	umad_call_start(&call);
	ASSERT_TRUE(umad_stall_caught(&stall));

	remove_start(self);
	passed = umad_call_returned(&self->removal, umad_fixed_ms());
	ASSERT_EQ(0, umad_stall_allow_write(&stall));
	umad_call_end(&call);
	umad_call_end(&self->removal);
	EXPECT_EQ(0, self->removal.ret);
	umad_stall_free(&stall);
	EXPECT_FIXED(passed && (!call.ret || call.err == EPIPE),
		     "removal waits for a registration that stores its id");
	umad_err_unregister(EINVAL, &self->file, 1);
}

TEST_F(removal, stalled_unregister)
{
	struct umad_call call = { .op = UMAD_CALL_IOCTL };
	struct umad_stall stall;
	bool passed;

	umad_stall(&stall);
	call.fd = self->file.fd;
	call.cmd = IB_USER_MAD_UNREGISTER_AGENT;
	call.buf = umad_stall_at(&stall, 0);
	umad_call_start(&call);
	ASSERT_TRUE(umad_stall_caught(&stall));

	remove_start(self);
	passed = umad_call_returned(&self->removal, UMAD_SOON_MS);
	ASSERT_EQ(0, umad_stall_release(&stall, &self->id, sizeof(self->id)));
	umad_call_end(&call);
	umad_call_end(&self->removal);
	EXPECT_TRUE(passed);
	EXPECT_EQ(-1, call.ret);
	EXPECT_EQ(EINVAL, call.err);
	umad_stall_free(&stall);
}

TEST_HARNESS_MAIN
