/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A device of a test's own, which it can take away and give back, in each of
 * the ways in which a device goes.
 */
#ifndef UMAD_DEVICE_H
#define UMAD_DEVICE_H

#include "fabric.h"
#include "netlink.h"
#include "stall.h"

enum umad_device_kind {
	UMAD_RXE,		/* Soft-RoCE; the link is deleted */
	UMAD_RXE_NETDEV,	/* Soft-RoCE; the interface below is deleted */
	UMAD_RXE_LONELY,	/* Soft-RoCE; it asks for neighbours, in vain */
	UMAD_MADSIM,		/* host h1 of a fabric; it is unplugged */
	UMAD_MADSIM_NETNS,	/* ... which goes to another network namespace */
	UMAD_MADSIM_RMMOD,	/* a host of the module's own; that is unloaded */
};

struct umad_device {
	enum umad_device_kind kind;
	struct umad_port port;
	char name[16];		/* Soft-RoCE: of link and interface */
	struct umad_fabric fabric;
	bool exclusive;		/* UMAD_MADSIM_NETNS */
	pid_t elsewhere;	/* holds the other network namespace */
};

/*
 * How long a device may take to go to a network namespace, or to come back: much of
 * that is for others to do, and the way back for a worker that waits for them.
 */
#define UMAD_NETNS_MS	(3 * UMAD_SOON_MS)

/* A fixture whose variants have such a device and nothing else */
#define umad_device_variants(fixture)					\
	FIXTURE_VARIANT(fixture) { enum umad_device_kind kind; }

/* A variant with one of these devices, and the other members that the fixture has */
#define umad_device_variant(fixture, name, which, ...)			\
	FIXTURE_VARIANT_ADD(fixture, name) { .kind = which, __VA_ARGS__ }

bool umad_device_is_rxe(enum umad_device_kind kind);

bool umad_device_possible(enum umad_device_kind kind);

/* Why not, if it is not */
#define UMAD_NO_DEVICE(kind)						\
	((kind) == UMAD_MADSIM_RMMOD ? "ib_madsim is no module here" :	\
				       UMAD_NO_FABRICS)

int umad_device_make(struct umad_device *device, enum umad_device_kind kind);

/* SKIP if there cannot be such a device here */
#define umad_device(device, kind) do {					\
	if (!umad_device_possible(kind))				\
		SKIP(return, UMAD_NO_DEVICE(kind));			\
	ASSERT_EQ(0, umad_device_make(device, kind));			\
} while (0)

int umad_device_add_vlan(const struct umad_device *device, const char *name, __u16 id);
int umad_device_up(struct umad_device *device);
int umad_device_remove(struct umad_device *device);
int umad_device_return(struct umad_device *device);
void umad_device_free(struct umad_device *device);

struct umad_msg umad_unanswered(const struct umad_device *device, __u32 id, __u64 tid);
long umad_removing(struct umad_call *call);

/* The removal of a device that is there, by a thread */
#define umad_call_remove(call, device)	umad_call_fn(call, umad_removing, device)

#endif /* UMAD_DEVICE_H */
