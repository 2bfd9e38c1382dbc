/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * MADs as they travel: numbers and layouts of the InfiniBand specification. Needs
 * nothing of kselftest, so that other programs can use it, too.
 */
#ifndef UMAD_MAD_H
#define UMAD_MAD_H

#include <assert.h>
#include <linux/types.h>

#define MAD_SIZE		256
#define MAD_HDR			24	/* the common header */
#define MAD_RMPP_HDR		36	/* common and RMPP header */
#define MAD_VENDOR_HDR		40	/* ... and the OUI of vendor range 2 */
#define MAD_SA_HDR		56
#define MAD_DEVMGT_HDR		64
#define MAD_VENDOR_DATA		(MAD_SIZE - MAD_VENDOR_HDR)

/* On Omni-Path, where the base version and that of SMPs tell it */
#define OPA_MAD_SIZE		2048
#define OPA_VERSION		0x80

#define MAD_GET			0x01
#define MAD_SET			0x02
#define MAD_SEND		0x03
#define MAD_TRAP_REPRESS	0x07
#define MAD_RESP		0x80
#define MAD_GET_RESP		0x81

#define MAD_CLASS_SM_LID	0x01
#define MAD_CLASS_SA		0x03
#define MAD_CLASS_PERF		0x04
#define MAD_CLASS_DEVMGT	0x06
#define MAD_CLASS_VENDOR1	0x0a
#define MAD_CLASS_VENDOR2	0x3a
#define MAD_CLASS_NONE		0x50
#define MAD_CLASS_SM_DIRECTED	0x81

#define STATUS_UNSUPPORTED	0x000c	/* of a MAD */

#define MAD_RMPP_DATA		1
#define MAD_RMPP_ACTIVE		1

#define SMP_NOTICE		0x02
#define SMP_NODE_DESC		0x10
#define SMP_NODE_INFO		0x11
#define SMP_SWITCH_INFO		0x12
#define SMP_GUID_INFO		0x14
#define SMP_PORT_INFO		0x15
#define SMP_PKEY_TABLE		0x16
#define SMP_LINEAR_FWD		0x19
#define SMP_MCAST_FWD		0x1b
#define SMP_SM_INFO		0x20

#define SMP_D_BIT		0x8000	/* of the status, with a directed route */
#define PORT_CAP_IS_SM		0x2

#define LID_PERMISSIVE		0xffff
#define LID_UNUSED		0x1234	/* more than any fabric here has */

struct mad {
	__u8	base_version;
	__u8	mgmt_class;
	__u8	class_version;
	__u8	method;
	__be16	status;
	__be16	class_specific;
	__be64	tid;
	__be16	attr_id;
	__be16	resv;
	__be32	attr_mod;
	__u8	rmpp_version;
	__u8	rmpp_type;
	__u8	rmpp_flags;
	__u8	rmpp_status;
	__be32	seg_num;
	__be32	paylen_newwin;
	__u8	vendor_resv;
	__u8	oui[3];
	__u8	data[216];
};

/* Lies over struct mad */
struct umad_smp {
	__u8	base_version;
	__u8	mgmt_class;
	__u8	class_version;
	__u8	method;
	__be16	status;		/* directed: D bit and status */
	__u8	hop_ptr;
	__u8	hop_cnt;
	__be64	tid;
	__be16	attr_id;
	__be16	resv;
	__be32	attr_mod;
	__be64	mkey;
	__be16	dr_slid;
	__be16	dr_dlid;
	__u8	reserved[28];
	__u8	data[64];
	__u8	initial_path[64];
	__u8	return_path[64];
} __attribute__((may_alias));

static_assert(sizeof(struct mad) == MAD_SIZE, "a MAD has 256 bytes");
static_assert(sizeof(struct umad_smp) == MAD_SIZE, "an SMP is a MAD");

#endif /* UMAD_MAD_H */
