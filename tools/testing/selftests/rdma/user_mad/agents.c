// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Agents are not free: the kernel has some 700 bytes for each that are charged to no
 * cgroup, and only a limited number for all programs of the host. So the cap counts them.
 */
#include <sys/resource.h>

#include "kselftest_harness.h"
#include "lib/cgroup.h"

#define COST		1280
#define MOST_FILES	8192
#define REFUSED		20000

FIXTURE(agents)
{
	struct umad_port port;
	struct umad_file file[MOST_FILES];
};

FIXTURE_SETUP(agents)
{
	struct rlimit limit = { MOST_FILES + 64, MOST_FILES + 64 };

	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &limit));
	umad_port(&self->port);
}

FIXTURE_TEARDOWN(agents)
{
	int i;

	for (i = 0; i < MOST_FILES; i++)
		umad_close(&self->file[i]);
}

#define register_one(file) ({						\
	struct umad_reg __reg = umad_reg_send_only(2);			\
									\
	_umad_register(file, &__reg);					\
})

TEST_F_TIMEOUT(agents, of_the_host, UMAD_HANGS)
{
	/* The first one of each descriptor is free */
	long most = umad_cap() / COST * UMAD_MAX_AGENTS / (UMAD_MAX_AGENTS - 1), count = 0;
	int i = 0, j = 0;

	if (umad_reference())
		SKIP(return, "nothing bounds the agents of a host");
	if (most / UMAD_MAX_AGENTS + 2 > MOST_FILES)
		SKIP(return, "the cap has room for more agents than are registered");
	for (i = 0; i < most / UMAD_MAX_AGENTS + 2; i++) {
		umad_open(&self->port, O_RDWR, &self->file[i]);
		for (j = 0; j < UMAD_MAX_AGENTS && !register_one(&self->file[i]); j++)
			count++;
		if (j < UMAD_MAX_AGENTS)
			break;
	}
	TH_LOG("%ld agents of %ld", count, most);
	EXPECT_EQ(ENOMEM, errno);
	EXPECT_GE(most, count);
	EXPECT_LT(most * 9 / 10, count);

	/* Those that go make room for others */
	umad_close(&self->file[7]);
	EXPECT_EQ(0, register_one(&self->file[i]))
		TH_LOG("%d: %s", j, strerror(errno));
}

/* Agents that are gone take nothing, although their descriptors are open */
TEST_F_TIMEOUT(agents, given_back, UMAD_HANGS)
{
	long most = umad_cap() / 1000 / UMAD_MAX_AGENTS;
	struct umad_reg reg;
	int i, j;

	if (most > MOST_FILES)
		SKIP(return, "the cap has room for more agents than are registered");
	for (i = 0; i < most; i++) {
		umad_open(&self->port, O_RDWR, &self->file[i]);
		for (j = 0; j < UMAD_MAX_AGENTS; j++) {
			reg = umad_reg_send_only(2);
			umad_register(&self->file[i], &reg);
		}
		for (j = 0; j < UMAD_MAX_AGENTS; j++)
			umad_unregister(&self->file[i], j);
	}
}

/* A registration that is refused for another reason takes none of it, however often */
TEST_F_TIMEOUT(agents, refused, UMAD_HANGS)
{
	struct umad_reg reg;
	int i;

	umad_open_abi(&self->port, &umad_abi_new, O_RDWR, &self->file[0]);
	for (i = 0; i < REFUSED; i++) {
		reg = umad_reg_vendor(2, 1);
		reg.oui = 0;
		umad_err_register(EINVAL, &self->file[0], &reg);
	}
	for (i = 0; i < REFUSED; i++) {
		reg = umad_reg_send_only(2);
		ASSERT_EQ(0, _umad_register(&self->file[0], &reg));
		ASSERT_EQ(0, _umad_unregister(&self->file[0], reg.id));
	}
}

TEST_HARNESS_MAIN
