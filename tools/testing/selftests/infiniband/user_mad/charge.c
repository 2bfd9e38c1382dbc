// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory: what a process makes the kernel hold for it, outstanding sends and
 * unread MADs, is charged to the memory cgroup in which it opened the file.
 */
#include <signal.h>

#include "umad_cgroup.h"

#define SENDS		4096
#define UNREAD		4096

FIXTURE(charge)
{
	struct umad_port port;
	struct umad_cgroup group;
	pid_t child;
	int to_child[2];
	int from_child[2];
};

FIXTURE_VARIANT(charge)
{
	struct umad_abi abi;
};

FIXTURE_VARIANT_ADD(charge, v2_new)
{
	.abi = { .api = 2, .hlen = UMAD_HDR_NEW },
};

FIXTURE_SETUP(charge)
{
	self->child = 0;
	umad_port(&self->port);
	umad_cgroup_make(&self->group);
	ASSERT_EQ(0, pipe(self->to_child));
	ASSERT_EQ(0, pipe(self->from_child));
}

FIXTURE_TEARDOWN(charge)
{
	if (self->child > 0) {
		kill(self->child, SIGKILL);
		waitpid(self->child, NULL, 0);
	}
	umad_cgroup_remove(&self->group);
}

/* Runs in the group: opens, registers, then does what it is told */
static void in_group(FIXTURE_DATA(charge) *self, const struct umad_abi *abi)
{
	struct umad_reg reg = umad_reg_vendor(abi->api, 1ULL << MAD_SEND);
	struct umad_file file;
	struct umad_msg msg;
	char c = 'r', todo;
	int i;

	if (umad_cgroup_join(&self->group) ||
	    _umad_open_abi(&self->port, abi, O_RDWR | O_NONBLOCK, &file) ||
	    _umad_register(&file, &reg))
		_exit(1);
	msg = umad_msg(&self->port, reg.id, MAD_GET, 0);
	msg.hdr.timeout_ms = 600000;
	umad_msg_to_nobody(&msg);

	while (write(self->from_child[1], &c, 1) == 1 &&
	       read(self->to_child[0], &todo, 1) == 1) {
		for (i = 0; todo == 's' && i < SENDS; i++) {
			msg.mad.tid = htobe64(i);
			if (_umad_write(&file, &msg) < 0)
				_exit(1);
		}
	}
	_exit(0);
}

#define start_child(self, variant) do {					\
	char __c;							\
									\
	(self)->child = fork();						\
	ASSERT_LE(0, (self)->child);					\
	if (!(self)->child)						\
		in_group(self, &(variant)->abi);			\
	close((self)->from_child[1]);					\
	ASSERT_EQ(1, read((self)->from_child[0], &__c, 1));		\
} while (0)

TEST_F(charge, outstanding_sends)
{
	long before, after;
	char c;

	start_child(self, variant);
	before = umad_cgroup_charged(&self->group);
	ASSERT_EQ(1, write(self->to_child[1], "s", 1));
	ASSERT_EQ(1, read(self->from_child[0], &c, 1));
	after = umad_cgroup_charged(&self->group);

	TH_LOG("%d sends outstanding: charged %ld bytes", SENDS, after - before);
	EXPECT_FIXED(after - before > SENDS * 512L,
		     "outstanding sends are charged to nobody");
}

TEST_F(charge, unread_mads)
{
	struct umad_reg reg = umad_reg_vendor(variant->abi.api, 1ULL << MAD_SET);
	struct umad_file file;
	struct umad_msg msg;
	long before, after;
	int i;

	start_child(self, variant);
	umad_open_abi(&self->port, &variant->abi, O_RDWR, &file);
	umad_register(&file, &reg);
	before = umad_cgroup_charged(&self->group);
	for (i = 0; i < UNREAD; i++) {
		msg = umad_msg(&self->port, reg.id, MAD_SEND, i);
		umad_write(&file, &msg);
		if (i % 64 && i < UNREAD - 1)
			continue;
		/* When this is back, what was sent before has arrived */
		msg = umad_msg(&self->port, reg.id, MAD_SET, UNREAD + i);
		umad_write(&file, &msg);
		umad_read(&file, &msg);
	}
	after = umad_cgroup_charged(&self->group);
	umad_close(&file);

	TH_LOG("%d MADs unread: charged %ld bytes", UNREAD, after - before);
	EXPECT_FIXED(after - before > UNREAD * 96L,
		     "unread MADs are charged to nobody");
}

TEST_HARNESS_MAIN
