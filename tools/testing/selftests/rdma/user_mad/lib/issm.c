// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "issm.h"

/* A simulated host of either kind whose issm we hold */
int _umad_issm_make(struct umad_issm *issm, enum umad_device_kind kind)
{
	int ret;

	memset(issm, 0, sizeof(*issm));
	issm->holder = -1;
	ret = umad_device_make(&issm->device, kind);
	if (ret)
		return ret;
	umad_issm_dev(&issm->device.port, issm->path);
	issm->holder = open(issm->path, O_RDWR | O_CLOEXEC);
	return issm->holder < 0 ? -errno : 0;
}

void umad_issm_free(struct umad_issm *issm)
{
	if (issm->holder >= 0)
		close(issm->holder);
	umad_device_free(&issm->device);
}
