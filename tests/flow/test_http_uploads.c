/*
 * test_http_uploads.c: bodies of some size on the direct listener: Expect, 413 that the client gets to read, bodies
 * that nobody reads, that stop or come in bursts. Cases C46, C50, C60.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "deadline.h"
#include "direct.h"
#include "http.h"
#include "suite.h"

#define HOST     "Host: h\r\n"
#define EXPECT   "Expect: 100-continue\r\n"
#define CHUNKED  "Transfer-Encoding: chunked\r\n"
#define NEXT     "GET /params?next HTTP/1.1\r\n" HOST "\r\n"
#define MEBIBYTE (1 << 20)

static struct http_answer answer;
static struct http http;

static void open_and_send(const char *text)
{
    http_open(&http, direct_local());
    http_send(&http, text);
}

static void check_next(const char *what)
{
    http_send(&http, NEXT);
    http_read(&answer, &http);
    SUITE_CHECK(answer.status == 200 && http_has_variable(&answer, "QUERY_STRING=next"), "%s: then status %d", what,
                answer.status);
}

/* -- Expect ---------------------------------------------------------------------------------------------------------
 */

static void continue_comes_at_once(void)
{
    static const struct {
        const char *head, *body;
    } good[] = {
        {"POST /echo HTTP/1.1\r\n" HOST "Content-Length: 5\r\n" EXPECT "\r\n", "abcde"},
        {"POST /echo HTTP/1.1\r\n" HOST "eXPECT: 100-Continue\r\nContent-Length: 5\r\n\r\n", "abcde"},
        {"POST /echo HTTP/1.1\r\n" HOST CHUNKED EXPECT "\r\n", "5\r\nabcde\r\n0\r\n\r\n"},
        {"GET /echo HTTP/1.1\r\n" HOST "Content-Length: 5\r\n" EXPECT "\r\n", "abcde"},
    };

    direct_shared();
    for (size_t i = 0; i < 2 * SUITE_COUNT(good); i++) {
        const char *head = good[i / 2].head, *body = good[i / 2].body;

        http_open(&http, direct_local());
        http_send_cut(&http, head, strlen(head), i % 2 ? 1 : strlen(head));
        http_read_continue(&http);
        SUITE_CHECK(http_end(&http, 20) == HTTP_OPEN, "%.60s: more than 100 before the body", head);
        http_send_cut(&http, body, strlen(body), i % 2 ? 1 : strlen(body));
        http_read(&answer, &http);
        SUITE_CHECK(answer.status == 200 && answer.interim_count == 0 && http_body_is(&answer, "abcde"), "%.60s: %d",
                    head, answer.status);
        check_next(head);
        http_close(&http);
    }
}

/* The body is there already, or there is none, or the client would not know what 100 is. */
static void continue_does_not_come(void)
{
    static const struct {
        const char *text, *body;
        bool keeps;
    } cases_of[] = {
        {"POST /echo HTTP/1.1\r\n" HOST "Content-Length: 5\r\n" EXPECT "\r\nabcde", "abcde", true},
        {"POST /echo HTTP/1.1\r\n" HOST CHUNKED EXPECT "\r\n5\r\nabcde\r\n0\r\n\r\n", "abcde", true},
        {"POST /echo HTTP/1.1\r\n" HOST "Content-Length: 0\r\n" EXPECT "\r\n", "", true},
        {"POST /echo HTTP/1.1\r\n" HOST EXPECT "\r\n", "", true},
        {"POST /echo HTTP/1.0\r\nContent-Length: 5\r\n" EXPECT "\r\nabcde", "abcde", false},
        {"POST /echo HTTP/1.0\r\nContent-Length: 5\r\nExpect: other\r\n\r\nabcde", "abcde", false},
    };

    direct_shared();
    for (size_t i = 0; i < SUITE_COUNT(cases_of); i++) {
        open_and_send(cases_of[i].text);
        http_read(&answer, &http);
        SUITE_CHECK(answer.status == 200 && http_body_is(&answer, cases_of[i].body), "%.60s: %d", cases_of[i].text,
                    answer.status);
        SUITE_CHECK(answer.interim_count == 0, "%.60s: 100", cases_of[i].text);
        if (cases_of[i].keeps)
            check_next(cases_of[i].text);
        else
            http_check_closes(&answer, &http, cases_of[i].text);
        http_close(&http);
    }
}

static void no_continue_for_1_0_before_its_body(void)
{
    direct_shared();
    open_and_send("POST /echo HTTP/1.0\r\nContent-Length: 5\r\n" EXPECT "\r\n");
    CU_ASSERT_EQUAL(http_end(&http, 50), HTTP_OPEN);
    http_send(&http, "abcde");
    http_read(&answer, &http);
    CU_ASSERT(answer.status == 200 && answer.interim_count == 0 && http_body_is(&answer, "abcde"));
    http_close(&http);
}

/* The final status at once, without 100 before it, and the connection ends: the body may come or not. */
static void refused_instead_of_continue(void)
{
    static const struct {
        const char *text;
        int status;
    } bad[] = {
        {"POST /echo HTTP/1.1\r\n" HOST "Content-Length: 99999999999\r\n" EXPECT "\r\n", 413},
        {"POST /echo HTTP/1.1\r\n" HOST "Content-Length: 5\r\nExpect: other\r\n\r\n", 417},
        {"POST /echo HTTP/1.1\r\n" HOST "Content-Length: 5\r\nExpect: 100-continue, other\r\n\r\n", 417},
        {"POST /echo HTTP/1.1\r\n" HOST "Content-Length: 5\r\nExpect: 100-continue=x\r\n\r\n", 417},
        {"POST /echo HTTP/1.1\r\n" HOST "Content-Length: 5\r\nExpect:\r\n\r\n", 417},
        {"GET /hello HTTP/1.1\r\n" HOST "Expect: other\r\n\r\n", 417},
        {"POST /echo HTTP/1.1\r\n" HOST CHUNKED "Content-Length: 5\r\n" EXPECT "\r\n", 400},
        {"POST /echo HTTP/1.1\r\nContent-Length: 5\r\n" EXPECT "\r\n", 400},
    };

    direct_shared();
    for (size_t i = 0; i < SUITE_COUNT(bad); i++) {
        open_and_send(bad[i].text);
        http_read(&answer, &http);
        SUITE_CHECK(answer.status == bad[i].status && answer.interim_count == 0, "%.90s: %d, %d times 100", bad[i].text,
                    answer.status, answer.interim_count);
        http_check_closes(&answer, &http, bad[i].text);
        http_close(&http);
    }
}

/* A route that is not there wants no body. The client may send it all the same, or go on without: only one of them is
 * right on a kept connection, so either the body is waited for or the connection ends. */
static void no_continue_without_a_route(void)
{
    direct_shared();
    open_and_send("POST /nowhere HTTP/1.1\r\n" HOST "Content-Length: 5\r\n" EXPECT "\r\n");
    http_read(&answer, &http);
    CU_ASSERT_EQUAL(answer.status, 404);
    CU_ASSERT_EQUAL(answer.interim_count, 0);
    if (answer.closes) {
        http_check_closes(&answer, &http, "404");
    } else {
        http_send(&http, "abcde");
        check_next("404");
    }
    http_close(&http);
}

static void continue_in_its_turn(void)
{
    direct_shared();
    open_and_send("GET /params?first HTTP/1.1\r\n" HOST "\r\nPOST /echo HTTP/1.1\r\n" HOST
                  "Content-Length: 5\r\n" EXPECT "\r\n");
    http_read(&answer, &http);
    CU_ASSERT(answer.interim_count == 0 && http_has_variable(&answer, "QUERY_STRING=first"));
    http_read_continue(&http);
    http_send(&http, "abcde");
    http_read(&answer, &http);
    CU_ASSERT(answer.status == 200 && http_body_is(&answer, "abcde"));
    http_close(&http);
}

/* A handler that does not want the body may answer without it. */
static void unread_body_that_never_comes(void)
{
    direct_start("body_timeout = 1");
    open_and_send("POST /hello HTTP/1.1\r\n" HOST "Content-Length: 200000\r\n" EXPECT "\r\n");
    http_read(&answer, &http);
    SUITE_CHECK(answer.status == 200 || answer.status == 408, "status %d", answer.status);
    CU_ASSERT(http_end(&http, DEADLINE_USUAL_MS) == HTTP_ENDED);
    http_close(&http);
    direct_check_settled();
}

/* -- Over the limit -------------------------------------------------------------------------------------------------
 */

enum body_form { LENGTH, CHUNKS };

static unsigned char pattern_byte(size_t i)
{
    return (unsigned char)(i * 31 + (i >> 11));
}

/* Head and body of a POST. */
static void post_of(struct bytes *request, const char *path, enum body_form form, const char *fields, size_t length)
{
    char text[300];
    size_t chunk = form == CHUNKS ? 50000 : length;

    bytes_clear(request);
    snprintf(text, sizeof text, "POST %s HTTP/1.1\r\n" HOST "%s", path, fields);
    bytes_add(request, text, strlen(text));
    if (form == LENGTH)
        snprintf(text, sizeof text, "Content-Length: %zu\r\n\r\n", length);
    bytes_add(request, form == LENGTH ? text : CHUNKED "\r\n", strlen(form == LENGTH ? text : CHUNKED "\r\n"));
    for (size_t at = 0, part; at < length; at += part) {
        part = length - at < chunk ? length - at : chunk;
        snprintf(text, sizeof text, "%zx\r\n", part);
        if (form == CHUNKS)
            bytes_add(request, text, strlen(text));
        bytes_add_fill(request, 0, part);
        for (size_t i = 0; i < part; i++)
            request->data[request->length - part + i] = pattern_byte(at + i);
        if (form == CHUNKS)
            bytes_add(request, "\r\n", 2);
    }
    if (form == CHUNKS)
        bytes_add(request, "0\r\n\r\n", 5);
}

static void check_pattern(size_t length, const char *what)
{
    SUITE_CHECK(answer.status == 200, "%s: status %d: %.100s", what, answer.status, bytes_text(&answer.body));
    SUITE_CHECK(answer.body.length == length, "%s: %zu bytes of %zu", what, answer.body.length, length);
    for (size_t i = 0; i < length; i++)
        SUITE_CHECK(answer.body.data[i] == pattern_byte(i), "%s: byte %zu is another", what, i);
}

/* Every byte is sent before the client looks for an answer: the server must have read on. */
static void check_413(const char *address, enum body_form form, const char *fields, size_t length)
{
    static struct bytes request;
    char what[100];
    size_t sent;

    snprintf(what, sizeof what, "%zu bytes, %s, %.8s", length, form == CHUNKS ? "chunks" : "length", fields);
    post_of(&request, "/echo", form, fields, length);
    http_open(&http, address);
    sent = link_try_send(http.link, request.data, request.length, DEADLINE_USUAL_MS);
    SUITE_CHECK(sent == request.length, "%s: %zu bytes could be sent", what, sent);
    http_read(&answer, &http);
    SUITE_CHECK(answer.status == 413, "%s: status %d", what, answer.status);
    SUITE_CHECK(answer.closes, "%s: no Connection: close", what);
    shutdown(http.link->fd, SHUT_WR);
    http_check_closes(&answer, &http, what);
    http_close(&http);
    bytes_fini(&request);
}

static void bodies_over_the_limit(void)
{
    static const size_t lengths[] = {MEBIBYTE + 1, 10 * MEBIBYTE};

    direct_start("max_body = 1M");
    for (size_t i = 0; i < SUITE_COUNT(lengths); i++) {
        for (int form = LENGTH; form <= CHUNKS; form++) {
            check_413(direct_address(), form, "", lengths[i]);
            check_413(direct_address(), form, EXPECT, lengths[i]);
            check_413(direct_local(), form, "", lengths[i]);
        }
    }
    direct_check_settled();
}

/* Expect spares the body: the answer comes first. */
static void over_the_limit_before_the_body(void)
{
    direct_start("max_body = 1M\nbody_timeout = 1");
    open_and_send("POST /echo HTTP/1.1\r\n" HOST "Content-Length: 1048577\r\n\r\n"); /* also without */
    http_read(&answer, &http);
    CU_ASSERT_EQUAL(answer.status, 413);
    http_check_closes(&answer, &http, "413 without a body"); /* though the client neither sends nor closes */
    http_close(&http);
    direct_check_settled();
}

/* Whoever goes on sending for ever is not listened to for ever. */
static void endless_upload_is_cut(void)
{
    static char piece[65536];
    int64_t end_ms = deadline_now_ms() + DEADLINE_USUAL_MS;
    size_t part;

    direct_start("max_body = 1M\nbody_timeout = 1");
    open_and_send("POST /echo HTTP/1.1\r\n" HOST "Content-Length: 99999999999\r\n\r\n");
    http_read(&answer, &http);
    CU_ASSERT_EQUAL(answer.status, 413);
    do {
        part = link_try_send(http.link, piece, sizeof piece, DEADLINE_USUAL_MS);
        poll(NULL, 0, 2);
    } while (part == sizeof piece && deadline_now_ms() < end_ms);
    SUITE_CHECK(part < sizeof piece, "still listened to after %d ms", DEADLINE_USUAL_MS);
    http_close(&http);
    direct_check_settled();
}

static void around_the_limit(void)
{
    static struct bytes request;
    char options[400];

    snprintf(options, sizeof options, "max_body = 1M\napp \"/small\" {\n file = \"%s\"\n max_body = 10\n}",
             server_app("echo"));
    direct_start(options);
    for (int form = LENGTH; form <= CHUNKS; form++) {
        for (size_t length = MEBIBYTE - 1; length <= MEBIBYTE; length++) {
            post_of(&request, "/echo", form, "", length);
            http_open(&http, direct_address());
            http_send_bytes(&http, request.data, request.length);
            http_read(&answer, &http);
            check_pattern(length, "below the limit");
            check_next("below the limit");
            http_close(&http);
        }
        for (size_t length = 10; length <= 11; length++) {
            post_of(&request, "/small", form, "", length);
            http_open(&http, direct_address());
            http_send_bytes(&http, request.data, request.length);
            http_read(&answer, &http);
            SUITE_CHECK(answer.status == (length == 10 ? 200 : 413), "%zu bytes, limit 10: status %d", length,
                        answer.status);
            http_close(&http);
        }
    }
    bytes_fini(&request);
    direct_check_settled();
}

/* -- Bodies that come slowly, in part, or for nobody
 * -------------------------------------------------------------------
 */

static void large_upload_in_bursts(void)
{
    static struct bytes request;
    const size_t length = 10 * MEBIBYTE;

    direct_shared();
    for (int form = LENGTH; form <= CHUNKS; form++) {
        post_of(&request, "/echo", form, form == CHUNKS ? EXPECT : "", length);
        http_open(&http, direct_local());
        for (size_t at = 0; at < request.length; at += MEBIBYTE / 2 + 7) {
            size_t left = request.length - at, part = left < MEBIBYTE / 2 + 7 ? left : MEBIBYTE / 2 + 7;

            http_send_bytes(&http, request.data + at, part);
            http_wait_taken(&http);
        }
        http_read(&answer, &http);
        check_pattern(length, form == CHUNKS ? "chunks" : "length");
        check_next("10 MiB");
        http_close(&http);
    }
    bytes_fini(&request);
}

/* Kept or closed, but never taken for requests. */
static void unread_bodies(void)
{
    static const size_t lengths[] = {11, 8192, 65536, 100 * 1024, MEBIBYTE, 4 * MEBIBYTE};
    static const char *const paths[] = {"/readpart?10", "/hello", "/nowhere", "/status?404", "/bigout?100000"};
    static struct bytes request;

    direct_shared();
    for (size_t i = 0; i < SUITE_COUNT(lengths) * SUITE_COUNT(paths) * 2; i++) {
        size_t length = lengths[i / 2 % SUITE_COUNT(lengths)];
        const char *path = paths[i / 2 / SUITE_COUNT(lengths)];

        post_of(&request, path, i % 2 ? CHUNKS : LENGTH, "", length);
        http_open(&http, direct_address());
        link_try_send(http.link, request.data, request.length, DEADLINE_USUAL_MS);
        http_read(&answer, &http);
        SUITE_CHECK(answer.status == 200 || answer.status == 404, "%s, %zu bytes: status %d", path, length,
                    answer.status);
        if (!answer.closes)
            check_next(path);
        SUITE_CHECK(!answer.closes || length > 65536, "%s: %zu unread bytes cost the connection", path, length);
        http_close(&http);
    }
    bytes_fini(&request);
}

/* The client ends its side, or all, in the middle of a body, before or after the handler was called. */
static void cut_bodies(void)
{
    static struct bytes request;

    direct_shared();
    for (int i = 0; i < 8; i++) {
        size_t length = i & 4 ? 300000 : 1000;

        post_of(&request, "/echo", i & 1 ? CHUNKS : LENGTH, "", length);
        http_open(&http, direct_local());
        http_send_bytes(&http, request.data, request.length - 500);
        http_wait_taken(&http);
        if (i & 2) {
            shutdown(http.link->fd, SHUT_WR);
            if (http_end(&http, DEADLINE_USUAL_MS) == HTTP_MORE) {
                http_read(&answer, &http);
                SUITE_CHECK(answer.status == 400 || answer.status == 408, "cut %d: status %d", i, answer.status);
            }
            SUITE_CHECK(http_end(&http, DEADLINE_USUAL_MS) == HTTP_ENDED, "cut %d: still open", i);
        }
        http_close(&http);
    }
    bytes_fini(&request);
}

static void leaves_nothing(void)
{
    direct_check_settled();
}

static const struct suite_case cases[] = {
    {"100 comes at once", continue_comes_at_once},
    {"100 does not come when it is of no use", continue_does_not_come},
    {"100 does not come to HTTP/1.0", no_continue_for_1_0_before_its_body},
    {"the final status comes instead of 100", refused_instead_of_continue},
    {"no 100 for a route that is not there", no_continue_without_a_route},
    {"100 comes in its turn", continue_in_its_turn},
    {"10 MiB in bursts", large_upload_in_bursts},
    {"unread bodies", unread_bodies},
    {"bodies that end early", cut_bodies},
    {"uploads leave nothing behind", leaves_nothing},
    {"bodies over the limit: 413 is read", bodies_over_the_limit},
    {"413 comes before the body", over_the_limit_before_the_body},
    {"an endless upload is cut", endless_upload_is_cut},
    {"bodies around the limits", around_the_limit},
    {"an unread body that never comes", unread_body_that_never_comes},
};

int main(int argc, char **argv)
{
    return suite_main("http_uploads", cases, SUITE_COUNT(cases), argc, argv);
}
