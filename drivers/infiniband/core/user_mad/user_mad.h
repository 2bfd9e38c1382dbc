/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Everything the files of ib_umad share. First the objects: port, file, agent, packet
 * and account, in the order in which one holds the next. Then the functions, by file:
 * no file calls one that stands above its own. packet.h has what makes and frees
 * packets, rmpp.h what only received RMPP messages need.
 *
 * Lock order: umad_file.reg_lock -> umad_port.dev_lock -> umad_port.files_lock
 * -> umad_file.queue_lock. umad_account.lock and the list of accounts nest in none of
 * these. The rhashtable of a port locks itself and is innermost. None of these is ever
 * held across an access to user memory, the resolution of an address or the reclaim
 * of a cgroup's memory.
 *
 * The MAD layer calls the handlers
 *  - in the worker that completes the work of a port's QPs. There is one for each
 *    port, and the kernel's own MAD clients need it as well;
 *  - in the timeout queue of a port;
 *  - in whoever unregisters an agent.
 * So handlers of one file may run at the same time. They take spinlocks only.
 */
#ifndef UMAD_USER_MAD_H
#define UMAD_USER_MAD_H

#include <linux/atomic.h>
#include <linux/build_bug.h>
#include <linux/cdev.h>
#include <linux/completion.h>
#include <linux/device.h>
#include <linux/gfp.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/nsproxy.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/rhashtable.h>
#include <linux/rwsem.h>
#include <linux/sched.h>
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

/*
 * For memory that is charged while others wait for us: all who receive on the
 * port, or who removes a device that has an agent in use. So nothing is reclaimed
 * for a cgroup at its limit. What it refuses is counted, see struct umad_account.
 */
#define UMAD_GFP_CHARGED	(GFP_NOWAIT | __GFP_ACCOUNT | __GFP_NOWARN)

/* The same for what is counted. What was acknowledged may use the last reserves */
#define UMAD_GFP_COUNTED	(GFP_ATOMIC | __GFP_NOWARN)

/* For what a writer can wait for, but not for long, and nobody gets killed for */
#define UMAD_GFP_WRITER		(GFP_KERNEL | __GFP_NORETRY | __GFP_NOWARN)

/* An InfiniBand MAD; only OPA MADs and RMPP messages are longer. */
#define UMAD_MAD_SIZE		sizeof(struct ib_mad)

/* How many segments of an RMPP message are copied before others may run */
#define UMAD_YIELD_SEGS		1024

/* What most clients write and read at a time, and the record of a timeout */
#define UMAD_PACKET_LEN		(sizeof(struct ib_user_mad_hdr) + UMAD_MAD_SIZE)
#define UMAD_TIMEOUT_LEN	(sizeof(struct ib_user_mad_hdr) + IB_MGMT_MAD_HDR)

/*
 * A copy of one of two lengths that the compiler knows, as most are, or of any
 * other. A known one is 20 to 200 instructions cheaper, see "read", "read.timeout" and
 * "write" of tools/testing/bench.
 */
#define umad_copy(copy, to, from, len, usual, other)			\
({									\
	typeof(copy) *__fn = (copy);					\
	typeof(to) __to = (to);						\
	typeof(from) __from = (from);					\
	const size_t __usual = (usual), __other = (other);		\
	size_t __len = (len);						\
									\
	__len == __usual ? __fn(__to, __from, __usual) :		\
	__len == __other ? __fn(__to, __from, __other) :		\
			   __fn(__to, __from, __len);			\
})

/*
 * Header: stands before each MAD that is written or read. The old layout ends
 * where the current one has the P_Key index.
 */
static_assert(sizeof(struct ib_user_mad_hdr_old) == 56);
static_assert(sizeof(struct ib_user_mad_hdr) == 64);
static_assert(offsetof(struct ib_user_mad_hdr, pkey_index) ==
	      sizeof(struct ib_user_mad_hdr_old));
static_assert(offsetof(struct ib_user_mad_hdr, flow_label) ==
	      offsetof(struct ib_user_mad_hdr_old, flow_label));

/* 0 in the old layout, which has none */
static inline u16 umad_hdr_pkey_index(const struct ib_user_mad_hdr *hdr,
				      u8 hdr_len)
{
	return hdr_len < sizeof(*hdr) ? 0 : hdr->pkey_index;
}

/*
 * Memory of a caller: a pointer, as most programs have, or an iterator over what
 * the kernel has pinned, as of io_uring's registered buffers. What was copied is
 * behind us.
 */
struct umad_buf {
	char __user	*user;
	struct iov_iter	*iter;
};

static inline bool umad_buf_get(void *to, struct umad_buf *from, size_t len)
{
	if (from->iter)
		return copy_from_iter(to, len, from->iter) == len;
	from->user += len;
	return !copy_from_user(to, from->user - len, len);
}

/*
 * Port: born when a device is added, dies with the last reference to @dev.
 * An open descriptor holds such a reference through the cdev that it came by,
 * so a port outlives its ib_device while anybody can still ask for it.
 */

/*
 * What a port counts. The files in statistics/ have these names, and their meaning is
 * told in Documentation/infiniband/user_mad.rst.
 */
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
 * @dev_lock: held for read by those who use @ib_dev, for write to disassociate
 * @ib_dev: the device, NULL once it is gone. May be read without @dev_lock
 *	only to see whether it is NULL
 * @issm_set: the IsSM capability bit was set through us. The holder of issmN
 *	writes it with @dev_lock held for read, a disassociation with @dev_lock
 *	held for write
 * @issm_busy: bit 0 is set while issmN is open
 * @issm_wait: openers in line for issmN
 * @outstanding: sends whose duplicates are refused, see
 *	umad_transaction_duplicate()
 * @opens: how many descriptors there have been, for umad_file.num
 * @files_lock: who adds to @files and takes from it
 * @files: open descriptors, by umad_file.port_list; may be read under RCU
 * @agents: agents known to the MAD layer on any of @files; a disassociation
 *	waits until there are none
 * @event_handler: for what happens to @ib_dev
 * @events: how much has happened; address handles from before are stale
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

	struct rw_semaphore	dev_lock;	/* @ib_dev */
	struct ib_device	*ib_dev;

	bool			issm_set;
	unsigned long		issm_busy;
	wait_queue_head_t	issm_wait;

	struct rhashtable	outstanding;
	atomic_t		opens;

	struct mutex		files_lock;	/* @files */
	struct list_head	files;
	atomic_t		agents;

	struct ib_event_handler	event_handler;
	atomic_t		events;
};

/* In any context */
static inline void umad_count(const struct umad_port *port, enum umad_stat stat)
{
	this_cpu_inc(port->stats->count[stat]);
}

/*
 * File: born at open. It outlives its release only while a disassociation has
 * agents of it in its hands, and dies when no callback of the MAD layer can
 * reach it any more.
 */

/**
 * struct umad_file - an open descriptor of umadN
 * @port: the port it was opened on; immutable
 * @refs: one for the descriptor, one for each agent that the MAD layer knows
 * @port_list: entry in umad_port.files
 * @rcu: the list of files is read under RCU
 * @num: what tells it from other descriptors of the port; immutable
 * @account: of who opened the file and pays for what it holds; immutable
 * @reg_lock: serialises registration; protects @used
 * @used: an agent was registered, so the header layout is settled
 * @hdr_len: length of the user header, the old 56 or the current 64 bytes.
 *	Written with @reg_lock held and @used false, read without a lock
 * @ids: a bit for each id that is taken, from before its agent exists until it is
 *	gone for good
 * @agents: registered agents by id. Whoever takes one away, by xchg(), has to
 *	destroy it
 * @sends: sends that the MAD layer has not completed yet, and writers who are
 *	about to give it one
 * @spare: a free packet of each kind, as most packets live for a short time and
 *	one at a time; indexed by umad_packet.sent, taken and given by xchg(). The
 *	slab costs 150 instructions more of a write(), 200 of receiving a MAD
 * @queue_lock: protects @queue, @queue_end, @unread, @timeouts, @agent_unread and
 *	@dropped
 * @queue: packets in the order read() hands them out, by umad_packet.next.
 *	Written with @queue_lock held, read without a lock to see whether it is
 *	NULL
 * @queue_end: where the next packet is put: umad_packet.next of the last, or
 *	@queue
 * @unread: length of the queue. Written with @queue_lock held, read without a
 *	lock by who receives
 * @timeouts: how many of these are timeout records. Written with @queue_lock
 *	held, read without a lock by who wants to send
 * @agent_unread: those of the queue that have this id
 * @dropped: received MADs that were lost to the limit, to lack of memory, or
 *	because there is no way to tell user space where they came from
 * @readers: who sleeps in read(), exclusively: a packet wakes one of them
 * @pollers: who polls. Apart, as an exclusive poller would be woken in the place of
 *	a reader
 */
struct umad_file {
	struct umad_port	*port;
	refcount_t		refs;
	struct list_head	port_list;
	struct rcu_head		rcu;
	u32			num;
	struct umad_account	*account;

	struct mutex		reg_lock;	/* registration */
	bool			used;
	u8			hdr_len;
	unsigned long		ids;
	struct umad_agent	__rcu *agents[UMAD_MAX_AGENTS];

	atomic_t		sends;

	struct umad_packet	*spare[2];

	spinlock_t		queue_lock;	/* the queue */
	struct umad_packet	*queue;
	struct umad_packet	**queue_end;
	unsigned int		unread;
	unsigned int		timeouts;
	u32			agent_unread[UMAD_MAX_AGENTS];
	u64			dropped;
	wait_queue_head_t	readers;
	wait_queue_head_t	pollers;
};

/**
 * struct umad_reg - a registration request, however user space spelled it
 * @qp_type: IB_QPT_SMI or IB_QPT_GSI
 * @req: what to receive unasked; nothing if its mgmt_class is 0
 * @rmpp_version: 0, or the RMPP version
 * @flags: IB_USER_MAD_USER_RMPP or 0
 * @pkey_layout: first of all on a descriptor, it selects the 64-byte header
 */
struct umad_reg {
	enum ib_qp_type		qp_type;
	struct ib_mad_reg_req	req;
	u8			rmpp_version;
	u32			flags;
	bool			pkey_layout;
};

/*
 * Agent: born and died by ioctl, or dies with its file or its device. The MAD
 * layer hands it to the handlers, so that they need not search for file and id.
 */

/**
 * struct umad_agent - a registration with the MAD layer
 * @file: whose it is; immutable
 * @mad_agent: the MAD layer's part; valid while the agent is in
 *	umad_file.agents or a reference from umad_agent_get() is held
 * @ah: address handle of the last send, taken and given by xchg(), or NULL
 * @id: the id user space knows it by; immutable
 * @hdr_len: header layout of what it receives; immutable
 * @kernel_rmpp: what ib_mad_kernel_rmpp_agent() says of @mad_agent, as long as that is
 *	valid
 * @reg: what was asked for; immutable
 * @outstanding: sends that the MAD layer has not completed yet
 * @users: one for the table, one for each writer on its way to the MAD layer
 * @idle: there are no users any more, which who destroys it waits for
 * @list: once it is out of the table, with whoever destroys it
 * @rcu: lookups are lockless
 */
struct umad_agent {
	struct umad_file	*file;
	struct ib_mad_agent	*mad_agent;
	struct umad_ah		*ah;
	u32			id;
	u8			hdr_len;
	bool			kernel_rmpp;
	struct umad_reg		reg;
	atomic_t		outstanding;
	refcount_t		users;
	struct completion	idle;
	union {
		struct list_head	list;
		struct rcu_head		rcu;
	};
};

/*
 * Packet: a send while it is outstanding, and anything that read() hands out:
 * a received MAD, or a send without response. A send turns into its own timeout
 * record, so that no lack of memory can lose one.
 */

/**
 * struct umad_packet - a send, or one read()
 * @next: the packet behind it in umad_file.queue
 * @node: entry in umad_port.outstanding, if @hashed
 * @length: length of header and MAD together, of what is in the queue
 * @hash: umad_transaction_hash(), of what is outstanding
 * @first_len: how much of @length a reader must have room for at least: all of
 *	it, or the header and the first segment of an RMPP message
 * @hashed: found in umad_port.outstanding, of what is outstanding
 * @response: what ib_response_mad() says, of what is outstanding
 * @hdr_len: length of the header alone
 * @sent: born as a send, with room for header and MAD header only
 * @no_record: no record is due when it completes: no response is expected, or the
 *	response has been queued, or who serves the request has got it
 * @rmpp: received, and of several segments, which are not in @data: see rmpp.h
 * @loose: in a struct umad_loose, and not from a cache
 * @data: the user header, and behind it the MAD. Of a send, the header as it
 *	was written and the MAD header as it was posted
 *
 * There may be very many. What a send keeps, 104 bytes, fits into a page 39
 * times.
 */
struct umad_packet {
	union {
		struct umad_packet	*next;
		struct rhash_head	node;
	};
	union {
		u32		length;
		u32		hash;
	};
	union {
		u16		first_len;
		struct {
			bool	hashed;
			bool	response;
		};
	};
	u8			hdr_len;
	bool			sent		: 1;
	bool			no_record	: 1;
	bool			rmpp		: 1;
	bool			loose		: 1;
	u8			data[] __aligned(8);
};

static inline struct ib_user_mad_hdr *umad_packet_hdr(struct umad_packet *packet)
{
	return (struct ib_user_mad_hdr *)packet->data;
}

/* Of a packet without @rmpp */
static inline struct ib_mad_hdr *umad_packet_mad(struct umad_packet *packet)
{
	return (void *)(packet->data + packet->hdr_len);
}

/*
 * Account: born when a process of a memory cgroup opens a descriptor, dies with
 * the last of these.
 */

/**
 * struct umad_account - what a memory cgroup has that cannot be charged to it
 * @list: entry in the list of all
 * @refs: one for each descriptor
 * @memcg: the cgroup; immutable
 * @agents: agents of its descriptors: the MAD layer's part of them is charged to
 *	nobody
 * @lock: protects @counted
 * @counted: bytes of the budget that are taken: the MAD layer's buffers of received
 *	RMPP messages, and packets and sends that the cgroup had no room for
 */
struct umad_account {
	struct list_head	list;
	refcount_t		refs;
	struct mem_cgroup	*memcg;
	atomic_t		agents;

	spinlock_t		lock;	/* @counted */
	size_t			counted;
};

/*
 * Message: a MAD or an RMPP message while it is being written, on the stack of the
 * writer.
 */

/* What the MAD layer needs to see of a MAD to decide what becomes of it */
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
 * @from: what was not copied yet
 * @rest: a copy of what is not in @head, or NULL
 * @len: length of the MAD
 * @head_len: how much of its beginning is in @head
 * @counted: what it takes of the budget of the account, 0 if it is charged
 * @hdr_len: length of the user header
 * @head: user header and beginning of the MAD
 */
struct umad_message {
	struct umad_buf	from;
	void		*rest;
	size_t		len;
	size_t		head_len;
	size_t		counted;
	u8		hdr_len;
	u8		head[UMAD_PACKET_LEN] __aligned(8);
};

static inline const struct ib_user_mad_hdr *
umad_message_hdr(const struct umad_message *m)
{
	return (const void *)m->head;
}

static inline const struct umad_rmpp_mad *
umad_message_mad(const struct umad_message *m)
{
	return (const void *)m->head + m->hdr_len;
}

/**
 * struct umad_plan - how a written MAD is handed to the MAD layer
 * @hdr_len: length of the headers in front of the data, by management class
 * @data_len: length of what follows them
 * @rmpp: the kernel cuts the data into segments
 * @own_rmpp_hdr: the agent leaves RMPP to the kernel, for this class. The MAD
 *	layer makes the RMPP header then, and what the writer put there is not
 *	sent. Otherwise it is data like what follows
 * @user_rmpp: a packet of an RMPP implementation in user space. All packets of a
 *	message share one transaction ID, so they have no duplicates
 */
struct umad_plan {
	int	hdr_len;
	int	data_len;
	bool	rmpp;
	bool	own_rmpp_hdr;
	bool	user_rmpp;
};

/* port.c */
struct umad_port *umad_port_add(struct ib_device *ib_dev, u32 port_num);
void umad_port_remove(struct umad_port *port);
int umad_ports_init(void);
void umad_ports_exit(void);

static inline bool umad_port_gone(const struct umad_port *port)
{
	return !READ_ONCE(port->ib_dev);
}

/* Whether the current process may use the device: 0, -ENXIO or -EPERM */
static inline int umad_port_access(const struct umad_port *port)
{
	lockdep_assert_held_read(&port->dev_lock);

	if (!port->ib_dev)
		return -ENXIO;
	return rdma_dev_access_netns(port->ib_dev, current->nsproxy->net_ns) ?
	       0 : -EPERM;
}

/* file.c */
extern const struct file_operations umad_fops;
void umad_files_disassociate(struct umad_port *port);

/* issm.c */
extern const struct file_operations umad_issm_fops;
void umad_issm_disassociate(struct umad_port *port, struct ib_device *ib_dev);

/* ioctl.c */
long umad_ioctl(struct file *filp, unsigned int cmd, unsigned long arg);
long umad_compat_ioctl(struct file *filp, unsigned int cmd, unsigned long arg);
int umad_decode_v1(const struct ib_user_mad_reg_req *ureq, bool compat,
		   struct umad_reg *reg);
int umad_decode_v2(const struct ib_user_mad_reg_req2 *ureq,
		   struct umad_reg *reg);

/* send.c */
ssize_t umad_write(struct file *filp, const char __user *buf, size_t count,
		   loff_t *pos);
ssize_t umad_write_iter(struct kiocb *iocb, struct iov_iter *from);
void umad_send_handler(struct ib_mad_agent *mad_agent,
		       struct ib_mad_send_wc *send_wc);
int umad_plan_send(const void *mad, size_t len, bool kernel_rmpp,
		   size_t mad_size, struct umad_plan *plan);

/* recv.c */
ssize_t umad_read(struct file *filp, char __user *buf, size_t count,
		  loff_t *pos);
ssize_t umad_read_iter(struct kiocb *iocb, struct iov_iter *to);
void umad_recv_handler(struct ib_mad_agent *mad_agent,
		       struct ib_mad_send_buf *send_buf,
		       struct ib_mad_recv_wc *recv_wc);
bool umad_recv_len_valid(int mad_len, u8 hdr_len);

/* agent.c */
int umad_agent_register(struct umad_file *file, const struct umad_reg *reg,
			ib_mad_send_handler send_handler,
			ib_mad_recv_handler recv_handler, u32 __user *uid);
int umad_agent_unregister(struct umad_file *file, u32 id);
void umad_agents_detach(struct umad_file *file, struct list_head *agents);
void umad_agent_destroy(struct umad_agent *agent);
struct umad_agent *umad_agent_get(struct umad_file *file, u32 id);
void umad_agent_put(struct umad_agent *agent);

/* message.c */
int umad_message_init(struct umad_message *m, struct umad_buf from,
		      size_t len, u8 hdr_len);
int umad_message_fetch(struct umad_message *m, struct umad_file *file);
bool umad_message_count(struct umad_message *m, struct umad_account *account);
void umad_message_exit(struct umad_message *m, struct umad_account *account);
int umad_message_fill(const struct umad_message *m, const struct umad_plan *plan,
		      struct ib_mad_send_buf *msg, const struct umad_port *port);

/* transaction.c */
int umad_transactions_init(struct umad_port *port);
void umad_transactions_exit(struct umad_port *port);
int umad_transaction_begin(struct umad_file *file, struct umad_packet *packet);
void umad_transaction_end(struct umad_file *file, struct umad_packet *packet);
struct umad_packet *
umad_transaction_response(struct ib_mad_agent *mad_agent,
			  struct ib_mad_send_buf *send_buf,
			  const struct ib_mad_hdr *mad);
bool umad_transaction_duplicate(struct umad_packet *a, struct umad_packet *b);
u32 umad_transaction_hash(struct umad_packet *packet, u32 seed);

/* queue.c */
void umad_queue_init(struct umad_file *file);
void umad_queue_exit(struct umad_file *file);
void umad_queue_add(struct umad_file *file, struct umad_packet *packet);
void umad_queue_restore(struct umad_file *file, struct umad_packet *packet);
int umad_queue_wait(struct umad_file *file);
void umad_queue_wake(struct umad_file *file);
u32 umad_queue_next_len(struct umad_file *file);

/* Others look at @unread and @timeouts without the lock */
static inline void umad_queue_count(struct umad_file *file,
				    struct umad_packet *packet, int change)
{
	/* Ids are always less; this shows it to the compiler, which checks bounds */
	u32 id = umad_packet_hdr(packet)->id % UMAD_MAX_AGENTS;

	lockdep_assert_held(&file->queue_lock);
	WRITE_ONCE(file->unread, file->unread + change);
	file->agent_unread[id] += change;
	if (packet->sent)
		WRITE_ONCE(file->timeouts, file->timeouts + change);
}

/**
 * umad_queue_take - take the first packet
 * @file: who reads
 * @count: for how much there is room
 *
 * Context: process context; does not sleep.
 * Return: the packet, which is the caller's; NULL if there is none; or an ERR_PTR():
 *  * -EINVAL: there is no room for the first packet, which stays
 *  * -EIO: the device is gone
 */
static inline struct umad_packet *umad_queue_take(struct umad_file *file,
						  size_t count)
{
	struct umad_packet *packet;

	if (umad_port_gone(file->port))
		return ERR_PTR(-EIO);

	spin_lock(&file->queue_lock);
	packet = file->queue;
	if (packet && count < packet->first_len) {
		packet = ERR_PTR(-EINVAL);
	} else if (packet) {
		WRITE_ONCE(file->queue, packet->next);
		if (!packet->next)
			file->queue_end = &file->queue;
		umad_queue_count(file, packet, -1);
	}
	spin_unlock(&file->queue_lock);

	return packet;
}

/* ah.c */
int umad_ah_get(struct umad_agent *agent, const struct ib_user_mad_hdr *hdr,
		struct ib_mad_send_buf *msg);
void umad_ah_put(struct ib_mad_send_buf *msg);
void umad_ah_drop(struct umad_agent *agent);
void umad_ah_watch(struct umad_port *port);
void umad_ah_unwatch(struct umad_port *port);

/* grh.c */
int umad_grh_from_wc(const struct ib_mad_agent *mad_agent,
		     const struct ib_mad_recv_wc *recv_wc,
		     struct ib_user_mad_hdr *hdr);

/* account.c */
struct umad_account *umad_account_get(void);
void umad_account_put(struct umad_account *account);
bool umad_account_room(const struct umad_account *account, size_t len);
bool umad_account_take(struct umad_account *account, size_t len, bool all);
void umad_account_give(struct umad_account *account, size_t len);

/* stats.c */
extern const struct attribute_group *umad_stats_groups[];

#endif /* UMAD_USER_MAD_H */
