// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Many descriptors of a port that do the same at the same time. What one of them has
 * outstanding is nothing to the others, also when transaction ID, class and destination
 * are the same.
 */
#include <sys/resource.h>

#include "kselftest_harness.h"
#include "lib/statistics.h"
#include "lib/subnet.h"

#define CROWD		1000
#define LONG_MS		600000

FIXTURE(crowd)
{
	struct umad_fabric fabric;
	struct umad_port port;
	struct umad_file file[CROWD];
	__u32 id[CROWD];
};

FIXTURE_VARIANT(crowd)
{
	enum umad_device_kind kind;
};

umad_device_variant(crowd, rxe, UMAD_RXE);
umad_device_variant(crowd, madsim, UMAD_MADSIM);

FIXTURE_SETUP(crowd)
{
	struct rlimit limit = { CROWD + 64, CROWD + 64 };
	int i;

	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &limit));
	umad_subnet_port(variant->kind, &self->fabric, &self->port);
	for (i = 0; i < CROWD; i++)
		self->id[i] = umad_open_agent(&self->port, &umad_abi_new,
					      umad_reg_send_only(2), &self->file[i]);
}

FIXTURE_TEARDOWN(crowd)
{
	int i;

	for (i = 0; i < CROWD; i++)
		umad_close(&self->file[i]);
	umad_fabric_stop();
}

/* The kernel leaves the transaction ID of a response as it is */
TEST_F_TIMEOUT(crowd, same_response, UMAD_HANGS)
{
	struct umad_msg msg;
	int i;

	for (i = 0; i < CROWD; i++) {
		msg = umad_msg(&self->port, self->id[i], MAD_GET_RESP, 7);
		umad_msg_to_nobody(&msg);
		msg.hdr.timeout_ms = LONG_MS;
		ASSERT_EQ((ssize_t)sizeof(msg), _umad_write(&self->file[i], &msg))
			TH_LOG("write %d of %d: %s", i, CROWD, strerror(errno));
	}
	/* Each of them is outstanding */
	for (i = 0; i < CROWD; i += 99) {
		msg = umad_msg(&self->port, self->id[i], MAD_GET_RESP, 7);
		umad_msg_to_nobody(&msg);
		umad_err_write(EINVAL, &self->file[i], &msg);
	}
}

TEST_HARNESS_MAIN
