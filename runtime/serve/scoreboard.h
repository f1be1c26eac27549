/*
 * scoreboard.h: what the processes of a server tell each other about their work, in memory that they share.
 *
 * One scoreboard a generation; its workers have a slot each, and a second one for the time in which a worker and its
 * replacement run side by side. A worker writes its own slot, each part of it by one thread alone: counts by the runner of
 * their lane, a thread's line by that thread; only an application's own figures are added to by several. The master clears the slot of one that has ended, after its counts went to
 * the ledger. Members are atomics that order nothing but for a thread's line, whose `version` is odd while it is written.
 */
#ifndef SERVE_SCOREBOARD_H
#define SERVE_SCOREBOARD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/histogram.h"
#include "base/shared.h"
#include "serve/app_figure.h"
#include "serve/settings.h"

#define SCOREBOARD_METHOD_BYTES 16
#define SCOREBOARD_URI_BYTES    160
#define SCOREBOARD_FRAMES       48
#define SCOREBOARD_MAPS_BYTES   (128 * 1024)

/* Times that one thread counts and others read. */
struct scoreboard_times {
    _Atomic uint64_t sum_us;
    _Atomic uint64_t buckets[HISTOGRAM_BUCKETS];
};

/* One route on one lane. Requests that matched no route are counted with the last. */
struct scoreboard_counts {
    _Alignas(64) _Atomic uint64_t requests; /* answered */
    _Atomic uint64_t errors;                /* of those, with a status of 500 or more */
    _Atomic uint64_t refused;               /* of those, because no thread was free */
};

/* How long they took. Apart from the counts: who looks at a route without requests touches no memory for this. */
struct scoreboard_durations {
    _Alignas(64) struct scoreboard_times queue; /* from the request's arrival to its handler's call */
    struct scoreboard_times handler;            /* its handler's time */
};

struct scoreboard_lane {
    _Alignas(64) _Atomic int idle; /* connections between two requests */
    _Atomic int queued;            /* requests that wait for a thread */
    _Atomic int suspended;         /* requests that wait without one */
};

/* What a thread of the pool is doing. */
struct scoreboard_thread {
    _Alignas(64) _Atomic uint32_t version;
    _Atomic pid_t id; /* gettid(2) */
    _Atomic int route;
    _Atomic int64_t started_us; /* the handler's call, monotonic clock; 0: it runs no handler */
    _Atomic int64_t excused_us; /* of that time, spent waiting for the peer */
    _Atomic int64_t waits_since_us; /* for the peer, 0: it does not */
    _Atomic uint64_t request;   /* its number in the log */
    char method[SCOREBOARD_METHOD_BYTES], uri[SCOREBOARD_URI_BYTES]; /* may be cut off */
};

/* What a worker that crashes leaves behind; its signal handler writes it. */
struct scoreboard_crash {
    _Atomic int signal; /* 0: nothing here */
    int thread;         /* its number in the pool; 0: another */
    int route;          /* −1: no handler was running */
    uint64_t request;
    bool has_address; /* a fault of memory, not a signal that was sent */
    uintptr_t address; /* that was touched */
    char method[SCOREBOARD_METHOD_BYTES], uri[SCOREBOARD_URI_BYTES];
    int frame_count;
    uintptr_t frames[SCOREBOARD_FRAMES];
    size_t maps_length;
    char maps[SCOREBOARD_MAPS_BYTES]; /* /proc/self/maps */
};

enum scoreboard_state { SCOREBOARD_NONE, SCOREBOARD_STARTING, SCOREBOARD_SERVING, SCOREBOARD_DRAINING };

struct scoreboard_slot {
    _Alignas(64) _Atomic int connections; /* accepted and not closed */
    _Atomic int arriving;                 /* handed over by others and not taken in yet */
    _Atomic int state;                    /* enum scoreboard_state */
    _Atomic pid_t pid;
    _Atomic int number; /* the worker's, from 1 */
    _Atomic int64_t started_us;
    struct scoreboard_crash crash;
};

struct scoreboard {
    int generation;
    int slot_count, lane_count, thread_count; /* lanes and, at most, threads of each worker */
    int threads; /* as configured */
    int route_count;                          /* with the last one, which stands for "no route" */
    size_t slot_bytes, lanes_at, threads_at, counts_at, durations_at, figure_counts_at, figures_at, slots_at; /* offsets */
    char routes[][SETTINGS_PATH_BYTES]; /* paths; "" for "no route" */
};

/* Two slots a worker. Returns 0, −1 with errno. `shared->at` is the struct scoreboard. */
int scoreboard_new(struct shared *shared, const struct settings *settings, int generation)
    __attribute__((warn_unused_result));

struct scoreboard_slot *scoreboard_slot(const struct scoreboard *board, int slot);
struct scoreboard_lane *scoreboard_lane(const struct scoreboard *board, int slot, int lane);
struct scoreboard_thread *scoreboard_thread(const struct scoreboard *board, int slot, int thread);
struct scoreboard_counts *scoreboard_counts(const struct scoreboard *board, int slot, int lane, int route);
struct scoreboard_durations *scoreboard_durations(const struct scoreboard *board, int slot, int lane, int route);
struct app_figures scoreboard_figures(const struct scoreboard *board, int slot, int route);

/* Forgets what an ended worker wrote. */
void scoreboard_clear(const struct shared *shared, int slot);

/* -- balancing ------------------------------------------------------------------------------------------------------- */

/* Count a connection that is handed over, and one that has been taken in (or was not handed over after all). */
void scoreboard_sent(const struct scoreboard *board, int slot);
void scoreboard_received(const struct scoreboard *board, int slot);

/* Which slot's worker should have the connection that the one of `self` has accepted: itself, unless another has clearly
 * fewer. */
int scoreboard_choose(const struct scoreboard *board, int self);

/* -- counting; the one writer ---------------------------------------------------------------------------------------- */

/* Adds without a locked instruction. */
static inline void scoreboard_add(_Atomic uint64_t *count, uint64_t more)
{
    atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + more, memory_order_relaxed);
}

static inline void scoreboard_add_time(struct scoreboard_times *times, int64_t time_us)
{
    scoreboard_add(&times->sum_us, time_us < 0 ? 0 : (uint64_t)time_us);
    scoreboard_add(&times->buckets[histogram_bucket(time_us)], 1);
}

/* Around a handler's call, on its thread. */
void scoreboard_begin(struct scoreboard_thread *thread, int route, uint64_t request, int64_t now_us, const char *method,
                      const char *uri);
void scoreboard_end(struct scoreboard_thread *thread);

/* -- reading --------------------------------------------------------------------------------------------------------- */

/* A copy of a thread's line, as it was at one moment. Returns false when it runs no handler. */
struct scoreboard_activity {
    int route;
    int64_t started_us;
    uint64_t request;
    char method[SCOREBOARD_METHOD_BYTES], uri[SCOREBOARD_URI_BYTES];
};
bool scoreboard_activity(const struct scoreboard_thread *thread, struct scoreboard_activity *activity);

/* Adds what was counted. */
void scoreboard_times_read(const struct scoreboard_times *times, struct histogram *to);

#endif
