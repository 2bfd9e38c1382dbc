// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Two hosts that talk over a network. Run on both of them at the same time:
 *
 *	two_hosts GID ask,answer	two_hosts GID answer,ask
 *
 * GID is that of the other one. Who asks prints "# stop the peer" when that is
 * to be suspended, and "# continue the peer" when not any longer: somebody who
 * can do that has to read along. It fails when the other one does not come in
 * two minutes.
 */
#include "lib/long.h"
#include "kselftest.h"

#define MESSAGE		(1024 * 1024)
#define REQUESTS	200
#define AT_ONCE		64
#define COME_MS		(120 * 1000)	/* for the peer */

/* What is asked for */
#define ATTR_HELLO	1	/* the same data with every bit inverted */
#define ATTR_MESSAGE	2	/* a message, made of the seed in attr_mod */
#define ATTR_RECEIVED	3	/* what of the last message was as sent */
#define ATTR_BYE	4

#define ASK_TESTS	11
#define ANSWER_TESTS	4

static struct umad_port port;
static struct umad_file file;
static __u32 id;
static __u8 peer[16];
static struct umad_long message;
static __u32 next_tid = 1;

static void fatal(const char *what)
{
	ksft_exit_fail_msg("%s: %s\n", what, strerror(errno));
}

static struct umad_msg ask_msg(__u8 method, __u16 attr, __u32 mod)
{
	struct umad_msg msg = umad_msg(&port, id, method, next_tid++);

	memcpy(msg.hdr.gid, peer, 16);
	/* A network may lose one: ask again */
	msg.hdr.timeout_ms = 1000;
	msg.hdr.retries = 5;
	msg.mad.attr_id = htobe16(attr);
	msg.mad.attr_mod = htobe32(mod);
	umad_pattern(msg.mad.data, sizeof(msg.mad.data), next_tid);
	return msg;
}

/* Whether @got answers @msg, with data that only the other one can have made */
static bool is_answer(const struct umad_msg *msg, const struct umad_msg *got)
{
	size_t i;

	if (got->hdr.status || got->mad.status ||
	    got->mad.method != MAD_GET_RESP ||
	    be32toh(got->hdr.qpn) != 1 || !got->hdr.grh_present ||
	    memcmp(got->hdr.gid, peer, 16) ||
	    (__u32)be64toh(got->mad.tid) != (__u32)be64toh(msg->mad.tid) ||
	    got->mad.attr_id != msg->mad.attr_id)
		return false;
	for (i = 0; i < sizeof(got->mad.data); i++)
		if ((got->mad.data[i] ^ msg->mad.data[i]) != 0xff)
			return false;
	return true;
}

/* One request; its answer, or the record of its timeout, comes in @got */
static bool exchange(const struct umad_msg *msg, struct umad_msg *got)
{
	int ms = msg->hdr.timeout_ms * (msg->hdr.retries + 1) + UMAD_SOON_MS;

	return _umad_write(&file, msg) > 0 && umad_readable(&file, ms) &&
	       _umad_read(&file, got) > 0;
}

static bool says_hello(int ms)
{
	long long end = umad_now_ms() + ms;
	struct umad_msg msg, got;

	do {
		msg = ask_msg(MAD_GET, ATTR_HELLO, 0);
		msg.hdr.retries = 0;
		if (exchange(&msg, &got) && is_answer(&msg, &got))
			return true;
		/* No host there, no program there, or not even the network */
		umad_sleep_ms(100);
	} while (umad_now_ms() < end);
	return false;
}

static int count_answers(void)
{
	struct umad_msg msg, got;
	int i, good = 0;

	for (i = 0; i < REQUESTS; i++) {
		msg = ask_msg(MAD_GET, ATTR_HELLO, i);
		good += exchange(&msg, &got) && is_answer(&msg, &got);
	}
	return good;
}

static int count_answers_at_once(void)
{
	struct umad_msg msg[AT_ONCE], got;
	__u32 first = next_tid;
	int i, good = 0;

	for (i = 0; i < AT_ONCE; i++) {
		msg[i] = ask_msg(MAD_GET, ATTR_HELLO, i);
		if (_umad_write(&file, &msg[i]) < 0)
			return -errno;
	}
	for (i = 0; i < AT_ONCE; i++) {
		__u32 n;

		if (!umad_readable(&file, 2 * UMAD_SOON_MS) || _umad_read(&file, &got) < 0)
			break;
		n = (__u32)be64toh(got.mad.tid) - first;
		good += n < AT_ONCE && is_answer(&msg[n], &got);
	}
	return good;
}

/* Asks until the message is there; only the last one is remembered */
static bool was_received(__u32 seed)
{
	long long start = umad_now_ms();
	__be32 what[3] = {};
	struct umad_msg msg, got;

	do {
		msg = ask_msg(MAD_GET, ATTR_RECEIVED, seed);
		if (!exchange(&msg, &got) || got.mad.status)
			return false;
		if (!got.hdr.status)
			memcpy(what, got.mad.data, sizeof(what));
		if (be32toh(what[0]) == seed)
			break;
		umad_sleep_ms(50);
	} while (umad_now_ms() - start < UMAD_LONG_MS);

	ksft_print_msg("%u bytes were received, the first %u as sent, in %lld ms\n",
		       be32toh(what[1]), be32toh(what[2]), umad_now_ms() - start);
	return be32toh(what[0]) == seed && be32toh(what[1]) == MESSAGE &&
	       be32toh(what[2]) == MESSAGE;
}

static bool sends_message(__u32 seed)
{
	struct umad_msg msg = ask_msg(MAD_SEND, ATTR_MESSAGE, seed);
	size_t size;

	msg.hdr.timeout_ms = 0;
	umad_make_active(&msg);
	size = umad_long_pack(&file, &msg, MESSAGE, seed, message.out);
	return write(file.fd, message.out, size) == (ssize_t)size && was_received(seed);
}

static bool gets_message(__u32 seed)
{
	struct umad_msg msg = ask_msg(MAD_GET, ATTR_MESSAGE, seed);
	size_t at = file.hlen + MAD_VENDOR_HDR, same;
	long long start = umad_now_ms();
	ssize_t n;

	msg.hdr.timeout_ms = UMAD_LONG_MS;
	msg.hdr.retries = 0;
	if (_umad_write(&file, &msg) < 0 || !umad_readable(&file, 2 * UMAD_LONG_MS))
		return false;
	n = read(file.fd, message.in, message.max);
	if (n != (ssize_t)at + MESSAGE) {
		ksft_print_msg("read: %zd, %s\n", n, strerror(errno));
		return false;
	}
	same = umad_pattern_same(message.in + at, MESSAGE, seed);
	ksft_print_msg("%d bytes came, the first %zu as sent, in %lld ms\n",
		       MESSAGE, same, umad_now_ms() - start);
	return same == MESSAGE;
}

/* Asks until there is no answer: it takes a moment until the peer is stopped */
static bool times_out(void)
{
	long long end = umad_now_ms() + 30000, start;
	struct umad_msg msg, got;

	do {
		start = umad_now_ms();
		msg = ask_msg(MAD_GET, ATTR_HELLO, 0);
		msg.hdr.timeout_ms = 400;
		msg.hdr.retries = 1;
		if (!exchange(&msg, &got)) {
			ksft_print_msg("neither answer nor timeout: %s\n", strerror(errno));
			return false;
		}
	} while (!got.hdr.status && umad_now_ms() < end);

	ksft_print_msg("status %u after %lld ms\n", got.hdr.status, umad_now_ms() - start);
	return got.hdr.status == ETIMEDOUT && got.hdr.id == id &&
	       !memcmp(got.hdr.gid, peer, 16) && got.hdr.timeout_ms == 400 &&
	       umad_now_ms() - start >= 800 &&
	       (__u32)be64toh(got.mad.tid) == (__u32)be64toh(msg.mad.tid);
}

static bool message_times_out(void)
{
	struct umad_msg msg = ask_msg(MAD_SEND, ATTR_MESSAGE, 1), got;
	size_t size;

	msg.hdr.timeout_ms = 300;
	msg.hdr.retries = 0;
	umad_make_active(&msg);
	size = umad_long_pack(&file, &msg, 5000, 1, message.out);
	return write(file.fd, message.out, size) == (ssize_t)size &&
	       umad_readable(&file, UMAD_SOON_MS) &&
	       _umad_read(&file, &got) == (ssize_t)file.hlen + MAD_HDR &&
	       got.hdr.status == ETIMEDOUT &&
	       (__u32)be64toh(got.mad.tid) == (__u32)be64toh(msg.mad.tid);
}

static void ask(void)
{
	struct umad_msg msg, got;
	int n;

	if (!says_hello(COME_MS))
		ksft_exit_fail_msg("the peer did not come\n");
	ksft_test_result_pass("asks: the peer is there\n");

	n = count_answers();
	ksft_test_result(n == REQUESTS, "asks: %d of %d requests answered\n", n, REQUESTS);
	n = count_answers_at_once();
	ksft_test_result(n == AT_ONCE, "asks: %d of %d at once answered\n", n, AT_ONCE);
	ksft_test_result(sends_message(0x5eed), "asks: sends 1 MiB\n");
	ksft_test_result(gets_message(0xfeed), "asks: gets 1 MiB\n");

	printf("# stop the peer\n");
	fflush(stdout);
	ksft_test_result(times_out(), "asks: request to the stopped peer\n");
	ksft_test_result(message_times_out(), "asks: message to the stopped peer\n");
	printf("# continue the peer\n");
	fflush(stdout);
	ksft_test_result(says_hello(COME_MS), "asks: the peer is back\n");
	ksft_test_result(sends_message(0xbeef), "asks: sends 1 MiB again\n");
	/* The peer answers old requests now, which have timed out: no reader gets that */
	ksft_test_result(!umad_readable(&file, UMAD_QUIET_MS), "asks: nothing comes twice\n");

	msg = ask_msg(MAD_GET, ATTR_BYE, 0);
	ksft_test_result(exchange(&msg, &got) && is_answer(&msg, &got),
			 "asks: the peer says good-bye\n");
}

struct answered {
	int requests, given, received;
	__u32 seed;
	size_t len, same;
};

/* The header that it came with is the one that takes the answer back */
static void answer_one(struct answered *done, ssize_t n)
{
	size_t at = file.hlen + MAD_VENDOR_HDR, size, i;
	struct umad_msg msg = {};
	__be32 what[3];
	__u32 seed;

	memcpy(&msg.hdr, message.in, file.hlen);
	memcpy(&msg.mad, message.in + file.hlen,
	       n - file.hlen < MAD_SIZE ? n - file.hlen : MAD_SIZE);
	seed = be32toh(msg.mad.attr_mod);

	if (msg.mad.method == MAD_SEND) {
		done->seed = seed;
		done->len = n - at;
		done->same = umad_pattern_same(message.in + at, done->len, seed);
		done->received += done->same == MESSAGE;
		return;
	}

	msg.mad.method = MAD_GET_RESP;
	if (be16toh(msg.mad.attr_id) == ATTR_MESSAGE) {
		msg.hdr.retries = 5;
		umad_make_active(&msg);
		size = umad_long_pack(&file, &msg, MESSAGE, seed, message.out);
		done->given += write(file.fd, message.out, size) == (ssize_t)size;
		return;
	}
	for (i = 0; i < sizeof(msg.mad.data); i++)
		msg.mad.data[i] ^= 0xff;
	if (be16toh(msg.mad.attr_id) == ATTR_RECEIVED) {
		what[0] = htobe32(done->seed);
		what[1] = htobe32(done->len);
		what[2] = htobe32(done->same);
		memcpy(msg.mad.data, what, sizeof(what));
	}
	done->requests += _umad_write(&file, &msg) > 0;
}

static void answer(void)
{
	long long end = umad_now_ms() + COME_MS;
	struct answered done = {};
	struct umad_msg msg;
	bool bye = false;
	ssize_t n;

	while (!bye && umad_now_ms() < end) {
		if (!umad_readable(&file, 1000))
			continue;
		n = read(file.fd, message.in, message.max);
		if (n < (ssize_t)file.hlen + MAD_VENDOR_HDR)
			fatal("read");
		memcpy(&msg.mad, message.in + file.hlen, MAD_VENDOR_HDR);
		bye = be16toh(msg.mad.attr_id) == ATTR_BYE;
		answer_one(&done, n);
		end = umad_now_ms() + COME_MS;
	}
	/* The last answer has left when the other one says what it thinks of it */
	ksft_test_result(done.requests > REQUESTS + AT_ONCE,
			 "answers: %d requests\n", done.requests);
	ksft_test_result(done.received == 2, "answers: got 1 MiB twice\n");
	ksft_test_result(done.given == 1, "answers: gave 1 MiB\n");
	ksft_test_result(bye, "answers: until good-bye\n");
}

int main(int argc, char **argv)
{
	struct umad_reg reg = umad_reg_vendor(2, umad_get_send);
	bool first;

	if (argc != 3 || inet_pton(AF_INET6, argv[1], peer) != 1 ||
	    (strcmp(argv[2], "ask,answer") && strcmp(argv[2], "answer,ask"))) {
		fprintf(stderr, "usage: two_hosts GID ask,answer|answer,ask\n");
		return KSFT_FAIL;
	}
	first = !strcmp(argv[2], "ask,answer");

	ksft_print_header();
	ksft_set_plan(ASK_TESTS + ANSWER_TESTS);
	reg.rmpp_version = 1;
	if (umad_find_port(&port))
		ksft_exit_fail_msg("no umad device with a Soft-RoCE port\n");
	if (_umad_open(&port, O_RDWR | O_NONBLOCK, &file) ||
	    _umad_enable_pkey(&file) || _umad_register(&file, &reg))
		fatal(port.dev);
	id = reg.id;
	if (_umad_long_alloc(&message, 2 * MESSAGE))
		fatal("memory");

	if (first)
		ask();
	answer();
	if (!first)
		ask();
	ksft_finished();
}
