/*
 * test_counters.c: the counts of the status add up: what all routes have answered is what was sent, and what nginx has
 * repeated; over reloads, upgrades, recycled and killed workers. With MILLRACE_TEST_LONG: 1,000,000 requests.
 */
#include <jansson.h>
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

static char options[200];
static char status_address[40];

static struct server *start(const char *more)
{
    snprintf(status_address, sizeof status_address, "127.0.0.1:%d", server_free_port());
    snprintf(options, sizeof options, "status = \"%s\"\n%s", status_address, more);
    return server_start(options);
}

/* The status as JSON; the caller frees it. */
static json_t *ask_status(void)
{
    struct front_answer answer = {0};
    struct link *link = link_new(status_address);
    json_error_t error;
    json_t *status;

    front_ask(&answer, link, "/status.json", NULL, 0);
    CU_ASSERT_EQUAL_FATAL(answer.status, 200);
    status = json_loadb((const char *)answer.body.data, answer.body.length, 0, &error);
    SUITE_CHECK(status, "line %d of the status: %s", error.line, error.text);
    front_fini(&answer);
    link_free(link);
    return status;
}

static long sum_of(json_t *status, const char *name)
{
    json_t *route;
    size_t i;
    long sum = 0;

    json_array_foreach(json_object_get(status, "routes"), i, route) sum +=
        (long)json_integer_value(json_object_get(route, name));
    return sum;
}

static long figure_of(json_t *status, const char *path, const char *name)
{
    json_t *route;
    size_t i;

    json_array_foreach(json_object_get(status, "routes"), i, route)
    {
        if (strcmp(json_string_value(json_object_get(route, "route")), path) == 0)
            return (long)json_integer_value(json_object_get(route, name));
    }
    SUITE_FAIL("the status has no route \"%s\"", path);
}

/* Requests that nginx has sent, from the list of upstream statuses of each of its own: a comma stands for a repeat; `-`
 * for one that never reached the server. A request that was lost with its worker was sent and not counted as answered.
 */
static long repeats(const struct server *server, long *lost)
{
    char path[SERVER_PATH_MAX + 20], line[256];
    long count = 0;
    FILE *log;

    snprintf(path, sizeof path, "%s/upstream.log", server->directory);
    log = fopen(path, "re");
    CU_ASSERT_PTR_NOT_NULL_FATAL(log);
    *lost = 0;
    while (fgets(line, sizeof line, log)) {
        for (const char *at = line; (at = strchr(at, ',')); at++)
            count++;
        for (const char *at = line; (at = strstr(at, "502")); at++)
            ++*lost;
    }
    fclose(log);
    return count;
}

static void over_reloads(void)
{
    bool is_long = getenv("MILLRACE_TEST_LONG") != NULL;
    long requests = is_long ? 1000000 : 20000, repeated, lost, counted = 0;
    struct server *server = start(is_long ? "max_requests = 20000" : "max_requests = 1000");
    struct front *front = front_start(server);
    struct traffic *traffic = traffic_start(front, &(struct traffic_options){.requests = requests});
    const struct traffic_result *result;
    json_t *status = NULL;

    for (int i = 0; i < (is_long ? 20 : 4); i++) {
        usleep(is_long ? 2000000 : 300000);
        server_signal_outcome(server, i % 4 == 3 ? SIGUSR2 : SIGHUP);
        server_follow(server);
    }
    result = traffic_wait(traffic);
    SUITE_CHECK(result->failed == 0 && result->right == requests, "%s", traffic_describe(result));
    repeated = repeats(server, &lost);
    for (int i = 0; i < 100 && counted != requests + repeated + TRAFFIC_PAGES;
         i++) { /* the last answer is counted after it was sent */
        json_decref(status);
        usleep(20000);
        status = ask_status();
        counted = sum_of(status, "requests");
    }
    SUITE_CHECK(counted == requests + repeated + TRAFFIC_PAGES, "%ld counted, %ld sent, %ld repeated by nginx", counted,
                requests + TRAFFIC_PAGES, repeated);
    SUITE_CHECK(sum_of(status, "errors") == 0, "%ld errors", sum_of(status, "errors"));
    SUITE_CHECK(json_integer_value(json_object_get(status, "recycled")) > 0, "no worker was recycled");
    printf("# %ld requests, %ld repeated by nginx, %ld counted, %lld reloads, %lld upgrades, %lld workers recycled\n",
           requests, repeated, counted, (long long)json_integer_value(json_object_get(status, "reloads")),
           (long long)json_integer_value(json_object_get(status, "upgrades")),
           (long long)json_integer_value(json_object_get(status, "recycled")));
    json_decref(status);
    CU_ASSERT_EQUAL(server_stop(server, SIGTERM), 0);
}

/* Counts of a worker that was killed are not lost with it; the requests that were are. */
static void over_kills(void)
{
    struct server *server = start("workers = 2");
    struct front *front = front_start(server);
    struct traffic *traffic = traffic_start(front, &(struct traffic_options){.requests = 20000});
    const struct traffic_result *result;
    long repeated, lost, counted;
    json_t *status;

    for (int i = 0; i < 2; i++) {
        usleep(500000);
        kill(server_workers(server).pids[0], SIGKILL);
    }
    result = traffic_wait(traffic);
    repeated = repeats(server, &lost);
    usleep(200000);
    status = ask_status();
    counted = sum_of(status, "requests");
    SUITE_CHECK(result->failed <= 32, "%s", traffic_describe(result));
    SUITE_CHECK(labs(result->sent + repeated + TRAFFIC_PAGES - lost - counted) <= 4, /* answered as the signal came */
                "%ld counted, %ld sent, %ld repeated, %ld lost", counted, result->sent, repeated, lost);
    json_decref(status);
    CU_ASSERT_EQUAL(server_stop(server, SIGTERM), 0);
}

static void ask_often(const struct front *front, const char *path, int count, int status)
{
    struct front_answer got = {0};
    struct link *link = link_new(front->address);

    for (int i = 0; i < count; i++) {
        front_ask(&got, link, path, NULL, 0);
        SUITE_CHECK(got.status == status, "%s: status %d", path, got.status);
    }
    front_fini(&got);
    link_free(link);
}

struct expectation {
    long hello, bighello, none;
    json_t *status;
};

static bool is_counted(void *context)
{
    struct expectation *expected = context;

    json_decref(expected->status);
    expected->status = ask_status();
    return figure_of(expected->status, "/hello", "requests") == expected->hello &&
           figure_of(expected->status, "/bighello", "requests") == expected->bighello &&
           figure_of(expected->status, "", "requests") == expected->none &&
           sum_of(expected->status, "requests") == expected->hello + expected->bighello + expected->none;
}

/* Each request is counted for its own route, what has none for "", before and after a reload. */
static void by_route(void)
{
    struct server *server = start("");
    struct front *front = front_start(server);
    struct expectation expected = {0};

    for (int i = 1; i <= 2; i++) {
        ask_often(front, "/hello", 30, 200);
        ask_often(front, "/bighello", 20, 200);
        ask_often(front, "/nowhere", 7, 404);
        ask_often(front, "/helloo", 4, 404);
        expected.hello += 30;
        expected.bighello += 20;
        expected.none += 11;
        SUITE_CHECK(deadline_wait(DEADLINE_USUAL_MS, is_counted, &expected), "%ld, %ld, %ld of %ld, %ld, %ld counted",
                    figure_of(expected.status, "/hello", "requests"),
                    figure_of(expected.status, "/bighello", "requests"), figure_of(expected.status, "", "requests"),
                    expected.hello, expected.bighello, expected.none);
        CU_ASSERT(strncmp(server_signal_outcome(server, SIGHUP), "ok ", 3) == 0);
    }
    json_decref(expected.status);
    CU_ASSERT_EQUAL(server_stop(server, SIGTERM), 0);
}

static const struct suite_case cases[] = {
    {"over reloads, upgrades and recycling", over_reloads},
    {"over kills", over_kills},
    {"by route", by_route},
};

int main(int argc, char **argv)
{
    return suite_main("counters", cases, SUITE_COUNT(cases), argc, argv);
}
