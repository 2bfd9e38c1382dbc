/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A file of one page whose file system is a thread of the test: FUSE, as far as
 * it takes to look the file up, open it and map it. When the page is read, the
 * test is told, and it is the test that answers, or does not.
 *
 * The mount is attached nowhere: it ends with its last descriptor, and so with
 * the process, however that dies.
 */
#ifndef UMAD_FUSE_H
#define UMAD_FUSE_H

#include <pthread.h>

#include "utils.h"

struct umad_fuse {
	size_t page;
	int dev;		/* /dev/fuse */
	int mnt;
	int caught;		/* readable when somebody waits for the page */
	__u64 unique;		/* of the request to read it */
	bool failed;		/* the answer is EIO, however often it is asked */
	pthread_t thread;
};

#define UMAD_NO_FUSE	"this kernel has no FUSE"

bool umad_have_fuse(void);
int umad_fuse_map(struct umad_fuse *fuse, void *at);
int umad_fuse_start(struct umad_fuse *fuse, size_t page);
int umad_fuse_release(struct umad_fuse *fuse, const void *page);
int umad_fuse_fail(struct umad_fuse *fuse);
void umad_fuse_stop(struct umad_fuse *fuse);

#endif /* UMAD_FUSE_H */
