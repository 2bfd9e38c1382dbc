// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * How long a machine of one CPU was in the kernel: all but idle time and what
 * lies between the return from a system call and the next one. Interrupts
 * count to what they interrupt.
 *
 * Writing 1 to debugfs kernel_time/kernel starts from zero, writing 0 stops,
 * reading tells in the format of umad_bench.c.
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/timex.h>
#include <linux/tracepoint.h>

enum mode { KERNEL, USER, IDLE, MODES };

static cycles_t spent[MODES], since;
static enum mode mode;

/* Tasks that were interrupted in user mode, and go on there */
static struct task_struct *interrupted[256];

/* Called with preemption disabled */
static void enter(enum mode next)
{
	cycles_t now = get_cycles();

	spent[mode] += now - since;
	since = now;
	mode = next;
}

static bool replace(struct task_struct *old, struct task_struct *new)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(interrupted); i++) {
		if (interrupted[i] == old) {
			interrupted[i] = new;
			return true;
		}
	}
	return false;
}

/* Since 6.13, the probes of system calls may be preempted */
static void on_sys_enter(void *data, struct pt_regs *regs, long id)
{
	preempt_disable();
	enter(KERNEL);
	preempt_enable();
}

static void on_sys_exit(void *data, struct pt_regs *regs, long ret)
{
	preempt_disable();
	enter(USER);
	preempt_enable();
}

static void on_sched_switch(void *data, bool preempt, struct task_struct *prev,
			    struct task_struct *next, unsigned int prev_state)
{
	if (mode == USER)
		WARN_ON_ONCE(!replace(NULL, prev));
	enter(is_idle_task(next) ? IDLE : replace(next, NULL) ? USER : KERNEL);
}

static struct probe {
	const char		*name;
	void			*function;
	struct tracepoint	*tracepoint;
} probes[] = {
	{ "sys_enter", on_sys_enter },
	{ "sys_exit", on_sys_exit },
	{ "sched_switch", on_sched_switch },
};

static bool running;

static void stop(void)
{
	unsigned int i;

	if (!running)
		return;
	for (i = 0; i < ARRAY_SIZE(probes); i++)
		tracepoint_probe_unregister(probes[i].tracepoint,
					    probes[i].function, NULL);
	tracepoint_synchronize_unregister();
	running = false;
}

static int start(void)
{
	unsigned int i;
	int ret;

	stop();
	memset(spent, 0, sizeof(spent));
	memset(interrupted, 0, sizeof(interrupted));
	since = get_cycles();
	mode = KERNEL;
	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		ret = tracepoint_probe_register(probes[i].tracepoint,
						probes[i].function, NULL);
		if (ret)
			goto err;
	}
	running = true;
	return 0;

err:
	while (i--)
		tracepoint_probe_unregister(probes[i].tracepoint,
					    probes[i].function, NULL);
	return ret;
}

static int kernel_time_show(struct seq_file *m, void *unused)
{
	seq_printf(m, "opensm 1 %llu %llu\n", spent[KERNEL], spent[KERNEL]);
	seq_printf(m, "opensm.user 1 %llu %llu\n", spent[USER], spent[USER]);
	return 0;
}

static int kernel_time_open(struct inode *inode, struct file *filp)
{
	return single_open(filp, kernel_time_show, NULL);
}

static ssize_t kernel_time_write(struct file *filp, const char __user *buf,
				 size_t count, loff_t *pos)
{
	bool on;
	int ret;

	ret = kstrtobool_from_user(buf, count, &on);
	if (!ret && on)
		ret = start();
	else if (!ret)
		stop();
	return ret ?: count;
}

static const struct file_operations kernel_time_fops = {
	.owner		= THIS_MODULE,
	.open		= kernel_time_open,
	.read		= seq_read,
	.llseek		= seq_lseek,
	.release	= single_release,
	.write		= kernel_time_write,
};

static struct dentry *dir;

static void find(struct tracepoint *tracepoint, void *unused)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(probes); i++)
		if (!strcmp(tracepoint->name, probes[i].name))
			probes[i].tracepoint = tracepoint;
}

static int __init kernel_time_init(void)
{
	unsigned int i;

	if (num_online_cpus() != 1)
		return -EOPNOTSUPP;
	for_each_kernel_tracepoint(find, NULL);
	for (i = 0; i < ARRAY_SIZE(probes); i++)
		if (!probes[i].tracepoint)
			return -ENOENT;
	dir = debugfs_create_dir("kernel_time", NULL);
	debugfs_create_file("kernel", 0600, dir, NULL, &kernel_time_fops);
	return 0;
}
module_init(kernel_time_init);

static void __exit kernel_time_exit(void)
{
	debugfs_remove(dir);
	stop();
}
module_exit(kernel_time_exit);

MODULE_DESCRIPTION("How long a machine was in the kernel");
MODULE_LICENSE("Dual BSD/GPL");
