# Millrace: builds, runs, tests and installs everything; `make help` lists the targets.
#
# Variables: BUILD (build), SANITIZE (address,undefined or thread), PACKAGES=skip, DESTDIR, PREFIX (/usr/local),
# MILLRACE_PORT (8080), MILLRACE_STATE (build/run), V=1 shows the commands.

VERSION := 0.1.0
BUILD ?= build
PREFIX ?= /usr/local
CC := gcc
SANITIZE ?=
Q := $(if $(V),,@)

CFLAGS ?= -O2 -g
WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wwrite-strings -Wundef -Wvla
override CFLAGS += -std=gnu11 -pthread -fno-omit-frame-pointer -D_GNU_SOURCE -DMR_VERSION='"$(VERSION)"' $(WARNINGS) $(WERROR)
override CFLAGS += $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all)
WERROR ?= $(if $(CI),-Werror)
DEPEND = -MMD -MP

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules

# -- runtime ----------------------------------------------------------------------------------------------------
RUNTIME_SOURCES := $(wildcard runtime/base/*.c runtime/control/*.c runtime/serve/*.c)
RUNTIME_OBJECTS := $(RUNTIME_SOURCES:%.c=$(BUILD)/obj/%.o)
RUNTIME_LIBS := -lfcgi -lconfuse -ldl

$(BUILD)/obj/runtime/%.o: runtime/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(DEPEND) -fvisibility=hidden -Iruntime -c $< -o $@

$(BUILD)/millrace: $(RUNTIME_OBJECTS)
	$(Q)$(CC) $(CFLAGS) -Wl,--export-dynamic $^ -o $@ $(RUNTIME_LIBS)

# -- applications: apps/NAME.c becomes build/apps/NAME.so ---------------------------------------------------------
APP_NAMES := $(patsubst apps/%.c,%,$(wildcard apps/*.c))
APPS := $(APP_NAMES:%=$(BUILD)/apps/%.so)

# An application of several files: the others are in apps/NAME/.
$(BUILD)/obj/apps/%.o: apps/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(DEPEND) $(APP_CFLAGS) -fPIC -fvisibility=hidden -Iruntime -c $< -o $@

$(BUILD)/apps/%.so: $(BUILD)/obj/apps/%.o
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -shared $^ -o $@ $(APP_LIBS)

$(BUILD)/apps/fortune.so: $(BUILD)/obj/apps/fortune/index.o $(BUILD)/obj/apps/fortune/collection.o

$(BUILD)/obj/apps/database.o: APP_CFLAGS = -I$(shell pg_config --includedir)
$(BUILD)/apps/database.so: APP_LIBS = -lpq

# -- tests ----------------------------------------------------------------------------------------------------------
# tests/unit/test_X.c and tests/flow/test_X.c are programs; the other files of tests/flow are what the flow tests share.
UNIT_TESTS := $(patsubst tests/unit/%.c,$(BUILD)/tests/unit/%,$(wildcard tests/unit/test_*.c))
FLOW_TESTS := $(patsubst tests/flow/%.c,$(BUILD)/tests/flow/%,$(wildcard tests/flow/test_*.c))
FLOW_SHARED := $(filter-out tests/flow/test_%,$(wildcard tests/flow/*.c))
TEST_APPS := $(patsubst tests/apps/%.c,$(BUILD)/tests/apps/%.so,$(wildcard tests/apps/*.c))
TEST_SHARED := $(BUILD)/obj/tests/suite.o

$(BUILD)/obj/tests/%.o: tests/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(DEPEND) -Iruntime -Itests -c $< -o $@

$(BUILD)/tests/unit/%: $(BUILD)/obj/tests/unit/%.o $(TEST_SHARED) $(filter-out %/control/main.o,$(RUNTIME_OBJECTS))
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $^ -o $@ -lcunit $(RUNTIME_LIBS)

$(BUILD)/tests/flow/%: $(BUILD)/obj/tests/flow/%.o $(FLOW_SHARED:%.c=$(BUILD)/obj/%.o) $(TEST_SHARED)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $^ -o $@ -lcunit

$(BUILD)/tests/apps/%.so: tests/apps/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(DEPEND) -fPIC -shared -Iruntime $< -o $@

$(BUILD)/tests/unit/test_fortune_index: $(BUILD)/obj/apps/fortune/index.o
.PRECIOUS: $(BUILD)/obj/%.o

.PHONY: all check-build
all: $(BUILD)/millrace $(APPS)
check-build: all $(UNIT_TESTS) $(FLOW_TESTS) $(TEST_APPS)

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
