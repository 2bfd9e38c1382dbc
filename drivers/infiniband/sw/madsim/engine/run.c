// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What queue pairs send, one packet after another, or many at once. Programs send what
 * they post themselves; for the kernel's clients, and after a time to wait, workers do.
 */

#include <linux/minmax.h>

#include "engine.h"

/* Packets that a connected queue pair sends in one turn; a few milliseconds */
#define MADSIM_MAX_RUN		4096

/* The @packets of a burst, of @words each, have crossed the link of @out */
static void madsim_count_burst(struct madsim_port *out, u32 words, u32 packets)
{
	struct madsim_port *in = out->peer;

	out->counters.total[MADSIM_XMIT_DATA] += (u64)words * packets;
	out->counters.total[MADSIM_XMIT_PKTS] += packets;
	out->counters.total[MADSIM_XMIT_UCAST] += packets;
	in->counters.total[MADSIM_RCV_DATA] += (u64)words * packets;
	in->counters.total[MADSIM_RCV_PKTS] += packets;
	in->counters.total[MADSIM_RCV_UCAST] += packets;
	in->crc_errors -= min_t(u32, packets, in->crc_errors);
}

static void madsim_send_from(struct madsim_qp *qp, struct madsim_packet *pkt)
{
	/* The adapter itself replicates to its own members */
	if (madsim_is_data(pkt) && madsim_lid_is_multicast(pkt->dlid) &&
	    madsim_state(qp->port) >= IB_PORT_ACTIVE)
		madsim_ud_receive(qp->port, pkt);
	madsim_send(qp->port, pkt);
}

/* Whether packets may follow the one that was sent just now, as a queue pair has received it */
static bool madsim_may_follow(const struct madsim_qp *qp)
{
	const struct madsim_way *way = &madsim_fabric_of(qp->ibqp.device)->way;

	return way->receiver && way->count != MADSIM_WAY && !madsim_is_strict(qp);
}

/* Send the segments that can follow @pkt at once. Returns how many these are */
static u32 madsim_send_burst(const struct madsim_qp *qp, const struct madsim_send *send,
			     u32 at, struct madsim_packet *pkt)
{
	struct madsim_way *way = &madsim_fabric_of(qp->ibqp.device)->way;
	u32 i, packets;

	if (!madsim_may_follow(qp))
		return 0;
	packets = madsim_ud_burst(qp, send, at, way->receiver, pkt);
	for (i = 0; i < way->count; i++)
		madsim_count_burst(way->out[i], pkt->words, packets);
	return packets;
}

/* Send all segments but the last one, which is in @pkt then */
static enum ib_wc_status madsim_send_segments(struct madsim_qp *qp,
					      const struct madsim_send *send,
					      struct madsim_packet *pkt)
{
	struct madsim_way *way = &madsim_fabric_of(qp->ibqp.device)->way;
	u32 mss = ud_wr(send->wr)->mss;
	enum ib_wc_status status;
	u32 at = 0;

	while (true) {
		status = madsim_ud_build(qp, send, at, pkt);
		if (status || send->length - at <= mss)
			return status;
		way->count = 0;
		way->receiver = NULL;
		madsim_send_from(qp, pkt);
		at += mss;
		at += mss * madsim_send_burst(qp, send, at, pkt);
	}
}

/**
 * madsim_send_datagram - send a datagram that was posted
 * @qp: the queue pair
 * @send: the datagram
 *
 * The owner may change the buffer when the send completes, so all data is in packets by
 * then.
 *
 * Context: any; fabric->lock is held.
 * Return: 0: it has ended, as its completion tells; or what madsim_mad_build() said.
 */
int madsim_send_datagram(struct madsim_qp *qp, const struct madsim_send *send)
{
	const struct ib_send_wr *wr = send->wr;
	struct madsim_packet *pkt = &madsim_fabric_of(qp->ibqp.device)->pkt;
	struct ib_wc wc = {
		.wr_id = wr->wr_id,
		.qp = madsim_wc_qp(qp),
		.opcode = wr->opcode == IB_WR_LSO ? IB_WC_LSO : IB_WC_SEND,
		.port_num = qp->port->num,
	};
	int ret = 0;

	if (wr->opcode == IB_WR_LSO)
		wc.status = madsim_send_segments(qp, send, pkt);
	else if (madsim_is_client(qp))
		wc.status = madsim_ud_build(qp, send, 0, pkt);
	else
		ret = madsim_mad_build(qp, send, pkt);
	if (ret)
		return ret;

	/* Before the response, which may come while the request is sent */
	qp->ended++;
	if (wc.status || qp->sig_all || wr->send_flags & IB_SEND_SIGNALED)
		madsim_cq_put(qp, &wc, false);
	if (wc.status) {
		/* The owner has to modify the queue pair to send again */
		spin_lock(&qp->lock);
		madsim_qp_fail(qp, IB_QPS_SQE);
		spin_unlock(&qp->lock);
		return 0;
	}

	madsim_send_from(qp, pkt);
	return 0;
}

/* Send the next delayed datagram */
static void madsim_dgram_work(struct work_struct *work)
{
	struct madsim_qp *qp = container_of(to_delayed_work(work),
					    struct madsim_qp, dgram_work);
	struct madsim_fabric *fabric = madsim_fabric_of(qp->ibqp.device);
	struct madsim_dgram *dgram;

	local_bh_disable();
	spin_lock_irq(&fabric->lock);
	dgram = madsim_strict_next(qp);
	if (dgram) {
		madsim_send_datagram(qp, &dgram->send);
		madsim_strict_schedule(qp, false);
	}
	spin_unlock_irq(&fabric->lock);
	local_bh_enable();
	kfree(dgram);
}

/* Send the packets that can follow at once. Returns how many: their bytes are to be copied next */
static u32 madsim_run_burst(struct madsim_qp *qp)
{
	struct madsim_fabric *fabric = madsim_fabric_of(qp->ibqp.device);
	struct madsim_packet *pkt = &fabric->pkt;
	struct madsim_way *way = &fabric->way;
	/* If there was a response, @pkt has become the response */
	u32 request_words, response_words = pkt->words;
	u32 i, packets;

	if (!madsim_may_follow(qp))
		return 0;
	packets = madsim_burst(qp, way->receiver, pkt);
	request_words = madsim_words(pkt);
	for (i = 0; packets && i < way->count; i++)
		madsim_count_burst(way->out[i],
				   i < way->request_hops ? request_words : response_words,
				   packets);
	return packets;
}

/* Returns whether more may be sent at once. @burst becomes the number of packets to be copied */
static bool madsim_run_step(struct madsim_qp *qp, u32 *burst)
{
	struct madsim_fabric *fabric = madsim_fabric_of(qp->ibqp.device);
	struct madsim_packet *pkt = &fabric->pkt;
	bool more, last;

	*burst = 0;
	if (!madsim_rc_prepare(qp, pkt, &more))
		return more;
	last = pkt->bth.last;
	fabric->way.count = last ? MADSIM_WAY : 0;
	fabric->way.receiver = NULL;
	madsim_send(qp->port, pkt);
	more = madsim_rc_sent(qp);
	/* If the send has failed, the oldest send is another one now */
	if (qp->rc->req.begun && !last && !qp->rc->req.ahead)
		*burst = madsim_run_burst(qp);
	return more;
}

/* Have the timer send. If a response is awaited, madsim_rc_expired() sees that time is left */
static void madsim_delay_run(struct madsim_qp *qp, bool posted)
{
	struct madsim_fabric *fabric = madsim_fabric_of(qp->ibqp.device);
	unsigned long flags;

	spin_lock_irqsave(&fabric->lock, flags);
	mod_delayed_work(madsim_send_wq(qp), &qp->rc->comp.timer,
			 madsim_strict_send_delay(qp, posted));
	spin_unlock_irqrestore(&fabric->lock, flags);
}

/*
 * Send what was posted to a connected queue pair, up to %MADSIM_MAX_RUN packets, and leave the rest
 * to the worker, after others had their turn. The caller keeps the queue pair from being destroyed.
 */
static void madsim_run(struct madsim_qp *qp)
{
	struct madsim_fabric *fabric = madsim_fabric_of(qp->ibqp.device);
	bool strict = madsim_is_strict(qp);
	u32 packets = 0, burst = 0, most = strict ? 1 : MADSIM_MAX_RUN;
	bool more = true;

	while (more && (packets < most || burst)) {
		/* A tasklet that tells of a completion runs when the packet was sent */
		local_bh_disable();
		spin_lock_irq(&fabric->lock);
		if (burst)
			madsim_burst_end(qp);
		burst = 0;
		if (packets < most)
			more = madsim_run_step(qp, &burst);
		spin_unlock_irq(&fabric->lock);
		local_bh_enable();
		if (burst)
			madsim_burst_copy(qp);
		packets += 1 + burst;
		cond_resched();
	}

	if (more && strict)
		madsim_delay_run(qp, false);
	else if (more)
		queue_work(madsim_send_wq(qp), &qp->rc->req.work);
}

static void madsim_run_work(struct work_struct *work)
{
	madsim_run(container_of(work, struct madsim_rc, req.work)->qp);
}

static void madsim_run_timer(struct work_struct *work)
{
	struct madsim_rc *rc = container_of(to_delayed_work(work),
					    struct madsim_rc, comp.timer);
	struct madsim_qp *qp = rc->qp;
	struct madsim_fabric *fabric = madsim_fabric_of(qp->ibqp.device);

	spin_lock_irq(&fabric->lock);
	madsim_rc_expired(qp);
	spin_unlock_irq(&fabric->lock);
	madsim_run(qp);
}

/* Prepare a client's queue pair for sends */
void madsim_run_init(struct madsim_qp *qp)
{
	INIT_DELAYED_WORK(&qp->dgram_work, madsim_dgram_work);
	if (!qp->rc)
		return;
	INIT_WORK(&qp->rc->req.work, madsim_run_work);
	INIT_DELAYED_WORK(&qp->rc->comp.timer, madsim_run_timer);
}

/**
 * madsim_kick - have what was posted sent
 * @qp: a connected queue pair
 *
 * A program sends itself, up to a bound, as its device cannot go during the call. A client in
 * the kernel may hold locks when it posts, so a worker sends for the client.
 *
 * Context: any; process context for a program's queue pair.
 */
void madsim_kick(struct madsim_qp *qp)
{
	if (madsim_is_strict(qp))
		madsim_delay_run(qp, true);
	else if (qp->alias)
		madsim_run(qp);
	else
		queue_work(madsim_wq, &qp->rc->req.work);
}
