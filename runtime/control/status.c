/*
 * status.c: a small HTTP server, one answer a connection. One thread; waits for nothing but events; the slowest client
 * costs its own connection.
 */
#include "control/status.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "control/rates.h"
#include "control/status_page.h"
#include "control/status_request.h"

#define CLIENTS    64
#define HEAD_BYTES 8192
#define READ_US    (5 * CLOCK_SECOND)
#define WRITE_US   (10 * CLOCK_SECOND)
#define PAUSE_US   (100 * CLOCK_MS) /* of accepting, without a descriptor */

struct client {
    int fd; /* −1: none */
    int64_t deadline_us;
    size_t length; /* read, then to send */
    size_t sent;
    char *answer; /* NULL while the request is read */
    char head[HEAD_BYTES];
};

static struct {
    const struct status_start *start;
    struct client clients[CLIENTS];
    int64_t accept_again_us; /* 0: accepting does not pause */
} status;

/* -- answers
 * ----------------------------------------------------------------------------------------------------------------- */

static const char *reason_of(int code)
{
    switch (code) {
    case 200:
        return "OK";
    case 400:
        return "Bad Request";
    case 404:
        return "Not Found";
    case 405:
        return "Method Not Allowed";
    case 431:
        return "Request Header Fields Too Large";
    default:
        return "Service Unavailable";
    }
}

static bool is_serving(const struct snapshot *snapshot)
{
    for (int i = 0; i < snapshot->worker_count; i++)
        if (snapshot->workers[i].state == SCOREBOARD_SERVING && snapshot->workers[i].generation == snapshot->generation)
            return true;
    return false;
}

/* What a browser lets the page's own script and style by. */
static void make_nonce(char nonce[33])
{
    uint64_t random[2] = {0};
    if (getrandom(random, sizeof random, GRND_NONBLOCK) != sizeof random)
        random[0] = (uint64_t)clock_now_us();
    snprintf(nonce, 33, "%016" PRIx64 "%016" PRIx64, random[0], random[1]);
}

/* Writes the body. Returns the status. */
static int print_body(FILE *to, const struct status_request *request, const char *nonce)
{
    struct snapshot snapshot;
    int code = 200;
    if (snapshot_take(&snapshot, &status.start->source) < 0)
        return 503;
    rates_add(&snapshot);
    switch (request->resource) {
    case STATUS_PAGE:
        status_page_print(to, &snapshot, nonce);
        break;
    case STATUS_JSON:
        status_json_print(to, &snapshot);
        break;
    case STATUS_METRICS:
        status_metrics_print(to, &snapshot);
        break;
    case STATUS_TEXT:
        status_text_print(to, &snapshot);
        break;
    case STATUS_HEALTH:
        code = is_serving(&snapshot) ? 200 : 503;
        fputs(code == 200 ? "ok\n" : "no worker serves\n", to);
        break;
    }
    snapshot_fini(&snapshot);
    return code;
}

static const char *type_of(const struct status_request *request)
{
    static const char *const types[] = {
        [STATUS_PAGE] = "text/html; charset=utf-8",
        [STATUS_JSON] = "application/json",
        [STATUS_METRICS] = "application/openmetrics-text; version=1.0.0; charset=utf-8",
        [STATUS_TEXT] = "text/plain; charset=utf-8",
        [STATUS_HEALTH] = "text/plain; charset=utf-8",
    };
    return request->status == 200 ? types[request->resource] : types[STATUS_TEXT];
}

/* Returns the whole answer, owned by the caller, or NULL. */
static char *make_answer(const struct status_request *request, size_t *length)
{
    char nonce[33], *body = NULL, *answer = NULL;
    size_t body_length = 0;
    int code = request->status;
    make_nonce(nonce);
    FILE *to = open_memstream(&body, &body_length);
    if (to == NULL)
        return NULL;
    if (code == 200)
        code = print_body(to, request, nonce);
    else
        fprintf(to, "%d %s\n", code, reason_of(code));
    if (fclose(to) != 0 || (to = open_memstream(&answer, length)) == NULL) {
        free(body);
        return NULL;
    }
    fprintf(to,
            "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nCache-Control: no-store\r\n"
            "X-Content-Type-Options: nosniff\r\nContent-Security-Policy: default-src 'none'; img-src data:; "
            "connect-src 'self'; script-src 'nonce-%s'; style-src 'nonce-%s'; frame-ancestors 'none'\r\n%s"
            "Connection: close\r\n\r\n",
            code, reason_of(code), type_of(request), body_length, nonce, nonce,
            code == 405 ? "Allow: GET, HEAD\r\n" : "");
    if (!request->head)
        fwrite(body, 1, body_length, to);
    free(body);
    return fclose(to) == 0 ? answer : NULL;
}

/* -- clients
 * ----------------------------------------------------------------------------------------------------------------- */

static void drop(struct client *client)
{
    close(client->fd);
    free(client->answer);
    client->fd = -1;
    client->answer = NULL;
}

static void send_some(struct client *client)
{
    while (client->sent < client->length) {
        ssize_t sent =
            send(client->fd, client->answer + client->sent, client->length - client->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (sent < 0)
            break;
        client->sent += (size_t)sent;
    }
    drop(client);
}

static void read_some(struct client *client, int64_t now_us)
{
    ssize_t got = recv(client->fd, client->head + client->length, sizeof client->head - client->length, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) {
        drop(client);
        return;
    }
    client->length += (size_t)got;
    struct status_request request = status_request_parse(span_of((const uint8_t *)client->head, client->length),
                                                         client->length == sizeof client->head);
    if (request.status == 0)
        return;
    client->sent = client->length = 0;
    client->answer = make_answer(&request, &client->length);
    client->deadline_us = now_us + WRITE_US;
    if (client->answer == NULL)
        drop(client);
    else
        send_some(client);
}

/* A free place, or that of the client which has been there for longest. */
static struct client *find_place(void)
{
    struct client *place = &status.clients[0];
    for (int i = 0; i < CLIENTS; i++) {
        if (status.clients[i].fd < 0)
            return &status.clients[i];
        if (status.clients[i].deadline_us < place->deadline_us)
            place = &status.clients[i];
    }
    drop(place);
    return place;
}

static void accept_some(int64_t now_us)
{
    for (int i = 0; i < CLIENTS; i++) {
        int fd = accept4(status.start->listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)) {
            log_error("status", "accepting pauses: %s", strerror(errno));
            status.accept_again_us = now_us + PAUSE_US;
        }
        if (fd < 0)
            return;
        struct client *client = find_place();
        client->fd = fd;
        client->deadline_us = now_us + READ_US;
        client->length = client->sent = 0;
        read_some(client, now_us); /* most have sent their request by now */
    }
}

/* -- the loop
 * ---------------------------------------------------------------------------------------------------------------- */

enum { WATCH_CHANNEL, WATCH_LISTENER, WATCH_CLIENTS };

static int wait_ms(int64_t now_us)
{
    int64_t first_us = status.accept_again_us != 0 ? status.accept_again_us : INT64_MAX;
    for (int i = 0; i < CLIENTS; i++)
        if (status.clients[i].fd >= 0 && status.clients[i].deadline_us < first_us)
            first_us = status.clients[i].deadline_us;
    return first_us == INT64_MAX ? -1 : clock_ms_of(first_us - now_us);
}

static void wait_and_serve(void)
{
    struct pollfd watched[WATCH_CLIENTS + CLIENTS];
    int64_t now_us = clock_now_us();
    watched[WATCH_CHANNEL] = (struct pollfd){.fd = status.start->channel, .events = POLLIN};
    watched[WATCH_LISTENER] =
        (struct pollfd){.fd = status.accept_again_us == 0 ? status.start->listener->fd : -1, .events = POLLIN};
    for (int i = 0; i < CLIENTS; i++)
        watched[WATCH_CLIENTS + i] =
            (struct pollfd){.fd = status.clients[i].fd, .events = status.clients[i].answer != NULL ? POLLOUT : POLLIN};
    if (poll(watched, WATCH_CLIENTS + CLIENTS, wait_ms(now_us)) < 0)
        CHECK(errno == EINTR);
    now_us = clock_now_us();
    if (watched[WATCH_CHANNEL].revents != 0)
        _exit(0);
    if (status.accept_again_us != 0 && status.accept_again_us <= now_us)
        status.accept_again_us = 0;
    for (int i = 0; i < CLIENTS; i++) {
        struct client *client = &status.clients[i];
        if (client->fd < 0)
            continue;
        if (watched[WATCH_CLIENTS + i].revents != 0 && client->answer != NULL)
            send_some(client);
        else if (watched[WATCH_CLIENTS + i].revents != 0)
            read_some(client, now_us);
        else if (client->deadline_us <= now_us)
            drop(client);
    }
    if (watched[WATCH_LISTENER].revents != 0)
        accept_some(now_us);
}

_Noreturn void status_main(const struct status_start *start)
{
    status.start = start;
    if (account_become(start->account) < 0) {
        log_error("status", "cannot become %s: %s", start->account->name, strerror(errno));
        _exit(1);
    }
    for (int i = 0; i < CLIENTS; i++)
        status.clients[i].fd = -1;
    for (;;)
        wait_and_serve();
}

/* -- asking
 * ------------------------------------------------------------------------------------------------------------------ */

static int read_answer(int fd, FILE *to)
{
    char bytes[65536], *body = NULL;
    size_t length = 0;
    ssize_t got;
    while ((got = recv(fd, bytes + length, sizeof bytes - 1 - length, 0)) > 0) {
        length += (size_t)got;
        bytes[length] = '\0';
        if (body == NULL && (body = strstr(bytes, "\r\n\r\n")) != NULL)
            fputs(body + 4, to);
        else if (body != NULL)
            fputs(bytes, to);
        if (body != NULL || length == sizeof bytes - 1)
            length = 0;
    }
    return got == 0 && body != NULL ? 0 : -1;
}

int status_ask(const struct address *address, const char *path, FILE *to)
{
    const struct timeval limit = {.tv_sec = 5};
    int fd = socket(address->socket.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0), result = -1;
    if (fd >= 0) {
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
        if (connect(fd, &address->socket.any, address->length) == 0 &&
            dprintf(fd, "GET %s HTTP/1.1\r\nHost: status\r\n\r\n", path) > 0)
            result = read_answer(fd, to);
    }
    if (result < 0)
        fprintf(stderr, "millrace: no server answers on %s: %s\n", address->text, strerror(errno));
    if (fd >= 0)
        close(fd);
    return result;
}
