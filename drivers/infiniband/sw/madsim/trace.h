/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The tracepoints of strict fabrics */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM madsim

#if !defined(MADSIM_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define MADSIM_TRACE_H

#include <linux/sched.h>
#include <linux/string.h>
#include <linux/tracepoint.h>

#include "verbs.h"

TRACE_EVENT(madsim_mistake,
	    TP_PROTO(const struct madsim_qp *qp, u64 wr_id,
		     const char *what),
	    TP_ARGS(qp, wr_id, what),
	    TP_STRUCT__entry(__array(char, device, IB_DEVICE_NAME_MAX)
			     __field(u32, qpn)
			     __field(u64, wr_id)
			     __field(pid_t, pid)
			     __array(char, comm, TASK_COMM_LEN)
			     __array(char, what, 16)),
	    TP_fast_assign(const struct task_struct *task = qp->ibqp.res.task;

			   strscpy(__entry->device,
				   dev_name(&qp->ibqp.device->dev),
				   IB_DEVICE_NAME_MAX);
			   __entry->qpn = qp->ibqp.qp_num;
			   __entry->wr_id = wr_id;
			   /* The kernel's own have no task */
			   __entry->pid = task ? task->pid : 0;
			   strscpy(__entry->comm, task ? task->comm : "kernel",
				   TASK_COMM_LEN);
			   strscpy(__entry->what, what, 16);),
	    TP_printk("device %s qpn %u wr_id %llu process %s:%d mistake %s",
		      __entry->device, __entry->qpn, __entry->wr_id,
		      __entry->comm, __entry->pid, __entry->what)
);

TRACE_EVENT(madsim_late,
	    TP_PROTO(const struct madsim_qp *qp, const char *what, u32 number,
		     u32 ms),
	    TP_ARGS(qp, what, number, ms),
	    TP_STRUCT__entry(__array(char, device, IB_DEVICE_NAME_MAX)
			     __field(u32, qpn)
			     __array(char, what, 16)
			     __field(u32, number)
			     __field(u32, ms)),
	    TP_fast_assign(strscpy(__entry->device,
				   dev_name(&qp->ibqp.device->dev),
				   IB_DEVICE_NAME_MAX);
			   __entry->qpn = qp->ibqp.qp_num;
			   strscpy(__entry->what, what, 16);
			   __entry->number = number;
			   __entry->ms = ms;),
	    TP_printk("device %s qpn %u %s %u ms %u", __entry->device,
		      __entry->qpn, __entry->what, __entry->number, __entry->ms)
);

#endif /* MADSIM_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
