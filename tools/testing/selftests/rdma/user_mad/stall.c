// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * One who stalls must not stop the others: system calls that are caught in a
 * page fault, and reads that fail, next to the traffic of everybody else.
 */
#include "kselftest_harness.h"
#include "lib/stalled_pair.h"

struct victim {
	struct umad_file file;
	__u32 id;
	struct umad_stall stall;
	struct umad_call call;
	__u8 rest[UMAD_HDR_NEW + MAD_SIZE];	/* what the stall withholds */
	size_t rest_len;
};

#define victim_open(self, variant, v) do {				\
	memset(v, 0, sizeof(*(v)));					\
	(v)->id = umad_open_agent(&(self)->port, &(variant)->abi,	\
				  umad_reg_vendor((variant)->abi.api,	\
						  1ULL << VICTIM_METHOD), \
				  &(v)->file);				\
	make_stall(variant, &(v)->stall);				\
} while (0)

/*
 * A write() of the victim that stops after header and RMPP header: the second
 * thing copied is what some take a lock for.
 */
#define victim_stall_write(self, v, xid) do {				\
	struct umad_msg __msg = umad_msg(&(self)->port, (v)->id,	\
					 MAD_SEND, xid);		\
	__u8 __buf[UMAD_HDR_NEW + MAD_SIZE];				\
	size_t __len = umad_pack(&(v)->file, &__msg, MAD_SIZE, __buf);	\
	size_t __there = (v)->file.hlen + MAD_RMPP_HDR;			\
									\
	memcpy(umad_stall_at(&(v)->stall, __there), __buf, __there);	\
	(v)->rest_len = __len - __there;				\
	memcpy((v)->rest, __buf + __there, (v)->rest_len);		\
	(v)->call = (struct umad_call){					\
		.op = UMAD_CALL_WRITE,					\
		.fd = (v)->file.fd,					\
		.buf = umad_stall_at(&(v)->stall, __there),		\
		.len = __len,						\
	};								\
	umad_call_start(&(v)->call);					\
	ASSERT_TRUE(umad_stall_caught(&(v)->stall));			\
} while (0)

#define victim_release(v) do {						\
	ASSERT_EQ(0, umad_stall_release(&(v)->stall, (v)->rest,		\
				       (v)->rest_len));			\
	umad_call_end(&(v)->call);					\
} while (0)

#define victim_close(v) do {						\
	umad_stall_free(&(v)->stall);					\
	umad_close(&(v)->file);						\
} while (0)

/* The stalled write itself: nothing is sent before it is complete */
TEST_F(pair, write_completes_after_stall)
{
	struct umad_msg got;
	struct victim v;

	victim_open(self, variant, &v);
	victim_stall_write(self, &v, 0x77);
	EXPECT_FALSE(umad_readable(&self->server, UMAD_QUIET_MS));
	victim_release(&v);
	EXPECT_EQ((ssize_t)v.call.len, v.call.ret);
	umad_read(&self->server, &got);
	EXPECT_EQ(0x77, (__u32)be64toh(got.mad.tid));
	EXPECT_EQ(0, memcmp((__u8 *)&got.mad + MAD_RMPP_HDR, v.rest,
			    v.rest_len));
	victim_close(&v);
}

/* A copy that fails at last: nothing is sent at all */
TEST_F(pair, write_fails_after_stall)
{
	struct victim v;

	victim_open(self, variant, &v);
	victim_stall_write(self, &v, 0x77);
	ASSERT_EQ(0, umad_stall_fail(&v.stall));
	umad_call_end(&v.call);
	EXPECT_EQ(-1, v.call.ret);
	EXPECT_EQ(EFAULT, v.call.err);
	pair_expect_nothing_sent(self);
	victim_close(&v);
}

TEST_F(pair, stalled_write_stops_no_neighbour)
{
	struct umad_msg msg, got;
	struct victim v;
	bool passed;

	victim_open(self, variant, &v);
	victim_stall_write(self, &v, 0x77);

	/* One request for the victim, then traffic of the neighbours */
	msg = umad_msg(&self->port, self->cid, VICTIM_METHOD, 1);
	umad_write(&self->client, &msg);
	msg = umad_msg(&self->port, self->cid, MAD_SEND, 2);
	umad_write(&self->client, &msg);
	passed = umad_readable(&self->server, umad_fixed_ms());

	victim_release(&v);
	umad_read(&self->server, &got);
	umad_read(&v.file, &got);
	EXPECT_EQ(VICTIM_METHOD, got.mad.method);
	victim_close(&v);
	EXPECT_FIXED(passed, "a stalled write stops all receives of the port");
}

TEST_F(pair, stalled_write_stops_no_timeout)
{
	struct umad_msg msg, got;
	struct victim v;
	bool passed;

	victim_open(self, variant, &v);
	victim_stall_write(self, &v, 0x77);
	msg = umad_msg(&self->port, self->cid, VICTIM_METHOD, 1);
	umad_write(&self->client, &msg);
	umad_sleep_ms(UMAD_QUIET_MS);
	msg = umad_msg(&self->port, self->cid, MAD_GET, 2);
	umad_msg_to_nobody(&msg);
	msg.hdr.timeout_ms = 10;
	umad_write(&self->client, &msg);
	passed = umad_readable(&self->client, umad_fixed_ms());

	victim_release(&v);
	umad_read_timeout(&self->client, &got);
	victim_close(&v);
	EXPECT_FIXED(passed, "a stalled write stops the timeouts of the port");
}

/* The descriptor itself goes on as well */
TEST_F(pair, stalled_write_stops_no_receive)
{
	struct umad_msg msg, got;
	struct victim v;
	struct umad_call rd = { .op = UMAD_CALL_READ };
	__u8 buf[UMAD_HDR_NEW + MAD_SIZE];
	bool passed;

	victim_open(self, variant, &v);
	ASSERT_EQ(0, fcntl(v.file.fd, F_SETFL, O_RDWR));
	rd.fd = v.file.fd;
	rd.buf = buf;
	rd.len = v.file.hlen + MAD_SIZE;
	umad_call_start(&rd);
	umad_sleep_ms(UMAD_QUIET_MS);
	victim_stall_write(self, &v, 0x77);
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

#define expect_returns(self, variant, c, why) do {			\
	struct umad_msg __got;						\
	struct victim __v;						\
	bool __passed;							\
									\
	victim_open(self, variant, &__v);				\
	victim_stall_write(self, &__v, 0x77);				\
	(c)->fd = __v.file.fd;						\
	umad_call_start(c);						\
	__passed = umad_call_returned(c, umad_fixed_ms());		\
	victim_release(&__v);						\
	umad_call_end(c);						\
	umad_read(&(self)->server, &__got);				\
	victim_close(&__v);						\
	EXPECT_FIXED(__passed, why);					\
} while (0)

TEST_F(pair, stalled_write_stops_no_poll)
{
	struct umad_call call = { .op = UMAD_CALL_POLL };

	expect_returns(self, variant, &call, "poll() sleeps behind a write");
	EXPECT_EQ(0, call.ret);
}

TEST_F(pair, stalled_write_stops_no_nonblocking_read)
{
	__u8 buf[UMAD_HDR_NEW + MAD_SIZE];
	struct umad_call call = {
		.op = UMAD_CALL_READ, .buf = buf, .len = sizeof(buf),
	};

	expect_returns(self, variant, &call,
		       "a non-blocking read sleeps behind a write");
	EXPECT_EQ(-1, call.ret);
	EXPECT_EQ(EAGAIN, call.err);
}

TEST_F(pair, stalled_write_stops_no_registration)
{
	struct umad_reg reg = umad_reg_send_only(variant->abi.api);
	__u8 req[64];
	struct umad_call call = {
		.op = UMAD_CALL_IOCTL, .cmd = umad_reg_cmd(&reg), .buf = req,
	};

	umad_reg_encode(&reg, req);
	expect_returns(self, variant, &call, "register sleeps behind a write");
	EXPECT_EQ(0, call.ret);
}

TEST_F(pair, stalled_write_stops_no_write)
{
	struct umad_msg msg = umad_msg(&self->port, 0, MAD_SEND, 0x78);
	__u8 buf[UMAD_HDR_NEW + MAD_SIZE];
	struct umad_call call = {
		.op = UMAD_CALL_WRITE, .buf = buf,
		.len = umad_pack(&self->client, &msg, MAD_SIZE, buf),
	};

	expect_returns(self, variant, &call,
		       "one write sleeps behind another");
	EXPECT_EQ((ssize_t)call.len, call.ret);
}

/* A long message that stalls in the middle */
TEST_F(pair, stalled_long_write_stops_no_neighbour)
{
	struct umad_reg reg = umad_reg_vendor(variant->abi.api,
					      1ULL << VICTIM_METHOD);
	struct umad_file file;
	struct umad_stall stall;
	struct umad_call call = { .op = UMAD_CALL_WRITE };
	struct umad_msg msg, got;
	size_t there;
	bool passed;

	umad_open_abi(&self->port, &variant->abi, O_RDWR | O_NONBLOCK, &file);
	reg.rmpp_version = 1;
	umad_register(&file, &reg);
	make_stall(variant, &stall);

	there = file.hlen + MAD_VENDOR_HDR + 300;
	msg = umad_msg(&self->port, reg.id, 0x30, 0x77);
	umad_make_active(&msg);
	msg.hdr.timeout_ms = 10;
	umad_msg_to_nobody(&msg);
	umad_pack(&file, &msg, MAD_VENDOR_HDR, umad_stall_at(&stall, there));
	call.fd = file.fd;
	call.buf = umad_stall_at(&stall, there);
	call.len = there + 1000;
	umad_call_start(&call);
	ASSERT_TRUE(umad_stall_caught(&stall));

	msg = umad_msg(&self->port, self->cid, VICTIM_METHOD, 1);
	umad_write(&self->client, &msg);
	msg = umad_msg(&self->port, self->cid, MAD_SEND, 2);
	umad_write(&self->client, &msg);
	passed = umad_readable(&self->server, umad_fixed_ms());

	ASSERT_EQ(0, umad_stall_release(&stall, NULL, 0));
	umad_call_end(&call);
	EXPECT_EQ((ssize_t)call.len, call.ret);
	umad_read(&self->server, &got);
	umad_stall_free(&stall);
	umad_close(&file);
	EXPECT_FIXED(passed, "a stalled long write stops all receives");
}

/* A read that stalls: nobody is known to mind */
TEST_F(pair, stalled_read_stops_nobody)
{
	size_t size = self->server.hlen + MAD_SIZE;
	struct umad_call call = { .op = UMAD_CALL_READ };
	struct umad_msg msg, got;
	struct umad_stall stall;
	int i;

	make_stall(variant, &stall);
	for (i = 0; i < 2; i++) {
		msg = umad_msg(&self->port, self->cid, MAD_SEND, i);
		umad_write(&self->client, &msg);
	}
	ASSERT_TRUE(umad_readable(&self->server, UMAD_SOON_MS));
	call.fd = self->server.fd;
	call.buf = umad_stall_at(&stall, 100);
	call.len = size;
	umad_call_start(&call);
	ASSERT_TRUE(umad_stall_caught(&stall));

	/* The other packet, and what comes later, go to the next reader */
	umad_read(&self->server, &got);
	EXPECT_EQ(1, (int)be64toh(got.mad.tid));
	msg = umad_msg(&self->port, self->cid, MAD_SEND, 2);
	pair_deliver(self, &msg, &got);
	EXPECT_EQ(2, (int)be64toh(got.mad.tid));

	ASSERT_EQ(0, umad_stall_release(&stall, NULL, 0));
	umad_call_end(&call);
	EXPECT_EQ((ssize_t)size, call.ret);
	umad_stall_free(&stall);
}

/*
 * A read that has taken the only packet and then fails gives it back: somebody
 * who waits for one must learn of it.
 */
TEST_F(pair, failed_read_wakes_reader)
{
	size_t size = self->server.hlen + MAD_SIZE;
	struct umad_call first = { .op = UMAD_CALL_READ };
	struct umad_call second = { .op = UMAD_CALL_READ };
	__u8 buf[UMAD_HDR_NEW + MAD_SIZE];
	struct umad_msg msg;
	struct umad_stall stall;
	bool passed;

	make_stall(variant, &stall);
	ASSERT_EQ(0, fcntl(self->server.fd, F_SETFL, O_RDWR));
	msg = umad_msg(&self->port, self->cid, MAD_SEND, 1);
	umad_write(&self->client, &msg);
	first.fd = self->server.fd;
	first.buf = umad_stall_at(&stall, 100);
	first.len = size;
	umad_call_start(&first);
	ASSERT_TRUE(umad_stall_caught(&stall));

	second.fd = self->server.fd;
	second.buf = buf;
	second.len = size;
	umad_call_start(&second);
	EXPECT_FALSE(umad_call_returned(&second, UMAD_QUIET_MS));

	ASSERT_EQ(0, umad_stall_fail(&stall));
	umad_call_end(&first);
	EXPECT_EQ(-1, first.ret);
	EXPECT_EQ(EFAULT, first.err);
	passed = umad_call_returned(&second, umad_fixed_ms());

	/* Whoever still sleeps is woken by another packet */
	if (!passed) {
		msg.mad.tid = htobe64(2);
		umad_write(&self->client, &msg);
		umad_call_end(&second);
	}
	EXPECT_EQ((ssize_t)size, second.ret);
	EXPECT_EQ(1, buf[self->server.hlen + 15]);	/* TID of the first */
	umad_stall_free(&stall);
	EXPECT_FIXED(passed, "a failed read wakes no reader");
}

static void *poll_long(void *arg)
{
	struct umad_call *call = arg;
	struct pollfd pfd = { .fd = call->fd, .events = POLLIN };

	call->ret = poll(&pfd, 1, -1);
	return NULL;
}

TEST_F(pair, failed_read_wakes_poller)
{
	struct umad_call first = { .op = UMAD_CALL_READ };
	struct umad_call second = { .op = UMAD_CALL_POLL };
	struct umad_msg msg, got;
	struct umad_stall stall;
	bool passed;

	make_stall(variant, &stall);
	msg = umad_msg(&self->port, self->cid, MAD_SEND, 1);
	umad_write(&self->client, &msg);
	ASSERT_TRUE(umad_readable(&self->server, UMAD_SOON_MS));
	first.fd = self->server.fd;
	first.buf = umad_stall_at(&stall, 100);
	first.len = self->server.hlen + MAD_SIZE;
	umad_call_start(&first);
	ASSERT_TRUE(umad_stall_caught(&stall));

	second.fd = self->server.fd;
	ASSERT_EQ(0, pthread_create(&second.thread, NULL, poll_long, &second));
	umad_sleep_ms(2 * UMAD_QUIET_MS);
	ASSERT_EQ(0, umad_stall_fail(&stall));
	umad_call_end(&first);
	EXPECT_EQ(EFAULT, first.err);
	passed = umad_call_returned(&second, umad_fixed_ms());
	if (!passed) {
		msg.mad.tid = htobe64(2);
		umad_write(&self->client, &msg);
		umad_call_end(&second);
	}
	EXPECT_EQ(1, second.ret);
	umad_read(&self->server, &got);
	EXPECT_EQ(1, (__u32)be64toh(got.mad.tid));
	umad_stall_free(&stall);
	EXPECT_FIXED(passed, "a failed read wakes no poller");
}

/*
 * The RMPP header decides whether a write of an agent with RMPP of its own is
 * checked for being a duplicate. It is changed here after it was copied, while
 * the write waits behind another one. What decided must be what is sent.
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

	victim_stall_write(self, &v, 0x77);
	msg = umad_msg(&self->port, v.id, VICTIM_METHOD + 1, 0x88);
	umad_make_active(&msg);
	msg.mad.seg_num = htobe32(1);
	call.fd = v.file.fd;
	call.buf = buf;
	call.len = umad_pack(&v.file, &msg, MAD_SIZE, buf);
	umad_call_start(&call);
	umad_sleep_ms(5 * UMAD_QUIET_MS);
	buf[v.file.hlen + offsetof(struct mad, rmpp_flags)] = 0;

	victim_release(&v);
	umad_call_end(&call);
	EXPECT_EQ((ssize_t)call.len, call.ret);
	umad_read(&peer, &got);
	EXPECT_EQ(0x88, (__u32)be64toh(got.mad.tid));
	umad_close(&peer);
	victim_close(&v);
	EXPECT_FIXED(got.mad.rmpp_flags == MAD_RMPP_ACTIVE,
		     "the RMPP header is copied twice");
}

/* Killed, whoever is stuck dies at once, and who waits for nothing as well */

static void die_stalled(pid_t parent, int ready, struct umad_call *call,
			struct umad_stall *stall)
{
	if (pthread_create(&call->thread, NULL, umad_call_thread, call) ||
	    !umad_stall_caught(stall) || write(ready, "", 1) != 1)
		_exit(1);
	umad_wait_as_child(parent);
}

/* Kills @pid; whether that ended it */
static bool dies(pid_t pid, int ms)
{
	long long end = umad_now_ms() + ms;

	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, WNOHANG) != pid) {
		if (umad_now_ms() > end)
			return false;
		umad_sleep_ms(5);
	}
	return true;
}

/* @msg is what a write begins with */
#define expect_dies_stalled(stall, call, file, msg, fuse) do {		\
	pid_t __parent = getpid(), __pid;				\
	int __ready[2];							\
	char __c;							\
									\
	ASSERT_EQ(0, pipe(__ready));					\
	__pid = fork();							\
	ASSERT_LE(0, __pid);						\
	if (!__pid) {							\
		if (make_trap(fuse, stall))				\
			_exit(1);					\
		(call)->buf = umad_stall_at(stall, (uintptr_t)(call)->buf); \
		if ((call)->op == UMAD_CALL_WRITE)			\
			umad_pack(file, msg, MAD_RMPP_HDR, (call)->buf); \
		die_stalled(__parent, __ready[1], call, stall);		\
	}								\
	close(__ready[1]);						\
	ASSERT_EQ(1, read(__ready[0], &__c, 1));			\
	close(__ready[0]);						\
	EXPECT_TRUE(dies(__pid, UMAD_SOON_MS));				\
} while (0)

/* .buf: how far in front of the missing page the buffer begins */
TEST_F(pair, stalled_dies)
{
	struct umad_reg reg = umad_reg_send_only(variant->abi.api);
	struct umad_call calls[] = {
		{
			.op = UMAD_CALL_WRITE,
			.buf = (void *)(self->client.hlen + MAD_RMPP_HDR),
			.len = self->client.hlen + MAD_SIZE,
		}, {
			.op = UMAD_CALL_READ,
			.buf = (void *)100,
			.len = self->client.hlen + MAD_SIZE,
		}, {
			.op = UMAD_CALL_IOCTL,
			.cmd = umad_reg_cmd(&reg),
			.buf = (void *)8,
		}, {
			.op = UMAD_CALL_IOCTL,
			.cmd = IB_USER_MAD_UNREGISTER_AGENT,
			.buf = (void *)0,
		},
	};
	struct umad_msg msg = umad_msg(&self->port, self->cid, MAD_SEND, 1);
	struct umad_stall stall;
	size_t i;

	umad_write(&self->client, &msg);
	ASSERT_TRUE(umad_readable(&self->server, UMAD_SOON_MS));
	msg.hdr.id = self->sid;
	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		calls[i].fd = self->server.fd;
		expect_dies_stalled(&stall, &calls[i], &self->server, &msg,
				    variant->fuse);
	}
	/* The read that died has given its packet back */
	umad_read(&self->server, &msg);
	umad_expect_empty(&self->server);
}

/* Another process with the same descriptor is not stuck, and so can be killed */
TEST_F(pair, stalled_write_stops_no_death)
{
	pid_t parent = getpid(), pid;
	struct umad_msg got;
	struct victim v;
	bool passed;

	victim_open(self, variant, &v);
	victim_stall_write(self, &v, 0x77);
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		while (getppid() == parent)
			_umad_poll(&v.file, UMAD_QUIET_MS);
		_exit(0);
	}
	umad_sleep_ms(2 * UMAD_QUIET_MS);
	passed = dies(pid, umad_fixed_ms());
	victim_release(&v);
	if (!passed)
		ASSERT_EQ(pid, waitpid(pid, NULL, 0));
	umad_read(&self->server, &got);
	victim_close(&v);
	EXPECT_FIXED(passed, "who polls behind a stalled write cannot be killed");
}

TEST_HARNESS_MAIN
