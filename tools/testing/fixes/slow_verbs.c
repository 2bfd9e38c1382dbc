// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Have a verb of an RDMA device take its time when the MAD layer's worker calls
 * it, as it does where firmware is asked. Some races of the MAD layer with the
 * removal of a device have to be lost a million times over Soft-RoCE before
 * they are won; with this they are won at the first attempt.
 *
 * The device must not be used when the module is gone, and stays as it is now
 * for as long as it exists: remove the device first.
 */

#include <linux/delay.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_verbs.h>

static char *device = "rxe0";
module_param(device, charp, 0444);
MODULE_PARM_DESC(device, "name of the RDMA device (default rxe0)");

static char *verb = "";
module_param(verb, charp, 0444);
MODULE_PARM_DESC(verb, "create_ah or process_mad");

static unsigned int ms = 1000;
module_param(ms, uint, 0444);
MODULE_PARM_DESC(ms, "how long it takes (default 1000)");

/* For who waits until somebody is in there */
static unsigned int entered;
module_param(entered, uint, 0444);
MODULE_PARM_DESC(entered, "how often it has been called");

/* What the device has of its own */
static int (*create_ah)(struct ib_ah *ah, struct rdma_ah_init_attr *attr, struct ib_udata *udata);
static int (*process_mad)(struct ib_device *ibdev, int flags, u32 port_num,
			  const struct ib_wc *wc, const struct ib_grh *grh,
			  const struct ib_mad *in, struct ib_mad *out,
			  size_t *out_mad_size, u16 *out_mad_pkey_index);

static void take_time(void)
{
	WRITE_ONCE(entered, entered + 1);
	msleep(ms);
}

static int slow_create_ah(struct ib_ah *ah, struct rdma_ah_init_attr *attr, struct ib_udata *udata)
{
	/* Senders in user space are not asked to wait */
	if (current->flags & PF_KTHREAD && attr->flags & RDMA_CREATE_AH_SLEEPABLE)
		take_time();
	return create_ah(ah, attr, udata);
}

static int slow_process_mad(struct ib_device *ibdev, int flags, u32 port_num,
			    const struct ib_wc *wc, const struct ib_grh *grh,
			    const struct ib_mad *in, struct ib_mad *out,
			    size_t *out_mad_size, u16 *out_mad_pkey_index)
{
	/* sysfs asks without a completion */
	if (wc)
		take_time();
	return process_mad(ibdev, flags, port_num, wc, grh, in, out, out_mad_size,
			   out_mad_pkey_index);
}

static int slow_add(struct ib_device *ibdev)
{
	if (strcmp(dev_name(&ibdev->dev), device))
		return -EOPNOTSUPP;

	create_ah = ibdev->ops.create_ah;
	process_mad = ibdev->ops.process_mad;
	if (!strcmp(verb, "create_ah") && create_ah)
		ibdev->ops.create_ah = slow_create_ah;
	else if (!strcmp(verb, "process_mad") && process_mad)
		ibdev->ops.process_mad = slow_process_mad;
	else
		return -EINVAL;
	return 0;
}

static struct ib_client slow_client = {
	.name = "slow_verbs",
	.add = slow_add,
};

static int __init slow_init(void)
{
	return ib_register_client(&slow_client);
}
module_init(slow_init);

static void __exit slow_exit(void)
{
	ib_unregister_client(&slow_client);
}
module_exit(slow_exit);

MODULE_DESCRIPTION("A verb that takes its time, to win races");
MODULE_LICENSE("Dual BSD/GPL");
