// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Faults in what file.c, ioctl.c and agent.c of the driver do: descriptors and agents */
#define PAIR_TWO_VARIANTS
#include "kselftest_harness.h"
#include "lib/fail_nth.h"
#include "lib/pair.h"

TEST_FAIL_NTH(pair, open, 3)
{
	struct umad_file file;

	fault_call(fault, _umad_open(&self->port, O_RDWR, &file));
	umad_close(&file);
	umad_open(&self->port, O_RDWR, &file);
	umad_close(&file);
}

/* With agents, sends that are outstanding and MADs that were not read */
TEST_FAIL_NTH(pair, close, 0)
{
	struct umad_file file;
	struct umad_msg msg;
	__u32 id;

	id = umad_open_agent(&self->port, &variant->abi,
			     umad_reg_vendor(variant->abi.api, 1ULL << FREE_METHOD), &file);
	msg = umad_msg(&self->port, id, FREE_METHOD, 1);
	umad_write(&file, &msg);
	ASSERT_TRUE(umad_readable(&file, UMAD_SOON_MS));
	msg = umad_request(&self->port, id, MAD_GET, 2, 60000);
	umad_write(&file, &msg);
	umad_read(&self->server, &msg);

	EXPECT_EQ(0, fault_in(fault, close(file.fd)));
	/* The method is free again: the next run registers it */
}

TEST_FAIL_NTH(pair, register, 5)
{
	struct umad_reg reg = umad_reg_vendor(variant->abi.api, 1ULL << FREE_METHOD);
	struct umad_file file;

	umad_open(&self->port, O_RDWR, &file);
	if (fault_call(fault, _umad_register(&file, &reg))) {
		EXPECT_EQ(0xdeadbeef, reg.id);
		EXPECT_EQ(0, umad_fdinfo(&file, "umad-agents"));
		/* The layout of the header is not settled yet */
		umad_enable_pkey(&file);
		umad_register(&file, &reg);
	}
	EXPECT_EQ(0, reg.id);
	EXPECT_EQ(1, umad_fdinfo(&file, "umad-agents"));
	umad_close(&file);
}

/* A request for too much, which is told what there is */
TEST_FAIL_NTH(pair, register_flags, 1)
{
	struct umad_reg reg = umad_reg_vendor(2, 1ULL << FREE_METHOD);

	if (variant->abi.api == 1)
		SKIP(return, "there are no flags in REGISTER_AGENT");

	reg.flags = 0xffff;
	EXPECT_EQ(-1, fault_in(fault, _umad_register(&self->client, &reg)));
	if (errno != EINVAL)
		fault_expect(fault, errno);
	else
		EXPECT_EQ(IB_USER_MAD_USER_RMPP, reg.flags);
	EXPECT_EQ(1, umad_fdinfo(&self->client, "umad-agents"));
}

TEST_FAIL_NTH(pair, unregister, 0)
{
	struct umad_reg reg = umad_reg_vendor(variant->abi.api, 1ULL << FREE_METHOD);

	umad_register(&self->client, &reg);
	if (fault_call(fault, _umad_unregister(&self->client, reg.id))) {
		EXPECT_EQ(2, umad_fdinfo(&self->client, "umad-agents"));
		umad_unregister(&self->client, reg.id);
	}
	EXPECT_EQ(1, umad_fdinfo(&self->client, "umad-agents"));
}

FAIL_NTH_MAIN
