/*
 * loop.c: the turns of a lane: what waits for a thread, what is ready, what has happened, whose time is over, then
 * waiting for events. loop_run runs on one pool thread at a time; a thread that has lost the lane to another leaves at
 * once.
 */
#include "serve/loop.h"

#include <errno.h>
#include <sys/timerfd.h>

#include "base/check.h"
#include "base/kernel.h"
#include "base/race.h"
#include "serve/callback.h"
#include "serve/connection.h"
#include "serve/lane.h"
#include "serve/listen.h"
#include "serve/request.h"
#include "serve/worker.h"

#define MOVE_AGAIN_US (2 * CLOCK_MS)
#define FAR_OFF_US    (200 * CLOCK_MS)

static struct connection *first_timed(struct list *list)
{
    return list_is_empty(list) ? NULL : LIST_ELEMENT(list->next, struct connection, timer);
}

static void free_buried(struct lane *lane)
{
    struct connection *connection;
    while ((connection = first_timed(&lane->buried)) != NULL) {
        list_remove(&connection->timer);
        connection_free(connection);
    }
    callback_free_buried(lane);
}

static void collect_mail(struct lane *lane)
{
    struct mail *mail = mailbox_collect(&lane->mailbox), *next;
    for (; mail != NULL; mail = next) {
        next = mail->next;
        switch ((enum lane_mail)mail->kind) {
        case LANE_MAIL_CONNECTION:
            connection_arrive((struct connection *)mail);
            break;
        case LANE_MAIL_RESUMED:
            suspend_hear(mail);
            break;
        case LANE_MAIL_CALLBACK:
            callback_hear(lane, mail);
            break;
        }
    }
}

static struct connection *first_ready(struct list *list)
{
    return list_is_empty(list) ? NULL : LIST_ELEMENT(list->next, struct connection, ready);
}

/* A request whose route is at its own limit does not hold up those behind it. */
static bool serve_queue(struct lane *lane)
{
    struct list *queue = &lane->timers[LANE_TIMER_QUEUE], *next;
    for (struct list *link = queue->next; link != queue; link = next) {
        struct connection *connection = LIST_ELEMENT(link, struct connection, timer);
        next = link->next; /* serving changes the place of its own connection alone */
        if (lane_may_call(lane, connection->request->route) && !connection_serve(connection))
            return false;
        if (!lane_is_reserved(lane))
            return true; /* no thread is free */
    }
    return true;
}

static bool attend_ready(struct lane *lane)
{
    struct connection *connection;
    while ((connection = first_ready(&lane->attending)) != NULL) {
        list_remove(&connection->ready);
        if (!connection_attend(connection))
            return false;
    }
    return true;
}

static bool handle_events(struct lane *lane)
{
    while (lane->event_next < lane->event_count) {
        const struct epoll_event *event = &lane->events[lane->event_next++];
        if (event->data.ptr == &lane->mailbox)
            collect_mail(lane);
        else if (event->data.ptr == &lane->alarm_fd)
            lane->alarm_us = 0;
        else if (listen_is_source(lane, event->data.ptr))
            listen_take(lane, event->data.ptr);
        else if ((event->data.u64 & CALLBACK_MARK) != 0) {
            if (!callback_on_event(lane, event->data.ptr, event->events))
                return false;
        } else if (!connection_on_event(event->data.ptr, event->events))
            return false;
    }
    return true;
}

static void expire_timers(struct lane *lane)
{
    if (lane->listen_again_us != 0 && lane->listen_again_us <= lane->now_us)
        listen_resume(lane);
    suspend_expire(lane);
    callback_expire(lane);
    for (int kind = LANE_TIMER_IDLE; kind < LANE_TIMER_KINDS && lane_has_time_limits(lane); kind++) {
        struct connection *connection;
        while ((connection = first_timed(&lane->timers[kind])) != NULL && connection->deadline_us <= lane->now_us)
            connection_on_timeout(connection);
    }
}

/* Connections at rest go to a worker that stays; those for which it has no room yet, a little later. */
static void move_idle(struct lane *lane)
{
    struct connection *connection;
    lane->move_again_us = 0;
    while ((connection = first_timed(&lane->timers[LANE_TIMER_IDLE])) != NULL && lane->move_again_us == 0)
        if (connection_move(connection) < 0)
            lane->move_again_us = lane->now_us + MOVE_AGAIN_US;
}

static void close_idle(struct lane *lane)
{
    struct connection *connection;
    lane->move_again_us = 0;
    while ((connection = first_timed(&lane->timers[LANE_TIMER_IDLE])) != NULL)
        connection_close_idle(connection);
}

/* A draining lane stops accepting, parts with what is idle, and ends when no lane has a connection left. */
static void drain(struct lane *lane, int how)
{
    listen_end(lane, how == WORKER_ENDS);
    if (how == WORKER_MOVES)
        move_idle(lane);
    else
        close_idle(lane);
    if (!lane->parted && lane->move_again_us == 0) {
        lane->parted = true;
        worker_lane_parted(lane->worker);
    }
    int64_t leave_us = atomic_load(&lane->worker->leave_us);
    if (lane->now_us < leave_us) {
        lane->move_again_us = leave_us; /* to look again */
    } else if (worker_is_empty(lane->worker)) {
        access_flush(&lane->worker->access, &lane->access);
        lane->ended = true;
        worker_lane_ended(lane->worker);
    }
}

static int64_t earlier_us(int64_t one_us, int64_t other_us)
{
    return one_us < other_us ? one_us : other_us;
}

/* The first deadline; INT64_MAX: none. */
static int64_t first_deadline_us(const struct lane *lane)
{
    int64_t first_us = INT64_MAX;
    if (lane->listen_again_us > 0)
        first_us = lane->listen_again_us;
    if (lane->move_again_us > 0)
        first_us = earlier_us(first_us, lane->move_again_us);
    if (lane->limits.first != NULL)
        first_us = earlier_us(first_us, lane->limits.first->key);
    if (lane->alarms.first != NULL)
        first_us = earlier_us(first_us, lane->alarms.first->key);
    for (int kind = LANE_TIMER_IDLE; kind < LANE_TIMER_KINDS && lane_has_time_limits(lane); kind++)
        if (!list_is_empty(&lane->timers[kind]))
            first_us =
                earlier_us(first_us, LIST_ELEMENT(lane->timers[kind].next, struct connection, timer)->deadline_us);
    return first_us;
}

static void set_alarm(struct lane *lane, int64_t at_us)
{
    struct itimerspec at = {.it_value = {.tv_sec = at_us / CLOCK_SECOND, .tv_nsec = at_us % CLOCK_SECOND * 1000}};
    CHECK(timerfd_settime(lane->alarm_fd, TFD_TIMER_ABSTIME, &at, NULL) == 0);
    lane->alarm_us = at_us;
}

/* Milliseconds to wait for events, −1: without a limit. Deadlines that are far off are left to the alarm, which is set
 * once for many waits; a limit of its own costs each wait a timer in the kernel. The alarm may go off for one that is
 * over. */
static int sleep_ms(struct lane *lane)
{
    if (!list_is_empty(&lane->ready) || lane->woken_more || !mailbox_is_empty(&lane->mailbox))
        return 0;
    int64_t first_us = first_deadline_us(lane);
    if (first_us == INT64_MAX)
        return -1;
    if (first_us - lane->now_us < FAR_OFF_US)
        return clock_ms_of(first_us - lane->now_us);
    if (lane->alarm_us == 0 || first_us < lane->alarm_us)
        set_alarm(lane, first_us);
    return -1;
}

static void wait_for_events(struct lane *lane)
{
    int timeout_ms = sleep_ms(lane);
    if (lane->reserved) { /* another lane may need the thread meanwhile */
        lane->reserved = false;
        pool_release(&lane->worker->pool);
    }
    if (timeout_ms != 0) {
        if (lane->access.length > 0)
            access_flush(&lane->worker->access, &lane->access);
        RACE_POINT(lane_resting);
        atomic_store_explicit(&lane->awake, false, memory_order_release);
        RACE_POINT(lane_asleep);
    }
    int count = kernel_epoll_wait(lane->epoll_fd, lane->events, LANE_EVENTS, timeout_ms);
    CHECK(count >= 0 || errno == EINTR);
    lane->event_count = count < 0 ? 0 : count;
    lane->event_next = 0;
    lane->now_us = clock_now_us();
    if (timeout_ms != 0) {
        atomic_store(&lane->awake, true); /* pairs with the watchdog's look before it sleeps */
        RACE_POINT(lane_awake);
        watchdog_notice(&lane->worker->watchdog);
    }
}

/* What the handlers and events of this turn have brought up: first those whose waiting is over, then timers, so that
 * one that was set to the turn's end has everything before it. */
static bool call_back(struct lane *lane)
{
    if (!mailbox_is_empty(&lane->mailbox))
        collect_mail(lane);
    return suspend_call_woken(lane) && callback_call_due(lane);
}

void loop_clear(struct lane *lane)
{
    collect_mail(lane);
    free_buried(lane);
}

void loop_run(struct lane *lane)
{
    for (;;) {
        if (!serve_queue(lane) || !attend_ready(lane) || !handle_events(lane))
            return;
        expire_timers(lane);
        if (!call_back(lane))
            return;
        free_buried(lane);
        int draining = lane_draining(lane);
        if (draining != WORKER_SERVES)
            drain(lane, draining);
        if (lane->ended)
            return;
        wait_for_events(lane);
        list_splice(&lane->attending, &lane->ready);
    }
}
