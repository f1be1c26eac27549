/* steady.c: a thread with an epoll set, connections that are kept, and a list of what became of each request. */
#include "steady.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "flow/deadline.h"
#include "reply.h"
#include "suite.h"

enum {
    STEADY_CONNECTIONS = 600, /* as many answers may be outstanding; more requests wait, and their time goes on */
    STEADY_SECONDS_MAX = 900,
    STEADY_PATIENCE_MS = 10000,
    STEADY_ANSWER_MAX = 8192,
    STEADY_WRONG_MAX = 200,
};

struct steady_record {
    int took_ms;
    enum steady_verdict verdict;
};

struct steady_connection {
    int fd;      /* −1: not open */
    long number; /* of the request that it carries; −1: none */
    size_t got;
    char answer[STEADY_ANSWER_MAX + 1];
};

struct steady {
    struct steady_options options;
    int64_t start_ms;
    long limit, sent, outstanding;
    int epoll_fd;
    pthread_t thread;
    bool runs;
    atomic_bool stopping;
    atomic_long right_from; /* the number of the first request of the present run of right answers */
    atomic_long right_count;
    struct steady_record *records;
    char first_wrong[STEADY_WRONG_MAX];
    long first_wrong_number;
    struct steady_connection connections[STEADY_CONNECTIONS];
};

/* What a page must not say: words of the database server, of its language, of the library, of this machine. */
static const char *const steady_secrets[] = {
    "fatal",    "relation", "select",    "insert",   "psql", "libpq", "server closed", "socket",   "host=", "user=",
    "password", "too many", "could not", "millrace", "/tmp", "/pg",   " sql",          "sqlstate", "42P01", "57P01"};

static int64_t steady_due_ms(const struct steady *steady, long number)
{
    return steady->start_ms + number * 1000 / steady->options.rate;
}

/* -- One answer -------------------------------------------------------------------------------------------------------
 */

static void steady_note_run(struct steady *steady, long number, bool right)
{
    if (right) {
        if (atomic_load(&steady->right_count) == 0)
            atomic_store(&steady->right_from, number);
        atomic_fetch_add(&steady->right_count, 1);
    } else {
        atomic_store(&steady->right_count, 0);
    }
}

static void steady_finish(struct steady *steady, struct steady_connection *connection, enum steady_verdict verdict,
                          const char *why)
{
    struct steady_record *record = &steady->records[connection->number];

    record->took_ms = (int)(deadline_now_ms() - steady_due_ms(steady, connection->number));
    record->verdict = verdict;
    steady_note_run(steady, connection->number, verdict == STEADY_RIGHT);
    if (verdict == STEADY_WRONG && steady->first_wrong_number < 0) {
        steady->first_wrong_number = connection->number;
        snprintf(steady->first_wrong, sizeof steady->first_wrong, "%s after %d ms: '%.120s'", why, record->took_ms,
                 connection->answer);
    }
    connection->number = -1;
    connection->got = 0;
    steady->outstanding--;
    if (verdict == STEADY_WRONG) {
        close(connection->fd);
        connection->fd = -1;
    }
}

/* NULL when the refusal is as it must be. */
static const char *steady_refusal_fault(const char *head, const char *body)
{
    const char *retry = strcasestr(head, "\r\nRetry-After: ");

    if (!retry || retry > body)
        return "a 503 without Retry-After";
    for (size_t i = 0; i < SUITE_COUNT(steady_secrets); i++) {
        if (strcasestr(body, steady_secrets[i]))
            return "a 503 that tells about the server";
    }
    return NULL;
}

static bool steady_body_is_right(const struct steady *steady, long number, const struct reply *reply)
{
    const struct steady_options *options = &steady->options;
    char text[24];
    size_t digits = options->numbered ? (size_t)snprintf(text, sizeof text, "%ld", number) : 0;
    size_t before = options->body_length - 1;

    return reply->length == options->body_length + digits && memcmp(reply->body, options->body, before) == 0 &&
           memcmp(reply->body + before, text, digits) == 0 && reply->body[before + digits] == options->body[before];
}

/* The whole answer has come. */
static void steady_judge(struct steady *steady, struct steady_connection *connection, const struct reply *reply)
{
    const char *fault = "another status";

    if (reply->status == 200) {
        bool same = steady_body_is_right(steady, connection->number, reply);

        steady_finish(steady, connection, same ? STEADY_RIGHT : STEADY_WRONG, "another body");
        return;
    }
    if (reply->status == 503)
        fault = steady_refusal_fault(connection->answer, reply->body);
    steady_finish(steady, connection, fault ? STEADY_WRONG : STEADY_AWAY, fault);
}

static void steady_look(struct steady *steady, struct steady_connection *connection)
{
    struct reply reply;
    enum reply_state state = reply_look(&reply, connection->answer, connection->got);

    if (state == REPLY_WRONG || (state == REPLY_PART && connection->got == STEADY_ANSWER_MAX))
        steady_finish(steady, connection, STEADY_WRONG, "no answer of the right length");
    else if (state == REPLY_WHOLE)
        steady_judge(steady, connection, &reply);
}

static void steady_read(struct steady *steady, struct steady_connection *connection)
{
    ssize_t got = recv(connection->fd, connection->answer + connection->got, STEADY_ANSWER_MAX - connection->got, 0);

    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got > 0 && connection->number >= 0) {
        connection->got += (size_t)got;
        connection->answer[connection->got] = '\0';
        steady_look(steady, connection);
    } else if (connection->number >= 0) {
        steady_finish(steady, connection, STEADY_WRONG, "the connection ended");
    } else { /* one at rest */
        close(connection->fd);
        connection->fd = -1;
    }
}

/* -- All of them ------------------------------------------------------------------------------------------------------
 */

static bool steady_open(struct steady *steady, struct steady_connection *connection)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP, .data.ptr = connection};
    int yes = 1;

    if (connection->fd >= 0)
        return true;
    to.sin_port = htons((uint16_t)atoi(strchr(steady->options.address, ':') + 1));
    connection->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(connection->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    return connect(connection->fd, (struct sockaddr *)&to, sizeof to) == 0 &&
           epoll_ctl(steady->epoll_fd, EPOLL_CTL_ADD, connection->fd, &event) == 0;
}

static int steady_write_request(const struct steady *steady, char *to, size_t room, long number)
{
    char text[24] = "";

    if (steady->options.numbered)
        snprintf(text, sizeof text, "%ld", number);
    return snprintf(to, room, "GET %s%s HTTP/1.1\r\nHost: steady.example\r\n\r\n", steady->options.path, text);
}

static void steady_ask(struct steady *steady, struct steady_connection *connection)
{
    char request[256];
    int length = steady_write_request(steady, request, sizeof request, steady->sent);

    connection->number = steady->sent++;
    connection->got = 0;
    connection->answer[0] = '\0';
    steady->outstanding++;
    if (!steady_open(steady, connection))
        steady_finish(steady, connection, STEADY_WRONG, "no connection");
    else if (send(connection->fd, request, (size_t)length, MSG_NOSIGNAL | MSG_DONTWAIT) != length)
        steady_finish(steady, connection, STEADY_WRONG, "the request was not taken");
}

static void steady_ask_what_is_due(struct steady *steady)
{
    int64_t now_ms = deadline_now_ms();

    for (int i = 0; i < STEADY_CONNECTIONS && steady->sent < steady->limit; i++) {
        if (steady_due_ms(steady, steady->sent) > now_ms)
            return;
        if (steady->connections[i].number < 0)
            steady_ask(steady, &steady->connections[i]);
    }
}

static void steady_turn(struct steady *steady, int wait_ms)
{
    struct epoll_event events[64];
    int count = epoll_wait(steady->epoll_fd, events, 64, wait_ms);

    for (int i = 0; i < count; i++) {
        struct steady_connection *connection = events[i].data.ptr;

        if (connection->fd >= 0)
            steady_read(steady, connection);
    }
}

static void *steady_run(void *argument)
{
    struct steady *steady = argument;
    int64_t end_ms;

    while (!atomic_load(&steady->stopping)) {
        steady_ask_what_is_due(steady);
        steady_turn(steady, 1);
    }
    end_ms = deadline_now_ms() + STEADY_PATIENCE_MS;
    while (steady->outstanding > 0 && deadline_left_ms(end_ms) > 0)
        steady_turn(steady, 10);
    for (int i = 0; i < STEADY_CONNECTIONS; i++) {
        struct steady_connection *connection = &steady->connections[i];

        if (connection->number >= 0)
            steady_finish(steady, connection, STEADY_WRONG, "no answer");
        if (connection->fd >= 0)
            close(connection->fd);
        connection->fd = -1;
    }
    return NULL;
}

struct steady *steady_start(const struct steady_options *options)
{
    struct steady *steady = calloc(1, sizeof *steady);

    SUITE_CHECK(steady, "no memory");
    steady->options = *options;
    steady->limit = (long)options->rate * STEADY_SECONDS_MAX;
    steady->records = calloc((size_t)steady->limit, sizeof *steady->records);
    steady->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    steady->first_wrong_number = -1;
    for (int i = 0; i < STEADY_CONNECTIONS; i++)
        steady->connections[i].fd = -1, steady->connections[i].number = -1;
    steady->start_ms = deadline_now_ms();
    steady->runs = steady->records && pthread_create(&steady->thread, NULL, steady_run, steady) == 0;
    SUITE_CHECK(steady->runs, "no thread");
    return steady;
}

void steady_stop(struct steady *steady)
{
    if (!steady->runs)
        return;
    atomic_store(&steady->stopping, true);
    pthread_join(steady->thread, NULL);
    steady->runs = false;
}

void steady_free(struct steady *steady)
{
    if (!steady)
        return;
    steady_stop(steady);
    close(steady->epoll_fd);
    free(steady->records);
    free(steady);
}

int64_t steady_right_since_ms(const struct steady *steady, int count)
{
    long from = atomic_load(&steady->right_from);

    return atomic_load(&steady->right_count) >= count ? steady_due_ms(steady, from) : 0;
}

static int steady_by_time(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

struct steady_sum steady_sum(const struct steady *steady, int64_t from_ms, int64_t to_ms)
{
    struct steady_sum sum = {.requests = 0};
    int *times = calloc((size_t)steady->sent + 1, sizeof *times);

    SUITE_CHECK(times, "no memory");
    for (long i = 0; i < steady->sent; i++) {
        const struct steady_record *record = &steady->records[i];
        int64_t due_ms = steady_due_ms(steady, i);

        if (due_ms < from_ms || due_ms >= to_ms)
            continue;
        times[sum.requests++] = record->took_ms;
        if (record->took_ms >= sum.slowest_ms) {
            sum.slowest_ms = record->took_ms;
            sum.slowest_due_ms = due_ms;
        }
        sum.right += record->verdict == STEADY_RIGHT;
        sum.away += record->verdict == STEADY_AWAY;
        sum.wrong += record->verdict == STEADY_WRONG;
    }
    qsort(times, (size_t)sum.requests, sizeof *times, steady_by_time);
    if (sum.requests > 0)
        sum.p99_ms = times[(sum.requests * 99 + 99) / 100 - 1];
    free(times);
    strcpy(sum.first_wrong, steady->first_wrong);
    return sum;
}
