// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The congestion control agents of a simulated fabric: who may ask them what, and
 * what a Set changes.
 */

#include "kselftest_harness.h"
#include "lib/subnet.h"

#define CLASS_CC		0x21

#define CC_CLASS_PORT_INFO	0x01
#define CC_INFO			0x11
#define CC_KEY_INFO		0x12
#define CC_LOG			0x13
#define CC_SWITCH_SETTING	0x14
#define CC_PORT_SETTING		0x15
#define CC_CA_SETTING		0x16
#define CC_TABLE		0x17
#define CC_TIME			0x18

#define CC_HEADER		24	/* where the CC_Key is */
#define CC_LOG_DATA		32	/* what the log has for itself */
#define CC_DATA			64	/* and where other attributes begin */
#define CC_SIZE			(MAD_SIZE - CC_HEADER)

#define KEY			0x0123456789abcdefULL
#define OTHER			1

/* What is behind the header of a MAD */
union cc_data {
	__u8 all[CC_SIZE];
	struct {
		__be64 key;
		__u8 log[CC_DATA - CC_LOG_DATA];
		__u8 data[MAD_SIZE - CC_DATA];
	};
};

static_assert(sizeof(union cc_data) == CC_SIZE, "it fits into a MAD");

/* CongestionKeyInfo */
struct key_info {
	__be64 key;
	__u8 protect;
	__u8 reserved;
	__be16 lease;
	__be16 violations;
	__be16 end;
};

static_assert(sizeof(struct key_info) == 16, "there is nothing between its components");

/* Two hosts around a switch; the first one asks the others' agents */
FIXTURE(cc)
{
	struct umad_fabric fabric;
	struct umad_file file;
	__u16 host, sw;
	__u32 id;
	__u64 tid, key;
	__u32 timeout_ms;
	__u8 version;
};

FIXTURE_SETUP(cc)
{
	struct umad_reg reg = umad_reg_send_only(1);

	self->fabric = (struct umad_fabric){ .hosts = 2, .star = true };
	umad_subnet(&self->fabric);
	self->host = self->fabric.host[1].lid;
	self->sw = self->fabric.sw.lid;
	self->version = 2;
	self->timeout_ms = UMAD_SOON_MS;
	umad_open(&self->fabric.host[0], O_RDWR | O_NONBLOCK, &self->file);
	umad_enable_pkey(&self->file);
	self->id = umad_register(&self->file, &reg);
}

FIXTURE_TEARDOWN(cc)
{
	umad_close(&self->file);
	umad_fabric_stop();
}

/* The status of the response, which is in @data then, or -1 if there is none */
static int cc(FIXTURE_DATA(cc) *self, __u16 lid, __u8 method, __u16 attr, __u32 mod,
	      union cc_data *data)
{
	struct umad_msg msg = umad_msg(&self->fabric.host[0], self->id, method, ++self->tid);
	int status;

	data->key = htobe64(self->key);
	msg.hdr.grh_present = 0;
	msg.hdr.lid = htobe16(lid);
	msg.hdr.timeout_ms = self->timeout_ms;
	msg.mad.mgmt_class = CLASS_CC;
	msg.mad.class_version = self->version;
	msg.mad.attr_id = htobe16(attr);
	msg.mad.attr_mod = htobe32(mod);
	memcpy((__u8 *)&msg.mad + CC_HEADER, data, CC_SIZE);
	status = umad_exchange(&self->file, &msg);
	if (status >= 0)
		memcpy(data, (__u8 *)&msg.mad + CC_HEADER, CC_SIZE);
	return status;
}

/* Each byte another one, and none of them 0 */
static void fill(union cc_data *data, __u8 first)
{
	unsigned int i;

	for (i = 0; i < sizeof(data->all); i++)
		data->all[i] = 1 + (first + i) % 255;
}

static bool is_zero(const __u8 *from, size_t len)
{
	while (len--) {
		if (*from++)
			return false;
	}
	return true;
}

static int key_get(FIXTURE_DATA(cc) *self, __u64 key, struct key_info *info)
{
	union cc_data data = {};
	int status;

	self->key = key;
	status = cc(self, self->host, MAD_GET, CC_KEY_INFO, 0, &data);
	memcpy(info, data.data, sizeof(*info));
	return status;
}

/* @key goes with the request, and @info->key into the agent */
static int key_set(FIXTURE_DATA(cc) *self, __u64 key, struct key_info info)
{
	union cc_data data = {};

	self->key = key;
	memcpy(data.data, &info, sizeof(info));
	return cc(self, self->host, MAD_SET, CC_KEY_INFO, 0, &data);
}

/* Something that everybody has, and nobody without the key gets */
static int info_get(FIXTURE_DATA(cc) *self, __u64 key)
{
	union cc_data data = {};

	self->key = key;
	return cc(self, self->host, MAD_GET, CC_INFO, 0, &data);
}

/* Which attributes there are where, and which can be set */
TEST_F(cc, not_there)
{
	static const struct {
		__u16 attr;
		bool host, sw, settable;
	} known[] = {
		{ CC_CLASS_PORT_INFO, true, true, false },
		{ CC_INFO, true, true, false },
		{ CC_KEY_INFO, true, true, true },
		{ CC_LOG, true, true, false },
		{ CC_SWITCH_SETTING, false, true, true },
		{ CC_PORT_SETTING, false, true, true },
		{ CC_CA_SETTING, true, false, true },
		{ CC_TABLE, true, false, true },
		{ CC_TIME, true, true, false },
		{ 0x02, false, false, false },
		{ 0x10, false, false, false },
		{ 0x19, false, false, false },
	};
	unsigned int i, sw;

	for (i = 0; i < ARRAY_SIZE(known); i++) {
		for (sw = 0; sw < 2; sw++) {
			bool there = sw ? known[i].sw : known[i].host;
			__u16 lid = sw ? self->sw : self->host;
			union cc_data data = {};

			EXPECT_EQ(there ? 0 : STATUS_UNSUPPORTED,
				  cc(self, lid, MAD_GET, known[i].attr, 0, &data))
				TH_LOG("attribute 0x%x, switch %d", known[i].attr, sw);
			memset(&data, 0, sizeof(data));
			EXPECT_EQ(there && known[i].settable ? 0 : STATUS_UNSUPPORTED,
				  cc(self, lid, MAD_SET, known[i].attr, 0, &data))
				TH_LOG("Set of attribute 0x%x, switch %d", known[i].attr, sw);
		}
	}
	self->version = 1;
	EXPECT_EQ(STATUS_BAD_VERSION, info_get(self, 0));
}

/* Nothing of what a request has where the response has nothing comes back */
TEST_F(cc, nothing_of_the_request)
{
	static const struct {
		__u16 attr;
		bool sw;
		__u8 from, len;		/* the attribute, in bytes of the MAD */
	} known[] = {
		{ CC_CLASS_PORT_INFO, false, CC_DATA, 72 },
		{ CC_INFO, false, CC_DATA, 3 },
		{ CC_KEY_INFO, false, CC_DATA, 14 },
		{ CC_LOG, false, CC_LOG_DATA, 12 },
		{ CC_LOG, true, CC_LOG_DATA, 8 },
		{ CC_SWITCH_SETTING, true, CC_DATA, 76 },
		{ CC_PORT_SETTING, true, CC_DATA, 4 * 4 },
		{ CC_CA_SETTING, false, CC_DATA, 132 },
		{ CC_TABLE, false, CC_DATA, 132 },
		{ CC_TIME, false, CC_DATA, 4 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(known); i++) {
		unsigned int before = known[i].from - CC_LOG_DATA;
		unsigned int end = known[i].from + known[i].len - CC_HEADER;
		union cc_data data;

		fill(&data, i);
		ASSERT_EQ(0, cc(self, known[i].sw ? self->sw : self->host, MAD_GET,
				known[i].attr, 0, &data));
		EXPECT_TRUE(is_zero(data.log, before) &&
			    is_zero(data.all + end, CC_SIZE - end))
			TH_LOG("attribute 0x%x", known[i].attr);
	}
}

/* What a manager asks first: the version, and the room in the tables */
TEST_F(cc, capabilities)
{
	union cc_data data = {};

	ASSERT_EQ(0, cc(self, self->host, MAD_GET, CC_CLASS_PORT_INFO, 0, &data));
	EXPECT_EQ(1, data.data[0]);
	EXPECT_EQ(2, data.data[1]);
	ASSERT_EQ(0, cc(self, self->host, MAD_GET, CC_INFO, 0, &data));
	EXPECT_EQ(2, data.data[2]);
	ASSERT_EQ(0, cc(self, self->sw, MAD_GET, CC_INFO, 0, &data));
	EXPECT_EQ(0, data.data[2]);
	ASSERT_EQ(0, cc(self, self->host, MAD_GET, CC_LOG, 0, &data));
	EXPECT_EQ(2, data.log[0]);
	EXPECT_FALSE(is_zero(&data.log[8], 4));
	ASSERT_EQ(0, cc(self, self->sw, MAD_GET, CC_LOG, 0, &data));
	EXPECT_EQ(1, data.log[0]);
	EXPECT_FALSE(is_zero(&data.log[4], 4));
	ASSERT_EQ(0, cc(self, self->host, MAD_GET, CC_TIME, 0, &data));
	EXPECT_FALSE(is_zero(data.data, 4));
}

/* Without the CC_Key nobody is answered, and each of them counts */
TEST_F(cc, key)
{
	struct key_info info = { .key = htobe64(KEY), .lease = htobe16(3), .violations = 1 };
	union cc_data data = {};

	ASSERT_EQ(0, key_set(self, OTHER, info));
	EXPECT_EQ(0, info_get(self, KEY));
	self->timeout_ms = UMAD_QUIET_MS;
	EXPECT_EQ(-1, info_get(self, OTHER));
	EXPECT_EQ(-1, info_get(self, 0));
	EXPECT_EQ(-1, key_set(self, OTHER, info));
	EXPECT_EQ(-1, cc(self, self->host, MAD_SET, CC_CA_SETTING, 0, &data));
	self->timeout_ms = UMAD_SOON_MS;

	/* Each port has a key of its own */
	EXPECT_EQ(0, cc(self, self->sw, MAD_GET, CC_INFO, 0, &data));

	ASSERT_EQ(0, key_get(self, KEY, &info));
	EXPECT_EQ(KEY, be64toh(info.key));
	EXPECT_EQ(0, info.protect);
	EXPECT_EQ(3, be16toh(info.lease));
	EXPECT_EQ(4, be16toh(info.violations));

	/* Nothing but 0 can be written into the counter */
	info.violations = htobe16(77);
	ASSERT_EQ(0, key_set(self, KEY, info));
	ASSERT_EQ(0, key_get(self, KEY, &info));
	EXPECT_EQ(4, be16toh(info.violations));
	info.violations = 0;
	ASSERT_EQ(0, key_set(self, KEY, info));
	ASSERT_EQ(0, key_get(self, KEY, &info));
	EXPECT_EQ(0, info.violations);

	/* And none is needed when the key is 0 */
	info.key = 0;
	ASSERT_EQ(0, key_set(self, KEY, info));
	EXPECT_EQ(0, info_get(self, OTHER));
}

/* The key can be read by everybody, unless it is protected */
TEST_F(cc, key_protected)
{
	struct key_info info = { .key = htobe64(KEY) };

	ASSERT_EQ(0, key_set(self, 0, info));
	ASSERT_EQ(0, key_get(self, OTHER, &info));
	EXPECT_EQ(KEY, be64toh(info.key));
	info.protect = 0xff;
	ASSERT_EQ(0, key_set(self, KEY, info));
	ASSERT_EQ(0, key_get(self, OTHER, &info));
	EXPECT_EQ(0, info.key);
	EXPECT_EQ(0x80, info.protect);
	EXPECT_EQ(0, info.violations);
	ASSERT_EQ(0, key_get(self, KEY, &info));
	EXPECT_EQ(KEY, be64toh(info.key));
}

/* ... and that for the lease period only, from the first wrong key on */
TEST_F(cc, lease)
{
	struct key_info info = { .key = htobe64(KEY), .protect = 0x80, .lease = htobe16(1) };
	int i;

	ASSERT_EQ(0, key_set(self, 0, info));
	sleep(2);
	ASSERT_EQ(0, key_get(self, OTHER, &info));
	EXPECT_EQ(0x80, info.protect);

	self->timeout_ms = UMAD_QUIET_MS;
	EXPECT_EQ(-1, info_get(self, OTHER));
	self->timeout_ms = UMAD_SOON_MS;
	for (i = 0; i < 100; i++) {
		ASSERT_EQ(0, key_get(self, OTHER, &info));
		if (!info.protect)
			break;
		usleep(100000);
	}
	EXPECT_EQ(KEY, be64toh(info.key));

	/* Who has the key ends a lease */
	info.protect = 0x80;
	ASSERT_EQ(0, key_set(self, KEY, info));
	self->timeout_ms = UMAD_QUIET_MS;
	EXPECT_EQ(-1, info_get(self, OTHER));
	self->timeout_ms = UMAD_SOON_MS;
	EXPECT_EQ(0, info_get(self, KEY));
	sleep(2);
	ASSERT_EQ(0, key_get(self, OTHER, &info));
	EXPECT_EQ(0x80, info.protect);
}

/* ControlMap says what a Set of SwitchCongestionSetting changes */
TEST_F(cc, switch_setting)
{
	/* The bytes that belong to each bit, and which of their bits are reserved */
	static const struct {
		__u8 from, end;
	} part[] = { { 4, 36 }, { 36, 68 }, { 68, 70 }, { 70, 74 }, { 74, 76 } };
	union cc_data data, want = {};
	unsigned int bit, i;

	for (bit = 0; bit < ARRAY_SIZE(part); bit++) {
		fill(&data, bit * 7);
		memset(data.data, 0, 4);
		data.data[3] = 1 << bit;
		memcpy(want.data, data.data, 4);
		for (i = part[bit].from; i < part[bit].end; i++)
			want.data[i] = data.data[i];
		want.data[68] &= 0xf0;
		want.data[70] &= 0xf0;
		want.data[71] = 0;
		ASSERT_EQ(0, cc(self, self->sw, MAD_SET, CC_SWITCH_SETTING, 0, &data));
		EXPECT_EQ(0, memcmp(want.data, data.data, sizeof(want.data)))
			TH_LOG("bit %d", bit);
		memset(&data, 0, sizeof(data));
		ASSERT_EQ(0, cc(self, self->sw, MAD_GET, CC_SWITCH_SETTING, 0, &data));
		EXPECT_EQ(0, memcmp(want.data, data.data, sizeof(want.data)))
			TH_LOG("bit %d", bit);
	}
}

/* Four bytes for each port of a switch, port 0 included */
TEST_F(cc, port_setting)
{
	__u8 ports = self->fabric.spare;
	union cc_data data, want, got = {};

	fill(&want, 3);
	memset(&want.data[4 * (ports + 1)], 0, sizeof(want.data) - 4 * (ports + 1));
	fill(&data, 3);
	ASSERT_EQ(0, cc(self, self->sw, MAD_SET, CC_PORT_SETTING, 0, &data));
	EXPECT_EQ(0, memcmp(want.data, data.data, sizeof(want.data)));
	ASSERT_EQ(0, cc(self, self->sw, MAD_GET, CC_PORT_SETTING, 0, &got));
	EXPECT_EQ(0, memcmp(want.data, got.data, sizeof(want.data)));
	EXPECT_EQ(STATUS_INVALID, cc(self, self->sw, MAD_GET, CC_PORT_SETTING, 1, &got));
	EXPECT_EQ(STATUS_INVALID, cc(self, self->sw, MAD_SET, CC_PORT_SETTING, 1, &got));
}

/* ControlMap says which service levels a Set of CACongestionSetting is for */
TEST_F(cc, ca_setting)
{
	union cc_data data, want = {};
	unsigned int sl;

	for (sl = 0; sl < 16; sl++) {
		fill(&data, sl);
		data.data[2] = (1 << sl) >> 8;
		data.data[3] = 1 << sl;
		memcpy(want.data, data.data, 4);
		memcpy(&want.data[4 + 8 * sl], &data.data[4 + 8 * sl], 8);
		ASSERT_EQ(0, cc(self, self->host, MAD_SET, CC_CA_SETTING, 0, &data));
		memset(&data, 0, sizeof(data));
		ASSERT_EQ(0, cc(self, self->host, MAD_GET, CC_CA_SETTING, 0, &data));
		EXPECT_EQ(0, memcmp(want.data, data.data, sizeof(want.data)))
			TH_LOG("SL %d", sl);
	}
}

/* Two blocks, and one limit */
TEST_F(cc, table)
{
	union cc_data first, second, got = {};

	fill(&first, 0);
	fill(&second, 100);
	first.data[0] = 0;
	first.data[1] = 63;
	second.data[0] = 0;
	second.data[1] = 127;
	ASSERT_EQ(0, cc(self, self->host, MAD_SET, CC_TABLE, 0, &first));
	EXPECT_EQ(63, first.data[1]);
	ASSERT_EQ(0, cc(self, self->host, MAD_SET, CC_TABLE, 1, &second));
	ASSERT_EQ(0, cc(self, self->host, MAD_GET, CC_TABLE, 0, &got));
	EXPECT_EQ(127, got.data[1]);
	EXPECT_EQ(0, memcmp(&first.data[4], &got.data[4], 128));
	ASSERT_EQ(0, cc(self, self->host, MAD_GET, CC_TABLE, 1, &got));
	EXPECT_EQ(0, memcmp(second.data, got.data, 132));

	EXPECT_EQ(STATUS_INVALID, cc(self, self->host, MAD_GET, CC_TABLE, 2, &got));
	got.data[1] = 128;
	EXPECT_EQ(STATUS_INVALID, cc(self, self->host, MAD_SET, CC_TABLE, 0, &got));
}

/* Each attribute is as after power-on when the power has come back */
TEST_F(cc, power)
{
	static const struct {
		__u16 attr;
		bool sw;
	} known[] = {
		{ CC_SWITCH_SETTING, true }, { CC_PORT_SETTING, true },
		{ CC_CA_SETTING, false }, { CC_TABLE, false }, { CC_KEY_INFO, false },
	};
	union cc_data data;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(known); i++) {
		fill(&data, 0);
		data.data[0] = 0;
		data.data[1] = 100;
		ASSERT_EQ(0, cc(self, known[i].sw ? self->sw : self->host, MAD_SET,
				known[i].attr, 0, &data));
	}
	umad_fabric_fault("s1 unplug");
	umad_fabric_fault("s1 plug");
	umad_fabric_fault("h2 unplug");
	umad_fabric_fault("h2 plug");
	umad_fabric_up(&self->fabric);
	for (i = 0; i < ARRAY_SIZE(known); i++) {
		memset(&data, 0, sizeof(data));
		ASSERT_EQ(0, cc(self, known[i].sw ? self->sw : self->host, MAD_GET,
				known[i].attr, 0, &data));
		EXPECT_TRUE(is_zero(data.data, sizeof(data.data)))
			TH_LOG("attribute 0x%x", known[i].attr);
	}
}

TEST_HARNESS_MAIN
