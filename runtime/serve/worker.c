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
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/packet.h"
#include "base/race.h"
#include "serve/activity.h"
#include "serve/crash.h"
#include "serve/request.h"

/* When the server stops, another worker that has not heard of it yet may be about to send this one a connection. */
#define LEAVE_US (20 * CLOCK_MS)

#define MALLOC_ARENAS      4
#define MALLOC_LARGE_BYTES (128 * 1024)

static pid_t serving_process; /* this process while handlers may run, else 0 */

_Noreturn void worker_end_by_handler(const char *function)
{
    const struct request *request = activity_request();
    const char *path = request == NULL ? "(none)" : request->route->settings->path;
    crash_blame_request();
    log_error("worker", "a handler called %s(): the worker ends, with every request it was serving (%s %s of route %s)",
              function, request == NULL ? "-" : request->method, request == NULL ? "-" : request->uri, path);
    _exit(WORKER_EXIT_BY_HANDLER);
}

/* Registered last, so called first when a handler calls exit(): nothing of the runtime is taken apart under the threads
 * that still run. A child that a handler forked may exit as it likes. */
static void report_exit_by_handler(void)
{
    if (getpid() == serving_process)
        worker_end_by_handler("exit");
}

static _Noreturn void cannot_start(const char *what)
{
    log_error("worker", "cannot start: %s: %s", what, strerror(errno));
    _exit(WORKER_EXIT_CANNOT_START);
}

/* -- for lanes --------------------------------------------------------------------------------------------------------
 */

void worker_wake_lanes(struct worker *worker)
{
    for (int i = 0; i < worker->settings->lanes; i++)
        lane_wake(&worker->lanes[i]);
}

bool worker_is_empty(struct worker *worker)
{
    return atomic_load(&worker->listening_lanes) == 0 &&
           atomic_load(&worker->slot->connections) <= atomic_load(&worker->limits.overdue_count);
}

void worker_connection_closed(struct worker *worker)
{
    int left = atomic_fetch_sub(&worker->slot->connections, 1) - 1;
    if (atomic_load(&worker->draining) != WORKER_SERVES && left <= atomic_load(&worker->limits.overdue_count))
        worker_wake_lanes(worker);
}

/* When the server stops, nobody takes over what connects from now on: closed here and by the master, the listener turns
 * it away. */
static void close_listeners(struct worker *worker)
{
    for (int i = 0; i < worker->start.listener_count; i++)
        close(worker->start.listeners[i].fd);
}

void worker_lane_stopped_listening(struct worker *worker)
{
    if (atomic_fetch_sub(&worker->listening_lanes, 1) != 1)
        return;
    if (atomic_load(&worker->draining) == WORKER_ENDS && !worker->settings->debug)
        close_listeners(worker);
    worker_wake_lanes(worker);
}

void worker_lane_parted(struct worker *worker)
{
    if (atomic_fetch_add(&worker->parted_lanes, 1) == worker->settings->lanes - 1)
        worker_tell_master(worker, WORKER_PARTED, 0);
}

void worker_lane_ended(struct worker *worker)
{
    uint64_t one = 1;
    if (atomic_fetch_sub(&worker->running_lanes, 1) == 1)
        CHECK(write(worker->ended_fd, &one, sizeof one) == sizeof one);
}

void worker_log_refusal(struct worker *worker, const char *path, const char *why)
{
    int64_t now_us = clock_now_us(), before_us = atomic_load(&worker->refusals_logged_us);
    if (now_us - before_us < CLOCK_SECOND ||
        !atomic_compare_exchange_strong(&worker->refusals_logged_us, &before_us, now_us)) {
        atomic_fetch_add(&worker->refusals_unlogged, 1);
        return;
    }
    log_warning("lane", "503 for route %s: %s, every thread is busy (%u more since the last such line)", path, why,
                atomic_exchange(&worker->refusals_unlogged, 0));
}

void worker_tell_master(const struct worker *worker, enum worker_word_kind kind, int value)
{
    struct worker_word word = {.kind = (char)kind, .value = value};
    if (!worker->settings->debug && send(worker->start.channel, &word, sizeof word, MSG_NOSIGNAL) != sizeof word)
        log_error("worker", "cannot tell the master: %s", strerror(errno)); /* one that has gone is noticed elsewhere */
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
        route->figures = scoreboard_figures(worker->start.board, worker->start.slot, route->number);
        if (route_open(route, why) < 0) {
            log_error("route", "%s", why);
            _exit(WORKER_EXIT_CANNOT_START);
        }
    }
}

static _Noreturn void refused_by(const struct mr_route *route, const char *hook)
{
    log_error("route", "%s: route %s: the application's %s failed", route->settings->where, route->settings->path,
              hook);
    _exit(WORKER_EXIT_CANNOT_START);
}

static void start_routes(struct worker *worker)
{
    for (size_t i = 0; i < worker->routes.count; i++)
        if (route_start(&worker->routes.routes[i]) != 0)
            refused_by(&worker->routes.routes[i], "start");
}

static void start_routes_of_lanes(struct worker *worker)
{
    for (int i = 0; i < worker->settings->lanes; i++) {
        const struct mr_route *refusing = lane_start(&worker->lanes[i]);
        if (refusing != NULL)
            refused_by(refusing, "lane_start");
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

/* Changing the user has taken the permission away. */
static void allow_core(const struct settings *settings)
{
    struct rlimit limit;
    if (!settings->core)
        return;
    prctl(PR_SET_DUMPABLE, 1);
    if (getrlimit(RLIMIT_CORE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_CORE, &limit);
    }
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
    suspend_serve(worker->lanes, settings->lanes);
    start_routes_of_lanes(worker);
    if (limits_init(&worker->limits, worker) < 0)
        cannot_start("limits");
    if (!settings->debug && watchdog_start(&worker->watchdog, worker->lanes, settings->lanes) < 0)
        cannot_start("watchdog");
    if (pool_start(&worker->pool, settings_pool_threads(settings), worker) < 0)
        cannot_start("threads");
    for (int i = 0; i < settings->lanes; i++) {
        CHECK(pool_reserve(&worker->pool));
        pool_hand(&worker->pool, &worker->lanes[i]);
    }
}

/* -- life
 * --------------------------------------------------------------------------------------------------------------- */

static void begin_draining(struct worker *worker, int how)
{
    if (how <= atomic_load(&worker->draining))
        return;
    atomic_store(&worker->slot->state, SCOREBOARD_DRAINING); /* nobody hands connections to this worker any more */
    if (how == WORKER_ENDS)
        atomic_store(&worker->leave_us, clock_now_us() + LEAVE_US);
    atomic_store(&worker->draining, how);
    worker_wake_lanes(worker);
}

/* The log was opened again by the master, which has the right to. Writers never see the descriptor closed. */
static void take_log(int fd)
{
    if (fd < 0)
        return;
    dup2(fd, STDERR_FILENO);
    dup2(fd, STDOUT_FILENO);
    close(fd);
}

static void take_access_log(struct worker *worker, int fd)
{
    int current = atomic_load(&worker->access.fd);
    if (fd < 0)
        return;
    if (current >= 0) {
        dup3(fd, current, O_CLOEXEC);
        close(fd);
    } else {
        atomic_store(&worker->access.fd, fd);
    }
}

static void obey(struct worker *worker, const struct worker_word *word, int fd)
{
    switch ((enum worker_word_kind)word->kind) {
    case WORKER_DRAIN:
        begin_draining(worker, word->value);
        break;
    case WORKER_TRACED:
        limits_traced(&worker->limits);
        break;
    case WORKER_LOG:
        take_log(fd);
        break;
    case WORKER_ACCESS:
        take_access_log(worker, fd);
        break;
    default:
        break;
    }
}

/* A master that has gone ends the worker at once: nobody would replace it. */
static void hear_master(struct worker *worker)
{
    struct worker_word word;
    int fd = -1;
    ssize_t got = worker->settings->debug ? read(worker->start.channel, &word, 1)
                                          : packet_receive(worker->start.channel, &word, sizeof word, &fd);
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (got <= 0) {
        log_error("worker", "the master has gone: leaving");
        _exit(WORKER_EXIT_DONE);
    }
    if (worker->settings->debug)
        begin_draining(worker, WORKER_ENDS);
    else
        obey(worker, &word, fd);
}

/* Returns when every lane has ended. */
static void wait_for_end(struct worker *worker)
{
    struct pollfd watched[] = {{.fd = worker->ended_fd, .events = POLLIN},
                               {.fd = worker->start.channel, .events = POLLIN},
                               {.fd = worker->limits.wake_fd, .events = POLLIN}};
    for (;;) {
        int look_ms = worker->settings->debug ? -1 : limits_look(&worker->limits);
        if (poll(watched, 3, look_ms) < 0) {
            CHECK(errno == EINTR);
            continue;
        }
        if (watched[0].revents != 0)
            return;
        if (watched[1].revents != 0)
            hear_master(worker);
    }
}

static void log_counts(const struct worker *worker)
{
    for (size_t i = 0; i < worker->routes.count; i++) {
        const struct mr_route *route = &worker->routes.routes[i];
        uint64_t requests = 0, errors = 0;
        for (int j = 0; j < worker->settings->lanes; j++) {
            requests += atomic_load(&lane_counts(&worker->lanes[j], route)->requests);
            errors += atomic_load(&lane_counts(&worker->lanes[j], route)->errors);
        }
        if (requests == 0)
            continue;
        log_info("worker", "worker %d: served %llu requests on %s, %llu errors", worker->number,
                 (unsigned long long)requests, route->settings->path, (unsigned long long)errors);
    }
}

/* Handlers past their hard limit still run, and nothing that they use can be taken apart. */
static void leave_overdue(const struct worker *worker)
{
    int count = atomic_load(&worker->limits.overdue_count);
    if (count == 0)
        return;
    log_counts(worker);
    log_warning("worker", "worker %d leaves with %d requests unanswered that are past their hard time limit",
                worker->number, count);
    _exit(WORKER_EXIT_DONE);
}

/* First everything that runs ends, then what it used is given back. */
static void stop_all(struct worker *worker)
{
    leave_overdue(worker);
    pool_stop(&worker->pool);
    if (!worker->settings->debug)
        watchdog_stop(&worker->watchdog);
    serving_process = 0;
    for (int i = 0; i < worker->settings->lanes; i++)
        lane_stop(&worker->lanes[i]);
    for (size_t i = 0; i < worker->routes.count; i++)
        route_stop(&worker->routes.routes[i]);
    log_counts(worker);
    race_report();
    for (int i = 0; i < worker->settings->lanes; i++)
        lane_fini(&worker->lanes[i]);
    limits_fini(&worker->limits);
    free(worker->lanes);
    route_table_fini(&worker->routes);
    close(worker->ended_fd);
}

/* For a child that a handler forks and that executes nothing: what is the worker's alone must not live on there. */
static struct worker *forking_worker;

static void leave_nothing_to_child(void)
{
    const struct worker_start *start = &forking_worker->start;
    for (int i = 0; i < start->listener_count; i++)
        close(start->listeners[i].fd);
    close(start->channel);
    close(start->handover->receive_fd);
    close(start->inboxes[start->slot].receive_fd);
}

static void announce(const struct worker *worker)
{
    const struct settings *settings = worker->settings;
    atomic_store(&worker->slot->state, SCOREBOARD_SERVING);
    log_info("worker", "worker %d of generation %d is ready: %d lanes, %d threads, %zu routes", worker->number,
             worker->start.generation, settings->lanes, settings->threads, settings->route_count);
    worker_tell_master(worker, WORKER_READY, 0);
}

static void fill_slot(const struct worker *worker)
{
    atomic_store(&worker->slot->state, SCOREBOARD_STARTING);
    atomic_store(&worker->slot->pid, getpid());
    atomic_store(&worker->slot->number, worker->number);
    atomic_store(&worker->slot->started_us, clock_now_us());
}

_Noreturn void worker_main(const struct worker_start *start)
{
    static struct worker worker;
    const struct settings *settings = start->settings;
    worker.start = *start;
    worker.settings = settings;
    worker.number = start->number;
    worker.slot = scoreboard_slot(start->board, start->slot);
    atomic_store(&worker.access.fd, start->access_fd);
    fill_slot(&worker);
    redirect_output();
    settle_malloc();
    if (account_become(&settings->account) < 0)
        cannot_start(settings->account.name);
    set_limits(&worker);
    allow_core(settings);
    if (!settings->debug)
        crash_init(&worker);
    open_routes(&worker);
    start_routes(&worker);
    serving_process = getpid();
    atexit(report_exit_by_handler);
    start_lanes(&worker);
    forking_worker = &worker;
    pthread_atfork(NULL, NULL, leave_nothing_to_child);
    announce(&worker);
    wait_for_end(&worker);
    stop_all(&worker);
    log_info("worker", "worker %d has left", worker.number);
    exit(WORKER_EXIT_DONE);
}
