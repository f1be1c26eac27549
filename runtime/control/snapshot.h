/*
 * snapshot.h: what the server is doing, at one moment, as plain values: what the status page, the metrics and
 * `millrace status` show. Taken from the scoreboards and the ledger.
 */
#ifndef CONTROL_SNAPSHOT_H
#define CONTROL_SNAPSHOT_H

#include <stdint.h>
#include <sys/types.h>

#include "base/histogram.h"
#include "serve/ledger.h"
#include "serve/scoreboard.h"

/* A figure of an application's own, summed over the workers; a counter over those that have ended as well. */
struct snapshot_figure {
    struct app_figure is;
    int generation; /* the latest that has it: its kind and help count; 0: only the ledger */
};

struct snapshot_route {
    char path[SETTINGS_PATH_BYTES]; /* "": requests that matched no route */
    uint64_t requests, errors, refused;
    struct histogram queue, handler;
    struct snapshot_figure *figures; /* by name */
    int figure_count;
};

/* A thread that runs a handler. */
struct snapshot_thread {
    int worker; /* its place in `workers` */
    int number; /* of the thread, as in the log */
    uint64_t request;
    int64_t elapsed_us;
    char route[SETTINGS_PATH_BYTES], method[SCOREBOARD_METHOD_BYTES], uri[SCOREBOARD_URI_BYTES]; /* any bytes but NUL */
};

struct snapshot_worker {
    pid_t pid;
    int number, generation;
    enum scoreboard_state state; /* never SCOREBOARD_NONE */
    int64_t uptime_us;
    int threads, threads_busy; /* `threads` as configured */
    int connections, idle, queued;
    uint64_t requests;
};

struct snapshot {
    int64_t taken_us; /* monotonic clock */
    pid_t master;
    int generation; /* the one that serves */
    int64_t uptime_us;
    uint64_t events[LEDGER_EVENTS];
    struct snapshot_worker *workers; /* current generation first, then by number */
    int worker_count;
    struct snapshot_thread *threads; /* longest first */
    int thread_count;
    struct snapshot_route *routes; /* by path; "" last */
    int route_count;
    int idle, queued, suspended; /* sums over the workers */
};

/* Where it is taken from; mapped in the process that asks. */
struct snapshot_source {
    const struct ledger *ledger;
    pid_t master;
    int generation;
    const struct scoreboard *boards[64]; /* of the generations that have workers; NULL where there is none */
    int board_count;
};

/* Returns 0, −1 with errno when memory is short. Never blocks. Freed by the caller with snapshot_fini. */
int snapshot_take(struct snapshot *snapshot, const struct snapshot_source *source) __attribute__((warn_unused_result));
void snapshot_fini(struct snapshot *snapshot);

#endif
