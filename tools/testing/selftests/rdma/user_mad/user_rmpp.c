// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RMPP by user space: every packet of an agent that is registered with
 * IB_USER_MAD_USER_RMPP is a MAD of its own. With such packets the kernel is sent what
 * it has to put together.
 */
#include "kselftest_harness.h"
#include "lib/rmpp.h"
#include "lib/subnet.h"

FIXTURE(user_rmpp)
{
	struct umad_fabric fabric;
	struct umad_file kernel;	/* an agent that leaves it to the kernel */
	struct umad_file user;		/* one that does not */
	struct umad_file peer;		/* another one that does not */
	__u32 kid;
	__u32 uid;
	__u32 pid;
	__u32 tid;
	struct umad_long msg;
};

FIXTURE_SETUP(user_rmpp)
{
	struct umad_reg reg = umad_reg_rmpp(2, umad_get_send);

	self->tid = 1;
	self->fabric = (struct umad_fabric){ .hosts = 3, .star = true };
	umad_subnet(&self->fabric);
	umad_long_alloc(&self->msg, 1 << 20);

	self->kid = umad_open_agent(&self->fabric.host[0], &umad_abi_new, reg, &self->kernel);
	reg.flags = IB_USER_MAD_USER_RMPP;
	self->uid = umad_open_agent(&self->fabric.host[1], &umad_abi_new, reg, &self->user);
	self->pid = umad_open_agent(&self->fabric.host[2], &umad_abi_new, reg, &self->peer);
}

FIXTURE_TEARDOWN(user_rmpp)
{
	umad_close(&self->kernel);
	umad_close(&self->user);
	umad_close(&self->peer);
	umad_long_free(&self->msg);
	umad_fabric_stop();
}

static struct umad_msg next_head(FIXTURE_DATA(user_rmpp) *self, __u32 id, int to, __u8 method)
{
	return umad_msg(&self->fabric.host[to], id, method, self->tid++);
}

/* Between two agents that do their own, every packet passes as it is */
TEST_F(user_rmpp, every_packet)
{
	static const struct {
		__u8 type, flags, status;
		__u32 seg, last;
	} packets[] = {
		{ MAD_RMPP_DATA, RMPP_FLAG_FIRST, 0, 1, 1000 },
		{ MAD_RMPP_DATA, 0, 0, 2, 0 },
		{ MAD_RMPP_DATA, 0, 0, 2, 0 },
		{ MAD_RMPP_DATA, RMPP_FLAG_LAST, 0, 3, 5 },
		{ RMPP_TYPE_ACK, 0, 0, 3, 64 },
		{ RMPP_TYPE_ACK, 0, 0, 3, 64 },
		{ RMPP_TYPE_STOP, 0, RMPP_STATUS_RESX, 0, 0 },
		{ RMPP_TYPE_ABORT, 0, RMPP_STATUS_UNSPEC, 0, 0 },
		{ RMPP_TYPE_ABORT, 0, RMPP_STATUS_UNSPEC, 0, 0 },
		/* Sense is no business of anybody in between */
		{ 9, RMPP_FLAG_FIRST | RMPP_FLAG_LAST, 77, 0xfffffff0, 5 },
		{ MAD_RMPP_DATA, 0xf8, 0, 0, 0xffffffff },
	};
	struct umad_msg head = next_head(self, self->uid, 2, MAD_SEND), got;
	__u64 tid = 0;
	size_t i;
	int back;

	for (back = 0; back < 2; back++) {
		const struct umad_file *from = back ? &self->peer : &self->user;
		const struct umad_file *to = back ? &self->user : &self->peer;

		for (i = 0; i < ARRAY_SIZE(packets); i++) {
			head.mad.data[3] = i;
			ASSERT_LT(0, _umad_rmpp_packet(from, &head, packets[i].type,
						       packets[i].flags, packets[i].status,
						       packets[i].seg, packets[i].last))
				TH_LOG("packet %zu: %s", i, strerror(errno));
			umad_read(to, &got);
			EXPECT_EQ(back ? self->uid : self->pid, got.hdr.id);
			EXPECT_EQ(back ? MAD_SEND | MAD_RESP : MAD_SEND, got.mad.method);
			EXPECT_EQ(packets[i].type, got.mad.rmpp_type);
			EXPECT_EQ(packets[i].flags | MAD_RMPP_ACTIVE, got.mad.rmpp_flags);
			EXPECT_EQ(packets[i].status, got.mad.rmpp_status);
			EXPECT_EQ(packets[i].seg, be32toh(got.mad.seg_num));
			EXPECT_EQ(packets[i].last, be32toh(got.mad.paylen_newwin));
			EXPECT_EQ(0, memcmp(got.mad.data, head.mad.data, sizeof(head.mad.data)));
			tid = tid ?: got.mad.tid;
			EXPECT_EQ(tid, got.mad.tid);
		}
		/* Now the other one, to whom the transaction belongs */
		head = got;
		head.mad.method ^= MAD_RESP;
		umad_expect_empty(&self->user);
		umad_expect_empty(&self->peer);
	}
}

/* A length that cannot be: what came is what is delivered */
TEST_F(user_rmpp, lying_length)
{
	static const __u32 lengths[] = { 0, 4, 10, 220, 221, 0xffffffff };
	struct umad_msg head, got;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		ssize_t n;

		head = next_head(self, self->uid, 0, MAD_SEND);
		ASSERT_LT(0, _umad_rmpp_packet(&self->user, &head, MAD_RMPP_DATA,
					       RMPP_FLAG_FIRST | RMPP_FLAG_LAST,
					       0, 1, lengths[i]));
		umad_read(&self->user, &got);
		EXPECT_EQ(RMPP_TYPE_ACK, got.mad.rmpp_type);
		ASSERT_TRUE(umad_readable(&self->kernel, UMAD_SOON_MS));
		n = _umad_read(&self->kernel, &got);
		EXPECT_EQ((ssize_t)(UMAD_HDR_NEW + MAD_RMPP_HDR +
				    (lengths[i] <= 220 ? lengths[i] : 220)), n);
		EXPECT_EQ(n, got.hdr.length);
		EXPECT_EQ(0, memcmp(&got.mad.vendor_resv, &head.mad.vendor_resv,
				    n - UMAD_HDR_NEW - MAD_RMPP_HDR));
	}
}

/* What came too early, and stands behind the segment that is the last, is no part of it */
TEST_F(user_rmpp, segments_behind_the_last)
{
	static const __u32 segs[] = { 1, 4, 5, 6, 9, 16, 2 };
	const __u32 extra = MAD_VENDOR_HDR - MAD_RMPP_HDR;
	struct umad_msg head, got;
	size_t i, last = ARRAY_SIZE(segs) - 1;
	int n;

	for (n = 0; n < 8; n++) {
		head = next_head(self, self->uid, 0, MAD_SEND);
		umad_pattern(self->msg.out, 2 * MAD_VENDOR_DATA, self->tid);
		for (i = 0; i <= last; i++) {
			memcpy((__u8 *)&head.mad + MAD_VENDOR_HDR,
			       self->msg.out + (i == last) * MAD_VENDOR_DATA, MAD_VENDOR_DATA);
			ASSERT_LT(0, _umad_rmpp_packet(&self->user, &head, MAD_RMPP_DATA,
						       !i ? RMPP_FLAG_FIRST :
						       i == last ? RMPP_FLAG_LAST : 0,
						       0, segs[i], MAD_VENDOR_DATA + extra));
			/* It opens the window */
			if (!i)
				umad_read(&self->user, &got);
		}
		umad_long_read(&self->kernel, self->kid, &head, 2 * MAD_VENDOR_DATA,
			       self->tid, &self->msg);
	}
	umad_expect_empty(&self->kernel);
}

/*
 * Packets of user space's RMPP are never refused for their transaction ID, but
 * others are as long as any of them is outstanding.
 */

static struct umad_msg to_nobody(FIXTURE_DATA(user_rmpp) *self, __u64 tid, bool active, int ms)
{
	struct umad_msg msg = next_head(self, self->uid, 0, MAD_GET);

	if (active)
		umad_make_active(&msg);
	umad_msg_to_nobody(&msg);
	msg.hdr.timeout_ms = ms;
	msg.mad.tid = htobe64(tid);
	return msg;
}

#define send_to_nobody(self, tid, active, ms) do {			\
	struct umad_msg __msg = to_nobody(self, tid, active, ms);	\
									\
	umad_write(&(self)->user, &__msg);				\
} while (0)

#define expect_refused(self, tid) do {					\
	struct umad_msg __msg = to_nobody(self, tid, false, 600000);	\
									\
	umad_err_write(EINVAL, &(self)->user, &__msg);			\
} while (0)

#define expect_record(self, tid_) do {					\
	struct umad_msg __got;						\
									\
	umad_read_timeout(&(self)->user, &__got);			\
	EXPECT_EQ(tid_, (int)(__u32)be64toh(__got.mad.tid));		\
} while (0)

/* They are in no table: neither are they refused, nor is anything else for them */
TEST_F(user_rmpp, duplicates)
{
	struct umad_msg plain, got;
	ssize_t ret;
	int i;

	/* Many of one transaction, and a plain send with their ID beside them */
	for (i = 0; i < 500; i++)
		send_to_nobody(self, 1, true, 600000);
	plain = to_nobody(self, 1, false, 600000);
	ret = _umad_write(&self->user, &plain);
	EXPECT_FIXED(ret > 0, "a packet of a message has others refused");
	expect_refused(self, 1);
	send_to_nobody(self, 1, true, 600000);

	/* The plain one is over, and the packets are not: it can be sent again */
	send_to_nobody(self, 2, true, 600000);
	plain = to_nobody(self, 2, false, 1);
	ret = _umad_write(&self->user, &plain);
	if (ret > 0) {
		expect_record(self, 2);
		send_to_nobody(self, 2, false, 600000);
		expect_refused(self, 2);
	}

	/* The other way round: who came first is refused nothing for it */
	send_to_nobody(self, 3, false, 400);
	send_to_nobody(self, 3, true, 1);
	expect_refused(self, 3);
	expect_record(self, 3);
	expect_refused(self, 3);
	expect_record(self, 3);
	send_to_nobody(self, 3, false, 1);
	umad_read_timeout(&self->user, &got);

	/* All of them go with the agent */
	umad_unregister(&self->user, self->uid);
	umad_expect_fdinfo(0, &self->user, "umad-outstanding");
}

TEST_HARNESS_MAIN
