/*
 * waiter.c: requests that are suspended, and woken by whatever the path says after a time in milliseconds that the
 * query says. Each answer names the reason; /counts tells how often handlers were called back.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <millrace.h>

/* Kept until the end: a callback may still begin to run elsewhere when its request has been answered. */
struct wait {
    struct wait *next;
    uint64_t ticket;
    long ms;
    int left;    /* wakes that are still to come before the answer */
    int is_slow; /* its timer's callback takes long enough to lose the lane */
    int pipe[2];
    struct mr_timer *timer;
    struct mr_watch *watch;
};

static _Atomic int suspended, woken[3], too_late, twice, lane_starts, threads;

static void sleep_ms(long ms)
{
    struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
    while (nanosleep(&pause, &pause) != 0) {
    }
}

static _Atomic(struct wait *) waits;

static struct wait *wait_new(long ms)
{
    struct wait *wait = calloc(1, sizeof *wait);
    wait->ms = ms;
    wait->pipe[0] = wait->pipe[1] = -1;
    wait->next = atomic_load(&waits);
    while (!atomic_compare_exchange_weak(&waits, &wait->next, wait)) {
    }
    return wait;
}

static void wait_end(struct wait *wait)
{
    mr_unwatch(wait->watch);
    mr_timer_free(wait->timer);
    if (wait->pipe[0] >= 0)
        close(wait->pipe[0]);
    if (wait->pipe[1] >= 0)
        close(wait->pipe[1]);
}

static void resume(uint64_t ticket)
{
    if (mr_resume(ticket) == 0)
        atomic_fetch_add(&too_late, 1);
    if (mr_resume(ticket) != 0)
        atomic_fetch_add(&twice, 1);
}

static void on_time(struct mr_timer *timer, void *arg)
{
    struct wait *wait = arg;
    (void)timer;
    if (wait->is_slow)
        sleep_ms(5);
    resume(wait->ticket);
}

static void on_ready(struct mr_watch *watch, int ready, void *arg)
{
    struct wait *wait = arg;
    char byte;
    (void)watch;
    if ((ready & POLLIN) && read(wait->pipe[0], &byte, 1) == 1)
        resume(wait->ticket);
}

static int on_wake(FCGX_Request *req, enum mr_wake why, void *arg);

static int suspend(FCGX_Request *req, struct wait *wait)
{
    wait->ticket = mr_suspend(req, on_wake, wait);
    atomic_fetch_add(&suspended, wait->ticket != 0);
    return wait->ticket != 0 ? 0 : -1;
}

static const char *name_of(enum mr_wake why)
{
    return why == MR_RESUMED ? "resumed" : why == MR_TIMED_OUT ? "timed out" : "client gone";
}

static int on_wake(FCGX_Request *req, enum mr_wake why, void *arg)
{
    struct wait *wait = arg;
    atomic_fetch_add(&woken[why], 1);
    if (why == MR_RESUMED && --wait->left > 0 && suspend(req, wait) == 0) {
        mr_after(wait->timer, (int)wait->ms);
        return 0;
    }
    if (why != MR_RESUMED)
        mr_log(req, "called back: %s", name_of(why));
    if (strcmp(FCGX_GetParam("PATH_INFO", req->envp), "/slow-wake") == 0)
        sleep_ms(30);
    mr_printf(req->out, "%s\n", name_of(why));
    if (why != MR_RESUMED && mr_suspend(req, on_wake, wait) == 0)
        mr_printf(req->out, "errno %s\n", errno == ECANCELED ? "ECANCELED" : "?");
    wait_end(wait);
    return 7;
}

/* -- who resumes ------------------------------------------------------------------------------------------------- */

struct later {
    uint64_t ticket;
    long ms;
    int fd;
};

static void *resume_later(void *arg)
{
    struct later *later = arg;
    sleep_ms(later->ms);
    if (later->fd >= 0) {
        if (write(later->fd, "x", 1) == 1)
            close(later->fd);
    } else {
        resume(later->ticket);
    }
    free(later);
    atomic_fetch_sub(&threads, 1);
    return NULL;
}

static void start_thread(struct wait *wait, int fd)
{
    struct later *later = malloc(sizeof *later);
    pthread_t thread;
    *later = (struct later){wait->ticket, wait->ms, fd};
    atomic_fetch_add(&threads, 1);
    if (pthread_create(&thread, NULL, resume_later, later) == 0)
        pthread_detach(thread);
    else
        atomic_fetch_sub(&threads, 1);
}

static void wait_for_timer(FCGX_Request *req, struct wait *wait)
{
    wait->timer = mr_timer_new(mr_lane(req), on_time, wait);
    if (suspend(req, wait) == 0)
        mr_after(wait->timer, (int)wait->ms);
}

static void wait_for_descriptor(FCGX_Request *req, struct wait *wait)
{
    if (pipe(wait->pipe) == 0 && suspend(req, wait) == 0) {
        wait->watch = mr_watch(mr_lane(req), wait->pipe[0], POLLIN, on_ready, wait);
        int fd = wait->pipe[1];
        wait->pipe[1] = -1;
        start_thread(wait, fd);
    }
}

static int counts(FCGX_Request *req)
{
    mr_printf(req->out, "suspended %d resumed %d timed out %d gone %d too late %d twice %d lanes %d\n", suspended,
              woken[0], woken[1], woken[2], too_late, twice, lane_starts);
    return 0;
}

static int waiter(FCGX_Request *req)
{
    const char *how = FCGX_GetParam("PATH_INFO", req->envp), *query = FCGX_GetParam("QUERY_STRING", req->envp);
    long ms = query == NULL ? 0 : strtol(query, NULL, 10);
    FCGX_PutS("Content-Type: text/plain\r\n\r\n", req->out);
    if (strcmp(how, "/counts") == 0)
        return counts(req);
    struct wait *wait = wait_new(ms);
    wait->left = strcmp(how, "/chain") == 0 ? 5 : 1;
    if (strcmp(how, "/flush") == 0) {
        FCGX_PutS("begun, ", req->out);
        FCGX_FFlush(req->out);
    }
    wait->is_slow = strcmp(how, "/slow-callback") == 0;
    if (strcmp(how, "/after-sleep") == 0)
        sleep_ms(15);
    if (strcmp(how, "/watch") == 0) {
        wait_for_descriptor(req, wait);
    } else if (strcmp(how, "/thread") == 0 || strcmp(how, "/slow-wake") == 0) {
        if (suspend(req, wait) == 0)
            start_thread(wait, -1);
    } else if (strcmp(how, "/now") == 0) {
        if (suspend(req, wait) == 0)
            resume(wait->ticket);
    } else if (strcmp(how, "/now-sleep") == 0) { /* woken while the handler goes on without its lane */
        if (suspend(req, wait) == 0)
            resume(wait->ticket);
        sleep_ms(15);
    } else if (strcmp(how, "/never") == 0) {
        (void)suspend(req, wait);
    } else {
        wait_for_timer(req, wait);
    }
    return 0;
}

static void stop(struct mr_route *route)
{
    struct wait *next;
    (void)route;
    while (atomic_load(&threads) > 0)
        sleep_ms(1);
    for (struct wait *wait = atomic_load(&waits); wait != NULL; wait = next) {
        next = wait->next;
        free(wait);
    }
}

static int lane_start(struct mr_lane *lane)
{
    if (mr_lane_state(lane) != NULL || mr_lane_route(lane) == NULL)
        return -1;
    mr_lane_set_state(lane, &lane_starts);
    atomic_fetch_add(&lane_starts, 1);
    return 0;
}

static void lane_stop(struct mr_lane *lane)
{
    if (mr_lane_state(lane) == &lane_starts)
        mr_route_log(mr_lane_route(lane), "lane stops, state kept");
}

const struct mr_app mr_app = {
    .abi = MR_ABI, .name = "waiter", .handle = waiter, .stop = stop, .lane_start = lane_start, .lane_stop = lane_stop};
