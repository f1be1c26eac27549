/*
 * test_handlers.c: what handlers may do wrong, and what they may do, in the real server: no answer, bad headers,
 * crashes, exit, libfcgi's own calls, child processes. Cases C15, C17, C37, C42, C102.
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

static void ask(const char *path, const char *query)
{
    answer_ask_once(&answer, server_shared()->local, &(struct record_request){.path = path, .query = query});
}

static void nothing_written(void)
{
    ask("/nothing", "0");
    CU_ASSERT_EQUAL(answer_status(&answer), 500);
    ask("/nothing", "3");
    CU_ASSERT_EQUAL(answer_status(&answer), 500);
    CU_ASSERT_EQUAL(answer.app_status, 3);
    CU_ASSERT(server_log_count(server_shared(), "/nothing") > 0);
}

static void unknown_routes(void)
{
    static const char *const paths[] = {"/nowhere", "/hell", "/helloo", "/hello.html", "/", "/Hello"};

    for (size_t i = 0; i < SUITE_COUNT(paths); i++) {
        ask(paths[i], "");
        SUITE_CHECK(answer_status(&answer) == 404, "%s: status %d", paths[i], answer_status(&answer));
    }
    ask("/hello/there", "");
    CU_ASSERT_EQUAL(answer_status(&answer), 200);
}

/* Whether a variable stands in the list of tests/apps/params.c. */
static bool has_variable(const char *pair)
{
    size_t length;
    const char *at = (const char *)answer_body(&answer, &length), *end = at + length;

    for (; at < end; at += strlen(at) + 1) {
        if (strcmp(at, pair) == 0)
            return true;
    }
    return false;
}

static void script_name_and_path_info(void)
{
    ask("/params/a/b", "q=1");
    CU_ASSERT(has_variable("SCRIPT_NAME=/params"));
    CU_ASSERT(has_variable("PATH_INFO=/a/b"));
    CU_ASSERT(has_variable("QUERY_STRING=q=1"));
    CU_ASSERT(has_variable("REQUEST_URI=/params/a/b?q=1"));
    ask("/params", "");
    CU_ASSERT(has_variable("SCRIPT_NAME=/params"));
    CU_ASSERT(!has_variable("PATH_INFO=/"));
}

static void bad_headers(void)
{
    static const char *const bad[] = {"bare-cr",   "nul",         "no-blank-line", "no-header",
                                      "no-colon",  "empty-name",  "space-in-name", "status-text",
                                      "status-99", "status-1000", "length-text",   "call-crlf"};

    for (size_t i = 0; i < SUITE_COUNT(bad); i++) {
        ask("/bad_header", bad[i]);
        SUITE_CHECK(answer_status(&answer) == 500, "%s: status %d: '%s'", bad[i], answer_status(&answer),
                    bytes_text(&answer.out));
        SUITE_CHECK(!strstr(bytes_text(&answer.out), "X-Two"), "%s: a second header line", bad[i]);
    }
    CU_ASSERT(server_log_count(server_shared(), "/bad_header") > 0);
}

static void good_headers(void)
{
    ask("/bad_header", "good-lf-only");
    CU_ASSERT(answer_status(&answer) == 200 && answer_body_is(&answer, "body"));
    ask("/bad_header", "call-good");
    CU_ASSERT(answer_status(&answer) == 200 && answer_has_header(&answer, "X-Value: plain"));
    CU_ASSERT(answer_body_is(&answer, "body"));
}

/* A body that is not as long as its Content-Length says: 500, or the connection ends without END_REQUEST. */
static void wrong_content_length(void)
{
    static const char *const wrong[] = {"length-short", "length-long"};

    for (size_t i = 0; i < SUITE_COUNT(wrong); i++) {
        struct link *link = link_new(server_shared()->local);
        struct bytes bytes = {0}, seen = {0};
        char piece[4096];
        long got;

        record_whole(&bytes, &(struct record_request){.flags = RECORD_KEEP, .path = "/bad_header", .query = wrong[i]});
        link_send(link, bytes.data, bytes.length);
        while ((got = link_try_read(link, piece, sizeof piece, 300)) > 0)
            bytes_add(&seen, piece, (size_t)got);
        if (got != 0) {
            SUITE_CHECK(seen.length > 19 && memcmp(seen.data + RECORD_HEAD, "Status: 500", 11) == 0,
                        "%s: %zu bytes and the connection open", wrong[i], seen.length);
        }
        bytes_fini(&bytes);
        bytes_fini(&seen);
    }
    CU_ASSERT(server_log_count(server_shared(), "/bad_header") > 0);
}

static void statuses(void)
{
    static const char *const lines[] = {"200 OK", "204", "404", "304 Not Modified", "418+Teapot", "503", "599"};

    for (size_t i = 0; i < SUITE_COUNT(lines); i++) {
        ask("/status", lines[i]);
        SUITE_CHECK(answer_status(&answer) == atoi(lines[i]), "%s: status %d", lines[i], answer_status(&answer));
        SUITE_CHECK(answer.app_status == 0, "%s: appStatus %u", lines[i], answer.app_status);
    }
}

static void head_has_no_body(void)
{
    answer_ask_once(&answer, server_shared()->local,
                    &(struct record_request){.path = "/bigout", .query = "8000", .method = "HEAD"});
    CU_ASSERT_EQUAL(answer_status(&answer), 200);
    CU_ASSERT(answer_body_is(&answer, ""));
    CU_ASSERT(answer_has_header(&answer, "Content-Length: 8000"));
}

static void stdout_goes_to_the_log(void)
{
    ask("/talker", "");
    CU_ASSERT(answer_body_is(&answer, "nothing but the body"));
    CU_ASSERT_EQUAL(answer.err.length, 0);
    CU_ASSERT(server_log_waits_for(server_shared(), "talker says this on stdout", 2000));
    CU_ASSERT(server_log_waits_for(server_shared(), "talker says this on stderr", 2000));
    CU_ASSERT(server_log_waits_for(server_shared(), "talker says this to the log", 2000));
}

/* -- Handlers that end their worker ---------------------------------------------------------------------------------
 */

/* The request loses its connection without an answer that could be taken for a whole one; one worker is replaced, the
 * other stays; the log says what happened; the next requests work. */
static void check_ends_worker(const char *path, const char *query, const char *logged)
{
    struct server *server = server_start(NULL);
    struct process_children before = server_workers_without(server, 0), after;
    struct link *link = link_new(server->local);
    struct bytes bytes = {0};
    size_t stayed = 0;

    record_whole(&bytes, &(struct record_request){.flags = RECORD_KEEP, .path = path, .query = query});
    link_send(link, bytes.data, bytes.length);
    CU_ASSERT_FATAL(link_closes(link, 5000));
    bytes_fini(&bytes);
    for (int i = 0; i < 20; i++) {
        answer_ask_once(&answer, i % 2 ? server->local : server->tcp, &(struct record_request){.path = "/hello"});
        CU_ASSERT_EQUAL_FATAL(answer_status(&answer), 200);
    }
    CU_ASSERT_FATAL(server_lost_one(&before, 5000));
    after = server_workers_without(server, 0);
    for (size_t i = 0; i < before.count; i++) {
        for (size_t j = 0; j < after.count; j++)
            stayed += before.pids[i] == after.pids[j];
    }
    SUITE_CHECK(stayed == 1, "%zu of the two workers stayed", stayed);
    SUITE_CHECK(server_log_waits_for(server, logged, 2000), "no '%s' in the log", logged);
    CU_ASSERT_EQUAL(server_stop(server, SIGTERM), 0);
}

static void crash(void)
{
    check_ends_worker("/crash", "", "signal 11");
}

static void abort_in_a_handler(void)
{
    check_ends_worker("/crash", "6", "signal 6");
}

static void exit_in_a_handler(void)
{
    check_ends_worker("/exit", "0", "exit()");
    check_ends_worker("/exit", "7", "exit()");
}

static void pthread_exit_in_a_handler(void)
{
    check_ends_worker("/exit", "thread", "pthread_exit()");
}

static void crash_after_crash(void)
{
    struct server *server = server_start(NULL);

    for (int i = 0; i < 3; i++) {
        struct process_children before = server_workers_without(server, 0);
        struct link *link = link_new(server->local);
        struct bytes bytes = {0};

        record_whole(&bytes, &(struct record_request){.path = "/crash", .query = i == 0 ? "" : i == 1 ? "11" : "8"});
        link_send(link, bytes.data, bytes.length);
        CU_ASSERT_FATAL(link_closes(link, 5000));
        SUITE_CHECK(server_lost_one(&before, 5000), "crash %d ended no worker", i);
        answer_ask_once(&answer, server->local, &(struct record_request){.path = "/hello"});
        CU_ASSERT_EQUAL_FATAL(answer_status(&answer), 200);
        bytes_fini(&bytes);
    }
}

/* A front end repeats a request whose connection has closed: the same one is not run again while it may be that, another one
 * is. */
static void what_has_crashed_is_not_run_again(void)
{
    struct server *server = server_start(NULL);
    struct process_children before = server_workers_without(server, 0), after;
    struct record_request crash = {.path = "/crash", .query = "11"}, exit_too = {.path = "/exit", .query = "5"};
    struct link *link = link_new(server->local);
    struct bytes bytes = {0};

    record_whole(&bytes, &crash);
    link_send(link, bytes.data, bytes.length);
    CU_ASSERT_FATAL(link_closes(link, 5000));
    CU_ASSERT(server_lost_one(&before, 5000));
    for (int i = 0; i < 5; i++) {
        answer_ask_once(&answer, server->local, &crash);
        CU_ASSERT_EQUAL(answer_status(&answer), 502);
    }
    bytes_clear(&bytes);
    record_whole(&bytes, &exit_too);
    link = link_new(server->local);
    link_send(link, bytes.data, bytes.length);
    CU_ASSERT_FATAL(link_closes(link, 5000));
    answer_ask_once(&answer, server->local, &exit_too);
    CU_ASSERT_EQUAL(answer_status(&answer), 502);
    answer_ask_once(&answer, server->local, &(struct record_request){.path = "/hello"});
    CU_ASSERT_EQUAL(answer_status(&answer), 200);
    after = server_workers_without(server, 0);
    link_is_silent(link_new(server->local), 2500); /* a browser may ask again */
    link = link_new(server->local);
    bytes_clear(&bytes);
    record_whole(&bytes, &crash);
    link_send(link, bytes.data, bytes.length);
    CU_ASSERT_FATAL(link_closes(link, 5000));
    CU_ASSERT(server_lost_one(&after, 5000));
    bytes_fini(&bytes);
}

/* The calls that the runtime owns fail loudly, naming themselves: never a hang, never another request's answer. */
static void libfcgi_calls_of_the_runtime(void)
{
    static const char *const calls[] = {"FCGX_Accept",     "FCGX_Accept_r",      "FCGX_Finish",
                                        "FCGX_Finish_r",   "FCGX_Free",          "FCGX_InitRequest",
                                        "FCGX_Attach",     "FCGX_Detach",        "FCGX_CreateWriter",
                                        "FCGX_FreeStream", "FCGX_SetExitStatus", "FCGX_StartFilterData"};
    char line[64];

    for (size_t i = 0; i < SUITE_COUNT(calls); i++) {
        struct server *server = server_start("workers = 1");
        struct link *link = link_new(server->local);
        struct bytes bytes = {0};

        record_whole(&bytes, &(struct record_request){.path = "/unroutine", .query = calls[i]});
        link_send(link, bytes.data, bytes.length);
        SUITE_CHECK(link_closes(link, 5000), "%s hangs", calls[i]);
        snprintf(line, sizeof line, "called %s:", calls[i]);
        SUITE_CHECK(server_log_waits_for(server, line, 2000), "%s is not in the log", calls[i]);
        answer_ask_once(&answer, server->local, &(struct record_request){.path = "/hello"});
        CU_ASSERT_EQUAL_FATAL(answer_status(&answer), 200);
        bytes_fini(&bytes);
    }
}

/* Those that work on a stream's public members work here as they do in libfcgi. */
static void libfcgi_calls_on_streams(void)
{
    static const struct {
        const char *query, *body, *expected;
    } calls[] = {{"errors", "", "0 0 0 0"},
                 {"unget", "body", "bcz"},
                 {"lines", "one\ntwo\n0123456789abcdefgh", "[one\n][two\n][0123456789abcde][fgh]"},
                 {"close-in", "body", "0 -1"},
                 {"close-out", "", "before"},
                 {"close-err", "", "-1"},
                 {"wrong-way", "body", "-1 -1"}};

    for (size_t i = 0; i < SUITE_COUNT(calls); i++) {
        answer_ask_once(&answer, server_shared()->local,
                        &(struct record_request){.path = "/unroutine",
                                                 .query = calls[i].query,
                                                 .body = calls[i].body,
                                                 .body_length = strlen(calls[i].body)});
        SUITE_CHECK(answer_status(&answer) == 200 && answer_body_is(&answer, calls[i].expected), "%s: %.80s",
                    calls[i].query, bytes_text(&answer.out));
    }
}

/* Conversions that libfcgi's own printf answers with an error, in the middle of an answer. */
static void formats(void)
{
    static const char expected[] = "18446744073709551615 -5 1099511627776 abc  3.14 7 %\n";
    const unsigned char *body;
    size_t length;

    ask("/formats", "");
    CU_ASSERT_EQUAL_FATAL(answer_status(&answer), 200);
    body = answer_body(&answer, &length);
    SUITE_CHECK(length == strlen(expected) + 100000 && memcmp(body, expected, strlen(expected)) == 0,
                "%zu bytes: %.60s", length, (const char *)body);
    for (size_t i = strlen(expected); i < length; i++)
        CU_ASSERT_EQUAL_FATAL(body[i], 't');
}

/* Output that a handler flushes leaves then, and not when a buffer is full or the answer ends. */
static void flushed_lines(void)
{
    struct link *link = link_new(server_shared()->local);
    struct bytes bytes = {0};
    int64_t last_ms;

    record_whole(&bytes, &(struct record_request){.flags = RECORD_KEEP, .path = "/ticker"});
    last_ms = deadline_now_ms();
    link_send(link, bytes.data, bytes.length);
    for (int i = 0; i < 5; i++) {
        struct answer_record record = answer_record(link, 2000);
        int64_t now_ms = deadline_now_ms();

        CU_ASSERT_EQUAL_FATAL(record.type, RECORD_STDOUT);
        SUITE_CHECK(now_ms - last_ms >= 80 && now_ms - last_ms < (SERVER_SANITIZED ? 1000 : 150),
                    "line %d came after %d ms", i, (int)(now_ms - last_ms));
        last_ms = now_ms;
    }
    bytes_fini(&bytes);
}

/* What is to be done when a handler has returned: the last first, once each, before the answer ends. */
static void at_the_end(void)
{
    static const struct {
        const char *path, *query, *body;
    } table[] = {{"/ends", "", "handler "},
                 {"/ends", "a", "handler a"},
                 {"/ends", "abc", "handler cba"},
                 {"/ends", "aXb", "handler bXxa"}, /* X asks for another one, x */
                 {"/ends/suspended", "abc", "handler woken cba"},
                 {"/ends", "", "handler "}};

    for (size_t i = 0; i < SUITE_COUNT(table); i++) {
        ask(table[i].path, table[i].query);
        SUITE_CHECK(answer_body_is(&answer, table[i].body), "%s: '%s'", table[i].query, bytes_text(&answer.out));
        CU_ASSERT_EQUAL(answer.app_status, 7);
    }
}

/* -- Handlers that start processes ------------------------------------------------------------------------------------
 */

static void child_processes(void)
{
    ask("/forker", "system");
    CU_ASSERT(answer_body_is(&answer, "7\n"));
    ask("/forker", "fork");
    CU_ASSERT(answer_body_is(&answer, "9\n"));
    ask("/hello", "");
    CU_ASSERT_EQUAL(answer_status(&answer), 200);
}

/* Bits 31 and 32 are the C library's own signals, which its posix_spawn, and so popen, ignores in every child. */
static void children_have_default_signals(void)
{
    const unsigned long long internal = 3ULL << 31;
    unsigned long long blocked = 1, ignored = 1;
    size_t length;

    ask("/forker", "signals");
    sscanf((const char *)answer_body(&answer, &length), "SigBlk: %llx SigIgn: %llx", &blocked, &ignored);
    SUITE_CHECK(blocked == 0 && (ignored & ~internal) == 0, "blocked %llx, ignored %llx", blocked, ignored);
}

/* The lines are "NUMBER -> what"; connections are open meanwhile, so that there is something to leak. */
static void children_get_no_descriptors(void)
{
    struct server *server = server_shared();
    int count = 0;
    size_t length;

    for (int i = 0; i < 5; i++) {
        answer_ask(&answer, link_new(server->local), &(struct record_request){.flags = RECORD_KEEP, .path = "/hello"});
    }
    answer_ask_once(&answer, server->local, &(struct record_request){.path = "/forker", .query = "files"});
    for (const char *line = (const char *)answer_body(&answer, &length); line && *line; count++) {
        SUITE_CHECK(atoi(line) <= 2 || strstr(line, "/proc/"), "a child has descriptor %.60s", line);
        line = strchr(line, '\n');
        if (line)
            line++;
    }
    SUITE_CHECK(count >= 3, "only %d lines", count);
}

/* Last: whatever the cases before did to the shared server, all its threads are there. */
static void no_thread_is_lost(void)
{
    blocked_check(server_shared());
}

static const struct suite_case cases[] = {
    {"a handler that writes nothing is a 500", nothing_written},
    {"paths that no route has", unknown_routes},
    {"SCRIPT_NAME is the route, PATH_INFO the rest", script_name_and_path_info},
    {"bad headers are a 500", bad_headers},
    {"good headers pass", good_headers},
    {"a body that is not as long as it says", wrong_content_length},
    {"any status passes", statuses},
    {"HEAD has no body", head_has_no_body},
    {"a handler's stdout goes to the log", stdout_goes_to_the_log},
    {"a crash takes one request and one worker", crash},
    {"abort takes one request and one worker", abort_in_a_handler},
    {"exit is like a crash", exit_in_a_handler},
    {"pthread_exit is like a crash", pthread_exit_in_a_handler},
    {"crash after crash", crash_after_crash},
    {"what has crashed is not run again", what_has_crashed_is_not_run_again},
    {"libfcgi's calls that the runtime owns", libfcgi_calls_of_the_runtime},
    {"libfcgi's calls on streams", libfcgi_calls_on_streams},
    {"conversions of mr_printf", formats},
    {"flushed lines", flushed_lines},
    {"what is asked for at the end of a handler", at_the_end},
    {"system and fork work", child_processes},
    {"child processes have default signals", children_have_default_signals},
    {"child processes get no descriptors", children_get_no_descriptors},
    {"no thread is lost", no_thread_is_lost},
};

int main(int argc, char **argv)
{
    return suite_main("handlers", cases, SUITE_COUNT(cases), argc, argv);
}
