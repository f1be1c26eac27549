/*
 * snapshot.c: sums up scoreboards and ledger. Runs in the status process, which only reads them: nothing that a worker
 * has written there is trusted further than its range.
 */
#include "control/snapshot.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define TAKE_TRIES 20               /* sums change hands within a millisecond, and seldom */
#define SETTLE_US  (500 * CLOCK_MS) /* a master that was stopped or killed in the middle keeps nobody from looking */

/* Room for one more. What there is room for is the next power of two, so it need not be remembered. */
static void *grow(void *array, int count, size_t bytes)
{
    if ((count & (count - 1)) != 0)
        return array;
    return reallocarray(array, count == 0 ? 1 : 2 * (size_t)count, bytes);
}

/* The other process may be writing it. */
static void copy_path(char to[SETTINGS_PATH_BYTES], const char from[SETTINGS_PATH_BYTES])
{
    memcpy(to, from, SETTINGS_PATH_BYTES);
    to[SETTINGS_PATH_BYTES - 1] = '\0';
}

/* -- routes -------------------------------------------------------------------------------------------------------- */

/* The route of this path, which is added if need be; NULL: memory is short. Lists of routes have nearly the same order,
 * so the search begins at `next`, and that is where the next one is likely. */
static struct snapshot_route *find_route(struct snapshot *snapshot, const char *path, int *next)
{
    for (int i = 0; i < snapshot->route_count; i++) {
        int place = (*next + i) % snapshot->route_count;
        if (strncmp(snapshot->routes[place].path, path, SETTINGS_PATH_BYTES - 1) != 0)
            continue;
        *next = place + 1;
        return &snapshot->routes[place];
    }
    struct snapshot_route *routes = grow(snapshot->routes, snapshot->route_count, sizeof *routes);
    if (routes == NULL)
        return NULL;
    snapshot->routes = routes;
    struct snapshot_route *route = &routes[snapshot->route_count++];
    memset(route, 0, sizeof *route);
    copy_path(route->path, path);
    *next = snapshot->route_count;
    return route;
}

static struct snapshot_figure *find_figure(const struct snapshot_route *route, const char *name)
{
    for (int i = 0; i < route->figure_count; i++)
        if (strcmp(route->figures[i].is.name, name) == 0)
            return &route->figures[i];
    return NULL;
}

/* Adds it up. An application that made a gauge of a counter, or the other way round, has begun anew. */
static int add_figure(struct snapshot_route *route, const struct app_figure *figure, int generation)
{
    struct snapshot_figure *to = find_figure(route, figure->name);
    int64_t before = 0;
    if (to == NULL) {
        struct snapshot_figure *figures = grow(route->figures, route->figure_count, sizeof *figures);
        if (figures == NULL)
            return -1;
        route->figures = figures;
        to = &figures[route->figure_count++];
        to->generation = -1;
    } else if (to->is.counts == figure->counts) {
        before = to->is.value;
    } else if (generation <= to->generation) {
        return 0;
    }
    if (generation > to->generation)
        *to = (struct snapshot_figure){.is = *figure, .generation = generation};
    to->is.value = app_figure_sum(before, figure->value);
    return 0;
}

static int add_ledger_figures(struct snapshot_route *route, const struct ledger_route *from)
{
    for (int i = 0; i < from->figure_count && i < APP_FIGURES_MAX; i++) {
        struct app_figure figure = from->figures[i];
        figure.name[sizeof figure.name - 1] = figure.help[sizeof figure.help - 1] = '\0';
        if (app_figure_is_name(figure.name) && add_figure(route, &figure, 0) < 0)
            return -1;
    }
    return 0;
}

static int add_figures(struct snapshot_route *route, const struct scoreboard *board, int slot, int number)
{
    struct app_figures figures = scoreboard_figures(board, slot, number);
    struct app_figure figure;
    for (int i = 0; app_figure_read(&figures, i, &figure); i++)
        if (add_figure(route, &figure, board->generation) < 0)
            return -1;
    return 0;
}

static int add_ledger(struct snapshot *snapshot, const struct ledger *ledger)
{
    int count = ledger->route_count, next = 0;
    for (int i = 0; i < count && i < LEDGER_ROUTES; i++) {
        const struct ledger_route *from = &ledger->routes[i];
        struct snapshot_route *route = find_route(snapshot, from->path, &next);
        if (route == NULL)
            return -1;
        route->requests += from->requests;
        route->errors += from->errors;
        route->refused += from->refused;
        histogram_add(&route->queue, &from->queue);
        histogram_add(&route->handler, &from->handler);
        if (add_ledger_figures(route, from) < 0)
            return -1;
    }
    return 0;
}

/* Where nothing was answered nothing is taken, as in the ledger: no figure falls when its worker ends. */
static uint64_t add_counts(struct snapshot_route *route, const struct scoreboard_counts *counts,
                           const struct scoreboard_durations *durations)
{
    uint64_t requests = atomic_load_explicit(&counts->requests, memory_order_relaxed);
    if (requests == 0)
        return 0;
    route->requests += requests;
    route->errors += atomic_load_explicit(&counts->errors, memory_order_relaxed);
    route->refused += atomic_load_explicit(&counts->refused, memory_order_relaxed);
    scoreboard_times_read(&durations->queue, &route->queue);
    scoreboard_times_read(&durations->handler, &route->handler);
    return requests;
}

/* A generation's routes are shown before one of its workers has served anything. */
static int add_board_routes(struct snapshot *snapshot, const struct scoreboard *board)
{
    int next = 0;
    for (int i = 0; i < board->route_count; i++)
        if (find_route(snapshot, board->routes[i], &next) == NULL)
            return -1;
    return 0;
}

/* -- workers ------------------------------------------------------------------------------------------------------- */

static struct snapshot_worker *last_worker(const struct snapshot *snapshot)
{
    return &snapshot->workers[snapshot->worker_count - 1];
}

static int add_thread(struct snapshot *snapshot, const struct scoreboard *board, int number,
                      const struct scoreboard_activity *activity)
{
    struct snapshot_thread *threads = grow(snapshot->threads, snapshot->thread_count, sizeof *threads);
    if (threads == NULL)
        return -1;
    snapshot->threads = threads;
    struct snapshot_thread *thread = &threads[snapshot->thread_count++];
    *thread = (struct snapshot_thread){.worker = last_worker(snapshot)->pid, /* until they have their order */
                                       .number = number,
                                       .request = activity->request,
                                       .elapsed_us = snapshot->taken_us - activity->started_us};
    if (thread->elapsed_us < 0) /* it began after this look did */
        thread->elapsed_us = 0;
    if (activity->route >= 0 && activity->route < board->route_count)
        copy_path(thread->route, board->routes[activity->route]);
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
        last_worker(snapshot)->threads_busy++;
        if (add_thread(snapshot, board, i + 1, &activity) < 0)
            return -1;
    }
    return 0;
}

static int add_lanes(struct snapshot *snapshot, const struct scoreboard *board, int slot)
{
    struct snapshot_worker *worker = last_worker(snapshot);
    int next = 0;
    for (int i = 0; i < board->route_count; i++) {
        struct snapshot_route *route = find_route(snapshot, board->routes[i], &next);
        if (route == NULL || add_figures(route, board, slot, i) < 0)
            return -1;
        for (int lane = 0; lane < board->lane_count; lane++)
            worker->requests +=
                add_counts(route, scoreboard_counts(board, slot, lane, i), scoreboard_durations(board, slot, lane, i));
    }
    for (int lane = 0; lane < board->lane_count; lane++) {
        worker->idle += atomic_load_explicit(&scoreboard_lane(board, slot, lane)->idle, memory_order_relaxed);
        worker->queued += atomic_load_explicit(&scoreboard_lane(board, slot, lane)->queued, memory_order_relaxed);
        snapshot->suspended += atomic_load_explicit(&scoreboard_lane(board, slot, lane)->suspended, memory_order_relaxed);
    }
    snapshot->idle += worker->idle;
    snapshot->queued += worker->queued;
    return 0;
}

static int add_worker(struct snapshot *snapshot, const struct scoreboard *board, int slot)
{
    const struct scoreboard_slot *from = scoreboard_slot(board, slot);
    int state = atomic_load(&from->state);
    if (state <= SCOREBOARD_NONE || state > SCOREBOARD_DRAINING)
        return 0;
    struct snapshot_worker *workers = grow(snapshot->workers, snapshot->worker_count, sizeof *workers);
    if (workers == NULL)
        return -1;
    snapshot->workers = workers;
    workers[snapshot->worker_count++] =
        (struct snapshot_worker){.pid = atomic_load(&from->pid),
                                 .number = atomic_load(&from->number),
                                 .generation = board->generation,
                                 .state = (enum scoreboard_state)state,
                                 .uptime_us = snapshot->taken_us - atomic_load(&from->started_us),
                                 .threads = board->threads,
                                 .connections = atomic_load(&from->connections)};
    if (add_lanes(snapshot, board, slot) < 0)
        return -1;
    return add_threads(snapshot, board, slot);
}

static int add_board(struct snapshot *snapshot, const struct scoreboard *board)
{
    if (board == NULL)
        return 0;
    if (add_board_routes(snapshot, board) < 0)
        return -1;
    for (int slot = 0; slot < board->slot_count; slot++)
        if (add_worker(snapshot, board, slot) < 0)
            return -1;
    return 0;
}

/* -- order --------------------------------------------------------------------------------------------------------- */

static int order(int64_t left, int64_t right)
{
    return (left > right) - (left < right);
}

static int longest_first(const void *a, const void *b)
{
    const struct snapshot_thread *left = a, *right = b;
    return order(right->elapsed_us, left->elapsed_us);
}

/* Workers that serve no more come after those that do; of two with one number the newer one is the replacement. */
static int newest_generation_first(const void *a, const void *b)
{
    const struct snapshot_worker *left = a, *right = b;
    if (left->generation != right->generation)
        return order(right->generation, left->generation);
    if (left->number != right->number)
        return order(left->number, right->number);
    return order(right->uptime_us, left->uptime_us);
}

static int by_path(const void *a, const void *b)
{
    const struct snapshot_route *left = a, *right = b;
    if (left->path[0] == '\0' || right->path[0] == '\0')
        return order(left->path[0] == '\0', right->path[0] == '\0');
    return strcmp(left->path, right->path);
}

static int by_name(const void *a, const void *b)
{
    const struct snapshot_figure *left = a, *right = b;
    return strcmp(left->is.name, right->is.name);
}

/* From the worker's process number to its place. */
static void find_worker(const struct snapshot *snapshot, struct snapshot_thread *thread)
{
    int place = snapshot->worker_count - 1;
    while (place > 0 && snapshot->workers[place].pid != thread->worker)
        place--;
    thread->worker = place;
}

static void sort(struct snapshot *snapshot)
{
    if (snapshot->worker_count > 1)
        qsort(snapshot->workers, (size_t)snapshot->worker_count, sizeof *snapshot->workers, newest_generation_first);
    if (snapshot->thread_count > 1)
        qsort(snapshot->threads, (size_t)snapshot->thread_count, sizeof *snapshot->threads, longest_first);
    if (snapshot->route_count > 1)
        qsort(snapshot->routes, (size_t)snapshot->route_count, sizeof *snapshot->routes, by_path);
    for (int i = 0; i < snapshot->route_count; i++)
        if (snapshot->routes[i].figure_count > 1)
            qsort(snapshot->routes[i].figures, (size_t)snapshot->routes[i].figure_count,
                  sizeof *snapshot->routes[i].figures, by_name);
    for (int i = 0; i < snapshot->thread_count; i++)
        find_worker(snapshot, &snapshot->threads[i]);
}

/* -- all of it ----------------------------------------------------------------------------------------------------- */

static int take_once(struct snapshot *snapshot, const struct snapshot_source *source)
{
    const struct ledger *ledger = source->ledger;
    *snapshot =
        (struct snapshot){.taken_us = clock_now_us(), .master = source->master, .generation = source->generation};
    snapshot->uptime_us = snapshot->taken_us - atomic_load(&ledger->started_us);
    for (int i = 0; i < LEDGER_EVENTS; i++)
        snapshot->events[i] = atomic_load(&ledger->events[i]);
    if (add_ledger(snapshot, ledger) < 0)
        return -1;
    for (int i = 0; i < source->board_count; i++)
        if (add_board(snapshot, source->boards[i]) < 0)
            return -1;
    return 0;
}

/* Waits while sums change hands, but not for ever: what is returned may be odd. Pairs with the ledger's stores of
 * `version`: what was written before it became even is read. */
static uint32_t settled_version(const struct ledger *ledger)
{
    int64_t end_us = clock_now_us() + SETTLE_US;
    uint32_t version = atomic_load_explicit(&ledger->version, memory_order_acquire);
    while (version % 2 != 0 && clock_now_us() < end_us) {
        sched_yield();
        version = atomic_load_explicit(&ledger->version, memory_order_acquire);
    }
    return version;
}

int snapshot_take(struct snapshot *snapshot, const struct snapshot_source *source)
{
    for (int i = 1;; i++) {
        uint32_t version = settled_version(source->ledger);
        if (take_once(snapshot, source) < 0) {
            snapshot_fini(snapshot);
            errno = ENOMEM;
            return -1;
        }
        atomic_thread_fence(memory_order_acquire); /* the second look at the version comes after all that was read */
        uint32_t after = atomic_load_explicit(&source->ledger->version, memory_order_relaxed);
        if (after == version || i == TAKE_TRIES)
            break;
        snapshot_fini(snapshot);
    }
    sort(snapshot);
    return 0;
}

void snapshot_fini(struct snapshot *snapshot)
{
    free(snapshot->workers);
    free(snapshot->threads);
    for (int i = 0; i < snapshot->route_count; i++)
        free(snapshot->routes[i].figures);
    free(snapshot->routes);
    *snapshot = (struct snapshot){0};
}
