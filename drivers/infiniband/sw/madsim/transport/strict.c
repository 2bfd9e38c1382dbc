// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Stricter than an adapter. Most adapters let most mistakes pass most of the time: a program works
 * until it meets a faster adapter. A strict fabric delays sends and completions, lets data land in
 * another order, overwrites buffers before data lands there, and tells of mistakes.
 */

#include <linux/jhash.h>
#include <linux/minmax.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "transport.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

/* Of the data of a send, or of a buffer: more is too much for one turn under fabric->lock */
#define MADSIM_STRICT_BYTES	SZ_64K
#define MADSIM_STRICT_CHUNK	256

/* A byte of a receive buffer where no data has landed */
#define MADSIM_STRICT_PATTERN	0xa5

/*
 * How many milliseconds a send waits at most until it goes, and again until it completes; and how
 * many milliseconds the first packet of an RDMA WRITE waits after the last one
 */
#define MADSIM_STRICT_MS	20
#define MADSIM_STRICT_WRITE_MS	100

/* What is delayed, each with random numbers of its own */
enum madsim_strict_what {
	MADSIM_STRICT_SEND,
	MADSIM_STRICT_NEXT,
	MADSIM_STRICT_COMPLETION,
};

static const char * const madsim_strict_names[] = {
	[MADSIM_STRICT_SEND] = "send",
	[MADSIM_STRICT_NEXT] = "next",
	[MADSIM_STRICT_COMPLETION] = "completion",
};

const char * const madsim_mistake_names[MADSIM_MISTAKES] = {
	[MADSIM_CHANGED] = "changed",
	[MADSIM_DEREGISTERED] = "deregistered",
	[MADSIM_FULL] = "full",
	[MADSIM_NO_BUFFER] = "no_buffer",
	[MADSIM_NO_RD_ATOMIC] = "rd_atomic",
	[MADSIM_SHORT_CQ] = "short_cq",
	[MADSIM_UNREAD] = "unread",
};

/**
 * madsim_mistake - count a mistake of the owner of a queue pair, and trace it
 * @qp: the queue pair, each of whose mistakes is told once
 * @wr_id: of the request that it is about, or 0
 * @mistake: the mistake
 *
 * Context: any; fabric->lock is held.
 */
void madsim_mistake(struct madsim_qp *qp, u64 wr_id, enum madsim_mistake mistake)
{
	struct madsim_fabric *fabric = madsim_fabric_of(qp->ibqp.device);

	lockdep_assert_held(&fabric->lock);

	if (!fabric->strict || qp->mistakes & BIT(mistake))
		return;
	qp->mistakes |= BIT(mistake);
	fabric->mistakes[mistake]++;
	trace_madsim_mistake(qp, wr_id, madsim_mistake_names[mistake]);
}

/* Hash what is to be sent. Returns false if a key does not allow that any more */
static bool madsim_strict_hash(const struct madsim_qp *qp, const struct madsim_swqe *wqe, u32 *hash)
{
	u32 len = min_t(u64, wqe->length, MADSIM_STRICT_BYTES);
	u8 chunk[MADSIM_STRICT_CHUNK];
	u32 at, n;

	*hash = 0;
	for (at = 0; at < len; at += n) {
		n = min(len - at, (u32)sizeof(chunk));
		if (madsim_copy_from(qp->ibqp.pd, wqe->sge, at, chunk, n))
			return false;
		*hash = jhash(chunk, n, *hash);
	}
	return true;
}

/* Remember the data of a send, or how to read. The fabric is strict; fabric->lock is held */
void madsim_strict_posted(const struct madsim_qp *qp, struct madsim_swqe *wqe)
{
	wqe->backwards = wqe->op == MADSIM_OP_READ;
	if (madsim_op_has_payload(wqe->op) && !(wqe->flags & IB_SEND_INLINE))
		wqe->hashed = madsim_strict_hash(qp, wqe, &wqe->hash);
}

/* See whether the owner has left the data of a send alone. fabric->lock is held */
void madsim_strict_ended(struct madsim_qp *qp, const struct madsim_swqe *wqe)
{
	u32 hash;

	if (!wqe->hashed)
		return;
	if (!madsim_strict_hash(qp, wqe, &hash))
		madsim_mistake(qp, wqe->wr_id, MADSIM_DEREGISTERED);
	else if (hash != wqe->hash)
		madsim_mistake(qp, wqe->wr_id, MADSIM_CHANGED);
}

/* Overwrite the buffer in @recv_wqe before data lands there. fabric->lock is held */
void madsim_strict_fill(const struct madsim_qp *qp)
{
	const struct madsim_rwqe *rwqe = qp->recv_wqe;
	u32 len = min_t(u64, qp->recv_length, MADSIM_STRICT_BYTES);
	u8 chunk[MADSIM_STRICT_CHUNK];
	u32 at, n;

	memset(chunk, MADSIM_STRICT_PATTERN, sizeof(chunk));
	for (at = 0; at < len; at += n) {
		n = min(len - at, (u32)sizeof(chunk));
		/* A wrong key fails the receive itself */
		if (madsim_copy_to(madsim_recv_pd(qp), rwqe->sge, at, chunk, n))
			return;
	}
}

/*
 * Delay the first packet of an RDMA WRITE, to land after the others: a program may depend on the
 * data when a later message has come, or the immediate data of this one. False: @pkt has to
 * land now. fabric->lock is held
 */
bool madsim_strict_delay_write(struct madsim_qp *qp, const struct madsim_packet *pkt)
{
	struct madsim_rc *rc = qp->rc;
	struct madsim_delayed_write *write = &rc->resp.delayed_write;

	if (!pkt->bth.first) {
		write->due = pkt->bth.last;
		if (write->due && write->len)
			mod_delayed_work(madsim_send_wq(qp), &rc->comp.timer,
					 msecs_to_jiffies(MADSIM_STRICT_WRITE_MS));
		return false;
	}
	write->len = 0;
	if (pkt->bth.last || !madsim_is_strict(qp))
		return false;
	if (!write->data)
		write->data = kmalloc(MADSIM_MTU, GFP_ATOMIC | __GFP_NOWARN);
	if (!write->data)
		return false;
	memcpy(write->data, pkt->data, pkt->len);
	write->len = pkt->len;
	write->va = rc->resp.va;
	write->rkey = rc->resp.rkey;
	write->due = false;
	return true;
}

/* Let a delayed packet of an RDMA WRITE land, if its time has come. fabric->lock is held */
void madsim_strict_finish_write(struct madsim_qp *qp)
{
	struct madsim_delayed_write *write = &qp->rc->resp.delayed_write;

	if (likely(!write->len || !write->due))
		return;
	madsim_mr_write(qp->ibqp.pd, write->rkey, write->va, write->data,
			write->len, IB_ACCESS_REMOTE_WRITE);
	write->len = 0;
}

/*
 * By the seed and the number of what is delayed. Other queue pairs change nothing, unless they
 * have the same completion queue; nor does how fast the machine is.
 */
static u32 madsim_strict_random(const struct madsim_qp *qp,
				enum madsim_strict_what what, u32 number)
{
	return jhash_3words(qp->ibqp.qp_num, what, number,
			    to_madsim_dev(qp->ibqp.device)->node->seed);
}

static unsigned long madsim_strict_jiffies(const struct madsim_qp *qp,
					   enum madsim_strict_what what, u32 number)
{
	u32 ms = (madsim_strict_random(qp, what, number) >> 8) % MADSIM_STRICT_MS;

	trace_madsim_late(qp, madsim_strict_names[what], number, ms);
	return 1 + msecs_to_jiffies(ms);
}

/* Jiffies until a queue pair sends. @posted: it has just now posted. fabric->lock is held */
unsigned long madsim_strict_send_delay(const struct madsim_qp *qp, bool posted)
{
	/* The place of the packet in what was posted: sends before it, and bytes of its own send */
	u32 number = qp->ended + (qp->rc ? qp->rc->req.sent : 0);

	if (posted)
		return madsim_strict_jiffies(qp, MADSIM_STRICT_SEND, qp->posted);
	/* Most packets follow the one before at once */
	if (madsim_strict_random(qp, MADSIM_STRICT_NEXT, number) % 16)
		return 0;
	return madsim_strict_jiffies(qp, MADSIM_STRICT_NEXT, number);
}

/* After how many jiffies the owner of a queue pair gets a completion, by its number in the queue */
unsigned long madsim_strict_cq_delay(const struct madsim_qp *qp, u32 number)
{
	return madsim_strict_jiffies(qp, MADSIM_STRICT_COMPLETION, number);
}

/* In other states a queue pair sends nothing */
static struct madsim_dgram *madsim_strict_first(struct madsim_qp *qp)
{
	if (qp->state != IB_QPS_RTS)
		return NULL;
	return list_first_entry_or_null(&qp->dgrams, struct madsim_dgram, list);
}

/* Have delayed datagrams sent. @posted: the first one waits from now on. fabric->lock is held */
void madsim_strict_schedule(struct madsim_qp *qp, bool posted)
{
	/* madsim_strict_send_delay() traces a delay, so it is called only if the delay counts */
	if (madsim_strict_first(qp) && !delayed_work_pending(&qp->dgram_work))
		queue_delayed_work(madsim_send_wq(qp), &qp->dgram_work,
				   madsim_strict_send_delay(qp, posted));
}

/* Delay a datagram: 0, or -ENOMEM. fabric->lock is held */
int madsim_strict_post(struct madsim_qp *qp, const struct madsim_send *send)
{
	const struct ib_ud_wr *ud = ud_wr(send->wr);
	u32 hlen = send->wr->opcode == IB_WR_LSO ? ud->hlen : 0;
	size_t size = offsetof(struct madsim_dgram, wqe) + madsim_swqe_size(qp);
	struct madsim_dgram *dgram;

	dgram = kzalloc(size + hlen, GFP_ATOMIC | __GFP_ACCOUNT | __GFP_NOWARN);
	if (!dgram)
		return -ENOMEM;
	madsim_swqe_set(qp, &dgram->wqe, send);
	dgram->ud = *ud;
	dgram->ud.wr.next = NULL;
	dgram->ud.wr.sg_list = dgram->wqe.sge;
	dgram->ud.header = memcpy((void *)dgram + size, ud->header, hlen);
	/* The owner may destroy its own */
	dgram->ah = *to_madsim_ah(ud->ah);
	dgram->ud.ah = &dgram->ah.ibah;
	dgram->send.wr = &dgram->ud.wr;
	dgram->send.data = send->data ? dgram->wqe.sge : NULL;
	dgram->send.length = send->length;
	list_add_tail(&dgram->list, &qp->dgrams);
	madsim_strict_schedule(qp, true);
	return 0;
}

/* The next datagram to be sent, for the caller to free, or NULL. fabric->lock is held */
struct madsim_dgram *madsim_strict_next(struct madsim_qp *qp)
{
	struct madsim_dgram *dgram = madsim_strict_first(qp);

	if (!dgram)
		return NULL;
	list_del(&dgram->list);
	madsim_strict_ended(qp, &dgram->wqe);
	return dgram;
}
