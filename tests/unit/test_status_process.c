/*
 * test_status_process.c: the status process by itself, over a scoreboard made here: clients of every kind, its end, and
 * the client of `millrace status`.
 */
#include <CUnit/CUnit.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "control/status.h"
#include "control/status_ask.h"
#include "suite.h"

/* So many routes that the metrics do not fit into the buffers of a connection. */
enum { ROUTES = 400, PROMPT_MS = 50, LINKS = 256 };

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { IS_SLOW = true };
#else
enum { IS_SLOW = false };
#endif

static struct shared ledger_memory, board_memory;
static struct listener listener = {.fd = -1};
static int channel = -1, links[LINKS], link_count;
static pid_t process;

/* -- The process ----------------------------------------------------------------------------------------------------
 */

static void make_boards(void)
{
    static char paths[ROUTES][16];
    static struct settings_route routes[ROUTES];
    static const struct settings settings = {
        .workers = 1, .lanes = 1, .threads = 2, .routes = routes, .route_count = ROUTES};

    for (int i = 0; i < ROUTES; i++) {
        snprintf(paths[i], sizeof paths[i], "/route%d", i);
        routes[i].path = paths[i];
    }
    shared_fini(&ledger_memory);
    shared_fini(&board_memory);
    CU_ASSERT_FATAL(ledger_new(&ledger_memory) == 0 && scoreboard_new(&board_memory, &settings, 1) == 0);
    scoreboard_slot(board_memory.at, 0)->state = SCOREBOARD_SERVING;
}

static void listen_on_tcp(void)
{
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    CU_ASSERT_FATAL(fd >= 0 && bind(fd, (struct sockaddr *)&any, sizeof any) == 0 && listen(fd, 1000) == 0);
    CU_ASSERT_EQUAL_FATAL(listener_adopt(&listener, fd), 0);
}

static void stop(void)
{
    for (int i = 0; i < link_count; i++)
        close(links[i]);
    link_count = 0;
    if (channel >= 0)
        close(channel);
    channel = -1;
    if (process > 0) {
        kill(process, SIGKILL);
        waitpid(process, NULL, 0);
    }
    process = 0;
}

/* Forks a status process with at most so many descriptors. Returns the other end of its channel. */
static int fork_process(rlim_t descriptors)
{
    static const struct account account = {.change = false};
    struct status_start status = {.listener = &listener, .account = &account};
    int ends[2];

    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    process = fork();
    CU_ASSERT_FATAL(process >= 0);
    if (process > 0) {
        close(ends[1]);
        return ends[0];
    }
    if (descriptors > 0)
        setrlimit(RLIMIT_NOFILE, &(struct rlimit){.rlim_cur = descriptors, .rlim_max = descriptors});
    signal(SIGPIPE, SIG_DFL); /* nothing here depends on who has started it */
    status.channel = ends[1];
    status.source = (struct snapshot_source){.ledger = ledger_memory.at,
                                             .master = getppid(),
                                             .generation = 1,
                                             .boards = {board_memory.at},
                                             .board_count = 1};
    status_main(&status);
}

static void start_with(rlim_t descriptors)
{
    static bool registered;

    if (!registered)
        atexit(stop);
    registered = true;
    stop();
    if (listener.fd >= 0)
        close(listener.fd);
    make_boards();
    listen_on_tcp();
    channel = fork_process(descriptors);
}

static void start(void)
{
    start_with(0);
}

/* Waits for the end. Returns the exit status, −1 when it does not come in time. */
static int end_within(int limit_ms, struct rusage *usage)
{
    int64_t end_us = clock_now_us() + limit_ms * CLOCK_MS;
    int status;

    while (wait4(process, &status, WNOHANG, usage) == 0) {
        if (clock_now_us() > end_us)
            return -1;
        usleep(1000);
    }
    process = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* -- Clients --------------------------------------------------------------------------------------------------------
 */

static int new_link(int receive_bytes)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (receive_bytes > 0)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof receive_bytes);
    SUITE_CHECK(fd >= 0 && connect(fd, &listener.address.socket.any, listener.address.length) == 0, "connect: %s",
                strerror(errno));
    CU_ASSERT_FATAL(link_count < LINKS);
    links[link_count++] = fd;
    return fd;
}

static void send_text(int fd, const char *text)
{
    CU_ASSERT_EQUAL_FATAL(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

/* Reads until the server closes. Returns the status of a whole answer; 0: it closed before, or too late; −1: a reset.
 */
static int read_answer(int fd, int limit_ms)
{
    static char bytes[4 << 20];
    size_t length = 0;
    const char *field;
    char *end;

    for (;;) {
        struct pollfd one = {.fd = fd, .events = POLLIN};
        ssize_t got = poll(&one, 1, limit_ms) == 1 ? recv(fd, bytes + length, sizeof bytes - 1 - length, 0) : -2;

        if (got == 0)
            break;
        if (got < 0)
            return got == -2 ? 0 : -1;
        length += (size_t)got;
    }
    bytes[length] = '\0';
    end = strstr(bytes, "\r\n\r\n");
    field = strstr(bytes, "\r\nContent-Length: ");
    if (!end || !field || strtoul(field + 18, NULL, 10) != length - (size_t)(end + 4 - bytes))
        return 0;
    return atoi(bytes + strlen("HTTP/1.1 "));
}

static int ask(const char *path)
{
    char request[100];
    int fd = new_link(0), status;

    snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path);
    send_text(fd, request);
    status = read_answer(fd, 30000); /* a hundred large answers may be made before it */
    close(links[--link_count]);
    return status;
}

/* Some may be slow because the machine has other things to do; a client that holds others up holds up all. */
static void check_prompt(const char *beside)
{
    int64_t slowest_us = 0;
    int slow = 0;

    for (int i = 0; i < 20; i++) {
        int64_t start_us = clock_now_us(), took_us;

        CU_ASSERT_EQUAL(ask(i % 2 ? "/status.json" : "/healthz"), 200);
        took_us = clock_now_us() - start_us;
        slow += took_us > PROMPT_MS * CLOCK_MS;
        slowest_us = took_us > slowest_us ? took_us : slowest_us;
    }
    SUITE_CHECK(IS_SLOW || (slow <= 10 && slowest_us < 2 * CLOCK_SECOND), "beside %s %d of 20 answers were slow, up to %d µs", beside, slow,
                (int)slowest_us);
}

/* How often it has woken up so far. */
static long wake_ups(void)
{
    char path[40], line[100];
    long count = -1;
    FILE *file;

    snprintf(path, sizeof path, "/proc/%d/status", (int)process);
    file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        sscanf(line, "voluntary_ctxt_switches: %ld", &count);
    if (file)
        fclose(file);
    return count;
}

/* -- Cases ----------------------------------------------------------------------------------------------------------
 */

static void it_answers(void)
{
    start();
    CU_ASSERT_EQUAL(ask("/"), 200);
    CU_ASSERT_EQUAL(ask("/status.json"), 200);
    CU_ASSERT_EQUAL(ask("/metrics"), 200);
    CU_ASSERT_EQUAL(ask("/status.txt"), 200);
    CU_ASSERT_EQUAL(ask("/other"), 404);
    CU_ASSERT_EQUAL(ask("/healthz"), 200);
    scoreboard_slot(board_memory.at, 0)->state = SCOREBOARD_DRAINING;
    CU_ASSERT_EQUAL(ask("/healthz"), 503);
}

static void silent_clients(void)
{
    start();
    for (int i = 0; i < 200; i++)
        new_link(0);
    check_prompt("200 silent clients");
}

static void clients_that_never_read(void)
{
    start();
    for (int i = 0; i < (IS_SLOW ? 10 : 100); i++)
        send_text(new_link(1000), "GET /metrics HTTP/1.0\r\n\r\n");
    CU_ASSERT_EQUAL(ask("/healthz"), 200); /* when all these answers are made */
    check_prompt("clients that never read");
}

/* A client has five seconds, however it uses them. */
static void slow_clients(void)
{
    int64_t start_us, took_us;
    struct pollfd one = {.events = POLLIN};

    start();
    one.fd = new_link(0);
    start_us = clock_now_us();
    send_text(one.fd, "GET /");
    do
        send(one.fd, "x", 1, MSG_NOSIGNAL);
    while (poll(&one, 1, 200) == 0 && clock_now_us() - start_us < 8 * CLOCK_SECOND);
    took_us = clock_now_us() - start_us;
    SUITE_CHECK(took_us > 4900 * CLOCK_MS && (IS_SLOW || took_us < 6 * CLOCK_SECOND), "closed after %d ms",
                (int)(took_us / CLOCK_MS));
    CU_ASSERT_EQUAL(ask("/healthz"), 200);
}

/* An answer that the client has not read yet must not be lost because of what the server has not read. */
static void clients_that_send_too_much(void)
{
    static const char head[] = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n";
    static char body[60000];

    start();
    for (int i = 0; i < 20; i++) {
        int fd = new_link(0);

        send_text(fd, head);
        send(fd, body, sizeof body, MSG_NOSIGNAL);
        usleep(1000);
        CU_ASSERT_EQUAL(read_answer(fd, 5000), 405);
    }
}

static void an_idle_process_sleeps(void)
{
    long before;

    start();
    new_link(0); /* a silent one */
    CU_ASSERT_EQUAL(ask("/"), 200);
    usleep(200000);
    before = wake_ups();
    usleep(800000);
    CU_ASSERT_EQUAL(wake_ups(), before);
}

/* Without a descriptor for the next connection it waits until there is one. */
static void out_of_descriptors(void)
{
    struct rusage usage;
    int64_t spent_us;
    int late;

    start_with(IS_SLOW ? 40 : 16);
    for (int i = 0; i < 50; i++)
        late = new_link(0);
    send_text(late, "GET /healthz HTTP/1.0\r\n\r\n");
    usleep(1000000);
    for (int i = 0; i < 49; i++)
        shutdown(links[i], SHUT_RDWR);
    CU_ASSERT_EQUAL(read_answer(late, 2000), 200);
    close(channel);
    channel = -1;
    CU_ASSERT_EQUAL(end_within(2000, &usage), 0);
    spent_us = (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * CLOCK_SECOND + usage.ru_utime.tv_usec +
               usage.ru_stime.tv_usec;
    SUITE_CHECK(spent_us < 300 * CLOCK_MS, "it has used %d µs", (int)spent_us);
}

static void it_ends_with_its_channel(void)
{
    struct rusage usage;

    start();
    CU_ASSERT_EQUAL(ask("/"), 200);
    close(channel);
    CU_ASSERT_EQUAL(end_within(IS_SLOW ? 1000 : 100, &usage), 0);
    start();
    new_link(0); /* a silent client does not hold it up for long */
    send_text(new_link(1000), "GET /metrics HTTP/1.0\r\n\r\n");
    CU_ASSERT_EQUAL(ask("/"), 200);
    close(channel);
    channel = -1;
    CU_ASSERT_EQUAL(end_within(1000, &usage), 0);
}

/* Who has been accepted is answered still. */
static void it_finishes_what_it_has_begun(void)
{
    struct rusage usage;
    int fd;

    start();
    fd = new_link(0);
    send_text(fd, "GET /healthz HT");
    CU_ASSERT_EQUAL(ask("/"), 200); /* that one is accepted by now */
    close(channel);
    channel = -1;
    usleep(50000);
    send_text(fd, "TP/1.0\r\n\r\n");
    CU_ASSERT_EQUAL(read_answer(fd, 1000), 200);
    CU_ASSERT_EQUAL(end_within(1000, &usage), 0);
}

static void two_share_a_listener(void)
{
    pid_t first;
    int first_channel;

    start();
    first = process;
    first_channel = channel;
    channel = fork_process(0);
    for (int i = 0; i < 50; i++)
        CU_ASSERT_EQUAL(ask("/healthz"), 200);
    close(first_channel);
    waitpid(first, NULL, 0);
    for (int i = 0; i < 50; i++)
        CU_ASSERT_EQUAL(ask("/healthz"), 200);
}

static void it_keeps_nothing_open(void)
{
    char path[60], target[20] = "";
    int others[2];

    CU_ASSERT_EQUAL_FATAL(pipe2(others, O_CLOEXEC), 0);
    start();
    CU_ASSERT_EQUAL(ask("/healthz"), 200);
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)process, others[i]);
        SUITE_CHECK(readlink(path, target, sizeof target) < 0 || strncmp(target, "pipe:", 5) != 0, "%s is %.20s", path,
                    target);
        close(others[i]);
    }
}

/* -- Asking ---------------------------------------------------------------------------------------------------------
 */

/* Asks with standard error elsewhere. Returns the result; what was printed through `text`, which the caller frees. */
static int ask_with_it(const char *path, char **text)
{
    int error = dup(STDERR_FILENO), null = open("/dev/null", O_WRONLY | O_CLOEXEC), result;
    size_t length;
    FILE *to = open_memstream(text, &length);

    dup2(null, STDERR_FILENO);
    result = status_ask(&listener.address, path, to);
    dup2(error, STDERR_FILENO);
    close(error);
    close(null);
    fclose(to);
    return result;
}

static void asking(void)
{
    char *text;

    start();
    CU_ASSERT_EQUAL(ask_with_it("/status.txt", &text), 0);
    CU_ASSERT(strncmp(text, "millrace ", 9) == 0 && strstr(text, "(no route)") && text[strlen(text) - 1] == '\n');
    free(text);
    CU_ASSERT_EQUAL(ask_with_it("/other", &text), -1);
    CU_ASSERT_STRING_EQUAL(text, "");
    free(text);
    stop();
    close(listener.fd);
    listener.fd = -1;
    CU_ASSERT_EQUAL(ask_with_it("/status.txt", &text), -1);
    free(text);
}

/* Who answers on the address may be something else. */
static void asking_a_stranger(void)
{
    static const char *const answers[] = {
        "",
        "220 mail\r\n",
        "HTTP/1.1 200 OK\r\n\r\nno length",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\ncut",
        "HTTP/1.1 200 OK\r\nContent-Length: 3",
    };

    for (size_t i = 0; i < SUITE_COUNT(answers); i++) {
        char *text;
        pid_t stranger;

        stop();
        if (listener.fd >= 0)
            close(listener.fd);
        listen_on_tcp();
        stranger = fork();
        if (stranger == 0) {
            struct pollfd one = {.fd = listener.fd, .events = POLLIN};
            char request[1000];
            int fd;

            poll(&one, 1, 5000);
            fd = accept(listener.fd, NULL, NULL);
            _exit(recv(fd, request, sizeof request, 0) > 0 && send(fd, answers[i], strlen(answers[i]), 0) >= 0 ? 0 : 1);
        }
        SUITE_CHECK(ask_with_it("/status.txt", &text) == -1 && text[0] == '\0', "taken: %s", answers[i]);
        free(text);
        waitpid(stranger, NULL, 0);
    }
}

static const struct suite_case cases[] = {
    {"it answers", it_answers},
    {"silent clients", silent_clients},
    {"clients that never read", clients_that_never_read},
    {"slow clients", slow_clients},
    {"clients that send too much", clients_that_send_too_much},
    {"an idle process sleeps", an_idle_process_sleeps},
    {"out of descriptors", out_of_descriptors},
    {"it ends with its channel", it_ends_with_its_channel},
    {"it finishes what it has begun", it_finishes_what_it_has_begun},
    {"two share a listener", two_share_a_listener},
    {"it keeps nothing open", it_keeps_nothing_open},
    {"asking", asking},
    {"asking a stranger", asking_a_stranger},
};

int main(int argc, char **argv)
{
    return suite_main("status_process", cases, SUITE_COUNT(cases), argc, argv);
}
