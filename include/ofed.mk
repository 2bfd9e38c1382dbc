# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# OFED's headers stand before the kernel's, and behind what its configuration found there. For
# a Kbuild, where OFA= names their folder.

ifneq ($(OFA),)
LINUXINCLUDE := -I$(OFA)/include -I$(OFA)/include/uapi $(LINUXINCLUDE) \
	-include $(OFA)/include/linux/compat-2.6.h
endif
