// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Agents: REGISTER_AGENT, REGISTER_AGENT2 and UNREGISTER_AGENT
 *
 * Also on: 6.1, 6.12, 32-bit
 */
#include "kselftest_harness.h"
#include "lib/trace.h"
#include "lib/utils.h"

FIXTURE(agent)
{
	struct umad_port port;
	struct umad_file file;
	struct umad_file other;
};

umad_abi_variants(agent);
umad_abi_variant(agent, v1_old);
umad_abi_variant(agent, v1_new);
umad_abi_variant(agent, v2_old);
umad_abi_variant(agent, v2_new);

FIXTURE_SETUP(agent)
{
	umad_port(&self->port);
	umad_open_abi(&self->port, &variant->abi, O_RDWR | O_NONBLOCK, &self->file);
	umad_open_abi(&self->port, &variant->abi, O_RDWR | O_NONBLOCK, &self->other);
}

FIXTURE_TEARDOWN(agent)
{
	umad_close(&self->file);
	umad_close(&self->other);
}

/* All ids can be had, in their order */
#define fill_table(file, api) do {					\
	struct umad_reg __reg;						\
	__u32 __id;							\
									\
	for (__id = 0; __id < UMAD_MAX_AGENTS; __id++) {		\
		__reg = umad_reg_send_only(api);			\
		EXPECT_EQ(__id, umad_register(file, &__reg));		\
	}								\
	__reg = umad_reg_send_only(api);				\
	umad_err_register(ENOMEM, file, &__reg);			\
} while (0)

#define clear_table(file) do {						\
	__u32 __id;							\
									\
	for (__id = 0; __id < UMAD_MAX_AGENTS; __id++)			\
		umad_unregister(file, __id);				\
} while (0)

/* No id may be in use */
#define expect_no_agents(file) do {					\
	fill_table(file, 1);						\
	clear_table(file);						\
} while (0)

/* What @reg asks for must be free for somebody else */
#define expect_free(self, reg) do {					\
	struct umad_reg __free = *(reg);				\
									\
	__free.id = 0;							\
	umad_register(&(self)->other, &__free);				\
	umad_unregister(&(self)->other, __free.id);			\
} while (0)

TEST_F(agent, ids_are_lowest_free)
{
	struct umad_reg reg = umad_reg_send_only(variant->abi.api);

	fill_table(&self->file, variant->abi.api);
	umad_unregister(&self->file, 7);
	umad_unregister(&self->file, 3);
	umad_unregister(&self->file, 31);
	EXPECT_EQ(3, umad_register(&self->file, &reg));
	EXPECT_EQ(7, umad_register(&self->file, &reg));
	EXPECT_EQ(31, umad_register(&self->file, &reg));
}

TEST_F(agent, table_full)
{
	struct umad_reg reg = umad_reg_vendor(variant->abi.api, 1ULL << MAD_GET);

	fill_table(&self->file, variant->abi.api);
	umad_err_register(ENOMEM, &self->file, &reg);
	expect_free(self, &reg);
	/* This is seen before a port without SMI, and behind a wrong QP number */
	reg = umad_reg_send_only(variant->abi.api);
	reg.qpn = 0;
	umad_err_register(ENOMEM, &self->file, &reg);
	reg.qpn = 2;
	umad_err_register(EINVAL, &self->file, &reg);

	/* A table belongs to one descriptor */
	reg = umad_reg_send_only(variant->abi.api);
	EXPECT_EQ(0, umad_register(&self->other, &reg));

	clear_table(&self->file);
	expect_no_agents(&self->file);
}

/* What is like a registration that is taken, but for one thing, leaves nothing */
TEST_F(agent, refused)
{
	static const struct {
		struct umad_reg reg;
		bool api2;	/* the first ioctl has no room for that */
	} row[] = {
		{ .reg.qpn = 2 },
		{ .reg.qpn = 3 },
		{ .reg.qpn = 255 },
		{ .reg.qpn = 256, .api2 = true },
		{ .reg.qpn = 257, .api2 = true },
		{ .reg.qpn = ~0U, .api2 = true },
		{ .reg.rmpp_version = 2 },
		{ .reg.rmpp_version = 255 },
		/* There is no RMPP in these classes */
		{ .reg.mgmt_class = MAD_CLASS_VENDOR1, .reg.rmpp_version = 1 },
		{ .reg.mgmt_class = MAD_CLASS_PERF, .reg.rmpp_version = 1 },
		{ .reg.mgmt_class = MAD_CLASS_NONE },
		{ .reg.mgmt_class = 0x80 },
		{ .reg.mgmt_class = 0xff },
		/* ... which are not of QP1 */
		{ .reg.mgmt_class = MAD_CLASS_SM_LID },
		{ .reg.mgmt_class = MAD_CLASS_SM_DIRECTED },
		{ .reg.mgmt_class = 0x30, .reg.oui = ~0U },
		{ .reg.mgmt_class = 0x4f, .reg.oui = ~0U },
		{ .reg.oui = 0x01000000, .api2 = true },
		{ .reg.mgmt_class = MAD_CLASS_VENDOR1, .reg.oui = 0x01000000, .api2 = true },
	};
	struct umad_reg reg;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(row); i++) {
		if (row[i].api2 && variant->abi.api == 1)
			continue;
		reg = umad_reg_vendor(variant->abi.api, 1ULL << MAD_GET);
		reg.qpn = row[i].reg.qpn ?: 1;
		reg.mgmt_class = row[i].reg.mgmt_class ?: reg.mgmt_class;
		reg.rmpp_version = row[i].reg.rmpp_version;
		/* All bits: none, which a vendor has to name */
		reg.oui = row[i].reg.oui == ~0U ? 0 : reg.oui | row[i].reg.oui;
		umad_err_register(EINVAL, &self->file, &reg);
	}
	/* There is no QP0 on RoCE, for SMPs or for anything else */
	if (umad_is_roce(&self->port)) {
		reg = umad_reg_send_only(variant->abi.api);
		reg.qpn = 0;
		umad_err_register(EPROTONOSUPPORT, &self->file, &reg);
		reg = umad_reg_smp(variant->abi.api, MAD_CLASS_SM_LID, 0);
		umad_err_register(EPROTONOSUPPORT, &self->file, &reg);
	}
	reg = umad_reg_vendor(variant->abi.api, 1ULL << MAD_GET);
	expect_free(self, &reg);
	expect_no_agents(&self->file);
}

TEST_F(agent, flags_unknown)
{
	static const __u32 flags[] = { 2, 3, 0x80000000, ~0U };
	struct umad_reg reg;
	size_t i;

	if (variant->abi.api == 1)
		SKIP(return, "there are no flags in REGISTER_AGENT");

	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		reg = umad_reg_vendor(2, 1ULL << MAD_GET);
		reg.flags = flags[i];
		umad_err_register(EINVAL, &self->file, &reg);
		EXPECT_EQ(IB_USER_MAD_REG_FLAGS_CAP, reg.flags);
		EXPECT_EQ(1, reg.flags);
	}
	reg.flags = 0;
	expect_free(self, &reg);

	/* The known one is left alone; it needs a class */
	reg = umad_reg_send_only(2);
	reg.flags = IB_USER_MAD_USER_RMPP;
	umad_err_register(EINVAL, &self->file, &reg);
	EXPECT_EQ(IB_USER_MAD_USER_RMPP, reg.flags);
	expect_no_agents(&self->file);
	reg = umad_reg_rmpp(2, 1ULL << MAD_GET);
	reg.flags = IB_USER_MAD_USER_RMPP;
	umad_register(&self->file, &reg);
	EXPECT_EQ(IB_USER_MAD_USER_RMPP, reg.flags);
}

/* Same class and method, another OUI or class version: not the same service */
TEST_F(agent, services)
{
	struct umad_reg reg = umad_reg_vendor(variant->abi.api, 1ULL << MAD_GET);
	struct ib_user_mad_reg_req2 req;

	umad_register(&self->file, &reg);
	reg.class_version = 8;
	umad_register(&self->other, &reg);
	reg = umad_reg_vendor(variant->abi.api, 1ULL << MAD_GET);
	reg.oui ^= 1;
	umad_register(&self->other, &reg);

	/* An empty mask takes no method from anybody */
	reg.oui ^= 0x010001;
	reg.methods[0] = 0;
	umad_register(&self->file, &reg);
	reg.methods[0] = ~0ULL;
	reg.methods[1] = ~0ULL;
	umad_register(&self->other, &reg);

	/* A field without meaning is not checked, and cannot become so: no class, no OUI */
	reg = umad_reg_send_only(variant->abi.api);
	reg.oui = variant->abi.api == 1 ? 0xffffff : ~0U;
	umad_register(&self->file, &reg);
	reg = umad_reg_send_only(2);
	umad_reg_encode2(&reg, &req);
	req.res = 0xffff;
	memset(req.reserved, 0xff, sizeof(req.reserved));
	EXPECT_EQ(0, ioctl(self->file.fd, IB_USER_MAD_REGISTER_AGENT2, &req));
}

TEST_F(agent, method_taken)
{
	struct umad_reg reg = umad_reg_vendor(variant->abi.api, 1ULL << MAD_GET | 1ULL << 7);
	struct umad_reg again;

	umad_register(&self->file, &reg);

	/* By another descriptor, and by this one */
	again = umad_reg_vendor(variant->abi.api, 1ULL << MAD_GET);
	umad_err_register(EINVAL, &self->other, &again);
	again = umad_reg_vendor(variant->abi.api, 1ULL << MAD_GET);
	umad_err_register(EINVAL, &self->file, &again);

	/* One clash refuses all, and the others stay free */
	again = umad_reg_vendor(variant->abi.api, 1ULL << MAD_SET | 1ULL << MAD_GET);
	umad_err_register(EINVAL, &self->other, &again);
	again = umad_reg_vendor(variant->abi.api, 1ULL << MAD_SET);
	umad_register(&self->other, &again);
	umad_unregister(&self->other, again.id);
	expect_no_agents(&self->other);

	/* Given up, it can be had */
	umad_unregister(&self->file, reg.id);
	expect_free(self, &reg);
}

/* Every bit of the mask means its method, in a 32-bit process as well */
TEST_F(agent, method_mask_bits)
{
	static const __u8 methods[] = { 1, 31, 32, 63, 64, 95, 96, 127 };
	struct umad_reg reg = umad_reg_vendor(variant->abi.api, 0);
	struct umad_reg one;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(methods); i++)
		reg.methods[methods[i] / 64] |= 1ULL << methods[i] % 64;
	umad_register(&self->file, &reg);

	for (i = 0; i < ARRAY_SIZE(methods); i++) {
		one = umad_reg_vendor(variant->abi.api, 0);
		one.methods[methods[i] / 64] = 1ULL << methods[i] % 64;
		umad_err_register(EINVAL, &self->other, &one);
	}

	/* The complement is free, all of it */
	one = umad_reg_vendor(variant->abi.api, ~reg.methods[0]);
	one.methods[1] = ~reg.methods[1];
	umad_register(&self->other, &one);
}

TEST_F(agent, unregister_wrong_id)
{
	struct umad_reg reg = umad_reg_send_only(variant->abi.api);

	umad_err_unregister(EINVAL, &self->file, 0);
	umad_err_unregister(EINVAL, &self->file, UMAD_MAX_AGENTS - 1);
	umad_err_unregister(EINVAL, &self->file, UMAD_MAX_AGENTS);
	umad_err_unregister(EINVAL, &self->file, 0x80000000);
	umad_err_unregister(EINVAL, &self->file, ~0U);

	/* One that cannot be is not taken for another */
	umad_register(&self->file, &reg);
	EXPECT_EQ(0, reg.id);
	umad_err_unregister(EINVAL, &self->file, UMAD_MAX_AGENTS);
	umad_err_unregister(EINVAL, &self->file, 0x80000000);
	umad_unregister(&self->file, reg.id);

	/* An id belongs to one descriptor, and can be given up once */
	umad_register(&self->other, &reg);
	umad_err_unregister(EINVAL, &self->file, reg.id);
	umad_unregister(&self->other, reg.id);
	umad_err_unregister(EINVAL, &self->other, reg.id);
}

TEST_F(agent, unregister_bad_pointer)
{
	struct umad_reg reg = umad_reg_send_only(variant->abi.api);
	struct umad_border border;
	int i;

	umad_register(&self->file, &reg);
	umad_border(&border, PROT_NONE);
	memset(border.base, 0, border.page);
	for (i = 0; i < 4; i++)
		umad_err(EFAULT, ioctl(self->file.fd, IB_USER_MAD_UNREGISTER_AGENT,
				       umad_before(&border, i)));

	/* The agent is still there; and the id is only read */
	umad_border_free(&border);
	umad_border(&border, PROT_READ);
	EXPECT_EQ(0, ioctl(self->file.fd, IB_USER_MAD_UNREGISTER_AGENT, umad_before(&border, 0)));
	umad_border_free(&border);
}

TEST_F(agent, register_bad_pointer)
{
	struct umad_reg reg = umad_reg_vendor(variant->abi.api, 1ULL << MAD_GET);
	struct umad_border border;
	__u8 req[64];
	size_t size = umad_reg_encode(&reg, req), i;

	umad_border(&border, PROT_NONE);
	for (i = 0; i < size; i++) {
		memcpy(umad_before(&border, i), req, i);
		umad_err(EFAULT, ioctl(self->file.fd, umad_reg_cmd(&reg), umad_before(&border, i)));
	}
	umad_err(EFAULT, ioctl(self->file.fd, umad_reg_cmd(&reg), NULL));
	umad_border_free(&border);

	expect_free(self, &reg);
	expect_no_agents(&self->file);
}

/*
 * The request can be read, and nothing can be stored there. The MAD layer, which would queue
 * MADs for the agent, never sees it
 */
TEST_F(agent, read_only_is_not_registered)
{
	struct umad_reg reg = umad_reg_vendor(variant->abi.api, 1ULL << MAD_GET);
	struct umad_tracing tracing;
	struct umad_border border;
	char text[256];
	__u8 req[64];
	size_t len;
	void *at;

	ASSERT_EQ(0, umad_tracing_start(&tracing));
	ASSERT_EQ(0, umad_tracing_write(&tracing, "events/ib_mad/enable", "1"));
	umad_register(&self->other, &reg);
	EXPECT_EQ(1, umad_tracing_events(&tracing, "ib_mad_create_agent", text, sizeof(text)));
	umad_unregister(&self->other, reg.id);

	/* ... nor is a client told which flags there are */
	for (reg.flags = 0; reg.flags <= (reg.api == 2 ? 2 : 0); reg.flags += 2) {
		len = umad_reg_encode(&reg, req);
		umad_border(&border, PROT_READ | PROT_WRITE);
		at = memcpy(umad_before(&border, 0), req, len);
		ASSERT_EQ(0, mprotect(at, border.page, PROT_READ));
		umad_err(EFAULT, ioctl(self->file.fd, umad_reg_cmd(&reg), at));
		EXPECT_EQ(0, memcmp(at, req, len));
		umad_border_free(&border);
	}
	reg.flags = 0;
	EXPECT_FIXED(umad_tracing_events(&tracing, "ib_mad_create_agent",
					 text, sizeof(text)) == 1,
		     "an agent whose id cannot be stored exists for a moment");
	umad_tracing_write(&tracing, "events/ib_mad/enable", "0");
	umad_tracing_stop(&tracing);
	expect_no_agents(&self->file);
	expect_free(self, &reg);
}

/* Only the id is stored */
TEST_F(agent, register_stores_the_id_only)
{
	struct umad_reg reg = umad_reg_vendor(variant->abi.api, 1ULL << MAD_GET);
	__u8 before[64], after[64];
	size_t size;

	memset(after, 0xa5, sizeof(after));
	size = umad_reg_encode(&reg, after);
	memcpy(before, after, sizeof(after));
	ASSERT_EQ(0, ioctl(self->file.fd, umad_reg_cmd(&reg), after));
	EXPECT_EQ(0, *(__u32 *)after);
	EXPECT_EQ(0, memcmp(before + 4, after + 4, size - 4));
	EXPECT_EQ(0xa5, after[size]);
}

TEST_F(agent, ioctl_unknown)
{
	__u8 arg[64] = { 0 };
	int nr;

	for (nr = 0; nr < 256; nr++) {
		if (nr >= 1 && nr <= 4)
			continue;
		umad_err(ENOTTY, ioctl(self->file.fd, _IO(RDMA_IOCTL_MAGIC, nr), arg));
	}
	/* Right number, wrong size or magic */
	umad_err(ENOTTY, ioctl(self->file.fd, _IO(RDMA_IOCTL_MAGIC, 1), arg));
	umad_err(ENOTTY, ioctl(self->file.fd, _IO('T', 3), arg));
	expect_no_agents(&self->file);
}

/* Registering needs no right to write, writing does */
TEST_F(agent, register_read_only_descriptor)
{
	struct umad_reg reg = umad_reg_vendor(variant->abi.api, 1ULL << MAD_GET);
	struct umad_msg msg = umad_msg(&self->port, 0, MAD_SEND, 1);
	struct umad_file file;

	umad_open_abi(&self->port, &variant->abi, O_RDONLY, &file);
	EXPECT_EQ(0, umad_register(&file, &reg));
	umad_err_write(EBADF, &file, &msg);
	umad_unregister(&file, reg.id);
	umad_close(&file);
}

/* Agents live as long as the open file, not as the descriptor or process */
TEST_F(agent, close_gives_up_agents)
{
	struct umad_reg reg = umad_reg_vendor(variant->abi.api, 1ULL << MAD_GET);
	struct umad_reg again = reg;
	int copy;

	umad_register(&self->file, &reg);
	copy = dup(self->file.fd);
	ASSERT_LE(0, copy);
	umad_close(&self->file);
	umad_err_register(EINVAL, &self->other, &again);

	close(copy);
	expect_free(self, &reg);
}

TEST_HARNESS_MAIN
