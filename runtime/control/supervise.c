/*
 * supervise.c: the table. Pure.
 */
#include "control/supervise.h"

/* What an entry of the table does; 0 is "nothing". */
enum move { AGAIN = 100, STAY = 0, START, LATE, READY, RESTART, DRAIN, KILL, NEVER, END };

static const enum move table[SUPERVISE_STATES][SUPERVISE_EVENTS] = {
    [SUPERVISE_NONE] = {[SUPERVISE_START] = START, [SUPERVISE_STOP] = NEVER, [SUPERVISE_KILL] = NEVER},
    [SUPERVISE_STARTING] = {[SUPERVISE_IS_READY] = READY,
                            [SUPERVISE_EXITED] = RESTART,
                            [SUPERVISE_DUE] = LATE,
                            [SUPERVISE_NOT_FORKED] = AGAIN,
                            [SUPERVISE_STOP] = DRAIN,
                            [SUPERVISE_KILL] = KILL},
    [SUPERVISE_READY] = {[SUPERVISE_EXITED] = RESTART, [SUPERVISE_STOP] = DRAIN, [SUPERVISE_KILL] = KILL},
    [SUPERVISE_WAITING] = {[SUPERVISE_DUE] = START, [SUPERVISE_STOP] = NEVER, [SUPERVISE_KILL] = NEVER},
    [SUPERVISE_STOPPING] = {[SUPERVISE_EXITED] = END, [SUPERVISE_DUE] = KILL, [SUPERVISE_KILL] = KILL},
    [SUPERVISE_KILLED] = {[SUPERVISE_EXITED] = END},
    [SUPERVISE_GONE] = {STAY},
};

static enum supervise_action start(struct supervise *worker, int64_t now_us, const struct supervise_limits *limits)
{
    worker->state = SUPERVISE_STARTING;
    worker->due_us = now_us + limits->start_timeout_us;
    return SUPERVISE_DO_FORK;
}

/* The first restart is at once; a worker that ends quickly again and again waits longer each time. It is given up only
 * when it does not become ready any more: one that does and then crashes was perhaps sent the request that does it, and
 * nobody outside may stop the server. */
static enum supervise_action restart(struct supervise *worker, int64_t now_us, const struct supervise_limits *limits)
{
    bool unready = worker->state == SUPERVISE_STARTING;
    bool quick = unready || now_us - worker->ready_us < SUPERVISE_QUICK_US;
    worker->quick_exits = quick ? worker->quick_exits + 1 : 0;
    worker->unready_exits = unready ? worker->unready_exits + 1 : 0;
    if (!worker->was_ready || worker->unready_exits > SUPERVISE_QUICK_EXITS_MAX) {
        worker->state = SUPERVISE_GONE;
        worker->due_us = 0;
        return SUPERVISE_DO_GIVE_UP;
    }
    if (worker->quick_exits < 2)
        return start(worker, now_us, limits);
    worker->state = SUPERVISE_WAITING;
    int doublings = worker->quick_exits - 2;
    if (doublings > SUPERVISE_DOUBLINGS_MAX)
        doublings = SUPERVISE_DOUBLINGS_MAX;
    worker->due_us = now_us + (SUPERVISE_DELAY_US << doublings);
    return SUPERVISE_DO_NOTHING;
}

/* No fault of the worker's: it is tried until there is room for it. One that never was ready is given up. */
static enum supervise_action try_again(struct supervise *worker, int64_t now_us)
{
    worker->state = worker->was_ready ? SUPERVISE_WAITING : SUPERVISE_GONE;
    worker->due_us = worker->was_ready ? now_us + (SUPERVISE_DELAY_US << SUPERVISE_DOUBLINGS_MAX) : 0;
    return worker->was_ready ? SUPERVISE_DO_NOTHING : SUPERVISE_DO_GIVE_UP;
}

enum supervise_action supervise_step(struct supervise *worker, enum supervise_event event, int64_t now_us,
                                     const struct supervise_limits *limits)
{
    switch (table[worker->state][event]) {
    case STAY:
        return SUPERVISE_DO_NOTHING;
    case START:
        return start(worker, now_us, limits);
    case LATE: /* its end restarts it, or gives it up */
        worker->due_us = 0;
        return SUPERVISE_DO_KILL;
    case READY:
        worker->state = SUPERVISE_READY;
        worker->due_us = 0;
        worker->was_ready = true;
        worker->ready_us = now_us;
        return SUPERVISE_DO_NOTHING;
    case AGAIN:
        return try_again(worker, now_us);
    case RESTART:
        return restart(worker, now_us, limits);
    case DRAIN:
        worker->state = SUPERVISE_STOPPING;
        worker->due_us = now_us + limits->stop_timeout_us;
        return SUPERVISE_DO_DRAIN;
    case KILL:
        worker->state = SUPERVISE_KILLED;
        worker->due_us = 0;
        return SUPERVISE_DO_KILL;
    case NEVER:
    case END:
        worker->state = SUPERVISE_GONE;
        worker->due_us = 0;
        return SUPERVISE_DO_NOTHING;
    }
    return SUPERVISE_DO_NOTHING;
}
