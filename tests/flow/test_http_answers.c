/*
 * test_http_answers.c: what becomes of an application's answer on the direct listener: its Status and header lines, and
 * everything in them that must not reach a client. Cases C16, C42, C102.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "deadline.h"
#include "direct.h"
#include "http.h"
#include "suite.h"

#define HOST "Host: h\r\n"
#define NEXT "GET /params?next HTTP/1.1\r\n" HOST "\r\n"

static struct http_answer answer;
static struct http http;

static void ask(const char *path)
{
    char text[200];

    direct_shared();
    snprintf(text, sizeof text, "GET %s HTTP/1.1\r\n" HOST "\r\n", path);
    http_ask(&answer, direct_address(), text);
}

/* The same with another request behind it, whose answer must be its own. */
static void ask_and_go_on(const char *path)
{
    static struct http_answer next;
    char text[300];

    snprintf(text, sizeof text, "GET %s HTTP/1.1\r\n" HOST "\r\n" NEXT, path);
    http_open(&http, direct_local());
    http_send(&http, text);
    http_read(&answer, &http);
    if (!answer.closes) {
        http_read(&next, &http);
        SUITE_CHECK(next.status == 200 && http_has_variable(&next, "QUERY_STRING=next"), "%s: then status %d", path,
                    next.status);
        SUITE_CHECK(http_end(&http, 5) == HTTP_OPEN, "%s: more than two answers", path);
    } else {
        http_check_closes(&answer, &http, path);
    }
    http_close(&http);
}

static bool status_line_is(const char *expected)
{
    const char *line = bytes_text(&answer.head);

    return strncmp(line, expected, strlen(expected)) == 0 && strncmp(line + strlen(expected), "\r\n", 2) == 0;
}

/* -- Answers that are refused -----------------------------------------------------------------------------------------
 */

static void bad_headers(void)
{
    static const char *const bad[] = {"bare-cr",     "nul",         "no-blank-line", "no-header",
                                      "no-colon",    "empty-name",  "space-in-name", "status-text",
                                      "status-99",   "status-1000", "status-100",    "status-twice",
                                      "status-line", "length-text", "length-twice",  "length-short",
                                      "length-long", "folded",      "call-crlf",     "transfer-encoding"};
    char path[80];

    direct_shared();
    for (size_t i = 0; i < SUITE_COUNT(bad); i++) {
        snprintf(path, sizeof path, "/bad_header?%s", bad[i]);
        ask_and_go_on(path);
        SUITE_CHECK(answer.status == 500, "%s: status %d", bad[i], answer.status);
        SUITE_CHECK(!strstr(bytes_text(&answer.head), "X-"), "%s: %s", bad[i], bytes_text(&answer.head));
        SUITE_CHECK(strstr(bytes_text(&answer.body), "500 Internal Server Error"), "%s: %s", bad[i],
                    bytes_text(&answer.body));
        snprintf(path, sizeof path, "HEAD /bad_header?%s HTTP/1.0\r\n\r\n", bad[i]);
        http_ask(&answer, direct_address(), path);
        SUITE_CHECK(answer.status == (strcmp(bad[i], "length-short") && strcmp(bad[i], "length-long") ? 500 : 200),
                    "HEAD, %s: status %d", bad[i], answer.status);
    }
    CU_ASSERT(server_log_count(direct_shared(), "/bad_header") > 0);
}

static void nothing_written(void)
{
    direct_shared();
    ask_and_go_on("/nothing?0");
    CU_ASSERT_EQUAL(answer.status, 500);
    ask_and_go_on("/nothing?3");
    CU_ASSERT_EQUAL(answer.status, 500);
    CU_ASSERT(server_log_count(direct_shared(), "/nothing") > 0);
}

/* All that comes on the connection until it ends; a surplus would be in it. */
static void read_all(const char *path, struct bytes *all)
{
    char text[300], piece[4096];
    long got;

    snprintf(text, sizeof text, "GET %s HTTP/1.1\r\n" HOST "\r\n" NEXT, path);
    http_open(&http, direct_local());
    http_send(&http, text);
    bytes_clear(all);
    while ((got = link_try_read(http.link, piece, sizeof piece, DEADLINE_USUAL_MS)) > 0)
        bytes_add(all, piece, (size_t)got);
    SUITE_CHECK(got == 0, "%s: the connection stays open", path);
    http_close(&http);
}

static void lengths_that_prove_wrong(void)
{
    static struct bytes all;
    const char *body;

    direct_shared();
    read_all("/bad_header?flushed-4", &all);
    body = strstr(bytes_text(&all), "\r\n\r\n");
    SUITE_CHECK(body && strcmp(body, "\r\n\r\nbody") == 0, "a surplus: %.300s", bytes_text(&all));
    read_all("/bad_header?flushed-300", &all);
    body = strstr(bytes_text(&all), "\r\n\r\n");
    SUITE_CHECK(body && strlen(body) < 4 + 300 && !strstr(body, "QUERY_STRING=next"), "filled up: %.300s",
                bytes_text(&all));
    CU_ASSERT(server_log_waits_for(direct_shared(), "route /bad_header wrote more than its Content-Length", 2000));
    CU_ASSERT(server_log_waits_for(direct_shared(), "route /bad_header wrote less than its Content-Length", 2000));
    bytes_fini(&all);
}

/* -- Answers that are good
 * ----------------------------------------------------------------------------------------------
 */

static void status_lines(void)
{
    static const struct {
        const char *query, *line;
    } good[] = {
        {"/hello", "HTTP/1.1 200 OK"},
        {"/status?200+OK", "HTTP/1.1 200 OK"},
        {"/status?200+Fine", "HTTP/1.1 200 Fine"},
        {"/status?404+Gone+For+Now", "HTTP/1.1 404 Gone For Now"},
        {"/status?418+Teapot", "HTTP/1.1 418 Teapot"},
        {"/status?404", "HTTP/1.1 404 Not Found"},
        {"/status?301", "HTTP/1.1 301 Moved Permanently"},
        {"/status?503", "HTTP/1.1 503 Service Unavailable"},
        {"/status?204", "HTTP/1.1 204 No Content"},
        {"/status?304", "HTTP/1.1 304 Not Modified"},
        {"/nowhere", "HTTP/1.1 404 Not Found"},
        {"/nothing?0", "HTTP/1.1 500 Internal Server Error"},
        {"/bad_header?location", "HTTP/1.1 302 Found"},
        {"/bad_header?location-alone", "HTTP/1.1 302 Found"},
        {"/bad_header?location-status", "HTTP/1.1 307 Over There"},
    };

    direct_shared();
    for (size_t i = 0; i < SUITE_COUNT(good); i++) {
        ask_and_go_on(good[i].query);
        SUITE_CHECK(status_line_is(good[i].line), "%s: %.60s", good[i].query, bytes_text(&answer.head));
        SUITE_CHECK(!http_field(&answer, "Status"), "%s: Status reaches the client", good[i].query);
    }
    for (int status = 200; status < 600; status++) { /* whatever has no name */
        char path[40];

        snprintf(path, sizeof path, "/status?%d", status);
        ask(path);
        SUITE_CHECK(answer.status == status, "%d becomes %d", status, answer.status);
    }
}

static void locations(void)
{
    ask("/bad_header?location");
    CU_ASSERT(answer.status == 302 && http_body_is(&answer, "body"));
    CU_ASSERT_STRING_EQUAL(http_field(&answer, "Location"), "/elsewhere");
    ask("/bad_header?location-alone");
    CU_ASSERT(answer.status == 302 && http_body_is(&answer, ""));
    CU_ASSERT_STRING_EQUAL(http_field(&answer, "Location"), "http://elsewhere/");
    ask("/bad_header?location-status");
    CU_ASSERT_STRING_EQUAL(http_field(&answer, "Location"), "/elsewhere");
}

static void own_lengths(void)
{
    ask("/bad_header?own-length");
    CU_ASSERT(answer.status == 200 && answer.framing == HTTP_LENGTH && http_body_is(&answer, "body"));
    ask("/echo"); /* says 0 */
    CU_ASSERT(answer.status == 200 && answer.framing == HTTP_LENGTH && http_body_is(&answer, ""));
}

/* What belongs to one connection is the server's to say: an application's word neither closes nor keeps. */
static void fields_of_the_connection(void)
{
    static const char *const paths[] = {"/bad_header?connection-close", "/bad_header?connection-keep-alive",
                                        "/bad_header?upgrade"};

    direct_shared();
    for (size_t i = 0; i < SUITE_COUNT(paths); i++) {
        char text[200];

        ask_and_go_on(paths[i]);
        SUITE_CHECK(answer.status == 200 && http_body_is(&answer, "body"), "%s: status %d", paths[i], answer.status);
        SUITE_CHECK(!http_field(&answer, "Keep-Alive") && !http_field(&answer, "Upgrade") &&
                        !http_field(&answer, "Trailer"),
                    "%s: %.300s", paths[i], bytes_text(&answer.head));
        snprintf(text, sizeof text, "GET %s HTTP/1.0\r\n\r\n", paths[i]);
        http_open(&http, direct_local());
        http_send(&http, text);
        http_read(&answer, &http);
        http_check_closes(&answer, &http, text);
        http_close(&http);
    }
}

static void other_fields(void)
{
    static const char cookies[] = "Set-Cookie: a=1\r\nSet-Cookie: b=2\r\n";

    ask("/bad_header?cookies");
    CU_ASSERT(strstr(bytes_text(&answer.head), cookies) != NULL);
    ask("/bad_header?server");
    CU_ASSERT_STRING_EQUAL(http_field(&answer, "Server"), "other/1");
    ask("/hello");
    CU_ASSERT_STRING_EQUAL(http_field(&answer, "Server"), "millrace");
    ask("/bad_header?call-good");
    CU_ASSERT_STRING_EQUAL(http_field(&answer, "X-Value"), "plain");
    ask("/bad_header?good-lf-only"); /* becomes CR LF, or http_ask would not take it */
    CU_ASSERT(answer.status == 200 && http_body_is(&answer, "body"));
}

static void errors_go_to_the_log(void)
{
    ask("/errout?70000");
    CU_ASSERT(answer.status == 200 && http_body_is(&answer, "clean body"));
    ask("/talker");
    CU_ASSERT(http_body_is(&answer, "nothing but the body"));
    CU_ASSERT(server_log_waits_for(direct_shared(), "talker says this to the log", 2000));
    CU_ASSERT(server_log_waits_for(direct_shared(), "eeeee", 2000));
}

/* Lines leave when they are flushed, each in its chunk. */
static void flushed_lines(void)
{
    int64_t last_ms = deadline_now_ms();
    size_t seen = 0;

    direct_shared();
    http_open(&http, direct_address());
    http_send(&http, "GET /ticker HTTP/1.1\r\n" HOST "\r\n");
    for (int i = 0; i < 5; i++) {
        static char all[4096];
        char line[16];

        snprintf(line, sizeof line, "tick %d\n", i);
        while (seen == 0 || !strstr(all, line)) {
            long got = link_try_read(http.link, all + seen, sizeof all - 1 - seen, 2000);

            SUITE_CHECK(got > 0, "nothing more after %d lines", i);
            seen += (size_t)got;
            all[seen] = '\0';
        }
        SUITE_CHECK(deadline_now_ms() - last_ms < (SERVER_SANITIZED ? 1000 : 300), "line %d came after %d ms", i,
                    (int)(deadline_now_ms() - last_ms));
        SUITE_CHECK(i == 0 || deadline_now_ms() - last_ms >= 50, "line %d came with the one before", i);
        last_ms = deadline_now_ms();
    }
    http_close(&http);
}

/* Any byte in any place of a body. */
static void bodies_of_every_byte(void)
{
    static const char head[] = "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 256000\r\n\r\n";
    static struct bytes request;

    direct_shared();
    bytes_clear(&request);
    bytes_add(&request, head, strlen(head));
    for (int i = 0; i < 256000; i++)
        bytes_add(&request, &(unsigned char){(unsigned char)(i % 256)}, 1);
    http_open(&http, direct_address());
    http_send_bytes(&http, request.data, request.length);
    http_read(&answer, &http);
    CU_ASSERT(answer.body.length == 256000 && memcmp(answer.body.data, request.data + strlen(head), 256000) == 0);
    http_close(&http);
    bytes_fini(&request);
}

static void leaves_nothing(void)
{
    direct_check_settled();
}

/* A handler that ends its worker: the connection ends without anything that could be taken for a whole answer. */
static void crashes(void)
{
    struct server *server = direct_start(NULL);
    struct process_children before = server_workers_without(server, 0);

    http_open(&http, direct_address());
    http_send(&http, "GET /crash HTTP/1.1\r\n" HOST "\r\n");
    SUITE_CHECK(http_end(&http, DEADLINE_USUAL_MS) != HTTP_MORE, "an answer: %.60s", bytes_text(&http.input));
    http_close(&http);
    CU_ASSERT(server_lost_one(&before, DEADLINE_USUAL_MS));
    CU_ASSERT(server_log_waits_for(server, "GET /crash", 5000));
    for (int i = 0; i < 10; i++) {
        http_ask(&answer, direct_address(), "GET /hello HTTP/1.1\r\n" HOST "\r\n");
        CU_ASSERT_EQUAL_FATAL(answer.status, 200);
    }
    server_workers_without(server, 0);
}

static const struct suite_case cases[] = {
    {"bad headers: 500", bad_headers},
    {"nothing written: 500", nothing_written},
    {"lengths that prove wrong", lengths_that_prove_wrong},
    {"status lines", status_lines},
    {"locations", locations},
    {"own lengths", own_lengths},
    {"fields of the connection", fields_of_the_connection},
    {"other fields", other_fields},
    {"errors go to the log", errors_go_to_the_log},
    {"flushed lines leave at once", flushed_lines},
    {"bodies of every byte", bodies_of_every_byte},
    {"answers leave nothing behind", leaves_nothing},
    {"a crash is no answer", crashes},
};

int main(int argc, char **argv)
{
    return suite_main("http_answers", cases, SUITE_COUNT(cases), argc, argv);
}
