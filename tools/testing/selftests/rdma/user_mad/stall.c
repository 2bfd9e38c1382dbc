// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A stalled call must not stop the others: system calls that are caught in a
 * page fault, and reads that fail, next to the calls and the traffic of other programs.
 *
 * Also on: 6.12, smp
 */
#define PAIR_TWO_VARIANTS
#include "kselftest_harness.h"
#include "lib/pair.h"
#include "lib/stall.h"

#define VICTIM_METHOD	0x20

/* A descriptor, and the call on it that stalls */
struct victim {
	struct umad_file file;
	__u32 id;
	struct umad_stall stall;
	struct umad_call call;
	__u8 data[2048];	/* that the call is given */
	size_t there;		/* so much of it before the missing page */
};

#define victim_open(self, variant, v) do {			\
	struct umad_reg __reg = umad_reg_vendor((variant)->abi.api,	\
						1ULL << VICTIM_METHOD);	\
									\
	memset(v, 0, sizeof(*(v)));					\
	(v)->id = umad_open_agent(&(self)->port, &(variant)->abi, __reg, \
				  &(v)->file);				\
} while (0)

/* The call of the victim stops behind @there_ bytes of v->data, its argument */
#define victim_start(v, there_, call_) do {				\
	(v)->there = there_;						\
	(v)->call = call_;						\
	umad_stall_call(&(v)->stall, &(v)->call, (v)->data, (v)->there); \
} while (0)

/*
 * A write() of the victim that stops after header and RMPP header: a driver may take a
 * lock for the second thing that it copies.
 */
#define victim_write(self, v) do {					\
	struct umad_msg __msg = umad_msg(&(self)->port, (v)->id,	\
					 MAD_SEND, 0x77);		\
	size_t __len = umad_pack(&(v)->file, &__msg, MAD_SIZE, (v)->data); \
									\
	victim_start(v, (v)->file.hlen + MAD_RMPP_HDR,			\
		     UMAD_CALL(WRITE, (v)->file.fd, .len = __len));	\
} while (0)

#define victim_release(v) do {						\
	ASSERT_EQ(0, umad_stall_release(&(v)->stall, (v)->data + (v)->there, \
					sizeof((v)->data) - (v)->there)); \
	umad_call_end(&(v)->call);					\
} while (0)

#define victim_close(v) do {						\
	umad_stall_free(&(v)->stall);					\
	umad_close(&(v)->file);						\
} while (0)

/* A request for the victim, then a MAD and a timeout of its neighbours */
TEST_F(pair, stalled_write_stops_no_neighbour)
{
	struct umad_msg msg, got;
	bool received, timed_out;
	struct victim v;

	victim_open(self, variant, &v);
	victim_write(self, &v);
	msg = umad_msg(&self->port, self->cid, VICTIM_METHOD, 1);
	umad_write(&self->client, &msg);
	msg = umad_msg(&self->port, self->cid, MAD_SEND, 2);
	umad_write(&self->client, &msg);
	msg = umad_lost_request(&self->port, self->cid, MAD_GET, 3, 10);
	umad_write(&self->client, &msg);
	received = umad_readable(&self->server, umad_fixed_ms());
	timed_out = umad_readable(&self->client, umad_fixed_ms());

	victim_release(&v);
	EXPECT_EQ((ssize_t)v.call.len, v.call.ret);
	umad_read(&self->server, &got);
	umad_read_timeout(&self->client, &got);
	umad_read(&v.file, &got);
	EXPECT_EQ(VICTIM_METHOD, got.mad.method);
	victim_close(&v);
	EXPECT_FIXED(received, "a stalled write stops all receives of the port");
	EXPECT_FIXED(timed_out, "a stalled write stops the timeouts of the port");
}

/* The descriptor itself goes on as well */
TEST_F(pair, stalled_write_stops_no_receive)
{
	__u8 buf[UMAD_HDR_NEW + MAD_SIZE];
	struct umad_msg msg, got;
	struct umad_call rd;
	struct victim v;
	bool passed;

	victim_open(self, variant, &v);
	umad_make_blocking(&v.file);
	rd = UMAD_CALL(READ, v.file.fd, .buf = buf, .len = v.file.hlen + MAD_SIZE);
	umad_call_sleep(&rd);
	victim_write(self, &v);
	msg = umad_msg(&self->port, self->cid, VICTIM_METHOD, 1);
	umad_write(&self->client, &msg);
	passed = umad_call_returned(&rd, umad_fixed_ms());

	victim_release(&v);
	umad_call_end(&rd);
	EXPECT_EQ((ssize_t)rd.len, rd.ret);
	umad_read(&self->server, &got);
	victim_close(&v);
	EXPECT_FIXED(passed, "a stalled write stops its descriptor's receives");
}

/* All other calls on that descriptor */
TEST_F(pair, stalled_write_stops_no_call)
{
	struct umad_reg reg = umad_reg_send_only(variant->abi.api);
	struct umad_msg msg = umad_msg(&self->port, 0, MAD_SEND, 0x78), got;
	__u8 req[64], in[UMAD_HDR_NEW + MAD_SIZE], out[UMAD_HDR_NEW + MAD_SIZE];
	long len = umad_pack(&self->client, &msg, MAD_SIZE, out);
	struct {
		struct umad_call call;
		long ret;
		int err;
		const char *why;
	} row[] = {
		{ { .op = UMAD_CALL_POLL }, 0, 0, "poll() sleeps behind a write" },
		{ { .op = UMAD_CALL_READ, .buf = in, .len = sizeof(in) }, -1, EAGAIN,
		  "a non-blocking read sleeps behind a write" },
		{ { .op = UMAD_CALL_IOCTL, .cmd = umad_reg_cmd(&reg), .buf = req }, 0, 0,
		  "register sleeps behind a write" },
		{ { .op = UMAD_CALL_WRITE, .buf = out, .len = len }, len, 0,
		  "one write sleeps behind another" },
	};
	struct victim v;
	bool passed;
	size_t i;

	umad_reg_encode(&reg, req);
	for (i = 0; i < ARRAY_SIZE(row); i++) {
		victim_open(self, variant, &v);
		victim_write(self, &v);
		row[i].call.fd = v.file.fd;
		umad_call_start(&row[i].call);
		passed = umad_call_returned(&row[i].call, umad_fixed_ms());
		victim_release(&v);
		umad_call_end(&row[i].call);
		EXPECT_EQ(row[i].ret, row[i].call.ret);
		if (row[i].err)
			EXPECT_EQ(row[i].err, row[i].call.err);
		umad_read(&self->server, &got);
		victim_close(&v);
		EXPECT_FIXED(passed, row[i].why);
	}
}

/*
 * A read that has taken the only packet and then fails gives it back: another one
 * that waits for a packet must learn of it.
 */
#define expect_failed_read_wakes(self, second, why) do {		\
	struct umad_msg __msg = umad_msg(&(self)->port, (self)->cid, MAD_SEND, 1); \
	struct umad_stall __stall;					\
	struct umad_call __first;					\
	bool __passed;							\
									\
	umad_make_blocking(&(self)->server);				\
	umad_write(&(self)->client, &__msg);				\
	/* It stalls behind 100 bytes of the MAD */			\
	umad_stall(&__stall);						\
	__first = UMAD_CALL(READ, (self)->server.fd, .buf = umad_stall_at(&__stall, 100), \
			    .len = (self)->server.hlen + MAD_SIZE);	\
	umad_call_start(&__first);					\
	ASSERT_TRUE(umad_stall_caught(&__stall));			\
	umad_call_sleep(second);					\
	ASSERT_EQ(0, umad_stall_fail(&__stall));			\
	umad_call_end(&__first);					\
	EXPECT_EQ(-1, __first.ret);					\
	EXPECT_EQ(EFAULT, __first.err);					\
	__passed = umad_call_returned(second, umad_fixed_ms());		\
	/* Another packet wakes a call that still sleeps */		\
	if (!__passed) {						\
		__msg.mad.tid = htobe64(2);				\
		umad_write(&(self)->client, &__msg);			\
		umad_call_end(second);					\
	}								\
	umad_stall_free(&__stall);					\
	EXPECT_FIXED(__passed, why);					\
} while (0)

TEST_F(pair, failed_read_wakes_reader)
{
	__u8 buf[UMAD_HDR_NEW + MAD_SIZE];
	struct umad_call second = UMAD_CALL(READ, self->server.fd, .buf = buf,
					    .len = self->server.hlen + MAD_SIZE);

	expect_failed_read_wakes(self, &second, "a failed read wakes no reader");
	EXPECT_EQ((ssize_t)second.len, second.ret);
	EXPECT_EQ(1, buf[self->server.hlen + 15]);	/* TID of the first */
}

TEST_F(pair, failed_read_wakes_poller)
{
	struct umad_call second = { .fn = umad_in_poll, .fd = self->server.fd };
	struct umad_msg got;

	expect_failed_read_wakes(self, &second, "a failed read wakes no poller");
	EXPECT_EQ(POLLIN, second.ret);
	umad_read(&self->server, &got);
	EXPECT_EQ(1, (__u32)be64toh(got.mad.tid));
}

/*
 * The RMPP header decides whether a write of an agent with RMPP of its own is
 * checked for being a duplicate. It is changed here after it was copied, while
 * the write waits behind another one. The header that decided must be the one sent.
 */
TEST_F(pair, rmpp_header_is_copied_once)
{
	struct umad_reg reg = umad_reg_rmpp(2, 1ULL << VICTIM_METHOD);
	struct umad_call call = { .op = UMAD_CALL_WRITE };
	__u8 buf[UMAD_HDR_NEW + MAD_SIZE];
	struct umad_msg msg, got;
	struct umad_file peer;
	struct victim v;

	if (variant->abi.api == 1)
		SKIP(return, "there are no flags in REGISTER_AGENT");

	victim_open(self, variant, &v);
	umad_unregister(&v.file, v.id);
	reg.flags = IB_USER_MAD_USER_RMPP;
	v.id = umad_register(&v.file, &reg);
	reg.methods[0] = 1ULL << (VICTIM_METHOD + 1);
	umad_open_agent(&self->port, &variant->abi, reg, &peer);

	victim_write(self, &v);
	msg = umad_msg(&self->port, v.id, VICTIM_METHOD + 1, 0x88);
	umad_make_active(&msg);
	msg.mad.seg_num = htobe32(1);
	call.fd = v.file.fd;
	call.buf = buf;
	call.len = umad_pack(&v.file, &msg, MAD_SIZE, buf);
	umad_call_start(&call);
	/* It is done, or it sleeps behind the other one */
	umad_call_asleep(&call);
	buf[v.file.hlen + offsetof(struct mad, rmpp_flags)] = 0;

	victim_release(&v);
	umad_call_end(&call);
	EXPECT_EQ((ssize_t)call.len, call.ret);
	umad_read(&peer, &got);
	EXPECT_EQ(0x88, (__u32)be64toh(got.mad.tid));
	umad_close(&peer);
	victim_close(&v);
	EXPECT_FIXED(got.mad.rmpp_flags == MAD_RMPP_ACTIVE, "the RMPP header is copied twice");
}

/* Registrations, which are caught before all of the request was read */

#define victim_register(self, variant, v) do {				\
	struct umad_reg __reg = umad_reg_vendor((variant)->abi.api,	\
						1ULL << VICTIM_METHOD);	\
									\
	memset(v, 0, sizeof(*(v)));					\
	umad_open_abi(&(self)->port, &(variant)->abi,			\
		      O_RDWR | O_NONBLOCK, &(v)->file);			\
	umad_reg_encode(&__reg, (v)->data);				\
	victim_start(v, 8, UMAD_CALL(IOCTL, (v)->file.fd,		\
				     .cmd = umad_reg_cmd(&__reg)));	\
} while (0)

/* Traffic goes on beside it, and all other calls */
TEST_F(pair, stalled_register_stops_no_call)
{
	struct umad_msg msg = umad_msg(&self->port, self->cid, MAD_SEND, 1), got;
	struct umad_reg reg = umad_reg_send_only(variant->abi.api);
	int fd = self->client.fd;
	__u8 req[64];
	struct {
		struct umad_call call;
		const char *why;
	} row[] = {
		{ { .op = UMAD_CALL_OPEN, .path = self->port.dev },
		  "open sleeps behind a registration" },
		{ { .op = UMAD_CALL_IOCTL, .fd = fd, .cmd = umad_reg_cmd(&reg), .buf = req },
		  "register sleeps behind another" },
		{ { .op = UMAD_CALL_IOCTL, .fd = fd, .cmd = IB_USER_MAD_UNREGISTER_AGENT,
		    .buf = &self->cid }, "unregister sleeps behind a registration" },
		{ { .op = UMAD_CALL_CLOSE, .fd = fd }, "close sleeps behind a registration" },
	};
	struct victim v;
	bool passed;
	size_t i;

	umad_reg_encode(&reg, req);
	for (i = 0; i < ARRAY_SIZE(row); i++) {
		victim_register(self, variant, &v);
		if (!i)
			pair_deliver(self, &msg, &got);
		umad_call_start(&row[i].call);
		passed = umad_call_returned(&row[i].call, umad_fixed_ms());
		victim_release(&v);
		EXPECT_EQ(0, v.call.ret);
		victim_close(&v);
		umad_call_end(&row[i].call);
		EXPECT_LE(0, row[i].call.ret);
		EXPECT_FIXED(passed, row[i].why);
	}
	close(row[0].call.ret);
}

/*
 * The first REGISTER_AGENT2 switches to the new layout. A MAD that comes while
 * it is caught storing the id must have the length of the new layout, too.
 */
TEST_F(pair, layout_switch)
{
	struct umad_reg reg = umad_reg_vendor(2, 1ULL << VICTIM_METHOD);
	struct umad_file file;
	struct umad_msg msg, got, behind;
	struct umad_stall stall;
	struct umad_call call;
	bool passed = true;
	int i;

	umad_open(&self->port, O_RDWR | O_NONBLOCK, &file);
	umad_stall_stored(&stall, &call, file.fd, &reg);

	msg = umad_msg(&self->port, self->cid, VICTIM_METHOD, 1);
	umad_write(&self->client, &msg);
	/* When this one has come, that one has, too; with the reference neither does */
	behind = umad_msg(&self->port, self->cid, MAD_SEND, 3);
	umad_write(&self->client, &behind);
	umad_readable(&self->server, umad_fixed_ms());
	ASSERT_EQ(0, umad_stall_allow_write(&stall));
	umad_call_end(&call);
	ASSERT_EQ(0, call.ret);
	umad_stall_free(&stall);
	umad_read(&self->server, &got);
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
