/*
 * slow_clients.c: many slow HTTP clients at once, each of them slow in one of these ways, by turns:
 *
 *   head    begins a request and sends one more byte of its head every second
 *   body    declares a body and sends one byte of it every second
 *   upload  the same after 64 KiB of it: the handler has been called and waits in its read
 *   reader  asks for a large answer, and stops reading after its first bytes
 *
 *   slow_clients PORT COUNT KIND...     (127.0.0.1:PORT; routes /echo, and /flood of tests/apps)
 *
 * Whoever is thrown out comes again at once. One process, one thread. Prints "ready" when all have connected and
 * sent, or read, what they begin with, or have been refused. Ends with its standard input or with SIGTERM; at the
 * former's end it tells on standard error how many are connected and how often one had to come again.
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
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define COUNT_MAX      20000
#define SPARE_FILES    16
#define PATIENCE_S     20    /* until all are ready */
#define UPLOAD_BYTES   65536 /* from here on the server calls the handler */
#define RECEIVE_BYTES  4096  /* what the kernel may hold for a reader that has stopped */
#define BEFORE_A_RETRY 2     /* seconds that one who was refused stays away */

enum kind { HEAD, BODY, UPLOAD, READER, KINDS };

static const char *const kind_names[KINDS] = {"head", "body", "upload", "reader"};

static const char *const kind_begins[KINDS] = {
    "GET /hello HTTP/1.1\r\nHost: slow.example\r\nX-Slow: ",
    "POST /echo HTTP/1.1\r\nHost: slow.example\r\nContent-Length: 60000\r\n\r\n",
    "POST /echo HTTP/1.1\r\nHost: slow.example\r\nContent-Length: 1000000\r\n\r\n",
    "GET /flood?20000000 HTTP/1.1\r\nHost: slow.example\r\n\r\n",
};

struct client {
    enum kind kind;
    int fd;           /* −1: thrown out, comes again with its next turn */
    int seconds_away; /* turns to leave out before that */
    bool begun;       /* its first bytes are sent, or read */
    bool known;       /* it has begun, or been refused, once */
    size_t upload_left;
};

static struct client *clients;
static int port, count, epoll_fd = -1, timer_fd = -1;
static long begun_count, known_count, again_count;
static bool announced;

static void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

static void die(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("slow_clients: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}

static void watch(int fd, uint32_t events, uint64_t number)
{
    struct epoll_event event = {.events = events, .data.u64 = number};
    if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0)
        die("epoll_ctl: %s", strerror(errno));
}

/* -- a client ----------------------------------------------------------------------------------------------------- */

static void note_known(struct client *client)
{
    if (client->known)
        return;
    client->known = true;
    if (++known_count == count) {
        announced = true;
        puts("ready");
        fflush(stdout);
    }
}

static void note_begun(struct client *client)
{
    begun_count += !client->begun;
    client->begun = true;
    note_known(client);
}

static void leave(struct client *client)
{
    close(client->fd);
    client->fd = -1;
    client->seconds_away = client->begun ? 0 : BEFORE_A_RETRY;
    begun_count -= client->begun;
    client->begun = false;
    again_count++;
    note_known(client);
}

static void send_upload(struct client *client)
{
    static const char zeros[16384];
    while (client->upload_left > 0) {
        size_t part = client->upload_left < sizeof zeros ? client->upload_left : sizeof zeros;
        ssize_t sent = send(client->fd, zeros, part, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent <= 0)
            return; /* more with the next turn; a connection that is gone has an event of its own */
        client->upload_left -= (size_t)sent;
    }
    note_begun(client);
}

/* Connecting to 127.0.0.1 does not wait unless the server's backlog is full. */
static void come(struct client *client)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const char *begins = kind_begins[client->kind];
    int size = RECEIVE_BYTES, yes = 1;
    address.sin_port = htons((uint16_t)port);
    client->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (client->fd < 0)
        die("socket: %s", strerror(errno));
    if (client->kind == READER)
        setsockopt(client->fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    setsockopt(client->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    if (connect(client->fd, (struct sockaddr *)&address, sizeof address) < 0)
        die("cannot connect: %s", strerror(errno));
    watch(client->fd, EPOLLIN | EPOLLRDHUP | EPOLLET, (uint64_t)(client - clients));
    if (send(client->fd, begins, strlen(begins), MSG_NOSIGNAL) != (ssize_t)strlen(begins))
        return; /* its event comes */
    client->upload_left = client->kind == UPLOAD ? UPLOAD_BYTES : 0;
    if (client->kind != READER)
        send_upload(client);
}

/* Once a second for each client. */
static void take_turn(struct client *client)
{
    if (client->fd < 0 && client->seconds_away-- <= 0)
        come(client);
    else if (client->fd >= 0 && client->upload_left > 0)
        send_upload(client);
    else if (client->fd >= 0 && client->kind != READER)
        (void)!send(client->fd, "s", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* A reader's first bytes; for all others bytes are a refusal, as is the end of the connection. */
static void on_event(struct client *client, uint32_t events)
{
    char bytes[512];
    if (client->fd < 0)
        return;
    ssize_t got = recv(client->fd, bytes, client->begun && client->kind == READER ? 0 : sizeof bytes, MSG_DONTWAIT);
    if (client->kind == READER && got >= 12 && memcmp(bytes, "HTTP/1.1 200", 12) == 0)
        note_begun(client);
    else if (client->kind != READER || !client->begun)
        events |= got >= 0 || errno != EAGAIN ? EPOLLHUP : 0;
    if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
        leave(client);
}

/* -- all of them --------------------------------------------------------------------------------------------------- */

static long number_from(const char *text, long most)
{
    char *end;
    long number = strtol(text, &end, 10);
    if (*end != '\0' || number < 1 || number > most)
        die("%s is no number from 1 to %ld", text, most);
    return number;
}

static enum kind kind_from(const char *name)
{
    for (int kind = 0; kind < KINDS; kind++)
        if (strcmp(name, kind_names[kind]) == 0)
            return (enum kind)kind;
    die("%s is no kind of slow client: head, body, upload, reader", name);
}

static void raise_file_limit(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) < 0)
        die("getrlimit: %s", strerror(errno));
    files.rlim_cur = files.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_cur < (rlim_t)count + SPARE_FILES)
        die("%d clients take %d descriptors: ulimit -H -n is lower", count, count + SPARE_FILES);
}

/* One client a tick, so that a second's bytes do not all come at once. */
static void start_timer(void)
{
    long tick_ns = 1000000000L / count;
    struct itimerspec every = {{tick_ns / 1000000000, tick_ns % 1000000000},
                               {tick_ns / 1000000000, tick_ns % 1000000000}};
    timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (timer_fd < 0 || timerfd_settime(timer_fd, 0, &every, NULL) < 0)
        die("timerfd: %s", strerror(errno));
}

static void take_turns(void)
{
    static long taken;
    uint64_t turns = 0;
    if (read(timer_fd, &turns, sizeof turns) != sizeof turns)
        return;
    for (; turns > 0; turns--)
        take_turn(&clients[taken++ % count]);
    if (!announced && taken / count > PATIENCE_S)
        die("only %ld of %d could connect", known_count, count);
}

/* Returns false at the end of standard input. */
static bool input_goes_on(void)
{
    char unwanted[256];
    ssize_t got = read(STDIN_FILENO, unwanted, sizeof unwanted);
    return got > 0 || (got < 0 && errno == EINTR);
}

static void serve_all(void)
{
    struct epoll_event events[64];
    const uint64_t timer = (uint64_t)count, input = timer + 1;
    watch(timer_fd, EPOLLIN, timer);
    watch(STDIN_FILENO, EPOLLIN, input);
    for (;;) {
        int ready = epoll_wait(epoll_fd, events, 64, -1);
        for (int i = 0; i < ready; i++) {
            if (events[i].data.u64 == input) {
                if (!input_goes_on())
                    return;
            } else if (events[i].data.u64 == timer) {
                take_turns();
            } else {
                on_event(&clients[events[i].data.u64], events[i].events);
            }
        }
    }
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fputs("usage: slow_clients PORT COUNT {head|body|upload|reader}...\n", stderr);
        return 2;
    }
    port = (int)number_from(argv[1], 65535);
    count = (int)number_from(argv[2], COUNT_MAX);
    raise_file_limit();
    clients = calloc((size_t)count, sizeof *clients);
    if (clients == NULL)
        die("no memory for %d clients", count);
    epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    for (int i = 0; i < count; i++)
        clients[i] = (struct client){.kind = kind_from(argv[3 + i % (argc - 3)]), .fd = -1};
    start_timer();
    serve_all();
    fprintf(stderr, "%ld of %d connected, %ld had to come again\n", begun_count, count, again_count);
    return 0;
}
