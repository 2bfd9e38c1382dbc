// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Writes that must not wait. Where they would have to, EAGAIN comes before anything
 * else is done for them: io_uring asks again and again before it has a thread wait.
 * io_submit() of Linux AIO would wait within submission, where it must not, and is refused.
 */
#include <linux/aio_abi.h>
#include <sys/syscall.h>

#define PAIR_TWO_VARIANTS
#include "kselftest_harness.h"
#include "lib/cgroup.h"
#include "lib/long.h"
#include "lib/pair.h"
#include "lib/statistics.h"
#include "lib/subnet.h"
#include "lib/vector.h"

#define LEN	600	/* some segments */

FIXTURE(nowait)
{
	struct umad_fabric fabric;
	struct umad_port port;
	struct umad_cgroup group;
	struct umad_file file;
	__u32 id;
	char max_sends[16];
	struct umad_statistics before;
};

umad_device_variants(nowait);
umad_device_variant(nowait, rxe, UMAD_RXE);
umad_device_variant(nowait, madsim, UMAD_MADSIM);

FIXTURE_SETUP(nowait)
{
	if (umad_reference())
		SKIP(return, "RWF_NOWAIT is refused");
	umad_subnet_port(variant->kind, &self->fabric, &self->port);
	ASSERT_EQ(0, umad_sysfs_read(self->max_sends, sizeof(self->max_sends), UMAD_MAX_SENDS));
	umad_cgroup_make(&self->group);
	self->id = umad_cgroup_agent(&self->group, &self->port,
				     umad_reg_rmpp(2, umad_get_send), &self->file);
	self->before = umad_statistics(&self->port);
}

FIXTURE_TEARDOWN(nowait)
{
	umad_sysfs_write(UMAD_MAX_SENDS, self->max_sends);
	umad_close(&self->file);
	umad_cgroup_remove(&self->group);
	umad_fabric_stop();
}

/* To ourselves */
static struct umad_msg message(FIXTURE_DATA(nowait) *self, __u8 method, int tid)
{
	return umad_msg(&self->port, self->id, method, tid);
}

static ssize_t write_nowait(FIXTURE_DATA(nowait) *self, void *buf, size_t len)
{
	struct iovec iov = { buf, len };

	return pwritev2(self->file.fd, &iov, 1, -1, RWF_NOWAIT);
}

#define expect_again(self, buf, len) do {				\
	umad_err(EAGAIN, write_nowait(self, buf, len));			\
	umad_expect_changes(&(self)->before, &(self)->port, "");	\
	EXPECT_EQ(0, umad_fdinfo(&(self)->file, "umad-outstanding"));	\
} while (0)

/* On RoCE an address has to be found out, whatever else there is no room for */
TEST_F(nowait, no_room)
{
	struct umad_msg msg = umad_request(&self->port, self->id, MAD_GET, 1, 600000), got;
	long charged;

	if (variant->kind == UMAD_MADSIM)
		SKIP(return, UMAD_ROCE_ONLY);
	expect_again(self, &msg, sizeof(msg));
	ASSERT_EQ(0, umad_sysfs_write(UMAD_MAX_SENDS, "0"));
	expect_again(self, &msg, sizeof(msg));
	ASSERT_EQ(0, umad_sysfs_write(UMAD_MAX_SENDS, self->max_sends));

	charged = umad_cgroup_charged(&self->group);
	umad_cgroup_fill(&self->group);
	expect_again(self, &msg, sizeof(msg));
	EXPECT_EQ(charged, umad_cgroup_charged(&self->group));

	/* Nor is it read for that: a write that waits finds mistakes */
	msg.hdr.id = UMAD_MAX_AGENTS;
	expect_again(self, &msg, sizeof(msg));
	expect_again(self, NULL, sizeof(msg));
	umad_err(EINVAL, write_nowait(self, &msg, UMAD_HDR_NEW + MAD_RMPP_HDR - 1));

	/* ... and sends what has had no effect so far, neither here nor at the receiver */
	ASSERT_EQ(0, umad_cgroup_limit(&self->group, charged + (1 << 20)));
	msg.hdr.id = self->id;
	umad_write(&self->file, &msg);
	umad_read(&self->file, &got);
	umad_expect_empty(&self->file);
}

/* By LID, and every other one with a GRH as well: they are sent, in their order */
TEST_F(nowait, sent)
{
	static struct umad_vector vector;
	struct umad_msg msg, got;
	int i;

	if (variant->kind == UMAD_RXE)
		SKIP(return, "on RoCE the first is refused");
	for (i = 0; i < UMAD_VECTOR; i++) {
		msg = umad_request(&self->port, self->id, MAD_GET, i, 600000);
		msg.hdr.grh_present = i % 2;
		umad_vector_put(&vector, i, &self->file, &msg);
	}
	EXPECT_EQ(UMAD_VECTOR * (ssize_t)umad_mad_len(&self->file),
		  pwritev2(self->file.fd, vector.iov, UMAD_VECTOR, -1, RWF_NOWAIT));
	for (i = 0; i < UMAD_VECTOR; i++) {
		umad_read(&self->file, &got);
		EXPECT_EQ(i, (int)(__u32)be64toh(got.mad.tid));
	}
	umad_expect_empty(&self->file);
	/* All of them are outstanding, and mistakes are mistakes */
	umad_err(EINVAL, write_nowait(self, vector.buf[0], sizeof(msg)));
	msg.hdr.id = 17;
	umad_err(EIO, write_nowait(self, &msg, sizeof(msg)));
	umad_err(EFAULT, write_nowait(self, NULL, sizeof(msg)));
}

/*
 * A message that is cut into many MADs takes its time, wherever it goes. It has had no effect:
 * a write that waits can send the same. In a vector what is before it is sent.
 */
TEST_F(nowait, long_message)
{
	struct umad_msg head = umad_long_head(&self->port, self->id, MAD_SEND, 2);
	struct umad_msg msg = message(self, MAD_SEND, 3), got;
	struct iovec iov[2] = { { &msg, sizeof(msg) } };
	struct umad_long long_msg;

	umad_long_alloc(&long_msg, 4096);
	iov[1].iov_base = long_msg.out;
	iov[1].iov_len = umad_long_pack(&self->file, &head, LEN, 3, long_msg.out);
	expect_again(self, iov[1].iov_base, iov[1].iov_len);
	umad_expect_empty(&self->file);
	/* On RoCE the first one is refused */
	if (variant->kind == UMAD_MADSIM) {
		EXPECT_EQ((ssize_t)sizeof(msg), pwritev2(self->file.fd, iov, 2, -1, RWF_NOWAIT));
		umad_read(&self->file, &got);
		EXPECT_EQ(3, (int)be64toh(got.mad.tid));
	}
	umad_long_write(&self->file, &head, LEN, 3, &long_msg);
	umad_long_read(&self->file, self->id, &head, LEN, 3, &long_msg);
	umad_expect_empty(&self->file);
	umad_long_free(&long_msg);
}

/*
 * AIO. The reference refuses to begin. A driver that can do several at a time is asked, and
 * its refusal is the result. Neither waits.
 */
#define expect_refused(ctx, op, file, buf, len) do {			\
	struct iocb __iocb = {						\
		.aio_fildes = (file)->fd,				\
		.aio_lio_opcode = IOCB_CMD_##op,			\
		.aio_buf = (uintptr_t)(buf),				\
		.aio_nbytes = len,					\
	}, *__list = &__iocb;						\
	struct timespec __soon = { UMAD_SOON_MS / 1000, 0 };		\
	struct io_event __event;					\
									\
	if (syscall(__NR_io_submit, ctx, 1, &__list) == -1) {		\
		EXPECT_EQ(EINVAL, errno);				\
		break;							\
	}								\
	ASSERT_EQ(1, syscall(__NR_io_getevents, ctx, 1, 1, &__event, &__soon)); \
	ASSERT_EQ(-EINVAL, __event.res);				\
} while (0)

TEST_F(pair, io_submit)
{
	struct umad_msg msg = umad_msg(&self->port, self->cid, MAD_SEND, 1), got;
	aio_context_t ctx = 0;
	__u8 buf[sizeof(msg)];
	size_t len;

	if (syscall(__NR_io_setup, 4, &ctx))
		SKIP(return, "this kernel has no io_submit()");
	/* Who takes this one takes others as well, and would sleep below */
	expect_refused(ctx, PREAD, &self->server, &got, sizeof(got));
	umad_make_blocking(&self->server);
	len = umad_pack(&self->client, &msg, MAD_SIZE, buf);
	expect_refused(ctx, PREAD, &self->server, &got, sizeof(got));
	expect_refused(ctx, PWRITE, &self->client, buf, len);

	/* Nor if there is a MAD, of which that one is the first */
	umad_write(&self->client, &msg);
	ASSERT_TRUE(umad_readable(&self->server, UMAD_SOON_MS));
	expect_refused(ctx, PREAD, &self->server, &got, sizeof(got));
	umad_read(&self->server, &got);
	EXPECT_FALSE(umad_readable(&self->server, 0));
	syscall(__NR_io_destroy, ctx);
}

TEST_HARNESS_MAIN
