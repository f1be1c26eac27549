/*
 * status.c: the status process: accepts, waits for events, makes room. One thread; nothing here blocks, and a client
 * that does not read or write costs its own connection at most.
 */
#include "control/status.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "control/status_client.h"

#define CLIENTS   64
#define PAUSE_US  (100 * CLOCK_MS) /* of accepting, when it does not succeed */
#define FINISH_US (200 * CLOCK_MS) /* for requests that have been accepted, at the end */

static struct {
    const struct status_start *start;
    struct status_client clients[CLIENTS];
    int64_t accept_again_us; /* 0: accepting does not pause */
    int64_t end_us;          /* 0: the end has not come */
} status;

/* -- clients ------------------------------------------------------------------------------------------------------- */

/* Whether `client` has to make room rather than `other`: what it waits for is less, or it has waited for longer. */
static bool goes_before(const struct status_client *client, const struct status_client *other)
{
    if (client->state != other->state)
        return client->state < other->state;
    return client->deadline_us < other->deadline_us;
}

static struct status_client *make_room(void)
{
    struct status_client *first = &status.clients[0];
    for (int i = 1; i < CLIENTS; i++)
        if (goes_before(&status.clients[i], first))
            first = &status.clients[i];
    status_client_drop(first);
    return first;
}

/* An error that stays would be an endless loop of events without the pause. */
static void pause_accepting(int64_t now_us)
{
    log_error("status", "accepting pauses: %s", strerror(errno));
    status.accept_again_us = now_us + PAUSE_US;
}

/* As many as there may be at most, then the others have their turn. Another process may have been faster. */
static void accept_some(int64_t now_us)
{
    for (int i = 0; i < CLIENTS; i++) {
        int fd = accept4(status.start->listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
            continue;
        if (fd < 0) {
            if (errno != EAGAIN)
                pause_accepting(now_us);
            return;
        }
        status_client_start(make_room(), fd, &status.start->source, now_us);
    }
}

/* Those that were watched, in the order in which they were. */
static void attend_all(const struct pollfd *watched, int64_t now_us)
{
    for (int i = 0; i < CLIENTS; i++) {
        struct status_client *client = &status.clients[i];
        if (client->state == STATUS_CLIENT_NONE)
            continue;
        short events = (watched++)->revents;
        if (client->deadline_us <= now_us)
            status_client_drop(client);
        else if (events != 0)
            status_client_go_on(client, &status.start->source, now_us);
    }
}

/* -- the end ------------------------------------------------------------------------------------------------------- */

/* The master says nothing: it only ends. */
static bool has_ended(int channel)
{
    char byte;
    ssize_t got = read(channel, &byte, 1);
    return got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
}

static bool all_have_left(void)
{
    for (int i = 0; i < CLIENTS; i++)
        if (status.clients[i].state > STATUS_CLIENT_LEAVING)
            return false;
    return true;
}

/* -- the loop ------------------------------------------------------------------------------------------------------ */

enum { WATCH_CHANNEL, WATCH_LISTENER, WATCH_CLIENTS, WATCHED = WATCH_CLIENTS + CLIENTS };

static int wait_ms(int64_t now_us)
{
    int64_t first_us = INT64_MAX;
    if (status.accept_again_us != 0)
        first_us = status.accept_again_us;
    if (status.end_us != 0 && status.end_us < first_us)
        first_us = status.end_us;
    for (int i = 0; i < CLIENTS; i++)
        if (status.clients[i].state != STATUS_CLIENT_NONE && status.clients[i].deadline_us < first_us)
            first_us = status.clients[i].deadline_us;
    return first_us == INT64_MAX ? -1 : clock_ms_of(first_us - now_us);
}

/* Only what is open is watched: poll refuses a list that is longer than the limit of descriptors. */
static void wait_for_events(struct pollfd *watched)
{
    bool accepting = status.accept_again_us == 0 && status.end_us == 0;
    nfds_t count = WATCH_CLIENTS;
    watched[WATCH_CHANNEL] = (struct pollfd){.fd = status.end_us == 0 ? status.start->channel : -1, .events = POLLIN};
    watched[WATCH_LISTENER] = (struct pollfd){.fd = accepting ? status.start->listener->fd : -1, .events = POLLIN};
    for (int i = 0; i < CLIENTS; i++)
        if (status.clients[i].state != STATUS_CLIENT_NONE)
            watched[count++] =
                (struct pollfd){.fd = status.clients[i].fd, .events = status_client_events(&status.clients[i])};
    if (poll(watched, count, wait_ms(clock_now_us())) >= 0)
        return;
    CHECK(errno == EINTR);
    for (nfds_t i = 0; i < count; i++)
        watched[i].revents = 0;
}

static void serve(void)
{
    struct pollfd watched[WATCHED];
    wait_for_events(watched);
    int64_t now_us = clock_now_us();
    if (status.accept_again_us <= now_us)
        status.accept_again_us = 0;
    attend_all(&watched[WATCH_CLIENTS], now_us);
    if (watched[WATCH_LISTENER].revents != 0)
        accept_some(now_us);
    if (watched[WATCH_CHANNEL].revents != 0 && has_ended(status.start->channel))
        status.end_us = now_us + FINISH_US;
}

/* -- life ---------------------------------------------------------------------------------------------------------- */

static void close_between(int low, int high)
{
    if (low < STDERR_FILENO)
        low = STDERR_FILENO;
    if (high > low + 1)
        close_range((unsigned)low + 1, (unsigned)high - 1, 0);
}

/* What the master has open, others' channels above all, must end with the master. */
static void close_others(int kept, int also_kept)
{
    int low = kept < also_kept ? kept : also_kept, high = kept < also_kept ? also_kept : kept;
    close_between(STDERR_FILENO, low);
    close_between(low, high);
    close_between(high, INT_MAX);
}

static void set_up(const struct status_start *start)
{
    status.start = start;
    for (int i = 0; i < CLIENTS; i++)
        status.clients[i].fd = -1;
    close_others(start->listener->fd, start->channel);
    int flags = fcntl(start->listener->fd, F_GETFL);
    if (account_become(start->account) == 0 && flags >= 0 &&
        fcntl(start->listener->fd, F_SETFL, flags | O_NONBLOCK) == 0)
        return;
    log_error("status", "cannot start as %s: %s", start->account->name, strerror(errno));
    _exit(1);
}

_Noreturn void status_main(const struct status_start *start)
{
    set_up(start);
    while (status.end_us == 0 || (clock_now_us() < status.end_us && !all_have_left()))
        serve();
    _exit(0);
}
