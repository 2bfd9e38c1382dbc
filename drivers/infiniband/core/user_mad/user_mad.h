/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Shared by the files of ib_umad. First the objects: port, file, agent and packets, in the
 * order in which one holds the next. Then the functions, by file: no file calls one that
 * stands above its own.
 *
 * The mutex umad_port.lock and the spinlocks umad_file.queue_lock,
 * umad_file.transaction_lock and umad_cap_lock are held one at a time. None of these is ever
 * held across an access to user memory or the resolution of an address.
 *
 * The MAD layer calls the handlers
 *  - in the worker that completes the work of a port's QPs. There is one for each
 *    port, and the kernel's own MAD clients need it as well;
 *  - in the timeout queue of a port;
 *  - in the task that unregisters an agent.
 * So handlers of one file may run at the same time. They take spinlocks only.
 */
#ifndef UMAD_USER_MAD_H
#define UMAD_USER_MAD_H

#include <linux/atomic.h>
#include <linux/build_bug.h>
#include <linux/cdev.h>
#include <linux/device.h>
#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/limits.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/nsproxy.h>
#include <linux/percpu.h>
#include <linux/rbtree.h>
#include <linux/refcount.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/uaccess.h>
#include <linux/uio.h>
#include <linux/wait.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_user_mad.h>
#include <rdma/ib_verbs.h>

struct mem_cgroup;
struct umad_ah;

/* Part of the ABI: ids are 0 to 31. */
#define UMAD_MAX_AGENTS		32
static_assert(UMAD_MAX_AGENTS <= BITS_PER_LONG);

/*
 * For a writer, which reclaims memory of its own cgroup, but not for long, and the OOM
 * killer stays away. It may delay the removal of its agent, and of the device, as long.
 */
#define UMAD_GFP_WRITER		(GFP_KERNEL | __GFP_NORETRY | __GFP_NOWARN)

/* An InfiniBand MAD; only OPA MADs and RMPP messages are longer */
#define UMAD_MAD_SIZE		sizeof(struct ib_mad)

/* Other tasks may run when this many segments of an RMPP message were copied */
#define UMAD_YIELD_SEGS		1024

/* Most packets are a MAD with its header, or the record of a timeout */
#define UMAD_PACKET_LEN		(sizeof(struct ib_user_mad_hdr) + UMAD_MAD_SIZE)
#define UMAD_TIMEOUT_LEN	(sizeof(struct ib_user_mad_hdr) + IB_MGMT_MAD_HDR)

/* The user header. The old layout ends where the current one has the P_Key index */
static_assert(sizeof(struct ib_user_mad_hdr_old) == 56);
static_assert(sizeof(struct ib_user_mad_hdr) == 64);
static_assert(offsetof(struct ib_user_mad_hdr, pkey_index) == sizeof(struct ib_user_mad_hdr_old));
static_assert(offsetof(struct ib_user_mad_hdr, flow_label) ==
	      offsetof(struct ib_user_mad_hdr_old, flow_label));

/* Returns 0 for the old layout, which has none */
static inline u16 umad_hdr_pkey_index(const struct ib_user_mad_hdr *hdr, u8 hdr_len)
{
	return hdr_len < sizeof(*hdr) ? 0 : hdr->pkey_index;
}

/*
 * Port: born when a device is added, dies with the last reference to @dev. An open
 * descriptor holds one through its cdev, so a port may outlive its ib_device.
 */

/* The files in statistics/ have these names. user_mad.rst tells their meaning */
enum umad_stat {
	UMAD_STAT_SENT,
	UMAD_STAT_RECEIVED,
	UMAD_STAT_RMPP_SENT,
	UMAD_STAT_RMPP_RECEIVED,
	UMAD_STAT_TIMEOUTS,
	UMAD_STAT_SEND_ERRORS,
	UMAD_STAT_REFUSED_DUPLICATE,
	UMAD_STAT_REFUSED_LIMIT,
	UMAD_STAT_REFUSED_MEMORY,
	UMAD_STAT_DROPPED_LIMIT,
	UMAD_STAT_DROPPED_MEMORY,
	UMAD_STAT_DROPPED_RMPP,
	UMAD_STAT_DROPPED_ADDRESS,
	UMAD_STATS,
};

struct umad_stats {
	unsigned long	count[UMAD_STATS];
};

/**
 * struct umad_port - a port that speaks MADs, with its two character devices
 * @dev: device of umadN; its last reference frees the port
 * @cdev: umadN
 * @issm_dev: device of issmN, with a reference to @dev; initialised if @has_smi
 * @issm_cdev: issmN
 * @num: the N of both names; immutable
 * @port_num: number of the port on its device; immutable
 * @dev_index: index of the ib_device, for traces; immutable
 * @has_smi: whether the port has a QP0, and so an issmN; immutable
 * @is_roce: whether an address has to be resolved for each send; immutable
 * @stats: counters of each CPU
 * @lock: protects @ib_dev, @issm_set and @files; serialises registration of agents
 * @ib_dev: the device, NULL once it is gone. A removal takes @lock after that and before the
 *	device goes. So it may be used with @lock held, and be read without to see whether it
 *	is NULL
 * @issm_set: the holder of issmN has set the IsSM capability bit
 * @issm_busy: bit 0 is set while issmN is open
 * @issm_wait: openers in line for issmN
 * @files: open descriptors, by umad_file.port_list
 * @agents: agents known to the MAD layer on any of @files; a disassociation
 *	waits until there are none
 * @event_handler: counts events of @ib_dev
 * @events: number of events of @ib_dev; address handles from before the last are stale
 */
struct umad_port {
	struct device		dev;
	struct cdev		cdev;
	struct device		issm_dev;
	struct cdev		issm_cdev;
	int			num;
	u32			port_num;
	u32			dev_index;
	bool			has_smi;
	bool			is_roce;
	struct umad_stats __percpu *stats;

	struct mutex		lock;	/* @ib_dev, @issm_set, @files */
	struct ib_device	*ib_dev;
	struct list_head	files;

	bool			issm_set;
	unsigned long		issm_busy;
	wait_queue_head_t	issm_wait;

	atomic_t		agents;

	struct ib_event_handler	event_handler;
	atomic_t		events;
};

/* In any context, also one that may migrate */
static inline void umad_count(const struct umad_port *port, enum umad_stat stat)
{
	this_cpu_inc(port->stats->count[stat]);
}

/*
 * File: born at open, dies at release, when no callback of the MAD layer can reach it any
 * more.
 */

/**
 * struct umad_reg - a registration request of either layout
 * @req: the requests that the agent receives; none if mgmt_class is 0
 * @rmpp_version: 0, or the RMPP version
 * @flags: IB_USER_MAD_USER_RMPP or 0
 * @qp_type: IB_QPT_SMI or IB_QPT_GSI
 */
struct umad_reg {
	struct ib_mad_reg_req	req;
	u8			rmpp_version;
	u8			flags;
	u8			qp_type;
};

/*
 * Agent: a part of its file, born by ioctl, dies by ioctl or with its file or device. The MAD
 * layer passes it to the handlers, which need not search for file and id.
 */

/*
 * An agent takes this of the cap: some 1,100 bytes of the MAD layer that no cgroup is charged
 * for, and the address handle. The first one is less than the descriptor, which is charged.
 */
#define UMAD_AGENT_COST	(SZ_1K + SZ_256)

/* In umad_agent.users while writers find no agent: before it is registered, and from its end on */
#define UMAD_AGENT_CLOSED	INT_MIN

/**
 * struct umad_agent - a registration with the MAD layer
 * @file: the descriptor that it belongs to; immutable
 * @mad_agent: the MAD layer's part; valid with a reference from umad_agent_get(), and for
 *	the task that destroys the agent
 * @ah: address handle of the last send, taken and given by xchg(), or NULL
 * @reg: as it was registered; immutable
 * @users: writers on their way to the MAD layer, and UMAD_AGENT_CLOSED. The task that added
 *	the latter destroys the agent, and waits until there are no writers
 * @id: the id user space knows it by; immutable
 */
struct umad_agent {
	struct umad_file	*file;
	struct ib_mad_agent	*mad_agent;
	struct umad_ah		*ah;
	struct umad_reg		reg;
	atomic_t		users;
	u8			id;
};

/* As ib_mad_kernel_rmpp_agent() says */
static inline bool umad_kernel_rmpp(const struct umad_agent *agent)
{
	return agent->reg.rmpp_version && !agent->reg.flags;
}

/**
 * struct umad_file - an open descriptor of umadN
 * @port: the port it was opened on; immutable
 * @port_list: entry in umad_port.files, unless a removal has destroyed its agents
 * @memcg: the cgroup of the process that opened the file, or NULL; charged for its packets;
 *	immutable
 * @cap_bytes: what it holds of the cap; under umad_cap_lock
 * @owner_cap_bytes: what its owner holds in the same way, see cap.c; immutable
 * @used: an agent was registered, so the header layout is settled; under umad_port.lock
 * @hdr_len: length of the user header, the old 56 or the current 64 bytes.
 *	Written with umad_port.lock held and @used false, read without a lock
 * @ids: a bit for each id that is taken, from before its agent exists until it is
 *	gone for good. Set and cleared without a lock
 * @detached: ids of agents that a close or a removal has to destroy; under umad_port.lock
 * @agents: agents by id
 * @sends: sends that the MAD layer has not completed yet, and writers that are about to
 *	post one
 * @long_sends: what the MAD layer's buffers of @sends take beyond a MAD each, in bytes
 * @transaction_lock: protects @transactions
 * @transactions: sends whose duplicates are refused, by umad_transaction_cmp()
 * @spare_send: a free struct umad_send, or NULL; taken and given by xchg()
 * @spare_recv: a free struct umad_recv of the cache, or NULL; taken and given by xchg()
 * @queue_lock: protects @queue, @queue_end, @unread, @timeouts and @dropped
 * @queue: packets in the order read() hands them out, by umad_queued.next.
 *	Written with @queue_lock held, read without a lock to see whether it is
 *	NULL
 * @queue_end: where the next packet is put: umad_queued.next of the last, or
 *	@queue
 * @unread: length of the queue. Written with @queue_lock held, read without by handlers
 * @timeouts: how many packets of the queue are timeout records. Written with @queue_lock held, read
 *	without by writers
 * @dropped: received MADs that were dropped, for any reason
 * @readers: readers that sleep, exclusively: a packet wakes one of them
 * @pollers: pollers. Apart, as a packet would wake an exclusive poller in the place of a
 *	reader
 */
struct umad_file {
	struct umad_port	*port;
	struct list_head	port_list;
	struct mem_cgroup	*memcg;
	u64			cap_bytes;
	u64			*owner_cap_bytes;

	bool			used;
	u8			hdr_len;
	unsigned long		ids;
	unsigned long		detached;
	struct umad_agent	agents[UMAD_MAX_AGENTS];

	atomic_t		sends;
	atomic_long_t		long_sends;
	spinlock_t		transaction_lock;	/* @transactions */
	struct rb_root		transactions;

	void			*spare_send;
	void			*spare_recv;

	spinlock_t		queue_lock;	/* the queue */
	struct umad_queued	*queue;
	struct umad_queued	**queue_end;
	unsigned int		unread;
	unsigned int		timeouts;
	u64			dropped;
	wait_queue_head_t	readers;
	wait_queue_head_t	pollers;
};

/**
 * struct umad_queued - a packet for read(), the beginning of a struct umad_send or umad_recv
 * @next: the packet behind it in umad_file.queue
 * @length: length of header and MAD together
 * @first_len: the room that a reader must have at least: @length, or of an RMPP message the
 *	header and the first segment
 * @hdr_len: length of the header alone
 * @is_send: it is the record of a struct umad_send, or else a struct umad_recv
 * @is_segmented: received, and of several segments, see struct umad_rmpp
 * @cap_charged: the cap is charged for it
 */
struct umad_queued {
	struct umad_queued	*next;
	u32			length;
	u16			first_len;
	u8			hdr_len;
	bool			is_send		: 1;
	bool			is_segmented	: 1;
	bool			cap_charged	: 1;
};

/**
 * struct umad_send - a send, which becomes its own timeout record by being queued, so that
 *	no lack of memory can lose one
 * @queued: once it is a record; umad_queued.hdr_len from the beginning
 * @node: entry in umad_file.transactions, if @tracked
 * @tracked: it is in umad_file.transactions
 * @response: ib_response_mad() of the MAD
 * @no_record: no record is due when it completes: no response is expected, or the
 *	response has been queued, or was given to the server of the request
 * @long_size: its part of umad_file.long_sends
 * @data: the user header as it was written, and the MAD header as it was posted
 */
struct umad_send {
	struct umad_queued	queued;
	struct rb_node		node;
	bool			tracked;
	bool			response;
	bool			no_record;
	u32			long_size;
	u8			data[] __aligned(8);
};

/**
 * struct umad_recv - a received MAD or RMPP message
 * @queued: in the queue from the beginning
 * @data: the user header, and behind it the MAD, or a struct umad_rmpp
 */
struct umad_recv {
	struct umad_queued	queued;
	u8			data[] __aligned(8);
};

/**
 * struct umad_rmpp - a received message of several segments
 * @segs: the MAD layer's buffers that it came in
 * @cap_bytes: its share of the cap
 * @seg_size: length of a segment
 * @skip: how much of a segment is headers, which only the first one keeps
 */
struct umad_rmpp {
	struct list_head	segs;
	size_t			cap_bytes;
	u16			seg_size;
	u16			skip;
};

static inline struct umad_send *umad_queued_send(struct umad_queued *queued)
{
	return container_of(queued, struct umad_send, queued);
}

static inline struct umad_recv *umad_queued_recv(struct umad_queued *queued)
{
	return container_of(queued, struct umad_recv, queued);
}

static inline struct ib_user_mad_hdr *umad_send_hdr(struct umad_send *send)
{
	return (void *)send->data;
}

static inline struct ib_mad_hdr *umad_send_mad(struct umad_send *send)
{
	return (void *)(send->data + send->queued.hdr_len);
}

static inline struct umad_rmpp *umad_recv_rmpp(struct umad_recv *recv)
{
	return (void *)(recv->data + sizeof(struct ib_user_mad_hdr));
}

static inline struct ib_user_mad_hdr *umad_queued_hdr(struct umad_queued *queued)
{
	return (void *)(queued->is_send ? umad_queued_send(queued)->data :
					  umad_queued_recv(queued)->data);
}

/* For long copies: lets other tasks run, too */
static inline bool umad_killed(void)
{
	cond_resched();
	return fatal_signal_pending(current);
}

/**
 * struct umad_user - where a reader wants a packet, or a writer has one
 * @buf: user memory, behind what was copied; not used with @iter
 * @iter: a registered buffer of io_uring, or NULL
 */
struct umad_user {
	void __user	*buf;
	struct iov_iter	*iter;
};

static __always_inline int __umad_copy_to(struct umad_user *to, const void *from, size_t len)
{
	if (to->iter)
		return copy_to_iter(from, len, to->iter) == len ? 0 : -EFAULT;
	if (copy_to_user(to->buf, from, len))
		return -EFAULT;
	to->buf += len;
	return 0;
}

/*
 * Most packets and segments have one of these lengths. For a length that the compiler does not
 * know, the kernel looks up the slab object, which takes as long as the rest of a read().
 */
static inline int umad_copy_to(struct umad_user *to, const void *from, size_t len)
{
	switch (len) {
	case UMAD_PACKET_LEN:
		return __umad_copy_to(to, from, UMAD_PACKET_LEN);
	case UMAD_TIMEOUT_LEN:
		return __umad_copy_to(to, from, UMAD_TIMEOUT_LEN);
	case IB_MGMT_SA_DATA:
		return __umad_copy_to(to, from, IB_MGMT_SA_DATA);
	case IB_MGMT_VENDOR_DATA:
		return __umad_copy_to(to, from, IB_MGMT_VENDOR_DATA);
	default:
		return __umad_copy_to(to, from, len);
	}
}

/* Message: a MAD or an RMPP message on the stack of its writer */

/* The headers that decide how a MAD is handed to the MAD layer */
struct umad_rmpp_mad {
	struct ib_mad_hdr	mad_hdr;
	struct ib_rmpp_hdr	rmpp_hdr;
} __packed;

static_assert(sizeof(struct umad_rmpp_mad) == IB_MGMT_RMPP_HDR);

static inline bool umad_rmpp_active(const struct umad_rmpp_mad *mad)
{
	/* ib_get_rmpp_flags() only reads, though it does not say so */
	return ib_get_rmpp_flags((struct ib_rmpp_hdr *)&mad->rmpp_hdr) &
	       IB_MGMT_RMPP_FLAG_ACTIVE;
}

/**
 * struct umad_message - a message being written
 * @from: the writer's memory
 * @pages: the pages of @from that are pinned, or NULL
 * @pinned: number of @pages
 * @offset: where in the first of @pages the MAD goes on behind @head
 * @len: length of the MAD
 * @head_len: how much of its beginning is in @head
 * @is_ready: nothing has to be waited for that is in user memory
 * @nowait: the writer must not wait
 * @hdr_len: length of the user header
 * @head: user header and beginning of the MAD
 */
struct umad_message {
	struct umad_user *from;
	struct page	**pages;
	size_t		pinned;
	size_t		offset;
	size_t		len;
	size_t		head_len;
	bool		is_ready;
	bool		nowait;
	u8		hdr_len;
	u8		head[UMAD_PACKET_LEN] __aligned(8);
};

static inline const struct ib_user_mad_hdr *umad_message_hdr(const struct umad_message *m)
{
	return (const void *)m->head;
}

static inline const struct umad_rmpp_mad *umad_message_mad(const struct umad_message *m)
{
	return (const void *)m->head + m->hdr_len;
}

/**
 * struct umad_plan - how a written MAD is handed to the MAD layer
 * @hdr_len: length of the headers in front of the data, by management class
 * @data_len: length of the data
 * @long_size: what the MAD layer's buffers take beyond those of a MAD, in bytes
 * @rmpp: the kernel cuts the data into segments
 * @own_rmpp_hdr: the agent leaves RMPP to the kernel, for this class. The MAD layer makes
 *	the RMPP header then, and does not send that of the writer. Otherwise it is data
 * @user_rmpp: a packet of an RMPP implementation in user space. All packets of a
 *	message share one transaction ID, so they have no duplicates
 */
struct umad_plan {
	int	hdr_len;
	int	data_len;
	u32	long_size;
	bool	rmpp;
	bool	own_rmpp_hdr;
	bool	user_rmpp;
};

/*
 * Has @move read or write one packet by each element, until one fails. Returns the length of
 * all packets, or an error if there is none. @nonblock is for the first element, and @then for
 * the others. Inline, so that @move is called directly. io_submit() gets -EINVAL, as always.
 */
static __always_inline ssize_t
umad_each_element(struct kiocb *iocb, struct iov_iter *iter,
		  ssize_t (*move)(struct umad_file *, struct umad_user *, size_t, bool),
		  bool nonblock, bool then)
{
	bool is_user = user_backed_iter(iter);
	size_t len, behind;
	ssize_t done = 0;
	ssize_t ret;

	if (iocb->ki_flags & IOCB_AIO_RW)
		return -EINVAL;
	for (;;) {
		struct umad_user user = { .iter = is_user ? NULL : iter };

		len = iov_iter_count(iter);
		if (is_user) {
			user.buf = iter_iov_addr(iter);
			len = iov_iter_single_seg_count(iter);
		}
		behind = iov_iter_count(iter) - len;
		ret = move(iocb->ki_filp->private_data, &user, len, nonblock);
		if (ret < 0)
			return done ?: ret;
		done += ret;
		/* By 0 bytes, too: that skips elements without any */
		iov_iter_advance(iter, iov_iter_count(iter) - behind);
		if (!behind)
			return done;
		nonblock = then;
	}
}

/* port.c */
struct umad_port *umad_port_add(struct ib_device *ib_dev, u32 port_num);
void umad_port_remove(struct umad_port *port);
int umad_ports_init(void);
void umad_ports_exit(void);

static inline bool umad_port_gone(const struct umad_port *port)
{
	return !READ_ONCE(port->ib_dev);
}

/* Returns 0 if the current process may use the device, -ENXIO without one, or -EPERM */
static inline int umad_port_access(const struct umad_port *port)
{
	lockdep_assert_held(&port->lock);

	if (!port->ib_dev)
		return -ENXIO;
	return rdma_dev_access_netns(port->ib_dev, current->nsproxy->net_ns) ? 0 : -EPERM;
}

/* file.c */
extern const struct file_operations umad_fops;
int umad_files_init(void);
void umad_files_exit(void);
void umad_files_disassociate(struct umad_port *port);

/* issm.c */
extern const struct file_operations umad_issm_fops;
void umad_issm_disassociate(struct umad_port *port, struct ib_device *ib_dev);

/* ioctl.c */
long umad_ioctl(struct file *filp, unsigned int cmd, unsigned long arg);

/* send.c */
ssize_t umad_write(struct file *filp, const char __user *buf, size_t count, loff_t *pos);
ssize_t umad_write_iter(struct kiocb *iocb, struct iov_iter *from);
void umad_send_handler(struct ib_mad_agent *mad_agent, struct ib_mad_send_wc *send_wc);
int umad_plan_send(const void *mad, size_t len, bool kernel_rmpp,
		   size_t mad_size, struct umad_plan *plan);

/* recv.c */
ssize_t umad_read(struct file *filp, char __user *buf, size_t count, loff_t *pos);
ssize_t umad_read_iter(struct kiocb *iocb, struct iov_iter *to);
void umad_recv_handler(struct ib_mad_agent *mad_agent, struct ib_mad_send_buf *send_buf,
		       struct ib_mad_recv_wc *recv_wc);
bool umad_recv_len_valid(int mad_len, u8 hdr_len);

/* agent.c */
void umad_agents_init(struct umad_file *file);

/* Whether the ids of all agents are free, and none is being registered */
static inline bool umad_agents_gone(const struct umad_file *file)
{
	/* Pairs with clear_bit_unlock() in umad_agent_release() */
	return !smp_load_acquire(&file->ids);
}

void umad_agent_release(struct umad_agent *agent);
int umad_agent_unregister(struct umad_file *file, u32 id);
void umad_agents_detach(struct umad_file *file);
struct umad_agent *umad_agent_detached(struct umad_file *file);
void umad_agent_destroy(struct umad_agent *agent);
struct umad_agent *umad_agent_get(struct umad_file *file, u32 id);
void umad_agent_put(struct umad_agent *agent);

/* message.c */
int umad_message_init(struct umad_message *m, struct umad_user *from, size_t len,
		      u8 hdr_len, bool nowait);
int umad_message_pin(struct umad_message *m, const struct umad_port *port);
void umad_message_exit(struct umad_message *m);
int umad_message_fill(struct umad_message *m, const struct umad_plan *plan,
		      struct ib_mad_send_buf *msg, const struct umad_port *port);

/* transaction.c */
int umad_transaction_begin(struct umad_file *file, struct umad_send *send);
void umad_transaction_end(struct umad_file *file, struct umad_send *send);
struct umad_send *umad_transaction_response(struct ib_mad_agent *mad_agent,
					    struct ib_mad_send_buf *send_buf,
					    const struct ib_mad_hdr *mad);
int umad_transaction_cmp(struct rb_node *node, const struct rb_node *other);

/* queue.c */
void umad_queue_init(struct umad_file *file);
void umad_queue_exit(struct umad_file *file);
void umad_queue_add(struct umad_file *file, struct umad_queued *queued);
struct umad_queued *umad_queue_take(struct umad_file *file, size_t count);
void umad_queue_restore(struct umad_file *file, struct umad_queued *queued);
int umad_queue_wait(struct umad_file *file);
void umad_queue_wake(struct umad_file *file);
int umad_queue_next_len(struct umad_file *file);

/* rmpp.c */
struct umad_recv *umad_rmpp_keep(struct umad_file *file, u8 hdr_len,
				 struct ib_mad_recv_wc *recv_wc, size_t max_mad_size);
void umad_rmpp_give_back(struct umad_file *file, struct umad_recv *recv,
			 struct ib_mad_recv_wc *recv_wc);
int umad_rmpp_read(struct umad_recv *recv, struct umad_user *to, size_t len);
const struct ib_mad_hdr *umad_queued_mad(struct umad_queued *queued);
void umad_queued_free(struct umad_file *file, struct umad_queued *queued);

/* packet.c */
int umad_packet_init(void);
void umad_packet_exit(void);
void umad_packet_drain(struct umad_file *file);
struct umad_send *umad_send_alloc(struct umad_file *file, gfp_t gfp);
void umad_send_free(struct umad_file *file, struct umad_send *send);
struct umad_recv *umad_recv_alloc(struct umad_file *file, u8 hdr_len, size_t mad_len);
struct umad_recv *umad_recv_alloc_capped(struct umad_file *file, u8 hdr_len,
					 size_t mad_len, size_t cap_bytes);
void umad_recv_free(struct umad_file *file, struct umad_recv *recv);

/* ah.c */
int umad_ah_get(struct umad_agent *agent, const struct ib_user_mad_hdr *hdr,
		struct ib_mad_send_buf *msg);
void umad_ah_put(struct ib_mad_send_buf *msg);
void umad_ah_drop(struct umad_agent *agent);
void umad_ah_watch(struct umad_port *port);

/* grh.c */
int umad_grh_from_wc(const struct ib_mad_agent *mad_agent, const struct ib_mad_recv_wc *recv_wc,
		     struct ib_user_mad_hdr *hdr);

/* cap.c */
size_t umad_memory_share(void);
void umad_cap_init(struct umad_file *file);
bool umad_cap_charge(struct umad_file *file, size_t len);
void umad_cap_uncharge(struct umad_file *file, size_t len);

/* stats.c */
extern const struct attribute_group *umad_stats_groups[];

#endif /* UMAD_USER_MAD_H */
