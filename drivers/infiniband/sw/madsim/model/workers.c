// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The queues of work that all floors share. */

#include <linux/workqueue.h>

#include "model.h"

/* Memory may be reclaimed by way of what the kernel's clients send */
struct workqueue_struct *madsim_wq;
struct workqueue_struct *madsim_user_wq;
struct workqueue_struct *madsim_vector_wq;

void madsim_workers_exit(void)
{
	if (madsim_vector_wq)
		destroy_workqueue(madsim_vector_wq);
	if (madsim_user_wq)
		destroy_workqueue(madsim_user_wq);
	if (madsim_wq)
		destroy_workqueue(madsim_wq);
}

int __init madsim_workers_init(void)
{
	madsim_wq = alloc_workqueue("ib_madsim", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	madsim_user_wq = alloc_workqueue("ib_madsim_user", WQ_UNBOUND, 0);
	/* Bound to CPUs. In kernels before 6.18 the flag of alloc_workqueue() has no name */
	madsim_vector_wq = create_workqueue("ib_madsim_vector");
	if (madsim_wq && madsim_user_wq && madsim_vector_wq)
		return 0;
	madsim_workers_exit();
	return -ENOMEM;
}
