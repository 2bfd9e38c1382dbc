// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/wait.h>

#include "stress.h"

#define TIMEOUT_MS	50
#define LONG_MAD	4096

#define TICK_MS		2		/* signals to those who wait */

static unsigned int any(struct stress_thread *t, unsigned int below)
{
	return rand_r(&t->seed) / 7 % below;
}

static bool one_in(struct stress_thread *t, unsigned int n)
{
	return !any(t, n);
}

/* All on one descriptor, and doing only what they can meet at there */
bool stress_is_crowd(const struct stress *stress)
{
	return stress->slots == 1;
}

static int umad_slot(struct stress_thread *t)
{
	return SLOT_BASE + any(t, t->stress->slots);
}

static int issm_slot(struct stress_thread *t)
{
	return SLOT_BASE + UMAD_SLOTS + any(t, ISSM_SLOTS);
}

/* Somebody else's thread may change the layout meanwhile: so be it */
static struct umad_file slot_file(struct stress_thread *t, int fd)
{
	return (struct umad_file){ fd, t->stress->hlen[fd - SLOT_BASE] };
}

static struct umad_port port_now(struct stress *stress)
{
	struct umad_port port;

	pthread_rwlock_rdlock(&stress->lock);
	port = stress->port;
	pthread_rwlock_unlock(&stress->lock);
	return port;
}

/* Signals come until it is stopped, so that one that comes early is not all */
static void tick(struct stress_thread *t, bool on)
{
	struct itimerspec its = {
		.it_value.tv_nsec = on * TICK_MS * 1000000L,
		.it_interval.tv_nsec = on * TICK_MS * 1000000L,
	};

	timer_settime(t->timer, 0, &its, NULL);
}

static struct umad_reg any_reg(struct stress_thread *t)
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

static bool do_open(struct stress_thread *t)
{
	int mode = one_in(t, 16) ? O_RDONLY : one_in(t, 16) ? O_WRONLY : O_RDWR;
	struct umad_port port = port_now(t->stress);
	struct umad_reg reg = any_reg(t);
	struct pollfd pfd = { .fd = umad_slot(t) };
	struct umad_file file;
	int slot = pfd.fd;

	if (stress_is_crowd(t->stress) && poll(&pfd, 1, 0) == 0 && !one_in(t, 32))
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

static bool do_close(struct stress_thread *t)
{
	return !close(umad_slot(t));
}

static bool do_dup(struct stress_thread *t)
{
	int from = umad_slot(t), to = umad_slot(t);

	if (from == to)
		return !close(dup(from));
	t->stress->hlen[to - SLOT_BASE] = t->stress->hlen[from - SLOT_BASE];
	return dup3(from, to, O_CLOEXEC) == to;
}

static bool do_register(struct stress_thread *t)
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

static bool do_unregister(struct stress_thread *t)
{
	struct umad_file file = { .fd = umad_slot(t) };

	return !_umad_unregister(&file, any(t, one_in(t, 8) ? 40 : 3));
}

static bool do_enable_pkey(struct stress_thread *t)
{
	struct umad_file file = { .fd = umad_slot(t) };

	return !_umad_enable_pkey(&file);
}

/*
 * What the kernel answers if no program does. It does so with an agent that it
 * does not hold: Debian's kernels crash when a Soft-RoCE link goes meanwhile,
 * about once in a dozen runs of this test, whatever umad does. A device of madsim
 * is asked nothing any more when it goes; over Soft-RoCE only timeouts are left.
 */
__u8 stress_method(struct stress *stress)
{
	return umad_device_is_rxe(stress->device.kind) ? MAD_SEND : MAD_GET;
}

/* To the own port: to an agent of a program here, to the kernel, to no agent */
static struct umad_msg any_msg(struct stress_thread *t)
{
	const __u8 get = stress_method(t->stress);
	const __u8 methods[] = { get, get, MAD_SEND, MAD_GET_RESP };
	struct umad_port port = port_now(t->stress);
	__u32 id = one_in(t, 16) ? any(t, 40) : one_in(t, 4) ? any(t, 3) : 0;
	struct umad_msg msg = umad_msg(&port, id, methods[any(t, 4)], any(t, 256));

	msg.mad.oui[2] += any(t, 5);
	msg.hdr.timeout_ms = any(t, 3) * TIMEOUT_MS / 2;
	msg.hdr.retries = any(t, 2);
	if (port.lid)
		msg.hdr.grh_present = any(t, 2);
	return msg;
}

/* A directed route of no hop is answered on the spot, one of two gets lost */
static struct umad_msg any_smp(struct stress_thread *t)
{
	const struct umad_path path = { any(t, 3), { 1, 1 } };
	struct umad_msg like = any_msg(t);
	struct umad_sm sm = { .directed = like.hdr.id };
	struct umad_msg msg = umad_smp_msg(&sm, &path, 0, MAD_GET, SMP_NODE_INFO);

	msg.mad.tid = like.mad.tid;
	msg.hdr.timeout_ms = like.hdr.timeout_ms;
	msg.hdr.retries = like.hdr.retries;
	return msg;
}

static bool do_write(struct stress_thread *t)
{
	struct umad_file file = slot_file(t, umad_slot(t));
	struct umad_msg msg = t->stress->smi && one_in(t, 4) ? any_smp(t) : any_msg(t);

	return _umad_write(&file, &msg) > 0;
}

static bool do_write_long(struct stress_thread *t)
{
	struct umad_file file = slot_file(t, umad_slot(t));
	struct umad_msg msg = any_msg(t);
	__u8 buf[UMAD_HDR_NEW + LONG_MAD] = { 0 };
	size_t len = MAD_SIZE + any(t, LONG_MAD - MAD_SIZE);

	umad_make_active(&msg);
	msg.hdr.timeout_ms = TIMEOUT_MS;
	umad_pack(&file, &msg, MAD_SIZE, buf);
	return write(file.fd, buf, file.hlen + len) > 0;
}

/* One that is whole, and one that runs out of memory if the other one does not */
static bool do_writev(struct stress_thread *t)
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
static bool do_read(struct stress_thread *t)
{
	struct pollfd pfd = { .fd = umad_slot(t), .events = POLLIN };
	__u8 buf[UMAD_HDR_NEW + MAD_SIZE];
	bool good;

	if (!stress_is_crowd(t->stress) && one_in(t, 2))
		poll(&pfd, 1, TIMEOUT_MS);
	tick(t, true);
	good = read(pfd.fd, buf, one_in(t, 4) ? any(t, sizeof(buf)) : sizeof(buf)) > 0;
	tick(t, false);
	return good;
}

static bool do_readv(struct stress_thread *t)
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
static bool do_read_blocking(struct stress_thread *t)
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

static bool do_poll(struct stress_thread *t)
{
	struct pollfd pfd[2] = {
		{ .fd = umad_slot(t), .events = POLLIN },
		{ .fd = umad_slot(t), .events = POLLIN },
	};

	return poll(pfd, 2, any(t, 3)) > 0;
}

static bool do_epoll(struct stress_thread *t)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLOUT };
	int fd = epoll_create1(EPOLL_CLOEXEC), n = -1;

	if (!epoll_ctl(fd, EPOLL_CTL_ADD, umad_slot(t), &event))
		n = epoll_wait(fd, &event, 1, any(t, 3));
	close(fd);
	return n > 0;
}

static bool do_fdinfo(struct stress_thread *t)
{
	char text[1024];

	return !umad_sysfs_read(text, sizeof(text), "/proc/self/fdinfo/%d",
				umad_slot(t)) && strstr(text, "umad-unread:");
}

static bool do_sysfs(struct stress_thread *t)
{
	static const char * const attr[] = { "ibdev", "port", "dev", "uevent" };
	char text[256];

	return !umad_sysfs_read(text, sizeof(text), "/sys/class/infiniband_mad/%s%d/%s",
				t->stress->smi && one_in(t, 2) ? "issm" : "umad",
				any(t, 3), attr[any(t, 4)]);
}

static bool do_netlink(struct stress_thread *t)
{
	struct umad_port port = port_now(t->stress);
	struct nl_chardev res;
	__u32 index;

	return !nl_ibdev_index(port.ibdev, &index) &&
	       !nl_chardev(index, port.port, one_in(t, 2) ? "umad" : "issm", &res);
}

static bool do_fork(struct stress_thread *t)
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

static bool do_issm_open(struct stress_thread *t)
{
	struct umad_port port = port_now(t->stress);
	bool block = one_in(t, 2);
	char path[64];
	int fd;

	umad_issm_dev(&port, path);
	tick(t, block);
	fd = open(path, O_RDWR | O_CLOEXEC | (block ? 0 : O_NONBLOCK));
	tick(t, false);
	if (fd < 0)
		return false;
	dup3(fd, issm_slot(t), O_CLOEXEC);
	close(fd);
	return true;
}

static bool do_issm_close(struct stress_thread *t)
{
	return !close(issm_slot(t));
}

/* Clients */

static bool stress_open(struct stress_thread *t)
{
	struct umad_port port = port_now(t->stress);

	return umad_books_open(&t->client, &port, 1 + any(t, 2));
}

/*
 * The class is one that no agent registers, so the kernel answers what it can be
 * asked, and a Send is lost.
 */
static bool stress_send(struct stress_thread *t)
{
	struct umad_msg msg = any_msg(t);

	msg.hdr.timeout_ms = TIMEOUT_MS;
	msg.mad.mgmt_class = MAD_CLASS_VENDOR1;
	msg.mad.method = any(t, 4) ? stress_method(t->stress) : MAD_SEND;
	return umad_books_send(&t->client, &msg);
}

static bool do_client(struct stress_thread *t)
{
	struct umad_books *books = &t->client;
	bool good;

	if (!umad_books_is_open(books))
		return stress_open(t);

	switch (any(t, 32)) {
	case 0:
		umad_books_close(books);
		return true;
	case 1:
		return umad_books_register_again(books);
	default:
		good = stress_send(t);
		umad_books_read_all(books);
		return good;
	}
}

/* The device */

static bool do_unplug(struct stress_thread *t)
{
	struct stress *stress = t->stress;
	const char *what = "remove";
	bool good = false;
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
		ret = umad_device_up(&stress->device);
	}
	if (!ret) {
		pthread_rwlock_wrlock(&stress->lock);
		stress->port = stress->device.port;
		pthread_rwlock_unlock(&stress->lock);
		good = true;
	} else {
		snprintf(t->client.why, sizeof(t->client.why), "cannot %s the device: %s", what,
			 ret < 0 ? strerror(-ret) : "refused");
	}
	stress->away = false;
	pthread_mutex_unlock(&stress->unplug);
	return good;
}

const struct stress_op stress_ops[] = {
	{ "open", do_open, 40, .hot = true, .meets = RARELY },
	{ "close", do_close, 20, .meets = NEVER },
	{ "dup", do_dup, 10, .meets = NEVER },
	{ "register", do_register, 60, .hot = true, .meets = RARELY },
	{ "unregister", do_unregister, 20, .hot = true, .meets = RARELY },
	{ "enable_pkey", do_enable_pkey, 10, .meets = NEVER },
	{ "write", do_write, 160, .hot = true, .meets = OFTEN },
	{ "write_long", do_write_long, 30, .meets = NEVER },
	{ "writev", do_writev, 30, .meets = NEVER },
	{ "read", do_read, 120, .hot = true, .meets = OFTEN },
	{ "readv", do_readv, 30, .meets = OFTEN },
	{ "read_blocking", do_read_blocking, 20, .meets = NEVER },
	{ "poll", do_poll, 40, .hot = true, .meets = OFTEN },
	{ "epoll", do_epoll, 20, .meets = NEVER },
	{ "fdinfo", do_fdinfo, 20, .hot = true, .meets = OFTEN },
	{ "sysfs", do_sysfs, 20, .meets = OFTEN },
	{ "netlink", do_netlink, 10, .meets = OFTEN },
	{ "fork", do_fork, 4, .meets = NEVER },
	{ "issm_open", do_issm_open, 20, .smi = true, .meets = RARELY },
	{ "issm_close", do_issm_close, 20, .smi = true, .meets = RARELY },
	{ "client", do_client, 200, .meets = NEVER },
	{ "unplug", do_unplug, 0, .meets = RARELY },
};

static_assert(ARRAY_SIZE(stress_ops) == STRESS_OPS, "there are that many");

const struct stress_op *stress_any_op(struct stress_thread *t)
{
	unsigned int total = 0, i;

	for (i = 0; i < STRESS_OPS; i++)
		total += stress_ops[i].weight;
	total = any(t, total);
	for (i = 0; total >= stress_ops[i].weight; i++)
		total -= stress_ops[i].weight;
	return &stress_ops[i];
}
