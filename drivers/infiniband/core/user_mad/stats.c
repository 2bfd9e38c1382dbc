// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What a port counts, and how much it has at the moment:
 * /sys/class/infiniband_mad/umadN/statistics/.
 *
 * Counters go up for as long as the port exists. They are per CPU, as whatever is
 * sent or received is counted.
 */
#include <linux/device.h>
#include <linux/percpu.h>
#include <linux/sysfs.h>

#include "user_mad.h"

/**
 * umad_stats_init - give a port its counters
 * @port: a port nobody else sees yet
 *
 * Return: 0 or -ENOMEM.
 */
int umad_stats_init(struct umad_port *port)
{
	port->stats = alloc_percpu(struct umad_stats);
	return port->stats ? 0 : -ENOMEM;
}

/**
 * umad_stats_exit - undo umad_stats_init()
 * @port: a port nobody else sees any more
 */
void umad_stats_exit(struct umad_port *port)
{
	free_percpu(port->stats);
}

static ssize_t counter_show(struct device *dev, struct device_attribute *attr,
			    char *buf)
{
	struct dev_ext_attribute *ext = container_of(attr, struct dev_ext_attribute,
						     attr);
	enum umad_stat stat = (enum umad_stat)(uintptr_t)ext->var;
	struct umad_port *port = dev_get_drvdata(dev);
	unsigned long sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(port->stats, cpu)->count[stat]);
	return sysfs_emit(buf, "%lu\n", sum);
}

#define UMAD_COUNTER(name, stat)					\
	static struct dev_ext_attribute dev_attr_##name = {		\
		__ATTR(name, 0444, counter_show, NULL),			\
		(void *)(uintptr_t)(stat),				\
	}

UMAD_COUNTER(sent, UMAD_STAT_SENT);
UMAD_COUNTER(received, UMAD_STAT_RECEIVED);
UMAD_COUNTER(rmpp_sent, UMAD_STAT_RMPP_SENT);
UMAD_COUNTER(rmpp_received, UMAD_STAT_RMPP_RECEIVED);
UMAD_COUNTER(timeouts, UMAD_STAT_TIMEOUTS);
UMAD_COUNTER(send_errors, UMAD_STAT_SEND_ERRORS);
UMAD_COUNTER(refused_duplicate, UMAD_STAT_REFUSED_DUPLICATE);
UMAD_COUNTER(refused_limit, UMAD_STAT_REFUSED_LIMIT);
UMAD_COUNTER(refused_memory, UMAD_STAT_REFUSED_MEMORY);
UMAD_COUNTER(dropped_limit, UMAD_STAT_DROPPED_LIMIT);
UMAD_COUNTER(dropped_memory, UMAD_STAT_DROPPED_MEMORY);
UMAD_COUNTER(dropped_address, UMAD_STAT_DROPPED_ADDRESS);

/* What the open descriptors of a port have, together */
struct umad_sums {
	unsigned long	files;
	unsigned long	outstanding;
	unsigned long	unread;
};

static struct umad_sums umad_port_sums(struct umad_port *port)
{
	struct umad_sums sums = {};
	struct umad_file *file;

	mutex_lock(&port->files_lock);
	list_for_each_entry(file, &port->files, port_list) {
		sums.files++;
		sums.outstanding += atomic_read(&file->sends);
		sums.unread += READ_ONCE(file->unread);
	}
	mutex_unlock(&port->files_lock);

	return sums;
}

static ssize_t files_show(struct device *dev, struct device_attribute *attr,
			  char *buf)
{
	return sysfs_emit(buf, "%lu\n",
			  umad_port_sums(dev_get_drvdata(dev)).files);
}
static DEVICE_ATTR_RO(files);

static ssize_t agents_show(struct device *dev, struct device_attribute *attr,
			   char *buf)
{
	struct umad_port *port = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%d\n", atomic_read(&port->agents));
}
static DEVICE_ATTR_RO(agents);

static ssize_t outstanding_show(struct device *dev,
				struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%lu\n",
			  umad_port_sums(dev_get_drvdata(dev)).outstanding);
}
static DEVICE_ATTR_RO(outstanding);

static ssize_t unread_show(struct device *dev, struct device_attribute *attr,
			   char *buf)
{
	return sysfs_emit(buf, "%lu\n",
			  umad_port_sums(dev_get_drvdata(dev)).unread);
}
static DEVICE_ATTR_RO(unread);

static struct attribute *umad_stats_attrs[] = {
	&dev_attr_sent.attr.attr,
	&dev_attr_received.attr.attr,
	&dev_attr_rmpp_sent.attr.attr,
	&dev_attr_rmpp_received.attr.attr,
	&dev_attr_timeouts.attr.attr,
	&dev_attr_send_errors.attr.attr,
	&dev_attr_refused_duplicate.attr.attr,
	&dev_attr_refused_limit.attr.attr,
	&dev_attr_refused_memory.attr.attr,
	&dev_attr_dropped_limit.attr.attr,
	&dev_attr_dropped_memory.attr.attr,
	&dev_attr_dropped_address.attr.attr,
	&dev_attr_files.attr,
	&dev_attr_agents.attr,
	&dev_attr_outstanding.attr,
	&dev_attr_unread.attr,
	NULL,
};

static const struct attribute_group umad_stats_group = {
	.name	= "statistics",
	.attrs	= umad_stats_attrs,
};

const struct attribute_group *umad_stats_groups[] = {
	&umad_stats_group,
	NULL,
};
