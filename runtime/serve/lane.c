/*
 * lane.c: a lane's parts, and the calls that it can be taken from. lane_take, lane_give_away, lane_post and lane_wake
 * run on any thread, the rest on the runner.
 */
#include "serve/lane.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/check.h"
#include "base/log.h"
#include "base/race.h"
#include "serve/connection.h"
#include "serve/listen.h"
#include "serve/loop.h"
#include "serve/request.h"
#include "serve/worker.h"

#define SPARE_REQUESTS 32
#define LINGER_US      CLOCK_SECOND

/* Which call this thread is in, so that it can give its lane away by itself. */
static __thread struct lane *current_lane;
static __thread uint64_t current_call;

/* Each of its wake-ups is one event, whether it is read or not. */
static int watch(const struct lane *lane, int fd, void *source)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.ptr = source};
    return epoll_ctl(lane->epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

static int make_parts(struct lane *lane)
{
    struct route_table *routes = &lane->worker->routes;
    lane->parts = calloc(routes->count + 1, sizeof *lane->parts);
    if (lane->parts == NULL)
        return -1;
    for (size_t i = 0; i < routes->count; i++)
        lane->parts[routes->routes[i].number] = (struct mr_lane){.lane = lane, .route = &routes->routes[i]};
    return 0;
}

const struct mr_route *lane_start(struct lane *lane)
{
    for (size_t i = 0; i < lane->worker->routes.count; i++)
        if (route_start_lane(&lane->parts[i]) != 0)
            return lane->parts[i].route;
    return NULL;
}

void lane_stop(struct lane *lane)
{
    for (size_t i = 0; i < lane->worker->routes.count; i++)
        route_stop_lane(&lane->parts[i]);
}

int lane_init(struct lane *lane, struct worker *worker, int number)
{
    memset(lane, 0, sizeof *lane);
    lane->worker = worker;
    lane->number = number;
    list_init(&lane->ready);
    list_init(&lane->attending);
    list_init(&lane->buried);
    list_init(&lane->woken);
    list_init(&lane->due);
    list_init(&lane->buried_callbacks);
    for (int i = 0; i < LANE_TIMER_KINDS; i++)
        list_init(&lane->timers[i]);
    lane->now_us = clock_now_us();
    lane->counts = scoreboard_counts(worker->start.board, worker->start.slot, number, 0);
    lane->durations = scoreboard_durations(worker->start.board, worker->start.slot, number, 0);
    lane->board = scoreboard_lane(worker->start.board, worker->start.slot, number);
    suspend_init(&lane->suspended);
    pthread_mutex_init(&lane->watch_lock, NULL);
    if (make_parts(lane) < 0)
        return -1;
    lane->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    lane->alarm_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (lane->epoll_fd < 0 || lane->alarm_fd < 0 || mailbox_init(&lane->mailbox) < 0)
        return -1;
    if (watch(lane, lane->mailbox.fd, &lane->mailbox) < 0 || watch(lane, lane->alarm_fd, &lane->alarm_fd) < 0)
        return -1;
    return listen_begin(lane);
}

void lane_fini(struct lane *lane)
{
    loop_clear(lane);
    while (lane->spare != NULL) {
        struct request *request = lane->spare;
        lane->spare = request->next_spare;
        request_free(request);
    }
    close(lane->epoll_fd);
    close(lane->alarm_fd);
    mailbox_fini(&lane->mailbox);
    suspend_fini(&lane->suspended);
    pthread_mutex_destroy(&lane->watch_lock);
    free(lane->parts);
}

void lane_wake(struct lane *lane)
{
    mailbox_wake(&lane->mailbox);
}

/* Within a call on the lane it is awake, and looks before it waits; so does whoever takes it meanwhile, as long as it
 * was not taken before this was posted: pairs with lane_take. */
void lane_post(struct lane *lane, struct mail *mail)
{
    if (current_lane != lane) {
        mailbox_post(&lane->mailbox, mail);
        return;
    }
    mailbox_put(&lane->mailbox, mail);
    RACE_POINT(lane_putting);
    if (atomic_load(&lane->call) != current_call)
        lane_wake(lane);
}

int lane_draining(const struct lane *lane)
{
    return atomic_load_explicit(&lane->worker->draining, memory_order_relaxed);
}

bool lane_has_time_limits(const struct lane *lane)
{
    return !lane->worker->settings->debug || lane_draining(lane) != WORKER_SERVES;
}

struct scoreboard_counts *lane_counts(struct lane *lane, const struct mr_route *route)
{
    return &lane->counts[route != NULL ? (size_t)route->number : lane->worker->routes.count];
}

struct scoreboard_durations *lane_durations(struct lane *lane, const struct mr_route *route)
{
    return &lane->durations[route != NULL ? (size_t)route->number : lane->worker->routes.count];
}

/* -- calling a handler ----------------------------------------------------------------------------------------------
 */

bool lane_is_reserved(const struct lane *lane)
{
    return lane->reserved || lane->worker->settings->debug;
}

bool lane_reserve(struct lane *lane)
{
    if (lane_is_reserved(lane))
        return true;
    lane->reserved = pool_reserve(&lane->worker->pool);
    if (!lane->reserved) {
        RACE_POINT(lane_starving);
        /* Pairs with pool_release: either the thread that is set free sees the flag, or the second try sees the thread.
         */
        atomic_store(&lane->starving, true);
        lane->reserved = pool_reserve(&lane->worker->pool);
    }
    return lane->reserved;
}

bool lane_may_call(struct lane *lane, struct mr_route *route)
{
    if (!lane_reserve(lane))
        return false;
    if (route_enter(route))
        return true;
    atomic_store(&lane->starving, true); /* pairs with lane_has_called, like the one in lane_reserve */
    return route_enter(route);
}

void lane_has_called(struct lane *lane, struct mr_route *route)
{
    if (route_leave(route))
        pool_wake_starving(&lane->worker->pool);
}

uint64_t lane_enter(struct lane *lane)
{
    uint64_t call = (atomic_load_explicit(&lane->call, memory_order_relaxed) + 2) | 1;
    current_lane = lane;
    current_call = call;
    atomic_store_explicit(&lane->call, call, memory_order_release);
    RACE_POINT(lane_entered);
    return call;
}

bool lane_leave(struct lane *lane, uint64_t call)
{
    current_lane = NULL;
    RACE_POINT(lane_leaving);
    return atomic_compare_exchange_strong_explicit(&lane->call, &call, call - 1, memory_order_acq_rel,
                                                   memory_order_relaxed);
}

bool lane_take(struct lane *lane, uint64_t call)
{
    if (!atomic_compare_exchange_strong(&lane->call, &call, call - 1))
        return false;
    RACE_POINT(lane_taken);
    CHECK(lane->reserved);
    lane->reserved = false;
    struct worker *worker = lane->worker;
    pool_hand(&worker->pool, lane);
    limits_notice(&worker->limits);
    return true;
}

void lane_give_away(void)
{
    struct lane *lane = current_lane;
    if (lane == NULL || lane->worker->settings->debug)
        return;
    current_lane = NULL;
    RACE_POINT(lane_given_up);
    (void)lane_take(lane, current_call);
}

/* -- for connections -------------------------------------------------------------------------------------------------
 */

static int64_t timer_span_us(const struct settings *settings, enum lane_timer kind)
{
    switch (kind) {
    case LANE_TIMER_IDLE:
        return settings->idle_timeout_us;
    case LANE_TIMER_HEAD:
        return settings->head_timeout_us;
    case LANE_TIMER_BODY:
        return settings->body_timeout_us;
    case LANE_TIMER_WRITE:
        return settings->write_timeout_us;
    case LANE_TIMER_LINGER:
        return LINGER_US;
    case LANE_TIMER_QUEUE:
        return settings->queue_us;
    case LANE_TIMER_NONE:
    case LANE_TIMER_KINDS:
        break;
    }
    return 0;
}

/* Others see how many there are of two kinds. */
static void count_timed(struct lane *lane, const struct connection *connection, enum lane_timer kind)
{
    int queue = (kind == LANE_TIMER_QUEUE) - (connection->timer_kind == LANE_TIMER_QUEUE);
    int idle = (kind == LANE_TIMER_IDLE) - (connection->timer_kind == LANE_TIMER_IDLE);
    if (queue != 0)
        atomic_store_explicit(&lane->board->queued, lane->queue_length += queue, memory_order_relaxed);
    if (idle != 0)
        atomic_store_explicit(&lane->board->idle, lane->idle_length += idle, memory_order_relaxed);
}

void lane_set_timer(struct lane *lane, struct connection *connection, enum lane_timer kind)
{
    count_timed(lane, connection, kind);
    connection->timer_kind = (uint8_t)kind;
    list_remove(&connection->timer);
    if (kind == LANE_TIMER_NONE)
        return;
    connection->deadline_us = lane->now_us + timer_span_us(lane->worker->settings, kind);
    list_append(&lane->timers[kind], &connection->timer);
}

void lane_make_ready(struct lane *lane, struct connection *connection)
{
    list_remove(&connection->ready);
    list_append(&lane->ready, &connection->ready);
}

void lane_bury(struct lane *lane, struct connection *connection)
{
    list_append(&lane->buried, &connection->timer);
}

struct request *lane_take_request(struct lane *lane)
{
    struct request *request = lane->spare;
    if (request == NULL)
        return request_new();
    lane->spare = request->next_spare;
    lane->spare_count--;
    return request;
}

void lane_spare_request(struct lane *lane, struct request *request)
{
    if (lane->spare_count >= SPARE_REQUESTS) {
        request_free(request);
        return;
    }
    request->input_start = request->input_end = 0;
    request_reset(request);
    request->connection = NULL;
    request->next_spare = lane->spare;
    lane->spare = request;
    lane->spare_count++;
}

uint64_t lane_next_number(struct lane *lane)
{
    return ++lane->requests * (uint64_t)lane->worker->settings->lanes + (uint64_t)lane->number;
}
