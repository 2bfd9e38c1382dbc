// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The newer tracepoints: one event for each thing that happens, which says to whom,
 * and none for what did not. Those of read and write are in trace.c.
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

/* Exactly one event since the last time, with this text behind the device's index */
#define expect_one(self, name, want) do {				\
	char __text[512], *__at;					\
	int __n;							\
									\
	umad_within(UMAD_SOON_MS,					\
		    (__n = umad_tracing_events(&(self)->tracing, name, __text, \
					       sizeof(__text))));	\
	ASSERT_EQ(1, __n)						\
		TH_LOG("events %s", name);				\
	__at = strchr(__text, ':');					\
	ASSERT_NE(NULL, __at);						\
	EXPECT_STREQ(want, __at);					\
	EXPECT_EQ(0, umad_tracing_write(&(self)->tracing, "trace", "")); \
} while (0)

#define expect_none(self, name) do {					\
	char __text[512];						\
									\
	EXPECT_EQ(0, umad_tracing_events(&(self)->tracing, name, __text, \
					 sizeof(__text)))		\
		TH_LOG("%s: %s", name, __text);				\
} while (0)

static struct umad_msg message(FIXTURE_DATA(events) *self, __u8 method, __u64 tid)
{
	return umad_msg(self->port, self->id, method, tid);
}

TEST_F(events, timeout)
{
	struct umad_msg msg = message(self, MAD_GET, 0x1122334455667788), got;
	char want[128];

	umad_msg_to_nobody(&msg);
	msg.hdr.timeout_ms = 1;
	msg.mad.attr_id = htobe16(0x99);
	umad_write(&self->file, &msg);
	umad_read_timeout(&self->file, &got);
	snprintf(want, sizeof(want),
		 ":1 id %u reason timeout class 0x%02x method 0x01 attr_id 0x0099 tid 0x%016llx",
		 self->id, MAD_CLASS_VENDOR2, (unsigned long long)be64toh(got.mad.tid));
	expect_one(self, "ib_umad_timeout", want);

	/* What ends with its agent has not timed out */
	msg.hdr.timeout_ms = 600000;
	umad_write(&self->file, &msg);
	umad_unregister(&self->file, self->id);
	expect_none(self, "ib_umad_timeout");
	expect_none(self, "ib_umad_drop");
}

TEST_F(events, drop)
{
	struct umad_msg msg = message(self, MAD_SEND, 0x76), got;
	char want[128];
	__u64 tid;

	umad_write(&self->file, &msg);
	umad_read(&self->file, &got);
	expect_none(self, "ib_umad_drop");
	tid = be64toh(got.mad.tid) + 1;

	/* A group that user space cannot be told of */
	msg = message(self, MAD_SEND, 0x77);
	umad_msg_to_group(&msg);
	umad_write(&self->file, &msg);
	snprintf(want, sizeof(want),
		 ":1 id %u reason address class 0x%02x method 0x03 attr_id 0x%04x tid 0x%016llx",
		 self->id, MAD_CLASS_VENDOR2, be16toh(msg.mad.attr_id),
		 (unsigned long long)tid);
	expect_one(self, "ib_umad_drop", want);
}

TEST_HARNESS_MAIN
