// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <signal.h>
#include <linux/userfaultfd.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>

#include "stall.h"

/* A descriptor that tells of accesses to missing pages of this range, or -1 */
int umad_uffd(void *start, size_t len, bool wp)
{
	struct uffdio_api api = {
		.api = UFFD_API,
		.features = wp ? UFFD_FEATURE_PAGEFAULT_FLAG_WP : 0,
	};
	struct uffdio_register reg = {
		.range.start = (uintptr_t)start,
		.range.len = len,
		.mode = UFFDIO_REGISTER_MODE_MISSING | (wp ? UFFDIO_REGISTER_MODE_WP : 0),
	};
	int uffd, err;

	uffd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	if (uffd < 0)
		return -1;
	if (!ioctl(uffd, UFFDIO_API, &api) && !ioctl(uffd, UFFDIO_REGISTER, &reg))
		return uffd;
	err = errno;
	close(uffd);
	errno = err;
	return -1;
}

static int __umad_stall_open(struct umad_stall *stall, bool wp)
{
	stall->wp = wp;
	stall->uffd = umad_uffd(stall->base + stall->page, stall->page, wp);
	return stall->uffd < 0 ? -1 : 0;
}

/* The first page is there */
int _umad_stall(struct umad_stall *stall)
{
	*stall = (struct umad_stall){ .page = sysconf(_SC_PAGESIZE) };
	stall->base = mmap(NULL, 2 * stall->page, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (stall->base == MAP_FAILED)
		return -1;
	memset(stall->base, 0, stall->page);
	/* Not every architecture knows write protection */
	return __umad_stall_open(stall, true) && __umad_stall_open(stall, false) ? -1 : 0;
}

/* @len bytes before the missing page */
void *umad_stall_at(const struct umad_stall *stall, size_t len)
{
	return stall->base + stall->page - len;
}

/* Waits until a call is caught */
bool umad_stall_caught(const struct umad_stall *stall)
{
	struct pollfd pfd = { .fd = stall->uffd, .events = POLLIN };
	struct uffd_msg msg;

	return poll(&pfd, 1, UMAD_SOON_MS) == 1 &&
	       read(stall->uffd, &msg, sizeof(msg)) == sizeof(msg) &&
	       msg.event == UFFD_EVENT_PAGEFAULT;
}

/* Supplies the missing page with @data at its beginning */
int umad_stall_release(struct umad_stall *stall, const void *data, size_t len)
{
	struct uffdio_copy copy = {
		.dst = (uintptr_t)stall->base + stall->page,
		.len = stall->page,
	};
	__u8 *page;
	int ret;

	page = calloc(1, stall->page);
	if (!page)
		return -1;
	if (len)
		memcpy(page, data, len);
	copy.src = (uintptr_t)page;
	ret = ioctl(stall->uffd, UFFDIO_COPY, &copy);
	free(page);
	return ret;
}

static int __umad_stall_protect(struct umad_stall *stall, __u64 mode)
{
	struct uffdio_writeprotect protect = {
		.range.start = (uintptr_t)stall->base + stall->page,
		.range.len = stall->page,
		.mode = mode,
	};

	return ioctl(stall->uffd, UFFDIO_WRITEPROTECT, &protect);
}

/* The page has been supplied; from now on a call that writes to it is caught */
int umad_stall_write_protect(struct umad_stall *stall)
{
	return __umad_stall_protect(stall, UFFDIO_WRITEPROTECT_MODE_WP);
}

int umad_stall_allow_write(struct umad_stall *stall)
{
	return __umad_stall_protect(stall, 0);
}

/* Makes the copy fail: the page is taken away for good */
int umad_stall_fail(struct umad_stall *stall)
{
	struct uffdio_range range = {
		.start = (uintptr_t)stall->base + stall->page,
		.len = stall->page,
	};

	return mprotect(stall->base + stall->page, stall->page, PROT_NONE) ||
	       ioctl(stall->uffd, UFFDIO_WAKE, &range);
}

void umad_stall_free(struct umad_stall *stall)
{
	munmap(stall->base, 2 * stall->page);
	close(stall->uffd);
}

void *umad_call_thread(void *arg)
{
	struct umad_call *call = arg;
	struct pollfd pfd = { .fd = call->fd, .events = POLLIN };

	__atomic_store_n(&call->tid, syscall(SYS_gettid), __ATOMIC_RELEASE);
	switch (call->op) {
	case UMAD_CALL_READ:
		call->ret = read(call->fd, call->buf, call->len);
		break;
	case UMAD_CALL_WRITE:
		call->ret = write(call->fd, call->buf, call->len);
		break;
	case UMAD_CALL_IOCTL:
		call->ret = ioctl(call->fd, call->cmd, call->buf);
		break;
	case UMAD_CALL_POLL:
		call->ret = poll(&pfd, 1, 0) < 0 ? -1 : pfd.revents;
		break;
	case UMAD_CALL_OPEN:
		call->ret = open(call->path, O_RDWR | O_CLOEXEC);
		break;
	case UMAD_CALL_CLOSE:
		call->ret = close(call->fd);
		break;
	case UMAD_CALL_FN:
		call->ret = call->fn(call);
		break;
	}
	call->err = errno;
	return NULL;
}

/* Functions for calls that wait for events of call->fd */

long umad_in_poll(struct umad_call *call)
{
	struct pollfd pfd = { .fd = call->fd, .events = POLLIN };

	return poll(&pfd, 1, -1) == 1 ? pfd.revents : -1;
}

/* 1, in the place of events, which it does not tell */
long umad_in_select(struct umad_call *call)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET(call->fd, &set);
	return select(call->fd + 1, &set, NULL, NULL, NULL);
}

/* call->len: the events to wait for */
long umad_in_epoll(struct umad_call *call)
{
	struct epoll_event ev = { .events = call->len };
	int fd = epoll_create1(EPOLL_CLOEXEC);
	int n = -1;

	if (!epoll_ctl(fd, EPOLL_CTL_ADD, call->fd, &ev))
		n = epoll_wait(fd, &ev, 1, -1);
	close(fd);
	return n == 1 ? (long)ev.events : -1;
}

/* The letter that /proc has for a thread, or 0 when it has ended */
static char umad_thread_state(pid_t pid, pid_t tid)
{
	char path[64], line[128] = "", *end;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, tid);
	file = fopen(path, "r");
	if (!file)
		return 0;
	if (!fgets(line, sizeof(line), file))
		line[0] = 0;
	fclose(file);
	/* Behind the name, in parentheses */
	end = strrchr(line, ')');
	return end && end[1] ? end[2] : 0;
}

/*
 * Waits until the thread sleeps, so that what follows has to wake it; false if it has ended.
 * The reference may wait for a lock. Others wait for an event, and sleep in another way for
 * a moment only, for a page of the program, say.
 */
bool umad_asleep(pid_t pid, pid_t tid)
{
	char state = 0;

	umad_within(UMAD_SOON_MS, ({
		state = umad_thread_state(pid, tid);
		!state || state == 'Z' || state == 'S' || (state == 'D' && umad_reference());
	}));
	return state == 'S' || state == 'D';
}

/* The same of a call's thread: the call has not returned then */
bool umad_call_asleep(struct umad_call *call)
{
	return umad_within(UMAD_SOON_MS, __atomic_load_n(&call->tid, __ATOMIC_ACQUIRE)) &&
	       umad_asleep(getpid(), call->tid);
}

/* Whether the call returned; if not, umad_call_end() must still be called */
bool umad_call_returned(struct umad_call *call, int ms)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	ts.tv_sec += ms / 1000;
	ts.tv_nsec += ms % 1000 * 1000000L;
	if (ts.tv_nsec >= 1000000000L) {
		ts.tv_nsec -= 1000000000L;
		ts.tv_sec++;
	}
	if (pthread_timedjoin_np(call->thread, NULL, &ts))
		return false;
	call->thread = 0;
	return true;
}

void umad_call_end(struct umad_call *call)
{
	if (call->thread)
		pthread_join(call->thread, NULL);
	call->thread = 0;
}

static void umad_call_on_signal(int sig)
{
	(void)sig;
}

/* Ends a call that does not return by itself, if signals can */
void umad_call_interrupt(struct umad_call *call)
{
	struct sigaction act = { .sa_handler = umad_call_on_signal };

	sigaction(SIGUSR1, &act, NULL);
	if (call->thread)
		pthread_kill(call->thread, SIGUSR1);
	umad_call_end(call);
}
