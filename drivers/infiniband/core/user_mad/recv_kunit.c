// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KUnit tests of recv.c: what the receive handler makes of what the MAD layer
 * gives it, with a descriptor whose port has no device.
 */
#include <kunit/test.h>
#include <linux/limits.h>
#include <linux/sizes.h>

#include "user_mad.h"

#define UMAD_TEST_TID	0x0000000700000001ULL

/**
 * struct umad_recv_len_case - how long something is that was received
 * @desc: name of the row
 * @mad_len: its length
 * @valid: whether it can be handed out
 */
struct umad_recv_len_case {
	const char	*desc;
	int		mad_len;
	bool		valid;
};

static const struct umad_recv_len_case umad_recv_len_cases[] = {
	{ "beyond 2 GiB", INT_MIN, false },
	{ "beyond 2 GiB, but not by much", INT_MIN + 256, false },
	{ "nearly 4 GiB", -1, false },
	{ "nothing", 0, false },
	{ "part of a header", 23, false },
	{ "header only", 24, true },
	{ "one MAD", 256, true },
	{ "one OPA MAD", 2048, true },
	{ "1 GiB", 1 << 30, true },
	{ "all that a read can take", MAX_RW_COUNT - 64, true },
	{ "more than a read can take", MAX_RW_COUNT - 55, false },
	{ "longest that is counted", INT_MAX, false },
};

KUNIT_ARRAY_PARAM_DESC(umad_recv_len, umad_recv_len_cases, desc);

static void umad_recv_len_test(struct kunit *test)
{
	const struct umad_recv_len_case *row = test->param_value;

	KUNIT_EXPECT_EQ(test, umad_recv_len_valid(row->mad_len, 56), row->valid);
	KUNIT_EXPECT_EQ(test, umad_recv_len_valid(row->mad_len, 64), row->valid);
}

/**
 * struct umad_recv_test - a descriptor with an agent, and what the agent receives
 * @port: the port, which only counts
 * @file: the descriptor
 * @agent: the agent
 * @mad_agent: what the MAD layer would know of the agent
 * @mad: the MAD received
 * @wc: how it was received
 * @recv_wc: what the handler gets
 * @last: the last buffer of a message; the first one is @recv_wc's
 * @last_mad: what is in it
 */
struct umad_recv_test {
	struct umad_port	port;
	struct umad_file	file;
	struct umad_agent	agent;
	struct ib_mad_agent	mad_agent;
	struct ib_mad		mad;
	struct ib_wc		wc;
	struct ib_mad_recv_wc	recv_wc;
	struct ib_mad_recv_buf	last;
	struct ib_mad		last_mad;
};

static int umad_recv_test_init(struct kunit *test)
{
	struct umad_recv_test *t;

	t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, t);
	t->port.stats = alloc_percpu(struct umad_stats);
	KUNIT_ASSERT_TRUE(test, t->port.stats);
	t->file.port = &t->port;
	spin_lock_init(&t->file.transaction_lock);
	umad_queue_init(&t->file);
	umad_cap_init(&t->file);
	t->agent.file = &t->file;
	t->file.hdr_len = sizeof(struct ib_user_mad_hdr);
	atomic_set(&t->agent.users, 1);
	t->mad_agent.context = &t->agent;
	t->mad_agent.send_handler = umad_send_handler;

	t->mad.mad_hdr = (struct ib_mad_hdr){
		.base_version	= 1,
		.mgmt_class	= 0x04,
		.class_version	= 1,
		.method		= 0x81,
		.tid		= cpu_to_be64(UMAD_TEST_TID),
	};
	t->recv_wc.wc = &t->wc;
	t->recv_wc.recv_buf.mad = &t->mad;
	t->recv_wc.mad_len = sizeof(t->mad);
	t->recv_wc.mad_seg_size = sizeof(t->mad);
	/* Nothing in it is the MAD layer's to be given back */
	INIT_LIST_HEAD(&t->recv_wc.rmpp_list);
	test->priv = t;
	return 0;
}

static void umad_recv_test_exit(struct kunit *test)
{
	struct umad_recv_test *t = test->priv;

	if (!t)
		return;
	umad_queue_exit(&t->file);
	umad_packet_drain(&t->file);
	KUNIT_EXPECT_TRUE(test, RB_EMPTY_ROOT(&t->file.transactions));
	free_percpu(t->port.stats);
	KUNIT_EXPECT_EQ(test, t->file.cap_bytes, 0);
}

static void umad_recv_handler_len_test(struct kunit *test)
{
	const struct umad_recv_len_case *row = test->param_value;
	struct umad_recv_test *t = test->priv;

	/* A MAD that is long but valid would be copied from here */
	if (row->mad_len > (int)sizeof(t->mad) && row->valid)
		return;

	t->recv_wc.mad_len = row->mad_len;
	umad_recv_handler(&t->mad_agent, NULL, &t->recv_wc);
	KUNIT_EXPECT_EQ(test, t->file.unread, row->valid);
	KUNIT_EXPECT_EQ(test, t->file.dropped, !row->valid);
}

/* A packet that an earlier MAD was in. With KASAN, no descriptor keeps one by itself */
static void umad_recv_used_packet_test(struct kunit *test)
{
	struct umad_recv_test *t = test->priv;
	struct umad_recv *recv = umad_recv_alloc(&t->file, t->file.hdr_len, sizeof(t->mad));
	struct ib_user_mad_hdr want = {};

	KUNIT_ASSERT_NOT_NULL(test, recv);
	memset(recv->data, 0xff, t->file.hdr_len + sizeof(t->mad));
	want.length = recv->queued.length;
	t->file.spare_recv = recv;

	umad_recv_handler(&t->mad_agent, NULL, &t->recv_wc);
	KUNIT_ASSERT_EQ(test, t->file.unread, 1);
	KUNIT_EXPECT_PTR_EQ(test, t->file.queue, &recv->queued);
	KUNIT_EXPECT_MEMEQ(test, recv->data, &want, sizeof(want));
	KUNIT_EXPECT_MEMEQ(test, recv->data + t->file.hdr_len, &t->mad, sizeof(t->mad));
}

static struct umad_send *umad_test_request(struct kunit *test)
{
	struct umad_recv_test *t = test->priv;
	struct umad_send *send = umad_send_alloc(&t->file, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, send);
	send->queued.hdr_len = t->file.hdr_len;
	send->response = false;
	send->tracked = false;
	send->no_record = false;
	memset(umad_send_hdr(send), 0, send->queued.hdr_len);
	*umad_send_mad(send) = t->mad.mad_hdr;
	umad_send_mad(send)->method = 0x01;
	return send;
}

/*
 * The MAD layer delivers a response before it completes the request. Its
 * transaction ID is free again in between: a client that has read the response may send
 * the next one on another CPU.
 */
static void umad_recv_response_frees_tid_test(struct kunit *test)
{
	struct umad_recv_test *t = test->priv;
	struct ib_mad_send_buf send_buf = { .mad_agent = &t->mad_agent };
	struct umad_send *first = umad_test_request(test);
	struct umad_send *next = umad_test_request(test);

	send_buf.context[0] = first;
	KUNIT_EXPECT_EQ(test, umad_transaction_begin(&t->file, first), 0);
	KUNIT_EXPECT_EQ(test, umad_transaction_begin(&t->file, next), -EINVAL);

	umad_recv_handler(&t->mad_agent, &send_buf, &t->recv_wc);
	KUNIT_EXPECT_EQ(test, t->file.unread, 1);
	KUNIT_EXPECT_TRUE(test, first->no_record);
	KUNIT_EXPECT_EQ(test, umad_transaction_begin(&t->file, next), 0);

	/* Completing the first one leaves the next one alone */
	umad_transaction_end(&t->file, first);
	umad_send_free(&t->file, first);
	first = umad_test_request(test);
	KUNIT_EXPECT_EQ(test, umad_transaction_begin(&t->file, first), -EINVAL);

	umad_send_free(&t->file, first);
	umad_transaction_end(&t->file, next);
	umad_send_free(&t->file, next);
}

/* A response that is dropped leaves the request to end in a record */
static void umad_recv_dropped_response_test(struct kunit *test)
{
	struct umad_recv_test *t = test->priv;
	struct ib_mad_send_buf send_buf = { .mad_agent = &t->mad_agent };
	struct umad_send *request = umad_test_request(test);

	send_buf.context[0] = request;
	KUNIT_EXPECT_EQ(test, umad_transaction_begin(&t->file, request), 0);
	t->recv_wc.mad_len = -1;
	umad_recv_handler(&t->mad_agent, &send_buf, &t->recv_wc);
	KUNIT_EXPECT_EQ(test, t->file.unread, 0);
	KUNIT_EXPECT_EQ(test, t->file.dropped, 1);
	KUNIT_EXPECT_FALSE(test, request->no_record);

	umad_transaction_end(&t->file, request);
	umad_send_free(&t->file, request);
}

/* How many unread MADs user_mad.rst allows; the next one is dropped */
#define UMAD_TEST_UNREAD	200000

static unsigned long umad_test_counted(const struct umad_port *port, enum umad_stat stat)
{
	unsigned long sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += per_cpu_ptr(port->stats, cpu)->count[stat];
	return sum;
}

/* The last place in the queue, and a MAD for which there is none */
static void umad_recv_limit_test(struct kunit *test)
{
	struct umad_recv_test *t = test->priv;

	t->file.unread = UMAD_TEST_UNREAD;
	umad_recv_handler(&t->mad_agent, NULL, &t->recv_wc);
	KUNIT_EXPECT_EQ(test, t->file.unread, UMAD_TEST_UNREAD + 1);
	KUNIT_EXPECT_EQ(test, umad_test_counted(&t->port, UMAD_STAT_RECEIVED), 1);

	umad_recv_handler(&t->mad_agent, NULL, &t->recv_wc);
	KUNIT_EXPECT_EQ(test, t->file.unread, UMAD_TEST_UNREAD + 1);
	KUNIT_EXPECT_EQ(test, t->file.dropped, 1);
	KUNIT_EXPECT_EQ(test, umad_test_counted(&t->port, UMAD_STAT_DROPPED_LIMIT), 1);
}

/* A segment has this besides its header */
#define UMAD_TEST_SEG_DATA	(UMAD_MAD_SIZE - IB_MGMT_MAD_HDR)

/*
 * A message of @len bytes. There are two buffers, the first one and the last, whose
 * segment has the number @seg_num. MADs of the port have up to @max_mad_size bytes.
 */
static struct umad_recv *umad_test_keep_segs(struct kunit *test, struct umad_file *file,
					     int len, u32 seg_num, size_t max_mad_size)
{
	struct umad_recv_test *t = test->priv;
	struct umad_rmpp_mad *last_mad = (void *)&t->last_mad;
	struct umad_recv *recv;

	t->recv_wc.mad_len = len;
	last_mad->rmpp_hdr.seg_num = cpu_to_be32(seg_num);
	t->last.mad = &t->last_mad;
	list_add(&t->recv_wc.recv_buf.list, &t->recv_wc.rmpp_list);
	list_add_tail(&t->last.list, &t->recv_wc.rmpp_list);
	recv = umad_rmpp_keep(file, t->file.hdr_len, &t->recv_wc, max_mad_size);
	INIT_LIST_HEAD(&t->recv_wc.rmpp_list);
	if (recv)
		INIT_LIST_HEAD(&umad_recv_rmpp(recv)->segs);
	return recv;
}

static struct umad_recv *umad_test_keep(struct kunit *test, struct umad_file *file, int len)
{
	return umad_test_keep_segs(test, file, len, len / UMAD_TEST_SEG_DATA, UMAD_MAD_SIZE);
}

static void umad_test_free(struct umad_file *file, struct umad_recv *recv)
{
	umad_queued_free(file, &recv->queued);
}

/* A message takes this besides its buffers */
#define UMAD_TEST_MESSAGE	((u64)(sizeof(struct umad_recv) + UMAD_PACKET_LEN))

/*
 * It is the buffers that count: those that came too early and stand behind the
 * end of the message, and all of a buffer of a port for longer MADs.
 */
static void umad_recv_size_test(struct kunit *test)
{
	struct umad_recv_test *t = test->priv;
	struct umad_recv *recv;

	recv = umad_test_keep_segs(test, &t->file, 400, 2, UMAD_MAD_SIZE);
	KUNIT_ASSERT_NOT_NULL(test, recv);
	KUNIT_EXPECT_EQ(test, t->file.cap_bytes, 2 * 512 + UMAD_TEST_MESSAGE);
	umad_test_free(&t->file, recv);

	recv = umad_test_keep_segs(test, &t->file, 400, 65, UMAD_MAD_SIZE);
	KUNIT_ASSERT_NOT_NULL(test, recv);
	KUNIT_EXPECT_EQ(test, t->file.cap_bytes, 65 * 512 + UMAD_TEST_MESSAGE);
	umad_test_free(&t->file, recv);

	recv = umad_test_keep_segs(test, &t->file, 400, 2, 2048);
	KUNIT_ASSERT_NOT_NULL(test, recv);
	KUNIT_EXPECT_EQ(test, t->file.cap_bytes, 2 * 4096 + UMAD_TEST_MESSAGE);
	umad_test_free(&t->file, recv);
}

#define UMAD_TEST_MESSAGES	1024

/*
 * A descriptor that is not read gets about half of the cap; then another one still gets
 * a message. A message longer than the cap is not kept.
 */
static void umad_recv_cap_test(struct kunit *test)
{
	struct umad_recv_test *t = test->priv;
	struct umad_recv **recv, *more;
	struct umad_file *other;
	int i;

	other = kunit_kzalloc(test, sizeof(*other), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, other);
	umad_cap_init(other);
	recv = kunit_kcalloc(test, UMAD_TEST_MESSAGES, sizeof(*recv), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, recv);
	KUNIT_EXPECT_NULL(test, umad_test_keep(test, &t->file, SZ_1G));

	for (i = 0; i < UMAD_TEST_MESSAGES; i++) {
		recv[i] = umad_test_keep(test, &t->file, SZ_1M);
		if (!recv[i])
			break;
	}
	KUNIT_EXPECT_GT(test, i, 1);
	KUNIT_EXPECT_LT(test, i, UMAD_TEST_MESSAGES);
	more = umad_test_keep(test, other, SZ_1M);
	KUNIT_EXPECT_NOT_NULL(test, more);
	if (more)
		umad_test_free(other, more);
	KUNIT_EXPECT_EQ(test, other->cap_bytes, 0);

	/* A message that is freed makes room */
	umad_test_free(&t->file, recv[--i]);
	recv[i] = umad_test_keep(test, &t->file, SZ_1M);
	KUNIT_EXPECT_NOT_NULL(test, recv[i]);
	i += !!recv[i];
	while (i--)
		umad_test_free(&t->file, recv[i]);
}

static struct kunit_case umad_recv_cases[] = {
	KUNIT_CASE_PARAM(umad_recv_len_test, umad_recv_len_gen_params),
	KUNIT_CASE_PARAM(umad_recv_handler_len_test, umad_recv_len_gen_params),
	KUNIT_CASE(umad_recv_used_packet_test),
	KUNIT_CASE(umad_recv_response_frees_tid_test),
	KUNIT_CASE(umad_recv_dropped_response_test),
	KUNIT_CASE(umad_recv_limit_test),
	KUNIT_CASE(umad_recv_size_test),
	KUNIT_CASE(umad_recv_cap_test),
	{}
};

static struct kunit_suite umad_recv_suite = {
	.name		= "umad_recv",
	.init		= umad_recv_test_init,
	.exit		= umad_recv_test_exit,
	.test_cases	= umad_recv_cases,
};

kunit_test_suite(umad_recv_suite);
