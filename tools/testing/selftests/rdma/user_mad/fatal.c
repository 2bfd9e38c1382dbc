// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The reference does not survive these: each ends in an oops there, so run.sh leaves
 * them out, and a reference meets them one by one, each on a kernel that can be thrown
 * away.
 */
#include "kselftest_harness.h"
#include "lib/issm.h"
#include "lib/trace.h"

TEST(traced_write_without_device)
{
	struct umad_tracing tracing;
	struct umad_device device;
	struct umad_file file;
	struct umad_msg msg;

	ASSERT_EQ(0, umad_device_make(&device, UMAD_RXE));
	msg = umad_msg(&device.port, umad_open_agent(&device.port, &umad_abi_new,
						     umad_reg_send_only(2), &file), MAD_GET, 1);
	EXPECT_EQ(0, umad_tracing_start(&tracing));
	EXPECT_EQ(0, umad_device_remove(&device));
	umad_err_write(EIO, &file, &msg);
	umad_tracing_stop(&tracing);
	umad_close(&file);
	umad_device_free(&device);
}

/* The openers are still in line when the holder makes room */
TEST(issm_line_without_device)
{
	struct umad_issm issm;
	int i;

	if (!umad_have_fabrics())
		SKIP(return, UMAD_NO_FABRICS);
	ASSERT_EQ(0, _umad_issm_make(&issm, UMAD_MADSIM));
	umad_issm_queue(&issm);
	EXPECT_EQ(0, umad_device_remove(&issm.device));
	EXPECT_EQ(0, close(issm.holder));
	issm.holder = -1;
	for (i = 0; i < LINE; i++) {
		ASSERT_TRUE(umad_call_returned(&issm.line[i], UMAD_SOON_MS));
		EXPECT_EQ(-1, issm.line[i].ret);
		EXPECT_EQ(ENXIO, issm.line[i].err);
	}
	umad_issm_free(&issm);
}

TEST_HARNESS_MAIN
