/*
 * test_suspend.c: requests that wait without a thread, in the real server: woken by threads, timers and descriptors, by
 * their time limit, by their client's leaving; each exactly once, whatever comes together. tests/apps/waiter.c counts.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "answer.h"
#include "blocked.h"
#include "deadline.h"
#include "direct.h"
#include "http.h"
#include "server.h"
#include "suite.h"

enum { MANY = 300, LIMIT_MS = 1000 };

static struct answer answer;

/* One worker, so that the counts of /waiter/counts are all counts. */
#define OPTIONS "workers = 1\nrequest_timeout = 1\n"

struct counts {
    int suspended, resumed, timed_out, gone, too_late, twice, lanes;
};

static struct counts counts_of(const struct server *server)
{
    struct counts counts = {0};
    const char *text;
    size_t length;

    answer_ask_once(&answer, server->local, &(struct record_request){.path = "/waiter/counts"});
    text = (const char *)answer_body(&answer, &length);
    if (sscanf(text, "suspended %d resumed %d timed out %d gone %d too late %d twice %d lanes %d", &counts.suspended,
               &counts.resumed, &counts.timed_out, &counts.gone, &counts.too_late, &counts.twice, &counts.lanes) != 7)
        SUITE_FAIL("no counts: %.*s", (int)length, text);
    return counts;
}

static int calls_of(const struct counts *counts)
{
    return counts->resumed + counts->timed_out + counts->gone;
}

static bool all_called(void *server)
{
    struct counts counts = counts_of(server);
    return calls_of(&counts) == counts.suspended;
}

/* Every request that was suspended has been called back once. */
static struct counts check_all_called(struct server *server)
{
    struct counts counts;

    deadline_wait(DEADLINE_USUAL_MS, all_called, server);
    counts = counts_of(server);
    SUITE_CHECK(calls_of(&counts) == counts.suspended, "%d suspended, %d called back", counts.suspended,
                calls_of(&counts));
    CU_ASSERT_EQUAL(counts.twice, 0);
    return counts;
}

static void send_on(struct link *link, const char *path, const char *query)
{
    struct bytes bytes = {0};

    record_whole(&bytes, &(struct record_request){.flags = RECORD_KEEP, .path = path, .query = query});
    link_send(link, bytes.data, bytes.length);
    bytes_fini(&bytes);
}

static void every_way_of_waking(void)
{
    static const struct {
        const char *path, *query, *text;
    } ways[] = {
        {"/waiter/now", "", "resumed\n"},
        {"/waiter/now-sleep", "", "resumed\n"},
        {"/waiter/thread", "0", "resumed\n"},
        {"/waiter/thread", "20", "resumed\n"},
        {"/waiter/after", "0", "resumed\n"},
        {"/waiter/after", "20", "resumed\n"},
        {"/waiter/after-sleep", "0", "resumed\n"},
        {"/waiter/after-sleep", "5", "resumed\n"},
        {"/waiter/slow-callback", "1", "resumed\n"},
        {"/waiter/watch", "0", "resumed\n"},
        {"/waiter/watch", "20", "resumed\n"},
        {"/waiter/chain", "0", "resumed\n"},
        {"/waiter/chain", "5", "resumed\n"},
        {"/waiter/slow-wake", "1", "resumed\n"},
        {"/waiter/flush", "10", "begun, resumed\n"},
    };
    struct server *server = server_start(OPTIONS);
    struct link *link = link_new(server->local);

    for (size_t i = 0; i < SUITE_COUNT(ways); i++) {
        answer_ask(&answer, link,
                   &(struct record_request){.flags = RECORD_KEEP, .path = ways[i].path, .query = ways[i].query});
        SUITE_CHECK(answer_status(&answer) == 200 && answer_body_is(&answer, ways[i].text), "%s?%s: %s", ways[i].path,
                    ways[i].query, bytes_text(&answer.out));
        SUITE_CHECK(answer.app_status == 7, "%s: status %u is not what was returned last", ways[i].path,
                    answer.app_status);
    }
    CU_ASSERT_EQUAL(check_all_called(server).resumed, (int)SUITE_COUNT(ways) + 2 * 4);
    CU_ASSERT_EQUAL(server_stop(server, SIGTERM), 0);
}

/* More than there are threads; /hello is answered beside them, and the status counts them. */
static void many_hold_no_thread(void)
{
    struct server *server = server_start(OPTIONS "request_timeout = 10\n");
    struct link *links[MANY];
    struct counts counts;
    int64_t begun_ms;

    for (int i = 0; i < MANY; i++) {
        links[i] = link_new(server->local);
        send_on(links[i], "/waiter/thread", i % 2 ? "400" : "300");
    }
    begun_ms = deadline_now_ms();
    for (int i = 0; i < 20; i++) {
        answer_ask_once(&answer, server->local, &(struct record_request){.path = "/hello"});
        CU_ASSERT_EQUAL(answer_status(&answer), 200);
    }
    SUITE_CHECK(deadline_now_ms() - begun_ms < (SERVER_SANITIZED ? 2000 : 250), "20 times /hello took %lld ms",
                (long long)(deadline_now_ms() - begun_ms));
    for (int i = 0; i < MANY; i++) {
        answer_read(&answer, links[i], 1, DEADLINE_USUAL_MS);
        CU_ASSERT_TRUE_FATAL(answer_body_is(&answer, "resumed\n"));
    }
    counts = check_all_called(server);
    CU_ASSERT_EQUAL(counts.resumed, MANY);
    CU_ASSERT_EQUAL(counts.lanes, SERVER_LANES);
    CU_ASSERT_EQUAL(server_stop(server, SIGTERM), 0);
    CU_ASSERT(server_log_count(server, "lane stops, state kept") >= 1); /* the same line again is counted */
}

static void time_limit(void)
{
    struct server *server = server_start(OPTIONS);
    int64_t begun_ms = deadline_now_ms(), took_ms;

    answer_ask_once(&answer, server->local, &(struct record_request){.path = "/waiter/never"});
    took_ms = deadline_now_ms() - begun_ms;
    CU_ASSERT(answer_body_is(&answer, "timed out\nerrno ECANCELED\n"));
    SUITE_CHECK(took_ms >= LIMIT_MS - 5 && took_ms < LIMIT_MS + 500, "after %lld ms", (long long)took_ms);
    CU_ASSERT_EQUAL(check_all_called(server).timed_out, 1);
    CU_ASSERT_EQUAL(server_stop(server, SIGTERM), 0);
}

/* By closing, and by ABORT_REQUEST, which is answered at once. */
static void client_leaves(void)
{
    struct server *server = server_start(OPTIONS "request_timeout = 10\n");
    struct link *link = link_new(server->local);
    struct bytes bytes = {0};
    int64_t begun_ms = deadline_now_ms();

    for (int i = 0; i < 5; i++) {
        struct link *leaving = link_new(i % 2 ? server->local : server->tcp);
        send_on(leaving, i == 4 ? "/waiter/now-sleep" : "/waiter/never", "");
        link_is_silent(leaving, i * 3);
        link_free(leaving);
    }
    send_on(link, "/waiter/never", "");
    link_is_silent(link, 20);
    record_add(&bytes, RECORD_ABORT, 1, NULL, 0);
    link_send(link, bytes.data, bytes.length);
    bytes_fini(&bytes);
    answer_read_end(&answer, link, 1, DEADLINE_USUAL_MS);
    CU_ASSERT_EQUAL(answer.out.length, 0);
    CU_ASSERT_EQUAL(check_all_called(server).gone, 5);
    SUITE_CHECK(deadline_now_ms() - begun_ms < 5000, "only the time limit has ended them");
    answer_ask(&answer, link, &(struct record_request){.flags = RECORD_KEEP, .path = "/hello"}); /* goes on after it */
    CU_ASSERT_EQUAL(answer_status(&answer), 200);
    CU_ASSERT_EQUAL(server_stop(server, SIGTERM), 0);
}

/* Over HTTP a reset ends it; a client that only sends nothing more still waits. */
static void client_leaves_http(void)
{
    static const char ask[] = "GET /waiter/never HTTP/1.1\r\nHost: a\r\n\r\n";
    static const char ask_later[] = "GET /waiter/after?200 HTTP/1.1\r\nHost: a\r\n\r\n";
    struct server *server = direct_start("request_timeout = 10\n");
    struct http half = {0};
    struct http_answer half_answer = {0};
    struct link *link = link_new(direct_address());
    struct linger reset = {.l_onoff = 1};

    link_send(link, ask, sizeof ask - 1);
    link_is_silent(link, 50);
    CU_ASSERT_EQUAL_FATAL(setsockopt(link->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset), 0);
    link_free(link);
    http_open(&half, direct_address());
    http_send(&half, ask_later);
    shutdown(half.link->fd, SHUT_WR);
    http_read(&half_answer, &half);
    CU_ASSERT(http_body_is(&half_answer, "resumed\n"));
    http_fini(&half_answer);
    http_close(&half);
    CU_ASSERT_EQUAL(server_log_count(server, "called back: client gone"), 1);
    CU_ASSERT_EQUAL(server_stop(server, SIGTERM), 0);
}

/* Resumed, timed out and left at about the same moment, over and over: each is called back once. */
static void everything_at_once(void)
{
    struct server *server = server_start(OPTIONS);
    struct link *links[MANY];
    struct counts counts;

    for (int i = 0; i < MANY; i++) {
        char query[16];
        snprintf(query, sizeof query, "%d", LIMIT_MS - 10 + i % 20);
        links[i] = link_new(i % 2 ? server->local : server->tcp);
        send_on(links[i], i % 3 ? "/waiter/thread" : "/waiter/slow-callback", query);
    }
    link_is_silent(links[0], LIMIT_MS - 40);
    for (int i = 0; i < MANY; i += 5) {
        link_free(links[i]);
        links[i] = NULL;
        if (i % 25 == 0)
            usleep(2000);
    }
    for (int i = 0; i < MANY; i++) {
        if (links[i] == NULL)
            continue;
        answer_read(&answer, links[i], 1, DEADLINE_USUAL_MS);
        CU_ASSERT_EQUAL_FATAL(answer_status(&answer), 200);
    }
    counts = check_all_called(server);
    CU_ASSERT(counts.suspended <= MANY && counts.suspended > MANY / 2); /* who left early enough was never begun */
    CU_ASSERT_EQUAL(server_stop(server, SIGTERM), 0);
    CU_ASSERT_EQUAL(server_log_count(server, "was ended by"), 0);
}

/* A reload and a stop wait for them: each is answered by the generation that has it. */
static void reload_and_stop(void)
{
    struct server *server = server_start("request_timeout = 10\n");
    struct link *links[40];

    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 40; i++) {
            links[i] = link_new(server->local);
            send_on(links[i], i % 2 ? "/waiter/after" : "/waiter/watch", "300");
        }
        link_is_silent(links[0], 50);
        kill(server->pid, round == 0 ? SIGHUP : SIGTERM);
        for (int i = 0; i < 40; i++) {
            answer_read(&answer, links[i], 1, DEADLINE_USUAL_MS);
            CU_ASSERT_TRUE_FATAL(answer_body_is(&answer, "resumed\n"));
        }
        link_free_all();
        if (round == 0)
            server_workers_without(server, 0);
    }
    CU_ASSERT_EQUAL(server_wait(server, DEADLINE_USUAL_MS), 0);
}

/* Callbacks need a thread as handlers do; with all of them blocked they come when one is free, and nothing spins. */
static void no_thread_is_free(void)
{
    struct server *server = server_start("workers = 1\nrequest_timeout = 10\n");
    struct link *sleepers[SERVER_THREADS], *waiting[6];
    static const char *const paths[] = {"/waiter/thread", "/waiter/watch", "/waiter/after"};
    long before_ms, took_ms;

    for (int i = 0; i < 6; i++) {
        waiting[i] = link_new(server->local);
        send_on(waiting[i], paths[i % 3], "300");
    }
    link_is_silent(waiting[0], 100);
    for (int i = 0; i < SERVER_THREADS; i++) {
        sleepers[i] = link_new(server->local);
        send_on(sleepers[i], "/sleeper", "1000");
    }
    link_is_silent(waiting[0], 150);
    before_ms = server_sum(server, process_cpu_ms);
    CU_ASSERT_TRUE(link_is_silent(waiting[0], 500));
    took_ms = server_sum(server, process_cpu_ms) - before_ms;
    SUITE_CHECK(took_ms < 150, "%ld ms of CPU while nothing could be done", took_ms);
    for (int i = 0; i < 6; i++) {
        answer_read(&answer, waiting[i], 1, DEADLINE_USUAL_MS);
        CU_ASSERT_TRUE(answer_body_is(&answer, "resumed\n"));
    }
    CU_ASSERT_EQUAL(server_stop(server, SIGTERM), 0);
}

/* The cases before have one worker; here are as many as blocked_check wants. */
static void no_thread_is_lost(void)
{
    struct server *server = server_start("request_timeout = 1\n");
    struct link *links[60];

    for (int i = 0; i < 60; i++) {
        links[i] = link_new(server->local);
        send_on(links[i],
                i % 3 == 0   ? "/waiter/slow-callback"
                : i % 3 == 1 ? "/waiter/never"
                             : "/waiter/now-sleep",
                "2");
    }
    for (int i = 0; i < 60; i++)
        answer_read(&answer, links[i], 1, DEADLINE_USUAL_MS);
    blocked_check(server);
    CU_ASSERT_EQUAL(server_stop(server, SIGTERM), 0);
}

static const struct suite_case cases[] = {
    {"every way of waking", every_way_of_waking},
    {"many hold no thread", many_hold_no_thread},
    {"the time limit wakes", time_limit},
    {"a client that leaves", client_leaves},
    {"a client that leaves, over HTTP", client_leaves_http},
    {"everything at once is one call", everything_at_once},
    {"reload and stop wait for them", reload_and_stop},
    {"while no thread is free", no_thread_is_free},
    {"no thread is lost", no_thread_is_lost},
};

int main(int argc, char **argv)
{
    return suite_main("suspend", cases, SUITE_COUNT(cases), argc, argv);
}
