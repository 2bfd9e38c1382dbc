// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Statistics of a port: /sys/class/infiniband_mad/umadN/statistics/. Counters are per CPU,
 * as each send and receive counts. Gauges are summed up when they are read.
 */
#include <linux/sysfs.h>

#include "user_mad.h"

static unsigned long umad_counter(const struct umad_port *port, enum umad_stat stat)
{
	unsigned long sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(port->stats, cpu)->count[stat]);
	return sum;
}

/* Gauges, numbered behind the counters */
enum {
	UMAD_GAUGE_FILES = UMAD_STATS,
	UMAD_GAUGE_AGENTS,
	UMAD_GAUGE_OUTSTANDING,
	UMAD_GAUGE_UNREAD,
};

static unsigned long umad_gauge(struct umad_port *port, unsigned int gauge)
{
	unsigned long files = 0, outstanding = 0, unread = 0;
	struct umad_file *file;

	lockdep_assert_held(&port->lock);
	list_for_each_entry(file, &port->files, port_list) {
		files++;
		outstanding += atomic_read(&file->sends);
		unread += READ_ONCE(file->unread);
	}

	switch (gauge) {
	case UMAD_GAUGE_FILES:
		return files;
	case UMAD_GAUGE_AGENTS:
		return atomic_read(&port->agents);
	case UMAD_GAUGE_OUTSTANDING:
		return outstanding;
	default:
		return unread;
	}
}

/* The reader must be in a network namespace from which it could open the device */
static ssize_t stat_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct dev_ext_attribute *ext = container_of(attr, struct dev_ext_attribute, attr);
	struct umad_port *port = dev_get_drvdata(dev);
	uintptr_t stat = (uintptr_t)ext->var;
	int ret;

	mutex_lock(&port->lock);
	ret = umad_port_access(port);
	if (!ret)
		ret = sysfs_emit(buf, "%lu\n", stat < UMAD_STATS ?
				 umad_counter(port, stat) : umad_gauge(port, stat));
	mutex_unlock(&port->lock);
	return ret;
}

#define UMAD_FILE(name, stat)						\
	(&((struct dev_ext_attribute[]) { {				\
		__ATTR(name, 0400, stat_show, NULL),			\
		(void *)(uintptr_t)(stat),				\
	} })[0].attr.attr)

static struct attribute *umad_stats_attrs[] = {
	UMAD_FILE(sent, UMAD_STAT_SENT),
	UMAD_FILE(received, UMAD_STAT_RECEIVED),
	UMAD_FILE(rmpp_sent, UMAD_STAT_RMPP_SENT),
	UMAD_FILE(rmpp_received, UMAD_STAT_RMPP_RECEIVED),
	UMAD_FILE(timeouts, UMAD_STAT_TIMEOUTS),
	UMAD_FILE(send_errors, UMAD_STAT_SEND_ERRORS),
	UMAD_FILE(refused_duplicate, UMAD_STAT_REFUSED_DUPLICATE),
	UMAD_FILE(refused_limit, UMAD_STAT_REFUSED_LIMIT),
	UMAD_FILE(refused_memory, UMAD_STAT_REFUSED_MEMORY),
	UMAD_FILE(dropped_limit, UMAD_STAT_DROPPED_LIMIT),
	UMAD_FILE(dropped_memory, UMAD_STAT_DROPPED_MEMORY),
	UMAD_FILE(dropped_rmpp, UMAD_STAT_DROPPED_RMPP),
	UMAD_FILE(dropped_address, UMAD_STAT_DROPPED_ADDRESS),
	UMAD_FILE(files, UMAD_GAUGE_FILES),
	UMAD_FILE(agents, UMAD_GAUGE_AGENTS),
	UMAD_FILE(outstanding, UMAD_GAUGE_OUTSTANDING),
	UMAD_FILE(unread, UMAD_GAUGE_UNREAD),
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
