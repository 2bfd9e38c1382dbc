// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/fuse.h>
#include <linux/mount.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "fuse.h"

#define UMAD_FUSE_FILE	"page"
#define UMAD_FUSE_NODE	(FUSE_ROOT_ID + 1)

bool umad_have_fuse(void)
{
	int fd = syscall(SYS_fsopen, "fuse", 0);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* @error is 0 or a negative errno */
static int umad_fuse_reply(struct umad_fuse *fuse, __u64 unique, int error,
			   const void *data, size_t len)
{
	struct fuse_out_header out = {
		.len = sizeof(out) + len,
		.error = error,
		.unique = unique,
	};
	struct iovec iov[] = {
		{ &out, sizeof(out) },
		{ (void *)data, len },
	};

	return writev(fuse->dev, iov, len ? 2 : 1) == (ssize_t)out.len ? 0 : -1;
}

static struct fuse_attr umad_fuse_attr(const struct umad_fuse *fuse, __u64 node)
{
	return (struct fuse_attr){
		.ino = node,
		.size = fuse->page,
		.mode = node == FUSE_ROOT_ID ? S_IFDIR | 0755 : S_IFREG | 0600,
		.nlink = 1,
		.blksize = fuse->page,
	};
}

/*
 * Asynchronous reads, because the kernel does not let go of a process that waits
 * for a synchronous one which its server has seen, not even for SIGKILL.
 */
static void umad_fuse_init(struct umad_fuse *fuse,
			   const struct fuse_in_header *in)
{
	const struct fuse_init_in *init = (const void *)(in + 1);
	struct fuse_init_out out = {
		.major = FUSE_KERNEL_VERSION,
		.minor = FUSE_KERNEL_MINOR_VERSION,
		.max_readahead = init->max_readahead,
		.flags = FUSE_ASYNC_READ,
		.max_write = fuse->page,
	};

	umad_fuse_reply(fuse, in->unique, 0, &out, sizeof(out));
}

static void umad_fuse_answer(struct umad_fuse *fuse,
			     const struct fuse_in_header *in)
{
	struct fuse_entry_out entry = {
		.nodeid = UMAD_FUSE_NODE,
		.entry_valid = ~0U,
		.attr_valid = ~0U,
		.attr = umad_fuse_attr(fuse, UMAD_FUSE_NODE),
	};
	struct fuse_attr_out attr = {
		.attr_valid = ~0U,
		.attr = umad_fuse_attr(fuse, in->nodeid),
	};
	struct fuse_open_out opened = { 0 };

	switch (in->opcode) {
	case FUSE_INIT:
		umad_fuse_init(fuse, in);
		break;
	case FUSE_LOOKUP:
		umad_fuse_reply(fuse, in->unique, 0, &entry, sizeof(entry));
		break;
	case FUSE_GETATTR:
		umad_fuse_reply(fuse, in->unique, 0, &attr, sizeof(attr));
		break;
	case FUSE_OPEN:
		umad_fuse_reply(fuse, in->unique, 0, &opened, sizeof(opened));
		break;
	case FUSE_READ:
		if (fuse->failed) {
			umad_fuse_reply(fuse, in->unique, -EIO, NULL, 0);
			break;
		}
		fuse->unique = in->unique;
		eventfd_write(fuse->caught, 1);
		break;
	case FUSE_FLUSH:
	case FUSE_RELEASE:
		umad_fuse_reply(fuse, in->unique, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		umad_fuse_reply(fuse, in->unique, -EOPNOTSUPP, NULL, 0);
	}
}

/* Until the mount is gone */
static void *umad_fuse_thread(void *arg)
{
	__u64 buf[FUSE_MIN_READ_BUFFER / sizeof(__u64)];
	struct umad_fuse *fuse = arg;
	ssize_t n;

	for (;;) {
		n = read(fuse->dev, buf, sizeof(buf));
		if (n > 0)
			umad_fuse_answer(fuse, (void *)buf);
		else if (errno != EINTR && errno != ENOENT)
			return NULL;
	}
}

static int umad_fuse_mount(struct umad_fuse *fuse)
{
	static const char * const options[][2] = {
		{ "rootmode", "40755" },
		{ "user_id", "0" },
		{ "group_id", "0" },
	};
	int fs = syscall(SYS_fsopen, "fuse", 0);
	int ret = fs < 0;
	char fd[16];
	size_t i;

	fuse->dev = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	snprintf(fd, sizeof(fd), "%d", fuse->dev);
	ret = ret || syscall(SYS_fsconfig, fs, FSCONFIG_SET_STRING, "fd", fd, 0);
	for (i = 0; i < ARRAY_SIZE(options); i++)
		ret = ret || syscall(SYS_fsconfig, fs, FSCONFIG_SET_STRING,
				     options[i][0], options[i][1], 0);
	ret = ret || syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0);
	fuse->mnt = ret ? -1 : syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, 0);
	if (fs >= 0)
		close(fs);
	return fuse->mnt < 0 ? -1 : 0;
}

/* Maps the page at @at, for this process to write to as well */
int umad_fuse_map(struct umad_fuse *fuse, void *at)
{
	int fd = openat(fuse->mnt, UMAD_FUSE_FILE, O_RDONLY | O_CLOEXEC);
	void *map;

	if (fd < 0)
		return -1;
	map = mmap(at, fuse->page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED,
		   fd, 0);
	close(fd);
	return map == at ? 0 : -1;
}

int umad_fuse_start(struct umad_fuse *fuse, size_t page)
{
	fuse->page = page;
	fuse->failed = false;
	fuse->caught = eventfd(0, EFD_CLOEXEC);
	if (fuse->caught < 0 || umad_fuse_mount(fuse))
		return -1;
	return pthread_create(&fuse->thread, NULL, umad_fuse_thread, fuse);
}

/* The page comes */
int umad_fuse_release(struct umad_fuse *fuse, const void *page)
{
	return umad_fuse_reply(fuse, fuse->unique, 0, page, fuse->page);
}

/* It never will */
int umad_fuse_fail(struct umad_fuse *fuse)
{
	fuse->failed = true;
	return umad_fuse_reply(fuse, fuse->unique, -EIO, NULL, 0);
}

/* The page is not mapped any more */
void umad_fuse_stop(struct umad_fuse *fuse)
{
	close(fuse->mnt);
	pthread_join(fuse->thread, NULL);
	close(fuse->dev);
	close(fuse->caught);
}
