/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Holders of an issm device and openers in line for it, next to a device that can be taken away */
#ifndef UMAD_ISSM_H
#define UMAD_ISSM_H

#include "device.h"
#include "stall.h"

#define LINE	3	/* openers in line */

struct umad_issm {
	struct umad_device device;
	char path[64];
	int holder;
	struct umad_call line[LINE];
};

int _umad_issm_make(struct umad_issm *issm, enum umad_device_kind kind);
void umad_issm_free(struct umad_issm *issm);

#define umad_issm_queue(issm) do {					\
	int __i;							\
									\
	for (__i = 0; __i < LINE; __i++) {				\
		(issm)->line[__i] = (struct umad_call){			\
			.op = UMAD_CALL_OPEN,				\
			.path = (issm)->path,				\
		};							\
		umad_call_sleep(&(issm)->line[__i]);			\
	}								\
} while (0)

#endif /* UMAD_ISSM_H */
