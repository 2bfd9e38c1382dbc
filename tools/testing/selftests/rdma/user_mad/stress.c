// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Everything at once: threads that do all there is to do with a umad device, in
 * an order that a seed decides, on descriptors that they share and on one that
 * each has for itself, while the device comes and goes. What comes out of a
 * shared descriptor nobody can foretell; but no call may hang, and on a
 * descriptor of its own each thread keeps books: every request ends in one
 * answer or in one timeout record, unless its agent or device went first.
 *
 * UMAD_STRESS_OPS is the number of operations, UMAD_STRESS_SEED the seed. Threads
 * see to it that no run is quite like another, with the same seed either.
 */
#include "kselftest_harness.h"
#include "lib/device.h"
#include "lib/fabric.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/syscall.h>

#define THREADS		4
#define OPS		1500		/* of all threads together */
#define UNPLUG_EVERY	500
#define SEED		1

#define SLOT_BASE	200		/* numbers of the shared descriptors */
#define UMAD_SLOTS	6
#define ISSM_SLOTS	2
#define SLOTS		(UMAD_SLOTS + ISSM_SLOTS)

#define WINDOW		1024		/* requests of a client in its books */
#define OUTSTANDING	8
#define ALONE		64		/* requests, when all others are gone */
#define TIMEOUT_MS	50
#define LONG_MAD	4096

#define TICK_MS		2		/* signals to those who wait */
#define STUCK_MS	30000

#define OFTEN		100		/* tried, should have worked once */

enum request {
	FREE,
	SENT,
	DONE,
};

/* A descriptor of a thread's own, and its books */
struct client {
	struct umad_file file;
	__u32 id;
	__u32 tid;
	__u8 state[WINDOW];
	unsigned int outstanding;
	unsigned long sent, answered, timed_out, lost;
};

struct stress;

struct thread {
	struct stress *stress;
	pthread_t thread;
	pid_t tid;
	unsigned int seed;
	timer_t timer;
	struct client client;
	__u8 *border;			/* where memory ends */
	atomic_int doing;		/* index of an operation, or IDLE */
	atomic_llong since;
	char why[256];			/* it failed, if not empty */
};

struct op {
	const char *name;
	bool (*run)(struct thread *t);
	unsigned int weight;
	bool smi;			/* for ports with a QP0 */
	bool hot;			/* where a crowd is at */
};

struct stress {
	struct umad_device device;
	pthread_rwlock_t lock;		/* protects @port and @lid */
	struct umad_port port;
	__u16 lid;			/* 0 on RoCE */
	pthread_mutex_t unplug;		/* protects @device */
	atomic_bool away;
	bool smi;
	unsigned int slots;		/* how many umad descriptors to share */
	atomic_long left;
	atomic_uchar hlen[UMAD_SLOTS];
	atomic_ulong done[32], good[32];
	struct thread thread[THREADS];
};

static unsigned int any(struct thread *t, unsigned int below)
{
	return rand_r(&t->seed) / 7 % below;
}

static bool one_in(struct thread *t, unsigned int n)
{
	return !any(t, n);
}

/* All on one descriptor, and doing only what they can meet at there */
static bool crowd(const struct stress *stress)
{
	return stress->slots == 1;
}

static int umad_slot(struct thread *t)
{
	return SLOT_BASE + any(t, t->stress->slots);
}

static int issm_slot(struct thread *t)
{
	return SLOT_BASE + UMAD_SLOTS + any(t, ISSM_SLOTS);
}

/* Somebody else's thread may change the layout meanwhile: so be it */
static struct umad_file slot_file(struct thread *t, int fd)
{
	return (struct umad_file){ fd, t->stress->hlen[fd - SLOT_BASE] };
}

static struct umad_port port_now(struct stress *stress, __u16 *lid)
{
	struct umad_port port;

	pthread_rwlock_rdlock(&stress->lock);
	port = stress->port;
	if (lid)
		*lid = stress->lid;
	pthread_rwlock_unlock(&stress->lock);
	return port;
}

/* Signals come until it is stopped, so that one that comes early is not all */
static void tick(struct thread *t, bool on)
{
	struct itimerspec its = {
		.it_value.tv_nsec = on * TICK_MS * 1000000L,
		.it_interval.tv_nsec = on * TICK_MS * 1000000L,
	};

	timer_settime(t->timer, 0, &its, NULL);
}

static struct umad_reg any_reg(struct thread *t)
{
	struct umad_reg reg;

	switch (any(t, 4)) {
	case 0:
		reg = umad_reg_vendor(1 + any(t, 2), 1 << any(t, 8));
		reg.oui += any(t, 4);
		break;
	case 1:
		reg = umad_reg_vendor(1 + any(t, 2), 1 << MAD_GET | 1 << MAD_SEND);
		reg.oui += any(t, 4);
		reg.rmpp_version = 1;
		break;
	default:
		reg = umad_reg_send_only(1 + any(t, 2));
		reg.rmpp_version = any(t, 2);
	}
	if (reg.api == 2 && one_in(t, 4))
		reg.flags = any(t, 3);
	if (t->stress->smi && one_in(t, 4))
		reg.qpn = 0, reg.mgmt_class = 0;
	return reg;
}

/* Operations return whether they succeeded; most may fail at any time */

static bool do_open(struct thread *t)
{
	int mode = one_in(t, 16) ? O_RDONLY : one_in(t, 16) ? O_WRONLY : O_RDWR;
	struct umad_port port = port_now(t->stress, NULL);
	struct umad_reg reg = any_reg(t);
	struct pollfd pfd = { .fd = umad_slot(t) };
	struct umad_file file;
	int slot = pfd.fd;

	if (crowd(t->stress) && poll(&pfd, 1, 0) == 0 && !one_in(t, 32))
		return true;
	if (_umad_open(&port, mode | O_NONBLOCK, &file))
		return false;
	if (one_in(t, 2))
		_umad_enable_pkey(&file);
	if (!one_in(t, 4) && !_umad_register(&file, &reg) && reg.api == 2)
		file.hlen = UMAD_HDR_NEW;
	t->stress->hlen[slot - SLOT_BASE] = file.hlen;
	dup3(file.fd, slot, O_CLOEXEC);
	umad_close(&file);
	return true;
}

static bool do_close(struct thread *t)
{
	return !close(umad_slot(t));
}

static bool do_dup(struct thread *t)
{
	int from = umad_slot(t), to = umad_slot(t);

	if (from == to)
		return !close(dup(from));
	t->stress->hlen[to - SLOT_BASE] = t->stress->hlen[from - SLOT_BASE];
	return dup3(from, to, O_CLOEXEC) == to;
}

static bool do_register(struct thread *t)
{
	int slot = umad_slot(t);
	struct umad_file file = slot_file(t, slot);
	struct umad_reg reg = any_reg(t);

	if (_umad_register(&file, &reg))
		return false;
	/* Right if it was the first one on this descriptor */
	if (reg.api == 2 && one_in(t, 4))
		t->stress->hlen[slot - SLOT_BASE] = UMAD_HDR_NEW;
	return true;
}

static bool do_unregister(struct thread *t)
{
	struct umad_file file = { .fd = umad_slot(t) };

	return !_umad_unregister(&file, any(t, one_in(t, 8) ? 40 : 3));
}

static bool do_enable_pkey(struct thread *t)
{
	struct umad_file file = { .fd = umad_slot(t) };

	return !_umad_enable_pkey(&file);
}

/*
 * What the kernel answers if nobody else does. It does so with an agent that it
 * does not hold: Debian's kernels crash when a Soft-RoCE link goes meanwhile,
 * about once in a dozen runs of this test, whatever umad does. A device of madsim
 * is asked nothing any more when it goes; over Soft-RoCE only timeouts are left.
 */
static __u8 get_method(struct stress *stress)
{
	return umad_device_is_rxe(stress->device.kind) ? MAD_SEND : MAD_GET;
}

/* To the own port: to an agent of somebody here, to the kernel, to nobody */
static struct umad_msg any_msg(struct thread *t)
{
	const __u8 get = get_method(t->stress);
	const __u8 methods[] = { get, get, MAD_SEND, MAD_GET_RESP };
	__u16 lid;
	struct umad_port port = port_now(t->stress, &lid);
	__u32 id = one_in(t, 16) ? any(t, 40) : one_in(t, 4) ? any(t, 3) : 0;
	struct umad_msg msg = umad_msg(&port, id, methods[any(t, 4)],
				       any(t, 256));

	msg.mad.oui[2] += any(t, 5);
	msg.hdr.timeout_ms = any(t, 3) * TIMEOUT_MS / 2;
	msg.hdr.retries = any(t, 2);
	if (lid) {
		msg.hdr.lid = htobe16(lid);
		msg.hdr.grh_present = any(t, 2);
	}
	return msg;
}

/* A directed route of no hop is answered on the spot, one of two gets lost */
static void make_smp(struct thread *t, struct umad_msg *msg)
{
	struct umad_smp *smp = (struct umad_smp *)&msg->mad;
	__be64 tid = msg->mad.tid;

	memset(smp, 0, sizeof(*smp));
	smp->base_version = 1;
	smp->mgmt_class = MAD_CLASS_SM_DIRECTED;
	smp->class_version = 1;
	smp->method = MAD_GET;
	smp->tid = tid;
	smp->attr_id = htobe16(SMP_NODE_INFO);
	smp->dr_slid = htobe16(LID_PERMISSIVE);
	smp->dr_dlid = htobe16(LID_PERMISSIVE);
	smp->hop_cnt = any(t, 3);
	smp->initial_path[1] = 1;
	smp->initial_path[2] = 1;
	msg->hdr.qpn = 0;
	msg->hdr.lid = htobe16(LID_PERMISSIVE);
	msg->hdr.grh_present = 0;
}

static bool do_write(struct thread *t)
{
	struct umad_file file = slot_file(t, umad_slot(t));
	struct umad_msg msg = any_msg(t);

	if (t->stress->smi && one_in(t, 4))
		make_smp(t, &msg);
	return _umad_write(&file, &msg) > 0;
}

static bool do_write_long(struct thread *t)
{
	struct umad_file file = slot_file(t, umad_slot(t));
	struct umad_msg msg = any_msg(t);
	__u8 buf[UMAD_HDR_NEW + LONG_MAD] = { 0 };
	size_t len = MAD_SIZE + any(t, LONG_MAD - MAD_SIZE);

	msg.mad.rmpp_version = 1;
	msg.mad.rmpp_type = MAD_RMPP_DATA;
	msg.mad.rmpp_flags = MAD_RMPP_ACTIVE;
	msg.hdr.timeout_ms = TIMEOUT_MS;
	umad_pack(&file, &msg, MAD_SIZE, buf);
	return write(file.fd, buf, file.hlen + len) > 0;
}

/* One that is whole, and one that runs out of memory if the other one does not */
static bool do_writev(struct thread *t)
{
	struct umad_file file = slot_file(t, umad_slot(t));
	struct umad_msg msg = any_msg(t);
	__u8 buf[UMAD_HDR_NEW + MAD_SIZE];
	struct iovec iov[2] = {
		{ buf, umad_pack(&file, &msg, MAD_SIZE, buf) },
		{ t->border - any(t, UMAD_HDR_NEW + MAD_SIZE), MAD_SIZE },
	};

	return writev(file.fd, iov, 2) > 0;
}

/*
 * It may block all the same, while somebody is in do_read_blocking(). There is
 * little to read but timeouts over Soft-RoCE: some reads wait for one.
 */
static bool do_read(struct thread *t)
{
	struct pollfd pfd = { .fd = umad_slot(t), .events = POLLIN };
	__u8 buf[UMAD_HDR_NEW + MAD_SIZE];
	bool good;

	if (!crowd(t->stress) && one_in(t, 2))
		poll(&pfd, 1, TIMEOUT_MS);
	tick(t, true);
	good = read(pfd.fd, buf, one_in(t, 4) ? any(t, sizeof(buf)) :
		    sizeof(buf)) > 0;
	tick(t, false);
	return good;
}

static bool do_readv(struct thread *t)
{
	__u8 buf[UMAD_HDR_NEW + LONG_MAD];
	struct iovec iov[2] = {
		{ buf, sizeof(buf) },
		{ t->border - any(t, UMAD_HDR_NEW + MAD_SIZE), LONG_MAD },
	};
	bool good;

	tick(t, true);
	good = readv(umad_slot(t), iov, 2) > 0;
	tick(t, false);
	return good;
}

/* O_NONBLOCK belongs to the descriptor and all of its duplicates */
static bool do_read_blocking(struct thread *t)
{
	int fd = umad_slot(t), flags = fcntl(fd, F_GETFL);
	__u8 buf[UMAD_HDR_NEW + MAD_SIZE];
	bool good;

	if (flags < 0)
		return false;
	tick(t, true);
	fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
	good = read(fd, buf, sizeof(buf)) > 0 || errno == EINTR;
	fcntl(fd, F_SETFL, flags | O_NONBLOCK);
	tick(t, false);
	return good;
}

static bool do_poll(struct thread *t)
{
	struct pollfd pfd[2] = {
		{ .fd = umad_slot(t), .events = POLLIN },
		{ .fd = umad_slot(t), .events = POLLIN },
	};

	return poll(pfd, 2, any(t, 3)) > 0;
}

static bool do_epoll(struct thread *t)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLOUT };
	int fd = epoll_create1(EPOLL_CLOEXEC), n = -1;

	if (!epoll_ctl(fd, EPOLL_CTL_ADD, umad_slot(t), &event))
		n = epoll_wait(fd, &event, 1, any(t, 3));
	close(fd);
	return n > 0;
}

static bool do_fdinfo(struct thread *t)
{
	char text[1024];

	return !umad_sysfs_read(text, sizeof(text), "/proc/self/fdinfo/%d",
				umad_slot(t)) && strstr(text, "umad-unread:");
}

static bool do_sysfs(struct thread *t)
{
	static const char * const attr[] = { "ibdev", "port", "dev", "uevent" };
	char text[256];

	return !umad_sysfs_read(text, sizeof(text),
				"/sys/class/infiniband_mad/%s%d/%s",
				t->stress->smi && one_in(t, 2) ? "issm" : "umad",
				any(t, 3), attr[any(t, 4)]);
}

static bool do_netlink(struct thread *t)
{
	struct umad_port port = port_now(t->stress, NULL);
	__u32 num = port.port, index;
	struct nl_request req;

	if (nl_ibdev_index(port.ibdev, &index))
		return false;
	nl_begin_rdma(&req, RDMA_NLDEV_CMD_GET_CHARDEV, 0);
	nl_put(&req, RDMA_NLDEV_ATTR_DEV_INDEX, &index, 4);
	nl_put(&req, RDMA_NLDEV_ATTR_PORT_INDEX, &num, 4);
	nl_put_string(&req, RDMA_NLDEV_ATTR_CHARDEV_TYPE,
		      one_in(t, 2) ? "umad" : "issm");
	return !nl_talk(NETLINK_RDMA, &req, NULL, NULL);
}

static bool do_fork(struct thread *t)
{
	struct umad_file file = slot_file(t, umad_slot(t));
	struct umad_msg msg = any_msg(t);
	pid_t pid = fork();
	int status;

	/* A lock that another thread held stays locked here */
	if (!pid) {
		_umad_write(&file, &msg);
		do_close(t);
		do_poll(t);
		_exit(0);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && !status;
}

static bool do_issm_open(struct thread *t)
{
	struct umad_port port = port_now(t->stress, NULL);
	bool block = one_in(t, 2);
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/dev/infiniband/issm%d",
		 atoi(port.name + strlen("umad")));
	tick(t, block);
	fd = open(path, O_RDWR | O_CLOEXEC | (block ? 0 : O_NONBLOCK));
	tick(t, false);
	if (fd < 0)
		return false;
	dup3(fd, issm_slot(t), O_CLOEXEC);
	close(fd);
	return true;
}

static bool do_issm_close(struct thread *t)
{
	return !close(issm_slot(t));
}

/* Clients */

static void client_close(struct client *c)
{
	umad_close(&c->file);
	c->lost += c->outstanding;
	c->outstanding = 0;
	memset(c->state, FREE, sizeof(c->state));
}

static bool client_open(struct thread *t)
{
	struct umad_port port = port_now(t->stress, NULL);
	struct client *c = &t->client;
	struct umad_reg reg = umad_reg_send_only(1 + any(t, 2));

	if (_umad_open(&port, O_RDWR | O_NONBLOCK, &c->file))
		return false;
	if (_umad_enable_pkey(&c->file) || _umad_register(&c->file, &reg)) {
		client_close(c);
		return false;
	}
	c->id = reg.id;
	return true;
}

/*
 * The class is one that nobody registers, so the kernel answers what it can be
 * asked, and a Send is lost.
 */
static bool client_send(struct thread *t)
{
	struct client *c = &t->client;
	struct umad_msg msg = any_msg(t);

	if (c->outstanding == OUTSTANDING || c->state[c->tid % WINDOW] == SENT)
		return false;
	msg.hdr.id = c->id;
	msg.hdr.timeout_ms = TIMEOUT_MS;
	msg.mad.mgmt_class = MAD_CLASS_VENDOR1;
	msg.mad.method = any(t, 4) ? get_method(t->stress) : MAD_SEND;
	msg.mad.tid = htobe64(c->tid);
	if (_umad_write(&c->file, &msg) < 0)
		return false;
	c->state[c->tid++ % WINDOW] = SENT;
	c->outstanding++;
	c->sent++;
	return true;
}

/* False when there is nothing to read */
static bool client_read(struct thread *t)
{
	struct client *c = &t->client;
	struct umad_msg msg;
	__u32 tid;

	if (_umad_read(&c->file, &msg) < 0) {
		if (errno == EIO)
			client_close(c);
		else if (errno != EAGAIN)
			snprintf(t->why, sizeof(t->why), "read: %s",
				 strerror(errno));
		return false;
	}

	tid = be64toh(msg.mad.tid);
	if (c->state[tid % WINDOW] != SENT || c->tid - tid > WINDOW)
		snprintf(t->why, sizeof(t->why),
			 "request %u of %u ended twice, or was never made: status %u, method %#x",
			 tid, c->tid, msg.hdr.status, msg.mad.method);
	c->state[tid % WINDOW] = DONE;
	c->outstanding--;
	if (msg.hdr.status)
		c->timed_out++;
	else
		c->answered++;
	return true;
}

static bool do_client(struct thread *t)
{
	struct client *c = &t->client;
	struct umad_reg reg = umad_reg_send_only(2);
	bool good;

	if (c->file.fd < 0)
		return client_open(t);

	switch (any(t, 32)) {
	case 0:
		client_close(c);
		return true;
	case 1:
		/* What was queued before can be read afterwards */
		if (_umad_unregister(&c->file, c->id))
			break;
		while (c->file.fd >= 0 && client_read(t))
			;
		c->lost += c->outstanding;
		c->outstanding = 0;
		memset(c->state, FREE, sizeof(c->state));
		if (c->file.fd >= 0 && !_umad_register(&c->file, &reg)) {
			c->id = reg.id;
			return true;
		}
		break;
	default:
		good = client_send(t);
		while (c->file.fd >= 0 && client_read(t))
			;
		return good;
	}
	client_close(c);
	return false;
}

static bool client_idle(const struct client *c, char *text, size_t size)
{
	return !umad_sysfs_read(text, size, "/proc/self/fdinfo/%d",
				c->file.fd) &&
	       strstr(text, "umad-agents:\t1\n") &&
	       strstr(text, "umad-outstanding:\t0\n") &&
	       strstr(text, "umad-unread:\t0\n") &&
	       strstr(text, "umad-dropped:\t0");
}

/* Nothing is outstanding any more, and all of it is accounted for */
static void client_finish(struct thread *t)
{
	struct client *c = &t->client;
	long long end = umad_now_ms() + UMAD_SOON_MS;
	char text[1024];

	while (c->file.fd >= 0 && c->outstanding && umad_now_ms() < end) {
		umad_readable(&c->file, 100);
		while (c->file.fd >= 0 && client_read(t))
			;
	}
	if (c->outstanding)
		snprintf(t->why, sizeof(t->why), "%u requests never ended",
			 c->outstanding);
	/* An answer can be read before the request is done with */
	while (c->file.fd >= 0 && !client_idle(c, text, sizeof(text)) &&
	       umad_now_ms() < end) {
		umad_sleep_ms(5);
		client_read(t);
	}
	/* What is read of a device that goes is void: the second read knows */
	if (c->file.fd >= 0 && !client_idle(c, text, sizeof(text)) &&
	    !client_read(t) && c->file.fd >= 0)
		snprintf(t->why, sizeof(t->why), "fdinfo does not balance: %.200s",
			 text);
	client_close(c);
	if (c->sent != c->answered + c->timed_out + c->lost)
		snprintf(t->why, sizeof(t->why),
			 "%lu sent, but %lu answered, %lu timed out, %lu lost with their device or agent",
			 c->sent, c->answered, c->timed_out, c->lost);
}

/* The device */

/* Enough of a subnet manager for a port to reach itself */
static int bring_up(struct umad_device *device, __u16 *lid)
{
	const struct umad_path here = { 0 };
	char state[32];
	struct umad_sm sm;
	int ret;

	*lid = 0;
	if (umad_device_is_rxe(device->kind))
		return 0;
	*lid = 1;
	/* It may have been away in another network namespace only */
	if (!umad_sysfs_read(state, sizeof(state),
			     "/sys/class/infiniband/%s/ports/1/state",
			     device->port.ibdev) && strstr(state, "ACTIVE"))
		return 0;
	if (_umad_sm_open(&device->port, &sm))
		return -errno;
	ret = umad_sm_set_port(&sm, &here, 1, *lid, 0, *lid, PORT_ARMED);
	if (!ret)
		ret = umad_sm_set_port(&sm, &here, 1, *lid, 0, *lid,
				       PORT_ACTIVE);
	umad_sm_close(&sm);
	return ret;
}

static bool do_unplug(struct thread *t)
{
	struct stress *stress = t->stress;
	const char *what = "remove";
	bool good = false;
	__u16 lid;
	int ret;

	if (pthread_mutex_trylock(&stress->unplug))
		return false;

	stress->away = true;
	ret = umad_device_remove(&stress->device);
	if (!ret) {
		umad_sleep_ms(any(t, 3));
		what = "return";
		ret = umad_device_return(&stress->device);
	}
	if (!ret) {
		what = "bring up";
		ret = bring_up(&stress->device, &lid);
	}
	if (!ret) {
		pthread_rwlock_wrlock(&stress->lock);
		stress->port = stress->device.port;
		stress->lid = lid;
		pthread_rwlock_unlock(&stress->lock);
		good = true;
	} else {
		snprintf(t->why, sizeof(t->why), "cannot %s the device: %s", what,
			 ret < 0 ? strerror(-ret) : "refused");
	}
	stress->away = false;
	pthread_mutex_unlock(&stress->unplug);
	return good;
}

static const struct op ops[] = {
	{ .name = "open", .run = do_open, .weight = 40, .hot = true },
	{ .name = "close", .run = do_close, .weight = 20 },
	{ .name = "dup", .run = do_dup, .weight = 10 },
	{ .name = "register", .run = do_register, .weight = 60, .hot = true },
	{ .name = "unregister", .run = do_unregister, .weight = 20, .hot = true },
	{ .name = "enable_pkey", .run = do_enable_pkey, .weight = 10 },
	{ .name = "write", .run = do_write, .weight = 160, .hot = true },
	{ .name = "write_long", .run = do_write_long, .weight = 30 },
	{ .name = "writev", .run = do_writev, .weight = 30 },
	{ .name = "read", .run = do_read, .weight = 120, .hot = true },
	{ .name = "readv", .run = do_readv, .weight = 30 },
	{ .name = "read_blocking", .run = do_read_blocking, .weight = 20 },
	{ .name = "poll", .run = do_poll, .weight = 40, .hot = true },
	{ .name = "epoll", .run = do_epoll, .weight = 20 },
	{ .name = "fdinfo", .run = do_fdinfo, .weight = 20, .hot = true },
	{ .name = "sysfs", .run = do_sysfs, .weight = 20 },
	{ .name = "netlink", .run = do_netlink, .weight = 10 },
	{ .name = "fork", .run = do_fork, .weight = 4 },
	{ .name = "issm_open", .run = do_issm_open, .weight = 20, .smi = true },
	{ .name = "issm_close", .run = do_issm_close, .weight = 20, .smi = true },
	{ .name = "client", .run = do_client, .weight = 200 },
	{ .name = "unplug", .run = do_unplug, .weight = 0 },
};

enum { NUM_OPS = sizeof(ops) / sizeof(*ops) };

#define UNPLUG		(&ops[NUM_OPS - 1])
#define IDLE		(-1)
#define FINISHING	NUM_OPS

static const struct op *any_op(struct thread *t)
{
	unsigned int total = 0, i;

	for (i = 0; i < NUM_OPS; i++)
		total += ops[i].weight;
	total = any(t, total);
	for (i = 0; total >= ops[i].weight; i++)
		total -= ops[i].weight;
	return &ops[i];
}

static void *thread_run(void *arg)
{
	struct thread *t = arg;
	struct stress *stress = t->stress;
	struct sigevent event = {
		.sigev_notify = SIGEV_THREAD_ID,
		.sigev_signo = SIGALRM,
	};
	const struct op *op;
	long left;

	t->tid = syscall(SYS_gettid);
	event._sigev_un._tid = t->tid;
	if (timer_create(CLOCK_MONOTONIC, &event, &t->timer))
		snprintf(t->why, sizeof(t->why), "timer: %s", strerror(errno));

	/* Without a device most operations fail: do not spend them on that */
	while (!t->why[0] && (left = stress->away ? 1 : stress->left--) > 0) {
		do
			op = any_op(t);
		while ((op->smi && !stress->smi) || (crowd(stress) && !op->hot));
		if (left % UNPLUG_EVERY == 0)
			op = UNPLUG;
		t->since = umad_now_ms();
		t->doing = op - ops;
		stress->done[op - ops]++;
		if (op->run(t))
			stress->good[op - ops]++;
		if (stress->away)
			umad_sleep_ms(2);
	}
	t->since = umad_now_ms();
	t->doing = FINISHING;
	client_finish(t);
	timer_delete(t->timer);
	t->doing = IDLE;
	return NULL;
}

/* Where a thread hangs, as the kernel sees it */
static void show_stack(struct __test_metadata *_metadata, const struct thread *t)
{
	char text[4096];

	if (umad_sysfs_read(text, sizeof(text), "/proc/self/task/%d/stack",
			    t->tid))
		text[0] = 0;
	TH_LOG("%s has not returned for %d s: %s",
	       t->doing == FINISHING ? "finishing" : ops[t->doing].name,
	       STUCK_MS / 1000, text);
}

static bool all_done(struct __test_metadata *_metadata, struct stress *stress, bool *stuck)
{
	bool done = true;
	int i;

	for (i = 0; i < THREADS; i++) {
		struct thread *t = &stress->thread[i];

		if (t->doing == IDLE)
			continue;
		done = false;
		if (umad_now_ms() - t->since > STUCK_MS) {
			show_stack(_metadata, t);
			*stuck = true;
		}
	}
	return done;
}

static long number(const char *name, long fallback)
{
	const char *text = getenv(name);

	return text ? atol(text) : fallback;
}

static long statistic(const struct umad_port *port, const char *name)
{
	char text[32];

	if (umad_sysfs_read(text, sizeof(text),
			    "/sys/class/infiniband_mad/%s/statistics/%s",
			    port->name, name))
		return -1;
	return atol(text);
}

/* Whether the port counts nothing of what closed descriptors had; says what it counts */
static bool port_is_empty(const struct umad_port *port, char *said, size_t size)
{
	static const char * const names[] = { "files", "agents", "outstanding", "unread" };
	long count;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		count = statistic(port, names[i]);
		snprintf(said, size, "%ld %s", count, names[i]);
		if (count)
			return false;
	}
	return true;
}

/* What a port has counted of requests, and what has become of them */
struct counted {
	long sent, received, timeouts, others;
};

static struct counted counted(const struct umad_port *port)
{
	static const char * const others[] = {
		"rmpp_sent", "rmpp_received", "refused_duplicate", "refused_limit",
		"refused_memory", "dropped_limit", "dropped_memory", "dropped_address",
	};
	struct counted now = {
		.sent = statistic(port, "sent"),
		.received = statistic(port, "received"),
		.timeouts = statistic(port, "timeouts") +
			    statistic(port, "send_errors"),
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(others); i++)
		now.others += statistic(port, others[i]);
	return now;
}

/* A client has the port for itself, which counts the same as it has in its books */
static void client_alone(struct __test_metadata *_metadata, struct thread *t)
{
	const struct umad_port *port = &t->stress->port;
	struct counted before = counted(port), after;
	struct client *c = &t->client;
	int i;

	*c = (struct client){ .file.fd = -1 };
	ASSERT_TRUE(client_open(t));
	for (i = 0; i < ALONE; i++) {
		client_send(t);
		while (c->outstanding == OUTSTANDING &&
		       umad_readable(&c->file, UMAD_SOON_MS) && client_read(t))
			;
	}
	client_finish(t);
	ASSERT_STREQ("", t->why);
	after = counted(port);
	TH_LOG("alone: %lu sent = %lu answered + %lu timed out",
	       c->sent, c->answered, c->timed_out);
	EXPECT_EQ((unsigned long)ALONE, c->sent);
	EXPECT_EQ(c->sent, after.sent - before.sent);
	EXPECT_EQ(c->answered, after.received - before.received);
	EXPECT_EQ(c->timed_out, after.timeouts - before.timeouts);
	EXPECT_EQ(0, after.others - before.others);
}

static void on_tick(int sig)
{
	(void)sig;
}

FIXTURE(stress)
{
	struct stress *stress;
};

FIXTURE_VARIANT(stress)
{
	enum umad_device_kind kind;
	unsigned int slots;
};

FIXTURE_VARIANT_ADD(stress, rxe)
{
	.kind = UMAD_RXE,
	.slots = UMAD_SLOTS,
};

FIXTURE_VARIANT_ADD(stress, madsim)
{
	.kind = UMAD_MADSIM,
	.slots = UMAD_SLOTS,
};

FIXTURE_VARIANT_ADD(stress, madsim_crowd)
{
	.kind = UMAD_MADSIM,
	.slots = 1,
};

FIXTURE_VARIANT_ADD(stress, madsim_netns)
{
	.kind = UMAD_MADSIM_NETNS,
	.slots = UMAD_SLOTS,
};

FIXTURE_SETUP(stress)
{
	struct stress *stress;

	stress = calloc(1, sizeof(*stress));
	ASSERT_NE(NULL, stress);
	self->stress = stress;
	pthread_rwlock_init(&stress->lock, NULL);
	pthread_mutex_init(&stress->unplug, NULL);
	stress->smi = variant->kind != UMAD_RXE;
	stress->slots = variant->slots;
	if (umad_reference())
		SKIP(return, "the kernel does not survive this with the reference");
	if (!umad_device_possible(variant->kind))
		SKIP(return, UMAD_NO_FABRICS);
	ASSERT_EQ(0, umad_device_make(&stress->device, variant->kind));
	ASSERT_EQ(0, bring_up(&stress->device, &stress->lid));
	stress->port = stress->device.port;
}

FIXTURE_TEARDOWN(stress)
{
	if (umad_reference())
		return;
	umad_device_free(&self->stress->device);
	free(self->stress);
}

TEST_F_TIMEOUT(stress, everything, 1200)
{
	struct sigaction act = { .sa_handler = on_tick };
	long seed = number("UMAD_STRESS_SEED", SEED);
	struct stress *stress = self->stress;
	unsigned long sent = 0, answered = 0, timed_out = 0, lost = 0, done = 0;
	struct umad_border border;
	bool stuck = false, empty;
	unsigned int i;
	long long end;
	char said[64];

	sigaction(SIGALRM, &act, NULL);
	umad_border(&border, PROT_NONE);
	stress->left = number("UMAD_STRESS_OPS", OPS);
	for (i = 0; i < UMAD_SLOTS; i++)
		stress->hlen[i] = UMAD_HDR_OLD;
	for (i = 0; i < THREADS; i++) {
		struct thread *t = &stress->thread[i];

		*t = (struct thread){
			.stress = stress,
			.seed = seed * 1000 + i,
			.client.file.fd = -1,
			.border = border.base + border.page,
			.doing = FINISHING,
			.since = umad_now_ms(),
		};
		ASSERT_EQ(0, pthread_create(&t->thread, NULL, thread_run, t));
	}

	while (!all_done(_metadata, stress, &stuck) && !stuck)
		umad_sleep_ms(20);
	ASSERT_FALSE(stuck);

	for (i = 0; i < THREADS; i++) {
		struct thread *t = &stress->thread[i];

		pthread_join(t->thread, NULL);
		EXPECT_STREQ("", t->why);
		sent += t->client.sent;
		answered += t->client.answered;
		timed_out += t->client.timed_out;
		lost += t->client.lost;
	}
	for (i = 0; i < SLOTS; i++)
		close(SLOT_BASE + i);
	end = umad_now_ms() + UMAD_SOON_MS;
	while (!(empty = port_is_empty(&stress->port, said, sizeof(said))) &&
	       umad_now_ms() < end)
		umad_sleep_ms(5);
	EXPECT_TRUE(empty) TH_LOG("all is closed, and the port still has %s", said);
	client_alone(_metadata, &stress->thread[0]);

	/* Everything there was to do has been done, and not always in vain */
	for (i = 0; i < NUM_OPS; i++) {
		done += stress->done[i];
		TH_LOG("%-14s %8lu, of which %lu succeeded", ops[i].name,
		       stress->done[i], stress->good[i]);
		if (stress->done[i] >= OFTEN)
			EXPECT_NE(0, stress->good[i])
				TH_LOG("%s never succeeded", ops[i].name);
	}
	TH_LOG("seed %ld, %lu operations", seed, done);
	TH_LOG("%lu requests = %lu answered + %lu timed out + %lu lost with agent or device",
	       sent, answered, timed_out, lost);
	EXPECT_NE(0, stress->good[UNPLUG - ops]);
	if (!crowd(stress)) {
		EXPECT_EQ(get_method(stress) == MAD_GET, answered != 0);
		EXPECT_NE(0, timed_out);
	}
}

TEST_HARNESS_MAIN
