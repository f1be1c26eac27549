/*
 * test_http_connections.c: how long connections to the direct listener live, and in what order answers come on them:
 * HTTP/1.0 and 1.1, Connection, pipelining, HEAD, half-closed and idle ones, several listeners. Cases C45, C47, C48,
 * C59.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "deadline.h"
#include "direct.h"
#include "http.h"
#include "suite.h"

#define HOST "Host: h\r\n"

static struct http_answer answer;
static struct http http;

static void open_and_send(const char *text)
{
    http_open(&http, direct_local());
    http_send(&http, text);
}

/* -- Kept or not ----------------------------------------------------------------------------------------------------
 */

struct kept {
    const char *request;
    const char *connection; /* the answer's field, NULL: it may be there or not */
};

static void keeps(void)
{
    static const struct kept kept[] = {
        {"GET /hello HTTP/1.1\r\n" HOST "\r\n", NULL},
        {"GET /hello HTTP/1.1\r\n" HOST "Connection: keep-alive\r\n\r\n", NULL},
        {"GET /hello HTTP/1.1\r\n" HOST "Connection:\r\n\r\n", NULL},
        {"GET /hello HTTP/1.1\r\n" HOST "Connection: upgrade, foo\r\nUpgrade: websocket\r\n\r\n", NULL},
        {"GET /hello HTTP/1.1\r\n" HOST "Connection: closed, xclose, close-not\r\n\r\n", NULL},
        {"GET /hello HTTP/1.1\r\n" HOST "Proxy-Connection: close\r\n\r\n", NULL},
        {"GET /nowhere HTTP/1.1\r\n" HOST "\r\n", NULL},
        {"GET /status?204 HTTP/1.1\r\n" HOST "\r\n", NULL},
        {"GET /status?304 HTTP/1.1\r\n" HOST "\r\n", NULL},
        {"GET /status?500 HTTP/1.1\r\n" HOST "\r\n", NULL},
        {"GET /bigout?200000 HTTP/1.1\r\n" HOST "\r\n", NULL},
        {"POST /echo HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\nab", NULL},
        {"GET /hello HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "keep-alive"},
        {"GET /hello HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", "keep-alive"},
        {"GET /hello HTTP/1.0\r\nConnection: foo\r\nConnection: keep-alive\r\n\r\n", "keep-alive"},
        {"GET /hello HTTP/1.0\r\nConnection: TE, keep-alive\r\n\r\n", "keep-alive"},
        {"GET /nowhere HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "keep-alive"},
        {"GET /status?204 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "keep-alive"},
        {"POST /echo HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nab", "keep-alive"},
    };

    direct_shared();
    for (size_t i = 0; i < SUITE_COUNT(kept); i++) {
        http_open(&http, i % 2 ? direct_local() : direct_address());
        for (int again = 0; again < 3; again++) {
            const char *said;

            http_send(&http, kept[i].request);
            http_read(&answer, &http);
            said = http_field(&answer, "Connection");
            SUITE_CHECK(!answer.closes, "%.80s: closes", kept[i].request);
            SUITE_CHECK(!kept[i].connection || (said && strcasecmp(said, kept[i].connection) == 0),
                        "%.80s: Connection: %s", kept[i].request, said ? said : "(none)");
        }
        SUITE_CHECK(http_end(&http, 5) == HTTP_OPEN, "%.80s: not kept", kept[i].request);
        http_close(&http);
    }
}

static void closes(void)
{
    static const char *const requests[] = {
        "GET /hello HTTP/1.0\r\n\r\n",
        "GET /hello HTTP/1.0\r\nConnection: close\r\n\r\n",
        "GET /hello HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n",
        "GET /hello HTTP/1.0\r\nConnection: foo\r\n\r\n",
        "GET /hello HTTP/1.0\r\nKeep-Alive: 300\r\n\r\n",
        "GET /nowhere HTTP/1.0\r\n\r\n",
        "GET /status?204 HTTP/1.0\r\n\r\n",
        "POST /echo HTTP/1.0\r\nContent-Length: 2\r\n\r\nab",
        "GET /hello HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n",
        "GET /hello HTTP/1.1\r\n" HOST "Connection: Close\r\n\r\n",
        "GET /hello HTTP/1.1\r\n" HOST "connection:CLOSE\r\n\r\n",
        "GET /hello HTTP/1.1\r\n" HOST "Connection: keep-alive, close\r\n\r\n",
        "GET /hello HTTP/1.1\r\n" HOST "Connection: close, keep-alive\r\n\r\n",
        "GET /hello HTTP/1.1\r\n" HOST "Connection: foo,close\t, bar\r\n\r\n",
        "GET /hello HTTP/1.1\r\n" HOST "Connection: , ,close\r\n\r\n",
        "GET /hello HTTP/1.1\r\n" HOST "Connection: keep-alive\r\nX: y\r\nConnection: close\r\n\r\n",
        "GET /hello HTTP/1.1\r\nConnection: close\r\n" HOST "Connection: keep-alive\r\n\r\n",
        "GET /status?304 HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n",
        "GET /bigout?200000 HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n",
        "POST /echo HTTP/1.1\r\n" HOST "Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
    };

    direct_shared();
    for (size_t i = 0; i < SUITE_COUNT(requests); i++) {
        int64_t start_ms;

        http_open(&http, i % 2 ? direct_local() : direct_address());
        http_send(&http, requests[i]);
        http_read(&answer, &http);
        start_ms = deadline_now_ms();
        http_check_closes(&answer, &http, requests[i]);
        SUITE_CHECK(deadline_now_ms() - start_ms < (SERVER_SANITIZED ? 1000 : 250), "%.60s: closes after %d ms",
                    requests[i], (int)(deadline_now_ms() - start_ms));
        http_close(&http);
    }
}

/* -- Where an answer ends ---------------------------------------------------------------------------------------------
 */

/* A length that is known is said; one that is not is told by chunks, or to those that know none by the end. */
static void framings(void)
{
    static const struct {
        const char *request;
        enum http_framing framing;
        size_t length;
    } cases_of[] = {
        {"GET /hello HTTP/1.1\r\n" HOST "\r\n", HTTP_LENGTH, 450},
        {"GET /hello HTTP/1.0\r\n\r\n", HTTP_LENGTH, 450},
        {"GET /bigout?0 HTTP/1.1\r\n" HOST "\r\n", HTTP_LENGTH, 0},
        {"GET /bigout?1 HTTP/1.1\r\n" HOST "\r\n", HTTP_LENGTH, 1},
        {"GET /bigout?60000 HTTP/1.1\r\n" HOST "\r\n", HTTP_LENGTH, 60000},
        {"GET /bigout?60000,1000 HTTP/1.1\r\n" HOST "\r\n", HTTP_LENGTH, 60000},
        {"GET /bigout?500000 HTTP/1.1\r\n" HOST "\r\n", HTTP_CHUNKED, 500000},
        {"GET /bigout?500000,777 HTTP/1.1\r\n" HOST "\r\n", HTTP_CHUNKED, 500000},
        {"GET /bigout?500000 HTTP/1.0\r\n\r\n", HTTP_TO_THE_END, 500000},
        {"GET /bigout?500000 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", HTTP_TO_THE_END, 500000},
        {"GET /ticker HTTP/1.1\r\n" HOST "\r\n", HTTP_CHUNKED, 35},
        {"GET /ticker HTTP/1.0\r\n\r\n", HTTP_TO_THE_END, 35},
        {"GET /status?204 HTTP/1.1\r\n" HOST "\r\n", HTTP_NO_BODY, 0},
        {"GET /status?304 HTTP/1.1\r\n" HOST "\r\n", HTTP_NO_BODY, 0},
        {"GET /nowhere HTTP/1.0\r\n\r\n", HTTP_LENGTH, 0},
    };

    direct_shared();
    for (size_t i = 0; i < SUITE_COUNT(cases_of); i++) {
        open_and_send(cases_of[i].request);
        http_read(&answer, &http);
        SUITE_CHECK(answer.framing == cases_of[i].framing, "%.60s: %.300s", cases_of[i].request,
                    bytes_text(&answer.head));
        SUITE_CHECK(answer.status == 404 || answer.body.length == cases_of[i].length, "%.60s: %zu bytes",
                    cases_of[i].request, answer.body.length);
        for (size_t at = 0; strstr(cases_of[i].request, "/bigout") && at < answer.body.length; at++)
            SUITE_CHECK(answer.body.data[at] == 'a' + at % 23, "%.60s: byte %zu", cases_of[i].request, at);
        if (answer.framing == HTTP_TO_THE_END)
            CU_ASSERT(!strstr(bytes_text(&answer.head), "keep-alive"));
        http_close(&http);
    }
}

/* What is around the size of the buffer, to the byte. */
static void answers_of_every_size(void)
{
    static const size_t sizes[] = {8191, 8192, 8193, 65300, 65535, 65536, 65537, 131072, 5 * (1 << 20)};
    char request[100];

    direct_shared();
    http_open(&http, direct_address());
    for (size_t i = 0; i < SUITE_COUNT(sizes); i++) {
        snprintf(request, sizeof request, "GET /bigout?%zu HTTP/1.1\r\n" HOST "\r\n", sizes[i]);
        http_send(&http, request);
        http_read(&answer, &http);
        SUITE_CHECK(answer.body.length == sizes[i], "%zu bytes of %zu", answer.body.length, sizes[i]);
    }
    for (size_t size = 65380; size < 65480; size++) { /* with its head it fits, or does not */
        snprintf(request, sizeof request, "GET /bigout?%zu HTTP/1.1\r\n" HOST "\r\n", size);
        http_send(&http, request);
        http_read(&answer, &http);
        SUITE_CHECK(answer.body.length == size, "%zu bytes of %zu", answer.body.length, size);
    }
    http_close(&http);
}

/* -- HEAD -----------------------------------------------------------------------------------------------------------
 */

/* The head of GET without the body, whatever the application does; where its length is not known it may be
 * missing, and one of 0 could be that of a handler that looks at the method. */
static void head_on_every_route(void)
{
    static const char *const routes[] = {
        "/hello",     "/bighello",      "/page8k",     "/echo",       "/bigout?8000",      "/bigout?60000",
        "/nowhere",   "/status?204",    "/status?304", "/status?404", "/status?500",       "/nothing?0",
        "/errout?10", "/bigout?500000", "/ticker",     "/formats",    "/bigout?500000,777"};
    static char of_get[65536];
    char request[200];

    direct_shared();
    for (size_t i = 0; i < SUITE_COUNT(routes); i++) {
        bool is_long;

        snprintf(request, sizeof request, "GET %s HTTP/1.1\r\n" HOST "\r\n", routes[i]);
        http_ask(&answer, direct_local(), request);
        snprintf(of_get, sizeof of_get, "%s", http_timeless_head(&answer));
        is_long = answer.framing == HTTP_CHUNKED;
        snprintf(request, sizeof request, "HEAD %s HTTP/1.1\r\n" HOST "\r\nGET /params?next HTTP/1.1\r\n" HOST "\r\n",
                 routes[i]);
        open_and_send(request);
        http_read_head(&answer, &http);
        SUITE_CHECK(is_long || strcmp(http_timeless_head(&answer), of_get) == 0, "%s: %.400s instead of %.400s",
                    routes[i], http_timeless_head(&answer), of_get);
        SUITE_CHECK(strncmp(of_get, http_timeless_head(&answer), 12) == 0, "%s: status %d", routes[i], answer.status);
        http_read(&answer, &http);
        SUITE_CHECK(http_has_variable(&answer, "QUERY_STRING=next"), "%s: a body after HEAD: %.60s", routes[i],
                    bytes_text(&answer.body));
        CU_ASSERT_EQUAL(http_end(&http, 0), HTTP_OPEN);
        http_close(&http);
        snprintf(request, sizeof request, "HEAD %s HTTP/1.0\r\n\r\n", routes[i]);
        open_and_send(request);
        http_read_head(&answer, &http);
        http_check_closes(&answer, &http, request);
        http_close(&http);
    }
}

static void thousand_heads(void)
{
    direct_shared();
    http_open(&http, direct_address());
    for (int i = 0; i < 1000; i++) {
        http_send(&http, "HEAD /bighello HTTP/1.1\r\n" HOST "\r\n");
        http_read_head(&answer, &http);
        CU_ASSERT_EQUAL_FATAL(answer.status, 200);
    }
    http_close(&http);
    open_and_send("HEAD /nothing?0 HTTP/1.1\r\n" HOST "\r\n"); /* an error has no body either */
    http_read_head(&answer, &http);
    CU_ASSERT_EQUAL(answer.status, 500);
    CU_ASSERT_EQUAL(http_end(&http, 10), HTTP_OPEN);
    http_close(&http);
}

/* -- Pipelining -----------------------------------------------------------------------------------------------------
 */

static void many_in_one_write(void)
{
    static const int counts[] = {1, 2, 10, 1000};
    static struct bytes all;
    char request[100];

    direct_shared();
    for (size_t i = 0; i < SUITE_COUNT(counts) * 2; i++) {
        bytes_clear(&all);
        for (int n = 0; n < counts[i / 2]; n++) {
            snprintf(request, sizeof request, "GET /params?%d HTTP/1.1\r\n" HOST "\r\n", n);
            bytes_add(&all, request, strlen(request));
        }
        http_open(&http, i % 2 ? direct_local() : direct_address());
        http_send_bytes(&http, all.data, all.length);
        for (int n = 0; n < counts[i / 2]; n++) {
            http_read(&answer, &http);
            snprintf(request, sizeof request, "QUERY_STRING=%d", n);
            SUITE_CHECK(http_has_variable(&answer, request), "answer %d of %d is not its own", n, counts[i / 2]);
        }
        SUITE_CHECK(http_end(&http, 5) == HTTP_OPEN, "more than %d answers", counts[i / 2]);
        http_close(&http);
    }
    bytes_fini(&all);
}

/* As answered one by one, but for their times: `heads` and `bodies` are the sum of all answers. */
static const char *const mixed[] = {
    "GET /hello HTTP/1.1\r\n" HOST "\r\n",
    "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 10\r\n\r\n0123456789",
    "HEAD /bighello HTTP/1.1\r\n" HOST "\r\n",
    "POST /echo HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x\r\nde\r\n0\r\nT: t\r\n\r\n",
    "GET /status?204 HTTP/1.1\r\n" HOST "\r\n",
    "POST /readpart?3 HTTP/1.1\r\n" HOST "Content-Length: 9\r\n\r\nunread  !",
    "\r\nGET /nowhere HTTP/1.1\r\n" HOST "\r\n",
    "GET /bigout?70000 HTTP/1.1\r\n" HOST "\r\n",
    "GET /hello HTTP/1.0\r\n\r\n",
};

static void read_mixed(struct bytes *sum, size_t i)
{
    if (strncmp(mixed[i], "HEAD", 4) == 0)
        http_read_head(&answer, &http);
    else
        http_read(&answer, &http);
    bytes_add(sum, http_timeless_head(&answer), strlen(http_timeless_head(&answer)));
    bytes_add(sum, answer.body.data, answer.body.length);
}

static void cut_at_every_byte(void)
{
    static struct bytes expected, seen, all;

    direct_shared();
    bytes_clear(&expected);
    bytes_clear(&all);
    for (size_t i = 0; i < SUITE_COUNT(mixed); i++) {
        open_and_send(mixed[i]);
        read_mixed(&expected, i);
        http_close(&http);
        bytes_add(&all, mixed[i], strlen(mixed[i]));
    }
    for (size_t cut = 0; cut <= all.length; cut++) {
        bytes_clear(&seen);
        http_open(&http, direct_local());
        if (cut == all.length) {
            http_send_cut(&http, all.data, all.length, 1); /* at all of them */
        } else {
            http_send_cut(&http, all.data, cut, cut ? cut : 1);
            http_send_bytes(&http, all.data + cut, all.length - cut);
        }
        for (size_t i = 0; i < SUITE_COUNT(mixed); i++)
            read_mixed(&seen, i);
        SUITE_CHECK(seen.length == expected.length && memcmp(seen.data, expected.data, seen.length) == 0,
                    "cut at byte %zu: other answers, %zu bytes instead of %zu", cut, seen.length, expected.length);
        SUITE_CHECK(http_end(&http, DEADLINE_USUAL_MS) == HTTP_ENDED, "cut at byte %zu: not closed", cut);
        http_close(&http);
    }
    bytes_fini(&expected);
    bytes_fini(&seen);
    bytes_fini(&all);
}

/* A handler that waits does not let the next answer pass it. */
static void slow_before_fast(void)
{
    direct_shared();
    open_and_send("GET /sleeper?150 HTTP/1.1\r\n" HOST "\r\nGET /params?next HTTP/1.1\r\n" HOST "\r\n");
    http_read(&answer, &http);
    CU_ASSERT(http_body_is(&answer, "slept 150\n"));
    http_read(&answer, &http);
    CU_ASSERT(http_has_variable(&answer, "QUERY_STRING=next"));
    http_close(&http);
}

/* -- Ends -----------------------------------------------------------------------------------------------------------
 */

static void half_closed_clients_are_answered(void)
{
    static const char *const requests[] = {
        "GET /hello HTTP/1.1\r\n" HOST "\r\n",       "GET /hello HTTP/1.0\r\n\r\n",
        "GET /sleeper?200 HTTP/1.1\r\n" HOST "\r\n", "GET /bigout?3000000 HTTP/1.1\r\n" HOST "\r\n",
        "GET /ticker HTTP/1.1\r\n" HOST "\r\n",      "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\nabc",
    };

    direct_shared();
    for (size_t i = 0; i < 2 * SUITE_COUNT(requests); i++) {
        http_open(&http, i % 2 ? direct_local() : direct_address());
        http_send(&http, requests[i / 2]);
        http_send(&http, strstr(requests[i / 2], "1.0") ? "" : "GET /params?next HTTP/1.1\r\n" HOST "\r\n");
        shutdown(http.link->fd, SHUT_WR);
        http_read(&answer, &http);
        SUITE_CHECK(answer.status == 200, "%.60s: status %d", requests[i / 2], answer.status);
        if (!answer.closes) {
            http_read(&answer, &http);
            SUITE_CHECK(http_has_variable(&answer, "QUERY_STRING=next"), "%.60s: then %d", requests[i / 2],
                        answer.status);
        }
        SUITE_CHECK(http_end(&http, DEADLINE_USUAL_MS) == HTTP_ENDED, "%.60s: stays open", requests[i / 2]);
        http_close(&http);
    }
}

static bool has_been_told(void *context)
{
    return server_log_count(context, "watcher by poll: told") > 0;
}

/* Half closed is not gone; closed is, where the socket tells one from the other: over TCP they are the same FIN. */
static void half_closed_is_not_gone(void)
{
    struct server *server = direct_start(NULL);

    http_open(&http, direct_local());
    http_send(&http, "GET /watcher?poll HTTP/1.1\r\n" HOST "\r\n");
    shutdown(http.link->fd, SHUT_WR);
    CU_ASSERT_FALSE(deadline_wait(400, has_been_told, server));
    CU_ASSERT_EQUAL(server_log_count(server, "watcher by poll"), 0);
    link_free(http.link);
    CU_ASSERT(deadline_wait(4000, has_been_told, server));
    direct_check_settled();
}

static void clients_that_leave(void)
{
    static const char *const texts[] = {
        "",
        "\r\n",
        "G",
        "GET /hello HTTP/1.1\r\n",
        "GET /hello HTTP/1.1\r\n" HOST "\r\n",
        "GET /bigout?8000000 HTTP/1.1\r\n" HOST "\r\n",
        "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\nab",
        "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 5\r\nExpect: 100-continue\r\n\r\n",
        "GET bad\r\n",
        "POST /echo HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n5\r\nab",
        "GET /ticker HTTP/1.1\r\n" HOST "\r\n",
    };

    direct_shared();
    for (size_t i = 0; i < 4 * SUITE_COUNT(texts); i++) {
        struct link *link = link_new(i & 1 ? direct_local() : direct_address());
        struct linger at_once = {.l_onoff = 1};

        link_send(link, texts[i / 4], strlen(texts[i / 4]));
        if (i & 2)
            setsockopt(link->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once); /* a reset */
        link_free(link);
    }
    http_ask(&answer, direct_address(), "GET /hello HTTP/1.1\r\n" HOST "\r\n");
    CU_ASSERT_EQUAL(answer.status, 200);
}

/* -- Listeners ------------------------------------------------------------------------------------------------------
 */

static void several_listeners(void)
{
    char options[400], first[32], second[32], socket[200], port[40];
    const char *addresses[4];

    snprintf(first, sizeof first, "127.0.0.1:%d", server_free_port());
    snprintf(second, sizeof second, "[::1]:%d", server_free_port());
    snprintf(socket, sizeof socket, "unix:%s", server_scratch("other"));
    snprintf(options, sizeof options, "http = { \"%s\", \"%s\", \"%s\" }", first, second, socket);
    if (!link_try_new("[::1]:1") && errno == EADDRNOTAVAIL)
        suite_skip("there is no IPv6 here");
    server_start(options);
    addresses[0] = first, addresses[1] = second, addresses[2] = socket;
    for (int i = 0; i < 60; i++) {
        http_ask(&answer, addresses[i % 3], "GET /params HTTP/1.1\r\n" HOST "\r\n");
        CU_ASSERT_EQUAL_FATAL(answer.status, 200);
        snprintf(port, sizeof port, "SERVER_PORT=%s", strrchr(addresses[i % 3], ':') + 1);
        SUITE_CHECK(i % 3 == 2 || http_has_variable(&answer, port), "%s: not %s", addresses[i % 3], port);
    }
    http_ask(&answer, second, "GET /params HTTP/1.1\r\n" HOST "\r\n");
    CU_ASSERT(http_has_variable(&answer, "REMOTE_ADDR=::1"));
    CU_ASSERT(http_has_variable(&answer, "SERVER_ADDR=::1"));
}

static void leaves_nothing(void)
{
    direct_check_settled();
}

static const struct suite_case cases[] = {
    {"keeps when asked to", keeps},
    {"closes when asked to", closes},
    {"length, chunks, or the end", framings},
    {"answers of every size", answers_of_every_size},
    {"HEAD is GET without a body", head_on_every_route},
    {"a thousand HEADs", thousand_heads},
    {"many requests in one write", many_in_one_write},
    {"cut at every byte: the same answers", cut_at_every_byte},
    {"a slow answer before a fast one", slow_before_fast},
    {"a half-closed client is answered", half_closed_clients_are_answered},
    {"clients that leave", clients_that_leave},
    {"connections leave nothing behind", leaves_nothing},
    {"half closed is not gone", half_closed_is_not_gone},
    {"several listeners", several_listeners},
};

int main(int argc, char **argv)
{
    return suite_main("http_connections", cases, SUITE_COUNT(cases), argc, argv);
}
