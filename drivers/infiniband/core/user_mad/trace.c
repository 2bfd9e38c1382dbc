// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The tracepoints. Nobody else includes trace.h: they ask tracepoint_enabled()
 * and call here.
 */
#include "user_mad.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

/**
 * umad_trace_write - trace a MAD on its way in
 * @file: descriptor it was written to
 * @hdr: the user header as it was written
 * @hdr_len: length of @hdr
 * @mad: the MAD header as it was written
 */
void umad_trace_write(const struct umad_file *file,
		      const struct ib_user_mad_hdr *hdr, u8 hdr_len,
		      const struct ib_mad_hdr *mad)
{
	trace_ib_umad_write(file->port->dev_index, file->port->port_num, hdr,
			    umad_hdr_pkey_index(hdr, hdr_len), mad);
}

/**
 * umad_trace_read - trace a packet that was read
 * @file: descriptor it was read from
 * @packet: the packet, owned by the caller
 */
void umad_trace_read(const struct umad_file *file, struct umad_packet *packet)
{
	const struct ib_user_mad_hdr *hdr = umad_packet_hdr(packet);
	u16 pkey_index = umad_hdr_pkey_index(hdr, packet->hdr_len);
	const struct ib_mad_hdr *mad = umad_packet_mad(packet);
	const struct umad_port *port = file->port;

	if (packet->sent)
		trace_ib_umad_read_send(port->dev_index, port->port_num, hdr,
					pkey_index, mad);
	else
		trace_ib_umad_read_recv(port->dev_index, port->port_num, hdr,
					pkey_index, mad);
}

/**
 * umad_trace_agent - trace that an agent comes or goes
 * @agent: the agent
 * @registered: it comes
 */
void umad_trace_agent(const struct umad_agent *agent, bool registered)
{
	const struct umad_port *port = agent->file->port;

	if (registered)
		trace_ib_umad_agent_register(port->dev_index, port->port_num,
					     agent->id, &agent->reg);
	else
		trace_ib_umad_agent_unregister(port->dev_index, port->port_num,
					       agent->id, &agent->reg);
}

/**
 * umad_trace_drop - trace that something received is lost
 * @agent: whose it would have been
 * @mad: header of the MAD, or of the first of a message
 * @reason: one of UMAD_STAT_DROPPED_*
 */
void umad_trace_drop(const struct umad_agent *agent,
		     const struct ib_mad_hdr *mad, enum umad_stat reason)
{
	const struct umad_port *port = agent->file->port;

	trace_ib_umad_drop(port->dev_index, port->port_num, agent->id, mad,
			   reason);
}

/**
 * umad_trace_timeout - trace that a send has timed out
 * @agent: who sent it
 * @mad: header of the send
 */
void umad_trace_timeout(const struct umad_agent *agent,
			const struct ib_mad_hdr *mad)
{
	const struct umad_port *port = agent->file->port;

	trace_ib_umad_timeout(port->dev_index, port->port_num, agent->id, mad);
}

/**
 * umad_trace_gone - trace that a port has lost its device
 * @port: the port
 */
void umad_trace_gone(const struct umad_port *port)
{
	trace_ib_umad_gone(port->dev_index, port->port_num);
}

/**
 * umad_trace_issm - trace that a port becomes that of a subnet manager, or ceases
 *	to be
 * @port: the port
 * @held: it becomes one
 */
void umad_trace_issm(const struct umad_port *port, bool held)
{
	trace_ib_umad_issm(port->dev_index, port->port_num, held);
}
