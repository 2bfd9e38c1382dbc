/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A simulated InfiniBand fabric of a test's own: hosts h1, h2, ... that are
 * RDMA devices, back to back or around switch s1. No subnet manager is needed,
 * umad_fabric_up() does its work by SMPs of the first host's QP0.
 *
 *	self->fabric = (struct umad_fabric){ .hosts = 2, .star = true };
 *	umad_fabric_start(&self->fabric);
 *	umad_fabric_up(&self->fabric);
 *	...
 *	umad_fabric_stop();
 *
 * What a test that died has left behind, the next start takes away. Most fixtures
 * have all of that from subnet.h.
 */
#ifndef UMAD_FABRIC_H
#define UMAD_FABRIC_H

#include "utils.h"

#define UMAD_FABRIC_ROOT	"/sys/kernel/config/madsim"
#define UMAD_FABRIC_NAME	"umad"
#define UMAD_FABRIC		UMAD_FABRIC_ROOT "/" UMAD_FABRIC_NAME
#define UMAD_FABRIC_FAULTS	UMAD_FABRIC "/faults"
#define UMAD_FABRIC_HOSTS	8

enum umad_port_state {
	PORT_NO_CHANGE,
	PORT_DOWN,
	PORT_INIT,
	PORT_ARMED,
	PORT_ACTIVE,
};

struct umad_port_info {
	__be64	mkey;
	__be64	gid_prefix;
	__be16	lid;
	__be16	sm_lid;
	__be32	cap_mask;
	__be16	diag_code;
	__be16	mkey_lease_period;
	__u8	local_port_num;
	__u8	width_enabled;
	__u8	width_supported;
	__u8	width_active;
	__u8	speed_supported_state;
	__u8	phys_state_down_default;
	__u8	mkey_protect_lmc;
	__u8	speed_active_enabled;
	__u8	mtu_sm_sl;
	__u8	vl_cap_init_type;
	__u8	vl_high_limit;
	__u8	vl_arb_high_cap;
	__u8	vl_arb_low_cap;
	__u8	init_type_reply_mtu_cap;
	__u8	vl_stall_hoq_life;
	__u8	operational_vls;
	__be16	mkey_violations;
	__be16	pkey_violations;
	__be16	qkey_violations;
	__u8	guid_cap;
	__u8	subnet_timeout;
	__u8	resp_time;
	__u8	error_thresholds;
	__u8	reserved[10];
};

static_assert(sizeof(struct umad_port_info) == 64, "PortInfo fills an SMP");

/* A directed route: the ports to leave by, from the sender's own on */
struct umad_path {
	__u8 hops;
	__u8 port[8];
};

/* What sends SMPs, and waits for the answer to each */
struct umad_sm {
	struct umad_file file;
	__u32 directed;		/* the agent for directed routes */
	__u32 by_lid;		/* the one for SMPs to a LID */
	__u64 tid;
	__u64 mkey;		/* that goes into every SMP */
};

struct umad_fabric {
	/* To be set before umad_fabric_start() */
	int hosts;		/* 2 to UMAD_FABRIC_HOSTS, without a switch 2 */
	bool star;		/* host hN is at port N of switch s1 */
	bool switch_device;	/* the switch is an RDMA device, too */
	bool opa;
	__u8 lmc;		/* of all hosts */

	/* Set by umad_fabric_start() */
	struct umad_port host[UMAD_FABRIC_HOSTS];
	struct umad_port sw;	/* with switch_device: its port 0 */
	int spare;		/* a port of the switch that has no cable */

	/* umad_fabric_up() gives a .lid to all of these ports, and to .sw in any case */
};

#define UMAD_NO_FABRICS \
	"no simulated fabrics: load ib_madsim and mount configfs, as run.sh does"

bool umad_switch_is_safe(void);

#define UMAD_NO_SWITCH \
	"ib_cm is there, and crashes when it meets a device that is a switch"

bool umad_have_fabrics(void);
int _umad_fabric_fault(const char *command);

#define umad_fabric_fault(command)					\
	ASSERT_EQ(0, _umad_fabric_fault(command))			\
		TH_LOG("%s: %s", command, strerror(errno))

int umad_find_port_of(const char *ibdev, int num, struct umad_port *port);
void umad_issm_dev(const struct umad_port *port, char dev[64]);
int _umad_fabric_stop(void);

#define umad_fabric_stop()						\
	EXPECT_EQ(0, _umad_fabric_stop())				\
		TH_LOG("cannot remove " UMAD_FABRIC ": %s", strerror(errno))

int umad_fabric_port(const char *name, int num, struct umad_port *port);
int _umad_fabric_start(struct umad_fabric *fabric);

/* Ports are in INIT then, without LIDs */
#define umad_fabric_start(fabric) do {					\
	if (!umad_have_fabrics())					\
		SKIP(return, UMAD_NO_FABRICS);				\
	if ((fabric)->switch_device && !umad_switch_is_safe())		\
		SKIP(return, UMAD_NO_SWITCH);				\
	ASSERT_EQ(0, _umad_fabric_start(fabric))			\
		TH_LOG("cannot make " UMAD_FABRIC ": %s", strerror(errno)); \
} while (0)

int _umad_sm_open(const struct umad_port *port, struct umad_sm *sm);

#define umad_sm_open(port, sm)						\
	ASSERT_EQ(0, _umad_sm_open(port, sm))				\
		TH_LOG("%s: %s", (port)->dev, strerror(errno))

void umad_sm_close(struct umad_sm *sm);
struct umad_msg umad_smp_msg(struct umad_sm *sm, const struct umad_path *path,
			     __u16 lid, __u8 method, __u16 attr);

static inline struct umad_smp *umad_smp_of(struct umad_msg *msg)
{
	return (struct umad_smp *)&msg->mad;
}

int umad_smp_exchange(struct umad_sm *sm, struct umad_msg *msg);
int umad_smp(struct umad_sm *sm, const struct umad_path *path, __u16 lid,
	     __u8 method, __u16 attr, __u32 mod, void *data);

int _umad_sm_repress(struct umad_sm *sm, __u16 lid, __u16 trap);

#define umad_smp_get(sm, path, attr, mod, data)				\
	ASSERT_EQ(0, umad_smp(sm, path, 0, MAD_GET, attr, mod, data))	\
		TH_LOG("Get of attribute 0x%x: %s", attr, strerror(errno))

__u64 umad_node_guid(const struct umad_port *port);
__u64 umad_info_guid(const __u8 *node_info);
int umad_info_port(const struct umad_smp *smp);

int umad_sm_set_port(struct umad_sm *sm, const struct umad_path *path,
		     __u32 num, __u16 lid, __u8 lmc, __u16 sm_lid, enum umad_port_state state);
struct umad_path umad_fabric_path(const struct umad_fabric *fabric, int i);

/* From the first host: its own port, the other end of its cable, the second of a star */
extern const struct umad_path umad_here, umad_to_next, umad_to_second;

int _umad_fabric_up(struct umad_fabric *fabric);

/* All ports become ACTIVE and have LIDs, switches know them */
#define umad_fabric_up(fabric)						\
	ASSERT_EQ(0, _umad_fabric_up(fabric))				\
		TH_LOG("the subnet does not come up: %s", strerror(errno))

#endif /* UMAD_FABRIC_H */
