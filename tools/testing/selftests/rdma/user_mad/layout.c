// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * ENABLE_PKEY, and which of the two header layouts a descriptor speaks
 *
 * Also on: 6.1, 6.12, 32-bit
 */
#include "kselftest_harness.h"
#include "lib/utils.h"

FIXTURE(layout)
{
	struct umad_port port;
	struct umad_file file;
	struct umad_file server;
	__u32 sid;
};

FIXTURE_SETUP(layout)
{
	umad_port(&self->port);
	umad_open(&self->port, O_RDWR | O_NONBLOCK, &self->file);
	self->sid = umad_open_agent(&self->port, &umad_abi_new,
				    umad_reg_vendor(1, 1ULL << MAD_SEND), &self->server);
}

FIXTURE_TEARDOWN(layout)
{
	umad_close(&self->file);
	umad_close(&self->server);
}

/* The layout of the packets that a descriptor writes and reads back is that of @size */
#define expect_layout(self, agent, size) do {				\
	struct umad_msg __msg, __got;					\
	__u8 __buf[UMAD_HDR_NEW + MAD_SIZE];				\
									\
	(self)->file.hlen = size;					\
	__msg = umad_request(&(self)->port, agent, MAD_SEND, 0x1234, 1); \
	umad_write(&(self)->file, &__msg);				\
	umad_read(&(self)->server, &__got);				\
	EXPECT_EQ(0, memcmp(__got.mad.data, __msg.mad.data, 216));	\
	ASSERT_TRUE(umad_readable(&(self)->file, UMAD_SOON_MS));	\
	EXPECT_EQ((ssize_t)(size) + MAD_HDR,				\
		  read((self)->file.fd, __buf, sizeof(__buf)));		\
	EXPECT_EQ(MAD_CLASS_VENDOR2, __buf[(size) + 1]);		\
} while (0)

/* ... for one more agent, registered by ioctl @api */
#define expect_agent(self, api, size) do {				\
	struct umad_reg __reg = umad_reg_send_only(api);		\
									\
	umad_register(&(self)->file, &__reg);				\
	expect_layout(self, __reg.id, size);				\
} while (0)

TEST_F(layout, v1_first_is_old)
{
	expect_agent(self, 1, UMAD_HDR_OLD);

	/* ... for the life of the descriptor */
	expect_agent(self, 2, UMAD_HDR_OLD);
	umad_err_enable_pkey(EINVAL, &self->file);
	expect_layout(self, 1, UMAD_HDR_OLD);

	umad_unregister(&self->file, 0);
	umad_unregister(&self->file, 1);
	umad_err_enable_pkey(EINVAL, &self->file);
	expect_agent(self, 2, UMAD_HDR_OLD);
}

TEST_F(layout, v2_first_is_new)
{
	expect_agent(self, 2, UMAD_HDR_NEW);
	expect_agent(self, 1, UMAD_HDR_NEW);
	umad_err_enable_pkey(EINVAL, &self->file);
	expect_layout(self, 1, UMAD_HDR_NEW);
}

TEST_F(layout, enable_pkey_is_new)
{
	/* Twice before use is fine, whatever the argument */
	umad_enable_pkey(&self->file);
	umad_enable_pkey(&self->file);
	EXPECT_EQ(0, ioctl(self->file.fd, IB_USER_MAD_ENABLE_PKEY, ~0UL));
	expect_agent(self, 1, UMAD_HDR_NEW);
	umad_err_enable_pkey(EINVAL, &self->file);
	expect_agent(self, 2, UMAD_HDR_NEW);
}

/* A refused registration does not use the descriptor */
TEST_F(layout, refused_v1_decides_nothing)
{
	struct umad_reg reg = umad_reg_send_only(1);

	reg.qpn = 2;
	umad_err_register(EINVAL, &self->file, &reg);
	umad_err(EFAULT, ioctl(self->file.fd, IB_USER_MAD_REGISTER_AGENT, NULL));
	umad_enable_pkey(&self->file);
	expect_agent(self, 1, UMAD_HDR_NEW);
}

TEST_F(layout, refused_v2_decides_nothing)
{
	struct umad_reg reg = umad_reg_send_only(2);

	reg.flags = 2;
	umad_err_register(EINVAL, &self->file, &reg);
	reg = umad_reg_vendor(2, 1ULL << MAD_SEND);	/* The server has it */
	umad_err_register(EINVAL, &self->file, &reg);
	expect_agent(self, 1, UMAD_HDR_OLD);
}

/* Before it is used a descriptor speaks the old layout */
TEST_F(layout, unused_is_old)
{
	__u8 buf[UMAD_HDR_NEW + MAD_SIZE] = { 0 };

	umad_err(EAGAIN, read(self->file.fd, buf, UMAD_HDR_OLD));
	umad_err(EINVAL, read(self->file.fd, buf, UMAD_HDR_OLD - 1));
	umad_err(EIO, write(self->file.fd, buf, UMAD_HDR_OLD + MAD_RMPP_HDR));
	umad_err(EINVAL, write(self->file.fd, buf, UMAD_HDR_OLD + MAD_RMPP_HDR - 1));

	umad_enable_pkey(&self->file);
	umad_err(EINVAL, read(self->file.fd, buf, UMAD_HDR_NEW - 1));
	umad_err(EINVAL, write(self->file.fd, buf, UMAD_HDR_NEW + MAD_RMPP_HDR - 1));
}

TEST_HARNESS_MAIN
