/*
 * ledger.c: sums and events. Made by the master; read by the status process; crashes also by workers.
 */
#include "serve/ledger.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

#define CRASH_LASTS_US (2 * CLOCK_SECOND)
#define TAKE_TRIES     100000 /* the other master has ended in the middle then */

static size_t size_of(void)
{
    size_t page = shared_page_bytes();
    return (sizeof(struct ledger) + page - 1) / page * page;
}

int ledger_new(struct shared *shared)
{
    if (shared_new(shared, "millrace-ledger", size_of()) < 0)
        return -1;
    struct ledger *ledger = shared->at;
    ledger->layout = LEDGER_LAYOUT;
    ledger->started_us = clock_now_us();
    ledger->route_count = 1;
    return 0;
}

int ledger_adopt(struct shared *shared, int fd)
{
    if (shared_adopt(shared, fd, size_of()) < 0)
        return -1;
    if (((struct ledger *)shared->at)->layout == LEDGER_LAYOUT)
        return 0;
    shared_fini(shared);
    errno = EINVAL;
    return -1;
}

void ledger_count(struct ledger *ledger, enum ledger_event event)
{
    atomic_fetch_add_explicit(&ledger->events[event], 1, memory_order_relaxed);
}

/* -- sums
 * -------------------------------------------------------------------------------------------------------------- */

static void begin(struct ledger *ledger)
{
    uint32_t version = atomic_load(&ledger->version);
    for (int i = 0; i < TAKE_TRIES; i++) {
        if (version % 2 == 0 && atomic_compare_exchange_weak(&ledger->version, &version, version + 1))
            return;
        sched_yield();
        version = atomic_load(&ledger->version);
    }
}

static void end(struct ledger *ledger)
{
    atomic_fetch_add(&ledger->version, 1);
}

/* A server with more routes than fit counts the last ones with "no route". */
static struct ledger_route *find(struct ledger *ledger, const char *path)
{
    for (int i = 0; i < ledger->route_count; i++)
        if (strcmp(ledger->routes[i].path, path) == 0)
            return &ledger->routes[i];
    if (ledger->route_count == LEDGER_ROUTES)
        return &ledger->routes[0];
    struct ledger_route *route = &ledger->routes[ledger->route_count++];
    memcpy(route->path, path, sizeof route->path);
    return route;
}

static void take_counts(struct ledger *ledger, const struct scoreboard *board, int slot, int lane, int route)
{
    const struct scoreboard_counts *counts = scoreboard_counts(board, slot, lane, route);
    const struct scoreboard_durations *durations = scoreboard_durations(board, slot, lane, route);
    uint64_t requests = atomic_load_explicit(&counts->requests, memory_order_relaxed);
    if (requests == 0)
        return;
    struct ledger_route *to = find(ledger, board->routes[route]);
    to->requests += requests;
    to->errors += atomic_load_explicit(&counts->errors, memory_order_relaxed);
    to->refused += atomic_load_explicit(&counts->refused, memory_order_relaxed);
    scoreboard_times_read(&durations->queue, &to->queue);
    scoreboard_times_read(&durations->handler, &to->handler);
}

static bool has_figure(const struct app_figures *figures, const char *name)
{
    struct app_figure figure;
    for (int i = 0; app_figure_read(figures, i, &figure); i++)
        if (strcmp(figure.name, name) == 0)
            return true;
    return false;
}

/* The counter of this name. Where there is no room for another, one that the application has given up makes way: it has
 * no more of its own than fit. Returns NULL when what is there is not as it was made. */
static struct app_figure *find_figure(struct ledger_route *route, const struct app_figures *own, const char *name)
{
    struct app_figure *given_up = NULL;
    for (int i = 0; i < route->figure_count; i++) {
        if (strcmp(route->figures[i].name, name) == 0)
            return &route->figures[i];
        if (route->figure_count == APP_FIGURES_MAX && given_up == NULL && !has_figure(own, route->figures[i].name))
            given_up = &route->figures[i];
    }
    if (given_up == NULL && route->figure_count == APP_FIGURES_MAX)
        return NULL;
    struct app_figure *figure = given_up != NULL ? given_up : &route->figures[route->figure_count++];
    *figure = (struct app_figure){.counts = true};
    return figure;
}

/* Gauges end with their worker. */
static void take_figures(struct ledger *ledger, const struct scoreboard *board, int slot, int route)
{
    struct app_figures figures = scoreboard_figures(board, slot, route);
    struct app_figure figure;
    for (int i = 0; app_figure_read(&figures, i, &figure); i++) {
        if (!figure.counts || figure.value == 0)
            continue;
        struct ledger_route *to = find(ledger, board->routes[route]);
        if (strcmp(to->path, board->routes[route]) != 0)
            return; /* more routes than fit */
        struct app_figure *sum = find_figure(to, &figures, figure.name);
        if (sum == NULL)
            return;
        figure.value = app_figure_sum(figure.value, sum->value);
        *sum = figure;
    }
}

void ledger_take(struct ledger *ledger, const struct shared *shared, int slot)
{
    const struct scoreboard *board = shared->at;
    begin(ledger);
    for (int route = 0; route < board->route_count; route++) {
        for (int lane = 0; lane < board->lane_count; lane++)
            take_counts(ledger, board, slot, lane, route);
        take_figures(ledger, board, slot, route);
    }
    scoreboard_clear(shared, slot);
    end(ledger);
}

/* -- crashes
 * ------------------------------------------------------------------------------------------------------------ */

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ (hash >> 29);
}

uint64_t ledger_fingerprint(char *const *envp)
{
    uint64_t hash = UINT64_C(0x243f6a8885a308d3);
    for (; *envp != NULL; envp++) {
        for (const char *at = *envp; *at != '\0'; at++)
            hash = mix(hash, (uint8_t)*at);
        hash = mix(hash, 256);
    }
    return hash | 1; /* never 0 */
}

void ledger_add_crash(struct ledger *ledger, uint64_t fingerprint, int64_t now_us)
{
    uint32_t place = atomic_fetch_add(&ledger->crash_count, 1) % LEDGER_CRASHES;
    atomic_store(&ledger->crashes[place].fingerprint, fingerprint);
    atomic_store(&ledger->crashes[place].at_us, now_us);
}

bool ledger_has_crashes(const struct ledger *ledger, int64_t now_us)
{
    uint32_t count = atomic_load_explicit(&ledger->crash_count, memory_order_relaxed);
    if (count == 0)
        return false;
    const struct ledger_crash *last = &ledger->crashes[(count - 1) % LEDGER_CRASHES];
    return now_us - atomic_load_explicit(&last->at_us, memory_order_relaxed) < CRASH_LASTS_US;
}

bool ledger_knows_crash(const struct ledger *ledger, uint64_t fingerprint, int64_t now_us)
{
    for (int i = 0; i < LEDGER_CRASHES; i++)
        if (atomic_load(&ledger->crashes[i].fingerprint) == fingerprint &&
            now_us - atomic_load(&ledger->crashes[i].at_us) < CRASH_LASTS_US)
            return true;
    return false;
}
