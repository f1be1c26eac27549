/*
 * idle_connections.c: holds kept connections open: FastCGI ones as nginx would between requests, or HTTP ones as
 * clients would. Each one first gets an answer to a request for /hello, so that the server has really accepted it and
 * waits for the next.
 *
 *   idle_connections SOCKET COUNT            FastCGI on a unix socket
 *   idle_connections 127.0.0.1:PORT COUNT    HTTP
 *
 * One process, one thread. Prints "ready" when all are open; ends with its standard input, or with SIGTERM.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define BEGIN_REQUEST 1
#define END_REQUEST   3
#define PARAMS        4
#define STDIN         5
#define STDOUT        6
#define RESPONDER     1
#define KEEP_CONN     1

#define COUNT_MAX   1000000
#define SPARE_FILES 16 /* standard input and output, and what was inherited */
#define PATIENCE_S  10

/* An address has about 28,000 ports for its clients: so many connections come from 127.0.0.2, the next from .3. */
#define CONNECTIONS_PER_ADDRESS 5000
#define ADDRESSES               200

static void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

static void die(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("idle_connections: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}

static void raise_file_limit(long count)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) < 0)
        die("getrlimit: %s", strerror(errno));
    files.rlim_cur = files.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &files) < 0)
        die("setrlimit: %s", strerror(errno));
    if (files.rlim_cur < (rlim_t)count + SPARE_FILES)
        die("%ld connections do not fit: they take %ld descriptors, and the hard limit (ulimit -H -n) is %ju", count,
            count + SPARE_FILES, (uintmax_t)files.rlim_max);
}

/* Neither connecting, which blocks while the server's backlog is full, nor an answer is waited for endlessly. */
static int open_socket(int family)
{
    const struct timeval patience = {.tv_sec = PATIENCE_S};
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) < 0)
        die("socket: %s", strerror(errno));
    return fd;
}

static void receive(int fd, uint8_t *bytes, size_t length)
{
    ssize_t got = length == 0 ? 0 : recv(fd, bytes, length, MSG_WAITALL);
    if (got < 0)
        die("no answer: %s", errno == EAGAIN ? "nothing comes" : strerror(errno));
    if ((size_t)got < length)
        die("the answer is cut: the server has closed the connection, or nothing more comes");
}

/* -- FastCGI ------------------------------------------------------------------------------------------------------ */

static size_t put_record(uint8_t *to, int type, const uint8_t *content, size_t length)
{
    memcpy(to, (uint8_t[]){1, (uint8_t)type, 0, 1, (uint8_t)(length >> 8), (uint8_t)length, 0, 0}, 8);
    if (length > 0)
        memcpy(to + 8, content, length);
    return 8 + length;
}

static size_t put_pair(uint8_t *to, const char *name, const char *value)
{
    size_t name_length = strlen(name), value_length = strlen(value);
    to[0] = (uint8_t)name_length; /* all are shorter than 128 bytes */
    to[1] = (uint8_t)value_length;
    memcpy(to + 2, name, name_length);
    memcpy(to + 2 + name_length, value, value_length);
    return 2 + name_length + value_length;
}

static size_t make_records(uint8_t *request)
{
    static const char *const pairs[][2] = {
        {"GATEWAY_INTERFACE", "CGI/1.1"},
        {"SERVER_PROTOCOL", "HTTP/1.1"},
        {"SERVER_NAME", "localhost"},
        {"SERVER_PORT", "80"},
        {"REMOTE_ADDR", "127.0.0.1"},
        {"REQUEST_METHOD", "GET"},
        {"REQUEST_URI", "/hello"},
        {"QUERY_STRING", ""},
        {"CONTENT_LENGTH", ""},
        {"SCRIPT_NAME", "/hello"},
        {"PATH_INFO", ""},
    };
    static const uint8_t begin[8] = {0, RESPONDER, KEEP_CONN};
    uint8_t params[512];
    size_t length = 0, at = put_record(request, BEGIN_REQUEST, begin, sizeof begin);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        length += put_pair(params + length, pairs[i][0], pairs[i][1]);
    at += put_record(request + at, PARAMS, params, length);
    at += put_record(request + at, PARAMS, NULL, 0);
    return at + put_record(request + at, STDIN, NULL, 0);
}

/* Takes records until the request's end. A CGI answer has a Status line only when it is no plain 200. */
static void check_records(int fd)
{
    static uint8_t content[65535 + 255];
    for (;;) {
        uint8_t header[8];
        receive(fd, header, sizeof header);
        size_t length = (size_t)header[4] << 8 | header[5];
        receive(fd, content, length + header[6]);
        if (header[0] != 1 || header[2] != 0 || header[3] != 1)
            die("the answer is no FastCGI record of request 1");
        if (header[1] == STDOUT && length >= 12 && memcmp(content, "Status: ", 8) == 0)
            die("/hello answers status %.3s", (const char *)content + 8);
        if (header[1] == END_REQUEST && (length != 8 || content[4] != 0))
            die("END_REQUEST says that the request was not served");
        if (header[1] == END_REQUEST)
            return;
    }
}

static int connect_unix(const char *path, long number)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = open_socket(AF_UNIX);
    (void)number;
    if (strlen(path) >= sizeof address.sun_path)
        die("%s: longer than the path of a unix socket can be", path);
    strcpy(address.sun_path, path);
    return connect(fd, (const struct sockaddr *)&address, sizeof address) < 0 ? -1 : fd;
}

/* -- HTTP --------------------------------------------------------------------------------------------------------- */

static size_t make_head(uint8_t *request)
{
    static const char head[] = "GET /hello HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
    memcpy(request, head, sizeof head - 1);
    return sizeof head - 1;
}

/* Returns the whole answer's length, or 0 while its head is not complete. Dies of an answer that is not wanted. */
static size_t answer_length(const char *answer)
{
    static const char ok[] = "HTTP/1.1 200 ", length[] = "\r\nContent-Length: ";
    const char *blank = strstr(answer, "\r\n\r\n"), *field = strcasestr(answer, length);
    if (blank == NULL)
        return 0;
    if (strncmp(answer, ok, sizeof ok - 1) != 0)
        die("/hello answers %.*s", (int)strcspn(answer, "\r\n"), answer);
    if (field == NULL || field > blank)
        die("the answer to /hello has no Content-Length");
    return (size_t)(blank + 4 - answer) + strtoul(field + sizeof length - 1, NULL, 10);
}

static void check_page(int fd)
{
    static char answer[65536];
    size_t got = 0, whole = 0;
    while (whole == 0 || got < whole) {
        ssize_t more = recv(fd, answer + got, sizeof answer - 1 - got, 0);
        if (more <= 0)
            die("no whole answer to /hello: %s", more == 0 ? "it is cut, or too long" : strerror(errno));
        got += (size_t)more;
        answer[got] = '\0';
        whole = answer_length(answer);
    }
    if (got > whole)
        die("the answer to /hello is longer than it says");
}

/*
 * Closed with a reset, as it is at the end of this process, a connection leaves no port behind that waits for a minute.
 */
static int connect_tcp(const char *place, long number)
{
    const struct linger reset = {.l_onoff = 1};
    const int on = 1;
    struct sockaddr_in from = {.sin_family = AF_INET}, to = {.sin_family = AF_INET};
    char host[INET_ADDRSTRLEN] = "";
    const char *colon = strchr(place, ':');
    int fd = open_socket(AF_INET);
    strncpy(host, place, (size_t)(colon - place) < sizeof host ? (size_t)(colon - place) : sizeof host - 1);
    to.sin_port = htons((uint16_t)atoi(colon + 1));
    from.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1 + (uint32_t)(number / CONNECTIONS_PER_ADDRESS % ADDRESSES));
    if (inet_pton(AF_INET, host, &to.sin_addr) != 1)
        die("%s: no IPv4 address and port", place);
    if (setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset) < 0 ||
        setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on) < 0 ||
        bind(fd, (const struct sockaddr *)&from, sizeof from) < 0 ||
        connect(fd, (const struct sockaddr *)&to, sizeof to) < 0)
        return -1;
    return fd;
}

/* -- both --------------------------------------------------------------------------------------------------------- */

static const struct protocol {
    size_t (*make_request)(uint8_t *request);       /* at most 1024 bytes; returns how many */
    int (*connect)(const char *place, long number); /* returns -1 with errno */
    void (*check_answer)(int fd);
} fastcgi = {make_records, connect_unix, check_records}, http = {make_head, connect_tcp, check_page};

static void open_all(const struct protocol *protocol, const char *place, long count)
{
    uint8_t request[1024];
    size_t length = protocol->make_request(request);
    for (long i = 0; i < count; i++) {
        int fd = protocol->connect(place, i);
        if (fd < 0)
            die("%s: connection %ld of %ld: %s", place, i + 1, count, strerror(errno));
        if (send(fd, request, length, MSG_NOSIGNAL) != (ssize_t)length)
            die("%s: cannot send on connection %ld: %s", place, i + 1, strerror(errno));
        protocol->check_answer(fd);
    }
}

static void wait_for_end_of_input(void)
{
    char unwanted[256];
    ssize_t got;
    do
        got = read(STDIN_FILENO, unwanted, sizeof unwanted);
    while (got > 0 || (got < 0 && errno == EINTR));
}

int main(int argc, char **argv)
{
    char *end = NULL;
    long count = argc == 3 ? strtol(argv[2], &end, 10) : 0;
    if (argc != 3 || *end != '\0' || count < 1 || count > COUNT_MAX) {
        fprintf(stderr, "usage: idle_connections {SOCKET|127.0.0.1:PORT} COUNT (1 to %d)\n", COUNT_MAX);
        return 2;
    }
    raise_file_limit(count);
    open_all(strchr(argv[1], ':') != NULL ? &http : &fastcgi, argv[1], count);
    puts("ready");
    fflush(stdout);
    wait_for_end_of_input();
    return 0;
}
