# One non-recursive Makefile. Everything it makes lies in build/<flavour>/; sources are found, not
# listed. `make help` prints the targets. (Targets that need a second flavour, or that must be read
# again once docker/deps.sh has installed something, call this same file again.)
#
#   make FLAVOUR=debug     or release, asan, tsan, fault, nosync, coverage, strict, fuzz
#   make WERROR=1          warnings are errors (also when CI is set)
#   make unit T=arena      only the unit tests of tests/unit/**/test_arena.c
#   make api T=03          only the API test modules whose name contains 03

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SUFFIXES:
SHELL := /bin/bash

JOBS ?= $(shell nproc)
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(JOBS)
endif

FLAVOUR ?= release
WERROR ?= $(if $(CI),1,)
B := build/$(FLAVOUR)
COUNTS ?= $(B)/counts
T ?=

# ---- Tools -------------------------------------------------------------------------------------

# The newest of version 14 (Debian 12, Ubuntu 22.04 and 24.04) or whatever the system calls it.
pick = $(firstword $(foreach t,$(1)-14 $(1) $(1)-19 $(1)-18,$(if $(shell command -v $(t)),$(t))) \
    $(1))
CLANG ?= $(call pick,clang)
CLANG_TIDY ?= $(call pick,clang-tidy)
CLANG_FORMAT ?= $(call pick,clang-format)
ifeq ($(origin CC),default)
CC := gcc
endif
ifeq ($(FLAVOUR),fuzz)
CC := $(CLANG)
endif
PYTHON ?= python3
export PYTHONDONTWRITEBYTECODE := 1

# ---- Libraries ---------------------------------------------------------------------------------

LIB_PCS := libuv libmicrohttpd libcurl jansson lmdb libutf8proc inih libxxhash openblas
LIB_CFLAGS := $(patsubst -I%,-isystem %,$(shell pkg-config --cflags $(LIB_PCS) 2>/dev/null))
LIB_LIBS := $(shell pkg-config --libs $(LIB_PCS) 2>/dev/null)
ifeq ($(LIB_LIBS),)
LIB_LIBS := -luv -lmicrohttpd -lcurl -ljansson -llmdb -lutf8proc -linih -lopenblas
endif
LIB_LIBS += -lstemmer -lm -pthread
CHECK_LIBS := $(shell pkg-config --libs check 2>/dev/null || echo -lcheck)

# ---- Flags -------------------------------------------------------------------------------------

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)

CPPFLAGS_BASE := -I. -D_GNU_SOURCE $(LIB_CFLAGS)
WARNINGS := -Wall -Wextra -Wpedantic -Wconversion -Wno-sign-conversion -Wshadow \
    -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wformat=2 -Wcast-qual -Wpointer-arith \
    -Wwrite-strings -Wimplicit-fallthrough
CFLAGS_BASE := -std=c11 -g -fno-omit-frame-pointer -pthread

X86 := $(filter x86_64 i%86,$(shell uname -m))
HARDEN_C := -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -fstack-protector-strong \
    -fstack-clash-protection $(if $(X86),-fcf-protection) -fPIE
HARDEN_LD := -pie -Wl,-z,relro,-z,now -Wl,-z,noexecstack
SAN := -fno-sanitize-recover=all

# What each flavour is. DASSERT lives where NDEBUG is absent; HYPERMEM_FAULTS compiles the named
# fault points in; HM_ARENA_HEAP gives every arena allocation its own heap block.
CF_release  := -O2 -DNDEBUG $(HARDEN_C)
LF_release  := $(HARDEN_LD)
CF_strict   := $(CF_release)
LF_strict   := $(LF_release)
CF_fault    := $(CF_release) -DHYPERMEM_FAULTS
LF_fault    := $(LF_release)
CF_nosync   := $(CF_fault) -DHYPERMEM_TEST_NOSYNC
LF_nosync   := $(LF_release)
CF_debug    := -Og -DHYPERMEM_FAULTS
LF_debug    :=
CF_asan     := -O1 -fsanitize=address,undefined $(SAN) -DHYPERMEM_FAULTS -DHM_ARENA_HEAP
LF_asan     := -fsanitize=address,undefined
CF_tsan     := -O1 -fsanitize=thread -DHYPERMEM_FAULTS
LF_tsan     := -fsanitize=thread
CF_coverage := -O0 --coverage -fprofile-update=atomic -DHYPERMEM_FAULTS
LF_coverage := --coverage
CF_fuzz     := -O1 -fsanitize=fuzzer-no-link,address,undefined $(SAN) -DHYPERMEM_FAULTS \
               -DHM_ARENA_HEAP
LF_fuzz     := -fsanitize=address,undefined
ifeq ($(origin CF_$(FLAVOUR)),undefined)
$(error unknown FLAVOUR '$(FLAVOUR)')
endif
ifeq ($(FLAVOUR),strict)
WERROR := 1
endif

# Each kernel file has its own instruction set; nothing else may be built with one.
ifneq ($(X86),)
KF_avx2   := -mavx2 -mfma -mf16c
KF_avx512 := -mavx512f -mavx512bw -mavx512vl -mavx512dq
endif
kernel_flags = $(if $(findstring /kernels/,$(1)),$(KF_$(basename $(notdir $(1)))))

CPPFLAGS_ALL := $(CPPFLAGS_BASE) $(CPPFLAGS)
CFLAGS_ALL := $(CFLAGS_BASE) $(CF_$(FLAVOUR)) $(WARNINGS) $(if $(WERROR),-Werror) $(CFLAGS)
LDFLAGS_ALL := -pthread $(LF_$(FLAVOUR)) $(LDFLAGS)
# Check's suites are found by name, so their functions need no prototype.
TEST_CFLAGS := -Wno-missing-prototypes

# ---- Sources -----------------------------------------------------------------------------------

FOLDERS := server api core storage config
find_c = $(sort $(shell find $(1) -name '$(2)' -type f 2>/dev/null))

SRCS := $(call find_c,$(FOLDERS),*.c)
LIB_SRCS := $(filter-out server/main.c,$(SRCS))
UNIT_SRCS := $(call find_c,tests/unit tests/fakes,*.c)
FUZZ_MAINS := $(call find_c,tests/fuzz,fuzz_*.c)
BENCH_MAINS := $(call find_c,tests/bench,bench_*.c)
BENCH_SRCS := $(filter-out $(BENCH_MAINS),$(call find_c,tests/bench,*.c))
# Every other C file below tests/crash is a preload library.
SHIM_SRCS := $(call find_c,tests/crash,*.c)
TEST_SRCS := $(UNIT_SRCS) $(FUZZ_MAINS) tests/fuzz/replay.c $(BENCH_MAINS) $(BENCH_SRCS) \
    $(SHIM_SRCS)

obj = $(patsubst %.c,$(B)/obj/%.o,$(1))
SRC_OBJS := $(call obj,$(SRCS))
TEST_OBJS := $(call obj,$(TEST_SRCS))
BIN := $(B)/hypermemd
LIB := $(B)/libhypermem.a
UNIT_BIN := $(B)/unit_tests
FUZZ_NAMES := $(patsubst tests/fuzz/fuzz_%.c,%,$(FUZZ_MAINS))
REPLAY_BINS := $(patsubst %,$(B)/replay_%,$(FUZZ_NAMES))
FUZZ_BINS := $(patsubst %,$(B)/fuzz_%,$(FUZZ_NAMES))
BENCH_BINS := $(patsubst tests/bench/%.c,$(B)/%,$(BENCH_MAINS))
SHIMS := $(patsubst tests/crash/%.c,$(B)/%.so,$(SHIM_SRCS))

# Unit tests that make the n-th allocation or write fail need fault points, which release has not.
TEST_FLAVOUR := $(if $(filter release,$(FLAVOUR)),fault,$(FLAVOUR))

# ---- Building ----------------------------------------------------------------------------------

.PHONY: all bin help FORCE objects unit-bin replay-bins fuzz-bins bench-bins shims
all bin: $(BIN)
objects: $(SRC_OBJS) $(TEST_OBJS)
unit-bin: $(UNIT_BIN)
replay-bins: $(REPLAY_BINS)
fuzz-bins: $(FUZZ_BINS)
bench-bins: $(BENCH_BINS)
shims: $(SHIMS)
objects unit-bin replay-bins fuzz-bins bench-bins shims bin:
	@:
FORCE:

# A stamp file changes only when its text does, so that what hangs on it is made again only then.
stamp = @mkdir -p $(@D); printf '%s\n' '$(1)' | cmp -s - $@ || printf '%s\n' '$(1)' > $@

$(B)/flags: FORCE
	$(call stamp,$(CC) $(shell $(CC) -dumpfullversion 2>/dev/null) $(CPPFLAGS_ALL) $(CFLAGS_ALL))
$(B)/ldflags: FORCE
	$(call stamp,$(LDFLAGS_ALL) $(LIB_LIBS) $(CHECK_LIBS))
$(B)/sources: FORCE
	$(call stamp,$(LIB_SRCS))
$(B)/test_sources: FORCE
	$(call stamp,$(UNIT_SRCS))
$(B)/version: FORCE
	$(call stamp,$(VERSION))

# HYPERMEM_VERSION reaches one file only, so that a commit does not rebuild the world.
VERSIONED := server/version.c
$(call obj,$(VERSIONED)): $(B)/version
version_flags = $(if $(filter $(VERSIONED),$(1)),-DHYPERMEM_VERSION='"$(VERSION)"')

$(B)/obj/tests/%.o: tests/%.c $(B)/flags
	@mkdir -p $(@D)
	@echo "  CC    $(FLAVOUR) $<"
	@$(CC) $(CPPFLAGS_ALL) -I$(B)/gen $(CFLAGS_ALL) $(TEST_CFLAGS) -MMD -MP -c $< -o $@

$(B)/obj/%.o: %.c $(B)/flags
	@mkdir -p $(@D)
	@echo "  CC    $(FLAVOUR) $<"
	@$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) $(call kernel_flags,$<) $(call version_flags,$<) \
	    -MMD -MP -c $< -o $@

$(LIB): $(call obj,$(LIB_SRCS)) $(B)/sources
	@echo "  AR    $@"
	@rm -f $@
	@ar rcs $@ $(filter %.o,$^)

link = @echo "  LINK  $@"; $(CC) $(LDFLAGS_ALL) $(filter %.o %.a,$^) $(1) $(LIB_LIBS) -o $@

$(BIN): $(call obj,server/main.c) $(LIB) $(B)/ldflags
	$(call link)

# One runner for all unit tests; its table is made from the file names.
$(B)/gen/unit_suites.inc: FORCE
	@mkdir -p $(@D)
	@tests/unit/suites.sh $(filter tests/unit/%,$(UNIT_SRCS)) > $@.new
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi
$(call obj,tests/unit/main.c): $(B)/gen/unit_suites.inc
$(UNIT_BIN): $(call obj,$(UNIT_SRCS)) $(LIB) $(B)/ldflags $(B)/test_sources
	$(call link,$(CHECK_LIBS))

$(REPLAY_BINS): $(B)/replay_%: $(B)/obj/tests/fuzz/fuzz_%.o $(call obj,tests/fuzz/replay.c) $(LIB) \
    $(B)/ldflags
	$(call link)
$(FUZZ_BINS): $(B)/fuzz_%: $(B)/obj/tests/fuzz/fuzz_%.o $(LIB) $(B)/ldflags
	$(call link,-fsanitize=fuzzer)
$(BENCH_BINS): $(B)/%: $(B)/obj/tests/bench/%.o $(call obj,$(BENCH_SRCS)) $(LIB) $(B)/ldflags
	$(call link)
$(SHIMS): $(B)/%.so: tests/crash/%.c $(B)/flags
	@mkdir -p $(@D)
	@echo "  SHIM  $@"
	@$(CC) $(CPPFLAGS_BASE) $(CFLAGS_BASE) -O2 $(WARNINGS) $(if $(WERROR),-Werror) $(TEST_CFLAGS) \
	    -fPIC -shared $< -o $@ -ldl

-include $(SRC_OBJS:.o=.d) $(TEST_OBJS:.o=.d)

# ---- Running the tests -------------------------------------------------------------------------

.PHONY: deps model test unit api crash crash-quick fuzz-replay fuzz bench bench-recall soak \
    asan tsan coverage test-llama models-demo

# Stages share flavours, so two of them never run side by side; what each builds is parallel,
# because it is built by a make of its own.
ifneq ($(filter test unit api crash crash-quick fuzz-replay fuzz bench bench-recall soak asan tsan \
    coverage lint run model test-llama,$(MAKECMDGOALS)),)
.NOTPARALLEL:
endif

# Sanitizers want a predictable address space; some containers forbid to ask for it.
SETARCH := $(shell setarch -R true 2>/dev/null && echo setarch -R)
NOASLR := $(if $(filter asan tsan,$(FLAVOUR)),$(SETARCH))
export ASAN_OPTIONS := detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1
export UBSAN_OPTIONS := print_stacktrace=1
TSAN_SUPP := $(if $(wildcard tests/tsan.supp),:suppressions=$(CURDIR)/tests/tsan.supp)
export TSAN_OPTIONS := second_deadlock_stack=1$(TSAN_SUPP)
SLOW := $(filter asan tsan coverage,$(FLAVOUR))

# Names of our own for the tests: an unknown HYPERMEM_* variable stops the daemon.
export HMTEST_FLAVOUR := $(FLAVOUR)
export HMTEST_BIN := $(CURDIR)/$(BIN)
export HMTEST_FAULT_BIN := $(CURDIR)/build/$(TEST_FLAVOUR)/hypermemd
export HMTEST_NOSYNC_BIN := $(CURDIR)/build/nosync/hypermemd
export HMTEST_BUILD := $(CURDIR)/$(B)
export HMTEST_SLOW := $(if $(SLOW),5,1)
STAGE = COUNTS=$(COUNTS) $(NOASLR) tests/stage.sh
MAKE_THIS = $(MAKE) --no-print-directory
MAKE_TEST = $(MAKE_THIS) FLAVOUR=$(TEST_FLAVOUR) COUNTS=$(COUNTS)

deps:
	@docker/deps.sh --check --build --test || docker/deps.sh --build --test

# The default model's files. Its directory is also where the tests look for them.
MODEL_DIR ?= build/models/all-MiniLM-L6-v2
export HMTEST_MODEL_DIR := $(abspath $(MODEL_DIR))
model:
	@docker/deps.sh --check --model || docker/deps.sh --model
	@PYTHON=$(PYTHON) docker/model.sh '$(MODEL_DIR)'

# The sanitizer run repeats neither lint nor the crash rounds.
STAGES := $(if $(SLOW),unit api fuzz-replay,lint unit api crash-quick fuzz-replay)
test: deps
	+@COUNTS=$(COUNTS) MAKE="$(MAKE)" tests/stages.sh $(STAGES)

# Where the model can't be fetched the tests that need it fail; the others need not wait for that.
unit:
	+@$(MAKE_TEST) unit-bin
	@PYTHON=$(PYTHON) docker/model.sh '$(MODEL_DIR)' || true
	@CK_DEFAULT_TIMEOUT=20 CK_TIMEOUT_MULTIPLIER=$(HMTEST_SLOW) \
	    $(STAGE) unit build/$(TEST_FLAVOUR)/unit_tests $(T)

api:
	+@$(MAKE_THIS) bin
	@PYTHON=$(PYTHON) docker/model.sh '$(MODEL_DIR)' || true
	+@$(MAKE_TEST) bin
	@$(STAGE) api $(PYTHON) tests/api/run.py $(if $(T),--only '$(T)')

ROUNDS ?= 100
crash-quick: ROUNDS := 10
crash crash-quick:
	+@$(MAKE_THIS) FLAVOUR=fault bin shims
	+@$(MAKE_THIS) FLAVOUR=nosync bin
	@HMTEST_BIN=$(CURDIR)/build/fault/hypermemd HMTEST_BUILD=$(CURDIR)/build/fault \
	    $(STAGE) $@ $(PYTHON) tests/crash/run.py --rounds $(ROUNDS)

fuzz-replay:
	+@$(MAKE_TEST) replay-bins
	@$(STAGE) $@ tests/fuzz/replay.sh build/$(TEST_FLAVOUR) $(FUZZ_NAMES)

FUZZ_SECONDS ?= 60
fuzz:
	+@$(MAKE_THIS) FLAVOUR=fuzz fuzz-bins
	@$(SETARCH) tests/fuzz/fuzz.sh build/fuzz $(FUZZ_SECONDS) $(FUZZ_NAMES)

bench:
	+@$(MAKE_THIS) bin bench-bins
	@$(PYTHON) tests/bench/run.py $(BENCH_ARGS)
# The script is given the address of a daemon that was started for it on an empty directory.
bench-recall:
	+@$(MAKE_THIS) bin
	@test -n '$(RECALL)' || { echo 'usage: make bench-recall RECALL=script [DATA=file] [ARGS=…]'; \
	    exit 2; }
	@$(PYTHON) tests/bench/with_daemon.py $(PYTHON) '$(RECALL)' --url '{url}' \
	    $(if $(DATA),--data '$(DATA)') $(ARGS)
soak:
	+@$(MAKE_THIS) bin bench-bins
	@$(PYTHON) tests/bench/soak.py $(ARGS)

# A real OpenAI-compatible server; what it needs is installed in build/llama. Skipped where that
# can't be had, which its last line says.
test-llama:
	@docker/deps.sh --check --llama || docker/deps.sh --llama || true
	+@$(MAKE_THIS) bin
	@JOBS=$(JOBS) $(PYTHON) tests/llama/run.py $(ARGS)
# The fake one, to try things out without a model.
models-demo:
	@$(PYTHON) tests/fakes/model_server.py --demo $(ARGS)

asan:
	+@$(MAKE_THIS) FLAVOUR=asan test
tsan:
	+@$(MAKE_THIS) FLAVOUR=tsan test
coverage:
	@rm -rf build/coverage/counts
	@find build/coverage -name '*.gcda' -delete 2>/dev/null || true
	+@$(MAKE_THIS) FLAVOUR=coverage test
	@$(PYTHON) tests/coverage.py build/coverage $(FOLDERS)

# ---- Running the daemon ------------------------------------------------------------------------

.PHONY: run install docker clean
LISTEN ?= $(or $(HYPERMEM_LISTEN),127.0.0.1:7070)
DATA_DIR ?= $(or $(HYPERMEM_DATA_DIR),build/run-data)
SAMPLE ?= tests/data/sample.json
run:
	@docker/deps.sh --check --build || docker/deps.sh --build
	+@$(MAKE_THIS) bin
	+@$(MAKE_THIS) model || echo 'make run goes on without the model: memories are searched by words'
	@tests/demo.sh $(BIN) $(LISTEN) $(DATA_DIR) $(SAMPLE)

PREFIX ?= /usr/local
install: $(BIN)
	install -D -m 0755 $(BIN) $(DESTDIR)$(PREFIX)/bin/hypermemd
	install -D -m 0644 LICENSE $(DESTDIR)$(PREFIX)/share/doc/hypermem/LICENSE
	@test ! -d $(MODEL_DIR) || docker/model.sh --check $(MODEL_DIR)
	@test ! -d $(MODEL_DIR) || (cd $(MODEL_DIR) && find . -type f -exec install -D -m 0644 {} \
	    $(DESTDIR)$(PREFIX)/share/hypermem/models/all-MiniLM-L6-v2/{} \;)

docker:
	docker build -f docker/Dockerfile --build-arg VERSION='$(VERSION)' -t hypermem:latest .

clean:
	rm -rf build

# ---- Lint --------------------------------------------------------------------------------------

.PHONY: lint format lint-clang lint-tidy lint-vars
C_FILES := $(SRCS) $(TEST_SRCS)
H_FILES := $(call find_c,$(FOLDERS) tests,*.h)
L := build/lint
# Release was built with -Werror already when WERROR is set; otherwise a flavour of its own is.
LINT_FLAVOUR := $(if $(WERROR),release,strict)
LINT_FLAGS := $(CPPFLAGS_BASE) -I$(L)/gen -std=c11 -DHYPERMEM_FAULTS -DHYPERMEM_VERSION='"lint"'

lint:
	@COUNTS=$(COUNTS) tests/stage.sh lint $(PYTHON) tests/lint/run.py --jobs $(JOBS) \
	    --flavour $(LINT_FLAVOUR) --clang-format $(CLANG_FORMAT) $(if $(T),--only '$(T)')
format:
	@$(CLANG_FORMAT) -i $(C_FILES) $(H_FILES)

# One stamp a file, so that a second lint looks only at what changed.
CLANG_STAMPS := $(C_FILES:%.c=$(L)/clang/%.ok)
TIDY_STAMPS := $(C_FILES:%.c=$(L)/tidy/%.ok)
lint-clang: $(CLANG_STAMPS)
lint-tidy: $(TIDY_STAMPS)
$(L)/gen/unit_suites.inc: FORCE
	@mkdir -p $(@D)
	@tests/unit/suites.sh $(filter tests/unit/%,$(UNIT_SRCS)) > $@.new
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi
$(L)/flags: FORCE
	$(call stamp,$(CLANG) $(CLANG_TIDY) $(LINT_FLAGS) $(WARNINGS))
$(CLANG_STAMPS): $(L)/clang/%.ok: %.c $(L)/flags | $(L)/gen/unit_suites.inc
	@mkdir -p $(@D)
	@$(CLANG) $(LINT_FLAGS) $(call kernel_flags,$<) $(WARNINGS) -Werror -fsyntax-only \
	    $(if $(filter tests/%,$<),$(TEST_CFLAGS)) \
	    -MD -MP -MF $(@:.ok=.d) -MT $@ -MT $(L)/tidy/$*.ok $< && touch $@
$(TIDY_STAMPS): $(L)/tidy/%.ok: %.c $(L)/flags .clang-tidy $(wildcard tests/.clang-tidy) \
    | $(L)/gen/unit_suites.inc
	@mkdir -p $(@D)
	@$(CLANG_TIDY) --quiet $< -- $(LINT_FLAGS) $(call kernel_flags,$<) > $(@:.ok=.log) 2>&1 \
	    && touch $@ || { grep -v 'warnings generated\|warnings treated as errors' $(@:.ok=.log); \
	    exit 1; }
-include $(CLANG_STAMPS:.ok=.d)

# What tests/lint/run.py needs to know of this file.
lint-vars:
	@echo 'SRCS=$(SRCS)'
	@echo 'C_FILES=$(C_FILES)'
	@echo 'H_FILES=$(H_FILES)'
	@echo 'CPPFLAGS=$(CPPFLAGS_BASE)'

help:
	@printf '%s\n' 'all          build/release/hypermemd' \
	    'run          build, start, load the sample, ask (LISTEN=$(LISTEN) DATA_DIR=$(DATA_DIR))' \
	    'model        fetch the default model into MODEL_DIR=$(MODEL_DIR)' \
	    'test         lint, unit, API, crash and fuzz-corpus tests; the last line counts them' \
	    'unit api     one stage; T=name picks some' \
	    'crash        100 rounds of kill and reopen (ROUNDS=n); crash-quick 10' \
	    'fuzz         each fuzz target for FUZZ_SECONDS=60; fuzz-replay runs the corpus' \
	    'bench        the benchmarks; bench-recall RECALL=script DATA=file; soak' \
	    'test-llama   against a real model server, installed in build/llama' \
	    'models-demo  a fake model server to try things out with (ARGS="--port 7373")' \
	    'lint format  check, and clang-format -i' \
	    'asan tsan    unit, API and fuzz-corpus tests under a sanitizer' \
	    'coverage     the same with gcov, then a table of lines covered' \
	    'docker install clean'
