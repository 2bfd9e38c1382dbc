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

kbuild = $(MAKE) -C $(KDIR) M=$(src) USER_MAD_VERSION=$(VERSION) CONFIG_INFINIBAND_USER_MAD= \
	CONFIG_INFINIBAND_MADSIM= CONFIG_DEBUG_INFO_BTF_MODULES=

# Whether that is Linux $(1) or newer
since = $(filter $(1),$(shell printf '%s\n' $(1) '$(KREL)' | sort -V | head -n 1))
MODULES ?= ib_umad $(if $(call since,6.1),ib_madsim)

.PHONY: modules
modules: check-kdir
	@mkdir -p $(OUT)/src
	$(if $(filter ib_madsim,$(MODULES))$(call since,6.1),,@rm -f $(OUT)/ib_madsim.ko; \
		echo 'ib_madsim needs Linux 6.1 or newer: building ib_umad alone')
	@# Objects go where the sources are: build beside links to ours, and
	@# forget the links to what is no longer there.
	@cp -rsf $(CURDIR)/Kbuild $(CURDIR)/drivers $(CURDIR)/include $(src)/
	@find $(src) -xtype l -delete
	@# Each module by itself: when one cannot be built, the other is there.
	@# What a failing one says is said again for the line that tells why.
	@rm -f $(OUT)/failed $(OUT)/log
	+@for module in $(MODULES); do \
		ko=$$module.ko; \
		case $$module in \
		ib_umad)	option=CONFIG_INFINIBAND_USER_MAD=m ;; \
		ib_madsim)	option=CONFIG_INFINIBAND_MADSIM=m ;; \
		*)		echo "$$module is no module of ours" >>$(OUT)/failed; continue ;; \
		esac; \
		if $(kbuild) $$option modules; then \
			find $(src) -name $$ko -exec cp -u -t $(OUT) {} +; \
		else \
			rm -f $(OUT)/$$ko; \
			$(kbuild) -s $$option modules >$(OUT)/log 2>&1; \
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
	$(if $(call since,5.10),,$(error kernel $(KREL) is too old: user_mad needs 5.10 or newer))

# depmod prefers what is in updates/ to the kernel's own
updates = $(DESTDIR)/lib/modules/$(KREL)/updates
prefix = /usr/local
madsim = $(DESTDIR)$(prefix)/share/madsim
umadstat = tools/infiniband/umadstat/umadstat
umad_check = $(MAKE) -s -C tools/infiniband/umad-check OUTPUT=$(CURDIR)/build/umad-check \
	DESTDIR=$(DESTDIR) prefix=$(prefix)

.PHONY: umad-check
umad-check:
	@scripts/umad-check

.PHONY: install
install: check-kdir
	$(if $(wildcard $(OUT)/*.ko),,$(error nothing is built for $(KREL): run make first))
	install -D -m 644 -t $(updates) $(wildcard $(OUT)/*.ko)
	install -D -m 644 -t $(DESTDIR)$(prefix)/share/man/man4 man/*.4
	install -D -m 644 -t $(DESTDIR)$(prefix)/share/man/man8 man/*.8 $(umadstat).8
	install -D -m 644 -t $(madsim) tools/testing/madsim/topology.awk
	install -D -t $(madsim) tools/testing/madsim/madsim-load
	install -D -t $(DESTDIR)$(prefix)/sbin $(umadstat)
	ln -sf ../share/madsim/madsim-load $(DESTDIR)$(prefix)/sbin/
	$(if $(wildcard build/umad-check/umad-check),$(umad_check) install)
	$(if $(DESTDIR),,depmod $(KREL))

.PHONY: uninstall
uninstall: check-kdir
	rm -f $(updates)/ib_umad.ko $(updates)/ib_madsim.ko
	rm -f $(addprefix $(DESTDIR)$(prefix)/share/man/man4/,$(notdir $(wildcard man/*.4)))
	rm -f $(addprefix $(DESTDIR)$(prefix)/share/man/man8/,$(notdir $(wildcard man/*.8)))
	rm -f $(addprefix $(DESTDIR)$(prefix)/,share/man/man8/umadstat.8 sbin/umadstat)
	rm -rf $(madsim) $(DESTDIR)$(prefix)/sbin/madsim-load
	$(umad_check) uninstall
	-rmdir --ignore-fail-on-non-empty $(updates)
	$(if $(DESTDIR),,depmod $(KREL))

.PHONY: deb
deb:
	@scripts/packages/deb

.PHONY: rpm
rpm:
	@scripts/packages/rpm

.PHONY: demo
demo:
	@scripts/demo fabric

.PHONY: demo-roce
demo-roce:
	@scripts/demo roce

.PHONY: test
test: | python3
	@scripts/run-tests $(TEST)

.PHONY: test-reference
test-reference: | python3
	@scripts/run-tests reference

.PHONY: test-rt
test-rt: | python3
	@scripts/run-tests selftests:newest-rt madsim:newest-rt race:rt

.PHONY: test-old
test-old: | python3
	@scripts/run-tests old

.PHONY: check-cross
check-cross: | python3
	@scripts/run-tests cross

.PHONY: test-foreign
test-foreign: | python3
	@scripts/run-tests foreign:s390x foreign:arm64

.PHONY: test-packages
test-packages: | python3
	@scripts/run-tests install packages:bookworm packages:unstable

.PHONY: test-host-check
test-host-check: | python3
	@scripts/run-tests host-check

.PHONY: kunit
kunit: | python3
	@scripts/run-tests kunit

.PHONY: test-race
test-race: | python3
	@scripts/run-tests race

.PHONY: test-mutants
test-mutants: | python3
	@scripts/run-tests mutants

.PHONY: test-fixes
test-fixes: | python3
	@scripts/run-tests fixes

.PHONY: conformance
conformance: | python3
	@scripts/run-tests conformance

.PHONY: fuzz
fuzz: | python3
	@scripts/run-tests fuzz

.PHONY: soak
soak:
	@tools/testing/soak/run $(MINUTES)

.PHONY: test-hosts
test-hosts: | python3
	@scripts/run-tests hosts

.PHONY: test-sanitize
test-sanitize: | python3
	@scripts/run-tests sanitize

.PHONY: coverage
coverage: | python3
	@tools/testing/sanitize/coverage

.PHONY: check
check: | python3
	@scripts/run-tests build

# What runs the tests; they install what else they need.
.PHONY: python3
python3:
	@scripts/deps python3

.PHONY: series
series:
	@scripts/series/write

.PHONY: series-check
series-check: | python3
	@scripts/run-tests series-check

.PHONY: series-stable
series-stable:
	@scripts/series/stable 6.12
	@scripts/series/stable 6.1

.PHONY: series-fixes
series-fixes:
	@scripts/series/fixes

.PHONY: bench
bench:
	@tools/testing/bench/run --repeat 2

.PHONY: bench-check
bench-check: | python3
	@scripts/run-tests bench

.PHONY: clean
clean:
	rm -rf build

.PHONY: help
help:
	@echo 'make                 build/RELEASE/ib_umad.ko for the newest installed kernel headers'
	@echo '                     KDIR=DIR: for this kernel; W=1, C=1: warnings, sparse'
	@echo 'make umad-check      build/umad-check/: whether an ib_umad is right with real adapters'
	@echo 'make install         modules, manual pages, madsim-load, umadstat, umad-check if it is'
	@echo '                     built; for KDIR=, below DESTDIR='
	@echo 'make uninstall       remove them'
	@echo 'make deb             build/deb/: packages of Debian that build the modules by DKMS'
	@echo 'make rpm             build/rpm/: the same for RHEL and SLES'
	@echo 'make demo            boot a kernel, bring a simulated fabric to life with opensm'
	@echo 'make demo-roce       boot a kernel, let two agents talk over Soft-RoCE'
	@echo 'make test            all tests, on Debian'\''s newest kernel, 6.12 and 6.1'
	@echo '                     TEST="send removal.rmmod": these alone, on the newest kernel'
	@echo 'make test-reference  the same tests on the distribution'\''s module: what it gets wrong'
	@echo 'make test-hosts      two kernels that talk over a network: a part of make test'
	@echo 'make fuzz            random system calls, guided by coverage: a part of make test'
	@echo 'make test-sanitize   all tests with KASAN, lockdep, kmemleak and failing allocations,'
	@echo '                     and whether they reach all code: a part of make test'
	@echo 'make coverage        which lines of the modules that did not run'
	@echo 'make kunit           KUnit alone, by the kernel'\''s kunit.py; make test has the suites, too'
	@echo 'make test-rt         the tests on the newest kernel with PREEMPT_RT, and lockdep there'
	@echo 'make test-old        the selftests over Soft-RoCE on Debian 11'\''s kernel, 5.10'
	@echo 'make test-foreign    the tests on s390x, which is big-endian, and on arm64'
	@echo 'make test-packages   the packages, from installation to purge, in hosts of their own'
	@echo 'make test-host-check scripts/host-check, with simulated hardware and bugs planted'
	@echo 'make test-race       data races, by KCSAN on two CPUs, and what lockdep and KASAN see'
	@echo 'make test-mutants    whether the tests catch bugs planted on purpose; before a release'
	@echo 'make test-fixes      whether the bugs of others that we mend are there without our'
	@echo '                     patches, and not there with them'
	@echo 'make soak            everything at once for an hour, or for MINUTES='
	@echo 'make conformance     which kernel'\''s ib_umad keeps the contract, and ours: a table,'
	@echo '                     and build/conformance/index.html'
	@echo 'make series-check    each patch of the series as its maintainers would take it, and the'
	@echo '                     selftests on a kernel of it; make test has a short form'
	@echo '                     (the last thirteen are not a part of make test)'
	@echo 'make check           builds without a warning: W=1, sparse, checkpatch'
	@echo 'make check-cross     the same for arm64, ppc64el, s390x, riscv64 and i386'
	@echo 'make series          build/series/: patches for the newest kernel, and a cover letter'
	@echo 'make series-stable   build/series-stable/: umad as one patch for Linux 6.12 and for 6.1'
	@echo 'make series-fixes    build/series-fixes/: patches for bugs of the newest kernel, its'
	@echo '                     ib_umad among them; with LINUX=TREE Fixes: by its history'
	@echo 'make bench           cost of MADs in instructions, the distribution'\''s module and ours:'
	@echo '                     a table, and build/bench/index.html with plots'
	@echo 'make bench-check     fails when ours became slower than it was'
	@echo 'make clean           remove build/; downloads stay in ~/.cache/user_mad'
	@echo
	@echo 'All but make alone, install and uninstall get the Debian packages they lack, as root.'
