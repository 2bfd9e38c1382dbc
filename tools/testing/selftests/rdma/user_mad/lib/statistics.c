// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "statistics.h"

const char *const umad_statistic_names[UMAD_STATISTICS] = {
	"sent", "received", "rmpp_sent", "rmpp_received",
	"timeouts", "send_errors",
	"refused_duplicate", "refused_limit", "refused_memory",
	"dropped_limit", "dropped_memory", "dropped_rmpp", "dropped_address",
	"files", "agents", "outstanding", "unread",
};

/* -1 if there is no such file */
long umad_statistic(const struct umad_port *port, const char *name)
{
	char text[32];

	return umad_sysfs_read(text, sizeof(text), "/sys/class/infiniband_mad/%s/statistics/%s",
			       port->name, name) ? -1 : atol(text);
}

struct umad_statistics umad_statistics(const struct umad_port *port)
{
	struct umad_statistics all;
	size_t i;

	for (i = 0; i < UMAD_STATISTICS; i++)
		all.value[i] = umad_statistic(port, umad_statistic_names[i]);
	return all;
}

/*
 * The words of @changes, such as "sent+1 unread-1", tell all that has changed since
 * the last time; @said then has what did.
 */
bool umad_changed_by(struct umad_statistics *before, const struct umad_port *port,
		     const char *changes, char *said, size_t size)
{
	struct umad_statistics now = umad_statistics(port);
	size_t i, len = 0;

	said[0] = 0;
	for (i = 0; i < UMAD_STATISTICS; i++)
		if (now.value[i] != before->value[i])
			len += snprintf(said + len, size - len, "%s%s%+ld",
					len ? " " : "", umad_statistic_names[i],
					now.value[i] - before->value[i]);
	if (strcmp(said, changes))
		return false;
	*before = now;
	return true;
}
