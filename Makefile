# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Front door of user_mad; `make help` lists what it can do.

KDIR ?= $(patsubst %/include/generated/utsrelease.h,%,$(shell ls -d \
	/usr/src/linux-headers-*/include/generated/utsrelease.h 2>/dev/null | \
	sort -V | tail -n 1))
# What `uname -r` says there; Debian's include/config/kernel.release may differ
KREL = $(shell cut -s -d'"' -f2 $(KDIR)/include/generated/utsrelease.h 2>/dev/null)
VERSION := $(shell sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' dkms.conf 2>/dev/null)
OUT = build/$(KREL)
src = $(CURDIR)/$(OUT)/src

kbuild = $(MAKE) -C $(KDIR) USER_MAD_VERSION=$(VERSION) CONFIG_INFINIBAND_USER_MAD= \
	CONFIG_INFINIBAND_MADSIM= CONFIG_DEBUG_INFO_BTF_MODULES= \
	$(if $(OFA),OFA=$(OFA) KBUILD_EXTRA_SYMBOLS=$(OFA)/Module.symvers)

# An ib_core that is not the kernel's own, such as OFED's, where modules are installed for KDIR
core = $(if $(filter $(realpath $(KDIR)),$(realpath /lib/modules/$(KREL)/build)),$(shell \
	modinfo -k $(KREL) -F filename ib_core 2>/dev/null | grep '^/' | grep -v /$(KREL)/kernel/))
# It wants modules that were built with its headers: where OFED leaves them
OFA ?= $(if $(core),$(patsubst %/Module.symvers,%,$(firstword \
	$(wildcard /usr/src/ofa_kernel/*/$(KREL)/Module.symvers))))

# What include/probe found out of this kernel
has = $(src)/include/probe/kernel_has.h
# Files of ib_madsim for what only later kernels have: include/ has others for these
stand_ins = bus:BUS_CONST port_speed:QUERY_PORT_SPEED sub:ADD_SUB_DEV
MODULES ?= ib_umad ib_madsim
# It is left out where the kernel lacks something, if nobody has asked for it by name
optional := $(if $(filter file,$(origin MODULES)),ib_madsim)

.PHONY: modules
modules: check-kdir check-ofa
	@mkdir -p $(OUT)/src
	@# Objects go where the sources are: build beside links to ours, and
	@# forget the links to what is no longer there.
	@cp -rsf $(CURDIR)/Kbuild $(CURDIR)/drivers $(CURDIR)/include $(src)/
	@find $(src) -xtype l -delete
	+@$(kbuild) M=$(dir $(has)) modules >$(OUT)/log 2>&1 || { cat $(OUT)/log; \
		why=$$(grep -m 1 'error: \| is wrong$$\|\*\*\*' $(OUT)/log); \
		echo "the headers of $(KDIR) cannot be asked for what they offer: $$why"; exit 1; } >&2
	@[ ! -d $(src)/drivers/infiniband/sw/madsim ] || for stand_in in $(stand_ins); do \
		name=$${stand_in%:*}; \
		grep -q "HAS_$${stand_in#*:} " $(has) || \
			ln -sf $(CURDIR)/include/madsim_no_$$name.c \
				$(src)/drivers/infiniband/sw/madsim/device/$$name.c; \
	done
	@# Each module by itself: when one cannot be built, the other is there.
	@# What a failing one says is said again for the line that tells why.
	@rm -f $(OUT)/failed $(OUT)/log
	+@for module in $(MODULES); do \
		ko=$$module.ko; \
		why=$$(sed -n "s|^/\* \($$module needs .*\) \*/|\1|p" $(has) | head -n 1); \
		if [ "$$why" ]; then \
			rm -f $(OUT)/$$ko; \
			case $$module in \
			"$(optional)")	echo "$$why: building ib_umad alone" ;; \
			*)		echo "$$why" >>$(OUT)/failed ;; \
			esac; \
			continue; \
		fi; \
		case $$module in \
		ib_umad)	option=CONFIG_INFINIBAND_USER_MAD=m ;; \
		ib_madsim)	option=CONFIG_INFINIBAND_MADSIM=m ;; \
		*)		echo "$$module is no module of ours" >>$(OUT)/failed; continue ;; \
		esac; \
		if $(kbuild) M=$(src) $$option modules; then \
			find $(src) -name $$ko -exec cp -u -t $(OUT) {} +; \
		else \
			rm -f $(OUT)/$$ko; \
			$(kbuild) M=$(src) -s $$option modules >$(OUT)/log 2>&1; \
			why=$$(sed 's|$(src)/||' $(OUT)/log | grep -i -m 1 'error: \|\*\*\*'); \
			printf '%s\n' "$$ko cannot be built for Linux $(KREL): $${why:-see above}" \
				>>$(OUT)/failed; \
		fi; \
	done
	@[ ! -e $(OUT)/failed ] || { cat $(OUT)/failed >&2; exit 1; }

.PHONY: check-kdir
check-kdir:
	$(if $(word 2,$(CURDIR)),$(error the kernel build system cannot work in a path with spaces: move $(CURDIR)))
	$(if $(KDIR),,$(error no kernel headers in /usr/src: as root run `apt-get install linux-headers-amd64`, or set KDIR=))
	$(if $(KREL),,$(error KDIR=$(KDIR) is not a built kernel or its headers: it has no include/generated/utsrelease.h))

# DKMS would move away an ib_umad that packages of OFED brought, and bring it back when they
# have another one. Of one that it built itself it has what belongs there: see give-back
built_by_dkms = $(wildcard /var/lib/dkms/*/kernel-$(KREL)-*/module/$(notdir $(core)))

.PHONY: check-ofa
check-ofa:
	$(if $(and $(DKMS),$(core)),$(if $(built_by_dkms),,$(error ib_core of $(KREL) is $(core), of a package that DKMS would disturb: see OFED in INSTALL.md)))
	$(if $(core),$(if $(OFA),,$(error ib_core of $(KREL) is $(core), not the kernel's own: OFA= has to name the headers that it was built with, such as /usr/src/ofa_kernel/default)))
	$(if $(OFA),$(if $(wildcard $(OFA)/Module.symvers),,$(error OFA=$(OFA) has no headers of OFED: there is no Module.symvers)))

# depmod prefers what is in updates/ to the kernel's own, but not to what a package of OFED says
# in a file with an earlier name
updates = $(DESTDIR)/lib/modules/$(KREL)/updates
override = $(DESTDIR)/etc/depmod.d/zz99-user-mad.conf
prefix = /usr/local
madsim = $(DESTDIR)$(prefix)/share/madsim
tools = tools/infiniband
umad_check = $(MAKE) -s -C tools/infiniband/umad-check OUTPUT=$(CURDIR)/build/umad-check \
	DESTDIR=$(DESTDIR) prefix=$(prefix)

.PHONY: umad-check
umad-check:
	@scripts/umad-check $(KSFT_DIR)

.PHONY: install
install: check-kdir
	$(if $(wildcard $(OUT)/*.ko),,$(error nothing is built for $(KREL): run make first))
	install -D -m 644 -t $(updates) $(wildcard $(OUT)/*.ko)
	mkdir -p $(DESTDIR)/etc/depmod.d
	echo 'override ib_umad * updates' >$(override)
	install -D -m 644 -t $(DESTDIR)$(prefix)/share/man/man4 man/*.4
	install -D -m 644 -t $(DESTDIR)$(prefix)/share/man/man8 $(addprefix $(tools)/,madsim-load/madsim-load.8 \
		madsim-load/madsim-host.8 madsim-load/madsim-ufm.8 \
		madsim-record/madsim-record.8 madsim-vm/madsim-vm.8 madsim-wire/madsim-wire.8 \
		madsim-wire/umaddump.8 umadstat/umadstat.8)
	install -D -m 644 -t $(madsim) $(wildcard $(tools)/madsim-load/*.awk) $(tools)/madsim-load/hosts.sh \
		$(addprefix $(tools)/madsim-vm/,vm.sh qemu.sh workflow.yml) \
		$(tools)/madsim-wire/tracepcap.py
	install -D -t $(madsim) $(addprefix $(tools)/madsim-load/,madsim-load madsim-host madsim-ufm) \
		$(addprefix $(tools)/madsim-vm/,madsim-vm fabric init session) \
		$(addprefix $(tools)/madsim-wire/,madsim-wire umaddump)
	install -D -t $(DESTDIR)$(prefix)/sbin $(tools)/umadstat/umadstat $(tools)/madsim-record/madsim-record
	ln -sf $(addprefix ../share/madsim/,madsim-load madsim-host madsim-ufm madsim-vm madsim-wire umaddump) \
		$(DESTDIR)$(prefix)/sbin/
	$(if $(wildcard build/umad-check/umad-check),$(umad_check) install)
	$(if $(DESTDIR),,depmod $(KREL))

.PHONY: uninstall
uninstall: check-kdir
	rm -f $(updates)/ib_umad.ko $(updates)/ib_madsim.ko $(override)
	rm -f $(addprefix $(DESTDIR)$(prefix)/share/man/man4/,$(notdir $(wildcard man/*.4)))
	rm -f $(addprefix $(DESTDIR)$(prefix)/share/man/man8/,madsim-load.8 madsim-host.8 madsim-record.8 \
		madsim-ufm.8 madsim-vm.8 madsim-wire.8 umaddump.8 umadstat.8)
	rm -rf $(madsim) $(addprefix $(DESTDIR)$(prefix)/sbin/,madsim-load madsim-host madsim-record \
		madsim-ufm madsim-vm madsim-wire umaddump umadstat)
	$(umad_check) uninstall
	-rmdir --ignore-fail-on-non-empty $(updates)
	$(if $(DESTDIR),,depmod $(KREL))

# Tests, and what runs them: each folder of tools/testing with a program "run" is a suite
.PHONY: test test-all test-release
test:
	@scripts/run-tests $(if $(CHANGED),--changed) $(TEST)

test-all:
	@scripts/run-tests --all $(SHARD:%=--shard %)

test-release:
	@scripts/run-tests --release $(SHARD:%=--shard %)

test-%:
	@scripts/run-tests $(subst test-,,$@)$(ARG:%=:%) $(TEST)

.PHONY: demo demo-data
demo:
	@scripts/demo fabric

demo-data:
	@scripts/demo data

.PHONY: bench coverage
bench:
	@tools/testing/bench/measure --repeat 2

coverage:
	@tools/testing/sanitize/coverage

.PHONY: deb rpm
deb rpm:
	@scripts/packages/$@

.PHONY: series-fixes series-check
series-fixes:
	@scripts/series/fixes $(LINUX)

series-check:
	@scripts/run-tests fixes

.PHONY: clean
clean:
	rm -rf build

.PHONY: help
help:
	@cat scripts/help
	@for run in tools/testing/*/run; do \
		suite=$${run%/run}; \
		star=' '; \
		! grep -q '^#	make test-release' $$run || star=-; \
		! grep -q '^#	make test-all' $$run || star=+; \
		! grep -q '^#	make test	' $$run || star='*'; \
		printf 'make %-15s%s %s\n' "test-$${suite##*/}" "$$star" \
			"$$(sed -n '4s/^# //p' $$run)"; \
	done
	@echo
	@echo 'All but make alone, install and uninstall get the Debian packages they lack, as root.'
