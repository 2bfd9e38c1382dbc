/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the devices of a fabric have for users of verbs: for the MAD layer, and, if
 * the fabric carries data, for other clients in the kernel and for programs.
 */

#ifndef MADSIM_TRANSPORT_H
#define MADSIM_TRANSPORT_H

#include <linux/interrupt.h>
#include <rdma/uverbs_ioctl.h>

#include "model/model.h"

/* Bounds of what clients may have, of each device */
#define MADSIM_MAX_MESSAGE	BIT(31)
#define MADSIM_MAX_WR		8192	/* the MAD layer's largest queue */
#define MADSIM_MAX_SGE		32
#define MADSIM_MAX_INLINE	512
#define MADSIM_MAX_CQE		BIT(18)
#define MADSIM_MAX_VECTORS	8U
#define MADSIM_MAX_QP		4096	/* of clients */
#define MADSIM_KERNEL_QP	512	/* of MADSIM_MAX_QP, not for programs */
#define MADSIM_MAX_RD_ATOMIC	16	/* to ask for; one is under way */
#define MADSIM_MAX_MEMBERS	1024	/* queue pairs in multicast groups */
#define MADSIM_KERNEL_MEMBERS	256	/* of MADSIM_MAX_MEMBERS, not for programs */
#define MADSIM_MAX_ATTACHED	64	/* in one group: copies made in one go */
#define MADSIM_KERNEL_ATTACHED	16	/* of MADSIM_MAX_ATTACHED, not for programs */
#define MADSIM_MAX_MR		BIT(16)
#define MADSIM_KERNEL_MR	BIT(15)	/* of MADSIM_MAX_MR, not for programs */
#define MADSIM_MAX_MR_PAGES	512	/* of a region that the kernel maps */

/* Work requests that are given back at once, with interrupts off */
#define MADSIM_FLUSH_TURN	256

/**
 * struct madsim_events - events of an object that its owner is yet to hear of
 * @work:	tells the owner of @pending
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
 * struct madsim_shared - what a program maps: struct rvt_cq_wc or rvt_rwq of rvt-abi.h
 * @head:	place for the next entry, written by the side that fills the ring
 * @tail:	place of the oldest entry, written by the other side
 * @entries:	struct ib_uverbs_wc, or struct madsim_rwqe with all its pieces
 *
 * sparse warns of rvt-abi.h, which has an array of what ends in an array.
 */
struct madsim_shared {
	u32 head;
	u32 tail;
	u8 entries[] __aligned(8);
};

/**
 * struct madsim_ring - a ring that a program maps
 * @entry:	by which the core finds it
 * @memory:	immutable
 */
struct madsim_ring {
	struct rdma_user_mmap_entry entry;
	struct madsim_shared *memory;
};

/**
 * struct madsim_cqe - an entry of a completion queue
 * @wc:		what its owner gets
 * @qp:		the queue pair; the entry is gone before it. NULL: the queue pair is gone,
 *		and a program still has the entry
 * @sends:	how many sends of the queue pair had ended by then
 */
struct madsim_cqe {
	struct ib_wc wc;
	struct madsim_qp *qp;
	u32 sends;
};

/**
 * struct madsim_cq - a completion queue
 * @ibcq:	the core's part
 * @events:	its events
 * @notify:	calls its owner's handler, on this CPU
 * @vector_work: calls it on @cpu
 * @cpu:	immutable; the CPU of its completion vector. -1 if any will do
 * @mutex:	one caller at a time moves entries about
 * @lock:	protects the rest
 * @armed:	which completions call the handler, once: a mask of IB_CQ_SOLICITED
 *		and IB_CQ_NEXT_COMP
 * @broken:	an entry was lost, as the completion queue was full
 * @head:	position of the oldest entry; positions are no places in @ring, see @mask
 * @tail:	position of the next new entry
 * @shown:	the owner does not see this one yet, nor later ones: @tail unless the
 *		fabric is strict
 * @pending:	the events that the entries from @shown on are worth, in the bits of @armed
 * @show_work:	shows these entries
 * @done:	the owner has dealt with all before this one: it has come back since
 * @gap:	a purge leaves positions without entries: the first of them
 * @gap_end:	the position behind them; @gap if there are none
 * @size:	how many there is room for
 * @feeds:	places of the queues that complete here
 * @mask:	of a position, which counts on for ever, for its place in @ring
 * @ring:	the entries
 * @old:	the ring before, while a resize moves its entries to @ring, else NULL
 * @old_mask:	of @old, as @mask is of @ring
 * @old_end:	the position behind the entries that are still there
 * @user:	immutable; the user whose it is, or NULL if it is the kernel's
 * @shared:	a copy of the entries that are shown, where a program takes them; NULL: the
 *		owner polls. There are @size + 1 places, so that it is never full
 * @fill:	place in @shared for the entry at @shown
 * @consumed:	place in @shared for the entry at @head. The program has consumed all entries
 *		before, and madsim_cq_look() has seen this, some at a time
 */
struct madsim_cq {
	struct ib_cq ibcq;
	struct madsim_events events;
	struct tasklet_struct notify;
	struct work_struct vector_work;
	int cpu;
	struct mutex mutex;	/* moving entries */
	spinlock_t lock;	/* see model.h */
	u8 armed;
	bool broken;
	u32 head;
	u32 tail;
	u32 shown;
	u8 pending;
	struct delayed_work show_work;
	u32 done;
	u32 gap;
	u32 gap_end;
	u32 size;
	u32 feeds;
	u32 mask;
	struct madsim_cqe *ring;
	struct madsim_cqe *old;
	u32 old_mask;
	u32 old_end;
	struct madsim_user *user;
	struct madsim_ring *shared;
	u32 fill;
	u32 consumed;
};

/**
 * struct madsim_rwqe - a buffer that was posted, as a program posts it: struct rvt_rwqe
 * @wr_id:	what its owner calls it
 * @num_sge:	number of its pieces
 * @padding:	unused
 * @sge:	the pieces
 */
struct madsim_rwqe {
	u64 wr_id;
	u8 num_sge;
	u8 padding[7];
	struct ib_sge sge[];
};

/**
 * struct madsim_rq - buffers that were posted; the lock of whose they are
 * @head:	the oldest
 * @count:	how many there are
 * @size:	how many there is room for; immutable unless it is shared
 * @max_sge:	immutable, as all below; pieces of each
 * @rwqe_size:	of an entry of @ring or @shared, in bytes
 * @ring:	the buffers; as @size. A copy of the one that was taken last if they are in @shared
 * @shared:	where a program posts, with @size + 1 places; as @size. NULL: the owner posts
 *		by calls. @head is a place there, and @count as of when a buffer was taken last
 * @broken:	the program has written what is no index or no buffer there
 * @user:	who pays for it, or NULL; immutable
 */
struct madsim_rq {
	u32 head;
	u32 count;
	u32 size;
	u32 max_sge;
	u32 rwqe_size;
	void *ring;
	struct madsim_ring *shared;
	bool broken;
	struct madsim_user *user;
};

/**
 * struct madsim_srq - a receive queue that queue pairs share
 * @ibsrq:	the core's part
 * @events:	its events
 * @lock:	protects the rest
 * @limit:	its owner is told when fewer buffers are left; 0: not
 * @rq:		the buffers
 * @to:		while they move to another queue: that, which has the oldest ones. Else NULL
 */
struct madsim_srq {
	struct ib_srq ibsrq;
	struct madsim_events events;
	spinlock_t lock;	/* within qp->lock */
	u32 limit;
	struct madsim_rq rq;
	struct madsim_rq *to;
};

/**
 * struct madsim_send - a send that is being posted
 * @wr:		the work request
 * @data:	what it sends, if that is with the request itself, or NULL
 * @length:	bytes of @data, or of all pieces of @wr
 */
struct madsim_send {
	const struct ib_send_wr *wr;
	const void *data;
	u64 length;
};

/**
 * struct madsim_swqe - a send that was posted to a connected queue pair
 * @wr_id:	what its owner calls it
 * @opcode:	what to do
 * @flags:	IB_SEND_*
 * @imm:	immediate data
 * @inv_key:	the key to be invalidated, here or at the responder
 * @rkey:	of the responder's memory
 * @va:		and the address there
 * @compare:	of an atomic operation, also what is to be added
 * @swap:	of an atomic operation
 * @mr:		the region to be registered
 * @key:	its new key
 * @access:	and what that allows
 * @length:	of all pieces
 * @op:		what @opcode sends, an enum madsim_op
 * @hashed:	the fabric was strict when it was posted, and the keys were good
 * @backwards:	the fabric was strict: the last packet of an RDMA READ goes first
 * @hash:	of the data then
 * @sge:	the pieces, or in their place the data itself
 */
struct madsim_swqe {
	u64 wr_id;
	enum ib_wr_opcode opcode;
	int flags;
	__be32 imm;
	u32 inv_key;
	u32 rkey;
	u64 va;
	u64 compare;
	u64 swap;
	struct ib_mr *mr;
	u32 key;
	int access;
	u64 length;
	u8 op;
	bool hashed;
	bool backwards;
	u32 hash;
	struct ib_sge sge[];
};

struct madsim_ah {
	struct ib_ah ibah;
	struct rdma_ah_attr attr;
	struct madsim_user *user;
};

/**
 * struct madsim_dgram - a delayed datagram
 * @list:	on qp->dgrams
 * @ud:		what the owner has posted
 * @ah:		where to
 * @send:	@ud, as it was posted
 * @wqe:	the pieces of @ud, and a hash of their data as it was posted. Behind the room for
 *		pieces is the header of segments
 */
struct madsim_dgram {
	struct list_head list;
	struct ib_ud_wr ud;
	struct madsim_ah ah;
	struct madsim_send send;
	struct madsim_swqe wqe;
};

/**
 * struct madsim_delayed_write - the first packet of an RDMA WRITE, in a strict fabric
 * @data:	its data, NULL until there was one
 * @len:	bytes of @data; 0 when these have landed
 * @due:	all other packets have landed
 * @va:		where it is to land
 * @rkey:	by which key
 */
struct madsim_delayed_write {
	void *data;
	u32 len;
	bool due;
	u64 va;
	u32 rkey;
};

/**
 * struct madsim_span - bytes in the memory of a client
 * @pd:		its protection domain
 * @sge:	pieces of its memory; of a remote key just one, with that key
 * @at:		how many bytes of @sge come before
 * @access:	what their regions have to allow
 * @remote:	the key is a remote one
 * @mr:		the region of @sge, NULL before it is needed
 */
struct madsim_span {
	struct ib_pd *pd;
	const struct ib_sge *sge;
	u64 at;
	int access;
	bool remote;
	struct madsim_mr *mr;
};

/**
 * struct madsim_burst - bytes that are copied without a lock; constant during the copy
 * @len:	how many; 0 if there are none
 * @local:	where the requester has them
 * @remote:	and the responder
 * @key:	of @remote, if that is by a remote key
 * @read:	they go to the requester
 * @peer:	the responder's queue pair
 */
struct madsim_burst {
	u32 len;
	struct madsim_span local;
	struct madsim_span remote;
	struct ib_sge key;
	bool read;
	struct madsim_qp *peer;
};

/**
 * struct madsim_sq - the sends that were posted to a connected queue pair; fabric->lock
 * @head:	the oldest send, in @ring, which has places for max_send_wr of the queue pair
 * @count:	how many sends there are
 * @wqe_size:	immutable; of an entry of @ring, in bytes
 * @ring:	the sends
 */
struct madsim_sq {
	u32 head;
	u32 count;
	u32 wqe_size;
	void *ring;
};

/**
 * struct madsim_requester - what a connected queue pair sends; fabric->lock
 * @work:	sends
 * @psn:	number of the oldest packet that is under way, or of the next one
 * @ahead:	how many packets are under way, all of the oldest send. Of RC each waits for its
 *		response
 * @sent:	how many bytes of the oldest send are done
 * @begun:	a packet of the oldest send has gone out: SQD waits for the last one
 * @notify:	the owner wants an event when SQD waits no more
 * @sending:	the packet is on its way, and its sender goes on after that
 */
struct madsim_requester {
	struct work_struct work;
	u32 psn;
	u32 ahead;
	u64 sent;
	bool begun;
	bool notify;
	bool sending;
};

/**
 * struct madsim_completer - how long a requester waits for responses; fabric->lock
 * @timer:	waits for a response, or for the responder to be ready
 * @deadline:	when the time that @timer waits for ends, in jiffies
 * @async:	responses come when their sender has gone on: several packets are under way then
 * @gap:	the response to the oldest packet was missing, so all went again
 * @rnr:	the responder has no buffer yet
 * @window_cut:	by how many packets the window is narrower than %MADSIM_WINDOW, after losses
 * @retries:	how often the packet will be sent again
 * @rnr_retries: how often it will be sent again if there is no buffer
 */
struct madsim_completer {
	struct delayed_work timer;
	unsigned long deadline;
	bool async;
	bool gap;
	bool rnr;
	u8 window_cut;
	u8 retries;
	u8 rnr_retries;
};

/**
 * struct madsim_responder - what a connected queue pair receives; fabric->lock
 * @psn:	number of the next request
 * @refusing:	the peer was told that a request came too early, or before a buffer. Later
 *		ones are not answered until it comes again
 * @has_buffer:	recv_wqe of the queue pair has a buffer
 * @heard:	the peer has sent a request
 * @receiving:	the message of which some packets have come, if there is one
 * @offset:	how many bytes of that message have come
 * @va:		the address of an RDMA WRITE
 * @rkey:	the key of an RDMA WRITE
 * @dma_len:	the length of an RDMA WRITE
 * @has_atomic:	an atomic operation was executed
 * @atomic_psn:	number of the last atomic operation
 * @atomic:	response to the last atomic operation
 * @delayed_write: what has not landed yet of an RDMA WRITE
 */
struct madsim_responder {
	u32 psn;
	bool refusing;
	bool has_buffer;
	bool heard;
	enum madsim_op receiving;
	u64 offset;
	u64 va;
	u32 rkey;
	u32 dma_len;
	bool has_atomic;
	u32 atomic_psn;
	u64 atomic;
	struct madsim_delayed_write delayed_write;
};

/**
 * struct madsim_rc - what a connected queue pair has beyond others; fabric->lock
 * @qp:		immutable
 * @attr:	its attributes, as far as the peer and the requester go
 * @mtu:	of its path, in bytes
 * @sq:		the sends that were posted
 * @req:	for what requester.c sends
 * @comp:	for what comes back to requester.c
 * @resp:	for responder.c
 * @burst:	what is copied of the oldest send. Only the thread that copies it ends it, and
 *		no packet is made until then
 * @landing:	how many bursts of its peer are copied, which take no packet in between
 * @waiters:	how many tasks wait until nothing is copied, so that no other burst begins
 * @failing:	it has failed during a copy, and gives back what was posted after the copy
 *
 * While bytes are copied, the requester's send, the responder's buffer, and both queue
 * pairs stay. modify_qp() and destroy_qp() wait.
 */
struct madsim_rc {
	struct madsim_qp *qp;
	struct ib_qp_attr attr;
	u32 mtu;
	struct madsim_sq sq;
	struct madsim_requester req;
	struct madsim_completer comp;
	struct madsim_responder resp;
	struct madsim_burst burst;
	u32 landing;
	u32 waiters;
	bool failing;
};

/**
 * struct madsim_qp - QP0 or QP1 of a port, or a client's
 * @ibqp:	the core's part
 * @port:	immutable for QP0 and QP1. A client's has none before it is in
 *		INIT; changes take fabric->lock, too
 * @sig_all:	immutable; every send completes
 * @max_send_wr: immutable; places of the send queue
 * @max_send_sge: immutable
 * @max_inline: immutable; bytes that a program can send with the request itself
 * @lso:	immutable; it sends data that is to be cut into segments
 * @posted:	how many sends were posted; fabric->lock
 * @ended:	how many sends have ended; fabric->lock
 * @reaped:	how many places were made free, as the owner took completions; the lock
 *		of the completion queue, and read without
 * @unread_sends: completions of sends that the owner has not taken; the lock of
 *		their completion queue
 * @unread_recvs: completions of receives that the owner has not taken; as @unread_sends
 * @user:	immutable; the user whose it is, or NULL if it is the kernel's
 * @mistakes:	those that were told, a mask of enum madsim_mistake; fabric->lock
 * @lost:	a completion was lost, or its ring is broken: @flush takes it to ERR; fabric->lock
 *		or @lock
 * @alias:	immutable; what completions name instead of a program's queue pair
 * @recv_wqe:	the buffer that a client's receives into; fabric->lock
 * @recv_length: of @recv_wqe; as @recv_wqe
 * @dgrams:	delayed datagrams, the oldest first; fabric->lock
 * @dgram_work:	sends the datagrams of @dgrams
 * @flush:	in ERR and SQE, gives back what was posted, some at a time. In ERR it looks at
 *		the ring, too, as no call tells that a program posts there
 * @failed:	when it came to ERR, in jiffies
 * @rc:		NULL if it is for datagrams
 * @events:	its events
 * @lock:	protects the rest
 * @state:	QP state; changes take fabric->lock, too
 * @qkey:	changes take fabric->lock, too
 * @pkey_index:	changes take fabric->lock, too; QP0 and QP1 do not use it
 * @sq_psn:	of a queue pair for datagrams, which have no use for it
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
	bool lso;
	u32 posted;
	u32 ended;
	u32 reaped;
	u32 unread_sends;
	u32 unread_recvs;
	struct madsim_user *user;
	u32 mistakes;
	bool lost;
	struct ib_qp *alias;
	struct madsim_rwqe *recv_wqe;
	u64 recv_length;
	struct list_head dgrams;
	struct delayed_work dgram_work;
	struct delayed_work flush;
	unsigned long failed;
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
	struct madsim_user *user;
};

struct madsim_ucontext {
	struct ib_ucontext ibucontext;
	struct madsim_user *user;
};

static inline struct madsim_qp *to_madsim_qp(struct ib_qp *ibqp)
{
	return container_of(ibqp, struct madsim_qp, ibqp);
}

static inline struct madsim_ah *to_madsim_ah(struct ib_ah *ibah)
{
	return container_of(ibah, struct madsim_ah, ibah);
}

static inline struct madsim_fabric *madsim_fabric_of(const struct ib_device *ibdev)
{
	return container_of(ibdev, struct madsim_dev, ibdev)->node->fabric;
}

/* Other numbers than the device has given away have no place in @qps */
static inline struct madsim_qp *madsim_qp_find(struct madsim_dev *dev, u32 qpn)
{
	return xa_load(&dev->qps, qpn - dev->first_qpn);
}

/* Called for each packet, in fabrics that are not strict, too */
static inline bool madsim_is_strict(const struct madsim_qp *qp)
{
	return READ_ONCE(madsim_fabric_of(qp->ibqp.device)->strict);
}

/* Whether a queue pair is a client's, and not QP0 or QP1 */
static inline bool madsim_is_client(const struct madsim_qp *qp)
{
	return qp->recv_wqe;
}

/* Whether a strict fabric delays the sends and completions of a queue pair, but for MADs */
static inline bool madsim_is_delayed(const struct madsim_qp *qp)
{
	return madsim_is_client(qp) && madsim_is_strict(qp);
}

/*
 * What a completion says of its queue pair. The core reads the number behind it after it
 * has polled. A user may destroy the queue pair in another thread before that, so a
 * program's has an alias, which has the same number and lives as long as the device.
 */
static inline struct ib_qp *madsim_wc_qp(struct madsim_qp *qp)
{
	return qp->alias ?: &qp->ibqp;
}

static inline bool madsim_is_uc(const struct madsim_qp *qp)
{
	return qp->ibqp.qp_type == IB_QPT_UC;
}

static inline u32 madsim_ring_at(u32 head, u32 offset, u32 size)
{
	u32 at = head + offset;

	return at < size ? at : at - size;
}

/* What an object without a queue costs, with what the core has for it */
#define MADSIM_OBJECT_BYTES	512

/* Whether a program has said where it wants to be told of a ring */
static inline bool madsim_ring_wanted(const struct ib_udata *udata)
{
	return udata && udata->outlen >= sizeof(u64);
}

/* The user whose call this is, or NULL if it is the kernel's */
static inline struct madsim_user *madsim_user_of(struct ib_udata *udata)
{
	return udata ? rdma_udata_to_drv_context(udata, struct madsim_ucontext,
						 ibucontext)->user : NULL;
}

/* Bytes of a send in the queue. Inline data takes the room of pieces */
static inline u32 madsim_swqe_size(const struct madsim_qp *qp)
{
	return struct_size_t(struct madsim_swqe, sge,
			     max_t(u32, qp->max_send_sge,
				   DIV_ROUND_UP(qp->max_inline, sizeof(struct ib_sge))));
}

static inline struct madsim_swqe *madsim_swqe_at(const struct madsim_rc *rc, u32 at)
{
	return rc->sq.ring + at * rc->sq.wqe_size;
}

/* The send that is under way, or the next one */
static inline struct madsim_swqe *madsim_rc_head(const struct madsim_rc *rc)
{
	return rc->sq.count ? madsim_swqe_at(rc, rc->sq.head) : NULL;
}

/* A program may send for long. The kernel's clients do not wait for its sends */
static inline struct workqueue_struct *
madsim_send_wq(const struct madsim_qp *qp)
{
	return qp->alias ? madsim_user_wq : madsim_wq;
}

/* Has failed, and gives what was posted back later */
static inline bool madsim_is_failing(const struct madsim_qp *qp)
{
	return qp->rc && qp->rc->failing;
}

/* The domain of the buffers that a queue pair receives into */
static inline struct ib_pd *madsim_recv_pd(const struct madsim_qp *qp)
{
	return qp->ibqp.srq ? qp->ibqp.srq->pd : qp->ibqp.pd;
}

/* event.c: asynchronous events */
void madsim_events_init(struct madsim_events *events, struct ib_device *ibdev,
			void (*handler)(struct ib_event *event, void *context), void *context);
void madsim_events_end(struct madsim_events *events);
void madsim_event(struct madsim_events *events, enum ib_event_type type);

/* ring.c: rings that programs map */
extern const struct ib_device_ops madsim_ring_ops;
struct madsim_ring *madsim_ring_create(struct ib_udata *udata, size_t size);
void madsim_ring_destroy(struct madsim_ring *ring);

/* cq.c: completion queues */
extern const struct ib_device_ops madsim_cq_ops;
void madsim_cq_put(struct madsim_qp *qp, const struct ib_wc *wc, bool solicited);
void madsim_give_back(struct madsim_qp *qp, u64 wr_id, enum ib_wc_opcode opcode);
void madsim_cq_reap(struct madsim_qp *qp);
void madsim_cq_look_all(struct ib_cq *ibcq);
void madsim_cq_purge(struct ib_cq *ibcq, const struct madsim_qp *qp);
void madsim_cq_drain(struct ib_cq *ibcq);
bool madsim_cq_feed(struct ib_cq *ibcq, int places);

/* sq.c: send queues */
bool madsim_sq_is_full(const struct madsim_qp *qp);
int madsim_sq_check(struct madsim_qp *qp, const struct madsim_send *send);
void madsim_swqe_set(const struct madsim_qp *qp, struct madsim_swqe *wqe,
		     const struct madsim_send *send);
void madsim_rc_complete(struct madsim_qp *qp, enum ib_wc_status status);
bool madsim_rc_flush_sends(struct madsim_qp *qp);
void madsim_drop_send(struct madsim_qp *qp, u64 wr_id);
void madsim_rc_queue(struct madsim_qp *qp, const struct madsim_send *send);

/* rq.c: receive queues */
bool madsim_qp_admits(const struct madsim_qp *qp, u32 qkey, const struct madsim_packet *pkt);
extern const struct ib_device_ops madsim_srq_ops;
int madsim_rq_init(struct madsim_rq *rq, struct madsim_user *user, u32 size, u32 max_sge,
		   struct ib_udata *udata);
void madsim_rq_free(struct madsim_rq *rq);
void madsim_rq_reset(struct madsim_rq *rq);
int madsim_rq_post(struct madsim_rq *rq, const struct ib_recv_wr *wr);
struct madsim_rwqe *madsim_rq_next(struct madsim_rq *rq);
bool madsim_get_recv_wqe(struct madsim_qp *qp);

/* strict.c: mistakes of users of verbs */
extern const char * const madsim_mistake_names[MADSIM_MISTAKES];
void madsim_mistake(struct madsim_qp *qp, u64 wr_id, enum madsim_mistake mistake);
void madsim_strict_posted(const struct madsim_qp *qp, struct madsim_swqe *wqe);
void madsim_strict_ended(struct madsim_qp *qp, const struct madsim_swqe *wqe);
void madsim_strict_fill(const struct madsim_qp *qp);
bool madsim_strict_delay_write(struct madsim_qp *qp, const struct madsim_packet *pkt);
void madsim_strict_finish_write(struct madsim_qp *qp);
unsigned long madsim_strict_send_delay(const struct madsim_qp *qp, bool posted);
unsigned long madsim_strict_cq_delay(const struct madsim_qp *qp, u32 number);
void madsim_strict_schedule(struct madsim_qp *qp, bool posted);
int madsim_strict_post(struct madsim_qp *qp, const struct madsim_send *send);
struct madsim_dgram *madsim_strict_next(struct madsim_qp *qp);

/* user.c: what there is for each user */
struct madsim_user *madsim_user_get(struct madsim_dev *dev);
void madsim_user_put(struct madsim_user *user);
bool madsim_user_reserve(struct madsim_dev *dev, struct madsim_user *user, enum madsim_share share);
void madsim_user_release(struct madsim_dev *dev, struct madsim_user *user, enum madsim_share share);
int madsim_place_alloc(struct madsim_dev *dev, struct madsim_user *user, enum madsim_share share,
		       struct xarray *places, u32 max, u32 *next, u32 *place);
bool madsim_user_charge(struct madsim_user *user, u64 bytes);
void madsim_user_uncharge(struct madsim_user *user, u64 bytes);

/* mr.c: memory of clients */
extern const struct ib_device_ops madsim_mr_ops;
enum ib_wc_status madsim_copy_from(struct ib_pd *pd, const struct ib_sge *sge,
				   u64 at, void *to, u32 len);
enum ib_wc_status madsim_copy_to(struct ib_pd *pd, const struct ib_sge *sge,
				 u64 at, const void *from, u32 len);
void *madsim_kernel_memory(const struct ib_pd *pd, const struct ib_sge *sge);
bool madsim_mr_allows(struct ib_pd *pd, u32 rkey, u64 addr, u32 len, int access);
bool madsim_mr_read(struct ib_pd *pd, u32 rkey, u64 addr, void *to, u32 len, int access);
bool madsim_mr_write(struct ib_pd *pd, u32 rkey, u64 addr, const void *from, u32 len, int access);
bool madsim_mr_enable(struct ib_pd *pd, struct ib_mr *ibmr, u32 key, int access);
int madsim_mr_invalidate(struct ib_pd *pd, u32 key);
bool madsim_span_allows(const struct madsim_span *span, u32 len);
void madsim_span_hold(const struct madsim_span *span, u32 len, int copies);
void madsim_span_copy(struct madsim_span *to, struct madsim_span *from, u32 len);
u64 madsim_sge_length(const struct ib_sge *sge, u32 num_sge);

/* state.c: states of queue pairs */
void madsim_flush_recv(struct madsim_qp *qp);
void madsim_flush_work(struct work_struct *work);
void madsim_qp_drop(struct madsim_qp *qp, bool told);
void madsim_qp_fail(struct madsim_qp *qp, enum ib_qp_state state);
void madsim_qp_idle(struct madsim_qp *qp);
void madsim_qp_copied(struct madsim_qp *qp);
void madsim_qp_lost(struct madsim_qp *qp);
void madsim_rc_reset(struct madsim_qp *qp);
bool madsim_rc_draining(const struct madsim_qp *qp);
void madsim_rc_drained(struct madsim_qp *qp);

/* address.c: headers that say where to */
void madsim_packet_path(const struct madsim_port *port,
			const struct rdma_ah_attr *attr, u16 pkey_index,
			struct madsim_packet *pkt);
void madsim_packet_address(struct madsim_qp *qp,
			   const struct ib_send_wr *wr, u16 pkey_index,
			   struct madsim_packet *pkt);

/* special.c: QP0 and QP1 */
int madsim_mad_build(struct madsim_qp *qp, const struct madsim_send *send,
		     struct madsim_packet *pkt);
void madsim_mad_receive(struct madsim_port *port, const struct madsim_packet *pkt);
void madsim_mad_drain(struct madsim_port *port, const struct ib_device *ibdev);

/* burst.c: many packets of a message at once */
u32 madsim_burst(struct madsim_qp *qp, struct madsim_qp *peer, struct madsim_packet *pkt);
void madsim_burst_copy(const struct madsim_qp *qp);
void madsim_burst_end(struct madsim_qp *qp);

/* ud.c: datagrams of clients */
extern const struct ib_device_ops madsim_ud_ops;
void madsim_ud_receive(struct madsim_port *port, struct madsim_packet *pkt);
enum ib_wc_status madsim_ud_build(struct madsim_qp *qp, const struct madsim_send *send, u32 at,
				  struct madsim_packet *pkt);
u32 madsim_ud_burst(const struct madsim_qp *qp, const struct madsim_send *send, u32 at,
		    struct madsim_qp *receiver, struct madsim_packet *pkt);

/* offload.c: what IPoIB leaves to an adapter */
bool madsim_offload_checksum(void *data, u32 len);
bool madsim_offload_fits(const struct madsim_send *send);
void madsim_offload_header(const struct madsim_send *send, u32 at, void *data, u32 len);

/* rc.c: connected queue pairs */
bool madsim_rc_receive(struct madsim_port *port, struct madsim_packet *pkt);
int madsim_rc_add(struct madsim_qp *qp);
void madsim_rc_del(struct madsim_qp *qp);
int madsim_rc_check(const struct madsim_qp *qp, const struct ib_qp_attr *attr,
		    int mask, enum ib_qp_state next);
void madsim_rc_set(struct madsim_qp *qp, const struct ib_qp_attr *attr, int mask);
void madsim_rc_get(const struct madsim_qp *qp, struct ib_qp_attr *attr);

/* requester.c: what connected queue pairs send */
bool madsim_rc_prepare(struct madsim_qp *qp, struct madsim_packet *pkt, bool *more);
bool madsim_rc_sent(struct madsim_qp *qp);
void madsim_rc_expired(struct madsim_qp *qp);
void madsim_rc_refresh(struct madsim_rc *rc);
void madsim_rc_response(struct madsim_qp *qp, const struct madsim_packet *pkt);

/* responder.c: what connected queue pairs receive */
bool madsim_rc_request(struct madsim_qp *qp, struct madsim_packet *pkt);

#endif /* MADSIM_TRANSPORT_H */
