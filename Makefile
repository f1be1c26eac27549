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
RUNTIME_LIBS := -lfcgi -lconfuse -ldw -ljansson -lm -ldl

$(BUILD)/obj/runtime/%.o: runtime/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(DEPEND) -fvisibility=hidden -Iruntime -c $< -o $@

# The server itself is optimised as a whole, and calls the kernel directly (base/kernel.h): 2 to 3 % and 1 to 2 % less CPU a
# request. Tests link the single objects.
WHOLE := $(if $(SANITIZE),,-flto=auto -DMR_DIRECT_CALLS)
$(BUILD)/obj/whole/%.o: runtime/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(WHOLE) $(DEPEND) -fvisibility=hidden -Iruntime -c $< -o $@

$(BUILD)/millrace: $(RUNTIME_SOURCES:runtime/%.c=$(BUILD)/obj/whole/%.o)
	$(Q)$(CC) $(CFLAGS) $(WHOLE) -Wl,--export-dynamic $^ -o $@ $(RUNTIME_LIBS)

# The same program with threads held back where they hand over to each other, for tests/flow/test_races.c.
$(BUILD)/obj/races/%.o: runtime/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -DMR_RACES $(DEPEND) -fvisibility=hidden -Iruntime -c $< -o $@

$(BUILD)/millrace-races: $(RUNTIME_SOURCES:runtime/%.c=$(BUILD)/obj/races/%.o)
	$(Q)$(CC) $(CFLAGS) -Wl,--export-dynamic $^ -o $@ $(RUNTIME_LIBS)

# -- the database library -------------------------------------------------------------------------------------------
PQ_CFLAGS := -I$(shell pg_config --includedir 2>/dev/null)
DB_SOURCES := $(wildcard db/*.c)
DB_OBJECTS := $(DB_SOURCES:%.c=$(BUILD)/obj/%.o)
DB_LIBRARY := $(BUILD)/libmillrace_pg.a

$(BUILD)/obj/db/%.o: db/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(DEPEND) $(PQ_CFLAGS) -fPIC -fvisibility=hidden -Iruntime -c $< -o $@

# One object in which only pg_ names are global, so that the library's others cannot meet the application's.
$(BUILD)/obj/millrace_pg.o: $(DB_OBJECTS)
	$(Q)ld -r $^ -o $@
	$(Q)objcopy --wildcard --keep-global-symbol='pg_*' $@

$(DB_LIBRARY): $(BUILD)/obj/millrace_pg.o
	@rm -f $@
	$(Q)ar rcs $@ $^

# -- the measurement suite ----------------------------------------------------------------------------------------------
BENCH_SOURCES := $(filter-out bench/micro/% bench/peers/% bench/targets/%,$(wildcard bench/*.c bench/*/*.c))
BENCH_OBJECTS := $(BENCH_SOURCES:%.c=$(BUILD)/obj/%.o)
BENCH_BASE := $(patsubst %.c,$(BUILD)/obj/%.o,$(wildcard runtime/base/*.c))
BENCH_LIBS := -lconfuse -ljansson -lxxhash -lcrypto -lm

$(BUILD)/obj/bench/%.o: bench/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(DEPEND) -Ibench -Iruntime -c $< -o $@

# The flags stand beside it in a file, for the fingerprint of a run.
$(BUILD)/millbench: $(BENCH_OBJECTS) $(BENCH_BASE)
	$(file >$(BUILD)/flags,$(CC) $(CFLAGS) $(WHOLE))
	$(Q)$(CC) $(CFLAGS) $^ -o $@ $(BENCH_LIBS)

# An application for the measurements alone.
$(BUILD)/bench/large.so: bench/targets/large.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(DEPEND) -fPIC -fvisibility=hidden -shared -Iruntime $< -o $@

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

# Applications that use the database.
DB_APPS := database guestbook
$(DB_APPS:%=$(BUILD)/obj/apps/%.o): APP_CFLAGS = -Idb $(PQ_CFLAGS)
$(DB_APPS:%=$(BUILD)/apps/%.so): APP_LIBS = -lpq
$(DB_APPS:%=$(BUILD)/apps/%.so): $(DB_LIBRARY)

$(BUILD)/apps/fortune.so: $(BUILD)/obj/apps/fortune/index.o $(BUILD)/obj/apps/fortune/collection.o

# -- tests ----------------------------------------------------------------------------------------------------------
# tests/unit/test_X.c and tests/flow/test_X.c are programs; the other files of tests/flow are what the flow tests share.
UNIT_TESTS := $(patsubst tests/unit/%.c,$(BUILD)/tests/unit/%,$(wildcard tests/unit/test_*.c))
FLOW_TESTS := $(patsubst tests/flow/%.c,$(BUILD)/tests/flow/%,$(wildcard tests/flow/test_*.c))
FLOW_SHARED := $(filter-out tests/flow/test_%,$(wildcard tests/flow/*.c))
TEST_APPS := $(patsubst tests/apps/%.c,$(BUILD)/tests/apps/%.so,$(wildcard tests/apps/*.c))
TEST_SHARED := $(BUILD)/obj/tests/suite.o $(BUILD)/obj/tests/guard.o

$(BUILD)/obj/tests/%.o: tests/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(DEPEND) -Iruntime -Itests -c $< -o $@

# What is compared with libhttp-parser: test_http_second_opinion and fuzz_http_head.
OPINION = $(if $(filter %second_opinion http_head,$(1)),-lhttp_parser)

$(BUILD)/tests/unit/%: $(BUILD)/obj/tests/unit/%.o $(TEST_SHARED) $(filter-out %/control/main.o,$(RUNTIME_OBJECTS))
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $^ -o $@ -lcunit $(call OPINION,$*) $(if $(filter test_pg_%,$*),-lpq) $(RUNTIME_LIBS)

# Those of the measurement suite link its objects and the runtime's tools.
$(patsubst tests/%.c,$(BUILD)/obj/tests/%.o,$(wildcard tests/unit/test_bench_*.c)): override CFLAGS += -Ibench
$(patsubst tests/%.c,$(BUILD)/tests/%,$(wildcard tests/unit/test_bench_*.c)): $(BUILD)/tests/unit/%: $(BUILD)/obj/tests/unit/%.o \
    $(TEST_SHARED) $(filter-out %/bench/main.o,$(BENCH_OBJECTS)) $(BENCH_BASE)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $^ -o $@ -lcunit $(BENCH_LIBS)

# The server that the controls of the measurement suite measure: wrong in one chosen way.
$(BUILD)/tests/bench/wrong_server: tests/bench/wrong_server.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(DEPEND) $< -o $@

# Those of the database library link its single objects.
$(patsubst tests/%.c,$(BUILD)/obj/tests/%.o,$(wildcard tests/unit/test_pg_*.c)): override CFLAGS += -Idb $(PQ_CFLAGS)
$(patsubst tests/%.c,$(BUILD)/tests/%,$(wildcard tests/unit/test_pg_*.c)): $(DB_OBJECTS)

$(BUILD)/tests/flow/%: $(BUILD)/obj/tests/flow/%.o $(FLOW_SHARED:%.c=$(BUILD)/obj/%.o) $(TEST_SHARED)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $^ -o $@ -lcunit -ljansson

# What the tests of the database share is in tests/database/.
DATABASE_SHARED := $(patsubst %.c,$(BUILD)/obj/%.o,$(wildcard tests/database/*.c))
DATABASE_TESTS := $(BUILD)/tests/flow/test_database_failures $(BUILD)/tests/flow/test_database_tokens
$(BUILD)/obj/tests/database/%.o $(BUILD)/obj/tests/flow/test_database_%.o: override CFLAGS += -I$(shell pg_config --includedir)
$(DATABASE_TESTS): $(patsubst %,$(BUILD)/obj/tests/soak/%.o,chance memory worker)
$(DATABASE_TESTS): $(BUILD)/tests/flow/%: $(BUILD)/obj/tests/flow/%.o $(DATABASE_SHARED) $(FLOW_SHARED:%.c=$(BUILD)/obj/%.o) \
    $(TEST_SHARED)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $^ -o $@ -lcunit -ljansson -lpq -lm

SOAK_SOURCES := $(wildcard tests/soak/*.c)
$(BUILD)/tests/soak/mixed: $(SOAK_SOURCES:%.c=$(BUILD)/obj/%.o) $(FLOW_SHARED:%.c=$(BUILD)/obj/%.o) $(TEST_SHARED)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $^ -o $@ -lcunit -lm

$(BUILD)/tests/apps/%.so: tests/apps/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(DEPEND) $(APP_CFLAGS) -fPIC -shared -Iruntime $< $(APP_LIBS) -o $@

# Those that use the database.
DB_TEST_APPS := $(patsubst tests/apps/%.c,$(BUILD)/tests/apps/%.so,$(wildcard tests/apps/pg_*.c))
$(DB_TEST_APPS): APP_CFLAGS = -Idb $(PQ_CFLAGS)
$(DB_TEST_APPS): APP_LIBS = $(DB_LIBRARY) -lpq
$(DB_TEST_APPS): $(DB_LIBRARY)

$(BUILD)/tests/unit/test_fortune_index: $(BUILD)/obj/apps/fortune/index.o
$(BUILD)/tests/unit/test_http_second_opinion: $(BUILD)/obj/tests/second_opinion.o

# -- small measurements ------------------------------------------------------------------------------------------------
MICRO := $(addprefix $(BUILD)/micro/,null_responder null_http libfcgi_loop idle_connections slow_clients steady_client)

$(BUILD)/micro/%: bench/micro/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $< -o $@ -lfcgi

SLOW := $(BUILD)/micro/slow_clients $(BUILD)/micro/steady_client

# -- fuzzing ---------------------------------------------------------------------------------------------------------
# Each entry is built twice: with replay.c for `make test`, and with libFuzzer for `make fuzz`.
FUZZ_ENTRIES := record request http status proxy forwarded http_head form response ab httperf
FUZZ_RUNTIME := $(filter-out runtime/control/main.c,$(RUNTIME_SOURCES))
# Those that serve a whole connection.
comma := ,
FUZZ_SERVING := request http
FUZZ_WRAPPED := $(addprefix -Wl$(comma)--wrap=,recv send sendmsg getpeername getsockname poll)
FUZZ_SECONDS ?= 60
SOAK_REQUESTS ?= 1000000
REPLAYS := $(FUZZ_ENTRIES:%=$(BUILD)/tests/fuzz/replay_%)

$(BUILD)/tests/fuzz/replay_%: $(BUILD)/obj/tests/fuzz/fuzz_%.o $(BUILD)/obj/tests/fuzz/replay.o \
    $(filter-out %/control/main.o,$(RUNTIME_OBJECTS))
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $^ -o $@ $(if $(filter $(FUZZ_SERVING),$*),$(FUZZ_WRAPPED)) $(call OPINION,$*) $(call HASHES,$*) $(RUNTIME_LIBS)

$(FUZZ_SERVING:%=$(BUILD)/tests/fuzz/replay_%): $(BUILD)/obj/tests/fuzz/serving.o
$(FUZZ_SERVING:%=$(BUILD)/fuzz/fuzz_%): tests/fuzz/serving.c

$(BUILD)/fuzz/fuzz_%: tests/fuzz/fuzz_%.c $(FUZZ_RUNTIME)
	@mkdir -p $(@D)
	$(Q)clang -O1 -g -std=gnu11 -D_GNU_SOURCE -DMR_VERSION='"fuzz"' -pthread -fno-omit-frame-pointer \
	    -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -fprofile-instr-generate -fcoverage-mapping -Iruntime \
	    -Itests -Ibench $^ -o $@ $(if $(filter $(FUZZ_SERVING),$*),$(FUZZ_WRAPPED)) $(call OPINION,$*) $(call HASHES,$*) $(RUNTIME_LIBS)

$(BUILD)/tests/fuzz/replay_http_head: $(BUILD)/obj/tests/second_opinion.o
$(BUILD)/fuzz/fuzz_http_head: tests/second_opinion.c

# What the load generator reads.
HASHES = $(if $(filter response,$(1)),-lxxhash)
$(BUILD)/obj/tests/fuzz/fuzz_response.o: override CFLAGS += -Ibench
$(BUILD)/tests/fuzz/replay_response: $(BUILD)/obj/bench/load/reply.o $(BUILD)/obj/bench/load/response.o
$(BUILD)/fuzz/fuzz_response: bench/load/reply.c bench/load/response.c

# What ab and httperf print.
FUZZ_TOOLS := $(wildcard bench/tools/*.c)
$(BUILD)/obj/tests/fuzz/fuzz_ab.o $(BUILD)/obj/tests/fuzz/fuzz_httperf.o: override CFLAGS += -Ibench
$(BUILD)/tests/fuzz/replay_ab $(BUILD)/tests/fuzz/replay_httperf: $(FUZZ_TOOLS:%.c=$(BUILD)/obj/%.o)
$(BUILD)/fuzz/fuzz_ab $(BUILD)/fuzz/fuzz_httperf: $(FUZZ_TOOLS)

.SECONDARY:

.PHONY: all check-build
all: $(BUILD)/millrace $(APPS) $(DB_LIBRARY)
check-build: all $(BUILD)/millbench $(BUILD)/bench/large.so $(BUILD)/micro/null_http $(BUILD)/millrace-races $(BUILD)/sample $(UNIT_TESTS) $(FLOW_TESTS) $(TEST_APPS) $(REPLAYS) $(SLOW) $(BUILD)/tests/bench/wrong_server

# -- what users call -------------------------------------------------------------------------------------------------
export BUILD PACKAGES
.PHONY: help run test up down app bench-quick bench bench-transport bench-direct bench-generator bench-slow bench-database peers check-peers
.PHONY: asan tsan fuzz soak soak-database life install uninstall format tidy clean

help: ## list the targets
	@sed -n 's/^\([a-z][a-z -]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 26

# Packages come first, so the rest is a second make: it may need what they bring.
run: ## install packages, build, start the whole stack, check every route, stay in the foreground
	@runtime/packages run
	@+$(MAKE) --no-print-directory all
	@exec runtime/stack run

test: ## install packages, build, run every test
	@runtime/packages test
	@+$(MAKE) --no-print-directory check-build
	@exec tests/run

up: ## start the stack in the background; returns when every route answers
	@runtime/packages run
	@+$(MAKE) --no-print-directory all
	@exec runtime/stack up

down: ## stop the stack
	@exec runtime/stack down

app: ## NAME=visitors: make a new application with its route and test
	@exec apps/template/new $(NAME)

BENCH_PROGRAMS := $(BUILD)/millbench $(BUILD)/bench/large.so $(BUILD)/micro/null_http

bench-quick: ## a first look at static, proxied and direct with millbench, ab and httperf: four minutes
	@runtime/packages bench
	@+$(MAKE) --no-print-directory all $(BENCH_PROGRAMS)
	@BUILD=$(BUILD) $(BUILD)/millbench run quick

bench: ## the standard measurement, with claims: an hour
	@runtime/packages bench
	@+$(MAKE) --no-print-directory all $(BENCH_PROGRAMS)
	@BUILD=$(BUILD) $(BUILD)/millbench run standard

bench-transport: ## the transport against a responder that does nothing; idle connections; sleeping handlers
	@runtime/packages bench
	@+$(MAKE) --no-print-directory all $(MICRO) $(BUILD)/tests/apps/sleeper.so
	@bench/micro/transport
	@bench/micro/idle
	@bench/micro/sleepers

bench-direct: ## the HTTP listener against a server that does nothing, nginx's files, and the way through nginx
	@runtime/packages bench
	@+$(MAKE) --no-print-directory all $(MICRO)
	@bench/micro/direct

bench-generator: ## what millbench's load generator costs beside wrk and ab, how late it sends, what it sees of a stop
	@runtime/packages bench
	@+$(MAKE) --no-print-directory $(BUILD)/millbench $(MICRO)
	@bench/micro/generator

bench-slow: ## what slow clients on the server's own HTTP take from the others
	@runtime/packages bench
	@+$(MAKE) --no-print-directory all $(SLOW) $(BUILD)/tests/apps/flood.so
	@bench/micro/slow

bench-database: ## the page from PostgreSQL against its bound, pgbench, Apache with mod_perl, PHP-FPM
	@runtime/packages bench
	@runtime/packages peers
	@+$(MAKE) --no-print-directory all
	@bench/micro/database

peers: ## install the servers that measurements compare with (bench/peers); neither run nor test needs them
	@runtime/packages peers

check-peers: ## start each of them in each configuration and compare its pages with ours
	@runtime/packages peers
	@+$(MAKE) --no-print-directory all
	@bench/peers/check

asan: ## the tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@runtime/packages test
	@+$(MAKE) --no-print-directory BUILD=$(BUILD)/asan SANITIZE=address,undefined check-build
	@BUILD=$(BUILD)/asan exec tests/run

# ThreadSanitizer waits a second at the end of a process: tests that time the end would measure that.
tsan: ## the tests under ThreadSanitizer
	@runtime/packages test
	@+$(MAKE) --no-print-directory BUILD=$(BUILD)/tsan SANITIZE=thread check-build
	@TSAN_OPTIONS="atexit_sleep_ms=0 $$TSAN_OPTIONS" BUILD=$(BUILD)/tsan exec tests/run

fuzz: ## FUZZ_SECONDS=60: fuzz every entry for that long, then print the parsers' line coverage
	@runtime/packages fuzz
	@+$(MAKE) --no-print-directory $(FUZZ_ENTRIES:%=$(BUILD)/fuzz/fuzz_%)
	@exec tests/fuzz/run $(FUZZ_SECONDS) $(FUZZ_ENTRIES)

soak: ## SOAK_REQUESTS=1000000: mixed requests, right, odd and broken: answers, memory, descriptors, threads
	@runtime/packages test
	@+$(MAKE) --no-print-directory check-build $(BUILD)/tests/soak/mixed
	@exec tests/soak/run $(SOAK_REQUESTS)

soak-database: ## SOAK_REQUESTS=1000000: queries that fail, are cancelled, amid reloads; and every failure of PostgreSQL for longer
	@runtime/packages test
	@+$(MAKE) --no-print-directory check-build
	@MILLRACE_TEST_LONG=1 MILLRACE_TEST_REQUESTS=$(SOAK_REQUESTS) MILLRACE_TEST_LIMIT=3600 exec tests/run database_tokens \
	    database_failures

life: ## process life at length: reloads, upgrades, kills under load, a million counted requests
	@runtime/packages test
	@+$(MAKE) --no-print-directory check-build
	@MILLRACE_TEST_LONG=1 MILLRACE_TEST_LIMIT=900 exec tests/run reload kills counters

format: ## clang-format every source
	clang-format -i $(shell git ls-files '*.c' '*.h')

tidy: ## clang-tidy, cppcheck and shellcheck
	clang-tidy --quiet $(RUNTIME_SOURCES) $(DB_SOURCES) $(wildcard apps/*.c apps/*/*.c) -- -std=gnu11 -D_GNU_SOURCE -DMR_VERSION='""' \
	    -Iruntime -Idb $(PQ_CFLAGS)
	cppcheck --quiet --error-exitcode=1 --enable=warning,portability --inline-suppr -D_GNU_SOURCE -Iruntime -Idb runtime db apps
	shellcheck -x runtime/environment.sh runtime/spawn runtime/stack runtime/packages db/cluster nginx-conf/front \
	    apps/template/new tests/run tests/fuzz/run tests/soak/run bench/micro/transport bench/micro/idle bench/micro/sleepers \
	    bench/micro/direct bench/micro/slow bench/micro/database bench/peers/check bench/peers/*/start bench/peers/*/stop .ci/run

compile_commands.json: Makefile ## for editors: needs bear
	+bear -- $(MAKE) --no-print-directory -B check-build

clean: ## remove what was built (not the stacks' state)
	rm -rf $(addprefix $(BUILD)/,obj apps tests asan tsan fuzz micro install millrace millbench millrace-races sample libmillrace_pg.a)

# -- installation ----------------------------------------------------------------------------------------------------
D = $(DESTDIR)$(PREFIX)
MADE := $(BUILD)/install
UNITS := millrace.service millrace.socket millrace-http.socket millrace-status.socket
# Not env and echo: they show what a request brought, which is for the machines of developers.
INSTALLED_APPS := $(filter-out env echo,$(APP_NAMES))

# What is installed: its mode, where it comes from, its place below PREFIX.
define INSTALLED
755 $(BUILD)/millrace sbin/millrace
755 runtime/spawn lib/millrace/spawn
644 runtime/environment.sh lib/millrace/environment.sh
$(foreach app,$(INSTALLED_APPS),644 $(BUILD)/apps/$(app).so lib/millrace/apps/$(app).so
)644 runtime/millrace.h include/millrace.h
644 db/millrace_pg.h include/millrace_pg.h
644 $(DB_LIBRARY) lib/libmillrace_pg.a
644 $(MADE)/millrace.pc lib/pkgconfig/millrace.pc
644 $(MADE)/millrace_pg.pc lib/pkgconfig/millrace_pg.pc
$(foreach unit,$(UNITS),644 $(MADE)/$(unit) lib/systemd/system/$(unit)
)644 runtime/systemd/tmpfiles.conf lib/tmpfiles.d/millrace.conf
644 runtime/man/millrace.8 share/man/man8/millrace.8
644 runtime/man/millrace.conf.5 share/man/man5/millrace.conf.5
644 $(MADE)/millrace.conf.sample share/doc/millrace/millrace.conf.sample
644 nginx-conf/production.conf share/doc/millrace/nginx/production.conf
644 nginx-conf/millrace.params share/doc/millrace/nginx/millrace.params
644 nginx-conf/millrace.fastcgi share/doc/millrace/nginx/millrace.fastcgi
644 README.md share/doc/millrace/README.md
644 CHANGES.md share/doc/millrace/CHANGES.md
644 LICENSE share/doc/millrace/LICENSE
endef

$(BUILD)/sample: runtime/sample.c $(BUILD)/obj/runtime/control/option.o
	$(Q)$(CC) $(CFLAGS) -Iruntime $^ -o $@

# Made anew each time, since PREFIX may be another.
MADE_FILES := $(addprefix $(MADE)/,millrace.conf.sample millrace.pc millrace_pg.pc $(UNITS))
.PHONY: $(MADE_FILES)
$(MADE)/millrace.conf.sample: $(BUILD)/sample
	@mkdir -p $(@D)
	$(Q)$< '$(PREFIX)' >$@

$(MADE)/millrace.pc:
	@mkdir -p $(@D)
	$(Q)printf '%s\n' 'prefix=$(PREFIX)' 'appsdir=$${prefix}/lib/millrace/apps' '' 'Name: millrace' \
	    'Description: application server for web applications written in C' 'Version: $(VERSION)' \
	    'Cflags: -I$${prefix}/include' >$@

$(MADE)/millrace_pg.pc:
	@mkdir -p $(@D)
	$(Q)printf '%s\n' 'prefix=$(PREFIX)' '' 'Name: millrace_pg' 'Description: PostgreSQL for applications of Millrace' \
	    'Version: $(VERSION)' 'Requires: millrace libpq' 'Cflags: -I$${prefix}/include' \
	    'Libs: -L$${prefix}/lib -lmillrace_pg' >$@

$(UNITS:%=$(MADE)/%): $(MADE)/%: runtime/systemd/%
	@mkdir -p $(@D)
	$(Q)sed 's|@PREFIX@|$(PREFIX)|g' $< >$@

# PREFIX/lib/millrace/installed lists what is installed, by this or an earlier version.
install: export INSTALLED := $(INSTALLED)
install: all $(MADE_FILES) ## install below PREFIX (/usr/local); honours DESTDIR
	@umask 022 && printf '%s\n' "$$INSTALLED" | while read -r mode source place; do \
	    install -D -m "$$mode" "$$source" "$(D)/$$place" && echo "$$place" || exit 1; done >$(MADE)/places
	@ln -sfn ../lib/millrace/spawn "$(D)/sbin/millrace-spawn"
	@umask 022 && printf '%s\n' sbin/millrace-spawn lib/millrace/installed >>$(MADE)/places && \
	    touch "$(D)/lib/millrace/installed" && \
	    sort -u $(MADE)/places "$(D)/lib/millrace/installed" -o "$(D)/lib/millrace/installed"
	@echo "installed below $(D); README.md says how to run it"

uninstall: ## remove what install wrote
	@cd "$(D)" && [ -e lib/millrace/installed ] || { echo "make uninstall: nothing is installed below $(D)" >&2; exit 1; }
	@cd "$(D)" && tr '\n' '\0' <lib/millrace/installed | xargs -0 rm -f -- && \
	    for place in lib/millrace/apps lib/millrace share/doc/millrace/nginx share/doc/millrace; do \
	        rmdir "$$place" 2>/dev/null || true; done

-include $(shell find $(BUILD)/obj $(BUILD)/tests -type f -name '*.d' 2>/dev/null)
