// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * On RoCE the kernel has to find out the address of a neighbour before a MAD can
 * be sent there. To one that never answers this takes a second, in which no other
 * program may have to wait.
 */
#include "kselftest_harness.h"
#include "lib/device.h"

#define VICTIM_METHOD	0x20
#define EXCHANGES	20
#define GIVE_UP		3	/* seconds; on the reference it is always spent */

FIXTURE(roce_resolve)
{
	struct umad_device device;
	struct umad_file file;		/* of the program that waits for a neighbour */
	struct umad_file other;		/* of one that has nothing to do with it */
	__u32 id;
	__u32 other_id;
	struct umad_call writer;
	int done;			/* writes that the neighbour has cost */
	bool stop;
};

FIXTURE_SETUP(roce_resolve)
{
	umad_device(&self->device, UMAD_RXE_LONELY);
	self->other_id = umad_open_agent(&self->device.port, &umad_abi_new,
					 umad_reg_send_only(2), &self->other);
	self->id = umad_open_agent(&self->device.port, &umad_abi_new,
				   umad_reg_vendor(2, 1ULL << VICTIM_METHOD), &self->file);
}

FIXTURE_TEARDOWN(roce_resolve)
{
	self->stop = true;
	umad_call_end(&self->writer);
	umad_close(&self->file);
	umad_close(&self->other);
	umad_device_free(&self->device);
}

/* To one neighbour after the other, none of which is there */
static long write_on(struct umad_call *call)
{
	FIXTURE_DATA(roce_resolve) *self = call->arg;
	struct umad_msg msg = umad_lost_request(&self->device.port, self->id, MAD_SEND, 1, 0);

	do {
		msg.hdr.gid[13]++;
		if (_umad_write(&self->file, &msg) >= 0)
			return 0;
		__atomic_add_fetch(&self->done, 1, __ATOMIC_SEQ_CST);
	} while (!__atomic_load_n(&self->stop, __ATOMIC_SEQ_CST));
	return -1;
}

static int done(FIXTURE_DATA(roce_resolve) *self)
{
	return __atomic_load_n(&self->done, __ATOMIC_SEQ_CST);
}

#define start_writer(self) do {						\
	umad_call_fn(&(self)->writer, write_on, self);			\
	umad_sleep_ms(UMAD_QUIET_MS);					\
	ASSERT_EQ(0, done(self))					\
		TH_LOG("no thread waits for the neighbour");		\
} while (0)

/* MADs for the waiting descriptor, one after the other */
TEST_F(roce_resolve, stops_no_receive)
{
	struct umad_msg msg, got;
	int i;

	start_writer(self);
	for (i = 0; i < EXCHANGES && done(self) < GIVE_UP; i++) {
		msg = umad_msg(&self->device.port, self->other_id, VICTIM_METHOD, i);
		umad_write(&self->other, &msg);
		umad_read(&self->file, &got);
		EXPECT_EQ(i, (int)be64toh(got.mad.tid));
	}
	EXPECT_FIXED(i == EXCHANGES, "a write that waits stops the receives");
}

/* ... and all other calls */
TEST_F(roce_resolve, stops_no_call)
{
	struct umad_file file;
	struct umad_msg msg;
	struct umad_reg reg;
	int i;

	start_writer(self);
	for (i = 0; i < EXCHANGES && done(self) < GIVE_UP; i++) {
		EXPECT_FALSE(umad_readable(&self->file, 0));
		umad_err_read(EAGAIN, &self->file);
		reg = umad_reg_send_only(2);
		umad_register(&self->file, &reg);
		/* What this one sends has another way to go */
		msg = umad_msg(&self->device.port, reg.id, VICTIM_METHOD, i);
		umad_write(&self->file, &msg);
		umad_read(&self->file, &msg);
		umad_unregister(&self->file, reg.id);
		umad_open(&self->device.port, O_RDWR, &file);
		umad_close(&file);
	}
	EXPECT_FIXED(i == EXCHANGES, "a write that waits stops other calls");
}

/* The agent itself is waited for, for the second that it takes */
TEST_F(roce_resolve, unregister_waits_for_its_writer)
{
	start_writer(self);
	self->stop = true;
	umad_unregister(&self->file, self->id);
	umad_call_end(&self->writer);
	EXPECT_EQ(-1, self->writer.ret);
}

TEST_F(roce_resolve, removal_ends_the_wait)
{
	struct umad_call removal;

	start_writer(self);
	self->stop = true;
	umad_call_remove(&removal, &self->device);
	ASSERT_TRUE(umad_call_returned(&removal, UMAD_SOON_MS));
	ASSERT_TRUE(umad_call_returned(&self->writer, UMAD_SOON_MS));
	/* The reference says what became of the neighbour */
	if (!umad_reference())
		EXPECT_EQ(EIO, self->writer.err);
}

/* A close() waits for the agents of its own descriptor, whatever the removal waits for */
TEST_F(roce_resolve, removal_delays_no_close)
{
	struct umad_file last;
	struct umad_call removal;
	bool waits;

	if (umad_reference())
		SKIP(return, "closing waits for all writers of a port there");
	/* A removal may begin with the first descriptor, or with the last one */
	umad_open_agent(&self->device.port, &umad_abi_new, umad_reg_send_only(2), &last);
	start_writer(self);
	self->stop = true;
	umad_call_remove(&removal, &self->device);
	ASSERT_TRUE(umad_within(UMAD_SOON_MS, !umad_fdinfo(&last, "umad-agents")));
	umad_close(&self->other);
	umad_close(&last);
	waits = !umad_call_returned(&self->writer, 0);
	ASSERT_TRUE(umad_call_returned(&removal, UMAD_SOON_MS));
	EXPECT_TRUE(waits)
		TH_LOG("a close waits for the writer of another descriptor");
}

/* The last to leave the descriptor is its writer, while the removal destroys the agent */
TEST_F(roce_resolve, closed_while_the_removal_has_the_agent)
{
	struct umad_call removal;

	start_writer(self);
	self->stop = true;
	umad_call_remove(&removal, &self->device);
	if (!umad_reference())
		ASSERT_TRUE(umad_within(UMAD_SOON_MS, !umad_fdinfo(&self->file, "umad-agents")));
	umad_close(&self->file);
	ASSERT_TRUE(umad_call_returned(&self->writer, UMAD_SOON_MS));
	ASSERT_TRUE(umad_call_returned(&removal, UMAD_SOON_MS));
}

/*
 * A crowd of threads, each with an agent of its own, that goes on writing: the
 * removal waits for all of them together.
 */
#define CROWD_FILES	4
#define CROWD_AGENTS	16

FIXTURE(crowd)
{
	struct umad_device device;
	struct umad_file file[CROWD_FILES];
	struct umad_file bystander;
	struct crowd_writer {
		const struct umad_device *device;
		const struct umad_file *file;
		struct umad_call call;
		__u32 id;
		__u8 which;
		bool silent;	/* the neighbours are not there */
		int done;	/* writes that have ended */
	} writer[CROWD_FILES * CROWD_AGENTS];
};

FIXTURE_VARIANT(crowd)
{
	bool silent;
};

/* Each write ends after a second, or at once, as there is no way to the destination */
FIXTURE_VARIANT_ADD(crowd, silent) { .silent = true };
FIXTURE_VARIANT_ADD(crowd, unreachable) { .silent = false };

FIXTURE_SETUP(crowd)
{
	struct umad_reg reg;
	int i, j;

	umad_device(&self->device, UMAD_RXE_LONELY);
	/* A removal comes to the agents of the first one last */
	umad_open_agent(&self->device.port, &umad_abi_new, umad_reg_send_only(2), &self->bystander);
	for (i = 0; i < CROWD_FILES; i++) {
		umad_open_abi(&self->device.port, &umad_abi_new, O_RDWR | O_NONBLOCK,
			      &self->file[i]);
		for (j = 0; j < CROWD_AGENTS; j++) {
			struct crowd_writer *writer = &self->writer[i * CROWD_AGENTS + j];

			reg = umad_reg_send_only(2);
			writer->device = &self->device;
			writer->file = &self->file[i];
			writer->id = umad_register(&self->file[i], &reg);
			writer->which = i * CROWD_AGENTS + j;
			writer->silent = variant->silent;
		}
	}
}

FIXTURE_TEARDOWN(crowd)
{
	int i;

	for (i = 0; i < CROWD_FILES; i++)
		umad_close(&self->file[i]);
	umad_close(&self->bystander);
	umad_device_free(&self->device);
}

/* Returns the errno that ended it */
static long crowd_write(struct umad_call *call)
{
	struct crowd_writer *writer = call->arg;
	struct umad_msg msg = umad_lost_request(&writer->device->port, writer->id, MAD_SEND, 1, 0);

	msg.hdr.gid[12] = writer->which;
	if (!writer->silent)
		memset(msg.hdr.gid, 0, sizeof(msg.hdr.gid));
	for (;;) {
		if (writer->silent)
			msg.hdr.gid[13]++;
		if (_umad_write(writer->file, &msg) < 0 && errno == EIO)
			return errno;
		__atomic_add_fetch(&writer->done, 1, __ATOMIC_SEQ_CST);
	}
}

TEST_F_TIMEOUT(crowd, removal_ends_every_wait, UMAD_HANGS)
{
	struct umad_call removal, close = UMAD_CALL(CLOSE, self->bystander.fd);
	long long start;
	bool closed, gone;
	struct umad_call *call;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(self->writer); i++)
		umad_call_fn(&self->writer[i].call, crowd_write, &self->writer[i]);
	/* In the middle of it, out of step */
	while (!__atomic_load_n(&self->writer[0].done, __ATOMIC_SEQ_CST))
		umad_sleep_ms(10);
	umad_sleep_ms(3 * UMAD_QUIET_MS);

	start = umad_now_ms();
	umad_call_remove(&removal, &self->device);
	umad_sleep_ms(UMAD_QUIET_MS);
	umad_call_start(&close);
	closed = umad_call_returned(&close, UMAD_SOON_MS);
	gone = umad_call_returned(&removal, 2 * UMAD_SOON_MS);

	/* A write is refused at once now; this ends all of it */
	umad_call_end(&close);
	umad_call_end(&removal);
	TH_LOG("removed %lld ms after it was begun", umad_now_ms() - start);
	EXPECT_EQ(0, removal.ret);
	EXPECT_EQ(0, close.ret);
	for (i = 0; i < ARRAY_SIZE(self->writer); i++) {
		call = &self->writer[i].call;
		ASSERT_TRUE(umad_call_returned(call, UMAD_SOON_MS))
			TH_LOG("writer %zu goes on", i);
		EXPECT_EQ(EIO, call->ret);
	}
	if (variant->silent)
		EXPECT_FIXED(closed && gone, "removal waits for one writer after the other");
	else
		EXPECT_TRUE(closed && gone);
}

TEST_HARNESS_MAIN
