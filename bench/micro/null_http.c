/*
 * null_http.c: the smallest HTTP server that can be: an epoll loop that answers whatever ends in a blank line with the
 * same bytes. It parses nothing, so it is right only for a client that sends each request whole, without a body, and
 * waits for the answer. It is the mark that the cost of the server's own listener is measured against, and its answer
 * has the length and the header lines of the server's answer with that body.
 *
 *   null_http PORT BODY_FILE CONTENT_TYPE
 *
 * One process, one thread, on 127.0.0.1; per request one epoll_wait at most, one recv, one send. Ends with SIGTERM.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define BODY_MAX  (1 << 20)
#define HEAD_MAX  512
#define EVENT_MAX 64

/*
 * A system call without the C library's function around it: the kernel has overwritten the processor's memory of where
 * functions return to, so that each return after one is mispredicted. That is 45 to 85 ns of a call that takes 300, and
 * three of them are all that a request costs here. Returns the negative error number on failure.
 */
static inline long call(long number, long a, const void *b, size_t c, long d)
{
#ifdef __x86_64__
    register long fourth __asm__("r10") = d;
    register long fifth __asm__("r8") = 0;
    register long sixth __asm__("r9") = 0;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth)
                     : "rcx", "r11", "memory");
    return result;
#else
    long result = syscall(number, a, b, c, d, 0L, 0L);
    return result < 0 ? -errno : result;
#endif
}

#ifdef SYS_epoll_wait
#define WAIT SYS_epoll_wait
#else
#define WAIT SYS_epoll_pwait /* the same without a mask */
#endif

/* Returns the answer's length, or 0 with the reason in errno. The date stays that of the start. */
static size_t make_answer(char *answer, const char *body_file, const char *content_type)
{
    static char body[BODY_MAX];
    char date[32];
    time_t now = time(NULL);
    FILE *file = fopen(body_file, "r");
    if (file == NULL)
        return 0;
    size_t body_bytes = fread(body, 1, sizeof body, file);
    fclose(file);
    strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", gmtime(&now));
    int head_bytes = snprintf(answer, HEAD_MAX,
                              "HTTP/1.1 200 OK\r\nServer: millrace\r\nDate: %s\r\nContent-Length: %zu\r\n"
                              "Content-Type: %s\r\nCache-Control: no-store\r\n\r\n",
                              date, body_bytes, content_type);
    if (head_bytes >= HEAD_MAX) {
        errno = ENAMETOOLONG;
        return 0;
    }
    memcpy(answer + head_bytes, body, body_bytes);
    return (size_t)head_bytes + body_bytes;
}

/* Accepted sockets inherit the options. */
static int open_listener(uint16_t port)
{
    const int on = 1;
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) < 0 ||
        bind(fd, (const struct sockaddr *)&address, sizeof address) < 0 || listen(fd, 4096) < 0)
        return -1;
    return fd;
}

static void watch(int epoll_fd, int fd, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.fd = fd};
    if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0) {
        perror("null_http: epoll_ctl");
        exit(1);
    }
}

static void accept_all(int epoll_fd, int listener)
{
    int fd;
    while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0)
        watch(epoll_fd, fd, EPOLLIN | EPOLLRDHUP | EPOLLET);
}

/* A full socket is waited for: the canned answer must leave whole. */
static void send_all(int fd, const char *bytes, size_t length)
{
    while (length > 0) {
        long sent = call(SYS_sendto, fd, bytes, length, MSG_NOSIGNAL);
        if (sent < 0 && sent != -EAGAIN)
            return;
        if (sent > 0) {
            bytes += sent;
            length -= (size_t)sent;
        }
    }
}

/* A client that goes while its request is on its way brings no event of its own for that: hence EPOLLRDHUP. */
static void serve(int listener, const char *answer, size_t length)
{
    static char input[16384];
    struct epoll_event events[EVENT_MAX];
    int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    watch(epoll_fd, listener, EPOLLIN);
    for (;;) {
        long count = call(WAIT, epoll_fd, events, EVENT_MAX, -1);
        for (long i = 0; i < count; i++) {
            int fd = events[i].data.fd;
            if (fd == listener) {
                accept_all(epoll_fd, listener);
                continue;
            }
            long got = call(SYS_recvfrom, fd, input, sizeof input, 0);
            if (got >= 4 && memcmp(input + got - 4, "\r\n\r\n", 4) == 0)
                send_all(fd, answer, length);
            if (got == 0 || (got < 0 && got != -EAGAIN) || (events[i].events & EPOLLRDHUP))
                close(fd);
        }
    }
}

int main(int argc, char **argv)
{
    static char answer[HEAD_MAX + BODY_MAX];
    char *end = NULL;
    long port = argc == 4 ? strtol(argv[1], &end, 10) : 0;
    if (argc != 4 || *end != '\0' || port < 1 || port > 65535) {
        fprintf(stderr, "usage: null_http PORT BODY_FILE CONTENT_TYPE\n");
        return 2;
    }
    size_t length = make_answer(answer, argv[2], argv[3]);
    if (length == 0) {
        fprintf(stderr, "null_http: cannot make an answer of %s: %s\n", argv[2], strerror(errno));
        return 1;
    }
    int listener = open_listener((uint16_t)port);
    if (listener < 0) {
        fprintf(stderr, "null_http: cannot listen on 127.0.0.1:%ld: %s\n", port, strerror(errno));
        return 1;
    }
    serve(listener, answer, length);
}
