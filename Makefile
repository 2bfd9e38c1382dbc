# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Front door of user_mad; `make help` lists what it can do.

KDIR ?= $(shell ls -d /usr/src/linux-headers-*-amd64 2>/dev/null | sort -V | tail -n 1)
KREL = $(shell cat $(KDIR)/include/config/kernel.release)
OUT = build/$(KREL)

.PHONY: modules
modules:
	mkdir -p $(OUT)/src
	cp -ruT Kbuild $(OUT)/src/Kbuild
	cp -ru drivers include $(OUT)/src/
	$(MAKE) -C $(KDIR) M=$(CURDIR)/$(OUT)/src $(if $(C),C=$(C)) $(if $(W),W=$(W)) modules
	cp -u $(OUT)/src/drivers/infiniband/core/user_mad/ib_umad.ko $(OUT)/
