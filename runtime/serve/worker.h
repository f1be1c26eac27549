/*
 * worker.h: the process that serves requests.
 */
#ifndef SERVE_WORKER_H
#define SERVE_WORKER_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/listener.h"
#include "serve/access.h"
#include "serve/inbox.h"
#include "serve/lane.h"
#include "serve/ledger.h"
#include "serve/limits.h"
#include "serve/pool.h"
#include "serve/route.h"
#include "serve/scoreboard.h"
#include "serve/settings.h"
#include "serve/watchdog.h"

/* What a worker gets from the master, all of it for its whole life. */
struct worker_start {
    const struct settings *settings;
    int number;     /* from 1 */
    int generation;
    int channel;    /* to and from the master; with settings->debug it delivers signals instead */
    int access_fd;  /* the access log, −1: none */
    struct listener *listeners;
    int listener_count;
    const struct scoreboard *board; /* of its generation */
    int slot;                       /* its own there */
    struct ledger *ledger;
    const struct inbox *inboxes;  /* one a slot: for workers of its generation */
    const struct inbox *handover; /* from workers that drain to any that does not */
};

enum worker_draining {
    WORKER_SERVES,
    WORKER_MOVES, /* others go on: what is accepted later, and connections at rest, are theirs */
    WORKER_ENDS,  /* the server stops: who has connected is still served, connections at rest are closed */
};

struct worker {
    struct worker_start start;
    const struct settings *settings;
    int number;
    struct scoreboard_slot *slot; /* this worker's */
    unsigned max_connections, max_requests; /* what GET_VALUES tells, over all workers */
    struct route_table routes;
    struct lane *lanes;
    struct pool pool;
    struct watchdog watchdog;
    struct limits limits;
    struct access access;
    int ended_fd;                 /* eventfd: every lane has ended */
    _Atomic int draining;         /* enum worker_draining; only ever grows */
    _Atomic int64_t leave_us;     /* no lane ends before */
    _Atomic unsigned next_lane;
    _Atomic int listening_lanes;
    _Atomic int parted_lanes;
    _Atomic int running_lanes;
    _Atomic int64_t refusals_logged_us; /* when requests that were refused were last logged */
    _Atomic unsigned refusals_unlogged;
};

/* What the master and a worker tell each other, a packet each. The channel's end means that the other has gone. */
struct worker_word {
    char kind; /* enum worker_word_kind */
    int value;
};

enum worker_word_kind {
    WORKER_READY = 'r',  /* to the master: every lane accepts */
    WORKER_PARTED = 'p', /* to the master: told to drain, it has stopped accepting and has parted with what was at rest */
    WORKER_RETIRE = 'x', /* to the master: replace me; `value` is an enum worker_reason */
    WORKER_SLOW = 's',   /* to the master: `value` is the place in the pool of a thread past its request's time limit */
    WORKER_DRAIN = 'd',  /* to the worker: finish what runs and leave; `value` is an enum worker_draining */
    WORKER_TRACED = 't', /* to the worker: the look that WORKER_SLOW asked for is over */
    WORKER_LOG = 'l',    /* to the worker: with the descriptor of the log, opened again */
    WORKER_ACCESS = 'a', /* to the worker: the same of the access log */
};

enum worker_reason { WORKER_FULL, WORKER_FAT, WORKER_OVERDUE }; /* max_requests, max_memory, request_grace */

enum worker_exit { WORKER_EXIT_DONE = 0, WORKER_EXIT_CANNOT_START = 1, WORKER_EXIT_BY_HANDLER = 70 };

/* The life of a worker process, from just after the fork; never returns. */
_Noreturn void worker_main(const struct worker_start *start);

/* -- for lanes -------------------------------------------------------------------------------------------------------- */

void worker_connection_closed(struct worker *worker);
void worker_lane_stopped_listening(struct worker *worker);
void worker_lane_parted(struct worker *worker); /* once a lane, when it drains: see WORKER_PARTED */
void worker_lane_ended(struct worker *worker);

/* True when no lane accepts and no connection is open but those of handlers past their hard time limit: a draining worker
 * has nothing left to do. */
bool worker_is_empty(struct worker *worker);

/* A request was answered 503 for want of a thread: counted, and logged once a second with their number. */
void worker_log_refusal(struct worker *worker, const char *path, const char *why);

/* A handler has called `function`, which cannot be: says so and ends the process. */
_Noreturn void worker_end_by_handler(const char *function);

/* -- for limits.c ------------------------------------------------------------------------------------------------------ */

void worker_tell_master(const struct worker *worker, enum worker_word_kind kind, int value);
void worker_wake_lanes(struct worker *worker);

#endif
