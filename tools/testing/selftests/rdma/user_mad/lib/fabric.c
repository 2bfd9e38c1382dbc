// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "fabric.h"

/*
 * ib_madsim for kernels whose ib_cm crashes when it meets a switch has a parameter
 * that allows switches.
 */
#define SWITCH_DEVICES	"/sys/module/ib_madsim/parameters/switch_devices"

/* ib_cm may be built in, so ask for one of its functions */
bool umad_switch_is_safe(void)
{
	return access(SWITCH_DEVICES, F_OK) || !umad_kernel_has("cm_add_one");
}

bool umad_have_fabrics(void)
{
	return !access(UMAD_FABRIC_ROOT, F_OK);
}

/* "h1 1 drop nth 3", ...: see Documentation/infiniband/madsim.rst */
int _umad_fabric_fault(const char *command)
{
	return umad_sysfs_write(UMAD_FABRIC_FAULTS, command);
}

/* Finds the umad device of a port */
int umad_find_port_of(const char *ibdev, int num, struct umad_port *port)
{
	int n;

	memset(port, 0, sizeof(*port));
	port->gid_ipv4 = -1;
	port->gid_empty = -1;
	for (n = 0; n < 128; n++) {
		if (umad_read_port(n, port))
			continue;
		if (strcmp(port->ibdev, ibdev) || port->port != num)
			continue;
		return umad_read_gid(port, 0, port->gid);
	}
	errno = ENODEV;
	return -1;
}

/* The IsSM device of a port has its number */
void umad_issm_dev(const struct umad_port *port, char dev[64])
{
	snprintf(dev, 64, "/dev/infiniband/issm%s", port->name + strlen("umad"));
}

int _umad_fabric_stop(void)
{
	char path[512];
	struct dirent *entry;
	DIR *dir;

	dir = opendir(UMAD_FABRIC);
	if (!dir)
		return errno == ENOENT ? 0 : -1;

	/* May not be live */
	umad_sysfs_write(UMAD_FABRIC "/live", "0");
	while ((entry = readdir(dir))) {
		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), UMAD_FABRIC "/%s", entry->d_name);
		rmdir(path);
	}
	closedir(dir);
	return rmdir(UMAD_FABRIC);
}

static int umad_fabric_node(const char *name, const char *type, int ports, bool device, bool opa)
{
	char path[128], number[16];
	const char *const attr[][2] = {
		{ "type", type },
		{ "ports", number },
		{ "device", device ? "1" : "0" },
		{ "opa", opa ? "1" : "0" },
	};
	unsigned int i;

	snprintf(number, sizeof(number), "%d", ports);
	snprintf(path, sizeof(path), UMAD_FABRIC "/%s", name);
	if (mkdir(path, 0755))
		return -1;
	for (i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), UMAD_FABRIC "/%s/%s", name, attr[i][0]);
		if (umad_sysfs_write(path, attr[i][1]))
			return -1;
	}
	return 0;
}

int umad_fabric_port(const char *name, int num, struct umad_port *port)
{
	char ibdev[64];

	if (umad_sysfs_read(ibdev, sizeof(ibdev), UMAD_FABRIC "/%s/dev_name", name))
		return -1;
	return umad_find_port_of(ibdev, num, port);
}

int _umad_fabric_start(struct umad_fabric *fabric)
{
	char name[16], link[64];
	int i;

	if (_umad_fabric_stop() || mkdir(UMAD_FABRIC, 0755))
		return -1;

	if (fabric->switch_device && !access(SWITCH_DEVICES, F_OK) &&
	    umad_sysfs_write(SWITCH_DEVICES, "Y"))
		return -1;

	fabric->spare = fabric->hosts + 1;
	if (fabric->star && umad_fabric_node("s1", "switch", fabric->spare,
					     fabric->switch_device, fabric->opa))
		return -1;
	for (i = 1; i <= fabric->hosts; i++) {
		snprintf(name, sizeof(name), "h%d", i);
		snprintf(link, sizeof(link), "h%d 1 s1 %d", i, i);
		if (umad_fabric_node(name, "ca", 1, true, fabric->opa) ||
		    (fabric->star && umad_sysfs_write(UMAD_FABRIC "/link", link)))
			return -1;
	}
	if (!fabric->star && umad_sysfs_write(UMAD_FABRIC "/link", "h1 1 h2 1"))
		return -1;
	if (umad_sysfs_write(UMAD_FABRIC "/live", "1"))
		return -1;

	for (i = 1; i <= fabric->hosts; i++) {
		snprintf(name, sizeof(name), "h%d", i);
		if (umad_fabric_port(name, 1, &fabric->host[i - 1]))
			return -1;
	}
	if (fabric->switch_device && umad_fabric_port("s1", 0, &fabric->sw))
		return -1;
	return 0;
}

int _umad_sm_open(const struct umad_port *port, struct umad_sm *sm)
{
	struct umad_reg reg = umad_reg_smp(1, MAD_CLASS_SM_DIRECTED, 0);

	memset(sm, 0, sizeof(*sm));
	sm->tid = 0x1000;
	if (_umad_open_agent(port, &umad_abi_new, &reg, &sm->file))
		return -1;
	sm->directed = reg.id;
	reg.mgmt_class = MAD_CLASS_SM_LID;
	if (_umad_register(&sm->file, &reg))
		return -1;
	sm->by_lid = reg.id;
	return 0;
}

void umad_sm_close(struct umad_sm *sm)
{
	umad_close(&sm->file);
}

/* An SMP in its envelope; @lid is where it goes unless @path says it */
struct umad_msg umad_smp_msg(struct umad_sm *sm, const struct umad_path *path,
			     __u16 lid, __u8 method, __u16 attr)
{
	struct umad_msg msg = {
		.hdr = {
			.id = path ? sm->directed : sm->by_lid,
			.timeout_ms = UMAD_SOON_MS,
			.lid = htobe16(path ? LID_PERMISSIVE : lid),
		},
	};
	struct umad_smp *smp = umad_smp_of(&msg);

	smp->base_version = 1;
	smp->mgmt_class = path ? MAD_CLASS_SM_DIRECTED : MAD_CLASS_SM_LID;
	smp->class_version = 1;
	smp->method = method;
	smp->tid = htobe64(++sm->tid);
	smp->attr_id = htobe16(attr);
	smp->mkey = htobe64(sm->mkey);
	if (path) {
		smp->hop_cnt = path->hops;
		smp->dr_slid = htobe16(LID_PERMISSIVE);
		smp->dr_dlid = htobe16(LID_PERMISSIVE);
		memcpy(&smp->initial_path[1], path->port, path->hops);
	}
	return msg;
}

/*
 * Sends @msg, which becomes the answer. Returns its status, less the D bit, or -1 with
 * errno: ETIMEDOUT if none came.
 */
int umad_smp_exchange(struct umad_sm *sm, struct umad_msg *msg)
{
	if (_umad_write(&sm->file, msg) < 0)
		return -1;
	if (!umad_readable(&sm->file, 2 * UMAD_SOON_MS)) {
		errno = ENODATA;
		return -1;
	}
	if (_umad_read(&sm->file, msg) < 0)
		return -1;
	if (msg->hdr.status) {
		errno = msg->hdr.status;
		return -1;
	}
	return be16toh(msg->mad.status) & ~SMP_D_BIT;
}

/* One attribute, in and out through @data; @lid counts unless there is a @path */
int umad_smp(struct umad_sm *sm, const struct umad_path *path, __u16 lid,
	     __u8 method, __u16 attr, __u32 mod, void *data)
{
	struct umad_msg msg = umad_smp_msg(sm, path, lid, method, attr);
	struct umad_smp *smp = umad_smp_of(&msg);
	int status;

	smp->attr_mod = htobe32(mod);
	memcpy(smp->data, data, sizeof(smp->data));
	status = umad_smp_exchange(sm, &msg);
	memcpy(data, smp->data, sizeof(smp->data));
	return status;
}

/*
 * Reads PortInfo, and writes it back with another state. @lid, @lmc and
 * @sm_lid are for end ports: those of channel adapters and port 0 of switches.
 */
int umad_sm_set_port(struct umad_sm *sm, const struct umad_path *path,
		     __u32 num, __u16 lid, __u8 lmc, __u16 sm_lid, enum umad_port_state state)
{
	struct umad_port_info info = {};
	int status;

	status = umad_smp(sm, path, 0, MAD_GET, SMP_PORT_INFO, num, &info);
	if (status)
		return status;
	if (lid) {
		info.lid = htobe16(lid);
		info.sm_lid = htobe16(sm_lid);
		info.mkey_protect_lmc = (info.mkey_protect_lmc & 0xf8) | lmc;
	}
	info.speed_supported_state = (info.speed_supported_state & 0xf0) | state;
	/* No change of what is below */
	info.phys_state_down_default &= 0x0f;
	info.subnet_timeout &= 0x1f;
	return umad_smp(sm, path, 0, MAD_SET, SMP_PORT_INFO, num, &info);
}

static int umad_sm_set_lft(struct umad_sm *sm, const struct umad_path *path,
			   const __u8 *lft, int lids)
{
	__u8 info[64], block[64];
	int status, i;

	status = umad_smp(sm, path, 0, MAD_GET, SMP_SWITCH_INFO, 0, memset(info, 0, 64));
	if (status)
		return status;
	/* LinearFDBTop; a PortStateChange that is set here is cleared there */
	info[6] = (lids - 1) >> 8;
	info[7] = lids - 1;
	status = umad_smp(sm, path, 0, MAD_SET, SMP_SWITCH_INFO, 0, info);
	for (i = 0; !status && i * 64 < lids; i++) {
		memcpy(block, lft + i * 64, 64);
		status = umad_smp(sm, path, 0, MAD_SET, SMP_LINEAR_FWD, i, block);
	}
	return status;
}

const struct umad_path umad_here = { 0 };
const struct umad_path umad_to_next = { 1, { 1 } };
const struct umad_path umad_to_second = { 2, { 1, 2 } };

/* The way from the first host to the one with index @i */
struct umad_path umad_fabric_path(const struct umad_fabric *fabric, int i)
{
	if (!i)
		return umad_here;
	if (!fabric->star)
		return umad_to_next;
	return (struct umad_path){ 2, { 1, i + 1 } };
}

static int umad_fabric_set_states(struct umad_fabric *fabric, struct umad_sm *sm,
				  enum umad_port_state state)
{
	int status = 0, i;

	for (i = 0; !status && i < fabric->hosts; i++) {
		struct umad_path path = umad_fabric_path(fabric, i);

		status = umad_sm_set_port(sm, &path, 1, fabric->host[i].lid, fabric->lmc,
					  fabric->host[0].lid, state);
		if (!status && fabric->star)
			status = umad_sm_set_port(sm, &umad_to_next, i + 1, 0, 0, 0, state);
	}
	return status;
}

/* Tells a port that the subnet manager has its notice, which it need not repeat */
int _umad_sm_repress(struct umad_sm *sm, __u16 lid, __u16 trap)
{
	struct umad_msg msg = umad_smp_msg(sm, NULL, lid, MAD_TRAP_REPRESS, SMP_NOTICE);

	umad_smp_of(&msg)->data[4] = trap >> 8;
	umad_smp_of(&msg)->data[5] = trap;
	msg.hdr.timeout_ms = 0;
	return _umad_write(&sm->file, &msg);
}

/*
 * Where ib_cm is loaded, each new host repeats trap 144 for ten seconds: its capability
 * mask has changed. A test counts its own packets, so these have to end before. The
 * response to the Get comes behind the last of them.
 */
static int umad_fabric_hush(struct umad_fabric *fabric, struct umad_sm *sm)
{
	int status = 0, i;
	__u8 desc[64];

	for (i = 0; !status && i < fabric->hosts; i++) {
		if (_umad_sm_repress(sm, fabric->host[i].lid, 144) < 0)
			return -1;
		status = umad_smp(sm, NULL, fabric->host[i].lid, MAD_GET, SMP_NODE_DESC, 0,
				  memset(desc, 0, sizeof(desc)));
	}
	return status;
}

int _umad_fabric_up(struct umad_fabric *fabric)
{
	/* All LIDs there can be with an LMC of 7 */
	static __u8 lft[(UMAD_FABRIC_HOSTS + 2) << 7];
	struct umad_sm sm;
	int status, i, j;

	if (_umad_sm_open(&fabric->host[0], &sm))
		return -1;

	memset(lft, 255, sizeof(lft));
	for (i = 0; i < fabric->hosts; i++) {
		fabric->host[i].lid = (i + 1) << fabric->lmc;
		for (j = 0; j < 1 << fabric->lmc; j++)
			lft[fabric->host[i].lid + j] = i + 1;
	}

	status = 0;
	if (fabric->star) {
		fabric->sw.lid = (fabric->hosts + 1) << fabric->lmc;
		lft[fabric->sw.lid] = 0;
		status = umad_sm_set_lft(&sm, &umad_to_next, lft, fabric->sw.lid + 1);
		if (!status)
			status = umad_sm_set_port(&sm, &umad_to_next, 0,
						  fabric->sw.lid, 0, fabric->host[0].lid,
						  PORT_NO_CHANGE);
	}
	if (!status)
		status = umad_fabric_set_states(fabric, &sm, PORT_ARMED);
	if (!status)
		status = umad_fabric_set_states(fabric, &sm, PORT_ACTIVE);
	if (!status)
		status = umad_fabric_hush(fabric, &sm);
	umad_sm_close(&sm);
	return status;
}

/* The node GUID of the device of a port, as sysfs has it */
__u64 umad_node_guid(const struct umad_port *port)
{
	__u64 guid = 0;
	char text[64], *c;

	if (umad_sysfs_read(text, sizeof(text), "/sys/class/infiniband/%s/node_guid", port->ibdev))
		return 0;
	for (c = text; *c; c++)
		if (*c != ':')
			guid = guid << 4 | (*c <= '9' ? *c - '0' : *c - 'a' + 10);
	return guid;
}

/* NodeInfo's node GUID and local port number */
__u64 umad_info_guid(const __u8 *node_info)
{
	__be64 guid;

	memcpy(&guid, node_info + 12, sizeof(guid));
	return be64toh(guid);
}

int umad_info_port(const struct umad_smp *smp)
{
	return smp->data[36];
}
