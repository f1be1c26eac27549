/*
 * null_responder.c: the smallest FastCGI responder that can be: an epoll loop that answers whatever it reads with the
 * same bytes. It parses nothing, so it is right only for a front end like nginx that uses the id 1, keeps connections,
 * and sends each request at once. It is the mark that the runtime's own cost is measured against.
 *
 *   null_responder SOCKET BODY_BYTES
 *
 * One process, one thread; per request one epoll_wait, one read, one write. Ends with SIGTERM.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define STDOUT      6
#define END_REQUEST 3
#define CONTENT_MAX 65528

static size_t put_header(uint8_t *to, int type, size_t length)
{
    memcpy(to, (uint8_t[]){1, (uint8_t)type, 0, 1, (uint8_t)(length >> 8), (uint8_t)length, 0, 0}, 8);
    return 8;
}

/* Returns the whole answer's length: header lines and body in as few records as possible, then both ends. */
static size_t make_answer(uint8_t *answer, size_t body_bytes)
{
    char head[128];
    int head_bytes = snprintf(head, sizeof head,
                              "Content-Type: text/html\r\nCache-Control: no-store\r\nContent-Length: %zu\r\n\r\n", body_bytes);
    size_t content = (size_t)head_bytes + body_bytes, done = 0, at = 0;
    while (done < content) {
        size_t part = content - done < CONTENT_MAX ? content - done : CONTENT_MAX;
        at += put_header(answer + at, STDOUT, part);
        memset(answer + at, 'x', part);
        if (done == 0)
            memcpy(answer + at, head, (size_t)head_bytes);
        at += part;
        done += part;
    }
    at += put_header(answer + at, STDOUT, 0);
    at += put_header(answer + at, END_REQUEST, 8);
    memset(answer + at, 0, 8);
    return at + 8;
}

static int open_listener(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (strlen(path) >= sizeof address.sun_path)
        return -1;
    strcpy(address.sun_path, path);
    unlink(path);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) < 0 || chmod(path, 0666) < 0 ||
        listen(fd, 4096) < 0)
        return -1;
    return fd;
}

static void watch(int epoll_fd, int fd, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.fd = fd};
    if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0) {
        perror("null_responder: epoll_ctl");
        exit(1);
    }
}

/* A full socket is waited for: the canned answer must leave whole. */
static void send_all(int fd, const uint8_t *bytes, size_t length)
{
    while (length > 0) {
        ssize_t sent = send(fd, bytes, length, MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN)
            return;
        if (sent > 0) {
            bytes += sent;
            length -= (size_t)sent;
        }
    }
}

static void serve(int listener, const uint8_t *answer, size_t length)
{
    static uint8_t input[65536];
    struct epoll_event events[64];
    int epoll_fd = epoll_create1(0);
    watch(epoll_fd, listener, EPOLLIN);
    for (;;) {
        int count = epoll_wait(epoll_fd, events, 64, -1);
        for (int i = 0; i < count; i++) {
            int fd = events[i].data.fd;
            if (fd == listener) {
                int accepted = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
                if (accepted >= 0)
                    watch(epoll_fd, accepted, EPOLLIN | EPOLLET);
            } else if (read(fd, input, sizeof input) > 0) {
                send_all(fd, answer, length);
            } else {
                close(fd);
            }
        }
    }
}

int main(int argc, char **argv)
{
    char *end = NULL;
    long body_bytes = argc == 3 ? strtol(argv[2], &end, 10) : -1;
    if (argc != 3 || *end != '\0' || body_bytes < 0 || body_bytes > 1 << 20) {
        fprintf(stderr, "usage: null_responder SOCKET BODY_BYTES (at most 1048576)\n");
        return 2;
    }
    uint8_t *answer = malloc((size_t)body_bytes + 4096);
    int listener = open_listener(argv[1]);
    if (answer == NULL || listener < 0) {
        fprintf(stderr, "null_responder: cannot listen on %s: %s\n", argv[1], strerror(errno));
        return 1;
    }
    serve(listener, answer, make_answer(answer, (size_t)body_bytes));
}
