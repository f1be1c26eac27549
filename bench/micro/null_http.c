/*
 * null_http.c: the smallest HTTP server that can be: an epoll loop that answers whatever ends in a blank line with the
 * same bytes. It parses nothing but the path, where there are several, and the version; so it is right only for a
 * client that sends each request whole, without a body, and waits for the answer. It is the mark that the cost of the
 * server's own listener is measured against, and the ceiling of a load generator. Its answer has the length and the
 * header lines of the server's answer with that body.
 *
 *   null_http PORT BODY_FILE CONTENT_TYPE
 *   null_http PORT /NAME=BODY_FILE[=CONTENT_TYPE]...     (a name again: its bodies take turns; another path is 404)
 *
 * One process, one thread, on 127.0.0.1; per request one epoll_wait at most, one recv, one send. To a client of
 * HTTP/1.0 it says whether the connection is kept; to one of HTTP/1.1 that asks for its end with the last line of the
 * head (Connection: close) it closes. Ends with SIGTERM.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define HEAD_MAX   512
#define EVENT_MAX  64
#define PAGES_MAX  64
#define BODIES_MAX 16384

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

/* -- answers --------------------------------------------------------------------------------------------------------
 */

struct answer {
    char *bytes;
    size_t length;
};

/* For HTTP/1.1, for HTTP/1.0 on a connection that is kept, and on one that is not. */
enum style { USUAL, KEPT, CLOSED, STYLES };

static const char *const style_fields[STYLES] = {"", "Connection: keep-alive\r\n", "Connection: close\r\n"};

struct page {
    const char *path; /* NULL: any */
    size_t path_length;
    unsigned first, count, turn; /* of `answers` */
};

static struct page pages[PAGES_MAX];
static struct answer answers[BODIES_MAX][STYLES];
static int page_count;
static unsigned answer_count;

static void die(const char *what)
{
    fprintf(stderr, "null_http: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* The body's bytes are read to where they are sent from. The date stays that of the start. */
static struct answer make_answer(const char *status, const char *fields, const char *content_type, int file,
                                 size_t body_bytes)
{
    char date[32];
    time_t now = time(NULL);
    struct answer answer = {.bytes = malloc(HEAD_MAX + body_bytes)};
    if (answer.bytes == NULL)
        die("memory");
    strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", gmtime(&now));
    int head_bytes = snprintf(answer.bytes, HEAD_MAX,
                              "HTTP/1.1 %s\r\nServer: millrace\r\nDate: %s\r\n%sContent-Length: %zu\r\n"
                              "Content-Type: %s\r\nCache-Control: no-store\r\n\r\n",
                              status, date, fields, body_bytes, content_type);
    if (head_bytes >= HEAD_MAX) {
        errno = ENAMETOOLONG;
        die(content_type);
    }
    for (size_t got = 0; got < body_bytes;) {
        ssize_t more = pread(file, answer.bytes + head_bytes + got, body_bytes - got, (off_t)got);
        if (more <= 0)
            die("a body");
        got += (size_t)more;
    }
    answer.length = (size_t)head_bytes + body_bytes;
    return answer;
}

static void add_answers(const char *status, const char *body_file, const char *content_type)
{
    struct stat about = {0};
    int file = body_file != NULL ? open(body_file, O_RDONLY | O_CLOEXEC) : -1;
    if (body_file != NULL && (file < 0 || fstat(file, &about) < 0))
        die(body_file);
    if (answer_count == BODIES_MAX) {
        errno = E2BIG;
        die("bodies");
    }
    for (int style = 0; style < STYLES; style++)
        answers[answer_count][style] =
            make_answer(status, style_fields[style], content_type, file, (size_t)about.st_size);
    answer_count++;
    if (file >= 0)
        close(file);
}

/* /NAME=FILE[=TYPE]; those of one name follow each other. */
static void add_page(char *text)
{
    char *file = strchr(text, '='), *type = strchr(file + 1, '=');
    struct page *last = page_count > 0 ? &pages[page_count - 1] : NULL;
    *file++ = '\0';
    if (type != NULL)
        *type++ = '\0';
    if (last == NULL || strcmp(last->path, text) != 0) {
        if (page_count == PAGES_MAX - 1) {
            errno = E2BIG;
            die("pages");
        }
        last = &pages[page_count++];
        *last = (struct page){.path = text, .path_length = strlen(text), .first = answer_count};
    }
    add_answers("200 OK", file, type != NULL ? type : "text/html; charset=utf-8");
    last->count++;
}

static struct page *find_page(const char *path, size_t length)
{
    struct page *page = pages;
    while (page->path != NULL && (page->path_length != length || memcmp(page->path, path, length) != 0))
        page++;
    return page;
}

static bool ends_with(const char *text, size_t length, const char *end)
{
    size_t end_length = strlen(end);
    return length >= end_length && memcmp(text + length - end_length, end, end_length) == 0;
}

static enum style style_of_old(const char *request, size_t length)
{
    bool is_kept = memmem(request, length, "eep-Alive", 9) != NULL || memmem(request, length, "eep-alive", 9) != NULL;
    return is_kept ? KEPT : CLOSED;
}

/* Of a request `METHOD /path HTTP/1.x` that ends in a blank line. */
static const struct answer *choose(const char *request, size_t length, bool *closes)
{
    const char *path = memchr(request, ' ', length);
    const char *end = path != NULL ? memchr(path + 1, ' ', length - (size_t)(path + 1 - request)) : NULL;
    bool is_old = end != NULL && length - (size_t)(end - request) > 9 && memcmp(end, " HTTP/1.0", 9) == 0;
    enum style style = USUAL;
    if (is_old)
        style = style_of_old(request, length);
    else if (ends_with(request, length, "\r\nConnection: close\r\n\r\n"))
        style = CLOSED;
    *closes = style == CLOSED;
    size_t path_length = 0;
    while (end != NULL && path + 1 + path_length < end && path[1 + path_length] != '?')
        path_length++;
    struct page *page = pages[0].path == NULL ? pages : find_page(end != NULL ? path + 1 : "", path_length);
    unsigned turn = page->count > 1 ? page->turn++ % page->count : 0;
    return &answers[page->first + turn][style];
}

/* -- connections ----------------------------------------------------------------------------------------------------
 */

/* What a full socket did not take, by descriptor. */
struct rest {
    const char *bytes;
    size_t length;
    bool closes;
};

static struct rest *rests;

static void make_rests(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) < 0)
        die("getrlimit");
    files.rlim_cur = files.rlim_max < 1048576 ? files.rlim_max : 1048576;
    if (setrlimit(RLIMIT_NOFILE, &files) < 0 || (rests = calloc(files.rlim_cur, sizeof *rests)) == NULL)
        die("descriptors");
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
        watch(epoll_fd, fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET);
}

static void end(int fd)
{
    rests[fd] = (struct rest){0};
    close(fd);
}

/* Returns false when the connection has ended. */
static bool send_rest(int fd)
{
    struct rest *rest = &rests[fd];
    while (rest->length > 0) {
        long sent = call(SYS_sendto, fd, rest->bytes, rest->length, MSG_NOSIGNAL);
        if (sent == -EAGAIN)
            return true;
        if (sent < 0) {
            end(fd);
            return false;
        }
        rest->bytes += sent;
        rest->length -= (size_t)sent;
    }
    if (!rest->closes)
        return true;
    end(fd);
    return false;
}

static bool answer(int fd, const char *request, size_t length)
{
    bool closes;
    const struct answer *answer = choose(request, length, &closes);
    rests[fd] = (struct rest){.bytes = answer->bytes, .length = answer->length, .closes = closes};
    return send_rest(fd);
}

/* A client that goes while its request is on its way brings no event of its own for that: hence EPOLLRDHUP. */
static void take(int fd, uint32_t events)
{
    static char input[16384];
    if (rests[fd].length > 0 && (events & EPOLLOUT) && !send_rest(fd))
        return;
    if (!(events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)))
        return;
    long got = call(SYS_recvfrom, fd, input, sizeof input, 0);
    if (got >= 4 && memcmp(input + got - 4, "\r\n\r\n", 4) == 0 && !answer(fd, input, (size_t)got))
        return;
    if (got == 0 || (got < 0 && got != -EAGAIN) || (events & EPOLLRDHUP))
        end(fd);
}

static void serve(int listener)
{
    struct epoll_event events[EVENT_MAX];
    int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    watch(epoll_fd, listener, EPOLLIN);
    for (;;) {
        long count = call(WAIT, epoll_fd, events, EVENT_MAX, -1);
        for (long i = 0; i < count; i++) {
            if (events[i].data.fd == listener)
                accept_all(epoll_fd, listener);
            else
                take(events[i].data.fd, events[i].events);
        }
    }
}

static bool is_page(const char *text)
{
    return text[0] == '/' && strchr(text, '=') != NULL;
}

/* Returns false when they are no bodies. */
static bool make_pages(int count, char **texts)
{
    bool is_single = count == 2 && !is_page(texts[0]);
    for (int i = 0; i < count && !is_single; i++)
        if (!is_page(texts[i]))
            return false;
    if (is_single) {
        add_answers("200 OK", texts[0], texts[1]);
        pages[0].count = 1;
        return true;
    }
    for (int i = 0; i < count; i++)
        add_page(texts[i]);
    pages[page_count] = (struct page){.first = answer_count, .count = 1};
    add_answers("404 Not Found", NULL, "text/plain");
    return count > 0;
}

int main(int argc, char **argv)
{
    char *rest = NULL;
    long port = argc > 2 ? strtol(argv[1], &rest, 10) : 0;
    if (port < 1 || port > 65535 || *rest != '\0' || !make_pages(argc - 2, argv + 2)) {
        fprintf(stderr, "usage: null_http PORT BODY_FILE CONTENT_TYPE\n"
                        "       null_http PORT /NAME=BODY_FILE[=CONTENT_TYPE]...\n");
        return 2;
    }
    make_rests();
    int listener = open_listener((uint16_t)port);
    if (listener < 0) {
        fprintf(stderr, "null_http: cannot listen on 127.0.0.1:%ld: %s\n", port, strerror(errno));
        return 1;
    }
    serve(listener);
}
