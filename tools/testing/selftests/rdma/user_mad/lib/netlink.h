/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * As much netlink as the user_mad selftests need. They speak it themselves: a
 * program that was started to do so would end with a SIGCHLD, which wakes each thread
 * that is asleep in a system call, and hides that nothing else would have.
 */
#ifndef UMAD_NETLINK_H
#define UMAD_NETLINK_H

#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>

#include "utils.h"

struct nl_request {
	struct nlmsghdr nlh;
	__u8 attrs[512];
};

void nl_begin(struct nl_request *req, int type, int flags);
void nl_begin_rdma(struct nl_request *req, int cmd, int flags);
struct nlattr *nl_put(struct nl_request *req, int type, const void *data, size_t len);
void nl_put_string(struct nl_request *req, int type, const char *text);
void nl_end_nest(struct nl_request *req, struct nlattr *nest);
int nl_talk(int protocol, struct nl_request *req,
	    void (*parse)(struct nlmsghdr *nlh, void *arg), void *arg);

int nl_ibdev_index(const char *name, __u32 *index);
int nl_begin_ibdev(struct nl_request *req, int cmd, const char *name);
int nl_ibdev_command(const char *name, int cmd);

/* What netlink knows of the character device that a client has for a port */
struct nl_chardev {
	__u64 dev;
	__u64 abi;
	char name[64];
};

int nl_chardev(__u32 index, __u32 port, const char *client, struct nl_chardev *res);
int nl_set_exclusive(bool exclusive);

#endif /* UMAD_NETLINK_H */
