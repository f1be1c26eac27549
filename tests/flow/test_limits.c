/*
 * test_limits.c: sizes that are refused, by the real server: variables, bodies, lengths that lie. Cases C60, C99, C16.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer.h"
#include "blocked.h"
#include "deadline.h"
#include "server.h"
#include "suite.h"

static struct answer answer;

static void ask_hello(struct link *link)
{
    answer_ask(&answer, link, &(struct record_request){.flags = RECORD_KEEP, .path = "/hello"});
    SUITE_CHECK(answer_status(&answer) == 200, "status %d for /hello", answer_status(&answer));
}

static void send_params(struct link *link, const struct bytes *params, size_t piece)
{
    struct bytes request = {0};

    record_begin(&request, 1, RECORD_RESPONDER, RECORD_KEEP);
    record_stream(&request, RECORD_PARAMS, 1, params->data, params->length, piece);
    record_add(&request, RECORD_STDIN, 1, NULL, 0);
    link_try_send(link, request.data, request.length, DEADLINE_USUAL_MS);
    bytes_fini(&request);
}

/* Refused: END_REQUEST with OVERLOADED, a status of 400 and more, or the end of the connection; never silence. */
static void check_refused(struct link *link, const char *what)
{
    unsigned char head[RECORD_HEAD];
    long got = link_try_read(link, head, sizeof head, 3000);

    if (got == 0)
        return;
    SUITE_CHECK(got == sizeof head, "%s: %ld bytes came", what, got);
    SUITE_CHECK(head[1] == RECORD_END || head[1] == RECORD_STDOUT, "%s: a record of type %d", what, head[1]);
    if (head[1] == RECORD_END) {
        unsigned char end[8];

        link_read(link, end, sizeof end, 1000);
        SUITE_CHECK(end[4] == RECORD_OVERLOADED, "%s: protocolStatus %d", what, end[4]);
    } else {
        char text[64] = "";

        link_read(link, text, 11, 1000);
        SUITE_CHECK(strncmp(text, "Status: 4", 9) == 0, "%s: answered '%s'", what, text);
    }
}

/* Variables of exactly `length` bytes as they are sent. */
static void params_of(struct bytes *params, size_t length)
{
    static char filling[70000];

    record_pair(params, "SCRIPT_NAME", "/hello");
    record_pair(params, "REQUEST_METHOD", "GET");
    memset(filling, 'f', sizeof filling);
    record_pair_bytes(params, "FILLING", 7, filling, length - params->length - 7 - 5);
    SUITE_CHECK(params->length == length, "%zu bytes instead of %zu", params->length, length);
}

static void params_limit(void)
{
    struct server *server = server_start("max_params_bytes = 2K");
    struct link *bystander = link_new(server->local);

    ask_hello(bystander);
    for (int more = 0; more < 2; more++) {
        for (size_t piece = 100; piece <= 10000; piece *= 10) {
            struct link *link = link_new(server->local);
            struct bytes params = {0};

            params_of(&params, (size_t)(2048 + more));
            send_params(link, &params, piece);
            if (more) {
                check_refused(link, "2049 bytes");
            } else {
                answer_read(&answer, link, 1, DEADLINE_USUAL_MS);
                CU_ASSERT_EQUAL(answer_status(&answer), 200);
            }
            bytes_fini(&params);
        }
    }
    ask_hello(bystander);
}

/* Pairs beside those that are always there: names of fields, one or many. */
static void many_params(struct bytes *params, int count, bool one_name)
{
    char name[20];

    record_pair(params, "SCRIPT_NAME", "/hello");
    record_pair(params, "REQUEST_METHOD", "GET");
    for (int i = 2; i < count; i++) {
        snprintf(name, sizeof name, "HTTP_X%d", one_name ? 0 : i);
        record_pair(params, name, "x");
    }
}

static void params_count(void)
{
    struct server *server = server_shared();

    for (int more = 0; more < 4; more++) {
        struct link *link = link_new(server->local);
        struct bytes params = {0};

        many_params(&params, 1024 + more / 2, more % 2);
        send_params(link, &params, 0);
        answer_read(&answer, link, 1, DEADLINE_USUAL_MS);
        SUITE_CHECK(answer_status(&answer) == (more < 2 ? 200 : 431), "%d pairs: status %d", 1024 + more / 2,
                    answer_status(&answer));
        ask_hello(link);
        bytes_fini(&params);
    }
}

static void params_default_limit(void)
{
    struct server *server = server_shared();
    struct link *link = link_new(server->local);
    struct bytes params = {0};

    params_of(&params, 65535); /* what nginx can send at most */
    send_params(link, &params, 0);
    answer_read(&answer, link, 1, DEADLINE_USUAL_MS);
    CU_ASSERT_EQUAL(answer_status(&answer), 200);
    bytes_clear(&params);
    params_of(&params, 65537);
    send_params(link, &params, 0);
    check_refused(link, "65537 bytes");
    bytes_fini(&params);
    ask_hello(link_new(server->local));
}

static void lengths_that_lie(void)
{
    static const struct {
        unsigned char content[12];
        size_t length;
    } lies[] = {
        {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 'a', 'b'}, 10},
        {{0xff, 0xff, 0xff, 0xff, 0x80, 0x00, 0x00, 0x01, 'a', 'b'}, 10},
        {{0x80, 0x00, 0x00, 0x01, 0xff, 0xff, 0xff, 0xff, 'a', 'b'}, 10},
        {{0xbf, 0xff, 0xff, 0xff, 0xc0, 0x00, 0x00, 0x01, 'a', 'b'}, 10},
        {{0x80, 0x01, 0x00, 0x00, 0x05, 'a', 'b'}, 7},
        {{0x05, 0x05, 'a', 'b'}, 4}, /* the stream ends inside a name */
        {{0x01, 0x05, 'a', 'b'}, 4}, /* inside a value */
        {{0x01}, 1},                 /* behind the first length */
        {{0x80, 0x00}, 2},           /* inside a length */
    };
    struct server *server = server_shared();
    struct process_children workers = server_workers(server), after;
    long before_kb;

    ask_hello(link_new(server->local));
    before_kb = server_sum(server, process_resident_kb);
    for (size_t i = 0; i < SUITE_COUNT(lies); i++) {
        struct link *link = link_new(server->local);
        struct bytes params = {.data = NULL};
        char what[32];

        bytes_add(&params, lies[i].content, lies[i].length);
        send_params(link, &params, 0);
        bytes_fini(&params);
        snprintf(what, sizeof what, "lie %zu", i);
        check_refused(link, what);
        link_free(link);
    }
    SUITE_CHECK(server_sum(server, process_resident_kb) - before_kb < 4096, "memory grew by %ld KiB",
                server_sum(server, process_resident_kb) - before_kb);
    after = server_workers(server);
    CU_ASSERT_EQUAL(memcmp(after.pids, workers.pids, sizeof after.pids), 0);
    ask_hello(link_new(server->local));
}

static void nul_in_variables(void)
{
    static const struct {
        const char *name;
        size_t name_length;
        const char *value;
        size_t value_length;
    } pairs[] = {
        {"NAME", 4, "a\0b", 3},
        {"NAME", 4, "\0", 1},
        {"NA\0ME", 5, "ab", 2},
        {"\0", 1, "ab", 2},
    };
    struct link *link = link_new(server_shared()->local);

    for (size_t i = 0; i < SUITE_COUNT(pairs); i++) {
        struct bytes params = {0};

        record_params(&params, &(struct record_request){.path = "/hello"});
        record_pair_bytes(&params, pairs[i].name, pairs[i].name_length, pairs[i].value, pairs[i].value_length);
        send_params(link, &params, 0);
        answer_read(&answer, link, 1, DEADLINE_USUAL_MS);
        SUITE_CHECK(answer_status(&answer) == 400, "pair %zu: status %d", i, answer_status(&answer));
        bytes_fini(&params);
        ask_hello(link);
    }
}

/* -- Bodies ---------------------------------------------------------------------------------------------------------
 */

static int post(const char *address, size_t length, bool declared)
{
    struct link *link = link_new(address);
    char *body = calloc(1, length + 1);
    struct record_request request = {
        .path = "/readpart", .query = "all", .method = "POST", .body = body, .body_length = length};
    struct bytes bytes = {0};

    request.no_content_length = !declared;
    record_whole(&bytes, &request);
    link_try_send(link, bytes.data, bytes.length, DEADLINE_USUAL_MS);
    answer_read(&answer, link, 1, DEADLINE_USUAL_MS);
    bytes_fini(&bytes);
    free(body);
    link_free(link);
    return answer_status(&answer);
}

static void body_limit(void)
{
    static const size_t limits[] = {16384, 100000, 1048576};

    for (size_t i = 0; i < SUITE_COUNT(limits); i++) {
        char option[64], body[32];
        struct server *server;

        snprintf(option, sizeof option, "max_body = %zu", limits[i]);
        server = server_start(option);
        CU_ASSERT_EQUAL(post(server->local, limits[i] - 1, true), 200);
        CU_ASSERT_EQUAL(post(server->local, limits[i], true), 200);
        snprintf(body, sizeof body, "%zu end", limits[i]);
        CU_ASSERT(answer_body_is(&answer, body));
        CU_ASSERT_EQUAL(post(server->local, limits[i] + 1, true), 413);
        CU_ASSERT_EQUAL(post(server->tcp, limits[i] + 1, true), 413);
        CU_ASSERT_EQUAL(post(server->tcp, limits[i], true), 200);
    }
}

/* Without CONTENT_LENGTH the limit shows only when the bytes are there; the handler may have been called by then. */
static void undeclared_body_limit(void)
{
    struct server *server = server_start("max_body = 16K");

    CU_ASSERT_EQUAL(post(server->local, 16384, false), 200);
    CU_ASSERT(answer_body_is(&answer, "16384 end"));
    CU_ASSERT_EQUAL(post(server->local, 16385, false), 413);
    CU_ASSERT_EQUAL(post(server->local, 60000, false), 413);
}

static void refused_body_keeps_or_closes(void)
{
    struct server *server = server_start("max_body = 16K");
    struct link *link = link_new(server->local);
    char *body = calloc(1, 60000);

    answer_ask(&answer, link,
               &(struct record_request){
                   .flags = RECORD_KEEP, .path = "/readpart", .query = "all", .body = body, .body_length = 60000});
    free(body);
    CU_ASSERT_EQUAL(answer_status(&answer), 413);
    if (link_is_silent(link, 50))
        ask_hello(link);
    ask_hello(link_new(server->local));
}

/* Last: whatever the cases before did to the shared server, all its threads are there. */
static void no_thread_is_lost(void)
{
    blocked_check(server_shared());
}

static const struct suite_case cases[] = {
    {"1024 variables", params_count},
    {"max_params_bytes to the byte", params_limit},
    {"64 KiB of variables by default", params_default_limit},
    {"lengths that lie", lengths_that_lie},
    {"NUL in a variable is a bad request", nul_in_variables},
    {"max_body to the byte", body_limit},
    {"max_body without CONTENT_LENGTH", undeclared_body_limit},
    {"a refused body poisons nothing", refused_body_keeps_or_closes},
    {"no thread is lost", no_thread_is_lost},
};

int main(int argc, char **argv)
{
    return suite_main("limits", cases, SUITE_COUNT(cases), argc, argv);
}
