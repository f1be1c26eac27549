/*
 * callback.c: watches and timers. The calls of millrace.h run on any thread, the rest on lanes.
 */
#include "serve/callback.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "base/clock.h"
#include "base/race.h"
#include "serve/lane.h"

_Static_assert(POLLIN == EPOLLIN && POLLOUT == EPOLLOUT && POLLERR == EPOLLERR && POLLHUP == EPOLLHUP,
               "events are passed on as they are");

#define WATCHED (POLLIN | POLLOUT)

static void init(struct callback *callback, enum callback_kind kind, struct mr_lane *part, void *arg)
{
    callback->mail.kind = LANE_MAIL_CALLBACK;
    callback->kind = kind;
    callback->part = part;
    callback->arg = arg;
    list_init(&callback->due);
}

/* From the moment in which the lane hears a word it may free the callback. */
static void say(struct callback *callback, enum callback_word word)
{
    struct lane *lane = callback->part->lane;
    if (atomic_fetch_or(&callback->said, word) == 0)
        lane_post(lane, &callback->mail);
}

static bool is_freed(struct callback *callback)
{
    return callback->freed || (atomic_load(&callback->said) & CALLBACK_FREED) != 0;
}

/* -- the epoll set: under the lane's watch_lock -----------------------------------------------------------------------
 */

static int control(struct mr_watch *watch, int operation)
{
    struct epoll_event event = {.events = (uint32_t)watch->events, .data.u64 = (uintptr_t)watch | CALLBACK_MARK};
    return epoll_ctl(watch->callback.part->lane->epoll_fd, operation, watch->fd, &event);
}

static int arm(struct mr_watch *watch)
{
    if (watch->armed || watch->ended)
        return 0;
    watch->armed = control(watch, EPOLL_CTL_ADD) == 0;
    return watch->armed ? 0 : -1;
}

static void disarm(struct mr_watch *watch)
{
    if (watch->armed)
        control(watch, EPOLL_CTL_DEL);
    watch->armed = false;
}

/* -- any thread ------------------------------------------------------------------------------------------------------
 */

static pthread_mutex_t *lock_of(const struct mr_watch *watch)
{
    return &watch->callback.part->lane->watch_lock;
}

struct mr_watch *callback_watch(struct mr_lane *part, int fd, int events,
                                void (*on_ready)(struct mr_watch *, int, void *), void *arg)
{
    struct mr_watch *watch = calloc(1, sizeof *watch);
    if (watch == NULL)
        return NULL;
    init(&watch->callback, CALLBACK_WATCH, part, arg);
    watch->on_ready = on_ready;
    watch->fd = fd;
    watch->events = events & WATCHED;
    pthread_mutex_lock(lock_of(watch));
    int result = arm(watch), error = errno;
    pthread_mutex_unlock(lock_of(watch));
    if (result == 0)
        return watch;
    free(watch);
    errno = error;
    return NULL;
}

void callback_watch_events(struct mr_watch *watch, int events)
{
    pthread_mutex_lock(lock_of(watch));
    if (watch->events != (events & WATCHED)) {
        watch->events = events & WATCHED;
        if (watch->armed)
            control(watch, EPOLL_CTL_MOD);
    }
    pthread_mutex_unlock(lock_of(watch));
}

void callback_unwatch(struct mr_watch *watch)
{
    if (watch == NULL)
        return;
    pthread_mutex_lock(lock_of(watch));
    watch->ended = true;
    disarm(watch);
    pthread_mutex_unlock(lock_of(watch));
    say(&watch->callback, CALLBACK_FREED);
}

struct mr_timer *callback_timer(struct mr_lane *part, void (*on_time)(struct mr_timer *, void *), void *arg)
{
    struct mr_timer *timer = calloc(1, sizeof *timer);
    if (timer == NULL)
        return NULL;
    init(&timer->callback, CALLBACK_TIMER, part, arg);
    timer->on_time = on_time;
    atomic_init(&timer->at_us, -1);
    return timer;
}

void callback_after(struct mr_timer *timer, int ms)
{
    int64_t at_us = ms > 0 ? clock_now_us() + ms * CLOCK_MS : ms < 0 ? -1 : 0;
    atomic_store(&timer->at_us, at_us);
    say(&timer->callback, CALLBACK_CHANGED);
}

void callback_timer_free(struct mr_timer *timer)
{
    if (timer != NULL)
        say(&timer->callback, CALLBACK_FREED);
}

/* -- the lane's runner -----------------------------------------------------------------------------------------------
 */

static void make_due(struct lane *lane, struct callback *callback)
{
    list_remove(&callback->due);
    list_append(&lane->due, &callback->due);
}

static void place_timer(struct lane *lane, struct mr_timer *timer)
{
    int64_t at_us = atomic_load(&timer->at_us);
    heap_remove(&lane->alarms, &timer->node);
    list_remove(&timer->callback.due);
    if (at_us == 0)
        make_due(lane, &timer->callback);
    else if (at_us > 0)
        heap_add(&lane->alarms, &timer->node, at_us);
}

static void arm_again(struct mr_watch *watch)
{
    pthread_mutex_lock(lock_of(watch));
    (void)arm(watch); /* memory is short: there is nobody to tell but the next mr_watch_events */
    pthread_mutex_unlock(lock_of(watch));
}

static void rest(struct mr_watch *watch)
{
    pthread_mutex_lock(lock_of(watch));
    disarm(watch);
    pthread_mutex_unlock(lock_of(watch));
}

static void bury(struct lane *lane, struct callback *callback)
{
    if (callback->kind == CALLBACK_TIMER)
        heap_remove(&lane->alarms, &((struct mr_timer *)callback)->node);
    list_remove(&callback->due);
    list_append(&lane->buried_callbacks, &callback->due);
}

void callback_hear(struct lane *lane, struct mail *mail)
{
    struct callback *callback = (struct callback *)mail;
    unsigned said = atomic_exchange(&callback->said, 0);
    if (said & CALLBACK_RETURNED)
        callback->running = false;
    if (said & CALLBACK_FREED)
        callback->freed = true;
    if (callback->freed) {
        if (!callback->running)
            bury(lane, callback);
        return;
    }
    if (said & CALLBACK_CHANGED)
        place_timer(lane, (struct mr_timer *)callback);
    if ((said & CALLBACK_RETURNED) && callback->kind == CALLBACK_WATCH)
        arm_again((struct mr_watch *)callback);
}

static void run(struct callback *callback)
{
    if (callback->kind == CALLBACK_WATCH) {
        struct mr_watch *watch = (struct mr_watch *)callback;
        watch->on_ready(watch, watch->ready, callback->arg);
    } else {
        struct mr_timer *timer = (struct mr_timer *)callback;
        timer->on_time(timer, callback->arg);
    }
}

static bool call(struct lane *lane, struct callback *callback)
{
    callback->running = true;
    uint64_t number = lane_enter(lane);
    run(callback);
    if (lane_leave(lane, number)) {
        callback->running = false;
        return true;
    }
    RACE_POINT(callback_lost);
    say(callback, CALLBACK_RETURNED);
    return false;
}

/* While it runs without the lane, or while no thread is free, the descriptor is not watched: it would be an event in
 * each turn. */
bool callback_on_event(struct lane *lane, void *source, uint32_t events)
{
    struct mr_watch *watch = (struct mr_watch *)((uintptr_t)source & ~(uintptr_t)CALLBACK_MARK);
    if (is_freed(&watch->callback))
        return true;
    if (watch->callback.running) {
        rest(watch);
        return true;
    }
    watch->ready = (int)events;
    if (lane_reserve(lane))
        return call(lane, &watch->callback);
    rest(watch);
    make_due(lane, &watch->callback);
    return true;
}

void callback_expire(struct lane *lane)
{
    while (lane->alarms.first != NULL && lane->alarms.first->key <= lane->now_us) {
        struct mr_timer *timer = HEAP_ELEMENT(lane->alarms.first, struct mr_timer, node);
        heap_remove(&lane->alarms, &timer->node);
        make_due(lane, &timer->callback);
    }
}

/* One that is due while it still runs is called when it has returned. */
bool callback_call_due(struct lane *lane)
{
    struct list *next;
    for (struct list *link = lane->due.next; link != &lane->due; link = next) {
        struct callback *callback = LIST_ELEMENT(link, struct callback, due);
        next = link->next;
        if (callback->running || is_freed(callback))
            continue;
        if (!lane_reserve(lane))
            return true;
        list_remove(&callback->due);
        if (!call(lane, callback))
            return false;
        if (callback->kind == CALLBACK_WATCH)
            arm_again((struct mr_watch *)callback);
    }
    return true;
}

void callback_free_buried(struct lane *lane)
{
    while (!list_is_empty(&lane->buried_callbacks)) {
        struct callback *callback = LIST_ELEMENT(lane->buried_callbacks.next, struct callback, due);
        list_remove(&callback->due);
        free(callback);
    }
}
