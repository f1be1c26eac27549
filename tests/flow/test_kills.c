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

#include "answer.h"
#include "deadline.h"
#include "front.h"
#include "server.h"
#include "suite.h"
#include "traffic.h"

enum { CONNECTIONS = 16 };

static struct answer answer;

struct kill_times {
    int64_t at_ms[200];
    int count;
};

static bool is_long(void)
{
    return getenv("MILLRACE_TEST_LONG") != NULL;
}

/* Within which a replacement serves and the last failure is over. The long run has the machine to itself; the short one runs
 * wherever the tests do. */
static int prompt_ms(void)
{
    return is_long() ? 200 : 5000;
}

struct replacement {
    const struct server *server;
    struct process_children before;
    int ready_count; /* of lines that say so */
};

/* Whether none of the old workers answers this connection. */
static bool answers_anew(const struct replacement *replacement, struct link *link)
{
    size_t length;
    pid_t pid;

    answer_ask(&answer, link, &(struct record_request){.flags = RECORD_KEEP, .path = "/pid", .query = "0"});
    pid = atoi((const char *)answer_body(&answer, &length));
    for (size_t i = 0; i < replacement->before.count; i++) {
        if (replacement->before.pids[i] == pid)
            return false;
    }
    return pid > 0;
}

/* The replacement is ready, and a request was answered by a process that was not there before. */
static bool is_replaced(void *context)
{
    const struct replacement *replacement = context;
    enum { LINKS = 4 }; /* a worker passes on what it accepts only when it has two connections more than another */
    struct link *links[LINKS];
    bool is_new = false;

    if (server_log_count(replacement->server, "is ready") == replacement->ready_count)
        return false;
    for (int i = 0; i < LINKS; i++) {
        links[i] = link_new(replacement->server->local);
        is_new = answers_anew(replacement, links[i]) || is_new;
    }
    for (int i = 0; i < LINKS; i++)
        link_free(links[i]);
    return is_new;
}

/* Kills the first worker, which is the one that has lived longest; another must serve. Returns how long it took. */
static int kill_one(struct server *server, int signal, struct kill_times *times)
{
    struct replacement replacement = {.server = server,
                                      .before = server_workers_without(server, 0),
                                      .ready_count = server_log_count(server, "is ready")};
    int64_t start_ms = deadline_now_ms();

    times->at_ms[times->count++] = start_ms;
    kill(replacement.before.pids[0], signal);
    SUITE_CHECK(deadline_wait(DEADLINE_USUAL_MS, is_replaced, &replacement), "nothing serves instead of process %d",
                (int)replacement.before.pids[0]);
    return (int)(deadline_now_ms() - start_ms);
}

/* The kill that a failure belongs to: the last one before it. −1: there is none. */
static int kill_of(const struct traffic_failure *failure, const struct kill_times *times)
{
    int kill = -1;

    while (kill + 1 < times->count && failure->failed_ms >= times->at_ms[kill + 1])
        kill++;
    return kill;
}

/* Whoever is not a client of the killed worker is answered as ever. */
static void check_no_gap(const struct traffic *traffic, const struct kill_times *times)
{
    for (int i = 0; i < times->count && !SERVER_SANITIZED; i++) {
        int gap_ms = traffic_longest_gap_ms(traffic, times->at_ms[i], times->at_ms[i] + 1000);

        SUITE_CHECK(gap_ms <= prompt_ms(), "no right answer for %d ms after kill %d", gap_ms, i + 1);
    }
}

/* GETs are repeated by nginx; one that was in flight may have been too late for that. A connection has at most one
 * request in flight. No client of another worker notices. */
static void check_failures(const struct traffic_result *result, const struct kill_times *times)
{
    int counts[SUITE_COUNT(times->at_ms)] = {0};

    SUITE_CHECK(result->failed < TRAFFIC_FAILURES_MAX, "%s", traffic_describe(result));
    SUITE_CHECK(result->gets_failed <= times->count, "%s", traffic_describe(result));
    for (long i = 0; i < result->failed; i++) {
        const struct traffic_failure *failure = &result->failures[i];
        int number = kill_of(failure, times), late_ms;

        SUITE_CHECK(number >= 0 && strcmp(failure->what, "status 502") == 0, "%s", traffic_describe(result));
        late_ms = (int)(failure->failed_ms - times->at_ms[number]);
        SUITE_CHECK(late_ms <= prompt_ms(), "%d ms after kill %d: %s", late_ms, number + 1, traffic_describe(result));
        SUITE_CHECK(++counts[number] <= CONNECTIONS, "after kill %d: %s", number + 1, traffic_describe(result));
    }
}

/* Processes and descriptors are as before. */
static void check_nothing_left(const struct server *server, long descriptors, size_t children)
{
    server_workers_without(server, 0);
    SUITE_CHECK(process_descriptor_count(server->pid) == descriptors, "%ld descriptors before, %ld after", descriptors,
                process_descriptor_count(server->pid));
    SUITE_CHECK(process_children(server->pid).count == children, "%zu children before, %zu after", children,
                process_children(server->pid).count);
    SUITE_CHECK(process_zombie_count(server->pid) == 0, "%zu zombies", process_zombie_count(server->pid));
}

static void kill_workers(int signal)
{
    int rounds = is_long() ? 20 : 2, slowest_ms = 0;
    struct server *server = server_start(NULL);
    struct front *front = front_start(server);
    size_t children = server_workers_without(server, 0).count;
    long descriptors = process_descriptor_count(server->pid), before, after;
    struct traffic *traffic =
        traffic_start(front, &(struct traffic_options){.connections = CONNECTIONS, .rate = is_long() ? 2000 : 800});
    const struct traffic_result *result;
    struct kill_times times = {.count = 0};
    int64_t end_ms;

    usleep(1000000);
    before = traffic_right_between(traffic, deadline_now_ms() - 800, deadline_now_ms() - 50);
    for (int i = 0; i < rounds * SERVER_WORKERS; i++) {
        int took_ms = kill_one(server, signal, &times);

        slowest_ms = took_ms > slowest_ms ? took_ms : slowest_ms;
        usleep(is_long() ? 2000000 : 1200000); /* far enough from the last to be replaced at once */
    }
    end_ms = deadline_now_ms();
    after = traffic_right_between(traffic, end_ms - 800, end_ms - 50);
    result = traffic_stop(traffic);
    check_failures(result, &times);
    check_no_gap(traffic, &times);
    SUITE_CHECK(slowest_ms <= prompt_ms(), "a replacement served after %d ms", slowest_ms);
    SUITE_CHECK(SERVER_SANITIZED || after * 10 >= before * 8, "%ld right answers in 750 ms before, %ld after", before,
                after);
    check_nothing_left(server, descriptors, children);
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
    struct front_answer got = {0};
    const struct traffic_result *result;
    struct kill_times times = {.count = 0};

    for (int i = 0; i < 5; i++) {
        struct link *link = link_new(front->address);

        times.at_ms[times.count++] = deadline_now_ms();
        front_ask(&got, link, i % 2 ? "/fault?store" : "/exit?1", NULL, 0);
        SUITE_CHECK(got.status == 502, "status %d for a crashing request", got.status);
        link_free(link);
        usleep(1300000);
        server_workers_without(server, 0);
    }
    front_fini(&got);
    result = traffic_stop(traffic);
    check_failures(result, &times);
    check_no_gap(traffic, &times);
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
