// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <signal.h>
#include <net/if.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "device.h"

bool umad_device_is_rxe(enum umad_device_kind kind)
{
	return kind == UMAD_RXE || kind == UMAD_RXE_NETDEV || kind == UMAD_RXE_LONELY;
}

/* Soft-RoCE over a dummy interface */

static void __umad_netdev_begin(struct nl_request *req, int type, int flags,
				const struct ifinfomsg *ifi, const char *name)
{
	nl_begin(req, type, flags);
	memcpy((void *)req + NLMSG_HDRLEN, ifi, sizeof(*ifi));
	req->nlh.nlmsg_len += NLMSG_ALIGN(sizeof(*ifi));
	nl_put_string(req, IFLA_IFNAME, name);
}

static int __umad_netdev_add(const struct umad_device *device)
{
	struct ifinfomsg ifi = {
		.ifi_change = IFF_UP | IFF_NOARP,
		.ifi_flags = IFF_UP | (device->kind == UMAD_RXE_LONELY ? 0 : IFF_NOARP),
	};
	struct nl_request req;
	struct nlattr *info;

	__umad_netdev_begin(&req, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &ifi, device->name);
	info = nl_put(&req, IFLA_LINKINFO, NULL, 0);
	nl_put_string(&req, IFLA_INFO_KIND, "dummy");
	nl_end_nest(&req, info);
	return nl_talk(NETLINK_ROUTE, &req, NULL, NULL);
}

/* Of a device on Soft-RoCE: an interface @name for a VLAN, which goes when the device's goes */
int umad_device_add_vlan(const struct umad_device *device, const char *name, __u16 id)
{
	const struct ifinfomsg ifi = { .ifi_change = IFF_UP, .ifi_flags = IFF_UP };
	__u32 below = if_nametoindex(device->name);
	struct nlattr *info, *data;
	struct nl_request req;

	__umad_netdev_begin(&req, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &ifi, name);
	nl_put(&req, IFLA_LINK, &below, sizeof(below));
	info = nl_put(&req, IFLA_LINKINFO, NULL, 0);
	nl_put_string(&req, IFLA_INFO_KIND, "vlan");
	data = nl_put(&req, IFLA_INFO_DATA, NULL, 0);
	nl_put(&req, IFLA_VLAN_ID, &id, sizeof(id));
	nl_end_nest(&req, data);
	nl_end_nest(&req, info);
	return nl_talk(NETLINK_ROUTE, &req, NULL, NULL);
}

static int __umad_netdev_del(const char *name)
{
	struct ifinfomsg ifi = { 0 };
	struct nl_request req;

	__umad_netdev_begin(&req, RTM_DELLINK, 0, &ifi, name);
	return nl_talk(NETLINK_ROUTE, &req, NULL, NULL);
}

/* A name can be used again a moment after its device has gone */
static int __umad_rxe_add(const char *name)
{
	struct nl_request req;
	int ret;

	nl_begin_rdma(&req, RDMA_NLDEV_CMD_NEWLINK, 0);
	nl_put_string(&req, RDMA_NLDEV_ATTR_DEV_NAME, name);
	nl_put_string(&req, RDMA_NLDEV_ATTR_LINK_TYPE, "rxe");
	nl_put_string(&req, RDMA_NLDEV_ATTR_NDEV_NAME, name);
	umad_within(UMAD_SOON_MS, (ret = nl_talk(NETLINK_RDMA, &req, NULL, NULL)) != -ENFILE);
	return ret;
}

static int __umad_rxe_del(const char *name)
{
	return nl_ibdev_command(name, RDMA_NLDEV_CMD_DELLINK);
}

/* The kernel takes an RDMA device away a moment after its interface */
static int __umad_rxe_gone(const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s", name);
	return umad_within(5 * UMAD_SOON_MS, access(path, F_OK)) ? 0 : -ETIMEDOUT;
}

/* A simulated cable with a host at each end */

static int __umad_madsim_add(struct umad_device *device)
{
	device->fabric.hosts = 2;
	return _umad_fabric_start(&device->fabric) ? -errno : 0;
}

/* The module, and with "pair" a cable that lives as long as it does */

static int __umad_madsim_load(const char *topology)
{
	char command[256];

	snprintf(command, sizeof(command),
		 "if [ \"$MADSIM_MODULE\" ]; then insmod \"$MADSIM_MODULE\" topology=%s; else modprobe ib_madsim topology=%s; fi",
		 topology, topology);
	return system(command) ? -ENOEXEC : 0;
}

static int __umad_madsim_unload(void)
{
	return syscall(SYS_delete_module, "ib_madsim", O_NONBLOCK) ? -errno : 0;
}

static int __umad_netns_leave(struct umad_device *device)
{
	struct nl_request req;
	pid_t parent = getpid();
	int ready[2], ret;
	char path[64], c;
	__u32 fd;

	if (pipe(ready))
		return -errno;
	device->elsewhere = fork();
	if (device->elsewhere < 0)
		return -errno;
	if (!device->elsewhere) {
		if (unshare(CLONE_NEWNET) || write(ready[1], "", 1) != 1)
			_exit(1);
		umad_wait_as_child(parent);
	}
	close(ready[1]);
	ret = read(ready[0], &c, 1) == 1 ? 0 : -EPIPE;
	close(ready[0]);
	if (!ret)
		ret = nl_begin_ibdev(&req, RDMA_NLDEV_CMD_SET, device->port.ibdev);
	if (ret)
		return ret;

	snprintf(path, sizeof(path), "/proc/%d/ns/net", device->elsewhere);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	nl_put(&req, RDMA_NLDEV_NET_NS_FD, &fd, 4);
	ret = nl_talk(NETLINK_RDMA, &req, NULL, NULL);
	close(fd);
	return ret;
}

/* The device comes home when its namespace has died */
static void __umad_netns_return(struct umad_device *device)
{
	if (device->elsewhere > 0) {
		kill(device->elsewhere, SIGKILL);
		waitpid(device->elsewhere, NULL, 0);
	}
	device->elsewhere = 0;
}

/* Looks up the device's umadN; 0 when it is there and can be used */
static int __umad_device_find(struct umad_device *device)
{
	__u32 index;

	if (umad_device_is_rxe(device->kind))
		return umad_find_port_of(device->name, 1, &device->port) ||
		       device->port.gid[0] != 0xfe ? -1 : 0;
	if (device->kind == UMAD_MADSIM_RMMOD)
		return umad_find_port_of("madsim0", 1, &device->port);
	/* In another namespace, netlink does not show it */
	return umad_fabric_port("h1", 1, &device->port) ||
	       nl_ibdev_index(device->port.ibdev, &index) ? -1 : 0;
}

static int __umad_device_await(struct umad_device *device)
{
	/* sysfs knows of it before there is something to open */
	return umad_within(UMAD_NETNS_MS, !__umad_device_find(device) &&
			   !access(device->port.dev, F_OK)) ? 0 : -ETIMEDOUT;
}

/* Whether there is what it takes */
bool umad_device_possible(enum umad_device_kind kind)
{
	if (kind == UMAD_MADSIM_RMMOD && access("/sys/module/ib_madsim/initstate", F_OK))
		return false;
	return umad_device_is_rxe(kind) || umad_have_fabrics();
}

/* 0 or a negative errno; to be undone by umad_device_free() either way */
int umad_device_make(struct umad_device *device, enum umad_device_kind kind)
{
	int ret = 0;

	memset(device, 0, sizeof(*device));
	device->kind = kind;
	snprintf(device->name, sizeof(device->name), "ut%d", getpid());
	switch (kind) {
	case UMAD_RXE:
	case UMAD_RXE_NETDEV:
	case UMAD_RXE_LONELY:
		ret = __umad_netdev_add(device);
		if (!ret)
			ret = __umad_rxe_add(device->name);
		break;
	case UMAD_MADSIM_NETNS:
		ret = nl_set_exclusive(true);
		device->exclusive = !ret;
		if (!ret)
			ret = __umad_madsim_add(device);
		break;
	case UMAD_MADSIM:
		ret = __umad_madsim_add(device);
		break;
	case UMAD_MADSIM_RMMOD:
		ret = __umad_madsim_unload();
		if (!ret)
			ret = __umad_madsim_load("pair");
		break;
	}
	return ret ? ret : __umad_device_await(device);
}

/*
 * As much of a subnet manager as a port needs to reach itself. Returns 0, or what went
 * wrong; @device->port has a LID then if it is of InfiniBand.
 */
int umad_device_up(struct umad_device *device)
{
	struct umad_port *port = &device->port;
	char state[32];
	struct umad_sm sm;
	int ret;

	if (umad_device_is_rxe(device->kind))
		return 0;
	port->lid = 1;
	/* It may have been away in another network namespace only */
	if (!umad_port_attr(port, "state", state, sizeof(state)) && strstr(state, "ACTIVE"))
		return 0;
	if (_umad_sm_open(port, &sm))
		return -errno;
	ret = umad_sm_set_port(&sm, &umad_here, 1, port->lid, 0, port->lid, PORT_ARMED);
	if (!ret)
		ret = umad_sm_set_port(&sm, &umad_here, 1, port->lid, 0, port->lid, PORT_ACTIVE);
	umad_sm_close(&sm);
	return ret;
}

/* Returns 0 or a negative errno; the kernel is through with it */
int umad_device_remove(struct umad_device *device)
{
	int ret;

	switch (device->kind) {
	case UMAD_RXE:
	case UMAD_RXE_LONELY:
		return __umad_rxe_del(device->name);
	case UMAD_RXE_NETDEV:
		ret = __umad_netdev_del(device->name);
		return ret ? ret : __umad_rxe_gone(device->name);
	case UMAD_MADSIM:
		return _umad_fabric_fault("h1 unplug") ? -errno : 0;
	case UMAD_MADSIM_NETNS:
		return __umad_netns_leave(device);
	case UMAD_MADSIM_RMMOD:
		return __umad_madsim_unload();
	}
	return -EINVAL;
}

/*
 * Gives back what was taken away. Returns 0 or a negative errno; it can be used again, by
 * whatever name @device->port has now.
 */
int umad_device_return(struct umad_device *device)
{
	int ret = 0;

	switch (device->kind) {
	case UMAD_RXE_NETDEV:
		ret = __umad_netdev_add(device);
		if (!ret)
			ret = __umad_rxe_add(device->name);
		break;
	case UMAD_RXE:
	case UMAD_RXE_LONELY:
		ret = __umad_rxe_add(device->name);
		break;
	case UMAD_MADSIM:
		ret = _umad_fabric_fault("h1 plug") ? -errno : 0;
		break;
	case UMAD_MADSIM_NETNS:
		__umad_netns_return(device);
		break;
	case UMAD_MADSIM_RMMOD:
		ret = __umad_madsim_load("pair");
		break;
	}
	return ret ? ret : __umad_device_await(device);
}

/* Leaves nothing behind, whether the device is there or not */
void umad_device_free(struct umad_device *device)
{
	switch (device->kind) {
	case UMAD_RXE:
	case UMAD_RXE_NETDEV:
	case UMAD_RXE_LONELY:
		__umad_rxe_del(device->name);
		__umad_netdev_del(device->name);
		break;
	case UMAD_MADSIM_NETNS:
	case UMAD_MADSIM:
		__umad_netns_return(device);
		_umad_fabric_stop();
		if (device->exclusive)
			nl_set_exclusive(false);
		break;
	case UMAD_MADSIM_RMMOD:
		__umad_madsim_unload();
		__umad_madsim_load("none");
		break;
	}
}

/* A request that stays outstanding until a test ends it */
struct umad_msg umad_unanswered(const struct umad_device *device, __u32 id, __u64 tid)
{
	struct umad_msg msg = umad_request(&device->port, id, MAD_GET, tid, 600000);

	/* Before there is a subnet manager the port has no LID to tell by */
	msg.hdr.grh_present = umad_device_is_rxe(device->kind);
	umad_msg_to_nobody(&msg);
	return msg;
}

long umad_removing(struct umad_call *call)
{
	return umad_device_remove(call->arg);
}
