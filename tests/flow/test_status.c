/*
 * test_status.c: the status listener: what it answers, when every worker is stuck, and whatever its clients do. Case
 * C38.
 */
#include <ctype.h>
#include <jansson.h>
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

enum { PROMPT_MS = 50 };

static struct front_answer got;
static struct answer answer;
static char address[40];

static struct server *start(const char *more)
{
    char options[300];

    snprintf(address, sizeof address, "127.0.0.1:%d", server_free_port());
    snprintf(options, sizeof options, "status = \"%s\"\n%s", address, more);
    return server_start(options);
}

/* One request; returns how long the answer took. */
static int ask(const char *path)
{
    int64_t start_ms = deadline_now_ms();
    struct link *link = link_new(address);

    front_ask(&got, link, path, NULL, 0);
    link_free(link);
    return (int)(deadline_now_ms() - start_ms);
}

static json_t *ask_json(void)
{
    json_error_t error;
    json_t *status;

    ask("/status.json");
    CU_ASSERT_EQUAL_FATAL(got.status, 200);
    status = json_loadb((const char *)got.body.data, got.body.length, 0, &error);
    SUITE_CHECK(status, "%s", error.text);
    return status;
}

/* Two of twenty may be slow because the machine has other things to do. */
static void check_prompt(const char *what)
{
    int slow = 0, slowest_ms = 0;

    for (int i = 0; i < 20; i++) {
        int took_ms = ask(i % 2 ? "/status.json" : "/healthz");

        CU_ASSERT_EQUAL(got.status, 200);
        slow += took_ms > PROMPT_MS;
        slowest_ms = took_ms > slowest_ms ? took_ms : slowest_ms;
    }
    SUITE_CHECK(SERVER_SANITIZED || slow <= 2, "%s: %d of 20 answers were slow, up to %d ms", what, slow, slowest_ms);
}

/* -- Answers ----------------------------------------------------------------------------------------------------------
 */

static void every_resource(void)
{
    static const struct {
        const char *path;
        int status;
        const char *type, *part;
    } resources[] = {
        {"/", 200, "text/html; charset=utf-8", "<main"},
        {"/?x", 200, "text/html; charset=utf-8", "<main"},
        {"/status.json", 200, "application/json", "\"workers\":["},
        {"/metrics", 200, "application/openmetrics-text; version=1.0.0; charset=utf-8", "# EOF\n"},
        {"/status.txt", 200, "text/plain; charset=utf-8", "millrace "},
        {"/healthz", 200, "text/plain; charset=utf-8", "ok\n"},
        {"/nothing", 404, "text/plain; charset=utf-8", "404"},
        {"/status.json/", 404, "text/plain; charset=utf-8", "404"},
    };
    char line[160];

    start("");
    for (size_t i = 0; i < SUITE_COUNT(resources); i++) {
        ask(resources[i].path);
        SUITE_CHECK(got.status == resources[i].status, "%s: status %d", resources[i].path, got.status);
        snprintf(line, sizeof line, "Content-Type: %s\r\n", resources[i].type);
        SUITE_CHECK(strstr(bytes_text(&got.head), line), "%s: %s", resources[i].path, bytes_text(&got.head));
        SUITE_CHECK(strstr(bytes_text(&got.body), resources[i].part), "%s: %.200s", resources[i].path,
                    bytes_text(&got.body));
        CU_ASSERT(strstr(bytes_text(&got.head), "Cache-Control: no-store\r\n") != NULL);
    }
}

static void bad_requests(void)
{
    static const struct {
        const char *request;
        int status;
    } requests[] = {
        {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", 405},
        {"GET / HTTP/2.0\r\n\r\n", 505},
        {"GET / HTTP/1.1\r\n\r\n", 400}, /* no Host */
        {"GET /\r\n\r\n", 400},
        {"\r\n\r\n", 400},
        {"GET  / HTTP/1.1\r\n\r\n", 400},
        {"GET http://x/ HTTP/1.1\r\nHost: x\r\n\r\n", 200},
        {"get / HTTP/1.1\r\nHost: x\r\n\r\n", 405},
        {"HEAD /healthz HTTP/1.0\r\n\r\n", 200},
    };
    static char long_request[20000];
    struct link *link;

    start("");
    for (size_t i = 0; i < SUITE_COUNT(requests); i++) {
        char head[16] = "";

        link = link_new(address);
        link_send(link, requests[i].request, strlen(requests[i].request));
        link_read(link, head, 12, DEADLINE_USUAL_MS);
        SUITE_CHECK(atoi(head + 9) == requests[i].status, "'%s': %s", requests[i].request, head);
        CU_ASSERT(link_closes(link, DEADLINE_USUAL_MS));
    }
    memset(long_request, 'x', sizeof long_request);
    link = link_new(address);
    link_try_send(link, long_request, sizeof long_request, 1000);
    CU_ASSERT(link_closes(link, DEADLINE_USUAL_MS));
    check_prompt("after bad requests");
}

/* Each byte may come by itself. */
static void one_byte_at_a_time(void)
{
    static const char request[] = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
    struct link *link;
    char head[16] = "";

    start("");
    link = link_new(address);
    for (size_t i = 0; i < sizeof request - 1; i++) {
        link_send(link, request + i, 1);
        usleep(2000);
    }
    link_read(link, head, 12, DEADLINE_USUAL_MS);
    CU_ASSERT_STRING_EQUAL(head, "HTTP/1.1 200");
}

/* -- What it knows ----------------------------------------------------------------------------------------------------
 */

/* Twice as many requests as there are threads, for a handler that sleeps for a minute: the status says so at once,
 * /hello is answered or refused at once, and afterwards all is as before. */
static void every_worker_stuck(void)
{
    enum { SLEEPERS = 2 * SERVER_THREADS * SERVER_WORKERS };
    struct server *server = start("queue_ms = 40");
    struct link *links[SLEEPERS];
    struct bytes bytes = {0};
    json_t *status;
    int slowest_ms = 0;

    record_whole(&bytes, &(struct record_request){.flags = RECORD_KEEP, .path = "/sleeper", .query = "60000"});
    for (int i = 0; i < SLEEPERS; i++) {
        links[i] = link_new(server->local);
        link_send(links[i], bytes.data, bytes.length);
    }
    bytes_fini(&bytes);
    link_is_silent(links[0], 500);
    check_prompt("every worker is stuck");
    status = ask_json();
    CU_ASSERT_EQUAL(json_array_size(json_object_get(status, "threads")),
                    (SERVER_THREADS - SERVER_LANES + 1) * SERVER_WORKERS);
    CU_ASSERT_STRING_EQUAL(
        json_string_value(json_object_get(json_array_get(json_object_get(status, "threads"), 0), "route")), "/sleeper");
    json_decref(status);
    for (int i = 0; i < 20; i++) {
        int64_t start_ms = deadline_now_ms();

        answer_ask_once(&answer, server->local, &(struct record_request){.path = "/hello"});
        SUITE_CHECK(answer_status(&answer) == 503 || answer_status(&answer) == 200, "status %d",
                    answer_status(&answer));
        if (deadline_now_ms() - start_ms > slowest_ms)
            slowest_ms = (int)(deadline_now_ms() - start_ms);
    }
    SUITE_CHECK(SERVER_SANITIZED || slowest_ms <= 100, "/hello was answered after %d ms", slowest_ms);
    printf("# every worker stuck: /hello refused within %d ms\n", slowest_ms);
    status = ask_json();
    CU_ASSERT(json_integer_value(json_object_get(json_array_get(json_object_get(status, "routes"), 0), "requests")) >=
              0);
    json_decref(status);
    CU_ASSERT(server_log_count(server, "503 for route") <= 8); /* a line a second for each worker */
    CU_ASSERT_EQUAL(server_stop(server, SIGINT), 0);
}

static void hostile_text(void)
{
    static const char uri[] = "20000&\xff\xfe\"\\<b>\n\x01\xc3\xa4";
    struct server *server = start("");
    struct bytes bytes = {0};
    json_t *status;

    record_whole(&bytes, &(struct record_request){.path = "/sleeper", .query = uri});
    link_send(link_new(server->local), bytes.data, bytes.length);
    bytes_fini(&bytes);
    usleep(300000);
    status = ask_json();
    CU_ASSERT_EQUAL(json_array_size(json_object_get(status, "threads")), 1);
    json_decref(status);
    ask("/");
    CU_ASSERT(strstr(bytes_text(&got.body), "<b>") == NULL);
    CU_ASSERT(strstr(bytes_text(&got.body), "&lt;b&gt;") != NULL);
    ask("/status.txt");
    for (size_t i = 0; i < got.body.length; i++)
        SUITE_CHECK(got.body.data[i] == '\n' || (got.body.data[i] >= 0x20 && got.body.data[i] < 0x7f), "byte 0x%02x",
                    got.body.data[i]);
    CU_ASSERT_EQUAL(server_stop(server, SIGINT), 0);
}

/* OpenMetrics 1.0: every line is a comment or a sample, names of one family stay together, buckets grow, the end is
 * marked. */
static void metrics_are_well_formed(void)
{
    struct server *server = start("");
    char *place = NULL, family[80] = "", name[80];
    double last = 0;
    int buckets = 0;
    bool ended = false;

    for (int i = 0; i < 50; i++)
        answer_ask_once(&answer, server->local, &(struct record_request){.path = "/hello"});
    ask("/metrics");
    for (char *line = strtok_r((char *)bytes_text(&got.body), "\n", &place); line;
         line = strtok_r(NULL, "\n", &place)) {
        double value;
        char *space = strrchr(line, ' ');

        SUITE_CHECK(!ended, "after the end: %s", line);
        if (strcmp(line, "# EOF") == 0) {
            ended = true;
            continue;
        }
        if (sscanf(line, "# TYPE %79s", name) == 1)
            strcpy(family, name);
        if (line[0] == '#')
            continue;
        SUITE_CHECK(strncmp(line, family, strlen(family)) == 0, "%s in the family %s", line, family);
        SUITE_CHECK(space && sscanf(space, "%lf", &value) == 1 && value >= 0, "%s", line);
        if (strstr(line, "_bucket{")) {
            SUITE_CHECK(strstr(line, "le=\"1e-06\"") || value >= last, "buckets shrink: %s", line);
            last = value;
            buckets++;
        }
    }
    CU_ASSERT(ended && buckets > 100);
    ask("/metrics");
    CU_ASSERT(strstr(bytes_text(&got.body), "millrace_requests_total{route=\"/hello\"} 50\n") != NULL);
    CU_ASSERT(strstr(bytes_text(&got.body), "millrace_handler_seconds_count{route=\"/hello\"} 50\n") != NULL);
}

/* -- Clients ----------------------------------------------------------------------------------------------------------
 */

static void silent_clients(void)
{
    start("");
    for (int i = 0; i < 200; i++)
        link_new(address);
    check_prompt("200 silent clients");
}

static void clients_that_never_read(void)
{
    static const char request[] = "GET /metrics HTTP/1.0\r\n\r\n";
    struct link *links[40];

    start("");
    for (int i = 0; i < 40; i++) {
        links[i] = link_new(address);
        link_shrink_receive_buffer(links[i], 1024);
        link_send(links[i], request, sizeof request - 1);
    }
    ask("/healthz"); /* when all these answers are made */
    check_prompt("clients that never read");
}

static long status_process(const struct server *server)
{
    json_t *status = ask_json(), *worker; /* it has answered, so it is among the children */
    struct process_children all = server_workers(server);
    pid_t found = 0;
    size_t k;

    for (size_t i = 0; i < all.count; i++) {
        bool is_worker = false;

        json_array_foreach(json_object_get(status, "workers"), k, worker) is_worker =
            is_worker || json_integer_value(json_object_get(worker, "pid")) == all.pids[i];
        if (!is_worker)
            found = all.pids[i];
    }
    json_decref(status);
    return found;
}

static bool answers(void *unused)
{
    struct link *link = link_try_new(address);
    char head[13];
    bool answered;

    (void)unused;
    if (!link)
        return false;
    answered =
        link_try_send(link, "GET /healthz HTTP/1.0\r\n\r\n", 25, 100) == 25 && link_try_read(link, head, 12, 300) > 0;
    link_free(link);
    return answered;
}

static void its_process(void)
{
    struct server *server = start("");
    pid_t before = (pid_t)status_process(server);

    CU_ASSERT_FATAL(before > 0);
    kill(before, SIGKILL);
    CU_ASSERT(process_leaves(before, DEADLINE_USUAL_MS));
    CU_ASSERT(deadline_wait(DEADLINE_USUAL_MS, answers, NULL)); /* another one is started */
    before = (pid_t)status_process(server);
    CU_ASSERT_EQUAL(server_stop(server, SIGKILL), 128 + SIGKILL);
    CU_ASSERT(process_leaves(before, 1000)); /* not even this one outlives the master */
}

static void health(void)
{
    struct server *server = start("workers = 1");
    struct process_children all = server_workers(server);

    ask("/healthz");
    CU_ASSERT_EQUAL(got.status, 200);
    for (size_t i = 0; i < all.count; i++) {
        if (all.pids[i] != status_process(server))
            kill(all.pids[i], SIGKILL);
    }
    CU_ASSERT(server_log_waits_for(server, "was ended by signal 9", DEADLINE_USUAL_MS));
    CU_ASSERT(deadline_wait(DEADLINE_USUAL_MS, answers, NULL));
    CU_ASSERT_EQUAL(server_stop(server, SIGTERM), 0);
}

static const struct suite_case cases[] = {
    {"every resource", every_resource},
    {"bad requests", bad_requests},
    {"one byte at a time", one_byte_at_a_time},
    {"every worker stuck", every_worker_stuck},
    {"hostile text", hostile_text},
    {"the metrics are well-formed", metrics_are_well_formed},
    {"silent clients", silent_clients},
    {"clients that never read", clients_that_never_read},
    {"its process", its_process},
    {"health", health},
};

int main(int argc, char **argv)
{
    return suite_main("status", cases, SUITE_COUNT(cases), argc, argv);
}
