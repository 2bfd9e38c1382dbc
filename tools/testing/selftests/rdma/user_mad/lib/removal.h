/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The fixture of users that are there when a device goes: the device, in every way in
 * which one goes, and a user of it with an agent.
 */
#ifndef UMAD_REMOVAL_H
#define UMAD_REMOVAL_H

#include "device.h"

#define victim_open(self, abi)						\
	((self)->id = umad_open_agent(&(self)->device.port, abi,	\
				      umad_reg_vendor((abi)->api, umad_get_set_send), \
				      &(self)->file))

FIXTURE(removal)
{
	struct umad_device device;
	struct umad_file file;
	__u32 id;
	struct umad_call removal;
};

FIXTURE_VARIANT(removal)
{
	enum umad_device_kind kind;
	struct umad_abi abi;
};

umad_device_variant(removal, rxe, UMAD_RXE, .abi = UMAD_ABI_v1_old);
umad_device_variant(removal, madsim, UMAD_MADSIM, .abi = UMAD_ABI_v2_new);
umad_device_variant(removal, netns, UMAD_MADSIM_NETNS, .abi = UMAD_ABI_v1_new);
umad_device_variant(removal, rmmod, UMAD_MADSIM_RMMOD, .abi = UMAD_ABI_v2_old);

FIXTURE_SETUP(removal)
{
	umad_device(&self->device, variant->kind);
	victim_open(self, &variant->abi);
}

FIXTURE_TEARDOWN(removal)
{
	umad_close(&self->file);
	umad_device_free(&self->device);
}

#define unanswered(self, tid)						\
	umad_unanswered(&(self)->device, (self)->id, tid)

#define remove_start(self)	umad_call_remove(&(self)->removal, &(self)->device)

/* The device goes, and no other call is in its way */
#define remove_device(self) do {					\
	bool __netns = (self)->device.kind == UMAD_MADSIM_NETNS;	\
									\
	remove_start(self);						\
	ASSERT_TRUE(umad_call_returned(&(self)->removal, __netns ?	\
				       UMAD_NETNS_MS : UMAD_SOON_MS))	\
		TH_LOG("the removal hangs");				\
	ASSERT_EQ(0, (self)->removal.ret);				\
} while (0)

#define return_device(self)						\
	ASSERT_EQ(0, umad_device_return(&(self)->device))

#endif /* UMAD_REMOVAL_H */
