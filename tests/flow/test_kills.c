/*
 * test_kills.c: workers killed under load through nginx: what fails is what was in flight in that worker, and POSTs
 * that nginx had placed on its connections before it saw them close; another worker serves at once. Cases C34, C39.
 * With MILLRACE_TEST_LONG: each worker 20 times with either signal, 2 s apart, at 2,000 requests/s.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "deadline.h"
#include "front.h"
#include "server.h"
#include "suite.h"
#include "traffic.h"

enum { CONNECTIONS = 16, REPLACED_MS = 200, LATE_MS = 1000 };

struct kill_times {
    int64_t at_ms[200];
    int count;
};

static bool is_long(void)
{
    return getenv("MILLRACE_TEST_LONG") != NULL;
}

struct ready {
    const struct server *server;
    int count; /* of lines that say so */
};

static bool is_ready(void *context)
{
    const struct ready *ready = context;

    return server_log_count(ready->server, "is ready") > ready->count;
}

/* Kills the worker; another must be ready within 200 ms. Returns how long it took. */
static int kill_one(struct server *server, pid_t worker, int signal, struct kill_times *times)
{
    struct ready ready = {.server = server, .count = server_log_count(server, "is ready")};
    int64_t start_ms = deadline_now_ms();

    times->at_ms[times->count++] = start_ms;
    kill(worker, signal);
    CU_ASSERT(deadline_wait(DEADLINE_USUAL_MS, is_ready, &ready));
    return (int)(deadline_now_ms() - start_ms);
}

/* The kill that a failure belongs to: the last one before it. */
static int64_t age_of(const struct traffic_failure *failure, const struct kill_times *times)
{
    int64_t age_ms = INT64_MAX;

    for (int i = 0; i < times->count; i++) {
        if (failure->failed_ms >= times->at_ms[i])
            age_ms = failure->failed_ms - times->at_ms[i];
    }
    return age_ms;
}

/* GETs are repeated by nginx; one that was in flight may have been too late for that. No client of another worker
 * notices. */
static void check_failures(const struct traffic_result *result, const struct kill_times *times)
{
    SUITE_CHECK(result->failed <= (long)CONNECTIONS * times->count && result->failed < TRAFFIC_FAILURES_MAX, "%s",
                traffic_describe(result));
    SUITE_CHECK(result->gets_failed <= times->count, "%s", traffic_describe(result));
    for (long i = 0; i < result->failed; i++) {
        const struct traffic_failure *failure = &result->failures[i];

        SUITE_CHECK(strcmp(failure->what, "status 502") == 0, "%s", traffic_describe(result));
        SUITE_CHECK(age_of(failure, times) <= LATE_MS, "%s", traffic_describe(result));
    }
}

static void kill_workers(int signal)
{
    int rounds = is_long() ? 20 : 2, slowest_ms = 0;
    struct server *server = server_start(NULL);
    struct front *front = front_start(server);
    long descriptors = process_descriptor_count(server->pid), before, after;
    struct traffic *traffic =
        traffic_start(front, &(struct traffic_options){.connections = CONNECTIONS, .rate = is_long() ? 2000 : 800});
    const struct traffic_result *result;
    struct kill_times times = {.count = 0};
    int64_t end_ms;

    usleep(1000000);
    before = traffic_right_between(traffic, deadline_now_ms() - 800, deadline_now_ms() - 50);
    for (int i = 0; i < rounds * SERVER_WORKERS; i++) {
        struct process_children workers = server_workers_without(server, 0);
        int took_ms = kill_one(server, workers.pids[0], signal, &times);

        slowest_ms = took_ms > slowest_ms ? took_ms : slowest_ms;
        usleep(is_long() ? 2000000 : 1200000); /* far enough from the last to be replaced at once */
    }
    end_ms = deadline_now_ms();
    after = traffic_right_between(traffic, end_ms - 800, end_ms - 50);
    result = traffic_stop(traffic);
    check_failures(result, &times);
    SUITE_CHECK(SERVER_SANITIZED || slowest_ms <= REPLACED_MS, "a replacement was ready after %d ms", slowest_ms);
    SUITE_CHECK(SERVER_SANITIZED || after * 10 >= before * 8, "%ld right answers in 750 ms before, %ld after", before,
                after);
    server_workers_without(server, 0);
    SUITE_CHECK(process_descriptor_count(server->pid) == descriptors, "%ld descriptors before, %ld after", descriptors,
                process_descriptor_count(server->pid));
    printf("# %d kills by signal %d: %s; replaced within %d ms\n", times.count, signal, traffic_describe(result),
           slowest_ms);
    CU_ASSERT_EQUAL(server_stop(server, SIGTERM), 0);
}

static void by_sigkill(void)
{
    kill_workers(SIGKILL);
}

static void by_sigsegv(void)
{
    kill_workers(SIGSEGV);
}

/* A request that crashes its worker takes no second one along, though nginx repeats it. */
static void a_crashing_request(void)
{
    struct server *server = server_start(NULL);
    struct front *front = front_start(server);
    struct traffic *traffic = traffic_start(front, &(struct traffic_options){.connections = CONNECTIONS, .rate = 400});
    struct front_answer answer = {0};
    const struct traffic_result *result;
    struct kill_times times = {.count = 0};

    for (int i = 0; i < 5; i++) {
        struct link *link = link_new(front->address);

        times.at_ms[times.count++] = deadline_now_ms();
        front_ask(&answer, link, i % 2 ? "/fault?store" : "/exit?1", NULL, 0);
        SUITE_CHECK(answer.status == 502, "status %d for a crashing request", answer.status);
        link_free(link);
        usleep(1300000);
        server_workers_without(server, 0);
    }
    front_fini(&answer);
    result = traffic_stop(traffic);
    check_failures(result, &times);
    SUITE_CHECK(server_log_count(server, "was ended by signal") + server_log_count(server, "called exit()") == 5,
                "%d crashes and %d exits for 5 requests", server_log_count(server, "was ended by signal"),
                server_log_count(server, "called exit()"));
    CU_ASSERT_EQUAL(server_stop(server, SIGTERM), 0);
}

static const struct suite_case cases[] = {
    {"workers killed by SIGKILL", by_sigkill},
    {"workers killed by SIGSEGV", by_sigsegv},
    {"a request that crashes takes one worker", a_crashing_request},
};

int main(int argc, char **argv)
{
    return suite_main("kills", cases, SUITE_COUNT(cases), argc, argv);
}
