// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Writes that must not wait. Where they would have to, EAGAIN comes before anything
 * else is done for them: io_uring asks again and again before it has a thread wait.
 */
#include <sys/uio.h>

#include "kselftest_harness.h"
#include "lib/cgroup.h"
#include "lib/fabric.h"
#include "lib/long.h"
#include "lib/statistics.h"

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

FIXTURE_VARIANT(nowait)
{
	bool madsim;
};

FIXTURE_VARIANT_ADD(nowait, rxe)
{
	.madsim = false,
};

FIXTURE_VARIANT_ADD(nowait, madsim)
{
	.madsim = true,
};

/* self->file is of a group in which nobody is */
FIXTURE_SETUP(nowait)
{
	struct umad_cgroup root = { "/sys/fs/cgroup" };
	struct umad_reg reg = umad_reg_vendor(2, 1ULL << MAD_GET | 1ULL << MAD_SEND);

	self->file.fd = -1;
	self->max_sends[0] = 0;
	if (umad_reference())
		SKIP(return, "RWF_NOWAIT is refused");
	if (variant->madsim) {
		if (!umad_have_fabrics())
			SKIP(return, UMAD_NO_FABRICS);
		self->fabric = (struct umad_fabric){ .hosts = 2 };
		umad_fabric_start(&self->fabric);
		umad_fabric_up(&self->fabric);
		self->port = self->fabric.host[0];
	} else {
		umad_port(&self->port);
	}
	ASSERT_EQ(0, umad_sysfs_read(self->max_sends, sizeof(self->max_sends),
				     UMAD_MAX_SENDS));
	umad_cgroup_make(&self->group);
	if (umad_cgroup_charged(&self->group) < 0)
		SKIP(return, UMAD_NO_CGROUP);
	ASSERT_EQ(0, umad_cgroup_join(&self->group));
	umad_open(&self->port, O_RDWR | O_NONBLOCK, &self->file);
	ASSERT_EQ(0, umad_cgroup_join(&root));
	umad_enable_pkey(&self->file);
	reg.rmpp_version = 1;
	self->id = umad_register(&self->file, &reg);
	self->before = umad_statistics(&self->port);
}

FIXTURE_TEARDOWN(nowait)
{
	if (self->max_sends[0])
		umad_fabric_put(UMAD_MAX_SENDS, self->max_sends);
	umad_close(&self->file);
	umad_cgroup_remove(&self->group);
	if (self->fabric.hosts)
		umad_fabric_stop();
}

/* To ourselves */
static struct umad_msg message(FIXTURE_DATA(nowait) *self, __u8 method, int tid)
{
	struct umad_msg msg = umad_msg(&self->port, self->id, method, tid);

	if (self->fabric.hosts) {
		msg.hdr.grh_present = 0;
		msg.hdr.lid = htobe16(self->fabric.lid[0]);
	}
	return msg;
}

static ssize_t write_nowait(FIXTURE_DATA(nowait) *self, void *buf, size_t len)
{
	struct iovec iov = { buf, len };

	return pwritev2(self->file.fd, &iov, 1, -1, RWF_NOWAIT);
}

#define expect_again(self, buf, len) do {				\
	errno = 0;							\
	EXPECT_EQ(-1, write_nowait(self, buf, len));			\
	EXPECT_EQ(EAGAIN, errno);					\
	umad_expect_changes(&(self)->before, &(self)->port, "");	\
	EXPECT_EQ(0, umad_fdinfo(&(self)->file, "umad-outstanding"));	\
} while (0)

/* On RoCE an address has to be found out, whatever else there is no room for */
TEST_F(nowait, no_room)
{
	struct umad_msg msg = message(self, MAD_SEND, 1);
	long charged;

	if (variant->madsim)
		SKIP(return, UMAD_ROCE_ONLY);
	ASSERT_EQ(0, umad_fabric_put(UMAD_MAX_SENDS, "0"));
	expect_again(self, &msg, sizeof(msg));
	ASSERT_EQ(0, umad_fabric_put(UMAD_MAX_SENDS, self->max_sends));

	charged = umad_cgroup_charged(&self->group);
	ASSERT_EQ(0, umad_cgroup_limit(&self->group, charged));
	expect_again(self, &msg, sizeof(msg));
	EXPECT_EQ(charged, umad_cgroup_charged(&self->group));

	/* Mistakes are mistakes */
	msg.hdr.id = UMAD_MAX_AGENTS;
	EXPECT_EQ(-1, write_nowait(self, &msg, sizeof(msg)));
	EXPECT_EQ(EINVAL, errno);
	msg.hdr.id = 17;
	EXPECT_EQ(-1, write_nowait(self, &msg, sizeof(msg)));
	EXPECT_EQ(EIO, errno);
}

/* What is cut into many MADs takes its time, wherever it goes */
TEST_F(nowait, long_message)
{
	struct umad_msg head = message(self, MAD_SEND, 2), got;
	__u8 buf[UMAD_HDR_NEW + MAD_VENDOR_HDR + LEN];
	__u8 in[sizeof(buf)];
	size_t size;

	umad_make_active(&head);
	head.hdr.retries = 3;
	size = umad_long_pack(&self->file, &head, LEN, 3, buf);
	expect_again(self, buf, size);
	umad_expect_empty(&self->file);

	/* It has had no effect: the same can be sent by who waits */
	ASSERT_EQ((ssize_t)size, write(self->file.fd, buf, size));
	ASSERT_TRUE(umad_readable(&self->file, UMAD_SOON_MS));
	EXPECT_EQ((ssize_t)size, read(self->file.fd, in, sizeof(in)));
	memcpy(&got.mad, in + self->file.hlen, MAD_VENDOR_HDR);
	EXPECT_EQ(2, (int)be64toh(got.mad.tid));
	umad_expect_empty(&self->file);
}

/* Of a writev() those before it were sent */
TEST_F(nowait, long_message_in_a_vector)
{
	struct umad_msg msg = message(self, MAD_SEND, 3);
	struct umad_msg head = message(self, MAD_SEND, 4), got;
	__u8 buf[UMAD_HDR_NEW + MAD_VENDOR_HDR + LEN];
	struct iovec iov[2] = { { &msg, sizeof(msg) }, { buf, sizeof(buf) } };

	if (!variant->madsim)
		SKIP(return, "on RoCE the first is refused");
	umad_make_active(&head);
	iov[1].iov_len = umad_long_pack(&self->file, &head, LEN, 3, buf);
	EXPECT_EQ((ssize_t)sizeof(msg),
		  pwritev2(self->file.fd, iov, 2, -1, RWF_NOWAIT));
	umad_read(&self->file, &got);
	EXPECT_EQ(3, (int)be64toh(got.mad.tid));
	umad_expect_empty(&self->file);
}

TEST_HARNESS_MAIN
