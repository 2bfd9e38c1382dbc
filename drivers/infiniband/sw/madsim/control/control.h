/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What controls fabrics: module parameters, configfs, commands, wires. */

#ifndef MADSIM_CONTROL_H
#define MADSIM_CONTROL_H

#include "model/model.h"

#define MADSIM_FILE_SIZE	4096	/* of what configfs writes or reads at most */

/* If a node is not told; an OUI with the bit of local administration */
#define MADSIM_VENDOR_ID	0x065349
#define MADSIM_DEVICE_ID	0x4d53

#define MADSIM_WIDTH		IB_WIDTH_4X	/* of a link, if not told */
#define MADSIM_SPEED		IB_SPEED_QDR

#define MADSIM_MAX_VFS		64	/* of a node */

/* fabric.c: nodes and links, and bringing them to life */
struct madsim_fabric *madsim_fabric_create(const char *name);
void madsim_fabric_destroy(struct madsim_fabric *fabric);
int madsim_fabric_start(struct madsim_fabric *fabric);
int madsim_fabric_stop(struct madsim_fabric *fabric);
struct madsim_node *madsim_node_create(struct madsim_fabric *fabric,
				       const char *name, bool is_switch,
				       u8 nports);
void madsim_node_remove(struct madsim_node *node);
void madsim_node_free(struct madsim_node *node);
struct madsim_node *madsim_node_find(struct madsim_fabric *fabric, const char *name);
int madsim_node_rebuild(struct madsim_node *node, u8 type, u8 nports);
int madsim_node_set_vf(struct madsim_node *node, struct madsim_node *pf, u32 num);
int madsim_node_plug(struct madsim_node *node);
int madsim_node_unplug(struct madsim_node *node);

/* wire_file.c: cables whose other end is a file */
int madsim_wire_add(struct madsim_node *node, u32 num, u8 width, u16 speed);
int madsim_cable_remove(struct madsim_node *node, u32 num);
int madsim_wires_init(void);
void madsim_wires_exit(void);

/* topo.c: presets */
int madsim_topo_build(struct madsim_fabric *fabric, const char *preset, unsigned int devices);

/* command.c: what is done at run time */
int madsim_command(struct madsim_fabric *fabric, const char *page);
ssize_t madsim_command_list(struct madsim_fabric *fabric, char *page);

/* debugfs.c: what is seen at run time */
void madsim_debugfs_init(void);
void madsim_debugfs_exit(void);
void madsim_debugfs_add(struct madsim_fabric *fabric);
void madsim_debugfs_del(struct madsim_fabric *fabric);

/* configfs.c: fabrics that user space builds */
int madsim_configfs_init(struct madsim_fabric *preset);
void madsim_configfs_exit(void);

#endif /* MADSIM_CONTROL_H */
