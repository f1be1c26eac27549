/*
 * snapshot.c: sums up scoreboards and ledger. Runs in the status process, which only reads them.
 */
#include "control/snapshot.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define TAKE_TRIES 1000 /* sums change hands within microseconds */

/* -- routes
 * ---------------------------------------------------------------------------------------------------------------- */

static struct snapshot_route *find_route(struct snapshot *snapshot, const char *path)
{
    for (int i = 0; i < snapshot->route_count; i++)
        if (strcmp(snapshot->routes[i].path, path) == 0)
            return &snapshot->routes[i];
    struct snapshot_route *larger =
        realloc(snapshot->routes, ((size_t)snapshot->route_count + 1) * sizeof *snapshot->routes);
    if (larger == NULL)
        return NULL;
    snapshot->routes = larger;
    struct snapshot_route *route = &larger[snapshot->route_count++];
    *route = (struct snapshot_route){0};
    memcpy(route->path, path, sizeof route->path);
    return route;
}

static int add_ledger(struct snapshot *snapshot, const struct ledger *ledger)
{
    for (int i = 0; i < ledger->route_count; i++) {
        const struct ledger_route *from = &ledger->routes[i];
        struct snapshot_route *route = find_route(snapshot, from->path);
        if (route == NULL)
            return -1;
        route->requests += from->requests;
        route->errors += from->errors;
        route->refused += from->refused;
        histogram_add(&route->queue, &from->queue);
        histogram_add(&route->handler, &from->handler);
    }
    return 0;
}

static uint64_t add_counts(struct snapshot_route *route, const struct scoreboard_counts *counts)
{
    uint64_t requests = atomic_load_explicit(&counts->requests, memory_order_relaxed);
    if (requests == 0)
        return 0;
    route->requests += requests;
    route->errors += atomic_load_explicit(&counts->errors, memory_order_relaxed);
    route->refused += atomic_load_explicit(&counts->refused, memory_order_relaxed);
    scoreboard_times_read(&counts->queue, &route->queue);
    scoreboard_times_read(&counts->handler, &route->handler);
    return requests;
}

/* -- workers
 * --------------------------------------------------------------------------------------------------------------- */

static int add_thread(struct snapshot *snapshot, const struct scoreboard *board, int number,
                      const struct scoreboard_activity *activity)
{
    struct snapshot_thread *larger =
        realloc(snapshot->threads, ((size_t)snapshot->thread_count + 1) * sizeof *snapshot->threads);
    if (larger == NULL)
        return -1;
    snapshot->threads = larger;
    struct snapshot_thread *thread = &larger[snapshot->thread_count++];
    *thread = (struct snapshot_thread){.worker = snapshot->worker_count - 1,
                                       .number = number,
                                       .request = activity->request,
                                       .elapsed_us = snapshot->taken_us - activity->started_us};
    if (activity->route >= 0 && activity->route < board->route_count)
        memcpy(thread->route, board->routes[activity->route], sizeof thread->route);
    memcpy(thread->method, activity->method, sizeof thread->method);
    memcpy(thread->uri, activity->uri, sizeof thread->uri);
    return 0;
}

static int add_threads(struct snapshot *snapshot, const struct scoreboard *board, int slot)
{
    struct scoreboard_activity activity;
    for (int i = 0; i < board->thread_count; i++) {
        if (!scoreboard_activity(scoreboard_thread(board, slot, i), &activity))
            continue;
        snapshot->workers[snapshot->worker_count - 1].threads_busy++;
        if (add_thread(snapshot, board, i + 1, &activity) < 0)
            return -1;
    }
    return 0;
}

static int add_lanes(struct snapshot *snapshot, const struct scoreboard *board, int slot)
{
    struct snapshot_worker *worker = &snapshot->workers[snapshot->worker_count - 1];
    for (int i = 0; i < board->route_count; i++) {
        struct snapshot_route *route = find_route(snapshot, board->routes[i]);
        if (route == NULL)
            return -1;
        for (int lane = 0; lane < board->lane_count; lane++)
            worker->requests += add_counts(route, scoreboard_counts(board, slot, lane, i));
    }
    for (int lane = 0; lane < board->lane_count; lane++) {
        worker->idle += atomic_load_explicit(&scoreboard_lane(board, slot, lane)->idle, memory_order_relaxed);
        worker->queued += atomic_load_explicit(&scoreboard_lane(board, slot, lane)->queued, memory_order_relaxed);
    }
    return 0;
}

static int add_worker(struct snapshot *snapshot, const struct scoreboard *board, int slot)
{
    const struct scoreboard_slot *from = scoreboard_slot(board, slot);
    enum scoreboard_state state = (enum scoreboard_state)atomic_load(&from->state);
    if (state == SCOREBOARD_NONE)
        return 0;
    struct snapshot_worker *larger =
        realloc(snapshot->workers, ((size_t)snapshot->worker_count + 1) * sizeof *snapshot->workers);
    if (larger == NULL)
        return -1;
    snapshot->workers = larger;
    larger[snapshot->worker_count++] =
        (struct snapshot_worker){.pid = atomic_load(&from->pid),
                                 .number = atomic_load(&from->number),
                                 .generation = board->generation,
                                 .state = state,
                                 .uptime_us = snapshot->taken_us - atomic_load(&from->started_us),
                                 .threads = board->thread_count - 1,
                                 .connections = atomic_load(&from->connections)};
    if (add_lanes(snapshot, board, slot) < 0 || add_threads(snapshot, board, slot) < 0)
        return -1;
    snapshot->idle += snapshot->workers[snapshot->worker_count - 1].idle;
    snapshot->queued += snapshot->workers[snapshot->worker_count - 1].queued;
    return 0;
}

/* -- all of it
 * ------------------------------------------------------------------------------------------------------------- */

static int longest_first(const void *a, const void *b)
{
    const struct snapshot_thread *left = a, *right = b;
    return (left->elapsed_us < right->elapsed_us) - (left->elapsed_us > right->elapsed_us);
}

static int by_path(const void *a, const void *b)
{
    const struct snapshot_route *left = a, *right = b;
    if (left->path[0] == '\0' || right->path[0] == '\0')
        return (left->path[0] == '\0') - (right->path[0] == '\0');
    return strcmp(left->path, right->path);
}

static int take_once(struct snapshot *snapshot, const struct snapshot_source *source)
{
    *snapshot =
        (struct snapshot){.taken_us = clock_now_us(), .master = source->master, .generation = source->generation};
    snapshot->uptime_us = snapshot->taken_us - atomic_load(&source->ledger->started_us);
    for (int i = 0; i < LEDGER_EVENTS; i++)
        snapshot->events[i] = atomic_load(&source->ledger->events[i]);
    if (add_ledger(snapshot, source->ledger) < 0)
        return -1;
    for (int i = source->board_count - 1; i >= 0; i--) /* the newest first */
        for (int slot = 0; slot < source->boards[i]->slot_count; slot++)
            if (add_worker(snapshot, source->boards[i], slot) < 0)
                return -1;
    return 0;
}

int snapshot_take(struct snapshot *snapshot, const struct snapshot_source *source)
{
    for (int i = 0;; i++) {
        uint32_t version = atomic_load(&source->ledger->version);
        if (take_once(snapshot, source) < 0) {
            snapshot_fini(snapshot);
            errno = ENOMEM;
            return -1;
        }
        if ((version % 2 == 0 && version == atomic_load(&source->ledger->version)) || i == TAKE_TRIES)
            break;
        snapshot_fini(snapshot);
        sched_yield();
    }
    if (snapshot->thread_count > 0)
        qsort(snapshot->threads, (size_t)snapshot->thread_count, sizeof *snapshot->threads, longest_first);
    qsort(snapshot->routes, (size_t)snapshot->route_count, sizeof *snapshot->routes, by_path);
    return 0;
}

void snapshot_fini(struct snapshot *snapshot)
{
    free(snapshot->workers);
    free(snapshot->threads);
    free(snapshot->routes);
    *snapshot = (struct snapshot){0};
}
