/*
 * scoreboard.c: the layout of the shared memory, and how it is written and read. Made by the master, used by every
 * process.
 */
#include "serve/scoreboard.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define READ_TRIES 100 /* of a thread's line: a writer is between two versions for less than a microsecond */

/* -- layout -----------------------------------------------------------------------------------------------------------
 */

static size_t round_up(size_t bytes, size_t to)
{
    return (bytes + to - 1) / to * to;
}

static void lay_out(struct scoreboard *board)
{
    size_t page = shared_page_bytes(), lanes = (size_t)board->lane_count, routes = (size_t)board->route_count;
    board->lanes_at = round_up(sizeof(struct scoreboard_slot), 64);
    board->threads_at = board->lanes_at + lanes * sizeof(struct scoreboard_lane);
    board->counts_at = board->threads_at + (size_t)board->thread_count * sizeof(struct scoreboard_thread);
    board->durations_at = board->counts_at + lanes * routes * sizeof(struct scoreboard_counts);
    board->figures_at = board->durations_at + lanes * routes * sizeof(struct scoreboard_durations);
    board->figure_counts_at = board->figures_at + routes * APP_FIGURES_MAX * sizeof(struct mr_figure);
    board->slot_bytes = round_up(board->figure_counts_at + routes * sizeof(int), page);
    board->slots_at = round_up(sizeof *board + routes * SETTINGS_PATH_BYTES, page);
}

int scoreboard_new(struct shared *shared, const struct settings *settings, int generation)
{
    struct scoreboard plan = {.generation = generation,
                              .slot_count = 2 * settings->workers,
                              .lane_count = settings->lanes,
                              .thread_count = settings_pool_room(settings),
                              .threads = settings->threads,
                              .route_count = (int)settings->route_count + 1};
    lay_out(&plan);
    if (shared_new(shared, "millrace-scoreboard", plan.slots_at + (size_t)plan.slot_count * plan.slot_bytes) < 0)
        return -1;
    struct scoreboard *board = shared->at;
    *board = plan;
    for (size_t i = 0; i < settings->route_count; i++)
        snprintf(board->routes[i], SETTINGS_PATH_BYTES, "%s", settings->routes[i].path);
    return 0;
}

struct scoreboard_slot *scoreboard_slot(const struct scoreboard *board, int slot)
{
    return (struct scoreboard_slot *)((char *)(uintptr_t)board + board->slots_at + (size_t)slot * board->slot_bytes);
}

static void *part(const struct scoreboard *board, int slot, size_t at)
{
    return (char *)scoreboard_slot(board, slot) + at;
}

struct scoreboard_lane *scoreboard_lane(const struct scoreboard *board, int slot, int lane)
{
    return (struct scoreboard_lane *)part(board, slot, board->lanes_at) + lane;
}

struct scoreboard_thread *scoreboard_thread(const struct scoreboard *board, int slot, int thread)
{
    return (struct scoreboard_thread *)part(board, slot, board->threads_at) + thread;
}

struct scoreboard_counts *scoreboard_counts(const struct scoreboard *board, int slot, int lane, int route)
{
    return (struct scoreboard_counts *)part(board, slot, board->counts_at) + lane * board->route_count + route;
}

struct scoreboard_durations *scoreboard_durations(const struct scoreboard *board, int slot, int lane, int route)
{
    return (struct scoreboard_durations *)part(board, slot, board->durations_at) + lane * board->route_count + route;
}

/* Their counts lie together: who looks at routes that have none touches no memory for this. */
struct app_figures scoreboard_figures(const struct scoreboard *board, int slot, int route)
{
    return (struct app_figures){.all = (struct mr_figure *)part(board, slot, board->figures_at) +
                                       (ptrdiff_t)route * APP_FIGURES_MAX,
                                .count = (_Atomic int *)part(board, slot, board->figure_counts_at) + route};
}

void scoreboard_clear(const struct shared *shared, int slot)
{
    const struct scoreboard *board = shared->at;
    shared_clear(shared, scoreboard_slot(board, slot), board->slot_bytes);
}

/* -- balancing --------------------------------------------------------------------------------------------------------
 */

void scoreboard_sent(const struct scoreboard *board, int slot)
{
    atomic_fetch_add_explicit(&scoreboard_slot(board, slot)->arriving, 1, memory_order_relaxed);
}

/* What was sent to a worker that has ended was forgotten with it: the count does not go below zero. */
void scoreboard_received(const struct scoreboard *board, int slot)
{
    _Atomic int *arriving = &scoreboard_slot(board, slot)->arriving;
    int count = atomic_load_explicit(arriving, memory_order_relaxed);
    while (count > 0 && !atomic_compare_exchange_weak_explicit(arriving, &count, count - 1, memory_order_relaxed,
                                                               memory_order_relaxed))
        ;
}

static int connections_of(const struct scoreboard *board, int slot)
{
    const struct scoreboard_slot *of = scoreboard_slot(board, slot);
    return atomic_load_explicit(&of->connections, memory_order_relaxed) +
           atomic_load_explicit(&of->arriving, memory_order_relaxed);
}

int scoreboard_choose(const struct scoreboard *board, int self)
{
    int chosen = self, fewest = connections_of(board, self);
    for (int i = 0; i < board->slot_count; i++) {
        if (atomic_load_explicit(&scoreboard_slot(board, i)->state, memory_order_relaxed) != SCOREBOARD_SERVING)
            continue;
        int connections = connections_of(board, i);
        if (connections < fewest) {
            chosen = i;
            fewest = connections;
        }
    }
    /* Handing over costs two system calls: a small difference is not worth them. */
    int difference = connections_of(board, self) - fewest;
    return difference > 1 && difference > fewest / 8 ? chosen : self;
}

/* -- a thread's line --------------------------------------------------------------------------------------------------
 */

static void copy_text(char *to, const char *from, size_t room)
{
    size_t length = strnlen(from, room - 1);
    memcpy(to, from, length);
    to[length] = '\0';
}

/* The version is odd from before the first change until after the last. */
void scoreboard_begin(struct scoreboard_thread *thread, int route, uint64_t request, int64_t now_us, const char *method,
                      const char *uri)
{
    uint32_t version = atomic_load_explicit(&thread->version, memory_order_relaxed);
    atomic_store_explicit(&thread->version, version + 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&thread->route, route, memory_order_relaxed);
    atomic_store_explicit(&thread->excused_us, 0, memory_order_relaxed);
    atomic_store_explicit(&thread->started_us, now_us, memory_order_relaxed);
    atomic_store_explicit(&thread->request, request, memory_order_relaxed);
    copy_text(thread->method, method, sizeof thread->method);
    copy_text(thread->uri, uri, sizeof thread->uri);
    atomic_store_explicit(&thread->version, version + 2, memory_order_release);
}

void scoreboard_end(struct scoreboard_thread *thread)
{
    atomic_store_explicit(&thread->started_us, 0, memory_order_relaxed);
}

bool scoreboard_activity(const struct scoreboard_thread *thread, struct scoreboard_activity *activity)
{
    for (int i = 0; i < READ_TRIES; i++) {
        uint32_t version = atomic_load_explicit(&thread->version, memory_order_acquire);
        activity->route = atomic_load_explicit(&thread->route, memory_order_relaxed);
        activity->started_us = atomic_load_explicit(&thread->started_us, memory_order_relaxed);
        activity->request = atomic_load_explicit(&thread->request, memory_order_relaxed);
        memcpy(activity->method, thread->method, sizeof activity->method);
        memcpy(activity->uri, thread->uri, sizeof activity->uri);
        atomic_thread_fence(memory_order_acquire);
        if (version % 2 == 0 && version == atomic_load_explicit(&thread->version, memory_order_relaxed))
            break;
    }
    activity->method[sizeof activity->method - 1] = activity->uri[sizeof activity->uri - 1] = '\0';
    return activity->started_us != 0;
}

void scoreboard_times_read(const struct scoreboard_times *times, struct histogram *to)
{
    to->sum_us += atomic_load_explicit(&times->sum_us, memory_order_relaxed);
    for (int i = 0; i < HISTOGRAM_BUCKETS; i++)
        to->buckets[i] += atomic_load_explicit(&times->buckets[i], memory_order_relaxed);
}
