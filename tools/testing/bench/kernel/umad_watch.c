// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What the handlers of a umad module cost, whichever module it is.
 *
 * Writing 1 to debugfs umad_watch/handlers forgets what was measured, and
 * every MAD agent that is registered from now on calls its handlers through
 * us; writing 0 ends that for further agents. Reading tells the cost of a
 * call, in the format of umad_bench.c.
 *
 * Agents keep our handlers for good, so this module cannot be unloaded.
 */
#include <linux/debugfs.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/sort.h>
#include <linux/timex.h>
#include <rdma/ib_mad.h>

#define MAX_SAMPLES	4096

struct handler {
	const char	*name;
	cycles_t	samples[MAX_SAMPLES];
	unsigned int	n;
};

static struct handler recv = { .name = "handler.recv" };
static struct handler send = { .name = "handler.send" };

/* All watched agents belong to one module */
static ib_mad_recv_handler umad_recv;
static ib_mad_send_handler umad_send;

static void account(struct handler *handler, cycles_t cost)
{
	if (handler->n < MAX_SAMPLES)
		handler->samples[handler->n++] = cost;
}

static void watch_recv(struct ib_mad_agent *agent,
		       struct ib_mad_send_buf *send_buf,
		       struct ib_mad_recv_wc *recv_wc)
{
	cycles_t start = get_cycles();

	umad_recv(agent, send_buf, recv_wc);
	account(&recv, get_cycles() - start);
}

static void watch_send(struct ib_mad_agent *agent,
		       struct ib_mad_send_wc *send_wc)
{
	cycles_t start = get_cycles();

	umad_send(agent, send_wc);
	account(&send, get_cycles() - start);
}

static int registered(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct ib_mad_agent *agent = (void *)regs_return_value(regs);

	if (IS_ERR(agent) || agent->recv_handler == watch_recv)
		return 0;
	umad_recv = agent->recv_handler;
	umad_send = agent->send_handler;
	agent->recv_handler = watch_recv;
	agent->send_handler = watch_send;
	return 0;
}

static struct kretprobe probe = {
	.kp.symbol_name	= "ib_register_mad_agent",
	.handler	= registered,
};

static int compare(const void *a, const void *b)
{
	cycles_t x = *(const cycles_t *)a, y = *(const cycles_t *)b;

	return x < y ? -1 : x > y;
}

static void tell(struct seq_file *m, struct handler *handler)
{
	unsigned int n = handler->n;

	if (!n)
		return;
	sort(handler->samples, n, sizeof(*handler->samples), compare, NULL);
	seq_printf(m, "%s 1 %llu %llu\n", handler->name, handler->samples[0],
		   handler->samples[n / 2]);
}

static int handlers_show(struct seq_file *m, void *unused)
{
	tell(m, &recv);
	tell(m, &send);
	return 0;
}

static int handlers_open(struct inode *inode, struct file *filp)
{
	return single_open(filp, handlers_show, NULL);
}

static ssize_t handlers_write(struct file *filp, const char __user *buf,
			      size_t count, loff_t *pos)
{
	bool watch;
	int ret;

	ret = kstrtobool_from_user(buf, count, &watch);
	if (ret)
		return ret;
	if (watch) {
		recv.n = 0;
		send.n = 0;
		ret = enable_kretprobe(&probe);
	} else {
		ret = disable_kretprobe(&probe);
	}
	return ret ?: count;
}

static const struct file_operations handlers_fops = {
	.owner		= THIS_MODULE,
	.open		= handlers_open,
	.read		= seq_read,
	.llseek		= seq_lseek,
	.release	= single_release,
	.write		= handlers_write,
};

static int __init watch_init(void)
{
	int ret;

	probe.kp.flags = KPROBE_FLAG_DISABLED;
	ret = register_kretprobe(&probe);
	if (ret)
		return ret;
	debugfs_create_file("handlers", 0600,
			    debugfs_create_dir("umad_watch", NULL), NULL,
			    &handlers_fops);
	return 0;
}
module_init(watch_init);

MODULE_DESCRIPTION("What the handlers of a umad module cost");
MODULE_LICENSE("Dual BSD/GPL");
