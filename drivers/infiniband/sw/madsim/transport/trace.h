/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The tracepoints: what strict fabrics tell, and packets on links */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM madsim

#if !defined(MADSIM_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define MADSIM_TRACE_H

#include <linux/sched.h>
#include <linux/string.h>
#include <linux/tracepoint.h>

#include "transport.h"
#include "model/wire.h"

/* What is kept of a packet: MADs are whole. A page of the trace has room for it */
#define MADSIM_TRACE_MAX	2304

TRACE_EVENT(madsim_packet,
	    TP_PROTO(const struct madsim_port *out,
		     const struct madsim_packet *pkt),
	    TP_ARGS(out, pkt),
	    TP_STRUCT__entry(__array(char, fabric, MADSIM_NAME_LEN)
			     __array(char, from, MADSIM_NAME_LEN)
			     __array(char, to, MADSIM_NAME_LEN)
			     __field(u8, from_port)
			     __field(u8, to_port)
			     __field(u32, len)
			     __dynamic_array(u8, frame,
					     min_t(u32, madsim_frame_len(pkt),
						   MADSIM_TRACE_MAX))),
	    TP_fast_assign(const struct madsim_port *in = out->peer;

			   strscpy(__entry->fabric, out->node->fabric->name,
				   MADSIM_NAME_LEN);
			   strscpy(__entry->from, out->node->name,
				   MADSIM_NAME_LEN);
			   strscpy(__entry->to, in ? in->node->name : "",
				   MADSIM_NAME_LEN);
			   __entry->from_port = out->num;
			   __entry->to_port = in ? in->num : 0;
			   __entry->len = madsim_frame_len(pkt);
			   madsim_frame_encode(pkt, __get_dynamic_array(frame),
					       __get_dynamic_array_len(frame));),
	    TP_printk("fabric %s from %s[%u] to %s[%u] bytes %u",
		      __entry->fabric, __entry->from, __entry->from_port,
		      __entry->to, __entry->to_port, __entry->len)
);

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
#define TRACE_INCLUDE_PATH transport
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
