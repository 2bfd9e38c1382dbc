/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What an ib_client needs of drivers/infiniband/core/core_priv.h, which
 * packages of kernel headers do not carry. The external build finds this one
 * instead. The same from Linux 6.1 to 7.2.
 */
#ifndef UMAD_CORE_PRIV_H
#define UMAD_CORE_PRIV_H

#include <linux/types.h>

struct device;
struct sk_buff;

#define RDMA_MAX_PORTS 8192

/* Filled in by ib_client.get_nl_info() */
struct ib_client_nl_info {
	struct sk_buff *nl_msg;
	struct device *cdev;
	u32 port;
	u64 abi;
};

#endif /* UMAD_CORE_PRIV_H */
