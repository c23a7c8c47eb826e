# SPDX-License-Identifier: MIT
#
# Everything is built from here; `make help` lists the targets.
#
#   CONFIG=release|debug|asan|tsan   side by side, each in build/CONFIG
#   HYPHAE_PROBES=0                  without probes, in build/CONFIG-noprobes
#   CC=gcc|clang                     changing it rebuilds what it concerns
#   V=1                              shows the commands
#   T=substring SEED=n               of check...: which tests, which seed
#
# Targets that need packages check for them once and leave a stamp in build/.

CONFIG ?= release
HYPHAE_PROBES ?= 1
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib

ifeq ($(origin CC),default)
CC := gcc
endif
CLANG ?= clang
AR ?= ar
PKG_CONFIG ?= pkg-config
JOBS ?= $(shell nproc 2>/dev/null || echo 1)

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SUFFIXES:
SHELL := /bin/sh

ifeq ($(filter $(CONFIG),release debug asan tsan),)
$(error CONFIG=$(CONFIG) is not known: choose release, debug, asan or tsan)
endif
ifeq ($(filter $(HYPHAE_PROBES),0 1),)
$(error HYPHAE_PROBES=$(HYPHAE_PROBES) is not known: choose 0 or 1)
endif

B ?= build/$(CONFIG)$(if $(filter 0,$(HYPHAE_PROBES)),-noprobes)

ifneq ($(V),1)
Q := @
say = @printf '  %-8s %s\n' $(1) $(2)
else
say = @:
endif

# A recursive make takes the jobs of its caller, or one per processor.  Rules
# that use it begin with a +, or it is not told of them.
JFLAG = $(if $(findstring -j,$(MAKEFLAGS)),,-j$(JOBS))
SUBMAKE = $(MAKE) --no-print-directory $(if $(filter 1,$(V)),,-s)
# bpftool and friends live in /usr/sbin, which ordinary users may not search.
export PATH := $(PATH):/usr/sbin:/sbin

# ---- flags ----------------------------------------------------------------

WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	-Wpointer-arith -Wvla -Wundef -Wno-missing-field-initializers -Werror
OPT_release := -O2 -g
OPT_debug := -O0 -g3 -DHY_DEBUG=1
OPT_asan := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all
OPT_tsan := -O1 -g -fsanitize=thread
OPT := $(OPT_$(CONFIG))
SANITIZE := $(filter -fsanitize%,$(OPT))

ALL_CPPFLAGS := -Iinclude -Isrc -I. -D_GNU_SOURCE \
	-DHYPHAE_PROBES=$(HYPHAE_PROBES) $(CPPFLAGS)
ALL_CFLAGS := -std=gnu11 $(OPT) -fno-omit-frame-pointer \
	-fno-optimize-sibling-calls -fvisibility=hidden $(WARN) $(CFLAGS)
ALL_LDFLAGS := $(SANITIZE) $(LDFLAGS)

LIB_LIBS := -lpthread
BENCH_LIBS := -ljansson -lpthread -lm
TOP_LIBS := -lbpf -lelf -lz -lncursesw -ltinfo -ljansson -lpthread -lm
TEST_LIBS := -lcmocka -lelf -ljansson -lpthread -lm

VERSION := $(shell sed -n 's/^\#define HYPHAE_VERSION "\(.*\)"/\1/p' \
	include/hyphae/hyphae.h)
ifeq ($(VERSION),)
$(error include/hyphae/hyphae.h does not say what HYPHAE_VERSION is)
endif
SONAME := libhyphae.so.$(firstword $(subst ., ,$(VERSION)))

# ---- what there is --------------------------------------------------------

LIB_SRC := $(wildcard src/*/*.c)
LIB_OBJ := $(LIB_SRC:%.c=$(B)/obj/%.o)
LIB_A := $(B)/lib/libhyphae.a
LIB_SO := $(B)/lib/libhyphae.so

# bench/NAME.c, bench/NAME/*.c or both make bin/NAME.
BENCH_DIRS := $(filter-out lib,$(notdir $(patsubst %/,%,$(wildcard bench/*/))))
BENCH_DIRS := $(foreach d,$(BENCH_DIRS),$(if $(wildcard bench/$(d)/*.c),$(d)))
BENCHES := $(sort $(basename $(notdir $(wildcard bench/*.c))) $(BENCH_DIRS))
BENCH_LIB_OBJ := $(patsubst %.c,$(B)/obj/%.o,$(wildcard bench/lib/*.c))
bench_obj = $(patsubst %.c,$(B)/obj/%.o,$(filter-out %.bpf.c,$(wildcard \
	bench/$(1).c bench/$(1)/*.c)))

BPF_SRC := $(wildcard bpf/*.bpf.c)
SKEL := $(BPF_SRC:bpf/%.bpf.c=build/bpf/%.skel.h)
TOP_SRC := $(filter-out $(BPF_SRC),$(wildcard bpf/*.c))
TOP_OBJ := $(TOP_SRC:%.c=$(B)/obj/%.o)
TOP_A := $(if $(TOP_SRC),$(B)/obj/bpf/libtop.a)
TOP := $(if $(TOP_SRC),$(B)/bin/hyphae-top)

TESTLIB_OBJ := $(patsubst %.c,$(B)/obj/%.o,$(wildcard tests/lib/*.c))
test_bin = $(patsubst %.c,$(B)/%,$(wildcard tests/$(1)/test_*.c))
THREAD_TESTS := $(call test_bin,unit) $(call test_bin,semantic)
THREAD_TESTS := $(foreach t,$(THREAD_TESTS),$(if \
	$(filter test_thread_%,$(notdir $(t))),$(t)))
UNIT_TESTS := $(filter-out $(THREAD_TESTS),$(call test_bin,unit))
SEMANTIC_TESTS := $(filter-out $(THREAD_TESTS),$(call test_bin,semantic))
E2E_TESTS := $(call test_bin,e2e)
LOOP_TESTS := $(call test_bin,loops)
# Programs that e2e tests trace: each static and with the shared library.
PROGS := $(patsubst %.c,$(B)/%,$(wildcard tests/e2e/prog_*.c))
PROGS += $(PROGS:%=%-shared)
ATTACH := $(if $(wildcard tests/e2e/attach.c),$(B)/tests/e2e/attach)

ifeq ($(CONFIG),tsan)
TESTS := $(THREAD_TESTS)
else ifeq ($(CONFIG),asan)
TESTS := $(UNIT_TESTS) $(SEMANTIC_TESTS) $(THREAD_TESTS)
else
TESTS := $(UNIT_TESTS) $(SEMANTIC_TESTS) $(THREAD_TESTS) $(LOOP_TESTS) \
	$(E2E_TESTS) \
	$(PROGS) $(ATTACH)
endif

# ---- build ----------------------------------------------------------------

.PHONY: all lib benches top tests
all: lib benches top ## library, tools and benches into build/CONFIG (default)
lib: $(LIB_A) $(LIB_SO)
benches: $(BENCHES:%=$(B)/bin/%)
top: $(TOP)
# Without probes: what tests compare with, and the laws hold there too.
.PHONY: without
without: lib benches $(PROGS) $(SEMANTIC_TESTS)
# test_thread_bench runs the benches of its own configuration.
$(THREAD_TESTS): | benches
tests: $(TESTS) ## the test programs of CONFIG, without running them

# Rebuild when the command line changes, for instance with CC=clang.
FLAGS_NOW := $(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(ALL_LDFLAGS)
$(shell mkdir -p $(B) && \
	{ printf '%s\n' '$(FLAGS_NOW)' | cmp -s - $(B)/flags || \
	  printf '%s\n' '$(FLAGS_NOW)' > $(B)/flags; } 2>/dev/null)

build/packages-%: tests/tools/packages.sh
	@CC='$(CC)' tests/tools/packages.sh need $*
	@touch $@

BUILD_DEPS := $(B)/flags | build/packages-build

# The library: the same objects for both, so -fPIC.
$(LIB_OBJ): $(B)/obj/%.o: %.c $(BUILD_DEPS)
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -fPIC -MMD -MP -c -o $@ $<

$(B)/obj/%.o: %.c $(BUILD_DEPS)
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CPPFLAGS) -isystem build/bpf -Itests/lib $(ALL_CFLAGS) -fPIE \
		$(module_cflags) -MMD -MP -c -o $@ $<

$(LIB_A): $(LIB_OBJ)
	$(call say,AR,$@)
	@mkdir -p $(@D)
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

# A sanitizer's runtime is not linked into shared objects by every compiler,
# so its symbols stay open there.
$(LIB_SO): $(LIB_OBJ)
	$(call say,LD,$@.$(VERSION))
	@mkdir -p $(@D)
	$(Q)$(CC) -shared $(ALL_LDFLAGS) $(if $(SANITIZE),,-Wl,-z,defs) \
		-Wl,-soname,$(SONAME) -o $@.$(VERSION) $^ $(LIB_LIBS)
	$(Q)ln -sf $(@F).$(VERSION) $(@D)/$(SONAME)
	$(Q)ln -sf $(@F).$(VERSION) $@
	@touch -h $@

.SECONDEXPANSION:
$(BENCHES:%=$(B)/bin/%): $(B)/bin/%: $$(call bench_obj,$$*) $(BENCH_LIB_OBJ) \
		$(LIB_A)
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -rdynamic -o $@ $^ $(BENCH_LIBS)

# What is compared shall not depend on where a linker puts a small function: a
# chain changes by an eighth with the address of the function it calls.
$(B)/obj/bench/%: private ALL_CFLAGS += -falign-functions=64

# What these need beside the library.
$(B)/bin/attached: private BENCH_LIBS += -lbpf -lelf -lz
$(B)/obj/bench/attached/trap.o: | build/bpf/empty.skel.h
$(B)/bin/tool: private BENCH_LIBS += $(TOP_LIBS)
$(B)/bin/tool: $(TOP_A)

# ---- BPF and hyphae-top ---------------------------------------------------

MULTIARCH := $(shell $(CC) -print-multiarch 2>/dev/null || true)
BPF_ARCH := $(patsubst x86_64,x86,$(patsubst aarch64,arm64,$(shell uname -m)))
BPF_CFLAGS = -target bpf -O2 -g -Wall -Werror -D__TARGET_ARCH_$(BPF_ARCH) \
	-I. $(if $(MULTIARCH),-I/usr/include/$(MULTIARCH))
# On Ubuntu /usr/sbin/bpftool only works with the tools of the running kernel.
BPFTOOL = $(shell PATH=$$PATH:/usr/sbin:/sbin; for b in bpftool /usr/lib/linux-tools/*/bpftool \
	/usr/lib/linux-tools-*/bpftool; do \
	"$$b" version >/dev/null 2>&1 && { echo "$$b"; break; }; done)

build/bpf/%.bpf.o: bpf/%.bpf.c | build/packages-build
	$(call say,BPF,$@)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -MMD -MP -c -o $@ $<

build/bpf/%.bpf.o: tests/e2e/%.bpf.c | build/packages-build
	$(call say,BPF,$@)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -MMD -MP -c -o $@ $<

build/bpf/%.bpf.o: bench/attached/%.bpf.c | build/packages-build
	$(call say,BPF,$@)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -MMD -MP -c -o $@ $<

build/bpf/%.skel.h: build/bpf/%.bpf.o
	$(call say,SKEL,$@)
	$(if $(BPFTOOL),,$(error bpftool does not start: sudo make setup))
	$(Q)$(BPFTOOL) gen skeleton $< > $@

$(TOP_OBJ): | $(SKEL)

$(B)/obj/bpf/libtop.a: $(TOP_OBJ)
	$(call say,AR,$@)
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

$(B)/bin/hyphae-top: $(TOP_OBJ)
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(TOP_LIBS)

# ---- test programs --------------------------------------------------------

# Linked with the static library, whose hidden symbols a test may reach.  The
# tests of hyphae-top take what they need from an archive of its objects.
$(B)/tests/unit/test_top_%: $(B)/obj/tests/unit/test_top_%.o $(TESTLIB_OBJ) \
		$(TOP_A) $(LIB_A) | build/packages-check
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $(objects_first) $(TOP_LIBS) $(TEST_LIBS)

$(B)/tests/e2e/prog_%: $(B)/obj/tests/e2e/prog_%.o $(LIB_A)
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -rdynamic -o $@ $^ -lpthread -lm

$(B)/tests/e2e/prog_%-shared: $(B)/obj/tests/e2e/prog_%.o $(LIB_SO)
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -rdynamic -o $@ $< -L$(B)/lib -lhyphae \
		-Wl,-rpath,'$$ORIGIN/../../lib' -lpthread -lm

$(B)/obj/tests/e2e/attach.o: | build/bpf/attach.skel.h

$(B)/tests/e2e/attach: $(addprefix $(B)/obj/tests/,e2e/attach.o lib/binary.o \
		lib/run.o lib/place.o)
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ -lbpf -lelf -lz -lpthread

# Their threads wait for one another through the tests' scheduler.
EXPLORED := $(filter %exhaustive %exhaustive_posts %exhaustive_lock,\
	$(THREAD_TESTS))
$(EXPLORED): private ALL_LDFLAGS += $(foreach f,mutex_lock mutex_unlock \
	cond_wait cond_timedwait cond_broadcast,-Wl,--wrap=pthread_$(f))

# Archives last, in whatever order the prerequisites came together.
objects_first = $(filter %.o,$^) $(filter %.a,$^)

# What other files a folder of tests has, its tests share.
shared_obj = $(patsubst %.c,$(B)/obj/%.o,$(filter-out %/attach.c %.bpf.c \
	tests/$(1)/test_% tests/$(1)/prog_%,$(wildcard tests/$(1)/*.c)))
$(UNIT_TESTS) $(filter $(B)/tests/unit/%,$(THREAD_TESTS)): \
	$(call shared_obj,unit)
$(SEMANTIC_TESTS) $(filter $(B)/tests/semantic/%,$(THREAD_TESTS)): \
	$(call shared_obj,semantic)
$(E2E_TESTS): $(call shared_obj,e2e)
$(LOOP_TESTS): $(call shared_obj,loops)

# Main loops of others: pkg-config knows where they are.
module_cflags = $(if $(MODULE),$(patsubst -I%,-isystem %,$(shell \
	$(PKG_CONFIG) --cflags $(MODULE))))
module_libs = $(if $(MODULE),$(shell $(PKG_CONFIG) --libs $(MODULE)))
$(B)/tests/loops/test_uv $(B)/obj/tests/loops/test_uv.o: \
	private MODULE = libuv
$(B)/tests/loops/test_glib $(B)/obj/tests/loops/test_glib.o: \
	private MODULE = glib-2.0

$(B)/tests/%: $(B)/obj/tests/%.o $(TESTLIB_OBJ) $(LIB_A) | build/packages-check
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $(objects_first) $(TEST_LIBS) \
		$(module_libs)

# Nothing that was built on the way is thrown away.
.SECONDARY:
-include $(shell find $(B)/obj build/bpf -name '*.d' 2>/dev/null)

# ---- run ------------------------------------------------------------------

# Root's work in a user's folder is given to the user, who then can go on
# with a plain `make`.
give_back = if [ -n "$$SUDO_UID" ] && [ -d build ]; then \
	chown -R "$$SUDO_UID:$${SUDO_GID:-$$SUDO_UID}" build; fi
RUN_TESTS := tests/tools/run_tests.sh

.PHONY: setup demo check check-unit check-asan check-tsan check-e2e bench
setup: ## install the packages that are missing (root; Debian and Ubuntu)
	@CC='$(CC)' tests/tools/packages.sh install
	@mkdir -p build && touch build/packages-build build/packages-check

# On a terminal in a process group of its own: Ctrl-C ends the demo, not make.
demo: ## see a running program from outside (sudo make demo)
	@CC='$(CC)' tests/tools/packages.sh install build
	@mkdir -p build && touch build/packages-build
	+@$(SUBMAKE) $(JFLAG) CONFIG=release all
	@$(give_back)
	@if [ -t 0 ] && [ -t 1 ]; then \
		sh -c 'set -m; tests/tools/demo.sh build/release; exit $$?'; \
	else tests/tools/demo.sh build/release; fi

check: ## install, build and run every test (sudo make check)
	+@$(SUBMAKE) setup
	+@$(SUBMAKE) $(JFLAG) CONFIG=release all tests
	+@$(SUBMAKE) $(JFLAG) CONFIG=release HYPHAE_PROBES=0 without
	+@$(SUBMAKE) $(JFLAG) CONFIG=asan tests
	+@$(SUBMAKE) $(JFLAG) CONFIG=tsan tests
	@$(give_back)
	+@$(SUBMAKE) CONFIG=release run-all-tests

# The order of the list is the order of the run.
in = $(patsubst $(B)/%,build/$(1)/%,$(2))
.PHONY: run-all-tests
run-all-tests:
	@$(RUN_TESTS) $(UNIT_TESTS) $(SEMANTIC_TESTS) \
		$(call in,release-noprobes,$(SEMANTIC_TESTS)) \
		$(call in,asan,$(UNIT_TESTS) $(SEMANTIC_TESTS)) \
		$(THREAD_TESTS) $(call in,asan,$(THREAD_TESTS)) \
		$(call in,tsan,$(THREAD_TESTS)) $(LOOP_TESTS) $(E2E_TESTS)

check-unit: ## unit, semantic, thread and loop tests of CONFIG
	+@$(SUBMAKE) $(JFLAG) $(UNIT_TESTS) $(SEMANTIC_TESTS) \
		$(THREAD_TESTS) $(LOOP_TESTS)
	@$(RUN_TESTS) $(UNIT_TESTS) $(SEMANTIC_TESTS) $(THREAD_TESTS) \
		$(LOOP_TESTS)

check-asan: ## the same with address and undefined behaviour sanitizers
	+@$(SUBMAKE) $(JFLAG) CONFIG=asan check-unit

check-tsan: ## the thread tests with the thread sanitizer
	+@$(SUBMAKE) $(JFLAG) CONFIG=tsan tests
	@$(RUN_TESTS) $(call in,tsan,$(THREAD_TESTS))

check-e2e: ## the tests that run real tracers (root)
	+@$(SUBMAKE) $(JFLAG) CONFIG=release all tests
	+@$(SUBMAKE) $(JFLAG) CONFIG=release HYPHAE_PROBES=0 without
	@$(RUN_TESTS) $(call in,release,$(E2E_TESTS))

bench: ## measure all: QUICK=1 in a minute, JSON=file for the lines
	+@$(SUBMAKE) $(JFLAG) CONFIG=release benches top
	+@$(if $(QUICK),,$(SUBMAKE) $(JFLAG) CONFIG=release HYPHAE_PROBES=0 \
		build/release-noprobes/bin/speed)
	@QUICK='$(QUICK)' JSON='$(JSON)' BUILD=build/release \
		tests/tools/bench.sh $(BENCHES)

.PHONY: bench-compare bench-plots
bench-compare: ## BASE=revision: what is faster or slower since then?
	+@$(SUBMAKE) $(JFLAG) CONFIG=release build/release/bin/report
	@CC='$(CC)' BUILD=build/release bench/compare.sh '$(BASE)' $(NEW)

bench-plots: ## draw bench/plots/*.svg anew: how time grows
	+@$(SUBMAKE) $(JFLAG) CONFIG=release benches
	@QUICK='$(QUICK)' BUILD=build/release tests/tools/bench.sh --plots \
		$(BENCHES)

# QUICK=1: shorter rounds.  QUICK=once: only to see that all of it runs.
.PHONY: bench-peers
bench-peers: ## install other libraries and measure them beside hyphae (root)
	+@$(SUBMAKE) $(JFLAG) CONFIG=release lib benches
	@bench/peers/run.sh build/release $(patsubst 1,quick,$(QUICK))
	@$(give_back)

# ---- care -----------------------------------------------------------------

C_FILES := $(wildcard include/hyphae/*.h src/*/*.[ch] bpf/*.[ch] bench/*.[ch] \
	bench/*/*.[ch] tests/*/*.[ch])

.PHONY: fmt fmt-check lint install help clean compile_commands.json
fmt: ## format the C files in place
	clang-format -i $(C_FILES)

fmt-check: ## fail when a C file is not formatted
	clang-format --dry-run -Werror $(C_FILES)

lint: ## build with clang, warnings as errors, and run cppcheck if it is there
	+@$(SUBMAKE) $(JFLAG) CC=clang B=build/lint all tests
	@if command -v cppcheck >/dev/null; then \
		cppcheck --quiet --std=c11 --enable=warning,portability \
			--inline-suppr --error-exitcode=1 -Iinclude -Isrc -I. \
			-D__x86_64__ -DHYPHAE_PROBES=1 src; \
	else echo 'cppcheck is not installed: left out.'; fi

# DESTDIR/PREFIX/..., and what was installed there, for both directions.
TO := $(DESTDIR)$(PREFIX)
TO_LIB := $(DESTDIR)$(LIBDIR)
SCRIPTS := $(wildcard probes/*.bt)
install: all ## PREFIX=/usr/local DESTDIR=: headers, library, tool, scripts
	install -d $(TO)/include/hyphae $(TO)/bin $(TO)/share/hyphae \
		$(TO)/share/doc/hyphae $(TO_LIB)/pkgconfig
	install -m 644 include/hyphae/*.h $(TO)/include/hyphae
	install -m 644 $(LIB_A) $(TO_LIB)
	install -m 755 $(LIB_SO).$(VERSION) $(TO_LIB)
	ln -sf libhyphae.so.$(VERSION) $(TO_LIB)/$(SONAME)
	ln -sf libhyphae.so.$(VERSION) $(TO_LIB)/libhyphae.so
	printf '%s\n' 'prefix=$(PREFIX)' 'includedir=$${prefix}/include' \
		'libdir=$(LIBDIR)' '' 'Name: hyphae' \
		'Description: Reactive cells that can be watched while they run' \
		'Version: $(VERSION)' 'Cflags: -I$${includedir}' \
		'Libs: -L$${libdir} -lhyphae' 'Libs.private: -pthread' \
		> $(TO_LIB)/pkgconfig/hyphae.pc
	install -m 755 $(TOP) $(TO)/bin
	install -m 755 $(SCRIPTS) $(TO)/share/hyphae
	install -m 644 probes/hyphae.d $(TO)/share/hyphae
	install -m 644 LICENSE README.md $(TO)/share/doc/hyphae
	install -m 644 probes/README.md $(TO)/share/doc/hyphae/probes.md
	@[ -n '$(DESTDIR)' ] || { PATH=$$PATH:/usr/sbin:/sbin; \
		if ! ldconfig 2>/dev/null; then \
			echo 'The loader was not told of the new library:' \
				'run ldconfig as root, or set LD_LIBRARY_PATH.'; \
		elif ! ldconfig -p | grep -qF ' $(LIBDIR)/$(SONAME)'; then \
			echo 'The loader does not search $(LIBDIR):' \
				'link with -Wl,-rpath,$(LIBDIR),' \
				'or set LD_LIBRARY_PATH.'; \
		fi; }

.PHONY: uninstall
uninstall: ## remove what `make install` put there (same PREFIX, DESTDIR)
	rm -rf $(TO)/include/hyphae $(TO)/share/hyphae $(TO)/share/doc/hyphae
	rm -f $(TO_LIB)/libhyphae.a $(TO_LIB)/libhyphae.so \
		$(TO_LIB)/$(SONAME) $(TO_LIB)/libhyphae.so.$(VERSION) \
		$(TO_LIB)/pkgconfig/hyphae.pc $(TO)/bin/hyphae-top

compile_commands.json: ## for editors; needs bear
	@if command -v bear >/dev/null; then \
		bear -- $(SUBMAKE) $(JFLAG) B=build/bear \
			all tests; \
	else echo 'bear is not installed: install it to get $@.'; exit 1; fi

help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9_.-]+:.*## / { printf "  %-24s%s\n", $$1, $$2 }' \
		Makefile
	@sed -n 's/^#   /  /p' Makefile

clean: ## remove build/
	rm -rf build
