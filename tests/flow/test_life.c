/*
 * test_life.c: how the real server ends, loses processes and replaces them, and how handlers that block share it.
 * Cases C25, C29, C34, C35, C38, C44.
 */
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

static void ask_hello(const char *address)
{
    answer_ask_once(&answer, address, &(struct record_request){.path = "/hello"});
    SUITE_CHECK(answer_status(&answer) == 200, "status %d for /hello", answer_status(&answer));
}

/* Sends a request for the sleeper and does not wait. */
static struct link *start_sleeper(const char *address, int sleep_ms)
{
    struct link *link = link_new(address);
    struct bytes bytes = {0};
    char query[16];

    snprintf(query, sizeof query, "%d", sleep_ms);
    record_whole(&bytes, &(struct record_request){.flags = RECORD_KEEP, .path = "/sleeper", .query = query});
    link_send(link, bytes.data, bytes.length);
    bytes_fini(&bytes);
    return link;
}

static void check_slept(struct link *link, int limit_ms)
{
    answer_read(&answer, link, 1, limit_ms);
    SUITE_CHECK(answer_status(&answer) == 200, "status %d for the sleeper", answer_status(&answer));
}

/* Nothing of a server is left: no process, no socket, no pid file. */
static void check_clean(const struct server *server, const struct process_children *workers)
{
    char path[SERVER_PATH_MAX + 20];

    for (size_t i = 0; i < workers->count; i++) {
        SUITE_CHECK(process_leaves(workers->pids[i], 1000), "worker %d is still there", (int)workers->pids[i]);
    }
    snprintf(path, sizeof path, "%s/sock", server->directory);
    SUITE_CHECK(access(path, F_OK) != 0, "the socket is still there");
    snprintf(path, sizeof path, "%s/pid", server->directory);
    SUITE_CHECK(access(path, F_OK) != 0, "the pid file is still there");
}

static void idle_stop(void)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGQUIT};

    for (size_t i = 0; i < SUITE_COUNT(signals); i++) {
        struct server *server = server_start(NULL);
        struct process_children workers = server_workers_without(server, 0);
        int64_t start_ms;

        for (int k = 0; k < 20; k++) { /* kept connections hold nothing up */
            answer_ask(&answer, link_new(server->local),
                       &(struct record_request){.flags = RECORD_KEEP, .path = "/hello"});
        }
        start_ms = deadline_now_ms();
        CU_ASSERT_EQUAL(server_stop(server, signals[i]), 0);
        SUITE_CHECK(deadline_now_ms() - start_ms < 1000, "signal %d: the stop took %d ms", signals[i],
                    (int)(deadline_now_ms() - start_ms));
        check_clean(server, &workers);
    }
}

static void sigterm_drains(void)
{
    struct server *server = server_start(NULL);
    struct process_children workers = server_workers_without(server, 0);
    struct link *links[4];

    for (int i = 0; i < 4; i++)
        links[i] = start_sleeper(i % 2 ? server->local : server->tcp, 1000);
    link_is_silent(links[0], 100);
    kill(server->pid, SIGTERM);
    for (int i = 0; i < 4; i++)
        check_slept(links[i], 5000);
    CU_ASSERT_EQUAL(server_wait(server, 5000), 0);
    check_clean(server, &workers);
}

static void sigint_stops_at_once(void)
{
    struct server *server = server_start(NULL);
    struct process_children workers = server_workers_without(server, 0);
    int64_t start_ms;

    start_sleeper(server->local, 20000);
    ask_hello(server->local);
    start_ms = deadline_now_ms();
    CU_ASSERT_EQUAL(server_stop(server, SIGINT), 0);
    SUITE_CHECK(deadline_now_ms() - start_ms < 1500, "the stop took %d ms", (int)(deadline_now_ms() - start_ms));
    check_clean(server, &workers);
}

static void second_signal_forces(void)
{
    struct server *server = server_start(NULL);
    struct link *link = start_sleeper(server->local, 20000);
    int64_t start_ms;

    ask_hello(server->local);
    kill(server->pid, SIGTERM);
    link_is_silent(link, 200);
    start_ms = deadline_now_ms();
    CU_ASSERT_EQUAL(server_stop(server, SIGINT), 0);
    SUITE_CHECK(deadline_now_ms() - start_ms < 1500, "the stop took %d ms", (int)(deadline_now_ms() - start_ms));
}

static bool turns_away(void *address)
{
    struct link *link = link_try_new(address);

    link_free(link);
    return link == NULL;
}

/* While the last requests end nobody is let in any more: not to wait for an answer that does not come. A child that a handler
 * has forked keeps the sockets as little as the workers do. */
static void a_draining_server_turns_away(void)
{
    struct server *server = server_start(NULL);
    struct link *link = start_sleeper(server->local, 1500);

    answer_ask_once(&answer, server->local, &(struct record_request){.path = "/forker", .query = "linger"});
    CU_ASSERT_EQUAL(answer_status(&answer), 200);
    link_is_silent(link, 100);
    kill(server->pid, SIGTERM);
    CU_ASSERT(deadline_wait(500, turns_away, server->local));
    CU_ASSERT(deadline_wait(500, turns_away, server->tcp));
    check_slept(link, 5000);
    CU_ASSERT_EQUAL(server_wait(server, 5000), 0);
    CU_ASSERT(turns_away(server->tcp));
}

static void stop_timeout_ends_a_drain(void)
{
    struct server *server = server_start("stop_timeout = 1");
    struct process_children workers = server_workers_without(server, 0);

    start_sleeper(server->local, 20000);
    ask_hello(server->local);
    kill(server->pid, SIGTERM);
    server_wait(server, 4000);
    check_clean(server, &workers);
}

static void stop_under_load(void)
{
    for (int round = 0; round < 5; round++) {
        struct server *server = server_start(NULL);
        struct bytes bytes = {0};

        for (int i = 0; i < 100; i++) {
            record_whole(&bytes, &(struct record_request){.id = i + 1, .flags = RECORD_KEEP, .path = "/hello"});
        }
        for (int i = 0; i < 8; i++)
            link_send(link_new(server->local), bytes.data, bytes.length);
        bytes_fini(&bytes);
        CU_ASSERT_EQUAL(server_stop(server, round % 2 ? SIGINT : SIGTERM), 0);
    }
}

static void tally_counts_every_request(void)
{
    enum { COUNT = 300 };
    struct server *server = server_start(NULL);
    char path[SERVER_PATH_MAX + 20], line[1024];
    long served = 0, requests;
    FILE *log;

    for (int i = 0; i < COUNT; i++)
        ask_hello(i % 2 ? server->local : server->tcp);
    CU_ASSERT_EQUAL(server_stop(server, SIGTERM), 0);
    snprintf(path, sizeof path, "%s/log", server->directory);
    log = fopen(path, "re");
    CU_ASSERT_PTR_NOT_NULL_FATAL(log);
    while (fgets(line, sizeof line, log)) {
        const char *at = strstr(line, "served ");

        if (at && strstr(at, "on /hello,") && sscanf(at, "served %ld requests", &requests) == 1)
            served += requests;
    }
    fclose(log);
    SUITE_CHECK(served == COUNT, "%ld served, %d asked", served, COUNT);
}

/* -- Lost processes -------------------------------------------------------------------------------------------------
 */

static void killed_worker_is_replaced(void)
{
    struct server *server = server_start(NULL);

    for (int i = 0; i < 3; i++) {
        struct process_children workers = server_workers_without(server, 0);

        kill(workers.pids[i % 2], SIGKILL);
        CU_ASSERT(server_lost_one(&workers, 5000));
        server_workers_without(server, workers.pids[i % 2]);
        for (int k = 0; k < 10; k++)
            ask_hello(k % 2 ? server->local : server->tcp);
    }
    CU_ASSERT_EQUAL(server_stop(server, SIGTERM), 0);
}

static void workers_leave_a_dead_master(void)
{
    struct server *server = server_start(NULL);
    struct process_children workers = server_workers_without(server, 0);
    int64_t start_ms;

    start_sleeper(server->local, 10000); /* not even one that is in a handler stays */
    ask_hello(server->local);
    start_ms = deadline_now_ms();
    CU_ASSERT_EQUAL(server_stop(server, SIGKILL), 128 + SIGKILL);
    for (size_t i = 0; i < workers.count; i++) {
        SUITE_CHECK(process_leaves(workers.pids[i], 1000), "worker %d is there %d ms later", (int)workers.pids[i],
                    (int)(deadline_now_ms() - start_ms));
    }
}

/* -- Handlers that block --------------------------------------------------------------------------------------------
 */

static void sleepers_do_not_slow_hello(void)
{
    enum { SLEEPERS = 10, HELLOS = 100 };
    struct server *server = server_start("threads = 16"); /* room for all of them in either worker */
    struct link *sleepers[SLEEPERS];
    int64_t start_ms = deadline_now_ms(), slowest_ms = 0;

    for (int i = 0; i < SLEEPERS; i++)
        sleepers[i] = start_sleeper(server->local, 300);
    for (int i = 0; i < HELLOS; i++) {
        int64_t before_ms = deadline_now_ms(), took_ms;

        ask_hello(server->local);
        took_ms = deadline_now_ms() - before_ms;
        if (took_ms > slowest_ms)
            slowest_ms = took_ms;
    }
    SUITE_CHECK(slowest_ms < 150, "one /hello took %d ms", (int)slowest_ms);
    for (int i = 0; i < SLEEPERS; i++)
        check_slept(sleepers[i], 5000);
    SUITE_CHECK(deadline_now_ms() - start_ms < 1000, "10 sleepers of 300 ms took %d ms",
                (int)(deadline_now_ms() - start_ms));
}

/* As many handlers block at once as the design promises: threads - lanes in every worker. One worker, so that it does
 * not depend on who accepts. */
static void all_pool_threads_block_at_once(void)
{
    enum { SLEEPERS = SERVER_THREADS - SERVER_LANES };
    struct server *server = server_start("workers = 1");
    struct link *sleepers[SLEEPERS];
    int64_t start_ms = deadline_now_ms();

    for (int i = 0; i < SLEEPERS; i++)
        sleepers[i] = start_sleeper(server->local, 500);
    for (int i = 0; i < SLEEPERS; i++)
        check_slept(sleepers[i], 5000);
    SUITE_CHECK(deadline_now_ms() - start_ms < 950, "%d sleepers of 500 ms took %d ms", SLEEPERS,
                (int)(deadline_now_ms() - start_ms));
}

/* Beside them there is one thread for short requests. When that is blocked too, the next waits queue_ms and is then
 * refused; when the sleepers are done everything is as before. */
static void exhausted_pool_answers_503(void)
{
    enum { SLEEPERS = SERVER_THREADS - SERVER_LANES + 1 };
    struct server *server = server_start("workers = 1\nqueue_ms = 100");
    struct link *sleepers[SLEEPERS];
    int64_t start_ms;

    for (int i = 0; i < SLEEPERS; i++)
        sleepers[i] = start_sleeper(server->local, 1500);
    link_is_silent(sleepers[0], 200);
    start_ms = deadline_now_ms();
    answer_ask_once(&answer, server->local, &(struct record_request){.path = "/hello"});
    SUITE_CHECK(answer_status(&answer) == 503, "status %d", answer_status(&answer));
    CU_ASSERT(strstr(bytes_text(&answer.out), "Retry-After:") != NULL);
    SUITE_CHECK(deadline_now_ms() - start_ms >= 90 && deadline_now_ms() - start_ms < 700, "refused after %d ms",
                (int)(deadline_now_ms() - start_ms));
    for (int i = 0; i < SLEEPERS; i++)
        check_slept(sleepers[i], 5000);
    ask_hello(server->local);
    CU_ASSERT_EQUAL(server_stop(server, SIGTERM), 0);
}

/* Requests that wait for a thread are forgotten when their peers leave, also when they had left before they were read.
 */
static void those_who_left_are_not_served(void)
{
    enum { SLEEPERS = 2, LEAVERS = 5 };
    struct server *server = server_start("workers = 1\nlanes = 1\nthreads = 2");
    pid_t worker = server_workers(server).pids[0];
    struct link *sleepers[SLEEPERS];

    for (int i = 0; i < SLEEPERS; i++)
        sleepers[i] = start_sleeper(server->local, 500);
    link_is_silent(sleepers[0], 100);
    kill(worker, SIGSTOP);
    for (int i = 0; i < LEAVERS; i++)
        link_free(start_sleeper(i % 2 ? server->tcp : server->local, 500));
    kill(worker, SIGCONT);
    for (int i = 0; i < SLEEPERS; i++)
        check_slept(sleepers[i], 5000);
    ask_hello(server->local);
    CU_ASSERT_EQUAL(server_stop(server, SIGTERM), 0);
    CU_ASSERT_EQUAL(server_log_count(server, "served 2 requests on /sleeper,"), 1);
}

static void sleepers_again_and_again(void)
{
    struct server *server = server_start(NULL);

    for (int round = 0; round < 20; round++) {
        struct link *sleepers[8];

        for (int i = 0; i < 8; i++)
            sleepers[i] = start_sleeper(i % 2 ? server->local : server->tcp, 5 + round);
        ask_hello(server->local);
        for (int i = 0; i < 8; i++)
            check_slept(sleepers[i], 5000);
        for (int i = 0; i < 8; i++)
            link_free(sleepers[i]);
    }
    CU_ASSERT_EQUAL(server_stop(server, SIGTERM), 0);
}

/* Requests that have arrived when the server is told to drain are answered, whether or not their connections were
 * accepted by then. The workers are held meanwhile, so that they find the connections and the word to drain at once. */
static void drain_answers_what_has_arrived(void)
{
    enum { ROUNDS = 10, LINKS = 8 };

    for (int round = 0; round < ROUNDS; round++) {
        struct server *server = server_start(NULL);
        struct process_children workers = server_workers_without(server, 0);
        struct link *links[LINKS];
        struct bytes bytes = {0};

        for (size_t i = 0; i < workers.count; i++)
            kill(workers.pids[i], SIGSTOP);
        record_whole(&bytes, &(struct record_request){.flags = RECORD_KEEP, .path = "/hello"});
        for (int i = 0; i < LINKS; i++) {
            links[i] = link_new(server->local);
            link_send(links[i], bytes.data, bytes.length);
        }
        bytes_fini(&bytes);
        kill(server->pid, SIGTERM);
        link_is_silent(links[0], 50);
        for (size_t i = 0; i < workers.count; i++)
            kill(workers.pids[i], SIGCONT);
        for (int i = 0; i < LINKS; i++) {
            answer_read(&answer, links[i], 1, 5000);
            SUITE_CHECK(answer_status(&answer) == 200, "round %d: status %d", round, answer_status(&answer));
        }
        CU_ASSERT_EQUAL(server_stop(server, SIGTERM), 0);
    }
}

static long switches_of_all(const struct server *server)
{
    return process_switches(server->pid) + server_sum(server, process_switches);
}

/* Master and workers together, with idle connections open. A sanitizer has threads of its own, which wake up. */
static void idle_server_sleeps(void)
{
    struct server *server = server_start(NULL);
    struct link *link = link_new(server->tcp);
    long before;

    for (int i = 0; i < 50; i++)
        ask_hello(server->local);
    answer_ask(&answer, link_new(server->local), &(struct record_request){.flags = RECORD_KEEP, .path = "/hello"});
    link_is_silent(link, 500);
    before = switches_of_all(server);
    link_is_silent(link, 10000);
    SUITE_CHECK(SERVER_SANITIZED || switches_of_all(server) - before <= 10, "%ld context switches in ten idle seconds",
                switches_of_all(server) - before);
}

/* -- Accepting --------------------------------------------------------------------------------------------------------
 */

enum { LANES = SERVER_WORKERS * SERVER_LANES, OPENED = 32, SHARE_MAX = OPENED / LANES * 3 / 2 };

static void count_lanes(const struct server *server, int *counts)
{
    struct process_children workers = server_workers(server);

    CU_ASSERT_EQUAL_FATAL(workers.count, SERVER_WORKERS);
    for (size_t i = 0; i < workers.count; i++)
        CU_ASSERT_EQUAL_FATAL(process_epoll_counts(workers.pids[i], counts + i * SERVER_LANES, SERVER_LANES),
                              SERVER_LANES);
}

struct spread {
    const struct server *server;
    int empty[LANES], counts[LANES]; /* without connections; connections of each lane */
    int sum, most;
};

static bool all_have_arrived(void *context)
{
    struct spread *spread = context;

    count_lanes(spread->server, spread->counts);
    spread->sum = spread->most = 0;
    for (int i = 0; i < LANES; i++) {
        spread->counts[i] -= spread->empty[i];
        spread->sum += spread->counts[i];
        spread->most = spread->counts[i] > spread->most ? spread->counts[i] : spread->most;
    }
    return spread->sum == OPENED;
}

/* Connections that are opened at once are shared out: no lane has more than half as many again as the mean. What a lane
 * has is what its epoll set holds. */
static void accepting_is_balanced(void)
{
    for (int round = 0; round < 10; round++) {
        struct server *server = server_start(NULL);
        struct spread spread = {.server = server};

        count_lanes(server, spread.empty);
        for (int i = 0; i < OPENED; i++)
            link_new(round % 2 ? server->tcp : server->local);
        SUITE_CHECK(deadline_wait(DEADLINE_USUAL_MS, all_have_arrived, &spread), "%d of %d connections have arrived",
                    spread.sum, OPENED);
        SUITE_CHECK(spread.most <= SHARE_MAX, "round %d: of %d connections the lanes have %d %d %d %d", round, OPENED,
                    spread.counts[0], spread.counts[1], spread.counts[2], spread.counts[3]);
    }
}

/* More connections at once than any small backlog holds, while nobody accepts: none is turned away, all are answered.
 */
static void bursts_wait_in_the_backlog(void)
{
    enum { BURST = 600 };
    struct server *server = server_start(NULL);
    struct process_children workers = server_workers_without(server, 0);
    struct link *links[BURST];
    struct bytes bytes = {0};

    for (size_t i = 0; i < workers.count; i++)
        kill(workers.pids[i], SIGSTOP);
    record_whole(&bytes, &(struct record_request){.path = "/hello"});
    for (int i = 0; i < BURST; i++) {
        links[i] = link_new(server->local);
        link_send(links[i], bytes.data, bytes.length);
    }
    for (size_t i = 0; i < workers.count; i++)
        kill(workers.pids[i], SIGCONT);
    for (int i = 0; i < BURST; i++) {
        answer_read(&answer, links[i], 1, DEADLINE_USUAL_MS);
        SUITE_CHECK(answer_status(&answer) == 200, "connection %d: status %d", i, answer_status(&answer));
    }
    bytes_fini(&bytes);
}

static const struct suite_case cases[] = {
    {"an idle server stops at once and leaves nothing", idle_stop},
    {"SIGTERM lets requests finish", sigterm_drains},
    {"SIGINT stops at once", sigint_stops_at_once},
    {"SIGINT ends a drain", second_signal_forces},
    {"a draining server turns connections away", a_draining_server_turns_away},
    {"stop_timeout ends a drain", stop_timeout_ends_a_drain},
    {"stopping under load", stop_under_load},
    {"the tally counts every request", tally_counts_every_request},
    {"drain answers what has arrived", drain_answers_what_has_arrived},
    {"a killed worker is replaced", killed_worker_is_replaced},
    {"workers leave a dead master", workers_leave_a_dead_master},
    {"sleeping handlers do not slow others", sleepers_do_not_slow_hello},
    {"threads minus lanes handlers block at once", all_pool_threads_block_at_once},
    {"an exhausted pool answers 503", exhausted_pool_answers_503},
    {"those who left are not served", those_who_left_are_not_served},
    {"sleepers again and again", sleepers_again_and_again},
    {"an idle server sleeps", idle_server_sleeps},
    {"accepting is balanced", accepting_is_balanced},
    {"bursts wait in the backlog", bursts_wait_in_the_backlog},
};

int main(int argc, char **argv)
{
    return suite_main("life", cases, SUITE_COUNT(cases), argc, argv);
}
