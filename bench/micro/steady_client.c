/*
 * steady_client.c: asks for one page at a fixed rate, whatever becomes of the answers (open loop), and tells how long
 * they took from the time at which each was due: what waits behind a delay counts as delayed too.
 *
 *   steady_client PORT PATH BYTES RATE SECONDS     (127.0.0.1:PORT; BYTES: the body's length)
 *
 * Connections are kept for CALLS requests each, then closed and opened anew, so that a new client's wait is among the
 * figures. One process, one thread. Prints one line: requests, failed, and p50, p99 and the longest in milliseconds. An
 * answer that is late by more than PATIENCE_S, or another one than 200 with BYTES bytes, has failed and counts as that
 * late.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define CONNECTIONS  64 /* as many answers may be due at once; more requests wait, and their time goes on */
#define CALLS        20
#define PATIENCE_S   10
#define REQUESTS_MAX 10000000
#define HEAD_MAX     4096
#define SECOND_NS    1000000000LL

struct connection {
    int fd;      /* −1: not open */
    int calls;   /* left on it */
    long number; /* the request that it carries; −1: none */
    size_t got;
    char answer[HEAD_MAX]; /* the head, and of the body what is read with it */
};

static struct connection connections[CONNECTIONS];
static int port, epoll_fd = -1, timer_fd = -1;
static size_t body_bytes, request_length;
static long rate, total, sent, finished, failed;
static int64_t begin_ns, *took_ns;
static char request[1024];

static void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

static void die(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("steady_client: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * SECOND_NS + now.tv_nsec;
}

static int64_t due_ns(long number)
{
    return begin_ns + number * SECOND_NS / rate;
}

/* -- a request ---------------------------------------------------------------------------------------------------- */

static void close_connection(struct connection *connection)
{
    close(connection->fd);
    connection->fd = -1;
}

static void finish(struct connection *connection, bool good)
{
    took_ns[connection->number] = good ? now_ns() - due_ns(connection->number) : PATIENCE_S * SECOND_NS;
    failed += !good;
    finished++;
    connection->number = -1;
    if (!good || connection->calls == 0)
        close_connection(connection);
}

static void open_connection(struct connection *connection)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP, .data.ptr = connection};
    int yes = 1;
    address.sin_port = htons((uint16_t)port);
    connection->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    connection->calls = CALLS;
    if (connection->fd < 0)
        die("socket: %s", strerror(errno));
    setsockopt(connection->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    /* To 127.0.0.1 this does not wait unless the server's backlog is full; then the wait is in the figures as well. */
    if (connect(connection->fd, (struct sockaddr *)&address, sizeof address) < 0)
        die("cannot connect: %s", strerror(errno));
    if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, connection->fd, &event) < 0)
        die("epoll_ctl: %s", strerror(errno));
}

static void ask(struct connection *connection)
{
    connection->number = sent++;
    connection->got = 0;
    if (connection->fd < 0)
        open_connection(connection);
    connection->calls--;
    if (send(connection->fd, request, request_length, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)request_length)
        finish(connection, false);
}

/* Asks for what is due, as long as there is a connection without a request. */
static void ask_what_is_due(void)
{
    int64_t now = now_ns();
    for (int i = 0; i < CONNECTIONS && sent < total && due_ns(sent) <= now; i++)
        if (connections[i].number < 0)
            ask(&connections[i]);
}

/* 1: whole and right, 0: more is to come, −1: wrong. */
static int judge(const struct connection *connection)
{
    const char *end = memmem(connection->answer, connection->got, "\r\n\r\n", 4);
    if (end == NULL)
        return connection->got < HEAD_MAX ? 0 : -1;
    size_t whole = (size_t)(end - connection->answer) + 4 + body_bytes;
    if (memcmp(connection->answer, "HTTP/1.1 200 ", 13) != 0 || connection->got > whole)
        return -1;
    return connection->got == whole;
}

static void read_answer(struct connection *connection)
{
    ssize_t got = recv(connection->fd, connection->answer + connection->got, HEAD_MAX - connection->got, MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN)
        return;
    if (connection->number < 0) { /* the server closes a connection at rest; nothing is lost by that */
        close_connection(connection);
        return;
    }
    if (got > 0)
        connection->got += (size_t)got;
    int verdict = got > 0 ? judge(connection) : -1;
    if (verdict != 0)
        finish(connection, verdict > 0);
}

/* -- all of them --------------------------------------------------------------------------------------------------- */

static void start_clock(void)
{
    struct itimerspec every = {.it_interval = {0, SECOND_NS / rate}};
    begin_ns = now_ns() + SECOND_NS / 10;
    every.it_value = (struct timespec){begin_ns / SECOND_NS, begin_ns % SECOND_NS};
    if (rate == 1)
        every.it_interval = (struct timespec){1, 0};
    timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    if (timer_fd < 0 || timerfd_settime(timer_fd, TFD_TIMER_ABSTIME, &every, NULL) < 0 ||
        epoll_ctl(epoll_fd, EPOLL_CTL_ADD, timer_fd, &event) < 0)
        die("timerfd: %s", strerror(errno));
}

static void ask_all(void)
{
    struct epoll_event events[CONNECTIONS + 1];
    int64_t end_ns = due_ns(total) + PATIENCE_S * SECOND_NS;
    while (finished < total && now_ns() < end_ns) {
        int ready = epoll_wait(epoll_fd, events, CONNECTIONS + 1, 1000);
        for (int i = 0; i < ready; i++) {
            uint64_t ticks;
            if (events[i].data.ptr != NULL)
                read_answer(events[i].data.ptr);
            else if (read(timer_fd, &ticks, sizeof ticks) < 0 && errno != EAGAIN)
                die("timerfd: %s", strerror(errno));
        }
        ask_what_is_due();
    }
}

static int by_time(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

/* The smallest that so many of 100 do not exceed. */
static double percentile_ms(int percent)
{
    long rank = (total * percent + 99) / 100;
    return (double)took_ns[rank - 1] / 1e6;
}

static long number_from(const char *text, long most)
{
    char *end;
    long number = strtol(text, &end, 10);
    if (*end != '\0' || number < 1 || number > most)
        die("%s is no number from 1 to %ld", text, most);
    return number;
}

int main(int argc, char **argv)
{
    if (argc != 6) {
        fputs("usage: steady_client PORT PATH BYTES RATE SECONDS\n", stderr);
        return 2;
    }
    port = (int)number_from(argv[1], 65535);
    body_bytes = (size_t)number_from(argv[3], HEAD_MAX / 2);
    rate = number_from(argv[4], 100000);
    total = rate * number_from(argv[5], REQUESTS_MAX / rate);
    request_length =
        (size_t)snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: steady.example\r\n\r\n", argv[2]);
    took_ns = calloc((size_t)total, sizeof *took_ns);
    if (request_length >= sizeof request || took_ns == NULL)
        die("the path is too long, or memory too short");
    for (int i = 0; i < CONNECTIONS; i++)
        connections[i] = (struct connection){.fd = -1, .number = -1};
    epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    start_clock();
    ask_all();
    failed += total - finished;
    for (long i = 0; i < total; i++) /* what has had no answer */
        took_ns[i] = took_ns[i] > 0 ? took_ns[i] : PATIENCE_S * SECOND_NS;
    qsort(took_ns, (size_t)total, sizeof *took_ns, by_time);
    printf("%ld %ld %.3f %.3f %.3f\n", total, failed, percentile_ms(50), percentile_ms(99), percentile_ms(100));
    return 0;
}
