/*
 * wrong_server.c: an HTTP server that is wrong in one chosen way, for the controls: what measures it must notice.
 *
 *     wrong_server [--port N] [--wrong HOW] [--every N] FILE
 *
 * The right answer to a GET of any path is FILE. Every Nth request (of all connections; --every, 100) is answered
 * wrongly: see `ways`. Listens on 127.0.0.1, on a port of the kernel's choice without --port, and prints the port as a
 * line once it listens. SIGTERM ends it with status 0. A thread serves each connection, so that a stall holds up nobody
 * else.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define HEAD_BYTES_MAX 8192
#define STALL_US       200000
#define STACK_BYTES    (256 * 1024)

enum way { RIGHT, BODIES, LENGTH, CUT, RESET, STALL, STATUS, REDIRECT, CLOSE, NOTHING, SILENCE, UNFRAMED };

static const struct {
    const char *name, *what;
} ways[] = {
    [RIGHT] = {"right", "nothing is wrong"},
    [BODIES] = {"bodies", "the right length, but one byte of the body is another"},
    [LENGTH] = {"length", "a body that lacks its last byte, framed as that"},
    [CUT] = {"cut", "the connection ends in the middle of the body"},
    [RESET] = {"reset", "a reset instead of an answer"},
    [STALL] = {"stall", "the right answer, 200 ms late"},
    [STATUS] = {"status", "502 with a short page, at once"},
    [REDIRECT] = {"redirect", "302 to another path"},
    [CLOSE] = {"close", "the right answer; then the kept connection is closed without having said so"},
    [NOTHING] = {"nothing", "the connection is closed without an answer"},
    [SILENCE] = {"silence", "no answer, and the connection stays"},
    [UNFRAMED] = {"unframed", "the right body without Content-Length; the end of the connection is its end"},
};

static enum way wrong = RIGHT;
static uint64_t every = 100;
static atomic_uint_fast64_t requests; /* a count alone: orders nothing */
static char *body, *wrong_body;
static size_t body_bytes;

struct request {
    bool keep;     /* the client lets the connection stay */
    bool is_first; /* HTTP/1.0 */
};

/* Returns false when the connection is gone. */
static bool send_all(int fd, const char *bytes, size_t length, int flags)
{
    while (length > 0) {
        ssize_t sent = send(fd, bytes, length, flags | MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        bytes += sent;
        length -= (size_t)sent;
    }
    return true;
}

/* `announced` is the Content-Length; −1: none. Sends `length` bytes of the page. Returns false when the connection has
 * to end. */
static bool answer(int fd, const struct request *request, const char *status, long announced, const char *page,
                   size_t length)
{
    char head[512], framing[64] = "";
    bool keep = request->keep && announced >= 0;
    if (announced >= 0)
        snprintf(framing, sizeof framing, "Content-Length: %ld\r\n", announced);
    int head_bytes = snprintf(head, sizeof head, "HTTP/1.1 %s\r\nServer: wrong\r\nContent-Type: text/html\r\n%s%s\r\n",
                              status, framing,
                              !keep               ? "Connection: close\r\n"
                              : request->is_first ? "Connection: keep-alive\r\n"
                                                  : "");
    return send_all(fd, head, (size_t)head_bytes, MSG_MORE) && send_all(fd, page, length, 0) && keep;
}

static bool answer_rightly(int fd, const struct request *request)
{
    return answer(fd, request, "200 OK", (long)body_bytes, body, body_bytes);
}

static void reset(int fd)
{
    struct linger at_once = {.l_onoff = 1, .l_linger = 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

static void wait_for_the_end(int fd)
{
    char rest[512];
    while (recv(fd, rest, sizeof rest, 0) > 0)
        ;
}

static bool answer_wrongly(int fd, const struct request *request)
{
    static const char bad_gateway[] = "<h1>502 Bad Gateway</h1>\n", moved[] = "<h1>302 Found</h1>\n";
    switch (wrong) {
    case BODIES:
        return answer(fd, request, "200 OK", (long)body_bytes, wrong_body, body_bytes);
    case LENGTH:
        return answer(fd, request, "200 OK", (long)body_bytes - 1, body, body_bytes - 1);
    case CUT:
        answer(fd, request, "200 OK", (long)body_bytes, body, body_bytes / 2);
        return false;
    case STALL:
        usleep(STALL_US);
        return answer_rightly(fd, request);
    case STATUS:
        return answer(fd, request, "502 Bad Gateway", sizeof bad_gateway - 1, bad_gateway, sizeof bad_gateway - 1);
    case REDIRECT:
        return answer(fd, request, "302 Found\r\nLocation: /elsewhere", sizeof moved - 1, moved, sizeof moved - 1);
    case CLOSE:
        answer_rightly(fd, request);
        return false;
    case UNFRAMED:
        return answer(fd, request, "200 OK", -1, body, body_bytes);
    case RESET:
        reset(fd);
        return false;
    case SILENCE:
        wait_for_the_end(fd);
        return false;
    case NOTHING:
        return false;
    case RIGHT:
        break;
    }
    return answer_rightly(fd, request);
}

/* Reads one head; what comes after it stays in `input`. Returns false at the connection's end. */
static bool read_request(int fd, char *input, size_t *length, struct request *request)
{
    char *end;
    while ((end = memmem(input, *length, "\r\n\r\n", 4)) == NULL) {
        if (*length == HEAD_BYTES_MAX)
            return false;
        ssize_t got = recv(fd, input + *length, HEAD_BYTES_MAX - *length, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        *length += (size_t)got;
    }
    *end = '\0';
    request->is_first = strstr(input, " HTTP/1.0\r\n") != NULL;
    request->keep = request->is_first ? strcasestr(input, "\nconnection: keep-alive") != NULL
                                      : strcasestr(input, "\nconnection: close") == NULL;
    size_t used = (size_t)(end + 4 - input);
    memmove(input, input + used, *length - used);
    *length -= used;
    return true;
}

static void *serve(void *argument)
{
    int fd = (int)(intptr_t)argument, on = 1;
    char input[HEAD_BYTES_MAX + 1];
    size_t length = 0;
    struct request request;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    while (read_request(fd, input, &length, &request)) {
        bool is_wrong = (atomic_fetch_add_explicit(&requests, 1, memory_order_relaxed) + 1) % every == 0;
        if (!(is_wrong ? answer_wrongly(fd, &request) : answer_rightly(fd, &request)))
            break;
    }
    close(fd);
    return NULL;
}

static void fail(const char *what, const char *which)
{
    fprintf(stderr, "wrong_server: %s: %s: %s\n", what, which, strerror(errno));
    exit(1);
}

static void read_body(const char *path)
{
    FILE *file = fopen(path, "re");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0)
        fail("cannot read", path);
    body_bytes = (size_t)ftell(file);
    rewind(file);
    body = malloc(body_bytes + 1);
    wrong_body = malloc(body_bytes + 1);
    if (body == NULL || wrong_body == NULL || body_bytes == 0 || fread(body, 1, body_bytes, file) != body_bytes)
        fail("cannot read, or empty", path);
    fclose(file);
    memcpy(wrong_body, body, body_bytes);
    wrong_body[body_bytes / 2] ^= 1;
}

static int listen_on(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    socklen_t size = sizeof address;
    int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
        bind(fd, (struct sockaddr *)&address, size) < 0 || listen(fd, 4096) < 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) < 0)
        fail("cannot listen", "127.0.0.1");
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    return fd;
}

static void end(int number)
{
    (void)number;
    _exit(0);
}

static int usage(FILE *out)
{
    fputs("usage: wrong_server [--port N] [--wrong HOW] [--every N] FILE; HOW is one of\n", out);
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
        fprintf(out, "  %-9s %s\n", ways[i].name, ways[i].what);
    return out == stdout ? 0 : 2;
}

static bool choose(const char *name)
{
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        if (strcmp(ways[i].name, name) == 0) {
            wrong = (enum way)i;
            return true;
        }
    }
    return false;
}

static void accept_for_ever(int listener)
{
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    for (;;) {
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0 && errno != EINTR && errno != ECONNABORTED)
            fail("cannot accept", "a connection");
        if (fd >= 0 && pthread_create(&thread, &attributes, serve, (void *)(intptr_t)fd) != 0)
            fail("cannot start", "a thread");
    }
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"port", required_argument, NULL, 'p'},
        {"wrong", required_argument, NULL, 'w'},
        {"every", required_argument, NULL, 'e'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    int option, port = 0;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option == 'h')
            return usage(stdout);
        if (option == 'p')
            port = atoi(optarg);
        else if (option == 'e')
            every = strtoull(optarg, NULL, 10);
        else if (option != 'w' || !choose(optarg))
            return usage(stderr);
    }
    if (optind != argc - 1 || every == 0 || port < 0 || port > 65535)
        return usage(stderr);
    signal(SIGTERM, end);
    read_body(argv[optind]);
    accept_for_ever(listen_on(port));
}
