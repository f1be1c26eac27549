/*
 * test_peers.c: peers of the real server that do nothing, stop, or leave: what they hold up, and for how long.
 * Cases C18, C19, C22, C23, C35.
 */
#include <poll.h>
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

static void idle_connections_hold_no_thread(void)
{
    enum { IDLE = 16 * SERVER_WORKERS * SERVER_THREADS };
    struct server *server = server_shared();
    long threads_before = server_sum(server, process_thread_count);
    struct bytes half = {0};
    int64_t start_ms;

    for (int i = 0; i < IDLE; i++)
        ask_hello(link_new(i % 2 ? server->local : server->tcp));
    for (int i = 0; i < IDLE / 4; i++)
        link_new(server->local); /* these have not said a word */
    record_begin(&half, 1, RECORD_RESPONDER, RECORD_KEEP);
    for (int i = 0; i < IDLE / 4; i++)
        link_send(link_new(server->local), half.data, half.length - 3);
    bytes_fini(&half);

    start_ms = deadline_now_ms();
    for (int i = 0; i < 200; i++) {
        answer_ask_once(&answer, i % 2 ? server->local : server->tcp, &(struct record_request){.path = "/hello"});
        CU_ASSERT_EQUAL_FATAL(answer_status(&answer), 200);
    }
    SUITE_CHECK(deadline_now_ms() - start_ms < 1000, "200 requests beside %d idle connections took %d ms", IDLE,
                (int)(deadline_now_ms() - start_ms));
    CU_ASSERT_EQUAL(server_sum(server, process_thread_count), threads_before);
}

static void peers_leave_anywhere(void)
{
    struct server *server = server_shared();
    struct process_children before = server_workers(server), after;
    struct bytes request = {0};

    record_whole(&request, &(struct record_request){.path = "/echo", .body = "body", .body_length = 4});
    for (size_t cut = 1; cut <= request.length; cut++) {
        struct link *link = link_new(cut % 2 ? server->local : server->tcp);

        link_send(link, request.data, cut);
        link_free(link);
    }
    for (int i = 0; i < 40; i++) { /* in the middle of a large answer */
        struct link *link = link_new(server->local);

        bytes_clear(&request);
        record_whole(&request, &(struct record_request){.path = "/bigout", .query = "5242880"});
        link_send(link, request.data, request.length);
        if (i % 2)
            link_read(link, (char[100]){0}, 100, DEADLINE_USUAL_MS);
        link_free(link);
    }
    for (int i = 0; i < 20; i++)
        ask_hello(link_new(server->local));
    after = server_workers(server);
    CU_ASSERT_EQUAL(after.count, before.count);
    CU_ASSERT_EQUAL(memcmp(after.pids, before.pids, sizeof before.pids), 0);
    bytes_fini(&request);
}

static void silence_has_limits(void)
{
    struct server *server = server_start("head_timeout = 1\nbody_timeout = 1\nidle_timeout = 60");
    struct record_request request = {.path = "/readpart", .query = "all", .body_length = 100};
    struct link *kept = link_new(server->local), *head = link_new(server->local), *body = link_new(server->tcp);
    struct bytes params = {0}, bytes = {0};
    int64_t start_ms = deadline_now_ms();

    ask_hello(kept);
    record_params(&params, &request);
    record_begin(&bytes, 1, RECORD_RESPONDER, RECORD_KEEP);
    record_add(&bytes, RECORD_PARAMS, 1, params.data, params.length / 2);
    link_send(head, bytes.data, bytes.length);
    record_add(&bytes, RECORD_PARAMS, 1, params.data + params.length / 2, params.length - params.length / 2);
    record_add(&bytes, RECORD_PARAMS, 1, NULL, 0);
    record_add(&bytes, RECORD_STDIN, 1, "half a body", 11);
    link_send(body, bytes.data, bytes.length);
    CU_ASSERT(link_closes(head, 4000));
    SUITE_CHECK(deadline_now_ms() - start_ms >= 900, "closed after %d ms", (int)(deadline_now_ms() - start_ms));
    CU_ASSERT(link_closes(body, 4000)); /* an answer may come before */
    ask_hello(kept);                    /* idle for as long, and not closed */
    bytes_fini(&params);
    bytes_fini(&bytes);
}

/* Records of nobody come again and again: body_timeout counts from the last byte of the body all the same. */
static void foreign_records_prolong_nothing(const struct server *server, size_t body_length)
{
    struct record_request request = {
        .method = "POST", .path = "/readpart", .query = "all", .body_length = body_length + 1};
    struct link *link = link_new(server->local);
    struct bytes params = {0}, bytes = {0}, foreign = {0};
    int64_t start_ms;

    record_params(&params, &request);
    record_begin(&bytes, 1, RECORD_RESPONDER, RECORD_KEEP);
    record_stream(&bytes, RECORD_PARAMS, 1, params.data, params.length, 0);
    bytes_add_fill(&foreign, 'x', body_length);
    record_stream(&bytes, RECORD_STDIN, 1, foreign.data, body_length, 10000);
    bytes.length -= RECORD_HEAD; /* no end */
    link_send(link, bytes.data, bytes.length);
    bytes_clear(&foreign);
    record_add(&foreign, RECORD_STDIN, 2, "nobody's", 8);
    start_ms = deadline_now_ms();
    while (link_is_silent(link, 100) && deadline_now_ms() - start_ms < 4000)
        link_try_send(link, foreign.data, foreign.length, 1000);
    SUITE_CHECK(deadline_now_ms() - start_ms < 2000, "%zu bytes: waited %d ms", body_length,
                (int)(deadline_now_ms() - start_ms));
    bytes_fini(&params);
    bytes_fini(&bytes);
    bytes_fini(&foreign);
}

static void records_of_nobody_prolong_nothing(void)
{
    struct server *server = server_start("body_timeout = 1");

    foreign_records_prolong_nothing(server, 10);     /* the lane waits */
    foreign_records_prolong_nothing(server, 100000); /* the handler waits */
}

/* Reads to the end of the connection, at most a time. Returns how many bytes that were. */
static size_t read_to_end(struct link *link, struct bytes *to, int limit_ms)
{
    int64_t end_ms = deadline_now_ms() + limit_ms;
    char piece[65536];
    long got;

    while ((got = link_try_read(link, piece, sizeof piece, deadline_left_ms(end_ms))) > 0)
        bytes_add(to, piece, (size_t)got);
    SUITE_CHECK(got == 0, "the connection is still open");
    return to->length;
}

/* A reader that pauses for longer than write_timeout: its answer ends where it was, within a record, and so does the
 * connection. Nothing follows, not the end of the answer, not the next one. */
static void cut_answer(const char *address)
{
    struct link *link = link_new(address);
    struct bytes bytes = {0};
    size_t at = 0;

    record_whole(&bytes, &(struct record_request){.flags = RECORD_KEEP, .path = "/bigout", .query = "8000000"});
    record_whole(&bytes, &(struct record_request){.id = 2, .flags = RECORD_KEEP, .path = "/hello"});
    link_send(link, bytes.data, bytes.length);
    poll(NULL, 0, 1500);
    bytes_clear(&bytes);
    read_to_end(link, &bytes, DEADLINE_USUAL_MS);
    while (at + RECORD_HEAD <= bytes.length) {
        CU_ASSERT_FATAL(bytes.data[at] == 1 && bytes.data[at + 1] == RECORD_STDOUT && bytes.data[at + 3] == 1);
        at += RECORD_HEAD + ((size_t)bytes.data[at + 4] << 8 | bytes.data[at + 5]) + bytes.data[at + 6];
    }
    SUITE_CHECK(at > bytes.length && bytes.length < 8000000, "%zu bytes, the last record ends at %zu", bytes.length,
                at);
    CU_ASSERT(memmem(bytes.data, bytes.length, "Hello", 5) == NULL);
    bytes_fini(&bytes);
}

static void cut_answers_end(void)
{
    struct server *server = server_start("write_timeout = 1");

    cut_answer(server->local);
    cut_answer(server->tcp);
}

/* A request and 70,000 bytes of its body: more than is gathered before the handler is called. */
static void send_part_of_body(struct link *link, const struct record_request *request)
{
    struct bytes params = {0}, bytes = {0};

    record_params(&params, request);
    record_begin(&bytes, 1, RECORD_RESPONDER, request->flags);
    record_stream(&bytes, RECORD_PARAMS, 1, params.data, params.length, 0);
    bytes_clear(&params);
    bytes_add_fill(&params, 'b', 60000);
    record_add(&bytes, RECORD_STDIN, 1, params.data, 60000);
    record_add(&bytes, RECORD_STDIN, 1, params.data, 10000);
    link_send(link, bytes.data, bytes.length);
    bytes_fini(&params);
    bytes_fini(&bytes);
}

/* The same while the handler reads its body and the server replies to records in between: no reply's rest is sent. */
static void cut_replies_end(void)
{
    struct server *server = server_start("workers = 1\nwrite_timeout = 1");
    struct record_request request = {.method = "POST", .path = "/readpart", .query = "all", .body_length = 200000};
    struct link *link = link_new(server->local);
    struct bytes bytes = {0};

    if (getenv("MILLRACE_TEST_TCP"))
        suite_skip("TCP's buffers take all these replies");
    request.flags = RECORD_KEEP;
    send_part_of_body(link, &request);
    for (int i = 0; i < 60000; i++)
        record_add(&bytes, 77, 0, NULL, 0);
    link_try_send(link, bytes.data, bytes.length, 300);
    poll(NULL, 0, 1600);
    bytes_clear(&bytes);
    read_to_end(link, &bytes, DEADLINE_USUAL_MS);
    for (size_t at = 0; at + 16 <= bytes.length; at += 16)
        CU_ASSERT_FATAL(bytes.data[at + 1] == RECORD_UNKNOWN_TYPE && bytes.data[at + 8] == 77);
    answer_ask_once(&answer, server->local, &(struct record_request){.path = "/hello"});
    CU_ASSERT_EQUAL(answer_status(&answer), 200);
    CU_ASSERT_EQUAL(server_log_count(server, "was ended by"), 0);
    bytes_fini(&bytes);
}

/* A peer that reads late, and sends of a body that nobody reads meanwhile: its answer is complete all the same. */
static void late_reader_gets_its_answer(void)
{
    struct server *server = server_start(NULL);
    struct record_request request = {.method = "POST", .path = "/bigout", .query = "60000", .body_length = 100000};
    struct link *link = link_new(server->tcp);
    struct bytes bytes = {0};

    link_shrink_receive_buffer(link, 2048);
    request.flags = RECORD_CLOSE;
    send_part_of_body(link, &request);
    record_add(&bytes, RECORD_STDIN, 1, "trickle", 7);
    for (int i = 0; i < 20; i++) {
        poll(NULL, 0, 100);
        link_try_send(link, bytes.data, bytes.length, 100);
    }
    answer_read(&answer, link, 1, DEADLINE_USUAL_MS);
    CU_ASSERT(answer_body_is_pattern(&answer, 60000));
    bytes_fini(&bytes);
}

/* The time that a head may take begins with it, not with what is left of the body before it. */
static void head_timeout_begins_with_the_head(void)
{
    struct server *server = server_start("head_timeout = 1");
    struct record_request request = {.method = "POST", .path = "/nowhere", .body_length = 1000};
    struct link *link = link_new(server->local);
    struct bytes params = {0}, bytes = {0};

    record_params(&params, &request);
    record_begin(&bytes, 1, RECORD_RESPONDER, RECORD_KEEP);
    record_stream(&bytes, RECORD_PARAMS, 1, params.data, params.length, 0);
    link_send(link, bytes.data, bytes.length - 4); /* the answer comes when the head has ended */
    link_send(link, bytes.data + bytes.length - 4, 4);
    answer_read(&answer, link, 1, DEADLINE_USUAL_MS);
    CU_ASSERT_EQUAL(answer_status(&answer), 404);
    bytes_clear(&bytes);
    record_add(&bytes, RECORD_STDIN, 1, "left", 4);
    link_send(link, bytes.data, 5); /* a record of it, not whole */
    poll(NULL, 0, 700);
    link_send(link, bytes.data + 5, bytes.length - 5);
    bytes_clear(&bytes);
    record_whole(&bytes, &(struct record_request){.id = 2, .flags = RECORD_KEEP, .path = "/hello"});
    link_send(link, bytes.data, 20);
    poll(NULL, 0, 700);
    link_send(link, bytes.data + 20, bytes.length - 20);
    answer_read(&answer, link, 2, DEADLINE_USUAL_MS);
    CU_ASSERT_EQUAL(answer_status(&answer), 200);
    bytes_fini(&params);
    bytes_fini(&bytes);
}

static void idle_connection_closes_silently(void)
{
    struct server *server = server_start("idle_timeout = 1");
    struct link *link = link_new(server->local), *mute = link_new(server->local);
    char byte;

    ask_hello(link);
    CU_ASSERT_EQUAL(link_try_read(link, &byte, 1, 4000), 0);
    CU_ASSERT_EQUAL(link_try_read(mute, &byte, 1, 4000), 0);
}

/* Readers that have gone to sleep take no thread from others. */
static void silent_readers_hold_up_nobody(void)
{
    enum { READERS = 12 };
    struct server *server = server_start("workers = 1\nlanes = 1\nthreads = 2\nqueue_ms = 40\nmax_waiting = 12\n"
                                         "write_timeout = 2");
    struct link *links[READERS];
    struct bytes request = {0};
    char byte;

    record_whole(&request, &(struct record_request){.path = "/bigout", .query = "5242880"});
    for (int i = 0; i < READERS; i++) {
        links[i] = link_new(i % 2 == 0 ? server->local : server->tcp);
        link_send(links[i], request.data, request.length);
        CU_ASSERT_EQUAL(link_try_read(links[i], &byte, 1, 4000), 1);
        answer_ask_once(&answer, server->local, &(struct record_request){.path = "/hello"});
        CU_ASSERT_EQUAL(answer_status(&answer), 200);
    }
    bytes_fini(&request);
    for (int i = 0; i < READERS; i++)
        CU_ASSERT(link_closes(links[i], 6000)); /* each at its own limit */
    answer_ask_once(&answer, server->local, &(struct record_request){.path = "/hello"});
    CU_ASSERT_EQUAL(answer_status(&answer), 200);
}

/* Without threads in their place they keep their handlers, the only two here that may block, until write_timeout. */
static void silent_reader_has_a_limit(void)
{
    struct server *server = server_start("workers = 1\nlanes = 1\nthreads = 2\nqueue_ms = 40\nwrite_timeout = 1\nmax_waiting = 0");
    struct link *link = link_new(server->local), *other = link_new(server->tcp);
    int64_t start_ms = deadline_now_ms();
    struct bytes request = {0};
    char byte;

    record_whole(&request, &(struct record_request){.path = "/bigout", .query = "5242880"});
    link_send(link, request.data, request.length);
    link_send(other, request.data, request.length);
    bytes_fini(&request);
    CU_ASSERT_EQUAL(link_try_read(link, &byte, 1, 4000), 1);
    CU_ASSERT_EQUAL(link_try_read(other, &byte, 1, 4000), 1);
    answer_ask_once(&answer, server->local, &(struct record_request){.path = "/hello"});
    CU_ASSERT_EQUAL(answer_status(&answer), 503);
    do {
        answer_ask_once(&answer, server->local, &(struct record_request){.path = "/hello"});
    } while (answer_status(&answer) != 200 && deadline_now_ms() - start_ms < DEADLINE_USUAL_MS);
    CU_ASSERT_EQUAL(answer_status(&answer), 200);
    SUITE_CHECK(deadline_now_ms() - start_ms >= 900, "another request was served after %d ms",
                (int)(deadline_now_ms() - start_ms));
    CU_ASSERT(link_closes(link, 4000));
}

/* Last: whatever the cases before did to the shared server, all its threads are there. */
static void no_thread_is_lost(void)
{
    blocked_check(server_shared());
}

static const struct suite_case cases[] = {
    {"idle connections hold no thread", idle_connections_hold_no_thread},
    {"peers leave at every byte", peers_leave_anywhere},
    {"silence in head and body has limits", silence_has_limits},
    {"records of nobody prolong nothing", records_of_nobody_prolong_nothing},
    {"a cut answer is the last of its connection", cut_answers_end},
    {"a cut reply is the last of its connection", cut_replies_end},
    {"a late reader gets its whole answer", late_reader_gets_its_answer},
    {"head_timeout begins with the head", head_timeout_begins_with_the_head},
    {"an idle connection closes silently", idle_connection_closes_silently},
    {"silent readers hold up nobody", silent_readers_hold_up_nobody},
    {"a silent reader has a limit", silent_reader_has_a_limit},
    {"no thread is lost", no_thread_is_lost},
};

int main(int argc, char **argv)
{
    return suite_main("peers", cases, SUITE_COUNT(cases), argc, argv);
}
