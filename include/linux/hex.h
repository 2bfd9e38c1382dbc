/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Where older kernels have it, which lack this header: theirs comes first */
#include <linux/kernel.h>
