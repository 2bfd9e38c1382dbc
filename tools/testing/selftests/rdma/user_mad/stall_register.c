// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Registrations that are caught in a page fault, before and after the request was
 * read, next to the calls and the traffic of everybody else.
 */
#include "kselftest_harness.h"
#include "lib/stalled_pair.h"

#define stall_register(self, variant, v, stall, call) do {		\
	struct umad_reg __reg = umad_reg_vendor((variant)->abi.api,	\
						1ULL << VICTIM_METHOD);	\
	__u8 __req[64];							\
									\
	umad_reg_encode(&__reg, __req);					\
	umad_open_abi(&(self)->port, &(variant)->abi,			\
		      O_RDWR | O_NONBLOCK, v);				\
	make_stall(variant, stall);					\
	memcpy(umad_stall_at(stall, 8), __req, 8);			\
	*(call) = (struct umad_call){					\
		.op = UMAD_CALL_IOCTL,					\
		.fd = (v)->fd,						\
		.cmd = umad_reg_cmd(&__reg),				\
		.buf = umad_stall_at(stall, 8),				\
	};								\
	umad_call_start(call);						\
	ASSERT_TRUE(umad_stall_caught(stall));				\
} while (0)

/* Whatever comes of it: half of the request is zeroes */
#define release_register(v, stall, call) do {				\
	ASSERT_EQ(0, umad_stall_release(stall, NULL, 0));		\
	umad_call_end(call);						\
	umad_stall_free(stall);						\
	umad_close(v);							\
} while (0)

#define expect_returns_beside_register(self, variant, c, why) do {	\
	struct umad_file __v;						\
	struct umad_stall __trap;					\
	struct umad_call __stalled;					\
	bool __passed;							\
									\
	stall_register(self, variant, &__v, &__trap, &__stalled);	\
	umad_call_start(c);						\
	__passed = umad_call_returned(c, umad_fixed_ms());		\
	release_register(&__v, &__trap, &__stalled);			\
	umad_call_end(c);						\
	EXPECT_FIXED(__passed, why);					\
} while (0)

TEST_F(pair, stalled_register_stops_no_open)
{
	struct umad_call call = {
		.op = UMAD_CALL_OPEN, .path = self->port.dev,
	};

	expect_returns_beside_register(self, variant, &call,
				       "open sleeps behind a registration");
	EXPECT_LE(0, call.ret);
	close(call.ret);
}

TEST_F(pair, stalled_register_stops_no_close)
{
	struct umad_call call = {
		.op = UMAD_CALL_CLOSE, .fd = self->client.fd,
	};

	expect_returns_beside_register(self, variant, &call,
				       "close sleeps behind a registration");
	EXPECT_EQ(0, call.ret);
}

TEST_F(pair, stalled_register_stops_no_register)
{
	struct umad_reg reg = umad_reg_send_only(variant->abi.api);
	__u8 req[64];
	struct umad_call call = {
		.op = UMAD_CALL_IOCTL,
		.fd = self->client.fd,
		.cmd = umad_reg_cmd(&reg),
		.buf = req,
	};

	umad_reg_encode(&reg, req);
	expect_returns_beside_register(self, variant, &call,
				       "register sleeps behind another");
	EXPECT_EQ(0, call.ret);
}

TEST_F(pair, stalled_register_stops_no_unregister)
{
	struct umad_call call = {
		.op = UMAD_CALL_IOCTL,
		.fd = self->client.fd,
		.cmd = IB_USER_MAD_UNREGISTER_AGENT,
		.buf = &self->cid,
	};

	expect_returns_beside_register(self, variant, &call,
				       "unregister sleeps behind a registration");
	EXPECT_EQ(0, call.ret);
}

TEST_F(pair, stalled_register_stops_no_traffic)
{
	struct umad_msg msg = umad_msg(&self->port, self->cid, MAD_SEND, 1);
	struct umad_file file;
	struct umad_stall stall;
	struct umad_call call;
	struct umad_msg got;

	stall_register(self, variant, &file, &stall, &call);
	pair_deliver(self, &msg, &got);
	release_register(&file, &stall, &call);
}

/*
 * The first REGISTER_AGENT2 switches to the new layout. A MAD that comes while
 * it is caught storing the id must have the length of the new layout, too.
 */
TEST_F(pair, layout_switch)
{
	struct umad_reg reg = umad_reg_vendor(2, 1ULL << VICTIM_METHOD);
	struct umad_call call = { .op = UMAD_CALL_IOCTL };
	struct umad_file file;
	struct umad_stall stall;
	struct umad_msg msg, got;
	bool passed = true;
	__u8 buf[64] = { 0 };
	int i;

	if (variant->fuse)
		SKIP(return, "FUSE cannot stop who writes to a page that is there");

	umad_open(&self->port, O_RDWR | O_NONBLOCK, &file);
	umad_stall(&stall);
	if (!stall.wp)
		SKIP(return, UMAD_NO_WRITE_PROTECT);
	umad_reg_encode(&reg, buf);
	ASSERT_EQ(0, umad_stall_release(&stall, buf, sizeof(buf)));
	ASSERT_EQ(0, umad_stall_write_protect(&stall));
	call.fd = file.fd;
	call.cmd = IB_USER_MAD_REGISTER_AGENT2;
	call.buf = umad_stall_at(&stall, 0);
	umad_call_start(&call);
	ASSERT_TRUE(umad_stall_caught(&stall));

	msg = umad_msg(&self->port, self->cid, VICTIM_METHOD, 1);
	umad_write(&self->client, &msg);
	umad_sleep_ms(2 * UMAD_QUIET_MS);
	ASSERT_EQ(0, umad_stall_allow_write(&stall));
	umad_call_end(&call);
	ASSERT_EQ(0, call.ret);
	umad_stall_free(&stall);
	file.hlen = UMAD_HDR_NEW;

	/* It may have come too early for the agent; the next one does not */
	msg.mad.tid = htobe64(2);
	umad_write(&self->client, &msg);
	for (i = 0; i < 2; i++) {
		ASSERT_TRUE(umad_readable(&file, UMAD_SOON_MS));
		ASSERT_EQ((ssize_t)file.hlen + MAD_SIZE, _umad_read(&file, &got));
		if (got.hdr.length != file.hlen + MAD_SIZE)
			passed = false;
		if (be64toh(got.mad.tid) << 32 >> 32 == 2)
			break;
	}
	umad_close(&file);
	EXPECT_FIXED(passed, "a length of the old layout in the new one");
}

TEST_HARNESS_MAIN
