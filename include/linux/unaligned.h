/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Where kernels before 6.12 have it, which lack this header: theirs comes first */
#include <asm/unaligned.h>
