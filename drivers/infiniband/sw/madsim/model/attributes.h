/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Attributes: what a node keeps for its agents, and what MADs say of these. */

#ifndef MADSIM_ATTRIBUTES_H
#define MADSIM_ATTRIBUTES_H

#include <rdma/ib_mad.h>
#include <rdma/ib_smi.h>
#include <rdma/ib_verbs.h>

#define MADSIM_PKEYS		32	/* one block */
#define MADSIM_GUIDS		8	/* one block */
#define MADSIM_LFT_SIZE		0xc000	/* LinearFDBCap: every unicast LID */
#define MADSIM_LFT_BLOCK	64
#define MADSIM_LFT_NONE		255
#define MADSIM_MFT_SIZE		1024	/* MulticastFDBCap */
#define MADSIM_MFT_BLOCK	32
#define MADSIM_VLARB_SIZE	16	/* bytes of 8 VL/weight pairs */
#define MADSIM_SLS		16
#define MADSIM_CC_TABLE_SIZE	128	/* of CongestionControlTable */

/* SwitchCongestionSetting */
struct madsim_cc_switch_setting {
	__be32 control_map;
	u8 victim_mask[32];
	u8 credit_mask[32];
	u8 threshold;			/* 4 bits, 4 reserved ones */
	u8 packet_size;
	__be16 cs_threshold;		/* 4 bits, 12 reserved ones */
	__be16 cs_return_delay;
	__be16 marking_rate;
};

/* CACongestionSetting */
struct madsim_cc_ca_setting {
	__be16 port_control;
	__be16 control_map;
	struct {
		__be16 timer;
		u8 increase;
		u8 trigger_threshold;
		u8 min;
		u8 reserved[3];
	} sl[MADSIM_SLS];
};

/**
 * struct madsim_cc - congestion control of an end port; fabric->lock
 * @key:	CC_Key
 * @key_protect: a requester without it must not see it
 * @key_lease_period: seconds until that ends
 * @key_violations: MADs with another one
 * @key_expires: end of the running lease in jiffies, 0 if none runs
 * @ca:		CACongestionSetting
 * @table_limit: index of the last entry of @table that counts
 * @table:	CongestionControlTable
 */
struct madsim_cc {
	__be64 key;
	bool key_protect;
	__be16 key_lease_period;
	__be16 key_violations;
	unsigned long key_expires;
	struct madsim_cc_ca_setting ca;
	__be16 table_limit;
	__be16 table[MADSIM_CC_TABLE_SIZE];
};

/* A notice that a port keeps sending until the subnet manager represses it */
enum madsim_trap {
	MADSIM_TRAP_LINK_STATE,		/* 128 */
	MADSIM_TRAP_INTEGRITY,		/* 129 */
	MADSIM_TRAP_OVERRUN,		/* 130 */
	MADSIM_TRAP_FLOW,		/* 131 */
	MADSIM_TRAP_LOCAL_CHANGE,	/* 144 */
	MADSIM_TRAP_BAD_MKEY,		/* 256 */
	MADSIM_TRAP_BAD_PKEY,		/* 257 */
	MADSIM_TRAP_BAD_QKEY,		/* 258 */
	MADSIM_TRAP_SWITCH_PKEY,	/* 259 */
	MADSIM_TRAPS
};

/* PortInfo, with what stands where the kernel's struct has padding */
union madsim_port_info {
	struct ib_port_info base;
	struct {
		u8 before[offsetofend(struct ib_port_info,
				      link_roundtrip_latency)];
		__be16 cap_mask2;
		u8 speed_ext;			/* active, supported: 4 bits, 4 bits */
		u8 speed_ext_enabled;		/* 5 bits */
	} __packed;
};

static_assert(sizeof(union madsim_port_info) == IB_SMP_DATA_SIZE);

/* ExtendedPortInfo, an attribute of Mellanox's */
struct madsim_ext_port_info {
	u8 reserved1[3];
	u8 state_change_enable;
	u8 reserved2[3];
	u8 speed_supported;
	u8 reserved3[3];
	u8 speed_enabled;
	u8 reserved4[3];
	u8 speed_active;
};

/* SwitchInfo */
struct madsim_switch_info {
	__be16 lft_cap;
	__be16 rft_cap;
	__be16 mft_cap;
	__be16 lft_top;
	u8 default_port;
	u8 default_mcast_primary;
	u8 default_mcast_other;
	u8 life_state;			/* 5 bits, PortStateChange, 2 bits */
	__be16 lids_per_port;
	__be16 partition_cap;
	u8 flags;
	u8 reserved;
	__be16 mft_top;
} __packed;

#define MADSIM_SW_STATE_CHANGE	0x04
/* One Set of SLtoVLMappingTable may be for many ports */
#define MADSIM_SW_OPT_SL2VL	0x01

/* Flags of SwitchInfo: can check the P_Keys of what comes in, and goes out */
#define MADSIM_SW_ENFORCE_CAP	0xc0
/* Port 0 is one of a host, too */
#define MADSIM_SW_ENHANCED	0x08

/* PartitionEnforcementInbound and PartitionEnforcementOutbound of PortInfo, behind OperVLs */
#define MADSIM_ENFORCE_IN	0x8
#define MADSIM_ENFORCE_OUT	0x4

#define MADSIM_HIGH(byte)	(2 * offsetof(struct ib_port_info, byte))
#define MADSIM_LOW(byte)	(2 * offsetof(struct ib_port_info, byte) + 1)

/* The components of PortInfo that have four bits, of which a byte has two */
enum madsim_pi {
	MADSIM_PI_SPEED_SUPPORTED = MADSIM_HIGH(linkspeed_portstate),
	MADSIM_PI_STATE = MADSIM_LOW(linkspeed_portstate),
	MADSIM_PI_PHYS_STATE = MADSIM_HIGH(portphysstate_linkdown),
	MADSIM_PI_LINK_DOWN_DEFAULT = MADSIM_LOW(portphysstate_linkdown),
	MADSIM_PI_SPEED_ACTIVE = MADSIM_HIGH(linkspeedactive_enabled),
	MADSIM_PI_SPEED_ENABLED = MADSIM_LOW(linkspeedactive_enabled),
	MADSIM_PI_NEIGHBOR_MTU = MADSIM_HIGH(neighbormtu_mastersmsl),
	MADSIM_PI_MASTER_SM_SL = MADSIM_LOW(neighbormtu_mastersmsl),
	MADSIM_PI_VL_CAP = MADSIM_HIGH(vlcap_inittype),
	MADSIM_PI_INIT_TYPE = MADSIM_LOW(vlcap_inittype),
	MADSIM_PI_INIT_TYPE_REPLY = MADSIM_HIGH(inittypereply_mtucap),
	MADSIM_PI_MTU_CAP = MADSIM_LOW(inittypereply_mtucap),
	MADSIM_PI_OPER_VLS = MADSIM_HIGH(operationalvl_pei_peo_fpi_fpo),
	MADSIM_PI_ENFORCE = MADSIM_LOW(operationalvl_pei_peo_fpi_fpo),
};

static inline u8 madsim_pi_get(const struct ib_port_info *pi, enum madsim_pi c)
{
	u8 byte = ((const u8 *)pi)[c / 2];

	return c & 1 ? byte & 0x0f : byte >> 4;
}

static inline void madsim_pi_set(struct ib_port_info *pi, enum madsim_pi c, u8 value)
{
	u8 *byte = (u8 *)pi + c / 2;

	*byte = c & 1 ? (*byte & 0xf0) | (value & 0x0f) :
			value << 4 | (*byte & 0x0f);
}

static inline void madsim_pi_copy(struct ib_port_info *pi,
				  const struct ib_port_info *from,
				  enum madsim_pi c)
{
	madsim_pi_set(pi, c, madsim_pi_get(from, c));
}

static inline u8 madsim_pi_lmc(const struct ib_port_info *pi)
{
	return pi->mkeyprot_resv_lmc & 0x7;
}

static inline u8 madsim_pi_mkey_protect(const struct ib_port_info *pi)
{
	return pi->mkeyprot_resv_lmc >> 6;
}

static inline u8 madsim_pi_subnet_timeout(const struct ib_port_info *pi)
{
	return pi->clientrereg_resv_subnetto & 0x1f;
}

static inline u8 madsim_pi_client_reregister(const struct ib_port_info *pi)
{
	return pi->clientrereg_resv_subnetto & 0x80;
}

static inline void madsim_count_violation(__be16 *counter)
{
	if (*counter != cpu_to_be16(U16_MAX))
		be16_add_cpu(counter, 1);
}

/*
 * Nearly all MADs have one size. Copying it is most of what a MAD costs here,
 * and a length that the compiler knows makes that cheaper.
 */
static inline void madsim_copy_mad(void *to, const void *from, u32 len)
{
	if (likely(len == IB_MGMT_MAD_SIZE))
		memcpy(to, from, IB_MGMT_MAD_SIZE);
	else
		memcpy(to, from, len);
}

#endif /* MADSIM_ATTRIBUTES_H */
