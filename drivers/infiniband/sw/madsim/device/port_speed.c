// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The speed of a port as one number. Programs ask kernels since 7.0 for it. */

#include "device.h"

/* In 100 Mb/s, as "rate" in sysfs has it */
static int madsim_query_port_speed(struct ib_device *ibdev, u32 num, u64 *speed)
{
	struct ib_port_speed_info info = {};
	struct ib_port_attr attr;
	int ret;

	ret = ib_query_port(ibdev, num, &attr);
	if (!ret && attr.state != IB_PORT_DOWN)
		ret = ib_port_attr_to_speed_info(&attr, &info);
	*speed = info.rate;
	return ret;
}

const struct ib_device_ops madsim_port_speed_ops = {
	.query_port_speed = madsim_query_port_speed,
};
