// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The newer tracepoints: one event for each thing that happens, which names the agent,
 * and no other event. Those of read and write are in trace.c.
 */
#include "kselftest_harness.h"
#include "lib/device.h"
#include "lib/trace.h"

#define NO_EVENTS	"the reference has no such event"

FIXTURE(events)
{
	struct umad_device device;
	struct umad_port *port;
	struct umad_file file;
	__u32 id;
	struct umad_tracing tracing;
};

FIXTURE_SETUP(events)
{
	if (umad_reference())
		SKIP(return, NO_EVENTS);
	umad_device(&self->device, UMAD_MADSIM);
	ASSERT_EQ(0, umad_device_up(&self->device));
	self->port = &self->device.port;
	self->id = umad_open_agent(self->port, &umad_abi_new,
				   umad_reg_vendor(2, 1ULL << MAD_SEND), &self->file);
	ASSERT_EQ(0, umad_tracing_start(&self->tracing))
		TH_LOG("tracefs: %s", strerror(errno));
}

FIXTURE_TEARDOWN(events)
{
	umad_tracing_stop(&self->tracing);
	umad_close(&self->file);
	umad_device_free(&self->device);
}

TEST_F(events, timeout)
{
	struct umad_msg msg = umad_lost_request(self->port, self->id, MAD_GET,
						0x1122334455667788, 1), got;
	char want[128];

	msg.mad.attr_id = htobe16(0x99);
	umad_write(&self->file, &msg);
	umad_read_timeout(&self->file, &got);
	snprintf(want, sizeof(want),
		 ":1 id %u reason timeout class 0x%02x method 0x01 attr_id 0x0099 tid 0x%016llx",
		 self->id, MAD_CLASS_VENDOR2, (unsigned long long)be64toh(got.mad.tid));
	umad_expect_event(&self->tracing, "ib_umad_timeout", want);

	/* A request that ends with its agent has not timed out */
	msg.hdr.timeout_ms = 600000;
	umad_write(&self->file, &msg);
	umad_unregister(&self->file, self->id);
	umad_expect_no_event(&self->tracing, "ib_umad_timeout");
	umad_expect_no_event(&self->tracing, "ib_umad_drop");
}

TEST_F(events, drop)
{
	struct umad_msg msg = umad_msg(self->port, self->id, MAD_SEND, 0x76), got;
	char want[128];
	__u64 tid;

	umad_write(&self->file, &msg);
	umad_read(&self->file, &got);
	umad_expect_no_event(&self->tracing, "ib_umad_drop");
	tid = be64toh(got.mad.tid) + 1;

	/* A group that user space cannot be told of */
	msg = umad_msg(self->port, self->id, MAD_SEND, 0x77);
	umad_msg_to_group(&msg);
	umad_write(&self->file, &msg);
	snprintf(want, sizeof(want),
		 ":1 id %u reason address class 0x%02x method 0x03 attr_id 0x%04x tid 0x%016llx",
		 self->id, MAD_CLASS_VENDOR2, be16toh(msg.mad.attr_id), (unsigned long long)tid);
	umad_expect_event(&self->tracing, "ib_umad_drop", want);
}

TEST_HARNESS_MAIN
