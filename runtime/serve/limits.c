/*
 * limits.c: looks after handlers that take long, and asks for a replacement when the worker's time has come. Looking is
 * done by the worker's first thread, and only while a handler has lost its lane: an idle server makes no wake-ups, and
 * short handlers cost nothing.
 */
#include "serve/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/shared.h"
#include "serve/activity.h"
#include "serve/request.h"
#include "serve/worker.h"

#define LOOK_MS           100
#define ASK_AGAIN_US      (10 * CLOCK_SECOND) /* a replacement may have failed to start */
#define MEMORY_LOOK_EVERY 256                 /* answers of a lane */

int limits_init(struct limits *limits, struct worker *worker)
{
    size_t threads = (size_t)settings_pool_room(worker->settings);
    limits->worker = worker;
    limits->statm_fd = -1;
    limits->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    limits->slow = calloc(threads, sizeof *limits->slow);
    limits->overdue = calloc(threads, sizeof *limits->overdue);
    if (limits->wake_fd < 0 || limits->slow == NULL || limits->overdue == NULL)
        return -1;
    if (worker->settings->max_memory_bytes > 0)
        limits->statm_fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    return 0;
}

void limits_fini(struct limits *limits)
{
    close(limits->wake_fd);
    if (limits->statm_fd >= 0)
        close(limits->statm_fd);
    free(limits->slow);
    free(limits->overdue);
}

/* -- time
 * -------------------------------------------------------------------------------------------------------------- */

void limits_notice(struct limits *limits)
{
    uint64_t one = 1;
    /* Pairs with the store in limits_look: either this sees that nobody looks, or the last look sees the handler. */
    if (!atomic_load(&limits->watching) && !atomic_exchange(&limits->watching, true)) {
        ssize_t written = write(limits->wake_fd, &one, sizeof one);
        (void)written;
    }
}

/* A child of the master, with the worker's rights, looks at the thread's stack. A process that has changed its user is
 * closed to others of that user, so it is opened until the master says that the look is over. */
static void let_be_traced(struct limits *limits)
{
    if (limits->traced++ > 0)
        return;
    limits->was_dumpable = prctl(PR_GET_DUMPABLE) == 1;
    prctl(PR_SET_DUMPABLE, 1);
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
}

void limits_traced(struct limits *limits)
{
    if (--limits->traced > 0)
        return;
    prctl(PR_SET_PTRACER, 0);
    prctl(PR_SET_DUMPABLE, limits->was_dumpable);
}

static void report_slow(struct limits *limits, int thread)
{
    let_be_traced(limits);
    ledger_count(limits->worker->start.ledger, LEDGER_SLOW);
    worker_tell_master(limits->worker, WORKER_SLOW, thread);
}

static void ask_for_replacement(struct limits *limits, enum worker_reason reason)
{
    int64_t now_us = clock_now_us(), asked_us = atomic_load(&limits->asked_us);
    if (atomic_load(&limits->worker->draining) != WORKER_SERVES ||
        (asked_us != 0 && now_us - asked_us < ASK_AGAIN_US) ||
        !atomic_compare_exchange_strong(&limits->asked_us, &asked_us, now_us))
        return;
    worker_tell_master(limits->worker, WORKER_RETIRE, reason);
}

static void report_overdue(struct limits *limits, const struct mr_route *route, uint64_t request)
{
    log_error("limits", "request %llu of route %s is past its hard time limit: the worker is replaced",
              (unsigned long long)request, route->settings->path);
    ask_for_replacement(limits, WORKER_OVERDUE);
}

/* Returns true while the thread runs a handler; adds it to `overdue` when that is past its hard limit. */
static bool look_at(struct limits *limits, int thread, int64_t now_us, int *overdue)
{
    struct worker *worker = limits->worker;
    const struct scoreboard_thread *line = scoreboard_thread(worker->start.board, worker->start.slot, thread);
    uint64_t request = atomic_load_explicit(&line->request, memory_order_relaxed);
    int number = atomic_load_explicit(&line->route, memory_order_relaxed);
    int64_t elapsed_us = activity_elapsed_us(line, now_us);
    if (atomic_load_explicit(&line->started_us, memory_order_relaxed) == 0)
        return false;
    const struct mr_route *route = route_by_number(&worker->routes, number);
    int64_t soft_us = route->settings->request_timeout_us, grace_us = route->settings->request_grace_us;
    if (soft_us == 0 || elapsed_us < soft_us)
        return true;
    if (limits->slow[thread] != request)
        report_slow(limits, thread);
    limits->slow[thread] = request;
    if (grace_us == 0 || elapsed_us < soft_us + grace_us)
        return true;
    if (limits->overdue[thread] != request)
        report_overdue(limits, route, request);
    limits->overdue[thread] = request;
    ++*overdue;
    return true;
}

static bool look_at_all(struct limits *limits)
{
    int64_t now_us = clock_now_us();
    bool running = false;
    int overdue = 0;
    for (int i = 0; i < settings_pool_room(limits->worker->settings); i++)
        running = look_at(limits, i, now_us, &overdue) || running;
    if (overdue != atomic_load(&limits->overdue_count)) {
        atomic_store(&limits->overdue_count, overdue);
        if (atomic_load(&limits->worker->draining) != WORKER_SERVES)
            worker_wake_lanes(limits->worker); /* they may have nothing left to wait for */
    }
    return running;
}

int limits_look(struct limits *limits)
{
    uint64_t count;
    if (read(limits->wake_fd, &count, sizeof count) < 0 && !atomic_load(&limits->watching))
        return -1;
    if (look_at_all(limits))
        return LOOK_MS;
    atomic_store(&limits->watching, false);
    if (!look_at_all(limits))
        return -1;
    atomic_store(&limits->watching, true);
    return LOOK_MS;
}

int limits_deadline_ms(const struct request *request)
{
    if (request->route->settings->request_timeout_us == 0)
        return INT_MAX;
    int64_t left_us = request->route->settings->request_timeout_us - activity_own_elapsed_us();
    int64_t left_ms = (left_us + CLOCK_MS - 1) / CLOCK_MS;
    return left_us <= 0 ? 0 : left_ms < INT_MAX ? (int)left_ms : INT_MAX;
}

/* -- requests and memory
 * ----------------------------------------------------------------------------------------------- */

static int64_t resident_bytes(const struct limits *limits)
{
    char text[128];
    long long pages = 0;
    ssize_t length = pread(limits->statm_fd, text, sizeof text - 1, 0);
    text[length > 0 ? length : 0] = '\0';
    char *second = strchr(text, ' ');
    if (second != NULL)
        pages = strtoll(second, NULL, 10);
    return pages * (int64_t)shared_page_bytes();
}

void limits_count(struct limits *limits, uint64_t requests)
{
    const struct settings *settings = limits->worker->settings;
    if (settings->max_requests > 0 &&
        atomic_fetch_add_explicit(&limits->requests, 1, memory_order_relaxed) + 1 >= settings->max_requests)
        ask_for_replacement(limits, WORKER_FULL);
    if (limits->statm_fd >= 0 && requests % MEMORY_LOOK_EVERY == 0 &&
        resident_bytes(limits) >= settings->max_memory_bytes)
        ask_for_replacement(limits, WORKER_FAT);
}
