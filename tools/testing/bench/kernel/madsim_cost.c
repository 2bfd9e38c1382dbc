// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What simulated devices cost: debugfs madsim_cost is the cycles that the verbs
 * of the first two of them have taken so far, less what the core did in the
 * completion handlers that they called.
 *
 * Completion queues keep our handler for good, so this module cannot be
 * unloaded. There is one CPU.
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/timex.h>
#include <rdma/ib_verbs.h>

#include "rdma_device.h"

static struct ib_device *devices[2];
static const struct ib_device_ops *ops;
static u64 cost, handler_cost;
static ib_comp_handler comp_handler;

static void watch_completion(struct ib_cq *cq, void *context)
{
	cycles_t start = get_cycles();

	comp_handler(cq, context);
	handler_cost += get_cycles() - start;
}

#define watch(call) ({							\
	u64 __handlers = handler_cost;					\
	cycles_t __start = get_cycles();				\
	typeof(call) __ret = call;					\
									\
	cost += get_cycles() - __start - (handler_cost - __handlers);	\
	__ret;								\
})

static int watch_post_send(struct ib_qp *qp, const struct ib_send_wr *wr,
			   const struct ib_send_wr **bad)
{
	return watch(ops->post_send(qp, wr, bad));
}

static int watch_post_recv(struct ib_qp *qp, const struct ib_recv_wr *wr,
			   const struct ib_recv_wr **bad)
{
	return watch(ops->post_recv(qp, wr, bad));
}

static int watch_poll_cq(struct ib_cq *cq, int n, struct ib_wc *wc)
{
	return watch(ops->poll_cq(cq, n, wc));
}

static int watch_notify_cq(struct ib_cq *cq, enum ib_cq_notify_flags flags)
{
	if (cq->comp_handler != watch_completion) {
		comp_handler = cq->comp_handler;
		cq->comp_handler = watch_completion;
	}
	return watch(ops->req_notify_cq(cq, flags));
}

static int watch_process_mad(struct ib_device *dev, int flags, u32 port, const struct ib_wc *wc,
			     const struct ib_grh *grh, const struct ib_mad *in, struct ib_mad *out,
			     size_t *size, u16 *pkey_index)
{
	return watch(ops->process_mad(dev, flags, port, wc, grh, in, out, size,
				     pkey_index));
}

static int watch_create_ah(struct ib_ah *ah, struct rdma_ah_init_attr *attr,
			   struct ib_udata *udata)
{
	return watch(ops->create_ah(ah, attr, udata));
}

static int watch_destroy_ah(struct ib_ah *ah, u32 flags)
{
	return watch(ops->destroy_ah(ah, flags));
}

static int watch_query_ah(struct ib_ah *ah, struct rdma_ah_attr *attr)
{
	return watch(ops->query_ah(ah, attr));
}

static int __init cost_init(void)
{
	char name[16];
	int i;

	for (i = 0; i < 2; i++) {
		snprintf(name, sizeof(name), "madsim%d", i);
		devices[i] = rdma_device_get(name);
		if (!devices[i]) {
			if (i)
				ib_device_put(devices[0]);
			return -ENODEV;
		}
	}
	ops = kmemdup(&devices[0]->ops, sizeof(*ops), GFP_KERNEL);
	if (!ops) {
		ib_device_put(devices[1]);
		ib_device_put(devices[0]);
		return -ENOMEM;
	}
	for (i = 0; i < 2; i++) {
		devices[i]->ops.post_send = watch_post_send;
		devices[i]->ops.post_recv = watch_post_recv;
		devices[i]->ops.poll_cq = watch_poll_cq;
		devices[i]->ops.req_notify_cq = watch_notify_cq;
		devices[i]->ops.process_mad = watch_process_mad;
		devices[i]->ops.create_ah = watch_create_ah;
		devices[i]->ops.destroy_ah = watch_destroy_ah;
		devices[i]->ops.query_ah = watch_query_ah;
	}
	debugfs_create_u64("madsim_cost", 0400, NULL, &cost);
	return 0;
}
module_init(cost_init);

MODULE_DESCRIPTION("Cost of the verbs of simulated InfiniBand devices");
MODULE_LICENSE("Dual BSD/GPL");
