// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <signal.h>
#include <linux/userfaultfd.h>
#include <sys/syscall.h>

#include "trap.h"

/* A descriptor that tells who misses pages of this range, or -1 */
int umad_uffd(void *start, size_t len, bool wp)
{
	struct uffdio_api api = {
		.api = UFFD_API,
		.features = wp ? UFFD_FEATURE_PAGEFAULT_FLAG_WP : 0,
	};
	struct uffdio_register reg = {
		.range.start = (uintptr_t)start,
		.range.len = len,
		.mode = UFFDIO_REGISTER_MODE_MISSING |
			(wp ? UFFDIO_REGISTER_MODE_WP : 0),
	};
	int uffd, err;

	uffd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	if (uffd < 0)
		return -1;
	if (!ioctl(uffd, UFFDIO_API, &api) &&
	    !ioctl(uffd, UFFDIO_REGISTER, &reg))
		return uffd;
	err = errno;
	close(uffd);
	errno = err;
	return -1;
}

static int __umad_trap_open(struct umad_trap *trap, bool wp)
{
	trap->wp = wp;
	trap->uffd = umad_uffd(trap->base + trap->page, trap->page, wp);
	return trap->uffd < 0 ? -1 : 0;
}

/* The first page is there */
static int __umad_trap_map(struct umad_trap *trap)
{
	*trap = (struct umad_trap){ .page = sysconf(_SC_PAGESIZE), .uffd = -1 };
	trap->base = mmap(NULL, 2 * trap->page, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (trap->base == MAP_FAILED)
		return -1;
	memset(trap->base, 0, trap->page);
	return 0;
}

int _umad_trap(struct umad_trap *trap)
{
	if (__umad_trap_map(trap))
		return -1;
	/* Not every architecture knows write protection */
	return __umad_trap_open(trap, true) && __umad_trap_open(trap, false) ?
	       -1 : 0;
}

/* Ask umad_have_fuse() first */
int _umad_trap_fuse(struct umad_trap *trap)
{
	return __umad_trap_map(trap) ||
	       umad_fuse_start(&trap->fuse, trap->page) ||
	       umad_fuse_map(&trap->fuse, trap->base + trap->page) ? -1 : 0;
}

/* @len bytes before the missing page */
void *umad_trap_at(const struct umad_trap *trap, size_t len)
{
	return trap->base + trap->page - len;
}

/* Waits until somebody is caught */
bool umad_trap_caught(const struct umad_trap *trap)
{
	struct pollfd pfd = {
		.fd = trap->uffd < 0 ? trap->fuse.caught : trap->uffd,
		.events = POLLIN,
	};
	struct uffd_msg msg;

	if (poll(&pfd, 1, UMAD_SOON_MS) != 1)
		return false;
	return trap->uffd < 0 ||
	       (read(trap->uffd, &msg, sizeof(msg)) == sizeof(msg) &&
		msg.event == UFFD_EVENT_PAGEFAULT);
}

/* Supplies the missing page with @data at its beginning */
int umad_trap_release(struct umad_trap *trap, const void *data, size_t len)
{
	struct uffdio_copy copy = {
		.dst = (uintptr_t)trap->base + trap->page,
		.len = trap->page,
	};
	__u8 *page;
	int ret;

	page = calloc(1, trap->page);
	if (!page)
		return -1;
	if (len)
		memcpy(page, data, len);
	copy.src = (uintptr_t)page;
	ret = trap->uffd < 0 ? umad_fuse_release(&trap->fuse, page) :
	      ioctl(trap->uffd, UFFDIO_COPY, &copy);
	free(page);
	return ret;
}

static int __umad_trap_protect(struct umad_trap *trap, __u64 mode)
{
	struct uffdio_writeprotect protect = {
		.range.start = (uintptr_t)trap->base + trap->page,
		.range.len = trap->page,
		.mode = mode,
	};

	return ioctl(trap->uffd, UFFDIO_WRITEPROTECT, &protect);
}

/* The page has been supplied; from now on who writes to it is caught */
int umad_trap_write_protect(struct umad_trap *trap)
{
	return __umad_trap_protect(trap, UFFDIO_WRITEPROTECT_MODE_WP);
}

int umad_trap_allow_write(struct umad_trap *trap)
{
	return __umad_trap_protect(trap, 0);
}

/* Makes the copy fail: the page is taken away for good */
int umad_trap_fail(struct umad_trap *trap)
{
	struct uffdio_range range = {
		.start = (uintptr_t)trap->base + trap->page,
		.len = trap->page,
	};

	if (trap->uffd < 0)
		return umad_fuse_fail(&trap->fuse);
	return mprotect(trap->base + trap->page, trap->page, PROT_NONE) ||
	       ioctl(trap->uffd, UFFDIO_WAKE, &range);
}

void umad_trap_free(struct umad_trap *trap)
{
	munmap(trap->base, 2 * trap->page);
	if (trap->uffd < 0)
		umad_fuse_stop(&trap->fuse);
	else
		close(trap->uffd);
}

void *umad_call_thread(void *arg)
{
	struct umad_call *call = arg;
	struct pollfd pfd = { .fd = call->fd, .events = POLLIN };

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
