// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * LD_PRELOAD for user-mode Linux: ptrace() of a host whose CPU has as much floating
 * point state as one with AMX. Such a host takes all of it or nothing, as here.
 */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#define LARGE	11008

typedef long (*ptrace_fn)(enum __ptrace_request request, pid_t pid, void *addr, void *data);

static long get(ptrace_fn real, pid_t pid, void *addr, struct iovec *iov, size_t *size)
{
	size_t room = iov->iov_len;
	long ret = real(PTRACE_GETREGSET, pid, addr, iov);

	if (ret)
		return ret;
	if (iov->iov_len < room)
		*size = iov->iov_len;
	if (iov->iov_len >= LARGE)
		return 0;
	if (room > LARGE)
		room = LARGE;
	memset((char *)iov->iov_base + iov->iov_len, 0, room - iov->iov_len);
	iov->iov_len = room;
	return 0;
}

long ptrace(enum __ptrace_request request, ...)
{
	static size_t size;	/* what this host has */
	ptrace_fn real = (ptrace_fn)dlsym(RTLD_NEXT, "ptrace");
	struct iovec part, *iov;
	void *addr, *data;
	va_list args;
	pid_t pid;

	va_start(args, request);
	pid = va_arg(args, pid_t);
	addr = va_arg(args, void *);
	data = va_arg(args, void *);
	va_end(args);

	iov = data;
	if ((intptr_t)addr == NT_X86_XSTATE && request == PTRACE_GETREGSET)
		return get(real, pid, addr, iov, &size);
	if ((intptr_t)addr == NT_X86_XSTATE && request == PTRACE_SETREGSET && size < LARGE) {
		if (iov->iov_len != LARGE) {
			errno = EFAULT;
			return -1;
		}
		part = (struct iovec){ iov->iov_base, size };
		return real(request, pid, addr, &part);
	}
	return real(request, pid, addr, data);
}
