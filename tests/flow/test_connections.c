/*
 * test_connections.c: the life of FastCGI connections against the real server: kept and closed ones, unread and broken
 * bodies, many requests. Cases C01, C08, C09, C20, C21.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer.h"
#include "blocked.h"
#include "deadline.h"
#include "server.h"
#include "suite.h"

static struct answer answer;

static void ask_hello(struct link *link, int id)
{
    answer_ask(&answer, link, &(struct record_request){.id = id, .flags = RECORD_KEEP, .path = "/hello"});
    SUITE_CHECK(answer_status(&answer) == 200, "status %d for /hello", answer_status(&answer));
}

static void closes_without_keep_conn(void)
{
    struct server *server = server_shared();
    const char *addresses[] = {server->local, server->tcp};

    for (int a = 0; a < 2; a++) {
        struct link *link = link_new(addresses[a]);

        answer_ask(&answer, link, &(struct record_request){.flags = RECORD_CLOSE, .path = "/hello"});
        SUITE_CHECK(link_closes(link, 100), "%s still open 100 ms after END_REQUEST", addresses[a]);
    }
}

static void keeps_with_keep_conn(void)
{
    struct link *link = link_new(server_shared()->local);

    ask_hello(link, 1);
    CU_ASSERT(link_is_silent(link, 150));
    ask_hello(link, 1);
}

/* -- Many requests on one connection ------------------------------------------------------------------------------ */

static void ask_mixed(struct link *link, int count)
{
    static const struct record_request kinds[] = {
        {.flags = RECORD_KEEP, .path = "/hello"},
        {.flags = RECORD_KEEP, .path = "/echo", .body = "some body", .body_length = 9},
        {.flags = RECORD_KEEP, .path = "/hello", .method = "HEAD"},
        {.flags = RECORD_KEEP, .path = "/readpart", .query = "3", .body = "unread body", .body_length = 11},
        {.flags = RECORD_KEEP, .path = "/nowhere"},
        {.flags = RECORD_KEEP, .path = "/bigout", .query = "20000"},
    };
    static const int statuses[] = {200, 200, 200, 200, 404, 200};

    for (int i = 0; i < count; i++) {
        struct record_request request = kinds[i % SUITE_COUNT(kinds)];

        request.id = 1 + i % 300;
        answer_ask(&answer, link, &request);
        SUITE_CHECK(answer_status(&answer) == statuses[i % SUITE_COUNT(kinds)], "request %d, %s: status %d", i,
                    request.path, answer_status(&answer));
    }
}

static void thousand_requests(void)
{
    struct server *server = server_shared();
    struct link *link = link_new(server->local);
    long files, resident_kb;

    ask_mixed(link, 200);
    files = server_sum(server, process_descriptor_count);
    resident_kb = server_sum(server, process_resident_kb);
    ask_mixed(link, 1000);
    CU_ASSERT_EQUAL(server_sum(server, process_descriptor_count), files);
    SUITE_CHECK(server_sum(server, process_resident_kb) - resident_kb <= (SERVER_SANITIZED ? 65536 : 1024),
                "memory grew by %ld KiB", server_sum(server, process_resident_kb) - resident_kb);
}

static bool has_descriptors(void *context)
{
    const long *wanted = context;

    return server_sum(server_shared(), process_descriptor_count) == *wanted;
}

static void closed_connections_leave_nothing(void)
{
    struct server *server = server_shared();
    long files;

    ask_hello(link_new(server->local), 1);
    link_free_all();
    deadline_wait(300, has_descriptors, &(long){-1}); /* lets the worker close */
    files = server_sum(server, process_descriptor_count);
    for (int i = 0; i < 300; i++) {
        answer_ask_once(&answer, i % 2 ? server->local : server->tcp,
                        &(struct record_request){.path = "/hello", .flags = i % 3 ? RECORD_KEEP : RECORD_CLOSE});
    }
    SUITE_CHECK(deadline_wait(DEADLINE_USUAL_MS, has_descriptors, &files), "%ld descriptors, %ld before",
                server_sum(server, process_descriptor_count), files);
}

/* -- Bodies that nobody reads ------------------------------------------------------------------------------------- */

static void unread_body(size_t length)
{
    struct link *link = link_new(server_shared()->local);
    char *body = calloc(1, length);

    memset(body, 'u', length);
    answer_ask(&answer, link,
               &(struct record_request){
                   .flags = RECORD_KEEP, .path = "/readpart", .query = "10", .body = body, .body_length = length});
    free(body);
    CU_ASSERT(answer_body_is(&answer, "10 more"));
    if (link_is_silent(link, 50)) { /* kept: then the next answer is the next request's, and the only one */
        ask_hello(link, 77);
        CU_ASSERT(link_is_silent(link, 20));
    } else {
        SUITE_CHECK(length > 65536 && link_closes(link, 0), "%zu unread bytes cost the connection", length);
    }
    link_free(link);
}

static void unread_bodies(void)
{
    unread_body(11);
    unread_body(8192);
    unread_body(16384);
    unread_body(100 * 1024);
    unread_body(1 << 20);
}

/* A body full of requests for the handler that crashes, unread or read in part, in records of any size: were one of
 * them taken for a request, a worker would die. */
static void imitating_bodies(void)
{
    static const size_t pieces[] = {0, 1000, 8184, 8192, 32768, 65528, 333};
    static const char *const queries[] = {"0", "1", "9000", "70001"};
    struct server *server = server_shared();
    struct process_children before = server_workers_without(server, 0), after;
    struct link *link = link_new(server->local);
    struct bytes body = {0}, params = {0}, bytes = {0};
    size_t period = record_forged(&body, "/crash", 100000, 0);

    for (size_t shift = 0; shift < 2 * period; shift++) {
        struct record_request request = {.flags = RECORD_KEEP, .path = "/readpart", .body_length = 100000};

        request.query = queries[shift % SUITE_COUNT(queries)];
        record_forged(&body, "/crash", request.body_length, shift);
        bytes_clear(&params);
        bytes_clear(&bytes);
        record_params(&params, &request);
        record_begin(&bytes, 1, RECORD_RESPONDER, RECORD_KEEP);
        record_stream(&bytes, RECORD_PARAMS, 1, params.data, params.length, 0);
        record_stream(&bytes, RECORD_STDIN, 1, body.data, body.length, pieces[shift % SUITE_COUNT(pieces)]);
        link_send(link, bytes.data, bytes.length);
        answer_read(&answer, link, 1, DEADLINE_USUAL_MS);
        SUITE_CHECK(answer_status(&answer) == 200, "shift %zu: status %d", shift, answer_status(&answer));
        ask_hello(link, 7); /* with another id: an answer that a forged request had got would show */
    }
    CU_ASSERT(link_is_silent(link, 50));
    after = server_workers(server);
    CU_ASSERT(after.count == before.count && memcmp(after.pids, before.pids, sizeof before.pids) == 0);
    CU_ASSERT_EQUAL(server_log_count(server, "was ended by"), 0);
    bytes_fini(&body);
    bytes_fini(&params);
    bytes_fini(&bytes);
}

/* Requests in a row whose first body nobody reads, the last one cut in the middle of a record: what comes then is that
 * record's, though it looks like a request. */
static void imitating_rest(struct link *link, size_t unread)
{
    struct record_request last = {.path = "/readpart", .query = "all"};
    struct bytes fill = {0}, forged = {0}, params = {0}, bytes = {0};

    record_whole(&forged, &(struct record_request){.id = 9, .flags = RECORD_KEEP, .path = "/hello"});
    bytes_add_fill(&fill, 'u', unread);
    record_whole(&bytes, &(struct record_request){.id = 1,
                                                  .flags = RECORD_KEEP,
                                                  .path = "/readpart",
                                                  .query = "0",
                                                  .body = fill.data,
                                                  .body_length = unread});
    record_whole(&bytes, &(struct record_request){.id = 2, .flags = RECORD_KEEP, .path = "/hello"});
    last.body_length = 100 + forged.length;
    record_params(&params, &last);
    record_begin(&bytes, 3, RECORD_RESPONDER, RECORD_KEEP);
    record_stream(&bytes, RECORD_PARAMS, 3, params.data, params.length, 0);
    bytes_clear(&fill);
    bytes_add_fill(&fill, 'x', 100);
    bytes_add(&fill, forged.data, forged.length);
    record_stream(&bytes, RECORD_STDIN, 3, fill.data, fill.length, 0);
    link_send(link, bytes.data, bytes.length - RECORD_HEAD - forged.length);
    answer_read(&answer, link, 1, DEADLINE_USUAL_MS);
    link_send(link, bytes.data + bytes.length - RECORD_HEAD - forged.length, forged.length + RECORD_HEAD);
    answer_read(&answer, link, 2, DEADLINE_USUAL_MS);
    answer_read(&answer, link, 3, DEADLINE_USUAL_MS);
    CU_ASSERT_EQUAL_FATAL(answer_status(&answer), 200);
    bytes_fini(&fill);
    bytes_fini(&forged);
    bytes_fini(&params);
    bytes_fini(&bytes);
}

static void imitating_rests(void)
{
    struct link *link = link_new(server_shared()->local);

    for (size_t i = 0; i < 4000; i++)
        imitating_rest(link, 30000 + i * 37 % 35000);
    CU_ASSERT(link_is_silent(link, 20));
}

/* The end of STDIN comes after the answer, as nginx may send it; the connection stays good. */
static void late_end_of_stdin(void)
{
    struct link *link = link_new(server_shared()->local);
    struct bytes params = {0}, request = {0};

    for (int i = 0; i < 20; i++) {
        bytes_clear(&params);
        bytes_clear(&request);
        record_params(&params, &(struct record_request){.path = "/hello"});
        record_begin(&request, 1, RECORD_RESPONDER, RECORD_KEEP);
        record_stream(&request, RECORD_PARAMS, 1, params.data, params.length, 0);
        link_send(link, request.data, request.length);
        link_is_silent(link, 5); /* answered already or not: both are right */
        bytes_clear(&request);
        record_add(&request, RECORD_STDIN, 1, NULL, 0);
        link_send(link, request.data, request.length);
        answer_read(&answer, link, 1, DEADLINE_USUAL_MS);
        CU_ASSERT_EQUAL_FATAL(answer_status(&answer), 200);
    }
    bytes_fini(&params);
    bytes_fini(&request);
}

static void doubled_end_of_stdin(void)
{
    struct link *link = link_new(server_shared()->local);
    struct bytes request = {0};

    record_whole(&request,
                 &(struct record_request){.flags = RECORD_KEEP, .path = "/echo", .body = "b", .body_length = 1});
    record_add(&request, RECORD_STDIN, 1, NULL, 0);
    link_send(link, request.data, request.length);
    answer_read(&answer, link, 1, DEADLINE_USUAL_MS);
    CU_ASSERT(answer_body_is(&answer, "b"));
    ask_hello(link, 1);
    bytes_fini(&request);
}

/* CONTENT_LENGTH says where the body ends: an answer needs no end record. */
static void missing_end_of_stdin(void)
{
    struct record_request request = {.path = "/readpart", .query = "all", .body_length = 5};
    struct link *link = link_new(server_shared()->local);
    struct bytes params = {0}, bytes = {0};

    record_params(&params, &request);
    record_begin(&bytes, 1, RECORD_RESPONDER, RECORD_CLOSE);
    record_stream(&bytes, RECORD_PARAMS, 1, params.data, params.length, 0);
    record_add(&bytes, RECORD_STDIN, 1, "12345", 5);
    link_send(link, bytes.data, bytes.length);
    answer_read(&answer, link, 1, DEADLINE_USUAL_MS);
    CU_ASSERT(answer_body_is(&answer, "5 end"));
    bytes_fini(&params);
    bytes_fini(&bytes);
}

/* CONTENT_LENGTH that does not agree with the stream. Returns the answer's status. */
static int disagreeing(const char *content_length, const char *body)
{
    struct link *link = link_new(server_shared()->local);
    struct bytes params = {0}, bytes = {0};

    record_params(&params, &(struct record_request){.path = "/readpart", .query = "all", .no_content_length = true});
    if (content_length)
        record_pair(&params, "CONTENT_LENGTH", content_length);
    record_begin(&bytes, 1, RECORD_RESPONDER, RECORD_CLOSE);
    record_stream(&bytes, RECORD_PARAMS, 1, params.data, params.length, 0);
    record_stream(&bytes, RECORD_STDIN, 1, body, strlen(body), 0);
    link_send(link, bytes.data, bytes.length);
    answer_read(&answer, link, 1, DEADLINE_USUAL_MS);
    bytes_fini(&params);
    bytes_fini(&bytes);
    return answer_status(&answer);
}

static void content_length_disagrees(void)
{
    CU_ASSERT(disagreeing(NULL, "0123456789") == 200 && answer_body_is(&answer, "10 end"));
    CU_ASSERT(disagreeing("10", "0123456789") == 200 && answer_body_is(&answer, "10 end"));
    /* Longer than declared: the declared part, or a refusal; never the rest. */
    CU_ASSERT(disagreeing("4", "0123456789") == 400 || answer_body_is(&answer, "4 end"));
    /* Shorter: a refusal, or what came with the stream's end. */
    CU_ASSERT(disagreeing("20", "0123456789") == 400 || answer_body_is(&answer, "10 end"));
}

static void content_length_is_no_number(void)
{
    static const char *const bad[] = {"-1", "+5", "5x", "0x5", "5 5", "5,5", "99999999999999999999"};

    for (size_t i = 0; i < SUITE_COUNT(bad); i++) {
        int status = disagreeing(bad[i], "01234");

        SUITE_CHECK(status == 400 || status == 413, "CONTENT_LENGTH '%s': status %d", bad[i], status);
    }
}

/* -- More than one request at a time ------------------------------------------------------------------------------ */

static void second_begin_too_early(void)
{
    static const char body[] = "first body";
    struct record_request first = {.path = "/echo", .body = body, .body_length = strlen(body)};
    struct link *link = link_new(server_shared()->local);
    struct bytes params = {0}, bytes = {0};
    struct answer_record record;

    record_params(&params, &first);
    record_begin(&bytes, 1, RECORD_RESPONDER, RECORD_KEEP);
    record_stream(&bytes, RECORD_PARAMS, 1, params.data, params.length, 0);
    record_add(&bytes, RECORD_STDIN, 1, body, 5);
    record_whole(&bytes, &(struct record_request){.id = 2, .flags = RECORD_KEEP, .path = "/hello"});
    link_send(link, bytes.data, bytes.length);
    record = answer_record(link, DEADLINE_USUAL_MS);
    CU_ASSERT(record.type == RECORD_END && record.id == 2 && record.content[4] == RECORD_CANT_MPX_CONN);
    bytes_clear(&bytes);
    record_add(&bytes, RECORD_STDIN, 1, body + 5, strlen(body) - 5);
    record_add(&bytes, RECORD_STDIN, 1, NULL, 0);
    link_send(link, bytes.data, bytes.length);
    answer_read(&answer, link, 1, DEADLINE_USUAL_MS);
    CU_ASSERT(answer_body_is(&answer, body));
    ask_hello(link, 3);
    bytes_fini(&params);
    bytes_fini(&bytes);
}

static void requests_in_one_write(void)
{
    enum { COUNT = 50 };
    struct link *link = link_new(server_shared()->local);
    struct bytes bytes = {0};
    char body[16];

    for (int i = 1; i <= COUNT; i++) {
        snprintf(body, sizeof body, "body %d", i);
        record_whole(&bytes,
                     &(struct record_request){
                         .id = i, .flags = RECORD_KEEP, .path = "/echo", .body = body, .body_length = strlen(body)});
    }
    link_send(link, bytes.data, bytes.length);
    for (int i = 1; i <= COUNT; i++) {
        snprintf(body, sizeof body, "body %d", i);
        answer_read(&answer, link, i, DEADLINE_USUAL_MS);
        CU_ASSERT_FATAL(answer_body_is(&answer, body));
    }
    bytes_fini(&bytes);
}

static void records_of_nobody(void)
{
    struct record_request request = {.path = "/echo", .body = "mine", .body_length = 4};
    struct link *link = link_new(server_shared()->local);
    struct bytes params = {0}, bytes = {0};

    record_params(&params, &request);
    record_add(&bytes, RECORD_STDIN, 9, "nobody's", 8);
    record_begin(&bytes, 1, RECORD_RESPONDER, RECORD_KEEP);
    record_add(&bytes, RECORD_PARAMS, 9, "nobody's", 8);
    record_stream(&bytes, RECORD_PARAMS, 1, params.data, params.length, 20);
    record_add(&bytes, 77, 1, "a type that nobody knows", 24);
    record_add(&bytes, RECORD_DATA, 1, "for a filter", 12);
    record_add(&bytes, RECORD_STDIN, 9, "nobody's", 8);
    record_add(&bytes, RECORD_STDIN, 1, "mine", 4);
    record_add(&bytes, RECORD_ABORT, 9, NULL, 0);
    record_add(&bytes, RECORD_STDIN, 9, NULL, 0);
    record_add(&bytes, RECORD_STDIN, 1, NULL, 0);
    link_send(link, bytes.data, bytes.length);
    answer_read(&answer, link, 1, DEADLINE_USUAL_MS);
    CU_ASSERT(answer_body_is(&answer, "mine"));
    ask_hello(link, 9);
    bytes_fini(&params);
    bytes_fini(&bytes);
}

/* Last: whatever the cases before did to the shared server, all its threads are there. */
static void no_thread_is_lost(void)
{
    blocked_check(server_shared());
}

static const struct suite_case cases[] = {
    {"KEEP_CONN 0 closes within 100 ms", closes_without_keep_conn},
    {"KEEP_CONN 1 keeps", keeps_with_keep_conn},
    {"a thousand requests on one connection", thousand_requests},
    {"closed connections leave no descriptor", closed_connections_leave_nothing},
    {"unread bodies", unread_bodies},
    {"bodies that imitate requests, at every offset", imitating_bodies},
    {"a rest of a body that imitates a request", imitating_rests},
    {"the end of STDIN after the answer", late_end_of_stdin},
    {"a doubled end of STDIN", doubled_end_of_stdin},
    {"no end of STDIN", missing_end_of_stdin},
    {"CONTENT_LENGTH and the stream disagree", content_length_disagrees},
    {"CONTENT_LENGTH is no number", content_length_is_no_number},
    {"a second BEGIN before the end of STDIN", second_begin_too_early},
    {"fifty requests in one write", requests_in_one_write},
    {"records of nobody are skipped", records_of_nobody},
    {"no thread is lost", no_thread_is_lost},
};

int main(int argc, char **argv)
{
    return suite_main("connections", cases, SUITE_COUNT(cases), argc, argv);
}
