/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What makes packets go. */

#ifndef MADSIM_ENGINE_H
#define MADSIM_ENGINE_H

#include "transport/transport.h"

/* engine.c: from port to port */
void madsim_engine_init(struct madsim_fabric *fabric);
void madsim_send(struct madsim_port *port, struct madsim_packet *pkt);
void madsim_arrive(struct madsim_port *in, struct madsim_packet *pkt);
void madsim_refuse(struct madsim_port *in);

/* run.c: what queue pairs send */
int madsim_send_datagram(struct madsim_qp *qp, const struct madsim_send *send);
void madsim_run_init(struct madsim_qp *qp);
void madsim_kick(struct madsim_qp *qp);

#endif /* MADSIM_ENGINE_H */
