/*
 * ledger.h: what outlives workers and generations: the sums of what ended workers counted, what has happened to the
 * server, and which requests have crashed a worker lately.
 *
 * The master alone writes the sums and the events; after a binary upgrade two masters do for a while, under `version`.
 * A crashing worker adds its request; workers look there before they run one.
 */
#ifndef SERVE_LEDGER_H
#define SERVE_LEDGER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/histogram.h"
#include "base/shared.h"
#include "serve/scoreboard.h"

#define LEDGER_LAYOUT  2 /* another number for each change of what is below */
#define LEDGER_ROUTES  4096
#define LEDGER_CRASHES 16

/* One route, by its path, over all generations. */
struct ledger_route {
    char path[SETTINGS_PATH_BYTES];
    uint64_t requests, errors, refused;
    struct histogram queue, handler;
    int figure_count;
    struct app_figure figures[APP_FIGURES_MAX]; /* counters of the application's own */
};

enum ledger_event {
    LEDGER_RESTARTS,        /* of workers that ended without being asked */
    LEDGER_CRASHES_SEEN,    /* of those, by a signal */
    LEDGER_LOST,            /* requests whose handlers ran in such a worker */
    LEDGER_RECYCLED,        /* workers replaced for max_requests or max_memory */
    LEDGER_OVERDUE,         /* workers replaced for a request past its hard time limit */
    LEDGER_SLOW,            /* requests past request_timeout */
    LEDGER_RELOADS,         /* that succeeded */
    LEDGER_RELOAD_FAILURES, /* reloads and upgrades */
    LEDGER_UPGRADES,
    LEDGER_EVENTS,
};

struct ledger_crash {
    _Atomic uint64_t fingerprint; /* 0: none */
    _Atomic int64_t at_us;
};

struct ledger {
    int layout;
    _Atomic int generation;    /* the last one that was started */
    _Atomic int64_t started_us; /* the server, monotonic clock */
    _Atomic uint32_t version;  /* odd while sums change hands: what is read meanwhile may be counted twice or not at all */
    _Atomic uint64_t events[LEDGER_EVENTS];
    _Atomic uint32_t crash_count;
    struct ledger_crash crashes[LEDGER_CRASHES];
    int route_count;
    struct ledger_route routes[LEDGER_ROUTES]; /* the first is "", for requests that matched no route */
};

/* Each returns 0, −1 with errno. `shared->at` is the struct ledger. ledger_adopt takes the descriptor of another program's;
 * EINVAL: it has another layout. */
int ledger_new(struct shared *shared) __attribute__((warn_unused_result));
int ledger_adopt(struct shared *shared, int fd) __attribute__((warn_unused_result));

void ledger_count(struct ledger *ledger, enum ledger_event event);

/* Adds what the slot's worker has counted to the sums, and clears the slot; to readers at one moment. Master only. */
void ledger_take(struct ledger *ledger, const struct shared *board, int slot);

/* -- requests that have crashed a worker ------------------------------------------------------------------------------- */

/* A number for a request and whoever sent it: the same for one that a front end repeats. `envp` is its environment. Reads
 * memory alone, so a signal handler may call it. */
uint64_t ledger_fingerprint(char *const *envp);

/* Signal handler. */
void ledger_add_crash(struct ledger *ledger, uint64_t fingerprint, int64_t now_us);

/* True while a crash was less than two seconds ago: only then is a request's fingerprint worth its time. */
bool ledger_has_crashes(const struct ledger *ledger, int64_t now_us);
bool ledger_knows_crash(const struct ledger *ledger, uint64_t fingerprint, int64_t now_us);

#endif
