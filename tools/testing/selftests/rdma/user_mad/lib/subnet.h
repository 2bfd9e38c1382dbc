/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Where fixtures begin that are about a subnet: a simulated fabric that is up, or a
 * port that talks to itself, of such a fabric or of Soft-RoCE.
 *
 *	self->fabric = (struct umad_fabric){ .hosts = 3, .star = true };
 *	umad_subnet(&self->fabric);
 *	self->cid = umad_open_agent(&self->fabric.host[0], &variant->abi,
 *				    umad_reg_send_only(variant->abi.api), &self->client);
 *	...
 *	umad_fabric_stop();
 *
 * Where there are no fabrics, the test is skipped. umad_msg() sends to a port as it
 * has to be: by LID, or on RoCE by GID.
 */
#ifndef UMAD_SUBNET_H
#define UMAD_SUBNET_H

#include "device.h"

#define umad_subnet(fabric) do {					\
	umad_fabric_start(fabric);					\
	umad_fabric_up(fabric);						\
} while (0)

/* @port: the first of two hosts, or the Soft-RoCE port that there is */
#define umad_subnet_port(kind, fabric, port) do {			\
	if ((kind) == UMAD_MADSIM) {					\
		(fabric)->hosts = 2;					\
		umad_subnet(fabric);					\
		*(port) = (fabric)->host[0];				\
	} else {							\
		umad_port(port);					\
	}								\
} while (0)

#endif /* UMAD_SUBNET_H */
