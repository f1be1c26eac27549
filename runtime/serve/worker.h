/*
 * worker.h: the process that serves requests.
 */
#ifndef SERVE_WORKER_H
#define SERVE_WORKER_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/listener.h"
#include "serve/inbox.h"
#include "serve/lane.h"
#include "serve/pool.h"
#include "serve/route.h"
#include "serve/scoreboard.h"
#include "serve/settings.h"
#include "serve/watchdog.h"

/* What a worker gets from the master, all of it for its whole life. */
struct worker_start {
    const struct settings *settings;
    int number; /* from 1 */
    int channel; /* to and from the master; with settings->debug it delivers signals instead */
    struct listener *listeners;
    int listener_count;
    struct scoreboard *scoreboard;
    const struct inbox *inboxes; /* one a worker */
};

struct worker {
    const struct settings *settings;
    int number;
    struct listener *listeners;
    int listener_count;
    struct scoreboard *scoreboard;
    struct scoreboard_slot *slot; /* this worker's */
    const struct inbox *inboxes;
    unsigned max_connections, max_requests; /* what GET_VALUES tells, over all workers */
    struct route_table routes;
    struct lane *lanes;
    struct pool pool;
    struct watchdog watchdog;
    int ended_fd;                 /* eventfd: every lane has ended */
    _Atomic bool draining;
    _Atomic unsigned next_lane;
    _Atomic int listening_lanes;
    _Atomic int running_lanes;
};

/* One byte each, on the channel between the master and a worker. The channel's end means that the other has gone. */
enum worker_message {
    WORKER_READY = 'r', /* worker to master: every lane accepts */
    WORKER_DRAIN = 'd', /* master to worker: finish what runs and leave */
};

enum worker_exit { WORKER_EXIT_DONE = 0, WORKER_EXIT_CANNOT_START = 1, WORKER_EXIT_BY_HANDLER = 70 };

/* The life of a worker process, from just after the fork; never returns. */
_Noreturn void worker_main(const struct worker_start *start);

/* -- for lanes -------------------------------------------------------------------------------------------------------- */

void worker_connection_closed(struct worker *worker);
void worker_lane_stopped_listening(struct worker *worker);
void worker_lane_ended(struct worker *worker);

/* True when no lane accepts and no connection is open: a draining worker has nothing left to do. */
bool worker_is_empty(struct worker *worker);

#endif
