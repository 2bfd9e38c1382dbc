// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The limit of the receive queue: of more than 200,000 unread MADs the rest is
 * dropped, while timeouts are still reported. Filling the queue takes minutes on a kernel
 * with sanitizers, where KUnit has the limit.
 */
#define PAIR_ONE_VARIANT
#include "kselftest_harness.h"
#include "lib/pair.h"
#include "lib/statistics.h"
#include "lib/vector.h"

#define LIMIT		200000
#define BATCH		UMAD_VECTOR
#define FENCE_METHOD	0x20

static struct umad_vector vector;

/*
 * Sends a batch and one MAD more, to the client itself: when that has arrived
 * the others have too, and no receive buffer was missing.
 */
static int send_batch(FIXTURE_DATA(pair) *self, __u32 tid)
{
	struct umad_msg msg;
	ssize_t size = 0;
	int i;

	for (i = 0; i < BATCH; i++) {
		msg = umad_msg(&self->port, self->cid, MAD_SEND, tid + i);
		umad_vector_put(&vector, i, &self->client, &msg);
		size += vector.iov[i].iov_len;
	}
	if (writev(self->client.fd, vector.iov, BATCH) != size)
		return -1;
	msg = umad_msg(&self->port, self->cid, FENCE_METHOD, ~tid);
	if (_umad_write(&self->client, &msg) < 0 || !umad_readable(&self->client, UMAD_SOON_MS))
		return -1;
	return _umad_read(&self->client, &msg) < 0 ? -1 : 0;
}

TEST_F_TIMEOUT(pair, drops_beyond_the_limit, 600)
{
	size_t size = self->server.hlen + MAD_SIZE;
	struct umad_reg fence = umad_reg_vendor(variant->abi.api, 1ULL << FENCE_METHOD);
	struct umad_msg msg;
	long n, received = 0, dropped = 0;
	int i, timeouts = 0;
	ssize_t ret;

	if (umad_slow_kernel())
		SKIP(return, "filling the queue takes minutes with sanitizers");
	umad_register(&self->client, &fence);
	if (!umad_reference())
		dropped = umad_statistic(&self->port, "dropped_limit");

	for (n = 0; n < LIMIT + 16 * BATCH; n += BATCH)
		ASSERT_EQ(0, send_batch(self, n));

	/* A handler takes one more before it sees that there are too many */
	if (!umad_reference())
		EXPECT_EQ(n - LIMIT - 1, umad_statistic(&self->port, "dropped_limit") - dropped);

	/* A timeout still gets in */
	msg = umad_lost_request(&self->port, self->sid, MAD_GET, 0x12345678, 1);
	umad_write(&self->server, &msg);
	if (umad_reference())
		umad_sleep_ms(5 * UMAD_QUIET_MS);
	else
		ASSERT_TRUE(umad_fdinfo_reaches(&self->server, "umad-unread", LIMIT + 2,
						UMAD_SOON_MS));

	umad_vector_rooms(&vector, &self->server);
	while ((ret = readv(self->server.fd, vector.iov, BATCH)) > 0) {
		/* A timeout record is short, and so ends the call */
		if (ret % size) {
			ret -= ret % size;
			timeouts++;
		}
		for (i = 0; i < ret / (ssize_t)size; i++) {
			EXPECT_EQ(received, (__u32)be64toh(umad_vector_mad(&vector, i).tid));
			received++;
		}
	}
	EXPECT_EQ(EAGAIN, errno);
	EXPECT_EQ(1, timeouts);
	EXPECT_EQ(LIMIT + 1, received);

	/* With room again, all is well */
	ASSERT_EQ(0, send_batch(self, n));
	umad_read(&self->server, &msg);
	EXPECT_EQ(n, (__u32)be64toh(msg.mad.tid));
}

TEST_HARNESS_MAIN
