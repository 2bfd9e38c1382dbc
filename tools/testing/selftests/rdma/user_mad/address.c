// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Address handles: the one that was used last serves again, until something
 * happens to the device. Told by a device that refuses to make another one.
 *
 * Also on: 6.1, 6.12
 */
#include "kselftest_harness.h"
#include "lib/subnet.h"

#define REASON "an address handle is made for every send"

FIXTURE(address)
{
	struct umad_fabric fabric;
	struct umad_sm sm;
};

FIXTURE_SETUP(address)
{
	self->fabric = (struct umad_fabric){ .hosts = 3, .star = true };
	umad_subnet(&self->fabric);
	umad_sm_open(&self->fabric.host[0], &self->sm);
}

FIXTURE_TEARDOWN(address)
{
	umad_sm_close(&self->sm);
	umad_fabric_stop();
}

/* Asks a node for its description; the next handle may be refused with ENXIO */
static int ask(struct umad_sm *sm, const struct umad_path *path, __u16 lid, bool refuse)
{
	char desc[64] = {};

	if (refuse && _umad_fabric_fault("h1 fail create_ah 6"))
		return -1;
	return umad_smp(sm, path, lid, MAD_GET, SMP_NODE_DESC, 0, desc);
}

/*
 * Events of the subnet coming up may still be under way, and the kernel's own
 * clients make address handles, too: what is asked here may take some tries.
 */
#define TRIES	100

static bool kept(struct umad_sm *sm, __u16 lid, __u16 other)
{
	int i;

	for (i = 0; i < TRIES; i++) {
		if (!ask(sm, NULL, lid, false) && !ask(sm, NULL, lid, true) &&
		    ask(sm, NULL, other, false) == -1 && errno == ENXIO)
			return true;
		usleep(10000);
	}
	return false;
}

static bool renewed(struct umad_sm *sm, const struct umad_path *path, __u16 lid)
{
	int i;

	for (i = 0; i < TRIES; i++) {
		if (ask(sm, path, lid, true) == -1 && errno == ENXIO)
			return true;
		usleep(10000);
	}
	return false;
}

TEST_F(address, one_handle_for_one_destination)
{
	EXPECT_FIXED(kept(&self->sm, self->fabric.host[1].lid, self->fabric.host[2].lid), REASON);

	/* Refused once, and nothing is left of it */
	EXPECT_EQ(0, ask(&self->sm, NULL, self->fabric.host[2].lid, false));
	EXPECT_EQ(0, ask(&self->sm, NULL, self->fabric.host[1].lid, false));
}

/* One handle an agent: the other one's does not help, and is not disturbed */
TEST_F(address, a_handle_for_each_agent)
{
	bool undisturbed = false;
	int i;

	for (i = 0; i < TRIES && !undisturbed; i++) {
		ASSERT_EQ(0, ask(&self->sm, NULL, self->fabric.host[1].lid, false));
		ASSERT_TRUE(renewed(&self->sm, &umad_here, 0));
		ASSERT_EQ(0, ask(&self->sm, &umad_here, 0, false));
		undisturbed = !ask(&self->sm, NULL, self->fabric.host[1].lid, true);
	}
	EXPECT_FIXED(undisturbed, REASON);
}

/* All that tells one destination without a GRH from another */
TEST_F(address, a_handle_for_each_path)
{
	static const struct {
		__u8 sl;
		__u8 path_bits;
	} other[] = { { 1, 0 }, { 0, 1 }, { 0, 0 } };
	struct umad_msg msg;
	unsigned int i;
	int tries;

	for (i = 0; i < ARRAY_SIZE(other); i++) {
		tries = TRIES;
		do {
			ASSERT_GT(tries--, 0);
			ASSERT_EQ(0, ask(&self->sm, NULL, self->fabric.host[1].lid, false));
			ASSERT_EQ(0, ask(&self->sm, NULL, self->fabric.host[2].lid, false));
			umad_fabric_fault("h1 fail create_ah 6");
			msg = umad_smp_msg(&self->sm, NULL, self->fabric.host[i < 2 ? 2 : 1].lid,
					   MAD_SEND, SMP_NODE_DESC);
			msg.hdr.timeout_ms = 0;
			msg.hdr.sl = other[i].sl;
			msg.hdr.path_bits = other[i].path_bits;
		} while (_umad_write(&self->sm.file, &msg) > 0);
		EXPECT_EQ(ENXIO, errno);
	}
}

TEST_F(address, no_handle_is_used_after_an_event)
{
	EXPECT_FIXED(kept(&self->sm, self->fabric.host[1].lid, self->fabric.host[2].lid), REASON);
	ASSERT_EQ(0, ask(&self->sm, NULL, self->fabric.host[1].lid, false));

	/* Another subnet manager */
	ASSERT_EQ(0, umad_sm_set_port(&self->sm, &umad_here, 1, self->fabric.host[0].lid, 0,
				      self->fabric.host[2].lid, PORT_NO_CHANGE));
	EXPECT_TRUE(renewed(&self->sm, NULL, self->fabric.host[1].lid));
	EXPECT_EQ(0, ask(&self->sm, NULL, self->fabric.host[1].lid, false));
}

TEST_HARNESS_MAIN
