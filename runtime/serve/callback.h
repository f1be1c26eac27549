/*
 * callback.h: what an application is called back for on a lane: descriptors (struct mr_watch) and times (struct mr_timer).
 *
 * A callback is called like a handler: the lane may be taken from it. It is the lane's until it is freed; what other threads
 * want of it they say in `said`, and the mailbox carries it to the lane. The epoll set alone is changed by any thread, under
 * the lane's watch_lock, so that a descriptor can be closed as soon as mr_unwatch has returned.
 */
#ifndef SERVE_CALLBACK_H
#define SERVE_CALLBACK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/heap.h"
#include "base/list.h"
#include "base/mailbox.h"
#include "millrace.h"

struct lane;

enum callback_kind { CALLBACK_WATCH, CALLBACK_TIMER };

struct callback {
    struct mail mail; /* first */
    enum callback_kind kind;
    struct mr_lane *part;
    void *arg;
    _Atomic unsigned said; /* enum callback_word, or-ed: what the lane has not heard yet */

    /* The lane's runner alone. */
    struct list due; /* in the lane's list of those to be called, or of those to be freed */
    bool running;    /* also while the callback goes on without the lane */
    bool freed;      /* nobody wants it any more */
};

enum callback_word {
    CALLBACK_CHANGED = 1,  /* a timer was set */
    CALLBACK_RETURNED = 2, /* the callback, after it has lost the lane */
    CALLBACK_FREED = 4,
};

struct mr_watch {
    struct callback callback; /* first */
    void (*on_ready)(struct mr_watch *watch, int ready, void *arg);
    int ready; /* what on_ready is told; the lane's */

    /* Guarded by the lane's watch_lock. */
    int fd;
    int events;
    bool armed; /* in the epoll set */
    bool ended;
};

struct mr_timer {
    struct callback callback; /* first */
    void (*on_time)(struct mr_timer *timer, void *arg);
    _Atomic int64_t at_us; /* monotonic; 0: at the end of the turn; −1: never */
    struct heap_node node; /* in the lane's heap of timers */
};

/* -- any thread: the calls of millrace.h ------------------------------------------------------------------------------ */

struct mr_watch *callback_watch(struct mr_lane *part, int fd, int events, void (*on_ready)(struct mr_watch *, int, void *),
                                void *arg);
void callback_watch_events(struct mr_watch *watch, int events);
void callback_unwatch(struct mr_watch *watch);
struct mr_timer *callback_timer(struct mr_lane *part, void (*on_time)(struct mr_timer *, void *), void *arg);
void callback_after(struct mr_timer *timer, int ms);
void callback_timer_free(struct mr_timer *timer);

/* -- the lane's runner; those that return bool: false when this thread has lost the lane ------------------------------- */

/* What an epoll set holds for a watch is its address with this bit. */
#define CALLBACK_MARK 1u

bool callback_on_event(struct lane *lane, void *source, uint32_t events) __attribute__((warn_unused_result));

/* Something was said, out of the mailbox. */
void callback_hear(struct lane *lane, struct mail *mail);

/* Timers whose time has come are to be called. */
void callback_expire(struct lane *lane);

/* Calls those that are to be called, as far as threads allow. */
bool callback_call_due(struct lane *lane) __attribute__((warn_unused_result));

/* Frees what no event of this turn names any more. */
void callback_free_buried(struct lane *lane);

#endif
