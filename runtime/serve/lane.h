/*
 * lane.h: one event loop of a worker.
 *
 * A lane is run by exactly one thread at a time, which calls the handlers itself. A handler that takes long, or is about
 * to wait, loses the lane to a waiting thread: taking is one compare-and-swap on `call`, and the loser touches nothing of
 * the lane again but its mailbox. Everything that the loop needs to go on lies in struct lane, nothing on a stack.
 *
 * Orderings: the store in lane_enter is a release that the taker's compare-and-swap acquires, so the new runner sees
 * all that the old one wrote to the lane before the handler; the pool's semaphore carries it to the new thread.
 */
#ifndef SERVE_LANE_H
#define SERVE_LANE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

#include "base/clock.h"
#include "base/heap.h"
#include "base/list.h"
#include "base/mailbox.h"
#include "serve/access.h"
#include "serve/suspend.h"

struct connection;
struct request;
struct worker;
struct mr_route;

#define LANE_EVENTS 64
#define LANE_CONNECTION_EVENTS ((uint32_t)(EPOLLIN | EPOLLRDHUP | EPOLLET))

/* One list a kind: all deadlines of a kind are the same time ahead, so a list is in order by itself. */
enum lane_timer {
    LANE_TIMER_NONE,
    LANE_TIMER_IDLE,
    LANE_TIMER_HEAD,
    LANE_TIMER_BODY,
    LANE_TIMER_WRITE,
    LANE_TIMER_LINGER,
    LANE_TIMER_QUEUE,
    LANE_TIMER_KINDS,
};

/* What comes through a lane's mailbox. */
enum lane_mail {
    LANE_MAIL_CONNECTION, /* a new one, or one that comes back from its handler */
    LANE_MAIL_RESUMED,    /* a suspended request: suspend.h */
    LANE_MAIL_CALLBACK,   /* word for a watch or a timer: callback.h */
};

/* One route on one lane: the struct that applications know by name. */
struct mr_lane {
    struct lane *lane;
    struct mr_route *route;
    void *state;
    bool started; /* its lane_start has returned 0 */
};

struct lane {
    struct worker *worker;
    int number;
    struct mr_lane *parts; /* one a route, by the route's number */

    /* Shared with the watchdog and with threads that have lost the lane. */
    _Alignas(64) _Atomic uint64_t call; /* number of the call << 1 | 1 while a handler runs on the lane's thread */
    _Atomic bool awake;    /* not waiting for events */
    _Atomic bool starving; /* requests wait because no thread was free: wake me when one is */
    struct mailbox mailbox;
    struct suspend_table suspended;
    pthread_mutex_t watch_lock; /* guards what callback.h says; nothing is locked inside */

    /* The runner's alone. */
    _Alignas(64) int epoll_fd;
    bool reserved; /* a waiting thread is set aside to take the lane over */
    bool listening;
    bool parted; /* it drains, and what was at rest has gone */
    bool ended;
    int64_t now_us;
    int64_t listen_again_us; /* accepting pauses until then, 0: it does not */
    int alarm_fd;      /* timerfd: wakes the lane for deadlines that are far off */
    int64_t alarm_us;  /* for when it is set, 0: it is not */
    int64_t move_again_us;   /* connections wait until then to be given to another worker, 0: none does */
    uint64_t requests;
    struct epoll_event events[LANE_EVENTS];
    int event_count, event_next;
    struct list ready;     /* connections that go on without an event, in the next turn */
    struct list attending; /* those of this turn */
    struct list timers[LANE_TIMER_KINDS];
    int queue_length, idle_length; /* of two of them */
    struct list buried; /* closed connections that an event of this turn may still name */
    struct list woken;      /* suspended requests that are to be called back */
    bool woken_more;        /* since they were last looked through */
    int suspended_length;
    struct heap limits;     /* time limits of suspended requests */
    struct list due;        /* watches and timers that are to be called */
    struct heap alarms;     /* timers */
    struct list buried_callbacks;
    struct request *spare;
    int spare_count;
    uint64_t answers;
    struct scoreboard_counts *counts; /* one a route, and one for requests without */
    struct scoreboard_durations *durations; /* the same */
    struct scoreboard_lane *board;
    struct access_buffer access;
};

/* Returns 0, −1 with errno. */
int lane_init(struct lane *lane, struct worker *worker, int number) __attribute__((warn_unused_result));
void lane_fini(struct lane *lane);

/* Calls the routes' lane hooks; before the lane runs and after it has ended. lane_start returns NULL, or the route that
 * refused. */
const struct mr_route *lane_start(struct lane *lane) __attribute__((warn_unused_result));
void lane_stop(struct lane *lane);

/* Wakes the lane to look at its worker's state. Any thread. */
void lane_wake(struct lane *lane);

/* Puts something into the lane's mailbox. Any thread; from inside a call on the lane itself this costs no wake-up. */
void lane_post(struct lane *lane, struct mail *mail);

/* -- calling a handler ---------------------------------------------------------------------------------------------- */

/* May a handler of this route be called? It may while the route's own limit allows, and with a waiting thread set aside.
 * Where the answer is no, the lane is woken when it may have changed. */
bool lane_may_call(struct lane *lane, struct mr_route *route) __attribute__((warn_unused_result));

/* Sets a waiting thread aside for a takeover, which every call needs; false: none is free, and the lane is woken when one is. */
bool lane_reserve(struct lane *lane) __attribute__((warn_unused_result));
bool lane_is_reserved(const struct lane *lane);

/* The handler has returned. Its thread, which may have lost the lane. */
void lane_has_called(struct lane *lane, struct mr_route *route);

/* Around a handler's call. lane_leave returns false when the lane has been taken. */
uint64_t lane_enter(struct lane *lane);
bool lane_leave(struct lane *lane, uint64_t call) __attribute__((warn_unused_result));

/* Takes the lane from a handler that is in `call` and gives it to the reserved thread. Returns false when that call is over
 * or the lane was taken before. Any thread. */
bool lane_take(struct lane *lane, uint64_t call);

/* The calling thread is about to wait inside a handler: the lane, if it still has one, goes to another thread. */
void lane_give_away(void);

/* -- for connections, on the runner ---------------------------------------------------------------------------------- */

void lane_set_timer(struct lane *lane, struct connection *connection, enum lane_timer kind);
void lane_make_ready(struct lane *lane, struct connection *connection);
void lane_bury(struct lane *lane, struct connection *connection);
struct request *lane_take_request(struct lane *lane) __attribute__((warn_unused_result));
void lane_spare_request(struct lane *lane, struct request *request);
uint64_t lane_next_number(struct lane *lane);
int lane_draining(const struct lane *lane); /* enum worker_draining */

/* A debugger may hold everything up for as long as it likes; but what does not come in time holds up no end. */
bool lane_has_time_limits(const struct lane *lane);

/* NULL stands for requests without a route. */
struct scoreboard_counts *lane_counts(struct lane *lane, const struct mr_route *route);
struct scoreboard_durations *lane_durations(struct lane *lane, const struct mr_route *route);

#endif
