// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The device goes away while calls are stuck in a page fault: neither the removal waits
 * for that nor any other call.
 *
 * Also on: 6.1, 6.12, smp
 */
#include "kselftest_harness.h"
#include "lib/removal.h"

/*
 * @call is stuck; @release lets it go on. @why tells the fault of the reference, if
 * not NULL. Then the call returns @ret_, or fails with @err_.
 */
#define expect_removal_beside(self, stall, call, release, ret_, err_, why_) do { \
	const char *__why = why_;					\
	bool __passed;							\
									\
	remove_start(self);						\
	__passed = umad_call_returned(&(self)->removal, __why ?		\
				      umad_fixed_ms() : UMAD_SOON_MS);	\
	ASSERT_EQ(0, release);						\
	umad_call_end(call);						\
	umad_call_end(&(self)->removal);				\
	EXPECT_EQ(0, (self)->removal.ret);				\
	umad_stall_free(stall);						\
	if (__why)							\
		EXPECT_FIXED(__passed, __why);				\
	else								\
		EXPECT_TRUE(__passed);					\
	if (!__passed)							\
		break;							\
	EXPECT_EQ(ret_, (call)->ret);					\
	if ((call)->ret < 0)						\
		EXPECT_EQ(err_, (call)->err);				\
} while (0)

/* A write of @size bytes in all, of which those from @there on are missing */
#define expect_removal_beside_write(self, msg, there, size, why) do {	\
	struct umad_call __call = UMAD_CALL(WRITE, (self)->file.fd, .len = size); \
	struct umad_stall __stall;					\
	__u8 __buf[2048] = { 0 };					\
									\
	umad_pack(&(self)->file, msg, MAD_SIZE, __buf);			\
	umad_stall_call(&__stall, &__call, __buf, there);		\
	expect_removal_beside(self, &__stall, &__call,			\
			      umad_stall_release(&__stall, NULL, 0),	\
			      -1, EIO, why);				\
} while (0)

TEST_F(removal, stalled_write)
{
	struct umad_msg msg = unanswered(self, 1);

	expect_removal_beside_write(self, &msg, self->file.hlen + MAD_RMPP_HDR,
				    self->file.hlen + MAD_SIZE,
				    "removal waits for a stalled write");
}

TEST_F(removal, stalled_long_write)
{
	size_t there = self->file.hlen + MAD_SIZE + 1000;
	struct umad_reg reg = umad_reg_rmpp(variant->abi.api, 0);
	struct umad_msg msg = unanswered(self, 1);

	msg.hdr.id = umad_register(&self->file, &reg);
	umad_make_active(&msg);
	expect_removal_beside_write(self, &msg, there, there + 3000,
				    "removal waits for a stalled long write");
}

/* It had its packet before the device went */
TEST_F(removal, stalled_read)
{
	struct umad_msg msg = unanswered(self, 1);
	struct umad_call call = UMAD_CALL(READ, self->file.fd, .len = self->file.hlen + MAD_SIZE);
	struct umad_stall stall;

	msg.hdr.timeout_ms = 1;
	umad_write(&self->file, &msg);
	ASSERT_TRUE(umad_readable(&self->file, UMAD_SOON_MS));
	umad_stall_call(&stall, &call, &msg, 16);
	expect_removal_beside(self, &stall, &call, umad_stall_release(&stall, NULL, 0),
			      (ssize_t)self->file.hlen + MAD_HDR, 0, NULL);
}

TEST_F(removal, stalled_register)
{
	struct umad_reg reg = umad_reg_send_only(variant->abi.api);
	struct umad_call call = UMAD_CALL(IOCTL, self->file.fd, .cmd = umad_reg_cmd(&reg));
	struct umad_stall stall;
	__u8 req[64];

	umad_reg_encode(&reg, req);
	umad_stall_call(&stall, &call, req, 8);
	expect_removal_beside(self, &stall, &call, umad_stall_release(&stall, NULL, 0),
			      -1, EPIPE, "removal waits for a stalled registration");
}

/* Stuck where it stores the result */
TEST_F(removal, stalled_register_result)
{
	struct umad_reg reg = umad_reg_send_only(variant->abi.api);
	struct umad_stall stall;
	struct umad_call call;

	umad_stall_stored(&stall, &call, self->file.fd, &reg);
	expect_removal_beside(self, &stall, &call, umad_stall_allow_write(&stall),
			      call.ret ? -1 : 0, EPIPE,
			      "removal waits for a registration that stores its id");
	umad_err_unregister(EINVAL, &self->file, 1);
}

TEST_F(removal, stalled_unregister)
{
	struct umad_call call = UMAD_CALL(IOCTL, self->file.fd,
					  .cmd = IB_USER_MAD_UNREGISTER_AGENT);
	struct umad_stall stall;

	umad_stall_call(&stall, &call, &self->id, 0);
	expect_removal_beside(self, &stall, &call,
			      umad_stall_release(&stall, &self->id, sizeof(self->id)),
			      -1, EINVAL, NULL);
}

TEST_HARNESS_MAIN
