/*
 * worker.c: a worker process's start and end. Its first thread starts everything, then waits for the master's word and
 * for the lanes' end; it never touches a request.
 */
#include "serve/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/check.h"
#include "base/log.h"
#include "base/race.h"
#include "serve/tally.h"

#define MALLOC_ARENAS      4
#define MALLOC_LARGE_BYTES (128 * 1024)

static pid_t serving_process; /* this process while handlers may run, else 0 */

/* Registered last, so called first when a handler calls exit(): nothing of the runtime is taken apart under the threads
 * that still run. A child that a handler forked may exit as it likes. */
static void report_exit_by_handler(void)
{
    if (getpid() != serving_process)
        return;
    log_error("worker", "a handler called exit(): the worker ends, with every request it was serving");
    _exit(WORKER_EXIT_BY_HANDLER);
}

static _Noreturn void cannot_start(const char *what)
{
    log_error("worker", "cannot start: %s: %s", what, strerror(errno));
    _exit(WORKER_EXIT_CANNOT_START);
}

/* -- for lanes --------------------------------------------------------------------------------------------------------
 */

static void wake_lanes(struct worker *worker)
{
    for (int i = 0; i < worker->settings->lanes; i++)
        lane_wake(&worker->lanes[i]);
}

bool worker_is_empty(struct worker *worker)
{
    return atomic_load(&worker->listening_lanes) == 0 && atomic_load(&worker->slot->connections) == 0;
}

void worker_connection_closed(struct worker *worker)
{
    if (atomic_fetch_sub(&worker->slot->connections, 1) == 1 && atomic_load(&worker->draining))
        wake_lanes(worker);
}

void worker_lane_stopped_listening(struct worker *worker)
{
    if (atomic_fetch_sub(&worker->listening_lanes, 1) == 1)
        wake_lanes(worker);
}

void worker_lane_ended(struct worker *worker)
{
    uint64_t one = 1;
    if (atomic_fetch_sub(&worker->running_lanes, 1) == 1)
        CHECK(write(worker->ended_fd, &one, sizeof one) == sizeof one);
}

/* -- start
 * -------------------------------------------------------------------------------------------------------------- */

/* What handlers print goes to the log, a line at a time. */
static void redirect_output(void)
{
    dup2(STDERR_FILENO, STDOUT_FILENO);
    setvbuf(stdout, NULL, _IOLBF, 0);
}

/* As it comes, glibc keeps a large piece that was freed in the arena of its thread, raises the size that it does so
 * with, and has eight arenas a CPU: with many threads a worker's memory creeps up for millions of requests. Fixed
 * thresholds give large pieces back at once, and few arenas are soon at their most. What the environment says
 * (mallopt(3)) stays. */
static void settle_malloc(void)
{
    if (getenv("MALLOC_ARENA_MAX") == NULL)
        mallopt(M_ARENA_MAX, MALLOC_ARENAS);
    if (getenv("MALLOC_MMAP_THRESHOLD_") == NULL)
        mallopt(M_MMAP_THRESHOLD, MALLOC_LARGE_BYTES);
    if (getenv("MALLOC_TRIM_THRESHOLD_") == NULL)
        mallopt(M_TRIM_THRESHOLD, MALLOC_LARGE_BYTES);
}

static void open_routes(struct worker *worker)
{
    char why[ROUTE_WHY_BYTES];
    if (route_table_init(&worker->routes, worker->settings) < 0)
        cannot_start("routes");
    for (size_t i = 0; i < worker->routes.count; i++) {
        struct mr_route *route = &worker->routes.routes[i];
        if (route_open(route, why) < 0) {
            log_error("route", "%s", why);
            _exit(WORKER_EXIT_CANNOT_START);
        }
    }
}

static void start_routes(struct worker *worker)
{
    for (size_t i = 0; i < worker->routes.count; i++) {
        struct mr_route *route = &worker->routes.routes[i];
        if (route_start(route) != 0) {
            log_error("route", "%s: route %s: the application's start failed", route->settings->where,
                      route->settings->path);
            _exit(WORKER_EXIT_CANNOT_START);
        }
    }
}

static void set_limits(struct worker *worker)
{
    struct rlimit files;
    const struct settings *settings = worker->settings;
    rlim_t limit = getrlimit(RLIMIT_NOFILE, &files) == 0 ? files.rlim_cur : 1024;
    limit = limit > 1000000 ? 1000000 : limit;
    worker->max_connections = (unsigned)limit * (unsigned)settings->workers;
    worker->max_requests = (unsigned)(settings->threads - settings->lanes) * (unsigned)settings->workers;
}

static void start_lanes(struct worker *worker)
{
    const struct settings *settings = worker->settings;
    worker->ended_fd = eventfd(0, EFD_CLOEXEC);
    worker->lanes = aligned_alloc(64, (size_t)settings->lanes * sizeof *worker->lanes);
    if (worker->ended_fd < 0 || worker->lanes == NULL)
        cannot_start("lanes");
    atomic_store(&worker->running_lanes, settings->lanes);
    for (int i = 0; i < settings->lanes; i++)
        if (lane_init(&worker->lanes[i], worker, i) < 0)
            cannot_start("lane");
    if (!settings->debug && watchdog_start(&worker->watchdog, worker->lanes, settings->lanes) < 0)
        cannot_start("watchdog");
    /* One thread more: with `threads - lanes` handlers blocked there is still one to reserve, and short ones are
     * answered. */
    if (pool_start(&worker->pool, settings->threads + 1, worker->lanes, settings->lanes) < 0)
        cannot_start("threads");
    for (int i = 0; i < settings->lanes; i++) {
        CHECK(pool_reserve(&worker->pool));
        pool_hand(&worker->pool, &worker->lanes[i]);
    }
}

/* -- life
 * --------------------------------------------------------------------------------------------------------------- */

static void begin_draining(struct worker *worker)
{
    atomic_store(&worker->slot->serving, false); /* nobody hands connections to this worker any more */
    atomic_store(&worker->draining, true);
    wake_lanes(worker);
}

/* Returns when every lane has ended. A master that has gone ends the worker at once: nobody would replace it. */
static void wait_for_end(struct worker *worker, int channel)
{
    struct pollfd watched[2] = {{.fd = worker->ended_fd, .events = POLLIN}, {.fd = channel, .events = POLLIN}};
    for (;;) {
        if (poll(watched, 2, -1) < 0) {
            CHECK(errno == EINTR);
            continue;
        }
        if (watched[0].revents != 0)
            return;
        char message;
        ssize_t got = read(channel, &message, 1);
        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (got <= 0) {
            log_error("worker", "the master has gone: leaving");
            _exit(WORKER_EXIT_DONE);
        }
        begin_draining(worker);
    }
}

static void log_tallies(const struct worker *worker)
{
    for (size_t i = 0; i < worker->routes.count; i++) {
        struct tally sum = {0};
        for (int j = 0; j < worker->settings->lanes; j++) {
            sum.requests += worker->lanes[j].tallies[i].requests;
            sum.errors += worker->lanes[j].tallies[i].errors;
        }
        log_info("tally", "worker %d: served %llu requests on %s, %llu errors", worker->number,
                 (unsigned long long)sum.requests, worker->routes.routes[i].settings->path,
                 (unsigned long long)sum.errors);
    }
}

/* First everything that runs ends, then what it used is given back. */
static void stop_all(struct worker *worker)
{
    pool_stop(&worker->pool);
    if (!worker->settings->debug)
        watchdog_stop(&worker->watchdog);
    serving_process = 0;
    for (size_t i = 0; i < worker->routes.count; i++)
        route_stop(&worker->routes.routes[i]);
    log_tallies(worker);
    race_report();
    for (int i = 0; i < worker->settings->lanes; i++)
        lane_fini(&worker->lanes[i]);
    free(worker->lanes);
    route_table_fini(&worker->routes);
    close(worker->ended_fd);
}

_Noreturn void worker_main(const struct worker_start *start)
{
    static struct worker worker;
    const struct settings *settings = start->settings;
    worker.settings = settings;
    worker.number = start->number;
    worker.listeners = start->listeners;
    worker.listener_count = start->listener_count;
    worker.scoreboard = start->scoreboard;
    worker.slot = &start->scoreboard->slots[start->number - 1];
    worker.inboxes = start->inboxes;
    redirect_output();
    settle_malloc();
    if (account_become(&settings->account) < 0)
        cannot_start(settings->account.name);
    set_limits(&worker);
    open_routes(&worker);
    start_routes(&worker);
    serving_process = getpid();
    atexit(report_exit_by_handler);
    start_lanes(&worker);
    atomic_store(&worker.slot->serving, true);
    log_info("worker", "worker %d is ready: %d lanes, %d threads, %zu routes", worker.number, settings->lanes,
             settings->threads, settings->route_count);
    char ready = WORKER_READY;
    if (!settings->debug && write(start->channel, &ready, 1) != 1)
        _exit(WORKER_EXIT_DONE); /* the master has gone already */
    wait_for_end(&worker, start->channel);
    stop_all(&worker);
    log_info("worker", "worker %d has left", worker.number);
    exit(WORKER_EXIT_DONE);
}
