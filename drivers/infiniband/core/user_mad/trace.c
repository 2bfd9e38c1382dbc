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
