// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The ib_device of a node: registration, and the verbs about devices and
 * ports. A device refuses a verb by not having it.
 */

#include <linux/module.h>
#include <linux/slab.h>

#include "device.h"
#include "agents/agents.h"

static bool hfi1verbs;
module_param(hfi1verbs, bool, 0644);
MODULE_PARM_DESC(hfi1verbs,
		 "let programs use new devices by hfi1verbs of rdma-core, not ipathverbs (default N)");

static bool rings = true;
module_param(rings, bool, 0644);
MODULE_PARM_DESC(rings,
		 "let programs poll new devices, and post receives, without system calls (default Y)");

/* There is no firmware, but programs want a version: three numbers of 16 bits, here 1.0.0 */
#define MADSIM_FW_VER		BIT_ULL(32)
/* How long a busy host takes to acknowledge, as Soft-RoCE has it: 134 ms, see the specification */
#define MADSIM_ACK_DELAY	15

/* The port that a verb means; the core has checked the number */
static struct madsim_port *madsim_port_of(struct ib_device *ibdev, u32 num)
{
	return &to_madsim_dev(ibdev)->node->ports[num];
}

static int madsim_query_device(struct ib_device *ibdev,
			       struct ib_device_attr *attr,
			       struct ib_udata *udata)
{
	struct madsim_node *node = to_madsim_dev(ibdev)->node;

	memset(attr, 0, sizeof(*attr));
	attr->sys_image_guid = cpu_to_be64(madsim_sys_guid(node));
	attr->vendor_id = node->vendor_id;
	attr->vendor_part_id = node->device_id;
	attr->fw_ver = MADSIM_FW_VER;
	attr->device_cap_flags =
		IB_DEVICE_CHANGE_PHY_PORT | IB_DEVICE_SYS_IMAGE_GUID |
		IB_DEVICE_BAD_PKEY_CNTR | IB_DEVICE_BAD_QKEY_CNTR |
		IB_DEVICE_PORT_ACTIVE_EVENT;
	attr->kernel_cap_flags |= IBK_LOCAL_DMA_LKEY;
	if (READ_ONCE(node->pf))
		attr->kernel_cap_flags |= IBK_VIRTUAL_FUNCTION;
	attr->max_qp = 2 * MADSIM_MAX_CA_PORTS;
	attr->max_cq = MADSIM_MAX_CA_PORTS;
	attr->max_qp_wr = MADSIM_MAX_WR;
	attr->max_cqe = 4 * MADSIM_MAX_WR;
	attr->max_send_sge = 2;
	attr->max_recv_sge = 1;
	attr->max_pd = INT_MAX;
	attr->max_ah = INT_MAX;
	attr->max_pkeys = MADSIM_PKEYS;
	if (madsim_has_data(node)) {
		attr->max_qp = (MADSIM_MAX_QP - MADSIM_KERNEL_QP) / 2;
		attr->max_cq = INT_MAX;
		attr->max_cqe = MADSIM_MAX_CQE;
		attr->max_send_sge = MADSIM_MAX_SGE;
		attr->max_recv_sge = MADSIM_MAX_SGE;
		attr->max_mcast_grp = (MADSIM_MAX_MEMBERS - MADSIM_KERNEL_MEMBERS) / 2;
		attr->max_mcast_qp_attach =
			(MADSIM_MAX_ATTACHED - MADSIM_KERNEL_ATTACHED) / 2;
		attr->max_total_mcast_qp_attach = attr->max_mcast_grp;
		attr->local_ca_ack_delay = MADSIM_ACK_DELAY;
		attr->device_cap_flags |= IB_DEVICE_CURR_QP_STATE_MOD |
					  IB_DEVICE_RC_RNR_NAK_GEN |
					  IB_DEVICE_SRQ_RESIZE |
					  IB_DEVICE_MEM_MGT_EXTENSIONS |
					  IB_DEVICE_UD_IP_CSUM;
		attr->kernel_cap_flags |= IBK_UD_TSO;
		attr->atomic_cap = IB_ATOMIC_HCA;
		attr->max_qp_rd_atom = MADSIM_MAX_RD_ATOMIC;
		attr->max_qp_init_rd_atom = MADSIM_MAX_RD_ATOMIC;
		attr->max_res_rd_atom = MADSIM_MAX_QP * MADSIM_MAX_RD_ATOMIC;
		attr->max_sge_rd = MADSIM_MAX_SGE;
		attr->max_fast_reg_page_list_len = MADSIM_MAX_MR_PAGES;
		attr->max_mr = (MADSIM_MAX_MR - MADSIM_KERNEL_MR) / 2;
		attr->max_mr_size = U64_MAX;
		attr->page_size_cap = PAGE_SIZE;
		attr->max_srq = INT_MAX;
		attr->max_srq_wr = MADSIM_MAX_WR;
		attr->max_srq_sge = MADSIM_MAX_SGE;
	}
	return 0;
}

static int madsim_modify_device(struct ib_device *ibdev, int mask, struct ib_device_modify *modify)
{
	struct madsim_node *node = to_madsim_dev(ibdev)->node;
	unsigned long flags;
	unsigned int i;

	if (mask & ~IB_DEVICE_MODIFY_NODE_DESC)
		return -EOPNOTSUPP;
	if (!(mask & IB_DEVICE_MODIFY_NODE_DESC))
		return 0;

	spin_lock_irqsave(&node->fabric->lock, flags);
	memcpy(node->desc, modify->node_desc, sizeof(node->desc));
	memcpy(ibdev->node_desc, modify->node_desc, sizeof(ibdev->node_desc));
	for (i = rdma_start_port(ibdev); i <= rdma_end_port(ibdev); i++)
		madsim_trap_local_change(&node->ports[i], true);
	spin_unlock_irqrestore(&node->fabric->lock, flags);
	return 0;
}

/* Of two devices for a port, each has the bits of what it is for */
static u32 madsim_dev_caps(const struct madsim_dev *dev, const struct ib_port_info *info)
{
	u32 caps = be32_to_cpu(info->cap_mask);

	if (dev->smi)
		return caps & ~IB_PORT_CM_SUP;
	if (dev->node->split)
		return (caps & ~IB_PORT_SM) | IB_PORT_SM_DISABLED;
	return caps;
}

static int madsim_query_port(struct ib_device *ibdev, u32 num, struct ib_port_attr *attr)
{
	struct madsim_port *port = madsim_port_of(ibdev, num);
	struct ib_port_info *info = &port->info;
	unsigned long flags;

	/* The core has zeroed @attr */
	spin_lock_irqsave(&port->node->fabric->lock, flags);
	attr->state = madsim_state(port);
	attr->phys_state = madsim_pi_get(info, MADSIM_PI_PHYS_STATE);
	attr->max_mtu = madsim_pi_get(info, MADSIM_PI_MTU_CAP);
	attr->active_mtu = madsim_pi_get(info, MADSIM_PI_NEIGHBOR_MTU);
	attr->gid_tbl_len = MADSIM_GUIDS;
	attr->pkey_tbl_len = MADSIM_PKEYS;
	attr->port_cap_flags = madsim_dev_caps(to_madsim_dev(ibdev), info);
	attr->port_cap_flags2 = port->cap_mask2;
	attr->max_msg_sz = madsim_has_data(port->node) ?
				   MADSIM_MAX_MESSAGE : madsim_mad_size(port);
	attr->bad_pkey_cntr = be16_to_cpu(info->pkey_violations);
	attr->qkey_viol_cntr = be16_to_cpu(info->qkey_violations);
	attr->sm_lid = be16_to_cpu(info->sm_lid);
	attr->lid = madsim_lid(port);
	attr->lmc = madsim_lmc(port);
	attr->max_vl_num = madsim_pi_get(info, MADSIM_PI_VL_CAP);
	attr->sm_sl = madsim_pi_get(info, MADSIM_PI_MASTER_SM_SL);
	attr->subnet_timeout = madsim_pi_subnet_timeout(info);
	attr->init_type_reply = madsim_pi_get(info, MADSIM_PI_INIT_TYPE_REPLY);
	attr->active_width = info->link_width_active;
	attr->active_speed = port->speed_active;
	spin_unlock_irqrestore(&port->node->fabric->lock, flags);
	return 0;
}

static int madsim_modify_port(struct ib_device *ibdev, u32 num, int mask,
			      struct ib_port_modify *modify)
{
	struct madsim_port *port = madsim_port_of(ibdev, num);
	unsigned long flags;
	__be32 caps;
	int ret;

	ret = madsim_fault_verb(port->node, MADSIM_MODIFY_PORT);
	if (ret)
		return ret;
	if (mask &
	    ~(IB_PORT_SHUTDOWN | IB_PORT_INIT_TYPE | IB_PORT_RESET_QKEY_CNTR))
		return -EOPNOTSUPP;

	spin_lock_irqsave(&port->node->fabric->lock, flags);
	caps = port->info.cap_mask;
	caps |= cpu_to_be32(modify->set_port_cap_mask);
	caps &= cpu_to_be32(~modify->clr_port_cap_mask);
	if (caps != port->info.cap_mask) {
		port->info.cap_mask = caps;
		madsim_trap_local_change(port, false);
	}
	if (mask & IB_PORT_INIT_TYPE)
		madsim_pi_set(&port->info, MADSIM_PI_INIT_TYPE,
			      modify->init_type);
	if (mask & IB_PORT_RESET_QKEY_CNTR)
		port->info.qkey_violations = 0;
	if (mask & IB_PORT_SHUTDOWN && port->num)
		madsim_link_request(port, IB_PORT_PHYS_STATE_POLLING);
	spin_unlock_irqrestore(&port->node->fabric->lock, flags);
	return 0;
}

static void madsim_get_dev_fw_str(struct ib_device *ibdev, char *str)
{
	snprintf(str, IB_FW_VERSION_NAME_MAX, "%llu.%llu.%llu", MADSIM_FW_VER >> 32,
		 MADSIM_FW_VER >> 16 & 0xffff, MADSIM_FW_VER & 0xffff);
}

static int madsim_get_port_immutable(struct ib_device *ibdev, u32 num,
				     struct ib_port_immutable *immutable)
{
	struct madsim_dev *dev = to_madsim_dev(ibdev);

	immutable->gid_tbl_len = MADSIM_GUIDS;
	immutable->pkey_tbl_len = MADSIM_PKEYS;
	immutable->max_mad_size = IB_MGMT_MAD_SIZE;
	if (dev->node->opa) {
		immutable->core_cap_flags = RDMA_CORE_PORT_INTEL_OPA;
		immutable->max_mad_size = OPA_MGMT_MAD_SIZE;
	} else if (dev->smi) {
		immutable->core_cap_flags = RDMA_CORE_CAP_IB_MAD |
					    RDMA_CORE_CAP_IB_SMI;
	} else {
		immutable->core_cap_flags = RDMA_CORE_PORT_IBA_IB;
		if (dev->node->split)
			immutable->core_cap_flags &= ~RDMA_CORE_CAP_IB_SMI;
	}
	return 0;
}

static int madsim_query_gid(struct ib_device *ibdev, u32 num, int index, union ib_gid *gid)
{
	struct madsim_port *port = madsim_port_of(ibdev, num);
	unsigned long flags;

	spin_lock_irqsave(&port->node->fabric->lock, flags);
	gid->global.subnet_prefix =
		port->guids[index] ? port->info.gid_prefix : 0;
	gid->global.interface_id = port->guids[index];
	spin_unlock_irqrestore(&port->node->fabric->lock, flags);
	return 0;
}

static int madsim_query_pkey(struct ib_device *ibdev, u32 num, u16 index, u16 *pkey)
{
	struct madsim_port *port = madsim_port_of(ibdev, num);
	unsigned long flags;

	if (index >= MADSIM_PKEYS)
		return -EINVAL;

	spin_lock_irqsave(&port->node->fabric->lock, flags);
	*pkey = be16_to_cpu(port->pkeys[index]);
	spin_unlock_irqrestore(&port->node->fabric->lock, flags);
	return 0;
}

/*
 * The MAD layer shows every MAD that came in on a queue pair, directed-route SMPs that do not leave
 * the port, and what sysfs asks for; only the latter comes without a completion.
 */
static int madsim_process_mad(struct ib_device *ibdev, int mad_flags, u32 num,
			      const struct ib_wc *in_wc,
			      const struct ib_grh *in_grh,
			      const struct ib_mad *in, struct ib_mad *out,
			      size_t *out_mad_size, u16 *out_mad_pkey_index)
{
	struct madsim_port *port = madsim_port_of(ibdev, num);
	u8 mgmt_class = in->mad_hdr.mgmt_class;
	bool smi = mgmt_class == IB_MGMT_CLASS_SUBN_LID_ROUTED ||
		   mgmt_class == IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE;
	enum madsim_verdict verdict;
	u32 len = *out_mad_size;
	unsigned long flags;

	/* Most MADs are for no agent of a host. madsim_gsa() looks again with the lock held */
	if (in->mad_hdr.method & IB_MGMT_METHOD_RESP ||
	    (!smi && !madsim_has_agent(port->node, mgmt_class)))
		return IB_MAD_RESULT_SUCCESS;

	if (in->mad_hdr.base_version == OPA_MGMT_BASE_VERSION)
		madsim_copy_mad(out, in, len);
	else
		madsim_copy_mad(out, in, IB_MGMT_MAD_SIZE);
	spin_lock_irqsave(&port->node->fabric->lock, flags);
	if (smi)
		verdict = madsim_sma(port, port->num, out, &len,
				     !(mad_flags & IB_MAD_IGNORE_MKEY));
	else
		verdict = madsim_gsa(port, out);
	spin_unlock_irqrestore(&port->node->fabric->lock, flags);

	*out_mad_size = len;
	switch (verdict) {
	case MADSIM_REPLY:
		/* sysfs does not look at the status */
		if (!in_wc && out->mad_hdr.status)
			return IB_MAD_RESULT_FAILURE;
		return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY;
	case MADSIM_CONSUMED:
		return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_CONSUMED;
	default:
		return IB_MAD_RESULT_SUCCESS;
	}
}

static ssize_t hca_type_show(struct device *device, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "madsim\n");
}
static DEVICE_ATTR_RO(hca_type);

/* node_exporter shows nothing of any device if one lacks this */
static ssize_t board_id_show(struct device *device, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "madsim\n");
}
static DEVICE_ATTR_RO(board_id);

/* The name that topologies and commands have for the node */
static ssize_t node_name_show(struct device *device, struct device_attribute *attr, char *buf)
{
	struct madsim_dev *dev =
		rdma_device_to_drv_device(device, struct madsim_dev, ibdev);

	return sysfs_emit(buf, "%s\n", dev->node->name);
}
static DEVICE_ATTR_RO(node_name);

static struct attribute *madsim_dev_attrs[] = {
	&dev_attr_board_id.attr,
	&dev_attr_hca_type.attr,
	&dev_attr_node_name.attr,
	NULL
};

static const struct attribute_group madsim_dev_group = {
	.attrs = madsim_dev_attrs,
};

static struct madsim_ucontext *to_madsim_ucontext(struct ib_ucontext *ibucontext)
{
	return container_of(ibucontext, struct madsim_ucontext, ibucontext);
}

static int madsim_alloc_ucontext(struct ib_ucontext *ibucontext, struct ib_udata *udata)
{
	struct madsim_ucontext *ucontext = to_madsim_ucontext(ibucontext);

	ucontext->user = madsim_user_get(to_madsim_dev(ibucontext->device));
	return ucontext->user ? 0 : -ENOMEM;
}

static void madsim_dealloc_ucontext(struct ib_ucontext *ibucontext)
{
	madsim_user_put(to_madsim_ucontext(ibucontext)->user);
}

/* Mappings stay. The core moves a device to another network namespace only if it has this */
static void madsim_disassociate_ucontext(struct ib_ucontext *ucontext)
{
}

/*
 * Only for devices with data. rdma-core finds its part for a device by the
 * number of a driver, and has none for this one. With version 1 of the interface
 * of qib and of hfi1, it does everything by calls of the kernel. With version 2 completions
 * and receives are in rings that both sides share: a queue is one if its owner asks where,
 * whatever the version. hfi1 is for an rdma-core that has dropped qib, which is made no more.
 */
static const struct ib_device_ops madsim_user_ops = {
	.alloc_ucontext = madsim_alloc_ucontext,
	.dealloc_ucontext = madsim_dealloc_ucontext,

	INIT_RDMA_OBJ_SIZE(ib_ucontext, madsim_ucontext, ibucontext),
};

/* Calls that the core makes only for drivers that ask for them */
static const u64 madsim_user_calls =
	BIT_ULL(IB_USER_VERBS_CMD_POLL_CQ) |
	BIT_ULL(IB_USER_VERBS_CMD_REQ_NOTIFY_CQ) |
	BIT_ULL(IB_USER_VERBS_CMD_POST_SEND) |
	BIT_ULL(IB_USER_VERBS_CMD_POST_RECV) |
	BIT_ULL(IB_USER_VERBS_CMD_POST_SRQ_RECV);

static const struct ib_device_ops madsim_dev_ops = {
	.owner = THIS_MODULE,
	.driver_id = RDMA_DRIVER_UNKNOWN,
	.device_group = &madsim_dev_group,

	.disassociate_ucontext = madsim_disassociate_ucontext,
	.get_dev_fw_str = madsim_get_dev_fw_str,
	.get_port_immutable = madsim_get_port_immutable,
	.modify_device = madsim_modify_device,
	.modify_port = madsim_modify_port,
	.process_mad = madsim_process_mad,
	.query_device = madsim_query_device,
	.query_gid = madsim_query_gid,
	.query_pkey = madsim_query_pkey,
	.query_port = madsim_query_port,
};

static void madsim_dev_set_data(struct madsim_dev *dev)
{
	dev->ibdev.ops.driver_id =
		READ_ONCE(hfi1verbs) ? RDMA_DRIVER_HFI1 : RDMA_DRIVER_QIB;
	dev->ibdev.ops.uverbs_abi_ver = READ_ONCE(rings) ? 2 : 1;
	ib_set_device_ops(&dev->ibdev, &madsim_user_ops);
	ib_set_device_ops(&dev->ibdev, &madsim_ring_ops);
	ib_set_device_ops(&dev->ibdev, &madsim_port_speed_ops);
	ib_set_device_ops(&dev->ibdev, &madsim_srq_ops);
	ib_set_device_ops(&dev->ibdev, &madsim_ud_ops);
	dev->ibdev.uverbs_cmd_mask |= madsim_user_calls;
}

/* Undo madsim_dev_alloc(). No program looks at a completion of the device any more */
void madsim_dev_free(struct madsim_dev *dev)
{
	struct ib_qp *alias;
	unsigned long num;

	xa_for_each(&dev->aliases, num, alias)
		kfree(alias);
	xa_destroy(&dev->aliases);
	ib_dealloc_device(&dev->ibdev);
}

/* The first of @count consecutive numbers of 24 bits, which is @lowest at least */
static u32 madsim_first_number(struct madsim_dev *dev, u32 lowest, u32 count)
{
	u32 room = IB_MULTICAST_QPN - lowest - count;

	return lowest + prandom_u32_state(&dev->rnd) % room;
}

/* The numbers of one device tell a stranger nothing of another device */
static void madsim_dev_seed(struct madsim_dev *dev)
{
	prandom_seed_state(&dev->rnd, dev->node->seed);
	dev->first_qpn = madsim_first_number(dev, 2, MADSIM_MAX_QP);
	dev->first_mr = madsim_first_number(dev, 1, MADSIM_MAX_MR);
}

/**
 * madsim_dev_alloc - make an ib_device of a node, which is not registered yet
 * @node: the node
 * @smi: it is for QP0, and another one for QP1
 *
 * Context: process context.
 * Return: the device, or an ERR_PTR():
 *  * -EINVAL: a channel adapter has too many ports, or planes without a device for
 *    QP0; or a switch has planes; or it is a router
 *  * -ENOMEM
 */
struct madsim_dev *madsim_dev_alloc(struct madsim_node *node, bool smi)
{
	struct madsim_dev *dev;

	if (node->planes && (node->sw || !node->split))
		return ERR_PTR(-EINVAL);
	if (!node->sw && node->nports > MADSIM_MAX_CA_PORTS)
		return ERR_PTR(-EINVAL);
	if (node->type == RDMA_NODE_IB_ROUTER)
		return ERR_PTR(-EINVAL);

	dev = ib_alloc_device(madsim_dev, ibdev);
	if (!dev)
		return ERR_PTR(-ENOMEM);
	dev->node = node;
	dev->smi = smi;
	xa_init_flags(&dev->qps, XA_FLAGS_ALLOC);
	xa_init_flags(&dev->mrs, XA_FLAGS_ALLOC);
	xa_init(&dev->aliases);
	INIT_LIST_HEAD(&dev->members);
	madsim_dev_seed(dev);
	dev->ibdev.node_type = node->type;
	dev->ibdev.is_switch = !!node->sw;
	dev->ibdev.phys_port_cnt = node->planes && !smi ? 1 : node->nports;
	dev->ibdev.num_comp_vectors = min(num_online_cpus(), MADSIM_MAX_VECTORS);
	dev->ibdev.node_guid = cpu_to_be64(node->guid);
	memcpy(dev->ibdev.node_desc, node->desc, sizeof(node->desc));
	if (madsim_has_data(node) && !smi)
		madsim_dev_set_data(dev);
	ib_set_device_ops(&dev->ibdev, &madsim_cq_ops);
	ib_set_device_ops(&dev->ibdev, &madsim_mr_ops);
	ib_set_device_ops(&dev->ibdev, &madsim_qp_ops);
	ib_set_device_ops(&dev->ibdev, &madsim_stats_ops);
	ib_set_device_ops(&dev->ibdev, &madsim_vf_ops);
	ib_set_device_ops(&dev->ibdev, &madsim_dev_ops);
	return dev;
}

/* Where a node has this device */
static struct madsim_dev **madsim_dev_slot(struct madsim_dev *dev)
{
	return dev->smi ? &dev->node->smi_dev : &dev->node->dev;
}

/* Let a node have a device, and clients, too. -EEXIST: the node has such a device already */
int madsim_dev_publish(struct madsim_dev *dev, const char *name)
{
	struct madsim_dev **slot = madsim_dev_slot(dev);
	struct madsim_fabric *fabric = dev->node->fabric;
	bool taken;
	int ret;

	/* The MAD layer sends before ib_register_device() returns */
	spin_lock_irq(&fabric->lock);
	taken = *slot;
	if (!taken)
		*slot = dev;
	spin_unlock_irq(&fabric->lock);
	if (taken)
		return -EEXIST;

	ret = ib_register_device(&dev->ibdev, name, NULL);
	spin_lock_irq(&fabric->lock);
	if (ret)
		*slot = NULL;
	dev->registered = !ret;
	spin_unlock_irq(&fabric->lock);
	return ret;
}

/* Undo madsim_dev_publish(), when clients let go of the device */
void madsim_dev_withdraw(struct madsim_dev *dev)
{
	struct madsim_fabric *fabric = dev->node->fabric;

	spin_lock_irq(&fabric->lock);
	dev->registered = false;
	spin_unlock_irq(&fabric->lock);
	ib_unregister_device(&dev->ibdev);
	spin_lock_irq(&fabric->lock);
	*madsim_dev_slot(dev) = NULL;
	spin_unlock_irq(&fabric->lock);
}

/* Give a node without power its ib_device. fabric->mutex is held */
int madsim_dev_register(struct madsim_dev *dev)
{
	struct madsim_node *node = dev->node;
	struct device *bus_dev;
	int ret;

	lockdep_assert_held(&node->fabric->mutex);

	bus_dev = madsim_bus_dev_register(node);
	if (IS_ERR(bus_dev))
		return PTR_ERR(bus_dev);
	dev->ibdev.dev.parent = bus_dev;
	ret = madsim_vpd_show(bus_dev, node->vpd) ?: madsim_dev_publish(dev, "madsim%d");
	if (ret)
		device_unregister(bus_dev);
	return ret;
}

/*
 * Take the ib_device of a node without power away, when its clients let go. fabric->mutex is held
 */
void madsim_dev_unregister(struct madsim_dev *dev)
{
	struct device *bus_dev = dev->ibdev.dev.parent;

	lockdep_assert_held(&dev->node->fabric->mutex);

	madsim_dev_withdraw(dev);
	device_unregister(bus_dev);
}

static int madsim_client_add(struct ib_device *ibdev)
{
	return ibdev->ops.process_mad == madsim_process_mad ? 0 : -EOPNOTSUPP;
}

/* Clients go in reverse order, so the MAD layer is there until this returns */
static void madsim_client_remove(struct ib_device *ibdev, void *client_data)
{
	u32 num;

	rdma_for_each_port(ibdev, num)
		madsim_mad_drain(madsim_port_of(ibdev, num), ibdev);
}

static struct ib_client madsim_client = {
	.name = "madsim",
	.add = madsim_client_add,
	.remove = madsim_client_remove,
};

/*
 * Be told before a device loses the MAD layer: when it is unregistered, and when it moves to
 * another network namespace. The core tells clients of such a move, but no driver
 */
int madsim_dev_init(void)
{
	return ib_register_client(&madsim_client);
}

void madsim_dev_exit(void)
{
	ib_unregister_client(&madsim_client);
}
