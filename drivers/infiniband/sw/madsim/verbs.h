/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the devices of a fabric have for who uses verbs: for the MAD layer, and, if
 * the fabric carries data, for other clients in the kernel and for programs.
 */

#ifndef MADSIM_VERBS_H
#define MADSIM_VERBS_H

#include <linux/interrupt.h>

#include "madsim.h"

/* Bounds of what clients may have, of each device */
#define MADSIM_MAX_MESSAGE	BIT(31)
#define MADSIM_MAX_WR		8192	/* the MAD layer's largest queue */
#define MADSIM_MAX_SGE		32
#define MADSIM_MAX_INLINE	512
#define MADSIM_MAX_CQE		BIT(18)
#define MADSIM_MAX_QP		4096	/* of clients */
#define MADSIM_MAX_RD_ATOMIC	16	/* is what clients may ask for; one goes */
#define MADSIM_MAX_MEMBERS	1024	/* of them in multicast groups */
#define MADSIM_MAX_MR		BIT(16)
#define MADSIM_MAX_MR_PAGES	512	/* of a region that the kernel maps */

/**
 * struct madsim_events - events of an object that its owner is yet to hear of
 * @work:	tells of them
 * @pending:	mask of enum ib_event_type; atomic
 * @event:	immutable but for the type, which is @work's
 * @handler:	immutable
 * @context:	immutable
 */
struct madsim_events {
	struct work_struct work;
	unsigned long pending;
	struct ib_event event;
	void (*handler)(struct ib_event *event, void *context);
	void *context;
};

/**
 * struct madsim_cq - a completion queue
 * @ibcq:	the core's part
 * @events:	of it
 * @notify:	calls its owner's handler
 * @lock:	protects the rest
 * @armed:	which completions call the handler, once: a mask of IB_CQ_SOLICITED
 *		and IB_CQ_NEXT_COMP
 * @broken:	it has lost an entry for which it had no room
 * @polled:	how many completions were taken
 * @done:	how many of them are dealt with: who took them has come back
 * @head:	oldest entry
 * @count:	number of entries
 * @size:	how many there is room for
 * @ring:	the entries
 */
struct madsim_cq {
	struct ib_cq ibcq;
	struct madsim_events events;
	struct tasklet_struct notify;
	spinlock_t lock;	/* innermost */
	u8 armed;
	bool broken;
	u32 polled;
	u32 done;
	u32 head;
	u32 count;
	u32 size;
	struct ib_wc *ring;
};

/**
 * struct madsim_rwqe - a buffer that was posted
 * @wr_id:	what its owner calls it
 * @num_sge:	number of its pieces
 * @sge:	the pieces
 */
struct madsim_rwqe {
	u64 wr_id;
	u32 num_sge;
	struct ib_sge sge[];
};

/**
 * struct madsim_rq - buffers that were posted; the lock of whose they are
 * @head:	the oldest
 * @count:	how many there are
 * @size:	how many there is room for; immutable unless it is shared
 * @max_sge:	immutable, as all below; pieces of each
 * @rwqe_size:	of an entry of @ring, in bytes
 * @ring:	the buffers; as @size
 */
struct madsim_rq {
	u32 head;
	u32 count;
	u32 size;
	u32 max_sge;
	u32 rwqe_size;
	void *ring;
};

/**
 * struct madsim_srq - a receive queue that queue pairs share
 * @ibsrq:	the core's part
 * @events:	of it
 * @lock:	protects the rest
 * @limit:	its owner is told when fewer buffers are left; 0: not
 * @rq:		the buffers
 */
struct madsim_srq {
	struct ib_srq ibsrq;
	struct madsim_events events;
	spinlock_t lock;	/* within qp->lock */
	u32 limit;
	struct madsim_rq rq;
};

/**
 * struct madsim_rc - what a connected queue pair has beyond others; fabric->lock
 * @qp:		immutable
 * @attr:	its attributes, as far as the peer and the requester go
 * @mtu:	of its path, in bytes
 * @work:	sends what is posted
 * @timer:	waits for a response, or for the responder to be ready
 * @deadline:	end of that, in jiffies
 * @head:	the oldest send
 * @count:	how many there are
 * @size:	immutable
 * @swqe_size:	immutable; of an entry of @ring, in bytes
 * @ring:	the sends that were posted
 * @sq_psn:	number of the packet that is under way, or of the next one
 * @piece:	length of what that is about
 * @sent:	how many bytes of the oldest send are done
 * @begun:	a packet of the oldest send has been sent, so that SQD waits for its end
 * @notify:	the owner wants to hear when SQD has nothing left to wait for
 * @waiting:	there is no response yet
 * @sending:	the packet is on its way; whoever sends it goes on after that
 * @rnr:	the responder has no buffer yet
 * @retries:	how often the packet will be sent again
 * @rnr_retries: and how often if there is no buffer
 * @rq_psn:	number of the next request
 * @receiving:	the message of which some packets have come, if there is one
 * @has_buffer:	the queue pair's buffer was taken
 * @heard:	the peer has sent something
 * @offset:	how many bytes of the message have come
 * @va:		of an RDMA WRITE: its address
 * @rkey:	its key
 * @dma_len:	its length
 * @has_atomic:	an atomic operation was done
 * @atomic_psn:	number of the last one
 * @atomic:	and its response
 */
struct madsim_rc {
	struct madsim_qp *qp;
	struct ib_qp_attr attr;
	u32 mtu;
	struct work_struct work;
	struct delayed_work timer;
	unsigned long deadline;
	u32 head;
	u32 count;
	u32 size;
	u32 swqe_size;
	void *ring;
	u32 sq_psn;
	u32 piece;
	u64 sent;
	bool begun;
	bool notify;
	bool waiting;
	bool sending;
	bool rnr;
	u8 retries;
	u8 rnr_retries;
	u32 rq_psn;
	enum madsim_op receiving;
	bool has_buffer;
	bool heard;
	u64 offset;
	u64 va;
	u32 rkey;
	u32 dma_len;
	bool has_atomic;
	u32 atomic_psn;
	u64 atomic;
};

/**
 * struct madsim_qp - QP0 or QP1 of a port, or a client's
 * @ibqp:	the core's part
 * @port:	immutable for QP0 and QP1. A client's has none before it is in
 *		INIT; changes take fabric->lock, too
 * @sig_all:	immutable; every send completes
 * @max_send_wr: immutable; a send never waits, so this is what it is called only
 * @max_send_sge: immutable
 * @max_inline: immutable; bytes that a program can send with the request itself
 * @alias:	immutable; what the completions of a program's name instead of it
 * @taken:	the buffer of a client's for what it receives; fabric->lock
 * @rc:		NULL if it is for datagrams
 * @events:	of it
 * @lock:	protects the rest
 * @state:	QP state; changes take fabric->lock, too
 * @qkey:	likewise
 * @pkey_index:	likewise; QP0 and QP1 do not use it
 * @sq_psn:	what it was told; datagrams have no use for it
 * @closing:	gets no requests any more; changes take fabric->lock, too
 * @rq:		its buffers, unless it shares a receive queue
 */
struct madsim_qp {
	struct ib_qp ibqp;
	struct madsim_port *port;
	bool sig_all;
	u32 max_send_wr;
	u32 max_send_sge;
	u32 max_inline;
	struct ib_qp *alias;
	struct madsim_rwqe *taken;
	struct madsim_rc *rc;
	struct madsim_events events;
	spinlock_t lock;	/* the receive queue; within fabric->lock */
	enum ib_qp_state state;
	u32 qkey;
	u16 pkey_index;
	u32 sq_psn;
	bool closing;
	struct madsim_rq rq;
};

struct madsim_pd {
	struct ib_pd ibpd;
};

struct madsim_ucontext {
	struct ib_ucontext ibucontext;
};

struct madsim_ah {
	struct ib_ah ibah;
	struct rdma_ah_attr attr;
};

/* Syndromes of a response */
enum madsim_syndrome {
	MADSIM_ACKNOWLEDGED	= 0x1f,	/* with no count of credits */
	MADSIM_RNR		= 0x20,	/* and the time to wait */
	MADSIM_NAK_SEQUENCE	= 0x60,
	MADSIM_NAK_INVALID	= 0x61,
	MADSIM_NAK_ACCESS	= 0x62,
	MADSIM_NAK_OPERATION	= 0x63,
};

static inline struct madsim_qp *to_madsim_qp(struct ib_qp *ibqp)
{
	return container_of(ibqp, struct madsim_qp, ibqp);
}

static inline struct madsim_ah *to_madsim_ah(struct ib_ah *ibah)
{
	return container_of(ibah, struct madsim_ah, ibah);
}

static inline bool madsim_is_uc(const struct madsim_qp *qp)
{
	return qp->ibqp.qp_type == IB_QPT_UC;
}

/* What the buffers that a queue pair receives into belong to */
static inline struct ib_pd *madsim_recv_pd(const struct madsim_qp *qp)
{
	return qp->ibqp.srq ? qp->ibqp.srq->pd : qp->ibqp.pd;
}

/* event.c: asynchronous events */
void madsim_events_init(struct madsim_events *events,
			const struct ib_event *event,
			void (*handler)(struct ib_event *event, void *context),
			void *context);
void madsim_events_end(struct madsim_events *events);
void madsim_event(struct madsim_events *events, enum ib_event_type type);

/* cq.c: completion queues */
extern const struct ib_device_ops madsim_cq_ops;
void madsim_complete(struct ib_cq *ibcq, const struct ib_wc *wc,
		     bool solicited);
void madsim_cq_purge(struct ib_cq *ibcq, struct ib_qp *ibqp);
void madsim_cq_drain(struct ib_cq *ibcq);

/* rq.c: receive queues */
extern const struct ib_device_ops madsim_srq_ops;
int madsim_rq_init(struct madsim_rq *rq, u32 size, u32 max_sge);
void madsim_rq_free(struct madsim_rq *rq);
int madsim_rq_post(struct madsim_rq *rq, const struct ib_recv_wr *wr);
struct madsim_rwqe *madsim_rq_next(struct madsim_rq *rq);
bool madsim_take_recv(struct madsim_qp *qp);

/* mr.c: memory of clients */
extern const struct ib_device_ops madsim_mr_ops;
enum ib_wc_status madsim_copy_from(struct ib_pd *pd, const struct ib_sge *sge,
				   u64 at, void *to, u32 len);
enum ib_wc_status madsim_copy_to(struct ib_pd *pd, const struct ib_sge *sge,
				 u64 at, const void *from, u32 len);
bool madsim_mr_allows(struct ib_pd *pd, u32 rkey, u64 addr, u32 len,
		      int access);
bool madsim_mr_read(struct ib_pd *pd, u32 rkey, u64 addr, void *to, u32 len,
		    int access);
bool madsim_mr_write(struct ib_pd *pd, u32 rkey, u64 addr, const void *from,
		     u32 len, int access);
bool madsim_mr_enable(struct ib_pd *pd, struct ib_mr *ibmr, u32 key,
		      int access);
bool madsim_mr_invalidate(struct ib_pd *pd, u32 key);
u64 madsim_sge_length(const struct ib_sge *sge, u32 num_sge);

/* qp.c: queue pairs, address handles */
extern const struct ib_device_ops madsim_qp_ops;
struct ib_qp *madsim_wc_qp(struct madsim_qp *qp);
void madsim_qp_fail(struct madsim_qp *qp, enum ib_qp_state state);
void madsim_route(const struct madsim_port *port,
		  const struct rdma_ah_attr *attr, u16 pkey_index,
		  struct madsim_packet *pkt);
void madsim_address(struct madsim_qp *qp, const struct ib_send_wr *wr,
		    u16 pkey_index, struct madsim_packet *pkt);
bool madsim_qp_admits(const struct madsim_qp *qp,
		      const struct madsim_packet *pkt);
void madsim_qp_drain(struct madsim_port *port, const struct ib_device *ibdev);

/* ud.c: datagrams of clients */
extern const struct ib_device_ops madsim_ud_ops;
enum ib_wc_status madsim_ud_build(struct madsim_qp *qp,
				  const struct ib_send_wr *wr,
				  const void *data, struct madsim_packet *pkt);

/* rc.c: connected queue pairs */
int madsim_rc_add(struct madsim_qp *qp);
void madsim_rc_del(struct madsim_qp *qp);
int madsim_rc_check(const struct madsim_qp *qp, const struct ib_qp_attr *attr,
		    int mask, enum ib_qp_state next);
void madsim_rc_set(struct madsim_qp *qp, const struct ib_qp_attr *attr,
		   int mask);
void madsim_rc_get(const struct madsim_qp *qp, struct ib_qp_attr *attr);
void madsim_rc_reset(struct madsim_qp *qp);
void madsim_rc_flush(struct madsim_qp *qp);
void madsim_rc_drained(struct madsim_qp *qp);

/* requester.c: what connected queue pairs send */
int madsim_rc_add_sends(struct madsim_qp *qp, struct madsim_rc *rc);
void madsim_rc_del_sends(struct madsim_rc *rc);
int madsim_rc_post(struct madsim_qp *qp, const struct ib_send_wr *wr,
		   const void *data);
void madsim_rc_kick(struct madsim_qp *qp);
void madsim_rc_refresh(struct madsim_rc *rc);
void madsim_rc_response(struct madsim_qp *qp, const struct madsim_packet *pkt);
void madsim_rc_flush_sends(struct madsim_qp *qp);

/* responder.c: what connected queue pairs receive */
bool madsim_rc_request(struct madsim_qp *qp, struct madsim_packet *pkt);

#endif /* MADSIM_VERBS_H */
