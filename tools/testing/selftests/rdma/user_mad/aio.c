// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * io_submit() of Linux AIO would have to wait within submission, where it must not.
 * It is refused, as by any device that cannot do it.
 */
#include <linux/aio_abi.h>
#include <sys/syscall.h>

#define PAIR_TWO_VARIANTS
#include "kselftest_harness.h"
#include "lib/pair.h"

#define NO_AIO	"this kernel has no io_submit()"

static int submit(aio_context_t ctx, int op, const struct umad_file *file, void *buf, size_t len)
{
	struct iovec iov = { buf, len };
	struct iocb iocb = {
		.aio_fildes = file->fd,
		.aio_lio_opcode = op,
		.aio_buf = (uintptr_t)buf,
		.aio_nbytes = len,
	};
	struct iocb *list = &iocb;

	if (op == IOCB_CMD_PREADV || op == IOCB_CMD_PWRITEV) {
		iocb.aio_buf = (uintptr_t)&iov;
		iocb.aio_nbytes = 1;
	}
	errno = 0;
	return syscall(__NR_io_submit, ctx, 1, &list);
}

/*
 * The reference refuses to begin. A driver that can do several at a time is asked, and
 * its refusal is the result. Neither waits.
 */
#define expect_refused(ctx, op, file, buf, len) do {			\
	struct timespec __soon = { UMAD_SOON_MS / 1000, 0 };		\
	struct io_event __event;					\
	long __ret = submit(ctx, op, file, buf, len);			\
									\
	if (__ret == -1) {						\
		EXPECT_EQ(EINVAL, errno);				\
		break;							\
	}								\
	ASSERT_EQ(1, syscall(__NR_io_getevents, ctx, 1, 1, &__event, &__soon)); \
	ASSERT_EQ(-EINVAL, __event.res);				\
} while (0)

TEST_F(pair, io_submit)
{
	struct umad_msg msg = umad_msg(&self->port, self->cid, MAD_SEND, 1);
	aio_context_t ctx = 0;
	__u8 buf[sizeof(msg)];
	struct umad_msg got;
	size_t len;
	int ops;

	if (syscall(__NR_io_setup, 4, &ctx))
		SKIP(return, NO_AIO);
	/* Who takes this one takes others as well, and would sleep below */
	expect_refused(ctx, IOCB_CMD_PREAD, &self->server, &got, sizeof(got));
	umad_make_blocking(&self->server);
	len = umad_pack(&self->client, &msg, MAD_SIZE, buf);
	for (ops = 0; ops < 2; ops++) {
		expect_refused(ctx, ops ? IOCB_CMD_PREADV : IOCB_CMD_PREAD,
			       &self->server, &got, sizeof(got));
		expect_refused(ctx, ops ? IOCB_CMD_PWRITEV : IOCB_CMD_PWRITE,
			       &self->client, buf, len);
	}
	EXPECT_FALSE(umad_readable(&self->server, UMAD_QUIET_MS));

	/* Nor if there is */
	umad_write(&self->client, &msg);
	ASSERT_TRUE(umad_readable(&self->server, UMAD_SOON_MS));
	expect_refused(ctx, IOCB_CMD_PREAD, &self->server, &got, sizeof(got));
	umad_read(&self->server, &got);
	EXPECT_EQ(1, (int)be64toh(got.mad.tid));
	syscall(__NR_io_destroy, ctx);
}

TEST_HARNESS_MAIN
