/*
 * test_millbench_load.c: `millbench load` against servers that are right, and against those that are wrong in one way
 * each: every failure is counted, under its name, as often as it happened, and the exit status tells.
 *
 * The server is a process with a thread for each connection. It hands each request's number to the case's function,
 * which writes what it likes.
 */
#include <arpa/inet.h>
#include <jansson.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "deadline.h"
#include "process.h"
#include "suite.h"

#define OK       "HTTP/1.1 200 OK\r\n"
#define GOOD     OK "Content-Length: 5\r\n\r\nhello"
#define EXPECTED "--expect 5:9555e8555c62dcfd" /* hello */

enum { OUTPUT_BYTES = 1 << 20, WORDS_MAX = 24, ADDRESSES_MAX = 64 };

/* -- the server ---------------------------------------------------------------------------------------------------- */

/* Returns whether the connection goes on. */
typedef bool serve_function(int fd, unsigned number);

static struct {
    atomic_uint requests, connections, peers[ADDRESSES_MAX];
} * shared; /* between the server and the test */

static struct {
    pid_t pid;
    int port;
    serve_function *serve;
} server;

static bool say(int fd, const char *text)
{
    size_t length = strlen(text);
    return send(fd, text, length, MSG_NOSIGNAL) == (ssize_t)length;
}

/* Requests come one at a time, without bodies. */
static void *serve_connection(void *argument)
{
    int fd = (int)(intptr_t)argument;
    char request[4096];
    size_t length = 0;
    ssize_t got;
    while ((got = recv(fd, request + length, sizeof request - length, 0)) > 0) {
        length += (size_t)got;
        if (length < 4 || memcmp(request + length - 4, "\r\n\r\n", 4) != 0)
            continue;
        length = 0;
        if (!server.serve(fd, atomic_fetch_add(&shared->requests, 1)))
            break;
    }
    close(fd);
    return NULL;
}

static void serve_all(int listener) __attribute__((noreturn));

static void serve_all(int listener)
{
    pthread_attr_t detached;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    for (;;) {
        struct sockaddr_in peer = {0};
        socklen_t length = sizeof peer;
        pthread_t thread;
        int fd = accept(listener, (struct sockaddr *)&peer, &length);
        if (fd < 0)
            _exit(1);
        atomic_fetch_add(&shared->connections, 1);
        atomic_store(&shared->peers[(ntohl(peer.sin_addr.s_addr) & 0xff) % ADDRESSES_MAX], 1);
        if (pthread_create(&thread, &detached, serve_connection, (void *)(intptr_t)fd) != 0)
            _exit(1);
    }
}

static void stop_server(void)
{
    if (server.pid > 0) {
        kill(server.pid, SIGKILL);
        waitpid(server.pid, NULL, 0);
    }
    server.pid = 0;
}

static int listen_somewhere(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CU_ASSERT_FATAL(fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0 && listen(fd, 512) == 0);
    CU_ASSERT_FATAL(getsockname(fd, (struct sockaddr *)&address, &length) == 0);
    server.port = ntohs(address.sin_port);
    return fd;
}

static void start_server(serve_function *serve)
{
    stop_server();
    if (shared == NULL)
        shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CU_ASSERT_FATAL(shared != MAP_FAILED);
    memset(shared, 0, sizeof *shared);
    int listener = listen_somewhere();
    server.serve = serve;
    server.pid = fork();
    CU_ASSERT_FATAL(server.pid >= 0);
    if (server.pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        serve_all(listener);
    }
    close(listener);
}

/* -- the generator ---------------------------------------------------------------------------------------------------
 */

static struct {
    pid_t pid;
    int out;
    int status;   /* of its exit; −1: a signal */
    json_t *json; /* NULL: its output is none */
    char output[OUTPUT_BYTES];
} load;

static const char *program(void)
{
    static char path[4096];
    const char *build = getenv("BUILD");
    snprintf(path, sizeof path, "%s/millbench", build != NULL ? build : "build");
    return path;
}

/* Words are separated by blanks; %U is the server's URL. What goes to standard error is in the output as well, unless
 * the output is JSON. */
static void begin_load(const char *line)
{
    static char text[1024];
    char *words[WORDS_MAX + 2] = {NULL}, url[64], *state = NULL;
    int count = 0, ends[2];
    snprintf(url, sizeof url, "http://127.0.0.1:%d/", server.port);
    snprintf(text, sizeof text, "millbench load %s", line);
    for (char *word = strtok_r(text, " ", &state); word != NULL && count < WORDS_MAX;
         word = strtok_r(NULL, " ", &state))
        words[count++] = strcmp(word, "%U") == 0 ? url : word;
    CU_ASSERT_FATAL(pipe(ends) == 0);
    load.pid = fork();
    CU_ASSERT_FATAL(load.pid >= 0);
    if (load.pid == 0) {
        dup2(ends[1], 1);
        if (strstr(line, "--json ") == NULL)
            dup2(ends[1], 2);
        close(ends[0]);
        close(ends[1]);
        execv(program(), words);
        _exit(127);
    }
    close(ends[1]);
    load.out = ends[0];
}

static void end_load(void)
{
    size_t length = 0;
    ssize_t got;
    int status;
    while ((got = read(load.out, load.output + length, sizeof load.output - 1 - length)) > 0)
        length += (size_t)got;
    load.output[length] = '\0';
    close(load.out);
    CU_ASSERT_FATAL(waitpid(load.pid, &status, 0) == load.pid);
    load.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    json_decref(load.json);
    load.json = json_loads(load.output, 0, NULL);
}

static void run_load(const char *line)
{
    begin_load(line);
    end_load();
}

/* The number at a path such as "requests.sent", −1 when there is none. */
static long long figure(const char *path)
{
    char text[128], *state = NULL;
    const json_t *at = load.json;
    snprintf(text, sizeof text, "%s", path);
    for (const char *name = strtok_r(text, ".", &state); name != NULL; name = strtok_r(NULL, ".", &state))
        at = json_object_get(at, name);
    return json_is_number(at) ? (long long)json_number_value(at) : -1;
}

static void check_figure(const char *path, long long expected)
{
    SUITE_CHECK(figure(path) == expected, "%s is %lld, not %lld: %s", path, figure(path), expected, load.output);
}

static const char *const failures[] = {"wrong_status", "wrong_length",   "wrong_hash", "bad_framing",
                                       "timeouts",     "connect_errors", "resets",     "closed_early"};

/* These and no other failures; NULL: none. */
static void check_failures(const char *name, long long count, long long verified)
{
    char path[64];
    SUITE_CHECK(load.json != NULL, "no JSON, status %d: %s", load.status, load.output);
    for (size_t i = 0; i < SUITE_COUNT(failures); i++) {
        snprintf(path, sizeof path, "requests.%s", failures[i]);
        check_figure(path, name != NULL && strcmp(name, failures[i]) == 0 ? count : 0);
    }
    check_figure("requests.verified", verified);
    SUITE_CHECK(load.status == (name == NULL ? 0 : 1), "status %d: %s", load.status, load.output);
    const char *first = json_string_value(json_object_get(load.json, "first_error"));
    SUITE_CHECK((name == NULL) == (first == NULL) && (name == NULL || strncmp(first, name, strlen(name)) == 0),
                "the first error is said to be %s", first != NULL ? first : "none");
}

/* -- servers that are right
 * --------------------------------------------------------------------------------------------- */

static bool serve_good(int fd, unsigned number)
{
    (void)number;
    return say(fd, GOOD);
}

static void right_replies(void)
{
    start_server(serve_good);
    run_load("--json -c 4 -n 501 -p 3 " EXPECTED " %U");
    check_failures(NULL, 0, 501);
    check_figure("requests.sent", 501);
    check_figure("statuses.200", 501);
    check_figure("bytes.body", 5 * 501);
    check_figure("bytes.total", (long long)strlen(GOOD) * 501);
    check_figure("bodies.header_bytes_max", (long long)strlen(GOOD) - 5);
    check_figure("bodies.distinct", 1);
    check_figure("connections.opened", 4);
    check_figure("connections.kept_requests", 497);
    check_figure("connections.server_closes", 0);
    check_figure("generator.processes", 3);
    CU_ASSERT_EQUAL(atomic_load(&shared->requests), 501);
    CU_ASSERT_EQUAL(atomic_load(&shared->connections), 4);
    CU_ASSERT(json_is_null(json_object_get(load.json, "lag_us")) && json_is_null(json_object_get(load.json, "rate")));
}

/* Everything in three pieces, so that the reader meets each part alone. */
static bool serve_pieces(int fd, unsigned number)
{
    const char *const replies[] = {GOOD,
                                   OK "Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\nA: b\r\n\r\n",
                                   OK "X: y\r\n\r\nhello", "HTTP/1.0 200 OK\r\n\r\nhello"};
    const char *reply = replies[number % 4];
    size_t length = strlen(reply), at = 0;
    for (size_t piece = 1; piece <= 3; piece++) {
        size_t end = length * piece / 3;
        if (send(fd, reply + at, end - at, MSG_NOSIGNAL) != (ssize_t)(end - at))
            return false;
        at = end;
        usleep(2000);
    }
    return number % 4 < 2;
}

static void every_framing(void)
{
    start_server(serve_pieces);
    run_load("--json -c 2 -n 80 " EXPECTED " %U");
    check_failures(NULL, 0, 80);
    check_figure("bytes.body", 400);
    check_figure("connections.server_closes", 40);
    CU_ASSERT_EQUAL(atomic_load(&shared->requests), 80);
}

static bool serve_head(int fd, unsigned number)
{
    return say(fd, number % 2 ? OK "Content-Length: 5\r\n\r\n" : "HTTP/1.1 204 No Content\r\n\r\n");
}

static void replies_without_bodies(void)
{
    start_server(serve_head);
    run_load("--json -c 1 -n 20 --method HEAD %U");
    check_failures(NULL, 0, 20);
    check_figure("statuses.204", 10);
    check_figure("bytes.body", 0);
}

static bool serve_large(int fd, unsigned number)
{
    static char reply[700000];
    int head = snprintf(reply, 100, OK "Content-Length: %d\r\n\r\n", 600000);
    memset(reply + head, 'x', 600000);
    if (number % 10 == 9)
        reply[head + 599999] = 'y'; /* the last byte of 600,000 */
    return send(fd, reply, (size_t)head + 600000, MSG_NOSIGNAL) > 0;
}

static void one_byte_of_a_large_body(void)
{
    start_server(serve_large);
    run_load("--json -c 1 -n 50 %U");
    check_failures("wrong_hash", 5, 45);
    check_figure("bytes.body", 45 * 600000);
}

static bool serve_set(int fd, unsigned number)
{
    char reply[100];
    snprintf(reply, sizeof reply, OK "Content-Length: 2\r\n\r\n%c!", 'a' + (int)(number % 3));
    return say(fd, reply);
}

static void a_set_of_bodies(void)
{
    const char *directory = getenv("MILLRACE_TEST_DIR");
    char line[4096], list[2048], paths[3][1024];
    for (int i = 0; i < 3; i++) {
        snprintf(paths[i], sizeof paths[i], "%s/load-body-%d", directory != NULL ? directory : "/tmp", i);
        FILE *file = fopen(paths[i], "w");
        CU_ASSERT_FATAL(file != NULL && fprintf(file, "%c!", 'a' + i) == 2 && fclose(file) == 0);
    }
    snprintf(line, sizeof line, "--hash %s %s", paths[0], paths[1]);
    run_load(line);
    CU_ASSERT_EQUAL_FATAL(load.status, 0);
    snprintf(list, sizeof list, "%s.list", paths[0]);
    FILE *file = fopen(list, "w");
    CU_ASSERT_FATAL(file != NULL && fputs(load.output, file) >= 0 && fclose(file) == 0);
    start_server(serve_set);
    snprintf(line, sizeof line, "--json -n 90 -c 3 --expect-list %s --expect-file %s %%U", list, paths[2]);
    run_load(line);
    check_failures(NULL, 0, 90);
    check_figure("bodies.distinct", 3);
    check_figure("expected.set_size", 3);
    snprintf(line, sizeof line, "--json -n 90 -c 3 --expect-list %s %%U", list);
    run_load(line);
    check_failures("wrong_hash", 30, 60);
    unlink(list);
    for (int i = 0; i < 3; i++)
        unlink(paths[i]);
}

/* -- servers that are wrong
 * ----------------------------------------------------------------------------------------------- */

static void reset(int fd)
{
    struct linger linger = {.l_onoff = 1};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
}

static bool wrong_body(int fd)
{
    return say(fd, OK "Content-Length: 5\r\n\r\nhallo");
}

static bool wrong_length(int fd)
{
    return say(fd, OK "Content-Length: 6\r\n\r\nhello!");
}

static bool wrong_length_of_chunks(int fd)
{
    return say(fd, OK "Transfer-Encoding: chunked\r\n\r\n4\r\nhell\r\n0\r\n\r\n");
}

static bool bad_gateway(int fd)
{
    return say(fd, "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 5\r\n\r\nhello");
}

static bool redirect(int fd)
{
    return say(fd, "HTTP/1.1 302 Found\r\nContent-Length: 5\r\n\r\nhello");
}

static bool no_http(int fd)
{
    return say(fd, "hello\r\n");
}

static bool bytes_behind(int fd)
{
    return say(fd, GOOD "!");
}

static bool broken_chunk(int fd)
{
    return say(fd, OK "Transfer-Encoding: chunked\r\n\r\n5\r\nhello!\r\n0\r\n\r\n");
}

static bool reset_in_the_midst(int fd)
{
    say(fd, OK "Content-Length: 5\r\n\r\nhe");
    usleep(50000); /* a reset may overtake what has not been read */
    reset(fd);
    return false;
}

static bool half_a_body(int fd)
{
    say(fd, OK "Content-Length: 5\r\n\r\nhe");
    return false;
}

static bool half_a_head(int fd)
{
    say(fd, "HTTP/1.1 200 O");
    return false;
}

static bool half_the_chunks(int fd)
{
    say(fd, OK "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
    return false;
}

static bool stall(int fd)
{
    say(fd, OK "Content-Length: 5\r\n\r\nhe");
    sleep(30);
    return false;
}

static const struct wrong {
    bool (*serve)(int fd);
    const char *failure;
} wrongs[] = {
    {wrong_body, "wrong_hash"},    {wrong_length, "wrong_length"}, {wrong_length_of_chunks, "wrong_length"},
    {bad_gateway, "wrong_status"}, {redirect, "wrong_status"},     {no_http, "bad_framing"},
    {bytes_behind, "bad_framing"}, {broken_chunk, "bad_framing"},  {reset_in_the_midst, "resets"},
    {half_a_body, "closed_early"}, {half_a_head, "closed_early"},  {half_the_chunks, "closed_early"},
    {stall, "timeouts"},
};

static const struct wrong *wrong;

/* Every tenth is wrong, the first is not. */
static bool serve_wrong(int fd, unsigned number)
{
    return number % 10 == 9 ? wrong->serve(fd) : say(fd, GOOD);
}

static void every_failure_has_its_name(void)
{
    for (wrong = wrongs; wrong < wrongs + SUITE_COUNT(wrongs); wrong++) {
        start_server(serve_wrong);
        run_load("--json -c 2 -n 100 --timeout 1 %U");
        check_failures(wrong->failure, 10, 90);
        check_figure("requests.sent", 100);
    }
}

/* The same with a connection for each request, and against a given body. */
static void every_failure_on_new_connections(void)
{
    for (wrong = wrongs; wrong < wrongs + SUITE_COUNT(wrongs); wrong++) {
        start_server(serve_wrong);
        run_load("--json -c 2 -n 50 --timeout 1 --close " EXPECTED " %U");
        check_failures(wrong->failure, 5, 45);
        check_figure("connections.opened", 50);
        check_figure("connections.server_closes", 0);
    }
}

static bool serve_nothing(int fd, unsigned number)
{
    if (number % 2 == 0)
        reset(fd);
    return false;
}

/* On a new connection nothing excuses an end instead of a reply, and nothing is sent again. */
static void ends_instead_of_replies(void)
{
    start_server(serve_nothing);
    run_load("--json -c 1 -n 20 %U");
    CU_ASSERT_EQUAL_FATAL(load.status, 1);
    check_figure("requests.resets", 10);
    check_figure("requests.closed_early", 10);
    check_figure("connections.retries", 0);
    CU_ASSERT_EQUAL(atomic_load(&shared->requests), 20);
}

static bool serve_five(int fd, unsigned number)
{
    (void)number;
    static _Thread_local int replies;
    return say(fd, GOOD) && ++replies < 5;
}

/* Kept connections that the server closes without a word: the requests that meet it are sent again, and it is said. */
static void closed_between_requests(void)
{
    start_server(serve_five);
    run_load("--json -c 1 -n 100 %U");
    check_failures(NULL, 0, 100);
    CU_ASSERT(figure("connections.server_closes") >= 19 && figure("connections.server_closes") <= 20);
    CU_ASSERT(figure("connections.retries") <= figure("connections.server_closes"));
    CU_ASSERT_EQUAL(atomic_load(&shared->connections), 20);
    check_figure("connections.opened", 20);
    check_figure("requests.sent", 100);
}

static bool serve_close(int fd, unsigned number)
{
    (void)number;
    say(fd, OK "Connection: close\r\nContent-Length: 5\r\n\r\nhello");
    return false;
}

static void closed_with_a_word(void)
{
    start_server(serve_close);
    run_load("--json -c 2 -n 40 " EXPECTED " %U");
    check_failures(NULL, 0, 40);
    check_figure("connections.server_closes", 40);
    check_figure("connections.retries", 0);
}

static void nobody_listens(void)
{
    close(listen_somewhere()); /* a port that was free a moment ago */
    run_load("--json -c 2 -n 10 %U");
    check_failures("connect_errors", 10, 0);
    check_figure("requests.sent", 0);
    CU_ASSERT(strstr(load.output, "Connection refused") != NULL);
    run_load("--json -r 100 -d 0.3 %U");
    CU_ASSERT(load.status == 1 && figure("requests.connect_errors") > 10 && figure("requests.verified") == 0);
    CU_ASSERT(json_is_null(json_object_get(json_object_get(load.json, "time_us"), "p99")));
}

/* Whatever the end cuts is accounted for. */
static void nothing_is_lost_at_the_end(void)
{
    start_server(serve_good);
    for (int i = 0; i < 5; i++) {
        run_load("--json -c 40 -d 0.2 -w 0.1 -p 2 " EXPECTED " %U");
        SUITE_CHECK(load.status == 0, "status %d: %s", load.status, load.output);
        SUITE_CHECK(figure("requests.sent") + figure("requests.in_flight_at_start") ==
                        figure("requests.verified") + figure("requests.in_flight_at_end"),
                    "%s", load.output);
        CU_ASSERT(figure("requests.in_flight_at_start") > 0 && figure("requests.in_flight_at_end") > 0);
    }
}

static void another_body_than_expected(void)
{
    start_server(serve_good);
    run_load("--json -n 10 --expect 5:0123456789abcdef %U");
    check_failures("wrong_hash", 10, 0);
    run_load("--json -n 10 --expect 4:0123456789abcdef %U");
    check_failures("wrong_length", 10, 0);
}

/* -- the open loop
 * --------------------------------------------------------------------------------------------------------- */

static void a_fixed_rate(void)
{
    start_server(serve_good);
    run_load("--json -r 500 -d 1 -w 0.2 -p 2 " EXPECTED " %U");
    SUITE_CHECK(load.status == 0, "status %d: %s", load.status, load.output);
    check_figure("requests.not_sent", 0);
    long long sent = figure("requests.sent"), verified = figure("requests.verified");
    SUITE_CHECK(sent >= 490 && sent <= 510, "%lld sent", sent);
    SUITE_CHECK(sent + figure("requests.in_flight_at_start") == verified + figure("requests.in_flight_at_end"),
                "%lld sent, %lld verified", sent, verified);
    CU_ASSERT_EQUAL(figure("window_end_us") - figure("window_start_us"), 1000000);
    CU_ASSERT(figure("lag_us.p50") >= 0 && figure("time_us.p99_9") >= figure("time_us.p99"));
    run_load("--json -r 500 -n 123 -p 2 " EXPECTED " %U");
    check_failures(NULL, 0, 123);
    check_figure("requests.sent", 123);
    run_load("--json -r 500 -n 1 -p 2 " EXPECTED " %U"); /* one process has nothing to do */
    check_failures(NULL, 0, 1);
}

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

/* All wait once for 400 ms. */
static bool serve_with_a_stop(int fd, unsigned number)
{
    pthread_mutex_lock(&gate);
    if (number == 300)
        usleep(400000);
    pthread_mutex_unlock(&gate);
    return say(fd, GOOD);
}

/* Of the 1000 intended starts 200 fall into the stop, and 100 of them waited for 200 ms and more:
 * a tenth. One connection of a closed loop saw one slow reply. */
static void a_stop_is_seen_from_the_intended_start(void)
{
    start_server(serve_with_a_stop);
    run_load("--json -r 500 -d 2 " EXPECTED " %U");
    SUITE_CHECK(load.status == 0, "status %d: %s", load.status, load.output);
    SUITE_CHECK(figure("time_us.p90") >= 150000, "p90 %lld us", figure("time_us.p90"));
    SUITE_CHECK(figure("time_us.max") >= 390000, "max %lld us", figure("time_us.max"));
    start_server(serve_with_a_stop);
    run_load("--json -c 1 -n 1000 " EXPECTED " %U");
    check_failures(NULL, 0, 1000);
    CU_ASSERT(figure("time_us.max") >= 390000);
    SUITE_CHECK(figure("time_us.p90") < 150000, "p90 %lld us", figure("time_us.p90"));
}

static bool serve_never(int fd, unsigned number)
{
    (void)fd;
    (void)number;
    sleep(30);
    return false;
}

static void what_gets_no_connection_is_not_sent(void)
{
    start_server(serve_never);
    run_load("--json -r 100 -d 1 -c 3 -p 1 %U");
    SUITE_CHECK(load.status == 1 && load.json != NULL, "status %d: %s", load.status, load.output);
    check_figure("requests.sent", 3);
    check_figure("requests.not_sent", 97);
    check_figure("requests.in_flight_at_end", 3);
}

/* -- the rest
 * --------------------------------------------------------------------------------------------------------------- */

static bool has_requests(void *context)
{
    (void)context;
    return atomic_load(&shared->requests) > 50;
}

static void a_signal_ends_it(void)
{
    static const int numbers[] = {SIGINT, SIGTERM};
    for (size_t i = 0; i < SUITE_COUNT(numbers); i++) {
        start_server(serve_good);
        begin_load("--json -d 60 -p 2 %U");
        bool began = deadline_wait(DEADLINE_USUAL_MS, has_requests, NULL);
        int64_t start_ms = deadline_now_ms();
        kill(load.pid, numbers[i]);
        end_load();
        CU_ASSERT(began && deadline_now_ms() - start_ms < DEADLINE_USUAL_MS);
        SUITE_CHECK(load.status == 1 && load.json != NULL, "status %d: %s", load.status, load.output);
        CU_ASSERT(json_is_true(json_object_get(load.json, "stopped_early")));
        CU_ASSERT(figure("requests.verified") > 0 && figure("goodput_per_s") > 0);
    }
}

/* Figures without those of a process would be too good or too bad: there are none. */
static void a_killed_process_spoils_the_result(void)
{
    start_server(serve_good);
    begin_load("-d 60 -p 2 %U");
    bool began = deadline_wait(DEADLINE_USUAL_MS, has_requests, NULL);
    struct process_children children = process_children(load.pid);
    if (children.count == 2) {
        kill(children.pids[0], SIGKILL);
        kill(load.pid, SIGINT);
    }
    if (children.count != 2)
        kill(load.pid, SIGKILL);
    end_load();
    CU_ASSERT(began && children.count == 2);
    SUITE_CHECK(load.status == 1 && strstr(load.output, "ended by signal 9") != NULL, "status %d: %s", load.status,
                load.output);
    CU_ASSERT(strstr(load.output, "goodput") == NULL);
}

static void source_addresses(void)
{
    start_server(serve_good);
    run_load("--json -n 60 -c 3 -p 2 --close --source 127.0.0.11-16 %U");
    check_failures(NULL, 0, 60);
    for (unsigned last = 10; last <= 17; last++)
        SUITE_CHECK(atomic_load(&shared->peers[last]) == (last >= 11 && last <= 16), "127.0.0.%u", last);
}

static void what_people_read(void)
{
    start_server(serve_good);
    run_load("-c 2 -n 50 %U");
    SUITE_CHECK(load.status == 0, "status %d: %s", load.status, load.output);
    CU_ASSERT(strstr(load.output, "service time at c = 2: p50") != NULL);
    CU_ASSERT(strstr(load.output, "the first body is the standard: 5:9555e8555c62dcfd") != NULL);
    CU_ASSERT(strstr(load.output, "failures       none") != NULL && strstr(load.output, "50 of 50 sent") != NULL);
    run_load("-r 200 -d 0.3 %U");
    CU_ASSERT(load.status == 0 && strstr(load.output, "latency from the intended start: p50") != NULL);
    CU_ASSERT(strstr(load.output, "late to send") != NULL && strstr(load.output, "p99.9") != NULL);
}

static void slowed_on_purpose(void)
{
    start_server(serve_good);
    run_load("--json -c 1 -n 100 --slow 2000 %U");
    check_failures(NULL, 0, 100);
    SUITE_CHECK(figure("generator.cpu_us") >= 200000, "%lld us", figure("generator.cpu_us"));
    SUITE_CHECK(figure("time_us.p50") < 2000, "the server is blamed for it: %lld us", figure("time_us.p50"));
}

static void too_few_descriptors(void)
{
    struct rlimit before, few;
    CU_ASSERT_FATAL(getrlimit(RLIMIT_NOFILE, &before) == 0);
    start_server(serve_good);
    few = (struct rlimit){.rlim_cur = 100, .rlim_max = before.rlim_max};
    CU_ASSERT_FATAL(setrlimit(RLIMIT_NOFILE, &few) == 0);
    run_load("--json -c 200 -n 400 -p 1 %U"); /* raises the soft limit */
    CU_ASSERT_FATAL(setrlimit(RLIMIT_NOFILE, &before) == 0);
    check_failures(NULL, 0, 400);
    char line[200];
    snprintf(line, sizeof line, "-c 1000000 -p 1 %%U");
    if (before.rlim_max > 1000000)
        suite_skip("this user may open more descriptors than it may ask for connections");
    run_load(line);
    CU_ASSERT(load.status == 1 && strstr(load.output, "ulimit") != NULL && strstr(load.output, "-p") != NULL);
}

static void usage(void)
{
    static const char *const bad[] = {"", "-c 0 %U", "--nonsense %U", "https://127.0.0.1/", "-n 5 -d 5 %U"};
    for (size_t i = 0; i < SUITE_COUNT(bad); i++) {
        run_load(bad[i]);
        SUITE_CHECK(load.status == 2 && strncmp(load.output, "millbench load: ", 16) == 0, "'%s': %d: %s", bad[i],
                    load.status, load.output);
    }
    run_load("--help");
    CU_ASSERT(load.status == 0 && strncmp(load.output, "usage: ", 7) == 0);
    run_load("--json=/nonexistent/file -n 1 %U");
    CU_ASSERT(load.status == 1 && strstr(load.output, "/nonexistent/file") != NULL);
    run_load("-n 1 http://no.such.host.invalid/");
    CU_ASSERT(load.status == 1 && strstr(load.output, "no.such.host.invalid") != NULL);
    run_load("--hash /nonexistent");
    CU_ASSERT(load.status == 1);
}

static const struct suite_case cases[] = {
    {"right replies", right_replies},
    {"every framing", every_framing},
    {"replies without bodies", replies_without_bodies},
    {"one byte of a large body", one_byte_of_a_large_body},
    {"a set of bodies", a_set_of_bodies},
    {"every failure has its name", every_failure_has_its_name},
    {"every failure on new connections", every_failure_on_new_connections},
    {"ends instead of replies", ends_instead_of_replies},
    {"closed between requests", closed_between_requests},
    {"closed with a word", closed_with_a_word},
    {"nobody listens", nobody_listens},
    {"nothing is lost at the end", nothing_is_lost_at_the_end},
    {"another body than expected", another_body_than_expected},
    {"a fixed rate", a_fixed_rate},
    {"a stop is seen from the intended start", a_stop_is_seen_from_the_intended_start},
    {"what gets no connection is not sent", what_gets_no_connection_is_not_sent},
    {"a signal ends it", a_signal_ends_it},
    {"a killed process spoils the result", a_killed_process_spoils_the_result},
    {"source addresses", source_addresses},
    {"what people read", what_people_read},
    {"slowed on purpose", slowed_on_purpose},
    {"too few descriptors", too_few_descriptors},
    {"usage", usage},
};

int main(int argc, char **argv)
{
    int failed = suite_main("millbench_load", cases, SUITE_COUNT(cases), argc, argv);
    stop_server();
    json_decref(load.json);
    return failed;
}
