/*
 * test_records.c: the framing of FastCGI records against the real server: ids, splits, padding, variables cut
 * anywhere, sizes of answers, STDERR. Cases C04 to C07, C10, C11, C12.
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

static void ids_come_back(void)
{
    static const int ids[] = {1, 2, 255, 256, 65535, 1};
    struct server *server = server_shared();
    const char *addresses[] = {server->local, server->tcp};

    for (int a = 0; a < 2; a++) {
        struct link *link = link_new(addresses[a]);

        for (size_t i = 0; i < SUITE_COUNT(ids); i++) { /* answer_read compares every record's id */
            answer_ask(&answer, link, &(struct record_request){.id = ids[i], .flags = RECORD_KEEP, .path = "/hello"});
            CU_ASSERT_EQUAL(answer_status(&answer), 200);
        }
        link_free(link);
    }
}

/* A POST whose stream is written here in records of odd sizes with padding. */
static void odd_request(struct bytes *to, const char *path, const char *body, size_t piece, int padding)
{
    struct record_request request = {.path = path, .body = body, .body_length = strlen(body)};
    struct bytes params = {0};

    record_params(&params, &request);
    record_begin(to, 1, RECORD_RESPONDER, RECORD_KEEP);
    for (size_t at = 0; at < params.length; at += piece) {
        size_t part = params.length - at < piece ? params.length - at : piece;

        record_add_padded(to, RECORD_PARAMS, 1, params.data + at, part, padding);
    }
    record_add_padded(to, RECORD_PARAMS, 1, NULL, 0, padding);
    for (size_t at = 0; at < strlen(body); at += piece) {
        size_t part = strlen(body) - at < piece ? strlen(body) - at : piece;

        record_add_padded(to, RECORD_STDIN, 1, body + at, part, padding);
    }
    record_add_padded(to, RECORD_STDIN, 1, NULL, 0, padding);
    bytes_fini(&params);
}

static void split_at_every_byte(void)
{
    static const char body[] = "ten bytes!";
    struct link *link = link_new(server_shared()->local);
    struct bytes request = {0};

    odd_request(&request, "/echo", body, 7, 3);
    for (size_t cut = 1; cut < request.length; cut++) {
        link_send(link, request.data, cut);
        /* The server has to see the first part alone: half a millisecond's silence makes it likely, not certain, and
         * over all the offsets it is certain enough. */
        if (cut % 8 == 0)
            link_is_silent(link, 1);
        link_send(link, request.data + cut, request.length - cut);
        answer_read(&answer, link, 1, DEADLINE_USUAL_MS);
        SUITE_CHECK(answer_body_is(&answer, body), "cut at byte %zu: '%s'", cut, bytes_text(&answer.out));
    }
    bytes_fini(&request);
}

/* What has come so far fills some buffer to the byte, and the rest comes later. */
static void cut_at(const struct bytes *request, size_t cut, const char *expected)
{
    struct link *link = link_new(server_shared()->local);

    link_send(link, request->data, cut);
    link_is_silent(link, 10);
    link_send(link, request->data + cut, request->length - cut);
    answer_read(&answer, link, 3, DEADLINE_USUAL_MS);
    SUITE_CHECK(answer_body_is(&answer, expected), "cut at byte %zu: %.40s", cut, bytes_text(&answer.out));
    answer_ask(&answer, link, &(struct record_request){.flags = RECORD_KEEP, .path = "/hello"});
    CU_ASSERT_EQUAL(answer_status(&answer), 200);
    link_free(link);
}

static void cut_where_buffers_end(void)
{
    enum { BODY = 140000, VARIABLE = 45000 };
    struct record_request one = {
        .id = 3, .flags = RECORD_KEEP, .path = "/readpart", .query = "all", .body_length = BODY};
    struct bytes body = {0}, params = {0}, request = {0};

    bytes_add_fill(&body, 'b', BODY);
    for (int large = 0; large < 2; large++) { /* within the body, and within the variables */
        bytes_clear(&params);
        bytes_clear(&request);
        record_params(&params, &one);
        if (large)
            record_pair_bytes(&params, "LARGE", 5, body.data, VARIABLE);
        record_begin(&request, 3, RECORD_RESPONDER, RECORD_KEEP);
        record_stream(&request, RECORD_PARAMS, 3, params.data, params.length, 0);
        record_stream(&request, RECORD_STDIN, 3, body.data, BODY, 40000);
        for (size_t at = 4096; at <= 131072; at += 4096) {
            cut_at(&request, at - 1, "140000 end");
            cut_at(&request, at, "140000 end");
            cut_at(&request, at + 1, "140000 end");
        }
    }
    bytes_fini(&body);
    bytes_fini(&params);
    bytes_fini(&request);
}

static void byte_by_byte(void)
{
    struct link *link = link_new(server_shared()->tcp);
    struct bytes request = {0};

    odd_request(&request, "/echo", "one at a time", 5, 1);
    for (size_t at = 0; at < request.length; at++) {
        link_send(link, request.data + at, 1);
        if (at % 16 == 0)
            link_is_silent(link, 1);
    }
    answer_read(&answer, link, 1, DEADLINE_USUAL_MS);
    CU_ASSERT(answer_body_is(&answer, "one at a time"));
    bytes_fini(&request);
}

static void every_padding(void)
{
    struct link *link = link_new(server_shared()->local);
    struct bytes request = {0};

    for (int padding = 0; padding <= 255; padding++) {
        bytes_clear(&request);
        odd_request(&request, "/echo", "padded", 100, padding);
        link_send(link, request.data, request.length);
        answer_read(&answer, link, 1, DEADLINE_USUAL_MS);
        SUITE_CHECK(answer_body_is(&answer, "padded"), "padding %d", padding);
    }
    bytes_fini(&request);
}

static void body_in_one_byte_records(void)
{
    struct link *link = link_new(server_shared()->local);
    struct bytes request = {0};

    odd_request(&request, "/echo", "0123456789", 1, 0);
    link_send(link, request.data, request.length);
    answer_read(&answer, link, 1, DEADLINE_USUAL_MS);
    CU_ASSERT(answer_body_is(&answer, "0123456789"));
    bytes_fini(&request);
}

static void body_in_the_largest_records(void)
{
    struct link *link = link_new(server_shared()->local);
    size_t length = 3 * 65535 + 17, seen;
    char *body = malloc(length);

    for (size_t i = 0; i < length; i++)
        body[i] = (char)(i * 31 + i / 257);
    answer_ask(&answer, link, &(struct record_request){.path = "/echo", .body = body, .body_length = length});
    CU_ASSERT(memcmp(answer_body(&answer, &seen), body, length) == 0 && seen == length);
    free(body);
}

/* -- Variables ---------------------------------------------------------------------------------------------------- */

enum { VALUE_20K = 20480 };

/* Values at the borders of the two length forms, many of them, and one longer than any buffer of 8 KiB. */
static void border_params(struct bytes *params)
{
    static const size_t lengths[] = {0, 1, 126, 127, 128, 129, 255, 256, 8191, 8192, 8193, VALUE_20K};
    char *value = malloc(VALUE_20K + 1), name[32];

    record_params(params, &(struct record_request){.path = "/params"});
    for (size_t i = 0; i < SUITE_COUNT(lengths); i++) {
        memset(value, 'a' + (int)i, lengths[i]);
        snprintf(name, sizeof name, "LENGTH_%zu", lengths[i]);
        record_pair_bytes(params, name, strlen(name), value, lengths[i]);
    }
    for (int i = 0; i < 200; i++) {
        snprintf(name, sizeof name, "MANY_%d", i);
        record_pair(params, name, name);
    }
    memset(value, 'N', 130);
    record_pair_bytes(params, value, 130, "long name", 9);
    record_pair_long(params, "SHORT_IN_FOUR_BYTES", "yes");
    free(value);
}

/* Whether `NAME=value` stands in the list that tests/apps/params.c writes. */
static bool has_variable(const char *name, const char *value, size_t value_length)
{
    size_t length, name_length = strlen(name);
    const char *at = (const char *)answer_body(&answer, &length), *end = at + length;

    for (; at < end; at += strlen(at) + 1) {
        if (strncmp(at, name, name_length) != 0 || at[name_length] != '=')
            continue;
        return strlen(at) == name_length + 1 + value_length && memcmp(at + name_length + 1, value, value_length) == 0;
    }
    return false;
}

static void check_border_params(void)
{
    char value[VALUE_20K + 1], name[131];

    memset(value, 'a' + 11, sizeof value);
    CU_ASSERT_FATAL(has_variable("LENGTH_20480", value, VALUE_20K));
    memset(value, 'a' + 3, sizeof value);
    CU_ASSERT_FATAL(has_variable("LENGTH_127", value, 127));
    memset(value, 'a' + 4, sizeof value);
    CU_ASSERT_FATAL(has_variable("LENGTH_128", value, 128));
    CU_ASSERT_FATAL(has_variable("LENGTH_0", "", 0));
    CU_ASSERT_FATAL(has_variable("SHORT_IN_FOUR_BYTES", "yes", 3));
    memset(name, 'N', 130);
    name[130] = '\0';
    CU_ASSERT_FATAL(has_variable(name, "long name", 9));
    for (int i = 0; i < 200; i++) {
        snprintf(name, sizeof name, "MANY_%d", i);
        CU_ASSERT_FATAL(has_variable(name, name, strlen(name)));
    }
}

static void ask_with_params(struct link *link, const struct bytes *params, size_t piece)
{
    struct bytes request = {0};

    record_begin(&request, 1, RECORD_RESPONDER, RECORD_KEEP);
    record_stream(&request, RECORD_PARAMS, 1, params->data, params->length, piece);
    record_add(&request, RECORD_STDIN, 1, NULL, 0);
    link_send(link, request.data, request.length);
    bytes_fini(&request);
    answer_read(&answer, link, 1, DEADLINE_USUAL_MS);
}

static void variables_cut_anywhere(void)
{
    static const size_t pieces[] = {1, 2, 3, 5, 7, 100, 8191, 8192, 8193, 65535};
    struct link *link = link_new(server_shared()->local);
    struct bytes params = {0};

    border_params(&params);
    for (size_t i = 0; i < SUITE_COUNT(pieces); i++) {
        ask_with_params(link, &params, pieces[i]);
        check_border_params();
    }
    bytes_fini(&params);
}

/* Two records, the border between them at every offset of a small set of variables. */
static void variables_cut_at_every_byte(void)
{
    struct link *link = link_new(server_shared()->local);
    struct bytes params = {0}, request = {0};
    char value[200];

    memset(value, 'v', sizeof value);
    record_pair(&params, "SCRIPT_NAME", "/params");
    record_pair_bytes(&params, "LONG", 4, value, sizeof value);
    record_pair(&params, "REQUEST_METHOD", "GET");
    for (size_t cut = 1; cut < params.length; cut++) {
        bytes_clear(&request);
        record_begin(&request, 1, RECORD_RESPONDER, RECORD_KEEP);
        record_add(&request, RECORD_PARAMS, 1, params.data, cut);
        record_stream(&request, RECORD_PARAMS, 1, params.data + cut, params.length - cut, 0);
        record_add(&request, RECORD_STDIN, 1, NULL, 0);
        link_send(link, request.data, request.length);
        answer_read(&answer, link, 1, DEADLINE_USUAL_MS);
        SUITE_CHECK(has_variable("LONG", value, sizeof value) && has_variable("REQUEST_METHOD", "GET", 3),
                    "cut at byte %zu", cut);
    }
    bytes_fini(&params);
    bytes_fini(&request);
}

/* -- Answers ------------------------------------------------------------------------------------------------------ */

static void answer_sizes(void)
{
    static const size_t sizes[] = {0, 1, 8191, 8192, 8193, 65534, 65535, 65536, 131072, 5 << 20, 32 << 20};
    struct server *server = server_shared();
    const char *addresses[] = {server->local, server->tcp};
    char query[32];

    for (int a = 0; a < 2; a++) {
        struct link *link = link_new(addresses[a]);

        for (size_t i = 0; i < SUITE_COUNT(sizes); i++) {
            snprintf(query, sizeof query, "%zu", sizes[i]);
            answer_ask(&answer, link,
                       &(struct record_request){.flags = RECORD_KEEP, .path = "/bigout", .query = query});
            SUITE_CHECK(answer_body_is_pattern(&answer, sizes[i]), "%zu bytes over %s", sizes[i], addresses[a]);
            SUITE_CHECK(answer.app_status == 0, "%zu bytes: appStatus %u", sizes[i], answer.app_status);
        }
        link_free(link);
    }
}

static void small_pieces_become_large_records(void)
{
    answer_ask_once(&answer, server_shared()->local, &(struct record_request){.path = "/bigout", .query = "200000,10"});
    CU_ASSERT(answer_body_is_pattern(&answer, 200000));
    SUITE_CHECK(answer.out_records <= 60, "%u records for 200,000 bytes, the largest of %zu", answer.out_records,
                answer.largest);
}

static void small_answer_is_one_record(void)
{
    answer_ask_once(&answer, server_shared()->local, &(struct record_request){.path = "/bigout", .query = "8000,80"});
    CU_ASSERT(answer_body_is_pattern(&answer, 8000));
    CU_ASSERT_EQUAL(answer.out_records, 1);
}

static void length_is_computed(void)
{
    answer_ask_once(&answer, server_shared()->local, &(struct record_request){.path = "/bigout", .query = "8000"});
    CU_ASSERT(answer_has_header(&answer, "Content-Length: 8000"));
    answer_ask_once(&answer, server_shared()->local, &(struct record_request){.path = "/bigout", .query = "0"});
    CU_ASSERT(answer_has_header(&answer, "Content-Length: 0"));
}

/* Reads 5 MiB in sips of 1 KiB through a bounded receive buffer, with pauses at the start. */
static void slow_reader(void)
{
    enum { SIZE = 5 << 20, SIP = 1024 };
    struct link *link = link_new(server_shared()->tcp);
    struct bytes request = {0};
    unsigned sips = 0;

    link_shrink_receive_buffer(link, 65536); /* below the loopback's segment size the kernel itself would crawl */
    record_whole(&request, &(struct record_request){.path = "/bigout", .query = "5242880"});
    link_send(link, request.data, request.length);
    for (bytes_clear(&request);; sips++) {
        char sip[SIP];
        long got = link_try_read(link, sip, sizeof sip, DEADLINE_USUAL_MS);

        if (got == 0)
            break;
        SUITE_CHECK(got > 0, "nothing more after %zu bytes", request.length);
        bytes_add(&request, sip, (size_t)got);
        if (sips < 40)
            poll(NULL, 0, 5);
    }
    /* The server has closed; what came is now read as records. */
    size_t body = 0, at = 0;
    while (at + RECORD_HEAD <= request.length) {
        const unsigned char *head = request.data + at;
        size_t content = (size_t)(head[4] << 8 | head[5]);

        SUITE_CHECK(head[0] == 1, "no record at byte %zu", at);
        if (head[1] == RECORD_STDOUT)
            body += content;
        at += RECORD_HEAD + content + head[6];
    }
    CU_ASSERT_EQUAL(at, request.length);
    SUITE_CHECK(body > SIZE && body < SIZE + 500, "%zu bytes of STDOUT", body);
    bytes_fini(&request);
}

static void slow_reader_holds_nobody_up(void)
{
    struct server *server = server_shared();
    struct bytes request = {0};
    int64_t start_ms;

    record_whole(&request, &(struct record_request){.path = "/bigout", .query = "5242880"});
    for (int i = 0; i < 4; i++)
        link_send(link_new(server->local), request.data, request.length); /* none is read */
    start_ms = deadline_now_ms();
    for (int i = 0; i < 50; i++) {
        answer_ask_once(&answer, server->local, &(struct record_request){.path = "/hello"});
        CU_ASSERT_EQUAL_FATAL(answer_status(&answer), 200);
    }
    SUITE_CHECK(deadline_now_ms() - start_ms < 2000, "50 requests took %d ms", (int)(deadline_now_ms() - start_ms));
    bytes_fini(&request);
}

static void error_stream(void)
{
    static const char *const sizes[] = {"1", "100", "8192", "65535", "65536", "200000"};
    struct link *link = link_new(server_shared()->local);

    for (size_t i = 0; i < SUITE_COUNT(sizes); i++) {
        answer_ask(&answer, link, &(struct record_request){.flags = RECORD_KEEP, .path = "/errout", .query = sizes[i]});
        CU_ASSERT_FATAL(answer_body_is(&answer, "clean body"));
        SUITE_CHECK(answer.err.length == 3 * strtoul(sizes[i], NULL, 10), "%zu bytes of STDERR for 3 x %s",
                    answer.err.length, sizes[i]);
        CU_ASSERT_FATAL(strspn(bytes_text(&answer.err), "e") == answer.err.length);
    }
}

static void app_status(void)
{
    struct link *link = link_new(server_shared()->local);

    answer_ask(&answer, link, &(struct record_request){.flags = RECORD_KEEP, .path = "/nothing", .query = "42"});
    CU_ASSERT_EQUAL(answer.app_status, 42);
    answer_ask(&answer, link, &(struct record_request){.flags = RECORD_KEEP, .path = "/hello"});
    CU_ASSERT_EQUAL(answer.app_status, 0);
}

/* Last: whatever the cases before did to the shared server, all its threads are there. */
static void no_thread_is_lost(void)
{
    blocked_check(server_shared());
}

static const struct suite_case cases[] = {
    {"every record carries the id of its request", ids_come_back},
    {"a request split at every byte", split_at_every_byte},
    {"a request cut where buffers end", cut_where_buffers_end},
    {"a request byte by byte", byte_by_byte},
    {"padding of 0 to 255 bytes", every_padding},
    {"a body in records of one byte", body_in_one_byte_records},
    {"a body in records of 65535 bytes", body_in_the_largest_records},
    {"variables cut into records of any size", variables_cut_anywhere},
    {"variables cut at every byte", variables_cut_at_every_byte},
    {"answers of 0 bytes to 32 MiB", answer_sizes},
    {"small writes become large records", small_pieces_become_large_records},
    {"a small answer is one record", small_answer_is_one_record},
    {"Content-Length is computed", length_is_computed},
    {"5 MiB to a slow reader", slow_reader},
    {"readers that do not read hold nobody up", slow_reader_holds_nobody_up},
    {"the error stream is separate and complete", error_stream},
    {"appStatus is the handler's, never an earlier one", app_status},
    {"no thread is lost", no_thread_is_lost},
};

int main(int argc, char **argv)
{
    return suite_main("records", cases, SUITE_COUNT(cases), argc, argv);
}
