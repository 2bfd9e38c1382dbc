// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The baseline: what an exchange of MADs costs an in-kernel client of the MAD
 * layer. It does what umad_bench.c does through /dev/infiniband/umadN, without
 * umad and system calls. Address handles are made once for each destination.
 *
 * Writing a command to debugfs umad_baseline/run measures, reading the file gives
 * its results in the format of umad_bench.c:
 *
 *	roundtrip SAMPLES	each exchange, with no other under way
 *	outstanding SAMPLES	exchanges and posts while up to 16384 requests
 *				wait, and unregistering at the end
 *	rmpp SAMPLES		messages of up to 1 MiB
 *	hold COUNT		leave so many requests without an answer
 *	release			unregister their agent
 *
 * There is one user, and one command at a time.
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/seq_buf.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/timex.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include <uapi/linux/sched/types.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_smi.h>

#include "rdma_device.h"

/* Nobody has it, so a switch discards what is sent there */
#define ABSENT_LID	0xbfff

#define VENDOR_CLASS	0x32
#define VENDOR_RMPP_CLASS 0x33
#define TIMEOUT_MS	(3600 * 1000)
#define MAX_SAMPLES	4096
#define RMPP_MAX	(1024 * 1024)

static char *device = "madsim0";
module_param(device, charp, 0444);
MODULE_PARM_DESC(device, "RDMA device to send from");

static char *peer = "madsim1";
module_param(peer, charp, 0444);
MODULE_PARM_DESC(peer, "RDMA device to send to");

static const u8 vendor_oui[3] = { 0x00, 0x14, 0x05 };

/* Of an RMPP class in vendor range 2: what lies before the data */
struct vendor_mad {
	struct ib_mad_hdr	mad_hdr;
	struct ib_rmpp_hdr	rmpp_hdr;
	u8			reserved;
	u8			oui[3];
	u8			data[216];
};

static_assert(sizeof(struct vendor_mad) == sizeof(struct ib_mad));

enum exchange { DR0, DR1, LID, PING, EXCHANGES, PERF = EXCHANGES };

static const char * const exchange_names[] = { "dr0", "dr1", "lid", "ping" };

/* The peer, nobody, or the permissive LID */
#define MAX_DESTINATIONS 3

struct destination {
	u16			lid;
	struct ib_ah		*ah;
};

/* An agent that asks, or one that is asked */
struct party {
	struct ib_mad_agent	*agent;
	struct destination	to[MAX_DESTINATIONS];
	struct completion	done;
	u32			tid;
	unsigned int		held;		/* requests outstanding for good */
	u8			*message;	/* of rmpp, where it ends up */
};

static struct ib_device *dev, *peer_dev;
static struct party holder;
static DEFINE_MUTEX(run_lock);
static char *results;
static struct seq_buf out;
static cycles_t *samples;

static void send_handler(struct ib_mad_agent *agent,
			 struct ib_mad_send_wc *send_wc)
{
	ib_free_send_mad(send_wc->send_buf);
}

static void answer_handler(struct ib_mad_agent *agent,
			   struct ib_mad_send_buf *send_buf,
			   struct ib_mad_recv_wc *recv_wc)
{
	struct party *party = agent->context;

	ib_free_recv_mad(recv_wc);
	complete(&party->done);
}

/* As read() does, take the message out of its segments */
static void message_handler(struct ib_mad_agent *agent,
			    struct ib_mad_send_buf *send_buf,
			    struct ib_mad_recv_wc *recv_wc)
{
	struct party *party = agent->context;
	int left = recv_wc->mad_len - IB_MGMT_VENDOR_HDR;
	struct ib_mad_recv_buf *seg;
	u8 *to = party->message;

	list_for_each_entry(seg, &recv_wc->rmpp_list, list) {
		int len = min_t(int, left, sizeof_field(struct vendor_mad, data));

		memcpy(to, ((struct vendor_mad *)seg->mad)->data, len);
		to += len;
		left -= len;
	}
	ib_free_recv_mad(recv_wc);
	complete(&party->done);
}

static int post(struct ib_mad_send_buf *msg, struct ib_ah *ah)
{
	int ret;

	if (IS_ERR(ah)) {
		ib_free_send_mad(msg);
		return PTR_ERR(ah);
	}
	msg->ah = ah;
	ret = ib_post_send_mad(msg, NULL);
	if (ret)
		ib_free_send_mad(msg);
	return ret;
}

static struct ib_ah *create_ah(struct ib_mad_agent *agent, u16 lid)
{
	struct rdma_ah_attr attr = {};

	attr.type = rdma_ah_find_type(agent->device, agent->port_num);
	rdma_ah_set_port_num(&attr, agent->port_num);
	rdma_ah_set_dlid(&attr, lid);
	return rdma_create_ah(agent->qp->pd, &attr, RDMA_CREATE_AH_SLEEPABLE);
}

/* A party posts from one place at a time */
static struct ib_ah *party_ah(struct party *party, u16 lid)
{
	struct destination *to;

	for (to = party->to; to < party->to + MAX_DESTINATIONS; to++) {
		if (!to->ah) {
			struct ib_ah *ah = create_ah(party->agent, lid);

			if (IS_ERR(ah))
				return ah;
			*to = (struct destination){ lid, ah };
		}
		if (to->lid == lid)
			return to->ah;
	}
	return ERR_PTR(-ENOSPC);
}

static void request_handler(struct ib_mad_agent *agent,
			    struct ib_mad_send_buf *send_buf,
			    struct ib_mad_recv_wc *recv_wc)
{
	struct vendor_mad *mad;
	struct ib_mad_send_buf *msg;

	msg = ib_create_send_mad(agent, recv_wc->wc->src_qp, 0, 0,
				 IB_MGMT_VENDOR_HDR, sizeof(mad->data),
				 GFP_KERNEL, IB_MGMT_BASE_VERSION);
	if (!IS_ERR(msg)) {
		mad = msg->mad;
		memcpy(mad, recv_wc->recv_buf.mad, sizeof(*mad));
		mad->mad_hdr.method |= IB_MGMT_METHOD_RESP;
		post(msg, party_ah(agent->context, recv_wc->wc->slid));
	}
	ib_free_recv_mad(recv_wc);
}

static int party_start(struct party *party, struct ib_device *where,
		       enum ib_qp_type qp_type, u8 class, bool rmpp,
		       ib_mad_recv_handler handler)
{
	struct ib_mad_reg_req req = {
		.mgmt_class = class,
		.mgmt_class_version = 1,
	};

	memcpy(req.oui, vendor_oui, sizeof(req.oui));
	__set_bit(IB_MGMT_METHOD_GET, req.method_mask);
	__set_bit(IB_MGMT_METHOD_SEND, req.method_mask);
	init_completion(&party->done);
	party->tid = 0;
	party->held = 0;
	party->agent = ib_register_mad_agent(where, 1, qp_type,
					     class ? &req : NULL,
					     rmpp ? IB_MGMT_RMPP_VERSION : 0,
					     send_handler, handler, party, 0);
	if (!IS_ERR(party->agent))
		return 0;
	return PTR_ERR(no_free_ptr(party->agent));
}

static void party_end(struct party *party)
{
	unsigned int i;

	if (!IS_ERR_OR_NULL(party->agent))
		ib_unregister_mad_agent(party->agent);
	/* Nothing that uses them is under way any more */
	for (i = 0; i < MAX_DESTINATIONS; i++)
		if (party->to[i].ah)
			rdma_destroy_ah(party->to[i].ah,
					RDMA_DESTROY_AH_SLEEPABLE);
	memset(party->to, 0, sizeof(party->to));
	party->agent = NULL;
}

static u16 lid_of(struct ib_device *where)
{
	struct ib_port_attr attr;

	return ib_query_port(where, 1, &attr) ? 0 : attr.lid;
}

static __be64 next_tid(struct party *party)
{
	return cpu_to_be64((u64)party->agent->hi_tid << 32 | ++party->tid);
}

/* SubnGet(NodeInfo), by LID or, if that is permissive, by 0 or 1 hops */
static int post_smp(struct party *party, u16 lid, u8 hops)
{
	struct ib_mad_send_buf *msg;
	struct ib_smp *smp;

	msg = ib_create_send_mad(party->agent, 0, 0, 0, IB_MGMT_MAD_HDR,
				 IB_MGMT_MAD_DATA, GFP_KERNEL,
				 IB_MGMT_BASE_VERSION);
	if (IS_ERR(msg))
		return PTR_ERR(msg);

	smp = msg->mad;
	smp->base_version = IB_MGMT_BASE_VERSION;
	smp->mgmt_class = IB_MGMT_CLASS_SUBN_LID_ROUTED;
	smp->class_version = 1;
	smp->method = IB_MGMT_METHOD_GET;
	smp->tid = next_tid(party);
	smp->attr_id = IB_SMP_ATTR_NODE_INFO;
	if (lid == be16_to_cpu(IB_LID_PERMISSIVE)) {
		smp->mgmt_class = IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE;
		smp->hop_cnt = hops;
		smp->initial_path[1] = hops;
		smp->dr_slid = IB_LID_PERMISSIVE;
		smp->dr_dlid = IB_LID_PERMISSIVE;
	}
	msg->timeout_ms = TIMEOUT_MS;
	return post(msg, party_ah(party, lid));
}

static int post_vendor(struct party *party, u16 lid, u8 class, u8 method,
		       const u8 *data, int len)
{
	bool rmpp = class == VENDOR_RMPP_CLASS;
	struct ib_mad_send_buf *msg;
	struct vendor_mad *mad;
	int seg;

	msg = ib_create_send_mad(party->agent, 1, 0, rmpp, IB_MGMT_VENDOR_HDR,
				 len, GFP_KERNEL, IB_MGMT_BASE_VERSION);
	if (IS_ERR(msg))
		return PTR_ERR(msg);

	mad = msg->mad;
	mad->mad_hdr.base_version = IB_MGMT_BASE_VERSION;
	mad->mad_hdr.mgmt_class = class;
	mad->mad_hdr.class_version = 1;
	mad->mad_hdr.method = method;
	mad->mad_hdr.tid = next_tid(party);
	memcpy(mad->oui, vendor_oui, sizeof(mad->oui));
	if (!rmpp) {
		memcpy(mad->data, data, len);
	} else {
		ib_set_rmpp_flags(&mad->rmpp_hdr, IB_MGMT_RMPP_FLAG_ACTIVE);
		mad->rmpp_hdr.rmpp_type = IB_MGMT_RMPP_TYPE_DATA;
		mad->rmpp_hdr.rmpp_version = IB_MGMT_RMPP_VERSION;
		for (seg = 1; len > 0; seg++, len -= msg->seg_size) {
			memcpy(ib_get_rmpp_segment(msg, seg), data,
			       min(len, msg->seg_size));
			data += msg->seg_size;
		}
	}
	/* A message ends with its acknowledgment, a request with the answer */
	msg->timeout_ms = rmpp ? 0 : TIMEOUT_MS;
	return post(msg, party_ah(party, lid));
}

/* PerformanceGet(ClassPortInfo) */
static int post_perf(struct party *party, u16 lid)
{
	struct ib_mad_send_buf *msg;
	struct ib_mad_hdr *hdr;

	msg = ib_create_send_mad(party->agent, 1, 0, 0, IB_MGMT_MAD_HDR,
				 IB_MGMT_MAD_DATA, GFP_KERNEL,
				 IB_MGMT_BASE_VERSION);
	if (IS_ERR(msg))
		return PTR_ERR(msg);

	hdr = msg->mad;
	hdr->base_version = IB_MGMT_BASE_VERSION;
	hdr->mgmt_class = IB_MGMT_CLASS_PERF_MGMT;
	hdr->class_version = 1;
	hdr->method = IB_MGMT_METHOD_GET;
	hdr->tid = next_tid(party);
	hdr->attr_id = IB_MGMT_CLASSPORTINFO_ATTR_ID;
	msg->timeout_ms = TIMEOUT_MS;
	return post(msg, party_ah(party, lid));
}

static int post_exchange(struct party *party, enum exchange what, u16 lid)
{
	static const u8 text[sizeof_field(struct vendor_mad, data)] = "ping";

	switch (what) {
	case DR0:
	case DR1:
		return post_smp(party, be16_to_cpu(IB_LID_PERMISSIVE),
				what == DR1);
	case LID:
		return post_smp(party, lid, 0);
	case PERF:
		return post_perf(party, lid);
	default:
		return post_vendor(party, lid, VENDOR_CLASS, IB_MGMT_METHOD_GET,
				   text, sizeof(text));
	}
}

static int compare(const void *a, const void *b)
{
	cycles_t x = *(const cycles_t *)a, y = *(const cycles_t *)b;

	return x < y ? -1 : x > y;
}

static void tell(const char *figure, unsigned int x, unsigned int n)
{
	sort(samples, n, sizeof(*samples), compare, NULL);
	seq_buf_printf(&out, "%s %u %llu %llu\n", figure, x, samples[0],
		       samples[n / 2]);
}

static int wait_for(struct party *party)
{
	return wait_for_completion_timeout(&party->done, 30 * HZ) ? 0 :
	       -ETIMEDOUT;
}

static void run_as(int policy)
{
	const struct sched_attr attr = {
		.sched_policy	= policy,
		.sched_priority	= policy == SCHED_FIFO,
	};

	WARN_ON(sched_setattr_nocheck(current, &attr));
}

/* Exchanges, or the posts that begin them */
static int measure(struct party *party, const char *figure, unsigned int x,
		   enum exchange what, unsigned int n, bool posts)
{
	u16 lid = lid_of(peer_dev);
	cycles_t start, posted;
	unsigned int i;
	int ret = 0;

	/* For both, see umad_bench.c */
	run_as(posts ? SCHED_FIFO : SCHED_IDLE);
	if (!posts)
		n *= 4;
	for (i = 0; !ret && i < n; i++) {
		if (!posts && i % 16 == 0)
			fsleep(20 * 1000);
		start = get_cycles();
		ret = post_exchange(party, what, lid);
		posted = get_cycles();
		/* As at the end of a system call */
		schedule();
		if (!ret)
			ret = wait_for(party);
		samples[i] = (posts ? posted : get_cycles()) - start;
		if (posts)
			fsleep(1000);
	}
	run_as(SCHED_NORMAL);
	if (ret)
		return ret;
	tell(figure, x, n);
	return 0;
}

/* What a handle for each send would add, as some clients make it */
static int measure_ah(struct party *party, unsigned int n)
{
	u16 lid = lid_of(peer_dev);
	unsigned int i;

	for (i = 0; i < n; i++) {
		cycles_t start = get_cycles();
		struct ib_ah *ah = create_ah(party->agent, lid);

		if (IS_ERR(ah))
			return PTR_ERR(ah);
		rdma_destroy_ah(ah, RDMA_DESTROY_AH_SLEEPABLE);
		samples[i] = get_cycles() - start;
	}
	tell("ah", 1, n);
	return 0;
}

static int measure_each(struct party *smi, struct party *gsi, unsigned int n)
{
	enum exchange what;
	int ret = 0;

	for (what = DR0; !ret && what < EXCHANGES; what++) {
		struct party *party = what == PING ? gsi : smi;
		char figure[32];

		snprintf(figure, sizeof(figure), "roundtrip.%s",
			 exchange_names[what]);
		ret = measure(party, figure, 1, what, n, false);
		snprintf(figure, sizeof(figure), "write.%s",
			 exchange_names[what]);
		if (!ret)
			ret = measure(party, figure, 1, what, n, true);
	}
	return ret;
}

static int run_roundtrip(unsigned int n)
{
	struct party smi = {}, gsi = {}, server = {};
	int ret;

	ret = party_start(&smi, dev, IB_QPT_SMI, 0, false, answer_handler);
	if (!ret)
		ret = party_start(&gsi, dev, IB_QPT_GSI, 0, false,
				  answer_handler);
	if (!ret)
		ret = party_start(&server, peer_dev, IB_QPT_GSI, VENDOR_CLASS,
				  false, request_handler);
	if (!ret)
		ret = measure_each(&smi, &gsi, n);
	if (!ret)
		ret = measure_ah(&smi, n);
	party_end(&server);
	party_end(&gsi);
	party_end(&smi);
	return ret;
}

/* Of a class whose requests the MAD layer does not hold back, see umad_bench.c */
static int hold(struct party *party, unsigned int count)
{
	int ret = 0;

	if (!party->agent)
		ret = party_start(party, dev, IB_QPT_GSI, 0, false,
				  answer_handler);
	while (!ret && party->held < count) {
		ret = post_perf(party, ABSENT_LID);
		/* The send queue wants to drain */
		if (++party->held % 64 == 0)
			fsleep(1000);
	}
	fsleep(200 * 1000);
	return ret;
}

static int run_outstanding(unsigned int n)
{
	static const unsigned int others[] = { 0, 15, 255, 1023, 4095, 16383 };
	struct party party = {};
	cycles_t start;
	unsigned int i;
	int ret = 0;

	for (i = 0; !ret && i < ARRAY_SIZE(others); i++) {
		ret = hold(&party, others[i]);
		if (!ret)
			ret = measure(&party, "outstanding", others[i] + 1, PERF,
				      n, false);
		if (!ret)
			ret = measure(&party, "outstanding.write",
				      others[i] + 1, PERF, n, true);
	}
	start = get_cycles();
	party_end(&party);
	samples[0] = get_cycles() - start;
	if (!ret)
		tell("close", others[i - 1], 1);
	return ret;
}

static int run_rmpp(unsigned int n)
{
	static const unsigned int lengths[] = {
		216, 1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, RMPP_MAX
	};
	struct party client = {}, server = {};
	u16 lid = lid_of(peer_dev);
	unsigned int i, k;
	u8 *message;
	int ret = -ENOMEM;

	message = vzalloc(RMPP_MAX);
	server.message = vzalloc(RMPP_MAX);
	if (!message || !server.message)
		goto out;

	ret = party_start(&client, dev, IB_QPT_GSI, 0, true, answer_handler);
	if (!ret)
		ret = party_start(&server, peer_dev, IB_QPT_GSI,
				  VENDOR_RMPP_CLASS, true, message_handler);
	for (i = 0; !ret && i < ARRAY_SIZE(lengths); i++) {
		for (k = 0; !ret && k < n; k++) {
			cycles_t start = get_cycles();

			message[lengths[i] - 1] = k + 1;
			ret = post_vendor(&client, lid, VENDOR_RMPP_CLASS,
					  IB_MGMT_METHOD_SEND, message,
					  lengths[i]);
			if (!ret)
				ret = wait_for(&server);
			samples[k] = get_cycles() - start;
			if (!ret && memcmp(message, server.message, lengths[i]))
				ret = -EBADMSG;
			/* The last acknowledgment is on its way back */
			fsleep(10 * 1000);
		}
		if (!ret)
			tell("rmpp", lengths[i], n);
	}
	party_end(&server);
	party_end(&client);
out:
	vfree(server.message);
	vfree(message);
	return ret;
}

static int run(char *command)
{
	char name[16];
	unsigned int n;

	if (sysfs_streq(command, "release")) {
		party_end(&holder);
		return 0;
	}
	if (sscanf(command, "%15s %u", name, &n) != 2)
		return -EINVAL;
	if (!strcmp(name, "hold"))
		return hold(&holder, n);
	if (!n || n > MAX_SAMPLES / 4)
		return -EINVAL;
	if (!strcmp(name, "roundtrip"))
		return run_roundtrip(n);
	if (!strcmp(name, "outstanding"))
		return run_outstanding(n);
	if (!strcmp(name, "rmpp"))
		return run_rmpp(n);
	return -EINVAL;
}

static ssize_t run_write(struct file *filp, const char __user *buf,
			 size_t count, loff_t *pos)
{
	char command[32];
	int ret;

	if (count >= sizeof(command))
		return -EINVAL;
	if (copy_from_user(command, buf, count))
		return -EFAULT;
	command[count] = 0;

	mutex_lock(&run_lock);
	seq_buf_clear(&out);
	ret = run(command);
	mutex_unlock(&run_lock);
	return ret ?: count;
}

static ssize_t run_read(struct file *filp, char __user *buf, size_t count,
			loff_t *pos)
{
	ssize_t ret;

	mutex_lock(&run_lock);
	ret = simple_read_from_buffer(buf, count, pos, results,
				      seq_buf_used(&out));
	mutex_unlock(&run_lock);
	return ret;
}

static const struct file_operations run_fops = {
	.owner	= THIS_MODULE,
	.read	= run_read,
	.write	= run_write,
};

static struct dentry *dir;

static void baseline_free(void)
{
	if (peer_dev)
		ib_device_put(peer_dev);
	if (dev)
		ib_device_put(dev);
	kfree(samples);
	kfree(results);
}

static int __init baseline_init(void)
{
	results = kzalloc(PAGE_SIZE, GFP_KERNEL);
	samples = kcalloc(MAX_SAMPLES, sizeof(*samples), GFP_KERNEL);
	dev = rdma_device_get(device);
	peer_dev = rdma_device_get(peer);
	if (!results || !samples || !dev || !peer_dev) {
		baseline_free();
		return -ENODEV;
	}
	seq_buf_init(&out, results, PAGE_SIZE);
	dir = debugfs_create_dir("umad_baseline", NULL);
	debugfs_create_file("run", 0600, dir, NULL, &run_fops);
	return 0;
}
module_init(baseline_init);

static void __exit baseline_exit(void)
{
	debugfs_remove(dir);
	party_end(&holder);
	baseline_free();
}
module_exit(baseline_exit);

MODULE_DESCRIPTION("What an exchange of MADs costs without umad");
MODULE_LICENSE("Dual BSD/GPL");
