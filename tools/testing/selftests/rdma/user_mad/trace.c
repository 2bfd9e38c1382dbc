// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tracepoints: their names, the layout of their fields, which scripts depend
 * on, and one event for each operation.
 *
 * Also on: 6.1, 6.12, smp
 */
#define PAIR_TWO_VARIANTS
#include "kselftest_harness.h"
#include "lib/device.h"
#include "lib/pair.h"
#include "lib/trace.h"

/* The text of an event behind the device */
static void expected_text(char *text, size_t size, const struct ib_user_mad_hdr *hdr,
			  const struct mad *mad, int port)
{
	char gid[INET6_ADDRSTRLEN];

	inet_ntop(AF_INET6, hdr->gid, gid, sizeof(gid));
	snprintf(text, size,
		 ":%d umad_hdr: id 0x%08x status 0x%08x ms %u ret %u len %u QP%u qkey 0x%08x lid 0x%04x sl %u path_bits 0x%x grh 0x%x gidi %u hop_lim %u traf_cl %u gid %s flow 0x%08x pkeyi %u  MAD: base_ver 0x%x class 0x%x class_ver 0x%x method 0x%x status 0x%04x class_specific 0x%04x tid 0x%016llx attr_id 0x%04x attr_mod 0x%08x ",
		 port, hdr->id, hdr->status, hdr->timeout_ms, hdr->retries,
		 hdr->length, be32toh(hdr->qpn), be32toh(hdr->qkey),
		 be16toh(hdr->lid), hdr->sl, hdr->path_bits, hdr->grh_present,
		 hdr->gid_index, hdr->hop_limit, hdr->traffic_class, gid,
		 be32toh(hdr->flow_label), hdr->pkey_index, mad->base_version,
		 mad->mgmt_class, mad->class_version, mad->method,
		 be16toh(mad->status), be16toh(mad->class_specific),
		 (unsigned long long)be64toh(mad->tid), be16toh(mad->attr_id),
		 be32toh(mad->attr_mod));
}

static const char * const events[] = {
	"ib_umad_write", "ib_umad_read_recv", "ib_umad_read_send",
};

/* There is one event, of this kind only, with this text behind the device's number */
#define expect_event(tracing, self, name, hdr, mad) do {		\
	char __want[1024];						\
	size_t __i;							\
	__u32 __index;							\
									\
	for (__i = 0; __i < ARRAY_SIZE(events); __i++)			\
		if (strcmp(name, events[__i]))				\
			umad_expect_no_event(tracing, events[__i]);	\
	expected_text(__want, sizeof(__want), hdr, mad, (self)->port.port); \
	ASSERT_EQ(0, nl_ibdev_index((self)->port.ibdev, &__index));	\
	EXPECT_EQ(__index, umad_expect_event(tracing, name, __want));	\
} while (0)

struct field {
	const char *type;
	const char *name;
	unsigned int size;
};

/*
 * As perf scripts and BPF programs find them: in this order, each aligned by its type,
 * behind the common fields. Those are 8 bytes, or 12 with PREEMPT_RT in Linux 6.1.
 */
static const struct field fields[] = {
	{ "u8", "port_num", 1 },
	{ "u8", "sl", 1 },
	{ "u8", "path_bits", 1 },
	{ "u8", "grh_present", 1 },
	{ "u32", "id", 4 },
	{ "u32", "status", 4 },
	{ "u32", "timeout_ms", 4 },
	{ "u32", "retires", 4 },
	{ "u32", "length", 4 },
	{ "u32", "qpn", 4 },
	{ "u32", "qkey", 4 },
	{ "u8", "gid_index", 1 },
	{ "u8", "hop_limit", 1 },
	{ "u16", "lid", 2 },
	{ "u16", "attr_id", 2 },
	{ "u16", "pkey_index", 2 },
	{ "u8", "base_version", 1 },
	{ "u8", "mgmt_class", 1 },
	{ "u8", "class_version", 1 },
	{ "u8", "method", 1 },
	{ "u32", "flow_label", 4 },
	{ "u16", "mad_status", 2 },
	{ "u16", "class_specific", 2 },
	{ "u32", "attr_mod", 4 },
	{ "u64", "tid", 8 },
	{ "u8", "gid[16]", 16 },
	{ "u32", "dev_index", 4 },
	{ "u8", "traffic_class", 1 },
};

static unsigned int align(unsigned int offset, const struct field *field)
{
	unsigned int by = strchr(field->name, '[') ? 1 : field->size;

	return (offset + by - 1) / by * by;
}

TEST(format_of_the_events)
{
	char path[256], line[2048], want[128];
	unsigned int offset, size, end = 0;
	struct umad_tracing tracing;
	size_t i, n;
	FILE *file;

	ASSERT_EQ(0, umad_tracing_start(&tracing))
		TH_LOG("tracefs: %s", strerror(errno));
	for (i = 0; i < ARRAY_SIZE(events); i++) {
		snprintf(path, sizeof(path), "%s/events/ib_umad/%s/format", tracing.dir, events[i]);
		file = fopen(path, "r");
		ASSERT_NE(NULL, file);
		n = 0;
		while (fgets(line, sizeof(line), file)) {
			if (sscanf(line, " field: %*[^;]; offset:%u; size:%u;",
				   &offset, &size) != 2)
				continue;
			if (strstr(line, "common_")) {
				end = (offset + size + 3) / 4 * 4;
				continue;
			}
			ASSERT_LT(n, ARRAY_SIZE(fields))
				TH_LOG("one field too many: %s", line);
			offset = align(end, &fields[n]);
			end = offset + fields[n].size;
			snprintf(want, sizeof(want),
				 "\tfield:%s %s;\toffset:%u;\tsize:%u;\tsigned:0;\n",
				 fields[n].type, fields[n].name, offset, fields[n].size);
			EXPECT_STREQ(want, line);
			n++;
		}
		EXPECT_EQ(ARRAY_SIZE(fields), n);
		fclose(file);
	}
	umad_tracing_stop(&tracing);
}

static void fill(struct umad_msg *msg)
{
	msg->hdr.status = 0x11;
	msg->hdr.length = 0x22;
	msg->hdr.qkey = htobe32(0x80010000);
	msg->hdr.lid = htobe16(0x1234);
	msg->hdr.sl = 3;
	msg->hdr.path_bits = 1;
	msg->hdr.hop_limit = 9;
	msg->hdr.traffic_class = 7;
	msg->hdr.flow_label = htobe32(0x54321);
	msg->mad.status = htobe16(0x5);
	msg->mad.class_specific = htobe16(0x6);
}

TEST_F(pair, write_event)
{
	struct umad_msg msg = umad_msg(&self->port, self->cid, MAD_SEND, 0x1122334455667788);
	struct umad_tracing tracing;
	struct umad_msg got;

	fill(&msg);
	ASSERT_EQ(0, umad_tracing_start(&tracing));
	umad_write(&self->client, &msg);
	expect_event(&tracing, self, "ib_umad_write", &msg.hdr, &msg.mad);
	umad_read(&self->server, &got);
	umad_tracing_stop(&tracing);
}

/* A read that fails is none */
#define expect_read_event(self, file, name, read) do {			\
	struct umad_tracing __tracing;					\
	struct umad_msg __got;						\
									\
	ASSERT_TRUE(umad_readable(file, UMAD_SOON_MS));			\
	ASSERT_EQ(0, umad_tracing_start(&__tracing));			\
	umad_err_read_len(EINVAL, file, 0);				\
	umad_expect_no_event(&__tracing, name);				\
	read(file, &__got);						\
	expect_event(&__tracing, self, name, &__got.hdr, &__got.mad);	\
	umad_tracing_stop(&__tracing);					\
} while (0)

TEST_F(pair, read_recv_event)
{
	struct umad_msg msg = umad_msg(&self->port, self->cid, MAD_SEND, 0x99);

	fill(&msg);
	umad_write(&self->client, &msg);
	expect_read_event(self, &self->server, "ib_umad_read_recv", umad_read);
}

TEST_F(pair, read_send_event)
{
	struct umad_msg msg = umad_request(&self->port, self->cid, MAD_GET, 0x99, 1);

	fill(&msg);
	umad_msg_to_nobody(&msg);
	msg.hdr.retries = 2;
	umad_write(&self->client, &msg);
	expect_read_event(self, &self->client, "ib_umad_read_send", umad_read_timeout);
}

#define expect_refused_event(err, self, tracing, msg, len) do {		\
	umad_err_write_len(err, &(self)->client, msg, len);		\
	expect_event(tracing, self, "ib_umad_write", &(msg)->hdr, &(msg)->mad); \
} while (0)

/* What names an id that can be is traced, whatever comes of it, if it can be read */
TEST_F(pair, refused_write_events)
{
	struct umad_msg msg = umad_lost_request(&self->port, self->cid, MAD_GET, 1, 600000);
	struct umad_msg other;
	struct umad_tracing tracing;
	struct umad_border border;

	umad_write(&self->client, &msg);
	ASSERT_EQ(0, umad_tracing_start(&tracing));

	/* Outstanding; no such agent; too short for its class; no GRH */
	expect_refused_event(EINVAL, self, &tracing, &msg, MAD_SIZE);
	other = msg;
	other.hdr.id = 31;
	expect_refused_event(EIO, self, &tracing, &other, MAD_SIZE);
	other = msg;
	expect_refused_event(EINVAL, self, &tracing, &other, MAD_VENDOR_HDR - 1);
	other = umad_msg(&self->port, self->cid, MAD_GET, 2);
	other.hdr.grh_present = 0;
	expect_refused_event(EINVAL, self, &tracing, &other, MAD_SIZE);

	other.hdr.id = 32;
	umad_err_write(EINVAL, &self->client, &other);
	umad_err_write_len(EINVAL, &self->client, &msg, MAD_RMPP_HDR - 1);
	umad_border(&border, PROT_NONE);
	umad_err(EFAULT, write(self->client.fd, umad_before(&border, 10), 320));
	umad_border_free(&border);
	umad_expect_no_event(&tracing, "ib_umad_write");
	umad_tracing_stop(&tracing);
}

/* The newer events: one for each thing that happens, which names the agent, and no other one */

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
