/*
 * test_forms.c: mr_body, mr_query and mr_form in the real server, over FastCGI and over HTTP. Cases C60, C69.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "answer.h"
#include "direct.h"
#include "http.h"
#include "suite.h"

#define FORM      "application/x-www-form-urlencoded"
#define HOST      "Host: h\r\n"
#define POST_FORM " HTTP/1.1\r\n" HOST "Content-Type: " FORM "\r\n"

static struct answer answer;
static struct http_answer http_answer;
static struct http http;

/* -- One request both ways
 * ---------------------------------------------------------------------------------------------
 */

struct question {
    const char *path, *query, *type, *body; /* body NULL: none */
    int status;
    const char *said; /* the body, NULL: whatever */
};

static void ask_fastcgi(const struct question *question)
{
    struct record_request request = {.path = question->path,
                                     .query = question->query,
                                     .type = question->type,
                                     .body = question->body,
                                     .body_length = question->body ? strlen(question->body) : 0};

    answer_ask_once(&answer, direct_shared()->local, &request);
    SUITE_CHECK(answer_status(&answer) == question->status, "FastCGI %s?%s %s: %d", question->path,
                question->query ? question->query : "", question->body ? question->body : "", answer_status(&answer));
    SUITE_CHECK(!question->said || answer_body_is(&answer, question->said), "FastCGI %s: %.200s", question->path,
                bytes_text(&answer.out));
}

static void ask_http(const struct question *question)
{
    char text[4096];
    int length = snprintf(text, sizeof text, "%s %s%s%s HTTP/1.1\r\n" HOST, question->body ? "POST" : "GET",
                          question->path, question->query ? "?" : "", question->query ? question->query : "");

    if (question->type)
        length += snprintf(text + length, sizeof text - (size_t)length, "Content-Type: %s\r\n", question->type);
    if (question->body)
        length +=
            snprintf(text + length, sizeof text - (size_t)length, "Content-Length: %zu\r\n", strlen(question->body));
    snprintf(text + length, sizeof text - (size_t)length, "\r\n%s", question->body ? question->body : "");
    http_ask(&http_answer, direct_address(), text);
    SUITE_CHECK(http_answer.status == question->status, "HTTP %s?%s %s: %d", question->path,
                question->query ? question->query : "", question->body ? question->body : "", http_answer.status);
    SUITE_CHECK(!question->said || http_body_is(&http_answer, question->said), "HTTP %s: %.200s", question->path,
                bytes_text(&http_answer.body));
}

static void ask_all(const struct question *questions, size_t count)
{
    direct_shared();
    for (size_t i = 0; i < count; i++) {
        ask_fastcgi(&questions[i]);
        ask_http(&questions[i]);
    }
    direct_check_settled();
}

static void queries(void)
{
    static const struct question questions[] = {
        {"/asker/query/a", NULL, NULL, NULL, 200, "-"},
        {"/asker/query/a", "", NULL, NULL, 200, "-"},
        {"/asker/query/a", "a=b", NULL, NULL, 200, "[b]"},
        {"/asker/query/a", "a", NULL, NULL, 200, "[]"},
        {"/asker/query/a/query/b/query/c", "b=2&a=1&a=3", NULL, NULL, 200, "[1][2]-"},
        {"/asker/query/a", "a=x+y%2B%26%3d%3C", NULL, NULL, 200, "[x y+&=<]"},
        {"/asker/query/a", "%61=%C3%BC", NULL, NULL, 200, "[\xc3\xbc]"},
        {"/asker/query/a", "a=b%00c", NULL, NULL, 400, NULL},
        {"/asker/query/a", "a=%", NULL, NULL, 400, NULL},
        {"/asker/query/a", "a=%zz", NULL, NULL, 400, NULL},
        {"/asker/query/a", "a=%FC", NULL, NULL, 400, NULL},
        {"/asker/query/a", "a=%C0%80", NULL, NULL, 400, NULL},
        {"/asker/query/a", "a=%ED%A0%80", NULL, NULL, 400, NULL},
        /* what nobody asked for harms nobody */
        {"/asker/query/a", "b=%00&a=1&%zz=2&a%00=3", NULL, NULL, 200, "[1]"},
        {"/asker/query/b", "a=1&a%00b=2", NULL, NULL, 200, "-"},
        {"/asker", "a=%00", NULL, NULL, 200, ""},
    };

    ask_all(questions, SUITE_COUNT(questions));
}

static void forms(void)
{
    static const struct question questions[] = {
        {"/asker/form/a", NULL, FORM, "a=b", 200, "[b]"},
        {"/asker/form/a/form/b/form/a", NULL, FORM, "a=1&b=2", 200, "[1][2][1]"},
        {"/asker/form/a/query/a", "a=query", FORM, "a=form", 200, "[form][query]"},
        {"/asker/form/a", NULL, FORM, "a=line%0D%0Aline+two", 200, "[line\r\nline two]"},
        {"/asker/form/a", NULL, FORM, "a=%F0%9F%98%80\xf0\x9f\x98\x80", 200, "[\xf0\x9f\x98\x80\xf0\x9f\x98\x80]"},
        {"/asker/form/a", NULL, FORM, "a=%00", 400, NULL},
        {"/asker/form/a", NULL, FORM, "a=\xff", 400, NULL},
        {"/asker/form/a", NULL, FORM, "a=%4", 400, NULL},
        {"/asker/form/a", NULL, FORM, "b=%00&a=1", 200, "[1]"},
        /* the type */
        {"/asker/form/a", NULL, FORM "; charset=UTF-8", "a=b", 200, "[b]"},
        {"/asker/form/a", NULL, "Application/X-WWW-Form-URLEncoded ;charset=utf-8", "a=b", 200, "[b]"},
        {"/asker/form/a", NULL, "multipart/form-data; boundary=x", "--x\r\n", 415, NULL},
        {"/asker/form/a", NULL, "text/plain", "a=b", 415, NULL},
        {"/asker/form/a", NULL, FORM "x", "a=b", 415, NULL},
        {"/asker/form/a", NULL, "text/plain; " FORM, "a=b", 415, NULL},
        {"/asker/form/a", NULL, NULL, "a=b", 415, NULL},
        {"/asker/query/a", "a=1", "text/plain", "a=b", 200, "[1]"}, /* nobody asked */
        /* no body */
        {"/asker/form/a", "a=1", NULL, NULL, 200, "-"},
        {"/asker/form/a", NULL, FORM, "", 200, "-"},
        {"/asker/form/a", NULL, "text/plain", "", 200, "-"},
    };

    ask_all(questions, SUITE_COUNT(questions));
    CU_ASSERT(server_log_count(direct_shared(), "answered 415: mr_form does not read multipart/form-data") > 0);
    CU_ASSERT(server_log_count(direct_shared(), "answered 400: the value of a field") > 0);
}

static void bodies(void)
{
    static const struct question questions[] = {
        {"/asker/body", NULL, NULL, NULL, 200, "0[]"},
        {"/asker/body", NULL, NULL, "", 200, "0[]"},
        {"/asker/body", NULL, "text/plain", "any bytes", 200, "9[any bytes]"},
        {"/asker/body/body", NULL, NULL, "twice", 200, "5[twice]5[twice]"},
        {"/asker/body/in", NULL, NULL, "both ways", 200, "9[both ways][both ways]"},
        {"/asker/body/in/body", NULL, NULL, "abc", 200, "3[abc][abc]3[abc]"},
        {"/asker/body/form/a/body", NULL, FORM, "a=%41", 200, "5[a=%41][A]5[a=%41]"},
        {"/asker/form/a/in", NULL, FORM, "a=%41", 200, "[A][a=%41]"},
        {"/asker/in/body", NULL, NULL, NULL, 200, "[]0[]"}, /* nothing was read: there was nothing */
        {"/asker/byte/body", NULL, NULL, "abc", 500, NULL},
        {"/asker/byte/form/a", NULL, FORM, "a=b", 500, NULL},
        {"/asker/byte/form/a", NULL, "text/plain", "a=b", 415, NULL},
    };

    ask_all(questions, SUITE_COUNT(questions));
}

/* What has left is not taken back, and the connection goes on. */
static void an_answer_that_has_begun(void)
{
    static const struct question questions[] = {
        {"/asker/flush/query/a/query/b/flush/query/b", "a=%00&b=1", NULL, NULL, 200, "-[1][1]"},
        {"/asker/flush/form/a", NULL, "text/plain", "a=b", 200, "-"},
        {"/asker/flush/byte/body", NULL, NULL, "abc", 200, "[a]-"},
    };

    ask_all(questions, SUITE_COUNT(questions));
}

/* The first fault is the one that is answered. */
static void two_faults(void)
{
    static const struct question questions[] = {
        {"/asker/query/a/form/a", "a=%00", "text/plain", "b", 400, NULL},
        {"/asker/form/a/query/a", "a=%00", "text/plain", "b", 415, NULL},
    };

    ask_all(questions, SUITE_COUNT(questions));
}

/* -- Many fields ------------------------------------------------------------------------------------------------------
 */

static const char *many_fields(int count)
{
    static char text[1100 * 12];
    size_t length = 0;

    for (int i = 0; i < count; i++)
        length += (size_t)snprintf(text + length, sizeof text - length, "%sf%d=%d", i > 0 ? "&" : "", i, i);
    return text;
}

static void a_thousand_fields(void)
{
    for (int count = 999; count <= 1001; count++) {
        const char *body = many_fields(count);
        struct record_request request = {.path = "/asker/many/1000", .type = FORM, .body = body};
        struct record_request query = {.path = "/asker/query/f1", .query = body};
        char said[16];

        request.body_length = strlen(body);
        answer_ask_once(&answer, direct_shared()->local, &request);
        CU_ASSERT_EQUAL(answer_status(&answer), count > 1000 ? 400 : 200);
        snprintf(said, sizeof said, "%d", count);
        CU_ASSERT(count > 1000 || answer_body_is(&answer, said));
        answer_ask_once(&answer, direct_shared()->local, &query);
        CU_ASSERT_EQUAL(answer_status(&answer), count > 1000 ? 400 : 200);
    }
    direct_check_settled();
}

/* -- Bodies in pieces
 * --------------------------------------------------------------------------------------------------
 */

static const char small_form[] = "a=%C3%BC+b&c=%3D";

static void small_form_in_records(void)
{
    struct server *server = direct_shared();

    for (size_t piece = 1; piece <= sizeof small_form; piece++) {
        struct bytes bytes = {0}, params = {0};
        struct link *link = link_new(server->local);

        record_params(&params, &(struct record_request){.path = "/asker/form/a/form/c/body",
                                                        .type = FORM,
                                                        .method = "POST",
                                                        .no_content_length = piece % 2 != 0,
                                                        .body_length = sizeof small_form - 1});
        record_begin(&bytes, 1, RECORD_RESPONDER, RECORD_CLOSE);
        record_stream(&bytes, RECORD_PARAMS, 1, params.data, params.length, 0);
        record_stream(&bytes, RECORD_STDIN, 1, small_form, sizeof small_form - 1, piece);
        link_send(link, bytes.data, bytes.length);
        answer_read(&answer, link, 1, 5000);
        SUITE_CHECK(answer_body_is(&answer, "[\xc3\xbc b][=]16[a=%C3%BC+b&c=%3D]"), "pieces of %zu: %s", piece,
                    bytes_text(&answer.out));
        link_free(link);
        bytes_fini(&bytes);
        bytes_fini(&params);
    }
}

/* Cut at every place, in a chunk as well. */
static void small_form_at_every_split(void)
{
    direct_shared();
    for (size_t at = 1; at < sizeof small_form - 1; at++) {
        char chunks[128];

        http_open(&http, direct_local());
        http_send(&http, "POST /asker/form/a/form/c" POST_FORM "Content-Length: 16\r\n\r\n");
        http_send_bytes(&http, small_form, at);
        http_wait_taken(&http);
        http_send(&http, small_form + at);
        http_read(&http_answer, &http);
        SUITE_CHECK(http_body_is(&http_answer, "[\xc3\xbc b][=]"), "split at %zu: %s", at,
                    bytes_text(&http_answer.body));
        snprintf(chunks, sizeof chunks, "%zx\r\n%.*s\r\n%zx\r\n%s\r\n0\r\n\r\n", at, (int)at, small_form,
                 sizeof small_form - 1 - at, small_form + at);
        http_send(&http, "POST /asker/form/a/form/c" POST_FORM "Transfer-Encoding: chunked\r\n\r\n");
        http_send(&http, chunks);
        http_read(&http_answer, &http);
        SUITE_CHECK(http_body_is(&http_answer, "[\xc3\xbc b][=]"), "chunks split at %zu: %s", at,
                    bytes_text(&http_answer.body));
        http_close(&http);
    }
    direct_check_settled();
}

/* Beyond what is gathered before the handler is called: 64 KiB, so it reads on by itself. */
static void bodies_around_the_buffer(void)
{
    static const size_t lengths[] = {1023, 1024, 1025, 65535, 65536, 65537, 131072, 3000000};
    struct bytes body = {0}, text = {0};
    char head[256];

    direct_shared();
    for (size_t i = 0; i < SUITE_COUNT(lengths); i++) {
        bytes_clear(&body);
        bytes_add(&body, "a=", 2);
        bytes_add_fill(&body, 'x', lengths[i] - 6);
        bytes_add(&body, "&b=1", 4);
        answer_ask_once(&answer, direct_shared()->local,
                        &(struct record_request){
                            .path = "/asker/form/b", .type = FORM, .body = body.data, .body_length = body.length});
        SUITE_CHECK(answer_body_is(&answer, "[1]"), "%zu bytes over FastCGI: %.80s", lengths[i],
                    bytes_text(&answer.out));
        for (int chunked = 0; chunked < 2; chunked++) {
            bytes_clear(&text);
            snprintf(head, sizeof head, "POST /asker/form/b" POST_FORM "%s%zu\r\n\r\n",
                     chunked ? "Transfer-Encoding: chunked\r\nX-Length: " : "Content-Length: ", body.length);
            bytes_add(&text, head, strlen(head));
            snprintf(head, sizeof head, "%zx\r\n", body.length);
            bytes_add(&text, head, chunked ? strlen(head) : 0);
            bytes_add(&text, body.data, body.length);
            bytes_add(&text, "\r\n0\r\n\r\n", chunked ? 7 : 0);
            http_open(&http, direct_address());
            http_send_bytes(&http, text.data, text.length);
            http_read(&http_answer, &http);
            SUITE_CHECK(http_answer.status == 200 && http_body_is(&http_answer, "[1]"), "%zu bytes over HTTP: %d",
                        lengths[i], http_answer.status);
            http_close(&http);
        }
    }
    bytes_fini(&body);
    bytes_fini(&text);
    direct_check_settled();
}

/* -- Bodies that do not come whole
 * -------------------------------------------------------------------------------------
 */

/* Not declared, so that only reading tells. */
static void over_the_limit(void)
{
    struct server *server = direct_start("max_body = 100000");
    struct bytes body = {0};
    char line[32];

    for (int over = 0; over < 2; over++) {
        bytes_clear(&body);
        bytes_add_fill(&body, 'x', 100000 + (size_t)over);
        answer_ask_once(&answer, server->local,
                        &(struct record_request){.path = "/asker/body/body",
                                                 .method = "POST",
                                                 .body = body.data,
                                                 .body_length = body.length,
                                                 .no_content_length = true});
        CU_ASSERT_EQUAL(answer_status(&answer), over ? 413 : 200);
        http_open(&http, direct_address());
        http_send(&http, "POST /asker/form/a" POST_FORM "Transfer-Encoding: chunked\r\n\r\n");
        snprintf(line, sizeof line, "%zx\r\n", body.length);
        http_send(&http, line);
        http_send_bytes(&http, body.data, body.length);
        http_send(&http, "\r\n0\r\n\r\n");
        http_read(&http_answer, &http);
        CU_ASSERT_EQUAL(http_answer.status, over ? 413 : 200);
        http_close(&http);
    }
    bytes_fini(&body);
    CU_ASSERT_EQUAL(server_stop(server, SIGTERM), 0);
}

/* The front end, or the client, ends it before its declared length. */
static void cut_short(void)
{
    struct server *server = direct_shared();
    struct bytes bytes = {0}, params = {0}, body = {0};
    struct link *link = link_new(server->local);

    record_params(&params, &(struct record_request){
                               .path = "/asker/body/form/a", .type = FORM, .method = "POST", .body_length = 200000});
    bytes_add_fill(&body, 'x', 100000);
    record_begin(&bytes, 1, RECORD_RESPONDER, RECORD_CLOSE);
    record_stream(&bytes, RECORD_PARAMS, 1, params.data, params.length, 0);
    record_stream(&bytes, RECORD_STDIN, 1, body.data, body.length, 0);
    link_send(link, bytes.data, bytes.length);
    answer_read(&answer, link, 1, 5000);
    CU_ASSERT_EQUAL(answer_status(&answer), 400);
    CU_ASSERT(server_log_count(server, "answered 400: its body ended early") > 0);

    http_open(&http, direct_address());
    http_send(&http, "POST /asker/form/a" POST_FORM "Content-Length: 200000\r\n\r\n");
    http_send_bytes(&http, body.data, body.length);
    CU_ASSERT_EQUAL(shutdown(http.link->fd, SHUT_WR), 0);
    http_read(&http_answer, &http);
    CU_ASSERT_EQUAL(http_answer.status, 400);
    http_close(&http);
    bytes_fini(&bytes);
    bytes_fini(&params);
    bytes_fini(&body);
    direct_check_settled();
}

static const struct suite_case cases[] = {
    {"fields of a query", queries},
    {"fields of a form", forms},
    {"whole bodies", bodies},
    {"an answer that has begun", an_answer_that_has_begun},
    {"the first of two faults", two_faults},
    {"a thousand fields and no more", a_thousand_fields},
    {"a form in records of every size", small_form_in_records},
    {"a form cut at every place", small_form_at_every_split},
    {"bodies around the buffer", bodies_around_the_buffer},
    {"a body over the limit that was not declared", over_the_limit},
    {"a body that is cut short", cut_short},
};

int main(int argc, char **argv)
{
    return suite_main("forms", cases, SUITE_COUNT(cases), argc, argv);
}
