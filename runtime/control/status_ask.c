/*
 * status_ask.c: one request over HTTP, to a server that closes the connection after its answer. Runs in a process of
 * its own, on a terminal: it may block, within its time.
 */
#include "control/status_ask.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/span.h"

#define CONNECT_US (5 * CLOCK_SECOND)
#define ANSWER_US  (10 * CLOCK_SECOND)

/* Waits until the descriptor is ready. Returns 0, −1 with errno. */
static int wait_for(int fd, short events, int64_t deadline_us)
{
    struct pollfd watched = {.fd = fd, .events = events};
    int result;
    do
        result = poll(&watched, 1, clock_ms_of(deadline_us - clock_now_us()));
    while (result < 0 && errno == EINTR);
    if (result == 0)
        errno = ETIMEDOUT;
    return result > 0 ? 0 : -1;
}

/* A local socket whose backlog is full says EAGAIN, and nothing tells when it no longer is. */
static int connect_in_time(int fd, const struct address *address, int64_t deadline_us)
{
    int error = 0;
    socklen_t length = sizeof error;
    while (connect(fd, &address->socket.any, address->length) < 0) {
        if (errno == EINPROGRESS) {
            if (wait_for(fd, POLLOUT, deadline_us) < 0 || getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) < 0)
                return -1;
            errno = error;
            return error == 0 ? 0 : -1;
        }
        if (errno != EAGAIN || clock_now_us() >= deadline_us)
            return -1;
        poll(NULL, 0, 10);
    }
    return 0;
}

/* Returns the descriptor, −1 with errno. */
static int open_connection(const struct address *address)
{
    int fd = socket(address->socket.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || connect_in_time(fd, address, clock_now_us() + CONNECT_US) == 0)
        return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

/* The request is smaller than any socket's buffer. */
static int send_request(int fd, const char *path)
{
    char request[1024];
    int length = snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path);
    if (length >= (int)sizeof request) {
        errno = ENAMETOOLONG;
        return -1;
    }
    ssize_t sent = send(fd, request, (size_t)length, MSG_NOSIGNAL);
    if (sent >= 0 && sent < length)
        errno = EAGAIN;
    return sent == length ? 0 : -1;
}

/* Reads until the server closes. Returns 0, −1 with errno. */
static int read_all(int fd, FILE *to, int64_t deadline_us)
{
    char bytes[16384];
    for (;;) {
        ssize_t got = recv(fd, bytes, sizeof bytes, 0);
        if (got > 0)
            fwrite(bytes, 1, (size_t)got, to);
        else if (got == 0)
            return 0;
        else if (errno != EINTR && (errno != EAGAIN || wait_for(fd, POLLIN, deadline_us) < 0))
            return -1;
    }
}

/* Returns the whole answer, owned by the caller; NULL with errno. */
static char *ask(const struct address *address, const char *path, size_t *length)
{
    char *answer = NULL;
    int fd = open_connection(address), result = -1;
    if (fd < 0)
        return NULL;
    FILE *memory = open_memstream(&answer, length);
    if (memory != NULL && send_request(fd, path) == 0)
        result = read_all(fd, memory, clock_now_us() + ANSWER_US);
    int error = errno;
    if (memory != NULL && fclose(memory) != 0)
        result = -1;
    close(fd);
    if (result == 0)
        return answer;
    free(answer);
    errno = error;
    return NULL;
}

/* From the whole answer to its body. Returns its status, 0 when it is no answer or not all of it. */
static int take_head(struct span *answer)
{
    static const char version[] = "HTTP/1.1 ", field[] = "\r\nContent-Length: ";
    const uint8_t *end = memmem(answer->at, answer->length, "\r\n\r\n", 4);
    if (end == NULL || answer->length < sizeof version + 3 || memcmp(answer->at, version, sizeof version - 1) != 0)
        return 0;
    struct span head = span_take(answer, (size_t)(end - answer->at) + 4);
    const uint8_t *length = memmem(head.at, head.length, field, sizeof field - 1);
    if (length == NULL || strtoull((const char *)length + sizeof field - 1, NULL, 10) != answer->length)
        return 0;
    return (int)strtol((const char *)head.at + sizeof version - 1, NULL, 10);
}

int status_ask(const struct address *address, const char *path, FILE *to)
{
    size_t length = 0;
    char *answer = ask(address, path, &length);
    if (answer == NULL) {
        fprintf(stderr, "millrace: no server answers on %s: %s\n", address->text, strerror(errno));
        return -1;
    }
    struct span body = span_of(answer, length);
    int code = take_head(&body);
    if (code == 200)
        fwrite(body.at, 1, body.length, to);
    else if (code == 0)
        fprintf(stderr, "millrace: what answers on %s is no status listener\n", address->text);
    else
        fprintf(stderr, "millrace: the status listener on %s answers %d for %s\n", address->text, code, path);
    free(answer);
    return code == 200 ? 0 : -1;
}
