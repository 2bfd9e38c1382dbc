// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <sys/socket.h>

#include "netlink.h"

void nl_begin(struct nl_request *req, int type, int flags)
{
	memset(req, 0, sizeof(*req));
	req->nlh.nlmsg_len = NLMSG_HDRLEN;
	req->nlh.nlmsg_type = type;
	req->nlh.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags;
	req->nlh.nlmsg_seq = 1;
}

void nl_begin_rdma(struct nl_request *req, int cmd, int flags)
{
	nl_begin(req, RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, cmd), flags);
}

struct nlattr *nl_put(struct nl_request *req, int type, const void *data, size_t len)
{
	struct nlattr *attr = (void *)req + NLMSG_ALIGN(req->nlh.nlmsg_len);

	attr->nla_type = type;
	attr->nla_len = NLA_HDRLEN + len;
	memcpy((void *)attr + NLA_HDRLEN, data, len);
	req->nlh.nlmsg_len = NLMSG_ALIGN(req->nlh.nlmsg_len) +
			     NLA_ALIGN(attr->nla_len);
	return attr;
}

void nl_put_string(struct nl_request *req, int type, const char *text)
{
	nl_put(req, type, text, strlen(text) + 1);
}

/* What is put from now on is in @nest, until this */
void nl_end_nest(struct nl_request *req, struct nlattr *nest)
{
	nest->nla_len = (void *)req + req->nlh.nlmsg_len - (void *)nest;
}

static void *nl_find(struct nlmsghdr *nlh, int type)
{
	void *end = (void *)nlh + nlh->nlmsg_len;
	struct nlattr *attr = NLMSG_DATA(nlh);

	for (; (void *)(attr + 1) <= end && attr->nla_len >= NLA_HDRLEN;
	     attr = (void *)attr + NLA_ALIGN(attr->nla_len))
		if ((attr->nla_type & NLA_TYPE_MASK) == type)
			return (void *)attr + NLA_HDRLEN;
	return NULL;
}

/* Shows each answer to @parse; returns 0 or a negative errno */
int nl_talk(int protocol, struct nl_request *req,
	    void (*parse)(struct nlmsghdr *nlh, void *arg), void *arg)
{
	struct sockaddr_nl addr = { .nl_family = AF_NETLINK };
	struct nlmsghdr buf[32768 / sizeof(struct nlmsghdr)];
	struct nlmsghdr *nlh;
	int fd, ret = 1;
	ssize_t n;

	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
	if (fd < 0)
		return -errno;
	if (sendto(fd, req, req->nlh.nlmsg_len, 0, (void *)&addr, sizeof(addr)) < 0)
		ret = -errno;
	while (ret > 0) {
		n = recv(fd, buf, sizeof(buf), 0);
		if (n < 0) {
			ret = -errno;
			break;
		}
		for (nlh = buf; NLMSG_OK(nlh, (size_t)n); nlh = NLMSG_NEXT(nlh, n)) {
			if (nlh->nlmsg_type == NLMSG_ERROR)
				ret = ((struct nlmsgerr *)NLMSG_DATA(nlh))->error;
			else if (nlh->nlmsg_type == NLMSG_DONE)
				ret = 0;
			else if (parse)
				parse(nlh, arg);
		}
	}
	close(fd);
	return ret;
}

struct nl_ibdev {
	const char *name;
	__u32 index;
};

static void nl_parse_ibdev(struct nlmsghdr *nlh, void *arg)
{
	const char *name = nl_find(nlh, RDMA_NLDEV_ATTR_DEV_NAME);
	void *index = nl_find(nlh, RDMA_NLDEV_ATTR_DEV_INDEX);
	struct nl_ibdev *ibdev = arg;

	if (name && index && !strcmp(name, ibdev->name))
		memcpy(&ibdev->index, index, 4);
}

/*
 * The number by which netlink knows an RDMA device. The kernel dumps devices one
 * at a time and counts them, so when one goes meanwhile, another is left out: if
 * sysfs has it, look again.
 */
int nl_ibdev_index(const char *name, __u32 *index)
{
	long long end = umad_now_ms() + UMAD_SOON_MS;
	struct nl_ibdev ibdev = { .name = name, .index = ~0U };
	struct nl_request req;
	char path[128];
	int ret;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s", name);
	do {
		nl_begin_rdma(&req, RDMA_NLDEV_CMD_GET, NLM_F_DUMP);
		ret = nl_talk(NETLINK_RDMA, &req, nl_parse_ibdev, &ibdev);
	} while (!ret && ibdev.index == ~0U && !access(path, F_OK) && umad_now_ms() < end);
	*index = ibdev.index;
	return ret ? ret : ibdev.index == ~0U ? -ENODEV : 0;
}

/* A command for a device: 0 or a negative errno */
int nl_begin_ibdev(struct nl_request *req, int cmd, const char *name)
{
	__u32 index;
	int ret = nl_ibdev_index(name, &index);

	nl_begin_rdma(req, cmd, 0);
	nl_put(req, RDMA_NLDEV_ATTR_DEV_INDEX, &index, 4);
	return ret;
}

/* ... that needs no more than that */
int nl_ibdev_command(const char *name, int cmd)
{
	struct nl_request req;
	int ret = nl_begin_ibdev(&req, cmd, name);

	return ret ? ret : nl_talk(NETLINK_RDMA, &req, NULL, NULL);
}

static void nl_parse_chardev(struct nlmsghdr *nlh, void *arg)
{
	struct nl_chardev *res = arg;
	void *at;

	at = nl_find(nlh, RDMA_NLDEV_ATTR_CHARDEV);
	if (at)
		memcpy(&res->dev, at, 8);
	at = nl_find(nlh, RDMA_NLDEV_ATTR_CHARDEV_ABI);
	if (at)
		memcpy(&res->abi, at, 8);
	at = nl_find(nlh, RDMA_NLDEV_ATTR_CHARDEV_NAME);
	if (at)
		snprintf(res->name, sizeof(res->name), "%s", (char *)at);
}

/* @port 0: none given */
int nl_chardev(__u32 index, __u32 port, const char *client, struct nl_chardev *res)
{
	struct nl_request req;

	nl_begin_rdma(&req, RDMA_NLDEV_CMD_GET_CHARDEV, 0);
	nl_put(&req, RDMA_NLDEV_ATTR_DEV_INDEX, &index, 4);
	if (port)
		nl_put(&req, RDMA_NLDEV_ATTR_PORT_INDEX, &port, 4);
	nl_put_string(&req, RDMA_NLDEV_ATTR_CHARDEV_TYPE, client);
	return nl_talk(NETLINK_RDMA, &req, nl_parse_chardev, res);
}

/*
 * Whether RDMA devices belong to one network namespace each, or to all. The mode can be
 * changed only when the last other namespace has gone, in its time.
 */
int nl_set_exclusive(bool exclusive)
{
	struct nl_request req;
	__u8 shared = !exclusive;
	int ret;

	nl_begin_rdma(&req, RDMA_NLDEV_CMD_SYS_SET, 0);
	nl_put(&req, RDMA_NLDEV_SYS_ATTR_NETNS_MODE, &shared, 1);
	umad_within(2 * UMAD_SOON_MS, (ret = nl_talk(NETLINK_RDMA, &req, NULL, NULL)) != -EBUSY);
	return ret;
}
