/*
 * test_front.c: what nginx can make of the rows of the FastCGI protocol: bodies that imitate records, large and slow
 * ones, clients that leave, parameters of any size, answers of any size, all over kept connections. Cases C01, C05,
 * C06, C08, C10, C26, C27, C58, C59.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer.h"
#include "blocked.h"
#include "deadline.h"
#include "front.h"
#include "server.h"
#include "suite.h"

static struct server *server;
static struct front *front;
static struct front_answer answer;
static struct process_children workers; /* that must not change */

static void start(void)
{
    if (front && front->pid > 0) {
        link_free_all();
        return;
    }
    server = server_start(NULL);
    front = front_start(server);
    workers = server_workers_without(server, 0);
}

/* nginx complains of every record that it does not expect, and of every connection that ends when it should not. */
static void check_quiet(void)
{
    struct process_children now = server_workers(server);

    CU_ASSERT_EQUAL(front_log_count(server, "[error]") + front_log_count(server, "[crit]"), 0);
    CU_ASSERT(now.count == workers.count && memcmp(now.pids, workers.pids, sizeof now.pids) == 0);
    CU_ASSERT_EQUAL(server_log_count(server, "was ended by"), 0);
}

static void ask_hello(struct link *link)
{
    front_ask(&answer, link, "/hello", NULL, 0);
    SUITE_CHECK(answer.status == 200 && answer.body.length == 450, "/hello: status %d, %zu bytes", answer.status,
                answer.body.length);
}

/* -- Bodies ---------------------------------------------------------------------------------------------------------
 */

enum { FORGED_BODY_BYTES = 150000 };

/* On a client connection of its own: nginx closes one whose body it has not read to the end. */
static void post(const char *path, const struct bytes *body, size_t length)
{
    struct link *link = link_new(front->address);

    front_ask(&answer, link, path, body->data, length);
    link_free(link);
}

/* How much of such a body the handler reads makes no difference, nor whether nginx has all of it before it sends. */
static void forged_bodies_at_every_offset(void)
{
    static const char *const paths[] = {
        "/readpart?0", "/readpart?1", "/readpart?70000", "/readpart?100001", "/unbuffered/readpart?0", "/nothing?0"};
    struct bytes body = {0};
    struct link *other;
    size_t period;

    start();
    other = link_new(front->address);
    period = record_forged(&body, "/crash", FORGED_BODY_BYTES, 0);
    for (size_t shift = 0; shift < period; shift++) {
        record_forged(&body, "/crash", FORGED_BODY_BYTES, shift);
        post(paths[shift % SUITE_COUNT(paths)], &body, body.length);
        SUITE_CHECK(answer.status == (strcmp(paths[shift % SUITE_COUNT(paths)], "/nothing?0") == 0 ? 500 : 200),
                    "shift %zu: status %d", shift, answer.status);
        ask_hello(other);
    }
    for (size_t length = 1; length <= 40000; length += length < 400 ? 1 : 397) { /* the body may end anywhere in one */
        record_forged(&body, "/crash", FORGED_BODY_BYTES, 0);
        post("/readpart?0", &body, length);
        SUITE_CHECK(answer.status == 200, "%zu bytes: status %d", length, answer.status);
        ask_hello(other);
    }
    bytes_fini(&body);
    check_quiet();
}

static void echoes(const char *path, size_t length)
{
    struct link *link = link_new(front->address);
    struct bytes body = {0};

    for (size_t i = 0; i < length; i += sizeof i)
        bytes_add(&body, &i, sizeof i);
    body.length = length;
    front_ask(&answer, link, path, body.length ? body.data : (void *)"", length);
    SUITE_CHECK(answer.status == 200 && answer.body.length == length &&
                    (length == 0 || memcmp(answer.body.data, body.data, length) == 0),
                "%s with %zu bytes: status %d, %zu bytes", path, length, answer.status, answer.body.length);
    bytes_fini(&body);
    link_free(link);
}

static void bodies_of_every_size(void)
{
    static const size_t lengths[] = {0,     1,     8,     8191,  8192,   8193,    16384,
                                     32768, 65535, 65536, 65537, 131072, 1000000, 10485760};

    start();
    for (size_t i = 0; i < SUITE_COUNT(lengths); i++) {
        echoes("/echo", lengths[i]);
        echoes("/unbuffered/echo", lengths[i]);
    }
    check_quiet();
}

/* A body that comes in bursts, passed on as it comes: the handler waits, and nobody else does. */
static void slow_body(void)
{
    enum { BURSTS = 10, BURST = 50000 };
    struct link *link, *other;
    struct bytes body = {0};

    start();
    link = link_new(front->address);
    other = link_new(front->address);
    bytes_add_fill(&body, 's', BURSTS * BURST);
    front_send(link, "/unbuffered/echo", "Content-Length: 500000\r\n", NULL, 0);
    for (int i = 0; i < BURSTS; i++) {
        int64_t start_ms = deadline_now_ms();

        link_send(link, body.data, BURST);
        ask_hello(other);
        SUITE_CHECK(deadline_now_ms() - start_ms < 1000, "/hello beside a slow body took %d ms",
                    (int)(deadline_now_ms() - start_ms));
        link_is_silent(link, 20);
    }
    front_read(&answer, link);
    SUITE_CHECK(answer.body.length == body.length && memcmp(answer.body.data, body.data, body.length) == 0,
                "status %d, %zu bytes", answer.status, answer.body.length);
    bytes_fini(&body);
    check_quiet();
}

/* nginx knows the length only of what it has gathered: passed on as they come, chunks have none, and the body goes to its
 * end. Case C58. */
static void chunked_bodies(void)
{
    static const char *const paths[] = {"/echo", "/unbuffered/echo"};
    enum { CHUNKS = 200, CHUNK = 1000 };
    char chunk[CHUNK + 20];
    int head = snprintf(chunk, sizeof chunk, "%x\r\n", CHUNK);

    start();
    memset(chunk + head, 'c', CHUNK);
    memcpy(chunk + head + CHUNK, "\r\n", 2);
    for (size_t i = 0; i < SUITE_COUNT(paths); i++) {
        struct link *link = link_new(front->address);

        front_send(link, paths[i], "Transfer-Encoding: chunked\r\n", NULL, 0);
        for (int j = 0; j < CHUNKS; j++)
            link_send(link, chunk, (size_t)head + CHUNK + 2);
        link_send(link, "0\r\n\r\n", 5);
        front_read(&answer, link);
        SUITE_CHECK(answer.status == 200 && answer.body.length == CHUNKS * CHUNK, "%s: status %d, %zu bytes", paths[i],
                    answer.status, answer.body.length);
        link_free(link);
    }
    check_quiet();
}

/* nginx stops sending a body when the answer comes, and closes that connection: never with an error for its client. */
static void unread_bodies(void)
{
    struct bytes body = {0};
    struct link *other;

    start();
    other = link_new(front->address);
    bytes_add_fill(&body, 'u', 500000);
    for (int i = 0; i < 200; i++) {
        post(i % 2 ? "/readpart?10" : "/unbuffered/readpart?10", &body, body.length);
        SUITE_CHECK(answer.status == 200 && strcmp(bytes_text(&answer.body), "10 more") == 0,
                    "POST %d: status %d, %.40s", i, answer.status, bytes_text(&answer.body));
        ask_hello(other);
    }
    bytes_fini(&body);
    check_quiet();
}

/* -- Parameters -----------------------------------------------------------------------------------------------------
 */

/* A header becomes a variable, byte for byte, up to what nginx can put into one record. */
static void parameters_of_every_size(void)
{
    static const size_t lengths[] = {1, 126, 127, 128, 129, 4000, 8191, 8192, 20000, 60000};
    struct link *link;

    start();
    link = link_new(front->address);
    for (size_t i = 0; i < SUITE_COUNT(lengths); i++) {
        struct bytes header = {0}, expected = {0};

        bytes_add(&header, "X-Long: ", 8);
        bytes_add_fill(&header, 'v', lengths[i]);
        bytes_add(&header, "\r\n", 2);
        front_send(link, "/params", bytes_text(&header), NULL, 0);
        front_read(&answer, link);
        bytes_add(&expected, "HTTP_X_LONG=", 12);
        bytes_add_fill(&expected, 'v', lengths[i]);
        bytes_add(&expected, "", 1);
        SUITE_CHECK(answer.status == 200 &&
                        memmem(answer.body.data, answer.body.length, expected.data, expected.length) != NULL,
                    "a header of %zu bytes: status %d", lengths[i], answer.status);
        bytes_fini(&header);
        bytes_fini(&expected);
    }
    check_quiet();
}

static void no_proxy_variable(void)
{
    struct link *link;

    start();
    link = link_new(front->address);
    front_send(link, "/params", "Proxy: http://evil/\r\nX-Proxy: kept\r\n", NULL, 0);
    front_read(&answer, link);
    CU_ASSERT_EQUAL(answer.status, 200);
    CU_ASSERT(memmem(answer.body.data, answer.body.length, "evil", 4) == NULL);
    CU_ASSERT(memmem(answer.body.data, answer.body.length, "HTTP_X_PROXY=kept", 17) != NULL);
}

/* -- Answers --------------------------------------------------------------------------------------------------------
 */

static void answers(const char *prefix, size_t length)
{
    char path[64];
    struct link *link = link_new(front->address);

    snprintf(path, sizeof path, "%s/bigout?%zu", prefix, length);
    front_ask(&answer, link, path, NULL, 0);
    bytes_clear(&answer.head);
    bytes_add(&answer.head, "\r\n\r\n", 4);
    bytes_add(&answer.head, answer.body.data, answer.body.length);
    struct answer seen = {.out = answer.head};
    SUITE_CHECK(answer.status == 200 && answer_body_is_pattern(&seen, length), "%s: status %d, %zu bytes", path,
                answer.status, answer.body.length);
    link_free(link);
}

static void answers_of_every_size(void)
{
    static const size_t lengths[] = {0,     1,     8191,  8192,  8193,    65463,   65464,
                                     65465, 65534, 65535, 65536, 5242880, 33554432};

    start();
    for (size_t i = 0; i < SUITE_COUNT(lengths); i++) {
        answers("", lengths[i]);
        answers("/unbuffered", lengths[i]);
    }
    check_quiet();
}

/* Many requests on kept connections, mixed: nginx finds nothing to complain of, and the server's figures stay. */
static void thousands_of_requests(void)
{
    struct link *links[8];
    long descriptors;

    start();
    for (int i = 0; i < 8; i++)
        links[i] = link_new(front->address);
    for (int i = 0; i < 200; i++)
        ask_hello(links[i % 8]);
    descriptors = server_sum(server, process_descriptor_count);
    for (int i = 0; i < 5000; i++) {
        struct link *link = links[i % 8];

        if (i % 5 == 0)
            front_ask(&answer, link, "/echo", "body", 4);
        else if (i % 7 == 0)
            front_ask(&answer, link, "/status?404", NULL, 0);
        else
            front_ask(&answer, link, "/hello", NULL, 0);
        SUITE_CHECK(answer.status == (i % 5 && i % 7 == 0 ? 404 : 200), "request %d: status %d", i, answer.status);
    }
    SUITE_CHECK(server_sum(server, process_descriptor_count) <= descriptors + 8, "%ld descriptors before, %ld after",
                descriptors, server_sum(server, process_descriptor_count));
    check_quiet();
}

/* -- Clients that leave ---------------------------------------------------------------------------------------------
 */

/* nginx closes its connection when its client leaves; a handler that asks learns of it at once, one that writes too. */
static void clients_that_leave(void)
{
    start();
    for (int i = 0; i < 6; i++) {
        struct link *link = link_new(front->address);

        front_send(link, i % 2 ? "/watcher?poll" : "/unbuffered/watcher?write", NULL, NULL, 0);
        link_is_silent(link, 100);
        link_free(link);
    }
    SUITE_CHECK(server_log_waits_for(server, "watcher by poll: told", 1000), "a handler that asks was not told");
    SUITE_CHECK(server_log_waits_for(server, "watcher by write: told", 1000), "a handler that writes was not told");
    CU_ASSERT_EQUAL(server_log_count(server, "never told"), 0);
    ask_hello(link_new(front->address));
    CU_ASSERT_EQUAL(front_log_count(server, "[error]"), 0);
}

static void no_thread_is_lost(void)
{
    start();
    blocked_check(server);
}

static const struct suite_case cases[] = {
    {"bodies that imitate records, at every offset", forged_bodies_at_every_offset},
    {"bodies of 0 bytes to 10 MiB", bodies_of_every_size},
    {"a slow body", slow_body},
    {"chunked bodies", chunked_bodies},
    {"bodies that nobody reads", unread_bodies},
    {"parameters of 1 to 60,000 bytes", parameters_of_every_size},
    {"no HTTP_PROXY", no_proxy_variable},
    {"answers of 0 bytes to 32 MiB", answers_of_every_size},
    {"thousands of requests on kept connections", thousands_of_requests},
    {"clients that leave", clients_that_leave},
    {"no thread is lost", no_thread_is_lost},
};

int main(int argc, char **argv)
{
    return suite_main("front", cases, SUITE_COUNT(cases), argc, argv);
}
