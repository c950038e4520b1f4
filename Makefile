# SPDX-License-Identifier: Apache-2.0
#
# A thin front for meson, ninja and the scripts in tools/.

.SUFFIXES:
MAKEFLAGS += --no-builtin-rules

BUILD ?= build
BUILD_ASAN ?= build-asan
PYTHON = /usr/bin/python3
PYTEST = $(PYTHON) -m pytest
PREFIX ?= /usr/local
WERROR ?= false

.PHONY: all help deps run test unit blackbox test-vm bench check asan fuzz soak \
	install format clean

all: $(BUILD)/build.ninja
	ninja -C $(BUILD)

help:
	@echo 'make          build into $(BUILD)/'
	@echo 'make deps     install what building and testing need (apt, as root)'
	@echo 'make run      build, then run the quickstart example'
	@echo 'make test     build, then unit and black-box tests (as root)'
	@echo 'make unit     build, then the unit tests only'
	@echo 'make blackbox build, then the black-box tests only (as root)'
	@echo 'make test-vm  try it on an older kernel with cgroup v2 only, in qemu'
	@echo 'make bench    measure, as JSON lines (as root)'
	@echo 'make check    format, layers, sizes, style, syscalls, clang-tidy'
	@echo 'make asan     the tests again with ASan and UBSan (as root)'
	@echo 'make fuzz     the fuzz targets, $$FUZZ_SECONDS (60) each'
	@echo 'make soak     kills and churn for hours, then make fuzz, 1,200 s each'
	@echo 'make install  into $$DESTDIR$(PREFIX)'
	@echo 'make format   rewrite the sources with clang-format'
	@echo 'make clean    remove the build directories'

deps:
	@tools/deps build test

$(BUILD)/build.ninja:
	meson setup $(BUILD) --prefix $(PREFIX) -Dwerror=$(WERROR)

run:
	@tools/deps build run
	@$(MAKE) --no-print-directory all
	@tools/need-root 'make run'
	examples/quickstart/run

test:
	@tools/deps build test
	@$(MAKE) --no-print-directory all
	@tools/need-root 'make test'
	@$(MAKE) --no-print-directory --keep-going unit blackbox

unit: all
	meson test -C $(BUILD) --suite unit --print-errorlogs

blackbox: all
	OSB_BUILD=$(CURDIR)/$(BUILD) $(PYTEST) -q \
		--junitxml=$(BUILD)/blackbox.xml tests/integration tests/escape \
		tests/hostile

test-vm:
	@tools/deps build vm
	@$(MAKE) --no-print-directory all
	@tests/vm/run $(BUILD)

bench:
	@tools/deps build bench
	@$(MAKE) --no-print-directory all
	@tools/need-root 'make bench'
	OSB_BUILD=$(CURDIR)/$(BUILD) tests/bench/run

check:
	@tools/deps build test check
	@$(MAKE) --no-print-directory all
	@tools/check $(BUILD)

asan:
	@tools/deps build test asan
	@$(MAKE) --no-print-directory all
	@tools/need-root 'make asan'
	tools/asan $(CURDIR)/$(BUILD) $(CURDIR)/$(BUILD_ASAN)

fuzz:
	@tools/deps build fuzz
	tools/fuzz

soak:
	@tools/deps build test fuzz
	@$(MAKE) --no-print-directory all
	@tools/need-root 'make soak'
	OSB_BUILD=$(CURDIR)/$(BUILD) OSB_TEST_LONG=1 OSB_TEST_TRIES=10000 \
		$(PYTEST) -q --junitxml=$(BUILD)/soak.xml tests/soak \
		tests/integration
	FUZZ_SECONDS=$${FUZZ_SECONDS:-1200} tools/fuzz

install: all
	meson install -C $(BUILD)

format:
	find src include tests examples -name '*.[ch]' -print0 2>/dev/null | \
		xargs -0 clang-format -i

clean:
	rm -rf $(BUILD) $(BUILD_ASAN) build-fuzz
