// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Apart from the rest, because the headers of the kernel and of libibumad
 * cannot be used together.
 */
#include <errno.h>
#include <sys/ioctl.h>
#include <rdma/ib_user_mad.h>

#include "flags.h"

int flags_refused(int fd, __u8 mgmt_class, __u32 *flags)
{
	struct ib_user_mad_reg_req2 request = {
		.qpn = 1,
		.mgmt_class = mgmt_class,
		.mgmt_class_version = 1,
		.flags = *flags,
	};
	int rc;

	rc = ioctl(fd, IB_USER_MAD_REGISTER_AGENT2, &request) ? errno : 0;
	*flags = request.flags;
	return rc;
}
