/*
 * driver.c: the loop of a generating process.
 *
 * The clock is read once for each reply: that is when it was complete, and when the next request on the connection
 * begins. Reading it once for each batch of events would be 30 ns a request cheaper and wrong by up to the time of a
 * batch.
 */
#include "load/driver.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/kernel.h"
#include "base/signals.h"
#include "load/client.h"
#include "load/pace.h"
#include "load/scorer.h"

#define BUFFER_BYTES (128 * 1024)
#define EVENTS_MAX   64
#define OPEN_AT_ONCE 64 /* connections between two looks at the replies, so that backlogs do not overflow */
#define SCAN_US      (50 * CLOCK_MS) /* for requests whose time is over */
#define PARK_US      (10 * CLOCK_MS) /* after a failed connect, which would otherwise be repeated as fast as it fails */
#define SIGNALS_TAG  UINT64_MAX

struct driver {
    const struct driver_job *job;
    const struct load_options *options;
    struct driver_shared *shared;
    struct tally *tally;
    struct scorer scorer;
    struct client_plan plan;
    struct client *clients;
    uint32_t client_count, begun_count; /* those before begun_count have been started once */
    uint32_t *idle;                     /* open loop: a stack */
    uint32_t idle_count, parked_count;
    struct pace pace;
    uint64_t next, first, last; /* open loop: the next request, the first of the window, the one behind the last */
    uint64_t budget, begun, finished; /* with -n: of the window; it may be none */
    int64_t scan_us, last_done_us;
    int64_t cpu_us, user_us, system_us; /* when the window began */
    bool in_window, is_open, is_stopping;
};

/* -- one request after another
 * ------------------------------------------------------------------------------------------ */

static void burn(int64_t span_us)
{
    struct timespec now, begin;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    while ((now.tv_sec - begin.tv_sec) * CLOCK_SECOND + (now.tv_nsec - begin.tv_nsec) / 1000 < span_us);
}

/* Gives the client a request if there is one to be made now. */
static bool next_request(struct driver *driver, struct client *client)
{
    int64_t start_us = driver->scorer.now_us;
    if (driver->is_stopping || (!driver->is_open && start_us >= driver->shared->window_end_us))
        return false;
    if (driver->is_open) {
        if (driver->next >= driver->last ||
            (start_us = pace_due_us(&driver->pace, driver->next)) > driver->scorer.now_us)
            return false;
        driver->next++;
    } else if (driver->options->requests > 0 && driver->scorer.now_us >= driver->shared->window_start_us) {
        if (driver->begun == driver->budget)
            return false;
        driver->begun++;
    }
    client->start_us = start_us;
    client->deadline_us = driver->scorer.now_us + driver->options->timeout_us;
    client->is_retry = false;
    return true;
}

static void rest(struct driver *driver, const struct client *client)
{
    if (driver->is_open)
        driver->idle[driver->idle_count++] = client->index;
}

/* The request is over. */
static void end_request(struct driver *driver, struct client *client)
{
    client->is_busy = false;
    driver->last_done_us = driver->scorer.now_us;
    if (driver->options->requests > 0 && client->start_us >= driver->shared->window_start_us)
        driver->finished++;
    if (driver->options->slow_us > 0) {
        burn(driver->options->slow_us);
        driver->scorer.now_us = clock_now_us();
    }
}

static void count_server_close(struct driver *driver, const struct client *client)
{
    driver->tally->server_closes += !driver->plan.closes && scorer_counts(&driver->scorer, client);
}

static void take_reply(struct driver *driver, struct client *client)
{
    scorer_reply(&driver->scorer, client);
    end_request(driver, client);
    if (client->can_keep)
        return;
    if (client->server_ended || !client->reply.head.keep_alive)
        count_server_close(driver, client);
    client_close(client);
}

/* Returns whether the client may go on with another request. */
static bool take_failure(struct driver *driver, struct client *client, enum failure kind, int error)
{
    bool was_busy = client->is_busy;
    scorer_failure(&driver->scorer, client, kind, error);
    client_close(client);
    if (was_busy)
        end_request(driver, client);
    if (was_busy && kind == FAILURE_CONNECT) {
        client->is_parked = true;
        client->deadline_us = driver->scorer.now_us + PARK_US;
        driver->parked_count++;
        if (driver->scan_us > client->deadline_us)
            driver->scan_us = client->deadline_us;
    }
    return was_busy && !client->is_parked;
}

/* Does what follows from the event, and from what follows. */
static void go_on(struct driver *driver, struct client *client, enum client_event event, enum failure kind)
{
    int error = errno;
    for (;;) {
        if (client->is_sent && !client->is_counted)
            scorer_sent(&driver->scorer, client);
        if (event == CLIENT_WAITS)
            return;
        if (event == CLIENT_ENDED || event == CLIENT_LOST) {
            count_server_close(driver, client);
            client_close(client);
            if (event == CLIENT_ENDED)
                return;
            client->is_retry |= client->is_counted;
            driver->tally->retries += scorer_counts(&driver->scorer, client);
        } else {
            if (event == CLIENT_REPLY)
                take_reply(driver, client);
            else if (!take_failure(driver, client, kind, error))
                return;
            if (!next_request(driver, client)) {
                rest(driver, client);
                return;
            }
        }
        event = client_start(client, &driver->plan, &kind);
        error = errno;
    }
}

static void start(struct driver *driver, struct client *client)
{
    enum failure kind = FAILURE_CONNECT;
    enum client_event event = client_start(client, &driver->plan, &kind);
    go_on(driver, client, event, kind);
}

/* -- what is due
 * --------------------------------------------------------------------------------------------------------- */

/* Closed loop: the first request of each connection. */
static void start_some(struct driver *driver)
{
    uint32_t end = driver->begun_count + OPEN_AT_ONCE;
    for (; driver->begun_count < driver->client_count && driver->begun_count < end; driver->begun_count++) {
        struct client *client = &driver->clients[driver->begun_count];
        driver->scorer.now_us = clock_now_us();
        if (next_request(driver, client))
            start(driver, client);
    }
}

/* Open loop: the one that was used last is used first, so no more connections are opened than are needed. */
static struct client *free_client(struct driver *driver)
{
    if (driver->idle_count > 0)
        return &driver->clients[driver->idle[--driver->idle_count]];
    return driver->begun_count < driver->client_count ? &driver->clients[driver->begun_count++] : NULL;
}

static void start_due(struct driver *driver)
{
    while (!driver->is_stopping && driver->next < driver->last &&
           pace_due_us(&driver->pace, driver->next) <= driver->scorer.now_us) {
        struct client *client = free_client(driver);
        if (client == NULL)
            return;
        CHECK(next_request(driver, client));
        start(driver, client);
        driver->scorer.now_us = clock_now_us();
    }
}

static void unpark(struct driver *driver, struct client *client)
{
    client->is_parked = false;
    driver->parked_count--;
    if (next_request(driver, client))
        start(driver, client);
    else
        rest(driver, client);
}

/* Ends requests whose time is over, and wakes clients that could not connect. */
static void scan(struct driver *driver)
{
    int64_t now_us = driver->scorer.now_us;
    for (uint32_t i = 0; i < driver->begun_count; i++) {
        struct client *client = &driver->clients[i];
        if ((!client->is_busy && !client->is_parked) || client->deadline_us > now_us)
            continue;
        if (client->is_parked) {
            unpark(driver, client);
            continue;
        }
        errno = ETIMEDOUT;
        go_on(driver, client, CLIENT_FAILED, client->is_connecting ? FAILURE_CONNECT : FAILURE_TIMEOUT);
    }
    int64_t pause_us = driver->options->timeout_us / 4 < SCAN_US ? driver->options->timeout_us / 4 : SCAN_US;
    if (driver->parked_count > 0 && pause_us > PARK_US)
        pause_us = PARK_US;
    driver->scan_us = now_us + (pause_us > CLOCK_MS ? pause_us : CLOCK_MS);
}

/* -- the window
 * ------------------------------------------------------------------------------------------------------------ */

static int64_t us_of(struct timeval time)
{
    return time.tv_sec * CLOCK_SECOND + time.tv_usec;
}

static void read_cpu(int64_t *cpu_us, int64_t *user_us, int64_t *system_us)
{
    struct rusage usage;
    struct timespec cpu;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
    CHECK(getrusage(RUSAGE_SELF, &usage) == 0);
    *cpu_us = cpu.tv_sec * CLOCK_SECOND + cpu.tv_nsec / 1000;
    *user_us = us_of(usage.ru_utime);
    *system_us = us_of(usage.ru_stime);
}

static uint64_t in_flight(const struct driver *driver)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < driver->begun_count; i++)
        count += driver->clients[i].is_busy && driver->clients[i].is_counted && !driver->clients[i].is_late;
    return count;
}

static void begin_window(struct driver *driver)
{
    driver->in_window = true;
    driver->tally->in_flight_at_start = driver->options->requests == 0 ? in_flight(driver) : 0;
    read_cpu(&driver->cpu_us, &driver->user_us, &driver->system_us);
}

static bool all_is_done(const struct driver *driver)
{
    return driver->options->requests > 0 && driver->finished >= driver->budget;
}

static void end_window(struct driver *driver)
{
    struct tally *tally = driver->tally;
    const struct driver_shared *shared = driver->shared;
    bool is_cut = driver->is_stopping && !all_is_done(driver) && driver->scorer.now_us < shared->window_end_us;
    tally->stopped_early = is_cut;
    tally->ended_us = is_cut                          ? driver->scorer.now_us
                      : driver->options->requests > 0 ? driver->last_done_us
                                                      : shared->window_end_us;
    if (driver->is_open && driver->in_window) {
        uint64_t due = pace_count_before(&driver->pace, tally->ended_us);
        due = due < driver->last ? due : driver->last;
        uint64_t next = driver->next > driver->first ? driver->next : driver->first;
        tally->not_sent = due > next ? due - next : 0;
    }
    if (driver->in_window) {
        tally->in_flight_at_end += in_flight(driver);
        read_cpu(&tally->cpu_us, &tally->user_us, &tally->system_us);
        tally->cpu_us -= driver->cpu_us;
        tally->user_us -= driver->user_us;
        tally->system_us -= driver->system_us;
    }
    tally->is_complete = true;
}

/* -- the loop
 * -------------------------------------------------------------------------------------------------------------- */

static int64_t wake_us(const struct driver *driver)
{
    int64_t wake = driver->scan_us < driver->shared->window_end_us ? driver->scan_us : driver->shared->window_end_us;
    if (!driver->in_window && driver->shared->window_start_us < wake)
        wake = driver->shared->window_start_us;
    if (!driver->is_open)
        return driver->begun_count < driver->client_count ? 0 : wake;
    bool can_start = driver->idle_count > 0 || driver->begun_count < driver->client_count;
    if (!can_start || driver->next >= driver->last)
        return wake;
    int64_t due_us = pace_due_us(&driver->pace, driver->next);
    return due_us < wake ? due_us : wake;
}

/* The closed loop is in no hurry at the end of a wait; the open one is to the microsecond. */
static int wait_for_events(struct driver *driver, struct epoll_event *events)
{
    int64_t span_us = wake_us(driver) - driver->scorer.now_us;
    if (!driver->is_open || span_us <= 0)
        return kernel_epoll_wait(driver->plan.epoll_fd, events, EVENTS_MAX, clock_ms_of(span_us));
    struct timespec span = {.tv_sec = span_us / CLOCK_SECOND, .tv_nsec = span_us % CLOCK_SECOND * 1000};
    return epoll_pwait2(driver->plan.epoll_fd, events, EVENTS_MAX, &span, NULL);
}

static void take_event(struct driver *driver, const struct epoll_event *event)
{
    if (event->data.u64 == SIGNALS_TAG) {
        driver->is_stopping |= signals_next() != 0;
        return;
    }
    struct client *client = &driver->clients[(uint32_t)event->data.u64];
    if (client->fd < 0 || client->generation != event->data.u64 >> 32)
        return; /* of a connection that an event before this has ended */
    enum failure kind = FAILURE_RESET;
    enum client_event what = client_ready(client, &driver->plan, event->events, &kind);
    if (what != CLIENT_WAITS || !client->is_counted)
        go_on(driver, client, what, kind);
}

static bool is_over(const struct driver *driver)
{
    return driver->is_stopping || all_is_done(driver) || driver->scorer.now_us >= driver->shared->window_end_us;
}

/* The processes begin together. */
static void wait_for_begin(const struct driver *driver)
{
    int64_t begin_us = driver->shared->begin_us;
    struct timespec begin = {.tv_sec = begin_us / CLOCK_SECOND, .tv_nsec = begin_us % CLOCK_SECOND * 1000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &begin, NULL) == EINTR) {
    }
}

static int loop(struct driver *driver)
{
    struct epoll_event events[EVENTS_MAX];
    wait_for_begin(driver);
    for (;;) {
        driver->scorer.now_us = clock_now_us();
        if (!driver->in_window && driver->scorer.now_us >= driver->shared->window_start_us)
            begin_window(driver);
        if (driver->is_open)
            start_due(driver);
        else if (driver->scorer.now_us < driver->shared->window_end_us)
            start_some(driver);
        if (driver->scorer.now_us >= driver->scan_us)
            scan(driver);
        if (is_over(driver))
            return 0;
        int count = wait_for_events(driver, events);
        if (count < 0 && errno != EINTR) {
            fprintf(stderr, "millbench load: epoll_wait: %s\n", strerror(errno));
            return 1;
        }
        for (int i = 0; i < count; i++)
            take_event(driver, &events[i]);
    }
}

/* -- beginning and end
 * ------------------------------------------------------------------------------------------------------- */

static void plan_requests(struct driver *driver)
{
    const struct load_options *options = driver->options;
    const struct driver_shared *shared = driver->shared;
    if (options->requests > 0)
        driver->budget = pace_share(options->requests, driver->job->number, options->processes);
    if (!driver->is_open)
        return;
    driver->pace = (struct pace){.begin_us = shared->begin_us,
                                 .rate_per_s = options->rate_per_s,
                                 .number = driver->job->number,
                                 .of = options->processes};
    driver->first = pace_count_before(&driver->pace, shared->window_start_us);
    driver->last = options->requests > 0 ? driver->first + driver->budget
                                         : pace_count_before(&driver->pace, shared->window_end_us);
    prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0); /* else each wait ends up to 50 µs late */
}

static void plan_connections(struct driver *driver)
{
    const struct driver_job *job = driver->job;
    const struct load_options *options = driver->options;
    driver->client_count = (uint32_t)pace_share((uint64_t)options->connections, job->number, options->processes);
    driver->clients = calloc(driver->client_count, sizeof *driver->clients);
    driver->idle = calloc(driver->client_count, sizeof *driver->idle);
    CHECK(driver->clients != NULL && driver->idle != NULL);
    for (uint32_t i = 0; i < driver->client_count; i++) {
        driver->clients[i].index = i;
        driver->clients[i].fd = -1;
    }
    driver->plan = (struct client_plan){.address = job->address,
                                        .address_length = job->address_length,
                                        .request = job->request,
                                        .request_length = job->request_length,
                                        .to_head = strcmp(options->method, "HEAD") == 0,
                                        .closes = options->closes,
                                        .source_first = options->source_first,
                                        .source_count = options->source_count,
                                        .source_next = (uint32_t)job->number,
                                        .source_step = (uint32_t)options->processes,
                                        .epoll_fd = epoll_create1(EPOLL_CLOEXEC),
                                        .buffer = malloc(BUFFER_BYTES),
                                        .buffer_bytes = BUFFER_BYTES};
    CHECK(driver->plan.buffer != NULL);
}

static int watch_signals(const struct driver *driver)
{
    static const int numbers[] = {SIGINT, SIGTERM, 0};
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = SIGNALS_TAG};
    int fd = signals_open(numbers);
    if (driver->plan.epoll_fd < 0 || fd < 0 || epoll_ctl(driver->plan.epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0) {
        fprintf(stderr, "millbench load: cannot wait for events: %s\n", strerror(errno));
        return -1;
    }
    return 0;
}

static void fini(struct driver *driver)
{
    for (uint32_t i = 0; i < driver->client_count; i++)
        client_fini(&driver->clients[i]);
    free(driver->clients);
    free(driver->idle);
    free(driver->plan.buffer);
    close(driver->plan.epoll_fd);
}

int driver_run(const struct driver_job *job)
{
    struct driver driver = {
        .job = job,
        .options = job->options,
        .shared = job->shared,
        .tally = job->tally,
        .is_open = job->options->rate_per_s > 0,
        .scorer = {.options = job->options, .shared = job->shared, .tally = job->tally, .seen = job->seen}};
    plan_requests(&driver);
    plan_connections(&driver);
    int status = watch_signals(&driver) < 0 ? 1 : loop(&driver);
    if (status == 0)
        end_window(&driver);
    fini(&driver);
    return status;
}
