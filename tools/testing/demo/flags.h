/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef UMAD_DEMO_FLAGS_H
#define UMAD_DEMO_FLAGS_H

#include <linux/types.h>

/*
 * Register an agent with these flags, as umad_register2() would. Returns errno,
 * or 0 when nobody refused, and in @flags what the kernel left there.
 * umad_register2() clears them instead.
 */
int flags_refused(int fd, __u8 mgmt_class, __u32 *flags);

#endif /* UMAD_DEMO_FLAGS_H */
