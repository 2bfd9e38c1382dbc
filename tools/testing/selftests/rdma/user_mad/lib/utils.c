// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "utils.h"

int umad_sysfs_read(char *buf, size_t size, const char *fmt, ...)
{
	char path[512];
	va_list ap;
	ssize_t n;
	int fd;

	va_start(ap, fmt);
	vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = read(fd, buf, size - 1);
	close(fd);
	if (n < 0)
		return -1;
	while (n && buf[n - 1] == '\n')
		n--;
	buf[n] = 0;
	return 0;
}

/*
 * Writes to an attribute. O_NONBLOCK is for the limits of cgroups: newer kernels kill
 * no process to get below one that is set so. O_TRUNC is for traces.
 */
int umad_sysfs_write(const char *path, const char *value)
{
	ssize_t len = strlen(value), n;
	int fd, err;

	fd = open(path, O_WRONLY | O_TRUNC | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = write(fd, value, len);
	err = errno;
	close(fd);
	errno = err;
	return n == len ? 0 : -1;
}

int umad_read_gid(const struct umad_port *port, int index, __u8 gid[16])
{
	char text[64];

	if (umad_sysfs_read(text, sizeof(text), "/sys/class/infiniband/%s/ports/%d/gids/%d",
			    port->ibdev, port->port, index))
		return -1;
	return inet_pton(AF_INET6, text, gid) == 1 ? 0 : -1;
}

/* The attributes of umad@n */
int umad_read_port(int n, struct umad_port *port)
{
	char text[64];

	snprintf(port->name, sizeof(port->name), "umad%d", n);
	if (umad_sysfs_read(port->ibdev, sizeof(port->ibdev),
			    "/sys/class/infiniband_mad/%s/ibdev", port->name) ||
	    umad_sysfs_read(text, sizeof(text), "/sys/class/infiniband_mad/%s/port", port->name))
		return -1;
	port->port = atoi(text);
	snprintf(port->dev, sizeof(port->dev), "/dev/infiniband/%s", port->name);
	return 0;
}

/* An attribute of the port in sysfs */
int umad_port_attr(const struct umad_port *port, const char *name, char *buf, size_t size)
{
	return umad_sysfs_read(buf, size, "/sys/class/infiniband/%s/ports/%d/%s",
			       port->ibdev, port->port, name);
}

/* The capability mask, or all bits if it cannot be read */
__u32 umad_port_caps(const struct umad_port *port)
{
	char text[32];

	return umad_port_attr(port, "cap_mask", text, sizeof(text)) ? ~0U :
	       strtoul(text, NULL, 0);
}

/*
 * The port that run.sh -p names: one of the host, which others use as well. So
 * the tests send to this port alone, but for what port.c says, and change nothing.
 */
const char *umad_shared_port(void)
{
	static char port[64];
	const char *name = getenv("UMAD_PORT");

	if (!name || !*name)
		return NULL;
	snprintf(port, sizeof(port), "%.*s", (int)strcspn(name, ","), name);
	return port;
}

/* Whether run.sh -p was given its issm, too */
bool umad_shared_issm(void)
{
	const char *name = getenv("UMAD_PORT");

	return name && strstr(name, ",issm");
}

/* With a port of one's own it is Soft-RoCE */
bool umad_is_roce(const struct umad_port *port)
{
	return !port->lid;
}

/* The address by which the port sends a MAD to itself */
static int umad_port_address(struct umad_port *port)
{
	static const __u8 mapped[12] = { [10] = 0xff, [11] = 0xff };
	static const __u8 zero[16];
	bool found = false;
	char text[64];
	__u8 gid[16];
	int i;

	if (umad_port_attr(port, "link_layer", text, sizeof(text)))
		return -1;
	if (strcmp(text, "Ethernet")) {
		if (umad_port_attr(port, "lid", text, sizeof(text)))
			return -1;
		port->lid = strtoul(text, NULL, 0);
		if (!port->lid)
			return -1;
	}

	port->gid_ipv4 = -1;
	port->gid_empty = -1;
	for (i = 0; i < 256 && !umad_read_gid(port, i, gid); i++) {
		if (!memcmp(gid, mapped, 12)) {
			if (port->gid_ipv4 < 0)
				port->gid_ipv4 = i;
		} else if (!memcmp(gid, zero, 16)) {
			if (port->gid_empty < 0)
				port->gid_empty = i;
		} else if (!found) {
			found = true;
			port->gid_index = i;
			memcpy(port->gid, gid, 16);
		}
	}
	return found ? 0 : -1;
}

/*
 * Finds the port that run.sh -p names, or else the first umad device whose port
 * is an Ethernet one (Soft-RoCE).
 */
int umad_find_port(struct umad_port *port)
{
	const char *name = umad_shared_port();
	int n;

	for (n = 0; n < 1024; n++) {
		memset(port, 0, sizeof(*port));
		if (umad_read_port(n, port) ||
		    (name && strcmp(name, port->name)) || umad_port_address(port))
			continue;
		if (!name && (!umad_is_roce(port) || port->gid_index ||
			      port->gid[0] != 0xfe || port->gid[1] != 0x80))
			continue;
		return 0;
	}
	return -1;
}

/*
 * On a port that others use: an agent that gets requests and leaves them, as the
 * MAD layer answers a request that it has no agent for. It goes with the process.
 */
int umad_deafen(const struct umad_port *port)
{
	struct umad_reg reg = umad_reg_vendor(2, 1ULL << MAD_GET | 1ULL << MAD_SET |
						 1ULL << MAD_SEND);
	struct umad_file file;

	if (!umad_shared_port())
		return 0;
	reg.oui = DEAF_OUI;
	return _umad_open(port, O_RDWR, &file) || _umad_register(&file, &reg) ? -1 : 0;
}

long long umad_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

void umad_sleep_ms(int ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000L };

	nanosleep(&ts, NULL);
}

/* The calling thread goes to this CPU, and stays there */
int umad_run_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set);
}

/* A child that only has to be there, until it is killed or its parent is gone */
void umad_wait_as_child(pid_t parent)
{
	while (getppid() == parent)
		umad_sleep_ms(UMAD_QUIET_MS);
	_exit(0);
}

static bool umad_env_is(const char *name, const char *value)
{
	const char *is = getenv(name);

	return is && !strcmp(is, value);
}

/* Set by run.sh -a: ib_umad of any kernel, which may or may not have been mended */
bool umad_any_reference(void)
{
	return umad_env_is("UMAD_REFERENCE", "any");
}

/* Set by run.sh when the programs are pointed at the kernel's old module */
bool umad_reference(void)
{
	return umad_env_is("UMAD_REFERENCE", "1") || umad_any_reference();
}

/* The value of a line "name value" or "name: value kB", in its unit */
long umad_line_value(const char *path, const char *name)
{
	size_t len = strlen(name);
	long value = -1;
	char line[128];
	FILE *f;

	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, name, len))
			value = atol(line + len);
	if (f)
		fclose(f);
	return value;
}

/* In bytes. Each CPU keeps what it has counted last to itself, unless told not to */
long umad_meminfo(const char *name)
{
	umad_sysfs_write("/proc/sys/vm/stat_refresh", "1");
	return umad_line_value("/proc/meminfo", name) * 1024;
}

/* Set on a kernel with sanitizers */
bool umad_slow_kernel(void)
{
	return umad_env_is("UMAD_PACE", "slow");
}

/* ... and where there is time for all that a test could try */
bool umad_thorough(void)
{
	return umad_env_is("UMAD_PACE", "thorough");
}

/* Whether this kernel puts more around each object than there is in it, to find misuse */
bool umad_slab_padded(void)
{
	FILE *file = fopen("/sys/kernel/slab/kmalloc-64/red_zone", "r");
	bool padded = umad_kernel_has("kasan_report");

	if (file) {
		padded |= fgetc(file) == '1';
		fclose(file);
	}
	return padded;
}

int umad_fixed_ms(void)
{
	if (!umad_reference())
		return UMAD_SOON_MS;
	return umad_slow_kernel() ? UMAD_FIXED_SLOW_MS : UMAD_FIXED_MS;
}

/* Whether the running kernel, with its modules, has a function */
bool umad_kernel_has(const char *function)
{
	size_t len = strlen(function);
	bool found = false;
	char line[512];
	char *name;
	FILE *f;

	f = fopen("/proc/kallsyms", "r");
	while (f && !found && fgets(line, sizeof(line), f)) {
		name = strrchr(strtok(line, "\t\n"), ' ');
		found = name && !strncmp(name + 1, function, len) && !name[len + 1];
	}
	if (f)
		fclose(f);
	return found;
}

int _umad_open(const struct umad_port *port, int flags, struct umad_file *file)
{
	file->fd = open(port->dev, flags | O_CLOEXEC);
	file->hlen = UMAD_HDR_OLD;
	return file->fd < 0 ? -1 : 0;
}

void umad_close(struct umad_file *file)
{
	if (file->fd > 0)
		close(file->fd);
	file->fd = -1;
}

int _umad_enable_pkey(struct umad_file *file)
{
	int ret = ioctl(file->fd, IB_USER_MAD_ENABLE_PKEY, 0);

	if (!ret)
		file->hlen = UMAD_HDR_NEW;
	return ret;
}

struct umad_reg umad_reg_send_only(int api)
{
	return (struct umad_reg){ .api = api, .qpn = 1 };
}

/* An agent that asks the SA. With methods added it is the SA */
struct umad_reg umad_reg_sa(void)
{
	return (struct umad_reg){
		.api = 2,
		.qpn = 1,
		.mgmt_class = MAD_CLASS_SA,
		.class_version = 2,
		.rmpp_version = 1,
	};
}

/* An agent of QP0 */
struct umad_reg umad_reg_smp(int api, __u8 mgmt_class, __u64 low_methods)
{
	return (struct umad_reg){
		.api = api,
		.mgmt_class = mgmt_class,
		.class_version = 1,
		.methods = { low_methods },
	};
}

struct umad_reg umad_reg_vendor(int api, __u64 low_methods)
{
	return (struct umad_reg){
		.api = api,
		.qpn = 1,
		.mgmt_class = MAD_CLASS_VENDOR2,
		.class_version = 1,
		.oui = TEST_OUI,
		.methods = { low_methods },
	};
}

/* The same, which leaves RMPP to the kernel */
struct umad_reg umad_reg_rmpp(int api, __u64 low_methods)
{
	struct umad_reg reg = umad_reg_vendor(api, low_methods);

	reg.rmpp_version = 1;
	return reg;
}

static void umad_reg_encode1(const struct umad_reg *reg, struct ib_user_mad_reg_req *req)
{
	unsigned int bits = 8 * sizeof(long), i;

	memset(req, 0, sizeof(*req));
	req->id = 0xdeadbeef;
	req->qpn = reg->qpn;
	req->mgmt_class = reg->mgmt_class;
	req->mgmt_class_version = reg->class_version;
	req->oui[0] = reg->oui >> 16;
	req->oui[1] = reg->oui >> 8;
	req->oui[2] = reg->oui;
	req->rmpp_version = reg->rmpp_version;
	for (i = 0; i < 128; i++)
		if (reg->methods[i / 64] >> i % 64 & 1)
			req->method_mask[i / bits] |= 1UL << i % bits;
}

void umad_reg_encode2(const struct umad_reg *reg, struct ib_user_mad_reg_req2 *req)
{
	memset(req, 0, sizeof(*req));
	req->id = 0xdeadbeef;
	req->qpn = reg->qpn;
	req->mgmt_class = reg->mgmt_class;
	req->mgmt_class_version = reg->class_version;
	req->flags = reg->flags;
	req->method_mask[0] = reg->methods[0];
	req->method_mask[1] = reg->methods[1];
	req->oui = reg->oui;
	req->rmpp_version = reg->rmpp_version;
}

/* Copies an encoded request to @arg and returns its size */
size_t umad_reg_encode(const struct umad_reg *reg, void *arg)
{
	struct ib_user_mad_reg_req req1;
	struct ib_user_mad_reg_req2 req2;

	if (reg->api == 1) {
		umad_reg_encode1(reg, &req1);
		memcpy(arg, &req1, sizeof(req1));
		return sizeof(req1);
	}
	umad_reg_encode2(reg, &req2);
	memcpy(arg, &req2, sizeof(req2));
	return sizeof(req2);
}

unsigned long umad_reg_cmd(const struct umad_reg *reg)
{
	return reg->api == 1 ? IB_USER_MAD_REGISTER_AGENT :
			       IB_USER_MAD_REGISTER_AGENT2;
}

int _umad_register(struct umad_file *file, struct umad_reg *reg)
{
	union {
		struct ib_user_mad_reg_req req1;
		struct ib_user_mad_reg_req2 req2;
	} req;
	int ret;

	umad_reg_encode(reg, &req);
	ret = ioctl(file->fd, umad_reg_cmd(reg), &req);
	reg->id = reg->api == 1 ? req.req1.id : req.req2.id;
	if (reg->api == 2)
		reg->flags = req.req2.flags;
	return ret;
}

int _umad_unregister(struct umad_file *file, __u32 id)
{
	return ioctl(file->fd, IB_USER_MAD_UNREGISTER_AGENT, &id);
}

const struct umad_abi umad_abi_new = UMAD_ABI_v2_new;

/*
 * Opens a descriptor that speaks the layout of @abi and is otherwise fresh.
 * The old layout with REGISTER_AGENT2 takes an agent registered by the first
 * ioctl and given up again.
 */
int _umad_open_abi(const struct umad_port *port, const struct umad_abi *abi,
		   int flags, struct umad_file *file)
{
	struct umad_reg reg = umad_reg_send_only(1);

	if (_umad_open(port, flags, file))
		return -1;
	if (abi->hlen == UMAD_HDR_NEW)
		return _umad_enable_pkey(file);
	if (abi->api == 2 && (_umad_register(file, &reg) || _umad_unregister(file, reg.id)))
		return -1;
	return 0;
}

/* ... and does not wait, with the agent @reg, whose id is set */
int _umad_open_agent(const struct umad_port *port, const struct umad_abi *abi,
		     struct umad_reg *reg, struct umad_file *file)
{
	return _umad_open_abi(port, abi, O_RDWR | O_NONBLOCK, file) ||
	       _umad_register(file, reg) ? -1 : 0;
}

struct umad_msg umad_msg(const struct umad_port *port, __u32 id, __u8 method, __u64 tid)
{
	struct umad_msg msg = {
		.hdr = {
			.id = id,
			.qpn = htobe32(1),
			.qkey = htobe32(0x80010000),
			.lid = htobe16(port->lid),
			.grh_present = umad_is_roce(port),
			.gid_index = port->gid_index,
			.hop_limit = 64,
		},
		.mad = {
			.base_version = 1,
			.mgmt_class = MAD_CLASS_VENDOR2,
			.class_version = 1,
			.method = method,
			.tid = htobe64(tid),
			.attr_id = htobe16(0x1234),
			.attr_mod = htobe32(0x56789abc),
			.oui = { TEST_OUI >> 16, TEST_OUI >> 8 & 0xff,
				 TEST_OUI & 0xff },
		},
	};
	unsigned int i;

	memcpy(msg.hdr.gid, port->gid, 16);
	for (i = 0; i < sizeof(msg.mad.data); i++)
		msg.mad.data[i] = i ^ tid;
	return msg;
}

struct umad_msg umad_request(const struct umad_port *port, __u32 id, __u8 method,
			     __u64 tid, int timeout_ms)
{
	struct umad_msg msg = umad_msg(port, id, method, tid);

	msg.hdr.timeout_ms = timeout_ms;
	return msg;
}

struct umad_msg umad_lost_request(const struct umad_port *port, __u32 id, __u8 method,
				  __u64 tid, int timeout_ms)
{
	struct umad_msg msg = umad_request(port, id, method, tid, timeout_ms);

	umad_msg_to_nobody(&msg);
	return msg;
}

/* To one that does not answer: a neighbour or a LID that does not exist, or the deaf agent */
void umad_msg_to_nobody(struct umad_msg *msg)
{
	static const __u8 gid[16] = { 0xfe, 0x80, [14] = 0x12, [15] = 0x34 };

	if (umad_shared_port())
		msg->mad.oui[2] = DEAF_OUI & 0xff;
	else if (msg->hdr.grh_present)
		memcpy(msg->hdr.gid, gid, 16);
	else
		msg->hdr.lid = htobe16(LID_UNUSED);
}

/* To a multicast group: its receiver has no GID index to tell of that */
void umad_msg_to_group(struct umad_msg *msg)
{
	static const __u8 gid[16] = { 0xff, 0x12, [15] = 1 };

	msg->hdr.grh_present = 1;
	memcpy(msg->hdr.gid, gid, 16);
}

/* The kernel cuts it up then, if the agent is one with RMPP */
void umad_make_active(struct umad_msg *msg)
{
	msg->mad.rmpp_version = 1;
	msg->mad.rmpp_type = MAD_RMPP_DATA;
	msg->mad.rmpp_flags = MAD_RMPP_ACTIVE;
}

size_t umad_pack(const struct umad_file *file, const struct umad_msg *msg,
		 size_t mad_len, void *buf)
{
	memcpy(buf, &msg->hdr, file->hlen);
	memcpy(buf + file->hlen, &msg->mad, mad_len);
	return file->hlen + mad_len;
}

ssize_t _umad_write_len(const struct umad_file *file, const struct umad_msg *msg, size_t len)
{
	__u8 buf[UMAD_HDR_NEW + MAD_SIZE];

	return write(file->fd, buf, umad_pack(file, msg, len, buf));
}

ssize_t _umad_write(const struct umad_file *file, const struct umad_msg *msg)
{
	return _umad_write_len(file, msg, MAD_SIZE);
}

short _umad_poll(const struct umad_file *file, int ms)
{
	struct pollfd pfd = {
		.fd = file->fd,
		.events = POLLIN | POLLRDNORM | POLLOUT | POLLWRNORM | POLLPRI,
	};
	long long end = umad_now_ms() + ms;

	/* POLLOUT is always there: asking for it too would never wait */
	pfd.events = POLLIN;
	while (poll(&pfd, 1, ms) < 0 && errno == EINTR)
		ms = end > umad_now_ms() ? end - umad_now_ms() : 0;

	pfd.events = POLLIN | POLLRDNORM | POLLOUT | POLLWRNORM | POLLPRI;
	poll(&pfd, 1, 0);
	return pfd.revents;
}

bool umad_readable(const struct umad_file *file, int ms)
{
	return _umad_poll(file, ms) & POLLIN;
}

/* @len bytes beyond the header are asked for */
ssize_t _umad_read_len(const struct umad_file *file, struct umad_msg *msg, size_t len)
{
	__u8 buf[UMAD_HDR_NEW + MAD_SIZE];
	ssize_t n;

	memset(msg, 0, sizeof(*msg));
	n = read(file->fd, buf, file->hlen + len);
	if (n >= (ssize_t)file->hlen) {
		memcpy(&msg->hdr, buf, file->hlen);
		memcpy(&msg->mad, buf + file->hlen, n - file->hlen);
	}
	return n;
}

ssize_t _umad_read(const struct umad_file *file, struct umad_msg *msg)
{
	return _umad_read_len(file, msg, MAD_SIZE);
}

/* A descriptor that was opened with O_NONBLOCK waits from now on */
int _umad_make_blocking(const struct umad_file *file)
{
	return fcntl(file->fd, F_SETFL, fcntl(file->fd, F_GETFL) & ~O_NONBLOCK);
}

/* A value of a descriptor's fdinfo; -1 if it is not there */
long umad_fdinfo(const struct umad_file *file, const char *name)
{
	char path[64], line[64];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", file->fd);
	snprintf(line, sizeof(line), "%s:", name);
	return umad_line_value(path, line);
}

/* Whether such a value comes up to @least within @ms */
bool umad_fdinfo_reaches(const struct umad_file *file, const char *name, long least, int ms)
{
	return umad_within(ms, umad_fdinfo(file, name) >= least);
}

int _umad_border(struct umad_border *border, int prot)
{
	border->page = sysconf(_SC_PAGESIZE);
	border->base = mmap(NULL, 2 * border->page, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (border->base == MAP_FAILED)
		return -1;
	return mprotect(border->base + border->page, border->page, prot);
}

/* @len bytes before the border */
void *umad_before(const struct umad_border *border, size_t len)
{
	return border->base + border->page - len;
}

void umad_border_free(struct umad_border *border)
{
	munmap(border->base, 2 * border->page);
}
