// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What it costs the kernel to copy as many bytes as a message of verbs_bench.c has.
 *
 * Reading debugfs copy_cost tells it, in the format of that program.
 */
#include <linux/debugfs.h>
#include <linux/irqflags.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/sizes.h>
#include <linux/timex.h>

static struct dentry *file;

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

static int copy_cost_show(struct seq_file *m, void *unused)
{
	static const size_t lengths[] = { 64, SZ_4K, SZ_1M };
	void *from = kvzalloc(SZ_1M, GFP_KERNEL);
	void *to = kvzalloc(SZ_1M, GFP_KERNEL);
	unsigned int i;

	for (i = 0; from && to && i < ARRAY_SIZE(lengths); i++) {
		cycles_t cost = copy(to, from, lengths[i]);

		seq_printf(m, "verbs.copy %zu %llu %llu\n", lengths[i], cost, cost);
	}
	kvfree(from);
	kvfree(to);
	return from && to ? 0 : -ENOMEM;
}
DEFINE_SHOW_ATTRIBUTE(copy_cost);

static int __init copy_cost_init(void)
{
	file = debugfs_create_file("copy_cost", 0400, NULL, NULL, &copy_cost_fops);
	return 0;
}
module_init(copy_cost_init);

static void __exit copy_cost_exit(void)
{
	debugfs_remove(file);
}
module_exit(copy_cost_exit);

MODULE_DESCRIPTION("What it costs to copy");
MODULE_LICENSE("Dual BSD/GPL");
