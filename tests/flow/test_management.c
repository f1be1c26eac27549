/*
 * test_management.c: management records, roles, versions and aborts against the real server. Cases C02, C03, C13, C14.
 */
#include <poll.h>
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
    answer_ask(&answer, link, &(struct record_request){.id = 5, .flags = RECORD_KEEP, .path = "/hello"});
    SUITE_CHECK(answer_status(&answer) == 200, "status %d for /hello", answer_status(&answer));
}

/* Sends GET_VALUES with these names. Returns the result's content as `NAME=value;` in the order it came. */
static const char *get_values(struct link *link, const char *const *names, size_t count)
{
    static char seen[4096];
    struct bytes params = {0}, record = {0};
    struct answer_record result;
    size_t at = 0;

    for (size_t i = 0; i < count; i++)
        record_pair(&params, names[i], "");
    record_add(&record, RECORD_GET_VALUES, 0, params.data, params.length);
    link_send(link, record.data, record.length);
    bytes_fini(&params);
    bytes_fini(&record);
    result = answer_record(link, 1000);
    CU_ASSERT_EQUAL_FATAL(result.type, RECORD_GET_VALUES_RESULT);
    CU_ASSERT_EQUAL_FATAL(result.id, 0);
    for (seen[0] = '\0'; at + 2 <= result.length;) {
        int name = result.content[at], value = result.content[at + 1];

        SUITE_CHECK(name < 128 && value < 128 && at + 2 + (size_t)(name + value) <= result.length, "a broken pair");
        snprintf(seen + strlen(seen), sizeof seen - strlen(seen), "%.*s=%.*s;", name, result.content + at + 2, value,
                 result.content + at + 2 + name);
        at += 2 + (size_t)(name + value);
    }
    CU_ASSERT_EQUAL(at, result.length);
    return seen;
}

/* The figure of `NAME=figure;` in the text, -1 when it is not there exactly once. */
static long figure_of(const char *seen, const char *name)
{
    const char *at = strstr(seen, name);

    if (!at || strstr(at + 1, name) || at[strlen(name)] != '=')
        return -1;
    return strtol(at + strlen(name) + 1, NULL, 10);
}

static void values_are_true(void)
{
    static const char *const names[] = {"FCGI_MAX_CONNS", "FCGI_MAX_REQS", "FCGI_MPXS_CONNS"};
    struct link *link = link_new(server_shared()->local);
    const char *seen = get_values(link, names, SUITE_COUNT(names));

    CU_ASSERT_EQUAL(figure_of(seen, "FCGI_MAX_REQS"), SERVER_WORKERS * (SERVER_THREADS - SERVER_LANES));
    CU_ASSERT_EQUAL(figure_of(seen, "FCGI_MPXS_CONNS"), 0);
    CU_ASSERT(figure_of(seen, "FCGI_MAX_CONNS") > SERVER_WORKERS * SERVER_THREADS); /* idle ones cost no thread */
    ask_hello(link);
}

static void values_of_odd_names(void)
{
    static const char *const unknown[] = {"FCGI_NOTHING", "", "FCGI_MAX_CONN", "FCGI_MPXS_CONNS"};
    static const char *const repeated[] = {"FCGI_MPXS_CONNS", "FCGI_MAX_REQS", "FCGI_MPXS_CONNS", "FCGI_MPXS_CONNS"};
    struct link *link = link_new(server_shared()->local);

    CU_ASSERT_STRING_EQUAL(get_values(link, unknown, SUITE_COUNT(unknown)), "FCGI_MPXS_CONNS=0;");
    CU_ASSERT_STRING_EQUAL(get_values(link, NULL, 0), "");
    CU_ASSERT_EQUAL(figure_of(get_values(link, repeated, SUITE_COUNT(repeated)), "FCGI_MPXS_CONNS"), 0);
    ask_hello(link);
    CU_ASSERT_STRING_EQUAL(get_values(link, unknown, 1), "");
    ask_hello(link);
}

static void values_of_many_names(void)
{
    enum { COUNT = 2000 };
    static const char *names[COUNT];
    struct link *link = link_new(server_shared()->tcp);

    for (int i = 0; i < COUNT; i++)
        names[i] = i % 2 ? "FCGI_MPXS_CONNS" : "FCGI_UNKNOWN_NAME";
    CU_ASSERT_STRING_EQUAL(get_values(link, names, COUNT), "FCGI_MPXS_CONNS=0;");
    ask_hello(link);
}

/* Values are asked for while a request is being sent: the request is not harmed. */
static void values_within_a_request(void)
{
    struct record_request request = {.path = "/echo", .body = "whole", .body_length = 5};
    static const char *const names[] = {"FCGI_MPXS_CONNS"};
    struct link *link = link_new(server_shared()->local);
    struct bytes params = {0}, bytes = {0};

    record_params(&params, &request);
    record_begin(&bytes, 1, RECORD_RESPONDER, RECORD_KEEP);
    record_stream(&bytes, RECORD_PARAMS, 1, params.data, params.length, 0);
    record_add(&bytes, RECORD_STDIN, 1, "who", 3);
    link_send(link, bytes.data, bytes.length);
    CU_ASSERT_STRING_EQUAL(get_values(link, names, 1), "FCGI_MPXS_CONNS=0;");
    bytes_clear(&bytes);
    record_add(&bytes, RECORD_STDIN, 1, "le", 2);
    record_add(&bytes, RECORD_STDIN, 1, NULL, 0);
    link_send(link, bytes.data, bytes.length);
    answer_read(&answer, link, 1, DEADLINE_USUAL_MS);
    CU_ASSERT(answer_body_is(&answer, "whole"));
    bytes_fini(&params);
    bytes_fini(&bytes);
}

static void broken_values_content(void)
{
    static const char contents[][8] = {"\x7f", "\x80", "\xff\xff\xff\xff",
                                       "\x05\x00"
                                       "FC",
                                       "\x84\x00\x00"};

    for (size_t i = 0; i < SUITE_COUNT(contents); i++) {
        struct link *link = link_new(server_shared()->local);
        struct bytes record = {0};
        unsigned char head[RECORD_HEAD];
        long got;

        record_add(&record, RECORD_GET_VALUES, 0, contents[i], strlen(contents[i]) ? strlen(contents[i]) : 1);
        link_send(link, record.data, record.length);
        got = link_try_read(link, head, sizeof head, 1000); /* an empty result or the end, but no silence */
        SUITE_CHECK(got == 0 || (got == sizeof head && head[1] == RECORD_GET_VALUES_RESULT), "content %zu: %ld", i,
                    got);
        bytes_fini(&record);
    }
    ask_hello(link_new(server_shared()->local));
}

/* The reply meets a socket that is full of an answer which nobody reads yet: it waits, and what comes behind it too. */
static void values_on_a_full_socket(void)
{
    static const char *const names[] = {"FCGI_MPXS_CONNS"};
    struct bytes params = {0}, bytes = {0};
    char query[16];

    record_pair(&params, names[0], "");
    for (size_t size = 190000; size < 240000; size += 250) {
        struct link *link = link_new(server_shared()->local);

        bytes_clear(&bytes);
        snprintf(query, sizeof query, "%zu", size);
        record_whole(&bytes, &(struct record_request){.flags = RECORD_KEEP, .path = "/bigout", .query = query});
        record_add(&bytes, RECORD_GET_VALUES, 0, params.data, params.length);
        record_add(&bytes, 99, 0, NULL, 0);
        record_whole(&bytes, &(struct record_request){.id = 2, .flags = RECORD_KEEP, .path = "/hello"});
        link_send(link, bytes.data, bytes.length);
        poll(NULL, 0, 5); /* the server fills the socket */
        answer_read(&answer, link, 1, DEADLINE_USUAL_MS);
        CU_ASSERT_EQUAL_FATAL(answer_record(link, DEADLINE_USUAL_MS).type, RECORD_GET_VALUES_RESULT);
        CU_ASSERT_EQUAL_FATAL(answer_record(link, DEADLINE_USUAL_MS).type, RECORD_UNKNOWN_TYPE);
        answer_read(&answer, link, 2, DEADLINE_USUAL_MS);
        CU_ASSERT_EQUAL_FATAL(answer_status(&answer), 200);
        link_free(link);
    }
    bytes_fini(&params);
    bytes_fini(&bytes);
}

static void unknown_management_types(void)
{
    static const int types[] = {12, 77, 99, 255, 0};
    static const size_t lengths[] = {0, 1, 40000, 65535};
    struct link *link = link_new(server_shared()->local);
    struct bytes bytes = {0};
    char *content = calloc(1, 65535);

    for (size_t i = 0; i < SUITE_COUNT(types) * SUITE_COUNT(lengths); i++) {
        int type = types[i % SUITE_COUNT(types)];
        struct answer_record record;

        bytes_clear(&bytes);
        record_add_padded(&bytes, type, 0, content, lengths[i / SUITE_COUNT(types)], 9);
        link_send(link, bytes.data, bytes.length);
        record = answer_record(link, 1000);
        SUITE_CHECK(record.type == RECORD_UNKNOWN_TYPE && record.id == 0 && record.length == 8,
                    "type %d: answered with type %d, id %d, %zu bytes", type, record.type, record.id, record.length);
        SUITE_CHECK(record.content[0] == type, "type %d: UNKNOWN_TYPE names %d", type, record.content[0]);
        ask_hello(link);
    }
    free(content);
    bytes_fini(&bytes);
}

/* -- Roles and versions ---------------------------------------------------------------------------------------------
 */

static void other_roles(void)
{
    static const int roles[] = {0, RECORD_AUTHORIZER, RECORD_FILTER, 4, 257, 65535};
    struct link *link = link_new(server_shared()->local);

    for (size_t i = 0; i < SUITE_COUNT(roles); i++) {
        struct bytes params = {0}, bytes = {0};

        record_params(&params, &(struct record_request){.path = "/hello"});
        record_begin(&bytes, 3, roles[i], RECORD_KEEP);
        record_stream(&bytes, RECORD_PARAMS, 3, params.data, params.length, 0);
        record_add(&bytes, RECORD_STDIN, 3, NULL, 0);
        link_send(link, bytes.data, bytes.length);
        answer_read(&answer, link, 3, DEADLINE_USUAL_MS);
        SUITE_CHECK(answer.protocol_status == RECORD_UNKNOWN_ROLE && answer.out.length == 0, "role %d: status %d",
                    roles[i], answer.protocol_status);
        ask_hello(link);
        bytes_fini(&params);
        bytes_fini(&bytes);
    }
}

static void role_without_keep_closes(void)
{
    struct link *link = link_new(server_shared()->local);
    struct bytes bytes = {0};

    record_begin(&bytes, 3, 9, RECORD_CLOSE);
    link_send(link, bytes.data, bytes.length);
    answer_read(&answer, link, 3, DEADLINE_USUAL_MS);
    CU_ASSERT_EQUAL(answer.protocol_status, RECORD_UNKNOWN_ROLE);
    CU_ASSERT(link_closes(link, 1000));
    bytes_fini(&bytes);
}

static void check_closes(const struct bytes *bytes, const char *what)
{
    struct server *server = server_shared();
    struct link *link = link_new(server->local);
    char byte;

    ask_hello(link);
    link_send(link, bytes->data, bytes->length);
    SUITE_CHECK(link_try_read(link, &byte, 1, 1000) == 0, "%s: not closed", what);
    ask_hello(link_new(server->local));
}

static void broken_heads_close(void)
{
    static const unsigned char begin[16] = {0, RECORD_RESPONDER, RECORD_KEEP};
    struct server *server = server_shared();
    int logged = server_log_count(server, "\n");
    struct bytes bytes = {0};

    for (int version = 0; version < 256; version += version == 2 ? 253 : 2) {
        bytes_clear(&bytes);
        record_add_version(&bytes, version, RECORD_BEGIN, 1, begin, 8);
        check_closes(&bytes, "version");
    }
    for (size_t length = 0; length <= 16; length++) {
        if (length == 8)
            continue;
        bytes_clear(&bytes);
        record_add(&bytes, RECORD_BEGIN, 1, begin, length);
        check_closes(&bytes, "length of BEGIN_REQUEST");
    }
    bytes_clear(&bytes);
    record_add(&bytes, RECORD_BEGIN, 0, begin, 8);
    check_closes(&bytes, "BEGIN_REQUEST with id 0");
    bytes_clear(&bytes);
    bytes_add(&bytes, "GET / HTTP/1.1\r\nHost: x\r\n\r\n", 27);
    check_closes(&bytes, "HTTP on the FastCGI socket");
    bytes_fini(&bytes);
    SUITE_CHECK(server_log_count(server, "\n") > logged, "nothing in the log");
}

/* What was asked before a broken record is answered; the end of the connection overtakes no answer. */
static void answers_before_a_broken_record(void)
{
    struct bytes bytes = {0};

    for (int i = 0; i < 50; i++) {
        struct link *link = link_new(i % 2 ? server_shared()->tcp : server_shared()->local);

        bytes_clear(&bytes);
        for (int k = 1; k <= 5; k++)
            record_whole(&bytes, &(struct record_request){.id = k, .flags = RECORD_KEEP, .path = "/hello"});
        record_add_version(&bytes, 2, RECORD_BEGIN, 1, "12345678", 8);
        bytes_add_fill(&bytes, 'x', 5000);
        link_send(link, bytes.data, bytes.length);
        poll(NULL, 0, 2); /* a reset would be here before anything is read */
        for (int k = 1; k <= 5; k++) {
            answer_read(&answer, link, k, DEADLINE_USUAL_MS);
            CU_ASSERT_EQUAL_FATAL(answer_status(&answer), 200);
        }
        CU_ASSERT(link_closes(link, 1000));
        link_free(link);
    }
    bytes_fini(&bytes);
}

/* -- Aborts ---------------------------------------------------------------------------------------------------------
 */

/* Sends a request up to some point, then ABORT_REQUEST; the connection must be answered and usable. */
static void abort_after(size_t params_part, size_t body_part, bool params_end)
{
    struct record_request request = {.path = "/readpart", .query = "all", .body = "0123456789", .body_length = 10};
    struct link *link = link_new(server_shared()->local);
    struct bytes params = {0}, bytes = {0};

    record_params(&params, &request);
    record_begin(&bytes, 1, RECORD_RESPONDER, RECORD_KEEP);
    if (params_end) {
        record_stream(&bytes, RECORD_PARAMS, 1, params.data, params.length, 0);
    } else if (params_part) {
        record_add(&bytes, RECORD_PARAMS, 1, params.data, params_part);
    }
    if (body_part)
        record_add(&bytes, RECORD_STDIN, 1, request.body, body_part);
    link_send(link, bytes.data, bytes.length);
    link_is_silent(link, 20);
    bytes_clear(&bytes);
    record_add(&bytes, RECORD_ABORT, 1, NULL, 0);
    link_send(link, bytes.data, bytes.length);
    answer_read_end(&answer, link, 1, 1000);
    ask_hello(link);
    CU_ASSERT(link_is_silent(link, 20));
    bytes_fini(&params);
    bytes_fini(&bytes);
}

static void abort_while_reading(void)
{
    abort_after(0, 0, false);
    abort_after(10, 0, false);
    abort_after(0, 0, true);
    abort_after(0, 5, true);
}

static void add_abort(struct bytes *bytes, int id)
{
    bytes_clear(bytes);
    record_add(bytes, RECORD_ABORT, id, NULL, 0);
}

/* Starts a request of /watcher whose body has not ended, and waits until its handler runs. */
static struct link *start_watcher(const char *address, const char *way)
{
    struct link *link = link_new(address);
    struct bytes bytes = {0}, params = {0};

    record_params(&params, &(struct record_request){
                               .method = "POST", .path = "/watcher", .query = way, .no_content_length = true});
    record_begin(&bytes, 9, RECORD_RESPONDER, RECORD_KEEP);
    record_stream(&bytes, RECORD_PARAMS, 9, params.data, params.length, 0);
    record_stream(&bytes, RECORD_STDIN, 9, "bodybody", 8, 4);
    if (strcmp(way, "read") == 0) { /* more than is gathered before the call, and no end */
        bytes.length -= 8;
        bytes_add_fill(&params, 'x', 10000);
        for (int i = 0; i < 10; i++)
            record_add(&bytes, RECORD_STDIN, 9, params.data, 10000);
    }
    link_send(link, bytes.data, bytes.length);
    bytes_fini(&bytes);
    bytes_fini(&params);
    return link;
}

/* However the handler looks for it, it learns of the abort; the request ends as every other, without a late answer; the
 * connection goes on. */
static void aborted_handler(const char *address, const char *way)
{
    struct link *link = start_watcher(address, way);
    struct bytes bytes = {0};

    link_is_silent(link, 100);
    add_abort(&bytes, 4711); /* of nobody */
    link_send(link, bytes.data, bytes.length);
    link_is_silent(link, 20);
    add_abort(&bytes, 9);
    link_send(link, bytes.data, bytes.length);
    answer_read(&answer, link, 9, 1000);
    SUITE_CHECK(answer.app_status == 7, "by %s: the handler was not told, it returned %u", way, answer.app_status);
    SUITE_CHECK(strstr(bytes_text(&answer.out), "watched") == NULL, "by %s: a late answer", way);
    ask_hello(link);
    CU_ASSERT(link_is_silent(link, 20));
    bytes_fini(&bytes);
}

static void abort_while_the_handler_runs(void)
{
    static const char *const ways[] = {"poll", "read", "write"};
    struct server *server = server_shared();

    for (size_t i = 0; i < SUITE_COUNT(ways); i++) {
        aborted_handler(server->local, ways[i]);
        aborted_handler(server->tcp, ways[i]);
    }
}

/* An abort that comes behind the request's end belongs to the next one, which has the same id. */
static void abort_of_the_next_request(void)
{
    struct link *link = link_new(server_shared()->local);
    struct bytes bytes = {0};

    record_whole(&bytes, &(struct record_request){.flags = RECORD_KEEP, .path = "/sleeper", .query = "50"});
    record_begin(&bytes, 1, RECORD_RESPONDER, RECORD_KEEP);
    record_add(&bytes, RECORD_ABORT, 1, NULL, 0);
    link_send(link, bytes.data, bytes.length);
    answer_read(&answer, link, 1, 1000);
    CU_ASSERT(answer_body_is(&answer, "slept 50\n"));
    answer_read(&answer, link, 1, 1000);
    CU_ASSERT_EQUAL(answer.out.length, 0);
    ask_hello(link);
    bytes_fini(&bytes);
}

/* A handler that does not look is not disturbed: its answer is complete. */
static void abort_of_a_handler_that_does_not_look(void)
{
    struct link *link = link_new(server_shared()->local);
    struct bytes bytes = {0};

    record_whole(&bytes, &(struct record_request){.flags = RECORD_KEEP, .path = "/sleeper", .query = "200"});
    link_send(link, bytes.data, bytes.length);
    link_is_silent(link, 50);
    add_abort(&bytes, 1);
    link_send(link, bytes.data, bytes.length);
    answer_read_end(&answer, link, 1, 2000);
    ask_hello(link);
    bytes_fini(&bytes);
}

/* The front end closes: a handler that asks learns of it, whichever socket, and its thread is free again. */
static void peer_leaves_a_handler_that_looks(void)
{
    struct server *server = server_start("workers = 1\nlanes = 1\nthreads = 2");

    for (int i = 0; i < 4; i++) {
        struct link *link = start_watcher(i % 2 ? server->tcp : server->local, i < 2 ? "poll" : "write");

        link_is_silent(link, 50);
        link_free(link);
        SUITE_CHECK(server_log_waits_for(server, i < 2 ? "watcher by poll: told" : "watcher by write: told", 1000),
                    "not told of the closed connection");
        ask_hello(link_new(server->local));
    }
    CU_ASSERT_EQUAL(server_log_count(server, "never told"), 0);
}

static void abort_of_nothing(void)
{
    struct link *link = link_new(server_shared()->local);
    struct bytes bytes = {0};

    record_add(&bytes, RECORD_ABORT, 1, NULL, 0);
    record_add(&bytes, RECORD_ABORT, 4711, NULL, 0);
    link_send(link, bytes.data, bytes.length);
    CU_ASSERT(link_is_silent(link, 50));
    ask_hello(link);
    link_send(link, bytes.data, bytes.length); /* late, for a request that was answered */
    ask_hello(link);
    bytes_fini(&bytes);
}

/* Last: whatever the cases before did to the shared server, all its threads are there. */
static void no_thread_is_lost(void)
{
    blocked_check(server_shared());
}

static const struct suite_case cases[] = {
    {"GET_VALUES tells the true figures", values_are_true},
    {"GET_VALUES with unknown, repeated and no names", values_of_odd_names},
    {"GET_VALUES with 2000 names", values_of_many_names},
    {"GET_VALUES within a request", values_within_a_request},
    {"GET_VALUES with broken content", broken_values_content},
    {"GET_VALUES on a full socket", values_on_a_full_socket},
    {"unknown management types", unknown_management_types},
    {"roles other than responder", other_roles},
    {"a refused role without KEEP_CONN closes", role_without_keep_closes},
    {"broken records close the connection", broken_heads_close},
    {"answers before a broken record", answers_before_a_broken_record},
    {"ABORT while the request is read", abort_while_reading},
    {"ABORT while the handler runs", abort_while_the_handler_runs},
    {"ABORT of a handler that does not look", abort_of_a_handler_that_does_not_look},
    {"ABORT of the next request", abort_of_the_next_request},
    {"a peer that leaves a handler that looks", peer_leaves_a_handler_that_looks},
    {"ABORT of no request", abort_of_nothing},
    {"no thread is lost", no_thread_is_lost},
};

int main(int argc, char **argv)
{
    return suite_main("management", cases, SUITE_COUNT(cases), argc, argv);
}
