/*
 * test_replace.c: workers that are replaced while they serve: after a number of requests, at a size, for a handler past
 * its hard time limit; and the limits that keep one route from taking all threads. No request is lost. Cases C30, C38.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "answer.h"
#include "deadline.h"
#include "server.h"
#include "suite.h"

static struct answer answer;

static void ask(struct link *link, const char *path, const char *query)
{
    answer_ask(&answer, link, &(struct record_request){.flags = RECORD_KEEP, .path = path, .query = query});
    SUITE_CHECK(answer_status(&answer) == 200, "status %d for %s", answer_status(&answer), path);
}

static void start(struct link *link, const char *path, const char *query)
{
    struct bytes bytes = {0};

    record_whole(&bytes, &(struct record_request){.flags = RECORD_KEEP, .path = path, .query = query});
    link_send(link, bytes.data, bytes.length);
    bytes_fini(&bytes);
}

static void check_answer(struct link *link, int status)
{
    answer_read(&answer, link, 1, DEADLINE_USUAL_MS);
    SUITE_CHECK(answer_status(&answer) == status, "status %d", answer_status(&answer));
}

/* -- Requests and memory ----------------------------------------------------------------------------------------------
 */

/* Four kept connections through a dozen replacements and more: none closes, every request is answered. */
static void max_requests(void)
{
    enum { LINKS = 4, ROUNDS = 500, REPLACED_MIN = SERVER_SANITIZED ? 3 : 12 };
    struct server *server = server_start("max_requests = 100");
    struct process_children before = server_workers_without(server, 0), after;
    struct link *links[LINKS];

    for (int i = 0; i < LINKS; i++)
        links[i] = link_new(i % 2 ? server->local : server->tcp);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < LINKS; i++)
            ask(links[i], "/hello", NULL);
        if (round % 25 == 24) /* replacing takes a moment, in which the old one serves on */
            link_is_silent(links[0], 30);
    }
    SUITE_CHECK(server_log_count(server, "is replaced: max_requests") >= REPLACED_MIN, "%d were replaced",
                server_log_count(server, "is replaced: max_requests"));
    after = server_workers_without(server, before.pids[0]);
    CU_ASSERT(after.pids[0] != before.pids[1]);
    CU_ASSERT_EQUAL(server_log_count(server, "ended with status"), 0);
    CU_ASSERT_EQUAL(server_stop(server, SIGTERM), 0);
}

static void max_memory(void)
{
    struct server *server = server_start(SERVER_SANITIZED ? "max_memory = 1000M" : "max_memory = 300M");
    struct link *links[4];
    int limit_mb = SERVER_SANITIZED ? 1000 : 300;

    for (int i = 0; i < 4; i++)
        links[i] = link_new(server->local);
    for (int i = 0; i < limit_mb * 2 + 1200; i++)
        ask(links[i % 4], "/hog", NULL);
    CU_ASSERT(server_log_waits_for(server, "is replaced: max_memory", DEADLINE_USUAL_MS));
    for (int i = 0; i < 4; i++)
        ask(links[i], "/hello", NULL);
}

/* A replacement that cannot start leaves the old worker where it is, and it serves on. */
static void no_replacement(void)
{
    char options[900], file[SERVER_PATH_MAX + 20], pid[24];
    struct server *server;
    struct link *link;
    size_t length;
    FILE *made;

    snprintf(file, sizeof file, "/tmp/millrace-gate.%d", (int)getpid());
    made = fopen(file, "we");
    CU_ASSERT_PTR_NOT_NULL_FATAL(made);
    fclose(made);
    snprintf(options, sizeof options,
             "workers = 1\nmax_requests = 10\napp \"/gate\" { file = \"%s\" options { file = \"%s\" } }",
             server_app("gate"), file);
    server = server_start(options);
    unlink(file);
    link = link_new(server->local);
    ask(link, "/gate", NULL);
    snprintf(pid, sizeof pid, "%s", (const char *)answer_body(&answer, &length));
    for (int i = 0; i < 200; i++)
        ask(link, "/gate", NULL);
    CU_ASSERT(server_log_waits_for(server, "stays: its replacement ended before it was ready", DEADLINE_USUAL_MS));
    ask(link, "/gate", NULL);
    CU_ASSERT_STRING_EQUAL((const char *)answer_body(&answer, &length), pid);
    CU_ASSERT_EQUAL(server_stop(server, SIGTERM), 0);
}

/* -- Time -------------------------------------------------------------------------------------------------------------
 */

/* The worker whose handler does not come back is replaced: its other requests are answered, its connections move, and
 * it leaves although the handler still runs. */
static void request_grace(void)
{
    struct server *server = server_start("workers = 1\nrequest_timeout = 1\nrequest_grace = 1");
    pid_t before = server_workers(server).pids[0];
    struct link *stuck = link_new(server->local), *kept = link_new(server->local), *other = link_new(server->local);
    int64_t start_ms = deadline_now_ms();

    ask(kept, "/hello", NULL);
    start(stuck, "/sleeper", "30000");
    link_is_silent(kept, 1500);
    start(other, "/pid", "900"); /* runs while the worker drains */
    CU_ASSERT(server_log_waits_for(server, "is replaced: a request past request_grace", DEADLINE_USUAL_MS));
    check_answer(other, 200);
    CU_ASSERT(link_closes(stuck, DEADLINE_USUAL_MS));
    SUITE_CHECK(deadline_now_ms() - start_ms < 10000, "after %d ms", (int)(deadline_now_ms() - start_ms));
    CU_ASSERT(process_leaves(before, DEADLINE_USUAL_MS));
    ask(kept, "/hello", NULL);
    ask(other, "/hello", NULL);
    CU_ASSERT_EQUAL(server_workers(server).count, 1);
    CU_ASSERT_EQUAL(server_log_count(server, "unanswered that are past their hard time limit"), 1);
    CU_ASSERT_EQUAL(server_stop(server, SIGTERM), 0);
}

/* -- One route's share
 * -------------------------------------------------------------------------------------------------
 */

static void limited_options(char *options, size_t room, const char *more)
{
    snprintf(options, room, "workers = 1\n%s\napp \"/limited\" { file = \"%s\" max_busy = 2 }", more,
             server_app("sleeper"));
}

/* Two of them run, the others wait their turn; other routes do not notice. */
static void max_busy_waits(void)
{
    enum { SLEEPERS = 6 };
    char options[900];
    struct server *server;
    struct link *links[SLEEPERS], *hello;
    int64_t start_ms, took_ms;

    limited_options(options, sizeof options, "queue_ms = 5000");
    server = server_start(options);
    start_ms = deadline_now_ms();
    for (int i = 0; i < SLEEPERS; i++) {
        links[i] = link_new(server->local);
        start(links[i], "/limited", "300");
    }
    hello = link_new(server->local);
    for (int i = 0; i < 20; i++) {
        int64_t before_ms = deadline_now_ms();

        ask(hello, "/hello", NULL);
        SUITE_CHECK(deadline_now_ms() - before_ms < 200, "/hello took %d ms", (int)(deadline_now_ms() - before_ms));
    }
    for (int i = 0; i < SLEEPERS; i++)
        check_answer(links[i], 200);
    took_ms = deadline_now_ms() - start_ms;
    SUITE_CHECK(took_ms >= 890 && took_ms < 1700, "6 of 300 ms, 2 at once, took %d ms", (int)took_ms);
}

static void max_busy_refuses(void)
{
    enum { SLEEPERS = 5 };
    char options[900];
    struct server *server;
    struct link *links[SLEEPERS];
    int refused = 0;

    limited_options(options, sizeof options, "queue_ms = 50");
    server = server_start(options);
    for (int i = 0; i < SLEEPERS; i++) {
        links[i] = link_new(server->local);
        start(links[i], "/limited", "700");
    }
    for (int i = 0; i < SLEEPERS; i++) {
        answer_read(&answer, links[i], 1, DEADLINE_USUAL_MS);
        refused += answer_status(&answer) == 503;
    }
    CU_ASSERT_EQUAL(refused, SLEEPERS - 2);
    ask(links[0], "/limited", "1");
    CU_ASSERT_EQUAL(server_log_count(server, "503 for route /limited"), 1); /* one line for all of them */
}

static const struct suite_case cases[] = {
    {"max_requests", max_requests},
    {"max_memory", max_memory},
    {"a replacement that cannot start", no_replacement},
    {"a handler past request_grace", request_grace},
    {"max_busy lets others wait", max_busy_waits},
    {"max_busy refuses", max_busy_refuses},
};

int main(int argc, char **argv)
{
    return suite_main("replace", cases, SUITE_COUNT(cases), argc, argv);
}
