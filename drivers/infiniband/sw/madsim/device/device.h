/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The RDMA devices of nodes. */

#ifndef MADSIM_DEVICE_H
#define MADSIM_DEVICE_H

#include "transport/transport.h"

#define MADSIM_MAX_CA_PORTS	4	/* of a node with an ib_device */

/**
 * struct madsim_vpd - vital product data
 * @len:	of @data
 * @data:	as PCI has it, with its tags and a checksum
 * @text:	as the user wrote it
 */
struct madsim_vpd {
	size_t len;
	u8 data[1024 + 16];
	char text[1024];
};

/* bus.c: the bus of adapters */
struct device *madsim_bus_dev_register(struct madsim_node *node);
int madsim_bus_init(void);
void madsim_bus_exit(void);

/* dev.c: the ib_device of a node */
int madsim_dev_register(struct madsim_dev *dev);
void madsim_dev_unregister(struct madsim_dev *dev);
struct madsim_dev *madsim_dev_alloc(struct madsim_node *node, bool smi);
void madsim_dev_free(struct madsim_dev *dev);
int madsim_dev_publish(struct madsim_dev *dev, const char *name);
void madsim_dev_withdraw(struct madsim_dev *dev);
int madsim_dev_init(void);
void madsim_dev_exit(void);

/* sub.c: one ib_device for QP0, another one for QP1 */
int madsim_sub_allow(struct madsim_dev *parent);

/* vf.c: virtual functions */
extern const struct ib_device_ops madsim_vf_ops;

/* vpd.c: vital product data */
struct madsim_vpd *madsim_vpd_make(const char *text);
int madsim_vpd_show(struct device *dev, struct madsim_vpd *vpd);

/* qp.c: queue pairs, address handles */
extern const struct ib_device_ops madsim_qp_ops;

/* stats.c: hw_counters */
extern const struct ib_device_ops madsim_stats_ops;

/* port_speed.c */
extern const struct ib_device_ops madsim_port_speed_ops;

#endif /* MADSIM_DEVICE_H */
