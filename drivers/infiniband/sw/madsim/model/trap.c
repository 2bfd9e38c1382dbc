// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Notices to the subnet manager: raised when something happened, and sent until the
 * subnet manager represses them or they were sent often enough. A port sends
 * one notice in the time that SubnetTimeOut stands for, however much happens.
 * Nothing runs while there is nothing to send.
 */

#include "model.h"

#define MADSIM_TRAP_INTERVAL	HZ
#define MADSIM_TRAP_SENDS	10

/* A port of a switch went up or down. ib_smi.h has no name for it */
#define MADSIM_NOTICE_TRAP_LINK_STATE	cpu_to_be16(128)
/* A switch has dropped a packet because of its P_Key */
#define MADSIM_NOTICE_TRAP_SWITCH_PKEY	cpu_to_be16(259)

static const struct {
	u8 type;
	__be16 num;
} madsim_notices[MADSIM_TRAPS] = {
	[MADSIM_TRAP_LINK_STATE] = {
		IB_NOTICE_TYPE_URGENT, MADSIM_NOTICE_TRAP_LINK_STATE },
	[MADSIM_TRAP_INTEGRITY] = {
		IB_NOTICE_TYPE_URGENT, IB_NOTICE_TRAP_LLI_THRESH },
	[MADSIM_TRAP_OVERRUN] = {
		IB_NOTICE_TYPE_URGENT, IB_NOTICE_TRAP_EBO_THRESH },
	[MADSIM_TRAP_FLOW] = {
		IB_NOTICE_TYPE_URGENT, IB_NOTICE_TRAP_FLOW_UPDATE },
	[MADSIM_TRAP_LOCAL_CHANGE] = {
		IB_NOTICE_TYPE_INFO, IB_NOTICE_TRAP_CAP_MASK_CHG },
	[MADSIM_TRAP_BAD_MKEY] = {
		IB_NOTICE_TYPE_SECURITY, IB_NOTICE_TRAP_BAD_MKEY },
	[MADSIM_TRAP_BAD_PKEY] = {
		IB_NOTICE_TYPE_SECURITY, IB_NOTICE_TRAP_BAD_PKEY },
	[MADSIM_TRAP_BAD_QKEY] = {
		IB_NOTICE_TYPE_SECURITY, IB_NOTICE_TRAP_BAD_QKEY },
	[MADSIM_TRAP_SWITCH_PKEY] = {
		IB_NOTICE_TYPE_SECURITY, MADSIM_NOTICE_TRAP_SWITCH_PKEY },
};

/* The details of trap 259, which ib_mad.h does not have */
struct madsim_notice_259 {
	__be16 data_valid;
	__be16 lid1;
	__be16 lid2;
	__be16 pkey;
	__be32 sl_qp1;
	__be32 qp2;
	union ib_gid gid1;
	union ib_gid gid2;
	__be16 sw_lid;
	u8 port_num;
} __packed;

/* Of data_valid: the LIDs, the P_Key, the SL, the QPs; and the GIDs */
#define MADSIM_259_VALID	0x03f
#define MADSIM_259_GIDS		0x0c0

static void madsim_trap_build(struct madsim_port *port, enum madsim_trap trap,
			      struct madsim_packet *pkt)
{
	struct ib_mad_notice_attr *notice = &port->notice[trap];
	struct ib_smp *smp = &pkt->smp;

	memset(pkt, 0, offsetof(struct madsim_packet, mad) + IB_MGMT_MAD_SIZE);
	pkt->slid = madsim_lid(port);
	pkt->dlid = be16_to_cpu(port->info.sm_lid);
	pkt->sl = madsim_pi_get(&port->info, MADSIM_PI_MASTER_SM_SL);
	pkt->smi = true;
	pkt->len = IB_MGMT_MAD_SIZE;

	smp->base_version = IB_MGMT_BASE_VERSION;
	smp->mgmt_class = IB_MGMT_CLASS_SUBN_LID_ROUTED;
	smp->class_version = 1;
	smp->method = IB_MGMT_METHOD_TRAP;
	smp->tid = cpu_to_be64((u64)madsim_lid(port) << 16 |
			       be16_to_cpu(notice->trap_num));
	smp->attr_id = IB_SMP_ATTR_NOTICE;
	notice->issuer_lid = port->info.lid;
	memcpy(smp->data, notice, sizeof(*notice));
}

/* When a port that has notices may send one of them, and which */
static unsigned long madsim_trap_next(const struct madsim_port *port, enum madsim_trap *next)
{
	const unsigned long *due = port->trap_due;
	enum madsim_trap trap;

	/* The notice that has waited longest, so that a frequent kind keeps no other one back */
	*next = __ffs(port->trap_pending);
	for (trap = *next; trap < MADSIM_TRAPS; trap++) {
		if (port->trap_pending & BIT(trap) &&
		    time_before(due[trap], due[*next]))
			*next = trap;
	}
	return time_before(due[*next], port->trap_rest) ? port->trap_rest :
							  due[*next];
}

/* Have the notices sent that can be sent at a time, in jiffies */
static void madsim_trap_arm(struct madsim_fabric *fabric, unsigned long at)
{
	unsigned long now = jiffies;

	if (delayed_work_pending(&fabric->trap_work) &&
	    time_before_eq(fabric->trap_at, at))
		return;
	fabric->trap_at = at;
	mod_delayed_work(madsim_wq, &fabric->trap_work,
			 time_before(now, at) ? at - now : 0);
}

/* It is the turn of a notice. Returns whether @pkt has it */
static bool madsim_trap_turn(struct madsim_port *port, enum madsim_trap trap,
			     unsigned long now, struct madsim_packet *pkt)
{
	u8 timeout = madsim_pi_subnet_timeout(&port->info);

	port->trap_due[trap] = now + MADSIM_TRAP_INTERVAL;
	if (!--port->trap_left[trap])
		port->trap_pending &= ~BIT(trap);
	/* No subnet manager has come yet */
	if (!port->info.sm_lid || !madsim_lid(port))
		return false;
	port->trap_rest = now + nsecs_to_jiffies(4096ULL << timeout);
	madsim_trap_build(port, trap, pkt);
	return true;
}

/**
 * madsim_trap_dequeue - make the next notice whose time has come
 * @fabric: where
 * @ports: those of fabric->traps that have not been looked at; the others go back
 * @pkt: the notice
 *
 * Context: any; fabric->lock is held.
 * Return: the port that is to send it, or NULL if there is none. Then trap_work runs
 * when there is one.
 */
struct madsim_port *madsim_trap_dequeue(struct madsim_fabric *fabric, struct list_head *ports,
					struct madsim_packet *pkt)
{
	unsigned long now = jiffies;
	struct madsim_port *port;
	enum madsim_trap trap;

	while ((port = list_first_entry_or_null(ports, struct madsim_port,
						trap_link))) {
		if (!port->trap_pending) {
			list_del_init(&port->trap_link);
		} else if (time_before(now, madsim_trap_next(port, &trap))) {
			madsim_trap_arm(fabric, madsim_trap_next(port, &trap));
			list_move_tail(&port->trap_link, &fabric->traps);
		} else if (madsim_trap_turn(port, trap, now, pkt)) {
			return port;
		}
	}
	return NULL;
}

/* The work madsim_trap_work() sends it, and repeats it. The caller fills in the details */
static struct ib_mad_notice_attr *madsim_trap_raise(struct madsim_port *port, enum madsim_trap trap)
{
	struct madsim_fabric *fabric = port->node->fabric;
	struct ib_mad_notice_attr *notice = &port->notice[trap];
	enum madsim_trap next;

	lockdep_assert_held(&fabric->lock);

	memset(notice, 0, sizeof(*notice));
	notice->generic_type = madsim_notices[trap].type;
	notice->prod_type_lsb = cpu_to_be16(port->node->type);
	notice->trap_num = madsim_notices[trap].num;

	port->trap_left[trap] = MADSIM_TRAP_SENDS;
	/* A notice that waits for its turn keeps its place */
	if (!(port->trap_pending & BIT(trap)) ||
	    time_before(jiffies, port->trap_due[trap]))
		port->trap_due[trap] = jiffies;
	port->trap_pending |= BIT(trap);
	if (list_empty(&port->trap_link))
		list_add_tail(&port->trap_link, &fabric->traps);
	madsim_trap_arm(fabric, madsim_trap_next(port, &next));
	return notice;
}

/* Raise trap 128: a port of this switch went up or down. fabric->lock is held */
void madsim_trap_link_state(struct madsim_node *node)
{
	struct madsim_port *port0 = &node->ports[0];
	struct ib_mad_notice_attr *notice;

	if (!node->powered)
		return;
	notice = madsim_trap_raise(port0, MADSIM_TRAP_LINK_STATE);
	/* Of trap 128 this is the LID; the kernel has names for 129 only */
	notice->details.ntc_129_131.reserved = port0->info.lid;
}

/* Raise trap 129, 130 or 131: a port saw too many errors. fabric->lock is held */
void madsim_trap_link_error(struct madsim_port *port, enum madsim_trap trap)
{
	struct madsim_port *end_port = madsim_end_port(port);
	struct ib_mad_notice_attr *notice;

	notice = madsim_trap_raise(end_port, trap);
	notice->details.ntc_129_131.lid = end_port->info.lid;
	notice->details.ntc_129_131.port_num = port->num;
}

/* Raise trap 144: an end port can do something else, or has a new name. fabric->lock is held */
void madsim_trap_local_change(struct madsim_port *port, bool desc_changed)
{
	struct ib_mad_notice_attr *notice;

	notice = madsim_trap_raise(port, MADSIM_TRAP_LOCAL_CHANGE);
	notice->details.ntc_144.lid = port->info.lid;
	notice->details.ntc_144.new_cap_mask = port->info.cap_mask;
	if (desc_changed) {
		notice->details.ntc_144.local_changes = 1;
		notice->details.ntc_144.change_flags =
			IB_NOTICE_TRAP_NODE_DESC_CHG;
	}
}

/* Raise trap 256: an SMP for an end port has a wrong M_Key. fabric->lock is held */
void madsim_trap_bad_mkey(struct madsim_port *port, const struct ib_smp *smp)
{
	struct ib_mad_notice_attr *notice;

	notice = madsim_trap_raise(port, MADSIM_TRAP_BAD_MKEY);
	notice->details.ntc_256.lid = port->info.lid;
	notice->details.ntc_256.method = smp->method;
	notice->details.ntc_256.attr_id = smp->attr_id;
	notice->details.ntc_256.attr_mod = smp->attr_mod;
	notice->details.ntc_256.mkey = smp->mkey;
	/* The notice has no room for the LIDs of an OPA SMP */
	if (smp->mgmt_class == IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE &&
	    smp->class_version != OPA_SM_CLASS_VERSION) {
		u8 hops = min_t(u8, smp->hop_cnt,
				sizeof(notice->details.ntc_256.dr_rtn_path));

		notice->details.ntc_256.dr_slid = smp->dr_slid;
		notice->details.ntc_256.dr_trunc_hop =
			IB_NOTICE_TRAP_DR_NOTICE | hops;
		if (hops < smp->hop_cnt)
			notice->details.ntc_256.dr_trunc_hop |=
				IB_NOTICE_TRAP_DR_TRUNC;
		memcpy(notice->details.ntc_256.dr_rtn_path,
		       &smp->return_path[1], hops);
	}
}

static __be32 madsim_sl_qpn(const struct madsim_packet *pkt)
{
	return cpu_to_be32((u32)pkt->sl << 28 | pkt->src_qpn);
}

/* Count a packet with a wrong key, and raise trap 257 or 258. fabric->lock is held */
void madsim_key_violation(struct madsim_port *port, enum madsim_trap trap,
			  const struct madsim_packet *pkt)
{
	bool pkey = trap == MADSIM_TRAP_BAD_PKEY;
	u32 key = pkey ? pkt->pkey : pkt->qkey;
	struct ib_mad_notice_attr *notice;

	madsim_count_violation(pkey ? &port->info.pkey_violations : &port->info.qkey_violations);
	notice = madsim_trap_raise(port, trap);
	notice->details.ntc_257_258.lid1 = cpu_to_be16(pkt->slid);
	notice->details.ntc_257_258.lid2 = cpu_to_be16(pkt->dlid);
	notice->details.ntc_257_258.key = cpu_to_be32(key);
	notice->details.ntc_257_258.sl_qp1 = madsim_sl_qpn(pkt);
	notice->details.ntc_257_258.qp2 = cpu_to_be32(pkt->dst_qpn);
	if (pkt->grh_valid) {
		notice->details.ntc_257_258.gid1 = pkt->grh.sgid;
		notice->details.ntc_257_258.gid2 = pkt->grh.dgid;
	}
}

/* Raise trap 259: a switch has dropped a packet with a wrong P_Key. fabric->lock is held */
void madsim_trap_switch_pkey(struct madsim_port *port, const struct madsim_packet *pkt)
{
	struct madsim_port *port0 = madsim_end_port(port);
	struct ib_mad_notice_attr *notice;
	struct madsim_notice_259 *details;

	notice = madsim_trap_raise(port0, MADSIM_TRAP_SWITCH_PKEY);
	details = (void *)notice->details.raw_data.details;
	details->data_valid = cpu_to_be16(MADSIM_259_VALID);
	details->lid1 = cpu_to_be16(pkt->slid);
	details->lid2 = cpu_to_be16(pkt->dlid);
	details->pkey = cpu_to_be16(pkt->pkey);
	details->sl_qp1 = madsim_sl_qpn(pkt);
	details->qp2 = cpu_to_be32(pkt->dst_qpn);
	if (pkt->grh_valid) {
		details->data_valid |= cpu_to_be16(MADSIM_259_GIDS);
		details->gid1 = pkt->grh.sgid;
		details->gid2 = pkt->grh.dgid;
	}
	details->sw_lid = port0->info.lid;
	details->port_num = port->num;
}

/* Stop a notice because the subnet manager has it. fabric->lock is held */
void madsim_trap_repress(struct madsim_port *port, const struct ib_mad_notice_attr *notice)
{
	enum madsim_trap trap;

	lockdep_assert_held(&port->node->fabric->lock);

	for (trap = 0; trap < MADSIM_TRAPS; trap++) {
		if (port->notice[trap].trap_num == notice->trap_num)
			port->trap_pending &= ~BIT(trap);
	}
	/* trap_work takes the port off the list */
}
