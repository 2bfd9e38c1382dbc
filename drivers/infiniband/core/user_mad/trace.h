/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Tracepoints. They read the packet and the port, never the device, which may be gone.
 *
 * Existing scripts know ib_umad_write, ib_umad_read_recv and ib_umad_read_send, and decode
 * their fields by these names and offsets, "retires" included.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM ib_umad

#if !defined(UMAD_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define UMAD_TRACE_H

#include <linux/tracepoint.h>
#include <rdma/ib_mad.h>

#include "user_mad.h"

DECLARE_EVENT_CLASS(ib_umad_template,
		    TP_PROTO(const struct umad_port *port, const struct ib_user_mad_hdr *hdr,
			     u8 hdr_len, const struct ib_mad_hdr *mad),
		    TP_ARGS(port, hdr, hdr_len, mad),
		    TP_STRUCT__entry(__field(u8, port_num)
				     __field(u8, sl)
				     __field(u8, path_bits)
				     __field(u8, grh_present)
				     __field(u32, id)
				     __field(u32, status)
				     __field(u32, timeout_ms)
				     __field(u32, retires)
				     __field(u32, length)
				     __field(u32, qpn)
				     __field(u32, qkey)
				     __field(u8, gid_index)
				     __field(u8, hop_limit)
				     __field(u16, lid)
				     __field(u16, attr_id)
				     __field(u16, pkey_index)
				     __field(u8, base_version)
				     __field(u8, mgmt_class)
				     __field(u8, class_version)
				     __field(u8, method)
				     __field(u32, flow_label)
				     __field(u16, mad_status)
				     __field(u16, class_specific)
				     __field(u32, attr_mod)
				     __field(u64, tid)
				     __array(u8, gid, 16)
				     __field(u32, dev_index)
				     __field(u8, traffic_class)),
		    TP_fast_assign(__entry->dev_index = port->dev_index;
				   __entry->port_num = port->port_num;
				   __entry->id = hdr->id;
				   __entry->status = hdr->status;
				   __entry->timeout_ms = hdr->timeout_ms;
				   __entry->retires = hdr->retries;
				   __entry->length = hdr->length;
				   __entry->qpn = (__force u32)hdr->qpn;
				   __entry->qkey = (__force u32)hdr->qkey;
				   __entry->lid = (__force u16)hdr->lid;
				   __entry->sl = hdr->sl;
				   __entry->path_bits = hdr->path_bits;
				   __entry->grh_present = hdr->grh_present;
				   __entry->gid_index = hdr->gid_index;
				   __entry->hop_limit = hdr->hop_limit;
				   __entry->traffic_class = hdr->traffic_class;
				   memcpy(__entry->gid, hdr->gid, sizeof(hdr->gid));
				   __entry->flow_label = (__force u32)hdr->flow_label;
				   __entry->pkey_index = umad_hdr_pkey_index(hdr, hdr_len);
				   __entry->base_version = mad->base_version;
				   __entry->mgmt_class = mad->mgmt_class;
				   __entry->class_version = mad->class_version;
				   __entry->method = mad->method;
				   __entry->mad_status = (__force u16)mad->status;
				   __entry->class_specific = (__force u16)mad->class_specific;
				   __entry->tid = (__force u64)mad->tid;
				   __entry->attr_id = (__force u16)mad->attr_id;
				   __entry->attr_mod = (__force u32)mad->attr_mod;),
		    TP_printk("%u:%u umad_hdr: id 0x%08x status 0x%08x ms %u ret %u len %u QP%u qkey 0x%08x lid 0x%04x sl %u path_bits 0x%x grh 0x%x gidi %u hop_lim %u traf_cl %u gid %pI6c flow 0x%08x pkeyi %u  MAD: base_ver 0x%x class 0x%x class_ver 0x%x method 0x%x status 0x%04x class_specific 0x%04x tid 0x%016llx attr_id 0x%04x attr_mod 0x%08x ",
			      __entry->dev_index, __entry->port_num, __entry->id,
			      __entry->status, __entry->timeout_ms, __entry->retires,
			      __entry->length, be32_to_cpu((__force __be32)__entry->qpn),
			      be32_to_cpu((__force __be32)__entry->qkey),
			      be16_to_cpu((__force __be16)__entry->lid), __entry->sl,
			      __entry->path_bits, __entry->grh_present, __entry->gid_index,
			      __entry->hop_limit, __entry->traffic_class, __entry->gid,
			      be32_to_cpu((__force __be32)__entry->flow_label),
			      __entry->pkey_index, __entry->base_version, __entry->mgmt_class,
			      __entry->class_version, __entry->method,
			      be16_to_cpu((__force __be16)__entry->mad_status),
			      be16_to_cpu((__force __be16)__entry->class_specific),
			      be64_to_cpu((__force __be64)__entry->tid),
			      be16_to_cpu((__force __be16)__entry->attr_id),
			      be32_to_cpu((__force __be32)__entry->attr_mod))
);

#define UMAD_EVENT(name)						\
	DEFINE_EVENT(ib_umad_template, name,				\
		     TP_PROTO(const struct umad_port *port,		\
			      const struct ib_user_mad_hdr *hdr,	\
			      u8 hdr_len, const struct ib_mad_hdr *mad), \
		     TP_ARGS(port, hdr, hdr_len, mad))

UMAD_EVENT(ib_umad_write);
UMAD_EVENT(ib_umad_read_recv);
UMAD_EVENT(ib_umad_read_send);

TRACE_DEFINE_ENUM(UMAD_STAT_TIMEOUTS);
TRACE_DEFINE_ENUM(UMAD_STAT_DROPPED_LIMIT);
TRACE_DEFINE_ENUM(UMAD_STAT_DROPPED_MEMORY);
TRACE_DEFINE_ENUM(UMAD_STAT_DROPPED_RMPP);
TRACE_DEFINE_ENUM(UMAD_STAT_DROPPED_ADDRESS);

/* The words are those of the files in statistics/ */
#define umad_show_reason(reason)					\
	__print_symbolic(reason,					\
			 { UMAD_STAT_TIMEOUTS, "timeout" },		\
			 { UMAD_STAT_DROPPED_LIMIT, "limit" },		\
			 { UMAD_STAT_DROPPED_MEMORY, "memory" },	\
			 { UMAD_STAT_DROPPED_RMPP, "rmpp" },		\
			 { UMAD_STAT_DROPPED_ADDRESS, "address" })

DECLARE_EVENT_CLASS(ib_umad_lost,
		    TP_PROTO(const struct umad_agent *agent,
			     const struct ib_mad_hdr *mad, u32 reason),
		    TP_ARGS(agent, mad, reason),
		    TP_STRUCT__entry(__field(u32, dev_index)
				     __field(u32, port_num)
				     __field(u32, id)
				     __field(u32, reason)
				     __field(u8, mgmt_class)
				     __field(u8, method)
				     __field(u16, attr_id)
				     __field(u64, tid)),
		    TP_fast_assign(__entry->dev_index = agent->file->port->dev_index;
				   __entry->port_num = agent->file->port->port_num;
				   __entry->id = agent->id;
				   __entry->reason = reason;
				   __entry->mgmt_class = mad->mgmt_class;
				   __entry->method = mad->method;
				   __entry->attr_id = be16_to_cpu(mad->attr_id);
				   __entry->tid = be64_to_cpu(mad->tid);),
		    TP_printk("%u:%u id %u reason %s class 0x%02x method 0x%02x attr_id 0x%04x tid 0x%016llx",
			      __entry->dev_index, __entry->port_num, __entry->id,
			      umad_show_reason(__entry->reason), __entry->mgmt_class,
			      __entry->method, __entry->attr_id, __entry->tid)
);

DEFINE_EVENT(ib_umad_lost, ib_umad_drop,
	     TP_PROTO(const struct umad_agent *agent, const struct ib_mad_hdr *mad, u32 reason),
	     TP_ARGS(agent, mad, reason));
DEFINE_EVENT(ib_umad_lost, ib_umad_timeout,
	     TP_PROTO(const struct umad_agent *agent, const struct ib_mad_hdr *mad, u32 reason),
	     TP_ARGS(agent, mad, reason));

#endif /* UMAD_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
