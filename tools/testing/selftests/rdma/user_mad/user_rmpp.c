// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RMPP by user space: every packet of an agent that is registered with
 * IB_USER_MAD_USER_RMPP is a MAD of its own. A sender and a receiver made of
 * that talk to the kernel's, and end its transfers in every way there is.
 */
#include "kselftest_harness.h"
#include "lib/rmpp.h"
#include "lib/subnet.h"

#define SEG_DATA	(MAD_SIZE - MAD_VENDOR_HDR)
#define LEN		(150 * SEG_DATA + 77)

/* How the MAD layer says that it is done with a send, without a record */
#define expect_over(self, head, len) do {				\
	long long __end = umad_now_ms() + UMAD_SOON_MS;			\
	size_t __size = umad_long_pack(&(self)->kernel, head, len, 0,	\
				       (self)->msg.out);		\
	ssize_t __n;							\
									\
	/* Its transaction is free again */				\
	do {								\
		__n = write((self)->kernel.fd, (self)->msg.out, __size); \
		umad_sleep_ms(10);					\
	} while (__n < 0 && errno == EINVAL && umad_now_ms() < __end);	\
	EXPECT_EQ((ssize_t)__size, __n)					\
		TH_LOG("still outstanding: %s", strerror(errno));	\
} while (0)

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

static __u32 open_agent(struct __test_metadata *_metadata, const struct umad_port *port,
			struct umad_file *file, __u32 flags)
{
	struct umad_reg reg = umad_reg_rmpp(2, umad_get_send);

	reg.flags = flags;
	return umad_open_agent(port, &umad_abi_new, reg, file);
}

FIXTURE_SETUP(user_rmpp)
{
	self->tid = 1;
	self->fabric = (struct umad_fabric){ .hosts = 3, .star = true };
	umad_subnet(&self->fabric);
	umad_long_alloc(&self->msg, 1 << 20);

	self->kid = open_agent(_metadata, &self->fabric.host[0], &self->kernel, 0);
	self->uid = open_agent(_metadata, &self->fabric.host[1], &self->user,
			       IB_USER_MAD_USER_RMPP);
	self->pid = open_agent(_metadata, &self->fabric.host[2], &self->peer,
			       IB_USER_MAD_USER_RMPP);
}

FIXTURE_TEARDOWN(user_rmpp)
{
	umad_close(&self->kernel);
	umad_close(&self->user);
	umad_close(&self->peer);
	umad_long_free(&self->msg);
	umad_fabric_stop();
}

static struct umad_msg next_head(FIXTURE_DATA(user_rmpp) *self, __u32 id, int to,
				 __u8 method)
{
	return umad_msg(&self->fabric.host[to], id, method, self->tid++);
}

/* From the kernel to user space, which may lose a segment the first time */
#define expect_received(self, len, lose_) do {				\
	struct umad_msg __head = next_head(self, (self)->kid, 1,	\
					   MAD_SEND);			\
	struct umad_rmpp __rmpp = { .file = &(self)->user, .lose = lose_ }; \
									\
	__head.hdr.retries = 5;						\
	umad_make_active(&__head);					\
	umad_long_write(&(self)->kernel, &__head, len, (self)->tid,	\
			&(self)->msg);					\
	ASSERT_EQ((ssize_t)(len),					\
		  _umad_rmpp_receive(&__rmpp, (self)->msg.in, len));	\
	EXPECT_EQ((size_t)(len), umad_pattern_same((self)->msg.in, len,	\
						   (self)->tid));	\
	EXPECT_EQ((self)->fabric.host[0].lid, be16toh(__rmpp.head.hdr.lid));	\
	EXPECT_EQ((__u32)be64toh(__head.mad.tid),			\
		  (__u32)be64toh(__rmpp.head.mad.tid));			\
	EXPECT_EQ(0, __rmpp.lose);	/* it was, and came again */	\
	TH_LOG("%zu bytes received: %d acknowledgments, %d windows, %d segments came again", \
	       (size_t)(len), __rmpp.acks, __rmpp.windows, __rmpp.resent); \
} while (0)

/* ... and from user space to the kernel */
#define expect_sent(self, len, lose_) do {				\
	struct umad_rmpp __rmpp = { .file = &(self)->user, .lose = lose_ }; \
									\
	__rmpp.head = next_head(self, (self)->uid, 0, MAD_SEND);	\
	umad_pattern((self)->msg.out, len, (self)->tid);		\
	ASSERT_EQ(0, _umad_rmpp_send(&__rmpp, (self)->msg.out, len))	\
		TH_LOG("RMPP type %u, status %u", __rmpp.type,		\
		       __rmpp.status);					\
	umad_long_read(&(self)->kernel, (self)->kid, &__rmpp.head, len,	\
		       (self)->tid, &(self)->msg);			\
	EXPECT_EQ((lose_) > 0, __rmpp.resent > 0);			\
	TH_LOG("%zu bytes sent: %d acknowledgments, %d windows, %d segments sent again", \
	       (size_t)(len), __rmpp.acks, __rmpp.windows, __rmpp.resent); \
} while (0)

/* Lengths, and which segment is lost */
struct transfer {
	size_t len;
	__u32 lose;
};

TEST_F_TIMEOUT(user_rmpp, from_the_kernel, UMAD_HANGS)
{
	static const struct transfer all[] = {
		{ 1, 0 }, { SEG_DATA - 1, 0 }, { SEG_DATA, 0 }, { SEG_DATA + 1, 0 },
		{ (1 + RMPP_WINDOW) * SEG_DATA, 0 }, { (1 + RMPP_WINDOW) * SEG_DATA + 1, 0 },
		{ LEN, 0 }, { LEN, 1 }, { LEN, 2 }, { LEN, 1 + RMPP_WINDOW }, { LEN, 100 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(all); i++)
		expect_received(self, all[i].len, all[i].lose);
	umad_expect_empty(&self->kernel);
}

TEST_F_TIMEOUT(user_rmpp, to_the_kernel, UMAD_HANGS)
{
	static const struct transfer all[] = {
		{ 0, 0 }, { 1, 0 }, { SEG_DATA - 1, 0 }, { SEG_DATA, 0 }, { SEG_DATA + 1, 0 },
		{ 65 * SEG_DATA, 0 }, { 65 * SEG_DATA + 1, 0 },
		{ LEN, 0 }, { LEN, 1 }, { LEN, 2 }, { LEN, 65 }, { LEN, 100 }, { LEN, 151 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(all); i++)
		expect_sent(self, all[i].len, all[i].lose);
	umad_expect_empty(&self->kernel);
}

/* A request by user space that the kernel answers at length, and vice versa */
TEST_F_TIMEOUT(user_rmpp, responses, UMAD_HANGS)
{
	struct umad_rmpp rmpp = { .file = &self->user };
	struct umad_msg head = next_head(self, self->uid, 0, MAD_GET), got;

	umad_write(&self->user, &head);
	umad_read(&self->kernel, &got);
	got.mad.method = MAD_GET_RESP;
	got.hdr.retries = 3;
	umad_make_active(&got);
	umad_long_write(&self->kernel, &got, LEN, 5, &self->msg);
	ASSERT_EQ(LEN, _umad_rmpp_receive(&rmpp, self->msg.in, LEN));
	EXPECT_EQ(LEN, umad_pattern_same(self->msg.in, LEN, 5));
	EXPECT_EQ(MAD_GET_RESP, rmpp.head.mad.method);

	head = next_head(self, self->kid, 1, MAD_GET);
	head.hdr.timeout_ms = UMAD_LONG_MS;
	umad_write(&self->kernel, &head);
	rmpp = (struct umad_rmpp){ .file = &self->user };
	umad_read(&self->user, &rmpp.head);
	rmpp.head.mad.method = MAD_GET_RESP;
	umad_pattern(self->msg.out, LEN, 6);
	ASSERT_EQ(0, _umad_rmpp_send(&rmpp, self->msg.out, LEN));
	umad_long_read(&self->kernel, self->kid, &rmpp.head, LEN, 6,
		       &self->msg);
	umad_expect_empty(&self->kernel);
}

/* Between two agents that do their own, every packet passes as it is */
TEST_F(user_rmpp, every_packet)
{
	static const struct {
		__u8 type, flags, status;
		__u32 seg, last;
	} packets[] = {
		{ RMPP_TYPE_DATA, RMPP_FLAG_FIRST, 0, 1, 1000 },
		{ RMPP_TYPE_DATA, 0, 0, 2, 0 },
		{ RMPP_TYPE_DATA, 0, 0, 2, 0 },
		{ RMPP_TYPE_DATA, RMPP_FLAG_LAST, 0, 3, 5 },
		{ RMPP_TYPE_ACK, 0, 0, 3, 64 },
		{ RMPP_TYPE_ACK, 0, 0, 3, 64 },
		{ RMPP_TYPE_STOP, 0, RMPP_STATUS_RESX, 0, 0 },
		{ RMPP_TYPE_ABORT, 0, RMPP_STATUS_UNSPEC, 0, 0 },
		{ RMPP_TYPE_ABORT, 0, RMPP_STATUS_UNSPEC, 0, 0 },
		/* Sense is no business of anybody in between */
		{ 9, RMPP_FLAG_FIRST | RMPP_FLAG_LAST, 77, 0xfffffff0, 5 },
		{ RMPP_TYPE_DATA, 0xf8, 0, 0, 0xffffffff },
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
			ASSERT_LT(0, _umad_rmpp_packet(from, &head,
						       packets[i].type,
						       packets[i].flags,
						       packets[i].status,
						       packets[i].seg,
						       packets[i].last))
				TH_LOG("packet %zu: %s", i, strerror(errno));
			umad_read(to, &got);
			EXPECT_EQ(back ? self->uid : self->pid, got.hdr.id);
			EXPECT_EQ(back ? MAD_SEND | MAD_RESP : MAD_SEND,
				  got.mad.method);
			EXPECT_EQ(packets[i].type, got.mad.rmpp_type);
			EXPECT_EQ(packets[i].flags | RMPP_FLAG_ACTIVE,
				  got.mad.rmpp_flags);
			EXPECT_EQ(packets[i].status, got.mad.rmpp_status);
			EXPECT_EQ(packets[i].seg, be32toh(got.mad.seg_num));
			EXPECT_EQ(packets[i].last,
				  be32toh(got.mad.paylen_newwin));
			EXPECT_EQ(0, memcmp(got.mad.data, head.mad.data,
					    sizeof(head.mad.data)));
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

/* Starts a message of the kernel, and reads its first segment */
#define start_kernel(self, head, timeout, got) do {			\
	*(head) = next_head(self, (self)->kid, 1, MAD_SEND);		\
	(head)->hdr.retries = 1;					\
	(head)->hdr.timeout_ms = timeout;				\
	umad_make_active(head);						\
	umad_long_write(&(self)->kernel, head, LEN, 0, &(self)->msg);	\
	umad_read(&(self)->user, got);					\
	EXPECT_EQ(RMPP_TYPE_DATA, (got)->mad.rmpp_type);		\
	EXPECT_EQ(1, be32toh((got)->mad.seg_num));			\
} while (0)

/* Reads until a packet of this type comes */
#define expect_packet(file, type_, status_, got) do {			\
	do {								\
		umad_read(file, got);					\
	} while ((got)->mad.rmpp_type != (type_));			\
	EXPECT_EQ(status_, (got)->mad.rmpp_status);			\
} while (0)

#define drain(file) do {						\
	struct umad_msg __got;						\
									\
	while (umad_readable(file, UMAD_QUIET_MS))			\
		umad_read(file, &__got);				\
} while (0)

/*
 * How a receiver can end a message that the kernel sends. The MAD layer
 * completes the send with an error that is no timeout: there is no record where
 * no response is expected.
 */
static const struct {
	__u8 type, status;
	__u32 seg, newwin;
	__u8 nack;	/* that the kernel answers with */
} ends[] = {
	{ RMPP_TYPE_ABORT, RMPP_STATUS_T2L, 0, 0, 0 },
	{ RMPP_TYPE_ABORT, RMPP_STATUS_UNSPEC, 0, 0, 0 },
	{ RMPP_TYPE_STOP, RMPP_STATUS_RESX, 0, 0, 0 },
	/* Ends that are against the rules end it, too */
	{ RMPP_TYPE_ABORT, 5, 0, 0, RMPP_STATUS_BAD_STATUS },
	{ RMPP_TYPE_STOP, 2, 0, 0, RMPP_STATUS_BAD_STATUS },
	{ RMPP_TYPE_ACK, 3, 1, 5, RMPP_STATUS_BAD_STATUS },
	{ RMPP_TYPE_ACK, 0, 5, 2, RMPP_STATUS_W2S },
	{ RMPP_TYPE_ACK, 0, 60, 70, RMPP_STATUS_S2B },
	{ 9, 0, 0, 0, RMPP_STATUS_BADT },
};

TEST_F_TIMEOUT(user_rmpp, ended_by_the_receiver, UMAD_HANGS)
{
	struct umad_msg head, got, data;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ends); i++) {
		start_kernel(self, &head, 0, &data);
		ASSERT_LT(0, _umad_rmpp_answer(&self->user, &data, ends[i].type,
					       ends[i].status, ends[i].seg,
					       ends[i].newwin));
		if (ends[i].nack) {
			expect_packet(&self->user, RMPP_TYPE_ABORT,
				      ends[i].nack, &got);
			EXPECT_EQ(data.mad.tid, got.mad.tid);
		}
		expect_over(self, &head, LEN);
		umad_expect_empty(&self->kernel);

		/* The same again, in the middle of it */
		umad_read(&self->user, &data);
		ASSERT_LT(0, _umad_rmpp_answer(&self->user, &data,
					       RMPP_TYPE_ACK, 0, 1, 10));
		while (be32toh(data.mad.seg_num) < 10)
			umad_read(&self->user, &data);
		ASSERT_LT(0, _umad_rmpp_answer(&self->user, &data,
					       RMPP_TYPE_ABORT,
					       RMPP_STATUS_UNSPEC, 0, 0));
		expect_over(self, &head, 1);
		drain(&self->user);
		umad_expect_empty(&self->kernel);
	}
}

/* ... and one where a response is expected, at once */
TEST_F_TIMEOUT(user_rmpp, request_ended_by_the_receiver, UMAD_HANGS)
{
	struct umad_msg head, got, data;
	bool all = true, one;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ends); i++) {
		start_kernel(self, &head, 10 * UMAD_LONG_MS, &data);
		ASSERT_LT(0, _umad_rmpp_answer(&self->user, &data, ends[i].type,
					       ends[i].status, ends[i].seg,
					       ends[i].newwin));
		one = umad_readable(&self->kernel, umad_fixed_ms());
		if (one) {
			umad_read_timeout(&self->kernel, &got);
			EXPECT_EQ((__u32)be64toh(head.mad.tid),
				  (__u32)be64toh(got.mad.tid));
			EXPECT_EQ(head.hdr.timeout_ms, got.hdr.timeout_ms);
		}
		umad_expect_empty(&self->kernel);
		drain(&self->user);
		all = all && one;
	}
	EXPECT_FIXED(all, "a request that is aborted ends without a trace");
}

/* The receiver falls silent in the middle: a record, and all is free again */
TEST_F_TIMEOUT(user_rmpp, silent_receiver, UMAD_HANGS)
{
	struct umad_msg head, got, data;

	start_kernel(self, &head, 0, &data);
	ASSERT_LT(0, _umad_rmpp_answer(&self->user, &data, RMPP_TYPE_ACK, 0, 1,
				       10));
	ASSERT_TRUE(umad_readable(&self->kernel, UMAD_LONG_MS));
	umad_read_timeout(&self->kernel, &got);
	EXPECT_EQ((__u32)be64toh(head.mad.tid), (__u32)be64toh(got.mad.tid));
	umad_expect_empty(&self->kernel);
	/* What was asked for once more is what was not acknowledged */
	umad_read(&self->user, &got);
	EXPECT_EQ(2, be32toh(got.mad.seg_num));
	expect_over(self, &head, 1);
}

/* What a sender may do wrong, and what the kernel says to it */
TEST_F_TIMEOUT(user_rmpp, ended_by_the_kernel, UMAD_HANGS)
{
	static const struct {
		__u8 type, flags, status;
		__u32 seg;
		__u8 abort;
	} row[] = {
		{ RMPP_TYPE_DATA, 0, 0, 1, RMPP_STATUS_BAD_SEG },
		{ RMPP_TYPE_DATA, RMPP_FLAG_FIRST, 0, 2, RMPP_STATUS_BAD_SEG },
		{ RMPP_TYPE_DATA, RMPP_FLAG_FIRST, 9, 1, RMPP_STATUS_BAD_STATUS },
		{ 9, 0, 0, 1, RMPP_STATUS_BADT },
	};
	struct umad_msg head, got;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(row); i++) {
		head = next_head(self, self->uid, 0, MAD_SEND);
		_umad_rmpp_packet(&self->user, &head, row[i].type, row[i].flags,
				  row[i].status, row[i].seg, 1000);
		expect_packet(&self->user, RMPP_TYPE_ABORT, row[i].abort, &got);
		EXPECT_EQ(MAD_SEND | MAD_RESP, got.mad.method);
	}
	head = next_head(self, self->uid, 0, MAD_SEND);
	umad_make_active(&head);
	head.mad.rmpp_version = 2;
	umad_write(&self->user, &head);
	expect_packet(&self->user, RMPP_TYPE_ABORT, RMPP_STATUS_UNV, &got);

	/* None of that is a message */
	umad_expect_empty(&self->kernel);
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
		ASSERT_LT(0, _umad_rmpp_packet(&self->user, &head,
					       RMPP_TYPE_DATA,
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
		umad_pattern(self->msg.out, 2 * SEG_DATA, self->tid);
		for (i = 0; i <= last; i++) {
			memcpy((__u8 *)&head.mad + MAD_VENDOR_HDR,
			       self->msg.out + (i == last) * SEG_DATA, SEG_DATA);
			ASSERT_LT(0, _umad_rmpp_packet(&self->user, &head,
						       RMPP_TYPE_DATA,
						       !i ? RMPP_FLAG_FIRST :
						       i == last ? RMPP_FLAG_LAST : 0,
						       0, segs[i], SEG_DATA + extra));
			/* It opens the window */
			if (!i)
				umad_read(&self->user, &got);
		}
		umad_long_read(&self->kernel, self->kid, &head, 2 * SEG_DATA,
			       self->tid, &self->msg);
	}
	umad_expect_empty(&self->kernel);
}

/*
 * Packets of user space's RMPP are never refused for their transaction ID, but
 * others are as long as any of them is outstanding.
 */

static struct umad_msg to_nobody(FIXTURE_DATA(user_rmpp) *self, __u64 tid,
				 bool active, int ms)
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
