/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A simulated InfiniBand fabric: management datagrams, and, if it is told so, the
 * data of clients in the kernel and in user space.
 *
 * A fabric is a set of nodes (channel adapters and switches) with ports, and
 * links between ports. A node can be backed by an ib_device; then the kernel's
 * MAD layer and everything on top of it lives behind its ports. All other
 * nodes exist in the model only. A MAD travels synchronously in the context
 * of the sender: post_send() walks it from port to port, a node of the model
 * responds at once, and a MAD that reaches an ib_device is put into a posted receive
 * buffer. The only hand-over is the receiver's completion queue, so that an
 * undisturbed fabric needs neither thread nor timer.
 *
 * The module has six floors, a folder each. Calls go down the folders, and what two floors
 * need belongs to the lower one:
 *
 *	control/	module parameters, configfs, commands; fabrics and nodes come and go
 *	device/		the RDMA device of a node, and its queue pairs
 *	engine/		what makes packets go: from port to port, and from queue pairs
 *	transport/	what sends and receives: QP0 and QP1, datagrams, connections; their
 *			queues, completions and memory
 *	agents/		what a node answers to a MAD
 *	model/		what all of them work on: ports, links, routes, packets, faults, notices
 *
 * The header of a folder has the folder's name. No file includes the header of a folder above,
 * but for the KUnit tests: these are beside what they test, and control/ makes their fabrics.
 *
 * A packet goes this way:
 *
 *	madsim_post_send()	device/qp.c		a client posts a work request
 *	  madsim_send_datagram() engine/run.c		which becomes packets now
 *	  madsim_run_step()	engine/run.c		or later, if the queue pair is connected
 *	madsim_send()		engine/engine.c		a packet leaves its port
 *	madsim_cross()		engine/engine.c		goes over a link, which may have faults
 *	madsim_step()		engine/engine.c		goes through a switch, as route.c says
 *	madsim_deliver()	engine/engine.c		and has come to one of these:
 *	  madsim_mad_receive()	transport/special.c	the MAD layer of a host; it may ask agents
 *	  madsim_respond()	agents/agents.c		the agents of another node
 *	  madsim_ud_receive()	transport/ud.c		a queue pair for datagrams
 *	  madsim_rc_receive()	transport/rc.c		a connected queue pair
 *	madsim_cq_put()		transport/cq.c		the receiver has a completion
 *
 * madsim_cq_put() makes the completion of the sender, too.
 *
 * madsim_lose() counts a packet that a port drops on its way. madsim_qp_admits() and
 * madsim_mad_admits() refuse a packet with a wrong P_Key or Q_Key at its end, and
 * madsim_key_violation() counts it.
 *
 * Agents and connected queue pairs make a response of the packet, or an agent changes a link,
 * which raises a notice. The engine sends responses and notices. A queue pair sends later by
 * queueing work that the engine has prepared, see madsim_run_init().
 *
 * Locking order: the su_mutex of configfs, fabric->mutex, RTNL, madsim_wires_mutex, wire->mutex,
 * cq->mutex, fabric->lock, qp->lock, srq->lock, cq->lock, wire->lock. None of these is taken while
 * madsim_fabrics_mutex, madsim_users_lock or the lock of node->refused is held.
 *
 * The bytes of a burst are copied with no lock held, see struct madsim_rc. Until the copy has
 * ended, counts under fabric->lock keep its regions and queue pairs. Who wants these to go
 * waits on fabric->copied.
 */

#ifndef MADSIM_MODEL_H
#define MADSIM_MODEL_H

#include <linux/configfs.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/prandom.h>
#include <linux/rbtree.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

#include "attributes.h"
#include "packet.h"

#define MADSIM_MAX_PORTS	254	/* of a switch; 255 is "none" in LFTs */
#define MADSIM_NAME_LEN		64	/* NodeDescription's size, too */
#define MADSIM_WIDTHS		5
#define MADSIM_SPEEDS		9

/*
 * What a port counts from power-on for performance management. Errors come after the packets.
 * Violations of keys are counted in PortInfo
 */
enum madsim_counter {
	MADSIM_XMIT_DATA,		/* in units of four bytes */
	MADSIM_RCV_DATA,
	MADSIM_XMIT_PKTS,
	MADSIM_RCV_PKTS,
	MADSIM_XMIT_UCAST,
	MADSIM_RCV_UCAST,
	MADSIM_XMIT_MCAST,
	MADSIM_RCV_MCAST,
	MADSIM_XMIT_WAIT,		/* in MADSIM_TICK_NS */
	MADSIM_SYMBOL_ERRORS,
	MADSIM_LINK_RECOVERIES,
	MADSIM_LINK_DOWNED,
	MADSIM_RCV_ERRORS,
	MADSIM_RCV_REMPHYS_ERRORS,
	MADSIM_RELAY_ERRORS,
	MADSIM_XMIT_DISCARDS,
	MADSIM_XMIT_CONSTRAINT_ERRORS,
	MADSIM_RCV_CONSTRAINT_ERRORS,
	MADSIM_LINK_INTEGRITY_ERRORS,
	MADSIM_EXCESSIVE_OVERRUNS,
	MADSIM_VL15_DROPPED,
	MADSIM_QP1_DROPPED,
	/* Of MADSIM_RCV_ERRORS and MADSIM_RELAY_ERRORS */
	MADSIM_LOCAL_PHYSICAL_ERRORS,
	MADSIM_MALFORMED_ERRORS,
	MADSIM_OVERRUN_ERRORS,
	MADSIM_DLID_MAPPING_ERRORS,
	MADSIM_VL_MAPPING_ERRORS,
	MADSIM_LOOPING_ERRORS,
	/* Of MADSIM_XMIT_DISCARDS */
	MADSIM_INACTIVE_DISCARDS,
	MADSIM_MTU_DISCARDS,
	MADSIM_LIFETIME_DISCARDS,
	MADSIM_HOQ_DISCARDS,
	MADSIM_COUNTERS
};

/* Of PortSamplesControl and PortXmitWait: the time of 2560 bits at 2.5 Gb/s */
#define MADSIM_TICK_NS		1024

/* Fields of the attributes of the performance management agent, in all */
#define MADSIM_PMA_FIELDS	50

/**
 * struct madsim_counters - the counters of a port; fabric->lock
 * @total:	what was counted; no Set changes it, the command "set" does
 * @base:	what each field of an attribute shows less than @total, as each field is set by
 *		itself
 */
struct madsim_counters {
	u64 total[MADSIM_COUNTERS];
	u64 base[MADSIM_PMA_FIELDS];
};

/* What a port may be made to do to packets that leave it over the link */
enum madsim_fault_kind {
	MADSIM_FAULT_DROP,
	MADSIM_FAULT_SYMBOL,
	MADSIM_FAULT_CRC,
	MADSIM_FAULT_OVERRUN,
	MADSIM_FAULT_FLOW,
	MADSIM_FAULT_DUPLICATE,
	MADSIM_FAULT_DELAY,
	MADSIM_FAULT_REORDER,
	MADSIM_FAULT_CORRUPT,
	MADSIM_FAULT_KINDS
};

/**
 * struct madsim_fault - fault injection of a port; fabric->lock
 * @rule:	one per kind
 * @rnd:	where the probabilities come from
 * @seed:	what @rnd was started with
 * @delay_ms:	how long %MADSIM_FAULT_DELAY holds a packet
 * @waits_until: end of the time that PortXmitWait has, in jiffies
 * @rate:	what each counter gets a second
 * @rated:	what it has got since @rated_from
 * @rated_from:	when @rate was set, in milliseconds since boot
 */
struct madsim_fault {
	struct madsim_fault_rule {
		u32 nth;		/* every nth packet, 0: off */
		u32 permille;		/* or with this probability, 0: off */
		u32 seen;
		u64 injected;
	} rule[MADSIM_FAULT_KINDS];
	struct rnd_state rnd;
	u64 seed;
	u32 delay_ms;
	unsigned long waits_until;
	u32 rate[MADSIM_COUNTERS];
	u64 rated[MADSIM_COUNTERS];
	u64 rated_from;
};

/* What the faults of a port can be told */
enum madsim_fault_setting {
	MADSIM_SET_NTH,			/* a fault strikes every nth packet; 0: none */
	MADSIM_SET_PERMILLE,		/* a fault strikes each packet with this probability */
	MADSIM_SET_SEED,		/* of the random numbers, which start anew */
	MADSIM_SET_DELAY,		/* of MADSIM_FAULT_DELAY, in milliseconds */
	MADSIM_SET_RATE,		/* by which a counter grows a second */
};

/* Verbs that can be made to fail once */
enum madsim_verb {
	MADSIM_POST_SEND,
	MADSIM_CREATE_AH,
	MADSIM_MODIFY_PORT,
	MADSIM_VERBS
};

/* Of an attribute, in madsim_node.refused */
#define MADSIM_REFUSED(mgmt_class, attr_id) ((unsigned long)(mgmt_class) << 16 | (attr_id))

/**
 * struct madsim_port - a port of a node; fabric->lock unless noted
 * @node:	immutable
 * @num:	immutable; 0 is a switch's management port
 * @peer:	the other end of the link, changed under fabric->mutex as well
 * @wire:	of the far end of one, and that alone: immutable
 * @pulled:	the cable is out
 * @width:	the widest link it can have, an IB_WIDTH_*; changed under fabric->mutex as well
 * @speed:	the fastest one, an IB_SPEED_*; as @width
 * @speeds:	mask of the speeds that it supports
 * @speeds_enabled: mask of @speeds that a subnet manager allows
 * @speed_active: the speed of the link
 * @info:	PortInfo as the subnet manager sees it, but for speeds
 * @cap_mask2:	CapabilityMask2
 * @crc_errors:	bad packets, less the good ones since
 * @overruns:	packets in a row that found no buffer
 * @mkey_expires: end of the running M_Key lease in jiffies, 0 if none runs
 * @pkeys:	P_KeyTable
 * @guids:	GUIDInfo; [0] is the port GUID
 * @vlarb:	VLArbitration, low and high priority
 * @counters:	that the performance management agent shows
 * @samples:	that the performance management agent takes, NULL before the first one
 * @cc:		attributes of the congestion control agent, if the port is an end port
 * @cc_setting:	SwitchPortCongestionSetting, if it is the port of a switch
 * @qp:		QP0 and QP1 of the ib_device, NULL if there is none
 * @fault:	NULL until a fault was configured
 * @mcast_link:	on fabric->mcast while a multicast packet is replicated
 * @trap_link:	on fabric->traps while there is a notice to send
 * @trap_pending: mask of enum madsim_trap
 * @trap_left:	how often each notice will be sent yet
 * @trap_due:	when each is to be sent next, in jiffies
 * @trap_rest:	and before when none is, see SubnetTimeOut in PortInfo
 * @notice:	the notices themselves
 */
struct madsim_port {
	struct madsim_node *node;
	u8 num;
	bool pulled;
	u8 width;
	u16 speed;
	u16 speeds;
	u16 speeds_enabled;
	u16 speed_active;
	struct madsim_port *peer;
	struct madsim_wire *wire;
	struct ib_port_info info;
	u16 cap_mask2;
	u8 crc_errors;
	u8 overruns;
	unsigned long mkey_expires;
	__be16 pkeys[MADSIM_PKEYS];
	__be64 guids[MADSIM_GUIDS];
	u8 vlarb[2][MADSIM_VLARB_SIZE];
	struct madsim_counters counters;
	struct madsim_samples *samples;
	struct madsim_cc *cc;
	__be32 cc_setting;
	struct madsim_qp *qp[2];
	struct madsim_fault *fault;
	struct list_head mcast_link;
	struct list_head trap_link;
	u16 trap_pending;
	u8 trap_left[MADSIM_TRAPS];
	unsigned long trap_due[MADSIM_TRAPS];
	unsigned long trap_rest;
	struct ib_mad_notice_attr *notice;
};

/**
 * struct madsim_switch - what a node has if it is a switch; fabric->lock
 * @info:	SwitchInfo
 * @lft:	linear forwarding table
 * @mft:	multicast forwarding table, @mft_words per entry
 * @mft_words:	immutable
 * @cc:		SwitchCongestionSetting
 */
struct madsim_switch {
	struct madsim_switch_info info;
	u8 *lft;
	__be16 *mft;
	u8 mft_words;
	struct madsim_cc_switch_setting cc;
};

/**
 * struct madsim_node - a channel adapter, a switch or a router
 * @fabric:	immutable
 * @list:	on fabric->nodes; fabric->mutex, and fabric->lock for changes
 * @by_name:	in fabric->by_name; fabric->mutex
 * @by_guid:	in fabric->by_guid while it has power, unless GUIDs may be duplicates; fabric->mutex
 * @group:	its directory in configfs, if made there
 * @name:	immutable; how users and topologies call it
 * @number:	in fabric->numbers; immutable
 * @sw:		NULL if it is no switch; fabric->mutex, constant while the node
 *		has power, as are the others up to @opa
 * @type:	what it is, one of RDMA_NODE_IB_*
 * @nports:	number of ports without a switch's port 0
 * @guid:	node GUID
 * @sys_guid:	system image GUID, 0 if it is @guid
 * @port_guid:	GUID of the first end port, 0 if it follows from @guid
 * @vendor_id:	what NodeInfo says of its maker, 24 bits
 * @device_id:	what NodeInfo says of its model, 16 bits
 * @seed:	the first numbers of queue pairs and keys of its ib_device follow from this
 * @want_dev:	the node shall be backed by an ib_device
 * @split:	its ib_device has QP1 only, and another one has QP0
 * @planes:	its ib_device has port 1 only, of which all ports are planes. The one for QP0 has
 *		all ports
 * @smp_by_lid:	its agent answers SMPs that come by LID, too
 * @sm_disabled: its end ports with IsSMDisabled
 * @vpd:	vital product data of its ib_device, or NULL
 * @opa:	its ports take 2 KiB MADs
 * @pf:		the node that it is a virtual function of, or NULL; changed under
 *		fabric->mutex and fabric->lock
 * @vfs:	its virtual functions by number; changed under fabric->mutex, and under
 *		RTNL, as ip counts them twice. One that was found there under
 *		fabric->lock is there until that is released
 * @vf:		its number in @vfs of @pf
 * @vf_policy:	its ports as a virtual function have a link: IFLA_VF_LINK_STATE_*; fabric->lock
 * @vf_node_guid: will be @guid when it gets power, unless 0; fabric->lock
 * @vf_port_guid: will be @port_guid when it gets power, unless 0; fabric->lock
 * @desc:	NodeDescription; fabric->lock
 * @powered:	the node is in the fabric; fabric->lock, changed under fabric->mutex as well
 * @dev:	the ib_device; fabric->mutex, and fabric->lock for use in there
 * @smi_dev:	the one for QP0, if it is another; fabric->lock, for changes with a
 *		reference to @dev, too
 * @ports:	@nports + 1 ports
 * @sl2vl:	SLtoVLMappingTable by input and output port, a channel adapter's
 *		by output port alone; fabric->lock, as all below
 * @fail:	errno with which the next call of a verb fails, 0 for none
 * @failed:	how often a call of each verb has failed
 * @refused:	how often its agents have refused an attribute, by class and number
 * @registers:	of the vendor's agent
 */
struct madsim_node {
	struct madsim_fabric *fabric;
	struct list_head list;
	struct rb_node by_name;
	struct rb_node by_guid;
	struct config_group group;
	char name[MADSIM_NAME_LEN];
	u32 number;
	struct madsim_switch *sw;
	u8 type;
	u8 nports;
	u64 guid;
	u64 sys_guid;
	u64 port_guid;
	u32 vendor_id;
	u32 device_id;
	u32 seed;
	struct madsim_vpd *vpd;
	bool want_dev;
	bool opa;
	bool split;
	bool planes;
	bool smp_by_lid;
	u8 vf;
	u8 vf_policy;
	struct madsim_node *pf;
	struct xarray vfs;
	u64 vf_node_guid;
	u64 vf_port_guid;
	DECLARE_BITMAP(sm_disabled, MADSIM_MAX_PORTS + 1);
	char desc[MADSIM_NAME_LEN];
	bool powered;
	struct madsim_dev *dev;
	struct madsim_dev *smi_dev;
	struct madsim_port *ports;
	u8 *sl2vl;
	int fail[MADSIM_VERBS];
	atomic_t failed[MADSIM_VERBS];
	struct xarray refused;
	struct list_head registers;
};

/* Mistakes that an adapter forgives, and a strict fabric does not */
enum madsim_mistake {
	MADSIM_CHANGED,			/* data, before its send completed */
	MADSIM_DEREGISTERED,		/* and its region */
	MADSIM_FULL,			/* of sends for which nothing completes */
	MADSIM_NO_BUFFER,		/* where a message came: RNR */
	MADSIM_NO_RD_ATOMIC,		/* and a READ, or an atomic operation */
	MADSIM_SHORT_CQ,		/* shorter than the queues that feed it */
	MADSIM_UNREAD,			/* completions, of what is destroyed */
	MADSIM_MISTAKES
};

/* Links on the way of a packet, and of its response, that are remembered */
#define MADSIM_WAY	16

/* Destinations that the routers of a fabric remember */
#define MADSIM_FOUND_BITS	8

/**
 * struct madsim_way - the way of a packet, for packets that follow it at once; fabric->lock
 * @out:	the ports by which the packet, and then its response, has left
 * @count:	length of @out; %MADSIM_WAY: the way is not known
 * @request_hops: how many of @out the request has left by, its response by the others
 * @receiver:	the queue pair that has received the packet, or executed its request, or NULL
 */
struct madsim_way {
	struct madsim_port *out[MADSIM_WAY];
	u32 count;
	u32 request_hops;
	struct madsim_qp *receiver;
};

/**
 * struct madsim_fabric - a subnet, or several that routers join
 * @list:	on the list of all fabrics
 * @group:	its directory in configfs
 * @name:	immutable
 * @index:	immutable; makes GUIDs unique
 * @mutex:	serialises all configuration: nodes, links, live, plug
 * @live:	the fabric runs; @mutex
 * @data:	its devices have more than QP0 and QP1; @mutex, constant while the fabric is live
 * @duplicates:	nodes may have the same GUID; as @data
 * @nodes:	all nodes; @mutex, and @lock for changes
 * @by_name:	the same nodes; @mutex
 * @by_guid:	those with power, unless @duplicates; @mutex
 * @numbers:	all nodes by what makes their GUIDs unique; @mutex
 * @next_number: where the search for the next number begins; @mutex
 * @debugfs:	its directory
 * @lock:	protects everything that a MAD can meet on its way
 * @end_ports:	how many there are; changed under @mutex and @lock
 * @found:	where routers have found GIDs, by a hash: ports of nodes with power; @lock
 * @pkt:	the packet that travels: a request, and then its response; @lock
 * @way:	of the last packet that a connected queue pair has sent; @lock
 * @copied:	tasks wait there for the end of copies. These run without @lock
 * @copy:	a replica of a multicast packet; @lock
 * @mcast:	ports that a multicast packet still has to leave through; @lock
 * @traps:	ports with notices to send; @lock
 * @trap_work:	sends them
 * @trap_at:	when it will, in jiffies, if it is to run; @lock
 * @samples:	what is still being sampled; @lock
 * @samples_work: begins and ends samples
 * @strict:	mistakes of verbs' users are told, and have consequences; @lock
 * @mistakes:	how many queue pairs made each since @strict was set; @lock
 * @deferred:	delayed, duplicated and reordered packets; @lock
 * @deferred_count: how many there are; @lock
 * @deferred_work:	lets them go
 */
struct madsim_fabric {
	struct list_head list;
	struct config_group group;
	char name[MADSIM_NAME_LEN];
	u8 index;
	struct mutex mutex;	/* configuration */
	bool live;
	bool data;
	bool duplicates;
	struct list_head nodes;
	struct rb_root by_name;
	struct rb_root by_guid;
	struct xarray numbers;
	u32 next_number;
	struct dentry *debugfs;

	spinlock_t lock;	/* the model, taken with interrupts off */
	u32 end_ports;
	struct madsim_port *found[BIT(MADSIM_FOUND_BITS)];
	struct madsim_packet pkt;
	struct madsim_way way;
	wait_queue_head_t copied;
	struct madsim_packet copy;
	struct list_head mcast;
	struct list_head traps;
	struct delayed_work trap_work;
	unsigned long trap_at;
	struct list_head samples;
	struct delayed_work samples_work;
	bool strict;
	u32 mistakes[MADSIM_MISTAKES];
	struct list_head deferred;
	u32 deferred_count;
	struct delayed_work deferred_work;
};

/* What a device has few of, so that no user may have all */
enum madsim_share {
	MADSIM_SHARE_QP,
	MADSIM_SHARE_MEMBER,
	MADSIM_SHARE_MR,
	MADSIM_SHARES
};

/**
 * struct madsim_dev - an ib_device and the node behind it
 * @ibdev:	the device
 * @node:	immutable; outlives the device
 * @smi:	immutable; it is the node's @smi_dev
 * @registered:	the core takes events of @ibdev. There are none while the node has
 *		no power; fabric->lock
 * @qps:	queue pairs of clients by number, counted from @first_qpn so that the tree stays
 *		low. One that was found there under fabric->lock is there until that is released
 * @first_qpn:	immutable; the lowest number that a client's queue pair can have
 * @next_qp:	where in @qps the search for a place begins; the lock of @qps
 * @aliases:	stand for queue pairs of programs in completions, by number; stay as
 *		long as the device
 * @mrs:	memory regions by number, counted from @first_mr; found and used as those
 *		in @qps are
 * @first_mr:	immutable; the lowest number that a memory region can have
 * @next_mr:	where in @mrs the search for a place begins; the lock of @mrs
 * @rnd:	of @seed of the node; the lock of the fabric
 * @members:	of multicast groups; fabric->lock
 * @reserved:	what users with open contexts have reserved together; fabric->lock
 */
struct madsim_dev {
	struct ib_device ibdev;
	struct madsim_node *node;
	bool smi;
	bool registered;
	struct xarray qps;
	u32 first_qpn;
	u32 next_qp;
	struct xarray aliases;
	struct xarray mrs;
	u32 first_mr;
	u32 next_mr;
	struct rnd_state rnd;
	struct list_head members;
	u32 reserved[MADSIM_SHARES];
};

static inline struct madsim_dev *to_madsim_dev(struct ib_device *ibdev)
{
	return container_of(ibdev, struct madsim_dev, ibdev);
}

static inline u16 madsim_lid(const struct madsim_port *port)
{
	return be16_to_cpu(port->info.lid);
}

static inline u8 madsim_lmc(const struct madsim_port *port)
{
	return madsim_pi_lmc(&port->info);
}

static inline enum ib_port_state madsim_state(const struct madsim_port *port)
{
	return madsim_pi_get(&port->info, MADSIM_PI_STATE);
}

static inline u32 madsim_mad_size(const struct madsim_port *port)
{
	return port->node->opa ? OPA_MGMT_MAD_SIZE : IB_MGMT_MAD_SIZE;
}

/* An end port has a LID and agents of its own */
static inline bool madsim_is_end_port(const struct madsim_port *port)
{
	return !port->num == !!port->node->sw;
}

/* The end port through which the agents behind @port are reached */
static inline struct madsim_port *madsim_end_port(struct madsim_port *port)
{
	return port->node->sw ? &port->node->ports[0] : port;
}

static inline bool madsim_lid_is_mine(const struct madsim_port *port, u16 lid)
{
	u8 lmc = madsim_lmc(port);

	return madsim_lid(port) && lid >> lmc == madsim_lid(port) >> lmc;
}

/*
 * SLtoVLMappingTable between two ports of a switch. A channel adapter has one
 * for each port that it sends by.
 */
static inline u8 *madsim_sl2vl(const struct madsim_node *node, u8 in, u8 out)
{
	unsigned int at = node->sw ? in * (node->nports + 1) + out : out;

	return &node->sl2vl[at * MADSIM_SLS / 2];
}

/* The port that the linear table has for a LID. It ends with LinearFDBTop */
static inline u8 madsim_lft_port(const struct madsim_switch *sw, u16 lid)
{
	return lid <= be16_to_cpu(sw->info.lft_top) ? sw->lft[lid] :
						      MADSIM_LFT_NONE;
}

static inline u8 madsim_phys_state(const struct madsim_port *port)
{
	return madsim_pi_get(&port->info, MADSIM_PI_PHYS_STATE);
}

static inline u32 madsim_mtu(const struct madsim_port *port)
{
	return ib_mtu_enum_to_int(madsim_pi_get(&port->info,
						MADSIM_PI_NEIGHBOR_MTU));
}

/* The steps of route.c on a link, which each packet takes several times */

/* Whether the SL of a packet has a lane in operation. VL15 is for SMPs alone */
static inline bool madsim_has_vl(const struct madsim_port *in,
				 const struct madsim_port *out,
				 const struct madsim_packet *pkt)
{
	u8 pair = madsim_sl2vl(out->node, in->num, out->num)[pkt->sl / 2];
	u8 vl = pkt->sl & 1 ? pair & 0xf : pair >> 4;
	u8 lanes = BIT(madsim_pi_get(&out->info, MADSIM_PI_OPER_VLS) - 1);

	return vl < 15 && vl < lanes;
}

/*
 * Whether a packet can leave by a port, or how it is lost. VL15 works as soon as the link is
 * trained, all else wants the port ACTIVE
 */
static inline enum madsim_fate
madsim_route_out(const struct madsim_port *out, const struct madsim_packet *pkt)
{
	if (madsim_state(out) < (pkt->smi ? IB_PORT_INIT : IB_PORT_ACTIVE))
		return MADSIM_LOST_INACTIVE;
	if (madsim_is_data(pkt) && pkt->len > madsim_mtu(out))
		return MADSIM_LOST_MTU;
	return MADSIM_GOES;
}

/* Whether a port takes a packet from its link, or how it is lost. All but VL15 wants it ARMED */
static inline enum madsim_fate
madsim_route_in(const struct madsim_port *in, const struct madsim_packet *pkt)
{
	if (madsim_state(in) < (pkt->smi ? IB_PORT_INIT : IB_PORT_ARMED) ||
	    (pkt->len > IB_MGMT_MAD_SIZE && !madsim_is_data(pkt) &&
	     !in->node->opa))
		return MADSIM_LOST_MALFORMED;
	return MADSIM_GOES;
}

/* Whether the device of a node serves more than the MAD layer */
static inline bool madsim_has_data(const struct madsim_node *node)
{
	return node->fabric->data && !node->opa;
}

static inline u64 madsim_sys_guid(const struct madsim_node *node)
{
	return node->sys_guid ?: node->guid;
}

/* Of port 0 of a switch, or port 1 of a channel adapter; the others count on */
static inline u64 madsim_first_port_guid(const struct madsim_node *node)
{
	return node->port_guid ?: node->guid + !node->sw;
}

static inline void madsim_count(struct madsim_port *port, enum madsim_counter c)
{
	port->counters.total[c]++;
}

/*
 * workers.c: workers, those for the data of programs, which delay no other work, and those
 * that stay on the CPU of a completion vector
 */
extern struct workqueue_struct *madsim_wq;
extern struct workqueue_struct *madsim_user_wq;
extern struct workqueue_struct *madsim_vector_wq;
int madsim_workers_init(void);
void madsim_workers_exit(void);

/* link.c: cables, and the state of the ports at their ends */
int madsim_link(struct madsim_node *a, u32 a_port, struct madsim_node *b,
		u32 b_port, u8 width, u16 speed);
int madsim_link_wire(struct madsim_node *node, u32 num, struct madsim_port *far,
		     u8 width, u16 speed);
int madsim_unlink(struct madsim_node *node, u32 num);
void madsim_link_pull(struct madsim_port *port, bool pulled);
bool madsim_port_enabled(const struct madsim_port *port);
void madsim_link_update(struct madsim_port *port);
void madsim_links_update(struct madsim_node *node);
void madsim_link_request(struct madsim_port *port, u8 phys);
void madsim_link_train(struct madsim_port *far, bool restart, u8 phys);
bool madsim_link_error(struct madsim_port *port, enum madsim_fault_kind error);
void madsim_port_set_state(struct madsim_port *port, enum ib_port_state state);
void madsim_port_event(struct madsim_port *port, enum ib_event_type event);

/* speed.c: widths and speeds */
extern const char * const madsim_width_names[MADSIM_WIDTHS];
extern const char * const madsim_speed_names[MADSIM_SPEEDS];
void madsim_speed_limit(struct madsim_port *port, u8 width, u16 speed);
bool madsim_speed_agree(const struct madsim_port *a,
			const struct madsim_port *b, u8 *width, u16 *speed);
void madsim_speed_read(const struct madsim_port *port, union madsim_port_info *pi, bool extended);
bool madsim_speed_wanted(const struct madsim_port *port,
			 const union madsim_port_info *pi, bool extended,
			 u16 *speeds);
bool madsim_speed_fdr10(struct madsim_port *port, struct madsim_ext_port_info *epi, bool set);

/* trap.c: notices */
struct madsim_port *madsim_trap_dequeue(struct madsim_fabric *fabric, struct list_head *ports,
					struct madsim_packet *pkt);
void madsim_trap_link_state(struct madsim_node *node);
void madsim_trap_link_error(struct madsim_port *port, enum madsim_trap trap);
void madsim_trap_local_change(struct madsim_port *port, bool desc_changed);
void madsim_trap_bad_mkey(struct madsim_port *port, const struct ib_smp *smp);
void madsim_key_violation(struct madsim_port *port, enum madsim_trap trap,
			  const struct madsim_packet *pkt);
void madsim_trap_switch_pkey(struct madsim_port *port, const struct madsim_packet *pkt);
void madsim_trap_repress(struct madsim_port *port, const struct ib_mad_notice_attr *notice);

/* Whether a packet has the keys of its queue pair. If not, counts that, and raises a trap */
static inline bool madsim_keys_fit(struct madsim_port *port, bool pkey_fits, u32 qkey,
				   const struct madsim_packet *pkt)
{
	if (likely(pkey_fits && pkt->qkey == qkey))
		return true;
	madsim_key_violation(port, pkey_fits ? MADSIM_TRAP_BAD_QKEY : MADSIM_TRAP_BAD_PKEY, pkt);
	return false;
}

/* fault.c: fault injection */
void madsim_fault_init(struct madsim_node *node);
struct madsim_port *madsim_fault_release(struct madsim_fabric *fabric,
					 struct madsim_packet *pkt, bool *arrived);
void madsim_fault_defer(struct madsim_port *port, const struct madsim_packet *pkt);
bool madsim_fault_drops(struct madsim_port *port);
unsigned long madsim_fault_errors(struct madsim_port *port);
bool madsim_fault_inject(struct madsim_port *port, struct madsim_packet *pkt);
void madsim_fault_forget(struct madsim_port *out);
void madsim_fault_flush(struct madsim_fabric *fabric);
int madsim_fault_set(struct madsim_port *port, enum madsim_fault_setting what, u32 which,
		     u32 value);
void madsim_fault_count(struct madsim_port *port);
void madsim_fault_clear(struct madsim_port *port);
bool madsim_fault_read(struct madsim_port *port, struct madsim_fault *copy);
int madsim_fault_verb(struct madsim_node *node, enum madsim_verb verb);
int madsim_fault_refuse(struct madsim_node *node, u8 mgmt_class, u16 attr_id, bool refuse);
bool madsim_fault_refuses(struct madsim_node *node, const struct ib_mad_hdr *hdr);

#endif /* MADSIM_MODEL_H */
