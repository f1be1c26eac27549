/* link.c: one non-blocking connection with time limits on every call. */
#include "link.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "deadline.h"
#include "suite.h"

enum { LINK_OPEN_MAX = 4096 };

static struct link *link_open[LINK_OPEN_MAX]; /* a failed case leaves by longjmp and closes nothing */

static socklen_t link_parse(const char *address, struct sockaddr_storage *to)
{
    struct sockaddr_un *local = (struct sockaddr_un *)to;
    struct sockaddr_in *four = (struct sockaddr_in *)to;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)to;
    char host[64];
    int port;

    memset(to, 0, sizeof *to);
    if (strncmp(address, "unix:", 5) == 0) {
        local->sun_family = AF_UNIX;
        SUITE_CHECK(strlen(address + 5) < sizeof local->sun_path, "socket path too long: %s", address);
        strcpy(local->sun_path, address + 5);
        return sizeof *local;
    }
    if (sscanf(address, "[%63[^]]]:%d", host, &port) == 2 && inet_pton(AF_INET6, host, &six->sin6_addr) == 1) {
        six->sin6_family = AF_INET6;
        six->sin6_port = htons((uint16_t)port);
        return sizeof *six;
    }
    if (sscanf(address, "%63[^:]:%d", host, &port) == 2 && inet_pton(AF_INET, host, &four->sin_addr) == 1) {
        four->sin_family = AF_INET;
        four->sin_port = htons((uint16_t)port);
        return sizeof *four;
    }
    SUITE_FAIL("not an address: %s", address);
}

static void link_register(struct link *link)
{
    for (int i = 0; i < LINK_OPEN_MAX; i++) {
        if (!link_open[i]) {
            link_open[i] = link;
            return;
        }
    }
    SUITE_FAIL("more than %d connections", LINK_OPEN_MAX);
}

struct link *link_try_new(const char *address)
{
    struct sockaddr_storage to;
    socklen_t size = link_parse(address, &to);
    int fd = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct link *link;

    if (fd < 0)
        return NULL;
    if (connect(fd, (struct sockaddr *)&to, size) != 0 || fcntl(fd, F_SETFL, O_NONBLOCK) != 0) {
        int why = errno;

        close(fd);
        errno = why;
        return NULL;
    }
    link = calloc(1, sizeof *link);
    if (!link)
        abort();
    link->fd = fd;
    link_register(link);
    return link;
}

struct link *link_new(const char *address)
{
    struct link *link = link_try_new(address);

    SUITE_CHECK(link, "cannot connect to %s: %s", address, strerror(errno));
    return link;
}

void link_free(struct link *link)
{
    if (!link)
        return;
    for (int i = 0; i < LINK_OPEN_MAX; i++) {
        if (link_open[i] == link)
            link_open[i] = NULL;
    }
    close(link->fd);
    free(link);
}

void link_free_all(void)
{
    for (int i = 0; i < LINK_OPEN_MAX; i++)
        link_free(link_open[i]);
}

static bool link_wait(struct link *link, short events, int64_t end_ms)
{
    struct pollfd one = {.fd = link->fd, .events = events};

    return poll(&one, 1, deadline_left_ms(end_ms)) == 1;
}

size_t link_try_send(struct link *link, const void *data, size_t length, int limit_ms)
{
    int64_t end_ms = deadline_now_ms() + limit_ms;
    size_t done = 0;

    while (done < length) {
        ssize_t part = send(link->fd, (const char *)data + done, length - done, MSG_NOSIGNAL);

        if (part > 0) {
            done += (size_t)part;
        } else if (errno != EAGAIN || !link_wait(link, POLLOUT, end_ms)) {
            break;
        }
    }
    link->sent_bytes += done;
    return done;
}

void link_send(struct link *link, const void *data, size_t length)
{
    size_t sent = link_try_send(link, data, length, DEADLINE_USUAL_MS);

    SUITE_CHECK(sent == length, "only %zu of %zu bytes could be sent: %s", sent, length, strerror(errno));
}

long link_try_read(struct link *link, void *data, size_t length, int limit_ms)
{
    int64_t end_ms = deadline_now_ms() + limit_ms;

    for (;;) {
        ssize_t got = recv(link->fd, data, length, 0);

        if (got >= 0)
            return got;
        if (errno != EAGAIN)
            return 0;
        if (!link_wait(link, POLLIN, end_ms))
            return -1;
    }
}

void link_read(struct link *link, void *data, size_t length, int limit_ms)
{
    int64_t end_ms = deadline_now_ms() + limit_ms;
    size_t done = 0;

    while (done < length) {
        long got = link_try_read(link, (char *)data + done, length - done, deadline_left_ms(end_ms));

        SUITE_CHECK(got != 0, "the server closed the connection, %zu of %zu bytes read", done, length);
        SUITE_CHECK(got > 0, "nothing more within %d ms, %zu of %zu bytes read", limit_ms, done, length);
        done += (size_t)got;
    }
}

bool link_closes(struct link *link, int limit_ms)
{
    int64_t end_ms = deadline_now_ms() + limit_ms;
    char waste[4096];
    long got;

    do {
        got = link_try_read(link, waste, sizeof waste, deadline_left_ms(end_ms));
    } while (got > 0);
    return got == 0;
}

bool link_is_silent(struct link *link, int limit_ms)
{
    struct pollfd one = {.fd = link->fd, .events = POLLIN | POLLRDHUP};

    return poll(&one, 1, limit_ms) == 0;
}

void link_shrink_receive_buffer(struct link *link, int bytes)
{
    setsockopt(link->fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
}
