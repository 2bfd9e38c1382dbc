// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What the kernel takes, in the format of umad_bench.c, in two files of debugfs:
 *
 * cost/handlers	the handlers of a umad module, whichever module it is: while
 *			this module is loaded, each MAD agent that is registered calls
 *			its handlers through us
 * cost/copy		a copy of as many bytes as a message of verbs_bench.c has
 *
 * Agents keep our handlers for good. guest.sh removes this module when no agent is left
 * that was registered meanwhile.
 */
#include <linux/debugfs.h>
#include <linux/irqflags.h>
#include <linux/kprobes.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/sizes.h>
#include <linux/timex.h>
#include <rdma/ib_mad.h>

static cycles_t least_recv = ~0ULL, least_send = ~0ULL;

/* All watched agents belong to one module */
static ib_mad_recv_handler umad_recv;
static ib_mad_send_handler umad_send;

static void watch_recv(struct ib_mad_agent *agent, struct ib_mad_send_buf *send_buf,
		       struct ib_mad_recv_wc *recv_wc)
{
	cycles_t start = get_cycles();

	umad_recv(agent, send_buf, recv_wc);
	start = get_cycles() - start;
	least_recv = min(least_recv, start);
}

static void watch_send(struct ib_mad_agent *agent, struct ib_mad_send_wc *send_wc)
{
	cycles_t start = get_cycles();

	umad_send(agent, send_wc);
	start = get_cycles() - start;
	least_send = min(least_send, start);
}

static int registered(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct ib_mad_agent *agent = (void *)regs_return_value(regs);

	if (IS_ERR(agent))
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

static int handlers_show(struct seq_file *m, void *unused)
{
	if (least_recv == ~0ULL || least_send == ~0ULL)
		return -ENODATA;
	seq_printf(m, "handler.recv 1 %llu\nhandler.send 1 %llu\n", least_recv, least_send);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(handlers);

/* In one piece; a second time, when all of it is in reach */
static cycles_t copy(void *to, const void *from, size_t bytes)
{
	unsigned long flags;
	cycles_t start;

	memcpy(to, from, bytes);
	local_irq_save(flags);
	start = get_cycles();
	memcpy(to, from, bytes);
	start = get_cycles() - start;
	local_irq_restore(flags);
	return start;
}

static int copy_show(struct seq_file *m, void *unused)
{
	static const size_t lengths[] = { 64, SZ_4K, SZ_1M };
	void *from = kvzalloc(SZ_1M, GFP_KERNEL);
	void *to = kvzalloc(SZ_1M, GFP_KERNEL);
	unsigned int i;

	for (i = 0; from && to && i < ARRAY_SIZE(lengths); i++)
		seq_printf(m, "verbs.copy %zu %llu\n", lengths[i], copy(to, from, lengths[i]));
	kvfree(from);
	kvfree(to);
	return from && to ? 0 : -ENOMEM;
}
DEFINE_SHOW_ATTRIBUTE(copy);

static struct dentry *dir;

static int __init cost_init(void)
{
	int ret = register_kretprobe(&probe);

	if (ret)
		return ret;
	dir = debugfs_create_dir("cost", NULL);
	debugfs_create_file("handlers", 0400, dir, NULL, &handlers_fops);
	debugfs_create_file("copy", 0400, dir, NULL, &copy_fops);
	return 0;
}
module_init(cost_init);

static void __exit cost_exit(void)
{
	debugfs_remove(dir);
	unregister_kretprobe(&probe);
}
module_exit(cost_exit);

MODULE_DESCRIPTION("What the kernel takes for handlers and copies");
MODULE_LICENSE("Dual BSD/GPL");
