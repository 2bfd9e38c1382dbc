// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Agents are not free: the kernel has some 700 bytes for each, and only so many of
 * them for all programs of the host. So those of a cgroup are bounded, on however
 * many descriptors they are.
 */
#include <sys/resource.h>

#include "kselftest_harness.h"
#include "lib/cgroup.h"

#define AGENTS		16384
#define FILES		(AGENTS / UMAD_MAX_AGENTS)
#define UNBOUNDED	"nothing bounds the agents of a cgroup"

FIXTURE(accounts)
{
	struct umad_port port;
	struct umad_cgroup group;
	struct umad_file file[FILES];
};

FIXTURE_SETUP(accounts)
{
	struct rlimit limit = { FILES + 64, FILES + 64 };

	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &limit));
	umad_port(&self->port);
	umad_cgroup_make(&self->group);
}

FIXTURE_TEARDOWN(accounts)
{
	int i;

	for (i = 0; i < FILES; i++)
		umad_close(&self->file[i]);
	umad_cgroup_remove(&self->group);
}

/* All agents are those of the cgroup in which the descriptor was opened */
#define open_in_group(self, file)					\
	umad_cgroup_open(&(self)->group, &(self)->port, file)

#define register_one(file) do {						\
	struct umad_reg __reg = umad_reg_send_only(2);			\
									\
	umad_register(file, &__reg);					\
} while (0)

#define expect_full(file) do {						\
	struct umad_reg __reg = umad_reg_send_only(2);			\
									\
	umad_err_register(ENOMEM, file, &__reg);			\
} while (0)

TEST_F_TIMEOUT(accounts, agents_of_a_cgroup, UMAD_HANGS)
{
	struct umad_reg reg = umad_reg_send_only(2);
	struct umad_file extra, other;
	bool bounded;
	int i, j;

	for (i = 0; i < FILES; i++) {
		open_in_group(self, &self->file[i]);
		for (j = 0; j < UMAD_MAX_AGENTS; j++)
			register_one(&self->file[i]);
	}

	/* Neither on a descriptor of its own, nor has it had an effect there */
	open_in_group(self, &extra);
	bounded = _umad_register(&extra, &reg) < 0;
	EXPECT_FIXED(bounded, UNBOUNDED);
	if (bounded) {
		EXPECT_EQ(ENOMEM, errno);
		expect_full(&extra);
		EXPECT_EQ(0, umad_fdinfo(&extra, "umad-agents"));
	}

	/* That is nothing to others */
	umad_open(&self->port, O_RDWR | O_NONBLOCK, &other);
	register_one(&other);

	/* An agent that goes makes room for one, a descriptor for all it had */
	if (bounded) {
		umad_unregister(&self->file[7], 3);
		register_one(&extra);
		expect_full(&extra);
		umad_close(&self->file[8]);
		for (j = 1; j < UMAD_MAX_AGENTS; j++)
			register_one(&extra);
		expect_full(&extra);	/* of this descriptor */
		register_one(&self->file[7]);
		expect_full(&self->file[7]);
	}
	umad_close(&other);
	umad_close(&extra);
}

/* What was refused for another reason takes none of it, however often */
TEST_F_TIMEOUT(accounts, refused_agents, UMAD_HANGS)
{
	struct umad_reg reg;
	int i;

	open_in_group(self, &self->file[0]);
	for (i = 0; i < AGENTS + 16; i++) {
		reg = umad_reg_vendor(2, 1);
		reg.oui = 0;
		umad_err_register(EINVAL, &self->file[0], &reg);
	}
	for (i = 0; i < AGENTS + 16; i++) {
		reg = umad_reg_send_only(2);
		ASSERT_EQ(0, _umad_register(&self->file[0], &reg));
		ASSERT_EQ(0, _umad_unregister(&self->file[0], reg.id));
	}
}

TEST_HARNESS_MAIN
